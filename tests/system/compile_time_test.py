# How long large generated graphs take to compile without timing tactics: nothing on the way from
# file to engine may grow faster than the number of nodes. CPU seconds are judged, since others may
# share the machine.
# SPDX-License-Identifier: Apache-2.0
import argparse
import os
import resource
import subprocess
import sys
import tempfile
import unittest

import numpy
from onnx import TensorProto, helper, numpy_helper, save

OPTIONS = None
LARGE, MIXED = 100_000, 5_000
LARGE_SECONDS, MIXED_SECONDS = 60, 5


class Maker:
    """Nodes of a graph, each with one output named after its number."""

    def __init__(self):
        self.nodes, self.constants = [], []

    def node(self, op, inputs, **attributes):
        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, inputs, [name], name=f"{op}_{name}", **attributes))
        return name

    def constant(self, values):
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(numpy.asarray(values), name))
        return name

    def save(self, path, outputs, inputs):
        outputs = [helper.make_tensor_value_info(name, kind, None) for name, kind in outputs]
        inputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, dims)
                  for name, dims in inputs]
        graph = helper.make_graph(self.nodes, "generated", inputs, outputs, self.constants)
        save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)],
                               ir_version=10), path)


def floats(*shape):
    count = int(numpy.prod(shape))
    return (numpy.arange(count, dtype="float32") % 7 / 7 - 0.4).reshape(shape) / max(shape[-1], 1)


def pointwise_chain(path, count):
    make, value = Maker(), "x"
    one, half = make.constant(numpy.float32(1)), make.constant(numpy.float32(0.5))
    while len(make.nodes) < count:
        value = make.node("Relu", [value])
        value = make.node("Add", [value, one])
        value = make.node("Mul", [value, half])
    make.save(path, [(value, TensorProto.FLOAT)], [("x", [2, 8])])


def moving_chain(path, count):
    make, value = Maker(), "x"
    flat, square = make.constant(numpy.array([16])), make.constant(numpy.array([2, 8]))
    while len(make.nodes) < count:
        value = make.node("Identity", [value])
        value = make.node("Cast", [value], to=TensorProto.FLOAT16)
        value = make.node("Reshape", [value, flat])
        value = make.node("Cast", [value], to=TensorProto.FLOAT)
        value = make.node("Reshape", [value, square])
    make.save(path, [(value, TensorProto.FLOAT)], [("x", [2, 8])])


def sum_tree(path, count):
    make = Maker()
    level = []
    while len(level) * 2 < count:
        level.append(make.node("Mul", ["x", make.constant(numpy.float32(len(level)))]))
    while len(level) > 1:
        pairs = [make.node("Add", level[i:i + 2]) for i in range(0, len(level) - 1, 2)]
        level = pairs + level[len(pairs) * 2:]
    make.save(path, [(level[0], TensorProto.FLOAT)], [("x", [2, 8])])


def many_outputs(path, count):
    make = Maker()
    values = [make.node("Mul", ["x", make.constant(numpy.float32(i))]) for i in range(count)]
    make.save(path, [(value, TensorProto.FLOAT) for value in values], [("x", [2, 8])])


def wide_concat(path, count):
    make = Maker()
    values = [make.node("Mul", ["x", make.constant(numpy.float32(i))]) for i in range(count)]
    make.save(path, [(make.node("Concat", values, axis=0), TensorProto.FLOAT)], [("x", [2, 8])])


def data_sizes(path, count):
    """Each length depends on data; nothing relates it to the one before."""
    make = Maker()
    value = make.node("Reshape", ["x", make.constant(numpy.array([-1]))])
    limit, factor = make.constant(numpy.float32(-9)), make.constant(numpy.float32(1.01))
    while len(make.nodes) < count:
        chosen = make.node("Greater", [value, limit])
        value = make.node("Compress", [value, chosen], axis=0)
        value = make.node("Mul", [value, factor])
        value = make.node("Tanh", [value])
    make.save(path, [(value, TensorProto.FLOAT)], [("x", [2, 8])])


