// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include <layerbench/model/find.hpp>
#include <layerbench/model/reuse_distance.hpp>
#include <layerbench/model/shape_file.hpp>
#include <layerbench/model/training.hpp>

/// Training steps of ranks that add up their gradients.
namespace layerbench::model {
namespace model_reductions_test {

using ::testing::SizeIs;

graph shipped(const std::string& name) { return load(find(name, LAYERBENCH_SHAPES_DIR), 2); }

step together(const graph& g) { return training_step(g, dtype::f32, {}, {.ranks = 2}); }

bool reduces(const call& entry) { return entry.op.name() == op::allreduce::name; }

class StepOfRanks : public ::testing::TestWithParam<std::string> {};

TEST_P(StepOfRanks, ReducesTheModelsBuckets) {
  const graph g = shipped(GetParam());
  std::vector<std::int64_t> bytes;
  for (const call& element : together(g).calls) {
    if (!reduces(element)) continue;
    const auto& how = *element.op.get<op::allreduce>();
    EXPECT_EQ(how.ranks, 2);
    EXPECT_TRUE(how.in_place);
    EXPECT_EQ(element.part, step_part::backward);
    bytes.push_back(how.bytes);
  }
  std::vector<std::int64_t> expected;
  for (const bucket& item : buckets_of(g, dtype::f32)) expected.push_back(item.bytes);
  EXPECT_EQ(bytes, expected);
}

TEST_P(StepOfRanks, ReducesEachGradientOnceAfterItWasWrittenAndBeforeItIsUsed) {
  const step of = together(shipped(GetParam()));
  std::set<std::size_t> reduced;
  for (std::size_t i = 0; i < of.calls.size(); ++i) {
    if (!reduces(of.calls[i])) continue;
    const std::vector<std::size_t> parts = of.parts_of(of.calls[i].tensors.front());
    std::size_t last = 0;
    for (const std::size_t part : parts) {
      EXPECT_TRUE(reduced.insert(part).second);
      std::size_t writer = of.calls.size();
      for (std::size_t j = 0; j < of.calls.size(); ++j) {
        if (!of.calls[j].uses(part)) continue;
        EXPECT_EQ(j < i, of.calls[j].part == step_part::backward) << of.calls[j].layer;
        if (of.written_as(of.calls[j], part)) writer = j;
      }
      ASSERT_LT(writer, i);
      last = std::max(last, writer);
    }
    EXPECT_EQ(last + 1, i) << "as soon as all are there";
  }
  std::size_t updated = 0;
  for (const call& item : of.calls) {
    if (item.part == step_part::update) ++updated;
  }
  EXPECT_THAT(reduced, SizeIs(updated));
}

TEST_P(StepOfRanks, HasTheFootprintOfOneRank) {
  const graph g = shipped(GetParam());
  const step of = together(g);
  const step alone = training_step(g, dtype::f32);
  const step_memory memory(of, least_operand_bytes(dtype::f32));
  EXPECT_EQ(memory.footprint(), step_memory(alone, least_operand_bytes(dtype::f32)).footprint());
  for (std::size_t i = 0; i < of.calls.size(); ++i) {
    if (!reduces(of.calls[i])) continue;
    const operand_state found = memory.state_of(i).operands.front();
    EXPECT_EQ(found.distance, 0) << "its last part has just been written";
    EXPECT_EQ(found.writer, i - 1);
  }
}

INSTANTIATE_TEST_SUITE_P(Models, StepOfRanks,
                         ::testing::Values("resnet50", "vgg16", "alexnet", "lenet5"));

TEST(StepOfOneRank, HasNoAllReduce) {
  const step of = training_step(shipped("lenet5"), dtype::f32);
  EXPECT_TRUE(std::ranges::none_of(of.calls, reduces));
  EXPECT_THAT(of.packed, SizeIs(0));
}

}  // namespace model_reductions_test
}  // namespace layerbench::model
