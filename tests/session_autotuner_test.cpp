// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <layerbench/backend/adapter.hpp>
#include <layerbench/backend/reference/activation.hpp>
#include <layerbench/base/description.hpp>
#include <layerbench/base/json.hpp>
#include <layerbench/op/activation.hpp>
#include <layerbench/result/field_dimensions.hpp>
#include <layerbench/session/autotuner.hpp>
#include <layerbench/session/backend_selection.hpp>
#include <layerbench/session/plan_search.hpp>
#include <layerbench/topology/topology.hpp>

#include "support/mentions.hpp"
#include "support/temporary_directory.hpp"

/// A library with several algorithms for the same work.
struct toy : layerbench::reference::backend {
  static constexpr std::string_view name = "toy";
  using backend::backend;
  /// Seconds per call, by algorithm.
  static inline const std::map<std::string, double> cost{
      {"usual", 200e-6}, {"slower", 210e-6}, {"quick", 150e-6}, {"wrong", 110e-6}, {"naive", 5e-3}};
  static inline std::vector<std::string> names;    ///< algorithms offered, the own choice first
  static inline std::map<std::string, int> calls;  ///< by algorithm
  static inline int plans = 0;                     ///< that were made
  static inline std::deque<double> clocks;         ///< that it tells; the last stays
  static inline int calls_while_cold = 0;          ///< at less than the last of these clocks

  [[nodiscard]] std::map<std::string, double> telemetry() const override {
    if (clocks.empty()) return {};
    const double clock = clocks.front();
    if (clocks.size() > 1) clocks.pop_front();
    return {{"sm_mhz", clock}};
  }
  static layerbench::run::backend_entry entry() {
    layerbench::run::backend_entry own = backend::entry();
    own.describe = [](layerbench::description& facts) {  // one field of each dimension
      for (std::size_t i = 0; i < layerbench::enum_names<layerbench::field_dimension>.size(); ++i) {
        const auto dimension = static_cast<layerbench::field_dimension>(i);
        facts[std::string(layerbench::name(dimension))] = {"1", dimension};
      }
    };
    own.host = &small;
    return own;
  }
  /// Small caches, of which rings are a small multiple.
  static const layerbench::machine::topology& small() {
    static const auto one = layerbench::machine::completed({}, {0, 1}, {0, 1U << 16U, 1U << 20U});
    return one;
  }
  static inline std::optional<std::string> lost;  ///< with what all calls fail
  [[nodiscard]] std::optional<std::string> lasting_error() const override { return lost; }
  [[nodiscard]] static double seconds(const std::string& algorithm) {
    if (algorithm == "flaky" || algorithm == "broken") return 100e-6;
    return cost.at(algorithm.starts_with("slower") ? "slower" : algorithm);
  }
};
template <>
struct layerbench::plan<toy, layerbench::op::activation>
    : plan<reference::backend, op::activation> {
  using base = plan<reference::backend, op::activation>;
  plan(toy& device, const op::activation& o, const plan_request& request)
      : base(device, o, request),
        name_(request.algorithm.empty() ? toy::names.front() : request.algorithm) {
    ++toy::plans;
  }

  [[nodiscard]] std::string algorithm() const override { return name_; }
  [[nodiscard]] std::vector<run::alternative> alternatives(std::size_t /*most*/) override {
    std::vector<run::alternative> all;
    for (const std::string& name : toy::names) all.push_back({name});
    return all;
  }
  void run(const auto& bound) const {
    ++toy::calls[name_];
    if (toy::clocks.size() > 1) ++toy::calls_while_cold;
    if (name_ == "flaky" && toy::calls[name_] > 20) throw api_error("toy", "run", "flaky");
    if (name_ == "large") throw not_enough_memory(2, 1);
    if (name_ == "broken" && toy::calls[name_] > 20) toy::lost = "illegal access";
    if (toy::lost) throw api_error("toy", "run", *toy::lost);
    const double end = run::now(run::clock::thread_cpu) + toy::seconds(name_);
    if (name_ != "wrong") base::run(bound);
    while (run::now(run::clock::thread_cpu) < end) {
    }
  }

 private:
  std::string name_;
};

