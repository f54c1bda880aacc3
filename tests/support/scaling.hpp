// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <layerbench/analysis/scaling/data_parallel.hpp>
#include <layerbench/base/json.hpp>
#include <layerbench/model/find.hpp>
#include <layerbench/model/shape_file.hpp>
#include <layerbench/result/manifest_json.hpp>
#include <layerbench/result/read_results.hpp>

/// Example data for training on several devices.
namespace layerbench::testing {

inline model::graph shipped(const std::string& name, std::int64_t batch = 1) {
  return model::load(model::find(name, LAYERBENCH_SHAPES_DIR), batch);
}

/// The compute step of a device that trains a shipped model at `images_per_second`.
inline analysis::compute_step computed(const std::string& name, std::int64_t batch,
                                       double images_per_second) {
  const model::graph graph = shipped(name, batch);
  return analysis::compute_step_of(
      analysis::spread_throughput(graph, dtype::f32, images_per_second), graph, {});
}

/// A model and its batch.
using trained = std::pair<std::string, std::int64_t>;

/// A result file, as JSON text, of training these models with one thread. Each of three rounds
/// takes about 10 ms per image, 10.1 ms in the mean.
inline std::string results_of(const std::vector<trained>& models) {
  result::manifest cases;
  json::value rows = json::value::array();
  for (const auto& [model, batch] : models) {
    const analysis::prediction p =
        analysis::spread_throughput(shipped(model, batch), dtype::f32, 100);
    for (const analysis::layer_time& layer : p.layers) {
      result::planned what{layer.name, layer.op, layer.pass, layer.key, layer.count};
      what.part = layer.part;
      cases[p.model_case].push_back(what);
      const std::string name =
          result::row_name{p.model_case, layer.op, layer.pass, layer.name, "hot"}.text();
      for (const int round : {0, 1, 2}) {
        const double seconds = (layer.seconds + 1e-9) * (1 + 0.01 * round);
        rows.push_back({{"name", name},
                        {"run_type", "iteration"},
                        {"repetition_index", round},
                        {"iterations", 1},
                        {"real_time", seconds},
                        {"cpu_time", seconds},
                        {"time_unit", "s"},
                        {"label", "key=" + layer.key}});
      }
    }
  }
  const json::value file{
      {"context", {{"device", "x"}, {"threads", "1"}, {"manifest", result::write_manifest(cases)}}},
      {"benchmarks", rows}};
  return file.dump();
}

/// The same of LeNet-5 with these batches.
inline std::string training_results(const std::vector<std::int64_t>& batches) {
  std::vector<trained> models;
  for (const std::int64_t batch : batches) models.emplace_back("lenet5", batch);
  return results_of(models);
}

inline analysis::network ring_of(double alpha, double beta) {
  return {"ring", "", "", {}, analysis::link{analysis::topology::ring, alpha, beta}};
}

/// One round of an all-reduce.
inline result::measurement reduced(std::int64_t ranks, std::int64_t bytes, double seconds,
                                   std::int64_t round = 0, const std::string& backend = "mpi") {
  result::measurement row;
  row.name = {{backend, "f32", "sweep", 1, {}}, "allreduce", "fwd", "a", "hot"};
  row.label.key = fmt::format("bytes:{},ranks:{}", bytes, ranks);
  row.round = round;
  row.seconds = seconds;
  return row;
}

/// A list of one result file with these rows.
inline std::vector<result::results> reduced_file(std::vector<result::measurement> rows) {
  result::results file;
  file.file = "allreduce.json";
  file.rows = std::move(rows);
  return {file};
}

/// A result file of all-reduces as JSON text; each takes 10 ns per byte.
inline std::string reduced_text(std::int64_t ranks, const std::vector<std::int64_t>& sizes) {
  json::value file{{"context", json::value::object()}, {"benchmarks", json::value::array()}};
  for (const std::int64_t bytes : sizes) {
    file["benchmarks"].push_back(
        {{"name", fmt::format("allreduce/fwd/mpi/f32/sweep/bytes_{}/batch:1/cache:hot", bytes)},
         {"run_type", "iteration"},
         {"real_time", 10 * bytes},
         {"cpu_time", 1},
         {"time_unit", "ns"},
         {"label", fmt::format("key=bytes:{},ranks:{}", bytes, ranks)}});
  }
  return file.dump();
}

}  // namespace layerbench::testing
