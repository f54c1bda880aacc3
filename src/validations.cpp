// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include "parts.hpp"

#include <span>
#include <string>

#include <layerbench/analysis/predict/validation.hpp>
#include <layerbench/analysis/predict/validation_text.hpp>

namespace layerbench::programs {

std::string validation_text(const result::results& results, const run::options& o) {
  const analysis::options models{.models = o.models, .shapes = o.shapes};
  return analysis::text(analysis::validate(std::span(&results, 1), models));
}

}  // namespace layerbench::programs
