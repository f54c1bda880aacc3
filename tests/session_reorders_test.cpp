// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>

#include <layerbench/backend/adapter.hpp>
#include <layerbench/backend/reference/backend.hpp>
#include <layerbench/model/find.hpp>
#include <layerbench/model/shape_file.hpp>
#include <layerbench/model/training.hpp>
#include <layerbench/op/memory_order.hpp>
#include <layerbench/op/reorder.hpp>
#include <layerbench/session/insert_reorders.hpp>

/// Which reorders a training step gets, on a device whose plans have memory orders and compute
/// nothing.
namespace layerbench::run {
namespace session_reorders_test {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

/// Images and filters are channels last, except the filters of the pass in `other`.
class layout_plan final : public any_plan {
 public:
  layout_plan(const op::any& op, const plan_request& request,
              const std::optional<std::pair<op::pass, std::string>>& other) {
    for (op::operand& operand : op.operands(request.pass, request.type)) {
      std::string order = operand.extents.size() == 4 ? "acdb" : op::plain_order(operand.extents);
      const bool filters = operand.extents.size() == 4 && operand.name.ends_with("weights");
      if (filters && other && other->first == request.pass) order = other->second;
      const std::size_t bytes =
          static_cast<std::size_t>(elements(operand.extents)) * traits(operand.type).bytes;
      order = op::canonical_order(operand.extents, std::move(order));
      operands_.push_back({std::move(operand), std::move(order), bytes});
    }
  }
  [[nodiscard]] const std::vector<plan_operand>& operands() const override { return operands_; }
  [[nodiscard]] std::string algorithm() const override { return "layout"; }
  void upload(std::size_t, std::span<const float>, address) const override {}
  void download(std::size_t, address, std::span<float>) const override {}
  [[nodiscard]] std::unique_ptr<bound_plan> bound_to(std::span<const address>,
                                                     address) const override {
    return nullptr;
  }

 private:
  std::vector<plan_operand> operands_;
};

/// A device with such plans of all ops.
struct layouts : reference::backend {
  static constexpr std::string_view name = "layouts";
  using backend::backend;
  static inline std::optional<std::pair<op::pass, std::string>> other = {};
};
compute_device layout_device() {
  backend_entry entry = entry_of<layouts>(op::list<>{});
  entry.on_host = false;
  entry.has_plan = [](const op::any&) { return true; };
  entry.make_plan = [](any_backend&, const op::any& op,
                       const plan_request& request) -> std::unique_ptr<any_plan> {
    return std::make_unique<layout_plan>(op, request, layouts::other);
  };
  return {entry, 1};
}

/// The reorders, as layer and orders, of a training step of LeNet-5.
std::vector<std::string> reorders(
    const model::training& how, dtype type,
    std::optional<std::pair<op::pass, std::string>> other = std::nullopt) {
  layouts::other = std::move(other);
  compute_device device = layout_device();
  plan_memories memories(device, {.type = type});
  const model::graph lenet =
      model::load(model::find("lenet5", model::default_shapes_directory()), 2);
  std::vector<std::string> found;
  for (const model::call& call :
       with_reorders(model::training_step(lenet, type, {}, how), memories).calls) {
    if (const auto* reorder = call.op.get<op::reorder>()) {
      found.push_back(call.layer + ' ' + reorder->from + ' ' + reorder->to);
    }
  }
  return found;
}

TEST(Reorders, AreNotNeededForOneFilterLayoutInAllPasses) {
  for (const op::update_rule rule : {op::update_rule::momentum, op::update_rule::adam}) {
    for (const bool fused : {false, true}) {
      for (const bool zeroed : {false, true}) {
        for (const dtype type : {dtype::f32, dtype::bf16}) {
          EXPECT_THAT(reorders({.rule = rule, .fused = fused, .zeroed = zeroed}, type), IsEmpty());
        }
      }
    }
  }
}

TEST(Reorders, ConvertGradientsToTheLayoutOfTheirFilters) {
  const std::pair other{op::pass::bwd_weights, std::string("abcd")};
  // The first convolution has one channel: both layouts of its filters are the same.
  const auto gradient = ElementsAre("conv2_weights_diff_weights_reorder abcd acdb");
  for (const dtype type : {dtype::f32, dtype::bf16}) {
    EXPECT_THAT(reorders({}, type, other), gradient);
    EXPECT_THAT(reorders({.fused = true}, type, other),
                ElementsAre("all_diff_weights_reorder abcd acdb"));
  }
}

TEST(Reorders, ConvertGradientsBeforeTheyAreSummed) {
  for (const std::string order : {"abcd", "Abcd16a"}) {
    EXPECT_THAT(reorders({.zeroed = true}, dtype::f32, std::pair{op::pass::bwd_weights, order}),
                ::testing::Contains("conv2_weights_grad_diff_weights_reorder " + order + " acdb"));
  }
}

TEST(Reorders, ConvertFiltersToTheLayoutOfAnotherPass) {
  EXPECT_THAT(reorders({}, dtype::f32, std::pair{op::pass::bwd_data, std::string("abcd")}),
              ElementsAre("conv2_bwd_data_weights_reorder acdb abcd"));
}

TEST(Reorders, KeepBlockedFiltersRowMajorBetweenSteps) {
  EXPECT_THAT(reorders({}, dtype::f32, std::pair{op::pass::fwd, std::string("Abcd16a")}),
              ::testing::Contains("conv2_weights_reorder abcd Abcd16a"));
}

}  // namespace session_reorders_test
}  // namespace layerbench::run
