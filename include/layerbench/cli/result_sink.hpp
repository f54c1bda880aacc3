// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <layerbench/analysis/base/cases.hpp>
#include <layerbench/backend/timing_mode.hpp>
#include <layerbench/base/error.hpp>
#include <layerbench/base/output_file.hpp>
#include <layerbench/base/plain_text.hpp>
#include <layerbench/base/quiet.hpp>
#include <layerbench/base/terminal.hpp>
#include <layerbench/base/units.hpp>
#include <layerbench/cli/console.hpp>
#include <layerbench/cli/google_formats.hpp>
#include <layerbench/machine/check_result.hpp>
#include <layerbench/machine/machine_watch.hpp>
#include <layerbench/result/context_difference.hpp>
#include <layerbench/result/manifest.hpp>
#include <layerbench/result/manifest_json.hpp>
#include <layerbench/result/measurement.hpp>
#include <layerbench/result/name.hpp>
#include <layerbench/result/plan_candidates.hpp>
#include <layerbench/result/read_results.hpp>
#include <layerbench/session/benchmark_row.hpp>
#include <layerbench/session/options.hpp>
#include <layerbench/session/result_file.hpp>
#include <layerbench/session/suite.hpp>
#include <layerbench/shape/dtype.hpp>
#include <layerbench/shape/record.hpp>

namespace layerbench::run::detail {

/// Reads the file to resume. Throws bad_input if its context differs from that of the results to
/// come.
[[nodiscard]] inline result::results resumed(const std::string& file, const result::results& now) {
  result::results earlier = result::read(file);
  result::results comparable = now;
  // Google Benchmark adds these when it writes. Our own context has the caches, too.
  comparable.context["host_name"] = benchmark::SystemInfo::Get().name;
  comparable.context["num_cpus"] = std::to_string(benchmark::CPUInfo::Get().num_cpus);
  comparable.context["caches"] = earlier.context["caches"];
  const std::vector<std::string> differing = result::differing_context(earlier, comparable);
  if (!differing.empty()) {
    throw bad_input(file, "/context",
                    fmt::format("measured under other conditions, cannot be resumed; differing, "
                                "with the values then and now: {}",
                                result::both_values(earlier, comparable, differing)));
  }
  // Rows that failed are tried again.
  const auto failed = [](const result::measurement& row) { return !row.error.empty(); };
  std::erase_if(earlier.rows, failed);
  std::erase_if(earlier.chains, failed);
  return earlier;
}

/// Takes over by which counter the energies of a file to resume are. Throws bad_input if those to
/// come are by another one.
inline void resume_energies(const result::results& earlier, result::results& now) {
  for (const char* field : {"energy_counter", "energy_class", "energy_coverage"}) {
    const auto then = earlier.context_value(field);
    if (!then) continue;
    const std::string& current = now.context.emplace(field, *then).first->second;
    now.dimensions[field] = field_dimension::condition;
    if (current == *then) continue;
    throw bad_input(earlier.file, fmt::format("/context/{}", field),
                    fmt::format("its energies are by another counter ({}, now {}); measure into a "
                                "new file",
                                *then, current));
  }
}

/// Takes the results of a run: reads the file to resume, writes checkpoints and the final file,
/// prints the rows, and reports on stderr.
class result_sink {
 public:
  /// `predicts`: what the rows add up to is printed after them. Throws bad_input if the file to
  /// resume is of another machine, setting or shape.
  result_sink(const options& o, const suite& all, const machine_watch& watch,
              std::vector<benchmark_row*> selected, result::results results, bool predicts)
      : o_(o),
        predicts_(predicts),
        all_(all),
        watch_(watch),
        selected_(std::move(selected)),
        results_(std::move(results)) {
    results_.manifest = all.manifest;
    if (!o.out.empty()) {  // locked before the rows to resume are read
      file_.emplace(o.out, o.resume, o.overwrite ? overwrite_rule::any : overwrite_rule::alike,
                    sample_of(o));
    }
    if (!o.resume.empty()) {
      result::results earlier = resumed(o.resume, results_);
      refuse_other_models(earlier);
      resume_energies(earlier, results_);
      if (const auto stopped = earlier.context_value("stopped")) {
        results_.context["stopped"] = *stopped;
      }
      results_.rows = std::move(earlier.rows);
      if (all.tuner) {
        const std::string threads = std::to_string(o.default_threads);
        std::set<std::string> with_forbidden;  // cases
        std::erase_if(results_.rows, [&](const auto& row) {
          const bool forbidden = all.tuner->forbids(row, threads);
          if (forbidden) with_forbidden.insert(row.name.model_case.text());
          return forbidden;
        });
        // The chain ran with the same plans.
        std::erase_if(earlier.chains, [&](const auto& chain) {
          return with_forbidden.contains(chain.name.model_case.text());
        });
      }
      results_.chains = std::move(earlier.chains);
      refuse_other_shapes(earlier.manifest);
      results_.manifest.merge(earlier.manifest);  // rows of other models still need theirs
    }
    if (file_ && file_->keeps_old()) {
      note(fmt::format("{} is there already: it is replaced at the end; until then rows go to {}",
                       file_->path(), file_->partial_path()));
    }
  }

