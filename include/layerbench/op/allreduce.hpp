// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include <layerbench/op/collective.hpp>

namespace layerbench::op {

/// Adds up the arrays of all ranks (processes, devices) element by element and gives each rank the
/// sum, as data-parallel training does with gradients: the collective all_reduce, as an op of steps
/// and with the names of its own rows.
struct allreduce {
  static constexpr std::string_view name = "allreduce";
  static constexpr bool overwrites_source = true;

  std::int64_t bytes = 4;
  std::int64_t ranks = 1;
  bool in_place = false;

  static constexpr auto fields = std::tuple{
      required("bytes", &allreduce::bytes, "of each rank's array"),
      required("ranks", &allreduce::ranks, "that take part"),
      optional("in_place", &allreduce::in_place, "whether sums go where a rank's own array was"),
  };

  void validate() const {}

  [[nodiscard]] collective as_collective() const {
    return {collective_kind::all_reduce, bytes, ranks, in_place};
  }
  /// Elements per rank: `bytes` over the element size, rounded up.
  [[nodiscard]] std::int64_t count(dtype type) const { return as_collective().block(type); }
  /// src and dst, [ranks, count]: the array and the result of each rank. In place dst holds the
  /// values of src before the call.
  [[nodiscard]] std::vector<operand> operands(pass p, dtype type) const {
    return as_collective().operands(p, type);
  }
  [[nodiscard]] op::work work(pass p) const { return as_collective().work(p); }
  [[nodiscard]] std::vector<rate> rates() const { return as_collective().rates(); }
};

/// The collective that an op is.
[[nodiscard]] inline collective as_collective(const collective& o) { return o; }
[[nodiscard]] inline collective as_collective(const allreduce& o) { return o.as_collective(); }
/// An op that is a collective.
template <class Op>
concept is_collective = requires(const Op& o) {
  { as_collective(o) } -> std::same_as<collective>;
};
/// The collective that any op is; nothing if it is none.
[[nodiscard]] inline std::optional<collective> as_collective(const any& o) {
  if (const auto* found = o.get<collective>()) return *found;
  if (const auto* found = o.get<allreduce>()) return found->as_collective();
  return std::nullopt;
}

}  // namespace layerbench::op
