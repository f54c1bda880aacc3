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
#include <layerbench/op/conv.hpp>

/// A model's step: what is computed, in which order, on which tensors.
namespace layerbench::model {

/// Which part of a step a call belongs to: all of an inference step is `forward`.
enum class step_part { forward, backward, update };

}  // namespace layerbench::model

template <>
inline constexpr std::array<std::string_view, 3>
    layerbench::enum_names<layerbench::model::step_part>{"forward", "backward", "update"};

namespace layerbench::model {

/// One call of an op, on tensors of the step: one an operand, in the op's order. An op in place
/// has one of them twice.
struct call {
  std::string layer;  ///< that it is of
  op::any op;
  op::pass pass = op::pass::fwd;
  std::vector<std::size_t> tensors;
  bool inserted = false;  ///< added by a backend; not of the model
  step_part part = step_part::forward;

  [[nodiscard]] bool uses(std::size_t tensor) const {
    return std::ranges::find(tensors, tensor) != tensors.end();
  }
};

/// A call as people name it: its layer, and the pass where that is not the plain forward one.
[[nodiscard]] inline std::string call_name(const std::string& layer, std::string_view pass) {
  return pass == name(op::pass::fwd) ? layer : layer + ':' + std::string(pass);
}

/// What is computed, as text: calls that agree in it can share a plan and a timing.
[[nodiscard]] inline std::string work_of(const op::any& op, op::pass pass) {
  return std::string(op.name()) + '/' + std::string(name(pass)) + '/' + op.key();
}

/// The model's input.
inline constexpr std::size_t input_tensor = 0;

/// A tensor that stays from step to step, and what it holds before the first.
struct kept_tensor {
  std::size_t tensor;
  op::operand logical;  ///< in its row-major order, however many axes a call sees
  std::size_t values;   ///< the kept tensor, by position, whose first values it has: itself mostly
};

/// Tensors that lie one behind the other, so that a call can use them as one.
struct packed_tensor {
  std::size_t whole;
  std::vector<std::size_t> parts;  ///< in their order in memory
};

struct step {
  std::vector<call> calls;  ///< in the order in which they run
  std::size_t tensors = 1;  ///< how many there are
  std::size_t inputs = 1;   ///< the first so many are written by somebody outside before each step
  std::vector<kept_tensor> kept = {};
  std::vector<packed_tensor> packed = {};
  dtype type = dtype::f32;

  [[nodiscard]] std::vector<op::operand> operands_of(const call& of) const {
    return of.op.operands(of.pass, type);
  }
  /// As which of its operands a call writes the tensor, if it does.
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
  /// What a call uses when it uses that tensor: its parts, or itself.
  [[nodiscard]] std::vector<std::size_t> parts_of(std::size_t tensor) const {
    const auto found = std::ranges::find(packed, tensor, &packed_tensor::whole);
    return found == packed.end() ? std::vector{tensor} : found->parts;
  }
  std::size_t new_tensor() { return tensors++; }
  /// A new one that stays. Weights of a layer with such a result are drawn so that activations keep
  /// their magnitude from layer to layer (He et al., Delving Deep into Rectifiers, 2015).
  std::size_t keep_tensor(op::operand logical, const dims& result) {
    if (logical.role == op::role::weights && logical.extents.size() > 1 && result.size() > 1) {
      const auto outputs = static_cast<double>(result[1]);
      const double terms = static_cast<double>(elements(logical.extents)) / outputs;
      logical.high = std::min(1.0, std::sqrt(6 / terms));
      logical.low = -logical.high;
    }
    kept.push_back({tensors, std::move(logical), kept.size()});
    return new_tensor();
  }
};

/// Names of ops.
using op_names = std::set<std::string, std::less<>>;

/// Those that write over their source in frameworks as people mostly use them.
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

/// Extents of what a layer writes.
[[nodiscard]] inline dims result_of(const layer& of) {
  return of_role(of.op, op::role::destination).front().extents;
}

/// Whether a layer of an `in_place` op can write over its source: where nobody else reads that.
[[nodiscard]] inline bool may_overwrite(const graph& g, const layer& by,
                                        const std::vector<int>& readers, const op_names& in_place) {
  const std::size_t from = by.inputs.front();
  return in_place.contains(by.op.name()) && from != model_input && readers[from] == 1 &&
         g.layers[from].op.has(op::pass::fwd) &&
         elements(result_of(g.layers[from])) == elements(result_of(by));
}

}  // namespace detail

/// One inference step of a model in a data type, its layers in graph order, without those that are
/// for training alone. Every layer writes to a tensor of its own, but those of `in_place` ops,
/// which write over their source where nobody else reads it.
[[nodiscard]] inline step inference_step(const graph& g, dtype type = dtype::f32,
                                         const op_names& in_place = {}) {
  step result;
  result.type = type;
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
    std::size_t source = 0;
    for (const op::operand& operand : operands) {
      std::size_t tensor = 0;
      if (operand.role == op::role::source) {
        tensor = read_by(next, source++);
      } else if (operand.role == op::role::destination && overwrites) {
        tensor = created.tensors.front();
      } else if (operand.role == op::role::destination) {
        tensor = result.new_tensor();
      } else {
        tensor = result.keep_tensor(operand, extents);
      }
      created.tensors.push_back(tensor);
    }
    written.push_back(created.tensors[static_cast<std::size_t>(written_operand)]);
    result.calls.push_back(std::move(created));
  }
  return result;
}

/// One distinct piece of work of a part of a step, and the calls that do it.
struct primitive {
  std::string layer;  ///< of the first call
  op::any op;
  op::pass pass;
  std::vector<std::size_t> calls;  ///< by their position in the step
  bool inserted = false;
  step_part part = step_part::forward;

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
  }
  return distinct;
}

/// Totals of a model at its batch size, by the conventions of docs/formats.md.
struct totals {
  std::int64_t parameters = 0;  ///< learned values; running statistics are not
  std::int64_t macs = 0;        ///< multiply-accumulates of one step
  std::int64_t conv_layers = 0;
  std::int64_t unique_conv_shapes = 0;  ///< distinct sizes, a bias or none being the same
  std::int64_t activations = 0;         ///< elements written by layers that do not work in place
};

[[nodiscard]] inline totals count(const graph& g) {
  totals sum;
  std::set<std::string> shapes;
  for (const layer& next : g.layers) {
    if (!next.op.has(op::pass::fwd)) continue;
    sum.macs = checked_add(sum.macs, next.op.work(op::pass::fwd).macs);
    for (const op::operand& operand : next.op.operands(op::pass::fwd, dtype::f32)) {
      const std::int64_t size = elements(operand.extents);
      if (operand.role == op::role::weights) sum.parameters = checked_add(sum.parameters, size);
      if (operand.role == op::role::destination && next.op.storage() == op::storage::own) {
        sum.activations = checked_add(sum.activations, size);
      }
    }
    if (const auto* conv = next.op.get<op::conv>()) {
      ++sum.conv_layers;
      op::conv shape = *conv;
      shape.bias = false;
      shapes.insert(key(shape));
    }
  }
  sum.unique_conv_shapes = static_cast<std::int64_t>(shapes.size());
  return sum;
}

}  // namespace layerbench::model
