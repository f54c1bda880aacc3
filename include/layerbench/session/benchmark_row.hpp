// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

#include <layerbench/cache_state/operand_ring.hpp>
#include <layerbench/result/measurement.hpp>
#include <layerbench/session/verify.hpp>

namespace layerbench::run {

/// How rows are prepared.
struct preparation_options {
  std::uint64_t seed = 1;
  bool verify_every_output = false;
};

/// What a row measures.
struct row_spec {
  result::row_name name;
  op::any op;
  std::int64_t count = 1;  ///< calls in a step of the model
  bool inserted = false;
  plan_request request = {};
  std::string signature;  ///< of the cache state; empty for hot
  /// Makes the op's context in the model, laid out as the backend does; this may take plans of all
  /// layers. Without it the cache state is hot.
  std::function<op_in_context()> make_context = {};
  /// Verification checks the outputs of the plan of `op.verified_as()` against it.
  reference::exact_value expected = {};
};

/// One row that can be measured: an op of a model on a backend, in one cache state. Virtual
/// functions are for rows that several ranks execute together (ranks/data_parallel.hpp).
class benchmark_row {
 public:
  benchmark_row(row_spec what, std::shared_ptr<device_context> memory)
      : spec_(std::move(what)), memory_(std::move(memory)) {}
  benchmark_row(const benchmark_row&) = delete;
  benchmark_row(benchmark_row&&) = default;
  benchmark_row& operator=(const benchmark_row&) = delete;
  benchmark_row& operator=(benchmark_row&&) = delete;
  virtual ~benchmark_row() = default;

  [[nodiscard]] const row_spec& spec() const { return spec_; }
  [[nodiscard]] const result::row_name& name() const { return spec_.name; }
  [[nodiscard]] compute_device& device() const { return memory_->device(); }
  [[nodiscard]] int threads() const { return device().threads(); }

  /// Builds the plan, verifies it and lays out its operands. Does nothing if the row is prepared.
  /// Throws `unsupported`, wrong_result or the backend's own errors.
  virtual void prepare(const preparation_options& options) {
    if (prepared()) return;
    const op_in_context context = spec_.make_context ? spec_.make_context() : op_in_context{};
    plan_ = device().plan(spec_.op, spec_.request);
    is_suspect_ = true;
    memory_->verify_once<wrong_result>(verified_work(options), [&] { verify_plan(options); });
    is_suspect_ = false;
    ring_.emplace(*memory_, *plan_, context, options.seed);
    footprint_ = context.footprint;
    share_ = context.share;
  }
  [[nodiscard]] bool prepared() const { return ring_.has_value(); }

  /// Whether an error of the latest prepare() came while its own plan was verified, and nothing
  /// else ran: later ones may come from setup ops.
  [[nodiscard]] bool is_suspect() const { return is_suspect_; }
  /// The algorithm of the latest prepare(); empty if it found none.
  [[nodiscard]] std::string algorithm() const { return plan_ ? plan_->algorithm() : ""; }
  /// Never uses the plan of the latest prepare() again. Returns whether the next prepare() takes
  /// another one.
  [[nodiscard]] bool reject_plan(const std::string& why) {
    if (!plan_) return false;
    const std::string algorithm = plan_->algorithm();
    ring_.reset();
    plan_.reset();
    return device().reject(spec_.op, spec_.request, algorithm, why);
  }
  /// Frees what prepare() allocated.
  virtual void release() {
    ring_.reset();
    plan_.reset();
  }

  // The functions below need a prepared row. activate() comes before all calls on this thread.

  void activate() { device().activate(); }
  [[nodiscard]] operand_ring& calls() { return ring_.value(); }
  virtual void set_step_seconds(double seconds) { calls().set_step_seconds(seconds); }
  virtual void warm_shared_cache(bool warm_up_follows) {
    calls().warm_shared_cache(warm_up_follows);
  }
  virtual void set_up(std::int64_t count) { calls().set_up(count); }
  void call(std::int64_t count) { calls().call(count); }
  /// In place of call(): leaves the calls out.
  void skip(std::int64_t count) { calls().skip(count); }
  [[nodiscard]] const any_plan& plan() const { return *plan_; }
  /// The row's share of the time of a step, estimated from its cost.
  [[nodiscard]] double share() const { return share_; }

