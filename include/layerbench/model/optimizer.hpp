// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include <fmt/format.h>

#include <layerbench/op/update.hpp>

namespace layerbench::model {

/// How a training step updates its weights.
struct training {
  op::update_rule rule = op::update_rule::momentum;
  bool fused = false;  ///< one update of all weights instead of one per tensor
  double rate = 1e-5;  ///< small: random images with random labels would make weights grow
  bool zeroed =
      false;  ///< gradients are kept, set to 0 and added to; else each step writes new ones
  std::int64_t ranks = 1;  ///< that train together and add up their gradients, bucket by bucket
};

/// The settings that change a step's time, as result files record them: "momentum", "adam, fused,
/// zeroed".
[[nodiscard]] inline std::string text(const training& how) {
  return fmt::format("{}{}{}", name(how.rule), how.fused ? ", fused" : "",
                     how.zeroed ? ", zeroed" : "");
}

/// The inverse of text(). Missing and unknown settings get their defaults.
[[nodiscard]] inline training training_of(std::string_view text) {
  training how;
  how.rule = from_name<op::update_rule>(text.substr(0, text.find(','))).value_or(how.rule);
  how.fused = text.find(", fused") != std::string_view::npos;
  how.zeroed = text.find(", zeroed") != std::string_view::npos;
  return how;
}

}  // namespace layerbench::model
