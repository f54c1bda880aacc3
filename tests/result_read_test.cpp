// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include <layerbench/base/description.hpp>
#include <layerbench/model/shape_file.hpp>
#include <layerbench/result/context_difference.hpp>
#include <layerbench/result/field_dimensions.hpp>
#include <layerbench/result/manifest_json.hpp>
#include <layerbench/result/plan_candidates.hpp>

#include "support/golden.hpp"
#include "support/temporary_directory.hpp"

namespace layerbench::result {
namespace result_read_test {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

const std::string& golden = testing::tiny_file;
const std::string row_name_text = "conv/fwd/reference/f32/tiny/conv1/batch:2/cache:hot";

/// A file with a row of another benchmark and one row of layerbench, which has `fields` as its
/// timings.
std::string file_with(const std::string& fields, const std::string& context = "{}") {
  return R"({"context": )" + context + R"(, "benchmarks": [ {"name": "BM_other", "real_time": 1},
      {"name": ")" +
         row_name_text + R"(", "label": "key=k:1;algo=a;state=")" +
         (fields.empty() ? "" : ", " + fields) + "}]}";
}

TEST(Read, ReadsRoundsWithoutAggregatesAndForeignRows) {
  const results file = read(golden);
  EXPECT_EQ(file.file, golden);
  EXPECT_EQ(file.context.at("device"), "example CPU");
  EXPECT_EQ(file.context.at("num_cpus"), "2");
  EXPECT_FALSE(file.context.contains("manifest"));
  EXPECT_THAT(file.rows, SizeIs(6 * 3 + 1));
  EXPECT_EQ(file.aggregates, 6 * 3);
  const measurement& first = file.rows.front();
  EXPECT_EQ(first.name.text(), row_name_text);
  EXPECT_EQ(first.label.key, "n:2,c:3,h:8,w:8,k:4,r:3,s:3,pad:1");
  EXPECT_EQ(first.label.algorithm, "direct");
  EXPECT_DOUBLE_EQ(first.seconds, 1e-3);
  EXPECT_EQ(first.calls, 100);
  EXPECT_EQ(first.counters.at("flops"), 2764800);
  EXPECT_FALSE(first.counters.contains("real_time"));
  EXPECT_EQ(file.rows[2].round, 2);
}

TEST(Read, KeepsTheErrorOfARow) {
  const results file = read(golden);
  const auto failed = std::ranges::find_if_not(file.rows, &std::string::empty, &measurement::error);
  ASSERT_NE(failed, file.rows.end());
  EXPECT_EQ(failed->error, "reference: f32 conv is not there");
  EXPECT_EQ(failed->name.model_case.batch, 4);
}

TEST(Read, SeparatesChainsFromRows) {
  const results file = testing::chain_results();
  EXPECT_THAT(file.chains, SizeIs(6 + 2 + 2));
  EXPECT_EQ(file.chains.front().name.text(), "chain/inference/reference/f32/tiny/batch:2");
  EXPECT_DOUBLE_EQ(file.chains.front().seconds, 3.125e-3);
  EXPECT_EQ(file.chains.at(6).counters.at("disturbed"), 1);
  for (const measurement& row : file.rows) EXPECT_FALSE(row.name.is_chain());
}

TEST(Read, ConvertsTimeUnits) {
  const testing::temporary_directory scratch;
  const std::vector<std::pair<std::string, double>> units{
      {"ns", 1e-9}, {"us", 1e-6}, {"ms", 1e-3}, {"s", 1}};
  for (const auto& [unit, seconds] : units) {
    const auto path = scratch.write(
        "r.json", file_with(R"("real_time": 3, "cpu_time": 2, "time_unit": ")" + unit + '"'));
    EXPECT_DOUBLE_EQ(read(path).rows.at(0).seconds, 3 * seconds) << unit;
  }
}

TEST(Read, NeedsNoManifest) {
  const testing::temporary_directory scratch;
  const auto path = scratch.write("r.json", R"({"context": {}, "benchmarks": []})");
  EXPECT_THAT(read(path).manifest, IsEmpty());
  EXPECT_THAT(read(path).rows, IsEmpty());
}

TEST(Manifest, IsReadBack) {
  const manifest cases = read(golden).manifest;
  std::vector<std::string> names;
  for (const auto& [model_case, step] : cases) names.push_back(model_case.text());
  EXPECT_THAT(names, ElementsAre("inference/reference/f32/tiny/batch:2",
                                 "inference/reference/f32/small/batch:2",
                                 "inference/reference/f32/tiny/batch:4"))
      << "not the order of the file";
  manifest changed = cases;
  changed.begin()->second.push_back({"conv1_src", "reorder", "fwd", "dims:1x2", 1, true});
  changed.begin()->second.push_back({"conv2", "conv", "fwd", "k:2", 1, true, "src:\"warm\""});
  changed.begin()->second.front().chain_seconds = 0x1.8p-20;
  changed.begin()->second.front().left_out = 0.25;
  changed.begin()->second.front().traffic = {{1000, 0, false}, {20, 1LL << 40, true}};
  const std::string text = write_manifest(changed);
  const manifest again = read_manifest(text, "r.json");
  EXPECT_EQ(write_manifest(again), text);
  const std::vector<planned>& step = again.begin()->second;
  EXPECT_TRUE(step.at(3).inserted);
  EXPECT_FALSE(step.front().inserted);
  EXPECT_EQ(step.front().state, "");
  EXPECT_EQ(step.front().chain_seconds, 0x1.8p-20);
  EXPECT_EQ(step.front().left_out, 0.25);
  EXPECT_FALSE(step.at(3).left_out);
  EXPECT_FALSE(step.at(3).chain_seconds);
  EXPECT_EQ(step.at(4).state, "src:\"warm\"");
  EXPECT_THAT(step.at(3).traffic, SizeIs(0));
  ASSERT_THAT(step.front().traffic, SizeIs(2));
  EXPECT_EQ(step.front().traffic[1].bytes, 20);
  EXPECT_EQ(step.front().traffic[1].distance, 1LL << 40);
  EXPECT_TRUE(step.front().traffic[1].written);
  EXPECT_FALSE(step.front().traffic[0].written);
}

TEST(Manifest, AddsOnlyNewCases) {
  manifest cases = read(golden).manifest;
  const case_name known = cases.begin()->first;
  case_name added = known;
  added.model = "added";
  manifest others;
  others[known] = {};
  others[added] = {{"a", "conv", "fwd", "k:1", 1}};
  cases.merge(others);
  EXPECT_THAT(cases, SizeIs(4));
  EXPECT_THAT(cases[known], SizeIs(3));
  EXPECT_THAT(cases[added], SizeIs(1));
  cases.erase(added);
  EXPECT_EQ(std::ranges::count(cases, added, &manifest::entry::first), 0);
  EXPECT_EQ(std::ranges::count(cases, known, &manifest::entry::first), 1);
}

TEST(Manifest, HasThePrimitivesOfAModel) {
  const model::graph net = model::load(LAYERBENCH_SHAPES_DIR "/models/alexnet.json");
  model::primitive first = model::primitives(model::inference_step(net)).front();
  const planned entry = planned_of(first);
  EXPECT_EQ(entry.layer, first.layer);
  EXPECT_EQ(entry.op, "conv");
  EXPECT_EQ(entry.pass, "fwd");
  EXPECT_EQ(entry.key, first.op.key());
  EXPECT_EQ(entry.count, 1);
  EXPECT_FALSE(entry.inserted);
  first.inserted = true;
  EXPECT_TRUE(planned_of(first).inserted);
}

TEST(Manifest, HasTheCacheStateOfOperands) {
  const model::graph net = model::load(LAYERBENCH_SHAPES_DIR "/models/alexnet.json");
  const model::step step = model::inference_step(net, dtype::bf16);
  const model::step_memory memory(step, model::least_operand_bytes(dtype::bf16));
  const model::primitive first = model::primitives(step).front();
  const planned entry = planned_of(first, memory.most_frequent_state(first), dtype::bf16);
  EXPECT_EQ(entry.state, memory.most_frequent_state(first).signature());
  ASSERT_THAT(entry.traffic, SizeIs(4));  // source, weights, bias, destination
  EXPECT_EQ(entry.traffic[0].bytes, 2 * 3 * 224 * 224);
  EXPECT_EQ(entry.traffic[0].distance, 0) << "the model's input was just written";
  EXPECT_EQ(entry.traffic[1].bytes, 2 * 64 * 3 * 11 * 11);
  EXPECT_EQ(entry.traffic[1].distance, memory.footprint());
  EXPECT_FALSE(entry.traffic[2].written);
  EXPECT_EQ(entry.traffic[3].bytes, 2 * 64 * 55 * 55);
  EXPECT_TRUE(entry.traffic[3].written);
}

TEST(Manifest, CountsOperandsInPlaceOnce) {
  const model::graph net = model::load(LAYERBENCH_SHAPES_DIR "/models/alexnet.json");
  for (const bool in_place : {true, false}) {
    const model::step step = model::inference_step(
        net, dtype::f32, in_place ? model::usually_in_place() : model::op_names{});
    const model::step_memory memory(step, model::least_operand_bytes(dtype::f32));
    const std::vector<model::primitive> all = model::primitives(step);
    const auto relu = std::ranges::find_if(
        all, [](const model::primitive& primitive) { return primitive.op.name() == "activation"; });
    ASSERT_NE(relu, all.end());
    const planned entry = planned_of(*relu, memory.most_frequent_state(*relu), dtype::f32);
    ASSERT_THAT(entry.traffic, SizeIs(in_place ? 1 : 2));
    EXPECT_TRUE(entry.traffic.back().written);
    EXPECT_EQ(entry.traffic.back().bytes, 4 * 64 * 55 * 55);
    EXPECT_EQ(entry.traffic.front().distance, 0) << "it was just written";
  }
}

struct bad_file {
  std::string what;
  std::string text;
  std::string place;
};

std::ostream& operator<<(std::ostream& out, const bad_file& file) { return out << file.what; }

class BadResults : public ::testing::TestWithParam<bad_file> {};

TEST_P(BadResults, AreRefusedWithFileAndPlace) {
  const testing::temporary_directory scratch;
  const auto path = scratch.write("r.json", GetParam().text);
  try {
    static_cast<void>(read(path));
    ADD_FAILURE() << "was accepted";
  } catch (const bad_input& e) {
    EXPECT_THAT(e.what(), AllOf(HasSubstr(path.string()), HasSubstr(GetParam().place),
                                Not(HasSubstr("json.exception"))));
  } catch (const std::exception& other) {
    ADD_FAILURE() << "not a bad_input: " << other.what();
  }
}

std::string with_context(const std::string& field, const std::string& text) {
  return file_with(R"("real_time": 1, "cpu_time": 1)", nlohmann::json{{field, text}}.dump());
}
std::string with_manifest(const std::string& manifest) {
  return with_context("manifest", manifest);
}

TEST(Candidates, AreReadAsTheyWereWritten) {
  const plan_candidates all{
      {"a/threads:1/f32/nhwc/conv/fwd/k:1",
       {{.algorithm = "usual",
         .first_seconds = 0x1p-10,
         .hot_seconds = 0x1p-11,
         .cold_seconds = 0x1p-9,
         .workspace_bytes = 4096},
        {.algorithm = "other", .first_seconds = 0x1p-8, .note = "slow: \"1.7\" \xff"},
        {.algorithm = "bad", .note = "wrong", .forbidden = true}}}};
  const std::string text = write_candidates(all);
  const results read = parse(with_context("candidates", text), "r.json");
  EXPECT_FALSE(read.context.contains("candidates")) << "no condition of the run";
  EXPECT_EQ(write_candidates(read.candidates), text);
  const std::vector<plan_candidate>& again = read.candidates.begin()->second;
  ASSERT_EQ(again.size(), 3U);
  EXPECT_EQ(again[0].cold_seconds, 0x1p-9);
  EXPECT_EQ(again[0].workspace_bytes, 4096);
  EXPECT_FALSE(again[1].hot_seconds);
  EXPECT_TRUE(again[2].forbidden);
}

INSTANTIATE_TEST_SUITE_P(
    Files, BadResults,
    ::testing::Values(
        bad_file{"empty", "", "JSON"}, bad_file{"text", "name,iterations\nconv,1\n", "JSON"},
        bad_file{"truncated", file_with(R"("real_time": 1, "cpu_time": 1)").substr(0, 150),
                 "line 2"},
        bad_file{"trailing", file_with(R"("real_time": 1, "cpu_time": 1)") + "]", "JSON"},
        bad_file{"nan", file_with(R"("real_time": NaN, "cpu_time": 1)"), "JSON"},
        bad_file{"overflow", file_with(R"("real_time": 1e999, "cpu_time": 1)"), "1e999"},
        bad_file{"list", "[]", "benchmark"}, bad_file{"number", "12", "benchmark"},
        bad_file{"other_object", R"({"benchmarks": []})", "benchmark"},
        bad_file{"no_time", file_with(""), "/benchmarks/1"},
        bad_file{"text_time", file_with(R"("real_time": "1", "cpu_time": 1)"), "/benchmarks/1"},
        bad_file{"null_time", file_with(R"("real_time": null, "cpu_time": 1)"), "/benchmarks/1"},
        bad_file{"zero_time", file_with(R"("real_time": 0, "cpu_time": 1)"), "/benchmarks/1"},
        bad_file{"negative_time", file_with(R"("real_time": -1, "cpu_time": 1)"), "/benchmarks/1"},
        bad_file{"tiny_time", file_with(R"("real_time": 1e-300, "cpu_time": 1)"), "/benchmarks/1"},
        bad_file{"zero_mean", file_with(R"("real_time": 1, "cpu_time": 1, "mean_s": 0)"),
                 "/benchmarks/1"},
        bad_file{"no_cpu_time", file_with(R"("real_time": 1)"), "/benchmarks/1"},
        bad_file{"unit", file_with(R"("real_time": 1, "cpu_time": 1, "time_unit": "h")"),
                 "/benchmarks/1"},
        bad_file{"unit_type", file_with(R"("real_time": 1, "cpu_time": 1, "time_unit": 1)"),
                 "/benchmarks/1"},
        bad_file{"label_type",
                 R"({"context": {}, "benchmarks": [{"name": ")" + row_name_text +
                     R"(", "label": 7, "real_time": 1, "cpu_time": 1}]})",
                 "/benchmarks/0"},
        bad_file{"name_type", R"({"context": {}, "benchmarks": [{"name": 7}]})", "/benchmarks/0"},
        bad_file{"mean_type", file_with(R"("real_time": 1, "cpu_time": 1, "mean_s": "abc")"),
                 "/benchmarks/1/mean_s"},
        bad_file{"mean_nan", file_with(R"("real_time": 1, "cpu_time": 1, "mean_s": -NaN)"),
                 "/benchmarks/1/mean_s"},
        bad_file{"mark_type", file_with(R"("real_time": 1, "cpu_time": 1, "disturbed": true)"),
                 "/benchmarks/1/disturbed"},
        bad_file{"counter_list", file_with(R"("real_time": 1, "cpu_time": 1, "flops": [1])"),
                 "/benchmarks/1/flops"},
        bad_file{"energy_part", file_with(R"("real_time": 1, "cpu_time": 1, "energy_net_j": 1)"),
                 "/benchmarks/1/energy_gross_j"},
        bad_file{
            "energy_without_idle",
            file_with(R"("real_time": 1, "cpu_time": 1, "energy_net_j": 1, "energy_gross_j": 2)"),
            "/benchmarks/1/idle_w"},
        bad_file{"round_fraction",
                 file_with(R"("real_time": 1, "cpu_time": 1, "repetition_index": 1.5)"),
                 "/benchmarks/1/repetition_index"},
        bad_file{"calls_type", file_with(R"("real_time": 1, "cpu_time": 1, "iterations": "9")"),
                 "/benchmarks/1/iterations"},
        bad_file{"failure_type", file_with(R"("error_occurred": "true")"),
                 "/benchmarks/1/error_occurred"},
        bad_file{"reason_type", file_with(R"("error_occurred": true, "error_message": NaN)"),
                 "/benchmarks/1/error_message"},
        bad_file{"run_name_type", file_with(R"("real_time": 1, "cpu_time": 1, "run_name": 7)"),
                 "/benchmarks/1/run_name"},
        bad_file{"context_type",
                 file_with(R"("real_time": 1, "cpu_time": 1)", R"({"threads": {"a": 1}})"),
                 "/context/threads"},
        bad_file{"context_number",
                 file_with(R"("real_time": 1, "cpu_time": 1)", R"({"interrupted": 1})"),
                 "/context/interrupted"},
        bad_file{"context_library",
                 file_with(R"("real_time": 1, "cpu_time": 1)", R"({"onednn_version": NaN})"),
                 "/context/onednn_version"},
        bad_file{"google_context",
                 file_with(R"("real_time": 1, "cpu_time": 1)", R"({"num_cpus": "two"})"),
                 "/context/num_cpus"},
        bad_file{"manifest_object",
                 file_with(R"("real_time": 1, "cpu_time": 1)", R"({"manifest": {}})"),
                 "/context/manifest"},
        bad_file{"profile_nan", R"({"context": {}, "benchmarks": [], "engine_layers":
                     {"c": [{"type": "t", "layers": [], "seconds": NaN}]}})",
                 "/engine_layers/c/0/seconds"},
        bad_file{"overhead_type", R"({"context": {}, "benchmarks": [], "engine_overheads":
                     [{"engine": 7, "backend": "b", "dtype": "f32", "threads": 1, "parameters": {},
                       "cache": "hot", "call_seconds": 1, "step_seconds": 1}]})",
                 "/engine_overheads/0/engine"},
        bad_file{"no_name", R"({"context": {}, "benchmarks": [{"real_time": 7}]})",
                 "/benchmarks/0"},
        bad_file{"candidates_text", with_context("candidates", "eng1"), "/context/candidates"},
        bad_file{"candidates_types", with_context("candidates", R"({"a": [{"algo": 1}]})"),
                 "/context/candidates"},
        bad_file{"candidates_list", with_context("candidates", R"({"a": [7]})"),
                 "/context/candidates"},
        bad_file{"candidates_map", with_context("candidates", R"({"a": {"b": {"algo": "c"}}})"),
                 "/context/candidates"},
        bad_file{"candidates_time",
                 with_context("candidates", R"({"a": [{"algo": "b", "hot_s": 0}]})"),
                 "/context/candidates"},
        bad_file{"manifest_text", with_manifest("conv1"), "/context/manifest"},
        bad_file{"manifest_case", with_manifest(R"({"resnet50": []})"), "/context/manifest"},
        bad_file{"manifest_map",
                 with_manifest(R"({"inference/a/f32/m/batch:1": {"a": ["a", "b", "c", "d", 1]}})"),
                 "/context/manifest"},
        bad_file{"manifest_short",
                 with_manifest(R"({"inference/a/f32/m/batch:1": [["conv1", "conv"]]})"),
                 "/context/manifest"},
        bad_file{"manifest_types",
                 with_manifest(R"({"inference/a/f32/m/batch:1": [[1, 2, 3, 4, 5]]})"),
                 "/context/manifest"},
        bad_file{"manifest_word", with_manifest(R"({"inference/a/f32/m/batch:1":
                     [["a", "b", "c", "d", 1, "inserted"]]})"),
                 "/context/manifest"},
        bad_file{"manifest_moves", with_manifest(R"({"inference/a/f32/m/batch:1":
                     [["a", "b", "c", "d", 1, {"moves": [[-1, 0, 0]]}]]})"),
                 "/context/manifest"},
        bad_file{"manifest_written", with_manifest(R"({"inference/a/f32/m/batch:1":
                     [["a", "b", "c", "d", 1, {"moves": [[1, 0, 2]]}]]})"),
                 "/context/manifest"},
        bad_file{"manifest_chain", with_manifest(R"({"inference/a/f32/m/batch:1":
                     [["a", "b", "c", "d", 1, {"chain_s": 0}]]})"),
                 "/context/manifest"},
        bad_file{"manifest_left_out", with_manifest(R"({"inference/a/f32/m/batch:1":
                     [["a", "b", "c", "d", 1, {"left_out": 2}]]})"),
                 "/context/manifest"},
        bad_file{"manifest_state", with_manifest(R"({"inference/a/f32/m/batch:1":
                     [["a", "b", "c", "d", 1, {"state": 7}]]})"),
                 "/context/manifest"},
        bad_file{"manifest_count",
                 with_manifest(R"({"inference/a/f32/m/batch:1": [["a", "b", "c", "d", "e"]]})"),
                 "/context/manifest"}),
    [](const auto& instance) { return instance.param.what; });

