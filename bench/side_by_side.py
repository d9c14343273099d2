# Runs one model in Stoker and in other runtimes, round by round in rotating order, so that a slow
# minute of the machine hits all of them. Used by bench/peers.py and tools/demo.
#
# Every peer lives in a process of its own (`side_by_side.py --worker NAME ...`) that waits between
# its turns; Stoker's turn is one `stoker bench`. Peers run at their best settings for latency.
# SPDX-License-Identifier: Apache-2.0
import importlib.util
import json
import os
import statistics
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PEERS = {"onnxruntime": "onnxruntime", "openvino": "openvino"}  # name -> Python module


class Failure(Exception):
    """Something that the user can act on; the message says what."""


def available_peers():
    return [name for name, module in PEERS.items() if importlib.util.find_spec(module)]


def run_stoker(stoker, *arguments):
    """Standard output of a stoker command; Failure with its message when it fails."""
    command = [stoker, *map(str, arguments)]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    if run.returncode != 0:
        raise Failure(f"{' '.join(command)}\nfailed with exit code {run.returncode}:\n"
                      f"{run.stderr.strip() or run.stdout.strip()}")
    return run.stdout


def shape_arguments(shapes):
    return [word for name, shape in shapes.items()
            for word in ("--shapes", f"{name}:{'x'.join(map(str, shape))}")]


def model_inputs(model):
    """name -> (numpy dtype name, dims with None where the size is open) of an ONNX file."""
    import onnx
    graph = onnx.load(model, load_external_data=False).graph
    constants = {tensor.name for tensor in graph.initializer}
    found = {}
    for value in graph.input:
        if value.name in constants:
            continue
        tensor = value.type.tensor_type
        dims = [d.dim_value if d.HasField("dim_value") and d.dim_value > 0 else None
                for d in tensor.shape.dim]
        found[value.name] = (onnx.helper.tensor_dtype_to_np_dtype(tensor.elem_type).name, dims)
    return found


def default_shapes(inputs, given):
    """Open sizes: batch 1, pictures of 224 x 224, sequences of 128; `given` goes first."""
    shapes = {}
    for name, (_, dims) in inputs.items():
        if name in given:
            shapes[name] = given[name]
            continue
        open_size = 224 if len(dims) == 4 else 128
        shapes[name] = [dim if dim is not None else 1 if axis == 0 else open_size
                        for axis, dim in enumerate(dims)]
    unknown = sorted(set(given) - set(inputs))
    if unknown:
        raise Failure(f"--shapes names {unknown[0]}, but the inputs are {', '.join(inputs)}")
    return shapes


def make_inputs(inputs, shapes, seed=7):
    """Seeded data: normally distributed floats, integers 0 or 1 (legal as any index or mask)."""
    import numpy
    random = numpy.random.default_rng(seed)
    data = {}
    for name, (dtype, _) in inputs.items():
        if numpy.issubdtype(numpy.dtype(dtype), numpy.floating):
            data[name] = random.standard_normal(shapes[name]).astype(dtype)
        else:
            data[name] = random.integers(0, 2, shapes[name]).astype(dtype)
    return data


class Stoker:
    name = "stoker"

    def __init__(self, program, engine, shapes, threads):
        self.command = ["bench", engine, "--threads", threads, "--knob", "flush_denormals=true",
                        *shape_arguments(shapes)]
        self.program = program
        self.settings = {"command": " ".join(map(str, self.command))}
        self.last = {}

    def measure(self, seconds):
        text = run_stoker(self.program, *self.command, "--warmup", "0.3s",
                          "--duration", f"{seconds}s", "--json", "-")
        try:
            self.last = json.loads(text)
            return float(self.last["latency_ms"]["p50"])
        except (ValueError, KeyError, TypeError) as fault:
            raise Failure(f"stoker bench --json - answered without latency_ms.p50: {text[:300]}") \
                from fault

    def close(self):
        pass


