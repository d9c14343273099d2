# stoker refit: an engine refitted from other weights is the engine that a build from them with the
# same decisions gives, bit for bit, also when it was stored without weights; what cannot be
# refitted is refused with its reason. ResNet-50 (batch norms folded, layouts blocked), an int8
# network, and a small one with what may go wrong. Seeded.
# SPDX-License-Identifier: Apache-2.0
import argparse
import json
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
PARAMETERS = ("QuantizeLinear", "DequantizeLinear")  # their inputs behind the first are frozen


def stoker(*words, fails=None):
    environment = dict(os.environ, STOKER_TACTIC_TIMING="0")
    done = subprocess.run([OPTIONS.stoker, *map(str, words)], capture_output=True, text=True,
                          env=environment, timeout=200)
    expected = 0 if fails is None else fails
    if done.returncode != expected:
        raise AssertionError(f"{words}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stderr if fails is not None else done.stdout


def digest(engine):
    return json.loads(stoker("inspect", engine, "--json"))["digest"]


def other_weights(source, target, seed):
    """The same network with other weights: floats and large integers; scales stay."""
    random = numpy.random.default_rng(seed)
    model = onnx.load(source)
    frozen = {name for node in model.graph.node if node.op_type in PARAMETERS
              for name in node.input[1:]}
    changed = 0
    for tensor in model.graph.initializer:
        value = numpy_helper.to_array(tensor)
        if tensor.name in frozen:
            continue
        if value.dtype == numpy.float32 and value.ndim:
            value = value * (1 + 0.1 * random.standard_normal(value.shape)) + 0.001
        elif value.dtype in (numpy.int8, numpy.uint8) and value.ndim:
            ends = numpy.iinfo(value.dtype)
            value = (value + random.integers(-9, 10, value.shape)).clip(ends.min, ends.max)
        elif value.dtype == numpy.int32 and value.ndim:
            value = value + random.integers(-99, 100, value.shape)
        else:
            continue
        changed += 1
        value = value.astype(numpy_helper.to_array(tensor).dtype)
        tensor.CopyFrom(numpy_helper.from_array(value, tensor.name))
    onnx.save(model, target)
    return changed


def model_of(nodes, weights, path, shape=("N", 8), width="w"):
    tensors = [numpy_helper.from_array(numpy.asarray(value), name)
               for name, value in weights.items()]
    graph = helper.make_graph(
        nodes, "small", [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)], tensors)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9),
              path)


def quantized_network(path, seed):
    """Convolution, depthwise convolution and product as QDQ, with i32 biases and zero points."""
    random = numpy.random.default_rng(seed)
    weights, nodes, x = {}, [], "x"

    def scaled(name, integers, scale, zero, axis=None):
        weights.update({name: integers, name + "_scale": scale, name + "_zero": zero})
        nodes.append(helper.make_node("DequantizeLinear",
                                      [name, name + "_scale", name + "_zero"], [name + "_f"],
                                      **({} if axis is None else {"axis": axis})))
        return name + "_f"

    def quantize(value, name, scale, zero):
        weights.update({name + "_scale": numpy.float32(scale), name + "_zero": numpy.uint8(zero)})
        parameters = [name + "_scale", name + "_zero"]
        nodes.append(helper.make_node("QuantizeLinear", [value, *parameters], [name + "_q"]))
        nodes.append(helper.make_node("DequantizeLinear", [name + "_q", *parameters], [name]))
        return name

    x, scale = quantize(x, "a", 0.05, 120), 0.05
    for layer, (shape, group) in enumerate((((24, 8, 3, 3), 1), ((24, 1, 3, 3), 24))):
        step = random.uniform(0.01, 0.02, shape[0]).astype(numpy.float32)
        w = scaled(f"w{layer}", random.integers(-127, 128, shape).astype(numpy.int8), step,
                   numpy.zeros(shape[0], numpy.int8), 0)
        b = scaled(f"b{layer}", random.integers(-999, 999, shape[0]).astype(numpy.int32),
                   (step * scale).astype(numpy.float32), numpy.zeros(shape[0], numpy.int32), 0)
        nodes.append(helper.make_node("Conv", [x, w, b], [f"c{layer}"], pads=[1] * 4, group=group))
        nodes.append(helper.make_node("Relu", [f"c{layer}"], [f"r{layer}"]))
        x, scale = quantize(f"r{layer}", f"y{layer}", 0.1, 3), 0.1
    nodes.append(helper.make_node("GlobalAveragePool", [x], ["pooled"]))
    nodes.append(helper.make_node("Flatten", ["pooled"], ["flat"]))
    x = quantize("flat", "f", 0.1, 3)
    m = scaled("m", random.integers(-127, 128, (24, 10)).astype(numpy.int8),
               numpy.float32(0.02), numpy.int8(0))
    nodes.append(helper.make_node("MatMul", [x, m], ["y"]))
    model_of(nodes, weights, path, ("N", 8, 12, 12))


