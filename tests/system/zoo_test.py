# Every network of the zoo is a valid ONNX model that ONNX Runtime, at each of its optimization
# levels, and Stoker run with the same answers; outputs are finite and not constant. The two
# networks of 4.9 GB take part only where memory and disk allow.
# SPDX-License-Identifier: Apache-2.0
import argparse
import gc
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

try:
    import numpy
    import onnx
    import onnxruntime
except ImportError as missing:
    print(f"skipped: {missing} (tools/setup --peers installs it)")
    sys.exit(77)

OPTIONS = None
LEVELS = ("ORT_DISABLE_ALL", "ORT_ENABLE_BASIC", "ORT_ENABLE_EXTENDED", "ORT_ENABLE_ALL")
SIZES = {"N": 2, "S": 40, "P": 23, "P + 1": 24, "T": 1500, "L": 3}
LARGE = ("llama-1b", "llama-1b-prefill")
LARGE_MEMORY, LARGE_DISK = 16 << 30, 12 << 30
TOLERANCE = 1e-4  # largest error over the largest value of an output


def stoker(*words):
    run = subprocess.run([OPTIONS.stoker, *map(str, words)], capture_output=True, text=True,
                         check=False)
    if run.returncode != 0:
        raise AssertionError(f"stoker {words}: exit code {run.returncode}\n{run.stderr}")
    return run.stdout


def sample(value):
    """Legal data for an input: ids inside every vocabulary and table, half of a row padded."""
    shape = [SIZES.get(d, d) for d in value.shape]
    random = numpy.random.default_rng(len(value.name))
    if value.type != "tensor(int64)":
        return random.standard_normal(shape).astype("float32")
    if "mask" in value.name:
        mask = numpy.ones(shape, "int64")
        mask[-1, shape[1] // 2:-1] = 0
        return mask
    if value.name == "position_ids":
        first = 0 if shape[1] > 1 else SIZES["P"]
        return numpy.tile(numpy.arange(first, first + shape[1]), (shape[0], 1))
    return random.integers(0, 9000 if value.name == "input_ids" else 2, shape)


def available_memory():
    with open("/proc/meminfo", encoding="ascii") as file:
        for line in file:
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) << 10
    return 0


class Zoo(unittest.TestCase):
    def close(self, found, expected, what):
        self.assertEqual(found.shape, expected.shape, what)
        self.assertLess(numpy.abs(found - expected).max() / numpy.abs(expected).max(), TOLERANCE,
                        what)

    def peer(self, model):
        """Inputs, names and values of the outputs; all levels must agree on the values."""
        expected = None
        for level in LEVELS:
            settings = onnxruntime.SessionOptions()
            settings.log_severity_level = 3
            settings.intra_op_num_threads = 2
            settings.graph_optimization_level = getattr(onnxruntime.GraphOptimizationLevel, level)
            session = onnxruntime.InferenceSession(model, settings, ["CPUExecutionProvider"])
            feeds = {value.name: sample(value) for value in session.get_inputs()}
            names = [value.name for value in session.get_outputs()]
            outputs = session.run(None, feeds)
            del session
            gc.collect()  # a session of the largest networks holds 7 GB
            if expected is None:
                expected = outputs
            for name, found, value in zip(names, outputs, expected):
                self.close(found, value, f"{name} at {level}")
        return feeds, names, expected

    def check_network(self, name, folder):
        model, engine = (os.path.join(folder, f"m.{kind}") for kind in ("onnx", "engine"))
        stoker("zoo", name, "-o", model)
        onnx.checker.check_model(model, full_check=True)
        feeds, names, expected = self.peer(model)
        for output, value in zip(names, expected):
            self.assertTrue(numpy.isfinite(value).all(), output)
            self.assertGreater(value.std(), 1e-3, f"{output} is constant")
        words = []
        for number, (key, value) in enumerate(feeds.items()):
            path = os.path.join(folder, f"in{number}.npy")
            numpy.save(path, value)
            words += ["--input", f"{key}={path}"]
        stoker("build", model, "-o", engine)
        stoker("run", engine, *words, "--save-outputs", folder)
        for output, value in zip(names, expected):
            self.close(numpy.load(os.path.join(folder, output + ".npy")), value, output)

    def test_networks(self):
        for entry in json.loads(stoker("zoo", "--list", "--json")):
            name = entry["name"]
            with self.subTest(model=name), tempfile.TemporaryDirectory() as folder:
                if name in LARGE and (available_memory() < LARGE_MEMORY or
                                      shutil.disk_usage(folder).free < LARGE_DISK):
                    self.skipTest("needs 16 GiB of memory and 12 GiB of disk")
                self.check_network(name, folder)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--stoker", required=True)
    OPTIONS, rest = parser.parse_known_args()
    unittest.main(argv=[sys.argv[0], *rest])
