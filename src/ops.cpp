// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include "backends.hpp"

#include <layerbench/backend/reference/all_plans.hpp>
#include <layerbench/op/builtin.hpp>
#include <layerbench/op/list.hpp>

namespace layerbench::programs {

run::registry builtin_ops() {
  return {{}, op::builtin_catalog(), reference::oracle(op::builtin{}), {}};
}

}  // namespace layerbench::programs
