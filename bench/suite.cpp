// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include "suite.hpp"

#include <cstdio>
#include <set>
#include <span>
#include <string>

#include <fmt/format.h>

#include <layerbench/analysis/predict/text.hpp>
#include <layerbench/analysis/predict/validation.hpp>
#include <layerbench/analysis/predict/validation_text.hpp>
#include <layerbench/analysis/roofline/peaks.hpp>
#include <layerbench/analysis/roofline/peaks_text.hpp>
#include <layerbench/analysis/scaling/contention.hpp>
#include <layerbench/cli/main.hpp>
#include <layerbench/op/list.hpp>

namespace {

/// Prints what the rows add up to: below them, or on stderr where stdout is for a machine.
void print_predictions(const layerbench::result::results& results,
                       const layerbench::run::options& o, bool machine_format) {
  using namespace layerbench;
  const auto predictions = analysis::predict(std::span(&results, 1));
  std::string machine = results.device();
  std::set<std::string> backends;
  for (const result::measurement& row : results.rows)
    backends.insert(row.name.configuration.backend);
  for (const std::string& backend : backends) {
    if (const auto version = results.context_value(backend + "_version"))
      machine += ", " + backend + ' ' + *version;
    if (const auto isa = results.context_value(backend + "_isa")) machine += ' ' + *isa;
  }
  std::FILE* out = machine_format ? stderr : stdout;
  fmt::print(out, "\non {}\n\n{}{}", machine, report::text(predictions),
             report::text(analysis::contentions(std::span(&results, 1))));
  if (!results.chains.empty()) {
    const analysis::options models{.models = o.models, .shapes = o.shapes};
    fmt::print(out, "\n{}", report::text(analysis::validate(std::span(&results, 1), models)));
  }
}

/// Prints what the rows show of this machine, likewise.
void print_peaks(const layerbench::result::results& results, const layerbench::run::options& /*o*/,
                 bool machine_format) {
  using namespace layerbench;
  fmt::print(machine_format ? stderr : stdout, "\n{}",
             report::text(analysis::peaks_in({&results})));
}

}  // namespace

int run_suite(int argc, char** argv, const layerbench::run::program& what,
              const layerbench::run::communicator_factory& make_communicator) {
  using namespace layerbench;
  run::epilogue after;
  if (what.whole_model()) after = &print_predictions;
  if (what.peaks) after = &print_peaks;
  return run::main(argc, argv, what, op::builtin{}, after, built_backends{}, make_communicator);
}
