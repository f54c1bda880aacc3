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

#include <layerbench/backend/device.hpp>
#include <layerbench/backend/forward_results.hpp>
#include <layerbench/backend/host_buffer.hpp>
#include <layerbench/backend/oracle.hpp>
#include <layerbench/op/test_data.hpp>

namespace layerbench::run {

/// Thrown where a plan's results differ from the reference formula.
struct wrong_result : error {
  explicit wrong_result(const std::string& what) : error(what, exit_code::incomplete) {}
};

/// Largest rounding error of a subnormal number of `type`.
[[nodiscard]] inline double roundoff_at_zero(dtype type) {
  return std::ldexp(1.0, traits(type).min_exponent - traits(type).significand_bits);
}

/// Largest difference from the exact `result` that correct arithmetic may have. It is 0 for whole
/// numbers. Otherwise it is one rounding to the type, plus the error of a sum of the terms in
/// single precision in any order, whose expected size grows with the square root of their number
/// (Higham, Accuracy and Stability, 4.2). The factor covers products, scales and the polynomial
/// approximations of libraries. The roundings of terms to the type are uniform and independent. A
/// uniform variable is sub-Gaussian with its own variance, so their sum exceeds 4 times
/// `rounded_terms` less than once in 10^10 sums.
[[nodiscard]] inline double error_bound(const op::operand& output, const reference::sum& result) {
  if (output.integral) return 0;
  constexpr double factor = 8;
  constexpr double term_factor = 4;
  const double growth = 1 + std::sqrt(static_cast<double>(result.terms));
  const double accumulation = factor * unit_roundoff(dtype::f32) * growth * result.magnitude;
  if (output.type == dtype::s8) return accumulation + output.scale * 0.5001;
  return accumulation +
         1.001 * static_cast<double>(result.roundings) * unit_roundoff(output.type) *
             std::max(std::abs(result.value), result.rounded) +
         term_factor * unit_roundoff(output.type) * result.rounded_terms +
         roundoff_at_zero(output.type);
}

/// Mean square of the difference from the exact `result` that rounding explains. The model takes
/// roundings to nearest as independent, of mean zero (Higham and Mary, A New Approach to
/// Probabilistic Rounding Error Analysis, 2019) and uniform, so a rounding that results in s has a
/// variance of at most (u s)^2 / 3. The terms, the partial sums and the result are rounded. Partial
/// sums are largest in sequential summation: the squares of those of n terms in random order add up
/// to (n + 1) (2 value^2 + squares) / 6 on average, by the variance of a sample without
/// replacement. The factors are tolerances: for transforms such as Winograd's F(4x4, 3x3), whose
/// errors are up to ten times as large, and for results whose rounding is worst everywhere (sqrt(3)
/// times).
[[nodiscard]] inline double expected_square_error(const op::operand& output,
                                                  const reference::sum& result) {
  constexpr double sum_factor = 12;
  constexpr double result_factor = 2;
  const auto square = [](double x) { return x * x; };
  const double value = square(result.value);
  const double rounded = std::max(value, square(result.rounded));
  const double partial_sums =
      static_cast<double>(result.terms + 1) * (2 * value + result.squares) / 6;
  const double sum =
      square(sum_factor * unit_roundoff(dtype::f32)) * (result.squares + partial_sums) / 3;
  if (output.type == dtype::s8) return sum + square(result_factor * output.scale) / 12;
  const double roundings =
      square(unit_roundoff(output.type)) *
          (static_cast<double>(result.roundings) * rounded + square(result.rounded_terms)) +
      square(roundoff_at_zero(output.type));
  return sum + square(result_factor) * roundings / 3;
}

/// Number of outputs in a sampled check, which are spread evenly.
inline constexpr std::int64_t sampled_outputs = 61;

namespace detail {

/// Runs of a plan on test data, in separate memory.
class trial_run {
 public:
  trial_run(compute_device& device, const any_plan& plan, std::uint64_t seed)
      : device_(device), plan_(plan) {
    host_buffer::require(host_bytes_of(plan));
    device.require_memory(bytes_of(plan));
    workspace_ = device.allocate(plan.workspace_bytes());
    std::vector<address> places;
    for (std::size_t i = 0; i < operands().size(); ++i) {
      const auto overwritten = overwritten_by(plan, i);
      buffers_.push_back(device.allocate(overwritten ? 0 : operands()[i].bytes));
      places.push_back(overwritten ? places[*overwritten] : buffers_.back()->data());
      inputs_.emplace_back();
      if (operands()[i].logical.role == op::role::destination) continue;
      inputs_.back() = random_values(operands()[i].logical, operand_seed(seed, i));
      plan.upload(i, inputs_.back(), places.back());
    }
    write_forward_results(device, plan, inputs_, places, seed);
    bound_ = plan.bind(places, workspace_->data());
  }

  /// Runs a call whose outputs are full of `poison` before. Returns the elements of output
  /// `output`, row-major.
  [[nodiscard]] std::vector<float> outputs(std::size_t output, std::byte poison) {
    for (std::size_t i = 0; i < buffers_.size(); ++i) {
      if (const auto overwritten =
              overwritten_by(plan_, i)) {  // what it adds takes the poison's place
        plan_.upload(*overwritten, inputs_[*overwritten], buffers_[*overwritten]->data());
        continue;
      }
      const bool written = operands()[i].logical.role == op::role::destination;
      if (!written || operands()[i].bytes == 0) continue;
      device_.fill(buffers_[i]->data(), operands()[i].bytes, poison);
    }
    device_.activate();
    bound_->run();
    device_.synchronize();
    std::vector<float> values(
        static_cast<std::size_t>(elements(operands()[output].logical.extents)));
    const std::size_t place = overwritten_by(plan_, output).value_or(output);
    plan_.download(output, buffers_[place]->data(), values);
    return values;
  }

