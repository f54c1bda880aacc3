// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include <layerbench/backend/adapter.hpp>
#include <layerbench/backend/reference/all_plans.hpp>
#include <layerbench/op/gemm.hpp>
#include <layerbench/session/verify.hpp>

#include "support/mentions.hpp"

/// A backend whose sums are right, in different orders and precisions, and the verdict of verify().
namespace layerbench::dots {
namespace {

enum class order { forward, in_lanes, in_blocks, pairwise };

float unchanged(float value) { return value; }
float to_tf32(float value) { return static_cast<float>(round_to(dtype::tf32, value)); }
float cut_to_tf32(float value) {
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(value) & 0xFFFFE000U);
}
float to_bf16(float value) { return static_cast<float>(round_to(dtype::bf16, value)); }

struct arithmetic {
  order how = order::forward;
  bool fused = false;                  ///< products go into the sum unrounded
  dtype sums = dtype::f32;             ///< what products and partial sums are rounded to
  float (*factor)(float) = unchanged;  ///< what is done to the factors before
};

struct backend : reference::backend {
  static constexpr std::string_view name = "dots";

  using reference::backend::backend;

  static inline arithmetic uses;
};

/// The sum of `count` of the terms, `stride` apart.
double forward(const double* terms, std::size_t count, std::size_t stride, dtype type) {
  double sum = 0;
  for (std::size_t i = 0; i < count; ++i) sum = round_to(type, sum + terms[i * stride]);
  return sum;
}

double pairwise(const double* terms, std::size_t count, dtype type) {
  if (count == 1) return terms[0];
  const std::size_t half = count / 2;
  return round_to(type, pairwise(terms, half, type) + pairwise(terms + half, count - half, type));
}

/// As vector units do it: each lane adds what is one vector further on.
double in_lanes(const std::vector<double>& terms, dtype type) {
  const std::size_t lanes = std::min<std::size_t>(16, terms.size());
  std::vector<double> sums;
  for (std::size_t i = 0; i < lanes; ++i) {
    sums.push_back(forward(&terms[i], (terms.size() - i + lanes - 1) / lanes, lanes, type));
  }
  return pairwise(sums.data(), lanes, type);
}

/// As libraries do it that keep a block of the factors in the cache.
double in_blocks(const std::vector<double>& terms, dtype type) {
  constexpr std::size_t block = 256;
  std::vector<double> sums;
  for (std::size_t i = 0; i < terms.size(); i += block) {
    sums.push_back(forward(&terms[i], std::min(block, terms.size() - i), 1, type));
  }
  return forward(sums.data(), sums.size(), 1, type);
}

double sum_of(const std::vector<double>& terms, const arithmetic& by) {
  switch (by.how) {
    case order::forward: return forward(terms.data(), terms.size(), 1, by.sums);
    case order::in_lanes: return in_lanes(terms, by.sums);
    case order::in_blocks: return in_blocks(terms, by.sums);
    case order::pairwise: return pairwise(terms.data(), terms.size(), by.sums);
  }
  return 0;
}

}  // namespace
}  // namespace layerbench::dots

namespace layerbench {

/// Dot products of the rows of both factors.
template <>
class plan<dots::backend, op::gemm> : public plan<reference::backend, op::gemm> {
 public:
  plan(dots::backend& device, const op::gemm& op, const plan_request& request)
      : plan<reference::backend, op::gemm>(device, op, request), op_(op), type_(request.type) {}

  void run(const binding& bound) const {
    const auto depth = static_cast<std::size_t>(op_.k);
    const auto columns = static_cast<std::size_t>(op_.n);
    std::vector<double> terms(depth);
    for (std::size_t i = 0; i < bound.outputs[2].size(); ++i) {
      const auto row = bound.inputs[0].memory().subspan(i / columns * depth, depth);
      const auto column = bound.inputs[1].memory().subspan(i % columns * depth, depth);
      std::ranges::transform(row, column, terms.begin(), term);
      bound.outputs[2][i] = static_cast<float>(round_to(type_, sum_of(terms, uses())));
    }
  }

