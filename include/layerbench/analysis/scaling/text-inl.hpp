// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <layerbench/analysis/base/headline_text.hpp>
#include <layerbench/analysis/scaling/allreduce_model.hpp>
#include <layerbench/analysis/scaling/collective_table.hpp>
#include <layerbench/analysis/scaling/text.hpp>
#include <layerbench/base/compiled.hpp>
#include <layerbench/base/number_format.hpp>
#include <layerbench/base/units.hpp>
#include <layerbench/result/measurement.hpp>
#include <layerbench/shape/record.hpp>

namespace layerbench::analysis {

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

namespace detail {

/// "102 MB of gradients in 5 buckets: 8.20 MB, 26.3 MB"
[[nodiscard]] inline std::string buckets_text(const compute_step& of) {
  double total = 0;
  std::vector<std::string> sizes;
  for (const timed_bucket& bucket : of.buckets) {
    total += static_cast<double>(bucket.what.bytes);
    sizes.push_back(units::si(static_cast<double>(bucket.what.bytes), "B"));
  }
  return fmt::format("{} of gradients in {} bucket{}: {}", units::si(total, "B"), sizes.size(),
                     sizes.size() == 1 ? "" : "s", fmt::join(sizes, ", "));
}

/// "1.5", "1.1 to 1.5"
[[nodiscard]] inline std::string range_of(const std::vector<double>& factors) {
  const auto [least, most] = std::ranges::minmax(factors);
  return least < most ? fmt::format("{:.4g} to {:.4g}", least, most) : fmt::format("{:.4g}", least);
}

/// The contention over all steps on several devices.
[[nodiscard]] inline std::string contention_text(const data_parallel& of) {
  using enum contention_source;
  std::set<std::string> files;
  bool is_assumed = false;
  bool sending_known = true;
  std::vector<double> computing;
  std::vector<double> sending;
  for (const scaled_step& step : of.steps) {
    if (step.devices == 1) continue;
    is_assumed = is_assumed || step.contention.from == assumed;
    sending_known = sending_known && step.contention.sending_known;
    computing.push_back(step.contention.factors.usual.computing);
    sending.push_back(step.contention.factors.usual.sending);
    files.insert(step.contention.files.begin(), step.contention.files.end());
  }
  if (computing.empty()) return {};
  if (is_assumed && files.empty()) {
    return "  contention: none assumed; --contention F says how much slower a device computes "
           "while gradients are sent\n";
  }
  return fmt::format(
             "  contention: computing takes {} times as long while gradients are sent{}{}{}\n",
             range_of(computing),
             std::ranges::max(sending) > 1
                 ? fmt::format(", and sending {} times as long meanwhile", range_of(sending))
                 : "",
             files.empty() ? "" : fmt::format(", as measured in {}", fmt::join(files, ", ")),
             is_assumed ? "; none assumed at other batches" : "") +
         (sending_known ? "" : "  sending: slowdown by computing not measured, assumed none\n");
}

/// What holds for all numbers of devices, one line each.
[[nodiscard]] inline std::string conditions_text(const data_parallel& of) {
  const prediction& single = of.single;
  const step_time& step = *single.step;
  std::string lines = fmt::format("  one device: {} images/s, {} ms per step ({})\n",
                                  single.rate_text(single.images_per_second()),
                                  format::milliseconds(step.seconds, single.digits()),
                                  step.kind == interval_method::none
                                      ? single.method
                                      : format::between(*step.interval(), single.digits()));
  const network& interconnect = of.how.interconnect;
  lines += fmt::format("  network: {}{}: {}\n", interconnect.name,
                       interconnect.title.empty() ? "" : " (" + interconnect.title + ")",
                       text(interconnect));
  lines += fmt::format("  {}\n", buckets_text(*of.computed.front()));
  lines +=
      of.how.scaling == scaling::weak
          ? fmt::format("  weak scaling: {} images for each device\n", single.model_case.batch)
          : fmt::format("  strong scaling: {} images for all devices\n", single.model_case.batch);
  return lines + contention_text(of);
}

/// The source of the all-reduces' times.
[[nodiscard]] inline std::string network_source(const network& interconnect,
                                                const scaled_step& of) {
  if (of.devices == 1) return "";
  if (of.extrapolated) return "extrapolated";
  return std::holds_alternative<collective_table>(interconnect.how) ? "measured" : "described";
}

}  // namespace detail

LAYERBENCH_INLINE table to_table(const data_parallel& of) {
  using enum align;
  table t{{{"devices", right},
           {"batch", right},
           {"images/s", right},
           {"ms/step", right},
           {"between", right},
           {"efficiency", right},
           {"sending ms", right},
           {"exposed ms", right},
           {"full overlap ms", right},
           {"no overlap ms", right},
           {"network"}},
          {}};
  for (const scaled_step& scaled : of.steps) {
    const parallel_step& step = scaled.step;
    const stats::interval between{scaled.seconds_low, scaled.seconds_high};
    const int digits = of.single.digits();
    t.rows.push_back({std::to_string(scaled.devices), std::to_string(scaled.batch),
                      format::rate(static_cast<double>(scaled.devices * scaled.batch) /
                                       format::rounded(step.seconds, digits),
                                   digits),
                      format::milliseconds(step.seconds, digits),
                      scaled.is_interval() ? format::range(between, digits) : "not known",
                      format::percent(scaled.efficiency, digits),
                      format::milliseconds(step.communication),
                      format::milliseconds(step.exposed, digits),
                      format::milliseconds(step.full_overlap, digits),
                      format::milliseconds(step.no_overlap, digits),
                      detail::network_source(of.how.interconnect, scaled)});
  }
  return t;
}

LAYERBENCH_INLINE std::string text(std::span<const data_parallel> all) {
  std::string out;
  for (const data_parallel& of : all) {
    out +=
        headline(of.single) + '\n' + detail::conditions_text(of) + '\n' + text(to_table(of)) + '\n';
  }
  if (all.empty()) return out;
  return out +
         "exposed: sending that no computing hides; network: where the times of all-reduces are "
         "from\n";
}

LAYERBENCH_INLINE table records(std::span<const data_parallel> all) {
  table t = table_with_columns(
      "model backend dtype case network scaling contention devices batch "
      "seconds_per_step seconds_low seconds_high images_per_second efficiency "
      "communication_seconds exposed_seconds slowed_seconds full_overlap_seconds "
      "no_overlap_seconds extrapolated sending_contention");
  for (const data_parallel& of : all) {
    const result::case_name& model_case = of.single.model_case;
    for (const scaled_step& scaled : of.steps) {
      const parallel_step& step = scaled.step;
      std::vector<std::string> cells{model_case.model,
                                     model_case.backend,
                                     model_case.dtype,
                                     model_case.text(),
                                     of.how.interconnect.name,
                                     std::string(name(of.how.scaling)),
                                     format::exact(scaled.contention.factors.usual.computing),
                                     std::to_string(scaled.devices),
                                     std::to_string(scaled.batch)};
      cells.push_back(format::exact(step.seconds));
      for (const double bound : {scaled.seconds_low, scaled.seconds_high}) {
        cells.push_back(scaled.is_interval() ? format::exact(bound) : "");
      }
      for (const double number : {scaled.images_per_second(), scaled.efficiency, step.communication,
                                  step.exposed, step.slowed, step.full_overlap, step.no_overlap}) {
        cells.push_back(format::exact(number));
      }
      cells.emplace_back(scaled.extrapolated ? "true" : "false");
      cells.push_back(format::exact(scaled.contention.factors.usual.sending));
      t.rows.push_back(std::move(cells));
    }
  }
  return t;
}

LAYERBENCH_INLINE std::string text(std::span<const measured_contention> measured) {
  std::string out;
  for (const measured_contention& contention : measured) {
    const auto& [usual, low, high] = contention.factors;
    const char* const kind = contention.is_interval ? "95 % " : "rounds ";
    out += fmt::format(
        "contention of {}: its backward part takes {:.3f} times as long while gradients are sent "
        "({}between {:.3f} and {:.3f})",
        headline(contention.model_case, contention.threads), usual.computing, kind, low.computing,
        high.computing);
    if (contention.sending_known) {
      out += fmt::format(", and sending {:.3f} times as long while it computes ({:.3f} to {:.3f})",
                         usual.sending, low.sending, high.sending);
    }
    if (contention.disturbed > result::much_disturbed) {
      out += fmt::format("; something else used the processors during {:.0f} % of the timings",
                         100 * contention.disturbed);
    }
    out += '\n';
  }
  return out;
}

}  // namespace layerbench::analysis
