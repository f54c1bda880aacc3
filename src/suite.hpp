// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <layerbench/backend/registry.hpp>
#include <layerbench/ranks/communicator.hpp>
#include <layerbench/session/program.hpp>

#include "backends.hpp"

/// What the programs of bench/ share, compiled once.
namespace layerbench::programs {

/// The main function of all of them. `make_ranks` finds other ranks. Returns the exit code.
int run_suite(int argc, char** argv, const run::program& what,
              const run::registry& known = compute_registry(),
              const run::communicator_factory& make_ranks = {});

/// Ranks that train together; an empty function where this build has no MPI.
run::communicator_factory ranks();

}  // namespace layerbench::programs
