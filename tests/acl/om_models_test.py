"""Models that `cistern atc` has made, in programs for Ascend: results are those of the ONNX file, shapes and sizes
those of the .om file, whatever the environment says; what is damaged, or measured by another runtime, is noticed.

usage: om_models_test.py CISTERN MULTI_MODEL MODEL_WAYS ROOT
"""
import os
import pathlib
import re
import struct
import subprocess
import sys
import tempfile
import unittest

CISTERN, MULTI_MODEL, MODEL_WAYS, ROOT = sys.argv[1:5]
sys.path.insert(0, os.path.join(ROOT, "tests/cli"))
from small_onnx import adder  # noqa: E402

MODELS = pathlib.Path(ROOT, ".deps/models")
SHAPES = {"classification": "1,3,48,192", "detection": "1,3,320,320", "recognition": "1,3,48,320"}
# The same for the ONNX files, and what would make every .om file wrong if it were heeded.
AS_BINDINGS = "detection:x:2=320;detection:x:3=320;recognition:x:3=320"
OTHERS = "*:x:2=96;*:x:3=96;classification:x:0=1:2"


def run(*command, **environment):
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("CISTERN_", "ASCEND_"))}
    return subprocess.run([str(word) for word in command], env={**clean, **environment}, capture_output=True, text=True,
                          timeout=300, cwd=ROOT, check=False)


def outputs(text):
    return re.findall(r"^\S*/(\w+)\.\w+: outputs ([0-9a-f]{16})$", text, re.M)


def crc32c(data):
    table = []
    for value in range(256):
        for _ in range(8):
            value = value >> 1 ^ (0x82F63B78 if value & 1 else 0)
        table.append(value)
    total = 0xFFFFFFFF
    for byte in data:
        total = total >> 8 ^ table[(total ^ byte) & 0xFF]
    return total ^ 0xFFFFFFFF


class OwnPartition:
    """The part of an .om file that only Cistern writes: version, checksum, work, weights, name, runtime, ..."""

    def __init__(self, path):
        self.data = bytearray(pathlib.Path(path).read_bytes())
        (count,) = struct.unpack_from("<I", self.data, 256)
        entries = [struct.unpack_from("<IIQQ", self.data, 264 + 24 * i) for i in range(count)]
        (offset,) = [offset for kind, _, offset, _ in entries if kind == 0x54534943]
        self.start = 264 + 24 * count + offset

    def text_at(self, offset):
        (length,) = struct.unpack_from("<I", self.data, offset)
        return offset + 4, offset + 4 + length

    def set_work(self, bytes_of_work):
        struct.pack_into("<Q", self.data, self.start + 8, bytes_of_work)

    def set_runtime(self, version):
        _, end_of_name = self.text_at(self.start + 24)
        begin, end = self.text_at(end_of_name)
        assert len(version) == end - begin
        self.data[begin:end] = version.encode()

    def write(self, path):
        sum_of = crc32c(self.data[:self.start] + self.data[self.start + 8:])
        struct.pack_into("<I", self.data, self.start + 4, sum_of)
        pathlib.Path(path).write_bytes(self.data)


