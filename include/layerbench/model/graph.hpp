// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <layerbench/op/op.hpp>
#include <layerbench/op/quantization.hpp>

/// A model is a graph of ops. model/shape_file.hpp reads it from a file.
namespace layerbench::model {

/// One node. `inputs` are the positions, in graph order, of the producers of its source operands,
/// in operand order. model_input stands for the input of the model.
struct layer {
  std::string name;
  op::any op;
  std::vector<std::size_t> inputs;
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
[[nodiscard]] inline std::optional<std::int64_t> parameter(const graph& g, std::string_view name) {
  const auto found = g.parameters.find(name);
  if (found == g.parameters.end()) return std::nullopt;
  return found->second;
}

/// Images in one step: the parameter `batch`, or 1 without it.
[[nodiscard]] inline std::int64_t batch(const graph& g) {
  return parameter(g, "batch").value_or(1);
}

namespace detail {

/// The operands of the forward pass that have this role.
[[nodiscard]] inline std::vector<op::operand> of_role(const op::any& op, op::role role) {
  std::vector<op::operand> operands = op.operands(op::pass::fwd, dtype::f32);
  std::erase_if(operands, [&](const op::operand& operand) { return operand.role != role; });
  return operands;
}

/// Whether the op has a field of that name with another value than the default.
[[nodiscard]] inline bool has_set(const op::any& op, std::string_view name) {
  const record_fields fields = op.fields();
  const record_field* const field = find_field(fields, name);
  return field != nullptr && !field->is_default;
}

[[nodiscard]] inline bool has_post_ops(const op::any& op) { return has_set(op, "post"); }

/// Whether the op names types of tensors, or what belongs to integers.
[[nodiscard]] inline bool has_types(const op::any& op) {
  return op.own_type().has_value() || op::is_quantized(op.fields());
}

/// Why a model with the op cannot be trained; empty if it can.
[[nodiscard]] inline std::string why_inference_only(const op::any& op) {
  if (has_post_ops(op)) return "has post-ops";
  if (has_types(op)) return "has types";
  return has_set(op, "reorders") ? "reorders tensors in each call" : "";
}

/// The layers that inference runs. Layers without a forward pass, such as dropout, are left out:
/// their readers read their source.
[[nodiscard]] inline std::vector<layer> inference_layers(const graph& g) {
  std::vector<layer> layers;
  std::vector<std::size_t> written(g.layers.size());
  for (std::size_t i = 0; i < g.layers.size(); ++i) {
    layer next = g.layers[i];
    for (std::size_t& input : next.inputs) {
      if (input != model_input) input = written[input];
    }
    const bool runs = next.op.has(op::pass::fwd);
    written[i] = runs ? layers.size() : next.inputs.front();
    if (runs) layers.push_back(std::move(next));
  }
  return layers;
}

/// Whether a tensor of extents `from` can be read as `to`: equal, or flattened after the batch; the
/// steps and sequences of a recurrent layer, which come first, also as one.
[[nodiscard]] inline bool connects(const dims& from, const dims& to) {
  if (from == to) return true;
  const auto& [flat, deep] = from.size() < to.size() ? std::tie(from, to) : std::tie(to, from);
  const bool same_last = deep.size() == 3 && from.back() == to.back();
  return flat.size() == 2 && (from.front() == to.front() || same_last) &&
         elements(from) == elements(to);
}

}  // namespace detail

}  // namespace layerbench::model
