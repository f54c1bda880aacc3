// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>

#include <layerbench/base/json.hpp>
#include <layerbench/model/shape_file.hpp>
#include <layerbench/model/step.hpp>
#include <layerbench/result/manifest_json.hpp>
#include <layerbench/result/name.hpp>

/// Timings of a model that decodes.
namespace layerbench::testing {

/// A result file, as JSON text, of the model in shape file `path`, in the cases of these tokens and
/// contexts. Each call takes as many seconds as its case says, in every round. `named` are the
/// parameters of the cases' names.
struct timed_case {
  std::int64_t tokens;
  std::int64_t context;
  result::name_parameters named;
  double seconds_per_call;
};

inline std::string decoding_results(const std::filesystem::path& path,
                                    const std::vector<timed_case>& timed) {
  result::manifest cases;
  json::value rows = json::value::array();
  for (const timed_case& one : timed) {
    const model::graph graph =
        model::load(path, {{"tokens", one.tokens}, {"context", one.context}});
    const result::case_name model_case{"reference", "f32", graph.name, model::batch(graph),
                                       one.named};
    for (const model::primitive& p :
         model::primitives(model::inference_step(graph, dtype::f32, {"activation"}))) {
      cases[model_case].push_back(result::planned_of(p));
      const result::row_name name{model_case, std::string(p.op.name()), "fwd", p.layer, "hot"};
      for (const int round : {0, 1, 2}) {
        rows.push_back({{"name", name.text()},
                        {"run_type", "iteration"},
                        {"repetition_index", round},
                        {"iterations", 1},
                        {"real_time", one.seconds_per_call},
                        {"cpu_time", one.seconds_per_call},
                        {"time_unit", "s"},
                        {"label", "key=" + p.op.key()}});
      }
    }
  }
  const json::value file{
      {"context", {{"device", "x"}, {"threads", "1"}, {"manifest", result::write_manifest(cases)}}},
      {"benchmarks", rows}};
  return file.dump();
}

}  // namespace layerbench::testing
