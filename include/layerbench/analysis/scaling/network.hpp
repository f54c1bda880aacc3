// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <layerbench/analysis/scaling/collective_table.hpp>
#include <layerbench/analysis/scaling/link.hpp>
#include <layerbench/base/units.hpp>

/// What joins the devices that train a model together.
namespace layerbench::analysis {

struct nodes;

/// A network: as described by a link, as measured, or nodes that are joined by another one.
struct network {
  std::string name;
  std::string title;
  std::string source;                     ///< where its numbers come from
  std::optional<std::int64_t> most = {};  ///< devices that it can hold; nothing: any number
  std::variant<link, collective_table, std::shared_ptr<const nodes>> how = link{};
};

/// Devices in nodes.
struct nodes {
  std::int64_t devices_per_node = 1;
  std::int64_t adapters = 1;  ///< of a node; each carries its part of the bytes between nodes
  network intra;              ///< between the devices of a node
  network inter;              ///< between nodes, by one adapter
};

/// Throws usage_error where a network cannot hold so many devices.
inline void require_room(const network& in, std::int64_t devices) {
  if (in.most && devices > *in.most) {
    throw usage_error(fmt::format(
        "the network {} holds {} devices, not {}; a hierarchical one says what joins several "
        "(docs/formats.md, networks)",
        in.name, *in.most, devices));
  }
  const auto* both = std::get_if<std::shared_ptr<const nodes>>(&in.how);
  if (both == nullptr) return;
  const std::int64_t in_node = std::min(devices, (*both)->devices_per_node);
  require_room((*both)->intra, in_node);
  require_room((*both)->inter, (devices + in_node - 1) / in_node);
}

/// An all-reduce of so many bytes over n devices; 0 for one. With nodes, the devices of each add up
/// among themselves, then the nodes, and the sums are handed out in each node (as in Goyal et al.,
/// Accurate, Large Minibatch SGD, 2017, 4.1): an all-reduce inside a node, and one between nodes
/// over all adapters at once. A last node that is not full takes as long as the others.
[[nodiscard]] inline collective_time allreduce_time(const network& in, double bytes,
                                                    std::int64_t n) {
  if (n == 1) return {};
  if (const auto* described = std::get_if<link>(&in.how)) {
    const double seconds = described->seconds(bytes, n);
    return {seconds, seconds, seconds};
  }
  if (const auto* table = std::get_if<collective_table>(&in.how)) return table->time(bytes, n);
  const nodes& both = *std::get<std::shared_ptr<const nodes>>(in.how);
  const std::int64_t in_node = std::min(n, both.devices_per_node);
  const collective_time inside = allreduce_time(both.intra, bytes, in_node);
  const collective_time between = allreduce_time(
      both.inter, bytes / static_cast<double>(both.adapters), (n + in_node - 1) / in_node);
  return {inside.seconds + between.seconds, inside.low + between.low, inside.high + between.high};
}

/// Whether the time of an all-reduce goes beyond what was measured: of a table that has not so many
/// devices, or only fewer bytes.
[[nodiscard]] inline bool extrapolates(const network& in, double bytes, std::int64_t n) {
  if (n == 1) return false;
  if (const auto* table = std::get_if<collective_table>(&in.how)) return !table->measured(bytes, n);
  const auto* both = std::get_if<std::shared_ptr<const nodes>>(&in.how);
  if (both == nullptr) return false;
  const std::int64_t in_node = std::min(n, (*both)->devices_per_node);
  return extrapolates((*both)->intra, bytes, in_node) ||
         extrapolates((*both)->inter, bytes / static_cast<double>((*both)->adapters),
                      (n + in_node - 1) / in_node);
}

/// The network in words: "ring, alpha 3.40 us, beta 72.0 GB/s".
[[nodiscard]] inline std::string text(const network& of) {
  const auto of_link = [](const link& item) {
    return fmt::format("{}, alpha {}, beta {}", name(item.topology), units::si(item.alpha, "s"),
                       units::si(item.beta, "B/s"));
  };
  if (const auto* described = std::get_if<link>(&of.how)) return of_link(*described);
  if (const auto* table = std::get_if<collective_table>(&of.how)) {
    const std::string disturbed =
        table->disturbed() <= result::much_disturbed
            ? ""
            : fmt::format("; something else used the processors during {:.0f} % of its timings",
                          100 * table->disturbed());
    return fmt::format(
        "measured for {} devices; for others scaled by a fitted {} (off by {:.0f} %){}",
        fmt::join(table->devices(), ", "), of_link(table->model().link),
        100 * table->model().residual, disturbed);
  }
  const nodes& both = *std::get<std::shared_ptr<const nodes>>(of.how);
  return fmt::format("nodes of {} devices: {}; between nodes, {} adapter{}: {}",
                     both.devices_per_node, text(both.intra), both.adapters,
                     both.adapters == 1 ? "" : "s", text(both.inter));
}

}  // namespace layerbench::analysis
