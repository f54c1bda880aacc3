// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include <fmt/format.h>

#include <layerbench/analysis/predict/configurations.hpp>
#include <layerbench/analysis/predict/repeated_rounds.hpp>
#include <layerbench/analysis/roofline/peaks.hpp>
#include <layerbench/base/error.hpp>
#include <layerbench/base/output_file.hpp>
#include <layerbench/base/quiet.hpp>
#include <layerbench/base/terminal.hpp>
#include <layerbench/model/find.hpp>
#include <layerbench/result/read_results.hpp>

#include "commands.hpp"

namespace layerbench::tool {

std::shared_ptr<const common_options> add_common(CLI::App& command,
                                                 const std::vector<std::string>& formats) {
  const auto common = std::make_shared<common_options>();
  common->format = formats.front();
  common->shapes = model::default_shapes_directory().string();
  command.add_option("--format", common->format, "Form of the result")
      ->check(CLI::IsMember(formats))
      ->capture_default_str();
  command.add_option("-o,--output", common->output, "File for the result; - or nothing: stdout")
      ->type_name("FILE");
  command
      .add_option("--shapes", common->shapes,
                  "Directory of the shape files [the one that came with the tool]")
      ->type_name("DIR")
      ->envname("LAYERBENCH_SHAPES")
      ->check(CLI::ExistingDirectory);
  command
      .add_flag_callback(
          "--quiet",
          [] {
            set_quiet(true);
            ::setenv("LAYERBENCH_QUIET", "true", 1);  // of programs that it starts
          },
          "Print results and errors only: no progress, no notes")
      ->envname("LAYERBENCH_QUIET");
  return common;
}

void note(const std::string& text) {
  if (!is_quiet()) fmt::print(stderr, "layerbench: {}\n", text);
}

void write(const common_options& common, const std::string& whole) {
  const bool is_file = !common.output.empty() && common.output != "-";
  if (is_file) return output_file(common.output).write(whole);
  const std::string result = common.format == "text" ? fitted(whole, terminal_columns()) : whole;
  if (std::fwrite(result.data(), 1, result.size(), stdout) != result.size() ||
      std::fflush(stdout) != 0) {
    throw error("writing to stdout failed; the output is truncated: " +
                std::generic_category().message(errno));
  }
}

bool contains(const std::vector<result::results>& read, const std::string& file) {
  return std::ranges::any_of(read, [&](const result::results& before) {
    std::error_code unknown;
    return std::filesystem::equivalent(file, before.file, unknown);
  });
}

std::vector<result::results> read_files(const std::vector<std::string>& files) {
  std::vector<result::results> read;
  for (const std::string& file : files) {
    if (contains(read, file)) {
      throw usage_error(
          fmt::format("{}: the same file twice: its timings would count twice", file));
    }
    read.push_back(result::read(file));
  }
  analysis::drop_repeated_rounds(read);
  for (const std::string& note : analysis::notes_of(analysis::group_of(read))) {
    fmt::print(stderr, "layerbench: {}\n", note);
  }
  return read;
}

namespace {

/// Throws bad_input, at the pointer `place`, for a file in which `has` does not find what was asked
/// for.
template <class Has>
std::vector<result::results> read_files_with(const std::vector<std::string>& files, const Has& has,
                                             const char* place, const char* otherwise) {
  std::vector<result::results> read = read_files(files);
  for (const result::results& file : read) {
    if (!has(file)) throw bad_input(file.file, place, otherwise);
  }
  return read;
}

}  // namespace

std::vector<result::results> read_peaks(const std::vector<std::string>& files) {
  const auto has = [](const result::results& file) { return !analysis::peaks_in({&file}).empty(); };
  return read_files_with(files, has, "/benchmarks",
                         "has no peaks; measure them: bench_peak --benchmark_out=FILE");
}

std::vector<result::results> read_engine_overheads(const std::vector<std::string>& files) {
  const auto has = [](const result::results& file) { return !file.engine_overheads.empty(); };
  return read_files_with(files, has, "/engine_overheads",
                         "has no overhead of an engine; measure it: tools/engines.py --overhead");
}

void print_incompatible_files(const std::vector<result::results>& read) {
  for (const std::string& sentence : analysis::incompatible_files(read)) note(sentence);
}

std::vector<result::results> read_results(const std::vector<std::string>& files) {
  std::vector<result::results> read = read_files(files);
  print_incompatible_files(read);
  return read;
}

std::optional<double> number_of(std::string_view text) {
  double value = 0;
  const auto [rest, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = failed == std::errc() && rest == text.data() + text.size();
  return whole ? std::optional(value) : std::nullopt;
}

std::string check_number(const std::string& text, double least, double most,
                         std::string_view what) {
  const auto value = number_of(text);
  if (value && *value >= least && *value <= most) return {};
  return fmt::format("expected {}, found {}", what, text);
}

std::string json_text(const json::value& value) {
  return value.dump(2, ' ', false, json::value::error_handler_t::replace) + '\n';
}

}  // namespace layerbench::tool
