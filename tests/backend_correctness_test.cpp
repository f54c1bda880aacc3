// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <iostream>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <layerbench/backend/adapter.hpp>
#include <layerbench/backend/built_backends.hpp>
#include <layerbench/op/list.hpp>
#include <layerbench/session/verify.hpp>

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
    !std::is_same_v<Op, op::embedding>;
template <class Op>
bool is_known_gap(const Op& /*op*/, const plan_request& request) {
  return request.type == dtype::s8 && !has_integers<Op>;
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
  for (std::int64_t y = 0; y < o.p(); ++y) {
    all = all && reached(y, o.r, o.dilation.v, o.pad.top, o.stride.v, o.h);
  }
  for (std::int64_t x = 0; x < o.q(); ++x) {
    all = all && reached(x, o.s, o.dilation.h, o.pad.left, o.stride.h, o.w);
  }
  return request.type == dtype::s8 && !all;
}
bool is_known_gap(const op::gemm& o, const plan_request& request) {
  return request.pass != op::pass::fwd && o.a_transposed;
}
bool is_known_gap(const op::pool& o, const plan_request& /*request*/) {
  const bool beyond = (o.p() - 1) * o.stride.v + o.r > o.pad.top + o.h + o.pad.bottom ||
                      (o.q() - 1) * o.stride.h + o.s > o.pad.left + o.w + o.pad.right;
  return o.kind == op::pool_kind::average && o.count_padding && beyond;
}
bool is_known_gap(const op::lrn& o, const plan_request& request) {
  if (request.type == dtype::s8) return true;
  const bool wrong = o.c > 16 && (request.type == dtype::f32 ? o.c % 16 != 0 && o.size > 5
                                                             : o.c % 16 != 0 || o.size > 5);
  return request.pass == op::pass::bwd && (wrong || o.size == 1);
}
bool is_known_gap(const op::rnn& o, const plan_request& request) {
  return request.type == dtype::s8 || (o.layers > 1 && o.bidirectional) ||
         (request.pass == op::pass::bwd && request.type != dtype::f32);
}
bool is_known_gap(const op::activation& o, const plan_request& request) {
  return request.type == dtype::s8 && o.kind != op::activation_kind::relu;
}

/// Whether this CPU's instructions let a backend compute in a 16-bit type.
template <class B>
bool has_type(dtype type) {
  if (std::is_same_v<B, reference::backend>) return true;
  description facts;
  B::describe(facts);
  const std::string isa = facts["onednn_isa"];
  if (type == dtype::bf16) return isa.starts_with("avx512_core");
  if (type == dtype::f16) return isa == "avx512_core_fp16" || isa == "avx512_core_amx";
  return true;
}

/// On a GPU, which few machines have; of these libraries much is not used yet.
template <class B>
constexpr bool on_gpu = B::name == "cudnn" || B::name == "cublas";

struct tally {
  int drawn = 0;
  int ran = 0;
};

/// Runs `op` and compares all its outputs. False when the backend has no plan.
template <class B, class Op>
bool agrees(run::compute_device& device, const Op& op, const plan_request& request,
            std::uint64_t seed) {
  try {
    run::verify(device, *device.plan(op::any(op), request),
                reference::exact_value_of(op, request.pass), seed, true);
  } catch (const unsupported& gap) {
    const bool excused = on_gpu<B> || (!std::is_same_v<B, reference::backend> &&
                                       (is_known_gap(op, request) || !has_type<B>(request.type)));
    EXPECT_TRUE(excused) << gap.what();
    return false;
  } catch (const std::exception& e) {
    ADD_FAILURE() << e.what();
  }
  return true;
}

template <class B, class Op>
tally check_random_shapes(dtype type, int shapes, int threads) {
  run::backend_device<B, Op> device(threads);
  dice d(41);
  tally sum;
  while (sum.ran < shapes && sum.drawn < 3 * shapes) {
    const auto o = testing::random_op<Op>(d);
    const std::vector<op::pass> passes = op::passes(o);
    const op::pass drawn = passes[static_cast<std::size_t>(
        d.between(0, static_cast<std::int64_t>(passes.size()) - 1))];
    const plan_request request{.pass = type == dtype::s8 ? passes.front() : drawn,
                               .type = type,
                               .order = d.pick({layout::nhwc, layout::nchw, layout::any})};
    SCOPED_TRACE(fmt::format("{} {} {} {} {} {}", B::name, Op::name, name(request.pass), name(type),
                             name(request.order), key(o)));
    sum.ran += agrees<B>(device, o, request, static_cast<std::uint64_t>(sum.drawn)) ? 1 : 0;
    ++sum.drawn;
    if (::testing::Test::HasFailure()) break;
  }
  return sum;
}

template <class Op>
class random_shapes : public ::testing::Test {
 protected:
  static constexpr int many = 500;
  static constexpr int some = 40;

  template <class... Backends>
  static void agree(dtype type, int shapes, int threads, backend_list<Backends...> /*built*/) {
    (expect_enough<Backends>(type, shapes, threads), ...);
  }

 private:
  template <class B>
  static void expect_enough(dtype type, int wanted, int threads) {
    const std::optional<std::string> reason = B::probe();
    if (reason && on_gpu<B>) {
      std::cout << fmt::format("{} is left out: {}\n", B::name, *reason);
      return;
    }
    // Collectives have backends of their own.
    constexpr bool collective = std::is_same_v<Op, op::allreduce>;
    if (collective && !std::is_same_v<B, reference::backend>) return;
    const tally found = check_random_shapes<B, Op>(type, wanted, threads);
    std::cout << fmt::format("{} {}: ran {} of {} shapes\n", B::name, name(type), found.ran,
                             found.drawn);
    if (on_gpu<B>) {
      const bool has_some = implements<B, Op> && type != dtype::s8;
      EXPECT_GE(found.ran, has_some ? 1 : 0) << B::name;
      return;
    }
    const bool has_none =
        type == dtype::s8 && !has_integers<Op> && !std::is_same_v<B, reference::backend>;
    EXPECT_GE(found.ran, has_none || !has_type<B>(type) ? 0 : wanted) << B::name;
  }
};

template <class... Ops>
::testing::Types<Ops...> types_of(op::list<Ops...>);
using all_ops = decltype(types_of(op::builtin{}));
TYPED_TEST_SUITE(random_shapes, all_ops);

TYPED_TEST(random_shapes, agree_with_the_reference_in_f32) {
  this->agree(dtype::f32, this->many, 1, built_backends{});
}
TYPED_TEST(random_shapes, agree_with_the_reference_in_bf16) {
  this->agree(dtype::bf16, this->many, 1, built_backends{});
}
TYPED_TEST(random_shapes, agree_with_the_reference_in_f16) {
  this->agree(dtype::f16, this->many, 1, built_backends{});
}
TYPED_TEST(random_shapes, agree_with_the_reference_in_s8) {
  this->agree(dtype::s8, this->many, 1, built_backends{});
}
TYPED_TEST(random_shapes, agree_with_the_reference_on_two_threads) {
  this->agree(dtype::f32, this->some, 2, built_backends{});
}

}  // namespace backend_correctness_test
}  // namespace layerbench
