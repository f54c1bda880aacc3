// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include "branches.hpp"

#include <algorithm>
#include <unordered_map>
#include <utility>

namespace layerbench::tool::importer {
namespace {

bool is_if(const node& of) { return of.is_standard() && of.op == "If"; }

/// The branch that an If takes; null if that depends on data.
std::shared_ptr<const graph> taken_branch(const node& of, const std::vector<known>& values) {
  if (!is_if(of) || !of.has_input(0)) return nullptr;
  const known& condition = values[of.input(0)];
  if (!condition.data || condition.data->values.size() != 1) return nullptr;
  const attribute* branch = of.find(condition.data->values[0] != 0 ? "then_branch" : "else_branch");
  if (branch == nullptr || !branch->g) return nullptr;
  return branch->g->outputs.size() == of.outputs.size() ? branch->g : nullptr;
}

/// Puts branches into the graph around them.
class inliner {
 public:
  explicit inliner(graph& to) : to_(to) {
    for (std::size_t i = 0; i < to.values.size(); ++i) names_[to.values[i].name] = i;
  }

  /// Appends the nodes of a branch to `nodes`, and copies of its results to those of its If.
  void add(const graph& branch, const node& of, std::vector<node>& nodes) {
    std::vector<std::size_t> places(branch.values.size(), no_value);
    const auto define = [&](std::size_t i) {
      if (places[i] != no_value) return;
      places[i] = add_value(branch.values[i]);
    };
    for (std::size_t i = 0; i < places.size(); ++i) {
      if (branch.values[i].initializer) define(i);
    }
    for (const node& inner : branch.nodes) std::ranges::for_each(inner.outputs, define);
    const auto place = [&](std::size_t i) {
      if (places[i] != no_value) return places[i];
      const auto outer = names_.find(branch.values[i].name);
      return places[i] = outer == names_.end() ? add_value(branch.values[i]) : outer->second;
    };
    for (node inner : branch.nodes) {
      for (std::size_t& input : inner.inputs) {
        if (input != no_value) input = place(input);
      }
      for (std::size_t& output : inner.outputs) output = place(output);
      inner.index = of.index;
      nodes.push_back(std::move(inner));
    }
    for (std::size_t i = 0; i < of.outputs.size(); ++i) {
      nodes.push_back({.op = "Identity",
                       .domain = "",
                       .name = of.name,
                       .scope = of.scope,
                       .inputs = {place(branch.outputs[i])},
                       .outputs = {of.outputs[i]},
                       .index = of.index});
    }
  }

 private:
  std::size_t add_value(const value& of) {
    names_[of.name] = to_.values.size();
    to_.values.push_back(of);
    return to_.values.size() - 1;
  }

  graph& to_;
  std::unordered_map<std::string, std::size_t> names_;
};

}  // namespace

graph with_taken_branches(graph g, const sizes& of) {
  constexpr int most_depth = 8;  // of branches in branches
  for (int depth = 0; depth < most_depth && std::ranges::any_of(g.nodes, is_if); ++depth) {
    const std::vector<known> values = infer(g, of);
    const std::vector<node> before = std::exchange(g.nodes, {});
    inliner into(g);
    bool has_changed = false;
    for (const node& one : before) {
      const std::shared_ptr<const graph> branch = taken_branch(one, values);
      if (branch) {
        into.add(*branch, one, g.nodes);
      } else {
        g.nodes.push_back(one);
      }
      has_changed = has_changed || branch;
    }
    if (!has_changed) break;
  }
  return g;
}

}  // namespace layerbench::tool::importer
