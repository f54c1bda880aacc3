// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include <layerbench/backend/onednn/primitive_sequence.hpp>
#include <layerbench/op/rnn.hpp>

namespace layerbench::onednn {

/// Base class of the plan of recurrent layers: those that are called `unfused`, as the calls of
/// PyTorch's own cells on CPUs and of their gradients (SimpleCell, LSTMCell, GRUCell and FullLayer
/// in aten/src/ATen/native/RNN.cpp). Of each layer and direction one product has the inputs of all
/// steps. A step has the product with the hidden state and a call for each sum, element-wise
/// product, sigmoid and tanh. In the backward pass each step adds its share to the gradients of the
/// weights. A GRU with one bias is that of Keras with `reset_after=False`
/// (keras/src/layers/rnn/gru.py).
///
/// What differs from PyTorch: oneDNN is slow on parts of rows, so a copy splits the gates of a
/// batch, as TensorFlow does. States are written where PyTorch's last copy stacks them. In 16 bits
/// the factors of products have that type, the rest is f32. Weights are row-major, not packed.
class unfused_rnn : public primitive_sequence {
 protected:
  // Operands, those of training, and those of the backward pass.
  static constexpr std::size_t src_operand = 0, weights_layer_operand = 1, weights_iter_operand = 2,
                               bias_operand = 3, dst_operand = 4, workspace_operand = 5,
                               diff_dst_operand = 6, diff_src_operand = 7,
                               diff_weights_layer_operand = 8, diff_weights_iter_operand = 9,
                               diff_bias_operand = 10;

  op::rnn o_;
  op::pass pass_;
  dtype type_;
  bool unfused_;

  /// Appends nothing if the op is not called `unfused`. Throws unsupported.
  unfused_rnn(const backend& device, const op::rnn& o, const plan_request& request)
      : primitive_sequence(device, o.operands(request.pass, request.type)),
        o_(o),
        pass_(request.pass),
        type_(request.type),
        unfused_(request.how == op::manner::unfused) {
    if (!unfused_) return;
    if (is_integer(type_)) throw unsupported("layerbench has no oneDNN plans of rnn with integers");
    if (pass_ == op::pass::bwd && type_ != dtype::f32) {
      throw unsupported("layerbench has no gradients of unfused recurrent layers in 16 bits");
    }
    checked("unfused recurrent layer", [&] {
      allocate();
      pass_ == op::pass::bwd ? build_bwd() : build_fwd();
    });
    std::vector<desc> stored;
    for (std::size_t i = 0; i < operands().size(); ++i) {
      const op::operand& logical = operands()[i].logical;
      stored.push_back(logical.opaque ? kept_desc() : plain(extents(i), data_type(logical.type)));
    }
    finish(stored);
  }

 private:
  using desc = dnnl::memory::desc;
  using number_type = dnnl::memory::data_type;
  static constexpr number_type f32 = number_type::f32;

  /// Results of the steps, f32. All steps of inference have the same memory.
  struct step_values {
    location at;
    std::size_t step_bytes;

    [[nodiscard]] location of(std::int64_t step) const {
      return {at.kind, at.index, at.offset + static_cast<std::size_t>(step) * step_bytes};
    }
  };
  /// One direction of one layer: its number and memory.
  struct layer_direction {
    std::int64_t number;
    bool reversed;
    location hidden;            ///< steps*batch*hidden states, in the type of the op
    step_values gates = {};     ///< of each step slots*batch*hidden
    step_values memory = {};    ///< cell states of an LSTM, batch*hidden
    step_values squashed = {};  ///< tanh of these
  };

  /// A primitive, by what tells it from the others.
  struct known_call {
    dnnl::algorithm kind;    ///< undef of products and copies
    std::vector<int> names;  ///< of the arguments
    std::vector<desc> stored;
    std::size_t primitive;
  };

