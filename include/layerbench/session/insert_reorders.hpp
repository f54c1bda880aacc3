// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <layerbench/backend/plan.hpp>
#include <layerbench/model/step.hpp>
#include <layerbench/op/op.hpp>
#include <layerbench/session/plan_memory.hpp>
#include <layerbench/shape/dims.hpp>

namespace layerbench::run {

/// The layer's name of a reorder of operand `source` before `reader`, without the number that tells
/// equal names of other work apart.
[[nodiscard]] std::string reorder_name(const model::call& reader, const op::operand& source);

namespace detail {

/// Copies a step call by call, and inserts a reorder where a call reads a tensor in another memory
/// order than it was written in. The rules are those of frameworks:
/// - Filters that training updates have the order of the first call that reads them, if that is
///   neither blocked nor padded. Other weights are row-major.
/// - Updates are elementwise: weights and gradients may have any order, as long as it is the same.
///   Sums of gradients have the order of their filters.
/// - Where the library chooses the order of images, training reorders images to row-major for
///   layers that read rows of values, and their gradients back.
class reorder_inserter {
 public:
  reorder_inserter(const model::step& step, plan_memories& memories);

  void add(model::call call);

  [[nodiscard]] model::step take() { return std::move(result_); }

 private:
  /// How a tensor lies in memory.
  struct stored {
    dims extents;
    std::string order;
  };

  /// Whether the step writes tensors that the next step reads.
  [[nodiscard]] static bool trains(const model::step& step);

  /// How the first call that reads filters stores them. Nothing where that is blocked or padded,
  /// and for tensors of at most two axes.
  [[nodiscard]] std::optional<stored> as_first_read(const model::step& step, std::size_t tensor);

  /// How all operands of the parameter lie that operand `j` of an update belongs to: as its
  /// filters. Where the filters' order is not known, a sum of gradients lies as the added gradient.
  /// Nothing for other calls.
  [[nodiscard]] std::optional<stored> as_parameter(const model::call& of,
                                                   const std::vector<std::size_t>& tensors,
                                                   std::size_t j) const;
  /// The copy of weights in f32 that an update keeps has the order of the weights.
  void set_order_of_copies(const model::call& of);

  /// A tensor written as `from`, described by the axes of its reader. Possible where the tensor is
  /// row-major, since other axes then describe the same memory.
  [[nodiscard]] stored in_axes_of(const stored& from, const plan_operand& source) const;

  /// The order in which a call has to read a tensor that lies as `from`. Nothing where the tensor
  /// can stay as it is: fully connected layers read images in any order, since their weights are
  /// stored to match, unless the library chooses the order of images. `parameter` says how the
  /// operands of an update lie.
  [[nodiscard]] std::optional<std::string> wanted(const stored& from, const plan_operand& source,
                                                  const std::optional<stored>& parameter) const;

  /// The tensor in the order in which the call reads it, reordered if necessary. The model's input
  /// is nhwc unless the request is for nchw.
  std::size_t as_read(const model::call& reader, const plan_operand& source, std::size_t tensor,
                      const std::optional<stored>& parameter);

  /// `wanted`, with a number where another reorder has that name, since row names are unique.
  [[nodiscard]] std::string name_of(const std::string& wanted, const op::any& work);

  plan_memories& memories_;
  model::step result_;
  std::vector<std::size_t> current_;            ///< tensors of the result, by tensor of the step
  std::map<std::string, std::string> named_;    ///< keys of reorders, by name
  std::vector<std::optional<stored>> written_;  ///< how the step's tensors lie, where known
  /// How the tensors of updates lie, by tensor: as the first call reads the filters.
  std::map<std::size_t, stored> parameters_;
  bool flattens_;  ///< reorders images that are read as rows of values
};

}  // namespace detail

/// The step with the reorders that the memory orders of its plans need.
[[nodiscard]] model::step with_reorders(const model::step& step, plan_memories& memories);

}  // namespace layerbench::run

#ifndef LAYERBENCH_COMPILED
#include <layerbench/session/insert_reorders-inl.hpp>
#endif
