// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <layerbench/backend/backend.hpp>
#include <layerbench/backend/registry.hpp>
#include <layerbench/backend/timing_mode.hpp>
#include <layerbench/session/options.hpp>
#include <layerbench/session/program.hpp>

/// Which backends a program uses.
namespace layerbench::run::detail {

/// The backend whose rows tell nothing of the machine: it is used where no other one can run.
inline constexpr std::string_view reference_backend = "reference";

/// Why each backend cannot be used on this machine, or nothing: those of this build first, then
/// those that it lacks.
[[nodiscard]] std::vector<std::pair<std::string, std::optional<std::string>>> probe_all(
    const registry& known);

/// The backends to use: those asked for (throws `unavailable` when one cannot run, usage_error when
/// nobody knows it), else all that can, else the reference.
[[nodiscard]] std::vector<std::string> chosen_backends(const options& o, const program& what,
                                                       const registry& known,
                                                       std::vector<std::string>& notes);

/// That nobody knows a backend of this name, and which are known; nothing if it is known.
[[nodiscard]] std::optional<std::string> why_unknown(const std::string& name,
                                                     const registry& known);

/// The entries of the backends of these names, in the order of the registry.
[[nodiscard]] std::vector<backend_entry> entries_of(const std::vector<std::string>& used,
                                                    const registry& known);

/// What the backends of these names say of their libraries and their device, without settings,
/// driver and conditions: a library has the same plans whatever these are.
[[nodiscard]] description libraries(const std::vector<std::string>& used, const registry& known);

/// Has the backends of these names use that device. Throws usage_error where none of them has
/// several, and unavailable where it is not there.
void choose_device(int number, const std::vector<std::string>& used, const registry& known);

/// The state of the GPUs' clocks while they are timed.
struct held_clocks {
  std::string state = "burst";  ///< as the values of --clocks
  std::vector<std::shared_ptr<void>> locks = {};
};

/// Sets the clocks of the backends' GPUs as the options ask. If locking fails: steady, with a note.
/// Throws usage_error.
[[nodiscard]] held_clocks hold_clocks(const options& o, const std::vector<std::string>& used,
                                      const registry& known, std::vector<std::string>& notes);

/// Makes the backends register the memory of arrays. Throws usage_error where none does.
void register_buffers(const std::vector<std::string>& used, const registry& known);

/// Whether that backend leaves the choice how its calls are timed.
[[nodiscard]] bool has_timings(std::string_view name, const registry& known);

/// The options with a default that depends on the backends: frameworks update all weights in one
/// call on GPUs, and one by one on CPUs. Notes where GPUs do as CPUs.
[[nodiscard]] options with_defaults_of_backends(options o, const program& what,
                                                const registry& known,
                                                std::vector<std::string>& notes);

/// How calls are timed on those of these backends that leave the choice. Peaks are timed in a
/// stream. Throws usage_error where something was asked for and none of them leaves it.
[[nodiscard]] timing_mode timing_of(const options& o, const program& what,
                                    const std::vector<std::string>& used, const registry& known);

/// How many ranks a backend reaches; nothing where they are all in this program.
[[nodiscard]] std::optional<std::int64_t> ranks_of(std::string_view name, const registry& known);

/// Says of which backends the rows tell nothing of communication.
void note_ranks(const std::vector<std::string>& used, const registry& known,
                std::vector<std::string>& notes);

/// Notes what limits timings and results of integers, where these are asked for.
void note_integers(const options& o, const std::vector<std::string>& used, const registry& known,
                   std::vector<std::string>& notes);

/// Whether a backend makes several processes ranks of one program.
[[nodiscard]] bool leads_ranks(const registry& known);

/// On any other rank: does what the first rank says until that ends, and returns true. On the first
/// rank: returns false at once.
[[nodiscard]] bool served_first_rank(const registry& known);

}  // namespace layerbench::run::detail

#ifndef LAYERBENCH_COMPILED
#include <layerbench/session/backend_selection-inl.hpp>
#endif
