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

/// Batch normalisation, of images in any order alike. For `bwd` the library hands on the inverse of
/// a batch's deviation where the op has its variance: that lies so in memory.
template <>
class plan<cudnn::backend, op::batchnorm> : public cudnn::legacy_plan {
 public:
  plan(cudnn::backend& device, const op::batchnorm& o, const plan_request& request)
      : legacy_plan(device, o.operands(request.pass, request.type), request,
                    function_of(request.pass)),
        device_(&device),
        pass_(request.pass),
        epsilon_(o.epsilon),
        image_(described(0)),
        channels_({1, o.c, 1, 1}, {o.c, 1, 1, 1}, dtype::f32) {
    if (pass_ == op::pass::fwd_training) inverted_ = 7;
    if (pass_ == op::pass::bwd) inverted_ = 4;
  }

  void upload(std::size_t operand, std::span<const float> values, address to) const {
    if (operand != inverted_) return tensor_plan::upload(operand, values, to);
    std::vector<float> inverses;
    for (const float variance : values) {
      inverses.push_back(static_cast<float>(1 / std::sqrt(variance + epsilon_)));
    }
    tensor_plan::upload(operand, inverses, to);
  }
  void download(std::size_t operand, address from, std::span<float> values) const {
    tensor_plan::download(operand, from, values);
    if (operand != inverted_) return;
    for (float& value : values) {
      const double inverse = value;
      value = static_cast<float>(1 / (inverse * inverse) - epsilon_);
    }
  }

  /// The variance of an inverse deviation that was rounded, twice by what the library takes for it:
  /// relative to the variance with epsilon, of which the square doubles the error.
  template <class Sum>
  [[nodiscard]] Sum as_stored(std::size_t operand, Sum exact) const {
    if (operand != inverted_) return exact;
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
      restore(3, 8, bound);
      restore(4, 9, bound);
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

  /// The library updates running statistics where they are, as models have them; elsewhere they are
  /// copied first.
  void restore(std::size_t old, std::size_t now, const binding& bound) const {
    if (bound[old] != bound[now]) device_->copy(bound[now], bound[old], operands()[now].bytes);
  }

  cudnn::backend* device_;
  op::pass pass_;
  double epsilon_;
  std::optional<std::size_t> inverted_;  ///< the operand that has the variance
  cudnn::tensor_descriptor image_;
  cudnn::tensor_descriptor channels_;
};

static_assert(implements<cudnn::backend, op::batchnorm>);

}  // namespace layerbench
