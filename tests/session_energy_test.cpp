// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>

#include <layerbench/session/energy_measurer.hpp>
#include <layerbench/session/runner.hpp>

#include "support/work_queue.hpp"

namespace layerbench::run {
namespace session_energy_test {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

/// A machine whose power is known: some watts always, and more for each busy processor.
struct machine_model {
  double wall = 0;       ///< seconds
  double cpu = 0;        ///< seconds of all processors
  double update = 1e-3;  ///< seconds after which its counter shows the joules again
  double shown = 0;      ///< joules

  static constexpr double idle_watts = 12;
  static constexpr double watts_per_processor = 30;

  void idle(double seconds) { work(seconds, 0); }
  void work(double seconds, double processors = 1) {
    const double last_update = std::floor((wall + seconds) / update) * update;
    const double until = last_update - wall;
    if (until > 0) {
      shown = joules() + until * (idle_watts + processors * watts_per_processor);
    }
    wall += seconds;
    cpu += processors * seconds;
  }
  [[nodiscard]] double joules() const { return idle_watts * wall + watts_per_processor * cpu; }
};

/// Its counter, which takes `reading` seconds to read.
class counter_of_model final : public energy_counter {
 public:
  explicit counter_of_model(machine_model& machine, double reading = 0)
      : energy_counter({"model", "meter", "all"}), machine_(machine), reading_(reading) {
    set_reading_seconds(reading);
  }
  double reading() override {
    machine_.idle(reading_ / 2);
    const double joules = machine_.shown;
    machine_.idle(reading_ / 2);
    return joules;
  }
  void start() override { begin_ = reading(); }
  double stop() override { return reading() - begin_; }

 private:
  machine_model& machine_;
  double reading_;
  double begin_ = 0;
};

class EnergyWindow : public ::testing::Test {
 protected:
  /// Measures a call that takes `call` seconds of some processors, behind `setup` seconds of one.
  result::measurement measured(double call, double setup, double processors = 1) {
    result::measurement row;
    measurer_->add_window(row, [&](bool calls) {
      machine_.work(setup);
      if (calls) machine_.work(call, processors);
      return std::int64_t{1};
    });
    return row;
  }
  void use_counter(double reading) {
    measurer_.emplace(std::make_shared<counter_of_model>(machine_, reading),
                      [&] { return machine_.wall; });
    measurer_->measure_idle([&](double seconds) { machine_.idle(seconds); });
  }

