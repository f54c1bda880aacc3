// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <map>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <layerbench/model/step.hpp>
#include <layerbench/run/device.hpp>

namespace layerbench::run {

/// What the plans of calls read and write; each is made once, for a look at it.
class planned_operands {
 public:
  planned_operands(device& here, const plan_request& request) : here_(here), request_(request) {}

  /// Nothing where the device has no plan: measuring it will say so.
  [[nodiscard]] const std::vector<plan_operand>& of(const op::any& op, op::pass pass) {
    const auto [known, is_new] = known_.try_emplace(model::work_of(op, pass));
    if (is_new) {
      plan_request request = request_;
      request.pass = pass;
      if (const auto plan = plan_or_null(here_, op, request)) known->second = plan->operands();
    }
    return known->second;
  }

 private:
  device& here_;
  plan_request request_;
  std::map<std::string, std::vector<plan_operand>> known_;
};

namespace detail {

/// Copies a step call by call, with a reorder wherever a call reads a tensor in another memory
/// order than it was written in. Weights that change lie row-major, as in frameworks.
class reorder_inserter {
 public:
  reorder_inserter(const model::step& step, planned_operands planned)
      : planned_(std::move(planned)), made_(step), place_(step.tensors), written_(step.tensors) {
    made_.calls.clear();
    std::iota(place_.begin(), place_.end(), std::size_t{0});
    for (const model::kept_tensor& each : step.kept) {
      if (!step.writes(each.tensor)) continue;
      const dims& extents = each.logical.extents;
      written_[each.tensor] = stored{extents, op::plain_order(extents)};
    }
  }

  void add(model::call each) {
    const std::vector<plan_operand>& operands = planned_.of(each.op, each.pass);
    const std::vector<std::size_t> before = each.tensors;
    for (std::size_t j = 0; j < each.tensors.size(); ++j) {
      const std::size_t tensor = before[j];
      each.tensors[j] = place_[tensor];
      if (j >= operands.size()) continue;
      if (operands[j].logical.role != op::role::destination) {
        each.tensors[j] = as_read(each, operands[j], tensor);
        continue;
      }
      // In place: what it overwrites is what it reads, maybe reordered.
      const auto same = std::ranges::find(before, tensor);
      each.tensors[j] = each.tensors[static_cast<std::size_t>(same - before.begin())];
      place_[tensor] = each.tensors[j];
      written_[tensor] = stored{operands[j].logical.extents, operands[j].order};
    }
    made_.calls.push_back(std::move(each));
  }

  [[nodiscard]] model::step take() { return std::move(made_); }

 private:
  struct stored {
    dims extents;
    std::string order;
  };

  /// The order in which a call reads what was written as `from`: its own, but one that sees no axes
  /// wants it row-major; nothing where others see other axes. Fully connected layers read images as
  /// they lie: their weights are stored to match.
  static std::optional<std::string> wanted(const stored& from, const plan_operand& source) {
    const dims& extents = source.logical.extents;
    if (extents == from.extents) return op::canonical_order(extents, source.order);
    if (extents.size() == 1) {
      return op::canonical_order(from.extents, op::plain_order(from.extents));
    }
    return std::nullopt;
  }

  /// The tensor in the order in which the call reads it. The model's own input comes as nhwc.
  std::size_t as_read(const model::call& reader, const plan_operand& source, std::size_t tensor) {
    const dims& extents = source.logical.extents;
    if (tensor == model::input_tensor) {
      written_[tensor] = stored{extents, extents.size() == 4 ? "acdb" : source.order};
    }
    const std::optional<stored>& from = written_[tensor];
    if (!from) return place_[tensor];
    const std::string is = op::canonical_order(from->extents, from->order);
    const std::string order = wanted(*from, source).value_or(is);
    if (order == is) return place_[tensor];
    const std::size_t reordered = made_.new_tensor();
    made_.calls.push_back({fmt::format("{}_{}_reorder", reader.layer, source.logical.name),
                           op::any(op::reorder{from->extents, is, order}),
                           op::pass::fwd,
                           {place_[tensor], reordered},
                           true});
    return reordered;
  }

  planned_operands planned_;
  model::step made_;
  std::vector<std::size_t> place_;              ///< of the step's tensors in `made_`
  std::vector<std::optional<stored>> written_;  ///< how the step's tensors lie, where known
};

}  // namespace detail

/// The step with the reorders that it needs where the library chose the memory orders.
[[nodiscard]] inline model::step with_reorders(const model::step& step, device& here,
                                               const plan_request& request) {
  detail::reorder_inserter inserter(step, planned_operands(here, request));
  for (const model::call& each : step.calls) inserter.add(each);
  return inserter.take();
}

}  // namespace layerbench::run
