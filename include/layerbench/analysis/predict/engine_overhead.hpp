// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include <layerbench/analysis/predict/prediction.hpp>
#include <layerbench/result/measurement.hpp>

/// What an engine's steps take beside the predicted calls, measured once per machine on models of
/// tiny layers (tools/engines.py --overhead).
namespace layerbench::analysis {

namespace detail {

/// The device of a prediction's files, which agree in it.
[[nodiscard]] inline std::string device_of(const prediction& predicted,
                                           std::span<const result::results> files) {
  return std::ranges::find(files, predicted.files.front(), &result::results::file)->device();
}

[[nodiscard]] inline std::string overhead_conditions(const result::engine_overhead& known) {
  return fmt::format("{}/{}/threads:{}{}/cache:{}", known.backend, known.dtype, known.threads,
                     result::detail::parameter_text(known.parameters), known.cache);
}

/// The conditions under which an overhead fits a case. A fused call has the overhead of any call,
/// so the fusion plan is none of them.
[[nodiscard]] inline std::string overhead_conditions(const prediction& p) {
  result::engine_overhead wanted{"",
                                 p.configuration.backend,
                                 p.configuration.dtype,
                                 p.threads,
                                 p.configuration.parameters,
                                 p.cache,
                                 0,
                                 0};
  for (const char* name : {"tokens", "context", "fusion", "threads"}) wanted.parameters.erase(name);
  return overhead_conditions(wanted);
}

/// Whether PyTorch allocates the result of a call. Its slices are views. Its activations are taken
/// to overwrite their source where ours do, if they can at all. A manifest leaves out an
/// overwritten source, so such a call begins with its result.
[[nodiscard]] inline bool allocates(const layer_time& layer) {
  if (layer.op == "slice") return false;
  constexpr std::array never_in_place{"kind:gelu,", "kind:sigmoid,", "kind:tanh,"};
  return !layer.traffic.front().written ||
         std::ranges::any_of(never_in_place,
                             [&](const char* kind) { return layer.key.starts_with(kind); });
}

/// Bytes of the allocated results that have at least `least` bytes each; nothing if the files do
/// not tell the sizes of results.
[[nodiscard]] inline std::optional<std::int64_t> bytes_of_large_results(const prediction& p,
                                                                        std::int64_t least) {
  std::int64_t sum = 0;
  for (const layer_time& layer : p.layers) {
    if (layer.inserted) continue;
    if (layer.traffic.empty()) return std::nullopt;
    if (!allocates(layer)) continue;
    for (const result::operand_traffic& operand : layer.traffic) {
      if (operand.written && operand.bytes >= least) sum += layer.count * operand.bytes;
    }
  }
  return sum;
}

}  // namespace detail

/// Adds the overhead of an engine, from one of `overheads`, to a step that was predicted from
/// `files`. Returns why it cannot; empty: it could.
[[nodiscard]] inline std::string add_engine_overhead(prediction& p,
                                                     std::span<const result::results> files,
                                                     std::string_view engine,
                                                     std::span<const result::results> overheads) {
  if (!p.step) return "the step has layers that were not measured";
  const std::string wanted = detail::overhead_conditions(p);
  const std::string device = detail::device_of(p, files);
  for (const result::results& file : overheads) {
    if (file.device() != device) continue;
    for (const result::engine_overhead& known : file.engine_overheads) {
      if (known.engine != engine || detail::overhead_conditions(known) != wanted) continue;
      if (known.large_bytes > 0) {
        const auto large = detail::bytes_of_large_results(p, known.large_bytes);
        if (!large) return "the result files do not say how large the results of its layers are";
        p.large_result_bytes = *large;
      }
      p.engine = known;
      p.step->add_overhead(static_cast<double>(p.calls) * known.call_seconds + known.step_seconds +
                           static_cast<double>(p.large_result_bytes) * known.large_byte_seconds);
      return "";
    }
  }
  return fmt::format("no overhead of {} for {} on {}", engine, wanted, device);
}

/// The overheads that files have, one a line, and how to measure others.
[[nodiscard]] inline std::string known_overheads(std::span<const result::results> files) {
  std::string text = "known are:";
  for (const result::results& file : files) {
    for (const result::engine_overhead& known : file.engine_overheads) {
      text += fmt::format("\n  {} {} on {} ({})", known.engine, detail::overhead_conditions(known),
                          file.device(), file.file);
    }
  }
  return text +
         "\nmeasure others with the options of the results: tools/engines.py --overhead "
         "--bench=bench_model --bench-options=...";
}

}  // namespace layerbench::analysis
