// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "support/bench.hpp"
#include "support/mentions.hpp"

/// bench_model --energy with meters that are commands.
namespace layerbench {
namespace bench_energy_test {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::mentions;

/// Joules of a machine that takes 10 W, and 20 W for each processor that the program keeps busy.
const std::string meter =
    "--meter=read up rest < /proc/uptime; "
    "awk -v up=$up '{ print 10 * up + 20 * ($14 + $15) / 100 }' /proc/$PPID/stat";

class Energy : public ::testing::Test {
 protected:
  testing::outcome bench(const testing::texts& arguments) const {
    return directory_.bench("bench_model", arguments);
  }
  testing::tiny_directory directory_;
};

TEST_F(Energy, OfAStepIsInTheFileAndInItsPrediction) {
  const testing::outcome done = bench(
      {"--energy", meter, "--benchmark_repetitions=1", "--benchmark_out=" + directory_.results});
  ASSERT_EQ(done.exit_code, 0) << done.err;
  EXPECT_THAT(done.err, HasSubstr("energy: meter")) << "with the idle power";
  const result::results found = result::read(directory_.results);
  EXPECT_EQ(found.context_value("energy_class"), "meter");
  ASSERT_FALSE(found.chains.empty()) << "--energy needs steps";
  for (const result::measurement& chain : found.chains) {
    EXPECT_GT(chain.counters.at("energy_gross_j"), chain.counters.at("energy_net_j"));
    EXPECT_GE(chain.counters.at("energy_window_s"), 2);
    EXPECT_GE(chain.counters.at("energy_calls"), 1);
    EXPECT_GE(chain.counters.at("idle_w"), 9.5);
  }
  for (const result::measurement& row : found.rows) {
    EXPECT_FALSE(row.counters.contains("energy_gross_j")) << "of layers only if they are wanted";
  }
  const testing::outcome predicted = testing::run(LAYERBENCH_TOOL, {"predict", directory_.results});
  EXPECT_THAT(predicted.out, AllOf(HasSubstr("J per image"), HasSubstr("evidence: meter")));
  const testing::outcome resumed =
      bench({"--resume=" + directory_.results, "--energy", "--meter=echo 5"});
  EXPECT_EQ(resumed.exit_code, 3) << "another meter";
  EXPECT_THAT(resumed.err, HasSubstr("energy_counter"));
}

TEST_F(Energy, WithoutAMeterThatWorksIsNotBegun) {
  const testing::outcome done =
      bench({"--energy", "--meter=echo broken", "--benchmark_out=" + directory_.results});
  EXPECT_EQ(done.exit_code, 77);
  EXPECT_THAT(done.err, AllOf(HasSubstr("--meter"), HasSubstr("'broken'")));
  EXPECT_EQ(done.out, "");
}

TEST_F(Energy, ThatMakesNoSenseIsAWrongCommand) {
  for (const auto& [arguments, named] : std::vector<std::pair<testing::texts, std::string>>{
           {{"--meter=echo 5"}, "--energy"},
           {{"--energy", "--meter-unit=W"}, "--meter"},
           {{"--energy=rows"}, "layers"},
           {{"--energy", "--curve", "--batch=1..4", "--benchmark_out=" + directory_.results},
            "--curve"},
           {{"--energy", "--meter=echo 5", "--meter-unit=kWh"}, "kWh"}}) {
    const testing::outcome done = bench(arguments);
    EXPECT_EQ(done.exit_code, 2) << named;
    EXPECT_THAT(done.err, HasSubstr(named));
  }
}

}  // namespace bench_energy_test
}  // namespace layerbench
