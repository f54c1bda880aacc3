// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <layerbench/analysis/predict/prediction.hpp>
#include <layerbench/analysis/roofline/bounds.hpp>
#include <layerbench/base/number_format.hpp>
#include <layerbench/base/table.hpp>
#include <layerbench/base/units.hpp>

/// What a step's time goes to.
namespace layerbench::report::detail {

using share_list = std::vector<std::pair<std::string, double>>;

/// Shares of the step by kind of layer, the largest first.
template <class Kind>
[[nodiscard]] share_list shares_by(const analysis::prediction& p, Kind&& kind) {
  share_list all;
  for (const analysis::layer_time& layer : p.layers) {
    const std::string name(kind(layer));
    auto same = std::ranges::find(all, name, [](const auto& share) { return share.first; });
    if (same == all.end()) same = all.insert(all.end(), {name, 0.0});
    same->second += layer.share;
  }
  std::ranges::stable_sort(all, std::ranges::greater{},
                           [](const auto& share) { return share.second; });
  return all;
}

[[nodiscard]] inline share_list shares_by_op(const analysis::prediction& p) {
  return shares_by(p, [](const analysis::layer_time& layer_time) { return layer_time.op; });
}

/// "conv 62.1 %, batchnorm 20.3 %"
[[nodiscard]] inline std::string shares_text(const share_list& all) {
  std::vector<std::string> words;
  for (const auto& [name, share] : all) words.push_back(name + ' ' + percent(share));
  return fmt::format("{}", fmt::join(words, ", "));
}

/// Where the step's time goes.
[[nodiscard]] inline std::string composition(const analysis::prediction& p) {
  if (p.layers.empty()) return "";
  std::string words;
  if (p.configuration.phase() != "inference") {
    const auto part = [](const analysis::layer_time& layer_time) { return name(layer_time.part); };
    words += fmt::format("  by part: {}\n", shares_text(shares_by(p, part)));
  }
  return words + fmt::format("  by op: {}\n", shares_text(shares_by_op(p)));
}

/// FLOPs that are really done a second, none on padding; nothing for layers that do none.
[[nodiscard]] inline std::string gigaflops(const analysis::layer_time& layer) {
  const double flops = layer.flops.value_or(0);
  return flops > 0 ? four_digits(flops / layer.seconds * 1e-9) : "";
}

/// "71.0 %"; nothing where no peak is known.
[[nodiscard]] inline std::string percent_of_peak(const analysis::layer_time& of) {
  const auto share = analysis::share_of_peak(of);
  return share ? percent(*share) : "";
}

[[nodiscard]] inline std::string bound_of(const analysis::layer_time& of) {
  return of.roofs ? of.roofs->bound() : "";
}

/// Those that take the largest part of a step first.
[[nodiscard]] inline std::vector<analysis::layer_time> heaviest_first(
    const analysis::prediction& p) {
  std::vector<analysis::layer_time> layers = p.layers;
  std::ranges::stable_sort(layers, std::ranges::greater{}, &analysis::layer_time::share);
  return layers;
}

/// The `most` layers that take the largest part of a step, and how much the others take; with what
/// bounds them where peaks are known.
[[nodiscard]] inline table heaviest(const analysis::prediction& p, std::size_t most) {
  const std::vector<analysis::layer_time> layers = heaviest_first(p);
  table t{{{"layer"},
           {"op"},
           {"count", align::right},
           {"time a call", align::right},
           {"share", align::right},
           {"GFLOP/s (no padding)", align::right}},
          {}};
  if (p.limits) t.columns.insert(t.columns.end(), {{"bound"}, {"of peak", align::right}});
  double rest = 0;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const analysis::layer_time& layer_time = layers[i];
    if (i >= most) {
      rest += layer_time.share;
      continue;
    }
    t.rows.push_back({layer_time.call_name(), layer_time.op, std::to_string(layer_time.count),
                      units::duration(layer_time.seconds), percent(layer_time.share),
                      gigaflops(layer_time)});
    if (p.limits)
      t.rows.back().insert(t.rows.back().end(),
                           {bound_of(layer_time), percent_of_peak(layer_time)});
  }
  if (layers.size() > most) {
    t.rows.push_back({fmt::format("{} more", layers.size() - most), "", "", "", percent(rest)});
    t.rows.back().resize(t.columns.size());
  }
  return t;
}

}  // namespace layerbench::report::detail
