# stoker diff and stoker check --compare: where two engines differ, and where their numbers part;
# what the commands say of wrong uses.
# two_engines_test.py --stoker PROGRAM [unittest arguments]
# SPDX-License-Identifier: Apache-2.0
import argparse
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

OPTIONS = None
DONE, CHECK_FAILED, USAGE, INVALID = 0, 1, 2, 3


def edited(model, output, weight, change):
    """A copy of the model with another value of one initializer."""
    copy = onnx.load(model)
    tensor = next(t for t in copy.graph.initializer if t.name == weight)
    value = change(numpy_helper.to_array(tensor).copy())
    tensor.CopyFrom(numpy_helper.from_array(value, weight))
    onnx.save(copy, output)
    return output


def loop_model(path, factor, rounds=5):
    """Some rounds of s = tanh(factor * s)."""
    value = lambda name, kind, dims: helper.make_tensor_value_info(name, kind, dims)
    body = helper.make_graph(
        [helper.make_node("Mul", ["s", "factor"], ["scaled"], name="scale"),
         helper.make_node("Tanh", ["scaled"], ["next"], name="bend"),
         helper.make_node("Identity", ["c"], ["go"], name="go_on")], "body",
        [value("i", TensorProto.INT64, []), value("c", TensorProto.BOOL, []),
         value("s", TensorProto.FLOAT, [4])],
        [value("go", TensorProto.BOOL, []), value("next", TensorProto.FLOAT, [4])],
        [numpy_helper.from_array(numpy.float32(factor), "factor")])
    graph = helper.make_graph(
        [helper.make_node("Loop", ["count", "", "x"], ["y"], name="rounds", body=body)], "looping",
        [value("x", TensorProto.FLOAT, [4])], [value("y", TensorProto.FLOAT, [4])],
        [numpy_helper.from_array(numpy.int64(rounds), "count")])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8),
              path)
    return path


