#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 the layerbench authors
# SPDX-License-Identifier: Apache-2.0
# On a machine with an NVIDIA GPU: builds with its libraries, runs the tests that use it, measures
# ResNet-50, VGG-16 and AlexNet in tf32 and bf16 beside their chains, and holds one against the
# other. Exits with 77 where no GPU can be used.
# tools/gpu_check.sh [DIRECTORY]   where results go [build/results/gpu]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

results=${1:-build/results/gpu}
build=build/gpu
bench=$build/bench/bench_model
tool=$build/tools/layerbench

say() { printf '\n== %s (%d min)\n' "$*" $((SECONDS / 60)); }

say build
tools/setup.sh --dev
cmake --preset cuda -B "$build" -DCMAKE_BUILD_TYPE=Release -DLAYERBENCH_TESTS=ON >/dev/null
cmake --build "$build"
cannot=$("$bench" --backends | sed -n 's/^cudnn *no: //p')
if [[ -n $cannot ]]; then
  echo "no GPU can be used: $cannot" >&2
  exit 77
fi

say tests
ctest --test-dir "$build" -R '^(backend|cudnn|cublas|gpu|nccl)' --output-on-failure
if type compute-sanitizer >/dev/null 2>&1; then
  compute-sanitizer --tool memcheck --error-exitcode 1 "$bench" --backend=cudnn --model=lenet5 \
    --chain --benchmark_min_time=0.001 --max-time=0
else
  echo 'compute-sanitizer is not there: memory is not checked'
fi

say measure
mkdir -p "$results"
for batch in 1 32 128; do
  for dtype in tf32 bf16; do
    name=$results/inference_${dtype}_batch$batch
    # Cases that fail (4) are in the file, and the others worth having.
    "$bench" --backend=cudnn --dtype="$dtype" --batch="$batch" --cache=model,hot --chain=layers \
      --benchmark_out="$name.json" >"$name.txt" || [[ $? == 4 ]]
  done
done

say validate
"$tool" validate "$results"/inference_*.json -o "$results/validation.json" --format=json || [[ $? == 4 ]]
"$tool" validate "$results"/inference_*.json || [[ $? == 4 ]]
printf '\nEvery row: %s\n' "$results"
