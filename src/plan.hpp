// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <layerbench/session/suite.hpp>

namespace layerbench::programs {

/// run::make_suite.
run::suite make_suite(const run::options& o, const run::program& what, const run::registry& known,
                      run::data_parallel_group* ranks, const run::name_filter& wanted);

}  // namespace layerbench::programs
