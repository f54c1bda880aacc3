// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <layerbench/analysis/base/cases.hpp>
#include <layerbench/analysis/base/timings.hpp>
#include <layerbench/base/json.hpp>
#include <layerbench/base/number_format.hpp>
#include <layerbench/base/table.hpp>
#include <layerbench/model/collectives.hpp>
#include <layerbench/model/graph.hpp>
#include <layerbench/op/allreduce.hpp>
#include <layerbench/op/collective.hpp>
#include <layerbench/op/conv.hpp>
#include <layerbench/op/gemm.hpp>
#include <layerbench/op/op.hpp>
#include <layerbench/op/rnn.hpp>
#include <layerbench/result/measurement.hpp>
#include <layerbench/result/name.hpp>
#include <layerbench/shape/dtype.hpp>
#include <layerbench/shape/record.hpp>

/// The timings of a sweep in the columns that DeepBench prints (baidu-research/DeepBench, code/).
namespace layerbench::analysis {

/// A pass of a row. FLOPs count the taps in padding, as DeepBench does.
struct deepbench_time {
  op::pass pass;
  double seconds;
  double flops;

  [[nodiscard]] double tflops() const { return flops / seconds * 1e-12; }
};

/// Values of a row by DeepBench's name of their column.
using deepbench_columns = std::vector<std::pair<std::string, json::value>>;

/// A row of a sweep of which some pass is measured.
struct deepbench_row {
  model::layer layer;
  deepbench_columns sizes;
  std::vector<deepbench_time> times;  ///< in the order of the sweep's passes
};

/// A sweep under fixed conditions.
struct deepbench_result {
  model::graph sweep;
  result::case_name model_case;  ///< without the batch, which each row has
  std::int64_t threads = 0;      ///< 0: not said
  std::vector<std::string> files;
  std::vector<deepbench_row> rows;      ///< in the order of the sweep
  std::vector<std::string> unmeasured;  ///< its other rows

