// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include <layerbench/backend/kernels/host/rms_gradient.hpp>
#include <layerbench/backend/number_types.hpp>
#include <layerbench/backend/onednn/primitive_sequence.hpp>
#include <layerbench/op/layernorm.hpp>

namespace layerbench {

/// oneDNN's layer normalization. It has no normalization by the root mean square: kind `rms` is the
/// primitives that a framework without a fused kernel calls (square, mean, inverse root, two
/// products), and its gradients are loops of layerbench.
template <>
class plan<onednn::backend, op::layernorm> : public onednn::primitive_sequence {
 public:
  plan(const onednn::backend& device, const op::layernorm& o, const plan_request& request)
      : primitive_sequence(device, o.operands(request.pass, request.type)),
        o_(o),
        pass_(request.pass),
        type_(request.type) {
    if (is_integer(type_)) throw unsupported("layerbench has no layer normalisation of integers");
    onednn::checked("layer normalisation", [&] {
      if (o.kind == op::layernorm_kind::layer) {
        build_layer(device.engine());
      } else if (pass_ == op::pass::bwd) {
        build_rms_bwd();
      } else {
        build_rms_fwd(device.engine());
      }
    });
    finish();
  }

 private:
  [[nodiscard]] dnnl::memory::desc desc(std::size_t i) const {
    return onednn::plain(extents(i), onednn::data_type(operands()[i].logical.type));
  }

  void build_layer(const dnnl::engine& engine) {
    using namespace dnnl;
    using flags = normalization_flags;
    const flags learned = (o_.scale ? flags::use_scale : flags::none) |
                          (o_.has_bias() ? flags::use_shift : flags::none);
    const memory::desc tensor = desc(0);
    const memory::desc statistics = onednn::plain(o_.rows(), memory::data_type::f32);
    const auto epsilon = static_cast<float>(o_.epsilon);
    const auto kind =
        pass_ == op::pass::fwd ? prop_kind::forward_inference : prop_kind::forward_training;
    const layer_normalization_forward::primitive_desc forward(
        engine, kind, tensor, tensor, statistics, epsilon, learned, attributes());
    if (pass_ != op::pass::bwd) {
      add(forward, all({DNNL_ARG_SRC, DNNL_ARG_SCALE, DNNL_ARG_SHIFT, DNNL_ARG_DST, DNNL_ARG_MEAN,
                        DNNL_ARG_VARIANCE}));
      return;
    }
    const bool has_weights = o_.scale || o_.has_bias();
    const layer_normalization_backward::primitive_desc backward(
        engine, has_weights ? prop_kind::backward : prop_kind::backward_data, tensor, tensor,
        tensor, statistics, epsilon, learned, forward, attributes());
    std::vector<argument> arguments =
        all({DNNL_ARG_SRC, DNNL_ARG_DIFF_DST, DNNL_ARG_SCALE, DNNL_ARG_MEAN, DNNL_ARG_VARIANCE,
             DNNL_ARG_DIFF_SRC, DNNL_ARG_DIFF_SCALE, DNNL_ARG_DIFF_SHIFT});
    // The library wants the bias, although no gradient depends on it.
    if (o_.has_bias()) {
      const std::vector<float> zeros(static_cast<std::size_t>(o_.columns()));
      arguments.push_back(
          {DNNL_ARG_SHIFT, onednn::plain({o_.columns()}, memory::data_type::f32), constant(zeros)});
    }
    add(backward, std::move(arguments));
  }

  /// All operands, as these arguments; those of what is not learned are left out.
  [[nodiscard]] std::vector<argument> all(std::vector<int> names) const {
    const bool backward = pass_ == op::pass::bwd;
    if (!o_.scale) std::erase(names, DNNL_ARG_SCALE);
    if (!o_.scale) std::erase(names, DNNL_ARG_DIFF_SCALE);
    if (!o_.has_bias()) std::erase(names, backward ? DNNL_ARG_DIFF_SHIFT : DNNL_ARG_SHIFT);
    std::vector<argument> result;
    for (std::size_t i = 0; i < operands().size(); ++i) {
      result.push_back({names[i], desc(i), operand(i)});
    }
    return result;
  }

