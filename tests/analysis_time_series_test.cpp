// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <ranges>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <layerbench/analysis/compare/time_series.hpp>
#include <layerbench/analysis/compare/time_series_json.hpp>
#include <layerbench/analysis/compare/time_series_text.hpp>

#include "support/mentions.hpp"
#include "support/timings.hpp"

namespace layerbench::analysis {
namespace analysis_time_series_test {

using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::mentions;
using ::testing::Optional;
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
  const std::vector<step_series> all = history(files).steps;
  ASSERT_THAT(all, SizeIs(1));
  EXPECT_EQ(all[0].model_case, testing::net);
  EXPECT_EQ(all[0].threads, 3);
  EXPECT_EQ(all[0].device, "x");
  ASSERT_THAT(all[0].points, SizeIs(3));
  EXPECT_EQ(all[0].points[0].date, monday);
  EXPECT_EQ(all[0].points[2].date, friday);
  const prediction alone = testing::only({files[1]});
  EXPECT_DOUBLE_EQ(all[0].points[0].time.seconds, alone.step->seconds);
}

TEST(History, HasAChangeWhereIntervalsDoNotOverlap) {
  const std::vector files{run_at(monday, 1), run_at(tuesday, 1.001), run_at(friday, 2)};
  const step_series all = history(files).steps.at(0);
  EXPECT_FALSE(all.change_at(0));
  EXPECT_FALSE(all.change_at(1));
  EXPECT_NEAR(change(all.points[0], all.points[1]), 0.001, 1e-12);
  EXPECT_THAT(all.change_at(2), Optional(DoubleNear(2 / 1.001 - 1, 1e-12)));
}

TEST(History, HasNoChangeWithTooFewRounds) {
  const std::vector files{run_at(monday, 1, 1), run_at(friday, 2, 6)};
  const step_series all = history(files).steps.at(0);
  EXPECT_FALSE(all.points[0].has_confidence_interval);
  EXPECT_FALSE(all.change_at(1));
}

TEST(History, NamesDifferingFieldsAndSeparatesDevices) {
  std::vector files{run_at(monday, 1), run_at(friday, 1)};
  files[1].context["onednn_version"] = "4.0.0";
  EXPECT_THAT(history(files).steps.at(0).points.at(1).differing, ElementsAre("onednn_version"));
  files[1].context["device"] = "y";
  EXPECT_THAT(history(files).steps, IsEmpty());
}

TEST(History, NeedsSeveralDatesAndCompleteSteps) {
  EXPECT_THAT(history(std::vector{run_at(monday, 1)}).steps, IsEmpty());
  EXPECT_THAT(history(std::vector{run_at(monday, 1), run_at(monday, 2)}).steps, IsEmpty());
  EXPECT_THAT(history(std::vector{run_at(monday, 1), run_at("soon", 2)}).steps, IsEmpty());
  std::vector files{run_at(monday, 1), run_at(friday, 1)};
  std::erase_if(files[1].rows, [](const auto& row) { return row.label.key == "k:1"; });
  EXPECT_THAT(history(files, {.models = {}, .allow_partial = true}).steps, IsEmpty());
}

/// The files without the timings of a layer.
std::vector<result::results> without_a(std::vector<result::results> files) {
  for (result::results& file : files)
    std::erase_if(file.rows, [](const auto& row) { return row.label.key == "k:1"; });
  return files;
}

/// Twelve runs, one per day, that are slower by 10 % from the sixth on, which has another oneDNN.
std::vector<result::results> twelve_runs() {
  std::vector<result::results> files;
  for (int day = 1; day <= 12; ++day) {
    const double noise = 1 + 0.002 * (day % 3);
    files.push_back(
        run_at(fmt::format("2026-01-{:02}T10:00:00+00:00", day), (day < 6 ? 1 : 1.1) * noise));
    files.back().context["onednn_version"] = day < 6 ? "3.2.0" : "3.3.0";
  }
  return files;
}

TEST(Dates, NameTheFirstFileAfterAChangeOfAStepAndOfItsLayers) {
  std::vector files = twelve_runs();
  std::ranges::reverse(files);
  const date_comparison all = compare_dates(files);
  EXPECT_EQ(all.files.front().file, "2026-01-01T10:00:00+00:00.json");
  EXPECT_THAT(all.steps, SizeIs(1));
  EXPECT_THAT(all.layers, SizeIs(2));
  const std::vector<named_change> changes = named_changes(all);
  ASSERT_THAT(changes, SizeIs(3));
  for (const named_change& one : changes) {
    const history_point& first = one.of->points.at(one.change->first);
    EXPECT_EQ(first.file, "2026-01-06T10:00:00+00:00.json");
    EXPECT_THAT(first.differing, ElementsAre("onednn_version"));
    EXPECT_NEAR(one.change->ratio.value(), 1.1, 0.005);
  }
  EXPECT_TRUE(changes[0].is_step);
  EXPECT_THAT(text(all), mentions("12 files", "3 lasting changes", "2026-01-06T10:00:00+00:00.json",
                                  "% slower", "onednn_version"));
  EXPECT_THAT(records(all).rows, SizeIs(3));
  const json::value form = to_json(all);
  EXPECT_EQ(form.at("models").at(0).at("changes").at(0).at("file"),
            "2026-01-06T10:00:00+00:00.json");
  EXPECT_THAT(form.at("layers").at(1).at("points"), SizeIs(12));
}

TEST(Dates, SayWhichStepsAreNotWhole) {
  const date_comparison lacking = compare_dates(without_a(twelve_runs()));
  EXPECT_THAT(lacking.steps, IsEmpty());
  ASSERT_THAT(lacking.left_out, SizeIs(1));
  EXPECT_EQ(lacking.left_out[0].model_case, testing::net);
  std::vector<result::results> partial = twelve_runs();
  for (result::results& file : partial) {
    for (auto& step : std::views::values(file.manifest)) step.front().left_out = 0.1;
  }
  const date_comparison all = compare_dates(partial);
  ASSERT_THAT(all.steps, SizeIs(1));
  EXPECT_THAT(all.steps[0].changes, SizeIs(1));
  EXPECT_THAT(notes(all), ::testing::Contains(mentions("net", "partial model")));
  EXPECT_THAT(history(partial).steps, IsEmpty());
  std::vector<result::results> later = twelve_runs();
  for (std::size_t i = 6; i < later.size(); ++i) later[i] = partial[i];
  ASSERT_THAT(history(later).steps, SizeIs(1));
  EXPECT_THAT(history(later).steps[0].points, SizeIs(6)) << "of whole models";
}

TEST(Dates, SayThatFewFilesNameNothing) {
  std::vector files = twelve_runs();
  files.resize(min_history - 1);
  const date_comparison all = compare_dates(files);
  EXPECT_THAT(named_changes(all), IsEmpty());
  EXPECT_THAT(all.on_few_files, SizeIs(2));
  EXPECT_THAT(all.left_out, SizeIs(1));
  EXPECT_THAT(notes(all), ::testing::Contains(mentions("fewer than 8 files")));
}

TEST(Dates, MayDifferInVersionsAndDriversAlone) {
  std::vector files = twelve_runs();
  files[3].context["kernel"] = "7.0";
  EXPECT_NO_THROW(static_cast<void>(compare_dates(files)));
  files[8].context["threads"] = "4";
  EXPECT_THAT([&] { static_cast<void>(compare_dates(files)); },
              ::testing::ThrowsMessage<bad_input>(mentions(files[8].file, "threads", "--force")));
  const date_comparison all = compare_dates(files, {.force = true});
  EXPECT_THAT(all.forced, ElementsAre("threads"));
  files[8].context.erase("date");
  EXPECT_THROW(static_cast<void>(compare_dates(files, {.force = true})), bad_input);
}

TEST(History, OfManyDatesHasLastingChangesAlone) {
  std::vector files = twelve_runs();
  for (result::measurement& row : files[8].rows) row.seconds *= 2;
  const step_series all = history(files).steps.at(0);
  EXPECT_THAT(all.change_at(5), Optional(DoubleNear(0.1, 0.01)));
  EXPECT_FALSE(all.change_at(8)) << "one disturbed run";
}

}  // namespace analysis_time_series_test
}  // namespace layerbench::analysis
