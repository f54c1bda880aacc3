// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <layerbench/backend/registry.hpp>
#include <layerbench/backend/timing_mode.hpp>
#include <layerbench/cache_state/device_context.hpp>
#include <layerbench/session/autotuner.hpp>
#include <layerbench/session/data_parallel_group.hpp>

namespace layerbench::run::detail {

/// The devices of the suite, one for each backend, thread count and class of numbers, made when
/// first asked for.
class suite_devices {
 public:
  /// `ranks` and `tuner` may be null.
  suite_devices(const registry& known, std::shared_ptr<autotuner> tuner, data_parallel_group* ranks,
                timing_mode timing)
      : known_(known), tuner_(std::move(tuner)), ranks_(ranks), timing_(timing) {}

  [[nodiscard]] std::shared_ptr<device_context> of(const std::string& backend, int threads,
                                                   number_class numbers = number_class::normal) {
    std::shared_ptr<device_context>& context = contexts_[{backend, threads, numbers}];
    if (!context) context = make(*known_.find(backend), threads, numbers);
    return context;
  }

 private:
  [[nodiscard]] std::shared_ptr<device_context> make(const backend_entry& entry, int threads,
                                                     number_class numbers) const {
    auto context = std::make_shared<device_context>(entry.make_device(threads), numbers);
    compute_device& device = context->device();
    if (entry.has_graphs) device.set_timing(timing_);
    if (entry.on_host) {
      std::vector<backend_entry> others = known_.backends;
      std::erase_if(others, [](const backend_entry& other) { return !other.on_host; });
      device.set_others(std::move(others));
    }
    if (ranks_ != nullptr) {
      device.set_between_ranks(
          [ranks = ranks_, &device](const op::any& op, const plan_request& request) {
            return ranks->plan(device, op, request);
          });
    }
    if (!tuner_) return context;
    device.set_choice([tuner = tuner_, &memory = *context, name = std::string(entry.name), threads](
                          const op::any& op, const plan_request& request) {
      return tuner->choose(name, threads, memory, op, request);
    });
    if (ranks_ != nullptr) return context;  // ranks must have the same plans
    device.set_rejection([tuner = tuner_, name = std::string(entry.name), threads](
                             const op::any& op, const plan_request& request,
                             const std::string& algorithm, const std::string& why) {
      return tuner->reject(name, threads, op, request, algorithm, why);
    });
    return context;
  }

  const registry& known_;
  std::shared_ptr<autotuner> tuner_;
  data_parallel_group* ranks_;
  timing_mode timing_;
  std::map<std::tuple<std::string, int, number_class>, std::shared_ptr<device_context>> contexts_;
};

}  // namespace layerbench::run::detail
