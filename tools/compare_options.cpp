// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include "compare_options.hpp"

#include <vector>

#include <fmt/format.h>

#include <layerbench/analysis/compare/backends_text.hpp>
#include <layerbench/analysis/compare/json.hpp>
#include <layerbench/analysis/compare/nodes_json.hpp>
#include <layerbench/analysis/compare/nodes_text.hpp>
#include <layerbench/analysis/compare/time_series_json.hpp>
#include <layerbench/analysis/compare/time_series_text.hpp>
#include <layerbench/base/error.hpp>
#include <layerbench/base/parse_number.hpp>

#include "commands.hpp"

namespace layerbench::tool {
namespace {

std::string check_percent(const std::string& text) {
  return check_number(text, 0, 1000, "a number of percent, such as 2.5");
}

/// The models that are slower by more than `allowed` percent, or, if no model is compared, the sum
/// of the rows and the layers.
std::vector<std::string> regressions(const analysis::comparison& all, double allowed) {
  std::vector<std::string> found;
  const auto add = [&](const std::string& name, const analysis::compared& of) {
    const double slower = 100 * (of.ratio.value() - 1);
    if (of.verdict != analysis::verdict::slower || slower <= allowed) return;
    found.push_back(fmt::format("{} is {:.1f} % slower", name, slower));
  };
  for (const analysis::compared_model& model : all.models) add(model.model_case.text(), model);
  if (!all.models.empty()) return found;
  for (const analysis::compared& sum : all.sum) add("the sum of the rows", sum);
  for (const analysis::compared_layer& layer : all.layers) add(layer.row.name, layer);
  return found;
}

analysis::comparison_options of_analysis(const compare_options& chosen) {
  return {chosen.margin / 100, from_name<analysis::compared_dimension>(chosen.dimension),
          chosen.force, chosen.paired, chosen.most_pairs};
}

/// The nodes that are slower by more than `allowed` percent.
std::vector<std::string> regressions(const analysis::node_comparison& all, double allowed) {
  std::vector<std::string> found;
  for (const analysis::named_node& one : named_nodes(all)) {
    const double slower = 100 * (one.time->ratio.value() - 1);
    if (one.time->verdict != analysis::verdict::slower || slower <= allowed) continue;
    found.push_back(fmt::format("{}: {} is {:.1f} % slower", one.node->name, one.of, slower));
  }
  return found;
}

/// The models, or layers if there are no models, that are slower since their last change.
std::vector<std::string> regressions(const analysis::date_comparison& all, double allowed) {
  std::vector<std::string> found;
  for (const auto& [of, is_step, name, change] : named_changes(all)) {
    const double slower = 100 * (change->ratio.value() - 1);
    if (is_step == all.steps.empty() || change != &of->changes.back() || slower <= allowed)
      continue;
    found.push_back(fmt::format("{} is {:.1f} % slower since {}", name, slower,
                                of->points[change->first].file));
  }
  return found;
}

}  // namespace

void add_margin(CLI::App& command, compare_options& chosen) {
  command
      .add_option("--margin", chosen.margin,
                  "Percent up to which times count as the same\n--margin=5")
      ->type_name("PERCENT")
      ->check(check_percent)
      ->capture_default_str();
}

void add_compare_options(CLI::App& command, compare_options& chosen, bool of_equals) {
  const auto& all = enum_names<analysis::compared_dimension>;
  std::vector<std::string> dimensions(all.begin(), all.end());
  if (!of_equals) {
    std::erase_if(dimensions, [](const std::string& name) {
      return analysis::compares_equals(*from_name<analysis::compared_dimension>(name));
    });
  }
  command
      .add_option(
          "--across", chosen.dimension,
          std::string("What is compared, and may differ") +
              (of_equals
                   ? "; node, gpu: each of several equal ones with the others; "
                     "date: lasting changes over many runs; backend: the fastest one for each layer"
                   : "") +
              " [where only one of them does, that]")
      ->check(CLI::IsMember(dimensions));
  command.add_flag("--force", chosen.force, "Compare, whatever else differs, and say so");
  add_margin(command, chosen);
  CLI::Option* every = command.add_flag("--all", chosen.shown.all,
                                        "Show all layers, also those that did not change");
  add_table_options(command, chosen.shown.top, chosen.shown.order);
  every->excludes("--top");
  command.add_flag("--wide", chosen.shown.wide,
                   "Show whole row names, also the parts that all of them have");
  command
      .add_flag("--fail-on-regression{0}", chosen.allowed,
                "Exit with 4 where a model is slower; with a value: by more than that "
                "percentage\n--fail-on-regression=3")
      ->type_name("PERCENT")
      ->check(check_percent);
}

analysis::comparison compare(std::span<const result::results> old,
                             std::span<const result::results> now, const compare_options& chosen) {
  return analysis::compare(old, now, of_analysis(chosen));
}

analysis::comparison compare(std::span<const result::metrics> old,
                             std::span<const result::metrics> now,
                             const analysis::row_weights& weights, const compare_options& chosen) {
  return analysis::compare_metrics(old, now, weights, of_analysis(chosen));
}

analysis::node_comparison compare_nodes(std::span<const result::results> files,
                                        const compare_options& chosen) {
  return analysis::compare_nodes(files, of_analysis(chosen));
}

analysis::date_comparison compare_dates(std::span<const result::results> files,
                                        const compare_options& chosen) {
  return analysis::compare_dates(files, of_analysis(chosen));
}

std::string compare_backends(std::span<const result::results> files, const std::string& format,
                             const compare_options& chosen) {
  if (!chosen.allowed.empty() || format == "csv") {
    throw usage_error("--across=backend has neither --fail-on-regression nor --format=csv");
  }
  const analysis::backend_comparison all = analysis::compare_backends(files, of_analysis(chosen));
  if (format == "plan") return json_text(fusion_plan_of(all));
  return format == "text" ? text(all, chosen.shown) : json_text(to_json(all));
}

template <class Comparison>
std::string render(const Comparison& all, const std::string& format,
                   const analysis::layers_shown& shown) {
  if (format == "csv") return csv(analysis::records(all));
  if (format == "text") return analysis::text(all, shown);
  return json_text(analysis::to_json(all));
}
template std::string render(const analysis::comparison&, const std::string&,
                            const analysis::layers_shown&);
template std::string render(const analysis::node_comparison&, const std::string&,
                            const analysis::layers_shown&);
template std::string render(const analysis::date_comparison&, const std::string&,
                            const analysis::layers_shown&);

template <class Comparison>
void require_no_regression(const Comparison& all, const compare_options& chosen) {
  std::vector<std::string> found;
  for (const analysis::uncompared& other : all.left_out) {
    if (other.incomplete)
      found.push_back(fmt::format("{}: {}", other.model_case.text(), other.reason));
  }
  if (!found.empty()) found = {fmt::format("not compared: {}", fmt::join(found, "; "))};
  if (!chosen.allowed.empty()) {
    const std::vector<std::string> slower = regressions(all, *parse_number<double>(chosen.allowed));
    if (!slower.empty()) found.push_back(fmt::format("regression: {}", fmt::join(slower, "; ")));
  }
  if (!found.empty()) {
    throw error(fmt::format("{}", fmt::join(found, "\nlayerbench: ")), exit_code::incomplete);
  }
}
template void require_no_regression(const analysis::comparison&, const compare_options&);
template void require_no_regression(const analysis::node_comparison&, const compare_options&);
template void require_no_regression(const analysis::date_comparison&, const compare_options&);

}  // namespace layerbench::tool
