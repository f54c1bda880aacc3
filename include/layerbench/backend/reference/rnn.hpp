// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <list>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include <layerbench/backend/reference/backend.hpp>
#include <layerbench/op/rnn.hpp>

namespace layerbench::reference {

/// Recurrences through all steps, and backpropagation through time (Werbos 1990).
template <>
struct formula<op::rnn> {
  /// All states, and for `bwd` the gradients of all gates; elements of the results follow from
  /// these.
  class evaluation {
   public:
    evaluation(const op::rnn& o, op::pass pass, tensors in)
        : o_(o), backward_(pass == op::pass::bwd) {
      for (const tensor& operand : in) in_.push_back(read(operand));
      inputs_.emplace_back(in_[0].begin(), in_[0].end());
      cells_.resize(size(o.layers * o.directions()));
      for (std::int64_t layer = 0; layer < o.layers; ++layer) {
        for (std::int64_t d = 0; d < o.directions(); ++d) run(layer, d);
        if (layer + 1 < o.layers) inputs_.push_back(joined_states(layer));
      }
      if (backward_) differentiate();
    }

    [[nodiscard]] sum at(std::size_t output, std::int64_t index) const {
      if (!backward_) return state(index);
      switch (output) {
        case 7: return source_gradient(index);
        case 10: return bias_gradient(index);
        default: return weights_gradient(output == 9, index);
      }
    }

   private:
    /// The elements in memory, since steps read them many times.
    [[nodiscard]] std::span<const float> read(const tensor& operand) {
      if (operand.memory().size() == operand.size()) return operand.memory();
      std::vector<float>& values = read_.emplace_back(operand.size());
      for (std::size_t i = 0; i < values.size(); ++i) values[i] = operand[i];
      return values;
    }

    /// Of all gates of each token.
    struct gradients {
      std::vector<double> values;
      std::vector<double> lengths;  ///< Euclidean, of all gates of a token
    };
    /// One direction of one layer: values of each token, and of all gates.
    struct cell {
      std::vector<double> gates;
      std::vector<double> state;  ///< cell state of an LSTM
      std::vector<double> hidden;
      std::vector<double> product;  ///< of a GRU: U h + b2 of its last gate
      gradients diff_inputs;        ///< of W x + b
      gradients diff_hiddens;       ///< of U h + b2
    };

    static std::size_t size(std::int64_t value) { return static_cast<std::size_t>(value); }
    static double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

    [[nodiscard]] std::int64_t width() const { return o_.gates() * o_.hidden; }
    [[nodiscard]] cell& cell_of(std::int64_t layer, std::int64_t d) {
      return cells_[size(layer * o_.directions() + d)];
    }
    [[nodiscard]] const cell& cell_of(std::int64_t layer, std::int64_t d) const {
      return cells_[size(layer * o_.directions() + d)];
    }
    /// Row `i` of a layer's and direction's weights: those of all gates.
    [[nodiscard]] const float* row(std::size_t operand, std::int64_t layer, std::int64_t d,
                                   std::int64_t i) const {
      const std::int64_t rows = operand == 1 ? o_.inputs : o_.hidden;
      return in_[operand].data() + ((layer * o_.directions() + d) * rows + i) * width();
    }
    [[nodiscard]] const float* biases(std::int64_t layer, std::int64_t d) const {
      return in_[3].data() + (layer * o_.directions() + d) * o_.biases * width();
    }
    /// Number of a token: a step of a sequence.
    [[nodiscard]] std::int64_t token_of(std::int64_t step, std::int64_t n) const {
      return step * o_.batch + n;
    }
    /// The step before, as direction `d` goes; below 0 or at the end if there is none.
    static std::int64_t before(std::int64_t d, std::int64_t step) {
      return d == 0 ? step - 1 : step + 1;
    }
    [[nodiscard]] bool exists(std::int64_t step) const { return step >= 0 && step < o_.steps; }

