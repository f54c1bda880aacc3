// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <layerbench/base/units.hpp>
#include <layerbench/model/graph.hpp>
#include <layerbench/model/step.hpp>

/// What a model's step does to the caches: which memory each layer touches, and how much of it
/// between two uses of the same bytes (the reuse distance).
namespace layerbench::model {

/// A source of a layer as it is when the layer runs.
struct input_state {
  std::size_t producer;   ///< position in graph order, or model_input
  std::int64_t distance;  ///< bytes touched since the layer that used it last; 0: just before
};

/// The state of a layer's operands when it runs in its model. Weights, and what it writes, were
/// used one step ago: the whole footprint lies between.
struct surroundings {
  std::int64_t footprint = 0;  ///< distinct bytes that a step touches
  std::vector<input_state> inputs;
  bool in_place = false;  ///< writes over its first source

  /// Timings made in surroundings of equal signature may serve one another: sizes count in steps
  /// of a sixth of a decade, within 21 % of the truth.
  [[nodiscard]] std::string signature() const {
    const auto size = [](std::int64_t bytes) {
      const double sixths = std::round(6 * std::log10(static_cast<double>(bytes)));
      std::string text = units::si(std::pow(10.0, sixths / 6), "B");
      std::erase(text, ' ');
      return text;
    };
    constexpr std::int64_t next_to_nothing = 4096;
    std::string text = "step:" + size(footprint);
    for (const input_state& each : inputs) {
      text += each.distance < next_to_nothing ? ",src:fresh" : ",src:" + size(each.distance);
    }
    if (in_place) text += ",in_place";
    return text;
  }
};

/// The memory of one inference step: every layer writes to memory of its own, but those of
/// `in_place` ops, which write over their source where nobody else reads it.
class step_memory {
 public:
  step_memory(const graph& g, dtype type, const std::set<std::string, std::less<>>& in_place)
      : graph_(g), type_(type) {
    std::vector<int> readers(g.layers.size(), 0);
    for (const layer& each : g.layers) {
      for (const std::size_t input : each.inputs) {
        if (input != model_input) ++readers[input];
      }
    }
    for (std::size_t i = 0; i < g.layers.size(); ++i) {
      const std::size_t source = g.layers[i].inputs.front();
      const bool overwrites = in_place.contains(g.layers[i].op.name()) && source != model_input &&
                              readers[source] == 1 && bytes_of(source, false) == bytes_of(i, false);
      tensor_.push_back(overwrites ? tensor_[source] : i);
      in_place_.push_back(overwrites);
    }
    std::set<std::size_t> seen;
    for (std::size_t i = 0; i < g.layers.size(); ++i) footprint_ += touch(i, seen);
  }

  /// The layer in whose memory layer `i` writes: itself, or the one it overwrites.
  [[nodiscard]] std::size_t tensor(std::size_t i) const { return tensor_[i]; }
  [[nodiscard]] bool in_place(std::size_t i) const { return in_place_[i]; }
  /// Distinct bytes that a step touches.
  [[nodiscard]] std::int64_t footprint() const { return footprint_; }

  [[nodiscard]] surroundings around(std::size_t i) const {
    surroundings found{footprint_, {}, in_place_[i]};
    for (const std::size_t input : graph_.layers[i].inputs) {
      found.inputs.push_back({input, distance(i, tensor_of(input))});
    }
    return found;
  }

  /// The state in which layers that share their work find their operands most often.
  [[nodiscard]] surroundings usual(const primitive& shared) const {
    std::map<std::string, std::pair<int, surroundings>> seen;
    for (const std::size_t layer : shared.layers) {
      surroundings found = around(layer);
      std::string signature = found.signature();
      ++seen.try_emplace(std::move(signature), 0, std::move(found)).first->second.first;
    }
    const auto often = [](const auto& each) { return each.second.first; };
    return std::ranges::max_element(seen, {}, often)->second.second;
  }

 private:
  [[nodiscard]] std::size_t tensor_of(std::size_t producer) const {
    return producer == model_input ? model_input : tensor_[producer];
  }

  /// Bytes that layer `i` writes, or those of its weights and statistics.
  [[nodiscard]] std::int64_t bytes_of(std::size_t i, bool weights) const {
    std::vector<op::operand> operands = graph_.layers[i].op.operands(op::pass::fwd, type_);
    std::erase_if(operands, [&](const op::operand& each) {
      const bool activation = each.role == op::role::source || each.role == op::role::destination;
      return weights ? activation : each.role != op::role::destination;
    });
    return op::least_bytes(operands);
  }

  /// Bytes of the model's own input, as layer `i` reads it.
  [[nodiscard]] std::int64_t input_bytes(std::size_t i) const {
    for (const op::operand& each : graph_.layers[i].op.operands(op::pass::fwd, type_)) {
      if (each.role == op::role::source) return op::least_bytes({each});
    }
    return 0;
  }

  /// Bytes that layer `i` touches beside the tensors in `seen`, to which it adds its own.
  [[nodiscard]] std::int64_t touch(std::size_t i, std::set<std::size_t>& seen) const {
    std::int64_t bytes = bytes_of(i, true);
    for (const std::size_t input : graph_.layers[i].inputs) {
      if (!seen.insert(tensor_of(input)).second) continue;
      bytes += input == model_input ? input_bytes(i) : bytes_of(tensor_of(input), false);
    }
    if (seen.insert(tensor_[i]).second) bytes += bytes_of(tensor_[i], false);
    return bytes;
  }

  [[nodiscard]] bool touches(std::size_t i, std::size_t tensor) const {
    return tensor_[i] == tensor ||
           std::ranges::any_of(graph_.layers[i].inputs,
                               [&](std::size_t input) { return tensor_of(input) == tensor; });
  }

  /// Bytes touched between the last layer before `i` that used `tensor` and `i`.
  [[nodiscard]] std::int64_t distance(std::size_t i, std::size_t tensor) const {
    std::set<std::size_t> seen;
    std::int64_t bytes = 0;
    for (std::size_t k = i; k > 0 && !touches(k - 1, tensor); --k) bytes += touch(k - 1, seen);
    return bytes;
  }

  const graph& graph_;
  dtype type_;
  std::vector<std::size_t> tensor_;
  std::vector<bool> in_place_;
  std::int64_t footprint_ = 0;
};

}  // namespace layerbench::model
