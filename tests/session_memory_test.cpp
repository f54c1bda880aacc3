// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <string>

#include <gmock/gmock.h>

#include <layerbench/analysis/memory/memory.hpp>
#include <layerbench/model/find.hpp>
#include <layerbench/model/shape_file.hpp>
#include <layerbench/session/planned_step.hpp>

#include "support/built_backends.hpp"

namespace layerbench::run {
namespace session_memory_test {

/// What `layerbench memory` predicts, relative to what a chain of the reference backend allocates.
double predicted_over_planned(const std::string& name, std::int64_t batch, const std::string& phase,
                              bool reused) {
  const model::graph graph =
      model::load(model::find(name, LAYERBENCH_SHAPES_DIR), {{"batch", batch}});
  const model::step step = analysis::step_in_memory(graph, phase, dtype::f32);
  planned_step planned(step, {}, testing::make_context(testing::reference_backend(), 1), false,
                       reused);
  const auto policy = reused ? analysis::memory_policy::reused : analysis::memory_policy::kept;
  return static_cast<double>(analysis::memory_of(step, policy).bytes()) /
         static_cast<double>(planned.chain_bytes());
}

TEST(MemoryOfChains, IsPredicted) {
  for (const char* name : {"alexnet", "resnet50", "vgg16", "mobilenet_v2"}) {
    for (const std::int64_t batch : {1, 4, 32}) {
      for (const bool reused : {false, true}) {
        EXPECT_NEAR(predicted_over_planned(name, batch, "inference", reused), 1, 0.01)
            << name << ' ' << batch << ' ' << reused;
      }
      EXPECT_NEAR(predicted_over_planned(name, batch, "training", false), 1, 0.01)
          << name << ' ' << batch;
    }
  }
}

}  // namespace session_memory_test
}  // namespace layerbench::run
