// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <variant>

#include <fmt/format.h>

#include <layerbench/analysis/scaling/collective_table.hpp>
#include <layerbench/analysis/scaling/link.hpp>
#include <layerbench/analysis/scaling/network.hpp>
#include <layerbench/base/compiled.hpp>
#include <layerbench/base/error.hpp>

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

}  // namespace layerbench::analysis
