// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cmath>
#include <cstddef>

#include <layerbench/analysis/scaling/link.hpp>
#include <layerbench/base/compiled.hpp>

namespace layerbench::analysis {

LAYERBENCH_INLINE double link::messages(analysis::topology how, std::int64_t n) {
  const auto devices = static_cast<std::uint64_t>(n);
  const auto count =
      how == analysis::topology::ring ? devices - 1 : std::uint64_t(std::bit_width(devices - 1));
  return 2 * static_cast<double>(count);
}

LAYERBENCH_INLINE double link::traffic(std::int64_t n) {
  return 2 * static_cast<double>(n - 1) / static_cast<double>(n);
}

LAYERBENCH_INLINE double link::seconds(double bytes, std::int64_t n) const {
  return messages(topology, n) * alpha + traffic(n) * bytes / beta;
}

namespace detail {

/// The alpha and 1 / beta with the least squares of relative errors; alpha is 0 if the fit of both
/// gave a negative value.
[[nodiscard]] inline link least_squares(topology how, std::span<const measured_allreduce> all) {
  double aa = 0;
  double ab = 0;
  double bb = 0;
  double a1 = 0;
  double b1 = 0;
  for (const measured_allreduce& allreduce : all) {
    const double a = link::messages(how, allreduce.devices) / allreduce.seconds;
    const double b = link::traffic(allreduce.devices) * allreduce.bytes / allreduce.seconds;
    aa += a * a;
    ab += a * b;
    bb += b * b;
    a1 += a;
    b1 += b;
  }
  const double determinant = aa * bb - ab * ab;
  if (determinant > 1e-12 * aa * bb) {
    const double alpha = (a1 * bb - b1 * ab) / determinant;
    const double inverse = (b1 * aa - a1 * ab) / determinant;
    if (alpha >= 0 && inverse > 0) return {how, alpha, 1 / inverse};
  }
  return {how, 0, bb / b1};
}

}  // namespace detail

LAYERBENCH_INLINE fitted_link fit(topology how, std::span<const measured_allreduce> all) {
  const link nearest = detail::least_squares(how, all);
  double squares = 0;
  for (const measured_allreduce& allreduce : all) {
    const double error =
        nearest.seconds(allreduce.bytes, allreduce.devices) / allreduce.seconds - 1;
    squares += error * error;
  }
  constexpr std::size_t parameters = 2;
  if (all.size() <= parameters) return {nearest, std::nullopt};
  return {nearest, std::sqrt(squares / static_cast<double>(all.size()))};
}

LAYERBENCH_INLINE fitted_link fit(std::span<const measured_allreduce> all) {
  const fitted_link ring = fit(topology::ring, all);
  const fitted_link tree = fit(topology::tree, all);
  const bool tree_is_nearer =
      tree.residual && ring.residual && *tree.residual < 0.999 * *ring.residual;
  return tree_is_nearer ? tree : ring;
}

}  // namespace layerbench::analysis
