#!/usr/bin/env python3
# Stoker beside ONNX Runtime and OpenVINO: same model file, inputs and threads, interleaved rounds.
# Prints settings, medians with ranges and ratios, and appends a JSON line per model to the history.
# docs/performance.md explains the method. `make bench-peers`, or `make bench` for Stoker alone.
# SPDX-License-Identifier: Apache-2.0
import argparse
import datetime
import json
import os
import subprocess
import sys
import tempfile

import numpy

import side_by_side as sides

ZOO = ["resnet50", "mobilenetv2", "bert-base"]


def parse_shapes(texts):
    shapes = {}
    for text in texts:
        name, _, sizes = text.rpartition(":")
        try:
            shapes[name] = [int(size) for size in sizes.split("x")] if sizes else []
        except ValueError:
            name = ""
        if not name:
            raise sides.Failure(f"--shapes {text}: expected NAME:1x3x224x224")
    return shapes


def commit():
    run = subprocess.run(["git", "-C", sides.ROOT, "rev-parse", "--short", "HEAD"],
                         capture_output=True, text=True, check=False)
    dirty = subprocess.run(["git", "-C", sides.ROOT, "status", "--porcelain", "-uno"],
                           capture_output=True, text=True, check=False).stdout.strip()
    return (run.stdout.strip() or "none") + ("+" if dirty else "")


def model_file(stoker, model, folder):
    """A path as it is; a zoo name is written first."""
    if os.path.exists(model):
        return model
    path = os.path.join(folder, model + ".onnx")
    sides.run_stoker(stoker, "zoo", model, "-o", path)
    return path


def difference(stoker, engine, data, peer, folder):
    """Largest error of any output over the largest value of that output, against the peer."""
    arguments = []
    for number, (name, array) in enumerate(data.items()):
        path = os.path.join(folder, f"in{number}.npy")
        numpy.save(path, array)
        arguments += ["--input", f"{name}={path}"]
    out = os.path.join(folder, "outputs")
    sides.run_stoker(stoker, "run", engine, *arguments, "--save-outputs", out)
    names = peer.outputs(os.path.join(folder, "peer.npz"))
    theirs = numpy.load(os.path.join(folder, "peer.npz"))
    worst = 0.0
    for number, name in enumerate(names):
        safe = "".join(c if c.isalnum() or c in "._-" else "_" for c in name)
        ours = numpy.load(os.path.join(out, safe + ".npy")).astype(numpy.float64)
        other = theirs[f"o{number}"].astype(numpy.float64)
        if ours.shape != other.shape:
            raise sides.Failure(f"output {name}: stoker gives {ours.shape}, "
                                f"{peer.name} {other.shape}")
        if other.size:
            worst = max(worst, abs(ours - other).max() / max(abs(other).max(), 1e-30))
    return float(worst)


def compare(options, model, peers):
    with tempfile.TemporaryDirectory() as folder:
        path = model_file(options.stoker, model, folder)
        inputs = sides.model_inputs(path)
        shapes = sides.default_shapes(inputs, parse_shapes(options.shapes))
        data = sides.make_inputs(inputs, shapes)
        numpy.savez(os.path.join(folder, "inputs.npz"), **data)
        engine = os.path.join(folder, "model.engine")
        sides.run_stoker(options.stoker, "build", path, "-o", engine, "--threads", options.threads,
                         *sides.shape_arguments(shapes))
        runners = [sides.Stoker(options.stoker, engine, shapes, options.threads)]
        try:
            for name in peers:
                runners.append(sides.Peer(name, path, os.path.join(folder, "inputs.npz"),
                                          options.threads))
            error = (difference(options.stoker, engine, data, runners[1], folder)
                     if peers else None)
            times = sides.interleave(runners, options.rounds, options.seconds)
        finally:
            for runner in runners:
                runner.close()
        return {
            "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
            "commit": commit(), "model": os.path.basename(model), "shapes": shapes,
            "threads": options.threads, "rounds": options.rounds, "seconds": options.seconds,
            "latency_ms": {name: sides.summary(values) for name, values in times.items()},
            "peer_over_stoker": sides.ratios(times), "relative_error": error,
            "memory": runners[0].last.get("memory"),
            "fingerprint": runners[0].last.get("fingerprint"),
            "settings": {runner.name: runner.settings for runner in runners[1:]},
        }


def show(record):
    print(f"\n{record['model']}  {record['shapes']}  {record['threads']} threads, "
          f"{record['rounds']} rounds of {record['seconds']} s")
    print(f"  {'':12} {'median ms':>10} {'range':>19} {'over stoker':>12} {'range':>15}")
    for name, times in record["latency_ms"].items():
        line = f"  {name:12} {times['median']:10.3f} {times['min']:9.3f} .. {times['max']:.3f}"
        ratio = record["peer_over_stoker"].get(name)
        if ratio:
            line = (f"{line:<45}{ratio['median']:10.2f}x "
                    f"{ratio['min']:8.2f} .. {ratio['max']:.2f}")
        print(line)
    if record["settings"]:
        print(f"  largest difference from {next(iter(record['settings']))}: "
              f"{record['relative_error']:.1e} of the largest value")


def arguments():
    parser = argparse.ArgumentParser(description="Stoker beside other runtimes.")
    parser.add_argument("--stoker", default=os.path.join(sides.ROOT, "build", "stoker"))
    parser.add_argument("--models", nargs="+", default=ZOO, help="ONNX files or names of the zoo")
    parser.add_argument("--shapes", action="append", default=[],
                        help="NAME:1x3x224x224, repeatable")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--seconds", type=float, default=1.0, help="per runtime and round")
    parser.add_argument("--peers", nargs="+", choices=list(sides.PEERS) + ["none"])
    parser.add_argument("--history", default=os.path.join(sides.ROOT, "bench", "history.jsonl"))
    return parser.parse_args()


def main():
    options = arguments()
    installed = sides.available_peers()
    peers = options.peers or installed
    alone = options.peers == ["none"]
    peers = [] if alone else peers
    missing = [name for name in peers if name not in installed]
    if missing or not (peers or alone):
        print(f"peers: not installed: {', '.join(missing) or 'any other runtime'}; "
              "run tools/setup --peers", file=sys.stderr)
        return 2
    failed = 0
    shown = False
    for model in options.models:
        try:
            record = compare(options, model, peers)
        except sides.Failure as fault:
            print(f"peers: {model}: {fault}", file=sys.stderr)
            failed += 1
            continue
        if not shown:
            for name, settings in record["settings"].items():
                print(f"{name}: " + ", ".join(f"{k}={v}" for k, v in settings.items()))
            shown = True
        show(record)
        with open(options.history, "a", encoding="utf-8") as file:
            file.write(json.dumps(record) + "\n")
    print(f"\npeers: {len(options.models) - failed} of {len(options.models)} models measured; "
          f"appended to {os.path.relpath(options.history)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
