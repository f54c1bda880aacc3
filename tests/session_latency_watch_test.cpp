// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <vector>

#include <gmock/gmock.h>

#include <layerbench/result/stream_shares.hpp>
#include <layerbench/session/latency_watch.hpp>

namespace layerbench {
namespace session_latency_watch_test {

using result::stream_shares;

TEST(StreamShares, DivideThreadsOrTakeTurns) {
  EXPECT_EQ((stream_shares{2, 8}.threads_each()), 4);
  EXPECT_EQ((stream_shares{2, 8}.per_processor()), 1);
  EXPECT_EQ((stream_shares{8, 2}.threads_each()), 1);
  EXPECT_EQ((stream_shares{8, 2}.per_processor()), 4);
  const auto of = stream_shares::of({"onednn", "f32", "net", 1, {{"streams", "4"}}}, 2);
  EXPECT_EQ(of.streams, 4);
  EXPECT_EQ(of.threads, 2);
}

TEST(LatencyWatch, TellsHowStretchesAsLongAsAStepVary) {
  run::latency_watch watch;
  result::measurement row;
  watch.add_calls({0.001, 0.001}, 1, 0.001, 0, 1);
  watch.add_to_row(row);
  EXPECT_FALSE(row.counters.contains("slow_p50")) << "while a step's seconds are not known";
  // Single calls take 1 ms, 3 ms and so on; any four of them as long as a step, 8 ms.
  watch.add_calls(std::vector<double>{.001, .003, .001, .003, .001, .003, .001, .003}, 1, 0.002,
                  0.008, 1);
  watch.add_to_row(row);
  EXPECT_NEAR(row.counters.at("slow_p10"), 1, 1e-9);
  EXPECT_NEAR(row.counters.at("slow_p99"), 1, 1e-9);
  // A row of nine times the share whose calls took half as long again.
  watch.add_calls({0.003}, 10, 0.002, 0.008, 9);
  watch.add_to_row(row);
  EXPECT_NEAR(row.counters.at("slow_p50"), 1.5, 1e-9);
}

TEST(LatencyWatch, SeesWaits) {
  run::latency_watch watch;
  result::measurement row;
  watch.watch_waits();
  watch.watch_waits();
  watch.add_to_row(row);
  EXPECT_GE(row.counters.at("watched_s"), 0.4);
  EXPECT_LE(row.counters.at("waited_s"), row.counters.at("watched_s"));
  EXPECT_EQ(row.counters.at("waits") > 0, row.counters.at("waited_s") > 0);
}

TEST(LatencyWatch, HasQuantilesOfAllSteps) {
  run::latency_watch watch;
  result::measurement chain;
  watch.add_steps({5, 4, 3});
  watch.add_steps({2, 1});
  watch.add_to_chain(chain);
  EXPECT_EQ(chain.counters.at("latencies"), 5);
  EXPECT_EQ(chain.counters.at("latency_p50_s"), 3);
}

}  // namespace session_latency_watch_test
}  // namespace layerbench
