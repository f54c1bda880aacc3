#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 the layerbench authors
# SPDX-License-Identifier: Apache-2.0
# Sets up, builds, and times every layer of ResNet-50, VGG-16 and AlexNet on this machine (batch 1,
# f32, all cores); ends with the predicted and the measured time of a step of each, the path of a
# report, and what to type next.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

results=build/results/quickstart.json
report=build/results/quickstart.html
bench=build/release/bench/bench_model
tool=build/release/tools/layerbench

tools/setup.sh
cmake --preset release -DLAYERBENCH_TESTS=OFF >/dev/null
cmake --build --preset release --target bench_model bench_peak layerbench_tool
mkdir -p "$(dirname "$results")"
# What to know before some minutes are spent on it.
"$bench" --check-machine || (($? != 4)) ||
  echo 'measuring anyway: expect larger errors than those in README.md; repeat on an idle machine'
rm -f "$results.partial" # of a start that was interrupted
# In 30 seconds, preparation included. A slow or busy machine gets fewer rounds, and leaves out what
# does not fit (exit code 4).
code=0
"$bench" --model=resnet50,vgg16,alexnet --batch=1 --dtype=f32 \
  --cache=model,hot --chain --budget=30 --benchmark_out="$results" || code=$?
((code == 0 || code == 4)) || exit "$code"
"$tool" report --quiet "$results" -o "$report" || true
cat <<END

report with all layers, for a browser: $report
every timing, with its conditions: $results

next:
  $tool predict $results    # the slowest layers
  $tool list    # other networks
  $bench --model=mobilenet_v2 --chain --benchmark_out=build/mobilenet.json
  README.md, "Your PyTorch model", and docs/tutorial.md
END
exit "$code"