  /// Notes what ended the rounds of a case, in place of what ended those of an earlier
  /// run.
  void set_ending(const result::case_name& model_case, const std::string& ending) {
    std::string& all = results_.context["stopped"];
    const std::string begin = model_case.text() + ": ";
    constexpr std::string_view end = "; ";
    if (const std::size_t at = all.find(begin); at != std::string::npos) {
      all.erase(at, all.find(end, at) + end.size() - at);
    }
    all += fmt::format("{}{}{}", begin, ending, end);
  }

  /// All results; a runner adds to them.
  [[nodiscard]] result::results& results() { return results_; }
  [[nodiscard]] const result::results& results() const { return results_; }

  /// Notes how the processors have been since measuring began.
  void set_machine_state(std::optional<double> slow_share, std::optional<double> core_latency) {
    slow_share_ = slow_share;
    core_latency_ = std::max(core_latency_, core_latency);
  }

  /// Saves the results so far. If that fails it says so once: a disk that is full now need not be
  /// at the end.
  void checkpoint() {
    sort_rows();
    if (!file_) return;
    try {
      file_->save(file_text(true));
    } catch (const error& e) {
      if (!std::exchange(unsaved_, true)) {
        print_message(std::string(e.what()) + "; the run continues");
      }
    }
  }

  /// Writes the results of the whole run, or of an interrupted one, and prints them. If writing
  /// fails they are still printed; see failure().
  void finish(bool interrupted) {
    sort_rows();
    try {
      if (file_ && interrupted) {
        file_->interrupt(file_text(true));
      } else if (file_) {
        file_->finish(file_text(false));
      }
    } catch (const error& e) {
      failure_ = e.what();
    }
    if (shows_rows(interrupted)) print_rows(interrupted);
  }

  /// Why the results are not in their file; empty if they are.
  [[nodiscard]] const std::string& failure() const { return failure_; }

  /// Says where an interrupted run's rows are, and how to resume it.
  [[nodiscard]] std::string interruption() const {
    if (!failure_.empty()) return "interrupted; " + failure_;
    if (!file_) return "interrupted";
    std::string text = "interrupted";
    if (file_->keeps_old()) {
      text += fmt::format("; {} is as it was, the new rows are in {}", file_->path(),
                          file_->partial_path());
    }
    if (!file_->keeps_old()) return text + continuation();
    if (o_.out_format != "json" || o_.file_aggregates_only) return text;
    return text + fmt::format("; continue with {} --resume={} --benchmark_out={}",
                              program_invocation_name, file_->partial_path(), file_->path());
  }

