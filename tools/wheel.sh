#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 the layerbench authors
# SPDX-License-Identifier: Apache-2.0
# Sets up, and builds the wheel in build/wheels: programs, tools and the Python module, for x86-64. It
# can be installed without a compiler, on systems with the glibc of its name or a newer one.
set -euo pipefail
(($# == 0)) || { echo "tools/wheel.sh: has no options: $*" >&2; exit 2; }
cd "$(dirname "${BASH_SOURCE[0]}")/.."

tools/setup.sh --wheel
export PATH=$PWD/build/deps/wheel/bin:$PATH
export CXX=${CXX:-c++} # as CMake names it by itself, so that ccache knows what other builds compiled
wheels=build/wheels
rm -rf "$wheels"
pip wheel . --no-deps --no-build-isolation --wheel-dir "$wheels"
# The oldest systems whose libraries have all symbols that it needs.
said=$(auditwheel show "$wheels"/*.whl)
[[ $said =~ manylinux_2_[0-9]+_x86_64 ]] || { echo "$said" >&2; exit 1; }
wheel tags --remove --platform-tag "${BASH_REMATCH[0]}" "$wheels"/*.whl
