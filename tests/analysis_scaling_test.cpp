// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include <layerbench/analysis/scaling/data_parallel.hpp>
#include <layerbench/analysis/scaling/text.hpp>

#include "support/mentions.hpp"
#include "support/scaling.hpp"

namespace layerbench::analysis {
namespace analysis_scaling_test {

using ::testing::AllOf;
using ::testing::ElementsAre;
using testing::mentions;
using testing::ring_of;
using testing::shipped;
using ::testing::SizeIs;

struct divided {
  std::vector<prediction> single;
  options chosen{.models = {}, .shapes = LAYERBENCH_SHAPES_DIR};

  explicit divided(const std::vector<std::int64_t>& batches) {
    for (const std::int64_t batch : batches) {
      single.push_back(spread_throughput(shipped("lenet5", batch), dtype::f32, 100));
    }
  }
  [[nodiscard]] std::vector<data_parallel> on(const std::vector<std::int64_t>& devices) const {
    return predict_data_parallel(single, {}, chosen,
                                 {devices, ring_of(1e-6, 1e9), {}, scaling::strong});
  }
  /// Each case with its own batch.
  [[nodiscard]] std::vector<data_parallel> on_each(const std::vector<std::int64_t>& devices) const {
    return predict_data_parallel(single, {}, chosen, {devices, ring_of(1e-6, 1e9)});
  }
};

/// Matches work that throws an error with exit code 4 and such a message.
template <class Matcher>
auto incomplete(const Matcher& message) {
  return ::testing::Throws<error>(
      AllOf(::testing::Property(&error::code, exit_code::incomplete),
            ::testing::Property(
                &error::what,
                ::testing::ResultOf([](const char* what) { return std::string(what); }, message))));
}

TEST(StrongScaling, DividesTheLargestBatch) {
  const std::vector<data_parallel> all = divided({16, 4, 8}).on({1, 2, 4});
  ASSERT_THAT(all, SizeIs(1));
  const std::vector<scaled_step>& steps = all.front().steps;
  ASSERT_THAT(steps, SizeIs(3));
  EXPECT_EQ(steps[0].batch, 16);
  EXPECT_EQ(steps[1].batch, 8);
  EXPECT_EQ(steps[2].batch, 4);
  EXPECT_EQ(steps[0].efficiency, 1);
  EXPECT_LT(steps[2].step.seconds, steps[1].step.seconds);
  EXPECT_NEAR(steps[2].step.seconds, 0.04 + steps[2].step.exposed, 1e-12);
}

TEST(StrongScaling, NamesTheBatchToMeasure) {
  EXPECT_THAT([] { static_cast<void>(divided({16, 8}).on({1, 2, 4})); },
              incomplete(mentions("--phase=training", "--model=lenet5", "--batch=4")));
  EXPECT_THROW(static_cast<void>(divided({16, 8}).on({3})), usage_error);
}

TEST(WeakScaling, KeepsEveryCasesOwnBatch) {
  const divided cases({16, 4});
  const std::vector<data_parallel> all = cases.on_each({1, 2});
  ASSERT_THAT(all, SizeIs(2));
  EXPECT_EQ(all[0].steps[1].batch, 16);
  EXPECT_EQ(all[1].steps[1].batch, 4);
}

TEST(WeakScaling, NeedsTheStepOfOneDevice) {
  divided cases({16, 4});
  cases.single.back().model_case.parameters["ranks"] = "2";
  EXPECT_THAT(cases.on_each({2}), SizeIs(1)) << "the step of two ranks is left out";
  cases.single.front().model_case.parameters["ranks"] = "4";
  EXPECT_THAT([&] { static_cast<void>(cases.on_each({2})); },
              incomplete(mentions("training/given/f32/lenet5/batch:4/ranks:2", "bench_model")));
}

/// Contention measured with two ranks at that batch.
measured_contention contention_at(const divided& cases, std::int64_t batch, double factor) {
  result::case_name of_ranks = cases.single.front().model_case;
  of_ranks.batch = batch;
  of_ranks.parameters["ranks"] = "2";
  const auto both = [](double its) { return slowdowns{its, 1.25}; };
  return {of_ranks, 0, "", {"r.json"}, {both(factor), both(0.9 * factor), both(1.1 * factor)}};
}

TEST(Contention, AppliesToTheBatchItWasMeasuredWith) {
  const divided cases({16, 4});
  const std::vector<measured_contention> measured{contention_at(cases, 16, 1.5)};
  scaling_options how{{1, 2}, ring_of(1e-6, 1e9)};
  const auto weak = predict_data_parallel(cases.single, {}, cases.chosen, how, measured);
  ASSERT_THAT(weak, SizeIs(2));
  EXPECT_EQ(weak[0].steps[1].contention.factors.usual.computing, 1.5);
  EXPECT_EQ(weak[0].steps[1].contention.from, contention_source::measured);
  EXPECT_EQ(weak[0].steps[1].contention.factors.usual.sending, 1.25);
  EXPECT_THAT(weak[0].steps[1].contention.files, ElementsAre("r.json"));
  EXPECT_EQ(weak[1].steps[1].contention.factors.usual.computing, 1) << "of another batch";
  EXPECT_EQ(weak[1].steps[1].contention.from, contention_source::assumed);
  EXPECT_EQ(weak[0].steps[0].contention.factors.usual.computing, 1) << "of one device";
  how.devices = {1, 2, 4};
  how.scaling = scaling::strong;
  const std::vector<measured_contention> of_part{contention_at(cases, 4, 1.5)};
  const divided parts({16, 8, 4});
  const auto strong = predict_data_parallel(parts.single, {}, parts.chosen, how, of_part);
  ASSERT_THAT(strong, SizeIs(1));
  EXPECT_EQ(strong[0].steps[1].contention.from, contention_source::assumed);
  EXPECT_EQ(strong[0].steps[2].contention.factors.usual.computing, 1.5) << "of its part";
  EXPECT_THAT(text(strong), mentions("1", "1.5", "1.25", "r.json"));
  how.contention = 1.25;
  const auto given = predict_data_parallel(parts.single, {}, parts.chosen, how, of_part);
  EXPECT_EQ(given.at(0).steps[1].contention.factors.usual.computing, 1.25)
      << "the given one has precedence";
}

TEST(Contention, WidensTheIntervalOfThePredictedStep) {
  const divided cases({16});
  const scaling_options how{{2}, ring_of(1e-6, 1e7)};
  const auto step = [&](const measured_contention& its) {
    return predict_data_parallel(cases.single, {}, cases.chosen, how, std::vector{its})
        .at(0)
        .steps.at(0);
  };
  const measured_contention unsure = contention_at(cases, 16, 1.5);
  measured_contention sure = unsure;
  sure.factors.low = sure.factors.high = sure.factors.usual;
  EXPECT_EQ(step(unsure).step.seconds, step(sure).step.seconds);
  EXPECT_LT(step(unsure).seconds_low, step(sure).seconds_low);
  EXPECT_GT(step(unsure).seconds_high, step(sure).seconds_high);
}

TEST(Contention, ThatIsAmbiguousIsRefused) {
  const divided cases({16});
  const std::vector<measured_contention> measured{contention_at(cases, 16, 1.5),
                                                  contention_at(cases, 16, 1.2)};
  const scaling_options how{{2}, ring_of(1e-6, 1e9)};
  const auto predicted = [&](const scaling_options& as) {
    return predict_data_parallel(cases.single, {}, cases.chosen, as, measured);
  };
  EXPECT_THROW(static_cast<void>(predicted(how)), error);
  EXPECT_THAT(predicted({how.devices, how.interconnect, 1.1}), SizeIs(1));
}

TEST(WeakScaling, NeedsTheShapeFileOfAModel) {
  divided cases({16});
  cases.single.front().model_case.model = "unknown";
  EXPECT_THROW(static_cast<void>(cases.on_each({2})), nothing_matched);
}

}  // namespace analysis_scaling_test
}  // namespace layerbench::analysis
