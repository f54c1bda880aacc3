// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <layerbench/analysis/compare/nodes.hpp>
#include <layerbench/analysis/compare/nodes_json.hpp>
#include <layerbench/analysis/compare/nodes_text.hpp>

#include "support/mentions.hpp"
#include "support/timings.hpp"

// Comparisons of the nodes of a simulated cluster.

namespace layerbench::analysis {
namespace analysis_nodes_test {

using result::results;
using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::mentions;
using testing::net;
using ::testing::Not;
using testing::rounds;
using ::testing::SizeIs;
using ::testing::ThrowsMessage;
using ::testing::UnorderedElementsAre;

constexpr std::size_t layers = 30;

/// Files of equal nodes that run a model of 30 layers, which take 1 to 30 s.
class cluster {
 public:
  explicit cluster(unsigned seed, double between_nodes = 0.005)
      : random_(seed), between_nodes_(between_nodes) {}

  /// A file of node n<index>, which takes `slowdown` times as long for the first `slow` layers.
  results file(std::size_t index, double slowdown = 1, std::size_t slow = layers,
               std::size_t rounds_of_run = 10) {
    results file = testing::file_with({});
    file.file = fmt::format("r{}.json", index);
    file.context["host_name"] = fmt::format("n{}", index);
    file.manifest[net].clear();
    const double whole = factor(between_nodes_);
    std::vector<double> speed(rounds_of_run);
    for (double& item : speed) item = whole * factor(0.01);
    for (std::size_t i = 1; i <= layers; ++i) {
      const double own =
          (i <= slow ? slowdown : 1) * static_cast<double>(i) * factor(between_nodes_);
      std::vector<double> seconds;
      for (const double value : speed) seconds.push_back(own * value * factor(0.01));
      const std::string layer = fmt::format("layer{}", i);
      const std::string key = fmt::format("k:{}", i);
      const auto rows = rounds(net, layer, key, seconds);
      file.rows.insert(file.rows.end(), rows.begin(), rows.end());
      file.manifest[net].push_back({layer, "conv", "fwd", key, 1});
    }
    return file;
  }

  /// One file of each of several nodes; those of `slow` take `slowdown` times as long.
  std::vector<results> files(std::size_t nodes, const std::vector<std::size_t>& slow = {},
                             double slowdown = 1) {
    std::vector<results> all;
    for (std::size_t i = 0; i < nodes; ++i) {
      const bool is_slow = std::ranges::find(slow, i) != slow.end();
      all.push_back(file(i, is_slow ? slowdown : 1));
    }
    return all;
  }

 private:
  double factor(double deviation) { return std::exp(deviation * normal_(random_)); }

  std::mt19937 random_;
  std::normal_distribution<double> normal_;
  double between_nodes_;
};

/// Names of the nodes with that verdict on a model.
std::vector<std::string> nodes_with(const std::vector<results>& files, verdict which,
                                    double margin = 0.02) {
  std::vector<std::string> names;
  const node_comparison all = compare_nodes(files, {.margin = margin});
  for (const named_node& one : named_nodes(all)) {
    if (one.time->verdict == which) names.push_back(one.node->name);
  }
  return names;
}

TEST(Nodes, NameTheSlowOneOfEight) {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    const auto files = cluster(seed, 0.003).files(8, {seed % 8}, 1.06);
    EXPECT_THAT(nodes_with(files, verdict::slower), ElementsAre(fmt::format("n{}", seed % 8)));
    EXPECT_THAT(nodes_with(files, verdict::faster), IsEmpty());
  }
}

TEST(Nodes, NameNoneOfEightEqualOnes) {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    const node_comparison all = compare_nodes(cluster(seed).files(8));
    EXPECT_THAT(named_nodes(all), IsEmpty()) << seed;
    EXPECT_THAT(all.models, SizeIs(1));
    EXPECT_THAT(all.layers, SizeIs(layers));
    EXPECT_THAT(detail::named_text(all), HasSubstr("no node"));
  }
}

