// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include <layerbench/op/gemm.hpp>
#include <layerbench/session/device_graph_row.hpp>
#include <layerbench/session/measurer.hpp>
#include <layerbench/session/stopping_criterion.hpp>

#include "support/host_gpu.hpp"

/// Timing of rows on a device with graphs, on a stand-in for the CUDA run time. Its clock counts
/// the durations that a test gives to the work.
namespace layerbench::run {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using testing::gpu;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using calls_made = std::vector<gpu::call>;

/// Source and result take a page each, weights four.
const op::gemm product{.m = 16, .n = 64, .k = 64};
constexpr std::size_t page = 4096;

class GpuTiming : public testing::on_gpu {
 protected:
  GpuTiming() { device().set_timing(timing_mode::graph); }

  operand_ring turn(const op_in_context& how) {
    plan_ = device().plan(op::any(product), how.request);
    return {*memory_, *plan_, how, 1};
  }
  /// Of a model in which so many calls' bytes are touched between two uses of the weights; the
  /// source was written so many calls ago.
  operand_ring in_model(std::int64_t turns, std::int64_t ago = 0) {
    constexpr std::int64_t touched = 7 * page;  // with what the source is copied from
    return turn({.cache = cache_state::model,
                 .footprint = turns * touched,
                 .operands = {{.distance = ago * touched}}});
  }

  /// What one replay that is timed consists of.
  static calls_made replayed(device_graph_row& some, std::int64_t n) {
    some.set_up(n);
    gpu::calls.clear();
    some.call();
    return gpu::calls;
  }
  static lap timed(device_graph_row& some, std::int64_t n) {
    some.set_up(n);
    some.start();
    some.call();
    return some.stop().without(some.cost());
  }

