// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <layerbench/backend/registry.hpp>
#include <layerbench/op/list.hpp>
#include <layerbench/session/verify.hpp>

#include "support/built_backends.hpp"
#include "support/random_ops.hpp"

/// Every plan of every backend of this build against the reference formula, on random shapes.
namespace layerbench {
namespace backend_correctness_test {

using testing::dice;

// What oneDNN has no plan for, by op; everything else must run.
template <class Op>
constexpr bool has_integers =
    !std::is_same_v<Op, op::softmax> && !std::is_same_v<Op, op::cross_entropy> &&
    !std::is_same_v<Op, op::update> && !std::is_same_v<Op, op::dropout> &&
    !std::is_same_v<Op, op::lrn> && !std::is_same_v<Op, op::rnn> &&
    !std::is_same_v<Op, op::embedding> && !std::is_same_v<Op, op::layernorm> &&
    !std::is_same_v<Op, op::attention> && !std::is_same_v<Op, op::rotary> &&
    !std::is_same_v<Op, op::topk> && !std::is_same_v<Op, op::routed_gemm> &&
    !std::is_same_v<Op, op::groupnorm>;
template <class Op>
bool is_known_gap(const Op& /*op*/, const plan_request& request) {
  return is_integer(request.type) && !has_integers<Op>;
}
bool is_known_gap(const op::conv& o, const plan_request& request) {
  // Taps that meet padding alone.
  const auto meets = [](std::int64_t tap, std::int64_t outputs, std::int64_t stride,
                        std::int64_t pad, std::int64_t dilation, std::int64_t size) {
    for (std::int64_t i = 0; i < outputs; ++i) {
      const std::int64_t at = i * stride - pad + tap * dilation;
      if (at >= 0 && at < size) return true;
    }
    return false;
  };
  bool all = true;
  for (std::int64_t t = 0; t < o.t; ++t) {
    all = all && meets(t, o.z(), o.depth_stride, o.depth_pad.value, o.depth_dilation, o.d);
  }
  for (std::int64_t r = 0; r < o.r; ++r) {
    all = all && meets(r, o.p(), o.stride.v, o.pad.top, o.dilation.v, o.h);
  }
  for (std::int64_t s = 0; s < o.s; ++s) {
    all = all && meets(s, o.q(), o.stride.h, o.pad.left, o.dilation.h, o.w);
  }
  return request.pass == op::pass::bwd_weights && request.type != dtype::f32 && !all;
}
/// Taps that meet padding alone, and outputs that no tap reaches.
bool is_known_gap(const op::deconv& o, const plan_request& request) {
  const op::conv other = o.transposed();
  if (is_known_gap(other, request)) return true;
  const bool in_16_bits = request.type == dtype::bf16 || request.type == dtype::f16;
  if (in_16_bits && request.pass == op::pass::bwd_data && testing::has_early_amx()) return true;
  const auto reached = [](std::int64_t output, std::int64_t taps, std::int64_t dilation,
                          std::int64_t pad, std::int64_t stride, std::int64_t size) {
    for (std::int64_t i = 0; i < size; ++i) {
      for (std::int64_t tap = 0; tap < taps; ++tap) {
        if (i * stride - pad + tap * dilation == output) return true;
      }
    }
    return false;
  };
  bool all = true;
  for (std::int64_t z = 0; z < o.z(); ++z) {
    all = all && reached(z, o.t, o.depth_dilation, o.depth_pad.value, o.depth_stride, o.d);
  }
  for (std::int64_t y = 0; y < o.p(); ++y) {
    all = all && reached(y, o.r, o.dilation.v, o.pad.top, o.stride.v, o.h);
  }
  for (std::int64_t x = 0; x < o.q(); ++x) {
    all = all && reached(x, o.s, o.dilation.h, o.pad.left, o.stride.h, o.w);
  }
  return is_integer(request.type) && !all;
}
bool is_known_gap(const op::pool& o, const plan_request& /*request*/) {
  const bool beyond = (o.z() - 1) * o.depth_stride + o.t > o.d + 2 * o.depth_pad.value ||
                      (o.p() - 1) * o.stride.v + o.r > o.pad.top + o.h + o.pad.bottom ||
                      (o.q() - 1) * o.stride.h + o.s > o.pad.left + o.w + o.pad.right;
  const bool padded = o.depth_pad.value + o.pad.top + o.pad.left + o.pad.bottom + o.pad.right > 0;
  return o.kind == op::pool_kind::average && o.count_padding && padded && beyond;
}
bool is_known_gap(const op::lrn& o, const plan_request& request) {
  if (is_integer(request.type)) return true;
  const bool wrong = o.c > 16 && (request.type == dtype::f32 ? o.c % 16 != 0 && o.size > 5
                                                             : o.c % 16 != 0 || o.size > 5);
  return request.pass == op::pass::bwd && (wrong || o.size == 1);
}
/// Recurrent layers in f16 need more than the instructions for f16 of a processor without AMX.
bool is_known_gap(const op::rnn& o, const plan_request& request) {
  const bool unfused = request.how == op::manner::unfused;
  return is_integer(request.type) || (o.layers > 1 && o.bidirectional && !unfused) ||
         (request.type == dtype::f16 && !unfused) ||
         (request.type == dtype::bf16 && !unfused && testing::has_early_amx()) ||
         (request.pass == op::pass::bwd && request.type != dtype::f32);
}
bool is_known_gap(const op::activation& o, const plan_request& request) {
  return is_integer(request.type) && o.kind != op::activation_kind::relu;
}

/// Post-ops that oneDNN lacks: all but relu of a normalization, additions of integers in other
/// memory, and some to depthwise convolutions of integers.
template <class Op>
bool is_post_op_gap(const Op& o, const plan_request& request) {
  if constexpr (requires { o.post; }) {
    if (std::is_same_v<Op, op::batchnorm>) return o.post != op::post_ops{op::post_op::relu};
    bool integers = is_integer(request.type);
    if constexpr (requires { o.addend_type; }) {
      integers = is_integer(dtype_of(o.addend_type, dtype_of(o.dst_type, request.type)));
    }
    if constexpr (std::is_same_v<Op, op::conv>) {
      const bool depthwise = o.groups == o.c && o.groups == o.k && o.c % 8 != 0;
      integers = integers || (depthwise && is_integer(request.type));
    }
    return integers && std::ranges::find(o.post, op::post_op::add) != o.post.end();
  }
  return false;
}

/// What libraries of matrix products alone lack of a product.
template <class Op>
bool is_product_gap(const run::backend_entry& backend, const Op& o) {
  if constexpr (requires { o.post; }) {
    return testing::has_products_alone(backend) && !o.post.empty();
  }
  return false;
}

bool is_reference(const run::backend_entry& backend) { return backend.name == "reference"; }

struct tally {
  int drawn = 0;
  int ran = 0;
  int failed = 0;
  std::map<op::pass, int> ran_in_pass;  ///< of all that were drawn
  std::map<std::string, int> gaps;      ///< how often each reason was given for having no plan
};

template <class Op>
class random_shapes : public ::testing::Test {
 protected:
  static constexpr int many = 500;
  static constexpr int some = 40;

