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

#include <layerbench/base/error.hpp>
#include <layerbench/predict/plan.hpp>
#include <layerbench/shape/record.hpp>

/// Whether two sets of files differ in what is being compared and in nothing else.
namespace layerbench::predict {

/// What a comparison is of.
enum class across : std::uint8_t {
  version,   ///< of the libraries or of the suite
  device,    ///< and what comes with it: caches, instruction set, driver, number of threads
  driver,    ///< or the operating system
  settings,  ///< environment, options, and whatever else the contexts say
};

}  // namespace layerbench::predict

template <>
inline constexpr std::array<std::string_view, 4>
    layerbench::enum_names<layerbench::predict::across>{"version", "device", "driver", "settings"};

namespace layerbench::predict {

/// How the contexts of two sides differ.
struct difference {
  std::optional<predict::across> across;  ///< what is compared; nothing: not said, and not plain
  bool inferred = false;                  ///< from the fields that differ
  std::vector<std::string> fields;        ///< of the context, in which the sides differ
  std::vector<std::string> forced;  ///< fields that should not differ: in which the sides do, or
                                    ///< the files of one side
};

namespace detail {

/// What a field of the context tells of.
[[nodiscard]] inline across kind_of(std::string_view field) {
  const auto has = [&](std::string_view part) { return field.find(part) != field.npos; };
  constexpr std::array<std::string_view, 7> machine{"device", "l1d_bytes", "l2_bytes", "l3_bytes",
                                                    "caches", "num_cpus",  "host_name"};
  using enum across;
  if (field == "kernel" || has("driver")) return driver;
  if (has("_version") || has("_hash") || has("_schema") || has("_threading")) return version;
  if (std::ranges::find(machine, field) != machine.end()) return device;
  return has("_isa") || has("clock") || field.starts_with("gpu") ? device : settings;
}

/// Whether a field may differ where `what` is compared. Another device has another driver and by
/// default other threads; settings can limit the instruction set.
[[nodiscard]] inline bool may_differ(across what, std::string_view field) {
  const across kind = kind_of(field);
  if (kind == what) return true;
  if (what == across::device) return kind == across::driver || field == "threads";
  return what == across::settings && field.ends_with("_isa");
}

/// What is compared where just these fields differ: something that explains all of them, and that
/// at least one of them tells of. Nothing where that is more than one thing, or none.
[[nodiscard]] inline std::optional<across> infer(const std::vector<std::string>& fields) {
  using enum across;
  for (const across each : {version, device, driver, settings}) {
    const auto allowed = [&](std::string_view field) { return may_differ(each, field); };
    const auto tells = [&](std::string_view field) { return kind_of(field) == each; };
    if (std::ranges::all_of(fields, allowed) && std::ranges::any_of(fields, tells)) return each;
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
  if (found.across) {
    return fmt::format(
        "differs from {} not only in the {}, but in: {}; compare anyway with --force", old,
        name(*found.across), fmt::join(found.forced, " "));
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
    for (const auto& [owner, step] : file->manifest) all.insert(owner.parameter("threads", ""));
    for (const result::measurement& row : file->rows) {
      all.insert(row.name.owner.parameter("threads", ""));
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
    result::results& made = files.emplace_back(*file);
    if (!threads.empty()) made.context["threads"] = threads;
    for (auto& [owner, step] : made.manifest) owner.parameters.erase("threads");
    for (result::measurement& row : made.rows) row.name.owner.parameters.erase("threads");
  }
  return files;
}

}  // namespace detail

/// Fields of a context with their values.
using facts = std::map<std::string, std::string, std::less<>>;

/// What `file` says of the program that made it, and of the libraries that were really loaded.
[[nodiscard]] inline facts loaded(const result::results& file) {
  facts found = file.context;
  std::erase_if(found, [](const auto& each) {
    const std::string_view field = each.first;
    return field != "executable" && !field.ends_with("_version") && !field.ends_with("_hash") &&
           !field.ends_with("_isa");
  });
  return found;
}

/// How two sides (not empty) differ. What is compared is `said`, or follows from the fields.
/// Throws bad_input naming the fields in which they should agree, unless `force`d.
[[nodiscard]] inline difference differing_sides(const group& old, const group& now,
                                                std::optional<across> said, bool force) {
  difference found;
  found.fields = result::differing_context(*old.front(), *now.front());
  std::ranges::sort(found.fields);
  found.across = said ? said : detail::infer(found.fields);
  found.inferred = found.across && !said;
  for (const std::string& field : found.fields) {
    if (!found.across || !detail::may_differ(*found.across, field)) found.forced.push_back(field);
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

}  // namespace layerbench::predict
