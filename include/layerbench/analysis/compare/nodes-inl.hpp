// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <layerbench/analysis/compare/comparison-inl.hpp>
#include <layerbench/analysis/compare/nodes.hpp>
#include <layerbench/base/compiled.hpp>
#include <layerbench/result/context_difference.hpp>

namespace layerbench::analysis {

namespace detail {

/// The files of a node, and their rounds as those of one run.
struct node_group {
  std::string name;
  group files;
  result::results merged;
};

/// Adds the rows of `file` to `to` as further rounds.
inline void append_rounds(const result::results& file, result::results& to) {
  std::int64_t first = 0;
  for (const result::measurement& row : to.rows) first = std::max(first, row.round + 1);
  for (result::measurement row : file.rows) {
    row.round += first;
    to.rows.push_back(std::move(row));
  }
}

/// The name of a file's node or GPU. Throws bad_input if it is not known.
[[nodiscard]] inline std::string node_name(const result::results& file, compared_dimension across) {
  const auto required = [&](const char* field) {
    const std::optional<std::string> value = file.context_value(field);
    if (value) return *value;
    throw bad_input(file.file, fmt::format("/context/{}", field),
                    fmt::format("is missing: the {} is not known", unit(across)));
  };
  std::string host = required("host_name");
  if (across != compared_dimension::gpu) return host;
  return fmt::format("{}/{}", host, required("gpu_uuid"));
}

/// Groups files by their node or GPU. Throws bad_input for a file without its name.
[[nodiscard]] inline std::vector<node_group> group_by_node(std::span<const result::results> files,
                                                           compared_dimension across) {
  std::vector<node_group> nodes;
  for (const result::results& file : files) {
    const std::string name = node_name(file, across);
    const auto found = std::ranges::find(nodes, name, &node_group::name);
    if (found == nodes.end()) {
      nodes.push_back({name, {&file}, file});
    } else {
      found->files.push_back(&file);
      append_rounds(file, found->merged);
    }
  }
  return nodes;
}

/// A file with the values that most nodes have in each field of the context. A node whose files
/// differ counts for each of their values.
[[nodiscard]] inline result::results majority(std::span<const node_group> nodes) {
  std::map<std::string, std::map<std::string, std::set<const node_group*>>> with;
  for (const node_group& node : nodes) {
    for (const result::results* file : node.files) {
      for (const auto& [field, value] : file->context) {
        with[field][result::comparable_value(field, value)].insert(&node);
      }
    }
  }
  result::results most;
  for (const auto& [field, values] : with) {
    const auto count = [](const auto& entry) { return entry.second.size(); };
    const auto commonest = std::ranges::max_element(values, {}, count);
    if (2 * count(*commonest) >= nodes.size()) most.context[field] = commonest->first;
  }
  return most;
}

/// Fields in which nodes differ from most others, but for their names. Throws bad_input unless
/// forced.
[[nodiscard]] inline std::vector<std::string> differing_between(std::span<const node_group> nodes,
                                                                compared_dimension across,
                                                                bool force) {
  const result::results most = majority(nodes);
  std::vector<std::string> odd;
  std::set<std::string> all;
  const result::results* first = nullptr;
  for (const node_group& node : nodes) {
    std::map<std::string, const result::results*> fields;  // with the first file that differs
    for (const result::results* file : node.files) {
      for (const std::string& field : result::differing_context(most, *file)) {
        if (field == "host_name") continue;
        fields.emplace(field, file);
        if (first == nullptr) first = file;
      }
    }
    if (fields.empty()) continue;
    std::vector<std::string> values;
    for (const auto& [field, file] : fields) {
      values.push_back(result::both_values(most, *file, {field}));
      all.insert(field);
    }
    odd.push_back(fmt::format("{} in {}", node.name, fmt::join(values, ", ")));
  }
  if (first != nullptr && !force) {
    throw bad_input(first->file, "/context",
                    fmt::format("{}s differ not only in their names from most others: {}; "
                                "compare anyway with --force",
                                unit(across), fmt::join(odd, ", ")));
  }
  return {all.begin(), all.end()};
}

/// What is compared, with the sums of the nodes that timed it.
struct sums_of_nodes {
  std::vector<std::size_t> nodes;
  std::vector<timed_sum> sums;
};

/// Compares the sums of all nodes; `tests` is the number of such comparisons.
[[nodiscard]] inline times_of_nodes times_of(const sums_of_nodes& of, std::size_t tests,
                                             double margin) {
  const nodes_compared found = compare_with_usual(of.sums, tests, margin);
  times_of_nodes result{found.usual_seconds};
  for (std::size_t i = 0; i < of.nodes.size(); ++i) {
    result.times.push_back({found.nodes[i], of.nodes[i], found.usual[i]});
  }
  return result;
}

inline void compare_layers(const std::vector<run_group>& nodes, node_comparison& all) {
  std::vector<identified_row> rows;
  std::vector<sums_of_nodes> sums;
  std::set<std::string> seen;
  for (const run_group& from : nodes) {
    for (const identified_row& row : from.rows) {
      if (!seen.insert(row.id).second) continue;
      sums_of_nodes of;
      for (std::size_t i = 0; i < nodes.size(); ++i) {
        const std::optional<timing> found = nodes[i].find(row.id);
        if (!found) continue;
        const term one{1, &*found};
        of.nodes.push_back(i);
        of.sums.emplace_back(std::span(&one, 1));
      }
      if (of.nodes.size() < min_nodes) {
        all.on_few_nodes.push_back(row);
      } else {
        rows.push_back(row);
        sums.push_back(std::move(of));
      }
    }
  }
  for (std::size_t i = 0; i < sums.size(); ++i)
    all.layers.push_back({times_of(sums[i], sums.size(), all.margin), std::move(rows[i])});
}

/// A case on the nodes that timed its whole step.
struct case_of_nodes {
  result::case_name model_case;
  std::string cache;
  std::vector<std::size_t> nodes;
  std::vector<covered_step> steps;  ///< by their place in `nodes`
  std::vector<uncompared> incomplete;
};

/// The plan of a case on each node; null on those that have none.
using plans_of_case = std::vector<const planned_case*>;

[[nodiscard]] inline case_of_nodes case_in_state(const plans_of_case& plans,
                                                 const std::vector<run_group>& nodes,
                                                 const node_comparison& all,
                                                 const std::string& cache) {
  case_of_nodes result;
  result.cache = cache;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (plans[i] == nullptr) continue;
    result.model_case = plans[i]->model_case;
    covered_step step = find_timings(*plans[i], nodes[i].measured, cache);
    if (step.missing.empty()) {
      result.nodes.push_back(i);
      result.steps.push_back(std::move(step));
    } else {
      result.incomplete.push_back(
          {plans[i]->model_case,
           fmt::format("{}: layers without a timing in cache:{}: {}", all.nodes[i].name, cache,
                       fmt::join(step.missing, " ")),
           true});
    }
  }
  return result;
}

/// By timings of cache state `model`, or of `hot` if more nodes have all of those.
[[nodiscard]] inline case_of_nodes find_case(const plans_of_case& plans,
                                             const std::vector<run_group>& nodes,
                                             const node_comparison& all) {
  case_of_nodes by_model = case_in_state(plans, nodes, all, "model");
  if (by_model.incomplete.empty()) return by_model;
  const case_of_nodes by_hot = case_in_state(plans, nodes, all, "hot");
  return by_hot.nodes.size() > by_model.nodes.size() ? by_hot : by_model;
}

/// The primitives that contribute most to the difference of a node's step from that of the usual
/// nodes. `place` is that of the node in `of`.
[[nodiscard]] inline std::vector<contributor> top_contributors(const case_of_nodes& of,
                                                               const std::vector<node_time>& times,
                                                               std::size_t place) {
  const auto usual = std::ranges::count_if(times, &node_time::usual);
  contributors by_work;
  for (std::size_t i = 0; i < times.size(); ++i) {
    if (!times[i].usual) continue;
    add_calls(of.steps[i], /*paired=*/false, 1 / static_cast<double>(usual),
              &contributor::old_seconds, by_work);
  }
  add_calls(of.steps[place], /*paired=*/false, 1, &contributor::new_seconds, by_work);
  return largest_changes(std::move(by_work));
}

[[nodiscard]] inline std::vector<case_of_nodes> cases_of_nodes(
    const std::vector<std::vector<planned_case>>& planned, const std::vector<run_group>& nodes,
    node_comparison& all) {
  std::vector<case_of_nodes> cases;
  std::vector<result::case_name> seen;
  for (const auto& of_node : planned) {
    for (const planned_case& one : of_node) {
      if (std::ranges::find(seen, one.model_case) != seen.end()) continue;
      seen.push_back(one.model_case);
      plans_of_case plans;
      for (const auto& others : planned) {
        const auto same = std::ranges::find(others, one.model_case, &planned_case::model_case);
        plans.push_back(same == others.end() ? nullptr : &*same);
      }
      case_of_nodes found = find_case(plans, nodes, all);
      if (found.nodes.empty()) {  // nobody asked for all of its layers
        all.left_out.push_back({one.model_case, "no node timed all layers in a cache state"});
        continue;
      }
      all.left_out.insert(all.left_out.end(), found.incomplete.begin(), found.incomplete.end());
      if (found.nodes.size() >= min_nodes) {
        cases.push_back(std::move(found));
      } else if (found.incomplete.empty()) {
        all.left_out.push_back(
            {one.model_case, fmt::format("fewer than four {}s have the case", unit(all.across))});
      }
    }
  }
  return cases;
}

inline void compare_models(const std::vector<node_group>& grouped,
                           const std::vector<run_group>& nodes, node_comparison& all) {
  std::vector<std::vector<planned_case>> planned;
  for (const node_group& node : grouped) planned.push_back(planned_cases(node.files));
  const std::vector<case_of_nodes> cases = cases_of_nodes(planned, nodes, all);
  for (const case_of_nodes& one : cases) {
    sums_of_nodes of{one.nodes, {}};
    for (const covered_step& step : one.steps) of.sums.emplace_back(terms(step.step));
    model_of_nodes model{times_of(of, cases.size(), all.margin), one.model_case, one.cache,
                         threads(one.model_case, grouped[one.nodes.front()].files)};
    model.left_out = left_out(
        *std::ranges::find(planned[one.nodes.front()], one.model_case, &planned_case::model_case));
    for (std::size_t i = 0; i < model.times.size(); ++i) {
      if (model.times[i].changed())
        model.times[i].top_contributors = top_contributors(one, model.times, i);
    }
    all.models.push_back(std::move(model));
  }
}

/// Throws usage_error for so few nodes that none of them can be named.
inline void require_nodes(const std::vector<node_group>& nodes, compared_dimension across) {
  if (nodes.size() >= min_nodes) return;
  std::vector<std::string> names;
  for (const node_group& node : nodes) names.push_back(node.name);
  throw usage_error(fmt::format(
      "--across={}: the files are of {} {}{} ({}); give those of four or more", name(across),
      nodes.size(), unit(across), nodes.size() == 1 ? "" : "s", fmt::join(names, " ")));
}

}  // namespace detail

