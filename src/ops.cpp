// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include "backends.hpp"

#include <layerbench/backend/reference/plans.hpp>
#include <layerbench/op/list.hpp>

namespace layerbench::programs {

run::registry builtin_ops() {
  return {{}, op::catalog_of(op::builtin{}), reference::oracle(op::builtin{}), {}};
}

}  // namespace layerbench::programs
