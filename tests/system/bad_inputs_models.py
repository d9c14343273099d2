# Broken and malicious ONNX models for bad_inputs_test.py: MODELS is name -> a function that makes
# the bytes (or writes the files) of one model with one fault.
# SPDX-License-Identifier: Apache-2.0
import os

import numpy
from onnx import TensorProto, helper, numpy_helper

FLOAT, INT64 = TensorProto.FLOAT, TensorProto.INT64
MODELS = {}
HUGE = 1 << 40
value = helper.make_tensor_value_info
node = helper.make_node


def fault(function):
    MODELS[function.__name__.replace("_", " ")] = function
    return function


def model(nodes, inputs, outputs, constants=(), opset=21, functions=(), **more):
    """`inputs` and `outputs` are (name, dtype, shape); the bytes of a ModelProto."""
    graph = helper.make_graph(nodes, "g", [value(*i) for i in inputs], [value(*o) for o in outputs],
                              initializer=list(constants))
    opsets = [helper.make_opsetid("", opset)] if opset else []
    opsets += [helper.make_opsetid(f.domain, 1) for f in functions]
    proto = helper.make_model(graph, opset_imports=opsets, functions=list(functions))
    proto.ir_version = more.get("ir_version", 10)
    if not opset:
        del proto.opset_import[:]
    return proto.SerializeToString()


def one(op, shapes, attributes=None, constants=(), out=None, dtypes=None, **more):
    """One node named "faulty" that reads inputs a, b, ... and then the constants."""
    names = "abcdef"[:len(shapes)]
    dtypes = dtypes or [FLOAT] * len(shapes)
    inputs = [(n, d, s) for n, d, s in zip(names, dtypes, shapes)]
    tensors = [numpy_helper.from_array(numpy.asarray(c), f"c{i}") for i, c in enumerate(constants)]
    step = node(op, [*names, *(t.name for t in tensors)], ["y"], name="faulty",
                **(attributes or {}))
    return model([step], inputs, [("y", out or FLOAT, None)], tensors, **more)


def i64(*values):
    return numpy.array(values, dtype=numpy.int64)


def constant(**fields):
    """A model that adds a constant tensor whose fields are given as they are to its input."""
    tensor = TensorProto(name="w", **fields)
    return model([node("Add", ["x", "w"], ["y"], name="sum")], [("x", FLOAT, [2, 2])],
                 [("y", FLOAT, None)], [tensor])


def external(location, **entries):
    tensor = TensorProto(name="w", dims=[2, 2], data_type=FLOAT,
                         data_location=TensorProto.EXTERNAL)
    for key, text in {"location": location, **entries}.items():
        entry = tensor.external_data.add()
        entry.key, entry.value = key, text
    return model([node("Add", ["x", "w"], ["y"], name="sum")], [("x", FLOAT, [2, 2])],
                 [("y", FLOAT, None)], [tensor])


def relu(name, a, b, **attributes):
    return node("Relu", [a], [b], name=name, **attributes)


# What the graph says.
X, Y = ("x", FLOAT, [2, 3]), ("y", FLOAT, None)
MODELS.update({
    "cycle": lambda: model([node("Add", ["x", "b"], ["a"], name="first"), relu("second", "a", "b"),
                            relu("third", "b", "y")], [X], [Y]),
    "missing initializer": lambda: model([node("Add", ["x", "w"], ["y"], name="sum")], [X], [Y]),
    "value written twice": lambda: model([relu("first", "x", "y"), relu("second", "x", "y")],
                                         [X], [Y]),
    "output nobody makes": lambda: model([relu("first", "x", "a")], [X], [Y]),
    "two inputs of one name": lambda: model([relu("first", "x", "y")], [X, X], [Y]),
    "unknown op": lambda: one("Rellu", [[2]]),
    "unknown domain": lambda: model([node("Relu", ["x"], ["y"], name="n", domain="com.example")],
                                    [X], [Y]),
    "unknown attribute": lambda: one("Relu", [[2]], {"slope": 0.5}),
    "attribute of wrong type": lambda: one("Conv", [[1, 1, 4, 4], [1, 1, 3, 3]],
                                           {"strides": [1.5, 1.5]}),
    "missing attribute": lambda: one("Cast", [[2]]),
    "too new opset": lambda: one("Relu", [[2]], opset=99),
    "no opset": lambda: one("Relu", [[2]], opset=0),
    "IR version 99, read all the same": lambda: one("Relu", [[2]], ir_version=99),
    "too few inputs": lambda: one("MatMul", [[2, 2]]),
    "too many inputs": lambda: one("Relu", [[2], [2]]),
    "no graph": lambda: helper.make_model(helper.make_graph([], "g", [], [])).SerializeToString(),
})


@fault
def function_recursion():
    ring = [helper.make_function("ring", name, ["x"], ["y"],
                                 [node(to, ["x"], ["y"], name="call", domain="ring")],
                                 [helper.make_opsetid("", 21), helper.make_opsetid("ring", 1)])
            for name, to in (("There", "Back"), ("Back", "There"))]
    return model([node("There", ["x"], ["y"], name="start", domain="ring")], [X], [Y],
                 functions=ring)


