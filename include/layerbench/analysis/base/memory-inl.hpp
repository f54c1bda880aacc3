// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <iterator>
#include <map>

#include <fmt/format.h>

#include <layerbench/analysis/base/caching_allocator.hpp>
#include <layerbench/analysis/base/memory.hpp>
#include <layerbench/base/compiled.hpp>
#include <layerbench/base/error.hpp>
#include <layerbench/base/rounding.hpp>
#include <layerbench/model/memory_reuse.hpp>
#include <layerbench/model/reuse_distance.hpp>
#include <layerbench/model/step_layout.hpp>
#include <layerbench/model/training.hpp>
#include <layerbench/op/activation.hpp>
#include <layerbench/op/append.hpp>
#include <layerbench/op/builtin.hpp>
#include <layerbench/op/memory_order.hpp>
#include <layerbench/op/pool.hpp>
#include <layerbench/op/reorder.hpp>
#include <layerbench/op/update.hpp>

namespace layerbench::analysis {

namespace detail {

/// A tensor of a step that has memory by itself.
struct tensor_use {
  std::int64_t bytes = 0;
  memory_kind kind = memory_kind::activations;
  std::size_t first = 0;  ///< call that uses it
  std::size_t last = 0;
  bool is_used = false;
  bool is_kept = false;  ///< from step to step, or an input

