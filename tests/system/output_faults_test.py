# What the program does when its surroundings fail: full disks and outputs, folders and files
# without permission, closed outputs, signals, little memory. A clear message, an exit code that is
# not success, nothing half-written. output_faults_test.py --stoker PROGRAM [unittest arguments]
# SPDX-License-Identifier: Apache-2.0
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import numpy
import onnx
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

STOKER = None
OK, USAGE, INVALID, RESOURCES = 0, 2, 3, 4
# Root passes every permission; without its capabilities it is a user like others.
AS_USER = ["setpriv", "--inh-caps=-all", "--bounding-set=-all"] if os.getuid() == 0 else []
SANITIZED = os.environ.get("STOKER_TEST_SANITIZED") == "1"  # shadow memory knows no limits


def run(words, cwd, prefix=(), **options):
    environment = {**os.environ, "STOKER_TIMING_CACHE": "", "STOKER_TACTIC_TIMING": "false"}
    options.setdefault("stdout", subprocess.PIPE)
    return subprocess.run([*prefix, STOKER, *words], cwd=cwd, env=environment, text=True,
                          stderr=subprocess.PIPE, timeout=100, check=False, **options)


def small_files():
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))


class Base(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = folder.name
        for words in (["zoo", "lenet", "-o", "lenet.onnx"],
                      ["build", "lenet.onnx", "-o", "lenet.engine"]):
            made = run(words, cls.folder)
            if made.returncode:
                raise AssertionError(made.stderr)

    def files(self, folder=None):
        return sorted(os.path.relpath(os.path.join(place, name), folder or self.folder)
                      for place, _, names in os.walk(folder or self.folder) for name in names)

    def expect(self, code, result, *parts):
        self.assertEqual(result.returncode, code, result.stderr)
        for part in parts:
            self.assertIn(part, result.stderr)


# Every command that writes a file, with {} for the folder.
WRITERS = {
    "build": ["build", "lenet.onnx", "-o", "{}/out.engine"],
    "decisions": ["build", "lenet.onnx", "--save-decisions", "{}/out.json"],
    "outputs": ["run", "lenet.engine", "--shapes", "{input}:64x1x28x28", "--save-outputs", "{}"],
    "page": ["explain", "lenet.engine", "--html", "{}/out.html"],
    "trace": ["explain", "lenet.engine", "--trace", "{}/out.json"],
    "report": ["bench", "lenet.engine", "--warmup", "10ms", "--duration", "10ms", "--json",
               "{}/out.json"],
    "zoo": ["zoo", "mlp", "-o", "{}/out.onnx"],
}


class Writing(Base):
    def words(self, name, folder):
        value = onnx.load(os.path.join(self.folder, "lenet.onnx")).graph.input[0].name
        return [word.replace("{input}", value).replace("{}", folder) for word in WRITERS[name]]

    def test_file_size_limit(self):
        for name in WRITERS:
            if name in ("report", "decisions", "outputs", "trace"):
                continue  # smaller than the limit
            with self.subTest(name), tempfile.TemporaryDirectory() as folder:
                words = self.words(name, folder)
                result = run(words, self.folder, preexec_fn=small_files)
                self.expect(RESOURCES, result, "File too large", "free space")
                self.assertEqual(self.files(folder), [])

    def test_an_old_file_stays_when_the_new_one_does_not_fit(self):
        with tempfile.TemporaryDirectory() as folder:
            for name in ("out.engine", "out.html", "out.onnx"):
                with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                    file.write("before")
            for name in ("build", "page", "zoo"):
                self.expect(RESOURCES, run(self.words(name, folder), self.folder,
                                           preexec_fn=small_files))
            for name in self.files(folder):
                with open(os.path.join(folder, name), encoding="utf-8") as file:
                    self.assertEqual(file.read(), "before")
            self.assertEqual(len(self.files(folder)), 3)

    def test_full_disk(self):
        with tempfile.TemporaryDirectory() as folder:
            mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4k,nr_inodes=8", "none",
                                      folder], capture_output=True, check=False)
            if mounted.returncode:
                self.skipTest("mounting is not allowed here")
            try:
                for name in WRITERS:
                    with self.subTest(name):
                        result = run(self.words(name, folder), self.folder)
                        if result.returncode == OK:  # small enough to fit
                            for file in self.files(folder):
                                os.remove(os.path.join(folder, file))
                            self.assertIn(name, ("decisions", "outputs", "report", "trace"))
                            continue
                        self.expect(RESOURCES, result, "No space left on device", "free space")
                        self.assertEqual(self.files(folder), [])
            finally:
                subprocess.run(["umount", folder], check=True)

    def test_read_only_folder(self):
        with tempfile.TemporaryDirectory() as folder:
            os.chmod(folder, 0o555)
            for name in WRITERS:
                with self.subTest(name):
                    result = run(self.words(name, folder), self.folder, prefix=AS_USER)
                    self.expect(USAGE, result, "Permission denied", "choose another folder")
                    self.assertEqual(self.files(folder), [])
            os.chmod(folder, 0o755)

    def test_files_that_may_not_be_read(self):
        for name, words in (("lenet.onnx", ["build", "lenet.onnx", "-o", "x.engine"]),
                            ("lenet.engine", ["run", "lenet.engine"]),
                            ("x.npy", ["run", "lenet.engine", "--input", "x.npy"])):
            with self.subTest(name):
                path = os.path.join(self.folder, name)
                if not os.path.exists(path):
                    numpy.save(path, numpy.zeros((1, 1, 28, 28), numpy.float32))
                os.chmod(path, 0)
                result = run(words, self.folder, prefix=AS_USER)
                os.chmod(path, 0o644)
                self.expect(USAGE, result, name, "Permission denied")


