// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <layerbench/backend/registry.hpp>
#include <layerbench/cli/main.hpp>
#include <layerbench/ranks/communicator.hpp>
#include <layerbench/session/program.hpp>

#include "backends.hpp"

/// What the programs of bench/ share, compiled once.
namespace layerbench::programs {

/// A program with what all of them print below their rows. Lets this process read ONNX models.
run::program_parts suite_program(const run::program& what,
                                 const run::registry& known = compute_registry(),
                                 const run::communicator_factory& make_ranks = {});

/// Ranks that train together; an empty function where this build has no MPI.
run::communicator_factory ranks();

}  // namespace layerbench::programs
