// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

#include <layerbench/model/graph.hpp>
#include <layerbench/op/builtin.hpp>
#include <layerbench/op/op.hpp>

/// Reads a model's graph from a shape file.
namespace layerbench::model {

/// Reads a shape file (docs/formats.md). `batch` replaces the file's parameter of that name.
/// Throws bad_input with file and JSON pointer for whatever is wrong in it, and usage_error for a
/// `batch` of a sweep.
[[nodiscard]] graph load(const std::filesystem::path& path,
                         std::optional<std::int64_t> batch = std::nullopt,
                         const op::catalog& catalog = op::builtin_catalog());

/// Reads the shape file of a model. Throws usage_error for a sweep, which has no steps.
[[nodiscard]] graph load_model(const std::filesystem::path& path,
                               std::optional<std::int64_t> batch = std::nullopt);

}  // namespace layerbench::model

#ifndef LAYERBENCH_COMPILED
#include <layerbench/model/shape_file-inl.hpp>
#endif
