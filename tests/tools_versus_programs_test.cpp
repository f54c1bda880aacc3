// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "support/mentions.hpp"
#include "support/versus.hpp"

// `layerbench versus` with programs that are not layerbench's: what they print or write.

namespace layerbench {
namespace tools_versus_programs_test {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::mentions;
using ::testing::Not;
using testing::texts;
using ::testing::UnorderedElementsAre;

const std::string samples = LAYERBENCH_SOURCE_DIR "/tests/data/program_output/";

class VersusMetrics : public testing::Versus {
 protected:
  /// A program of this script.
  [[nodiscard]] std::string script(const std::string& name, const std::string& text) const {
    const std::string file = scratch_.write(name, "#!/bin/sh\n" + text).string();
    std::filesystem::permissions(file, std::filesystem::perms::owner_all);
    return file;
  }

  static std::string verdict(const json::value& row) { return row.at("verdict"); }
};

/// A sample, and a change of it by sed that makes the row slower.
struct sample {
  std::string file;
  std::string format;
  std::size_t rows;
  std::string change;
  std::string row;
};

TEST_F(VersusMetrics, CompareEveryFormat) {
  const std::vector<sample> all{
      {"google_benchmark.json", "Google Benchmark JSON", 2,
       R"(s/\(real_time": \)\(75\|83\|104\)/\19\2/)", "BM_sum/65536"},
      {"nvbench.json", "nvbench JSON", 2, "s/0.001003/0.001103/", "simple/Device=0"},
      {"pytest_benchmark.json", "pytest-benchmark JSON", 2, "s/8.2429978/9.2429978/",
       "test_speed.py::test_sum"},
      {"hyperfine.json", "hyperfine JSON", 2, "s/0.011181398/0.012181398/", "sleep 0.01"},
      {"llama_bench.json", "llama-bench JSON", 2, "s/71745200/81745200/;s/71632900/81632900/",
       "qwen2 7B Q4_K - Medium pp512"},
      {"benchdnn.txt", "benchdnn's performance lines", 5, "s/,17.4285,/,18.4285,/",
       "--conv g1mb256ic3ih227oc96oh55kh11sh4ph0n\"alexnet:conv1\""}};
  for (const sample& one : all) {
    const json::value found = json_of({"--rounds=5", "--read=-"}, {"cat", samples + one.file},
                                      {"sed", one.change, samples + one.file});
    EXPECT_EQ(found.at("format"), one.format);
    EXPECT_EQ(found.at("layers").size(), one.rows) << one.file;
    EXPECT_GT(found.at("sum").at("ratio"), 1) << one.file;
    for (const json::value& row : found.at("layers")) {
      EXPECT_EQ(verdict(row), row.at("name") == one.row ? "slower" : "same")
          << one.file << " " << row.dump();
    }
  }
}

TEST_F(VersusMetrics, ReadTheFileThatACommandWrites) {
  const texts old{"cp", samples + "hyperfine.json", "{out}"};
  const json::value all = json_of({"--rounds=3", "--keep", path("kept")}, old, old);
  EXPECT_EQ(all.at("format"), "hyperfine JSON");
  EXPECT_EQ(all.at("versus").at("old_command"), json::value(old));
  EXPECT_THAT(files("kept"), UnorderedElementsAre("old_1.json", "old_2.json", "old_3.json",
                                                  "new_1.json", "new_2.json", "new_3.json"));
  const std::string written = path("written.json");
  const texts writes{"cp", samples + "hyperfine.json", written};
  EXPECT_EQ(json_of({"--rounds=3", "--read", written}, writes, writes).at("layers").size(), 2);
  const testing::outcome done = versus({"--rounds=3", "--read", written}, {"true"}, {"true"});
  EXPECT_EQ(done.exit_code, 1);
  EXPECT_THAT(done.err, mentions("did not write", written)) << "that of an earlier run is old";
}

TEST_F(VersusMetrics, ReadProgramsOfGoogleBenchmark) {
  const std::string program =
      script("program", "cp \"" + samples + R"(google_benchmark.json" "${1#*=}")");
  const json::value all = json_of({"--rounds=3"}, {program}, {program});
  EXPECT_EQ(all.at("format"), "Google Benchmark JSON");
  EXPECT_EQ(all.at("layers").at(0).at("name"), "BM_sum/1024");
}

TEST_F(VersusMetrics, ReadLayerbenchsFilesWhereverTheyAre) {
  const texts command{fake_, "--benchmark_out={out}"};
  const testing::outcome done = versus({"--rounds=2"}, command, command);
  EXPECT_EQ(done.exit_code, 0) << done.err;
  EXPECT_THAT(done.out, AllOf(HasSubstr("predicted step"), Not(HasSubstr("all rows"))));
}

TEST_F(VersusMetrics, CompareRates) {
  const std::string old = script("old", "echo speed: 100 t/s");
  const std::string now = script("new", "echo speed: 80 t/s");
  const texts options{"--rounds=5", "--metric=speed: ([0-9]+)", "--higher-is-better"};
  const json::value all = json_of(options, {old}, {now});
  const json::value& row = all.at("layers").at(0);
  EXPECT_EQ(verdict(row), "slower");
  EXPECT_NEAR(row.at("ratio"), 1.25, 1e-9);
  EXPECT_NEAR(row.at("new_value"), 80, 1e-9);
  EXPECT_EQ(row.at("higher_is_better"), true);
  EXPECT_FALSE(row.contains("new_seconds"));
  EXPECT_TRUE(all.at("sum").is_null());
  EXPECT_THAT(versus(options, {old}, {now}).out,
              AllOf(HasSubstr("| row "), HasSubstr(" 80 |"), HasSubstr("| slower"),
                    HasSubstr("| old / new |")));
}

TEST_F(VersusMetrics, WeighRows) {
  const std::string old = script("old", "printf 'name,ms\\na,1\\nb,1\\n'");
  const std::string now = script("new", "printf 'name,ms\\na,2\\nb,1\\n'");
  const std::string weights = scratch_.write("weights", "name,weight\na,3\n").string();
  const texts options{"--rounds=5", "--csv=name,ms"};
  EXPECT_NEAR(json_of(options, {old}, {now}).at("sum").at("ratio"), 1.5, 1e-9);
  texts weighted = options;
  weighted.insert(weighted.end(), {"--weights", weights});
  EXPECT_NEAR(json_of(weighted, {old}, {now}).at("sum").at("ratio"), 1.75, 1e-9);
  static_cast<void>(scratch_.write("weights", "name,weight\nc,3\n"));
  const testing::outcome done = versus(weighted, {old}, {now});
  EXPECT_EQ(done.exit_code, 3);
  EXPECT_THAT(done.err, mentions("--weights", "'c'"));
}

TEST_F(VersusMetrics, FailOnRegressions) {
  const std::string old = script("old", "echo 'took 100 ms'");
  const std::string now = script("new", "echo 'took 110 ms'");
  const auto code = [&](const std::string& allowed) {
    return versus({"--rounds=5", "--metric=took ([0-9]+)", "--fail-on-regression=" + allowed},
                  {old}, {now})
        .exit_code;
  };
  EXPECT_EQ(code("5"), 4);
  EXPECT_EQ(code("15"), 0);
}

TEST_F(VersusMetrics, WriteMarkdown) {
  const std::string old = script("old", "printf 'name,ms\\na<b>,1\\nc,1\\n'");
  const std::string now = script("new", "printf 'name,ms\\na<b>,2\\nc,1\\n'");
  const testing::outcome done =
      versus({"--rounds=5", "--csv=name,ms", "--format=markdown"}, {old}, {now});
  EXPECT_EQ(done.exit_code, 0) << done.err;
  EXPECT_THAT(done.out, AllOf(HasSubstr("### "), HasSubstr("- new command: "), HasSubstr("| sum "),
                              HasSubstr("| a&lt;b> "), HasSubstr("| slower"), HasSubstr("| c ")));
  EXPECT_THAT(done.out, Not(HasSubstr("<b>")));
}

TEST_F(VersusMetrics, EndWhenTimeIsOver) {
  const std::string program = script("program", "sleep 0.6\necho took 1 ms");
  const texts options{"--metric=took ([0-9]+)", "--max-time=1"};
  const testing::outcome done = versus(options, {program}, {program});
  EXPECT_EQ(done.exit_code, 4) << "a single round gives no verdict";
  EXPECT_EQ(done.out, "");
  EXPECT_THAT(done.err, mentions("--max-time", "1", "30"));
}

TEST_F(VersusMetrics, NameCommandAndPlaceOfWhatCannotBeRead) {
  const testing::outcome done = versus({"--read=-"}, {"echo", "hello"}, {"echo", "hello"});
  EXPECT_EQ(done.exit_code, 3);
  EXPECT_THAT(done.err, mentions("round 1", "command", "stdout", "--csv"));
  const testing::outcome apart = versus({"--csv=name,ms"}, {"printf", "name,ms\na,1\nc,1\n"},
                                        {"printf", "name,ms\nb,1\nd,1\n"});
  EXPECT_EQ(apart.exit_code, 5);
  EXPECT_THAT(apart.err, mentions("'a'", "'b'"));
  const testing::outcome mixed = versus({}, {fake_}, {"cp", samples + "hyperfine.json", "{out}"});
  EXPECT_EQ(mixed.exit_code, 3);
  EXPECT_THAT(mixed.err, mentions("program of layerbench"));
}

}  // namespace tools_versus_programs_test
}  // namespace layerbench