/// Nodes whose times differ by chance: between nodes, and between the 10 rounds of each.
struct simulated {
  std::size_t nodes;
  double between_nodes = 0.005;
  std::size_t slow = 0;  ///< number of nodes that take `slowdown` times as long
  double slowdown = 1;
  double margin = 0.02;
  std::size_t noisy = 0;  ///< number of other nodes, at the end, whose rounds vary by 20 %
};

/// Shares of comparisons.
struct shares {
  double false_names = 0;  ///< that name a node which is as the others
  double all_found = 0;    ///< that name every slow node
};

/// A node's sum of one row with these rounds.
timed_sum node_with(const std::vector<double>& seconds) {
  timing one{.rounds = {}, .runs = {0}};
  for (std::size_t round = 0; round < seconds.size(); ++round)
    one.rounds[{0, round}] = seconds[round];
  const term sum{1, &one};
  return timed_sum(std::span(&sum, 1));
}

shares simulate(const simulated& how) {
  constexpr int tries = 1000;
  constexpr std::size_t rounds_of_node = 10;
  std::mt19937 random(5);
  std::normal_distribution<double> normal;
  const auto factor = [&](double deviation) { return std::exp(deviation * normal(random)); };
  shares found;
  for (int i = 0; i < tries; ++i) {
    std::vector<timed_sum> sums;
    for (std::size_t node = 0; node < how.nodes; ++node) {
      const double own = (node < how.slow ? how.slowdown : 1) * factor(how.between_nodes);
      std::vector<double> seconds(rounds_of_node);
      for (double& round : seconds) round = own * factor(node + how.noisy < how.nodes ? 0.01 : 0.2);
      sums.push_back(node_with(seconds));
    }
    const nodes_compared all = compare_with_usual(sums, 1, how.margin);
    const auto named = [&](std::size_t first, std::size_t end) {
      return std::count_if(all.nodes.begin() + static_cast<std::ptrdiff_t>(first),
                           all.nodes.begin() + static_cast<std::ptrdiff_t>(end),
                           [](const compared& node) { return node.changed(); });
    };
    if (named(how.slow, how.nodes) > 0) found.false_names += 1.0 / tries;
    if (named(0, how.slow) == static_cast<std::ptrdiff_t>(how.slow)) found.all_found += 1.0 / tries;
  }
  return found;
}

TEST(Nodes, AreSeldomNamedByChanceHoweverSmallTheMargin) {
  for (const std::size_t nodes : {4U, 8U, 16U}) {
    for (const double between_nodes : {0.005, 0.02}) {
      const simulated equal{.nodes = nodes, .between_nodes = between_nodes, .margin = 0};
      EXPECT_LE(simulate(equal).false_names, 0.02) << nodes << ' ' << between_nodes;
    }
  }
}

TEST(Nodes, AreFoundByTheDifferencesThatTheDocumentationGives) {
  const auto found = [](std::size_t nodes, std::size_t slow, double slowdown) {
    const shares all = simulate({.nodes = nodes, .slow = slow, .slowdown = slowdown});
    EXPECT_LE(all.false_names, 0.01);
    return all.all_found;
  };
  EXPECT_GE(found(4, 1, 1.2), 0.75);
  EXPECT_GE(found(8, 1, 1.05), 0.7);
  EXPECT_GE(found(8, 1, 1.08), 0.98);
  EXPECT_GE(found(8, 2, 1.08), 0.93);
  EXPECT_GE(found(16, 1, 1.05), 0.96);
  EXPECT_GE(found(16, 3, 1.05), 0.9);
}

