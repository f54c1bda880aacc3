// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <stdexcept>
#include <string>

#include <layerbench/base/compiled.hpp>
#include <layerbench/op/builtin.hpp>
#include <layerbench/op/list.hpp>
#include <layerbench/shape/dtype.hpp>
#include <layerbench/shape/record_key.hpp>

namespace layerbench::op {

LAYERBENCH_INLINE catalog builtin_catalog() { return catalog_of(builtin{}); }

namespace detail {

/// Takes off a key's end what begins with `name`. Returns what follows the name.
[[nodiscard]] inline std::optional<std::string_view> take_end(std::string_view& key,
                                                              std::string_view name) {
  const std::size_t end = key.rfind(name);
  if (end == std::string_view::npos) return std::nullopt;
  const std::string_view value = key.substr(end + name.size());
  key = key.substr(0, end);
  return value;
}

}  // namespace detail

LAYERBENCH_INLINE std::string_view backend_of_key(std::string_view key) {
  return detail::take_end(key, ",backend:").value_or("");
}

LAYERBENCH_INLINE std::optional<any> from_key(std::string_view name, std::string_view key) {
  const catalog all = builtin_catalog();
  const auto found = std::ranges::find(all, name, &entry::name);
  if (found == all.end()) return std::nullopt;
  const std::string backend(detail::take_end(key, ",backend:").value_or(""));
  std::optional<dtype> own_type;
  if (const auto type = detail::take_end(key, ",type:")) {
    own_type = dtype_from(*type);
    if (!own_type) return std::nullopt;
  }
  const auto fields = read_key(key, found->default_fields());
  if (!fields) return std::nullopt;
  try {
    const any op = found->create(*fields).on(backend);
    return own_type ? op.in(*own_type) : op;
  } catch (const std::runtime_error&) {  // no valid op: a field, or a product of fields
    return std::nullopt;
  }
}

}  // namespace layerbench::op
