#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 the layerbench authors
# SPDX-License-Identifier: Apache-2.0
# Sets up, builds, and times every layer of ResNet-50, VGG-16 and AlexNet on this machine (batch 1,
# f32, all cores); ends with the images/s that the layers add up to, and with what the models take
# when they run whole.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

results=build/results/quickstart.json

tools/setup.sh
cmake --preset release -DLAYERBENCH_TESTS=OFF >/dev/null
cmake --build --preset release --target bench_model layerbench_tool
mkdir -p "$(dirname "$results")"
# What to know before some minutes are spent on it.
build/release/bench/bench_model --check-machine || true
rm -f "$results.partial" # of a start that was interrupted
build/release/bench/bench_model --model=resnet50,vgg16,alexnet --batch=1 --dtype=f32 \
  --cache=model,hot --chain --budget=30 --benchmark_out="$results"
printf '\nEvery row, with its spread and what it ran on: %s\n' "$results"
printf 'Look again: build/release/tools/layerbench predict %s\n' "$results"
