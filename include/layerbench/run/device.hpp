// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

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
#include <layerbench/backend/host_buffer.hpp>
#include <layerbench/backend/reference/backend.hpp>
#include <layerbench/op/allreduce.hpp>
#include <layerbench/run/clock.hpp>

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
  virtual void expect(std::int64_t calls) = 0;
  /// Enqueues one call.
  virtual void run() = 0;
};

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
  /// Names of all algorithms that the library has for the request, its own choice first, as asked
  /// of that; nothing where there is no choice.
  [[nodiscard]] virtual std::vector<std::string> alternatives() = 0;
  virtual void upload(std::size_t operand, std::span<const float> values, address to) const = 0;
  virtual void download(std::size_t operand, address from, std::span<float> values) const = 0;
  /// The plan must outlive what it binds.
  [[nodiscard]] virtual std::unique_ptr<bound_plan> bind(std::span<const address> operands,
                                                         address workspace) const = 0;
  /// What element `index` of operand `output` should be.
  [[nodiscard]] virtual reference::sum expected(reference::tensors inputs, std::size_t output,
                                                std::int64_t index) const = 0;
};

/// Says which of a device's plans for the same work is wanted, by its algorithm; empty: the
/// library's own choice.
using plan_choice = std::function<std::string(const op::any&, const plan_request&)>;
using plan_maker = std::function<std::unique_ptr<any_plan>(const op::any&, const plan_request&)>;

/// A backend in use, with its threads.
class device {
 public:
  explicit device(int threads) : threads_(threads) {}
  device(const device&) = delete;
  device& operator=(const device&) = delete;
  virtual ~device() = default;

  /// How many threads it uses.
  [[nodiscard]] int threads() const { return threads_; }
  /// Whether its calls wait for others than these, so that their CPU time says nothing.
  [[nodiscard]] virtual bool waits() const = 0;
  /// Whether its memory and threads are this program's (see the concept `on_host`).
  [[nodiscard]] virtual bool is_host() const = 0;
  /// Whether there is a plan for that kind of op; needs no device.
  [[nodiscard]] bool implements_op(const op::any& op) const {
    return (between_ranks_ && op.name() == op::allreduce::name) || has_own_plan(op);
  }
  [[nodiscard]] virtual std::size_t cache_bytes() const = 0;
  /// What the caches hold that its threads have for themselves, together; 0 where they are not
  /// this program's.
  [[nodiscard]] virtual std::size_t core_cache_bytes() const = 0;
  /// Applies the thread count to this thread.
  virtual void activate() = 0;
  /// Throws not_enough_memory where so many bytes cannot be had, as far as that is known.
  virtual void require_memory(std::size_t bytes) const = 0;
  /// Page-aligned. Throws where there is not that much.
  [[nodiscard]] virtual std::unique_ptr<device_memory> allocate(std::size_t bytes) = 0;
  virtual void fill(address to, std::size_t bytes, std::byte value) = 0;
  virtual void copy(address to, const void* from, std::size_t bytes) = 0;
  virtual void synchronize() = 0;
  /// Waits for calls that are timed, unless its own clock does.
  void finish() {
    if (clock() == nullptr) synchronize();
  }
  /// How it is at the moment, in counters; nothing where it does not say.
  [[nodiscard]] virtual std::map<std::string, double> gauges() = 0;
  /// The clock that its work passes; null where this program's clocks serve.
  [[nodiscard]] virtual device_clock* clock() = 0;
  /// Runs `work` on each of its threads at once; not at all where they are not this program's.
  virtual void on_all_threads(const std::function<void(int)>& work) = 0;
  /// The plan that was chosen, by whoever was told to, where the request names no algorithm. Throws
  /// `unsupported`, and where implements_op says no.
  [[nodiscard]] std::unique_ptr<any_plan> plan(const op::any& op, plan_request request) {
    if (between_ranks_ && op.name() == op::allreduce::name) return between_ranks_(op, request);
    if (choice_ && request.algorithm.empty()) request.algorithm = choice_(op, request);
    return make_plan(op, request);
  }
  void set_choice(plan_choice choice) { choice_ = std::move(choice); }
  /// From now on `make` makes plans of collective ops.
  void set_between_ranks(plan_maker make) { between_ranks_ = std::move(make); }
  /// The same, but asks nobody.
  [[nodiscard]] virtual std::unique_ptr<any_plan> make_plan(const op::any& op,
                                                            const plan_request& request) = 0;

