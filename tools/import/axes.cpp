// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include "axes.hpp"

#include <algorithm>
#include <cstddef>

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

namespace layerbench::tool::importer {
namespace {

/// For each axis of `to` its number in `from`, nothing where it is one more of extent 1. Nothing at
/// all if they have other axes, or as many.
using axis_places = std::vector<std::optional<std::size_t>>;

std::optional<axis_places> places_in(const dims& from, const dims& to) {
  axis_places places;
  std::size_t found = 0;
  for (const std::int64_t extent : to) {
    if (found < from.size() && from[found] == extent) {
      places.emplace_back(found++);
    } else if (extent == 1) {
      places.emplace_back();
    } else {
      return std::nullopt;
    }
  }
  return found == from.size() ? std::optional(places) : std::nullopt;
}

/// A list of a value per axis, with those of the added axes.
dims with_added(const axis_places& places, const dims& values, std::int64_t added) {
  dims result;
  for (const auto& place : places) result.push_back(place ? values[*place] : added);
  return result;
}

/// The new number of an axis.
std::int64_t moved(std::int64_t axis, const axis_places& places) {
  return std::ranges::find(places, std::optional(static_cast<std::size_t>(axis))) - places.begin();
}

/// Ops with one size for each axis, which may have any number of them.
template <class Op>
std::optional<op::any> widened(const op::any& any, const axis_places& places) {
  const Op* found = any.get<Op>();
  if (found == nullptr) return std::nullopt;
  Op result = *found;
  result.dims = with_added(places, result.dims, 1);
  if constexpr (requires { result.before; }) {
    result.before.sizes = with_added(places, result.before.sizes, 0);
    result.after.sizes = with_added(places, result.after.sizes, 0);
  }
  if constexpr (requires { result.dims1; }) {
    if (!result.dims1.empty()) result.dims1 = with_added(places, result.dims1, 1);
  }
  if constexpr (requires { result.axis.value; }) {
    result.axis.value = moved(result.axis.value, places);
  } else if constexpr (requires { result.axis; }) {
    result.axis = moved(result.axis, places);
  }
  return op::any(result);
}

template <class... Ops>
std::optional<op::any> first_widened(const op::any& any, const axis_places& places) {
  std::optional<op::any> result;
  static_cast<void>(((result = widened<Ops>(any, places)) || ...));
  return result;
}

}  // namespace

std::optional<op::any> with_end(const op::any& any, const dims& to, end_of_edge end) {
  const op::transpose* found = any.get<op::transpose>();
  if (found == nullptr) return std::nullopt;
  op::transpose result = *found;
  const bool is_source = end == end_of_edge::source;
  if (!op::transpose::are_parts(to, is_source ? found->viewed() : found->permuted())) {
    return std::nullopt;
  }
  if (is_source) {
    result.view = found->viewed();
    result.dims = to;
  } else {
    result.reshape = to;
  }
  return op::any(result);
}

std::optional<axes_freedom> free_axes(const op::any& op) {
  if (const auto* of = op.get<op::activation>()) return axes_freedom{of->dims, false, false};
  if (const auto* of = op.get<op::dropout>()) return axes_freedom{of->dims, false, false};
  if (const auto* of = op.get<op::add>()) return axes_freedom{of->dims, of->broadcast, false};
  if (const auto* of = op.get<op::layernorm>()) return axes_freedom{of->dims, false, true};
  if (const auto* of = op.get<op::softmax>()) {
    const bool is_last = of->axis + 1 == static_cast<std::int64_t>(of->dims.size());
    return is_last ? std::optional(axes_freedom{of->dims, false, true}) : std::nullopt;
  }
  if (const auto* of = op.get<op::multiply>()) {
    dims by_column(of->dims.size(), 1);
    by_column.back() = of->dims.back();
    if (of->factors() == by_column) return axes_freedom{of->dims, false, true};
    if (of->factors() == of->dims) return axes_freedom{of->dims, false, false};
  }
  return std::nullopt;
}

op::any with_extents(const op::any& op, const dims& extents) {
  const auto changed = [&](auto of) {
    of.dims = extents;
    if constexpr (requires { of.dims1; }) {
      const op::multiply& before = *op.get<op::multiply>();
      const bool by_column = before.factors() != before.dims;
      of.dims1.assign(by_column ? extents.size() : 0, 1);
      if (by_column) of.dims1.back() = extents.back();
    }
    if constexpr (requires { of.axis; }) of.axis = static_cast<std::int64_t>(extents.size()) - 1;
    return op::any(of);
  };
  if (const auto* of = op.get<op::activation>()) return changed(*of);
  if (const auto* of = op.get<op::dropout>()) return changed(*of);
  if (const auto* of = op.get<op::add>()) return changed(*of);
  if (const auto* of = op.get<op::layernorm>()) return changed(*of);
  if (const auto* of = op.get<op::softmax>()) return changed(*of);
  return changed(*op.get<op::multiply>());
}

bool reads_as(const dims& from, const dims& to) {
  const bool is_wider = from.size() > to.size();
  return model::detail::connects(from, to) ||
         places_in(is_wider ? to : from, is_wider ? from : to).has_value();
}

bool can_read(const dims& from, const dims& to) {
  return model::detail::connects(from, to) || op::transpose::are_parts(from, to);
}

std::optional<op::any> with_axes(const op::any& op, const dims& from, const dims& to,
                                 end_of_edge end) {
  const auto places = from.size() < to.size() ? places_in(from, to) : std::nullopt;
  if (!places) return std::nullopt;
  if (auto result = with_end(op, to, end)) return result;
  if (!places->front()) return std::nullopt;
  const bool is_norm = op.get<op::layernorm>() != nullptr;
  if (is_norm && !places->back()) return std::nullopt;  // not of its rows
  return first_widened<op::activation, op::add, op::concat, op::dropout, op::layernorm,
                       op::multiply, op::pad, op::slice, op::softmax>(op, *places);
}

}  // namespace layerbench::tool::importer
