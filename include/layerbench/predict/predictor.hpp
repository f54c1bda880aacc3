// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <layerbench/predict/plan.hpp>
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

/// A measured primitive's part of a prediction.
struct layer_time {
  std::string name;
  std::string op;
  std::string pass;
  std::string key;
  std::int64_t count;
  bool inserted;
  double seconds;               ///< of one call: median over the rounds
  double share;                 ///< of all measured layers' time, count * seconds
  std::optional<double> flops;  ///< FLOPs of one call
};

/// Time of one step, between the least and the largest of its rounds.
struct step_time {
  double seconds;
  double low;
  double high;
};

struct prediction {
  result::case_name owner;
  std::vector<std::string> files;  ///< whose rows could serve
  std::string cache;
  std::string method;
  bool derived = false;                ///< the step is from a shape file, not from a manifest
  std::int64_t threads = 0;            ///< 0: the files do not say
  double coverage = 0;                 ///< executions measured / executions in a step
  std::vector<std::string> missing;    ///< layers without a timing, in manifest order
  std::vector<layer_time> layers;      ///< layers with one, in manifest order
  double disturbed = 0;                ///< share of the layers' timings that were disturbed
  std::optional<step_time> step = {};  ///< nothing when refused: a layer is missing

  /// Whether the step lacks layers although it has a time.
  [[nodiscard]] bool partial() const { return step && !missing.empty(); }
  [[nodiscard]] std::optional<double> images_per_second() const {
    if (!step) return std::nullopt;
    return static_cast<double>(owner.batch) / step->seconds;
  }
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

/// A planned primitive and its timing; null when there is none.
using timed = std::pair<result::planned, const timing*>;

/// The rounds that all measured primitives have.
[[nodiscard]] inline std::vector<round_id> common_rounds(const std::vector<timed>& step) {
  std::optional<std::vector<round_id>> common;
  for (const auto& [planned, timing] : step) {
    if (timing == nullptr) continue;
    if (!common) {
      common.emplace();
      for (const auto& [round, seconds] : timing->rounds) common->push_back(round);
    } else {
      std::erase_if(*common, [&](const round_id& each) { return !timing->rounds.contains(each); });
    }
  }
  return common.value_or(std::vector<round_id>{});
}

/// The step's time: medians added up, and the spread of the rounds' own sums. Medians may add up
/// to less or more than any round does; the interval is then widened to hold their sum.
[[nodiscard]] inline step_time add_up(const std::vector<timed>& step) {
  const auto sum = [&](const auto& seconds_of) {
    double total = 0;
    for (const auto& [planned, timing] : step) {
      if (timing != nullptr) total += static_cast<double>(planned.count) * seconds_of(*timing);
    }
    return total;
  };
  const double seconds = sum([](const timing& each) { return each.seconds(); });
  step_time time{seconds, seconds, seconds};
  for (const round_id& round : common_rounds(step)) {
    const double total = sum([&](const timing& each) { return each.rounds.at(round); });
    time.low = std::min(time.low, total);
    time.high = std::max(time.high, total);
  }
  return time;
}

[[nodiscard]] inline std::vector<layer_time> layer_times(const std::vector<timed>& step,
                                                         double total) {
  std::vector<layer_time> layers;
  for (const auto& [planned, timing] : step) {
    if (timing == nullptr) continue;
    const double seconds = timing->seconds();
    layers.push_back({planned.layer, planned.op, planned.pass, planned.key, planned.count,
                      planned.inserted, seconds,
                      static_cast<double>(planned.count) * seconds / total, timing->flops});
  }
  return layers;
}

[[nodiscard]] inline bool is_planned(std::span<const result::results> files,
                                     std::string_view model) {
  return std::ranges::any_of(files, [&](const result::results& file) {
    return std::ranges::any_of(file.manifest,
                               [&](const auto& item) { return item.first.model == model; });
  });
}

/// Names the cases of the files, for whoever asked for another one.
[[nodiscard]] inline std::string known_cases(std::span<const result::results> files) {
  std::set<std::string> names;
  for (const result::results& file : files) {
    for (const auto& [owner, step] : file.manifest) names.insert(owner.text());
  }
  if (names.empty()) return "the files have no manifest, so no cases";
  return fmt::format("cases in the files: {}", fmt::join(names, " "));
}

/// The chosen models: those of manifests by name, the others with their shape files.
struct selection {
  bool all = true;  ///< nobody chose: whatever was planned
  std::set<std::string> planned;
  std::vector<std::filesystem::path> derived;
};

[[nodiscard]] inline selection select(std::span<const result::results> files,
                                      const options& chosen) {
  selection selected{chosen.models.empty(), {}, {}};
  for (const std::string& each : chosen.models) {
    if (is_planned(files, each)) {
      selected.planned.insert(each);
      continue;
    }
    try {
      selected.derived.push_back(model::find(each, chosen.shapes));
    } catch (const nothing_matched& unknown) {
      throw nothing_matched(fmt::format("{}; {}", unknown.what(), known_cases(files)));
    }
  }
  return selected;
}

/// The selected cases that rows of `files` can serve.
[[nodiscard]] inline std::vector<planned_case> plans(const group& files,
                                                     const selection& selected) {
  std::vector<planned_case> all = planned_cases(files);
  std::erase_if(all, [&](const planned_case& each) {
    return !selected.all && !selected.planned.contains(each.owner.model);
  });
  for (const std::filesystem::path& path : selected.derived) {
    std::ranges::move(derived_cases(files, path), std::back_inserter(all));
  }
  return all;
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
  std::vector<detail::timed> step;
  double covered = 0;
  double executions = 0;
  double rounds = 0;
  double disturbed = 0;
  for (const result::planned& each : planned.step) {
    // Only the state `hot` has an empty signature; the others will need the manifest to tell.
    const timing* found = measured.find(
        result::identity(planned.owner, each.op, each.pass, each.key, chosen.cache, ""));
    executions += static_cast<double>(each.count);
    if (found == nullptr) {
      made.missing.push_back(each.layer);
    } else {
      covered += static_cast<double>(each.count);
      rounds += static_cast<double>(found->rounds.size());
      disturbed += static_cast<double>(found->disturbed);
    }
    step.emplace_back(each, found);
  }
  if (covered > 0) {
    const step_time time = detail::add_up(step);
    made.coverage = covered / executions;
    made.disturbed = disturbed / rounds;
    made.layers = detail::layer_times(step, time.seconds);
    if (made.missing.empty() || chosen.allow_partial) made.step = time;
  }
  return made;
}

/// Predicts every case of the files' manifests, or those of the chosen models: from a manifest
/// where one knows the model, else from its shape file under every condition that was measured.
/// Files of differing contexts are never mixed: each group of equal ones predicts for itself.
/// Throws nothing_matched, listing the cases, when a chosen model is nowhere or nothing was
/// planned.
[[nodiscard]] inline std::vector<prediction> predict(std::span<const result::results> files,
                                                     const options& chosen = {}) {
  const detail::selection selected = detail::select(files, chosen);
  std::vector<prediction> predictions;
  for (const group& each : group_by_context(files)) {
    timings measured;
    for (const result::results* file : each) measured.add(*file);
    for (const planned_case& planned : detail::plans(each, selected)) {
      predictions.push_back(predict_case(planned, measured, each, chosen));
    }
  }
  if (predictions.empty()) {
    throw nothing_matched("nothing to predict: " + detail::known_cases(files));
  }
  return predictions;
}

}  // namespace layerbench::predict
