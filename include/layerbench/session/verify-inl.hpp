// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <future>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include <fmt/format.h>

#include <layerbench/backend/forward_results.hpp>
#include <layerbench/backend/host_buffer.hpp>
#include <layerbench/base/compiled.hpp>
#include <layerbench/op/test_data.hpp>
#include <layerbench/session/verify.hpp>
#include <layerbench/shape/dims.hpp>
#include <layerbench/topology/this_machine.hpp>

namespace layerbench::run {

LAYERBENCH_INLINE double roundoff_at_zero(dtype type) {
  return std::ldexp(1.0, traits(type).min_exponent - traits(type).significand_bits);
}

LAYERBENCH_INLINE double error_bound(const op::operand& output, const reference::sum& result) {
  if (output.integral) return 0;
  constexpr double factor = 8;
  constexpr double term_factor = 4;
  const double growth = 1 + std::sqrt(static_cast<double>(result.terms));
  const double accumulation = factor * unit_roundoff(dtype::f32) * growth * result.magnitude;
  if (is_integer(output.type)) return accumulation + output.scale * 0.5001;
  return accumulation +
         1.001 * static_cast<double>(result.roundings) * unit_roundoff(output.type) *
             std::max(std::abs(result.value), result.rounded) +
         term_factor * unit_roundoff(output.type) * result.rounded_terms +
         roundoff_at_zero(output.type);
}

LAYERBENCH_INLINE double expected_square_error(const op::operand& output,
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
  if (is_integer(output.type)) return sum + square(result_factor * output.scale) / 12;
  const double roundings =
      square(unit_roundoff(output.type)) *
          (static_cast<double>(result.roundings) * rounded + square(result.rounded_terms)) +
      square(roundoff_at_zero(output.type));
  return sum + square(result_factor) * roundings / 3;
}

LAYERBENCH_INLINE std::int64_t device_sampled_outputs(std::int64_t terms) {
  constexpr std::int64_t least = 5;
  constexpr std::int64_t most_terms = std::int64_t{1} << 25U;
  return std::clamp(most_terms / std::max<std::int64_t>(terms, 1), least, sampled_outputs);
}

namespace detail {

/// Index of check `j` of `checks` on `count` elements. The checks are spread evenly, and include
/// the first and the last element.
[[nodiscard]] inline std::int64_t checked_index(std::int64_t j, std::int64_t checks,
                                                std::int64_t count) {
  return checks == count ? j : j * (count - 1) / (checks - 1);
}

/// The exact results of an op for given inputs, on several threads. Each thread has its own
/// formula, since formulas keep what elements share.
class exact_results {
 public:
  /// The arguments must outlive this. One thread per processor; only one where the device is the
  /// host, whose own threads keep the processors busy.
  exact_results(const reference::exact_value& of, reference::tensors inputs, bool device_is_host)
      : of_(of),
        inputs_(inputs),
        formulas_(device_is_host ? 1 : machine::this_machine().processors().size()) {}

  [[nodiscard]] reference::sum at(std::size_t output, std::int64_t index) {
    return formula(0)(output, index);
  }
  [[nodiscard]] std::vector<reference::sum> at(std::size_t output,
                                               std::span<const std::int64_t> indices) {
    constexpr double least_terms = 1e6;  // of a thread's work that outlasts its start
    std::vector<reference::sum> values(indices.size());
    if (indices.empty()) return values;
    values[0] = formula(0)(output, indices[0]);
    const auto terms = static_cast<double>(values[0].terms) * static_cast<double>(indices.size());
    const std::size_t threads =
        terms < least_terms ? 1 : std::min(formulas_.size(), indices.size());
    // Neighbours share the most, so each thread has a part of the indices that is in one piece.
    const auto share = [&](std::size_t thread) {
      const std::size_t first = std::max<std::size_t>(thread * indices.size() / threads, 1);
      for (std::size_t j = first; j < (thread + 1) * indices.size() / threads; ++j) {
        values[j] = formula(thread)(output, indices[j]);
      }
    };
    std::vector<std::future<void>> others;
    for (std::size_t thread = 1; thread < threads; ++thread) {
      others.push_back(std::async(std::launch::async, [&share, thread] {
        machine::run_this_thread_on(machine::this_machine().processors());
        share(thread);
      }));
    }
    share(0);
    for (std::future<void>& other : others) other.get();
    return values;
  }

 private:
  [[nodiscard]] const reference::exact_element& formula(std::size_t thread) {
    if (!formulas_[thread]) formulas_[thread] = of_(inputs_);
    return formulas_[thread];
  }

