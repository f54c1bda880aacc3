// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <utility>

#include <layerbench/analysis/base/case_json.hpp>
#include <layerbench/analysis/base/memory.hpp>
#include <layerbench/shape/record.hpp>

namespace layerbench::analysis {

namespace detail {

[[nodiscard]] inline json::value parts_json(const memory_parts& parts) {
  json::value result = json::value::object();
  for (std::size_t i = 0; i < parts.bytes.size(); ++i) {
    result[std::string(enum_names<memory_kind>[i]) + "_bytes"] = parts.bytes[i];
  }
  return result;
}

[[nodiscard]] inline json::value call_json(const memory_report& of, std::size_t i) {
  const model::call& call = of.step.calls[i];
  json::value result = {{"layer", call.layer},
                        {"pass", op::name(call.pass)},
                        {"part", name(call.part)},
                        {"bytes", of.live.calls[i].total()}};
  result.update(parts_json(of.live.calls[i]));
  return result;
}

}  // namespace detail

[[nodiscard]] inline json::value to_json(const memory_report& of) {
  using detail::or_null;
  json::value policies = json::value::array();
  for (std::size_t i = 0; i < of.totals.size(); ++i) {
    const memory_total& total = of.totals[i];
    json::value one = {{"policy", name(total.policy)},
                       {"bytes", total.bytes()},
                       {"rest_bytes", total.rest},
                       {"scratch_bytes", of.scratch_known ? json::value(total.beside.scratch)
                                                          : json::value(nullptr)},
                       {"reorders_bytes", of.scratch_known ? json::value(total.beside.reorders)
                                                           : json::value(nullptr)},
                       {"contexts_bytes", total.beside.contexts},
                       {"largest_batch", of.limit && of.batches[i] > 0 ? json::value(of.batches[i])
                                                                       : json::value(nullptr)}};
    one.update(detail::parts_json(total.parts));
    policies.push_back(std::move(one));
  }
  json::value calls = json::value::array();
  for (std::size_t i = 0; i < of.live.calls.size(); ++i) {
    calls.push_back(detail::call_json(of, i));
  }
  const bool trains = of.phase == "training";
  return {{"schema", 1},
          {"model", of.graph.name},
          {"phase", of.phase},
          {"fusion", of.graph.fusion.empty() ? json::value(nullptr) : json::value(of.graph.fusion)},
          {"dtype", name(of.step.type)},
          {"batch", model::batch(of.graph)},
          {"tokens", or_null(model::parameter(of.graph, "tokens"))},
          {"context", or_null(model::parameter(of.graph, "context"))},
          {"optimizer", trains ? json::value(model::text(of.how)) : json::value(nullptr)},
          {"peak", detail::call_json(of, of.live.peak)},
          {"unknown_tensors", of.live.unknown},
          {"cache_bytes_per_token", or_null(of.cache_of_a_token())},
          {"limit_bytes", or_null(of.limit)},
          {"policies", std::move(policies)},
          {"calls", std::move(calls)}};
}

}  // namespace layerbench::analysis
