// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

#include <layerbench/backend/onednn/unfused_rnn.hpp>
#include <layerbench/op/rnn.hpp>

namespace layerbench {

/// Recurrent layers in one call of the library, or as unfused_rnn has them. For inference weights
/// are in its order, packed once; in training they are row-major, and the gradients read them with
/// inputs and gates exchanged. The library adds one bias to a gate: of two biases each call first
/// adds up what can be, as frameworks do, and copies the gradient of a sum to both. The library
/// adds gradients of weights to what is there, so each call sets them to zero first.
template <>
class plan<onednn::backend, op::rnn> : public onednn::unfused_rnn {
 public:
  [[nodiscard]] static constexpr bool has(op::manner how) {
    return how == op::manner::direct || how == op::manner::unfused;
  }

  plan(const onednn::backend& device, const op::rnn& o, const plan_request& request)
      : unfused_rnn(device, o, request),
        bias_(onednn::plain({o.layers, o.directions(), bias_rows(), o.hidden},
                            dnnl::memory::data_type::f32)) {
    if (unfused_) return;
    if (pass_ != op::pass::fwd) {
      state_ =
          onednn::plain({o.layers, o.directions(), o.batch, o.hidden}, onednn::data_type(type_));
      if (o.kind == op::rnn_kind::lstm) {
        cell_state_ = onednn::plain(state_.get_dims(), dnnl::memory::data_type::f32);
      }
      zeros_.resize(std::max(state_.get_size(), cell_state_.get_size()));
    }
    if (pass_ == op::pass::bwd && type_ != dtype::f32) {
      throw unsupported("oneDNN's gradients of recurrent layers in 16 bits are f32");
    }
    if (is_integer(type_)) throw unsupported("layerbench has no oneDNN plans of rnn with integers");
    if (type_ != dtype::f32) {
      onednn::backend::refuse_early_amx("ends programs in recurrent layers in 16 bits");
    }
    if (o.layers > 1 && o.bidirectional) {
      throw unsupported("oneDNN has no stacked bidirectional layers");
    }
    onednn::checked("recurrent layer", [&] {
      if (o.kind == op::rnn_kind::vanilla) {
        build<dnnl::vanilla_rnn_forward, dnnl::vanilla_rnn_backward>(request);
      } else if (o.kind == op::rnn_kind::lstm) {
        build<dnnl::lstm_forward, dnnl::lstm_backward>(request);
      } else if (o.linear_before_reset()) {
        build<dnnl::lbr_gru_forward, dnnl::lbr_gru_backward>(request);
      } else {
        build<dnnl::gru_forward, dnnl::gru_backward>(request);
      }
    });
  }

  [[nodiscard]] std::size_t workspace_bytes() const override {
    std::size_t bytes = unfused_rnn::workspace_bytes();
    for (const extra& one : extras()) bytes = aligned(bytes) + one.stored.get_size();
    return bytes;
  }

  [[nodiscard]] binding bind(std::span<const address> places, address workspace) const {
    binding bound = unfused_rnn::bind(places, workspace);
    if (unfused_) return bound;
    const auto pass = [&](int name, const dnnl::memory::desc& stored, address at) {
      bound.memories.emplace_back(stored, engine_, at);
      bound.pass(name, bound.memories.back());
    };
    // The library only reads them: its interface has no pointer to const.
    address zeros = const_cast<std::byte*>(zeros_.data());
    if (!state_.is_zero()) pass(DNNL_ARG_SRC_ITER, state_, zeros);
    if (!cell_state_.is_zero()) pass(DNNL_ARG_SRC_ITER_C, cell_state_, zeros);
    std::size_t used = unfused_rnn::workspace_bytes();
    for (const extra& one : extras()) {
      pass(one.argument, one.stored, static_cast<std::byte*>(workspace) + aligned(used));
      used = aligned(used) + one.stored.get_size();
    }
    return bound;
  }

  void run(const binding& bound) const {
    if (unfused_) return unfused_rnn::run(bound);
    if (two_biases()) add_biases(bound);
    if (pass_ == op::pass::bwd) set_gradients_to_zero(bound);
    unfused_rnn::run(bound);
    if (two_biases() && pass_ == op::pass::bwd) copy_gradient(bound);
  }

 private:
  [[nodiscard]] bool two_biases() const { return o_.biases == 2; }
  /// Biases that the library tells apart: one of each gate, and the second one of the last gate of
  /// a GRU.
  [[nodiscard]] std::int64_t bias_rows() const {
    return o_.gates() + (o_.linear_before_reset() ? 1 : 0);
  }

