// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <layerbench/backend/cublas/plans.hpp>

#include "../backends.hpp"

#include <layerbench/backend/adapter.hpp>

namespace layerbench::programs {

run::backend_entry cublas_entry() { return run::entry_of<cublas::backend>(op::builtin{}); }

}  // namespace layerbench::programs
