// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstddef>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include <layerbench/backend/cudnn/legacy_api.hpp>
#include <layerbench/op/batchnorm.hpp>

namespace layerbench {

/// Batch normalisation of images in any order. cuDNN saves the inverse standard deviation of a
/// batch for `bwd`, where the op has the variance: upload() and download() convert between them.
template <>
class plan<cudnn::backend, op::batchnorm> : public cudnn::legacy_plan {
 public:
  plan(cudnn::backend& device, const op::batchnorm& o, const plan_request& request)
      : legacy_plan(device, o.operands(request.pass, request.type), request,
                    function_of(request.pass)),
        device_(&device),
        pass_(request.pass),
        epsilon_(o.epsilon),
        image_(tensor_descriptor_of(0)),
        channels_({1, o.c, 1, 1}, {o.c, 1, 1, 1}, dtype::f32) {
    if (pass_ == op::pass::fwd_training) inverse_deviation_ = 7;
    if (pass_ == op::pass::bwd) inverse_deviation_ = 4;
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
    if (operand != inverse_deviation_) return;
    for (float& value : values) {
      const double inverse = value;
      value = static_cast<float>(1 / (inverse * inverse) - epsilon_);
    }
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

  void run(const binding& bound) const {
    if (pass_ == op::pass::fwd) {
      check(cudnnBatchNormalizationForwardInference(
          library(), mode, &cudnn::one, &cudnn::zero, image_.get(), bound[0], image_.get(),
          bound[5], channels_.get(), bound[1], bound[2], bound[3], bound[4], epsilon_));
    } else if (pass_ == op::pass::fwd_training) {
      prepare_update(3, 8, bound);
      prepare_update(4, 9, bound);
      check(cudnnBatchNormalizationForwardTraining(
          library(), mode, &cudnn::one, &cudnn::zero, image_.get(), bound[0], image_.get(),
          bound[5], channels_.get(), bound[1], bound[2], op::batchnorm::momentum, bound[8],
          bound[9], epsilon_, bound[6], bound[7]));
    } else {
      check(cudnnBatchNormalizationBackward(
          library(), mode, &cudnn::one, &cudnn::zero, &cudnn::one, &cudnn::zero, image_.get(),
          bound[0], image_.get(), bound[1], image_.get(), bound[5], channels_.get(), bound[2],
          bound[6], bound[7], epsilon_, bound[3], bound[4]));
    }
  }

 private:
  static constexpr cudnnBatchNormMode_t mode = CUDNN_BATCHNORM_SPATIAL;

  static std::string_view function_of(op::pass pass) {
    switch (pass) {
      case op::pass::fwd: return "cudnnBatchNormalizationForwardInference";
      case op::pass::fwd_training: return "cudnnBatchNormalizationForwardTraining";
      default: return "cudnnBatchNormalizationBackward";
    }
  }

  /// Copies running statistics to their output, because cuDNN updates them in place. In models both
  /// are the same memory, and nothing is copied.
  void prepare_update(std::size_t input, std::size_t output, const binding& bound) const {
    if (bound[input] == bound[output]) return;
    device_->copy(bound[output], bound[input], operands()[output].bytes);
  }

  cudnn::backend* device_;
  op::pass pass_;
  double epsilon_;
  std::optional<std::size_t> inverse_deviation_;  ///< operand that is the variance in the op
  cudnn::tensor_descriptor image_;
  cudnn::tensor_descriptor channels_;
};

static_assert(implements<cudnn::backend, op::batchnorm>);

}  // namespace layerbench
