// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <layerbench/backend/device.hpp>
#include <layerbench/cache_state/device_context.hpp>
#include <layerbench/cache_state/eviction.hpp>
#include <layerbench/cache_state/first_touch.hpp>
#include <layerbench/cache_state/ring_buffers.hpp>
#include <layerbench/model/step.hpp>
#include <layerbench/model/step_layout.hpp>
#include <layerbench/op/allreduce.hpp>
#include <layerbench/op/memory_order.hpp>
#include <layerbench/op/reorder.hpp>
#include <layerbench/op/test_data.hpp>
#include <layerbench/result/name.hpp>
#include <layerbench/session/data_parallel_group.hpp>

namespace layerbench::run {

/// A model's step, run end to end: the plans of all its calls in order, on the tensors of the step.
/// Predictions are validated against its time. Virtual functions are for chains that several ranks
/// run together (ranks/data_parallel.hpp).
class chain {
 public:
  /// Throws `unsupported` where a call has no plan.
  chain(std::shared_ptr<device_context> memory, const model::step& step, plan_request request,
        std::uint64_t seed)
      : memory_(std::move(memory)) {
    std::map<std::string, std::shared_ptr<any_plan>> by_work;
    for (const model::call& call : step.calls) {
      request.pass = call.pass;
      auto& plan = by_work[model::work_of(call.op, call.pass)];
      if (!plan) plan = device().plan(call.op, request);
      plans_.push_back(plan);
    }
    const model::step_layout layout(
        step, [&](std::size_t i) { return stored_bytes(plans_[i]->operands()); });
    bytes_ = layout.bytes;
    for (std::size_t i = 0; i < plans_.size(); ++i) widen_allreduce(i, step, layout, request);
    find_uses(step, layout);
    block_ = device().allocate(bytes_);
    for (std::size_t i = 0; i < layout.starts.size(); ++i)
      touch_in_parts(device(), {at(layout.starts[i]), layout.sizes[i]});
    for (const model::call& call : step.calls) {
      is_collective_.push_back(call.op.name() == op::allreduce::name);
      if (call.part != model::step_part::update) first_update_ = is_collective_.size();
    }
    for (const auto& plan : plans_) {
      workspace_bytes_ = std::max(workspace_bytes_, plan->workspace_bytes());
    }
    workspace_ = memory_->workspace(workspace_bytes_);
    for (std::size_t i = 0; i < plans_.size(); ++i) {
      std::vector<address> operands;
      for (const std::size_t tensor : step.calls[i].tensors) {
        operands.push_back(at(layout.starts[tensor]));
      }
      calls_.push_back(plans_[i]->bound_to(operands, workspace_->data()));
    }
    for (const model::kept_tensor& kept : step.kept) {
      if (!first_uses_.contains(kept.tensor)) continue;  // a cache that no call reads
      draw(kept, seed);
    }
    for (std::size_t i = 0; i < inputs_.size(); ++i) make_versions(i, seed);
    write_inputs();  // allocates memory, too
  }
  chain(const chain&) = delete;
  chain(chain&&) = default;
  chain& operator=(const chain&) = delete;
  chain& operator=(chain&&) = delete;
  virtual ~chain() = default;

  /// Bytes of all tensors of the step: input, activations, weights, gradients.
  [[nodiscard]] std::size_t bytes() const { return bytes_; }
  /// Bytes of scratch memory, which all calls share.
  [[nodiscard]] std::size_t workspace_bytes() const { return workspace_bytes_; }

  /// From now on collectives run in the background of `collectives`; the update waits for them.
  void overlap(background_collectives& collectives) { background_ = &collectives; }
  [[nodiscard]] bool overlaps() const { return background_ != nullptr; }
  /// Whether steps wait for other ranks.
  [[nodiscard]] virtual bool communicates() const { return false; }

  [[nodiscard]] compute_device& device() const { return memory_->device(); }
  [[nodiscard]] int threads() const { return device().threads(); }
  void activate() { device().activate(); }

  /// Writes fresh inputs, untimed. A whole step follows.
  virtual void set_up() {
    write_inputs();
    record_step();
  }