LAYERBENCH_INLINE node_comparison compare_nodes(std::span<const result::results> files,
                                                const comparison_options& chosen) {
  const group all_files = group_of(files);
  detail::require_rounds(all_files);
  detail::require_rows(all_files);
  node_comparison all;
  if (chosen.dimension) all.across = *chosen.dimension;
  const std::vector<detail::node_group> grouped = detail::group_by_node(files, all.across);
  detail::require_nodes(grouped, all.across);
  all.margin = chosen.margin;
  all.file_notes = notes_of(all_files);
  all.forced = detail::differing_between(grouped, all.across, chosen.force);
  std::vector<detail::run_group> nodes;
  for (const detail::node_group& one : grouped) {
    nodes.emplace_back(group{&one.merged});
    node& added = all.nodes.emplace_back(node{one.name, {}, nodes.back().disturbed});
    for (const result::results* file : one.files) added.files.push_back(file->file);
  }
  detail::compare_layers(nodes, all);
  detail::compare_models(grouped, nodes, all);
  if (all.layers.empty() && all.models.empty()) {
    throw nothing_matched(
        fmt::format("nothing to compare: no layer is on four {}s", unit(all.across)));
  }
  return all;
}

LAYERBENCH_INLINE std::vector<named_node> named_nodes(const node_comparison& all) {
  std::vector<named_node> found;
  const auto add = [&](const std::string& of, const std::vector<node_time>& times) {
    for (const node_time& time : times) {
      if (time.changed()) found.push_back({&all.nodes[time.node], of, &time});
    }
  };
  for (const model_of_nodes& model : all.models) add(model.model_case.text(), model.times);
  if (all.models.empty()) {
    for (const layer_of_nodes& layer : all.layers) add(layer.row.name, layer.times);
  }
  std::ranges::stable_sort(found, std::ranges::greater{}, [](const named_node& one) {
    return std::abs(std::log(one.time->ratio.value()));
  });
  return found;
}

}  // namespace layerbench::analysis
