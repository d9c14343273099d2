#!/usr/bin/env python3
# Writes docs/generated/ from the program itself: knobs, operators, command line. With --check it
# changes nothing and fails when a page is stale, which a test does.
# SPDX-License-Identifier: Apache-2.0
import argparse
import json
import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
FOLDER = os.path.join(ROOT, "docs", "generated")
HEAD = "<!-- Made by `make docs`; changes here are lost. -->\n"


def output_of(stoker, *words):
    run = subprocess.run([stoker, *words], capture_output=True, text=True, check=False)
    if run.returncode != 0:
        sys.exit(f"docs: {stoker} {' '.join(words)} failed: {run.stderr.strip()}")
    return run.stdout


def cell(value):
    if isinstance(value, bool):
        value = "yes" if value else "no"
    if isinstance(value, (list, tuple)):
        value = ", ".join(map(str, value))
    return str(value).replace("|", "\\|").replace("\n", " ")


def knobs_page(stoker):
    knobs = json.loads(output_of(stoker, "knobs", "--json"))
    if isinstance(knobs, dict):
        knobs = knobs.get("knobs") or knobs["tuner_options"]
    columns = ["name", "type", "default", "values", "scope", "enters_engine_key", "help"]
    lines = [HEAD, "# Knobs\n",
             "Each is a flag, an environment variable `STOKER_<NAME>`, and a key in routes "
             "([how to add one](../howto/add-knob.md)).\n",
             "| " + " | ".join(columns) + " |", "|" + "---|" * len(columns)]
    for knob in knobs:
        lines.append("| " + " | ".join(cell(knob.get(column, "")) for column in columns) + " |")
    return "\n".join(lines) + "\n"


def operators_page(stoker):
    operators = json.loads(output_of(stoker, "ops", "--json"))["operators"]
    lines = [HEAD, "# Operators\n",
             f"{len(operators)} operators are imported, in every opset. `runs by` is what nodes of "
             "the kind usually become: a kernel family, a region (fused with its neighbours), a "
             "view (free), the reference evaluation (right, and slow), or a step that is run value "
             "by value because its sizes or kinds are known only while running. "
             "`stoker explain MODEL` tells it for each node of a model.\n",
             "| domain | operator | runs by |", "|---|---|---|"]
    for row in operators:
        lines.append("| " + " | ".join(cell(row[key]) for key in
                                       ("domain", "operator", "runs_by")) + " |")
    return "\n".join(lines) + "\n"


def subcommands(text):
    """Names under the heading of subcommands in CLI11's help."""
    _, _, tail = text.partition("ubcommands:")
    return [line.split()[0] for line in tail.splitlines()
            if line.startswith("  ") and not line.startswith("    ") and line.strip()]


def cli_page(stoker):
    top = output_of(stoker, "--help")
    parts = [HEAD, "# Command line\n", "```\n" + top.strip() + "\n```\n"]
    for name in subcommands(top):
        parts.append(f"## stoker {name}\n")
        parts.append("```\n" + output_of(stoker, name, "--help").strip() + "\n```\n")
    # Paths of the build folder say nothing to a reader, and blanks at line ends nothing to anyone.
    text = "\n".join(parts).replace(stoker, "stoker")
    return "\n".join(line.rstrip() for line in text.splitlines()) + "\n"


def main():
    parser = argparse.ArgumentParser(description="Pages of docs/generated.")
    parser.add_argument("--stoker", default=os.path.join(ROOT, "build", "stoker"))
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    stale = []
    for name, page in (("knobs.md", knobs_page), ("cli.md", cli_page),
                       ("operators.md", operators_page)):
        path, text = os.path.join(FOLDER, name), page(os.path.abspath(options.stoker))
        old = None
        if os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                old = file.read()
        if old == text:
            continue
        stale.append(name)
        if not options.check:
            os.makedirs(FOLDER, exist_ok=True)
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
    if options.check and stale:
        print(f"docs: stale in docs/generated: {', '.join(stale)}: run make docs")
        return 1
    print(f"docs: {', '.join(stale) + ' written' if stale else 'up to date'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
