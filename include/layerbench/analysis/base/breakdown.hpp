// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <layerbench/analysis/base/prediction.hpp>
#include <layerbench/shape/record.hpp>

/// How a step's time divides among its layers, by kind of op or by another property.
namespace layerbench::analysis {

/// Names with their shares of a step.
using share_list = std::vector<std::pair<std::string, double>>;

namespace detail {

/// Adds `share` to the entry of that name, which is created if needed.
void add_share(share_list& to, const std::string& name, double share);

void sort_largest_first(share_list& shares);

}  // namespace detail

/// Shares of the step by `property(layer)`, the largest first.
template <class Property>
[[nodiscard]] share_list shares_by(const prediction& p, Property&& property) {
  share_list shares;
  for (const layer_time& layer : p.layers) {
    detail::add_share(shares, std::string(std::invoke(property, layer)), layer.share);
  }
  detail::sort_largest_first(shares);
  return shares;
}

[[nodiscard]] share_list shares_by_op(const prediction& p);

/// All ops of several predictions, those with the largest sum of shares first.
[[nodiscard]] std::vector<std::string> ops_by_share(std::span<const prediction> predictions);

/// Seconds of a step that all calls of an op take together.
[[nodiscard]] double seconds_of_op(const prediction& p, const std::string& op);

/// The layers, those with the largest share of the step first.
[[nodiscard]] std::vector<layer_time> heaviest_first(const prediction& p);

/// Orders of a table of layers: by share of the step, time per call and FLOP/s, largest first; by
/// name and op; as the step runs them.
enum class layer_order : std::uint8_t { share, time, gflops, name, op, step };

}  // namespace layerbench::analysis

template <>
inline constexpr std::array<std::string_view, 6>
    layerbench::enum_names<layerbench::analysis::layer_order>{"share", "time", "gflops",
                                                              "name",  "op",   "step"};

namespace layerbench::analysis {

/// The layers in an order.
[[nodiscard]] std::vector<layer_time> sorted_layers(const prediction& p, layer_order by);

}  // namespace layerbench::analysis

#ifndef LAYERBENCH_COMPILED
#include <layerbench/analysis/base/breakdown-inl.hpp>
#endif