  /// The rows of an op.
  [[nodiscard]] std::vector<deepbench_row> rows_of(std::string_view op) const {
    std::vector<deepbench_row> chosen = rows;
    std::erase_if(chosen, [&](const deepbench_row& row) { return row.layer.op.name() != op; });
    return chosen;
  }
};

namespace detail {

/// Hot timings of the sweep's rows, by the conditions and the name of the row.
using sweep_timings =
    std::map<result::case_name, std::map<std::string, std::map<std::string, timing>>>;

/// The sizes of a row as DeepBench names them; of an op that it does not have, the key. Its GEMMs
/// are column-major: the transposed products of ours.
[[nodiscard]] inline deepbench_columns deepbench_sizes(const op::any& op) {
  if (const auto* conv = op.get<op::conv>()) {
    return {{"w", conv->w},
            {"h", conv->h},
            {"c", conv->c},
            {"n", conv->n},
            {"k", conv->k},
            {"f_w", conv->s},
            {"f_h", conv->r},
            {"pad_w", conv->pad.left},
            {"pad_h", conv->pad.top},
            {"stride_w", conv->stride.h},
            {"stride_h", conv->stride.v}};
  }
  if (const auto* gemm = op.get<op::gemm>()) {
    return {{"m", gemm->n},
            {"n", gemm->m},
            {"k", gemm->k},
            {"a_t", gemm->b_transposed ? "t" : "n"},
            {"b_t", gemm->a_transposed ? "t" : "n"}};
  }
  if (const auto* rnn = op.get<op::rnn>()) {
    return {{"type", std::string(name(rnn->kind))},
            {"hidden", rnn->hidden},
            {"n", rnn->batch},
            {"timesteps", rnn->steps}};
  }
  if (const auto* reduced = op.get<op::allreduce>()) {
    return {{"floats", reduced->count(dtype::f32)}, {"bytes", reduced->bytes}};
  }
  if (const auto* collective = op.get<op::collective>()) {
    return {{"kind", std::string(name(collective->kind))}, {"bytes", collective->bytes}};
  }
  return {{"key", op.key()}};
}

/// How DeepBench's columns of a pass begin.
[[nodiscard]] inline std::string deepbench_name(op::pass pass) {
  switch (pass) {
    case op::pass::bwd_data: return "bwd_inputs_";
    case op::pass::bwd_weights: return "bwd_params_";
    case op::pass::bwd: return "bwd_";
    default: return "fwd_";
  }
}

/// Whether a row is of the op that the sweep lists: rows of a sweep that has changed since do not
/// count. Ranks, and where results go, are those of the program; an all-reduce is an op of its
/// rows.
[[nodiscard]] inline bool is_of(const result::measurement& row, const op::any& listed) {
  const auto collective = op::as_collective(listed);
  if (!collective) return row.name.op == listed.name() && row.label.key == listed.key();
  if (collective->kind == op::collective_kind::all_reduce) {
    return row.name.op == op::allreduce::name;
  }
  return row.name.op == op::collective::name &&
         row.label.key.starts_with(fmt::format("kind:{},", name(collective->kind)));
}

[[nodiscard]] inline sweep_timings timings_of_sweep(
    const std::string& sweep, const group& files,
    const std::map<std::string, op::any, std::less<>>& layers) {
  sweep_timings found;
  for (std::size_t i = 0; i < files.size(); ++i) {
    for (const result::measurement& row : files[i]->rows) {
      const result::row_name& name = row.name;
      const auto layer = layers.find(name.layer);
      if (name.model_case.model != sweep || !row.error.empty() || name.cache != "hot" ||
          layer == layers.end() || !is_of(row, layer->second)) {
        continue;
      }
      result::case_name conditions = name.model_case;
      conditions.batch = 1;
      found[conditions][name.layer][name.pass].add({i, row.round}, row);
    }
  }
  return found;
}

/// A layer with the bytes and ranks with which bench_allreduce runs it.
[[nodiscard]] inline model::layer as_measured(model::layer layer,
                                              const result::case_name& conditions) {
  if (const auto* listed = layer.op.get<op::collective>()) {
    const dtype type = dtype_from(conditions.dtype).value_or(dtype::f32);
    layer.op = op::any(model::collective_of(listed->kind, listed->bytes,
                                            {.ranks = conditions.ranks(), .type = type}));
  }
  return layer;
}

}  // namespace detail

/// The measured rows of `sweep`, for each group of comparable files and each condition.
[[nodiscard]] inline std::vector<deepbench_result> deepbench_results(
    std::span<const result::results> files, const model::graph& sweep) {
  std::map<std::string, op::any, std::less<>> layers;
  for (const model::layer& row : sweep.layers) layers.emplace(row.name, row.op);
  std::vector<deepbench_result> all;
  for (const group& comparable : group_by_context(files)) {
    for (const auto& [conditions, rows] :
         detail::timings_of_sweep(sweep.name, comparable, layers)) {
      deepbench_result& result = all.emplace_back();
      result.sweep = sweep;
      result.model_case = conditions;
      result.threads = detail::threads(conditions, comparable);
      for (const result::results* file : comparable) result.files.push_back(file->file);
      for (const model::layer& layer : sweep.layers) {
        const auto measured = rows.find(layer.name);
        if (measured == rows.end()) {
          result.unmeasured.push_back(layer.name);
          continue;
        }
        deepbench_row row{detail::as_measured(layer, conditions), {}, {}};
        row.sizes = detail::deepbench_sizes(row.layer.op);
        for (const op::pass pass : sweep.passes.at(std::string(layer.op.name()))) {
          const auto time = measured->second.find(std::string(op::name(pass)));
          if (time == measured->second.end()) continue;
          row.times.push_back(
              {pass, time->second.seconds(), static_cast<double>(layer.op.work(pass).flops)});
        }
        result.rows.push_back(std::move(row));
      }
    }
  }
  return all;
}

namespace detail {

/// The time of the row in that pass; null where it is not measured.
[[nodiscard]] inline const deepbench_time* time_of(const deepbench_row& row, op::pass pass) {
  const auto found = std::ranges::find(row.times, pass, &deepbench_time::pass);
  return found == row.times.end() ? nullptr : &*found;
}

/// The sum over all passes; nothing where one is not measured.
[[nodiscard]] inline std::optional<double> total_seconds(const deepbench_row& row,
                                                         std::size_t passes) {
  if (row.times.size() != passes) return std::nullopt;
  double sum = 0;
  for (const deepbench_time& time : row.times) sum += time.seconds;
  return sum;
}

/// DeepBench's "GB/s": the bytes of all ranks' arrays by the time.
[[nodiscard]] inline double deepbench_bandwidth(const op::collective& op, std::int64_t ranks,
                                                double seconds) {
  return static_cast<double>(ranks) * static_cast<double>(op.bytes) / seconds * 1e-9;
}

/// A row's measured columns: times in microseconds, of collectives in milliseconds.
[[nodiscard]] inline deepbench_columns deepbench_measured(const deepbench_result& of,
                                                          const deepbench_row& row) {
  const auto& passes = of.sweep.passes.at(std::string(row.layer.op.name()));
  deepbench_columns columns;
  if (const auto collective = op::as_collective(row.layer.op)) {
    const std::int64_t ranks = of.model_case.ranks();
    const double seconds = row.times.front().seconds;
    return {{"ranks", ranks},
            {"time (msec)", seconds * 1e3},
            {"GB/s", deepbench_bandwidth(*collective, ranks, seconds)}};
  }
  const bool only_one = row.layer.op.get<op::gemm>() != nullptr;
  const auto title = [&](op::pass pass) { return only_one ? "" : deepbench_name(pass); };
  for (const op::pass pass : passes) {
    const deepbench_time* time = time_of(row, pass);
    columns.emplace_back(title(pass) + "time (usec)",
                         time ? json::value(time->seconds * 1e6) : nullptr);
  }
  if (passes.size() > 1) {
    const auto total = total_seconds(row, passes.size());
    columns.emplace_back("total_time (usec)", total ? json::value(*total * 1e6) : nullptr);
  }
  for (const op::pass pass : passes) {
    const deepbench_time* time = time_of(row, pass);
    columns.emplace_back(title(pass) + "tflops", time ? json::value(time->tflops()) : nullptr);
  }
  return columns;
}

[[nodiscard]] inline std::string cell_of(const json::value& value) {
  if (value.is_null()) return "";
  if (value.is_string()) return value.get<std::string>();
  return value.is_number_float() ? format::four_digits(value.get<double>()) : value.dump();
}

/// The rows of one op.
[[nodiscard]] inline table deepbench_table(const deepbench_result& of,
                                           const std::vector<deepbench_row>& rows) {
  table t;
  for (const deepbench_row& row : rows) {
    deepbench_columns cells{{"name", row.layer.name}};
    cells.insert(cells.end(), row.sizes.begin(), row.sizes.end());
    cells.emplace_back("precision", of.model_case.dtype);
    for (auto& cell : deepbench_measured(of, row)) cells.push_back(std::move(cell));
    std::vector<std::string>& texts = t.rows.emplace_back();
    const bool is_first = t.columns.empty();
    for (const auto& [title, value] : cells) {
      if (is_first) t.columns.push_back({title, value.is_string() ? align::left : align::right});
      texts.push_back(cell_of(value));
    }
  }
  return t;
}

/// How many rows of an op the sweep has.
[[nodiscard]] inline std::ptrdiff_t listed(const model::graph& sweep, std::string_view op) {
  return std::ranges::count_if(sweep.layers,
                               [&](const model::layer& row) { return row.op.name() == op; });
}

/// The ops of a sweep, in its order.
[[nodiscard]] inline std::vector<std::string> ops_of(const model::graph& sweep) {
  std::vector<std::string> ops;
  for (const model::layer& row : sweep.layers) {
    const std::string name(row.op.name());
    if (std::ranges::find(ops, name) == ops.end()) ops.push_back(name);
  }
  return ops;
}

}  // namespace detail

[[nodiscard]] inline std::string text(const std::vector<deepbench_result>& all) {
  std::string out;
  for (const deepbench_result& one : all) {
    for (const std::string& op : detail::ops_of(one.sweep)) {
      const std::vector<deepbench_row> rows = one.rows_of(op);
      if (rows.empty()) continue;
      const std::string threads =
          one.threads > 0 ? fmt::format(", {} thread{}", one.threads, one.threads > 1 ? "s" : "")
                          : "";
      out += fmt::format("{}{} {}, {} {}{}: {} of {} rows\n\n{}", out.empty() ? "" : "\n",
                         one.model_case.model, op, one.model_case.backend, one.model_case.dtype,
                         threads, rows.size(), detail::listed(one.sweep, op),
                         text(detail::deepbench_table(one, rows)));
    }
  }
  return out;
}

[[nodiscard]] inline json::value to_json(const std::vector<deepbench_result>& all) {
  json::value results = json::value::array();
  for (const deepbench_result& one : all) {
    json::value rows = json::value::array();
    for (const deepbench_row& row : one.rows) {
      json::value times = json::value::array();
      for (const deepbench_time& time : row.times) {
        times.push_back({{"pass", op::name(time.pass)},
                         {"seconds", time.seconds},
                         {"flops", time.flops},
                         {"tflops", time.tflops()}});
      }
      json::value sizes = json::value::object();
      for (const auto& [title, value] : row.sizes) sizes[title] = value;
      const auto passes = one.sweep.passes.at(std::string(row.layer.op.name())).size();
      const auto total = detail::total_seconds(row, passes);
      json::value& entry = rows.emplace_back(json::value{{"name", row.layer.name},
                                                         {"op", row.layer.op.name()},
                                                         {"sizes", sizes},
                                                         {"times", times},
                                                         {"total_seconds", nullptr}});
      if (total) entry["total_seconds"] = *total;
      if (const auto collective = op::as_collective(row.layer.op)) {
        const std::int64_t ranks = one.model_case.ranks();
        entry["ranks"] = ranks;
        entry["bandwidth"] =
            1e9 * detail::deepbench_bandwidth(*collective, ranks, row.times.front().seconds);
      }
    }
    results.push_back({{"model", one.model_case.model},
                       {"backend", one.model_case.backend},
                       {"dtype", one.model_case.dtype},
                       {"threads", one.threads},
                       {"ranks", one.model_case.ranks()},
                       {"files", one.files},
                       {"rows", rows},
                       {"unmeasured", one.unmeasured}});
  }
  return {{"schema", 1}, {"results", results}};
}

/// A record for each pass of each row.
[[nodiscard]] inline table records(const std::vector<deepbench_result>& all) {
  table t =
      table_with_columns("model backend dtype threads ranks name op key pass seconds flops tflops");
  for (const deepbench_result& one : all) {
    for (const deepbench_row& row : one.rows) {
      for (const deepbench_time& time : row.times) {
        t.rows.push_back({one.model_case.model, one.model_case.backend, one.model_case.dtype,
                          std::to_string(one.threads), std::to_string(one.model_case.ranks()),
                          row.layer.name, std::string(row.layer.op.name()), row.layer.op.key(),
                          std::string(op::name(time.pass)), format::exact(time.seconds),
                          format::exact(time.flops), format::exact(time.tflops())});
      }
    }
  }
  return t;
}

}  // namespace layerbench::analysis
