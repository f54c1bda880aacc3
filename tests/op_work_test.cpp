// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include <layerbench/op/builtin.hpp>
#include <layerbench/op/list.hpp>
#include <layerbench/op/memory_order.hpp>

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

/// Those of PyTorch's documentation.
TEST(conv, deconv_and_pool_have_the_output_sizes_of_known_volumes) {
  conv one{.n = 20, .c = 16, .h = 50, .w = 100, .k = 33, .r = 5, .s = 2, .pad = {2, 2, 0, 0}};
  one.d = 10;
  one.t = 3;
  one.depth_stride = 2;
  one.depth_pad.value = 4;
  EXPECT_EQ((dims{one.z(), one.p(), one.q()}), (dims{8, 50, 99}));
  EXPECT_EQ(one.operands(pass::fwd, dtype::f32).back().extents, (dims{20, 33, 8 * 50, 99}));
  EXPECT_EQ(one.work(pass::fwd).macs, 20LL * 33 * 8 * 50 * 99 * 16 * 3 * 5 * 2);
  deconv up{.n = 20, .c = 16, .h = 50, .w = 100, .k = 33, .r = 5, .s = 2, .pad = {4, 4, 2, 2}};
  up.d = 10;
  up.t = 3;
  up.depth_stride = 2;
  EXPECT_EQ((dims{up.z(), up.p(), up.q()}), (dims{21, 46, 97}));
  pool largest{.n = 20, .c = 16, .h = 44, .w = 31, .r = 2, .s = 2, .stride = {1, 2}};
  largest.d = 50;
  largest.t = 3;
  largest.depth_stride = 2;
  EXPECT_EQ((dims{largest.z(), largest.p(), largest.q()}), (dims{24, 43, 15}));
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
  EXPECT_EQ(refused([](conv& o) { o.t = 2; }), "t");
  EXPECT_EQ(refused([](conv& o) { o.src_zero.value = 256; }), "src_zero");
  EXPECT_EQ(refused([](conv& o) { o.dst_zero.value = 256; }), "dst_zero");
  const auto sums = [](tensor_type dst, tensor_type addend) {
    return [=](conv& o) { o.post = {post_op::sum}, o.dst_type = dst, o.addend_type = addend; };
  };
  EXPECT_EQ(refused(sums(tensor_type::f32, tensor_type::s8)), "addend_type");
  EXPECT_EQ(refused(sums(tensor_type::u8, tensor_type::s8)), "accepted");
}

TEST(conv, of_integers_has_operands_of_several_types) {
  const conv o{.c = 3,
               .h = 2,
               .w = 2,
               .k = 8,
               .bias = true,
               .post = {post_op::sum},
               .dst_type = tensor_type::u8,
               .addend_type = tensor_type::s8,
               .channel_scales = true,
               .src_zero = {7}};
  const std::vector<operand> all = o.operands(pass::fwd, dtype::u8);
  ASSERT_EQ(all.size(), 5U);
  const std::vector types{dtype::u8, dtype::s8, dtype::f32, dtype::s8, dtype::u8};
  for (std::size_t i = 0; i < all.size(); ++i) EXPECT_EQ(all[i].type, types[i]) << all[i].name;
  EXPECT_EQ(all[0].zero_point, 7);
  EXPECT_EQ(all[1].scale_of(0), all[1].scale_of(2)) << "three weights per channel";
  EXPECT_LT(all[1].scale_of(2), all[1].scale_of(3));
}

TEST(deconv, has_the_output_sizes_of_known_layers) {
  deconv dcgan{.n = 1, .c = 512, .h = 4, .w = 4, .k = 256, .r = 4, .s = 4};
  dcgan.stride = {2, 2};
  dcgan.pad = {1, 1, 1, 1};
  EXPECT_EQ(dcgan.p(), 8);
  EXPECT_EQ(dcgan.work(pass::fwd).macs, std::int64_t{512} * 256 * 4 * 4 * 4 * 4);
  deconv torch{.n = 1, .c = 1, .h = 6, .w = 6, .k = 1, .r = 3, .s = 3};  // the example of PyTorch
  torch.stride = {2, 2};
  torch.pad = {1, 1, 1, 1};
  EXPECT_EQ(torch.p(), 11);
  torch.output_pad = {1, 1, 1, 1};
  EXPECT_EQ(torch.p(), 12);
  EXPECT_NO_THROW(torch.validate());
  torch.output_pad = {2, 2, 2, 2};
  EXPECT_THROW(torch.validate(), invalid_field);
  torch.output_pad = {0, 1, 0, 0};
  EXPECT_THROW(torch.validate(), invalid_field);
}

TEST(deconv, is_the_gradient_of_a_convolution) {
  dice d(24);
  for (int i = 0; i < 1000; ++i) {
    const deconv o = random_op<deconv>(d);
    const conv other = o.transposed();
    ASSERT_NO_THROW(other.validate());
    ASSERT_EQ(other.p(), o.h) << key(o);
    ASSERT_EQ(other.q(), o.w) << key(o);
  }
}

