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

#include <layerbench/analysis/base/peaks.hpp>
#include <layerbench/base/compiled.hpp>
#include <layerbench/model/peak.hpp>
#include <layerbench/op/gemm.hpp>
#include <layerbench/op/stream.hpp>

namespace layerbench::analysis {

namespace detail {

/// The fastest round of each benchmark of bench_peak, by its name. Other load on the machine can
/// only make a round slower (McCalpin, STREAM, 1995).
using peak_rows = std::map<std::string, const result::measurement*, std::less<>>;

[[nodiscard]] inline double counter(const result::measurement& row, std::string_view name) {
  const auto found = row.counters.find(name);
  return found == row.counters.end() ? 0 : found->second;
}

/// Adds the bandwidth of stream `name` (<kind>_<level>) of `bytes`.
inline void add_stream(peaks& to, const std::string& name, double bytes, double bandwidth) {
  const std::size_t end = name.find('_');
  const auto kind = from_name<op::stream_kind>(name.substr(0, end));
  if (!kind || end == std::string::npos) return;
  const std::string level = name.substr(end + 1);
  auto known = std::ranges::find(to.levels, level, &memory_level::name);
  if (known == to.levels.end()) {
    const bool unlimited = level == model::peak_memory;
    const double capacity = unlimited ? std::numeric_limits<double>::infinity()
                                      : bytes * static_cast<double>(model::peak_share);
    known = to.levels.insert(to.levels.end(), {level, capacity});
  }
  switch (*kind) {
    case op::stream_kind::read: known->read = bandwidth; break;
    case op::stream_kind::write: known->write = bandwidth; break;
    case op::stream_kind::copy: known->copy = bandwidth; break;
  }
}

/// Bytes per second of a stream beyond its part, or beyond an empty call if it has no part that
/// took less time; 0 if the empty call took as long.
[[nodiscard]] inline double bandwidth(const std::string& name, const result::measurement& row,
                                      const peak_rows& rows, double call_seconds) {
  const double bytes = counter(row, "bytes");
  const auto part = rows.find(name + std::string(model::peak_part));
  if (part != rows.end() && row.seconds > part->second->seconds) {
    return (bytes - counter(*part->second, "bytes")) / (row.seconds - part->second->seconds);
  }
  return row.seconds > call_seconds ? bytes / (row.seconds - call_seconds) : 0;
}

inline void add_rows(peaks& to, const peak_rows& rows) {
  const auto call = rows.find(model::peak_call);
  if (call != rows.end()) to.call = call->second->seconds;
  for (const auto& [name, row] : rows) {
    if (row->name.op == op::gemm::name) {
      to.flops = std::max(to.flops, counter(*row, "flops_exact") / row->seconds);
    } else if (name != model::peak_call && !name.ends_with(model::peak_part)) {
      const double rate = bandwidth(name, *row, rows, to.call);
      if (rate > 0) add_stream(to, name, counter(*row, "bytes"), rate);
    }
  }
  std::ranges::sort(to.levels, {}, &memory_level::capacity);
}

}  // namespace detail

LAYERBENCH_INLINE std::vector<peaks> peaks_in(const group& files) {
  using conditions = std::pair<std::string, std::int64_t>;
  struct rows_of_device {
    std::map<std::string, detail::peak_rows> gemms;  ///< by data type
    detail::peak_rows streams;
  };
  std::map<conditions, rows_of_device> all;
  for (const result::results* file : files) {
    for (const result::measurement& row : file->rows) {
      const result::case_name& model_case = row.name.model_case;
      if (model_case.model != model::peak_model || !row.error.empty()) continue;
      rows_of_device& device = all[{model_case.backend, detail::threads(model_case, {file})}];
      detail::peak_rows& gemms = device.gemms[model_case.dtype];
      detail::peak_rows& rows = row.name.op == op::gemm::name ? gemms : device.streams;
      const result::measurement*& best = rows.try_emplace(row.name.layer, &row).first->second;
      if (row.seconds < best->seconds) best = &row;
    }
  }
  std::vector<peaks> result;
  for (const auto& [on, rows] : all) {
    for (const auto& [type, gemms] : rows.gemms) {
      result.push_back({on.first, type, on.second});
      detail::add_rows(result.back(), gemms);
      detail::add_rows(result.back(), rows.streams);
    }
  }
  return result;
}

LAYERBENCH_INLINE void set_limits(prediction& of, const std::vector<peaks>& known) {
  if (of.model_case.streams() > 1) return;  // peaks are those of a device that works on one step
  const auto found = std::ranges::find_if(known, [&](const peaks& one) {
    return one.complete() && one.backend == of.model_case.backend &&
           one.dtype == of.model_case.dtype && one.threads == of.threads;
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
