"""Leak hunting from end to end: a program that uses libcistern is traced by environment alone, and the tool finds what
it leaks.

Usage: leaks_test.py CISTERN LEAKY_PROGRAM
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import unittest

BINARY = ""
PROGRAM = ""


def run(*command, **variables):
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("CISTERN_", "ASCEND_"))}
    return subprocess.run(command, capture_output=True, text=True, env=kept | variables, timeout=120, check=False)


class Leaks(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.TemporaryDirectory()
        self.addCleanup(self.directory.cleanup)

    def traced(self, name, *arguments, **variables):
        """The trace of a run of the program, asked for by the articles' names."""
        path = str(pathlib.Path(self.directory.name) / name)
        named = {"ASCEND_MEMPOOL_TRACE": "ON", "ASCEND_MEMPOOL_TRACE_FILE": path}
        result = run(PROGRAM, *arguments, **(named | variables))
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        return path

    def test_finds_the_place_of_the_leak_in_both_forms(self):
        for name in ("a.trace", "a.log"):
            result = run(BINARY, "leaks", "--json", self.traced(name))
            self.assertEqual((result.returncode, result.stderr), (1, ""))
            report = json.loads(result.stdout)
            self.assertEqual((report["blocks"], report["bytes"]), (100, 300000))
            self.assertTrue(report["ended"])
            (leak,) = report["leaks"]
            self.assertTrue(leak["call_site"].startswith("cache_entry+0x"), leak)
            self.assertEqual((leak["tag"], leak["pool"], leak["blocks"]), ("cache", "server", 100))
            self.assertTrue(any(frame.startswith("main+0x") for frame in leak["call_stack"]), leak)

    def test_text_for_people(self):
        result = run(BINARY, "leaks", "--stacks", self.traced("a.trace"))
        self.assertIn("100 blocks, 293 KiB, are live", result.stdout)
        self.assertRegex(result.stdout, r"(?m)^293 KiB +100 .* server +cache +cache_entry\+0x")
        self.assertRegex(result.stdout, r"(?m)^  main\+0x")

    def test_a_balanced_program_has_none(self):
        trace = self.traced("a.trace", "50", "balanced")
        result = run(BINARY, "leaks", trace)
        self.assertEqual((result.returncode, result.stdout), (0, "no block is live at the end of the trace\n"))
        result = run(BINARY, "leaks", "--growth", trace)
        self.assertEqual((result.returncode, result.stdout), (0, "no call site's live bytes climb steadily\n"))

    def test_growth(self):
        result = run(BINARY, "leaks", "--growth", "--json", self.traced("a.trace"))
        self.assertEqual(result.returncode, 1, result.stderr)
        (group,) = json.loads(result.stdout)["growth"]
        self.assertTrue(group["call_site"].startswith("cache_entry+0x"), group)
        self.assertGreater(group["bytes_per_second"], 0)

    def test_between_marks(self):
        """Half of the cache's 100 entries are allocated after the first mark."""
        for name in ("a.trace", "a.log"):
            trace = self.traced(name)
            result = run(BINARY, "leaks", "--json", trace, "--between", "warm", "--between", "all allocated")
            self.assertEqual((result.returncode, result.stderr), (1, ""))
            self.assertEqual(json.loads(result.stdout)["blocks"], 50)
            text = run(BINARY, "leaks", trace, "--between", "warm", "--between", "all allocated").stdout
            self.assertIn("are live at mark 'all allocated' and were allocated after 'warm'", text)
            result = run(BINARY, "leaks", trace, "--between", "all allocated", "--between", "warm")
            self.assertEqual((result.returncode, result.stdout), (3, ""))
            self.assertIn("no mark 'warm' after 'all allocated' in the trace; its marks: ", result.stderr)
        self.assertEqual(run(BINARY, "leaks", trace, "--between", "warm").returncode, 2)

    def test_a_killed_program_leaves_a_trace(self):
        """kill -9 in the middle: both tools read what was written and say that it is not all."""
        for name in ("a.trace", "a.log"):
            path = str(pathlib.Path(self.directory.name) / name)
            variables = {"CISTERN_TRACE": "ON", "CISTERN_TRACE_FILE": path, "CISTERN_TRACE_STACK_DEPTH": "0"}
            program = subprocess.Popen([PROGRAM, "1000000000", "balanced"], env=os.environ | variables)
            try:
                deadline = time.monotonic() + 60
                while not (os.path.exists(path) and os.path.getsize(path) > 200000) and time.monotonic() < deadline:
                    time.sleep(0.01)
            finally:
                program.kill()
                program.wait()
            leaks = run(BINARY, "leaks", path)
            self.assertIn(leaks.returncode, (0, 1))
            self.assertRegex(leaks.stderr, "has no end: the program was killed|is read up to its damage only")
            self.assertRegex(leaks.stderr, "lacks up to [0-9]+ events|has every event that had happened")
            (found,) = json.loads(run(BINARY, "replay", "--json", "--passes", "0", path).stdout)
            self.assertGreater(found["events"], 1000)
            self.assertIsNotNone(found["missing"])

    def test_waiting_for_room_makes_the_trace_complete(self):
        trace = self.traced("a.log", "30000", "balanced", CISTERN_TRACE_WHEN_FULL="WAIT", CISTERN_TRACE_STACK_DEPTH="0")
        (found,) = json.loads(run(BINARY, "replay", "--json", "--passes", "0", trace).stdout)
        self.assertEqual((found["events"], found["dropped_events"], found["missing"]), (90000, 0, None))

    def test_the_articles_command(self):
        path = self.traced("a.log")
        command = f"grep \"alloc\" {path} | awk '{{print $4}}' | sort | uniq -c | sort -rn | head -20"
        counts = [line.split() for line in run("sh", "-c", command).stdout.splitlines()]
        self.assertEqual([count for count, _ in counts], ["200", "100"])
        self.assertTrue(counts[0][1].startswith("request_buffer+0x"), counts)
        self.assertTrue(counts[1][1].startswith("cache_entry+0x"), counts)

    def test_what_was_recorded_replays(self):
        """300 allocations; at the most 100 entries of 3,000 bytes and one buffer of 100,000 are live."""
        for name in ("a.trace", "a.log"):
            for policy in ("BEST_FIT", "FIRST_FIT"):
                result = run(BINARY, "replay", "--json", "--passes", "0", "--policy", policy, self.traced(name))
                self.assertEqual((result.returncode, result.stderr), (0, ""))
                (found,) = json.loads(result.stdout)
                figures = [found[key] for key in ("format", "events", "allocations", "peak_live_bytes", "missing")]
                self.assertEqual(figures, ["cistern", 500, 300, 400000, None])

    def test_a_cut_trace_replays_to_the_cut_and_says_so(self):
        path = pathlib.Path(self.traced("a.trace", "20000"))
        path.write_bytes(path.read_bytes()[:-1000])
        text = " ".join(run(BINARY, "replay", "--passes", "0", str(path)).stdout.split())
        self.assertRegex(text, r"a: the file is read up to its damage only: chunk \d+ at byte \d+ is cut off")

    def test_report_at_exit(self):
        result = run(PROGRAM, CISTERN_LEAK_REPORT="ON")
        self.assertEqual(result.returncode, 0)
        self.assertIn("100 blocks, 293 KiB, were never freed, from 1 places", result.stderr)
        self.assertRegex(result.stderr, r"293 KiB in 100 blocks of pool 'server', tag cache: cache_entry\+0x")
        self.assertEqual(run(PROGRAM, "50", "balanced", CISTERN_LEAK_REPORT="ON").stderr, "")

    def test_the_name_can_hold_the_process(self):
        self.traced("a.%p.trace")
        (path,) = pathlib.Path(self.directory.name).iterdir()
        self.assertRegex(path.name, r"^a\.[0-9]+\.trace$")
        self.assertEqual(path.stat().st_mode & 0o777, 0o600)

    def test_what_is_no_trace_is_refused(self):
        for path in (PROGRAM, "/no/such/file", self.directory.name):
            result = run(BINARY, "leaks", path)
            self.assertEqual((result.returncode, result.stdout), (3, ""))
            self.assertEqual(result.stderr.count("\n"), 1)

    def test_a_cut_trace_is_read_to_the_cut_and_says_so(self):
        path = pathlib.Path(self.traced("a.trace", "20000"))
        path.write_bytes(path.read_bytes()[:-1000])
        result = run(BINARY, "leaks", "--json", str(path))
        self.assertIn("is read up to its damage only", result.stderr)
        self.assertFalse(json.loads(result.stdout)["ended"])


if __name__ == "__main__":
    BINARY, PROGRAM = sys.argv[1:3]
    unittest.main(argv=sys.argv[:1])
