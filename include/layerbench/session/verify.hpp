// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

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

/// Runs `plan` on random data and compares its outputs with the reference formula, `expected`:
/// every element, or a sample. A plan with opaque inputs runs on what its forward pass wrote.
/// Checks every element for NaN, and that the plan wrote it. Throws wrong_result.
void verify(compute_device& device, const any_plan& plan, const reference::exact_value& expected,
            std::uint64_t seed, bool every_output);

}  // namespace layerbench::run

#ifndef LAYERBENCH_COMPILED
#include <layerbench/session/verify-inl.hpp>
#endif
