// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
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

/// Bytes of an op's operands, in their order.
using operand_bytes = std::function<std::vector<std::int64_t>(const op::any&)>;

/// Without padding, as the op's sizes say.
[[nodiscard]] inline operand_bytes least_operand_bytes(dtype type) {
  return [type](const op::any& op) {
    std::vector<std::int64_t> bytes;
    for (const op::operand& each : op.operands(op::pass::fwd, type)) {
      bytes.push_back(op::least_bytes({each}));
    }
    return bytes;
  };
}

/// The memory of one inference step: every layer writes to memory of its own, but those of
/// `in_place` ops, which write over their source where nobody else reads it.
class step_memory {
 public:
  /// Of tensors of these `bytes`. `g` must outlive this.
  step_memory(const graph& g, dtype type, const std::set<std::string, std::less<>>& in_place,
              const operand_bytes& bytes)
      : graph_(g) {
    for (const layer& each : g.layers) add_sizes(each.op, type, bytes(each.op));
    std::vector<int> readers(g.layers.size(), 0);
    for (const layer& each : g.layers) {
      for (const std::size_t input : each.inputs) {
        if (input != model_input) ++readers[input];
      }
    }
    for (std::size_t i = 0; i < g.layers.size(); ++i) {
      const std::size_t source = g.layers[i].inputs.front();
      const bool overwrites = in_place.contains(g.layers[i].op.name()) && source != model_input &&
                              readers[source] == 1 &&
                              sizes_[source].destination == sizes_[i].destination;
      tensor_.push_back(overwrites ? tensor_[source] : i);
      in_place_.push_back(overwrites);
    }
    std::set<std::size_t> seen;
    for (std::size_t i = 0; i < g.layers.size(); ++i) footprint_ += touch(i, seen);
  }

  /// Of tensors without padding.
  step_memory(const graph& g, dtype type, const std::set<std::string, std::less<>>& in_place)
      : step_memory(g, type, in_place, least_operand_bytes(type)) {}

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
      const surroundings found = around(layer);
      ++seen.try_emplace(found.signature(), 0, found).first->second.first;
    }
    const auto often = [](const auto& each) { return each.second.first; };
    return std::ranges::max_element(seen, {}, often)->second.second;
  }

 private:
  [[nodiscard]] std::size_t tensor_of(std::size_t producer) const {
    return producer == model_input ? model_input : tensor_[producer];
  }

  struct sizes {
    std::int64_t weights = 0;  ///< and statistics
    std::int64_t source = 0;   ///< the first
    std::int64_t destination = 0;
  };

  void add_sizes(const op::any& op, dtype type, const std::vector<std::int64_t>& bytes) {
    sizes all;
    const std::vector<op::operand> operands = op.operands(op::pass::fwd, type);
    for (std::size_t i = 0; i < operands.size(); ++i) {
      switch (operands[i].role) {
        case op::role::weights:
        case op::role::statistics: all.weights += bytes.at(i); break;
        case op::role::source: all.source = all.source == 0 ? bytes.at(i) : all.source; break;
        case op::role::destination: all.destination += bytes.at(i); break;
      }
    }
    sizes_.push_back(all);
  }

  /// Bytes that layer `i` touches beside the tensors in `seen`, to which it adds its own.
  [[nodiscard]] std::int64_t touch(std::size_t i, std::set<std::size_t>& seen) const {
    std::int64_t bytes = sizes_[i].weights;
    for (const std::size_t input : graph_.layers[i].inputs) {
      if (!seen.insert(tensor_of(input)).second) continue;
      bytes += input == model_input ? sizes_[i].source : sizes_[tensor_of(input)].destination;
    }
    if (seen.insert(tensor_[i]).second) bytes += sizes_[tensor_[i]].destination;
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
  std::vector<sizes> sizes_;  ///< of each layer
  std::vector<std::size_t> tensor_;
  std::vector<bool> in_place_;
  std::int64_t footprint_ = 0;
};

}  // namespace layerbench::model
