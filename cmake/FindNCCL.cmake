# SPDX-FileCopyrightText: 2026 the layerbench authors
# SPDX-License-Identifier: Apache-2.0
# Sets NCCL_FOUND and NCCL_VERSION and defines the target NCCL::nccl.
include(${CMAKE_CURRENT_LIST_DIR}/nvidia_library.cmake)
layerbench_find_nvidia_library(NCCL nccl nccl.h)
