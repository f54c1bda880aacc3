// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <layerbench/base/units.hpp>
#include <layerbench/model/graph.hpp>
#include <layerbench/model/step.hpp>

/// What a model's step does to the caches: which memory each layer touches, and how much of it
/// between two uses of the same bytes (the reuse distance).
namespace layerbench::model {

/// The last use of some memory before a call, by another one, perhaps of the step before.
struct last_use {
  std::size_t call;
  std::vector<std::size_t> operands;  ///< those of it that were in this memory
  bool writes;                        ///< one of them is what it writes
  std::int64_t distance;              ///< bytes touched since
};

/// An operand as it is when its call runs.
struct operand_state {
  op::role role;
  /// Bytes touched since another call used it last, in this step or the one before, or since the
  /// model's input was written: 0 is just before. Nothing: no other call does, so a step's whole
  /// footprint lies between.
  std::optional<std::int64_t> distance;
  std::optional<std::size_t> writer = {};   ///< the call of the same step that wrote it last
  std::size_t written_as = 0;               ///< which of that call's operands it was
  std::optional<std::size_t> same_as = {};  ///< what is written over an operand of the call
  std::optional<last_use> used = {};
};

/// The state of a call's operands when it runs in its step.
struct call_context {
  std::int64_t footprint = 0;  ///< distinct bytes that a step touches
  std::vector<operand_state> operands;
  bool in_place = false;  ///< writes over a source

  /// Timings made in surroundings of equal signature may serve one another: sizes count in steps
  /// of a sixth of a decade, within 21 % of the truth.
  [[nodiscard]] std::string signature() const {
    const auto size = [](std::int64_t bytes) {
      const double sixths = std::round(6 * std::log10(static_cast<double>(bytes)));
      std::string text = units::si(std::pow(10.0, sixths / 6), "B");
      std::erase(text, ' ');
      return text;
    };
    constexpr std::int64_t next_to_nothing = 4096;
    std::string text = "step:" + size(footprint);
    for (const operand_state& operand : operands) {
      if (!operand.distance || operand.role == op::role::destination) continue;
      text += operand.role == op::role::source ? ",src:" : ",weights:";
      text += *operand.distance < next_to_nothing ? "fresh" : size(*operand.distance);
    }
    if (in_place) text += ",in_place";
    return text;
  }
};

/// Bytes of an op's operands, in their order.
using operand_bytes = std::function<std::vector<std::int64_t>(const op::any&, op::pass)>;

/// Without padding, as the op's sizes say.
[[nodiscard]] inline operand_bytes least_operand_bytes(dtype type) {
  return [type](const op::any& op, op::pass pass) {
    std::vector<std::int64_t> bytes;
    for (const op::operand& operand : op.operands(pass, type)) {
      bytes.push_back(op::least_bytes({operand}));
    }
    return bytes;
  };
}

/// Which bytes a step's calls touch.
class step_memory {
 public:
  /// Of tensors of these `bytes`; `all` must outlive this.
  step_memory(const step& all, const operand_bytes& bytes) : step_(all), bytes_(all.tensors, 0) {
    for (const call& by : all.calls) {
      const std::vector<std::int64_t> sizes = bytes(by.op, by.pass);
      for (std::size_t i = 0; i < by.tensors.size(); ++i) {
        std::int64_t& known = bytes_[by.tensors[i]];
        known = std::max(known, sizes.at(i));  // a reader may see more than the writer
      }
    }
    for (const packed_tensor& tensor : all.packed) bytes_[tensor.whole] = 0;  // its parts count
    for (const call& by : all.calls) {
      std::vector<std::size_t>& tensors = touched_.emplace_back();
      for (const std::size_t used : by.tensors) {
        const std::vector<std::size_t> parts = all.parts_of(used);
        tensors.insert(tensors.end(), parts.begin(), parts.end());
      }
    }
    for (const std::int64_t byte : bytes_) footprint_ = checked_add(footprint_, byte);
  }

  /// Distinct bytes that a step touches.
  [[nodiscard]] std::int64_t footprint() const { return footprint_; }

