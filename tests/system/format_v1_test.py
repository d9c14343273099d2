# Engine files of format version 1, kept for ever in tests/engine/fixtures/v1: later libraries read
# them, run them with the answers that stand beside them, and build from them. `--make` wrote them;
# a file that is there is never written again.
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
KEPT = pathlib.Path(__file__).parent.parent / "engine" / "fixtures" / "v1"
F32, I64 = TensorProto.FLOAT, TensorProto.INT64
RANDOM = numpy.random.default_rng(41)


def stoker(*words):
    environment = dict(os.environ, STOKER_TACTIC_TIMING="0")
    done = subprocess.run([OPTIONS.stoker, *map(str, words)], capture_output=True, text=True,
                          env=environment, timeout=100)
    if done.returncode != 0:
        raise AssertionError(f"{words}: {done.returncode} {done.stdout}{done.stderr}")
    return done.stdout + done.stderr


class Net:
    """A model whose kinds of steps should be many and whose weights few."""

    def __init__(self):
        self.nodes, self.tensors = [], {}

    def add(self, op, inputs, output, **attributes):
        domain = attributes.pop("domain", "")
        self.nodes.append(helper.make_node(op, inputs, [output], domain=domain, **attributes))
        return output

    def weight(self, name, *shape):
        return self.put(name, RANDOM.uniform(-0.5, 0.5, shape).astype(numpy.float32))

    def put(self, name, value):
        self.tensors[name] = numpy.asarray(value)
        return name

    def save(self, path, inputs, outputs):
        infos = [[helper.make_tensor_value_info(*entry) for entry in table]
                 for table in (inputs, outputs)]
        graph = helper.make_graph(self.nodes, "net", *infos,
                                  [numpy_helper.from_array(v, k) for k, v in self.tensors.items()])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)])
        model.ir_version = 9
        onnx.save(model, path)


def pictures(path):
    """conv in several forms, pool, resize, copies, regions, a product; N and H open."""
    n = Net()
    n.add("Conv", ["x", n.weight("stem", 5, 3, 3, 3), n.weight("b", 5)], "c", pads=[1] * 4)
    for name in "gov":
        n.put(name, RANDOM.uniform(0.5, 1, 5).astype(numpy.float32))
    n.add("BatchNormalization", ["c", "g", "b", "o", "v"], "n")
    n.add("Relu", ["n"], "r")
    n.add("Conv", ["r", n.weight("depthwise", 5, 1, 3, 3)], "d", group=5, pads=[1] * 4)
    n.add("Add", ["d", "r"], "sum")
    n.add("MaxPool", ["sum"], "p", kernel_shape=[2, 2], strides=[2, 2])
    n.add("Resize", ["p", "", n.put("up", numpy.array([1, 1, 2, 2], numpy.float32))], "u",
          mode="linear")
    n.add("ConvTranspose", ["u", n.weight("t", 5, 4, 2, 2)], "q", strides=[2, 2])
    n.add("Transpose", ["q"], "last", perm=[0, 2, 3, 1])
    n.add("LayerNormalization", ["last", n.weight("ln", 4)], "norm")
    n.add("MatMul", ["norm", n.weight("f", 4, 6)], "m")
    n.add("Softmax", ["m"], "y", axis=-1)
    n.save(path, [("x", F32, ["N", 3, "H", 8])], [("y", F32, ["N", "4*(H/2)", 16, 6])])
    return {"x": RANDOM.uniform(-1, 1, (2, 3, 6, 8)).astype(numpy.float32)}


def sentences(path):
    """A look-up, a recurrent layer, attention, 8-bit weights, an op without a kernel."""
    n = Net()
    n.add("Gather", [n.weight("table", 12, 8), "ids"], "e")
    n.add("LSTM", ["e", n.weight("w", 1, 32, 8), n.weight("r", 1, 32, 8)], "h4", hidden_size=8)
    n.add("Squeeze", ["h4", n.put("one", numpy.array([1]))], "h")
    n.add("Transpose", ["h"], "k", perm=[0, 2, 1])
    n.add("MatMul", ["h", "k"], "scores")
    n.add("Softmax", ["scores"], "s", axis=-1)
    n.add("MatMul", ["s", "h"], "a")
    n.put("q", RANDOM.integers(-128, 128, (8, 6)).astype(numpy.int8))
    n.put("scale", RANDOM.uniform(0.001, 0.01, 6).astype(numpy.float32))
    n.add("DequantizeLinear", ["q", "scale"], "f", axis=1)
    n.add("MatMul", ["a", "f"], "m")
    n.add("Hardmax", ["m"], "y")
    n.save(path, [("ids", I64, ["T", "N"])], [("y", F32, ["T", "N", 6]), ("m", F32, ["T", "N", 6])])
    return {"ids": RANDOM.integers(0, 12, (4, 3))}