TEST(Read, IgnoresWhateverRowsOfOtherBenchmarksHold) {
  const results file = parse(
      R"({"context": {}, "benchmarks": [
        {"name": "BM_a", "run_name": 7, "label": 7, "real_time": NaN, "cpu_time": "x", "mean_s": []},
        {"name": "BM_b", "rate": -Infinity, "iterations": 1.5, "error_occurred": 3, "bytes": 1e999},
        7, null, ["NaN"],
        {"name": ")" +
          row_name_text +
          R"(", "label": "key=NaN, \" 1e999 \\;algo=a", "real_time": 3, "cpu_time": 2,
         "mine": Infinity, "other": "text", "mean_s": 1.5e-9}]})",
      "r.json");
  ASSERT_THAT(file.rows, SizeIs(1));
  EXPECT_DOUBLE_EQ(file.rows[0].seconds, 3e-9);
  EXPECT_EQ(file.rows[0].label.key, "NaN, \" 1e999 \\") << "texts stay as they are";
  EXPECT_THAT(file.rows[0].counters, ElementsAre(::testing::Pair("mean_s", 1.5e-9)));
}

TEST(Read, FindsNumbersThatJsonLacksWhereverABlockEnds) {
  constexpr std::size_t block = 1 << 16;
  const std::string begin = R"({"context": {}, "benchmarks": [{"name": ")";
  const std::string end = R"(", "rate": -Infinity, "text": "a\"b"}, {"name": ")" + row_name_text +
                          R"(", "real_time": 2, "cpu_time": 2}]})";
  for (std::size_t back = 0; back < 50; ++back) {
    const std::string name(block - begin.size() - back, 'x');
    const results file = parse(begin + name + end, "r.json");
    ASSERT_THAT(file.rows, SizeIs(1)) << back;
    EXPECT_DOUBLE_EQ(file.rows[0].seconds, 2e-9) << back;
  }
}

