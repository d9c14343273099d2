#!/usr/bin/env python3
# House rules as a test: prints one line per finding (place: rule: what and what to do) and exits 1.
# The data stand in tidy_tables.py, tidy_cpp.py reads C++, tests/tidy proves each rule can fail.
#   tools/tidy.py [--root DIR] [--ratchet | --adopt] [--rules]
# SPDX-License-Identifier: Apache-2.0
import argparse
import ast
import fnmatch
import os
import re
import subprocess
import sys

import tidy_tables as tables
from tidy_cpp import functions, strip

CPP = (".cpp", ".h", ".cu", ".cuh")
TEXT_SOURCES = CPP + (".py", ".sh", ".def", ".fbs")
EXCEPTIONS = "tools/tidy_exceptions.txt"


class Tree:
    """The files of the project, read once."""

    def __init__(self, root):
        self.root = root
        self.files = sorted(self._list())
        self._text = {}
        self._code = {}
        self.cpp = [f for f in self.files if f.endswith(CPP)]
        self.scripts = [f for f in self.files if self._is_script(f)]

    def _list(self):
        if os.path.exists(os.path.join(self.root, ".git")):
            git = subprocess.run(["git", "-c", "safe.directory=*", "-C", self.root, "ls-files",
                                  "-co", "--exclude-standard", "-z"],
                                 stdout=subprocess.PIPE, check=True)
            names = git.stdout.decode("utf-8", "replace").split("\0")
            return {n for n in names if n and os.path.isfile(os.path.join(self.root, n))}
        found = set()
        for folder, folders, names in os.walk(self.root):
            folders[:] = [f for f in folders
                          if f not in (".git", ".venv", ".cache", "__pycache__")
                          and not f.startswith("build")]
            found.update(os.path.relpath(os.path.join(folder, n), self.root) for n in names)
        return found

    def _is_script(self, name):
        if name.endswith((".py", ".sh")):
            return True
        return "." not in os.path.basename(name) and self.bytes(name, 2) == b"#!"

    def bytes(self, name, count=-1):
        with open(os.path.join(self.root, name), "rb") as file:
            return file.read(count)

    def text(self, name):
        if name not in self._text:
            self._text[name] = self.bytes(name).decode("utf-8", "replace")
        return self._text[name]

    def code(self, name):
        """C++ text with comments and the insides of strings blanked; lines keep their numbers."""
        if name not in self._code:
            self._code[name] = strip(self.text(name))
        return self._code[name]


class Report:
    def __init__(self):
        self.findings = []
        self.used_exceptions = {}

    def add(self, rule, place, message):
        self.findings.append((place, rule, message))


def under(name, folders):
    return any(name == f or name.startswith(f + "/") for f in folders)


def layer_of(name):
    fits = [layer for layer in tables.LAYERS if under(name, [layer])]
    return max(fits, key=len) if fits else None


def includes(tree, name):
    for number, line in enumerate(tree.text(name).splitlines(), 1):
        match = re.match(r'\s*#\s*include\s*([<"])([^>"]+)[>"]', line)
        if match:
            yield number, match.group(1) == '"', match.group(2)


def check_layers(tree, report):
    known = set(tree.files)
    for name in tree.cpp:
        layer = layer_of(name)
        if layer is None:
            if name.startswith(("src/", "include/")):
                report.add("layers", name, "folder has no line in tools/tidy_tables.py LAYERS")
            continue
        allowed = {layer, "src/base"} | {"src/" + f for f in tables.LAYERS[layer]}
        for pattern, extra in tables.LAYER_EXTRAS.items():
            if fnmatch.fnmatch(name, pattern) and layer == os.path.dirname(pattern):
                allowed |= {"src/" + f for f in extra}
        if layer == "include/stoker":
            allowed = set()
        for number, quoted, path in includes(tree, name):
            place = f"{name}:{number}"
            if "src/" + path in known:
                target = layer_of("src/" + path)
                if target not in allowed and "src/" + path not in allowed:
                    report.add("layers", place, f"{layer} may not include {target} ({path}); "
                               "see LAYERS in tools/tidy_tables.py")
            elif "include/" + path in known:
                if (path not in tables.COMMON_PUBLIC_HEADERS
                        and not under(name, tables.PUBLIC_HEADER_FOLDERS)):
                    report.add("layers", place, f"{path} is the facade's; below it only "
                               + ", ".join(sorted(tables.COMMON_PUBLIC_HEADERS)))
            elif quoted and path not in tables.GENERATED_HEADERS:
                report.add("include-path", place, f'"{path}" is not a path from src/ or include/; '
                           "write the full one (system headers in angle brackets)")


