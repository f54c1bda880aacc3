// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>

#include <fmt/format.h>

#include <layerbench/analysis/base/prediction.hpp>
#include <layerbench/analysis/base/predictor.hpp>
#include <layerbench/analysis/scaling/collective_table.hpp>
#include <layerbench/base/compiled.hpp>
#include <layerbench/base/error.hpp>
#include <layerbench/base/stats.hpp>
#include <layerbench/op/builtin.hpp>
#include <layerbench/result/context_difference.hpp>
#include <layerbench/result/name.hpp>

namespace layerbench::analysis {

namespace detail {

[[nodiscard]] inline collective_time scaled(const collective_time& of, double factor) {
  return {factor * of.seconds, factor * of.low, factor * of.high};
}

}  // namespace detail

LAYERBENCH_INLINE collective_table::collective_table(std::span<const result::results> files) {
  for (const auto& [of, rounds] : rounds_in(files)) {
    std::size_t number = 0;
    const step_time time = add_up(rounds.seconds(), std::vector<term>{{1, &rounds}}, number);
    sizes_[of.first].push_back(
        {static_cast<double>(of.second), {time.seconds, time.sampling_low, time.sampling_high}});
  }
  if (sizes_.empty()) {
    throw bad_input(files.front().file, "/benchmarks",
                    "has no all-reduce of two or more ranks; measure some with "
                    "mpirun -np N bench_allreduce --benchmark_out=FILE");
  }
  std::vector<measured_allreduce> all;
  for (const auto& [devices, points] : sizes_) {
    for (const auto& [bytes, time] : points) all.push_back({devices, bytes, time.seconds});
  }
  fitted_ = fit(all);
}

LAYERBENCH_INLINE std::vector<std::int64_t> collective_table::devices() const {
  std::vector<std::int64_t> all;
  for (const auto& [number, points] : sizes_) all.push_back(number);
  return all;
}

LAYERBENCH_INLINE bool collective_table::measured(double bytes, std::int64_t devices) const {
  const auto points = sizes_.find(devices);
  return points != sizes_.end() && bytes <= points->second.back().bytes;
}

LAYERBENCH_INLINE collective_time collective_table::time(double bytes, std::int64_t devices) const {
  auto nearest = sizes_.upper_bound(devices);
  if (nearest != sizes_.begin()) --nearest;
  const collective_time known = between(nearest->second, bytes);
  if (nearest->first == devices) return known;
  const double ratio =
      fitted_.link.seconds(bytes, devices) / fitted_.link.seconds(bytes, nearest->first);
  if (!fitted_.residual) {
    return detail::scaled({known.seconds, known.seconds, known.seconds}, ratio);
  }
  const double fit_error = *fitted_.residual * known.seconds;
  const double low = known.seconds - stats::root_of_squares(known.seconds - known.low, fit_error);
  const double high = known.seconds + stats::root_of_squares(known.high - known.seconds, fit_error);
  return detail::scaled({known.seconds, std::max(low, 0.0), high}, ratio);
}

LAYERBENCH_INLINE std::vector<collective_table::found> collective_table::rows_in(
    std::span<const result::results> files) {
  std::vector<found> rows;
  for (const result::results& file : files) {
    for (const result::measurement& row : file.rows) {
      if (row.name.op != op::allreduce::name || !row.error.empty()) continue;
      const auto op = op::from_key(row.name.op, row.label.key);
      if (!op) {
        throw bad_input(
            file.file, "/benchmarks",
            "a row of an all-reduce does not say its bytes and ranks: " + row.name.text());
      }
      const auto& allreduce = *op->get<op::allreduce>();
      if (allreduce.ranks != 1) rows.push_back({&file, &row, allreduce});
    }
  }
  const auto in_place = [](const found& row) { return row.allreduce.in_place; };
  if (std::ranges::any_of(rows, in_place)) std::erase_if(rows, std::not_fn(in_place));
  for (const found& row : rows) {
    const std::string first = rows.front().file->device();
    if (row.file->device() != first) {
      throw bad_input(row.file->file, "/context/device",
                      fmt::format("has all-reduces on {}, which those of {}, on {}, are not to be "
                                  "mixed with: these would be a network that is nowhere",
                                  row.file->device(), rows.front().file->file, first));
    }
    if (row.kind() == rows.front().kind()) continue;
    throw bad_input(row.file->file, "/benchmarks",
                    fmt::format("has all-reduces of {}, which others of {} are not to be mixed "
                                "with; measure one of them alone",
                                row.kind(), rows.front().kind()));
  }
  return rows;
}

LAYERBENCH_INLINE std::map<collective_table::size, timing> collective_table::rounds_in(
    std::span<const result::results> files) {
  std::map<size, timing> all;
  std::map<std::int64_t, const result::results*> first;  // by number of ranks
  const std::vector<found> rows = rows_in(files);
  const auto is_disturbed = [](const found& row) { return row.row->disturbed(); };
  disturbed_ = static_cast<double>(std::ranges::count_if(rows, is_disturbed)) /
               static_cast<double>(std::max<std::size_t>(1, rows.size()));
  for (const found& row : rows) {
    const std::int64_t devices = row.allreduce.ranks;
    const result::results& known = *first.try_emplace(devices, row.file).first->second;
    const std::vector<std::string> differing = result::differing_context(known, *row.file);
    if (!differing.empty()) {
      throw bad_input(
          row.file->file, "/context",
          fmt::format("has all-reduces of {} ranks as {} has, but differs in: {}; "
                      "give one of the two",
                      devices, known.file, result::both_values(known, *row.file, differing)));
    }
    timing& same = all[{devices, row.allreduce.bytes}];
    const round_id round{0, std::ssize(same.rounds)};
    same.add(round, *row.row);
  }
  return all;
}

LAYERBENCH_INLINE collective_time collective_table::between(const std::vector<point>& points,
                                                            double bytes) {
  if (bytes <= points.front().bytes) return points.front().time;
  const point& last = points.back();
  if (bytes >= last.bytes) return detail::scaled(last.time, bytes / last.bytes);
  const auto above = std::ranges::upper_bound(points, bytes, {}, &point::bytes);
  const point& to = *above;
  const point& from = *std::prev(above);
  const double part = std::log(bytes / from.bytes) / std::log(to.bytes / from.bytes);
  const auto on_line = [&](double a, double b) { return a * std::pow(b / a, part); };
  return {on_line(from.time.seconds, to.time.seconds), on_line(from.time.low, to.time.low),
          on_line(from.time.high, to.time.high)};
}

}  // namespace layerbench::analysis
