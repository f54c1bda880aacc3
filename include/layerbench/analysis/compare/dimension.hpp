// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <layerbench/analysis/predict/planned_cases.hpp>
#include <layerbench/base/error.hpp>
#include <layerbench/shape/record.hpp>

/// Whether two sets of files differ in what is being compared and in nothing else.
namespace layerbench::analysis {

/// What a comparison is of.
enum class compared_dimension : std::uint8_t {
  version,   ///< of the libraries or of the suite
  device,    ///< and what comes with it: caches, instruction set, driver, number of threads
  driver,    ///< or the operating system
  settings,  ///< environment, options, and whatever else the contexts say
};

}  // namespace layerbench::analysis

template <>
inline constexpr std::array<std::string_view, 4>
    layerbench::enum_names<layerbench::analysis::compared_dimension>{"version", "device", "driver",
                                                                     "settings"};

namespace layerbench::analysis {

/// How the contexts of two sides differ.
struct difference {
  std::optional<analysis::compared_dimension>
      compared_dimension;           ///< what is compared; nothing: not said, and not plain
  bool inferred = false;            ///< from the fields that differ
  std::vector<std::string> fields;  ///< of the context, in which the sides differ
  std::vector<std::string> forced;  ///< fields that should not differ: in which the sides do, or
                                    ///< the files of one side
};

namespace detail {

/// What a field of the context tells of.
[[nodiscard]] inline compared_dimension kind_of(std::string_view field) {
  const auto has = [&](std::string_view part) { return field.find(part) != field.npos; };
  constexpr std::array<std::string_view, 7> machine{"device", "l1d_bytes", "l2_bytes", "l3_bytes",
                                                    "caches", "num_cpus",  "host_name"};
  using enum compared_dimension;
  if (field == "kernel" || has("driver")) return driver;
  if (has("_version") || has("_hash") || has("_schema") || has("_threading")) return version;
  if (std::ranges::find(machine, field) != machine.end()) return device;
  return has("_isa") || has("clock") || field.starts_with("gpu") ? device : settings;
}

/// Whether a field may differ where `what` is compared. Another device has another driver and by
/// default other threads; settings can limit the instruction set.
[[nodiscard]] inline bool may_differ(compared_dimension what, std::string_view field) {
  const compared_dimension kind = kind_of(field);
  if (kind == what) return true;
  if (what == compared_dimension::device)
    return kind == compared_dimension::driver || field == "threads";
  return what == compared_dimension::settings && field.ends_with("_isa");
}

/// What is compared where just these fields differ: something that explains all of them, and that
/// at least one of them tells of. Nothing where that is more than one thing, or none.
[[nodiscard]] inline std::optional<compared_dimension> infer(
    const std::vector<std::string>& fields) {
  using enum compared_dimension;
  for (const compared_dimension dimension : {version, device, driver, settings}) {
    const auto allowed = [&](std::string_view field) { return may_differ(dimension, field); };
    const auto tells = [&](std::string_view field) { return kind_of(field) == dimension; };
    if (std::ranges::all_of(fields, allowed) && std::ranges::any_of(fields, tells))
      return dimension;
  }
  return std::nullopt;
}

/// Fields in which files of one side differ from its first one; throws bad_input unless forced.
[[nodiscard]] inline std::vector<std::string> differing_within(const group& side, bool force) {
  std::vector<std::string> fields;
  for (const result::results* file : side) {
    const std::vector<std::string> own = result::differing_context(*side.front(), *file);
    if (own.empty()) continue;
    if (!force) {
      throw bad_input(file->file, "/context",
                      fmt::format("differs from {}, a file of the same side, in: {}; compare "
                                  "anyway with --force",
                                  side.front()->file, fmt::join(own, " ")));
    }
    fields.insert(fields.end(), own.begin(), own.end());
  }
  return fields;
}

/// What is wrong with sides that differ as `found`, and what to do about it.
[[nodiscard]] inline std::string refusal(const difference& found, std::string_view old) {
  if (found.compared_dimension) {
    return fmt::format(
        "differs from {} not only in the {}, but in: {}; compare anyway with --force", old,
        name(*found.compared_dimension), fmt::join(found.forced, " "));
  }
  return fmt::format(
      "differs from {} in more than one thing: {}; say what is compared with --across "
      "version|device|driver|settings, or compare anyway with --force",
      old, fmt::join(found.forced, " "));
}

/// The threads that all names of a side say, in the words of the names: empty where they leave it
/// to the context. Nothing where names differ in that.
[[nodiscard]] inline std::optional<std::string> named_threads(const group& side) {
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

/// Copies of the files of a side whose names all say so many `threads`: it is their contexts that
/// do.
[[nodiscard]] inline std::vector<result::results> with_threads_in_context(
    const group& side, const std::string& threads) {
  std::vector<result::results> files;
  for (const result::results* file : side) {
    result::results& result = files.emplace_back(*file);
    if (!threads.empty()) result.context["threads"] = threads;
    for (auto& [configuration, step] : result.manifest) configuration.parameters.erase("threads");
    for (result::measurement& row : result.rows) row.name.configuration.parameters.erase("threads");
  }
  return files;
}

}  // namespace detail

/// Fields of a context with their values.
using facts = std::map<std::string, std::string, std::less<>>;

/// What `file` says of the program that made it, and of the libraries that were really loaded.
[[nodiscard]] inline facts loaded(const result::results& file) {
  facts found = file.context;
  std::erase_if(found, [](const auto& item) {
    const std::string_view field = item.first;
    return field != "executable" && !field.ends_with("_version") && !field.ends_with("_hash") &&
           !field.ends_with("_isa");
  });
  return found;
}

/// How two sides (not empty) differ. What is compared is `said`, or follows from the fields.
/// Throws bad_input naming the fields in which they should agree, unless `force`d.
[[nodiscard]] inline difference differing_sides(const group& old, const group& now,
                                                std::optional<compared_dimension> words,
                                                bool force) {
  difference found;
  found.fields = result::differing_context(*old.front(), *now.front());
  std::ranges::sort(found.fields);
  found.compared_dimension = words ? words : detail::infer(found.fields);
  found.inferred = found.compared_dimension && !words;
  for (const std::string& field : found.fields) {
    if (!found.compared_dimension || !detail::may_differ(*found.compared_dimension, field))
      found.forced.push_back(field);
  }
  if (!found.forced.empty() && !force) {
    throw bad_input(now.front()->file, "/context", detail::refusal(found, old.front()->file));
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
