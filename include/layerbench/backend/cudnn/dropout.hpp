// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include <layerbench/backend/cudnn/legacy_api.hpp>
#include <layerbench/op/dropout.hpp>

namespace layerbench {

/// Kernels of the suite's own: the library's dropout has random numbers of its own. The seed is
/// counted up by a second one, behind all that read it.
template <>
class plan<cudnn::backend, op::dropout> : public cudnn::legacy_plan {
 public:
  plan(cudnn::backend& device, const op::dropout& o, const plan_request& request)
      : legacy_plan(device, o.operands(request.pass, request.type), request,
                    request.pass == op::pass::bwd ? "nvrtc_dropout_gradient"
                                                  : "nvrtc_dropout+nvrtc_dropout_seed"),
        o_(o),
        size_(elements(o.dims)),
        kernel_(device.kernels().find(
            request.type, request.pass == op::pass::bwd ? "dropout_gradient" : "dropout")) {
    if (request.pass != op::pass::bwd) seed_ = device.kernels().find(request.type, "dropout_seed");
    if (o.dims.size() != 4 || request.order == layout::nchw) return;
    channels_ = o.dims[1];
    pixels_ = o.dims[2] * o.dims[3];
  }

  void run(const binding& at) const {
    const cuda::grid on = cuda::grid_for((size_ + 3) / 4);
    if (seed_) {
      kernel_.launch(stream(), on, at[0], at[1], at[2], at[3], size_, channels_, pixels_,
                     o_.least_kept(), o_.factor());
      seed_->launch(stream(), {dim3(1), 1}, at[1], at[4]);
    } else {
      kernel_.launch(stream(), on, at[0], at[1], at[2], size_, o_.factor());
    }
  }

 private:
  op::dropout o_;
  std::int64_t size_;
  std::int64_t channels_ = 1;  ///< of images that have them last
  std::int64_t pixels_ = 1;
  cuda::kernel kernel_;
  std::optional<cuda::kernel> seed_;
};

static_assert(implements<cudnn::backend, op::dropout>);

}  // namespace layerbench
