// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include <layerbench/base/table.hpp>
#include <layerbench/base/version.hpp>

#include "support/golden.hpp"
#include "support/mentions.hpp"
#include "support/program.hpp"

namespace layerbench {
namespace tools_layerbench_test {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::mentions;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;

const std::string& golden = testing::tiny_file;

testing::outcome tool(const std::vector<std::string>& arguments,
                      const testing::environment& changes = {}, const std::string& out = {}) {
  return testing::run(LAYERBENCH_TOOL, arguments, changes, out);
}

json::value json_of(const std::vector<std::string>& arguments) {
  const testing::outcome done = tool(arguments);
  EXPECT_EQ(done.exit_code, 0) << done.err;
  return json::value::parse(done.out);
}

TEST(Tool, PrintsItsVersionAndHelpOnStdout) {
  EXPECT_EQ(tool({"--version"}).out, "layerbench " + version_text() + '\n');
  const std::vector<std::vector<std::string>> questions{
      {"--help"}, {"list", "--help"}, {"show", "--help"}, {"predict", "--help"}};
  for (const auto& arguments : questions) {
    const testing::outcome done = tool(arguments);
    EXPECT_EQ(done.exit_code, 0);
    EXPECT_THAT(done.out, mentions("layerbench", "--help"));
    EXPECT_EQ(done.err, "");
  }
}

TEST(Tool, RefusesAWrongCommandLine) {
  const std::vector<std::vector<std::string>> wrong{{},
                                                    {"frobnicate"},
                                                    {"list", "--colour"},
                                                    {"list", "--format", "xml"},
                                                    {"show"},
                                                    {"show", "resnet50", "--batch", "0"},
                                                    {"show", "resnet50", "--batch", "1.5"},
                                                    {"show", "resnet50", "--batch", "2147483648"},
                                                    {"show", "resnet50", "--phase", "dreaming"},
                                                    {"predict"},
                                                    {"list", "-o", "/nowhere/out"},
                                                    {"list", "-o", "/"}};
  for (const auto& arguments : wrong) {
    const testing::outcome done = tool(arguments);
    EXPECT_EQ(done.exit_code, 2) << ::testing::PrintToString(arguments);
    EXPECT_EQ(done.out, "");
    EXPECT_THAT(done.err, StartsWith("layerbench: "));
  }
}

struct wrong_line {
  std::vector<std::string> arguments;
  std::vector<std::string> words;
};

TEST(Tool, NamesTheWrongWordAndTheKnownOnes) {
  const std::vector<wrong_line> wrong{
      {{}, {"list", "show", "predict", "validate", "--help"}},
      {{"frobnicate"}, {"frobnicate", "list", "show", "predict"}},
      {{"--colour", "list"}, {"--colour", "--version", "layerbench --help"}},
      {{"list", "--colour"}, {"--colour", "--format", "--schema", "list --help"}},
      {{"list", "resnet50"}, {"list", "resnet50"}},
      {{"predict", "--model"}, {"--model", "predict --help"}},
      {{"list", "--format", "xml"}, {"--format", "xml", "text", "json", "csv"}},
      {{"list", "--shapes", "/nowhere"}, {"--shapes", "/nowhere"}},
      {{"show"}, {"model", "show --help"}}};
  for (const auto& [arguments, words] : wrong) {
    const testing::outcome done = tool(arguments);
    EXPECT_EQ(done.exit_code, 2);
    EXPECT_THAT(done.err, StartsWith("layerbench: "));
    for (const std::string& word : words) EXPECT_THAT(done.err, mentions(word));
  }
}

TEST(Tool, NamesTheWrongVariable) {
  const testing::environment wrong{{"LAYERBENCH_SHAPES", "/nowhere"}};
  const testing::outcome done = tool({"list"}, wrong);
  EXPECT_EQ(done.exit_code, 2);
  EXPECT_THAT(done.err, AllOf(HasSubstr("LAYERBENCH_SHAPES"), HasSubstr("/nowhere")));
  const testing::outcome given = tool({"list", "--shapes", "/neither"}, wrong);
  EXPECT_THAT(given.err, AllOf(HasSubstr("/neither"), Not(HasSubstr("LAYERBENCH_SHAPES"))));
}

TEST(List, HasEveryModelInEveryFormat) {
  const json::value all = json_of({"list", "--format", "json"});
  EXPECT_EQ(all.at("schema"), 1);
  std::vector<std::string> names;
  for (const json::value& value : all.at("models")) names.push_back(value.at("name"));
  EXPECT_THAT(names, ::testing::IsSupersetOf({"alexnet", "resnet50", "vgg16"}));
  EXPECT_THAT(tool({"list"}).out, AllOf(StartsWith("| name"), HasSubstr("resnet50")));
  EXPECT_THAT(tool({"list", "--format", "csv"}).out,
              AllOf(StartsWith("name,title,batch,layers,macs,parameters,family,data,studies,aliases"
                               "\r\n"),
                    HasSubstr(",175,4089184256,25557032,resnet,imagenet,")));
}

std::vector<std::string> listed(std::vector<std::string> options) {
  options.insert(options.begin(), "list");
  options.insert(options.end(), {"--format", "json"});
  std::vector<std::string> names;
  const json::value all = json_of(options);
  for (const json::value& value : all.at("models")) names.push_back(value.at("name"));
  return names;
}

/// Shape files of a layer each, with these fields besides.
class ListSelection : public ::testing::Test {
 protected:
  void SetUp() override {
    write("b_net", R"("family": "wide", "data": "mnist", "studies": ["old", "new"])");
    write("a_net", R"("family": "wide", "data": "cifar10", "studies": ["new"])");
    write("c_net", R"("family": "deep", "data": "mnist", "aliases": ["C-net"])");
    write("d_net", R"("title": "of no family")");
  }
  void write(const std::string& name, const std::string& fields) {
    std::filesystem::create_directories(scratch_.path() / "models");
    static_cast<void>(scratch_.write(
        "models/" + name + ".json",
        R"({"name": ")" + name + R"(", )" + fields +
            R"(, "layers": [{"name": "a", "op": "softmax", "shape": {"dims": [2, 4]}}]})"));
  }
  [[nodiscard]] std::vector<std::string> with(std::vector<std::string> options) const {
    options.insert(options.end(), {"--shapes", scratch_.path().string()});
    return options;
  }