TEST(Nodes, AreNotNamedWhereTheirOwnRoundsDisagree) {
  for (const std::size_t slow : {0U, 1U}) {
    const shares all = simulate({.nodes = 8, .slow = slow, .slowdown = 1.08, .noisy = 1});
    EXPECT_LE(all.false_names, 0.01) << slow;
    EXPECT_GE(all.all_found, 0.75) << slow;
  }
  std::vector<timed_sum> sums;
  for (int node = 0; node < 8; ++node) {
    const double own = node == 0 ? 1.1 : node == 1 ? 1.08 : 1 + 0.001 * node;
    std::vector<double> seconds;
    for (int round = 0; round < 10; ++round)
      seconds.push_back(own * (1 + (round % 2 == 0 ? 1 : -1) * (node == 0 ? 0.2 : 0.01)));
    sums.push_back(node_with(seconds));
  }
  const nodes_compared all = compare_with_usual(sums, 1, 0.02);
  EXPECT_EQ(all.nodes[0].verdict, verdict::unclear) << "farthest from the mean, but noisy";
  EXPECT_GT(all.nodes[0].p, 0.1);
  EXPECT_EQ(all.nodes[1].verdict, verdict::slower);
}

TEST(Nodes, AreNamedTogetherAlthoughTheyHideEachOther) {
  EXPECT_THAT(nodes_with(cluster(3).files(8, {2, 5}, 1.1), verdict::slower),
              UnorderedElementsAre("n2", "n5"));
  EXPECT_THAT(nodes_with(cluster(4).files(12, {0, 3, 11}, 1.08), verdict::slower),
              UnorderedElementsAre("n0", "n3", "n11"));
}

TEST(Nodes, AreNamedWhereTheyAreFaster) {
  EXPECT_THAT(nodes_with(cluster(5).files(8, {6}, 0.92), verdict::faster), ElementsAre("n6"));
}

TEST(Nodes, AreNotNamedForDifferencesWithinTheMargin) {
  const auto files = cluster(6).files(8, {1}, 1.08);
  EXPECT_THAT(nodes_with(files, verdict::slower, 0.1), IsEmpty());
  EXPECT_THAT(nodes_with(files, verdict::slower, 0.02), ElementsAre("n1"));
}

TEST(Nodes, AreComparedWithTheUsualOnes) {
  const node_comparison all = compare_nodes(cluster(8, 0.002).files(8, {4}, 1.2));
  const model_of_nodes& model = all.models.at(0);
  EXPECT_NEAR(model.usual_seconds, layers * (layers + 1) / 2.0, 5) << "without the slow node";
  const node_time& slow = model.times.at(4);
  EXPECT_FALSE(slow.usual);
  EXPECT_NEAR(slow.ratio.value(), 1.2, 0.02);
  EXPECT_LT(slow.ratio.low, 1.2);
  EXPECT_GT(slow.ratio.high, 1.2);
  for (const node_time& time : model.times) {
    if (time.usual) {
      EXPECT_NEAR(time.ratio.value(), 1, 0.02);
    }
  }
}

TEST(Nodes, HaveTheLayersThatMakeThemSlow) {
  cluster of(9, 0.001);
  std::vector<results> files = of.files(7);
  files.push_back(of.file(7, 1.5, 10));
  const node_comparison all = compare_nodes(files);
  ASSERT_THAT(named_nodes(all), SizeIs(1));
  const node_time& slow = *named_nodes(all).front().time;
  EXPECT_EQ(slow.top_contributors.front().name, "layer10");
  EXPECT_THAT(slow.top_contributors,
              Each(::testing::Field(&contributor::old_seconds, ::testing::Le(10.2))));
  const std::string shown = text(all);
  EXPECT_THAT(shown, mentions("n7", "layer10", "slower"));
  const table slow_layers = layers_table(all, true);
  EXPECT_THAT(slow_layers.rows, SizeIs(10));
  EXPECT_THAT(slow_layers.rows, Each(::testing::Contains("n7")));
}

TEST(Nodes, OfOneNameAreOneNodeWithTheRoundsOfAllItsFiles) {
  cluster of(10);
  std::vector<results> files = of.files(6);
  results second = of.file(2);
  second.file = "again.json";
  files.push_back(second);
  const node_comparison all = compare_nodes(files);
  ASSERT_THAT(all.nodes, SizeIs(6));
  EXPECT_THAT(all.nodes.at(2).files, ElementsAre("r2.json", "again.json"));
  EXPECT_EQ(all.models.at(0).times.at(2).ratio.new_rounds, 20U);
  EXPECT_EQ(all.models.at(0).times.at(1).ratio.new_rounds, 10U);
}

