// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>

#include <layerbench/machine/energy_counter.hpp>
#include <layerbench/machine/telemetry.hpp>
#include <layerbench/model/find.hpp>
#include <layerbench/model/shape_file.hpp>
#include <layerbench/model/training.hpp>
#include <layerbench/op/list.hpp>
#include <layerbench/session/measurer.hpp>
#include <layerbench/session/planned_step.hpp>
#include <layerbench/session/stopping_criterion.hpp>
#include <layerbench/session/suite.hpp>

#include "support/host_gpu.hpp"

/// Chains, row names and telemetry of a device with graphs, on a stand-in for the CUDA run time.
namespace layerbench::run {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::EndsWith;
using testing::gpu;
using ::testing::HasSubstr;
using ::testing::Not;

/// A small net, and what becomes of it in so many steps.
class GpuChain : public testing::on_gpu {
 protected:
  struct outcome {
    std::vector<std::vector<float>> results;  ///< of each step
    std::vector<std::vector<std::string>> ops;
    int launches;
  };

  outcome steps(timing_mode how, const std::string& phase) {
    device().set_timing(how);
    const model::graph lenet = model::load(model::find("lenet5", LAYERBENCH_SHAPES_DIR), 1);
    const plan_request request{.layout = layout::nchw};
    const planned_step planned(model::step_of(lenet, phase, dtype::f32, {}, {}), request, memory_);
    const std::unique_ptr<chain> whole = planned.make_chain(3);
    const int before = host_launches;
    outcome result{};
    for (int i = 0; i < 4; ++i) {
      whole->set_up();
      gpu::calls.clear();
      whole->run(0, whole->layers());
      whole->device().synchronize();
      for (auto& ops = result.ops.emplace_back(); const gpu::call& call : gpu::calls) {
        ops.emplace_back(call.op);
      }
      result.results.push_back(whole->read(planned.step().calls.back().tensors.back()));
    }
    result.launches = host_launches - before;
    return result;
  }
};

TEST_F(GpuChain, AsAGraphComputesTheSameInTheSameOrder) {
  for (const std::string phase : {"inference", "training"}) {
    const outcome stream = steps(timing_mode::stream, phase);
    const outcome graph = steps(timing_mode::graph, phase);
    const outcome single = steps(timing_mode::single, phase);
    EXPECT_EQ(stream.launches, 0);
    EXPECT_EQ(single.launches, 0);
    EXPECT_EQ(graph.launches, 3) << "all steps but the first, each at once";
    for (const outcome* item : {&graph, &single}) {
      EXPECT_EQ(item->results, stream.results) << phase;
      EXPECT_EQ(item->ops, stream.ops) << phase;
    }
    EXPECT_NE(stream.results[0], stream.results[1]) << "of fresh inputs";
  }
}

TEST_F(GpuChain, IsMeasuredAsAWholeAndWithClocksInTheStream) {
  take(1e-6, 0);
  device().set_timing(timing_mode::graph);
  const model::graph lenet = model::load(model::find("lenet5", LAYERBENCH_SHAPES_DIR), 1);
  const planned_step planned(model::step_of(lenet, "inference", dtype::f32, {}, {}),
                             {.layout = layout::nchw}, memory_);
  const std::unique_ptr<chain> whole = planned.make_chain(3);
  const pass_limits limits{.min_time = stopping_criterion({}).chain_pass_time()};
  layer_clocks clocks;
  measurer passes(frequency_probe_of);
  const auto layers = static_cast<double>(whole->layers());
  EXPECT_NEAR(passes.time_chain(*whole, limits).mean_seconds(), layers * 1e-6, 1e-9);
  EXPECT_GT(host_launches, 0);
  passes.time_layers(*whole, clocks, limits);
  EXPECT_NEAR(clocks.seconds({0}).value(), 1e-6, 1e-9);
  for (const bool steady : {false, true}) {
    gpu::tells = testing::rising_clock();
    pass_limits again = limits;
    again.steady_clocks = steady;
    EXPECT_NE(passes.time_chain(*whole, again).disturbed(), steady)
        << "work precedes it until its clock is steady";
  }
}

/// Rows of a program that measures on these backends.
std::vector<std::string> names_of(const std::string& timing, const std::string& phase,
                                  std::vector<std::string> backends = {"gpu", "reference"},
                                  const program& what = {"bench_test", "", {}}) {
  options o;
  o.models = {"lenet5"};
  o.shapes = LAYERBENCH_SHAPES_DIR;
  o.threads = {1};
  o.backends = std::move(backends);
  o.timing = timing;
  o.phase = phase;
  o.list = true;
  const registry known = registry_of<gpu, reference::backend>(op::builtin{});
  const suite all = make_suite(o, what, known);
  std::vector<std::string> names;
  for (const auto& item : all.rows) names.push_back(item->name().text());
  for (const chain_spec& chain : all.chains) names.push_back(chain.model_case.text());
  for (const auto& [model_case, step] : all.manifest) names.push_back(model_case.text());
  return names;
}

TEST(GpuNames, ShowAnUnusualTiming) {
  const auto shows = [](const std::string& timing) { return HasSubstr("/timing:" + timing); };
  const auto plain = names_of("", "inference");
  EXPECT_THAT(plain, AllOf(::testing::Contains(HasSubstr("/gpu/")), Each(Not(shows("")))));
  EXPECT_EQ(names_of("graph", "inference"), plain);
  EXPECT_THAT(names_of("stream", "inference", {"gpu"}), Each(EndsWith("/timing:stream")));
  EXPECT_THAT(names_of("single", "inference", {"gpu"}), Each(EndsWith("/timing:single")));
  EXPECT_THAT(names_of("", "training"), Each(Not(shows(""))));
  EXPECT_THAT(names_of("graph", "training"), Each(Not(shows(""))));
  EXPECT_THAT(names_of("stream", "training", {"gpu"}), Each(shows("stream")));
  for (const std::string& name : names_of("single", "inference")) {
    EXPECT_EQ(name.find("/timing:single") != std::string::npos,
              name.find("/gpu/") != std::string::npos)
        << name;
  }
}

TEST(GpuNames, OfATimingThatNobodyHasAreRefused) {
  EXPECT_THROW(names_of("stream", "inference", {"reference"}), usage_error);
  EXPECT_THROW(names_of("graph", "inference", {"reference"}), usage_error);
  EXPECT_NO_THROW(names_of("", "inference", {"reference"}));
}

/// A clock that moves on by a tenth of a second each time that it is read or work runs.
struct slow_time {
  double now = 0;
  int worked = 0;
  std::vector<double> clocks;  ///< that the device tells, one after the other; the last stays
  std::vector<double> powers = {300};  ///< alike

