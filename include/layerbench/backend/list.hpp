// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <vector>

#include <layerbench/backend/reference/list.hpp>

// The only place where what is built depends on macros.
#ifndef LAYERBENCH_ONEDNN
#define LAYERBENCH_ONEDNN 0
#endif
#if LAYERBENCH_ONEDNN
#include <layerbench/backend/onednn/list.hpp>
#endif
#ifndef LAYERBENCH_CUDA
#define LAYERBENCH_CUDA 0
#endif
#if LAYERBENCH_CUDA
#include <layerbench/backend/cublas/list.hpp>
#include <layerbench/backend/cudnn/list.hpp>
#endif
#ifndef LAYERBENCH_NCCL
#define LAYERBENCH_NCCL 0
#endif
#if LAYERBENCH_NCCL
#include <layerbench/backend/nccl/list.hpp>
#endif
#ifndef LAYERBENCH_MPI
#define LAYERBENCH_MPI 0
#endif
#if LAYERBENCH_MPI
#include <layerbench/backend/mpi/list.hpp>
#endif

namespace layerbench {

template <backend... Backends>
struct backend_list {};

/// The backends of this build, the preferred one first.
using built_backends = backend_list<
#if LAYERBENCH_CUDA
    cudnn::backend, cublas::backend,
#endif
#if LAYERBENCH_ONEDNN
    onednn::backend,
#endif
    reference::backend>;

/// Those by which ranks send each other what they have.
using collective_backends = backend_list<
#if LAYERBENCH_NCCL
    nccl::backend,
#endif
#if LAYERBENCH_MPI
    mpi::backend,
#endif
    reference::backend>;

/// A backend that the suite has and this build has not, and the CMake option that builds it.
struct unbuilt_backend {
  std::string_view name;
  std::string_view option;
  bool collective = false;
};

inline const std::vector<unbuilt_backend> unbuilt_backends{
#if !LAYERBENCH_CUDA
    {"cudnn", "LAYERBENCH_CUDA"},      {"cublas", "LAYERBENCH_CUDA"},
#endif
#if !LAYERBENCH_ONEDNN
    {"onednn", "LAYERBENCH_ONEDNN"},
#endif
#if !LAYERBENCH_NCCL
    {"nccl", "LAYERBENCH_CUDA", true},
#endif
#if !LAYERBENCH_MPI
    {"mpi", "LAYERBENCH_MPI", true},
#endif
};

}  // namespace layerbench