  [[nodiscard]] bool is(op::rnn_kind kind) const { return o_.kind == kind; }
  [[nodiscard]] std::int64_t width() const { return o_.gates() * o_.hidden; }
  [[nodiscard]] std::int64_t tokens() const { return o_.steps * o_.batch; }
  [[nodiscard]] std::int64_t states() const { return o_.batch * o_.hidden; }
  [[nodiscard]] std::int64_t output_width() const { return o_.directions() * o_.hidden; }
  [[nodiscard]] number_type number() const { return data_type(type_); }
  [[nodiscard]] std::size_t bytes(number_type type) const {
    return type == f32 ? sizeof(float) : traits(type_).bytes;
  }

  /// The place `elements` behind another.
  [[nodiscard]] location behind(location at, std::int64_t elements, number_type type = f32) const {
    at.offset += static_cast<std::size_t>(elements) * bytes(type);
    return at;
  }
  [[nodiscard]] location scratch_of(std::int64_t elements, number_type type = f32) {
    return scratch(plain({elements}, type));
  }
  /// A row-major matrix, `pitch` elements from row to row, or as many as it has columns.
  [[nodiscard]] static desc matrix(std::int64_t rows, std::int64_t columns, number_type type,
                                   std::int64_t pitch = 0) {
    return {{rows, columns}, type, {pitch == 0 ? columns : pitch, 1}};
  }
  [[nodiscard]] static desc transposed(const desc& of) { return of.permute_axes({1, 0}); }
  // Hidden states of a step, gates of a step, W and U.
  [[nodiscard]] desc state_matrix() const { return matrix(o_.batch, o_.hidden, number()); }
  [[nodiscard]] desc gate_matrix() const { return matrix(o_.batch, width(), f32); }
  [[nodiscard]] desc input_weights() const { return matrix(o_.inputs, width(), number()); }
  [[nodiscard]] desc recurrent_weights() const { return matrix(o_.hidden, width(), number()); }

  /// Where the part of an operand lies that belongs to a direction of a layer: rows*width elements
  /// of weights, or of their gradient.
  [[nodiscard]] location part_of(std::size_t tensor, const layer_direction& c,
                                 std::int64_t rows) const {
    const number_type type = tensor == bias_operand || tensor == diff_bias_operand ? f32 : number();
    return behind(operand(tensor), c.number * rows * width(), type);
  }
  [[nodiscard]] location second_bias(std::size_t tensor, const layer_direction& c) const {
    return behind(part_of(tensor, c, o_.biases), width());
  }

  // Memory.

  /// Memory that the backward pass reads: a part of the workspace in training.
  [[nodiscard]] location kept(std::int64_t elements, number_type type = f32) {
    if (pass_ == op::pass::fwd) return scratch_of(elements, type);
    const location result = operand(workspace_operand, kept_bytes_);
    kept_bytes_ += aligned(static_cast<std::size_t>(elements) * bytes(type));
    return result;
  }
  [[nodiscard]] desc kept_desc() const {
    if (kept_bytes_ == 0) return {};
    return plain({static_cast<std::int64_t>(kept_bytes_ / sizeof(float))}, f32);
  }
  /// The same, of each step in training.
  [[nodiscard]] step_values kept_in_steps(std::int64_t elements) {
    if (pass_ == op::pass::fwd) return {kept(elements), 0};
    return {kept(o_.steps * elements), static_cast<std::size_t>(elements) * sizeof(float)};
  }

