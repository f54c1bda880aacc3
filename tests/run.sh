#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 the layerbench authors
# SPDX-License-Identifier: Apache-2.0
# Sets up, builds and runs all tests: warnings as errors (cuda: with the backends for NVIDIA GPUs,
# where there is a CUDA toolkit; dev: without), without vendor libraries (reference: the tests that
# they change), under sanitizers (asan); format and lint first.
# tests/run.sh PRESET... runs only those.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

presets=("$@")
if ! ((${#presets[@]})); then
  presets=(cuda reference asan)
  if [[ ! -e ${CUDAToolkit_ROOT:-/usr/local/cuda}/bin/nvcc ]] && ! type nvcc >/dev/null 2>&1; then
    presets=(dev reference asan)
    echo "no CUDA toolkit: the backends for NVIDIA GPUs are neither built nor tested"
  fi
fi
jobs=$(nproc)

say() { printf '\n== %s (%d min)\n' "$*" $((SECONDS / 60)); }

tools/setup.sh --dev

say format
mapfile -t sources < <(git ls-files '*.hpp' '*.cpp')
clang-format-19 --dry-run --Werror "${sources[@]}"

for preset in "${presets[@]}"; do
  say "build $preset"
  cmake --preset "$preset" -DLAYERBENCH_TESTS=ON >/dev/null
  targets=() run=() linted=()
  case $preset in
    reference) targets=(tests_of_backends) run=(-L backend) ;;
    asan) targets=(all) ;;
    *)
      targets=(all experiments)
      # These include every header between them; the last are all sources of the tool.
      linted=(bench/suite.cpp bench/bench_allreduce.cpp
        "build/$preset/tools/CMakeFiles/layerbench_tool.dir/Unity"/*.cxx)
      ;;
  esac
  cmake --build --preset "$preset" -j "$jobs" --target "${targets[@]}"
  if ((${#linted[@]})); then
    say "lint $preset"
    printf '%s\n' "${linted[@]}" |
      xargs -P "$jobs" -n 1 clang-tidy-19 -p "build/$preset" --quiet --checks=-bugprone-suspicious-include
  fi
  say "test $preset"
  ctest --preset "$preset" -j "$jobs" "${run[@]}"
done
