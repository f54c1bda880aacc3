// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include "axes.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

#include <layerbench/model/graph.hpp>
#include <layerbench/op/activation.hpp>
#include <layerbench/op/add.hpp>
#include <layerbench/op/concat.hpp>
#include <layerbench/op/dropout.hpp>
#include <layerbench/op/layernorm.hpp>
#include <layerbench/op/multiply.hpp>
#include <layerbench/op/pad.hpp>
#include <layerbench/op/slice.hpp>
#include <layerbench/op/softmax.hpp>
#include <layerbench/op/transpose.hpp>

namespace layerbench::tool::onnx {
namespace {

dims without_units(dims extents) {
  std::erase(extents, 1);
  return extents;
}

dims with_extent(dims extents, std::size_t axis, std::int64_t extent) {
  extents.insert(extents.begin() + static_cast<std::ptrdiff_t>(axis), extent);
  return extents;
}

/// The axis that `to` has more than `from`: the height, if it can be that; nothing for other
/// differences.
std::optional<std::size_t> added_axis(const dims& from, const dims& to) {
  if (to.size() != 4 || from.size() != 3) return std::nullopt;
  for (const std::size_t axis : {2U, 3U, 1U}) {
    if (to[axis] == 1 && with_extent(from, axis, 1) == to) return axis;
  }
  return std::nullopt;
}

/// The new number of an axis.
std::int64_t moved(std::int64_t axis, std::size_t added) {
  return axis >= static_cast<std::int64_t>(added) ? axis + 1 : axis;
}

/// Ops with one size for each axis, which may have any number of them.
template <class Op>
std::optional<op::any> widened(const op::any& any, std::size_t axis) {
  const Op* found = any.get<Op>();
  if (found == nullptr) return std::nullopt;
  Op result = *found;
  result.dims = with_extent(result.dims, axis, 1);
  if constexpr (requires { result.before; }) {
    result.before.sizes = with_extent(result.before.sizes, axis, 0);
    result.after.sizes = with_extent(result.after.sizes, axis, 0);
  }
  if constexpr (requires { result.dims1; }) {
    if (!result.dims1.empty()) result.dims1 = with_extent(result.dims1, axis, 1);
  }
  if constexpr (requires { result.axis.value; }) {
    result.axis.value = moved(result.axis.value, axis);
  } else if constexpr (requires { result.axis; }) {
    result.axis = moved(result.axis, axis);
  }
  return op::any(result);
}

/// A transpose has the axes of its source and those of its result apart.
std::optional<op::any> widened_transpose(const op::any& any, const dims& to, end_of_edge end) {
  const op::transpose* found = any.get<op::transpose>();
  if (found == nullptr) return std::nullopt;
  op::transpose result = *found;
  if (end == end_of_edge::source) {
    result.view = found->viewed();
    result.dims = to;
  } else {
    result.reshape = to;
  }
  return op::any(result);
}

template <class... Ops>
std::optional<op::any> first_widened(const op::any& any, std::size_t axis) {
  std::optional<op::any> result;
  static_cast<void>(((result = widened<Ops>(any, axis)) || ...));
  return result;
}

}  // namespace

bool connects_with_units(const dims& from, const dims& to) {
  return model::detail::connects(from, to) || without_units(from) == without_units(to);
}

bool can_read(const dims& from, const dims& to) {
  const auto sequence = [](const dims& of) {
    return of.size() == 4 && of[2] == 1 ? dims{of[0], of[1], of[3]} : of;
  };
  return connects_with_units(from, to) || model::detail::connects(sequence(from), sequence(to));
}

std::optional<op::any> with_axis(const op::any& op, const dims& from, const dims& to,
                                 end_of_edge end) {
  if (auto result = widened_transpose(op, to, end)) {
    return without_units(from) == without_units(to) ? result : std::nullopt;
  }
  const auto axis = added_axis(from, to);
  if (!axis) return std::nullopt;
  const op::layernorm* norm = op.get<op::layernorm>();
  if (norm != nullptr && *axis == norm->dims.size()) return std::nullopt;  // not of its rows
  return first_widened<op::activation, op::add, op::concat, op::dropout, op::layernorm,
                       op::multiply, op::pad, op::slice, op::softmax>(op, *axis);
}

}  // namespace layerbench::tool::onnx
