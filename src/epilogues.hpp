// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <layerbench/result/measurement.hpp>
#include <layerbench/session/options.hpp>

/// What programs print below their rows: see run::epilogue.
namespace layerbench::programs {

void print_predictions(const result::results& results, const run::options& o, bool machine_format);
void print_peaks(const result::results& results, const run::options& o, bool machine_format);

}  // namespace layerbench::programs