  /// Says how to measure what a finished file lacks, with `more` options; empty where it cannot be
  /// resumed.
  [[nodiscard]] std::string continuation(const std::string& more = {}) const {
    const bool resumable = file_ && o_.out_format == "json" && !o_.file_aggregates_only;
    if (!resumable || !failure_.empty()) return {};
    return fmt::format("; continue with {} --resume={}{}", program_invocation_name, file_->path(),
                       more);
  }

  /// Drops from the manifest the cases that this run cannot predict: those that it was not
  /// asked for, those that were refused as a whole, and those of which the filter left out rows
  /// that no run measured. Lists the last kind in words; empty if there is none.
  std::string keep_predictable() {
    std::set<result::row_name> known;
    std::map<result::case_name, std::size_t> left_out;
    for (const benchmark_row* row : selected_) {
      known.insert(row->name());
      left_out[row->name().model_case] = 0;
    }
    for (const result::measurement& row : results_.rows) known.insert(row.name);
    for (const result::measurement& chain : results_.chains) {
      const auto belongs = [&](const auto& row) {
        return row.name.model_case == chain.name.model_case;
      };
      if (std::ranges::none_of(results_.rows, belongs)) left_out.erase(chain.name.model_case);
    }
    for (const auto& row : all_.rows) {
      const auto found = left_out.find(row->name().model_case);
      if (found != left_out.end() && !known.contains(row->name())) ++found->second;
    }
    std::string cut;
    const result::manifest all = results_.manifest;
    for (const auto& [model_case, step] : all) {
      const auto found = left_out.find(model_case);
      const bool selected = found != left_out.end();
      if (!selected || found->second > 0) results_.manifest.erase(model_case);
      if (!selected || found->second == 0) continue;
      cut +=
          fmt::format("{}{} rows of {}", cut.empty() ? "" : ", ", found->second, model_case.text());
    }
    return cut;
  }

  /// Notes what a budget was too short for, in words, and the seconds that this takes, if known.
  void set_shortfall(const std::string& text, std::optional<double> rest) {
    shortfall_ = text;
    rest_ = rest;
  }

  /// Notes why energies are missing, if they are.
  void set_energy_failure(const std::string& text) { energy_failure_ = text; }

  /// Reports on stderr the rows that failed, each reason once, and what a budget left out; returns
  /// their number.
  [[nodiscard]] std::size_t report_failures() const {
    std::map<std::string, std::vector<std::string>> failures;  // the rows of each reason
    std::vector<std::string> left_out;
    std::size_t failed = 0;
    bool lacks_integers = false;
    for (const result::measurement& row : all_rows()) {
      if (row.error.empty()) continue;
      ++failed;
      if (row.left_out()) {
        left_out.push_back(row.name.text());
        continue;
      }
      failures[row.error].push_back(row.name.text());
      const result::case_name& of = row.name.model_case;
      lacks_integers = lacks_integers || (is_integer(dtype_from(of.dtype).value_or(dtype::f32)) &&
                                          !of.parameters.contains("fusion"));
    }
    for (const auto& [reason, rows] : failures) {
      print_message(
          fmt::format("{}: {}{}", rows.front(), reason,
                      rows.size() == 1 ? "" : fmt::format(" (and {} more rows)", rows.size() - 1)));
    }
    if (lacks_integers) {
      note(
          "for a whole model in integers use --fusion=int8_default: layers that have none then "
          "compute in f32");
    }
    if (!energy_failure_.empty()) {
      ++failed;
      print_message(energy_failure_ + "; energies are missing from then on");
    }
    report_left_out(left_out);
    return failed;
  }

  /// Warns on stderr if other programs disturbed more than a tenth of the timings, and says if more
  /// than a tenth were taken at a GPU's power cap.
  void report_disturbance() const {
    const std::vector<result::measurement> all = all_rows();
    const auto capped = std::ranges::count_if(all, &result::measurement::power_capped);
    const auto disturbed = std::ranges::count_if(all, &result::measurement::disturbed);
    const double tolerated = result::much_disturbed * static_cast<double>(all.size());
    if (static_cast<double>(capped) > tolerated) {
      note(fmt::format(
          "{} of {} timings were taken at the power cap: the GPU's power limit held its "
          "clocks back, as it does in long runs; compare them with timings at the same "
          "limit",
          capped, all.size()));
    }
    if (static_cast<double>(disturbed) <= tolerated) return;
    const std::string who = watch_.disturbers(slow_share_);
    note(
        fmt::format("{} of {} timings were disturbed{}; measure again when the machine is idle "
                    "(--check-machine)",
                    disturbed, all.size(), who.empty() ? "" : " by " + who));
  }

