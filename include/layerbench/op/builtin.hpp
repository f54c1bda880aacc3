// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <layerbench/op/op.hpp>

namespace layerbench::op {

/// The catalog of every op of the library (op/list.hpp).
[[nodiscard]] catalog builtin_catalog();

}  // namespace layerbench::op

#ifndef LAYERBENCH_COMPILED
#include <layerbench/op/builtin-inl.hpp>
#endif
