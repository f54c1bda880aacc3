// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <layerbench/backend/mpi/collective.hpp>
#include <layerbench/model/buckets.hpp>
#include <layerbench/ranks/communicator.hpp>
#include <layerbench/timing/clock.hpp>

namespace layerbench::run {

namespace detail {

/// The plan of an all-reduce that every rank calls itself. Where the op's operands have a row per
/// rank, this rank has its own row.
class allreduce_plan final : public any_plan {
 public:
  /// Throws as mpi::operands_of does.
  allreduce_plan(const op::allreduce& o, const plan_request& request)
      : collective_(o.as_collective()),
        type_(request.type),
        operands_(mpi::operands_of(collective_, request)) {}

  [[nodiscard]] const std::vector<plan_operand>& operands() const override { return operands_; }
  [[nodiscard]] std::size_t workspace_bytes() const override { return 0; }
  [[nodiscard]] std::string algorithm() const override {
    return algorithm_of(mpi::backend::name, collective_);
  }
  void upload(std::size_t operand, std::span<const float> values, address to) const override {
    const auto rank = static_cast<std::size_t>(mpi::rank_group::all().rank());
    store_row(operands_[operand].logical, values.subspan(rank * count(), count()), to);
  }
  /// Writes this rank's result in place of every rank's.
  void download(std::size_t operand, address from, std::span<float> values) const override {
    for (std::size_t first = 0; first < values.size(); first += count()) {
      load_row(operands_[operand].logical, from, values.subspan(first, count()));
    }
  }
  [[nodiscard]] std::unique_ptr<bound_plan> bind(std::span<const address> operands,
                                                 address /*workspace*/) const override {
    return std::make_unique<bound_allreduce>(collective_, type_, operands);
  }

 private:
  class bound_allreduce final : public bound_plan {
   public:
    bound_allreduce(const op::collective& o, dtype type, std::span<const address> operands)
        : collective_(o), type_(type), from_(operands[0]), to_(operands[1]) {}
    void place(std::span<const address> operands) override {
      from_ = operands[0];
      to_ = operands[1];
    }
    void announce_calls(std::int64_t /*calls*/) override {}
    /// In a model both operands are the same memory, so that nothing is copied.
    void run() override { mpi::collective_call(collective_, type_, from_, to_).run(); }

   private:
    op::collective collective_;
    dtype type_;
    address from_;
    address to_;
  };

  [[nodiscard]] std::size_t count() const {
    return static_cast<std::size_t>(collective_.block(type_));
  }

  op::collective collective_;
  dtype type_;
  std::vector<plan_operand> operands_;
};

/// A thread that does posted work in order. While it has work, no other thread of its rank may use
/// MPI.
class communication_thread {
 public:
  /// Starts the thread; once, before post().
  void start() {
    thread_ = std::jthread([this](const std::stop_token& stop) { serve(stop); });
  }
  void post(std::function<void()> work) {
    {
      const std::scoped_lock lock(mutex_);
      posted_.push_back(std::move(work));
    }
    changed_.notify_all();
  }
  /// Waits until all posted work is done.
  void wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return posted_.empty(); });
  }

 private:
  void serve(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    while (changed_.wait(lock, stop, [&] { return !posted_.empty(); })) {
      const std::function<void()>& work = posted_.front();
      lock.unlock();
      work();
      lock.lock();
      posted_.pop_front();
      changed_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::deque<std::function<void()>> posted_;  ///< the first one is running
  std::jthread thread_;  ///< last, so that it ends before the rest is destroyed
};

/// Background all-reduces of a bucket of gradients, in place as in a training step, one after the
/// other.
class background_allreduce {
 public:
  /// Allocates the bucket; once, before begin().
  void prepare() { gradients_.resize(model::bucket_bytes / sizeof(float)); }
  /// All ranks begin together. Returns after two all-reduces, the second of which was timed.
  void begin(communication_thread& thread) {
    running_ = true;
    begun_ = false;
    times_ = {};
    thread.post([this] { work(); });
    begun_.wait(false);
  }
  [[nodiscard]] bool running() const { return running_; }
  /// The leader ends the all-reduces of all ranks; workers wait until it has.
  void end(communication_thread& thread) {
    running_ = false;
    thread.wait();
  }
  [[nodiscard]] const allreduce_times& times() const { return times_; }

 private:
  void work() {
    const op::allreduce bucket{model::bucket_bytes, mpi::rank_group::all().size(),
                               /*in_place=*/true};
    mpi::collective_call allreduce(bucket.as_collective(), dtype::f32, gradients_.data(),
                                   gradients_.data());
    const auto timed_call = [&] {
      const double start = stopwatch::now();
      allreduce.run();
      return stopwatch::now() - start;
    };
    allreduce.run();
    times_.alone = timed_call();
    begun_ = true;
    begun_.notify_all();
    double sum = 0;
    int count = 0;
    while (true) {
      int more = running_ ? 1 : 0;
      MPI_Bcast(&more, 1, MPI_INT, 0, MPI_COMM_WORLD);  // the leader decides
      if (more == 0) break;
      const double seconds = timed_call();
      if (!running_) continue;  // the ranks stopped computing during this call
      sum += seconds;
      times_.beside = sum / ++count;
    }
    running_ = false;
  }

  std::vector<float> gradients_;
  allreduce_times times_;
  std::atomic<bool> begun_ = false;
  std::atomic<bool> running_ = false;
};

}  // namespace detail

/// The ranks that mpirun started.
class mpi_communicator final : public communicator {
 public:
  [[nodiscard]] int size() const override { return mpi::rank_group::all().size(); }
  [[nodiscard]] int ranks_on_host() const override {
    return mpi::rank_group::all().ranks_on_host();
  }
  [[nodiscard]] bool is_leader() const override { return mpi::rank_group::all().is_leader(); }
  void send(const command& next) override { mpi::rank_group::all().send(next); }
  [[nodiscard]] command receive() override { return mpi::rank_group::all().receive(); }
  void barrier() override { mpi::rank_group::barrier(); }
  void prepare_background_allreduce() override {
    int provided = MPI_THREAD_SINGLE;
    MPI_Query_thread(&provided);
    if (provided < MPI_THREAD_SERIALIZED) {
      throw unsupported(
          "this MPI cannot be used by another thread than the first, as --during=allreduce has to");
    }
    background_allreduce_.prepare();
    thread_.start();
  }
  void post(bound_plan& collective) override {
    thread_.post([&collective] { collective.run(); });
  }
  void wait_for_posted() override { thread_.wait(); }
  void begin_background_allreduce() override {
    try {
      background_allreduce_.begin(thread_);
    } catch (const std::exception& e) {  // the other ranks would wait for ever
      abort_all(e.what());
    }
  }
  [[nodiscard]] bool background_allreduce_running() const override {
    return background_allreduce_.running();
  }
  void end_background_allreduce() override { background_allreduce_.end(thread_); }
  [[nodiscard]] allreduce_times allreduce_seconds() const override {
    return background_allreduce_.times();
  }
  [[noreturn]] void abort_all(const std::string& reason) override {
    mpi::rank_group::all().abort_all(reason);
  }
  [[nodiscard]] std::unique_ptr<any_plan> plan(const op::any& op,
                                               const plan_request& request) override {
    const auto* allreduce = op.get<op::allreduce>();
    if (allreduce == nullptr) throw unsupported(fmt::format("MPI has no {}", op.name()));
    return std::make_unique<detail::allreduce_plan>(*allreduce, request);
  }

 private:
  detail::background_allreduce background_allreduce_;
  detail::communication_thread thread_;
};

}  // namespace layerbench::run
