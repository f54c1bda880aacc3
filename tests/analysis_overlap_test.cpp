// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <string>

#include <gmock/gmock.h>

#include <layerbench/analysis/scaling/overlapped_prediction.hpp>
#include <layerbench/op/allreduce.hpp>

#include "support/scaling.hpp"

namespace layerbench::analysis {
namespace analysis_overlap_test {

using testing::shipped;

constexpr std::int64_t batch = 16;

/// LeNet-5 that two ranks train at 100 images/s, in whose step each of the two buckets takes
/// `seconds`.
prediction two_ranks(double seconds) {
  const model::graph graph = shipped("lenet5", batch);
  prediction result = spread_throughput(graph, dtype::f32, 100);
  result.model_case.parameters["ranks"] = "2";
  step_time& step = result.step.value();
  step.layers = step.seconds;
  for (const model::bucket& bucket : model::buckets_of(graph, dtype::f32)) {
    const op::any all(op::allreduce{bucket.bytes, 2, true});
    result.layers.push_back({"bucket",
                             std::string(all.name()),
                             "fwd",
                             all.key(),
                             1,
                             false,
                             seconds,
                             0,
                             {},
                             {},
                             model::step_part::backward});
    for (double* time : {&step.layers, &step.seconds, &step.sampling_low, &step.sampling_high}) {
      *time += seconds;
    }
  }
  return result;
}

prediction beside(const prediction& of, const slowdown_interval& factors = {}) {
  return overlapped(of, factors, shipped("lenet5", batch), {});
}

constexpr double computing = batch / 100.;

TEST(Overlap, HidesBucketsReadyBeforeTheLastGradient) {
  const prediction plain = two_ranks(0.001);
  const prediction result = beside(plain);
  EXPECT_NEAR(plain.step->seconds, computing + 0.002, 1e-12);
  EXPECT_NEAR(result.step->seconds, computing + 0.001, 1e-12) << "the last bucket is not hidden";
  EXPECT_EQ(result.model_case.parameter("during", ""), "allreduce");
  EXPECT_EQ(result.model_case.batch, batch);
}

TEST(Overlap, IsSlowedByContention) {
  const slowdowns turns{2, 2};
  const prediction plain = two_ranks(0.001);
  EXPECT_NEAR(beside(plain, {turns, turns, turns}).step->seconds, plain.step->seconds, 1e-12)
      << "taking turns gains nothing";
  const slowdowns faster{0.9, 0.9};
  EXPECT_EQ(beside(plain, {faster, faster, faster}).step->seconds, beside(plain).step->seconds)
      << "overlap makes nothing faster";
}

TEST(Overlap, HasTheIntervalOfItsParts) {
  prediction plain = two_ranks(0.001);
  plain.step->sampling_low -= 0.01;
  plain.step->sampling_high += 0.02;
  const prediction sure = beside(plain);
  const double share = 0.01 / plain.step->seconds;
  EXPECT_NEAR(sure.step->low(), (1 - share) * sure.step->seconds, 1e-12);
  EXPECT_NEAR(sure.step->high(), (1 + 2 * share) * sure.step->seconds, 1e-12);
  const prediction unsure = beside(plain, {{1.5, 1.5}, {1.4, 1.4}, {1.6, 1.6}});
  const prediction known = beside(plain, {{1.5, 1.5}, {1.5, 1.5}, {1.5, 1.5}});
  EXPECT_LT(unsure.step->low(), known.step->low());
  EXPECT_GT(unsure.step->high(), known.step->high());
}

TEST(Overlap, NeedsTheModelThatWasMeasured) {
  EXPECT_THROW(static_cast<void>(overlapped(two_ranks(1), {}, shipped("alexnet", batch), {})),
               error);
}

}  // namespace analysis_overlap_test
}  // namespace layerbench::analysis
