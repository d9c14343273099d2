# Every way to use the program wrongly, and what it must answer: the exact exit code, the words of
# the message, JSON that parses; and one model from the zoo through every command. Standard library
# only. The program's path stands in STOKER_PROGRAM.
# SPDX-License-Identifier: Apache-2.0
import ast
import json
import os
import struct
import subprocess
import tempfile
import unittest

PROGRAM = os.path.abspath(os.environ.get("STOKER_PROGRAM", "build/stoker"))
# A STOKER_ variable that names no knob is an error of the program, as a test below proves.
ENVIRONMENT = {key: value for key, value in os.environ.items() if not key.startswith("STOKER_")}
DONE, FAILED, USAGE, INVALID = 0, 1, 2, 3


def run(*words, environment=None):
    result = subprocess.run([PROGRAM, *map(str, words)], capture_output=True, text=True,
                            timeout=300, check=False, env={**ENVIRONMENT, **(environment or {})})
    return result.returncode, result.stdout, result.stderr


# ONNX by hand: fields of protobuf messages.
def varint(rest):
    out = b""
    while rest > 127:
        out += bytes([rest & 127 | 128])
        rest >>= 7
    return out + bytes([rest])


def number(field, value):
    return varint(field << 3) + varint(value)


def text(field, value):
    data = value.encode() if isinstance(value, str) else value
    return varint(field << 3 | 2) + varint(len(data)) + data


def value_info(name, dims):
    shape = b"".join(text(1, number(1, dim)) for dim in dims)
    return text(1, name) + text(2, text(1, number(1, 1) + text(2, shape)))


def node(kind, inputs, outputs, name, domain=""):
    return (b"".join(text(1, i) for i in inputs) + b"".join(text(2, o) for o in outputs)
            + text(3, name) + text(4, kind) + (text(7, domain) if domain else b""))


def model(nodes, inputs, outputs):
    graph = (b"".join(text(1, n) for n in nodes) + text(2, "graph")
             + b"".join(text(11, value_info(*i)) for i in inputs)
             + b"".join(text(12, value_info(*o)) for o in outputs))
    return number(1, 8) + text(7, graph) + text(8, text(1, "") + number(2, 17))


def npy(values, shape, descr="<f4", code="f"):
    header = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {tuple(shape)!r}, }}"
    header += " " * (63 - (10 + len(header)) % 64) + "\n"
    return (b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode()
            + struct.pack(f"<{len(values)}{code}", *values))


def read_npy(path):
    with open(path, "rb") as file:
        data = file.read()
    length = struct.unpack("<H", data[8:10])[0]
    body = data[10 + length:]
    header = ast.literal_eval(data[10:10 + length].decode())
    return header, struct.unpack(f"<{len(body) // 4}f", body)


class Base(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls._folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls._folder.cleanup)
        cls.folder = cls._folder.name
        cls.model, cls.engine = cls.path("mlp.onnx"), cls.path("mlp.engine")
        for words in (("zoo", "mlp", "-o", cls.model), ("build", cls.model, "-o", cls.engine)):
            code, out, err = run(*words)
            if code != DONE:
                raise AssertionError(f"stoker {' '.join(words)}: exit code {code}\n{out}{err}")
        code, out, _ = run("inspect", cls.model, "--json")
        cls.input = json.loads(out)["inputs"][0]
        cls.output = json.loads(out)["outputs"][0]["name"]
        cls.shape = [int(d) if d.isdigit() else 1 for d in cls.input["dims"]]
        cls.count = 1
        for extent in cls.shape:
            cls.count *= extent

    @classmethod
    def path(cls, *names):
        return os.path.join(cls.folder, *names)

    def file(self, name, data):
        with open(self.path(name), "wb") as file:
            file.write(data)
        return self.path(name)

    def read(self, path):
        with open(path, "rb") as file:
            return file.read()

    def expect(self, code, *words, say=(), environment=None):
        """The exit code, and an error message that begins with the command and holds the words."""
        actual, out, err = run(*words, environment=environment)
        shown = f"stoker {' '.join(map(str, words))}\nexit code {actual}\n{out}{err}"
        self.assertEqual(actual, code, shown)
        for part in say:
            self.assertIn(part, out if code == DONE else err, shown)
        if code != DONE:
            self.assertRegex(err, r"(?m)^stoker( [a-z]+)?: ", shown)
        return out

    def expect_json(self, code, *words, say=()):
        out = json.loads(self.expect(code, *words, "--json", say=say))
        if code not in (DONE, FAILED):
            self.assertEqual(set(out), {"error"})
            self.assertTrue(out["error"]["code"] and out["error"]["message"])
        return out


