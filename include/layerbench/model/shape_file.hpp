// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include <layerbench/model/graph.hpp>
#include <layerbench/op/builtin.hpp>
#include <layerbench/op/op.hpp>

/// Reads a model's graph from a shape file.
namespace layerbench::model {

/// The text of the shape file that an ONNX or GGUF model becomes. Throws what an import throws.
using model_importer = std::string (*)(const std::filesystem::path& path);

/// What load() reads paths in .onnx and .gguf with: programs set it, and null refuses them. The
/// headers alone need no library that reads ONNX.
[[nodiscard]] inline model_importer& importer_of_models() {
  static model_importer importer = nullptr;
  return importer;
}

/// Reads a shape file (docs/formats.md), or an ONNX or GGUF model. `replaced` holds values that
/// replace the file's parameters. Throws bad_input with file and JSON pointer for whatever is wrong
/// in it, and usage_error for a batch of a sweep, and for tokens and context of a file without
/// these parameters.
[[nodiscard]] graph load(const std::filesystem::path& path, const parameter_values& replaced,
                         const op::catalog& catalog = op::builtin_catalog());

/// The same; `batch` replaces the parameter of that name.
[[nodiscard]] inline graph load(const std::filesystem::path& path,
                                std::optional<std::int64_t> batch = std::nullopt,
                                const op::catalog& catalog = op::builtin_catalog()) {
  return load(path, batch ? parameter_values{{"batch", *batch}} : parameter_values{}, catalog);
}

/// The graph of a shape file with this text; `file` is its name in errors. Throws what load()
/// throws.
[[nodiscard]] graph load_text(const std::string& text, const std::string& file,
                              const parameter_values& replaced = {},
                              const op::catalog& catalog = op::builtin_catalog());

/// Reads the shape file of a model. Throws usage_error for a sweep, which has no steps.
[[nodiscard]] graph load_model(const std::filesystem::path& path,
                               std::optional<std::int64_t> batch = std::nullopt);

}  // namespace layerbench::model

#ifndef LAYERBENCH_COMPILED
#include <layerbench/model/shape_file-inl.hpp>
#endif
