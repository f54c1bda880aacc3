// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <layerbench/analysis/compare/json.hpp>
#include <layerbench/base/error.hpp>

#include "commands.hpp"
#include "paired_run.hpp"

namespace layerbench::tool {
namespace {

std::string render(const paired_run& both, const analysis::comparison& all,
                   const std::string& format, const analysis::layers_shown& shown) {
  if (format == "csv") return tool::render(all, format, shown);
  if (format == "text") return both.text() + tool::render(all, format, shown);
  json::value result = analysis::to_json(all);
  result["versus"] = both.to_json();
  return json_text(result);
}

void versus(const paired_run_options& chosen, const common_options& common,
            const std::vector<std::string>& words) {
  two_variants variants = variants_of(words);
  paired_run both(chosen, std::move(variants));
  both.measure();
  constexpr std::size_t least = 2;
  const std::string stopped =
      fmt::format("interrupted after {} of {} rounds", both.rounds(), chosen.rounds);
  if (both.rounds() < least) throw error(stopped, exit_code::interrupted);
  const analysis::comparison all = both.compared();
  for (const std::string& variable : both.without_effect(all)) {
    note(
        fmt::format("{} changed nothing that the results record, such as a library's version or "
                    "instruction set; is its name right?",
                    variable));
  }
  write(common, render(both, all, common.format, chosen.compare.shown));
  if (both.interrupted()) throw error(stopped, exit_code::interrupted);
  require_no_regression(all, chosen.compare);
}

void add_options(CLI::App& command, paired_run_options& chosen) {
  command
      .add_option("--rounds", chosen.rounds,
                  "Pairs of processes; fewer than 3 give no verdict\n--rounds=12")
      ->check(CLI::Range(2, 1000))
      ->capture_default_str();
  command.add_option("--seed", chosen.seed, "Seed of the random order in each round")
      ->check(CLI::Range(std::int64_t{0}, std::numeric_limits<std::int64_t>::max()))
      ->capture_default_str();
  command
      .add_option("--keep", chosen.keep,
                  "Directory, new or empty, for the result files old_1.json, new_1.json, ...")
      ->type_name("DIR");
  command.add_flag("--verbose", chosen.verbose, "Show on stderr what the programs print");
  add_compare_options(command, chosen.compare, /*of_nodes=*/false);
}

}  // namespace

void add_versus(CLI::App& app, const std::vector<std::string>& words) {
  CLI::App* command = app.add_subcommand(
      "versus", "Runs two benchmark commands in turn, several times, and compares them");
  command->footer(
      "layerbench versus [OPTIONS] -- OLD COMMAND -- NEW COMMAND\n"
      "A command may begin with variables: LD_LIBRARY_PATH=/opt/new bench_model --model=resnet50");
  const auto options = std::make_shared<paired_run_options>();
  options->compare.paired = true;
  add_options(*command, *options);
  const std::shared_ptr<const common_options> common =
      add_common(*command, {"text", "json", "csv"}, words);
  command->callback([common, options, words] { versus(*options, *common, words); });
}

}  // namespace layerbench::tool
