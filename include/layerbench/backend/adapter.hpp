// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <layerbench/backend/algorithm_name.hpp>
#include <layerbench/backend/backend.hpp>
#include <layerbench/backend/device.hpp>
#include <layerbench/backend/host_buffer.hpp>
#include <layerbench/backend/registry.hpp>
#include <layerbench/op/builtin.hpp>
#include <layerbench/topology/thread_binding.hpp>
#include <layerbench/topology/topology.hpp>

namespace layerbench {

/// A list of backend types.
template <backend... Backends>
struct backend_list {};

}  // namespace layerbench

/// Backends behind the interfaces of device.hpp: all that is compiled for each backend and op.
namespace layerbench::run {

namespace detail {

// What a backend may have beside what the concept `backend` asks for (see there).

template <class B>
concept on_host = requires(B& device) { device.on_all_threads([](int /*thread*/) {}); };

template <class B>
concept has_binding = on_host<B> && requires {
  { B::binding() } -> std::same_as<machine::thread_binding>;
  { B::host() } -> std::same_as<const machine::topology&>;
};

template <class B>
concept has_clock = requires(B& device) {
  device.clock().start();
  { device.clock().stop() } -> std::same_as<double>;
};

template <class B>
concept records = has_clock<B> && requires(B& device) { device.record([] {}).launch(); };

template <class B>
concept has_recording_plans = has_clock<B> && requires { requires B::plans_record; };

template <class B>
concept has_graphs = records<B> || has_recording_plans<B>;

template <class B>
concept registers_buffers = requires { B::register_buffers(); };

template <class B>
concept has_telemetry = requires(B& device) {
  { device.telemetry() } -> std::same_as<std::map<std::string, double>>;
};

template <class B>
concept has_peaks = requires(B& device) {
  { device.peaks(dtype::f32) } -> std::same_as<peak_rates>;
};

template <class B>
concept locks_clocks = requires {
  { B::lock_clocks(0) } -> std::same_as<std::shared_ptr<void>>;
};

template <class B>
concept has_stream = requires(B& device) {
  { device.stream() } -> std::convertible_to<void*>;
};

template <class B>
concept has_devices = requires {
  B::choose(1);
  B::devices();
};

template <class B>
concept is_only_when_named = requires { requires B::only_when_named; };

template <class B>
concept waits_for_others = requires { requires B::waits; };

template <class B>
concept has_ranks = requires {
  { B::ranks() } -> std::same_as<int>;
  { B::more_ranks } -> std::convertible_to<std::string_view>;
};

/// Whether a plan computes the post-ops of its op.
template <class Plan>
concept has_post_ops = requires { requires Plan::has_post_ops; };

/// Whether a plan reorders weights and images in each call, if its op says so.
template <class Plan>
concept has_reorders = requires { requires Plan::has_reorders; };

/// Whether a plan computes with the types, scales and zero points that its op names.
template <class Plan>
concept has_quantization = requires { requires Plan::has_quantization; };

template <class B>
concept led_by_first_rank = has_ranks<B> && requires {
  { B::serve_first_rank() } -> std::same_as<bool>;
};

template <class B>
concept has_integer_note = requires {
  { B::integer_note() } -> std::same_as<std::optional<std::string>>;
};

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
  /// `chosen`: one of the library's plans, in place of the one that the request names.
  template <class... Chosen>
  plan_of(B& device, const Op& op, const plan_request& request, Chosen... chosen)
      : device_(device),
        op_(op),
        request_(request),
        plan_(device, op, request, std::move(chosen)...) {
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
  [[nodiscard]] std::vector<std::unique_ptr<any_plan>> alternatives(std::size_t most) override {
    std::vector<std::unique_ptr<any_plan>> others;
    const auto add = [&](const plan_request& request, auto... chosen) {
      try {
        others.push_back(std::make_unique<plan_of>(device_, op_, request, std::move(chosen)...));
      } catch (const unsupported&) {  // it may need too much scratch memory
      }
    };
    if constexpr (requires { plan_.other_plans(most); }) {
      for (auto& other : plan_.other_plans(most)) add(request_, std::move(other));
    } else if constexpr (requires { plan_.alternatives(); }) {
      for (const std::string& other : plan_.alternatives()) {
        plan_request request = request_;
        request.algorithm = other;
        const bool is_another = library_part(other) != library_part(algorithm());
        if (is_another && others.size() < most) add(request);
      }
    }
    return others;
  }
  void upload(std::size_t operand, std::span<const float> values, address to) const override {
    plan_.upload(operand, values, to);
  }
  void download(std::size_t operand, address from, std::span<float> values) const override {
    plan_.download(operand, from, values);
  }
  void draw(std::size_t operand, const test_data& data, address to) const override {
    if constexpr (requires { plan_.draw(operand, data, to); }) {
      plan_.draw(operand, data, to);
    } else {
      any_plan::draw(operand, data, to);
    }
  }
  [[nodiscard]] std::optional<std::int64_t> first_non_finite(std::size_t operand,
                                                             address from) const override {
    if constexpr (requires { plan_.first_non_finite(operand, from); }) {
      return plan_.first_non_finite(operand, from);
    } else {
      return any_plan::first_non_finite(operand, from);
    }
  }
  [[nodiscard]] std::optional<std::int64_t> first_difference(std::size_t operand, address a,
                                                             address b) const override {
    if constexpr (requires { plan_.first_difference(operand, a, b); }) {
      return plan_.first_difference(operand, a, b);
    } else {
      return any_plan::first_difference(operand, a, b);
    }
  }
  [[nodiscard]] std::vector<float> gather(std::size_t operand, address from,
                                          std::span<const std::int64_t> indices) const override {
    if constexpr (requires { plan_.gather(operand, from, indices); }) {
      return plan_.gather(operand, from, indices);
    } else {
      return any_plan::gather(operand, from, indices);
    }
  }
  [[nodiscard]] std::unique_ptr<bound_plan> bind(std::span<const address> operands,
                                                 address workspace) const override {
    return std::make_unique<bound>(plan_, operands, workspace);
  }
  [[nodiscard]] std::unique_ptr<any_plan> forward() const override {
    const auto reads_opaque = [](const plan_operand& of) {
      return of.logical.opaque && of.logical.role != op::role::destination;
    };
    if (std::ranges::none_of(operands(), reads_opaque)) return nullptr;
    plan_request request = request_;
    request.pass = op::pass::fwd_training;
    request.algorithm.clear();
    return std::make_unique<plan_of>(device_, op_, request);
  }
  [[nodiscard]] reference::sum as_stored(std::size_t output,
                                         const reference::sum& exact) const override {
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
    void announce_calls([[maybe_unused]] std::int64_t calls) override {
      if constexpr (requires { plan_.announce_calls(binding_, calls); })
        plan_.announce_calls(binding_, calls);
    }
    void run() override { plan_.run(binding_); }

   private:
    const plan<B, Op>& plan_;
    decltype(std::declval<const plan<B, Op>&>().bind({}, address{})) binding_;
  };

  B& device_;
  Op op_;
  plan_request request_;
  plan<B, Op> plan_;
};

}  // namespace detail

/// A device on backend `B` with plans of those of `Ops` that it implements. The backend is made
/// when it is first needed: listing needs no device.
template <backend B, op::operation... Ops>
class backend_device final : public compute_device {
 public:
  explicit backend_device(int threads) : compute_device(B::threads_used(threads)) {}

