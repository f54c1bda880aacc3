// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

#include <layerbench/op/allreduce.hpp>
#include <layerbench/ranks/communicator.hpp>
#include <layerbench/session/benchmark_row.hpp>
#include <layerbench/session/chain.hpp>
#include <layerbench/session/suite.hpp>

/// The leader's rows and chains: they do what those of a single process do, and have the workers
/// do the same.
namespace layerbench::run {

/// A row that all ranks execute. With --during=allreduce it is contended: its calls overlap with
/// background all-reduces, and the workers repeat the call without barriers.
class distributed_row final : public benchmark_row {
 public:
  distributed_row(benchmark_row&& local, const command_sender& workers)
      : benchmark_row(std::move(local)), workers_(workers) {}

  void prepare(const preparation_options& options) override {
    if (!prepared()) workers_.send(command::kind::prepare);
    workers_.prepare_or_abort(*this, [&] { benchmark_row::prepare(options); });
  }
  void release() override {
    workers_.send(command::kind::release);
    benchmark_row::release();
  }
  void set_step_seconds(double seconds) override {
    workers_.send(command::kind::set_step_seconds, 0, seconds);
    benchmark_row::set_step_seconds(seconds);
  }
  void warm_shared_cache(bool warm_up_follows) override {
    if (!contended()) workers_.send(command::kind::warm_shared_cache, warm_up_follows ? 1 : 0);
    benchmark_row::warm_shared_cache(warm_up_follows);
  }
  /// The calls begin when all ranks are set up.
  void set_up(std::int64_t calls) override {
    if (contended()) return benchmark_row::set_up(calls);
    workers_.send_and_barrier(command::kind::call, calls, [&] { benchmark_row::set_up(calls); });
  }

  [[nodiscard]] bool communicates() const override {
    return spec().op.name() == op::allreduce::name;
  }
  [[nodiscard]] bool contended() const override { return name().model_case.contended(); }
  void run_contended(const std::function<void()>& pass) override {
    workers_.run_overlapped(device(), pass);
  }
  /// Only all-reduces that end within the pass count, and contention makes each of them longer.
  [[nodiscard]] double min_pass_seconds() const override {
    if (!contended()) return benchmark_row::min_pass_seconds();
    constexpr double allreduces = 5;  // the first one does not count
    return std::max(0.05, allreduces * workers_.allreduce_seconds().alone);
  }
  void describe(result::measurement& row) const override {
    benchmark_row::describe(row);
    if (!contended()) return;
    const allreduce_times times = workers_.allreduce_seconds();
    if (times.beside == 0) return;  // no all-reduce ended within the pass
    row.counters["reduction_alone_s"] = times.alone;
    row.counters["reduction_s"] = times.beside;
  }

 private:
  command_sender workers_;
};

/// A chain whose steps all ranks run.
class distributed_chain final : public chain {
 public:
  distributed_chain(chain&& local, const command_sender& workers)
      : chain(std::move(local)), workers_(workers) {}
  distributed_chain(const distributed_chain&) = delete;
  distributed_chain& operator=(const distributed_chain&) = delete;
  ~distributed_chain() override { workers_.send(command::kind::drop_chain); }

  [[nodiscard]] bool communicates() const override { return true; }
  /// The step begins when all ranks are set up.
  void set_up() override {
    workers_.send_and_barrier(command::kind::run_step, 0, [&] { write_inputs(); });
    record_step();
  }
  void run(std::size_t first, std::size_t end) override {
    workers_.run_or_abort([&] { chain::run(first, end); });
  }

 private:
  command_sender workers_;
};

/// Replaces the rows and chains of the leader's suite by distributed ones.
inline void distribute(suite& all, communicator& ranks) {
  std::size_t row = 0;
  for (std::unique_ptr<benchmark_row>& local : all.rows) {
    local = std::make_unique<distributed_row>(std::move(*local), command_sender(ranks, row++));
  }
  std::size_t index = 0;
  for (chain_spec& whole_model : all.chains) {
    whole_model.make = [make = whole_model.make, workers = command_sender(ranks, index++)] {
      workers.send(command::kind::make_chain);
      const std::unique_ptr<chain> local = make();
      return std::make_unique<distributed_chain>(std::move(*local), workers);
    };
  }
}

}  // namespace layerbench::run
