# MatMulInteger and ConvInteger through whole programs, exactly: operands at random and at the ends
# of their ranges, zero points of every kind, sums that leave 32 bits; optimized and as they stand.
# What is expected is numpy's product in 64 bits. Seeded.
# SPDX-License-Identifier: Apache-2.0
import argparse
import itertools
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
DTYPES = ("uint8", "int8")
FILLS = ("random", "low", "high", "ends")
FIRST_ZEROS = ("running", "none", "constant")
SECOND_ZEROS = ("none", "one", "columns", "columns_ends")
RANDOM = numpy.random.default_rng(5)


def filled(dtype, shape, fill):
    low, high = numpy.iinfo(dtype).min, numpy.iinfo(dtype).max
    if fill == "random":
        return RANDOM.integers(low, high + 1, shape).astype(dtype)
    if fill == "ends":
        return RANDOM.choice([low, high], shape).astype(dtype)
    return numpy.full(shape, low if fill == "low" else high, dtype)


def convolve(x, w, pad, stride, group):
    """Exact: x and w are int64 less their zero points, so padding is 0."""
    x = numpy.pad(x, ((0, 0), (0, 0), (pad, pad), (pad, pad)))
    rows, columns = ((x.shape[i] - w.shape[i]) // stride + 1 for i in (2, 3))
    y = numpy.zeros((x.shape[0], w.shape[0], rows, columns), "int64")
    inner, outer = w.shape[1], w.shape[0] // group
    for i, j, o in itertools.product(range(w.shape[2]), range(w.shape[3]), range(w.shape[0])):
        first = o // outer * inner
        taps = x[:, first:first + inner, i:i + stride * (rows - 1) + 1:stride,
                 j:j + stride * (columns - 1) + 1:stride]
        y[:, o] += (taps * w[o, :, i, j].reshape(1, -1, 1, 1)).sum(1)
    return y


def store(folder, op, values, running, expected, **attributes):
    """A model of one node; `values` in the order of its inputs, None where one is left out."""
    names = [name if value is not None else ""
             for name, value in zip(("a", "b", "a_zero", "b_zero"), values)]
    while not names[-1]:
        names.pop()
    tensors = {name: numpy_helper.from_array(value, name)
               for name, value in zip(names, values) if name}
    inputs = [name for name in tensors if name in running]
    graph = helper.make_graph(
        [helper.make_node(op, names, ["y"], **attributes)], "product",
        [helper.make_tensor_value_info(name, tensors[name].data_type, tensors[name].dims)
         for name in inputs],
        [helper.make_tensor_value_info("y", TensorProto.INT32, expected.shape)],
        [tensor for name, tensor in tensors.items() if name not in inputs])
    data = folder / "test_data_set_0"
    data.mkdir(parents=True)
    for i, name in enumerate(inputs):
        (data / f"input_{i}.pb").write_bytes(tensors[name].SerializeToString())
    (data / "output_0.pb").write_bytes(
        numpy_helper.from_array(expected.astype("int32"), "y").SerializeToString())
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8),
              folder / "model.onnx")


def store_product(folder, op, a, b, zeros, **geometry):
    """`zeros`: the first's kind and value, the second's value."""
    kind, first, second = zeros
    wide = [a.astype("int64") - (0 if first is None else int(first)), b.astype("int64")]
    if second is not None:
        wide[1] -= second.astype("int64").reshape([-1] + [1] * (b.ndim - 1)
                                                  if geometry and second.ndim else second.shape)
    attributes = {}
    if geometry:
        expected = convolve(*wide, **geometry)
        attributes = {"pads": [geometry["pad"]] * 4, "strides": [geometry["stride"]] * 2,
                      "group": geometry["group"]}
    else:
        expected = wide[0] @ wide[1]
    running = {"a", "a_zero"} if kind == "running" else {"a"}
    store(folder, op, [a, b, first, second], running, expected, **attributes)


def store_all(folder):
    combinations = list(itertools.product(DTYPES, DTYPES, FILLS, FIRST_ZEROS, SECOND_ZEROS))
    for number, (da, db, fill, kind, columns) in enumerate(combinations):
        first = None if kind == "none" else filled(da, (), RANDOM.choice(["ends", "random"]))

        def second(count):
            shape = (count,) if columns.startswith("columns") else ()
            rule = "random" if columns == "columns" else "ends"
            return None if columns == "none" else filled(db, shape, rule)

        tail = f"{number:03}_{da}_{db}_{fill}_{kind}_{columns}"
        m, k, n = RANDOM.integers(1, 20), RANDOM.choice([1, 7, 16, 300]), RANDOM.integers(2, 40)
        store_product(folder / f"matmul_{tail}", "MatMulInteger", filled(da, (m, k), fill),
                      filled(db, (k, n), fill), (kind, first, second(n)))
        c, o = RANDOM.choice([1, 3, 16, 20]), RANDOM.choice([2, 16, 19])
        taps = RANDOM.choice([1, 3])
        group = 1 if number % 4 else c
        o = max(c, 2) if group > 1 else o
        store_product(folder / f"conv_{tail}", "ConvInteger", filled(da, (1, c, 7, 9), fill),
                      filled(db, (o, c // group, taps, taps), fill), (kind, first, second(o)),
                      pad=int(RANDOM.integers(0, 2)), stride=int(RANDOM.choice([1, 2])),
                      group=int(group))
    # 40000 times 255 * 255.
    store_product(folder / "wraps", "MatMulInteger", filled("uint8", (2, 40000), "high"),
                  filled("uint8", (40000, 3), "low"),
                  ("running", filled("uint8", (), "low"), numpy.array([255, 254, 0], "uint8")))
    return 2 * len(combinations) + 1


class IntegerProducts(unittest.TestCase):
    def test_exact(self):
        with tempfile.TemporaryDirectory() as folder:
            count = store_all(pathlib.Path(folder))
            for knobs in ([], ["--knob", "disable_passes=all"]):
                run = subprocess.run(
                    [OPTIONS.stoker, "check", "--suite", folder, "--json", "--atol", "0",
                     "--rtol", "0", *knobs], capture_output=True, text=True, check=False,
                    env=dict(os.environ, STOKER_TACTIC_TIMING="0"))
                self.assertIn(run.returncode, (0, 1), run.stderr)
                report = json.loads(run.stdout)
                for failure in report["failures"]:
                    with self.subTest(failure["model"], knobs=knobs):
                        self.fail(failure["reason"])
                self.assertEqual(report["passed"], count)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--stoker", required=True)
    OPTIONS, rest = parser.parse_known_args()
    unittest.main(argv=[sys.argv[0], *rest])
