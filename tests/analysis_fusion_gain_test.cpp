// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include <layerbench/analysis/base/predictor.hpp>
#include <layerbench/analysis/predict/fusion_gain.hpp>
#include <layerbench/analysis/predict/json.hpp>
#include <layerbench/analysis/predict/text.hpp>

#include "support/mentions.hpp"
#include "support/timings.hpp"

/// What fusion gains, call by call.
namespace layerbench::analysis {
namespace analysis_fusion_gain_test {

using testing::mentions;
using testing::net;
using testing::rounds;
using ::testing::SizeIs;

const std::vector<double> ones{1, 1, 1, 1, 1, 1, 1};

std::vector<double> times(double factor) { return std::vector<double>(ones.size(), factor); }

/// A net of conv a, relu r, conv b (as a), relu s (as r), conv c and relu t.
result::results measured(double first, double second) {
  result::case_name fused = net;
  fused.parameters["fusion"] = "mine";
  result::results file = testing::file_with(
      {rounds(net, "a", "k:1", times(2)), rounds(net, "r", "relu", ones),
       rounds(net, "c", "k:2", times(3)), rounds(fused, "a+r", "k:1,post:relu", times(first)),
       rounds(fused, "c+t", "k:2,post:relu", times(second))});
  const auto planned = [](const std::string& key, const std::vector<std::string>& layers) {
    result::planned one{layers.front(), "conv", "fwd", key,
                        static_cast<std::int64_t>(layers.size())};
    one.layers = layers;
    return one;
  };
  file.manifest[net] = {planned("k:1", {"a", "b"}), planned("relu", {"r", "s", "t"}),
                        planned("k:2", {"c"})};
  file.manifest[fused] = {planned("k:1,post:relu", {"a+r", "b+s"}),
                          planned("k:2,post:relu", {"c+t"})};
  return file;
}

TEST(FusionGain, IsTheSumOfTheLayersBesideTheFusedCall) {
  const std::vector<prediction> predictions = predict(std::vector{measured(2.25, 5)}, {});
  const std::vector<fusion_gain> gains = fusion_gains(predictions);
  ASSERT_THAT(gains, SizeIs(1));
  EXPECT_DOUBLE_EQ(gains[0].apart->step->seconds, 10);
  EXPECT_DOUBLE_EQ(gains[0].fused->step->seconds, 9.5);
  EXPECT_THAT(text(gains), mentions("(-5.0 %)"));
  ASSERT_THAT(gains[0].calls, SizeIs(2));
  const fused_call& best = gains[0].calls[0];
  EXPECT_EQ(best.name, "a+r");
  EXPECT_EQ(best.count, 2);
  EXPECT_DOUBLE_EQ(best.apart.value, 3);
  EXPECT_DOUBLE_EQ(best.together.value, 2.25);
  EXPECT_DOUBLE_EQ(best.saved(), 1.5);
  EXPECT_FALSE(best.loses());
  EXPECT_DOUBLE_EQ(gains[0].calls[1].saved(), -1);
  EXPECT_TRUE(gains[0].calls[1].loses());
  EXPECT_THAT(text(gains), mentions("a+r", "c+t", "slower", "-25.0"));
  json::value all = to_json(predictions);
  add_fusion_gains(all, gains);
  EXPECT_EQ(all["fusions"][0]["calls"][1]["loses"], true);
}

TEST(FusionGain, CountsOnlyFusedCallsOfAPrimitive) {
  result::results file = measured(2.25, 5);
  auto& fused = std::ranges::find_if(file.manifest, [](const auto& entry) {
                  return entry.first.fused();
                })->second;
  fused.front().layers = {"c", "b+s"};  // `c` does the same work alone
  const std::vector<prediction> predictions = predict(std::vector{file}, {});
  const std::vector<fusion_gain> gains = fusion_gains(predictions);
  ASSERT_THAT(gains, SizeIs(1));
  const auto call = std::ranges::find(gains[0].calls, "b+s", &fused_call::name);
  ASSERT_NE(call, gains[0].calls.end());
  EXPECT_EQ(call->count, 1);
  EXPECT_DOUBLE_EQ(call->apart.value, 3);
}

TEST(FusionGain, HasNoTableOfAPlanThatJoinsNoLayers) {
  result::results file = measured(2.25, 5);
  for (auto& [model_case, step] : file.manifest) {
    if (!model_case.fused()) continue;
    step[0].layers = {"a", "b"};
    step[1].layers = {"c"};
  }
  const std::vector<prediction> predictions = predict(std::vector{file}, {});
  const std::string shown = text(fusion_gains(predictions));
  EXPECT_THAT(shown, ::testing::HasSubstr("ms per step; with it"));
  EXPECT_THAT(shown, ::testing::Not(::testing::HasSubstr("fused call")));
}

TEST(FusionGain, NeedsTheModelLayerByLayer) {
  result::results file = measured(2, 3);
  std::erase_if(file.rows, [](const result::measurement& row) { return row.name.layer == "r"; });
  options partly;
  partly.allow_partial = true;
  const std::vector<prediction> predictions = predict(std::vector{file}, partly);
  EXPECT_THAT(fusion_gains(predictions), SizeIs(0));
  file.manifest.erase(net);
  EXPECT_THAT(fusion_gains(predict(std::vector{file}, partly)), SizeIs(0));
}

}  // namespace analysis_fusion_gain_test
}  // namespace layerbench::analysis