TEST(Nodes, WithFewRoundsAreNotNamed) {
  cluster of(11);
  std::vector<results> files = of.files(7);
  files.push_back(of.file(7, 2, layers, 4));
  const node_comparison all = compare_nodes(files);
  const node_time& last = all.models.at(0).times.at(7);
  EXPECT_EQ(last.verdict, verdict::unclear);
  EXPECT_FALSE(last.ratio.p);
  EXPECT_NEAR(last.ratio.value(), 2, 0.1);
  EXPECT_NEAR(all.models.at(0).usual_seconds, layers * (layers + 1) / 2.0, 10);
  EXPECT_EQ(to_json(all).at("models").at(0).at("nodes").at(7).at("p"), nullptr);
}

TEST(Nodes, AreNamedByLayersWhereThereIsNoModel) {
  std::vector<results> files = cluster(12, 0.001).files(8, {3}, 1.2);
  for (results& file : files) file.manifest = {};
  const node_comparison all = compare_nodes(files);
  EXPECT_THAT(all.models, IsEmpty());
  EXPECT_THAT(named_nodes(all), SizeIs(layers));
  for (const named_node& one : named_nodes(all)) EXPECT_EQ(one.node->name, "n3");
  EXPECT_EQ(to_json(all).at("slower"), json::value({"n3"}));
}

TEST(Nodes, ThatLackLayersAreListed) {
  std::vector<results> files = cluster(13).files(6);
  std::erase_if(files[5].rows, [](const auto& row) { return row.name.layer == "layer7"; });
  const node_comparison all = compare_nodes(files);
  EXPECT_THAT(all.models.at(0).times, SizeIs(5));
  ASSERT_THAT(all.left_out, SizeIs(1));
  EXPECT_TRUE(all.left_out.front().incomplete);
  EXPECT_THAT(all.left_out.front().reason, mentions("n5", "layer7"));
  for (results& file : files)
    std::erase_if(file.rows, [](const auto& row) { return row.name.layer == "layer7"; });
  const node_comparison none = compare_nodes(files);
  EXPECT_THAT(none.models, IsEmpty());
  ASSERT_THAT(none.left_out, SizeIs(1)) << "as measured with a filter";
  EXPECT_FALSE(none.left_out.front().incomplete);
}

TEST(Nodes, LackTheLayersOfTheStateThatIsCompared) {
  std::vector<results> files = cluster(13).files(6);
  results& last = files[5];
  std::vector<result::measurement> model = testing::in_state(last.rows, "s");
  std::erase_if(model, [](const auto& row) { return row.name.layer == "layer9"; });
  std::erase_if(last.rows, [](const auto& row) {
    return row.name.layer == "layer7" || row.name.layer == "layer8";
  });
  last.rows.insert(last.rows.end(), model.begin(), model.end());
  for (result::planned& layer : last.manifest[net]) layer.state = "s";
  const node_comparison all = compare_nodes(files);
  ASSERT_THAT(all.left_out, SizeIs(1));
  EXPECT_THAT(all.left_out.front().reason,
              AllOf(mentions("n5", "hot", "layer7", "layer8"), Not(HasSubstr("layer9"))));
}

TEST(Nodes, MustBeAlikeButForTheirNames) {
  std::vector<results> files = cluster(14).files(6);
  files[0].context["kernel"] = "6.2";
  for (std::size_t i = 1; i < 6; ++i) files[i].context["kernel"] = "6.1";
  const auto compared = [&] { static_cast<void>(compare_nodes(files)); };
  EXPECT_THAT(compared, ThrowsMessage<bad_input>(
                            AllOf(mentions("r0.json", "n0", "kernel"), Not(HasSubstr("n1")))));
  const node_comparison forced = compare_nodes(files, {.force = true});
  EXPECT_THAT(forced.forced, ElementsAre("kernel"));
  EXPECT_THAT(notes(forced), ElementsAre(HasSubstr("kernel")));
}