  /// Says where each result lies, alike in the forward and the backward pass.
  void allocate() {
    const bool training = pass_ != op::pass::fwd;
    constexpr std::int64_t slots = 4;
    inputs_.push_back(operand(src_operand));
    for (std::int64_t layer = 0; layer < o_.layers; ++layer) {
      const bool last = layer + 1 == o_.layers;
      inputs_.push_back(last ? operand(dst_operand) : kept(tokens() * output_width(), number()));
      for (std::int64_t d = 0; d < o_.directions(); ++d) {
        layer_direction c{layer * o_.directions() + d, d == 1, inputs_.back()};
        if (o_.bidirectional) c.hidden = kept(tokens() * o_.hidden, number());
        const bool shares = !training && !cells_.empty();
        if (is(op::rnn_kind::lstm)) {
          c.memory = shares ? cells_.front().memory : kept_in_steps(states());
          c.squashed = shares ? cells_.front().squashed : kept_in_steps(states());
        }
        if (!is(op::rnn_kind::vanilla)) {
          c.gates = shares ? cells_.front().gates : kept_in_steps(slots * states());
        }
        cells_.push_back(c);
      }
    }
    zeros_ = constant(std::vector<float>(static_cast<std::size_t>(states())));
    for (location& one : temporary_) one = scratch_of(states());
  }

  // Calls.

  /// Appends a primitive. Those of the same kind with the same arguments are one primitive, which
  /// `describe` describes.
  template <class Describe>
  void call(dnnl::algorithm kind, const std::vector<argument>& arguments,
            const Describe& describe) {
    std::vector<int> names;
    std::vector<desc> stored;
    std::vector<location> places;
    for (const argument& one : arguments) {
      names.push_back(one.name);
      stored.push_back(one.stored);
      places.push_back(one.at);
    }
    const auto known = std::ranges::find_if(calls_, [&](const known_call& other) {
      return other.kind == kind && other.names == names && other.stored == stored;
    });
    if (known != calls_.end()) return repeat(known->primitive, std::move(places));
    calls_.push_back({kind, std::move(names), std::move(stored), add(describe(), arguments)});
  }

  /// Appends a product, with a bias.
  void multiply(const desc& a, const location& first, const desc& b, const location& second,
                const desc& c, const location& result,
                const std::optional<location>& added = std::nullopt) {
    const desc biases = added ? matrix(1, c.get_dims()[1], f32) : desc();
    std::vector<argument> arguments{
        {DNNL_ARG_SRC, a, first}, {DNNL_ARG_WEIGHTS, b, second}, {DNNL_ARG_DST, c, result}};
    if (added) arguments.push_back({DNNL_ARG_BIAS, biases, *added});
    call(dnnl::algorithm::undef, arguments, [&] { return product_of(a, b, biases, c); });
  }
  /// Of oneDNN's implementations, `gemm` reads the weights where they are, as the BLAS of a
  /// framework does. The others first pack them in each call, which takes longer than what it
  /// saves, unless they are transposed and there are many rows.
  [[nodiscard]] dnnl::matmul::primitive_desc product_of(const desc& a, const desc& b,
                                                        const desc& biases, const desc& c) const {
    const auto make = [&] {
      return dnnl::matmul::primitive_desc(engine_, a, b, biases, c, attributes());
    };
    const auto is_gemm = [](const dnnl::primitive_desc& of) {
      return std::string_view(of.impl_info_str()).starts_with("gemm");
    };
    constexpr std::int64_t few_rows = 16;
    const bool is_transposed = b.get_strides()[1] != 1;
    dnnl::matmul::primitive_desc chosen = make();
    if (!is_transposed || a.get_dims()[0] < few_rows) {
      bool found = is_gemm(chosen);
      while (!found && chosen.next_impl()) found = is_gemm(chosen);
      if (!found) chosen = make();
    }
    return chosen;
  }
  /// Appends an addition, subtraction or multiplication by element, of `elements` f32.
  void combine(dnnl::algorithm kind, const location& a, const location& b, const location& result,
               std::int64_t elements) {
    const desc all = plain({elements}, f32);
    call(kind, {{DNNL_ARG_SRC_0, all, a}, {DNNL_ARG_SRC_1, all, b}, {DNNL_ARG_DST, all, result}},
         [&] { return dnnl::binary::primitive_desc(engine_, kind, all, all, all, attributes()); });
  }
  void combine(dnnl::algorithm kind, const location& a, const location& b, const location& result) {
    combine(kind, a, b, result, states());
  }
  void sum(const location& a, const location& b, const location& result) {
    combine(dnnl::algorithm::binary_add, a, b, result);
  }
  void difference(const location& a, const location& b, const location& result) {
    combine(dnnl::algorithm::binary_sub, a, b, result);
  }
  void product(const location& a, const location& b, const location& result) {
    combine(dnnl::algorithm::binary_mul, a, b, result);
  }

