#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 the layerbench authors
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

usage() {
  cat <<'TEXT'
tests/run.sh [--full] [PRESET...]

Installs what is missing, checks the format, builds and runs the tests. CI runs it.

  tests/run.sh            all programs and tests with warnings as errors, the tests of the core (base,
                          shape, op, model, result) with sanitizers: preset cuda, or dev where there
                          is no CUDA toolkit. About twenty minutes on two cores.
  tests/run.sh --full     what a release needs: also the lint, the experiments, every header alone,
                          the installed package, the wheel that tools/wheel.sh compiles, the newest
                          Google Benchmark, the preset without vendor libraries (reference), all
                          tests under sanitizers (asan), and the tests of the reference backend for
                          another processor, in an emulator (aarch64, on Debian); build/site is the
                          site of results/, build/docs_site that of docs/. About an hour and a half on
                          two cores.
  tests/run.sh PRESET...  only these presets (cuda, dev, reference, asan, aarch64), with all their
                          tests.
  tests/run.sh --full PRESET...
                          these presets, with the lint, the experiments and the slow tests.
TEXT
}

full=false
presets=()
for argument in "$@"; do
  case $argument in
    -h | --help)
      usage
      exit 0
      ;;
    --full) full=true ;;
    cuda | dev | reference | asan | aarch64) presets+=("$argument") ;;
    *)
      echo "tests/run.sh: unknown argument '$argument'; see tests/run.sh --help" >&2
      exit 2
      ;;
  esac
done

jobs=$(nproc)
# Many tests wait, for mpirun or for a signal, and leave their processor to another one.
test_jobs=$((jobs + jobs / 2))
sanitized_core=OFF
not_run=()

# Processor seconds of all that ran and ended so far.
processor_seconds() { awk -v ticks="$(getconf CLK_TCK)" '{print int(($16 + $17) / ticks)}' "/proc/$$/stat"; }
say() { printf '\n== %s (%d s; %d s of processors)\n' "$*" "$SECONDS" "$(processor_seconds)"; }

configure() {
  cmake --preset "$1" -DLAYERBENCH_TESTS=ON -DLAYERBENCH_SANITIZED_CORE=$sanitized_core >/dev/null
}

# lint PRESET: the sources of the library, of which CMake writes those of backends, the tool and one
# program; they include every header.
lint() {
  say "lint $1"
  grep -o '"file": "[^"]*"' "build/$1/compile_commands.json" | cut -d '"' -f 4 |
    grep -E "^$PWD/src/|build/$1/(src|tools)/|/bench_conv[.]dir/" |
    xargs -P "$jobs" -n 1 clang-tidy-19 -p "build/$1" --quiet --extra-arg=-Qunused-arguments --checks=-bugprone-suspicious-include
}

# Debian has Google Benchmark 1.7. Builds one program, and the tests of all that uses Google
# Benchmark, with a newer one, of GitHub or in the folder GOOGLE_BENCHMARK_SOURCE.
newer_google_benchmark() {
  local version=1.9.5 folder=build/google_benchmark
  local source=${GOOGLE_BENCHMARK_SOURCE:-$folder/source}
  say "build with Google Benchmark $version"
  if [[ ! -e $source/CMakeLists.txt ]] &&
    ! git clone --quiet --depth 1 --branch "v$version" https://github.com/google/benchmark "$source"; then
    not_run+=("Google Benchmark $version: cannot be downloaded; set GOOGLE_BENCHMARK_SOURCE")
    return
  fi
  cmake -G Ninja -S "$source" -B "$folder/build" -DCMAKE_BUILD_TYPE=Release \
    -DBENCHMARK_ENABLE_TESTING=OFF -DCMAKE_INSTALL_LIBDIR=lib \
    -DCMAKE_INSTALL_PREFIX="$PWD/$folder/prefix" >/dev/null
  cmake --build "$folder/build" -j "$jobs" --target install >/dev/null
  cmake --preset dev -B "$folder/dev" -DLAYERBENCH_TESTS=ON \
    -Dbenchmark_DIR="$PWD/$folder/prefix/lib/cmake/benchmark" >/dev/null
  cmake --build "$folder/dev" -j "$jobs" --target bench_conv cli_tests google_tests
  ctest --test-dir "$folder/dev" --output-on-failure --no-tests=error -R '^(cli|google)$'
  # Selection and the writing and resuming of files, which run Google Benchmark's code.
  local conv=("$folder/dev/bench/bench_conv" --model=lenet5 --max-time=0 --cache=hot)
  "${conv[@]}" --benchmark_repetitions=1 --benchmark_filter=conv1 --benchmark_out="$folder/r.json"
  "${conv[@]}" --benchmark_repetitions=2 --benchmark_filter=conv1 --resume="$folder/r.json"
}

