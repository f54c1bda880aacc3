// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include <layerbench/analysis/base/cases.hpp>
#include <layerbench/analysis/base/prediction.hpp>

/// The peaks of devices, from the rows of bench_peak.
namespace layerbench::analysis {

/// The peaks in the files, for each backend, number of threads and data type; some may be
/// incomplete. Streams count for all data types.
[[nodiscard]] std::vector<peaks> peaks_in(const group& files);

/// Sets the roofs of a prediction's layers if `known` has peaks for its case.
void set_limits(prediction& of, const std::vector<peaks>& known);

}  // namespace layerbench::analysis

#ifndef LAYERBENCH_COMPILED
#include <layerbench/analysis/base/peaks-inl.hpp>
#endif
