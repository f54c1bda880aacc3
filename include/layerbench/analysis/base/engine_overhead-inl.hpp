// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <ranges>
#include <set>

#include <fmt/format.h>

#include <layerbench/analysis/base/engine_overhead.hpp>
#include <layerbench/analysis/base/predictor.hpp>
#include <layerbench/base/compiled.hpp>
#include <layerbench/op/activation.hpp>
#include <layerbench/op/batchnorm.hpp>
#include <layerbench/op/builtin.hpp>
#include <layerbench/op/conv.hpp>
#include <layerbench/op/gemm.hpp>
#include <layerbench/op/op.hpp>
#include <layerbench/op/pool.hpp>
#include <layerbench/op/slice.hpp>
#include <layerbench/result/manifest.hpp>
#include <layerbench/result/name.hpp>
#include <layerbench/shape/dims.hpp>
#include <layerbench/shape/record.hpp>

namespace layerbench::analysis {

namespace detail {

[[nodiscard]] inline std::string overhead_conditions(const result::engine_overhead& known) {
  return fmt::format("{}/{}/threads:{}{}/cache:{}", known.backend, known.dtype, known.threads,
                     result::detail::parameter_text(known.parameters), known.cache);
}

/// The conditions under which an overhead fits a case. A fused call has the overhead of any call,
/// so the fusion plan is none of them, though kernel factors may depend on it.
[[nodiscard]] inline std::string overhead_conditions(const prediction& p) {
  result::engine_overhead wanted{
      "", p.model_case.backend, p.model_case.dtype, p.threads, p.model_case.parameters, p.cache, 0,
      0};
  for (const char* name : {"tokens", "context", "fusion", "threads"}) wanted.parameters.erase(name);
  return overhead_conditions(wanted);
}

/// Whether PyTorch can write the result of the op over its source.
[[nodiscard]] inline bool has_in_place_kernel(const op::any& op) {
  const auto* const function = op.get<op::activation>();
  if (function == nullptr) return true;
  constexpr std::array never{op::activation_kind::gelu, op::activation_kind::sigmoid,
                             op::activation_kind::tanh};
  return std::ranges::find(never, function->kind) == never.end();
}

/// Whether PyTorch allocates the result of a call. Its slices are views. Its activations are taken
/// to overwrite their source where ours do, if they can at all. A manifest leaves out an
/// overwritten source, so such a call begins with its result.
[[nodiscard]] inline bool allocates(const layer_time& layer) {
  if (layer.op == op::slice::name) return false;
  const auto op = op::from_key(layer.op, layer.key);
  return !layer.traffic.front().written || (op && !has_in_place_kernel(*op));
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

[[nodiscard]] inline std::string kernel_name(const op::conv& o) {
  if (o.groups > 1) return o.groups == o.c ? "conv_depthwise" : "conv_grouped";
  return o.t == 1 && o.r == 1 && o.s == 1 && o.stride == pair{1, 1} ? "conv_1x1" : "conv";
}

[[nodiscard]] inline std::string kernel_name(const op::gemm& o) {
  if (o.batch > 1) return "gemm_batched";
  if (o.m == 1) return "gemm_one_row";
  // Libraries switch between kernels for a few rows and for many; where exactly differs.
  return o.m < 10 ? "gemm_few_rows" : "gemm";
}

/// The time of PyTorch's kernel grows with the elements of all windows, that of a library's less,
/// so their ratio depends on window and stride.
[[nodiscard]] inline std::string kernel_name(const op::pool& o) {
  if (o.t == o.d && o.r == o.h && o.s == o.w) return "pool_global";
  const bool dense = o.depth_stride == 1 && o.stride == pair{1, 1};
  const bool small = o.t * o.r * o.s <= 4;
  return fmt::format("pool_{}{}", name(o.kind), dense ? "_dense" : small ? "_small" : "");
}

/// PyTorch's kernel loops over the pixels of an image, so it is slow where there are few.
[[nodiscard]] inline std::string kernel_name(const op::batchnorm& o) {
  return o.h < 10 && o.w < 10 ? "batchnorm_small" : "batchnorm";
}

[[nodiscard]] inline std::string kernel_name(const op::activation& o) {
  return fmt::format("activation_{}", name(o.kind));
}

LAYERBENCH_INLINE std::string kernel_of(const layer_time& layer) {
  if (const auto op = op::from_key(layer.op, layer.key)) {
    if (!op->backend().empty() || op->how() == op::manner::reorders) return "";
    if (const auto* o = op->get<op::conv>()) return kernel_name(*o);
    if (const auto* o = op->get<op::gemm>()) return kernel_name(*o);
    if (const auto* o = op->get<op::pool>()) return kernel_name(*o);
    if (const auto* o = op->get<op::batchnorm>()) return kernel_name(*o);
    if (const auto* o = op->get<op::activation>()) return kernel_name(*o);
  }
  return layer.op;
}

/// Gives each layer the factor of its kind of kernel. Returns the seconds of a step that the
/// engine's kernels take longer than those that were timed, by kind.
[[nodiscard]] inline std::map<std::string, double> add_kernel_factors(
    prediction& p, const result::engine_overhead& known) {
  std::map<std::string, double> seconds;
  for (layer_time& layer : p.layers) {
    const auto found = known.kernel_factors.find(kernel_of(layer));
    if (found == known.kernel_factors.end()) continue;
    layer.kernel_factor = found->second;
    seconds[found->first] +=
        static_cast<double>(layer.count) * layer.seconds * (layer.kernel_factor - 1);
  }
  return seconds;
}

}  // namespace detail

LAYERBENCH_INLINE std::string add_engine_overhead(prediction& p,
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
      p.engine_kernels = detail::add_kernel_factors(p, known);
      double kernels = 0;
      for (const double seconds : std::views::values(p.engine_kernels)) kernels += seconds;
      p.step->add_overhead(static_cast<double>(p.calls) * known.call_seconds + known.step_seconds +
                           static_cast<double>(p.large_result_bytes) * known.large_byte_seconds +
                           kernels);
      if (p.step->protocol_half_width) {
        p.step->set_protocol_error(result::protocol_error_of(
            {p.model_case.backend, known.engine, p.disturbed, p.step->seconds}));
      }
      return "";
    }
  }
  return fmt::format("no overhead of {} for {} on {}", engine, wanted, device);
}

LAYERBENCH_INLINE std::vector<std::string> notes_on_engine(
    std::string_view engine, std::span<const result::results> files,
    std::span<const result::results> measured) {
  std::set<std::string> notes;
  for (const result::results& of_engine : measured) {
    const auto own = of_engine.context_value(fmt::format("{}_onednn_version", engine));
    const auto version = of_engine.context_value(fmt::format("{}_version", engine));
    for (const result::results& file : files) {
      const auto timed = file.context_value("onednn_version");
      if (!own || !timed || *own == *timed) continue;
      notes.insert(fmt::format("{} {} has oneDNN {} inside, but the calls were timed with {}",
                               engine, version.value_or(""), *own, *timed));
    }
  }
  return {notes.begin(), notes.end()};
}

LAYERBENCH_INLINE std::string known_overheads(std::span<const result::results> files) {
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
