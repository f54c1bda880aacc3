// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <exception>
#include <map>
#include <memory>
#include <string>

#include <fmt/format.h>

#include <layerbench/backend/mpi/serve.hpp>
#include <layerbench/base/error.hpp>
#include <layerbench/ranks/communicator.hpp>
#include <layerbench/session/benchmark_row.hpp>
#include <layerbench/session/chain.hpp>
#include <layerbench/session/suite.hpp>

namespace layerbench::run {

/// Any rank but the leader: executes the leader's commands with its own plans and memory.
class worker {
 public:
  /// `local` equals the leader's suite.
  worker(communicator& ranks, const suite& local, const preparation_options& options)
      : ranks_(ranks), suite_(local), options_(options) {}

  /// Executes commands up to the end. An error ends all ranks.
  void serve() {
    try {
      mpi::serve([&] { return ranks_.receive(); }, [&](const command& next) { execute(next); });
    } catch (const std::exception& e) {
      ranks_.abort_all(e.what() + last_failure_);
    }
  }

 private:
  void execute(const command& next) {
    const auto index = static_cast<std::size_t>(next.index);
    switch (next.what) {
      case command::kind::make_chain:
        return attempt([&] { chains_[index] = suite_.chains.at(index).make(); });
      case command::kind::drop_chain: chains_.erase(index); return;
      case command::kind::run_step: return run_step(*chains_.at(index));
      default: return execute(next, *suite_.rows.at(index));
    }
  }

  void execute(const command& next, benchmark_row& row) {
    row.activate();
    switch (next.what) {
      case command::kind::prepare:
        return attempt([&] { prepare_or_abort(ranks_, row, [&] { row.prepare(options_); }); });
      case command::kind::release: return row.release();
      case command::kind::set_step_seconds: return row.set_step_seconds(next.seconds);
      case command::kind::warm_shared_cache: return row.warm_shared_cache(next.count != 0);
      case command::kind::call:
        row.set_up(next.count);
        ranks_.barrier();
        return row.call(next.count);
      case command::kind::run_alongside: return run_alongside(row);
      default: throw error("the leader sent a command that this version does not know");
    }
  }

  void run_alongside(benchmark_row& row) {
    const background_allreduce_scope allreduces(ranks_, row.device());
    row.warm_shared_cache(/*warm_up_follows=*/true);
    while (ranks_.background_allreduce_running()) {
      row.set_up(1);
      row.call(1);
    }
  }

  void run_step(chain& step) {
    step.activate();
    step.set_up();
    ranks_.barrier();
    // On GPUs the leader's step begins when all of it is enqueued, and so does this one.
    device_clock* const clock = step.device().clock();
    if (clock != nullptr) clock->start();
    step.run(0, step.layers());
    if (clock != nullptr) static_cast<void>(clock->stop());
  }

  /// Does `work`. What fails on a worker fails on the leader, too; the leader reports it and sends
  /// no further commands for that row or chain.
  template <class Work>
  void attempt(Work&& work) {
    try {
      work();
    } catch (const std::exception& e) {
      last_failure_ = fmt::format(" (before that: {})", e.what());
    }
  }

  communicator& ranks_;
  const suite& suite_;
  preparation_options options_;
  std::string last_failure_;
  std::map<std::size_t, std::unique_ptr<chain>> chains_;  ///< by their place in the suite
};

}  // namespace layerbench::run