  static constexpr dnnl::algorithm sigmoid = dnnl::algorithm::eltwise_logistic_use_dst_for_bwd;
  static constexpr dnnl::algorithm tanh = dnnl::algorithm::eltwise_tanh_use_dst_for_bwd;

  [[nodiscard]] dnnl::eltwise_forward::primitive_desc function(dnnl::algorithm kind) const {
    const desc all = plain({states()}, f32);
    return {engine_, dnnl::prop_kind::forward_training, kind, all, all, 0, 0, attributes()};
  }
  void apply(dnnl::algorithm kind, const location& from, const location& to) {
    const desc all = plain({states()}, f32);
    call(kind, {{DNNL_ARG_SRC, all, from}, {DNNL_ARG_DST, all, to}},
         [&] { return function(kind); });
  }
  /// Appends the gradient of a function with that result. `above` is the gradient of the result.
  void differentiate(dnnl::algorithm kind, const location& result, const location& above,
                     const location& gradient) {
    const desc all = plain({states()}, f32);
    call(kind,
         {{DNNL_ARG_DST, all, result},
          {DNNL_ARG_DIFF_DST, all, above},
          {DNNL_ARG_DIFF_SRC, all, gradient}},
         [&] {
           return dnnl::eltwise_backward::primitive_desc(engine_, kind, all, all, all, 0, 0,
                                                         function(kind), attributes());
         });
  }
  void differentiate(dnnl::algorithm kind, const location& result, const location& in_place) {
    differentiate(kind, result, in_place, in_place);
  }
  void copy(const desc& from, const location& source, const desc& to, const location& result) {
    call(dnnl::algorithm::undef, {{DNNL_ARG_FROM, from, source}, {DNNL_ARG_TO, to, result}},
         [&] { return dnnl::reorder::primitive_desc(engine_, from, engine_, to, attributes()); });
  }
  /// Appends a copy of `count` gates of `steps` steps: side by side in the rows of a matrix, and
  /// one behind the other.
  void split(std::int64_t steps, std::int64_t count, const location& joined,
             const location& apart) {
    copy(gates_side_by_side(steps, count), joined, gates_apart(steps, count), apart);
  }
  void join(std::int64_t count, const location& apart, const location& joined) {
    copy(gates_apart(1, count), apart, gates_side_by_side(1, count), joined);
  }
  [[nodiscard]] desc gates_side_by_side(std::int64_t steps, std::int64_t count) const {
    return plain({steps, o_.batch, count, o_.hidden}, f32);
  }
  [[nodiscard]] desc gates_apart(std::int64_t steps, std::int64_t count) const {
    const dims extents{steps, o_.batch, count, o_.hidden};
    return {extents, f32, {count * states(), o_.hidden, states(), 1}};
  }
  /// The columns of one direction in what a layer writes.
  [[nodiscard]] desc columns_of_direction() const {
    return matrix(tokens(), o_.hidden, number(), output_width());
  }

  [[nodiscard]] std::int64_t step_of(const layer_direction& c, std::int64_t i) const {
    return c.reversed ? o_.steps - 1 - i : i;
  }
  /// Hidden states behind the i-th step in order, before the first one if i is -1.
  [[nodiscard]] location hidden_of(const layer_direction& c, std::int64_t i) const {
    return i < 0 ? zeros_ : behind(c.hidden, step_of(c, i) * states(), number());
  }
  /// The same in f32. In 16 bits only the last ones are kept.
  [[nodiscard]] location state_of(const layer_direction& c, std::int64_t i) const {
    return i < 0 || type_ == dtype::f32 ? hidden_of(c, i) : state_;
  }
  [[nodiscard]] location memory_of(const layer_direction& c, std::int64_t i) const {
    return i < 0 ? zeros_ : c.memory.of(step_of(c, i));
  }
  /// The `slot`-th block of batch*hidden values.
  [[nodiscard]] location slot(const location& of, std::int64_t slot) const {
    return behind(of, slot * states());
  }

