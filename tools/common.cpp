// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include <unistd.h>

#include <fmt/format.h>

#include <layerbench/analysis/base/cases.hpp>
#include <layerbench/analysis/base/peaks.hpp>
#include <layerbench/analysis/base/repeated_rounds.hpp>
#include <layerbench/base/error.hpp>
#include <layerbench/base/input_path.hpp>
#include <layerbench/base/output_file.hpp>
#include <layerbench/base/parse_number.hpp>
#include <layerbench/base/plain_text.hpp>
#include <layerbench/base/program_path.hpp>
#include <layerbench/base/quiet.hpp>
#include <layerbench/base/split.hpp>
#include <layerbench/base/terminal.hpp>
#include <layerbench/model/find.hpp>
#include <layerbench/result/name.hpp>
#include <layerbench/result/read_results.hpp>

#include "commands.hpp"

namespace layerbench::tool {

namespace {

/// Notes the files that a word names, itself or as the value of an option, as inputs.
void note_inputs(std::string_view word) {
  const std::string_view value = word.substr(word.find('=') + 1);
  std::vector<std::string_view> names = split(value, ',');
  names.insert(names.end(), {word, value});
  for (const std::string_view name : names) {
    std::error_code unknown;
    if (std::filesystem::is_regular_file(name, unknown)) static_cast<void>(input_path(name));
  }
}

/// Text of the kind of a result; empty where that is not known.
std::string_view sample_of(const common_options& common) {
  if (common.format.empty()) return "{\"name\": \"\", \"layers\": []}";  // of an import
  if (common.format == "json" || common.format == "bmf") return "{";
  if (common.format != "html") return "text";
  return common.output.ends_with(".md") ? "" : "<!DOCTYPE html>";
}

/// Throws usage_error where an output cannot be written, is an input, or is another output.
void check_outputs(const CLI::App& command, const common_options& common,
                   const std::vector<std::string>& more_words) {
  std::ranges::for_each(more_words, note_inputs);
  std::vector<const CLI::Option*> outputs;
  for (const CLI::Option* option : command.get_options()) {
    if (option->check_lname("output") || option->check_lname("trace")) {
      outputs.push_back(option);
    } else {
      std::ranges::for_each(option->results(), note_inputs);
    }
  }
  std::vector<std::filesystem::path> seen;
  for (const CLI::Option* option : outputs) {
    for (const std::string& file : option->results()) {
      if (file.empty() || file == "-") continue;
      static_cast<void>(
          output_file(file, common.rule(), option->check_lname("trace") ? "{" : sample_of(common)));
      seen.push_back(std::filesystem::weakly_canonical(file));
      if (std::ranges::count(seen, seen.back()) == 1) continue;
      throw usage_error(file + ": is to have two outputs; name another file for one of them");
    }
  }
}

}  // namespace

void add_output(CLI::App& command, common_options& common, const std::string& help,
                const std::vector<std::string>& more_words) {
  command.add_option("-o,--output", common.output, help)->type_name("FILE");
  command.add_flag("--overwrite", common.overwrite,
                   "Replace an existing output file of any kind [only of the same kind]");
  command.parse_complete_callback(
      [&command, &common, more_words] { check_outputs(command, common, more_words); });
}

std::shared_ptr<const common_options> add_common(CLI::App& command,
                                                 const std::vector<std::string>& formats,
                                                 const std::vector<std::string>& more_words) {
  const auto common = std::make_shared<common_options>();
  common->format = formats.front();
  common->shapes = model::default_shapes_directory().string();
  command.add_option("--format", common->format, "Form of the result")
      ->check(CLI::IsMember(formats))
      ->capture_default_str();
  add_output(command, *common, "File for the result; - or nothing: stdout", more_words);
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

namespace {

/// Prints text to stdout. Throws error.
void print(const std::string& text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0) {
    return;
  }
  throw error("writing to stdout failed; the output is truncated: " +
              std::generic_category().message(errno));
}

}  // namespace

void write(const common_options& common, const std::string& result) {
  const std::string text = without_controls(result);
  if (common.output.empty() || common.output == "-") {
    return print(common.format == "text" ? fitted(text, terminal_columns()) : text);
  }
  const output_file file(common.output, common.rule());
  try {
    file.write(text);
  } catch (const usage_error&) {
    throw;
  } catch (const error& e) {
    spare_file spare;
    if (!spare.write(file.path(), text)) print(text);
    throw error(e.what() + spare.text());
  }
}

bool contains(const std::vector<result::results>& read, const std::string& file) {
  return std::ranges::any_of(
      read, [&](const result::results& before) { return is_same_file(file, before.file); });
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
  for (const std::string& text : analysis::notes_of(analysis::group_of(read))) note(text);
  return read;
}

namespace {

/// Throws bad_input, at the pointer `place`, for a file in which `has` does not find what was asked
/// for.
template <class Has>
std::vector<result::results> read_files_with(const std::vector<std::string>& files, const Has& has,
                                             const char* place, const std::string& otherwise) {
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
                         fmt::format("has no peaks; measure them: {} --benchmark_out=FILE",
                                     program_path("bench_peak")));
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

std::string check_number(const std::string& text, double least, double most,
                         std::string_view what) {
  const auto value = parse_number<double>(text);
  if (value && *value >= least && *value <= most) return {};
  return fmt::format("expected {}, found {}", what, text);
}

std::string json_text(const json::value& value) {
  return value.dump(2, ' ', false, json::value::error_handler_t::replace) + '\n';
}

void require_writable(std::string_view option, const std::filesystem::path& directory) {
  std::error_code failed;
  std::filesystem::create_directories(directory, failed);
  if (!failed && ::access(directory.c_str(), W_OK) != 0) {
    failed.assign(errno, std::generic_category());
  }
  if (failed) {
    throw usage_error(fmt::format("{}: {}: {}", option, directory.string(), failed.message()));
  }
}

}  // namespace layerbench::tool
