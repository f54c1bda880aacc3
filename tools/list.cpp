// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <layerbench/analysis/scaling/network_file.hpp>
#include <layerbench/analysis/scaling/text.hpp>
#include <layerbench/analysis/study/study_file.hpp>
#include <layerbench/base/error.hpp>
#include <layerbench/base/table.hpp>
#include <layerbench/base/units.hpp>
#include <layerbench/model/find.hpp>
#include <layerbench/model/fusion.hpp>
#include <layerbench/model/schema.hpp>
#include <layerbench/model/shape_file.hpp>
#include <layerbench/model/totals.hpp>
#include <layerbench/op/builtin.hpp>

#include "commands.hpp"

namespace layerbench::tool {
namespace {

/// A model and its totals.
struct listed_model {
  model::graph graph;
  model::totals totals;
};

/// What the listed models must have; an empty list selects every model.
struct selection {
  std::vector<std::string> families, data, studies;
};

using texts = std::vector<std::string>;

bool contains_any(const texts& wanted, const texts& found) {
  return wanted.empty() || std::ranges::find_first_of(wanted, found) != wanted.end();
}

bool selects(const selection& wanted, const model::graph& graph) {
  return contains_any(wanted.families, {graph.family}) && contains_any(wanted.data, {graph.data}) &&
         contains_any(wanted.studies, graph.studies);
}

/// The error for an option whose values no model has: it lists those that models have.
void require_known(const std::string& option, const texts& wanted,
                   const std::set<std::string>& known) {
  for (const std::string& value : wanted) {
    if (known.contains(value)) continue;
    throw nothing_matched(fmt::format("--{}: no model has '{}'; there are: {}", option, value,
                                      fmt::join(known, " ")));
  }
}

/// The selected models, by family and name.
std::vector<listed_model> load_all(const std::string& shapes, const selection& wanted) {
  std::vector<listed_model> models;
  std::set<std::string> families, data, studies;
  for (const std::string& name : model::list(shapes)) {
    model::graph graph = model::load(model::find(name, shapes));
    families.insert(graph.family);
    data.insert(graph.data);
    studies.insert(graph.studies.begin(), graph.studies.end());
    if (!selects(wanted, graph)) continue;
    const model::totals totals = model::count(graph);
    models.push_back({std::move(graph), totals});
  }
  if (families.empty()) throw model::no_models(shapes);
  require_known("family", wanted.families, families);
  require_known("data", wanted.data, data);
  require_known("study", wanted.studies, studies);
  if (models.empty()) throw nothing_matched("no model has all that the options ask for");
  std::ranges::stable_sort(models, {}, [](const listed_model& of) { return of.graph.family; });
  return models;
}

/// CSV has exact numbers, studies and aliases.
table to_table(const std::vector<listed_model>& models, bool is_csv) {
  using enum align;
  table t{{{"name"},
           {"title"},
           {"batch", right},
           {"layers", right},
           {"macs", right},
           {"parameters", right},
           {"family"},
           {"data"}},
          {}};
  if (is_csv) {
    t.columns.emplace_back("studies");
    t.columns.emplace_back("aliases");
  }
  const auto number = [&](std::int64_t value) {
    return is_csv ? std::to_string(value) : units::si(static_cast<double>(value), "");
  };
  for (const auto& [graph, totals] : models) {
    std::vector<std::string> row{graph.name,
                                 graph.title,
                                 std::to_string(model::batch(graph)),
                                 std::to_string(graph.layers.size()),
                                 number(totals.macs),
                                 number(totals.parameters),
                                 graph.family,
                                 graph.data};
    if (is_csv) {
      row.push_back(fmt::format("{}", fmt::join(graph.studies, " ")));
      row.push_back(fmt::format("{}", fmt::join(graph.aliases, " ")));
    }
    t.rows.push_back(std::move(row));
  }
  return t;
}

json::value to_json(const std::vector<listed_model>& models) {
  json::value list = json::value::array();
  for (const auto& [graph, totals] : models) {
    list.push_back({{"name", graph.name},
                    {"title", graph.title},
                    {"family", graph.family},
                    {"data", graph.data},
                    {"studies", graph.studies},
                    {"aliases", graph.aliases},
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

/// A list of files, in JSON by the name `what`. Text leaves out the last column, the source.
std::string render(table t, const char* what, const json::value& list, const std::string& format) {
  if (format == "json") return json_text({{"schema", 1}, {what, list}});
  if (format == "csv") return csv(t);
  t.columns.pop_back();
  for (auto& row : t.rows) row.pop_back();
  return text(t);
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
  return render(std::move(t), "networks", list, format);
}

/// The sweeps in the directory of the shape files.
std::string render_sweeps(const std::string& shapes, const std::string& format) {
  table t{{{"name"}, {"rows", align::right}, {"title"}, {"source"}}, {}};
  json::value list = json::value::array();
  for (const std::string& name : model::list(shapes, "sweeps")) {
    const model::graph sweep = model::load(model::find(name, shapes));
    t.rows.push_back({name, std::to_string(sweep.layers.size()), sweep.title, sweep.source});
    list.push_back({{"name", name},
                    {"title", sweep.title},
                    {"rows", sweep.layers.size()},
                    {"source", sweep.source}});
  }
  return render(std::move(t), "sweeps", list, format);
}

/// The studies in the directory of the shape files.
std::string render_studies(const std::string& shapes, const std::string& format) {
  table t{{{"name"}, {"title"}, {"cells", align::right}, {"source"}}, {}};
  json::value list = json::value::array();
  for (const std::string& name : analysis::list_studies(shapes)) {
    const analysis::study item = analysis::load_study(name, shapes);
    t.rows.push_back({name, item.title, std::to_string(item.cells.size()), item.source});
    list.push_back({{"name", name},
                    {"title", item.title},
                    {"cells", item.cells.size()},
                    {"source", item.source}});
  }
  if (format == "json") return json_text({{"schema", 1}, {"studies", list}});
  return format == "csv" ? csv(t) : text(t);
}

/// The fusion plans in the directory of the shape files.
std::string render_fusions(const std::string& shapes, const std::string& format) {
  table t{{{"name"}, {"title"}, {"source"}}, {}};
  json::value list = json::value::array();
  for (const std::string& name : model::list(shapes, "fusions")) {
    const model::fusion_plan plan =
        model::load_fusion(model::find_fusion(name, shapes), op::builtin_catalog());
    t.rows.push_back({name, plan.title, plan.source});
    list.push_back({{"name", name}, {"title", plan.title}, {"source", plan.source}});
  }
  return render(std::move(t), "fusions", list, format);
}

}  // namespace

void add_list(CLI::App& app) {
  CLI::App* command = app.add_subcommand("list", "Lists the models that can be measured");
  const std::shared_ptr<const common_options> common = add_common(*command);
  const auto wanted = std::make_shared<selection>();
  add_values(*command, "--family", "NAME", wanted->families,
             "Only models of these families, such as resnet or resnet,vgg");
  add_values(*command, "--data", "NAME", wanted->data,
             "Only models for these data sets, such as cifar10");
  add_values(*command, "--study", "NAME", wanted->studies,
             "Only models of these studies, such as upv_2018");
  const auto schema = std::make_shared<bool>(false);
  command->add_flag("--schema", *schema, "Print the JSON schema of shape files instead");
  const auto networks = std::make_shared<bool>(false);
  command->add_flag("--networks", *networks, "List the networks for predict --network instead");
  const auto sweeps = std::make_shared<bool>(false);
  command->add_flag("--sweeps", *sweeps, "List the sweeps, such as DeepBench's lists, instead");
  const auto studies = std::make_shared<bool>(false);
  command->add_flag("--studies", *studies, "List the published studies for study instead");
  const auto fusions = std::make_shared<bool>(false);
  command->add_flag("--fusions", *fusions, "List the fusion plans for --fusion instead");
  command->callback([common, wanted, schema, networks, sweeps, studies, fusions] {
    if (*fusions) return write(*common, render_fusions(common->shapes, common->format));
    if (*sweeps) return write(*common, render_sweeps(common->shapes, common->format));
    if (*studies) return write(*common, render_studies(common->shapes, common->format));
    if (*networks) return write(*common, render_networks(common->shapes, common->format));
    write(*common, *schema ? model::schema(op::builtin_catalog()).dump(2) + '\n'
                           : render(load_all(common->shapes, *wanted), common->format));
  });
}

}  // namespace layerbench::tool
