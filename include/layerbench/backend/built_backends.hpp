// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <layerbench/backend/adapter.hpp>
#include <layerbench/backend/reference/plans.hpp>

// The only place where what is built depends on macros: these are lists of types, and functions
// that take them are other ones where the list is another one.
#ifndef LAYERBENCH_ONEDNN
#define LAYERBENCH_ONEDNN 0
#endif
#if LAYERBENCH_ONEDNN
#include <layerbench/backend/onednn/plans.hpp>
#endif
#ifndef LAYERBENCH_CUDA
#define LAYERBENCH_CUDA 0
#endif
#if LAYERBENCH_CUDA
#include <layerbench/backend/cublas/plans.hpp>
#include <layerbench/backend/cudnn/plans.hpp>
#endif
#ifndef LAYERBENCH_NCCL
#define LAYERBENCH_NCCL 0
#endif
#if LAYERBENCH_NCCL
#include <layerbench/backend/nccl/plans.hpp>
#endif
#ifndef LAYERBENCH_MPI
#define LAYERBENCH_MPI 0
#endif
#if LAYERBENCH_MPI
#include <layerbench/backend/mpi/plans.hpp>
#endif

namespace layerbench {

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

}  // namespace layerbench
