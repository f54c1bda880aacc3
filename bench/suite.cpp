// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include "suite.hpp"

#include <cstdio>
#include <set>
#include <span>
#include <string>

#include <layerbench/op/list.hpp>
#include <layerbench/predict/contention.hpp>
#include <layerbench/predict/peaks.hpp>
#include <layerbench/predict/validation.hpp>
#include <layerbench/report/peaks.hpp>
#include <layerbench/report/prediction.hpp>
#include <layerbench/report/validation.hpp>
#include <layerbench/run/main.hpp>

namespace {

/// Prints what the rows add up to: below them, or on stderr where stdout is for a machine.
void print_predictions(const layerbench::result::results& results,
                       const layerbench::run::options& o, bool machine_format) {
  using namespace layerbench;
  const auto predictions = predict::predict(std::span(&results, 1));
  std::string machine = results.device();
  std::set<std::string> backends;
  for (const result::measurement& row : results.rows) backends.insert(row.name.owner.backend);
  for (const std::string& each : backends) {
    if (const auto version = results.said(each + "_version"))
      machine += ", " + each + ' ' + *version;
    if (const auto isa = results.said(each + "_isa")) machine += ' ' + *isa;
  }
  std::FILE* out = machine_format ? stderr : stdout;
  fmt::print(out, "\non {}\n\n{}{}", machine, report::text(predictions),
             report::text(predict::contentions(std::span(&results, 1))));
  if (!results.chains.empty()) {
    const predict::options models{.models = o.models, .shapes = o.shapes};
    fmt::print(out, "\n{}", report::text(predict::validate(std::span(&results, 1), models)));
  }
}

/// Prints what the rows show of this machine, likewise.
void print_peaks(const layerbench::result::results& results, const layerbench::run::options& /*o*/,
                 bool machine_format) {
  using namespace layerbench;
  fmt::print(machine_format ? stderr : stdout, "\n{}", report::text(predict::peaks_in({&results})));
}

}  // namespace

int run_suite(int argc, char** argv, const layerbench::run::program& what,
              const layerbench::run::company_maker& make_company) {
  using namespace layerbench;
  run::epilogue after;
  if (what.whole_model()) after = &print_predictions;
  if (what.peaks) after = &print_peaks;
  return run::main(argc, argv, what, op::builtin{}, after, built_backends{}, make_company);
}
