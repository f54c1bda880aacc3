// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include <layerbench/cache_state/buffer_layout.hpp>
#include <layerbench/model/shape_file.hpp>
#include <layerbench/model/training.hpp>
#include <layerbench/session/planned_step.hpp>

#include "support/temporary_directory.hpp"
#include "support/training.hpp"
#include "support/transformer.hpp"

/// Steps that decode behind a key-value cache.
namespace layerbench::run {
namespace session_decode_test {

using ::testing::FloatNear;
using ::testing::Pointwise;

/// What two steps leave: their results, and the caches.
struct decoded {
  std::vector<float> first;
  std::vector<float> second;
  std::vector<std::vector<float>> before;  ///< each cache before the first step
  std::vector<std::vector<float>> after;   ///< and after the second
};

class Decoding : public ::testing::Test {
 protected:
  static constexpr std::size_t tokens = 2;
  static constexpr std::size_t context = 5;
  static constexpr std::size_t columns = 8;

  testing::temporary_directory directory_;
  model::graph net_ = model::load(directory_.write("decoder.json", testing::decoder_block),
                                  {{"tokens", tokens}, {"context", context}});

  [[nodiscard]] decoded decode(const backend_entry& on, layout image_layout = layout::nhwc) const {
    const planned_step planned(model::inference_step(net_), {.layout = image_layout},
                               testing::make_context(on, 1),
                               /*reordered=*/image_layout == layout::any);
    const std::unique_ptr<chain> whole = planned.make_chain(3);
    whole->activate();
    const auto caches = [&] {
      std::vector<std::vector<float>> all;
      for (const model::packed_tensor& cache : planned.step().packed) {
        all.push_back(whole->read(cache.whole));
      }
      return all;
    };
    const auto step = [&](float scale) {
      std::vector<float> words(2 * tokens * 8);
      for (std::size_t i = 0; i < words.size(); ++i) {
        words[i] = scale * std::sin(static_cast<float>(i));
      }
      whole->write(model::input_tensor, words);
      whole->run(0, whole->layers());
      return whole->read(planned.step().calls.back().tensors.back());
    };
    decoded result;
    result.before = caches();
    result.first = step(1);
    result.second = step(-2);
    result.after = caches();
    EXPECT_NE(result.first, result.second);
    step(1);
    EXPECT_THAT(step(-2), Pointwise(FloatNear(1e-5F), result.second))
        << "every step appends at the same place";
    return result;
  }
};

TEST_F(Decoding, KeepsEarlierRowsAndReplacesThoseOfTheNewTokens) {
  const decoded result = decode(testing::reference_backend());
  ASSERT_EQ(result.before.size(), 2U);
  for (std::size_t i = 0; i < 2; ++i) {
    ASSERT_EQ(result.after[i].size(), 2 * (context + tokens) * columns);
    for (std::size_t j = 0; j < result.after[i].size(); ++j) {
      const bool is_new = j / columns % (context + tokens) >= context;
      EXPECT_EQ(result.after[i][j] != result.before[i][j], is_new) << i << ' ' << j;
    }
  }
}

TEST_F(Decoding, HasTheSameResultsOnAllBackends) {
  const decoded expected = decode(testing::reference_backend());
  testing::on_all_backends(dtype::f32, [&](const backend_entry& backend) {
    if (!backend.on_host) return;  // cuDNN has attention in 16 bits alone
    if (!testing::make_context(backend, 1)->device().implements_op(op::any(op::append{}))) return;
    for (const layout image_layout : {layout::nhwc, layout::any}) {
      const decoded found = decode(backend, image_layout);
      EXPECT_THAT(found.first, Pointwise(FloatNear(1e-4F), expected.first)) << backend.name;
      EXPECT_THAT(found.second, Pointwise(FloatNear(1e-4F), expected.second)) << backend.name;
    }
  });
}

TEST_F(Decoding, RunsWhereNoLayerReadsACache) {
  const model::graph net = model::load(directory_.write("cache.json", R"({
      "name": "cache", "parameters": {"tokens": 1, "context": 3}, "layers": [
      {"name": "cache", "op": "append", "shape": {"n": 1, "tokens": "tokens", "context": "context",
                                                  "columns": 4}}]})"));
  planned_step planned(model::inference_step(net), {},
                       testing::make_context(testing::reference_backend(), 1));
  EXPECT_NO_THROW(planned.make_chain(1)->run(0, 1));
  EXPECT_EQ(planned.least_memory().footprint(), 2 * 4 * 4) << "the input and the new row";
}

TEST_F(Decoding, DoesNotOverwriteACacheThatAnActivationReads) {
  const model::graph net = model::load(directory_.write("relu.json", R"({
      "name": "relu", "parameters": {"tokens": 1, "context": 3}, "layers": [
      {"name": "cache", "op": "append", "shape": {"n": 1, "tokens": "tokens", "context": "context",
                                                  "columns": 4}},
      {"name": "relu", "op": "activation", "shape": {"kind": "relu", "dims": [1, "keys", 4]}}]})"));
  const model::step step = model::inference_step(net, dtype::f32, {"activation"});
  EXPECT_NE(step.calls[1].tensors[0], step.calls[1].tensors[1]);
}

TEST_F(Decoding, HasARowOfAnAppendWithoutACacheForEachSlot) {
  const auto memory = testing::make_context(testing::reference_backend(), 1);
  const auto footprint = static_cast<std::int64_t>(2 * memory->device().cache_bytes());
  for (const cache_state state : {cache_state::model, cache_state::cold, cache_state::hot}) {
    const op::append o{.n = 1, .tokens = 1, .context = {4095}, .columns = 256};
    const auto plan = memory->device().plan(op::any(o), {});
    const buffer_layout found =
        buffer_layout_of(memory->device(), *plan, {.cache = state, .footprint = footprint});
    std::size_t bytes = 0;
    for (const buffer_kind kind : shared_buffer_kinds) bytes += found.rings.ring_bytes(kind);
    EXPECT_LE(bytes, 10 * memory->device().cache_bytes() + plan->operands()[1].bytes);
    if (state == cache_state::hot) continue;
    EXPECT_GE(found.slots * found.call_bytes, memory->device().cache_bytes())
        << "a turn touches enough to evict the rows";
  }
}

class Experts : public ::testing::Test {
 protected:
  testing::temporary_directory directory_;
  std::string file_ = directory_.write("routed.json", testing::routed_block);

