// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>

#include <fmt/format.h>

#include <layerbench/backend/registry.hpp>
#include <layerbench/backend/timing_mode.hpp>
#include <layerbench/base/error.hpp>
#include <layerbench/cache_state/state.hpp>
#include <layerbench/cli/messages.hpp>
#include <layerbench/cli/option_values.hpp>
#include <layerbench/model/allreduces.hpp>
#include <layerbench/session/options.hpp>
#include <layerbench/session/program.hpp>
#include <layerbench/shape/dtype.hpp>
#include <layerbench/shape/layout.hpp>

/// Options as they are given: by the command line and the environment.
namespace layerbench::run {

namespace detail {

[[nodiscard]] inline std::vector<std::string> text_list(auto&& names) {
  return {names.begin(), names.end()};
}

[[nodiscard]] inline std::vector<std::string> dtype_names() {
  std::vector<std::string> names;
  for (const dtype_traits& traits : dtype_table) names.emplace_back(traits.name);
  return names;
}

inline CLI::Option* add_list(CLI::App& app, const char* names, auto& value, const std::string& help,
                             const char* variable) {
  return app.add_option(names, value, help)->delimiter(',')->envname(variable);
}
inline CLI::Option* add_one(CLI::App& app, const char* names, auto& value, const char* help,
                            const char* variable) {
  return app.add_option(names, value, help)->envname(variable)->capture_default_str();
}

/// What is measured.
inline void add_case_options(CLI::App& app, options& o) {
  add_list(app, "--model", o.models,
           "models or sweeps to measure, by name or by path of a shape file", "LAYERBENCH_MODEL")
      ->capture_default_str();
  add_list(app, "--batch", o.batches, "batch size [that of the shape file]", "LAYERBENCH_BATCH")
      ->check(whole_number(1, max_size));
  add_list(app, "--dtype", o.dtypes, "data types", "LAYERBENCH_DTYPE")
      ->check(one_of(dtype_names()))
      ->capture_default_str();
  add_list(app, "--backend", o.backends, "libraries [all that can run here; else reference]",
           "LAYERBENCH_BACKEND");
  add_list(app, "--threads", o.threads,
           fmt::format("threads [{}, one per processor]", o.default_threads), "LAYERBENCH_THREADS")
      ->check(whole_number(1, 4096));
  add_list(app, "--cache", o.caches,
           "where operands are cached when a call starts [model; sweeps: hot]", "LAYERBENCH_CACHE")
      ->check(one_of(text_list(enum_names<cache_state>)));
  app.add_option(
         "--timing", o.timing,
         "how GPU calls are timed: single calls, in a stream, in a graph [graph; training: stream]")
      ->envname("LAYERBENCH_TIMING")
      ->check(one_of(text_list(enum_names<timing_mode>)));
  add_one(app, "--layout", o.order, "memory order of activations", "LAYERBENCH_LAYOUT")
      ->check(one_of(text_list(enum_names<layout>)));
  add_list(app, "--in-place", o.in_place,
           "ops that write over their source if no other layer reads it; or none",
           "LAYERBENCH_IN_PLACE")
      ->check(one_of({"activation", "add", "none"}))
      ->capture_default_str();
  add_one(app, "--device", o.device, "device number; a CPU is 0", "LAYERBENCH_DEVICE")
      ->check(whole_number(0, 1023));
  add_one(app, "--workspace-limit", o.workspace_limit,
          "scratch memory that a plan may use, such as 64MiB", "LAYERBENCH_WORKSPACE_LIMIT")
      ->transform(CLI::AsSizeValue(/*kb_is_1000=*/true));
  add_one(app, "--plans", o.plans,
          "heuristic: the library's choice; measured: the fastest; FILE: those of a result file",
          "LAYERBENCH_PLANS")
      ->type_name("heuristic|measured|FILE");
  add_one(app, "--shapes", o.shapes, "directory with models/*.json and sweeps/*.json",
          "LAYERBENCH_SHAPES");
}

/// How it is, how long, and where results go.
inline void add_measuring_options(CLI::App& app, options& o) {
  add_one(app, "--seed", o.seed, "seed of the test data", "LAYERBENCH_SEED")
      ->check(whole_number(0, std::numeric_limits<std::int64_t>::max()));
  app.add_flag("--verify", o.verify,
               "check every output against the reference before timing [a sample]")
      ->envname("LAYERBENCH_VERIFY");
  add_one(app, "--precision", o.precision, "percent: stop when half the 95 % interval is narrower",
          "LAYERBENCH_PRECISION")
      ->check(check_percent);
  add_one(app, "--max-time", o.most_time,
          "seconds per case: stop although less precise, but not before the least number of rounds",
          "LAYERBENCH_MAX_TIME")
      ->check(check_seconds);
  app.add_option("--budget", o.budget, "seconds for the whole run, shared by its cases [none]")
      ->envname("LAYERBENCH_BUDGET")
      ->check(check_seconds);
  add_one(app, "--resume", o.resume,
          "continue this result file; results go there, too, unless --benchmark_out is given",
          "LAYERBENCH_RESUME");
  app.add_flag("--list", o.list, "print the rows with counts, FLOPs and bytes; run nothing");
  app.add_flag("--backends", o.list_backends, "print each backend and whether it can run");
  app.add_flag("--check-machine", o.check_machine,
               "say whether this machine is fit to measure these models; run nothing");
}

inline void add_phase_options(CLI::App& app, options& o) {
  app.add_option("--phase", o.phase, "inference or training")
      ->envname("LAYERBENCH_PHASE")
      ->check(one_of({"inference", "training"}))
      ->capture_default_str();
  app.add_option("--optimizer", o.optimizer, "how a training step updates the weights")
      ->envname("LAYERBENCH_OPTIMIZER")
      ->check(one_of(text_list(op::optimizers)))
      ->capture_default_str();
  app.add_flag("--fused-update", o.fused_update,
               "update all weights in one call [one call per tensor]")
      ->envname("LAYERBENCH_FUSED_UPDATE");
  app.add_flag("--zero-gradients", o.zero_gradients,
               "set gradients to 0 and accumulate them [overwrite them]")
      ->envname("LAYERBENCH_ZERO_GRADIENTS");
}

inline void add_google_options(CLI::App& app, options& o) {
  const auto one = [&](const char* names, auto& value, const char* help, const char* variable) {
    return app.add_option(names, value, help)
        ->envname(variable)
        ->take_last()
        ->group("Google Benchmark");
  };
  const auto flag = [&](const char* names, auto& value, const char* help, const char* variable) {
    return app.add_flag(names, value, help)->envname(variable)->group("Google Benchmark");
  };
  const std::vector<std::string> formats{"console", "json", "csv"};
  one("--benchmark_filter", o.filter,
      "regular expression of row names; a leading '-' excludes [all]", "BENCHMARK_FILTER");
  flag("--benchmark_list_tests", o.list_tests, "print the names that match and stop",
       "BENCHMARK_LIST_TESTS");
  one("--benchmark_out", o.out, "result file; an older one is replaced when the run is complete",
      "BENCHMARK_OUT");
  one("--benchmark_out_format", o.out_format, "its format", "BENCHMARK_OUT_FORMAT")
      ->check(one_of(formats))
      ->capture_default_str();
  one("--benchmark_format", o.format, "format on stdout", "BENCHMARK_FORMAT")
      ->check(one_of(formats))
      ->capture_default_str();
  one("--benchmark_color", o.color, "auto follows the terminal and NO_COLOR", "BENCHMARK_COLOR")
      ->check(one_of({"auto", "true", "false", "yes", "no", "1", "0"}))
      ->capture_default_str();
  flag("--benchmark_counters_tabular", o.counters_tabular, "counters as columns on stdout",
       "BENCHMARK_COUNTERS_TABULAR");
  app.add_option_function<bool>(
         "--benchmark_display_aggregates_only",
         [&o](const bool& only) { o.aggregates_only = only; },
         "true: mean, median, stddev and cv on stdout; false: each round, too [one line per row]")
      ->envname("BENCHMARK_DISPLAY_AGGREGATES_ONLY")
      ->expected(0, 1)
      ->default_str("true")
      ->group("Google Benchmark");
  flag("--benchmark_report_aggregates_only", o.file_aggregates_only,
       "no single rounds on stdout or in the file", "BENCHMARK_REPORT_AGGREGATES_ONLY");
  one("--benchmark_context", o.user_context, "key=value to store in the results",
      "BENCHMARK_CONTEXT")
      ->delimiter(',')
      ->take_all();
  one("--benchmark_min_time", o.min_time,
      "least seconds that a row is timed in each round, such as 0.01 or 0.01s",
      "BENCHMARK_MIN_TIME")
      ->check(check_min_time, "SECONDS")
      ->capture_default_str();
  one("--benchmark_repetitions", o.repetitions, "least number of rounds", "BENCHMARK_REPETITIONS")
      ->check(whole_number(1, 1'000'000))
      ->capture_default_str();
}

/// What measures no steps of models has no use for some options, and one state of the caches.
inline void keep_options_of(const program& what, CLI::App& app, options& o) {
  std::vector<const char*> useless{"--batch",     "--cache",        "--timing",
                                   "--layout",    "--in-place",     "--phase",
                                   "--optimizer", "--fused-update", "--zero-gradients"};
  if (what.peaks) useless.insert(useless.end(), {"--model", "--shapes"});
  if (what.collective) useless.insert(useless.end(), {"--threads", "--plans"});
  for (const char* item : useless) app.remove_option(app.get_option(item));
  o.caches = {std::string(name(cache_state::hot))};
}

inline void add_collective_options(CLI::App& app, options& o) {
  o.in_place = {std::string(op::allreduce::name)};
  app.add_option("--ranks", o.ranks,
                 "number of ranks of a backend that has all of them in this program (reference)")
      ->envname("LAYERBENCH_RANKS")
      ->check(whole_number(1, 4096))
      ->capture_default_str();
  app.add_flag_callback(
         "--out-of-place", [&o] { o.in_place = {"none"}; },
         "write sums to other memory [in place, as in training]")
      ->envname("LAYERBENCH_OUT_OF_PLACE");
  app.add_flag("--yes", o.yes, "measure although one rank sends nothing")
      ->envname("LAYERBENCH_YES");
}

/// Works out what depends on several options. Throws usage_error.
inline void complete_options(options& o, const registry& known) {
  const auto chosen = [&](std::string_view name) {
    return o.backends.empty() || std::ranges::find(o.backends, name) != o.backends.end();
  };
  o.default_threads = 1;
  for (const backend_entry& entry : known.backends) {
    if (chosen(entry.name)) o.default_threads = std::max(o.default_threads, entry.processors());
  }
  if (o.threads.empty()) o.threads = {o.default_threads};
  std::set<std::string> states;  // each once
  std::erase_if(o.caches, [&](const std::string& word) { return !states.insert(word).second; });
  if (o.plans.empty()) throw usage_error("--plans: expected heuristic, measured or a result file");
  if (!o.resume.empty() && o.out.empty()) {
    if (o.out_format != "json" || o.file_aggregates_only) {
      throw usage_error(
          "--resume: its file would be replaced by one that cannot be resumed; name another with "
          "--benchmark_out");
    }
    o.out = o.resume;
  }
}

}  // namespace detail

/// Reads the command line. Nothing is returned when all was said already (--help, --version).
/// Throws usage_error.
[[nodiscard]] inline std::optional<options> parse(int argc, char** argv, const program& what,
                                                  const registry& known) {
  options o;
  for (const backend_entry& entry : known.backends) {  // for --help, before the backends are chosen
    o.default_threads = std::max(o.default_threads, entry.processors());
  }
  CLI::App app(what.purpose, what.name);
  app.set_version_flag("--version", std::string(what.name) + " " LAYERBENCH_VERSION);
  app.get_formatter()->column_width(38);
  if (what.collective) o.models.emplace_back(model::sweep_model);
  detail::add_case_options(app, o);
  detail::add_measuring_options(app, o);
  detail::add_phase_options(app, o);
  if (what.whole_model()) {
    app.add_flag("--chain{steps}", o.chain,
                 "also run each model end to end, to validate predictions; =layers: with clocks "
                 "between its layers, to see where errors come from")
        ->envname("LAYERBENCH_CHAIN")
        ->check(detail::one_of({"steps", "layers"}));
    app.add_flag("--ranks", o.data_parallel,
                 "under mpirun: data-parallel training, with all-reduces of the gradients "
                 "(--phase=training)")
        ->envname("LAYERBENCH_RANKS");
    app.add_option(
           "--during", o.during,
           "allreduce: time the backward layers also during all-reduces; with --chain, also the "
           "step that overlaps both")
        ->envname("LAYERBENCH_DURING")
        ->check(detail::one_of({std::string(op::allreduce::name)}));
  }
  detail::add_google_options(app, o);
  if (what.collective) detail::add_collective_options(app, o);
  if (!what.is_predictable()) detail::keep_options_of(what, app, o);
  o.command = detail::shell_quoted(argc, argv);
  std::vector<std::string> words = detail::arguments_of(argc, argv);
  o.variables = detail::environment_sources(app, words);
  try {
    std::ranges::reverse(words);  // as CLI11 wants them
    app.parse(std::move(words));
  } catch (const CLI::Success& success) {
    app.exit(success);
    return std::nullopt;
  } catch (const CLI::ParseError& e) {
    throw usage_error(fmt::format(
        "{}\nTry {} --help.",
        detail::about_variable(detail::parse_error_message(e, app), o.variables), what.name));
  }
  detail::complete_options(o, known);
  return o;
}

}  // namespace layerbench::run
