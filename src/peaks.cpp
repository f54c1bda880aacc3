// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include "parts.hpp"

#include <cstdio>

#include <fmt/format.h>

#include <layerbench/analysis/roofline/peaks.hpp>
#include <layerbench/analysis/roofline/text.hpp>

namespace layerbench::programs {

void print_peaks(const result::results& results, const run::options& /*o*/, bool machine_format) {
  fmt::print(machine_format ? stderr : stdout, "\n{}",
             analysis::text(analysis::peaks_in({&results})));
}

}  // namespace layerbench::programs
