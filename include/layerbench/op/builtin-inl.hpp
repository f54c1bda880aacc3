// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <stdexcept>

#include <layerbench/base/compiled.hpp>
#include <layerbench/op/builtin.hpp>
#include <layerbench/op/list.hpp>
#include <layerbench/shape/dtype.hpp>
#include <layerbench/shape/record_key.hpp>

namespace layerbench::op {

LAYERBENCH_INLINE catalog builtin_catalog() { return catalog_of(builtin{}); }

LAYERBENCH_INLINE std::optional<any> from_key(std::string_view name, std::string_view key) {
  const catalog all = builtin_catalog();
  const auto found = std::ranges::find(all, name, &entry::name);
  if (found == all.end()) return std::nullopt;
  std::string backend;
  constexpr std::string_view before_backend = ",backend:";
  if (const std::size_t end = key.rfind(before_backend); end != std::string_view::npos) {
    backend = key.substr(end + before_backend.size());
    key = key.substr(0, end);
  }
  std::optional<dtype> own_type;
  constexpr std::string_view before_type = ",type:";
  if (const std::size_t end = key.rfind(before_type); end != std::string_view::npos) {
    own_type = dtype_from(key.substr(end + before_type.size()));
    if (!own_type) return std::nullopt;
    key = key.substr(0, end);
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
