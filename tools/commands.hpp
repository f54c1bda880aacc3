// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>

#include <fmt/format.h>

#include <layerbench/analysis/validate/validation.hpp>
#include <layerbench/base/error.hpp>
#include <layerbench/base/json.hpp>
#include <layerbench/base/output_file.hpp>
#include <layerbench/base/quiet.hpp>
#include <layerbench/result/measurement.hpp>
#include <layerbench/shape/record.hpp>

namespace layerbench::tool {

/// The options that every subcommand has.
struct common_options {
  std::string format;
  std::string output;
  std::string shapes;
  bool overwrite = false;

  [[nodiscard]] overwrite_rule rule() const {
    return overwrite ? overwrite_rule::any : overwrite_rule::alike;
  }
};

/// Adds --sort, whose values are the names of `Order`, the default first. `what` are the rows.
template <class Order>
void add_order(CLI::App& command, std::string_view what, Order& order) {
  const auto& names = enum_names<Order>;
  command
      .add_option_function<std::string>(
          "--sort", [&order](const std::string& name) { order = from_name<Order>(name).value(); },
          fmt::format("Order of the {} [{}]\n--sort={}", what, names[0], names[1]))
      ->type_name("KEY")
      ->check(CLI::IsMember(std::vector<std::string>(names.begin(), names.end())));
}

/// Adds --sort and --top, which sets how many rows a table has.
template <class Order>
void add_table_options(CLI::App& command, std::size_t& top, Order& order) {
  command.add_option("--top", top, "Show at most N layers [the most important]\n--top=20")
      ->type_name("N")
      ->check(CLI::Range(std::size_t{1}, std::size_t{1'000'000}));
  add_order(command, "layers", order);
}

/// Adds the common options to a subcommand with these formats; the first is the default. Every
/// subcommand gets its own object, because CLI11 reads the environment for all subcommands.
/// `more_words` may name further inputs, which the output must not replace.
std::shared_ptr<const common_options> add_common(
    CLI::App& command, const std::vector<std::string>& formats = {"text", "json", "csv"},
    const std::vector<std::string>& more_words = {});

/// Adds the options for the output, and has it checked before the subcommand does anything: it must
/// be writable, and must not be one of the files that options, arguments and `more_words` name.
void add_output(CLI::App& command, common_options& common, const std::string& help,
                const std::vector<std::string>& more_words = {});

/// Adds the options that select the predicted cases and the timings used.
void add_prediction_options(CLI::App& command, analysis::options& chosen);

/// Adds an option whose values of that type have commas between them.
CLI::Option* add_values(CLI::App& command, const std::string& name, const char* type,
                        std::vector<std::string>& values, const std::string& help);

/// Adds the option for result files of bench_peak.
void add_peaks(CLI::App& command, std::vector<std::string>& files);

/// Adds the option for result files with the overheads of engines.
CLI::Option* add_engine_overheads(CLI::App& command, std::vector<std::string>& files);

/// What is thrown, on behalf of `option`, where no result is of a training.
nothing_matched no_training(std::string_view option);

/// Throws error, naming the cases, if a prediction from `files` lacks layers; also the layers,
/// unless the output `listed` them.
void require_complete(const std::vector<analysis::prediction>& predictions,
                      const std::vector<result::results>& files, bool listed = false);

/// Throws error, with the reasons, if a case could not be validated.
void require_complete(const analysis::validation& all);

/// Writes a result to stdout or to the output file, which is replaced in one step or not at all.
/// Text on a terminal gets its width. Throws usage_error if it cannot be written. Where the disk
/// does not take it, it is kept elsewhere or printed, and error is thrown.
void write(const common_options& common, const std::string& result);

/// Whether `file` is among the files read, possibly under another name.
bool contains(const std::vector<result::results>& read, const std::string& file);

/// Reads result files without the timings that they have more than once, which it prints to stderr.
/// Throws bad_input, and usage_error if a file is given twice.
std::vector<result::results> read_files(const std::vector<std::string>& files);

/// Reads result files of bench_peak. Throws bad_input for a file without peaks.
std::vector<result::results> read_peaks(const std::vector<std::string>& files);

/// Reads result files of tools/engines.py --overhead. Throws bad_input for a file without one.
std::vector<result::results> read_engine_overheads(const std::vector<std::string>& files);

/// Prints to stderr which files are not merged, and why.
void print_incompatible_files(const std::vector<result::results>& read);

/// Reads result files and prints which of them are not merged.
std::vector<result::results> read_results(const std::vector<std::string>& files);

/// Checks that `text` is a number from `least` to `most`. The result is empty, or an error message
/// which says that `what` was expected.
std::string check_number(const std::string& text, double least, double most, std::string_view what);

/// `value` as JSON text. Bytes that are not UTF-8, for example of file names, are replaced.
std::string json_text(const json::value& value);

/// Makes the directory of an option if it does not exist. Throws usage_error, which names the
/// option, if that fails or no file can be written there.
void require_writable(std::string_view option, const std::filesystem::path& directory);

/// Each function adds a subcommand: its options, and the action once they are parsed.
void add_list(CLI::App& app);
void add_show(CLI::App& app);
void add_predict(CLI::App& app);
void add_curve(CLI::App& app);
void add_memory(CLI::App& app);
void add_study(CLI::App& app);
void add_validate(CLI::App& app);
void add_compare(CLI::App& app);
/// `words` are the arguments from the first `--` on.
void add_versus(CLI::App& app, const std::vector<std::string>& words);
void add_bisect(CLI::App& app, const std::vector<std::string>& words);
void add_report(CLI::App& app);
void add_site(CLI::App& app);
void add_submit(CLI::App& app);
void add_deepbench(CLI::App& app);
void add_import(CLI::App& app);
void add_explain(CLI::App& app);
void add_quickstart(CLI::App& app);
void add_completion(CLI::App& app);

}  // namespace layerbench::tool