  using draw = Op (*)(dice&);

  static void agree(dtype type, int shapes, int threads, draw drawn = &testing::random_op<Op>,
                    op::manner how = op::manner::direct) {
    const bool gpus_alone = std::getenv("LAYERBENCH_GPUS_ALONE") != nullptr;
    for (const run::backend_entry& backend : testing::built_backends().backends) {
      if (gpus_alone && backend.on_host) continue;
      // GPUs' libraries have no other manner, and layerbench has no plans of volumes for them.
      if ((how != op::manner::direct || draws_volumes(drawn)) && !backend.on_host) continue;
      if (type == dtype::tf32 && backend.on_host) continue;  // a type of GPUs alone
      expect_enough(backend, type, shapes, threads, drawn, how);
    }
  }

 private:
  static bool draws_volumes(draw drawn) {
    if constexpr (requires(Op o) { o.has_depth(); }) {
      dice d(41);
      return drawn(d).has_depth();
    }
    return false;
  }

  static void expect_enough(const run::backend_entry& backend, dtype type, int wanted, int threads,
                            draw drawn, op::manner how) {
    // GPUs, which few machines have; of their libraries much is not used yet.
    const bool on_gpu = !backend.on_host;
    const std::optional<std::string> reason = backend.probe();
    if (reason && on_gpu) {
      std::cout << fmt::format("{} is left out: {}\n", backend.name, *reason);
      return;
    }
    // Collectives have backends of their own.
    constexpr bool collective = op::is_collective<Op>;
    if (collective && !is_reference(backend)) return;
    const std::unique_ptr<run::compute_device> device = backend.make_device(threads);
    if (testing::has_products_alone(backend) && !device->implements_op(op::any(Op{}))) return;
    // A GPU's library compiles a kernel for each shape of these.
    const bool fused = drawn != &testing::random_op<Op>;
    constexpr bool is_compiled =
        std::is_same_v<Op, op::attention> || std::is_same_v<Op, op::layernorm>;
    if (on_gpu && (fused || is_compiled)) wanted = std::min(wanted, some);
    const tally found = check(backend, *device, type, wanted, drawn, how);
    std::cout << fmt::format("{} {}: ran {} of {} shapes\n", backend.name, name(type), found.ran,
                             found.drawn);
    if (on_gpu) {
      for (const auto& [reason_of_gap, count] : found.gaps) {
        std::cout << fmt::format("  {} times: {}\n", count, reason_of_gap);
      }
      // cuDNN has no local response normalisation in bf16, and attention in 16 bits alone.
      const bool in_16_bits = type == dtype::f16 || type == dtype::bf16;
      const bool lacks_type = is_integer(type) ||
                              (std::is_same_v<Op, op::lrn> && type == dtype::bf16) ||
                              (std::is_same_v<Op, op::attention> && !in_16_bits);
      const bool has_plans = device->implements_op(op::any(Op{})) && !lacks_type;
      EXPECT_GE(found.ran, has_plans ? 0.8 * wanted : 0) << backend.name;
      for (const auto& [pass, ran] : found.ran_in_pass) {
        // cuBLAS lacks the gradients of batches of products.
        const bool lacks_pass = std::is_same_v<Op, op::gemm> && pass == op::pass::bwd;
        EXPECT_GE(ran, has_plans && !fused && !lacks_pass ? 1 : 0)
            << backend.name << ' ' << name(pass);
      }
      return;
    }
    const bool has_none =
        !is_reference(backend) &&
        ((testing::has_products_alone(backend) && (fused || is_integer(type))) ||
         (is_integer(type) && !has_integers<Op>) ||
         (std::is_same_v<Op, op::rnn> && how == op::manner::direct &&
          (type == dtype::f16 || (type == dtype::bf16 && testing::has_early_amx()))));
    EXPECT_GE(found.ran, has_none || !testing::has_type(backend, type) ? 0 : wanted)
        << backend.name;
  }

