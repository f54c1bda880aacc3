// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <layerbench/analysis/base/peaks.hpp>
#include <layerbench/analysis/base/predictor.hpp>
#include <layerbench/base/json.hpp>
#include <layerbench/base/parse_number.hpp>
#include <layerbench/base/slug.hpp>
#include <layerbench/base/split.hpp>
#include <layerbench/model/find.hpp>
#include <layerbench/result/read_results.hpp>

/// Result files for others: what is refused, and what is left out of them.
namespace layerbench::analysis {

/// A result file as it may be published.
struct submission {
  std::vector<std::string> refused;  ///< why it may not: place, reason and remedy, one line each
  std::vector<std::string> removed;  ///< fields of the context that are left out or changed
  std::string name;                  ///< of the file: device, day and a hash of its text
  std::string text;
};

namespace detail {

/// Refuses the file for those of `all` that are `bad`: names the first one, and counts the others.
template <class List, class Name, class Bad>
void refuse(submission& into, const List& all, Name&& name, Bad&& bad, std::string_view reason) {
  const auto first = std::ranges::find_if(all, bad);
  if (first == std::ranges::end(all)) return;
  const auto count = std::ranges::count_if(all, bad);
  into.refused.push_back(fmt::format("{}{}: {}", std::invoke(name, *first),
                                     count > 1 ? fmt::format(" and {} more", count - 1) : "",
                                     reason));
}

/// The conditions of the run, by its context.
inline void check_conditions(submission& into, const result::results& file) {
  const auto refuse_field = [&](std::string_view field, std::string_view reason) {
    into.refused.push_back(fmt::format("/context/{}: {}", field, reason));
  };
  for (const char* field : {"layerbench_schema", "layerbench_version", "date", "machine_check"}) {
    if (!file.context_value(field)) refuse_field(field, "is missing; measure with bench_model");
  }
  if (file.context_value("dry_run")) refuse_field("dry_run", "nothing was timed; measure");
  if (file.interrupted()) {
    refuse_field("interrupted", "rounds are missing; end the run with --resume");
  }
  const std::string check = file.context_value("machine_check").value_or("fit");
  for (const std::string_view bad : split(check, ' ')) {
    if (bad == "fit" || bad == "cores") continue;  // far cores are the machine, not its state
    refuse_field("machine_check", fmt::format("not fit: {}; see bench_model --check-machine", bad));
  }
}

/// The theoretical peak of a GPU in FLOPs per second, as far as the file has it.
[[nodiscard]] inline double known_peak(const result::results& file, const std::string& dtype) {
  for (std::string_view part : split(file.context_value("gpu_peaks").value_or(""), ',')) {
    if (!part.starts_with(" " + dtype + " ")) continue;
    part.remove_prefix(dtype.size() + 2);
    const double value = take_number<double>(part).value_or(0);
    return value * (part.starts_with(" P") ? 1e15 : part.starts_with(" T") ? 1e12 : 1e9);
  }
  return std::numeric_limits<double>::infinity();
}

/// The rows: timed, verified, and not above the peaks of a GPU or the `measured` ones. Winograd's
/// algorithm computes convolutions with up to 4 times fewer multiplications than are counted (Lavin
/// and Gray, 2016). Measured peaks may be a tenth too low.
inline void check_rows(submission& into, const result::results& file,
                       const std::vector<peaks>& measured) {
  constexpr double winograd = 4;
  constexpr double tolerance = 1.1;
  using row = result::measurement;
  const auto name = [](const row& of) { return of.name.text(); };
  const auto failed = [](const row& of) { return !of.error.empty(); };
  const auto counter = [](const row& of, std::string_view counter_name) {
    const auto found = of.counters.find(counter_name);
    return found == of.counters.end() ? 0 : found->second;
  };
  for (const auto* rows : {&file.rows, &file.chains}) {
    refuse(into, *rows, name, failed, "has an error in place of a time; measure it again");
  }
  refuse(
      into, file.rows, name,
      [&](const row& of) { return !failed(of) && counter(of, "verified") != 1; },
      "was not verified; measure with bench_model");
  const auto is_too_fast = [&](const row& of) {
    const result::case_name& named = of.name.model_case;
    const std::int64_t threads = detail::threads(named, {&file});
    double peak = known_peak(file, named.dtype);
    for (const peaks& one : measured) {
      const bool same =
          one.backend == named.backend && one.dtype == named.dtype && one.threads == threads;
      if (same && one.flops > 0) peak = std::min(peak, tolerance * one.flops);
    }
    if (of.name.op == "conv" || of.name.op == "deconv") peak *= winograd;
    return !failed(of) &&
           counter(of, "flops_exact") > peak * std::min(of.seconds, of.mean_seconds());
  };
  refuse(into, file.rows, name, is_too_fast, "is faster than the peak of its machine");
}

/// The predicted steps: complete, of shipped models, undisturbed, precise to a tenth, and no layer
/// twice as fast as the measured bandwidths allow, of which a nearer cache explains less.
inline void check_steps(submission& into, const std::vector<prediction>& all) {
  constexpr double widest = 0.1;  // half of the interval, relative to the time
  const auto name = [](const prediction& p) { return p.model_case.text(); };
  refuse(into, all, name, &prediction::derived,
         "its layers are not those of the shipped model of that name");
  refuse(
      into, all, name, [](const prediction& p) { return !p.step || p.partial(); },
      "layers are not measured; measure them with --resume");
  refuse(into, all, name, &prediction::much_disturbed,
         "other programs disturbed over a tenth of its timings; measure again");
  refuse(into, all, name, &prediction::few_rounds,
         "has fewer than 5 rounds; measure more with --resume and --benchmark_repetitions");
  const auto is_imprecise = [&](const prediction& p) {
    if (!p.step || p.few_rounds()) return false;
    const auto interval = p.step->interval();
    return !interval || interval->high - interval->low > 2 * widest * p.step->seconds;
  };
  refuse(into, all, name, is_imprecise, "is not known to 10 %; measure more rounds with --resume");
  const auto is_too_fast = [](const prediction& p) {
    return std::ranges::any_of(p.layers, [](const layer_time& layer) {
      return layer.roofs && layer.seconds < layer.roofs->memory / 2;
    });
  };
  refuse(into, all, name, is_too_fast, "is faster than the bandwidths of its machine");
}

/// Predicts the models of the file, which must be shipped ones.
[[nodiscard]] inline std::vector<prediction> predict_shipped(submission& into,
                                                             const result::results& file,
                                                             options chosen) {
  const std::vector<std::string> shipped = model::list(chosen.shapes);
  std::set<std::string> models;
  for (const planned_case& planned : planned_cases({&file}))
    models.insert(planned.model_case.model);
  const auto is_other = [&](const std::string& model) {
    return std::ranges::find(shipped, model) == shipped.end();
  };
  if (models.empty()) {
    into.refused.emplace_back("/context/manifest: has no model; measure with bench_model");
  }
  refuse(into, models, std::identity(), is_other,
         "is no network of layerbench, so that others cannot compare; measure without it");
  for (const std::string& model : models) {
    if (!is_other(model)) chosen.models.push_back(model::find(model, chosen.shapes).string());
  }
  if (chosen.models.empty()) return {};
  return predict({&file, 1}, chosen);
}

/// `text` with the last component alone of each path.
[[nodiscard]] inline std::string without_folders(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const std::size_t size = std::min(text.find_first_of(" \t\n'\",:;=@"), text.size());
    std::string_view word = text.substr(0, size);
    if (word.find_first_of("/~.") == 0) word.remove_prefix(word.rfind('/') + 1);
    result += fmt::format("{}{}", word, text.substr(size, 1));
    text.remove_prefix(std::min(size + 1, text.size()));
  }
  return result;
}

/// The context without the host, the command line, which may name users, and folders.
[[nodiscard]] inline json::value public_context(const json::value& context,
                                                const result::results& file,
                                                std::vector<std::string>& removed) {
  // Texts of forms of their own, whose slashes are in names and rates.
  const std::set<std::string> kept{"manifest", "candidates", "stopped", "field_dimensions",
                                   "topology"};
  const std::set<std::string> hidden{"host_name", "executable", "command", "shape_files",
                                     "gpu_uuid"};
  json::value all = json::value::object();
  for (const auto& [field, value] : context.items()) {
    const bool is_known = kept.contains(field) || file.dimensions.contains(field) ||
                          result::known_dimensions().contains(field);
    json::value published = value;
    if (value.is_string() && !kept.contains(field)) {
      published = without_folders(value.get<std::string>());
    }
    const bool is_left = is_known && !hidden.contains(field);
    if (!is_left || published != value) removed.push_back(field);
    if (is_left) all[field] = std::move(published);
  }
  return all;
}

/// The rounds without aggregates and without texts other than those of layerbench.
[[nodiscard]] inline json::value public_rows(const json::value& rows) {
  const std::set<std::string> texts{"name", "run_name", "run_type", "time_unit", "label"};
  json::value all = json::value::array();
  for (const json::value& row : rows) {
    if (!row.is_object() || row.value("run_type", "iteration") != "iteration") continue;
    json::value& published = all.emplace_back(json::value::object());
    for (const auto& [field, value] : row.items()) {
      if (value.is_number() || texts.contains(field)) published[field] = value;
    }
  }
  return all;
}

}  // namespace detail

