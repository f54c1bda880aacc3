// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <layerbench/cli/command_line.hpp>
#include <layerbench/cli/entry_point.hpp>
#include <layerbench/cli/measure.hpp>
#include <layerbench/cli/run_program.hpp>

namespace layerbench::run {

/// A benchmark program: measures the ops that `what` names on the backends of `known`. `make_ranks`
/// is for --ranks. Returns the exit code of base/error.hpp.
[[nodiscard]] inline int main(int argc, char** argv, const program& what, const registry& known,
                              const epilogue& after = {},
                              const communicator_factory& make_ranks = {}) {
  const program_runner run = [](const options& o, char* self, const program& its,
                                const registry& all, const epilogue& last,
                                const communicator_factory& ranks) {
    return detail::run_program(o, self, its, all, last, ranks, &make_suite, &measure_suite);
  };
  return entry_point(argc, argv, what, known, after, make_ranks, &parse, run);
}

}  // namespace layerbench::run
