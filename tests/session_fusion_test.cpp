// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <layerbench/model/fusion.hpp>
#include <layerbench/model/shape_file.hpp>
#include <layerbench/op/builtin.hpp>
#include <layerbench/op/test_data.hpp>
#include <layerbench/session/planned_step.hpp>

#include "support/built_backends.hpp"
#include "support/random_graphs.hpp"
#include "support/temporary_directory.hpp"

/// Fused models compute what their layers compute one by one.
namespace layerbench::run {
namespace session_fusion_test {

/// A seed that depends on a layer, the first one of a fused call, and one of its operands.
std::uint64_t seed_of(const std::string& layer, std::string_view operand) {
  std::uint64_t hash = 14695981039346656037U;  // FNV-1a
  for (const char c : layer.substr(0, layer.find('+')) + '/' + std::string(operand)) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211U;
  }
  return hash;
}

/// What the last layer of a model writes in inference.
std::vector<float> inferred(const backend_entry& on, const model::graph& g, layout image_layout,
                            bool reuses_memory = false) {
  const std::shared_ptr<device_context> memory = testing::make_context(on, 1);
  const planned_step planned(model::inference_step(g, dtype::f32, model::usually_in_place()),
                             {.layout = image_layout}, memory, /*reordered=*/true, reuses_memory);
  const model::step& step = planned.step();
  const std::unique_ptr<chain> whole = planned.make_chain(3);
  whole->activate();
  std::vector<bool> written(step.tensors, false);
  for (const model::call& call : step.calls) {
    const std::vector<op::operand> operands = step.operands_of(call);
    for (std::size_t i = 0; i < operands.size(); ++i) {
      const std::size_t tensor = call.tensors[i];
      if (written[tensor]) continue;
      written[tensor] = true;
      if (operands[i].role == op::role::destination) continue;
      const auto kept = std::ranges::find(step.kept, tensor, &model::kept_tensor::tensor);
      const op::operand& logical = kept == step.kept.end() ? operands[i] : kept->logical;
      const bool is_input = tensor == model::input_tensor;
      whole->write(tensor,
                   random_values(logical, is_input ? 7 : seed_of(call.layer, logical.name)));
    }
  }
  whole->run(0, whole->layers());
  return whole->read(step.calls.back().tensors.back());
}

constexpr int graphs = 60;

/// Two residual blocks: of the first the other source of the sum is read by an earlier call, of the
/// second by none.
constexpr auto residual_blocks = R"({"name": "blocks", "layers": [
  {"name": "a", "op": "conv", "shape": {"n": 2, "c": 3, "h": 8, "w": 8, "k": 16, "r": 1, "s": 1}},
  {"name": "b", "op": "conv", "shape": {"n": 2, "c": 16, "h": 8, "w": 8, "k": 5, "r": 1, "s": 1}},
  {"name": "r", "op": "activation", "shape": {"kind": "relu", "dims": [2, 5, 8, 8]}},
  {"name": "c", "op": "conv", "shape": {"n": 2, "c": 5, "h": 8, "w": 8, "k": 16, "r": 3, "s": 3,
                                        "pad": 1, "bias": true}},
  {"name": "sum1", "op": "add", "after": ["c", "a"], "shape": {"dims": [2, 16, 8, 8]}},
  {"name": "s", "op": "activation", "shape": {"kind": "gelu", "dims": [2, 16, 8, 8]}},
  {"name": "d", "op": "conv", "after": ["s"],
   "shape": {"n": 2, "c": 16, "h": 8, "w": 8, "k": 32, "r": 1, "s": 1, "stride": 2}},
  {"name": "e", "op": "conv", "after": ["s"],
   "shape": {"n": 2, "c": 16, "h": 8, "w": 8, "k": 32, "r": 3, "s": 3, "stride": 2, "pad": 1}},
  {"name": "sum2", "op": "add", "after": ["e", "d"], "shape": {"dims": [2, 32, 4, 4]}},
  {"name": "t", "op": "activation", "shape": {"kind": "relu", "dims": [2, 32, 4, 4]}},
  {"name": "f", "op": "conv", "shape": {"n": 2, "c": 32, "h": 4, "w": 4, "k": 3, "r": 4, "s": 4}}
]})";

/// A random graph; the last number means residual_blocks.
model::graph plain_of(int number) {
  const testing::temporary_directory directory;
  const testing::graph_dice drawn(static_cast<std::uint64_t>(number));
  return model::load(directory.write("m.json", number == graphs ? residual_blocks : drawn.text()));
}

/// As a plan fuses it that takes in all but batch norms, whose folded weights would be other
/// numbers.
model::graph fused_of(const model::graph& plain) {
  const testing::temporary_directory directory;
  const auto path = directory.write("plan.json", R"({"name": "all", "rules": [
      {"ops": ["conv", "deconv", "gemm", "add"], "then": [["activation", "add"]],
       "repeat": true, "in_place": true},
      {"ops": ["batchnorm"], "then": [["relu"]]}]})");
  const op::catalog catalog = op::builtin_catalog();
  return model::fused(plain, model::load_fusion(path, catalog), catalog);
}

class fused_graph : public ::testing::TestWithParam<int> {};

TEST_P(fused_graph, computes_what_its_layers_compute) {
  const model::graph plain = plain_of(GetParam());
  const model::graph fused = fused_of(plain);
  for (const backend_entry& backend : testing::built_backends().backends) {
    if (!backend.on_host || backend.probe()) continue;
    if (!backend.make_device(1)->implements_op(op::any(op::conv{}))) continue;
    for (const layout image_layout : {layout::nchw, layout::nhwc, layout::any}) {
      SCOPED_TRACE(fmt::format("{} {}", backend.name, name(image_layout)));
      const std::vector<float> expected = inferred(backend, plain, image_layout);
      EXPECT_EQ(inferred(backend, plain, image_layout, /*reuses_memory=*/true), expected);
      for (const bool reuses_memory : {false, true}) {
        const std::vector<float> found = inferred(backend, fused, image_layout, reuses_memory);
        ASSERT_EQ(found.size(), expected.size());
        for (std::size_t i = 0; i < found.size(); ++i) {
          EXPECT_NEAR(found[i], expected[i], 1e-4 * (1 + std::abs(expected[i]))) << i;
        }
      }
    }
  }
}

TEST(FusedGraphs, OfThisTestHaveAdditionsInPlaceAndNot) {
  std::map<op::post_op, int> drawn;
  for (int number = 0; number <= graphs; ++number) {
    for (const model::layer& one : fused_of(plain_of(number)).layers) {
      if (const auto* convolution = one.op.get<op::conv>()) {
        for (const op::post_op p : convolution->post) ++drawn[p];
      }
    }
  }
  EXPECT_GE(drawn[op::post_op::relu], 5);
  EXPECT_GE(drawn[op::post_op::add], 2);
  EXPECT_EQ(drawn[op::post_op::sum], 2);
}

INSTANTIATE_TEST_SUITE_P(random, fused_graph, ::testing::Range(0, graphs + 1));

}  // namespace session_fusion_test
}  // namespace layerbench::run
