// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gmock/gmock.h>

#include <layerbench/backend/adapter.hpp>
#include <layerbench/backend/cuda/device_backend.hpp>
#include <layerbench/backend/reference/all_plans.hpp>
#include <layerbench/cache_state/device_context.hpp>
#include <layerbench/op/list.hpp>

#include "host_cuda.hpp"
#include "host_kernels.hpp"

/// A backend on the stand-in for the CUDA run time, which computes by the reference plans, in
/// functions that its stream calls: they can be recorded.
namespace layerbench::testing {

/// Telemetry of a clock that rises from reading to reading, and then stays.
[[nodiscard]] inline auto rising_clock() {
  return [reading = 0]() mutable {
    constexpr std::array mhz{1000, 1300, 1600, 1900};
    const auto now = std::min<std::size_t>(static_cast<std::size_t>(reading++), mhz.size() - 1);
    return std::map<std::string, double>{{"sm_mhz", mhz.at(now)}};
  };
}

struct gpu : cuda::device_backend {
  static constexpr std::string_view name = "gpu";
  using device_backend::device_backend;
  /// What it says of itself, each time anew.
  [[nodiscard]] std::map<std::string, double> telemetry() const override { return tells(); }

  struct call {
    std::string_view op;
    std::vector<address> operands;  ///< of what is copied or filled: where to
    std::size_t bytes = 0;          ///< so many
  };
  static inline std::vector<call> calls = {};  ///< in the order in which they ran
  static inline double seconds_a_call = 0;     ///< of the GPU's own
  static inline bool plans_wait = false;       ///< a plan waits for the stream, as none should
  static inline std::function<std::map<std::string, double>()> tells = [] {
    return std::map<std::string, double>{};
  };
  static inline std::deque<std::function<void()>> work = {};  ///< stays where it is

  void fill(address to, std::size_t bytes, std::byte value) const override {
    device_backend::fill(to, bytes, value);
    enqueue([=] { calls.push_back({"fill", {to}, bytes}); });
  }
  void copy(address to, const void* from, std::size_t bytes) const override {
    const bool by_kernel = host_records;  // whose time the stand-in does not know
    device_backend::copy(to, from, bytes);
    enqueue([=] {
      if (by_kernel) host_seconds += seconds_a_copy;
      calls.push_back({"copy", {to}, bytes});
    });
  }
  void enqueue(std::function<void()> some) const {
    auto& kept = work.emplace_back(std::move(some));
    cuda::check(cudaLaunchHostFunc(stream(), &run, &kept), "cudaLaunchHostFunc");
  }
  static void CUDART_CB run(void* some) { (*static_cast<std::function<void()>*>(some))(); }
};

inline reference::backend host_processor{1};

}  // namespace layerbench::testing

namespace layerbench {

template <op::operation Op>
  requires implements<reference::backend, Op>
class plan<testing::gpu, Op> : public plan<reference::backend, Op> {
 public:
  using base = plan<reference::backend, Op>;
  plan(const testing::gpu& device, const Op& op, const plan_request& request)
      : base(testing::host_processor, op, request), device_(device) {}

  struct binding {
    std::vector<address> places;
    address workspace;
  };
  [[nodiscard]] static binding bind(std::span<const address> places, address workspace) {
    return {{places.begin(), places.end()}, workspace};
  }
  static void place(binding& bound, std::span<const address> places) {
    bound.places.assign(places.begin(), places.end());
  }
  void run(const binding& bound) const {
    if (testing::gpu::plans_wait) device_.synchronize();
    device_.enqueue([this, bound] {
      base::run(base::bind(bound.places, bound.workspace));
      testing::gpu::calls.push_back({Op::name, bound.places});
      host_seconds += testing::gpu::seconds_a_call;
    });
  }

 private:
  const testing::gpu& device_;
};

namespace testing {

/// Has such a GPU, whose calls take what a test says.
class on_gpu : public ::testing::Test {
 protected:
  on_gpu() = default;
  on_gpu(const on_gpu&) = delete;
  on_gpu& operator=(const on_gpu&) = delete;
  ~on_gpu() override {
    events_count_work = false;
    seconds_a_copy = seconds_a_fill = gpu::seconds_a_call = 0;
    gpu::plans_wait = false;
    gpu::tells = [] { return std::map<std::string, double>{}; };
    gpu::calls.clear();
  }

  static void take(double call, double copy, double fill = 0) {
    events_count_work = true;
    gpu::seconds_a_call = call;
    seconds_a_copy = copy;
    seconds_a_fill = fill;
  }

  [[nodiscard]] run::compute_device& device() const { return memory_->device(); }

  std::shared_ptr<run::device_context> memory_ =
      std::make_shared<run::device_context>(run::entry_of<gpu>(op::builtin{}).make_device(1));
};

}  // namespace testing
}  // namespace layerbench
