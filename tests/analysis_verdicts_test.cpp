// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <cstddef>
#include <random>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <layerbench/analysis/compare/comparison.hpp>

#include "support/timings.hpp"

// How often comparisons are right, on simulated machines.

namespace layerbench::analysis {
namespace analysis_verdicts_test {

using result::results;
using testing::file_with;
using testing::net;
using testing::rounds;

/// How much timings vary, each a standard deviation relative to the time.
struct variation {
  double round = 0;       ///< what is common to the layers of a round
  double row = 0;         ///< a row in a round
  double run = 0;         ///< what is common to a run
  double row_of_run = 0;  ///< a row, throughout a run
};

constexpr std::size_t layers = 30;

/// Files of a machine that runs models of 30 layers, which take 1 to 30 s.
class machine {
 public:
  machine(unsigned seed, const variation& by) : random_(seed), by_(by) {}

  std::vector<results> measure(std::size_t runs, std::size_t rounds_of_run, double slowdown = 1) {
    std::vector<results> files;
    for (std::size_t i = 0; i < runs; ++i) files.push_back(run(rounds_of_run, slowdown));
    return files;
  }

 private:
  double factor(double deviation) { return std::exp(deviation * normal_(random_)); }

  results run(std::size_t rounds_of_run, double slowdown) {
    const double whole = factor(by_.run);
    std::vector<double> speed(rounds_of_run);
    for (double& item : speed) item = whole * factor(by_.round);
    results file = file_with({});
    file.manifest[net].clear();
    for (std::size_t i = 1; i <= layers; ++i) {
      const auto n = static_cast<double>(i);
      const double own = slowdown * n * factor(by_.row_of_run);
      std::vector<double> seconds;
      for (const double value : speed) seconds.push_back(own * value * factor(by_.row));
      const std::string key = fmt::format("k:{}", i);
      const auto rows = rounds(net, fmt::format("layer{}", i), key, seconds);
      file.rows.insert(file.rows.end(), rows.begin(), rows.end());
      file.manifest[net].push_back({fmt::format("layer{}", i), "conv", "fwd", key, 1});
    }
    return file;
  }

  std::mt19937 random_;
  std::normal_distribution<double> normal_;
  variation by_;
};

/// Shares of what was compared in simulated pairs.
struct found {
  double layers_changed = 0;
  double models_changed = 0;
  double layers_held = 0;  ///< whose interval holds the true ratio
  double models_held = 0;
};

found simulate(const variation& by, std::size_t runs, std::size_t rounds_of_run,
               double slowdown = 1) {
  constexpr int pairs = 200;
  machine m(5, by);
  found sum;
  const auto count = [&](const compared& item, double& changed, double& held) {
    if (item.changed()) ++changed;
    if (item.ratio.low <= slowdown && slowdown <= item.ratio.high) ++held;
  };
  for (int i = 0; i < pairs; ++i) {
    const std::vector<results> old = m.measure(runs, rounds_of_run);
    const comparison all = compare(old, m.measure(runs, rounds_of_run, slowdown));
    for (const auto& layer : all.layers) count(layer, sum.layers_changed, sum.layers_held);
    for (const auto& model : all.models) count(model, sum.models_changed, sum.models_held);
  }
  return {sum.layers_changed / (pairs * layers), sum.models_changed / pairs,
          sum.layers_held / (pairs * layers), sum.models_held / pairs};
}

void expect_no_change(const variation& by, std::size_t runs, std::size_t rounds_of_run) {
  const found self = simulate(by, runs, rounds_of_run);
  EXPECT_LE(self.layers_changed, 0.01);
  EXPECT_LE(self.models_changed, 0.05);
  EXPECT_GE(self.layers_held, 0.9);
  EXPECT_GE(self.models_held, 0.9);
}

void expect_found(const variation& by, std::size_t runs, std::size_t rounds_of_run) {
  const found slower = simulate(by, runs, rounds_of_run, 1.05);
  EXPECT_GE(slower.layers_changed, 0.9);
  EXPECT_GE(slower.models_changed, 0.9);
  EXPECT_GE(slower.layers_held, 0.9);
  EXPECT_GE(slower.models_held, 0.9);
}

TEST(Verdicts, FindsNoChangeWhereThereIsNone) {
  for (const std::size_t rounds_of_run : {5U, 7U, 20U}) {
    expect_no_change({.row = 0.01}, 1, rounds_of_run);
    expect_no_change({.row = 0.1}, 1, rounds_of_run);
    expect_no_change({.round = 0.05, .row = 0.01}, 1, rounds_of_run);
  }
}

TEST(Verdicts, FindsNoChangeWhereRunsDifferAndThereAreSeveral) {
  const variation by{.round = 0.01, .row = 0.01, .run = 0.02, .row_of_run = 0.01};
  expect_no_change(by, 2, 7);
  expect_no_change(by, 5, 7);
  const found one = simulate(by, 1, 7);
  EXPECT_GT(one.models_changed, 0.05) << "one run does not show it, hence the note";
}

TEST(Verdicts, FindsAChangeOfFivePercent) {
  expect_found({.row = 0.01}, 1, 7);
  expect_found({.round = 0.01, .row = 0.01}, 1, 20);
  expect_found({.row = 0.01, .run = 0.005}, 5, 7);
}

}  // namespace analysis_verdicts_test
}  // namespace layerbench::analysis
