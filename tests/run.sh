#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 the layerbench authors
# SPDX-License-Identifier: Apache-2.0
# Sets up, builds and runs all tests: warnings as errors, without vendor libraries, under
# sanitizers; format and lint first. tests/run.sh PRESET... runs only those (dev reference asan).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

presets=("$@")
((${#presets[@]})) || presets=(dev reference asan)
jobs=$(nproc)

say() { printf '\n== %s\n' "$*"; }

tools/setup.sh --dev

say format
mapfile -t sources < <(git ls-files '*.hpp' '*.cpp')
clang-format-19 --dry-run --Werror "${sources[@]}"

for preset in "${presets[@]}"; do
  say "build $preset"
  cmake --preset "$preset" -DLAYERBENCH_TESTS=ON >/dev/null
  cmake --build --preset "$preset" -j "$jobs"
  if [[ $preset == dev ]]; then
    say lint
    # The suite and the tool include every header between them.
    printf '%s\n' bench/suite.cpp tools/*.cpp |
      xargs -P "$jobs" -n 1 clang-tidy-19 -p build/dev --quiet
  fi
  say "test $preset"
  ctest --preset "$preset" -j "$jobs"
done