  testing::temporary_directory scratch_;
};

TEST_F(ListSelection, GroupsModelsByFamily) {
  EXPECT_THAT(listed(with({})), ElementsAre("d_net", "c_net", "a_net", "b_net"));
}

TEST_F(ListSelection, FiltersByFamilyDataAndStudy) {
  EXPECT_THAT(listed(with({"--family=wide"})), ElementsAre("a_net", "b_net"));
  EXPECT_THAT(listed(with({"--family=wide,deep"})), ElementsAre("c_net", "a_net", "b_net"));
  EXPECT_THAT(listed(with({"--data=mnist"})), ElementsAre("c_net", "b_net"));
  EXPECT_THAT(listed(with({"--study", "new"})), ElementsAre("a_net", "b_net"));
  EXPECT_THAT(listed(with({"--study=new", "--data=mnist"})), ElementsAre("b_net"));
}

TEST_F(ListSelection, SaysWhichValuesThereAre) {
  const testing::outcome unknown = tool(with({"list", "--family=wider"}));
  EXPECT_EQ(unknown.exit_code, 5);
  EXPECT_THAT(unknown.err,
              AllOf(HasSubstr("--family"), HasSubstr("wider"), HasSubstr("deep wide")));
  EXPECT_EQ(tool(with({"list", "--data=imagenet"})).exit_code, 5);
  EXPECT_EQ(tool(with({"list", "--study=older"})).exit_code, 5);
  const testing::outcome nothing = tool(with({"list", "--family=deep", "--study=old"}));
  EXPECT_EQ(nothing.exit_code, 5);
}

TEST_F(ListSelection, HasTheFieldsInEveryFormat) {
  const json::value all = json_of(with({"list", "--format", "json"})).at("models");
  EXPECT_EQ(all.at(1).at("family"), "deep");
  EXPECT_EQ(all.at(1).at("data"), "mnist");
  EXPECT_EQ(all.at(1).at("aliases"), json::value({"C-net"}));
  EXPECT_EQ(all.at(3).at("studies"), json::value({"old", "new"}));
  EXPECT_THAT(tool(with({"list", "--format=csv"})).out, HasSubstr(",wide,mnist,old new,\r\n"));
  EXPECT_THAT(tool(with({"list"})).out, AllOf(HasSubstr("family"), HasSubstr("cifar10")));
}

TEST_F(ListSelection, ModelsAreFoundByAnAlias) {
  const json::value shown = json_of(with({"show", "C-net", "--format", "json"}));
  EXPECT_EQ(shown.at("model"), "c_net");
  EXPECT_EQ(shown.at("family"), "deep");
  EXPECT_EQ(shown.at("aliases"), json::value({"C-net"}));
  EXPECT_THAT(tool(with({"show", "b_net"})).out,
              HasSubstr("family: wide; data: mnist; studies: old new\n"));
  EXPECT_EQ(tool(with({"show", "C-ne"})).exit_code, 5);
}

TEST(List, FindsShapesByOptionAndEnvironment) {
  const testing::temporary_directory scratch;
  const std::string empty = scratch.path().string();
  EXPECT_EQ(tool({"list", "--shapes", empty}).exit_code, 5);
  EXPECT_EQ(tool({"list"}, {{"LAYERBENCH_SHAPES", empty}}).exit_code, 5);
  EXPECT_EQ(
      tool({"list", "--shapes", LAYERBENCH_SHAPES_DIR}, {{"LAYERBENCH_SHAPES", empty}}).exit_code,
      0);
}

TEST(List, PrintsTheSchema) {
  EXPECT_EQ(tool({"list", "--schema"}).out, json::read_text(LAYERBENCH_SHAPES_DIR "/schema.json"));
}

TEST(Show, HasThePublishedTotals) {
  const json::value net = json_of({"show", "resnet50", "--batch", "1", "--format", "json"});
  std::vector<std::string> keys;
  for (const auto& item : net.items()) keys.push_back(item.key());
  EXPECT_THAT(keys, ElementsAre("schema", "model", "title", "source", "left_out", "family", "data",
                                "studies", "aliases", "phase", "fusion", "batch", "tokens",
                                "context", "parameters", "macs", "conv_layers",
                                "unique_conv_shapes", "activations", "footprint_bytes", "layers"));
  EXPECT_EQ(net.at("schema"), 1);
  EXPECT_EQ(net.at("parameters"), 25557032);
  EXPECT_EQ(net.at("macs"), 4089184256);
  EXPECT_EQ(net.at("conv_layers"), 53);
  EXPECT_EQ(net.at("unique_conv_shapes"), 23);
  EXPECT_THAT(net.at("layers"), SizeIs(175));
  const std::int64_t statistics = 2 * 26560;  // of all batchnorms
  const std::int64_t ends = 3 * 224 * 224 + 1000;
  EXPECT_EQ(net.at("footprint_bytes"),
            4 * (25557032 + net.at("activations").get<std::int64_t>() + statistics + ends))
      << "activations work in place";
  const json::value& add = net.at("layers").at(14);
  EXPECT_EQ(add.at("after"), json::value({"layer1_0_bn3", "layer1_0_downsample_bn"}));
  EXPECT_EQ(net.at("layers").at(0).at("after"), json::value::array());
}

TEST(Show, ScalesWithTheBatch) {
  const json::value net = json_of({"show", "resnet50", "--batch", "8", "--format", "json"});
  EXPECT_EQ(net.at("batch"), 8);
  EXPECT_EQ(net.at("macs"), 8 * 4089184256);
  EXPECT_EQ(net.at("parameters"), 25557032);
}

TEST(Show, HasTextAndCsv) {
  EXPECT_THAT(tool({"show", "vgg16"}).out, AllOf(StartsWith("vgg16"), HasSubstr("| conv")));
  EXPECT_THAT(tool({"show", "vgg16", "--format", "csv"}).out,
              StartsWith("name,op,pass,macs,flops,bytes,key,after\r\n"));
}

TEST(Show, HasTheStepOfTraining) {
  const std::map<std::string, std::int64_t> macs{
      {"resnet50", 12149538816}, {"vgg16", 46324088832}, {"alexnet", 2072288640}};
  for (const auto& [model, item] : macs) {
    const json::value net =
        json_of({"show", model, "--batch", "2", "--phase", "training", "--format", "json"});
    EXPECT_EQ(net.at("phase"), "training");
    EXPECT_EQ(net.at("macs"), 2 * item) << model;
    EXPECT_EQ(net.at("layers").back().at("op"), "update");
  }
  EXPECT_THAT(tool({"show", "lenet5", "--phase", "training", "--wide"}).out,
              AllOf(StartsWith("lenet5"), HasSubstr("bwd_weights"), HasSubstr("loss:bwd")));
}

TEST(Show, FitsATerminalUnlessWide) {
  const std::vector<std::string> training{"show", "resnet50", "--phase", "training"};
  const auto widest_row = [](const std::string& out) {
    std::size_t most = 0;
    std::istringstream lines(out);
    for (std::string line; std::getline(lines, line);) {
      if (line.starts_with('|')) most = std::max(most, display_width(line));
    }
    return most;
  };
  const std::string narrow = tool(training).out;
  EXPECT_LE(widest_row(narrow), 100);
  EXPECT_THAT(narrow, HasSubstr("layer4_0_downsample_conv:bwd_weights"));
  std::vector<std::string> whole = training;
  whole.emplace_back("--wide");
  EXPECT_GT(widest_row(tool(whole).out), 100);
}

TEST(Show, NamesTheLayerWithoutAGradient) {
  const testing::temporary_directory scratch;
  const std::string path = scratch.write("odd.json", R"({"name": "odd", "layers": [
      {"name": "turn", "op": "reorder", "shape": {"dims": [2, 4], "from": "ab", "to": "ba"}}]})");
  const testing::outcome refused = tool({"show", path, "--phase", "training"});
  EXPECT_EQ(refused.exit_code, 4);
  EXPECT_THAT(refused.err, mentions("turn", "reorder", "gradient"));
}

