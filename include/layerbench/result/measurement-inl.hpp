// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <layerbench/base/compiled.hpp>
#include <layerbench/base/split.hpp>
#include <layerbench/result/measurement.hpp>

namespace layerbench::result {

LAYERBENCH_INLINE std::string label::text() const {
  return fmt::format("key={};algo={};state={}{}", key, algorithm, state,
                     inserted ? ";inserted" : "");
}

LAYERBENCH_INLINE label label::parse(std::string_view text) {
  label read;
  for (const std::string_view part : split(text, ';')) {
    const std::size_t equals = part.find('=');
    const std::string_view field = part.substr(0, equals);
    const std::string_view value = equals == std::string_view::npos ? "" : part.substr(equals + 1);
    if (field == "key") read.key = value;
    if (field == "algo") read.algorithm = value;
    if (field == "state") read.state = value;
    if (field == "inserted") read.inserted = true;
  }
  return read;
}

LAYERBENCH_INLINE double measurement::mean_seconds() const {
  const auto mean = counters.find("mean_s");
  return mean == counters.end() ? seconds : mean->second;
}

LAYERBENCH_INLINE bool measurement::is_marked(std::string_view counter) const {
  const auto mark = counters.find(counter);
  return mark != counters.end() && mark->second != 0;
}

LAYERBENCH_INLINE std::string identity(const case_name& model_case, std::string_view op,
                                       std::string_view pass, std::string_view key,
                                       std::string_view cache, std::string_view state) {
  name_parameters parameters = model_case.parameters;
  // What is computed is in op, pass and key.
  for (const char* name : {"phase", "tokens", "context", "fusion"}) parameters.erase(name);
  return fmt::format("{}/{}/{}/{}/{}/{}/{}{}", op, pass, model_case.backend, model_case.dtype, key,
                     cache, state, detail::parameter_text(parameters));
}

LAYERBENCH_INLINE std::string identity(const measurement& row) {
  return identity(row.name.model_case, row.name.op, row.name.pass, row.label.key, row.name.cache,
                  row.label.state);
}

LAYERBENCH_INLINE std::optional<std::string> results::context_value(std::string_view field) const {
  const auto found = context.find(field);
  if (found == context.end()) return std::nullopt;
  return found->second;
}

LAYERBENCH_INLINE std::string results::device() const {
  const std::string processor = context_value("device").value_or("not said");
  const auto gpu = context_value("gpu");
  return gpu ? processor + ", " + *gpu : processor;
}

}  // namespace layerbench::result
