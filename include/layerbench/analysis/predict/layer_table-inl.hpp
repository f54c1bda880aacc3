// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <layerbench/analysis/base/breakdown.hpp>
#include <layerbench/analysis/base/prediction.hpp>
#include <layerbench/analysis/predict/layer_table.hpp>
#include <layerbench/analysis/roofline/bounds.hpp>
#include <layerbench/base/compiled.hpp>
#include <layerbench/base/number_format.hpp>
#include <layerbench/base/table.hpp>
#include <layerbench/base/units.hpp>
#include <layerbench/result/short_names.hpp>
#include <layerbench/shape/record.hpp>

namespace layerbench::analysis {

LAYERBENCH_INLINE std::string shares_text(const share_list& shares) {
  std::vector<std::string> entries;
  for (const auto& [name, share] : shares) entries.push_back(name + ' ' + format::percent(share));
  return fmt::format("{}", fmt::join(entries, ", "));
}

LAYERBENCH_INLINE std::string breakdown_text(const prediction& p) {
  if (p.layers.empty()) return "";
  std::string lines;
  if (p.configuration.phase() != "inference") {
    const auto part = [](const layer_time& layer) { return name(layer.part); };
    lines += fmt::format("  by part: {}\n", shares_text(shares_by(p, part)));
  }
  return lines + fmt::format("  by op: {}\n", shares_text(shares_by_op(p)));
}

LAYERBENCH_INLINE std::string gigaflops(const layer_time& layer) {
  const double flops = layer.flops.value_or(0);
  return flops > 0 ? format::four_digits(flops / layer.seconds * 1e-9) : "";
}

LAYERBENCH_INLINE std::string percent_of_peak(const layer_time& layer) {
  const auto share = share_of_roof(layer);
  return share ? format::percent(*share) : "";
}

LAYERBENCH_INLINE std::string bound_of(const layer_time& layer) {
  return layer.roofs ? layer.roofs->bound() : "";
}

LAYERBENCH_INLINE table heaviest_layers(const prediction& p, std::size_t most, layer_order by) {
  const std::vector<layer_time> layers = sorted_layers(p, by);
  table t{{{"layer"},
           {"op"},
           {"count", align::right},
           {"time per call", align::right},
           {"share", align::right},
           {"GFLOP/s (no padding)", align::right}},
          {}};
  if (p.limits) t.columns.insert(t.columns.end(), {{"bottleneck"}, {"of peak", align::right}});
  double rest = 0;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const layer_time& layer = layers[i];
    if (i >= most) {
      rest += layer.share;
      continue;
    }
    std::vector<std::string>& row = t.rows.emplace_back(std::vector<std::string>{
        result::short_joined(layer.call_name()), layer.op, std::to_string(layer.count),
        units::duration(layer.seconds), format::percent(layer.share), gigaflops(layer)});
    if (p.limits) row.insert(row.end(), {bound_of(layer), percent_of_peak(layer)});
  }
  if (layers.size() > most) {
    t.rows.push_back(
        {fmt::format("{} more", layers.size() - most), "", "", "", format::percent(rest)});
    t.rows.back().resize(t.columns.size());
  }
  return t;
}

}  // namespace layerbench::analysis