TEST(Show, NamesTheFaultOfAModel) {
  const testing::outcome unknown = tool({"show", "resnet5"});
  EXPECT_EQ(unknown.exit_code, 5);
  EXPECT_THAT(unknown.err, HasSubstr("resnet50"));
  const testing::temporary_directory scratch;
  const std::string path = scratch.write("m.json", R"({"name": "m", "layers": 7})").string();
  const testing::outcome broken = tool({"show", path});
  EXPECT_EQ(broken.exit_code, 3);
  EXPECT_THAT(broken.err, AllOf(HasSubstr(path), HasSubstr("/layers")));
  EXPECT_EQ(tool({"show", (scratch.path() / "absent.json").string()}).exit_code, 3);
}

TEST(Predict, GivesTheThroughputOfACoveredModel) {
  const json::value all = json_of({"predict", golden, "--model", "small", "--format", "json"});
  ASSERT_THAT(all.at("predictions"), SizeIs(1));
  const json::value& small = all.at("predictions").at(0);
  EXPECT_DOUBLE_EQ(small.at("seconds_per_step"), 2.2e-3);
  EXPECT_EQ(small.at("coverage"), 1.0);
}

TEST(Predict, ExitsIncompleteAndNamesTheLayers) {
  for (const std::string format : {"text", "json", "csv"}) {
    const testing::outcome done = tool({"predict", golden, "--format", format});
    EXPECT_EQ(done.exit_code, 4);
    EXPECT_THAT(done.err, mentions("inference/reference/f32/tiny/batch:4"));
    EXPECT_THAT(done.err, Not(HasSubstr("tiny/batch:2")));
    EXPECT_THAT(format == "text" ? done.out : done.err, mentions("conv1", "fc")) << "once";
    EXPECT_EQ(format == "text", done.err.find("conv1") == std::string::npos) << done.err;
    EXPECT_THAT(done.out, mentions("tiny", "small")) << "what is complete is printed";
  }
  EXPECT_EQ(tool({"predict", golden, "--allow-partial"}).exit_code, 0);
}