    /// to[first, end) += x * from[first, end).
    static void add(std::vector<double>& to, double x, const float* from, std::int64_t first,
                    std::int64_t end) {
      double* sums = to.data();
      for (std::int64_t i = first; i < end; ++i) sums[i] += x * static_cast<double>(from[i]);
    }
    static double dot(const double* a, const float* b, std::int64_t first, std::int64_t end) {
      double total = 0;
      for (std::int64_t i = first; i < end; ++i) total += a[i] * static_cast<double>(b[i]);
      return total;
    }

    void run(std::int64_t layer, std::int64_t d) {
      cell& c = cell_of(layer, d);
      const std::size_t places = size(o_.steps * o_.batch);
      c.gates.resize(places * size(width()));
      c.hidden.resize(places * size(o_.hidden));
      if (o_.kind == op::rnn_kind::lstm) c.state.resize(c.hidden.size());
      if (o_.linear_before_reset()) c.product.resize(c.hidden.size());
      for (std::int64_t i = 0; i < o_.steps; ++i) {
        const std::int64_t step = d == 0 ? i : o_.steps - 1 - i;
        for (std::int64_t n = 0; n < o_.batch; ++n) run_step(c, layer, d, step, n);
      }
    }

    void run_step(cell& c, std::int64_t layer, std::int64_t d, std::int64_t step, std::int64_t n) {
      const std::int64_t all = width();
      const std::int64_t hidden = o_.hidden;
      const std::int64_t token = token_of(step, n);
      std::vector<double> sums(size(all), 0.0);
      const float* bias = biases(layer, d);
      add(sums, 1, bias, 0, all);
      // Products with the hidden state; the last gate of a GRU is another matter.
      const bool gru = o_.kind == op::rnn_kind::gru;
      const std::int64_t common = gru ? 2 * hidden : all;
      if (o_.biases == 2) add(sums, 1, bias + all, 0, common);
      const double* x = inputs_[size(layer)].data() + token * o_.inputs;
      for (std::int64_t i = 0; i < o_.inputs; ++i) add(sums, x[i], row(1, layer, d, i), 0, all);
      const std::int64_t last = before(d, step);
      const std::vector<double> none(size(hidden), 0.0);
      const double* h = exists(last) ? c.hidden.data() + token_of(last, n) * hidden : none.data();
      if (exists(last)) {
        for (std::int64_t i = 0; i < hidden; ++i) add(sums, h[i], row(2, layer, d, i), 0, common);
      }
      for (std::int64_t i = 0; gru && i < common; ++i) sums[size(i)] = sigmoid(sums[size(i)]);
      if (gru) add_last_gate(c, layer, d, token, h, sums);
      double* gates = c.gates.data() + token * all;
      for (std::int64_t i = 0; i < hidden; ++i) {
        double& state = c.hidden[size(token * hidden + i)];
        const auto gate = [&](std::int64_t g) -> double& { return sums[size(g * hidden + i)]; };
        if (o_.kind == op::rnn_kind::vanilla) {
          gate(0) = std::tanh(gate(0));
          state = gate(0);
        } else if (gru) {
          gate(2) = std::tanh(gate(2));
          state = gate(0) * h[i] + (1 - gate(0)) * gate(2);
        } else {
          gate(0) = sigmoid(gate(0));
          gate(1) = sigmoid(gate(1));
          gate(2) = std::tanh(gate(2));
          gate(3) = sigmoid(gate(3));
          const double old = exists(last) ? c.state[size(token_of(last, n) * hidden + i)] : 0;
          double& now = c.state[size(token * hidden + i)];
          now = gate(1) * old + gate(0) * gate(2);
          state = gate(3) * std::tanh(now);
        }
      }
      std::ranges::copy(sums, gates);
    }

