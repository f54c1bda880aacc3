// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include <layerbench/base/error.hpp>
#include <layerbench/result/google_json.hpp>

#include "commands.hpp"
#include "compare_options.hpp"

namespace layerbench::tool {
namespace {

struct compare_options {
  std::string old_files;
  std::string new_files;
  comparing_options compare_options;
};

/// The files of one side, named in a list with commas. Throws bad_input.
std::vector<result::results> read_side(const std::string& names) {
  std::vector<std::string> files;
  for (const std::string_view name : result::detail::split(names, ',')) {
    if (name.empty()) throw usage_error("compare: an empty file name in the list '" + names + "'");
    files.emplace_back(name);
  }
  return read_each(files);
}

void add_options(CLI::App& command, compare_options& chosen) {
  const char* const files = "Result files of the benchmark programs, of one run each: A,B,...";
  command.add_option("old", chosen.old_files, files)->required();
  command.add_option("new", chosen.new_files, files)->required();
  command.add_flag("--paired", chosen.compare_options.paired,
                   "The n-th files of both were measured side by side (versus does that)");
  add_comparing(command, chosen.compare_options);
}

}  // namespace

void add_compare(CLI::App& app) {
  CLI::App* command = app.add_subcommand(
      "compare", "Compares two runs, or sets of them: what is faster, what slower");
  const auto options = std::make_shared<compare_options>();
  add_options(*command, *options);
  const std::shared_ptr<const common_options> common = add_common(*command);
  command->callback([common, options] {
    const std::vector<result::results> old = read_side(options->old_files);
    const std::vector<result::results> now = read_side(options->new_files);
    for (const result::results& results : now) {
      if (!holds(old, results.file)) continue;
      fmt::print(stderr, "layerbench: {} is on both sides: compared with itself\n", results.file);
    }
    const analysis::comparison all = compare(old, now, options->compare_options);
    write(*common, render(all, common->format));
    require_none(all, options->compare_options);
  });
}

}  // namespace layerbench::tool