def check_vendors(tree, report):
    for name in tree.cpp:
        if not name.startswith(("src/", "include/")):
            continue
        for number, _, path in includes(tree, name):
            if path.startswith("stoker/") or "src/" + path in tree.files:
                continue
            for pattern, folders in tables.VENDOR_HEADERS:
                if re.match(pattern, path) and not under(name, folders):
                    where = ", ".join(folders) or "tests"
                    report.add("vendor-headers", f"{name}:{number}", f"<{path}> belongs to {where}")


def read_exceptions(tree):
    entries = {}
    if EXCEPTIONS in tree.files:
        for line in tree.text(EXCEPTIONS).splitlines():
            if line.strip() and not line.startswith("#"):
                rule, place, lines = line.split()
                entries[(rule, place)] = int(lines)
    return entries


def ratchet(report, entries, rule, place, size, limit, advice):
    """A size over its limit needs an entry of exactly that size: entries only ever shrink."""
    if size <= limit:
        return
    report.used_exceptions[(rule, place)] = size
    listed = entries.get((rule, place))
    if listed is None:
        report.add(rule, place, f"{size} lines, the limit is {limit}: {advice}")
    elif size > listed:
        report.add(rule, place, f"{size} lines, listed with {listed}, and that may only shrink")
    elif size < listed:
        report.add("ratchet", place, f"{rule} is down to {size} from {listed}: "
                   "run tools/tidy.py --ratchet")


def check_sizes(tree, report):
    entries = read_exceptions(tree)
    for name in tree.cpp + tree.scripts:
        count = tree.text(name).count("\n")
        kernels = under(name, ["src/kernels/cpu", "src/kernels/cuda"])
        hard = tables.FILE_LINES_HARD_KERNELS if kernels else tables.FILE_LINES_HARD
        if count > hard:
            report.add("file-length-hard", name, f"{count} lines, {hard} is the end: split it")
        ratchet(report, entries, "file-length", name, count, tables.FILE_LINES_SOFT,
                "split it by topic")
        if name in tree.cpp:
            found = functions(tree.code(name))
        elif name.endswith(".py"):
            found = python_functions(tree.text(name))
        else:
            found = []
        longest = {}
        for function, lines in found:
            longest[function] = max(lines, longest.get(function, 0))
        for function, lines in longest.items():
            ratchet(report, entries, "function-length", f"{name}:{function}", lines,
                    tables.FUNCTION_LINES, "split it into named steps")
    for key, lines in entries.items():
        if key not in report.used_exceptions:
            report.add("ratchet", key[1], f"listed as {key[0]} {lines} but within the limit now: "
                       "run tools/tidy.py --ratchet")


def python_functions(text):
    try:
        nodes = ast.walk(ast.parse(text))
    except SyntaxError:
        return [("(syntax error)", 10**6)]
    return [(n.name, n.end_lineno - n.lineno + 1) for n in nodes
            if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef))]


def check_lines(tree, report):
    for name in tree.files:
        if name in tree.cpp or name in tree.scripts:
            for number, line in enumerate(tree.text(name).splitlines(), 1):
                if len(line) > tables.LINE_COLUMNS and "http" not in line:
                    report.add("line-length", f"{name}:{number}",
                               f"{len(line)} columns, the limit is {tables.LINE_COLUMNS}")


