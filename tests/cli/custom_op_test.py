# Custom operators on the command line: --op-library on every command that takes a model, what
# inspect shows, and the refusals with their exit codes.
# SPDX-License-Identifier: Apache-2.0
import argparse
import json
import os
import subprocess
import sys
import tempfile
import unittest

import numpy
import onnx
from onnx import TensorProto, helper

OPTIONS = None


def stoker(*words, code=0, environment=None):
    run = subprocess.run([OPTIONS.stoker, *map(str, words)], capture_output=True, text=True,
                         check=False, env={**os.environ, **(environment or {})})
    if run.returncode != code:
        raise AssertionError(f"{words}: exit code {run.returncode}, expected {code}\n"
                             f"{run.stdout}{run.stderr}")
    return run


def demo_model(path):
    node = helper.make_node("LeakyClamp", ["x"], ["y"], domain="demo.ops", alpha=0.5, limit=2.0)
    graph = helper.make_graph(
        [node], "demo", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 4])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["N", 4])])
    onnx.save(helper.make_model(graph, ir_version=8, opset_imports=[
        helper.make_opsetid("", 17), helper.make_opsetid("demo.ops", 1)]), path)


class CustomOp(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.model, self.engine = self.file("m.onnx"), self.file("m.engine")
        demo_model(self.model)
        self.x = numpy.array([[1, -1, 3, -9], [0, 0.5, -2, 2]], "float32")
        self.y = numpy.array([[1, -0.5, 2, -2], [0, 0.5, -1, 2]], "float32")
        numpy.save(self.file("x.npy"), self.x)

    def file(self, name):
        return os.path.join(self.folder.name, name)

    def build(self):
        stoker("build", self.model, "--op-library", OPTIONS.library, "-o", self.engine)

    def check_run(self, *words, environment=None):
        stoker("run", *words, "--input", self.file("x.npy"), "--save-outputs", self.file("out"),
               environment=environment)
        numpy.testing.assert_array_equal(numpy.load(self.file("out/y.npy")), self.y)

    def test_model_and_engine_run(self):
        self.build()
        self.check_run(self.model, "--op-library", OPTIONS.library)
        self.check_run(self.engine, "--op-library", OPTIONS.library)
        self.check_run(self.engine, "--knob", f"op_libraries={OPTIONS.library}")
        self.check_run(self.engine, environment={"STOKER_OP_LIBRARIES": OPTIONS.library})

    def test_every_command_takes_it(self):
        self.build()
        os.mkdir(self.file("data"))
        numpy.save(self.file("data/x.npy"), self.x)
        numpy.save(self.file("data/y.npy"), self.y)
        for model in (self.model, self.engine):
            library = ("--op-library", OPTIONS.library)
            stoker("bench", model, *library, "--duration", "50ms", "--warmup", "10ms",
                   "--shapes", "x:2x4")
            stoker("check", model, *library, "--data", self.file("data"))
            stoker("explain", model, *library)
            stoker("inspect", model, *library)

    def test_inspect_shows_the_library(self):
        self.build()
        report = json.loads(stoker("inspect", self.engine, "--op-library", OPTIONS.library,
                                   "--json").stdout)
        self.assertEqual([(o["name"], o["version"], len(o["hash"]))
                          for o in report["op_libraries"]], [("demo_ops", "1.0.0", 32)])

    def test_refusals(self):
        self.build()
        unknown = stoker("build", self.model, "-o", self.file("n.engine"), code=3).stderr
        self.assertIn("unknown operator", unknown)
        self.assertIn("--op-library FILE", unknown)
        missing = stoker("run", self.engine, code=2).stderr
        self.assertIn("calls operator library demo_ops, version 1.0.0", missing)
        self.assertIn("--op-library FILE", missing)
        other = stoker("run", self.engine, "--op-library", OPTIONS.other, code=2).stderr
        self.assertIn("is version 2.0.0 with content", other)
        self.assertIn("build the engine again", other)
        absent = stoker("run", self.engine, "--op-library", self.file("no.so"), code=3).stderr
        self.assertIn("No such file", absent)
        text = stoker("run", self.engine, "--op-library", self.model, code=3).stderr
        self.assertIn("cannot be loaded as a shared library", text)
        colon = stoker("run", self.engine, "--op-library", "a:b", code=2).stderr
        self.assertIn("a file name without ':'", colon)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--stoker", required=True)
    parser.add_argument("--library", required=True)
    parser.add_argument("--other", required=True)
    OPTIONS, rest = parser.parse_known_args()
    unittest.main(argv=[sys.argv[0], *rest])
