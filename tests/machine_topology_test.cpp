// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <hwloc.h>

#include <gmock/gmock.h>

#include <layerbench/topology/hwloc.hpp>
#include <layerbench/topology/numa.hpp>
#include <layerbench/topology/this_machine.hpp>
#include <layerbench/topology/thread_binding.hpp>
#include <layerbench/topology/thread_places.hpp>
#include <layerbench/topology/topology.hpp>

#include "support/topologies.hpp"

// Where threads and memory go on machines that are not there, and which caches they use.

namespace layerbench::machine {
namespace machine_topology_test {

using ::testing::AllOf;
using testing::bound;
using testing::caches_for;
using ::testing::Each;
using testing::eight_caches;
using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using testing::from_file;
using testing::gib;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::kib;
using testing::mib;
using ::testing::Not;
using testing::processors_for;
using testing::range;
using ::testing::SizeIs;
using testing::synthetic;
using testing::threads_on;
using testing::two_sockets;

void expect_caches(const topology& of, int threads, std::int64_t last, std::int64_t private_bytes) {
  EXPECT_EQ(caches_for(of, threads).last_bytes, last) << threads;
  EXPECT_EQ(caches_for(of, threads).private_bytes, private_bytes) << threads;
}

TEST(Topology, OfTwoSocketsHasItsParts) {
  const topology of = two_sockets();
  EXPECT_THAT(of.cores, SizeIs(64));
  EXPECT_THAT(of.cores[1].processors, ElementsAre(2, 3));
  EXPECT_THAT(of.nodes, SizeIs(2));
  EXPECT_EQ(text(of), "2 packages, 2 nodes (256 GB), 8 L3 (32 MB), 64 cores, 128 processors");
}

TEST(Threads, FillOneCacheBeforeTheNextAndCoresBeforeSiblings) {
  const topology of = two_sockets();
  EXPECT_THAT(processors_for(of, 8), ElementsAreArray(range(0, 8, 2)));
  EXPECT_THAT(processors_for(of, 9), ElementsAreArray(range(0, 9, 2)));
  EXPECT_THAT(processors_for(of, 64), ElementsAreArray(range(0, 64, 2)));
  processor_list all = range(0, 64, 2);
  const processor_list siblings = range(1, 64, 2);
  all.insert(all.end(), siblings.begin(), siblings.end());
  EXPECT_THAT(processors_for(of, 128), ElementsAreArray(all));
  EXPECT_EQ(openmp_places(of, all), "{0}:64:2,{1}:64:2");
}

TEST(OneCore, HasItsCaches) {
  const topology of =
      synthetic("pack:1 l3:1(size=8388608) l2:1(size=262144) l1d:1(size=32768) core:1 pu:1");
  expect_caches(of, 1, 8 * mib, mib / 4);
  EXPECT_THAT(processors_for(of, 4), ElementsAre(0)) << "more threads than processors";
  EXPECT_EQ(text(of).substr(0, text(of).find(" (")), "1 package, 1 node");
}

TEST(Caches, AreThoseOfTheCoresThatThreadsUse) {
  const topology two = two_sockets();
  expect_caches(two, 1, 32 * mib, mib);
  expect_caches(two, 9, 64 * mib, 9 * mib);
  expect_caches(two, 64, 256 * mib, 64 * mib);
  expect_caches(two, 128, 256 * mib, 64 * mib);  // siblings share the private caches
  expect_caches(synthetic(eight_caches), 64, 256 * mib, 64 * mib);
}

TEST(HybridCores, AreUsedFastestFirstAndSiblingsLast) {
  const topology of = from_file("core_i7_12700");
  EXPECT_THAT(processors_for(of, 8), ElementsAreArray(range(0, 8, 2)));
  processor_list cores = range(0, 8, 2);
  for (const int slow : range(16, 4)) cores.push_back(slow);
  EXPECT_THAT(processors_for(of, 12), ElementsAreArray(cores));
  EXPECT_THAT(processors_for(of, 20), SizeIs(20));
  EXPECT_EQ(openmp_places(of, processors_in_order(of, of.processors(), {})),
            "{0}:9:2,{17}:3,{1}:8:2");
  EXPECT_THAT(text(of), HasSubstr("12 cores (8 + 4, the fastest kind first), 20 processors"));
  // The slow cores share one cache of the second level.
  expect_caches(of, 12, 25 * mib, 12 * mib);
  expect_caches(of, 8, 25 * mib, 10 * mib);
}

TEST(Epyc, HasThePlacesOfLinuxNumbers) {
  const topology of = from_file("epyc_7543_two_sockets");
  EXPECT_EQ(text(of), "2 packages, 2 nodes (256 GB), 16 L3 (32 MB), 64 cores, 128 processors");
  EXPECT_EQ(openmp_places(of, processors_in_order(of, of.processors(), {})), "{0}:128");
  EXPECT_THAT(processors_for(of, 4), ElementsAre(0, 1, 2, 3));
  expect_caches(of, 4, 32 * mib, 2 * mib);
  expect_caches(of, 64, 512 * mib, 32 * mib);
  EXPECT_EQ(node_count(of, processors_for(of, 32)), 1);
  EXPECT_EQ(node_count(of, processors_for(of, 33)), 2);
}

TEST(XeonMax, HasTwoKindsOfMemory) {
  const topology of = from_file("xeon_max_9462_two_sockets");
  EXPECT_EQ(text(of),
            "2 packages, 4 nodes (64 GB, 256 GB), 262, 839 GB/s per node, 2 L3 (75 MB), 64 cores, "
            "64 processors");
  EXPECT_EQ(node_count(of, of.processors()), 2) << "nodes of the same cores count once";
  expect_caches(of, 32, 75 * mib, 64 * mib);
  EXPECT_THAT(nodes_for(numa_policy::local, of, {40}), ElementsAre(2));
  EXPECT_THAT(nodes_for(numa_policy::interleave, of, {40}), ElementsAre(0, 1, 2, 3));
}

TEST(Cpuset, OfThreeCoresIsWhatThreadsUse) {
  // One core of the first cache, two of the second.
  const topology of = synthetic(eight_caches, {7, 8, 9});
  EXPECT_THAT(of.processors(), ElementsAre(7, 8, 9));
  EXPECT_THAT(processors_for(of, 1), ElementsAre(7));
  EXPECT_THAT(processors_for(of, 2), ElementsAre(8, 9)) << "on one cache";
  EXPECT_THAT(processors_for(of, 3), ElementsAre(7, 8, 9));
  expect_caches(of, 2, 32 * mib, 2 * mib);
  expect_caches(of, 3, 64 * mib, 3 * mib);
  EXPECT_THAT(processors_in_order(of, of.processors(), {2, 3}), ElementsAre(8, 9, 7));
  EXPECT_EQ(text(of), "1 package, 1 node (64 GB), 2 L3 (32 MB), 3 cores, 3 processors");
}

TEST(Affinity, OfThreeCoresIsWhatThreadsUse) {
  const topology of = synthetic(eight_caches);
  EXPECT_THAT(processors_in_order(of, {7, 8, 9}, {2}), ElementsAre(8, 9, 7));
  EXPECT_EQ(openmp_places(of, {8, 9, 7}), "{8},{9},{7}");
}

TEST(Affinity, OfTwoCachesFillsTheLargerPartFirst) {
  const topology of = synthetic(eight_caches);
  const processor_list mask = range(6, 8);
  EXPECT_THAT(processors_in_order(of, mask, {}), ElementsAre(8, 9, 10, 11, 12, 13, 6, 7))
      << "each domain, without --threads";
  EXPECT_THAT(threads_of_domains(of, mask), ElementsAre(1, 6, 8));
}

TEST(Shares, AreOfWholeNeighbouringCores) {
  const topology of = two_sockets();
  const auto shares = shares_of_cores(of, of.processors(), 8);
  ASSERT_THAT(shares, SizeIs(8));
  EXPECT_THAT(shares.front(), ElementsAreArray(range(0, 16)));
  EXPECT_THAT(shares.back(), ElementsAreArray(range(112, 16)));
  EXPECT_THAT(shares_of_cores(of, range(2, 6), 2), ElementsAre(range(2, 4), range(6, 2)));
  EXPECT_THAT(shares_of_cores(of, {0, 1}, 2), ElementsAre(range(0, 2), range(0, 2)))
      << "one core has no shares";
}

TEST(Sweeps, HaveGoodPlacesForEachNumberOfThreads) {
  const topology of = two_sockets();
  const processor_list order = processors_in_order(of, of.processors(), {1, 2, 4, 12, 100});
  EXPECT_THAT(order, ElementsAreArray(processors_in_order(of, of.processors(), {})));
  std::set<int> once(order.begin(), order.end());
  EXPECT_THAT(once, SizeIs(128));
}

/// Two sockets with a node each, and memory behind CXL that is local to both.
topology with_cxl() {
  return synthetic("[numa(memory=17179869184)] pack:2 [numa(memory=8589934592)] core:2 pu:1");
}

TEST(MemoryOfTheWholeMachine, IsNoNodeOfThreads) {
  const topology of = with_cxl();
  ASSERT_THAT(of.nodes, SizeIs(3));
  EXPECT_EQ(node_count(of, {0, 1}), 1);
  EXPECT_EQ(node_count(of, of.processors()), 2);
  EXPECT_THAT(threads_of_domains(of, of.processors()), ElementsAre(1, 2, 4));
  const std::vector<int> by_thread = node_by_thread(of, {{0}, {1}, {2}, {3}});
  EXPECT_EQ(by_thread[0], by_thread[1]);
  EXPECT_NE(by_thread[0], by_thread[2]);
  for (const int processor : {0, 2}) {
    EXPECT_THAT(nodes_for(numa_policy::local, of, {processor}),
                ElementsAre(node_by_thread(of, {{processor}}).front()));
  }
  EXPECT_EQ(node_bytes(numa_policy::first_touch, of, {{0}}), 8 * gib);
  EXPECT_EQ(node_bytes(numa_policy::interleave, of, {{0}}), 32 * gib) << "all nodes";
}

TEST(OneSocket, WithTwoKindsOfMemoryHasTwoNodesToInterleave) {
  const topology of =
      synthetic("pack:1 [numa(memory=274877906944)] [numa(memory=68719476736)] core:4 pu:1");
  EXPECT_EQ(node_count(of, of.processors()), 1);
  EXPECT_THAT(nodes_for(numa_policy::interleave, of, {0}), ElementsAre(0, 1));
  EXPECT_THAT(nodes_for(numa_policy::local, of, {3}), ElementsAre(0));
  EXPECT_THAT(nodes_for(numa_policy::first_touch, of, {0}), IsEmpty());
  EXPECT_EQ(node_bytes(numa_policy::interleave, of, {{0}}), 320 * gib);
}

TEST(Threads, HaveANodeEach) {
  const topology of = two_sockets();
  EXPECT_THAT(node_by_thread(of, {{0}, {64}, {1}, {127}}), ElementsAre(0, 1, 0, 1));
  EXPECT_THAT(node_by_thread(of, {{0, 64}, {0, 64}, {0, 64}}), ElementsAre(0, 1, 0)) << "alternate";
}

TEST(Domains, AreOneCoreACacheANodeAndAll) {
  const auto domains = [](const topology& of) { return threads_of_domains(of, of.processors()); };
  EXPECT_THAT(domains(two_sockets()), ElementsAre(1, 8, 32, 64, 128));
  EXPECT_THAT(domains(synthetic(eight_caches)), ElementsAre(1, 8, 64));
  EXPECT_THAT(domains(synthetic("pack:1 core:1 pu:1")), ElementsAre(1));
  EXPECT_THAT(domains(from_file("core_i7_12700")), ElementsAre(1, 12, 20));
}

TEST(Memory, LiesWhereThePolicySays) {
  const topology of = two_sockets();
  const auto bytes = [&](numa_policy policy, int threads) {
    return node_bytes(policy, of, threads_on(of, threads));
  };
  EXPECT_THAT(nodes_for(numa_policy::first_touch, of, {0}), IsEmpty()) << "the system's own";
  EXPECT_THAT(nodes_for(numa_policy::interleave, of, {0}), ElementsAre(0, 1));
  EXPECT_THAT(nodes_for(numa_policy::local, of, {127}), ElementsAre(1));
  EXPECT_EQ(bytes(numa_policy::first_touch, 32), 256 * gib);
  EXPECT_EQ(bytes(numa_policy::first_touch, 33), 512 * gib);
  EXPECT_EQ(bytes(numa_policy::interleave, 1), 512 * gib);
  EXPECT_EQ(bytes(numa_policy::local, 64), 256 * gib);
  for (const numa_policy policy :
       {numa_policy::first_touch, numa_policy::interleave, numa_policy::local}) {
    EXPECT_THAT(nodes_for(policy, synthetic(eight_caches), {0}), IsEmpty()) << "one node";
  }
}

TEST(Topology, HasTheNominalSizeOfMemory) {
  const auto shown = [](std::int64_t bytes) {
    const std::string of = text({.nodes = {{0, bytes, {0}}}});
    return of.substr(0, of.find(','));
  };
  EXPECT_EQ(shown(251 * gib + 7), "1 node (256 GB)");
  EXPECT_EQ(shown(24684084 * kib), "1 node (24 GB)");
  EXPECT_EQ(shown(377 * gib), "1 node (384 GB)");
  EXPECT_EQ(shown(0), "1 node (0 B)");
}

TEST(Topology, HasNoSizesOfNodesThatLackMemoryOfTheSystem) {
  topology of = two_sockets();
  of.memory = 503 * gib;
  EXPECT_THAT(text(of), HasSubstr("2 nodes (256 GB), "));
  of.memory = 1024 * gib;
  EXPECT_THAT(text(of), HasSubstr("2 nodes, "));
}

TEST(Topology, IsGuessedAndNotedWhereHwlocSaysNothing) {
  const topology of = completed({}, {0, 1, 2, 3}, {32 * kib, mib, 16 * mib});
  EXPECT_THAT(of.note, AllOf(HasSubstr("hwloc"), HasSubstr("cores and caches")));
  EXPECT_THAT(text(of), AllOf(HasSubstr("1 L3 (16 MB), 4 cores"), HasSubstr(of.note)));
  expect_caches(of, 2, 16 * mib, 2 * mib);
  const topology nothing = completed({}, {0}, {-1, 0, 0});
  EXPECT_THAT(nothing.caches, IsEmpty());
  EXPECT_EQ(caches_for(nothing, 1).last_bytes, 0);
  EXPECT_THAT(completed(two_sockets(), {0}, {kib, kib, kib}).note, IsEmpty());
  const topology no_caches = completed(synthetic("pack:1 core:2 pu:2"), {0}, {kib, mib, 0});
  EXPECT_THAT(no_caches.note, AllOf(HasSubstr("the caches: guessed"), Not(HasSubstr("cores and"))));
  EXPECT_EQ(caches_for(no_caches, 2).last_bytes, 2 * mib) << "the second level is the last";
}

TEST(Topology, NotesThatASharedCacheMayBeHidden) {
  const auto note = [](const std::string& text, const processor_list& cpuset = {}) {
    return completed(synthetic(text, cpuset), {0}, {0, 0, 0}).note;
  };
  EXPECT_THAT(note("pack:1 l2:4(size=1048576) core:1 pu:2"), HasSubstr("hidden"));
  EXPECT_THAT(note("pack:1 l2:1(size=1048576) core:1 pu:2"), IsEmpty()) << "one core";
  EXPECT_THAT(note("pack:1 l2:2(size=1048576) core:2 pu:1"), IsEmpty()) << "cores share it";
  EXPECT_THAT(note(eight_caches, {7, 8}), IsEmpty()) << "the third level is known";
}

TEST(Topology, HasCoresWhereHwlocKnowsOnlyProcessors) {
  const topology of = synthetic("pack:1 pu:4");
  EXPECT_THAT(of.cores, SizeIs(4));
  EXPECT_THAT(of.processors(), ElementsAre(0, 1, 2, 3));
}

TEST(Topology, ShowsWhatControlGroupsAllowOfTheMemory) {
  topology of = two_sockets();
  of.memory_limit = 24 * gib;
  EXPECT_THAT(text(of), HasSubstr("2 nodes (256 GB), at most 24 GB, 8 L3"));
}

TEST(KindsOfCores, AreAlikeWhereHwlocDoesNotRankThem) {
  const auto kinds = [](int efficiency_of_first, int efficiency_of_second) {
    const topology of = testing::loaded(
        [](hwloc_topology_t to) { return hwloc_topology_set_synthetic(to, "pack:1 core:4 pu:1"); },
        [&](hwloc_topology_t to) {
          const detail::bitmap half(hwloc_bitmap_alloc());
          hwloc_bitmap_set_range(half.get(), 0, 1);
          EXPECT_EQ(hwloc_cpukinds_register(to, half.get(), efficiency_of_first, 0, nullptr, 0), 0);
          hwloc_bitmap_zero(half.get());
          hwloc_bitmap_set_range(half.get(), 2, 3);
          return hwloc_cpukinds_register(to, half.get(), efficiency_of_second, 0, nullptr, 0);
        });
    return std::pair(of.cores.front().kind, of.cores.back().kind);
  };
  EXPECT_EQ(kinds(-1, -1), std::pair(0, 0));
  EXPECT_EQ(kinds(0, 1), std::pair(0, 1));
  EXPECT_EQ(kinds(7, 3), std::pair(1, 0)) << "the first ones are faster";
}

TEST(Topology, OfThisMachineHasTheProcessorsOfThisThread) {
  const processor_list all = this_machine().processors();
  EXPECT_THAT(processors_of_this_thread(), Each(::testing::AnyOfArray(all)));
  EXPECT_THAT(all, Not(IsEmpty()));
}

TEST(Processors, OfControlGroupsAreNotThoseOfTheMaskAlone) {
  const processor_list before = processors_of_this_thread();
  const processor_list all = processors_of_control_groups();
  EXPECT_EQ(processors_of_this_thread(), before);
  EXPECT_THAT(before, Each(::testing::AnyOfArray(all)));
  run_this_thread_on({before.back()});
  EXPECT_THAT(processors_of_this_thread(), ElementsAre(before.back()));
  EXPECT_EQ(processors_of_control_groups(), all);
  run_this_thread_on(before);
}

TEST(Binding, DealsPlacesOutAsOpenMpDoes) {
  const auto first_processors = [](thread_order order, int threads) {
    thread_binding of{{{0}, {1}, {2}, {3}, {4}}, order};
    processor_list found;
    for (const processor_list& one : processors_by_thread(of, threads))
      found.push_back(one.front());
    return found;
  };
  EXPECT_THAT(first_processors(thread_order::close, 3), ElementsAre(0, 1, 2));
  EXPECT_THAT(first_processors(thread_order::spread, 2), ElementsAre(0, 3));
  EXPECT_THAT(first_processors(thread_order::primary, 2), ElementsAre(0, 0));
  EXPECT_THAT(first_processors(thread_order::close, 10), ElementsAre(0, 0, 1, 1, 2, 2, 3, 3, 4, 4));
  EXPECT_THAT(processors_by_thread({{{0, 1}, {2}}}, 2), Each(ElementsAre(0, 1, 2))) << "free";
}

TEST(Binding, OfFreeThreadsUsesNoMoreCachesThanThreads) {
  const topology of = synthetic(eight_caches);
  const auto last = [&](int threads) {
    return caches_used_by(of, processors_by_thread({{of.processors()}}, threads)).last_bytes;
  };
  EXPECT_EQ(last(1), 32 * mib);
  EXPECT_EQ(last(2), 64 * mib);
  EXPECT_EQ(last(64), 256 * mib);
}

TEST(EqualParts, AreLimitedByTheCacheOfMostThreads) {
  const topology of = two_sockets();
  EXPECT_EQ(caches_for(of, 8).equal_parts[2], 32 * mib);
  EXPECT_EQ(caches_for(of, 9).equal_parts[2], 36 * mib) << "eight of nine threads share 32 MiB";
  EXPECT_EQ(caches_for(of, 16).equal_parts[1], 16 * mib);
  EXPECT_EQ(caches_for(of, 128).equal_parts[1], 64 * mib);
  EXPECT_THAT(caches_for(of, 64).core, ElementsAre(32 * kib, mib, 32 * mib));
}

TEST(Places, AreWrittenAsOpenMpReadsThem) {
  EXPECT_EQ(places_text({{0}, {1}}), "{0},{1}");
  EXPECT_EQ(places_text({{0}, {1}, {2}}), "{0}:3");
  EXPECT_EQ(places_text({{4}, {6}, {8}, {1}}), "{4}:3:2,{1}");
  EXPECT_EQ(places_text({{0, 64}, {1, 65}}), "{0,64},{1,65}");
  EXPECT_EQ(places_text({{3}, {2}, {1}}), "{3}:3:-1");
  EXPECT_EQ(places_text({}), "");
}

TEST(Places, AreReadAsOpenMpReadsThem) {
  using places = std::vector<processor_list>;
  for (const places& written : {places{{0}}, places{{0}, {1}, {2}}, places{{4}, {6}, {8}, {1}},
                                places{{0, 64}, {1, 65}}, places{{3}, {2}, {1}}}) {
    EXPECT_EQ(listed_places(places_text(written)), written);
  }
  EXPECT_EQ(listed_places("{0:2}:2:4,{9,8}"), (places{{0, 1}, {4, 5}, {8, 9}}));
  EXPECT_EQ(listed_places("{0:3:2}"), (places{{0, 2, 4}}));
  for (const char* text : {"", "cores", "{", "{0", "{}", "0", "{0},", "{0}:", "{0}:0", "{0}x",
                           "{0}:99999999", "{0}:8:99999999", "{99999999}", "!{0}", "{0:2:}"}) {
    EXPECT_EQ(listed_places(text), std::nullopt) << text;
  }
}

TEST(SharedCores, AreCountedByThreads) {
  const topology of = two_sockets();
  EXPECT_EQ(threads_sharing_cores(of, {{0}, {2}, {4}}), 0);
  EXPECT_EQ(threads_sharing_cores(of, {{0}, {1}, {4}}), 1);
  EXPECT_EQ(threads_sharing_cores(of, threads_on(of, 64)), 0);
  EXPECT_EQ(threads_sharing_cores(of, threads_on(of, 66)), 2);
  EXPECT_EQ(threads_sharing_cores(of, processors_by_thread({{of.processors()}}, 65)), 1) << "free";
}

}  // namespace machine_topology_test
}  // namespace layerbench::machine
