// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include "parts.hpp"

#include <layerbench/cli/run_program.hpp>

#include "suite_parts.hpp"

namespace layerbench::programs {

exit_code run_program(const run::options& o, char* self, const run::program& what,
                      const run::registry& known, const run::epilogue& after,
                      const run::communicator_factory& make_ranks) {
  return run::detail::run_program(o, self, what, known, after, make_ranks, &make_suite,
                                  &measure_suite);
}

}  // namespace layerbench::programs