  /// In 16 bits the first and the last primitive convert to f32 and back: products of mixed types
  /// are slow in oneDNN.
  void build_rms_fwd(const dnnl::engine& engine) {
    using namespace dnnl;
    const auto f32 = memory::data_type::f32;
    const std::int64_t rows = elements(o_.rows());
    const memory::desc stored = onednn::plain({rows, o_.columns()}, onednn::data_type(type_));
    const memory::desc tensor = onednn::plain(stored.get_dims(), f32);
    const memory::desc statistics = onednn::plain({rows, 1}, f32);
    const std::size_t dst_operand = o_.scale ? 2 : 1;
    const bool converts = type_ != dtype::f32;
    const location src = converts ? scratch(tensor) : operand(0);
    const location dst = converts ? src : operand(dst_operand);
    const location variance =
        pass_ == op::pass::fwd ? scratch(statistics) : operand(dst_operand + 1);
    const location inverse = scratch(statistics);
    const auto multiply = [&](const location& source, const memory::desc& factors,
                              const location& factor) {
      add(binary::primitive_desc(engine, algorithm::binary_mul, tensor, factors, tensor,
                                 attributes()),
          {{DNNL_ARG_SRC_0, tensor, source},
           {DNNL_ARG_SRC_1, factors, factor},
           {DNNL_ARG_DST, tensor, dst}});
    };
    if (converts) add_reorder(stored, operand(0), tensor, src);
    // The library has no mean of one element.
    const location squares = o_.columns() == 1 ? variance : scratch(tensor);
    add(eltwise_forward::primitive_desc(engine, prop_kind::forward_inference,
                                        algorithm::eltwise_square, tensor, tensor, attributes()),
        {{DNNL_ARG_SRC, tensor, src}, {DNNL_ARG_DST, tensor, squares}});
    if (o_.columns() > 1) {
      add(reduction::primitive_desc(engine, algorithm::reduction_mean, tensor, statistics, 0, 0,
                                    attributes()),
          {{DNNL_ARG_SRC, tensor, squares}, {DNNL_ARG_DST, statistics, variance}});
    }
    const auto map = [&](dnnl::algorithm function, float alpha, float beta,
                         const location& source) {
      add(eltwise_forward::primitive_desc(engine, prop_kind::forward_inference, function,
                                          statistics, statistics, alpha, beta, attributes()),
          {{DNNL_ARG_SRC, statistics, source}, {DNNL_ARG_DST, statistics, inverse}});
    };
    map(algorithm::eltwise_linear, 1, static_cast<float>(o_.epsilon), variance);
    map(algorithm::eltwise_pow, 1, -0.5F, inverse);
    multiply(src, statistics, inverse);
    if (o_.scale) multiply(dst, onednn::plain({1, o_.columns()}, f32), operand(1));
    if (converts) add_reorder(tensor, dst, stored, operand(dst_operand));
  }

  void build_rms_bwd() {
    require_number(type_);
    std::vector<location> arguments;
    for (std::size_t i = 0; i < operands().size(); ++i) arguments.push_back(operand(i));
    arguments.push_back(scratch(onednn::plain({host::rms_gradient::row_blocks, o_.columns()},
                                              dnnl::memory::data_type::f32)));
    add_loop(host::rms_gradient::algorithm, arguments,
             [o = o_, type = type_](std::span<const address> at) {
               with_number(type, [&]<class T>(T /*tag*/) { host::rms_gradient::run<T>(o, at); });
             });
  }

  op::layernorm o_;
  op::pass pass_;
  dtype type_;
};

static_assert(implements<onednn::backend, op::layernorm>);

}  // namespace layerbench
