// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include <layerbench/backend/kernels/gpu/bias_gradient.hpp>
#include <layerbench/backend/kernels/gpu/post_kernel.hpp>
#include <layerbench/backend/kernels/gpu/tensor_plan.hpp>
#include <layerbench/op/add.hpp>

namespace layerbench::gpu {

/// Layerbench kernels; one does the sum and the post-ops, unless an addend is broadcast.
/// cuDNN's cudnnOpTensor takes 1.5 to 3.5 times as long as a copy on an H100
/// (results/gpu), though a sum touches only half as many bytes more. The gradient of src1 is that
/// of dst if nothing is broadcast. Else it is computed as that of a bias, where each image counts
/// as one pixel whose elements are the channels: the batch is the slowest axis in every order.
template <>
class own_plan<op::add> : public call_plan {
 public:
  static constexpr bool has_post_ops = true;

  own_plan(const runtime& device, const op::add& o, const plan_request& request)
      : call_plan(request.pass == op::pass::bwd
                      ? o.broadcast ? "layerbench:bias_gradient" : "layerbench:copy"
                  : o.post.empty() ? "layerbench:add"
                  : o.broadcast    ? "layerbench:add+layerbench:post_ops"
                                   : "layerbench:post_ops",
                  device, o.operands(request.pass, request.type), request.layout),
        size_(elements(o.dims)),
        image_(elements(o.addends())),
        joins_sum_(!o.post.empty() && !o.broadcast),
        post_(device, post_of(o), logical(operands().size() - 1)) {
    if (request.pass == op::pass::bwd && !o.broadcast) {
      copies_ = true;
      kernel_ = device.find(request.type, "copy");
    } else if (request.pass == op::pass::bwd) {
      gradient_.emplace(device, dims{size_ / image_, image_, 1, 1}, request.type, true,
                        request.workspace_limit);
    } else {
      if (!joins_sum_) kernel_ = device.find(request.type, "add");
    }
  }

  [[nodiscard]] std::size_t workspace_bytes() const override {
    return gradient_ ? gradient_->workspace_bytes() : joins_sum_ ? 0 : post_.scratch_bytes();
  }

  void run(const binding& bound) const {
    if (gradient_) return gradient_->run(bound[0], bound[1], bound.workspace);
    if (copies_) {
      const auto bytes = static_cast<std::int64_t>(operands()[0].bytes);
      return kernel_->launch(grid_for_vectors(size_, logical(0).type), bound[0], bound[1], bytes);
    }
    if (joins_sum_) return post_.run(bound[0], bound.operands);
    address sum = post_.result_address(bound.operands.back(), bound.workspace);
    kernel_->launch(grid_for_vectors(size_, logical(0).type), bound[0], bound[1], sum, size_,
                    image_);
    post_.run(sum, bound.operands);
  }

  [[nodiscard]] reference::sum as_stored(std::size_t /*operand*/,
                                         reference::sum exact) const override {
    return post_ && !joins_sum_ ? rounded_before_post(exact) : exact;
  }

 private:
  /// What the kernel applies: the sum as well, where all tensors have the same extents.
  [[nodiscard]] static op::post_ops post_of(const op::add& o) {
    op::post_ops post = o.post;
    if (!post.empty() && !o.broadcast) post.insert(post.begin(), op::post_op::add);
    return post;
  }

  std::int64_t size_;
  std::int64_t image_;  ///< elements of src1
  bool copies_ = false;
  bool joins_sum_;  ///< the kernel of post-ops adds src1, too
  post_kernel post_;
  std::optional<kernel> kernel_;
  std::optional<bias_gradient> gradient_;
};

}  // namespace layerbench::gpu
