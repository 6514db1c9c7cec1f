"""The example with several models: its results are the engine's own, it leaves nothing, and the environment acts on it.

usage: multi_model_test.py MULTI_MODEL ENGINE_RESULTS ROOT
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

MULTI_MODEL, ENGINE_RESULTS, ROOT = sys.argv[1:4]
MODELS = [str(path) for path in sorted(pathlib.Path(ROOT, ".deps/models").glob("*.onnx"))]
# The largest shapes of the detection network take seconds on a busy machine.
SHAPES = "detection:x:2=320;detection:x:3=320"


def run(program, *arguments, **environment):
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("CISTERN_", "ASCEND_"))}
    return subprocess.run((program, *arguments), env={**clean, **environment}, capture_output=True, text=True,
                          timeout=300, cwd=ROOT)


def outputs(text):
    return re.findall(r"^(\S+): outputs ([0-9a-f]{16})$", text, re.M)


def used(text, when):
    return re.findall(rf"^{when}: \d+ bytes, used (\d+) ", text, re.M)


@unittest.skipUnless(len(MODELS) == 3, "no models: run ./dev setup")
class MultiModel(unittest.TestCase):
    def test_results_are_the_engines_own_and_nothing_is_left(self):
        wanted = outputs(run(ENGINE_RESULTS, *MODELS).stdout)
        self.assertEqual(len(wanted), 3)
        for variant in ([], ["--context-per-model"]):
            for strict in ("OFF", "ON"):
                done = run(MULTI_MODEL, *MODELS, *variant, CISTERN_ACL_STRICT=strict)
                self.assertEqual((done.returncode, done.stderr), (0, ""), (variant, strict))
                self.assertEqual(outputs(done.stdout), wanted)
                before = used(done.stdout, "pool before")
                self.assertEqual(len(before), 3 if variant else 1)
                self.assertEqual(used(done.stdout, "pool after"), before)

    def test_a_limit_that_is_too_small_is_explained(self):
        done = run(MULTI_MODEL, *MODELS, ASCEND_MEMORY_POOL_MAX_SIZE="8388608", CISTERN_MODEL_SHAPES=SHAPES)
        self.assertEqual(done.returncode, 1)
        self.assertIn("207001", done.stderr)
        self.assertIn("default context of device 0", done.stderr)
        self.assertIn("raise CISTERN_LIMIT_BYTES to at least", done.stderr)
        self.assertIn("weights/", done.stderr)  # who holds the memory

    def test_policies_change_nothing_in_the_results(self):
        both = [outputs(run(MULTI_MODEL, *MODELS, ASCEND_MEMPOOL_POLICY=policy, CISTERN_MODEL_SHAPES=SHAPES).stdout)
                for policy in ("BEST_FIT", "FIRST_FIT")]
        self.assertEqual(len(both[0]), 3)
        self.assertEqual(both[0], both[1])

    def test_the_trace_lists_call_sites(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "trace.log")
            done = run(MULTI_MODEL, *MODELS, ASCEND_MEMPOOL_TRACE="ON", ASCEND_MEMPOOL_TRACE_FILE=path,
                       CISTERN_MODEL_SHAPES=SHAPES)
            self.assertEqual(done.returncode, 0, done.stderr)
            pipe = f"grep alloc {path} | awk '{{print $4}}' | sort | uniq -c | sort -rn | head -20"
            sites = subprocess.run(pipe, shell=True, check=True, capture_output=True, text=True).stdout
        # Inputs and outputs, weights and work windows, at places of the program's; which, the compiler decides.
        counted = re.findall(r"^ *(\d+) (\S+)\+0x[0-9a-f]+$", sites, re.M)
        self.assertGreaterEqual(len(counted), 3, sites)
        self.assertGreaterEqual(sum(int(count) for count, _ in counted), 3 * 3 + 1, sites)
        self.assertFalse([site for _, site in counted if "ascendcl" in site or "acl" in site], sites)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
