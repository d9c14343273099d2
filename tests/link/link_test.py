# stoker_run is small: a program linked to it alone runs an engine with the bits of `stoker run`,
# and the library holds nothing of importer, graph, passes, lowering, quantizer or tuner.
# SPDX-License-Identifier: Apache-2.0
import argparse
import os
import re
import subprocess
import sys
import tempfile
import unittest

import numpy
import onnx

OPTIONS = None
# Symbols of the building side, as `nm -C` prints them, and of the libraries that only it may use.
FORBIDDEN = (r"google::protobuf|\bonnx::|\bsqlite3_|stoker::(Graph|Node|verify|parse_graph"
             r"|run_passes|PassContext|ImportedModel|TacticOracle|write_zoo_model)\b"
             r"|stoker::(import_|lower_|tune_)")


def output_of(*command):
    run = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)
    if run.returncode != 0:
        raise AssertionError(f"{command}: exit code {run.returncode}\n{run.stderr}")
    return run.stdout


class Link(unittest.TestCase):
    def test_library_holds_nothing_of_the_building_side(self):
        symbols = output_of("nm", "-C", OPTIONS.library).splitlines()
        self.assertGreater(len(symbols), 100)
        self.assertTrue(any("stoker::Engine::load" in s for s in symbols))
        found = [s for s in symbols if re.search(FORBIDDEN, s)]
        self.assertEqual(found[:10], [])

    def test_the_pattern_finds_what_it_should(self):
        library = os.path.join(os.path.dirname(OPTIONS.library), "libstoker_build.a")
        symbols = output_of("nm", "-C", library).splitlines()
        self.assertTrue(any(re.search(FORBIDDEN, s) for s in symbols))

    def test_program_needs_no_library_of_the_building_side(self):
        needed = output_of("ldd", OPTIONS.run_only)
        self.assertNotRegex(needed, r"protobuf|sqlite")

    def test_runs_an_engine_with_the_same_bits(self):
        with tempfile.TemporaryDirectory() as folder:
            model, engine = os.path.join(folder, "m.onnx"), os.path.join(folder, "m.engine")
            output_of(OPTIONS.stoker, "zoo", "lenet", "-o", model)
            output_of(OPTIONS.stoker, "build", model, "-o", engine)
            value = onnx.load(model).graph.input[0]
            sizes = [d.dim_value or 2 for d in value.type.tensor_type.shape.dim]
            x = numpy.random.default_rng(1).standard_normal(sizes).astype("float32")
            numpy.save(os.path.join(folder, "x.npy"), x)
            x.tofile(os.path.join(folder, "x.raw"))
            out = os.path.join(folder, "out")
            output_of(OPTIONS.stoker, "run", engine, "--input",
                      f"{value.name}={folder}/x.npy", "--save-outputs", out)
            for threads in (1, 2):
                shape = "x".join(map(str, sizes))
                lines = output_of(OPTIONS.run_only, engine, threads, folder,
                                  f"{value.name}=f32:{shape}:{folder}/x.raw").splitlines()
                self.assertEqual(len(lines), 1)
                name = lines[0].split()[0]
                expected = numpy.load(os.path.join(out, name + ".npy"))
                with open(os.path.join(folder, name + ".raw"), "rb") as file:
                    self.assertEqual(file.read(), expected.tobytes())


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--stoker", required=True)
    parser.add_argument("--run-only", required=True)
    parser.add_argument("--library", required=True)
    OPTIONS, rest = parser.parse_known_args()
    unittest.main(argv=[sys.argv[0], *rest])
