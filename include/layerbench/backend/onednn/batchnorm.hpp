// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <layerbench/backend/onednn/primitive.hpp>
#include <layerbench/op/batchnorm.hpp>

namespace layerbench {

template <>
class plan<onednn::backend, op::batchnorm> : public onednn::primitive_plan {
 public:
  plan(const onednn::backend& device, const op::batchnorm& o, const plan_request& request)
      : primitive_plan(device, o.operands(request.pass, request.type)), o_(o), pass_(request.pass) {
    onednn::checked("batch normalisation", [&] {
      image_ = onednn::activations(device, extents(0), request.type, request.order);
      switch (request.pass) {
        case op::pass::fwd_training: return build_fwd_training(device);
        case op::pass::bwd: return build_bwd(device);
        default: return build_fwd(device);
      }
    });
  }

  /// In training this moves the running statistics too, which the library does not know.
  void run(const binding& bound) const {
    primitive_plan::run(bound);
    if (pass_ == op::pass::fwd_training) move_running_statistics(bound);
  }

 private:
  using flags = dnnl::normalization_flags;

  void build_fwd(const onednn::backend& place) {
    const auto result = forward(place, dnnl::prop_kind::forward_inference,
                                flags::use_global_stats | flags::use_scale | flags::use_shift);
    adopt(result,
          {DNNL_ARG_SRC, DNNL_ARG_SCALE, DNNL_ARG_SHIFT, DNNL_ARG_MEAN, DNNL_ARG_VARIANCE,
           DNNL_ARG_DST},
          {image_, channels_, channels_, channels_, channels_, image_});
  }

  void build_fwd_training(const onednn::backend& device) {
    const auto result =
        forward(device, dnnl::prop_kind::forward_training, flags::use_scale | flags::use_shift);
    adopt(result,
          {DNNL_ARG_SRC, DNNL_ARG_SCALE, DNNL_ARG_SHIFT, not_an_argument, not_an_argument,
           DNNL_ARG_DST, DNNL_ARG_MEAN, DNNL_ARG_VARIANCE, not_an_argument, not_an_argument},
          {image_, channels_, channels_, channels_, channels_, image_, channels_, channels_,
           channels_, channels_});
  }

  void build_bwd(const onednn::backend& target) {
    const auto hint =
        forward(target, dnnl::prop_kind::forward_training, flags::use_scale | flags::use_shift);
    const dnnl::batch_normalization_backward::primitive_desc result(
        target.engine(), dnnl::prop_kind::backward, image_, image_, image_,
        static_cast<float>(o_.epsilon), flags::use_scale | flags::use_shift, hint, attributes());
    adopt(result,
          {DNNL_ARG_SRC, DNNL_ARG_DIFF_DST, DNNL_ARG_SCALE, DNNL_ARG_MEAN, DNNL_ARG_VARIANCE,
           DNNL_ARG_DIFF_SRC, DNNL_ARG_DIFF_SCALE, DNNL_ARG_DIFF_SHIFT},
          {image_, image_, channels_, channels_, channels_, image_, channels_, channels_});
  }

  [[nodiscard]] dnnl::batch_normalization_forward::primitive_desc forward(
      const onednn::backend& device, dnnl::prop_kind kind, flags with) const {
    return {device.engine(), kind, image_, image_, static_cast<float>(o_.epsilon), with,
            attributes()};
  }

  void move_running_statistics(const binding& bound) const {
    constexpr std::size_t old_mean = 3;
    constexpr std::size_t batch_mean = 6;
    constexpr std::size_t new_mean = 8;
    const auto elements = static_cast<float>(o_.n * o_.h * o_.w);
    const float unbiased = elements > 1 ? elements / (elements - 1) : 1;
    constexpr auto to = static_cast<float>(op::batchnorm::momentum);
    const auto move = [&](std::size_t statistic, float factor) {
      const auto* old = at<float>(bound, old_mean + statistic);
      const auto* batch = at<float>(bound, batch_mean + statistic);
      auto* moved = at<float>(bound, new_mean + statistic);
      for (std::int64_t c = 0; c < o_.c; ++c) moved[c] = (1 - to) * old[c] + factor * batch[c];
    };
    move(0, to);
    move(1, to * unbiased);
  }

  op::batchnorm o_;
  op::pass pass_;
  dnnl::memory::desc image_;
  dnnl::memory::desc channels_ = onednn::plain({o_.c}, dnnl::memory::data_type::f32);
};

static_assert(implements<onednn::backend, op::batchnorm>);

}  // namespace layerbench
