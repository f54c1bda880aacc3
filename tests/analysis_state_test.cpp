// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include <layerbench/analysis/base/predictor.hpp>

#include "support/temporary_directory.hpp"
#include "support/timings.hpp"

namespace layerbench::analysis {
namespace analysis_state_test {

using result::case_name;
using result::results;
using ::testing::ElementsAre;
using testing::file_with;
using testing::in_state;
using ::testing::IsEmpty;
using testing::net;
using testing::only;
using testing::rounds;

/// A file with these rows, whose manifest has the states of a and b.
results stated_file(const std::vector<std::vector<result::measurement>>& rows) {
  results file = file_with(rows);
  file.manifest[net][0].state = "weights:1";
  file.manifest[net][1].state = "src:2";
  return file;
}

const auto hot_a = rounds(net, "a", "k:1", {1, 1, 1});
const auto hot_b = rounds(net, "b", "k:2", {10, 10, 10});
const auto model_a = in_state(rounds(net, "a", "k:1", {2, 2, 2}), "weights:1");
const auto model_b = in_state(rounds(net, "b", "k:2", {20, 20, 20}), "src:2");

TEST(State, IsThatOfTheModelWhereItWasMeasured) {
  const prediction p = only({stated_file({hot_a, hot_b, model_a, model_b})});
  EXPECT_EQ(p.cache, "model");
  EXPECT_EQ(p.method, "sum of cache:model timings");
  EXPECT_DOUBLE_EQ(p.step->seconds, 2 * 2 + 20);
  EXPECT_DOUBLE_EQ(p.hot_sum_seconds.value(), 2 * 1 + 10);
}

TEST(State, IsHotByDefault) {
  const prediction p = only({stated_file({hot_a, hot_b})});
  EXPECT_EQ(p.cache, "hot");
  EXPECT_EQ(p.method, "naive hot sum");
  EXPECT_DOUBLE_EQ(p.step->seconds, 12);
  EXPECT_DOUBLE_EQ(p.hot_sum_seconds.value(), 12);
}

TEST(State, IsChosenByOption) {
  const results file = stated_file({hot_a, hot_b, model_a, model_b});
  EXPECT_DOUBLE_EQ(only({file}, {.models = {}, .cache = "hot"}).step->seconds, 12);
  EXPECT_DOUBLE_EQ(only({file}, {.models = {}, .cache = "model"}).step->seconds, 24);
  const prediction none = only({stated_file({hot_a, hot_b})}, {.models = {}, .cache = "model"});
  EXPECT_THAT(none.missing, ElementsAre("a", "b"));
}

TEST(State, IsNeverMixed) {
  const prediction p = only({stated_file({hot_a, hot_b, model_a})});
  EXPECT_EQ(p.cache, "model");
  EXPECT_THAT(p.missing, ElementsAre("b"));
  EXPECT_FALSE(p.step);
  EXPECT_DOUBLE_EQ(p.hot_sum_seconds.value(), 12);
}

TEST(State, HasNoNaiveSumWhileAHotTimingIsMissing) {
  const prediction p = only({stated_file({hot_a, model_a, model_b})});
  EXPECT_DOUBLE_EQ(p.step->seconds, 24);
  EXPECT_FALSE(p.hot_sum_seconds);
  const prediction partial = only({stated_file({hot_a})}, {.models = {}, .allow_partial = true});
  EXPECT_TRUE(partial.step);
  EXPECT_FALSE(partial.hot_sum_seconds);
}

TEST(State, OfATimingMustBeThatOfTheLayer) {
  case_name other = net;
  other.model = "other";
  const auto elsewhere = [&](const std::string& state) {
    return in_state(rounds(other, "z", "k:2", {30, 30, 30}), state);
  };
  EXPECT_DOUBLE_EQ(only({stated_file({model_a, elsewhere("src:2")})}).step->seconds, 2 * 2 + 30);
  EXPECT_THAT(only({stated_file({model_a, elsewhere("src:3")})}).missing, ElementsAre("b"));
}

TEST(State, OfOtherModelsRowsIsUsedOnlyForAllLayers) {
  case_name other = net;
  other.model = "other";
  const auto z = in_state(rounds(other, "z", "k:2", {30, 30, 30}), "src:2");
  EXPECT_EQ(only({stated_file({hot_a, hot_b, z})}).cache, "hot");
  const auto y = in_state(rounds(other, "y", "k:1", {3, 3, 3}), "weights:1");
  EXPECT_EQ(only({stated_file({hot_a, hot_b, y, z})}).cache, "model");
}

TEST(State, DiffersBetweenLayersOfTheSameWork) {
  results file = file_with({});
  file.manifest[net] = {{"a", "conv", "fwd", "k:1", 2, false, "cold"},
                        {"c", "conv", "fwd", "k:1", 1, false, "warm"}};
  for (const auto& rows :
       {in_state(rounds(net, "a", "k:1", {3, 3}), "cold"),
        in_state(rounds(net, "c", "k:1", {1, 1}), "warm"), rounds(net, "a", "k:1", {0.5, 0.5})}) {
    file.rows.insert(file.rows.end(), rows.begin(), rows.end());
  }
  const prediction p = only({file});
  EXPECT_DOUBLE_EQ(p.step->seconds, 2 * 3 + 1);
  EXPECT_DOUBLE_EQ(p.hot_sum_seconds.value(), 3 * 0.5);
}

TEST(State, IsTakenFromTheManifestThatHasIt) {
  const results hot = file_with({hot_a, hot_b});
  const results model = stated_file({model_a, model_b});
  for (const auto& files : {std::vector{hot, model}, std::vector{model, hot}}) {
    EXPECT_EQ(only(files).cache, "model");
  }
}

TEST(State, IsNotInAShapeFile) {
  const testing::temporary_directory scratch;
  const std::string path = scratch.write("new.json", R"({"name": "new_net", "layers": [
      {"name": "r1", "op": "activation", "shape": {"kind": "relu", "dims": [1, 8]}}]})");
  case_name one = net;
  one.batch = 1;
  results file = file_with({rounds(one, "r", "kind:relu,dims:1x8", {1, 1}),
                            in_state(rounds(one, "r", "kind:relu,dims:1x8", {2, 2}), "")});
  for (result::measurement& row : file.rows) row.name.op = "activation";
  const prediction p = only({file}, {.models = {path}});
  EXPECT_TRUE(p.derived);
  EXPECT_EQ(p.cache, "hot");
  EXPECT_THAT(p.missing, IsEmpty());
}

