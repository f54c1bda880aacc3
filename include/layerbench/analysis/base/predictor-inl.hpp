// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <ranges>
#include <utility>

#include <fmt/format.h>

#include <layerbench/analysis/base/memory.hpp>
#include <layerbench/analysis/base/peaks.hpp>
#include <layerbench/analysis/base/predictor.hpp>
#include <layerbench/base/compiled.hpp>
#include <layerbench/base/split.hpp>
#include <layerbench/model/find.hpp>
#include <layerbench/model/shape_file.hpp>
#include <layerbench/result/protocol_error.hpp>
#include <layerbench/result/stream_shares.hpp>

namespace layerbench::analysis {

namespace detail {

[[nodiscard]] inline bool interrupted(const group& files) {
  return std::ranges::any_of(files,
                             [](const result::results* file) { return file->interrupted(); });
}

/// The sum of count * mean.
[[nodiscard]] inline double sum(const std::vector<timed_primitive>& step) {
  double seconds = 0;
  for (const timed_primitive& timed : step)
    seconds += static_cast<double>(timed.planned->count) * timed.seconds;
  return seconds;
}

LAYERBENCH_INLINE std::vector<term> terms(const std::vector<timed_primitive>& step) {
  std::vector<term> all;
  for (const timed_primitive& timed : step) {
    all.push_back({static_cast<double>(timed.planned->count), &timed.rounds});
  }
  return all;
}

/// Executions in a step that a framework asks for. What a backend inserted is not among them.
[[nodiscard]] inline std::int64_t calls(const planned_case& planned) {
  std::int64_t executions = 0;
  for (const result::planned& primitive : planned.step) {
    if (!primitive.inserted) executions += primitive.count;
  }
  return executions;
}

[[nodiscard]] inline std::vector<layer_time> layer_times(const std::vector<timed_primitive>& step,
                                                         double total) {
  std::vector<layer_time> layers;
  for (const auto& [planned, timing, seconds] : step) {
    const std::map<round_id, double> counted = timing.counted();
    const auto values = std::views::values(counted);
    const stats::interval interval = stats::mean_interval({values.begin(), values.end()});
    layers.push_back(
        {planned->layer, planned->op, planned->pass, planned->key, planned->count,
         planned->inserted, seconds, static_cast<double>(planned->count) * seconds / total,
         timing.flops, planned->chain_seconds, planned->part, std::min(seconds, interval.low),
         std::max(seconds, interval.high), timing.padded_flops, planned->traffic, planned->layers});
  }
  return layers;
}

LAYERBENCH_INLINE covered_step find_timings(const planned_case& planned, const timings& measured,
                                            std::string_view cache) {
  covered_step found;
  for (const result::planned& primitive : planned.step) {
    const std::string state = cache == "hot" ? "" : primitive.state;
    auto timing = measured.find(result::identity(planned.model_case, primitive.op, primitive.pass,
                                                 primitive.key, cache, state),
                                planned.model_case);
    const bool known = cache == "hot" || !primitive.state.empty() || !planned.derived;
    if (timing && known) {
      found.own = found.own || timing->own;
      found.step.push_back({&primitive, std::move(*timing), 0});
    } else {
      found.missing.push_back(model::call_name(primitive.layer, primitive.pass));
    }
  }
  std::vector<result::timing_of_op> all;
  for (timed_primitive& timed : found.step) all.push_back({timed.planned->op, &timed.rounds});
  result::correct_slowed_rounds(all);
  for (timed_primitive& timed : found.step) timed.seconds = timed.rounds.seconds();
  return found;
}

/// Executions measured / executions in a step, times the share of FLOPs that the model has.
[[nodiscard]] inline double coverage(const planned_case& planned,
                                     const std::vector<timed_primitive>& step) {
  std::int64_t executions = 0;
  std::int64_t covered = 0;
  for (const result::planned& primitive : planned.step) executions += primitive.count;
  for (const timed_primitive& timed : step) covered += timed.planned->count;
  return static_cast<double>(covered) / static_cast<double>(executions) *
         (1 - left_out(planned).value_or(0));
}

/// The peaks that apply to `files`. Throws bad_input for peaks of another device.
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

/// The chosen parts of a planned step.
[[nodiscard]] inline planned_case chosen_parts(planned_case planned, const options& chosen) {
  if (chosen.parts.empty()) return planned;
  std::erase_if(planned.step, [&](const result::planned& primitive) {
    return std::ranges::find(chosen.parts, primitive.part) == chosen.parts.end();
  });
  return planned;
}

LAYERBENCH_INLINE void require_rounds(const group& files) {
  for (const result::results* file : files) {
    const bool has_rounds = std::ranges::any_of(
        file->rows, [](const result::measurement& row) { return row.error.empty(); });
    if (has_rounds || file->aggregates == 0) continue;
    throw bad_input(file->file, "/benchmarks",
                    "has no rows of rounds, only aggregates, which cannot be added up; measure "
                    "without --benchmark_report_aggregates_only");
  }
}

LAYERBENCH_INLINE std::optional<std::filesystem::path> given_path(
    const result::case_name& model_case, const group& its_files, const options& chosen) {
  for (const std::string& name : chosen.models) {
    if (model::is_path(name) && model::load(name).name == model_case.model) return name;
  }
  for (const result::results* file : its_files) {
    const auto paths = file->context.find("shape_files");
    if (paths == file->context.end()) continue;
    for (const std::string_view path : split(paths->second, ',')) {
      std::error_code unknown;
      if (!std::filesystem::is_regular_file(path, unknown)) continue;
      try {
        if (model::load(path).name == model_case.model) return path;
      } catch (const error&) {
        continue;  // moved or changed since
      }
    }
  }
  return std::nullopt;
}

/// What only the shape files of models say of cases.
class shape_files {
 public:
  explicit shape_files(const options& chosen) : chosen_(chosen) {}