  /// An argument of the library that is no operand, behind its scratch memory in the workspace.
  struct extra {
    int argument;
    dnnl::memory::desc stored;
  };
  /// Gradients of the initial states, which nobody reads, and sums of biases and of their
  /// gradients, which come last.
  [[nodiscard]] std::vector<extra> extras() const {
    std::vector<extra> all;
    if (unfused_) return all;
    const bool backward = pass_ == op::pass::bwd;
    if (backward) all.push_back({DNNL_ARG_DIFF_SRC_ITER, state_});
    if (backward && !cell_state_.is_zero()) all.push_back({DNNL_ARG_DIFF_SRC_ITER_C, cell_state_});
    if (two_biases()) all.push_back({DNNL_ARG_BIAS, bias_});
    if (two_biases() && backward) all.push_back({DNNL_ARG_DIFF_BIAS, bias_});
    return all;
  }
  /// Calls `visit(first, second, sum, apart)` for each bias, with positions of both biases and of
  /// their sum. `apart` is the position of the second one where the library keeps it apart, in the
  /// last gate of a GRU, else that of the sum.
  template <class Visit>
  void for_each_bias(const Visit& visit) const {
    const auto gate = static_cast<std::size_t>(o_.hidden);
    const auto gates = static_cast<std::size_t>(o_.gates());
    const auto rows = static_cast<std::size_t>(bias_rows());
    const auto cells = static_cast<std::size_t>(o_.layers * o_.directions());
    for (std::size_t cell = 0; cell < cells; ++cell) {
      for (std::size_t g = 0; g < gates; ++g) {
        for (std::size_t i = 0; i < gate; ++i) {
          const std::size_t first = (2 * cell * gates + g) * gate + i;
          const std::size_t sum = (cell * rows + g) * gate + i;
          const bool apart = o_.linear_before_reset() && g + 1 == gates;
          visit(first, first + gates * gate, sum, apart ? sum + gate : sum);
        }
      }
    }
  }

  void set_gradients_to_zero(const binding& bound) const {
    for (const std::size_t operand : {diff_weights_layer_operand, diff_weights_iter_operand}) {
      const auto count = static_cast<std::int64_t>(operands()[operand].bytes / sizeof(float));
      auto* values = at<float>(bound, operand);
#pragma omp parallel for
      for (std::int64_t i = 0; i < count; ++i) values[i] = 0;
    }
    auto* biases = two_biases() ? at<float>(bound, bound.memories.size() - 1)
                                : at<float>(bound, diff_bias_operand);
    std::fill_n(biases, bias_.get_size() / sizeof(float), 0.0F);
  }

  void add_biases(const binding& bound) const {
    const std::size_t behind = pass_ == op::pass::bwd ? 2 : 1;
    const auto* biases = at<const float>(bound, bias_operand);
    auto* sums = at<float>(bound, bound.memories.size() - behind);
    for_each_bias([&](std::size_t a, std::size_t b, std::size_t sum, std::size_t other) {
      sums[sum] = other == sum ? biases[a] + biases[b] : biases[a];
      if (other != sum) sums[other] = biases[b];
    });
  }
  void copy_gradient(const binding& bound) const {
    auto* biases = at<float>(bound, diff_bias_operand);
    const auto* sums = at<const float>(bound, bound.memories.size() - 1);
    for_each_bias([&](std::size_t a, std::size_t b, std::size_t sum, std::size_t other) {
      biases[a] = sums[sum];
      biases[b] = sums[other];
    });
  }

  template <class Forward, class Backward>
  void build(const plan_request& request) {
    using dnnl::memory;
    const bool training = pass_ != op::pass::fwd;
    const auto type = onednn::data_type(type_);
    const memory::desc src = onednn::plain(extents(0), type);
    const memory::desc dst = onednn::plain(extents(4), type);
    const auto weights = [&](std::size_t operand) {
      return training ? onednn::plain(extents(operand), type)
                      : onednn::any(extents(operand), type_);
    };
    auto forward = forward_of<Forward>(src, weights(1), weights(2), dst);
    const memory::desc biases = onednn::plain(extents(bias_operand), memory::data_type::f32);
    const int bias = two_biases() ? not_an_argument : DNNL_ARG_BIAS;
    if (pass_ == op::pass::bwd) {
      const auto created = backward_of<Backward>(src, dst, forward);
      const int diff_bias = two_biases() ? not_an_argument : DNNL_ARG_DIFF_BIAS;
      set_primitive(
          created,
          {DNNL_ARG_SRC_LAYER, DNNL_ARG_WEIGHTS_LAYER, DNNL_ARG_WEIGHTS_ITER, bias,
           DNNL_ARG_DST_LAYER, DNNL_ARG_WORKSPACE, DNNL_ARG_DIFF_DST_LAYER, DNNL_ARG_DIFF_SRC_LAYER,
           DNNL_ARG_DIFF_WEIGHTS_LAYER, DNNL_ARG_DIFF_WEIGHTS_ITER, diff_bias},
          {src, backward_weights_desc(1), backward_weights_desc(2), biases, dst,
           created.workspace_desc(), dst, src, weights(1), weights(2), biases});
      return;
    }
    if (!training) select(forward, request.algorithm);
    std::vector<int> arguments{DNNL_ARG_SRC_LAYER, DNNL_ARG_WEIGHTS_LAYER, DNNL_ARG_WEIGHTS_ITER,
                               bias, DNNL_ARG_DST_LAYER};
    std::vector<memory::desc> stored{src, forward.weights_layer_desc(), forward.weights_iter_desc(),
                                     biases, dst};
    if (training) {
      arguments.push_back(DNNL_ARG_WORKSPACE);
      stored.push_back(forward.workspace_desc());
    }
    set_primitive(forward, arguments, stored);
  }

