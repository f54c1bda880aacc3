// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tuple>
#include <utility>

#include <layerbench/base/compiled.hpp>
#include <layerbench/model/graph.hpp>
#include <layerbench/op/gemm.hpp>
#include <layerbench/op/quantization_fields.hpp>
#include <layerbench/op/routed_gemm.hpp>
#include <layerbench/shape/dtype.hpp>
#include <layerbench/shape/record.hpp>

namespace layerbench::model {

LAYERBENCH_INLINE std::optional<std::int64_t> parameter(const graph& g, std::string_view name) {
  const auto found = g.parameters.find(name);
  if (found == g.parameters.end()) return std::nullopt;
  return found->second;
}

LAYERBENCH_INLINE std::int64_t batch(const graph& g) { return parameter(g, "batch").value_or(1); }

namespace detail {

LAYERBENCH_INLINE std::vector<op::operand> of_role(const op::any& op, op::role role) {
  std::vector<op::operand> operands = op.operands(op::pass::fwd, dtype::f32);
  std::erase_if(operands, [&](const op::operand& operand) { return operand.role != role; });
  return operands;
}

LAYERBENCH_INLINE bool has_post_ops(const op::any& op) {
  const record_fields fields = op.fields();
  const record_field* const field = find_field(fields, "post");
  return field != nullptr && !field->is_default;
}

/// Whether the op names types of tensors, or what belongs to integers.
[[nodiscard]] inline bool has_types(const op::any& op) {
  return op.own_type().has_value() || op::is_quantized(op.fields());
}

LAYERBENCH_INLINE std::string why_inference_only(const op::any& op) {
  if (has_post_ops(op)) return "has post-ops";
  const auto* product = op.get<op::gemm>();
  if (product != nullptr && product->has_narrow_weights()) return "has narrow weights";
  if (has_types(op)) return "has types";
  if (op.get<op::routed_gemm>() != nullptr) return "has no gradient";
  return op.how() == op::manner::reorders ? "reorders tensors in each call" : "";
}

LAYERBENCH_INLINE std::vector<layer> inference_layers(const graph& g) {
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

LAYERBENCH_INLINE bool connects(const dims& from, const dims& to) {
  if (from == to) return true;
  if (from.empty() || to.empty()) return false;
  const auto& [flat, deep] = from.size() < to.size() ? std::tie(from, to) : std::tie(to, from);
  // Tensors of so few axes are row-major in every layout.
  const bool has_rows = deep.size() == 3 && flat.front() % (deep[0] * deep[1]) == 0;
  const bool splits_rows = deep.size() == 2 && to.front() % from.front() == 0;
  const bool is_matrix =
      flat.size() == 2 && (from.front() == to.front() || has_rows || splits_rows);
  const auto [fewer, more] = std::minmax(from.front(), to.front());
  const bool groups_rows = flat.size() == 3 && deep.size() == 3 && flat.back() == deep.back() &&
                           fewer > 0 && more % fewer == 0;
  return (is_matrix || groups_rows) && elements(from) == elements(to);
}

LAYERBENCH_INLINE bool connects(const op::any& reader, const dims& from, const dims& to) {
  const bool splits = from.size() == 2 && to.size() == 2 && from != to;
  const bool multiplies =
      reader.get<op::gemm>() != nullptr || reader.get<op::routed_gemm>() != nullptr;
  return connects(from, to) && !(splits && multiplies);
}

}  // namespace detail
}  // namespace layerbench::model
