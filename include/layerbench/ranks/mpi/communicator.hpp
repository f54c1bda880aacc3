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

#include <layerbench/backend/mpi/allreduce.hpp>
#include <layerbench/model/buckets.hpp>
#include <layerbench/ranks/communicator.hpp>
#include <layerbench/timing/clock.hpp>

namespace layerbench::run {

namespace detail {

/// An all-reduce in which every rank calls it. Of operands that hold all ranks' arrays each has its
/// own.
class collective_plan final : public any_plan {
 public:
  /// Throws as mpi::operands_of does.
  collective_plan(const op::allreduce& o, const plan_request& request)
      : now_(mpi::order_of(o, request.type)), operands_(mpi::operands_of(o, request)) {}

  [[nodiscard]] const std::vector<plan_operand>& operands() const override { return operands_; }
  [[nodiscard]] std::size_t workspace_bytes() const override { return 0; }
  [[nodiscard]] std::string algorithm() const override { return mpi::algorithm_of(now_); }
  [[nodiscard]] std::vector<std::string> alternatives() override { return {}; }
  void upload(std::size_t /*operand*/, std::span<const float> values, address to) const override {
    const auto own = static_cast<std::size_t>(mpi::rank_group::all().rank());
    mpi::typed_span(now_.type, to).store(0, values.subspan(own * count(), count()));
  }
  /// Each rank sees its own result in the place of all.
  void download(std::size_t /*operand*/, address from, std::span<float> values) const override {
    for (std::size_t first = 0; first < values.size(); first += count()) {
      mpi::typed_span(now_.type, from).load(0, values.subspan(first, count()));
    }
  }
  [[nodiscard]] std::unique_ptr<bound_plan> bind(std::span<const address> places,
                                                 address /*workspace*/) const override {
    return std::make_unique<bound>(now_, places);
  }

 private:
  class bound final : public bound_plan {
   public:
    bound(const mpi::order& now, std::span<const address> places)
        : now_(now), from_(places[0]), to_(places[1]) {}
    void place(std::span<const address> places) override {
      from_ = places[0];
      to_ = places[1];
    }
    void expect(std::int64_t /*calls*/) override {}
    /// In models both are the same memory: nothing is copied.
    void run() override { mpi::reduction(now_, from_, to_).run(); }

   private:
    mpi::order now_;
    address from_;
    address to_;
  };

  [[nodiscard]] std::size_t count() const { return static_cast<std::size_t>(now_.count); }

  mpi::order now_;
  std::vector<plan_operand> operands_;
};

/// A thread that does one thing after the other. While it has something to do, no other one of its
/// rank may use MPI.
class sender {
 public:
  /// Once, before the rest.
  void start() {
    worker_ = std::jthread([this](const std::stop_token& end) { serve(end); });
  }
  void post(std::function<void()> work) {
    {
      const std::scoped_lock lock(access_);
      waiting_.push_back(std::move(work));
    }
    changed_.notify_all();
  }
  /// Until all is done.
  void wait() {
    std::unique_lock lock(access_);
    changed_.wait(lock, [&] { return waiting_.empty(); });
  }

 private:
  void serve(const std::stop_token& end) {
    std::unique_lock lock(access_);
    while (changed_.wait(lock, end, [&] { return !waiting_.empty(); })) {
      const std::function<void()>& work = waiting_.front();
      lock.unlock();
      work();
      lock.lock();
      waiting_.pop_front();
      changed_.notify_all();
    }
  }

  std::mutex access_;
  std::condition_variable_any changed_;
  std::deque<std::function<void()>> waiting_;  ///< the first one is under way
  std::jthread worker_;                        ///< last: it ends before the rest goes
};

/// All-reduces of what a bucket of gradients has, in place as those of a step, one after the other.
class background_allreduce {
 public:
  /// Once, before the rest.
  void prepare() { gradients_.resize(model::bucket_bytes / sizeof(float)); }
  /// All ranks do; returns after the first two, of which the second one is timed.
  void begin(sender& beside) {
    going_on_ = true;
    begun_ = false;
    times_ = {};
    beside.post([this] { work(); });
    begun_.wait(false);
  }
  [[nodiscard]] bool going_on() const { return going_on_; }
  /// The leader makes all end; the others wait for that.
  void end(sender& beside) {
    going_on_ = false;
    beside.wait();
  }
  [[nodiscard]] const allreduce_times& times() const { return times_; }