  machine_model machine_;
  std::optional<energy_measurer> measurer_;
};

TEST_F(EnergyWindow, MeasuresTheIdlePowerFirst) {
  use_counter(0);
  EXPECT_NEAR(measurer_->idle_watts(), machine_model::idle_watts, 0.01);
  EXPECT_GE(machine_.wall, 3);
}

TEST_F(EnergyWindow, HasTheEnergyOfACallWithAndWithoutIdlePower) {
  use_counter(0);
  const auto row = measured(0.02, 0.05, 2);
  EXPECT_NEAR(row.counters.at("energy_gross_j"), 0.02 * (12 + 2 * 30), 0.01);
  EXPECT_NEAR(row.counters.at("energy_net_j"), 0.02 * 2 * 30, 0.01) << "without its setup";
  EXPECT_GE(row.counters.at("energy_window_s"), 2);
  EXPECT_EQ(row.counters.at("energy_calls"), std::ceil(2 / 0.07));
  EXPECT_NEAR(row.counters.at("idle_w"), 12, 0.01);
}

TEST_F(EnergyWindow, LeavesOutWhatReadingASlowMeterTakes) {
  use_counter(0.4);
  const auto row = measured(0.5, 0, 1);
  EXPECT_GE(row.counters.at("energy_window_s"), 8) << "twenty times as long as a reading";
  EXPECT_NEAR(row.counters.at("energy_gross_j"), 0.5 * (12 + 30), 0.02);
  EXPECT_NEAR(row.counters.at("energy_net_j"), 0.5 * 30, 0.02);
}

TEST_F(EnergyWindow, IsLongInRelationToTheUpdatesOfAMeter) {
  machine_.update = 1;
  use_counter(0.002);
  const auto row = measured(0.3, 0.01, 2);
  EXPECT_GE(row.counters.at("energy_window_s"), 38) << "forty times as long";
  EXPECT_LE(row.counters.at("energy_window_s"), 42);
  const double gross = 0.3 * (12 + 2 * 30);
  EXPECT_NEAR(row.counters.at("energy_gross_j"), gross, 0.05 * gross);
  EXPECT_NEAR(measurer_->idle_watts(), 12, 0.05 * 12);
}

TEST_F(EnergyWindow, OfALongStepIsOneStep) {
  use_counter(0);
  EXPECT_EQ(measured(7, 0).counters.at("energy_calls"), 1);
}

/// The sum of the layers differs from the step by at most 5 %, however short they are.
TEST_F(EnergyWindow, OfLayersAddUpToThatOfTheStep) {
  use_counter(0);
  struct layer {
    double call;
    double setup;
    int count;
    double processors;
  };
  const std::vector<layer> layers{{3e-3, 5e-3, 4, 2},
                                  {2e-5, 3e-4, 30, 1},
                                  {7e-4, 7e-4, 16, 1.8},
                                  {1.1e-2, 2e-3, 1, 2},
                                  {4e-6, 9e-5, 50, 1}};
  double gross = 0;
  double net = 0;
  for (const layer& one : layers) {
    const auto row = measured(one.call, one.setup, one.processors);
    gross += one.count * row.counters.at("energy_gross_j");
    net += one.count * row.counters.at("energy_net_j");
  }
  result::measurement step;
  measurer_->add_window(step, [&](bool calls) {
    machine_.work(1e-4);
    for (const layer& one : layers) {
      if (calls) machine_.work(one.count * one.call, one.processors);
    }
    return std::int64_t{1};
  });
  EXPECT_NEAR(gross / step.counters.at("energy_gross_j"), 1, 0.05);
  EXPECT_NEAR(net / step.counters.at("energy_net_j"), 1, 0.05);
}

/// Stands still, and knows whether it counts.
class watched_counter final : public energy_counter {
 public:
  explicit watched_counter(bool joules)
      : energy_counter({"fake", "meter", "all"}), joules_(joules) {}
  [[nodiscard]] bool reads_joules() const override { return joules_; }
  double reading() override { return 5; }
  void start() override { counts_ = true; }
  double stop() override {
    counts_ = false;
    throw energy_error("fake: unplugged");
  }
  [[nodiscard]] bool counts() const { return counts_; }

 private:
  bool joules_;
  bool counts_ = false;
};

TEST_F(EnergyWindow, NeedsJoulesThatGrow) {
  const auto error_of = [&](bool joules) -> std::string {
    energy_measurer measurer(std::make_shared<watched_counter>(joules),
                             [&] { return machine_.wall; });
    try {
      measurer.measure_idle([&](double seconds) { machine_.idle(seconds); });
    } catch (const energy_error& e) {
      return e.what();
    }
    return "no error";
  };
  EXPECT_THAT(error_of(/*joules=*/true), HasSubstr("--meter-unit=W"));
  EXPECT_THAT(error_of(/*joules=*/false), HasSubstr("unplugged")) << "watts were counted";
}

TEST(EnergyOfAFailingCall, IsNotCountedOn) {
  const auto counter = std::make_shared<watched_counter>(true);
  energy_measurer measurer(counter);
  result::measurement row;
  int calls = 0;
  const auto fails_in_the_window = [&](bool /*calls*/) -> std::int64_t {
    if (++calls > 1) throw std::runtime_error("out of memory");
    return 1;
  };
  EXPECT_THROW(measurer.add_window(row, fails_in_the_window), std::runtime_error);
  EXPECT_EQ(calls, 2);
  EXPECT_FALSE(counter->counts()) << "a meter of watts would be read during all later timings";
}

/// Counts a joule per reading, and fails after some of them.
class failing_counter final : public energy_counter {
 public:
  explicit failing_counter(int readings)
      : energy_counter({"fake", "meter", "all"}), left_(readings) {}
  double reading() override { return shown_ += 1; }
  void start() override { read(); }
  double stop() override {
    read();
    return 1;
  }

