# The program from outside: right answers against the reference evaluator of the onnx package, clear
# messages and exit codes for everything wrong. cli_test.py --stoker PROGRAM [unittest arguments]
# SPDX-License-Identifier: Apache-2.0
import json
import os
import subprocess
import sys
import tempfile
import unittest

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

STOKER = None
OK, CHECK_FAILED, USAGE, INVALID, RESOURCES = 0, 1, 2, 3, 4


def stoker(*arguments, timeout=120):
    run = subprocess.run([STOKER, *map(str, arguments)], capture_output=True, text=True,
                         timeout=timeout, check=False)
    return run.returncode, run.stdout, run.stderr


class Base(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls._folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls._folder.cleanup)
        cls.folder = cls._folder.name
        cls.model = cls.path("mlp.onnx")
        cls.engine = cls.path("mlp.engine")
        for command in (("zoo", "mlp", "-o", cls.model), ("build", cls.model, "-o", cls.engine)):
            code, out, err = stoker(*command)
            if code != OK:
                raise AssertionError(f"{command}: exit code {code}\n{out}{err}")
        value = onnx.load(cls.model).graph.input[0]
        dims = value.type.tensor_type.shape.dim
        cls.input = value.name
        cls.sizes = [d.dim_value if d.dim_value > 0 else 1 for d in dims]

    @classmethod
    def path(cls, name):
        return os.path.join(cls.folder, name)

    def expect(self, codes, *arguments, words=()):
        """The command ends with one of the codes and its message holds all the words."""
        codes = codes if isinstance(codes, tuple) else (codes,)
        code, out, err = stoker(*arguments)
        text = f"stoker {' '.join(map(str, arguments))}\nexit code {code}\n{out}{err}"
        self.assertIn(code, codes, text)
        for word in words:
            self.assertIn(word.lower(), (out + err).lower(), text)
        if code != OK:
            self.assertTrue(err.strip(), "an error without a message: " + text)
        return out

    def write(self, name, data):
        path = self.path(name)
        with open(path, "wb") as file:
            file.write(data)
        return path

    def read(self, path):
        with open(path, "rb") as file:
            return file.read()

    def save_npy(self, name, array):
        numpy.save(self.path(name), array)
        return self.path(name)