def field(number, data):
    """A length-delimited protobuf field; python's own writer refuses to nest deeply."""
    size, length = b"", len(data)
    while length > 127:
        size, length = size + bytes([length & 127 | 128]), length >> 7
    return bytes([number << 3 | 2]) + size + bytes([length]) + data


@fault
def nested_too_deep():
    def branch(inner):  # GraphProto: node 1, name 2, output 12
        return field(1, inner) + field(2, b"b") + field(12, field(1, b"v"))

    step = field(1, b"x") + field(2, b"v") + field(4, b"Relu")
    for _ in range(200):  # NodeProto: input 1, output 2, op_type 4, attribute 5 (name 1, g 6)
        side = field(5, field(1, b"then_branch") + field(6, branch(step)) + b"\xa0\x01\x05")
        step = field(1, b"c") + field(2, b"v") + field(4, b"If") + side
    graph = branch(step) + field(11, value(*X).SerializeToString())
    return b"\x08\x0a" + field(7, graph) + field(8, field(1, b"") + b"\x10\x15")


# Shapes and dtypes that cannot be.
MODELS.update({
    "input of 2^62": lambda: one("Relu", [[1 << 62]]),
    "product of dims overflows": lambda: one("Relu", [[1 << 32, 1 << 32, 16]]),
    "negative dim": lambda: one("Relu", [[2, -5]]),
    "inner sizes differ": lambda: one("MatMul", [[2, 3], [4, 5]]),
    "wrong rank": lambda: one("Conv", [[4, 4], [1, 1, 3, 3]]),
    "kernel larger than its input": lambda: one("Conv", [[1, 1, 2, 2], [1, 1, 5, 5]]),
    "stride 0": lambda: one("MaxPool", [[1, 1, 4, 4]], {"kernel_shape": [2, 2], "strides": [0, 1]}),
    "mixed dtypes": lambda: one("Add", [[2], [2]], dtypes=[FLOAT, INT64]),
    "dtype the op does not take": lambda: one("Conv", [[1, 1, 4, 4], [1, 1, 3, 3]],
                                              dtypes=[TensorProto.BOOL] * 2),
    "no broadcast": lambda: one("Add", [[2, 3], [4]]),
    "impossible reshape": lambda: one("Reshape", [[2, 3]], constants=[i64(4, 4)]),
    "reshape with two -1": lambda: one("Reshape", [[2, 3]], constants=[i64(-1, -1)]),
    "axis out of range": lambda: one("Softmax", [[2, 3]], {"axis": 7}),
    "perm repeats an axis": lambda: one("Transpose", [[2, 3]], {"perm": [0, 0]}),
    "squeeze of a size 3": lambda: one("Squeeze", [[2, 3]], constants=[i64(1)]),
    "split sums to less": lambda: model([node("Split", ["x", "c"], ["y", "z"], name="faulty",
                                              axis=1)], [X], [Y],
                                        [numpy_helper.from_array(i64(1, 1), "c")]),
    "constant index out of range": lambda: model(
        [node("Gather", ["w", "i"], ["g"], name="faulty"), node("Add", ["x", "g"], ["y"])],
        [X], [Y], [numpy_helper.from_array(numpy.ones((2, 3), numpy.float32), "w"),
                   numpy_helper.from_array(i64(9), "i")]),
})