  // The forward pass.

  void build_fwd() {
    products_ = scratch_of(tokens() * width());
    const bool splits_inputs = is(op::rnn_kind::gru) && o_.batch > 1;
    gate_products_ = splits_inputs ? scratch_of(tokens() * width()) : products_;
    recurrent_ = scratch_of(o_.batch * width());
    if (type_ != dtype::f32) {
      state_ = scratch_of(states());
      narrow_ = scratch_of(states(), number());
    }
    for (const layer_direction& c : cells_) {
      const std::int64_t layer = c.number / o_.directions();
      const location& input = inputs_[static_cast<std::size_t>(layer)];
      multiply(matrix(tokens(), o_.inputs, number()), input, input_weights(),
               part_of(weights_layer_operand, c, o_.inputs), matrix(tokens(), width(), f32),
               products_, part_of(bias_operand, c, o_.biases));
      if (splits_inputs) split(o_.steps, o_.gates(), products_, gate_products_);
      for (std::int64_t i = 0; i < o_.steps; ++i) {
        switch (o_.kind) {
          case op::rnn_kind::vanilla: add_vanilla_step(c, i); break;
          case op::rnn_kind::lstm: add_lstm_step(c, i); break;
          case op::rnn_kind::gru: add_gru_step(c, i); break;
        }
        if (type_ == dtype::f32) continue;
        copy(matrix(o_.batch, o_.hidden, f32), state_, state_matrix(), hidden_of(c, i));
      }
      if (!o_.bidirectional) continue;
      const location& output = inputs_[static_cast<std::size_t>(layer) + 1];
      copy(matrix(tokens(), o_.hidden, number()), c.hidden, columns_of_direction(),
           behind(output, c.reversed ? o_.hidden : 0, number()));
    }
  }

  /// Appends the product of the hidden states before step `i` with the weights of `gates` gates,
  /// and the second bias.
  void multiply_states(const layer_direction& c, std::int64_t i, std::int64_t gates,
                       const location& result) {
    const std::int64_t columns = gates * o_.hidden;
    const auto added = o_.biases == 2 ? std::optional(second_bias(bias_operand, c)) : std::nullopt;
    multiply(state_matrix(), hidden_of(c, i - 1), matrix(o_.hidden, columns, number(), width()),
             part_of(weights_iter_operand, c, o_.hidden), matrix(o_.batch, columns, f32), result,
             added);
  }
  /// The products of step `i` with the inputs.
  [[nodiscard]] location input_products(const location& of, const layer_direction& c,
                                        std::int64_t i) const {
    return behind(of, step_of(c, i) * o_.batch * width());
  }

  void add_vanilla_step(const layer_direction& c, std::int64_t i) {
    multiply_states(c, i, 1, recurrent_);
    sum(recurrent_, input_products(products_, c, i), recurrent_);
    apply(tanh, recurrent_, state_of(c, i));
  }

  void add_lstm_step(const layer_direction& c, std::int64_t i) {
    const std::int64_t step = step_of(c, i);
    const location gates = c.gates.of(step);
    const location all = o_.batch > 1 ? recurrent_ : gates;
    multiply_states(c, i, 4, all);
    combine(dnnl::algorithm::binary_add, all, input_products(products_, c, i), all,
            o_.batch * width());
    if (o_.batch > 1) split(1, 4, all, gates);
    for (std::int64_t gate = 0; gate < 4; ++gate) {
      apply(gate == 2 ? tanh : sigmoid, slot(gates, gate), slot(gates, gate));
    }
    product(slot(gates, 1), memory_of(c, i - 1), temporary_[0]);
    product(slot(gates, 0), slot(gates, 2), temporary_[1]);
    sum(temporary_[0], temporary_[1], memory_of(c, i));
    apply(tanh, memory_of(c, i), c.squashed.of(step));
    product(slot(gates, 3), c.squashed.of(step), state_of(c, i));
  }

