// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include <layerbench/base/compiled.hpp>
#include <layerbench/base/is_name.hpp>
#include <layerbench/base/parse_number.hpp>
#include <layerbench/base/split.hpp>
#include <layerbench/result/name.hpp>

namespace layerbench::result {

namespace detail {

LAYERBENCH_INLINE std::string parameter_text(const name_parameters& parameters,
                                             std::string_view except) {
  std::string text;
  for (const std::string_view name : parameter_order) {
    const auto found = parameters.find(name);
    if (found != parameters.end() && name != except) {
      text += fmt::format("/{}:{}", name, found->second);
    }
  }
  return text;
}

LAYERBENCH_INLINE std::optional<std::string_view> value_of(std::string_view part,
                                                           std::string_view name) {
  if (part.size() <= name.size() || !part.starts_with(name) || part[name.size()] != ':') {
    return std::nullopt;
  }
  return part.substr(name.size() + 1);
}

LAYERBENCH_INLINE std::optional<std::int64_t> count_of(std::string_view text, std::int64_t least) {
  const auto value = parse_number<std::int64_t>(text);
  return value >= least ? value : std::nullopt;
}

}  // namespace detail

LAYERBENCH_INLINE std::string case_name::parameter(std::string_view of,
                                                   std::string otherwise) const {
  const auto found = parameters.find(of);
  if (found != parameters.end()) return found->second;
  return otherwise;
}

LAYERBENCH_INLINE std::string case_name::model_text() const {
  std::string text = model;
  for (const auto& [name, value] : parameters) {
    const bool has_column =
        name == "phase" || name == "threads" || name == "tokens" || name == "context";
    if (!has_column) text += fmt::format(", {} {}", name, value);
  }
  return text;
}

LAYERBENCH_INLINE std::string case_name::text() const {
  return fmt::format("{}/{}/{}/{}/batch:{}{}", phase(), backend, dtype, model, batch,
                     detail::parameter_text(parameters, "phase"));
}

LAYERBENCH_INLINE std::string row_name::text() const {
  if (is_chain()) return "chain/" + model_case.text();
  return fmt::format("{}/{}/{}/{}/{}/{}/batch:{}/cache:{}{}", op, pass, model_case.backend,
                     model_case.dtype, model_case.model, layer, model_case.batch, cache,
                     detail::parameter_text(model_case.parameters));
}

LAYERBENCH_INLINE std::optional<name_parameters> parse_parameters(
    const std::vector<std::string_view>& parts, std::size_t first) {
  name_parameters parameters;
  auto next = parameter_order.begin();
  for (std::size_t i = first; i < parts.size(); ++i) {
    std::optional<std::string_view> value;
    while (next != parameter_order.end() && !value) value = detail::value_of(parts[i], *next++);
    if (!value || !is_name(*value)) return std::nullopt;
    const std::string_view name = *std::prev(next);
    const bool is_count = name == "tokens" || name == "context";
    const std::int64_t least = name == "tokens" ? 1 : 0;
    if (is_count && !detail::count_of(*value, least)) return std::nullopt;
    parameters.emplace(name, *value);
  }
  if (const auto phase = parameters.find("phase"); phase != parameters.end()) {
    if (phase->second == "inference") return std::nullopt;  // a default is never written out
  }
  return parameters;
}

namespace detail {

/// The end of names of rows and cases.
struct name_end {
  std::int64_t batch;
  name_parameters parameters;
};

/// Reads a name of `names` plain components, `batch:<n>` and, from component `fixed` on,
/// parameters; nothing for any other name.
[[nodiscard]] inline std::optional<name_end> parse_end(const std::vector<std::string_view>& parts,
                                                       std::size_t names, std::size_t fixed) {
  if (parts.size() < fixed) return std::nullopt;
  for (std::size_t i = 0; i < names; ++i) {
    const std::vector<std::string_view> joined = split(parts[i], i == layer_position ? '+' : '/');
    if (!std::ranges::all_of(joined, &is_name)) return std::nullopt;
  }
  const auto text = value_of(parts[names], "batch");
  const auto batch = text ? count_of(*text) : std::nullopt;
  auto parameters = parse_parameters(parts, fixed);
  if (!batch || !parameters) return std::nullopt;
  return name_end{*batch, std::move(*parameters)};
}

}  // namespace detail

LAYERBENCH_INLINE std::optional<case_name> parse_case(std::string_view text) {
  const std::vector<std::string_view> parts = split(text, '/');
  auto end = detail::parse_end(parts, 4, 5);
  if (!end || end->parameters.contains("phase")) return std::nullopt;
  if (parts[0] != "inference") end->parameters.emplace("phase", parts[0]);
  return case_name{std::string(parts[1]), std::string(parts[2]), std::string(parts[3]), end->batch,
                   std::move(end->parameters)};
}

LAYERBENCH_INLINE std::optional<row_name> parse_row(std::string_view text) {
  constexpr std::string_view chain = "chain/";
  if (text.starts_with(chain)) {
    if (auto model_case = parse_case(text.substr(chain.size()))) {
      return row_name::chain(std::move(*model_case));
    }
  }
  const std::vector<std::string_view> parts = split(text, '/');
  auto end = detail::parse_end(parts, detail::layer_position + 1, 8);
  if (!end) return std::nullopt;
  const auto cache = detail::value_of(parts[7], "cache");
  if (!cache || !is_name(*cache)) return std::nullopt;
  return row_name{{std::string(parts[2]), std::string(parts[3]), std::string(parts[4]), end->batch,
                   std::move(end->parameters)},
                  std::string(parts[0]),
                  std::string(parts[1]),
                  std::string(parts[detail::layer_position]),
                  std::string(*cache)};
}

}  // namespace layerbench::result