class Answers(Base):
    def outputs(self, name, target, arrays, *more):
        words = []
        for i, (key, array) in enumerate(arrays.items()):
            words += ["--input", f"{key}={self.save_npy(f'{name}-{i}.npy', array)}"]
        out = self.path(name + "-out")
        self.expect(OK, "run", target, *words, "--save-outputs", out, *more)
        return {f[:-4]: numpy.load(os.path.join(out, f)) for f in sorted(os.listdir(out))}

    def test_zoo_models_agree_with_the_reference_evaluator(self):
        for name in ("mlp", "lenet"):
            with self.subTest(model=name):
                model = self.path(name + "-answers.onnx")
                self.expect(OK, "zoo", name, "-o", model)
                graph = onnx.load(model).graph
                value = graph.input[0]
                sizes = [d.dim_value if d.dim_value > 0 else 3
                         for d in value.type.tensor_type.shape.dim]
                x = numpy.random.default_rng(1).standard_normal(sizes).astype("float32")
                expected = ReferenceEvaluator(model).run(None, {value.name: x})[0]
                ours = self.outputs(name, model, {value.name: x})[graph.output[0].name]
                self.assertEqual(ours.shape, expected.shape)
                self.assertLess(abs(ours - expected).max() / abs(expected).max(), 1e-4)

    def test_engine_and_model_and_thread_counts_give_the_same_bits(self):
        x = numpy.random.default_rng(2).standard_normal(self.sizes).astype("float32")
        runs = [self.outputs(f"bits{i}", self.engine, {self.input: x}, "--threads", threads)
                for i, threads in enumerate((1, 2))]
        for key, value in runs[0].items():
            self.assertEqual(value.tobytes(), runs[1][key].tobytes())

    def test_seeded_random_inputs_repeat(self):
        for name in ("first", "second"):
            self.expect(OK, "run", self.engine, "--input", f"{self.input}=random:5",
                        "--save-outputs", self.path(name))
        file = os.listdir(self.path("first"))[0]
        self.assertEqual(self.read(os.path.join(self.path("first"), file)),
                         self.read(os.path.join(self.path("second"), file)))

    def test_check_accepts_right_and_refuses_wrong_answers(self):
        x = numpy.random.default_rng(3).standard_normal(self.sizes).astype("float32")
        right = ReferenceEvaluator(self.model).run(None, {self.input: x})[0]
        for name, y, code in (("good", right, OK), ("bad", right + 1, CHECK_FAILED)):
            folder = self.path(name)
            os.makedirs(os.path.join(folder, "test_data_set_0"))
            for file, array in (("input_0.pb", x), ("output_0.pb", y)):
                data = numpy_helper.from_array(array).SerializeToString()
                self.write(os.path.join(name, "test_data_set_0", file), data)
            self.expect(code, "check", self.engine, "--data", folder)

    def test_bench_json_has_its_fields(self):
        out = self.expect(OK, "bench", self.engine, "--threads", 1, "--warmup", "0.1s",
                          "--duration", "0.2s", "--json", "-")
        report = json.loads(out)
        for key in ("model", "device", "threads", "throughput_per_s", "iterations", "memory",
                    "fingerprint"):
            self.assertIn(key, report)
        times = report["latency_ms"]
        self.assertLessEqual(times["min"], times["p50"])
        self.assertLessEqual(times["p50"], times["p99"])
        self.assertGreater(report["iterations"], 0)

    def test_reports_run(self):
        self.expect(OK, "inspect", self.engine, words=[self.input])
        self.expect(OK, "explain", self.model)
        self.expect(OK, "doctor")
        self.expect(OK, "knobs", words=["threads"])
        json.loads(self.expect(OK, "knobs", "--json"))

    def test_rebuilding_gives_the_same_engine_digest(self):
        digests = []
        for name in ("one.engine", "two.engine"):
            self.expect(OK, "build", self.model, "-o", self.path(name),
                        "--route", "tactic_timing=false")
            out = self.expect(OK, "inspect", self.path(name), "--json")
            digests.append(json.loads(out)["digest"])
        self.assertEqual(*digests)

    def test_a_decisions_file_repeats_a_contest(self):
        files = [self.path(f"decided{i}.engine") for i in (1, 2)]
        self.expect(OK, "build", self.model, "-o", files[0], "--save-decisions",
                    self.path("decisions"))
        self.expect(OK, "build", self.model, "-o", files[1], "--decisions", self.path("decisions"))
        digests = [json.loads(self.expect(OK, "inspect", f, "--json"))["digest"] for f in files]
        self.assertEqual(*digests)


class WrongUsage(Base):
    def test_commands_and_flags(self):
        self.expect(USAGE)
        self.expect(USAGE, "biuld", self.model)
        self.expect(USAGE, "build", self.model, "--no-such-flag")
        self.expect(USAGE, "build")
        self.expect(USAGE, "bench", self.engine, "--threads", "many")
        self.expect(USAGE, "bench", self.engine, "--duration", "-3s")

    def test_knobs(self):
        self.expect(USAGE, "build", self.model, "-o", self.path("x.engine"), "--route",
                    "fuse_epilogue=true", words=["fuse_epilogue", "fuse_epilogues"])
        self.expect(USAGE, "build", self.model, "-o", self.path("x.engine"), "--route",
                    "timing_rounds=soon", words=["timing_rounds"])

    def test_inputs(self):
        wrong = (USAGE, INVALID)
        x = self.save_npy("wrong.npy", numpy.zeros([*self.sizes, 7], dtype="float32"))
        self.expect(wrong, "run", self.engine, "--input", f"{self.input}={x}", words=[self.input])
        x = self.save_npy("wrong.npy", numpy.zeros(self.sizes, dtype="int64"))
        self.expect(wrong, "run", self.engine, "--input", f"{self.input}={x}",
                    words=[self.input, "i64"])
        x = self.save_npy("right.npy", numpy.zeros(self.sizes, dtype="float32"))
        self.expect(wrong, "run", self.engine, "--input", f"no_such={x}", words=["no_such"])
        self.expect(wrong, "run", self.engine, "--input", f"{self.input}=missing.npy",
                    words=["missing.npy"])

    def test_zoo_names(self):
        self.expect(USAGE, "zoo", "resnet51", "-o", self.path("z.onnx"), words=["resnet50"])

    def test_output_folder_does_not_exist(self):
        target = self.path("no/such/folder/x.engine")
        code, _, err = stoker("build", self.model, "-o", target)
        self.assertNotEqual(code, OK)
        self.assertIn("no/such/folder", err)


