# 8-bit weights of float networks through whole programs: products and look-ups in every spelling
# agree with numpy's products of the dequantized weights, and the engine keeps them in 8 bits;
# what no kernel reads so is right all the same. Seeded.
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
RANDOM = numpy.random.default_rng(11)
K, N, ROWS = 96, 72, 500


def stoker(*words):
    environment = dict(os.environ, STOKER_TACTIC_TIMING="0")
    done = subprocess.run([OPTIONS.stoker, *map(str, words)], capture_output=True, text=True,
                          env=environment, timeout=100)
    if done.returncode != 0:
        raise AssertionError(f"{words}: {done.stdout}{done.stderr}")
    return done.stdout


def dequantize(w, scale, zero, axis):
    shape = [1] * w.ndim
    if scale.ndim:
        shape[axis] = -1
    zero = numpy.zeros_like(w[:0].flatten(), shape=()) if zero is None else zero
    if zero.ndim:
        zero = zero.reshape(shape)
    wide = w.astype(numpy.int32) - zero.astype(numpy.int32)
    return wide.astype(numpy.float32) * scale.reshape(shape if scale.ndim else [])


class Net:
    """x -> ... y with 8-bit weights; `expected` is filled in by the methods."""

    def __init__(self, dtype=numpy.int8):
        self.dtype, self.nodes, self.tensors, self.kept = dtype, [], {}, 0

    def weight(self, shape, axis, zero=None, spelling="dequantize", name="w"):
        """Adds a dequantized weight; returns its name and its value. axis None: one scale."""
        ends = numpy.iinfo(self.dtype)
        w = RANDOM.integers(ends.min, ends.max + 1, shape).astype(self.dtype)
        scale = RANDOM.uniform(0.001, 0.01, () if axis is None else shape[axis])
        scale = numpy.asarray(scale, numpy.float32)
        zeros = None if zero is None else numpy.full(scale.shape, zero, self.dtype)
        self.tensors[name] = w
        self.kept += w.nbytes
        if spelling == "dequantize":
            self.tensors[name + "_scale"] = scale
            inputs = [name, name + "_scale"]
            if zeros is not None:
                self.tensors[name + "_zero"] = zeros
                inputs.append(name + "_zero")
            self.add("DequantizeLinear", inputs, name + "_f",
                     **({} if axis is None else {"axis": axis}))
        else:
            wide = [1] * len(shape)
            if axis is not None:
                wide[axis] = -1
            self.tensors[name + "_scale"] = scale.reshape(wide if axis is not None else ())
            self.add("Cast", [name], name + "_wide", to=TensorProto.FLOAT)
            self.add("Mul", [name + "_wide", name + "_scale"], name + "_f")
        return name + "_f", dequantize(w, scale, zeros, axis)

    def add(self, op, inputs, output, **attributes):
        self.nodes.append(helper.make_node(op, inputs, [output], **attributes))
        return output

    def save(self, path, inputs):
        infos = [helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(value.dtype),
                                               ["N", *value.shape[1:]])
                 for name, value in inputs.items()]
        graph = helper.make_graph(
            self.nodes, "weights", infos,
            [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
            [numpy_helper.from_array(value, name) for name, value in self.tensors.items()])
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)],
                                    ir_version=9), path)


class WeightOnly(unittest.TestCase):
    def check(self, net, inputs, expected, narrow=True):
        """`narrow`: the engine must hold the weights in 8 bits."""
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder)
            net.save(path / "net.onnx", inputs)
            words = []
            for name, value in inputs.items():
                numpy.save(path / f"{name}.npy", value)
                words += ["--input", f"{name}={path / name}.npy"]
            stoker("build", path / "net.onnx", "-o", path / "net.engine")
            for model, extra in (("net.engine", []), ("net.onnx", ["--knob",
                                                                   "disable_passes=all"])):
                stoker("run", path / model, *words, "--save-outputs", path / "out", *extra)
                found = numpy.load(path / "out" / "y.npy")
                limit = 1e-5 * numpy.abs(expected).max()
                self.assertLess(numpy.abs(found - expected).max(), limit)
            weights = json.loads(stoker("inspect", path / "net.engine", "--json"))["weights"]
            total = sum(row["bytes"] for row in weights)
            if narrow:
                self.assertLess(total, 1.3 * net.kept + 4000)
            else:
                self.assertGreater(total, 3 * net.kept)

    def product(self, spelling, axis, dtype, zero, op="MatMul", rows=7, narrow=True):
        net = Net(dtype)
        turned = op == "Gemm"
        shape = (N, K) if turned else (K, N)
        name, value = net.weight(shape, axis, zero, spelling)
        bias = RANDOM.standard_normal(N).astype(numpy.float32)
        net.tensors["bias"] = bias
        x = RANDOM.standard_normal((rows, K)).astype(numpy.float32)
        if turned:
            net.add("Gemm", ["x", name, "bias"], "p", transB=1)
        else:
            net.add("Add", [net.add("MatMul", ["x", name], "m"), "bias"], "p")
        net.add("Relu", ["p"], "y")
        product = x.astype(numpy.float64) @ (value.T if turned else value)
        self.check(net, {"x": x}, numpy.maximum(product + bias, 0), narrow)

    def test_products(self):
        for spelling in ("dequantize", "cast"):
            for axis in (None, 1):
                for rows in (1, 7, 40):
                    with self.subTest(spelling=spelling, axis=axis, rows=rows):
                        self.product(spelling, axis, numpy.int8, None, rows=rows)
        self.product("dequantize", 0, numpy.int8, None, "Gemm")
        self.product("dequantize", -2, numpy.int8, None, "Gemm")
        self.product("cast", 0, numpy.int8, None, "Gemm")
        self.product("dequantize", 1, numpy.uint8, 128)

    def test_products_that_no_panel_holds(self):
        self.product("dequantize", 1, numpy.uint8, 3, narrow=False)
        self.product("dequantize", 1, numpy.int8, -9, narrow=False)
        self.product("dequantize", 0, numpy.int8, None, narrow=False)
        self.product("cast", None, numpy.uint8, None, narrow=False)

    def test_look_ups(self):
        for spelling, axis, dtype, zero in (
                ("dequantize", 0, numpy.int8, None), ("dequantize", -2, numpy.int8, None),
                ("dequantize", 1, numpy.int8, 5), ("dequantize", None, numpy.uint8, 7),
                ("cast", 0, numpy.int8, None), ("cast", 1, numpy.uint8, None)):
            with self.subTest(spelling=spelling, axis=axis):
                net = Net(dtype)
                name, value = net.weight((ROWS, K), axis, zero, spelling)
                net.add("Gather", [name, "ids"], "y", axis=0)
                ids = RANDOM.integers(-ROWS, ROWS, (3, 5))
                self.check(net, {"ids": ids}, value[ids])


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--stoker", required=True)
    OPTIONS, rest = parser.parse_known_args()
    unittest.main(argv=[sys.argv[0], *rest])