  /// Writes a tensor. `values` are in row-major order, as the first call that uses it sees them.
  void write(std::size_t tensor, std::span<const float> values) {
    const use& first = first_uses_.at(tensor);
    plans_[first.call]->upload(first.operand, values, at(first.start));
  }
  /// Reads a tensor in the same order.
  [[nodiscard]] std::vector<float> read(std::size_t tensor) const {
    const use& first = first_uses_.at(tensor);
    const any_plan& plan = *plans_[first.call];
    const dims& extents = plan.operands()[first.operand].logical.extents;
    std::vector<float> values(static_cast<std::size_t>(elements(extents)));
    plan.download(first.operand, at(first.start), values);
    return values;
  }

  /// Number of steps after which the caches hold what they hold in an endless loop of steps.
  [[nodiscard]] std::size_t warm_up_steps() const {
    // A margin for what is no tensor of the step: fresh inputs, code, buffers of the library.
    constexpr std::size_t margin = 4;
    const std::size_t all_cores = device().core_cache_bytes();
    const std::size_t one_core = all_cores / static_cast<std::size_t>(threads());
    // A step that stays in a private cache does not depend on what the shared one holds.
    const bool is_small = margin * (bytes_ + workspace_bytes_) <= one_core;
    return turns_that_warm(is_small ? all_cores : device().cache_bytes(), bytes_);
  }

  [[nodiscard]] std::size_t layers() const { return calls_.size(); }

  /// Runs the layers [first, end) and waits for them, unless the device's clock does. Background
  /// collectives end before the update. A device that records replays whole steps as a graph, from
  /// the second step on: in the first one libraries still load code. Parts of a step are enqueued
  /// call by call, since a graph has no room for clocks.
  virtual void run(std::size_t first, std::size_t end) {
    if (recorded_ && first == 0 && end == layers()) {
      recorded_->launch();
    } else {
      enqueue(first, end);
    }
    device().finish();
  }

 protected:
  void write_inputs() {
    constexpr std::size_t shift = 64;
    for (input_tensor& input : inputs_) {
      const std::size_t step = input.versions ? input.bytes : shift;
      const std::size_t steps = input.versions ? input_versions : input.bytes / shift + 1;
      input.offset = (input.offset + step) % (steps * step);
      const void* values =
          input.versions ? input.versions->data() : memory_->constants(2 * input.bytes + shift);
      device().copy(at(input.start), static_cast<const std::byte*>(values) + input.offset,
                    input.bytes);
    }
    device().synchronize();
  }

  /// Records the step as a graph, if the device is to replay one, a step has run and none is
  /// recorded yet.
  void record_step() {
    const bool records = device().timing() == timing_mode::graph && ran_ && !recorded_;
    if (records) recorded_ = device().record([&] { enqueue(0, layers()); });
  }

 private:
  [[nodiscard]] address at(std::size_t offset) const {
    return static_cast<std::byte*>(block_->data()) + offset;
  }

  void enqueue(std::size_t first, std::size_t end) {
    const bool waits = device().timing() == timing_mode::single;
    for (std::size_t i = first; i < end; ++i) {
      enqueue(i);
      if (waits) device().finish();
    }
    if (end < layers()) return;
    wait_for_collectives();
    ran_ = true;
  }

  void enqueue(std::size_t call) {
    if (call == first_update_) wait_for_collectives();
    if (background_ != nullptr && is_collective_[call]) {
      background_->post(device(), *calls_[call]);
    } else {
      calls_[call]->run();
    }
  }

  void wait_for_collectives() {
    if (background_ != nullptr) background_->wait_for_posted(device());
  }

  /// Makes an all-reduce as long as its bucket of gradients, which includes the library's padding.
  void widen_allreduce(std::size_t i, const model::step& step, const model::step_layout& layout,
                       plan_request request) {
    const auto* allreduce = step.calls[i].op.get<op::allreduce>();
    if (allreduce == nullptr) return;
    op::allreduce wider = *allreduce;
    wider.bytes = static_cast<std::int64_t>(layout.sizes[step.calls[i].tensors.front()]);
    request.pass = step.calls[i].pass;
    plans_[i] = device().plan(op::any(wider), request);
  }

