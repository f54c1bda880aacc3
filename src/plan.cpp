// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include "suite_parts.hpp"

namespace layerbench::programs {

run::suite make_suite(const run::options& o, const run::program& what, const run::registry& known,
                      run::data_parallel_group* ranks, const run::name_filter& wanted) {
  return run::make_suite(o, what, known, ranks, wanted);
}

}  // namespace layerbench::programs
