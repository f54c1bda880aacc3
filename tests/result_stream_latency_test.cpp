// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <vector>

#include <gmock/gmock.h>

#include <layerbench/result/stream_latency.hpp>

namespace layerbench {
namespace result_stream_latency_test {

using ::testing::ElementsAre;

const result::case_name of_four{"onednn", "f32", "net", 1, {{"streams", "4"}}};

/// A row of a case whose calls take as long as ever, and whose thread waits 4 ms after each 4 ms.
result::measurement row_in_turns() {
  result::measurement row;
  row.name.model_case = of_four;
  row.counters = {{"waits", 100.0}, {"waited_s", 0.4}, {"watched_s", 0.8}};
  for (const auto& quantile : result::latency_quantiles) {
    row.counters["slow_" + std::string(quantile.name)] = 1;
  }
  return row;
}

TEST(StreamLatency, HasTheWaitsOfAllTurnsThatEndInAStep) {
  const std::vector rows{row_in_turns()};
  const auto seen = result::variation_in(rows, of_four);
  ASSERT_TRUE(seen);
  EXPECT_NEAR(seen->delay(), 2, 1e-9);
  // 6 ms of work: half of the steps meet one end of a turn, the others two.
  const result::latencies found = result::latencies_of(*seen, 0.006);
  EXPECT_NEAR(found.front(), 0.010, 1e-9);
  EXPECT_NEAR(found.back(), 0.014, 1e-9);
  // 1 ms of work: a quarter of the steps wait.
  const result::latencies brief = result::latencies_of(*seen, 0.001);
  EXPECT_NEAR(brief.at(1), 0.001, 1e-9) << "p50";
  EXPECT_NEAR(brief.at(2), 0.005, 1e-9) << "p90";
}

TEST(StreamLatency, VariesAsTheCallsDid) {
  std::vector rows{row_in_turns()};
  rows.front().counters["waits"] = rows.front().counters["waited_s"] = 0;
  rows.front().counters["slow_p99"] = 1.5;
  const auto seen = result::variation_in(rows, of_four);
  ASSERT_TRUE(seen);
  EXPECT_EQ(seen->delay(), 1);
  const result::latencies found = result::latencies_of(*seen, 0.010);
  EXPECT_NEAR(found.at(1), 0.010, 1e-9);
  EXPECT_NEAR(found.back(), 0.015, 0.001);
}

TEST(StreamLatency, IsOfTheRowThatSawMost) {
  std::vector rows{row_in_turns(), row_in_turns(), row_in_turns()};
  rows[1].counters["watched_s"] = 0.9;
  rows[1].counters["waits"] = 0;
  rows[2].name.model_case.parameters.clear();
  rows[2].counters["watched_s"] = 2;
  const auto seen = result::variation_in(rows, of_four);
  ASSERT_TRUE(seen);
  EXPECT_EQ(seen->wait, 0);
  EXPECT_FALSE(result::variation_in({}, of_four));
  std::vector<result::measurement> chains(2);
  for (result::measurement& chain : chains) {
    chain.name = result::row_name::chain(of_four);
    chain.counters["latencies"] = static_cast<double>(&chain - chains.data() + 1);
    for (const auto& [share, name] : result::latency_quantiles) {
      chain.counters["latency_" + std::string(name) + "_s"] = share * chain.counters["latencies"];
    }
  }
  const auto measured = result::measured_latencies(chains, of_four);
  ASSERT_TRUE(measured);
  EXPECT_THAT(*measured, ElementsAre(0.2, 1.0, 1.8, 1.9, 1.98));
}

}  // namespace result_stream_latency_test
}  // namespace layerbench
