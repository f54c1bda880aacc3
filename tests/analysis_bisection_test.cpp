// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <bit>
#include <cstddef>
#include <random>
#include <string>
#include <utility>

#include <gmock/gmock.h>

#include <layerbench/analysis/compare/bisection.hpp>

#include "support/recorded_processes.hpp"

// Searches for a slow release on recorded machine conditions.

namespace layerbench::analysis {
namespace analysis_bisection_test {

constexpr std::size_t most_pairs = 30;

/// A comparison of recorded processes; the new side is `slower`.
comparison compared_with(double slower, std::size_t pairs, std::size_t first, unsigned seed) {
  std::mt19937 coins(seed);
  auto [rows, sum] = testing::replayed(coins, first, pairs, slower);
  comparison all;
  for (compared& one : rows) {
    const std::string name = "row" + std::to_string(all.layers.size());
    all.layers.push_back({std::move(one), {name, name}});
  }
  all.sum = std::move(sum);
  all.sure = set_pair_verdicts({pairs, most_pairs, 0.02}, all.layers, all.sum);
  return all;
}

/// A search over releases of which those from `slow` on take `factor` as long.
bisection searched(std::mt19937& random, std::size_t releases, std::size_t slow, double factor) {
  bisection search(releases, change_direction::slower);
  while (const auto release = search.next()) {
    const std::size_t first = random() % testing::recorded().size();
    const auto seed = static_cast<unsigned>(random());
    for (const look& at : looks_until(most_pairs)) {
      const comparison all = compared_with(*release < slow ? 1 : factor, at.pairs, first, seed);
      if (!search.decides(all, most_pairs) && at.pairs < most_pairs) continue;
      search.add(all, most_pairs);
      break;
    }
  }
  return search;
}

TEST(Bisection, FindsAPlantedReleaseUnderRecordedNoise) {
  std::mt19937 random(3);
  int found = 0;
  for (int i = 0; i < 20; ++i) {
    const std::size_t slow = 1 + random() % 15;
    const bisection search = searched(random, 16, slow, 1.3);
    if (search.answer() == bisect_answer::change && search.change()->second == slow) ++found;
    EXPECT_NE(search.answer(), bisect_answer::failed);
  }
  EXPECT_GE(found, 18);
}

TEST(Bisection, NamesNoneOfEqualReleasesUnderRecordedNoise) {
  std::mt19937 random(4);
  for (int i = 0; i < 20; ++i) {
    const bisection search = searched(random, 16, 16, 1);
    EXPECT_EQ(search.answer(), bisect_answer::none);
    EXPECT_TRUE(search.detectable());
  }
}

/// Adds what a search without noise would find.
void decide(bisection& search, std::size_t slow) {
  const std::size_t release = *search.next();
  const bool is_as_first = release < slow || search.first() >= slow;
  search.add(
      {.release = release, .side = is_as_first ? release_side::before : release_side::after});
}

TEST(Bisection, TakesLogarithmicallyManyComparisons) {
  for (std::size_t releases = 2; releases < 40; ++releases) {
    for (std::size_t slow = 1; slow < releases; ++slow) {
      bisection search(releases, change_direction::slower);
      const std::size_t most = search.most_left();
      EXPECT_EQ(most, 1 + std::bit_width(releases - 2));
      while (search.next()) decide(search, slow);
      EXPECT_LE(search.tried().size(), most);
      EXPECT_EQ(search.answer(), bisect_answer::change);
      EXPECT_EQ(search.change()->second, slow);
      EXPECT_DOUBLE_EQ(search.confidence(), 1 - 0.005 * double(search.tried().size()));
    }
  }
}

TEST(Bisection, SkippedReleasesAreNeverNamed) {
  std::mt19937 random(5);
  for (int i = 0; i < 200; ++i) {
    const std::size_t slow = 1 + random() % 19;
    std::vector<bool> fails(20);
    for (std::size_t one = 0; one < 20; ++one) fails[one] = random() % 3 == 0;
    bisection search(20, change_direction::slower);
    while (const auto release = search.next()) {
      if (fails[search.first()]) {
        search.skip(search.first(), "fails");
      } else if (fails[*release]) {
        search.skip(*release, "fails");
      } else {
        decide(search, slow);
      }
    }
    const auto found = search.change();
    if (!found) continue;  // all are on one side
    EXPECT_FALSE(fails[found->first] || fails[found->second]);
    EXPECT_LT(found->first, slow);
    EXPECT_GE(found->second, slow);
    for (std::size_t one = found->first + 1; one < found->second; ++one) EXPECT_TRUE(fails[one]);
    EXPECT_EQ(search.answer(),
              found->second - found->first == 1 ? bisect_answer::change : bisect_answer::gap);
  }
}

}  // namespace analysis_bisection_test
}  // namespace layerbench::analysis