  /// Weights with inputs and gates exchanged, as gradients read them.
  [[nodiscard]] dnnl::memory::desc backward_weights_desc(std::size_t operand) const {
    return onednn::in_order(extents(operand), type_, "abdec");
  }
  [[nodiscard]] dnnl::rnn_direction direction() const {
    return o_.bidirectional ? dnnl::rnn_direction::bidirectional_concat
                            : dnnl::rnn_direction::unidirectional_left2right;
  }

  template <class Forward>
  [[nodiscard]] typename Forward::primitive_desc forward_of(const dnnl::memory::desc& src,
                                                            const dnnl::memory::desc& weights_layer,
                                                            const dnnl::memory::desc& weights_iter,
                                                            const dnnl::memory::desc& dst) const {
    const auto kind = pass_ == op::pass::fwd ? dnnl::prop_kind::forward_inference
                                             : dnnl::prop_kind::forward_training;
    const dnnl::memory::desc none;
    if constexpr (std::is_same_v<Forward, dnnl::vanilla_rnn_forward>) {
      return {engine_,       kind,         dnnl::algorithm::eltwise_tanh,
              direction(),   src,          state_,
              weights_layer, weights_iter, bias_,
              dst,           none,         attributes()};
    } else if constexpr (std::is_same_v<Forward, dnnl::lstm_forward>) {
      return {engine_,      kind,  direction(), src,  state_, cell_state_, weights_layer,
              weights_iter, bias_, dst,         none, none,   attributes()};
    } else {
      return {engine_,      kind,  direction(), src,  state_,      weights_layer,
              weights_iter, bias_, dst,         none, attributes()};
    }
  }

  template <class Backward, class Hint>
  [[nodiscard]] typename Backward::primitive_desc backward_of(const dnnl::memory::desc& src,
                                                              const dnnl::memory::desc& dst,
                                                              const Hint& hint) const {
    constexpr auto kind = dnnl::prop_kind::backward;
    const dnnl::memory::desc none;
    const dnnl::memory::desc layer = backward_weights_desc(1);
    const dnnl::memory::desc iter = backward_weights_desc(2);
    const dnnl::memory::desc diff_layer = onednn::plain(extents(1), src.get_data_type());
    const dnnl::memory::desc diff_iter = onednn::plain(extents(2), src.get_data_type());
    if constexpr (std::is_same_v<Backward, dnnl::vanilla_rnn_backward>) {
      return {engine_,     kind,        dnnl::algorithm::eltwise_tanh,
              direction(), src,         state_,
              layer,       iter,        bias_,
              dst,         none,        src,
              state_,      diff_layer,  diff_iter,
              bias_,       dst,         none,
              hint,        attributes()};
    } else if constexpr (std::is_same_v<Backward, dnnl::lstm_backward>) {
      return {engine_,   kind,  direction(), src,  state_, cell_state_, layer,       iter,
              bias_,     dst,   none,        none, src,    state_,      cell_state_, diff_layer,
              diff_iter, bias_, dst,         none, none,   hint,        attributes()};
    } else {
      return {engine_, kind, direction(), src,  state_,      layer,      iter,
              bias_,   dst,  none,        src,  state_,      diff_layer, diff_iter,
              bias_,   dst,  none,        hint, attributes()};
    }
  }

  dnnl::memory::desc bias_;  ///< as the library has it
  /// Of the initial states in training: version 3.2 computes the gradient of weights_iter wrongly
  /// if it is given none.
  dnnl::memory::desc state_;
  dnnl::memory::desc cell_state_;  ///< of an LSTM
  std::vector<std::byte> zeros_;   ///< those states
};

static_assert(implements<onednn::backend, op::rnn>);

}  // namespace layerbench
