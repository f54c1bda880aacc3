// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include <layerbench/backend/kernels/host/running_statistics.hpp>
#include <layerbench/backend/onednn/primitive.hpp>
#include <layerbench/op/batchnorm.hpp>

namespace layerbench {

template <>
class plan<onednn::backend, op::batchnorm> : public onednn::primitive_plan {
 public:
  static constexpr bool has_post_ops = true;

  plan(const onednn::backend& device, const op::batchnorm& o, const plan_request& request)
      : primitive_plan(device, o.operands(request.pass, request.type)), o_(o), pass_(request.pass) {
    onednn::checked("batch normalisation", [&] {
      image_ = onednn::activations(device, extents(0), request.type, request.layout);
      switch (request.pass) {
        case op::pass::fwd_training: return build_fwd_training(device);
        case op::pass::bwd: return build_bwd(device);
        default: return build_fwd(device);
      }
    });
  }

  /// In training it also updates the running statistics, which oneDNN does not have.
  void run(const binding& bound) const {
    primitive_plan::run(bound);
    if (pass_ == op::pass::fwd_training) update_running_statistics(bound);
  }

 private:
  using flags = dnnl::normalization_flags;

  void build_fwd(const onednn::backend& place) {
    if (!o_.post.empty() && o_.post != op::post_ops{op::post_op::relu}) {
      throw unsupported("oneDNN has batch normalisation with no post-op but relu");
    }
    const flags relu = o_.post.empty() ? flags::none : flags::fuse_norm_relu;
    const auto result = forward_desc(place, dnnl::prop_kind::forward_inference,
                                     flags::use_global_stats | learned() | relu);
    set_primitive(result,
                  {DNNL_ARG_SRC, DNNL_ARG_SCALE, DNNL_ARG_SHIFT, DNNL_ARG_MEAN, DNNL_ARG_VARIANCE,
                   DNNL_ARG_DST},
                  {image_, scale_, shift_, channels_, channels_, image_});
  }

  void build_fwd_training(const onednn::backend& device) {
    const auto result = forward_desc(device, dnnl::prop_kind::forward_training, learned());
    set_primitive(
        result,
        {DNNL_ARG_SRC, DNNL_ARG_SCALE, DNNL_ARG_SHIFT, not_an_argument, not_an_argument,
         DNNL_ARG_DST, DNNL_ARG_MEAN, DNNL_ARG_VARIANCE, not_an_argument, not_an_argument},
        {image_, scale_, shift_, channels_, channels_, image_, channels_, channels_, channels_,
         channels_});
    add_to_algorithm(host::running_statistics_name);
  }

  void build_bwd(const onednn::backend& target) {
    const auto hint = forward_desc(target, dnnl::prop_kind::forward_training, learned());
    const auto kind = o_.learned() > 0 ? dnnl::prop_kind::backward : dnnl::prop_kind::backward_data;
    const dnnl::batch_normalization_backward::primitive_desc result(
        target.engine(), kind, image_, image_, image_, static_cast<float>(o_.epsilon), learned(),
        hint, attributes());
    set_primitive(result,
                  {DNNL_ARG_SRC, DNNL_ARG_DIFF_DST, DNNL_ARG_SCALE, DNNL_ARG_MEAN,
                   DNNL_ARG_VARIANCE, DNNL_ARG_DIFF_SRC, DNNL_ARG_DIFF_SCALE, DNNL_ARG_DIFF_SHIFT},
                  {image_, image_, scale_, channels_, channels_, image_, scale_, shift_});
  }

  [[nodiscard]] flags learned() const {
    return (o_.scale ? flags::use_scale : flags::none) |
           (o_.shift ? flags::use_shift : flags::none);
  }

  [[nodiscard]] dnnl::batch_normalization_forward::primitive_desc forward_desc(
      const onednn::backend& device, dnnl::prop_kind kind, flags normalization) const {
    return {device.engine(), kind,        image_, image_, static_cast<float>(o_.epsilon),
            normalization,   attributes()};
  }

  void update_running_statistics(const binding& bound) const {
    const std::size_t old_mean = 1 + o_.learned();
    const std::size_t batch_mean = old_mean + 3;
    const std::size_t new_mean = batch_mean + 2;
    for (const std::size_t i : {0U, 1U}) {  // means, variances
      host::update_running_statistics(o_, i == 1, at<const float>(bound, old_mean + i),
                                      at<const float>(bound, batch_mean + i),
                                      at<float>(bound, new_mean + i));
    }
  }

  op::batchnorm o_;
  op::pass pass_;
  dnnl::memory::desc image_;
  dnnl::memory::desc channels_ = onednn::plain({o_.c}, dnnl::memory::data_type::f32);
  dnnl::memory::desc scale_ = o_.scale ? channels_ : dnnl::memory::desc();  ///< or nothing
  dnnl::memory::desc shift_ = o_.shift ? channels_ : dnnl::memory::desc();
};

static_assert(implements<onednn::backend, op::batchnorm>);

}  // namespace layerbench
