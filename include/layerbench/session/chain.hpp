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

#include <layerbench/backend/device.hpp>
#include <layerbench/cache_state/device_context.hpp>
#include <layerbench/model/step.hpp>
#include <layerbench/op/test_data.hpp>
#include <layerbench/result/name.hpp>
#include <layerbench/ranks/communicator.hpp>

namespace layerbench::run {

/// A step's tensors in one block of memory, each at a page of its own, or behind the others that it
/// lies together with.
struct step_layout {
  std::vector<std::size_t> starts;  ///< of each tensor
  std::vector<std::size_t> sizes;
  std::size_t bytes = 0;

  /// `operands(i)` are those of the plan of call `i`.
  template <class Operands>
  step_layout(const model::step& step, const Operands& operands) : sizes(step.tensors, 0) {
    for (std::size_t i = 0; i < step.calls.size(); ++i) {
      const std::vector<plan_operand>& its = operands(i);
      for (std::size_t j = 0; j < its.size(); ++j) {
        std::size_t& size = sizes[step.calls[i].tensors[j]];
        size = std::max(size, its[j].bytes);  // a reader may see more than the writer
      }
    }
    for (const model::packed_tensor& item : step.packed) sizes[item.whole] = 0;
    std::vector<bool> is_part(step.tensors, false);
    starts.resize(step.tensors, 0);
    for (const model::packed_tensor& tensor : step.packed) {
      std::size_t& size = sizes[tensor.whole];
      for (const std::size_t part : tensor.parts) {
        constexpr std::size_t line = 64;
        starts[part] = size;  // in the whole
        size += (sizes[part] + line - 1) / line * line;
        is_part[part] = true;
      }
    }
    constexpr std::size_t page = 4096;
    for (std::size_t i = 0; i < step.tensors; ++i) {
      if (is_part[i]) continue;
      starts[i] = bytes;
      bytes += (sizes[i] + page - 1) / page * page;
    }
    for (const model::packed_tensor& packed_tensor : step.packed) {
      for (const std::size_t part : packed_tensor.parts)
        starts[part] += starts[packed_tensor.whole];
    }
  }
};

/// A model's step run as it is: the plans of all its calls in order, each on the tensors that it
/// has in the step. The truth that predictions are held against.
class chain {
 public:
  /// Throws `unsupported` where a call has no plan.
  chain(std::shared_ptr<device_context> memory, const model::step& step, plan_request request,
        std::uint64_t seed)
      : memory_(std::move(memory)) {
    std::map<std::string, std::shared_ptr<any_plan>> by_work;
    for (const model::call& item : step.calls) {
      request.pass = item.pass;
      auto& result = by_work[model::work_of(item.op, item.pass)];
      if (!result) result = memory_->device().plan(item.op, request);
      plans_.push_back(result);
    }
    const step_layout tensors(step, [&](std::size_t i) -> auto& { return plans_[i]->operands(); });
    bytes_ = tensors.bytes;
    for (std::size_t i = 0; i < plans_.size(); ++i) widen_reduction(i, step, tensors, request);
    find_uses(step, tensors);
    block_ = memory_->device().allocate(bytes_);
    for (const model::call& call : step.calls) {
      is_sent_.push_back(call.op.name() == op::allreduce::name);
      if (call.part != model::step_part::update) first_update_ = is_sent_.size();
    }
    for (const auto& plan : plans_) {
      workspace_bytes_ = std::max(workspace_bytes_, plan->workspace_bytes());
    }
    for (std::size_t i = 0; i < plans_.size(); ++i) {
      std::vector<address> places;
      for (const std::size_t tensor : step.calls[i].tensors) {
        places.push_back(at(tensors.starts[tensor]));
      }
      calls_.push_back(plans_[i]->bind(places, memory_->workspace(workspace_bytes_)));
    }
    for (const model::kept_tensor& kept_tensor : step.kept) {
      write(kept_tensor.tensor,
            random_values(kept_tensor.logical, operand_seed(seed, kept_tensor.values)));
    }
    for (std::size_t i = 0; i < inputs_.size(); ++i) make_versions(i, seed);
    set_up();  // which takes memory, too
  }

  /// Bytes of all tensors of the step: input, activations, weights, gradients.
  [[nodiscard]] std::size_t bytes() const { return bytes_; }
  /// Bytes of scratch memory, of which calls have one after the other.
  [[nodiscard]] std::size_t workspace_bytes() const { return workspace_bytes_; }

  chain(const chain&) = delete;
  chain& operator=(const chain&) = delete;
  ~chain() { others_.send(command::kind::drop_chain); }
  /// From now on `others` run its steps, too.
  void lead(const command_sender& others) { others_ = others; }
  /// From now on this rank sends gradients to the others while it computes; the update waits.
  void overlap(background_collectives& with) { beside_ = &with; }
  [[nodiscard]] bool overlaps() const { return beside_ != nullptr; }
  /// Whether others take part in its steps.
  [[nodiscard]] bool is_shared() const { return others_.any(); }

  [[nodiscard]] compute_device& device() const { return memory_->device(); }
  [[nodiscard]] int threads() const { return device().threads(); }
  void activate() { memory_->device().activate(); }

