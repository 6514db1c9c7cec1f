"""`cistern plan` as its users meet it: plans worked out by hand, the file of offsets checked anew, refusals.

Usage: plan_test.py BINARY ROOT
"""

import csv
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

BINARY = ""
DATA = pathlib.Path()

# A and C never meet: 2 KiB and 1 KiB share addresses below or above B.
LIFETIMES = "id,lower,upper,size\na,0,10,2048\nb,5,20,512\nc,10,20,1000\n"
TRACE = "op,id,size,time_ns,stream\na,7,2048,0,0\na,8,512,5,0\nf,7,,6,0\na,9,1000,7,0\n"


class Plan(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.lifetimes = self.write("lifetimes.csv", LIFETIMES)

    def write(self, name, text):
        path = self.folder / name
        path.write_text(text)
        return str(path)

    def plan(self, *arguments):
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("CISTERN_", "ASCEND_"))}
        words = [BINARY, "plan", *map(str, arguments)]
        return subprocess.run(words, capture_output=True, text=True, env=kept, timeout=120, check=False)

    def report(self, *arguments):
        result = self.plan("--json", *arguments)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        return json.loads(result.stdout)

    def offsets(self, *arguments):
        """The rows of the file of offsets, each pair of tensors checked, and the report."""
        path = self.folder / "plan.csv"
        (found,) = self.report("--output", path, *arguments)
        with path.open(newline="") as file:
            rows = [
                {name: text if name == "id" else int(text) for name, text in row.items()}
                for row in csv.DictReader(file)
            ]
        for number, one in enumerate(rows):
            self.assertLessEqual(one["offset"] + one["size"], found["plan_bytes"])
            self.assertEqual(one["offset"] % found["alignment"], 0)
            for other in rows[:number]:
                if one["lower"] < other["upper"] and other["lower"] < one["upper"]:
                    low, high = sorted((one, other), key=lambda row: row["offset"])
                    self.assertLessEqual(low["offset"] + low["size"], high["offset"], (one, other))
        return rows, found

    def test_figures(self):
        (found,) = self.report(self.lifetimes)
        wanted = {"trace": "lifetimes", "format": "lifetimes", "tensors": 3, "alignment": 512}
        wanted |= {"is_smallest": True, "method": "stacked"}
        wanted |= {"peak_live_bytes": 2560, "lower_bound_bytes": 2560, "plan_bytes": 2560}
        self.assertEqual({name: found[name] for name in wanted}, wanted)
        (found,) = self.report(self.lifetimes, "--align", "2KiB")
        figures = [found[name] for name in ("plan_bytes", "lower_bound_bytes", "peak_live_bytes")]
        self.assertEqual(figures, [4096, 4096, 2560])

    def test_offsets_carry_the_names_and_times_of_a_lifetimes_file(self):
        rows, _ = self.offsets(self.lifetimes)
        kept = [(row["id"], row["lower"], row["upper"], row["size"]) for row in rows]
        self.assertEqual(kept, [("a", 0, 10, 2048), ("b", 5, 20, 512), ("c", 10, 20, 1000)])

    def test_tensors_of_a_trace_are_numbered_and_timed_by_events(self):
        rows, found = self.offsets(self.write("trace.csv", TRACE))
        kept = [(row["id"], row["lower"], row["upper"], row["size"]) for row in rows]
        self.assertEqual(kept, [("0", 0, 2, 2048), ("1", 1, 4, 512), ("2", 3, 4, 1000)])
        self.assertEqual(found["plan_bytes"], 2560)

    def test_a_hard_file_is_searched_and_its_plan_holds(self):
        hard = DATA / "lifetimes" / "minimalloc_A.csv"
        rows, searched = self.offsets(hard, "--effort", "20")
        self.assertEqual((len(rows), searched["lower_bound_bytes"]), (154, 1048576))
        _, greedy = self.offsets(hard, "--effort", "0")
        self.assertLess(searched["plan_bytes"], greedy["plan_bytes"])
        self.assertEqual(self.offsets(hard, "--effort", "20")[0], rows)

    def test_a_recorded_network_is_at_its_peak(self):
        (found,) = self.report(DATA / "traces" / "cpu_unet.csv.zst")
        self.assertEqual((found["tensors"], found["peak_live_bytes"], found["is_smallest"]), (2550, 97635940, True))

    def test_the_table(self):
        text = self.plan(self.lifetimes, self.write("trace.csv", TRACE)).stdout
        rows = [re.split(r"  +", line.strip()) for line in text.splitlines()]
        titles = rows[0]
        for row in rows[2:4]:
            self.assertEqual(dict(zip(titles, row))["plan/bound"], "1.0000")
            self.assertEqual(dict(zip(titles, row))["smallest"], "yes")
        self.assertIn("Each plan was checked", text)

    def test_mistakes(self):
        for words, code, text in (
            (["/no/such/file.csv"], 3, "/no/such/file.csv"),
            ([self.lifetimes, self.lifetimes, "--output", "x"], 2, "--output takes the plan of one trace"),
            ([self.lifetimes, "--output", "/no/such/folder/x"], 3, "/no/such/folder/x: the plan can't be written"),
            ([self.lifetimes, "--output", "/dev/full"], 3, "/dev/full: the plan can't be written whole"),
            ([self.lifetimes, "--align", "0"], 2, "alignment"),
            ([self.write("bad.csv", "id,lower,upper,size\na,5,2,1\n")], 3, "lies before lower"),
            ([], 2, "TRACE"),
        ):
            result = self.plan(*words)
            self.assertEqual((result.returncode, result.stdout), (code, ""), words)
            self.assertIn(text, result.stderr)
            self.assertEqual(result.stderr.count("\n"), 1, result.stderr)


if __name__ == "__main__":
    BINARY = sys.argv[1]
    DATA = pathlib.Path(sys.argv[2]) / "tests" / "data"
    unittest.main(argv=sys.argv[:1])
