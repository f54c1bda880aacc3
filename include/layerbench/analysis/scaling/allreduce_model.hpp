// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include <layerbench/shape/record.hpp>

namespace layerbench::analysis {

/// The all-reduce algorithm between devices that all reach one another at the same speed.
enum class topology { ring, tree };

[[nodiscard]] constexpr std::array<std::string_view, 2> list_names(topology /*tag*/) {
  return {"ring", "tree"};
}

/// The alpha-beta model of a network: a message of b bytes takes alpha + b / beta.
struct link {
  analysis::topology topology = analysis::topology::ring;
  double alpha = 0;  ///< seconds per message, whatever its size
  double beta = 0;   ///< bytes per second that a device sends while it receives as many

  /// Messages one after another in an all-reduce over n devices. A ring has 2(n-1) (Patarasuk and
  /// Yuan, Bandwidth optimal all-reduce algorithms, 2009); a tree halves and doubles distances,
  /// 2 ceil(log2 n) (Thakur, Rabenseifner and Gropp, Optimization of collective communication
  /// operations in MPICH, 2005).
  [[nodiscard]] static double messages(analysis::topology how, std::int64_t n) {
    const auto devices = static_cast<std::uint64_t>(n);
    const auto count =
        how == analysis::topology::ring ? devices - 1 : std::uint64_t(std::bit_width(devices - 1));
    return 2 * static_cast<double>(count);
  }
  /// Bytes that each device sends per byte of its data: 2(n-1)/n, the least there can be (both
  /// papers).
  [[nodiscard]] static double traffic(std::int64_t n) {
    return 2 * static_cast<double>(n - 1) / static_cast<double>(n);
  }

  /// Seconds of an all-reduce of `bytes` over n devices; 0 for one.
  [[nodiscard]] double seconds(double bytes, std::int64_t n) const {
    return messages(topology, n) * alpha + traffic(n) * bytes / beta;
  }
};

/// A measured all-reduce.
struct measured_allreduce {
  std::int64_t devices;
  double bytes;
  double seconds;
};

/// A link fitted to measured times, and the error of the fit.
struct fitted_link {
  analysis::link link;
  /// Root mean square of the relative errors; nothing where the timings are no more than the
  /// parameters, alpha and beta, which then fit whatever was measured.
  std::optional<double> residual;
};

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

/// The link nearest to measured times: each relative error counts the same.
[[nodiscard]] inline fitted_link fit(topology how, std::span<const measured_allreduce> all) {
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

/// The better fit of ring and tree; the ring if both are equally good.
[[nodiscard]] inline fitted_link fit(std::span<const measured_allreduce> all) {
  const fitted_link ring = fit(topology::ring, all);
  const fitted_link tree = fit(topology::tree, all);
  const bool tree_is_nearer =
      tree.residual && ring.residual && *tree.residual < 0.999 * *ring.residual;
  return tree_is_nearer ? tree : ring;
}

}  // namespace layerbench::analysis