namespace layerbench::run {
namespace session_autotuner_test {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::mentions;

TEST(ShortestTime, OfAlmostEqualOnesIsTheFirst) {
  EXPECT_EQ(detail::shortest({1.0}), 0U);
  EXPECT_EQ(detail::shortest({2.0, 1.0, 1.5}), 1U);
  EXPECT_EQ(detail::shortest({1.019, 1.0}), 0U);
  EXPECT_EQ(detail::shortest({1.021, 1.0}), 1U);
  EXPECT_EQ(detail::shortest({1.05, 1.01, 1.0}), 1U);
}

class Autotuner : public ::testing::Test {
 protected:
  Autotuner() {
    toy::names = {"usual", "slower", "quick"};
    toy::calls.clear();
  }

  std::string choice(autotuner& of, std::int64_t size = 3) {
    const op::any relu(op::activation{op::activation_kind::relu, {2, size}});
    return of.choose("toy", 1, context_, relu, {});
  }

  device_context context_{std::make_unique<backend_device<toy, op::activation>>(1)};
  autotuner measuring_{/*measures=*/true, 1, reference::oracle(op::list<op::activation>{})};
};

TEST_F(Autotuner, ChoosesTheFastestPlanAndNotesIt) {
  EXPECT_EQ(choice(measuring_), "quick");
  ASSERT_EQ(measuring_.notes().size(), 1U);
  EXPECT_THAT(
      measuring_.notes()[0],
      mentions("toy/threads:1/f32/nhwc/activation/fwd/kind:relu,dims:2x3", "quick", "usual"));
  EXPECT_GE(toy::calls["slower"], 2) << "verified and timed, however slow the processor is";
}

TEST_F(Autotuner, MeasuresEachOpOnce) {
  static_cast<void>(choice(measuring_));
  const auto calls = toy::calls;
  EXPECT_EQ(choice(measuring_), "quick");
  EXPECT_EQ(toy::calls, calls);
  static_cast<void>(choice(measuring_, 4));
  EXPECT_NE(toy::calls, calls) << "other work";
}

TEST_F(Autotuner, KeepsTheLibrarysChoiceIfNothingIsFaster) {
  toy::names = {"quick", "usual"};
  EXPECT_EQ(choice(measuring_), "");
  EXPECT_THAT(measuring_.notes(), IsEmpty());
  toy::names = {"usual"};
  toy::calls.clear();
  EXPECT_EQ(choice(measuring_, 4), "");
  EXPECT_THAT(toy::calls, IsEmpty()) << "there is no choice";
}

TEST_F(Autotuner, RejectsWrongResults) {
  toy::names = {"usual", "wrong", "quick"};
  EXPECT_EQ(choice(measuring_), "quick");
  ASSERT_EQ(measuring_.notes().size(), 2U);
  EXPECT_THAT(measuring_.notes()[0], AllOf(mentions("wrong"), HasSubstr("dst")));
}

TEST_F(Autotuner, DropsAPlanWithoutMemory) {
  toy::names = {"usual", "large", "quick"};
  EXPECT_EQ(choice(measuring_), "quick");
  ASSERT_EQ(measuring_.notes().size(), 2U);
  EXPECT_THAT(measuring_.notes()[0], AllOf(mentions("large"), HasSubstr("memory")));
  EXPECT_FALSE(measuring_.candidates().begin()->second[1].forbidden) << "it may fit later";
}

TEST_F(Autotuner, WarmsTheDeviceUpBeforeItMeasures) {
  toy::clocks = {345, 1200, 1980, 1980};
  toy::calls_while_cold = 0;
  EXPECT_EQ(choice(measuring_), "quick");
  EXPECT_GT(toy::calls_while_cold, 0);
  EXPECT_GE(toy::calls["usual"], toy::calls_while_cold) << "the first plan warms it up";
  EXPECT_EQ(toy::clocks.size(), 1U) << "it is warm";
  toy::clocks = {345, 1980};
  toy::calls_while_cold = 0;
  EXPECT_EQ(choice(measuring_, 4), "quick");
  EXPECT_EQ(toy::clocks.size(), 2U) << "and stays so for a while";
  toy::clocks.clear();
}

TEST_F(Autotuner, LooksTwiceAtFarSlowerCandidates) {
  toy::names = {"usual", "naive", "quick"};
  EXPECT_EQ(choice(measuring_), "quick");
  EXPECT_EQ(toy::calls["naive"], 2);
  toy::names = {"naive", "quick"};
  EXPECT_EQ(choice(measuring_, 4), "quick");
  EXPECT_GT(toy::calls["naive"], 10) << "the library's own choice, to compare with";
}

TEST_F(Autotuner, ComparesTheFirstTwelvePlans) {
  toy::names = {"usual"};
  for (int i = 0; i < 20; ++i) toy::names.push_back(fmt::format("slower{}", i));
  toy::plans = 0;
  EXPECT_EQ(choice(measuring_), "");
  EXPECT_EQ(toy::plans, 12);
  const auto& candidates = measuring_.candidates().begin()->second;
  ASSERT_EQ(candidates.size(), 12U);
  EXPECT_EQ(candidates.front().algorithm, "usual");
  EXPECT_EQ(candidates.back().algorithm, "slower10");
}

TEST_F(Autotuner, KeepsTheTimesOfAllCandidatesAndWhyTheyAreOut) {
  toy::names = {"usual", "naive", "quick", "wrong"};
  static_cast<void>(choice(measuring_));
  ASSERT_EQ(measuring_.candidates().size(), 1U);
  const auto& [work, all] = *measuring_.candidates().begin();
  EXPECT_EQ(work, "toy/threads:1/f32/nhwc/activation/fwd/kind:relu,dims:2x3");
  ASSERT_EQ(all.size(), 4U);
  for (const result::plan_candidate& one : all) {
    EXPECT_GE(one.first_seconds.value_or(0), 100e-6) << one.algorithm;
    EXPECT_EQ(one.hot_seconds.has_value(), one.algorithm != "naive");
    EXPECT_EQ(one.note.empty(), one.algorithm == "usual" || one.algorithm == "quick");
  }
  EXPECT_THAT(all[1].note, HasSubstr("1.5 times"));
  EXPECT_THAT(all[3].note, HasSubstr("dst"));
}

TEST_F(Autotuner, DropsAPlanThatFailsInTheRounds) {
  toy::names = {"usual", "flaky", "quick"};
  EXPECT_EQ(choice(measuring_), "quick");
  EXPECT_THAT(measuring_.notes().front(), mentions("flaky", "out"));
  EXPECT_FALSE(measuring_.candidates().begin()->second.at(1).forbidden) << "it may work elsewhere";
}

TEST_F(Autotuner, ForbidsAPlanThatBreaksTheDevice) {
  toy::names = {"usual", "quick", "broken"};
  EXPECT_THAT([&] { static_cast<void>(choice(measuring_)); },
              ::testing::ThrowsMessage<device_lost>(
                  mentions("toy/threads:1/f32/nhwc/activation/fwd/kind:relu,dims:2x3", "broken")));
  toy::lost.reset();
  toy::calls.clear();
  const json::value all{
      {"context", {{"candidates", result::write_candidates(measuring_.candidates())}}},
      {"benchmarks", json::value::array()}};
  const testing::temporary_directory directory;
  const std::string file = directory.write("before.json", all.dump()).string();
  autotuner resumed{/*measures=*/true, 1, reference::oracle(op::list<op::activation>{})};
  resumed.restore(file, {});
  EXPECT_EQ(choice(resumed), "quick");
  EXPECT_EQ(toy::calls["broken"], 0);
  EXPECT_GT(toy::calls["usual"], 10) << "measured again: it lacked passes";
  const auto& candidates = resumed.candidates().begin()->second;
  ASSERT_EQ(candidates.size(), 3U);
  EXPECT_TRUE(candidates.back().forbidden);
  EXPECT_EQ(candidates.back().algorithm, "broken") << "remembered further on";
}

TEST_F(Autotuner, ProposesTheNextPlanWhereOneIsRejected) {
  autotuner heuristic(/*measures=*/false, 1, {});
  const op::any relu(op::activation{op::activation_kind::relu, {2, 3}});
  const auto reject = [&](autotuner& from, const std::string& algorithm) {
    return from.reject("toy", 1, relu, {}, algorithm, "wrong");
  };
  EXPECT_EQ(choice(heuristic), "");
  EXPECT_TRUE(reject(heuristic, "usual"));
  EXPECT_EQ(choice(heuristic), "slower");
  EXPECT_EQ(choice(heuristic, 4), "") << "of other work";
  EXPECT_TRUE(reject(heuristic, "slower"));
  EXPECT_EQ(choice(heuristic), "quick");
  EXPECT_TRUE(reject(heuristic, "quick"));
  EXPECT_THAT([&] { static_cast<void>(choice(heuristic)); },
              ::testing::ThrowsMessage<unsupported>(mentions("usual: wrong", "quick: wrong")));
  EXPECT_THAT(toy::calls, IsEmpty());
  EXPECT_EQ(choice(measuring_), "quick");
  const auto calls = toy::calls;
  EXPECT_TRUE(reject(measuring_, "quick"));
  EXPECT_EQ(choice(measuring_), "") << "the library's own was the next fastest";
  EXPECT_EQ(toy::calls, calls) << "all times are known";
}

TEST_F(Autotuner, ChoosesThePlansOfADevice) {
  context_.device().set_choice([&](const op::any& op, const plan_request& request) {
    return measuring_.choose("toy", 1, context_, op, request);
  });
  const op::any relu(op::activation{op::activation_kind::relu, {2, 3}});
  EXPECT_EQ(context_.device().plan(relu, {})->algorithm(), "quick");
  EXPECT_EQ(context_.device().plan(relu, {.algorithm = "slower"})->algorithm(), "slower");
  EXPECT_EQ(context_.device().make_plan(relu, {})->algorithm(), "usual");
}

/// A result file that names the plans of two rows.
class ReplayedPlans : public Autotuner {
 protected:
  ReplayedPlans() {
    json::value rows = json::value::array();
    for (const auto& [size, algorithm] : {std::pair("3", "slower"), std::pair("4", "quick")}) {
      const std::string name =
          fmt::format("activation/fwd/toy/f32/tiny/relu{}/batch:1/cache:model", size);
      rows.push_back(
          {{"name", name},
           {"run_name", name},
           {"run_type", "iteration"},
           {"repetition_index", 0},
           {"iterations", 1},
           {"real_time", 1.0},
           {"cpu_time", 1.0},
           {"time_unit", "ns"},
           {"label", fmt::format("key=kind:relu,dims:2x{};algo={};state=", size, algorithm)}});
    }
    const json::value all{{"context", {{"threads", "1"}, {"toy_version", "2"}}},
                          {"benchmarks", rows}};
    file_ = directory_.write("before.json", all.dump()).string();
  }

