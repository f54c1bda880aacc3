// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include <layerbench/model/find.hpp>
#include <layerbench/model/graph.hpp>
#include <layerbench/model/step.hpp>
#include <layerbench/result/google_json.hpp>
#include <layerbench/result/measurement.hpp>

namespace layerbench::predict {

/// Files whose rows may serve one another: their contexts agree.
using group = std::vector<const result::results*>;

/// Sorts files into groups, in the order of the files.
[[nodiscard]] inline std::vector<group> group_by_context(std::span<const result::results> files) {
  std::vector<group> groups;
  for (const result::results& file : files) {
    const auto same = std::ranges::find_if(groups, [&](const group& each) {
      return result::differing_context(*each.front(), file).empty();
    });
    if (same == groups.end()) {
      groups.push_back({&file});
    } else {
      same->push_back(&file);
    }
  }
  return groups;
}

/// What one step of a case consists of, and who says so.
struct planned_case {
  result::case_name owner;
  std::vector<result::planned> step;
  bool derived = false;  ///< from a shape file: what a backend would insert is not in it
};

/// The cases of the files' manifests. Where several files know a case, the longest step wins: a
/// program that inserted reorders knows more than one that did not.
[[nodiscard]] inline std::vector<planned_case> planned_cases(const group& files) {
  result::manifest cases;
  for (const result::results* file : files) {
    for (const auto& [owner, step] : file->manifest) {
      std::vector<result::planned>& known = cases[owner];
      if (step.size() > known.size()) known = step;
    }
  }
  std::vector<planned_case> plans;
  for (auto& [owner, step] : cases) plans.push_back({owner, std::move(step)});
  return plans;
}

/// The conditions under which rows of `files` were measured, each as a case of model `model`.
[[nodiscard]] inline std::set<result::case_name> measured_conditions(const group& files,
                                                                     const std::string& model) {
  std::set<result::case_name> conditions;
  for (const result::results* file : files) {
    for (const result::measurement& row : file->rows) {
      result::case_name owner = row.name.owner;
      owner.model = model;
      if (owner.phase() == "inference") conditions.insert(std::move(owner));
    }
  }
  return conditions;
}

/// The cases of the model in shape file `path` for all conditions in `files`; for those of its own
/// batch alone where the file has no parameter of that name.
[[nodiscard]] inline std::vector<planned_case> derived_cases(const group& files,
                                                             const std::filesystem::path& path) {
  const model::graph own = model::load(path);
  std::vector<planned_case> plans;
  for (const result::case_name& owner : measured_conditions(files, own.name)) {
    const bool same = owner.batch == model::batch(own);
    if (!same && !own.parameters.contains("batch")) continue;
    planned_case derived{owner, {}, true};
    for (const model::primitive& each :
         model::inference_step(same ? own : model::load(path, owner.batch))) {
      derived.step.push_back({each.layer, std::string(each.op.name()),
                              std::string(op::name(each.pass)), each.op.key(), each.count()});
    }
    plans.push_back(std::move(derived));
  }
  return plans;
}

}  // namespace layerbench::predict