  /// Adds the lengths of texts, of which names of cases have those alone that differ from the shape
  /// file's, and the memory of the step. Adds nothing where no shape file has the same work.
  void add_to(prediction& to, const planned_case& planned, const group& files) {
    const result::case_name& model_case = planned.model_case;
    const auto [known, is_new] = models_.try_emplace(model_case.model);
    if (is_new) known->second = find(model_case, files);
    if (!known->second) return;
    const auto& [path, shipped] = *known->second;
    try {
      const auto derived = derived_step_of(shipped, path, model_case, files);
      // Nothing can be derived with a fusion plan that is not shipped.
      const bool same = derived ? same_work(planned.step, planned_of(*derived, model_case, files,
                                                                     /*with_states=*/false))
                                : model_case.fused();
      if (!same) return;
      to.text = text_length_of(model_case, shipped);
      if (derived && chosen_.parts.empty()) to.memory = memory_of(*derived, model_case, files);
    } catch (const error&) {
      return;  // the file has changed since
    }
  }

 private:
  struct shape_file {
    std::filesystem::path path;
    model::graph shipped;
  };

  /// Nothing for models of other things than texts.
  [[nodiscard]] static std::optional<text_length> text_length_of(
      const result::case_name& model_case, const model::graph& shipped) {
    if (!model::parameter(shipped, "tokens")) return std::nullopt;
    const auto value = [&](const char* name) {
      const auto own = model_case.count(name);
      return own ? own : model::parameter(shipped, name);
    };
    return text_length{*value("tokens"), value("context").value_or(0)};
  }

  [[nodiscard]] static std::vector<memory_total> memory_of(const derived_step& derived,
                                                           const result::case_name& model_case,
                                                           const group& files) {
    std::vector<memory_total> totals;
    if (!dtype_from(model_case.dtype)) return totals;
    const auto beside =
        measured_beside_tensors(files, derived.graph, model_case.phase(), derived.calls.type);
    for (std::size_t i = 0; i < enum_names<memory_policy>.size(); ++i) {
      totals.push_back(analysis::memory_of(derived.calls, static_cast<memory_policy>(i),
                                           beside.value_or(memory_beside_tensors{})));
    }
    return totals;
  }

  /// The shape file of the case's model.
  [[nodiscard]] std::optional<shape_file> find(const result::case_name& model_case,
                                               const group& files) const {
    try {
      std::filesystem::path path =
          given_path(model_case, files, chosen_).value_or(std::filesystem::path{});
      if (path.empty()) path = model::find(model_case.model, chosen_.shapes);
      return shape_file{path, model::load(path)};
    } catch (const error&) {
      return std::nullopt;  // unknown here
    }
  }

