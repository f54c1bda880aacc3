// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <memory>

#include <layerbench/report/markdown.hpp>
#include <layerbench/report/page.hpp>
#include <layerbench/report/report_data.hpp>

#include "commands.hpp"

namespace layerbench::tool {
namespace {

struct report_options {
  std::vector<std::string> files;
  std::vector<std::string> peaks;
  analysis::options predict;
};

}  // namespace

void add_report(CLI::App& app) {
  CLI::App* command = app.add_subcommand(
      "report", "Shows result files on one page: predictions, layers, validation, history");
  const auto options = std::make_shared<report_options>();
  command->add_option("results", options->files, "Result files of the benchmark programs")
      ->required();
  add_prediction_options(*command, options->predict);
  add_peaks(*command, options->peaks);
  const std::shared_ptr<const common_options> common = add_common(*command, {"html", "markdown"});
  command->callback([command, common, options] {
    options->predict.shapes = common->shapes;
    const std::vector<result::results> files = read_results(options->files);
    const std::vector<result::results> peaks = read_peaks(options->peaks);
    options->predict.peaks = peaks;
    const report::report_data all = report::report_data_of(files, options->predict);
    const bool markdown = command->count("--format") > 0 ? common->format == "markdown"
                                                         : common->output.ends_with(".md");
    write(*common, markdown ? report::markdown(all) : report::page(all));
    if (!common->output.empty() && common->output != "-")
      note("the report is in " + common->output);
    if (options->predict.allow_partial) return;
    require_complete(all.predictions, files);
    require_complete(all.validation);
  });
}

}  // namespace layerbench::tool
