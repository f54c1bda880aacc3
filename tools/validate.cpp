// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <memory>

#include <fmt/format.h>

#include <layerbench/analysis/predict/validation.hpp>
#include <layerbench/analysis/predict/validation_json.hpp>
#include <layerbench/analysis/predict/validation_text.hpp>

#include "commands.hpp"

namespace layerbench::tool {
namespace {

struct validate_options {
  std::vector<std::string> files;
  analysis::options predict;
};

std::string render(const analysis::validation& all, const std::string& format) {
  if (format == "csv") return csv(analysis::records(all));
  if (format == "text") return analysis::text(all);
  return json_text(analysis::to_json(all));
}

}  // namespace

void require_complete(const analysis::validation& all) {
  std::string left_out;
  for (const analysis::unvalidated& other : all.left_out) {
    left_out += fmt::format("\n  {}: {}", other.configuration.text(), other.reason);
  }
  if (!left_out.empty()) throw error("not validated:" + left_out, exit_code::incomplete);
}

void add_validate(CLI::App& app) {
  CLI::App* command =
      app.add_subcommand("validate", "Holds predictions against measured steps of whole models");
  const auto options = std::make_shared<validate_options>();
  command
      ->add_option("results", options->files, "Result files that have steps (bench_model --chain)")
      ->required();
  command
      ->add_option("--model", options->predict.models,
                   "Models, or paths of shape files [all that the results have]")
      ->type_name("NAME|FILE")
      ->delimiter(',')
      ->allow_extra_args(false);
  command
      ->add_option("--cache", options->predict.cache,
                   "State of the timings to add up [model where it was measured, else hot]")
      ->check(CLI::IsMember({"hot", "model"}));
  const std::shared_ptr<const common_options> common = add_common(*command);
  command->callback([common, options] {
    const std::vector<result::results> files = read_results(options->files);
    options->predict.shapes = common->shapes;
    const analysis::validation all = analysis::validate(files, options->predict);
    if (all.cases.empty() && all.left_out.empty()) {
      throw nothing_matched("no chain of what was chosen; " + analysis::list_configurations(files));
    }
    write(*common, render(all, common->format));
    require_complete(all);
  });
}

}  // namespace layerbench::tool
