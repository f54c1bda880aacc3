// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include <layerbench/shape/record.hpp>

namespace layerbench::analysis {

/// The all-reduce algorithm between devices that all reach one another at the same speed.
enum class topology { ring, tree };

}  // namespace layerbench::analysis

template <>
inline constexpr std::array<std::string_view, 2>
    layerbench::enum_names<layerbench::analysis::topology>{"ring", "tree"};

namespace layerbench::analysis {

/// The alpha-beta model of a network: a message of b bytes takes alpha + b / beta.
struct link {
  analysis::topology topology = analysis::topology::ring;
  double alpha = 0;  ///< seconds per message, whatever its size
  double beta = 0;   ///< bytes per second that a device sends while it receives as many

  /// Messages one after another in an all-reduce over n devices. A ring has 2(n-1) (Patarasuk and
  /// Yuan, Bandwidth optimal all-reduce algorithms, 2009); a tree halves and doubles distances,
  /// 2 ceil(log2 n) (Thakur, Rabenseifner and Gropp, Optimization of collective communication
  /// operations in MPICH, 2005).
  [[nodiscard]] static double messages(analysis::topology how, std::int64_t n);
  /// Bytes that each device sends per byte of its data: 2(n-1)/n, the least there can be (both
  /// papers).
  [[nodiscard]] static double traffic(std::int64_t n);

  /// Seconds of an all-reduce of `bytes` over n devices; 0 for one.
  [[nodiscard]] double seconds(double bytes, std::int64_t n) const;
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

/// The link nearest to measured times: each relative error counts the same.
[[nodiscard]] fitted_link fit(topology how, std::span<const measured_allreduce> all);

/// The better fit of ring and tree; the ring if both are equally good.
[[nodiscard]] fitted_link fit(std::span<const measured_allreduce> all);

}  // namespace layerbench::analysis

#ifndef LAYERBENCH_COMPILED
#include <layerbench/analysis/scaling/link-inl.hpp>
#endif