 private:
  static const dots::arithmetic& uses() { return dots::backend::uses; }
  static double term(float a, float b) {
    const double product = static_cast<double>(uses().factor(a)) * uses().factor(b);
    return uses().fused ? product : round_to(uses().sums, product);
  }

  op::gemm op_;
  dtype type_;
};

namespace session_verify_precision_test {

using dots::order;

constexpr std::array orders{order::forward, order::in_lanes, order::in_blocks, order::pairwise};
constexpr std::array<std::uint64_t, 3> seeds{1, 2, 3};

/// The error of verify() for `outputs` dot products of `terms` terms; empty when they pass.
std::string complaint(const dots::arithmetic& uses, std::int64_t terms, std::uint64_t seed,
                      dtype type = dtype::f32, std::int64_t outputs = run::sampled_outputs) {
  dots::backend::uses = uses;
  run::backend_device<dots::backend, op::gemm> device(1);
  const op::gemm op{.m = 1, .n = outputs, .k = terms, .b_transposed = true};
  const auto plan = device.plan(op::any(op), {.type = type});
  try {
    run::verify(device, *plan, reference::exact_value_of(op, op::pass::fwd), seed, true);
  } catch (const run::wrong_result& found) {
    return found.what();
  }
  return {};
}

/// From a 3x3 window of one channel to the first fully connected layer of VGG-16.
constexpr std::array<std::int64_t, 5> lengths{9, 64, 576, 4608, 25088};

TEST(precision, of_f32_suffices_in_any_order) {
  for (const order how : orders) {
    for (const bool fused : {false, true}) {
      for (const std::int64_t terms : lengths) {
        for (const std::uint64_t seed : seeds) {
          EXPECT_EQ(complaint({.how = how, .fused = fused}, terms, seed), "") << terms;
        }
      }
    }
  }
}

TEST(precision, of_f32_suffices_where_there_are_few_outputs) {
  for (const order how : orders) {
    for (std::uint64_t seed = 0; seed < 50; ++seed) {
      for (const std::int64_t outputs : {1, 2, 10}) {
        EXPECT_EQ(complaint({.how = how}, 576, seed, dtype::f32, outputs), "") << outputs;
      }
    }
  }
}

class shorter_factors : public ::testing::TestWithParam<float (*)(float)> {};

TEST_P(shorter_factors, are_detected_at_any_length) {
  for (const std::int64_t terms : {9, 27, 64, 576, 1152, 2304, 4608, 9216, 25088, 30000}) {
    for (const std::uint64_t seed : seeds) {
      EXPECT_NE(complaint({.fused = true, .factor = GetParam()}, terms, seed), "") << terms;
    }
  }
}

TEST(precision, of_tf32_is_too_low_even_where_no_single_output_is_wrong) {
  EXPECT_THAT(complaint({.factor = dots::to_tf32}, 25088, 1), testing::mentions("dst", "f32"));
}

INSTANTIATE_TEST_SUITE_P(run, shorter_factors,
                         ::testing::Values(dots::to_tf32, dots::cut_to_tf32, dots::to_bf16));

class short_type : public ::testing::TestWithParam<dtype> {};

TEST_P(short_type, is_right_when_it_is_summed_in_f32) {
  for (const order how : orders) {
    for (const std::int64_t terms : lengths) {
      EXPECT_EQ(complaint({.how = how}, terms, 1, GetParam()), "") << terms;
    }
  }
}

TEST_P(short_type, is_wrong_when_it_is_summed_in_itself) {
  for (const order how : orders) {
    for (const std::int64_t terms : lengths) {
      for (const std::uint64_t seed : seeds) {
        EXPECT_NE(complaint({.how = how, .sums = GetParam()}, terms, seed, GetParam()), "")
            << terms << " in order " << static_cast<int>(how);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(run, short_type, ::testing::Values(dtype::bf16, dtype::f16),
                         [](const auto& tested) { return std::string(name(tested.param)); });

}  // namespace session_verify_precision_test
}  // namespace layerbench
