// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <layerbench/backend/plan.hpp>
#include <layerbench/base/description.hpp>
#include <layerbench/op/op.hpp>
#include <layerbench/shape/dtype.hpp>
#include <layerbench/topology/this_machine.hpp>
#include <layerbench/topology/thread_binding.hpp>
#include <layerbench/topology/topology.hpp>

/// A backend says where an op runs, a plan how: one library call for one (backend, op).
namespace layerbench {

/// What a device can do at most, by its design; 0 where that is not known.
struct peak_rates {
  double flops = 0;  ///< per second
  double bytes = 0;  ///< of its memory, per second
};

namespace run {

/// Memory of a device; freed with the object.
class device_memory {
 public:
  device_memory() = default;
  device_memory(const device_memory&) = delete;
  device_memory& operator=(const device_memory&) = delete;
  virtual ~device_memory() = default;
  [[nodiscard]] virtual address data() const noexcept = 0;
};

/// A block of memory that has data() and frees itself.
template <class Block>
class memory_of final : public device_memory {
 public:
  explicit memory_of(Block block) : block_(std::move(block)) {}
  [[nodiscard]] address data() const noexcept override { return block_.data(); }

 private:
  Block block_;
};

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
  virtual void launch() const = 0;
};

/// A place where ops run, in use: the base class of all backends. What is known without a device is
/// in backend_entry.
class any_backend {
 public:
  any_backend() = default;
  any_backend(const any_backend&) = delete;
  any_backend& operator=(const any_backend&) = delete;
  virtual ~any_backend() = default;

  /// Applies the thread count, or the device, that the object was made for to this thread.
  virtual void activate() const {}
  /// Memory that starts at a page. Throws where there is not that much.
  [[nodiscard]] virtual std::unique_ptr<device_memory> allocate(std::size_t bytes) const = 0;
  virtual void fill(address to, std::size_t bytes, std::byte value) const = 0;
  /// Copies memory, also this program's own.
  virtual void copy(address to, const void* from, std::size_t bytes) const = 0;
  /// Waits for all enqueued work.
  virtual void synchronize() const {}
  /// Runs `work(thread)` on each of its threads at once and waits for them, where it runs on this
  /// program's processors (backend_entry::on_host).
  virtual void on_all_threads(const std::function<void(int)>& /*work*/) const {}

  /// Waits for what was enqueued, and returns the error with which all further calls fail; nothing
  /// if the device can still be used.
  [[nodiscard]] virtual std::optional<std::string> lasting_error() const { return std::nullopt; }
  /// The clock that its work passes; null where this program's clocks serve. Calls are only
  /// enqueued then.
  [[nodiscard]] virtual device_clock* clock() { return nullptr; }
  /// Records what `work` enqueues instead of running it; null where it does not record. Needs a
  /// clock(). Throws what `work` does, and where something in it cannot be recorded.
  [[nodiscard]] virtual std::unique_ptr<recording> record(
      const std::function<void()>& /*work*/) const {
    return nullptr;
  }
  /// The queue of its work in its library's type, cudaStream_t on GPUs; null where there is none.
  [[nodiscard]] virtual void* queue() const { return nullptr; }
  /// How the device is at the moment, in counters of docs/formats.md; nothing where it does not
  /// say.
  [[nodiscard]] virtual std::map<std::string, double> telemetry() const { return {}; }
  /// What the device can do at most in that data type, by its design.
  [[nodiscard]] virtual peak_rates peaks(dtype /*type*/) const { return {}; }
};

class compute_device;

/// What is known of a backend without a device. A backend type has a function `entry()` that
/// returns this; entry_of (adapter.hpp) adds the name and the plans.
struct backend_entry {
  std::string_view name = {};
  /// Why it cannot be used on this machine, or nothing.
  std::optional<std::string> (*probe)() noexcept = []() noexcept -> std::optional<std::string> {
    return std::nullopt;
  };
  /// Adds what result files say of it.
  void (*describe)(description& facts) = [](description& /*facts*/) {};
  /// How many threads it can keep busy.
  int (*processors)() noexcept = []() noexcept { return 1; };
  /// How many threads it uses when offered some.
  int (*threads_used)(int offered) noexcept = [](int /*offered*/) noexcept { return 1; };

  bool on_host = false;          ///< its memory and threads are this program's
  bool only_when_named = false;  ///< another one has its few ops as well: on this host, and by
                                 ///< programs of whole models, it is used only where it is named
  bool waits = false;         ///< its calls wait for others than its threads: CPU time says nothing
  bool has_graphs = false;    ///< it records work, so users choose how calls are timed
  bool plans_record = false;  ///< its plans record their calls themselves where the request asks
                              ///< for it, since other processes must record the same

  /// Bytes of its last-level cache; 0 where that is not known, or follows from `binding`.
  std::size_t (*cache_bytes)() = [] { return std::size_t{0}; };
  /// Throws not_enough_memory if the system is known to lack these bytes.
  void (*require_memory)(std::size_t bytes) = [](std::size_t /*bytes*/) {};
  /// The places of its threads; null: they are not this program's. Caches and NUMA nodes that the
  /// threads use follow from it, and from the machine that they are on.
  machine::thread_binding (*binding)() = nullptr;
  const machine::topology& (*host)() = &machine::this_machine;

  /// All that follows is on that device, from 0 on. Throws unavailable where there is none of that
  /// number. Null: there is one device.
  void (*choose_device)(int number) = nullptr;
  int (*devices)() = nullptr;  ///< how many there are; null: one
  /// Locks the clock of the device at that rate (0: the rated one) until the result is destroyed.
  /// Throws unavailable where it cannot. Null: the clock cannot be locked.
  std::shared_ptr<void> (*lock_clocks)(int mhz) = nullptr;
  /// From now on registers the memory that it allocates with its library; null: it has none to
  /// register.
  void (*register_buffers)() = nullptr;
  int (*ranks)() = nullptr;          ///< how many it reaches; null: all are in this program
  std::string_view more_ranks = {};  ///< how a user starts more of them
  /// Does in all ranks but the first what the first says, and returns true when that is done; in
  /// the first it returns false at once. Null: its ranks are no processes.
  bool (*serve_first_rank)() = nullptr;
  /// What limits its timings and results of integers on this processor, or nothing.
  std::optional<std::string> (*integer_note)() = []() -> std::optional<std::string> {
    return std::nullopt;
  };
  /// The thread count of this thread, which activate() changes; null: it changes none.
  int (*max_threads)() = nullptr;
  void (*set_max_threads)(int threads) = nullptr;

  // By entry_of:
  std::unique_ptr<any_backend> (*open)(int threads) = nullptr;
  bool (*has_plan)(const op::any& op) = nullptr;
  /// Null where has_plan says no.
  std::unique_ptr<any_plan> (*make_plan)(any_backend& on, const op::any& op,
                                         const plan_request& request) = nullptr;

  /// A device of it, which is opened when something is first planned or allocated.
  [[nodiscard]] std::unique_ptr<compute_device> make_device(int threads) const;
};

}  // namespace run

/// A type that entry_of (adapter.hpp) makes an entry of.
template <class B>
concept backend = std::derived_from<B, run::any_backend> && requires {
  { B::name } -> std::convertible_to<std::string_view>;
  { B::entry() } -> std::same_as<run::backend_entry>;
  requires std::constructible_from<B, int>;  // threads
};

}  // namespace layerbench
