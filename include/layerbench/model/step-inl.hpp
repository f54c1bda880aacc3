// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include <layerbench/base/compiled.hpp>
#include <layerbench/base/error.hpp>
#include <layerbench/model/step.hpp>

namespace layerbench::model {

LAYERBENCH_INLINE bool call::uses(std::size_t tensor) const {
  return std::ranges::find(tensors, tensor) != tensors.end();
}

LAYERBENCH_INLINE std::string call_name(const std::string& layer, std::string_view pass) {
  return pass == name(op::pass::fwd) ? layer : layer + ':' + std::string(pass);
}

LAYERBENCH_INLINE std::string work_of(const op::any& op, op::pass pass) {
  return std::string(op.name()) + '/' + std::string(name(pass)) + '/' + op.key();
}

LAYERBENCH_INLINE std::optional<std::size_t> step::written_as(const call& by,
                                                              std::size_t tensor) const {
  const std::vector<op::operand> operands = operands_of(by);
  for (std::size_t i = 0; i < operands.size(); ++i) {
    if (operands[i].role == op::role::destination && by.tensors[i] == tensor) return i;
  }
  return std::nullopt;
}

LAYERBENCH_INLINE bool step::writes(std::size_t tensor) const {
  return std::ranges::any_of(calls,
                             [&](const call& by) { return written_as(by, tensor).has_value(); });
}

LAYERBENCH_INLINE std::vector<std::size_t> step::parts_of(std::size_t tensor) const {
  const auto found = std::ranges::find(packed, tensor, &packed_tensor::whole);
  return found == packed.end() ? std::vector{tensor} : found->parts;
}

LAYERBENCH_INLINE std::size_t step::keep_tensor(op::operand logical, const dims& result) {
  if (logical.role == op::role::weights && logical.extents.size() > 1 && result.size() > 1 &&
      logical.high == 1) {
    const auto outputs = static_cast<double>(result[1]);
    const double terms = static_cast<double>(elements(logical.extents)) / outputs;
    logical.high = std::min(1.0, std::sqrt(6 / terms));
    logical.low = -logical.high;
  }
  kept.push_back({tensors, std::move(logical), kept.size()});
  return new_tensor();
}

LAYERBENCH_INLINE std::size_t step::keep_tensor_of(const op::operand& part) {
  op::operand whole = part;
  whole.extents = part.tensor();
  whole.kept_in.clear();
  const bool mostly_new = 2 * elements(part.extents) > elements(whole.extents);
  const std::size_t tensor = keep_tensor(std::move(whole), {});
  const std::size_t written = new_tensor();
  const std::size_t earlier = new_tensor();
  packed.push_back({tensor, {written, earlier}});
  if (mostly_new) std::ranges::reverse(packed.back().parts);
  return written;
}

LAYERBENCH_INLINE const op_names& usually_in_place() {
  static const op_names ops{"activation"};
  return ops;
}

namespace detail {

LAYERBENCH_INLINE std::vector<int> readers(const graph& g) {
  std::vector<int> count(g.layers.size(), 0);
  for (const layer& reader : g.layers) {
    for (const std::size_t input : reader.inputs) {
      if (input != model_input) ++count[input];
    }
  }
  return count;
}

LAYERBENCH_INLINE void tie_weights(step& of, const graph& g) {
  using typed_tensor = std::pair<std::size_t, dtype>;
  const auto weights_of = [&](std::string_view layer) -> std::optional<typed_tensor> {
    const auto found = std::ranges::find(of.calls, layer, &call::layer);
    if (found == of.calls.end()) return std::nullopt;
    const std::vector<op::operand> operands = of.operands_of(*found);
    const auto weights = std::ranges::find(operands, op::role::weights, &op::operand::role);
    const auto place = static_cast<std::size_t>(weights - operands.begin());
    return typed_tensor(found->tensors[place], weights->type);
  };
  for (const layer& one : g.layers) {
    if (one.weights_of.empty()) continue;
    const auto own = weights_of(one.name);
    const auto other = weights_of(one.weights_of);
    const bool same_type = own && other && own->second == other->second;
    if (same_type) of.tied.emplace_back(own->first, other->first);
  }
}

LAYERBENCH_INLINE dims result_of(const layer& of) {
  return of_role(of.op, op::role::destination).front().tensor();
}

LAYERBENCH_INLINE bool may_overwrite(const graph& g, const layer& by,
                                     const std::vector<int>& readers, const op_names& in_place) {
  const std::size_t from = by.inputs.front();
  return in_place.contains(by.op.name()) && from != model_input && readers[from] == 1 &&
         g.layers[from].op.has(op::pass::fwd) &&
         of_role(g.layers[from].op, op::role::destination).front().kept_in.empty() &&
         elements(result_of(g.layers[from])) == elements(result_of(by)) &&
         g.layers[from].op.own_type() == by.op.own_type();
}

/// The type of the tensor that layer `from` writes.
[[nodiscard]] inline dtype written_type(const graph& g, std::size_t from, dtype type) {
  const std::vector<op::operand> operands = g.layers[from].op.operands(op::pass::fwd, type);
  return std::ranges::find(operands, op::role::destination, &op::operand::role)->type;
}

/// Throws bad_input where a layer reads a tensor in another type than it was written in. Engines
/// convert results in bf16 to factors in f8_e4m3 by calls that layerbench does not have.
inline void check_types(const graph& g, dtype type) {
  if (type == dtype::f8_e4m3) return;
  for (const layer& reader : g.layers) {
    if (!reader.op.has(op::pass::fwd)) continue;
    std::size_t source = 0;
    for (const op::operand& operand : reader.op.operands(op::pass::fwd, type)) {
      if (operand.role != op::role::source) continue;
      std::size_t from = reader.inputs[source++];
      while (from != model_input && !g.layers[from].op.has(op::pass::fwd)) {
        from = g.layers[from].inputs.front();
      }
      if (from == model_input || written_type(g, from, type) == operand.type) continue;
      throw error("model '" + g.name + "': '" + reader.name + "' reads " +
                      std::string(operand.name) + " as " + std::string(name(operand.type)) +
                      ", but '" + g.layers[from].name + "' writes " +
                      std::string(name(written_type(g, from, type))) +
                      "; put a layer 'quantize' between them",
                  exit_code::bad_input);
    }
  }
}

/// Adds an input of the step for the indices that layers read beside their sources. Returns the
/// tensors by extents and range: layers that choose alike share one.
[[nodiscard]] inline std::map<std::pair<dims, double>, std::size_t> add_indices(const graph& g,
                                                                                step& to) {
  std::map<std::pair<dims, double>, std::size_t> tensors;
  for (const layer& reader : g.layers) {
    for (const op::operand& operand : reader.op.operands(op::pass::fwd, dtype::f32)) {
      if (!operand.is_index || operand.role == op::role::source) continue;
      const auto [found, added] = tensors.try_emplace({operand.extents, operand.high}, to.tensors);
      if (added) to.inputs = ++to.tensors;
    }
  }
  return tensors;
}

}  // namespace detail

LAYERBENCH_INLINE step inference_step(const graph& g, dtype type, const op_names& in_place) {
  step result;
  result.type = type;
  detail::check_types(g, type);
  const auto indices = detail::add_indices(g, result);
  const std::vector<int> readers = detail::readers(g);
  std::vector<std::size_t> written;  // by each layer
  const auto read_by = [&](const layer& reader, std::size_t source) {
    const std::size_t from = reader.inputs[source];
    return from == model_input ? input_tensor : written[from];
  };
  for (const layer& next : g.layers) {
    if (!next.op.has(op::pass::fwd)) {
      written.push_back(read_by(next, 0));
      continue;
    }
    call created{next.name, next.op, op::pass::fwd, {}};
    const std::vector<op::operand> operands = next.op.operands(created.pass, type);
    const auto written_operand =
        std::ranges::find(operands, op::role::destination, &op::operand::role) - operands.begin();
    const dims& extents = operands[static_cast<std::size_t>(written_operand)].extents;
    const bool overwrites = detail::may_overwrite(g, next, readers, in_place);
    const std::size_t overwritten = op::overwritten_source(operands);
    std::size_t source = 0;
    for (const op::operand& operand : operands) {
      std::size_t tensor = 0;
      if (operand.role == op::role::source) {
        tensor = read_by(next, source++);
      } else if (operand.role == op::role::destination && overwrites) {
        tensor = created.tensors.front();
      } else if (operand.role == op::role::destination && overwritten < operands.size()) {
        tensor = created.tensors[overwritten];
      } else if (operand.role == op::role::destination && !operand.kept_in.empty()) {
        tensor = result.keep_tensor_of(operand);
      } else if (operand.role == op::role::destination) {
        tensor = result.new_tensor();
      } else if (operand.is_index) {
        tensor = indices.at({operand.extents, operand.high});
      } else {
        tensor = result.keep_tensor(operand, extents);
      }
      created.tensors.push_back(tensor);
    }
    const bool is_part = !operands[static_cast<std::size_t>(written_operand)].kept_in.empty();
    written.push_back(is_part ? result.packed.back().whole
                              : created.tensors[static_cast<std::size_t>(written_operand)]);
    result.calls.push_back(std::move(created));
  }
  detail::tie_weights(result, g);
  return result;
}

namespace detail {

/// For each call the ops that wrote its sources in the same part of the step, if any did.
LAYERBENCH_INLINE std::vector<std::string> writers_of_sources(const step& all) {
  std::vector<std::string> writers;
  std::map<std::pair<std::size_t, step_part>, std::string_view> last;  // by tensor
  for (const call& next : all.calls) {
    std::string& of_call = writers.emplace_back();
    const std::vector<op::operand> operands = all.operands_of(next);
    for (std::size_t i = 0; i < operands.size(); ++i) {
      if (operands[i].role != op::role::source) continue;
      const auto found = last.find({next.tensors[i], next.part});
      if (found == last.end()) continue;
      if (!of_call.empty()) of_call += '+';
      of_call += found->second;
    }
    for (std::size_t i = 0; i < operands.size(); ++i) {
      if (operands[i].role != op::role::destination) continue;
      last[{next.tensors[i], next.part}] = next.op.name();
    }
  }
  return writers;
}

/// Calls of equal work, and of equal `kinds`, share a primitive. No kind is equal to each.
LAYERBENCH_INLINE std::vector<primitive> primitives_by(const step& all,
                                                       const std::vector<std::string>& kinds) {
  std::vector<primitive> distinct;
  using position = std::pair<std::string_view, std::size_t>;  // by kinds
  std::map<std::pair<std::string, step_part>, std::vector<position>> positions;
  for (std::size_t i = 0; i < all.calls.size(); ++i) {
    const call& next = all.calls[i];
    const std::string_view kind = kinds[i];
    auto& of_work = positions[{work_of(next.op, next.pass), next.part}];
    auto known = std::ranges::find_if(of_work, [&](const position& other) {
      return kind.empty() || other.first.empty() || other.first == kind;
    });
    if (known == of_work.end()) {
      known = of_work.insert(known, {kind, distinct.size()});
      distinct.push_back({next.layer, next.op, next.pass, {}, next.inserted, next.part});
      if (of_work.size() > 1) distinct.back().after = kind;
    }
    if (known->first.empty()) known->first = kind;
    distinct[known->second].calls.push_back(i);
    distinct[known->second].layers.push_back(next.layer);
    ++distinct[of_work.front().second].calls_of_work;
  }
  return distinct;
}

}  // namespace detail

LAYERBENCH_INLINE std::vector<primitive> primitives(const step& all) {
  return detail::primitives_by(all, detail::writers_of_sources(all));
}

LAYERBENCH_INLINE std::vector<primitive> primitives_by_work(const step& all) {
  return detail::primitives_by(all, std::vector<std::string>(all.calls.size()));
}

}  // namespace layerbench::model
