// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

#include <layerbench/backend/device.hpp>

/// Several ranks that train together: processes that do the same at the same time, as one of them
/// says.
namespace layerbench::run {

/// What all ranks do next. The leader does it, too, and decides with its own clock.
struct command {
  enum class kind : std::int64_t {
    end,                ///< nothing more
    prepare,            ///< a row: see fixture
    release,            ///< the row
    pace,               ///< of the row: see rotation::set_step_seconds
    warm_shared_cache,  ///< the row; argument: whether a warm-up follows
    calls,              ///< of the row, so many: all meet in between being ready and calling
    run_alongside,      ///< the row: calls, over and over, beside all-reduces while these go on
    make_chain,         ///< of a case
    drop_chain,
    step,  ///< of the chain, whole: all meet before
  };
  kind what = kind::end;
  std::int64_t index = 0;  ///< of the row or the chain in the suite
  std::int64_t argument = 0;
  double seconds = 0;
};

/// Seconds of an all-reduce of a bucket.
struct allreduce_times {
  double alone = 0;   ///< while all ranks do nothing else
  double beside = 0;  ///< while they compute: the mean of those that ended before that did
};

/// What this rank does together with others, beside what it does alone.
class background_collectives {
 public:
  background_collectives() = default;
  background_collectives(const background_collectives&) = delete;
  background_collectives& operator=(const background_collectives&) = delete;
  virtual ~background_collectives() = default;

  /// Has a call of a collective run until await_sent() returns, behind those before it. Meanwhile
  /// this rank does nothing else with the others.
  virtual void send(bound_plan& collective) = 0;
  virtual void wait_for_posted() = 0;
};

/// The ranks, as one of them sees them.
class communicator : public background_collectives {
 public:
  [[nodiscard]] virtual int size() const = 0;
  /// How many are on this machine.
  [[nodiscard]] virtual int ranks_on_host() const = 0;
  [[nodiscard]] virtual bool is_leader() const = 0;
  /// The leader's: tells the others.
  virtual void send(const command& next) = 0;
  /// The others': waits for what the leader says.
  [[nodiscard]] virtual command receive() = 0;
  /// Waits until all are here.
  virtual void barrier() = 0;
  /// Makes ready for all-reduces beside other work. Throws unsupported.
  virtual void prepare_background_allreduce() = 0;
  /// Beside what each does from now on, all ranks add up numbers, over and over; returns when they
  /// have done so alone. They do nothing else together meanwhile.
  virtual void begin_background_allreduce() = 0;
  /// Whether that goes on.
  [[nodiscard]] virtual bool background_allreduce_running() const = 0;
  /// Ends it, where this is the leader; the others wait until it has.
  virtual void end_background_allreduce() = 0;
  /// Of what went on last.
  [[nodiscard]] virtual allreduce_times allreduce_seconds() const = 0;
  /// Ends all ranks: this one cannot go on.
  [[noreturn]] virtual void abort_all(const std::string& why) = 0;
  /// The plan of a collective op between the ranks. Throws unsupported.
  [[nodiscard]] virtual std::unique_ptr<any_plan> plan(const op::any& op,
                                                       const plan_request& request) = 0;
};

/// Finds the other ranks.
using communicator_factory = std::function<std::unique_ptr<communicator>()>;

/// All ranks add up numbers while it lives.
class background_allreduce_scope {
 public:
  explicit background_allreduce_scope(communicator& all) : all_(all) {
    all_.begin_background_allreduce();
  }
  background_allreduce_scope(const background_allreduce_scope&) = delete;
  background_allreduce_scope& operator=(const background_allreduce_scope&) = delete;
  ~background_allreduce_scope() { all_.end_background_allreduce(); }

 private:
  communicator& all_;
};

/// What tells the others of a row or a chain, where there are any.
class command_sender {
 public:
  command_sender() = default;
  command_sender(communicator& with, std::size_t index)
      : with_(&with), index_(static_cast<std::int64_t>(index)) {}

  void send(command::kind what, std::int64_t argument = 0, double seconds = 0) const {
    if (with_ != nullptr) with_->send({what, index_, argument, seconds});
  }
  /// Tells the others, does `work` as they do, and waits for them. Where it fails here all ranks
  /// end: the others would wait for ever.
  template <class Work>
  void send_and_barrier(command::kind what, std::int64_t argument, Work&& work) const {
    send(what, argument);
    share(work);
    if (with_ != nullptr) with_->barrier();
  }
  /// Does `work` as the others do. Where it fails here all ranks end, likewise.
  template <class Work>
  void share(Work&& work) const {
    try {
      work();
    } catch (const std::exception& e) {
      if (with_ != nullptr) with_->abort_all(e.what());
      throw;
    }
  }
  /// Does `work` while all ranks add up numbers; the others make calls of the row meanwhile.
  template <class Work>
  auto run_overlapped(Work&& work) const {
    send(command::kind::run_alongside);
    const background_allreduce_scope all(*with_);
    return work();
  }
  /// How long that took them.
  [[nodiscard]] allreduce_times allreduce_seconds() const { return with_->allreduce_seconds(); }
  /// Whether there are others.
  [[nodiscard]] bool any() const { return with_ != nullptr; }

 private:
  communicator* with_ = nullptr;
  std::int64_t index_ = 0;
};

}  // namespace layerbench::run
