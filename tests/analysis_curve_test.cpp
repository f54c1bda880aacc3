// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <random>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include <layerbench/analysis/curve/curve.hpp>
#include <layerbench/analysis/curve/json.hpp>
#include <layerbench/analysis/curve/text.hpp>

#include "support/mentions.hpp"

namespace layerbench::analysis {
namespace analysis_curve_test {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

/// A layer whose time and FLOPs depend on the size.
struct planted {
  std::string name;
  std::function<double(double)> seconds;
  std::function<double(double)> flops;
};

/// Layers that take a + b * batch: a convolution and one that mostly loads weights.
const std::vector<planted> affine{
    {"conv", [](double n) { return 0.1e-3 + 2e-3 * n; }, [](double n) { return 2e9 * n; }},
    {"fc", [](double n) { return 3e-3 + 0.05e-3 * n; }, [](double n) { return 1e8 * n; }}};

double seconds_of(const std::vector<planted>& layers, double size) {
  double sum = 0;
  for (const planted& layer : layers) sum += layer.seconds(size);
  return sum;
}

/// A step as a result file has it, each layer `noise(…)` times as long as planted.
prediction step_of(
    const std::vector<planted>& layers, std::int64_t batch,
    const std::function<double()>& noise = [] { return 1.0; }, double width = 0.01) {
  prediction p;
  p.model_case = {"onednn", "f32", "net", batch, {}};
  p.files = {"r.json"};
  p.threads = 2;
  p.rounds = 7;
  double sum = 0;
  for (const planted& layer : layers) {
    layer_time& added = p.layers.emplace_back();
    const double seconds = layer.seconds(static_cast<double>(batch)) * noise();
    added.name = layer.name;
    added.op = "conv";
    added.pass = "fwd";
    added.count = 1;
    added.layers = {layer.name};
    added.seconds = seconds;
    added.flops = layer.flops(static_cast<double>(batch));
    sum += seconds;
  }
  p.step = step_time{
      sum, 0, sum, sum * (1 - width), sum * (1 + width), interval_method::bootstrap, std::nullopt};
  return p;
}

curve curve_of(const std::vector<prediction>& steps, const curve_options& wanted = {}) {
  const std::vector<curve> all = curves_of(steps, wanted);
  EXPECT_THAT(all, SizeIs(1));
  return all.at(0);
}

curve curve_of(const std::vector<planted>& layers, const std::vector<std::int64_t>& batches,
               const curve_options& wanted = {}) {
  std::vector<prediction> steps;
  for (const std::int64_t batch : batches) steps.push_back(step_of(layers, batch));
  return curve_of(steps, wanted);
}

TEST(Curve, FindsStepsOfAffineLayersExactly) {
  const curve of = curve_of(affine, {1, 16, 64});
  EXPECT_THAT(of.points, SizeIs(64));
  for (const curve_point& one : of.points) {
    const double exact = seconds_of(affine, static_cast<double>(one.size));
    EXPECT_NEAR(one.seconds, exact, 1e-9 * exact) << one.size;
    EXPECT_LT(one.low, one.seconds);
    EXPECT_GT(one.high, one.seconds);
    EXPECT_DOUBLE_EQ(one.items, static_cast<double>(one.size));
  }
  EXPECT_EQ(of.at(16)->from, point_source::measured);
  EXPECT_EQ(of.at(17)->from, point_source::interpolated);
  EXPECT_THAT(of.checks, SizeIs(1));
  EXPECT_NEAR(of.checks.front().error(), 0, 1e-9);
}

TEST(Curve, KeepsTheIntervalsOfMeasuredSteps) {
  const curve of = curve_of({step_of(affine, 1), step_of(affine, 8), step_of(affine, 64)});
  EXPECT_NEAR(of.at(8)->width(), 0.01, 1e-12);
  for (const curve_point& one : of.points) EXPECT_GE(one.width(), 0.01 - 1e-12) << one.size;
  EXPECT_GT(of.at(24)->width(), of.at(9)->width()) << "further away from measured ones";
}

TEST(Curve, TakesThePowerOfALayersWorkFromItsFlops) {
  const std::vector<planted> attention{
      {"attention", [](double n) { return 1e-3 + 1e-6 * n * n; },
       [](double n) { return 1e3 * n * n; }},
      {"gemm", [](double n) { return 2e-3 + 1e-4 * n; }, [](double n) { return 1e6 * n; }}};
  std::vector<prediction> steps{step_of(attention, 16), step_of(attention, 512)};
  for (prediction& p : steps) {  // as prompts of that many tokens
    p.text = text_length{p.model_case.batch, 0};
    p.model_case.parameters["tokens"] = std::to_string(p.model_case.batch);
    p.model_case.batch = 1;
  }
  const curve of = curve_of(steps);
  EXPECT_EQ(of.over, size_axis::tokens);
  EXPECT_NEAR(of.at(200)->seconds, seconds_of(attention, 200), 1e-9);
  EXPECT_DOUBLE_EQ(of.at(200)->items, 200);
}

TEST(Curve, TakesTheLongestContextWithinTheLimit) {
  std::vector<prediction> steps{step_of(affine, 1), step_of(affine, 64)};
  for (prediction& p : steps) {
    p.text = text_length{1, p.model_case.batch};
    p.model_case.parameters["context"] = std::to_string(p.model_case.batch);
    p.model_case.batch = 1;
  }
  curve_options wanted;
  wanted.most_seconds = 0.05;
  const curve of = curve_of(steps, wanted);
  EXPECT_EQ(of.over, size_axis::context);
  const std::int64_t longest = of.best_within_limit()->size;
  EXPECT_LE(of.at(longest)->high, 0.05);
  EXPECT_GT(of.at(longest + 1)->high, 0.05);
  EXPECT_THAT(text(std::vector{of}), ::testing::Not(HasSubstr("highest throughput")));
}

TEST(Curve, JoinsWhatOnlyOneNeighbourHas) {
  std::vector<planted> with = affine;
  with.push_back({"reorder", [](double) { return 1e-3; }, [](double) { return 0.0; }});
  const curve of = curve_of({step_of(affine, 2), step_of(with, 6)});
  EXPECT_NEAR(of.at(4)->seconds, seconds_of(affine, 4) + 0.5e-3, 1e-12);
}

TEST(Curve, IsAnchoredByChains) {
  curve_options wanted;
  wanted.chains[{step_of(affine, 1).model_case, "r.json"}] = 1.1 * seconds_of(affine, 1);
  wanted.chains[{step_of(affine, 63).model_case, "r.json"}] = 1.2 * seconds_of(affine, 63);
  wanted.chains[{step_of(affine, 63).model_case, "other.json"}] = 5;
  const curve of = curve_of(affine, {1, 15, 63, 100}, wanted);
  ASSERT_THAT(of.anchors, SizeIs(2));
  EXPECT_NEAR(of.at(1)->seconds, 1.1 * seconds_of(affine, 1), 1e-9);
  EXPECT_NEAR(of.at(15)->seconds, 1.16 * seconds_of(affine, 15), 1e-9) << "3 octaves of 5";
  EXPECT_NEAR(of.at(80)->seconds, 1.2 * seconds_of(affine, 80), 1e-9);
  EXPECT_NEAR(of.at(15)->width(), 0.01, 1e-9);
}

TEST(Curve, TakesChainsOfEachFile) {
  std::vector<result::results> files(2);
  files[0].file = "r.json";
  files[1].file = "other.json";
  for (const double seconds : {2., 3., 4.}) {
    result::measurement& row = files[0].chains.emplace_back();
    row.name = result::row_name::chain(step_of(affine, 4).model_case);
    row.seconds = seconds;
  }
  EXPECT_THAT(chains_in(files), ElementsAre(::testing::Pair(
                                    ::testing::Pair(step_of(affine, 4).model_case, "r.json"), 3.)));
}

TEST(Curve, IsSeparateForOtherThreads) {
  std::vector<prediction> steps{step_of(affine, 1), step_of(affine, 8)};
  for (const std::int64_t batch : {1, 4, 8}) {
    steps.push_back(step_of(affine, batch));
    steps.back().model_case.parameters["threads"] = "1";
  }
  const std::vector<curve> all = curves_of(steps);
  ASSERT_THAT(all, SizeIs(2));
  EXPECT_THAT(all[0].sizes, ElementsAre(1, 8));
  EXPECT_THAT(all[1].sizes, ElementsAre(1, 4, 8));
}

TEST(Curve, NeedsTwoSizes) { EXPECT_THAT(curves_of(std::vector{step_of(affine, 4)}), IsEmpty()); }

TEST(Curve, NeedsAsManySizesAsAskedFor) {
  const std::vector two{step_of(affine, 1), step_of(affine, 4)};
  EXPECT_THAT(curves_of(two, {.least_sizes = 3}), IsEmpty());
  EXPECT_THAT(curves_of(two, {.least_sizes = 0}), SizeIs(1));
}

TEST(Curve, GoesThroughAllGapsOfALongRange) {
  const curve of = curve_of(affine, {1, 2, 300, 100'000});
  ASSERT_THAT(of.points, SizeIs(100'000));
  for (const curve_point& one : of.points) {
    ASSERT_NEAR(one.seconds / seconds_of(affine, static_cast<double>(one.size)), 1, 1e-9)
        << one.size;
  }
  EXPECT_EQ(of.at(77'777)->size, 77'777);
  EXPECT_EQ(of.at(100'001), nullptr);
}

TEST(Curve, IsPlainlyWideBeyondTheLargestSizeAndUnknownBelowTheLeast) {
  curve_options wanted;
  wanted.sizes = {1, 4, 11, 16, 32, 64, 256};
  const curve of = curve_of(affine, {4, 8, 16}, wanted);
  EXPECT_EQ(of.at(1), nullptr);
  EXPECT_EQ(of.at(256)->from, point_source::extrapolated);
  EXPECT_NEAR(of.at(256)->seconds, seconds_of(affine, 256), 1e-9);
  EXPECT_GT(of.at(256)->width(), of.at(32)->width());
  EXPECT_GT(of.at(64)->width(), 2 * of.at(11)->width());
}

TEST(Curve, ChoosesSizesByThroughputAndLatency) {
  curve_options wanted;
  wanted.most_seconds = 0.05;
  const curve of = curve_of(affine, {1, 16, 64}, wanted);
  EXPECT_EQ(of.fastest()->size, 64);
  // n / (3.1 ms + 2.05 ms * n) reaches 90 % of its value at 64 at 11.01, and 50 ms at 22.9.
  EXPECT_EQ(of.knee()->size, 12);
  EXPECT_LE(of.best_within_limit()->high, 0.05);
  EXPECT_EQ(of.best_within_limit()->size, 22 - 1);
  wanted.most_seconds = 1e-3;
  EXPECT_EQ(curve_of(affine, {1, 16, 64}, wanted).best_within_limit(), nullptr);
}

/// Measures what next_size() asks for, up to `most` steps.
std::vector<prediction> measure_as_asked(const std::vector<planted>& layers,
                                         std::vector<prediction> steps, double goal,
                                         std::size_t most, const std::function<double()>& noise) {
  while (steps.size() < most) {
    const auto next = next_size(curve_of(steps), goal, std::numeric_limits<std::int64_t>::max());
    if (!next) break;
    steps.push_back(step_of(layers, *next, noise));
  }
  return steps;
}

TEST(Curve, HoldsNineteenOfTwentyStepsOfNoisyLayers) {
  int inside = 0;
  int all = 0;
  double errors = 0;
  for (unsigned seed = 1; seed <= 30; ++seed) {
    std::mt19937 random(seed);
    std::normal_distribution<double> one_percent(1, 0.01);
    const auto noise = [&] { return one_percent(random); };
    // Beyond 12 images the step leaves the last-level cache, and images take 15 % longer.
    std::vector<planted> layers = affine;
    layers.front().seconds = [](double n) {
      return 1e-3 + 2e-3 * n + 0.3e-3 * std::max(0., n - 12);
    };
    const auto steps = measure_as_asked(
        layers, {step_of(layers, 1, noise, 0.02), step_of(layers, 256, noise, 0.02)}, 0.03, 9,
        noise);
    for (const curve_point& one : curve_of(steps).points) {
      if (one.from == point_source::measured) continue;
      const double exact = seconds_of(layers, static_cast<double>(one.size));
      ++all;
      inside += one.low <= exact && exact <= one.high ? 1 : 0;
      errors += std::abs(one.seconds / exact - 1);
    }
  }
  EXPECT_GE(inside, 0.95 * all);
  EXPECT_LE(errors / all, 0.02);
}

TEST(Curve, IsWideWhereAKernelSwitchesAndExactOnceBothSidesAreMeasured) {
  std::vector<planted> layers = affine;
  layers.front().seconds = [](double n) { return n < 21 ? 0.1e-3 + 2e-3 * n : 1e-3 + 1.2e-3 * n; };
  const double exact = seconds_of(layers, 24);
  const curve before = curve_of(layers, {1, 4, 16, 64});
  EXPECT_LE(before.at(24)->low, exact);
  EXPECT_GE(before.at(24)->high, exact);
  const curve after = curve_of(layers, {1, 4, 16, 20, 21, 64});
  for (const curve_point& one : after.points) {
    EXPECT_NEAR(one.seconds, seconds_of(layers, static_cast<double>(one.size)), 1e-9) << one.size;
  }
}

TEST(NextSize, IsTheLeastSureOneUntilAllAreKnown) {
  const auto exactly = [] { return 1.0; };
  const curve first = curve_of(affine, {1, 64});
  const auto next = next_size(first, 0.02, 64);
  ASSERT_TRUE(next);
  EXPECT_NEAR(std::log2(static_cast<double>(*next)), 3, 0.5) << "the middle in octaves";
  EXPECT_LE(next_size(first, 0.02, 4).value(), 4) << "more than may be measured";
  const auto steps =
      measure_as_asked(affine, {step_of(affine, 1), step_of(affine, 64)}, 0.02, 30, exactly);
  EXPECT_LT(steps.size(), 30U);
  for (const curve_point& one : curve_of(steps).points) EXPECT_LE(one.width(), 0.02) << one.size;
}

TEST(NextSize, PrefersSizesOfTheOtherParity) {
  const auto next = next_size(curve_of(affine, {4, 1024}), 0.02, 1024);
  EXPECT_EQ(next.value() % 2, 1) << next.value();
}

TEST(NextSize, IsNoneOfTheTriedOnes) {
  const curve of = curve_of(affine, {1, 8});
  std::set<std::int64_t> tried;
  while (const auto next = next_size(of, 0, 8, tried)) {
    ASSERT_TRUE(tried.insert(*next).second) << *next;
  }
  EXPECT_THAT(tried, ElementsAre(2, 3, 4, 5, 6, 7));
}

TEST(CurveText, NamesTheChosenSizes) {
  curve_options wanted;
  wanted.most_seconds = 0.05;
  const std::vector all{curve_of(affine, {1, 16, 64}, wanted)};
  const std::string shown = text(all);
  EXPECT_THAT(shown, HasSubstr("net inference, onednn f32, 2 threads, over batch\n"));
  EXPECT_THAT(shown, HasSubstr("measured: batch 1, 16, 64\n"));
  EXPECT_THAT(shown, HasSubstr("highest throughput: batch 64: "));
  EXPECT_THAT(shown, HasSubstr("within 50.00 ms: batch 21: "));
  EXPECT_THAT(to_table(all[0]).rows, SizeIs(9)) << "1 2 4 8 12 16 21 42 64, see text";
  EXPECT_THAT(records(all).rows, SizeIs(64));
}

TEST(CurveText, SaysThatAModelIsPartial) {
  prediction first = step_of(affine, 1);
  first.left_out = 0.1;
  const std::vector all{curve_of({first, step_of(affine, 8)})};
  EXPECT_THAT(text(all), HasSubstr("partial model"));
  EXPECT_EQ(to_json(all)["curves"][0]["partial"], true);
}

// The shortest context would always be the best.
TEST(BestCurve, IsOfCurvesOverOneAxis) {
  std::vector<prediction> steps;
  for (const std::int64_t batch : {1, 8}) {
    for (const std::int64_t context : {128, 512}) {
      for (const std::int64_t threads : {1, 2}) {
        steps.push_back(step_of(affine, batch));
        steps.back().model_case.parameters = {{"context", std::to_string(context)},
                                              {"threads", std::to_string(threads)}};
        steps.back().text = text_length{1, context};
      }
    }
  }
  const std::vector<curve> all = curves_of(steps);
  const auto is_over_context = [](const curve& of) { return of.over == size_axis::context; };
  ASSERT_TRUE(std::ranges::any_of(all, is_over_context));
  const std::vector<const curve*> best = best_of(all);
  EXPECT_THAT(best, SizeIs(2)) << "a batch for each context";
  for (const curve* of : best) EXPECT_EQ(of->over, size_axis::batch);
}

TEST(CurveJson, HasAllPoints) {
  const std::vector all{curve_of(affine, {1, 16, 64})};
  const json::value found = to_json(all)["curves"][0];
  EXPECT_EQ(found["over"], "batch");
  EXPECT_EQ(found["items"], "images");
  EXPECT_EQ(found["measured"], json::value({1, 16, 64}));
  EXPECT_EQ(found["fastest"], 64);
  EXPECT_EQ(found["knee"], 12);
  EXPECT_TRUE(found["best_within_limit"].is_null());
  EXPECT_THAT(found["points"], SizeIs(64));
  EXPECT_EQ(found["points"][1]["from"], "interpolated");
  EXPECT_DOUBLE_EQ(found["points"][1]["seconds_per_step"], all[0].points[1].seconds);
}

TEST(CurveJson, HasNoIntervalBesideStepsWithoutOne) {
  prediction unsure = step_of(affine, 8, [] { return 1.0; }, 0);
  unsure.step->kind = interval_method::none;
  const curve of = curve_of({step_of(affine, 1), unsure, step_of(affine, 64)});
  EXPECT_FALSE(of.at(2)->has_interval);
  EXPECT_TRUE(of.at(1)->has_interval);
  const json::value found = to_json(std::vector{of})["curves"][0]["points"][1];
  EXPECT_TRUE(found["seconds_low"].is_null());
  EXPECT_THAT(text(std::vector{of}), HasSubstr("not known"));
}

}  // namespace analysis_curve_test
}  // namespace layerbench::analysis
