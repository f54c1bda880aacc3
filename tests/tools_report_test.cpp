// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <filesystem>
#include <iterator>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "support/golden.hpp"
#include "support/mentions.hpp"
#include "support/program.hpp"

namespace layerbench {
namespace tools_report_test {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using testing::mentions;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;

const std::string& golden = testing::chain_file;

testing::outcome tool(const std::vector<std::string>& arguments, const std::string& out = {}) {
  return testing::run(LAYERBENCH_TOOL, arguments, {}, out);
}

std::ptrdiff_t files_in(const std::filesystem::path& directory) {
  return std::distance(std::filesystem::directory_iterator(directory), {});
}

TEST(Report, IsAPageByDefault) {
  const testing::outcome done = tool({"report", golden, "--model", "small"});
  EXPECT_EQ(done.exit_code, 0) << done.err;
  EXPECT_THAT(done.out, AllOf(StartsWith("<!DOCTYPE html>"), EndsWith("</html>\n"),
                              mentions("small"), Not(HasSubstr("tiny"))));
  EXPECT_EQ(done.out, tool({"report", golden, "--model", "small", "--format", "html"}).out);
}

TEST(Report, IsMarkdownByOptionOrFileName) {
  const testing::temporary_directory scratch;
  const std::vector<std::string> small{"report", golden, "--model", "small"};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), small.begin(), small.end());
    return tool(more);
  };
  const testing::outcome done = with({"--format", "markdown"});
  EXPECT_EQ(done.exit_code, 0) << done.err;
  EXPECT_THAT(done.out, AllOf(StartsWith("## layerbench\n\n| "), mentions("small")));
  const std::string path = (scratch.path() / "r.md").string();
  const testing::outcome written = with({"-o", path});
  EXPECT_EQ(written.exit_code, 0);
  EXPECT_THAT(written.err, HasSubstr(path));
  EXPECT_EQ(with({"-o", path, "--quiet"}).err, "");
  EXPECT_EQ(json::read_text(path), done.out);
  EXPECT_EQ(with({"-o", path, "--format", "html"}).exit_code, 0);
  EXPECT_THAT(json::read_text(path), StartsWith("<!DOCTYPE html>"));
}

TEST(Report, IsWrittenCompletelyForIncompletePredictions) {
  const testing::temporary_directory scratch;
  const std::string path = scratch.write("r.html", "old").string();
  const testing::outcome done = tool({"report", golden, "-o", path});
  EXPECT_EQ(done.exit_code, 4);
  EXPECT_THAT(done.err, mentions("inference/reference/f32/tiny/batch:4", "relu1"));
  EXPECT_EQ(done.out, "");
  EXPECT_THAT(json::read_text(path), AllOf(EndsWith("</html>\n"), mentions("small", "relu1")));
  EXPECT_EQ(files_in(scratch.path()), 1);
  const testing::outcome partial = tool({"report", golden, "--allow-partial"});
  EXPECT_EQ(partial.exit_code, 0) << partial.err;
  EXPECT_THAT(partial.out, HasSubstr("PARTIAL"));
}

TEST(Report, LeavesTheOldFileOnFailure) {
  const testing::temporary_directory scratch;
  const std::string path = scratch.write("r.html", "old").string();
  const std::string whole = json::read_text(golden);
  const std::string broken = scratch.write("r.json", whole.substr(0, whole.size() / 2)).string();
  EXPECT_EQ(tool({"report", golden, "-o", path, "--model", "absent"}).exit_code, 5);
  EXPECT_EQ(tool({"report", golden, "/nowhere.json", "-o", path}).exit_code, 3);
  EXPECT_EQ(tool({"report", scratch.path().string(), "-o", path}).exit_code, 3);
  const testing::outcome done = tool({"report", golden, broken, "-o", path});
  EXPECT_EQ(done.exit_code, 3);
  EXPECT_THAT(done.err, HasSubstr(broken));
  EXPECT_EQ(json::read_text(path), "old");
  EXPECT_EQ(files_in(scratch.path()), 2);
}

TEST(Report, RefusesAWrongCommandLine) {
  const std::vector<std::vector<std::string>> wrong{{"report"},
                                                    {"report", golden, "--format", "json"},
                                                    {"report", golden, "--cache", "cold"},
                                                    {"report", golden, "-o", "/nowhere/r.html"},
                                                    {"report", golden, "-o", "/"}};
  for (const auto& arguments : wrong) {
    const testing::outcome done = tool(arguments);
    EXPECT_EQ(done.exit_code, 2) << ::testing::PrintToString(arguments);
    EXPECT_EQ(done.out, "");
  }
  EXPECT_THAT(tool({"report", "--help"}).out,
              mentions("layerbench report", "--format", "--allow-partial"));
  EXPECT_EQ(tool({"report", golden, "--model", "small"}, "/dev/full").exit_code, 1);
}

