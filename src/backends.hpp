// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <layerbench/backend/registry.hpp>

/// The backends and ops of this build, each compiled once, in a file that CMake writes.
namespace layerbench::programs {

/// What the programs measure models with.
run::registry compute_registry();
/// What bench_allreduce measures.
run::registry collective_registry();

/// The library's ops, without backends.
run::registry builtin_ops();

}  // namespace layerbench::programs
