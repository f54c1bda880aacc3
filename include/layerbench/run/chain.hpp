// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <layerbench/model/reuse.hpp>
#include <layerbench/result/name.hpp>
#include <layerbench/run/arena.hpp>
#include <layerbench/run/device.hpp>
#include <layerbench/run/test_data.hpp>

namespace layerbench::run {

/// A model's step run as it is: the plans of all its layers in graph order, each on weights of its
/// own, reading what the layers before have written. The truth that predictions are held against.
class chain {
 public:
  /// Throws `unsupported` where a layer has no plan.
  chain(std::shared_ptr<arena> memory, const model::graph& graph, const model::step_memory& step,
        const plan_request& request, std::uint64_t seed)
      : memory_(std::move(memory)) {
    make_plans(graph, request);
    make_tensors(graph, step);
    for (std::size_t i = 0; i < graph.layers.size(); ++i) {
      std::vector<address> places = weights_of(i, seed);
      std::size_t source = 0;
      for (std::size_t j = 0; j < plans_[i]->operands().size(); ++j) {
        const op::role role = plans_[i]->operands()[j].logical.role;
        if (role == op::role::source) {
          const std::size_t from = graph.layers[i].inputs[source++];
          places[j] =
              from == model::model_input ? input_->data() : tensors_.at(step.tensor(from))->data();
        }
        if (role == op::role::destination) places[j] = tensors_.at(step.tensor(i))->data();
      }
      calls_.push_back(plans_[i]->bind(places, memory_->workspace(plans_[i]->workspace_bytes())));
    }
  }

  /// Bytes of weights, activations and input.
  [[nodiscard]] std::size_t bytes() const { return bytes_; }

  [[nodiscard]] int threads() const { return memory_->here().threads(); }
  void activate() { memory_->here().activate(); }

  /// Writes a fresh input; untimed.
  void ready() {
    const auto* pool = static_cast<std::byte*>(memory_->constants({2 * input_bytes_, false}));
    input_offset_ = (input_offset_ + 4096) % (input_bytes_ + 1) / 64 * 64;
    memory_->here().copy(input_->data(), const_cast<std::byte*>(pool) + input_offset_,
                         input_bytes_);
    memory_->here().synchronize();
  }

  /// Runs the step `times` times, to the end.
  void call(std::int64_t times) {
    for (std::int64_t i = 0; i < times; ++i) {
      for (const auto& each : calls_) each->run();
    }
    memory_->here().synchronize();
  }

 private:
  void make_plans(const model::graph& graph, const plan_request& request) {
    std::map<std::string, std::shared_ptr<any_plan>> by_work;
    for (const model::layer& each : graph.layers) {
      auto& made = by_work[fmt::format("{}/{}", each.op.name(), each.op.key())];
      if (!made) made = memory_->here().plan(each.op, request);
      plans_.push_back(made);
    }
  }

  void make_tensors(const model::graph& graph, const model::step_memory& step) {
    std::map<std::size_t, std::size_t> bytes;  // a reader may see more of a tensor than its writer
    for (std::size_t i = 0; i < graph.layers.size(); ++i) {
      std::size_t source = 0;
      for (const plan_operand& each : plans_[i]->operands()) {
        if (each.logical.role == op::role::destination) {
          std::size_t& size = bytes[step.tensor(i)];
          size = std::max(size, each.bytes);
        }
        if (each.logical.role == op::role::source) {
          const std::size_t from = graph.layers[i].inputs[source++];
          std::size_t& size = from == model::model_input ? input_bytes_ : bytes[step.tensor(from)];
          size = std::max(size, each.bytes);
        }
      }
    }
    for (const auto& [tensor, size] : bytes) tensors_[tensor] = allocate(size);
    input_ = allocate(input_bytes_);
  }

  std::unique_ptr<device_memory> allocate(std::size_t bytes) {
    bytes_ += bytes;
    return memory_->here().allocate(bytes);
  }

  /// Memory and test data for the weights and statistics of layer `i`; scaled so that activations
  /// keep their magnitude from layer to layer (He et al., Delving Deep into Rectifiers, 2015).
  std::vector<address> weights_of(std::size_t i, std::uint64_t seed) {
    const auto& operands = plans_[i]->operands();
    std::vector<address> places(operands.size(), nullptr);
    for (std::size_t j = 0; j < operands.size(); ++j) {
      const op::operand& logical = operands[j].logical;
      if (logical.role != op::role::weights && logical.role != op::role::statistics) continue;
      weights_.push_back(allocate(operands[j].bytes));
      places[j] = weights_.back()->data();
      std::vector<float> values = random_values(logical, operand_seed(seed + weights_.size(), j));
      const dims& out = operands.back().logical.extents;
      const auto fan_in = static_cast<double>(values.size()) / static_cast<double>(out.at(1));
      if (logical.extents.size() > 1) {
        const double scale = std::sqrt(6 / std::max(1.0, fan_in));
        for (float& v : values)
          v = static_cast<float>(round_to(logical.type, v * scale, logical.quantum));
      }
      plans_[i]->upload(j, values, places[j]);
    }
    return places;
  }

  std::shared_ptr<arena> memory_;
  std::vector<std::shared_ptr<any_plan>> plans_;                   ///< of the layers
  std::map<std::size_t, std::unique_ptr<device_memory>> tensors_;  ///< by layer that owns it
  std::vector<std::unique_ptr<device_memory>> weights_;
  std::unique_ptr<device_memory> input_;
  std::size_t input_bytes_ = 0;
  std::size_t input_offset_ = 0;
  std::size_t bytes_ = 0;
  std::vector<std::unique_ptr<bound_plan>> calls_;  ///< of the layers
};

/// A model run whole beside its rows.
struct chain_plan {
  result::case_name owner;
  std::function<std::unique_ptr<chain>()> make;
};

}  // namespace layerbench::run