TEST(Read, RefusesDirectoriesAndAbsentFiles) {
  const testing::temporary_directory scratch;
  EXPECT_THROW(static_cast<void>(read(scratch.path())), bad_input);
  EXPECT_THROW(static_cast<void>(read(scratch.path() / "nothing.json")), bad_input);
}

TEST(Read, RefusesAnyTruncation) {
  const testing::temporary_directory scratch;
  const std::string whole = file_with(R"("real_time": 1.5, "cpu_time": 1)");
  for (std::size_t length = 0; length < whole.size(); ++length) {
    const auto path = scratch.write("r.json", whole.substr(0, length));
    EXPECT_THROW(static_cast<void>(read(path)), bad_input) << length;
  }
}

TEST(Read, OfAPathThatIsTooLongIsBadInput) {
  EXPECT_THROW(static_cast<void>(read(std::string(300, 'a'))), bad_input);
}

TEST(Device, IsTheProcessorAndTheGpuWhereThereIsOne) {
  results file;
  EXPECT_NE(file.device(), "");
  file.context = {{"device", "x"}};
  EXPECT_EQ(file.device(), "x");
  file.context["gpu"] = "y";
  EXPECT_EQ(file.device(), "x, y");
}

TEST(Dimensions, AreReadAsTheyWereWritten) {
  field_dimensions all{{"a_version", field_dimension::version},
                       {"b", field_dimension::condition},
                       {"c", field_dimension::condition}};
  const results read = parse(with_context("field_dimensions", write_dimensions(all)), "r.json");
  EXPECT_EQ(read.dimensions, all);
  EXPECT_FALSE(read.context.contains("field_dimensions")) << "no condition of the run";
  EXPECT_THAT(parse(with_context("field_dimensions", ""), "r.json").dimensions, IsEmpty());
  field_dimensions hostile = all;
  hostile["a variable; of a shell: b"] = field_dimension::setting;
  EXPECT_EQ(read_dimensions(write_dimensions(hostile), "r.json"), all)
      << "other settings need no dimension";
}