  [[nodiscard]] bool is_live(std::size_t call) const {
    return is_kept || (is_used && first <= call && call <= last);
  }
};

/// Whether a call writes what the step computes, unless a later call reads it. What a call computes
/// besides, such as argmax indices in inference, is not kept.
[[nodiscard]] inline bool is_result(const model::step& of, const model::call& by,
                                    std::size_t tensor) {
  const std::optional<std::size_t> written = of.written_as(by, tensor);
  return written && by.part == model::step_part::forward &&
         of.operands_of(by)[*written].name == "dst";
}

/// The tensors of a step. A packed tensor has the bytes of its parts, which have none.
[[nodiscard]] inline std::vector<tensor_use> tensors_of(const model::step& of,
                                                        const model::step_layout& layout) {
  std::vector<tensor_use> all(of.tensors);
  std::vector<std::size_t> owner(of.tensors);
  std::iota(owner.begin(), owner.end(), std::size_t{0});
  for (const model::packed_tensor& packed : of.packed) {
    for (const std::size_t part : packed.parts) owner[part] = packed.whole;
  }
  for (std::size_t i = 0; i < of.tensors; ++i) {
    if (owner[i] == i) all[i].bytes = static_cast<std::int64_t>(layout.sizes[i]);
  }
  for (std::size_t i = 0; i < of.inputs; ++i) {
    all[i].kind = memory_kind::input;
    all[i].is_kept = true;
  }
  for (const model::kept_tensor& kept : of.kept) {
    all[kept.tensor].kind = memory_kind::weights;
    all[kept.tensor].is_kept = true;
  }
  for (const model::packed_tensor& packed : of.packed) {
    if (all[packed.whole].is_kept) all[packed.whole].kind = memory_kind::cache;
  }
  for (std::size_t i = 0; i < of.calls.size(); ++i) {
    const model::call& by = of.calls[i];
    for (const std::size_t tensor : by.tensors) {
      tensor_use& use = all[owner[tensor]];
      if (!use.is_used) use.first = i;
      use.last = is_result(of, by, tensor) ? of.calls.size() - 1 : i;
      if (by.part == model::step_part::update) {
        if (!use.is_kept) use.kind = memory_kind::gradients;
        if (use.is_kept && !use.is_used) use.kind = memory_kind::state;
      }
      use.is_used = true;
    }
  }
  return all;
}

[[nodiscard]] inline const op::pool* max_pool(const op::any& op) {
  const auto* pool = op.get<op::pool>();
  return pool != nullptr && pool->kind == op::pool_kind::max ? pool : nullptr;
}

/// The step with the tensors of PyTorch: max pooling writes argmax indices in inference, too, and
/// gelu, which has no form in place, writes a new tensor (torch/nn/functional.py).
[[nodiscard]] inline model::step as_in_pytorch(model::step of) {
  for (std::size_t i = 0; i < of.calls.size(); ++i) {
    model::call& one = of.calls[i];
    const auto* activation = one.op.get<op::activation>();
    if (one.pass != op::pass::fwd) continue;
    if (max_pool(one.op) != nullptr && one.op.has(op::pass::fwd_training)) {
      one.pass = op::pass::fwd_training;
      one.tensors.push_back(of.new_tensor());
    } else if (activation != nullptr && activation->kind == op::activation_kind::gelu &&
               one.tensors.front() == one.tensors.back()) {
      const std::size_t overwritten = one.tensors.front();
      const std::size_t written = of.new_tensor();
      one.tensors.back() = written;
      for (std::size_t later = i + 1; later < of.calls.size(); ++later) {
        std::ranges::replace(of.calls[later].tensors, overwritten, written);
      }
    }
  }
  return of;
}

/// Keeps the source of a block, such as a residual one, until its branches meet: there, a variable
/// of the Python function that computes the block refers to it.
inline void keep_sources_of_blocks(std::vector<tensor_use>& all, const model::step& of) {
  std::vector<std::size_t> before(of.tensors);  // the tensor that every path to a tensor crosses
  std::vector<std::size_t> depth(of.tensors, 0);
  std::iota(before.begin(), before.end(), std::size_t{0});
  for (std::size_t i = 0; i < of.calls.size(); ++i) {
    const model::call& one = of.calls[i];
    if (one.part != model::step_part::forward) continue;
    const std::vector<op::operand> operands = of.operands_of(one);
    std::optional<std::size_t> block;
    bool is_joint = false;
    for (std::size_t o = 0; o < operands.size(); ++o) {
      std::size_t source = one.tensors[o];
      if (operands[o].role != op::role::source || all[source].is_kept) continue;
      if (!block) block = source;
      is_joint = is_joint || *block != source;
      while (*block != source && (depth[*block] > 0 || depth[source] > 0)) {
        std::size_t& deeper = depth[*block] > depth[source] ? *block : source;
        deeper = before[deeper];
      }
      if (*block != source) block.reset();  // they come from the model's inputs
      if (!block) break;
    }
    if (!block) continue;
    if (is_joint) all[*block].last = std::max(all[*block].last, i);
    for (std::size_t o = 0; o < operands.size(); ++o) {
      const std::size_t written = one.tensors[o];
      if (operands[o].role != op::role::destination || written == *block) continue;
      before[written] = *block;
      depth[written] = depth[*block] + 1;
    }
  }
}

/// Adds the square roots of Adam's second moments. PyTorch updates all weights at once on a GPU,
/// and computes these roots into new tensors first (torch/optim/adam.py, _multi_tensor_adam).
inline void add_roots_of_adam(std::vector<tensor_use>& all, const model::step& of) {
  std::optional<std::size_t> first;
  for (std::size_t i = 0; i < of.calls.size(); ++i) {
    const auto* update = of.calls[i].op.get<op::update>();
    if (update == nullptr || update->rule != op::update_rule::adam) continue;
    first = first.value_or(i);
    const std::vector<op::operand> operands = of.operands_of(of.calls[i]);
    for (std::size_t o = 0; o < operands.size(); ++o) {
      if (operands[o].name != "second_moment") continue;
      all.push_back(
          {all[of.calls[i].tensors[o]].bytes, memory_kind::state, *first, *first, true, false});
    }
  }
}

/// Tied weights are one tensor, which is updated once.
inline void leave_out_tied_weights(std::vector<tensor_use>& all, const model::step& of) {
  for (const auto& [own, other] : of.tied) {
    all[own].bytes = 0;
    for (const model::call& one : of.calls) {
      const auto* update = one.op.get<op::update>();
      if (update == nullptr || !one.uses(own)) continue;
      const std::size_t operands = one.tensors.size() / update->sizes.size();
      for (auto first = one.tensors.begin(); first != one.tensors.end();
           first += static_cast<std::ptrdiff_t>(operands)) {
        const std::span of_one(first, operands);
        if (std::ranges::find(of_one, own) == of_one.end()) continue;
        for (const std::size_t tensor : of_one) {
          if (all[tensor].kind == memory_kind::state) all[tensor].bytes = 0;
        }
      }
    }
  }
}

/// A cache grows by a copy behind which the tokens are written: DynamicLayer.update of
/// transformers/cache_utils.py.
inline void add_copies_of_caches(std::vector<tensor_use>& all, const model::step& of) {
  for (std::size_t i = 0; i < of.calls.size(); ++i) {
    if (of.calls[i].op.get<op::append>() == nullptr) continue;
    const std::size_t written = of.calls[i].tensors.back();
    for (const model::packed_tensor& packed : of.packed) {
      if (std::ranges::find(packed.parts, written) == packed.parts.end()) continue;
      all.push_back({all[packed.whole].bytes, memory_kind::cache, i, i, true, false});
    }
  }
}

/// The tensors of a step in PyTorch, where argmax indices have 8 bytes, and the gradient of max
/// pooling keeps its source (aten/src/ATen/native/DilatedMaxPool2d.cpp, derivatives.yaml).
[[nodiscard]] inline std::vector<tensor_use> tensors_in_pytorch(const model::step& of) {
  std::vector<tensor_use> all = tensors_of(of, least_layout(of));
  std::map<std::size_t, std::size_t> sources;  // by their indices
  for (std::size_t i = 0; i < of.calls.size(); ++i) {
    const model::call& one = of.calls[i];
    if (max_pool(one.op) == nullptr) continue;
    if (one.pass == op::pass::fwd_training) {
      sources[one.tensors.back()] = one.tensors.front();
      all[one.tensors.back()].bytes *= 8;
    } else if (const auto found = sources.find(one.tensors[1]); found != sources.end()) {
      std::size_t& last = all[found->second].last;
      last = std::max(last, i);
    }
  }
  keep_sources_of_blocks(all, of);
  leave_out_tied_weights(all, of);
  add_copies_of_caches(all, of);
  add_roots_of_adam(all, of);
  return all;
}

/// The bytes of each kind that are live during each call.
[[nodiscard]] inline std::vector<memory_parts> live_parts(const std::vector<tensor_use>& all,
                                                          std::size_t calls) {
  std::vector<memory_parts> live(calls);
  for (std::size_t call = 0; call < calls; ++call) {
    for (const tensor_use& tensor : all) {
      if (tensor.is_live(call)) live[call][tensor.kind] += tensor.bytes;
    }
  }
  return live;
}

/// The bytes that a caching allocator has reserved once further steps take no more: frameworks
/// allocate the optimizer's state in the first step, and memory that is freed may lie elsewhere in
/// the next one.
[[nodiscard]] inline std::int64_t reserved_bytes(const std::vector<tensor_use>& all,
                                                 std::size_t calls) {
  caching_allocator memory;
  std::vector<caching_allocator::address> places(all.size());
  std::vector<bool> has_memory(all.size(), false);
  const auto allocate = [&](std::size_t i) {
    if (has_memory[i] || all[i].bytes == 0) return;
    places[i] = memory.allocate(all[i].bytes);
    has_memory[i] = true;
  };
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i].is_kept && all[i].kind != memory_kind::state) allocate(i);
  }
  std::vector<std::vector<std::size_t>> first(calls);
  std::vector<std::vector<std::size_t>> last(calls);
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (!all[i].is_used) continue;
    first[all[i].first].push_back(i);
    if (!all[i].is_kept) last[all[i].last].push_back(i);
  }
  constexpr int steps = 3;
  for (int step = 0; step < steps; ++step) {
    for (std::size_t call = 0; call < calls; ++call) {
      std::ranges::for_each(first[call], allocate);
      for (const std::size_t i : last[call]) {
        if (has_memory[i]) memory.free(places[i]);
        has_memory[i] = false;
      }
    }
  }
  return memory.reserved();
}