 private:
  /// Text of the kind that the result file will have.
  [[nodiscard]] static std::string_view sample_of(const options& o) {
    if (o.out_format == "json") return "{\"context\": {}}";
    return o.out_format == "csv" ? "name,iterations," : "Benchmark";
  }

  /// Sorts the rows, which rounds measure in random order, into the order of the model.
  void sort_rows() {
    std::map<result::row_name, std::size_t> place;
    for (const benchmark_row* row : selected_) place.emplace(row->name(), place.size());
    const auto key = [&](const result::measurement& row) {
      const auto found = place.find(row.name);
      return std::pair(found == place.end() ? place.size() : found->second, row.round);
    };
    std::ranges::stable_sort(results_.rows, {}, key);
  }

  /// Refuses a file that has none of this run's models: it was hardly meant.
  void refuse_other_models(const result::results& earlier) const {
    std::set<std::string> there;
    for (const auto& [model_case, step] : earlier.manifest) there.insert(model_case.model);
    for (const result::measurement& row : earlier.rows) there.insert(row.name.model_case.model);
    const auto known = [&](const benchmark_row* row) {
      return there.contains(row->name().model_case.model);
    };
    if (there.empty() || selected_.empty() || std::ranges::any_of(selected_, known)) return;
    throw bad_input(o_.resume, "/benchmarks",
                    fmt::format("has the models {}, none of which this run measures; measure into "
                                "another file: predict, compare and report read several",
                                fmt::join(there, " ")));
  }

  /// Refuses rows to resume whose model file has changed since: they have the same names, but other
  /// work or another cache state.
  void refuse_other_shapes(const result::manifest& earlier) const {
    std::map<result::row_name, result::label> known;
    for (const benchmark_row* row : selected_) {
      known[row->name()] = {row->spec().op.key(), {}, row->spec().signature};
    }
    const auto refuse = [&](std::string_view what, std::string result::label::* part) {
      for (const result::measurement& row : results_.rows) {
        const auto now = known.find(row.name);
        if (now == known.end() || now->second.*part == row.label.*part) continue;
        throw bad_input(o_.resume, "/benchmarks",
                        fmt::format("{} was another {} then ({}, now {}); measure into a new file",
                                    row.name.text(), what, row.label.*part, now->second.*part));
      }
    };
    refuse("shape", &result::label::key);
    refuse("cache state", &result::label::state);
    refuse_other_steps(earlier);
  }

  /// Refuses chains whose step was another one: the names of fused rows change with their plan.
  void refuse_other_steps(const result::manifest& earlier) const {
    const auto works = [](const std::vector<result::planned>& step) {
      std::multiset<std::string> all;
      for (const result::planned& one : step) all.insert(one.work());
      return all;
    };
    for (const auto& [model_case, step] : results_.manifest) {
      for (const auto& [known, old_step] : earlier) {
        if (known != model_case || works(old_step) == works(step)) continue;
        throw bad_input(o_.resume, "/context/manifest",
                        fmt::format("the step of {} was another one then; measure into a new file",
                                    model_case.text()));
      }
    }
  }

  [[nodiscard]] std::vector<result::measurement> all_rows() const {
    std::vector<result::measurement> all = results_.rows;
    all.insert(all.end(), results_.chains.begin(), results_.chains.end());
    return all;
  }