TEST(embedding, reads_whole_indices) {
  const embedding o{.n = 2, .rows = 3, .columns = 4};
  EXPECT_EQ(o.row(1.9F), 1);
  EXPECT_EQ(o.row(3), 2) << "the end of the range of its test data";
  EXPECT_EQ(o.work(pass::fwd).flops, 0);
  EXPECT_EQ(o.work(pass::bwd_weights).flops, 8);
  EXPECT_THROW((embedding{.n = 1, .rows = (1 << 24) + 1}.validate()), invalid_field);
}

TEST(embedding, moves_the_rows_that_are_read) {
  const auto of = [](std::int64_t n, pass p) {
    return least_bytes(embedding{.n = n, .rows = 1000, .columns = 4}.operands(p, dtype::f32));
  };
  EXPECT_EQ(of(2, pass::fwd), 4 * (2 + 2 * 4 + 2 * 4));
  EXPECT_EQ(of(9000, pass::fwd), 4 * (9000 + 1000 * 4 + 9000 * 4)) << "each row once";
  EXPECT_EQ(of(2, pass::bwd_weights), 4 * (2 + 2 * 4 + 1000 * 4)) << "writes 0 to the others";
  const embedding table{.n = 2, .rows = 1000, .columns = 4};
  EXPECT_EQ(bytes(table.operands(pass::fwd, dtype::f32).at(1)), 4 * 4000) << "in memory";
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

TEST(gemm, of_a_batch_has_both_gradients_in_one_call) {
  const gemm o{.m = 2, .n = 3, .k = 5, .batch = 7, .b_transposed = true, .bias = true};
  EXPECT_EQ(o.passes(), (std::vector{pass::fwd, pass::bwd}));
  const std::vector<operand> backward = o.operands(pass::bwd, dtype::f32);
  ASSERT_EQ(backward.size(), 6U);
  EXPECT_EQ(backward[3].name, "diff_src");
  EXPECT_EQ(backward[4].name, "diff_weights");
  EXPECT_EQ(backward[4].extents, (dims{7, 3, 5}));
  EXPECT_EQ(o.work(pass::bwd).macs, 2 * o.work(pass::fwd).macs);
}

TEST(gemm, of_narrow_weights_reads_them_with_scales_and_zero_points_of_groups) {
  gemm o{.m = 2, .n = 3, .k = 64, .b_transposed = true, .bias = true};
  const std::int64_t rest = 2 * (2 * 64 + 3 + 2 * 3);
  EXPECT_EQ(least_bytes(o.operands(pass::fwd, dtype::bf16)), rest + 2 * 3 * 64);
  o.weights_type = narrow_type::s8;
  EXPECT_EQ(least_bytes(o.operands(pass::fwd, dtype::bf16)), rest + 3 * 64 + 2 * 3);
  o.weights_type = narrow_type::u4;
  o.group_size = {32};
  o.zero_points = true;
  EXPECT_EQ(least_bytes(o.operands(pass::fwd, dtype::bf16)), rest + 3 * 32 + 2 * 6 + 3);
  const std::vector<operand> all = o.operands(pass::fwd, dtype::bf16);
  ASSERT_EQ(all.size(), 6U);
  EXPECT_EQ(all[1].type, dtype::u4);
  EXPECT_EQ(all[1].extents, (dims{3, 64}));
  EXPECT_EQ(all[2].extents, (dims{2, 3}));
  EXPECT_EQ(all[3].name, "weights_zero_points");
  EXPECT_EQ(all[o.bias_operand()].name, "bias");
  EXPECT_EQ(o.passes(), std::vector{pass::fwd});
  EXPECT_EQ(key(o),
            "m:2,n:3,k:64,b_transposed:1,bias:1,weights_type:u4,group_size:32,zero_points:1");
  EXPECT_EQ(storage_bytes(dtype::s4, 7), 4) << "the last byte has one number";
  EXPECT_THROW(static_cast<void>(o.operands(pass::fwd, dtype::s8)), unsupported);
}

TEST(gemm, refuses_narrow_weights_that_do_not_fit) {
  const auto refused = [](const gemm& o) {
    try {
      o.validate();
    } catch (const invalid_field& e) {
      return e.field;
    }
    return std::string();
  };
  using enum narrow_type;
  const gemm narrow{.k = 64, .weights_type = s4, .group_size = {16}};
  EXPECT_EQ(refused(narrow), "");
  const auto with = [&](auto change) {
    gemm o = narrow;
    change(o);
    return refused(o);
  };
  EXPECT_EQ(with([](gemm& o) { o.group_size = {48}; }), "group_size");
  EXPECT_EQ(with([](gemm& o) { o.weights_type = same; }), "group_size");
  EXPECT_EQ(with([](gemm& o) { o.batch = 2; }), "weights_type");
  EXPECT_EQ(with([](gemm& o) { o.channel_scales = true; }), "weights_type");
  EXPECT_EQ(with([](gemm& o) { o.src_zero = {1}; }), "weights_type");
  EXPECT_EQ(with([](gemm& o) { o.dst_type = tensor_type::u8; }), "weights_type");
  EXPECT_EQ(refused({.zero_points = true}), "zero_points");
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

TEST(resample, computes_nothing_where_it_copies) {
  resample o{.n = 2, .c = 3, .h = 4, .w = 5, .p = 8, .q = 10};
  EXPECT_EQ(o.work(pass::fwd).flops, 2 * 3 * 8 * 10 * 7);
  o.kind = resample_kind::nearest;
  EXPECT_EQ(o.work(pass::fwd).flops, 0);
  o.q = 12;
  EXPECT_THROW(o.validate(), invalid_field);
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

TEST(concat, names_its_sources_and_their_gradients) {
  const concat o{.dims = {2, 7, 4, 4}, .sizes = {4, 1, 2}};
  const std::vector<operand> forward = o.operands(pass::fwd, dtype::f32);
  ASSERT_EQ(forward.size(), 4U);
  EXPECT_EQ(forward[0].name, "src");
  EXPECT_EQ(forward[2].name, "src2");
  EXPECT_EQ(forward[2].extents, (dims{2, 2, 4, 4}));
  EXPECT_EQ(forward[3].extents, o.dims);
  const std::vector<operand> backward = o.operands(pass::bwd, dtype::f32);
  EXPECT_EQ(backward[0].name, "diff_dst");
  EXPECT_EQ(backward[2].name, "diff_src1");
  EXPECT_EQ(backward[2].extents, (dims{2, 1, 4, 4}));
  EXPECT_EQ(o.work(pass::fwd).flops, 0);
}

TEST(concat, refuses_what_does_not_fit) {
  EXPECT_NO_THROW((concat{.dims = {2, 3}, .sizes = {1, 2}}.validate()));
  EXPECT_THROW((concat{.dims = {2, 3}, .sizes = {1, 1}}.validate()), invalid_field);
  EXPECT_THROW((concat{.dims = {2, 3}, .axis = 2, .sizes = {1, 2}}.validate()), invalid_field);
  EXPECT_NO_THROW((concat{.dims = {2, 64}, .sizes = dims(64, 1)}.validate()));
  EXPECT_THROW((concat{.dims = {2, 65}, .sizes = dims(65, 1)}.validate()), invalid_field);
}

TEST(add, has_a_gradient_where_src1_is_broadcast_or_learned) {
  EXPECT_EQ((add{{2, 3}}.passes()), std::vector{pass::fwd});
  const add positions{.dims = {2, 3, 4}, .broadcast = true, .learned = true};
  EXPECT_EQ(positions.passes(), (std::vector{pass::fwd, pass::bwd}));
  EXPECT_EQ(positions.operands(pass::fwd, dtype::f32)[1].extents, (dims{1, 3, 4}));
  EXPECT_EQ(positions.operands(pass::fwd, dtype::f32)[1].role, role::weights);
  EXPECT_EQ(positions.operands(pass::bwd, dtype::f32)[1].name, "diff_src1");
  EXPECT_EQ(any(positions).key(), "dims:2x3x4,broadcast:1,learned:1");
  EXPECT_EQ(any(add{{2, 3}}).key(), "dims:2x3");
}

TEST(multiply, broadcasts_along_extents_of_1) {
  const multiply o{.dims = {2, 8, 4, 4}, .dims1 = {2, 8, 1, 1}};
  EXPECT_NO_THROW(o.validate());
  const std::vector<operand> backward = o.operands(pass::bwd, dtype::f32);
  EXPECT_EQ(backward[4].name, "diff_src1");
  EXPECT_EQ(backward[4].extents, o.dims1);
  EXPECT_EQ(o.work(pass::fwd).flops, 256);
  EXPECT_EQ(o.work(pass::bwd).flops, 3 * 256);
  EXPECT_EQ((multiply{{2, 8}, {}}.work(pass::bwd).flops), 2 * 16);
  EXPECT_EQ(any(multiply{{2, 8}, {}}).key(), "dims:2x8");
  const multiply layer_scale{.dims = {2, 8}, .dims1 = {1, 8}, .learned = true};
  EXPECT_EQ(layer_scale.operands(pass::fwd, dtype::f32)[1].role, role::weights);
  EXPECT_EQ(any(layer_scale).key(), "dims:2x8,dims1:1x8,learned:1");
  EXPECT_THROW((multiply{{2, 8}, {2, 4}}.validate()), invalid_field);
  EXPECT_THROW((multiply{{2, 8}, {2}}.validate()), invalid_field);
}

TEST(pad, has_a_size_for_each_side_of_each_axis) {
  const pad o{{2, 8, 4, 4}, {{0, 4, 0, 0}}, {{0, 3, 0, 1}}};
  EXPECT_NO_THROW(o.validate());
  EXPECT_EQ(o.padded(), (dims{2, 15, 4, 5}));
  EXPECT_EQ(any(o).key(), "dims:2x8x4x4,before:0x4x0x0,after:0x3x0x1");
  EXPECT_THROW((pad{{2, 8}, {{0}}, {{0, 0}}}.validate()), invalid_field);
  EXPECT_THROW((pad{{2, 8}, {{0, 0}}, {{0}}}.validate()), invalid_field);
}

TEST(slice, is_the_gradient_of_a_padding) {
  const slice o{{2, 8, 4, 4}, {1}, {2}, 3};
  EXPECT_NO_THROW(o.validate());
  EXPECT_EQ(any(o).key(), "dims:2x8x4x4,begin:2,size:3");
  EXPECT_EQ(o.operands(pass::fwd, dtype::f32)[1].extents, (dims{2, 3, 4, 4}));
  EXPECT_EQ(o.operands(pass::bwd, dtype::f32)[1].extents, o.dims);
  EXPECT_EQ(o.padding().padded(), o.dims);
  EXPECT_EQ(key(o.padding()), "dims:2x3x4x4,before:0x2x0x0,after:0x3x0x0");
  EXPECT_EQ(o.work(pass::fwd).flops, 0);
}

TEST(slice, refuses_what_does_not_fit) {
  EXPECT_NO_THROW((slice{{2, 3}, {0}, {1}, 1}.validate()));
  EXPECT_NO_THROW((slice{{2, 3}, {1}, {0}, 3}.validate()));
  EXPECT_THROW((slice{{2, 3}, {2}, {0}, 1}.validate()), invalid_field);
  EXPECT_THROW((slice{{2, 3}, {1}, {3}, 1}.validate()), invalid_field);
  EXPECT_THROW((slice{{2, 3}, {1}, {1}, 3}.validate()), invalid_field);
}

TEST(transpose, has_extents_of_its_view_in_the_order) {
  const transpose o{{2, 8, 4, 5}, {}, {{0, 2, 3, 1}}, {}};
  EXPECT_NO_THROW(o.validate());
  EXPECT_EQ(any(o).key(), "dims:2x8x4x5,order:0x2x3x1");
  EXPECT_EQ(o.operands(pass::fwd, dtype::f32)[1].extents, (dims{2, 4, 5, 8}));
  EXPECT_EQ(o.operands(pass::bwd, dtype::f32)[1].extents, o.dims);
  EXPECT_EQ(o.inverse().order.sizes, (dims{0, 3, 1, 2}));
  const transpose shuffle{{2, 6, 4, 5}, {2, 2, 3, 4, 5}, {{0, 2, 1, 3, 4}}, {2, 6, 4, 5}};
  EXPECT_NO_THROW(shuffle.validate());
  EXPECT_EQ(shuffle.operands(pass::fwd, dtype::f32)[1].extents, shuffle.dims);
  EXPECT_EQ(shuffle.inverse().viewed(), (dims{2, 3, 2, 4, 5}));
  const transpose heads{{6, 8}, {2, 3, 4, 2}, {{0, 2, 1, 3}}, {}};
  EXPECT_NO_THROW(heads.validate());
  EXPECT_EQ(heads.result(), (dims{2, 4, 3, 2}));
}

TEST(transpose, copies_by_few_loops) {
  const transpose shuffle{{2, 6, 4, 5}, {2, 2, 3, 4, 5}, {{0, 2, 1, 3, 4}}, {2, 6, 4, 5}};
  const auto text = [&](const dims& strides) {
    std::string all;
    for (const auto& [extent, from, to] : shuffle.loops(strides, strides)) {
      all += std::to_string(extent) + ':' + std::to_string(from) + '>' + std::to_string(to) + ' ';
    }
    return all;
  };
  EXPECT_EQ(text({120, 20, 5, 1}), "2:120>120 3:20>40 2:60>20 20:1>1 ") << "nchw";
  EXPECT_EQ(text({120, 1, 30, 6}), "40:6>6 3:1>2 2:3>1 ") << "nhwc";
  const transpose none{{2, 3}, {}, {{0, 1}}, {}};
  EXPECT_EQ(none.loops({3, 1}, {3, 1}).size(), 1U);
  const transpose single{{1, 1}, {}, {{1, 0}}, {}};
  EXPECT_EQ(single.loops({1, 1}, {1, 1}).size(), 1U);
}

TEST(transpose, refuses_what_does_not_fit) {
  const auto refused = [](const transpose& o) {
    try {
      o.validate();
    } catch (const invalid_field& e) {
      return e.field;
    }
    return std::string("accepted");
  };
  EXPECT_EQ(refused({{2, 3}, {}, {{1, 0}}, {2, 3}}), "reshape");
  EXPECT_EQ(refused({{2, 3}, {}, {{1, 0}}, {6}}), "accepted");
  EXPECT_EQ(refused({{2, 3}, {}, {{0, 1}}, {6}}), "accepted");
  EXPECT_EQ(refused({{2, 3}, {}, {{0, 0}}, {}}), "order");
  EXPECT_EQ(refused({{2, 3}, {}, {{1, 2}}, {}}), "order");
  EXPECT_EQ(refused({{2, 3}, {}, {{0}}, {}}), "order");
  EXPECT_EQ(refused({{4, 6}, {6, 4}, {{1, 0}}, {}}), "view");
  EXPECT_EQ(refused({{4, 6}, {4, 5}, {{1, 0}}, {}}), "view");
  EXPECT_EQ(refused({{4, 6}, {24}, {{0}}, {4, 6}}), "accepted");
}

TEST(batchnorm, has_the_key_of_old_unless_something_is_not_learned) {
  batchnorm o{2, 3, 4, 5};
  EXPECT_EQ(any(o).key(), "n:2,c:3,h:4,w:5");
  o.scale = false;
  EXPECT_EQ(any(o).key(), "n:2,c:3,h:4,w:5,scale:0");
  EXPECT_EQ(o.operands(pass::fwd, dtype::f32)[1].name, "shift");
  EXPECT_EQ(o.operands(pass::bwd, dtype::f32).back().name, "diff_shift");
}

TEST(layernorm, has_operands_for_what_it_learns_and_keeps) {
  const auto names = [](const layernorm& o, pass p) {
    std::vector<std::string_view> all;
    for (const operand& tensor : o.operands(p, dtype::bf16)) all.push_back(tensor.name);
    return all;
  };
  using list_of = std::vector<std::string_view>;
  layernorm o{.dims = {2, 3, 8}};
  EXPECT_EQ(names(o, pass::fwd), (list_of{"src", "scale", "bias", "dst"}));
  EXPECT_EQ(names(o, pass::fwd_training),
            (list_of{"src", "scale", "bias", "dst", "mean", "variance"}));
  EXPECT_EQ(names(o, pass::bwd), (list_of{"src", "diff_dst", "scale", "mean", "variance",
                                          "diff_src", "diff_scale", "diff_bias"}));
  EXPECT_EQ(o.operands(pass::fwd_training, dtype::bf16)[4].extents, (dims{2, 3}));
  EXPECT_EQ(o.operands(pass::fwd, dtype::bf16)[1].type, dtype::f32);
  EXPECT_EQ(any(o).key(), "dims:2x3x8");
  EXPECT_EQ(o.work(pass::fwd).flops, 7 * 48);
  o.kind = layernorm_kind::rms;
  o.scale = false;
  EXPECT_EQ(names(o, pass::fwd_training), (list_of{"src", "dst", "variance"}));
  EXPECT_EQ(names(o, pass::bwd), (list_of{"src", "diff_dst", "variance", "diff_src"}));
  EXPECT_EQ(any(o).key(), "dims:2x3x8,kind:rms,scale:0");
  EXPECT_EQ(o.work(pass::bwd).flops, 9 * 48);
  EXPECT_THROW((layernorm{.dims = {8}}.validate()), invalid_field);
  EXPECT_THROW((layernorm{.dims = {2, 8}, .epsilon = 1}.validate()), invalid_field);
}

TEST(groupnorm, keeps_a_mean_and_a_variance_of_each_group) {
  const groupnorm o{.n = 2, .c = 6, .h = 3, .w = 4, .groups = 3};
  const auto kept = o.operands(pass::fwd_training, dtype::bf16);
  EXPECT_EQ(kept[4].extents, (dims{2, 3}));
  EXPECT_EQ(kept[5].type, dtype::f32);
  EXPECT_EQ(any(o).key(), "n:2,c:6,h:3,w:4,groups:3");
  EXPECT_EQ(o.work(pass::fwd).flops, 7 * 144);
  EXPECT_THROW((groupnorm{.c = 6, .groups = 4}.validate()), invalid_field);
}

TEST(append, counts_the_rows_of_new_tokens_alone) {
  const append o{.n = 2, .tokens = 3, .context = {5}, .columns = 4};
  const std::vector<operand> operands = o.operands(pass::fwd, dtype::bf16);
  EXPECT_EQ(least_bytes(operands), 2 * 2 * 2 * 3 * 4);
  EXPECT_EQ(o.work(pass::fwd).flops, 0);
  const operand& dst = operands[1];
  EXPECT_EQ(dst.extents, (dims{2, 3, 4}));
  EXPECT_EQ(dst.tensor(), (dims{2, 8, 4}));
  EXPECT_EQ(dst.place(0), 5 * 4) << "behind the earlier rows";
  EXPECT_EQ(dst.place(3 * 4 - 1), 8 * 4 - 1);
  EXPECT_EQ(dst.place(3 * 4), 8 * 4 + 5 * 4) << "of the second sequence";
  EXPECT_EQ(any(o).key(), "n:2,tokens:3,context:5,columns:4");
}

TEST(append, does_nothing_without_earlier_tokens) {
  const any empty(append{.n = 2, .tokens = 3, .context = {0}, .columns = 4});
  EXPECT_TRUE(empty.passes().empty());
  EXPECT_EQ(any(append{.context = {1}}).passes(), std::vector{pass::fwd});
}

TEST(rotary, has_tables_that_are_not_learned) {
  const rotary o{.n = 2, .tokens = 3, .heads = 4, .d = 6};
  const std::vector<operand> operands = o.operands(pass::fwd, dtype::f32);
  EXPECT_EQ(operands[0].extents, (dims{2, 3, 24}));
  EXPECT_EQ(operands[1].extents, (dims{3, 6}));
  EXPECT_EQ(operands[1].role, role::statistics);
  EXPECT_EQ(o.work(pass::fwd).flops, 3 * 2 * 3 * 24);
  EXPECT_EQ(o.operands(pass::bwd, dtype::f32).back().name, "diff_src");
  EXPECT_THROW((rotary{.d = 5}.validate()), invalid_field);
}

TEST(topk, writes_values_and_columns) {
  const topk o{.n = 2, .c = 5, .k = 3};
  EXPECT_EQ(least_bytes(o.operands(pass::fwd, dtype::bf16)), 2 * 2 * 5 + 2 * 2 * 3 + 4 * 2 * 3);
  EXPECT_EQ(o.work(pass::fwd).flops, 10);
  EXPECT_EQ((topk{.n = 2, .c = 5, .k = 3, .normalized = true}).work(pass::fwd).flops, 22);
  EXPECT_THROW((topk{.c = 2, .k = 3}.validate()), invalid_field);
}

TEST(routed_gemm, reads_the_weights_of_the_experts_that_have_rows) {
  const auto of = [](std::int64_t tokens, expert_load load) {
    const routed_gemm o{.tokens = tokens, .experts = 8, .top_k = 2, .n = 3, .k = 5, .load = load};
    EXPECT_EQ(o.work(pass::fwd).macs, tokens * 2 * 3 * 5);
    return least_bytes(o.operands(pass::fwd, dtype::f32).at(2)) / (4 * 3 * 5);
  };
  EXPECT_EQ(of(1, expert_load::balanced), 2);
  EXPECT_EQ(of(3, expert_load::balanced), 6);
  EXPECT_EQ(of(100, expert_load::balanced), 8);
  EXPECT_EQ(of(3, expert_load::hot), 1 + 3);
  EXPECT_EQ(of(100, expert_load::hot), 8);
}

TEST(routed_gemm, refuses_loads_that_cannot_be) {
  const routed_gemm o{.tokens = 2, .experts = 4, .top_k = 2};
  const auto refuses = [](routed_gemm changed) { EXPECT_THROW(changed.validate(), invalid_field); };
  refuses({.tokens = 2, .experts = 4, .top_k = 5});
  refuses({.tokens = 2, .experts = 2, .top_k = 2, .load = expert_load::hot});
  EXPECT_NO_THROW(o.validate());
  EXPECT_EQ(o.passes(), std::vector{pass::fwd});
}

TEST(attention, counts_the_pairs_that_the_mask_leaves) {
  dice d(25);
  for (int i = 0; i < 1000; ++i) {
    const attention o = random_op<attention>(d);
    SCOPED_TRACE(key(o));
    std::int64_t pairs = 0;
    for (std::int64_t query = 0; query < o.q; ++query) {
      for (std::int64_t token = 0; token < o.k; ++token) {
        pairs += !o.causal || token <= query + o.k - o.q ? 1 : 0;
      }
    }
    const std::int64_t products = 2 * o.n * o.heads * o.d;
    ASSERT_EQ(o.work(pass::fwd).macs, products * o.q * o.k);
    ASSERT_EQ(o.work(pass::fwd).flops, 2 * products * o.q * o.k);
    ASSERT_EQ(o.work(pass::fwd).flops_exact, 2 * products * pairs);
    ASSERT_EQ(o.work(pass::bwd).flops_exact, 2 * o.work(pass::fwd_training).flops_exact);
  }
}

TEST(attention, shares_keys_and_values_in_groups) {
  attention o{.n = 2, .heads = 8, .q = 3, .k = 5, .d = 16};
  EXPECT_EQ(o.operands(pass::fwd, dtype::f32)[1].extents, (dims{2, 5, 8 * 16}));
  o.kv_heads = 2;
  EXPECT_NO_THROW(o.validate());
  EXPECT_EQ(o.group_size(), 4);
  EXPECT_EQ(o.operands(pass::fwd, dtype::f32)[0].extents, (dims{2, 3, 8 * 16}));
  EXPECT_EQ(o.operands(pass::fwd, dtype::f32)[2].extents, (dims{2, 5, 2 * 16}));
  EXPECT_EQ(any(o).key(), "n:2,heads:8,q:3,k:5,d:16,kv_heads:2");
  o.kv_heads = 3;
  EXPECT_THROW(o.validate(), invalid_field);
  o.kv_heads = 16;
  EXPECT_THROW(o.validate(), invalid_field);
  EXPECT_NO_THROW((attention{.q = 4, .k = 3}.validate()));
  EXPECT_THROW((attention{.q = 4, .k = 3, .causal = true}.validate()), invalid_field);
}

TEST(attention, is_verified_on_few_sequences_and_tokens_where_it_is_large) {
  const attention gpt2{.n = 64, .heads = 12, .q = 1024, .k = 1024, .d = 64, .causal = true};
  const any smaller = any(gpt2).verified_as();
  EXPECT_LE(smaller.work(pass::fwd).macs, std::int64_t{1} << 31U);
  EXPECT_EQ(smaller.get<attention>()->n, 1);
  EXPECT_EQ(smaller.get<attention>()->q, 1024);
  attention llama{.n = 1, .heads = 32, .q = 4096, .k = 4096, .d = 128, .kv_heads = 8};
  llama.causal = true;
  const any shorter = any(llama).verified_as();
  EXPECT_EQ(shorter.get<attention>()->q, 512);
  EXPECT_NO_THROW(shorter.get<attention>()->validate());
  const attention small{.n = 2, .heads = 2, .q = 8, .k = 8, .d = 4};
  EXPECT_EQ(any(small).verified_as().key(), any(small).key());
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

TEST(lrn, counts_the_channels_that_exist) {
  dice d(24);
  for (int i = 0; i < 500; ++i) {
    const lrn o = random_op<lrn>(d);
    SCOPED_TRACE(key(o));
    std::int64_t taps = 0;
    for (std::int64_t c = 0; c < o.c; ++c) {
      for (std::int64_t other = 0; other < o.c; ++other) {
        taps += std::abs(other - c) <= o.size / 2 ? 1 : 0;
      }
    }
    const std::int64_t pixels = o.n * o.h * o.w;
    ASSERT_EQ(o.work(pass::fwd).flops, pixels * (2 * o.size * o.c + 4 * o.c));
    ASSERT_EQ(o.work(pass::fwd).flops_exact, pixels * (2 * taps + 4 * o.c));
    ASSERT_EQ(o.work(pass::bwd).flops_exact, pixels * (4 * taps + 7 * o.c));
  }
  EXPECT_THROW((lrn{1, 8, 2, 2, 4}.validate()), invalid_field) << "no channel in the middle";
}

TEST(rnn, counts_the_products_of_each_token) {
  // DeepBench: an LSTM of 512, 25 steps of 16 sequences.
  const rnn lstm{.kind = rnn_kind::lstm, .batch = 16, .steps = 25, .inputs = 512, .hidden = 512};
  EXPECT_EQ(lstm.work(pass::fwd).macs, 16 * 25 * 4 * 512 * (512 + 512));
  EXPECT_EQ(lstm.work(pass::bwd).flops, 2 * lstm.work(pass::fwd_training).flops);
  rnn both = lstm;
  both.bidirectional = true;
  both.layers = 2;
  EXPECT_THROW(both.validate(), invalid_field) << "the second layer reads two directions";
  both.inputs = 1024;
  EXPECT_NO_THROW(both.validate());
  EXPECT_EQ(both.work(pass::fwd).macs, std::int64_t{16} * 25 * 4 * 4 * 512 * (1024 + 512));
}

TEST(rnn, is_verified_on_few_steps_where_it_is_large) {
  rnn o{.kind = rnn_kind::gru, .batch = 32, .steps = 1500, .inputs = 512, .hidden = 512};
  const any smaller = any(o).verified_as();
  EXPECT_LE(smaller.work(pass::fwd).macs, std::int64_t{1} << 31U);
  EXPECT_EQ(smaller.get<rnn>()->steps, 42);
  o.steps = 10;
  EXPECT_EQ(any(o).verified_as().key(), any(o).key());
  o.hidden = 8192;
  EXPECT_EQ(any(o).verified_as().get<rnn>()->steps, 2);
  EXPECT_EQ(any(add{{4}}).verified_as().key(), any(add{{4}}).key());
}

TEST(rnn, has_the_same_work_and_another_key_where_it_is_unfused) {
  const any fused(rnn{.kind = rnn_kind::gru, .batch = 2, .steps = 3, .inputs = 4, .hidden = 5});
  const any unfused = fused.called(manner::unfused);
  EXPECT_EQ(fused.key(), "kind:gru,batch:2,steps:3,inputs:4,hidden:5");
  EXPECT_EQ(unfused.key(), fused.key() + ",unfused:1");
  EXPECT_EQ(unfused.verified_as().key(), unfused.key());
  EXPECT_THROW(static_cast<void>(fused.called(manner::reorders)), invalid_field);
  EXPECT_EQ(unfused.work(pass::bwd).flops, fused.work(pass::bwd).flops);
}

TEST(rnn, has_as_many_parameters_as_in_pytorch) {
  const auto parameters = [](const rnn& o) {
    std::int64_t sum = 0;
    for (const operand& tensor : o.operands(pass::fwd, dtype::f32)) {
      if (tensor.role == role::weights) sum += elements(tensor.extents);
    }
    return sum;
  };
  rnn o{.kind = rnn_kind::lstm, .batch = 1, .steps = 3, .inputs = 10, .hidden = 20, .biases = 2};
  EXPECT_EQ(parameters(o), 4 * 20 * (10 + 20 + 2));
  o.kind = rnn_kind::gru;
  EXPECT_EQ(parameters(o), 3 * 20 * (10 + 20 + 2));
  o.kind = rnn_kind::vanilla;
  o.biases = 1;
  EXPECT_EQ(parameters(o), 20 * (10 + 20 + 1));
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

using all_extents = std::vector<dims>;

/// Extents of src and dst.
all_extents extents(const collective& o, dtype type = dtype::f32) {
  all_extents all;
  for (const operand& of : o.operands(pass::fwd, type)) all.push_back(of.extents);
  return all;
}

TEST(collective, has_rows_of_blocks_or_of_arrays_of_a_block_per_rank) {
  using enum collective_kind;
  EXPECT_EQ(extents({all_reduce, 96, 3}), (all_extents{{3, 24}, {3, 24}}));
  EXPECT_EQ(extents({all_gather, 96, 3}), (all_extents{{3, 8}, {3, 24}}));
  EXPECT_EQ(extents({reduce_scatter, 96, 3}), (all_extents{{3, 24}, {3, 8}}));
  EXPECT_EQ(extents({broadcast, 96, 3}), (all_extents{{1, 24}, {3, 24}}));
  EXPECT_EQ(extents({all_to_all, 96, 3}), (all_extents{{3, 24}, {3, 24}}));
  EXPECT_EQ((collective{all_to_all, 96, 3}.work(pass::fwd).flops), 0);
}

TEST(collective, rounds_blocks_up_to_whole_elements) {
  using enum collective_kind;
  EXPECT_EQ(extents({all_gather, 97, 3}), (all_extents{{3, 9}, {3, 27}}));
  EXPECT_EQ(extents({all_gather, 97, 3}, dtype::s8), (all_extents{{3, 33}, {3, 99}}));
  EXPECT_EQ(extents({reduce_scatter, 1, 4}, dtype::f64), (all_extents{{4, 4}, {4, 1}}));
  EXPECT_EQ(extents({broadcast, 7, 4}, dtype::bf16), (all_extents{{1, 4}, {4, 4}}));
}

TEST(collective, has_bandwidths_as_nccl_tests_define_them) {
  using enum collective_kind;
  // PERFORMANCE.md of NVIDIA's nccl-tests: S is the size of an array, here 1200 bytes, n is 4.
  for (const auto& [kind, sent] : {std::pair{all_reduce, 1800.0},
                                   {all_gather, 900.0},
                                   {reduce_scatter, 900.0},
                                   {broadcast, 1200.0},
                                   {all_to_all, 900.0}}) {
    const std::vector<rate> of = any(collective{kind, 1200, 4}).rates();
    ASSERT_EQ(of.size(), 2U);
    EXPECT_EQ(of[0].counter, "algorithm_bandwidth");
    EXPECT_DOUBLE_EQ(of[0].numerator, 1200) << name(kind);
    EXPECT_EQ(of[1].counter, "bus_bandwidth");
    EXPECT_DOUBLE_EQ(of[1].numerator, sent) << name(kind);
    for (const rate& item : any(collective{kind, 1200, 1}).rates()) EXPECT_EQ(item.numerator, 0);
  }
}

TEST(collective, is_in_place_where_mpi_and_nccl_have_that) {
  using enum collective_kind;
  for (const collective_kind kind : {all_reduce, all_gather, reduce_scatter}) {
    EXPECT_NO_THROW((collective{kind, 8, 2, true}.validate()));
    EXPECT_TRUE((collective{kind, 8, 2, true}.is_in_place()));
    EXPECT_FALSE((collective{kind, 8, 2}.is_in_place()));
  }
  for (const collective_kind kind : {broadcast, all_to_all}) {
    EXPECT_THROW((collective{kind, 8, 2, true}.validate()), invalid_field);
    EXPECT_EQ((collective{kind, 8, 2}.is_in_place()), kind == broadcast);
  }
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

TEST(collective, has_test_data_that_its_type_has_exactly) {
  for (const collective_kind kind :
       {collective_kind::reduce_scatter, collective_kind::all_gather}) {
    for (const dtype type : {dtype::f32, dtype::bf16, dtype::f8_e4m3}) {
      const collective o{kind, 64, 3};
      const operand of = o.operands(pass::fwd, type).front();
      EXPECT_TRUE(of.integral);
      EXPECT_GE(of.high, 1);
      EXPECT_LE(of.high * (o.adds() ? 3 : 1), std::ldexp(1.0, traits(type).significand_bits));
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

TEST(any, is_found_again_by_its_name_and_key) {
  const any plain(conv{.n = 1, .c = 2, .h = 8, .w = 8, .k = 4, .r = 3, .s = 3});
  const any reordered = plain.called(manner::reorders);
  for (const any& o : {plain, plain.in(dtype::bf16), reordered, reordered.in(dtype::f16)}) {
    const auto found = from_key(o.name(), o.key());
    ASSERT_TRUE(found) << o.key();
    EXPECT_EQ(found->key(), o.key());
    EXPECT_EQ(found->own_type(), o.own_type());
    EXPECT_EQ(found->how(), o.how());
  }
  EXPECT_FALSE(from_key("mine", plain.key()));
  EXPECT_FALSE(from_key("conv", plain.key() + ",type:f12"));
  EXPECT_FALSE(from_key("conv", plain.key() + ",type:"));
  EXPECT_FALSE(from_key("conv", "n:1,c:2,h:8,w:8,k:4,r:9,s:3")) << "larger than the image";
}

}  // namespace op_work_test
}  // namespace layerbench::op