  [[nodiscard]] bool waits() const override { return detail::waits_for_others<B>; }
  [[nodiscard]] bool is_host() const override { return detail::on_host<B>; }
  [[nodiscard]] bool has_own_plan(const op::any& op) const override {
    return ((implements<B, Ops> && op.get<Ops>() != nullptr) || ...);
  }
  [[nodiscard]] std::size_t cache_bytes() const override {
    if constexpr (detail::has_binding<B>) {
      return static_cast<std::size_t>(used_parts().caches.last_bytes);
    } else {
      return B::cache_bytes();
    }
  }
  [[nodiscard]] std::size_t core_cache_bytes() const override {
    if constexpr (!detail::has_binding<B>) return 0;
    return static_cast<std::size_t>(used_parts().caches.private_bytes);
  }
  [[nodiscard]] std::vector<int> node_by_thread() const override {
    if constexpr (!detail::has_binding<B>) return {};
    return used_parts().node_by_thread;
  }
  void activate() override { device().activate(); }
  void require_memory([[maybe_unused]] std::size_t bytes) const override {
    if constexpr (requires { B::require(bytes); }) B::require(bytes);
    if constexpr (detail::on_host<B>) host_buffer::require(bytes);
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
  [[nodiscard]] std::optional<std::string> lasting_error() override {
    if constexpr (requires(B& target) { target.lasting_error(); }) {
      if (backend_) return backend_->lasting_error();
    }
    return std::nullopt;
  }
  [[nodiscard]] void* stream() override {
    if constexpr (detail::has_stream<B>) return device().stream();
    return nullptr;
  }
  [[nodiscard]] peak_rates peaks([[maybe_unused]] dtype type) override {
    if constexpr (detail::has_peaks<B>) return device().peaks(type);
    return {};
  }
  [[nodiscard]] std::map<std::string, double> telemetry() override {
    if constexpr (detail::has_telemetry<B>) return device().telemetry();
    return {};
  }
  [[nodiscard]] device_clock* clock() override {
    if constexpr (detail::has_clock<B>) {
      if (!clock_) clock_ = std::make_unique<detail::clock_of<B>>(device());
    }
    return timing() == timing_mode::single ? nullptr : clock_.get();
  }
  [[nodiscard]] bool has_graphs() const override { return detail::has_graphs<B>; }
  [[nodiscard]] bool plans_record() const override { return detail::has_recording_plans<B>; }
  [[nodiscard]] std::unique_ptr<recording> record(
      [[maybe_unused]] const std::function<void()>& work) override {
    if constexpr (detail::records<B>) {
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
    if constexpr (detail::on_host<B>) device().on_all_threads(work);
  }
  [[nodiscard]] std::unique_ptr<any_plan> make_plan(const op::any& op,
                                                    const plan_request& request) override {
    activate();  // libraries choose algorithms by the thread count
    std::unique_ptr<any_plan> result;
    plan_request own = request;
    own.type = op.own_type().value_or(request.type);
    own.recorded = plans_record() && timing() == timing_mode::graph;
    own.algorithm = current_algorithm(request.algorithm);
    (try_op<Ops>(result, op, own), ...);
    if (!result) throw unsupported(fmt::format("{} has no {}", B::name, op.name()));
    if (!own.algorithm.empty() &&
        library_part(result->algorithm()) != library_part(own.algorithm)) {
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
      using plan_type = layerbench::plan<B, Op>;
      if constexpr (requires { sizes->post; }) {
        refuse<Op>(!sizes->post.empty() && !detail::has_post_ops<plan_type>, "post-ops");
      }
      if constexpr (requires { is_quantized(*sizes); }) {
        refuse<Op>(is_quantized(*sizes) && !detail::has_quantization<plan_type>,
                   "fields for integers");
      }
      if constexpr (requires { sizes->reorders; }) {
        refuse<Op>(sizes->reorders && !detail::has_reorders<plan_type>, "reorders");
      }
      result = std::make_unique<detail::plan_of<B, Op>>(device(), *sizes, request);
    }
  }

  template <class Op>
  static void refuse(bool lacking, std::string_view feature) {
    if (lacking) {
      throw unsupported(fmt::format("{} has no {} with {}", B::name, Op::name, feature));
    }
  }

  B& device() {
    if (!backend_) backend_.emplace(threads());
    return *backend_;
  }

  /// What its threads use of the machine; nothing on GPUs.
  struct machine_parts {
    machine::used_caches caches;
    std::vector<int> node_by_thread;
  };
  /// Found once: the binding of threads does not change.
  [[nodiscard]] const machine_parts& used_parts() const {
    if (used_parts_) return *used_parts_;
    used_parts_.emplace();
    if constexpr (detail::has_binding<B>) {
      const auto processors = machine::processors_by_thread(B::binding(), threads());
      used_parts_->caches = machine::caches_used_by(B::host(), processors);
      used_parts_->node_by_thread = host_buffer::nodes_by_first_touch(B::host(), processors);
    }
    return *used_parts_;
  }

  std::optional<B> backend_;
  std::unique_ptr<device_clock> clock_;
  mutable std::optional<machine_parts> used_parts_;
};

/// The registry entry of backend `B`, with its plans of those of `Ops` that it implements.
template <backend B, op::operation... Ops>
[[nodiscard]] backend_entry entry_of(op::list<Ops...> /*ops*/) {
  backend_entry entry{.name = B::name,
                      .probe = &B::probe,
                      .describe = [](description& facts) { B::describe(facts); },
                      .processors = &B::processors,
                      .threads_used = &B::threads_used,
                      .make_device = [](int threads) -> std::unique_ptr<compute_device> {
                        return std::make_unique<backend_device<B, Ops...>>(threads);
                      },
                      .on_host = detail::on_host<B>,
                      .has_graphs = detail::has_graphs<B>,
                      .only_when_named = detail::is_only_when_named<B>};
  if constexpr (detail::has_binding<B>) entry.binding = &B::binding;
  if constexpr (detail::has_devices<B>) {
    entry.choose_device = [](int number) { B::choose(number); };
    entry.devices = [] { return B::devices(); };
  }
  if constexpr (detail::locks_clocks<B>) {
    entry.lock_clocks = [](int mhz) { return B::lock_clocks(mhz); };
  }
  if constexpr (detail::registers_buffers<B>) {
    entry.register_buffers = [] { B::register_buffers(); };
  }
  if constexpr (detail::has_ranks<B>) {
    entry.ranks = [] { return B::ranks(); };
    entry.more_ranks = B::more_ranks;
  }
  if constexpr (detail::led_by_first_rank<B>) {
    entry.serve_first_rank = [] { return B::serve_first_rank(); };
  }
  if constexpr (detail::has_integer_note<B>) entry.integer_note = &B::integer_note;
  return entry;
}

/// A registry of these backends, the preferred one first, with plans of `Ops`. Shape files may
/// contain the library's ops and these.
template <backend... Bs, op::operation... Ops>
[[nodiscard]] registry registry_of(backend_list<Bs...> /*backends*/, op::list<Ops...> ops) {
  registry all{{entry_of<Bs>(ops)...}, op::builtin_catalog(), reference::oracle(ops), {}};
  for (op::entry& entry : op::catalog_of(ops)) {
    const bool known = std::ranges::find(all.ops, entry.name, &op::entry::name) != all.ops.end();
    if (!known) all.ops.push_back(std::move(entry));
  }
  return all;
}
template <backend... Bs, op::operation... Ops>
  requires(sizeof...(Bs) > 0)
[[nodiscard]] registry registry_of(op::list<Ops...> ops) {
  return registry_of(backend_list<Bs...>{}, ops);
}

}  // namespace layerbench::run
