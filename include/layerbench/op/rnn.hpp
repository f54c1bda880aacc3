// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <string_view>
#include <vector>

#include <layerbench/op/op.hpp>

namespace layerbench::op {

enum class rnn_kind { vanilla, lstm, gru };

[[nodiscard]] constexpr std::array<std::string_view, 3> list_names(rnn_kind /*tag*/) {
  return {"vanilla", "lstm", "gru"};
}

/// Recurrent layers, all steps of all layers, from an initial state of zeros. In step t with input
/// x, the hidden state h of step t - 1 and gates in this order, as in oneDNN (W are weights of the
/// input, U of the hidden state, b biases, * is by element):
///
/// - `vanilla` (Elman 1990): h' = tanh(W x + U h + b).
/// - `lstm` (Hochreiter and Schmidhuber 1997, with the forget gate of Gers et al. 2000), gates
///   i f g o, with a cell state c: i, f, o = sigmoid(W x + U h + b), g = tanh(W x + U h + b),
///   c' = f * c + i * g, h' = o * tanh(c').
/// - `gru` (Cho et al. 2014), gates u r o: u, r = sigmoid(W x + U h + b),
///   o = tanh(W x + U (r * h) + b), h' = u * h + (1 - u) * o. With two biases it is the "linear
///   before reset" form of cuDNN and PyTorch: o = tanh(W x + b + r * (U h + b2)).
///
/// Two biases are added, as cuDNN and PyTorch have them. The second direction goes from the last
/// step to the first; its states lie behind those of the first direction, and the next layer reads
/// both.
///
/// A library computes it in one call, unless it is called `unfused`.
struct rnn {
  static constexpr std::string_view name = "rnn";

  rnn_kind kind = rnn_kind::lstm;
  std::int64_t batch = 1, steps = 1, inputs = 1, hidden = 1, layers = 1;
  bool bidirectional = false;
  std::int64_t biases = 1;

  static constexpr auto fields = std::tuple{
      required("kind", &rnn::kind, "vanilla, lstm or gru"),
      required("batch", &rnn::batch, "sequences in a batch"),
      required("steps", &rnn::steps, "steps of a sequence"),
      required("inputs", &rnn::inputs, "values of a step that the first layer reads"),
      required("hidden", &rnn::hidden, "values of a hidden state"),
      optional("layers", &rnn::layers, "layers, each reads the one before"),
      optional("bidirectional", &rnn::bidirectional, "whether each layer goes both ways"),
      optional("biases", &rnn::biases, "biases of a gate: 1 or 2"),
  };

  [[nodiscard]] std::int64_t gates() const {
    return kind == rnn_kind::vanilla ? 1 : kind == rnn_kind::lstm ? 4 : 3;
  }
  [[nodiscard]] std::int64_t directions() const { return bidirectional ? 2 : 1; }
  /// Whether the reset gate of a GRU is applied behind the product with the hidden state.
  [[nodiscard]] bool linear_before_reset() const { return kind == rnn_kind::gru && biases == 2; }

  void validate() const {
    if (biases > 2) throw invalid_field("biases", "must be 1 or 2");
    if (layers > 1 && inputs != hidden * directions()) {
      throw invalid_field("inputs", "must be what a layer writes, where there are several layers");
    }
  }

  /// The same with fewer steps, at least two, where all of them have more than 2^31 MACs:
  /// verification in double precision would take minutes.
  [[nodiscard]] rnn verified_as() const {
    constexpr std::int64_t most = std::int64_t{1} << 31U;
    rnn result = *this;
    const std::int64_t step_macs = work(pass::fwd).macs / steps;
    result.steps = std::min(steps, std::max<std::int64_t>(2, most / step_macs));
    return result;
  }

  static std::vector<manner> manners() { return {manner::unfused}; }
  static std::vector<pass> passes() { return {pass::fwd, pass::fwd_training, pass::bwd}; }

  /// src steps*batch*inputs, dst steps*batch*(directions*hidden), gradients alike; for each layer
  /// and direction weights_layer inputs*gates*hidden, weights_iter hidden*gates*hidden and bias
  /// (biases*gates)*hidden (f32 in 16 bits, too). Training has a workspace that only the plan
  /// knows. Weights are in the range in which PyTorch initializes them.
  [[nodiscard]] std::vector<operand> operands(pass p, dtype type) const {
    const dims input{steps, batch, inputs};
    const dims output{steps, batch, directions() * hidden};
    const dtype fine = type == dtype::f64 ? dtype::f64 : dtype::f32;
    const double most = 1 / std::sqrt(static_cast<double>(hidden));
    std::vector<operand> learned{
        {"weights_layer", {layers, directions(), inputs, gates(), hidden}, role::weights, type},
        {"weights_iter", {layers, directions(), hidden, gates(), hidden}, role::weights, type},
        {"bias", {layers, directions(), biases * gates(), hidden}, role::weights, fine}};
    for (operand& tensor : learned) {
      tensor.low = -most;
      tensor.high = most;
    }
    std::vector<operand> all{{"src", input, role::source, type}};
    all.insert(all.end(), learned.begin(), learned.end());
    all.push_back({"dst", output, p == pass::bwd ? role::source : role::destination, type});
    if (p == pass::fwd) return all;
    all.push_back(opaque_operand("workspace", all.back().role));
    if (p == pass::fwd_training) return all;
    all.push_back({"diff_dst", output, role::source, type});
    all.push_back({"diff_src", input, role::destination, type});
    constexpr std::array<std::string_view, 3> gradients{"diff_weights_layer", "diff_weights_iter",
                                                        "diff_bias"};
    for (std::size_t i = 0; i < gradients.size(); ++i) {
      all.push_back({gradients[i], learned[i].extents, role::destination, learned[i].type});
    }
    return all;
  }

  /// Only the products count: gates*hidden*(inputs + hidden) MACs per step, sequence, layer and
  /// direction, and twice as many for the gradients. DeepBench counts 2*gates*hidden^2 FLOPs, the
  /// products with the hidden state alone (baidu-research/DeepBench, rnn_bench).
  [[nodiscard]] op::work work(pass p) const {
    const std::int64_t forward = checked_product(
        {layers, directions(), steps, batch, gates(), hidden, checked_add(inputs, hidden)});
    const std::int64_t macs = checked_multiply(p == pass::bwd ? 2 : 1, forward);
    const std::int64_t flops = checked_multiply(2, macs);
    return {macs, flops, flops};
  }
};

}  // namespace layerbench::op
