// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <layerbench/predict/interval.hpp>
#include <layerbench/predict/prediction.hpp>
#include <layerbench/predict/select.hpp>
#include <layerbench/predict/timings.hpp>

/// From timings of primitives to the time of a model's step.
namespace layerbench::predict {

struct options {
  std::vector<std::string> models;  ///< names or paths of shape files; empty: what was planned
  bool allow_partial = false;       ///< add up what was measured although something is missing
  /// Where models lie that no manifest knows.
  std::filesystem::path shapes = {};  // NOLINT(readability-redundant-member-init): g++ 12 warns
  std::string cache = "hot";          ///< the cache state whose rows are added up
};

namespace detail {

/// Threads of a case: its own parameter, else what the files' context says.
[[nodiscard]] inline std::int64_t threads(const result::case_name& owner, const group& files) {
  const auto own = owner.parameters.find("threads");
  if (own != owner.parameters.end()) return result::detail::count_of(own->second).value_or(0);
  const auto common = files.front()->context.find("threads");
  if (common == files.front()->context.end()) return 0;
  return result::detail::count_of(common->second).value_or(0);
}

[[nodiscard]] inline bool interrupted(const group& files) {
  return std::ranges::any_of(files, [](const result::results* file) {
    const auto found = file->context.find("interrupted");
    return found != file->context.end() && found->second == "1";
  });
}

/// A planned primitive, its timing and the median of that.
struct timed {
  const result::planned* what;
  timing rounds;
  double seconds;
};

/// The step's time: medians added up, with an interval from the rounds that all primitives have.
/// Medians may add up to less or more than any round does; the interval then reaches to their sum.
[[nodiscard]] inline step_time add_up(const std::vector<timed>& step, std::size_t& rounds) {
  std::vector<term> terms;
  double seconds = 0;
  for (const timed& each : step) {
    const auto count = static_cast<double>(each.what->count);
    terms.push_back({count, &each.rounds.rounds});
    seconds += count * each.seconds;
  }
  const std::vector<round_id> common = common_rounds(terms);
  rounds = common.size();
  if (const auto sure = bootstrap_interval(terms, common)) {
    return {seconds, std::min(seconds, sure->low), std::max(seconds, sure->high),
            interval_kind::bootstrap};
  }
  const auto range = range_of_rounds(terms, common).value_or(stats::interval{seconds, seconds});
  return {seconds, std::min(seconds, range.low), std::max(seconds, range.high),
          common.size() < 2 ? interval_kind::none : interval_kind::range};
}

[[nodiscard]] inline std::vector<layer_time> layer_times(const std::vector<timed>& step,
                                                         double total) {
  std::vector<layer_time> layers;
  for (const auto& [what, timing, seconds] : step) {
    layers.push_back({what->layer, what->op, what->pass, what->key, what->count, what->inserted,
                      seconds, static_cast<double>(what->count) * seconds / total, timing.flops});
  }
  return layers;
}

/// The measured primitives of a case; the others' names go to `missing`.
[[nodiscard]] inline std::vector<timed> find_timings(const planned_case& planned,
                                                     const timings& measured,
                                                     const std::string& cache,
                                                     std::vector<std::string>& missing) {
  std::vector<timed> step;
  for (const result::planned& each : planned.step) {
    // Only the state `hot` has an empty signature; the others will need the manifest to tell.
    auto found = measured.find(
        result::identity(planned.owner, each.op, each.pass, each.key, cache, ""), planned.owner);
    if (found) {
      const double seconds = found->seconds();
      step.push_back({&each, std::move(*found), seconds});
    } else {
      missing.push_back(each.layer);
    }
  }
  return step;
}

/// Share of the timings' rounds that something else disturbed.
[[nodiscard]] inline double disturbed_share(const std::vector<timed>& step) {
  double rounds = 0;
  double disturbed = 0;
  for (const timed& each : step) {
    rounds += static_cast<double>(each.rounds.rounds.size());
    disturbed += static_cast<double>(each.rounds.disturbed);
  }
  return rounds == 0 ? 0 : disturbed / rounds;
}

/// Refuses files without rounds: they would only look as if nothing had been measured.
inline void require_rounds(std::span<const result::results> files) {
  for (const result::results& file : files) {
    const bool some = std::ranges::any_of(
        file.rows, [](const result::measurement& row) { return row.error.empty(); });
    if (some || file.aggregates == 0) continue;
    throw bad_input(file.file, "/benchmarks",
                    "has no rows of rounds, only aggregates, which cannot be added up; measure "
                    "without --benchmark_report_aggregates_only");
  }
}

}  // namespace detail

/// Predicts one case from `timings` of the files in `files`.
[[nodiscard]] inline prediction predict_case(const planned_case& planned, const timings& measured,
                                             const group& files, const options& chosen) {
  prediction made{planned.owner,
                  {},
                  chosen.cache,
                  "naive " + chosen.cache + " sum",
                  planned.derived,
                  detail::threads(planned.owner, files),
                  0,
                  {},
                  {}};
  for (const result::results* file : files) made.files.push_back(file->file);
  made.interrupted = detail::interrupted(files);
  const auto step = detail::find_timings(planned, measured, chosen.cache, made.missing);
  if (step.empty()) return made;
  std::int64_t executions = 0;
  std::int64_t covered = 0;
  for (const result::planned& each : planned.step) executions += each.count;
  for (const detail::timed& each : step) covered += each.what->count;
  made.coverage = static_cast<double>(covered) / static_cast<double>(executions);
  made.disturbed = detail::disturbed_share(step);
  const step_time time = detail::add_up(step, made.rounds);
  made.layers = detail::layer_times(step, time.seconds);
  if (made.missing.empty() || chosen.allow_partial) made.step = time;
  return made;
}

/// Predicts every case of the files' manifests, or those of the chosen models: from a manifest
/// where one knows the model, else from its shape file under every condition that was measured.
/// Files of differing contexts are never mixed: each group of equal ones predicts for itself.
/// Throws nothing_matched, listing the cases, when a chosen model is nowhere or nothing was
/// planned, and bad_input for a file that has aggregates, but no rounds.
[[nodiscard]] inline std::vector<prediction> predict(std::span<const result::results> files,
                                                     const options& chosen = {}) {
  detail::require_rounds(files);
  const std::vector<choice> choices = select(files, chosen.models, chosen.shapes);
  std::vector<prediction> predictions;
  for (const group& each : group_by_context(files)) {
    timings measured;
    for (const result::results* file : each) measured.add(*file);
    for (const planned_case& planned : chosen_cases(each, choices)) {
      predictions.push_back(predict_case(planned, measured, each, chosen));
    }
  }
  if (predictions.empty()) throw nothing_matched("nothing to predict: " + known_cases(files));
  return predictions;
}

}  // namespace layerbench::predict
