// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include <layerbench/base/error.hpp>

/// Finds models and their files.
namespace layerbench::model {

/// Default directory of shape files: that of an installed program (../share/layerbench/shapes),
/// else the one configured by the build.
[[nodiscard]] std::filesystem::path default_shapes_directory();

/// Names of the models in `shapes`, sorted; of other files with another folder.
[[nodiscard]] std::vector<std::string> list(const std::filesystem::path& shapes,
                                            const std::string& folder = "models");

/// The error for a directory without models. The remedy is to name another.
[[nodiscard]] nothing_matched no_models(const std::filesystem::path& shapes);

/// Whether this is a path: it has a '/', or ends in .json, .onnx or .gguf. "-" is stdin.
[[nodiscard]] bool is_path(const std::string& name_or_path);

/// The shape file meant by `name_or_path`: its path (see is_path), else a model
/// of `shapes` by its name, a sweep by its name, or a model by an alias. Throws nothing_matched for
/// an unknown name, listing similar ones, and where there are no models at all.
[[nodiscard]] std::filesystem::path find(const std::string& name_or_path,
                                         const std::filesystem::path& shapes);

/// The file meant by `name_or_path`: its path (see is_path), else that of the name in `folder` of
/// `shapes`. Throws nothing_matched for an unknown name. The error lists what exists; it calls the
/// missing file a `kind`, and ends in `remedy`.
[[nodiscard]] std::filesystem::path find_in(const std::filesystem::path& shapes,
                                            const std::string& folder,
                                            const std::string& name_or_path, std::string_view kind,
                                            std::string_view remedy);

}  // namespace layerbench::model

#ifndef LAYERBENCH_COMPILED
#include <layerbench/model/find-inl.hpp>
#endif
