#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 the layerbench authors
# SPDX-License-Identifier: Apache-2.0
# Sets up, builds and runs all tests: warnings as errors (dev), with the backends for NVIDIA GPUs
# where there is a CUDA toolkit (cuda: the tests that they change), without vendor libraries
# (reference: likewise), under sanitizers (asan); format and lint first.
# tests/run.sh PRESET... runs only those.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

presets=("$@")
if ! ((${#presets[@]})); then
  presets=(dev cuda reference asan)
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
  built=() run=()
  case $preset in
    cuda) built=(--target cuda_tests) run=(-R '^(backend_(cu|nccl)|bench_(driver|list|usage))') ;;
    reference) built=(--target backend_tests) run=(-L backend) ;;
  esac
  cmake --build --preset "$preset" -j "$jobs" "${built[@]}"
  if [[ $preset == dev ]]; then
    say lint
    # These include every header between them.
    printf '%s\n' bench/suite.cpp bench/bench_allreduce.cpp tools/*.cpp |
      xargs -P "$jobs" -n 1 clang-tidy-19 -p build/dev --quiet
  fi
  say "test $preset"
  ctest --preset "$preset" -j "$jobs" "${run[@]}"
done
