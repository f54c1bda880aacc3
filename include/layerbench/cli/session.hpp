// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdio>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <layerbench/cli/console.hpp>
#include <layerbench/cli/reporter.hpp>
#include <layerbench/machine/watch.hpp>
#include <layerbench/result/google_json.hpp>
#include <layerbench/session/options.hpp>
#include <layerbench/session/result_file.hpp>
#include <layerbench/session/runner.hpp>
#include <layerbench/session/suite.hpp>

namespace layerbench::run::detail {

inline void note(const std::string& text) { fmt::print(stderr, "layerbench: {}\n", text); }

/// The file to resume; throws bad_input when it was not measured under the same conditions as what
/// would follow.
[[nodiscard]] inline result::results resumed(const std::string& file, const result::results& now) {
  result::results before = result::read(file);
  result::results comparable = now;
  // Google Benchmark adds these itself when it writes; the caches are among ours too.
  comparable.context["host_name"] = benchmark::SystemInfo::Get().name;
  comparable.context["num_cpus"] = std::to_string(benchmark::CPUInfo::Get().num_cpus);
  comparable.context["caches"] = before.context["caches"];
  const std::vector<std::string> differing = result::differing_context(before, comparable);
  if (!differing.empty()) {
    throw bad_input(file, "/context",
                    fmt::format("measured under other conditions, cannot be resumed; differing: {}",
                                fmt::join(differing, " ")));
  }
  // What failed may work now; it is tried again.
  const auto failed = [](const result::measurement& row) { return !row.error.empty(); };
  std::erase_if(before.rows, failed);
  std::erase_if(before.chains, failed);
  return before;
}

/// The measuring part of a program: everything after the cases are known.
class session {
 public:
  /// Throws bad_input when the file to resume is of another machine, setting or shape.
  session(const options& o, const suite& all, const machine_watch& watch, bool whole_models,
          std::vector<benchmark_case*> selected, result::results results)
      : o_(o),
        all_(all),
        watch_(watch),
        whole_models_(whole_models),
        selected_(std::move(selected)),
        results_(std::move(results)) {
    results_.manifest = all.manifest;
    if (!o.resume.empty()) {
      result::results before = resumed(o.resume, results_);
      results_.rows = std::move(before.rows);
      results_.chains = std::move(before.chains);
      refuse_other_shapes();
      results_.manifest.merge(before.manifest);  // rows of other models still need theirs
    }
    if (!o.out.empty()) file_.emplace(o.out, o.resume);
  }

  /// Measures, writes and prints. Returns whether it was interrupted.
  bool run() {
    if (file_ && file_->keeps_old()) {
      note(fmt::format("{} is there already: it is replaced at the end; until then rows go to {}",
                       file_->path(), file_->partial_path()));
    }
    scheduler measure(selected_, chains(), plan());
    const auto take_stock = [&] {
      in_order(results_);
      slow_share_ = measure.slow_share();
      core_latency_ = std::max(core_latency_, measure.core_latency());
    };
    const bool interrupted = measure.run(results_, [&] {
      take_stock();
      save_so_far();
    });
    take_stock();
    for (const auto& [configuration, ending] : measure.endings()) {
      results_.context["stopped"] += fmt::format("{}: {}; ", configuration.text(), ending);
    }
    try {
      if (file_ && interrupted) {
        file_->interrupt(file_text(true));
      } else if (file_) {
        file_->finish(file_text(false));
      }
    } catch (const error&) {
      print_rows(interrupted);  // they are nowhere else
      throw;
    }
    print_rows(interrupted);
    return interrupted;
  }

  /// Where an interrupted run's rows are, and how to go on.
  [[nodiscard]] std::string interruption() const {
    if (!file_) return "interrupted";
    std::string text = "interrupted";
    if (file_->keeps_old()) {
      text += fmt::format("; {} is as it was, the new rows are in {}", file_->path(),
                          file_->partial_path());
    }
    if (o_.out_format != "json" || o_.file_aggregates_only) return text;
    if (!file_->keeps_old()) return text + "; go on with --resume=" + file_->path();
    return text + fmt::format("; go on with --resume={} --benchmark_out={}", file_->partial_path(),
                              file_->path());
  }

  /// Drops from the manifest what this run is not to predict: cases that it was not asked for, that
  /// were refused as a whole, and those of which the filter left out rows that nobody measured.
  /// Says in words which the latter are; empty: none.
  std::string keep_predictable() {
    std::set<result::row_name> there;
    std::map<result::configuration_name, std::size_t> left_out;
    for (const benchmark_case* element : selected_) {
      there.insert(element->name());
      left_out[element->name().configuration] = 0;
    }
    for (const result::measurement& row : results_.rows) there.insert(row.name);
    for (const result::measurement& chain : results_.chains) {
      const auto owns = [&](const auto& row) {
        return row.name.configuration == chain.name.configuration;
      };
      if (std::ranges::none_of(results_.rows, owns)) left_out.erase(chain.name.configuration);
    }
    for (const auto& item : all_.cases) {
      const auto found = left_out.find(item->name().configuration);
      if (found != left_out.end() && !there.contains(item->name())) ++found->second;
    }
    std::string cut;
    const result::manifest all = results_.manifest;
    for (const auto& [configuration, step] : all) {
      const auto found = left_out.find(configuration);
      const bool selected = found != left_out.end();
      if (!selected || found->second > 0) results_.manifest.erase(configuration);
      if (!selected || found->second == 0) continue;
      cut += fmt::format("{}{} rows of {}", cut.empty() ? "" : ", ", found->second,
                         configuration.text());
    }
    return cut;
  }

