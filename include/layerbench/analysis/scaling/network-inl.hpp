// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <layerbench/analysis/scaling/collective_table.hpp>
#include <layerbench/analysis/scaling/link.hpp>
#include <layerbench/analysis/scaling/network.hpp>
#include <layerbench/base/compiled.hpp>
#include <layerbench/base/error.hpp>
#include <layerbench/base/units.hpp>
#include <layerbench/result/measurement.hpp>
#include <layerbench/shape/record.hpp>

namespace layerbench::analysis {

LAYERBENCH_INLINE void require_capacity(const network& in, std::int64_t devices) {
  if (in.max_devices && devices > *in.max_devices) {
    throw usage_error(fmt::format(
        "the network {} holds {} devices, not {}; a hierarchical one says what joins several "
        "(docs/formats.md, networks)",
        in.name, *in.max_devices, devices));
  }
  const auto* nodes = std::get_if<std::shared_ptr<const hierarchy>>(&in.how);
  if (nodes == nullptr) return;
  const std::int64_t in_node = std::min(devices, (*nodes)->devices_per_node);
  require_capacity((*nodes)->intra, in_node);
  require_capacity((*nodes)->inter, (devices + in_node - 1) / in_node);
}

LAYERBENCH_INLINE collective_time allreduce_time(const network& in, double bytes, std::int64_t n) {
  if (n == 1) return {};
  if (const auto* described = std::get_if<link>(&in.how)) {
    const double seconds = described->seconds(bytes, n);
    return {seconds, seconds, seconds};
  }
  if (const auto* table = std::get_if<collective_table>(&in.how)) return table->time(bytes, n);
  const hierarchy& nodes = *std::get<std::shared_ptr<const hierarchy>>(in.how);
  const std::int64_t in_node = std::min(n, nodes.devices_per_node);
  const collective_time inside = allreduce_time(nodes.intra, bytes, in_node);
  const collective_time between = allreduce_time(
      nodes.inter, bytes / static_cast<double>(nodes.adapters), (n + in_node - 1) / in_node);
  return {inside.seconds + between.seconds, inside.low + between.low, inside.high + between.high};
}

LAYERBENCH_INLINE bool extrapolates(const network& in, double bytes, std::int64_t n) {
  if (n == 1) return false;
  if (const auto* table = std::get_if<collective_table>(&in.how)) return !table->measured(bytes, n);
  const auto* nodes = std::get_if<std::shared_ptr<const hierarchy>>(&in.how);
  if (nodes == nullptr) return false;
  const std::int64_t in_node = std::min(n, (*nodes)->devices_per_node);
  return extrapolates((*nodes)->intra, bytes, in_node) ||
         extrapolates((*nodes)->inter, bytes / static_cast<double>((*nodes)->adapters),
                      (n + in_node - 1) / in_node);
}

LAYERBENCH_INLINE std::string text(const network& of) {
  const auto link_text = [](const link& one) {
    return fmt::format("{}, alpha {}, beta {}", name(one.topology), units::si(one.alpha, "s"),
                       units::si(one.beta, "B/s"));
  };
  if (const auto* described = std::get_if<link>(&of.how)) return link_text(*described);
  if (const auto* table = std::get_if<collective_table>(&of.how)) {
    const std::string disturbed =
        table->disturbed() <= result::much_disturbed
            ? ""
            : fmt::format("; something else used the processors during {:.0f} % of its timings",
                          100 * table->disturbed());
    const std::optional<double> residual = table->model().residual;
    return fmt::format(
        "measured for {} devices; for others scaled by a fitted {} ({}){}",
        fmt::join(table->devices(), ", "), link_text(table->model().link),
        residual ? fmt::format("off by {:.0f} %", 100 * *residual)
                 : "by how much it is off is unknown: it has no more timings than parameters",
        disturbed);
  }
  const hierarchy& nodes = *std::get<std::shared_ptr<const hierarchy>>(of.how);
  return fmt::format("nodes of {} devices: {}; between nodes, {} adapter{}: {}",
                     nodes.devices_per_node, text(nodes.intra), nodes.adapters,
                     nodes.adapters == 1 ? "" : "s", text(nodes.inter));
}

}  // namespace layerbench::analysis
