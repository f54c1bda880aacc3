// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include <layerbench/backend/cudnn/legacy_api.hpp>
#include <layerbench/op/batchnorm.hpp>

namespace layerbench {

/// Batch normalisation of images in any order: inference by a layerbench kernel, since cuDNN's
/// takes at least 2.3 times as long as a copy on an H100 (results/gpu), training by cuDNN's
/// persistent kernels, which are more than 60 times as fast there as its others. They may overflow
/// where numbers are huge, as cuDNN's documentation says. cuDNN saves the inverse standard
/// deviation of a batch for `bwd`, where the op has the variance: upload(), download(), draw() and
/// gather() convert between them. In training it always has a scale and a shift: one that is not
/// learned is a constant of the plan, and its gradient is discarded.
template <>
class plan<cudnn::backend, op::batchnorm> : public cudnn::direct_plan {
 public:
  plan(cudnn::backend& device, const op::batchnorm& o, const plan_request& request)
      : direct_plan(device, o.operands(request.pass, request.type), request,
                    function_of(request.pass)),
        device_(&device),
        pass_(request.pass),
        scale_(o.scale),
        shift_(o.shift),
        epsilon_(o.epsilon),
        image_(tensor_descriptor_of(0)),
        channels_({1, o.c, 1, 1}, {o.c, 1, 1, 1}, dtype::f32) {
    if (pass_ == op::pass::fwd) {
      kernel_ = device.kernels().find(request.type, "batchnorm");
      return;
    }
    find_sizes(request);
    if (pass_ == op::pass::fwd_training) inverse_deviation_ = 5 + o.learned();
    if (pass_ == op::pass::bwd) inverse_deviation_ = o.scale ? 4 : 3;
    if (o.learned() < 2) allocate(device, o.c);
  }

  void upload(std::size_t operand, std::span<const float> values, address to) const {
    if (operand != inverse_deviation_) return tensor_plan::upload(operand, values, to);
    std::vector<float> inverses;
    for (const float variance : values) {
      inverses.push_back(static_cast<float>(1 / std::sqrt(variance + epsilon_)));
    }
    tensor_plan::upload(operand, inverses, to);
  }
  void download(std::size_t operand, address from, std::span<float> values) const {
    tensor_plan::download(operand, from, values);
    if (operand == inverse_deviation_) convert_to_variances(values);
  }
  void draw(std::size_t operand, const run::test_data& data, address to) const {
    if (operand != inverse_deviation_) return tensor_plan::draw(operand, data, to);
    upload(operand, run::random_values(data), to);
  }
  [[nodiscard]] std::optional<std::int64_t> first_non_finite(std::size_t operand,
                                                             address from) const {
    if (operand != inverse_deviation_) return tensor_plan::first_non_finite(operand, from);
    std::vector<float> values(static_cast<std::size_t>(elements(logical(operand).extents)));
    download(operand, from, values);
    const auto bad = std::ranges::find_if(values, [](float v) { return !std::isfinite(v); });
    if (bad == values.end()) return std::nullopt;
    return bad - values.begin();
  }
  [[nodiscard]] std::vector<float> gather(std::size_t operand, address from,
                                          std::span<const std::int64_t> indices) const {
    std::vector<float> values = tensor_plan::gather(operand, from, indices);
    if (operand == inverse_deviation_) convert_to_variances(values);
    return values;
  }

  /// Error bound of a variance that is computed back from a stored inverse deviation
  /// (variance + epsilon)^(-1/2). Squaring doubles its relative error. Of its three roundings two
  /// are in cuDNN's computation and one is its storage.
  template <class Sum>
  [[nodiscard]] Sum as_stored(std::size_t operand, Sum exact) const {
    if (operand != inverse_deviation_) return exact;
    exact.rounded = 2 * (exact.value + epsilon_);
    exact.roundings = 3;
    return exact;
  }

  [[nodiscard]] std::size_t workspace_bytes() const { return workspace_bytes_; }