class Refit(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.path = pathlib.Path(cls.folder.name)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def equals_a_fresh_build(self, model, least):
        """`least`: so many constants must have changed."""
        at = lambda name: self.path / f"{model.stem}-{name}"
        self.assertGreaterEqual(other_weights(model, at("new.onnx"), 7), least)
        stoker("build", model, "-o", at("old.engine"), "--refittable",
               "--save-decisions", at("decisions"))
        stoker("build", at("new.onnx"), "-o", at("fresh.engine"), "--refittable",
               "--decisions", at("decisions"))
        fresh = digest(at("fresh.engine"))
        self.assertNotEqual(fresh, digest(at("old.engine")))
        stoker("refit", at("old.engine"), "--from", at("new.onnx"), "-o", at("refit.engine"))
        self.assertEqual(digest(at("refit.engine")), fresh)
        stoker("build", model, "-o", at("bare.engine"), "--strip-weights",
               "--decisions", at("decisions"))
        self.assertLess(at("bare.engine").stat().st_size,
                        0.25 * at("old.engine").stat().st_size + 100_000)
        message = stoker("run", at("bare.engine"), fails=2)
        self.assertIn("weights are missing: the engine was built without them", message)
        stoker("refit", at("bare.engine"), "--from", at("new.onnx"))  # in place
        self.assertEqual(digest(at("bare.engine")), fresh)
        answers = {}
        for name in ("fresh", "refit", "bare", "old"):
            stoker("run", at(name + ".engine"), "--save-outputs", at(name))
            answers[name] = {file.name: file.read_bytes() for file in at(name).glob("*.npy")}
        self.assertTrue(answers["fresh"])
        self.assertEqual(answers["refit"], answers["fresh"])
        self.assertEqual(answers["bare"], answers["fresh"])
        self.assertNotEqual(answers["old"], answers["fresh"])
        # Back again: the first engine's weights.
        stoker("refit", at("refit.engine"), "--from", model)
        self.assertEqual(digest(at("refit.engine")), digest(at("old.engine")))

    def test_resnet50(self):
        model = self.path / "resnet50.onnx"
        stoker("zoo", "resnet50", "-o", model)
        self.equals_a_fresh_build(model, 267)

    def test_int8_network(self):
        model = self.path / "quantized.onnx"
        quantized_network(model, 3)
        self.equals_a_fresh_build(model, 5)

    def test_trained_int8_network(self):
        model = OPTIONS.data / "models/mobilenetv2-int8-qdq/model.onnx"
        if not model.exists():
            self.skipTest("no trained models here")
        self.equals_a_fresh_build(model, 53)

    def small(self, name, **changes):
        """A product, a bias that is zero, a gain of one element, x + 0.5 with the half shared."""
        weights = {"w": numpy.full((8, 4), 0.5, numpy.float32),
                   "b": numpy.zeros(4, numpy.float32), "gain": numpy.ones(1, numpy.float32),
                   "half": numpy.float32(0.5), "shape": numpy.array([0, 2, 2], numpy.int64)}
        weights.update(changes)
        nodes = [helper.make_node("MatMul", ["x", "w"], ["p"]),
                 helper.make_node("Add", ["p", "b"], ["q"]),
                 helper.make_node("Mul", ["q", "gain"], ["r"]),
                 helper.make_node("Add", ["r", "half"], ["s"]),
                 helper.make_node("Mul", ["s", "half"], ["t"]),
                 helper.make_node("Reshape", ["t", "shape"], ["y"])]
        model_of(nodes, weights, self.path / name)
        return self.path / name

    def test_neutral_weights_stay_live(self):
        engine = self.path / "small.engine"
        stoker("build", self.small("small.onnx"), "-o", engine, "--refittable")
        x = numpy.arange(16, dtype=numpy.float32).reshape(2, 8)
        numpy.save(self.path / "x.npy", x)
        w = numpy.arange(32, dtype=numpy.float32).reshape(8, 4)
        b, gain = numpy.arange(4, dtype=numpy.float32), numpy.full(1, 3, numpy.float32)
        new = self.small("new.onnx", w=w, b=b, gain=gain)
        stoker("refit", engine, "--from", new)
        stoker("run", engine, "--input", f"x={self.path / 'x.npy'}",
               "--save-outputs", self.path / "small")
        found = numpy.load(self.path / "small" / "y.npy")
        numpy.testing.assert_allclose(found.reshape(2, 4), ((x @ w + b) * gain + 0.5) * 0.5,
                                      rtol=1e-6)

    def test_refusals(self):
        engine, model = self.path / "refuse.engine", self.small("refuse.onnx")
        stoker("build", model, "-o", engine, "--refittable")
        before = engine.read_bytes()
        cases = [
            ({"half": numpy.float32(0.75)},
             "'half': its value was compiled in (its value decided what was built"),
            ({"w": numpy.ones((8, 8), numpy.float32), "b": numpy.ones(8, numpy.float32),
              "shape": numpy.array([0, 4, 2], numpy.int64)},
             "'w': f32[8,8] is given, expected f32[8,4]"),
            ({"shape": numpy.array([0, 4, 1], numpy.int64)}, "'shape': its value was compiled in"),
        ]
        for changes, message in cases:
            answer = stoker("refit", engine, "--from", self.small("other.onnx", **changes), fails=2)
            self.assertIn(message, answer)
            self.assertEqual(engine.read_bytes(), before)
        other = self.path / "renamed.onnx"
        model_of([helper.make_node("MatMul", ["x", "w"], ["y"])],
                 {"w": numpy.ones((8, 4), numpy.float32)}, other)
        self.assertIn("the model lacks constants of the engine's: 'b', 'gain'",
                      stoker("refit", engine, "--from", other, fails=2))
        changed = onnx.load(model)
        changed.graph.node[1].op_type = "Sub"
        onnx.save(changed, other)
        self.assertIn("the model is another network than the engine was built from",
                      stoker("refit", engine, "--from", other, fails=2))
        plain = self.path / "plain.engine"
        stoker("build", model, "-o", plain)
        self.assertIn("was built without --refittable",
                      stoker("refit", plain, "--from", model, fails=3))
        self.assertIn("--from is missing", stoker("refit", engine, fails=2))
        self.assertIn("is no engine", stoker("refit", model, "--from", model, fails=2))

    def test_list(self):
        engine = self.path / "list.engine"
        stoker("build", self.small("list.onnx"), "-o", engine, "--strip-weights")
        listed = {row["name"]: row for row in json.loads(stoker("refit", engine, "--list",
                                                                "--json"))}
        self.assertEqual({name for name, row in listed.items() if not row["frozen"]},
                         {"w", "b", "gain"})
        self.assertTrue(listed["w"]["missing"])
        self.assertEqual(listed["w"]["shape"], [8, 4])


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--stoker", required=True)
    parser.add_argument("--data", type=pathlib.Path, required=True)
    OPTIONS, rest = parser.parse_known_args()
    unittest.main(argv=[sys.argv[0], *rest])