/// The last batch from `fits` on, below `too_large`, that has at most `limit` bytes: by bisection.
[[nodiscard]] inline std::int64_t last_within(std::int64_t limit, const bytes_of_batch& bytes,
                                              std::int64_t fits, std::int64_t too_large) {
  while (too_large - fits > 1) {
    const std::int64_t middle = fits + (too_large - fits) / 2;
    (bytes(middle) <= limit ? fits : too_large) = middle;
  }
  return fits;
}

/// Each reorder that a backend adds has another tensor beside that of the model, on its own pages:
/// the one in blocks, where either side has any.
[[nodiscard]] inline std::int64_t bytes_of_reorders(const std::vector<result::planned>& step,
                                                    dtype type) {
  constexpr std::int64_t page = 4096;
  std::int64_t sum = 0;
  for (const result::planned& one : step) {
    const auto op = one.inserted ? op::from_key(one.op, one.key) : std::nullopt;
    const auto* reorder = op ? op->get<op::reorder>() : nullptr;
    if (reorder == nullptr) continue;
    const std::int64_t stored = std::max(op::stored_elements(reorder->dims, reorder->from),
                                         op::stored_elements(reorder->dims, reorder->to));
    sum += one.count * rounded_up(stored * static_cast<std::int64_t>(traits(type).bytes), page);
  }
  return sum;
}

}  // namespace detail

LAYERBENCH_INLINE model::step step_in_memory(const model::graph& of, std::string_view phase,
                                             dtype type, const model::training& how) {
  if (is_sweep(of)) {
    throw usage_error(fmt::format("'{}' is a sweep; its rows are no step of a model", of.name));
  }
  return model::step_of(of, phase, type, model::usually_in_place(), how);
}

