# Bad inputs: each command of bad_inputs_cases.py ends with the exit code and exactly the message of
# bad_inputs_expected.txt, soon, and leaves no file behind.
# bad_inputs_test.py --stoker PROGRAM [--only WORDS] [--print | --summary]
# SPDX-License-Identifier: Apache-2.0
import argparse
import concurrent.futures
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from bad_inputs_cases import GROUPS, all_cases, make_files  # noqa: E402

EXPECTED = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bad_inputs_expected.txt")
SECONDS = 20


def read_expected():
    """name -> (exit code, message). A line "[code] name", then the message up to an empty line."""
    table = {}
    with open(EXPECTED, encoding="utf-8") as file:
        for block in file.read().split("\n\n"):
            lines = [line for line in block.strip().split("\n") if not line.startswith("#")]
            head = re.fullmatch(r"\[(-?\d+)\] (.+)", lines[0]) if lines else None
            if head:
                table[head[2]] = (int(head[1]), "\n".join(lines[1:]).strip())
    return table


def run_case(stoker, folder, words):
    """(exit code, message with the folder's own name taken out)."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith("STOKER_")}
    environment["STOKER_TIMING_CACHE"] = ""
    if words and words[0] != "biuld":  # its progress is not its message
        words = [words[0], "--quiet", *words[1:]]
    try:
        run = subprocess.run([stoker, *words], cwd=folder, env=environment, timeout=SECONDS,
                             stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False)
    except subprocess.TimeoutExpired:
        return -999, f"did not end within {SECONDS} s"
    message = run.stderr.decode("utf-8", "replace").replace(os.path.realpath(folder), "FOLDER")
    return run.returncode, message.strip()


def agrees(found, expected):
    """{*} stands for what changes from run to run or between versions."""
    parts = [re.escape(part) for part in expected[1].split("{*}")]
    return found[0] == expected[0] and re.fullmatch(".*".join(parts), found[1]) is not None


def print_summary(codes):
    print("| Group | Cases | Accepted | Usage (2) | Invalid (3) | Resources (4) |")
    print("|---|---|---|---|---|---|")
    for group, cases in GROUPS.items():
        ends = [codes[name] for name, _ in cases if name in codes]
        counts = " | ".join(str(ends.count(code)) for code in (0, 2, 3, 4))
        print(f"| {group} | {len(ends)} | {counts} |")


def files_below(folder):
    return {os.path.join(place, name) for place, _, names in os.walk(folder) for name in names}


def main():
    parser = argparse.ArgumentParser(description="Bad inputs and how they end.")
    parser.add_argument("--stoker", required=True)
    parser.add_argument("--only", default="", help="cases whose name holds these words")
    parser.add_argument("--print", action="store_true", help="the table as it is now")
    parser.add_argument("--summary", action="store_true", help="cases by group and exit code")
    options = parser.parse_args()
    stoker = os.path.abspath(options.stoker)
    cases = [(name, words) for name, words in all_cases() if options.only in name]
    if os.environ.get("STOKER_TEST_SANITIZED") == "1":  # shadow memory is beyond any limit
        cases = [(name, words) for name, words in cases if "beyond the memory limit" not in name]
    with tempfile.TemporaryDirectory() as folder:
        make_files(stoker, folder)
        before = files_below(folder)
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            found = list(pool.map(lambda case: run_case(stoker, folder, case[1]), cases))
        debris = sorted(files_below(folder) - before)
    if options.print or options.summary:
        for (name, _), (code, message) in zip(cases, found):
            if options.print:
                print(f"[{code}] {name}\n{message}\n")
        if options.summary:
            print_summary({name: code for (name, _), (code, _) in zip(cases, found)})
        return 0
    expected, wrong = read_expected(), 0
    names = [name for name, _ in all_cases()]
    for name in sorted(set(expected) - set(names)) + [n for n in names if names.count(n) > 1]:
        wrong += 1
        print(f"{name}: expected, but no such case, or several")
    for (name, words), result in zip(cases, found):
        if not agrees(result, expected.get(name, (None, ""))):
            wrong += 1
            print(f"{name}: stoker {' '.join(words)}\n  found    {result}\n"
                  f"  expected {expected.get(name)}")
    if debris:
        wrong += 1
        print("left behind:", *debris)
    print(f"{len(cases)} bad inputs, {wrong} not as expected")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
