# SPDX-FileCopyrightText: 2026 the layerbench authors
# SPDX-License-Identifier: Apache-2.0
# Toolchain for aarch64 Linux on another processor: Debian's cross compiler, the libraries that
# `tools/setup.sh --aarch64` unpacks, and qemu-user for the tests.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)

# The C++ library is the cross compiler's; everything else is in the folder of setup.sh.
get_filename_component(libraries ${CMAKE_CURRENT_LIST_DIR}/../build/deps/aarch64 ABSOLUTE)
set(CMAKE_FIND_ROOT_PATH ${libraries} /usr/aarch64-linux-gnu)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)

find_program(LAYERBENCH_QEMU_AARCH64 qemu-aarch64 REQUIRED)
# Debian's folder for headers that differ by processor; this compiler does not look there.
set(CMAKE_CXX_STANDARD_INCLUDE_DIRECTORIES ${libraries}/usr/include/aarch64-linux-gnu)
# The libraries that libraries need, for the linker and for programs.
set(folders ${libraries}/usr/lib/aarch64-linux-gnu:${libraries}/lib/aarch64-linux-gnu)
set(CMAKE_EXE_LINKER_FLAGS_INIT -Wl,-rpath-link=${folders})
set(CMAKE_CROSSCOMPILING_EMULATOR ${LAYERBENCH_QEMU_AARCH64} -L /usr/aarch64-linux-gnu
                                  -E LD_LIBRARY_PATH=${folders})
