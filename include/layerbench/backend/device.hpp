// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <layerbench/backend/backend.hpp>
#include <layerbench/backend/plan.hpp>
#include <layerbench/backend/timing_mode.hpp>
#include <layerbench/op/op.hpp>
#include <layerbench/shape/dtype.hpp>
#include <layerbench/topology/topology.hpp>

namespace layerbench::run {

/// Says which of a device's plans for the same work is wanted, by its algorithm; empty: the
/// library's own choice.
using plan_choice = std::function<std::string(const op::any&, const plan_request&)>;
/// Takes note that the plan of an algorithm must not be used, and why. Returns whether the device
/// gets another choice.
using plan_rejection = std::function<bool(const op::any&, const plan_request&,
                                          const std::string& algorithm, const std::string& why)>;
using plan_maker = std::function<std::unique_ptr<any_plan>(const op::any&, const plan_request&)>;

/// A backend with its threads, opened when it is first needed: listing needs no device.
class compute_device {
 public:
  compute_device(backend_entry of, int threads);

  /// How many threads it uses.
  [[nodiscard]] int threads() const { return threads_; }
  /// Whether its calls wait for others than these, so that their CPU time says nothing.
  [[nodiscard]] bool waits() const { return entry_.waits; }
  /// Whether its memory and threads are this program's.
  [[nodiscard]] bool is_host() const { return entry_.on_host; }
  /// Whether there is a plan for that kind of op, on the backend that it names.
  [[nodiscard]] bool implements_op(const op::any& op) const;
  /// Bytes of the last-level caches that its threads use, together.
  [[nodiscard]] std::size_t cache_bytes() const;
  /// Bytes of the private caches of the cores that its threads use, together; 0 on GPUs.
  [[nodiscard]] std::size_t core_cache_bytes() const;
  /// The number of the NUMA node, for each thread, of memory that the thread touches first; empty
  /// on GPUs.
  [[nodiscard]] std::vector<int> node_by_thread() const;
  /// Whether it records, so that there is a choice of timing.
  [[nodiscard]] bool has_graphs() const { return entry_.has_graphs; }
  /// Whether its plans record their calls themselves, instead of record().
  [[nodiscard]] bool plans_record() const { return entry_.plans_record; }
  [[nodiscard]] timing_mode timing() const { return timing_; }
  /// For those that have a choice.
  void set_timing(timing_mode how) { timing_ = how; }
  /// Throws not_enough_memory if the system is known to lack these bytes.
  void require_memory(std::size_t bytes) const { entry_.require_memory(bytes); }

  /// The backends in the same memory that ops of this device may name (op::any::backend).
  void set_others(std::vector<backend_entry> others) { others_ = std::move(others); }

  // As in any_backend:
  void activate() {
    opened().activate();
    for (const auto& [name, other] : opened_others_) other->activate();
  }
  [[nodiscard]] std::unique_ptr<device_memory> allocate(std::size_t bytes) {
    return opened().allocate(bytes);
  }
  void fill(address to, std::size_t bytes, std::byte value) { opened().fill(to, bytes, value); }
  void copy(address to, const void* from, std::size_t bytes) { opened().copy(to, from, bytes); }
  void synchronize() { opened().synchronize(); }
  void on_all_threads(const std::function<void(int)>& work) { opened().on_all_threads(work); }
  [[nodiscard]] void* queue() { return opened().queue(); }
  [[nodiscard]] std::map<std::string, double> telemetry() { return opened().telemetry(); }
  [[nodiscard]] peak_rates peaks(dtype type) { return opened().peaks(type); }
  [[nodiscard]] std::optional<std::string> lasting_error() const {
    return backend_ ? backend_->lasting_error() : std::nullopt;
  }

  /// The clock that its work passes; null where this program's clocks serve, or time each call.
  [[nodiscard]] device_clock* clock();
  /// Waits for calls that are timed, unless its own clock does.
  void finish();
  /// What `work` enqueues, which is not run now; null where the device does not record. `work` may
  /// not allocate, nor wait. Throws `unsupported` where something in it cannot be recorded.
  [[nodiscard]] std::unique_ptr<recording> record(const std::function<void()>& work);

  /// The plan of the algorithm that the request names, else of the one that the function of
  /// set_choice() names, else the library's. All-reduces are planned by that of
  /// set_between_ranks(). Throws `unsupported`, also where implements_op() is false.
  [[nodiscard]] std::unique_ptr<any_plan> plan(const op::any& op, plan_request request);
  /// The library's plan: no choice is made, and an all-reduce is not between ranks.
  [[nodiscard]] std::unique_ptr<any_plan> make_plan(const op::any& op, plan_request request);
  /// At most `most` other plans that the library has for the request of `chosen`, in its order.
  [[nodiscard]] std::vector<std::unique_ptr<any_plan>> alternatives(any_plan& chosen,
                                                                    const op::any& op,
                                                                    plan_request request,
                                                                    std::size_t most);
  void set_choice(plan_choice choice) { choice_ = std::move(choice); }
  /// Never makes the plan of that algorithm again, where nobody asks for it by name. Returns
  /// whether plan() makes another one from now on.
  [[nodiscard]] bool reject(const op::any& op, const plan_request& request,
                            const std::string& algorithm, const std::string& why);
  void set_rejection(plan_rejection rejection) { rejection_ = std::move(rejection); }
  /// From now on `make` makes plans of all-reduces.
  void set_between_ranks(plan_maker make) { between_ranks_ = std::move(make); }

 private:
  [[nodiscard]] any_backend& opened();
  /// The entry of the backend that computes the op; null where it is not one of set_others().
  [[nodiscard]] const backend_entry* entry_for(const op::any& op) const;

  /// What its threads use of the machine; nothing on GPUs.
  struct machine_parts {
    machine::used_caches caches;
    std::vector<int> node_by_thread;
  };
  /// Found once: the binding of threads does not change.
  [[nodiscard]] const machine_parts& used_parts() const;

  backend_entry entry_;
  std::vector<backend_entry> others_;
  std::map<std::string, std::unique_ptr<compute_device>> opened_others_;
  int threads_;
  std::unique_ptr<any_backend> backend_;
  mutable std::optional<machine_parts> used_parts_;
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
