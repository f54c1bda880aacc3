// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <dlfcn.h>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <layerbench/backend/cblas/backend.hpp>
#include <layerbench/backend/registry.hpp>
#include <layerbench/base/error.hpp>
#include <layerbench/op/activation.hpp>
#include <layerbench/op/conv.hpp>
#include <layerbench/op/gemm.hpp>
#include <layerbench/session/verify.hpp>

#include "support/built_backends.hpp"
#include "support/random_ops.hpp"

/// The backends on libraries of matrix products; backend_correctness_test.cpp has their usual
/// plans.
namespace layerbench {
namespace backend_cblas_test {

using ::testing::AllOf;
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

INSTANTIATE_TEST_SUITE_P(Libraries, products_of, ::testing::Values("mkl", "openblas", "blis"),
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

TEST_P(products_of, compute_convolutions_of_1x1_where_a_step_of_another_backend_says_so) {
  constexpr int shapes = 200;
  testing::dice d(19);
  for (int i = 0; i < shapes; ++i) {
    op::conv o{.n = d.between(1, 3), .h = d.between(1, 9), .w = d.between(1, 9)};
    o.groups = d.between(1, 3);
    o.c = o.groups * d.between(1, 20);
    o.k = o.groups * d.between(1, 20);
    o.bias = d.between(0, 1) == 1;
    const layout order = d.pick({layout::nhwc, layout::nchw, layout::any});
    SCOPED_TRACE(fmt::format("{} {}", key(o), name(order)));
    const op::any named = op::any(o).on(GetParam());
    EXPECT_TRUE(device_->implements_op(named));
    EXPECT_FALSE(device_->implements_op(op::any(o)));
    const auto plan = device_->plan(named, {.layout = order});
    EXPECT_THAT(plan->algorithm(), EndsWith("cblas_sgemm"));
    run::verify(*device_, *plan, testing::built_backends().oracle.of(named, op::pass::fwd),
                static_cast<std::uint64_t>(i), true);
  }
  const op::any wide(op::conv{.h = 9, .w = 9, .r = 3, .s = 3});
  const op::any one = op::any(op::conv{}).on(GetParam());
  for (const op::any& other :
       {wide.on(GetParam()), one.called(op::manner::reorders),
        op::any(op::conv{.post = {op::post_op::relu}}).on(GetParam()),
        op::any(op::conv{.n = 1 << 20, .c = 64, .h = 8, .w = 8, .k = 64}).on(GetParam())}) {
    EXPECT_TRUE(device_->implements_op(other)) << other.key();
    EXPECT_THROW(static_cast<void>(device_->plan(other, {})), unsupported) << other.key();
  }
  EXPECT_THROW(static_cast<void>(device_->plan(one, {.type = dtype::bf16})), unsupported);
  EXPECT_THROW(static_cast<void>(device_->plan(one, {.pass = op::pass::bwd_data})), unsupported);
}

TEST_P(products_of, are_found_by_steps_of_backends_beside_them) {
  const op::any named = op::any(op::gemm{.m = 4, .n = 8, .k = 3}).on(GetParam());
  const auto other = testing::reference_backend().make_device(1);
  EXPECT_FALSE(other->implements_op(named));
  EXPECT_THROW(static_cast<void>(other->plan(named, {})), unsupported);
  other->set_others({*entry_});
  EXPECT_TRUE(other->implements_op(named));
  EXPECT_EQ(other->plan(named, {})->algorithm(), "cblas_sgemm");
  EXPECT_NE(other->plan(named.on(""), {})->algorithm(), "cblas_sgemm");
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

TEST_P(products_of, are_described_with_version_and_kernels) {
  description facts;
  entry_->describe(facts);
  const std::string name = GetParam();
  EXPECT_THAT(facts.at(name + "_version").value, HasSubstr("."));
  EXPECT_NE(facts.at(name + "_isa").value, "unknown");
}

TEST(BlasLibraries, AreRefusedBesideASecondOpenMP) {
  if (!cblas::is_loaded("libgomp.so.1")) GTEST_SKIP() << "this program has another OpenMP";
  EXPECT_NO_THROW(cblas::require_one_openmp());
  void* const other = ::dlopen(LAYERBENCH_FAKE_IOMP5, RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(other, nullptr) << ::dlerror();
  EXPECT_THAT(cblas::require_one_openmp, ::testing::ThrowsMessage<unavailable>(AllOf(
                                             HasSubstr("libgomp.so.1"), HasSubstr("libiomp5.so"))));
  ::dlclose(other);
  EXPECT_NO_THROW(cblas::require_one_openmp());
}

// In a process of its own: a library that was found stays loaded.
TEST(BlasLibrariesDeathTest, AreRefusedWithThreadsOfTheirOwn) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  int refused = 0;
  for (const auto& [name, fake] :
       {std::pair("openblas", LAYERBENCH_FAKE_OPENBLAS), std::pair("blis", LAYERBENCH_FAKE_BLIS)}) {
    const run::backend_entry* const entry = testing::built_backends().find(name);
    if (entry == nullptr) continue;
    const auto probe_fake = [&] {
      if (::dlopen(fake, RTLD_NOW | RTLD_LOCAL) == nullptr) std::_Exit(1);
      fmt::print(stderr, "{}", entry->probe().value_or("accepted"));
      std::_Exit(0);
    };
    EXPECT_EXIT(probe_fake(), ::testing::ExitedWithCode(0), "this .* threads") << name;
    ++refused;
  }
  if (refused == 0) GTEST_SKIP() << "this build has neither openblas nor blis";
}

// All export cblas_sgemm and many other functions of the same names.
TEST(BlasLibraries, ComputeSideBySide) {
  std::vector<const run::backend_entry*> libraries;
  for (const char* const name : {"mkl", "openblas", "blis"}) {
    const run::backend_entry* const entry = testing::built_backends().find(name);
    if (entry != nullptr && !entry->probe()) libraries.push_back(entry);
  }
  if (libraries.size() < 2) GTEST_SKIP() << "this machine has fewer than two of them";
  libraries.push_back(libraries.front());
  for (const run::backend_entry* const entry : libraries) {
    const auto device = entry->make_device(2);
    const op::any o(op::gemm{.m = 64, .n = 300, .k = 200});
    run::verify(*device, *device->plan(o, {}),
                testing::built_backends().oracle.of(o, op::pass::fwd), 3, true);
  }
}

}  // namespace backend_cblas_test
}  // namespace layerbench
