#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 the layerbench authors
# SPDX-License-Identifier: Apache-2.0
# Checks and measures what needs an NVIDIA GPU, on a machine that has one: all plans against the
# reference, memcheck on a small model, ResNet-50, VGG-16 and AlexNet in tf32 and bf16 beside their
# chains, one held against the other and both against PyTorch. Exits with 77 where no GPU can be
# used, with 4 where a check found something.
#   tools/gpu_check.sh [STEP...]      builds first; steps: describe verify memcheck inference training
#                                     validate torch [all, in that order]
#   tools/gpu_check.sh --build-only   for a machine with driver, CUDA and cuDNN but nothing to build
#                                     with: copy build/gpu/bundle there and start its gpu_check.sh
# Results go to $RESULTS [gpu_results in the current folder], each file below 16 MiB. Further settings:
# $MODELS, $DTYPES and $BATCHES (lists with blanks, which share the work out among several calls), $ROUNDS
# and $MOST_TIME of a case (seconds).
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
results=${RESULTS:-$PWD/gpu_results}
read -ra models <<<"${MODELS:-resnet50 vgg16 alexnet}"
read -ra dtypes <<<"${DTYPES:-tf32 bf16}"
rounds=${ROUNDS:-5}
most_time=${MOST_TIME:-15}
found=0

say() { printf '\n== %s (%d min)\n' "$*" $((SECONDS / 60)); }
# What goes wrong is said at the end; the steps behind it are worth having all the same.
attempt() {
  local code=0
  "$@" || code=$?
  ((code)) || return 0
  found=4
  echo "gpu_check: failed ($code): $*" >&2
}
# Rows that a library does not have (4) are in the file, and the others worth having.
measure() { "$@" || [[ $? == 4 ]] || return; }

# Builds into $1 all that runs on the GPU, and with it the libraries that such a machine lacks.
make_bundle() {
  local bundle=$1 build=build/gpu
  tools/setup.sh --dev
  # Ranks are for other programs, and MPI is not everywhere.
  cmake --preset cuda -B "$build" -DCMAKE_BUILD_TYPE=Release -DLAYERBENCH_TESTS=ON \
    -DLAYERBENCH_MPI=OFF >/dev/null
  cmake --build "$build" --target bench/all tools/all backend_tests run_tests device_properties
  rm -rf "$bundle"
  cmake --install "$build" --prefix "$bundle" --strip >/dev/null
  rm -rf "$bundle/include"
  mkdir -p "$bundle/lib"
  strip "$build"/tests/{backend_tests,run_tests,device_properties}
  cp "$build"/tests/{backend_tests,run_tests,device_properties} "$bundle/bin"
  ldd "$bundle"/bin/* | awk '$1 ~ /^lib(benchmark|dnnl|fmt|gomp)/ { print $3 }' | sort -u |
    xargs cp -Lt "$bundle/lib"
  cp tools/gpu_check.sh tests/torch_agreement.py tests/by_hand.py "$bundle"
}

usage() { sed -n '/^# Checks and/,/^set -/s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; }

all_steps=(describe verify memcheck inference training validate torch)
build_only=0
steps=()
for word in "$@"; do
  case $word in
    --help | -h) usage && exit ;;
    --build-only) build_only=1 ;;
    *)
      if [[ " ${all_steps[*]} " != *" $word "* ]]; then
        echo "gpu_check: no step '$word'; there are: ${all_steps[*]}" >&2
        exit 2
      fi
      steps+=("$word")
      ;;
  esac
done
if ((build_only && ${#steps[@]})); then
  echo "gpu_check: --build-only runs no steps" >&2
  exit 2
fi
((${#steps[@]})) || steps=("${all_steps[@]}")

if ((!build_only)) && [[ ! -e /dev/nvidiactl && ! -e /dev/dxg ]] && ! ldconfig -p | grep -q 'libcuda\.so\.1' &&
  [[ -z ${LD_LIBRARY_PATH:-} ]]; then
  echo "gpu_check: no NVIDIA driver was found, so no GPU can be used; --build-only builds for another machine" >&2
  exit 77
fi
if [[ ! -x $here/bin/bench_model ]]; then
  cd "$here/.."
  here=$PWD/build/gpu/bundle
  say build
  make_bundle "$here"
  ((!build_only)) || exit 0
fi

# cuDNN and its like may have come with PyTorch alone.
wheels=$(python3 -c 'import glob, site; print(":".join(d for s in site.getsitepackages()
  for d in glob.glob(s + "/nvidia/*/lib")))' 2>/dev/null || true)
export LD_LIBRARY_PATH=$here/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}${wheels:+:$wheels}
bench=$here/bin
tool=$bench/layerbench
backends=$("$bench/bench_model" --backends)
cannot=$(sed -n 's/^cudnn *no: //p' <<<"$backends")
if [[ -n $cannot ]]; then
  echo "no GPU can be used: $cannot" >&2
  exit 77
