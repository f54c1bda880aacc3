// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <layerbench/backend/reference/plans.hpp>

#include "../backends.hpp"

#include <layerbench/backend/adapter.hpp>

namespace layerbench::programs {

run::backend_entry reference_entry() { return run::entry_of<reference::backend>(op::builtin{}); }

}  // namespace layerbench::programs
