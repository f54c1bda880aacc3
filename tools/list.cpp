// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <memory>

#include <layerbench/analysis/scaling/network_file.hpp>
#include <layerbench/base/table.hpp>
#include <layerbench/base/units.hpp>
#include <layerbench/model/find.hpp>
#include <layerbench/model/schema.hpp>
#include <layerbench/model/shape_file.hpp>
#include <layerbench/model/step.hpp>

#include "commands.hpp"

namespace layerbench::tool {
namespace {

/// A model and its totals.
struct listed_model {
  model::graph graph;
  model::totals totals;
};

std::vector<listed_model> load_all(const std::string& shapes) {
  std::vector<listed_model> models;
  for (const std::string& name : model::list(shapes)) {
    model::graph graph = model::load(model::find(name, shapes));
    const model::totals totals = model::count(graph);
    models.push_back({std::move(graph), totals});
  }
  if (models.empty()) throw model::no_models(shapes);
  return models;
}

table to_table(const std::vector<listed_model>& models, bool exact) {
  using enum align;
  table t{{{"name"},
           {"title"},
           {"batch", right},
           {"layers", right},
           {"macs", right},
           {"parameters", right}},
          {}};
  const auto number = [&](std::int64_t value) {
    return exact ? std::to_string(value) : units::si(static_cast<double>(value), "");
  };
  for (const auto& [graph, totals] : models) {
    t.rows.push_back({graph.name, graph.title, std::to_string(model::batch(graph)),
                      std::to_string(graph.layers.size()), number(totals.macs),
                      number(totals.parameters)});
  }
  return t;
}

json::value to_json(const std::vector<listed_model>& models) {
  json::value list = json::value::array();
  for (const auto& [graph, totals] : models) {
    list.push_back({{"name", graph.name},
                    {"title", graph.title},
                    {"batch", model::batch(graph)},
                    {"layers", graph.layers.size()},
                    {"macs", totals.macs},
                    {"parameters", totals.parameters}});
  }
  return {{"schema", 1}, {"models", list}};
}

std::string render(const std::vector<listed_model>& models, const std::string& format) {
  if (format == "json") return to_json(models).dump(2) + '\n';
  return format == "csv" ? csv(to_table(models, true)) : text(to_table(models, false));
}

/// The networks in the directory of the shape files.
std::string render_networks(const std::string& shapes, const std::string& format) {
  table t{{{"name"}, {"title"}, {"network"}, {"source"}}, {}};
  json::value list = json::value::array();
  for (const std::string& name : analysis::list_networks(shapes)) {
    const analysis::network network = analysis::load_network({name}, shapes);
    const std::string description = analysis::text(network);
    t.rows.push_back({name, network.title, description, network.source});
    list.push_back({{"name", name},
                    {"title", network.title},
                    {"network", description},
                    {"source", network.source}});
  }
  if (format == "json") return json_text({{"schema", 1}, {"networks", list}});
  if (format == "csv") return csv(t);
  t.columns.pop_back();
  for (auto& row : t.rows) row.pop_back();
  return text(t);
}

}  // namespace

void add_list(CLI::App& app) {
  CLI::App* command = app.add_subcommand("list", "Lists the models there are shape files of");
  const std::shared_ptr<const common_options> common = add_common(*command);
  const auto schema = std::make_shared<bool>(false);
  command->add_flag("--schema", *schema, "Print the JSON schema of shape files instead");
  const auto networks = std::make_shared<bool>(false);
  command->add_flag("--networks", *networks, "List the networks for predict --network instead");
  command->callback([common, schema, networks] {
    if (*networks) return write(*common, render_networks(common->shapes, common->format));
    write(*common, *schema ? model::schema(op::catalog_of(op::builtin{})).dump(2) + '\n'
                           : render(load_all(common->shapes), common->format));
  });
}

}  // namespace layerbench::tool
