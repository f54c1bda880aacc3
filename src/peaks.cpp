// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include "parts.hpp"

#include <cstdio>
#include <string>

#include <layerbench/analysis/roofline/peaks.hpp>
#include <layerbench/analysis/roofline/text.hpp>
#include <layerbench/base/plain_text.hpp>
#include <layerbench/base/terminal.hpp>

namespace layerbench::programs {

void print_peaks(const result::results& results, const run::options& /*o*/, bool machine_format) {
  const std::string text = '\n' + analysis::text(analysis::peaks_in({&results}));
  print_plain(machine_format ? stderr : stdout,
              machine_format ? text : fitted(text, terminal_columns()));
}

}  // namespace layerbench::programs
