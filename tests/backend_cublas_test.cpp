// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <layerbench/backend/adapter.hpp>
#include <layerbench/backend/cublas/gemm.hpp>
#include <layerbench/backend/reference/gemm.hpp>
#include <layerbench/session/verify.hpp>

#include "support/host_cublas.hpp"
#include "support/host_cuda.hpp"
#include "support/host_kernels.hpp"
#include "support/random_ops.hpp"

/// cuBLAS plans against the reference formula, on a stand-in for the library that computes what the
/// calls describe. This program links none of the libraries.

namespace layerbench {
namespace {

TEST(Gemm, AgreesWithTheReferenceInEveryFormAndPass) {
  run::backend_device<cublas::backend, op::gemm> device(1);
  testing::dice d(7);
  int ran = 0;
  for (int i = 0; i < 300; ++i) {
    const auto o = testing::random_op<op::gemm>(d);
    const auto passes = o.passes();
    for (const op::pass pass : passes) {
      const plan_request request{pass, d.pick({dtype::f32, dtype::tf32, dtype::f16, dtype::bf16}),
                                 layout::nhwc};
      SCOPED_TRACE(fmt::format("{} {} {}", name(pass), name(request.type), key(o)));
      if (pass == op::pass::bwd) {  // of a batch
        EXPECT_THROW(static_cast<void>(device.plan(op::any(o), request)), unsupported);
        continue;
      }
      ASSERT_NO_THROW(run::verify(device, *device.plan(op::any(o), request),
                                  reference::exact_value_of(o, pass), 1, true));
      ++ran;
    }
  }
  EXPECT_GT(ran, 500);
}

TEST(Gemm, InEightBitsAgreesWithTheReferenceWhereTheLibraryHasIt) {
  run::backend_device<cublas::backend, op::gemm> device(1);
  testing::dice d(8);
  int ran = 0;
  for (int i = 0; i < 300; ++i) {
    auto o = testing::random_op<op::gemm>(d);
    if (d.chance(4)) o.m = 1;
    if (d.chance(4)) o.a_transposed = false;
    if (!d.chance(4)) o.n = 16 * d.between(1, 3);
    if (!d.chance(4)) o.k = 16 * d.between(1, 5);
    for (const op::pass pass : o.passes()) {
      SCOPED_TRACE(fmt::format("{} {}", name(pass), key(o)));
      const plan_request request{pass, dtype::f8_e4m3, layout::nhwc};
      const bool has = pass == op::pass::fwd && (!o.a_transposed || o.m == 1) && o.b_transposed &&
                       o.n % 16 == 0 && o.k % 16 == 0;
      if (has) {
        ASSERT_NO_THROW(run::verify(device, *device.plan(op::any(o), request),
                                    reference::exact_value_of(o, pass), 1, true));
        ++ran;
      } else {
        ASSERT_THROW(static_cast<void>(device.plan(op::any(o), request)), unsupported);
      }
    }
  }
  EXPECT_GT(ran, 50);
}

run::compute_device& gemm_device() {
  static run::backend_device<cublas::backend, op::gemm> device(1);
  return device;
}
op::any product_in(dtype type) {
  if (type != dtype::f8_e4m3) return op::any(op::gemm{.m = 2, .n = 3, .k = 4});
  return op::any(op::gemm{.m = 16, .n = 16, .k = 16, .b_transposed = true});
}
std::unique_ptr<run::any_plan> plan_in(dtype type, const std::string& algorithm = {}) {
  return gemm_device().plan(product_in(type), {.type = type, .algorithm = algorithm});
}
std::unique_ptr<run::any_plan> plan_in_8_bits(const std::string& algorithm = {}) {
  return plan_in(dtype::f8_e4m3, algorithm);
}
/// The other algorithms beside the library's choice.
std::vector<std::string> others_in(dtype type) {
  std::vector<std::string> names;
  const plan_request request{.type = type};
  for (const auto& other :
       gemm_device().alternatives(*plan_in(type), product_in(type), request, 9)) {
    names.push_back(other->algorithm());
  }
  return names;
}
std::string algorithm(dtype type) { return plan_in(type)->algorithm(); }

/// Of an algorithm of the stand-in, whose attributes have their own numbers as values.
std::string algorithm_text(int number) {
  return fmt::format("algo{}_tile1_stages6_splitk2_reduction3_swizzle4_custom5_inner7_cluster8",
                     number);
}

TEST(Gemm, NamesItsAlgorithm) { EXPECT_EQ(algorithm(dtype::f32), algorithm_text(0)); }

TEST(Gemm, HasOneNameForEachAlgorithm) {
  cublas::backend device(1);
  testing::dice d(9);
  algorithms_found = 32;
  algorithms_differ_in_attributes = true;
  for (int i = 0; i < 20; ++i) {
    const auto o = testing::random_op<op::gemm>(d);
    SCOPED_TRACE(key(o));
    const plan_request request{op::pass::fwd, dtype::f16, layout::nhwc};
    run::plan_of<cublas::backend, op::gemm> first(device, o, request);
    std::set<std::string> names;
    for (const run::alternative& one : first.alternatives(31)) {
      EXPECT_TRUE(names.insert(one.algorithm).second);
      plan_request named = request;
      named.algorithm = one.algorithm;
      EXPECT_EQ((run::plan_of<cublas::backend, op::gemm>(device, o, named).algorithm()),
                one.algorithm);
    }
    EXPECT_EQ(names.size(), 32U);
  }
  algorithms_found = 1;
  algorithms_differ_in_attributes = false;
}

TEST(Gemm, IsByTheAlgorithmThatIsAskedFor) {
  algorithms_found = 3;
  broken_algorithm = 1;
  EXPECT_THAT(others_in(dtype::f32), ::testing::ElementsAre(algorithm_text(2))) << "beside its own";
  EXPECT_EQ(plan_in(dtype::f32, algorithm_text(2))->algorithm(), algorithm_text(2));
  EXPECT_THROW(static_cast<void>(plan_in(dtype::f32, algorithm_text(3))), unsupported);
  algorithms_found = 1;
  broken_algorithm = -1;
}

TEST(Gemm, OfF32IsNotOnTensorCores) {
  static_cast<void>(algorithm(dtype::f32));
  EXPECT_EQ(implementations & CUBLASLT_NUMERICAL_IMPL_FLAGS_TENSOR_OP_MASK, 0U);
  static_cast<void>(algorithm(dtype::tf32));
  EXPECT_EQ(implementations & CUBLASLT_NUMERICAL_IMPL_FLAGS_FMA, 0U);
  EXPECT_NE(implementations & CUBLASLT_NUMERICAL_IMPL_FLAGS_HMMA, 0U);
}

TEST(Gemm, AddsUpPartsInF32) {
  for (const dtype type : {dtype::f16, dtype::bf16}) {
    static_cast<void>(algorithm(type));
    EXPECT_EQ(reductions, std::uint32_t{CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE}) << name(type);
  }
  static_cast<void>(plan_in_8_bits());
  EXPECT_EQ(reductions, std::uint32_t{CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE});
  for (const dtype type : {dtype::f32, dtype::tf32}) {
    static_cast<void>(algorithm(type));
    EXPECT_EQ(reductions, std::uint32_t{CUBLASLT_REDUCTION_SCHEME_MASK}) << name(type);
  }
}

TEST(Gemm, InEightBitsHasFastAccumulationBeside) {
  algorithms_found = 2;
  EXPECT_EQ(plan_in_8_bits()->algorithm(), algorithm_text(0)) << "without it by default";
  const std::vector<std::string> names = others_in(dtype::f8_e4m3);
  for (const std::string& name : names) EXPECT_EQ(plan_in_8_bits(name)->algorithm(), name);
  EXPECT_THAT(names, ::testing::ElementsAre(algorithm_text(0) + "_fast", algorithm_text(1),
                                            algorithm_text(1) + "_fast"));
  EXPECT_THAT(others_in(dtype::f16), ::testing::SizeIs(1));
  EXPECT_THROW(static_cast<void>(plan_in(dtype::f16, algorithm_text(0) + "_fast")), unsupported);
  algorithms_found = 1;
}

TEST(Gemm, WithFastAccumulationIsWithinABoundForIt) {
  run::backend_device<cublas::backend, op::gemm> device(1);
  const op::gemm o{.m = 32, .n = 32, .k = 8192, .b_transposed = true};
  const auto verify = [&](const std::string& algorithm) {
    run::verify(device, *device.plan(op::any(o), {.type = dtype::f8_e4m3, .algorithm = algorithm}),
                reference::exact_value_of(o, op::pass::fwd), 1, true);
  };
  EXPECT_NO_THROW(verify(algorithm_text(0)));
  EXPECT_NO_THROW(verify(algorithm_text(0) + "_fast"));
  always_fast = true;
  EXPECT_THROW(verify(algorithm_text(0)), run::wrong_result)
      << "larger than the tolerance of sums in parts";
  always_fast = false;
}

/// Without fast accumulation the tensor cores have 14 bits of each part of a sum, too, which shows
/// in results near 0.
TEST(Gemm, InEightBitsIsWithinABoundForItsParts) {
  run::backend_device<cublas::backend, op::gemm> device(1);
  for (const std::int64_t k : {64, 256, 1024}) {
    const op::gemm o{.m = 16, .n = 32, .k = k, .b_transposed = true};
    const auto plan = device.plan(op::any(o), {.type = dtype::f8_e4m3});
    for (std::uint64_t seed = 1; seed <= 30; ++seed) {
      EXPECT_NO_THROW(run::verify(device, *plan, reference::exact_value_of(o, op::pass::fwd), seed,
                                  seed % 2 == 0))
          << k << " " << seed;
    }
  }
}

TEST(Gemm, SaysHowItsOperandsAreAligned) {
  alignments.clear();
  static_cast<void>(algorithm(dtype::f32));
  EXPECT_THAT(alignments, ::testing::ElementsAre(64U, 64U, 64U, 64U)) << "as rows have them";
}

TEST(Gemm, WithoutAnAlgorithmIsUnsupported) {
  algorithms_found = 0;
  EXPECT_THROW(static_cast<void>(algorithm(dtype::f32)), unsupported);
  algorithms_found = 1;
  EXPECT_THROW(static_cast<void>(algorithm(dtype::f64)), unsupported);
}

}  // namespace
}  // namespace layerbench