/// Checks the result file `file`, whose text is `text`, and makes the published one.
/// `chosen.peaks` are those of its machine, if measured. Throws bad_input for what is no result
/// file, and what predict() throws.
[[nodiscard]] inline submission submission_of(const std::string& text, const std::string& file,
                                              const options& chosen) {
  const result::results read = result::parse(text, file);
  const json::value whole = json::parse_text(text, file);
  submission all;
  detail::check_conditions(all, read);
  detail::check_steps(all, detail::predict_shipped(all, read, chosen));
  detail::check_rows(all, read,
                     peaks_in(chosen.peaks.empty() ? group{&read} : group_of(chosen.peaks)));
  const json::value published{
      {"context", detail::public_context(whole.at("context"), read, all.removed)},
      {"benchmarks", detail::public_rows(whole.at("benchmarks"))}};
  all.text = published.dump(1, ' ', false, json::value::error_handler_t::replace) + '\n';
  std::uint64_t hash = 0xcbf29ce484222325U;  // FNV-1a (Fowler, Noll and Vo)
  for (const char c : all.text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  constexpr std::size_t longest = 32;  // of the device, so that a site has the whole name in links
  all.name = fmt::format("{}_{}_{:016x}.json", slug(read.device().substr(0, longest)),
                         slug(read.context_value("date").value_or("").substr(0, 10)), hash);
  return all;
}

}  // namespace layerbench::analysis