  /// The slots are u, r, U h + b2 of the last gate or r * h, and o.
  void add_gru_step(const layer_direction& c, std::int64_t i) {
    const location gates = c.gates.of(step_of(c, i));
    const std::int64_t common = o_.linear_before_reset() ? 3 : 2;
    const location all = o_.batch > 1 ? recurrent_ : gates;
    const location inputs = input_products(gate_products_, c, i);
    multiply_states(c, i, common, all);
    if (o_.batch > 1) split(1, common, all, gates);
    for (const std::int64_t gate : {0, 1}) {
      sum(slot(gates, gate), slot(inputs, gate), slot(gates, gate));
      apply(sigmoid, slot(gates, gate), slot(gates, gate));
    }
    const location last = slot(gates, 3);
    if (o_.linear_before_reset()) {
      product(slot(gates, 2), slot(gates, 1), last);
    } else {
      const location reset = slot(gates, 2);
      product(slot(gates, 1), state_of(c, i - 1), reset);
      if (type_ != dtype::f32)
        copy(matrix(o_.batch, o_.hidden, f32), reset, state_matrix(), narrow_);
      multiply(state_matrix(), type_ == dtype::f32 ? reset : narrow_,
               matrix(o_.hidden, o_.hidden, number(), width()), last_gate(weights_iter_operand, c),
               matrix(o_.batch, o_.hidden, f32), last);
    }
    sum(last, slot(inputs, 2), last);
    apply(tanh, last, last);
    difference(state_of(c, i - 1), last, temporary_[0]);
    product(temporary_[0], slot(gates, 0), temporary_[0]);
    sum(temporary_[0], last, state_of(c, i));
  }
  /// The weights of the last gate of a GRU with the hidden state.
  [[nodiscard]] location last_gate(std::size_t tensor, const layer_direction& c) const {
    return behind(part_of(tensor, c, o_.hidden), 2 * o_.hidden, number());
  }

  // The backward pass, in f32.

  void build_bwd() {
    products_ = scratch_of(tokens() * width());
    recurrent_ = scratch_of(o_.batch * width());
    share_ = scratch_of(o_.hidden * width());
    bias_share_ = scratch_of(width());
    slots_ = scratch_of(4 * states());
    diff_hidden_ = scratch_of(states());
    diff_sum_ = scratch_of(states());
    const location diff_direction =
        o_.bidirectional ? scratch_of(tokens() * o_.hidden) : location{};
    const location second = o_.bidirectional ? scratch_of(tokens() * o_.inputs) : location{};
    location above = operand(diff_dst_operand);
    for (std::int64_t layer = o_.layers; layer-- > 0;) {
      const location below =
          layer == 0 ? operand(diff_src_operand) : scratch_of(tokens() * o_.inputs);
      for (std::int64_t d = 0; d < o_.directions(); ++d) {
        const layer_direction& c = cells_[static_cast<std::size_t>(layer * o_.directions() + d)];
        if (o_.bidirectional) {
          copy(columns_of_direction(), behind(above, d * o_.hidden),
               matrix(tokens(), o_.hidden, f32), diff_direction);
        }
        add_gradients(c, inputs_[static_cast<std::size_t>(layer)],
                      o_.bidirectional ? diff_direction : above, d == 0 ? below : second);
        if (d == 1) {
          combine(dnnl::algorithm::binary_add, below, second, below, tokens() * o_.inputs);
        }
      }
      above = below;
    }
  }

