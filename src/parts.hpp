// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include <layerbench/cli/entry_point.hpp>

/// The parts of a program that take long to compile, each in a file of src/.
namespace layerbench::programs {

/// run::parse.
std::optional<run::options> parse(int argc, char** argv, const run::program& what,
                                  const run::registry& known);
/// run::detail::run_program.
exit_code run_program(const run::options& o, char* self, const run::program& what,
                      const run::registry& known, const run::epilogue& after,
                      const run::communicator_factory& make_ranks);

/// Prints what the rows add up to: below them, or on stderr where stdout is for a machine.
void print_predictions(const result::results& results, const run::options& o, bool machine_format);
/// The predictions beside the measured whole steps.
std::string validation_text(const result::results& results, const run::options& o);
/// Prints what the rows show of this machine, in the same place.
void print_peaks(const result::results& results, const run::options& o, bool machine_format);

}  // namespace layerbench::programs
