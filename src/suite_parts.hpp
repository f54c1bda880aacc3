// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include <layerbench/cli/entry_point.hpp>
#include <layerbench/machine/watch.hpp>
#include <layerbench/session/suite.hpp>

namespace layerbench::programs {

/// run::make_suite.
run::suite make_suite(const run::options& o, const run::program& what, const run::registry& known,
                      run::data_parallel_group* ranks, const run::name_filter& wanted);
/// run::measure_suite.
exit_code measure_suite(const run::options& o, const run::program& what, const run::registry& known,
                        const run::suite& all, const std::vector<run::benchmark_row*>& selected,
                        const machine::resource_request& resources, const run::epilogue& after);

}  // namespace layerbench::programs
