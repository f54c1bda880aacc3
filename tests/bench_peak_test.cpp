// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include <layerbench/analysis/base/peaks.hpp>
#include <layerbench/result/read_results.hpp>
#include <layerbench/topology/this_machine.hpp>
#include <layerbench/topology/thread_places.hpp>

#include "support/bench.hpp"

// The program that measures peaks. Its cache rows take next to no time; products do.

namespace layerbench {
namespace bench_peak_test {

using ::testing::AllOf;
using testing::bench;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
using testing::texts;

/// `arguments`, after those that measure the smallest streams shortly.
texts shortly(const texts& arguments) {
  texts all{"--benchmark_filter=/(call|[a-z]*_l2)/", "--threads=1", "--benchmark_min_time=0.001",
            "--benchmark_repetitions=3", "--max-time=0"};
  all.insert(all.end(), arguments.begin(), arguments.end());
  return all;
}

/// What the rows of `file` show.
std::vector<analysis::peaks> peaks_of(const std::string& file) {
  const result::results measured = result::read(file);
  return analysis::peaks_in({&measured});
}

TEST(Peak, ListsProductsAndStreams) {
  const testing::outcome done = bench("bench_peak", {"--benchmark_list_tests", "--threads=1"});
  EXPECT_EQ(done.exit_code, 0) << done.err;
  const texts names = testing::lines(done.out);
  std::set<std::string> layers;
  for (const std::string& name : names) {
    const auto parsed = result::parse_row(name);
    ASSERT_TRUE(parsed) << name;
    EXPECT_EQ(parsed->model_case.backend, testing::usable_backend);
    EXPECT_EQ(parsed->model_case.model, "peak");
    EXPECT_EQ(parsed->cache, "hot");
    layers.insert(parsed->layer);
  }
  EXPECT_EQ(layers.size(), names.size());
  EXPECT_THAT(layers,
              ::testing::IsSupersetOf({"call", "read_memory", "write_memory", "copy_memory"}));
  EXPECT_THAT(layers, ::testing::Contains(::testing::StartsWith("square_")));
}

TEST(Peak, HasProductsOfEveryTypeAndStreamsOnce) {
  const auto listed = [](const std::string& filter) {
    return testing::lines(bench("bench_peak", {"--benchmark_list_tests", "--dtype=bf16,f32",
                                               "--threads=1,3", "--benchmark_filter=" + filter})
                              .out);
  };
  const texts products = listed("/square_");
  EXPECT_THAT(products, SizeIs(2 * 2 * 2));
  for (const char* type : {"/f32/", "/bf16/"}) {
    EXPECT_THAT(products, ::testing::Contains(AllOf(HasSubstr(type), HasSubstr("/threads:3"))));
  }
  for (const char* stream : {"/call/", "/copy_memory/"}) {
    const texts names = listed(stream);
    EXPECT_THAT(names, SizeIs(2));
    EXPECT_THAT(names, ::testing::Each(HasSubstr("/bf16/")));
  }
}

TEST(Peak, HasNoOptionsOfModels) {
  const std::string help = bench("bench_peak", {"--help"}).out;
  EXPECT_THAT(help, AllOf(HasSubstr("--threads"), HasSubstr("--dtype"), HasSubstr("--resume"),
                          HasSubstr("--benchmark_filter")));
  for (const char* item : {"--model", "--batch", "--cache", "--phase", "--chain"}) {
    EXPECT_THAT(help, Not(HasSubstr(item)));
  }
  const testing::outcome refused = bench("bench_peak", {"--model=resnet50"});
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.err, HasSubstr("--model"));
  EXPECT_EQ(bench("bench_peak", {"--benchmark_filter=resnet50"}).exit_code, 5);
}

TEST(Peak, SaysHowFastMemoryIs) {
  const testing::temporary_directory directory;
  const std::string file = (directory.path() / "peak.json").string();
  const testing::outcome done = bench("bench_peak", shortly({"--benchmark_out=" + file}));
  EXPECT_EQ(done.exit_code, 0) << done.err;
  EXPECT_THAT(done.out, HasSubstr(testing::usable_backend + " f32, 1 thread: FLOP/s not measured; "
                                                            "a call takes "));
  const std::vector<analysis::peaks> all = peaks_of(file);
  ASSERT_THAT(all, SizeIs(1));
  EXPECT_EQ(all[0].backend, testing::usable_backend);
  EXPECT_EQ(all[0].threads, 1);
  EXPECT_GT(all[0].call, 0);
  EXPECT_FALSE(all[0].complete()) << "there are neither products nor memory";
  for (const analysis::memory_level& level : all[0].levels) {
    EXPECT_EQ(level.name, "l2");
    EXPECT_GT(level.read, 0);
    EXPECT_GT(level.write, 0);
    EXPECT_GT(level.copy, 0);
  }
}

TEST(Peak, HasRowsLikeAnyProgram) {
  const testing::temporary_directory directory;
  const std::string file = (directory.path() / "peak.json").string();
  const texts arguments = shortly({"--benchmark_out=" + file, "--benchmark_format=json"});
  const testing::outcome done = bench("bench_peak", arguments);
  EXPECT_THAT(done.err, ContainsRegex("call[^\n]* [0-9.]+ [mun]?s")) << "stdout is for machines";
  EXPECT_TRUE(json::value::parse(done.out).contains("benchmarks"));
  const result::results measured = result::read(file);
  EXPECT_TRUE(measured.manifest.empty()) << "peaks are no model to be predicted";
  EXPECT_THAT(measured.rows, Not(IsEmpty()));
  for (const result::measurement& row : measured.rows) {
    EXPECT_EQ(row.error, "") << row.name.text();
    EXPECT_EQ(row.counters.at("verified"), 1);
    EXPECT_EQ(row.counters.at("flops"), 0);
    EXPECT_GE(row.counters.at("bytes"), 64);
    EXPECT_THAT(row.label.key, ::testing::StartsWith("kind:"));
  }
}

TEST(Peak, IsOfAllThreadsThatTheBackendUses) {
  const auto listed = [](const texts& arguments) {
    texts all{"--list", "--benchmark_filter=/call/"};
    all.insert(all.end(), arguments.begin(), arguments.end());
    return bench("bench_peak", all).out;
  };
  EXPECT_THAT(listed({"--threads=4"}), HasSubstr(testing::has_onednn ? " 260 B " : " 68.0 B "));
  EXPECT_THAT(listed({"--threads=4", "--backend=reference"}), HasSubstr(" 68.0 B "));
}

TEST(Peak, StreamsPastTheCachesThatTheThreadsUse) {
  const auto listed = [](const std::string& machine) {
    return bench("bench_peak", {"--list", "--benchmark_filter=/read_(memory|l3)/", "--threads=1"},
                 {{"HWLOC_SYNTHETIC", machine}})
        .out;
  };
  const std::string caches = "(size=8388608) l2:2(size=1048576) l1d:1(size=32768) core:1 pu:1";
  EXPECT_THAT(listed("pack:1 l3:2" + caches), AllOf(HasSubstr("33.6 MB"), HasSubstr("4.19 MB")));
  EXPECT_THAT(listed("pack:1 l3:1(size=67108864) l2:2 core:1 pu:1"), HasSubstr("268 MB"));
}

TEST(Peak, IsOfEachDomainOfTheMachine) {
  if (!testing::has_onednn) return;  // the reference has one thread
  const texts all = testing::lines(
      bench("bench_peak", {"--benchmark_list_tests", "--benchmark_filter=/call/"}).out);
  std::set<int> threads =
      machine::threads_of_domains(machine::this_machine(), machine::processors_of_this_thread());
  threads.erase(*threads.rbegin());  // all processors, which names do not show
  ASSERT_THAT(all, SizeIs(threads.size() + 1));
  EXPECT_THAT(all.back(), Not(HasSubstr("/threads:")));
  for (const int count : threads)
    EXPECT_THAT(all, ::testing::Contains(::testing::EndsWith("/threads:" + std::to_string(count))));
}

TEST(Peak, GoOnWhereTheyWereInterrupted) {
  const testing::temporary_directory directory;
  const std::string file = (directory.path() / "peak.json").string();
  ASSERT_EQ(bench("bench_peak", shortly({"--benchmark_out=" + file})).exit_code, 0);
  const std::size_t before = result::read(file).rows.size();
  const testing::outcome more =
      bench("bench_peak", shortly({"--resume=" + file, "--benchmark_repetitions=4"}));
  EXPECT_EQ(more.exit_code, 0) << more.err;
  EXPECT_GT(result::read(file).rows.size(), before);
}

}  // namespace bench_peak_test
}  // namespace layerbench
