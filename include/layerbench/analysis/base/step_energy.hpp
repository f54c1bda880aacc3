// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <layerbench/analysis/base/cases.hpp>

/// The energy of steps that files have (--energy). It is measured, not predicted.
namespace layerbench::analysis {

/// Joules of a step over its windows.
struct joules {
  double mean;
  double low;  ///< 95 % interval; below 5 windows their range
  double high;
  /// The sum of all layers (--energy=layers); nothing where one has no energy.
  std::optional<double> layers = {};
};

/// The energy of a case's step by one counter.
struct step_energy {
  std::string counter;   ///< its name
  std::string evidence;  ///< its class: "processor's counter", "GPU's counter" or "meter"
  std::string coverage;  ///< what it counts: "package, DRAM"
  joules gross;          ///< all that the counter counted meanwhile
  joules net;            ///< without what it counts while the machine idles
  double idle_watts;
  double seconds;  ///< of a step in the windows
  std::size_t windows;
  std::size_t disturbed;  ///< windows in which other programs used the processors
};

/// The energies of a case's step, one for each counter of the files, which have it as of rows in
/// the state `cache`. Of three undisturbed windows or more, the others do not count.
[[nodiscard]] std::vector<step_energy> step_energies(const planned_case& planned,
                                                     std::string_view cache, const group& files);

}  // namespace layerbench::analysis

#ifndef LAYERBENCH_COMPILED
#include <layerbench/analysis/base/step_energy-inl.hpp>
#endif
