// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <layerbench/model/training.hpp>
#include <layerbench/op/list.hpp>
#include <layerbench/session/planned_step.hpp>

#include "built_backends.hpp"

/// Chains that train.
namespace layerbench::testing {

/// Calls `work` with each backend of this build that trains and can compute in the type here.
inline void on_all_backends(dtype type,
                            const std::function<void(const run::backend_entry&)>& work) {
  for (const run::backend_entry& backend : built_backends().backends) {
    if (const auto reason = backend.probe()) {
      std::cout << fmt::format("{} is left out: {}\n", backend.name, *reason);
    } else if (!has_type(backend, type)) {
      std::cout << fmt::format("{} is left out: no {} on this CPU\n", backend.name, name(type));
    } else if (backend.make_device(1)->implements_op(op::any(op::update{}))) {
      work(backend);
    }
  }
}

/// All-reduces between ranks that do the same with the same images: sums are so many times what
/// each has.
class equal_ranks final : public run::any_plan {
 public:
  equal_ranks(run::compute_device& device, const op::any& op, const plan_request& request)
      : device_(device), sizes_(*op.get<op::allreduce>()) {
    for (op::operand& operand : op.operands(request.pass, request.type)) {
      operands_.push_back({std::move(operand), "ab", static_cast<std::size_t>(sizes_.bytes)});
    }
  }
  [[nodiscard]] const std::vector<plan_operand>& operands() const override { return operands_; }
  [[nodiscard]] std::string algorithm() const override { return "multiply"; }
  void upload(std::size_t, std::span<const float>, address) const override {}
  void download(std::size_t, address, std::span<float>) const override {}
  [[nodiscard]] std::unique_ptr<run::bound_plan> bound_to(std::span<const address> places,
                                                          address) const override {
    return std::make_unique<bound>(device_, sizes_, places[1]);
  }

 private:
  class bound final : public run::bound_plan {
   public:
    bound(run::compute_device& device, const op::allreduce& sizes, address at)
        : device_(device), sizes_(sizes), at_(at) {}
    void place(std::span<const address> places) override { at_ = places[1]; }
    void run() override {
      std::vector<float> values(static_cast<std::size_t>(sizes_.count(dtype::f32)));
      device_.copy(values.data(), at_, values.size() * sizeof(float));
      device_.synchronize();
      for (float& value : values) value *= static_cast<float>(sizes_.ranks);
      device_.copy(at_, values.data(), values.size() * sizeof(float));
      device_.synchronize();
    }

   private:
    run::compute_device& device_;
    op::allreduce sizes_;
    address at_;
  };

  run::compute_device& device_;
  op::allreduce sizes_;
  std::vector<plan_operand> operands_;
};

/// A task that can be learned: images of a class are alike, but for noise.
struct task {
  std::vector<float> images;
  std::vector<float> classes;

  task(const dims& extents, std::int64_t kinds) {
    const auto pixels = static_cast<std::size_t>(elements(extents) / extents.front());
    std::uint64_t next = 0;
    const auto uniform = [&] {
      return static_cast<float>(run::random_bits(5, next++) >> 40U) * 0x1p-23F - 1;
    };
    std::vector<std::vector<float>> patterns(static_cast<std::size_t>(kinds));
    for (auto& item : patterns) {
      for (std::size_t i = 0; i < pixels; ++i) item.push_back(uniform());
    }
    for (std::int64_t n = 0; n < extents.front(); ++n) {
      const auto kind = static_cast<std::size_t>(n % kinds);
      classes.push_back(static_cast<float>(kind));
      for (const float pattern : patterns[kind]) images.push_back(pattern + 0.1F * uniform());
    }
  }
};

/// How a net is trained.
struct lesson {
  plan_request request = {};
  model::op_names in_place = model::usually_in_place();
  model::training how = {};
  int threads = 1;
  int steps = 20;
  std::int64_t kinds = 3;
  run::background_collectives* beside = nullptr;  ///< all-reduces gradients in the background
};

/// What became of it.
struct trained {
  std::vector<double> losses;  ///< of each step
  /// Of what stays from step to step, in the end; not of an optimizer's states, which lie in the
  /// order of the filters that they belong to.
  std::vector<std::vector<float>> values;
};

inline trained train(const run::backend_entry& on, const model::graph& graph, const lesson& given) {
  const std::shared_ptr<run::device_context> memory = make_context(on, given.threads);
  run::compute_device& device = memory->device();
  device.set_between_ranks([&device](const op::any& op, const plan_request& request) {
    return std::make_unique<equal_ranks>(device, op, request);
  });
  const run::planned_step planned(
      model::training_step(graph, given.request.type, given.in_place, given.how), given.request,
      memory, /*reordered=*/true);
  const model::step& step = planned.step();
  const std::unique_ptr<run::chain> whole = planned.make_chain(3);
  whole->activate();
  if (given.beside != nullptr) whole->overlap(*given.beside);
  const auto loss = std::ranges::find_if(
      step.calls, [](const model::call& call) { return call.op.name() == "cross_entropy"; });
  const dims image = graph.layers.front().op.operands(op::pass::fwd, dtype::f32).front().extents;
  const task all(image, given.kinds);
  trained result;
  for (int i = 0; i < given.steps; ++i) {
    whole->write(model::input_tensor, all.images);
    whole->write(1, all.classes);
    whole->run(0, whole->layers());
    result.losses.push_back(whole->read(loss->tensors.back()).front());
  }
  for (const model::kept_tensor& kept_tensor : step.kept) {
    const bool is_state = std::ranges::all_of(step.calls, [&](const model::call& call) {
      return call.op.name() == "update" || !call.uses(kept_tensor.tensor);
    });
    if (!is_state) result.values.push_back(whole->read(kept_tensor.tensor));
  }
  return result;
}

/// Losses of the same steps may differ by rounding, which grows from step to step.
inline void expect_alike(const std::vector<double>& found, const std::vector<double>& end_to_end,
                         double tolerance) {
  ASSERT_EQ(found.size(), end_to_end.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    EXPECT_NEAR(found[i], end_to_end[i], tolerance * (1 + end_to_end[i])) << "step " << i;
  }
}

}  // namespace layerbench::testing
