// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <layerbench/model/graph.hpp>
#include <layerbench/model/optimizer.hpp>
#include <layerbench/model/step.hpp>
#include <layerbench/result/measurement.hpp>
#include <layerbench/shape/dtype.hpp>
#include <layerbench/shape/record.hpp>

/// The memory that a step of a model takes, known before it runs: from the sizes of its tensors and
/// the calls that use them.
namespace layerbench::analysis {

/// What a tensor of a step holds. `state` is what an optimizer keeps, with the f32 copies of 16-bit
/// weights; `weights` include running statistics. `activations` are all that the calls hand on:
/// results, their gradients, and what a forward call keeps for its gradient.
enum class memory_kind { input, weights, cache, state, gradients, activations };

[[nodiscard]] constexpr std::array<std::string_view, 6> list_names(memory_kind /*tag*/) {
  return {"input", "weights", "cache", "state", "gradients", "activations"};
}

/// Bytes of each kind.
struct memory_parts {
  std::array<std::int64_t, enum_names<memory_kind>.size()> bytes{};

  [[nodiscard]] std::int64_t& operator[](memory_kind kind) {
    return bytes.at(static_cast<std::size_t>(kind));
  }
  [[nodiscard]] std::int64_t operator[](memory_kind kind) const {
    return bytes.at(static_cast<std::size_t>(kind));
  }
  [[nodiscard]] std::int64_t total() const {
    return std::accumulate(bytes.begin(), bytes.end(), std::int64_t{0});
  }
};

/// Who gives memory to tensors.
/// - `kept`: every tensor has separate memory, as in a chain (model::step_layout).
/// - `reused`: a tensor takes the memory of one that no later call needs, as in a chain with
///   `--memory=reused` (model::with_reused_memory).
/// - `pytorch`: PyTorch's caching allocator for GPUs (caching_allocator). A tensor is allocated
///   before the call that first uses it, and freed after the last one. The first update by Adam
///   also has the square roots of all second moments.
enum class memory_policy { kept, reused, pytorch };

[[nodiscard]] constexpr std::array<std::string_view, 3> list_names(memory_policy /*tag*/) {
  return {"kept", "reused", "pytorch"};
}

/// The bytes of a step's tensors that are live during each call: the input and what is kept from
/// step to step always, others from the first call that uses them to the last, and results that no
/// call reads to the end of the step. No policy needs less than the peak.
struct live_memory {
  std::vector<memory_parts> calls;
  std::size_t peak = 0;  ///< the call with the most; the first of equal ones
  /// Tensors of which only a library knows the size, such as the workspace of an LRN in training.
  /// They count as 0 bytes.
  std::size_t unknown = 0;

  [[nodiscard]] const memory_parts& at_peak() const { return calls.at(peak); }
};

/// Bytes that are known from elsewhere.
struct memory_beside_tensors {
  std::int64_t scratch = 0;   ///< of the library's calls, which share it
  std::int64_t contexts = 0;  ///< of driver and libraries
  /// Tensors in other orders, which a library's calls want in a chain: those of `kept` alone.
  std::int64_t reorders = 0;
};

/// What a policy takes for a step.
struct memory_total {
  memory_policy policy;
  /// Bytes of tensors: of `pytorch` those that are live at the peak, of `kept` all, of `reused` the
  /// memory that tensors share, by the first tensor in it.
  memory_parts parts;
  std::int64_t rest = 0;  ///< rounding, and memory that is reserved but free at the peak
  memory_beside_tensors beside;

  [[nodiscard]] std::int64_t bytes() const {
    return parts.total() + rest + beside.scratch + beside.contexts + beside.reorders;
  }
};

/// The step of a model as bench_model runs it by default: activations in place. Throws usage_error
/// for a sweep, and what model::step_of throws.
[[nodiscard]] model::step step_in_memory(const model::graph& of, std::string_view phase, dtype type,
                                         const model::training& how = {});

[[nodiscard]] live_memory live_memory_of(const model::step& of);

/// The peak of a step under a policy.
[[nodiscard]] memory_total memory_of(const model::step& of, memory_policy policy,
                                     const memory_beside_tensors& beside = {});

/// The same of a model with the batch of the graph.
[[nodiscard]] inline memory_total memory_of(const model::graph& of, std::string_view phase,
                                            dtype type, memory_policy policy,
                                            const memory_beside_tensors& beside = {},
                                            const model::training& how = {}) {
  return memory_of(step_in_memory(of, phase, type, how), policy, beside);
}

/// What result files know of a model's step beside its tensors: the most scratch memory that a call
/// had, and the results of reorders. Nothing where no file has the model with this batch, phase,
/// data type and fusion plan.
[[nodiscard]] std::optional<memory_beside_tensors> measured_beside_tensors(
    std::span<const result::results* const> files, const model::graph& of, std::string_view phase,
    dtype type);

/// Bytes as a function of the batch.
using bytes_of_batch = std::function<std::int64_t(std::int64_t)>;

/// The largest batch that needs at most `limit` bytes, up to 2^20; 0 if not even one image fits.
/// `needed` may fall from one batch to the next, as that of `pytorch` does. `at_least`, such as the
/// live bytes, is never above it and must not fall. Of more than 1024 images a larger batch may be
/// missed, by at most a thousandth at a time.
[[nodiscard]] std::int64_t largest_batch(std::int64_t limit, const bytes_of_batch& at_least,
                                         const bytes_of_batch& needed);

/// A model's step and its memory, for readers.
struct memory_report {
  model::graph graph;
  std::string phase;
  model::training how;
  model::step step;
  live_memory live;
  std::vector<memory_total> totals;
  bool scratch_known = false;
  std::optional<std::int64_t> limit = {};  ///< bytes
  std::vector<std::int64_t> batches = {};  ///< the largest within the limit, of each total

  /// Bytes that a token of a sequence has in the key-value caches; nothing without caches.
  [[nodiscard]] std::optional<std::int64_t> cache_of_a_token() const;
};

}  // namespace layerbench::analysis

#ifndef LAYERBENCH_COMPILED
#include <layerbench/analysis/base/memory-inl.hpp>
#endif
