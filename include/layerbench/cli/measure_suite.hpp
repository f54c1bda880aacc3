// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <vector>

#include <layerbench/backend/registry.hpp>
#include <layerbench/base/error.hpp>
#include <layerbench/machine/check.hpp>
#include <layerbench/result/measurement.hpp>
#include <layerbench/session/benchmark_row.hpp>
#include <layerbench/session/options.hpp>
#include <layerbench/session/program.hpp>
#include <layerbench/session/suite.hpp>

namespace layerbench::run {

/// What a program does with its results after the rows: called with the results, what
/// the user wants, and whether the rows went to stdout in a machine's format.
using epilogue = std::function<void(const result::results&, const options&, bool machine_format)>;

/// Measures the selected rows of a suite and their chains, writes and prints the results, and what
/// they add up to (`after`). Returns the exit code of base/error.hpp.
exit_code measure_suite(const options& o, const program& what, const registry& known,
                        const suite& all, const std::vector<benchmark_row*>& selected,
                        const machine::resource_request& resources, const epilogue& after);

}  // namespace layerbench::run

#ifndef LAYERBENCH_COMPILED
#include <layerbench/cli/measure_suite-inl.hpp>
#endif
