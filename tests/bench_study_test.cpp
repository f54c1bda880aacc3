// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <filesystem>
#include <string>

#include <gmock/gmock.h>

#include "support/bench.hpp"
#include "support/temporary_directory.hpp"

/// A study measured by one command.
namespace layerbench {
namespace bench_study_test {

TEST(Study, SmallestCellIsMeasured) {
  testing::temporary_directory scratch;
  const std::string folder = (scratch.path() / "out").string();
  const testing::outcome done = testing::run(
      LAYERBENCH_TOOL,
      {"study", "dlbs_hpe", "--smallest", "--run", "--out", folder, "--format", "json"},
      {{"BENCHMARK_MIN_TIME", "0.001"},
       {"BENCHMARK_REPETITIONS", "1"},
       {"LAYERBENCH_MAX_TIME", "0"},
       {"LAYERBENCH_BACKEND", LAYERBENCH_USABLE_BACKEND}});
  ASSERT_EQ(done.exit_code, 0) << done.err << done.out;
  const json::value table = json::value::parse(done.out);
  ASSERT_EQ(table.at("cells").size(), 1U);
  const json::value& cell = table.at("cells").at(0);
  EXPECT_EQ(cell.at("model"), "deep_mnist_dlbs");
  ASSERT_EQ(cell.at("own").size(), 1U) << cell;
  EXPECT_GT(cell.at("own").at(0).at("value").get<double>(), 0);
  EXPECT_TRUE(std::filesystem::exists(folder + "/inference_f32_batch1.json"));
}

}  // namespace bench_study_test
}  // namespace layerbench
