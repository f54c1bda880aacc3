// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include <layerbench/backend/list.hpp>
#include <layerbench/run/arena.hpp>
#include <layerbench/run/backend_device.hpp>
#include <layerbench/run/company.hpp>
#include <layerbench/run/plan_chooser.hpp>

namespace layerbench::run::detail {

template <class Ops, class Backends>
class arenas;

/// The devices of the suite, one for each backend and thread count, made when first asked for.
template <op::operation... Ops, backend... Bs>
class arenas<op::list<Ops...>, backend_list<Bs...>> {
 public:
  /// Both pointers may be null.
  arenas(std::shared_ptr<plan_chooser> chooser, company* ranks, timing_mode timing)
      : chooser_(std::move(chooser)), ranks_(ranks), timing_(timing) {}

  [[nodiscard]] std::shared_ptr<arena> of(const std::string& backend_name, int threads) {
    std::shared_ptr<arena>& known = made_[{backend_name, threads}];
    const auto make = [&]<backend B>(std::type_identity<B> /*tag*/) {
      if (B::name != backend_name) return;
      known = std::make_shared<arena>(std::make_unique<backend_device<B, Ops...>>(threads));
      if (has_graphs<B>) known->here().set_timing(timing_);
      if (ranks_ != nullptr) {
        known->here().set_between_ranks(
            [this_rank = ranks_](const op::any& op, const plan_request& request) {
              return this_rank->plan(op, request);
            });
      }
      if (!chooser_) return;
      known->here().set_choice([chooser = chooser_, &memory = *known, threads](
                                   const op::any& op, const plan_request& request) {
        return chooser->choose(std::string(B::name), threads, memory, op, request);
      });
    };
    if (!known) (make(std::type_identity<Bs>{}), ...);
    return known;
  }

 private:
  std::shared_ptr<plan_chooser> chooser_;
  company* ranks_;
  timing_mode timing_;
  std::map<std::pair<std::string, int>, std::shared_ptr<arena>> made_;
};

}  // namespace layerbench::run::detail