    /// Adds what the hidden state gives to the last gate of a GRU, whose reset gate is known.
    void add_last_gate(cell& c, std::int64_t layer, std::int64_t d, std::int64_t token,
                       const double* h, std::vector<double>& sums) const {
      const std::int64_t hidden = o_.hidden;
      const std::int64_t first = 2 * hidden;
      const auto reset = [&](std::int64_t i) { return sums[size(hidden + i)]; };
      if (!o_.linear_before_reset()) {
        for (std::int64_t i = 0; i < hidden; ++i) {
          add(sums, reset(i) * h[i], row(2, layer, d, i), first, width());
        }
        return;
      }
      std::vector<double> product(size(width()), 0.0);
      add(product, 1, biases(layer, d) + width(), first, width());
      for (std::int64_t i = 0; i < hidden; ++i) {
        add(product, h[i], row(2, layer, d, i), first, width());
      }
      for (std::int64_t i = 0; i < hidden; ++i) {
        c.product[size(token * hidden + i)] = product[size(first + i)];
        sums[size(first + i)] += reset(i) * product[size(first + i)];
      }
    }

    /// What a layer writes: the states of its directions side by side.
    [[nodiscard]] std::vector<double> joined_states(std::int64_t layer) const {
      std::vector<double> all;
      for (std::int64_t token = 0; token < o_.steps * o_.batch; ++token) {
        for (std::int64_t d = 0; d < o_.directions(); ++d) {
          const double* from = cell_of(layer, d).hidden.data() + token * o_.hidden;
          all.insert(all.end(), from, from + o_.hidden);
        }
      }
      return all;
    }

    void differentiate() {
      std::vector<double> diff(in_[6].begin(), in_[6].end());
      for (std::int64_t layer = o_.layers; layer-- > 0;) {
        std::vector<double> below(inputs_[size(layer)].size(), 0.0);
        for (std::int64_t d = 0; d < o_.directions(); ++d) {
          differentiate(layer, d, diff);
          const cell& c = cell_of(layer, d);
          for (std::int64_t token = 0; layer > 0 && token < o_.steps * o_.batch; ++token) {
            const double* gates = c.diff_inputs.values.data() + token * width();
            for (std::int64_t i = 0; i < o_.inputs; ++i) {
              below[size(token * o_.inputs + i)] += dot(gates, row(1, layer, d, i), 0, width());
            }
          }
        }
        diff = std::move(below);
      }
    }

    /// `diff` is the gradient of what the layer writes.
    void differentiate(std::int64_t layer, std::int64_t d, const std::vector<double>& diff) {
      cell& c = cell_of(layer, d);
      c.diff_inputs.values.resize(c.gates.size());
      c.diff_hiddens.values.resize(c.gates.size());
      const std::int64_t hidden = o_.hidden;
      for (std::int64_t n = 0; n < o_.batch; ++n) {
        std::vector<double> of_hidden(size(hidden), 0.0);
        std::vector<double> of_state(size(hidden), 0.0);
        for (std::int64_t i = o_.steps; i-- > 0;) {
          const std::int64_t step = d == 0 ? i : o_.steps - 1 - i;
          const double* above = diff.data() + (token_of(step, n) * o_.directions() + d) * hidden;
          for (std::int64_t j = 0; j < hidden; ++j) of_hidden[size(j)] += above[j];
          differentiate_step(c, layer, d, step, n, of_hidden, of_state);
        }
      }
      for (gradients* of : {&c.diff_inputs, &c.diff_hiddens}) {
        for (std::int64_t token = 0; token < o_.steps * o_.batch; ++token) {
          const double* first = of->values.data() + token * width();
          of->lengths.push_back(std::sqrt(std::inner_product(first, first + width(), first, 0.0)));
        }
      }
    }