class Peer:
    """A runtime in a process of its own. `inputs` is an .npz file."""

    def __init__(self, name, model, inputs, threads):
        self.name = name
        self.process = subprocess.Popen(
            [sys.executable, os.path.abspath(__file__), "--worker", name, model, inputs,
             str(threads)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.settings = self._read()

    def _read(self):
        line = self.process.stdout.readline()
        if not line:
            raise Failure(f"{self.name} ended with code {self.process.wait()} (its messages above)")
        answer = json.loads(line)
        if "error" in answer:
            raise Failure(f"{self.name}: {answer['error']}")
        return answer

    def ask(self, **question):
        self.process.stdin.write(json.dumps(question) + "\n")
        self.process.stdin.flush()
        return self._read()

    def measure(self, seconds):
        return self.ask(seconds=seconds)["p50_ms"]

    def outputs(self, path, inputs=None):
        """Writes the outputs as an .npz file and returns their names in order. `inputs`: another
        .npz file than the one that is timed."""
        return self.ask(outputs=path, inputs=inputs)["names"]

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def interleave(runners, rounds, seconds):
    """name -> one median latency per round. The order rotates from round to round."""
    times = {runner.name: [] for runner in runners}
    for number in range(rounds):
        shift = number % len(runners)
        for runner in runners[shift:] + runners[:shift]:
            times[runner.name].append(runner.measure(seconds))
    return times


def summary(values):
    return {"median": statistics.median(values), "min": min(values), "max": max(values)}


def ratios(times, base="stoker"):
    """name -> how many times as long as `base` it took, taken inside each round."""
    return {name: summary([other / ours for other, ours in zip(values, times[base])])
            for name, values in times.items() if name != base}


def open_onnxruntime(model, data, threads):
    import onnxruntime
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.execution_mode = onnxruntime.ExecutionMode.ORT_SEQUENTIAL
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
    options.add_session_config_entry("session.intra_op.allow_spinning", "1")
    options.add_session_config_entry("session.set_denormal_as_zero", "1")
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    binding = session.io_binding()
    for name, array in data.items():
        binding.bind_cpu_input(name, array)
    names = [output.name for output in session.get_outputs()]
    for name in names:
        binding.bind_output(name)
    settings = {"version": onnxruntime.__version__, "provider": "CPU", "intra_op_threads": threads,
                "graph_optimization": "all", "mode": "sequential", "spinning": True,
                "denormals": "zero", "io_binding": True}
    return (lambda: session.run_with_iobinding(binding),
            lambda given: dict(zip(names, session.run(None, given or data))), settings)


def open_openvino(model, data, threads):
    import openvino
    core = openvino.Core()
    network = core.read_model(model)
    network.reshape({name: list(array.shape) for name, array in data.items()})
    # f32 like the others: on machines with AMX the default would be bf16.
    wanted = {"PERFORMANCE_HINT": "LATENCY", "INFERENCE_NUM_THREADS": threads, "NUM_STREAMS": 1,
              "INFERENCE_PRECISION_HINT": "f32", "ENABLE_CPU_PINNING": True}
    compiled = core.compile_model(network, "CPU", wanted)
    request = compiled.create_infer_request()
    for name, array in data.items():
        request.set_tensor(name, openvino.Tensor(array, shared_memory=True))
    request.infer()

    def step(keep_alive=(core, compiled, data)):  # shared tensors do not own their memory
        request.infer()

    def answers(given):
        if given:
            raise ValueError("compiled for the shapes of its first inputs")
        request.infer()
        return {output.get_any_name(): request.get_tensor(output).data.copy()
                for output in compiled.outputs}

    return step, answers, {"version": openvino.__version__.split("-")[0], **wanted}


def worker(name, model, inputs, threads):
    """Answers one JSON line per JSON line, until standard input ends."""
    import numpy
    opener = {"onnxruntime": open_onnxruntime, "openvino": open_openvino}[name]
    reply = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what the runtime prints must not get between the answers
    try:
        step, answers, settings = opener(model, dict(numpy.load(inputs)), int(threads))
        for _ in range(3):
            step()
    except Exception as fault:  # any fault of a peer is its answer
        print(json.dumps({"error": str(fault)[:500]}), file=reply, flush=True)
        return
    print(json.dumps(settings), file=reply, flush=True)
    for line in sys.stdin:
        question = json.loads(line)
        if "outputs" in question:
            given = question.get("inputs")
            found = answers(dict(numpy.load(given)) if given else None)
            numpy.savez(question["outputs"], **{f"o{i}": v for i, v in enumerate(found.values())})
            answer = {"names": list(found)}
        else:
            timed_loop(step, 0.3)
            answer = {"p50_ms": statistics.median(timed_loop(step, question["seconds"]))}
        print(json.dumps(answer), file=reply, flush=True)


def timed_loop(step, seconds):
    samples, end = [], time.perf_counter() + seconds
    while len(samples) < 3 or time.perf_counter() < end:
        start = time.perf_counter_ns()
        step()
        samples.append((time.perf_counter_ns() - start) / 1e6)
    return samples


if __name__ == "__main__":
    if sys.argv[1:2] != ["--worker"] or len(sys.argv) != 6:
        sys.exit("side_by_side.py: a part of bench/peers.py and tools/demo, run those")
    worker(*sys.argv[2:])
