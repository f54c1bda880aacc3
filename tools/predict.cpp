// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <memory>

#include <layerbench/predict/predictor.hpp>
#include <layerbench/report/prediction.hpp>
#include <layerbench/report/prediction_json.hpp>
#include <layerbench/result/google_json.hpp>

#include "commands.hpp"

namespace layerbench::tool {
namespace {

struct predict_options {
  std::vector<std::string> files;
  predict::options predict;
};

std::string render(const std::vector<predict::prediction>& predictions, const std::string& format) {
  if (format == "csv") return csv(report::records(predictions));
  if (format == "text") return report::text(predictions);
  // File names may hold any bytes; JSON may not.
  return report::to_json(predictions).dump(2, ' ', false, json::value::error_handler_t::replace) +
         '\n';
}

/// Says which files were kept apart, and why.
void explain_groups(const std::vector<result::results>& files) {
  const std::vector<predict::group> groups = predict::group_by_context(files);
  for (std::size_t i = 1; i < groups.size(); ++i) {
    const result::results& first = *groups.front().front();
    const result::results& other = *groups[i].front();
    fmt::print(stderr, "layerbench: {} and {} are not merged: they differ in {}\n", first.file,
               other.file, fmt::join(result::differing_context(first, other), ", "));
  }
}

/// Throws when a prediction lacks layers, naming them.
void require_complete(const std::vector<predict::prediction>& predictions) {
  std::string lacking;
  for (const predict::prediction& each : predictions) {
    if (each.missing.empty()) continue;
    lacking += fmt::format("\n  {}: {}", each.owner.text(), fmt::join(each.missing, " "));
  }
  if (lacking.empty()) return;
  throw error(
      "layers without a timing; measure them, or add up the others with --allow-partial:" + lacking,
      exit_code::incomplete);
}

}  // namespace

void add_predict(CLI::App& app) {
  CLI::App* command =
      app.add_subcommand("predict", "Predicts the throughput of models from timings of layers");
  const auto options = std::make_shared<predict_options>();
  command->add_option("results", options->files, "Result files of the benchmark programs")
      ->required();
  command
      ->add_option("--model", options->predict.models,
                   "Models, by name or path of a shape file; default: all that were planned")
      ->delimiter(',')
      ->allow_extra_args(false);
  command->add_flag("--allow-partial", options->predict.allow_partial,
                    "Add up what was measured although layers are missing");
  const std::shared_ptr<const common_options> common = add_common(*command);
  command->callback([common, options] {
    options->predict.shapes = common->shapes;
    std::vector<result::results> files;
    for (const std::string& each : options->files) files.push_back(result::read(each));
    explain_groups(files);
    const std::vector<predict::prediction> predictions = predict::predict(files, options->predict);
    write(*common, render(predictions, common->format));
    if (!options->predict.allow_partial) require_complete(predictions);
  });
}

}  // namespace layerbench::tool
