// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include "epilogues.hpp"

#include <cstdio>
#include <set>
#include <span>
#include <string>

#include <fmt/format.h>

#include <layerbench/analysis/base/peaks.hpp>
#include <layerbench/analysis/base/prediction.hpp>
#include <layerbench/analysis/base/predictor.hpp>
#include <layerbench/analysis/predict/text.hpp>
#include <layerbench/analysis/roofline/text.hpp>
#include <layerbench/analysis/scaling/contention.hpp>
#include <layerbench/analysis/scaling/text.hpp>
#include <layerbench/analysis/validate/text.hpp>
#include <layerbench/analysis/validate/validation.hpp>
#include <layerbench/base/plain_text.hpp>
#include <layerbench/base/program_path.hpp>
#include <layerbench/base/terminal.hpp>
#include <layerbench/op/builtin.hpp>

namespace layerbench::programs {

namespace {

std::string validation_text(const result::results& results, const run::options& o) {
  const analysis::options models{.models = o.models, .shapes = o.shapes};
  return analysis::text(analysis::validate(std::span(&results, 1), models));
}

}  // namespace

void print_predictions(const result::results& results, const run::options& o, bool machine_format) {
  const auto predictions =
      analysis::predict(std::span(&results, 1), {.models = {}, .shapes = o.shapes});
  std::string machine = results.device();
  std::set<std::string> backends;
  for (const result::measurement& row : results.rows) {
    backends.insert(row.name.model_case.backend);
    backends.emplace(op::backend_of_key(row.label.key));
  }
  for (const std::string& backend : backends) {
    if (const auto version = results.context_value(backend + "_version"))
      machine += ", " + backend + ' ' + *version;
    if (const auto isa = results.context_value(backend + "_isa")) machine += ' ' + *isa;
  }
  // Several cases get one table. `layerbench predict` prints a page of each from the file.
  const bool has_file = !o.out.empty() && o.out_format == "json";
  const bool in_full = predictions.size() == 1 || !has_file || o.wide;
  const bool has_chains = !results.chains.empty();
  std::string text = fmt::format("\non {}\n\n", machine);
  if (in_full) {
    text += analysis::text(predictions);
  } else if (!has_chains) {
    text += analysis::cases_text(predictions);
  }
  text += analysis::text(analysis::contentions(std::span(&results, 1)));
  if (has_chains) text += (in_full ? "\n" : "") + validation_text(results, o);
  if (!in_full)
    text += fmt::format("\nlayer by layer: {} predict {}\n", program_path("layerbench"), o.out);
  if (!machine_format) text = fitted(text, terminal_columns());
  print_plain(machine_format ? stderr : stdout, text);
}

void print_peaks(const result::results& results, const run::options& /*o*/, bool machine_format) {
  const std::string text = '\n' + analysis::text(analysis::peaks_in({&results}));
  print_plain(machine_format ? stderr : stdout,
              machine_format ? text : fitted(text, terminal_columns()));
}

}  // namespace layerbench::programs
