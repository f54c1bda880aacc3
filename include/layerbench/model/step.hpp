// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <layerbench/model/graph.hpp>
#include <layerbench/op/op.hpp>

/// The step of a model: its calls in order, and their tensors.
namespace layerbench::model {

/// The part of a step that a call belongs to. Inference has only `forward`.
enum class step_part { forward, backward, update };

}  // namespace layerbench::model

template <>
inline constexpr std::array<std::string_view, 3>
    layerbench::enum_names<layerbench::model::step_part>{"forward", "backward", "update"};

namespace layerbench::model {

/// One call of an op. It has one tensor of the step per operand, in the op's order; an op in place
/// has one tensor twice.
struct call {
  std::string layer;  ///< name of the call's layer
  op::any op;
  op::pass pass = op::pass::fwd;
  std::vector<std::size_t> tensors;
  bool inserted = false;  ///< added by a backend, not part of the model
  step_part part = step_part::forward;

  [[nodiscard]] bool uses(std::size_t tensor) const {
    return std::ranges::find(tensors, tensor) != tensors.end();
  }
};

/// Name of a call for people: its layer, and the pass unless that is `fwd`.
[[nodiscard]] inline std::string call_name(const std::string& layer, std::string_view pass) {
  return pass == name(op::pass::fwd) ? layer : layer + ':' + std::string(pass);
}

/// Text of what a call computes. Calls with equal texts can share a plan and a timing.
[[nodiscard]] inline std::string work_of(const op::any& op, op::pass pass) {
  return std::string(op.name()) + '/' + std::string(name(pass)) + '/' + op.key();
}

/// The model's input.
inline constexpr std::size_t input_tensor = 0;

/// A tensor that is kept from step to step, and its values before the first step.
struct kept_tensor {
  std::size_t tensor;
  op::operand logical;  ///< in row-major order, with all axes
  std::size_t values;   ///< position of the kept tensor with the same first values, mostly itself
  /// In the notation of op::reorder, without blocks: how the tensor lies if no call knows its axes.
  std::string order = {};
};

/// Tensors in one block of memory, so that a call can use them as one.
struct packed_tensor {
  std::size_t whole;
  std::vector<std::size_t> parts;  ///< in their order in memory
};

struct step {
  std::vector<call> calls;  ///< in the order in which they run
  std::size_t tensors = 1;  ///< how many there are
  std::size_t inputs = 1;   ///< the caller writes these first tensors before each step
  std::vector<kept_tensor> kept = {};
  std::vector<packed_tensor> packed = {};
  dtype type = dtype::f32;
  bool reuses_memory = false;  ///< activations are written over others

  [[nodiscard]] std::vector<op::operand> operands_of(const call& of) const {
    return of.op.operands(of.pass, type);
  }
  /// The operand as which a call writes the tensor; nothing if the call does not write it.
  [[nodiscard]] std::optional<std::size_t> written_as(const call& by, std::size_t tensor) const {
    const std::vector<op::operand> operands = operands_of(by);
    for (std::size_t i = 0; i < operands.size(); ++i) {
      if (operands[i].role == op::role::destination && by.tensors[i] == tensor) return i;
    }
    return std::nullopt;
  }
  /// Whether a call writes the tensor.
  [[nodiscard]] bool writes(std::size_t tensor) const {
    return std::ranges::any_of(calls,
                               [&](const call& by) { return written_as(by, tensor).has_value(); });
  }
  /// The tensors that a call uses with this one: the parts of a packed tensor, or the tensor alone.
  [[nodiscard]] std::vector<std::size_t> parts_of(std::size_t tensor) const {
    const auto found = std::ranges::find(packed, tensor, &packed_tensor::whole);
    return found == packed.end() ? std::vector{tensor} : found->parts;
  }
  std::size_t new_tensor() { return tensors++; }
  /// A new kept tensor. The range of a layer's weights, unless its op names one, follows from its
  /// `result`, so that activations keep their magnitude from layer to layer (He et al., Delving
  /// Deep into Rectifiers, 2015).
  std::size_t keep_tensor(op::operand logical, const dims& result) {
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
  /// A new kept tensor of which a call writes `part`, such as a key-value cache. Returns the part.
  /// The tensor is `packed.back().whole`. Its other part, which no call uses alone, keeps its
  /// values. The larger part is the last one: readers have its state.
  std::size_t keep_tensor_of(const op::operand& part) {
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
};

/// Names of ops.
using op_names = std::set<std::string, std::less<>>;

/// The ops that write over their source in most framework models.
[[nodiscard]] inline const op_names& usually_in_place() {
  static const op_names ops{"activation"};
  return ops;
}

namespace detail {

/// How many layers read what each layer writes.
[[nodiscard]] inline std::vector<int> readers(const graph& g) {
  std::vector<int> count(g.layers.size(), 0);
  for (const layer& reader : g.layers) {
    for (const std::size_t input : reader.inputs) {
      if (input != model_input) ++count[input];
    }
  }
  return count;
}

/// Extents of what a layer writes, or of the kept tensor that it writes a part of.
[[nodiscard]] inline dims result_of(const layer& of) {
  return of_role(of.op, op::role::destination).front().tensor();
}

/// Whether a layer of an `in_place` op can write over its source: no other layer reads it, and it
/// is not kept from step to step.
[[nodiscard]] inline bool may_overwrite(const graph& g, const layer& by,
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

}  // namespace detail

/// One inference step of a model: its layers in graph order, without those that only train. Each
/// layer writes to a new tensor. Layers of `in_place` ops write over their source if no other layer
/// reads it. Throws bad_input where the types of two layers do not agree.
[[nodiscard]] inline step inference_step(const graph& g, dtype type = dtype::f32,
                                         const op_names& in_place = {}) {
  step result;
  result.type = type;
  detail::check_types(g, type);
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
  return result;
}

/// A distinct piece of work in a part of a step, and the calls that do it.
struct primitive {
  std::string layer;  ///< of the first call
  op::any op;
  op::pass pass;
  std::vector<std::size_t> calls;  ///< by their position in the step
  bool inserted = false;
  step_part part = step_part::forward;
  std::vector<std::string> layers = {};  ///< of the calls

  [[nodiscard]] std::int64_t count() const { return static_cast<std::int64_t>(calls.size()); }
};

/// The distinct primitives of a step, in the order of their first calls.
[[nodiscard]] inline std::vector<primitive> primitives(const step& all) {
  std::vector<primitive> distinct;
  std::map<std::pair<std::string, step_part>, std::size_t> position;
  for (std::size_t i = 0; i < all.calls.size(); ++i) {
    const call& next = all.calls[i];
    const auto [known, is_new] =
        position.try_emplace({work_of(next.op, next.pass), next.part}, distinct.size());
    if (is_new) distinct.push_back({next.layer, next.op, next.pass, {}, next.inserted, next.part});
    distinct[known->second].calls.push_back(i);
    distinct[known->second].layers.push_back(next.layer);
  }
  return distinct;
}

}  // namespace layerbench::model
