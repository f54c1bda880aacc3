// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include <layerbench/analysis/base/predictor.hpp>

#include "support/mentions.hpp"
#include "support/temporary_directory.hpp"
#include "support/timings.hpp"

namespace layerbench::analysis {
namespace analysis_select_test {

using result::case_name;
using result::measurement;
using result::results;
using ::testing::ElementsAre;
using testing::file_of_a_and_b;
using testing::file_with;
using ::testing::IsEmpty;
using testing::net;
using testing::only;
using testing::rounds;
using ::testing::SizeIs;

/// Two layers of the same work, at any batch.
constexpr const char* new_net = R"({"name": "new_net", "parameters": {"batch": 1}, "layers": [
    {"name": "r1", "op": "activation", "shape": {"kind": "relu", "dims": ["batch", 8]}},
    {"name": "r2", "op": "activation", "shape": {"kind": "relu", "dims": ["batch", 8]}}]})";

TEST(Select, UsesTheLongestManifest) {
  const results plain = file_of_a_and_b({1}, {1});
  results longer = plain;
  longer.manifest[net].push_back({"a_src", "reorder", "fwd", "r:1", 1, true});
  for (const auto& files : {std::vector{plain, longer}, std::vector{longer, plain}}) {
    EXPECT_THAT(only(files).missing, ElementsAre("a_src"));
  }
}

TEST(Select, TakesTheThreadsOfTheCaseFirst) {
  results file = file_with({});
  file.manifest.clear();
  case_name two = net;
  two.parameters["threads"] = "2";
  file.manifest[two] = {{"a", "conv", "fwd", "k:1", 1}};
  EXPECT_EQ(only({file}).threads, 2);
}

TEST(Select, KeepsTheOrderOfTheManifestOrOfTheChoice) {
  results file = file_with({rounds(net, "a", "k:1", {1})});
  case_name other = net;
  other.model = "an_earlier_letter";
  file.manifest[other] = {{"a", "conv", "fwd", "k:1", 1}};
  const auto names = [&](const options& chosen) {
    std::vector<std::string> models;
    for (const prediction& item : predict(std::vector{file}, chosen)) {
      models.push_back(item.model_case.model);
    }
    return models;
  };
  EXPECT_THAT(names({}), ElementsAre("net", "an_earlier_letter"));
  EXPECT_THAT(names({.models = {"an_earlier_letter", "net", "net"}}),
              ElementsAre("an_earlier_letter", "net"));
}

TEST(Select, IsOfTheChosenModelsOnly) {
  results file = file_with({rounds(net, "a", "k:1", {1})});
  case_name other = net;
  other.model = "other";
  file.manifest[other] = {{"a", "conv", "fwd", "k:1", 1}};
  EXPECT_EQ(only({file}, {.models = {"other"}}).model_case.model, "other");
  EXPECT_THAT(predict(std::vector{file}), SizeIs(2));
}

TEST(Select, NamesTheCasesWhenNoneMatches) {
  const std::vector files{file_with({})};
  EXPECT_THAT([&] { static_cast<void>(predict(files, {.models = {"nothing"}})); },
              ::testing::ThrowsMessage<nothing_matched>(testing::mentions(net.text())));
  EXPECT_THROW(static_cast<void>(predict(std::vector<results>(1))), nothing_matched);
}

TEST(Select, TakesTheStepOfAnUnplannedModelFromItsShapeFile) {
  const testing::temporary_directory scratch;
  const std::string path = scratch.write("new.json", new_net).string();
  results file = file_with({rounds(net, "a", "kind:relu,dims:4x8", {1, 2, 3})});
  for (measurement& row : file.rows) row.name.op = "activation";
  const prediction p = only({file}, {.models = {path}});
  EXPECT_TRUE(p.derived);
  EXPECT_EQ(p.model_case.text(), "inference/reference/f32/new_net/batch:4");
  EXPECT_DOUBLE_EQ(p.step->seconds, 2 * 2);
  EXPECT_EQ(p.layers.at(0).count, 2);
}

TEST(Select, UsesTheManifestForAShapeFileOfTheSameWork) {
  const testing::temporary_directory scratch;
  const std::string path = scratch.write("any.json", new_net).string();
  results file = file_with({rounds(net, "a", "kind:relu,dims:4x8", {1})});
  for (measurement& row : file.rows) row.name.op = "activation";
  case_name known = net;
  known.model = "new_net";
  const result::planned relu{"r1", "activation", "fwd", "kind:relu,dims:4x8", 2};
  file.manifest[known] = {relu, {"r1_src", "reorder", "fwd", "r:1", 1, true}};
  const prediction same = only({file}, {.models = {path}});
  EXPECT_FALSE(same.derived);
  EXPECT_THAT(same.missing, ElementsAre("r1_src"));
  file.manifest[known].front().count = 3;  // the file was changed since
  const prediction changed = only({file}, {.models = {path}});
  EXPECT_TRUE(changed.derived);
  EXPECT_THAT(changed.missing, IsEmpty());
}

}  // namespace analysis_select_test
}  // namespace layerbench::analysis
