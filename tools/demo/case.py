# What the demos share: fetching the file of a model from a package, and one model on one input,
# compiled, run and timed beside ONNX Runtime.
# SPDX-License-Identifier: Apache-2.0
import json
import os
import subprocess
import sys
import zipfile

import numpy

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "bench"))
import side_by_side as sides  # noqa: E402

CACHE = os.path.join(sides.ROOT, ".cache", "demo")
PACKAGES = {"magika": "1.0.3", "rapidocr": "3.10.0", "silero-vad": "6.2.3"}
Failure = sides.Failure


def relative(path):
    shown = os.path.relpath(path, sides.ROOT)
    return path if shown.startswith("..") else shown


def fetch(package):
    """The package's wheel, pinned, from PyPI or from .cache; nothing of it is installed or run."""
    version = PACKAGES[package]
    start = f"{package.replace('-', '_')}-{version}-"
    os.makedirs(CACHE, exist_ok=True)
    wheel = [name for name in os.listdir(CACHE) if name.startswith(start)]
    if not wheel:
        print(f"demo: fetching {package} {version} from PyPI")
        command = [sys.executable, "-m", "pip", "download", "-q", "--disable-pip-version-check",
                   "--no-deps", "--only-binary=:all:", "-d", CACHE, f"{package}=={version}"]
        run = subprocess.run(command, capture_output=True, text=True, check=False)
        if run.returncode != 0:
            raise Failure(
                f"could not fetch {package}=={version}: is PyPI reachable? (PIP_INDEX_URL names a "
                f"mirror; a wheel put into {relative(CACHE)} is taken as it is)\n"
                + run.stderr.strip()[-400:])
        wheel = [name for name in os.listdir(CACHE) if name.startswith(start)]
    return zipfile.ZipFile(os.path.join(CACHE, wheel[0]))


def extract(archive, ending):
    """Copies the one file of the archive that ends so into .cache and returns its path."""
    names = [name for name in archive.namelist() if name.endswith(ending)]
    if len(names) != 1:
        raise Failure(f"{archive.filename} has {len(names)} files ending in {ending}, not 1")
    path = os.path.join(CACHE, os.path.basename(archive.filename).split("-")[0] + "-"
                        + os.path.basename(names[0]))
    with open(path, "wb") as file:
        file.write(archive.read(names[0]))
    return path


class Case:
    """One model, one input: compiled, run in Stoker and in ONNX Runtime.

    `shapes`: a --shapes argument for a model whose sizes change from run to run."""

    def __init__(self, options, name, model, data, shapes=None):
        self.options, self.name, self.data, self.worst = options, name, data, 0.0
        self.shapes = {key: list(value.shape) for key, value in data.items()}
        self.engine = os.path.join(CACHE, name + ".engine")
        self.inputs = os.path.join(CACHE, name + "-inputs.npz")
        self.model, self.peer = model, None
        numpy.savez(self.inputs, **data)
        print(f"demo: stoker build {relative(model)}")
        arguments = ["--shapes", shapes] if shapes else sides.shape_arguments(self.shapes)
        sides.run_stoker(options.stoker, "build", model, "-o", self.engine, "--threads",
                         options.threads, *arguments)
        print(f"demo: engine of {os.path.getsize(self.engine) / 1e6:.1f} MB from a model of "
              f"{os.path.getsize(model) / 1e6:.1f} MB")

    def arguments(self, data):
        """--input of each array, as files."""
        arguments = []
        for number, (name, array) in enumerate(data.items()):
            path = os.path.join(CACHE, f"{self.name}-{number}.npy")
            numpy.save(path, array)
            arguments += ["--input", f"{name}={path}"]
        return arguments

    def outputs(self, data=None):
        """The first output as Stoker and as ONNX Runtime give it."""
        data = self.data if data is None else data
        folder = os.path.join(CACHE, "outputs")
        sides.run_stoker(self.options.stoker, "run", self.engine, *self.arguments(data),
                         "--save-outputs", folder)
        inputs, outputs = (os.path.join(CACHE, name) for name in ("peer-in.npz", "peer-out.npz"))
        numpy.savez(inputs, **data)
        if not self.peer:
            self.peer = sides.Peer("onnxruntime", self.model, self.inputs, self.options.threads)
        name = self.peer.outputs(outputs, inputs)[0]
        safe = "".join(c if c.isalnum() or c in "._-" else "_" for c in name)
        ours, theirs = numpy.load(os.path.join(folder, safe + ".npy")), numpy.load(outputs)["o0"]
        if ours.shape != theirs.shape:
            raise Failure(f"{name}: stoker gives {ours.shape}, ONNX Runtime {theirs.shape}")
        if ours.size:
            self.worst = max(self.worst, float(abs(ours.astype("f8") - theirs.astype("f8")).max()))
        return ours, theirs

    def compare(self, tolerance):
        """Prints agreement, speed and where the time goes; a disagreement is a failure."""
        stoker = sides.Stoker(self.options.stoker, self.engine, self.shapes, self.options.threads)
        times = sides.interleave([stoker, self.peer], self.options.rounds, self.options.seconds)
        self.peer.close()
        middle = {name: sides.summary(values)["median"] for name, values in times.items()}
        ratio = sides.ratios(times)["onnxruntime"]
        print(f"  {self.name}: largest difference from ONNX Runtime {self.worst:.1e} "
              f"(allowed {tolerance:.0e})")
        print(f"    {self.options.threads} threads: stoker {middle['stoker']:.2f} ms, ONNX Runtime "
              f"{middle['onnxruntime']:.2f} ms: {ratio['median']:.2f}x the time of Stoker "
              f"({ratio['min']:.2f} .. {ratio['max']:.2f} over {self.options.rounds} rounds)")
        print(f"    time by kind of step: {self.profile()}")
        if not self.worst <= tolerance:
            raise Failure("the answers differ from ONNX Runtime's by more than allowed")

    def profile(self):
        """The kinds of steps that take most of the time; the page beside it shows each step."""
        page = os.path.join(CACHE, self.name + ".html")
        run = sides.run_stoker(self.options.stoker, "explain", self.engine, "--profile", "--json",
                               "--html", page, "--threads", self.options.threads,
                               *self.arguments(self.data))
        shares = {}
        for step in json.loads(run)["steps"]:
            kind = step["family"] + (" (reference)" if step["reference"] else "")
            shares[kind] = shares.get(kind, 0) + step.get("run", {}).get("share", 0)
        top = sorted(shares.items(), key=lambda entry: -entry[1])[:4]
        return ", ".join(f"{kind} {100 * share:.0f} %" for kind, share in top) \
            + f"; each step: {relative(page)}"
