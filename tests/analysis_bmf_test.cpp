// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include <layerbench/analysis/base/predictor.hpp>
#include <layerbench/analysis/predict/bmf.hpp>
#include <layerbench/analysis/predict/json.hpp>
#include <layerbench/base/json.hpp>
#include <layerbench/result/read_results.hpp>

namespace layerbench::report {
namespace analysis_bmf_test {

using ::testing::ElementsAre;

std::vector<analysis::prediction> golden() {
  const std::vector files{result::read(LAYERBENCH_SOURCE_DIR "/tests/golden/tiny_results.json")};
  return analysis::predict(files, {.models = {}, .allow_partial = true});
}

std::vector<std::string> keys(const json::value& object) {
  std::vector<std::string> names;
  for (const auto& item : object.items()) names.push_back(item.key());
  return names;
}

TEST(Bmf, HasLatencyAndThroughputOfWholeSteps) {
  const std::vector<analysis::prediction> all = golden();
  ASSERT_TRUE(all.at(2).partial());
  const json::value result = to_bmf(all);
  EXPECT_THAT(keys(result), ElementsAre("inference/reference/f32/tiny/batch:2/threads:1",
                                        "inference/reference/f32/small/batch:2/threads:1"));
  const json::value& tiny = result.at("inference/reference/f32/tiny/batch:2/threads:1");
  EXPECT_THAT(keys(tiny), ElementsAre("latency", "throughput"));
  const json::value expected = to_json(all).at("predictions").at(0);
  const auto number = [&](const char* name) { return expected.at(name).get<double>(); };
  const json::value& latency = tiny.at("latency");
  EXPECT_THAT(keys(latency), ElementsAre("value", "lower_value", "upper_value"));
  EXPECT_DOUBLE_EQ(latency.at("value"), 1e9 * number("seconds_per_step"));
  EXPECT_DOUBLE_EQ(latency.at("lower_value"), 1e9 * number("seconds_low"));
  EXPECT_DOUBLE_EQ(latency.at("upper_value"), 1e9 * number("seconds_high"));
  const json::value& throughput = tiny.at("throughput");
  EXPECT_DOUBLE_EQ(throughput.at("value"), number("images_per_second"));
  EXPECT_DOUBLE_EQ(throughput.at("lower_value"), 2 / number("seconds_high"));
  EXPECT_DOUBLE_EQ(throughput.at("upper_value"), 2 / number("seconds_low"));
}

TEST(Bmf, HasNoBoundsWithoutAnInterval) {
  std::vector<analysis::prediction> one{golden().at(0)};
  one[0].step->sampling_low = one[0].step->sampling_high = one[0].step->seconds;
  const json::value result = to_bmf(one);
  EXPECT_THAT(keys(result.front().at("latency")), ElementsAre("value"));
  EXPECT_THAT(keys(result.front().at("throughput")), ElementsAre("value"));
}

TEST(Bmf, NamesTheThreadsOnceOrNotAtAll) {
  std::vector<analysis::prediction> one{golden().at(0)};
  one[0].threads = 4;
  one[0].model_case.parameters["threads"] = "4";
  EXPECT_THAT(keys(to_bmf(one)), ElementsAre("inference/reference/f32/tiny/batch:2/threads:4"));
  one[0].model_case.parameters.clear();
  one[0].threads = 0;
  EXPECT_THAT(keys(to_bmf(one)), ElementsAre("inference/reference/f32/tiny/batch:2"));
}

TEST(Bmf, RefusesTwoPredictionsOfOneName) {
  const analysis::prediction one = golden().at(0);
  EXPECT_THROW(static_cast<void>(to_bmf(std::vector{one, one})), usage_error);
}

TEST(Bmf, IsAnObjectEvenWithoutPredictions) {
  EXPECT_EQ(to_bmf(std::vector{golden().at(2)}).dump(), "{}");
}

}  // namespace analysis_bmf_test
}  // namespace layerbench::report