  void run(const binding& bound) const {
    if (pass_ == op::pass::fwd) return normalize(bound);
    if (pass_ == op::pass::bwd) return differentiate(bound);
    std::size_t next = 1;  // operand
    const address scale = scale_ ? bound[next++] : constant(0);
    const address shift = shift_ ? bound[next++] : constant(1);
    const std::size_t mean = next;
    prepare_update(mean, mean + 5, bound);
    prepare_update(mean + 1, mean + 6, bound);
    check(cudnnBatchNormalizationForwardTrainingEx(
        library(), mode, CUDNN_BATCHNORM_OPS_BN, &cudnn::one, &cudnn::zero, image_.get(), bound[0],
        nullptr, nullptr, image_.get(), bound[mean + 2], channels_.get(), scale, shift,
        op::batchnorm::momentum, bound[mean + 5], bound[mean + 6], epsilon_, bound[mean + 3],
        bound[mean + 4], nullptr, bound.workspace, workspace_bytes_, nullptr, 0));
  }

 private:
  static constexpr cudnnBatchNormMode_t mode = CUDNN_BATCHNORM_SPATIAL_PERSISTENT;

  void convert_to_variances(std::span<float> inverse_deviations) const {
    for (float& value : inverse_deviations) {
      const double inverse = value;
      value = static_cast<float>(1 / (inverse * inverse) - epsilon_);
    }
  }

  static std::string_view function_of(op::pass pass) {
    switch (pass) {
      case op::pass::fwd: return "nvrtc_batchnorm";
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

  /// channel_values of the kernel.
  struct channel_values {
    address scale, shift, mean, variance;
    float epsilon;
  };

  void normalize(const binding& bound) const {
    std::size_t next = 1;  // operand
    const address scale = scale_ ? bound[next++] : nullptr;
    const address shift = shift_ ? bound[next++] : nullptr;
    const dims& extents = logical(0).extents;
    const std::int64_t size = elements(extents);
    const bool channels_last = strides_of(0)[1] == 1;
    kernel_->launch(
        stream(), cuda::grid_for_vectors(size, logical(0).type), bound[0], bound[next + 2], size,
        extents[1], channels_last ? std::int64_t{1} : extents[2] * extents[3],
        channel_values{scale, shift, bound[next], bound[next + 1], static_cast<float>(epsilon_)});
  }

  void differentiate(const binding& bound) const {
    std::size_t next = 2;  // operand
    const address scale = scale_ ? bound[next++] : constant(0);
    const std::size_t mean = next;
    next += 3;
    const address diff_scale = scale_ ? bound[next++] : constant(2);
    const address diff_shift = shift_ ? bound[next++] : constant(3);
    check(cudnnBatchNormalizationBackwardEx(
        library(), mode, CUDNN_BATCHNORM_OPS_BN, &cudnn::one, &cudnn::zero, &cudnn::one,
        &cudnn::zero, image_.get(), bound[0], nullptr, nullptr, image_.get(), bound[1], nullptr,
        nullptr, image_.get(), bound[mean + 2], channels_.get(), scale, nullptr, diff_scale,
        diff_shift, epsilon_, bound[mean], bound[mean + 1], nullptr, bound.workspace,
        workspace_bytes_, nullptr, 0));
  }

  /// Scales, shifts, and room for the gradients of both.
  void allocate(cudnn::backend& device, std::int64_t channels) {
    const auto count = static_cast<std::size_t>(channels);
    constant_bytes_ = count * sizeof(float);
    constants_.emplace(cudnn::backend::allocate(4 * constant_bytes_));
    std::vector<float> values(4 * count, 0.0F);
    std::fill_n(values.begin(), count, 1.0F);
    device.copy(constants_->data(), values.data(), 4 * constant_bytes_);
    device.synchronize();
  }
  [[nodiscard]] address constant(std::size_t i) const {
    return static_cast<std::byte*>(constants_->data()) + i * constant_bytes_;
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
  double epsilon_;
  std::optional<std::size_t> inverse_deviation_;  ///< operand that is the variance in the op
  cudnn::tensor_descriptor image_;
  cudnn::tensor_descriptor channels_;
  std::optional<cuda::kernel> kernel_;  ///< of inference
  std::size_t workspace_bytes_ = 0;
  std::optional<cuda::buffer> constants_;  ///< where not all is learned
  std::size_t constant_bytes_ = 0;         ///< of each of them
};

static_assert(implements<cudnn::backend, op::batchnorm>);

}  // namespace layerbench
