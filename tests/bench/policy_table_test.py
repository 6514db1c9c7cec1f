"""The tables of recorded traces: one real run of the tool over a small trace, and what is computed from it.

Usage: policy_table_test.py FOLDER_OF_POLICY_TABLE_PY CISTERN.
"""

import pathlib
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, sys.argv.pop(1))
CISTERN = sys.argv.pop(1)
import policy_table  # noqa: E402

MIB = 1 << 20
TRACE = f"""op,id,size,time_ns,stream
a,1,{MIB},0,0
a,2,1024,1,0
a,3,{3 * MIB},2,0
f,1,,3,0
f,2,,4,0
f,3,,5,0
"""


class PolicyTableTest(unittest.TestCase):
    def test_a_run_of_the_tool_has_every_figure_of_the_tables(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "three.csv")
            path.write_text(TRACE, encoding="utf-8")
            settings = [policy_table.Setting("default", ()),
                        policy_table.Setting("arenas", ("--growth", "ARENAS"))]
            results = {setting.title: policy_table.replay(CISTERN, setting, [str(path)], 1) for setting in settings}
        figures = results["default"]["three"]
        self.assertEqual(figures["peak_live_bytes"], 4 * MIB + 1024)
        rows = policy_table.summary(results).splitlines()
        self.assertEqual(len(rows), 4)
        peak = figures["peak_reserved_bytes"] / figures["peak_live_bytes"]
        self.assertTrue(rows[2].startswith(f"| default | {peak:.4f} | {peak:.3f} (three) |"), rows[2])
        table = policy_table.per_trace(results, lambda figures: f"{figures['reserved_over_live']:.4f}")
        self.assertEqual(table.splitlines()[0], "| trace | default | arenas |")

    def test_frees_go_with_their_blocks_when_a_trace_is_split_by_size(self):
        small, large = policy_table.split_by_size(TRACE, MIB)
        self.assertEqual(small.splitlines()[1:], ["a,2,1024,1,0", "f,2,,4,0"])
        self.assertEqual([line[:3] for line in large.splitlines()[1:]], ["a,1", "a,3", "f,1", "f,3"])
        self.assertEqual(policy_table.split_by_size(TRACE, 1)[0], None)

    def test_what_was_not_measured_is_no_number(self):
        self.assertEqual(policy_table.number(None), "-")
        self.assertEqual(policy_table.median([None, 3, 1]), 2)
        self.assertIsNone(policy_table.median([None]))


if __name__ == "__main__":
    unittest.main()
