"""cistern tune as users run it: the table, the winner's lines, JSON, refusals.

usage: tune_test.py PATH_OF_CISTERN
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

BINARY = ""
MIB = 1 << 20
HEADER = "op,id,size,time_ns,stream\n"
# Ten blocks of 2 MiB, every other one goes, two of 4 MiB are wanted: stitching serves them from the holes.
HOLES = (HEADER + "".join(f"a,{i},{2 * MIB},{i},0\n" for i in range(10))
         + "".join(f"f,{i},,{10 + i},0\n" for i in range(0, 10, 2))
         + f"a,20,{4 * MIB},30,0\na,21,{4 * MIB},31,0\n")


class Tune(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.trace = pathlib.Path(folder.name) / "holes.csv"
        self.trace.write_text(HOLES)

    def tune(self, *arguments, code=0):
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("CISTERN_", "ASCEND_"))}
        words = [BINARY, "tune", str(self.trace), "--passes", "0", *arguments]
        result = subprocess.run(words, capture_output=True, text=True, env=kept, timeout=120, check=False)
        self.assertEqual(result.returncode, code, result.stderr)
        return result

    def test_the_winner_can_be_pasted(self):
        text = self.tune().stdout
        self.assertIn("export CISTERN_GROWTH=EXPANDABLE\n", text)
        self.assertIn("export CISTERN_ON_MISS=STITCH_FIRST\n", text)
        self.assertIn("options.on_miss = CISTERN_ON_MISS_STITCH_FIRST;\n", text)
        self.assertIn("Against the runner-up: ", text)
        self.assertRegex(" ".join(text.split()), r"Profile SMALL_MODEL \(.*?\), rank \d+: .* more memory")
        rows = [line.split() for line in text.splitlines() if "_fit" in line]
        self.assertGreaterEqual(len(rows), 10)
        self.assertEqual(rows[0][0], "1")

    def test_json_has_every_candidate_in_order(self):
        found = json.loads(self.tune("--json").stdout)
        self.assertEqual(found["environment"]["CISTERN_ON_MISS"], "STITCH_FIRST")
        overheads = [each["overhead"] for each in found["candidates"]]
        self.assertGreater(len(overheads), 30)
        self.assertLessEqual(overheads[0], min(overheads) * 1.005)
        self.assertEqual({each["profile"] for each in found["candidates"]} - {""},
                         {"SMALL_MODEL", "LARGE_MODELS", "SEVERAL_MODELS", "THROUGHPUT"})
        self.assertFalse(any(each["movable"] for each in found["candidates"]))

    def test_movable_blocks_where_memory_is_limited(self):
        found = json.loads(self.tune("--json", "--capacity", "1.00x").stdout)
        self.assertTrue(any(each["movable"] for each in found["candidates"]))
        self.assertEqual(found["candidates"][0]["failed"], 0)
        self.assertGreater(found["candidates"][-1]["failed"], 0)

    def test_who_has_nothing_to_gain_is_told_so(self):
        self.trace.write_text(HEADER + "a,1,65536,0,0\n")
        self.assertIn("The defaults are no different from the winner: keep them.\n", self.tune().stdout)

    def test_what_the_defaults_cost_where_they_do_not_win(self):
        text = self.tune("--for", "time").stdout
        self.assertRegex(text, r"The defaults: .*(more|times the) time against the winner\.")

    def test_settings_that_are_tried_are_told_as_such(self):
        result = self.tune("--policy", "FIRST_FIT")
        self.assertIn("CISTERN_POLICY has no effect here", result.stderr)
        self.assertEqual(self.tune("--json", "--policy", "FIRST_FIT").stdout, self.tune("--json").stdout)

    def test_settings_that_are_not_tried_are_every_candidates(self):
        self.trace.write_text(HEADER + "".join(f"a,{i},{MIB},{i},0\n" for i in range(8)))
        found = json.loads(self.tune("--json", "--round-bytes", "2MiB").stdout)
        self.assertTrue(all(each["overhead"] >= 2.0 for each in found["candidates"]))

    def test_refusals(self):
        self.assertIn("--capacity", self.tune("--capacity", "0.1x", code=2).stderr)
        self.assertIn("--for", self.tune("--for", "luck", code=2).stderr)


if __name__ == "__main__":
    BINARY = sys.argv.pop(1)
    unittest.main()