  const reference::exact_value& of_;
  reference::tensors inputs_;
  std::vector<reference::exact_element> formulas_;  ///< by thread; made when first used
};

/// Runs of a plan on test data, in separate memory. Where the device is not the host, there are no
/// elements of inputs on the host, and of outputs only if all are compared.
class trial_run {
 public:
  trial_run(compute_device& device, const any_plan& plan, std::uint64_t seed, bool every_output)
      : device_(device), plan_(plan), every_output_(every_output) {
    host_buffer::require(host_bytes());
    device.require_memory(bytes_of(plan));
    workspace_ = device.allocate(plan.workspace_bytes());
    std::vector<address> places;
    for (std::size_t i = 0; i < operands().size(); ++i) {
      const auto overwritten = overwritten_by(plan, i);
      buffers_.push_back(device.allocate(overwritten ? 0 : operands()[i].bytes));
      places.push_back(overwritten ? places[*overwritten] : buffers_.back()->data());
      inputs_.emplace_back();
      if (operands()[i].logical.role == op::role::destination) continue;
      const test_data drawn(operands()[i].logical, operand_seed(seed, i));
      inputs_.back() = device.is_host() ? reference::tensor(random_values(drawn)) : drawn;
      write(plan, i, inputs_.back(), places.back());
    }
    write_forward_results(device, plan, inputs_, places, seed);
    bound_ = plan.bound_to(places, workspace_->data());
  }

  /// Runs a call whose outputs are full of `poison` before.
  void run(std::byte poison) {
    for (std::size_t i = 0; i < buffers_.size(); ++i) {
      if (const auto overwritten =
              overwritten_by(plan_, i)) {  // what it adds takes the poison's place
        write(plan_, *overwritten, inputs_[*overwritten], buffers_[*overwritten]->data());
        continue;
      }
      const bool written = operands()[i].logical.role == op::role::destination;
      if (!written || operands()[i].bytes == 0) continue;
      device_.fill(buffers_[i]->data(), operands()[i].bytes, poison);
    }
    device_.activate();
    bound_->run();
    device_.synchronize();
  }

  /// Whether all elements of outputs come to the host.
  [[nodiscard]] bool downloads() const { return every_output_ || device_.is_host(); }
  /// What the latest run wrote.
  [[nodiscard]] std::vector<float> downloaded(std::size_t output) const {
    return plan_.downloaded(output, at(output));
  }
  [[nodiscard]] std::optional<std::int64_t> first_non_finite(std::size_t output) const {
    return plan_.first_non_finite(output, at(output));
  }
  /// First element that differs after a further run on another poison, `poison`.
  [[nodiscard]] std::optional<std::int64_t> first_difference(std::size_t output, std::byte poison) {
    const std::size_t bytes = operands()[output].bytes;
    const std::unique_ptr<device_memory> earlier = device_.allocate(bytes);
    device_.copy(earlier->data(), at(output), bytes);
    run(poison);
    return plan_.first_difference(output, earlier->data(), at(output));
  }
  /// Number of outputs to compare with the formula.
  [[nodiscard]] std::int64_t checks(std::size_t output, exact_results& exact) const {
    const std::int64_t count = elements(operands()[output].logical.extents);
    if (every_output_ || count == 0) return count;
    if (device_.is_host()) return std::min(count, sampled_outputs);
    return std::min(count, device_sampled_outputs(exact.at(output, 0).terms));
  }
  /// The elements that `checks` checks compare.
  [[nodiscard]] std::vector<float> gather(std::size_t output, std::int64_t checks) const {
    const std::int64_t count = elements(operands()[output].logical.extents);
    std::vector<std::int64_t> indices;
    for (std::int64_t j = 0; j < checks; ++j) indices.push_back(checked_index(j, checks, count));
    return plan_.gather(output, at(output), indices);
  }

  [[nodiscard]] const std::vector<plan_operand>& operands() const { return plan_.operands(); }
  /// Empty for outputs.
  [[nodiscard]] const std::vector<reference::tensor>& inputs() const { return inputs_; }

 private:
  [[nodiscard]] address at(std::size_t output) const {
    return buffers_[overwritten_by(plan_, output).value_or(output)]->data();
  }
  /// Bytes of operands and workspace.
  [[nodiscard]] static std::size_t bytes_of(const any_plan& plan) {
    std::size_t bytes = plan.workspace_bytes();
    for (const plan_operand& operand : plan.operands()) bytes += operand.bytes;
    return bytes;
  }
  /// Bytes of host memory: where the device is the host, the operands and the elements of inputs as
  /// f32; those of one output at a time where they come to the host.
  [[nodiscard]] std::size_t host_bytes() const {
    std::size_t bytes = device_.is_host() ? bytes_of(plan_) : 0;
    std::size_t output = 0;
    for (const plan_operand& operand : operands()) {
      const auto values =
          static_cast<std::size_t>(elements(operand.logical.extents)) * sizeof(float);
      const bool written = operand.logical.role == op::role::destination;
      // A second run of integers is compared with the first.
      const bool twice = is_integer(operand.logical.type);
      const std::size_t needed = twice ? 3 * values + operand.bytes : values;
      if (written && downloads()) output = std::max(output, needed);
      if (!written && device_.is_host()) bytes += values;
    }
    return bytes + output;
  }