  [[nodiscard]] call_context around(std::size_t call) const {
    const model::call& of = step_.calls[call];
    call_context found{footprint_, {}, false};
    for (const op::operand& operand : step_.operands_of(of)) {
      const std::size_t i = found.operands.size();
      operand_state state{operand.role, {}};
      const std::size_t tensor = step_.parts_of(of.tensors[i]).back();
      if (const auto user = last_user(tensor, call)) {
        state.distance = touched_between(*user, call);
        if (*user > 0) state.used = use_by(*user - 1, tensor, *state.distance);
        find_writer(tensor, *user, state);
      } else if (const auto later = later_user(tensor, call)) {
        const std::int64_t distance = touched_between(*later, call + step_.calls.size());
        state.used = use_by(*later - 1, tensor, distance);
        if (operand.role != op::role::destination) state.distance = distance;
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

  /// The state in which calls that share their work find their operands most often.
  [[nodiscard]] call_context usual(const primitive& shared) const {
    std::map<std::string, std::pair<int, call_context>> seen;
    for (const std::size_t call : shared.calls) {
      const call_context found = around(call);
      ++seen.try_emplace(found.signature(), 0, found).first->second.first;
    }
    const auto often = [](const auto& state) { return state.second.first; };
    return std::ranges::max_element(seen, {}, often)->second.second;
  }

 private:
  /// One more than the position of the last call before `call` that uses the tensor; 0 stands for
  /// whoever writes the model's input. Nothing where nobody does.
  [[nodiscard]] std::optional<std::size_t> last_user(std::size_t tensor, std::size_t call) const {
    while (call > 0 && !touches(call - 1, tensor)) --call;
    if (call == 0 && tensor >= step_.inputs) return std::nullopt;
    return call;
  }

  /// The same of the calls after `call`, which used it one step ago.
  [[nodiscard]] std::optional<std::size_t> later_user(std::size_t tensor, std::size_t call) const {
    for (std::size_t i = step_.calls.size(); i-- > call + 1;) {
      if (touches(i, tensor)) return i + 1;
    }
    return std::nullopt;
  }

  [[nodiscard]] bool touches(std::size_t call, std::size_t tensor) const {
    return std::ranges::find(touched_[call], tensor) != touched_[call].end();
  }

  /// Distinct bytes that the calls from `first` to the one before `end` touch; calls go on with the
  /// next step's.
  [[nodiscard]] std::int64_t touched_between(std::size_t first, std::size_t end) const {
    std::set<std::size_t> seen;
    std::int64_t bytes = 0;
    for (std::size_t i = first; i < end; ++i) {
      for (const std::size_t tensor : touched_[i % touched_.size()]) {
        if (seen.insert(tensor).second) bytes += bytes_[tensor];
      }
    }
    return bytes;
  }

  /// Nothing where the call uses the tensor only together with others that it lies with.
  [[nodiscard]] std::optional<last_use> use_by(std::size_t call, std::size_t tensor,
                                               std::int64_t distance) const {
    const model::call& by = step_.calls[call];
    last_use found{call, {}, step_.written_as(by, tensor).has_value(), distance};
    for (std::size_t i = 0; i < by.tensors.size(); ++i) {
      if (by.tensors[i] == tensor) found.operands.push_back(i);
    }
    if (found.operands.empty()) return std::nullopt;
    return found;
  }

  /// Finds the last call before `end` that writes the tensor.
  void find_writer(std::size_t tensor, std::size_t end, operand_state& state) const {
    while (end-- > 0) {
      const auto written_as = step_.written_as(step_.calls[end], tensor);
      if (!written_as) continue;
      state.writer = end;
      state.written_as = *written_as;
      return;
    }
  }

  const step& step_;
  std::vector<std::int64_t> bytes_;                ///< of each tensor
  std::vector<std::vector<std::size_t>> touched_;  ///< by each call: tensors, or parts of them
  std::int64_t footprint_ = 0;
};

}  // namespace layerbench::model
