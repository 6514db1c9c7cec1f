"""`cistern run` as its users meet it: real models, the table, JSON keys, refusals.

Usage: run_test.py BINARY SOURCE_TREE
"""

import json
import os
import subprocess
import sys
import tempfile
import unittest

BINARY = ""
TREE = ""


def cistern(*arguments, **environment):
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("CISTERN_", "ASCEND_"))}
    # Under AddressSanitizer: the runtime forgets a few bytes of its own at its start.
    suppressions = os.path.join(TREE, "tests/engine/onnxruntime.supp")
    kept["LSAN_OPTIONS"] = f"suppressions={suppressions}:print_suppressions=0"
    kept["CISTERN_ONNXRUNTIME"] = os.path.join(TREE, ".deps/onnxruntime/libonnxruntime.so.1")
    kept.update(environment)
    return subprocess.run([BINARY, *arguments], capture_output=True, text=True, env=kept, timeout=280, check=False)


def model(name):
    path = os.path.join(TREE, ".deps/models", name + ".onnx")
    assert os.path.exists(path), f"{path} is missing: run ./dev setup"
    return path


SMALL = ["--dim", "recognition:0:3=64:96:32", "--dim", "detection:0:2=320", "--dim", "detection:0:3=320"]


class Run(unittest.TestCase):
    def refused(self, code, *needles, words, **environment):
        result = cistern("run", *words, **environment)
        self.assertEqual(result.returncode, code, result.stderr)
        self.assertEqual(result.stdout, "")
        self.assertEqual(result.stderr.count("\n"), 1, result.stderr)
        for needle in needles:
            self.assertIn(needle, result.stderr)

    def test_three_models_share_a_pool_and_compute_the_same(self):
        models = [model(name) for name in ("detection", "recognition", "classification")]
        result = cistern("run", *models, "--requests", "12", *SMALL, "--json")
        self.assertEqual(result.returncode, 0, result.stderr)
        found = json.loads(result.stdout)
        self.assertTrue(found["outputs_identical"])
        self.assertEqual(found["leaked_blocks"], 0)
        self.assertEqual([one["requests"] for one in found["models"]], [4, 4, 4])
        direct, pool = found["direct"], found["pool"]
        self.assertEqual(direct["allocations_per_request"], pool["allocations_per_request"])
        self.assertGreater(pool["allocations_per_request"], 150)
        self.assertEqual(direct["driver_calls_per_request"], 2 * direct["allocations_per_request"])
        self.assertEqual(pool["driver_calls_steady"], 0)
        self.assertEqual(direct["peak_live_bytes"], pool["peak_live_bytes"])
        self.assertGreaterEqual(pool["peak_reserved_bytes"], pool["peak_live_bytes"])
        self.assertGreater(direct["memory_ns_per_request_p50"], 50 * 500_000)  # modelled: at least 0.5 ms a pair
        self.assertGreaterEqual(pool["memory_ns_per_request_p99"], pool["memory_ns_per_request_p50"])
        self.assertGreater(pool["memory_ns_per_request_p50"], 0)
        self.assertGreaterEqual(pool["fragmentation_rate"], 0)
        self.assertLessEqual(pool["exposure_mean"], pool["exposure_max"])
        self.assertTrue(0 < pool["stitchable_share_mean"] <= 1, pool["stitchable_share_mean"])

    def test_pauses_of_compaction(self):
        varied = ["--dim", "detection:0:2=64:320:32", "--dim", "detection:0:3=64:320:32", "--page-bytes", "64KiB"]
        result = cistern("run", model("detection"), model("recognition"), "--requests", "12", *varied, "--json")
        self.assertEqual(result.returncode, 0, result.stderr)
        found = json.loads(result.stdout)
        waits, holds = found["pool"]["requester_pauses"], found["pool"]["other_pauses"]
        self.assertGreater(waits["count"], 0)  # shapes differ: some requests were served by stitching
        self.assertGreaterEqual(holds["count"], waits["count"])
        for pauses in (waits, holds):
            self.assertTrue(0 < pauses["ns_p50"] <= pauses["ns_p99"] <= pauses["ns_longest"] <= pauses["ns_total"])
        self.assertEqual(found["direct"]["requester_pauses"]["count"], 0)
        self.assertIn("waits for compaction", cistern("run", model("classification"), "--requests", "2").stdout)

    def test_host_memory_and_every_growth_compute_the_same(self):
        other_policy = ["--policy", "first_fit", "--on-miss", "grow_first"]
        for words in (["--device", "host"], ["--growth", "ARENAS"], ["--magazine-bytes", "8MiB"], other_policy):
            result = cistern("run", model("classification"), "--requests", "3", "--json", *words)
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertTrue(json.loads(result.stdout)["outputs_identical"], words)

    def test_threads_with_a_stream_each_compute_the_same(self):
        models = [model(name) for name in ("detection", "recognition", "classification")]
        result = cistern("run", *models, "--requests", "13", "--streams", "4", *SMALL, "--json")
        self.assertEqual(result.returncode, 0, result.stderr)
        found = json.loads(result.stdout)
        self.assertTrue(found["outputs_identical"])
        self.assertEqual(found["leaked_blocks"], 0)
        self.assertEqual([one["requests"] for one in found["models"]], [5, 4, 4])
        streams, direct, pool = found["streams"], found["direct"], found["pool"]
        self.assertEqual([one["requests"] for one in streams], [4, 3, 3, 3])
        self.assertEqual(sum(one["allocations"] for one in streams), round(13 * pool["allocations_per_request"]))
        self.assertEqual(sum(one["memory_ns_total"] for one in streams), pool["memory_ns_total"])
        self.assertEqual(direct["allocations_per_request"], pool["allocations_per_request"])
        # A thread's driver time is its own: at most 2 ms a pair, however many threads call the driver.
        self.assertLess(direct["memory_ns_total"], 13 * direct["allocations_per_request"] * 2_000_000)
        self.assertGreaterEqual(pool["peak_reserved_bytes"], pool["peak_live_bytes"])
        self.assertGreater(pool["events_recorded"], 0)
        text = cistern("run", model("classification"), "--requests", "3", "--streams", "2").stdout
        for part in ("stream", "events created", "identical, bit for bit"):
            self.assertIn(part, text)

    def test_isolated_models_have_a_context_each_that_adds_up(self):
        models = [model(name) for name in ("detection", "recognition", "classification")]
        quotas = ["--quota", "recognition=16MiB:1GiB", "--quota", "classification=:64MiB"]
        result = cistern("run", *models, "--requests", "12", "--isolate", "--streams", "4", *quotas, *SMALL, "--json")
        self.assertEqual(result.returncode, 0, result.stderr)
        found = json.loads(result.stdout)
        self.assertTrue(found["outputs_identical"])
        self.assertEqual(found["leaked_blocks"], 0)
        contexts, together = found["contexts"], found["contexts_together"]
        self.assertEqual([one["name"] for one in contexts], ["detection", "recognition", "classification"])
        by_name = {one["name"]: one for one in contexts}
        self.assertEqual(by_name["recognition"]["minimum"], 16 << 20)
        self.assertEqual(by_name["recognition"]["maximum"], 1 << 30)
        self.assertEqual(by_name["classification"]["maximum"], 64 << 20)
        for one in contexts:
            self.assertLessEqual(one["allocated"], one["reserved"])
            self.assertLessEqual(one["reserved"], one["maximum"])
            self.assertEqual(one["borrowed"], max(0, one["reserved"] - one["minimum"]))
            self.assertGreater(one["allocated"], 0)
        for key in ("reserved", "minimum", "borrowed"):
            self.assertEqual(sum(one[key] for one in contexts), together[key])
        weights = {one["name"]: one["weight_bytes"] for one in found["models"]}
        for one in contexts:  # nothing but weights is left when all requests were served
            self.assertGreaterEqual(one["allocated"], weights[one["name"]])
            self.assertLessEqual(one["allocated"], weights[one["name"]] * 1.1 + 256 * 1024)
        self.assertLessEqual(together["reserved"], together["capacity"])
        self.assertLessEqual(found["pool"]["overhead"], 1.4)  # of a few MB; 1.10 at full shapes

    def test_a_context_reaches_its_own_maximum(self):
        self.refused(3, "recognition", "--quota",
                     words=[model("recognition"), "--isolate", "--quota", "recognition=:8MiB", "--requests", "1"])

    def test_the_table_of_contexts(self):
        text = cistern("run", model("classification"), "--requests", "2", "--isolate").stdout
        for part in ("context", "borrowed", "together", "identical, bit for bit"):
            self.assertIn(part, text)

    def test_one_request_after_the_other_has_no_streams(self):
        result = cistern("run", model("classification"), "--requests", "3", "--json")
        found = json.loads(result.stdout)
        self.assertEqual(found["streams"], [])
        self.assertEqual(found["pool"]["events_created"], 0)

    def test_the_table_has_both_ways_and_says_what_is_modelled(self):
        text = cistern("run", model("classification"), "--requests", "3").stdout
        parts = ("every tensor from the driver", "through the pool", "overhead", "modelled", "identical, bit for bit")
        for part in parts:
            self.assertIn(part, text)

    def test_a_run_can_be_recorded(self):
        with tempfile.TemporaryDirectory() as folder:
            trace = os.path.join(folder, "run.cst")
            result = cistern("run", model("classification"), "--requests", "2", "--json", CISTERN_TRACE="ON",
                             CISTERN_TRACE_FILE=trace)
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertGreater(os.path.getsize(trace), 1000)
            leaks = cistern("leaks", trace)
            self.assertEqual(leaks.returncode, 0, leaks.stdout + leaks.stderr)
            (replayed,) = json.loads(cistern("replay", "--json", "--passes", "0", trace).stdout)
            self.assertEqual(replayed["peak_live_bytes"], json.loads(result.stdout)["pool"]["peak_live_bytes"])
            self.assertIsNone(replayed["missing"])

    def test_missing_and_corrupt_models(self):
        self.refused(3, "no-such.onnx", words=["no-such.onnx"])
        with tempfile.NamedTemporaryFile(suffix=".onnx") as broken:
            broken.write(b"this is no network")
            broken.flush()
            self.refused(3, broken.name, words=[broken.name])
            with open(model("classification"), "rb") as whole:
                broken.write(whole.read(100_000))
                broken.flush()
            self.refused(3, broken.name, words=[broken.name])

    def test_words_that_make_no_sense(self):
        good = model("classification")
        self.refused(2, "MODEL.onnx", words=[])
        self.refused(2, "--requests", "0", words=[good, "--requests", "0"])
        self.refused(2, "WORST_FIT", "BEST_FIT", words=[good, "--policy", "WORST_FIT"])
        self.refused(2, "--reqests", "--requests", words=[good, "--reqests", "3"])
        self.refused(2, "--device", "npu", words=[good, "--device", "npu"])
        self.refused(2, "--streams", "64", words=[good, "--streams", "65"])
        self.refused(2, "--isolate", words=[good, "--quota", "classification=1MiB:2MiB"])
        self.refused(2, "MODEL=MIN:MAX", words=[good, "--isolate", "--quota", "classification"])
        self.refused(2, "promises more", words=[good, "--isolate", "--quota", "classification=2MiB:1MiB"])
        self.refused(2, "elsewhere", words=[good, "--isolate", "--quota", "elsewhere=1MiB:2MiB"])
        self.refused(2, "twice", words=[good, "--isolate", "--quota", "classification=:1GiB", "--quota",
                                        "classification=:2GiB"])
        self.refused(2, "--dim", words=[good, "--dim", "classification:x"])
        self.refused(2, "elsewhere", words=[good, "--dim", "elsewhere:x:0=1"])
        self.refused(2, "CISTERN_POLICY", words=[good], CISTERN_POLICY="NONE")
        self.refused(2, "CISTERN_POLCY", words=[good], CISTERN_POLCY="BEST_FIT")

    def test_too_little_memory_names_the_remedy(self):
        self.refused(3, "--capacity", words=[model("recognition"), "--capacity", "8MiB"])
        self.refused(3, "--limit-bytes", words=[model("recognition"), "--limit-bytes", "8MiB"])
        self.refused(3, "--capacity", words=[model("recognition"), "--capacity", "64KiB"])

    def test_no_runtime_names_the_command_that_gets_it(self):
        self.refused(3, "./dev setup", words=[model("classification")], CISTERN_ONNXRUNTIME="/no/such/library.so")


if __name__ == "__main__":
    BINARY, TREE = sys.argv[1:3]
    unittest.main(argv=[sys.argv[0]], verbosity=2)
