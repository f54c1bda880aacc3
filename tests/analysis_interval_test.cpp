// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <cstddef>
#include <functional>
#include <map>
#include <random>
#include <span>
#include <vector>

#include <gmock/gmock.h>

#include <layerbench/analysis/base/timings.hpp>

namespace layerbench::analysis {
namespace analysis_interval_test {

/// What a round's speed is for a normally distributed number.
using drift_of = std::function<double(double)>;

/// Rounds of several layers, as a machine gives them whose speed drifts from round to round.
class machine {
 public:
  explicit machine(unsigned seed) : random_(seed) {}

  /// Seconds of each layer in `rounds` rounds: the true seconds 1, 2, 3, ... times a drift that is
  /// common to the layers of a round, times independent noise.
  std::vector<timing> measure(std::size_t layers, std::int64_t rounds, double drift, double noise) {
    return measure(layers, rounds, [=](double drawn) { return std::exp(drift * drawn); }, noise);
  }
  /// The same with a drift made of numbers that are normally distributed.
  std::vector<timing> measure(std::size_t layers, std::int64_t rounds, const drift_of& drift,
                              double noise) {
    std::vector<timing> all(layers);
    for (std::int64_t round = 0; round < rounds; ++round) {
      const double common = drift(normal_(random_));
      for (std::size_t i = 0; i < layers; ++i) {
        const double own = std::exp(noise * normal_(random_));
        all[i].rounds[{0, round}] = static_cast<double>(i + 1) * common * own;
      }
    }
    return all;
  }

