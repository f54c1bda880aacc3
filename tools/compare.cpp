// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <layerbench/base/error.hpp>
#include <layerbench/base/split.hpp>

#include "commands.hpp"
#include "compare_options.hpp"

namespace layerbench::tool {
namespace {

struct command_options {
  std::string old_files;
  std::string new_files;
  std::vector<std::string> more_files;
  compare_options compare;
};

/// The files of a list with commas. Throws usage_error.
std::vector<std::string> files_of(const std::string& names) {
  std::vector<std::string> files;
  for (const std::string_view name : split(names, ',')) {
    if (name.empty()) throw usage_error("compare: an empty file name in the list '" + names + "'");
    files.emplace_back(name);
  }
  return files;
}

void compare_two_sides(const command_options& options, const common_options& common) {
  if (options.new_files.empty()) {
    throw usage_error("compare: new: no result files, and old alone is for --across=backend: " +
                      options.old_files);
  }
  if (!options.more_files.empty()) {
    throw usage_error(
        "compare: old and new are lists with commas; more files than two are for "
        "--across=node, gpu, date or backend: " +
        options.more_files.front());
  }
  const std::vector<result::results> old = read_files(files_of(options.old_files));
  const std::vector<result::results> now = read_files(files_of(options.new_files));
  for (const result::results& file : now) {
    if (!contains(old, file.file)) continue;
    note(fmt::format("{} is on both sides: compared with itself", file.file));
  }
  const analysis::comparison all = compare(old, now, options.compare);
  write(common, render(all, common.format, options.compare.shown));
  require_no_regression(all, options.compare);
}

void compare_all_files(const command_options& options, const common_options& common,
                       analysis::compared_dimension across) {
  if (options.compare.paired) {
    throw usage_error(
        "--paired: files of nodes, dates or backends are no pairs; leave it out with --across=" +
        options.compare.dimension);
  }
  if (options.compare.shown.order != analysis::comparison_order::change) {
    throw usage_error(
        "--sort: differences have an order of their own; leave it out with --across=" +
        options.compare.dimension);
  }
  std::vector<std::string> files;
  const auto add = [&](const std::string& names) {
    for (std::string& file : files_of(names)) files.push_back(std::move(file));
  };
  add(options.old_files);
  if (!options.new_files.empty()) add(options.new_files);
  for (const std::string& names : options.more_files) add(names);
  const auto print = [&](const auto& all) {
    write(common, render(all, common.format, options.compare.shown));
    require_no_regression(all, options.compare);
  };
  if (across == analysis::compared_dimension::backend) {
    write(common, compare_backends(read_files(files), common.format, options.compare));
  } else if (across == analysis::compared_dimension::date) {
    print(compare_dates(read_files(files), options.compare));
  } else {
    print(compare_nodes(read_files(files), options.compare));
  }
}

void add_options(CLI::App& command, command_options& chosen) {
  const char* const files = "Result files of the benchmark programs, of one run each: A,B,...";
  command.add_option("old", chosen.old_files, files)->required();
  command.add_option("new", chosen.new_files, files);
  command.add_option(
      "more", chosen.more_files,
      "With --across=node, gpu, date or backend: further result files; what a file is "
      "of follows from its host_name, gpu_uuid and date");
  command.add_flag("--paired", chosen.compare.paired,
                   "The n-th files of both were measured side by side (versus does that)");
  add_compare_options(command, chosen.compare, /*of_equals=*/true);
}

}  // namespace

void add_compare(CLI::App& app) {
  CLI::App* command = app.add_subcommand(
      "compare",
      "Compares two runs or sets of them, nodes or GPUs of a cluster, dates, or backends: what is "
      "faster, what slower");
  const auto options = std::make_shared<command_options>();
  add_options(*command, *options);
  const std::shared_ptr<const common_options> common =
      add_common(*command, {"text", "json", "csv", "plan"});
  command->callback([common, options] {
    const auto across = from_name<analysis::compared_dimension>(options->compare.dimension);
    if (common->format == "plan" && across != analysis::compared_dimension::backend)
      throw usage_error("--format=plan: is for --across=backend");
    if (across && analysis::compares_equals(*across)) {
      compare_all_files(*options, *common, *across);
    } else {
      compare_two_sides(*options, *common);
    }
  });
}

}  // namespace layerbench::tool
