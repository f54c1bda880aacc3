// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <layerbench/backend/adapter.hpp>
#include <layerbench/cache_state/number_class.hpp>
#include <layerbench/model/find.hpp>
#include <layerbench/model/shape_file.hpp>
#include <layerbench/model/training.hpp>
#include <layerbench/session/runner.hpp>
#include <layerbench/session/verify.hpp>

#include "support/mentions.hpp"
#include "support/training.hpp"
#include "support/work_queue.hpp"

/// How much memory is needed is known before it is asked for.
namespace layerbench::run {
namespace cache_state_memory_test {

using ::testing::AllOf;
using testing::case_of;
using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Gt;
using ::testing::Lt;
using testing::mentions;
using ::testing::Ne;
using ::testing::SizeIs;

constexpr std::size_t too_much = std::size_t{1} << 60U;

/// So much of the memory that buffers may have.
std::size_t share_of_memory(double share) {
  const auto all = host_buffer::available_bytes();
  EXPECT_TRUE(all.has_value());
  return static_cast<std::size_t>(share * static_cast<double>(all.value_or(0)));
}

TEST(Workspace, IsSharedAndFreedWithItsLastHolder) {
  device_context context(
      std::make_unique<backend_device<reference::backend, op::activation>>(/*threads=*/1));
  auto first = context.workspace(100);
  EXPECT_EQ(context.workspace(50), first);
  const auto larger = context.workspace(200);
  EXPECT_NE(larger->data(), first->data());
  EXPECT_EQ(context.workspace(100), larger);
  const std::weak_ptr<device_memory> outgrown = first;
  first.reset();
  EXPECT_TRUE(outgrown.expired());
}

/// The floating-point numbers of `type` that a device's memory of constants begins with.
template <class T>
std::vector<T> constants_of(number_class numbers) {
  device_context context(
      std::make_unique<backend_device<reference::backend, op::activation>>(/*threads=*/1), numbers);
  std::vector<T> values(1000);
  std::memcpy(values.data(), context.constants(values.size() * sizeof(T)),
              values.size() * sizeof(T));
  return values;
}

TEST(Constants, AreNumbersOfTheClassThatWasAskedFor) {
  const auto classes = [](const std::vector<float>& values) {
    std::set<int> all;
    for (const float value : values) all.insert(std::fpclassify(value));
    return all;
  };
  EXPECT_THAT(classes(constants_of<float>(number_class::normal)), ElementsAre(FP_NORMAL));
  EXPECT_THAT(classes(constants_of<float>(number_class::zeros)), ElementsAre(FP_ZERO));
  EXPECT_THAT(classes(constants_of<float>(number_class::denormal)), ElementsAre(FP_SUBNORMAL));
  // f16 and bf16: no bit of the exponent, and one of the fraction.
  for (const std::uint16_t word : constants_of<std::uint16_t>(number_class::denormal)) {
    EXPECT_EQ(word & 0x7F80U, 0U);
    EXPECT_NE(word & 0x7FU, 0U);
  }
}

TEST(TimedData, HasTheClassUnlessReadersNeedCertainValues) {
  op::operand weights{
      .name = "weights", .extents = {4, 100}, .role = op::role::weights, .type = dtype::f32};
  const auto values_of = [&](number_class numbers) {
    return random_values(timed_data(weights, 1, numbers));
  };
  EXPECT_EQ(values_of(number_class::normal), random_values(test_data(weights, 1)));
  EXPECT_THAT(values_of(number_class::zeros), Each(0));
  for (const dtype type : {dtype::f32, dtype::bf16, dtype::f16, dtype::f8_e4m3}) {
    weights.type = type;
    const std::vector<float> values = values_of(number_class::denormal);
    const double least_normal = std::ldexp(1.0, traits(type).min_exponent);
    EXPECT_THAT(values, Each(AllOf(Gt(-least_normal), Lt(least_normal)))) << name(type);
    EXPECT_THAT(values, Contains(Ne(0))) << name(type);
  }
  weights.range_required = true;
  EXPECT_EQ(values_of(number_class::denormal), values_of(number_class::normal));
}

TEST(HostBuffer, CountsWhatWasPromisedAndNotUsedYet) {
  const std::size_t most = share_of_memory(0.6);
  std::optional<host_buffer> first(most);
  EXPECT_LT(share_of_memory(1), most);
  EXPECT_THROW(host_buffer{most}, not_enough_memory);
  first.reset();
  EXPECT_NO_THROW(host_buffer{most});
}

TEST(HostBuffer, CountsSmallOnesToo) {
  constexpr std::size_t size = std::size_t{32} << 20U;
  constexpr std::size_t margin = std::size_t{512} << 20U;
  const std::size_t most = share_of_memory(1) + margin;
  std::vector<host_buffer> all;  // none of them is touched
  const auto fill = [&] {
    while (all.size() * size < most) all.emplace_back(size);
  };
  EXPECT_THROW(fill(), not_enough_memory);
}

TEST(Verifying, NeedsRoomForTheElementsToo) {
  backend_device<reference::backend, op::add> device(1);
  const auto size = static_cast<std::int64_t>(share_of_memory(0.25) / sizeof(float));
  const op::add add{{size}};
  const auto plan = device.plan(op::any(add), {});
  const auto expected = reference::exact_value_of(add, op::pass::fwd);
  EXPECT_THROW(verify(device, *plan, expected, 1, false), not_enough_memory)
      << "three operands fit alone";
}

void expect_known(const model::graph& graph, const std::string& phase, layout image_layout) {
  testing::on_all_backends(dtype::f32, [&](const backend_entry& backend) {
    SCOPED_TRACE(fmt::format("{} {} {}", backend.name, phase, name(image_layout)));
    planned_step planned(model::step_of(graph, phase), {.layout = image_layout},
                         testing::make_context(backend, 1),
                         /*reordered=*/true);
    const std::size_t bytes = planned.chain_bytes();
    const std::unique_ptr<chain> result = planned.make_chain(1);
    EXPECT_EQ(bytes, result->bytes() + result->workspace_bytes());
    EXPECT_GE(result->bytes(), static_cast<std::size_t>(planned.least_memory().footprint()));
  });
}

TEST(Chain, TakesTheMemoryThatItsPlansSay) {
  const model::graph lenet = model::load(model::find("lenet5", LAYERBENCH_SHAPES_DIR), 2);
  for (const layout image_layout : {layout::nhwc, layout::any}) {
    for (const char* phase : {"inference", "training"}) {
      expect_known(lenet, phase, image_layout);
    }
  }
}

TEST(Step, SaysWhichCallUsedTheMemoryOfAnOperand) {
  const model::graph lenet = model::load(model::find("lenet5", LAYERBENCH_SHAPES_DIR), 2);
  testing::on_all_backends(dtype::f32, [&](const backend_entry& backend) {
    planned_step planned(model::inference_step(lenet), {}, testing::make_context(backend, 1),
                         /*reordered=*/false, /*reuses_memory=*/true);
    int last_used_by_the_producer = 0;
    for (const model::primitive& of : model::primitives(planned.step())) {
      const op_in_context how = planned.in_context(of, cache_state::model);
      const std::vector<previous_use>& source = how.operands.front().uses;
      const std::vector<previous_use>& result = how.operands.back().uses;
      if (source.empty() || result.empty()) continue;
      EXPECT_EQ(source.front().call + 1, of.calls.front()) << "LeNet-5 is a chain of layers";
      last_used_by_the_producer += source.front().call == result.front().call ? 1 : 0;
    }
    EXPECT_GT(last_used_by_the_producer, 3);
  });
}

class memory_test : public testing::work_queue_test {
 protected:
  result::results result_;

