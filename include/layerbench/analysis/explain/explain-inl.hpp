// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <functional>
#include <iterator>
#include <set>
#include <span>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <layerbench/analysis/explain/explain.hpp>
#include <layerbench/base/compiled.hpp>
#include <layerbench/base/error.hpp>
#include <layerbench/base/number_format.hpp>
#include <layerbench/base/rounding.hpp>
#include <layerbench/base/split.hpp>
#include <layerbench/base/stats.hpp>
#include <layerbench/result/timing.hpp>
#include <layerbench/shape/record.hpp>

namespace layerbench::analysis {

namespace detail {

/// An instruction set: how the library's kernels and its words name it, and its vectors.
struct instruction_set {
  std::string_view kernel;  ///< in names of implementations
  std::string_view words;   ///< in the line info,cpu,isa
  std::string_view flag;    ///< of /proc/cpuinfo
  int bits;
};

/// From the highest on, so that the first one whose name a text has is meant. From 3.5 on the
/// library has two names for some.
inline constexpr std::array<instruction_set, 16> instruction_sets{{
    {"avx512_core_amx_fp16", "AMX with bfloat16, float16", "amx_fp16", 512},
    {"avx10_1_512_amx_fp16", "AMX with bfloat16, float16", "amx_fp16", 512},
    {"avx512_core_amx", "AMX", "amx_tile", 512},
    {"avx10_1_512_amx", "AMX", "amx_tile", 512},
    {"avx512_core_fp16", "AVX-512 with float16", "avx512_fp16", 512},
    {"avx10_1_512", "AVX10", "avx512_fp16", 512},
    {"avx10_2", "AVX10", "avx512_fp16", 512},
    {"avx512_core_bf16", "AVX-512 with Intel DL Boost and bfloat16", "avx512_bf16", 512},
    {"avx512_core_vnni", "AVX-512 with Intel DL Boost", "avx512_vnni", 512},
    {"avx512_core", "AVX-512", "avx512bw", 512},
    {"avx512", "AVX-512", "avx512f", 512},
    {"avx2_vnni_2", "AVX2 with Intel DL Boost, float16", "avx_ne_convert", 256},
    {"avx2_vnni", "AVX2 with Intel DL Boost", "avx_vnni", 256},
    {"avx2", "AVX2", "avx2", 256},
    {"avx", "AVX", "avx", 256},
    {"sse41", "SSE4.1", "sse4_1", 128},
}};

/// The highest one that a text names by `member`; null if there is none.
[[nodiscard]] inline const instruction_set* find_set(std::string_view text,
                                                     std::string_view instruction_set::* member) {
  const auto found = std::ranges::find_if(instruction_sets, [&](const instruction_set& one) {
    return text.find(one.*member) != std::string_view::npos;
  });
  return found == instruction_sets.end() ? nullptr : &*found;
}

/// Whether a call is bound by arithmetic, as a rule.
[[nodiscard]] inline bool is_product(const result::verbose_primitive& of) {
  const std::set<std::string_view> kinds{"convolution", "deconvolution", "matmul", "inner_product",
                                         "rnn"};
  return kinds.contains(of.kind);
}

/// Times of the same calls here, by work, then by cache state: medians of rounds.
class measured_calls {
 public:
  measured_calls(const result::verbose_log& log, const result::logged_layers& calls,
                 std::span<const result::results> files) {
    std::set<std::string> wanted;
    for (const result::logged_layer& one : calls.layers) {
      if (one.op) wanted.insert(key(one.op->name(), one.op->key()));
    }
    for (const result::results& file : files) {
      for (const result::measurement& row : file.rows) {
        const result::case_name& of = row.name.model_case;
        std::string work = key(row.name.op, row.label.key);
        if (!row.error.empty() || row.name.pass != "fwd" ||
            (calls.has_types && of.dtype != calls.type) || !wanted.contains(work)) {
          continue;
        }
        const std::string threads = of.parameter("threads", value_of(file, "threads"));
        if (differs("threads", threads, log.threads > 0 ? std::to_string(log.threads) : "")) {
          continue;
        }
        rounds_[std::move(work)][row.name.cache].push_back(result::estimated_seconds(row));
        compare(log, calls, file, of);
      }
    }
    if (!files.empty() && rounds_.empty() && notes_.empty()) {
      notes_.insert("no row of the results matches a call of the log" +
                    (calls.has_types ? " in " + calls.type : ""));
    }
  }

