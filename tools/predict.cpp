// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <charconv>
#include <memory>
#include <system_error>

#include <layerbench/predict/predictor.hpp>
#include <layerbench/report/prediction.hpp>
#include <layerbench/report/prediction_json.hpp>

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
  return json_text(report::to_json(predictions));
}

/// What is wrong with `text` as a number of seconds; nothing when it is one.
std::string check_seconds(const std::string& text) {
  double value = -1;
  const char* end = text.data() + text.size();
  const auto [rest, failed] = std::from_chars(text.data(), end, value);
  if (failed == std::errc() && rest == end && value >= 0 && value <= 1e6) return {};
  return "expected a number of seconds, such as 2e-6, found " + text;
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
  command
      ->add_option("--cache", options->predict.cache,
                   "State of the timings to add up; default: model where it was measured, else hot")
      ->check(CLI::IsMember({"hot", "model"}));
  command
      ->add_option("--overhead-per-layer", options->predict.overhead_per_layer,
                   "Seconds that your framework adds to each layer")
      ->check(check_seconds)
      ->capture_default_str();
  command
      ->add_option("--overhead-per-step", options->predict.overhead_per_step,
                   "Seconds that your framework adds to each step")
      ->check(check_seconds)
      ->capture_default_str();
  const std::shared_ptr<const common_options> common = add_common(*command);
  command->callback([common, options] {
    options->predict.shapes = common->shapes;
    const std::vector<result::results> files = read_results(options->files);
    const std::vector<predict::prediction> predictions = predict::predict(files, options->predict);
    write(*common, render(predictions, common->format));
    if (!options->predict.allow_partial) require_complete(predictions);
  });
}

}  // namespace layerbench::tool