  [[nodiscard]] const result::results& results() const { return results_; }

  /// Says on stderr which rows have no timing; returns their number.
  [[nodiscard]] std::size_t report_failures() const {
    std::size_t failures = 0;
    for (const result::measurement& row : all_rows()) {
      if (row.error.empty()) continue;
      note(fmt::format("{}: {}", row.name.text(), row.error));
      ++failures;
    }
    return failures;
  }

  /// Says on stderr when something else used the processors in more than a tenth of the timings.
  void report_disturbance() const {
    const std::vector<result::measurement> all = all_rows();
    const auto disturbed = std::ranges::count_if(all, &result::measurement::disturbed);
    const double much = result::much_disturbed * static_cast<double>(all.size());
    if (static_cast<double>(disturbed) <= much) return;
    note(
        fmt::format("{} of {} timings were disturbed: something else used the processors; measure "
                    "again when the machine is idle (--check-machine)",
                    disturbed, all.size()));
  }

 private:
  /// A disk that is full now need not be at the end.
  void save_so_far() {
    if (!file_) return;
    try {
      file_->save(file_text(true));
    } catch (const error& e) {
      if (!std::exchange(unsaved_, true)) note(std::string(e.what()) + "; measuring goes on");
    }
  }

  [[nodiscard]] run_configuration plan() const {
    run_configuration result{.how = {.seed = o_.seed, .verify_every_output = o_.verify},
                             .rounds = o_.repetitions,
                             .least_time = std::stod(o_.min_time),
                             .precision = std::stod(o_.precision) / 100,
                             .most_time = std::stod(o_.most_time),
                             .whole_models = whole_models_};
    if (!o_.budget.empty()) result.budget = std::stod(o_.budget);
    return result;
  }

  /// The chains of the cases of which a row was selected.
  [[nodiscard]] std::vector<chain_plan> chains() const {
    std::vector<chain_plan> wanted;
    if (o_.chain.empty()) return wanted;
    for (const chain_plan& chain : all_.chains) {
      const auto owned = [&](const benchmark_case* row) {
        return row->name().configuration == chain.configuration;
      };
      if (std::ranges::none_of(selected_, owned)) continue;
      wanted.push_back(chain);
      if (o_.chain != "layers") wanted.back().primitives.clear();
    }
    return wanted;
  }

  /// Rounds visit rows in random order; people and files get them in that of the model.
  void in_order(result::results& results) const {
    std::map<result::row_name, std::size_t> place;
    for (const benchmark_case* item : selected_) place.emplace(item->name(), place.size());
    const auto key = [&](const result::measurement& row) {
      const auto found = place.find(row.name);
      return std::pair(found == place.end() ? place.size() : found->second, row.round);
    };
    std::ranges::stable_sort(results.rows, {}, key);
  }

  /// A model file may have changed since: its rows keep their names, but not their work, nor the
  /// state in which it finds its operands.
  void refuse_other_shapes() const {
    std::map<result::row_name, result::label> known;
    for (const benchmark_case* item : selected_) {
      known[item->name()] = {item->what().op.key(), {}, item->what().signature};
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
    fields["manifest"] = result::write_manifest(results_.manifest);
    return fields;
  }

  [[nodiscard]] std::string file_text(bool partial) const {
    const row_choice rows =
        o_.file_aggregates_only ? row_choice::aggregates : row_choice::rounds_and_aggregates;
    return render(to_runs(all_rows(), rows), {o_.out_format}, context(partial));
  }

  void print_rows(bool partial) const {
    const bool aggregates = o_.file_aggregates_only || o_.aggregates_only.value_or(false);
    if (o_.format == "console" && !aggregates && !o_.aggregates_only) {
      fmt::print("{}", console_table(all_rows(), wants_color(o_)));
    } else {
      fmt::print("{}", render(to_runs(all_rows(), aggregates ? row_choice::aggregates
                                                             : row_choice::rounds_and_aggregates),
                              {o_.format, wants_color(o_), o_.counters_tabular}, context(partial)));
    }
    std::fflush(stdout);
  }

  const options& o_;
  const suite& all_;
  const machine_watch& watch_;
  bool whole_models_;
  std::vector<benchmark_case*> selected_;
  result::results results_;
  std::optional<double> slow_share_;
  std::optional<double> core_latency_;  ///< the longest so far
  std::optional<result_file> file_;
  bool unsaved_ = false;  ///< rows could not be saved, which was said
};

}  // namespace layerbench::run::detail