TEST(ProtocolError, IsThatOfCacheModelSums) {
  const results file = stated_file({hot_a, hot_b, model_a, model_b});
  const step_time model = *only({file}).step;
  EXPECT_DOUBLE_EQ(model.protocol_half_width.value(),
                   24 * result::protocol_error_of({net.backend, "inference", 0, 24})->relative);
  EXPECT_FALSE(only({file}, {.models = {}, .cache = "hot"}).step->protocol_half_width);
}

TEST(Overhead, IsASeparateTerm) {
  results file = stated_file({hot_a, hot_b});
  file.manifest[net].push_back({"r", "conv", "fwd", "k:2", 4, true});  // a backend's, not a layer
  const prediction without = only({file});
  const prediction with =
      only({file}, {.models = {}, .overhead_per_layer = 0.5, .overhead_per_step = 7});
  EXPECT_DOUBLE_EQ(with.step->overhead, 3 * 0.5 + 7);
  EXPECT_DOUBLE_EQ(with.step->layers, without.step->seconds);
  EXPECT_DOUBLE_EQ(with.step->seconds, without.step->seconds + with.step->overhead);
  EXPECT_DOUBLE_EQ(with.step->low(), without.step->low() + with.step->overhead);
  EXPECT_DOUBLE_EQ(with.step->high(), without.step->high() + with.step->overhead);
  EXPECT_DOUBLE_EQ(with.images_per_second().value(), 4 / with.step->seconds);
  EXPECT_DOUBLE_EQ(with.layers.at(0).share, without.layers.at(0).share);
  EXPECT_EQ(with.hot_sum_seconds, without.hot_sum_seconds);
}

}  // namespace analysis_state_test
}  // namespace layerbench::analysis
