// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <layerbench/backend/backend.hpp>
#include <layerbench/backend/device.hpp>
#include <layerbench/backend/formula.hpp>
#include <layerbench/backend/oracle.hpp>
#include <layerbench/base/error.hpp>
#include <layerbench/op/op.hpp>
#include <layerbench/shape/dtype.hpp>

namespace layerbench::run {

/// Thrown where a plan's results differ from the reference formula.
struct wrong_result : error {
  explicit wrong_result(const std::string& what) : error(what, exit_code::incomplete) {}
};

/// Largest rounding error of a subnormal number of `type`.
[[nodiscard]] double roundoff_at_zero(dtype type);

/// Largest difference from the exact `result` that correct arithmetic may have. It is 0 for whole
/// numbers. Otherwise it is one rounding to the type, plus the error of a sum of the terms in
/// single precision in any order, whose expected size grows with the square root of their number
/// (Higham, Accuracy and Stability, 4.2). The factor covers products, scales and the polynomial
/// approximations of libraries. The roundings of terms to the type are uniform and independent. A
/// uniform variable is sub-Gaussian with its own variance, so their sum exceeds 4 times
/// `rounded_terms` less than once in 10^10 sums.
[[nodiscard]] double error_bound(const op::operand& output, const reference::sum& result);

/// Mean square of the difference from the exact `result` that rounding explains. The model takes
/// roundings to nearest as independent, of mean zero (Higham and Mary, A New Approach to
/// Probabilistic Rounding Error Analysis, 2019) and uniform, so a rounding that results in s has a
/// variance of at most (u s)^2 / 3. The terms, the partial sums and the result are rounded. Partial
/// sums are largest in sequential summation: the squares of those of n terms in random order add up
/// to (n + 1) (2 value^2 + squares) / 6 on average, by the variance of a sample without
/// replacement. The factors are tolerances: for transforms such as Winograd's F(4x4, 3x3), whose
/// errors are up to ten times as large, and for results whose rounding is worst everywhere (sqrt(3)
/// times).
[[nodiscard]] double expected_square_error(const op::operand& output, const reference::sum& result);

/// Most outputs in a sampled check, which are spread evenly.
inline constexpr std::int64_t sampled_outputs = 61;

/// Number of outputs in a sampled check on a device that is not the host. The formula draws its
/// terms anew for each output, so there are fewer outputs where one has very many terms.
[[nodiscard]] std::int64_t device_sampled_outputs(std::int64_t terms);

namespace detail {

/// The exact results of an op for given inputs, on several threads. Each thread has its own
/// formula, since formulas keep what elements share.
class exact_results {
 public:
  /// The arguments must outlive this. One thread per processor; only one where the device is the
  /// host, whose own threads keep the processors busy.
  exact_results(const reference::exact_value& of, reference::tensors inputs, bool device_is_host);

  [[nodiscard]] reference::sum at(std::size_t output, std::int64_t index);
  [[nodiscard]] std::vector<reference::sum> at(std::size_t output,
                                               std::span<const std::int64_t> indices);

 private:
  [[nodiscard]] const reference::exact_element& formula(std::size_t thread);

  const reference::exact_value& of_;
  reference::tensors inputs_;
  std::vector<reference::exact_element> formulas_;  ///< by thread; made when first used
};

/// Runs of a plan on test data, in separate memory. Where the device is not the host, there are no
/// elements of inputs on the host, and of outputs only if all are compared.
class trial_run {
 public:
  trial_run(compute_device& device, const any_plan& plan, std::uint64_t seed, bool every_output);

  /// Runs a call whose outputs are full of `poison` before.
  void run(std::byte poison);

  /// Whether all elements of outputs come to the host.
  [[nodiscard]] bool downloads() const { return every_output_ || device_.is_host(); }
  /// What the latest run wrote.
  [[nodiscard]] std::vector<float> downloaded(std::size_t output) const;
  [[nodiscard]] std::optional<std::int64_t> first_non_finite(std::size_t output) const;
  /// First element that differs after a further run on another poison, `poison`.
  [[nodiscard]] std::optional<std::int64_t> first_difference(std::size_t output, std::byte poison);
  /// Number of outputs to compare with the formula.
  [[nodiscard]] std::int64_t checks(std::size_t output, exact_results& exact) const;
  /// The elements that `checks` checks compare.
  [[nodiscard]] std::vector<float> gather(std::size_t output, std::int64_t checks) const;

  [[nodiscard]] const std::vector<plan_operand>& operands() const { return plan_.operands(); }
  /// Empty for outputs.
  [[nodiscard]] const std::vector<reference::tensor>& inputs() const { return inputs_; }

 private:
  [[nodiscard]] address at(std::size_t output) const;
  /// Bytes of operands and workspace.
  [[nodiscard]] static std::size_t bytes_of(const any_plan& plan);
  /// Bytes of host memory: where the device is the host, the operands and the elements of inputs as
  /// f32; those of one output at a time where they come to the host.
  [[nodiscard]] std::size_t host_bytes() const;

  compute_device& device_;
  const any_plan& plan_;
  bool every_output_;
  std::unique_ptr<device_memory> workspace_;
  std::vector<std::unique_ptr<device_memory>> buffers_;
  std::vector<reference::tensor> inputs_;
  std::unique_ptr<bound_plan> bound_;
};

}  // namespace detail

/// Runs `plan` on random data and compares its outputs with the reference formula, `expected`:
/// every element, or a sample. A plan with opaque inputs runs on what its forward pass wrote.
/// Checks every element for NaN, and that the plan wrote it. Throws wrong_result.
void verify(compute_device& device, const any_plan& plan, const reference::exact_value& expected,
            std::uint64_t seed, bool every_output);

}  // namespace layerbench::run

#ifndef LAYERBENCH_COMPILED
#include <layerbench/session/verify-inl.hpp>
#endif
