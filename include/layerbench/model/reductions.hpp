// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <ranges>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <layerbench/model/buckets.hpp>
#include <layerbench/model/parameter_updates.hpp>
#include <layerbench/model/step.hpp>
#include <layerbench/op/allreduce.hpp>
#include <layerbench/op/op.hpp>
#include <layerbench/shape/dtype.hpp>

/// The all-reduces of a training step of several ranks.
namespace layerbench::model::detail {

/// Inserts one all-reduce per bucket of gradients, right after the call that writes its last
/// gradient. No other call overlaps it. PyTorch's DistributedDataParallel does the same if
/// gradients are views of buckets, but it also divides the sums by the number of ranks.
class reductions {
 public:
  reductions(step& result, const std::vector<parameter>& learned, std::int64_t ranks)
      : result_(result), ranks_(ranks) {
    for (const parameter& one : learned) ready_.push_back({&one, writer_of(one.gradient)});
    // A layer's bias comes before its weights, though one call writes both.
    for (auto first = ready_.begin(); first != ready_.end();) {
      const auto other = [&](const learned_by& by) { return by.call != first->call; };
      const auto end = std::find_if(first, ready_.end(), other);
      std::reverse(first, end);
      first = end;
    }
  }

  void insert() {
    std::vector<gradient> sizes;
    for (const learned_by& by : ready_) {
      const auto bytes = static_cast<std::int64_t>(traits(result_.type).bytes);
      sizes.push_back({result_.calls[by.call].layer, by.what->size * bytes});
    }
    std::size_t next = 0;
    std::size_t number = 0;
    std::vector<std::pair<std::size_t, call>> behind;  // which call
    for (const bucket& next_bucket : buckets_of(sizes)) {
      packed_tensor packed{result_.new_tensor(), {}};
      for (std::int64_t bytes = 0; bytes < next_bucket.bytes; bytes += sizes[next++].bytes) {
        packed.parts.push_back(ready_[next].what->gradient);
      }
      call reduce{fmt::format("bucket{}", ++number),
                  op::any(op::allreduce{next_bucket.bytes, ranks_, /*in_place=*/true}),
                  op::pass::fwd,
                  {packed.whole, packed.whole}};
      reduce.part = step_part::backward;
      result_.packed.push_back(std::move(packed));
      behind.emplace_back(ready_[next - 1].call, std::move(reduce));
    }
    for (auto& [position, reduce] : behind | std::views::reverse) {
      result_.calls.insert(result_.calls.begin() + static_cast<std::ptrdiff_t>(position) + 1,
                           std::move(reduce));
    }
  }

 private:
  struct learned_by {
    const parameter* what;
    std::size_t call;  ///< that writes its gradient
  };

  [[nodiscard]] std::size_t writer_of(std::size_t tensor) const {
    const auto writes = [&](const call& candidate) {
      return result_.written_as(candidate, tensor) && candidate.part == step_part::backward;
    };
    const auto last = std::ranges::find_if(result_.calls | std::views::reverse, writes);
    return static_cast<std::size_t>(std::distance(last, result_.calls.rend())) - 1;
  }

  step& result_;
  std::int64_t ranks_;
  std::vector<learned_by> ready_;
};

}  // namespace layerbench::model::detail
