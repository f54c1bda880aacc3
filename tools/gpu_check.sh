#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 the layerbench authors
# SPDX-License-Identifier: Apache-2.0
# Checks and measures what needs an NVIDIA GPU, in steps of at most three minutes. Each step writes one
# archive, $RESULTS/STEP.tar.gz (at most 4 MiB), also if it is interrupted. What a step skipped is on
# stdout and in the archive's skipped.txt; what failed is in its failed.txt.
#   tools/gpu_check.sh [STEP...]      builds if needed, then runs these steps
#                                     [all but first-ten-minutes]
#   tools/gpu_check.sh --build-only   for a machine without a compiler: writes build/gpu/bundle.tar.xz;
#                                     unpack it there and start bundle/gpu_check.sh
#   tools/gpu_check.sh --pack BUILD   writes BUILD/bundle.tar.xz of programs that are built already
#
# Steps:
#   describe           the GPU, its driver and libraries, the machine
#   first-ten-minutes  the first run on a new kind of GPU: describe, verify with small models, then a
#                      model with its chain, peaks, a large product, PyTorch, nccl, memcheck; three
#                      times $BUDGET
#   verify             tests of plans and training; each row against the reference, in all types
#   memcheck           SMALL_MODELS in f32 and bf16 under compute-sanitizer
#   inference training rows in the states model and hot, and the chain
#   peaks              FLOP/s of large products, bandwidths; a product in a burst and at a steady clock
#   nccl               collectives of MODELS by NCCL in one process, on all GPUs that it sees
#   validate           predictions against the chains of all archives, as text and JSON
#   torch              the same models in PyTorch
#   summary            one page on all archives, also in $RESULTS/summary.txt; needs no GPU
#
# Settings, as environment variables; lists have blanks between their values:
#   RESULTS [gpu_results]  BUDGET: seconds per step [180]
#   MODELS [resnet50]  DTYPES [bf16]  BATCHES [32]  PLANS: heuristic or measured [heuristic]
#   ROUNDS: least number of rounds [5]  MAX_TIME: seconds per case [15]
#   JOBS: processes that check side by side [one per processor, at most 8]; timings run alone
#   SMALL_MODELS [lenet5 resnet18] of first-ten-minutes and memcheck
#   SMALL_DTYPES [f32 tf32 f16 bf16] of first-ten-minutes and verify
#   PRODUCT: extent of the large product [8192]
#   PEAKS: filter of the rows of bench_peak [.]
#   BACKEND_TESTS and SESSION_TESTS: Google Test filters
#
# Exit codes: 0 all checks that ran passed, 2 usage, 4 a check failed or a row or chain is missing,
# 77 no GPU can be used, 130 interrupted. Skipped checks do not change the exit code.
# SIGINT or SIGTERM ends the program; sent to a step's process (its id is printed), it ends the step.
# Steps and traps call functions by name.
# shellcheck disable=SC2317
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
results=${RESULTS:-$PWD/gpu_results}
read -ra models <<<"${MODELS:-resnet50}"
read -ra dtypes <<<"${DTYPES:-bf16}"
read -ra batches <<<"${BATCHES:-32}"
read -ra small_models <<<"${SMALL_MODELS:-lenet5 resnet18}"
read -ra small_dtypes <<<"${SMALL_DTYPES:-f32 tf32 f16 bf16}"
budget=${BUDGET:-180}
plans=${PLANS:-heuristic}
rounds=${ROUNDS:-5}
max_time=${MAX_TIME:-15}
product=${PRODUCT:-8192}
peaks=${PEAKS:-.}
backend_tests=${BACKEND_TESTS:-random_shapes*:fused_shapes*-*s8:*two_threads}
session_tests=${SESSION_TESTS:-TrainingChain.*}
processors=$(nproc)
jobs=${JOBS:-$((processors < 8 ? processors : 8))}
# An interrupted program has this many seconds to write its results.
grace=$((budget / 20 + 1))
archive_limit=$((4 << 20))
bundle_limit=$((60 << 20))

all_steps=(describe verify memcheck inference training peaks nccl validate torch summary)
programs=(bench_model bench_gemm bench_conv bench_peak bench_allreduce)