  std::unique_ptr<any_plan> plan_;
};

result::measurement row_of_calls() {
  result::measurement row;
  row.calls = 1;
  return row;
}

TEST_F(GpuTiming, RecordsHotCallsOnTheSameOperands) {
  operand_ring hot = turn({});
  ASSERT_EQ(hot.most_calls(), 64);
  stopwatch watch = stopwatch_of(device());
  device_graph_row some(hot, device(), watch);
  const calls_made result = replayed(some, 10);
  ASSERT_THAT(result, SizeIs(10));
  for (const gpu::call& call : result) EXPECT_EQ(call.operands, result.front().operands);
  const int before = host_launches;
  for (int i = 0; i < 3; ++i) static_cast<void>(timed(some, 10));
  EXPECT_EQ(host_launches, before + 3) << "nothing comes before it";
}

TEST_F(GpuTiming, EnqueuesNoMoreCallsThanAStreamTakes) {
  device().set_timing(timing_mode::stream);
  EXPECT_EQ(turn({}).most_calls(), 400);
}

TEST_F(GpuTiming, RecordsColdCallsOnOtherOperandsEach) {
  operand_ring cold = turn({.cache = cache_state::cold});
  stopwatch watch = stopwatch_of(device());
  device_graph_row some(cold, device(), watch);
  ASSERT_EQ(cold.most_calls(), 64);
  const calls_made result = replayed(some, 64);
  std::set<address> results;
  for (const gpu::call& call : result) results.insert(call.operands[2]);
  EXPECT_THAT(results, SizeIs(64));
  gpu::calls.clear();
  some.set_up(64);
  ASSERT_THAT(gpu::calls, SizeIs(1));
  const std::size_t passed = gpu::calls.front().bytes + 64 * 6 * page;
  EXPECT_NEAR(static_cast<double>(passed), 4.0 * static_cast<double>(gpu::cache_bytes()),
              6.0 * page)
      << "as much as evicts all lies between two uses";
}

TEST_F(GpuTiming, WhatMakesACallReadyComesRightBeforeItAndDoesNotCount) {
  operand_ring turns = in_model(20);
  ASSERT_EQ(turns.slots(), 20);
  ASSERT_EQ(turns.most_calls(), 20);
  take(2e-6, 7e-6, 5e-6);
  stopwatch watch = stopwatch_of(device());
  device_graph_row some(turns, device(), watch);
  for (const std::int64_t n : {1, 8, 20}) {
    const calls_made result = replayed(some, n);
    ASSERT_THAT(result, SizeIs(2 * n));
    std::set<address> sources;
    for (std::size_t i = 0; i < result.size(); i += 2) {
      EXPECT_EQ(result[i].op, "copy");
      EXPECT_EQ(result[i + 1].op, "gemm");
      EXPECT_EQ(result[i].operands[0], result[i + 1].operands[0]);
      sources.insert(result[i].operands[0]);
    }
    EXPECT_THAT(sources, SizeIs(n));
    EXPECT_NEAR(timed(some, n).seconds, static_cast<double>(n) * 2e-6, 1e-10);
  }
  result::measurement row = row_of_calls();
  some.describe(row);
  EXPECT_NEAR(row.counters.at("ready_s"), 7e-6, 1e-10) << "of a call";
  EXPECT_FALSE(row.disturbed());
}

/// Bytes that were touched between the writing of each call's source and that call, in calls.
std::vector<double> ages(const calls_made& all, std::size_t first) {
  std::vector<double> found;
  for (std::size_t i = first; i < all.size(); ++i) {
    if (all[i].op != "gemm") continue;
    double passed = 0;
    std::size_t back = i;
    const auto writes = [&](const gpu::call& call) {
      return call.op == "copy" && call.operands[0] == all[i].operands[0];
    };
    while (back-- > 0 && !writes(all[back])) {
      if (all[back].op == "gemm") passed += 1;
      if (all[back].op == "fill") passed += static_cast<double>(all[back].bytes) / (7 * page);
    }
    found.push_back(passed);
  }
  return found;
}

TEST_F(GpuTiming, WhatIsWrittenAheadIsSoByTheSameBytesInEveryCall) {
  operand_ring turns = in_model(20, 5);
  stopwatch watch = stopwatch_of(device());
  device_graph_row some(turns, device(), watch);
  for (const std::int64_t n : {3, 8, 20}) {
    some.set_up(n);
    some.call();
    gpu::calls.clear();
    some.set_up(n);
    const std::size_t first = gpu::calls.size();
    some.call();
    EXPECT_THAT(ages(gpu::calls, first), AllOf(SizeIs(n), Each(::testing::DoubleNear(5, 0.01))))
        << n;
  }
}

TEST_F(GpuTiming, DifferencesThatDrownMarkTheRow) {
  for (const auto& [call, copy, marked] :
       {std::tuple{0.0, 1e-3, true}, {1e-5, 1e-3, true}, {1e-4, 1e-3, false}, {1e-6, 0.0, false}}) {
    operand_ring turns = in_model(20);
    take(call, copy);
    stopwatch watch = stopwatch_of(device());
    device_graph_row some(turns, device(), watch);
    EXPECT_GT(timed(some, 8).seconds, 0) << "never nothing";
    result::measurement row = row_of_calls();
    some.describe(row);
    EXPECT_EQ(row.disturbed(), marked) << call;
  }
}

TEST_F(GpuTiming, ARowThatCannotBeRecordedSaysSo) {
  operand_ring turns = in_model(20);
  stopwatch watch = stopwatch_of(device());
  device_graph_row some(turns, device(), watch);
  some.set_up(2);
  const int before = host_graphs;
  gpu::plans_wait = true;
  try {
    some.set_up(3);
    FAIL() << "it waits";
  } catch (const unsupported& e) {
    EXPECT_THAT(e.what(), AllOf(HasSubstr("cannot be recorded in a graph"),
                                HasSubstr("cudaStreamSynchronize"), HasSubstr("--timing=stream")));
  }
  EXPECT_FALSE(host_records) << "the stream is as it was";
  EXPECT_EQ(host_graphs, before);
  gpu::plans_wait = false;
  EXPECT_THAT(replayed(some, 3), SizeIs(6));
}

TEST_F(GpuTiming, RecordingsAreFreed) {
  const int before = host_graphs;
  {
    operand_ring turns = in_model(20, 5);
    stopwatch watch = stopwatch_of(device());
    device_graph_row some(turns, device(), watch);
    some.set_up(2);
    some.set_up(7);
    EXPECT_EQ(host_graphs, before + 3);
  }
  EXPECT_EQ(host_graphs, before);
}

/// A row, and what measures it.
class GpuMeasurementPass : public GpuTiming {
 protected:
  std::unique_ptr<benchmark_row> row_in(cache_state cache) const {
    row_spec what{
        .name = {{"gpu", "f32", "tiny", 1, {}}, "gemm", "fwd", "fc", std::string(name(cache))},
        .op = op::any(product),
        .signature = {},
        .make_context =
            [cache] {
              return op_in_context{
                  .cache = cache, .footprint = 20 * 7 * page, .operands = {{.distance = 0}}};
            },
        .expected = reference::exact_value_of(product, op::pass::fwd)};
    auto row = std::make_unique<benchmark_row>(std::move(what), memory_);
    row->prepare({});
    return row;
  }
  result::measurement measured(timing_mode how, cache_state cache) {
    device().set_timing(how);
    measurer passes(frequency_probe_of);
    return passes.time_row(*row_in(cache), {.min_time = stopping_limits{}.min_time});
  }
};

TEST_F(GpuMeasurementPass, TimesTheSameCallsInEachMode) {
  take(3e-6, 7e-6, 5e-6);
  for (const cache_state cache : {cache_state::hot, cache_state::model, cache_state::cold}) {
    for (const timing_mode how : {timing_mode::stream, timing_mode::graph}) {
      const int before = host_launches;
      const result::measurement row = measured(how, cache);
      EXPECT_NEAR(row.seconds, 3e-6, 1e-9) << name(how) << name(cache);
      EXPECT_NEAR(row.mean_seconds(), 3e-6, 1e-9);
      EXPECT_EQ(host_launches > before, how == timing_mode::graph);
      EXPECT_EQ(row.counters.contains("ready_s"),
                how == timing_mode::graph && cache == cache_state::model);
      EXPECT_FALSE(row.disturbed());
    }
  }
}

TEST_F(GpuMeasurementPass, IsAtASteadyClockOnlyWhereThatIsAskedFor) {
  take(3e-6, 7e-6, 5e-6);
  for (const timing_mode how : {timing_mode::stream, timing_mode::graph}) {
    device().set_timing(how);
    const std::unique_ptr<benchmark_row> row = row_in(cache_state::hot);
    measurer passes(frequency_probe_of);
    const auto pass = [&](bool steady) {
      gpu::tells = testing::rising_clock();
      return passes.time_row(*row,
                             {.min_time = stopping_limits{}.min_time, .steady_clocks = steady});
    };
    static_cast<void>(pass(false));  // the device is warm from here on
    EXPECT_TRUE(pass(false).disturbed()) << name(how) << ": its clock rises";
    const result::measurement steady = pass(true);
    EXPECT_FALSE(steady.disturbed()) << name(how);
    EXPECT_EQ(steady.counters.at("sm_mhz"), 1900) << name(how);
  }
}

TEST_F(GpuMeasurementPass, SingleCallsAreWaitedForByTheWallClock) {
  take(1, 1);  // by the GPU's clock, which does not count
  for (const cache_state cache : {cache_state::hot, cache_state::model}) {
    const result::measurement row = measured(timing_mode::single, cache);
    EXPECT_EQ(row.counters.at("calls_a_sample"), 1);
    EXPECT_LT(row.seconds, 0.1);
    EXPECT_GT(row.seconds, 1e-6);
  }
}

}  // namespace
}  // namespace layerbench::run
