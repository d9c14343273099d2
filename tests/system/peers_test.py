# Networks of the zoo against ONNX Runtime: the same answers (largest error over largest value under
# 1e-4)
# from a saved engine, and at most 4 times its time with two threads, measured in turns.
# SPDX-License-Identifier: Apache-2.0
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
import unittest

import numpy
import onnxruntime

OPTIONS = None
ROUNDS = 5
LIMIT = 4.0


def output_of(*command):
    run = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)
    if run.returncode != 0:
        raise AssertionError(f"{command}: exit code {run.returncode}\n{run.stderr}")
    return run.stdout


def sample(value, sizes):
    """Legal inputs: token ids inside the vocabulary, a mask of ones, pictures around zero."""
    shape = [d if isinstance(d, int) else sizes[i] for i, d in enumerate(value.shape)]
    random = numpy.random.default_rng(len(value.name))
    if value.type != "tensor(int64)":
        return random.standard_normal(shape).astype("float32")
    if "mask" in value.name:
        return numpy.ones(shape, "int64")
    return random.integers(0, 2 if "type" in value.name else 30000, shape)


class Peers(unittest.TestCase):
    def compare(self, name, sizes):
        with tempfile.TemporaryDirectory() as folder:
            model, engine = os.path.join(folder, "m.onnx"), os.path.join(folder, "m.engine")
            output_of(OPTIONS.stoker, "zoo", name, "-o", model)
            output_of(OPTIONS.stoker, "build", model, "-o", engine, "--threads", 2)
            settings = onnxruntime.SessionOptions()
            settings.intra_op_num_threads = 2
            session = onnxruntime.InferenceSession(model, settings, ["CPUExecutionProvider"])
            feeds = {value.name: sample(value, sizes) for value in session.get_inputs()}
            arguments, shapes = [], []
            for key, value in feeds.items():
                numpy.save(os.path.join(folder, key + ".npy"), value)
                arguments += ["--input", f"{key}={folder}/{key}.npy"]
                shapes += ["--shapes", f"{key}:{'x'.join(map(str, value.shape))}"]
            expected = session.run(None, feeds)
            output_of(OPTIONS.stoker, "run", engine, *arguments, "--save-outputs", folder)
            for value, reference in zip(session.get_outputs(), expected):
                found = numpy.load(os.path.join(folder, value.name + ".npy"))
                error = numpy.abs(found - reference).max() / numpy.abs(reference).max()
                self.assertLess(error, 1e-4, value.name)
            ours, theirs = [], []
            for _ in range(ROUNDS):
                ours.append(json.loads(output_of(
                    OPTIONS.stoker, "bench", engine, "--threads", 2, "--warmup", "0.2s",
                    "--duration", "1s", "--json", "-", *shapes))["latency_ms"]["p50"])
                theirs.append(self.time(session, feeds))
            ratio = statistics.median(ours) / statistics.median(theirs)
            print(f"{name}: {ratio:.2f} of ONNX Runtime's time", file=sys.stderr)
            self.assertLess(ratio, LIMIT)

    @staticmethod
    def time(session, feeds):
        times = []
        for _ in range(10):
            start = time.perf_counter()
            session.run(None, feeds)
            times.append(1e3 * (time.perf_counter() - start))
        time.sleep(0.1)  # its spinning threads must be asleep before our turn
        return statistics.median(times)

    def test_resnet50(self):
        self.compare("resnet50", [1])

    def test_mobilenetv2(self):
        self.compare("mobilenetv2", [1])

    def test_bert_base(self):
        self.compare("bert-base", [1, 128])


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--stoker", required=True)
    OPTIONS, rest = parser.parse_known_args()
    unittest.main(argv=[sys.argv[0], *rest])
