// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
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

/// The all-reduce of a bucket of gradients.
[[nodiscard]] inline op::collective bucket_between(int ranks) {
  return op::allreduce{model::bucket_bytes, ranks, /*in_place=*/true}.as_collective();
}

/// The plan of an all-reduce that every rank calls itself. Where the op's operands have a row per
/// rank, this rank has its own row.
class allreduce_plan : public any_plan {
 public:
  /// `operands` are those of one rank.
  allreduce_plan(compute_device& device, const op::collective& o, dtype type,
                 std::vector<plan_operand> operands)
      : device_(device), collective_(o), type_(type), operands_(std::move(operands)) {}

  [[nodiscard]] const std::vector<plan_operand>& operands() const override { return operands_; }
  void upload(std::size_t operand, std::span<const float> values, address to) const override {
    const auto rank = static_cast<std::size_t>(mpi::rank_group::all().rank());
    std::vector<std::byte> stored(row_bytes(operands_[operand].logical));
    store_row(operands_[operand].logical, values.subspan(rank * count(), count()), stored.data());
    device_.copy(to, stored.data(), stored.size());
    device_.synchronize();
  }
  /// Writes this rank's result in place of every rank's.
  void download(std::size_t operand, address from, std::span<float> values) const override {
    std::vector<std::byte> stored(row_bytes(operands_[operand].logical));
    device_.copy(stored.data(), from, stored.size());
    device_.synchronize();
    for (std::size_t first = 0; first < values.size(); first += count()) {
      load_row(operands_[operand].logical, stored.data(), values.subspan(first, count()));
    }
  }

 protected:
  [[nodiscard]] compute_device& device() const { return device_; }
  [[nodiscard]] const op::collective& collective() const { return collective_; }
  [[nodiscard]] dtype type() const { return type_; }

 private:
  [[nodiscard]] std::size_t count() const {
    return static_cast<std::size_t>(collective_.block(type_));
  }

  compute_device& device_;
  op::collective collective_;
  dtype type_;
  std::vector<plan_operand> operands_;
};

/// A call of that plan.
class bound_allreduce : public bound_plan {
 public:
  explicit bound_allreduce(std::span<const address> operands)
      : from_(operands[0]), to_(operands[1]) {}
  void place(std::span<const address> operands) override {
    from_ = operands[0];
    to_ = operands[1];
  }

 protected:
  [[nodiscard]] address from() const { return from_; }
  [[nodiscard]] address to() const { return to_; }

 private:
  address from_;
  address to_;
};

/// Through MPI.
class mpi_allreduce_plan final : public allreduce_plan {
 public:
  /// Throws as mpi::operands_of does.
  mpi_allreduce_plan(compute_device& device, const op::collective& o, const plan_request& request)
      : allreduce_plan(device, o, request.type, mpi::operands_of(o, request)) {}

  [[nodiscard]] std::string algorithm() const override {
    return algorithm_of(mpi::backend::name, collective());
  }
  [[nodiscard]] std::unique_ptr<bound_plan> bound_to(std::span<const address> operands,
                                                     address /*workspace*/) const override {
    return std::make_unique<bound>(collective(), type(), operands);
  }

 private:
  class bound final : public bound_allreduce {
   public:
    bound(const op::collective& o, dtype type, std::span<const address> operands)
        : bound_allreduce(operands), collective_(o), type_(type) {}
    /// In a model both operands are the same memory, so that nothing is copied.
    void run() override { mpi::collective_call(collective_, type_, from(), to()).run(); }

   private:
    op::collective collective_;
    dtype type_;
  };
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

/// All-reduces of one bucket of gradients between all ranks, one behind the other, in place as in a
/// training step.
class bucket_allreduces {
 public:
  bucket_allreduces() = default;
  bucket_allreduces(const bucket_allreduces&) = delete;
  bucket_allreduces& operator=(const bucket_allreduces&) = delete;
  virtual ~bucket_allreduces() = default;
  /// Starts another one. Returns the seconds of the latest one that has ended.
  virtual double next() = 0;
  /// Waits for those that were started.
  virtual void finish() = 0;
};

/// In memory of the host, through MPI.
class mpi_bucket_allreduces final : public bucket_allreduces {
 public:
  double next() override {
    const double start = stopwatch::now();
    allreduce_.run();
    return stopwatch::now() - start;
  }
  void finish() override {}

