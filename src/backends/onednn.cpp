// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <layerbench/backend/onednn/plans.hpp>

#include "../backends.hpp"

#include <layerbench/backend/adapter.hpp>

namespace layerbench::programs {

run::backend_entry onednn_entry() { return run::entry_of<onednn::backend>(op::builtin{}); }

}  // namespace layerbench::programs
