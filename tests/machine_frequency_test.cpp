// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include <gmock/gmock.h>

#include <layerbench/backend/adapter.hpp>
#include <layerbench/backend/reference/list.hpp>
#include <layerbench/machine/frequency_probe.hpp>
#include <layerbench/op/add.hpp>
#include <layerbench/session/step_sampler.hpp>
#include <layerbench/timing/sampler.hpp>

/// Measuring on processors that something slows down which the system does not know of.
namespace layerbench::run {
namespace run_speed_test {

using ::testing::AllOf;
using ::testing::DoubleNear;
using ::testing::Each;
using ::testing::Ge;
using ::testing::IsEmpty;
using ::testing::Le;
using ::testing::SizeIs;

constexpr double microsecond = 0x1p-20;
constexpr double millisecond = 0x1p-10;

/// Processors that are slower by half at times, and a stopwatch.
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
/// Slow for half of every 100 ms, first of all fast.
bool by_turns(double time) { return std::fmod(time, 0.1) >= 0.05; }
constexpr auto goes_on = [] { return false; };

/// As long as it takes for the probe to know the machine.
void get_to_know(machine& target, frequency_probe& speed, double seconds) {
  for (const double end = target.time + seconds; target.time < end; target.time += millisecond) {
    static_cast<void>(speed.at_usual_speed());
  }
}

TEST(SpeedProbe, FindsASteadySpeedUsual) {
  machine device{never};
  frequency_probe speed = device.probe();
  for (int i = 0; i < 1000; ++i) EXPECT_TRUE(speed.at_usual_speed());
}

TEST(SpeedProbe, TellsSlowProcessorsFromFastOnes) {
  machine device{by_turns};
  frequency_probe speed = device.probe();
  for (; device.time < 2; device.time += millisecond) {
    const bool slow = device.slow();
    EXPECT_EQ(speed.at_usual_speed(), !slow) << "after " << device.time << " s";
  }
}

TEST(SpeedProbe, SaysForWhichShareOfTheTimeTheyWereSlow) {
  machine device{by_turns};
  frequency_probe speed = device.probe();
  get_to_know(device, speed, 2);
  EXPECT_NEAR(speed.slow_share(), 0.5, 0.05);
  machine steady{never};
  EXPECT_EQ(steady.probe().slow_share(), 0);
}

TEST(SpeedProbe, LearnsThatTheFirstSpeedWasNotTheUsualOne) {
  machine device{[](double time) { return time < 1; }};
  frequency_probe speed = device.probe();
  EXPECT_TRUE(speed.at_usual_speed()) << "nothing else is known";
  get_to_know(device, speed, 2);
  device.slow_at = [](double) { return true; };
  EXPECT_FALSE(speed.at_usual_speed());
}

TEST(SpeedProbe, TakesNoRareFasterReadingForUsual) {
  machine device{never};
  int readings = 0;
  frequency_probe speed(
      [&] {
        device.time += millisecond;
        return ++readings % 50 == 0 ? 0.5 : 1.0;
      },
      [&] { return device.time; });
  for (int i = 0; i < 1000; ++i) EXPECT_TRUE(speed.at_usual_speed());
}

TEST(SpeedProbe, WaitsForTheUsualSpeed) {
  machine device{by_turns};
  frequency_probe speed = device.probe();
  get_to_know(device, speed, 0.955);
  ASSERT_TRUE(device.slow());
  EXPECT_TRUE(speed.wait());
  EXPECT_FALSE(device.slow());
  EXPECT_LT(device.time, 1.01);
}

TEST(SpeedProbe, WaitsNoLongerThanHalfOfTheTime) {
  machine device{never};
  frequency_probe speed = device.probe();
  get_to_know(device, speed, 1);
  device.slow_at = [](double) { return true; };
  const double start = device.time;
  double waited = 0;
  while (device.time < start + 10) {
    const double before = device.time;
    EXPECT_FALSE(speed.wait());
    waited += device.time - before;
    EXPECT_LT(device.time - before, 0.51) << "at a time";
    device.time += 0.1;
  }
  EXPECT_THAT(waited, AllOf(Ge(4), Le(6)));
}

TEST(SpeedProbe, DoesNotWaitInAHurry) {
  machine device{never};
  frequency_probe speed = device.probe();
  get_to_know(device, speed, 1);
  device.slow_at = [](double) { return true; };
  speed.set_over_budget(true);
  const double before = device.time;
  EXPECT_FALSE(speed.wait());
  EXPECT_LT(device.time - before, millisecond);
  device.slow_at = never;
  EXPECT_TRUE(speed.wait()) << "when there is nothing to wait for";
}

TEST(SpeedProbe, OfABackendOnThisMachineMeasuresIt) {
  backend_device<reference::backend, op::add> device(1);
  const std::unique_ptr<frequency_probe> speed = frequency_probe_of(device);
  const double begin = stopwatch::now();
  bool came = speed->at_usual_speed();
  while (!came && stopwatch::now() - begin < 60) came = speed->at_usual_speed();
  EXPECT_TRUE(came) << "a speed that stays becomes the usual one, whatever else runs";
}

/// Samples of calls of a millisecond.
samples sampled(machine& target, const sampling& how) {
  frequency_probe speed = target.probe();
  get_to_know(target, speed, 1);
  return sample(
      target, [](std::int64_t) {},
      [&](std::int64_t times) { target.work(millisecond * static_cast<double>(times)); }, how,
      goes_on, speed);
}

TEST(SamplerBesideOthers, LeavesOutWhatWasSlow) {
  machine device{by_turns};
  const samples taken = sampled(device, {.warm_up = 0, .least_time = 0.3, .most_time = 2});
  EXPECT_THAT(taken.seconds, AllOf(SizeIs(Ge(290U)), Each(millisecond)));
  EXPECT_GT(taken.slowed, 0U) << "phases begin within a stretch";
  EXPECT_FALSE(taken.unusual);
}

TEST(SamplerBesideOthers, TakesWhatThereIsWhereAllIsSlow) {
  machine device{[](double time) { return time > 1.2; }};
  device.time = 0;
  frequency_probe speed = device.probe();
  get_to_know(device, speed, 1.2);
  const samples taken = sample(
      device, [](std::int64_t) {},
      [&](std::int64_t times) { device.work(millisecond * static_cast<double>(times)); },
      {.warm_up = 0, .least_time = 0.01, .most_time = 0.04}, goes_on, speed);
  EXPECT_TRUE(taken.unusual);
  EXPECT_EQ(taken.slowed, taken.seconds.size());
  EXPECT_THAT(taken.seconds, AllOf(SizeIs(Ge(2U)), Each(1.5 * millisecond)));
}

/// A model of layers that take so many seconds.
struct step {
  machine& target;
  std::vector<double> seconds;
  std::vector<std::pair<std::size_t, std::size_t>> runs = {};  ///< what was asked for