  static tally check(const run::backend_entry& backend, run::compute_device& device, dtype type,
                     int shapes, draw drawn_by, op::manner how) {
    dice d(41);
    tally sum;
    while (sum.ran < shapes && sum.drawn < 4 * shapes) {
      const Op o = drawn_by(d);
      const std::vector<op::pass> passes = op::any(o).called(how).passes();
      const op::pass drawn = passes[static_cast<std::size_t>(
          d.between(0, static_cast<std::int64_t>(passes.size()) - 1))];
      const plan_request request{.pass = is_integer(type) ? passes.front() : drawn,
                                 .type = type,
                                 .layout = d.pick({layout::nhwc, layout::nchw, layout::any}),
                                 .how = how};
      SCOPED_TRACE(fmt::format("{} {} {} {} {} {} {}", backend.name, Op::name, name(request.pass),
                               name(type), name(request.layout), key(o), name(how)));
      const auto seed = static_cast<std::uint64_t>(sum.drawn);
      const int ran = agrees(backend, device, o, request, seed, sum) ? 1 : 0;
      sum.ran += ran;
      sum.ran_in_pass[request.pass] += ran;
      ++sum.drawn;
      // GPUs have many plans for the same op: all wrong ones are of interest.
      const int most_failures = backend.on_host ? 1 : 20;
      if (sum.failed >= most_failures) break;
    }
    return sum;
  }

