// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include <gmock/gmock.h>

#include <layerbench/backend/adapter.hpp>
#include <layerbench/backend/reference/all_plans.hpp>
#include <layerbench/machine/frequency_probe.hpp>
#include <layerbench/op/add.hpp>
#include <layerbench/session/step_sampler.hpp>
#include <layerbench/timing/sampler.hpp>

/// Measuring on processors that slow down while the system's counters do not change.
namespace layerbench::run {
namespace machine_frequency_test {

using ::testing::AllOf;
using ::testing::DoubleNear;
using ::testing::Each;
using ::testing::Ge;
using ::testing::IsEmpty;
using ::testing::Le;
using ::testing::SizeIs;

constexpr double microsecond = 0x1p-20;
constexpr double millisecond = 0x1p-10;

/// Processors that at times need 1.5 times as long, and a stopwatch.
struct machine {
  std::function<bool(double)> slow_at;
  double time = 0;
  double started = 0;

  [[nodiscard]] bool slow() const { return slow_at(time); }
  void work(double seconds) { time += slow() ? 1.5 * seconds : seconds; }

  static lap cost() { return {0, 0, 0}; }
  [[nodiscard]] double now() const { return time; }
  void start() { started = time; }
  [[nodiscard]] lap stop() const { return {time - started, time - started, time - started}; }

