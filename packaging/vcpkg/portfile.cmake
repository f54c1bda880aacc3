# SPDX-FileCopyrightText: 2026 the layerbench authors
# SPDX-License-Identifier: Apache-2.0
# The headers; vcpkg install layerbench --overlay-ports=packaging/vcpkg
set(VCPKG_BUILD_TYPE release)
get_filename_component(SOURCE_PATH "${CMAKE_CURRENT_LIST_DIR}/../.." ABSOLUTE)
vcpkg_cmake_configure(
  SOURCE_PATH "${SOURCE_PATH}"
  OPTIONS -DLAYERBENCH_PROGRAMS=OFF -DLAYERBENCH_TESTS=OFF -DLAYERBENCH_MPI=OFF -DLAYERBENCH_PROTOBUF=OFF -DLAYERBENCH_SQLITE=OFF
          -DLAYERBENCH_MKL=OFF -DLAYERBENCH_OPENBLAS=OFF -DLAYERBENCH_BLIS=OFF)
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(CONFIG_PATH lib/cmake/layerbench)
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/lib")
