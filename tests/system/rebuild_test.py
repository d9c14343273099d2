# Engines built from the graph that another engine keeps: other layouts, another level of
# instructions, no fusion, new sizes; after a refit; and what cannot be built so.
# SPDX-License-Identifier: Apache-2.0
import argparse
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

OPTIONS = None
RANDOM = numpy.random.default_rng(5)


def stoker(*words, code=0):
    environment = dict(os.environ, STOKER_TACTIC_TIMING="0")
    done = subprocess.run([OPTIONS.stoker, *map(str, words)], capture_output=True, text=True,
                          env=environment, timeout=100)
    if done.returncode != code:
        raise AssertionError(f"{words}: {done.returncode} {done.stdout}{done.stderr}")
    return done.stdout + done.stderr


def weights(**shapes):
    return {name: RANDOM.uniform(-0.4, 0.4, shape).astype(numpy.float32)
            for name, shape in shapes.items()}


def save(path, nodes, inputs, outputs, tensors):
    def infos(table):
        return [helper.make_tensor_value_info(name, kind, dims) for name, kind, dims in table]
    graph = helper.make_graph(nodes, "net", infos(inputs), infos(outputs),
                              [numpy_helper.from_array(v, k) for k, v in tensors.items()])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)])
    model.ir_version = 9
    onnx.save(model, path)
    return path


F32 = TensorProto.FLOAT


def conv_net(path):
    """A stem, a batch norm that folds, a depthwise layer, a product; N and H x W open."""
    t = weights(w=(20, 3, 3, 3), d=(20, 1, 3, 3), f=(20, 7), g=(20,), b=(20,), m=(20,), v=(20,))
    t["v"] = abs(t["v"]) + 1
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["c"], pads=[1] * 4),
        helper.make_node("BatchNormalization", ["c", "g", "b", "m", "v"], ["n"]),
        helper.make_node("Relu", ["n"], ["r"]),
        helper.make_node("Conv", ["r", "d"], ["e"], group=20, pads=[1] * 4),
        helper.make_node("GlobalAveragePool", ["e"], ["p"]),
        helper.make_node("Flatten", ["p"], ["q"]),
        helper.make_node("MatMul", ["q", "f"], ["out/y"]),
    ]
    return save(path, nodes, [("x", F32, ["N", 3, "H", "W"])], [("out/y", F32, ["N", 7])], t)


def tied_net(path):
    """An embedding that the last product reads transposed: held once."""
    t = weights(table=(300, 48))
    nodes = [
        helper.make_node("Gather", ["table", "ids"], ["e"]),
        helper.make_node("Transpose", ["table"], ["turned"], perm=[1, 0]),
        helper.make_node("MatMul", ["e", "turned"], ["y"]),
    ]
    return save(path, nodes, [("ids", TensorProto.INT64, ["N"])], [("y", F32, ["N", 300])], t)


def lstm_net(path):
    t = weights(w=(1, 64, 10), r=(1, 64, 16), b=(1, 128))
    nodes = [helper.make_node("LSTM", ["x", "w", "r", "b"], ["y", "h"], hidden_size=16)]
    return save(path, nodes, [("x", F32, ["T", "N", 10])],
                [("y", F32, ["T", 1, "N", 16]), ("h", F32, [1, "N", 16])], t)


def branch_net(path):
    """A branch taken by a value: a dynamic program, whose branches hold constants of one name."""
    def branch(name, scale):
        constant = numpy_helper.from_array(
            (RANDOM.uniform(-1, 1, (40,)) * scale).astype(numpy.float32), "k")
        return helper.make_graph([helper.make_node("Mul", ["a", "k"], [name])], name, [],
                                 [helper.make_tensor_value_info(name, F32, ["N", 40])], [constant])
    nodes = [
        helper.make_node("Relu", ["x"], ["a"]),
        helper.make_node("ReduceSum", ["a"], ["s"], keepdims=0),
        helper.make_node("Greater", ["s", "limit"], ["more"]),
        helper.make_node("If", ["more"], ["y"], then_branch=branch("then", 1),
                         else_branch=branch("else", 9)),
    ]
    return save(path, nodes, [("x", F32, ["N", 40])], [("y", F32, ["N", 40])],
                {"limit": numpy.array(30, numpy.float32)})


def quantized_net(path):
    """8-bit weights with a scale and zero point of each of 40 channels."""
    w = RANDOM.integers(-128, 128, (24, 40)).astype(numpy.int8)
    t = {"w": w, "s": RANDOM.uniform(0.001, 0.01, 40).astype(numpy.float32),
         "z": numpy.zeros(40, numpy.int8), "sx": numpy.array(0.02, numpy.float32),
         "zx": numpy.array(7, numpy.uint8)}
    nodes = [
        helper.make_node("QuantizeLinear", ["x", "sx", "zx"], ["q"]),
        helper.make_node("DequantizeLinear", ["q", "sx", "zx"], ["d"]),
        helper.make_node("DequantizeLinear", ["w", "s", "z"], ["v"], axis=1),
        helper.make_node("MatMul", ["d", "v"], ["y"]),
    ]
    return save(path, nodes, [("x", F32, ["N", 24])], [("y", F32, ["N", 40])], t)


