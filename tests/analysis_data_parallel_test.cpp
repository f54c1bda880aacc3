// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include <layerbench/analysis/scaling/parallel_step.hpp>
#include <layerbench/model/totals.hpp>

#include "support/mentions.hpp"
#include "support/scaling.hpp"

namespace layerbench::analysis {
namespace analysis_data_parallel_test {

using ::testing::AllOf;
using testing::computed;
using ::testing::DoubleNear;
using ::testing::Ge;
using ::testing::Le;
using testing::mentions;
using testing::ring_of;
using testing::shipped;
using ::testing::SizeIs;

constexpr double tiny = 1 + 1e-12;

/// A step of 1 s forward, `backward` seconds and 0.5 s update, with buckets of one byte, which are
/// ready at these times.
compute_step step_of(double backward, const std::vector<double>& ready) {
  compute_step result;
  result.parts = {1, backward, 0.5};
  result.whole = {1.5 + backward,        0, 1.5 + backward, 1.5 + backward, 1.5 + backward,
                  interval_method::none, {}};
  for (const double value : ready) result.buckets.push_back({{1, {"x"}}, 0, value});
  return result;
}

parallel_step run(const compute_step& step, double seconds, double computing = 1,
                  double sending = 1) {
  return parallel_step_of(step, [=](double) { return seconds; }, {computing, sending});
}

TEST(ParallelStep, OverlapsBucketsWithTheBackwardPart) {
  const parallel_step result = run(step_of(4, {1, 2}), 1);
  EXPECT_DOUBLE_EQ(result.seconds, 5.5);
  EXPECT_DOUBLE_EQ(result.exposed, 0);
  EXPECT_DOUBLE_EQ(result.communication, 2);
  EXPECT_DOUBLE_EQ(result.no_overlap, 7.5);
  EXPECT_DOUBLE_EQ(result.full_overlap, 5.5);
  EXPECT_DOUBLE_EQ(result.sent[0].begin, 2) << "forward and what is before the gradients";
}

TEST(ParallelStep, SendsOneBucketAfterTheOther) {
  const parallel_step result = run(step_of(4, {1, 2, 4}), 2);
  EXPECT_DOUBLE_EQ(result.sent[0].begin, 2);
  EXPECT_DOUBLE_EQ(result.sent[1].begin, 4) << "when the first is through";
  EXPECT_DOUBLE_EQ(result.sent[2].begin, 6);
  EXPECT_DOUBLE_EQ(result.exposed, 3);
  EXPECT_DOUBLE_EQ(result.seconds, 8.5);
}

TEST(ParallelStep, WaitsForTheLastGradient) {
  const parallel_step result = run(step_of(4, {4}), 3);
  EXPECT_DOUBLE_EQ(result.exposed, 3);
  EXPECT_DOUBLE_EQ(result.seconds, result.no_overlap);
}

TEST(ParallelStep, ComputesSlowerWhileItSends) {
  const parallel_step result = run(step_of(4, {1}), 2, 2);
  EXPECT_DOUBLE_EQ(result.slowed, 1) << "2 s for 1 s of work";
  EXPECT_DOUBLE_EQ(result.exposed, 0);
  EXPECT_DOUBLE_EQ(result.seconds, 6.5);
  const parallel_step at_the_end = run(step_of(4, {3}), 10, 2);
  EXPECT_DOUBLE_EQ(at_the_end.slowed, 1) << "the last second of work";
  EXPECT_DOUBLE_EQ(at_the_end.exposed, 8);
}

TEST(ParallelStep, SendsSlowerWhileItComputes) {
  const parallel_step result = run(step_of(4, {1}), 1, 2, 2);
  EXPECT_DOUBLE_EQ(result.sent[0].end, 1 + 1 + 2) << "2 s for 1 s of sending";
  EXPECT_DOUBLE_EQ(result.slowed, 1);
  EXPECT_DOUBLE_EQ(result.seconds, result.no_overlap) << "they took turns";
  const parallel_step at_the_end = run(step_of(4, {3}), 2, 2, 4);
  EXPECT_DOUBLE_EQ(at_the_end.slowed, 1) << "the last second of work";
  EXPECT_DOUBLE_EQ(at_the_end.exposed, 1.5) << "half a second was sent meanwhile";
  EXPECT_GT(at_the_end.seconds, at_the_end.no_overlap) << "worse than taking turns";
}

TEST(ParallelStep, HasTheTimelineOfItsCalls) {
  compute_step step = step_of(4, {1});
  using enum model::step_part;
  step.calls = {{"f", forward, 1}, {"b1", backward, 1}, {"b2", backward, 3}, {"u", update, 0.5}};
  const std::vector<time_span> when = call_spans(step, run(step, 10, 2), 2);
  ASSERT_THAT(when, SizeIs(4));
  EXPECT_DOUBLE_EQ(when[1].end, 2);
  EXPECT_DOUBLE_EQ(when[2].end, 2 + 6) << "3 s of work at half the speed";
  EXPECT_DOUBLE_EQ(when[3].begin, 12) << "when all is sent";
  EXPECT_DOUBLE_EQ(when[3].end, run(step, 10, 2).seconds);
}

// Properties that hold for every network.

struct sample {
  std::string model;
  double images_per_second;
  network interconnect;
  slowdowns slower;  ///< no worse than taking turns
};

slowdowns slowed(double computing, bool takes_turns) {
  return {computing, takes_turns && computing > 1 ? computing / (computing - 1) : 1};
}

std::vector<sample> samples() {
  std::mt19937 random(11);
  const auto between = [&](double least, double most) {
    return least * std::pow(most / least, static_cast<double>(random() % 1000) / 999.0);
  };
  std::vector<sample> all;
  for (const char* model : {"resnet50", "vgg16", "alexnet", "lenet5"}) {
    for (int i = 0; i < 25; ++i) {
      all.push_back({model, between(1, 1e5), ring_of(between(1e-7, 1e-3), between(1e8, 1e12)),
                     i % 2 == 0 ? slowdowns{} : slowed(between(1, 3), random() % 2 == 0)});
    }
  }
  return all;
}

scaled_step on(const sample& of, const compute_step& element, std::int64_t devices) {
  const used_contention used{{of.slower, of.slower, of.slower}};
  return scale(element, 16, devices, of.interconnect, used, 16 / element.whole.seconds);
}

TEST(DataParallel, IsWithinItsBoundsAndNeverBelowComputing) {
  for (const sample& item : samples()) {
    const compute_step step = computed(item.model, 16, item.images_per_second);
    double last = 0;
    for (const std::int64_t devices : {1, 2, 3, 8, 64, 4096}) {
      const scaled_step result = on(item, step, devices);
      EXPECT_GE(result.step.seconds, step.whole.seconds);
      EXPECT_LE(result.step.full_overlap, result.step.seconds * tiny);
      EXPECT_LE(result.step.seconds, result.step.no_overlap * tiny);
      EXPECT_GE(result.step.seconds * tiny, last) << "more devices, less time";
      EXPECT_THAT(result.efficiency, AllOf(Ge(0), Le(1)));
      EXPECT_NEAR(result.step.seconds,
                  step.whole.seconds + result.step.slowed + result.step.exposed,
                  1e-12 * result.step.seconds);
      last = result.step.seconds;
    }
  }
}

TEST(DataParallel, OfOneDeviceIsThePlainPrediction) {
  for (const sample& item : samples()) {
    const compute_step step = computed(item.model, 16, item.images_per_second);
    const scaled_step result = on(item, step, 1);
    EXPECT_EQ(result.step.seconds, step.whole.seconds);
    EXPECT_EQ(result.seconds_low, step.whole.low());
    EXPECT_EQ(result.seconds_high, step.whole.high());
    EXPECT_EQ(result.step.communication, 0);
    EXPECT_EQ(result.efficiency, 1);
  }
}

TEST(DataParallel, SendsEveryGradientOnce) {
  for (const char* model : {"resnet50", "vgg16", "alexnet", "lenet5"}) {
    std::int64_t bytes = 0;
    double ready = 0;
    const compute_step step = computed(model, 16, 100);
    for (const timed_bucket& bucket : step.buckets) {
      bytes += bucket.what.bytes;
      EXPECT_GE(bucket.ready, ready) << "gradients of later buckets come later";
      EXPECT_LE(bucket.ready, step.seconds(model::step_part::backward));
      ready = bucket.ready;
    }
    EXPECT_EQ(bytes, 4 * model::count(shipped(model)).parameters);
  }
}

TEST(DataParallel, TakesLongerOnASlowerNetworkAndWithMoreContention) {
  for (const sample& item : samples()) {
    const compute_step step = computed(item.model, 16, item.images_per_second);
    const link fast = std::get<link>(item.interconnect.how);
    sample slower = item;
    slower.interconnect = ring_of(2 * fast.alpha, fast.beta / 2);
    EXPECT_GE(on(slower, step, 8).step.seconds * tiny, on(item, step, 8).step.seconds);
    sample contended = item;
    contended.slower.computing *= 1.5;
    EXPECT_GE(on(contended, step, 8).step.seconds * tiny, on(item, step, 8).step.seconds);
  }
}

TEST(DataParallel, CarriesTheBoundsOfComputingAndOfTheNetwork) {
  compute_step step = computed("resnet50", 16, 100);
  step.whole.sampling_low *= 0.9;
  step.whole.sampling_high *= 1.2;
  const network slow = ring_of(1e-3, 1e8);
  const scaled_step result = scale(step, 16, 8, slow, {}, 100);
  EXPECT_LT(result.seconds_low, result.step.seconds);
  EXPECT_GT(result.seconds_high, result.step.seconds);
  std::vector<result::measurement> rows;
  for (const int round : {0, 1, 2}) {
    for (const std::int64_t bytes : {1'000, 1'000'000'000}) {
      rows.push_back(
          testing::reduced(8, bytes, (1 + 0.2 * round) * 1e-8 * static_cast<double>(bytes), round));
    }
  }
  network measured{"m", "", "", {}, collective_table(testing::reduced_file(rows))};
  const compute_step sure = computed("resnet50", 16, 100);
  const scaled_step with_table = scale(sure, 16, 8, measured, {}, 100);
  EXPECT_LT(with_table.seconds_low, with_table.step.seconds);
  EXPECT_GT(with_table.seconds_high, with_table.step.seconds);
  EXPECT_FALSE(with_table.extrapolated);
  EXPECT_TRUE(scale(sure, 16, 16, measured, {}, 100).extrapolated);
}

TEST(SpreadThroughput, HasTheTimeOfTheStepAndTwiceTheForwardPartBackward) {
  for (const char* model : {"resnet50", "vgg16"}) {
    const compute_step step = computed(model, 64, 128);
    const double forward = step.seconds(model::step_part::forward);
    const double backward = step.seconds(model::step_part::backward);
    EXPECT_DOUBLE_EQ(step.whole.seconds, 0.5);
    EXPECT_THAT(forward + backward + step.seconds(model::step_part::update), DoubleNear(0.5, 1e-9));
    EXPECT_THAT(backward / forward, AllOf(Ge(1.8), Le(2.1))) << model;
  }
}

TEST(ComputeStep, SpreadsTheTimeOfReordersOverTheirPart) {
  const model::graph graph = shipped("lenet5", 4);
  prediction p = spread_throughput(graph, dtype::f32, 4);
  const compute_step before = compute_step_of(p, graph, {});
  layer_time reorder = p.layers.front();
  reorder.inserted = true;
  reorder.key = "from:a,to:b";
  reorder.count = 2;
  reorder.seconds = 0.25;
  p.layers.push_back(reorder);
  const compute_step after = compute_step_of(p, graph, {});
  using enum model::step_part;
  EXPECT_NEAR(after.seconds(forward), before.seconds(forward) + 0.5, 1e-12);
  EXPECT_NEAR(after.seconds(backward), before.seconds(backward), 1e-12);
  EXPECT_EQ(after.calls.size(), before.calls.size());
}

TEST(ComputeStep, RefusesAnotherModelsShapeFile) {
  const prediction p = spread_throughput(shipped("lenet5", 4), dtype::f32, 4);
  EXPECT_THAT([&] { static_cast<void>(compute_step_of(p, shipped("lenet5", 8), {})); },
              ::testing::ThrowsMessage<error>(mentions("lenet5", "--model")));
}

}  // namespace analysis_data_parallel_test
}  // namespace layerbench::analysis