  /// Runs `o` and compares all its outputs. False when the backend has no plan.
  static bool agrees(const run::backend_entry& backend, run::compute_device& device, const Op& o,
                     const plan_request& request, std::uint64_t seed, tally& sum) {
    const op::any work = op::any(o).called(request.how);
    std::string algorithm;
    try {
      const std::unique_ptr<run::any_plan> plan = device.plan(work, request);
      algorithm = plan->algorithm();
      run::verify(device, *plan, testing::built_backends().oracle.of(work, request.pass), seed,
                  true);
    } catch (const unsupported& gap) {
      ++sum.gaps[fmt::format("{}: {}", name(request.pass), gap.what())];
      const bool excused =
          !backend.on_host ||
          (!is_reference(backend) &&
           (is_known_gap(o, request) || is_post_op_gap(o, request) || is_product_gap(backend, o) ||
            !testing::has_type(backend, request.type)));
      sum.failed += excused ? 0 : 1;
      EXPECT_TRUE(excused) << gap.what();
      return false;
    } catch (const std::exception& e) {
      ++sum.failed;
      ADD_FAILURE() << algorithm << ": " << e.what();
    }
    return true;
  }
};

template <class... Ops>
::testing::Types<Ops...> types_of(op::list<Ops...>);
using all_ops = decltype(types_of(op::builtin{}));
TYPED_TEST_SUITE(random_shapes, all_ops);

TYPED_TEST(random_shapes, agree_with_the_reference_in_f32) {
  this->agree(dtype::f32, this->many, 1);
}
TYPED_TEST(random_shapes, agree_with_the_reference_in_bf16) {
  this->agree(dtype::bf16, this->many, 1);
}
TYPED_TEST(random_shapes, agree_with_the_reference_in_f16) {
  this->agree(dtype::f16, this->many, 1);
}
TYPED_TEST(random_shapes, agree_with_the_reference_in_tf32) {
  const auto on_gpu = [](const run::backend_entry& backend) { return !backend.on_host; };
  if (std::ranges::none_of(testing::built_backends().backends, on_gpu)) {
    GTEST_SKIP() << "a type of GPUs, for which this build has no backend";
  }
  this->agree(dtype::tf32, this->many, 1);
}
TYPED_TEST(random_shapes, agree_with_the_reference_in_s8) { this->agree(dtype::s8, this->many, 1); }
TYPED_TEST(random_shapes, agree_with_the_reference_on_two_threads) {
  this->agree(dtype::f32, this->some, 2);
}

template <class Op>
class fused_shapes : public random_shapes<Op> {};

using fused_ops = ::testing::Types<op::conv, op::deconv, op::gemm, op::add, op::batchnorm>;
TYPED_TEST_SUITE(fused_shapes, fused_ops);

TYPED_TEST(fused_shapes, agree_with_the_reference_in_f32) {
  this->agree(dtype::f32, this->many, 1, &testing::random_fused_op<TypeParam>);
}
TYPED_TEST(fused_shapes, agree_with_the_reference_in_bf16) {
  this->agree(dtype::bf16, this->many, 1, &testing::random_fused_op<TypeParam>);
}
TYPED_TEST(fused_shapes, agree_with_the_reference_on_two_threads) {
  this->agree(dtype::f32, this->some, 2, &testing::random_fused_op<TypeParam>);
}

template <class Op>
class volume_shapes : public random_shapes<Op> {
 protected:
  static constexpr int shapes = 300;
};

using ops_of_volumes = ::testing::Types<op::conv, op::deconv, op::pool>;
TYPED_TEST_SUITE(volume_shapes, ops_of_volumes);

TYPED_TEST(volume_shapes, agree_with_the_reference_in_f32) {
  this->agree(dtype::f32, this->shapes, 1, &testing::random_volume_op<TypeParam>);
}
TYPED_TEST(volume_shapes, agree_with_the_reference_in_bf16) {
  this->agree(dtype::bf16, this->some, 1, &testing::random_volume_op<TypeParam>);
}
TYPED_TEST(volume_shapes, agree_with_the_reference_in_f16) {
  this->agree(dtype::f16, this->some, 1, &testing::random_volume_op<TypeParam>);
}
TYPED_TEST(volume_shapes, agree_with_the_reference_in_s8) {
  if (std::is_same_v<TypeParam, op::conv> && testing::has_early_amx()) {
    const auto device = testing::built_backends().find("onednn")->make_device(1);
    const op::any conv(op::conv{.h = 4, .w = 4, .d = 4, .t = 3});
    EXPECT_THROW(static_cast<void>(device->plan(conv, {.type = dtype::s8})), unsupported);
    return;
  }
  this->agree(dtype::s8, this->some, 1, &testing::random_volume_op<TypeParam>);
}
TYPED_TEST(volume_shapes, agree_with_the_reference_on_two_threads) {
  this->agree(dtype::f32, this->some, 2, &testing::random_volume_op<TypeParam>);
}

template <class Op>
class other_volume_shapes : public random_shapes<Op> {};

using ops_of_fused_volumes = ::testing::Types<op::conv, op::deconv>;
TYPED_TEST_SUITE(other_volume_shapes, ops_of_fused_volumes);

TYPED_TEST(other_volume_shapes, agree_with_the_reference) {
  this->agree(dtype::f32, this->some, 1, &testing::random_fused_volume_op<TypeParam>);
  this->agree(dtype::bf16, this->some, 1, &testing::random_fused_volume_op<TypeParam>);
  for (const op::manner how : op::manners(TypeParam{})) {
    this->agree(dtype::f32, this->some, 1, &testing::random_volume_op<TypeParam>, how);
  }
}

// Ops that are called in another manner.
template <class Op>
class other_manners : public random_shapes<Op> {
 protected:
  static void agree(dtype type, int shapes, int threads) {
    for (const op::manner how : op::manners(Op{})) {
      random_shapes<Op>::agree(type, shapes, threads, &testing::random_op<Op>, how);
    }
  }
};

using ops_with_manners = ::testing::Types<op::conv, op::rnn>;
TYPED_TEST_SUITE(other_manners, ops_with_manners);

TYPED_TEST(other_manners, agree_with_the_reference_in_f32) {
  this->agree(dtype::f32, this->many, 1);
}
TYPED_TEST(other_manners, agree_with_the_reference_in_bf16) {
  this->agree(dtype::bf16, this->many, 1);
}
TYPED_TEST(other_manners, agree_with_the_reference_on_two_threads) {
  this->agree(dtype::f32, this->some, 2);
}

// In f32 and an order of its choice, oneDNN takes brdgmm_dw for forward_inference only.
TEST(reordering_convolution, has_the_algorithms_of_training) {
  const op::any conv =
      op::any(op::conv{.n = 1, .c = 32, .h = 56, .w = 56, .k = 32, .r = 3, .s = 3, .groups = 32})
          .called(op::manner::reorders);
  const run::backend_entry* const backend = testing::built_backends().find("onednn");
  if (backend == nullptr) GTEST_SKIP() << "this build has no oneDNN";
  const auto device = backend->make_device(1);
  const std::string algorithm = device->plan(conv, {.layout = layout::nchw})->algorithm();
  EXPECT_EQ(algorithm.find("brdgmm"), std::string::npos) << algorithm;
}

TEST(reordering_convolution, is_made_again_by_its_algorithm_and_has_no_integers) {
  const op::any conv =
      op::any(op::conv{.n = 1, .c = 32, .h = 8, .w = 8, .k = 32}).called(op::manner::reorders);
  const run::backend_entry* const backend = testing::built_backends().find("onednn");
  if (backend == nullptr) GTEST_SKIP() << "this build has no oneDNN";
  const auto device = backend->make_device(1);
  plan_request request{.layout = layout::nchw};
  request.algorithm = device->plan(conv, request)->algorithm();
  EXPECT_EQ(device->plan(conv, request)->algorithm(), request.algorithm);
  EXPECT_THROW(static_cast<void>(device->plan(conv, {.type = dtype::s8})), unsupported);
}

// Of the others oneDNN has few post-ops for integers.
template <class Op>
class fused_integers : public random_shapes<Op> {};

using fused_integer_ops = ::testing::Types<op::conv, op::gemm, op::batchnorm>;
TYPED_TEST_SUITE(fused_integers, fused_integer_ops);

TYPED_TEST(fused_integers, agree_with_the_reference) {
  this->agree(dtype::s8, this->some, 1, &testing::random_fused_op<TypeParam>);
}

// Steps in s8 have tensors in u8, and calls whose tensors have several types.
template <class Op>
class quantized_shapes : public random_shapes<Op> {};

using quantized_ops = ::testing::Types<op::conv, op::gemm>;
TYPED_TEST_SUITE(quantized_shapes, quantized_ops);

TYPED_TEST(quantized_shapes, agree_with_the_reference_in_s8) {
  this->agree(dtype::s8, this->many, 1, &testing::random_quantized_op<TypeParam>);
}
TYPED_TEST(quantized_shapes, agree_with_the_reference_in_u8) {
  this->agree(dtype::u8, this->many, 1, &testing::random_quantized_op<TypeParam>);
}

template <class Op>
class unsigned_shapes : public random_shapes<Op> {};

using unsigned_ops =
    ::testing::Types<op::conv, op::gemm, op::pool, op::concat, op::reorder, op::quantize>;
TYPED_TEST_SUITE(unsigned_shapes, unsigned_ops);

TYPED_TEST(unsigned_shapes, agree_with_the_reference) { this->agree(dtype::u8, this->some, 1); }

}  // namespace backend_correctness_test
}  // namespace layerbench
