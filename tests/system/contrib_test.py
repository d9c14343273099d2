# The operators of domain com.microsoft that published models contain: one model for each form of
# each, with ONNX Runtime's answers (plain and optimized, which must agree) as what is expected, or
# numpy's where its CPU provider has no kernel. The inputs are seeded.
# SPDX-License-Identifier: Apache-2.0
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

try:
    import numpy
    import onnx
    import onnxruntime
    from onnx import helper, numpy_helper
except ImportError as missing:
    print(f"skipped: {missing} (tools/setup --peers installs it)")
    sys.exit(77)

import contrib_cases

OPTIONS = None
# Largest differences that are allowed (absolute, relative), by kind of case. `loose`: ONNX Runtime
# quantizes activations on the way, which the operator lets it do.
TOLERANCES = {"exact": (0, 0), "float": (2e-5, 2e-5), "half": (4e-3, 4e-3), "loose": (5e-2, 5e-2)}


def model_of(case):
    """A model of the case's nodes; what is not in case.constants is a graph input."""
    types = {name: helper.np_dtype_to_tensor_dtype(value.dtype)
             for name, value in case.tensors.items()}
    types.update(case.types)
    inputs = [helper.make_tensor_value_info(name, types[name], case.dims.get(name, value.shape))
              for name, value in case.tensors.items() if name not in case.constants]
    weights = [tensor_of(name, case.tensors[name], types[name])
               for name in case.tensors if name in case.constants]
    outputs = [helper.make_tensor_value_info(name, types[name], None) if name in types
               else helper.make_empty_tensor_value_info(name) for name in case.outputs]
    graph = helper.make_graph(case.nodes, case.name, inputs, outputs, weights)
    opsets = [helper.make_opsetid("", case.opset), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=10)


def tensor_of(name, value, kind):
    """4-bit elements come as int8 or uint8 arrays."""
    if kind in (onnx.TensorProto.INT4, onnx.TensorProto.UINT4):
        return helper.make_tensor(name, kind, value.shape, value.flatten().tolist())
    return numpy_helper.from_array(value, name)


def answers(model, case, level):
    settings = onnxruntime.SessionOptions()
    settings.graph_optimization_level = level
    settings.log_severity_level = 4
    session = onnxruntime.InferenceSession(model.SerializeToString(), settings,
                                           ["CPUExecutionProvider"])
    feeds = {value.name: case.tensors[value.name] for value in session.get_inputs()}
    return session.run(None, feeds)


def expected_of(case, model):
    if case.expected is not None:
        return case.expected
    levels = onnxruntime.GraphOptimizationLevel
    plain = answers(model, case, levels.ORT_DISABLE_ALL)
    atol, rtol = TOLERANCES[case.kind]
    for a, b in zip(plain, answers(model, case, levels.ORT_ENABLE_ALL)):
        if a.dtype.kind in "OSUb":
            numpy.testing.assert_array_equal(a, b, case.name)
        else:
            numpy.testing.assert_allclose(a.astype("float64"), b.astype("float64"),
                                          rtol, atol, err_msg=case.name)
    return plain


def store(folder, case):
    model = model_of(case)
    expected = expected_of(case, model)
    data = folder / case.name / "test_data_set_0"
    data.mkdir(parents=True)
    inputs = [name for name in case.tensors if name not in case.constants]
    for i, name in enumerate(inputs):
        data.joinpath(f"input_{i}.pb").write_bytes(
            numpy_helper.from_array(case.tensors[name], name).SerializeToString())
    for i, (name, value) in enumerate(zip(case.outputs, expected)):
        # A scalar comes as a number.
        tensor = numpy_helper.from_array(numpy.asarray(value), name)
        data.joinpath(f"output_{i}.pb").write_bytes(tensor.SerializeToString())
    onnx.save(model, folder / case.name / "model.onnx")


class Contrib(unittest.TestCase):
    def check(self, kind):
        cases = [case for case in contrib_cases.cases()
                 if case.kind == kind and OPTIONS.filter in case.name]
        self.assertTrue(cases or OPTIONS.filter)
        if not cases:
            return
        with tempfile.TemporaryDirectory() as folder:
            for case in cases:
                with self.subTest(case.name):
                    store(pathlib.Path(OPTIONS.keep or folder) / kind, case)
            atol, rtol = TOLERANCES[kind]
            run = subprocess.run(
                [OPTIONS.stoker, "check", "--suite", os.path.join(OPTIONS.keep or folder, kind),
                 "--json", "--atol", str(atol), "--rtol", str(rtol)],
                capture_output=True, text=True, check=False,
                env=dict(os.environ, STOKER_TACTIC_TIMING="0"))
            self.assertIn(run.returncode, (0, 1), run.stderr)
            report = json.loads(run.stdout)
            for failure in report["failures"]:
                with self.subTest(failure["model"]):
                    self.fail(failure["reason"])
            self.assertEqual(report["passed"] + report["failed"], len(cases))

    def test_exact(self):
        self.check("exact")

    def test_float(self):
        self.check("float")

    def test_half(self):
        self.check("half")

    def test_loose(self):
        self.check("loose")


def parse_options():
    parser = argparse.ArgumentParser()
    parser.add_argument("--stoker", required=True)
    parser.add_argument("--filter", default="", help="only cases whose name holds this")
    parser.add_argument("--keep", default="", help="folder to leave the models in")
    return parser.parse_known_args()


if __name__ == "__main__":
    OPTIONS, rest = parse_options()
    unittest.main(argv=[sys.argv[0], *rest])
