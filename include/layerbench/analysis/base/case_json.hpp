// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include <layerbench/base/json.hpp>
#include <layerbench/result/name.hpp>
#include <layerbench/result/stream_latency.hpp>

/// What the JSON of several subcommands has alike.
namespace layerbench::analysis::detail {

template <class Number>
[[nodiscard]] json::value or_null(const std::optional<Number>& number) {
  return number ? json::value(*number) : json::value(nullptr);
}

/// The fields that a case begins with.
[[nodiscard]] inline json::value case_fields(const result::case_name& of) {
  return {{"model", of.model},
          {"phase", of.phase()},
          {"backend", of.backend},
          {"dtype", of.dtype},
          {"batch", of.batch}};
}

[[nodiscard]] inline json::value latencies_json(const result::latencies& of) {
  json::value fields = json::value::object();
  for (std::size_t i = 0; i < of.size(); ++i) {
    fields[std::string(result::latency_quantiles.at(i).name)] = of.at(i);
  }
  return fields;
}

}  // namespace layerbench::analysis::detail
