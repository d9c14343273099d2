#!/usr/bin/env python3
# Real trained models on real input: fetches two models that PyPI packages ship, compiles them, runs
# them, shows the answers beside ONNX Runtime's, and times both. Run it through `make demo`.
#   magika     what kind of file is this? (on files of this project)
#   rapidocr   where is text in a picture? (on a picture drawn from the README)
# SPDX-License-Identifier: Apache-2.0
import argparse
import json
import os
import subprocess
import sys
import zipfile

import numpy

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "bench"))
import side_by_side as sides  # noqa: E402

CACHE = os.path.join(sides.ROOT, ".cache", "demo")
PACKAGES = {"magika": "1.0.3", "rapidocr": "3.10.0"}
FILES = ["README.md", "Makefile", "CMakeLists.txt", "tools/tidy.py", "tools/setup",
         "src/base/status.cpp", "LICENSE", "build/stoker"]


def fetch(package):
    """The package's wheel, pinned, from PyPI or from .cache; nothing of it is installed or run."""
    version = PACKAGES[package]
    os.makedirs(CACHE, exist_ok=True)
    wheel = [f for f in os.listdir(CACHE) if f.startswith(f"{package}-{version}-")]
    if not wheel:
        print(f"demo: fetching {package} {version} from PyPI")
        command = [sys.executable, "-m", "pip", "download", "-q", "--disable-pip-version-check",
                   "--no-deps", "--only-binary=:all:", "-d", CACHE, f"{package}=={version}"]
        run = subprocess.run(command, capture_output=True, text=True, check=False)
        if run.returncode != 0:
            raise sides.Failure(
                f"could not fetch {package}=={version}: is PyPI reachable? (PIP_INDEX_URL names a "
                f"mirror; a wheel put into {os.path.relpath(CACHE)} is taken as it is)\n"
                + run.stderr.strip()[-400:])
        wheel = [f for f in os.listdir(CACHE) if f.startswith(f"{package}-{version}-")]
    return zipfile.ZipFile(os.path.join(CACHE, wheel[0]))


def extract(archive, ending):
    """Copies the one file of the archive that ends so into .cache and returns its path."""
    names = [name for name in archive.namelist() if name.endswith(ending)]
    if len(names) != 1:
        raise sides.Failure(f"{archive.filename} has {len(names)} files ending in {ending}, not 1")
    path = os.path.join(CACHE, os.path.basename(archive.filename).split("-")[0] + "-"
                        + os.path.basename(names[0]))
    with open(path, "wb") as file:
        file.write(archive.read(names[0]))
    return path


class Case:
    """One model, one input: compiled, run in Stoker and in ONNX Runtime."""

    def __init__(self, options, name, model, data):
        self.options, self.data = options, data
        self.shapes = {key: list(value.shape) for key, value in data.items()}
        self.engine = os.path.join(CACHE, name + ".engine")
        self.inputs = os.path.join(CACHE, name + "-inputs.npz")
        numpy.savez(self.inputs, **data)
        print(f"demo: stoker build {os.path.relpath(model, sides.ROOT)}")
        sides.run_stoker(options.stoker, "build", model, "-o", self.engine, "--threads",
                         options.threads, *sides.shape_arguments(self.shapes))
        print(f"demo: engine of {os.path.getsize(self.engine) / 1e6:.1f} MB from a model of "
              f"{os.path.getsize(model) / 1e6:.1f} MB")
        self.peer = sides.Peer("onnxruntime", model, self.inputs, options.threads)

    def outputs(self):
        """The first output as Stoker and as ONNX Runtime give it."""
        arguments = []
        for number, (name, array) in enumerate(self.data.items()):
            path = os.path.join(CACHE, f"input-{number}.npy")
            numpy.save(path, array)
            arguments += ["--input", f"{name}={path}"]
        folder = os.path.join(CACHE, "outputs")
        sides.run_stoker(self.options.stoker, "run", self.engine, *arguments,
                         "--save-outputs", folder)
        name = self.peer.outputs(os.path.join(CACHE, "peer.npz"))[0]
        safe = "".join(c if c.isalnum() or c in "._-" else "_" for c in name)
        ours = numpy.load(os.path.join(folder, safe + ".npy"))
        theirs = numpy.load(os.path.join(CACHE, "peer.npz"))["o0"]
        if ours.shape != theirs.shape:
            raise sides.Failure(f"{name}: stoker gives {ours.shape}, ONNX Runtime {theirs.shape}")
        return ours, theirs

    def close(self, ours, theirs, tolerance):
        """Prints agreement and speed; a disagreement is a failure of the demo."""
        error = float(abs(ours.astype("f8") - theirs.astype("f8")).max())
        stoker = sides.Stoker(self.options.stoker, self.engine, self.shapes, self.options.threads)
        times = sides.interleave([stoker, self.peer], self.options.rounds, self.options.seconds)
        self.peer.close()
        middle = {name: sides.summary(values)["median"] for name, values in times.items()}
        ratio = sides.ratios(times)["onnxruntime"]
        print(f"  largest difference from ONNX Runtime {error:.1e} (allowed {tolerance:.0e})")
        print(f"  {self.options.threads} threads: stoker {middle['stoker']:.2f} ms, ONNX Runtime "
              f"{middle['onnxruntime']:.2f} ms: {ratio['median']:.2f}x the time of Stoker "
              f"({ratio['min']:.2f} .. {ratio['max']:.2f} over {self.options.rounds} rounds)")
        if not error <= tolerance:
            raise sides.Failure("the answers differ from ONNX Runtime's by more than allowed")


