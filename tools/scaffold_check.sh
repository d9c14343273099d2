#!/usr/bin/env bash
# Scaffolds an op, a kernel and a pattern in a copy of the tree, counts the files touched (4, 2, 3),
# builds and runs them. The copy lies in BUILD/scaffold and stays, so that the next run builds
# little; with ccache the first one is quick too.
#   tools/scaffold_check.sh SOURCE_FOLDER BUILD_FOLDER
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
source_folder=${1:?usage: tools/scaffold_check.sh SOURCE_FOLDER BUILD_FOLDER}
tree=${2:?usage: tools/scaffold_check.sh SOURCE_FOLDER BUILD_FOLDER}/scaffold
python=$source_folder/.venv/bin/python
# Paths relative to the tree: objects of the real build are found in the cache.
export CCACHE_BASEDIR=$tree
jobs=${JOBS:-$(nproc)}

fail() {
  echo "scaffold: $*" >&2
  exit 1
}

# Brings the copy up to date. Only files with other contents are written, so that only what changed
# is built again; they get the present time, since a file may be older than the last build of it.
copy_tree() {
  local fresh=$tree.fresh name
  rm -rf "$fresh" "$tree/.git"
  mkdir -p "$tree" "$fresh"
  (cd "$source_folder" &&
    if [ -e .git ]; then git -c safe.directory='*' ls-files -co --exclude-standard -z
    else find . -type f -not -path './build*' -not -path './.venv/*' -not -path './.cache/*' -print0
    fi | tar --null --ignore-failed-read -T - -cf -) | tar -C "$fresh" -xf -
  (cd "$tree" && find . -type f -not -path './build/*') | while read -r name; do
    [ -e "$fresh/$name" ] || rm "$tree/$name"
  done
  (cd "$fresh" && find . -type f) | while read -r name; do
    cmp -s "$fresh/$name" "$tree/$name" && continue
    mkdir -p "$(dirname "$tree/$name")"
    rm -f "$tree/$name"
    cp "$fresh/$name" "$tree/$name"
  done
  rm -rf "$fresh"
  cd "$tree"
  git init -q
  commit
}

commit() {
  git add -A
  git -c user.name=scaffold -c user.email=scaffold@localhost commit -q -m scaffold
}

# expect COUNT MAKE-ARGUMENTS...: the files that the verb touches.
expect() {
  local count=$1 touched
  shift
  make -s "$@"
  touched=$(git status --porcelain -uall)
  [ "$(wc -l <<<"$touched")" -eq "$count" ] || fail "make $*: expected $count files, touched:
$touched"
  commit
}

build() {
  local proto log=$tree/build/scaffold.log
  mkdir -p build
  proto=$(ls "$source_folder"/.venv/lib/python3*/site-packages/onnx/onnx-ml.proto | head -n 1)
  generator=()
  [ -f build/CMakeCache.txt ] || ! command -v ninja >/dev/null || generator=(-G Ninja)
  { cmake -S . -B build "${generator[@]}" -DSTOKER_ONNX_PROTO="$proto" &&
    cmake --build build -j "$jobs" --target stoker test_ops_cases test_passes_passes \
      test_kernels_every_tactic; } >"$log" 2>&1 || {
    tail -n 40 "$log" >&2
    fail "the scaffolded tree does not build"
  }
}

# gtest PROGRAM NAME: the tests of that name pass, and there is one.
gtest() {
  "build/tests/$1" --gtest_filter="*$2*" >"$log" 2>&1 ||
    { tail -n 40 "$log" >&2; fail "$2: fails"; }
  grep -q 'PASSED.* 1 test' "$log" || fail "$2: no test of that name ran"
}

run() {
  local log=$tree/build/run.log
  build/tests/test_kernels_every_tactic >"$log" 2>&1 || { cat "$log" >&2; fail "kernel: wrong"; }
  grep -Eq '^gemm_scaffold at level 0: [1-9]' "$log" || fail "kernel: no case ran it"
  gtest test_ops_cases scaffold_probe
  gtest test_passes_passes scaffold_pattern
  "$python" - build/stoker <<'EOF' || fail "op: wrong in a model"
import subprocess, sys, tempfile, numpy, onnx
from onnx import TensorProto, helper
with tempfile.TemporaryDirectory() as folder:
    value = [helper.make_tensor_value_info(n, TensorProto.FLOAT, [2, 3]) for n in "xy"]
    node = helper.make_node("ScaffoldProbe", ["x"], ["y"])
    model = helper.make_model(helper.make_graph([node], "g", value[:1], value[1:]),
                              opset_imports=[helper.make_opsetid("", 17)])
    onnx.save(model, folder + "/m.onnx")
    x = numpy.arange(6, dtype="float32").reshape(2, 3) - 2.5
    numpy.save(folder + "/x.npy", x)
    subprocess.run([sys.argv[1], "run", folder + "/m.onnx", "--input", f"x={folder}/x.npy",
                    "--save-outputs", folder + "/out"], check=True, stdout=subprocess.DEVNULL)
    assert (numpy.load(folder + "/out/y.npy") == x).all()
EOF
}

copy_tree
expect 4 new-op NAME=scaffold_probe
expect 2 new-kernel FAMILY=gemm NAME=gemm_scaffold
expect 3 new-pattern NAME=scaffold_pattern
make -s new-op NAME=scaffold_probe 2>/dev/null && fail "an op that exists was overwritten"
make -s new-kernel FAMILY=none NAME=x 2>/dev/null && fail "an unknown family was accepted"
start=$(date +%s)
build
echo "scaffold: built in $(($(date +%s) - start)) s"
run
new_findings=$(python3 tools/tidy.py | grep -F "scaffold" | grep -v '^tools/' || true)
[ -z "$new_findings" ] || fail "the skeletons break house rules: $new_findings"
echo "scaffold: op 4, kernel 2, pattern 3 files; all of them build and run"