  void find_uses(const model::step& step, const model::step_layout& layout) {
    for (std::size_t i = 0; i < step.inputs; ++i) {
      inputs_.push_back({layout.starts[i], layout.sizes[i], 0, {}});
    }
    for (std::size_t i = 0; i < plans_.size(); ++i) {
      const std::vector<std::size_t>& tensors = step.calls[i].tensors;
      for (std::size_t j = 0; j < tensors.size(); ++j) {
        first_uses_.try_emplace(tensors[j], use{i, j, layout.starts[tensors[j]]});
      }
    }
  }

  /// Writes test data to a kept tensor, in its order.
  void draw(const model::kept_tensor& kept, std::uint64_t seed) {
    const test_data data =
        timed_data(kept.logical, operand_seed(seed, kept.values), memory_->numbers());
    const use& first = first_uses_.at(kept.tensor);
    void* const to = at(first.start);
    if (kept.order.empty()) return plans_[first.call]->draw(first.operand, data, to);
    const dims& extents = kept.logical.extents;
    const op::any reorder(op::reorder{extents, op::plain_order(extents), kept.order});
    const auto plan =
        device().is_host() ? nullptr : plan_or_null(device(), reorder, {.type = kept.logical.type});
    if (!plan) return write(kept.tensor, op::reordered(random_values(data), extents, kept.order));
    const auto source = device().allocate(plan->operands().front().bytes);
    plan->draw(0, data, source->data());
    const std::array places{source->data(), to};
    const auto workspace = memory_->workspace(plan->workspace_bytes());
    plan->bound_to(places, workspace->data())->run();
    device().synchronize();  // the source is freed now
  }

  /// Makes versions of an input whose values mean something, such as labels; other inputs take any
  /// random numbers.
  void make_versions(std::size_t tensor, std::uint64_t seed) {
    const use& first = first_uses_.at(tensor);
    const any_plan& plan = *plans_[first.call];
    const op::operand& logical = plan.operands()[first.operand].logical;
    if (!op::needs_values(logical)) return;
    input_tensor& input = inputs_[tensor];
    input.versions = device().allocate(input_versions * input.bytes);
    for (std::size_t i = 0; i < input_versions; ++i) {
      plan.draw(first.operand, test_data(logical, operand_seed(seed + i, tensor)),
                static_cast<std::byte*>(input.versions->data()) + i * input.bytes);
    }
  }

  struct input_tensor {
    std::size_t start;  ///< in the block
    std::size_t bytes;
    std::size_t offset;                       ///< of the latest values, in their memory
    std::unique_ptr<device_memory> versions;  ///< null: values come from the shared random memory
  };
  struct use {
    std::size_t call;
    std::size_t operand;
    std::size_t start;  ///< in the block
  };

  std::shared_ptr<device_context> memory_;
  std::vector<std::shared_ptr<any_plan>> plans_;  ///< of each call
  std::unique_ptr<device_memory> block_;
  std::size_t bytes_ = 0;
  std::shared_ptr<device_memory> workspace_;
  std::size_t workspace_bytes_ = 0;
  std::vector<input_tensor> inputs_;
  std::map<std::size_t, use> first_uses_;  ///< of each tensor
  std::vector<std::unique_ptr<bound_plan>> calls_;
  std::vector<bool> is_collective_;  ///< of each call
  std::size_t first_update_ = 0;     ///< the first call after the backward part
  background_collectives* background_ = nullptr;
  bool ran_ = false;  ///< a whole step
  std::unique_ptr<recording> recorded_ = {};
};

/// A case whose model is also run end to end.
struct chain_spec {
  result::case_name model_case;
  std::function<std::unique_ptr<chain>()> make;
  std::function<std::size_t()> bytes;                     ///< of memory that the chain will take
  std::vector<std::vector<std::size_t>> primitives = {};  ///< calls of each, as in the manifest
};

}  // namespace layerbench::run
