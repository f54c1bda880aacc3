// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <layerbench/backend/cudnn/classic.hpp>
#include <layerbench/op/batchnorm.hpp>

namespace layerbench {

/// Batch normalisation for inference. For training the library hands on another statistic than the
/// op does: the inverse of the deviation, where that has the variance.
template <>
class plan<cudnn::backend, op::batchnorm> : public cudnn::classic_plan {
 public:
  plan(const cudnn::backend& here, const op::batchnorm& o, const plan_request& request)
      : classic_plan(here, o.operands(request.pass, request.type), request,
                     "cudnnBatchNormalizationForwardInference"),
        epsilon_(o.epsilon),
        image_(described(0)),
        channels_({1, o.c, 1, 1}, {o.c, 1, 1, 1}, dtype::f32) {
    if (request.pass != op::pass::fwd) {
      throw unsupported("layerbench normalises with cuDNN for inference alone");
    }
  }

  void run(const binding& bound) const {
    check(cudnnBatchNormalizationForwardInference(
        library(), CUDNN_BATCHNORM_SPATIAL, &cudnn::one, &cudnn::zero, image_.get(), bound[0],
        image_.get(), bound[5], channels_.get(), bound[1], bound[2], bound[3], bound[4], epsilon_));
  }

 private:
  double epsilon_;
  cudnn::tensor_descriptor image_;
  cudnn::tensor_descriptor channels_;
};

static_assert(implements<cudnn::backend, op::batchnorm>);

}  // namespace layerbench