 private:
  std::mt19937 random_;
  std::normal_distribution<double> normal_;
};

std::vector<term> terms_of(const std::vector<timing>& layers) {
  std::vector<term> terms;
  for (const auto& layer : layers) terms.push_back({2, &layer});
  return terms;
}

/// The interval that predictions choose for these rounds.
stats::interval interval_of(std::span<const term> terms) {
  const auto common = common_rounds(terms);
  const auto found = bootstrap_interval(terms, common);
  return found ? *found : range_of_rounds(terms, common).value();
}

/// Share of 400 simulated files whose interval holds the sum of the layers' true means, each
/// `mean` times what it would be without drift and noise.
double coverage(std::int64_t rounds, const drift_of& drift, double noise, double mean) {
  constexpr std::size_t layers = 4;
  const double true_value = 2 * (1 + 2 + 3 + 4) * mean;
  constexpr int trials = 400;
  machine m(7);
  int held = 0;
  for (int i = 0; i < trials; ++i) {
    const auto measured = m.measure(layers, rounds, drift, noise);
    const stats::interval found = interval_of(terms_of(measured));
    // Where nothing varies sums still round.
    if (found.low <= true_value * (1 + 1e-12) && true_value * (1 - 1e-12) <= found.high) ++held;
  }
  return static_cast<double>(held) / trials;
}
double coverage(std::int64_t rounds, double drift, double noise) {
  const double mean = std::exp((drift * drift + noise * noise) / 2);
  return coverage(rounds, [=](double drawn) { return std::exp(drift * drawn); }, noise, mean);
}

TEST(Interval, CoversTheTrueValueUnderDriftThatLayersShare) {
  // 95 % is for many rounds; the fewer they are, the less can their spread show.
  EXPECT_GE(coverage(5, 0.1, 0.01), 0.88);
  EXPECT_GE(coverage(10, 0.1, 0.01), 0.9);
  EXPECT_GE(coverage(25, 0.1, 0.01), 0.92);
}

TEST(Interval, CoversTheTrueValueUnderIndependentNoise) {
  EXPECT_GE(coverage(10, 0, 0.1), 0.9);
  EXPECT_GE(coverage(25, 0, 0.1), 0.92);
}

/// What 400 trials may find where 87 % is true.
constexpr double about_87_percent = 0.84;

TEST(Interval, CoversTheTrueValueWhereSomeRoundsAreFarOff) {
  const auto heavy_tails = [](double drawn) { return std::exp(0.02 * drawn * drawn * drawn); };
  const auto a_tenth_is_slow = [](double drawn) {
    return drawn > 1.2816 ? 3 : std::exp(0.02 * drawn);
  };
  for (const std::int64_t rounds : {5, 7}) {
    EXPECT_GE(coverage(rounds, heavy_tails, 0.01, 1), about_87_percent) << rounds;
    EXPECT_GE(coverage(rounds, a_tenth_is_slow, 0.01, 1), about_87_percent) << rounds;
  }
}

TEST(Interval, CoversTheTrueValueOnAMachineOfTwoSpeeds) {
  // The slower one in 40 % of the rounds.
  constexpr double noise = 0.01;
  const auto two_speeds = [](double drawn) { return drawn > 0.2533 ? 1.3 : 1.0; };
  for (const std::int64_t rounds : {5, 7, 10}) {
    EXPECT_GE(coverage(rounds, two_speeds, noise, 0.6 + 0.4 * 1.3), about_87_percent) << rounds;
  }
}

TEST(Interval, CoversTheTrueValueWhereNothingVaries) { EXPECT_EQ(coverage(5, 0, 0), 1); }

TEST(Interval, OfFewRoundsIsARangeWithTheNominalCoverage) {
  // The median, here close to the mean, lies outside of n values in 2^(1-n) of cases.
  EXPECT_NEAR(coverage(4, 0.1, 0.01), 0.875, 0.04);
  EXPECT_NEAR(coverage(3, 0.1, 0.01), 0.75, 0.05);
}

TEST(Interval, IsWideForDriftAndNarrowForNoise) {
  // Noise of ten layers cancels in their sum; drift does not, and must not seem to.
  machine m(3);
  const auto width = [](const std::vector<timing>& layers) {
    const auto terms = terms_of(layers);
    const auto found = bootstrap_interval(terms, common_rounds(terms)).value();
    return found.high - found.low;
  };
  const double drift = width(m.measure(10, 20, 0.1, 0));
  const double noise = width(m.measure(10, 20, 0, 0.1));
  EXPECT_GT(drift, 2 * noise);
}

TEST(Interval, IsBetweenTheLeastAndTheLargestRound) {
  // With drift alone every layer's mean is of the same rounds.
  machine m(5);
  for (const std::int64_t rounds : {5, 6, 8, 13}) {
    const auto layers = m.measure(4, rounds, 0.2, 0);
    const auto terms = terms_of(layers);
    const auto common = common_rounds(terms);
    const auto found = bootstrap_interval(terms, common).value();
    const auto range = range_of_rounds(terms, common).value();
    EXPECT_GE(found.low, range.low * (1 - 1e-12));
    EXPECT_LE(found.high, range.high * (1 + 1e-12));
    EXPECT_LT(found.low, found.high);
  }
}

TEST(Interval, IsExactWhereRoundsAgree) {
  const timing same{{{{0, 0}, 3}, {{0, 1}, 3}, {{0, 2}, 3}, {{0, 3}, 3}, {{1, 0}, 3}}};
  const std::vector<term> terms{{2, &same}, {1, &same}};
  const auto found = bootstrap_interval(terms, common_rounds(terms)).value();
  EXPECT_EQ(found.low, 9);
  EXPECT_EQ(found.high, 9);
}

TEST(Interval, LeavesOutDisturbedRoundsOfEachLayer) {
  timing early{{{{0, 0}, 9}, {{0, 1}, 9}, {{0, 2}, 1}, {{0, 3}, 1}, {{0, 4}, 1}}};
  timing late{{{{0, 0}, 1}, {{0, 1}, 1}, {{0, 2}, 1}, {{0, 3}, 9}, {{0, 4}, 9}}};
  early.disturbed = {{0, 0}, {0, 1}};
  late.disturbed = {{0, 3}, {0, 4}};
  const std::vector<term> terms{{1, &early}, {1, &late}};
  const auto found = bootstrap_interval(terms, common_rounds(terms)).value();
  EXPECT_EQ(found.low, 2);
  EXPECT_EQ(found.high, 2);
}

TEST(Interval, UsesAllRoundsIfTooFewWereUndisturbed) {
  timing slow{{{{0, 0}, 1}, {{0, 1}, 9}, {{0, 2}, 9}, {{0, 3}, 9}, {{0, 4}, 9}}};
  slow.disturbed = {{0, 1}, {0, 2}, {0, 3}};
  const std::vector<term> terms{{1, &slow}};
  EXPECT_DOUBLE_EQ(slow.seconds(), (1 + 4 * 9) / 5.);
  EXPECT_EQ(bootstrap_interval(terms, common_rounds(terms)).value().high, 9);
}

TEST(Interval, IsAsWideAsStudentsForFewRounds) {
  // Percentiles to take for 2.5 % (Hesterberg 2015): Student's quantiles are in every table.
  const auto tail_of = [](double n, double t) {
    return std::erfc(std::sqrt(n / (n - 1)) * t / std::sqrt(2.0)) / 2;
  };
  EXPECT_NEAR(result::detail::expanded_tail(5), tail_of(5, 2.776), 5e-5);
  EXPECT_NEAR(result::detail::expanded_tail(10), tail_of(10, 2.262), 5e-5);
  EXPECT_NEAR(result::detail::expanded_tail(1000), 0.025, 3e-4);
}

TEST(Interval, LeavesOutARoundThatIsFarAboveTheOthers) {
  timing shaken{{{{0, 0}, 1}, {{0, 1}, 1}, {{0, 2}, 7}, {{0, 3}, 1}, {{0, 4}, 1}}};
  const std::vector<term> terms{{1, &shaken}};
  EXPECT_EQ(shaken.seconds(), 1);
  EXPECT_EQ(bootstrap_interval(terms, common_rounds(terms)).value().high, 1);
  shaken.rounds[{0, 4}] = 7;
  EXPECT_DOUBLE_EQ(shaken.seconds(), (3 + 2 * 7) / 5.) << "two of five are not rare";
}

TEST(Interval, NeedsFiveRounds) {
  machine m(1);
  const auto layers = m.measure(2, 4, 0.1, 0.1);
  const auto terms = terms_of(layers);
  EXPECT_FALSE(bootstrap_interval(terms, common_rounds(terms)));
  EXPECT_TRUE(range_of_rounds(terms, common_rounds(terms)));
  EXPECT_FALSE(range_of_rounds(terms, {}));
}

TEST(CommonRounds, AreThoseOfAllTerms) {
  const timing many{{{{0, 0}, 1}, {{0, 1}, 1}, {{1, 0}, 1}}};
  const timing few{{{{0, 1}, 1}, {{1, 0}, 1}, {{1, 1}, 1}}};
  const std::vector<term> terms{{1, &many}, {1, &few}};
  EXPECT_THAT(common_rounds(terms), ::testing::ElementsAre(round_id{0, 1}, round_id{1, 0}));
  EXPECT_THAT(result::common_rounds({}), ::testing::IsEmpty());
}

}  // namespace analysis_interval_test
}  // namespace layerbench::analysis
