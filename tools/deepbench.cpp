// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <iterator>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>

#include <layerbench/analysis/deepbench/deepbench.hpp>
#include <layerbench/base/error.hpp>
#include <layerbench/base/program_path.hpp>
#include <layerbench/model/find.hpp>
#include <layerbench/model/shape_file.hpp>

#include "commands.hpp"

namespace layerbench::tool {
namespace {

struct deepbench_options {
  std::vector<std::string> files;
  std::vector<std::string> sweeps;
};

/// The sweeps asked for; else those of the shapes that have rows in `files`.
std::vector<model::graph> sweeps_of(const std::vector<result::results>& files,
                                    const std::vector<std::string>& wanted,
                                    const std::string& shapes) {
  std::vector<model::graph> sweeps;
  for (const std::string& name : wanted) {
    sweeps.push_back(model::load(model::find(name, shapes)));
    if (!is_sweep(sweeps.back())) {
      throw usage_error(
          fmt::format("--model: '{}' is a model, not a sweep; '{} list --sweeps' shows those "
                      "that come with it",
                      sweeps.back().name, program_path("layerbench")));
    }
  }
  if (!wanted.empty()) return sweeps;
  std::set<std::string> measured;
  for (const result::results& file : files) {
    for (const result::measurement& row : file.rows) measured.insert(row.name.model_case.model);
  }
  for (const std::string& name : model::list(shapes, "sweeps")) {
    if (measured.contains(name)) sweeps.push_back(model::load(model::find(name, shapes)));
  }
  return sweeps;
}

std::string render(const std::vector<analysis::deepbench_result>& all, const std::string& format) {
  if (format == "csv") return csv(analysis::records(all));
  return format == "json" ? json_text(analysis::to_json(all)) : analysis::text(all);
}

}  // namespace

void add_deepbench(CLI::App& app) {
  CLI::App* command =
      app.add_subcommand("deepbench", "Prints timings of sweeps in DeepBench's columns");
  const auto options = std::make_shared<deepbench_options>();
  command->add_option("results", options->files, "Result files of the benchmark programs")
      ->required();
  add_values(*command, "--model", "NAME|FILE", options->sweeps,
             "Sweeps, by name or path of a shape file [all that were measured]");
  const std::shared_ptr<const common_options> common = add_common(*command);
  command->callback([common, options] {
    const std::vector<result::results> files = read_results(options->files);
    std::vector<analysis::deepbench_result> all;
    for (const model::graph& sweep : sweeps_of(files, options->sweeps, common->shapes)) {
      std::ranges::move(analysis::deepbench_results(files, sweep), std::back_inserter(all));
    }
    if (all.empty()) {
      throw nothing_matched(
          "no hot timing of a sweep; measure one, for example: bench_conv "
          "--model=deepbench_training --benchmark_out=FILE");
    }
    write(*common, render(all, common->format));
  });
}

}  // namespace layerbench::tool
