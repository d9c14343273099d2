# What kind of file is this? The network of the magika package on files of this project.
# SPDX-License-Identifier: Apache-2.0
import json
import os

import numpy

from case import Case, Failure, extract, fetch

FILES = {"README.md": "markdown", "Makefile": "makefile", "CMakeLists.txt": "cmake",
         "tools/tidy.py": "python", "tools/setup": "shell", "src/base/status.cpp": "cpp",
         "LICENSE": "txt", "build/stoker": "elf"}


def file_bytes(path, config):
    """What magika looks at: the first and last bytes without outer white space, padded."""
    with open(path, "rb") as file:
        content = file.read()
    block, pad = config["block_size"], config["padding_token"]
    head = list(content[:block].lstrip()[:config["beg_size"]])
    tail = list(content[-block:].rstrip()[-config["end_size"]:])
    return (head + [pad] * (config["beg_size"] - len(head))
            + [pad] * (config["end_size"] - len(tail)) + tail)


def demo(options):
    archive = fetch("magika")
    with open(extract(archive, "config.min.json"), encoding="utf-8") as file:
        config = json.load(file)
    files = [name for name in FILES if os.path.exists(os.path.join(options.root, name))]
    rows = [file_bytes(os.path.join(options.root, name), config) for name in files]
    case = Case(options, "files", extract(archive, ".onnx"),
                {"bytes": numpy.array(rows, dtype=numpy.int32)})
    scores, _ = case.outputs()
    labels = config["target_labels_space"]
    print(f"\n  {'file':22} {'kind':>14} {'score':>7}")
    wrong = []
    for name, row in zip(files, scores):
        kind = labels[row.argmax()]
        print(f"  {name:22} {kind:>14} {row.max():7.3f}")
        if kind != FILES[name]:
            wrong.append(f"{name} is taken for {kind}")
    case.compare(1e-4)
    if wrong:
        raise Failure("; ".join(wrong))
