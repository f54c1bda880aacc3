// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <layerbench/model/graph.hpp>
#include <layerbench/op/op.hpp>
#include <layerbench/shape/dims.hpp>
#include <layerbench/shape/dtype.hpp>
#include <layerbench/shape/record.hpp>

/// The step of a model: its calls in order, and their tensors.
namespace layerbench::model {

/// The part of a step that a call belongs to. Inference has only `forward`.
enum class step_part { forward, backward, update };

[[nodiscard]] constexpr std::array<std::string_view, 3> list_names(step_part /*tag*/) {
  return {"forward", "backward", "update"};
}

/// One call of an op. It has one tensor of the step per operand, in the op's order; an op in place
/// has one tensor twice.
struct call {
  std::string layer;  ///< name of the call's layer
  op::any op;
  op::pass pass = op::pass::fwd;
  std::vector<std::size_t> tensors;
  bool inserted = false;  ///< added by a backend, not part of the model
  step_part part = step_part::forward;

  [[nodiscard]] bool uses(std::size_t tensor) const;
};

/// Name of a call for people: its layer, and the pass unless that is `fwd`.
[[nodiscard]] std::string call_name(const std::string& layer, std::string_view pass);

/// Text of what a call computes. Calls with equal texts can share a plan and a timing.
[[nodiscard]] std::string work_of(const op::any& op, op::pass pass);

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
  /// Weights, and those of another layer in the same type, which the model has as one tensor. The
  /// step has two, since a library's calls may want each in another order.
  std::vector<std::pair<std::size_t, std::size_t>> tied = {};

  [[nodiscard]] std::vector<op::operand> operands_of(const call& of) const {
    return of.op.operands(of.pass, type);
  }
  /// The operand as which a call writes the tensor; nothing if the call does not write it.
  [[nodiscard]] std::optional<std::size_t> written_as(const call& by, std::size_t tensor) const;
  /// Whether a call writes the tensor.
  [[nodiscard]] bool writes(std::size_t tensor) const;
  /// The tensors that a call uses with this one: the parts of a packed tensor, or the tensor alone.
  [[nodiscard]] std::vector<std::size_t> parts_of(std::size_t tensor) const;
  std::size_t new_tensor() { return tensors++; }
  /// A new kept tensor. The range of a layer's weights, unless its op names one, follows from its
  /// `result`, so that activations keep their magnitude from layer to layer (He et al., Delving
  /// Deep into Rectifiers, 2015).
  std::size_t keep_tensor(op::operand logical, const dims& result);
  /// A new kept tensor of which a call writes `part`, such as a key-value cache. Returns the part.
  /// The tensor is `packed.back().whole`. Its other part, which no call uses alone, keeps its
  /// values. The larger part is the last one: readers have its state.
  std::size_t keep_tensor_of(const op::operand& part);
};

/// Names of ops.
using op_names = std::set<std::string, std::less<>>;

/// The ops that write over their source in most framework models.
[[nodiscard]] const op_names& usually_in_place();

namespace detail {

/// How many layers read what each layer writes.
[[nodiscard]] std::vector<int> readers(const graph& g);

/// Fills step::tied.
void tie_weights(step& of, const graph& g);

/// Extents of what a layer writes, or of the kept tensor that it writes a part of.
[[nodiscard]] dims result_of(const layer& of);

/// Whether a layer of an `in_place` op can write over its source: no other layer reads it, and it
/// is not kept from step to step.
[[nodiscard]] bool may_overwrite(const graph& g, const layer& by, const std::vector<int>& readers,
                                 const op_names& in_place);

}  // namespace detail

/// One inference step of a model: its layers in graph order, without those that only train. Each
/// layer writes to a new tensor. Layers of `in_place` ops write over their source if no other layer
/// reads it. Throws bad_input where the types of two layers do not agree.
[[nodiscard]] step inference_step(const graph& g, dtype type = dtype::f32,
                                  const op_names& in_place = {});

/// A distinct piece of work in a part of a step, and the calls that do it. Calls whose sources were
/// written by other kinds of ops are another primitive: the op before decides which caches hold a
/// source. oneDNN's batch norm, for one, writes past the caches.
struct primitive {
  std::string layer;  ///< of the first call
  op::any op;
  op::pass pass;
  std::vector<std::size_t> calls;  ///< by their position in the step
  bool inserted = false;
  step_part part = step_part::forward;
  std::vector<std::string> layers = {};  ///< of the calls
  /// The ops that wrote its sources in the same part of the step; empty for the first primitive of
  /// some work, whatever wrote them.
  std::string after = {};
  /// Calls that do its work, whatever wrote their sources; 0 in all but the first of these
  /// primitives.
  std::int64_t calls_of_work = 0;

  [[nodiscard]] std::int64_t count() const { return static_cast<std::int64_t>(calls.size()); }
};

/// The distinct primitives of a step, in the order of their first calls.
[[nodiscard]] std::vector<primitive> primitives(const step& all);
/// The same, without regard to what wrote their sources: one for each piece of work.
[[nodiscard]] std::vector<primitive> primitives_by_work(const step& all);

}  // namespace layerbench::model

#ifndef LAYERBENCH_COMPILED
#include <layerbench/model/step-inl.hpp>
#endif
