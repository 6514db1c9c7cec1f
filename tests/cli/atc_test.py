"""`cistern atc` as its users meet it: what it writes, and says it wrote; the same bytes each time; what it refuses, and
that a refusal leaves no file, and not the old one changed.

Usage: atc_test.py BINARY SOURCE_TREE
"""

import json
import os
import pathlib
import resource
import signal
import struct
import subprocess
import sys
import tempfile
import unittest

from small_onnx import adder, block, number

BINARY = ""
TREE = ""


def model(name):
    path = os.path.join(TREE, ".deps/models", name + ".onnx")
    assert os.path.exists(path), f"{path} is missing: run ./dev setup"
    return path


class Atc(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.adder = self.folder / "adder.onnx"
        self.adder.write_bytes(adder())

    def atc(self, *arguments, before=None, **environment):
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("CISTERN_", "ASCEND_"))}
        suppressions = os.path.join(TREE, "tests/engine/onnxruntime.supp")
        kept["LSAN_OPTIONS"] = f"suppressions={suppressions}:print_suppressions=0"
        kept["CISTERN_ONNXRUNTIME"] = os.path.join(TREE, ".deps/onnxruntime/libonnxruntime.so.1")
        kept.update(environment)
        words = [BINARY, "atc", *map(str, arguments)]
        return subprocess.run(words, capture_output=True, text=True, env=kept, timeout=280, check=False,
                              preexec_fn=before)

    def compiled(self, *arguments):
        result = self.atc(*arguments, "--json")
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        return json.loads(result.stdout)

    def refused(self, code, needle, *arguments, **more):
        files = {path: path.read_bytes() for path in self.folder.iterdir()}
        result = self.atc(*arguments, **more)
        self.assertEqual((result.returncode, result.stdout), (code, ""), result.stderr)
        self.assertTrue(result.stderr.startswith("cistern atc: "), result.stderr)
        self.assertEqual(result.stderr.count("\n"), 1, result.stderr)
        self.assertIn(needle, result.stderr)
        self.assertEqual({path: path.read_bytes() for path in self.folder.iterdir()}, files)

    def test_what_is_written_is_what_is_told(self):
        path = self.folder / "adder.om"
        told = self.compiled(self.adder, "-o", path, "--input-shape", "first:3,64")
        data = path.read_bytes()
        self.assertEqual(told["file_bytes"], len(data))
        self.assertEqual((told["model"], told["batches"]), ("adder", [1]))
        self.assertRegex(told["onnxruntime"], r"^\d+\.\d+\.\d+")
        tensors = told["inputs"] + told["outputs"]
        shapes = [(one["name"], one["type"], one["extents"], one["bytes"]) for one in tensors]
        self.assertEqual(shapes, [("first", "float32", [3, 64], 768), ("second", "float32", [64], 256),
                                  ("sum", "float32", [3, 64], 768)])
        self.assertGreaterEqual(told["weight_bytes"], 256)
        # Both inputs staged, the first sum and the second: at least the last three lived at once.
        self.assertGreaterEqual(told["work_bytes"], 768 + 256 + 768)
        # The form: magic, header, one model whose length ends the file, a table of which the last part is ours.
        self.assertEqual((data[:4], struct.unpack_from("<I", data, 4)), (b"IMOD", (256,)))
        self.assertEqual(struct.unpack_from("<I", data, 156), (1,))
        self.assertEqual(struct.unpack_from("<Q", data, 184), (len(data) - 256,))
        (count,) = struct.unpack_from("<I", data, 256)
        table = [struct.unpack_from("<IIQQ", data, 264 + 24 * i) for i in range(count)]
        self.assertEqual([kind for kind, _, _, _ in table], [2, 8, 0x54534943])
        self.assertEqual(264 + 24 * count + table[-1][2] + table[-1][3], len(data))
        self.assertTrue(data.endswith(self.adder.read_bytes()))

    def test_the_same_bytes_each_time_and_another_name_is_not_in_them(self):
        arguments = ["--input-shape", "first:3,64;second:64"]
        for name in ("one.om", "two.om"):
            self.compiled(self.adder, "--output", self.folder / name, *arguments)
        self.compiled(self.adder, "--output", self.folder / "one.om", *arguments)  # over the one that is there
        self.assertEqual((self.folder / "one.om").read_bytes(), (self.folder / "two.om").read_bytes())
        self.assertEqual(sorted(path.name for path in self.folder.iterdir()), ["adder.onnx", "one.om", "two.om"])
        text = self.atc(self.adder, "-o", self.folder / "two.om", *arguments).stdout
        self.assertRegex(text, r"two\.om: [\d.]+ KiB\n  input   float32 first\[3,64\], 768 bytes\n")

    def test_batches(self):
        told = self.compiled(self.adder, "-o", self.folder / "b.om", "--input-shape", "first:-1,64",
                             "--dynamic-batch-size", "8,2,8")
        self.assertEqual(told["batches"], [2, 8])
        self.assertEqual([one["has_batch"] for one in told["inputs"] + told["outputs"]], [True, False, True])
        self.assertEqual([one["bytes"] for one in told["inputs"] + told["outputs"]], [2048, 256, 2048])

    def test_weights_are_all_that_the_file_has(self):
        told = self.compiled(model("classification"), "-o", self.folder / "c.om", "--input-shape", "x:1,3,48,192")
        size = os.path.getsize(model("classification"))
        self.assertTrue(0.9 * size < told["weight_bytes"] < 1.1 * size, told["weight_bytes"])

    def test_shapes_that_do_not_fit(self):
        om = ["-o", self.folder / "x.om"]
        cases = [
            ([], "axis 0 of 'first' has no extent; the model has float32 first[n,64]"),
            (["--input-shape", "third:1"], "there is no input 'third'; there are: float32 first[n,64], float32 second"),
            (["--input-shape", "first:1"], "'first' has 2 axes, not 1"),
            (["--input-shape", "first:1,65"], "axis 1 of 'first' cannot be 65"),
            (["--input-shape", "first:0,64"], "axis 0 of 'first' cannot be 0"),
            (["--input-shape", "first:-1,64"], "axis 0 of 'first' is -1, but there is no --dynamic-batch-size"),
            (["--input-shape", "first:1,64;first:2,64"], "'first' is there twice"),
            (["--input-shape", "first"], "'first' is not NAME:EXTENT,EXTENT,..."),
            (["--input-shape", "first:1,64;"], "'' is not NAME:EXTENT"),
            (["--input-shape", "first:1,,64"], "'' is no whole number"),
            (["--input-shape", "first:1x,64"], "'1x' is no whole number"),
            (["--input-shape", "first:99999999999999999999,64"], "'99999999999999999999' is no whole number of 64"),
            (["--input-shape", "first:-1,64", "--dynamic-batch-size", "4"], "of 2 to 128 batches, not of 1"),
            (["--input-shape", "first:-1,64", "--dynamic-batch-size", "0,4"], "no batch is 0"),
            (["--input-shape", "first:2,64", "--dynamic-batch-size", "1,4"], "no input has -1 as axis 0"),
        ]
        for arguments, needle in cases:
            with self.subTest(needle):
                self.refused(2, needle, self.adder, *om, *arguments)

    def test_command_lines_that_do_not_fit(self):
        self.refused(2, "--output MODEL.om is missing", self.adder)
        self.refused(2, "is the model itself", self.adder, "-o", self.adder, "--input-shape", "first:3,64")
        self.refused(2, "one model at a time; there are 2", self.adder, self.adder, "-o", self.folder / "x.om")
        self.refused(2, "did you mean --output?", self.adder, "--outptu=x")

    def test_files_that_cannot_be_read(self):
        om = ["-o", self.folder / "x.om"]
        self.refused(3, "No such file or directory", self.folder / "none.onnx", *om)
        self.refused(3, "Is a directory", self.folder, *om)
        self.adder.write_bytes(b"no model")
        self.refused(3, "adder.onnx", self.adder, *om)
        self.adder.write_bytes(b"")
        self.refused(3, "adder.onnx is empty", self.adder, *om)
        self.refused(3, "/nowhere", model("classification"), *om, "--onnxruntime", "/nowhere")

    def test_data_in_other_files_is_refused(self):
        self.adder.write_bytes(adder(data=block(13, block(1, "location") + block(2, "w.bin")) + number(14, 1)))
        self.refused(3, "some of its data is in other files", self.adder, "-o", self.folder / "x.om")

    def test_more_than_the_machine_has(self):
        self.refused(3, "adder.onnx: up to input 'first' the inputs need 64 TiB of host memory, there are ", self.adder,
                     "-o", self.folder / "x.om", "--input-shape", f"first:{2**38},64")
        self.refused(2, "adder.onnx", self.adder, "-o", self.folder / "x.om", "--input-shape", f"first:{2**62},64")

    def test_a_file_that_cannot_be_written_whole_is_not_there(self):
        shape = ["--input-shape", "first:3,64"]
        self.refused(3, "/dev/full: the model can't be written whole: No space", self.adder, "-o", "/dev/full", *shape)
        self.refused(3, "x.om: the model can't be written: No such file", self.adder, "-o", self.folder / "no/x.om",
                     *shape)
        (self.folder / "old.om").write_bytes(b"the old one")

        def little_room():  # as a full disk: the file is begun, and stops
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))

        for name in ("new.om", "old.om"):
            self.refused(3, f"{name}: the model can't be written whole: File too large", self.adder, "-o",
                         self.folder / name, *shape, before=little_room)


if __name__ == "__main__":
    BINARY, TREE = sys.argv[1:3]
    unittest.main(argv=sys.argv[:1])
