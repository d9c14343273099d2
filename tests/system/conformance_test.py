# The ONNX conformance suite, the one inside the pinned onnx wheel and, where the test data folder
# has it, a newer one: every model built, saved, loaded and run by the program, optimized and with
# all passes off. Models that are known not to pass stand in conformance_failures.txt with the
# reason; one that passes again must leave the list.
# SPDX-License-Identifier: Apache-2.0
import argparse
import glob
import json
import os
import subprocess
import sys
import tarfile
import tempfile
import time
import unittest

OPTIONS = None
FOLDERS = ["node", "simple", "pytorch-converted", "pytorch-operator"]
LIST = os.path.join(os.path.dirname(os.path.abspath(__file__)), "conformance_failures.txt")
LIMIT_S = 600


def known_failures():
    """Lines of `folder/model  reason`."""
    known = {}
    with open(LIST, encoding="utf-8") as file:
        for line in file:
            line = line.strip()
            if line and not line.startswith("#"):
                name, reason = line.split(None, 1)
                known[name] = reason
    return known


def wheel_data():
    pattern = os.path.join(os.path.dirname(os.path.dirname(sys.executable)),
                           "lib/python3*/site-packages/onnx/backend/test/data")
    found = glob.glob(pattern)
    return found[0] if found else None


class Conformance(unittest.TestCase):
    def run_suite(self, data, knobs):
        """Checks every folder; returns the number of models that passed."""
        known = known_failures()
        passed, wrong = 0, []
        start = time.monotonic()
        for folder in FOLDERS:
            path = os.path.join(data, folder)
            names = set(os.listdir(path))
            # The upstream runner's relative tolerance; its absolute one is 1e-7, too tight for the
            # transcendental functions of float32 near 0.
            command = [OPTIONS.stoker, "check", "--suite", path, "--json", "-", "--rtol", "1e-3",
                       "--atol", "1e-5"]
            environment = dict(os.environ, STOKER_TACTIC_TIMING="0")
            for knob in knobs:
                command += ["--knob", knob]
            done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                  env=environment, timeout=LIMIT_S, check=False)
            self.assertIn(done.returncode, (0, 1), done.stderr[-2000:])
            report = json.loads(done.stdout)
            self.assertEqual(report["skipped"], 0)
            self.assertEqual(report["passed"] + report["failed"], len(names))
            passed += report["passed"]
            failed = {f"{folder}/{f['model']}": f["reason"] for f in report["failures"]}
            wrong += [f"{name}: {reason}" for name, reason in failed.items() if name not in known]
            wrong += [f"{name}: passes, but is listed as failing" for name in known
                      if name.split("/")[0] == folder and name.split("/")[1] in names
                      and name not in failed]
        print(f"{passed} models passed in {time.monotonic() - start:.1f} s", file=sys.stderr)
        self.assertEqual(wrong, [])
        return passed

    def check(self, data):
        for knobs in ([], ["disable_passes=all"]):
            with self.subTest(knobs=knobs):
                self.assertGreater(self.run_suite(data, knobs), 1800)

    def test_wheel(self):
        data = wheel_data()
        self.assertIsNotNone(data, "the onnx wheel is missing: run tools/setup")
        self.check(data)

    def test_newer(self):
        archive = os.path.join(OPTIONS.data, "onnx-conformance/onnx-backend-tests-6be0677.tar.zst")
        if not os.path.exists(archive):
            self.skipTest("no test data folder")
        with tempfile.TemporaryDirectory() as folder:
            with subprocess.Popen(["zstd", "-dcq", archive], stdout=subprocess.PIPE) as zstd:
                with tarfile.open(fileobj=zstd.stdout, mode="r|") as tar:
                    tar.extractall(folder, filter="data")
            self.check(os.path.join(folder, "data"))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--stoker", required=True)
    parser.add_argument("--data", default="")
    OPTIONS, rest = parser.parse_known_args()
    unittest.main(argv=[sys.argv[0]] + rest)
