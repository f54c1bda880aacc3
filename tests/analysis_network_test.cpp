// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include <layerbench/analysis/scaling/network_file.hpp>
#include <layerbench/analysis/scaling/text.hpp>

#include "support/mentions.hpp"
#include "support/program.hpp"
#include "support/scaling.hpp"

namespace layerbench::analysis {
namespace analysis_network_test {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::mentions;
using testing::reduced;
using testing::reduced_file;

TEST(Link, FollowsTheFormulasOfRingAndTree) {
  const link ring{topology::ring, 1e-6, 1e9};
  EXPECT_DOUBLE_EQ(ring.seconds(8e6, 8), 14 * 1e-6 + 1.75 * 8e-3);
  EXPECT_EQ(ring.seconds(8e6, 1), 0);
  const link tree{topology::tree, 1e-6, 1e9};
  EXPECT_DOUBLE_EQ(tree.seconds(8e6, 8), 6 * 1e-6 + 1.75 * 8e-3);
  EXPECT_DOUBLE_EQ(tree.seconds(0, 5), 6 * 1e-6) << "distances up to 8";
  EXPECT_DOUBLE_EQ(tree.seconds(0, 2), ring.seconds(0, 2));
}

TEST(Fit, FindsTheLinkOfExactTimes) {
  for (const topology how : {topology::ring, topology::tree}) {
    const link true_value{how, 5e-6, 10e9};
    std::vector<measured_allreduce> all;
    for (const std::int64_t n : {2, 4, 8}) {
      for (double bytes = 4; bytes < 1e9; bytes *= 8) {
        all.push_back({n, bytes, true_value.seconds(bytes, n)});
      }
    }
    const fitted_link found = fit(all);
    EXPECT_EQ(found.link.topology, how);
    EXPECT_NEAR(found.link.alpha, true_value.alpha, 1e-9 * true_value.alpha);
    EXPECT_NEAR(found.link.beta, true_value.beta, 1e-6 * true_value.beta);
    EXPECT_LT(found.residual.value(), 1e-9);
  }
}

TEST(Fit, NeverHasANegativeLatency) {
  const std::vector<measured_allreduce> falling{{2, 1e3, 1e-9}, {2, 1e6, 1e-3}};
  const fitted_link found = fit(falling);
  EXPECT_GE(found.link.alpha, 0);
  EXPECT_GT(found.link.beta, 0);
}

TEST(Table, InterpolatesOnLogarithms) {
  const collective_table table(reduced_file({reduced(2, 100, 1e-6), reduced(2, 10'000, 4e-6)}));
  EXPECT_DOUBLE_EQ(table.time(100, 2).seconds, 1e-6);
  EXPECT_DOUBLE_EQ(table.time(1'000, 2).seconds, 2e-6);
  EXPECT_DOUBLE_EQ(table.time(10'000, 2).seconds, 4e-6);
  EXPECT_DOUBLE_EQ(table.time(1, 2).seconds, 1e-6) << "latency below";
  EXPECT_DOUBLE_EQ(table.time(40'000, 2).seconds, 16e-6) << "bandwidth above";
}

TEST(Table, IsOfAllReducesAlone) {
  result::measurement gathered = reduced(2, 100, 7e-6);
  gathered.name.op = "collective";
  gathered.label.key = "kind:all_gather,bytes:100,ranks:2";
  const collective_table table(reduced_file({gathered, reduced(2, 100, 1e-6)}));
  EXPECT_DOUBLE_EQ(table.time(100, 2).seconds, 1e-6);
  EXPECT_THROW(collective_table(reduced_file({gathered})), bad_input);
}

TEST(Table, CarriesTheIntervalOfItsRounds) {
  std::vector<result::measurement> rows;
  for (const std::int64_t bytes : {100, 10'000}) {
    for (const int round : {0, 1, 2}) {
      rows.push_back(
          reduced(2, bytes, (1 + 0.1 * round) * 1e-8 * static_cast<double>(bytes), round));
    }
  }
  const collective_time time = collective_table(reduced_file(rows)).time(1'000, 2);
  EXPECT_NEAR(time.low, 1.0e-5, 1e-12);
  EXPECT_NEAR(time.seconds, 1.1e-5, 1e-12);
  EXPECT_NEAR(time.high, 1.2e-5, 1e-12);
}

TEST(Table, ScalesToOtherNumbersOfDevicesByTheFit) {
  const link true_value{topology::ring, 5e-6, 10e9};
  std::vector<result::measurement> rows;
  for (const std::int64_t n : {2, 4}) {
    for (std::int64_t bytes = 4; bytes < 100'000'000; bytes *= 4) {
      rows.push_back(reduced(n, bytes, true_value.seconds(static_cast<double>(bytes), n)));
    }
  }
  const collective_table table(reduced_file(rows));
  for (const std::int64_t n : {3, 8, 64, 4096}) {
    EXPECT_FALSE(table.measured(4e6, n));
    EXPECT_NEAR(table.time(4e6, n).seconds / true_value.seconds(4e6, n), 1, 0.01) << n;
  }
  EXPECT_THAT(table.devices(), ElementsAre(2, 4));
  EXPECT_TRUE(table.measured(4e6, 4));
  EXPECT_FALSE(table.measured(4e9, 4)) << "more bytes than any";
}

TEST(Table, HasAWiderIntervalWhereItExtrapolates) {
  std::vector<result::measurement> rows{reduced(2, 100, 1e-6), reduced(2, 10'000, 9e-6),
                                        reduced(2, 1'000'000, 100e-6)};
  const collective_table table(reduced_file(rows));
  EXPECT_GT(table.model().residual.value(), 0.01);
  const collective_time known = table.time(10'000, 2);
  EXPECT_EQ(known.low, known.high);
  const collective_time scaled = table.time(10'000, 4);
  EXPECT_LT(scaled.low, scaled.seconds);
  EXPECT_GT(scaled.high, scaled.seconds);
}

TEST(Table, OfTwoTimingsHasAFitOfUnknownError) {
  const collective_table table(
      reduced_file({reduced(2, 100, 1e-6), reduced(2, 1'000'000, 100e-6)}));
  EXPECT_FALSE(table.model().residual);
  const collective_time scaled = table.time(10'000, 4);
  EXPECT_GT(scaled.seconds, 0);
  EXPECT_EQ(scaled.low, scaled.high);
  network measured{"measured", "", "", {}, {}};
  measured.how = table;
  EXPECT_THAT(text(measured), ::testing::HasSubstr("unknown"));
}

TEST(Table, TakesRowsInPlaceWhereThereAreSome) {
  result::measurement in_place = reduced(2, 100, 5e-6);
  in_place.label.key = in_place.label.key + ",in_place:1";
  const collective_table table(reduced_file({reduced(2, 100, 1e-6), in_place}));
  EXPECT_DOUBLE_EQ(table.time(100, 2).seconds, 5e-6);
}

TEST(Table, HasTheShareOfDisturbedTimings) {
  std::vector<result::measurement> rows{reduced(2, 100, 1e-6), reduced(2, 10'000, 9e-6)};
  const auto description = [&] {
    network result{"measured", "", "", {}, {}};
    result.how = collective_table(reduced_file(rows));
    return text(result);
  };
  EXPECT_THAT(description(), ::testing::Not(HasSubstr("50 %")));
  rows.back().counters["disturbed"] = 1;
  EXPECT_THAT(description(), mentions("50 %"));
}

TEST(Table, RefusesFilesWithoutAllReducesAndMixedOnes) {
  const auto expect_refused = [](const std::vector<result::results>& files, const auto& names) {
    EXPECT_THAT([&] { const collective_table table(files); },
                ::testing::ThrowsMessage<bad_input>(names));
  };
  expect_refused(reduced_file({}), mentions("allreduce.json", "mpirun"));
  expect_refused(reduced_file({reduced(1, 100, 1e-6)}),
                 AllOf(mentions("allreduce.json"), HasSubstr("ranks")));
  expect_refused(reduced_file({reduced(2, 100, 1e-6), reduced(2, 100, 1e-6, 0, "nccl")}),
                 mentions("allreduce.json", "mpi", "nccl"));
  std::vector<result::results> two(2, reduced_file({reduced(2, 100, 1e-6)}).front());
  two.back().file = "other.json";
  two.back().context["onednn_version"] = "4";
  expect_refused(two, mentions("other.json", "onednn_version"));
  two = {reduced_file({reduced(2, 100, 1e-6)}).front(),
         reduced_file({reduced(4, 100, 1e-6)}).front()};
  two.back().file = "other.json";
  two.front().context["device"] = "one";
  two.back().context["device"] = "another";
  expect_refused(two, mentions("other.json", "another"));
  result::measurement unknown = reduced(2, 100, 1e-6);
  unknown.label.key = "";
  expect_refused(reduced_file({unknown}), mentions("allreduce.json", "bytes", "ranks"));
}

network hierarchical() {
  network result{"h", "", "", {}, {}};
  result.how = std::make_shared<const hierarchy>(hierarchy{
      8, 4, testing::ring_of(1e-6, 100e9), {"w", "", "", {}, link{topology::tree, 10e-6, 10e9}}});
  return result;
}

TEST(Nodes, AddUpInsideAndBetween) {
  const network both = hierarchical();
  EXPECT_DOUBLE_EQ(allreduce_time(both, 1e9, 8).seconds,
                   link({topology::ring, 1e-6, 100e9}).seconds(1e9, 8));
  EXPECT_DOUBLE_EQ(allreduce_time(both, 1e9, 16).seconds,
                   link({topology::ring, 1e-6, 100e9}).seconds(1e9, 8) +
                       link({topology::tree, 10e-6, 10e9}).seconds(0.25e9, 2));
  EXPECT_EQ(allreduce_time(both, 1e9, 9).seconds, allreduce_time(both, 1e9, 16).seconds)
      << "the second node has one device";
}

TEST(AnyNetwork, TakesLongerForMoreBytesAndDevices) {
  std::mt19937 random(3);
  const std::vector<network> all{testing::ring_of(3e-6, 50e9), hierarchical()};
  for (const network& item : all) {
    double last = -1;
    for (const std::int64_t n : {1, 2, 3, 4, 7, 8, 9, 16, 17, 512}) {
      EXPECT_GE(allreduce_time(item, 1e6, n).seconds, last);
      last = allreduce_time(item, 1e6, n).seconds;
      double smaller = 0;
      for (double bytes = 1; bytes < 1e10; bytes *= 1 + static_cast<double>(random() % 100)) {
        const double seconds = allreduce_time(item, bytes, n).seconds;
        EXPECT_GE(seconds, smaller);
        smaller = seconds;
      }
    }
  }
}

// Files.

class NetworkFile : public ::testing::Test {
 protected:
  std::string write(const std::string& text, const std::string& name = "n.json") {
    return scratch_.write(name, text).string();
  }
  /// Loading a file with this text fails with such an error.
  template <class Error = bad_input, class Matcher>
  void expect_refused(const std::string& text, const Matcher& names) {
    const std::string path = write(text);
    EXPECT_THAT([&] { static_cast<void>(load_network({path}, LAYERBENCH_SHAPES_DIR)); },
                ::testing::ThrowsMessage<Error>(names));
  }

 private:
  testing::temporary_directory scratch_;
};

TEST_F(NetworkFile, OfEveryShippedNetworkLoadsAndHasItsSource) {
  const std::vector<std::string> names = list_networks(LAYERBENCH_SHAPES_DIR);
  EXPECT_THAT(names, ::testing::IsSupersetOf({"dgx1_p100", "dgx1_v100", "dgx_a100", "dgx_h100",
                                              "ethernet_25", "infiniband_400"}));
  for (const std::string& name : names) {
    const network item = load_network({name}, LAYERBENCH_SHAPES_DIR);
    EXPECT_EQ(item.name, name);
    EXPECT_GT(item.source.size(), 20U) << name;
    EXPECT_GT(allreduce_time(item, 1e6, 2).seconds, 0) << name;
  }
}

TEST_F(NetworkFile, RefersToOtherFilesOrHasThemInPlace) {
  write(R"({"topology": "ring", "alpha": 1e-6, "beta": 1e9})", "inner.json");
  const network result = load_network(
      {write(R"({"topology": "hierarchical", "devices_per_node": 2, "intra": "inner.json",
                 "inter": {"topology": "tree", "alpha": 2e-6, "beta": 2e9}})")},
      LAYERBENCH_SHAPES_DIR);
  EXPECT_DOUBLE_EQ(allreduce_time(result, 0, 4).seconds, 2e-6 + 4e-6);
}

TEST_F(NetworkFile, RefersToMeasuredNetworks) {
  write(testing::reduced_text(2, {1'000}), "a2.json");
  write(testing::reduced_text(4, {1'000}), "a4.json");
  const network result = load_network(
      {write(R"({"topology": "hierarchical", "devices_per_node": 4, "intra": ["a2.json", "a4.json"],
                 "inter": {"topology": "tree", "alpha": 0, "beta": 1e9}})")},
      LAYERBENCH_SHAPES_DIR);
  EXPECT_DOUBLE_EQ(allreduce_time(result, 1'000, 2).seconds, 1e-5);
  EXPECT_DOUBLE_EQ(allreduce_time(result, 1'000, 8).seconds, 1e-5 + 1e-6);
  EXPECT_FALSE(extrapolates(result, 1'000, 8));
  EXPECT_TRUE(extrapolates(result, 1'000, 3));
}

TEST_F(NetworkFile, IgnoresRowsOfOtherBenchmarksInMeasuredNetworks) {
  std::string text = testing::reduced_text(2, {1'000});
  const std::string rows = "\"benchmarks\":[";
  const std::size_t at = text.find(rows);
  ASSERT_NE(at, text.npos);
  text.insert(at + rows.size(), R"({"name": "BM_a", "rate": NaN},)");
  const network result = load_network({write(text, "a2.json")}, LAYERBENCH_SHAPES_DIR);
  EXPECT_DOUBLE_EQ(allreduce_time(result, 1'000, 2).seconds, 1e-5);
}

TEST_F(NetworkFile, LimitsTheNumberOfDevices) {
  const network node = load_network({"dgx1_p100"}, LAYERBENCH_SHAPES_DIR);
  EXPECT_NO_THROW(require_capacity(node, 8));
  EXPECT_THROW(require_capacity(node, 9), usage_error);
  const network cluster = load_network({"dgx_a100_cluster"}, LAYERBENCH_SHAPES_DIR);
  EXPECT_NO_THROW(require_capacity(cluster, 4096));
}

TEST_F(NetworkFile, IsRefusedWithTheWrongPlace) {
  const auto file = HasSubstr("/n.json");
  expect_refused("", AllOf(file, mentions("empty")));
  expect_refused("[]", AllOf(file, mentions("/", "object")));
  expect_refused(R"({"alpha": 1})", AllOf(file, mentions("/", "topology")));
  expect_refused(R"({"topology": "star", "alpha": 0, "beta": 1e9})",
                 AllOf(file, mentions("/topology", "star", "ring", "tree", "hierarchical")));
  expect_refused(R"({"topology": "ring", "alpha": -1, "beta": 1e9})",
                 AllOf(file, mentions("/alpha")));
  expect_refused(R"({"topology": "ring", "alpha": 0, "beta": 0})", AllOf(file, mentions("/beta")));
  expect_refused(R"({"topology": "ring", "alpha": 0, "beta": "fast"})",
                 AllOf(file, mentions("/beta", "fast")));
  expect_refused(R"({"topology": "ring", "alpha": 0, "beta": 1, "gamma": 1})",
                 AllOf(file, mentions("/gamma")));
  expect_refused<nothing_matched>(
      R"({"topology": "hierarchical", "devices_per_node": 8, "intra": "dgx1_p100",
          "inter": "nowhere"})",
      mentions("nowhere", "dgx1_p100"));
  expect_refused(R"({"topology": "hierarchical", "devices_per_node": 8, "intra": "dgx1_p100",
                     "inter": "dgx_a100_cluster"})",
                 AllOf(HasSubstr("/dgx_a100_cluster.json"), mentions("/topology", "ring", "tree")));
  expect_refused(R"({"context": {}, "benchmarks": []})", AllOf(file, mentions("mpirun")));
}

TEST_F(NetworkFile, HasASchema) {
  constexpr auto validator = R"(
import json, sys
from jsonschema import Draft202012Validator as Validator
schema = json.load(open(sys.argv[1]))
Validator.check_schema(schema)
print(sum(1 for path in sys.argv[2:] if not Validator(schema).is_valid(json.load(open(path)))))
)";
  std::vector<std::string> words{"-c", validator, LAYERBENCH_SHAPES_DIR "/network_schema.json"};
  for (const auto& entry : std::filesystem::directory_iterator(LAYERBENCH_SHAPES_DIR "/networks")) {
    words.push_back(entry.path().string());
  }
  ASSERT_GE(words.size(), 10U);
  const testing::outcome shipped = testing::run(LAYERBENCH_PYTHON, words);
  EXPECT_EQ(shipped.out, "0\n") << shipped.err;
  words.resize(3);
  words.push_back(write(R"({"topology": "ring", "alpha": 0})", "a.json"));
  words.push_back(write(R"({"topology": "ring", "alpha": 0, "beta": 0})", "b.json"));
  words.push_back(write(R"({"topology": "ring", "alpha": 0, "beta": 1, "gamma": 1})", "c.json"));
  words.push_back(write(R"({"topology": "hierarchical", "alpha": 0, "beta": 1})", "d.json"));
  EXPECT_EQ(testing::run(LAYERBENCH_PYTHON, words).out, "4\n");
}

}  // namespace analysis_network_test
}  // namespace layerbench::analysis
