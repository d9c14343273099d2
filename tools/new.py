#!/usr/bin/env python3
# Skeletons that build and run at once, from tools/templates:
#   tools/new.py op NAME [--group math]       4 files    docs/howto/add-op.md
#   tools/new.py kernel NAME --family gemm    2 files    docs/howto/add-kernel.md
#   tools/new.py pattern NAME                 3 files    docs/howto/add-pattern.md
# Checks everything first and writes nothing when something is wrong.
# SPDX-License-Identifier: Apache-2.0
import argparse
import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
FAMILIES = ["gemm", "conv", "region", "pool", "copy", "gather"]
GROUPS = ["math", "nn", "tensor", "reduce", "quant", "control"]


class Wrong(Exception):
    pass


def read(*path):
    with open(os.path.join(ROOT, *path), encoding="utf-8") as file:
        return file.read()


def template(name, **values):
    text = read("tools", "templates", name)
    for key, value in values.items():
        text = text.replace(f"@{key}@", value)
    return text


def pascal(name):
    """The ONNX spelling: hard_swish -> HardSwish."""
    return "".join(word.capitalize() for word in name.split("_"))


def insert_sorted(path, pattern, name, line, after=None):
    """The text of `path` with `line` put among the lines that match `pattern` (group 1 is their
    name), before the first greater one; looking only behind the line that holds `after`."""
    lines = read(path).split("\n")
    begin = 0
    if after:
        begin = next((i for i, l in enumerate(lines) if after in l), None)
        if begin is None:
            raise Wrong(f"{path} has no line with '{after}': has its form changed?")
    found = []
    for i in range(begin, len(lines)):
        match = re.match(pattern, lines[i])
        if match:
            found.append((i, match.group(1)))
    if not found:
        raise Wrong(f"{path} has no entries like '{line.strip()}': has its form changed?")
    if any(other == name for _, other in found):
        raise Wrong(f"{path} has '{name}' already")
    place = next((i for i, other in found if other > name), found[-1][0] + 1)
    return "\n".join(lines[:place] + [line] + lines[place:])


def new_op(options):
    name, group = options.name, f"src/import/onnx/{options.group}.cpp"
    onnx = pascal(name)
    return {
        f"src/ops/{name}.cpp": template("op.cpp.in", NAME=name),
        "src/ops/op_list.def": insert_sorted("src/ops/op_list.def", r"STOKER_OP\((\w+)\)", name,
                                             f"STOKER_OP({name})"),
        group: insert_sorted(group, r'    \{"", "(\w+)", \w+\},', onnx,
                             f'    {{"", "{onnx}", import_same}},', "OnnxOp kOps[]"),
        f"tests/ops/{name}.cases": template("op.cases.in", NAME=name),
    }


def new_kernel(options):
    name, family = options.name, options.family
    if family not in FAMILIES:
        raise Wrong(f"FAMILY='{family}': one of {', '.join(FAMILIES)} is needed")
    formula, limits, *body = read("tools", "templates", f"kernel_{family}.in").split("\n")
    values = {"NAME": name, "FAMILY": "k" + family.capitalize(), "FORMULA": formula[3:],
              "LIMITS": limits[3:]}
    text = (template("kernel_head.in", **values) + "\n".join(body).rstrip("\n") + "\n"
            + template("kernel_tail.in", **values))
    if "memcpy" not in text:
        text = text.replace("#include <cstring>\n\n", "")
    return {
        f"src/kernels/cpu/{family}/{name}.cpp": text,
        "src/kernels/cpu/tactics.cpp": insert_tactic(name),
    }


def insert_tactic(name):
    """The declaration and the entry, each behind the last one: fast kernels come first."""
    path = "src/kernels/cpu/tactics.cpp"
    text = read(path)
    for pattern, line in ((r"^extern const Tactic (\w+);\n", f"extern const Tactic {name};\n"),
                          (r"^ +cpu::(\w+),\n", f"      cpu::{name},\n")):
        entries = list(re.finditer(pattern, text, re.M))
        if not entries:
            raise Wrong(f"{path} has no line like '{line.strip()}': has its form changed?")
        if any(entry.group(1) == name for entry in entries):
            raise Wrong(f"{path} has '{name}' already")
        text = text[:entries[-1].end()] + line + text[entries[-1].end():]
    return text


def new_pattern(options):
    name = options.name
    return {
        f"src/passes/patterns/{name}.cpp": template("pattern.cpp.in", NAME=name),
        "src/passes/pipeline.cpp": insert_pass(name),
        f"tests/passes/{name}.test": template("pattern.test.in", NAME=name),
    }


def insert_pass(name):
    path = "src/passes/pipeline.cpp"
    text = read(path)
    entries = list(re.finditer(r"^ *PASS\((\w+), \w+\) *\\\n", text, re.M))
    if any(entry.group(1) == name for entry in entries):
        raise Wrong(f"{path} has '{name}' already")
    # Beside the other patterns that only need the graph.
    model = next((entry for entry in entries if entry.group(1) == "gelu"), None)
    if not model:
        raise Wrong(f"{path} has no line PASS(gelu) to stand behind: has its form changed?")
    width = len(model.group(0)) - 2
    line = f"  PASS({name}, disable_passes)".ljust(width) + "\\\n"
    return text[:model.end()] + line + text[model.end():]


def main():
    parser = argparse.ArgumentParser(description="Skeletons of new parts.")
    parser.add_argument("kind", choices=["op", "kernel", "pattern"])
    parser.add_argument("name")
    parser.add_argument("--family", default="")
    parser.add_argument("--group", default="math", choices=GROUPS)
    options = parser.parse_args()
    try:
        if not re.fullmatch(r"[a-z][a-z0-9]*(_[a-z0-9]+)*", options.name):
            raise Wrong(f"NAME='{options.name}': a snake_case name is needed, such as hard_swish")
        make = {"op": new_op, "kernel": new_kernel, "pattern": new_pattern}[options.kind]
        files = make(options)
        exists = [f for f in files if f"/{options.name}." in f
                  and os.path.exists(os.path.join(ROOT, f))]
        if exists:
            raise Wrong(f"{exists[0]} exists already")
    except (Wrong, FileNotFoundError) as fault:
        print(f"new: {fault}", file=sys.stderr)
        return 2
    for path, text in files.items():
        full = os.path.join(ROOT, path)
        print(f"new: {'changed' if os.path.exists(full) else 'wrote  '} {path}")
        os.makedirs(os.path.dirname(full), exist_ok=True)
        with open(full, "w", encoding="utf-8") as file:
            file.write(text)
    print(f"new: next: docs/howto/add-{options.kind}.md, then make test-unit")
    return 0


if __name__ == "__main__":
    sys.exit(main())
