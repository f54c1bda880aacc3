// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <layerbench/cache_state/operand_ring.hpp>
#include <layerbench/ranks/communicator.hpp>
#include <layerbench/result/measurement.hpp>
#include <layerbench/session/verify.hpp>

namespace layerbench::run {

/// How rows are prepared.
struct preparation_options {
  std::uint64_t seed = 1;
  bool verify_every_output = false;
};

/// What a row measures.
struct row {
  result::row_name name;
  op::any op;
  std::int64_t count = 1;  ///< how often a step of the model runs it
  bool inserted = false;
  plan_request request = {};
  std::string signature;  ///< of the state; empty for hot
  /// The state as the backend lays the model out: asking may take plans of all its layers. Without
  /// it the row is hot.
  std::function<op_in_context()> around = {};
  reference::exact_value expected = {};  ///< what the plan is checked against
};

/// One row that can be measured: an op of a model on a backend, in one cache state.
class benchmark_case {
 public:
  benchmark_case(row what, std::shared_ptr<device_context> memory)
      : what_(std::move(what)), memory_(std::move(memory)) {}
  benchmark_case(const benchmark_case&) = delete;
  benchmark_case& operator=(const benchmark_case&) = delete;
  ~benchmark_case() = default;

  [[nodiscard]] const row& what() const { return what_; }
  [[nodiscard]] const result::row_name& name() const { return what_.name; }
  [[nodiscard]] compute_device& device() const { return memory_->device(); }
  [[nodiscard]] int threads() const { return device().threads(); }
  [[nodiscard]] bool contended() const { return name().configuration.contended(); }
  /// Whether others take part in its calls.
  [[nodiscard]] bool is_shared() const {
    return others_.any() && what_.op.name() == op::allreduce::name;
  }
  /// From now on `others` do all that this does.
  void lead(const command_sender& others) { others_ = others; }

  /// Builds the plan, verifies it and lays out its operands. Throws `unsupported`, wrong_result or
  /// the backend's own errors. Does nothing when prepared.
  void prepare(const preparation_options& how) {
    if (moves_) return;
    others_.send(command::kind::prepare);
    const op_in_context around = what_.around ? what_.around() : op_in_context{};
    plan_ = memory_->device().plan(what_.op, what_.request);
    verify(memory_->device(), *plan_, what_.expected, how.seed, how.verify_every_output);
    moves_.emplace(*memory_, *plan_, around, how.seed);
    footprint_ = around.footprint;
    share_ = around.share;
  }

  /// Frees what prepare() made.
  void release() {
    others_.send(command::kind::release);
    moves_.reset();
    plan_.reset();
  }

  /// The rest only once it is prepared. Operands in their state, and calls on them; before any, on
  /// this thread, activate().
  void activate() { memory_->device().activate(); }
  [[nodiscard]] operand_ring& calls() { return moves_.value(); }
  void set_step_seconds(double seconds) {
    others_.send(command::kind::pace, 0, seconds);
    calls().set_step_seconds(seconds);
  }
  void warm_shared_cache(bool warm_up_follows) {
    if (!contended()) others_.send(command::kind::warm_shared_cache, warm_up_follows ? 1 : 0);
    calls().warm_shared_cache(warm_up_follows);
  }
  /// Others begin their calls when all are ready.
  void set_up(std::int64_t some) {
    if (contended()) return calls().set_up(some);
    others_.send_and_barrier(command::kind::calls, some, [&] { calls().set_up(some); });
  }
  /// Does `work`, the row's settling, making ready and calling, while all ranks add up numbers: the
  /// way of contended rows. Others then do all that by themselves.
  template <class Work>
  auto run_overlapped(Work&& work) {
    return others_.run_overlapped(work);
  }
  /// How long these took them meanwhile.
  [[nodiscard]] allreduce_times allreduce_seconds() const { return others_.allreduce_seconds(); }
  void call(std::int64_t some) { calls().call(some); }
  [[nodiscard]] const any_plan& plan() const { return *plan_; }
  /// Of the model's step, all its calls of this row, roughly.
  [[nodiscard]] double share() const { return share_; }

  /// Fills in the counters that say what was timed and in which state.
  void describe(result::measurement& into) const {
    const plan_request& request = what_.request;
    const op::work work = what_.op.work(request.pass);
    auto& counters = into.counters;
    counters["count"] = static_cast<double>(what_.count);
    counters["flops"] = static_cast<double>(work.flops);
    counters["flops_exact"] = static_cast<double>(work.flops_exact);
    counters["bytes"] =
        static_cast<double>(op::least_bytes(what_.op.operands(request.pass, request.type)));
    const bool has_turns =
        device().timing() != timing_mode::graph;  // not one after the other there
    if (what_.name.cache == "model" && has_turns) counters["turn_s"] = moves_->turn_seconds();
    counters["ring_bytes"] = static_cast<double>(moves_->ring_bytes());
    counters["touched_bytes"] = static_cast<double>(moves_->touched_bytes());
    counters["displaced_bytes"] = static_cast<double>(moves_->evicted_bytes());
    counters["footprint_bytes"] = static_cast<double>(footprint_);
    counters["workspace_bytes"] = static_cast<double>(plan_->workspace_bytes());
    counters["verified"] = 1;  // prepare() throws otherwise
    for (const op::rate& rate : what_.op.rates()) {
      counters[std::string(rate.counter)] = rate.numerator / into.seconds;
    }
  }

 private:
  row what_;
  std::shared_ptr<device_context> memory_;
  std::unique_ptr<any_plan> plan_;
  std::optional<operand_ring> moves_;
  std::int64_t footprint_ = 0;
  double share_ = 0;
  command_sender others_;
};

}  // namespace layerbench::run