  testing::temporary_directory directory_;
  std::string file_;
};

TEST_F(ReplayedPlans, AreThoseOfTheFile) {
  autotuner replaying(/*measures=*/false, 1, {});
  replaying.restore(file_, {{"toy_version", {"2", field_dimension::version}}});
  EXPECT_EQ(choice(replaying, 3), "slower");
  EXPECT_EQ(choice(replaying, 4), "quick");
  EXPECT_EQ(choice(replaying, 5), "") << "an op that the file does not have";
  const op::any relu(op::activation{op::activation_kind::relu, {2, 3}});
  EXPECT_FALSE(replaying.reject("toy", 1, relu, {}, "slower", "wrong")) << "the user wants it";
  EXPECT_EQ(choice(replaying, 3), "slower");
  EXPECT_THAT(toy::calls, IsEmpty());
}

TEST_F(ReplayedPlans, AreNotUsedForOtherConditions) {
  autotuner replaying(/*measures=*/false, 1, {});
  replaying.restore(file_, {});
  const op::any relu(op::activation{op::activation_kind::relu, {2, 3}});
  EXPECT_EQ(replaying.choose("toy", 2, context_, relu, {}), "");
  EXPECT_EQ(replaying.choose("toy", 1, context_, relu, {.type = dtype::bf16}), "");
  EXPECT_EQ(replaying.choose("toy", 1, context_, relu, {.layout = layout::nchw}), "");
}

TEST(Libraries, HaveTheSamePlansWhateverTheirSettingsAndDriver) {
  const registry known = registry_of<toy>(op::list<op::activation>{});
  std::vector<std::string> fields;
  for (const auto& [field, fact] : detail::libraries({"toy"}, known)) fields.push_back(field);
  EXPECT_THAT(fields, ::testing::ElementsAre("device", "instruction_set", "version"));
}

TEST_F(ReplayedPlans, OfAnotherLibraryAreRefused) {
  autotuner replaying(/*measures=*/false, 1, {});
  const auto expect_refused = [&](const std::string& field, const auto& values) {
    EXPECT_THAT(([&] { replaying.restore(file_, {{field, {"3", field_dimension::version}}}); }),
                ::testing::ThrowsMessage<bad_input>(
                    AllOf(mentions(file_, "/context/" + field, "--plans=measured"), values)));
  };
  expect_refused("toy_version", mentions("2", "3"));
  expect_refused("gpu", mentions("3"));
}

}  // namespace session_autotuner_test
}  // namespace layerbench::run
