// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <layerbench/backend/backend.hpp>
#include <layerbench/backend/formula.hpp>
#include <layerbench/backend/timing_mode.hpp>
#include <layerbench/op/op.hpp>
#include <layerbench/op/test_data.hpp>
#include <layerbench/shape/dtype.hpp>

/// Backends and plans behind interfaces, so that all that measures is written, and compiled, once.
namespace layerbench::run {

/// Memory of a device; freed with the object.
class device_memory {
 public:
  device_memory() = default;
  device_memory(const device_memory&) = delete;
  device_memory& operator=(const device_memory&) = delete;
  virtual ~device_memory() = default;
  [[nodiscard]] virtual address data() const noexcept = 0;
};

/// A plan tied to operands.
class bound_plan {
 public:
  bound_plan() = default;
  bound_plan(const bound_plan&) = delete;
  bound_plan& operator=(const bound_plan&) = delete;
  virtual ~bound_plan() = default;
  /// Moves the call to other operands.
  virtual void place(std::span<const address> operands) = 0;
  /// Makes whoever else takes part in its calls ready for so many of them.
  virtual void announce_calls(std::int64_t calls) = 0;
  /// Enqueues one call.
  virtual void run() = 0;
};

/// The first of `values` that is infinite or not a number.
[[nodiscard]] std::optional<std::int64_t> first_non_finite(std::span<const float> values);

/// The plan of some op on some backend (see the concept `implements`).
class any_plan {
 public:
  any_plan() = default;
  any_plan(const any_plan&) = delete;
  any_plan& operator=(const any_plan&) = delete;
  virtual ~any_plan() = default;
  [[nodiscard]] virtual const std::vector<plan_operand>& operands() const = 0;
  [[nodiscard]] virtual std::size_t workspace_bytes() const = 0;
  [[nodiscard]] virtual std::string algorithm() const = 0;
  /// At most `most` other plans that the library has for the request, in its order. Call it once:
  /// a library may have moved on to its last plan.
  [[nodiscard]] virtual std::vector<std::unique_ptr<any_plan>> alternatives(std::size_t /*most*/);
  virtual void upload(std::size_t operand, std::span<const float> values, address to) const = 0;
  virtual void download(std::size_t operand, address from, std::span<float> values) const = 0;
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
  /// All elements, row-major.
  [[nodiscard]] std::vector<float> downloaded(std::size_t operand, address from) const;
  /// The plan must outlive what it binds.
  [[nodiscard]] virtual std::unique_ptr<bound_plan> bind(std::span<const address> operands,
                                                         address workspace) const = 0;
  /// The plan of the forward pass in training that writes the opaque operands that this one reads;
  /// null where it reads none.
  [[nodiscard]] virtual std::unique_ptr<any_plan> forward() const { return nullptr; }
  /// The number that the plan keeps in memory for an exact result of operand `output`.
  [[nodiscard]] virtual reference::sum as_stored(std::size_t /*output*/,
                                                 const reference::sum& exact) const;
};

/// The operand whose memory operand `i` of a plan overwrites; nothing if it overwrites none.
[[nodiscard]] std::optional<std::size_t> overwritten_by(const any_plan& plan, std::size_t i);

/// Writes the elements of an operand to its memory.
void write(const any_plan& plan, std::size_t operand, const reference::tensor& values, address to);

/// A clock that work on a device passes, instead of this program's: stop() waits for what was
/// enqueued since start(), and returns the seconds that it took.
class device_clock {
 public:
  device_clock() = default;
  device_clock(const device_clock&) = delete;
  device_clock& operator=(const device_clock&) = delete;
  virtual ~device_clock() = default;
  virtual void start() = 0;
  [[nodiscard]] virtual double stop() = 0;
};

/// Work that was recorded; freed with the object.
class recording {
 public:
  recording() = default;
  recording(const recording&) = delete;
  recording& operator=(const recording&) = delete;
  virtual ~recording() = default;
  /// Enqueues all of it once.
  virtual void launch() = 0;
};

/// Says which of a device's plans for the same work is wanted, by its algorithm; empty: the
/// library's own choice.
using plan_choice = std::function<std::string(const op::any&, const plan_request&)>;
/// Takes note that the plan of an algorithm must not be used, and why. Returns whether the device
/// gets another choice.
using plan_rejection = std::function<bool(const op::any&, const plan_request&,
                                          const std::string& algorithm, const std::string& why)>;
using plan_maker = std::function<std::unique_ptr<any_plan>(const op::any&, const plan_request&)>;

/// A backend in use, with its threads.
class compute_device {
 public:
  explicit compute_device(int threads) : threads_(threads) {}
  compute_device(const compute_device&) = delete;
  compute_device& operator=(const compute_device&) = delete;
  virtual ~compute_device() = default;

