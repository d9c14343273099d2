#!/usr/bin/env python3
# Mutates files of every kind that Stoker reads and feeds them to the program: it may refuse them
# with a message, never crash, hang, or call it an internal error. `make fuzz` uses sanitizers.
# Failing inputs are kept and their command is printed; --seed repeats a run. A canary goes first: a
# program with a planted crash, which the same loop must find.
# SPDX-License-Identifier: Apache-2.0
import argparse
import os
import random
import subprocess
import sys
import tempfile
import time

CANARY = """#!/usr/bin/env python3
import os, sys
if open(sys.argv[1], 'rb').read(1) != b'A':
    os.abort()
"""
TIMEOUT_S = 60


class Target:
    """Bytes of a valid file, and the command that reads such a file ({} stands for its path)."""

    def __init__(self, name, ending, seed_file, command):
        with open(seed_file, "rb") as file:
            self.seed = file.read()
        self.name, self.ending, self.command = name, ending, command


def mutate(data, dice):
    """A few faults of the kinds that find parsers' holes."""
    data = bytearray(data)
    for _ in range(dice.choice([1, 1, 1, 2, 4, 16])):
        place = dice.randrange(len(data)) if data else 0
        # Half of the faults go into the head, where structure is denser than in weights.
        if data and dice.random() < 0.5:
            place = dice.randrange(min(len(data), 2048))
        kind = dice.randrange(7)
        if kind == 0 and data:
            data[place] ^= 1 << dice.randrange(8)
        elif kind == 1 and data:
            data[place] = dice.choice([0, 1, 0x7F, 0x80, 0xFF, dice.randrange(256)])
        elif kind == 2:
            del data[place:]
        elif kind == 3:
            del data[place:place + dice.choice([1, 2, 4, 8, 64])]
        elif kind == 4:
            data[place:place] = data[place:place + dice.choice([1, 4, 32, 256])]
        elif kind == 5:
            data[place:place + 8] = dice.choice(
                [b"\xff" * 8, b"\0" * 8, b"\xff\xff\xff\x7f\0\0\0\0", b"\0\0\0\0\0\0\0\x80"])
        else:
            data[place:place] = bytes(dice.randrange(256) for _ in range(dice.randrange(1, 9)))
    return bytes(data)


def verdict(command):
    """None when the program behaved, otherwise what it did."""
    try:
        run = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                             timeout=TIMEOUT_S, check=False)
    except subprocess.TimeoutExpired:
        return f"did not end within {TIMEOUT_S} s"
    message = run.stderr.decode("utf-8", "replace").strip()
    if run.returncode < 0:
        return f"ended by signal {-run.returncode}: {message[-300:]}"
    if b"Sanitizer" in run.stderr or b"runtime error:" in run.stderr:
        return f"sanitizer: {message[:600]}"
    if run.returncode not in (0, 1, 2, 3, 4):
        return f"exit code {run.returncode}: {message[-300:]}"
    if run.returncode and not message:
        return f"exit code {run.returncode} without a message"
    return None


def fuzz(target, seconds, seed, keep):
    """(runs, failures) within the time."""
    dice = random.Random(f"{seed} {target.name}")
    end, runs, failures = time.monotonic() + seconds, 0, 0
    path = os.path.join(keep, f"{target.name}-now{target.ending}")
    while time.monotonic() < end and failures < 5:
        data = mutate(target.seed, dice)
        with open(path, "wb") as file:
            file.write(data)
        found = verdict([word.replace("{}", path) for word in target.command])
        runs += 1
        if found:
            failures += 1
            kept = os.path.join(keep, f"{target.name}-{seed}-{runs}{target.ending}")
            os.replace(path, kept)
            print(f"fuzz: {target.name}: {found}\n  repeat: "
                  + " ".join(word.replace("{}", kept) for word in target.command))
    if os.path.exists(path):
        os.remove(path)
    return runs, failures


def canary_is_found(folder, seed):
    program, data = os.path.join(folder, "canary"), os.path.join(folder, "data")
    with open(program, "w", encoding="utf-8") as file:
        file.write(CANARY)
    with open(data, "wb") as file:
        file.write(b"A" * 8)
    target = Target("canary", ".bin", data, [sys.executable, program, "{}"])
    # Its findings are expected: they are not printed.
    saved, sys.stdout = sys.stdout, open(os.devnull, "w", encoding="utf-8")
    try:
        return fuzz(target, 20, seed, folder)[1] > 0
    finally:
        sys.stdout.close()
        sys.stdout = saved


def make_targets(stoker, folder):
    """Valid files made by the program itself."""
    import numpy
    model, engine = os.path.join(folder, "m.onnx"), os.path.join(folder, "m.engine")
    subprocess.run([stoker, "zoo", "mlp", "-o", model], check=True, stdout=subprocess.DEVNULL)
    subprocess.run([stoker, "build", model, "-o", engine], check=True, stdout=subprocess.DEVNULL)
    import onnx
    value = onnx.load(model).graph.input[0]
    sizes = [d.dim_value if d.dim_value > 0 else 1 for d in value.type.tensor_type.shape.dim]
    array = numpy.ones(sizes, dtype=numpy.float32)
    npy, proto = os.path.join(folder, "x.npy"), os.path.join(folder, "x.pb")
    numpy.save(npy, array)
    with open(proto, "wb") as file:
        file.write(onnx.numpy_helper.from_array(array, value.name).SerializeToString())
    out = os.path.join(folder, "out.engine")
    given = ["run", engine, "--input", value.name + "={}"]
    return [
        Target("onnx", ".onnx", model, [stoker, "build", "{}", "-o", out]),
        Target("engine", ".engine", engine, [stoker, "run", "{}"]),
        Target("inspect", ".engine", engine, [stoker, "inspect", "{}"]),
        Target("npy", ".npy", npy, [stoker, *given]),
        Target("tensor-proto", ".pb", proto, [stoker, *given]),
    ]


def main():
    parser = argparse.ArgumentParser(description="Hostile files against the program.")
    parser.add_argument("--stoker", required=True)
    parser.add_argument("--seconds", type=float, default=60, help="per target")
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--target", nargs="*", help="only these")
    parser.add_argument("--keep", help="folder for failing inputs (default: beside the program)")
    options = parser.parse_args()
    keep = options.keep or os.path.join(os.path.dirname(os.path.abspath(options.stoker)), "fuzz")
    os.makedirs(keep, exist_ok=True)
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        if not canary_is_found(folder, options.seed):
            print("fuzz: the canary's crash was not found: the fuzzer itself is broken")
            return 1
        for target in make_targets(os.path.abspath(options.stoker), folder):
            if options.target and target.name not in options.target:
                continue
            runs, failures = fuzz(target, options.seconds, options.seed, keep)
            failed += failures
            print(f"fuzz: {target.name}: {runs} runs, {failures} failures")
    print(f"fuzz: seed {options.seed}, {failed} failures" + (f", kept in {keep}" if failed else ""))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