def check_calls(tree, report):
    for name in tree.cpp:
        lines = tree.code(name).splitlines()
        if name.startswith("src/") and name != tables.GETENV_FILE:
            for number, line in enumerate(lines, 1):
                if re.search(r"\b(secure_)?(getenv|setenv|putenv)\s*\(", line):
                    report.add("getenv", f"{name}:{number}", "the environment is read in "
                               f"{tables.GETENV_FILE} only: add a knob to src/base/knobs.def")
        for rule, pattern, instead, where, but in tables.BANNED_CALLS:
            if not under(name, where) or under(name, but):
                continue
            for number, line in enumerate(lines, 1):
                if re.search(pattern, line):
                    report.add(f"banned-{rule}", f"{name}:{number}", f"use {instead}")


def cmake_sources(tree):
    """Patterns of files that some CMakeLists.txt compiles."""
    patterns = []
    for name in tree.files:
        if os.path.basename(name) != "CMakeLists.txt":
            continue
        here = os.path.dirname(name)
        text = re.sub(r"#.*", "", tree.text(name))
        text = re.sub(r"\$\{CMAKE_CURRENT_(SOURCE|LIST)_DIR\}", here or ".", text)
        text = text.replace("${CMAKE_SOURCE_DIR}", ".")
        for folder in re.findall(r"^\s*stoker_folder\(([\w/]+)", text, re.M):
            patterns.append((os.path.join(here, folder, "*.cpp"), False))
        for deep, arguments in re.findall(r"file\(GLOB(_RECURSE)?\s+([^)]*)\)", text):
            patterns += [(p, bool(deep)) for p in arguments.split() if p.endswith(CPP)]
        for word in re.findall(r"[\w./*-]+\.(?:cpp|cu)\b", text):
            patterns += [(word, False), (os.path.join(here, word), False)]
    return [(os.path.normpath(p), deep) for p, deep in patterns if "$" not in p]


def compiled(name, patterns):
    for pattern, deep in patterns:
        folder, leaf = os.path.split(pattern)
        if fnmatch.fnmatch(os.path.basename(name), leaf):
            mine = os.path.dirname(name)
            if deep and (mine == folder or mine.startswith(folder + "/")):
                return True
            if mine.count("/") == folder.count("/") and fnmatch.fnmatch(mine, folder):
                return True
    return False


def check_dead(tree, report):
    patterns = cmake_sources(tree)
    included = {path for name in tree.cpp for _, _, path in includes(tree, name)}
    everything = "\n".join(tree.text(n) for n in tree.files
                           if n in tree.scripts or n == "Makefile" or n.endswith("CMakeLists.txt"))
    for name in tree.files:
        base = os.path.basename(name)
        if name.endswith((".cpp", ".cu")) and not compiled(name, patterns):
            report.add("dead-file", name, "no CMakeLists.txt compiles it: remove it or list it")
        elif name.endswith((".h", ".cuh", ".def")):
            path = re.sub(r"^(src|include)/", "", name)
            if path not in included and name not in included:
                report.add("dead-file", name, "nobody includes it: remove it")
        elif name.endswith((".test", ".cases")):
            if not has_runner(tree, name):
                report.add("dead-file", name, "no *_test file of its folder reads "
                           f"'{os.path.splitext(base)[1]}' files: add the runner")
        elif name.startswith("tools/") and name in tree.scripts:
            if not re.search(r"\b" + re.escape(os.path.splitext(base)[0]) + r"\b", everything):
                report.add("dead-file", name, "neither Makefile nor CMake nor a script mentions it")


def has_runner(tree, name):
    folder, extension = os.path.dirname(name), os.path.splitext(name)[1]
    return any(os.path.dirname(other) == folder and extension in tree.text(other)
               for other in tree.files if re.search(r"_test\.(cpp|py)$", other))


def check_blobs(tree, report):
    for name in tree.files:
        size = os.path.getsize(os.path.join(tree.root, name))
        fixture = any(fnmatch.fnmatch(name, p) for p in tables.FIXTURE_FOLDERS)
        limit = tables.FIXTURE_BYTES if fixture else tables.BLOB_BYTES
        if size > limit:
            report.add("blob", name, f"{size} bytes, the limit is {limit}: keep it outside")
        elif not fixture and b"\0" in tree.bytes(name, 8192):
            report.add("blob", name, "binary: generate it in the test, or put it under fixtures/")