  [[nodiscard]] context_fields context(bool partial) const {
    context_fields fields = results_.context;
    fields["machine_check"] = machine::summary(watch_.check_results(slow_share_, core_latency_));
    fields["interrupted"] = partial ? "1" : "0";
    fields["field_dimensions"] = result::write_dimensions(results_.dimensions);
    fields["manifest"] = result::write_manifest(results_.manifest);
    if (all_.tuner && !all_.tuner->candidates().empty()) {
      fields["candidates"] = result::write_candidates(all_.tuner->candidates());
    }
    return fields;
  }

  [[nodiscard]] std::string file_text(bool partial) const {
    const row_choice rows =
        o_.file_aggregates_only ? row_choice::aggregates : row_choice::rounds_and_aggregates;
    return render(to_runs(all_rows(), rows, o_.time_unit), {o_.out_format}, context(partial));
  }

  /// Whether a complete or `partial` run prints its rows. A program of whole models leaves them to
  /// the result file and prints what they add up to, unless the user asks for them.
  [[nodiscard]] bool shows_rows(bool partial) const {
    const bool asked = o_.wide || !o_.filter.empty() || o_.format != "console" ||
                       o_.aggregates_only.has_value() || o_.file_aggregates_only;
    return asked || partial || o_.dry_run || !predicts_ || !file_;
  }

  /// Names the rows that a budget left out.
  void report_left_out(const std::vector<std::string>& rows) const {
    constexpr std::size_t most_named = 10;  // the table and the file have all
    for (std::size_t i = 0; i < std::min(most_named, rows.size()); ++i) {
      print_message("left out: " + rows[i]);
    }
    if (rows.size() > most_named) {
      print_message(fmt::format("left out: {} more", rows.size() - most_named));
    }
    if (shortfall_.empty()) return;
    if (!rest_) return print_message(shortfall_ + continuation());
    const double enough = 10 * std::ceil(1.5 * *rest_ / 10);  // the estimate is rough
    print_message(fmt::format("{}; the rest takes about {}{}", shortfall_, units::duration(*rest_),
                              continuation(fmt::format(" --budget={}", enough))));
  }

  /// A failure is reported when the program ends.
  static void print(const std::string& text) {
    static_cast<void>(std::fwrite(text.data(), 1, text.size(), stdout));
  }

  void print_rows(bool partial) const {
    const bool aggregates = o_.file_aggregates_only || o_.aggregates_only.value_or(false);
    if (o_.format == "console" && !aggregates && !o_.aggregates_only) {
      print(console_table(all_rows(), wants_color(o_), o_.wide, has_events(),
                          {.unit = o_.time_unit,
                           .percentiles = o_.percentiles,
                           .columns = terminal_columns(),
                           .threads = common_threads()}));
    } else {
      const row_choice rows =
          aggregates ? row_choice::aggregates : row_choice::rounds_and_aggregates;
      print(render(to_runs(all_rows(), rows, o_.time_unit),
                   {o_.format, wants_color(o_), o_.counters_tabular}, context(partial)));
    }
    std::fflush(stdout);
  }

  /// The number of threads of all rows; 0 if they differ.
  [[nodiscard]] std::int64_t common_threads() const {
    std::set<std::int64_t> all;
    for (const benchmark_row* row : selected_) {
      all.insert(analysis::detail::threads(row->name().model_case, {&results_}));
    }
    return all.size() == 1 ? *all.begin() : 0;
  }

  [[nodiscard]] bool has_events() const {
    return results_.context.contains("gpu") && o_.timing != name(timing_mode::single);
  }

  const options& o_;
  bool predicts_;
  const suite& all_;
  const machine_watch& watch_;
  std::vector<benchmark_row*> selected_;
  result::results results_;
  std::optional<double> slow_share_;
  std::optional<double> core_latency_;  ///< the longest so far
  std::optional<result_file> file_;
  std::string energy_failure_;
  std::string shortfall_;  ///< this and the next: see set_shortfall()
  std::optional<double> rest_;
  bool unsaved_ = false;  ///< a checkpoint failed, and the user was told
  std::string failure_;
};

}  // namespace layerbench::run::detail
