// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <layerbench/op/op.hpp>
#include <layerbench/shape/layout.hpp>

/// A backend says where an op runs, a plan how: one library call for one (backend, op).
namespace layerbench {

/// What a plan is asked to do.
struct plan_request {
  op::pass pass = op::pass::fwd;
  dtype type = dtype::f32;
  layout order = layout::nhwc;
};

/// An operand as a plan holds it in memory.
struct plan_operand {
  op::operand logical;
  std::string order;  ///< memory order, in op::reorder's notation, or the library's name for it
  std::size_t bytes;
};

/// Facts for the context of a result file, by field name.
using description = std::map<std::string, std::string>;

/// A place where ops run. `probe` says why it cannot be used on this machine, or nothing;
/// `processors` how many threads it can keep busy; `threads_used` how many it uses when offered
/// some. `activate` applies the thread count (or device) that the object was made for to this
/// thread. A buffer is memory of the backend; `fill` sets each byte of it.
template <class B>
concept backend = requires(B& here, typename B::buffer& memory, description& facts) {
  { B::name } -> std::convertible_to<std::string_view>;
  { B::probe() } noexcept -> std::same_as<std::optional<std::string>>;
  { B::processors() } noexcept -> std::same_as<int>;
  { B::threads_used(1) } noexcept -> std::same_as<int>;
  requires std::constructible_from<B, int>;  // threads
  here.activate();
  { here.allocate(std::size_t{}) } -> std::same_as<typename B::buffer>;
  here.fill(memory, std::byte{});
  here.synchronize();
  B::describe(facts);
};

/// The plan of an op on a backend; specialised once for each pair that exists. Its constructor
/// picks the algorithm (throws `unsupported` when the library has none for the request).
/// `operands` are those of the op, in its order. `upload` and `download` convert between an
/// operand's elements in row-major order of its extents and its buffer. `bind` ties buffers, one
/// an operand, and `workspace_bytes` of scratch memory to a call; `run` enqueues that call once,
/// without allocating and without waiting for it.
template <class Backend, class Op>
class plan;

template <class B, class Op>
concept implements =
    requires(B& here, const Op& op, const plan_request& request, plan<B, Op>& made,
             typename B::buffer& memory, std::span<float> values,
             std::span<const float> constant_values, std::span<typename B::buffer*> buffers) {
      plan<B, Op>(here, op, request);
      { made.operands() } -> std::convertible_to<const std::vector<plan_operand>&>;
      { made.workspace_bytes() } -> std::convertible_to<std::size_t>;
      { made.algorithm() } -> std::convertible_to<std::string>;
      made.upload(std::size_t{}, constant_values, memory);
      made.download(std::size_t{}, memory, values);
      made.run(made.bind(buffers, memory));
    };

}  // namespace layerbench
