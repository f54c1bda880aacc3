// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <layerbench/backend/number_types.hpp>
#include <layerbench/backend/plan.hpp>
#include <layerbench/op/allreduce.hpp>
#include <layerbench/op/collective.hpp>
#include <layerbench/op/memory_order.hpp>
#include <layerbench/op/op.hpp>
#include <layerbench/shape/dtype.hpp>
#include <layerbench/shape/record.hpp>

/// What the plans of collectives share: the arrays of a rank, as MPI and NCCL lay them out.
namespace layerbench {

/// Bytes of a row of an operand: the elements of one rank.
[[nodiscard]] inline std::size_t row_bytes(const op::operand& of) {
  return static_cast<std::size_t>(of.extents[1]) * traits(of.type).bytes;
}

/// The operands as one rank has them: each has the memory of one row. In place the memory of the
/// result is large enough for the source, too.
[[nodiscard]] inline std::vector<plan_operand> operands_of_rank(const op::collective& o,
                                                                const plan_request& request) {
  std::vector<plan_operand> result;
  std::size_t largest = 0;
  for (op::operand& operand : o.operands(request.pass, request.type)) {
    const std::size_t bytes = row_bytes(operand);
    largest = std::max(largest, bytes);
    const bool holds_source = operand.role == op::role::destination && o.is_in_place();
    const std::string rows = op::plain_order(operand.extents);
    result.push_back({std::move(operand), rows, holds_source ? largest : bytes});
  }
  return result;
}

/// Where the source of a rank begins in the memory of its result, in bytes, if it is in place.
[[nodiscard]] inline std::size_t source_offset(const op::collective& o, dtype type,
                                               std::int64_t rank) {
  if (o.kind != op::collective_kind::all_gather) return 0;
  return static_cast<std::size_t>(rank * o.block(type)) * traits(type).bytes;
}

/// Untimed calls before `calls` timed ones. In place there is one, since the copy into place fills
/// the caches with more than a call does. A broadcast has a second one if rank 0 would else be
/// the root of the last call: call i has rank i modulo `ranks` as its root, and a root does not
/// wait until the others have the array.
[[nodiscard]] inline std::int64_t warm_up_calls(const op::collective& o, std::int64_t calls) {
  const std::int64_t warm_up = o.is_in_place() ? 1 : 0;
  const bool broadcasts = o.kind == op::collective_kind::broadcast;
  return broadcasts && (warm_up + calls - 1) % o.ranks == 0 ? warm_up + 1 : warm_up;
}

/// The name of the call, since neither library tells which algorithm it chose.
[[nodiscard]] inline std::string algorithm_of(std::string_view library, const op::collective& o) {
  const bool sums = o.kind == op::collective_kind::all_reduce;
  return fmt::format("{}:{}{}", library, sums ? op::allreduce::name : name(o.kind),
                     o.in_place ? ":in_place" : "");
}

namespace detail {

/// As with_stored_number, also for f64.
template <class Visit>
void with_sent_number(dtype type, Visit&& visit) {
  if (type == dtype::f64) return visit(double{});
  with_stored_number(type, visit);
}

}  // namespace detail

/// Writes the values of consecutive elements of an operand to memory.
inline void store_row(const op::operand& of, std::span<const float> values, address to) {
  detail::with_sent_number(of.type, [&]<class T>(T /*tag*/) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      static_cast<T*>(to)[i] = stored_as<T>(of, i, values[i]);
    }
  });
}

/// The inverse.
inline void load_row(const op::operand& of, const void* from, std::span<float> values) {
  detail::with_sent_number(of.type, [&]<class T>(T /*tag*/) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = element_of(of, i, static_cast<const T*>(from)[i]);
    }
  });
}

}  // namespace layerbench
