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

#include <layerbench/base/units.hpp>
#include <layerbench/predict/bounds.hpp>
#include <layerbench/predict/prediction.hpp>
#include <layerbench/report/number.hpp>
#include <layerbench/report/table.hpp>

/// What a step's time goes to.
namespace layerbench::report::detail {

using share_list = std::vector<std::pair<std::string, double>>;

/// Shares of the step by kind of layer, the largest first.
template <class Kind>
[[nodiscard]] share_list shares_by(const predict::prediction& p, Kind&& kind) {
  share_list all;
  for (const predict::layer_time& each : p.layers) {
    const std::string name(kind(each));
    auto same = std::ranges::find(all, name, [](const auto& share) { return share.first; });
    if (same == all.end()) same = all.insert(all.end(), {name, 0.0});
    same->second += each.share;
  }
  std::ranges::stable_sort(all, std::ranges::greater{},
                           [](const auto& share) { return share.second; });
  return all;
}

[[nodiscard]] inline share_list shares_by_op(const predict::prediction& p) {
  return shares_by(p, [](const predict::layer_time& each) { return each.op; });
}

/// "conv 62.1 %, batchnorm 20.3 %"
[[nodiscard]] inline std::string shares_text(const share_list& all) {
  std::vector<std::string> words;
  for (const auto& [name, share] : all) words.push_back(name + ' ' + percent(share));
  return fmt::format("{}", fmt::join(words, ", "));
}

/// Where the step's time goes.
[[nodiscard]] inline std::string composition(const predict::prediction& p) {
  if (p.layers.empty()) return "";
  std::string said;
  if (p.owner.phase() != "inference") {
    const auto part = [](const predict::layer_time& each) { return name(each.part); };
    said += fmt::format("  by part: {}\n", shares_text(shares_by(p, part)));
  }
  return said + fmt::format("  by op: {}\n", shares_text(shares_by_op(p)));
}

/// FLOPs that are really done a second, none on padding; nothing for layers that do none.
[[nodiscard]] inline std::string gigaflops(const predict::layer_time& layer) {
  const double flops = layer.flops.value_or(0);
  return flops > 0 ? four_digits(flops / layer.seconds * 1e-9) : "";
}

/// "71.0 %"; nothing where no peak is known.
[[nodiscard]] inline std::string percent_of_peak(const predict::layer_time& of) {
  const auto share = predict::share_of_peak(of);
  return share ? percent(*share) : "";
}

[[nodiscard]] inline std::string bound_of(const predict::layer_time& of) {
  return of.roofs ? of.roofs->bound() : "";
}

/// Those that take the largest part of a step first.
[[nodiscard]] inline std::vector<predict::layer_time> heaviest_first(const predict::prediction& p) {
  std::vector<predict::layer_time> layers = p.layers;
  std::ranges::stable_sort(layers, std::ranges::greater{}, &predict::layer_time::share);
  return layers;
}

/// The `most` layers that take the largest part of a step, and how much the others take; with what
/// bounds them where peaks are known.
[[nodiscard]] inline table heaviest(const predict::prediction& p, std::size_t most) {
  const std::vector<predict::layer_time> layers = heaviest_first(p);
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
    const predict::layer_time& each = layers[i];
    if (i >= most) {
      rest += each.share;
      continue;
    }
    t.rows.push_back({each.call_name(), each.op, std::to_string(each.count),
                      units::duration(each.seconds), percent(each.share), gigaflops(each)});
    if (p.limits)
      t.rows.back().insert(t.rows.back().end(), {bound_of(each), percent_of_peak(each)});
  }
  if (layers.size() > most) {
    t.rows.push_back({fmt::format("{} more", layers.size() - most), "", "", "", percent(rest)});
    t.rows.back().resize(t.columns.size());
  }
  return t;
}

}  // namespace layerbench::report::detail
