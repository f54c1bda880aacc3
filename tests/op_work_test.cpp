// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include <layerbench/op/list.hpp>

#include "support/random_ops.hpp"

namespace layerbench::op {
namespace op_work_test {

using testing::dice;
using testing::random_op;

/// Positions of a sliding window found by trying every one, without any formula.
struct brute_axis {
  std::int64_t outputs = 0;
  std::int64_t taps_on_image = 0;
};

brute_axis slide(std::int64_t size, std::int64_t before, std::int64_t after, std::int64_t window,
                 std::int64_t dilation, std::int64_t stride) {
  brute_axis found;
  const std::int64_t reach = (window - 1) * dilation;
  for (std::int64_t start = -before; start + reach < size + after; start += stride) {
    ++found.outputs;
    for (std::int64_t tap = 0; tap < window; ++tap) {
      const std::int64_t at = start + tap * dilation;
      found.taps_on_image += at >= 0 && at < size ? 1 : 0;
    }
  }
  return found;
}

TEST(conv, counts_what_a_brute_force_walk_counts) {
  dice d(21);
  for (int i = 0; i < 3000; ++i) {
    const conv o = random_op<conv>(d);
    SCOPED_TRACE(key(o));
    const brute_axis v = slide(o.h, o.pad.top, o.pad.bottom, o.r, o.dilation.v, o.stride.v);
    const brute_axis h = slide(o.w, o.pad.left, o.pad.right, o.s, o.dilation.h, o.stride.h);
    ASSERT_EQ(o.p(), v.outputs);
    ASSERT_EQ(o.q(), h.outputs);
    std::int64_t macs = 0;
    std::int64_t exact = 0;
    for (std::int64_t k = 0; k < o.n * o.k; ++k) {
      macs += o.c / o.groups * v.outputs * h.outputs * o.r * o.s;
      exact += o.c / o.groups * v.taps_on_image * h.taps_on_image;
    }
    const work w = o.work(pass::fwd);
    ASSERT_EQ(w.macs, macs);
    ASSERT_EQ(w.flops, 2 * macs);
    ASSERT_EQ(w.flops_exact, 2 * exact);
  }
}

TEST(conv, has_the_output_sizes_of_known_layers) {
  const conv resnet_stem{.n = 1,
                         .c = 3,
                         .h = 224,
                         .w = 224,
                         .k = 64,
                         .r = 7,
                         .s = 7,
                         .stride = {2, 2},
                         .pad = {3, 3, 3, 3}};
  EXPECT_EQ(resnet_stem.p(), 112);
  EXPECT_EQ(resnet_stem.work(pass::fwd).macs, 118013952);
  const conv alexnet_stem{.n = 1,
                          .c = 3,
                          .h = 224,
                          .w = 224,
                          .k = 64,
                          .r = 11,
                          .s = 11,
                          .stride = {4, 4},
                          .pad = {2, 2, 2, 2}};
  EXPECT_EQ(alexnet_stem.p(), 55);
  const conv dilated{.n = 1, .c = 1, .h = 7, .w = 9, .k = 1, .r = 3, .s = 3, .dilation = {3, 2}};
  EXPECT_EQ(dilated.p(), 1);
  EXPECT_EQ(dilated.q(), 5);
}

TEST(conv, without_padding_has_no_wasted_work) {
  const conv o{.n = 2, .c = 4, .h = 9, .w = 9, .k = 8, .r = 3, .s = 3, .stride = {2, 2}};
  EXPECT_EQ(o.work(pass::fwd).flops_exact, o.work(pass::fwd).flops);
}

TEST(conv, refuses_what_does_not_fit) {
  const conv fits{.n = 1, .c = 4, .h = 3, .w = 3, .k = 4, .r = 3, .s = 3};
  EXPECT_NO_THROW(fits.validate());
  const auto refused = [&](auto change) {
    conv o = fits;
    change(o);
    try {
      o.validate();
    } catch (const invalid_field& e) {
      return e.field;
    }
    return std::string("accepted");
  };
  EXPECT_EQ(refused([](conv& o) { o.groups = 3; }), "groups");
  EXPECT_EQ(refused([](conv& o) { o.k = 6, o.groups = 4; }), "groups");
  EXPECT_EQ(refused([](conv& o) { o.r = 4; }), "r");
  EXPECT_EQ(refused([](conv& o) { o.dilation = {1, 2}; }), "s");
}

TEST(gemm, counts_one_multiplication_and_addition_a_term) {
  dice d(22);
  for (int i = 0; i < 500; ++i) {
    const gemm o = random_op<gemm>(d);
    std::int64_t macs = 0;
    for (std::int64_t row = 0; row < o.batch * o.m; ++row) macs += o.n * o.k;
    const work w = o.work(pass::fwd);
    ASSERT_EQ(w.macs, macs);
    ASSERT_EQ(w.flops, 2 * macs);
    ASSERT_EQ(w.flops_exact, 2 * macs);
  }
}

/// Outputs of a rounded-up pooling as PyTorch's pooling_output_shape computes them.
std::int64_t rounded_up_outputs(std::int64_t size, std::int64_t before, std::int64_t after,
                                std::int64_t window, std::int64_t stride) {
  std::int64_t outputs = 0;
  std::int64_t start = -before;
  while (true) {  // one more window whenever something is left, if it starts on image or padding
    ++outputs;
    if (start + window >= size + after) return outputs;
    start += stride;
    if (start >= size) return outputs;
  }
}

TEST(pool, counts_what_a_brute_force_walk_counts) {
  dice d(23);
  for (int i = 0; i < 3000; ++i) {
    const pool o = random_op<pool>(d);
    SCOPED_TRACE(key(o));
    if (o.ceil) {
      ASSERT_EQ(o.p(), rounded_up_outputs(o.h, o.pad.top, o.pad.bottom, o.r, o.stride.v));
      ASSERT_EQ(o.q(), rounded_up_outputs(o.w, o.pad.left, o.pad.right, o.s, o.stride.h));
    } else {
      ASSERT_EQ(o.p(), slide(o.h, o.pad.top, o.pad.bottom, o.r, 1, o.stride.v).outputs);
      ASSERT_EQ(o.q(), slide(o.w, o.pad.left, o.pad.right, o.s, 1, o.stride.h).outputs);
    }
    std::int64_t taps = 0;
    for (std::int64_t y = 0; y < o.p(); ++y) {
      for (std::int64_t x = 0; x < o.q(); ++x) {
        for (std::int64_t tap = 0; tap < o.r * o.s; ++tap) {
          const std::int64_t row = y * o.stride.v - o.pad.top + tap / o.s;
          const std::int64_t column = x * o.stride.h - o.pad.left + tap % o.s;
          taps += row >= 0 && row < o.h && column >= 0 && column < o.w ? 1 : 0;
        }
      }
    }
    const work w = o.work(pass::fwd);
    ASSERT_EQ(w.macs, 0);
    ASSERT_EQ(w.flops, o.n * o.c * o.p() * o.q() * o.r * o.s);
    ASSERT_EQ(w.flops_exact, o.n * o.c * taps);
  }
}

pool square(std::int64_t size, std::int64_t window, std::int64_t stride, std::int64_t pad,
            bool ceil) {
  return {.n = 1,
          .c = 1,
          .h = size,
          .w = size,
          .r = window,
          .s = window,
          .stride = {stride, stride},
          .pad = {pad, pad, pad, pad},
          .ceil = ceil};
}

TEST(pool, has_the_output_sizes_of_known_layers) {
  EXPECT_EQ(square(112, 3, 2, 1, false).p(), 56);  // ResNet
  EXPECT_EQ(square(112, 3, 2, 0, true).p(), 56);   // GoogLeNet
  EXPECT_EQ(square(112, 3, 2, 0, false).p(), 55);
  EXPECT_EQ(square(55, 3, 2, 0, false).p(), 27);  // AlexNet
  EXPECT_EQ(square(6, 3, 2, 0, true).p(), 3);
}

TEST(pool, drops_a_rounded_up_window_that_starts_past_the_image) {
  EXPECT_EQ(square(3, 2, 2, 1, true).p(), 2);  // not 3: the third would start in the padding
  EXPECT_EQ(square(5, 1, 3, 0, true).p(), 2);
  EXPECT_EQ(square(2, 2, 4, 1, true).p(), 1);
}

TEST(least_bytes, counts_every_operand_once) {
  const auto bytes = [](const auto& o, dtype type) {
    return least_bytes(o.operands(pass::fwd, type));
  };
  const conv o{.n = 2, .c = 4, .h = 5, .w = 6, .k = 8, .r = 3, .s = 3, .groups = 2, .bias = true};
  const std::int64_t data = 2 * 4 * 5 * 6 + 8 * 2 * 3 * 3 + 2 * 8 * 3 * 4;
  EXPECT_EQ(bytes(o, dtype::f32), 4 * (data + 8));
  EXPECT_EQ(bytes(o, dtype::bf16), 2 * (data + 8));
  EXPECT_EQ(bytes(o, dtype::s8), data + 4 * 8);  // the bias stays f32
  EXPECT_EQ(bytes(gemm{.m = 2, .n = 3, .k = 5}, dtype::f16), 2 * (10 + 15 + 6));
  EXPECT_EQ(bytes(gemm{.m = 2, .n = 3, .k = 5, .batch = 7, .bias = true}, dtype::f32),
            4 * (7 * 31 + 3));
  EXPECT_EQ(bytes(batchnorm{2, 3, 4, 5}, dtype::bf16), 2 * 2 * 120 + 4 * 4 * 3);
  EXPECT_EQ(bytes(add{{10, 10}}, dtype::f32), 1200);
  EXPECT_EQ(bytes(softmax{{4, 10}}, dtype::f64), 2 * 8 * 40);
}

TEST(allreduce, has_an_array_of_each_rank) {
  const allreduce o{1000, 3};
  EXPECT_EQ(o.operands(pass::fwd, dtype::f32)[0].extents, (dims{3, 250}));
  EXPECT_EQ(o.operands(pass::fwd, dtype::f32)[1].extents, (dims{3, 250}));
  EXPECT_EQ((allreduce{1001, 3}.count(dtype::bf16)), 501);
  EXPECT_EQ((allreduce{4, 3}.count(dtype::f64)), 1);
  EXPECT_EQ(o.work(pass::fwd).flops, 0);
}

TEST(allreduce, has_bandwidths_as_nccl_tests_define_them) {
  const std::vector<rate> of = any(allreduce{1000, 4}).rates();
  ASSERT_EQ(of.size(), 2U);
  EXPECT_EQ(of[0].counter, "algorithm_bandwidth");
  EXPECT_DOUBLE_EQ(of[0].numerator, 1000);
  EXPECT_EQ(of[1].counter, "bus_bandwidth");
  EXPECT_DOUBLE_EQ(of[1].numerator, 1500);
  for (const rate& item : any(allreduce{1000, 1}).rates()) EXPECT_EQ(item.numerator, 0);
  EXPECT_TRUE(any(add{{4}}).rates().empty());
}

TEST(any, lists_its_fields_without_their_types) {
  const record_fields fields = any(activation{activation_kind::tanh, {2, 3}}).fields();
  ASSERT_EQ(fields.size(), 2);
  EXPECT_EQ(fields[0].name, "kind");
  EXPECT_TRUE(fields[0].required);
  EXPECT_FALSE(fields[0].is_default);
  EXPECT_EQ(std::get<named_value>(fields[0].value).name(), "tanh");
  EXPECT_EQ(std::get<dims>(fields[1].value), (dims{2, 3}));
  EXPECT_EQ(any(record_of<activation>(fields)).key(), "kind:tanh,dims:2x3");
}

TEST(is_permutation, refuses_blocks) {
  EXPECT_TRUE(is_permutation("acdb"));
  EXPECT_FALSE(is_permutation("aBcd16b"));
}

TEST(allreduce, has_test_data_whose_sums_are_exact) {
  for (const dtype type : {dtype::f32, dtype::f16, dtype::bf16, dtype::f64}) {
    for (const std::int64_t ranks : {1, 2, 8, 64}) {
      const operand of = allreduce{4, ranks}.operands(pass::fwd, type).front();
      EXPECT_TRUE(of.integral);
      EXPECT_GE(of.high, 1);
      EXPECT_LE(of.high * static_cast<double>(ranks),
                std::ldexp(1.0, traits(type).significand_bits));
    }
  }
}

TEST(stream, goes_over_its_bytes_and_one_number_beside) {
  const auto operands = [](stream_kind kind) {
    return stream{kind, 800}.operands(pass::fwd, dtype::bf16);
  };
  EXPECT_EQ(least_bytes(operands(stream_kind::read)), 804);
  EXPECT_EQ(least_bytes(operands(stream_kind::write)), 804);
  EXPECT_EQ(least_bytes(operands(stream_kind::copy)), 800);
  EXPECT_EQ(operands(stream_kind::copy).at(0).extents, dims{100});
  EXPECT_EQ((stream{stream_kind::read, 800}.work(pass::fwd).flops), 0);
  EXPECT_THROW((stream{stream_kind::read, 12}.validate()), invalid_field);
  EXPECT_THROW((stream{stream_kind::read, 0}.validate()), invalid_field);
}

TEST(least_bytes, refuses_a_sum_past_the_range) {
  const add o{{1 << 30, 1 << 29}};  // 2^62 bytes a tensor in f64, three of them
  EXPECT_THROW(static_cast<void>(least_bytes(o.operands(pass::fwd, dtype::f64))),
               std::overflow_error);
}

TEST(work, of_elementwise_ops_is_proportional_to_the_elements) {
  EXPECT_EQ((add{{3, 4}}.work(pass::fwd).flops), 12);
  EXPECT_EQ((activation{activation_kind::gelu, {3, 4}}.work(pass::fwd).flops), 12);
  EXPECT_EQ((batchnorm{1, 2, 3, 4}.work(pass::fwd).flops), 48);
  EXPECT_EQ((softmax{{3, 4}}.work(pass::fwd).flops), 60);
  EXPECT_EQ((reorder{{3, 4}, "ab", "ba"}.work(pass::fwd).flops), 0);
}

TEST(work, refuses_products_past_the_range) {
  constexpr std::int64_t huge = max_size;
  EXPECT_THROW(static_cast<void>(gemm{.m = huge, .n = huge, .k = huge}.work(pass::fwd)),
               std::overflow_error);
  EXPECT_THROW(static_cast<void>(add{{huge, huge, huge}}.work(pass::fwd)), std::overflow_error);
}

}  // namespace op_work_test
}  // namespace layerbench::op
