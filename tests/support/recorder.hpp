// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <numeric>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include <gmock/gmock.h>

#include <layerbench/backend/adapter.hpp>
#include <layerbench/backend/reference/all_plans.hpp>
#include <layerbench/cache_state/operand_ring.hpp>
#include <layerbench/op/list.hpp>
#include <layerbench/topology/thread_binding.hpp>
#include <layerbench/topology/topology.hpp>

/// A backend that computes nothing, but remembers where its operands lay.
namespace layerbench::recorder {

struct call {
  std::string_view op;
  std::vector<address> operands;
};
inline std::vector<call> calls;
/// How many calls there were before each work on all threads.
inline std::vector<std::size_t> threads_worked;
/// Where copies went, by the number of calls before.
inline std::vector<std::pair<std::size_t, address>> copies;
inline std::vector<std::size_t> copied_bytes;  ///< by each of them

struct backend : reference::backend {
  static constexpr std::string_view name = "recorder";
  using reference::backend::backend;
  static run::backend_entry entry() {
    run::backend_entry own = reference::backend::entry();
    own.threads_used = [](int offered) noexcept { return offered; };
    own.host = &there;
    own.binding = [] { return machine::thread_binding{{there().processors()}}; };
    return own;
  }
  static constexpr std::size_t cache_bytes = std::size_t{1} << 20U;
  /// 64 cores with 64 KiB each, and 1 MiB for all.
  static const machine::topology& there() {
    static const machine::topology one = [] {
      machine::processor_list all(64);
      std::iota(all.begin(), all.end(), 0);
      return machine::completed({}, all, {0, 1 << 16, cache_bytes});
    }();
    return one;
  }
  void on_all_threads(const std::function<void(int)>& work) const override {
    threads_worked.push_back(calls.size());
    work(0);
  }
  void copy(address to, const void* from, std::size_t bytes) const override {
    reference::backend::copy(to, from, bytes);
    copies.emplace_back(calls.size(), to);
    copied_bytes.push_back(bytes);
  }
};

}  // namespace layerbench::recorder

namespace layerbench {

template <op::operation Op>
class plan<recorder::backend, Op> : public plan<reference::backend, Op> {
 public:
  using base = plan<reference::backend, Op>;
  plan(recorder::backend& device, const Op& op, const plan_request& request)
      : base(device, op, request) {}
  [[nodiscard]] static std::vector<address> bind(std::span<const address> places, address) {
    return {places.begin(), places.end()};
  }
  static void place(std::vector<address>& bound, std::span<const address> places) {
    bound.assign(places.begin(), places.end());
  }
  static void run(const std::vector<address>& bound) {
    recorder::calls.push_back({Op::name, bound});
  }
};

namespace run::recorded {

inline const op::conv conv{
    .n = 1, .c = 64, .h = 8, .w = 8, .k = 64, .r = 3, .s = 3, .pad = {1, 1, 1, 1}};
inline const op::activation relu{.kind = op::activation_kind::relu, .dims = {1, 64, 8, 8}};
inline constexpr std::size_t tensor_bytes = 64 * 64 * 4;  // 4 pages
inline constexpr std::size_t weights_bytes = 64 * 64 * 9 * 4;

class OperandRing : public ::testing::Test {
 protected:
  OperandRing() {
    recorder::calls.clear();
    recorder::threads_worked.clear();
    recorder::copies.clear();
    recorder::copied_bytes.clear();
  }

  static std::unique_ptr<compute_device> device_of(int threads) {
    return std::make_unique<backend_device<recorder::backend, op::conv, op::activation,
                                           op::batchnorm, op::add, op::pool, op::embedding>>(
        threads);
  }

  device_context memory_{device_of(1)};
  device_context shared_{device_of(2)};  ///< of two threads
  std::unique_ptr<any_plan> plan_;

  operand_ring turn(const auto& op, const op_in_context& how, device_context& context) {
    plan_ = context.device().plan(op::any(op), how.request);
    return {context, *plan_, how, 1};
  }
  operand_ring turn(const auto& op, const op_in_context& how) { return turn(op, how, memory_); }

  /// Where operand `operand` of the op lay in each of so many calls.
  static std::vector<std::byte*> places(std::string_view op, std::size_t operand) {
    std::vector<std::byte*> found;
    for (const recorder::call& call : recorder::calls) {
      if (call.op == op) found.push_back(static_cast<std::byte*>(call.operands[operand]));
    }
    return found;
  }
  static void make_calls(operand_ring& turns, int calls) {
    for (int i = 0; i < calls; ++i) {
      turns.set_up(1);
      turns.call(1);
    }
  }
};

/// What a relu or a convolution wrote so many bytes ago.
inline operand_history from_relu(std::int64_t distance) {
  return {.distance = distance, .producer = op::any(relu), .producer_output = 1};
}
inline operand_history from_conv(std::int64_t distance) {
  return {.distance = distance, .producer = op::any(conv), .producer_output = 2};
}

/// A convolution after a relu, in a model of that footprint.
inline op_in_context after_relu(std::int64_t footprint) {
  return {.cache = cache_state::model, .footprint = footprint, .operands = {from_relu(0)}};
}

}  // namespace run::recorded
}  // namespace layerbench
