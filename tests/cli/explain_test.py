# stoker explain: decisions, a profiled run, the page, the trace; of static and dynamic engines.
# SPDX-License-Identifier: Apache-2.0
import argparse
import json
import os
import subprocess
import sys
import tempfile
import unittest

from onnx import TensorProto, helper, save

OPTIONS = None


def branching_model(path):
    """An If whose branch holds a pointwise chain, behind a product."""
    value = lambda name: helper.make_tensor_value_info(name, TensorProto.FLOAT, [4, 4])
    branches = []
    for op in ("Tanh", "Sigmoid"):
        nodes = [helper.make_node("MatMul", ["p", "x"], ["r"], name=f"{op}_product"),
                 helper.make_node(op, ["r"], ["s"], name=f"{op}_node")]
        branches.append(helper.make_graph(nodes, op, [], [value("s")]))
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "x"], ["p"], name="product"),
         helper.make_node("ReduceMax", ["x"], ["m"], keepdims=0, name="largest"),
         helper.make_node("Greater", ["m", "m"], ["c"], name="compare"),
         helper.make_node("If", ["c"], ["y"], name="choice", then_branch=branches[0],
                          else_branch=branches[1])], "branching </script><!--", [value("x")],
        [value("y")])
    save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)


class Explain(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.lenet, cls.branching = (os.path.join(cls.folder.name, name)
                                    for name in ("lenet.onnx", "branching.onnx"))
        subprocess.run([OPTIONS.stoker, "zoo", "lenet", "-o", cls.lenet, "--quiet"], check=True)
        branching_model(cls.branching)

    def explain(self, *arguments):
        run = subprocess.run([OPTIONS.stoker, "explain", "--threads", "2", *arguments],
                             capture_output=True, text=True, check=False)
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
        return run.stdout

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def test_decisions_without_a_run(self):
        report = json.loads(self.explain(self.lenet, "--json"))
        self.assertNotIn("peaks", report)
        for step in report["steps"]:
            self.assertNotIn("run", step)
            self.assertTrue(any(c["tactic"] == step["tactic"] for c in step["candidates"]))
        self.assertIn("<- chosen", self.explain(self.lenet))

    def test_slow_steps_say_why(self):
        """An op without a kernel, a dtype that kernels do not take, sizes known while running."""
        model = self.path("slow.onnx")
        value = helper.make_tensor_value_info
        nodes = [helper.make_node("Hardmax", ["x"], ["h"], name="no_kernel"),
                 helper.make_node("Cast", ["x"], ["i"], to=TensorProto.INT64, name="cast"),
                 helper.make_node("Resize", ["i", "", "s"], ["r"], mode="linear", name="integers"),
                 helper.make_node("NonZero", ["x"], ["n"], name="data")]
        graph = helper.make_graph(
            nodes, "slow", [value("x", TensorProto.FLOAT, [1, 2, 4, 4])],
            [value("h", TensorProto.FLOAT, [1, 2, 4, 4]), value("r", TensorProto.INT64, None),
             value("n", TensorProto.INT64, [4, "K"])],
            [helper.make_tensor("s", TensorProto.FLOAT, [4], [1, 1, 2, 2])])
        save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8),
             model)
        text = self.explain(model)
        for line in ("no_kernel of no_kernel: no kernel computes op 'hardmax'",
                     "integers of integers: the resize kernels do not take this 'resize': dtype",
                     "data of data: op 'non_zero' is evaluated value by value"):
            self.assertIn(line, text)
        steps = {step["name"].split("/")[-1]: step
                 for step in json.loads(self.explain(model, "--json"))["steps"]}
        self.assertEqual(steps["no_kernel"]["op"], "hardmax")
        self.assertIn("no kernel", steps["no_kernel"]["slow"])

    def test_times_of_steps_and_nodes(self):
        report = json.loads(self.explain(self.lenet, "--profile", "--json"))
        runs = [step["run"] for step in report["steps"]]
        self.assertAlmostEqual(sum(run["share"] for run in runs), 1, places=5)
        self.assertAlmostEqual(sum(run["time_us"] for run in runs), report["total_us"], places=3)
        self.assertGreater(report["peaks"]["f32_gflops"], 0)
        # All nodes of the file but those that are computed at build stand at the step of theirs.
        steps = {node["name"]: report["steps"][node["step"]] for node in report["nodes"]}
        self.assertGreaterEqual(len(steps), 9)
        for name, step in steps.items():
            self.assertIn(name, step["origins"])
        convolution = next(step for step in report["steps"] if step["family"] == "conv")
        self.assertGreater(convolution["run"]["flops"], 0)
        self.assertGreater(convolution["run"]["compute_peak_share"], 0)
        text = self.explain(self.lenet, "--profile")
        self.assertIn("% of the run", text)
        self.assertIn("%peak", text)

    def test_the_trace_covers_every_step(self):
        trace = self.path("trace.json")
        self.explain(self.lenet, "--trace", trace)
        with open(trace, encoding="utf-8") as file:
            events = json.load(file)["traceEvents"]
        names = {event["name"] for event in events if event["ph"] == "X"}
        report = json.loads(self.explain(self.lenet, "--json"))
        self.assertEqual(names, {step["name"] for step in report["steps"]})
        for event in events:
            if event["ph"] == "X":
                self.assertGreaterEqual(event["ts"], 0)
                self.assertGreaterEqual(event["dur"], 0)
        # One worker does one thing at a time.
        for worker in {event["tid"] for event in events}:
            own = sorted((e["ts"], e["dur"]) for e in events
                         if e["ph"] == "X" and e["tid"] == worker)
            for (start, length), (following, _) in zip(own, own[1:]):
                self.assertLessEqual(start + length, following + 1e-3)

    def page_data(self, model, *arguments):
        page = self.path("page.html")
        self.explain(model, "--html", page, *arguments)
        with open(page, encoding="utf-8") as file:
            text = file.read()
        for outside in ("http://", "https://", "src=", "@import", "url("):
            self.assertNotIn(outside, text.replace("http://www.w3.org/2000/svg", ""))
        self.assertEqual(text.count("</script>"), 1)
        self.assertNotIn("<!--", text)
        line = next(line for line in text.splitlines() if line.startswith("const data = "))
        return json.loads(line[len("const data = "):].rstrip(";"))

    def test_the_page_holds_what_json_says(self):
        data = self.page_data(self.lenet, "--profile")
        self.assertTrue(all("run" in step for step in data["steps"]))
        self.assertNotIn("peaks", self.page_data(self.lenet))

    def test_steps_of_branches_are_shown_and_timed_where_they_ran(self):
        data = self.page_data(self.branching, "--profile")
        by_origin = {origin: step for step in data["steps"] for origin in step["origins"]}
        for name in ("product", "Sigmoid_product", "Tanh_product"):
            self.assertTrue(any(origin.endswith(name) for origin in by_origin), name)
        ran = {name: "run" in step for name, step in by_origin.items()}
        self.assertTrue(next(ran[name] for name in ran if name.endswith("Sigmoid_product")))
        self.assertFalse(next(ran[name] for name in ran if name.endswith("Tanh_product")))
        self.assertGreater(len({step["program"] for step in data["steps"]}), 2)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--stoker", required=True)
    OPTIONS, rest = parser.parse_known_args()
    unittest.main(argv=[sys.argv[0], *rest])
