// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include "suite.hpp"

#include <cstdio>
#include <span>

#include <layerbench/op/list.hpp>
#include <layerbench/predict/validation.hpp>
#include <layerbench/report/prediction.hpp>
#include <layerbench/report/validation.hpp>
#include <layerbench/run/main.hpp>

namespace {

/// Prints what the rows add up to: below them, or on stderr where stdout is for a machine.
void print_predictions(const layerbench::result::results& results, bool machine_format) {
  using namespace layerbench;
  const auto predictions = predict::predict(std::span(&results, 1));
  const auto fact = [&](std::string_view name) {
    const auto found = results.context.find(name);
    return found == results.context.end() ? std::string("none") : found->second;
  };
  std::FILE* out = machine_format ? stderr : stdout;
  fmt::print(out, "\non {}, oneDNN {} {}\n\n{}", fact("device"), fact("onednn_version"),
             fact("onednn_isa"), report::text(predictions));
  if (!results.chains.empty()) {
    fmt::print(out, "\n{}", report::text(predict::validate(std::span(&results, 1))));
  }
}

}  // namespace

int run_suite(int argc, char** argv, const layerbench::run::program& what) {
  using namespace layerbench;
  return run::main(argc, argv, what, op::builtin{},
                   what.whole_model() ? &print_predictions : run::epilogue());
}
