// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>

#include <layerbench/analysis/scaling/contention.hpp>
#include <layerbench/analysis/scaling/data_parallel.hpp>
#include <layerbench/analysis/scaling/network.hpp>
#include <layerbench/base/table.hpp>

/// Networks, training on many devices, and measured contention, as text and as CSV.
namespace layerbench::analysis {

/// The network as text: "ring, alpha 3.40 us, beta 72.0 GB/s".
[[nodiscard]] std::string text(const network& of);

/// One row per number of devices.
[[nodiscard]] table to_table(const data_parallel& of);

/// Each case with a table over the numbers of devices.
[[nodiscard]] std::string text(std::span<const data_parallel> all);

/// One row per case and number of devices.
[[nodiscard]] table records(std::span<const data_parallel> all);

/// The measured contention of each case, one line each.
[[nodiscard]] std::string text(std::span<const measured_contention> measured);

}  // namespace layerbench::analysis

#ifndef LAYERBENCH_COMPILED
#include <layerbench/analysis/scaling/text-inl.hpp>
#endif
