# Canary of tools/tidy.py: a clean tree passes, and a tree with one fault for each rule is reported,
# each at its place. A rule without a fault here fails the test.
# SPDX-License-Identifier: Apache-2.0
import os
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
TIDY = os.path.join(ROOT, "tools", "tidy.py")
sys.path.insert(0, os.path.dirname(TIDY))
from tidy import check  # noqa: E402
SPDX = "// Purpose of this file.\n// SPDX-License-Identifier: Apache-2.0\n"

CMAKE = "stoker_folder(base)\nstoker_folder(ops)\nstoker_folder(runtime)\nstoker_folder(cli)\n"
CLEAN = {
    "src/CMakeLists.txt": CMAKE,
    "src/base/status.h": SPDX,
    "src/base/names.def": SPDX,
    "src/base/knobs.cpp": SPDX + '#include "base/names.def"\nauto* v = getenv("STOKER_THREADS");\n',
    "src/ops/op.h": SPDX,
    "src/ops/relu.cpp": SPDX + '#include "base/status.h"\n#include "ops/op.h"\n'
                        '// printf( and throw in a comment, "rand()" in a string are fine\n'
                        'const char* text = "rand() throw exit(1)";\n'
                        "// TO" "DO(#12): has its issue\n",
    "src/cli/main.cpp": SPDX + 'int main() { printf("hello"); }\n',
    "tools/tidy_exceptions.txt": "# list\n",
}
LONG_FUNCTION = "namespace a {\nint work(int x) {\n" + "  x += 1;\n" * 80 + "  return x;\n}\n}\n"
# rule -> (file with the fault, its text)
FAULTS = {
    "layers": ("src/ops/sees_runtime.cpp", SPDX + '#include "runtime/session.h"\n'),
    "include-path": ("src/ops/relative.cpp", SPDX + '#include "op.h"\n'),
    "vendor-headers": ("src/runtime/proto.cpp", SPDX + '#include <google/protobuf/message.h>\n'),
    "file-length": ("src/ops/long.cpp", SPDX + "int a;\n" * 500),
    "file-length-hard": ("src/ops/longest.cpp", SPDX + "int a;\n" * 900),
    "function-length": ("src/ops/function.cpp", SPDX + LONG_FUNCTION),
    "ratchet": ("src/ops/shrunk.cpp", SPDX + "int a;\n" * 450),
    "line-length": ("src/ops/wide.cpp", SPDX + "int " + "a" * 100 + ";\n"),
    "getenv": ("src/ops/environment.cpp", SPDX + 'auto* v = std::getenv("X");\n'),
    "dead-file": ("src/lost/lost.h", SPDX),
    "blob": ("docs/picture.bin", "a\0b"),
    "machine-path": ("docs/path.md", "see /ho" "me/somebody/notes\n"),
    "todo": ("src/ops/later.cpp", SPDX + "// TO" "DO: tidy up\n"),
    "doc-path": ("docs/walk.md", "start at `src/ops/none.cpp`\n"),
    "spdx": ("src/ops/untagged.cpp", "int a;\n"),
}
# banned call -> code; each lands in a file of its own
CALLS = {
    "sprintf": "sprintf(b, x);", "strcpy": "strcpy(a, b);", "scanf": "sscanf(a, b);",
    "atoi": "int i = atoi(text);", "stoi": "int i = std::stoi(text);", "rand": "int i = rand();",
    "distribution": "std::normal_distribution<float> d;", "printf": 'printf("x");',
    "iostream": 'std::cerr << "x";', "throw": "throw 1;", "exit": "exit(1);",
    "assert": "assert(size > 0);", "system": 'system("ls");', "regex": "std::regex r;",
    "strtok": "strtok(a, b);", "format": 'std::format("{}", 1);', "alloca": "alloca(8);",
    "detach": "thread.detach();", "goto": "goto end;", "build-time": "auto t = __DATE__;",
    "using-namespace": "using namespace std;", "with-macro": "#ifdef STOKER_WITH_CUDA\n#endif",
}
FAULTS.update({"banned-" + n: (f"src/ops/call_{n}.cpp".replace("-", "_"), SPDX + c + "\n")
               for n, c in CALLS.items()})


def tidy(root, *arguments):
    run = subprocess.run([sys.executable, TIDY, "--root", root, *arguments],
                         capture_output=True, text=True, check=False)
    return run.returncode, run.stdout + run.stderr


def write(root, files):
    for name, text in files.items():
        path = os.path.join(root, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)


class TidyTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.root = self.folder.name
        write(self.root, CLEAN)

    def test_clean_tree_passes(self):
        code, output = tidy(self.root)
        self.assertEqual(code, 0, output)

    def test_each_rule_has_a_canary(self):
        _, names = tidy(self.root, "--rules")
        self.assertEqual(sorted(names.split()), sorted(FAULTS))

    def test_each_fault_alone_is_reported_at_its_place(self):
        for rule, (name, text) in FAULTS.items():
            with self.subTest(rule=rule), tempfile.TemporaryDirectory() as root:
                write(root, CLEAN)
                write(root, {name: text, "src/runtime/session.h": SPDX,
                             "src/runtime/session.cpp": SPDX + '#include "runtime/session.h"\n'})
                if rule == "ratchet":
                    write(root, {"tools/tidy_exceptions.txt": f"file-length {name} 470\n"})
                found = check(root)[1].findings
                at = re.compile(re.escape(name) + r"(:\S+)?")
                self.assertTrue([place for place, which, _ in found
                                 if which == rule and at.fullmatch(place)], found)

    def test_siblings_do_not_see_each_other(self):
        write(self.root, {"src/kernels/cuda/x.h": SPDX,
                          "src/kernels/cpu/CMakeLists.txt": "add_library(k x.cpp)\n",
                          "src/kernels/cpu/x.cpp": SPDX + '#include "kernels/cuda/x.h"\n'})
        code, output = tidy(self.root)
        self.assertEqual(code, 1)
        self.assertIn("src/kernels/cpu/x.cpp:3: layers:", output)

    def test_an_uncompiled_source_is_dead(self):
        write(self.root, {"src/ops/deep/x.cpp": SPDX})
        self.assertIn("src/ops/deep/x.cpp: dead-file:", tidy(self.root)[1])

    def test_cases_need_a_runner(self):
        write(self.root, {"tests/ops/relu.cases": "relu\n"})
        self.assertIn("tests/ops/relu.cases: dead-file:", tidy(self.root)[1])
        write(self.root, {"tests/ops/cases_test.py": "# Reads *.cases.\n"
                          "# SPDX-License-Identifier: Apache-2.0\n"})
        self.assertNotIn("relu.cases", tidy(self.root)[1])

    def test_exceptions_only_shrink(self):
        name, text = FAULTS["file-length"]
        write(self.root, {name: text, "tools/tidy_exceptions.txt": f"file-length {name} 501\n"})
        self.assertIn("may only shrink", tidy(self.root)[1])
        write(self.root, {"tools/tidy_exceptions.txt": f"file-length {name} 502\n"})
        self.assertEqual(tidy(self.root)[0], 0)
        write(self.root, {name: SPDX + "int a;\n" * 450})
        self.assertEqual(tidy(self.root)[0], 1)
        tidy(self.root, "--ratchet")
        self.assertEqual(tidy(self.root)[0], 0)
        write(self.root, {name: SPDX + "int a;\n" * 451})
        self.assertEqual(tidy(self.root)[0], 1)


if __name__ == "__main__":
    unittest.main()
