"""`cistern scenario` as its users meet it: keys, figures, repetition, refusals.

Usage: scenario_test.py BINARY
"""

import json
import os
import subprocess
import sys
import unittest

BINARY = ""
SMALL = ["--kv-tokens", "2048", "--steps", "8"]


def cistern(*arguments):
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("CISTERN_", "ASCEND_"))}
    return subprocess.run([BINARY, *arguments], capture_output=True, text=True, env=kept, timeout=120, check=False)


def report(*arguments):
    result = cistern("scenario", "llama7b", "--json", *arguments)
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


def without_measured_times(value):
    """The parts that repeat: for the pool, times include the measured work of this machine."""
    if not isinstance(value, dict):
        return value
    measured = ("memory_ms", "load_ms", "share_of_inference")
    return {name: without_measured_times(part) for name, part in value.items() if not name.startswith(measured)}


class Llama7b(unittest.TestCase):
    def test_the_default_run_has_the_published_sizes_and_claims(self):
        found = report()
        self.assertEqual(found["scenario"], "llama7b")
        self.assertEqual(found["workload"]["parameters"], 6738415616)
        self.assertEqual(found["workload"]["weight_tensors"], 291)
        self.assertEqual(found["workload"]["kv_bytes_per_token"], 512 * 1024)
        self.assertEqual(found["workload"]["kv_bytes"], 8 * 1024**3)
        self.assertEqual(found["peak_live_bytes"], 13476831232 + 8 * 1024**3 + 3500000000)
        self.assertGreaterEqual(found["peak_reserved_bytes"], found["peak_live_bytes"])
        self.assertEqual(found["fragmentation_bytes"], found["peak_reserved_bytes"] - found["peak_live_bytes"])
        direct, pool = found["direct"], found["pool"]
        self.assertTrue(10 <= direct["memory_ms_per_inference"] <= 40, direct)
        self.assertTrue(0.4 <= direct["share_of_inference"] <= 0.73, direct)
        self.assertEqual(direct["driver_calls_per_inference"], 40)
        self.assertEqual(direct["decode_step"]["allocations"], 1558)
        self.assertGreater(pool["memory_ms_per_inference"], 0)
        self.assertEqual(pool["driver_calls_per_inference"], 0)
        self.assertEqual(pool["decode_step"]["driver_calls_p50"], 0)
        self.assertEqual(found["article"]["direct"]["fragmentation_bytes"], 500000000)

    def test_the_same_seed_repeats_all_but_measured_times(self):
        first, second = report(*SMALL), report(*SMALL)
        self.assertEqual(without_measured_times(first), without_measured_times(second))
        self.assertEqual(first["direct"], second["direct"])
        self.assertNotEqual(first["direct"], report(*SMALL, "--seed", "2")["direct"])

    def test_the_pool_is_the_one_that_was_asked_for(self):
        found = report(*SMALL, "--policy", "first_fit", "--on-miss", "STITCH_FIRST", "--page-bytes", "1MiB")
        asked = {"policy": "first_fit", "on_miss": "stitch_first", "page_bytes": 1 << 20}
        self.assertEqual({name: found[name] for name in asked}, asked)

    def test_the_cache_grows_in_place_or_by_blocks(self):
        self.assertEqual(report(*SMALL)["workload"]["kv_cache"], "elastic")
        found = report(*SMALL, "--kv-cache", "blocks")
        self.assertEqual(found["workload"]["kv_cache"], "blocks")
        self.assertIn("grows in place", cistern("scenario", "llama7b", *SMALL).stdout)

    def test_the_table_says_what_is_whose(self):
        text = cistern("scenario", "llama7b", *SMALL).stdout
        for part in ("article", "here: direct", "here: pool", "13.48 GB", "14.00 GB", "512 KiB", "modelled", "1558"):
            self.assertIn(part, text)

    def test_128_k_tokens_are_refused_with_the_arithmetic(self):
        result = cistern("scenario", "llama7b", "--kv-tokens", "131072")
        self.assertEqual((result.returncode, result.stdout), (3, ""))
        self.assertIn("KV cache 68.72 GB (131072 x 512 KiB)", result.stderr)
        self.assertIn("= 85.70 GB, but there are only 34.36 GB", result.stderr)

    def test_mistakes(self):
        for words, text in (
            (["lama7b"], "there is no scenario 'lama7b'; there are: llama7b"),
            (["llama7b", "llama7b"], "one scenario at a time"),
            (["llama7b", "--steps", "0"], "steps = 0 is not between 1 and"),
            (["llama7b", "--steps", "-1"], "--steps"),
            (["llama7b", "--kv-tokens", "0"], "kv-tokens = 0 is not between"),
            (["llama7b", "--kv-tokens", "99999999999"], "kv-tokens = 99999999999 is not between"),
            (["llama7b", "--policy", "fast"], "--policy is 'fast'"),
            (["llama7b", "--driver-rounding", "some"], "--driver-rounding"),
            (["llama7b", "--kv-cache", "rope"], "--kv-cache"),
        ):
            result = cistern("scenario", *words)
            self.assertEqual((result.returncode, result.stdout), (2, ""), words)
            self.assertIn(text, result.stderr)
            self.assertEqual(result.stderr.count("\n"), 1)

    def test_without_a_name_they_are_listed(self):
        result = cistern("scenario")
        self.assertEqual(result.returncode, 0)
        self.assertIn("llama7b", result.stdout)


if __name__ == "__main__":
    BINARY = sys.argv[1]
    unittest.main(argv=sys.argv[:1])
