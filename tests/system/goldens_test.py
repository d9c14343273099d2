# Stored answers of real trained networks, checked with the program itself through saved
# engines. Integer networks are judged by the range of their output and the winner, since integer
# and float kernels differ by design.
# Needs the test data folder; is skipped without it.
# SPDX-License-Identifier: Apache-2.0
import argparse
import os
import subprocess
import sys
import tarfile
import tempfile
import unittest

OPTIONS = None
FLOAT = ["--atol", "1e-4", "--rtol", "1e-4"]
INTEGER = ["--metric", "range", "--rtol", "0.05"]
MODELS = [
    ("cifar10-winml/ImageClassifier", FLOAT),
    ("fastestdet/FastestDet", FLOAT),
    ("magika/model", FLOAT),
    ("mnist/cnn_mnist_pytorch-opset9", FLOAT),
    ("mnist/mnist-8-cntk", FLOAT),
    ("mnist/mnist-torch2.7-opset18", FLOAT),
    ("mobilenetv2-int8-qdq/model", INTEGER),
    ("ppocr/ch_PP-OCRv3_det_infer", FLOAT),
    ("ppocr/cls-model", FLOAT),
    ("silero-vad/silero_vad", FLOAT),
    ("silero-vad/silero_vad_16k_op15", FLOAT),
    ("silero-vad/silero_vad_op18_ifless", FLOAT),
    ("super-resolution/pytorch_super_resolution", FLOAT),
    ("tract-bidi-lstm/model", FLOAT),
    ("ultraface/version-RFB-320", FLOAT),
    ("yolox-nano/yolox_nano", FLOAT),
    ("yunet/yunet_n_320_320", FLOAT),
    ("yunet/yunet_n_dynamic", FLOAT),
]


def unpack(archive, folder):
    """A zstd-compressed tar: the zstd program, which tools/setup installs, unpacks it."""
    with subprocess.Popen(["zstd", "-dcq", archive], stdout=subprocess.PIPE) as zstd:
        with tarfile.open(fileobj=zstd.stdout, mode="r|") as tar:
            tar.extractall(folder, filter="data")
        if zstd.wait() != 0:
            raise AssertionError(f"cannot unpack {archive}")


class Goldens(unittest.TestCase):
    folder = None

    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory()
        cls.folder = cls.temporary.name
        unpack(os.path.join(OPTIONS.data, "models/goldens-ort1.30.tar.zst"), cls.folder)

    @classmethod
    def tearDownClass(cls):
        cls.temporary.cleanup()

    def check(self, name, tolerance):
        model = os.path.join(OPTIONS.data, "models", name + ".onnx")
        engine = os.path.join(self.folder, name.replace("/", "_") + ".engine")
        goldens = os.path.join(self.folder, "goldens-ort1.30", name)
        for command in ([OPTIONS.stoker, "build", model, "-o", engine],
                        [OPTIONS.stoker, "check", engine, "--data", goldens, *tolerance]):
            run = subprocess.run(command, capture_output=True, text=True, check=False)
            self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
        if tolerance is INTEGER:
            self.same_winner(engine, goldens)

    def same_winner(self, engine, goldens):
        command = [OPTIONS.stoker, "check", engine, "--data", goldens, "--metric", "top1"]
        run = subprocess.run(command, capture_output=True, text=True, check=False)
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)


def add_tests():
    for name, tolerance in MODELS:
        title = "test_" + "".join(c if c.isalnum() else "_" for c in name)
        setattr(Goldens, title, lambda self, a=(name, tolerance): self.check(*a))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--stoker", required=True)
    parser.add_argument("--data", required=True)
    OPTIONS, rest = parser.parse_known_args()
    if not os.path.isfile(os.path.join(OPTIONS.data, "models/goldens-ort1.30.tar.zst")):
        print(f"no test data under {OPTIONS.data}: nothing to check")
        sys.exit(77)  # ctest counts it as skipped, not as passed
    add_tests()
    unittest.main(argv=[sys.argv[0], *rest])
