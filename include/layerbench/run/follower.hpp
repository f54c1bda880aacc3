// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <csignal>
#include <cstddef>
#include <exception>
#include <map>
#include <memory>
#include <string>

#include <fmt/format.h>

#include <layerbench/base/error.hpp>
#include <layerbench/run/cases.hpp>
#include <layerbench/run/chain.hpp>
#include <layerbench/run/company.hpp>
#include <layerbench/run/fixture.hpp>

namespace layerbench::run {

/// Any rank but the leader: does with its own plans and memory what that says.
class follower {
 public:
  /// `all` is the same suite as the leader's.
  follower(company& with, const suite& all, const preparation& how)
      : with_(with), all_(all), how_(how) {}

  /// Goes on to the end. Signals to stop are the leader's to heed. Ends all ranks where it cannot.
  void serve() {
    std::signal(SIGINT, SIG_IGN);
    std::signal(SIGTERM, SIG_IGN);
    try {
      for (deed next = with_.hear(); next.what != deed::kind::end; next = with_.hear()) obey(next);
    } catch (const std::exception& slip) {
      with_.abandon(slip.what() + failed_);
    }
  }

 private:
  void obey(const deed& next) {
    const auto index = static_cast<std::size_t>(next.index);
    switch (next.what) {
      case deed::kind::make_chain:
        return attempt([&] { chains_[index] = all_.chains.at(index).make(); });
      case deed::kind::drop_chain: chains_.erase(index); return;
      case deed::kind::step: return run_step(*chains_.at(index));
      default: return obey(next, *all_.fixtures.at(index));
    }
  }

  void obey(const deed& next, fixture& row) {
    row.activate();
    switch (next.what) {
      case deed::kind::prepare: return attempt([&] { row.prepare(how_); });
      case deed::kind::release: return row.release();
      case deed::kind::pace: return row.set_step_seconds(next.seconds);
      case deed::kind::settle: return row.settle(next.argument != 0);
      case deed::kind::calls:
        row.ready(next.argument);
        with_.meet();
        return row.call(next.argument);
      case deed::kind::accompany: return accompany(row);
      default: throw error("the leader asks for what this version does not know");
    }
  }

  void accompany(fixture& row) {
    const reduction_beside all(with_);
    row.settle(/*warm_up_follows=*/true);
    while (with_.reducing()) {
      row.ready(1);
      row.call(1);
    }
  }

  void run_step(chain& whole) {
    whole.activate();
    whole.ready();
    with_.meet();
    whole.run(0, whole.layers());
  }

  /// What fails here fails in the leader, too, which says so and asks for it no more.
  template <class Work>
  void attempt(Work&& work) {
    try {
      work();
    } catch (const std::exception& slip) {
      failed_ = fmt::format(" (before that: {})", slip.what());
    }
  }

  company& with_;
  const suite& all_;
  preparation how_;
  std::string failed_;                                    ///< the last of what did
  std::map<std::size_t, std::unique_ptr<chain>> chains_;  ///< by their place in the suite
};

/// Has all that is measured of `all` done by the others, too.
inline void lead(suite& all, company& with) {
  std::size_t row = 0;
  for (const auto& each : all.fixtures) each->lead({with, row++});
  std::size_t index = 0;
  for (chain_plan& each : all.chains) {
    each.make = [make = each.make, others = herald(with, index++)] {
      others.tell(deed::kind::make_chain);
      std::unique_ptr<chain> made = make();
      made->lead(others);
      return made;
    };
  }
}

}  // namespace layerbench::run