  /// Measures all rows, and a chain of this case that takes `bytes`.
  void measure(const result::case_name& model_case, std::size_t bytes,
               std::function<std::unique_ptr<chain>()> make) {
    runner all(
        rows(), {{model_case, std::move(make), [=] { return bytes; }}},
        {.min_rounds = 1, .min_time = 0, .max_time = 0, .sum_rows = true}, {},
        [] { return std::nullopt; },
        [](compute_device&) { return std::make_unique<frequency_probe>([] { return 1.0; }); });
    EXPECT_FALSE(all.run(result_, [] {}));
  }
};
using Memory = memory_test;

TEST_F(Memory, OfAChainIsAskedForBeforeAnythingElse) {
  const result::case_name large = case_of("f32", 1000, "1");
  add_row(large, "a");
  add_row(case_of("f32", 1, "1"), "b");
  measure(large, too_much, []() -> std::unique_ptr<chain> {
    ADD_FAILURE() << "there is no room for it";
    return nullptr;
  });
  ASSERT_THAT(result_.rows, SizeIs(1)) << "of the other case";
  EXPECT_EQ(result_.rows.front().name.layer, "b");
  ASSERT_THAT(result_.chains, SizeIs(1));
  EXPECT_EQ(result_.chains.front().name.model_case, large);
  EXPECT_THAT(result_.chains.front().error, mentions("memory", "1153 PB", "--batch"));
}

TEST_F(Memory, ThatAChainCannotAllocateFailsTheChainAlone) {
  const result::case_name model_case = case_of("f32", 1, "1");
  add_row(model_case, "a");
  measure(model_case, 1, []() -> std::unique_ptr<chain> { throw not_enough_memory(2, 1); });
  ASSERT_THAT(result_.chains, SizeIs(1));
  EXPECT_THAT(result_.chains.front().error, mentions("memory", "2.00 B", "1.00 B"));
}

}  // namespace cache_state_memory_test
}  // namespace layerbench::run
