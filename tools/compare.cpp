// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include <layerbench/base/error.hpp>
#include <layerbench/result/read_results.hpp>

#include "commands.hpp"
#include "compare_options.hpp"

namespace layerbench::tool {
namespace {

struct command_options {
  std::string old_files;
  std::string new_files;
  compare_options compare;
};

/// Reads the files of a side, given as a list with commas. Throws bad_input and usage_error.
std::vector<result::results> read_side(const std::string& names) {
  std::vector<std::string> files;
  for (const std::string_view name : result::detail::split(names, ',')) {
    if (name.empty()) throw usage_error("compare: an empty file name in the list '" + names + "'");
    files.emplace_back(name);
  }
  return read_files(files);
}

void add_options(CLI::App& command, command_options& chosen) {
  const char* const files = "Result files of the benchmark programs, of one run each: A,B,...";
  command.add_option("old", chosen.old_files, files)->required();
  command.add_option("new", chosen.new_files, files)->required();
  command.add_flag("--paired", chosen.compare.paired,
                   "The n-th files of both were measured side by side (versus does that)");
  add_compare_options(command, chosen.compare);
}

}  // namespace

void add_compare(CLI::App& app) {
  CLI::App* command = app.add_subcommand(
      "compare", "Compares two runs, or sets of them: what is faster, what slower");
  const auto options = std::make_shared<command_options>();
  add_options(*command, *options);
  const std::shared_ptr<const common_options> common = add_common(*command);
  command->callback([common, options] {
    const std::vector<result::results> old = read_side(options->old_files);
    const std::vector<result::results> now = read_side(options->new_files);
    for (const result::results& file : now) {
      if (!contains(old, file.file)) continue;
      fmt::print(stderr, "layerbench: {} is on both sides: compared with itself\n", file.file);
    }
    const analysis::comparison all = compare(old, now, options->compare);
    write(*common, render(all, common->format, options->compare.shown));
    require_no_regression(all, options->compare);
  });
}

}  // namespace layerbench::tool
