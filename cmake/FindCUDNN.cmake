# SPDX-FileCopyrightText: 2026 the layerbench authors
# SPDX-License-Identifier: Apache-2.0
# Sets CUDNN_FOUND and CUDNN_VERSION and defines the target CUDNN::cudnn.
include(${CMAKE_CURRENT_LIST_DIR}/nvidia_library.cmake)
layerbench_find_nvidia_library(CUDNN cudnn cudnn_version.h)
