// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <functional>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include <layerbench/analysis/base/repeated_rounds.hpp>
#include <layerbench/analysis/validate/json.hpp>
#include <layerbench/analysis/validate/text.hpp>
#include <layerbench/analysis/validate/validation.hpp>

#include "commands.hpp"

namespace layerbench::tool {
namespace {

/// Orders of the cases: as in the files; by error, whatever its sign, and by measured time, largest
/// first; by name.
enum class case_order : std::uint8_t { file, error, time, name };

constexpr std::array<std::string_view, 4> list_names(case_order /*tag*/) {
  return {"file", "error", "time", "name"};
}

struct validate_options {
  std::vector<std::string> files;
  std::vector<std::string> engines;
  std::vector<std::string> engine_overheads;
  analysis::options predict;
  case_order order = case_order::file;
};

void sort_cases(std::vector<analysis::validated>& cases, case_order by) {
  using analysis::validated;
  const auto error = [](const validated& one) { return std::abs(one.error()); };
  const auto time = [](const validated& one) { return one.measured.seconds; };
  const auto name = [](const validated& one) { return one.predicted.model_case.text(); };
  switch (by) {
    case case_order::file: break;
    case case_order::error: std::ranges::stable_sort(cases, std::ranges::greater{}, error); break;
    case case_order::time: std::ranges::stable_sort(cases, std::ranges::greater{}, time); break;
    case case_order::name: std::ranges::stable_sort(cases, {}, name); break;
  }
}

std::string render(const analysis::validation& all,
                   const std::vector<analysis::engine_validation>& engines,
                   const std::vector<std::string>& notes, const std::string& format) {
  if (format == "csv") return csv(analysis::records(all, engines));
  const bool has_chains = !all.cases.empty() || !all.left_out.empty();
  if (format == "text") {
    return (has_chains ? analysis::text(all) + (engines.empty() ? "" : "\n") : "") +
           analysis::text(engines);
  }
  json::value result = analysis::to_json(all);
  result["notes"] = notes;
  if (!engines.empty()) result["engines"] = analysis::to_json(engines);
  return json_text(result);
}

bool has_chains(const std::vector<result::results>& files) {
  return std::ranges::any_of(files, [](const auto& file) { return !file.chains.empty(); });
}

}  // namespace

void require_complete(const analysis::validation& all) {
  std::string left_out;
  for (const analysis::unvalidated& other : all.left_out) {
    left_out += fmt::format("\n  {}: {}", other.model_case.text(), other.reason);
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
  add_values(*command, "--model", "NAME|FILE", options->predict.models,
             "Models, or paths of shape files [all that the results have]");
  command
      ->add_option("--cache", options->predict.cache,
                   "State of the timings to add up [model where it was measured, else hot]")
      ->check(CLI::IsMember({"hot", "model"}));
  CLI::Option* engine =
      add_values(*command, "--engine", "FILE", options->engines,
                 "Result files of tools/engines.py: also compare the predictions with the steps of "
                 "these engines; FILE then needs no chains\n--engine=engines.json");
  add_engine_overheads(*command, options->engine_overheads)->needs(engine);
  add_order(*command, "cases", options->order);
  const std::shared_ptr<const common_options> common = add_common(*command);
  command->callback([common, options] {
    const std::vector<result::results> files = read_results(options->files);
    const std::vector<result::results> engine_files = read_files(options->engines);
    const std::vector<result::results> overheads = read_engine_overheads(options->engine_overheads);
    options->predict.shapes = common->shapes;
    analysis::validation all;
    std::vector<analysis::engine_validation> engines;
    if (engine_files.empty() || has_chains(files)) {
      all = analysis::validate(files, options->predict);
    }
    if (!engine_files.empty()) {
      engines = analysis::validate_engines(files, engine_files, options->predict, overheads);
    }
    if (all.cases.empty() && all.left_out.empty() && engines.empty()) {
      throw nothing_matched("no chain of what was chosen; " + analysis::list_cases(files));
    }
    sort_cases(all.cases, options->order);
    for (analysis::engine_validation& one : engines) sort_cases(one.pairs.cases, options->order);
    std::vector<std::string> notes = analysis::notes_of(analysis::group_of(files));
    std::ranges::move(analysis::notes_of(analysis::group_of(engine_files)),
                      std::back_inserter(notes));
    for (const analysis::engine_validation& one : engines) {
      for (const std::string& other : analysis::notes_on_engine(one.engine, files, engine_files)) {
        note(other);
        notes.push_back(other);
      }
    }
    write(*common, render(all, engines, notes, common->format));
    for (const analysis::engine_validation& one : engines) {
      std::ranges::copy(one.pairs.left_out, std::back_inserter(all.left_out));
    }
    require_complete(all);
  });
}

}  // namespace layerbench::tool