  [[nodiscard]] std::map<std::string, double, std::less<>> of(const op::any& op) const {
    std::map<std::string, double, std::less<>> seconds;
    const auto found = rounds_.find(key(op.name(), op.key()));
    if (found == rounds_.end()) return seconds;
    for (const auto& [cache, all] : found->second) seconds[cache] = stats::median(all);
    return seconds;
  }

  /// How the conditions of the results differ from those of the log.
  [[nodiscard]] const std::set<std::string>& notes() const { return notes_; }

 private:
  [[nodiscard]] static std::string key(std::string_view op, std::string_view sizes) {
    return fmt::format("{}/{}", op, sizes);
  }

  [[nodiscard]] static std::string value_of(const result::results& file, std::string_view field) {
    return file.context_value(field).value_or("");
  }

  /// Whether a condition is known to differ, which becomes a note.
  bool differs(std::string_view field, std::string_view measured, std::string_view logged) {
    if (measured.empty() || logged.empty() || measured == logged) return false;
    notes_.insert(fmt::format("{}: '{}' in the log, '{}' in results{}", field, logged, measured,
                              field == "threads" ? ", whose times are not taken" : ""));
    return true;
  }

  void compare(const result::verbose_log& log, const result::logged_layers& calls,
               const result::results& file, const result::case_name& of) {
    const std::string conditions = fmt::format(
        "{}/{}{}", of.backend, of.dtype, result::detail::parameter_text(of.parameters, "threads"));
    if (conditions_.empty()) conditions_ = conditions;
    if (conditions != conditions_) {
      throw bad_input(file.file, "/benchmarks",
                      fmt::format("has times of calls of the log as {}, but there are others as {}",
                                  conditions, conditions_));
    }
    differs("layout", of.parameter("layout", "nhwc"), calls.layout == "any" ? "" : calls.layout);
    if (log.library != "oneDNN") return;
    differs("backend", of.backend, "onednn");
    differs("version", value_of(file, "onednn_version"), log.version);
    const instruction_set* measured =
        find_set(value_of(file, "onednn_isa"), &instruction_set::kernel);
    const instruction_set* logged = find_set(log.isa, &instruction_set::words);
    if (measured != nullptr && logged != nullptr && measured->flag != logged->flag) {
      differs("isa", measured->kernel, logged->kernel);
    }
  }

  std::map<std::string, std::map<std::string, std::vector<double>>> rounds_;
  std::string conditions_;  ///< of all times
  std::set<std::string> notes_;
};

/// Sizes of a product that should be multiples of the vector length, and whether they are.
struct channel_sizes {
  double used = 1;  ///< share of the padded work that is needed
  std::string text = {};
};

[[nodiscard]] inline channel_sizes channels_of(const result::verbose_primitive& of, int bits) {
  const std::int64_t lanes = bits / 32;
  std::vector<std::int64_t> sizes;
  if (of.kind == "matmul") {
    const auto all = result::extents_of(of.problem);
    if (!all || all->size() < 2) return {};
    sizes = {(*all)[1].back(), (*all)[0].back()};
  } else {
    const result::problem_sizes named(of.problem);
    const std::int64_t groups = std::max<std::int64_t>(1, named.of("g"));
    const std::int64_t in = named.of("ic", 0);
    if (groups > 1 && groups == in) {
      sizes = {in};  // vectors go over the groups
    } else {
      sizes = {in / groups, named.of("oc", 0) / groups};
    }
  }
  channel_sizes result;
  constexpr std::int64_t image_channels = 4;  // for which libraries have own kernels
  for (const std::int64_t size : sizes) {
    if (size <= image_channels || size % lanes == 0) continue;
    const std::int64_t fitting = rounded_up(size, lanes);
    result.used *= static_cast<double>(size) / static_cast<double>(fitting);
    const std::string text = fmt::format("{} (fits: {})", size, fitting);
    if (result.text.find(text) == std::string::npos) {
      result.text += (result.text.empty() ? "" : ", ") + text;
    }
  }
  return result;
}

/// Adds up what each cause would gain.
class explainer {
 public:
  explainer(const result::verbose_log& log, const result::verbose_step& step,
            const result::logged_layers& calls, const log_machine& machine,
            std::span<const result::results> files)
      : log_(log),
        step_(step),
        layers_(calls.layers),
        machine_(machine),
        measured_(log, calls, files),
        of_log_(find_set(log.isa, &instruction_set::words)),
        of_machine_(find_set(machine.isa, &instruction_set::kernel)),
        result_{&log, step.place.steps, step.seconds} {}