class Printing(Base):
    def test_output_on_a_full_disk(self):
        for words in (["ops"], ["run", "lenet.engine"], ["run", "lenet.engine", "--json"],
                      ["build", "--help"], ["--help"], ["--version"], ["knobs", "--json"]):
            with self.subTest(words), open("/dev/full", "w", encoding="utf-8") as full:
                self.expect(RESOURCES, run(words, self.folder, stdout=full),
                            "standard output cannot be written")

    def test_closed_output(self):
        for words in (["ops"], ["run", "lenet.engine"],
                      ["build", "lenet.onnx", "-o", "closed.engine"]):
            with self.subTest(words):
                result = run(words, self.folder, stdout=None, preexec_fn=lambda: os.close(1))
                self.expect(RESOURCES, result, "standard output cannot be written")
        # What was printed did not land in the file that got the next free number.
        self.expect(OK, run(["run", "closed.engine"], self.folder))

    def test_closed_error_and_input(self):
        def close():
            os.close(0)
            os.close(2)
        result = run(["build", "lenet.onnx", "-o", "quiet.engine"], self.folder, preexec_fn=close)
        self.assertEqual(result.returncode, OK)
        self.expect(OK, run(["run", "quiet.engine"], self.folder))

    def test_reader_that_has_seen_enough(self):
        read, write = os.pipe()
        os.close(read)
        result = run(["ops"], self.folder, stdout=write)
        os.close(write)
        self.expect(-signal.SIGPIPE, result)
        self.assertEqual(result.stderr, "")


