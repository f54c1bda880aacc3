// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <layerbench/analysis/base/prediction.hpp>
#include <layerbench/analysis/base/text.hpp>
#include <layerbench/analysis/predict/estimate.hpp>
#include <layerbench/analysis/predict/fusion_gain.hpp>
#include <layerbench/base/compiled.hpp>
#include <layerbench/base/number_format.hpp>
#include <layerbench/base/table.hpp>
#include <layerbench/base/units.hpp>
#include <layerbench/result/name.hpp>
#include <layerbench/result/short_names.hpp>
#include <layerbench/shape/json.hpp>

namespace layerbench::analysis {

LAYERBENCH_INLINE double fused_call::saved() const {
  return static_cast<double>(count) * (apart.value - together.value);
}

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
    for (const std::string_view layer : result::detail::split(call, '+')) {
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

LAYERBENCH_INLINE std::vector<fusion_gain> fusion_gains(std::span<const prediction> predictions) {
  std::vector<fusion_gain> all;
  for (const prediction& fused : predictions) {
    if (!fused.configuration.fused() || !fused.step || fused.partial()) continue;
    result::configuration_name plain = fused.configuration;
    plain.parameters.erase("fusion");
    const auto apart = std::ranges::find_if(predictions, [&](const prediction& other) {
      return other.configuration == plain && other.files == fused.files &&
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

LAYERBENCH_INLINE std::string text(std::span<const fusion_gain> gains) {
  using enum align;
  constexpr std::size_t most = 8;
  std::string all;
  for (const fusion_gain& gain : gains) {
    table t{{{"fused call"},
             {"count", right},
             {"layer by layer", right},
             {"fused", right},
             {"change", right},
             {"saved per step", right}},
            {}};
    const bool any_loses = std::ranges::any_of(gain.calls, &fused_call::loses);
    if (any_loses) t.columns.emplace_back("note");
    std::size_t left_out = 0;
    for (std::size_t i = 0; i < gain.calls.size(); ++i) {
      const fused_call& call = gain.calls[i];
      if (i >= most && !call.loses()) {
        ++left_out;
        continue;
      }
      t.rows.push_back(
          {result::short_joined(call.name), std::to_string(call.count),
           units::duration(call.apart.value), units::duration(call.together.value),
           fmt::format("{:+.1f} %", 100 * (call.together.value / call.apart.value - 1)),
           fmt::format("{:.3g} ms", 1e3 * call.saved())});
      if (any_loses) t.rows.back().emplace_back(call.loses() ? "slower" : "");
    }
    if (left_out > 0) {
      t.rows.push_back({fmt::format("{} more", left_out)});
      t.rows.back().resize(t.columns.size());
    }
    const auto milliseconds = [](const prediction& p) {
      return fmt::format("{}{:.4g}", format::mark(p.digits()),
                         1e3 * format::rounded(p.step->seconds, p.digits()));
    };
    all += fmt::format("\n{}\n  without the fusion plan: {} ms per step; with it: {} ms ({})\n",
                       headline(*gain.fused), milliseconds(*gain.apart), milliseconds(*gain.fused),
                       format::change(gain.apart->step->seconds, gain.apart->digits(),
                                      gain.fused->step->seconds, gain.fused->digits()));
    if (!gain.calls.empty()) all += '\n' + text(t);  // a plan may join no layers
  }
  return all;
}

LAYERBENCH_INLINE void add_fusion_gains(json::value& to, std::span<const fusion_gain> gains) {
  for (const fusion_gain& gain : gains) {
    json::value calls = json::value::array();
    for (const fused_call& call : gain.calls) {
      calls.push_back({{"name", call.name},
                       {"count", call.count},
                       {"seconds_apart", to_json(call.apart)},
                       {"seconds_fused", to_json(call.together)},
                       {"loses", call.loses()}});
    }
    to["fusions"].push_back({{"case", gain.fused->configuration.text()},
                             {"seconds_apart", gain.apart->step->seconds},
                             {"seconds_fused", gain.fused->step->seconds},
                             {"calls", calls}});
  }
}

}  // namespace layerbench::analysis