TEST(Predict, NamesTheCommandThatMeasuresMissingLayers) {
  json::value file = json::value::parse(json::read_text(golden));
  file["context"]["layerbench_program"] = "bench_model";
  const testing::temporary_directory scratch;
  const std::string path = scratch.write("r.json", file.dump()).string();
  EXPECT_THAT(tool({"predict", path}).err, HasSubstr("bench/bench_model --resume=" + path));
  EXPECT_THAT(tool({"predict", golden}).err, Not(HasSubstr("--resume")));
}

TEST(Predict, AcceptsModelsBeforeOrAfterTheFiles) {
  EXPECT_EQ(tool({"predict", "--model", "small", golden}).exit_code, 0);
  EXPECT_EQ(tool({"predict", "--model", "small", "--model", "tiny", golden}).exit_code, 4);
}

TEST(Predict, ListsTheCasesWhenNoneMatches) {
  const testing::outcome done = tool({"predict", golden, "--model", "absent"});
  EXPECT_EQ(done.exit_code, 5);
  EXPECT_THAT(done.err, HasSubstr("inference/reference/f32/small/batch:2"));
}

TEST(Predict, NamesAnUnmeasuredModelsLayers) {
  const testing::outcome done = tool({"predict", golden, "--model", "alexnet"});
  EXPECT_EQ(done.exit_code, 4);
  EXPECT_THAT(done.err, mentions("inference/reference/f32/alexnet/batch:2"));
  EXPECT_THAT(done.out, AllOf(mentions("conv1", "relu1"), HasSubstr(" more\n")));
}

