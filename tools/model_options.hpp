// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>

#include <CLI/CLI.hpp>

#include <layerbench/model/fusion.hpp>
#include <layerbench/model/graph.hpp>
#include <layerbench/shape/dtype.hpp>

#include "commands.hpp"

namespace layerbench::tool {

/// A model and the form of its step, as a subcommand is asked for them.
struct model_options {
  std::string model;
  model::parameter_values sizes;     ///< in place of the shape file's
  std::optional<std::string> phase;  ///< nothing: not asked for
  std::string fusion{model::no_fusion};
  std::string dtype = "f32";

  [[nodiscard]] layerbench::dtype type() const { return dtype_from(dtype).value(); }
};

/// Adds the argument `model` and the options of its sizes, phase, fusion plan and data type.
/// `model_help` says what the argument may be.
void add_model(CLI::App& command, const std::shared_ptr<model_options>& options,
               const std::string& model_help);

/// The model with these sizes, fused. Throws usage_error for what a sweep does not have.
[[nodiscard]] model::graph load(const model_options& asked, const common_options& common);

}  // namespace layerbench::tool
