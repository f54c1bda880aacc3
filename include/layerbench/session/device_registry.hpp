// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include <layerbench/backend/adapter.hpp>
#include <layerbench/backend/list.hpp>
#include <layerbench/cache_state/device_context.hpp>
#include <layerbench/session/autotuner.hpp>
#include <layerbench/session/collectives.hpp>

namespace layerbench::run::detail {

template <class Ops, class Backends>
class device_registry;

/// The devices of the suite, one for each backend and thread count, made when first asked for.
template <op::operation... Ops, backend... Bs>
class device_registry<op::list<Ops...>, backend_list<Bs...>> {
 public:
  /// Both pointers may be null.
  device_registry(std::shared_ptr<autotuner> tuner, data_parallel_group* ranks, timing_mode timing)
      : tuner_(std::move(tuner)), ranks_(ranks), timing_(timing) {}

  [[nodiscard]] std::shared_ptr<device_context> of(const std::string& backend_name, int threads) {
    std::shared_ptr<device_context>& known = contexts_[{backend_name, threads}];
    const auto make = [&]<backend B>(std::type_identity<B> /*tag*/) {
      if (B::name != backend_name) return;
      known =
          std::make_shared<device_context>(std::make_unique<backend_device<B, Ops...>>(threads));
      if (has_graphs<B>) known->device().set_timing(timing_);
      if (ranks_ != nullptr) {
        known->device().set_between_ranks(
            [this_rank = ranks_](const op::any& op, const plan_request& request) {
              return this_rank->plan(op, request);
            });
      }
      if (!tuner_) return;
      known->device().set_choice([tuner = tuner_, &memory = *known, threads](
                                     const op::any& op, const plan_request& request) {
        return tuner->choose(std::string(B::name), threads, memory, op, request);
      });
    };
    if (!known) (make(std::type_identity<Bs>{}), ...);
    return known;
  }

 private:
  std::shared_ptr<autotuner> tuner_;
  data_parallel_group* ranks_;
  timing_mode timing_;
  std::map<std::pair<std::string, int>, std::shared_ptr<device_context>> contexts_;
};

}  // namespace layerbench::run::detail