  [[nodiscard]] frequency_probe probe() {
    const auto work_time = [this] {
      const double before = time;
      work(64 * microsecond);
      return time - before;
    };
    return frequency_probe(work_time, [this] { return time; });
  }
};

bool never(double /*time*/) { return false; }
/// Fast for the first half of every 100 ms, slow for the second.
bool alternating(double time) { return std::fmod(time, 0.1) >= 0.05; }
constexpr auto never_stop = [] { return false; };

/// Lets the probe take readings for some seconds.
void learn_speed(machine& cpu, frequency_probe& speed, double seconds) {
  for (const double end = cpu.time + seconds; cpu.time < end; cpu.time += millisecond) {
    static_cast<void>(speed.at_usual_speed());
  }
}

TEST(FrequencyProbe, TreatsASteadySpeedAsUsual) {
  machine cpu{never};
  frequency_probe speed = cpu.probe();
  for (int i = 0; i < 1000; ++i) EXPECT_TRUE(speed.at_usual_speed());
}

TEST(FrequencyProbe, DistinguishesSlowFromUsual) {
  machine cpu{alternating};
  frequency_probe speed = cpu.probe();
  for (; cpu.time < 2; cpu.time += millisecond) {
    const bool slow = cpu.slow();
    EXPECT_EQ(speed.at_usual_speed(), !slow) << "after " << cpu.time << " s";
  }
}

TEST(FrequencyProbe, CountsTheSlowShareOfTheTime) {
  machine cpu{alternating};
  frequency_probe speed = cpu.probe();
  learn_speed(cpu, speed, 2);
  EXPECT_NEAR(speed.slow_share(), 0.5, 0.05);
  machine steady{never};
  EXPECT_EQ(steady.probe().slow_share(), 0);
}

TEST(FrequencyProbe, CorrectsASlowFirstReading) {
  machine cpu{[](double time) { return time < 1; }};
  frequency_probe speed = cpu.probe();
  EXPECT_TRUE(speed.at_usual_speed()) << "nothing else is known";
  learn_speed(cpu, speed, 2);
  cpu.slow_at = [](double) { return true; };
  EXPECT_FALSE(speed.at_usual_speed());
}

TEST(FrequencyProbe, IgnoresRareFasterReadings) {
  machine cpu{never};
  int readings = 0;
  frequency_probe speed(
      [&] {
        cpu.time += millisecond;
        return ++readings % 50 == 0 ? 0.5 : 1.0;
      },
      [&] { return cpu.time; });
  for (int i = 0; i < 1000; ++i) EXPECT_TRUE(speed.at_usual_speed());
}

TEST(FrequencyProbe, WaitsForTheUsualSpeed) {
  machine cpu{alternating};
  frequency_probe speed = cpu.probe();
  learn_speed(cpu, speed, 0.955);
  ASSERT_TRUE(cpu.slow());
  EXPECT_TRUE(speed.wait());
  EXPECT_FALSE(cpu.slow());
  EXPECT_LT(cpu.time, 1.01);
}

TEST(FrequencyProbe, WaitsNoLongerThanHalfOfTheTime) {
  machine cpu{never};
  frequency_probe speed = cpu.probe();
  learn_speed(cpu, speed, 1);
  cpu.slow_at = [](double) { return true; };
  const double start = cpu.time;
  double waited = 0;
  while (cpu.time < start + 10) {
    const double before = cpu.time;
    EXPECT_FALSE(speed.wait());
    waited += cpu.time - before;
    EXPECT_LT(cpu.time - before, 0.51) << "at a time";
    cpu.time += 0.1;
  }
  EXPECT_THAT(waited, AllOf(Ge(4), Le(6)));
}

TEST(FrequencyProbe, DoesNotWaitOverBudget) {
  machine cpu{never};
  frequency_probe speed = cpu.probe();
  learn_speed(cpu, speed, 1);
  cpu.slow_at = [](double) { return true; };
  speed.set_over_budget(true);
  const double before = cpu.time;
  EXPECT_FALSE(speed.wait());
  EXPECT_LT(cpu.time - before, millisecond);
  cpu.slow_at = never;
  EXPECT_TRUE(speed.wait()) << "when there is nothing to wait for";
}

/// A backend that counts how often it works on all threads.
struct counting_backend : reference::backend {
  static constexpr std::string_view name = "counting";
  using reference::backend::backend;
  static inline int calls = 0;
  void on_all_threads(const std::function<void(int)>& work) const override {
    ++calls;
    work(0);
  }
};

TEST(FrequencyProbe, OfAHostBackendWorksOnItsThreads) {
  backend_device<counting_backend, op::add> device(1);
  const std::unique_ptr<frequency_probe> speed = frequency_probe_of(device);
  const int before = counting_backend::calls;
  static_cast<void>(speed->at_usual_speed());
  EXPECT_EQ(counting_backend::calls, before + 2) << "one to wake them, one that is timed";
}

/// Samples of calls of a millisecond.
samples sampled(machine& cpu, const sampling& how) {
  frequency_probe speed = cpu.probe();
  learn_speed(cpu, speed, 1);
  return sample(
      cpu, [](std::int64_t) {},
      [&](std::int64_t times) { cpu.work(millisecond * static_cast<double>(times)); }, how,
      never_stop, speed);
}

TEST(SamplerOnSlowedProcessors, LeavesOutSlowSamples) {
  machine cpu{alternating};
  const samples taken = sampled(cpu, {.warm_up = 0, .least_time = 0.3, .most_time = 2});
  EXPECT_THAT(taken.seconds, AllOf(SizeIs(Ge(290U)), Each(millisecond)));
  EXPECT_GT(taken.slowed, 0U) << "phases begin within a stretch";
  EXPECT_FALSE(taken.all_slowed);
}

TEST(SamplerOnSlowedProcessors, KeepsSlowSamplesIfAllAreSlow) {
  machine cpu{[](double time) { return time > 1.2; }};
  cpu.time = 0;
  frequency_probe speed = cpu.probe();
  learn_speed(cpu, speed, 1.2);
  const samples taken = sample(
      cpu, [](std::int64_t) {},
      [&](std::int64_t times) { cpu.work(millisecond * static_cast<double>(times)); },
      {.warm_up = 0, .least_time = 0.01, .most_time = 0.04}, never_stop, speed);
  EXPECT_TRUE(taken.all_slowed);
  EXPECT_EQ(taken.slowed, taken.seconds.size());
  EXPECT_THAT(taken.seconds, AllOf(SizeIs(Ge(2U)), Each(1.5 * millisecond)));
}

/// A model whose layers take these seconds.
struct step {
  machine& cpu;
  std::vector<double> seconds;
  std::vector<std::pair<std::size_t, std::size_t>> runs = {};  ///< what was asked for

  static constexpr std::size_t warm_up_steps() { return 5; }

