// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <layerbench/backend/formula.hpp>
#include <layerbench/op/op.hpp>
#include <layerbench/op/test_data.hpp>
#include <layerbench/shape/dtype.hpp>
#include <layerbench/shape/layout.hpp>

namespace layerbench {

/// What a plan is asked to do.
struct plan_request {
  op::pass pass = op::pass::fwd;
  dtype type = dtype::f32;
  layerbench::layout layout = layerbench::layout::nhwc;  ///< of activations
  std::size_t workspace_limit = std::size_t{4} << 30U;   ///< most bytes of scratch memory
  std::string algorithm = {};        ///< the plan that calls itself so; empty: the library's choice
  bool recorded = false;             ///< its calls run as a graph, where the backend's plans record
  std::shared_ptr<void> built = {};  ///< of run::any_plan::alternatives(): the plan to use
  op::manner how = op::manner::direct;  ///< of the op; compute_device sets it
};

/// An operand as a plan holds it in memory.
struct plan_operand {
  op::operand logical;
  std::string order;  ///< memory order, in op::reorder's notation, or the library's name for it
  std::size_t bytes;
  dims split = {};  ///< where the library has more axes: groups split the first one of filters

  /// Extents of the axes that `order` names.
  [[nodiscard]] const dims& extents() const { return split.empty() ? logical.extents : split; }
  /// Bytes that a call touches: fewer than `bytes` of a part of a tensor, or of a table.
  [[nodiscard]] std::size_t touched_bytes() const {
    if (!logical.kept_in.empty()) return static_cast<std::size_t>(op::bytes(logical));
    if (logical.most_read == 0) return bytes;
    const double share =
        static_cast<double>(op::least_bytes(logical)) / static_cast<double>(op::bytes(logical));
    return static_cast<std::size_t>(share * static_cast<double>(bytes));
  }
};

/// Bytes of a plan's operands.
[[nodiscard]] inline std::vector<std::size_t> stored_bytes(const std::vector<plan_operand>& of) {
  std::vector<std::size_t> bytes;
  for (const plan_operand& operand : of) bytes.push_back(operand.bytes);
  return bytes;
}

/// Where an operand lies: a pointer on CPUs, an address of device memory on GPUs.
using address = void*;

namespace run {

/// A plan tied to operands.
class bound_plan {
 public:
  bound_plan() = default;
  bound_plan(const bound_plan&) = delete;
  bound_plan& operator=(const bound_plan&) = delete;
  virtual ~bound_plan() = default;
  /// Moves the call to other operands.
  virtual void place(std::span<const address> operands) = 0;
  /// Tells the other processes that take part in its calls how many follow.
  virtual void announce_calls(std::int64_t /*calls*/) {}
  /// Enqueues one call.
  virtual void run() = 0;
};

/// One of a library's plans for the same request: its name, where a constructor finds the plan by
/// plan_request::algorithm, or the plan itself, where it takes long to build
/// (plan_request::built).
struct alternative {
  std::string algorithm = {};
  std::shared_ptr<void> built = {};
};

/// How an op is computed on a backend: the base class of all plans (see `layerbench::plan`).
class any_plan {
 public:
  any_plan() = default;
  any_plan(const any_plan&) = delete;
  any_plan& operator=(const any_plan&) = delete;
  virtual ~any_plan() = default;

  // A class that does more says so anew; others refuse such ops.
  /// Whether a plan computes the post-ops of its op.
  static constexpr bool has_post_ops = false;
  /// Whether a plan computes with the types, scales and zero points that its op names.
  static constexpr bool has_quantization = false;
  /// Whether a plan can be called in this manner.
  [[nodiscard]] static constexpr bool has(op::manner how) { return how == op::manner::direct; }