    /// Takes the gradients of the states behind a step, leaves those of the states before it.
    void differentiate_step(cell& c, std::int64_t layer, std::int64_t d, std::int64_t step,
                            std::int64_t n, std::vector<double>& of_hidden,
                            std::vector<double>& of_state) const {
      const std::int64_t hidden = o_.hidden;
      const std::int64_t token = token_of(step, n);
      const std::int64_t last = before(d, step);
      const double* gates = c.gates.data() + token * width();
      double* inputs = c.diff_inputs.values.data() + token * width();
      double* hiddens = c.diff_hiddens.values.data() + token * width();
      std::vector<double> before_step(size(hidden), 0.0);
      const auto old = [&](const std::vector<double>& of, std::int64_t j) {
        return exists(last) ? of[size(token_of(last, n) * hidden + j)] : 0.0;
      };
      for (std::int64_t j = 0; j < hidden; ++j) {
        const double dh = of_hidden[size(j)];
        const auto gate = [&](std::int64_t g) { return gates[g * hidden + j]; };
        const auto set = [&](std::int64_t g, double value) { inputs[g * hidden + j] = value; };
        const auto bend = [&](std::int64_t g) { return gate(g) * (1 - gate(g)); };
        if (o_.kind == op::rnn_kind::vanilla) {
          set(0, dh * (1 - gate(0) * gate(0)));
        } else if (o_.kind == op::rnn_kind::lstm) {
          const double state = std::tanh(c.state[size(token * hidden + j)]);
          const double dc = of_state[size(j)] + dh * gate(3) * (1 - state * state);
          set(0, dc * gate(2) * bend(0));
          set(1, dc * old(c.state, j) * bend(1));
          set(2, dc * gate(0) * (1 - gate(2) * gate(2)));
          set(3, dh * state * bend(3));
          of_state[size(j)] = dc * gate(1);
        } else {
          set(0, dh * (old(c.hidden, j) - gate(2)) * bend(0));
          set(2, dh * (1 - gate(0)) * (1 - gate(2) * gate(2)));
          before_step[size(j)] = dh * gate(0);
          if (o_.linear_before_reset()) {
            set(1, inputs[2 * hidden + j] * c.product[size(token * hidden + j)] * bend(1));
          }
        }
      }
      std::copy_n(inputs, width(), hiddens);
      std::int64_t common = width();
      if (o_.linear_before_reset()) {
        for (std::int64_t j = 0; j < hidden; ++j) hiddens[2 * hidden + j] *= gates[hidden + j];
      } else if (o_.kind == op::rnn_kind::gru) {
        common = 2 * hidden;
        for (std::int64_t j = 0; j < hidden; ++j) {
          const double reset = gates[hidden + j];
          const double of_product = dot(inputs, row(2, layer, d, j), 2 * hidden, width());
          inputs[hidden + j] = of_product * old(c.hidden, j) * reset * (1 - reset);
          hiddens[hidden + j] = inputs[hidden + j];
          before_step[size(j)] += of_product * reset;
        }
      }
      for (std::int64_t j = 0; j < hidden; ++j) {
        before_step[size(j)] += dot(hiddens, row(2, layer, d, j), 0, common);
      }
      of_hidden = std::move(before_step);
    }

    /// Results are sums of what has errors of its own, of as long sums.
    [[nodiscard]] sum inherited(sum of) const {
      constexpr double factor = 4;
      of.magnitude *= factor;
      of.squares *= factor * factor;
      of.terms += o_.inputs + width();
      return of;
    }

    /// Adds the product of a value and a gate's gradient. The latter is a sum over all gates of the
    /// next step, so its error is a share of theirs even where it is itself nearly nothing; so is
    /// that of a value that is a state, of at most 1.
    void add_term(sum& total, double value, bool is_state, const gradients& diff,
                  std::int64_t token, std::int64_t gate) const {
      constexpr double share = 0.125;
      const double factor = diff.values[size(token * width() + gate)];
      const double inexact =
          share * (std::abs(value) * diff.lengths[size(token)] + (is_state ? std::abs(factor) : 0));
      total.add(value * factor);
      total.magnitude += inexact;
      total.squares += inexact * inexact;
    }