TEST(Predict, AcceptsAModelWithoutABatchParameter) {
  const testing::temporary_directory directory;
  const std::string fixed = directory.write("fixed.json", R"({"name": "fixed", "layers": [
      {"name": "prob", "op": "softmax", "shape": {"dims": [2, 3]}}]})");
  const testing::outcome done = tool({"predict", golden, "--model", fixed});
  // The rows are for batches 2 and 4, so there is no case to predict: not a fault of the file.
  EXPECT_EQ(done.exit_code, 5);
}

TEST(Predict, RefusesAFileOfAggregates) {
  const testing::temporary_directory scratch;
  json::value file = json::value::parse(json::read_text(golden));
  json::value aggregates = json::value::array();
  for (const json::value& row : file["benchmarks"]) {
    if (row.at("run_type") == "aggregate") aggregates.push_back(row);
  }
  file["benchmarks"] = aggregates;
  const std::string path = scratch.write("r.json", file.dump()).string();
  const testing::outcome done = tool({"predict", path});
  EXPECT_EQ(done.exit_code, 3);
  EXPECT_THAT(done.err, mentions(path, "--benchmark_report_aggregates_only"));
}

TEST(Predict, RefusesBrokenFiles) {
  const testing::temporary_directory scratch;
  const std::string whole = json::read_text(golden);
  const std::string path = scratch.write("r.json", whole.substr(0, whole.size() / 2)).string();
  const testing::outcome done = tool({"predict", golden, path});
  EXPECT_EQ(done.exit_code, 3);
  EXPECT_THAT(done.err, AllOf(HasSubstr(path), HasSubstr("line "), Not(HasSubstr("exception"))));
  EXPECT_EQ(done.out, "");
  EXPECT_EQ(tool({"predict", "/nowhere.json"}).exit_code, 3);
}

TEST(Predict, RefusesAFileThatIsGivenTwice) {
  const testing::temporary_directory scratch;
  const std::filesystem::path link = scratch.path() / "link.json";
  std::filesystem::create_symlink(golden, link);
  const testing::outcome done = tool({"predict", golden, link.string()});
  EXPECT_EQ(done.exit_code, 2);
  EXPECT_THAT(done.err, mentions(link.string()));
}

TEST(Predict, RefusesPeaksOfAFileThatHasNone) {
  const testing::outcome done = tool({"predict", golden, "--peaks", golden});
  EXPECT_EQ(done.exit_code, 3);
  EXPECT_THAT(done.err, mentions(golden, "bench_peak"));
  EXPECT_EQ(tool({"report", golden, "--peaks", golden}).exit_code, 3);
}

TEST(Predict, AcceptsADashForStdout) {
  const testing::outcome plain = tool({"predict", golden});
  EXPECT_EQ(tool({"predict", golden, "-o", "-"}).out, plain.out);
  EXPECT_FALSE(std::filesystem::exists("-"));
}

TEST(Predict, MergesNoFilesOfDifferingContexts) {
  const testing::temporary_directory scratch;
  json::value other = json::value::parse(json::read_text(golden));
  other["context"]["directory"] = "another CPU";
  const std::string path = scratch.write("r.json", other.dump()).string();
  const testing::outcome done =
      tool({"predict", golden, path, "--model", "small", "--format", "json"});
  EXPECT_EQ(done.exit_code, 0);
  EXPECT_THAT(json::value::parse(done.out).at("predictions"), SizeIs(2));
  EXPECT_THAT(done.err, mentions(golden, path, "directory"));
}

TEST(Output, ReplacesTheFileAtOnce) {
  const testing::temporary_directory scratch;
  const std::string path = scratch.write("out.json", "old").string();
  const testing::outcome done = tool({"list", "--format", "json", "-o", path});
  EXPECT_EQ(done.exit_code, 0) << done.err;
  EXPECT_EQ(done.out, "");
  EXPECT_TRUE(json::value::accept(json::read_text(path)));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(scratch.path()), {}), 1);
}

