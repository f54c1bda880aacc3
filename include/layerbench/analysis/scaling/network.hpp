// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>

#include <layerbench/analysis/scaling/collective_table.hpp>
#include <layerbench/analysis/scaling/link.hpp>

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
void require_capacity(const network& in, std::int64_t devices);

/// The time of an all-reduce of `bytes` over n devices; 0 for one. A hierarchical all-reduce
/// consists of one inside each node and one between the nodes over all adapters at once (Goyal et
/// al., Accurate, Large Minibatch SGD, 2017, 4.1). A last node that is not full takes as long as
/// the others.
[[nodiscard]] collective_time allreduce_time(const network& in, double bytes, std::int64_t n);

/// Whether the time of an all-reduce is extrapolated: the table lacks that number of devices, or
/// only has fewer bytes.
[[nodiscard]] bool extrapolates(const network& in, double bytes, std::int64_t n);

}  // namespace layerbench::analysis

#ifndef LAYERBENCH_COMPILED
#include <layerbench/analysis/scaling/network-inl.hpp>
#endif