usage() { sed -n '/^# Checks and/,/^# SIGINT/s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; }
say() { printf '\n== %s (%d min)\n' "$*" $((SECONDS / 60)); }
wrong_usage() {
  echo "gpu_check: $*" >&2
  exit 2
}

# ---- the bundle

build_programs() {
  tools/setup.sh --dev
  # Ranks are for other programs, and a machine with a GPU may have neither oneDNN nor protobuf nor SQLite.
  cmake --preset cuda -B "$1" -DCMAKE_BUILD_TYPE=Release -DLAYERBENCH_TESTS=ON \
    -DLAYERBENCH_ONEDNN=OFF -DLAYERBENCH_MPI=OFF -DLAYERBENCH_PROTOBUF=OFF -DLAYERBENCH_SQLITE=OFF >/dev/null
  cmake --build "$1" --target "${programs[@]}" layerbench_tool backend_tests session_tests device_properties
}

# pack_bundle BUILD: copies what runs on the GPU, with the libraries that such a machine lacks, into
# BUILD/bundle, and packs it.
pack_bundle() {
  local build=$1 bundle=$1/bundle file size
  rm -rf "$bundle" "$bundle.tar.xz"
  mkdir -p "$bundle"/{bin,lib,share/layerbench}
  for file in "${programs[@]/#/bench/}" tools/layerbench tests/{backend_tests,session_tests,device_properties}; do
    strip -o "$bundle/bin/${file##*/}" "$build/$file"
  done
  ldd "$bundle"/bin/* | awk '$1 ~ /^lib(benchmark|fmt|gtest|gmock|hwloc|udev)/ && $3 ~ /^\// { print $3 }' | sort -u |
    xargs -r cp -Lt "$bundle/lib"
  cp -r shapes "$bundle/share/layerbench"
  cp tools/gpu_check.sh tests/torch_agreement.py tests/by_hand.py "$bundle"
  tar -C "$build" -cf - bundle | xz -T0 >"$bundle.tar.xz.new"
  mv "$bundle.tar.xz.new" "$bundle.tar.xz"
  size=$(stat -c %s "$bundle.tar.xz")
  printf '%s: %d KiB packed, %d KiB unpacked; needs %s and %s or newer, and %s\n' "$bundle.tar.xz" $((size >> 10)) \
    "$(du -sk "$bundle" | cut -f 1)" "$(newest_symbols "$bundle" GLIBC)" "$(newest_symbols "$bundle" GLIBCXX)" \
    "$(objdump -p "$bundle"/bin/* | awk '$1 == "NEEDED" && $2 ~ /^lib(cu|nv|nccl)/ { print $2 }' | sort -u | xargs)"
  if ((size > bundle_limit)); then
    echo "gpu_check: $bundle.tar.xz is larger than $((bundle_limit >> 20)) MiB" >&2
    return 1
  fi
}

# newest_symbols BUNDLE LIBRARY: the newest version of the library's symbols that the programs use.
newest_symbols() {
  objdump -T "$1"/bin/* "$1"/lib/* | grep -oE "\b$2_[0-9]+(\.[0-9]+)+" | sort -uV | tail -n 1
}

# ---- within a step: $step, its $folder and $deadline

# skip WHAT WHY: both go to stdout and into the archive.
skip() { printf 'skipped: %s: %s\n' "$1" "$2" | tee -a "$folder/skipped.txt"; }
fail() { printf 'failed: %s\n' "$*" | tee -a "$folder/failed.txt" >&2; }

# Writes the archive as it is so far, whole or not at all.
pack() {
  local new=$results/.$step.tar.gz.new largest
  while true; do
    tar -C "$work" --exclude='*.lock' --exclude="$step/inputs" -czf "$new" "$step"
    (($(stat -c %s "$new") > archive_limit)) || break
    largest=$(find "$folder" -type f ! -path "$folder/inputs/*" -printf '%s %p\n' | sort -n | tail -n 1)
    rm "${largest#* }"
    skip "${largest##*/}" "too large for the archive (${largest%% *} bytes)"
  done
  mv "$new" "$results/$step.tar.gz"
}

# Ends what runs; the step packs what there is and starts nothing more.
stop() {
  ((!stopped)) || return 0
  stopped=1
  local pid
  for pid in "${!running[@]}"; do kill -INT "$pid" 2>/dev/null || true; done
}

