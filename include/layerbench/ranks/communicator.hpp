// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include <layerbench/backend/device.hpp>
#include <layerbench/op/allreduce.hpp>
#include <layerbench/ranks/command.hpp>
#include <layerbench/session/benchmark_row.hpp>
#include <layerbench/session/data_parallel_group.hpp>

/// Data-parallel training: several ranks execute the same rows and chains at the same time. Rank 0,
/// the leader, measures and sends commands; all others are workers.
namespace layerbench::run {

/// Seconds per all-reduce of one bucket.
struct allreduce_times {
  double alone = 0;   ///< while all ranks are idle
  double beside = 0;  ///< while they compute: mean of the calls that ended before that did
};

/// The ranks of this program, seen from one of them.
class communicator : public data_parallel_group {
 public:
  [[nodiscard]] virtual bool is_leader() const = 0;
  /// The leader sends a command to all workers.
  virtual void send(const command& next) = 0;
  /// A worker waits for the leader's next command. Nothing when the program is over.
  [[nodiscard]] virtual std::optional<command> receive() = 0;
  /// Waits until all ranks are here.
  virtual void barrier() = 0;
  /// Gives this rank a GPU, and connects it to those of the others; all ranks call it at the same
  /// time. Throws unavailable on all ranks, and usage_error where this build cannot.
  virtual void take_gpus() = 0;
  /// Allocates what background all-reduces need, those of GPUs that were taken included. Throws
  /// unsupported.
  virtual void prepare_background_allreduce() = 0;
  /// Starts all-reduces in the background between the devices of all ranks, one after the other.
  /// Returns after one was timed while the ranks were idle. No other communication is possible
  /// meanwhile.
  virtual void begin_background_allreduce(compute_device& device) = 0;
  /// Whether the leader has not yet ended the background all-reduces.
  [[nodiscard]] virtual bool background_allreduce_running() const = 0;
  /// The leader ends the background all-reduces; workers wait until it has.
  virtual void end_background_allreduce() = 0;
  /// The times of the latest background all-reduces.
  [[nodiscard]] virtual allreduce_times allreduce_seconds() const = 0;
  /// Ends all ranks because this rank failed.
  [[noreturn]] virtual void abort_all(const std::string& reason) = 0;
};

/// Makes the communicator of the ranks that a launcher started.
using communicator_factory = std::function<std::unique_ptr<communicator>()>;

/// Background all-reduces run on all ranks during the lifetime of this object.
class background_allreduce_scope {
 public:
  background_allreduce_scope(communicator& ranks, compute_device& device) : ranks_(ranks) {
    ranks_.begin_background_allreduce(device);
  }
  background_allreduce_scope(const background_allreduce_scope&) = delete;
  background_allreduce_scope& operator=(const background_allreduce_scope&) = delete;
  ~background_allreduce_scope() { ranks_.end_background_allreduce(); }

 private:
  communicator& ranks_;
};

/// Does `work`, which prepares a row on this rank. All ranks end if a GPU fails in that of an
/// all-reduce: the others would wait for its call for ever. What a library lacks or computes wrong
/// is the same on all ranks.
template <class Work>
void prepare_or_abort(communicator& ranks, const benchmark_row& row, Work&& work) {
  const bool waits = row.spec().op.name() == op::allreduce::name && !row.device().is_host();
  try {
    work();
  } catch (const unsupported&) {
    throw;
  } catch (const wrong_result&) {
    throw;
  } catch (const std::exception& e) {
    if (!waits) throw;
    ranks.abort_all(e.what());
  }
}

/// Sends the leader's commands for one row or one chain.
class command_sender {
 public:
  /// `index` is the place of the row or the chain in the suite.
  command_sender(communicator& ranks, std::size_t index)
      : ranks_(ranks), index_(static_cast<std::int64_t>(index)) {}

  void send(command::kind what, std::int64_t count = 0, double seconds = 0) const {
    ranks_.send({.what = what, .index = index_, .count = count, .seconds = seconds});
  }
  /// Sends the command, does `work` while the workers do the same, and waits for them. All ranks
  /// end if `work` throws: the workers would wait at the barrier for ever.
  template <class Work>
  void send_and_barrier(command::kind what, std::int64_t count, Work&& work) const {
    send(what, count);
    run_or_abort(work);
    ranks_.barrier();
  }
  template <class Work>
  void prepare_or_abort(const benchmark_row& row, Work&& work) const {
    run::prepare_or_abort(ranks_, row, work);
  }
  /// Does `work`, in which all ranks communicate. All ranks end if it throws.
  template <class Work>
  void run_or_abort(Work&& work) const {
    try {
      work();
    } catch (const std::exception& e) {
      ranks_.abort_all(e.what());
    }
  }
  /// Does `work` on `device` while background all-reduces run; the workers call the row meanwhile.
  template <class Work>
  auto run_overlapped(compute_device& device, Work&& work) const {
    send(command::kind::run_alongside);
    const background_allreduce_scope allreduces(ranks_, device);
    return work();
  }
  [[nodiscard]] allreduce_times allreduce_seconds() const { return ranks_.allreduce_seconds(); }

 private:
  communicator& ranks_;
  std::int64_t index_;
};

}  // namespace layerbench::run
