# Trained digit classifiers from file to accuracy: saved engines, run by a program linked to
# stoker_run alone, at every ISA level of the machine, at two batch sizes and with one and two
# threads (equal bits).
# Needs the test data folder (STOKER_TEST_DATA or ../shared); is skipped without it.
# SPDX-License-Identifier: Apache-2.0
import argparse
import gzip
import json
import os
import subprocess
import sys
import tempfile
import unittest

OPTIONS = None
# File, preprocessing, right answers out of 10,000.
MODELS = [
    ("mnist-8-cntk.onnx", "Input3", "raw", 9891),
    ("cnn_mnist_pytorch-opset9.onnx", "0", "normalized", 9907),
    ("mnist-torch2.7-opset18.onnx", "input", "normalized", 7721),
]
LEVELS = ["baseline", "v3", "v4", "v4x"]


def output_of(*command):
    run = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)
    if run.returncode != 0:
        raise AssertionError(f"{command}: exit code {run.returncode}\n{run.stderr}")
    return run.stdout


def machine_levels():
    """ISA levels that this CPU runs."""
    facts = json.loads(output_of(OPTIONS.stoker, "doctor", "--json", "--no-peaks"))
    return [level for level in LEVELS if facts["isa_levels"][level]]


class Mnist(unittest.TestCase):
    def check(self, name, port, preprocessing, expected):
        with tempfile.TemporaryDirectory() as folder:
            files = []
            for kind in ("images-idx3", "labels-idx1"):
                path = os.path.join(folder, kind)
                source = os.path.join(OPTIONS.data, "datasets/mnist-t10k", f"t10k-{kind}-ubyte.gz")
                with gzip.open(source, "rb") as packed, open(path, "wb") as raw:
                    raw.write(packed.read())
                files.append(path)
            engine = os.path.join(folder, "m.engine")
            model = os.path.join(OPTIONS.data, "models/mnist", name)
            output_of(OPTIONS.stoker, "build", model, "-o", engine, "--shapes",
                      f"{port}:1x1x28x28..128x1x28x28,opt=1x1x28x28")
            for level in machine_levels():
                for batch in (1, 100):
                    bits = set()
                    for threads in (1, 2):
                        words = output_of(OPTIONS.mnist, engine, *files, preprocessing, batch,
                                          f"isa={level}", f"threads={threads}").split()
                        self.assertEqual(int(words[1]), expected, (name, level, batch, threads))
                        bits.add(words[3])
                    self.assertEqual(len(bits), 1, (name, level, batch))


def add_tests():
    for name, port, preprocessing, expected in MODELS:
        title = "test_" + name.replace("-", "_").replace(".", "_")
        setattr(Mnist, title, lambda self, a=(name, port, preprocessing, expected): self.check(*a))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--stoker", required=True)
    parser.add_argument("--mnist", required=True)
    parser.add_argument("--data", required=True)
    OPTIONS, rest = parser.parse_known_args()
    if not os.path.isdir(os.path.join(OPTIONS.data, "datasets/mnist-t10k")):
        print(f"no test data under {OPTIONS.data}: nothing to check")
        sys.exit(77)  # ctest counts it as skipped, not as passed
    add_tests()
    unittest.main(argv=[sys.argv[0], *rest])
