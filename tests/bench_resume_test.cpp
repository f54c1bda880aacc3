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
  const testing::tiny_directory directory;
  const result::results before = directory.measure();
  EXPECT_EQ(directory.bench("bench_model", {"--resume=" + directory.results}).exit_code, 0);
  const result::results after = result::read(directory.results);
  EXPECT_THAT(rounds_of(after), SizeIs(6 * 3));
  expect_kept(before, after);
}

TEST(Resume, MeasuresTheLayersThatAreMissing) {
  const testing::tiny_directory directory;
  const result::results before = directory.measure({"--benchmark_filter=conv1"});
  const testing::outcome done = directory.bench("bench_model", {"--resume=" + directory.results});
  EXPECT_EQ(done.exit_code, 0) << done.err;
  EXPECT_THAT(done.out, HasSubstr(" images/s"));
  const result::results after = result::read(directory.results);
  EXPECT_THAT(rounds_of(after), SizeIs(6 * 3));
  expect_kept(before, after);
}

TEST(Resume, CanWriteToAnotherFile) {
  const testing::tiny_directory directory;
  static_cast<void>(directory.measure());
  const std::string before = json::read_text(directory.results);
  const std::string other = (directory.path() / "other.json").string();
  EXPECT_EQ(directory
                .bench("bench_model", {"--resume=" + directory.results, "--benchmark_out=" + other,
                                       "--benchmark_repetitions=4"})
                .exit_code,
            0);
  EXPECT_EQ(json::read_text(directory.results), before);
  EXPECT_THAT(rounds_of(result::read(other)), SizeIs(6 * 4));
}

TEST(Resume, KeepsTheManifestsOfOtherModels) {
  const testing::tiny_directory directory;
  const result::results before = directory.measure({"--batch=1"});
  const testing::outcome done =
      directory.bench("bench_model", {"--resume=" + directory.results, "--batch=2"});
  EXPECT_EQ(done.exit_code, 0);
  EXPECT_THAT(done.out, AllOf(HasSubstr("batch 2,"), ::testing::Not(HasSubstr("batch 1,"))))
      << "only what was asked for now is predicted";
  const result::results after = result::read(directory.results);
  EXPECT_THAT(after.manifest, SizeIs(2));
  EXPECT_THAT(rounds_of(after), SizeIs(2 * 6 * 3));
  expect_kept(before, after);
}

TEST(Resume, RefusesOtherConditionsAndNamesThem) {
  const testing::tiny_directory directory;
  static_cast<void>(directory.measure());
  json::value edited = directory.written();
  edited["context"]["seed"] = "2";
  edited["context"]["device"] = "another processor";
  const std::string text = edited.dump();
  const std::string path = directory.write("edited.json", text).string();
  const testing::outcome done = directory.bench("bench_model", {"--resume=" + path});
  EXPECT_EQ(done.exit_code, 3);
  EXPECT_THAT(done.err, AllOf(HasSubstr(path), HasSubstr("/context"),
                              HasSubstr("device (\"another processor\", "),
                              HasSubstr("seed (\"2\", \"1\")")));
  EXPECT_EQ(json::read_text(path), text);
}

TEST(Resume, RefusesAnotherMachinesFile) {
  const testing::tiny_directory directory;
  static_cast<void>(directory.measure());
  json::value edited = directory.written();
  edited["context"]["host_name"] = "elsewhere";
  edited["context"]["num_cpus"] = 77;
  const std::string path = directory.write("edited.json", edited.dump()).string();
  const testing::outcome done = directory.bench("bench_model", {"--resume=" + path});
  EXPECT_EQ(done.exit_code, 3);
  EXPECT_THAT(done.err,
              AllOf(HasSubstr("host_name (\"elsewhere\", "), HasSubstr("num_cpus (\"77\", ")));
}

/// Writes the tiny model with so many outputs of its last layers.
void write_with_outputs(const testing::tiny_directory& target, const std::string& outputs) {
  std::string model = testing::tiny_model;
  const auto replace = [&](const std::string& old, const std::string& text) {
    model.replace(model.find(old), old.size(), text);
  };
  replace(R"("n": 10)", R"("n": )" + outputs);
  replace(R"(["batch", 10])", R"(["batch", )" + outputs + "]");
  static_cast<void>(target.write(std::filesystem::path(target.model).filename(), model));
}

TEST(Resume, RefusesRowsWhoseShapeHasChanged) {
  const testing::tiny_directory directory;
  static_cast<void>(directory.measure());
  const std::string before = json::read_text(directory.results);
  write_with_outputs(directory, "20");
  const testing::outcome done = directory.bench("bench_model", {"--resume=" + directory.results});
  EXPECT_EQ(done.exit_code, 3);
  EXPECT_THAT(done.err, AllOf(HasSubstr("/fc1/"), HasSubstr("another shape")));
  EXPECT_EQ(json::read_text(directory.results), before);
}

