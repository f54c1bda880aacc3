// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cstdlib>
#include <set>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <gmock/gmock.h>

#include <layerbench/base/file_lock.hpp>

#include "support/bench.hpp"

namespace layerbench {
namespace bench_output_test {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;
using testing::texts;

/// A terminal that a program's stdout can be.
class terminal {
 public:
  terminal() : master_(::posix_openpt(O_RDWR | O_NOCTTY | O_NONBLOCK)) {
    if (master_ < 0 || ::grantpt(master_) != 0 || ::unlockpt(master_) != 0) {
      throw std::system_error(errno, std::generic_category(), "no terminal");
    }
    std::array<char, 256> name{};
    if (::ptsname_r(master_, name.data(), name.size()) != 0) {
      throw std::system_error(errno, std::generic_category(), "no terminal");
    }
    name_ = name.data();
    slave_ = ::open(name.data(), O_RDWR | O_NOCTTY);  // keeps what programs write
  }
  terminal(const terminal&) = delete;
  terminal& operator=(const terminal&) = delete;
  ~terminal() {
    ::close(slave_);
    ::close(master_);
  }
  [[nodiscard]] const std::string& name() const { return name_; }
  /// What was written so far; it holds a few kilobytes.
  [[nodiscard]] std::string text() const {
    std::string all;
    std::array<char, 4096> part{};
    for (::ssize_t n = 0; (n = ::read(master_, part.data(), part.size())) > 0;) {
      all.append(part.data(), static_cast<std::size_t>(n));
    }
    return all;
  }