@unittest.skipUnless(all((MODELS / f"{name}.onnx").exists() for name in SHAPES), "no models: run ./dev setup")
class OmModels(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        pathlib.Path(cls.place("adder.onnx")).write_bytes(adder())
        for name, extents in SHAPES.items():
            cls.compile(name, f"{name}.om", "--input-shape", f"x:{extents}")

    @classmethod
    def place(cls, name):
        return os.path.join(cls.folder.name, name)

    @classmethod
    def compile(cls, model, target, *arguments):
        folder = cls.folder.name if model == "adder" else MODELS
        done = run(CISTERN, "atc", os.path.join(folder, f"{model}.onnx"), "-o", cls.place(target), *arguments)
        assert (done.returncode, done.stderr) == (0, ""), done.stderr
        return cls.place(target)

    def fails(self, *command, **environment):
        done = run(*command, **environment)
        self.assertEqual(done.returncode, 1, done.stderr)
        return done.stderr

    def test_results_are_those_of_the_onnx_files_and_nothing_is_left(self):
        wanted = run(MULTI_MODEL, *[MODELS / f"{name}.onnx" for name in SHAPES], CISTERN_MODEL_SHAPES=AS_BINDINGS)
        self.assertEqual(len(outputs(wanted.stdout)), 3, wanted.stderr)
        for shapes in ({}, {"CISTERN_MODEL_SHAPES": OTHERS}):
            for strict in ("OFF", "ON"):
                done = run(MULTI_MODEL, *[self.place(f"{name}.om") for name in SHAPES], CISTERN_ACL_STRICT=strict,
                           **shapes)
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                self.assertEqual(outputs(done.stdout), outputs(wanted.stdout))
                # Sizes, too: what the pool holds before and after is the same as for the ONNX files.
                self.assertEqual(re.findall("^pool.*", done.stdout, re.M), re.findall("^pool.*", wanted.stdout, re.M))

    def test_every_way_to_use_a_model(self):
        for way in ("own_memory", "pairs"):
            done = run(MODEL_WAYS, self.place("classification.om"), way)
            self.assertEqual((done.returncode, done.stderr), (0, ""), way)

    def test_models_from_memory(self):
        # Of one length, and of different sizes, so that nothing but what is in them tells them apart; once small, so
        # that they follow each other within a tick of the clock.
        for model, name, shapes in (("recognition", "x", ("1,3,48,320", "1,3,48,312")),
                                    ("adder", "first", ("8,64", "12,64"))):
            paths = [self.compile(model, f"{model}.{shape}.om", "--input-shape", f"{name}:{shape}") for shape in shapes]
            self.assertEqual(*[os.path.getsize(path) for path in paths])
            done = run(MODEL_WAYS, paths[0], "memory", paths[1])
            self.assertEqual((done.returncode, done.stderr), (0, ""))
        done = run(MODEL_WAYS, MODELS / "recognition.onnx", "memory", MODELS / "recognition.onnx",
                   CISTERN_MODEL_SHAPES="*:x:2=48;*:x:3=64")
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_batches_are_those_of_the_file(self):
        path = self.compile("classification", "batches.om", "--input-shape", "x:-1,3,48,192", "--dynamic-batch-size",
                            "4,2,1")
        done = run(MODEL_WAYS, path, "batch")
        self.assertEqual(done.returncode, 0, done.stderr)
        path = self.compile("classification", "three.om", "--input-shape", "x:-1,3,48,192", "--dynamic-batch-size",
                            "1,3,4")
        self.assertIn("batch 2 is none of the model's: 1, 3, 4", self.fails(MODEL_WAYS, path, "batch"))

    def test_sizes_are_those_of_the_file_for_the_runtime_that_measured(self):
        path = self.place("changed.om")
        changed = OwnPartition(self.place("classification.om"))
        changed.set_work(512)
        changed.write(path)
        self.assertIn("work window of 512 B has no room", self.fails(MODEL_WAYS, path, "own_memory"))
        changed.set_runtime("0.99.9")  # by another runtime: measured again
        changed.write(path)
        done = run(MODEL_WAYS, path, "own_memory")
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_damage_is_noticed(self):
        good = pathlib.Path(self.place("classification.om")).read_bytes()
        path = pathlib.Path(self.place("damaged.om"))
        for place in (500, len(good) // 2, len(good) - 1):
            path.write_bytes(good[:place] + bytes([good[place] ^ 1]) + good[place + 1:])
            self.assertIn("damaged.om: the .om file is damaged", self.fails(MODEL_WAYS, path, "own_memory"))
        path.write_bytes(good[:-1])
        self.assertIn("the .om file is damaged", self.fails(MODEL_WAYS, path, "own_memory"))

    def test_sizes_need_no_runtime_but_loading_does(self):
        text = self.fails(MODEL_WAYS, self.place("classification.om"), "own_memory", CISTERN_ONNXRUNTIME="/nowhere")
        self.assertIn("aclmdlLoadFromFileWithMem", text.split(":")[0])
        self.assertIn("/nowhere", text)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
