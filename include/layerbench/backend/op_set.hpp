// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>

#include <layerbench/backend/plan.hpp>

namespace layerbench {

/// A list of ops, such as those that a backend has by layerbench's own kernels.
template <class... Ops>
struct op_set {
  template <class Op>
  static constexpr bool has = (std::same_as<Op, Ops> || ...);
  template <class Backend>
  static constexpr bool implemented_by = (implements<Backend, Ops> && ...);
};

}  // namespace layerbench
