// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <charconv>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include <layerbench/backend/list.hpp>
#include <layerbench/base/error.hpp>
#include <layerbench/model/find.hpp>
#include <layerbench/run/program.hpp>
#include <layerbench/shape/dtype.hpp>
#include <layerbench/shape/layout.hpp>

namespace layerbench::run {

/// What a benchmark program is asked to do; the defaults are those that --help shows.
struct options {
  std::vector<std::string> models{"resnet50", "vgg16", "alexnet"};
  std::vector<std::int64_t> batches;  ///< empty: each model file's own
  std::vector<std::string> dtypes{"f32"};
  std::vector<std::string> backends;  ///< empty: all that can run, reference if no other can
  std::vector<int> threads;           ///< empty: default_threads
  std::string phase = "inference";
  std::vector<std::string> caches{"model"};
  std::string order = "nhwc";
  int device = 0;
  std::string shapes = model::default_shapes_directory();
  bool list = false;
  bool list_backends = false;
  bool verify = false;
  std::uint64_t seed = 1;
  std::string resume;

  std::string filter;
  bool list_tests = false;
  std::string out;
  std::string out_format = "json";
  std::string format = "console";
  std::string color = "auto";
  bool counters_tabular = false;
  std::optional<bool> aggregates_only;  ///< of the display; empty: one line a row
  bool file_aggregates_only = false;
  std::vector<std::string> user_context;
  std::string min_time = "0.2";
  int repetitions = 5;