  /// Appends the gradients of a layer_direction. `above` is that of its hidden states, `below` will
  /// be that of its input.
  void add_gradients(const layer_direction& c, const location& input, const location& above,
                     const location& below) {
    for (std::int64_t i = o_.steps; i-- > 0;) {
      const location of_step = behind(above, step_of(c, i) * states());
      const bool last = i + 1 == o_.steps;
      if (!last) sum(of_step, diff_hidden_, diff_sum_);
      const location& diff = last ? of_step : diff_sum_;
      switch (o_.kind) {
        case op::rnn_kind::vanilla: add_vanilla_gradient(c, i, diff); break;
        case op::rnn_kind::lstm: add_lstm_gradient(c, i, diff); break;
        case op::rnn_kind::gru: add_gru_gradient(c, i, diff); break;
      }
    }
    const desc gates = matrix(tokens(), width(), f32);
    const desc inputs = matrix(tokens(), o_.inputs, f32);
    multiply(transposed(inputs), input, gates, products_, input_weights(),
             part_of(diff_weights_layer_operand, c, o_.inputs));
    add_column_sums(tokens(), width(), dtype::f32, products_,
                    part_of(diff_bias_operand, c, o_.biases));
    multiply(gates, products_, transposed(input_weights()),
             part_of(weights_layer_operand, c, o_.inputs), inputs, below);
  }

  /// Appends what step `i` adds to the gradients of the weights and biases of the hidden states,
  /// and the gradient of the states before. `gates` has the gradients of their products.
  void add_recurrent_gradients(const layer_direction& c, std::int64_t i, const location& gates) {
    add_share(c, i, [&](const location& to) {
      multiply(transposed(state_matrix()), hidden_of(c, i - 1), gate_matrix(), gates,
               recurrent_weights(), to);
    });
    if (o_.biases == 2) {
      const location total = second_bias(diff_bias_operand, c);
      const bool first = i + 1 == o_.steps;
      add_column_sums(o_.batch, width(), dtype::f32, gates, first ? total : bias_share_);
      if (!first) combine(dnnl::algorithm::binary_add, total, bias_share_, total, width());
    }
    if (i == 0) return;  // nobody reads the gradient of the initial state
    multiply(gate_matrix(), gates, transposed(recurrent_weights()),
             part_of(weights_iter_operand, c, o_.hidden), state_matrix(), diff_hidden_);
  }
  /// Appends the calls of `multiplied`, which write the share of step `i` in the gradient of the
  /// weights of the hidden states, and adds it.
  template <class Multiplied>
  void add_share(const layer_direction& c, std::int64_t i, const Multiplied& multiplied) {
    const location total = part_of(diff_weights_iter_operand, c, o_.hidden);
    const bool first = i + 1 == o_.steps;
    multiplied(first ? total : share_);
    if (!first) combine(dnnl::algorithm::binary_add, total, share_, total, o_.hidden * width());
  }

  void add_vanilla_gradient(const layer_direction& c, std::int64_t i, const location& diff) {
    const location gates = input_products(products_, c, i);
    differentiate(tanh, hidden_of(c, i), diff, gates);
    add_recurrent_gradients(c, i, gates);
  }

  void add_lstm_gradient(const layer_direction& c, std::int64_t i, const location& diff) {
    const std::int64_t step = step_of(c, i);
    const location gates = c.gates.of(step);
    const location& diff_memory = temporary_[0];
    const location& diff_memory_before = temporary_[1];
    product(diff, c.squashed.of(step), slot(slots_, 3));
    product(diff, slot(gates, 3), diff_memory);
    differentiate(tanh, c.squashed.of(step), diff_memory);
    if (i + 1 < o_.steps) sum(diff_memory, diff_memory_before, diff_memory);
    product(diff_memory, slot(gates, 2), slot(slots_, 0));
    product(diff_memory, memory_of(c, i - 1), slot(slots_, 1));
    product(diff_memory, slot(gates, 0), slot(slots_, 2));
    if (i > 0) product(diff_memory, slot(gates, 1), diff_memory_before);
    for (std::int64_t gate = 0; gate < 4; ++gate) {
      differentiate(gate == 2 ? tanh : sigmoid, slot(gates, gate), slot(slots_, gate));
    }
    const location joined = input_products(products_, c, i);
    join(4, slots_, joined);
    add_recurrent_gradients(c, i, joined);
  }