LAYERBENCH_INLINE live_memory live_memory_of(const model::step& of) {
  live_memory result;
  result.calls = detail::live_parts(detail::tensors_of(of, least_layout(of)), of.calls.size());
  for (const model::call& one : of.calls) {
    for (const op::operand& operand : of.operands_of(one)) {
      result.unknown += operand.opaque && operand.role == op::role::destination ? 1 : 0;
    }
  }
  const auto most = std::ranges::max_element(result.calls, {}, &memory_parts::total);
  result.peak = static_cast<std::size_t>(std::distance(result.calls.begin(), most));
  return result;
}

LAYERBENCH_INLINE memory_total memory_of(const model::step& of, memory_policy policy,
                                         const memory_beside_tensors& beside) {
  memory_total result{policy, {}, 0, beside};
  if (policy != memory_policy::kept) result.beside.reorders = 0;
  if (policy == memory_policy::pytorch) {
    const model::step in_pytorch = detail::as_in_pytorch(of);
    const std::vector<detail::tensor_use> all = detail::tensors_in_pytorch(in_pytorch);
    const std::vector<memory_parts> live = detail::live_parts(all, of.calls.size());
    result.parts = *std::ranges::max_element(live, {}, &memory_parts::total);
    result.rest = detail::reserved_bytes(all, of.calls.size()) - result.parts.total();
    return result;
  }
  const model::step laid_out =
      policy == memory_policy::reused
          ? model::with_reused_memory(of, model::least_operand_bytes(of.type))
          : of;
  const model::step_layout layout = least_layout(laid_out);
  const std::vector<detail::tensor_use> all = detail::tensors_of(of, layout);
  for (const detail::tensor_use& tensor : all) result.parts[tensor.kind] += tensor.bytes;
  result.rest = static_cast<std::int64_t>(layout.bytes) - result.parts.total();
  return result;
}

LAYERBENCH_INLINE std::optional<memory_beside_tensors> measured_beside_tensors(
    std::span<const result::results* const> files, const model::graph& of, std::string_view phase,
    dtype type) {
  std::optional<memory_beside_tensors> known;
  const auto is_of_step = [&](const result::case_name& measured) {
    const bool same_texts = std::ranges::all_of(model::text_parameters, [&](std::string_view name) {
      return !measured.count(name) || measured.count(name) == model::parameter(of, name);
    });
    return measured.model == of.name && same_texts &&
           measured.parameter("fusion", "") == of.fusion && measured.batch == model::batch(of) &&
           measured.phase() == phase && measured.dtype == name(type);
  };
  const auto add = [&](const result::measurement& row) {
    const auto found = row.counters.find("workspace_bytes");
    if (found == row.counters.end() || !is_of_step(row.name.model_case)) return;
    if (!known) known.emplace();
    known->scratch = std::max(known->scratch, static_cast<std::int64_t>(found->second));
  };
  for (const result::results* file : files) {
    std::ranges::for_each(file->rows, add);
    std::ranges::for_each(file->chains, add);
  }
  for (const result::results* file : files) {
    for (const auto& [measured, step] : file->manifest) {
      if (!known || !is_of_step(measured)) continue;
      known->reorders = std::max(known->reorders, detail::bytes_of_reorders(step, type));
    }
  }
  return known;
}

LAYERBENCH_INLINE std::optional<std::int64_t> memory_report::cache_of_a_token() const {
  std::int64_t bytes = 0;
  for (const model::call& one : step.calls) {
    const auto* append = one.op.get<op::append>();
    if (append == nullptr) continue;
    const op::operand written = step.operands_of(one).back();
    bytes += append->columns * static_cast<std::int64_t>(traits(written.type).bytes);
  }
  return bytes > 0 ? std::optional(bytes) : std::nullopt;
}

LAYERBENCH_INLINE std::int64_t largest_batch(std::int64_t limit, const bytes_of_batch& at_least,
                                             const bytes_of_batch& needed) {
  constexpr std::int64_t most = std::int64_t{1} << 20;
  constexpr std::int64_t steps_of_a_batch = 1024;
  std::int64_t fits = 0;
  std::int64_t too_large = 1;
  while (too_large <= most && at_least(too_large) <= limit) {
    fits = too_large;
    too_large *= 2;
  }
  too_large = std::min(too_large, most + 1);
  fits = detail::last_within(limit, at_least, fits, too_large);
  too_large = fits + 1;
  while (fits > 0 && needed(fits) > limit) {
    too_large = fits;
    fits -= std::max<std::int64_t>(fits / steps_of_a_batch, 1);
  }
  return detail::last_within(limit, needed, fits, too_large);
}

}  // namespace layerbench::analysis
