// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <layerbench/model/shape_file.hpp>

#include "support/random_graphs.hpp"
#include "support/temporary_directory.hpp"
#include "support/training.hpp"

/// Chains of random models have the same losses on all backends and in all modes.
namespace layerbench::run {
namespace session_graphs_test {

using testing::lesson;
using testing::train;
using testing::trained;

constexpr double rounding = 1e-3;

/// In place of a drawn model: convolutions, also in groups and transposed, and pools of volumes.
constexpr int of_volumes = 0;
constexpr const char* volumes = R"({"name": "volumes", "layers": [
  {"name": "a", "op": "conv", "shape": {"n": 3, "c": 2, "h": 6, "w": 5, "k": 4, "r": 3, "s": 3,
    "pad": 1, "bias": true, "d": 4, "t": 3, "depth_pad": 1}},
  {"name": "norm", "op": "batchnorm", "shape": {"n": 3, "c": 4, "h": 24, "w": 5}},
  {"name": "relu", "op": "activation", "shape": {"kind": "relu", "dims": [3, 4, 24, 5]}},
  {"name": "b", "op": "conv", "shape": {"n": 3, "c": 4, "h": 6, "w": 5, "k": 4, "r": 3, "s": 3,
    "stride": [2, 1], "pad": 1, "groups": 2, "d": 4, "t": 3, "depth_stride": 2, "depth_pad": 1}},
  {"name": "up", "op": "deconv", "shape": {"n": 3, "c": 4, "h": 3, "w": 5, "k": 4, "r": 2, "s": 1,
    "stride": [2, 1], "d": 2, "t": 2, "depth_stride": 2}},
  {"name": "sum", "op": "add", "after": ["up", "relu"], "shape": {"dims": [3, 4, 24, 5]}},
  {"name": "both", "op": "concat", "after": ["sum", "relu"],
    "shape": {"dims": [3, 8, 24, 5], "sizes": [4, 4]}},
  {"name": "max", "op": "pool", "shape": {"kind": "max", "n": 3, "c": 8, "h": 6, "w": 5, "r": 2,
    "s": 2, "stride": 2, "d": 4, "t": 2, "depth_stride": 2}},
  {"name": "mean", "op": "pool", "shape": {"kind": "average", "n": 3, "c": 8, "h": 3, "w": 2,
    "r": 3, "s": 2, "stride": 1, "d": 2, "t": 2}},
  {"name": "fc", "op": "gemm", "shape": {"m": 3, "n": 3, "k": 8, "b_transposed": true}},
  {"name": "softmax", "op": "softmax", "shape": {"dims": [3, 3]}}]})";

class random_graph : public ::testing::TestWithParam<int> {
 protected:
  random_graph()
      : drawn_(static_cast<std::uint64_t>(GetParam())),
        text_(GetParam() == of_volumes ? volumes : drawn_.text()),
        graph_(model::load(directory_.write("random.json", text_))) {}

  /// Whether an image, which has another order in memory in nhwc, is read as a row of values.
  [[nodiscard]] bool flattens() const { return GetParam() != of_volumes && drawn_.flattens(); }
  /// GPUs have no plans of volumes.
  [[nodiscard]] static bool lacks_plans(const backend_entry& backend) {
    return GetParam() == of_volumes && !backend.on_host;
  }

  [[nodiscard]] static lesson lesson_in(layout image_layout, const model::op_names& in_place = {},
                                        int threads = 1, dtype type = dtype::f32) {
    return {.request = {.type = type, .layout = image_layout},
            .in_place = in_place,
            .how = {.rate = 0.003},
            .threads = threads,
            .steps = 6,
            .kinds = testing::graph_dice::classes};
  }

  static void expect_same(const trained& found, const trained& end_to_end, double tolerance) {
    testing::expect_alike(found.losses, end_to_end.losses, tolerance);
    ASSERT_EQ(found.values.size(), end_to_end.values.size());
    for (std::size_t i = 0; i < found.values.size(); ++i) {
      double off = 0;
      for (std::size_t j = 0; j < end_to_end.values[i].size(); ++j) {
        const double difference = found.values[i][j] - end_to_end.values[i][j];
        off = std::max(off, std::abs(difference) / (1 + std::abs(end_to_end.values[i][j])));
      }
      EXPECT_LE(off, tolerance) << "value " << i;
    }
  }

  /// Trains in place, and adds to gradients that stay.
  [[nodiscard]] trained train_in_place(const backend_entry& backend, layout image_layout,
                                       int threads) const {
    lesson other = lesson_in(image_layout, {"activation", "add"}, threads);
    other.how.zeroed = true;
    return train(backend, graph_, other);
  }

  /// On the reference, once in this process.
  [[nodiscard]] const trained& trained_by_the_reference() const {
    static std::map<int, trained> known;
    const auto [found, is_new] = known.try_emplace(GetParam());
    if (is_new) {
      found->second = train(testing::reference_backend(), graph_, lesson_in(layout::nchw));
    }
    return found->second;
  }

  /// Compares all other backends, on these threads, with the reference.
  void expect_same_everywhere(int threads) {
    const trained& end_to_end = trained_by_the_reference();
    testing::on_all_backends(dtype::f32, [&](const backend_entry& backend) {
      if (backend.name != "reference" && !lacks_plans(backend)) {
        for (const layout image_layout : {layout::nchw, layout::nhwc, layout::any}) {
          SCOPED_TRACE(fmt::format("{} {}", backend.name, name(image_layout)));
          const trained apart = train(backend, graph_, lesson_in(image_layout, {}, threads));
          // Flattened channels-last images are other rows of a matrix.
          if (image_layout != layout::nhwc || !flattens()) expect_same(apart, end_to_end, rounding);
          expect_same(train_in_place(backend, image_layout, threads), apart, rounding);
        }
      }
    });
  }

  testing::temporary_directory directory_;
  testing::graph_dice drawn_;
  std::string text_;
  model::graph graph_;
};

TEST_P(random_graph, HasTheSameLossesOnAllBackends) {
  SCOPED_TRACE(text_);
  expect_same(train_in_place(testing::reference_backend(), layout::nchw, 1),
              trained_by_the_reference(), 0);
  expect_same_everywhere(1);
}

TEST_P(random_graph, HasTheSameLossesOn_two_threads) {
  SCOPED_TRACE(text_);
  expect_same_everywhere(2);
}

TEST_P(random_graph, HasSimilarLossesIn16Bits) {
  SCOPED_TRACE(text_);
  const trained& end_to_end = trained_by_the_reference();
  const bool transposed = text_.find("deconv") != std::string::npos;
  testing::on_all_backends(dtype::bf16, [&](const backend_entry& backend) {
    if (lacks_plans(backend)) return;
    // It refuses gradients that this oneDNN computes wrong.
    if (transposed && backend.name == "onednn" && testing::has_early_amx()) return;
    for (const layout image_layout : {layout::nchw, layout::any}) {
      // It has one layout.
      if (backend.name == "reference" && image_layout == layout::any) continue;
      SCOPED_TRACE(fmt::format("{} {}", backend.name, name(image_layout)));
      const lesson given = lesson_in(image_layout, {"activation"}, 1, dtype::bf16);
      testing::expect_alike(train(backend, graph_, given).losses, end_to_end.losses, 0.1);
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Seeds, random_graph, ::testing::Range(of_volumes, 31));

}  // namespace session_graphs_test
}  // namespace layerbench::run
