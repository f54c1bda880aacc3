// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include <layerbench/analysis/base/repeated_rounds.hpp>

#include "support/golden.hpp"
#include "support/mentions.hpp"
#include "support/timings.hpp"

namespace layerbench::analysis {
namespace analysis_repeated_rounds_test {

using ::testing::IsEmpty;
using testing::mentions;
using ::testing::SizeIs;

using files = std::vector<result::results>;

/// Files with all rows of layers a and b in so many rounds, which no other has.
result::results run(const std::string& name, double factor = 1, std::size_t rounds = 3) {
  std::vector<double> a;
  std::vector<double> b;
  for (std::size_t i = 0; i < rounds; ++i) {
    a.push_back(factor * (1 + 0.01 * static_cast<double>(i)));
    b.push_back(factor * (2 + 0.01 * static_cast<double>(i)));
  }
  result::results file = testing::file_of_a_and_b(a, b);
  file.file = name;
  return file;
}

/// The rounds that a prediction of these files has after repeated ones were dropped.
std::size_t rounds_of(files all) {
  drop_repeated_rounds(all);
  return testing::only(all).rounds;
}

TEST(RepeatedRounds, OfACopyCountOnce) {
  files all{run("r.json"), run("copy.json")};
  all[1].context["date"] = "another";
  EXPECT_EQ(testing::only(all).rounds, 6U) << "as if they were two runs";
  drop_repeated_rounds(all);
  EXPECT_THAT(all[0].rows, SizeIs(6));
  EXPECT_THAT(all[1].rows, IsEmpty());
  EXPECT_THAT(all[0].notes, IsEmpty());
  ASSERT_THAT(all[1].notes, SizeIs(1));
  EXPECT_THAT(all[1].notes[0], mentions("copy.json", "r.json", "6"));
  EXPECT_EQ(testing::only(all).rounds, 3U);
}

TEST(RepeatedRounds, OfAResumedRunAddOnlyTheNewOnes) {
  EXPECT_EQ(rounds_of({run("r.json.partial", 1, 2), run("r.json", 1, 5)}), 5U);
  EXPECT_EQ(rounds_of({run("r.json", 1, 5), run("r.json.partial", 1, 2)}), 5U);
}

TEST(RepeatedRounds, InOneFileCountOnce) {
  result::results merged = run("merged.json");
  const result::results again = merged;
  merged.rows.insert(merged.rows.end(), again.rows.begin(), again.rows.end());
  EXPECT_EQ(rounds_of({merged}), 3U);
  const result::results other = run("other.json", 1.1);
  merged.rows.insert(merged.rows.end(), other.rows.begin(), other.rows.end());
  EXPECT_EQ(rounds_of({merged}), 6U) << "another run has the same numbers of rounds";
}

TEST(RepeatedRounds, AreThoseWithTheSameContent) {
  files all{run("r.json"), run("other.json")};
  for (result::measurement& row : all[1].rows) row.counters["min_s"] = 1;
  drop_repeated_rounds(all);
  EXPECT_THAT(all[1].rows, SizeIs(6)) << "other counters";
  EXPECT_EQ(rounds_of({run("r.json"), run("other.json", 1.1)}), 6U) << "other times";
  result::results equal = testing::file_of_a_and_b({1, 1, 1}, {2, 2, 2});
  EXPECT_EQ(rounds_of({equal}), 3U) << "rounds of one row that took equally long";
}

TEST(RepeatedRounds, OfAnotherMachineOrGpuStay) {
  for (const std::string field : {"host_name", "gpu_uuid"}) {
    files all{run("r.json"), run("other.json")};
    all[0].context[field] = "one";
    all[1].context[field] = "other";
    drop_repeated_rounds(all);
    EXPECT_THAT(all[1].rows, SizeIs(6)) << field;
    EXPECT_THAT(all[1].notes, IsEmpty()) << field;
  }
}

TEST(RepeatedRounds, OfChainsCountOnce) {
  files all{testing::chain_results(), testing::chain_results()};
  const std::size_t chains = all[0].chains.size();
  drop_repeated_rounds(all);
  EXPECT_THAT(all[0].chains, SizeIs(chains));
  EXPECT_THAT(all[1].chains, IsEmpty());
}

TEST(RepeatedRounds, DoNotHideFailedRows) {
  files all{run("r.json"), run("copy.json")};
  for (result::results& file : all) file.rows[0].error = "no memory";
  drop_repeated_rounds(all);
  EXPECT_THAT(all[1].rows, SizeIs(1));
}

}  // namespace analysis_repeated_rounds_test
}  // namespace layerbench::analysis
