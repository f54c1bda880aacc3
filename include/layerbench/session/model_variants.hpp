// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <layerbench/backend/registry.hpp>
#include <layerbench/model/fusion.hpp>
#include <layerbench/model/graph.hpp>
#include <layerbench/session/options.hpp>

/// The graphs that a model file stands for: its sizes and fusions, and the rows of a sweep.
namespace layerbench::run::detail {

/// The sizes that were asked for in place of the shape file's own, in the order batches, tokens,
/// contexts.
[[nodiscard]] std::vector<model::parameter_values> sizes_of(const options& o);

/// The fusion plans that were asked for; nothing stands for none. Throws bad_input,
/// nothing_matched.
[[nodiscard]] std::vector<std::optional<model::fusion_plan>> fusions_of(const options& o,
                                                                        const registry& known);

/// The names of the models of a suite, and the files that they come from.
class model_names {
 public:
  /// Throws usage_error for the name of another file.
  void add(const std::string& name, const std::filesystem::path& path);

 private:
  std::map<std::string, std::filesystem::path> seen_;
};

/// A graph of a model file: the model with one fusion, or a row of a sweep. One case per
/// data type.
struct model_variant {
  model::graph graph;
  std::optional<model::graph> in_integers = {};  ///< of s8, if it differs

  [[nodiscard]] const model::graph& in(const std::string& type) const;
};

/// The variants of a model file: the rows of a sweep, or the model as each of the `fusions` has it.
[[nodiscard]] std::vector<model_variant> variants_of(
    const model::graph& graph, const std::vector<std::optional<model::fusion_plan>>& fusions,
    const options& o, const registry& known);

}  // namespace layerbench::run::detail

#ifndef LAYERBENCH_COMPILED
#include <layerbench/session/model_variants-inl.hpp>
#endif