  /// Those of the op, in its order.
  [[nodiscard]] virtual const std::vector<plan_operand>& operands() const = 0;
  /// Bytes of scratch memory that a call needs.
  [[nodiscard]] virtual std::size_t workspace_bytes() const { return 0; }
  [[nodiscard]] virtual std::string algorithm() const = 0;
  /// What else the library has for the request, in its order, at most `most` of what takes long to
  /// build. Call it once: a library may have moved on to its last plan.
  [[nodiscard]] virtual std::vector<alternative> alternatives(std::size_t /*most*/) { return {}; }

  // Between an operand's elements, row-major, and its memory.
  virtual void upload(std::size_t operand, std::span<const float> values, address to) const = 0;
  virtual void download(std::size_t operand, address from, std::span<float> values) const = 0;
  // The same without the host's memory, where a device does it itself.
  /// As upload() of all elements of `data`; later calls find them.
  virtual void draw(std::size_t operand, const test_data& data, address to) const;
  /// Row-major index of the first element that is infinite or not a number.
  [[nodiscard]] virtual std::optional<std::int64_t> first_non_finite(std::size_t operand,
                                                                     address from) const;
  /// Row-major index of the first element that differs between two copies of the operand.
  [[nodiscard]] virtual std::optional<std::int64_t> first_difference(std::size_t operand, address a,
                                                                     address b) const;
  /// The elements at these row-major indices.
  [[nodiscard]] virtual std::vector<float> gather(std::size_t operand, address from,
                                                  std::span<const std::int64_t> indices) const;
  /// The number that the plan keeps in memory for an exact result of operand `output`, with what
  /// the way back costs in precision.
  [[nodiscard]] virtual reference::sum as_stored(std::size_t /*output*/,
                                                 reference::sum exact) const {
    return exact;
  }

  /// Ties memory, one address an operand, and `workspace_bytes` of scratch memory to a call. The
  /// plan must outlive it.
  [[nodiscard]] virtual std::unique_ptr<bound_plan> bound_to(std::span<const address> operands,
                                                             address workspace) const = 0;
  /// The plan of the forward pass in training that writes the opaque operands that this one reads;
  /// null where it reads none.
  [[nodiscard]] virtual std::unique_ptr<any_plan> forward() const { return nullptr; }

  /// All elements, row-major.
  [[nodiscard]] std::vector<float> downloaded(std::size_t operand, address from) const;
};

/// The operand whose memory operand `i` of a plan overwrites; nothing if it overwrites none.
[[nodiscard]] std::optional<std::size_t> overwritten_by(const any_plan& plan, std::size_t i);

/// Writes the elements of an operand to its memory.
void write(const any_plan& plan, std::size_t operand, const reference::tensor& values, address to);

/// The first of `values` that is infinite or not a number.
[[nodiscard]] std::optional<std::int64_t> first_non_finite(std::span<const float> values);

}  // namespace run

/// The plan of an op on a backend, which derives from run::any_plan; specialised once for each pair
/// that exists. Its constructor picks the algorithm: that of the request, if the plan has
/// alternatives(). It throws `unsupported` where the library has none. Beside what any_plan asks
/// for, `bind(operands, workspace)` prepares a call, `place(bound, operands)` moves it to other
/// operands, and `run(bound)` enqueues it once, without allocating and without waiting for it. Any
/// type of object may keep a prepared call. A plan that works together with other processes may
/// have `announce_calls(bound, calls)` (see run::bound_plan). adapter.hpp adds the other functions.
template <class Backend, class Op>
class plan;

template <class B, class Op>
concept implements =
    requires { sizeof(plan<B, Op>); } && std::derived_from<plan<B, Op>, run::any_plan> &&
    requires(const plan<B, Op>& result, address workspace, std::span<const address> places) {
      requires requires(decltype(result.bind(places, workspace))& bound) {
        result.place(bound, places);
        result.run(bound);
      };
    };

}  // namespace layerbench

#ifndef LAYERBENCH_COMPILED
#include <layerbench/backend/plan-inl.hpp>
#endif
