// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <layerbench/analysis/predict/text.hpp>
#include <layerbench/analysis/scaling/scaling.hpp>
#include <layerbench/base/units.hpp>

/// Training on many devices for people and as CSV.
namespace layerbench::report {

namespace detail {

/// "102 MB of gradients in 5 buckets: 8.20 MB, 26.3 MB"
[[nodiscard]] inline std::string buckets_text(const analysis::compute_step& of) {
  double all = 0;
  std::vector<std::string> sizes;
  for (const analysis::timed_bucket& bucket : of.buckets) {
    all += static_cast<double>(bucket.what.bytes);
    sizes.push_back(units::si(static_cast<double>(bucket.what.bytes), "B"));
  }
  return fmt::format("{} of gradients in {} bucket{}: {}", units::si(all, "B"), sizes.size(),
                     sizes.size() == 1 ? "" : "s", fmt::join(sizes, ", "));
}

/// "1.5", "1.1 to 1.5"
[[nodiscard]] inline std::string range_of(const std::vector<double>& factors) {
  const auto [least, most] = std::ranges::minmax(factors);
  return least < most ? fmt::format("{:.4g} to {:.4g}", least, most) : fmt::format("{:.4g}", least);
}

/// What sending costs those who compute, over all steps in which something is sent.
[[nodiscard]] inline std::string contention_text(const analysis::data_parallel& of) {
  using enum analysis::contention_source;
  std::set<std::string> files;
  bool is_assumed = false;
  bool sending_known = true;
  std::vector<double> computing;
  std::vector<double> sending;
  for (const analysis::scaled_step& step : of.steps) {
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
         (sending_known ? ""
                        : "  sending: not known to be slower meanwhile, taken as fast as ever\n");
}

/// What holds for all numbers of devices, a line each.
[[nodiscard]] inline std::string conditions(const analysis::data_parallel& of) {
  const analysis::prediction& one = of.single;
  const analysis::step_time& step = *one.step;
  std::string text = fmt::format(
      "  one device: {} images/s, {} ms a step ({})\n", rate(one.images_per_second()),
      milliseconds(step.seconds),
      step.kind == analysis::interval_kind::none
          ? one.method
          : fmt::format("between {} and {}", milliseconds(step.low()), milliseconds(step.high())));
  const analysis::network& joined = of.how.joined;
  text +=
      fmt::format("  network: {}{}: {}\n", joined.name,
                  joined.title.empty() ? "" : " (" + joined.title + ")", analysis::text(joined));
  text += fmt::format("  {}\n", buckets_text(*of.computed.front()));
  text +=
      of.how.scaling == analysis::scaling::weak
          ? fmt::format("  weak scaling: {} images for each device\n", one.configuration.batch)
          : fmt::format("  strong scaling: {} images for all devices\n", one.configuration.batch);
  return text + contention_text(of);
}

/// Where the time of its all-reduces comes from.
[[nodiscard]] inline std::string whence(const analysis::network& joined,
                                        const analysis::scaled_step& of) {
  if (of.devices == 1) return "";
  if (of.extrapolated) return "extrapolated";
  return std::holds_alternative<analysis::collective_table>(joined.how) ? "measured" : "described";
}

}  // namespace detail

/// One row a number of devices.
[[nodiscard]] inline table to_table(const analysis::data_parallel& of) {
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
  for (const analysis::scaled_step& scaled_step : of.steps) {
    const analysis::parallel_step& step = scaled_step.step;
    t.rows.push_back(
        {std::to_string(scaled_step.devices), std::to_string(scaled_step.batch),
         detail::rate(scaled_step.images_per_second()), detail::milliseconds(step.seconds),
         scaled_step.is_interval()
             ? detail::range_text(scaled_step.seconds_low, scaled_step.seconds_high)
             : "not known",
         detail::percent(scaled_step.efficiency), detail::milliseconds(step.communication),
         detail::milliseconds(step.exposed), detail::milliseconds(step.full_overlap),
         detail::milliseconds(step.no_overlap), detail::whence(of.how.joined, scaled_step)});
  }
  return t;
}

/// Each case with a table of its numbers of devices.
[[nodiscard]] inline std::string text(std::span<const analysis::data_parallel> all) {
  std::string out;
  for (const analysis::data_parallel& data_parallel : all) {
    out += detail::headline(data_parallel.single) + '\n' + detail::conditions(data_parallel) +
           '\n' + text(to_table(data_parallel)) + '\n';
  }
  return out;
}

/// One row a case and number of devices.
[[nodiscard]] inline table records(std::span<const analysis::data_parallel> all) {
  table t = table_with_columns(
      "model backend dtype case network scaling contention devices batch "
      "seconds_per_step seconds_low seconds_high images_per_second efficiency "
      "communication_seconds exposed_seconds slowed_seconds full_overlap_seconds "
      "no_overlap_seconds extrapolated sending_contention");
  for (const analysis::data_parallel& of : all) {
    const result::configuration_name& configuration = of.single.configuration;
    for (const analysis::scaled_step& scaled_step : of.steps) {
      const analysis::parallel_step& step = scaled_step.step;
      std::vector<std::string> cells{configuration.model,
                                     configuration.backend,
                                     configuration.dtype,
                                     configuration.text(),
                                     of.how.joined.name,
                                     std::string(name(of.how.scaling)),
                                     detail::exact(scaled_step.contention.factors.usual.computing),
                                     std::to_string(scaled_step.devices),
                                     std::to_string(scaled_step.batch)};
      cells.push_back(detail::exact(step.seconds));
      for (const double bound : {scaled_step.seconds_low, scaled_step.seconds_high}) {
        cells.push_back(scaled_step.is_interval() ? detail::exact(bound) : "");
      }
      for (const double number :
           {scaled_step.images_per_second(), scaled_step.efficiency, step.communication,
            step.exposed, step.slowed, step.full_overlap, step.no_overlap}) {
        cells.push_back(detail::exact(number));
      }
      cells.emplace_back(scaled_step.extrapolated ? "true" : "false");
      cells.push_back(detail::exact(scaled_step.contention.factors.usual.sending));
      t.rows.push_back(std::move(cells));
    }
  }
  return t;
}

}  // namespace layerbench::report
