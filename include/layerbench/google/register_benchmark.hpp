// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <layerbench/backend/adapter.hpp>
#include <layerbench/backend/oracle.hpp>
#include <layerbench/backend/reference/all_plans.hpp>
#include <layerbench/base/error.hpp>
#include <layerbench/cache_state/device_context.hpp>
#include <layerbench/cache_state/op_in_context.hpp>
#include <layerbench/cache_state/state.hpp>
#include <layerbench/machine/telemetry.hpp>
#include <layerbench/result/measurement.hpp>
#include <layerbench/session/benchmark_row.hpp>
#include <layerbench/shape/record_json.hpp>
#include <layerbench/timing/clock.hpp>
#include <layerbench/timing/measurement_pass.hpp>
#include <layerbench/timing/sampler.hpp>

/// An op on a library as a benchmark of somebody else's Google Benchmark program.
namespace layerbench::google {

/// What a row of register_benchmark() measures.
struct row_options {
  op::pass pass = op::pass::fwd;
  dtype type = dtype::f32;
  layerbench::layout layout = layerbench::layout::nhwc;  ///< of activations
  run::cache_state cache = run::cache_state::hot;        ///< or cold; `model` needs a model
  int threads = 0;                                       ///< 0: one per processor
  std::uint64_t seed = 1;                                ///< of the test data
  bool verify_every_output = false;
};

namespace detail {

/// The device with that many threads. Rows of this op and backend share it while one of them
/// exists, so that their operands lie in the same memory.
template <backend B, op::operation Op>
[[nodiscard]] std::shared_ptr<run::device_context> shared_device(int threads) {
  static std::map<int, std::weak_ptr<run::device_context>> devices;
  std::weak_ptr<run::device_context>& known = devices[threads];
  std::shared_ptr<run::device_context> device = known.lock();
  if (!device) {
    device = std::make_shared<run::device_context>(
        std::make_unique<run::backend_device<B, Op>>(threads));
    known = device;
  }
  return device;
}

/// Restores the number of threads that the caller's own parallel code uses: a backend sets it for
/// its calls.
class thread_count_guard {
 public:
  explicit thread_count_guard(const run::backend_entry& of) : of_(of) {}
  thread_count_guard(const thread_count_guard&) = delete;
  thread_count_guard& operator=(const thread_count_guard&) = delete;
  ~thread_count_guard() {
    if (of_.set_max_threads != nullptr) of_.set_max_threads(before_);
  }

 private:
  run::backend_entry of_;
  int before_ = of_.max_threads == nullptr ? 0 : of_.max_threads();
};

/// Returns `op` with all sizes checked as those of shape files are. Throws bad_input.
template <op::operation Op>
[[nodiscard]] Op checked_op(const Op& op) {
  const json::value fields = json::write_record(op);
  return json::read_record<Op>(json::cursor(fields, std::string(Op::name)), {});
}

/// Calls `release` at the end of the program, before what existed by now ends: Google Benchmark
/// keeps its benchmarks for longer than the libraries of a GPU. Handlers run in reverse order.
inline void release_at_exit(std::function<void()> release) {
  static std::vector<std::function<void()>> all;
  all.push_back(std::move(release));
  std::atexit([] {
    all.back()();
    all.pop_back();
  });
}

/// An op on backend `B`, and what measures it: prepared when it first runs, since a program may be
/// asked to list its benchmarks only.
template <backend B, op::operation Op>
class op_benchmark : public std::enable_shared_from_this<op_benchmark<B, Op>> {
 public:
  op_benchmark(Op op, const row_options& how) : op_(std::move(op)), how_(how) {}

  /// Measures calls for as long as `state` asks for. What fails is an error of the row.
  void run(benchmark::State& state) {
    const thread_count_guard guard(B::entry());
    try {
      if (state.threads() > 1) {
        throw usage_error("calls share their operands; use row_options::threads, not Threads()");
      }
      if (!row_) prepare();
      report(measured(state), state);
    } catch (const std::exception& e) {
      state.SkipWithError(e.what());
    }
  }

 private:
  void prepare() {
    if (how_.cache == run::cache_state::model) {
      throw usage_error(
          "cache:model needs a model, which bench_model --model=FILE measures; use hot or cold");
    }
    if (const auto reason = B::entry().probe()) {
      throw unavailable(fmt::format("{} cannot run here: {}", B::name, *reason));
    }
    const Op op = checked_op(op_);
    const plan_request request{how_.pass, how_.type, how_.layout};
    run::row_spec what{.name = {}, .op = op::any(op), .request = request, .signature = {}};
    what.name.cache = name(how_.cache);
    what.make_context = [request, cache = how_.cache] {
      return run::op_in_context{.request = request, .cache = cache};
    };
    if (what.op.has(how_.pass)) {  // other passes are refused with the plan
      what.expected = reference::exact_value_of(op::verified_as(op), how_.pass);
    }
    const int threads = how_.threads > 0 ? how_.threads : B::entry().processors();
    auto result =
        std::make_unique<run::benchmark_row>(std::move(what), shared_device<B, Op>(threads));
    result->prepare({.seed = how_.seed, .verify_every_output = how_.verify_every_output});
    result->activate();
    run::warm_up(result->device(), [&] {
      const std::int64_t calls = std::min<std::int64_t>(result->calls().most_calls(), 64);
      result->set_up(calls);
      result->call(calls);
      result->device().synchronize();
    });
    watch_.emplace(run::stopwatch_of(result->device()));
    row_ = std::move(result);
    release_at_exit([self = this->weak_from_this()] {
      const auto row = self.lock();
      if (!row) return;
      row->watch_.reset();
      row->row_.reset();
    });
  }