  /// How many threads it uses.
  [[nodiscard]] int threads() const { return threads_; }
  /// Whether its calls wait for others than these, so that their CPU time says nothing.
  [[nodiscard]] virtual bool waits() const = 0;
  /// Whether its memory and threads are this program's.
  [[nodiscard]] virtual bool is_host() const = 0;
  /// Whether there is a plan for that kind of op; needs no device.
  [[nodiscard]] bool implements_op(const op::any& op) const;
  /// Bytes of the last-level caches that its threads use, together.
  [[nodiscard]] virtual std::size_t cache_bytes() const = 0;
  /// Bytes of the private caches of the cores that its threads use, together; 0 on GPUs.
  [[nodiscard]] virtual std::size_t core_cache_bytes() const = 0;
  /// For each thread the number of the NUMA node on which memory lies that it touches first; empty
  /// on GPUs.
  [[nodiscard]] virtual std::vector<int> node_by_thread() const { return {}; }
  /// Applies the thread count to this thread.
  virtual void activate() = 0;
  /// Throws not_enough_memory where so many bytes cannot be had, as far as that is known.
  virtual void require_memory(std::size_t bytes) const = 0;
  /// Page-aligned. Throws where there is not that much.
  [[nodiscard]] virtual std::unique_ptr<device_memory> allocate(std::size_t bytes) = 0;
  virtual void fill(address to, std::size_t bytes, std::byte value) = 0;
  virtual void copy(address to, const void* from, std::size_t bytes) = 0;
  virtual void synchronize() = 0;
  /// After an error: waits for enqueued work, and returns the error with which all further calls
  /// fail; nothing if the device can still be used.
  [[nodiscard]] virtual std::optional<std::string> lasting_error() { return std::nullopt; }
  /// Waits for calls that are timed, unless its own clock does.
  void finish();
  /// The queue of its work in its library's type, cudaStream_t on GPUs; null where there is none.
  [[nodiscard]] virtual void* stream() { return nullptr; }
  /// What it can do at most in that data type, by its design.
  [[nodiscard]] virtual peak_rates peaks(dtype /*type*/) { return {}; }
  /// How it is at the moment, in counters; nothing where it does not say.
  [[nodiscard]] virtual std::map<std::string, double> telemetry() = 0;
  /// The clock that its work passes; null where this program's clocks serve.
  [[nodiscard]] virtual device_clock* clock() = 0;
  /// What `work` enqueues, which is not run now; null where the device does not record. `work` may
  /// not allocate, nor wait. Throws `unsupported` where something in it cannot be recorded.
  [[nodiscard]] virtual std::unique_ptr<recording> record(const std::function<void()>& work) = 0;
  /// Whether it records, so that there is a choice of timing.
  [[nodiscard]] virtual bool has_graphs() const = 0;
  /// Whether its plans record their calls themselves, instead of record().
  [[nodiscard]] virtual bool plans_record() const { return false; }
  [[nodiscard]] timing_mode timing() const { return timing_; }
  /// For those that have a choice.
  void set_timing(timing_mode how) { timing_ = how; }
  /// Runs `work` on each of its threads at once; not at all where they are not this program's.
  virtual void on_all_threads(const std::function<void(int)>& work) = 0;
  /// The plan that was chosen, by whoever was told to, where the request names no algorithm. Throws
  /// `unsupported`, and where implements_op says no.
  [[nodiscard]] std::unique_ptr<any_plan> plan(const op::any& op, plan_request request);
  /// The library's plan: no choice is made, and an all-reduce is not between ranks.
  [[nodiscard]] virtual std::unique_ptr<any_plan> make_plan(const op::any& op,
                                                            const plan_request& request) = 0;
  void set_choice(plan_choice choice) { choice_ = std::move(choice); }
  /// Never makes the plan of that algorithm again, where nobody asks for it by name. Returns
  /// whether plan() makes another one from now on.
  [[nodiscard]] bool reject(const op::any& op, const plan_request& request,
                            const std::string& algorithm, const std::string& why);
  void set_rejection(plan_rejection rejection) { rejection_ = std::move(rejection); }
  /// From now on `make` makes plans of all-reduces.
  void set_between_ranks(plan_maker make) { between_ranks_ = std::move(make); }

 protected:
  [[nodiscard]] virtual bool has_own_plan(const op::any& op) const = 0;

 private:
  int threads_;
  timing_mode timing_ = timing_mode::stream;
  plan_choice choice_;
  plan_rejection rejection_;
  plan_maker between_ranks_;
};

/// The plan of `op` on the device; null where it has none.
[[nodiscard]] std::unique_ptr<any_plan> plan_or_null(compute_device& device, const op::any& op,
                                                     const plan_request& request);

}  // namespace layerbench::run

#ifndef LAYERBENCH_COMPILED
#include <layerbench/backend/device-inl.hpp>
#endif
