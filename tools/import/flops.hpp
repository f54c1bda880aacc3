// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <unordered_map>
#include <vector>

#include "graph.hpp"
#include "inference.hpp"

/// FLOPs of nodes, also of those that no op computes.
namespace layerbench::tool::importer {

/// FLOPs of convolutions and products.
struct flop_count {
  double flops = 0;
  bool at_least = false;  ///< there are more, whose sizes are not known

  flop_count& operator+=(const flop_count& other) {
    flops += other.flops;
    at_least = at_least || other.at_least;
    return *this;
  }
};

/// The values of a graph by their names, and those of the graphs around it.
class scope {
 public:
  scope(const graph& g, const std::vector<known>& values, const scope* outer = nullptr);

  /// Null if no value has the name.
  [[nodiscard]] const known* find(std::string_view name) const;

 private:
  std::unordered_map<std::string_view, const known*> known_;
  const scope* outer_;
};

/// FLOPs of a node among these values; branches and bodies find theirs in `around`. Of the branches
/// of an If the smaller one counts, and of a Loop without a constant number of iterations one.
[[nodiscard]] flop_count flops_of(const node& of, const std::vector<known>& values,
                                  const scope& around, const sizes& at);

}  // namespace layerbench::tool::importer