class Signals(Base):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        made = run(["zoo", "mobilenetv2", "-o", "m.onnx"], cls.folder)
        if made.returncode:
            raise AssertionError(made.stderr)

    def test_signals_in_a_build(self):
        before = self.files()
        for number, phase in ((signal.SIGTERM, "passes"), (signal.SIGINT, "tactics"),
                              (signal.SIGHUP, "tactics")):
            with self.subTest(number.name):
                cache = os.path.join(self.folder, "timings.sqlite")
                build = subprocess.Popen(
                    [STOKER, "build", "m.onnx", "-o", "m.engine"], cwd=self.folder, text=True,
                    env={**os.environ, "STOKER_TIMING_CACHE": cache}, stdout=subprocess.DEVNULL,
                    stderr=subprocess.PIPE)
                for line in build.stderr:
                    if phase in line:
                        break
                build.send_signal(number)
                message = build.stderr.read()
                build.stderr.close()
                self.assertEqual(build.wait(20), -number)
                self.assertIn(f"stopped by {number.name}; unfinished files were removed", message)
                for name in ("timings.sqlite", "timings.sqlite-journal"):
                    if os.path.exists(os.path.join(self.folder, name)):
                        os.remove(os.path.join(self.folder, name))
                self.assertEqual(self.files(), before)

    def test_signal_while_a_file_is_written(self):
        with tempfile.TemporaryDirectory() as folder:
            zoo = subprocess.Popen([STOKER, "zoo", "distilbert", "-o", "large.onnx"], cwd=folder,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
            while not self.files(folder) and zoo.poll() is None:
                time.sleep(0.002)
            caught = self.files(folder)
            zoo.send_signal(signal.SIGTERM)
            message = zoo.stderr.read()
            zoo.stderr.close()
            self.assertEqual(zoo.wait(20), -signal.SIGTERM)
            self.assertRegex(" ".join(caught), r"^large\.onnx\.tmp-\d+-\d+$")
            self.assertIn("unfinished files were removed", message)
            self.assertEqual(self.files(folder), [])

    def test_ignored_signals_stay_ignored(self):
        def ignore():
            signal.signal(signal.SIGHUP, signal.SIG_IGN)
        build = subprocess.Popen([STOKER, "build", "m.onnx", "-o", "kept.engine"], cwd=self.folder,
                                 env={**os.environ, "STOKER_TIMING_CACHE": "",
                                      "STOKER_TACTIC_TIMING": "false"}, preexec_fn=ignore,
                                 stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        build.stderr.readline()
        build.send_signal(signal.SIGHUP)
        build.stderr.read()
        build.stderr.close()
        self.assertEqual(build.wait(100), OK)
        os.remove(os.path.join(self.folder, "kept.engine"))


class Memory(Base):
    def setUp(self):
        if SANITIZED:
            self.skipTest("sanitizers hold more memory than any limit of these")

    def test_enough_memory(self):
        self.expect(OK, run(["build", "lenet.onnx", "-o", "x.engine", "--limit-memory", "256M",
                             "--threads", "2"], self.folder))
        os.remove(os.path.join(self.folder, "x.engine"))

    def test_threads_that_find_no_room(self):
        result = run(["run", "lenet.engine", "--threads", "256", "--limit-memory", "64M"],
                     self.folder)
        self.expect(RESOURCES, result, "--limit-memory allows 67108864 bytes")

    def test_every_limit_ends_well(self):
        """Where the memory ends changes with the limit: always success or the message."""
        self.expect(OK, run(["zoo", "distilbert", "-o", "large.onnx"], self.folder))
        ends = {OK: 0, RESOURCES: 0}
        before = self.files()
        for words in (["build", "large.onnx", "-o", "x.engine"], ["run", "lenet.engine"],
                      ["build", "lenet.onnx", "-o", "x.engine"], ["inspect", "large.onnx"]):
            for megabytes in (32, 33, 35, 38, 42, 48, 56, 80, 150, 300):
                with self.subTest(words=words, megabytes=megabytes):
                    result = run([*words, "--limit-memory", f"{megabytes}M", "--threads", "2"]
                                 if words[0] != "inspect" else
                                 [*words, "--limit-memory", f"{megabytes}M"], self.folder)
                    self.assertIn(result.returncode, ends, result.stderr)
                    ends[result.returncode] += 1
                    if result.returncode:
                        self.assertIn("memory", result.stderr)
                    if os.path.exists(os.path.join(self.folder, "x.engine")):
                        os.remove(os.path.join(self.folder, "x.engine"))
                    self.assertEqual(self.files(), before)
        self.assertGreater(ends[OK], 0)
        self.assertGreater(ends[RESOURCES], 0)


class Accepted(Base):
    """Odd but valid inputs run, and give what the reference evaluator gives."""

    def test_nan_and_infinity_and_no_elements(self):
        values = [helper.make_tensor_value_info(n, TensorProto.FLOAT, s)
                  for n, s in (("x", ["N", 4]), ("s", None), ("p", None), ("m", None))]
        graph = helper.make_graph([helper.make_node("Softmax", ["x"], ["s"]),
                                   helper.make_node("Mul", ["x", "x"], ["p"]),
                                   helper.make_node("Sigmoid", ["x"], ["m"])], "g", values[:1],
                                  values[1:])
        model = os.path.join(self.folder, "odd.onnx")
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)],
                                    ir_version=10), model)
        nan, inf = numpy.nan, numpy.inf
        for rows in ([[1, nan, 2, 3], [inf, 1, 2, 3], [-inf, 1, 2, 3], [nan, inf, -inf, -0.0]], []):
            x = numpy.array(rows, numpy.float32).reshape(-1, 4)
            numpy.save(os.path.join(self.folder, "odd.npy"), x)
            result = run(["run", "odd.onnx", "--input", "x=odd.npy", "--save-outputs", "odd"],
                         self.folder)
            self.expect(OK, result)
            with numpy.errstate(all="ignore"):
                expected = self.reference(model, x)
            for name, array in zip(("s", "p", "m"), expected):
                found = numpy.load(os.path.join(self.folder, "odd", name + ".npy"))
                numpy.testing.assert_allclose(found, array, rtol=1e-5, atol=1e-6)
        shutil.rmtree(os.path.join(self.folder, "odd"))

    @staticmethod
    def reference(model, x):
        try:
            import onnxruntime
        except ImportError:
            return ReferenceEvaluator(model).run(None, {"x": x})
        return onnxruntime.InferenceSession(model).run(None, {"x": x})

    def test_errors_as_json(self):
        result = run(["run", "nowhere.onnx", "--json"], self.folder)
        self.expect(INVALID, result)
        self.assertEqual(json.loads(result.stdout)["error"]["code"], "not_found")


if __name__ == "__main__":
    at = sys.argv.index("--stoker") if "--stoker" in sys.argv else 0
    if not at or at + 1 >= len(sys.argv):
        sys.exit("usage: output_faults_test.py --stoker PROGRAM [unittest arguments]")
    STOKER = os.path.abspath(sys.argv[at + 1])
    del sys.argv[at:at + 2]
    unittest.main()
