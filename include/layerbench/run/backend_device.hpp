// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <layerbench/backend/backend.hpp>
#include <layerbench/backend/host_buffer.hpp>
#include <layerbench/backend/reference/backend.hpp>
#include <layerbench/run/device.hpp>

/// Backends behind the interfaces of device.hpp: all that is compiled for each backend and op.
namespace layerbench::run {

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

template <class Graph>
class recording_of final : public recording {
 public:
  explicit recording_of(Graph made) : made_(std::move(made)) {}
  void launch() override { made_.launch(); }

 private:
  Graph made_;
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
    const reference::sum exact = reference::formula<Op>::at(op_, pass_, inputs, output, index);
    if constexpr (requires { plan_.as_stored(output, exact); }) {
      return plan_.as_stored(output, exact);
    } else {
      return exact;
    }
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
    return timing() == timing_mode::single ? nullptr : clock_.get();
  }
  [[nodiscard]] bool has_graphs() const override { return layerbench::has_graphs<B>; }
  [[nodiscard]] std::unique_ptr<recording> record(
      [[maybe_unused]] const std::function<void()>& work) override {
    if constexpr (layerbench::has_graphs<B>) {
      try {
        using made = decltype(here().record(work));
        return std::make_unique<detail::recording_of<made>>(here().record(work));
      } catch (const error& slip) {
        throw unsupported(fmt::format(
            "it cannot be recorded in a graph ({}); --timing=stream does without", slip.what()));
      }
    }
    return nullptr;
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

}  // namespace layerbench::run
