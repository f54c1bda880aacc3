// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include "model_options.hpp"

#include <vector>

#include <fmt/format.h>

#include <layerbench/base/error.hpp>
#include <layerbench/model/find.hpp>
#include <layerbench/model/shape_file.hpp>
#include <layerbench/op/builtin.hpp>
#include <layerbench/shape/dims.hpp>

namespace layerbench::tool {

void add_model(CLI::App& command, const std::shared_ptr<model_options>& options,
               const std::string& model_help) {
  command.add_option("model", options->model, model_help)->required();
  const auto add_size = [&](const std::string& name, const char* help, std::int64_t least) {
    command
        .add_option_function<std::int64_t>(
            "--" + name,
            [options, name](const std::int64_t& value) { options->sizes[name] = value; }, help)
        ->check(CLI::Range(least, max_size));
  };
  add_size("batch", "Images in a batch [the shape file's]", 1);
  add_size("tokens", "Tokens that the step computes of each sequence [the shape file's]", 1);
  add_size("context", "Tokens before these, in the key-value cache [the shape file's]", 0);
  command.add_option("--phase", options->phase, "What the step is for")
      ->check(CLI::IsMember({"inference", "training"}))
      ->default_str("inference");
  command
      .add_option("--fusion", options->fusion,
                  "Fuse layers as this fusion plan says: a name of 'layerbench list --fusions' or "
                  "the path of a plan")
      ->type_name("NAME|FILE")
      ->capture_default_str();
  command
      .add_option("--dtype", options->dtype,
                  "Data type of the step: that of its bytes, and in s8 of the types of a fusion "
                  "plan")
      ->check(CLI::IsMember(std::vector<std::string>(dtype_names.begin(), dtype_names.end())))
      ->capture_default_str();
}

model::graph load(const model_options& asked, const common_options& common) {
  model::graph graph = model::load(model::find(asked.model, common.shapes), asked.sizes);
  if (is_sweep(graph) && asked.phase) {
    throw usage_error(
        fmt::format("--phase: '{}' is a sweep; its file says the passes", graph.name));
  }
  if (asked.fusion == model::no_fusion) return graph;
  const op::catalog catalog = op::builtin_catalog();
  const model::fusion_plan plan =
      model::load_fusion(model::find_fusion(asked.fusion, common.shapes), catalog);
  if (is_sweep(graph) && plan.joins_layers()) {
    throw usage_error(
        fmt::format("--fusion: '{}' is a sweep; its rows have no layers to fuse", graph.name));
  }
  model::graph fused = model::fused(graph, plan, catalog, asked.type());
  if (is_sweep(fused) && !fused.inference_only.empty()) {
    throw usage_error(fmt::format("--fusion={}: '{}' is a sweep; {}", plan.name, fused.name,
                                  fused.inference_only));
  }
  return fused;
}

}  // namespace layerbench::tool