TEST(Predict, HasBenchersMetricFormat) {
  const testing::outcome done = tool({"predict", golden, "--model", "small", "--format", "bmf"});
  EXPECT_EQ(done.exit_code, 0) << done.err;
  const json::value all = json::value::parse(done.out);
  ASSERT_THAT(all, SizeIs(1));
  const json::value& small = all.at("inference/reference/f32/small/batch:2/threads:1");
  const testing::outcome form = tool({"predict", golden, "--model", "small", "--format", "json"});
  const json::value expected = json::value::parse(form.out).at("predictions").at(0);
  EXPECT_DOUBLE_EQ(small.at("latency").at("value"),
                   1e9 * expected.at("seconds_per_step").get<double>());
  EXPECT_EQ(small.at("throughput").at("value"), expected.at("images_per_second"));
  EXPECT_EQ(tool({"predict", golden, "--format", "bmf"}).exit_code, 4);
  EXPECT_EQ(tool({"validate", golden, "--format", "bmf"}).exit_code, 2);
}

/// A result file of bench_peak on `device`.
std::string peaks_of(const std::string& device) {
  json::value rows = json::value::array();
  const auto add = [&](const std::string& op, const std::string& layer, const char* counter,
                       double amount, double nanoseconds) {
    const std::string name = op + "/fwd/reference/f32/peak/" + layer + "/batch:1/cache:hot";
    rows.push_back({{"name", name},
                    {"real_time", nanoseconds},
                    {"cpu_time", nanoseconds},
                    {"time_unit", "ns"},
                    {counter, amount}});
  };
  add("gemm", "square_1024", "flops_exact", 2e9, 2e7);
  add("stream", "call", "bytes", 64, 100);
  for (const char* item : {"read_memory", "write_memory", "copy_memory"}) {
    add("stream", item, "bytes", 1e8, 1e7 + 100);
  }
  return json::value{{"context", {{"device", device}, {"threads", "1"}}}, {"benchmarks", rows}}
      .dump();
}

TEST(Predict, ReadsPeaksFromOtherFiles) {
  const testing::temporary_directory scratch;
  const std::string peaks = scratch.write("peaks.json", peaks_of("example CPU")).string();
  const std::vector<std::string> small{"predict", golden, "--model", "small", "--format", "json"};
  const auto with = [&](const std::string& file) {
    std::vector<std::string> all = small;
    all.insert(all.end(), {"--peaks", file});
    return tool(all);
  };
  const testing::outcome done = with(peaks);
  EXPECT_EQ(done.exit_code, 0) << done.err;
  const json::value p = json::value::parse(done.out).at("predictions").at(0);
  EXPECT_NEAR(p.at("peaks").at("flops"), 100e9, 1);
  EXPECT_NEAR(p.at("peaks").at("levels").at(0).at("copy"), 10e9, 1);
  EXPECT_EQ(p.at("bounds").at(0).at("bound"), "unknown") << "the file has no operand sizes";
  EXPECT_TRUE(json::value::parse(tool(small).out).at("predictions").at(0).at("peaks").is_null());
  const std::string others = scratch.write("other.json", peaks_of("another CPU")).string();
  const testing::outcome refused = with(others);
  EXPECT_EQ(refused.exit_code, 3);
  EXPECT_THAT(refused.err, mentions(others, "another CPU"));
  EXPECT_EQ(with("/nowhere.json").exit_code, 3);
}

TEST(Predict, RefusesTwoMetricsOfOneName) {
  const testing::temporary_directory scratch;
  json::value other = json::value::parse(json::read_text(golden));
  other["context"]["device"] = "another CPU";
  const std::string path = scratch.write("r.json", other.dump()).string();
  const testing::outcome done =
      tool({"predict", golden, path, "--model", "small", "--format", "bmf"});
  EXPECT_EQ(done.exit_code, 2);
  EXPECT_EQ(done.out, "");
  EXPECT_THAT(done.err, mentions("inference/reference/f32/small/batch:2/threads:1"));
}

}  // namespace tools_report_test
}  // namespace layerbench