  [[nodiscard]] explanation take() {
    add_calls();
    find_rate();
    for (std::size_t i = 0; i < result_.calls.size(); ++i) judge(i);
    add_threads();
    add_gaps();
    add_notes();
    for (auto& [cause, of] : gains_) {
      finish(of);
      if (of.seconds > 0) result_.gains.push_back(std::move(of));
    }
    std::ranges::stable_sort(result_.gains, std::ranges::greater{}, &gain::seconds);
    return std::move(result_);
  }

 private:
  void add_calls() {
    for (std::size_t i = 0; i < log_.records.size(); ++i) {
      if (i < step_.place.first) result_.warm_up += log_.records[i].seconds;
      if (i >= end()) result_.tail += log_.records[i].seconds;
    }
    for (std::size_t i = 0; i < step_.calls.size(); ++i) {
      const result::verbose_call& call = step_.calls[i];
      result_.calls.push_back({layers_[i].name, &log_.primitives[call.primitive], call.seconds});
      result_.usual += call.seconds;
      if (layers_[i].op) result_.calls.back().by_cache = measured_.of(*layers_[i].op);
    }
  }

  /// The best FLOP/s of the step, to estimate calls of reference code.
  void find_rate() {
    for (std::size_t i = 0; i < step_.calls.size(); ++i) {
      const explained_call& call = result_.calls[i];
      if (call.primitive->is_reference() || call.seconds <= 0) continue;
      rate_ = std::max(rate_, flops(i) / call.seconds);
    }
  }

  [[nodiscard]] double flops(std::size_t i) const {
    if (!layers_[i].op || !is_product(*result_.calls[i].primitive)) return 0;
    return static_cast<double>(layers_[i].op->work(op::pass::fwd).flops);
  }

  /// Finds the cause of a call's time.
  void judge(std::size_t i) {
    explained_call& call = result_.calls[i];
    const result::verbose_primitive& of = *call.primitive;
    const std::string name = fmt::format("{} {}", call.layer, of.implementation);
    const auto model =
        call.by_cache.contains("model") ? call.by_cache.find("model") : call.by_cache.find("hot");
    const bool measured = model != call.by_cache.end();
    // What a layer takes here includes the reorders that it makes itself, a cause of their own.
    const double saved = measured ? std::max(0.0, call.seconds - model->second) : 0;
    if (of.kind == "reorder") {
      const auto reader = layers_[i].reorders_for;
      const std::string which =
          reader ? fmt::format("{} of {}", role(layers_[i].reordered), result_.calls[*reader].layer)
                 : call.layer;
      return add(call, slowdown::reorders, call.seconds, false,
                 of.is_reference() ? which + " by " + of.implementation : which);
    }
    if (of.is_reference()) {
      const double estimate = std::max(0.0, call.seconds - (rate_ > 0 ? flops(i) / rate_ : 0));
      std::string text = name;
      constexpr std::size_t most = 3;  // the first ones are the fastest that were tried
      const auto reasons = std::span(of.refusals).first(std::min(most, of.refusals.size()));
      if (!reasons.empty()) {
        text += fmt::format(" (the library: {})", fmt::join(reasons, "; "));
      }
      return add(call, slowdown::reference, std::max(saved, estimate), saved < estimate, text);
    }
    const bool has_vectors = of.engine == "cpu";
    const double lacks = has_vectors ? missing_vectors(of) : 0;
    if (lacks > 0 && (!measured || saved > 0)) {
      return add(call, slowdown::instructions, measured ? saved : call.seconds * lacks, !measured,
                 name);
    }
    const channel_sizes odd = has_vectors && is_product(of)
                                  ? channels_of(of, of_log_ == nullptr ? 256 : of_log_->bits)
                                  : channel_sizes{};
    const double padding = call.seconds * (1 - odd.used);
    if (padding > saved) {
      return add(call, slowdown::channels, padding, true,
                 fmt::format("{} {}", call.layer, odd.text));
    }
    if (!measured) return;
    const auto hot = call.by_cache.find("hot");
    const bool knows_hot = hot != call.by_cache.end() && hot != model;
    const double cold =
        knows_hot ? std::max(0.0, std::min(call.seconds, model->second) - hot->second) : 0;
    const slowdown cause = saved >= cold ? slowdown::slower : slowdown::caches;
    add(call, cause, std::max(saved, cold), false, call.layer);
  }

  [[nodiscard]] static std::string_view role(std::string_view tensor) {
    return tensor == "wei" ? "weights" : tensor == "src" ? "source" : "result";
  }

