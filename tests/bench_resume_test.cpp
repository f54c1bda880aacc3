// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <csignal>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <thread>
#include <utility>

#include <gmock/gmock.h>

#include "support/bench.hpp"

namespace layerbench {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::SizeIs;

/// Each round of each row; a round that is there twice fails.
std::map<std::pair<std::string, std::int64_t>, result::measurement> rounds_of(
    const result::results& results) {
  std::map<std::pair<std::string, std::int64_t>, result::measurement> rounds;
  for (const result::measurement& row : results.rows) {
    EXPECT_TRUE(rounds.try_emplace({row.name.text(), row.round}, row).second) << row.name.text();
  }
  return rounds;
}

/// Every round of `before` is in `after` as it was.
void expect_kept(const result::results& before, const result::results& after) {
  const auto rounds = rounds_of(after);
  for (const auto& [which, row] : rounds_of(before)) {
    const auto found = rounds.find(which);
    ASSERT_NE(found, rounds.end()) << which.first;
    EXPECT_DOUBLE_EQ(found->second.seconds, row.seconds) << which.first;
    EXPECT_EQ(found->second.calls, row.calls);
    EXPECT_EQ(found->second.counters, row.counters);
    EXPECT_EQ(found->second.label.text(), row.label.text());
  }
}

/// Measuring that would take minutes, stopped by a signal once there is a file.
class Interrupt : public ::testing::TestWithParam<int> {
 protected:
  result::results interrupted() {
    testing::child running(
        testing::bench_path("bench_model"),
        testing::shortly(here_.model, {"--benchmark_min_time=100", "--benchmark_repetitions=10000",
                                       "--benchmark_out=" + here_.results}));
    for (int i = 0; i < 3000 && !std::filesystem::exists(here_.results); ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    running.signal(GetParam());
    const testing::outcome done = running.wait();
    EXPECT_EQ(done.exit_code, 130);
    EXPECT_THAT(done.err, AllOf(HasSubstr("interrupted"), HasSubstr("--resume=" + here_.results)));
    EXPECT_THAT(done.out, HasSubstr("/tiny/conv1/"));
    return result::read(here_.results);
  }

  testing::tiny_directory here_;
};

TEST_P(Interrupt, KeepsWhatWasMeasured) {
  const auto rounds = rounds_of(interrupted());
  EXPECT_GE(rounds.size(), 6U);
  EXPECT_LT(rounds.size(), 6U * 10000);
  EXPECT_THAT(here_.files(), ::testing::UnorderedElementsAre("tiny.json", "results.json"));
}

TEST_P(Interrupt, CanBeResumed) {
  const result::results before = interrupted();
  std::int64_t last = 0;
  for (const result::measurement& row : before.rows) last = std::max(last, row.round);
  const auto wanted = static_cast<std::size_t>(last + 3);
  const testing::outcome done =
      here_.bench("bench_model", {"--resume=" + here_.results, "--benchmark_min_time=0.01",
                                  "--benchmark_repetitions=" + std::to_string(wanted)});
  EXPECT_EQ(done.exit_code, 0) << done.err;
  const result::results after = result::read(here_.results);
  EXPECT_THAT(rounds_of(after), SizeIs(6 * wanted));
  expect_kept(before, after);
}

INSTANTIATE_TEST_SUITE_P(Signals, Interrupt, ::testing::Values(SIGINT, SIGTERM),
                         [](const auto& instance) {
                           return instance.param == SIGINT ? "Int" : "Term";
                         });

TEST(Resume, OfACompleteFileMeasuresNothing) {
  const testing::tiny_directory here;
  const result::results before = here.measure();
  EXPECT_EQ(here.bench("bench_model", {"--resume=" + here.results}).exit_code, 0);
  const result::results after = result::read(here.results);
  EXPECT_THAT(rounds_of(after), SizeIs(6 * 3));
  expect_kept(before, after);
}

TEST(Resume, MeasuresTheLayersThatAreMissing) {
  const testing::tiny_directory here;
  const result::results before = here.measure({"--benchmark_filter=conv1"});
  const testing::outcome done = here.bench("bench_model", {"--resume=" + here.results});
  EXPECT_EQ(done.exit_code, 0) << done.err;
  EXPECT_THAT(done.out, HasSubstr(" images/s"));
  const result::results after = result::read(here.results);
  EXPECT_THAT(rounds_of(after), SizeIs(6 * 3));
  expect_kept(before, after);
}

TEST(Resume, CanWriteToAnotherFile) {
  const testing::tiny_directory here;
  static_cast<void>(here.measure());
  const std::string before = json::read_text(here.results);
  const std::string other = (here.path() / "other.json").string();
  EXPECT_EQ(here.bench("bench_model", {"--resume=" + here.results, "--benchmark_out=" + other,
                                       "--benchmark_repetitions=4"})
                .exit_code,
            0);
  EXPECT_EQ(json::read_text(here.results), before);
  EXPECT_THAT(rounds_of(result::read(other)), SizeIs(6 * 4));
}

TEST(Resume, KeepsTheManifestsOfOtherModels) {
  const testing::tiny_directory here;
  const result::results before = here.measure({"--batch=1"});
  EXPECT_EQ(here.bench("bench_model", {"--resume=" + here.results, "--batch=2"}).exit_code, 0);
  const result::results after = result::read(here.results);
  EXPECT_THAT(after.manifest, SizeIs(2));
  EXPECT_THAT(rounds_of(after), SizeIs(2 * 6 * 3));
  expect_kept(before, after);
}

TEST(Resume, RefusesOtherConditionsAndNamesThem) {
  const testing::tiny_directory here;
  static_cast<void>(here.measure());
  json::value edited = here.written();
  edited["context"]["seed"] = "2";
  edited["context"]["device"] = "another processor";
  const std::string text = edited.dump();
  const std::string path = here.write("edited.json", text).string();
  const testing::outcome done = here.bench("bench_model", {"--resume=" + path});
  EXPECT_EQ(done.exit_code, 3);
  EXPECT_THAT(done.err, AllOf(HasSubstr(path), HasSubstr("/context"), HasSubstr("device seed")));
  EXPECT_EQ(json::read_text(path), text);
}

TEST(Resume, RefusesAnotherMachinesFile) {
  const testing::tiny_directory here;
  static_cast<void>(here.measure());
  json::value edited = here.written();
  edited["context"]["host_name"] = "elsewhere";
  edited["context"]["num_cpus"] = 77;
  const std::string path = here.write("edited.json", edited.dump()).string();
  const testing::outcome done = here.bench("bench_model", {"--resume=" + path});
  EXPECT_EQ(done.exit_code, 3);
  EXPECT_THAT(done.err, HasSubstr("host_name num_cpus"));
}

TEST(Resume, RefusesRowsWhoseShapeHasChanged) {
  const testing::tiny_directory here;
  static_cast<void>(here.measure());
  const std::string before = json::read_text(here.results);
  std::string model = testing::tiny_model;
  const std::string old_size = R"("n": 10)";
  model.replace(model.find(old_size), old_size.size(), R"("n": 20)");
  const std::string old_dims = R"(["batch", 10])";
  model.replace(model.find(old_dims), old_dims.size(), R"(["batch", 20])");
  static_cast<void>(here.write(std::filesystem::path(here.model).filename(), model));
  const testing::outcome done = here.bench("bench_model", {"--resume=" + here.results});
  EXPECT_EQ(done.exit_code, 3);
  EXPECT_THAT(done.err, AllOf(HasSubstr("/fc1/"), HasSubstr("another shape")));
  EXPECT_EQ(json::read_text(here.results), before);
}

TEST(Resume, RefusesToOverwriteItsFileWithWhatCannotBeResumed) {
  const testing::tiny_directory here;
  static_cast<void>(here.measure());
  const std::string before = json::read_text(here.results);
  for (const char* option :
       {"--benchmark_out_format=csv", "--benchmark_report_aggregates_only=true"}) {
    const testing::outcome done = here.bench("bench_model", {"--resume=" + here.results, option});
    EXPECT_EQ(done.exit_code, 2);
    EXPECT_THAT(done.err, HasSubstr("--benchmark_out"));
    EXPECT_EQ(json::read_text(here.results), before);
  }
}

TEST(Resume, RefusesFilesThatAreNoResults) {
  const testing::tiny_directory here;
  const std::string absent = (here.path() / "absent.json").string();
  const std::string cut = here.write("cut.json", R"({"context": {)").string();
  for (const std::string& path : {absent, cut, here.model}) {
    const testing::outcome done = here.bench("bench_model", {"--resume=" + path});
    EXPECT_EQ(done.exit_code, 3);
    EXPECT_THAT(done.err, HasSubstr(path));
    EXPECT_EQ(done.out, "");
  }
  EXPECT_FALSE(std::filesystem::exists(absent));
}

}  // namespace
}  // namespace layerbench
