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
#include <layerbench/session/benchmark_case.hpp>
#include <layerbench/session/chain.hpp>
#include <layerbench/ranks/communicator.hpp>
#include <layerbench/session/suite.hpp>

namespace layerbench::run {

/// Any rank but the leader: does with its own plans and memory what that says.
class worker {
 public:
  /// `all` is the same suite as the leader's.
  worker(communicator& with, const suite& all, const preparation_options& how)
      : with_(with), all_(all), how_(how) {}

  /// Goes on to the end. Signals to stop are the leader's to heed. Ends all ranks where it cannot.
  void serve() {
    std::signal(SIGINT, SIG_IGN);
    std::signal(SIGTERM, SIG_IGN);
    try {
      for (command next = with_.receive(); next.what != command::kind::end; next = with_.receive())
        execute(next);
    } catch (const std::exception& e) {
      with_.abort_all(e.what() + failed_);
    }
  }

 private:
  void execute(const command& next) {
    const auto index = static_cast<std::size_t>(next.index);
    switch (next.what) {
      case command::kind::make_chain:
        return attempt([&] { chains_[index] = all_.chains.at(index).make(); });
      case command::kind::drop_chain: chains_.erase(index); return;
      case command::kind::step: return run_step(*chains_.at(index));
      default: return execute(next, *all_.cases.at(index));
    }
  }

  void execute(const command& next, benchmark_case& row) {
    row.activate();
    switch (next.what) {
      case command::kind::prepare: return attempt([&] { row.prepare(how_); });
      case command::kind::release: return row.release();
      case command::kind::pace: return row.set_step_seconds(next.seconds);
      case command::kind::warm_shared_cache: return row.warm_shared_cache(next.argument != 0);
      case command::kind::calls:
        row.set_up(next.argument);
        with_.barrier();
        return row.call(next.argument);
      case command::kind::run_alongside: return run_alongside(row);
      default: throw error("the leader asks for what this version does not know");
    }
  }

  void run_alongside(benchmark_case& row) {
    const background_allreduce_scope all(with_);
    row.warm_shared_cache(/*warm_up_follows=*/true);
    while (with_.background_allreduce_running()) {
      row.set_up(1);
      row.call(1);
    }
  }

  void run_step(chain& whole) {
    whole.activate();
    whole.set_up();
    with_.barrier();
    whole.run(0, whole.layers());
  }

  /// What fails here fails in the leader, too, which says so and asks for it no more.
  template <class Work>
  void attempt(Work&& work) {
    try {
      work();
    } catch (const std::exception& e) {
      failed_ = fmt::format(" (before that: {})", e.what());
    }
  }

  communicator& with_;
  const suite& all_;
  preparation_options how_;
  std::string failed_;                                    ///< the last of what did
  std::map<std::size_t, std::unique_ptr<chain>> chains_;  ///< by their place in the suite
};

/// Has all that is measured of `all` done by the others, too.
inline void lead(suite& all, communicator& with) {
  std::size_t row = 0;
  for (const auto& item : all.cases) item->lead({with, row++});
  std::size_t index = 0;
  for (chain_plan& plan : all.chains) {
    plan.make = [make = plan.make, others = command_sender(with, index++)] {
      others.send(command::kind::make_chain);
      std::unique_ptr<chain> result = make();
      result->lead(others);
      return result;
    };
  }
}

}  // namespace layerbench::run
