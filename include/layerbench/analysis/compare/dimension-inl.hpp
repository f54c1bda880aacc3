// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>

#include <layerbench/analysis/compare/dimension.hpp>
#include <layerbench/base/compiled.hpp>
#include <layerbench/base/error.hpp>
#include <layerbench/result/context_difference.hpp>

namespace layerbench::analysis {

namespace detail {

/// The dimensions in which fields may differ, by their own dimension, which is the first of them.
/// Devices differ in driver, in the settings of GPUs and in the default thread count too, and so in
/// the places of threads; settings can limit the instruction set.
[[nodiscard]] inline std::array<compared_dimension, 2> compared_in(field_dimension of) {
  using enum compared_dimension;
  switch (of) {
    case field_dimension::version: return {version, version};
    case field_dimension::device: return {device, device};
    case field_dimension::instruction_set: return {device, settings};
    case field_dimension::driver: return {driver, device};
    case field_dimension::device_setting: return {settings, device};
    default: return {settings, settings};
  }
}

/// Where the fields that differ may differ.
using differing_fields = std::vector<std::array<compared_dimension, 2>>;

/// The first dimension in which all of these fields may differ and to which at least one of them
/// belongs; nothing if there is none.
[[nodiscard]] inline std::optional<compared_dimension> infer(const differing_fields& fields) {
  using enum compared_dimension;
  for (const compared_dimension dimension : {version, device, driver, settings}) {
    const auto allowed = [&](const auto& in) {
      return std::ranges::find(in, dimension) != in.end();
    };
    const auto belongs = [&](const auto& in) { return in.front() == dimension; };
    if (std::ranges::all_of(fields, allowed) && std::ranges::any_of(fields, belongs)) {
      return dimension;
    }
  }
  return std::nullopt;
}

LAYERBENCH_INLINE std::vector<std::string> differing_within(const group& side, bool force) {
  std::vector<std::string> fields;
  for (const result::results* file : side) {
    const std::vector<std::string> differing = result::differing_context(*side.front(), *file);
    if (differing.empty()) continue;
    if (!force) {
      throw bad_input(
          file->file, "/context",
          fmt::format("differs from {}, a file of the same side, in: {}; compare "
                      "anyway with --force",
                      side.front()->file, result::both_values(*side.front(), *file, differing)));
    }
    fields.insert(fields.end(), differing.begin(), differing.end());
  }
  return fields;
}

/// The error message for sides whose difference is not allowed.
[[nodiscard]] inline std::string refusal(const difference& found, const result::results& old,
                                         const result::results& now) {
  const std::string values = result::both_values(old, now, found.forced);
  if (found.dimension) {
    return fmt::format(
        "differs from {} not only in the {}, but in: {}; compare anyway with --force", old.file,
        name(*found.dimension), values);
  }
  return fmt::format(
      "differs from {} in more than one thing: {}; say what is compared with --across "
      "version|device|driver|settings, or compare anyway with --force",
      old.file, values);
}

LAYERBENCH_INLINE std::optional<std::string> named_threads(const group& side) {
  std::set<std::string> all;
  for (const result::results* file : side) {
    for (const auto& [model_case, step] : file->manifest)
      all.insert(model_case.parameter("threads", ""));
    for (const result::measurement& row : file->rows) {
      all.insert(row.name.model_case.parameter("threads", ""));
    }
  }
  if (all.size() != 1) return std::nullopt;
  return *all.begin();
}

LAYERBENCH_INLINE std::vector<result::results> with_threads_in_context(const group& side,
                                                                       const std::string& threads) {
  std::vector<result::results> files;
  for (const result::results* file : side) {
    result::results& copy = files.emplace_back(*file);
    if (!threads.empty()) copy.context["threads"] = threads;
    for (auto& [model_case, step] : copy.manifest) model_case.parameters.erase("threads");
    for (result::measurement& row : copy.rows) row.name.model_case.parameters.erase("threads");
  }
  return files;
}

}  // namespace detail

LAYERBENCH_INLINE context_fields loaded(const result::results& file) {
  context_fields found = file.context;
  std::erase_if(found, [](const auto& entry) {
    const std::string_view field = entry.first;
    return field != "executable" && field != "layerbench_commit" && !field.ends_with("_version") &&
           !field.ends_with("_hash") && !field.ends_with("_isa");
  });
  return found;
}

LAYERBENCH_INLINE difference difference_between(const group& old, const group& now,
                                                std::optional<compared_dimension> given,
                                                bool force) {
  difference found;
  found.fields = result::differing_context(*old.front(), *now.front());
  std::ranges::sort(found.fields);
  detail::differing_fields allowed;
  for (const std::string& field : found.fields) {
    allowed.push_back(detail::compared_in(result::dimension_of(field, *old.front(), *now.front())));
  }
  found.dimension = given ? given : detail::infer(allowed);
  found.inferred = found.dimension && !given;
  for (std::size_t i = 0; i < allowed.size(); ++i) {
    if (!found.dimension || std::ranges::find(allowed[i], *found.dimension) == allowed[i].end()) {
      found.forced.push_back(found.fields[i]);
    }
  }
  if (!found.forced.empty() && !force) {
    throw bad_input(now.front()->file, "/context",
                    detail::refusal(found, *old.front(), *now.front()));
  }
  for (const group* side : {&old, &now}) {
    for (std::string& field : detail::differing_within(*side, force)) {
      if (std::ranges::find(found.forced, field) == found.forced.end()) {
        found.forced.push_back(std::move(field));
      }
    }
  }
  return found;
}

}  // namespace layerbench::analysis
