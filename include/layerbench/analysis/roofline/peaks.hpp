// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <layerbench/analysis/predict/planned_cases.hpp>
#include <layerbench/analysis/predict/prediction.hpp>
#include <layerbench/model/peak.hpp>

/// What result files say of the peaks of a device.
namespace layerbench::analysis {

namespace detail {

/// The fastest round of each layer of a list of peaks, by its name: what else the machine does can
/// only make it slower (McCalpin, STREAM, 1995).
using peak_rows = std::map<std::string, const result::measurement*, std::less<>>;

[[nodiscard]] inline double counter(const result::measurement& row, std::string_view name) {
  const auto found = row.counters.find(name);
  return found == row.counters.end() ? 0 : found->second;
}

/// Adds what stream `name` (<kind>_<level>) shows, whose call takes `seconds` beside what any does.
inline void add_stream(peaks& to, const std::string& name, double bytes, double seconds) {
  const std::size_t end = name.find('_');
  const auto kind = from_name<op::stream_kind>(name.substr(0, end));
  if (!kind || end == std::string::npos) return;
  const std::string level = name.substr(end + 1);
  auto known = std::ranges::find(to.levels, level, &memory_level::name);
  if (known == to.levels.end()) {
    const bool background_allreduce = level == model::peak_memory;
    const double capacity = background_allreduce ? std::numeric_limits<double>::infinity()
                                                 : bytes * static_cast<double>(model::peak_share);
    known = to.levels.insert(to.levels.end(), {level, capacity});
  }
  switch (*kind) {
    case op::stream_kind::read: known->read = bytes / seconds; break;
    case op::stream_kind::write: known->write = bytes / seconds; break;
    case op::stream_kind::copy: known->copy = bytes / seconds; break;
  }
}

inline void take_rows(peaks& to, const peak_rows& rows) {
  const auto call = rows.find(model::peak_call);
  if (call != rows.end()) to.call = call->second->seconds;
  for (const auto& [name, row] : rows) {
    if (row->name.op == op::gemm::name) {
      to.flops = std::max(to.flops, counter(*row, "flops_exact") / row->seconds);
    } else if (name != model::peak_call && row->seconds > to.call) {
      add_stream(to, name, counter(*row, "bytes"), row->seconds - to.call);
    }
  }
  std::ranges::sort(to.levels, {}, &memory_level::capacity);
}

}  // namespace detail

/// The peaks that rows of the files show, for each backend, number of threads and data type; some
/// may not be complete. Streams count for all data types, whichever they were measured in.
[[nodiscard]] inline std::vector<peaks> peaks_in(const group& files) {
  using conditions = std::pair<std::string, std::int64_t>;
  struct shown {
    std::map<std::string, detail::peak_rows> products;  ///< by data type
    detail::peak_rows streams;
  };
  std::map<conditions, shown> all;
  for (const result::results* file : files) {
    for (const result::measurement& row : file->rows) {
      const result::configuration_name& configuration = row.name.configuration;
      if (configuration.model != model::peak_model || !row.error.empty()) continue;
      shown& device = all[{configuration.backend, detail::threads(configuration, {file})}];
      detail::peak_rows& products = device.products[configuration.dtype];
      detail::peak_rows& rows = row.name.op == op::gemm::name ? products : device.streams;
      const result::measurement*& best = rows.try_emplace(row.name.layer, &row).first->second;
      if (row.seconds < best->seconds) best = &row;
    }
  }
  std::vector<peaks> result;
  for (const auto& [on, rows] : all) {
    for (const auto& [type, products] : rows.products) {
      result.push_back({on.first, type, on.second});
      detail::take_rows(result.back(), products);
      detail::take_rows(result.back(), rows.streams);
    }
  }
  return result;
}

/// Sets the roofs of a prediction's layers, where `known` has peaks of its conditions.
inline void set_limits(prediction& of, const std::vector<peaks>& known) {
  const auto found = std::ranges::find_if(known, [&](const peaks& item) {
    return item.complete() && item.backend == of.configuration.backend &&
           item.dtype == of.configuration.dtype && item.threads == of.threads;
  });
  if (found == known.end()) return;
  of.limits = *found;
  for (layer_time& layer : of.layers) {
    if (layer.traffic.empty() || !layer.flops) continue;
    layer.roofs =
        roofs_of(*layer.flops, of.cache == "hot" ? hot(layer.traffic) : layer.traffic, *found);
  }
}

}  // namespace layerbench::analysis
