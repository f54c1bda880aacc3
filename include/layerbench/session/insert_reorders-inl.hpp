// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <numeric>
#include <span>

#include <fmt/format.h>

#include <layerbench/base/compiled.hpp>
#include <layerbench/op/memory_order.hpp>
#include <layerbench/op/reorder.hpp>
#include <layerbench/op/update.hpp>
#include <layerbench/session/insert_reorders.hpp>
#include <layerbench/shape/dtype.hpp>
#include <layerbench/shape/layout.hpp>

namespace layerbench::run {

LAYERBENCH_INLINE std::string reorder_name(const model::call& reader, const op::operand& source) {
  const std::string pass =
      op::is_backward(reader.pass) ? '_' + std::string(op::name(reader.pass)) : "";
  return fmt::format("{}{}_{}_reorder", reader.layer, pass, source.name);
}

namespace detail {

LAYERBENCH_INLINE reorder_inserter::reorder_inserter(const model::step& step,
                                                     plan_memories& memories)
    : memories_(memories),
      result_(step),
      current_(step.tensors),
      written_(step.tensors),
      flattens_(memories.request().layout == layout::any && trains(step)) {
  result_.calls.clear();
  std::iota(current_.begin(), current_.end(), std::size_t{0});
  for (const model::kept_tensor& kept_tensor : step.kept) {
    if (!step.writes(kept_tensor.tensor)) continue;
    const dims& extents = kept_tensor.logical.extents;
    const std::optional<stored> read = as_first_read(step, kept_tensor.tensor);
    if (read) parameters_[kept_tensor.tensor] = *read;
    written_[kept_tensor.tensor] = read.value_or(stored{extents, op::plain_order(extents)});
  }
  for (const model::call& call : step.calls) set_order_of_copies(call);
  for (model::kept_tensor& kept_tensor : result_.kept) {
    const std::optional<stored>& copy = written_[kept_tensor.tensor];
    if (copy && !parameters_.contains(kept_tensor.tensor)) kept_tensor.order = copy->order;
  }
  // A call that sums gradients does not name the filters; the update that reads the sum does.
  for (const model::call& call : step.calls) {
    for (std::size_t j = 0; j < call.tensors.size(); ++j) {
      const std::optional<stored> known = as_parameter(call, call.tensors, j);
      if (known) parameters_[call.tensors[j]] = *known;
    }
  }
}

LAYERBENCH_INLINE void reorder_inserter::add(model::call call) {
  const std::vector<plan_operand>& operands = memories_.of(call.op, call.pass).operands;
  const std::vector<std::size_t> before = call.tensors;
  for (std::size_t j = 0; j < call.tensors.size(); ++j) {
    const std::size_t tensor = before[j];
    call.tensors[j] = current_[tensor];
    if (j >= operands.size()) continue;
    const std::optional<stored> parameter = as_parameter(call, before, j);
    if (operands[j].logical.role != op::role::destination) {
      call.tensors[j] = as_read(call, operands[j], tensor, parameter);
      continue;
    }
    // A call in place overwrites the tensor that it reads, which may be reordered.
    const auto same = std::ranges::find(before, tensor);
    call.tensors[j] = call.tensors[static_cast<std::size_t>(same - before.begin())];
    current_[tensor] = call.tensors[j];
    written_[tensor] = parameter.value_or(stored{operands[j].extents(), operands[j].order});
  }
  result_.calls.push_back(std::move(call));
}

LAYERBENCH_INLINE bool reorder_inserter::trains(const model::step& step) {
  return std::ranges::any_of(
      step.kept, [&](const model::kept_tensor& kept) { return step.writes(kept.tensor); });
}

LAYERBENCH_INLINE std::optional<reorder_inserter::stored> reorder_inserter::as_first_read(
    const model::step& step, std::size_t tensor) {
  for (const model::call& call : step.calls) {
    const std::vector<plan_operand>& operands = memories_.of(call.op, call.pass).operands;
    for (std::size_t j = 0; j < operands.size(); ++j) {
      const plan_operand& operand = operands[j];
      if (call.tensors[j] != tensor || operand.extents().size() <= 2) continue;
      const bool padded = operand.bytes != static_cast<std::size_t>(op::bytes(operand.logical));
      if (padded || !op::is_permutation(operand.order)) return std::nullopt;
      return stored{operand.extents(), operand.order};
    }
  }
  return std::nullopt;
}

LAYERBENCH_INLINE std::optional<reorder_inserter::stored> reorder_inserter::as_parameter(
    const model::call& of, const std::vector<std::size_t>& tensors, std::size_t j) const {
  const auto* sizes = of.op.get<op::update>();
  if (sizes == nullptr) return std::nullopt;
  const std::size_t operands = tensors.size() / sizes->sizes.size();
  const auto parameter = std::span(tensors).subspan(j / operands * operands, operands);
  for (const std::size_t tensor : parameter) {
    const auto known = parameters_.find(tensor);
    if (known != parameters_.end()) return known->second;
  }
  if (sizes->rule != op::update_rule::accumulate) return std::nullopt;
  constexpr std::size_t gradient = 1;
  const std::optional<stored>& added = written_[parameter[gradient]];
  return added && op::is_permutation(added->order) ? added : std::nullopt;
}

LAYERBENCH_INLINE void reorder_inserter::set_order_of_copies(const model::call& of) {
  for (std::size_t j = 0; j < of.tensors.size(); ++j) {
    const std::optional<stored> parameter = as_parameter(of, of.tensors, j);
    std::optional<stored>& kept = written_[of.tensors[j]];
    if (parameter && kept && kept->extents == parameter->extents) kept = parameter;
  }
}

LAYERBENCH_INLINE reorder_inserter::stored reorder_inserter::in_axes_of(
    const stored& from, const plan_operand& source) const {
  const dims& extents = source.extents();
  const bool allowed = flattens_ || source.logical.role == op::role::weights;
  const auto canonical = [&](const std::string& order) {
    return op::canonical_order(from.extents, order);
  };
  const bool plain = canonical(from.order) == canonical(op::plain_order(from.extents));
  return allowed && plain && extents.size() > 1 ? stored{extents, op::plain_order(extents)} : from;
}

LAYERBENCH_INLINE std::optional<std::string> reorder_inserter::wanted(
    const stored& from, const plan_operand& source, const std::optional<stored>& parameter) const {
  const dims& extents = source.extents();
  if (extents == from.extents) return op::canonical_order(extents, source.order);
  if (parameter && parameter->extents == from.extents) {
    return op::canonical_order(from.extents, parameter->order);
  }
  if (extents.size() == 1 || flattens_) {
    return op::canonical_order(from.extents, op::plain_order(from.extents));
  }
  return std::nullopt;
}

LAYERBENCH_INLINE std::size_t reorder_inserter::as_read(const model::call& reader,
                                                        const plan_operand& source,
                                                        std::size_t tensor,
                                                        const std::optional<stored>& parameter) {
  if (tensor == model::input_tensor) {
    const dims& extents = source.extents();
    const bool as_read = extents.size() != 4 || memories_.request().layout == layout::nchw;
    written_[tensor] = stored{extents, as_read ? source.order : "acdb"};
  }
  if (!written_[tensor]) return current_[tensor];
  const stored from = in_axes_of(*written_[tensor], source);
  const std::string current = op::canonical_order(from.extents, from.order);
  const std::string order = wanted(from, source, parameter).value_or(current);
  if (order == current) return current_[tensor];
  const std::size_t reordered = result_.new_tensor();
  op::any work(op::reorder{from.extents, current, order});
  const dtype type = source.logical.type;
  const dtype usual = memories_.request().type;
  if (type != usual && (is_integer(type) || is_integer(usual) || reader.op.own_type())) {
    work = work.in(type);
  }
  const std::string name = name_of(reorder_name(reader, source.logical), work);
  result_.calls.push_back(
      {name, std::move(work), op::pass::fwd, {current_[tensor], reordered}, true, reader.part});
  return reordered;
}

LAYERBENCH_INLINE std::string reorder_inserter::name_of(const std::string& wanted,
                                                        const op::any& work) {
  std::string name = wanted;
  for (int i = 2; named_.try_emplace(name, work.key()).first->second != work.key(); ++i) {
    name = fmt::format("{}_{}", wanted, i);
  }
  return name;
}

}  // namespace detail

LAYERBENCH_INLINE model::step with_reorders(const model::step& step, plan_memories& memories) {
  detail::reorder_inserter inserter(step, memories);
  for (const model::call& call : step.calls) inserter.add(call);
  return inserter.take();
}

}  // namespace layerbench::run