  const options& chosen_;
  std::map<std::string, std::optional<shape_file>> models_;
};

/// Makes the step of a stream last as long as it does with its waits for the processor, as far as
/// they were seen; returns the latencies of single steps. Several threads wait within their calls.
[[nodiscard]] inline std::optional<result::latencies> add_waits(step_time& to,
                                                                const result::case_name& of,
                                                                std::int64_t threads,
                                                                const group& files) {
  const auto shares =
      result::stream_shares::of(of, static_cast<int>(std::max<std::int64_t>(1, threads)));
  for (const result::results* file : files) {
    auto seen = result::variation_in(file->rows, of);
    if (!seen) continue;
    if (shares.threads_each() > 1) seen->wait = seen->turn = 0;
    const result::latencies found =
        result::latencies_of(*seen, to.seconds / shares.per_processor());
    if (seen->turn > 0) to.scale(seen->delay() / shares.per_processor());
    return found;
  }
  return std::nullopt;
}

}  // namespace detail

LAYERBENCH_INLINE prediction predict_case(const planned_case& planned, const timings& measured,
                                          const group& files, const options& chosen) {
  prediction result;
  result.model_case = planned.model_case;
  result.derived = planned.derived;
  result.threads = detail::threads(planned.model_case, files);
  result.calls = detail::calls(planned);
  result.left_out = left_out(planned);
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
  if (hot.missing.empty()) result.hot_sum_seconds = detail::sum(hot.step);
  if (used.step.empty()) return result;

  result.coverage = detail::coverage(planned, used.step);
  std::optional<std::string_view> kind;
  if (as_in_model) {
    kind = result::step_kind(planned.model_case,
                             planned.step | std::views::transform(&result::planned::op));
  }
  auto [time, rounds, disturbed] = result::sum_of_step(
      detail::sum(used.step), detail::terms(used.step), planned.model_case.backend, kind);
  result.rounds = rounds;
  result.disturbed = disturbed;
  result.layers = detail::layer_times(used.step, time.layers);
  if (result.missing.empty() || chosen.allow_partial) {
    time.add_overhead(chosen.overhead_per_step +
                      static_cast<double>(result.calls) * chosen.overhead_per_layer);
    if (planned.model_case.streams() > 1)
      result.latencies = detail::add_waits(time, planned.model_case, result.threads, files);
    result.step = time;
  }
  return result;
}

namespace detail {

LAYERBENCH_INLINE timings timings_of(const group& files) {
  timings all;
  for (const result::results* file : files) all.add(*file);
  return all;
}

LAYERBENCH_INLINE std::string device_of(const prediction& predicted,
                                        std::span<const result::results> files) {
  return std::ranges::find(files, predicted.files.front(), &result::results::file)->device();
}

LAYERBENCH_INLINE std::vector<predicted_case> predicted_cases(
    const group& files, const std::vector<model_choice>& choices, const options& chosen) {
  const timings measured = timings_of(files);
  std::vector<predicted_case> cases;
  for (planned_case& planned : cases_of(files, choices)) {
    if (!chosen.phase.empty() && planned.model_case.phase() != chosen.phase) continue;
    prediction predicted = predict_case(chosen_parts(planned, chosen), measured, files, chosen);
    cases.push_back({std::move(planned), files, std::move(predicted)});
  }
  return cases;
}

}  // namespace detail

LAYERBENCH_INLINE bool is_chosen(const result::case_name& model_case, const options& chosen,
                                 std::span<const model_choice> choices) {
  if (!chosen.phase.empty() && model_case.phase() != chosen.phase) return false;
  return choices.empty() || std::ranges::any_of(choices, [&](const model_choice& one) {
           return model_case.model == one.model;
         });
}

LAYERBENCH_INLINE std::vector<prediction> predict(std::span<const result::results> files,
                                                  const options& chosen) {
  detail::require_rounds(group_of(files));
  const std::vector<model_choice> choices = resolve_models(files, chosen.models, chosen.shapes);
  std::vector<prediction> predictions;
  for (const group& alike : group_by_context(files)) {
    detail::shape_files shapes(chosen);
    const std::vector<peaks> known = detail::peaks_for(alike, chosen);
    for (auto& [planned, its_files, predicted] : detail::predicted_cases(alike, choices, chosen)) {
      set_limits(predicted, known);
      shapes.add_to(predicted, planned, its_files);
      if (chosen.parts.empty()) {
        predicted.energies = step_energies(planned, predicted.cache, its_files);
      }
      predictions.push_back(std::move(predicted));
    }
  }
  if (predictions.empty()) throw nothing_matched("nothing to predict: " + list_cases(files));
  return predictions;
}

}  // namespace layerbench::analysis