class Base(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.lenet, cls.mlp = cls.path("lenet.onnx"), cls.path("mlp.onnx")
        cls.run_ok("zoo", "lenet", "-o", cls.lenet)
        cls.run_ok("zoo", "mlp", "-o", cls.mlp)
        cls.other = edited(cls.lenet, cls.path("other.onnx"), "conv2.weight", lambda w: w * 1.5)
        cls.engine = cls.path("lenet.engine")
        cls.run_ok("build", cls.lenet, "-o", cls.engine)

    @classmethod
    def path(cls, name):
        return os.path.join(cls.folder.name, name)

    @staticmethod
    def run_stoker(*arguments):
        run = subprocess.run([OPTIONS.stoker, *arguments], capture_output=True, text=True,
                             timeout=120, check=False)
        return run.returncode, run.stdout, run.stderr

    @classmethod
    def run_ok(cls, *arguments):
        code, out, err = cls.run_stoker(*arguments)
        if code != DONE:
            raise AssertionError(f"{arguments}: exit code {code}\n{out}{err}")
        return out

    def expect(self, code, *arguments, words=()):
        found, out, err = self.run_stoker(*arguments)
        text = f"{arguments}: exit code {found}\n{out}{err}"
        self.assertEqual(found, code, text)
        for word in words:
            self.assertIn(word, out + err, text)
        return out


class Compare(Base):
    def compare(self, a, b, *more, code=DONE, notes=()):
        report = json.loads(self.expect(code, "check", "--compare", a, b, "--json", *more))
        # A note would say that values were read from runs with other outputs.
        self.assertEqual(report["notes"], list(notes))
        return report

    def test_a_changed_weight_is_found_at_its_node(self):
        report = self.compare(self.lenet, self.other, "--knob-a", "disable_passes=all", "--knob-b",
                              "disable_passes=all", code=CHECK_FAILED)
        self.assertFalse(report["passed"])
        values = {value["name"]: value for value in report["values"]}
        first = values[report["first_over"]]
        self.assertEqual(first["nodes"], ["Conv_3"])
        self.assertEqual(first["made_by"], ["Conv_3"])
        self.assertIsNone(first["growth"])  # the error begins there
        self.assertGreater(values["Relu_4"]["growth"], 0)
        order = [value["name"] for value in report["values"]]
        for name in order[:order.index("Conv_3")]:
            self.assertEqual(values[name]["max_abs"], 0, name)
        self.assertIn("Conv_3 f32 [1,16,10,10]  <- first over tolerance",
                      self.expect(CHECK_FAILED, "check", "--compare", self.lenet, self.other,
                                  "--knob", "disable_passes=all"))

    def test_a_fused_step_is_named_with_its_nodes(self):
        report = self.compare(self.engine, self.other, code=CHECK_FAILED)
        first = next(v for v in report["values"] if v["name"] == report["first_over"])
        self.assertEqual(set(first["made_by"]), {"Conv_3", "Relu_4"})

    def test_errors_are_those_of_the_reference_evaluator(self):
        x = numpy.random.default_rng(1).random((1, 1, 28, 28), dtype=numpy.float32)
        numpy.save(self.path("x.npy"), x)
        wanted = ["Conv_3", "MaxPool_5", "Relu_8"]
        results = []
        for path in (self.lenet, self.other):
            model = onnx.load(path)
            outputs = {node.name: node.output[0] for node in model.graph.node}
            for name in wanted:
                model.graph.output.append(helper.make_empty_tensor_value_info(outputs[name]))
            results.append(ReferenceEvaluator(model).run([outputs[n] for n in wanted], {"x": x}))
        report = self.compare(self.lenet, self.other, "--input", "x=" + self.path("x.npy"),
                              "--knob-a", "disable_passes=all", "--knob-b", "disable_passes=all",
                              code=CHECK_FAILED)
        values = {value["name"]: value for value in report["values"]}
        for name, a, b in zip(wanted, *results):
            found = values[name]
            self.assertAlmostEqual(found["max_abs"] / numpy.abs(a - b).max(), 1, 3, name)
            l2 = numpy.linalg.norm(a - b) / numpy.linalg.norm(a)
            self.assertAlmostEqual(found["l2"] / l2, 1, 3, name)
            cosine = (a * b).sum() / numpy.linalg.norm(a) / numpy.linalg.norm(b)
            self.assertAlmostEqual(found["cosine_distance"], 1 - cosine, 4, name)

    def test_layouts_do_not_matter(self):
        report = self.compare(self.lenet, self.engine, "--knob-a", "layout_c16=false")
        self.assertTrue(report["passed"])
        self.assertIsNone(report["first_over"])
        self.assertGreaterEqual(len(report["values"]), 7)
        self.assertLess(max(value["l2"] for value in report["values"]), 1e-5)

    def test_other_tactics_stay_within_tolerance(self):
        report = self.compare(self.engine, self.engine, "--knob-b", "reference_only=true")
        self.assertTrue(report["passed"])
        self.assertIsNone(report["first_over"])

    def test_values_of_a_loop_are_compared_in_every_round(self):
        a, b = (loop_model(self.path(f"loop{i}.onnx"), 1 + i / 10) for i in range(2))
        report = self.compare(a, b, "--knob", "disable_passes=all", code=CHECK_FAILED)
        first = next(v for v in report["values"] if v["name"] == report["first_over"])
        self.assertEqual(first["nodes"], ["scale"])
        self.assertEqual(first["occurrences"], 5)
        fewer = loop_model(self.path("fewer.onnx"), 1, rounds=3)
        report = self.compare(a, fewer, "--knob", "disable_passes=all", code=CHECK_FAILED, notes=[
            f"'rounds/{name}' is made 5 times by A and 3 times by B: the first ones are compared"
            for name in ("next", "scaled")])
        self.assertEqual(report["first_over"], "y")
        same = self.compare(a, a)
        self.assertTrue(all(value["max_abs"] == 0 for value in same["values"]))

    def test_stored_inputs_and_tolerances(self):
        data = self.path("data")
        for i in range(2):
            folder = os.path.join(data, f"test_data_set_{i}")
            os.makedirs(folder)
            x = numpy.full((1, 1, 28, 28), i, numpy.float32)
            numpy.save(os.path.join(folder, "x.npy"), x)
        report = self.compare(self.engine, self.other, "--data", data, code=CHECK_FAILED)
        self.assertEqual({value["occurrences"] for value in report["values"]}, {2})
        self.assertTrue(self.compare(self.engine, self.other, "--data", data, "--atol",
                                     "1000")["passed"])

    def test_the_page_holds_what_json_says(self):
        page = self.path("page.html")
        report = self.compare(self.engine, self.other, "--html", page, code=CHECK_FAILED)
        with open(page, encoding="utf-8") as file:
            text = file.read()
        for outside in ("http://", "https://", "src=", "@import", "url("):
            self.assertNotIn(outside, text.replace("http://www.w3.org/2000/svg", ""))
        line = next(line for line in text.splitlines() if line.startswith("const data = "))
        self.assertEqual(json.loads(line[len("const data = "):].rstrip(";")), report)

    def test_wrong_uses(self):
        compare = ("check", "--compare", self.engine)
        self.expect(USAGE, *compare, words=["--compare"])
        self.expect(INVALID, *compare, self.path("none.onnx"), words=["does not exist"])
        self.expect(USAGE, *compare, self.mlp, words=["not of one network", "inputs", "mlp.onnx"])
        self.expect(USAGE, "check", self.engine, "--compare", self.engine, self.engine,
                    words=["leave MODEL"])
        self.expect(USAGE, *compare, self.engine, "--suite", self.folder.name, words=["--suite"])
        self.expect(USAGE, "check", self.engine, "--data", self.folder.name, "--html", "x.html",
                    words=["--compare"])
        self.expect(USAGE, *compare, self.engine, "--knob-a", "no_such_knob=1",
                    words=["no_such_knob"])
        self.expect(USAGE, *compare, self.engine, "--input", "x=random:0", "--data",
                    self.folder.name, words=["leave one out"])
        self.expect(INVALID, *compare, self.engine, "--data", self.path("nowhere"),
                    words=["nowhere"])
        self.expect(USAGE, *compare, self.engine, "--atol", "-1", words=["--atol"])
        idle = self.path("idle.engine")
        self.run_ok("build", self.lenet, "-o", idle, "--device", "null:0")
        self.expect(INVALID, *compare, idle, words=["computes no values"])


class Diff(Base):
    def diff(self, a, b, code=CHECK_FAILED):
        return json.loads(self.expect(code, "diff", a, b, "--json"))

    def build(self, name, model, *more):
        self.run_ok("build", model, "-o", self.path(name), *more)
        return self.path(name)

    @staticmethod
    def find(report, part, subject):
        found = [d for d in report["differences"] if d["part"] == part and d["subject"] == subject]
        return found[0] if found else None

    def test_equal_engines(self):
        report = self.diff(self.engine, self.engine, DONE)
        self.assertTrue(report["equal"])
        self.assertEqual(report["differences"], [])
        self.assertIn("equal digests", self.expect(DONE, "diff", self.engine, self.engine))

    def test_other_weights_are_named_and_change_only_numbers(self):
        first = self.build("first.engine", self.lenet, "--refittable")
        second = self.path("second.engine")
        self.run_ok("refit", first, "--from", self.other, "-o", second)
        report = self.diff(first, second)
        weight = self.find(report, "weight", "conv2.weight")
        self.assertEqual(weight["effect"], "numbers")
        self.assertIn("of 2400 elements differ", weight["reason"])
        self.assertEqual([d["subject"] for d in report["differences"] if d["part"] == "weight"],
                         ["conv2.weight"])
        self.assertEqual([d for d in report["differences"] if d["part"] == "step"], [])
        self.assertEqual(report["both"] + report["speed"], 0)
        self.expect(CHECK_FAILED, "check", "--compare", first, second,
                    words=["first over tolerance: Relu_4", "Conv_3"])

    def test_values_are_compared_whatever_the_packing(self):
        plain = self.build("plain.engine", self.lenet, "--knob", "layout_c16=false")
        changed = self.build("changed.engine", self.other, "--knob", "layout_c16=false")
        subjects = {d["subject"]: d for d in self.diff(self.engine, plain)["differences"]
                    if d["part"] == "weight"}
        self.assertIn("packing of conv2.weight", subjects)
        self.assertEqual(subjects["packing of conv2.weight"]["effect"], "speed")
        self.assertNotIn("conv2.weight", subjects)
        report = self.diff(self.engine, changed)
        self.assertIn("2400 elements", self.find(report, "weight", "conv2.weight")["reason"])
        self.assertIsNotNone(self.find(report, "network", "hash of the model file"))
        self.assertIsNone(self.find(report, "weight", "conv1.weight"))

    def test_other_tactics_are_named_with_their_step(self):
        plain = self.build("tactics.engine", self.lenet, "--knob", "layout_c16=false")
        report = self.diff(self.engine, plain)
        tactic = self.find(report, "step", "tactic of Conv_0+Relu_1")
        self.assertEqual((tactic["a"], tactic["b"], tactic["effect"]),
                         ("conv_f32_stem", "conv_f32_im2col", "both"))
        pool = self.find(report, "step", "tactic of MaxPool_2")
        self.assertEqual(pool["effect"], "speed")  # the largest of some numbers is exact
        self.assertEqual(self.find(report, "build", "knob layout_c16")["b"], "false")
        self.expect(DONE, "check", "--compare", self.engine, plain, words=["no value is over"])

    def test_another_config_of_a_tactic(self):
        chosen = self.path("chosen.json")
        first = self.build("config1.engine", self.lenet, "--knob", "disable_passes=all",
                           "--save-decisions", chosen)
        with open(chosen, encoding="utf-8") as file:
            decisions = json.load(file)
        step = decisions["steps"]["Relu_8"]
        self.assertEqual(step["tactic"], "region_tile")
        step["config"] = "default" if step["config"] == "coarse" else "coarse"
        with open(chosen, "w", encoding="utf-8") as file:
            json.dump(decisions, file)
        second = self.build("config2.engine", self.lenet, "--decisions", chosen)
        steps = [d for d in self.diff(first, second)["differences"] if d["part"] == "step"]
        self.assertEqual([d["subject"] for d in steps], ["config of Relu_8"])
        self.assertIn("coarse", steps[0]["a"] + steps[0]["b"])
        self.expect(DONE, "check", "--compare", first, second, words=["no value is over"])

    def test_another_fusion(self):
        unfused = self.build("unfused.engine", self.lenet, "--knob", "disable_passes=all")
        report = self.diff(self.engine, unfused)
        fusion = self.find(report, "step", "fusion of Conv_0+Relu_1")
        self.assertEqual(fusion["effect"], "both")
        self.assertIn("Conv_0+Relu_1", fusion["a"])
        self.assertIn("Conv_0 (conv)", fusion["b"])
        self.assertIn("Relu_1 (region)", fusion["b"])

    def test_attributes_of_a_node_that_changed(self):
        model = onnx.load(self.lenet)
        for node in model.graph.node:
            if node.name == "Gemm_7":
                node.attribute.append(helper.make_attribute("alpha", 0.5))
        changed = self.path("alpha.onnx")
        onnx.save(model, changed)
        report = self.diff(self.engine, self.build("alpha.engine", changed))
        steps = [d for d in report["differences"] if d["part"] in ("step", "weight")]
        self.assertTrue(steps)
        self.assertTrue(all("Gemm_7" in d["subject"] or "fc1" in d["subject"] or
                            d["subject"].startswith("weights of one") for d in steps), steps)

    def test_shapes_and_targets(self):
        fixed = self.build("fixed.engine", self.lenet, "--shapes", "x:4x1x28x28", "--device",
                           "cpu:x86-64-v3", "--lean")
        report = self.diff(self.engine, fixed)
        self.assertEqual(self.find(report, "shapes", "input x")["b"], "tensor f32 [4,1,28,28]")
        self.assertEqual(self.find(report, "build", "device")["b"], "cpu:x86-64-v3")
        self.assertEqual(self.find(report, "build", "graph")["effect"], "neither")

    def test_another_network(self):
        report = self.diff(self.engine, self.build("mlp.engine", self.mlp))
        self.assertFalse(report["same_network"])
        self.assertEqual({d["part"] for d in report["differences"]}, {"network", "shapes"})

    def test_wrong_uses(self):
        self.expect(INVALID, "diff", self.engine, self.path("none.engine"),
                    words=["does not exist"])
        self.expect(USAGE, "diff", self.engine)
        self.expect(USAGE, "diff", self.engine, self.lenet, words=["no .engine file", "--compare"])
        broken = self.path("broken.engine")
        with open(self.engine, "rb") as file:
            data = bytearray(file.read())
        data[5000] ^= 1
        with open(broken, "wb") as file:
            file.write(data)
        self.expect(INVALID, "diff", self.engine, broken, words=["broken.engine"])
        self.expect(INVALID, "diff", broken, self.engine)
        with open(broken, "wb") as file:
            file.write(data[:300])
        self.expect(INVALID, "diff", self.engine, broken)
        self.expect(USAGE, "diff", self.engine, self.engine, self.engine)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--stoker", required=True)
    OPTIONS, rest = parser.parse_known_args()
    unittest.main(argv=[sys.argv[0], *rest])
