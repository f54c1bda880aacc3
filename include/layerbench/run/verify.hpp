// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include <fmt/format.h>

#include <layerbench/run/device.hpp>
#include <layerbench/run/test_data.hpp>

namespace layerbench::run {

/// A plan that computes something else than the reference formula.
struct wrong_result : error {
  explicit wrong_result(const std::string& what) : error(what, exit_code::incomplete) {}
};

/// Largest difference from the exact `result` that correct arithmetic may show: rounding to the
/// type once, and the error of summing the terms in single precision in any order. Its expected
/// size grows with the square root of their number (Higham, Accuracy and Stability, 4.2); the
/// factor covers products, scales and the libraries' polynomial approximations.
[[nodiscard]] inline double error_bound(const op::operand& output, const reference::sum& result) {
  constexpr double factor = 8;
  const double growth = 1 + std::sqrt(static_cast<double>(result.terms));
  const double accumulation = factor * unit_roundoff(dtype::f32) * growth * result.magnitude;
  if (output.type == dtype::s8) return accumulation + output.quantum * 0.5001;
  const dtype_traits& t = traits(output.type);
  const double spacing_at_zero = std::ldexp(1.0, t.min_exponent - t.significand_bits);
  return accumulation +
         1.001 * result.roundings * unit_roundoff(output.type) * std::abs(result.value) +
         spacing_at_zero;
}

/// Outputs that a sampled check looks at, spread evenly.
inline constexpr std::int64_t sampled_outputs = 61;

namespace detail {

/// A plan with memory of its own, filled with test data.
class trial {
 public:
  trial(device& here, const any_plan& plan, std::uint64_t seed)
      : here_(here), plan_(plan), workspace_(here.allocate(plan.workspace_bytes())) {
    std::vector<address> places;
    for (std::size_t i = 0; i < operands().size(); ++i) {
      buffers_.push_back(here.allocate(operands()[i].bytes));
      places.push_back(buffers_.back()->data());
      inputs_.emplace_back();
      if (operands()[i].logical.role == op::role::destination) continue;
      inputs_.back() = random_values(operands()[i].logical, operand_seed(seed, i));
      plan.upload(i, inputs_.back(), places.back());
    }
    bound_ = plan.bind(places, workspace_->data());
  }

  /// Elements of output `output`, row-major, of a call whose outputs were full of `poison` before.
  [[nodiscard]] std::vector<float> outputs(std::size_t output, std::byte poison) {
    for (std::size_t i = 0; i < buffers_.size(); ++i) {
      if (operands()[i].logical.role != op::role::destination) continue;
      here_.fill(buffers_[i]->data(), operands()[i].bytes, poison);
    }
    here_.activate();
    bound_->run();
    here_.synchronize();
    std::vector<float> values(
        static_cast<std::size_t>(elements(operands()[output].logical.extents)));
    plan_.download(output, buffers_[output]->data(), values);
    return values;
  }

  [[nodiscard]] const std::vector<plan_operand>& operands() const { return plan_.operands(); }
  /// Logical input values; empty for outputs.
  [[nodiscard]] const std::vector<std::vector<float>>& inputs() const { return inputs_; }

 private:
  device& here_;
  const any_plan& plan_;
  std::unique_ptr<device_memory> workspace_;
  std::vector<std::unique_ptr<device_memory>> buffers_;
  std::vector<std::vector<float>> inputs_;
  std::unique_ptr<bound_plan> bound_;
};

inline void compare(const any_plan& plan, std::span<const std::vector<float>> inputs,
                    std::size_t output, const std::vector<float>& got, bool every_output) {
  const op::operand& logical = plan.operands()[output].logical;
  std::vector<std::span<const float>> in(inputs.begin(), inputs.end());
  const auto count = static_cast<std::int64_t>(got.size());
  const auto check = [&](std::int64_t i) {
    reference::sum exact = plan.expected(in, output, i);
    const double bound = error_bound(logical, exact);
    if (logical.type == dtype::s8) {
      exact.value = std::clamp(exact.value, -128 * logical.quantum, 127 * logical.quantum);
    }
    const double value = got[static_cast<std::size_t>(i)];
    if (std::abs(value - exact.value) <= bound) return;
    throw wrong_result(fmt::format("{}[{}] is {:.9g}, the reference says {:.9g} (bound {:.2g})",
                                   logical.name, i, value, exact.value, bound));
  };
  // A sample is spread from the first element to the last.
  const std::int64_t checks = every_output ? count : std::min(count, sampled_outputs);
  for (std::int64_t j = 0; j < checks; ++j) {
    check(checks == count ? j : j * (count - 1) / (checks - 1));
  }
}

}  // namespace detail

/// Runs `plan` on random data and poisoned outputs and compares them with the reference formula on
/// the same data: every element, or a sample. All elements are checked for NaN and for never having
/// been written. Throws wrong_result.
inline void verify(device& here, const any_plan& plan, std::uint64_t seed, bool every_output) {
  constexpr std::byte not_a_number{0xFF};
  constexpr std::byte something_else{0x3F};
  detail::trial ready(here, plan, seed);
  for (std::size_t i = 0; i < plan.operands().size(); ++i) {
    const op::operand& logical = plan.operands()[i].logical;
    if (logical.role != op::role::destination) continue;
    const std::vector<float> got = ready.outputs(i, not_a_number);
    const auto hole = std::ranges::find_if(got, [](float v) { return !std::isfinite(v); });
    if (hole != got.end()) {
      throw wrong_result(fmt::format("{}[{}] is not a number, or was never written", logical.name,
                                     hole - got.begin()));
    }
    if (logical.type == dtype::s8) {  // integers have no NaN: what keeps each poison is unwritten
      const std::vector<float> again = ready.outputs(i, something_else);
      for (std::size_t j = 0; j < got.size(); ++j) {
        if (got[j] != again[j]) {
          throw wrong_result(fmt::format("{}[{}] was never written", logical.name, j));
        }
      }
    }
    detail::compare(plan, ready.inputs(), i, got, every_output);
  }
}

}  // namespace layerbench::run
