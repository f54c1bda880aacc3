// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <layerbench/backend/registry.hpp>
#include <layerbench/cli/measure_suite.hpp>
#include <layerbench/ranks/communicator.hpp>
#include <layerbench/session/program.hpp>

namespace layerbench::run {

/// What a benchmark program is built from.
struct program_parts {
  program what;
  registry known;                        ///< the backends on which it measures
  epilogue after = {};                   ///< prints below the rows
  communicator_factory make_ranks = {};  ///< for --ranks
};

/// The main function of a benchmark program. Returns the exit code of base/error.hpp.
[[nodiscard]] int main(int argc, char** argv, const program_parts& parts);

}  // namespace layerbench::run

#ifndef LAYERBENCH_COMPILED
#include <layerbench/cli/main-inl.hpp>
#endif
