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

#include <layerbench/run/device.hpp>

/// Several ranks that train together: processes that do the same at the same time, as one of them
/// says.
namespace layerbench::run {

/// What all ranks do next. The leader does it, too, and decides with its own clock.
struct deed {
  enum class kind : std::int64_t {
    end,         ///< nothing more
    prepare,     ///< a row: see fixture
    release,     ///< the row
    pace,        ///< of the row: see rotation::set_step_seconds
    settle,      ///< the row; argument: whether a warm-up follows
    calls,       ///< of the row, so many: all meet in between being ready and calling
    accompany,   ///< the row: calls, over and over, beside all-reduces while these go on
    make_chain,  ///< of a case
    drop_chain,
    step,  ///< of the chain, whole: all meet before
  };
  kind what = kind::end;
  std::int64_t index = 0;  ///< of the row or the chain in the suite
  std::int64_t argument = 0;
  double seconds = 0;
};

/// Seconds of an all-reduce of a bucket.
struct reduction_times {
  double alone = 0;   ///< while all ranks do nothing else
  double beside = 0;  ///< while they compute: the mean of those that ended before that did
};

/// What this rank does together with others, beside what it does alone.
class channel {
 public:
  channel() = default;
  channel(const channel&) = delete;
  channel& operator=(const channel&) = delete;
  virtual ~channel() = default;

  /// Has a call of a collective run until await_sent() returns, behind those before it. Meanwhile
  /// this rank does nothing else with the others.
  virtual void send(bound_plan& collective) = 0;
  virtual void await_sent() = 0;
};

/// The ranks, as one of them sees them.
class company : public channel {
 public:
  [[nodiscard]] virtual int size() const = 0;
  /// How many are on this machine.
  [[nodiscard]] virtual int neighbours() const = 0;
  [[nodiscard]] virtual bool leads() const = 0;
  /// The leader's: tells the others.
  virtual void tell(const deed& next) = 0;
  /// The others': waits for what the leader says.
  [[nodiscard]] virtual deed hear() = 0;
  /// Waits until all are here.
  virtual void meet() = 0;
  /// Makes ready for all-reduces beside other work. Throws unsupported.
  virtual void prepare_to_reduce() = 0;
  /// Beside what each does from now on, all ranks add up numbers, over and over; returns when they
  /// have done so alone. They do nothing else together meanwhile.
  virtual void begin_reducing() = 0;
  /// Whether that goes on.
  [[nodiscard]] virtual bool reducing() const = 0;
  /// Ends it, where this is the leader; the others wait until it has.
  virtual void end_reducing() = 0;
  /// Of what went on last.
  [[nodiscard]] virtual reduction_times reductions() const = 0;
  /// Ends all ranks: this one cannot go on.
  [[noreturn]] virtual void abandon(const std::string& why) = 0;
  /// The plan of a collective op between the ranks. Throws unsupported.
  [[nodiscard]] virtual std::unique_ptr<any_plan> plan(const op::any& op,
                                                       const plan_request& request) = 0;
};

/// Finds the other ranks.
using company_maker = std::function<std::unique_ptr<company>()>;

/// All ranks add up numbers while it lives.
class reduction_beside {
 public:
  explicit reduction_beside(company& all) : all_(all) { all_.begin_reducing(); }
  reduction_beside(const reduction_beside&) = delete;
  reduction_beside& operator=(const reduction_beside&) = delete;
  ~reduction_beside() { all_.end_reducing(); }

 private:
  company& all_;
};

/// What tells the others of a row or a chain, where there are any.
class herald {
 public:
  herald() = default;
  herald(company& with, std::size_t index)
      : with_(&with), index_(static_cast<std::int64_t>(index)) {}

  void tell(deed::kind what, std::int64_t argument = 0, double seconds = 0) const {
    if (with_ != nullptr) with_->tell({what, index_, argument, seconds});
  }
  /// Tells the others, does `work` as they do, and waits for them. Where it fails here all ranks
  /// end: the others would wait for ever.
  template <class Work>
  void tell_and_meet(deed::kind what, std::int64_t argument, Work&& work) const {
    tell(what, argument);
    share(work);
    if (with_ != nullptr) with_->meet();
  }
  /// Does `work` as the others do. Where it fails here all ranks end, likewise.
  template <class Work>
  void share(Work&& work) const {
    try {
      work();
    } catch (const std::exception& slip) {
      if (with_ != nullptr) with_->abandon(slip.what());
      throw;
    }
  }
  /// Does `work` while all ranks add up numbers; the others make calls of the row meanwhile.
  template <class Work>
  auto contend(Work&& work) const {
    tell(deed::kind::accompany);
    const reduction_beside all(*with_);
    return work();
  }
  /// How long that took them.
  [[nodiscard]] reduction_times reductions() const { return with_->reductions(); }
  /// Whether there are others.
  [[nodiscard]] bool any() const { return with_ != nullptr; }

 private:
  company* with_ = nullptr;
  std::int64_t index_ = 0;
};

}  // namespace layerbench::run
