// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include <layerbench/backend/kernels/gpu/tensor_plan.hpp>
#include <layerbench/op/concat.hpp>

namespace layerbench::gpu {

/// Kernels of layerbench: the library has no concat. One launch copies all sources.
template <>
class own_plan<op::concat> : public call_plan {
 public:
  own_plan(const runtime& device, const op::concat& o, const plan_request& request)
      : call_plan(request.pass == op::pass::bwd ? "layerbench:split" : "layerbench:concat", device,
                  o.operands(request.pass, request.type), request.layout),
        backward_(request.pass == op::pass::bwd),
        size_(elements(o.dims)),
        kernel_(device.find(request.type, backward_ ? "split" : "concat")) {
    const std::int64_t inner = strides_of(0)[static_cast<std::size_t>(o.axis)];
    runs_.count = static_cast<int>(o.sizes.size());
    for (std::size_t i = 0; i < o.sizes.size(); ++i) {
      runs_.ends.at(i) = (i == 0 ? 0 : runs_.ends.at(i - 1)) + o.sizes[i] * inner;
    }
  }

  /// For each source, where its run ends in a row of the whole tensor: an argument of the kernels.
  struct runs {
    std::array<std::int64_t, op::concat::max_sources> ends{};  ///< in elements, from the first
    std::array<address, op::concat::max_sources> at{};
    address whole = nullptr;
    int count = 0;
    int by_lanes = 0;  ///< whether 16 bytes can be copied at once
  };
  using binding = runs;

  [[nodiscard]] binding bind(std::span<const address> places, address /*workspace*/) const {
    binding bound = runs_;
    place(bound, places);
    return bound;
  }
  void place(binding& bound, std::span<const address> places) const {
    bound.whole = backward_ ? places.front() : places.back();
    std::ranges::copy(backward_ ? places.subspan(1) : places.first(places.size() - 1),
                      bound.at.begin());
    constexpr std::int64_t alignment = 16;
    const auto is_aligned = [](address at) {
      return reinterpret_cast<std::intptr_t>(at) % alignment == 0;
    };
    const auto bytes = static_cast<std::int64_t>(traits(logical(0).type).bytes);
    const auto is_multiple = [&](std::int64_t end) { return end * bytes % alignment == 0; };
    const bool by_lanes =
        std::ranges::all_of(places, is_aligned) && std::ranges::all_of(bound.ends, is_multiple);
    bound.by_lanes = by_lanes ? 1 : 0;
  }

  void run(const binding& bound) const {
    kernel_.launch(grid_for_vectors(size_, logical(0).type), size_, bound);
  }

 private:
  bool backward_;
  std::int64_t size_;
  kernel kernel_;
  runs runs_;
};

}  // namespace layerbench::gpu