  /// The results of a step on equal words, for each of so many sets of choices.
  [[nodiscard]] std::vector<std::vector<float>> results(const backend_entry& on, int sets) const {
    const planned_step planned(model::inference_step(model::load(file_)), {},
                               testing::make_context(on, 1));
    const std::unique_ptr<chain> whole = planned.make_chain(3);
    std::vector<float> words(2 * 4 * 8);
    for (std::size_t i = 0; i < words.size(); ++i) words[i] = std::sin(static_cast<float>(i));
    std::vector<std::vector<float>> found;
    for (int i = 0; i < sets; ++i) {
      whole->set_up();
      whole->activate();
      whole->write(model::input_tensor, words);
      whole->run(0, whole->layers());
      found.push_back(whole->read(planned.step().calls.back().tensors.back()));
    }
    return found;
  }
};

TEST_F(Experts, OfATokenChangeFromStepToStepAlikeOnAllBackends) {
  const auto expected = results(testing::reference_backend(), 3);
  EXPECT_NE(expected[0], expected[1]);
  EXPECT_NE(expected[1], expected[2]);
  testing::on_all_backends(dtype::f32, [&](const backend_entry& backend) {
    const auto context = testing::make_context(backend, 1);
    if (!context->device().implements_op(op::any(op::routed_gemm{}))) return;
    const auto found = results(backend, 3);
    for (std::size_t i = 0; i < 3; ++i) {
      EXPECT_THAT(found[i], Pointwise(FloatNear(1e-4F), expected[i])) << backend.name;
    }
  });
}

TEST_F(Experts, OfAllLayersAreTheSameInputOfTheStep) {
  const model::step step = model::inference_step(model::load(file_));
  EXPECT_EQ(step.inputs, 2U);
  EXPECT_EQ(step.calls[4].tensors[1], 1U);
  EXPECT_EQ(step.calls[6].tensors[2], 1U);
  EXPECT_THROW(static_cast<void>(model::training_step(model::load(file_), dtype::f32)),
               usage_error);
}

TEST_F(Experts, CountWhereTokensChooseThem) {
  const auto footprint = [&](std::int64_t batch, std::int64_t tokens) {
    const model::graph g = model::load(file_, {{"batch", batch}, {"tokens", tokens}});
    const planned_step planned(model::inference_step(g), {},
                               testing::make_context(testing::reference_backend(), 1));
    return planned.least_memory().footprint();
  };
  // Of a token's step: two of six experts, each of two matrices of 16 * 32.
  const std::int64_t others = 4 * (16 * 8 + 16 * 6 + 8 + 16 + 6 + 6 + 2 * 2 + 2 + 2 * 32 * 2 + 16);
  EXPECT_EQ(footprint(1, 1), others + 4 * (2 * 2 * 16 * 32));
  EXPECT_GT(footprint(3, 1) - footprint(2, 1), 4 * (2 * 2 * 16 * 32)) << "two experts more";
  EXPECT_LT(footprint(4, 1) - footprint(3, 1), 4 * (2 * 2 * 16 * 32)) << "no further experts";
}

}  // namespace session_decode_test
}  // namespace layerbench::run