  void add_gru_gradient(const layer_direction& c, std::int64_t i, const location& diff) {
    const location gates = c.gates.of(step_of(c, i));
    const location joined = input_products(products_, c, i);
    const location& passed = temporary_[0];  // what reaches the states before without a product
    const location last = slot(slots_, 2);
    difference(state_of(c, i - 1), slot(gates, 3), temporary_[1]);
    product(diff, temporary_[1], slot(slots_, 0));
    product(diff, slot(gates, 0), passed);
    difference(diff, passed, last);
    differentiate(tanh, slot(gates, 3), last);
    differentiate(sigmoid, slot(gates, 0), slot(slots_, 0));
    if (o_.linear_before_reset()) {
      product(last, slot(gates, 2), slot(slots_, 1));
      differentiate(sigmoid, slot(gates, 1), slot(slots_, 1));
      join(3, slots_, joined);
      product(last, slot(gates, 1), last);
      join(3, slots_, recurrent_);
      add_recurrent_gradients(c, i, recurrent_);
    } else {
      add_reset_gradients(c, i, gates, joined);
    }
    if (i > 0) sum(diff_hidden_, passed, diff_hidden_);
  }

  /// The rest of a GRU whose last product has the reset states.
  void add_reset_gradients(const layer_direction& c, std::int64_t i, const location& gates,
                           const location& joined) {
    const desc states_before = matrix(o_.batch, o_.hidden, f32);
    const desc square = matrix(o_.hidden, o_.hidden, f32, width());
    const desc two_gates = matrix(o_.batch, 2 * o_.hidden, f32, width());
    const desc weights = matrix(o_.hidden, 2 * o_.hidden, f32, width());
    const location last = slot(slots_, 2);
    const location& diff_reset = temporary_[1];
    multiply(states_before, last, transposed(square), last_gate(weights_iter_operand, c),
             states_before, diff_reset);
    product(diff_reset, state_of(c, i - 1), slot(slots_, 1));
    differentiate(sigmoid, slot(gates, 1), slot(slots_, 1));
    product(diff_reset, slot(gates, 1), diff_reset);
    sum(temporary_[0], diff_reset, temporary_[0]);
    join(3, slots_, joined);
    add_share(c, i, [&](const location& to) {
      multiply(transposed(states_before), hidden_of(c, i - 1), two_gates, joined, weights, to);
      multiply(transposed(states_before), slot(gates, 2), states_before, last, square,
               behind(to, 2 * o_.hidden));
    });
    if (i == 0) return;
    multiply(two_gates, joined, transposed(weights), part_of(weights_iter_operand, c, o_.hidden),
             states_before, diff_hidden_);
  }

  std::vector<location> inputs_;        ///< of each layer, and what the last one writes
  std::vector<layer_direction> cells_;  ///< of each layer and direction
  std::vector<known_call> calls_;
  std::size_t kept_bytes_ = 0;
  location zeros_{};          ///< initial states
  location products_{};       ///< of all steps with the inputs, or their gradients
  location gate_products_{};  ///< the same, of a GRU one gate behind the other
  location recurrent_{};      ///< products of one step with the hidden states, or their gradients
  location state_{};          ///< in 16 bits: the hidden states in f32
  location narrow_{};         ///< in 16 bits: reset states
  std::array<location, 2> temporary_{};
  location slots_{};        ///< gradients of the gates of a step
  location diff_hidden_{};  ///< what a step gives to the states before it
  location diff_sum_{};     ///< with the gradient of what the layer writes
  location share_{};        ///< of a step in the gradient of the weights of the hidden states
  location bias_share_{};   ///< the same of their bias
};

}  // namespace layerbench::onednn
