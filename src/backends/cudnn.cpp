// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <layerbench/backend/cudnn/plans.hpp>

#include "../backends.hpp"

#include <layerbench/backend/adapter.hpp>

namespace layerbench::programs {

run::backend_entry cudnn_entry() { return run::entry_of<cudnn::backend>(op::builtin{}); }

}  // namespace layerbench::programs
