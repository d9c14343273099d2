#!/usr/bin/env bash
# Builds the libFuzzer targets of fuzz/ with clang and runs each: tools/fuzz_targets.sh SECONDS.
# Seeds are the models of the conformance suite in the onnx wheel. The canary goes first and must be
# found. Inputs that fail are kept in build-fuzz/ and named at the end.
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=${1:-60}
compiler=$(command -v clang++-19 || command -v clang++ || true)
if [ -z "$compiler" ]; then
  echo "fuzz: clang++ is missing: install clang-19" >&2
  exit 1
fi
STOKER_BUILD_TARGET=fuzz tools/build build-fuzz -DCMAKE_CXX_COMPILER="$compiler" \
  -DCMAKE_BUILD_TYPE=Release -DSTOKER_FUZZ=ON
seeds=build-fuzz/seeds
if [ ! -d "$seeds" ]; then
  mkdir -p "$seeds"
  number=0
  for model in .venv/lib/python3*/site-packages/onnx/backend/test/data/*/*/model.onnx; do
    number=$((number + 1))
    if [ "$(stat -c %s "$model")" -lt 16384 ]; then cp "$model" "$seeds/$number.onnx"; fi
  done
fi
if build-fuzz/fuzz/fuzz_canary -max_total_time=60 -artifact_prefix=build-fuzz/ \
    >build-fuzz/canary.log 2>&1; then
  echo "fuzz: the canary was not found: the fuzzer does not work here" >&2
  exit 1
fi
for target in build-fuzz/fuzz/fuzz_*; do
  name=$(basename "$target")
  if [ "$name" = fuzz_canary ] || [ ! -x "$target" ] || [ -d "$target" ]; then continue; fi
  mkdir -p "build-fuzz/corpus/$name"
  echo "fuzz: $name for $seconds s"
  "$target" "build-fuzz/corpus/$name" "$seeds" -max_total_time="$seconds" -timeout=20 \
    -rss_limit_mb=2048 -max_len=65536 -artifact_prefix="build-fuzz/$name-" -print_final_stats=1
done
