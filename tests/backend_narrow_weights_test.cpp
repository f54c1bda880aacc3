// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <layerbench/backend/registry.hpp>
#include <layerbench/op/gemm.hpp>
#include <layerbench/op/test_data.hpp>
#include <layerbench/session/verify.hpp>

#include "support/built_backends.hpp"
#include "support/mentions.hpp"
#include "support/random_ops.hpp"

/// Products of floating-point numbers with weights of 4 or 8 bits.
namespace layerbench {
namespace backend_narrow_weights_test {

using op::narrow_type;
using testing::mentions;

constexpr op::gemm small{.m = 2, .n = 6, .k = 64, .weights_type = narrow_type::s4};

/// Why a backend has no such plan; nothing if it has one.
std::optional<std::string> refusal_of(const run::backend_entry& backend) {
  try {
    static_cast<void>(backend.make_device(1)->plan(op::any(small), {}));
  } catch (const unsupported& gap) {
    return gap.what();
  }
  return std::nullopt;
}

class narrow_weights : public ::testing::TestWithParam<dtype> {};

TEST_P(narrow_weights, agree_with_the_reference) {
  constexpr int shapes = 300;
  bool checked_library = false;
  for (const run::backend_entry& backend : testing::built_backends().backends) {
    if (!backend.on_host || !testing::has_type(backend, GetParam()) || refusal_of(backend)) {
      continue;
    }
    checked_library = checked_library || backend.name != "reference";
    const auto device = backend.make_device(1);
    testing::dice d(43);
    for (int i = 0; i < shapes; ++i) {
      const op::gemm o = testing::random_narrow_gemm(d);
      SCOPED_TRACE(fmt::format("{} {}", backend.name, key(o)));
      const auto plan = device->plan(op::any(o), {.type = GetParam()});
      SCOPED_TRACE(plan->algorithm());
      ASSERT_NO_THROW(run::verify(*device, *plan,
                                  testing::built_backends().oracle.of(op::any(o), op::pass::fwd),
                                  static_cast<std::uint64_t>(i), /*every_output=*/true));
    }
  }
  if (!checked_library) GTEST_SKIP() << "no library of this build has such products in this type";
}

INSTANTIATE_TEST_SUITE_P(in, narrow_weights, ::testing::Values(dtype::f32, dtype::bf16, dtype::f16),
                         [](const auto& type) { return std::string(name(type.param)); });

/// Number `i` of packed ones, as docs/formats.md says: the first of a byte in its lower half.
int decoded(const std::vector<std::uint8_t>& bytes, std::size_t i, dtype type) {
  const int half = i % 2 == 0 ? bytes[i / 2] & 0xF : bytes[i / 2] >> 4;
  return type == dtype::s4 && half > 7 ? half - 16 : half;
}

TEST(packing, puts_two_numbers_into_a_byte) {
  const run::backend_entry* const onednn = testing::built_backends().find("onednn");
  if (onednn == nullptr) GTEST_SKIP() << "this build has no oneDNN";
  if (const auto reason = refusal_of(*onednn)) GTEST_SKIP() << *reason;
  const auto device = onednn->make_device(1);
  testing::dice d(44);
  for (int i = 0; i < 300; ++i) {
    op::gemm o = testing::random_narrow_gemm(d);
    if (o.weights_type == narrow_type::s8) continue;
    const auto plan = device->plan(op::any(o), {});
    for (std::size_t operand = 1; operand < o.bias_operand(); ++operand) {
      const plan_operand& of = plan->operands()[operand];
      if (!is_4_bit(of.logical.type)) continue;
      SCOPED_TRACE(fmt::format("{} {} {}", key(o), of.logical.name, of.order));
      const std::vector<float> values =
          run::random_values(of.logical, static_cast<std::uint64_t>(i));
      std::vector<std::uint8_t> bytes(of.bytes);
      plan->upload(operand, values, bytes.data());
      ASSERT_EQ(of.bytes, (values.size() + 1) / 2);
      const auto columns = static_cast<std::size_t>(of.logical.extents[1]);
      const std::size_t rows = values.size() / columns;
      // The library chooses one of two orders.
      const auto holds = [&](bool transposed) {
        for (std::size_t j = 0; j < values.size(); ++j) {
          const std::size_t at = transposed ? j % columns * rows + j / columns : j;
          if (decoded(bytes, at, of.logical.type) != static_cast<int>(values[j])) return false;
        }
        return true;
      };
      ASSERT_TRUE(holds(false) || holds(true));
      std::vector<float> back(values.size());
      plan->download(operand, bytes.data(), back);
      ASSERT_EQ(back, values);
    }
  }
}

TEST(backends_without_narrow_weights, say_so_and_what_helps) {
  for (const run::backend_entry& backend : testing::built_backends().backends) {
    if (!backend.on_host || backend.probe() || backend.name == "reference") continue;
    const auto device = backend.make_device(1);
    if (!device->implements_op(op::any(small))) continue;
    const auto reason = refusal_of(backend);
    if (!reason) continue;  // a oneDNN that has them, which the other tests check
    EXPECT_THAT(*reason, mentions(backend.name == "onednn" ? "s4" : "integers"));
    if (backend.name != "onednn") continue;
    EXPECT_THAT(*reason, mentions("3.5", "docs/compare.md"));
  }
}

}  // namespace backend_narrow_weights_test
}  // namespace layerbench
