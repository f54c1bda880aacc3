// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <map>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <layerbench/backend/device.hpp>
#include <layerbench/model/step.hpp>
#include <layerbench/op/reorder.hpp>
#include <layerbench/op/update.hpp>

namespace layerbench::run {

/// The memory of a plan.
struct planned_memory {
  std::vector<plan_operand> operands;
  std::size_t workspace_bytes = 0;
};

/// The memory of calls' plans, each of which is made once, for a look at it.
class planned_calls {
 public:
  planned_calls(compute_device& device, const plan_request& request)
      : device_(device), request_(request) {}

  [[nodiscard]] const plan_request& request() const { return request_; }

  /// Nothing where the device has no plan: measuring it will say so.
  [[nodiscard]] const planned_memory& of(const op::any& op, op::pass pass) {
    const auto [known, is_new] = known_.try_emplace(model::work_of(op, pass));
    if (is_new) {
      plan_request request = request_;
      request.pass = pass;
      if (const auto plan = plan_or_null(device_, op, request)) {
        known->second = {plan->operands(), plan->workspace_bytes()};
      }
    }
    return known->second;
  }

 private:
  compute_device& device_;
  plan_request request_;
  std::map<std::string, planned_memory> known_;
};

namespace detail {

/// Copies a step call by call, with a reorder wherever a call reads a tensor in another memory
/// order than it was written in. Filters that change lie as the first call that reads them has
/// them, where that is without blocks and padding, other weights row-major, as in frameworks.
/// Updates see no axes, and take weights and gradients in any order in which both lie. Where the
/// library chooses how images lie, padding included, training also passes them on row-major to
/// layers that see rows of values, and gradients back.
class reorder_inserter {
 public:
  reorder_inserter(const model::step& step, planned_calls& planned)
      : planned_(planned), result_(step), place_(step.tensors), written_(step.tensors) {
    result_.calls.clear();
    std::iota(place_.begin(), place_.end(), std::size_t{0});
    for (const model::kept_tensor& kept_tensor : step.kept) {
      if (!step.writes(kept_tensor.tensor)) continue;
      const dims& extents = kept_tensor.logical.extents;
      const std::optional<stored> read = as_first_read(step, kept_tensor.tensor);
      if (read) learned_[kept_tensor.tensor] = *read;
      written_[kept_tensor.tensor] = read.value_or(stored{extents, op::plain_order(extents)});
      flattens_ = planned.request().order == layout::any;
    }
    for (const model::call& call : step.calls) lay_copies(call);
  }

  void add(model::call call) {
    const std::vector<plan_operand>& operands = planned_.of(call.op, call.pass).operands;
    const std::vector<std::size_t> before = call.tensors;
    for (std::size_t j = 0; j < call.tensors.size(); ++j) {
      const std::size_t tensor = before[j];
      call.tensors[j] = place_[tensor];
      if (j >= operands.size()) continue;
      flat_ = updated(call, before, j);
      if (operands[j].logical.role != op::role::destination) {
        call.tensors[j] = as_read(call, operands[j], tensor);
        continue;
      }
      // In place: what it overwrites is what it reads, maybe reordered.
      const auto same = std::ranges::find(before, tensor);
      call.tensors[j] = call.tensors[static_cast<std::size_t>(same - before.begin())];
      place_[tensor] = call.tensors[j];
      written_[tensor] = flat_.value_or(stored{operands[j].extents(), operands[j].order});
    }
    result_.calls.push_back(std::move(call));
  }

  [[nodiscard]] model::step take() { return std::move(result_); }

 private:
  struct stored {
    dims extents;
    std::string order;
  };

  /// How the first call that reads filters of images has them; nothing where that is in blocks, or
  /// padded, and of what has less axes.
  [[nodiscard]] std::optional<stored> as_first_read(const model::step& step, std::size_t tensor) {
    for (const model::call& call : step.calls) {
      const std::vector<plan_operand>& operands = planned_.of(call.op, call.pass).operands;
      for (std::size_t j = 0; j < operands.size(); ++j) {
        const plan_operand& its = operands[j];
        if (call.tensors[j] != tensor || its.extents().size() <= 2) continue;
        const auto count = static_cast<std::size_t>(elements(its.extents()));
        const bool padded = its.bytes != count * traits(its.logical.type).bytes;
        if (padded || !op::is_permutation(its.order)) return std::nullopt;
        return stored{its.extents(), its.order};
      }
    }
    return std::nullopt;
  }