class Usage(Base):
    def test_commands(self):
        self.expect(USAGE, say=["--help"])
        self.expect(USAGE, "biuld", "x", say=["unknown command 'biuld'", "'build'"])
        self.expect(USAGE, "serve", say=["not part of this version"])
        self.expect(DONE, "--help", say=["build", "doctor"])
        self.expect(DONE, "bench", "--help", say=["--duration"])
        self.expect(DONE, "--version", say=["stoker 0."])

    def test_options(self):
        self.expect(USAGE, "build", self.model, "--shape", "x:1", say=["'--shape'", "'--shapes'"])
        self.expect(USAGE, "run", self.model, "--treads", "2", say=["'--threads'"])
        self.expect(USAGE, "run", self.model, "second", say=["'second'"])
        self.expect(USAGE, "build", say=["MODEL"])
        self.expect(USAGE, "build", self.model, say=["-o"])
        self.expect(USAGE, "run", self.model, "--threads", "many", say=["--threads"])
        self.expect(USAGE, "run", self.model, "--threads", "-1", say=["threads"])
        self.expect(USAGE, "bench", self.engine, "--duration", "soon", say=["--duration", "2s"])
        self.expect(USAGE, "bench", self.engine, "--warmup", "-1s", say=["--warmup"])
        self.expect(USAGE, "check", self.engine, say=["--data"])
        self.expect(USAGE, "check", say=["MODEL"])
        self.expect(USAGE, "check", self.engine, "--data", ".", "--metric", "best",
                    say=["allclose", "top1"])
        self.expect(USAGE, "check", self.engine, "--data", ".", "--atol", "-1", say=["--atol"])
        self.expect(USAGE, "zoo", say=["--list"])
        self.expect(USAGE, "zoo", "resnet51", "-o", "x", say=["'resnet50'", "mlp"])
        self.expect(USAGE, "zoo", "mlp", say=["-o"])

    def test_what_later_versions_will_have_is_refused(self):
        out = self.path("x.engine")
        for words in (("--precision", "int8"), ("--calibrate", "d"), ("--accuracy", "cos<1e-3"),
                      ("--time-budget", "60s"), ("--opt-level", "3"), ("--device", "cuda:0")):
            self.expect(USAGE, "build", self.model, "-o", out, *words,
                        say=[words[0], "not part of this version"])
        self.expect(USAGE, "build", self.file("m.gguf", b"GGUF"), "-o", out, say=["GGUF"])
        self.expect(USAGE, "run", self.folder, say=["folder"])
        self.assertFalse(os.path.exists(out))

    def test_knobs(self):
        for words, say in (
                (("--route", "fuse_epilogue=true"), ["fuse_epilogue", "fuse_epilogues"]),
                (("--route", "timing_rounds"), ["knob=value"]),
                (("--knob", "timing_rounds=0"), ["timing_rounds", "1..10000"]),
                (("--knob", "layout_c16=perhaps"), ["layout_c16", "perhaps"]),
                (("--knob", "thread=2"), ["thread", "threads"]),
                (("--knob", "threads"), ["name=value"]),
                (("--dump-after", "no_such_pass"), ["no_such_pass"]),
                (("--stop-after", "no_such_pass"), ["no_such_pass"])):
            with self.subTest(words=words):
                self.expect(USAGE, "build", self.model, "-o", self.path("x.engine"), *words,
                            say=say)
        self.expect(USAGE, "knobs", environment={"STOKER_THREAD": "2"},
                    say=["STOKER_THREAD", "STOKER_THREADS"])
        self.expect(USAGE, "run", self.engine, "--lean", say=["--lean", "built already"])

    def test_shapes(self):
        name = self.input["name"]
        for shape in (f"{name}:", f"{name}:1x!", f"{name}", f"{name}:1x2x3x4x5", "no_such:1x2"):
            with self.subTest(shape=shape):
                self.expect(USAGE, "build", self.model, "-o", self.path("x.engine"), "--shapes",
                            shape, say=[shape.split(":")[0]])
        self.expect(USAGE, "bench", self.engine, "--shapes", "no_such:1x2", say=["no_such", name])
        self.expect(USAGE, "bench", self.engine, "--shapes", f"{name}:1x2..3x4", say=[name])

    def test_inputs(self):
        name, values = self.input["name"], [0.0] * self.count
        good = self.file("good.npy", npy(values, self.shape))
        self.expect(DONE, "run", self.engine, "--input", good)
        self.expect(USAGE, "run", self.engine, "--input", f"no_such={good}", say=["no_such", name])
        self.expect(USAGE, "run", self.engine, "--input", f"{name}={good}", "--input",
                    f"{name}=random:1", say=["twice"])
        self.expect(USAGE, "run", self.engine, "--input", f"{name}=random:x", say=["random:SEED"])
        longer = self.file("longer.npy", npy(values + [0.0], [self.count + 1]))
        self.expect(USAGE, "run", self.engine, "--input", f"{name}={longer}", say=[name])
        integers = self.file("integers.npy", npy([0] * self.count, self.shape, "<i8", "q"))
        self.expect(USAGE, "run", self.engine, "--input", f"{name}={integers}",
                    say=[name, "i64", "f32"])
        self.expect(INVALID, "run", self.engine, "--input", f"{name}=absent.npy",
                    say=["absent.npy", name])
        self.expect(INVALID, "run", self.engine, "--input", self.file("cat.png", b"\x89PNG"),
                    say=["cat.png", "no image of a known format"])
        self.expect(INVALID, "run", self.engine, "--input", self.file("x.txt", b"1"), say=["x.txt"])
        for part in (0, 5, 20, 100, len(self.read(good)) - 1):
            cut = self.file("cut.npy", self.read(good)[:part])
            self.expect(INVALID, "run", self.engine, "--input", cut, say=["cut.npy"])
        self.expect(INVALID, "run", self.engine, "--input", self.file("bad.pb", b"\xff" * 40),
                    say=["bad.pb"])
        big = self.file("big.npy", npy(values, self.shape, ">f4"))
        self.expect(INVALID, "run", self.engine, "--input", big, say=["big-endian"])