TEST(Nodes, WithSeveralFilesCountOnceAmongMost) {
  cluster of(14);
  std::vector<results> files = of.files(4);
  for (int i = 0; i < 4; ++i) files.push_back(of.file(0));
  for (results& file : files)
    file.context["kernel"] = file.context["host_name"] == "n0" ? "6.2" : "6.1";
  const auto compared = [&] { static_cast<void>(compare_nodes(files)); };
  EXPECT_THAT(compared,
              ThrowsMessage<bad_input>(AllOf(HasSubstr("others: n0 in kernel (\"6.1\", \"6.2\");"),
                                             Not(HasSubstr("n1")))));
}

TEST(Nodes, AreFourOrMoreAndHaveNames) {
  std::vector<results> files = cluster(15).files(3);
  const auto compared = [&] { static_cast<void>(compare_nodes(files)); };
  EXPECT_THAT(compared, ThrowsMessage<usage_error>(mentions("n0", "n1", "n2")));
  files = cluster(15).files(4);
  EXPECT_NO_THROW(compared());
  files[2].context.erase("host_name");
  EXPECT_THAT(compared, ThrowsMessage<bad_input>(mentions("r2.json", "host_name")));
}

TEST(Nodes, HaveGpusThatAreComparedAlike) {
  const std::size_t slow = 5;
  auto files = cluster(1, 0.003).files(8, {slow}, 1.06);
  for (std::size_t i = 0; i < files.size(); ++i) {
    files[i].context["host_name"] = i < 4 ? "n0" : "n1";
    files[i].context["gpu_uuid"] = fmt::format("GPU-{}", i);
  }
  const comparison_options across{.dimension = compared_dimension::gpu};
  const node_comparison all = compare_nodes(files, across);
  EXPECT_THAT(all.nodes, SizeIs(8));
  ASSERT_THAT(named_nodes(all), SizeIs(1));
  EXPECT_EQ(named_nodes(all)[0].node->name, "n1/GPU-5");
  EXPECT_EQ(to_json(all).at("across"), "gpu");
  EXPECT_THAT(text(all), AllOf(HasSubstr("8 GPUs: n0/GPU-0"), HasSubstr("the usual GPUs")));

  files[2].context.erase("gpu_uuid");
  EXPECT_THAT([&] { return compare_nodes(files, across); },
              ThrowsMessage<bad_input>(HasSubstr("/context/gpu_uuid")));
}

TEST(Nodes, AreWrittenAsTextJsonAndCsv) {
  std::vector<results> files = cluster(16).files(8, {5}, 1.1);
  for (result::measurement& row : files[1].rows) row.counters["disturbed"] = 1;
  const node_comparison all = compare_nodes(files);
  const std::string shown = text(all);
  EXPECT_THAT(shown, mentions("8", "n5", "slower", "net", "n1"));
  EXPECT_LT(shown.find("n5 is"), shown.find("| node")) << "the result first";
  EXPECT_THAT(shown,
              ::testing::ContainsRegex("n5 is [0-9.]+ % slower \\([5-9]\\.[0-9] to 1[0-9]\\."));
  const json::value written = to_json(all);
  EXPECT_EQ(written.at("across"), "node");
  EXPECT_EQ(written.at("slower"), json::value({"n5"}));
  EXPECT_EQ(written.at("faster"), json::value::array());
  EXPECT_EQ(written.at("nodes").at(1).at("disturbed"), 1);
  const json::value& slow = written.at("models").at(0).at("nodes").at(5);
  EXPECT_EQ(slow.at("verdict"), "slower");
  EXPECT_LT(slow.at("p").get<double>(), 0.01);
  EXPECT_THAT(slow.at("drivers"), Not(IsEmpty()));
  const table flat = records(all);
  EXPECT_THAT(flat.rows, SizeIs(8 * (1 + layers)));
  for (const auto& row : flat.rows) EXPECT_THAT(row, SizeIs(flat.columns.size()));
}

}  // namespace analysis_nodes_test
}  // namespace layerbench::analysis