# only_left_out OUTPUT: whether rows failed because --budget left no time for them, and for no other reason.
only_left_out() {
  grep -q "ERROR OCCURRED: 'left out: " "$1" && ! grep "ERROR OCCURRED: '" "$1" | grep -qv "'left out: "
}

# record PID: how that command ended; waits for it.
record() {
  local pid=$1 code name=${running[$1]} seconds
  while true; do
    code=0
    wait "$pid" || code=$?
    # A signal ends the waiting, not the command.
    kill -0 "$pid" 2>/dev/null || break
  done
  unset "running[$pid]"
  seconds=$((SECONDS - began[pid]))
  printf '%3d %4d s  %s: %s\n' "$code" "$seconds" "$name" "${commands[$pid]}" >>"$folder/commands.txt"
  if ((code == 0)) && grep -q 'cudnn is left out' "$folder/$name.txt"; then
    fail "$name: its tests did not run on the GPU"
  elif ((code == 0)); then
    echo "ok: $name ($seconds s)"
  elif [[ " ${accepted[$pid]} " == *" $code "* ]]; then
    skip "$name" "incomplete (exit code $code); see $name.txt"
  elif ((code == 4)) && only_left_out "$folder/$name.txt"; then
    skip "$name" "rows left out after $seconds s, when its time was over; see $name.txt"
  elif ((stopped)) && ((code >= 128)); then
    skip "$name" "interrupted after $seconds s"
  elif ((code == 124)); then
    skip "$name" "cut short after $seconds s, when its time was over"
  elif ((code == 137 && seconds >= limits[pid])); then
    skip "$name" "killed after $seconds s: it did not end when its time was over"
  else
    fail "$name (exit code $code): ${commands[$pid]}"
    tail -n 20 "$folder/$name.txt" | sed 's/^/  | /'
  fi
  pack
}