class Files(Base):
    def test_missing_and_foreign(self):
        for command in ("build", "run", "bench", "inspect", "explain"):
            for name in ("absent.onnx", "absent.engine"):
                self.expect(INVALID, command, self.path(name), say=[name, "does not exist"])
        self.expect(USAGE, "run", self.file("model.txt", b"x"), say=["model.txt", ".onnx"])
        self.expect(INVALID, "build", self.model, "-o", self.path("no", "x.engine"),
                    say=[self.path("no")])
        self.expect(INVALID, "check", self.engine, "--data", self.path("absent"), say=["absent"])
        self.expect(INVALID, "check", "--suite", self.path("absent"), say=["absent"])

    def test_damaged_onnx(self):
        data = self.read(self.model)
        out = self.path("damaged.engine")
        for part in (0, 1, 7, 100, len(data) // 2, len(data) - 1):
            cut = self.file("cut.onnx", data[:part])
            self.expect(INVALID, "build", cut, "-o", out, say=["cut.onnx"])
            self.expect(INVALID, "inspect", cut, say=["cut.onnx"])
        self.expect(INVALID, "build", self.file("noise.onnx", bytes(range(256)) * 16), "-o", out,
                    say=["noise.onnx"])
        self.expect(INVALID, "run", self.file("other.onnx", self.read(self.engine)))
        self.assertFalse(os.path.exists(out))

    def test_damaged_engine(self):
        data = bytearray(self.read(self.engine))
        for size in (0, 3, 40, 200, len(data) // 2, len(data) - 1):
            cut = self.file("cut.engine", data[:size])
            for command in ("run", "inspect", "explain"):
                self.expect(INVALID, command, cut, say=["cut.engine"])
        self.expect(INVALID, "run", self.file("model.engine", self.read(self.model)),
                    say=["model.engine"])
        refused = 0
        for place in range(0, len(data), max(1, len(data) // 60)):
            data[place] ^= 0x40
            code, _, err = run("inspect", self.file("flipped.engine", data))
            data[place] ^= 0x40
            # Bytes between sections belong to nobody.
            self.assertIn(code, (DONE, INVALID), f"byte {place}: {err}")
            refused += code == INVALID
        self.assertGreater(refused, 50)

    def test_unknown_ops_are_all_named(self):
        data = model([node("NoSuchOp", ["x"], ["a"], "first"), node("Relu", ["a"], ["b"], "middle"),
                      node("AlsoUnknown", ["b"], ["y"], "last")], [("x", [2])], [("y", [2])])
        path = self.file("unknown.onnx", data)
        self.expect(INVALID, "build", path, "-o", self.path("x.engine"),
                    say=["NoSuchOp", "first", "AlsoUnknown", "last"])

    def test_shapes_that_cannot_be(self):
        data = model([node("MatMul", ["a", "b"], ["y"], "product")], [("a", [2, 3]), ("b", [4, 5])],
                     [("y", [2, 5])])
        self.expect(INVALID, "build", self.file("shapes.onnx", data), "-o", self.path("x.engine"),
                    say=["product"])


class Answers(Base):
    def test_from_zoo_to_numbers(self):
        # relu(x) + x by hand, so that the right answer needs no other runtime.
        data = model([node("Relu", ["x"], ["r"], "relu"),
                      node("Add", ["r", "x"], ["y/out"], "add")],
                     [("x", [2, 3])], [("y/out", [2, 3])])
        path = self.file("tiny.onnx", data)
        given = self.file("x.npy", npy([-1, 2, -3, 4, -5, 6], [2, 3]))
        out = self.path("outputs")
        engine = self.path("tiny.engine")
        self.expect(DONE, "build", path, "-o", engine)
        for target in (path, engine):
            self.expect(DONE, "run", target, "--input", f"x={given}", "--save-outputs", out,
                        say=["y/out: f32 [2,3]", "min -5", "max 12"])
            header, values = read_npy(os.path.join(out, "y_out.npy"))
            self.assertEqual(header["shape"], (2, 3))
            self.assertEqual(values, (-1, 4, -3, 8, -5, 12))
            top = self.expect(DONE, "run", target, "--input", given, "--top", "2")
            self.assertEqual([line.split() for line in top.splitlines()[2:4]],
                             [["1", "4"], ["0", "-1"]])

    def test_check(self):
        values = [-1.0, 2.0]
        path = self.file("check.onnx", model([node("Relu", ["x"], ["y"], "relu")], [("x", [2])],
                                             [("y", [2])]))
        for name, expected, code in (("right", [0.0, 2.0], DONE), ("wrong", [0.5, 2.0], FAILED)):
            folder = self.path("suite", name)
            os.makedirs(os.path.join(folder, "test_data_set_0"))
            self.file(os.path.join("suite", name, "model.onnx"), self.read(path))
            for file, array in (("input_0.pb", values), ("output_0.pb", expected)):
                tensor = number(1, 2) + number(2, 1) + text(9, struct.pack("<2f", *array))
                self.file(os.path.join("suite", name, "test_data_set_0", file), tensor)
            self.expect(code, "check", path, "--data", folder,
                        say=["max abs"] if code == DONE else ["out of tolerance"])
            report = self.expect_json(code, "check", path, "--data", folder)
            self.assertEqual(report["passed"], code == DONE)
        folder = self.path("suite", "wrong")
        self.expect(DONE, "check", path, "--data", folder, "--atol", "0.6")
        self.expect(DONE, "check", path, "--data", folder, "--metric", "top1")
        self.expect(FAILED, "check", path, "--data", folder, "--metric", "range", "--rtol", "0.2")
        self.expect(DONE, "check", path, "--data", folder, "--metric", "range", "--rtol", "0.4")
        os.makedirs(self.path("suite", "broken", "test_data_set_0"))
        self.file(os.path.join("suite", "broken", "model.onnx"), b"not a model")
        os.makedirs(self.path("suite", "empty"))
        suite = self.expect_json(FAILED, "check", "--suite", self.path("suite"))
        self.assertEqual((suite["passed"], suite["failed"], suite["skipped"]), (1, 2, 1))
        self.assertEqual([f["model"] for f in suite["failures"]], ["broken", "wrong"])
        self.assertTrue(all(f["reason"] for f in suite["failures"]))

    def test_json_of_every_command(self):
        built = self.expect_json(DONE, "build", self.model, "-o", self.path("json.engine"))
        inspected = self.expect_json(DONE, "inspect", self.path("json.engine"))
        self.assertEqual(built["digest"], inspected["digest"])
        self.assertIn("ops", self.expect_json(DONE, "inspect", self.model))
        ran = self.expect_json(DONE, "run", self.engine)
        self.assertEqual(ran["outputs"][0]["name"], self.output)
        explained = self.expect_json(DONE, "explain", self.engine)
        self.assertTrue(explained["steps"])
        for step in explained["steps"]:
            self.assertTrue(step["tactic"], step)
        self.assertIn("threads", [k["name"] for k in self.expect_json(DONE, "knobs")])
        self.assertIn("mlp", [m["name"] for m in self.expect_json(DONE, "zoo", "--list")])
        facts = self.expect_json(DONE, "doctor", "--no-peaks")
        self.assertIn("cpu", facts["fingerprint"])
        for words in (("build", self.path("absent.onnx"), "-o", "x"), ("biuld",),
                      ("run", self.engine, "--no-such"), ("zoo", "x")):
            code, out, _ = run(*words, "--json")
            self.assertIn(code, (USAGE, INVALID))
            self.assertTrue(json.loads(out)["error"]["message"])

    def test_bench(self):
        words = ("bench", self.engine, "--threads", 1, "--warmup", "50ms", "--duration", "0.2s")
        report = json.loads(self.expect(DONE, *words, "--json", "-", "--profile"))
        self.assertEqual(set(report), {
            "model", "device", "threads", "shapes", "latency_ms", "throughput_per_s", "iterations",
            "build_s", "load_ms", "first_run_ms", "memory", "fingerprint", "profile"})
        self.assertEqual(list(report["latency_ms"]),
                         ["min", "p50", "mean", "p90", "p95", "p99", "max"])
        times = report["latency_ms"]
        self.assertTrue(0 < times["min"] <= times["p50"] <= times["p90"] <= times["p99"]
                        <= times["max"])
        self.assertEqual(report["threads"], 1)
        self.assertEqual(report["shapes"], {self.input["name"]: self.shape})
        self.assertAlmostEqual(sum(step["share"] for step in report["profile"]), 1, places=6)
        self.assertGreater(report["memory"]["weights_bytes"], 1_000_000)
        file = self.path("bench.json")
        self.expect(DONE, *words, "--json", file, say=["latency ms"])
        with open(file, encoding="utf-8") as stream:
            self.assertGreater(json.load(stream)["iterations"], 0)

    def test_quiet_and_dumps_and_decisions(self):
        quiet = self.expect(DONE, "run", self.engine, "--quiet")
        self.assertNotIn("next:", quiet)
        self.assertIn("next:", self.expect(DONE, "run", self.engine))
        self.expect(DONE, "build", self.model, "--dump-after", "all", say=["# after", "graph @"])
        file = self.path("decisions.json")
        self.expect(DONE, "build", self.model, "--save-decisions", file, "-o",
                    self.path("a.engine"))
        self.expect(DONE, "build", self.model, "--decisions", file, "-o", self.path("b.engine"))
        digests = [self.expect_json(DONE, "inspect", self.path(name))["digest"]
                   for name in ("a.engine", "b.engine")]
        self.assertEqual(*digests)
        for data in (b"", b"{", b"[1]"):
            self.expect(INVALID, "build", self.model, "--decisions", self.file("bad.json", data),
                        "-o", self.path("c.engine"))


if __name__ == "__main__":
    unittest.main()
