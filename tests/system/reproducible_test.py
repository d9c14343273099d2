# The same model and the same decisions give the same engine: over ten builds, numbers of threads,
# levels of logging, an empty timing cache, and with other work on the machine.
# SPDX-License-Identifier: Apache-2.0
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

import rebuild_test

OPTIONS = None
BUILDS = 10


def stoker(*words):
    done = subprocess.run([OPTIONS.stoker, *map(str, words)], capture_output=True, text=True,
                          timeout=200)
    if done.returncode != 0:
        raise AssertionError(f"{words}: {done.returncode} {done.stdout}{done.stderr}")
    return done.stdout


class Load:
    """Two processes that only burn time, for at most a minute."""

    def __enter__(self):
        spin = "import time\nend = time.time() + 60\nwhile time.time() < end: pass"
        self.processes = [subprocess.Popen([sys.executable, "-c", spin]) for _ in range(2)]

    def __exit__(self, *_):
        for process in self.processes:
            process.kill()
            process.wait()


class Reproducible(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.at = pathlib.Path(cls.folder.name)
        cls.models = [make(cls.at / f"{name}.onnx")
                      for name, (make, _) in rebuild_test.NETS.items()]
        for name in ("lenet", "mobilenetv2"):
            stoker("zoo", name, "-o", cls.at / f"{name}.onnx")
            cls.models.append(cls.at / f"{name}.onnx")

    def build(self, model, *words):
        """With timing, and nothing known from before: the digest, and the engine's bytes."""
        cache = self.at / "timings.sqlite"
        cache.unlink(missing_ok=True)
        engine = self.at / "x.engine"
        report = json.loads(stoker("build", model, "-o", engine, "--json", "--knob",
                                   f"timing_cache={cache}", *words))
        self.assertEqual(json.loads(stoker("inspect", engine, "--json"))["digest"],
                         report["digest"])
        return report["digest"]

    def decided(self, model):
        decisions = self.at / "decisions.json"
        return self.build(model, "--save-decisions", decisions), ["--decisions", decisions]

    def test_ten_builds(self):
        for model in self.models:
            with self.subTest(model.name):
                digest, words = self.decided(model)
                self.assertEqual({self.build(model, *words) for _ in range(BUILDS)}, {digest})

    def test_threads(self):
        for model in self.models:
            with self.subTest(model.name):
                digest, words = self.decided(model)
                for threads in (1, 2, 3, 8):
                    self.assertEqual(self.build(model, *words, "--threads", threads), digest)

    def test_other_work_on_the_machine(self):
        model = self.models[-1]
        digest, words = self.decided(model)
        with Load():
            self.assertEqual({self.build(model, *words) for _ in range(3)}, {digest})
            # What is decided under load holds afterwards.
            digest, words = self.decided(model)
        self.assertEqual(self.build(model, *words), digest)

    def test_other_settings_show(self):
        """The digest is no constant: other decisions, weights and routes give another."""
        model = self.models[0]
        digest, words = self.decided(model)
        self.assertNotEqual(self.build(model, "--knob", "layout_c16=false"), digest)
        other = rebuild_test.conv_net(self.at / "other.onnx")
        self.assertNotEqual(self.build(other, *words), digest)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--stoker", required=True)
    OPTIONS, rest = parser.parse_known_args()
    unittest.main(argv=[sys.argv[0], *rest])
