// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <layerbench/op/op.hpp>
#include <layerbench/shape/json.hpp>

namespace layerbench::model {

/// JSON schema (2020-12) of shape files, for editors. model::load also checks what a schema cannot:
/// that the sizes of connected layers agree and that the graph has no cycle.
[[nodiscard]] json::value schema(const op::catalog& catalog);

}  // namespace layerbench::model

#ifndef LAYERBENCH_COMPILED
#include <layerbench/model/schema-inl.hpp>
#endif