 protected:
  [[nodiscard]] virtual bool has_own_plan(const op::any& op) const = 0;

 private:
  int threads_;
  plan_choice choice_;
  plan_maker between_ranks_;
};

namespace detail {

template <memory M>
class memory_of final : public device_memory {
 public:
  explicit memory_of(M block) : block_(std::move(block)) {}
  [[nodiscard]] address data() const noexcept override { return block_.data(); }

 private:
  M block_;
};

template <has_clock B>
class clock_of final : public device_clock {
 public:
  explicit clock_of(B& here) : here_(here) {}
  void start() override { here_.clock().start(); }
  [[nodiscard]] double stop() override { return here_.clock().stop(); }

 private:
  B& here_;
};

template <class B, class Op>
  requires implements<B, Op>
class plan_of final : public any_plan {
 public:
  plan_of(B& here, const Op& op, const plan_request& request)
      : op_(op), pass_(request.pass), plan_(here, op, request) {
    if (plan_.workspace_bytes() <= request.workspace_limit) return;
    throw unsupported(fmt::format("{} needs {} bytes of scratch memory, {} are allowed",
                                  plan_.algorithm(), plan_.workspace_bytes(),
                                  request.workspace_limit));
  }

  [[nodiscard]] const std::vector<plan_operand>& operands() const override {
    return plan_.operands();
  }
  [[nodiscard]] std::size_t workspace_bytes() const override { return plan_.workspace_bytes(); }
  [[nodiscard]] std::string algorithm() const override { return plan_.algorithm(); }
  [[nodiscard]] std::vector<std::string> alternatives() override {
    if constexpr (requires { plan_.alternatives(); }) return plan_.alternatives();
    return {};
  }
  void upload(std::size_t operand, std::span<const float> values, address to) const override {
    plan_.upload(operand, values, to);
  }
  void download(std::size_t operand, address from, std::span<float> values) const override {
    plan_.download(operand, from, values);
  }
  [[nodiscard]] std::unique_ptr<bound_plan> bind(std::span<const address> operands,
                                                 address workspace) const override {
    return std::make_unique<bound>(plan_, operands, workspace);
  }
  [[nodiscard]] reference::sum expected(reference::tensors inputs, std::size_t output,
                                        std::int64_t index) const override {
    return reference::formula<Op>::at(op_, pass_, inputs, output, index);
  }

 private:
  class bound final : public bound_plan {
   public:
    bound(const plan<B, Op>& made, std::span<const address> operands, address workspace)
        : plan_(made), binding_(made.bind(operands, workspace)) {}
    void place(std::span<const address> operands) override { plan_.place(binding_, operands); }
    void expect([[maybe_unused]] std::int64_t calls) override {
      if constexpr (requires { plan_.expect(binding_, calls); }) plan_.expect(binding_, calls);
    }
    void run() override { plan_.run(binding_); }

   private:
    const plan<B, Op>& plan_;
    decltype(std::declval<const plan<B, Op>&>().bind({}, address{})) binding_;
  };

  Op op_;
  op::pass pass_;
  plan<B, Op> plan_;
};

}  // namespace detail

/// A device on backend `B` with plans of those of `Ops` that it implements. The backend is made
/// when it is first needed: listing needs no device.
template <backend B, op::operation... Ops>
class backend_device final : public device {
 public:
  explicit backend_device(int threads) : device(B::threads_used(threads)) {}

