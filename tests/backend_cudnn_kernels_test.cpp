// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <layerbench/backend/adapter.hpp>
#include <layerbench/backend/cublas/all_plans.hpp>
#include <layerbench/backend/cudnn/all_plans.hpp>
#include <layerbench/backend/reference/all_plans.hpp>
#include <layerbench/session/verify.hpp>

#include "support/host_cublas.hpp"
#include "support/host_cuda.hpp"
#include "support/host_cudnn.hpp"
#include "support/host_cudnn_graph.hpp"
#include "support/host_cudnn_images.hpp"
#include "support/host_kernels.hpp"
#include "support/random_ops.hpp"

/// Plans by kernels of layerbench, which run on this program's processor: how they are called
/// and what they compute. This program links none of the libraries.

namespace layerbench {
namespace {

using testing::dice;
using enum op::pass;

template <class Op>
using device_for = run::backend_device<cudnn::backend, Op>;

dtype any_type(dice& d) { return d.pick({dtype::f32, dtype::tf32, dtype::f16, dtype::bf16}); }

template <class Op>
void expect_right(device_for<Op>& device, const Op& o, const plan_request& request,
                  bool every_output = true) {
  SCOPED_TRACE(fmt::format("{} {} {} {}", name(request.pass), name(request.type),
                           name(request.layout), key(o)));
  ASSERT_NO_THROW(run::verify(device, *device.plan(op::any(o), request),
                              reference::exact_value_of(o, request.pass), 1, every_output));
}

/// Random ops in each of `passes`, as `change` makes them fit.
template <class Op, class Change>
void expect_right_in(const std::vector<op::pass>& passes, const Change& change) {
  device_for<Op> device(1);
  dice d(11);
  for (int i = 0; i < 300 && !::testing::Test::HasFailure(); ++i) {
    auto o = testing::random_op<Op>(d);
    change(o, d);
    for (const op::pass pass : passes) {
      expect_right(device, o,
                   {pass, any_type(d), d.pick({layout::nhwc, layout::nchw, layout::any})});
    }
  }
}
const auto as_it_is = [](auto& /*op*/, dice& /*d*/) {};

TEST(Kernels, OfUpdatesAgreeWithTheReference) {
  expect_right_in<op::update>({fwd}, [](op::update& o, dice& d) { o.wide = d.chance(4); });
}

TEST(Kernels, OfCrossEntropyAgreeWithTheReference) {
  expect_right_in<op::cross_entropy>({fwd, bwd}, [](op::cross_entropy& o, dice& d) {
    if (d.chance(4)) o.n = d.between(60, 200);
  });
}

TEST(Kernels, OfDropoutAgreeWithTheReference) {
  expect_right_in<op::dropout>({fwd_training, bwd}, [](op::dropout& o, dice& d) {
    if (d.chance()) o.dims = {d.between(1, 3), d.between(1, 9), d.between(1, 5), d.between(1, 5)};
    if (d.chance(5)) o.dims = {d.between(1, 50)};
  });
}

TEST(Kernels, OfMaximaAgreeWithTheReference) {
  expect_right_in<op::pool>({fwd, fwd_training, bwd}, [](op::pool& o, dice& /*d*/) {
    o.kind = op::pool_kind::max;
    o.count_padding = true;
  });
}

TEST(Kernels, OfReordersAgreeWithTheReference) {
  expect_right_in<op::reorder>({fwd}, [](op::reorder& o, dice& d) {
    const auto order = [&] {
      return d.pick<std::string>({"abcd", "acdb", "cabd", "badc", "dcba", "cdba"});
    };
    o.from = order();
    o.to = order();
    if (d.chance(4)) o = {{d.between(1, 9), d.between(1, 9)}, "ab", "ba"};
    if (d.chance()) o.dims[1] = d.pick({2, 4, 8, 16, 24, 32});
    if (d.chance()) o.dims.back() = d.pick({2, 4, 8, 16, 24, 32});
  });
}

/// Threads of the launch for `o`; a launch has a multiple of 32.
template <class Op>
unsigned threads_for(const Op& o, const plan_request& request) {
  device_for<Op> device(1);
  host_grids.clear();
  expect_right(device, o, request);
  return host_grids.empty() ? 0 : host_grids.back().blocks.x * host_grids.back().threads.x;
}

TEST(Kernels, OfReordersMoveSixteenBytesAtOnce) {
  const auto nhwc = [](std::int64_t channels, std::int64_t pixels) {
    return op::reorder{{2, channels, pixels, 1}, "abcd", "acdb"};
  };
  // Tiles of 8 by 8, 4 by 4, and single elements.
  EXPECT_EQ(threads_for(nhwc(128, 64), {fwd, dtype::bf16}), 256U);
  EXPECT_EQ(threads_for(nhwc(128, 64), {fwd, dtype::f32}), 1024U);
  EXPECT_EQ(threads_for(nhwc(128, 12), {fwd, dtype::bf16}), 2 * 128 * 12 / 16U);
  EXPECT_EQ(threads_for(nhwc(128, 49), {fwd, dtype::f32}), 2 * 128 * 49U);
  // Elements that stay neighbours, such as those of a head of attention.
  EXPECT_EQ(threads_for(op::reorder{{2, 16, 4, 64}, "abcd", "acbd"}, {fwd, dtype::bf16}),
            2 * 16 * 4 * 64 / 8U);
}

TEST(Kernels, OfConcatsAgreeWithTheReference) {
  expect_right_in<op::concat>({fwd, bwd}, [](op::concat& o, dice& d) {
    if (d.chance(5)) o = {{d.between(1, 3), 8, d.between(1, 3), 2, 3}, 1, {5, 3}};
  });
}

TEST(Kernels, OfProductsAgreeWithTheReference) {
  expect_right_in<op::multiply>({fwd, bwd}, as_it_is);
  device_for<op::multiply> device(1);
  const op::multiply scalar{.dims = {2, 3, 100, 90}, .dims1 = {1, 1, 1, 1}};
  for (const layout image_layout : {layout::nhwc, layout::nchw}) {
    expect_right(device, scalar, {bwd, dtype::f32, image_layout});
  }
}

TEST(Kernels, OfPaddingAgreeWithTheReference) {
  expect_right_in<op::pad>({fwd, bwd}, [](op::pad& o, dice& d) {
    if (d.chance()) return;
    const auto axis =
        static_cast<std::size_t>(d.between(0, static_cast<std::int64_t>(o.dims.size()) - 1));
    for (dims* of : {&o.dims, &o.before.sizes, &o.after.sizes}) (*of)[axis] *= 8;
  });
}

TEST(Kernels, OfPaddingMoveSixteenBytesAtOnce) {
  const op::pad channels{{32, 64, 3, 3}, {{0, 16, 0, 0}}, {{0, 48, 0, 0}}};
  const op::pad border{{2, 64, 5, 5}, {{0, 0, 1, 1}}, {{0, 0, 2, 2}}};
  for (const auto& [type, lanes] : {std::pair{dtype::f32, 4U}, std::pair{dtype::bf16, 8U}}) {
    for (const layout image_layout : {layout::nhwc, layout::nchw}) {
      EXPECT_EQ(threads_for(channels, {fwd, type, image_layout}), 32 * 128 * 9 / lanes);
      EXPECT_EQ(threads_for(channels, {bwd, type, image_layout}), 32 * 64 * 9 / lanes);
    }
    EXPECT_EQ(threads_for(border, {fwd, type, layout::nhwc}), 2 * 64 * 8 * 8 / lanes);
    EXPECT_EQ(threads_for(border, {fwd, type, layout::nchw}), 2 * 64 * 8 * 8U) << "elements";
  }
}

TEST(Kernels, OfSlicesAgreeWithTheReference) { expect_right_in<op::slice>({fwd, bwd}, as_it_is); }

TEST(Kernels, OfTransposesAgreeWithTheReference) {
  expect_right_in<op::transpose>({fwd, bwd}, as_it_is);
}

TEST(Kernels, OfEmbeddingsAgreeWithTheReference) {
  expect_right_in<op::embedding>({fwd, bwd_weights}, as_it_is);
}

TEST(Kernels, AddTheBiasOfTransposedConvolutions) {
  expect_right_in<op::deconv>({fwd, bwd_weights}, [](op::deconv& o, dice& /*d*/) {
    o.c = o.k = o.groups;
    o.groups = 1;
    o.bias = true;
  });
}

TEST(Kernels, OfStreamsAgreeWithTheReference) {
  expect_right_in<op::stream>({fwd}, [](op::stream& o, dice& d) {
    if (d.chance(3)) o.bytes = 8 * d.between(1, 40);  // up to one warp, and beyond
  });
  cublas::backend device(1);
  using stream = run::plan_of<cublas::backend, op::stream>;
  for (const auto& [bytes, text] : {std::pair{512, "layerbench:stream_read"},
                                    std::pair{520, "cudaMemsetAsync+layerbench:stream_read"}}) {
    EXPECT_EQ(stream(device, {op::stream_kind::read, bytes}, {}).algorithm(), text);
  }
  EXPECT_EQ(stream(device, {op::stream_kind::copy, 8}, {}).algorithm(), "layerbench:copy");
}

TEST(Kernels, OfLargeTensorsGoRoundAndRound) {
  constexpr std::int64_t many = 5'000'001;  // past 2048 blocks of 256 threads for 8 each
  using enum op::update_rule;
  device_for<op::activation> activations(1);
  expect_right(activations, {op::activation_kind::relu, {many}}, {fwd, dtype::bf16}, false);
  device_for<op::add> sums(1);
  expect_right(sums, {.dims = {many}}, {fwd, dtype::bf16}, false);
  expect_right(sums, {.dims = {7, 1'000'001}, .broadcast = true}, {fwd, dtype::bf16}, false);
  device_for<op::layernorm> norms(1);
  expect_right(norms, {.dims = {40'000, 8}}, {fwd, dtype::bf16}, false);
  device_for<op::embedding> tables(1);
  expect_right(tables, {700'000, 9, 8}, {fwd, dtype::bf16}, false);
  device_for<op::append> caches(1);
  expect_right(caches, {3, 1'000, {5}, 2'000}, {fwd, dtype::bf16}, false);
  device_for<op::rotary> turned(1);
  expect_right(turned, {2, 1'000, 40, 128}, {fwd, dtype::bf16}, false);
  device_for<op::stream> streams(1);
  for (const op::stream_kind kind :
       {op::stream_kind::read, op::stream_kind::write, op::stream_kind::copy}) {
    expect_right(streams, {kind, 2 * 4 * many}, {fwd, dtype::bf16}, false);
  }
  device_for<op::update> updates(1);
  expect_right(updates, {.rule = accumulate, .sizes = {many}}, {fwd, dtype::bf16}, false);
  device_for<op::reorder> reorders(1);
  expect_right(reorders, {{2, 3, 1000, 1000}, "abcd", "acdb"}, {fwd, dtype::f32}, false);
  device_for<op::cross_entropy> losses(1);
  expect_right(losses, {70'000, 73}, {bwd, dtype::bf16}, false);
  device_for<op::pad> paddings(1);
  expect_right(paddings, {{2, 2'400'000}, {{0, 8}}, {{1, 0}}}, {fwd, dtype::bf16}, false);
  device_for<op::pool> pools(1);
  const op::pool lines{.n = 70'000, .c = 1, .h = 2, .w = 1, .r = 2};
  expect_right(pools, lines, {fwd_training, dtype::f32}, false);
  expect_right(pools, lines, {bwd, dtype::f32}, false);
}

TEST(Kernels, TakeManyTensorsInFewLaunches) {
  device_for<op::update> device(1);
  for (const std::size_t tensors : {1U, 52U, 53U, 104U, 130U}) {
    op::update o{.rule = op::update_rule::adam, .sizes = {}};
    for (std::size_t i = 0; i < tensors; ++i) {
      o.sizes.push_back(1 + static_cast<std::int64_t>(i * i % 50));
    }
    // Around the elements of a block, beside small ones.
    o.sizes.front() = 16384;
    o.sizes.back() = 16385;
    if (tensors > 2) o.sizes[1] = 40000;
    for (const dtype type : {dtype::f32, dtype::bf16}) expect_right(device, o, {fwd, type});
    o.rule = op::update_rule::zero;
    expect_right(device, o, {fwd, dtype::f16});
  }
}

/// The launches of a call, which computes on memory that is never looked at.
template <class Op>
std::vector<host_grid> launches_of(const Op& o, const plan_request& request) {
  cudnn::backend device(1);
  const run::plan_of<cudnn::backend, Op> called(device, o, request);
  std::vector<std::vector<std::byte>> memory;
  std::vector<address> places;
  for (const plan_operand& operand : called.operands()) {
    memory.emplace_back(operand.bytes);
    places.push_back(memory.back().data());
  }
  memory.emplace_back(called.workspace_bytes());
  host_grids.clear();
  called.run(called.bind(places, memory.back().data()));
  return std::exchange(host_grids, {});
}

TEST(Kernels, HaveBlocksByTheSizesOfTensors) {
  op::update o{.rule = op::update_rule::momentum, .sizes = std::vector<std::int64_t>(161, 10)};
  EXPECT_THAT(launches_of(o, {}), ::testing::SizeIs(4)) << "52 tensors in each";
  o.sizes = std::vector<std::int64_t>(32, 10);
  o.sizes[7] = 8'000'001;
  const std::vector<host_grid> large = launches_of(o, {});
  ASSERT_THAT(large, ::testing::SizeIs(1));
  EXPECT_EQ(large[0].blocks.x, 489U + 31) << "16384 elements in each";
  EXPECT_EQ(large[0].blocks.y, 1U);
}

TEST(Kernels, SumTheGradientOfABiasInParallel) {
  using enum dtype;
  const dims images{8, 64, 56, 56};
  const auto sum = [&](dtype type, std::size_t most_bytes) {
    cudnn::backend device(1);
    const gpu::bias_gradient gradient(device, images, type, true, most_bytes);
    std::vector<float> from(static_cast<std::size_t>(elements(images)), 1.0F);
    std::vector<float> to(64);
    std::vector<std::byte> workspace(gradient.workspace_bytes());
    EXPECT_LE(workspace.size(), most_bytes);
    host_grids.clear();
    gradient.run(from.data(), to.data(), workspace.data());
    if (type == f32) {
      EXPECT_THAT(to, ::testing::Each(8 * 56 * 56));
    }
    return host_grids.front().blocks.x * host_grids.front().threads.x;
  };
  constexpr std::size_t enough = std::size_t{64} << 20U;
  // 2^18 threads, as far as each has at least 4 terms of 16 bytes.
  EXPECT_GE(sum(f32, enough), 16U * (8 * 56 * 56 / 4));
  EXPECT_GE(sum(bf16, enough), 8U * (8 * 56 * 56 / 4));
  EXPECT_GT(sum(f32, 64 * sizeof(float)), 0U) << "with room for one number per channel";
  EXPECT_THROW(sum(f32, 63 * sizeof(float)), unsupported);
}

TEST(Kernels, OfBatchNormsRefuseMemoryThatPassesShare) {
  cudnn::backend device(1);
  using batchnorm = run::plan_of<cudnn::backend, op::batchnorm>;
  const op::batchnorm o{.n = 1, .c = 2, .h = 3, .w = 3};
  EXPECT_NO_THROW(batchnorm(device, o, {fwd_training}));
  host_batchnorm_reserve = 64;
  EXPECT_THROW(batchnorm(device, o, {fwd_training}), unsupported);
  EXPECT_THROW(batchnorm(device, o, {bwd}), unsupported);
  host_batchnorm_reserve = 0;
}

TEST(Kernels, WriteOverWhatTheyReadWhereThatIsAsked) {
  cudnn::backend device(1);
  const op::update o{.rule = op::update_rule::momentum, .sizes = {5}};
  const run::plan_of<cudnn::backend, op::update> update(device, o, {fwd, dtype::f32});
  std::vector<float> weights{1, 2, 3, 4, 5};
  std::vector<float> gradient{1, 1, 1, 1, 1};
  std::vector<float> moment(5, 0);
  const std::vector<address> places{weights.data(), gradient.data(), moment.data(), weights.data(),
                                    moment.data()};
  update.run(update.bind(places, nullptr));
  for (std::size_t i = 0; i < 5; ++i) {
    const float before = static_cast<float>(i) + 1;
    EXPECT_NEAR(moment[i], 1 + 1e-4F * before, 1e-6) << i;
    EXPECT_NEAR(weights[i], before - 0.01F * moment[i], 1e-6) << i;
  }

  const run::plan_of<cudnn::backend, op::dropout> dropout(device, {.dims = {5}},
                                                          {fwd_training, dtype::f32});
  float seed = 7;
  std::vector<std::int8_t> mask(5);
  dropout.run(dropout.bind(
      std::vector<address>{weights.data(), &seed, gradient.data(), mask.data(), &seed}, nullptr));
  EXPECT_EQ(seed, 8);
  for (std::size_t i = 0; i < 5; ++i) {
    EXPECT_EQ(mask[i] != 0, op::dropout{.dims = {5}}.keeps(7, static_cast<std::int64_t>(i)));
  }
}

TEST(Kernels, TakeOperandsAnywhere) {
  cudnn::backend device(1);
  const run::plan_of<cudnn::backend, op::update> result(
      device, {.rule = op::update_rule::accumulate, .sizes = {2001}}, {fwd, dtype::f32});
  alignas(16) std::array<float, 6100> memory{};
  for (const std::size_t off : {0U, 1U, 2U, 3U}) {  // of 16 bytes
    std::ranges::fill(memory, 1.0F);
    const std::vector<address> places{&memory.at(off), &memory.at(2020 + off),
                                      &memory.at(4040 + off)};
    result.run(result.bind(places, nullptr));
    for (std::size_t i = 0; i < memory.size(); ++i) {
      EXPECT_EQ(memory.at(i), i >= 4040 + off && i < 6041 + off ? 2 : 1) << off << ' ' << i;
    }
  }
}

TEST(Kernels, OfReordersTakeOperandsAnywhere) {
  cudnn::backend device(1);
  const run::plan_of<cudnn::backend, op::reorder> moved(device, {{2, 16, 4, 1}, "abcd", "acdb"},
                                                        {});
  alignas(16) std::array<float, 300> memory{};
  for (const std::size_t off : {0U, 1U, 2U, 3U}) {  // of 16 bytes
    std::iota(memory.begin(), memory.end(), 0.0F);
    moved.run(moved.bind(std::vector<address>{&memory.at(off), &memory.at(140 + off)}, nullptr));
    for (std::size_t i = 0; i < 128; ++i) {
      const std::size_t image = i / 64 * 64;
      const std::size_t source = image + i % 16 * 4 + i % 64 / 16;
      EXPECT_EQ(memory.at(140 + off + i), static_cast<float>(off + source)) << off << ' ' << i;
    }
  }
}

/// Numbers that begin `off` of them behind a multiple of 16 bytes, with others around. All are -1.
template <class T>
class placed_numbers {
 public:
  placed_numbers(std::int64_t count, std::int64_t off)
      : off_(off), count_(count), memory_(static_cast<std::size_t>(off + count + 16), T(-1.0F)) {}

  T& operator[](std::int64_t i) { return memory_[static_cast<std::size_t>(off_ + i)]; }

  /// Makes them 1, 2 and so on up to 100, again and again.
  void count_up() {
    for (std::int64_t i = 0; i < count_; ++i) (*this)[i] = T(static_cast<float>(1 + i % 100));
  }

  /// With those around.
  [[nodiscard]] std::vector<float> all() const {
    std::vector<float> values;
    for (const T& one : memory_) values.push_back(static_cast<float>(one));
    return values;
  }

 private:
  std::int64_t off_;
  std::int64_t count_;
  std::vector<T> memory_;
};

/// Calls `check(type, T{}, off, off1)` for types and for places of two operands in 16 bytes.
template <class Check>
void for_types_and_places(const Check& check) {
  for (const dtype type : {dtype::f32, dtype::bf16, dtype::f16}) {
    for (const auto& [off, off1] : {std::pair{0, 0}, {0, 1}, {1, 0}, {1, 1}}) {
      SCOPED_TRACE(fmt::format("{} {} {}", name(type), off, off1));
      with_number(type, [&, off = off, off1 = off1](auto number) {
        check(type, number, std::int64_t{off}, std::int64_t{off1});
      });
    }
  }
}

TEST(Kernels, OfPaddingTakeOperandsAnywhere) {
  cudnn::backend device(1);
  // Groups of 16 bytes along the last axis, and along joined ones; no such groups.
  for (const op::pad& o : {op::pad{{2, 3, 16}, {{1, 1, 8}}, {{0, 2, 16}}},
                           op::pad{{2, 8, 5}, {{0, 16, 0}}, {{1, 0, 0}}},
                           op::pad{{2, 3, 16}, {{0, 1, 3}}, {{0, 0, 5}}},
                           op::pad{{2, 3, 5}, {{1, 1, 0}}, {{0, 1, 0}}}}) {
    SCOPED_TRACE(key(o));
    for_types_and_places([&]<class T>(dtype type, T, std::int64_t off, std::int64_t off1) {
      const dims whole = o.padded();
      placed_numbers<T> src(elements(o.dims), off);
      placed_numbers<T> dst(elements(whole), off1);
      placed_numbers<T> again = src;
      placed_numbers<T> expected = dst;
      src.count_up();
      for (std::int64_t i = 0; i < elements(whole); ++i) expected[i] = T(0.0F);
      for (std::int64_t i = 0; i < elements(o.dims); ++i) {
        const std::int64_t c = o.before.sizes[2] + i % o.dims[2];
        const std::int64_t b = o.before.sizes[1] + i / o.dims[2] % o.dims[1];
        const std::int64_t a = o.before.sizes[0] + i / o.dims[2] / o.dims[1];
        expected[(a * whole[1] + b) * whole[2] + c] = src[i];
      }
      const run::plan_of<cudnn::backend, op::pad> padded(device, o, {fwd, type});
      padded.run(padded.bind(std::vector<address>{&src[0], &dst[0]}, nullptr));
      EXPECT_EQ(dst.all(), expected.all());
      const run::plan_of<cudnn::backend, op::pad> cut(device, o, {bwd, type});
      cut.run(cut.bind(std::vector<address>{&dst[0], &again[0]}, nullptr));
      EXPECT_EQ(again.all(), src.all());
    });
  }
}

TEST(Kernels, OfBiasesTakeOperandsAnywhere) {
  const cudnn::backend device(1);
  // Images, channels, and pixels that follow each other, most with a tail behind 16 bytes.
  using shape = std::array<std::int64_t, 3>;
  for (const auto& [images, channels, pixels] : {shape{7, 16, 1}, shape{15, 5, 1}, shape{41, 1, 1},
                                                 shape{2, 3, 8}, shape{3, 5, 7}, shape{9, 7, 3}}) {
    SCOPED_TRACE(fmt::format("{} {} {}", images, channels, pixels));
    for_types_and_places([&, images = images, channels = channels, pixels = pixels]<class T>(
                             dtype type, T, std::int64_t off, std::int64_t off1) {
      const std::int64_t size = images * channels * pixels;
      placed_numbers<T> dst(size, off);
      placed_numbers<T> bias(channels, off1);
      dst.count_up();
      bias.count_up();
      placed_numbers<T> expected = dst;
      for (std::int64_t i = 0; i < size; ++i) {
        expected[i] =
            T(static_cast<float>(dst[i]) + static_cast<float>(bias[i / pixels % channels]));
      }
      device.find(type, "add_bias").launch({1, 4}, &dst[0], &bias[0], size, channels, pixels);
      EXPECT_EQ(dst.all(), expected.all());
    });
  }
}

TEST(Kernels, OfPostOpsTakeOperandsAnywhereAndApplyThemInOrder) {
  const cudnn::backend device(1);
  using enum op::post_op;
  const op::post_op leaky = op::post_op_of(op::activation_kind::leaky_relu);
  const op::post_op clipped = op::post_op_of(op::activation_kind::relu6);
  for (const std::int64_t size : {1, 8, 37}) {
    for_types_and_places([&]<class T>(dtype type, T, std::int64_t off, std::int64_t off1) {
      placed_numbers<T> src(size, off);
      placed_numbers<T> addend(size, off1);
      placed_numbers<T> dst(size, off);
      src.count_up();
      addend.count_up();
      dst.count_up();
      const op::operand result{"dst", {size}, op::role::destination, type};
      for (const bool overwrites : {false, true}) {
        const op::post_ops post{clipped, overwrites ? sum : add, leaky, add};
        const gpu::post_kernel kernel(device, post, result);
        EXPECT_EQ(kernel.scratch_bytes() > 0, overwrites) << "the sum reads dst";
        placed_numbers<T> expected = dst;
        placed_numbers<T>& first = overwrites ? dst : addend;
        for (std::int64_t i = 0; i < size; ++i) {
          const float x =
              std::clamp(static_cast<float>(src[i]), 0.0F, 6.0F) + static_cast<float>(first[i]);
          expected[i] = T((x < 0 ? 0.01F * x : x) + static_cast<float>(addend[i]));
        }
        const std::vector<address> operands{overwrites ? &dst[0] : &addend[0], &addend[0], &dst[0]};
        kernel.run(&src[0], operands);
        EXPECT_EQ(dst.all(), expected.all()) << size << ' ' << overwrites;
      }
    });
  }
}

TEST(Kernels, OfCrossEntropyTakeOperandsAnywhere) {
  cudnn::backend device(1);
  for (const op::cross_entropy& o :
       {op::cross_entropy{3, 16}, {5, 7}, {9, 3}, {41, 1}, {2, 1001}}) {
    SCOPED_TRACE(key(o));
    for_types_and_places([&]<class T>(dtype type, T, std::int64_t off, std::int64_t off1) {
      placed_numbers<T> probabilities(o.n * o.c, off);
      placed_numbers<T> gradient(o.n * o.c, off1);
      placed_numbers<T> expected = gradient;
      probabilities.count_up();
      std::vector<float> target;
      for (std::int64_t image = 0; image < o.n; ++image) {
        target.push_back(static_cast<float>(image * 5 % (o.c + 2) - 1));  // some are no classes
        for (std::int64_t i = image * o.c; i < (image + 1) * o.c; ++i) {
          const bool correct = i == image * o.c + o.label_of(target.back());
          expected[i] = T((static_cast<float>(probabilities[i]) - (correct ? 1.0F : 0.0F)) *
                          (1 / static_cast<float>(o.n)));
        }
      }
      const run::plan_of<cudnn::backend, op::cross_entropy> loss(device, o, {bwd, type});
      loss.run(
          loss.bind(std::vector<address>{&probabilities[0], target.data(), &gradient[0]}, nullptr));
      EXPECT_EQ(gradient.all(), expected.all());
    });
  }
}

TEST(Kernels, AreCompiledOnceForEachTypeOfNumbers) {
  for (const dtype type : {dtype::f32, dtype::tf32, dtype::bf16, dtype::f16}) {
    for (int i = 0; i < 2; ++i) {
      cudnn::backend device(1);
      const run::plan_of<cudnn::backend, op::reorder> one(device, {{2, 2}, "ab", "ba"},
                                                          {fwd, type});
      const run::plan_of<cudnn::backend, op::dropout> other(device, {.dims = {2}}, {bwd, type});
    }
  }
  EXPECT_EQ(host_compilations, 3);
}

TEST(Kernels, AreNamedInAlgorithms) {
  cudnn::backend device(1);
  using enum op::update_rule;
  for (const auto& [rule, text] :
       {std::pair{momentum, "layerbench:update_momentum"}, std::pair{zero, "cudaMemsetAsync"}}) {
    const op::update o{.rule = rule, .sizes = {1}};
    EXPECT_EQ((run::plan_of<cudnn::backend, op::update>(device, o, {}).algorithm()), text);
  }
  const op::pool o{.h = 2, .r = 2};
  EXPECT_EQ((run::plan_of<cudnn::backend, op::pool>(device, o, {bwd}).algorithm()),
            "layerbench:pool_max_gradient");
}

TEST(Kernels, AreFoundByTheNamesThatTheyHad) {
  device_for<op::pool> pools(1);
  const op::any pool(op::pool{.h = 2, .r = 2});
  for (const char* name : {"nvrtc_pool_max_gradient", "layerbench:pool_max_gradient"}) {
    EXPECT_EQ(pools.plan(pool, {.pass = bwd, .algorithm = name})->algorithm(),
              "layerbench:pool_max_gradient");
  }
  EXPECT_THROW(pools.plan(pool, {.pass = bwd, .algorithm = "cudnnPoolingBackward"}), unsupported);
  device_for<op::gemm> products(1);
  const op::any product(op::gemm{.m = 2, .n = 3, .k = 4, .post = {op::post_op::add}});
  const std::string now = products.plan(product, {})->algorithm();
  ASSERT_TRUE(now.ends_with("+layerbench:post_ops")) << now;
  const std::string before = now.substr(0, now.find('+')) + "_and_kernel";
  EXPECT_EQ(products.plan(product, {.algorithm = before})->algorithm(), now);
}

TEST(Kernels, AreUnsupportedInOtherTypesAndOrders) {
  cudnn::backend device(1);
  using update = run::plan_of<cudnn::backend, op::update>;
  for (const auto rule : {op::update_rule::sgd, op::update_rule::zero}) {
    for (const dtype type : {dtype::f64, dtype::s8, dtype::f8_e4m3}) {
      EXPECT_THROW(update(device, {.rule = rule, .sizes = {1}}, {fwd, type}), unsupported);
    }
  }
  using reorder = run::plan_of<cudnn::backend, op::reorder>;
  for (const std::string order : {"aBcd16b", "aBcd"}) {
    EXPECT_THROW(reorder(device, {{1, 16, 1, 1}, "abcd", order}, {}), unsupported) << order;
  }
}

TEST(Convolutions, InEightBitsAgreeWithTheReference) {
  device_for<op::conv> device(1);
  dice d(3);
  for (int i = 0; i < 200 && !HasFailure(); ++i) {
    const auto o =
        i % 2 == 0 ? testing::random_op<op::conv>(d) : testing::random_fused_op<op::conv>(d);
    const plan_request request{fwd, dtype::f8_e4m3, d.pick({layout::nhwc, layout::any})};
    SCOPED_TRACE(key(o));
    std::unique_ptr<run::any_plan> plan;
    try {
      plan = device.plan(op::any(o), request);
    } catch (const unsupported& gap) {
      EXPECT_THAT(gap.what(), ::testing::HasSubstr("to a convolution")) << "a function";
      continue;
    }
    EXPECT_EQ(plan->operands()[0].logical.type, dtype::f8_e4m3);
    EXPECT_EQ(plan->operands().back().logical.type, dtype::bf16);
    ASSERT_NO_THROW(run::verify(device, *plan, reference::exact_value_of(o, fwd), 1, true));
    const auto others = device.alternatives(*plan, op::any(o), request, 4);
    const auto fast = std::ranges::find_if(
        others, [](const auto& other) { return other->algorithm().ends_with("_fast"); });
    ASSERT_NE(fast, others.end());
    ASSERT_NO_THROW(run::verify(device, **fast, reference::exact_value_of(o, fwd), 1, true));
    const plan_request again{.pass = fwd,
                             .type = dtype::f8_e4m3,
                             .layout = request.layout,
                             .algorithm = (*fast)->algorithm()};
    EXPECT_EQ(device.plan(op::any(o), again)->algorithm(), again.algorithm);
  }
  const op::any conv(op::conv{.n = 1, .c = 16, .h = 3, .w = 3, .k = 16});
  for (const op::pass pass : {bwd_data, bwd_weights}) {
    EXPECT_THROW(static_cast<void>(device.plan(conv, {pass, dtype::f8_e4m3})), unsupported);
  }
}

TEST(Kernels, SumTheGradientOfABias) {
  expect_right_in<op::conv>({bwd_weights}, [](op::conv& o, dice&) { o.bias = true; });
}

template <class Backend>
class RecordedCopies : public ::testing::Test {};
using copying_backends = ::testing::Types<cublas::backend, cudnn::backend>;
TYPED_TEST_SUITE(RecordedCopies, copying_backends);

TYPED_TEST(RecordedCopies, AreKernels) {
  TypeParam device(1);
  for (const std::size_t bytes : {0U, 1U, 15U, 16U, 17U, 64U, 1000U}) {
    for (const std::size_t shift : {0U, 1U, 4U}) {
      alignas(16) std::array<unsigned char, 1100> from{};
      alignas(16) std::array<unsigned char, 1100> to{};
      for (std::size_t i = 0; i < from.size(); ++i)
        from[i] = static_cast<unsigned char>(1 + i % 251);
      const auto copies = device.record([&] { device.copy(&to[shift], &from[2 * shift], bytes); });
      EXPECT_EQ(host_recorded_copies, 0);
      EXPECT_THAT(to, ::testing::Each(0)) << "nothing runs yet";
      copies->launch();
      device.synchronize();
      for (std::size_t i = 0; i < to.size(); ++i) {
        const bool copied = i >= shift && i < shift + bytes;
        ASSERT_EQ(to[i], copied ? from[i + shift] : 0) << bytes << " bytes, " << i;
      }
    }
  }
}

}  // namespace
}  // namespace layerbench