def check_texts(tree, report):
    paths = re.compile(r"/(?:ho" r"me/\w|ro" r"ot/|wo" r"rk/|Users/\w|tm" r"p/\w)")
    todo = re.compile(r"\b(TO" r"DO|FIX" r"ME|XX" r"X|HA" r"CK)\b(?!\(#\d+\))")
    for name in tree.files:
        if b"\0" in tree.bytes(name, 8192):
            continue
        lines = tree.text(name).splitlines()
        for number, line in enumerate(lines, 1):
            if paths.search(re.sub(r"https?://\S+", "", line)):
                report.add("machine-path", f"{name}:{number}",
                           "path of one machine: make it relative or an argument")
            if todo.search(line):
                report.add("todo", f"{name}:{number}", "needs its issue: TO" "DO(#12)")
        if name.endswith(TEXT_SOURCES) or name in tree.scripts:
            if not any("SPDX-License-Identifier: Apache-2.0" in line for line in lines[:14]):
                report.add("spdx", name, "the head comment ends with SPDX-License-Identifier: "
                           "Apache-2.0")
            elif not re.match(r"(//|#)\s*\S", lines[0]):
                report.add("spdx", name, "the first line says in a comment what the file is for")


def check_doc_paths(tree, report):
    """Documents that walk through the code name files that exist."""
    known = set(tree.files) | {os.path.dirname(f) for f in tree.files}
    for name in list(known):
        while os.path.dirname(name):
            name = os.path.dirname(name)
            known.add(name)
    for name in tree.files:
        if not name.endswith(".md") or under(name, tables.FREE_DOCUMENTS):
            continue
        for number, line in enumerate(tree.text(name).splitlines(), 1):
            for path in re.findall(r"`((?:src|include|tests|tools|bench|docs)/[\w./*+-]+)`", line):
                if not any(fnmatch.fnmatch(k, path.rstrip("/")) for k in known):
                    report.add("doc-path", f"{name}:{number}", f"there is no {path}")


RULES = [check_layers, check_vendors, check_sizes, check_lines, check_calls, check_dead,
         check_blobs, check_texts, check_doc_paths]
RULE_NAMES = ["layers", "include-path", "vendor-headers", "file-length", "file-length-hard",
              "function-length", "ratchet", "line-length", "getenv", "dead-file", "blob",
              "machine-path", "todo", "spdx", "doc-path"]
RULE_NAMES += ["banned-" + call[0] for call in tables.BANNED_CALLS]


def write_exceptions(tree, report, adopt):
    entries = read_exceptions(tree)
    head = [l for l in tree.text(EXCEPTIONS).splitlines() if l.startswith("#")]
    lines = []
    for (rule, place), size in sorted(report.used_exceptions.items()):
        listed = entries.get((rule, place))
        if listed is None and not adopt:
            continue
        lines.append(f"{rule} {place} {size if adopt else min(size, listed)}")
    with open(os.path.join(tree.root, EXCEPTIONS), "w", encoding="utf-8") as file:
        file.write("\n".join(head + lines) + "\n")
    print(f"tidy: {EXCEPTIONS} has {len(lines)} entries")


def check(root):
    """The files below `root` and what the rules say about them."""
    tree, report = Tree(root), Report()
    for rule in RULES:
        rule(tree, report)
    return tree, report


def main():
    parser = argparse.ArgumentParser(description="Checks the house rules.")
    parser.add_argument("--root", default=os.path.join(os.path.dirname(__file__), ".."))
    parser.add_argument("--ratchet", action="store_true", help="lower the listed sizes")
    parser.add_argument("--adopt", action="store_true",
                        help="list what is too long now (once, when a limit is introduced)")
    parser.add_argument("--rules", action="store_true", help="print the rules' names")
    arguments = parser.parse_args()
    if arguments.rules:
        print("\n".join(RULE_NAMES))
        return 0
    tree, report = check(os.path.abspath(arguments.root))
    if arguments.ratchet or arguments.adopt:
        write_exceptions(tree, report, arguments.adopt)
        return 0
    for place, rule, message in sorted(report.findings):
        print(f"{place}: {rule}: {message}")
    print(f"tidy: {len(tree.files)} files, {len(report.findings)} findings")
    return 1 if report.findings else 0


if __name__ == "__main__":
    sys.exit(main())
