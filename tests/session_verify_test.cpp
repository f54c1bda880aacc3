// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <layerbench/backend/adapter.hpp>
#include <layerbench/backend/reference/all_plans.hpp>
#include <layerbench/op/add.hpp>
#include <layerbench/session/benchmark_row.hpp>
#include <layerbench/session/verify.hpp>

/// A backend that adds wrongly, and whether verify() detects it.
namespace layerbench::faulty {

enum class fault { none, unwritten, not_a_number, infinite, slightly_off, shifted };

struct backend : reference::backend {
  static constexpr std::string_view name = "faulty";

  using reference::backend::backend;

  static inline fault what = fault::none;
  static inline std::size_t where = 0;
};

}  // namespace layerbench::faulty

namespace layerbench {

/// Stores f32 as it is and s8 as integers, like a library would.
template <>
class plan<faulty::backend, op::add> : public run::any_plan {
 public:
  plan(const faulty::backend& /*here*/, const op::add& op, const plan_request& request)
      : count_(static_cast<std::size_t>(elements(op.dims))) {
    for (const op::operand& operand : op.operands(request.pass, request.type)) {
      operands_.push_back({operand, "a", count_ * traits(operand.type).bytes});
    }
  }

  [[nodiscard]] const std::vector<plan_operand>& operands() const override { return operands_; }
  [[nodiscard]] std::string algorithm() const override { return "faulty"; }
  void upload(std::size_t /*operand*/, std::span<const float> values, address to) const override {
    for (std::size_t j = 0; j < values.size(); ++j) store(to, j, values[j]);
  }
  void download(std::size_t /*operand*/, address from, std::span<float> values) const override {
    for (std::size_t j = 0; j < values.size(); ++j) values[j] = load(from, j);
  }
  using binding = std::vector<address>;
  [[nodiscard]] static binding bind(std::span<const address> places, address /*workspace*/) {
    return {places.begin(), places.end()};
  }
  static void place(binding& bound, std::span<const address> places) {
    bound.assign(places.begin(), places.end());
  }

  void run(const binding& bound) const {
    for (std::size_t j = 0; j < count_; ++j) {
      using faulty::fault;
      const fault what = faulty::backend::what;
      const bool is_faulty = j == faulty::backend::where || what == fault::shifted;
      if (is_faulty && what == fault::unwritten) continue;
      const float sum = load(bound[0], j) + load(bound[1], j);
      store(bound[2], j, is_faulty ? spoiled(sum) : sum);
    }
  }

 private:
  [[nodiscard]] bool is_integer() const { return operands_[2].logical.type == dtype::s8; }
  [[nodiscard]] float scale() const { return static_cast<float>(operands_[2].logical.scale); }

  [[nodiscard]] float load(address from, std::size_t j) const {
    if (is_integer()) return scale() * static_cast<std::int8_t*>(from)[j];
    return static_cast<float*>(from)[j];
  }
  void store(address to, std::size_t j, float value) const {
    if (is_integer()) {
      const double stored = std::clamp(std::nearbyint(value / scale()), -128.0F, 127.0F);
      static_cast<std::int8_t*>(to)[j] = static_cast<std::int8_t>(stored);
    } else {
      static_cast<float*>(to)[j] = value;
    }
  }

  [[nodiscard]] float spoiled(float sum) const {
    using enum faulty::fault;
    switch (faulty::backend::what) {
      case not_a_number: return std::numeric_limits<float>::quiet_NaN();
      case infinite: return std::numeric_limits<float>::infinity();
      case slightly_off: {  // by 1 %, or by the least that an integer can be wrong
        const float clamped = is_integer() ? std::clamp(sum, -1.0F, 1.0F) : sum;
        const float step = is_integer() ? scale() : 0.01F * std::abs(sum);
        return clamped > 0 ? clamped - step : clamped + step;
      }
      case shifted: return sum * 0.99F - scale();
      default: return sum;
    }
  }