  static constexpr std::size_t steps_to_settle() { return 5; }

  void set_up() {}
  [[nodiscard]] std::size_t layers() const { return seconds.size(); }
  void run(std::size_t first, std::size_t end) {
    runs.emplace_back(first, end);
    for (std::size_t i = first; i < end; ++i) target.work(seconds[i]);
  }
};

TEST(StepSampler, RunsStepsUntilTheCachesHaveSettled) {
  machine device{never};
  frequency_probe speed = device.probe();
  step model{device, {millisecond}};
  step_sampler steps(model, device, speed, goes_on);
  const samples taken = steps.sample({.least_time = 0, .least_samples = 1});
  EXPECT_THAT(model.runs, SizeIs(taken.seconds.size() + 5));
}

TEST(StepSampler, TimesAShortStepAsAWhole) {
  machine device{never};
  frequency_probe speed = device.probe();
  step model{device, {64 * microsecond, 32 * microsecond, 32 * microsecond}};
  step_sampler steps(model, device, speed, goes_on);
  const samples taken = steps.sample({.least_time = 0.01, .most_time = 0.04});
  EXPECT_THAT(taken.seconds, AllOf(SizeIs(Ge(75U)), Each(128 * microsecond)));
  EXPECT_EQ(taken.calls, static_cast<std::int64_t>(taken.seconds.size()));
  EXPECT_EQ(model.runs.back(), std::pair(std::size_t{0}, std::size_t{3}));
}

TEST(StepSampler, FindsTheTimeOfALongStepThatIsNeverUndisturbed) {
  machine device{by_turns};
  frequency_probe speed = device.probe();
  get_to_know(device, speed, 1);
  step model{device, std::vector<double>(40, 8 * millisecond)};  // more than three phases long
  step_sampler steps(model, device, speed, goes_on);
  const samples taken = steps.sample({.least_time = 0.01, .most_time = 0.04});
  EXPECT_FALSE(taken.unusual);
  EXPECT_GT(taken.slowed, 0U);
  EXPECT_THAT(taken.seconds, AllOf(SizeIs(Ge(1U)), Each(DoubleNear(40 * 8 * millisecond, 1e-9))));
}

TEST(StepSampler, CountsEveryPassageOfAStretchAlike) {
  machine device{never};
  frequency_probe speed = device.probe();
  // The first layer takes 8, 9, 10, ... ms. A stall in the second leaves that a passage less.
  struct slower_and_slower : step {
    double first = 7 * millisecond;
    int steps = 0;
    void run(std::size_t begin, std::size_t end) {
      if (begin == 0) seconds.front() = first += millisecond;
      if (begin == 1) device.work((++steps == 8 ? 40 : 0) * millisecond);
      step::run(begin, end);
    }
  } model{{device, {0, 8 * millisecond}}};
  step_sampler steps(model, device, speed, goes_on);
  const samples taken = steps.sample({.least_time = 0.3, .most_time = 1});
  const auto passages = static_cast<double>(taken.seconds.size() + 1);
  const double first = model.first - (passages - 1) / 2 * millisecond;  // the mean of the last ones
  EXPECT_GE(passages, 10);
  EXPECT_EQ(taken.stalls, 1);
  EXPECT_NEAR(stats::mean(taken.seconds), first + 8 * millisecond, 1e-9);
}

TEST(StepSampler, LeavesOutARareStallOfAStretch) {
  machine device{never};
  frequency_probe speed = device.probe();
  struct stalling : step {
    int steps = 0;
    void run(std::size_t begin, std::size_t end) {
      if (begin == 1) device.work((++steps == 8 ? 40 : 0) * millisecond);
      step::run(begin, end);
    }
  } model{{device, {8 * millisecond, 8 * millisecond}}};
  step_sampler steps(model, device, speed, goes_on);
  const samples taken = steps.sample({.least_time = 0.2, .most_time = 1});
  EXPECT_THAT(taken.seconds, AllOf(SizeIs(Ge(10U)), Each(DoubleNear(16 * millisecond, 1e-9))));
  EXPECT_EQ(taken.stalls, 1);
}

TEST(StepSampler, EndsWhereTheSpeedNeverComesBack) {
  machine device{[](double time) { return time > 1.2; }};
  frequency_probe speed = device.probe();
  get_to_know(device, speed, 1.2);
  step model{device, std::vector<double>(4, 8 * millisecond)};
  step_sampler steps(model, device, speed, goes_on);
  const samples taken = steps.sample({.least_time = 0.01, .most_time = 0.04});
  EXPECT_TRUE(taken.unusual);
  EXPECT_THAT(taken.seconds, Each(1.5 * 4 * 8 * millisecond));
}

TEST(StepSampler, TimesLayersOneByOne) {
  machine device{never};
  frequency_probe speed = device.probe();
  const std::vector<double> seconds{64 * microsecond, 4 * millisecond, 16 * microsecond};
  step model{device, seconds};
  step_sampler steps(model, device, speed, goes_on, step_parts::layers);
  const std::vector<samples> layers = steps.sample_parts({.least_time = 0.01, .most_time = 0.04});
  ASSERT_THAT(layers, SizeIs(3));
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_THAT(layers[i].seconds, AllOf(SizeIs(Ge(2U)), Each(seconds[i])));
  }
}

TEST(StepSampler, HasNoSamplesWhenStopped) {
  machine device{never};
  frequency_probe speed = device.probe();
  step model{device, {millisecond}};
  step_sampler steps(model, device, speed, [] { return true; });
  EXPECT_THAT(steps.sample({}).seconds, IsEmpty());
}

}  // namespace run_speed_test
}  // namespace layerbench::run