 private:
  void work() {
    mpi::order all;
    all.count = static_cast<std::int64_t>(gradients_.size());
    all.in_place = 1;
    const mpi::reduction once(all, gradients_.data(), gradients_.data());
    const auto seconds = [&] {
      const double start = stopwatch::now();
      once.run();
      return stopwatch::now() - start;
    };
    once.run();
    times_.alone = seconds();
    begun_ = true;
    begun_.notify_all();
    double sum = 0;
    int count = 0;
    while (true) {
      int more = going_on_ ? 1 : 0;
      MPI_Bcast(&more, 1, MPI_INT, 0, MPI_COMM_WORLD);  // what the leader says
      if (more == 0) break;
      const double its = seconds();
      if (!going_on_) continue;  // in part alone
      sum += its;
      times_.beside = sum / ++count;
    }
    going_on_ = false;
  }

  std::vector<float> gradients_;
  allreduce_times times_;
  std::atomic<bool> begun_ = false;
  std::atomic<bool> going_on_ = false;
};

}  // namespace detail

/// The processes that mpirun started.
class mpi_communicator final : public communicator {
 public:
  [[nodiscard]] int size() const override { return mpi::rank_group::all().size(); }
  [[nodiscard]] int ranks_on_host() const override {
    return mpi::rank_group::all().ranks_on_host();
  }
  [[nodiscard]] bool is_leader() const override { return mpi::rank_group::all().is_leader(); }
  void send(const command& next) override {
    mpi::order order;
    order.task = next.what == command::kind::end ? mpi::task::end : mpi::task::join;
    order.operand = next.index;
    order.count = next.argument;
    order.calls = static_cast<std::int64_t>(next.what);
    order.seconds = next.seconds;
    mpi::rank_group::all().send(order);
  }
  [[nodiscard]] command receive() override {
    const mpi::order order = mpi::rank_group::all().receive();
    if (order.task == mpi::task::end) return {};
    return {static_cast<command::kind>(order.calls), order.operand, order.count, order.seconds};
  }
  void barrier() override { mpi::reduction::barrier(); }
  void prepare_background_allreduce() override {
    int provided = MPI_THREAD_SINGLE;
    MPI_Query_thread(&provided);
    if (provided < MPI_THREAD_SERIALIZED) {
      throw unsupported(
          "this MPI cannot be used by another thread than the first, as --during=allreduce has to");
    }
    background_allreduce_.prepare();
    sender_.start();
  }
  void send(bound_plan& collective) override {
    sender_.post([&collective] { collective.run(); });
  }
  void wait_for_posted() override { sender_.wait(); }
  void begin_background_allreduce() override {
    try {
      background_allreduce_.begin(sender_);
    } catch (const std::exception& e) {  // the others would wait for ever
      abort_all(e.what());
    }
  }
  [[nodiscard]] bool background_allreduce_running() const override {
    return background_allreduce_.going_on();
  }
  void end_background_allreduce() override { background_allreduce_.end(sender_); }
  [[nodiscard]] allreduce_times allreduce_seconds() const override {
    return background_allreduce_.times();
  }
  [[noreturn]] void abort_all(const std::string& why) override {
    mpi::rank_group::all().abort_all(why);
  }
  [[nodiscard]] std::unique_ptr<any_plan> plan(const op::any& op,
                                               const plan_request& request) override {
    const auto* sizes = op.get<op::allreduce>();
    if (sizes == nullptr) throw unsupported(fmt::format("MPI has no {}", op.name()));
    return std::make_unique<detail::collective_plan>(*sizes, request);
  }

 private:
  detail::background_allreduce background_allreduce_;
  detail::sender sender_;
};

}  // namespace layerbench::run