  std::size_t count_;
  std::vector<plan_operand> operands_;
};

static_assert(implements<faulty::backend, op::add>);

namespace session_verify_test {

using faulty::fault;
using ::testing::HasSubstr;

constexpr std::size_t count = 1000;
constexpr std::size_t unsampled = 1;  // a sample of 61 out of 1000 takes every 16th

/// The error of verify(); empty when the result passes.
std::string complaint(fault what, std::size_t where, dtype type, bool every_output) {
  faulty::backend::what = what;
  faulty::backend::where = where;
  run::backend_device<faulty::backend, op::add> device(1);
  const op::add op{{static_cast<std::int64_t>(count)}};
  const auto plan = device.plan(op::any(op), {.type = type});
  try {
    run::verify(device, *plan, reference::exact_value_of(op, op::pass::fwd), 7, every_output);
  } catch (const run::wrong_result& found) {
    EXPECT_EQ(found.code(), exit_code::incomplete);
    return found.what();
  }
  return {};
}

class verify : public ::testing::TestWithParam<dtype> {
 protected:
  static std::vector<fault> faults() {
    std::vector<fault> all{fault::unwritten, fault::slightly_off};
    if (GetParam() != dtype::s8) {
      all.insert(all.end(), {fault::not_a_number, fault::infinite});
    }
    return all;
  }
};

TEST_P(verify, accepts_a_right_result) {
  EXPECT_EQ(complaint(fault::none, 0, GetParam(), true), "");
  EXPECT_EQ(complaint(fault::none, 0, GetParam(), false), "");
}

TEST_P(verify, of_every_output_finds_one_wrong_element_anywhere) {
  for (const fault what : faults()) {
    for (const std::size_t where : {std::size_t{0}, unsampled, count / 2, count - 2, count - 1}) {
      EXPECT_THAT(complaint(what, where, GetParam(), true),
                  HasSubstr(fmt::format("dst[{}]", where)))
          << static_cast<int>(what);
    }
  }
}

TEST_P(verify, of_a_sample_finds_a_wrong_first_or_last_element) {
  for (const fault what : faults()) {
    for (const std::size_t where : {std::size_t{0}, count - 1}) {
      EXPECT_THAT(complaint(what, where, GetParam(), false),
                  HasSubstr(fmt::format("dst[{}]", where)))
          << static_cast<int>(what);
    }
  }
}

TEST_P(verify, of_a_sample_finds_any_element_that_was_never_written) {
  EXPECT_THAT(complaint(fault::unwritten, unsampled, GetParam(), false),
              HasSubstr(fmt::format("dst[{}]", unsampled)));
}

TEST_P(verify, of_a_sample_finds_what_is_wrong_everywhere) {
  EXPECT_NE(complaint(fault::shifted, 0, GetParam(), false), "");
}

TEST_P(verify, of_a_sample_looks_at_some_outputs_only) {
  EXPECT_EQ(complaint(fault::slightly_off, unsampled, GetParam(), false), "");
}

INSTANTIATE_TEST_SUITE_P(run, verify, ::testing::Values(dtype::f32, dtype::s8),
                         [](const auto& tested) { return std::string(name(tested.param)); });

TEST(verification, of_a_wrong_plan_fails_for_each_of_its_rows) {
  const auto context = std::make_shared<run::device_context>(
      std::make_unique<run::backend_device<faulty::backend, op::add>>(1));
  const op::add op{{100}};
  const auto prepare = [&](std::uint64_t seed) {
    run::benchmark_row row({.name = {},
                            .op = op::any(op),
                            .signature = {},
                            .expected = reference::exact_value_of(op, op::pass::fwd)},
                           context);
    row.prepare({.seed = seed});
  };
  faulty::backend::what = fault::shifted;
  EXPECT_THROW(prepare(1), run::wrong_result);
  faulty::backend::what = fault::none;
  EXPECT_THROW(prepare(1), run::wrong_result) << "of another cache state";
  EXPECT_NO_THROW(prepare(2));
}

TEST(verification, of_long_sums_on_a_gpu_compares_fewer_outputs) {
  EXPECT_EQ(run::device_sampled_outputs(0), run::sampled_outputs);
  EXPECT_EQ(run::device_sampled_outputs(500'000), run::sampled_outputs);
  EXPECT_EQ(run::device_sampled_outputs(1'000'000), 33);
  EXPECT_EQ(run::device_sampled_outputs(std::int64_t{1} << 40), 5);
}

TEST(random_values, fill_the_range_and_are_what_the_type_can_hold) {
  for (const dtype type : {dtype::f32, dtype::bf16, dtype::f16, dtype::s8}) {
    const op::operand wide{"src", {5000}, op::role::source, type, -1, 1};
    const std::vector<float> values = run::random_values(wide, 1);
    const auto [low, high] = std::ranges::minmax(values);
    EXPECT_LT(low, -0.99);
    EXPECT_GE(low, -1);
    EXPECT_GT(high, 0.99);
    EXPECT_LE(high, 1);
    for (const float v : values) {
      ASSERT_EQ(v, static_cast<float>(round_to(type, v, wide.scale))) << name(type);
    }
  }
}

TEST(random_values, depend_on_the_seed_and_the_position_alone) {
  const op::operand narrow{"src", {10}, op::role::source, dtype::f32};
  const op::operand wide{"src", {4, 25}, op::role::source, dtype::f32};
  const std::vector<float> few = run::random_values(narrow, 3);
  const std::vector<float> many = run::random_values(wide, 3);
  EXPECT_TRUE(std::ranges::equal(few, std::span(many).first(10)));
  EXPECT_NE(few, run::random_values(narrow, 4));
}

}  // namespace session_verify_test
}  // namespace layerbench
