// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <layerbench/model/step.hpp>
#include <layerbench/result/name.hpp>
#include <layerbench/run/arena.hpp>
#include <layerbench/run/device.hpp>
#include <layerbench/run/test_data.hpp>

namespace layerbench::run {

/// A model's step run as it is: the plans of all its calls in order, each on the tensors that it
/// has in the step. The truth that predictions are held against.
class chain {
 public:
  /// Throws `unsupported` where a call has no plan.
  chain(std::shared_ptr<arena> memory, const model::step& step, plan_request request,
        std::uint64_t seed)
      : memory_(std::move(memory)) {
    std::map<std::string, std::shared_ptr<any_plan>> by_work;
    for (const model::call& each : step.calls) {
      request.pass = each.pass;
      auto& made = by_work[model::work_of(each.op, each.pass)];
      if (!made) made = memory_->here().plan(each.op, request);
      plans_.push_back(made);
    }
    const std::vector<std::size_t> starts = lay_out(step);
    block_ = memory_->here().allocate(bytes_);
    for (std::size_t i = 0; i < plans_.size(); ++i) {
      std::vector<address> places;
      for (const std::size_t tensor : step.calls[i].tensors) places.push_back(at(starts[tensor]));
      calls_.push_back(plans_[i]->bind(places, memory_->workspace(plans_[i]->workspace_bytes())));
    }
    for (const model::kept_tensor& each : step.kept) {
      write(each.tensor, random_values(each.logical, operand_seed(seed, each.values)));
    }
  }

  /// Bytes of weights, activations and input.
  [[nodiscard]] std::size_t bytes() const { return bytes_; }

  [[nodiscard]] device& here() const { return memory_->here(); }
  [[nodiscard]] int threads() const { return here().threads(); }
  void activate() { memory_->here().activate(); }

  /// Writes fresh inputs; untimed.
  void ready() {
    constexpr std::size_t shift = 64;
    for (region& input : inputs_) {
      input.shift = (input.shift + shift) % (input.bytes / shift * shift + shift);
      auto* fresh =
          static_cast<std::byte*>(memory_->constants(2 * input.bytes + shift, false)) + input.shift;
      memory_->here().copy(at(input.start), fresh, input.bytes);
    }
    memory_->here().synchronize();
  }

  /// Writes a tensor, given in the row-major order of the first call that uses it.
  void write(std::size_t tensor, std::span<const float> values) {
    const use& first = first_uses_.at(tensor);
    plans_[first.call]->upload(first.operand, values, at(first.start));
  }
  /// Reads one likewise.
  [[nodiscard]] std::vector<float> read(std::size_t tensor) const {
    const use& first = first_uses_.at(tensor);
    const any_plan& plan = *plans_[first.call];
    const dims& extents = plan.operands()[first.operand].logical.extents;
    std::vector<float> values(static_cast<std::size_t>(elements(extents)));
    plan.download(first.operand, at(first.start), values);
    return values;
  }

  /// Steps after which the caches hold what they hold in an endless loop of steps: caches that
  /// adapt to how they are used need their own size several times over. One at least.
  [[nodiscard]] std::size_t steps_to_settle() const {
    return 1 + 2 * here().cache_bytes() / bytes_;
  }

  [[nodiscard]] std::size_t layers() const { return calls_.size(); }

  /// Runs the layers from `first` to the one before `end`, to their end.
  void run(std::size_t first, std::size_t end) {
    for (std::size_t i = first; i < end; ++i) calls_[i]->run();
    memory_->here().synchronize();
  }

 private:
  [[nodiscard]] address at(std::size_t offset) const {
    return static_cast<std::byte*>(block_->data()) + offset;
  }

  /// Where each tensor starts in one block: at a page of its own.
  std::vector<std::size_t> lay_out(const model::step& step) {
    std::vector<std::size_t> sizes(step.tensors, 0);
    for (std::size_t i = 0; i < plans_.size(); ++i) {
      const std::vector<plan_operand>& operands = plans_[i]->operands();
      for (std::size_t j = 0; j < operands.size(); ++j) {
        std::size_t& size = sizes[step.calls[i].tensors[j]];
        size = std::max(size, operands[j].bytes);  // a reader may see more than the writer
      }
    }
    constexpr std::size_t page = 4096;
    std::vector<std::size_t> starts;
    for (const std::size_t size : sizes) {
      starts.push_back(bytes_);
      bytes_ += (size + page - 1) / page * page;
    }
    for (std::size_t i = 0; i < step.inputs; ++i) inputs_.push_back({starts[i], sizes[i]});
    for (std::size_t i = 0; i < plans_.size(); ++i) {
      const std::vector<std::size_t>& tensors = step.calls[i].tensors;
      for (std::size_t j = 0; j < tensors.size(); ++j) {
        first_uses_.try_emplace(tensors[j], use{i, j, starts[tensors[j]]});
      }
    }
    return starts;
  }

  struct region {
    std::size_t start;  ///< in the block
    std::size_t bytes;
    std::size_t shift = 0;  ///< where in random memory its last values came from
  };
  struct use {
    std::size_t call;
    std::size_t operand;
    std::size_t start;  ///< in the block
  };

  std::shared_ptr<arena> memory_;
  std::vector<std::shared_ptr<any_plan>> plans_;  ///< of the calls
  std::unique_ptr<device_memory> block_;
  std::size_t bytes_ = 0;
  std::vector<region> inputs_;
  std::map<std::size_t, use> first_uses_;  ///< of each tensor
  std::vector<std::unique_ptr<bound_plan>> calls_;
};

/// A model run whole beside its rows.
struct chain_plan {
  result::case_name owner;
  std::function<std::unique_ptr<chain>()> make;
  std::vector<std::vector<std::size_t>> primitives = {};  ///< calls of each, as in the manifest
};

}  // namespace layerbench::run
