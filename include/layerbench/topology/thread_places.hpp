// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <layerbench/topology/topology.hpp>

/// Which processors threads should have, and how OpenMP writes that.
namespace layerbench::machine {

/// Numbers of threads for which a machine has other peaks: one, as many as one last-level cache,
/// one node and the machine have cores, and one per processor.
[[nodiscard]] std::set<int> threads_of_domains(const topology& of, const processor_list& usable);

/// Splits the usable processors into `count` shares of neighbouring cores, equal up to one core.
/// Where there are fewer cores, each share has all processors.
[[nodiscard]] std::vector<processor_list> shares_of_cores(const topology& of,
                                                          const processor_list& usable,
                                                          std::size_t count);

/// All usable processors in the order in which threads should have them: the first N are the best
/// ones for N threads, for each N of `threads`, or of threads_of_domains() if there are none. They
/// are on different cores while there are any, and on one last-level cache, node or package if they
/// fit.
[[nodiscard]] processor_list processors_in_order(const topology& of, const processor_list& usable,
                                                 const std::set<int>& threads);

/// Places as OMP_PLACES has them: "{0},{1}", "{0}:64", "{0}:4,{8}:4:2". Runs of at least three
/// places of one processor with one distance are short.
[[nodiscard]] std::string places_text(const std::vector<processor_list>& places);

/// The places of a list as OMP_PLACES has them; nothing for a name, an exclusion (!), what OpenMP
/// does not read either, and numbers that no machine has. Processors of a place are sorted.
[[nodiscard]] std::optional<std::vector<processor_list>> listed_places(std::string_view text);

/// OMP_PLACES for processors in that order. Where OpenMP's own word for it says the same, it is
/// that: one processor per core, in the order of their numbers.
[[nodiscard]] std::string openmp_places(const topology& of, const processor_list& order);

}  // namespace layerbench::machine

#ifndef LAYERBENCH_COMPILED
#include <layerbench/topology/thread_places-inl.hpp>
#endif
