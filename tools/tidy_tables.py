# The house rules as data, read by tidy.py: which folder may include which, which headers stand
# where, sizes, and banned calls with their replacement. A new folder gets its line here.
# SPDX-License-Identifier: Apache-2.0

# Folder -> folders it may include besides itself and base. The longest matching folder counts.
# Names of files instead of folders allow only that header.
LAYERS = {
    "include/stoker": [],
    "src/base": [],
    "src/ops": [],
    "src/ir": ["ops"],
    "src/import/onnx": ["ir", "ops"],
    "src/passes": ["ir", "ops"],
    "src/quant": ["passes", "ir", "ops"],
    "src/device": [],
    "src/device/cpu": ["device"],
    "src/device/null": ["device"],
    "src/device/cuda": ["device"],
    "src/kernels": ["device"],
    "src/kernels/desc": [],
    "src/kernels/cpu": ["kernels", "kernels/desc", "device"],
    "src/kernels/cuda": ["kernels", "kernels/desc", "device"],
    "src/engine": ["kernels/desc"],
    "src/plan": ["engine", "kernels", "kernels/desc", "ops", "device"],
    "src/lower": ["ir", "ops", "plan", "engine", "kernels", "kernels/desc", "device"],
    "src/runtime": ["plan", "engine", "kernels", "kernels/desc", "ops", "device"],
    "src/tune": ["lower", "runtime", "quant", "ir", "ops", "plan", "engine", "kernels",
                 "kernels/desc", "device"],
    "src/zoo": [],
    "src/api/run": ["runtime", "plan", "engine", "kernels", "kernels/desc", "ops", "device"],
    "src/api": ["api/run", "import/onnx", "zoo", "tune", "runtime", "lower", "quant", "passes",
                "ir", "ops", "plan", "engine", "kernels", "kernels/desc", "device"],
    "src/cli": ["api", "api/run", "zoo"],
}
# File (fnmatch) -> folders it may include beyond its folder's line.
LAYER_EXTRAS = {
    "src/kernels/*.cpp": ["kernels/desc"],
    "src/kernels/*.h": ["kernels/desc"],
    "src/kernels/reference*.cpp": ["ops"],
    "src/cli/zoo.cpp": ["zoo"],
}
# Public headers that every folder may use; the others are for the facade and its users.
COMMON_PUBLIC_HEADERS = {"stoker/status.h", "stoker/dtype.h", "stoker/tensor.h", "stoker/value.h",
                         "stoker/custom_op.h"}
# src/runtime implements the running half of the facade.
PUBLIC_HEADER_FOLDERS = ["include/stoker", "src/runtime", "src/api", "src/cli", "tests", "bench",
                         "examples"]

# Header (regular expression) -> folders that may include it.
VENDOR_HEADERS = [
    (r"google/protobuf/|onnx/onnx-(ml|data)\.pb\.h", ["src/import/onnx", "src/zoo"]),
    (r"flatbuffers/|engine/engine_generated\.h", ["src/engine"]),
    (r"sqlite3\.h", ["src/tune"]),
    (r"pcre2\.h", ["src/ops"]),
    (r"CLI/", ["src/cli"]),
    (r"jpeglib\.h|jerror\.h|tiffio\.h|openjpeg\.h|webp/|stb/", ["src/base"]),
    (r"spdlog/", ["src/base"]),
    (r"xxhash\.h", ["src/base"]),
    (r"nlohmann/", ["src/base", "src/engine", "src/plan", "src/runtime", "src/tune", "src/api",
                    "src/cli"]),
    (r"(imm|x86|emm|xmm|tmm|avx\w*)intrin\.h|cpuid\.h", ["src/kernels/cpu", "src/device/cpu"]),
    (r"cuda|nvrtc|cublas|cudnn|nccl", ["src/kernels/cuda", "src/device/cuda"]),
    (r"dnnl|oneapi/", ["src/kernels/cpu"]),
    (r"gtest/|gmock/", []),
    (r"fmt/", ["src"]),
]
GENERATED_HEADERS = {"onnx/onnx-ml.pb.h", "onnx/onnx-data.pb.h", "engine/engine_generated.h"}

