// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include <layerbench/analysis/compare/time_series.hpp>

#include "support/timings.hpp"

namespace layerbench::analysis {
namespace analysis_time_series_test {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

/// A run at `date`, whose layers take `slower` times as long as usual in each of `count` rounds.
result::results run_at(const std::string& date, double slower, std::size_t count = 6) {
  std::vector<double> a;
  std::vector<double> b;
  for (std::size_t i = 0; i < count; ++i) {
    const double noise = 1 + 0.01 * static_cast<double>(i % 3);
    a.push_back(1e-3 * slower * noise);
    b.push_back(2e-3 * slower * noise);
  }
  result::results file = testing::file_with(
      {testing::rounds(testing::net, "a", "k:1", a), testing::rounds(testing::net, "b", "k:2", b)});
  file.file = date + ".json";
  file.context["date"] = date;
  return file;
}

const std::string monday = "2026-01-05T10:00:00+00:00";
const std::string tuesday = "2026-01-06T10:00:00+00:00";
const std::string friday = "2026-01-09T10:00:00+00:00";

TEST(Instant, RespectsTheTimeZone) {
  const auto at = instant("2026-01-02T03:04:05+00:00");
  ASSERT_TRUE(at);
  EXPECT_EQ(at->time_since_epoch().count(), 1767323045);
  EXPECT_EQ(instant("2026-01-02T08:34:05+05:30"), at);
  EXPECT_EQ(instant("2026-01-01T20:04:05-07:00"), at);
  EXPECT_EQ(instant("2026-01-02T03:04:05"), at);
  for (const char* wrong : {"", "yesterday", "2026-13-02T03:04:05+00:00"}) {
    EXPECT_FALSE(instant(wrong)) << wrong;
  }
}

TEST(History, IsInTheOrderOfTheDates) {
  const std::vector files{run_at(friday, 2), run_at(monday, 1), run_at(tuesday, 1.001)};
  const std::vector<time_series> all = history(files);
  ASSERT_THAT(all, SizeIs(1));
  EXPECT_EQ(all[0].model_case, testing::net);
  EXPECT_EQ(all[0].threads, 3);
  EXPECT_EQ(all[0].device, "x");
  ASSERT_THAT(all[0].points, SizeIs(3));
  EXPECT_EQ(all[0].points[0].date, monday);
  EXPECT_EQ(all[0].points[2].date, friday);
  const prediction alone = testing::only({files[1]});
  EXPECT_DOUBLE_EQ(all[0].points[0].predicted.step->seconds, alone.step->seconds);
}

TEST(History, HasAChangeWhereIntervalsDoNotOverlap) {
  const std::vector files{run_at(monday, 1), run_at(tuesday, 1.001), run_at(friday, 2)};
  const std::vector<history_point> points = history(files).at(0).points;
  EXPECT_FALSE(changed(points[0], points[1]));
  EXPECT_NEAR(change(points[0], points[1]), 0.001, 1e-12);
  EXPECT_TRUE(changed(points[1], points[2]));
  EXPECT_TRUE(changed(points[2], points[1]));
}

TEST(History, HasNoChangeWithTooFewRounds) {
  const std::vector files{run_at(monday, 1, 1), run_at(friday, 2, 6)};
  const std::vector<history_point> points = history(files).at(0).points;
  EXPECT_FALSE(points[0].has_confidence_interval());
  EXPECT_FALSE(changed(points[0], points[1]));
}

TEST(History, NamesDifferingFieldsAndSeparatesDevices) {
  std::vector files{run_at(monday, 1), run_at(friday, 1)};
  files[1].context["onednn_version"] = "4.0.0";
  EXPECT_THAT(history(files).at(0).points.at(1).differing, ElementsAre("onednn_version"));
  files[1].context["device"] = "y";
  EXPECT_THAT(history(files), IsEmpty());
}

TEST(History, NeedsSeveralDatesAndCompleteSteps) {
  EXPECT_THAT(history(std::vector{run_at(monday, 1)}), IsEmpty());
  EXPECT_THAT(history(std::vector{run_at(monday, 1), run_at(monday, 2)}), IsEmpty());
  EXPECT_THAT(history(std::vector{run_at(monday, 1), run_at("soon", 2)}), IsEmpty());
  std::vector files{run_at(monday, 1), run_at(friday, 1)};
  std::erase_if(files[1].rows, [](const auto& row) { return row.label.key == "k:1"; });
  EXPECT_THAT(history(files, {.models = {}, .allow_partial = true}), IsEmpty());
}

}  // namespace analysis_time_series_test
}  // namespace layerbench::analysis