  compute_device& device_;
  const any_plan& plan_;
  bool every_output_;
  std::unique_ptr<device_memory> workspace_;
  std::vector<std::unique_ptr<device_memory>> buffers_;
  std::vector<reference::tensor> inputs_;
  std::unique_ptr<bound_plan> bound_;
};

/// Compares `checks` elements of an output; `got` are these, or all. Throws wrong_result where an
/// error exceeds its bound. Returns the root mean square of the errors, each in units of what
/// rounding explains.
[[nodiscard]] inline double compare(const any_plan& plan, exact_results& expected,
                                    std::size_t output, std::int64_t checks,
                                    std::span<const float> got) {
  constexpr std::int64_t most_at_once = 4096;  // bounds the memory
  const op::operand& logical = plan.operands()[output].logical;
  const std::int64_t count = elements(logical.extents);
  double squares = 0;
  std::vector<std::int64_t> indices;
  std::vector<reference::sum> sums;
  for (std::int64_t j = 0; j < checks; ++j) {
    const auto at = static_cast<std::size_t>(j % most_at_once);
    if (at == 0) {
      indices.clear();
      for (std::int64_t k = j; k < std::min(j + most_at_once, checks); ++k) {
        indices.push_back(checked_index(k, checks, count));
      }
      sums = expected.at(output, indices);
    }
    const std::int64_t i = indices[at];
    reference::sum exact = plan.as_stored(output, sums[at]);
    const double bound = error_bound(logical, exact);
    const double explained = expected_square_error(logical, exact);
    if (is_integer(logical.type)) {
      const auto real = [&](double stored) {
        return (stored - static_cast<double>(logical.zero_point)) * logical.scale;
      };
      exact.value = std::clamp(exact.value, real(least_integer(logical.type)),
                               real(traits(logical.type).largest));
    }
    const double value = got[static_cast<std::size_t>(std::ssize(got) == count ? i : j)];
    const double difference = value - exact.value;
    // A difference of 0 may come with 0 explained.
    if (difference != 0) squares += difference * difference / explained;
    if (std::abs(difference) <= bound) continue;
    throw wrong_result(fmt::format("{}[{}] is {:.9g}, the reference says {:.9g} (bound {:.2g})",
                                   logical.name, i, value, exact.value, bound));
  }
  return std::sqrt(squares / static_cast<double>(checks));
}

}  // namespace detail

LAYERBENCH_INLINE void verify(compute_device& device, const any_plan& plan,
                              const reference::exact_value& expected, std::uint64_t seed,
                              bool every_output) {
  constexpr std::byte not_a_number{0xFF};
  constexpr std::byte other_poison{0x3F};
  if (!expected) throw error("no reference formula to check the plan against");
  detail::trial_run trial(device, plan, seed, every_output);
  detail::exact_results exact(expected, trial.inputs(), device.is_host());
  bool holds_run = false;
  for (std::size_t i = 0; i < plan.operands().size(); ++i) {
    const op::operand& logical = plan.operands()[i].logical;
    if (logical.role != op::role::destination || logical.opaque) continue;
    if (!holds_run) trial.run(not_a_number);
    holds_run = !is_integer(logical.type);  // the check of integers runs the plan on another poison
    std::vector<float> got;
    if (trial.downloads()) got = trial.downloaded(i);
    const auto bad = trial.downloads() ? first_non_finite(got) : trial.first_non_finite(i);
    if (bad) {
      throw wrong_result(
          fmt::format("{}[{}] is not a number, or was never written", logical.name, *bad));
    }
    if (is_integer(logical.type)) {
      // Integers have no NaN: an element that keeps two poisons is unwritten.
      if (const auto unwritten = trial.first_difference(i, other_poison)) {
        throw wrong_result(fmt::format("{}[{}] was never written", logical.name, *unwritten));
      }
    }
    const std::int64_t checks = trial.checks(i, exact);
    if (!trial.downloads()) got = trial.gather(i, checks);
    const double rms = detail::compare(plan, exact, i, checks, got);
    if (rms > 1) {
      throw wrong_result(fmt::format(
          "{} is less precise than {}: its errors are {:.3g} times what rounding explains "
          "(root mean square)",
          logical.name, name(logical.type), rms));
    }
  }
}

}  // namespace layerbench::run
