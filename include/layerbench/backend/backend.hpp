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

#include <layerbench/base/description.hpp>
#include <layerbench/op/op.hpp>
#include <layerbench/shape/layout.hpp>

/// A backend says where an op runs, a plan how: one library call for one (backend, op).
namespace layerbench {

/// What a plan is asked to do.
struct plan_request {
  op::pass pass = op::pass::fwd;
  dtype type = dtype::f32;
  layout order = layout::nhwc;
  std::size_t workspace_limit = std::size_t{4} << 30U;  ///< most bytes of scratch memory
  std::string algorithm = {};  ///< the plan that calls itself so; empty: the library's choice
  bool recorded = false;       ///< its calls run as a graph, where the backend's plans record
};

/// An operand as a plan holds it in memory.
struct plan_operand {
  op::operand logical;
  std::string order;  ///< memory order, in op::reorder's notation, or the library's name for it
  std::size_t bytes;
  dims split = {};  ///< where the library has more axes: groups split the first one of filters

  /// Extents of the axes that `order` names.
  [[nodiscard]] const dims& extents() const { return split.empty() ? logical.extents : split; }
  /// Bytes that a call touches: fewer than `bytes` of a part of a tensor.
  [[nodiscard]] std::size_t touched_bytes() const {
    if (logical.kept_in.empty()) return bytes;
    return static_cast<std::size_t>(op::bytes(logical));
  }
};

/// Where an operand lies: a pointer on CPUs, an address of device memory on GPUs.
using address = void*;

/// What a device can do at most, by its design; 0 where that is not known.
struct peak_rates {
  double flops = 0;  ///< per second
  double bytes = 0;  ///< of its memory, per second
};

template <class M>
concept memory = requires(const M& block) {
  { block.data() } noexcept -> std::same_as<address>;
};

/// A place where ops run. `probe` says why it cannot be used on this machine, or nothing;
/// `processors` how many threads it can keep busy; `threads_used` how many it uses when offered
/// some. `activate` applies the thread count (or device) that the object was made for to this
/// thread. `cache_bytes` is the size of its last-level cache, or 0 if that is not known; a backend
/// with `binding` does not need it. Memory that `allocate` gives starts at a page. `fill` sets
/// bytes, `copy(to, from, bytes)` copies them, also from this program's own memory.
///
/// A backend may also have, and entry_of (adapter.hpp) looks for:
/// - `binding()` and `host()`: the places of its threads, and the machine that these are on. The
///   caches and NUMA nodes that the threads use follow from both. Only with `on_all_threads`.
/// - `on_all_threads(work)`: it runs on this program's processors; runs `work(thread)` on each of
///   its threads at once and waits for them.
/// - `clock()`: a timer of the device. `start()` begins, `stop()` waits for what was enqueued since
///   and returns its seconds.
/// - `record(work)`: records what `work` enqueues instead of running it. The result owns it, and
///   enqueues all of it with every `launch()`. Throws what `work` does, and where something in it
///   cannot be recorded. Only with `clock()`.
/// - `plans_record = true`: its plans record their calls themselves where the request asks for it,
///   since other processes must record the same. Only with `clock()`.
/// - `register_buffers()`: from now on registers the memory that it allocates with its library.
/// - `lasting_error()`: waits for what was enqueued, and returns the error with which all further
///   calls fail, or nothing if the device can still be used.
/// - `telemetry()`: the state of the device at the moment, in counters of docs/formats.md.
/// - `peaks(type)`: what the device can do at most in that data type, as peak_rates.
/// - `lock_clocks(mhz)`: locks the clock of the device at that rate (0: the rated one) until the
///   result, a std::shared_ptr<void>, is destroyed. Throws unavailable where it cannot.
/// - `choose(number)`: there may be several devices; all that follows is on that one, from 0 on.
///   Throws unavailable where there is no such device.
/// - `only_when_named = true`: another backend has its few ops as well, so programs that run whole
///   models use it only where it is named.
/// - `waits = true`: its calls wait for others than this program's threads, so their CPU time says
///   nothing.
/// - `integer_note()`: what limits timings and results of integers on this processor, or nothing.
/// - `ranks()` and `more_ranks`: how many ranks it reaches, and how a user starts more.
/// - `serve_first_rank()`: its ranks are processes. In all but the first it does what the first
///   says and returns true when that is done; in the first it returns false at once.
template <class B>
concept backend = requires(B& device, address there, description& facts) {
  { B::name } -> std::convertible_to<std::string_view>;
  { B::probe() } noexcept -> std::same_as<std::optional<std::string>>;
  { B::processors() } noexcept -> std::same_as<int>;
  { B::threads_used(1) } noexcept -> std::same_as<int>;
  requires std::constructible_from<B, int>;  // threads
  requires requires { B::binding(); } || requires {
    { B::cache_bytes() } -> std::same_as<std::size_t>;
  };
  device.activate();
  { device.allocate(std::size_t{}) } -> memory;
  device.fill(there, std::size_t{}, std::byte{});
  device.copy(there, there, std::size_t{});
  device.synchronize();
  B::describe(facts);
};

/// The plan of an op on a backend; specialised once for each pair that exists. Its constructor
/// picks the algorithm (throws `unsupported` when the library has none for the request).
/// `operands` are those of the op, in its order. `upload` and `download` convert between an
/// operand's elements in row-major order of its extents and its memory. `bind` ties memory, one
/// address an operand, and `workspace_bytes` of scratch memory to a call; `place` moves the call to
/// other operands; `run` enqueues it once, without allocating and without waiting for it. A plan
/// that works together with other processes may have `announce_calls(bound, calls)`: so many calls
/// follow. One that keeps another number in memory than the op has may have `as_stored(operand,
/// sum)`: what is expected there, with what the way back costs in precision. One whose library has
/// several algorithms for the request may have `alternatives()`: the names of all of them, its own
/// choice first; then its constructor obeys `plan_request::algorithm`. Where it takes long to make
/// a plan of a name, it has `other_plans(most)` instead: at most `most` of the library's plans,
/// without its own; its constructor takes one of them as fourth argument. One whose memory is not
/// the host's may have `draw`, `first_non_finite`, `first_difference` and `gather`, which do on the
/// device what any_plan does with `upload` and `download`.
template <class Backend, class Op>
class plan;

template <class B, class Op>
concept implements =
    requires(B& device, const Op& op, const plan_request& request, plan<B, Op>& result,
             address there, std::span<float> values, std::span<const float> constant_values,
             std::span<const address> places) {
      plan<B, Op>(device, op, request);
      { result.operands() } -> std::convertible_to<const std::vector<plan_operand>&>;
      { result.workspace_bytes() } -> std::convertible_to<std::size_t>;
      { result.algorithm() } -> std::convertible_to<std::string>;
      result.upload(std::size_t{}, constant_values, there);
      result.download(std::size_t{}, there, values);
      requires requires(decltype(result.bind(places, there))& bound) {
        result.place(bound, places);
        result.run(bound);
      };
    };

}  // namespace layerbench
