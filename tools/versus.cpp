// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <layerbench/analysis/compare/json.hpp>
#include <layerbench/analysis/compare/paired_ratio.hpp>
#include <layerbench/analysis/compare/text.hpp>
#include <layerbench/base/error.hpp>
#include <layerbench/base/json.hpp>
#include <layerbench/report/markdown.hpp>

#include "commands.hpp"
#include "paired_run.hpp"

namespace layerbench::tool {
namespace {

std::string render(const paired_run& both, const analysis::comparison& all,
                   const std::string& format, const analysis::layers_shown& shown) {
  if (format == "csv") return tool::render(all, format, shown);
  if (format == "text") return both.text(all) + tool::render(all, format, shown);
  if (format == "markdown") {
    return report::markdown(all, "layerbench versus",
                            both.text(all) + analysis::comparison_header(all), shown);
  }
  json::value result = analysis::to_json(all);
  result["versus"] = both.to_json(all);
  return json_text(result);
}

void versus(const paired_run_options& chosen, const common_options& common,
            const std::vector<std::string>& words) {
  two_variants variants = variants_of(chosen, words);
  paired_run both(chosen, std::move(variants));
  both.measure([](const analysis::comparison& all) { return all.sure; });
  constexpr std::size_t least = 2;
  const bool too_few = both.rounds() < std::min(analysis::min_pairs, chosen.rounds);
  const auto stopped = [&] {
    const std::string at = fmt::format("after {} of {} rounds", both.rounds(), chosen.rounds);
    if (both.interrupted()) return error("interrupted " + at, exit_code::interrupted);
    return error(fmt::format("--max-time ended the run {}; fewer than {} give no verdict", at,
                             analysis::min_pairs),
                 exit_code::incomplete);
  };
  if (both.rounds() < least) throw stopped();
  const analysis::comparison all = both.compared();
  both.note_without_effect(all);
  write(common, render(both, all, common.format, chosen.compare.shown));
  if (both.interrupted() || too_few) throw stopped();
  require_no_regression(all, chosen.compare);
}

void add_options(CLI::App& command, paired_run_options& chosen) {
  add_pair_options(command, chosen);
  command.add_flag("--every-round", chosen.every_round,
                   "Run all rounds, even if every verdict is sure before");
  command
      .add_option("--keep", chosen.keep,
                  "Directory, new or empty, for the result files old_1.json, new_1.json, ...")
      ->type_name("DIR");
  add_compare_options(command, chosen.compare, /*of_equals=*/false);
  add_output_options(command, chosen);
}

}  // namespace

void add_versus(CLI::App& app, const std::vector<std::string>& words) {
  CLI::App* command = app.add_subcommand(
      "versus", "Runs two benchmark commands alternately, several times, and compares them");
  command->footer(
      "layerbench versus [OPTIONS] -- OLD COMMAND -- NEW COMMAND\n"
      "A command may begin with variables: LD_LIBRARY_PATH=/opt/new bench_model --model=resnet50\n"
      "{out} in a command is the file that it writes: pytest --benchmark-json={out}");
  const auto options = std::make_shared<paired_run_options>();
  options->compare.paired = true;
  add_options(*command, *options);
  const std::shared_ptr<const common_options> common =
      add_common(*command, {"text", "json", "csv", "markdown"}, words);
  command->callback([common, options, words] { versus(*options, *common, words); });
}

}  // namespace layerbench::tool
