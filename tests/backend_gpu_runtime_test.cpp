// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstddef>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <layerbench/backend/adapter.hpp>
#include <layerbench/backend/host_buffer.hpp>
#include <layerbench/backend/kernels/gpu/plans/activation.hpp>
#include <layerbench/backend/kernels/gpu/plans/add.hpp>
#include <layerbench/backend/kernels/gpu/plans/append.hpp>
#include <layerbench/backend/kernels/gpu/plans/concat.hpp>
#include <layerbench/backend/kernels/gpu/plans/dropout.hpp>
#include <layerbench/backend/kernels/gpu/plans/embedding.hpp>
#include <layerbench/backend/kernels/gpu/plans/multiply.hpp>
#include <layerbench/backend/kernels/gpu/plans/pad.hpp>
#include <layerbench/backend/kernels/gpu/plans/reorder.hpp>
#include <layerbench/backend/kernels/gpu/plans/rotary.hpp>
#include <layerbench/backend/kernels/gpu/plans/slice.hpp>
#include <layerbench/backend/kernels/gpu/plans/stream.hpp>
#include <layerbench/backend/kernels/gpu/plans/transpose.hpp>
#include <layerbench/backend/kernels/gpu/plans/update.hpp>
#include <layerbench/backend/reference/all_plans.hpp>
#include <layerbench/session/verify.hpp>

#include "support/host_launch.hpp"
#include "support/random_ops.hpp"

/// Layerbench's kernels on another run time than CUDA's: a whole backend of a GPU that is this
/// program's processor. The program links no library of NVIDIA's.

namespace layerbench {
namespace {

namespace other {

class backend : public gpu::runtime {
 public:
  static constexpr std::string_view name = "other";
  explicit backend(int /*threads*/) {}
  static run::backend_entry entry() { return {}; }

  std::unique_ptr<run::device_memory> allocate(std::size_t bytes) const override {
    return std::make_unique<run::memory_of<host_buffer>>(host_buffer(bytes));
  }
  void copy(address to, const void* from, std::size_t bytes) const override {
    std::memmove(to, from, bytes);
  }
  void fill(address to, std::size_t bytes, std::byte value) const override {
    std::memset(to, std::to_integer<int>(value), bytes);
  }
  std::string_view fill_call() const override { return "otherFill"; }
  int multiprocessors() const override { return 2; }

 protected:
  std::string target() const override { return "processor"; }
  std::string_view prelude() const override { return "// the prelude\n"; }
  /// Code is its own source.
  std::string compile(const std::string& source) const override { return source; }
  std::shared_ptr<void> load(const std::string& code) const override {
    EXPECT_THAT(code, ::testing::StartsWith(prelude()));
    const auto has = [&](std::string_view part) { return code.find(part) != code.npos; };
    const host_kernels& all = has(gpu::f32_source)    ? host_f32::all()
                              : has(gpu::bf16_source) ? host_bf16::all()
                                                      : host_f16::all();
    return std::make_shared<host_kernels>(all);
  }
  void* function_of(void* loaded, const char* wanted) const override {
    return reinterpret_cast<void*>(static_cast<const host_kernels*>(loaded)->at(wanted));
  }
  void launch(void* function, const char* /*name*/, const gpu::grid& size,
              void** arguments) const override {
    host_run_grid({size.blocks, size.rows, 1}, {size.threads, 1, 1},
                  reinterpret_cast<host_kernel>(function)(arguments));
  }
};

}  // namespace other
}  // namespace

template <class Op>
class plan<other::backend, Op> : public gpu::own_plan<Op> {
  using gpu::own_plan<Op>::own_plan;
};

namespace {

using testing::dice;

template <class Op>
class OtherRuntime : public ::testing::Test {};
using own_ops = ::testing::Types<op::activation, op::add, op::append, op::concat, op::dropout,
                                 op::embedding, op::multiply, op::pad, op::reorder, op::rotary,
                                 op::slice, op::stream, op::transpose, op::update>;
TYPED_TEST_SUITE(OtherRuntime, own_ops);

TYPED_TEST(OtherRuntime, RunsTheSamePlans) {
  run::backend_device<other::backend, TypeParam> device(1);
  dice d(3);
  for (int i = 0; i < 40 && !this->HasFailure(); ++i) {
    auto o = testing::random_op<TypeParam>(d);
    if constexpr (std::is_same_v<TypeParam, op::reorder>) o = {{2, 3, 4, 5}, "abcd", "acdb"};
    for (const op::pass pass : op::passes(o)) {
      SCOPED_TRACE(fmt::format("{} {}", op::name(pass), key(o)));
      const plan_request request{pass, d.pick({dtype::f32, dtype::f16, dtype::bf16})};
      const auto plan = device.plan(op::any(o), request);
      EXPECT_THAT(plan->algorithm(),
                  ::testing::AnyOf(::testing::HasSubstr("layerbench:"), "otherFill"));
      EXPECT_NO_THROW(run::verify(device, *plan, reference::exact_value_of(o, pass), 1, true));
    }
  }
}

}  // namespace
}  // namespace layerbench