  /// Times as many calls as Google Benchmark wants, in batches that are long for the clock.
  [[nodiscard]] result::measurement measured(benchmark::State& state) {
    run::benchmark_row& calls = *row_;
    calls.activate();
    calls.warm_shared_cache(/*warm_up_follows=*/true);
    const auto set_up = [&](std::int64_t n) { calls.set_up(n); };
    const auto call = [&](std::int64_t n) { calls.call(n); };
    const std::int64_t wanted = run::calls_per_sample_after_warm_up(
        *watch_, set_up, call, {.most_calls = calls.calls().most_calls()});
    // Once: Google Benchmark aborts where its repetitions differ in their number of calls.
    if (calls_per_sample_ == 0) calls_per_sample_ = wanted;
    run::samples taken;
    taken.calls_per_sample = calls_per_sample_;
    const auto batch = static_cast<benchmark::IterationCount>(taken.calls_per_sample);
    // Google Benchmark's own clocks stand still meanwhile, so that its CPU time is of calls alone.
    run::telemetry_watch telemetry(calls.device());
    const auto set_up_aside = [&](std::int64_t n) {
      state.PauseTiming();
      telemetry.look();
      set_up(n);
      state.ResumeTiming();
    };
    result::measurement timed;
    run::measure_pass(
        calls.threads(), *watch_,
        [&] {
          while (state.KeepRunningBatch(batch)) {
            const run::lap lap = run::lap_of(*watch_, set_up_aside, call, taken.calls_per_sample)
                                     .without(watch_->cost());
            state.SetIterationTime(lap.seconds);
            taken.add(lap);
          }
          return std::move(taken);
        },
        timed);
    telemetry.add_to(timed);
    calls.describe(timed);
    return timed;
  }

  void report(const result::measurement& timed, benchmark::State& state) const {
    const run::row_spec& what = row_->spec();
    state.SetLabel(
        result::label{what.op.key(), row_->plan().algorithm(), what.signature, false}.text());
    const auto add = [&](const std::string& counter, double value, benchmark::Counter::Flags how) {
      // Without what JSON has no numbers for. Without zeros: of several repetitions Google
      // Benchmark would write their coefficient of variation, which is no number before
      // version 1.9.
      if (value != 0 && std::isfinite(value)) state.counters[counter] = {value, how};
    };
    for (const auto& [counter, value] : timed.counters) {
      const bool of_step = counter == "count" || counter == "footprint_bytes";  // there is none
      if (!of_step) add(counter, value, benchmark::Counter::kDefaults);
    }
    add("median_s", timed.seconds, benchmark::Counter::kDefaults);
    constexpr auto rate = benchmark::Counter::kIsIterationInvariantRate;
    add("flops_per_second", timed.counters.at("flops_exact"), rate);
    add("bytes_per_second", timed.counters.at("bytes"), rate);
  }

  Op op_;
  row_options how_;
  std::unique_ptr<run::benchmark_row> row_;
  std::optional<run::stopwatch> watch_;
  std::int64_t calls_per_sample_ = 0;
};

}  // namespace detail

/// Registers calls of `op` on backend `B` as the benchmark `name` of Google Benchmark, which runs
/// and reports it beside all others of the program. Include `layerbench/backend/<B>/all_plans.hpp`
/// as well.
///
/// Each call finds its operands in the caches as `how` says. The plan is verified against the
/// reference formula when the benchmark first runs. What is wrong or unsupported is an error of the
/// row: this function throws nothing. Times are those that the stopwatch of the project's own rows
/// takes (`/manual_time`); the counters have the same names. Returns the benchmark, for such
/// settings as `->Unit(benchmark::kMicrosecond)`.
template <backend B, op::operation Op>
auto* register_benchmark(const std::string& name, Op op, const row_options& how = {}) {
  const auto row = std::make_shared<detail::op_benchmark<B, Op>>(std::move(op), how);
  auto* registered = benchmark::RegisterBenchmark(
      name.c_str(), [row](benchmark::State& state) { row->run(state); });
  return registered->UseManualTime();
}

}  // namespace layerbench::google
