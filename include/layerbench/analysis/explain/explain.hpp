// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <layerbench/op/op.hpp>
#include <layerbench/result/logged_layers.hpp>
#include <layerbench/result/measurement.hpp>
#include <layerbench/result/verbose_log.hpp>

/// Why an application is slower than its primitives, by the log of its calls.
namespace layerbench::analysis {

/// What slows an application down.
enum class slowdown : std::uint8_t {
  reference,       ///< calls of the library's slow reference code
  reorders,        ///< copies into other memory orders
  instructions,    ///< a lower instruction set than the machine, or the log, has
  channels,        ///< numbers of channels that are no multiple of the vector length
  creation,        ///< primitives that are created in the loop
  oversubscribed,  ///< more threads than processors
  between,         ///< time between the calls, of the application or its framework
  caches,          ///< operands that are not in the caches, as they are in a hot loop
  slower,          ///< calls that are slower than the same ones here
};

[[nodiscard]] constexpr std::array<std::string_view, 9> list_names(slowdown /*tag*/) {
  return {"reference code", "reorders",      "lower instruction set",
          "odd channels",   "creation",      "oversubscribed threads",
          "between calls",  "cold operands", "slower than here"};
}

/// The machine on which the application ran. What is empty is not compared.
struct log_machine {
  std::int64_t processors = 0;
  std::string isa = {};  ///< as the library names instruction sets: "avx2", "avx512_core"
};

/// A call of a step.
struct explained_call {
  std::string layer;
  const result::verbose_primitive* primitive;
  double seconds;                                            ///< in the log, median of all steps
  std::map<std::string, double, std::less<>> by_cache = {};  ///< by cache state, with its reorders
  std::optional<slowdown> cause = {};
  double gain = 0;  ///< seconds by `cause`
};

/// What could be gained if a cause were removed.
struct gain {
  slowdown cause;
  double seconds = 0;     ///< of a step
  bool at_most = false;   ///< an upper bound: how fast it would be is not measured
  std::size_t calls = 0;  ///< of a step
  std::string text = {};  ///< where, and what to do
};

struct explanation {
  const result::verbose_log* log;
  std::size_t steps = 0;
  double seconds = 0;  ///< of the calls of a step, mean of all steps
  double usual = 0;    ///< the same, sum of the calls' medians: without delays in few steps
  std::optional<double> creation = {};  ///< of primitives, usual step; nothing: not in the log
  std::optional<double> between = {};   ///< the calls of the usual step; nothing: unknown
  double warm_up = 0;                   ///< of all calls before the steps
  double tail = 0;                      ///< of all calls behind them
  std::vector<explained_call> calls = {};
  std::vector<gain> gains = {};  ///< the largest first
  std::vector<std::string> notes = {};

  /// Seconds of the usual step's calls in which no cause was found; what is left by rounding is 0.
  [[nodiscard]] double remainder() const;
};

/// Explains the calls of `step`. `files` are results of the shape file of the log. Each call has at
/// most one cause, so gains within calls add up to at most their time. The results point into
/// `log`. Throws bad_input for files that have the times of a call under several conditions other
/// than threads, such as layouts.
[[nodiscard]] explanation explain(const result::verbose_log& log, const result::verbose_step& step,
                                  const result::logged_layers& calls, const log_machine& machine,
                                  std::span<const result::results> files);

/// The instruction set of a processor with these flags of Linux's /proc/cpuinfo.
[[nodiscard]] std::string instruction_set_of(std::string_view flags);

/// Whether `name` is one of the library's names of instruction sets, such as avx512_core.
[[nodiscard]] bool knows_instruction_set(std::string_view name);

}  // namespace layerbench::analysis

#ifndef LAYERBENCH_COMPILED
#include <layerbench/analysis/explain/explain-inl.hpp>
#endif
