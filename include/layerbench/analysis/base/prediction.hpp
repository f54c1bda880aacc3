// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <layerbench/analysis/base/memory.hpp>
#include <layerbench/analysis/base/roofline.hpp>
#include <layerbench/analysis/base/step_energy.hpp>
#include <layerbench/base/number_format.hpp>
#include <layerbench/base/stats.hpp>
#include <layerbench/model/step.hpp>
#include <layerbench/result/measurement.hpp>
#include <layerbench/result/name.hpp>
#include <layerbench/result/step_time.hpp>
#include <layerbench/result/stream_latency.hpp>

namespace layerbench::analysis {

/// A measured primitive and its time in a prediction.
struct layer_time {
  std::string name;
  std::string op;
  std::string pass;
  std::string key;
  std::int64_t count;
  bool inserted;
  double seconds;                            ///< of one call: mean over the rounds
  double share;                              ///< of all measured layers' time, count * seconds
  std::optional<double> flops;               ///< FLOPs of one call, without those on padding
  std::optional<double> chain_seconds = {};  ///< of one call, by clocks inside an end-to-end run
  model::step_part part = model::step_part::forward;
  double low = 0;  ///< interval of `seconds` over the rounds (stats::mean_interval)
  double high = 0;
  std::optional<double> padded_flops = {};            ///< FLOPs of one call, with those on padding
  std::vector<result::operand_traffic> traffic = {};  ///< its operands; empty: unknown
  std::vector<std::string> layers = {};       ///< of its calls, if known; `name` is the first one
  std::optional<analysis::roofs> roofs = {};  ///< nothing where peaks or operands are unknown
  double kernel_factor = 1;                   ///< time of an engine's kernel, relative to `seconds`

  [[nodiscard]] std::string call_name() const { return model::call_name(name, pass); }
};

using result::interval_method;
using result::step_time;

/// The lengths of texts in a step, of each sequence.
struct text_length {
  std::int64_t tokens;   ///< that the step computes
  std::int64_t context;  ///< before these, in the key-value cache
};

/// The predicted step of a case.
struct prediction {
  result::case_name model_case;
  std::vector<std::string> files;    ///< whose rows could be used
  std::string cache;                 ///< cache state of the timings used
  std::string method;                ///< description of the method
  bool derived = false;              ///< the step is from a shape file, not from a manifest
  std::int64_t threads = 0;          ///< 0: the files do not say
  std::int64_t calls = 0;            ///< executions in a step that no backend inserted
  double coverage = 0;               ///< executions measured / in a step, times 1 - left_out
  std::vector<std::string> missing;  ///< layers without a timing, in manifest order
  std::vector<layer_time> layers;    ///< layers with one, in manifest order
  std::size_t rounds = 0;            ///< rounds that all measured layers have
  bool interrupted = false;          ///< a file's run was interrupted, so that rounds are missing
  double disturbed = 0;              ///< share of the layers' timings that were disturbed
  std::optional<double> hot_sum_seconds;  ///< sum of hot timings; nothing while one is missing
  std::optional<step_time> step;          ///< nothing when refused: a layer is missing
  std::optional<result::engine_overhead> engine = {};  ///< whose overhead the step has
  std::int64_t large_result_bytes = 0;  ///< of results to which `engine` gives new memory
  /// Seconds that the kernels of `engine` take longer than the layers' rows, by kind of kernel.
  std::map<std::string, double> engine_kernels = {};
  std::optional<peaks> limits = {};        ///< peaks of the device, if measured
  std::optional<text_length> text = {};    ///< of models of texts, if their shape file is known
  std::vector<memory_total> memory = {};   ///< by policy; empty where no shape file is known
  std::vector<step_energy> energies = {};  ///< of the whole step, as measured; by counter
  std::optional<result::latencies> latencies = {};  ///< of single steps, where streams are several
  std::optional<double> left_out = {};  ///< share of the model's FLOPs that its import left out

  /// Whether the step has a time although layers are missing, or nodes of the model.
  [[nodiscard]] bool partial() const { return step && (!missing.empty() || left_out); }
  /// Whether so many timings were disturbed that users must be warned.
  [[nodiscard]] bool much_disturbed() const { return disturbed > result::much_disturbed; }
  /// Whether the times are known badly, because most timings were disturbed.
  [[nodiscard]] bool mostly_disturbed() const { return disturbed > result::mostly_disturbed; }
  /// Whether a 95 % interval would need more rounds.
  [[nodiscard]] bool few_rounds() const { return step && rounds < stats::min_sample_size; }
  /// Significant digits of the times that texts show.
  [[nodiscard]] int digits() const {
    if (!step || !mostly_disturbed()) return format::most_digits;
    return format::known_digits(step->seconds, step->low(), step->high());
  }
  /// A rate as texts show it: of the rounded time.
  [[nodiscard]] std::string rate_text(std::optional<double> per_second) const {
    if (per_second) *per_second *= step->seconds / format::rounded(step->seconds, digits());
    return format::rate(per_second, digits());
  }
  [[nodiscard]] std::optional<double> images_per_second() const {
    if (!step) return std::nullopt;
    return static_cast<double>(model_case.images()) / step->seconds;
  }
  /// Joules per image of a step that takes `joules`.
  [[nodiscard]] double per_image(double joules) const {
    return joules / static_cast<double>(model_case.images());
  }
  /// Nothing for a step that takes no energy, as far as it could be told.
  [[nodiscard]] std::optional<double> images_per_joule(double joules) const {
    return joules > 0 ? std::optional(1 / per_image(joules)) : std::nullopt;
  }
  /// The memory of the step, or of one stream's, as the case gives it to tensors.
  [[nodiscard]] std::optional<std::int64_t> memory_bytes() const {
    if (memory.empty()) return std::nullopt;
    const bool reuses = model_case.parameters.contains("memory");
    return memory_bytes(reuses ? memory_policy::reused : memory_policy::kept);
  }
  /// The same under another policy.
  [[nodiscard]] std::optional<std::int64_t> memory_bytes(memory_policy policy) const {
    const auto found = std::ranges::find(memory, policy, &memory_total::policy);
    return found == memory.end() ? std::nullopt : std::optional(found->bytes());
  }
  [[nodiscard]] std::optional<double> tokens_per_second() const {
    if (!step || !text) return std::nullopt;
    return static_cast<double>(text->tokens) * *images_per_second();
  }
};

}  // namespace layerbench::analysis