  double run(compute_device& device) {
    gpu::tells = [this, i = std::size_t{0}]() mutable {
      const auto value = [&](const std::vector<double>& of) {
        return of[std::min(i, of.size() - 1)];
      };
      const std::map<std::string, double> told{{"sm_mhz", value(clocks)},
                                               {"power_w", value(powers)}};
      ++i;
      return told;
    };
    warm_up(
        device,
        [this] {
          now += 0.05;
          ++worked;
        },
        [this] { return now; });
    return now;
  }
};

using GpuClock = testing::on_gpu;

TEST_F(GpuClock, WarmsUpUntilTheClockIsSteady) {
  slow_time rises{.clocks = {345, 1200, 1700, 1755, 1980, 1975, 1400}};
  EXPECT_NEAR(rises.run(device()), 1.0, 0.06) << "345 is before any work";
  slow_time at_once{.clocks = {1980}};
  EXPECT_NEAR(at_once.run(device()), 0.4, 0.06) << "after two looks";
  slow_time heavier{.clocks = {1980}, .powers = {90, 200, 350, 500, 690, 700}};
  EXPECT_NEAR(heavier.run(device()), 1.0, 0.06) << "until the power is steady, too";
  slow_time sinks{.clocks = {}};
  for (int i = 0; i < 100; ++i) sinks.clocks.push_back(2000 * std::pow(0.9, i));
  EXPECT_NEAR(sinks.run(device()), 3, 0.25) << "never";
  gpu::tells = [] { return std::map<std::string, double>{{"power_w", 300}}; };
  int worked = 0;
  warm_up(device(), [&] { ++worked; });
  EXPECT_EQ(worked, 0) << "it does not say";
}

TEST_F(GpuClock, IsReadDuringAPassToo) {
  int readings = 0;
  double now = 0;
  bool tells = true;
  gpu::tells = [&] {
    ++readings;
    now += 0.002;
    using counters = std::map<std::string, double>;
    return tells ? counters{{"throttled", readings == 2 ? 1 : 0}} : counters{};
  };
  const auto looks = [&](telemetry_watch& watch, double seconds) {
    for (const double end = now + seconds; now < end; now += 0.001) watch.look();
  };
  telemetry_watch watch(device(), [&] { return now; });
  looks(watch, 0.039);
  EXPECT_EQ(readings, 1) << "20 times as long as a reading took";
  looks(watch, 0.125);
  EXPECT_EQ(readings, 4);
  result::measurement row;
  watch.add_to(row);
  EXPECT_EQ(row.counters.at("throttled"), 1);
  EXPECT_EQ(row.counters.at("throttled_share"), 0.2);
  tells = false;
  readings = 0;
  telemetry_watch silent(device(), [&] { return now; });
  looks(silent, 1);
  EXPECT_EQ(readings, 1) << "it does not say anything";
}

TEST_F(GpuClock, HasAnEnergyWhereItTellsOne) {
  double joules = 1000;
  gpu::tells = [&] { return std::map<std::string, double>{{"energy_j", joules += 5}}; };
  const auto counter = gpu_energy(device());
  EXPECT_EQ(counter->source().text(), "GPU's counter (whole GPU)");
  counter->start();
  joules += 100;
  EXPECT_DOUBLE_EQ(counter->stop(), 105);
  gpu::tells = [] { return std::map<std::string, double>{{"sm_mhz", 1900}}; };
  try {
    static_cast<void>(gpu_energy(device()));
    FAIL() << "a slice of a GPU";
  } catch (const unavailable& e) {
    EXPECT_THAT(e.what(), AllOf(HasSubstr("NVML"), HasSubstr("--meter")));
  }
}

TEST(Telemetry, GivesTheRowWhatItSaysBeforeDuringAndAfter) {
  result::measurement row;
  row.seconds = 0.002;
  add_telemetry(
      {{{{"sm_mhz", 1900}, {"energy_j", 100}, {"throttled", 0}, {"throttle_reasons", 1}}, 10},
       {{{"sm_mhz", 1920}, {"energy_j", 170}, {"throttled", 0}, {"throttle_reasons", 0}}, 10.2},
       {{{"sm_mhz", 1910}, {"energy_j", 190}, {"throttled", 0}, {"throttle_reasons", 0}}, 10.3},
       {{{"sm_mhz", 1910}, {"energy_j", 250}, {"throttled", 1}, {"throttle_reasons", 4}}, 10.5}},
      row);
  EXPECT_EQ(row.counters.at("sm_mhz"), 1910);
  EXPECT_EQ(row.counters.at("throttled"), 1);
  EXPECT_EQ(row.counters.at("throttled_share"), 0.25);
  EXPECT_EQ(row.counters.at("throttle_reasons"), 5) << "all bits";
  EXPECT_NEAR(row.counters.at("energy_j"), 300 * 0.002, 1e-12) << "at 300 W";
  EXPECT_FALSE(row.disturbed());
  result::measurement other;
  other.seconds = 0.002;
  add_telemetry({{{{"sm_mhz", 1900}, {"energy_j", 100}}, 10},
                 {{{"sm_mhz", 1800}}, 10.02},
                 {{{"sm_mhz", 1900}, {"energy_j", 101}}, 10.05}},
                other);
  EXPECT_FALSE(other.counters.contains("energy_j")) << "too short";
  EXPECT_TRUE(other.disturbed()) << "its clock moved in between";
}

TEST(Telemetry, OfThePowerCapIsNoDisturbance) {
  const auto row = [](std::map<std::string, double> before, std::map<std::string, double> after) {
    result::measurement result;
    before["sm_mhz"] = 1980;
    after["sm_mhz"] = 1700;
    add_telemetry({{std::move(before), 10}, {std::move(after), 10.05}}, result);
    return result;
  };
  const auto by_reason = row({{"at_power_cap", 0}}, {{"at_power_cap", 1}});
  EXPECT_TRUE(by_reason.power_capped());
  EXPECT_FALSE(by_reason.counters.contains("at_power_cap")) << "no counter of its own";
  EXPECT_FALSE(by_reason.disturbed());
  const auto by_time = row({{"at_power_cap", 0}, {"power_capped", 7.5}},
                           {{"at_power_cap", 0}, {"power_capped", 7.51}});
  EXPECT_EQ(by_time.counters.at("power_capped"), 1) << "between the readings";
  EXPECT_FALSE(by_time.disturbed());
  const auto too_hot = row({{"at_power_cap", 0}, {"power_capped", 7.5}},
                           {{"at_power_cap", 0}, {"power_capped", 7.5}});
  EXPECT_EQ(too_hot.counters.at("power_capped"), 0);
  EXPECT_TRUE(too_hot.disturbed());
  const auto of_memory =
      row({{"at_power_cap", 1}, {"mem_mhz", 2000}}, {{"at_power_cap", 1}, {"mem_mhz", 1000}});
  EXPECT_TRUE(of_memory.disturbed());
}

}  // namespace
}  // namespace layerbench::run
