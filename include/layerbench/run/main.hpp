// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include <unistd.h>

#include <fmt/format.h>

#include <layerbench/base/output_file.hpp>
#include <layerbench/base/units.hpp>
#include <layerbench/result/google_json.hpp>
#include <layerbench/run/cases.hpp>
#include <layerbench/run/context.hpp>
#include <layerbench/run/options.hpp>
#include <layerbench/run/reporter.hpp>
#include <layerbench/run/scheduler.hpp>
#include <layerbench/run/select.hpp>

namespace layerbench::run {

/// What a program does with its results after the rows: called with the results and whether the
/// rows went to stdout in a machine's format.
using epilogue = std::function<void(const result::results&, bool machine_format)>;

namespace detail {

inline void note(const std::string& text) { fmt::print(stderr, "layerbench: {}\n", text); }

[[nodiscard]] inline bool wants_color(const options& o) {
  if (o.color != "auto") return o.color == "true" || o.color == "yes" || o.color == "1";
  const char* off = std::getenv("NO_COLOR");
  const char* terminal = std::getenv("TERM");
  return ::isatty(STDOUT_FILENO) == 1 && (off == nullptr || *off == '\0') &&
         (terminal == nullptr || std::string_view(terminal) != "dumb");
}

inline void print_list(const std::vector<fixture*>& selected) {
  fmt::print("{:>5}  {:>12}  {:>10}  name\n", "count", "FLOPs", "bytes");
  for (const fixture* each : selected) {
    const row& what = each->what();
    const plan_request& request = what.around.request;
    const auto flops = static_cast<double>(what.op.work(request.pass).flops);
    const auto bytes =
        static_cast<double>(op::least_bytes(what.op.operands(request.pass, request.type)));
    fmt::print("{:>5}  {:>12}  {:>10}  {}\n", what.count, units::si(flops, "FLOP"),
               units::si(bytes, "B"), each->name().text());
  }
}

template <class Backends>
void print_backends(Backends built) {
  for (const auto& [name, reason] : probe_all(built)) {
    fmt::print("{:<10} {}\n", name, reason ? "no: " + *reason : "available");
  }
}

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
  std::erase_if(before.rows, [](const result::measurement& row) { return !row.error.empty(); });
  return before;
}

inline void add_user_context(const options& o, result::results& results) {
  static const std::set<std::string, std::less<>> reserved{
      "caches",   "cpu_scaling_enabled", "date",     "executable",  "host_name",
      "load_avg", "library_build_type",  "manifest", "mhz_per_cpu", "num_cpus"};
  for (const std::string& pair : o.user_context) {
    const std::size_t equals = pair.find('=');
    if (equals == std::string::npos || equals == 0) {
      throw usage_error("--benchmark_context: expected key=value, found " + pair);
    }
    const std::string name = printable(pair.substr(0, equals));
    const bool is_new = results.context.emplace(name, printable(pair.substr(equals + 1))).second;
    if (!is_new || reserved.contains(name)) {
      throw usage_error("--benchmark_context: this key is the suite's own: " + pair);
    }
  }
}

/// The measuring part of a program: everything after the cases are known.
class session {
 public:
  /// Throws bad_input when the file to resume is of another machine, setting or shape.
  session(const options& o, const suite& all, std::vector<fixture*> selected,
          result::results results)
      : o_(o), all_(all), selected_(std::move(selected)), results_(std::move(results)) {
    results_.manifest = all.manifest;
    if (!o.resume.empty()) {
      result::results before = resumed(o.resume, results_);
      results_.rows = std::move(before.rows);
      refuse_other_shapes();
      results_.manifest.merge(before.manifest);  // rows of other models still need theirs
    }
    if (!o.out.empty()) file_.emplace(o.out);
    for (const auto& [name, value] : results_.context) benchmark::AddCustomContext(name, value);
    benchmark::AddCustomContext("manifest", result::write_manifest(results_.manifest));
  }

  /// Measures, writes and prints. Returns whether it was interrupted.
  bool run() {
    const schedule plan{.how = {.seed = o_.seed, .verify_every_output = o_.verify},
                        .rounds = o_.repetitions,
                        .least_time = std::stod(o_.min_time)};
    scheduler measure(selected_, plan, all_.footprint);
    const bool interrupted = measure.run(results_.rows, [this] {
      if (file_ && file_->replaceable()) write_file();
    });
    if (file_) write_file();
    print_rows();
    return interrupted;
  }

  [[nodiscard]] const result::results& results() const { return results_; }