 private:
  void read() {
    if (--left_ < 0) throw energy_error("fake: unplugged");
  }
  int left_;
  double shown_ = 0;
};

class EnergyOfRounds : public testing::work_queue_test {
 protected:
  EnergyOfRounds() {
    const result::case_name model_case = testing::case_of("f32", 1, "1");
    add_row(model_case, "a");
    add_row(model_case, "b");
    add_row(model_case, "a", "hot");
  }
  /// Measures so many rounds, on a clock that runs a hundred times as fast.
  std::string measure(int readings, int rounds, bool of_layers = true) {
    runner measuring(
        rows(), {}, {.min_rounds = rounds, .min_time = 0, .max_time = 0, .sum_rows = true}, {},
        [] { return std::nullopt; }, any_speed, [] { return 100 * stopwatch::now(); },
        {std::make_shared<failing_counter>(readings), of_layers});
    EXPECT_FALSE(measuring.run(result_, [] {}));
    return measuring.energy_failure();
  }
  [[nodiscard]] std::map<std::string, std::set<std::int64_t>> rounds_with_energy() const {
    std::map<std::string, std::set<std::int64_t>> found;
    for (const result::measurement& row : result_.rows) {
      EXPECT_TRUE(row.error.empty()) << row.error;
      if (!row.counters.contains("energy_net_j")) continue;
      found[row.name.layer + " " + row.name.cache].insert(row.round);
    }
    return found;
  }

  result::results result_;
};

TEST_F(EnergyOfRounds, AreOfTheFirstOnesAndOfRowsInTheStateOfTheModel) {
  EXPECT_EQ(measure(1000, 7), "");
  EXPECT_THAT(result_.rows, SizeIs(3 * 7));
  const std::set<std::int64_t> first{0, 1, 2, 3, 4};
  EXPECT_EQ(rounds_with_energy(), (std::map<std::string, std::set<std::int64_t>>{
                                      {"a model", first}, {"b model", first}}));
}

TEST_F(EnergyOfRounds, OfARunThatIsResumedCountOn) {
  static_cast<void>(measure(1000, 3));
  EXPECT_EQ(measure(1000, 7), "");
  EXPECT_THAT(rounds_with_energy()["a model"], SizeIs(5));
}

TEST_F(EnergyOfRounds, LeaveTheBudgetToTheLeastNumberOfRounds) {
  double time = 0;  // passes with each look at the clock
  constexpr double budget = 30;
  runner measuring(
      rows(), {}, {.min_rounds = 7, .min_time = 0, .max_time = 0, .budget = budget, .started = 0},
      {}, [] { return std::nullopt; }, any_speed, [&] { return time += 0.05; },
      {std::make_shared<failing_counter>(1000), true});
  EXPECT_FALSE(measuring.run(result_, [] {}));
  EXPECT_EQ(measuring.shortfall(), "");
  EXPECT_THAT(result_.rows, SizeIs(3 * 7));
  EXPECT_THAT(rounds_with_energy(), Not(IsEmpty())) << "some fit";
  EXPECT_LE(time, budget);
}

TEST_F(EnergyOfRounds, HaveNoLayersUnlessTheyAreWanted) {
  EXPECT_EQ(measure(1000, 2, /*of_layers=*/false), "");
  EXPECT_THAT(rounds_with_energy(), SizeIs(0));
}

TEST_F(EnergyOfRounds, AreMissingOnceTheCounterFailsAndTimingsAreNot) {
  constexpr int readings = 2 + 3 * 4;  // idle, and three windows
  EXPECT_THAT(measure(readings, 7), HasSubstr("unplugged"));
  EXPECT_THAT(result_.rows, SizeIs(3 * 7));
  EXPECT_THAT(rounds_with_energy()["a model"], SizeIs(2));
  EXPECT_THAT(rounds_with_energy()["b model"], SizeIs(1));
}

TEST_F(EnergyOfRounds, AreNotBegunWithACounterThatFailsAtOnce) {
  EXPECT_THROW(static_cast<void>(measure(1, 2)), unavailable);
  EXPECT_THAT(result_.rows, SizeIs(0));
}

}  // namespace session_energy_test
}  // namespace layerbench::run
