#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 the layerbench authors
# SPDX-License-Identifier: Apache-2.0
# Builds what a release consists of, from the last commit, in build/release_files: the source archive, the
# wheel and the Debian packages, for systems like this one. Refuses a tree with changes.
set -euo pipefail
(($# == 0)) || { echo "tools/release.sh: has no options: $*" >&2; exit 2; }
cd "$(dirname "${BASH_SOURCE[0]}")/.."

[[ -z "$(git status --porcelain)" ]] || { echo "tools/release.sh: commit or remove what git status lists" >&2; exit 2; }
tools/setup.sh --dev
# With this, ccache shares objects between the wheel and the packages.
export CCACHE_BASEDIR=$PWD
files=$PWD/build/release_files build=build/release_packages
rm -rf "$files"
mkdir -p "$files"
version=$(sed -nE 's/^project\(layerbench VERSION ([0-9.]+).*/\1/p' CMakeLists.txt)
git archive --prefix="layerbench-$version/" -o "$files/layerbench-$version.tar.gz" HEAD
tools/wheel.sh
cp build/wheels/*.whl "$files"
cmake --preset release -B "$build" -DLAYERBENCH_TESTS=OFF -DLAYERBENCH_PORTABLE=ON -DLAYERBENCH_MPI=ON \
  -DLAYERBENCH_PROTOBUF=ON -DLAYERBENCH_SQLITE=ON >/dev/null
cmake --build "$build"
(cd "$build" && cpack -G DEB -B "$files")
rm -rf "$files/_CPack_Packages"
lintian --fail-on error "$files"/*.deb
ls -l "$files"