  [[nodiscard]] const std::vector<plan_operand>& operands() const { return plan_.operands(); }
  /// Logical input values; empty for outputs.
  [[nodiscard]] const std::vector<std::vector<float>>& inputs() const { return inputs_; }

 private:
  /// Bytes of operands and workspace.
  [[nodiscard]] static std::size_t bytes_of(const any_plan& plan) {
    std::size_t bytes = plan.workspace_bytes();
    for (const plan_operand& operand : plan.operands()) bytes += operand.bytes;
    return bytes;
  }
  /// Bytes of host memory: the elements as f32, those of one output at a time, and the operands too
  /// where the device is the host.
  [[nodiscard]] std::size_t host_bytes_of(const any_plan& plan) const {
    std::size_t bytes = device_.is_host() ? bytes_of(plan) : 0;
    std::size_t output = 0;
    for (const plan_operand& operand : plan.operands()) {
      const auto values =
          static_cast<std::size_t>(elements(operand.logical.extents)) * sizeof(float);
      const bool written = operand.logical.role == op::role::destination;
      if (written) output = std::max(output, values);
      if (!written) bytes += values;
    }
    return bytes + output;
  }

  compute_device& device_;
  const any_plan& plan_;
  std::unique_ptr<device_memory> workspace_;
  std::vector<std::unique_ptr<device_memory>> buffers_;
  std::vector<std::vector<float>> inputs_;
  std::unique_ptr<bound_plan> bound_;
};

/// Compares element by element. Throws wrong_result where an error exceeds its bound. Returns the
/// root mean square of the errors, each in units of what rounding explains.
[[nodiscard]] inline double compare(const any_plan& plan, const reference::exact_element& expected,
                                    std::size_t output, const std::vector<float>& got,
                                    bool every_output) {
  const op::operand& logical = plan.operands()[output].logical;
  const auto count = static_cast<std::int64_t>(got.size());
  double squares = 0;
  const auto check = [&](std::int64_t i) {
    reference::sum exact = plan.as_stored(output, expected(output, i));
    const double bound = error_bound(logical, exact);
    const double explained = expected_square_error(logical, exact);
    if (logical.type == dtype::s8) {
      exact.value = std::clamp(exact.value, -128 * logical.scale, 127 * logical.scale);
    }
    const double value = got[static_cast<std::size_t>(i)];
    const double difference = value - exact.value;
    // A difference of 0 may come with 0 explained.
    if (difference != 0) squares += difference * difference / explained;
    if (std::abs(difference) <= bound) return;
    throw wrong_result(fmt::format("{}[{}] is {:.9g}, the reference says {:.9g} (bound {:.2g})",
                                   logical.name, i, value, exact.value, bound));
  };
  // A sample includes the first and the last element.
  const std::int64_t checks = every_output ? count : std::min(count, sampled_outputs);
  for (std::int64_t j = 0; j < checks; ++j) {
    check(checks == count ? j : j * (count - 1) / (checks - 1));
  }
  return std::sqrt(squares / static_cast<double>(checks));
}

}  // namespace detail

/// Runs `plan` on random data and compares its outputs with the reference formula, `expected`:
/// every element, or a sample. A plan with opaque inputs runs on what its forward pass wrote.
/// Checks every element for NaN, and that the plan wrote it. Throws wrong_result.
inline void verify(compute_device& device, const any_plan& plan,
                   const reference::exact_value& expected, std::uint64_t seed, bool every_output) {
  constexpr std::byte not_a_number{0xFF};
  constexpr std::byte other_poison{0x3F};
  if (!expected) throw error("no reference formula to check the plan against");
  detail::trial_run trial(device, plan, seed);
  const std::vector<std::span<const float>> inputs(trial.inputs().begin(), trial.inputs().end());
  const reference::exact_element exact = expected(inputs);
  for (std::size_t i = 0; i < plan.operands().size(); ++i) {
    const op::operand& logical = plan.operands()[i].logical;
    if (logical.role != op::role::destination || logical.opaque) continue;
    const std::vector<float> got = trial.outputs(i, not_a_number);
    const auto bad = std::ranges::find_if(got, [](float v) { return !std::isfinite(v); });
    if (bad != got.end()) {
      throw wrong_result(fmt::format("{}[{}] is not a number, or was never written", logical.name,
                                     bad - got.begin()));
    }
    if (logical.type ==
        dtype::s8) {  // integers have no NaN: an element that keeps two poisons is unwritten
      const std::vector<float> again = trial.outputs(i, other_poison);
      for (std::size_t j = 0; j < got.size(); ++j) {
        if (got[j] != again[j]) {
          throw wrong_result(fmt::format("{}[{}] was never written", logical.name, j));
        }
      }
    }
    const double rms = detail::compare(plan, exact, i, got, every_output);
    if (rms > 1) {
      throw wrong_result(fmt::format(
          "{} is less precise than {}: its errors are {:.3g} times what rounding explains "
          "(root mean square)",
          logical.name, name(logical.type), rms));
    }
  }
}

}  // namespace layerbench::run