# Small files that unpack to terabytes.
ONES = numpy.ones((1, 1, 2, 2), dtype=numpy.float32)
MODELS.update({
    "ConstantOfShape bomb": lambda: one("ConstantOfShape", [], constants=[i64(HUGE, 4)]),
    "ConstantOfShape overflow": lambda: one("ConstantOfShape", [],
                                            constants=[i64(1 << 62, 1 << 62)]),
    "ConstantOfShape negative": lambda: one("ConstantOfShape", [], constants=[i64(-4)]),
    "Expand bomb": lambda: one("Expand", [[1]], constants=[i64(HUGE, 4)]),
    "Tile bomb": lambda: one("Tile", [[2, 2]], constants=[i64(HUGE, 4)]),
    "Tile overflow": lambda: one("Tile", [[4, 4]], constants=[i64(1 << 62, 1 << 62)]),
    "Range bomb": lambda: one("Range", [], out=INT64, constants=[
        numpy.int64(0), numpy.int64(1 << 62), numpy.int64(1)]),
    "Range step 0": lambda: one("Range", [], out=INT64, constants=[
        numpy.int64(0), numpy.int64(9), numpy.int64(0)]),
    "Resize bomb": lambda: model([node("Resize", ["x", "", "", "s"], ["y"], name="faulty")],
                                 [("x", FLOAT, [1, 1, 2, 2])], [Y],
                                 [numpy_helper.from_array(i64(1, 1, HUGE, 4), "s")]),
    "Resize by infinity": lambda: model([node("Resize", ["x", "", "s"], ["y"], name="faulty")],
                                        [("x", FLOAT, [1, 1, 2, 2])], [Y],
                                        [numpy_helper.from_array(numpy.array(
                                            [1, 1, numpy.inf, 1], numpy.float32), "s")]),
    "Pad bomb": lambda: one("Pad", [[2, 2]], constants=[i64(HUGE, 0, 0, 4)]),
    "Pad overflow": lambda: one("Pad", [[2, 2]], constants=[i64((1 << 63) - 1, 0, 1, 0)]),
    "OneHot bomb": lambda: one("OneHot", [[2]], dtypes=[INT64], constants=[
        numpy.int64(HUGE), numpy.array([0, 1], numpy.float32)]),
    "RandomNormal bomb": lambda: one("RandomNormal", [], {"shape": [HUGE, 4]}),
    "HannWindow bomb": lambda: one("HannWindow", [], constants=[numpy.int64(HUGE)]),
    "Upsample bomb": lambda: one("Upsample", [[1, 1, 4, 4]], opset=9, constants=[
        numpy.array([1, 1, 1e9, 1e3], numpy.float32)]),
    "DFT bomb": lambda: one("DFT", [[1, 4, 1]], opset=20, constants=[numpy.int64(HUGE)]),
    "TopK of more than there is": lambda: one("TopK", [[4]], constants=[i64(HUGE)]),
    "kernel of 2^31": lambda: one("MaxPool", [[1, 1, 4, 4]], {"kernel_shape": [1 << 31, 1]}),
    "pads of 2^40": lambda: one("Conv", [[1, 1, 4, 4], [1, 1, 1, 1]], {"pads": [HUGE] * 4}),
    "group of 2^62": lambda: one("Conv", [[1, 1, 4, 4], [1, 1, 2, 2]], {"group": 1 << 62}),
    "blocksize 0": lambda: one("SpaceToDepth", [[1, 4, 4, 4]], {"blocksize": 0}),
    "hidden size of 2^61": lambda: one("LSTM", [[2, 1, 4], [1, 8, 4], [1, 8, 2]],
                                       {"hidden_size": 1 << 61}),
})

# Constants whose bytes and shape disagree.
MODELS.update({
    "raw_data too short": lambda: constant(dims=[2, 2], data_type=FLOAT, raw_data=b"\0" * 15),
    "raw_data too long": lambda: constant(dims=[2, 2], data_type=FLOAT, raw_data=b"\0" * 20),
    "float_data too short": lambda: constant(dims=[2, 2], data_type=FLOAT, float_data=[1, 2, 3]),
    "constant of negative size": lambda: constant(dims=[2, -2], data_type=FLOAT, float_data=[]),
    "constant of 2^62 x 8": lambda: constant(dims=[1 << 62, 8], data_type=FLOAT, float_data=[1]),
    "constant without data": lambda: constant(dims=[2, 2], data_type=FLOAT),
    "constant of unknown dtype": lambda: constant(dims=[2, 2], data_type=99, raw_data=b"\0" * 16),
    "external data above": lambda: external("../secret"),
    "external data absolute": lambda: external("/etc/passwd"),
    "external data through a link": lambda: external("link"),
    "external data through a linked folder": lambda: external("linked/secret"),
    "external data missing": lambda: external("nowhere.bin"),
    "external data is a folder": lambda: external("linked"),
    "external data too short": lambda: external("short.bin"),
    "external data offset past the end": lambda: external("long.bin", offset="9999999999"),
    "external data offset is no number": lambda: external("long.bin", offset="ten"),
    "external data offset overflows": lambda: external("long.bin", offset=str((1 << 63) - 1)),
    "external data length differs": lambda: external("long.bin", length="8"),
})


@fault
def sparse_index_out_of_range():
    proto = helper.make_graph([node("Add", ["x", "w"], ["y"], name="sum")], "g", [value(*X)],
                              [value(*Y)])
    sparse = proto.sparse_initializer.add()
    sparse.values.CopyFrom(TensorProto(name="w", dims=[1], data_type=FLOAT, float_data=[1]))
    sparse.indices.CopyFrom(TensorProto(dims=[1], data_type=INT64, int64_data=[77]))
    sparse.dims.extend([2, 3])
    return helper.make_model(proto, opset_imports=[helper.make_opsetid("", 21)]
                             ).SerializeToString()


def write_surroundings(folder):
    """What the models with external data point at; `folder` is the models' own."""
    outside = os.path.join(folder, "..", "outside")
    os.makedirs(outside, exist_ok=True)
    for place, name, size in ((outside, "secret", 64), (folder, "short.bin", 15),
                              (folder, "long.bin", 64), (os.path.join(folder, ".."), "secret", 64)):
        with open(os.path.join(place, name), "wb") as file:
            file.write(b"\0" * size)
    os.symlink(os.path.join("..", "outside", "secret"), os.path.join(folder, "link"))
    os.symlink(os.path.join("..", "outside"), os.path.join(folder, "linked"))