 private:
  int master_;
  int slave_ = -1;
  std::string name_;
};

/// Rows of a table that are about the tiny model.
texts rows_of(const std::string& text) {
  texts rows = testing::lines(text);
  std::erase_if(rows,
                [](const std::string& line) { return line.find("/tiny/") == std::string::npos; });
  return rows;
}

TEST(Console, HasOneLineARow) {
  const testing::tiny_directory directory;
  const testing::outcome done = directory.bench("bench_model", {"--wide"});
  EXPECT_EQ(done.exit_code, 0) << done.err;
  const texts rows = rows_of(done.out);
  ASSERT_THAT(rows, SizeIs(6));
  for (std::size_t i = 0; i < rows.size(); ++i) {
    EXPECT_THAT(rows[i], HasSubstr("/" + testing::tiny_layers[i] + "/"));
    EXPECT_THAT(rows[i], ::testing::ContainsRegex(" [0-9.]+ [num]?s .*[0-9](%|x)$"))
        << "the spread is a multiple where others use the processors";
  }
  const std::string short_names = directory.bench("bench_model", {}).out;
  EXPECT_THAT(rows_of(short_names), SizeIs(1)) << "what all names share stands above the table";
  EXPECT_THAT(short_names, HasSubstr("\nconv/conv1 "));
  EXPECT_THAT(done.out, AllOf(HasSubstr("Iterations GFLOP/s  spread"), HasSubstr("CPU time")));
}

TEST(Console, HasAggregatesOrRoundsWhenAsked) {
  const testing::tiny_directory directory;
  const auto rows = [&](const std::string& option) {
    return rows_of(directory.bench("bench_model", {option}).out);
  };
  EXPECT_THAT(rows("--benchmark_display_aggregates_only"),
              AllOf(SizeIs(6 * 4), Contains(HasSubstr("_median "))));
  EXPECT_THAT(rows("--benchmark_display_aggregates_only=false"), SizeIs(6 * (3 + 4)));
  EXPECT_THAT(rows("--benchmark_report_aggregates_only"), SizeIs(6 * 4));
}

TEST(Console, HasCountersAsColumnsWhenAsked) {
  const testing::tiny_directory directory;
  const auto shown = [&](const texts& options) {
    return directory.bench("bench_conv", options).out;
  };
  const std::string aggregates = "--benchmark_display_aggregates_only";
  EXPECT_THAT(shown({aggregates}), HasSubstr(" flops_exact="));
  EXPECT_THAT(shown({aggregates, "--benchmark_counters_tabular"}),
              AllOf(HasSubstr(" flops_exact "), Not(HasSubstr("flops_exact="))));
}

TEST(Console, ThePredictionFollowsTheRows) {
  const testing::tiny_directory directory;
  const testing::outcome done = directory.bench("bench_model", {});
  EXPECT_THAT(done.out, AllOf(HasSubstr(" images/s"), HasSubstr("cache:model timings")));
  EXPECT_LT(done.out.rfind("/tiny/"), done.out.find(" images/s"));
  EXPECT_THAT(directory.bench("bench_conv", {}).out, Not(HasSubstr("images/s")));
}

TEST(Console, SaysWhyThereIsNoThroughputOfAFilteredModel) {
  const testing::tiny_directory directory;
  const testing::outcome done = directory.bench("bench_model", {"--benchmark_filter=conv1"});
  EXPECT_EQ(done.exit_code, 0);
  const std::string reason = "--benchmark_filter left out 5 rows of inference/";
  EXPECT_THAT(done.out,
              AllOf(HasSubstr(reason), Not(HasSubstr("images/s")), Not(HasSubstr("not measured"))));
  EXPECT_THAT(
      directory.bench("bench_model", {"--benchmark_filter=conv1", "--benchmark_format=json"}).err,
      HasSubstr(reason));
}

TEST(Console, PredictsTheCasesThatTheFilterLeavesWhole) {
  const testing::tiny_directory directory;
  const testing::outcome done =
      directory.bench("bench_model", {"--batch=1,2", "--benchmark_filter=batch:2/"});
  EXPECT_THAT(done.out, AllOf(HasSubstr("batch 2, 1 thread\n"), HasSubstr(" images/s"),
                              Not(HasSubstr("no throughput")), Not(HasSubstr("batch 1,"))));
}

TEST(Console, SaysOnceThatThreadsShareProcessors) {
  const testing::tiny_directory directory;
  const std::string many = std::to_string(2 * std::max(1U, std::thread::hardware_concurrency()));
  const std::string warning = "--threads=" + many + ": ";
  const texts options{"--threads=1," + many, "--benchmark_min_time=0", "--benchmark_repetitions=1",
                      "--benchmark_filter=prob/"};
  const testing::outcome done = directory.bench("bench_softmax", options);
  EXPECT_EQ(done.exit_code, 0) << done.err;
  EXPECT_EQ(done.err.find(warning) != std::string::npos, testing::has_onednn) << done.err;
  EXPECT_EQ(done.err.find(warning), done.err.rfind(warning));
  EXPECT_THAT(directory.bench("bench_softmax", {}).err, Not(HasSubstr("--threads=")));
}

TEST(Color, FollowsTheTerminalUnlessToldOtherwise) {
  const testing::tiny_directory directory;
  const auto colored = [&](const std::string& option, const testing::environment& changes) {
    const terminal screen;
    const testing::outcome done = testing::bench(
        "bench_conv", testing::shortly(directory.model, {option}), changes, screen.name());
    EXPECT_EQ(done.exit_code, 0) << done.err;
    const std::string text = screen.text();
    EXPECT_THAT(text, HasSubstr("/tiny/conv1/"));
    return text.find("\x1b[") != std::string::npos;
  };
  const testing::environment usual{{"TERM", "xterm"}, {"NO_COLOR", ""}};
  const testing::environment refused{{"TERM", "xterm"}, {"NO_COLOR", "1"}};
  EXPECT_TRUE(colored("--benchmark_color=auto", usual));
  EXPECT_FALSE(colored("--benchmark_color=auto", refused));
  EXPECT_FALSE(colored("--benchmark_color=auto", {{"TERM", "dumb"}, {"NO_COLOR", ""}}));
  EXPECT_FALSE(colored("--benchmark_color=false", usual));
  EXPECT_TRUE(colored("--benchmark_color=true", refused));
}

TEST(Color, IsNotPutIntoFilesUnlessAsked) {
  const testing::tiny_directory directory;
  EXPECT_THAT(directory.bench("bench_conv", {}).out, Not(HasSubstr("\x1b[")));
  EXPECT_THAT(directory.bench("bench_conv", {"--benchmark_color=true"}).out, HasSubstr("\x1b["));
}

TEST(Json, OnStdoutIsAResultFile) {
  const testing::tiny_directory directory;
  const testing::outcome done = directory.bench("bench_model", {"--benchmark_format=json"});
  EXPECT_EQ(done.exit_code, 0);
  EXPECT_THAT(done.err, HasSubstr(" images/s"));
  EXPECT_THAT(result::read(directory.write("out.json", done.out)).rows, SizeIs(6 * 3));
}

TEST(Json, OnStdoutIsTheSameAsInTheFile) {
  const testing::tiny_directory directory;
  const testing::outcome done = directory.bench(
      "bench_model", {"--benchmark_format=json", "--benchmark_out=" + directory.results});
  EXPECT_EQ(json::value::parse(done.out).at("benchmarks"), directory.written().at("benchmarks"));
}

TEST(Json, SurvivesAnythingInTheContext) {
  const testing::tiny_directory directory;
  const std::string strange = "quote\" back\\slash \x01 tab\t \xff newline\n.";
  const result::results result = directory.measure({"--benchmark_context=strange=" + strange});
  EXPECT_THAT(result.context.at("strange"),
              AllOf(StartsWith("quote\" back\\slash "), ::testing::EndsWith("newline\n.")));
}

/// Fields of each line; quoted fields may hold commas.
std::vector<texts> csv_of(const std::string& text) {
  std::vector<texts> table;
  for (const std::string& line : testing::lines(text)) {
    texts& row = table.emplace_back(1);
    bool quoted = false;
    for (const char c : line) {
      if (c == '"') quoted = !quoted;
      if (c == ',' && !quoted)
        row.emplace_back();
      else if (c != '"')
        row.back() += c;
    }
  }
  return table;
}

TEST(Csv, IsATableOnStdoutAndInTheFile) {
  const testing::tiny_directory directory;
  const testing::outcome done =
      directory.bench("bench_model", {"--benchmark_format=csv", "--benchmark_out_format=csv",
                                      "--benchmark_out=" + directory.results});
  EXPECT_EQ(done.exit_code, 0);
  EXPECT_THAT(done.err, HasSubstr(" images/s"));
  EXPECT_EQ(done.out, json::read_text(directory.results));
  const std::vector<texts> table = csv_of(done.out);
  ASSERT_THAT(table, SizeIs(1 + 6 * (3 + 4)));
  EXPECT_EQ(table.front().front(), "name");
  EXPECT_THAT(table.front(), AllOf(Contains("real_time"), Contains("flops"), Contains("label")));
  EXPECT_THAT(table, ::testing::Each(SizeIs(table.front().size())));
  EXPECT_TRUE(result::parse_row(table.at(1).front())) << table.at(1).front();
}

TEST(Environment, NamesOutputFileAndModel) {
  const testing::tiny_directory directory;
  const testing::outcome done =
      testing::bench("bench_model", {"--threads=1", "--benchmark_repetitions=1"},
                     {{"BENCHMARK_OUT", directory.results},
                      {"LAYERBENCH_MODEL", directory.model},
                      {"BENCHMARK_MIN_TIME", "0.001"},
                      {"LAYERBENCH_MAX_TIME", "0"},
                      {"BENCHMARK_FORMAT", "json"}});
  EXPECT_EQ(done.exit_code, 0) << done.err;
  EXPECT_THAT(result::read(directory.results).rows, SizeIs(6));
  EXPECT_TRUE(json::value::accept(done.out));
}

TEST(Environment, YieldsToTheCommandLine) {
  const testing::tiny_directory directory;
  const testing::environment changes{{"BENCHMARK_REPETITIONS", "9"},
                                     {"LAYERBENCH_MODEL", "resnet50"},
                                     {"BENCHMARK_FORMAT", "csv"}};
  const testing::outcome done =
      directory.bench("bench_model", {"--benchmark_format=json"}, changes);
  EXPECT_THAT(result::read(directory.write("out.json", done.out)).rows, SizeIs(6 * 3));
}

TEST(Options, OfGoogleBenchmarkGivenTwiceCountAsTheLast) {
  const testing::tiny_directory directory;
  EXPECT_THAT(directory
                  .measure({"--benchmark_filter=(", "--benchmark_filter=relu1",
                            "--benchmark_context=a=1", "--benchmark_context=b=2"})
                  .rows,
              SizeIs(3));
  const json::value context = directory.written().at("context");
  EXPECT_EQ(context.at("a"), "1");
  EXPECT_EQ(context.at("b"), "2");
}

TEST(Options, ContextTakesOnlyTheFirstEqualsSign) {
  const testing::tiny_directory directory;
  EXPECT_EQ(directory.measure({"--benchmark_context=a=b=c"}).context.at("a"), "b=c");
}

TEST(Output, OfAFullDiskIsAFailure) {
  const testing::tiny_directory directory;
  const testing::outcome done =
      testing::bench("bench_conv", testing::shortly(directory.model, {"--benchmark_out=/dev/full"}),
                     {{"TMPDIR", directory.path().string()}});
  EXPECT_EQ(done.exit_code, 1);
  EXPECT_THAT(done.err, HasSubstr("/dev/full"));
  EXPECT_THAT(done.out, HasSubstr("conv/fwd/")) << "the rows are nowhere else";
}

TEST(Output, OnAFullStdoutIsAFailure) {
  const testing::tiny_directory directory;
  const testing::outcome done =
      testing::bench("bench_conv", testing::shortly(directory.model, {}), {}, "/dev/full");
  EXPECT_EQ(done.exit_code, 1);
  EXPECT_THAT(done.err, HasSubstr("stdout"));
}

TEST(Output, OfTwoProgramsAtOnceIsThatOfOneOfThem) {
  const testing::tiny_directory directory;
  const auto start = [&](const std::string& seed) {
    return std::make_unique<testing::child>(
        testing::bench_path("bench_model"),
        testing::shortly(directory.model, {"--benchmark_repetitions=20", "--seed=" + seed,
                                           "--benchmark_out=" + directory.results}));
  };
  const auto first = start("1");
  const auto second = start("2");
  // Whoever comes second is refused, unless the first has finished by then.
  const std::set<int> codes{first->wait().exit_code, second->wait().exit_code};
  EXPECT_THAT(codes, Contains(0));
  EXPECT_THAT(codes, ::testing::Each(::testing::AnyOf(0, 2)));
  EXPECT_THAT(result::read(directory.results).rows, SizeIs(6 * 20));
  EXPECT_THAT(directory.files(), ::testing::UnorderedElementsAre("tiny.json", "results.json"));
}

TEST(Output, IsRefusedWhileAnotherRunWritesToTheFile) {
  const testing::tiny_directory directory;
  const result::results before = directory.measure();
  {
    const file_lock other_run(directory.results);
    const testing::outcome done =
        directory.bench("bench_model", {"--benchmark_out=" + directory.results});
    EXPECT_EQ(done.exit_code, 2);
    EXPECT_THAT(done.err, HasSubstr(directory.results));
    testing::expect_kept(before, result::read(directory.results));
  }
  EXPECT_THAT(directory.files(), ::testing::UnorderedElementsAre("tiny.json", "results.json"));
  static_cast<void>(directory.write("results.json.lock", ""));  // of a run that crashed
  static_cast<void>(directory.measure());
  EXPECT_THAT(directory.files(), ::testing::UnorderedElementsAre("tiny.json", "results.json"));
}

TEST(Output, HasRoundsAndVariationsInCsv) {
  const testing::tiny_directory directory;
  const testing::outcome done = directory.bench(
      "bench_conv", {"--benchmark_format=csv", "--benchmark_display_aggregates_only=false",
                     "--benchmark_out=" + directory.results});
  ASSERT_EQ(done.exit_code, 0) << done.err;
  const std::vector<texts> table = csv_of(done.out);
  const texts& header = table.front();
  const auto column = [&](const std::string& name) {
    return static_cast<std::size_t>(std::ranges::find(header, name) - header.begin());
  };
  texts numbers;
  double variation = -1;
  for (const texts& row : table) {
    if (row.front().ends_with("_cv")) variation = std::stod(row.at(column("real_time")));
    const std::string& round = row.at(column("round"));
    if (&row != &header && !round.empty()) numbers.push_back(round);
  }
  EXPECT_THAT(numbers, ::testing::UnorderedElementsAre("0", "1", "2"));
  int found = 0;
  const json::value file = directory.written();
  for (const json::value& row : file.at("benchmarks")) {
    if (row.value("aggregate_name", "") != "cv") continue;
    EXPECT_NEAR(variation, row.at("real_time").get<double>(), 1e-4 * variation);
    ++found;
  }
  EXPECT_EQ(found, 1);
}

}  // namespace bench_output_test
}  // namespace layerbench
