// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <filesystem>
#include <string>

#include <gmock/gmock.h>

#include "support/bench.hpp"

namespace layerbench {
namespace bench_resume_test {

using ::testing::AllOf;
using testing::expect_kept;
using ::testing::HasSubstr;
using testing::rounds_of;
using ::testing::SizeIs;

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
  const testing::outcome done =
      here.bench("bench_model", {"--resume=" + here.results, "--batch=2"});
  EXPECT_EQ(done.exit_code, 0);
  EXPECT_THAT(done.out, AllOf(HasSubstr("batch 2,"), ::testing::Not(HasSubstr("batch 1,"))))
      << "only what was asked for now is predicted";
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

/// Writes the tiny model with so many outputs of its last layers.
void write_with_outputs(const testing::tiny_directory& here, const std::string& outputs) {
  std::string model = testing::tiny_model;
  const auto replace = [&](const std::string& old, const std::string& text) {
    model.replace(model.find(old), old.size(), text);
  };
  replace(R"("n": 10)", R"("n": )" + outputs);
  replace(R"(["batch", 10])", R"(["batch", )" + outputs + "]");
  static_cast<void>(here.write(std::filesystem::path(here.model).filename(), model));
}

TEST(Resume, RefusesRowsWhoseShapeHasChanged) {
  const testing::tiny_directory here;
  static_cast<void>(here.measure());
  const std::string before = json::read_text(here.results);
  write_with_outputs(here, "20");
  const testing::outcome done = here.bench("bench_model", {"--resume=" + here.results});
  EXPECT_EQ(done.exit_code, 3);
  EXPECT_THAT(done.err, AllOf(HasSubstr("/fc1/"), HasSubstr("another shape")));
  EXPECT_EQ(json::read_text(here.results), before);
}

TEST(Resume, RefusesRowsWhoseCacheStateHasChanged) {
  const testing::tiny_directory here;
  static_cast<void>(here.measure({"--benchmark_filter=conv1"}));
  write_with_outputs(here, "100000");
  const testing::outcome done =
      here.bench("bench_model", {"--resume=" + here.results, "--benchmark_filter=conv1"});
  EXPECT_EQ(done.exit_code, 3);
  EXPECT_THAT(done.err, AllOf(HasSubstr("/conv1/"), HasSubstr("another cache state")));
}

TEST(Resume, MeasuresAChainThatIsMissing) {
  const testing::tiny_directory here;
  const result::results before = here.measure();
  const testing::texts again{"--resume=" + here.results, "--chain"};
  const testing::outcome done = here.bench("bench_model", again);
  EXPECT_EQ(done.exit_code, 0) << done.err;
  const result::results after = result::read(here.results);
  EXPECT_THAT(after.chains, SizeIs(3));
  expect_kept(before, after);
  EXPECT_EQ(here.bench("bench_model", again).exit_code, 0);
  EXPECT_THAT(result::read(here.results).chains, SizeIs(3)) << "it is whole";
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

}  // namespace bench_resume_test
}  // namespace layerbench
