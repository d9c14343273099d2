#!/usr/bin/env bash
# Builds the libFuzzer targets of fuzz/ with clang and runs each on its seeds (tools/fuzz_seeds.py):
# tools/fuzz_targets.sh SECONDS [TARGET...]. The canary goes first and must be found. Inputs that
# fail are kept in build-fuzz/ and named. STOKER_PROGRAM makes the seeds (build/stoker or
# build-debug/stoker otherwise).
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=${1:-60}
shift || true
compiler=$(command -v clang++-19 || command -v clang++ || true)
if [ -z "$compiler" ]; then
  echo "fuzz: clang++ is missing: install clang-19" >&2
  exit 1
fi
STOKER_BUILD_TARGET=fuzz tools/build build-fuzz -DCMAKE_CXX_COMPILER="$compiler" \
  -DCMAKE_BUILD_TYPE=Release -DSTOKER_FUZZ=ON
program=${STOKER_PROGRAM:-}
for made in build/stoker build-debug/stoker; do
  if [ -z "$program" ] && [ -x "$made" ]; then program=$made; fi
done
if [ -z "$program" ]; then
  echo "fuzz: no stoker to make seeds with: make build" >&2
  exit 1
fi
.venv/bin/python tools/fuzz_seeds.py --stoker "$program" --out build-fuzz/seeds
if build-fuzz/fuzz/fuzz_canary -max_total_time=60 -artifact_prefix=build-fuzz/ \
    >build-fuzz/canary.log 2>&1; then
  echo "fuzz: the canary was not found: the fuzzer does not work here" >&2
  exit 1
fi
if [ $# -eq 0 ]; then
  for source in fuzz/*.cpp; do
    name=$(basename "$source" .cpp)
    if [ "$name" != canary ]; then set -- "$@" "$name"; fi
  done
fi
failed=
for name in "$@"; do
  seeds=build-fuzz/seeds/$name
  mkdir -p "build-fuzz/corpus/$name" "$seeds"
  log=build-fuzz/$name.log
  if build-fuzz/fuzz/fuzz_"$name" "build-fuzz/corpus/$name" "$seeds" -max_total_time="$seconds" \
      -timeout=20 -rss_limit_mb=2048 -max_len=65536 -artifact_prefix="build-fuzz/$name-" \
      -print_final_stats=1 >"$log" 2>&1; then
    result="no finding"
  else
    result="FAILED, see $log: $(grep -m1 -E 'ERROR: |SUMMARY: ' "$log" || tail -1 "$log")"
    failed="$failed $name"
  fi
  echo "fuzz: $name: $(sed -n 's/^stat::number_of_executed_units: *//p' "$log") runs in" \
    "$seconds s, coverage $(grep -oE 'cov: [0-9]+' "$log" | tail -1 | cut -d' ' -f2): $result"
done
if [ -n "$failed" ]; then
  echo "fuzz: findings in:$failed" >&2
  exit 1
fi