# finish [MOST]: waits until at most that many commands run [0].
finish() {
  local pid
  while ((${#running[@]} > ${1:-0})); do
    for pid in "${!running[@]}"; do
      # Of several, any may end first.
      if ((${#running[@]} == 1)) || ! kill -0 "$pid" 2>/dev/null; then record "$pid"; fi
    done
    ((${#running[@]} <= ${1:-0})) || sleep 0.1 || true
  done
}

# start [--accept CODE] [--share N] NAME COMMAND...: runs it beside others, at most until the deadline
# or for an N-th of the time until then, with its output in NAME.txt. In the command,
# --budget=BUDGET becomes the seconds that it has for measuring.
start() {
  local accept='' share=1 seconds name
  while [[ $1 == --* ]]; do
    case $1 in
      --accept) accept=$2 ;;
      --share) share=$2 ;;
    esac
    shift 2
  done
  name=$1
  shift
  finish $((jobs - 1))
  seconds=$(((deadline - SECONDS) / share - grace))
  if ((stopped)); then
    skip "$name" "interrupted"
  elif ((seconds < 1)); then
    skip "$name" "no time left"
  else
    timeout -s INT -k "$grace" "$seconds" "${@/#--budget=BUDGET/--budget=$(((seconds * 4 + 4) / 5))}" \
      >"$folder/$name.txt" 2>&1 &
    running[$!]=$name
    began[$!]=$SECONDS
    limits[$!]=$seconds
    commands[$!]=$*
    accepted[$!]=$accept
  fi
}

# The same with nothing beside it.
run() {
  finish
  start "$@"
  finish
}

describe() {
  run device_properties "$bin/device_properties"
  run backends "$bin/bench_model" --backends
  # Its exit code says whether the machine is quiet.
  run machine bash -c '"$@" || true' bash "$bin/bench_model" --check-machine --backend=cudnn
  if type nvidia-smi >/dev/null 2>&1; then
    run nvidia_smi nvidia-smi -q
  else
    skip nvidia_smi "nvidia-smi is not installed"
  fi
  {
    uname -srm
    echo "$processors processors"
    head -n 1 /proc/meminfo
    getconf GNU_LIBC_VERSION
    env | grep -E '^(CUDA|CUDNN|CUBLAS|NVIDIA|NCCL|LAYERBENCH|BENCHMARK|OMP|LD_LIBRARY)' | sort || true
  } >"$folder/system.txt"
}

# check_models SHARE MODEL...: each row against the reference, and the chains. None takes more than a
# SHARE-th of the time that is left.
check_models() {
  local model phase dtype
  for model in "${@:2}"; do
    for phase in inference training; do
      for dtype in "${small_dtypes[@]}"; do
        start --share "$1" "verified_${phase}_${model}_$dtype" "$bin/bench_model" --backend=cudnn --model="$model" \
          --phase="$phase" --dtype="$dtype" --batch=2 --verify --chain --wide --benchmark_repetitions=1 \
          --benchmark_min_time=0.001 --max-time=0 --budget=BUDGET \
          --benchmark_out="$folder/verified_${phase}_${model}_$dtype.json"
      done
    done
  done
}

# start_tests NAME PROGRAM FILTER: in as many processes as may run. Google Test passes where no test matches.
start_tests() {
  local index count
  count=$("$bin/$2" --gtest_filter="$3" --gtest_list_tests 2>&1 | grep -c '^  ' || true)
  ((count)) || fail "$1: no test of $2 matches '$3'"
  ((count < jobs)) || count=$jobs
  for ((index = 0; index < count; ++index)); do
    start "${1}_$index" env GTEST_TOTAL_SHARDS="$count" GTEST_SHARD_INDEX="$index" "$bin/$2" \
      --gtest_filter="$3" --gtest_brief=1
  done
}

# The tests of plans and training.
check_plans() {
  start_tests random_shapes backend_tests "$backend_tests"
  start_tests training_chains session_tests "$session_tests"
}

# check_products DTYPE...: matrix products of $products_of by cuBLASLt, in 8 bits also convolutions by cuDNN. The
# libraries lack some of both in 8 bits.
check_products() {
  local dtype list accept
  list=$(IFS=, && echo "${products_of[*]}")
  for dtype in "$@"; do
    accept=0
    [[ $dtype != f8* ]] || accept=4
    start --accept "$accept" "products_$dtype" "$bin/bench_gemm" --backend=cublas --model="$list" --dtype="$dtype" \
      --batch=16 --verify --benchmark_repetitions=1 --max-time=0 --budget=BUDGET
    ((accept == 0)) || start --accept "$accept" "convolutions_$dtype" "$bin/bench_conv" --backend=cudnn --model="$list" \
      --dtype="$dtype" --batch=16 --benchmark_repetitions=1 --max-time=0 --budget=BUDGET
  done
}

verify() {
  check_plans
  products_of=("${models[@]}")
  check_products "${small_dtypes[@]}" f8_e4m3
  check_models 1 "${models[@]}"
  finish
}

# time_model SHARE PHASE MODEL DTYPE BATCH NAME OPTION...: rows and chain, of which none may be missing.
time_model() {
  local share=$1 name=$6
  run --share "$share" "$name" "$bin/bench_model" --backend=cudnn --phase="$2" --model="$3" \
    --dtype="$4" --batch="$5" --chain=layers --plans="$plans" --wide --benchmark_repetitions="$rounds" \
    --max-time="$max_time" --budget=BUDGET --benchmark_out="$folder/$name.json" "${@:7}"
  [[ ! -e $folder/$name.txt ]] || tail -n 12 "$folder/$name.txt"
}

# time_models PHASE: each case has its share of the time.
time_models() {
  local model batch dtype cases=$((${#models[@]} * ${#batches[@]} * ${#dtypes[@]}))
  for model in "${models[@]}"; do
    for batch in "${batches[@]}"; do
      for dtype in "${dtypes[@]}"; do
        time_model $((cases--)) "$1" "$model" "$dtype" "$batch" "${1}_${model}_${dtype}_batch$batch" --cache=model,hot
      done
    done
  done
}
inference() { time_models inference; }
training() { time_models training; }

# time_product SHARE CLOCKS
time_product() {
  cat >"$folder/product_shape.json" <<JSON
{"name": "product", "title": "one large product", "source": "none", "layers": [
 {"name": "square", "op": "gemm", "shape": {"m": $product, "n": $product, "k": $product}}]}
JSON
  run --share "$1" "product_$2" "$bin/bench_gemm" --backend=cublas --model="$folder/product_shape.json" --dtype=bf16 \
    --cache=hot --clocks="$2" --plans="$plans" --benchmark_repetitions="$rounds" --max-time="$max_time" \
    --budget=BUDGET --benchmark_out="$folder/product_$2.json"
}

# peaks [SHARE]: in each of the types; then the large product. The three parts take at most a SHARE-th, a (SHARE - 1)-th
# and a (SHARE - 2)-th of the time that is left [3].
peaks() {
  local list share=${1:-3}
  list=$(IFS=, && echo "${small_dtypes[*]}")
  run --share "$share" peaks "$bin/bench_peak" --backend=cudnn --dtype="$list" --benchmark_filter="$peaks" \
    --benchmark_repetitions="$rounds" --max-time="$max_time" --budget=BUDGET --benchmark_out="$folder/peaks.json"
  time_product $((share - 1)) burst
  time_product $((share - 2)) steady
}

# nccl [SHARE]: as for peaks. The program does not start without NCCL's library.
nccl() {
  local why share=${1:-3}
  if ! why=$("$bin/bench_allreduce" --version 2>&1); then
    skip nccl "bench_allreduce does not start: $(head -n 1 <<<"$why")"
    return
  fi
  time_collectives "$share" nccl
  time_collectives $((share - 1)) nccl_registered --registered
  time_collectives $((share - 2)) nccl_graph --timing=graph
}
# time_collectives SHARE NAME OPTION...: --yes, since a single GPU sends nothing.
time_collectives() {
  local list
  list=$(IFS=, && echo "${models[*]}")
  run --accept 77 --share "$1" "$2" "$bin/bench_allreduce" --backend=nccl --yes --model="$list" \
    --collectives=all_reduce,all_gather,reduce_scatter,broadcast,all_to_all --verify \
    --benchmark_repetitions="$rounds" --max-time="$max_time" --budget=BUDGET --benchmark_out="$folder/$2.json" "${@:3}"
}

memcheck() {
  local model phase dtype sanitizer
  sanitizer=$(PATH=$PATH:${CUDA_HOME:-/usr/local/cuda}/bin type -P compute-sanitizer || true)
  if [[ -z $sanitizer ]]; then
    skip memcheck "compute-sanitizer is not installed"
    return
  fi
  for model in "${small_models[@]}"; do
    for phase in training inference; do
      for dtype in f32 bf16; do
        # Libraries try calls that may fail.
        start "memcheck_${phase}_${model}_$dtype" "$sanitizer" --tool memcheck --report-api-errors no \
          --error-exitcode 1 "$bin/bench_model" --backend=cudnn --model="$model" --dtype="$dtype" --batch=2 \
          --phase="$phase" --chain --benchmark_repetitions=1 --benchmark_min_time=0.001 --max-time=0
      done
    done
  done
  finish
}

# compare_torch PART...: of torch_agreement.py, each with its share of the time.
compare_torch() {
  local part missing parts=$#
  if ! missing=$(python3 -c 'import importlib.util
print(*(each for each in ("torch", "torchvision") if not importlib.util.find_spec(each)))' 2>&1); then
    missing=python3
  fi
  if [[ -n $missing ]]; then
    skip torch "not installed: $missing"
    return
  fi
  # It reads the timings of models from one folder.
  mkdir -p "$folder/inputs"
  unpack "$work/unpacked"
  for part in "$work/unpacked"/{first-ten-minutes,inference,training}/*_batch*.json "$folder"/*_batch*.json; do
    [[ ! -e $part ]] || cp "$part" "$folder/inputs"
  done
  for part in "$@"; do
    ln -sfn "../torch_$part.json" "$folder/inputs/torch.json"
    run --accept 77 --share $((parts--)) "torch_$part" python3 "$here/torch_agreement.py" --bench "$bin" \
      --tool "$tool" --results "$folder/inputs" --plans "$plans" --parts "$part"
    [[ ! -e $folder/torch_$part.txt ]] || tail -n 20 "$folder/torch_$part.txt"
  done
}
torch() { compare_torch models product convolutions; }

first_ten_minutes() {
  local model dtype batch
  describe
  products_of=("${small_models[@]}")
  check_models 2 "${small_models[@]}"
  check_plans
  check_products f8_e4m3
  finish
  # What a part leaves of its time is the next one's.
  deadline=$((deadline + budget))
  model=${models[0]} dtype=${dtypes[0]} batch=${batches[0]}
  time_model 2 inference "$model" "$dtype" "$batch" "inference_${model}_${dtype}_batch$batch"
  time_model 1 training "$model" "$dtype" "$batch" "training_${model}_${dtype}_batch$batch"
  deadline=$((deadline + budget))
  peaks 8
  nccl 6
  compare_torch product models
  memcheck
}

# ---- what needs no GPU

# unpack FOLDER: all archives, there.
unpack() {
  local archive
  rm -rf "$1"
  mkdir -p "$1"
  for archive in "$results"/*.tar.gz; do
    [[ ! -e $archive ]] || tar -C "$1" -xzf "$archive" || echo "gpu_check: $archive cannot be unpacked" >&2
  done
}

# validate_files COMMAND...: calls it with a name and the result files that have it, which are the
# timings of a step and a phase: validate merges files.
validate_files() {
  local folder_of phase files
  for folder_of in "$work/unpacked"/*/; do
    for phase in inference training; do
      mapfile -t files < <(find "$folder_of" -maxdepth 1 -name "${phase}_*_batch*.json" | sort)
      ((!${#files[@]})) || "$@" "$(basename "$folder_of")_$phase" "${files[@]}"
    done
  done
}

validate() {
  unpack "$work/unpacked"
  validate_files write_validation
  finish
  compgen -G "$folder/*.json" >/dev/null || skip validation "no archive in $results has timings"
}
write_validation() {
  local name=$1
  run --accept 4 "$name" "$tool" validate "${@:2}"
  [[ ! -e $folder/$name.txt ]] || cat "$folder/$name.txt"
  run --accept 4 "${name}_json" "$tool" validate "${@:2}" --format=json -o "$folder/$name.json"
}

summary() {
  unpack "$work/unpacked"
  write_summary >"$results/.summary.new"
  mv "$results/.summary.new" "$results/summary.txt"
  cat "$results/summary.txt"
}
write_summary() {
  local each name
  echo "GPU check: $results"
  cat "$work/unpacked"/*/nvidia_smi.txt 2>/dev/null |
    sed -nE 's/^ *(Product Name|Driver Version|CUDA Version) *: /\1: /p' | sort -u || true
  printf '\n%-20s %8s %6s %7s %8s\n' step KiB files failed skipped
  for each in "$work/unpacked"/*/; do
    name=$(basename "$each")
    [[ -d $each ]] || continue
    printf '%-20s %8d %6d %7d %8d\n' "$name" $(($(stat -c %s "$results/$name.tar.gz") >> 10)) \
      "$(find "$each" -type f | wc -l)" "$(count_lines "$each/failed.txt")" "$(count_lines "$each/skipped.txt")"
  done
  for each in "$work/unpacked"/*/{failed,skipped}.txt; do
    [[ ! -e $each ]] || { printf '\n%s\n' "$(basename "$(dirname "$each")")" && cat "$each"; }
  done
  validate_files print_validation
}
count_lines() { if [[ -e $1 ]]; then wc -l <"$1"; else echo 0; fi; }
print_validation() {
  printf '\n%s\n' "$1"
  "$tool" validate "${@:2}" 2>&1 || true
}

# ---- the program

build_only=0
pack_only=''
steps=()
while (($#)); do
  case $1 in
    --help | -h) usage && exit ;;
    --build-only) build_only=1 ;;
    --pack)
      (($# > 1)) || wrong_usage "--pack needs the folder of a build"
      pack_only=$2
      shift
      ;;
    *)
      known=" ${all_steps[*]} first-ten-minutes "
      [[ $known == *" $1 "* ]] || wrong_usage "no step '$1'; there are:$known"
      steps+=("$1")
      ;;
  esac
  shift
done
if [[ ($build_only == 1 || -n $pack_only) && ${#steps[@]} != 0 ]]; then
  wrong_usage "--build-only and --pack run no steps"
fi
for number in BUDGET="$budget" ROUNDS="$rounds" PRODUCT="$product" JOBS="$jobs"; do
  [[ $number =~ =[1-9][0-9]*$ ]] || wrong_usage "$number is not a positive integer"
done
((${#steps[@]})) || steps=("${all_steps[@]}")

needs_gpu() { [[ $1 != summary && $1 != validate ]]; }
gpu_needed=0
for step in "${steps[@]}"; do
  if needs_gpu "$step"; then gpu_needed=1; fi
done

if [[ -n $pack_only ]]; then
  pack_only=$(cd "$pack_only" && pwd)
  cd "$here/.."
  pack_bundle "$pack_only"
  exit
fi
if ((!build_only && gpu_needed)) && [[ ! -e /dev/nvidiactl && ! -e /dev/dxg ]] &&
  ! PATH=$PATH:/sbin:/usr/sbin ldconfig -p 2>/dev/null | grep -q 'libcuda\.so\.1' && [[ -z ${LD_LIBRARY_PATH:-} ]]; then
  echo "gpu_check: no NVIDIA driver was found, so no GPU can be used; --build-only builds for another machine" >&2
  exit 77
fi
if [[ ! -x $here/bin/bench_model ]]; then
  cd "$here/.."
  here=$PWD/build/gpu/bundle
  if ((build_only)) || { ((gpu_needed)) || [[ ! -x $here/bin/layerbench ]]; }; then
    say build
    build_programs build/gpu
    pack_bundle build/gpu
  fi
  ((!build_only)) || exit 0
elif ((build_only)); then
  wrong_usage "this is a bundle; --build-only needs the source"
fi

# CUDA and cuDNN may have come with PyTorch alone.
wheels=$(python3 -c 'import glob, site; print(":".join(d for s in site.getsitepackages()
  for d in glob.glob(s + "/nvidia/*/lib")))' 2>/dev/null || true)
export LD_LIBRARY_PATH=$here/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}${wheels:+:$wheels}
bin=$here/bin
tool=$bin/layerbench
if ((gpu_needed)); then
  if ! backends=$("$bin/bench_model" --backends 2>&1); then
    printf 'gpu_check: no GPU can be used; the programs do not start:\n%s\n' "$backends" >&2
    exit 77
  fi
  cannot=$(sed -n 's/^cudnn *no: //p' <<<"$backends")
  if [[ -n $cannot ]]; then
    echo "gpu_check: no GPU can be used: $cannot" >&2
    exit 77
  fi
fi
mkdir -p "$results"
results=$(cd "$results" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Runs as a process: what ends it does not end the program.
run_step() {
  stopped=0
  running=() began=() limits=() commands=() accepted=()
  deadline=$((SECONDS + budget))
  trap stop INT TERM
  # Also after an error of this script.
  trap pack EXIT
  "${step//-/_}"
  finish
  ((!stopped)) || skip "$step" "interrupted"
  ((!stopped)) || exit 130
  [[ ! -e $folder/failed.txt ]] || exit 4
}

interrupted=0
step_process=0
# The step's process has its own handler.
interrupt() {
  ((!interrupted)) || return 0
  interrupted=1
  ((!step_process)) || kill -INT "$step_process" 2>/dev/null || true
}
trap interrupt INT TERM

exit_code=0
skipped_steps=()
for step in "${steps[@]}"; do
  if ((interrupted)); then
    skipped_steps+=("$step")
    continue
  fi
  folder=$work/$step
  if [[ $step == summary ]]; then
    say "$step"
    summary
    continue
  fi
  mkdir "$folder"
  run_step &
  step_process=$!
  say "$step, process $step_process"
  while true; do
    code=0
    wait "$step_process" || code=$?
    kill -0 "$step_process" 2>/dev/null || break
  done
  step_process=0
  case $code in
    0) ;;
    4) exit_code=4 ;;
    130) ((exit_code)) || exit_code=130 ;;
    *)
      fail "step $step (exit code $code)"
      exit_code=4
      pack
      ;;
  esac
  printf '%s: %d KiB\n' "$results/$step.tar.gz" $((($(stat -c %s "$results/$step.tar.gz") + 1023) >> 10))
done

if compgen -G "$work/*/skipped.txt" >/dev/null; then
  printf '\nSkipped:\n'
  for step in "${steps[@]}"; do
    [[ ! -e $work/$step/skipped.txt ]] || sed "s/^skipped: /  $step: /" "$work/$step/skipped.txt"
  done
fi
if ((interrupted)); then
  ((!${#skipped_steps[@]})) || printf 'skipped: %s: interrupted\n' "${skipped_steps[@]}"
  ((exit_code)) || exit_code=130
fi
exit "$exit_code"
