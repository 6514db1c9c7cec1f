"""The benchmarks' table: medians, the loop subtracted, what is missing shown as missing.

Usage: table_test.py FOLDER_OF_TABLE_PY.
"""

import pathlib
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, sys.argv.pop(1))
import table  # noqa: E402


def run(name, cpu=0.0, real=0.0, **more):
    return {"name": name, "run_type": "iteration", "cpu_time": cpu, "real_time": real, **more}


DATA = {
    "context": {"num_cpus": 2, "load_avg": [0.5, 0.25], "left_out_jemalloc": "no such file"},
    "benchmarks": [
        run("W1/null", cpu=5, real=900),
        run("W1/cistern", cpu=45, real=900, footprint=1.0625, misses=0.002),
        run("W1/cistern", cpu=1000, real=900, footprint=1.0625, misses=0.002),
        run("W1/cistern", cpu=35, real=900, footprint=1.0625, misses=0.002),
        run("W1/naive", cpu=165, real=900, footprint=1.125),
        run("W1/mimalloc", error_occurred=True, error_message="too slow"),
        {"name": "W1/cistern_median", "run_type": "aggregate", "cpu_time": 7777, "real_time": 7777},
        run("2t/null/manual_time", real=10, cpu_ns=4),
        run("2t/cistern/manual_time", real=130, cpu_ns=84),
        run("2t/naive/manual_time", real=1210, cpu_ns=1604),
    ],
}


def cells(text, after, row):
    """The cells of the row that begins with `row`, in the first table behind the line `after`."""
    part = text[text.index(after):]
    lines = [line for line in part.splitlines() if line.startswith("|")]
    titles = [cell.strip() for cell in lines[0].strip("|").split("|")]
    for line in lines[1:]:
        values = [cell.strip() for cell in line.strip("|").split("|")]
        if values[0].startswith(row):
            return dict(zip(titles, values))
    raise AssertionError(f"no row {row!r} behind {after!r} in:\n{text}")


class TableTest(unittest.TestCase):
    def setUp(self):
        self.text = table.report(DATA)

    def test_times_are_medians_without_the_loop(self):
        row = cells(self.text, "One thread", "W1:")
        self.assertEqual(row["Cistern"], "40.0")
        self.assertEqual(row["naive pool"], "160")

    def test_threads_are_by_the_clock_on_the_wall_and_by_cpu_time(self):
        self.assertEqual(cells(self.text, "Threads on one", "2t:")["naive pool"], "1,200")
        self.assertEqual(cells(self.text, "The same, CPU", "2t:")["naive pool"], "1,600")
        self.assertEqual(cells(self.text, "The same, CPU", "2t:")["Cistern"], "80.0")

    def test_ratios(self):
        self.assertEqual(cells(self.text, "Cistern, time over", "W1:")["naive pool"], "0.25")
        self.assertEqual(cells(self.text, "Cistern, time over", "2t:")["naive pool"], "0.10")

    def test_counters(self):
        self.assertEqual(cells(self.text, "Footprint", "W1:")["naive pool"], "1.125")
        self.assertEqual(cells(self.text, "Footprint", "W1:")["Cistern"], "1.062")
        self.assertEqual(cells(self.text, "Misses", "W1:"), {"": cells(self.text, "Misses", "W1:")[""],
                                                              "Cistern": "2.000"})

    def test_what_failed_or_is_missing_is_no_number(self):
        self.assertNotIn("mimalloc", self.text)
        self.assertIn("jemalloc is left out: no such file", self.text)
        more = {**DATA, "benchmarks": DATA["benchmarks"] + [run("2t/mimalloc/manual_time", real=20, cpu_ns=20)]}
        self.assertEqual(cells(table.report(more), "One thread", "W1:")["mimalloc"], "-")
        self.assertEqual(cells(table.report(more), "Cistern, time over", "W1:")["mimalloc"], "-")

    def test_ratios_of_nothing(self):
        self.assertEqual(table.ratio(1.0, 0.0), "-")
        self.assertEqual(table.ratio(-1.0, 4.0), "<0.01")
        self.assertEqual(table.ratio(None, 4.0), "-")

    def test_says_how_it_was_measured(self):
        self.assertTrue(self.text.startswith("2 processors, load 0.5, 0.2; medians of 3 interleaved repetitions."))


if __name__ == "__main__":
    unittest.main()
