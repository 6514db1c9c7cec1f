"""`cistern replay` as its users meet it: figures of small traces worked out by hand, keys, tables, refusals.

Usage: replay_test.py BINARY
"""

import csv
import gzip
import io
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

BINARY = ""
PAGE = 64 * 1024
HEADER = "op,id,size,time_ns,stream\n"

# A, B, C of a page each; A and C go; then two pages are wanted: the two holes together, or one page more.
HOLES = HEADER + (
    f"a,1,{PAGE},0,0\na,2,{PAGE},10,0\na,3,{PAGE},20,0\nf,1,,30,0\nf,3,,40,0\na,4,{2 * PAGE},50,1\nf,4,,60,1\n"
)
# Twenty blocks of 3 MiB, one after the other.
ROLLING = HEADER + "".join(f"a,{i},{3 << 20},{2 * i},0\nf,{i},,{2 * i + 1},0\n" for i in range(20))


class Replay(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.holes = self.write("holes.csv", HOLES)
        self.rolling = self.write("rolling.csv", ROLLING)

    def write(self, name, text):
        path = self.folder / name
        path.write_text(text)
        return str(path)

    def replay(self, *arguments, **variables):
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("CISTERN_", "ASCEND_"))}
        words = [BINARY, "replay", *arguments]
        return subprocess.run(words, capture_output=True, text=True, env=kept | variables, timeout=120, check=False)

    def report(self, *arguments, code=0, **variables):
        result = self.replay("--json", *arguments, **variables)
        self.assertEqual((result.returncode, result.stderr), (code, ""))
        return json.loads(result.stdout)

    def figures(self, *arguments, code=0, **variables):
        """The figures that are there of the only trace, without times."""
        traces = self.report("--passes", "0", "--page-bytes", str(PAGE), *arguments, code=code, **variables)
        self.assertEqual(len(traces), 1)
        return traces[0]

    def assert_has(self, figures, **wanted):
        self.assertEqual({name: figures[name] for name in wanted}, wanted)

    def test_figures_of_a_trace(self):
        found = self.figures(self.holes)
        self.assert_has(found, trace="holes", format="csv", events=7, allocations=4, streams=2, page_bytes=PAGE)
        self.assert_has(found, peak_live_bytes=3 * PAGE, peak_reserved_bytes=3 * PAGE, reserved_over_live=1.0)
        self.assert_has(found, misses=4, growths=3, stitches=1, stitched_pages=1, driver_allocations=3, failed_events=0)
        self.assert_has(found, first_failure=None, first_damage=None, ns_per_pair=None, checked_blocks=None)
        self.assert_has(found, smallest_over_live=None, smallest_capacity_bytes=None, p999_ns=None)

    def test_streams_as_contexts_share_pages(self):
        (found,) = self.report("--contexts", "streams", "--page-bytes", str(PAGE), self.holes)
        self.assert_has(found, trace="holes", streams=2, joint_peak_live_bytes=3 * PAGE, joint_reserved_bytes=3 * PAGE)
        self.assert_has(found, joint_over_live=1.0, separate_reserved_bytes=5 * PAGE, lent_bytes=2 * PAGE, failed=0)
        self.assertEqual([each["alone_bytes"] for each in found["contexts"]], [3 * PAGE, 2 * PAGE])
        self.assertEqual([each["peak_reserved_bytes"] for each in found["contexts"]], [3 * PAGE, 2 * PAGE])
        text = self.replay("--contexts", "streams", "--page-bytes", str(PAGE), self.holes).stdout
        self.assertRegex(text, r"together +192 KiB +192 KiB +320 KiB\n")
        rows = list(csv.DictReader(io.StringIO(self.replay("--contexts", "streams", "--csv", self.holes).stdout)))
        self.assertEqual(rows[0]["joint_peak_live_bytes"], str(3 * PAGE))

    def test_options_reach_the_pool(self):
        found = self.figures(self.holes, "--on-miss", "grow_first")
        self.assert_has(found, peak_reserved_bytes=4 * PAGE, stitches=0)
        (whole,) = self.report("--passes", "0", self.holes, "--policy", "FIRST_FIT", "--on-miss", "GROW_FIRST")
        self.assert_has(whole, policy="first_fit", on_miss="grow_first", growth="expandable", device="none")
        self.assertIsNone(whole["capacity_bytes"])

    def test_growth_of_the_environment_and_of_the_command_line(self):
        self.assert_has(self.report("--passes", "0", self.holes, CISTERN_GROWTH="ARENAS")[0], growth="arenas")
        (found,) = self.report("--passes", "0", self.holes, "--growth", "expandable", CISTERN_GROWTH="ARENAS")
        self.assert_has(found, growth="expandable")

    def test_the_baseline(self):
        self.assert_has(self.figures(self.holes, "--growth", "SEGMENTS"), peak_reserved_bytes=2 << 20, page_bytes=0)
        found = self.figures(self.rolling, "--growth", "segments")
        self.assert_has(found, peak_reserved_bytes=20 << 20, driver_allocations=1)
        self.assertAlmostEqual(found["reserved_over_live"], 20 / 3)

    def test_smallest(self):
        found = self.figures(self.holes, "--smallest")
        self.assert_has(found, smallest_capacity_bytes=3 * PAGE, smallest_over_live=1.0)
        found = self.figures(self.holes, "--smallest", "--growth", "arenas")
        self.assert_has(found, smallest_capacity_bytes=4 * PAGE)

    def test_a_request_that_fails_is_a_finding(self):
        trace = self.write("tight.csv", HOLES.replace(f"a,4,{2 * PAGE}", f"a,4,{3 * PAGE}"))
        capacity = ["--capacity", str(3 * PAGE)]
        found = self.figures(trace, *capacity, code=1)
        self.assert_has(found, failed_events=1)
        wanted = {"event": 5, "time_ns": 50, "bytes": 3 * PAGE, "stream": 1, "largest_free_bytes": PAGE}
        self.assertEqual(found["first_failure"], wanted | {"free_bytes": 2 * PAGE, "reserved_bytes": 3 * PAGE})
        text = self.replay(trace, *capacity, "--page-bytes", str(PAGE), "--passes", "0")
        self.assertEqual(text.returncode, 1)
        plain = " ".join(text.stdout.split())
        self.assertIn("tight: 1 of 4 requests failed and were left out. The first: event 5 at 50 ns, 192 KiB on", plain)
        self.assertIn("stream 1; largest hole 64 KiB, 128 KiB free in all, 192 KiB reserved.", plain)

    def test_contents_are_checked(self):
        for device in ("host", "simulated"):
            found = self.figures(self.holes, "--device", device, "--capacity", "64MiB", "--check")
            self.assert_has(found, checked_blocks=4, damaged_blocks=0, stitches=1)
        self.assertGreater(found["modelled_driver_ns"], 0)
        text = self.replay(self.holes, "--device", "host", "--check", "--passes", "0").stdout
        self.assertIn("contents of 4 blocks intact", text)

    def test_magazines_are_counted(self):
        """Of 20 blocks of one size, one after the other, the first is no hit."""
        rows = "".join(f"a,{i},4096,{2 * i},0\nf,{i},,{2 * i + 1},0\n" for i in range(20))
        found = self.figures(self.write("same.csv", HEADER + rows), "--magazine-bytes", "1MiB")
        self.assertAlmostEqual(found["magazine_hit_rate"], 19 / 20)

    def test_compaction(self):
        blocks = "".join(f"a,{i},1024,{i},0\n" for i in range(8))
        frees = "".join(f"f,{i},,{10 + i},0\n" for i in range(0, 8, 2))
        trace = self.write("checker.csv", HEADER + blocks + frees + "a,9,2048,30,0\n")
        arena = ["--growth", "ARENAS", "--capacity", "1.00x", "--filled", "--passes", "0"]
        (found,) = self.report(*arena, trace, "--compaction", "relocate")
        self.assert_has(found, compaction="relocate", capacity_over_peak=1.0, filled=1)
        self.assert_has(found, failed_events=0, moves=1, moved_bytes=1024, compaction_steps=1,
                        served_by_compaction=1, longest_step_bytes=1024, peak_reserved_bytes=8192)
        (found,) = self.report(*arena, trace, "--compaction", "none", code=1)
        self.assert_has(found, failed_events=1, moves=0, compaction_steps=0)
        text = self.replay(*arena, trace, "--compaction", "all", "--device", "host", "--check")
        self.assertEqual(text.returncode, 0)
        plain = " ".join(text.stdout.split())
        self.assertIn("capacity 1.000 of the peak, filled", plain)
        self.assertIn("relocations 1 1 KiB copied", plain)
        self.assertIn("contents of 9 blocks intact, all live ones looked at after each of 1 steps of compaction", plain)

    def test_times(self):
        (found,) = self.report(self.rolling, "--passes", "1")
        self.assertGreater(found["ns_per_pair"], 0)
        self.assertAlmostEqual(found["ns_per_pair"], found["ns_per_pair_gross"] - found["loop_ns_per_pair"])
        self.assertGreaterEqual(found["p999_ns"], found["growing_allocate_ns_p50"])
        self.assertEqual(found["growing_driver_operations"], 1)
        self.assertEqual(found["growing_allocate_operations"] + found["growing_free_operations"], 39)
        self.assertLessEqual(found["steady_allocate_ns_p50"], found["steady_allocate_ns_p99"])
        text = self.replay(self.rolling, "--passes", "1").stdout
        self.assertRegex(text, r"events a second +\d+\.\d million")
        self.assertRegex(text, r"ns per pair, growing +\d+\.\d +\d+\.\d without the loop's \d+\.\d\n")

    def test_several_traces_are_a_table(self):
        result = self.replay(self.holes, self.rolling, "--smallest", "--page-bytes", "64KiB", "--passes", "1")
        self.assertEqual(result.returncode, 0)
        rows = [re.split(r"  +", line.strip()) for line in result.stdout.splitlines()]
        titles = next(row for row in rows if row[0] == "trace")
        table = {row[0]: dict(zip(titles, row)) for row in rows if len(row) == len(titles)}
        self.assertEqual({"holes", "rolling"} & set(table), {"holes", "rolling"})
        wanted = {"events": "7", "overhead": "1.0000", "smallest": "1.0000", "misses": "4", "stitches": "1"}
        self.assertEqual({name: table["holes"][name] for name in wanted}, wanted)
        self.assertEqual(table["rolling"]["events"], "40")
        self.assertGreater(float(table["rolling"]["ns/pair"]), 0)

    def test_csv_has_what_json_has(self):
        text = self.replay("--csv", "--passes", "0", self.holes, self.rolling).stdout
        rows = list(csv.DictReader(io.StringIO(text)))
        traces = self.report("--passes", "0", self.holes, self.rolling)
        self.assertEqual([row["trace"] for row in rows], ["holes", "rolling"])
        names = [name for name in rows[0] if not name.startswith(("first_failure_", "first_damage_"))]
        self.assertEqual(names, [name for name in traces[0] if name not in ("first_failure", "first_damage")])
        self.assertEqual(rows[1]["peak_reserved_bytes"], str(traces[1]["peak_reserved_bytes"]))
        self.assertEqual(rows[1]["first_failure_event"], "")

    def test_packed_files_and_remarks(self):
        path = self.folder / "odd.csv.gz"
        path.write_bytes(gzip.compress((HOLES + "f,77,,70,0\n").encode()))
        self.assert_has(self.figures(str(path)), trace="odd", events=7, frees_without_allocation=1)
        self.assertIn("odd: the file has frees without allocation 1.", self.replay(str(path), "--passes", "0").stdout)

    def test_mistakes(self):
        junk = self.write("junk.csv", "this is no trace\n")
        for words, code, text in (
            (["/no/such/file.csv"], 3, "/no/such/file.csv"),
            ([junk], 3, junk),
            ([self.holes, "--format", "tarot"], 2, "there is no trace format 'tarot'"),
            ([self.holes, "--capacity", "64KiB"], 2, "a capacity of 64KiB is smaller than the largest block of 131072"),
            ([self.holes, "--capacity", "much"], 2, "--capacity"),
            ([self.holes, "--capacity", "0"], 2, "--capacity 0"),
            ([self.holes, "--capacity", "0.5x"], 2, "a multiple of a trace's peak"),
            ([self.holes, "--capacity", "onex"], 2, "a multiple of a trace's peak"),
            ([self.holes, "--filled"], 2, "a filled pool needs a capacity"),
            ([self.holes, "--compaction", "some"], 2, "--compaction"),
            ([self.holes, "--check"], 2, "choose --device host or simulated"),
            ([self.holes, "--device", "simulated", "--growth", "segments"], 2, "bookkeeping without memory"),
            ([self.holes, "--device", "cuda"], 2, "--device"),
            ([self.holes, "--growth", "shrink"], 2, "--growth"),
            ([self.holes, "--contexts", "some"], 2, "--contexts"),
            ([self.holes, "--contexts", "streams", "--smallest"], 2, "--smallest is of one pool"),
            ([self.holes, "--contexts", "streams", "--compaction", "all"], 2, "move pages, not blocks"),
            ([self.holes, "--contexts", "streams", "--device", "host"], 2, "on a device that only counts"),
            ([self.holes, "--json", "--csv"], 2, "--json and --csv exclude each other"),
            ([], 2, "TRACE"),
        ):
            result = self.replay(*words)
            self.assertEqual((result.returncode, result.stdout), (code, ""), words)
            self.assertIn(text, result.stderr)
            self.assertEqual(result.stderr.count("\n"), 1, result.stderr)

    def test_help_names_growth_once(self):
        text = self.replay("--help").stdout
        self.assertEqual(len(re.findall(r"^  --growth ", text, re.MULTILINE)), 1)
        self.assertIn("EXPANDABLE|ARENAS|SEGMENTS", text)


if __name__ == "__main__":
    BINARY = sys.argv[1]
    unittest.main(argv=sys.argv[:1])
