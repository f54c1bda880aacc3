// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

#include <layerbench/analysis/base/breakdown.hpp>
#include <layerbench/analysis/base/prediction.hpp>
#include <layerbench/base/table.hpp>

/// The layers of a step and their shares, as text.
namespace layerbench::analysis {

/// "conv 62.1 %, batchnorm 20.3 %"
[[nodiscard]] std::string shares_text(const share_list& shares);

/// The step's shares by op, and in training by part; one line each.
[[nodiscard]] std::string breakdown_text(const prediction& p);

/// GFLOP/s without the FLOPs on padding; empty for layers that have none.
[[nodiscard]] std::string gigaflops(const layer_time& layer);

/// "71.0 %"; empty where no peak is known.
[[nodiscard]] std::string percent_of_peak(const layer_time& layer);

/// The bottleneck of a layer; empty where no peak is known.
[[nodiscard]] std::string bound_of(const layer_time& layer);

/// The `most` layers with the largest shares of the step, or the first in another order, and the
/// sum of the others. Bottlenecks are shown where peaks are known.
[[nodiscard]] table heaviest_layers(const prediction& p, std::size_t most,
                                    layer_order by = layer_order::share);

}  // namespace layerbench::analysis

#ifndef LAYERBENCH_COMPILED
#include <layerbench/analysis/predict/layer_table-inl.hpp>
#endif