  /// Whether each call waits for other ranks.
  [[nodiscard]] virtual bool communicates() const { return false; }
  /// Whether the row is meant to share the processors with other work: run_contended() runs both.
  [[nodiscard]] virtual bool contended() const { return false; }
  /// Runs `pass`, which samples a contended row, beside the other work.
  virtual void run_contended(const std::function<void()>& pass) { pass(); }
  /// Seconds that a pass of this row takes at least, whatever the options say.
  [[nodiscard]] virtual double min_pass_seconds() const { return 0; }

  /// Adds the counters that describe what was timed, and in which cache state.
  virtual void describe(result::measurement& row) const {
    const plan_request& request = spec_.request;
    const op::work work = spec_.op.work(request.pass);
    auto& counters = row.counters;
    counters["count"] = static_cast<double>(spec_.count);
    counters["flops"] = static_cast<double>(work.flops);
    counters["flops_exact"] = static_cast<double>(work.flops_exact);
    counters["bytes"] =
        static_cast<double>(op::least_bytes(spec_.op.operands(request.pass, request.type)));
    const peak_rates peaks = device().peaks(spec_.op.own_type().value_or(request.type));
    const bool sends = !spec_.op.rates().empty();  // peaks are of a device alone
    const auto add_share = [&](const char* share, const char* of, double peak) {
      if (peak > 0 && !sends) counters[share] = counters[of] / (row.mean_seconds() * peak);
    };
    add_share("flops_of_peak", "flops_exact", peaks.flops);
    add_share("bytes_of_peak", "bytes", peaks.bytes);
    // The calls of a graph follow each other at once, so a turn of the ring has no pace.
    const bool paced = device().timing() != timing_mode::graph;
    if (spec_.name.cache == "model" && paced) counters["turn_s"] = ring_->turn_seconds();
    counters["ring_bytes"] = static_cast<double>(ring_->ring_bytes());
    counters["touched_bytes"] = static_cast<double>(ring_->setup_bytes());
    counters["displaced_bytes"] = static_cast<double>(ring_->evicted_bytes());
    counters["footprint_bytes"] = static_cast<double>(footprint_);
    counters["workspace_bytes"] = static_cast<double>(plan_->workspace_bytes());
    counters["verified"] = 1;  // prepare() throws otherwise
    for (const op::rate& rate : spec_.op.rates()) {
      counters[std::string(rate.counter)] = rate.numerator / row.seconds;
    }
  }

 private:
  /// What verification depends on: rows that differ in their cache state alone share it.
  [[nodiscard]] std::string verified_work(const preparation_options& options) const {
    const plan_request& request = spec_.request;
    return fmt::format("{} {} {} {} {} {} {} {}", spec_.op.name(), spec_.op.key(),
                       op::name(request.pass), layerbench::name(request.type),
                       layerbench::name(request.layout), plan_->algorithm(), options.seed,
                       options.verify_every_output);
  }

  void verify_plan(const preparation_options& options) {
    const op::any verified = spec_.op.verified_as();
    const bool smaller = verified.key() != spec_.op.key();
    const auto plan_of_smaller = smaller ? device().plan(verified, spec_.request) : nullptr;
    verify(device(), smaller ? *plan_of_smaller : *plan_, spec_.expected, options.seed,
           options.verify_every_output);
  }

  row_spec spec_;
  std::shared_ptr<device_context> memory_;
  std::unique_ptr<any_plan> plan_;
  std::optional<operand_ring> ring_;
  std::int64_t footprint_ = 0;
  double share_ = 0;
  bool is_suspect_ = false;
};

}  // namespace layerbench::run
