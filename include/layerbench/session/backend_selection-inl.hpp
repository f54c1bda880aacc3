// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <layerbench/base/compiled.hpp>
#include <layerbench/base/error.hpp>
#include <layerbench/session/backend_selection.hpp>
#include <layerbench/shape/dtype.hpp>
#include <layerbench/shape/record.hpp>

namespace layerbench::run::detail {

LAYERBENCH_INLINE std::string reason_against(const optional_backend& unbuilt) {
  return fmt::format("not part of this build; configure with -D{}=ON", unbuilt.option);
}

LAYERBENCH_INLINE std::vector<std::pair<std::string, std::optional<std::string>>> probe_all(
    const registry& known) {
  std::vector<std::pair<std::string, std::optional<std::string>>> all;
  for (const backend_entry& entry : known.backends) all.emplace_back(entry.name, entry.probe());
  for (const optional_backend& item : known.unbuilt)
    all.emplace_back(item.name, reason_against(item));
  return all;
}

LAYERBENCH_INLINE std::optional<std::string> why_unknown(const std::string& name,
                                                         const registry& known) {
  std::string names;
  for (const backend_entry& entry : known.backends) {
    if (entry.name == name) return std::nullopt;
    names += fmt::format(" {}", entry.name);
  }
  for (const optional_backend& item : known.unbuilt) {
    if (item.name == name) return std::nullopt;
    names += fmt::format(" {}", item.name);
  }
  return fmt::format("unknown backend '{}'; known:{}", name, names);
}

LAYERBENCH_INLINE std::optional<std::string> reason_against(const std::string& name,
                                                            bool only_listed,
                                                            const registry& known) {
  if (const backend_entry* entry = known.find(name))
    return only_listed ? std::nullopt : entry->probe();  // lists need no device
  if (const auto unknown = why_unknown(name, known)) throw usage_error("--backend: " + *unknown);
  return reason_against(*std::ranges::find(known.unbuilt, name, &optional_backend::name));
}

LAYERBENCH_INLINE std::vector<std::string> chosen_backends(const options& o, const program& what,
                                                           const registry& known,
                                                           std::vector<std::string>& notes) {
  for (const std::string& name : o.backends) {
    if (const auto reason = reason_against(name, o.list || o.list_tests, known)) {
      throw unavailable(fmt::format("backend {} cannot run here: {}", name, *reason));
    }
  }
  if (!o.backends.empty()) return o.backends;
  std::vector<std::string> usable;
  std::map<std::string, std::vector<std::string>> broken;  // by reason
  for (const backend_entry& entry : known.backends) {
    const std::string name(entry.name);
    if (name == reference_backend) continue;
    // Default rows do not depend on which libraries happen to be installed. A probe loads them.
    if (entry.on_host && entry.only_when_named) continue;
    if (const auto reason = entry.probe()) {
      broken[*reason].push_back(name);
    } else if (std::ranges::max(o.streams) > 1 && !entry.on_host) {
      notes.push_back(fmt::format("backend {} is left out: --streams are of processors", name));
    } else if (o.data_parallel && !entry.on_host) {  // often there are more ranks than GPUs
      notes.push_back(
          fmt::format("backend {} is left out: --ranks uses GPUs if --backend names them", name));
    } else if (!what.whole_model() || !entry.only_when_named) {
      usable.push_back(name);
    }
  }
  for (const auto& [reason, names] : broken) {
    notes.push_back(fmt::format("without backend {}: {}", fmt::join(names, ", "), reason));
  }
  if (usable.empty()) {
    for (const optional_backend& item : known.unbuilt)
      notes.push_back(fmt::format("backend {} is left out: {}", item.name, reason_against(item)));
    notes.emplace_back(
        "no library can run here: timing the reference backend, which is slow and "
        "says nothing about this machine");
    usable.emplace_back(reference_backend);
  }
  return usable;
}

LAYERBENCH_INLINE std::vector<backend_entry> entries_of(const std::vector<std::string>& used,
                                                        const registry& known) {
  std::vector<backend_entry> entries;
  for (const backend_entry& entry : known.backends) {
    if (std::ranges::find(used, entry.name) != used.end()) entries.push_back(entry);
  }
  return entries;
}

LAYERBENCH_INLINE description libraries(const std::vector<std::string>& used,
                                        const registry& known) {
  description facts;
  for (const backend_entry& entry : entries_of(used, known)) entry.describe(facts);
  using enum field_dimension;
  std::erase_if(facts, [](const auto& field) {
    const field_dimension of = field.second.dimension;
    return of != version && of != device && of != instruction_set;
  });
  return facts;
}

LAYERBENCH_INLINE void choose_device(int number, const std::vector<std::string>& used,
                                     const registry& known) {
  if (number == 0) return;
  bool chosen = false;
  for (const backend_entry& entry : entries_of(used, known)) {
    if (entry.choose_device == nullptr) continue;
    entry.choose_device(number);
    chosen = true;
  }
  if (!chosen) {
    throw usage_error(fmt::format("--device={}: there is no device to choose for {}", number,
                                  fmt::join(used, ", ")));
  }
}

LAYERBENCH_INLINE held_clocks hold_clocks(const options& o, const std::vector<std::string>& used,
                                          const registry& known, std::vector<std::string>& notes) {
  held_clocks held{.state = o.clocks};
  const auto mhz = o.locked_mhz();
  if (!mhz) return held;
  if (o.turns) {
    throw usage_error(fmt::format(
        "--clocks={}: not with --turns: the other program may free the clock", o.clocks));
  }
  if (o.data_parallel) {
    throw usage_error(fmt::format(
        "--clocks={}: of the GPU of one rank only; lock all with nvidia-smi --lock-gpu-clocks",
        o.clocks));
  }
  for (const backend_entry& entry : entries_of(used, known)) {
    if (entry.lock_clocks == nullptr) continue;
    try {
      held.locks.push_back(entry.lock_clocks(*mhz));
    } catch (const unavailable& e) {
      notes.push_back(
          fmt::format("--clocks={}: {}: {}; work before each pass makes clocks steady instead",
                      o.clocks, entry.name, e.what()));
      return {.state = "steady"};
    }
  }
  return held;
}

LAYERBENCH_INLINE void register_buffers(const std::vector<std::string>& used,
                                        const registry& known) {
  bool registered = false;
  for (const backend_entry& entry : entries_of(used, known)) {
    if (entry.register_buffers == nullptr) continue;
    entry.register_buffers();
    registered = true;
  }
  if (!registered) {
    throw usage_error(fmt::format("--registered: {} registers no memory; use --backend=nccl",
                                  fmt::join(used, ", ")));
  }
}

LAYERBENCH_INLINE bool has_timings(std::string_view name, const registry& known) {
  const backend_entry* entry = known.find(name);
  return entry != nullptr && entry->has_graphs;
}

LAYERBENCH_INLINE options with_defaults_of_backends(options o, const program& what,
                                                    const registry& known,
                                                    std::vector<std::string>& notes) {
  if (o.fused_update || o.phase != "training") return o;
  std::vector<std::string> of_backends;  // said where the suite is made
  const std::vector<backend_entry> used =
      entries_of(chosen_backends(o, what, known, of_backends), known);
  const auto on_gpu = [](const backend_entry& entry) { return !entry.on_host; };
  o.fused_update = std::ranges::all_of(used, on_gpu);
  if (!*o.fused_update && std::ranges::any_of(used, on_gpu)) {
    notes.emplace_back(
        "weights are updated one by one on GPUs, too, since a backend of CPUs runs; "
        "--fused-update updates all in one call");
  }
  return o;
}

LAYERBENCH_INLINE timing_mode timing_of(const options& o, const program& what,
                                        const std::vector<std::string>& used,
                                        const registry& known) {
  if (!what.is_predictable() && !what.collective) return timing_mode::stream;
  const auto leaves_it = [&](const std::string& name) { return has_timings(name, known); };
  if (o.clocks != "burst" && std::ranges::none_of(used, leaves_it)) {
    throw usage_error(
        fmt::format("--clocks={}: of GPUs only, not of {}", o.clocks, fmt::join(used, ", ")));
  }
  if (o.timing.empty()) return default_timing(o.data_parallel || what.collective);
  if (o.data_parallel && o.timing == name(timing_mode::graph)) {
    throw usage_error("--timing=graph: not with --ranks, whose all-reduces are not recorded");
  }
  if (std::ranges::any_of(used, leaves_it)) return from_name<timing_mode>(o.timing).value();
  throw usage_error(fmt::format("--timing={}: calls are timed in one way only by {}", o.timing,
                                fmt::join(used, ", ")));
}

LAYERBENCH_INLINE std::optional<std::int64_t> ranks_of(std::string_view name,
                                                       const registry& known) {
  const backend_entry* entry = known.find(name);
  if (entry == nullptr || entry->ranks == nullptr) return std::nullopt;
  return entry->ranks();
}

LAYERBENCH_INLINE void note_ranks(const std::vector<std::string>& used, const registry& known,
                                  std::vector<std::string>& notes) {
  for (const backend_entry& entry : entries_of(used, known)) {
    if (entry.ranks == nullptr) {
      notes.push_back(
          fmt::format("{}: all ranks are in this program, so nothing is communicated", entry.name));
    } else if (entry.ranks() == 1) {
      notes.push_back(fmt::format("{}: one rank, so nothing is communicated; {}", entry.name,
                                  entry.more_ranks));
    }
  }
}

LAYERBENCH_INLINE void note_integers(const options& o, const std::vector<std::string>& used,
                                     const registry& known, std::vector<std::string>& notes) {
  const auto is_asked_for = [](const std::string& type) {
    return is_integer(dtype_from(type).value_or(dtype::f32));
  };
  if (std::ranges::none_of(o.dtypes, is_asked_for)) return;
  for (const backend_entry& entry : entries_of(used, known)) {
    if (entry.integer_note == nullptr || entry.probe()) continue;
    if (const auto note = entry.integer_note()) {
      notes.push_back(fmt::format("{}: {}", entry.name, *note));
    }
  }
}

LAYERBENCH_INLINE bool leads_ranks(const registry& known) {
  return std::ranges::any_of(
      known.backends, [](const backend_entry& entry) { return entry.serve_first_rank != nullptr; });
}

LAYERBENCH_INLINE bool served_first_rank(const registry& known) {
  return std::ranges::any_of(known.backends, [](const backend_entry& entry) {
    return entry.serve_first_rank != nullptr && entry.serve_first_rank();
  });
}

}  // namespace layerbench::run::detail
