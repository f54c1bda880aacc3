// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <layerbench/analysis/base/prediction.hpp>
#include <layerbench/analysis/predict/derived_figure.hpp>
#include <layerbench/base/split.hpp>
#include <layerbench/result/name.hpp>

/// What fusion gains: calls of several layers beside the calls of these layers one by one.
namespace layerbench::analysis {

/// A fused call that was also measured layer by layer. Seconds are of one call.
struct fused_call {
  std::string name;
  std::int64_t count;  ///< in a step
  estimate apart;      ///< the sum of its layers
  estimate together;

  /// Seconds that the step becomes shorter.
  [[nodiscard]] double saved() const {
    return static_cast<double>(count) * (apart.value - together.value);
  }
  /// Whether fusing makes it slower, beyond the intervals of both timings.
  [[nodiscard]] bool loses() const { return together.low > apart.high; }
};

/// A fused model beside the same model layer by layer.
struct fusion_gain {
  const prediction* apart;
  const prediction* fused;
  std::vector<fused_call> calls;  ///< the one that saves most comes first
};

namespace detail {

/// Seconds per call of each layer.
[[nodiscard]] inline std::map<std::string, estimate, std::less<>> seconds_by_layer(
    const prediction& p) {
  std::map<std::string, estimate, std::less<>> found;
  for (const layer_time& one : p.layers) {
    for (const std::string& layer : one.layers) {
      found.try_emplace(layer, estimate{one.seconds, one.low, one.high});
    }
  }
  return found;
}

/// The fused calls of a primitive, which may have others of equal sizes; nothing if there are none,
/// or if one of their layers was not measured alone.
[[nodiscard]] inline std::optional<fused_call> gain_of(
    const layer_time& fused, const std::map<std::string, estimate, std::less<>>& alone) {
  estimate sum{0, 0, 0};  // over all fused calls
  std::vector<std::string> joined;
  for (const std::string& call : fused.layers) {
    if (call.find('+') == std::string::npos) continue;
    joined.push_back(call);
    for (const std::string_view layer : split(call, '+')) {
      const auto found = alone.find(layer);
      if (found == alone.end()) return std::nullopt;
      sum = sum.plus(found->second);
    }
  }
  if (joined.empty()) return std::nullopt;
  const auto count = std::ssize(joined);
  return fused_call{joined.front(),
                    count,
                    sum.times(1 / static_cast<double>(count)),
                    {fused.seconds, fused.low, fused.high}};
}

}  // namespace detail

/// The fused models among the predictions that were also predicted layer by layer, from the same
/// files.
[[nodiscard]] inline std::vector<fusion_gain> fusion_gains(
    std::span<const prediction> predictions) {
  std::vector<fusion_gain> all;
  for (const prediction& fused : predictions) {
    if (!fused.model_case.fused() || !fused.step || fused.partial()) continue;
    result::case_name plain = fused.model_case;
    plain.parameters.erase("fusion");
    const auto apart = std::ranges::find_if(predictions, [&](const prediction& other) {
      return other.model_case == plain && other.files == fused.files &&
             other.cache == fused.cache && other.step && !other.partial();
    });
    if (apart == predictions.end()) continue;
    fusion_gain gain{&*apart, &fused, {}};
    const auto alone = detail::seconds_by_layer(*apart);
    for (const layer_time& one : fused.layers) {
      if (auto call = detail::gain_of(one, alone)) gain.calls.push_back(std::move(*call));
    }
    std::ranges::stable_sort(gain.calls, std::ranges::greater{}, &fused_call::saved);
    all.push_back(std::move(gain));
  }
  return all;
}

}  // namespace layerbench::analysis
