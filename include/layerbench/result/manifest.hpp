// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <layerbench/model/reuse_distance.hpp>
#include <layerbench/model/step.hpp>
#include <layerbench/op/op.hpp>
#include <layerbench/result/name.hpp>
#include <layerbench/shape/dtype.hpp>

namespace layerbench::result {

/// Memory traffic of one operand. An overwritten operand counts once, as written: a cache fetches a
/// line before it writes it, so reading it first adds no traffic.
struct operand_traffic {
  std::int64_t bytes;
  std::int64_t distance;  ///< bytes that the step touches between two uses of it
  bool written;
};

/// One distinct primitive of a case: an entry of the manifest.
struct planned {
  std::string layer;
  std::string op;
  std::string pass;
  std::string key;
  std::int64_t count = 1;
  bool inserted = false;   ///< added by the backend; not a layer of the model
  std::string state = {};  ///< signature of its operands' states in the model; empty: unknown
  /// Seconds per call by clocks inside a chain. They explain errors and never enter a prediction.
  std::optional<double> chain_seconds = {};
  model::step_part part = model::step_part::forward;
  std::vector<operand_traffic> traffic = {};  ///< in the operands' order; empty: unknown
  std::vector<std::string> layers = {};       ///< of the `count` calls; empty: unknown
  /// Share of the model's FLOPs that its import left out; the same in all entries of a step.
  std::optional<double> left_out = {};

  /// The same text as model::work_of.
  [[nodiscard]] std::string work() const { return fmt::format("{}/{}/{}", op, pass, key); }
};

/// The primitives of one step of each case, measured or not. The cases keep the order in which the
/// user named them.
class manifest {
 public:
  using entry = std::pair<case_name, std::vector<planned>>;

  /// The step of `model_case`; empty if it is new.
  std::vector<planned>& operator[](const case_name& model_case);

  void erase(const case_name& model_case) {
    std::erase_if(items_, [&](const entry& known) { return known.first == model_case; });
  }

  /// Adds the missing cases of `other`, and missing times by its clocks inside chains.
  void merge(const manifest& other) {
    for (const entry& added : other) {
      std::vector<planned>& step = (*this)[added.first];
      if (step.empty()) step = added.second;
      for (std::size_t i = 0; i < step.size() && step.size() == added.second.size(); ++i) {
        if (!step[i].chain_seconds) step[i].chain_seconds = added.second[i].chain_seconds;
      }
    }
  }

  void clear() { items_.clear(); }
  [[nodiscard]] bool empty() const { return items_.empty(); }
  [[nodiscard]] std::size_t size() const { return items_.size(); }
  [[nodiscard]] std::vector<entry>::iterator begin() { return items_.begin(); }
  [[nodiscard]] std::vector<entry>::iterator end() { return items_.end(); }
  [[nodiscard]] std::vector<entry>::const_iterator begin() const { return items_.begin(); }
  [[nodiscard]] std::vector<entry>::const_iterator end() const { return items_.end(); }

 private:
  std::vector<entry> items_;
};

/// The manifest's entry of a model's primitive.
[[nodiscard]] inline planned planned_of(const model::primitive& primitive) {
  planned result{primitive.layer,
                 std::string(primitive.op.name()),
                 std::string(op::name(primitive.pass)),
                 primitive.op.key(),
                 primitive.count(),
                 primitive.inserted};
  result.part = primitive.part;
  result.layers = primitive.layers;
  return result;
}

/// The same with the state of its operands in a step of that data type.
[[nodiscard]] inline planned planned_of(const model::primitive& primitive,
                                        const model::call_state& state, dtype type) {
  planned result = planned_of(primitive);
  result.state = state.signature();
  if (!primitive.after.empty()) result.state += ",after:" + primitive.after;
  const std::vector<op::operand> operands = primitive.op.operands(primitive.pass, type);
  for (std::size_t i = 0; i < operands.size(); ++i) {
    if (std::ranges::find(state.operands, std::optional(i), &model::operand_state::same_as) !=
        state.operands.end()) {
      continue;
    }
    result.traffic.push_back({op::least_bytes({operands[i]}),
                              state.operands.at(i).distance.value_or(state.footprint),
                              operands[i].role == op::role::destination});
  }
  return result;
}

inline std::vector<planned>& manifest::operator[](const case_name& model_case) {
  const auto found = std::ranges::find(items_, model_case, &entry::first);
  if (found != items_.end()) return found->second;
  return items_.emplace_back(model_case, std::vector<planned>{}).second;
}

}  // namespace layerbench::result
