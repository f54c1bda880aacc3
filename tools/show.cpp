// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <memory>
#include <optional>

#include <layerbench/base/units.hpp>
#include <layerbench/model/find.hpp>
#include <layerbench/model/step.hpp>
#include <layerbench/report/table.hpp>

#include "commands.hpp"

namespace layerbench::tool {
namespace {

struct show_options {
  std::string model;
  std::optional<std::int64_t> batch;
  std::string phase = "inference";
};

/// Names of the layers whose output a layer reads; none where that is the model's own input.
std::vector<std::string> producers(const model::graph& graph, const model::layer& layer) {
  std::vector<std::string> names;
  for (const std::size_t input : layer.inputs) {
    if (input != model::model_input) names.push_back(graph.layers[input].name);
  }
  return names;
}

std::int64_t bytes(const model::layer& layer) {
  return op::least_bytes(layer.op.operands(op::pass::fwd, dtype::f32));
}

json::value to_json(const model::graph& graph, const model::totals& totals) {
  json::value layers = json::value::array();
  for (const model::layer& each : graph.layers) {
    const op::work work = each.op.work(op::pass::fwd);
    layers.push_back({{"name", each.name},
                      {"op", each.op.name()},
                      {"key", each.op.key()},
                      {"shape", each.op.shape()},
                      {"macs", work.macs},
                      {"flops", work.flops},
                      {"bytes", bytes(each)},
                      {"after", producers(graph, each)}});
  }
  return {{"schema", 1},
          {"model", graph.name},
          {"batch", model::batch(graph)},
          {"parameters", totals.parameters},
          {"macs", totals.macs},
          {"conv_layers", totals.conv_layers},
          {"unique_conv_shapes", totals.unique_conv_shapes},
          {"activations", totals.activations},
          {"layers", layers}};
}

report::table to_table(const model::graph& graph, bool exact) {
  using enum report::align;
  report::table t{
      {{"name"}, {"op"}, {"macs", right}, {"flops", right}, {"bytes", right}, {"key"}, {"after"}},
      {}};
  const auto number = [&](std::int64_t value, std::string_view unit) {
    return exact ? std::to_string(value) : units::si(static_cast<double>(value), unit);
  };
  for (const model::layer& each : graph.layers) {
    const op::work work = each.op.work(op::pass::fwd);
    t.rows.push_back({each.name, std::string(each.op.name()), number(work.macs, ""),
                      number(work.flops, ""), number(bytes(each), "B"), each.op.key(),
                      fmt::format("{}", fmt::join(producers(graph, each), " "))});
  }
  return t;
}

std::string to_text(const model::graph& graph, const model::totals& totals) {
  return fmt::format(
      "{}: {}, batch {}\nsizes from: {}\n{} parameters, {} MACs, {} activations; {} conv layers of "
      "{} distinct shapes; bytes are the least for f32\n\n{}",
      graph.name, graph.title, model::batch(graph), graph.source, totals.parameters, totals.macs,
      totals.activations, totals.conv_layers, totals.unique_conv_shapes,
      text(to_table(graph, false)));
}

std::string render(const model::graph& graph, const std::string& format) {
  if (format == "csv") return csv(to_table(graph, true));
  const model::totals totals = model::count(graph);
  return format == "json" ? to_json(graph, totals).dump(2) + '\n' : to_text(graph, totals);
}

}  // namespace

void add_show(CLI::App& app) {
  CLI::App* command = app.add_subcommand("show", "Shows a model: its totals and its layers");
  const auto options = std::make_shared<show_options>();
  command->add_option("model", options->model, "Name of a model, or path of a shape file")
      ->required();
  command->add_option("--batch", options->batch, "Images in a batch; default: the shape file's")
      ->check(CLI::Range(std::int64_t{1}, max_size));
  command->add_option("--phase", options->phase, "What the step is for")
      ->check(CLI::IsMember({"inference"}))
      ->capture_default_str();
  const std::shared_ptr<const common_options> common = add_common(*command);
  command->callback([common, options] {
    const model::graph graph =
        model::load(model::find(options->model, common->shapes), options->batch);
    write(*common, render(graph, common->format));
  });
}

}  // namespace layerbench::tool
