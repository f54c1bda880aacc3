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

#include <layerbench/analysis/scaling/allreduce_model.hpp>
#include <layerbench/analysis/scaling/collective_table.hpp>
#include <layerbench/base/error.hpp>
#include <layerbench/base/rounding.hpp>

/// The network between the devices that train a model together.
namespace layerbench::analysis {

struct hierarchy;

/// A network: a link, a table of measured all-reduces, or nodes with a network between them.
struct network {
  std::string name;
  std::string title;
  std::string source;                            ///< where its numbers come from
  std::optional<std::int64_t> max_devices = {};  ///< nothing: any number of devices
  std::variant<link, collective_table, std::shared_ptr<const hierarchy>> how = link{};
};

/// Nodes of several devices.
struct hierarchy {
  std::int64_t devices_per_node = 1;
  std::int64_t adapters = 1;  ///< per node; the bytes between nodes are divided among them
  network intra;              ///< between the devices of a node
  network inter;              ///< between nodes, by one adapter
};

/// Throws usage_error if a network cannot hold that many devices.
inline void require_capacity(const network& in, std::int64_t devices) {
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
  require_capacity((*nodes)->inter, ceil_div(devices, in_node));
}

/// The time of an all-reduce of `bytes` over n devices; 0 for one. A hierarchical all-reduce
/// consists of one inside each node and one between the nodes over all adapters at once (Goyal et
/// al., Accurate, Large Minibatch SGD, 2017, 4.1). A last node that is not full takes as long as
/// the others.
[[nodiscard]] inline collective_time allreduce_time(const network& in, double bytes,
                                                    std::int64_t n) {
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
      nodes.inter, bytes / static_cast<double>(nodes.adapters), ceil_div(n, in_node));
  return {inside.seconds + between.seconds, inside.low + between.low, inside.high + between.high};
}

/// Whether the time of an all-reduce is extrapolated: the table lacks that number of devices, or
/// only has fewer bytes.
[[nodiscard]] inline bool extrapolates(const network& in, double bytes, std::int64_t n) {
  if (n == 1) return false;
  if (const auto* table = std::get_if<collective_table>(&in.how)) return !table->measured(bytes, n);
  const auto* nodes = std::get_if<std::shared_ptr<const hierarchy>>(&in.how);
  if (nodes == nullptr) return false;
  const std::int64_t in_node = std::min(n, (*nodes)->devices_per_node);
  return extrapolates((*nodes)->intra, bytes, in_node) ||
         extrapolates((*nodes)->inter, bytes / static_cast<double>((*nodes)->adapters),
                      ceil_div(n, in_node));
}

}  // namespace layerbench::analysis
