// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <span>

#include <layerbench/op/list.hpp>
#include <layerbench/predict/predictor.hpp>
#include <layerbench/report/prediction.hpp>
#include <layerbench/run/main.hpp>

namespace {

/// Prints what the rows add up to: below them, or on stderr where stdout is for a machine.
void print_predictions(const layerbench::result::results& results, bool machine_format) {
  using namespace layerbench;
  constexpr std::size_t heaviest_layers = 10;
  const auto predictions = predict::predict(std::span(&results, 1));
  fmt::print(machine_format ? stderr : stdout, "\n{}", report::text(predictions, heaviest_layers));
}

}  // namespace

int main(int argc, char** argv) {
  using namespace layerbench;
  return run::main(argc, argv,
                   {.name = "bench_model",
                    .purpose = "Times every layer of deep-learning models and predicts the models.",
                    .whole_model = true},
                   op::builtin{}, &print_predictions);
}
