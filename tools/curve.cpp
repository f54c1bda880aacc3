// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <layerbench/analysis/base/predictor.hpp>
#include <layerbench/analysis/base/repeated_rounds.hpp>
#include <layerbench/analysis/curve/curve.hpp>
#include <layerbench/analysis/curve/json.hpp>
#include <layerbench/analysis/curve/text.hpp>
#include <layerbench/base/number_ranges.hpp>
#include <layerbench/base/program_path.hpp>
#include <layerbench/shape/dims.hpp>

#include "commands.hpp"

namespace layerbench::tool {
namespace {

struct curve_request {
  std::vector<std::string> files;
  analysis::options predict;
  analysis::curve_options wanted;
};

std::string render(const std::vector<analysis::curve>& curves,
                   const std::vector<std::string>& notes, const std::string& format) {
  if (format == "csv") return csv(analysis::records(curves));
  if (format == "text") return analysis::text(curves);
  json::value result = analysis::to_json(curves);
  result["notes"] = notes;
  return json_text(result);
}

}  // namespace

void add_curve(CLI::App& app) {
  CLI::App* command = app.add_subcommand(
      "curve", "Predicts steps at batches, or text lengths, between those that were measured");
  const auto options = std::make_shared<curve_request>();
  command
      ->add_option("results", options->files,
                   "Result files that have a model at two sizes or more (bench_model --curve)")
      ->required();
  add_values(*command, "--model", "NAME|FILE", options->predict.models,
             "Models, or paths of shape files [all that the results have]");
  command
      ->add_option_function<std::string>(
          "--over",
          [options](const std::string& axis) {
            options->wanted.over = from_name<analysis::size_axis>(axis);
          },
          "What the curves go over [all that have two sizes]\n--over=context")
      ->type_name("SIZE")
      ->check(CLI::IsMember(std::vector<std::string>(enum_names<analysis::size_axis>.begin(),
                                                     enum_names<analysis::size_axis>.end())));
  command
      ->add_option_function<std::vector<std::string>>(
          "--sizes",
          [options](const std::vector<std::string>& texts) {
            options->wanted.sizes = numbers_in(texts);
          },
          "Sizes, or ranges of them [from the least to the largest measured "
          "one]\n--sizes=1..64,128")
      ->type_name("N|N..N")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check([](const std::string& text) { return check_range(text, 0, max_size); });
  command
      ->add_option_function<double>(
          "--latency-limit",
          [options](const double& most) { options->wanted.most_seconds = most / 1e3; },
          "Also name the best size, or the longest context, whose interval ends within this "
          "time\n--latency-limit=100")
      ->type_name("MS")
      ->check([](const std::string& text) {
        return check_number(text, 1e-6, 1e9, "milliseconds, such as 100");
      });
  const std::shared_ptr<const common_options> common = add_common(*command);
  command->callback([common, options] {
    options->predict.shapes = common->shapes;
    const std::vector<result::results> files = read_results(options->files);
    const std::vector<analysis::prediction> predictions =
        analysis::predict(files, options->predict);
    options->wanted.chains = analysis::chains_in(files);
    const std::vector<analysis::curve> curves = analysis::curves_of(predictions, options->wanted);
    if (curves.empty()) {
      throw nothing_matched(
          fmt::format("a curve needs steps of two sizes; measure them: {} --curve --batch=1..64 "
                      "--benchmark_out=FILE; {}",
                      program_path("bench_model"), analysis::list_cases(files)));
    }
    write(*common, render(curves, analysis::notes_of(analysis::group_of(files)), common->format));
    require_complete(predictions, files);
  });
}

}  // namespace layerbench::tool
