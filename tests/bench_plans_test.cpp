// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <map>
#include <set>
#include <string>

#include <gmock/gmock.h>

#include "support/bench.hpp"

namespace layerbench {
namespace bench_plans_test {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using testing::texts;

/// One convolution, for which libraries have several algorithms.
class Plans : public ::testing::Test {
 protected:
  /// Algorithms, by layer.
  std::map<std::string, std::string> algorithms(const texts& arguments) {
    std::map<std::string, std::string> found;
    for (const result::measurement& row : directory_.measure(arguments).rows) {
      found[row.name.layer] = row.label.algorithm;
    }
    return found;
  }
  testing::outcome replay(const std::string& file) {
    return directory_.bench("bench_model", {"--plans=" + file, "--benchmark_out=" + second_});
  }
  /// What was measured, with other text in it, as a file.
  std::string with(const std::string& old, const std::string& changed) {
    std::string text = json::read_text(directory_.results);
    std::size_t at = text.find(old);
    EXPECT_NE(at, std::string::npos) << old;
    for (; at != std::string::npos; at = text.find(old, at + changed.size())) {
      text.replace(at, old.size(), changed);
    }
    return directory_.write("changed.json", text).string();
  }

  testing::tiny_directory directory_;
  std::string second_ = (directory_.path() / "second.json").string();
};

TEST_F(Plans, ThatWereMeasuredAreUsedAgain) {
  const auto measured = algorithms({"--plans=measured"});
  EXPECT_EQ(directory_.written()["context"]["plans"], "measured");
  const testing::outcome done = replay(directory_.results);
  EXPECT_EQ(done.exit_code, 0) << done.err;
  const result::results again = result::read(second_);
  EXPECT_EQ(again.context.at("plans"), "replayed");
  std::map<std::string, std::string> replayed;
  for (const result::measurement& row : again.rows) {
    replayed[row.name.layer] = row.label.algorithm;
  }
  EXPECT_EQ(replayed, measured);
}

TEST_F(Plans, OfAFileReplaceTheLibrarysChoice) {
  const auto usual = algorithms({"--benchmark_filter=conv1"});
  const std::string other = "ref:any";  // on every machine, though it is slow
  ASSERT_NE(usual.at("conv1"), other);
  const testing::outcome done = replay(with("algo=" + usual.at("conv1"), "algo=" + other));
  EXPECT_EQ(done.exit_code, 0) << done.err;
  std::size_t replaced = 0;
  for (const result::measurement& row : result::read(second_).rows) {
    if (row.name.layer != "conv1") continue;
    EXPECT_EQ(row.label.algorithm, other);
    ++replaced;
  }
  EXPECT_EQ(replaced, 3U);
}

TEST_F(Plans, ThatAreNotThereFailTheirRowsAlone) {
  const auto usual = algorithms({"--benchmark_filter=conv1"});
  const testing::outcome done = replay(with("algo=" + usual.at("conv1"), "algo=magic"));
  EXPECT_EQ(done.exit_code, 4);
  EXPECT_THAT(done.err, AllOf(HasSubstr("/conv1/"), HasSubstr("magic")));
  for (const result::measurement& row : testing::rows_in(second_)) {
    EXPECT_EQ(row.error.empty(), row.name.layer != "conv1") << row.name.text();
  }
}

TEST_F(Plans, OfAnotherVersionAreRefused) {
  static_cast<void>(algorithms({"--benchmark_filter=conv1"}));
  const std::string version = directory_.written()["context"]["onednn_version"];
  const testing::outcome done =
      replay(with("\"onednn_version\": \"" + version, "\"onednn_version\": \"1.0.0"));
  EXPECT_EQ(done.exit_code, 3);
  EXPECT_THAT(done.err, AllOf(ContainsRegex("changed.json[^\n]*/context/onednn_version"),
                              HasSubstr("1.0.0"), HasSubstr(version)));
}

TEST_F(Plans, ThatFitNothingAreSaidToDoSo) {
  static_cast<void>(algorithms({"--benchmark_filter=conv1"}));
  const std::string note = "no work of this run is in ";
  EXPECT_THAT(replay(directory_.results).err, ::testing::Not(HasSubstr(note)));
  const testing::outcome done = directory_.bench(
      "bench_model", {"--plans=" + directory_.results, "--batch=2", "--benchmark_out=" + second_});
  EXPECT_EQ(done.exit_code, 0) << done.err;
  EXPECT_THAT(done.err, HasSubstr(note));
}

TEST_F(Plans, OfAFileThatIsNotThereAreRefused) {
  const testing::outcome done = replay("nowhere.json");
  EXPECT_EQ(done.exit_code, 3);
  EXPECT_THAT(done.err, HasSubstr("nowhere.json"));
}

TEST_F(Plans, AreKeptWhereARunGoesOn) {
  const auto measured = algorithms({"--plans=measured", "--benchmark_filter=conv1"});
  const testing::outcome done =
      directory_.bench("bench_model", {"--plans=measured", "--resume=" + directory_.results});
  EXPECT_EQ(done.exit_code, 0) << done.err;
  EXPECT_THAT(done.err, ::testing::Not(HasSubstr("plan of onednn/threads:1/f32/nhwc/conv/")));
  std::map<std::string, std::set<std::string>> resumed;  // algorithms by layer
  for (const result::measurement& row : result::read(directory_.results).rows) {
    resumed[row.name.layer].insert(row.label.algorithm);
  }
  EXPECT_EQ(resumed["conv1"], std::set<std::string>{measured.at("conv1")});
  EXPECT_GT(resumed.size(), 1U) << "the other layers were not measured";
}

}  // namespace bench_plans_test
}  // namespace layerbench
