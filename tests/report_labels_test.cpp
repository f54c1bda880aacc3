// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <layerbench/analysis/roofline/bottlenecks.hpp>
#include <layerbench/report/error_chart.hpp>
#include <layerbench/report/page.hpp>
#include <layerbench/report/roofline_chart.hpp>
#include <layerbench/report/time_series_chart.hpp>

#include "support/chart.hpp"
#include "support/golden.hpp"
#include "support/peaks.hpp"

// No label of a chart lies over a point or another label, at any width.

namespace layerbench::report {
namespace report_labels_test {

using testing::collisions;
using testing::drawn_chart;
using testing::drawn_charts;
using ::testing::IsEmpty;
using ::testing::SizeIs;

/// Numbers that are the same in each run of the test.
class generator {
 public:
  explicit generator(unsigned seed) : random_(seed) {}

  [[nodiscard]] double between(double low, double high) {
    constexpr double range = 1U << 20U;
    return low + (high - low) * static_cast<double>(random_() % (1U << 20U)) / range;
  }
  [[nodiscard]] std::size_t whole(std::size_t low, std::size_t high) {
    return low + random_() % (high - low + 1);
  }

 private:
  std::mt19937 random_;
};

analysis::step_time step_of(double seconds, double half_width) {
  return {seconds,
          0,
          seconds,
          seconds * (1 - half_width),
          seconds * (1 + half_width),
          analysis::interval_method::bootstrap,
          std::nullopt};
}

analysis::prediction prediction_of(const std::string& model, double seconds, double half_width) {
  analysis::prediction p;
  p.model_case = {"reference", "f32", model, 1, {{"phase", "inference"}}};
  p.threads = 1;
  p.coverage = 1;
  p.cache = "model";
  p.step = step_of(seconds, half_width);
  return p;
}

/// A step of layers of all sizes; many lie at the same place, as those of real models do.
analysis::prediction random_roofline(generator& random) {
  analysis::prediction p = prediction_of("generated", 1, 0.05);
  analysis::peaks of{"reference", "f32", 1, std::pow(10, random.between(9, 14)), 1e-6, {}};
  double bandwidth = std::pow(10, random.between(9, 12));
  double capacity = 1e5;
  for (std::size_t i = random.whole(1, 4); i > 0; --i) {
    of.levels.push_back(
        {i == 1 ? "memory" : fmt::format("l{}", 5 - i), capacity, bandwidth, bandwidth, bandwidth});
    bandwidth /= random.between(1.2, 8);
    capacity *= 20;
  }
  double total = 0;
  const std::size_t kinds = random.whole(1, 6);
  for (std::size_t i = random.whole(1, 80); i > 0; --i) {
    analysis::layer_time layer{
        fmt::format("layer{}", i), i % 2 == 0 ? "conv" : "gemm", "fwd", "", 1, false, 1e-3, 0, {}};
    const double kind = static_cast<double>(i % kinds) / static_cast<double>(kinds);
    const auto bytes = static_cast<std::int64_t>(std::pow(10, 4 + 2 * kind));
    layer.traffic = {{bytes, bytes, false}};
    layer.flops = static_cast<double>(bytes) * std::pow(10, 4 * kind - 1);
    layer.roofs = analysis::roofs_of(*layer.flops, layer.traffic, of);
    layer.seconds = layer.roofs->seconds() * random.between(0.8, 10);
    layer.share = layer.seconds * random.between(0.1, 5);
    total += layer.share;
    p.layers.push_back(layer);
  }
  for (analysis::layer_time& layer : p.layers) layer.share /= total;
  p.limits = of;
  return p;
}

void expect_no_collisions(const std::string& html, const std::string& what) {
  const std::vector<drawn_chart> charts = drawn_charts(html);
  EXPECT_THAT(charts, SizeIs(2)) << what;
  for (const drawn_chart& chart : charts) {
    EXPECT_THAT(chart.labels, ::testing::Not(IsEmpty())) << what;
    EXPECT_THAT(collisions(chart), IsEmpty()) << what << ", width " << chart.width;
  }
}

TEST(Labels, OfGeneratedRooflinesAreFree) {
  for (unsigned seed = 0; seed < 25; ++seed) {
    generator random(seed);
    const analysis::prediction p = random_roofline(random);
    expect_no_collisions(svg::roofline_chart(p, svg::palette(std::vector{p})).html,
                         fmt::format("seed {}", seed));
  }
}

TEST(Labels, OfGeneratedValidationsAreFree) {
  for (unsigned seed = 0; seed < 25; ++seed) {
    generator random(seed);
    analysis::validation all;
    for (std::size_t i = random.whole(1, 12); i > 0; --i) {
      const double spread = random.between(0.001, 1.5);
      analysis::validated entry{
          prediction_of("m" + std::string(random.whole(0, 90), 'x') + std::to_string(i),
                        random.between(1 - spread / 2, 1 + spread), spread / 4),
          {1, 0.99, 1.01, 5, random.whole(0, 1) == 0 ? 0.0 : 1.0}};
      if (random.whole(0, 3) > 0) entry.predicted.hot_sum_seconds = random.between(0.2, 2.5);
      all.cases.push_back(entry);
    }
    expect_no_collisions(svg::error_chart(all).html, fmt::format("seed {}", seed));
  }
}

TEST(Labels, OfGeneratedHistoriesAreFree) {
  for (unsigned seed = 0; seed < 25; ++seed) {
    generator random(seed);
    analysis::time_series of;
    const double spread = random.between(0, 2);
    for (std::size_t i = random.whole(2, 60); i > 0; --i) {
      const double seconds = 1e-3 * (1 + random.between(0, spread));
      const double width = random.between(0, 0.05);
      analysis::history_point& point = of.points.emplace_back();
      point.date = fmt::format("2026-01-{:02}T00:00:00", i % 28 + 1);
      point.time.seconds = seconds;
      point.between = {seconds * (1 - width), seconds * (1 + width)};
      point.has_confidence_interval = true;
    }
    if (of.is_long()) {
      analysis::change_point change;
      change.first = random.whole(1, of.points.size() - 1);
      change.ratio = {1e-3, 1e-3 * (1 + spread)};
      of.changes = {change};
    }
    expect_no_collisions(svg::history_chart(of).html, fmt::format("seed {}", seed));
  }
}

/// Peaks on the machine of `file`.
std::vector<result::results> peaks_for(const result::results& file) {
  std::vector files{testing::peak_file()};
  files.front().context = file.context;
  for (result::measurement& row : files.front().rows) {
    row.name.model_case.backend = file.rows.front().name.model_case.backend;
  }
  return files;
}

TEST(Labels, OfStoredFilesAreFreeAndComplete) {
  const std::string results = LAYERBENCH_SOURCE_DIR "/results/";
  for (const std::string& path :
       {testing::chain_file, results + "quickstart_2cpu_zen4.json",
        results + "torch_import/squeezenet1_1.json", results + "engines/resnet50_layers.json"}) {
    const std::vector<result::results> files{result::read(path)};
    const std::vector<result::results> peaks = peaks_for(files.front());
    analysis::options chosen;
    chosen.peaks = peaks;
    const report_data of = report_data_of(files, chosen);
    const svg::palette ops(of.predictions);
    for (const analysis::prediction& p : of.predictions) {
      const std::string chart = svg::roofline_chart(p, ops).html;
      if (chart.empty()) continue;  // the file does not say what its layers compute
      expect_no_collisions(chart, path);
      for (const drawn_chart& drawn : drawn_charts(chart)) {
        for (std::size_t i = 0; i < analysis::worth_optimising(p).size(); ++i) {
          if (!analysis::arithmetic_intensity(analysis::worth_optimising(p)[i])) continue;
          EXPECT_THAT(drawn.labels, ::testing::Contains(::testing::Field(
                                        &testing::drawn_label::text, std::to_string(i + 1))));
        }
      }
    }
    if (!of.validation.cases.empty()) {
      expect_no_collisions(svg::error_chart(of.validation).html, path);
    }
  }
}

TEST(Labels, KeepOffPointsAndLinesAndLeadToTheirPoint) {
  svg::label_layout layout({0, 0, 200, 200});
  const svg::circle point{{100, 100}, 5};
  layout.add(point);
  const auto first = layout.place_beside("1", point);
  ASSERT_TRUE(first);
  EXPECT_FALSE(first->leader);
  EXPECT_GE(first->start.x, 105) << "on the right";
  for (int i = 0; i < 30; ++i)
    layout.add(svg::circle{{100 + 8.0 * std::cos(i), 100 + 8.0 * std::sin(i)}, 9});
  const auto second = layout.place_beside("2", point);
  ASSERT_TRUE(second && second->leader);
  EXPECT_LE(std::hypot(second->leader->from.x - 100, second->leader->from.y - 100), 5.01);
  const std::vector<svg::point> corner{{0, 0}};
  EXPECT_FALSE(layout.place("outside", corner));
}

}  // namespace report_labels_test
}  // namespace layerbench::report
