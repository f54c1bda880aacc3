// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <utility>

#include <layerbench/base/compiled.hpp>
#include <layerbench/base/units.hpp>
#include <layerbench/model/reuse_distance.hpp>
#include <layerbench/shape/dims.hpp>

namespace layerbench::model {

LAYERBENCH_INLINE std::string call_state::signature() const {
  const auto size = [](std::int64_t bytes) {
    const double sixths = std::round(6 * std::log10(static_cast<double>(bytes)));
    std::string text = units::si(std::pow(10.0, sixths / 6), "B");
    std::erase(text, ' ');
    return text;
  };
  constexpr std::int64_t next_to_nothing = 4096;
  std::string text = "step:" + size(footprint);
  if (shared_bytes) text += ",shared:" + size(*shared_bytes);
  for (const operand_state& operand : operands) {
    // The memory of a destination may have had another use in the same step.
    const bool written = operand.role == op::role::destination;
    if (!operand.distance || (written && operand.same_as)) continue;
    text += written ? ",dst:" : operand.role == op::role::source ? ",src:" : ",weights:";
    text += *operand.distance < next_to_nothing ? "fresh" : size(*operand.distance);
  }
  if (in_place) text += ",in_place";
  return text;
}

LAYERBENCH_INLINE operand_bytes least_operand_bytes(dtype type) {
  return [type](const op::any& op, op::pass pass) {
    std::vector<std::int64_t> bytes;
    for (const op::operand& operand : op.operands(pass, type)) {
      bytes.push_back(op::least_bytes(operand));
    }
    return bytes;
  };
}

LAYERBENCH_INLINE step_memory::step_memory(const step& all, const operand_bytes& bytes)
    : step_(all), bytes_(all.tensors, 0) {
  for (const call& by : all.calls) {
    const std::vector<std::int64_t> sizes = bytes(by.op, by.pass);
    for (std::size_t i = 0; i < by.tensors.size(); ++i) {
      std::int64_t& known = bytes_[by.tensors[i]];
      known = std::max(known, sizes.at(i));  // a reader may see more than the writer
    }
  }
  for (const packed_tensor& tensor : all.packed) {  // its parts count
    std::int64_t rest = std::exchange(bytes_[tensor.whole], 0);
    for (const std::size_t part : tensor.parts) rest -= bytes_[part];
    // A part that no call uses alone has the rest of the bytes.
    for (const std::size_t part : tensor.parts) {
      if (bytes_[part] == 0) bytes_[part] = std::max<std::int64_t>(0, std::exchange(rest, 0));
    }
  }
  for (const call& by : all.calls) {
    const std::vector<std::int64_t> sizes = bytes(by.op, by.pass);
    std::map<std::size_t, std::int64_t>& touched = touched_.emplace_back();
    for (std::size_t i = 0; i < by.tensors.size(); ++i) {
      const std::vector<std::size_t> parts = all.parts_of(by.tensors[i]);
      for (const std::size_t part : parts) {
        std::int64_t& known = touched[part];
        known = std::max(known, parts.size() == 1 ? sizes.at(i) : bytes_[part]);
      }
    }
  }
  for (const std::int64_t byte : bytes_) footprint_ = checked_add(footprint_, byte);
  if (!all.reuses_memory) return;
  shared_bytes_ = footprint_;
  for (const kept_tensor& kept : all.kept) {
    for (const std::size_t part : all.parts_of(kept.tensor)) *shared_bytes_ -= bytes_[part];
  }
}

LAYERBENCH_INLINE call_state step_memory::state_of(std::size_t call) const {
  const model::call& of = step_.calls[call];
  call_state found{footprint_, {}, false, shared_bytes_};
  for (const op::operand& operand : step_.operands_of(of)) {
    const std::size_t i = found.operands.size();
    operand_state state{operand.role, {}};
    const std::size_t tensor = step_.parts_of(of.tensors[i]).back();
    state.uses = uses_before(tensor, call);
    const auto distance = [&](std::size_t user, std::size_t end) {
      const bool known = !state.uses.empty() && state.uses.front().call + 1 == user;
      return known ? state.uses.front().distance : touched_between(user, end);
    };
    if (const auto user = last_user(tensor, call)) {
      state.distance = distance(*user, call);
      find_writer(tensor, *user, state);
    } else if (const auto later = later_user(tensor, call);
               later && operand.role != op::role::destination) {
      state.distance = distance(*later, call + step_.calls.size());
    }
    const auto first = std::ranges::find(of.tensors, of.tensors[i]) - of.tensors.begin();
    const bool written = operand.role == op::role::destination;
    if (written && static_cast<std::size_t>(first) < i) {
      state.same_as = static_cast<std::size_t>(first);
      found.in_place = found.in_place || found.operands[*state.same_as].role == op::role::source;
    }
    found.operands.push_back(state);
  }
  return found;
}

LAYERBENCH_INLINE call_state step_memory::most_frequent_state(const primitive& shared) const {
  std::map<std::string, std::pair<int, call_state>> seen;
  for (const std::size_t call : shared.calls) {
    const call_state found = state_of(call);
    ++seen.try_emplace(found.signature(), 0, found).first->second.first;
  }
  const auto often = [](const auto& state) { return state.second.first; };
  return std::ranges::max_element(seen, {}, often)->second.second;
}

LAYERBENCH_INLINE std::optional<std::size_t> step_memory::last_user(std::size_t tensor,
                                                                    std::size_t call) const {
  while (call > 0 && !touches(call - 1, tensor)) --call;
  if (call == 0 && tensor >= step_.inputs) return std::nullopt;
  return call;
}

LAYERBENCH_INLINE std::optional<std::size_t> step_memory::later_user(std::size_t tensor,
                                                                     std::size_t call) const {
  for (std::size_t i = step_.calls.size(); i-- > call + 1;) {
    if (touches(i, tensor)) return i + 1;
  }
  return std::nullopt;
}

LAYERBENCH_INLINE std::vector<previous_use> step_memory::uses_before(std::size_t tensor,
                                                                     std::size_t call) const {
  const std::int64_t all = touched_[call].at(tensor);
  const std::size_t calls = step_.calls.size();
  const std::size_t end = calls + call;  // the position of `call` behind the step before
  std::vector<previous_use> uses;
  std::int64_t known = 0;
  for (std::size_t i = end; i-- > call + 1 && known < all;) {
    if (i < calls && tensor < step_.inputs) break;
    const std::size_t by = i % calls;
    if (!touches(by, tensor) || touched_[by].at(tensor) <= known) continue;
    known = touched_[by].at(tensor);
    if (auto use = use_by(by, tensor, touched_between(i + 1, end))) uses.push_back(*use);
  }
  return uses;
}

LAYERBENCH_INLINE std::int64_t step_memory::touched_between(std::size_t first,
                                                            std::size_t end) const {
  std::map<std::size_t, std::int64_t> seen;
  std::int64_t sum = 0;
  for (std::size_t i = first; i < end; ++i) {
    for (const auto& [tensor, bytes] : touched_[i % touched_.size()]) {
      std::int64_t& known = seen[tensor];
      sum += std::max<std::int64_t>(0, bytes - known);
      known = std::max(known, bytes);
    }
  }
  return sum;
}

LAYERBENCH_INLINE std::optional<previous_use> step_memory::use_by(std::size_t call,
                                                                  std::size_t tensor,
                                                                  std::int64_t distance) const {
  const model::call& by = step_.calls[call];
  previous_use found{
      call, {}, step_.written_as(by, tensor).has_value(), touched_[call].at(tensor), distance};
  for (std::size_t i = 0; i < by.tensors.size(); ++i) {
    if (by.tensors[i] == tensor) found.operands.push_back(i);
  }
  if (found.operands.empty()) return std::nullopt;
  return found;
}

LAYERBENCH_INLINE void step_memory::find_writer(std::size_t tensor, std::size_t end,
                                                operand_state& state) const {
  while (end-- > 0) {
    const auto written_as = step_.written_as(step_.calls[end], tensor);
    if (!written_as) continue;
    state.writer = end;
    state.written_as = *written_as;
    return;
  }
}

}  // namespace layerbench::model
