// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <iterator>
#include <optional>

#include <fmt/format.h>

#include <layerbench/base/compiled.hpp>
#include <layerbench/base/json.hpp>
#include <layerbench/base/program_path.hpp>
#include <layerbench/base/similar_names.hpp>
#include <layerbench/base/system.hpp>
#include <layerbench/model/find.hpp>

#ifndef LAYERBENCH_SHAPES_DIR
#define LAYERBENCH_SHAPES_DIR ""
#endif

namespace layerbench::model {

LAYERBENCH_INLINE std::filesystem::path default_shapes_directory() {
  if (const auto program = machine::this_program()) {
    auto installed = program->parent_path().parent_path() / "share" / "layerbench" / "shapes";
    if (std::filesystem::is_directory(installed)) return installed;
  }
  return LAYERBENCH_SHAPES_DIR;
}

LAYERBENCH_INLINE std::vector<std::string> list(const std::filesystem::path& shapes,
                                                const std::string& folder) {
  std::vector<std::string> names;
  std::error_code failed;
  for (const auto& entry : std::filesystem::directory_iterator(shapes / folder, failed)) {
    if (entry.path().extension() == ".json") names.push_back(entry.path().stem().string());
  }
  std::ranges::sort(names);
  return names;
}

LAYERBENCH_INLINE nothing_matched no_models(const std::filesystem::path& shapes) {
  return nothing_matched(fmt::format(
      "'{}' {}; name another directory with --shapes or in LAYERBENCH_SHAPES", shapes.string(),
      std::filesystem::is_directory(shapes) ? "has no models/*.json" : "does not exist"));
}

LAYERBENCH_INLINE bool is_path(const std::string& name_or_path) {
  return name_or_path == "-" || name_or_path.find('/') != std::string::npos ||
         name_or_path.ends_with(".json") || name_or_path.ends_with(".onnx") ||
         name_or_path.ends_with(".gguf");
}

namespace detail {

/// The file of that name in `folder` of `shapes`, if there is one.
[[nodiscard]] inline std::optional<std::filesystem::path> existing(
    const std::filesystem::path& shapes, const std::string& folder, const std::string& name) {
  std::filesystem::path path = shapes / folder / (name + ".json");
  std::error_code unknown;
  if (std::filesystem::exists(path, unknown)) return path;
  return std::nullopt;
}

/// The file of the model that has the alias. Files are parsed only where they contain the text.
[[nodiscard]] inline std::optional<std::filesystem::path> find_alias(
    const std::string& alias, const std::filesystem::path& shapes) {
  for (const std::string& name : list(shapes)) {
    std::filesystem::path path = shapes / "models" / (name + ".json");
    const std::string text = json::read_text(path);
    if (text.find('"' + alias + '"') == std::string::npos) continue;
    const json::value file = json::parse_text(text, path.string());
    const auto aliases = file.find("aliases");
    if (aliases != file.end() &&
        std::find(aliases->begin(), aliases->end(), alias) != aliases->end()) {
      return path;
    }
  }
  return std::nullopt;
}

}  // namespace detail

LAYERBENCH_INLINE std::filesystem::path find(const std::string& name_or_path,
                                             const std::filesystem::path& shapes) {
  if (is_path(name_or_path)) return name_or_path;
  for (const char* folder : {"models", "sweeps"}) {
    if (auto found = detail::existing(shapes, folder, name_or_path)) return *found;
  }
  if (auto found = detail::find_alias(name_or_path, shapes)) return *found;
  const std::vector<std::string> models = list(shapes);
  if (models.empty()) throw no_models(shapes);
  std::vector<std::string> known = models;
  std::ranges::copy(list(shapes, "sweeps"), std::back_inserter(known));
  const std::vector<std::string> similar = similar_names(name_or_path, known);
  const std::string hint =
      similar.empty() ? "" : fmt::format("; similar: {}", fmt::join(similar, " "));
  throw nothing_matched(
      fmt::format("no model '{}' in {}{}; '{} list' shows all {} (or give the path of a shape "
                  "file)",
                  name_or_path, shapes.string(), hint, program_path("layerbench"), models.size()));
}

LAYERBENCH_INLINE std::filesystem::path find_in(const std::filesystem::path& shapes,
                                                const std::string& folder,
                                                const std::string& name_or_path,
                                                std::string_view kind, std::string_view remedy) {
  if (is_path(name_or_path)) return name_or_path;
  if (auto found = detail::existing(shapes, folder, name_or_path)) return *found;
  throw nothing_matched(fmt::format("no {} '{}' in {}; there are: {} ({})", kind, name_or_path,
                                    shapes.string(), fmt::join(list(shapes, folder), " "), remedy));
}

}  // namespace layerbench::model