def file_bytes(path, config):
    """What magika looks at: the first and last bytes without outer white space, padded."""
    with open(path, "rb") as file:
        content = file.read()
    block, pad = config["block_size"], config["padding_token"]
    head = list(content[:block].lstrip()[:config["beg_size"]])
    tail = list(content[-block:].rstrip()[-config["end_size"]:])
    return (head + [pad] * (config["beg_size"] - len(head))
            + [pad] * (config["end_size"] - len(tail)) + tail)


def demo_magika(options):
    archive = fetch("magika")
    with open(extract(archive, "config.min.json"), encoding="utf-8") as file:
        config = json.load(file)
    files = [f for f in FILES if os.path.exists(os.path.join(sides.ROOT, f))]
    rows = [file_bytes(os.path.join(sides.ROOT, f), config) for f in files]
    data = {"bytes": numpy.array(rows, dtype=numpy.int32)}
    case = Case(options, "magika", extract(archive, ".onnx"), data)
    ours, theirs = case.outputs()
    labels = config["target_labels_space"]
    print(f"\n  {'file':22} {'stoker says':>14} {'score':>7}   ONNX Runtime says")
    for name, mine, other in zip(files, ours, theirs):
        print(f"  {name:22} {labels[mine.argmax()]:>14} {mine.max():7.3f}   "
              f"{labels[other.argmax()]}")
    case.close(ours, theirs, 1e-4)


def draw_text():
    """A white picture with lines of the README on it: pixels, and (text, top, bottom) per line."""
    from PIL import Image, ImageDraw, ImageFont
    with open(os.path.join(sides.ROOT, "README.md"), encoding="utf-8") as file:
        lines = [line.strip("#-* \n") for line in file]
    texts = [line[:34].rpartition(" ")[0] for line in lines if len(line) > 30][:4]
    picture = Image.new("RGB", (640, 320), "white")
    canvas = ImageDraw.Draw(picture)
    lines = []
    for number, text in enumerate(texts):
        place = (40, 30 + 72 * number)
        font = ImageFont.load_default(size=28)
        box = canvas.textbbox(place, text, font=font)
        canvas.text(place, text, fill="black", font=font)
        lines.append((text, box[1], box[3]))
    picture.save(os.path.join(CACHE, "text.png"))
    return numpy.asarray(picture, dtype=numpy.float32), lines


def boxes(heat, threshold=0.3, least=60):
    """Connected areas of the score map above the threshold: (x0, y0, x1, y1, mean score)."""
    todo = heat > threshold
    found = []
    for y, x in zip(*numpy.nonzero(todo)):
        if not todo[y, x]:
            continue
        area, stack = [], [(y, x)]
        todo[y, x] = False
        while stack:
            v, u = stack.pop()
            area.append((v, u))
            for w, t in ((v - 1, u), (v + 1, u), (v, u - 1), (v, u + 1)):
                if 0 <= w < heat.shape[0] and 0 <= t < heat.shape[1] and todo[w, t]:
                    todo[w, t] = False
                    stack.append((w, t))
        if len(area) >= least:
            vs, us = zip(*area)
            score = float(numpy.mean([heat[p] for p in area]))
            found.append((min(us), min(vs), max(us), max(vs), score))
    return [tuple(map(int, box[:4])) + box[4:] for box in found]


def demo_rapidocr(options):
    model = extract(fetch("rapidocr"), "_det_small.onnx")
    pixels, lines = draw_text()
    data = {"x": ((pixels / 255 - 0.5) / 0.5).transpose(2, 0, 1)[None].copy()}
    case = Case(options, "rapidocr", model, data)
    ours, theirs = case.outputs()
    mine, other = boxes(ours[0, 0]), boxes(theirs[0, 0])
    print(f"\n  {len(lines)} lines drawn, {len(mine)} boxes found (ONNX Runtime: {len(other)})"
          f"; picture: {os.path.relpath(os.path.join(CACHE, 'text.png'), sides.ROOT)}")
    for text, top, bottom in lines:
        hits = [b for b in mine if b[1] < bottom and b[3] > top]
        where = ", ".join(f"({b[0]},{b[1]})-({b[2]},{b[3]}) score {b[4]:.2f}" for b in hits)
        print(f"  '{text}': {where or 'not found'}")
    case.close(ours, theirs, 1e-3)


DEMOS = {"magika": demo_magika, "rapidocr": demo_rapidocr}


def main():
    parser = argparse.ArgumentParser(description="Real trained models on real input.")
    parser.add_argument("which", nargs="*", metavar="DEMO", help=" or ".join(DEMOS))
    parser.add_argument("--stoker", default=os.path.join(sides.ROOT, "build", "stoker"))
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--seconds", type=float, default=0.5, help="per runtime and round")
    options = parser.parse_args()
    unknown = [name for name in options.which if name not in DEMOS]
    if unknown:
        parser.error(f"unknown demo '{unknown[0]}'; known: {', '.join(DEMOS)}")
    failed = []
    for name in options.which or DEMOS:
        print(f"\n== {name}: {demo_title(name)}")
        try:
            DEMOS[name](options)
        except sides.Failure as fault:
            print(f"demo: {name}: {fault}", file=sys.stderr)
            failed.append(name)
    if failed:
        print(f"\ndemo: failed: {', '.join(failed)}", file=sys.stderr)
        return 1
    print("\ndemo: done. Next: build/stoker --help, README.md, docs/ARCHITECTURE.md")
    return 0


def demo_title(name):
    return {"magika": "what kind of file is this?", "rapidocr": "where is text?"}[name]


if __name__ == "__main__":
    sys.exit(main())