LINE_COLUMNS = 100
FUNCTION_LINES = 70
FILE_LINES_SOFT = 400           # above it a file needs an entry in tidy_exceptions.txt
FILE_LINES_HARD = 800           # above it no entry helps
FILE_LINES_HARD_KERNELS = 1000  # src/kernels/cpu and src/kernels/cuda
BLOB_BYTES = 200_000
FIXTURE_FOLDERS = ["tests/*/fixtures/*"]  # small golden files, binary allowed
FIXTURE_BYTES = 64_000

# Recipes name files to be written; decisions and histories stay as they were.
FREE_DOCUMENTS = ["docs/howto", "docs/decisions"]

GETENV_FILE = "src/base/knobs.cpp"

# (name, regular expression on code without comments and strings, what to use instead,
#  folders where the rule holds, files or folders where it does not)
_SRC = ["src", "include"]
_ALL = ["src", "include", "tests", "bench", "examples", "fuzz"]
BANNED_CALLS = [
    ("sprintf", r"\bv?sn?printf\s*\(", "fmt::format", _ALL, []),
    ("strcpy", r"\b(strn?cpy|strn?cat|stpcpy)\s*\(", "std::string, or memcpy with a checked size",
     _ALL, []),
    ("scanf", r"\b[sf]?scanf\s*\(|\bgets\s*\(", "std::from_chars", _ALL, []),
    ("atoi", r"\b(atoi|atol|atoll|atof|strto[dlfu]\w*)\s*\(", "std::from_chars", _ALL, []),
    ("stoi", r"\bstd::sto(i|l|ll|ul|ull|f|d|ld)\s*\(", "std::from_chars (it does not throw)",
     _ALL, []),
    ("rand", r"\bs?rand\s*\(|\brandom_shuffle\b|\bstd::random_device\b",
     "a seeded counter-based generator", _ALL, []),
    ("distribution", r"\bstd::\w+_distribution\b",
     "a transformation of our own: the standard's differ between libraries", _SRC, []),
    ("printf", r"\b(f?printf|f?puts|putchar|fmt::print)\s*\(",
     "a Status, or the log in base; only src/cli prints", _SRC,
     ["src/cli", "src/base/status.cpp", "src/base/log.cpp"]),
    ("iostream", r"\bstd::(cout|cerr|clog)\b",
     "a Status, or the log in base; only src/cli prints", _SRC, ["src/cli"]),
    ("throw", r"\bthrow\b", "a Status: no exception crosses a folder border", _SRC, []),
    ("exit", r"(?<![.>\w])(exit|_exit|quick_exit|_Exit|abort|std::terminate)\s*\(",
     "a Status returned to main; STOKER_CHECK for programmers' mistakes", _SRC,
     ["src/base/status.cpp", "src/cli/guard.cpp"]),
    ("assert", r"\bassert\s*\(", "a Status for what comes from outside, STOKER_CHECK for "
     "programmers' mistakes (assert vanishes from release builds)", ["src"], []),
    ("system", r"\b(system|popen)\s*\(", "the library's own function", _SRC, []),
    ("regex", r"\bstd::regex\b", "a hand-written scan (std::regex recurses on hostile text)",
     _SRC, []),
    ("strtok", r"\b(strtok|localtime|gmtime|ctime|asctime)\s*\(",
     "the thread-safe form (_r)", _SRC, []),
    ("format", r"\bstd::format\b", "fmt::format (g++ 12 has no <format>)", _ALL, []),
    ("alloca", r"\balloca\s*\(", "a vector or the workspace", _ALL, []),
    ("detach", r"\.\s*detach\s*\(\s*\)", "a thread that somebody joins", _ALL, []),
    ("goto", r"\bgoto\b", "a function that returns", _ALL, []),
    ("build-time", r"__(DATE|TIME|TIMESTAMP)__", "nothing: builds are reproducible", _ALL, []),
    ("using-namespace", r"^\s*using\s+namespace\b", "using declarations", _SRC, []),
    ("with-macro", r"^\s*#\s*if.*\bSTOKER_WITH_", "one file per variant, chosen by CMake", _SRC,
     []),
]