TEST(Output, LeavesTheOldFileOnFailure) {
  const testing::temporary_directory scratch;
  const std::string path = scratch.write("out.json", "old").string();
  EXPECT_EQ(tool({"show", "absent", "-o", path}).exit_code, 5);
  EXPECT_EQ(json::read_text(path), "old");
}

TEST(Output, IsWrittenForIncompletePredictions) {
  const testing::temporary_directory scratch;
  const std::string path = (scratch.path() / "out.json").string();
  EXPECT_EQ(tool({"predict", golden, "--format", "json", "-o", path}).exit_code, 4);
  EXPECT_TRUE(json::value::accept(json::read_text(path)));
}

TEST(Output, ReportsAFullDisk) {
  const testing::outcome done = tool({"list"}, {}, "/dev/full");
  EXPECT_EQ(done.exit_code, 1);
  EXPECT_THAT(done.err, HasSubstr("stdout"));
}

TEST(Tool, SuggestsAnOption) {
  const testing::outcome done = tool({"predict", golden, "--modle", "tiny"});
  EXPECT_EQ(done.exit_code, 2);
  EXPECT_THAT(done.err, HasSubstr("--model"));
}

TEST(Show, RefusesWhatIsNoFileAndWhatATerminalWouldObey) {
  const testing::outcome endless = tool({"show", "/dev/zero"});
  EXPECT_EQ(endless.exit_code, 3);
  EXPECT_THAT(endless.err, HasSubstr("/dev/zero"));
  const testing::temporary_directory scratch;
  const std::string bell = scratch
                               .write("bell.json", R"({"name": "bell", "title": "a\u001b[31m",
      "layers": [{"name": "a", "op": "add", "shape": {"dims": [1, 2]}, "after": []}]})")
                               .string();
  const testing::outcome done = tool({"show", bell});
  EXPECT_EQ(done.exit_code, 3);
  EXPECT_THAT(done.err, AllOf(HasSubstr("/title"), Not(HasSubstr("\x1b"))));
  const std::string key = scratch.write("key.json", R"({"name": "a", "\u001b[31m": 1})").string();
  const testing::outcome unknown = tool({"show", key});
  EXPECT_EQ(unknown.exit_code, 3);
  EXPECT_THAT(unknown.err, AllOf(HasSubstr(key), Not(HasSubstr("\x1b"))));
}

TEST(Show, LeavesOutWhatAModelDoesNotSay) {
  const testing::temporary_directory scratch;
  const std::string model = scratch
                                .write("bare.json", R"({"name": "bare", "layers": [
      {"name": "a", "op": "softmax", "shape": {"dims": [1, 2]}}]})")
                                .string();
  const testing::outcome done = tool({"show", model});
  EXPECT_EQ(done.exit_code, 0) << done.err;
  EXPECT_THAT(done.out, AllOf(Not(HasSubstr(": ,")), Not(HasSubstr("sizes from")),
                              StartsWith("bare: inference")));
}

TEST(Predict, ReadsFromAPipe) {
  const testing::outcome done = testing::run(
      "/bin/bash", {"-c", "exec \"$0\" predict <(cat \"$1\")", LAYERBENCH_TOOL, golden});
  EXPECT_EQ(done.out, tool({"predict", golden}).out);
  EXPECT_NE(done.out, "");
}

TEST(Predict, SaysThatCsvLacksWhatItNeeds) {
  const testing::temporary_directory scratch;
  const std::string file =
      scratch.write("r.csv", "name,iterations,real_time,cpu_time,time_unit\n").string();
  const testing::outcome done = tool({"predict", file});
  EXPECT_EQ(done.exit_code, 3);
  EXPECT_THAT(done.err, AllOf(HasSubstr(file), HasSubstr("--benchmark_out_format=json")));
}

TEST(Predict, RefusesAnotherVersionOfTheFormat) {
  const testing::temporary_directory scratch;
  json::value changed = json::value::parse(json::read_text(golden));
  changed["context"]["layerbench_schema"] = "99";
  const std::string file = scratch.write("r.json", changed.dump()).string();
  const testing::outcome done = tool({"predict", file});
  EXPECT_EQ(done.exit_code, 3);
  EXPECT_THAT(done.err, AllOf(HasSubstr(file), HasSubstr("/context/layerbench_schema")));
}

}  // namespace tools_layerbench_test
}  // namespace layerbench
