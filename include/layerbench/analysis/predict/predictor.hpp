// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <ranges>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <layerbench/analysis/predict/interval.hpp>
#include <layerbench/analysis/predict/prediction.hpp>
#include <layerbench/analysis/predict/select.hpp>
#include <layerbench/analysis/predict/timings.hpp>
#include <layerbench/analysis/roofline/peaks.hpp>

/// From timings of primitives to the time of a model's step.
namespace layerbench::analysis {

struct options {
  std::vector<std::string> models;    ///< names or paths of shape files; empty: what was planned
  std::string phase = {};             ///< empty: every one
  bool allow_partial = false;         ///< add up what was measured although something is missing
  std::filesystem::path shapes = {};  ///< where models lie that no manifest knows
  std::string cache = {};             ///< state whose timings are used; empty: see predict()
  double overhead_per_layer = 0;      ///< seconds of a framework's own, an execution of a layer
  double overhead_per_step = 0;       ///< seconds of a framework's own, a step
  std::span<const result::results> peaks =
      {};  ///< what says how fast the device is at best; empty: the files themselves
};

namespace detail {

[[nodiscard]] inline bool interrupted(const group& files) {
  return std::ranges::any_of(files,
                             [](const result::results* file) { return file->interrupted(); });
}

/// A planned primitive, its timing and the mean of that.
struct timed {
  const result::planned* what;
  timing rounds;
  double seconds;
};

/// What the timings add up to, count * mean.
[[nodiscard]] inline double sum(const std::vector<timed>& step) {
  double seconds = 0;
  for (const timed& item : step) seconds += static_cast<double>(item.what->count) * item.seconds;
  return seconds;
}

/// A step of so many seconds, the sum of `terms`, with an interval from the rounds that all
/// primitives have; their number goes to `rounds`. Where layers count in different rounds their sum
/// may be less or more than any round's; the interval then reaches to it.
[[nodiscard]] inline step_time add_up(double seconds, std::span<const term> terms,
                                      std::size_t& rounds) {
  const std::vector<round_id> common = common_rounds(terms);
  rounds = common.size();
  interval_kind kind = interval_kind::bootstrap;
  std::optional<stats::interval> sure = bootstrap_interval(terms, common);
  if (!sure) {
    kind = common.size() < 2 ? interval_kind::none : interval_kind::range;
    sure = range_of_rounds(terms, common).value_or(stats::interval{seconds, seconds});
  }
  return {seconds, 0, seconds, std::min(seconds, sure->low), std::max(seconds, sure->high),
          kind,    {}};
}

/// The terms of such a sum; `step` must outlive them.
[[nodiscard]] inline std::vector<term> terms(const std::vector<timed>& step) {
  std::vector<term> all;
  for (const timed& item : step) {
    all.push_back({static_cast<double>(item.what->count), &item.rounds});
  }
  return all;
}

/// `time` with a framework's own cost in it, which is the same in each round.
[[nodiscard]] inline step_time with_overhead(step_time time, double overhead) {
  time.overhead = overhead;
  time.seconds += overhead;
  time.sampling_low += overhead;
  time.sampling_high += overhead;
  return time;
}

/// Seconds of a framework's own in a step: what a backend inserts is not the framework's.
[[nodiscard]] inline double overhead(const planned_case& planned, const options& chosen) {
  double executions = 0;
  for (const result::planned& item : planned.step) {
    if (!item.inserted) executions += static_cast<double>(item.count);
  }
  return chosen.overhead_per_step + executions * chosen.overhead_per_layer;
}

[[nodiscard]] inline std::vector<layer_time> layer_times(const std::vector<timed>& step,
                                                         double total) {
  std::vector<layer_time> layers;
  for (const auto& [what, timing, seconds] : step) {
    const std::map<round_id, double> counted = timing.counted();
    const auto values = std::views::values(counted);
    const stats::interval sure = stats::mean_interval({values.begin(), values.end()});
    layers.push_back({what->layer, what->op, what->pass, what->key, what->count, what->inserted,
                      seconds, static_cast<double>(what->count) * seconds / total, timing.flops,
                      what->chain_seconds, what->part, std::min(seconds, sure.low),
                      std::max(seconds, sure.high), timing.padded_flops, what->traffic});
  }
  return layers;
}

/// What one cache state's timings cover of a case.
struct covered_step {
  std::vector<timed> step;
  std::vector<std::string> missing;  ///< layers without a timing
  bool own = false;                  ///< some of the timings were made for the case itself
};

/// A primitive of unknown state is served by hot timings alone: none is known to be in the right
/// one.
[[nodiscard]] inline covered_step find_timings(const planned_case& planned, const timings& measured,
                                               std::string_view cache) {
  covered_step found;
  for (const result::planned& item : planned.step) {
    const std::string state = cache == "hot" ? "" : item.state;
    auto timing = measured.find(
        result::identity(planned.configuration, item.op, item.pass, item.key, cache, state),
        planned.configuration);
    const bool known = cache == "hot" || !item.state.empty() || !planned.derived;
    if (timing && known) {
      const double seconds = timing->seconds();
      found.own = found.own || timing->own;
      found.step.push_back({&item, std::move(*timing), seconds});
    } else {
      found.missing.push_back(model::call_name(item.layer, item.pass));
    }
  }
  return found;
}

/// Executions measured / executions in a step.
[[nodiscard]] inline double coverage(const planned_case& planned, const std::vector<timed>& step) {
  std::int64_t executions = 0;
  std::int64_t covered = 0;
  for (const result::planned& element : planned.step) executions += element.count;
  for (const timed& item : step) covered += item.what->count;
  return static_cast<double>(covered) / static_cast<double>(executions);
}

/// Share of the timings' rounds that something else disturbed.
[[nodiscard]] inline double disturbed_share(const std::vector<timed>& step) {
  double rounds = 0;
  double disturbed = 0;
  for (const timed& item : step) {
    rounds += static_cast<double>(item.rounds.rounds.size());
    disturbed += static_cast<double>(item.rounds.disturbed.size());
  }
  return rounds == 0 ? 0 : disturbed / rounds;
}

/// The peaks that hold for `files`.
[[nodiscard]] inline std::vector<peaks> peaks_for(const group& files, const options& chosen) {
  if (chosen.peaks.empty()) return peaks_in(files);
  for (const result::results& peak : chosen.peaks) {
    if (peak.device() != files.front()->device()) {
      throw bad_input(peak.file, "/context/device",
                      fmt::format("has the peaks of another device ({}) than {} was measured on "
                                  "({}); run bench_peak there",
                                  peak.device(), files.front()->file, files.front()->device()));
    }
  }
  return peaks_in(group_of(chosen.peaks));
}

/// Refuses files without rounds: they would only look as if nothing had been measured.
inline void require_rounds(const group& files) {
  for (const result::results* file : files) {
    const bool some = std::ranges::any_of(
        file->rows, [](const result::measurement& row) { return row.error.empty(); });
    if (some || file->aggregates == 0) continue;
    throw bad_input(file->file, "/benchmarks",
                    "has no rows of rounds, only aggregates, which cannot be added up; measure "
                    "without --benchmark_report_aggregates_only");
  }
}

}  // namespace detail

/// Predicts one case from `timings` of the files in `files`.
[[nodiscard]] inline prediction predict_case(const planned_case& planned, const timings& measured,
                                             const group& files, const options& chosen) {
  prediction result;
  result.configuration = planned.configuration;
  result.derived = planned.derived;
  result.threads = detail::threads(planned.configuration, files);
  result.interrupted = detail::interrupted(files);
  for (const result::results* file : files) result.files.push_back(file->file);

  const detail::covered_step hot = detail::find_timings(planned, measured, "hot");
  const detail::covered_step model = detail::find_timings(planned, measured, "model");
  const bool as_in_model =
      chosen.cache.empty() ? model.own || model.missing.empty() : chosen.cache == "model";
  const detail::covered_step& used = as_in_model ? model : hot;
  result.cache = as_in_model ? "model" : "hot";
  result.method = as_in_model ? "sum of cache:model timings" : "naive hot sum";
  result.missing = used.missing;
  if (hot.missing.empty()) result.naive_seconds = detail::sum(hot.step);
  if (used.step.empty()) return result;

  result.coverage = detail::coverage(planned, used.step);
  result.disturbed = detail::disturbed_share(used.step);
  step_time time = detail::add_up(detail::sum(used.step), detail::terms(used.step), result.rounds);
  if (as_in_model) time.protocol_half_width = protocol_error::relative * time.layers;
  result.layers = detail::layer_times(used.step, time.layers);
  if (result.missing.empty() || chosen.allow_partial) {
    result.step = detail::with_overhead(time, detail::overhead(planned, chosen));
  }
  return result;
}

/// Whether `owner` is of a phase and a model that were chosen; `choices` is what select() says of
/// the models.
[[nodiscard]] inline bool is_chosen(const result::configuration_name& configuration,
                                    const options& chosen, std::span<const choice> choices) {
  if (!chosen.phase.empty() && configuration.phase() != chosen.phase) return false;
  return choices.empty() || std::ranges::any_of(choices, [&](const choice& item) {
           return configuration.model == item.model;
         });
}

/// Predicts every case of the files' manifests, or those of the chosen models: from a manifest
/// where one knows the model, else from its shape file under every condition that was measured.
/// Unless a cache state is chosen, it is `model` for cases that have rows of their own in it, or
/// all rows from others, else `hot`; the two never mix. Files of differing contexts are never
/// mixed: each group of equal ones predicts for itself. Throws nothing_matched, listing the cases,
/// when a chosen model is nowhere or nothing was planned, and bad_input for a file that has
/// aggregates, but no rounds, or that has the peaks of another device.
[[nodiscard]] inline std::vector<prediction> predict(std::span<const result::results> files,
                                                     const options& chosen = {}) {
  detail::require_rounds(group_of(files));
  const std::vector<choice> choices = select(files, chosen.models, chosen.shapes);
  std::vector<prediction> predictions;
  for (const group& item : group_by_context(files)) {
    timings measured;
    for (const result::results* file : item) measured.add(*file);
    const std::vector<peaks> known = detail::peaks_for(item, chosen);
    for (const planned_case& planned : chosen_cases(item, choices)) {
      if (!chosen.phase.empty() && planned.configuration.phase() != chosen.phase) continue;
      predictions.push_back(predict_case(planned, measured, item, chosen));
      set_limits(predictions.back(), known);
    }
  }
  if (predictions.empty()) throw nothing_matched("nothing to predict: " + known_cases(files));
  return predictions;
}

}  // namespace layerbench::analysis