fi
mkdir -p "$results"

describe() {
  attempt "$bench/device_properties" >"$results/device_properties.json"
  nvidia-smi -q >"$results/nvidia_smi.txt" 2>&1 || true
  "$bench/bench_model" --check-machine --backend=cudnn || true
}
verify() {
  local all
  all=$(IFS=, && echo "${models[*]}")
  attempt "$bench/backend_tests" --gtest_filter='random_shapes*' --gtest_brief=1
  # Those that need no shape files of the source.
  attempt "$bench/run_tests" --gtest_filter='TrainingChain.OfAResidual*:TrainingChain.In16*' --gtest_brief=1
  attempt "$bench/bench_model" --backend=cudnn --model="$all" --dtype=f32,tf32,f16,bf16 --batch=2 --verify \
    --benchmark_repetitions=1 --max-time=0 --benchmark_out="$results/verified.json"
  attempt "$bench/bench_gemm" --backend=cublas --model="$all" --dtype=f32,tf32,f16,bf16 --batch=16 --verify \
    --benchmark_repetitions=1 --max-time=0
  # Of these the library has not all.
  attempt measure "$bench/bench_gemm" --backend=cublas --model="$all" --dtype=f8_e4m3 --batch=16 --verify \
    --benchmark_repetitions=1 --max-time=0
}
memcheck() {
  if ! type compute-sanitizer >/dev/null 2>&1; then
    echo 'compute-sanitizer is not there: memory is not checked' >&2
    found=4
    return
  fi
  for phase in inference training; do
    # Libraries try calls that may fail.
    attempt compute-sanitizer --tool memcheck --report-api-errors no --error-exitcode 1 "$bench/bench_model" --backend=cudnn \
      --model=lenet5 --batch=2 --phase="$phase" --chain --benchmark_repetitions=1 \
      --benchmark_min_time=0.001 --max-time=0
  done
}
# A phase at these batches: rows in the model's state and hot, chains with clocks inside.
run_models() {
  local phase=$1
  shift
  for model in "${models[@]}"; do
    for batch in "$@"; do
      for dtype in "${dtypes[@]}"; do
        local name=$results/${phase}_${model}_${dtype}_batch$batch
        attempt measure "$bench/bench_model" --backend=cudnn --model="$model" --phase="$phase" --dtype="$dtype" \
          --batch="$batch" --cache=model,hot --chain=layers --plans=measured \
          --benchmark_repetitions="$rounds" --max-time="$most_time" --benchmark_out="$name.json" \
          >"$name.txt"
        tail -n 12 "$name.txt"
      done
    done
  done
}
inference() {
  local batches
  read -ra batches <<<"${BATCHES:-1 32 128}"
  run_models inference "${batches[@]}"
}
training() {
  local batches
  read -ra batches <<<"${BATCHES:-32 128}"
  run_models training "${batches[@]}"
}
validate() {
  for phase in inference training; do
    local files=("$results/${phase}"_*_batch*.json)
    [[ -e ${files[0]} ]] || continue
    for format in json text; do
      attempt measure "$tool" validate "${files[@]}" --format="$format" \
        -o "$results/validation_$phase.$format"
    done
    cat "$results/validation_$phase.text" || true
  done
}
torch() {
  attempt python3 "$here/torch_agreement.py" --bench "$bench" --tool "$tool" --results "$results"
}

for step in "${steps[@]}"; do
  say "$step"
  "$step"
done
printf '\nEvery row: %s\n' "$results"
exit $found
