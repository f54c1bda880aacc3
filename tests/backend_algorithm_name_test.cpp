// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <string>

#include <gmock/gmock.h>

#include <layerbench/backend/algorithm_parts.hpp>
#include <layerbench/op/list.hpp>

#include "support/built_backends.hpp"

namespace layerbench {
namespace {

TEST(AlgorithmName, HasThePartsOfTheLibraryAndOfLayerbench) {
  EXPECT_EQ(library_part("brg:avx2"), "brg:avx2");
  EXPECT_EQ(library_part("layerbench:update_adam"), "");
  EXPECT_EQ(library_part("eng1_k2=3[mode_a]_fast+layerbench:post_ops"), "eng1_k2=3[mode_a]_fast");
  EXPECT_EQ(library_part("brg:avx2+layerbench:head_sums+jit:uni"), "brg:avx2+jit:uni");
  EXPECT_EQ(library_part("loop"), "");
  EXPECT_EQ(library_part(""), "");
}

TEST(AlgorithmName, OfAnOlderFileHasTodaysForm) {
  EXPECT_EQ(current_algorithm("nvrtc_add+nvrtc_post_ops"), "layerbench:add+layerbench:post_ops");
  EXPECT_EQ(current_algorithm("cudaMemsetAsync+nvrtc_stream_read"),
            "cudaMemsetAsync+layerbench:stream_read");
  EXPECT_EQ(current_algorithm("algo66_tile20_fast_and_kernel"),
            "algo66_tile20_fast+layerbench:post_ops");
  EXPECT_EQ(current_algorithm("eng1_nvrtc_2"), "eng1_nvrtc_2");
  EXPECT_EQ(current_algorithm("brg:avx2"), "brg:avx2");
  EXPECT_EQ(current_algorithm(""), "");
}

TEST(AlgorithmName, OfAKernelFindsThePlanWhateverItIs) {
  const run::backend_entry* onednn = testing::built_backends().find("onednn");
  if (onednn == nullptr) GTEST_SKIP() << "this build has no oneDNN";
  const auto device = onednn->make_device(1);
  const op::any update(op::update{.rule = op::update_rule::adam, .sizes = {3}});
  const auto asked = [&](const std::string& algorithm) {
    return device->plan(update, {.algorithm = algorithm})->algorithm();
  };
  for (const char* name : {"", "loop", "layerbench:loop", "layerbench:update_adam"}) {
    EXPECT_EQ(asked(name), "layerbench:update_adam") << name;
  }
  EXPECT_THROW(asked("brg:avx2"), unsupported);
}

}  // namespace
}  // namespace layerbench