TEST(Dimensions, ThatNobodyKnowsAreRefusedWithTheirPlace) {
  for (const std::string text : {"version", "version:a", "colour: a", "version: a;", "; "}) {
    EXPECT_THAT([&] { static_cast<void>(parse(with_context("field_dimensions", text), "r.json")); },
                ::testing::ThrowsMessage<bad_input>(
                    AllOf(HasSubstr("r.json"), HasSubstr("/context/field_dimensions"))))
        << text;
  }
  results conditions = parse(with_context("field_dimensions", "condition: state"), "r.json");
  results other = conditions;
  conditions.context["state"] = "warm";
  other.context["state"] = "hot";
  EXPECT_THAT(differing_context(conditions, other), IsEmpty());
}

TEST(DifferingContext, IgnoresWhatVariesFromRunToRun) {
  results a;
  a.context = {{"date", "monday"}, {"device", "x"}, {"threads", "2"}, {"load_avg", "[0]"}};
  results b = a;
  b.context["date"] = "tuesday";
  b.context["load_avg"] = "[1]";
  b.context["library_version"] = "v1.9.5";
  a.context["gpu_uuid"] = "GPU-0123";
  b.context["gpu_uuid"] = "GPU-4567";
  EXPECT_THAT(differing_context(a, b), IsEmpty());
  b.context["device"] = "y";
  b.context["onednn"] = "3.2";
  EXPECT_THAT(differing_context(a, b), ElementsAre("device", "onednn"));
  EXPECT_THAT(differing_context(b, a), ElementsAre("device", "onednn"));
  EXPECT_THAT(both_values(a, b, {"device", "onednn"}),
              AllOf(HasSubstr(R"(device ("x", "y"))"), HasSubstr(R"(onednn (absent, "3.2"))")));
  b.context["device"] = "\x1b[31m";
  EXPECT_THAT(both_values(a, b, {"device"}), Not(HasSubstr("\x1b"))) << "a terminal would obey";
}

