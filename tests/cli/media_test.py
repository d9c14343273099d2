# Pictures and sound as inputs of stoker run and bench: shapes, scaling, preprocessing, messages.
# Pillow and numpy are the oracles.
# SPDX-License-Identifier: Apache-2.0
import argparse
import os
import subprocess
import sys
import tempfile
import unittest
import wave

import numpy
from onnx import TensorProto, helper, save
from PIL import Image

OPTIONS = None
KINDS = {"f32": TensorProto.FLOAT, "u8": TensorProto.UINT8, "i16": TensorProto.INT16,
         "i64": TensorProto.INT64, "f16": TensorProto.FLOAT16}


class Media(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        ramp = numpy.indices((48, 64)).transpose(1, 2, 0).astype("uint8")
        noise = numpy.random.default_rng(5).integers(0, 256, (48, 64, 1)).astype("uint8")
        self.pixels = numpy.concatenate([ramp * 4, noise], axis=2)
        self.picture = self.path("p.png")
        Image.fromarray(self.pixels).save(self.picture)

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def model(self, kind, dims):
        """A model that gives its input back."""
        x, y = (helper.make_tensor_value_info(name, KINDS[kind], dims) for name in "xy")
        graph = helper.make_graph([helper.make_node("Identity", ["x"], ["y"])], "g", [x], [y])
        path = self.path("m.onnx")
        save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)], ir_version=9),
             path)
        return path

    def stoker(self, *arguments):
        return subprocess.run([OPTIONS.stoker, *arguments], capture_output=True, text=True,
                              check=False)

    def run_model(self, kind, dims, file, *arguments):
        run = self.stoker("run", self.model(kind, dims), "--input", f"x={file}", "--save-outputs",
                          self.path("out"), *arguments)
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
        return numpy.load(self.path("out/y.npy"))

    def refuse(self, kind, dims, file, text, *arguments, code=None):
        run = self.stoker("run", self.model(kind, dims), "--input", f"x={file}", *arguments)
        self.assertNotEqual(run.returncode, 0)
        if code:
            self.assertEqual(run.returncode, code)
        self.assertIn(text, run.stderr)

    def test_layouts_take_open_sizes_from_the_picture(self):
        whole = self.pixels.astype("float32") / 255
        first = whole.transpose(2, 0, 1)
        for dims, expected in [(["N", 3, "H", "W"], first[None]), ([1, 3, 48, 64], first[None]),
                               ([3, "H", "W"], first), (["N", "H", "W", 3], whole[None]),
                               (["H", "W", 3], whole), (["N", "C", "H", "W"], first[None])]:
            got = self.run_model("f32", dims, self.picture)
            self.assertEqual(got.shape, expected.shape, dims)
            self.assertTrue(numpy.allclose(got, expected, atol=1e-6), dims)

    def test_integers_keep_the_bytes(self):
        got = self.run_model("u8", [1, "H", "W", 3], self.picture)
        self.assertTrue((got[0] == self.pixels).all())
        got = self.run_model("i64", [1, 3, 48, 64], self.picture)
        self.assertTrue((got[0].transpose(1, 2, 0) == self.pixels).all())

    def test_grey(self):
        grey = numpy.asarray(Image.fromarray(self.pixels).convert("L")).astype("float32")
        for dims in ([1, 1, 48, 64], [48, 64], [1, 48, 64, 1]):
            got = self.run_model("f32", dims, self.picture, "--preprocess", "none").reshape(48, 64)
            self.assertLessEqual(abs(got - grey).max(), 1)

    def test_scaling_is_that_of_pillow(self):
        for height, width in [(24, 32), (17, 90), (100, 120), (1, 1)]:
            expected = numpy.asarray(Image.fromarray(self.pixels).resize(
                (width, height), Image.Resampling.BILINEAR)).astype("float32")
            got = self.run_model("f32", [1, height, width, 3], self.picture, "--preprocess", "none")
            self.assertLessEqual(abs(got[0] - expected).max(), 1.01, (height, width))

    def test_imagenet_cuts_the_middle_and_normalizes(self):
        cut = Image.fromarray(self.pixels).resize((32, 32), Image.Resampling.BILINEAR,
                                                  box=(11, 3, 53, 45))  # 42 = 48 * 7/8
        expected = (numpy.asarray(cut).astype("float32") / 255 - [0.485, 0.456, 0.406]) / [
            0.229, 0.224, 0.225]
        got = self.run_model("f32", [1, 3, 32, 32], self.picture, "--preprocess", "imagenet")
        self.assertLess(abs(got[0].transpose(1, 2, 0) - expected).max(), 0.03)

    def test_jpeg(self):
        path = self.path("p.JPG")
        Image.fromarray(self.pixels).save(path, "JPEG", quality=95)
        got = self.run_model("u8", [1, "H", "W", 3], path)
        expected = numpy.asarray(Image.open(path))
        self.assertLessEqual(abs(got[0].astype(int) - expected).max(), 2)

    def write_sound(self, values, rate=16000):
        path = self.path("s.wav")
        with wave.open(path, "wb") as file:
            file.setnchannels(1)
            file.setsampwidth(2)
            file.setframerate(rate)
            file.writeframes(numpy.asarray(values, "<i2").tobytes())
        return path

    def test_sound(self):
        values = numpy.array([0, 16384, -32768, 32767, 5], "int16")
        path = self.write_sound(values)
        real = values / 32768
        self.assertTrue((self.run_model("f32", ["N", "T"], path)[0] == real).all())
        self.assertTrue((self.run_model("f32", ["T"], path) == real).all())
        self.assertTrue((self.run_model("f32", [1, 1, 3], path)[0, 0] == real[:3]).all())
        padded = self.run_model("f32", [1, 8], path)
        self.assertTrue((padded[0] == numpy.concatenate([real, [0, 0, 0]])).all())
        self.assertTrue((self.run_model("i16", ["T"], path) == values).all())

    def test_bench_takes_them_too(self):
        model = self.model("f32", ["N", 3, "H", "W"])
        run = self.stoker("bench", model, "--input", self.picture, "--warmup", "0s", "--duration",
                          "10ms")
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertIn("[1,3,48,64]", run.stdout)

    def test_engines_take_the_shape_that_is_asked_for(self):
        model, engine = self.model("f32", ["N", 3, "H", "W"]), self.path("m.engine")
        self.assertEqual(self.stoker("build", model, "-o", engine).returncode, 0)
        run = self.stoker("run", engine, "--input", self.picture, "--shapes", "x:1x3x24x32",
                          "--save-outputs", self.path("out"))
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertEqual(numpy.load(self.path("out/y.npy")).shape, (1, 3, 24, 32))

    def test_refusals_say_what_to_do(self):
        self.refuse("f32", [8, 3, 48, 64], self.picture, "a batch of 1")
        self.refuse("f32", [1, 5, 48, 64], self.picture, "1 or 3 channels")
        self.refuse("u8", [1, 3, 48, 64], self.picture, "--preprocess none", "--preprocess", "unit")
        self.refuse("f32", [1, 1, 48, 64], self.picture, "3 channels", "--preprocess", "imagenet")
        self.refuse("f32", [1, 3, 48, 64], self.picture, "expected auto", "--preprocess", "vgg",
                    code=2)
        self.refuse("f32", [2, 2, 2], self.write_sound([1]), "sound fills")
        damaged = self.path("d.png")
        with open(self.picture, "rb") as file:
            content = file.read()
        with open(damaged, "wb") as file:
            file.write(content[:60])
        self.refuse("f32", [1, 3, 48, 64], damaged, "d.png", code=3)
        self.refuse("f32", [1, 3, 48, 64], self.path("none.png"), "does not exist")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--stoker", required=True)
    OPTIONS, rest = parser.parse_known_args()
    unittest.main(argv=[sys.argv[0], *rest])
