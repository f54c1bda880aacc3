// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include <layerbench/backend/cudnn/legacy_api.hpp>
#include <layerbench/backend/kernels/gpu/batchnorm.hpp>
#include <layerbench/backend/kernels/gpu/normalization_plan.hpp>
#include <layerbench/backend/kernels/gpu/post_kernel.hpp>
#include <layerbench/op/batchnorm.hpp>

namespace layerbench {

/// Batch normalisation of images in any order: inference by a layerbench kernel, since cuDNN's
/// takes at least 2.3 times as long as a copy on an H100 (results/gpu), training by cuDNN's
/// persistent kernels, which are more than 60 times as fast there as its others. They may overflow
/// where numbers are huge, as cuDNN's documentation says. In training cuDNN always has a scale and
/// a shift: one that is not learned is a constant of the plan, and its gradient is discarded.
template <>
class plan<cudnn::backend, op::batchnorm> : public gpu::normalization_plan<cudnn::direct_plan> {
 public:
  static constexpr bool has_post_ops = true;

  plan(cudnn::backend& device, const op::batchnorm& o, const plan_request& request)
      : normalization_plan(request.pass, o.epsilon, device, o.operands(request.pass, request.type),
                           request, function_of(request.pass, !o.post.empty())),
        device_(&device),
        pass_(request.pass),
        scale_(o.scale),
        shift_(o.shift),
        image_(tensor_descriptor_of(0)),
        channels_({1, o.c, 1, 1}, {o.c, 1, 1, 1}, dtype::f32),
        post_(device, o.post, logical(operands().size() - 1)) {
    if (pass_ == op::pass::fwd) {
      workspace_bytes_ = post_.scratch_bytes();
      inference_.emplace(device, o, request.type, strides_of(0)[1] == 1);
      return;
    }
    find_sizes(request);
    if (o.learned() < 2) unlearned_.emplace(device, o.c);
  }

  [[nodiscard]] std::size_t workspace_bytes() const override { return workspace_bytes_; }

  [[nodiscard]] reference::sum as_stored(std::size_t operand, reference::sum exact) const override {
    exact = normalization_plan::as_stored(operand, exact);
    return post_ ? rounded_before_post(exact) : exact;
  }

  void run(const binding& bound) const {
    if (pass_ == op::pass::fwd) return normalize(bound);
    if (pass_ == op::pass::bwd) return differentiate(bound);
    std::size_t next = 1;  // operand
    address scale = scale_ ? bound[next++] : unlearned_->at(gpu::parameter::scale);
    address shift = shift_ ? bound[next++] : unlearned_->at(gpu::parameter::bias);
    const std::size_t mean = next;
    prepare_update(mean, mean + 5, bound);
    prepare_update(mean + 1, mean + 6, bound);
    check(cudnnBatchNormalizationForwardTrainingEx(
        library(), mode, CUDNN_BATCHNORM_OPS_BN, &cudnn::one, &cudnn::zero, image_.get(), bound[0],
        nullptr, nullptr, image_.get(), bound[mean + 2], channels_.get(), scale, shift,
        op::batchnorm::momentum, bound[mean + 5], bound[mean + 6], epsilon(), bound[mean + 3],
        bound[mean + 4], nullptr, bound.workspace, workspace_bytes_, nullptr, 0));
  }

 private:
  static constexpr cudnnBatchNormMode_t mode = CUDNN_BATCHNORM_SPATIAL_PERSISTENT;

  static std::string function_of(op::pass pass, bool has_post) {
    switch (pass) {
      case op::pass::fwd:
        return std::string(gpu::batchnorm::algorithm) +
               std::string(has_post ? gpu::post_kernel_suffix : "");
      case op::pass::fwd_training: return "cudnnBatchNormalizationForwardTrainingEx";
      default: return "cudnnBatchNormalizationBackwardEx";
    }
  }

  /// Asks cuDNN for the bytes of scratch memory. Throws unsupported if the passes share memory: the
  /// op has no operand for it. They do not in cuDNN 9.19, as long as no post-op is fused.
  void find_sizes(const plan_request& request) {
    const auto image = image_.get();
    const auto channels = channels_.get();
    std::size_t shared = 0;
    cuda::check(cudnnGetBatchNormalizationTrainingExReserveSpaceSize(
                    library(), mode, CUDNN_BATCHNORM_OPS_BN, nullptr, image, &shared),
                "cudnnGetBatchNormalizationTrainingExReserveSpaceSize");
    if (shared > 0) throw unsupported("cuDNN's passes of batch normalisation share memory");
    if (request.pass == op::pass::bwd) {
      cuda::check(cudnnGetBatchNormalizationBackwardExWorkspaceSize(
                      library(), mode, CUDNN_BATCHNORM_OPS_BN, image, nullptr, image, nullptr,
                      image, channels, nullptr, &workspace_bytes_),
                  "cudnnGetBatchNormalizationBackwardExWorkspaceSize");
    } else {
      cuda::check(cudnnGetBatchNormalizationForwardTrainingExWorkspaceSize(
                      library(), mode, CUDNN_BATCHNORM_OPS_BN, image, nullptr, image, channels,
                      nullptr, &workspace_bytes_),
                  "cudnnGetBatchNormalizationForwardTrainingExWorkspaceSize");
    }
  }

  void normalize(const binding& bound) const {
    std::size_t next = 1;  // operand
    address scale = scale_ ? bound[next++] : nullptr;
    address shift = shift_ ? bound[next++] : nullptr;
    address stored = post_.result_address(bound.operands.back(), bound.workspace);
    inference_->run(bound[0], scale, shift, bound[next], bound[next + 1], stored);
    post_.run(stored, bound.operands);
  }

  void differentiate(const binding& bound) const {
    std::size_t next = 2;  // operand
    address scale = scale_ ? bound[next++] : unlearned_->at(gpu::parameter::scale);
    const std::size_t mean = next;
    next += 3;
    address diff_scale = scale_ ? bound[next++] : unlearned_->at(gpu::parameter::diff_scale);
    address diff_shift = shift_ ? bound[next++] : unlearned_->at(gpu::parameter::diff_bias);
    check(cudnnBatchNormalizationBackwardEx(
        library(), mode, CUDNN_BATCHNORM_OPS_BN, &cudnn::one, &cudnn::zero, &cudnn::one,
        &cudnn::zero, image_.get(), bound[0], nullptr, nullptr, image_.get(), bound[1], nullptr,
        nullptr, image_.get(), bound[mean + 2], channels_.get(), scale, nullptr, diff_scale,
        diff_shift, epsilon(), bound[mean], bound[mean + 1], nullptr, bound.workspace,
        workspace_bytes_, nullptr, 0));
  }

  /// Copies running statistics to their output, because cuDNN updates them in place. In models both
  /// are the same memory, and nothing is copied.
  void prepare_update(std::size_t old, std::size_t now, const binding& bound) const {
    if (bound[old] != bound[now]) device_->copy(bound[now], bound[old], operands()[now].bytes);
  }

  cudnn::backend* device_;
  op::pass pass_;
  bool scale_;  ///< is learned
  bool shift_;
  cudnn::tensor_descriptor image_;
  cudnn::tensor_descriptor channels_;
  gpu::post_kernel post_;
  std::optional<gpu::batchnorm> inference_;
  std::size_t workspace_bytes_ = 0;
  std::optional<gpu::unlearned_parameters> unlearned_;
};

static_assert(implements<cudnn::backend, op::batchnorm>);

}  // namespace layerbench