  /// Writes fresh inputs; untimed. A whole step follows, which others begin when all are ready.
  void set_up() {
    others_.send_and_barrier(command::kind::step, 0, [&] { write_inputs(); });
    const bool records = device().timing() == timing_mode::graph && ran_ && !recorded_;
    if (records) recorded_ = device().record([&] { run_each(0, layers()); });
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
  [[nodiscard]] std::size_t warm_up_steps() const {
    return 1 + 2 * device().cache_bytes() / bytes_;
  }

  [[nodiscard]] std::size_t layers() const { return calls_.size(); }

  /// Runs the layers from `first` to the one before `end`, to their end; but the device's own
  /// clock, where it has one, waits for that. What is sent beside them ends before the update. On
  /// devices that record, all layers together are a replay, but for the first time: then libraries
  /// still load what they need. A part of them is not: there are no clocks in a graph.
  void run(std::size_t first, std::size_t end) {
    others_.share([&] {
      if (recorded_ && first == 0 && end == layers()) {
        recorded_->launch();
      } else {
        run_each(first, end);
      }
      memory_->device().finish();
    });
  }

 private:
  [[nodiscard]] address at(std::size_t offset) const {
    return static_cast<std::byte*>(block_->data()) + offset;
  }

  void run_each(std::size_t first, std::size_t end) {
    const bool waits = device().timing() == timing_mode::single;
    for (std::size_t i = first; i < end; ++i) {
      run(i);
      if (waits) device().finish();
    }
    if (end < layers()) return;
    wait_for_posted();
    ran_ = true;
  }

  void run(std::size_t call) {
    if (call == first_update_) wait_for_posted();
    if (beside_ != nullptr && is_sent_[call]) {
      beside_->send(*calls_[call]);
    } else {
      calls_[call]->run();
    }
  }

  void wait_for_posted() {
    if (beside_ != nullptr) beside_->wait_for_posted();
  }

  void write_inputs() {
    constexpr std::size_t shift = 64;
    for (input& item : inputs_) {
      const std::size_t on = item.versions ? item.bytes : shift;
      const std::size_t shifts = item.versions ? versions : item.bytes / shift + 1;
      item.shift = (item.shift + on) % (shifts * on);
      const void* values =
          item.versions ? item.versions->data() : memory_->constants(2 * item.bytes + shift);
      memory_->device().copy(at(item.start), static_cast<const std::byte*>(values) + item.shift,
                             item.bytes);
    }
    memory_->device().synchronize();
  }

  /// Gradients that are added up together lie with the library's padding, which then is added up,
  /// too.
  void widen_reduction(std::size_t i, const model::step& step, const step_layout& of,
                       plan_request request) {
    const auto* sizes = step.calls[i].op.get<op::allreduce>();
    if (sizes == nullptr) return;
    op::allreduce wider = *sizes;
    wider.bytes = static_cast<std::int64_t>(of.sizes[step.calls[i].tensors.front()]);
    request.pass = step.calls[i].pass;
    plans_[i] = memory_->device().plan(op::any(wider), request);
  }

  void find_uses(const model::step& step, const step_layout& of) {
    for (std::size_t i = 0; i < step.inputs; ++i) {
      inputs_.push_back({of.starts[i], of.sizes[i], 0, {}});
    }
    for (std::size_t i = 0; i < plans_.size(); ++i) {
      const std::vector<std::size_t>& tensors = step.calls[i].tensors;
      for (std::size_t j = 0; j < tensors.size(); ++j) {
        first_uses_.try_emplace(tensors[j], use{i, j, of.starts[tensors[j]]});
      }
    }
  }

  static constexpr std::size_t versions = 16;

  /// An input that cannot be just any numbers, such as the right class of each image, has values of
  /// its own.
  void make_versions(std::size_t tensor, std::uint64_t seed) {
    const use& first = first_uses_.at(tensor);
    const any_plan& plan = *plans_[first.call];
    const op::operand& logical = plan.operands()[first.operand].logical;
    if (!op::needs_values(logical)) return;
    input& own = inputs_[tensor];
    own.versions = memory_->device().allocate(versions * own.bytes);
    for (std::size_t i = 0; i < versions; ++i) {
      plan.upload(first.operand, random_values(logical, operand_seed(seed + i, tensor)),
                  static_cast<std::byte*>(own.versions->data()) + i * own.bytes);
    }
  }

  struct input {
    std::size_t start;  ///< in the block
    std::size_t bytes;
    std::size_t shift;                        ///< where its last values came from, in random memory
    std::unique_ptr<device_memory> versions;  ///< or in its own
  };
  struct use {
    std::size_t call;
    std::size_t operand;
    std::size_t start;  ///< in the block
  };

  std::shared_ptr<device_context> memory_;
  std::vector<std::shared_ptr<any_plan>> plans_;  ///< of the calls
  std::unique_ptr<device_memory> block_;
  std::size_t bytes_ = 0;
  std::size_t workspace_bytes_ = 0;
  std::vector<input> inputs_;
  std::map<std::size_t, use> first_uses_;  ///< of each tensor
  std::vector<std::unique_ptr<bound_plan>> calls_;
  std::vector<bool> is_sent_;     ///< of each call: whether it is one of all ranks
  std::size_t first_update_ = 0;  ///< the call behind the backward part
  command_sender others_;
  background_collectives* beside_ = nullptr;
  bool ran_ = false;  ///< to its end
  std::unique_ptr<recording> recorded_ = {};
};

/// A model run whole beside its rows.
struct chain_plan {
  result::configuration_name configuration;
  std::function<std::unique_ptr<chain>()> make;
  std::function<std::size_t()> bytes;                     ///< of memory that it will take
  std::vector<std::vector<std::size_t>> primitives = {};  ///< calls of each, as in the manifest
};

}  // namespace layerbench::run