class InvalidFiles(Base):
    def test_missing(self):
        for command in ("build", "run", "bench", "inspect", "explain"):
            self.expect((USAGE, INVALID), command, self.path("absent.onnx"), words=["absent.onnx"])

    def test_not_onnx(self):
        for name, data in (("empty", b""), ("text", b"hello\n" * 50), ("noise", os.urandom(4096))):
            path = self.write(name + ".onnx", data)
            self.expect(INVALID, "build", path, "-o", self.path("x.engine"),
                        words=[name + ".onnx"])
        self.assertFalse(os.path.exists(self.path("x.engine")))

    def test_truncated_onnx(self):
        data = self.read(self.model)
        for part in (0.1, 0.5, 0.99):
            path = self.write("cut.onnx", data[:int(len(data) * part)])
            self.expect(INVALID, "build", path, "-o", self.path("x.engine"), words=["cut.onnx"])

    def test_truncated_engine(self):
        data = self.read(self.engine)
        for size in (0, 3, 40, len(data) // 2, len(data) - 1):
            path = self.write("cut.engine", data[:size])
            for command in ("run", "inspect"):
                self.expect(INVALID, command, path, words=["cut.engine"])

    def test_flipped_engine(self):
        data = bytearray(self.read(self.engine))
        for place in range(0, len(data), max(1, len(data) // 40)):
            data[place] ^= 0x10
            path = self.write("flipped.engine", data)
            code, _, err = stoker("run", path)
            # Padding between sections belongs to nobody; everywhere else a flip is noticed.
            self.assertIn(code, (OK, INVALID), f"byte {place}: exit code {code}: {err}")
            data[place] ^= 0x10

    def test_unknown_ops_are_reported_all_at_once(self):
        value = helper.make_tensor_value_info
        nodes = [helper.make_node("NoSuchOp", ["x"], ["a"], name="first"),
                 helper.make_node("Relu", ["a"], ["b"], name="middle"),
                 helper.make_node("OtherOp", ["b"], ["y"], name="last", domain="com.example")]
        graph = helper.make_graph(nodes, "g", [value("x", TensorProto.FLOAT, [2])],
                                  [value("y", TensorProto.FLOAT, [2])])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17),
                                                        helper.make_opsetid("com.example", 1)])
        path = self.write("unknown.onnx", model.SerializeToString())
        self.expect(INVALID, "build", path, "-o", self.path("x.engine"),
                    words=["NoSuchOp", "first", "OtherOp", "last"])

    def test_shapes_that_cannot_be(self):
        value = helper.make_tensor_value_info
        graph = helper.make_graph([helper.make_node("MatMul", ["a", "b"], ["y"], name="product")],
                                  "g", [value("a", TensorProto.FLOAT, [2, 3]),
                                        value("b", TensorProto.FLOAT, [4, 5])],
                                  [value("y", TensorProto.FLOAT, None)])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
        path = self.write("shapes.onnx", model.SerializeToString())
        self.expect(INVALID, "build", path, "-o", self.path("x.engine"), words=["product"])


if __name__ == "__main__":
    at = sys.argv.index("--stoker") if "--stoker" in sys.argv else 0
    if not at or at + 1 >= len(sys.argv):
        sys.exit("usage: cli_test.py --stoker PROGRAM [unittest arguments]")
    STOKER = os.path.abspath(sys.argv[at + 1])
    del sys.argv[at:at + 2]
    unittest.main()
