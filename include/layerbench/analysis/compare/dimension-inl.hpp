// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <layerbench/analysis/base/configurations.hpp>
#include <layerbench/analysis/compare/dimension.hpp>
#include <layerbench/base/compiled.hpp>
#include <layerbench/base/error.hpp>
#include <layerbench/result/measurement.hpp>
#include <layerbench/result/read_results.hpp>
#include <layerbench/shape/record.hpp>

namespace layerbench::analysis {

namespace detail {

/// Fields that options, or the administrator of a GPU, set, although their names look like those of
/// a device.
[[nodiscard]] inline bool is_device_setting(std::string_view field) {
  return field == "clocks" || field == "gpu_power_limit_w" || field == "gpu_persistence_mode" ||
         field == "gpu_mig_mode";
}

/// The dimension that a field of the context belongs to.
[[nodiscard]] inline compared_dimension dimension_of(std::string_view field) {
  const auto has = [&](std::string_view part) { return field.find(part) != field.npos; };
  constexpr std::array<std::string_view, 8> machine{"device", "l1d_bytes", "l2_bytes",  "l3_bytes",
                                                    "caches", "num_cpus",  "host_name", "topology"};
  using enum compared_dimension;
  if (is_device_setting(field)) return settings;
  if (field == "kernel" || has("driver")) return driver;
  if (has("_version") || has("_hash") || has("_schema") || has("_threading")) return version;
  if (std::ranges::find(machine, field) != machine.end()) return device;
  return has("_isa") || has("clock") || field.starts_with("gpu") ? device : settings;
}

LAYERBENCH_INLINE bool may_differ(compared_dimension compared, std::string_view field) {
  if (compares_equals(compared)) return field == "host_name";
  const compared_dimension own = dimension_of(field);
  if (own == compared) return true;
  if (compared == compared_dimension::device) {
    return own == compared_dimension::driver || field == "threads" || field == "places" ||
           field == "OMP_PLACES" || (is_device_setting(field) && field != "clocks");
  }
  return compared == compared_dimension::settings && field.ends_with("_isa");
}

/// The first dimension in which all of these fields may differ and to which at least one of them
/// belongs; nothing if there is none.
[[nodiscard]] inline std::optional<compared_dimension> infer(
    const std::vector<std::string>& fields) {
  using enum compared_dimension;
  for (const compared_dimension dimension : {version, device, driver, settings}) {
    const auto allowed = [&](std::string_view field) { return may_differ(dimension, field); };
    const auto belongs = [&](std::string_view field) { return dimension_of(field) == dimension; };
    if (std::ranges::all_of(fields, allowed) && std::ranges::any_of(fields, belongs)) {
      return dimension;
    }
  }
  return std::nullopt;
}

/// Fields in which files of a side differ from its first file. Throws bad_input unless forced.
[[nodiscard]] inline std::vector<std::string> differing_within(const group& side, bool force) {
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
    for (const auto& [configuration, step] : file->manifest)
      all.insert(configuration.parameter("threads", ""));
    for (const result::measurement& row : file->rows) {
      all.insert(row.name.configuration.parameter("threads", ""));
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
    for (auto& [configuration, step] : copy.manifest) configuration.parameters.erase("threads");
    for (result::measurement& row : copy.rows) row.name.configuration.parameters.erase("threads");
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
  found.dimension = given ? given : detail::infer(found.fields);
  found.inferred = found.dimension && !given;
  for (const std::string& field : found.fields) {
    if (!found.dimension || !detail::may_differ(*found.dimension, field)) {
      found.forced.push_back(field);
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
