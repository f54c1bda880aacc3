// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <layerbench/op/activation.hpp>
#include <layerbench/op/op.hpp>

namespace layerbench::op {

/// A function that a call applies to each element of its result before it stores it: an activation
/// function, with the value of its kind, or the addition of another tensor. `add` reads that tensor
/// from separate memory. `sum` reads it from the memory of the destination, which overwrites it.
enum class post_op {
  relu = static_cast<int>(activation_kind::relu),
  add = static_cast<int>(enum_names<activation_kind>.size()),
  sum
};

[[nodiscard]] constexpr auto list_names(post_op /*tag*/) {
  std::array<std::string_view, enum_names<activation_kind>.size() + 2> names{};
  std::ranges::copy(enum_names<activation_kind>, names.begin());
  names[names.size() - 2] = "add";
  names[names.size() - 1] = "sum";
  return names;
}

/// Applied in this order. The values of a field `post` of ops.
using post_ops = std::vector<post_op>;

/// Whether it reads another tensor.
[[nodiscard]] constexpr bool is_addition(post_op p) {
  return p == post_op::add || p == post_op::sum;
}

/// Of a post-op that is no addition.
[[nodiscard]] constexpr activation_kind activation_of(post_op p) {
  return static_cast<activation_kind>(p);
}
[[nodiscard]] constexpr post_op post_op_of(activation_kind kind) {
  return static_cast<post_op>(kind);
}

/// The help text of a field `post`.
inline constexpr std::string_view post_help =
    "functions applied to the result before it is stored, in order; add and sum add another tensor";

namespace detail {

inline constexpr std::array<std::string_view, 4> addends{"addend", "addend1", "addend2", "addend3"};

}  // namespace detail

inline constexpr auto most_additions = std::ssize(detail::addends);

/// Throws invalid_field.
inline void validate(const post_ops& post) {
  if (std::ranges::count(post, post_op::sum) > 1) {
    throw invalid_field("post", "has sum twice, but only one tensor can be overwritten");
  }
  if (std::ranges::count_if(post, is_addition) > most_additions) {
    throw invalid_field("post", "has more than " + std::to_string(most_additions) + " additions");
  }
}

/// Inserts the added tensors, of that type, before the destination, which is the last operand and
/// has the same extents.
inline void insert_addends(const post_ops& post, std::vector<operand>& all, dtype type) {
  operand dst = std::move(all.back());
  all.pop_back();
  std::size_t additions = 0;
  for (const post_op p : post) {
    if (!is_addition(p)) continue;
    all.push_back({detail::addends.at(additions++), dst.extents, role::source, type});
    all.back().overwritten = p == post_op::sum;
  }
  all.push_back(std::move(dst));
}
inline void insert_addends(const post_ops& post, std::vector<operand>& all) {
  insert_addends(post, all, all.back().type);
}

/// The passes of an op: `all`, or only inference if it has post-ops.
[[nodiscard]] inline std::vector<pass> passes_with(const post_ops& post, std::vector<pass> all) {
  if (post.empty()) return all;
  return {pass::fwd};
}

/// The work with one operation per post-op and result.
[[nodiscard]] inline work with_post_ops(work of, const post_ops& post, const dims& result) {
  const std::int64_t flops = checked_multiply(std::ssize(post), elements(result));
  of.flops = checked_add(of.flops, flops);
  of.flops_exact = checked_add(of.flops_exact, flops);
  return of;
}

}  // namespace layerbench::op
