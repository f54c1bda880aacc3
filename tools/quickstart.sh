#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 the layerbench authors
# SPDX-License-Identifier: Apache-2.0
# Sets up, builds, and runs `layerbench quickstart`: times every layer of ResNet-50, VGG-16 and AlexNet
# on this machine, ends with the predicted and the measured time of a step of each, the path of a
# report, and what to type next.
set -euo pipefail
(($# == 0)) || { echo "tools/quickstart.sh: has no options: $*" >&2; exit 2; }
cd "$(dirname "${BASH_SOURCE[0]}")/.."

tools/setup.sh
cmake --preset release -DLAYERBENCH_TESTS=OFF >/dev/null
cmake --build --preset release --target bench_model bench_peak layerbench_tool
exec build/release/tools/layerbench quickstart --out=build/results