# results_site PRESET: the site of the stored results; its script in a browser, where there is one.
results_site() {
  local tool=build/$1/tools/layerbench
  say "site of results/"
  "$tool" site results -o build/site
  if type chromium >/dev/null 2>&1; then
    /usr/bin/python3 tests/site_test.py "$tool" --browser chromium
  else
    not_run+=("the script of the site: apt-get install chromium")
  fi
}

# The documentation, with links and anchors checked.
documentation_site() {
  say "site of the documentation"
  if tools/setup.sh --docs; then
    tools/docs_site.sh
  else
    not_run+=("the site of the documentation: its tools cannot be installed from PyPI")
  fi
}

build_and_test() {
  local preset=$1 targets=(all) selected=()
  if [[ $preset == reference ]]; then
    # Without vendor libraries only the tests of what backends change can come out differently.
    targets=(tests_of_backends)
    selected=(-L backend)
  fi
  if [[ $preset == aarch64 ]]; then
    if [[ "$(. /etc/os-release && echo "$ID$VERSION_ID") $(uname -m)" != 'debian12 x86_64' ]]; then
      not_run+=("aarch64: its libraries are those of Debian 12, its compiler is for x86-64")
      return
    fi
    tools/setup.sh --aarch64
    not_run+=("for aarch64: oneDNN, MPI, protobuf; tests in Python, and of programs that start"
      "  programs: the emulator runs one")
  fi
  $full || selected+=(-LE full)
  if $full && [[ $preset == cuda || $preset == dev ]]; then targets+=(experiments); fi
  say "build $preset"
  configure "$preset"
  cmake --build --preset "$preset" -j "$jobs" --target "${targets[@]}"
  if $full && [[ $preset == cuda || $preset == dev ]]; then lint "$preset"; fi
  say "test $preset"
  ctest --preset "$preset" -j "$test_jobs" "${selected[@]}"
  if $full && [[ $preset == cuda || $preset == dev ]]; then results_site "$preset"; fi
}

tools/setup.sh --dev

say format
mapfile -t sources < <(git ls-files '*.hpp' '*.cpp')
clang-format-19 --dry-run --Werror "${sources[@]}"

if ((!${#presets[@]})); then
  main=cuda
  if [[ ! -e ${CUDAToolkit_ROOT:-/usr/local/cuda}/bin/nvcc ]] && ! type nvcc >/dev/null 2>&1; then
    main=dev
    not_run+=("the backends for NVIDIA GPUs: there is no CUDA toolkit")
  fi
  presets=("$main")
  if $full; then
    presets+=(reference asan aarch64)
  else
    # The tests of everything take half an hour to build so.
    sanitized_core=ON
    not_run+=("all tests without vendor libraries: tests/run.sh reference"
      "all tests under sanitizers: tests/run.sh asan"
      "the tests for aarch64: tests/run.sh aarch64")
  fi
fi
type dpkg-shlibdeps >/dev/null 2>&1 || not_run+=("the Debian packages: they need dpkg-dev")
[[ -e build/deps/reframe/bin/reframe ]] || type reframe >/dev/null 2>&1 ||
  not_run+=("the checks in ReFrame: python3 -m venv build/deps/reframe && build/deps/reframe/bin/pip install reframe-hpc")
compgen -G 'build/deps/mkl/lib/libmkl_rt.so.*' >/dev/null || not_run+=("the backend mkl: tools/setup.sh --libraries")
onednn=build/deps/onednn/include/oneapi/dnnl/dnnl_version.h # tools/setup.sh installs 3.2
! grep -qE 'DNNL_VERSION_MINOR +[0-4]$' "$onednn" 2>/dev/null || not_run+=("products with weights in 4 and 8 bits: a oneDNN of 3.5 or newer")
$full || not_run+=("lint, experiments, every header alone, the installed package, the compiled wheel, another Google Benchmark, the site of docs/: tests/run.sh --full")

for preset in "${presets[@]}"; do build_and_test "$preset"; done
if $full; then
  newer_google_benchmark
  documentation_site
fi

say "all that ran passed"
if ((${#not_run[@]})); then
  echo "not run:"
  printf '  %s\n' "${not_run[@]}"
fi
