// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <iterator>
#include <regex>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>

#include <layerbench/analysis/base/predictor.hpp>
#include <layerbench/analysis/predict/json.hpp>
#include <layerbench/analysis/predict/text.hpp>

#include "support/golden.hpp"
#include "support/mentions.hpp"

namespace layerbench::analysis {
namespace analysis_energy_test {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::mentions;
using ::testing::Not;
using ::testing::SizeIs;

/// The example file with energies of the first case: two images, windows of 5 J to 5.4 J.
class EnergyOfAStep : public ::testing::Test {
 protected:
  EnergyOfAStep() {
    const auto set = [&](const char* field, const char* value) {
      file_.context[field] = value;
      file_.dimensions[field] = field_dimension::condition;
    };
    set("energy_counter", "powercap");
    set("energy_class", "processor's counter");
    set("energy_coverage", "package, DRAM");
    for (result::measurement& chain : file_.chains) {
      if (chain.name.model_case == model_case_ && chain.round < 5) {
        set_energy(chain, 5 + 0.1 * static_cast<double>(chain.round));
      }
    }
  }
  static void set_energy(result::measurement& row, double gross) {
    row.counters["energy_gross_j"] = gross;
    row.counters["energy_net_j"] = gross / 2;
    row.counters["idle_w"] = 40;
    row.counters["energy_disturbed"] = 0;
  }
  /// Gives all rows of the case, in the state of the model, so many joules.
  void set_layers(double gross) {
    for (result::measurement& row : file_.rows) {
      if (row.name.model_case == model_case_ && row.name.cache == "model") set_energy(row, gross);
    }
  }
  [[nodiscard]] prediction predicted() const {
    return predict(std::vector{file_}, {.models = {"tiny"}}).front();
  }
  [[nodiscard]] step_energy energy() const {
    const std::vector<step_energy> all = predicted().energies;
    EXPECT_THAT(all, SizeIs(1));
    return all.at(0);
  }

  result::results file_ = testing::chain_results();
  result::case_name model_case_ = file_.chains.front().name.model_case;
};

TEST_F(EnergyOfAStep, IsTheMeanOfItsWindowsWithAnInterval) {
  const step_energy of = energy();
  EXPECT_NEAR(of.gross.mean, 5.2, 1e-9);
  EXPECT_NEAR(of.net.mean, 2.6, 1e-9);
  EXPECT_GT(of.gross.low, 4.9);
  EXPECT_LT(of.gross.low, 5.15);
  EXPECT_GT(of.gross.high, 5.25);
  EXPECT_EQ(of.windows, 5U);
  EXPECT_EQ(of.idle_watts, 40);
  EXPECT_FALSE(of.gross.layers);
}

TEST_F(EnergyOfAStep, LeavesOutDisturbedWindowsIfEnoughRemain) {
  const auto disturb = [&](std::int64_t round) {
    for (result::measurement& chain : file_.chains) {
      if (chain.name.model_case != model_case_ || chain.round != round) continue;
      set_energy(chain, 50);
      chain.counters["energy_disturbed"] = 1;
    }
  };
  disturb(3);
  disturb(4);
  EXPECT_NEAR(energy().gross.mean, 5.1, 1e-9);
  EXPECT_EQ(energy().disturbed, 2U);
  EXPECT_THAT(remarks(predicted()), HasSubstr("2 disturbed"));
  disturb(0);
  EXPECT_GT(energy().gross.mean, 20) << "the others may be quiet by chance";
}

TEST_F(EnergyOfAStep, IsComparedWithTheSumOfItsLayers) {
  set_layers(0.5);
  double calls = 0;
  for (const layer_time& layer : predicted().layers) calls += static_cast<double>(layer.count);
  ASSERT_TRUE(energy().gross.layers);
  EXPECT_NEAR(*energy().gross.layers, 0.5 * calls, 1e-9);
  EXPECT_NEAR(*energy().net.layers, 0.25 * calls, 1e-9);
  EXPECT_THAT(remarks(predicted()), HasSubstr("energy of the layers"));
}

TEST_F(EnergyOfAStep, IsPrintedPerImageWithWhatItCovers) {
  const std::string text = remarks(predicted());
  EXPECT_THAT(text, mentions("5.200 J", "2.600 J per image", "0.3846 images/J", "40.0 W",
                             "1.300 J per image", "0.7692 images/J", "5 windows", "powercap"));
  EXPECT_THAT(text, HasSubstr("processor's counter (package, DRAM)"));
  const json::value all = to_json(std::vector{predicted()});
  const json::value& of = all["predictions"][0]["energies"][0];
  EXPECT_EQ(of["class"], "processor's counter");
  EXPECT_EQ(of["coverage"], "package, DRAM");
  EXPECT_NEAR(of["gross"]["joules_per_image"].get<double>(), 2.6, 1e-9);
  EXPECT_NEAR(of["net"]["images_per_joule"].get<double>(), 1 / 1.3, 1e-9);
  EXPECT_TRUE(of["gross"]["layers_joules"].is_null());
}

TEST_F(EnergyOfAStep, BelowWhatCanBeToldHasNoImagesPerJoule) {
  const auto rates = [&] {
    const std::string text = remarks(predicted());
    const std::regex rate("images/J");
    return std::distance(std::sregex_iterator(text.begin(), text.end(), rate),
                         std::sregex_iterator());
  };
  const auto before = rates();
  for (result::measurement& chain : file_.chains) {
    if (chain.counters.contains("energy_net_j")) chain.counters["energy_net_j"] = -0.1;
  }
  const json::value all = to_json(std::vector{predicted()});
  EXPECT_TRUE(all["predictions"][0]["energies"][0]["net"]["images_per_joule"].is_null());
  EXPECT_THAT(remarks(predicted()), HasSubstr("-0.050 J per image"));
  EXPECT_EQ(rates(), before - 1);
}

TEST_F(EnergyOfAStep, OfFilesWithOtherCountersStaysApart) {
  result::results other = file_;
  other.context["energy_class"] = "meter";
  const std::vector<prediction> all = predict(std::vector{file_, other}, {.models = {"tiny"}});
  EXPECT_THAT(all.front().energies, SizeIs(2)) << "their timings are merged all the same";
}

TEST_F(EnergyOfAStep, IsAbsentWhereNoneWasMeasured) {
  file_ = testing::chain_results();
  EXPECT_THAT(predicted().energies, SizeIs(0));
  EXPECT_THAT(remarks(predicted()), Not(HasSubstr("energy")));
  EXPECT_FALSE(to_json(std::vector{predicted()})["predictions"][0].contains("energies"));
}

}  // namespace analysis_energy_test
}  // namespace layerbench::analysis
