// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <layerbench/cli/measure.hpp>

#include "suite_parts.hpp"

namespace layerbench::programs {

exit_code measure_suite(const run::options& o, const run::program& what, const run::registry& known,
                        const run::suite& all, const std::vector<run::benchmark_row*>& selected,
                        const machine::resource_request& resources, const run::epilogue& after) {
  return run::measure_suite(o, what, known, all, selected, resources, after);
}

}  // namespace layerbench::programs
