// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <layerbench/ranks/communicator.hpp>
#include <layerbench/session/program.hpp>

/// The main function of all programs here: every op of the library on every backend of this build,
/// compiled once. `make_company` finds other ranks. Returns the exit code.
int run_suite(int argc, char** argv, const layerbench::run::program& what,
              const layerbench::run::communicator_factory& make_communicator = {});