  [[nodiscard]] bool waits() const override { return waits_for_others<B>; }
  [[nodiscard]] bool is_host() const override { return on_host<B>; }
  [[nodiscard]] bool has_own_plan(const op::any& op) const override {
    return ((implements<B, Ops> && op.get<Ops>() != nullptr) || ...);
  }
  [[nodiscard]] std::size_t cache_bytes() const override { return B::cache_bytes(); }
  [[nodiscard]] std::size_t core_cache_bytes() const override {
    return on_host<B> ? B::core_cache_bytes() * static_cast<std::size_t>(threads()) : 0;
  }
  void activate() override { here().activate(); }
  void require_memory([[maybe_unused]] std::size_t bytes) const override {
    if constexpr (requires { B::require(bytes); }) B::require(bytes);
    if constexpr (on_host<B>) host_buffer::require(bytes);
  }
  [[nodiscard]] std::unique_ptr<device_memory> allocate(std::size_t bytes) override {
    using made = decltype(here().allocate(bytes));
    return std::make_unique<detail::memory_of<made>>(here().allocate(bytes));
  }
  void fill(address to, std::size_t bytes, std::byte value) override {
    here().fill(to, bytes, value);
  }
  void copy(address to, const void* from, std::size_t bytes) override {
    here().copy(to, from, bytes);
  }
  void synchronize() override { here().synchronize(); }
  [[nodiscard]] std::map<std::string, double> gauges() override {
    if constexpr (has_gauges<B>) return here().gauges();
    return {};
  }
  [[nodiscard]] device_clock* clock() override {
    if constexpr (has_clock<B>) {
      if (!clock_) clock_ = std::make_unique<detail::clock_of<B>>(here());
    }
    return clock_.get();
  }
  void on_all_threads([[maybe_unused]] const std::function<void(int)>& work) override {
    if constexpr (on_host<B>) here().on_all_threads(work);
  }
  [[nodiscard]] std::unique_ptr<any_plan> make_plan(const op::any& op,
                                                    const plan_request& request) override {
    activate();  // libraries choose algorithms by the thread count
    std::unique_ptr<any_plan> made;
    (try_op<Ops>(made, op, request), ...);
    if (!made) throw unsupported(fmt::format("{} has no {}", B::name, op.name()));
    if (!request.algorithm.empty() && made->algorithm() != request.algorithm) {
      throw unsupported(fmt::format("{} has {} for it, not {}, which was chosen", B::name,
                                    made->algorithm(), request.algorithm));
    }
    return made;
  }

 private:
  template <class Op>
  void try_op(std::unique_ptr<any_plan>& made, const op::any& op, const plan_request& request) {
    if constexpr (implements<B, Op>) {
      const Op* sizes = op.get<Op>();
      if (sizes == nullptr) return;
      if (!op.has(request.pass)) {
        throw unsupported(fmt::format("{} has no pass {}", Op::name, name(request.pass)));
      }
      made = std::make_unique<detail::plan_of<B, Op>>(here(), *sizes, request);
    }
  }

  B& here() {
    if (!made_) made_.emplace(threads());
    return *made_;
  }

  std::optional<B> made_;
  std::unique_ptr<device_clock> clock_;
};

/// The clock that counts of a device's work.
[[nodiscard]] inline stopwatch stopwatch_of(device& here) {
  const bool cpu_counts = here.threads() == 1 && !here.waits();
  return stopwatch(cpu_counts ? 1 : 2, here.clock());
}

/// The plan of `op` on the device; null where it has none.
[[nodiscard]] inline std::unique_ptr<any_plan> plan_or_null(device& here, const op::any& op,
                                                            const plan_request& request) {
  try {
    return here.plan(op, request);
  } catch (const unsupported&) {
    return nullptr;
  }
}

}  // namespace layerbench::run
