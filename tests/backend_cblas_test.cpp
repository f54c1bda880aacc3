// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <memory>
#include <string>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <layerbench/backend/registry.hpp>
#include <layerbench/op/activation.hpp>
#include <layerbench/op/gemm.hpp>
#include <layerbench/session/verify.hpp>

#include "support/built_backends.hpp"
#include "support/random_ops.hpp"

/// The backends on libraries of matrix products; backend_correctness_test.cpp has their usual
/// plans.
namespace layerbench {
namespace backend_cblas_test {

using ::testing::EndsWith;
using ::testing::HasSubstr;

class products_of : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    entry_ = testing::built_backends().find(GetParam());
    if (entry_ == nullptr) GTEST_SKIP() << "this build has no " << GetParam();
    if (const auto reason = entry_->probe()) GTEST_SKIP() << GetParam() << ": " << *reason;
    device_ = entry_->make_device(1);
  }
  [[nodiscard]] bool has_packed_weights() const { return entry_->name == "mkl"; }

  [[nodiscard]] std::string algorithm(const op::gemm& o, const plan_request& request) const {
    return device_->plan(op::any(o), request)->algorithm();
  }

  const run::backend_entry* entry_ = nullptr;
  std::unique_ptr<run::compute_device> device_;
};

INSTANTIATE_TEST_SUITE_P(Libraries, products_of, ::testing::Values("mkl", "openblas"),
                         [](const auto& tested) { return std::string(tested.param); });

TEST_P(products_of, agree_with_the_reference_if_weights_are_packed) {
  if (!has_packed_weights()) GTEST_SKIP() << GetParam() << " has no function that packs weights";
  constexpr int products = 500;
  testing::dice d(17);
  for (int i = 0; i < products; ++i) {
    auto o = testing::random_op<op::gemm>(d);
    o.batch = 1;
    SCOPED_TRACE(key(o));
    const auto plan = device_->plan(op::any(o), {.algorithm = "cblas_sgemm_compute"});
    EXPECT_THAT(plan->algorithm(), EndsWith("cblas_sgemm_compute"));
    run::verify(*device_, *plan, testing::built_backends().oracle.of(op::any(o), op::pass::fwd),
                static_cast<std::uint64_t>(i), true);
  }
}

TEST_P(products_of, offer_packed_weights_for_inference_in_f32_alone) {
  const auto offered = [&](const op::gemm& o, const plan_request& request) {
    return !device_->plan(op::any(o), request)->alternatives(12).empty();
  };
  EXPECT_EQ(offered({.m = 4, .n = 8, .k = 3}, {}), has_packed_weights());
  EXPECT_FALSE(offered({.m = 4, .n = 8, .k = 3, .batch = 2}, {}));
  EXPECT_FALSE(offered({.m = 4, .n = 8, .k = 3}, {.pass = op::pass::fwd_training}));
  EXPECT_THROW(
      static_cast<void>(algorithm({.m = 4, .n = 8, .k = 3}, {.pass = op::pass::bwd_data,
                                                             .algorithm = "cblas_sgemm_compute"})),
      unsupported);
}

TEST_P(products_of, say_what_is_called) {
  const op::gemm product{.m = 4, .n = 8, .k = 3};
  EXPECT_EQ(algorithm(product, {}), "cblas_sgemm");
  op::gemm with_bias = product;
  with_bias.bias = true;
  EXPECT_EQ(algorithm(with_bias, {}), "layerbench:bias_rows+cblas_sgemm");
  EXPECT_EQ(algorithm(with_bias, {.pass = op::pass::bwd_weights}),
            "cblas_sgemm+layerbench:column_sums");
  op::gemm batch = product;
  batch.batch = 5;
  EXPECT_EQ(algorithm(batch, {}),
            has_packed_weights() ? "cblas_sgemm_batch_strided" : "loop_of_cblas_sgemm");
}

TEST_P(products_of, refuse_what_the_library_lacks) {
  const auto refused = [&](const op::gemm& o, dtype type) {
    EXPECT_THROW(static_cast<void>(algorithm(o, {.type = type})), unsupported) << name(type);
  };
  op::gemm fused{.m = 4, .n = 8, .k = 3};
  for (const dtype type : {dtype::s8, dtype::u8, dtype::f8_e4m3}) refused(fused, type);
  fused.post = {op::post_op::relu};
  refused(fused, dtype::f32);
  EXPECT_FALSE(device_->implements_op(op::any(op::activation{})));
}

TEST_P(products_of, are_described_with_version_kernels_and_threads) {
  description facts;
  entry_->describe(facts);
  const std::string name = GetParam();
  EXPECT_THAT(facts.at(name + "_version").value, HasSubstr("."));
  EXPECT_NE(facts.at(name + "_isa").value, "unknown");
  EXPECT_EQ(facts.at(name + "_threading").value, "omp");
}

// Both export cblas_sgemm and many other functions of the same names.
TEST(BlasLibraries, ComputeSideBySide) {
  for (const char* const first : {"openblas", "mkl", "openblas"}) {
    const run::backend_entry* const entry = testing::built_backends().find(first);
    if (entry == nullptr) GTEST_SKIP() << "this build has no " << first;
    if (const auto reason = entry->probe()) GTEST_SKIP() << first << ": " << *reason;
    const auto device = entry->make_device(2);
    const op::any o(op::gemm{.m = 64, .n = 300, .k = 200});
    run::verify(*device, *device->plan(o, {}),
                testing::built_backends().oracle.of(o, op::pass::fwd), 3, true);
  }
}

}  // namespace backend_cblas_test
}  // namespace layerbench