/// Whether files with these values of a field are comparable, asked in both orders.
bool agree(const std::string& field, const std::string& one, const std::string& other) {
  results a;
  results b;
  a.context[field] = one;
  b.context[field] = other;
  const bool same = differing_context(a, b).empty();
  EXPECT_EQ(differing_context(b, a).empty(), same) << one << " and " << other;
  return same;
}

TEST(DifferingContext, IdentifiesAMachineByWhatDoesNotVaryOnIt) {
  const std::string machine =
      "1 package, 2 nodes (16 GB), 200 GB/s per node, 1 L3 (32 MB), 8 cores (4 + 4, the fastest "
      "kind first), 8 processors";
  const auto with = [&](const std::string& old, const std::string& now) {
    std::string changed = machine;
    const std::size_t at = changed.find(old);
    EXPECT_NE(at, std::string::npos) << old;
    return changed.replace(at, old.size(), now);
  };
  for (const std::string& same : {with("(16 GB)", "(24 GB)"), with("(16 GB)", "(16 GB, 24 GB)"),
                                  with(" 1 L3", " at most 4 GB, 1 L3"),
                                  machine + ", hwloc does not know the cores: guessed"}) {
    EXPECT_TRUE(agree("topology", machine, same)) << same;
  }
  for (const std::string& other :
       {with("1 package", "2 packages"), with("2 nodes (16 GB)", "1 node (32 GB)"),
        with("32 MB", "16 MB"), with("1 L3", "2 L3"), with("8 cores (4 + 4", "8 cores (6 + 2"),
        with("8 processors", "16 processors")}) {
    EXPECT_FALSE(agree("topology", machine, other)) << other;
  }
  EXPECT_TRUE(agree("kernel", "6.1.0-18-amd64", "6.1.0-21-amd64")) << "an update of the system";
  EXPECT_TRUE(agree("kernel", "5.15.153.1-microsoft", "5.15"));
  EXPECT_FALSE(agree("kernel", "6.1.0-18-amd64", "6.10.0-18-amd64"));
  EXPECT_TRUE(agree("torch_waiting", "0.1 s of processor time", "0.2 s of processor time"));
  EXPECT_TRUE(agree("CUDA_VISIBLE_DEVICES", "0", "1")) << "equal ones have equal contexts";
  EXPECT_FALSE(agree("gpu", "a", "b"));
  EXPECT_FALSE(agree("l2_bytes", "1", "2"));
  EXPECT_FALSE(agree("places", "{0}", "{1}"));
}

}  // namespace result_read_test
}  // namespace layerbench::result