  void set_up() {}
  [[nodiscard]] std::size_t layers() const { return seconds.size(); }
  void run(std::size_t first, std::size_t end) {
    runs.emplace_back(first, end);
    for (std::size_t i = first; i < end; ++i) cpu.work(seconds[i]);
  }
};

TEST(StepSampler, RunsWarmUpStepsFirst) {
  machine cpu{never};
  frequency_probe speed = cpu.probe();
  step model{cpu, {millisecond}};
  step_sampler steps(model, cpu, speed, never_stop);
  const samples taken = steps.sample({.least_time = 0, .least_samples = 1});
  EXPECT_THAT(model.runs, SizeIs(taken.seconds.size() + 5));
}

TEST(StepSampler, TimesAShortStepInOnePiece) {
  machine cpu{never};
  frequency_probe speed = cpu.probe();
  step model{cpu, {64 * microsecond, 32 * microsecond, 32 * microsecond}};
  step_sampler steps(model, cpu, speed, never_stop);
  const samples taken = steps.sample({.least_time = 0.01, .most_time = 0.04});
  EXPECT_THAT(taken.seconds, AllOf(SizeIs(Ge(75U)), Each(128 * microsecond)));
  EXPECT_EQ(taken.calls, static_cast<std::int64_t>(taken.seconds.size()));
  EXPECT_EQ(model.runs.back(), std::pair(std::size_t{0}, std::size_t{3}));
}

TEST(StepSampler, FindsTheTimeOfALongStepThatIsNeverUndisturbed) {
  machine cpu{alternating};
  frequency_probe speed = cpu.probe();
  learn_speed(cpu, speed, 1);
  step model{cpu, std::vector<double>(40, 8 * millisecond)};  // more than three phases long
  step_sampler steps(model, cpu, speed, never_stop);
  const samples taken = steps.sample({.least_time = 0.01, .most_time = 0.04});
  EXPECT_FALSE(taken.all_slowed);
  EXPECT_GT(taken.slowed, 0U);
  EXPECT_THAT(taken.seconds, AllOf(SizeIs(Ge(1U)), Each(DoubleNear(40 * 8 * millisecond, 1e-9))));
}

TEST(StepSampler, WeighsEveryPassageOfAStretchEqually) {
  machine cpu{never};
  frequency_probe speed = cpu.probe();
  // The first layer takes 8, 9, 10, ... ms. A stall in the second leaves that a passage less.
  struct slower_and_slower : step {
    double first = 7 * millisecond;
    int steps = 0;
    void run(std::size_t begin, std::size_t end) {
      if (begin == 0) seconds.front() = first += millisecond;
      if (begin == 1) cpu.work((++steps == 8 ? 40 : 0) * millisecond);
      step::run(begin, end);
    }
  } model{{cpu, {0, 8 * millisecond}}};
  step_sampler steps(model, cpu, speed, never_stop);
  const samples taken = steps.sample({.least_time = 0.3, .most_time = 1});
  const auto passages = static_cast<double>(taken.seconds.size() + 1);
  const double first = model.first - (passages - 1) / 2 * millisecond;  // the mean of the last ones
  EXPECT_GE(passages, 10);
  EXPECT_EQ(taken.stalls, 1);
  EXPECT_NEAR(stats::mean(taken.seconds), first + 8 * millisecond, 1e-9);
}

TEST(StepSampler, LeavesOutARareStallOfAStretch) {
  machine cpu{never};
  frequency_probe speed = cpu.probe();
  struct stalling : step {
    int steps = 0;
    void run(std::size_t begin, std::size_t end) {
      if (begin == 1) cpu.work((++steps == 8 ? 40 : 0) * millisecond);
      step::run(begin, end);
    }
  } model{{cpu, {8 * millisecond, 8 * millisecond}}};
  step_sampler steps(model, cpu, speed, never_stop);
  const samples taken = steps.sample({.least_time = 0.2, .most_time = 1});
  EXPECT_THAT(taken.seconds, AllOf(SizeIs(Ge(10U)), Each(DoubleNear(16 * millisecond, 1e-9))));
  EXPECT_EQ(taken.stalls, 1);
}

TEST(StepSampler, EndsIfTheUsualSpeedNeverReturns) {
  machine cpu{[](double time) { return time > 1.2; }};
  frequency_probe speed = cpu.probe();
  learn_speed(cpu, speed, 1.2);
  step model{cpu, std::vector<double>(4, 8 * millisecond)};
  step_sampler steps(model, cpu, speed, never_stop);
  const samples taken = steps.sample({.least_time = 0.01, .most_time = 0.04});
  EXPECT_TRUE(taken.all_slowed);
  EXPECT_THAT(taken.seconds, Each(1.5 * 4 * 8 * millisecond));
}

TEST(StepSampler, TimesLayersOneByOne) {
  machine cpu{never};
  frequency_probe speed = cpu.probe();
  const std::vector<double> seconds{64 * microsecond, 4 * millisecond, 16 * microsecond};
  step model{cpu, seconds};
  step_sampler steps(model, cpu, speed, never_stop, step_parts::layers);
  const std::vector<samples> layers = steps.sample_parts({.least_time = 0.01, .most_time = 0.04});
  ASSERT_THAT(layers, SizeIs(3));
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_THAT(layers[i].seconds, AllOf(SizeIs(Ge(2U)), Each(seconds[i])));
  }
}

TEST(StepSampler, HasNoSamplesWhenStopped) {
  machine cpu{never};
  frequency_probe speed = cpu.probe();
  step model{cpu, {millisecond}};
  step_sampler steps(model, cpu, speed, [] { return true; });
  EXPECT_THAT(steps.sample({}).seconds, IsEmpty());
}

}  // namespace machine_frequency_test
}  // namespace layerbench::run
