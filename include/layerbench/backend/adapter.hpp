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
#include <layerbench/backend/device.hpp>
#include <layerbench/backend/host_buffer.hpp>
#include <layerbench/backend/reference/backend.hpp>

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
  explicit clock_of(B& target) : device_(target) {}
  void start() override { device_.clock().start(); }
  [[nodiscard]] double stop() override { return device_.clock().stop(); }

 private:
  B& device_;
};

template <class Graph>
class recording_of final : public recording {
 public:
  explicit recording_of(Graph graph) : graph_(std::move(graph)) {}
  void launch() override { graph_.launch(); }

 private:
  Graph graph_;
};

template <class B, class Op>
  requires implements<B, Op>
class plan_of final : public any_plan {
 public:
  plan_of(B& device, const Op& op, const plan_request& request)
      : op_(op), pass_(request.pass), plan_(device, op, request) {
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
    bound(const layerbench::plan<B, Op>& plan, std::span<const address> operands, address workspace)
        : plan_(plan), binding_(plan.bind(operands, workspace)) {}
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
class backend_device final : public compute_device {
 public:
  explicit backend_device(int threads) : compute_device(B::threads_used(threads)) {}

  [[nodiscard]] bool waits() const override { return waits_for_others<B>; }
  [[nodiscard]] bool is_host() const override { return on_host<B>; }
  [[nodiscard]] bool has_own_plan(const op::any& op) const override {
    return ((implements<B, Ops> && op.get<Ops>() != nullptr) || ...);
  }
  [[nodiscard]] std::size_t cache_bytes() const override { return B::cache_bytes(); }
  [[nodiscard]] std::size_t core_cache_bytes() const override {
    return on_host<B> ? B::core_cache_bytes() * static_cast<std::size_t>(threads()) : 0;
  }
  void activate() override { device().activate(); }
  void require_memory([[maybe_unused]] std::size_t bytes) const override {
    if constexpr (requires { B::require(bytes); }) B::require(bytes);
    if constexpr (on_host<B>) host_buffer::require(bytes);
  }
  [[nodiscard]] std::unique_ptr<device_memory> allocate(std::size_t bytes) override {
    using result = decltype(device().allocate(bytes));
    return std::make_unique<detail::memory_of<result>>(device().allocate(bytes));
  }
  void fill(address to, std::size_t bytes, std::byte value) override {
    device().fill(to, bytes, value);
  }
  void copy(address to, const void* from, std::size_t bytes) override {
    device().copy(to, from, bytes);
  }
  void synchronize() override { device().synchronize(); }
  [[nodiscard]] std::map<std::string, double> telemetry() override {
    if constexpr (has_telemetry<B>) return device().telemetry();
    return {};
  }
  [[nodiscard]] device_clock* clock() override {
    if constexpr (has_clock<B>) {
      if (!clock_) clock_ = std::make_unique<detail::clock_of<B>>(device());
    }
    return timing() == timing_mode::single ? nullptr : clock_.get();
  }
  [[nodiscard]] bool has_graphs() const override { return layerbench::has_graphs<B>; }
  [[nodiscard]] std::unique_ptr<recording> record(
      [[maybe_unused]] const std::function<void()>& work) override {
    if constexpr (layerbench::has_graphs<B>) {
      try {
        using result = decltype(device().record(work));
        return std::make_unique<detail::recording_of<result>>(device().record(work));
      } catch (const error& e) {
        throw unsupported(fmt::format(
            "it cannot be recorded in a graph ({}); --timing=stream does without", e.what()));
      }
    }
    return nullptr;
  }
  void on_all_threads([[maybe_unused]] const std::function<void(int)>& work) override {
    if constexpr (on_host<B>) device().on_all_threads(work);
  }
  [[nodiscard]] std::unique_ptr<any_plan> make_plan(const op::any& op,
                                                    const plan_request& request) override {
    activate();  // libraries choose algorithms by the thread count
    std::unique_ptr<any_plan> result;
    (try_op<Ops>(result, op, request), ...);
    if (!result) throw unsupported(fmt::format("{} has no {}", B::name, op.name()));
    if (!request.algorithm.empty() && result->algorithm() != request.algorithm) {
      throw unsupported(fmt::format("{} has {} for it, not {}, which was chosen", B::name,
                                    result->algorithm(), request.algorithm));
    }
    return result;
  }

 private:
  template <class Op>
  void try_op(std::unique_ptr<any_plan>& result, const op::any& op, const plan_request& request) {
    if constexpr (implements<B, Op>) {
      const Op* sizes = op.get<Op>();
      if (sizes == nullptr) return;
      if (!op.has(request.pass)) {
        throw unsupported(fmt::format("{} has no pass {}", Op::name, name(request.pass)));
      }
      result = std::make_unique<detail::plan_of<B, Op>>(device(), *sizes, request);
    }
  }

  B& device() {
    if (!backend_) backend_.emplace(threads());
    return *backend_;
  }

  std::optional<B> backend_;
  std::unique_ptr<device_clock> clock_;
};

}  // namespace layerbench::run
