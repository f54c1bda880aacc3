// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include <gmock/gmock.h>

#include <layerbench/analysis/base/memory.hpp>
#include <layerbench/cache_state/eviction.hpp>
#include <layerbench/model/find.hpp>
#include <layerbench/model/shape_file.hpp>
#include <layerbench/session/planned_step.hpp>

#include "support/built_backends.hpp"

namespace layerbench::run {
namespace session_memory_test {

/// What a chain's tensors take on a backend, beside what `layerbench memory` predicts.
class chains_of {
 public:
  chains_of(const backend_entry& on, const std::string& model, std::int64_t batch)
      : graph_(model::load(model::find(model, LAYERBENCH_SHAPES_DIR), {{"batch", batch}})),
        context_(testing::make_context(on, 1)) {}

  void expect_inference_predicted() const {
    const model::step step = analysis::step_in_memory(graph_, "inference", dtype::f32);
    expect_near(step, analysis::memory_policy::kept, planned_step(step, {}, context_));
    expect_near(step, analysis::memory_policy::reused,
                planned_step(step, {}, context_, false, true));
  }

  /// The chain's step has the reorders that the library wants, too, and a result file names them.
  void expect_training_predicted() const {
    const model::step step = analysis::step_in_memory(graph_, "training", dtype::f32);
    expect_near(step, analysis::memory_policy::kept, planned_step(step, {}, context_));
    planned_step reordered(step, {}, context_, true);
    const result::results file = file_of(reordered.step());
    const auto known = analysis::measured_beside_tensors(std::array{&std::as_const(file)}, graph_,
                                                         "training", dtype::f32);
    expect_near(step, analysis::memory_policy::kept, std::move(reordered), known.value());
  }

 private:
  [[nodiscard]] result::results file_of(const model::step& step) const {
    const result::case_name of_step{
        "any", "f32", graph_.name, model::batch(graph_), {{"phase", "training"}}};
    result::results file;
    for (const model::primitive& one : model::primitives(step)) {
      file.manifest[of_step].push_back(result::planned_of(one));
    }
    result::measurement row;
    row.name.model_case = of_step;
    row.counters["workspace_bytes"] = 0;
    file.rows.push_back(row);
    return file;
  }

  void expect_near(const model::step& step, analysis::memory_policy policy, planned_step planned,
                   const analysis::memory_beside_tensors& beside = {}) const {
    const auto bytes = static_cast<double>(analysis::memory_of(step, policy, beside).bytes());
    EXPECT_NEAR(bytes / static_cast<double>(planned.tensor_bytes()), 1, 0.01)
        << graph_.name << ", batch " << model::batch(graph_) << ' ' << name(policy);
  }

  model::graph graph_;
  std::shared_ptr<device_context> context_;
};

TEST(MemoryOfChains, IsPredicted) {
  const backend_entry* onednn = testing::built_backends().find("onednn");
  for (const char* model : {"alexnet", "resnet50", "vgg16", "mobilenet_v2"}) {
    for (const std::int64_t batch : {1, 4, 32}) {
      const chains_of reference(testing::reference_backend(), model, batch);
      reference.expect_inference_predicted();
      // It keeps argmax indices in f32, of which the others have many.
      const bool many_indices =
          model != std::string("resnet50") && model != std::string("mobilenet_v2");
      if (!many_indices) reference.expect_training_predicted();
      if (onednn == nullptr) continue;
      const chains_of library(*onednn, model, batch);
      library.expect_inference_predicted();
      library.expect_training_predicted();
    }
  }
}

TEST(MemoryOfChains, IsWarmedUpByTheCacheThatKeepsIt) {
  const auto context = testing::make_context(testing::reference_backend(), 1);
  const auto least_steps = [&](std::size_t cache, const chain& of) {
    return turns_that_warm(cache, of.bytes());
  };
  const auto chain_of = [&](const char* model) {
    const model::graph graph = model::load(model::find(model, LAYERBENCH_SHAPES_DIR));
    planned_step planned(model::inference_step(graph), {}, context);
    return planned.make_chain(1);
  };
  const std::size_t shared = context->device().cache_bytes();
  const std::size_t own = context->device().core_cache_bytes();
  const auto large = chain_of("alexnet");
  EXPECT_EQ(large->warm_up_steps(), least_steps(shared, *large));
  const auto small = chain_of("lenet5");
  const bool is_kept = 4 * (small->bytes() + small->workspace_bytes()) <= own;
  EXPECT_EQ(small->warm_up_steps(), least_steps(is_kept ? own : shared, *small));
}

}  // namespace session_memory_test
}  // namespace layerbench::run
