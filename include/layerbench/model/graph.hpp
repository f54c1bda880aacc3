// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <layerbench/op/op.hpp>
#include <layerbench/shape/dims.hpp>

/// A model is a graph of ops. model/shape_file.hpp reads it from a file.
namespace layerbench::model {

/// One node. `inputs` are the positions, in graph order, of the producers of its source operands,
/// in operand order. model_input stands for the input of the model.
struct layer {
  std::string name;
  op::any op;
  std::vector<std::size_t> inputs;
  std::string weights_of = {};  ///< the layer that has the same weights; mostly none
};

inline constexpr std::size_t model_input = SIZE_MAX;

/// Named sizes of a shape file.
using parameter_values = std::map<std::string, std::int64_t, std::less<>>;

/// Parameters of the length of texts that programs set and names of rows have, besides the batch:
/// tokens that a step computes of each sequence, and tokens in the key-value cache before them.
inline constexpr std::array<std::string_view, 2> text_parameters{"tokens", "context"};

struct graph {
  std::string name;
  std::string title;
  std::string source;                ///< where the sizes come from
  std::string family;                ///< of models that are built alike, such as "resnet"
  std::string data;                  ///< the data set that it is for
  std::vector<std::string> studies;  ///< published measurements and suites that have it
  std::vector<std::string> aliases;  ///< other names that find it
  std::string inference_only = {};   ///< why the model cannot be trained; empty if it can
  /// Share of the FLOPs that an import left out, at least; nothing if the model is whole.
  std::optional<double> left_out = {};
  std::string fusion = {};           ///< the name of the plan that fused its layers; mostly none
  parameter_values parameters = {};  ///< named sizes
  parameter_values defaults = {};    ///< those that the file has itself
  std::vector<layer> layers = {};    ///< every layer after its producers
  /// Of a sweep: the passes in which the layers of an op are timed. Empty for a model.
  std::map<std::string, std::vector<op::pass>, std::less<>> passes = {};
};

/// Whether the graph is a sweep: a list of layers without edges, each timed by itself.
[[nodiscard]] inline bool is_sweep(const graph& g) { return !g.passes.empty(); }

/// The value of a parameter; nothing if the file has none of that name.
[[nodiscard]] std::optional<std::int64_t> parameter(const graph& g, std::string_view name);

/// Images in one step: the parameter `batch`, or 1 without it.
[[nodiscard]] std::int64_t batch(const graph& g);

namespace detail {

/// The operands of the forward pass that have this role.
[[nodiscard]] std::vector<op::operand> of_role(const op::any& op, op::role role);

[[nodiscard]] bool has_post_ops(const op::any& op);

/// Why a model with the op cannot be trained; empty if it can.
[[nodiscard]] std::string why_inference_only(const op::any& op);

/// The layers that inference runs. Layers without a forward pass, such as dropout, are left out:
/// their readers read their source.
[[nodiscard]] std::vector<layer> inference_layers(const graph& g);

/// Whether a tensor of extents `from` can be read as `to`: equal, flattened after the batch, with
/// the first two of three axes as one, or grouped otherwise, as windows are. Rows of a matrix may
/// be split into equal parts, such as the heads of a token, and joined again only into three axes.
[[nodiscard]] bool connects(const dims& from, const dims& to);

/// The same for a source of `reader`. Products do not split rows: at batch 1 the rows of a layer
/// that the model does not mean to connect would also divide.
[[nodiscard]] bool connects(const op::any& reader, const dims& from, const dims& to);

}  // namespace detail

}  // namespace layerbench::model

#ifndef LAYERBENCH_COMPILED
#include <layerbench/model/graph-inl.hpp>
#endif
