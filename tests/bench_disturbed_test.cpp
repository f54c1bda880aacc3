// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <list>
#include <string>

#include <sched.h>

#include <gmock/gmock.h>

#include "support/bench.hpp"

/// What is said of a run beside which other programs are busy.
namespace layerbench {
namespace bench_disturbed_test {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::texts;

/// For as long as it lives this process, and what it starts, has a single processor, which it
/// shares with three busy processes: nobody can have 90 % of it then, on whatever machine.
class crowded_processor {
 public:
  crowded_processor() {
    EXPECT_EQ(::sched_getaffinity(0, sizeof before_, &before_), 0);
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(static_cast<std::size_t>(::sched_getcpu()), &one);
    EXPECT_EQ(::sched_setaffinity(0, sizeof one, &one), 0);
    // They end with this process, however it ends.
    constexpr auto spin = "while kill -0 $PPID; do :; done";
    for (int i = 0; i < 3; ++i) busy_.emplace_back("/bin/sh", texts{"-c", spin});
  }
  crowded_processor(const crowded_processor&) = delete;
  crowded_processor& operator=(const crowded_processor&) = delete;
  ~crowded_processor() { ::sched_setaffinity(0, sizeof before_, &before_); }

 private:
  cpu_set_t before_{};
  std::list<testing::child> busy_;
};

/// One round of LeNet-5 and its prediction; measurement passes are longer than any time slice.
testing::outcome measured_in_a_crowd(const std::string& program, const texts& arguments) {
  texts all{"--benchmark_min_time=0.05", "--benchmark_repetitions=1"};
  all.insert(all.end(), arguments.begin(), arguments.end());
  const crowded_processor shared;
  return testing::bench(program, testing::shortly("lenet5", all));
}

TEST(Disturbance, IsInTheFileAndBesideThePrediction) {
  const testing::temporary_directory directory;
  const std::string file = (directory.path() / "results.json").string();
  const testing::outcome done = measured_in_a_crowd("bench_model", {"--benchmark_out=" + file});
  ASSERT_EQ(done.exit_code, 0) << done.err;
  const result::results written = result::read(file);
  ASSERT_FALSE(written.rows.empty());
  for (const result::measurement& row : written.rows) {
    EXPECT_EQ(row.counters.at("disturbed"), 1) << row.name.text();
    EXPECT_EQ(row.counters.at("retries"), 2) << row.name.text();
  }
  const auto mark = AllOf(HasSubstr("disturbed"), HasSubstr("100 %"));
  EXPECT_THAT(done.out, AllOf(HasSubstr(" images/s"), mark));
  const testing::outcome later = testing::run(LAYERBENCH_TOOL, {"predict", file});
  EXPECT_THAT(later.out, mark);
  const testing::outcome data =
      testing::run(LAYERBENCH_TOOL, {"predict", file, "--format", "json"});
  const json::value predictions = json::value::parse(data.out).at("predictions");
  EXPECT_EQ(predictions.at(0).at("disturbed"), 1);
}

TEST(Disturbance, IsSaidWhereThereIsNoPrediction) {
  EXPECT_THAT(measured_in_a_crowd("bench_pool", {}).err,
              AllOf(HasSubstr("2 of 2"), HasSubstr("disturbed"), HasSubstr("--check-machine")));
}

}  // namespace bench_disturbed_test
}  // namespace layerbench