TEST(Resume, RefusesRowsWhoseCacheStateHasChanged) {
  const testing::tiny_directory directory;
  static_cast<void>(directory.measure({"--benchmark_filter=conv1"}));
  write_with_outputs(directory, "100000");
  const testing::outcome done =
      directory.bench("bench_model", {"--resume=" + directory.results, "--benchmark_filter=conv1"});
  EXPECT_EQ(done.exit_code, 3);
  EXPECT_THAT(done.err, AllOf(HasSubstr("/conv1/"), HasSubstr("cache state")));
}

TEST(Resume, MeasuresAChainThatIsMissing) {
  const testing::tiny_directory directory;
  const result::results before = directory.measure();
  const testing::texts again{"--resume=" + directory.results, "--chain"};
  const testing::outcome done = directory.bench("bench_model", again);
  EXPECT_EQ(done.exit_code, 0) << done.err;
  const result::results after = result::read(directory.results);
  EXPECT_THAT(after.chains, SizeIs(3));
  expect_kept(before, after);
  EXPECT_EQ(directory.bench("bench_model", again).exit_code, 0);
  EXPECT_THAT(result::read(directory.results).chains, SizeIs(3)) << "it is whole";
}

TEST(Resume, RefusesToOverwriteItsFileWithWhatCannotBeResumed) {
  const testing::tiny_directory directory;
  static_cast<void>(directory.measure());
  const std::string before = json::read_text(directory.results);
  for (const char* option :
       {"--benchmark_out_format=csv", "--benchmark_report_aggregates_only=true"}) {
    const testing::outcome done =
        directory.bench("bench_model", {"--resume=" + directory.results, option});
    EXPECT_EQ(done.exit_code, 2);
    EXPECT_THAT(done.err, HasSubstr("--benchmark_out"));
    EXPECT_EQ(json::read_text(directory.results), before);
  }
}

TEST(Resume, RefusesFilesThatAreNoResults) {
  const testing::tiny_directory directory;
  const std::string absent = (directory.path() / "absent.json").string();
  const std::string cut = directory.write("cut.json", R"({"context": {)").string();
  for (const std::string& path : {absent, cut, directory.model}) {
    const testing::outcome done = directory.bench("bench_model", {"--resume=" + path});
    EXPECT_EQ(done.exit_code, 3);
    EXPECT_THAT(done.err, HasSubstr(path));
    EXPECT_EQ(done.out, "");
  }
  EXPECT_FALSE(std::filesystem::exists(absent));
}

TEST(Resume, SaysThatNothingIsLeftAndKeepsWhyItStopped) {
  const testing::tiny_directory directory;
  const result::results before = directory.measure();
  const auto stopped = [&] {
    return result::read(directory.results).context_value("stopped").value_or("");
  };
  EXPECT_THAT(stopped(), HasSubstr("/tiny/"));
  const testing::outcome done = directory.bench("bench_model", {"--resume=" + directory.results});
  EXPECT_EQ(done.exit_code, 0);
  EXPECT_THAT(done.err, AllOf(HasSubstr("nothing left"), HasSubstr("--benchmark_repetitions")));
  EXPECT_EQ(stopped(), before.context_value("stopped"));
  const testing::outcome more = directory.bench(
      "bench_model", {"--resume=" + directory.results, "--benchmark_repetitions=4"});
  EXPECT_THAT(more.err, ::testing::Not(HasSubstr("nothing left")));
  EXPECT_EQ(stopped().find("/tiny/"), stopped().rfind("/tiny/")) << "one entry per case";
}

TEST(Resume, RefusesAFileOfOtherModels) {
  const testing::tiny_directory directory;
  static_cast<void>(directory.measure());
  const std::string before = json::read_text(directory.results);
  std::string text = testing::tiny_model;
  text.replace(text.find("\"tiny\""), 6, "\"other\"");
  const std::string other = directory.write("other.json", text).string();
  const testing::outcome done =
      directory.bench("bench_model", {"--resume=" + directory.results, "--model=" + other});
  EXPECT_EQ(done.exit_code, 3);
  EXPECT_THAT(done.err,
              AllOf(HasSubstr(directory.results), HasSubstr("/benchmarks"), HasSubstr("tiny")));
  EXPECT_EQ(json::read_text(directory.results), before);
}

}  // namespace bench_resume_test
}  // namespace layerbench
