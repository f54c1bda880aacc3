// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <numeric>

#include <gmock/gmock.h>

#include <layerbench/op/list.hpp>

#include "support/reference_result.hpp"

/// Reference plans on cases small enough to be worked out by hand.
namespace layerbench {
namespace backend_reference_test {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::FloatNear;
using testing::reference_result;
using testing::values;

/// first, first + 1, ...
values counting(std::size_t count, float first = 1) {
  values all(count);
  std::iota(all.begin(), all.end(), first);
  return all;
}

TEST(reference_conv, does_not_flip_the_filter) {
  const op::conv o{.h = 1, .w = 3, .s = 2};
  EXPECT_THAT(reference_result(o, {{1, 2, 3}, {10, 1}}), ElementsAre(12, 23));
}

TEST(reference_conv, sums_over_channels_and_separates_images_and_filters) {
  const op::conv o{.n = 2, .c = 2, .k = 3};
  EXPECT_THAT(reference_result(o, {{1, 2, 3, 4}, {1, 0, 0, 1, 1, 1}}),
              ElementsAre(1, 2, 3, 3, 4, 7));
}

TEST(reference_conv, steps_by_its_stride) {
  const op::conv o{.h = 3, .w = 5, .stride = {2, 3}};
  EXPECT_THAT(reference_result(o, {counting(15), {1}}), ElementsAre(1, 4, 11, 14));
}

TEST(reference_conv, spreads_its_taps_by_the_dilation) {
  const op::conv o{.h = 3, .w = 4, .r = 2, .s = 2, .dilation = {2, 3}};
  EXPECT_THAT(reference_result(o, {counting(12), {1, 10, 100, 1000}}), ElementsAre(12941));
}

TEST(reference_conv, pads_each_side_by_its_own) {
  const op::conv o{.h = 1, .w = 2, .r = 2, .s = 2, .pad = {1, 0, 2, 1}};
  EXPECT_THAT(reference_result(o, {{5, 7}, {1, 10, 100, 1000}}), ElementsAre(0, 5000, 7500, 700));
  const op::conv below{.h = 1, .w = 1, .r = 2, .pad = {0, 2, 0, 0}};
  EXPECT_THAT(reference_result(below, {{3}, {2, 5}}), ElementsAre(6, 0));
}

TEST(reference_conv, keeps_groups_apart) {
  const op::conv o{.c = 4, .k = 4, .groups = 2};
  EXPECT_THAT(reference_result(o, {{1, 2, 3, 4}, {1, 1, 1, -1, 1, 1, 1, -1}}),
              ElementsAre(3, -1, 7, -1));
  const op::conv depthwise{.c = 3, .k = 3, .groups = 3};
  EXPECT_THAT(reference_result(depthwise, {{1, 2, 3}, {5, 6, 7}}), ElementsAre(5, 12, 21));
}

TEST(reference_conv, adds_the_bias_of_the_filter) {
  const op::conv o{.w = 2, .k = 2, .bias = true};
  EXPECT_THAT(reference_result(o, {{1, 2}, {1, 2}, {10, 20}}), ElementsAre(11, 12, 22, 24));
}

TEST(reference_deconv, spreads_each_element_by_the_filter) {
  const op::deconv o{.w = 2, .s = 3};
  EXPECT_THAT(reference_result(o, {{1, 10}, {1, 2, 3}}), ElementsAre(1, 12, 23, 30));
  op::deconv strided{.w = 2, .s = 2, .stride = {1, 3}};
  EXPECT_THAT(reference_result(strided, {{1, 10}, {1, 2}}), ElementsAre(1, 2, 0, 10, 20));
  strided.output_pad = {0, 0, 1, 1};
  EXPECT_THAT(reference_result(strided, {{1, 10}, {1, 2}}), ElementsAre(1, 2, 0, 10, 20, 0));
  strided.pad = {0, 0, 1, 0};
  EXPECT_THAT(reference_result(strided, {{1, 10}, {1, 2}}), ElementsAre(2, 0, 10, 20, 0));
  const op::deconv grouped{.c = 4, .k = 2, .groups = 2, .bias = true};
  EXPECT_THAT(reference_result(grouped, {{1, 2, 3, 4}, {1, 1, 1, -1}, {10, 20}}),
              ElementsAre(13, 19));
}

TEST(reference_embedding, looks_rows_up) {
  const op::embedding o{.n = 3, .rows = 2, .columns = 2};
  EXPECT_THAT(reference_result(o, {{1, 0.5F, 1}, {1, 2, 3, 4}}), ElementsAre(3, 4, 1, 2, 3, 4));
}

// [1 2 3; 4 5 6] * [1 0; 0 1; 2 3] = [7 11; 16 23]
TEST(reference_gemm, multiplies_matrices_in_either_storage) {
  const values a{1, 2, 3, 4, 5, 6};
  const values a_transposed{1, 4, 2, 5, 3, 6};
  const values b{1, 0, 0, 1, 2, 3};
  const values b_transposed{1, 0, 2, 0, 1, 3};
  for (const bool ta : {false, true}) {
    for (const bool tb : {false, true}) {
      const op::gemm o{.m = 2, .n = 2, .k = 3, .a_transposed = ta, .b_transposed = tb};
      EXPECT_THAT(reference_result(o, {ta ? a_transposed : a, tb ? b_transposed : b}),
                  ElementsAre(7, 11, 16, 23));
    }
  }
}

TEST(reference_gemm, keeps_the_products_of_a_batch_apart) {
  const op::gemm o{.m = 1, .n = 2, .k = 1, .batch = 3};
  EXPECT_THAT(reference_result(o, {{1, 2, 3}, {1, 10, 2, 20, 3, 30}}),
              ElementsAre(1, 10, 4, 40, 9, 90));
}

TEST(reference_gemm, adds_the_bias_to_each_row) {
  const op::gemm o{.m = 2, .n = 2, .bias = true};
  EXPECT_THAT(reference_result(o, {{1, 2}, {3, 4}, {100, 200}}), ElementsAre(103, 204, 106, 208));
}

op::pool pool_of(op::pool_kind kind, std::int64_t width, std::int64_t window, std::int64_t stride) {
  return {.kind = kind, .w = width, .s = window, .stride = {1, stride}};
}

TEST(reference_pool, takes_the_largest_of_each_window) {
  const op::pool o{.c = 2, .h = 2, .w = 4, .r = 2, .s = 2, .stride = {2, 2}};
  EXPECT_THAT(reference_result(o, {{1, 2, 3, 4, 8, 7, 6, 5, -1, -2, -3, -4, -5, -6, -7, -8}}),
              ElementsAre(8, 6, -1, -3));
}

TEST(reference_pool, never_takes_padding_as_a_maximum) {
  op::pool o = pool_of(op::pool_kind::max, 2, 2, 1);
  o.pad = {0, 0, 1, 1};
  EXPECT_THAT(reference_result(o, {{-5, -3}}), ElementsAre(-5, -3, -3));
}

TEST(reference_pool, counts_padding_in_an_average_or_not) {
  op::pool o = pool_of(op::pool_kind::average, 2, 2, 1);
  o.pad = {0, 0, 1, 1};
  EXPECT_THAT(reference_result(o, {{4, 8}}), ElementsAre(2, 6, 4));
  o.count_padding = false;
  EXPECT_THAT(reference_result(o, {{4, 8}}), ElementsAre(4, 6, 8));
}

TEST(reference_pool, never_counts_what_a_rounded_up_window_reaches_beyond_the_padding) {
  op::pool o = pool_of(op::pool_kind::average, 3, 2, 2);
  o.ceil = true;
  EXPECT_THAT(reference_result(o, {{1, 3, 8}}), ElementsAre(2, 8));
  o = pool_of(op::pool_kind::average, 4, 4, 3);  // 0 1 2 3 | 3 4 pad (beyond)
  o.ceil = true;
  o.pad = {0, 0, 1, 1};
  EXPECT_THAT(reference_result(o, {{4, 8, 12, 20}}), ElementsAre(6, 32.0F / 3));
}

TEST(reference_batchnorm, normalises_each_channel_by_its_statistics) {
  const op::batchnorm o{2, 2, 1, 1, 0.25};
  // scale * (src - mean) / sqrt(variance + 0.25) + shift; the roots are 1 and 2
  EXPECT_THAT(reference_result(o, {{3, 8, 1, 4}, {2, 3}, {10, 20}, {1, 4}, {0.75, 3.75}}),
              ElementsAre(14, 26, 10, 20));
}

TEST(reference_batchnorm, scales_and_shifts_only_if_it_learns_that) {
  op::batchnorm o{1, 1, 1, 2, 0.25};
  o.scale = false;
  EXPECT_THAT(reference_result(o, {{3, 5}, {10}, {1}, {0.75}}), ElementsAre(12, 14));
  o.shift = false;
  EXPECT_THAT(reference_result(o, {{3, 5}, {1}, {0.75}}), ElementsAre(2, 4));
  o.scale = true;
  EXPECT_THAT(reference_result(o, {{3, 5}, {2}, {1}, {0.75}}), ElementsAre(4, 8));
}

TEST(reference_layernorm, normalises_each_row_by_its_own_statistics) {
  // Means 2 and 10, variances 1 and 4.
  const op::layernorm o{.dims = {2, 2}, .epsilon = 1e-9};
  EXPECT_THAT(reference_result(o, {{1, 3, 8, 12}, {2, 3}, {10, 20}}), ElementsAre(8, 23, 8, 23));
  // The root mean square of 1 and 7 is 5.
  const op::layernorm rms{.dims = {1, 2}, .kind = op::layernorm_kind::rms, .epsilon = 1e-9};
  EXPECT_THAT(reference_result(rms, {{1, 7}, {5, 10}}), ElementsAre(1, 14));
}

TEST(reference_groupnorm, normalises_the_channels_of_a_group_together) {
  // Means 2 and 10, variances 1 and 4.
  const op::groupnorm o{.c = 4, .groups = 2, .epsilon = 1e-9};
  EXPECT_THAT(reference_result(o, {{1, 3, 8, 12}, {2, 3, 4, 5}, {10, 20, 30, 40}}),
              ElementsAre(8, 23, 26, 45));
  const op::groupnorm planes{.c = 2, .w = 2, .groups = 2, .epsilon = 1e-9};
  EXPECT_THAT(reference_result(planes, {{1, 3, 8, 12}, {2, 3}, {10, 20}}),
              ElementsAre(8, 12, 17, 23));
}

TEST(reference_attention, weighs_values_by_the_softmax_of_the_scores) {
  const op::attention o{.q = 1, .k = 2, .d = 4};
  // Scores of 0 and ln 3: the root of 4 divides the products.
  const float weight = 2 * std::log(3.0F);
  EXPECT_THAT(
      reference_result(o, {{1, 0, 0, 0}, {0, 5, 5, 5, weight, 0, 0, 0}, {4, 0, 8, 0, 8, 4, 8, 0}}),
      ElementsAre(FloatNear(7, 1e-5F), FloatNear(3, 1e-5F), 8, 0));
}

TEST(reference_attention, sees_no_later_token_if_causal) {
  const op::attention o{.q = 2, .k = 3, .d = 1, .causal = true};
  EXPECT_THAT(reference_result(o, {{0, 0}, {1, 2, 3}, {3, 6, 9}}),
              ElementsAre(FloatNear(4.5F, 1e-6F), FloatNear(6, 1e-6F)));
}

TEST(reference_attention, has_heads_side_by_side_in_a_token) {
  op::attention o{.n = 2, .heads = 2, .k = 1, .d = 2};
  EXPECT_THAT(reference_result(o, {values(8, 1), values(8, 1), counting(8)}),
              ElementsAreArray(counting(8)));
  o.kv_heads = 1;
  EXPECT_THAT(reference_result(o, {values(8, 1), values(4, 1), counting(4)}),
              ElementsAre(1, 2, 1, 2, 3, 4, 3, 4));
}

TEST(reference_append, writes_behind_the_earlier_rows_of_each_sequence) {
  const op::append o{.n = 2, .tokens = 1, .context = {2}, .columns = 2};
  reference::backend device(1);
  const run::plan_of<reference::backend, op::append> plan(device, o, {});
  values src{1, 2, 3, 4};
  values cache(2 * 3 * 2, 9);
  plan.run(plan.bind(std::vector<address>{src.data(), cache.data()}, nullptr));
  EXPECT_THAT(cache, ElementsAre(9, 9, 9, 9, 1, 2, 9, 9, 9, 9, 3, 4));
  values read(4);
  plan.download(1, cache.data(), read);
  EXPECT_THAT(read, ElementsAre(1, 2, 3, 4));
}

TEST(reference_rotary, turns_pairs_of_values_of_both_halves) {
  // The pairs 1 3 and 2 4, by 90 degrees, and by none.
  const op::rotary o{.heads = 2, .d = 4};
  EXPECT_THAT(reference_result(o, {{1, 2, 3, 4, 5, 6, 7, 8}, {0, 1, 0, 1}, {1, 0, 1, 0}}),
              ElementsAre(-3, 2, 1, 4, -7, 6, 5, 8));
  const op::rotary two_tokens{.tokens = 2, .d = 2};
  EXPECT_THAT(reference_result(two_tokens, {{1, 2, 1, 2}, {1, 1, 0, 0}, {0, 0, 1, 1}}),
              ElementsAre(1, 2, -2, 1));
}

TEST(reference_topk, has_the_largest_values_first) {
  const op::topk o{.n = 2, .c = 4, .k = 2};
  const std::vector<values> src{{1, 4, 2, 3, 5, 6, 6, 0}};
  EXPECT_THAT(reference_result(o, src, dtype::f32, 1), ElementsAre(4, 3, 6, 6));
  EXPECT_THAT(reference_result(o, src), ElementsAre(1, 3, 1, 2)) << "the columns";
  const op::topk shares{.n = 1, .c = 3, .k = 2, .normalized = true};
  EXPECT_THAT(reference_result(shares, {{1, 2, 6}}, dtype::f32, 1), ElementsAre(0.75F, 0.25F));
}

TEST(reference_routed_gemm, multiplies_rows_by_the_weights_of_their_experts) {
  // Two tokens, of which the first has experts 2 and 0, the second 0 and 1.
  op::routed_gemm o{.tokens = 2, .experts = 3, .top_k = 2};
  const values experts{2, 0, 0, 1};
  const values weights{1, 10, 100};
  EXPECT_THAT(reference_result(o, {{3, 4, 5, 6}, experts, weights}), ElementsAre(3, 4, 50, 600));
  o.gather = true;
  EXPECT_THAT(reference_result(o, {{3, 4}, experts, weights}), ElementsAre(3, 4, 40, 300));
  o.scatter = true;
  EXPECT_THAT(reference_result(o, {{3, 4}, {0.5F, 1, 2, 0.25F}, experts, weights}),
              ElementsAre(0.5F * 300 + 3, 2 * 4 + 0.25F * 40));
}

struct curve {
  op::activation_kind kind;
  values at_samples;  ///< at -8, -1, 0, 1, 8
};

TEST(reference_activation, has_the_known_values_of_each_function) {
  using enum op::activation_kind;
  const values samples{-8, -1, 0, 1, 8};
  const std::vector<curve> curves{
      {relu, {0, 0, 0, 1, 8}},
      {relu6, {0, 0, 0, 1, 6}},
      {leaky_relu, {-0.08F, -0.01F, 0, 1, 8}},
      {elu, {-0.99966454F, -0.63212056F, 0, 1, 8}},
      {sigmoid, {3.3535013e-4F, 0.26894142F, 0.5F, 0.73105858F, 0.99966465F}},
      {tanh, {-0.99999977F, -0.76159416F, 0, 0.76159416F, 0.99999977F}},
      {gelu, {-4.9765e-15F, -0.15865525F, 0, 0.84134475F, 8}},
      {swish, {-0.00268280F, -0.26894142F, 0, 0.73105858F, 7.9973172F}},
      {hardswish, {0, -1.0F / 3, 0, 2.0F / 3, 8}},
      {hardsigmoid, {0, 1.0F / 3, 0.5F, 2.0F / 3, 1}},
      {linear, {-3, 0.5F, 1, 1.5F, 5}}};
  ASSERT_EQ(curves.size(), enum_names<op::activation_kind>.size());
  for (const curve& item : curves) {
    const values found = reference_result(op::activation{item.kind, {5}}, {samples});
    EXPECT_THAT(found, ::testing::Pointwise(::testing::FloatNear(1e-7F), item.at_samples))
        << name(item.kind);
  }
}

TEST(reference_allreduce, gives_each_rank_the_sum) {
  const op::allreduce o{8, 3};
  EXPECT_THAT(reference_result(o, {{1, 2, 10, 20, 100, 200}}),
              ElementsAre(111, 222, 111, 222, 111, 222));
}

TEST(reference_collective, gives_each_rank_what_its_kind_says) {
  using enum op::collective_kind;
  const std::vector<float> arrays{1, 2, 3, 4, 10, 20, 30, 40};
  EXPECT_THAT(reference_result(op::collective{all_reduce, 16, 2}, {arrays}),
              ElementsAre(11, 22, 33, 44, 11, 22, 33, 44));
  EXPECT_THAT(reference_result(op::collective{reduce_scatter, 16, 2}, {arrays}),
              ElementsAre(11, 22, 33, 44));
  EXPECT_THAT(reference_result(op::collective{all_to_all, 16, 2}, {arrays}),
              ElementsAre(1, 2, 10, 20, 3, 4, 30, 40));
  EXPECT_THAT(reference_result(op::collective{all_gather, 16, 2}, {{1, 2, 10, 20}}),
              ElementsAre(1, 2, 10, 20, 1, 2, 10, 20));
  EXPECT_THAT(reference_result(op::collective{broadcast, 8, 3}, {{1, 2}}),
              ElementsAre(1, 2, 1, 2, 1, 2));
}

TEST(reference_add, adds_element_by_element) {
  EXPECT_THAT(reference_result(op::add{{2, 2}, true}, {{1, 2, 3, 4}, {10, 20}}),
              ElementsAre(11, 22, 13, 24));
  EXPECT_THAT(reference_result(op::add{{2, 2}}, {{1, 2, 3, 4}, {10, 20, 30, -4}}),
              ElementsAre(11, 22, 33, 0));
}

TEST(reference_concat, puts_sources_one_behind_the_other_along_its_axis) {
  const op::concat o{.dims = {2, 3, 1}, .sizes = {1, 2}};
  EXPECT_THAT(reference_result(o, {{1, 2}, {10, 20, 30, 40}}), ElementsAre(1, 10, 20, 2, 30, 40));
  const op::concat last{.dims = {1, 2, 3}, .axis = 2, .sizes = {2, 1}};
  EXPECT_THAT(reference_result(last, {{1, 2, 3, 4}, {5, 6}}), ElementsAre(1, 2, 5, 3, 4, 6));
}

TEST(reference_multiply, broadcasts_the_second_source) {
  EXPECT_THAT(reference_result(op::multiply{{2, 2}, {}}, {{1, 2, 3, 4}, {5, 6, 7, 8}}),
              ElementsAre(5, 12, 21, 32));
  EXPECT_THAT(reference_result(op::multiply{{2, 2}, {1, 2}}, {{1, 2, 3, 4}, {5, 10}}),
              ElementsAre(5, 20, 15, 40));
  EXPECT_THAT(reference_result(op::multiply{{2, 2}, {2, 1}}, {{1, 2, 3, 4}, {5, 10}}),
              ElementsAre(5, 10, 30, 40));
}

TEST(reference_pad, puts_zeros_around_its_source) {
  const op::pad o{{2, 2}, {{0, 1}}, {{1, 0}}};
  EXPECT_THAT(reference_result(o, {{1, 2, 3, 4}}), ElementsAre(0, 1, 2, 0, 3, 4, 0, 0, 0));
}

TEST(reference_resample, interpolates_between_centres_and_repeats_the_outermost) {
  op::resample o{.h = 1, .w = 2, .p = 1, .q = 4};
  EXPECT_THAT(reference_result(o, {{0, 4}}), ElementsAre(0, 1, 3, 4));
  o = {.h = 1, .w = 4, .p = 1, .q = 2};
  EXPECT_THAT(reference_result(o, {{0, 2, 8, 4}}), ElementsAre(1, 6));
  o = {.kind = op::resample_kind::nearest, .h = 1, .w = 2, .p = 2, .q = 4};
  EXPECT_THAT(reference_result(o, {{5, 6}}), ElementsAre(5, 5, 6, 6, 5, 5, 6, 6));
}

TEST(reference_slice, takes_positions_along_its_axis) {
  const op::slice o{{2, 3}, {1}, {1}, 2};
  EXPECT_THAT(reference_result(o, {{1, 2, 3, 4, 5, 6}}), ElementsAre(2, 3, 5, 6));
  const op::slice first{{2, 3}, {0}, {0}, 1};
  EXPECT_THAT(reference_result(first, {{1, 2, 3, 4, 5, 6}}), ElementsAre(1, 2, 3));
}

TEST(reference_transpose, permutes_axes) {
  const op::transpose o{{2, 3}, {}, {{1, 0}}, {}};
  EXPECT_THAT(reference_result(o, {{1, 2, 3, 4, 5, 6}}), ElementsAre(1, 4, 2, 5, 3, 6));
  const op::transpose turned{{2, 1, 2, 2}, {}, {{3, 0, 1, 2}}, {}};
  EXPECT_THAT(reference_result(turned, {counting(8)}), ElementsAre(1, 3, 5, 7, 2, 4, 6, 8));
  const op::transpose shuffle{{1, 6, 1, 1}, {1, 2, 3, 1, 1}, {{0, 2, 1, 3, 4}}, {1, 6, 1, 1}};
  EXPECT_THAT(reference_result(shuffle, {counting(6)}), ElementsAre(1, 4, 2, 5, 3, 6));
}

TEST(reference_softmax, sums_to_one_along_its_axis) {
  const float l2 = std::log(2.0F);
  const float l3 = std::log(3.0F);
  const values found = reference_result(op::softmax{{2, 3}}, {{0, 0, l2, l3, 0, 0}});
  EXPECT_THAT(found, ::testing::Pointwise(::testing::FloatNear(1e-7F),
                                          values{0.25F, 0.25F, 0.5F, 0.6F, 0.2F, 0.2F}));
  const values inner = reference_result(op::softmax{{1, 2, 2}, 1}, {{0, l3, 0, 0}});
  EXPECT_THAT(inner,
              ::testing::Pointwise(::testing::FloatNear(1e-7F), values{0.5F, 0.75F, 0.5F, 0.25F}));
}

TEST(reference_softmax, does_not_overflow) {
  EXPECT_THAT(reference_result(op::softmax{{1, 2}}, {{1000, 1000}}), ElementsAre(0.5, 0.5));
}

TEST(reference_reorder, keeps_every_element_in_its_logical_place) {
  const values all = counting(12);
  EXPECT_THAT(reference_result(op::reorder{{1, 3, 2, 2}, "abcd", "acdb"}, {all}),
              ElementsAreArray(all));
}

TEST(reference_result, is_rounded_to_the_data_type) {
  const op::add o{{1}};
  EXPECT_THAT(reference_result(o, {{1}, {1.0F / 256}}, dtype::bf16), ElementsAre(1));
  EXPECT_THAT(reference_result(o, {{1}, {1.0F / 256}}, dtype::f16), ElementsAre(1.00390625F));
  EXPECT_THAT(reference_result(o, {{1}, {1}}, dtype::s8), ElementsAre(1));  // saturates at 127/127
}

}  // namespace backend_reference_test
}  // namespace layerbench