  /// Share of a call's time that wider vectors would save at most.
  [[nodiscard]] double missing_vectors(const result::verbose_primitive& of) const {
    if (!is_product(of)) return 0;
    const instruction_set* kernel = find_set(of.implementation, &instruction_set::kernel);
    const instruction_set* used = kernel != nullptr ? kernel : of_log_;
    const instruction_set* best = of_machine_ != nullptr ? of_machine_ : of_log_;
    if (used == nullptr || best == nullptr) return 0;
    if (used->bits < best->bits) {
      return 1 - static_cast<double>(used->bits) / static_cast<double>(best->bits);
    }
    // Below f32, newer instructions compute several products at once.
    const bool is_narrow = of.tensor("src").type != "f32";
    const bool is_older = of_log_ != nullptr && of_machine_ != nullptr && of_machine_ < of_log_ &&
                          of_machine_->flag != of_log_->flag;
    return is_narrow && is_older ? 0.5 : 0;
  }

  void add(explained_call& call, slowdown cause, double seconds, bool at_most,
           const std::string& text) {
    if (seconds <= 0) return;
    call.cause = cause;
    call.gain = seconds;
    gain& to = of(cause);
    to.seconds += seconds;
    to.at_most |= at_most;
    ++to.calls;
    where_[cause][text] += seconds;
  }

  [[nodiscard]] gain& of(slowdown cause) {
    return gains_.try_emplace(cause, gain{cause}).first->second;
  }

  void add_threads() {
    if (machine_.processors <= 0 || log_.threads <= machine_.processors) return;
    gain& to = of(slowdown::oversubscribed);
    to.calls = result_.calls.size();
    to.at_most = true;
    to.seconds = result_.remainder() *
                 (1 - static_cast<double>(machine_.processors) / static_cast<double>(log_.threads));
    to.text = fmt::format("{} threads on {} processors", log_.threads, machine_.processors);
  }

  /// The end of the steps, among the calls.
  [[nodiscard]] std::size_t end() const {
    return step_.place.first + step_.place.period * step_.place.steps;
  }

  /// Seconds between a call and the one before it, without creation; 0 without timestamps.
  [[nodiscard]] double seconds_before(std::size_t call) const {
    const result::verbose_record& before = log_.records[call - 1];
    const result::verbose_record& after = log_.records[call];
    if (!before.at_seconds || !after.at_seconds) return 0;
    return *after.at_seconds - *before.at_seconds - before.seconds - after.creation;
  }

  /// Adds the medians of what is between the calls. All time around a primitive that is created
  /// anew is its creation: the library does not count how it looks for an implementation.
  void add_gaps() {
    double creation = 0;
    double beside_creation = 0;
    double between = 0;
    std::size_t created = 0;
    std::size_t all_anew = 0;
    for (std::size_t i = 0; i < step_.place.period; ++i) {
      std::vector<double> seconds;
      std::vector<double> of_creation;
      std::size_t anew = 0;
      for (std::size_t call = step_.place.first + i; call < end(); call += step_.place.period) {
        if (call == 0) continue;
        seconds.push_back(std::max(0.0, seconds_before(call)));
        of_creation.push_back(log_.records[call].creation);
        created += log_.records[call].created;
        anew += log_.records[call].anew;
      }
      if (seconds.empty()) continue;
      (2 * anew >= seconds.size() && anew > 0 ? beside_creation : between) +=
          stats::median(std::move(seconds));
      creation += stats::median(std::move(of_creation));
      all_anew += anew;
    }
    if (std::ranges::any_of(log_.records, [](const auto& call) { return call.created > 0; })) {
      result_.creation = creation;
    }
    if (knows_between()) result_.between = between;
    if (!result_.between) beside_creation = 0;
    add_creation(created, all_anew, beside_creation);
    if (!result_.between) return;
    gain& to = of(slowdown::between);
    to.seconds = between;
    to.at_most = true;
    to.calls = result_.calls.size();
    to.text = "the application or its framework";
    if (log_.library == "oneDNN") to.text += ", such as ops that do not call oneDNN";
  }

  void add_creation(std::size_t created, std::size_t anew, double beside_creation) {
    const double seconds = result_.creation.value_or(0);
    if (seconds <= 0) return;
    gain& to = of(slowdown::creation);
    to.seconds = seconds + beside_creation;
    to.calls = created / step_.place.steps;
    to.text = fmt::format("primitives are created in each step, {} of them anew",
                          anew / step_.place.steps);
    if (beside_creation > 0) {
      to.text += fmt::format("; the library counts {} ms, the rest is time around it",
                             format::milliseconds(seconds));
    }
    const bool is_first = step_.place.first == 0;
    if (is_first) to.text += "; the first step, which must create them, is among the steps";
    to.at_most = is_first || beside_creation > 0;
  }

