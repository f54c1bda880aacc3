// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <layerbench/backend/kernels/host/split.hpp>
#include <layerbench/backend/onednn/primitive.hpp>
#include <layerbench/op/concat.hpp>

namespace layerbench {

/// The library's concat. The split of the gradient is a loop of layerbench: the library has
/// only a reorder per source, which would start its threads as often.
template <>
class plan<onednn::backend, op::concat> : public onednn::primitive_plan {
 public:
  plan(const onednn::backend& device, const op::concat& o, const plan_request& request)
      : primitive_plan(device, o.operands(request.pass, request.type)) {
    onednn::checked("concat", [&] {
      if (request.pass == op::pass::bwd) {
        build_bwd(device, o, request);
      } else {
        build_fwd(device, o, request);
      }
    });
  }

  void run(const binding& bound) const {
    if (!split_) return primitive_plan::run(bound);
    split_->run(at<const char>(bound, 0), [&](std::size_t i) { return at<char>(bound, i + 1); });
  }

 private:
  void build_fwd(const onednn::backend& device, const op::concat& o, const plan_request& request) {
    std::vector<int> arguments;
    std::vector<dnnl::memory::desc> stored;
    for (std::size_t i = 0; i < o.sizes.size(); ++i) {
      arguments.push_back(DNNL_ARG_MULTIPLE_SRC + static_cast<int>(i));
      stored.push_back(onednn::activations(device, extents(i), request.type, request.layout));
    }
    const dnnl::concat::primitive_desc result(
        device.engine(), onednn::activations_or_any(device, o.dims, request.type, request.layout),
        static_cast<int>(o.axis), stored, attributes());
    arguments.push_back(DNNL_ARG_DST);
    stored.push_back(result.dst_desc());
    set_primitive(result, arguments, stored);
  }

  /// All operands have the order of diff_dst, in which the elements of a source form a run in each
  /// row. Under layout:any, blocks that a source would have to share with the next are avoided.
  void build_bwd(const onednn::backend& device, const op::concat& o, const plan_request& request) {
    const auto axis = static_cast<std::size_t>(o.axis);
    dnnl::memory::desc whole = onednn::activations(device, o.dims, request.type, request.layout);
    std::int64_t block = 1;
    for (int i = 0; i < whole.get_inner_nblks(); ++i) {
      const auto at = static_cast<std::size_t>(i);
      const bool along = whole.get_inner_idxs()[at] == o.axis;
      block = along && block > 0 ? block * whole.get_inner_blks()[at] : 0;
    }
    const bool divides =
        block > 0 && std::ranges::all_of(o.sizes, [&](auto size) { return size % block == 0; });
    if (!divides) {
      whole = onednn::plain_or_nhwc_activations(device, o.dims, request.type, request.layout);
      block = 1;
    }
    const std::string order = onednn::order_of(whole);
    const auto element = static_cast<std::int64_t>(traits(request.type).bytes);
    const std::int64_t inner = whole.get_strides()[axis] / block * element;
    std::vector<dnnl::memory::desc> stored{whole};
    std::vector<std::int64_t> run_bytes;
    for (std::size_t i = 0; i < o.sizes.size(); ++i) {
      stored.push_back(onednn::in_order(extents(i + 1), request.type, order));
      run_bytes.push_back(o.sizes[i] * inner);
    }
    split_.emplace(elements(o.dims) * element / (o.extent() * inner), std::move(run_bytes));
    set_loop(stored, host::split::algorithm);
  }

  std::optional<host::split> split_;  ///< of the gradient
};

static_assert(implements<onednn::backend, op::concat>);

}  // namespace layerbench
