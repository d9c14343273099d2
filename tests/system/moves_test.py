# Engines move: built for each level of instructions, run on each level that this machine has and
# with other numbers of threads, within tolerance of one another; `inspect --compat` says so
# beforehand. STOKER_ISA stands for another machine.
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

import rebuild_test

OPTIONS = None
LEVELS = ("baseline", "v3", "v4", "v4x")
ZOO = ("lenet", "mobilenetv2")


def stoker(*words, **variables):
    environment = dict(os.environ, STOKER_TACTIC_TIMING="0", **variables)
    done = subprocess.run([OPTIONS.stoker, *map(str, words)], capture_output=True, text=True,
                          env=environment, timeout=100)
    if done.returncode != 0:
        raise AssertionError(f"{words} {variables}: {done.stdout}{done.stderr}")
    return done.stdout


def levels_here():
    found = json.loads(stoker("doctor", "--json"))["isa_levels"]
    return [level for level in LEVELS if found[level]]


class Moves(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.at = pathlib.Path(self.folder.name)

    def answers(self, engine, inputs, threads=2, **variables):
        out = self.at / "out"
        stoker("run", engine, "--save-outputs", out, "--threads", threads, *inputs, **variables)
        return {p.name: numpy.load(p) for p in out.iterdir()}

    def models(self):
        for name in ZOO:
            path = self.at / f"{name}.onnx"
            stoker("zoo", name, "-o", path)
            yield name, path, []
        for name, (make, shapes) in rebuild_test.NETS.items():
            path = make(self.at / f"{name}.onnx")
            inputs = []
            for key, value in rebuild_test.Rebuild.inputs(shapes).items():
                numpy.save(self.at / f"{key}.npy", value)
                inputs += ["--input", f"{key}={self.at / key}.npy"]
            yield name, path, inputs

    def test_every_level_to_every_level(self):
        levels = levels_here()
        self.assertIn("baseline", levels)
        for name, model, inputs in self.models():
            expected = None
            for built in levels:
                engine = self.at / "moved.engine"
                stoker("build", model, "-o", engine, "--device", f"cpu:{built}")
                for level in levels:
                    with self.subTest(net=name, built=built, runs=level):
                        found = self.answers(engine, inputs, STOKER_ISA=level)
                        expected = expected or found
                        self.assertEqual(sorted(expected), sorted(found))
                        for key, value in expected.items():
                            numpy.testing.assert_allclose(found[key], value, rtol=2e-4, atol=2e-5)
                        report = json.loads(stoker("inspect", engine, "--compat", "--json",
                                                   STOKER_ISA=level))
                        self.assertTrue(report["runs"])
                        self.assertEqual(report["built_for"], f"cpu {built}")
                        self.assertEqual(report["machine"], f"cpu {level}")

    def test_threads_do_not_change_bits(self):
        for name, model, inputs in self.models():
            engine = self.at / "threads.engine"
            stoker("build", model, "-o", engine)
            expected = self.answers(engine, inputs, 1)
            for threads in (2, 3, 5):
                with self.subTest(net=name, threads=threads):
                    found = self.answers(engine, inputs, threads)
                    for key, value in expected.items():
                        self.assertEqual(value.tobytes(), found[key].tobytes())


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--stoker", required=True)
    OPTIONS, rest = parser.parse_known_args()
    unittest.main(argv=[sys.argv[0], *rest])