  /// Whether timestamps say what is between the calls of one thread.
  bool knows_between() {
    std::size_t overlaps = 0;
    constexpr double clock_step = 1e-4;  // of timestamps, and of times
    for (std::size_t i = step_.place.first; i < end(); ++i) {
      if (!log_.records[i].at_seconds) return false;
      if (i > step_.place.first && seconds_before(i) < -clock_step) ++overlaps;
    }
    if (overlaps * 100 <= step_.place.period * step_.place.steps) return true;
    result_.notes.push_back(
        fmt::format("{} calls began before the one before them ended: several threads, processes "
                    "or streams run calls at once, so the time between calls is not known",
                    overlaps));
    return false;
  }

  void add_notes() {
    std::ranges::copy(measured_.notes(), std::back_inserter(result_.notes));
    std::ranges::copy(log_.notes, std::back_inserter(result_.notes));
    if (log_.damaged > 0) {
      result_.notes.push_back(
          fmt::format("{} cut or mixed lines or events are left out", log_.damaged));
    }
    if (log_.processes > 1) {
      result_.notes.push_back(fmt::format(
          "{} processes wrote the log; their calls cannot be told apart", log_.processes));
    }
    constexpr double much = 0.2;  // of the usual step
    if (result_.seconds > result_.usual * (1 + much)) {
      result_.notes.emplace_back(
          "calls took much longer in some steps than in most; other programs may run beside them");
    }
    if (step_.place.steps == 1) {
      result_.notes.emplace_back(
          "no step repeats: the whole log counts as one step, warm-up included");
    }
  }

  /// Lists the layers of a cause, the largest first.
  void finish(gain& to) {
    const auto& all = where_[to.cause];
    if (all.empty()) return;
    std::vector<std::pair<double, std::string>> sorted;
    for (const auto& [text, seconds] : all) sorted.emplace_back(-seconds, text);
    std::ranges::sort(sorted);
    constexpr std::size_t most = 3;
    for (std::size_t i = 0; i < std::min(most, sorted.size()); ++i) {
      to.text += fmt::format("{}{} {} ms", i == 0 ? "" : "; ", sorted[i].second,
                             format::milliseconds(-sorted[i].first));
    }
    if (sorted.size() > most) to.text += fmt::format("; and {} more", sorted.size() - most);
    if (to.cause != slowdown::instructions) return;
    if (!log_.isa.empty()) to.text += fmt::format("; the log's library may use '{}'", log_.isa);
    if (!machine_.isa.empty()) to.text += "; the machine has " + machine_.isa;
  }

  const result::verbose_log& log_;
  const result::verbose_step& step_;
  const std::vector<result::logged_layer>& layers_;
  const log_machine& machine_;
  measured_calls measured_;
  const instruction_set* of_log_;
  const instruction_set* of_machine_;
  double rate_ = 0;
  explanation result_;
  std::map<slowdown, gain> gains_;
  std::map<slowdown, std::map<std::string, double>> where_;
};

}  // namespace detail

LAYERBENCH_INLINE double explanation::remainder() const {
  double rest = usual;
  for (const explained_call& call : calls) rest -= call.gain;
  for (const gain& one : gains) {
    if (one.cause == slowdown::oversubscribed) rest -= one.seconds;
  }
  constexpr double rounding = 1e-9;
  return rest > rounding * usual ? rest : 0;
}

LAYERBENCH_INLINE explanation explain(const result::verbose_log& log,
                                      const result::verbose_step& step,
                                      const result::logged_layers& calls,
                                      const log_machine& machine,
                                      std::span<const result::results> files) {
  return detail::explainer(log, step, calls, machine, files).take();
}

LAYERBENCH_INLINE std::string instruction_set_of(std::string_view flags) {
  for (const detail::instruction_set& one : detail::instruction_sets) {
    for (const std::string_view flag : split(flags, ' ')) {
      if (flag == one.flag) return std::string(one.kernel);
    }
  }
  return {};
}

LAYERBENCH_INLINE bool knows_instruction_set(std::string_view name) {
  return std::ranges::find(detail::instruction_sets, name, &detail::instruction_set::kernel) !=
         detail::instruction_sets.end();
}

}  // namespace layerbench::analysis
