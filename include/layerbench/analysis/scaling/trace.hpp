// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include <layerbench/analysis/scaling/data_parallel.hpp>
#include <layerbench/base/json.hpp>

/// The timeline of a step in Chrome's trace format, which Perfetto reads too.
namespace layerbench::analysis {

namespace detail {

enum class track { computing = 0, sending = 1 };

/// A span of time on a track; times are in microseconds (Trace Event Format, complete events).
[[nodiscard]] inline json::value span_json(const std::string& name, std::string_view category,
                                           track on, const time_span& when) {
  return {{"name", name},
          {"cat", category},
          {"ph", "X"},
          {"pid", 0},
          {"tid", static_cast<int>(on)},
          {"ts", 1e6 * when.begin},
          {"dur", 1e6 * (when.end - when.begin)}};
}

[[nodiscard]] inline json::value track_name(track on, std::string_view name) {
  return {{"name", "thread_name"},
          {"ph", "M"},
          {"pid", 0},
          {"tid", static_cast<int>(on)},
          {"args", {{"name", name}}}};
}

}  // namespace detail

/// The i-th step of `of` on one of its devices: every call, and with several devices every bucket
/// while it is sent. The framework's time that belongs to no call comes last.
[[nodiscard]] inline json::value trace(const data_parallel& of, std::size_t i) {
  using detail::track;
  const compute_step& computed = *of.computed.at(i);
  const scaled_step& scaled = of.steps.at(i);
  const parallel_step& step = scaled.step;
  json::value events = json::value::array({detail::track_name(track::computing, "compute"),
                                           detail::track_name(track::sending, "all-reduce")});
  const auto calls = call_spans(computed, step, scaled.contention.factors.usual.computing);
  for (std::size_t k = 0; k < calls.size(); ++k) {
    const timed_call& call = computed.calls[k];
    events.push_back(detail::span_json(call.name, name(call.part), track::computing, calls[k]));
  }
  if (computed.overhead > 0) {
    events.push_back(detail::span_json("framework", "framework", track::computing,
                                       {calls.back().end, calls.back().end + computed.overhead}));
  }
  for (std::size_t k = 0; k < computed.buckets.size() && scaled.devices > 1; ++k) {
    const model::bucket& bucket = computed.buckets[k].what;
    json::value sent =
        detail::span_json(fmt::format("bucket {}", k), "all-reduce", track::sending, step.sent[k]);
    sent["args"] = {{"bytes", bucket.bytes}, {"layers", bucket.layers}};
    events.push_back(std::move(sent));
  }
  return {{"traceEvents", events},
          {"displayTimeUnit", "ms"},
          {"otherData",
           {{"case", of.single.model_case.text()},
            {"devices", scaled.devices},
            {"batch", scaled.batch},
            {"network", of.how.interconnect.name},
            {"seconds_per_step", step.seconds}}}};
}

}  // namespace layerbench::analysis
