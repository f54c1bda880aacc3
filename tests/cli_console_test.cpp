// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cstddef>
#include <cstdio>
#include <memory>
#include <optional>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>

#include <layerbench/base/progress.hpp>
#include <layerbench/cli/console.hpp>
#include <layerbench/model/shape_file.hpp>
#include <layerbench/model/step.hpp>
#include <layerbench/op/builtin.hpp>

/// What people see: the table of rows and the line that says how far a run is.
namespace layerbench::run {
namespace run_console_test {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;

using measurements = std::vector<result::measurement>;

result::measurement round_of(const std::string& layer, std::int64_t round, double seconds) {
  result::measurement row;
  row.name = {{"onednn", "f32", "resnet50", 1, {}}, "conv", "fwd", layer, "hot"};
  row.round = round;
  row.seconds = seconds;
  row.cpu_seconds = 2 * seconds;
  row.calls = 100;
  row.counters = {{"count", 2}, {"flops", 2560}, {"flops_exact", 1280}, {"bytes", 2856}};
  return row;
}

/// Lines below the head.
std::vector<std::string> body(const measurements& rows, bool color = false, bool wide = false) {
  std::istringstream stream(console_table(rows, color, wide));
  std::vector<std::string> lines;
  int rules = 0;
  for (std::string line; std::getline(stream, line);) {
    if (rules == 2) lines.push_back(line);
    if (line.starts_with("---")) ++rules;
  }
  return lines;
}

TEST(ConsoleTable, HasOneLineARowWithMediansAndSpread) {
  const measurements rows{round_of("conv1", 2, 4e-6), round_of("conv2", 0, 1e-3),
                          round_of("conv1", 0, 4e-6), round_of("conv1", 1, 1e-6)};
  const std::vector<std::string> lines = body(rows);
  ASSERT_THAT(lines, SizeIs(2));
  const std::regex expected("conv1 +4.00 us +8.00 us +300 +0.320 +75.0%");
  EXPECT_TRUE(std::regex_match(lines[0], expected)) << lines[0];
  EXPECT_THAT(lines[1], AllOf(HasSubstr("1.00 ms"), EndsWith(" -"))) << "one round has no spread";
}

TEST(ConsoleTable, ShowsALargeSpreadAsAMultiple) {
  const auto spread = [](double longest) {
    return body({round_of("a", 0, 1e-6), round_of("a", 1, 1e-6), round_of("a", 2, longest)}).at(0);
  };
  EXPECT_THAT(spread(10.9e-6), EndsWith(" 990.0%"));
  EXPECT_THAT(spread(1039.115e-6), EndsWith(" 1038x"));
}

TEST(ConsoleTable, HasTheTimesThatPredictionsUse) {
  measurements rows;
  for (std::int64_t round = 0; round < 7; ++round) {
    rows.push_back(round_of("conv1", round, 1e-6));
    rows.back().name.cache = "model";
    rows.back().counters["mean_s"] = round < 3 ? 2e-6 : 9e-6;
    rows.back().counters["disturbed"] = round < 3 ? 0 : 1;
  }
  EXPECT_THAT(body(rows).at(0), HasSubstr("~2.00 us ")) << "means of three undisturbed rounds";
  EXPECT_THAT(body(rows).at(0), EndsWith(" 350.0%")) << "of all rounds";
  for (result::measurement& row : rows) row.name.cache = "hot";
  EXPECT_THAT(body(rows).at(0), HasSubstr("~1.00 us ")) << "medians of hot loops";
}

TEST(ConsoleTable, HasTheCpuTimeOfTheRoundsOfTheTime) {
  measurements rows;
  for (std::int64_t round = 0; round < 8; ++round) {
    rows.push_back(round_of("conv1", round, 1e-6));
    if (round >= 3) rows.back().cpu_seconds = 9e-6;
    if (round >= 3) rows.back().counters["disturbed"] = 1;
  }
  EXPECT_THAT(body(rows).at(0), HasSubstr(" 2.00 us "));
}

TEST(ConsoleTable, MarksRowsWhoseRoundsWereMostlyDisturbed) {
  measurements rows{round_of("conv1", 0, 4e-6), round_of("conv1", 1, 4e-6), round_of("fc", 0, 1e-3),
                    round_of("fc", 1, 1e-3)};
  rows[0].counters["disturbed"] = rows[2].counters["disturbed"] = 1;
  EXPECT_THAT(console_table(rows, false), Not(HasSubstr("~")));
  rows[3].counters["disturbed"] = 1;
  EXPECT_THAT(console_table(rows, false), HasSubstr("\n~: "));
  EXPECT_THAT(body(rows).at(0), HasSubstr(" 4.00 us "));
  EXPECT_THAT(body(rows).at(1), HasSubstr(" ~1.00 ms "));
}

TEST(ConsoleTable, SaysThatEqualLayersHaveOneRow) {
  measurements rows{round_of("conv1", 0, 4e-6), round_of("fc", 0, 1e-3)};
  EXPECT_THAT(console_table(rows, false), HasSubstr("equal layers"));
  for (result::measurement& row : rows) row.counters["count"] = 1;
  EXPECT_THAT(console_table(rows, false), Not(HasSubstr("equal layers")));
}

TEST(ConsoleTable, SaysOnHowManyThreadsAllRowsRan) {
  const measurements rows{round_of("conv1", 0, 4e-6)};
  EXPECT_THAT(console_table(rows, false, false, false, {.threads = 2}), HasSubstr("2 threads"));
  EXPECT_THAT(console_table(rows, false, false, false, {.threads = 1}), HasSubstr("one thread"));
  EXPECT_THAT(console_table(rows, false), HasSubstr("several"));
}

TEST(ConsoleTable, HasAboveItWhatAllNamesShare) {
  measurements rows{round_of("conv1", 0, 4e-6), round_of("conv2", 0, 1e-3)};
  constexpr const char* shared = "rows: conv/fwd/onednn/f32/resnet50/*/batch:1/cache:hot\n";
  EXPECT_THAT(console_table(rows, false), HasSubstr(shared));
  rows[1].name.op = "pool";
  EXPECT_THAT(console_table(rows, false),
              HasSubstr("rows: */fwd/onednn/f32/resnet50/*/batch:1/cache:hot\n"));
  EXPECT_THAT(body(rows).at(1), StartsWith("pool/conv2 "));
  EXPECT_THAT(console_table({rows[0]}, false), Not(HasSubstr("rows:"))) << "one row has its name";
}

TEST(ConsoleTable, HasWholeNamesWhenWide) {
  const measurements rows{round_of("conv1", 0, 4e-6), round_of("conv2", 0, 1e-3)};
  const std::vector<std::string> lines = body(rows, false, true);
  EXPECT_THAT(lines.at(0), StartsWith(rows[0].name.text() + ' '));
  EXPECT_THAT(lines.at(1), StartsWith(rows[1].name.text() + ' '));
  EXPECT_THAT(console_table(rows, false, true), Not(HasSubstr("rows:")));
}

TEST(ConsoleTable, DefinesItsColumns) {
  EXPECT_THAT(console_table({}, false),
              AllOf(HasSubstr("Benchmark"), HasSubstr("CPU time"), HasSubstr("spread")));
}

TEST(ConsoleTable, FitsWithTheLongestNames) {
  const model::graph resnet = model::load(LAYERBENCH_SHAPES_DIR "/models/resnet50.json",
                                          std::nullopt, op::builtin_catalog());
  measurements rows;
  for (const model::primitive& primitive : model::primitives(model::inference_step(resnet))) {
    rows.push_back(round_of(primitive.layer, 0, 0.0999));
    rows.back().name.op = primitive.op.name();
    rows.back().calls = 9'999'999'999;
    rows.back().counters["flops_exact"] = 1e15;
  }
  std::istringstream stream(console_table(rows, false));
  for (std::string line; std::getline(stream, line);) EXPECT_LE(line.size(), 100U) << line;
}

TEST(ConsoleTable, FitsANarrowTerminalWithWholeNames) {
  const std::string layer(70, 'a');
  const measurements rows{round_of(layer, 0, 1e-3), round_of("conv2", 0, 1e-6)};
  const std::string text = console_table(rows, false, false, false, {.columns = 80});
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) EXPECT_LE(line.size(), 80U) << line;
  EXPECT_THAT(text, AllOf(HasSubstr('\n' + layer + "\n "), HasSubstr("\nconv2 ")));
}

TEST(ConsoleTable, HasTimesInTheUnitThatWasAskedFor) {
  const measurements rows{round_of("conv1", 0, 4e-6), round_of("conv2", 0, 1.5)};
  const std::string in_ms = console_table(rows, false, false, false, {.unit = "ms"});
  EXPECT_THAT(in_ms, AllOf(HasSubstr(" 0.00400 ms "), HasSubstr(" 1500 ms ")));
  const std::string in_ns = console_table(rows, false, false, false, {.unit = "ns"});
  EXPECT_THAT(in_ns, AllOf(HasSubstr(" 4000 ns "), HasSubstr(" 1500000000 ns ")));
  std::set<std::size_t> widths;
  std::istringstream stream(in_ns);
  for (std::string line; std::getline(stream, line);) {
    if (line.starts_with("conv") || line.starts_with("---")) widths.insert(line.size());
  }
  EXPECT_THAT(widths, SizeIs(1)) << in_ns;
}

TEST(ConsoleTable, HasPercentilesOfSamples) {
  measurements rows{round_of("conv1", 0, 4e-6), round_of("conv1", 1, 4e-6), round_of("fc", 0, 1)};
  rows[0].counters["p95_s"] = rows[1].counters["p95_s"] = 5e-6;
  rows[0].counters["p99_s"] = 7e-6;
  rows[1].counters["p99_s"] = 9e-6;
  const std::string text = console_table(rows, false, false, false, {.percentiles = true});
  EXPECT_THAT(text, Not(HasSubstr("Iterations")));
  EXPECT_TRUE(std::regex_search(text, std::regex("\nBenchmark +p50 +p95 +p99 ")));
  EXPECT_TRUE(std::regex_search(text, std::regex("\nconv1 +4.00 us +5.00 us +8.00 us "))) << text;
  EXPECT_TRUE(std::regex_search(text, std::regex("\nfc +1.00 s +- +- "))) << "of older files";
}

TEST(ConsoleTable, ShowsNoRateWithoutArithmetic) {
  result::measurement row = round_of("reorder", 0, 1e-6);
  row.counters["flops_exact"] = 0;
  EXPECT_THAT(body({row}).at(0), EndsWith("       -       -"));
  row.counters.clear();
  EXPECT_THAT(body({row}).at(0), EndsWith("       -       -"));
}

TEST(ConsoleTable, ShowsHowFastRowsMoveWhatIsSent) {
  result::measurement row = round_of("bucket1", 0, 1e-3);
  row.counters["flops_exact"] = 0;
  row.counters["algorithm_bandwidth"] = 2.5e9;
  EXPECT_THAT(console_table({row}, false),
              AllOf(HasSubstr("GB/s  spread"), HasSubstr("wall time"), Not(HasSubstr("FLOP"))));
  EXPECT_THAT(body({row}).at(0), EndsWith("   2.500       -"));
}

TEST(ConsoleTable, ShowsHowNearRowsComeToPeaksWhereTheseAreKnown) {
  result::measurement product = round_of("fc6", 0, 1e-3);
  product.counters["flops_of_peak"] = 0.744;
  product.counters["bytes_of_peak"] = 0.1;
  result::measurement slower = product;
  slower.round = 1;
  slower.seconds = 3e-3;
  result::measurement copy = round_of("relu", 0, 1e-3);
  copy.counters["bytes_of_peak"] = 0.83;
  const measurements rows{product, slower, copy, round_of("cpu", 0, 1e-3)};
  EXPECT_THAT(console_table(rows, false), AllOf(HasSubstr("spread  peak\n"), HasSubstr("(c)")));
  const std::vector<std::string> lines = body(rows);
  EXPECT_THAT(lines.at(0), EndsWith(" 100.0%  37%c")) << "of the median time";
  EXPECT_THAT(lines.at(1), EndsWith("  83%m"));
  EXPECT_THAT(lines.at(2), EndsWith(" -     -"));
  EXPECT_THAT(console_table({rows.back()}, false), Not(HasSubstr("peak")));
}

TEST(ConsoleTable, SaysWhatBothRatesAreWhereRanksTrain) {
  result::measurement sent = round_of("bucket1", 0, 1e-3);
  sent.counters["algorithm_bandwidth"] = 2.5e9;
  const std::string both = console_table({sent, round_of("conv1", 0, 1e-3)}, false);
  EXPECT_THAT(both, AllOf(HasSubstr("GFLOP/s, and GB/s"), HasSubstr(" G/s  spread")));
}

TEST(ConsoleTable, SaysThatEventsTimeGpus) {
  const measurements rows{round_of("conv1", 0, 1e-3)};
  EXPECT_THAT(console_table(rows, false), Not(HasSubstr("events")));
  EXPECT_THAT(console_table(rows, false, false, /*has_events=*/true), HasSubstr("events"));
}

TEST(ConsoleTable, AFailedRowHasItsReason) {
  measurements rows{round_of("conv1", 0, 1e-6), round_of("conv1", 1, 1e-6)};
  rows[1].error = "no \x1b f64";
  EXPECT_THAT(body(rows).at(0), EndsWith("ERROR OCCURRED: 'no   f64'"));
}

TEST(ConsoleTable, HasColourOnlyWhenAsked) {
  const measurements rows{round_of("conv1", 0, 1e-6)};
  EXPECT_THAT(body(rows, true).at(0), HasSubstr("\x1b["));
  EXPECT_THAT(body(rows, false).at(0), Not(HasSubstr("\x1b[")));
}

TEST(ProgressLine, FitsIntoTheTerminal) {
  const std::string name(200, 'x');
  for (std::size_t width = 0; width < 250; ++width) {
    const std::string line = progress_line(7, 120, name, 3723, width);
    EXPECT_LE(line.size(), width);
    if (width < 30) continue;
    EXPECT_THAT(line, AllOf(StartsWith("[7/120] "), EndsWith("  1 h 02 min left")));
  }
  EXPECT_EQ(progress_line(1, 2, "conv", -1, 79), "[1/2] conv");
}

TEST(ProgressLine, CountsDownInWholeSeconds) {
  for (const auto& [left, text] :
       std::vector<std::pair<double, std::string>>{{0, "<1 s left"},
                                                   {0.99, "<1 s left"},
                                                   {1, "1 s left"},
                                                   {59.9, "59 s left"},
                                                   {61, "1 min 01 s left"}}) {
    EXPECT_EQ(progress_line(1, 2, "a", left, 79), "[1/2] a  " + text);
  }
}

/// What a run of `steps` steps, `pause` seconds apart, writes where there is no terminal.
std::vector<std::string> progress_of(std::size_t steps, double pause,
                                     std::optional<double> limit = {}) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::tmpfile(), &std::fclose);
  double now = 100;
  {
    progress shown(steps, file.get(), [&] { return now; });
    if (limit) shown.end_in(*limit);
    for (std::size_t i = 0; i < steps; ++i) {
      shown.step("conv");
      now += pause;
    }
  }
  std::rewind(file.get());
  std::string text(static_cast<std::size_t>(1) << 16, '\0');
  text.resize(std::fread(text.data(), 1, text.size(), file.get()));
  std::istringstream stream(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

TEST(Progress, IsALineEveryTenSecondsWithoutATerminal) {
  EXPECT_THAT(progress_of(90, 0.1), SizeIs(0)) << "a short run needs none";
  const std::vector<std::string> lines = progress_of(400, 0.125);  // 50 s
  ASSERT_THAT(lines, SizeIs(4));
  EXPECT_EQ(lines[0], "layerbench: [81/400] conv  40 s left");
  for (const std::string& line : lines) {
    EXPECT_LE(line.size(), 79U);
    EXPECT_THAT(line, Not(HasSubstr("\x1b")));
  }
  EXPECT_THAT(progress_of(3, 100), SizeIs(2)) << "one per step at most";
}

TEST(Progress, LeavesNoMoreTimeThanTheLimitOfTheRun) {
  const std::vector<std::string> lines = progress_of(400, 0.125, 25);
  ASSERT_THAT(lines, SizeIs(4));
  EXPECT_THAT(lines[0], EndsWith("  15 s left"));
  EXPECT_THAT(lines[2], EndsWith("<1 s left"));
  EXPECT_EQ(progress_of(400, 0.125, 1000), progress_of(400, 0.125));
}

TEST(Progress, HasTheTimeLeftBesideWhatIsNoStep) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::tmpfile(), &std::fclose);
  double now = 0;
  progress shown(100, file.get(), [&] { return now; });
  for (; now < 9; now += 0.5) shown.step("conv");
  now = 10.2;  // 17 of 100 steps are done
  shown.note("chain");
  std::array<char, 80> line{};
  std::rewind(file.get());
  ASSERT_NE(std::fgets(line.data(), static_cast<int>(line.size()), file.get()), nullptr);
  EXPECT_EQ(std::string(line.data()), "layerbench: [18/100] chain  49 s left\n");
}

}  // namespace run_console_test
}  // namespace layerbench::run