def choices(path):
    """A branch, a loop, and sizes that depend on data."""
    def body(name, nodes, inputs, outputs):
        return helper.make_graph(nodes, name, [helper.make_tensor_value_info(*i) for i in inputs],
                                 [helper.make_tensor_value_info(*o) for o in outputs])
    n = Net()
    n.add("ReduceSum", ["x"], "total", keepdims=0)
    n.add("Greater", ["total", n.put("limit", numpy.array(0, numpy.float32))], "more")
    branches = [body(op, [helper.make_node(op, ["x"], [op])], [], [(op, F32, ["N", 4])])
                for op in ("Exp", "Neg")]
    n.add("If", ["more"], "z", then_branch=branches[0], else_branch=branches[1])
    loop = body("loop", [helper.make_node("Identity", ["go"], ["on"]),
                         helper.make_node("Add", ["v", "v"], ["w"])],
                [("i", I64, []), ("go", TensorProto.BOOL, []), ("v", F32, ["N", 4])],
                [("on", TensorProto.BOOL, []), ("w", F32, ["N", 4])])
    n.add("Loop", [n.put("trips", numpy.array(3)), "", "z"], "y", body=loop)
    n.add("NonZero", ["x"], "places")
    n.save(path, [("x", F32, ["N", 4])], [("y", F32, ["N", 4]), ("places", I64, [2, "K"])])
    x = RANDOM.uniform(-1, 1, (3, 4)).astype(numpy.float32)
    x[1, 2] = 0
    return {"x": x}


NETS = {"pictures": pictures, "sentences": sentences, "choices": choices}


def run(engine, folder, inputs):
    words = [f"--input={name}={file}" for name, file in inputs.items()]
    stoker("run", engine, "--save-outputs", folder, *words)
    return {p.stem: numpy.load(p) for p in pathlib.Path(folder).iterdir()}


def make():
    KEPT.mkdir(exist_ok=True)
    for name, net in NETS.items():
        engine = KEPT / f"{name}.engine"
        if engine.exists():
            continue
        with tempfile.TemporaryDirectory() as folder:
            at = pathlib.Path(folder)
            for key, value in net(at / "m.onnx").items():
                numpy.save(KEPT / f"{name}.in.{key}.npy", value)
            stoker("build", at / "m.onnx", "-o", engine, "--refittable", "--device", "cpu:v3")
            inputs = {p.name.split(".")[2]: p for p in KEPT.glob(f"{name}.in.*.npy")}
            for key, value in run(engine, at / "out", inputs).items():
                numpy.save(KEPT / f"{name}.out.{key}.npy", value)
        print(engine, engine.stat().st_size)


class FormatV1(unittest.TestCase):
    def expect_answers(self, name, engine, folder):
        inputs = {p.name.split(".")[2]: p for p in KEPT.glob(f"{name}.in.*.npy")}
        expected = {p.name.split(".")[2]: numpy.load(p) for p in KEPT.glob(f"{name}.out.*.npy")}
        found = run(engine, folder, inputs)
        self.assertEqual(sorted(found), sorted(expected))
        self.assertTrue(expected)
        for key, value in expected.items():
            numpy.testing.assert_allclose(found[key], value, rtol=1e-4, atol=1e-6, err_msg=name)

    def test_reads_and_runs(self):
        for name in NETS:
            with self.subTest(name), tempfile.TemporaryDirectory() as folder:
                self.expect_answers(name, KEPT / f"{name}.engine", folder)
                self.assertIn("verdict        runs",
                              stoker("inspect", KEPT / f"{name}.engine", "--compat"))

    def test_builds_from(self):
        for name in NETS:
            with self.subTest(name), tempfile.TemporaryDirectory() as folder:
                again = pathlib.Path(folder) / "again.engine"
                stoker("build", KEPT / f"{name}.engine", "-o", again)
                self.expect_answers(name, again, pathlib.Path(folder) / "out")

    def test_is_version_1(self):
        for name in NETS:
            data = (KEPT / f"{name}.engine").read_bytes()
            self.assertEqual(data[:12], b"STOKER\0\1\1\0\0\0")
            self.assertLess(len(data), 65536)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--stoker", required=True)
    parser.add_argument("--make", action="store_true")
    OPTIONS, rest = parser.parse_known_args()
    if OPTIONS.make:
        make()
    else:
        unittest.main(argv=[sys.argv[0], *rest])
