"""Programs in the style of those for Ascend, run as processes: what they print, how they end, what the environment
does.

usage: programs_test.py MEMORY_LOOPS SLEEP_AND_WAKE TOUCHES_DEVICE MODEL_WAYS DESCRIBES_MODELS ROOT
"""
import os
import signal
import subprocess
import sys
import tempfile
import unittest

MEMORY_LOOPS, SLEEP_AND_WAKE, TOUCHES_DEVICE, MODEL_WAYS, DESCRIBES_MODELS, ROOT = sys.argv[1:7]
MODEL = os.path.join(ROOT, ".deps/models/classification.onnx")


def run(*command, **environment):
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("CISTERN_", "ASCEND_"))}
    return subprocess.run(command, env={**clean, **environment}, capture_output=True, text=True, timeout=120,
                          cwd=ROOT)  # where ONNX Runtime is found


class MemoryLoops(unittest.TestCase):
    def test_nothing_is_left_in_any_variant(self):
        for arguments in (("1048576", "50", "0"), ("1048576", "50", "1"), ("10485760", "10", "0", "async"),
                          ("10485760", "10", "1", "async")):
            done = run(MEMORY_LOOPS, *arguments)
            self.assertEqual((done.returncode, done.stderr), (0, ""), arguments)
            self.assertIn("34359738368 bytes free", done.stdout)  # 32 GiB

    def test_a_large_block_in_a_stream(self):
        done = run(MEMORY_LOOPS, "134217728", "1", "1", "async")
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_strict_mode_is_no_obstacle(self):
        done = run(MEMORY_LOOPS, "1048576", "5", "0", CISTERN_ACL_STRICT="ON")
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_a_limit_that_is_too_small(self):
        done = run(MEMORY_LOOPS, "10485760", "1", "0", ASCEND_MEMORY_POOL_MAX_SIZE="4194304")
        self.assertEqual(done.returncode, 1)
        self.assertIn("207001", done.stderr)
        self.assertIn("ASCEND_MEMORY_POOL_MAX_SIZE", done.stderr)

    def test_policies(self):
        for policy in ("BEST_FIT", "FIRST_FIT"):
            self.assertEqual(run(MEMORY_LOOPS, "4096", "9", "0", ASCEND_MEMPOOL_POLICY=policy).returncode, 0)
        wrong = run(MEMORY_LOOPS, "4096", "9", "0", ASCEND_MEMPOOL_POLICY="WORST_FIT")
        self.assertEqual(wrong.returncode, 1)
        self.assertIn("ASCEND_MEMPOOL_POLICY", wrong.stderr)

    def test_the_trace_names_the_programs_call_sites(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "trace.log")
            done = run(MEMORY_LOOPS, "4096", "7", "0", ASCEND_MEMPOOL_TRACE="ON", ASCEND_MEMPOOL_TRACE_FILE=path)
            self.assertEqual(done.returncode, 0)
            with open(path, encoding="utf-8") as file:
                sites = [line.split()[3] for line in file if "alloc" in line]
        self.assertEqual(len(sites), 14)  # device and host memory, seven times
        self.assertTrue(all("make" in site or "main" in site for site in sites), sites)


class SleepAndWake(unittest.TestCase):
    def test_addresses_and_contents_are_the_same(self):
        done = run(SLEEP_AND_WAKE)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "awake again\n", ""))


@unittest.skipUnless(os.path.exists(MODEL), "no models: run ./dev setup")
class ModelWays(unittest.TestCase):
    def test_nothing_is_left_in_either_mode(self):
        for way in ("own_memory", "pairs"):
            for strict in ("OFF", "ON"):
                done = run(MODEL_WAYS, MODEL, way, CISTERN_ACL_STRICT=strict)
                self.assertEqual((done.returncode, done.stderr), (0, ""), (way, strict))

    def test_the_block_that_is_forgotten_is_named(self):
        done = run(MODEL_WAYS, MODEL, "batch", CISTERN_MODEL_SHAPES="classification:x:0=1:4")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("aclrtDestroyContext: the program had not given back", done.stderr)
        self.assertRegex(done.stderr, r"block of context 1, 8 B, from forgotten_batch_memory\+0x")
        self.assertNotIn("times: block", done.stderr)  # that one only


@unittest.skipUnless(os.path.exists(MODEL), "no models: run ./dev setup")
class DescribesModels(unittest.TestCase):
    def test_a_model_of_one_shape(self):
        done = run(DESCRIBES_MODELS, MODEL, CISTERN_ACL_STRICT="ON")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("input x: 1 3 48 192, format 0, type 0\noutput ", done.stdout)
        self.assertIn("run 0: output 0 has 1 rows", done.stdout)
        self.assertNotIn("run 1", done.stdout)

    def test_every_batch_that_the_model_leaves_open(self):
        done = run(DESCRIBES_MODELS, MODEL, CISTERN_MODEL_SHAPES="classification:x:0=1:3")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("input x: -1 3 48 192", done.stdout)
        for i, rows in enumerate((1, 2, 3)):
            self.assertIn(f"run {i}: output 0 has {rows} rows", done.stdout)


class Mistakes(unittest.TestCase):
    def test_a_leak_is_reported_by_its_place(self):
        done = run(TOUCHES_DEVICE)
        self.assertEqual(done.returncode, 0)
        self.assertIn("copy to the host as if it were the device: 0", done.stdout)
        self.assertIn("'dst' is host memory where device memory is needed", done.stderr)
        self.assertRegex(done.stderr, "block of default context of device 0, 4.88 KiB, from forget_this")

    def test_permissive_mode_lets_the_host_touch_device_memory(self):
        done = run(TOUCHES_DEVICE, "touch")
        self.assertEqual(done.returncode, 0)
        self.assertIn("touched: 0", done.stdout)

    def test_strict_mode_traps_and_says_where(self):
        done = run(TOUCHES_DEVICE, "touch", CISTERN_ACL_STRICT="ON")
        self.assertEqual(done.returncode, -signal.SIGSEGV)
        self.assertIn("copy to the host as if it were the device: 107000", done.stdout)
        self.assertNotIn("touched", done.stdout)
        self.assertIn("the host touched device memory at", done.stderr)
        self.assertIn("1234 bytes inside the block", done.stderr)
        self.assertIn("from forget_this", done.stderr)
        stack = done.stderr[done.stderr.index("The program was at"):]
        self.assertLess(stack.index("touch_this"), stack.index("main"))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
