// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>

#include <layerbench/base/json.hpp>
#include <layerbench/base/version.hpp>
#include <layerbench/model/shape_file.hpp>
#include <layerbench/op/builtin.hpp>
#include <layerbench/result/name.hpp>

#include "support/bench.hpp"

namespace layerbench {
namespace bench_list_test {

using ::testing::AllOf;
using testing::bench;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;
using testing::texts;

texts listed(const std::string& program, texts arguments) {
  arguments.emplace_back("--benchmark_list_tests");
  const testing::outcome done = bench(program, arguments);
  EXPECT_EQ(done.exit_code, 0) << done.err;
  return testing::lines(done.out);
}

std::set<std::string> distinct(const texts& names) { return {names.begin(), names.end()}; }

TEST(ListTests, HasTheSmallestCellOfEachStudy) {
  const auto asked = [](texts arguments) {
    arguments.insert(arguments.end(), {"--format", "json"});
    const testing::outcome done = testing::run(LAYERBENCH_TOOL, arguments);
    EXPECT_EQ(done.exit_code, 0) << done.err;
    return json::value::parse(done.out);
  };
  const json::value all = asked({"list", "--studies"});
  ASSERT_FALSE(all.at("studies").empty());
  for (const json::value& study : all.at("studies")) {
    const json::value table = asked({"study", study.at("name"), "--smallest"});
    std::set<std::string> models;
    for (const std::string command : table.at("commands")) {
      texts words;
      std::istringstream stream(command);
      for (std::string word; stream >> word;) words.push_back(word);
      ASSERT_EQ(words.front(), testing::bench_path("bench_model"));
      for (const std::string& row : listed("bench_model", {words.begin() + 1, words.end()})) {
        models.insert(result::parse_row(row).value().model_case.model);
      }
    }
    for (const json::value& cell : table.at("cells")) {
      if (!cell.contains("model")) continue;  // the table says why it has no time
      EXPECT_TRUE(models.contains(cell.at("model"))) << study.at("name") << ' ' << cell;
    }
  }
}

TEST(ListTests, HasOneRowForEachDistinctConvolution) {
  const std::vector<std::pair<std::string, std::size_t>> expected{
      {"resnet50", 24}, {"vgg16", 10}, {"alexnet", 5}};
  for (const auto& [model, count] : expected) {
    const texts names = listed("bench_conv", {"--benchmark_filter=" + model});
    EXPECT_THAT(distinct(names), SizeIs(count)) << model;
    EXPECT_THAT(names, SizeIs(count)) << model;
    EXPECT_EQ(listed("bench_conv", {"--model=" + model}), names);
  }
}

TEST(ListTests, NamesAreThoseOfResultFiles) {
  for (const std::string& program : testing::bench_programs) {
    const texts names = listed(program, {});
    EXPECT_FALSE(names.empty()) << program;
    for (const std::string& name : names) {
      const auto parsed = result::parse_row(name);
      ASSERT_TRUE(parsed) << name;
      EXPECT_EQ(parsed->text(), name);
      EXPECT_EQ(parsed->model_case.backend, testing::usable_backend);
      EXPECT_EQ(parsed->model_case.dtype, "f32");
      EXPECT_EQ(parsed->cache, "model");
      EXPECT_TRUE(parsed->model_case.parameters.empty()) << name;
    }
  }
}

TEST(ListTests, HasEveryBatchAndDataType) {
  const texts names = listed("bench_conv", {"--model=resnet50", "--batch=1,8", "--dtype=f32,bf16"});
  EXPECT_THAT(distinct(names), SizeIs(4 * 24));
  std::set<std::pair<std::int64_t, std::string>> conditions;
  for (const std::string& name : names) {
    const auto parsed = result::parse_row(name);
    ASSERT_TRUE(parsed) << name;
    conditions.emplace(parsed->model_case.batch, parsed->model_case.dtype);
  }
  EXPECT_THAT(conditions, ::testing::ElementsAre(std::pair(1, "bf16"), std::pair(1, "f32"),
                                                 std::pair(8, "bf16"), std::pair(8, "f32")));
}

TEST(ListTests, EnvironmentReplacesOptions) {
  const testing::outcome done = bench("bench_conv", {"--benchmark_list_tests"},
                                      {{"LAYERBENCH_MODEL", "alexnet"}, {"LAYERBENCH_BATCH", "7"}});
  EXPECT_THAT(testing::lines(done.out), AllOf(SizeIs(5), ::testing::Each(HasSubstr("/batch:7/"))));
  EXPECT_THAT(listed("bench_conv", {"--model=vgg16"}), SizeIs(10));
}

TEST(ListTests, ModelIsTheUnionOfTheOtherPrograms) {
  std::set<std::string> all;
  for (const std::string& program : testing::bench_programs) {
    if (program != "bench_model") all.merge(distinct(listed(program, {})));
  }
  EXPECT_EQ(distinct(listed("bench_model", {})), all);
}

TEST(ListTests, NamesShowThreadsThatDifferFromTheDefault) {
  EXPECT_THAT(listed("bench_conv", {"--model=alexnet", "--threads=3"}),
              ::testing::Each(::testing::EndsWith("/batch:1/cache:model/threads:3")));
}

TEST(ListTests, NameEveryRowOnceWhateverIsAskedForTwice) {
  EXPECT_EQ(listed("bench_conv", {"--model=alexnet,alexnet", "--batch=2,2", "--dtype=f32,f32",
                                  "--cache=model,model"}),
            listed("bench_conv", {"--model=alexnet", "--batch=2"}));
}

TEST(Filter, IsARegularExpressionFoundAnywhere) {
  const std::size_t all = listed("bench_conv", {}).size();
  EXPECT_THAT(listed("bench_conv", {"--benchmark_filter=cache:model$"}), SizeIs(all));
  EXPECT_THAT(listed("bench_conv", {"--benchmark_filter=all"}), SizeIs(all));
  EXPECT_THAT(listed("bench_conv", {"--benchmark_filter="}), SizeIs(all));
  EXPECT_THAT(listed("bench_gemm", {"--benchmark_filter=^gemm/.*/vgg16/"}), SizeIs(3));
  EXPECT_THAT(listed("bench_gemm", {"--benchmark_filter=vgg16/(fc6|fc8)/"}),
              ::testing::ElementsAre(HasSubstr("/vgg16/fc6/"), HasSubstr("/vgg16/fc8/")));
}

TEST(Filter, ExcludesWithALeadingMinus) {
  const texts others = listed("bench_conv", {"--benchmark_filter=-resnet50"});
  EXPECT_THAT(others, AllOf(SizeIs(10 + 5), ::testing::Each(Not(HasSubstr("resnet50")))));
}

TEST(List, CountsAddUpToTheModelsLayers) {
  const testing::outcome done = bench("bench_model", {"--list", "--model=resnet50"});
  EXPECT_EQ(done.exit_code, 0) << done.err;
  const texts rows = testing::lines(done.out);
  std::int64_t sum = 0;
  for (std::size_t i = 1; i < rows.size(); ++i) sum += std::stoll(rows[i]);
  const model::graph resnet = model::load(LAYERBENCH_SHAPES_DIR "/models/resnet50.json",
                                          std::nullopt, op::builtin_catalog());
  EXPECT_EQ(sum, static_cast<std::int64_t>(resnet.layers.size()));
  EXPECT_THAT(rows, SizeIs(1 + listed("bench_model", {"--model=resnet50"}).size()));
}

TEST(Backends, SaysWhichCanRun) {
  for (const std::string& program : testing::bench_programs) {
    const testing::outcome done = bench(program, {"--backends"});
    EXPECT_EQ(done.exit_code, 0);
    EXPECT_THAT(done.out, AllOf(::testing::ContainsRegex(testing::usable_backend + " *available"),
                                HasSubstr("onednn"), HasSubstr("reference")));
    EXPECT_EQ(done.out.find("LAYERBENCH_ONEDNN=ON") == std::string::npos, testing::has_onednn);
    EXPECT_EQ(done.out.find("LAYERBENCH_CUDA=ON") == std::string::npos, testing::has_cuda);
  }
}

/// The options that the programs' source defines.
texts defined_options() {
  const std::string source =
      json::read_text(LAYERBENCH_SOURCE_DIR "/include/layerbench/cli/command_line-inl.hpp");
  const std::regex option(R"re("(--\w+(-\w+)*)["{])re");
  texts found;
  for (std::sregex_iterator sregex_iterator(source.begin(), source.end(), option), end;
       sregex_iterator != end; ++sregex_iterator) {
    found.push_back((*sregex_iterator)[1]);
  }
  return found;
}

TEST(Help, HasEveryOption) {
  const texts options = defined_options();
  EXPECT_THAT(options, ::testing::IsSupersetOf({"--model", "--check-machine", "--chain",
                                                "--benchmark_filter", "--benchmark_repetitions"}));
  const std::map<std::string, texts> of_some{{"--chain", {"bench_model"}},
                                             {"--ranks", {"bench_model", "bench_allreduce"}},
                                             {"--during", {"bench_model"}},
                                             {"--collectives", {"bench_allreduce"}},
                                             {"--out-of-place", {"bench_allreduce"}},
                                             {"--registered", {"bench_allreduce"}},
                                             {"--curve", {"bench_model"}},
                                             {"--energy", {"bench_model"}},
                                             {"--streams", {"bench_model"}},
                                             {"--meter", {"bench_model"}},
                                             {"--meter-unit", {"bench_model"}},
                                             {"--yes", {"bench_allreduce"}}};
  for (const std::string& program : testing::bench_programs) {
    const testing::outcome done = bench(program, {"--help"});
    EXPECT_EQ(done.exit_code, 0);
    EXPECT_EQ(done.err, "");
    for (const std::string& option : options) {
      const bool fits =
          !of_some.contains(option) || std::ranges::count(of_some.at(option), program) > 0;
      const bool there =
          std::regex_search(done.out, std::regex("[ ,]" + option + "(\\[=.*\\])?[ \n]"));
      EXPECT_EQ(there, fits) << program << option;
    }
    EXPECT_EQ(bench(program, {"--version"}).out, program + ' ' + version_text() + '\n');
    EXPECT_EQ(bench(program, {"--version"}).exit_code, 0);
  }
}

TEST(Help, HasDefaultsAndEnvironmentNames) {
  EXPECT_THAT(bench("bench_allreduce", {"--help"}).out,
              AllOf(HasSubstr("--ranks"), HasSubstr("--out-of-place")));
  EXPECT_THAT(bench("bench_conv", {"--help"}).out,
              AllOf(HasSubstr("resnet50,vgg16,alexnet"), HasSubstr("LAYERBENCH_BATCH"),
                    HasSubstr("BENCHMARK_OUT"), HasSubstr("default: 0.005;"),
                    HasSubstr("default: console;")));
}

}  // namespace bench_list_test
}  // namespace layerbench