    [[nodiscard]] sum state(std::int64_t index) const {
      const std::int64_t j = index % o_.hidden;
      const std::int64_t d = index / o_.hidden % o_.directions();
      const std::int64_t token = index / o_.hidden / o_.directions();
      const std::int64_t layer = o_.layers - 1;
      const cell& c = cell_of(layer, d);
      const std::int64_t last = before(d, token / o_.batch);
      sum total;
      const auto add_products = [&](std::size_t operand, const double* values) {
        const std::int64_t rows = operand == 1 ? o_.inputs : o_.hidden;
        for (std::int64_t i = 0; i < rows; ++i) {
          for (std::int64_t g = 0; g < o_.gates(); ++g) {
            total.add(values[i] * row(operand, layer, d, i)[g * o_.hidden + j]);
          }
        }
      };
      add_products(1, inputs_[size(layer)].data() + token * o_.inputs);
      if (exists(last)) {
        add_products(2, c.hidden.data() + token_of(last, token % o_.batch) * o_.hidden);
      }
      const double value = c.hidden[size(token * o_.hidden + j)];
      total.value = value;
      // In 16 bits the states are rounded, too, on which this one depends.
      total.rounded = std::abs(value) + 2 * std::sqrt(total.squares);
      total.roundings = 3;
      return inherited(total);
    }

    [[nodiscard]] sum source_gradient(std::int64_t index) const {
      const std::int64_t i = index % o_.inputs;
      const std::int64_t token = index / o_.inputs;
      sum total;
      for (std::int64_t d = 0; d < o_.directions(); ++d) {
        const double* gates = cell_of(0, d).diff_inputs.values.data() + token * width();
        for (std::int64_t g = 0; g < width(); ++g) total.add(gates[g] * row(1, 0, d, i)[g]);
      }
      return inherited(total);
    }

    [[nodiscard]] sum weights_gradient(bool of_hidden, std::int64_t index) const {
      const std::int64_t rows = of_hidden ? o_.hidden : o_.inputs;
      const std::int64_t gate = index % width();
      const std::int64_t i = index / width() % rows;
      const std::int64_t d = index / width() / rows % o_.directions();
      const std::int64_t layer = index / width() / rows / o_.directions();
      const cell& c = cell_of(layer, d);
      const gradients& diff = of_hidden ? c.diff_hiddens : c.diff_inputs;
      const bool resets =
          o_.kind == op::rnn_kind::gru && !o_.linear_before_reset() && gate >= 2 * o_.hidden;
      sum total;
      for (std::int64_t token = 0; token < o_.steps * o_.batch; ++token) {
        double value = 0;
        if (of_hidden) {
          const std::int64_t last = before(d, token / o_.batch);
          if (!exists(last)) continue;
          value = c.hidden[size(token_of(last, token % o_.batch) * o_.hidden + i)];
          if (resets) value *= c.gates[size(token * width() + o_.hidden + i)];
        } else {
          value = inputs_[size(layer)][size(token * o_.inputs + i)];
        }
        add_term(total, value, of_hidden || layer > 0, diff, token, gate);
      }
      return inherited(total);
    }

    [[nodiscard]] sum bias_gradient(std::int64_t index) const {
      const std::int64_t gate = index % width();
      const std::int64_t second = index / width() % o_.biases;
      const std::int64_t d = index / width() / o_.biases % o_.directions();
      const std::int64_t layer = index / width() / o_.biases / o_.directions();
      const cell& c = cell_of(layer, d);
      const gradients& diff = second == 1 ? c.diff_hiddens : c.diff_inputs;
      sum total;
      for (std::int64_t token = 0; token < o_.steps * o_.batch; ++token) {
        add_term(total, 1, false, diff, token, gate);
      }
      return inherited(total);
    }

    op::rnn o_;
    bool backward_;
    std::list<std::vector<float>> read_;  ///< operands that are not in memory
    std::vector<std::span<const float>> in_;
    std::vector<std::vector<double>> inputs_;  ///< of each layer
    std::vector<cell> cells_;                  ///< of each layer and direction
  };
};

static_assert(implements<backend, op::rnn>);

}  // namespace layerbench::reference
