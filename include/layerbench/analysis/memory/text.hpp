// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include <layerbench/analysis/base/memory.hpp>
#include <layerbench/base/table.hpp>

/// The memory of a step as text and as CSV.
namespace layerbench::analysis {

/// The conditions, what each policy takes by kind, and a chart of live memory over the step.
[[nodiscard]] std::string text(const memory_report& of);

/// One row per call, with the live bytes of each kind.
[[nodiscard]] table records(const memory_report& of);

}  // namespace layerbench::analysis

#ifndef LAYERBENCH_COMPILED
#include <layerbench/analysis/memory/text-inl.hpp>
#endif
