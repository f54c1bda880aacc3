// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <map>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include <layerbench/analysis/validate/validation.hpp>
#include <layerbench/model/step.hpp>
#include <layerbench/result/read_results.hpp>

#include "support/bench.hpp"

/// Training steps, measured.
namespace layerbench {
namespace bench_training_test {

using ::testing::SizeIs;
using testing::texts;

TEST(TrainingResults, AddUpToAStep) {
  const testing::tiny_directory directory;
  const result::results result =
      directory.measure({"--phase=training", "--chain=layers", "--batch=2", "--cache=model,hot",
                         "--optimizer=adam", "--zero-gradients"});
  std::set<std::string> calls;
  for (const result::measurement& row : result.rows) {
    EXPECT_EQ(row.error, "") << row.name.text();
    EXPECT_EQ(row.name.model_case.phase(), "training");
    if (!row.label.inserted)
      calls.insert(row.name.op + ' ' + model::call_name(row.name.layer, row.name.pass));
  }
  EXPECT_THAT(calls, ::testing::IsSupersetOf(
                         {"conv conv1", "conv conv2:bwd_data", "conv conv2:bwd_weights",
                          "activation relu1", "activation relu2:bwd", "add add1", "add relu1_grad",
                          "pool pool1:fwd_training", "pool pool1:bwd", "gemm fc1:bwd_data",
                          "cross_entropy loss", "cross_entropy loss:bwd", "update fc1_weights",
                          "update fc1_weights_zero", "update fc1_weights_grad"}));
  EXPECT_EQ(result.context.at("optimizer"), "adam, zeroed");
  ASSERT_FALSE(result.chains.empty());
  EXPECT_EQ(result.chains.front().name.model_case.phase(), "training");
  const analysis::validation held = analysis::validate(std::vector{result});
  ASSERT_THAT(held.cases, SizeIs(1));
  EXPECT_EQ(held.cases.front().predicted.coverage, 1);
  std::vector<std::string> parts;
  for (const analysis::validation_part& step_part : held.cases.front().step_parts()) {
    parts.push_back(step_part.name);
    EXPECT_GT(step_part.predicted, 0);
    EXPECT_GT(step_part.measured, 0);
  }
  EXPECT_EQ(parts, (std::vector<std::string>{"forward", "backward", "update"}));
}

TEST(TrainingResults, OfOneOpHaveAllItsPasses) {
  const testing::tiny_directory directory;
  const std::string out = "--benchmark_out=" + directory.results;
  EXPECT_EQ(directory.bench("bench_pool", {"--phase=training", out}).exit_code, 0);
  std::set<std::string> passes;
  for (const result::measurement& row : result::read(directory.results).rows)
    passes.insert(row.name.pass);
  EXPECT_EQ(passes, (std::set<std::string>{"fwd_training", "bwd"}));
}

TEST(TrainingResults, OfOneOpAreThoseOfAWholeModel) {
  const testing::tiny_directory directory;
  using rows = std::map<std::string, std::string>;  // labels by name
  const auto measured = [&](const std::string& program) {
    const std::string out = "--benchmark_out=" + directory.results;
    EXPECT_EQ(directory.bench(program, {"--phase=training", out}).exit_code, 0);
    const result::results result = result::read(directory.results);
    EXPECT_THAT(result.manifest, SizeIs(1));
    rows labels;
    for (const result::measurement& row : result.rows) labels[row.name.text()] = row.label.text();
    return labels;
  };
  const rows own = measured("bench_conv");
  const rows all = measured("bench_model");
  std::size_t inserted = 0;
  for (const auto& [name, label] : own) {
    ASSERT_TRUE(all.contains(name)) << name;
    EXPECT_EQ(label, all.at(name)) << name;
    if (label.ends_with(";inserted")) ++inserted;
  }
  for (const auto& [name, label] : all) {
    EXPECT_TRUE(!name.starts_with("conv/") || own.contains(name)) << name;
  }
  EXPECT_GT(inserted, 0U) << "of the images at least";
}

TEST(TrainingResults, HaveOneNameForEachPieceOfWork) {
  const testing::temporary_directory directory;
  for (const std::string order : {"nhwc", "any"}) {
    for (const texts& more :
         {texts{}, texts{"--fused-update"}, texts{"--fused-update", "--zero-gradients"}}) {
      texts arguments{"--phase=training", "--model=lenet5,resnet18", "--dtype=f32,bf16",
                      "--layout=" + order, "--benchmark_list_tests"};
      arguments.insert(arguments.end(), more.begin(), more.end());
      const testing::outcome done = testing::bench("bench_model", arguments);
      EXPECT_EQ(done.exit_code, 0) << done.err;
      const texts names = testing::lines(done.out);
      EXPECT_EQ(std::set(names.begin(), names.end()).size(), names.size()) << order;
    }
  }
}

TEST(TrainingResults, PredictAModelGivenAsAFileOnlyWhereItIsTheSameWork) {
  const testing::tiny_directory directory;
  const std::vector<result::results> result{
      directory.measure({"--phase=training", "--cache=hot", "--optimizer=sgd"})};
  const analysis::options same{.models = {directory.model}};
  EXPECT_EQ(analysis::predict(result, same).front().coverage, 1);
  EXPECT_FALSE(analysis::predict(result, same).front().derived);
  std::string text = testing::tiny_model;
  text.replace(text.find("\"n\": 10"), 7, "\"n\": 11");
  text.replace(text.find("\"batch\", 10"), 11, "\"batch\", 11");
  const analysis::options other{.models = {directory.write("other.json", text).string()}};
  const analysis::prediction changed = analysis::predict(result, other).front();
  EXPECT_TRUE(changed.derived);
  EXPECT_THAT(changed.missing, ::testing::Contains("fc1:bwd_weights"));
}

}  // namespace bench_training_test
}  // namespace layerbench