  /// How all operands lie of the parameter that operand `j` of an update belongs to: as its
  /// weights, or of sums of gradients as the gradient that is added. Nothing for other calls.
  [[nodiscard]] std::optional<stored> updated(const model::call& of,
                                              const std::vector<std::size_t>& tensors,
                                              std::size_t j) const {
    const auto* sizes = of.op.get<op::update>();
    if (sizes == nullptr) return std::nullopt;
    const std::size_t item = tensors.size() / sizes->sizes.size();
    const auto parameter = std::span(tensors).subspan(j / item * item, item);
    for (const std::size_t tensor : parameter) {
      const auto known = learned_.find(tensor);
      if (known != learned_.end()) return known->second;
    }
    if (sizes->rule != op::update_rule::accumulate) return std::nullopt;
    constexpr std::size_t gradient = 1;
    const std::optional<stored>& added = written_[parameter[gradient]];
    return added && op::is_permutation(added->order) ? added : std::nullopt;
  }
  /// What an update keeps of weights in f32 lies as these.
  void lay_copies(const model::call& of) {
    for (std::size_t j = 0; j < of.tensors.size(); ++j) {
      const std::optional<stored> flat = updated(of, of.tensors, j);
      std::optional<stored>& kept = written_[of.tensors[j]];
      if (flat && kept && kept->extents == flat->extents) kept = flat;
    }
  }

  /// What was written as `from` in the axes of its reader, where these are others and both say the
  /// same when it is row-major.
  [[nodiscard]] stored seen(const stored& from, const plan_operand& source) const {
    const dims& extents = source.extents();
    const bool same = flattens_ || source.logical.role == op::role::weights;
    const auto canonical = [&](const std::string& order) {
      return op::canonical_order(from.extents, order);
    };
    const bool plain = canonical(from.order) == canonical(op::plain_order(from.extents));
    return same && plain && extents.size() > 1 ? stored{extents, op::plain_order(extents)} : from;
  }

  /// The order in which a call reads what it sees as `from`: its own, but one that sees no axes
  /// wants it row-major; nothing where others see other axes. Fully connected layers read images as
  /// they lie, unless that is up to the library: their weights are stored to match.
  [[nodiscard]] std::optional<std::string> wanted(const stored& from,
                                                  const plan_operand& source) const {
    const dims& extents = source.extents();
    if (extents == from.extents) return op::canonical_order(extents, source.order);
    if (flat_ && flat_->extents == from.extents) {
      return op::canonical_order(from.extents, flat_->order);
    }
    if (extents.size() == 1 || flattens_) {
      return op::canonical_order(from.extents, op::plain_order(from.extents));
    }
    return std::nullopt;
  }

  /// The tensor in the order in which the call reads it. The model's own input comes as nhwc where
  /// nothing else was asked for.
  std::size_t as_read(const model::call& reader, const plan_operand& source, std::size_t tensor) {
    if (tensor == model::input_tensor) {
      const dims& extents = source.extents();
      const bool as_asked = extents.size() != 4 || planned_.request().order == layout::nchw;
      written_[tensor] = stored{extents, as_asked ? source.order : "acdb"};
    }
    if (!written_[tensor]) return place_[tensor];
    const stored from = seen(*written_[tensor], source);
    const std::string is = op::canonical_order(from.extents, from.order);
    const std::string order = wanted(from, source).value_or(is);
    if (order == is) return place_[tensor];
    const std::size_t reordered = result_.new_tensor();
    const std::string pass =
        op::is_backward(reader.pass) ? '_' + std::string(op::name(reader.pass)) : "";
    op::any work(op::reorder{from.extents, is, order});
    const std::string name =
        name_of(fmt::format("{}{}_{}_reorder", reader.layer, pass, source.logical.name), work);
    result_.calls.push_back(
        {name, std::move(work), op::pass::fwd, {place_[tensor], reordered}, true, reader.part});
    return reordered;
  }

  /// `wanted`, with a number where that is the name of other work: rows have names of their own.
  [[nodiscard]] std::string name_of(const std::string& wanted, const op::any& work) {
    std::string name = wanted;
    for (int i = 2; named_.try_emplace(name, work.key()).first->second != work.key(); ++i) {
      name = fmt::format("{}_{}", wanted, i);
    }
    return name;
  }

  planned_calls& planned_;
  model::step result_;
  std::vector<std::size_t> place_;              ///< of the step's tensors in `made_`
  std::map<std::string, std::string> named_;    ///< keys of reorders, by name
  std::vector<std::optional<stored>> written_;  ///< how the step's tensors lie, where known
  std::map<std::size_t, stored> learned_;       ///< weights that change, as they are read
  std::optional<stored> flat_;                  ///< how an update's operands lie
  bool flattens_ = false;                       ///< images that are read as rows of values
};

}  // namespace detail

/// The step with the reorders that it needs where the library chose the memory orders.
[[nodiscard]] inline model::step with_reorders(const model::step& step, planned_calls& planned) {
  detail::reorder_inserter inserter(step, planned);
  for (const model::call& call : step.calls) inserter.add(call);
  return inserter.take();
}

}  // namespace layerbench::run