NETS = {
    "conv": (conv_net, {"x": (2, 3, 20, 24)}),
    "tied": (tied_net, {"ids": (5,)}),
    "lstm": (lstm_net, {"x": (4, 3, 10)}),
    "branch": (branch_net, {"x": (3, 40)}),
    "quantized": (quantized_net, {"x": (6, 24)}),
}
SETTINGS = {
    "as it was": [],
    "plain layouts": ["--knob", "layout_c16=false"],
    "baseline": ["--device", "cpu:baseline"],
    "no passes": ["--knob", "disable_passes=all"],
}


class Rebuild(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.at = pathlib.Path(self.folder.name)

    def answers(self, engine, inputs):
        words = ["run", engine, "--save-outputs", self.at / "out"]
        for name, value in inputs.items():
            numpy.save(self.at / f"{name}.npy", value)
            words += ["--input", f"{name}={self.at / name}.npy"]
        stoker(*words)
        return {p.name: numpy.load(p) for p in (self.at / "out").iterdir()}

    @staticmethod
    def inputs(shapes):
        return {name: RANDOM.integers(0, 300, shape) if name == "ids" else
                RANDOM.uniform(-1, 2, shape).astype(numpy.float32)
                for name, shape in shapes.items()}

    def expect_same(self, one, other):
        self.assertEqual(sorted(one), sorted(other))
        for name, value in one.items():
            numpy.testing.assert_allclose(other[name], value, rtol=1e-4, atol=1e-5)

    def test_other_settings(self):
        for name, (make, shapes) in NETS.items():
            model = make(self.at / f"{name}.onnx")
            first = self.at / "first.engine"
            stoker("build", model, "-o", first)
            inputs = self.inputs(shapes)
            expected = self.answers(first, inputs)
            for what, words in SETTINGS.items():
                with self.subTest(net=name, settings=what):
                    second = self.at / "second.engine"
                    stoker("build", first, "-o", second, *words)
                    self.expect_same(expected, self.answers(second, inputs))

    def test_weights_are_held_once(self):
        model = tied_net(self.at / "m.onnx")
        stoker("build", model, "-o", self.at / "a.engine", "--memory", "low")
        stoker("build", self.at / "a.engine", "-o", self.at / "b.engine", "--memory", "low")
        self.assertEqual((self.at / "a.engine").stat().st_size,
                         (self.at / "b.engine").stat().st_size)

    def test_sizes_stay_or_are_given_anew(self):
        model = conv_net(self.at / "m.onnx")
        stoker("build", model, "-o", self.at / "a.engine", "--shapes",
               "x:1x3x16x16..4x3x32x32,opt=2x3x16x16")
        stoker("build", self.at / "a.engine", "-o", self.at / "b.engine")
        lines = [[line for line in stoker("inspect", self.at / f"{k}.engine").splitlines()
                  if line.startswith("size")] for k in "ab"]
        self.assertEqual(*lines)
        self.assertIn("1..4, tuned for 2", "".join(lines[0]))
        stoker("build", self.at / "a.engine", "-o", self.at / "c.engine", "--shapes",
               "x:1x3x64x64")
        self.answers(self.at / "c.engine", self.inputs({"x": (1, 3, 64, 64)}))

    def test_after_a_refit(self):
        model = conv_net(self.at / "m.onnx")
        stoker("build", model, "-o", self.at / "a.engine", "--refittable")
        other = conv_net(self.at / "n.onnx")
        stoker("refit", self.at / "a.engine", "--from", other, "-o", self.at / "b.engine")
        stoker("build", self.at / "b.engine", "-o", self.at / "c.engine", "--knob",
               "layout_c16=false")
        inputs = self.inputs({"x": (1, 3, 9, 9)})
        self.expect_same(self.answers(self.at / "b.engine", inputs),
                         self.answers(self.at / "c.engine", inputs))

    def test_refusals(self):
        model = conv_net(self.at / "m.onnx")
        for words, message in [
                (["--lean"], "keeps no graph to build from; build from the model"),
                (["--strip-weights"], "waits for its weights: refit it first")]:
            stoker("build", model, "-o", self.at / "a.engine", *words)
            text = stoker("build", self.at / "a.engine", "-o", self.at / "b.engine", code=3)
            self.assertIn(message, text)
            self.assertFalse((self.at / "b.engine").exists())
        stoker("build", model, "-o", self.at / "a.engine")
        text = stoker("build", self.at / "a.engine", "-o", self.at / "b.engine", "--refittable",
                      code=3)
        self.assertIn("cannot be refitted", text)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--stoker", required=True)
    OPTIONS, rest = parser.parse_known_args()
    unittest.main(argv=[sys.argv[0], *rest])