  /// Says on stderr which rows have no timing; returns their number.
  [[nodiscard]] std::size_t report_failures() const {
    std::size_t failures = 0;
    for (const result::measurement& row : results_.rows) {
      if (row.error.empty()) continue;
      note(fmt::format("{}: {}", row.name.text(), row.error));
      ++failures;
    }
    return failures;
  }

 private:
  /// A model file may have changed since: its rows keep their names, but not their work.
  void refuse_other_shapes() const {
    std::map<result::row_name, std::string> keys;
    for (const fixture* each : selected_) keys[each->name()] = each->what().op.key();
    for (const result::measurement& row : results_.rows) {
      const auto now = keys.find(row.name);
      if (now == keys.end() || now->second == row.label.key) continue;
      throw bad_input(o_.resume, "/benchmarks",
                      fmt::format("{} was another shape then ({}, now {}); measure into a new file",
                                  row.name.text(), row.label.key, now->second));
    }
  }

  void write_file() const {
    const row_choice rows =
        o_.file_aggregates_only ? row_choice::aggregates : row_choice::rounds_and_aggregates;
    file_->write(render(to_runs(results_.rows, rows), o_.out_format, false, false));
  }

  void print_rows() const {
    row_choice rows = row_choice::rounds_and_aggregates;
    if (o_.format == "console" && !o_.aggregates_only) rows = row_choice::summary;
    if (o_.file_aggregates_only || o_.aggregates_only.value_or(false)) {
      rows = row_choice::aggregates;
    }
    fmt::print("{}", render(to_runs(results_.rows, rows), o_.format, wants_color(o_),
                            o_.counters_tabular));
    std::fflush(stdout);
  }

  const options& o_;
  const suite& all_;
  std::vector<fixture*> selected_;
  result::results results_;
  std::optional<output_file> file_;
};

template <class Ops, class Backends>
exit_code run_program(int argc, char** argv, const program& what, Ops ops, Backends built,
                      const op::catalog& catalog, const epilogue& after) {
  const std::optional<options> parsed = parse(argc, argv, what, built);
  if (!parsed) return exit_code::done;
  const options& o = *parsed;
  if (o.list_backends) {
    print_backends(built);
    return exit_code::done;
  }
  initialize_google_benchmark(argv[0]);
  const suite all = make_suite(o, what, ops, built, catalog);
  for (const std::string& text : all.notes) note(text);
  if (all.fixtures.empty()) {
    throw nothing_matched(fmt::format("no model of {} has a layer that {} measures",
                                      fmt::join(o.models, ", "), what.name));
  }
  register_all(all.fixtures);
  std::vector<fixture*> selected = select(all.fixtures, o.filter);
  if (o.list || o.list_tests) {
    if (o.list) print_list(selected);
    for (const fixture* each : selected) {
      if (o.list_tests) fmt::print("{}\n", each->name().text());
    }
    return exit_code::done;
  }
  result::results results;
  for (const auto& [name, value] : describe_run(o, built)) {
    results.context[name] = printable(value);
  }
  add_user_context(o, results);
  session measuring(o, all, std::move(selected), std::move(results));
  const bool interrupted = measuring.run();
  const std::size_t failures = measuring.report_failures();
  if (after) after(measuring.results(), o.format != "console");
  if (interrupted) {
    note(o.out.empty() ? "interrupted" : "interrupted; go on with --resume=" + o.out);
    return exit_code::interrupted;
  }
  return failures == 0 ? exit_code::done : exit_code::incomplete;
}

}  // namespace detail

/// A benchmark program: measures those of `ops` that `what` names on the `built` backends. Shape
/// files may contain the library's ops and these. Returns the exit code of base/error.hpp.
template <op::operation... Ops, class Backends = built_backends>
[[nodiscard]] int main(int argc, char** argv, const program& what, op::list<Ops...> ops,
                       const epilogue& after = {}, Backends built = {}) {
  settle_threads(argv);
  try {
    op::catalog catalog = op::catalog_of(op::builtin{});
    for (op::entry& each : op::catalog_of(ops)) {
      const bool known = std::ranges::find(catalog, each.name, &op::entry::name) != catalog.end();
      if (!known) catalog.push_back(std::move(each));
    }
    const exit_code code = detail::run_program(argc, argv, what, ops, built, catalog, after);
    if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
      throw error("stdout takes no more: the output is not whole");
    }
    return static_cast<int>(code);
  } catch (const error& slip) {
    detail::note(slip.what());
    return static_cast<int>(slip.code());
  } catch (const std::exception& slip) {
    detail::note(fmt::format("internal error: {}", slip.what()));
    return static_cast<int>(exit_code::failure);
  }
}

}  // namespace layerbench::run
