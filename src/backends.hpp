// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <layerbench/backend/registry.hpp>

/// The backends of this build, each compiled once, in a file of src/backends/.
namespace layerbench::programs {

// Each is there where CMake builds that backend.
run::backend_entry reference_entry();
run::backend_entry onednn_entry();
run::backend_entry cudnn_entry();
run::backend_entry cublas_entry();
run::backend_entry nccl_entry();
run::backend_entry mpi_entry();

/// What the programs measure models with.
run::registry compute_registry();
/// What bench_allreduce measures.
run::registry collective_registry();

/// The library's ops, without backends.
run::registry builtin_ops();

}  // namespace layerbench::programs