 private:
  std::vector<float> gradients_ = std::vector<float>(model::bucket_bytes / sizeof(float));
  mpi::collective_call allreduce_{bucket_between(mpi::rank_group::all().size()), dtype::f32,
                                  gradients_.data(), gradients_.data()};
};

/// All-reduces of a bucket that a thread starts while this rank computes.
class background_allreduce {
 public:
  /// All ranks begin together. Returns after two all-reduces, the second of which was timed.
  void begin(communication_thread& thread, bucket_allreduces& allreduces) {
    running_ = true;
    begun_ = false;
    times_ = {};
    thread.post(
        [this, &allreduces] { mpi::rank_group::all().do_or_abort([&] { work(allreduces); }); });
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
  void work(bucket_allreduces& allreduces) {
    static_cast<void>(allreduces.next());
    times_.alone = allreduces.next();
    begun_ = true;
    begun_.notify_all();
    double sum = 0;
    int count = -1;  // the first one may have begun before the ranks computed
    while (true) {
      int more = running_ ? 1 : 0;
      MPI_Bcast(&more, 1, MPI_INT, 0, MPI_COMM_WORLD);  // the leader decides
      if (more == 0) break;
      const double seconds = allreduces.next();
      if (!running_) continue;  // the ranks stopped computing during this call
      if (++count == 0) continue;
      sum += seconds;
      times_.beside = sum / count;
    }
    allreduces.finish();
    running_ = false;
  }

  allreduce_times times_;
  std::atomic<bool> begun_ = false;
  std::atomic<bool> running_ = false;
};

}  // namespace detail

/// The ranks that a launcher started. Their devices are processors of the host.
class mpi_communicator : public communicator {
 public:
  [[nodiscard]] int size() const override { return mpi::rank_group::all().size(); }
  [[nodiscard]] int ranks_on_host() const override {
    return mpi::rank_group::all().ranks_on_host();
  }
  [[nodiscard]] bool is_leader() const override { return mpi::rank_group::all().is_leader(); }
  void send(const command& next) override { mpi::rank_group::all().send(next); }
  [[nodiscard]] std::optional<command> receive() override {
    return mpi::rank_group::all().receive<command>();
  }
  void barrier() override { mpi::rank_group::barrier(); }
  void take_gpus() override {
    throw usage_error("--ranks: this build has no NCCL, which connects GPUs; install it");
  }
  void prepare_background_allreduce() override {
    int provided = MPI_THREAD_SINGLE;
    MPI_Query_thread(&provided);
    if (provided < MPI_THREAD_SERIALIZED) {
      throw unsupported(
          "this MPI cannot be used by another thread than the first, as --during=allreduce has to");
    }
    bucket_allreduces_.emplace();
    thread_.start();
  }
  void post(compute_device& /*device*/, bound_plan& collective) override {
    thread_.post([&collective] { collective.run(); });
  }
  void wait_for_posted(compute_device& /*device*/) override { thread_.wait(); }
  void begin_background_allreduce(compute_device& device) override {
    mpi::rank_group::all().do_or_abort(
        [&] { background_allreduce_.begin(thread_, bucket_allreduces_on(device)); });
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
  [[nodiscard]] std::unique_ptr<any_plan> plan(compute_device& device, const op::any& op,
                                               const plan_request& request) override {
    const auto* allreduce = op.get<op::allreduce>();
    if (allreduce == nullptr) throw unsupported(fmt::format("MPI has no {}", op.name()));
    return std::make_unique<detail::mpi_allreduce_plan>(device, allreduce->as_collective(),
                                                        request);
  }
  void describe(description& facts) const override { mpi::backend::describe(facts); }

 protected:
  /// Those between the devices of this kind; after prepare_background_allreduce().
  [[nodiscard]] virtual detail::bucket_allreduces& bucket_allreduces_on(
      compute_device& /*device*/) {
    return bucket_allreduces_.value();
  }

 private:
  std::optional<detail::mpi_bucket_allreduces> bucket_allreduces_;
  detail::background_allreduce background_allreduce_;
  detail::communication_thread thread_;
};

}  // namespace layerbench::run