  int default_threads = 1;  ///< all that a backend of this build can keep busy
};

namespace detail {

[[nodiscard]] inline std::vector<std::string> text_list(auto&& names) {
  return {names.begin(), names.end()};
}

[[nodiscard]] inline std::vector<std::string> dtype_names() {
  std::vector<std::string> names;
  for (const dtype_traits& each : dtype_table) names.emplace_back(each.name);
  return names;
}

/// "0.2", or "0.2s" as newer versions of Google Benchmark have it.
[[nodiscard]] inline std::string check_seconds(const std::string& text) {
  double value = -1;
  const char* end = text.data() + text.size();
  const auto [rest, failed] = std::from_chars(text.data(), end, value);
  const std::string_view unit(rest, end);
  if (failed == std::errc() && value >= 0 && value <= 1e6 && (unit.empty() || unit == "s")) {
    return {};
  }
  return "expected a number of seconds, such as 0.2";
}

inline void add_suite_options(CLI::App& app, options& o) {
  const auto list = [&](const char* names, auto& value, const char* help, const char* variable) {
    return app.add_option(names, value, help)->delimiter(',')->envname(variable);
  };
  const auto one = [&](const char* names, auto& value, const char* help, const char* variable) {
    return app.add_option(names, value, help)->envname(variable)->capture_default_str();
  };
  list("--model", o.models, "models: names, or paths of shape files", "LAYERBENCH_MODEL")
      ->capture_default_str();
  list("--batch", o.batches, "images in a batch [each model file's own]", "LAYERBENCH_BATCH")
      ->check(CLI::Range(std::int64_t{1}, max_size));
  list("--dtype", o.dtypes, "data types", "LAYERBENCH_DTYPE")
      ->check(CLI::IsMember(dtype_names()))
      ->capture_default_str();
  list("--backend", o.backends, "libraries [all that can run here; reference if no other can]",
       "LAYERBENCH_BACKEND");
  list("--threads", o.threads,
       fmt::format("threads [{}, one a processor]", o.default_threads).c_str(),
       "LAYERBENCH_THREADS")
      ->check(CLI::Range(1, 4096));
  one("--phase", o.phase, "what the model does", "LAYERBENCH_PHASE")
      ->check(CLI::IsMember({"inference"}));
  list("--cache", o.caches, "states of the caches before each call", "LAYERBENCH_CACHE")
      ->check(CLI::IsMember({"model", "hot", "cold"}))
      ->capture_default_str();
  one("--layout", o.order, "memory order of activations", "LAYERBENCH_LAYOUT")
      ->check(CLI::IsMember(text_list(enum_names<layout>)));
  one("--device", o.device, "device number; CPU backends have one, 0", "LAYERBENCH_DEVICE")
      ->check(CLI::Range(0, 0));
  one("--shapes", o.shapes, "folder with models/*.json", "LAYERBENCH_SHAPES");
  one("--seed", o.seed, "seed of the test data", "LAYERBENCH_SEED")->check(CLI::NonNegativeNumber);
  app.add_flag("--verify", o.verify,
               "check every output against the reference before timing [a sample of them]")
      ->envname("LAYERBENCH_VERIFY");
  one("--resume", o.resume,
      "go on from this result file; also where results go unless "
      "--benchmark_out is given",
      "LAYERBENCH_RESUME");
  app.add_flag("--list", o.list, "print the cases with counts, FLOPs and bytes; run nothing");
  app.add_flag("--backends", o.list_backends, "print each backend and whether it can run");
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
  one("--benchmark_filter", o.filter, "regular expression of names; '-' in front excludes [all]",
      "BENCHMARK_FILTER");
  flag("--benchmark_list_tests", o.list_tests, "print the names that match and stop",
       "BENCHMARK_LIST_TESTS");
  one("--benchmark_out", o.out, "file for the results, written whole or not at all",
      "BENCHMARK_OUT");
  one("--benchmark_out_format", o.out_format, "its format", "BENCHMARK_OUT_FORMAT")
      ->check(CLI::IsMember(formats))
      ->capture_default_str();
  one("--benchmark_format", o.format, "format on stdout", "BENCHMARK_FORMAT")
      ->check(CLI::IsMember(formats))
      ->capture_default_str();
  one("--benchmark_color", o.color, "auto follows the terminal and NO_COLOR", "BENCHMARK_COLOR")
      ->check(CLI::IsMember({"auto", "true", "false", "yes", "no", "1", "0"}))
      ->capture_default_str();
  flag("--benchmark_counters_tabular", o.counters_tabular, "counters as columns on stdout",
       "BENCHMARK_COUNTERS_TABULAR");
  app.add_option_function<bool>(
         "--benchmark_display_aggregates_only",
         [&o](const bool& only) { o.aggregates_only = only; },
         "true: mean, median, stddev and cv on stdout; false: each round too [a line a row]")
      ->envname("BENCHMARK_DISPLAY_AGGREGATES_ONLY")
      ->expected(0, 1)
      ->default_str("true")
      ->group("Google Benchmark");
  flag("--benchmark_report_aggregates_only", o.file_aggregates_only,
       "no rows of single rounds, in the file neither", "BENCHMARK_REPORT_AGGREGATES_ONLY");
  one("--benchmark_context", o.user_context, "key=value to store in the results",
      "BENCHMARK_CONTEXT")
      ->delimiter(',')
      ->take_all();
  one("--benchmark_min_time", o.min_time, "least seconds a case is measured", "BENCHMARK_MIN_TIME")
      ->check(check_seconds)
      ->capture_default_str();
  one("--benchmark_repetitions", o.repetitions, "least number of rounds", "BENCHMARK_REPETITIONS")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
}

}  // namespace detail

/// Reads the command line. Nothing is returned when all was said already (--help, --version).
/// Throws usage_error.
template <backend... Bs>
[[nodiscard]] std::optional<options> parse(int argc, char** argv, const program& what,
                                           backend_list<Bs...> /*built*/) {
  options o;
  o.default_threads = std::max({Bs::processors()...});  // for --help, before the backends are known
  CLI::App app(what.purpose, what.name);
  app.set_version_flag("--version", std::string(what.name) + " " LAYERBENCH_VERSION);
  app.get_formatter()->column_width(38);
  detail::add_suite_options(app, o);
  detail::add_google_options(app, o);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& said) {
    app.exit(said);
    return std::nullopt;
  } catch (const CLI::ParseError& slip) {
    throw usage_error(std::string(slip.what()) + "\nTry --help.");
  }
  const auto chosen = [&](std::string_view name) {
    return o.backends.empty() || std::ranges::find(o.backends, name) != o.backends.end();
  };
  o.default_threads = std::max({1, chosen(Bs::name) ? Bs::processors() : 1 ...});
  if (o.threads.empty()) o.threads = {o.default_threads};
  if (!o.resume.empty() && o.out.empty()) {
    if (o.out_format != "json" || o.file_aggregates_only) {
      throw usage_error(
          "--resume would overwrite its file with one that cannot be resumed; name "
          "another with --benchmark_out");
    }
    o.out = o.resume;
  }
  return o;
}

}  // namespace layerbench::run