def growing_sizes(path, count):
    """Each length is an expression of the one before and of one that depends on data."""
    make = Maker()
    value = make.node("Reshape", ["x", make.constant(numpy.array([-1]))])
    limit = make.constant(numpy.float32(0))
    start, stop = make.constant(numpy.array([0])), make.constant(numpy.array([8]))
    while len(make.nodes) < count:
        chosen = make.node("Greater", [value, limit])
        more = make.node("Compress", [value, chosen], axis=0)
        value = make.node("Concat", [more, value], axis=0)
        value = make.node("Slice", [value, start, stop])
    make.save(path, [(value, TensorProto.FLOAT)], [("x", [2, 8])])


def branches(path, count):
    make, value = Maker(), "x"
    factor, limit = make.constant(numpy.float32(1.5)), make.constant(numpy.float32(0))

    def branch(op, inputs):
        result = helper.make_tensor_value_info("r", TensorProto.FLOAT, [2, 8])
        return helper.make_graph([helper.make_node(op, inputs, ["r"])], op, [], [result])

    while len(make.nodes) < count:
        total = make.node("ReduceSum", [value], keepdims=0)
        positive = make.node("Greater", [total, limit])
        value = make.node("If", [positive], then_branch=branch("Mul", [value, factor]),
                          else_branch=branch("Neg", [value]))
        value = make.node("Tanh", [value])
    make.save(path, [(value, TensorProto.FLOAT)], [("x", [2, 8])])


def mixed(path, count):
    """Residual blocks of a convolution with batch norm, a matrix product, and reshapes whose
    shapes are computed from the size of the batch."""
    make, value = Maker(), "x"
    one = make.constant(floats(4))
    norm = [make.constant(numpy.ones(4, "float32")), one, one,
            make.constant(numpy.ones(4, "float32"))]
    zero, tail = make.constant(numpy.array([0])), make.constant(numpy.array([4, 8, 8]))
    while len(make.nodes) < count:
        weight = make.constant(floats(4, 4, 3, 3) + numpy.float32(len(make.nodes) * 1e-6))
        start = value
        value = make.node("Conv", [value, weight], pads=[1, 1, 1, 1])
        value = make.node("BatchNormalization", [value] + norm)
        value = make.node("Relu", [value])
        value = make.node("Add", [value, start])
        value = make.node("MatMul", [value, make.constant(floats(8, 8))])
        shape = make.node("Shape", [value])
        batch = make.node("Gather", [shape, zero], axis=0)
        target = make.node("Concat", [batch, tail], axis=0)
        value = make.node("Reshape", [value, target])
        value = make.node("Transpose", [value], perm=[0, 1, 3, 2])
    make.save(path, [(value, TensorProto.FLOAT)], [("x", ["N", 4, 8, 8])])


def children_seconds():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


class CompileTime(unittest.TestCase):
    def build(self, generate, count, limit):
        with tempfile.TemporaryDirectory() as folder:
            model, engine = os.path.join(folder, "m.onnx"), os.path.join(folder, "m.engine")
            generate(model, count)
            start = children_seconds()
            run = subprocess.run(
                [OPTIONS.stoker, "build", model, "-o", engine, "--knob", "tactic_timing=false"],
                capture_output=True, text=True, check=False)
            spent = children_seconds() - start
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
        print(f"{generate.__name__} of {count} nodes: {spent:.1f} s of CPU", file=sys.stderr)
        self.assertLess(spent, limit, f"{generate.__name__} of {count} nodes")

    def test_pointwise_chain(self):
        self.build(pointwise_chain, LARGE, LARGE_SECONDS)

    def test_moving_chain(self):
        self.build(moving_chain, LARGE, LARGE_SECONDS)

    def test_sum_tree(self):
        self.build(sum_tree, LARGE, LARGE_SECONDS)

    def test_many_outputs(self):
        self.build(many_outputs, LARGE // 5, LARGE_SECONDS)

    def test_wide_concat(self):
        self.build(wide_concat, LARGE // 5, LARGE_SECONDS / 3)

    def test_data_sizes(self):
        self.build(data_sizes, LARGE // 5, LARGE_SECONDS / 3)

    def test_growing_sizes(self):
        self.build(growing_sizes, LARGE // 5, LARGE_SECONDS / 3)

    def test_branches(self):
        self.build(branches, LARGE // 5, LARGE_SECONDS / 3)

    def test_mixed(self):
        self.build(mixed, MIXED, MIXED_SECONDS)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--stoker", required=True)
    OPTIONS, rest = parser.parse_known_args()
    unittest.main(argv=[sys.argv[0], *rest])
