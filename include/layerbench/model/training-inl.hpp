// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <layerbench/base/compiled.hpp>
#include <layerbench/base/error.hpp>
#include <layerbench/model/parameter_updates.hpp>
#include <layerbench/model/reductions.hpp>
#include <layerbench/model/sweep.hpp>
#include <layerbench/model/training.hpp>
#include <layerbench/op/add.hpp>
#include <layerbench/op/cross_entropy.hpp>
#include <layerbench/op/softmax.hpp>

namespace layerbench::model {

namespace detail {

/// Derives the calls of a training step. Operands find their tensors by name: what a backward pass
/// reads under a forward name is what the forward pass read or wrote, and `diff_x` is the gradient
/// of x.
class training_builder {
 public:
  training_builder(const graph& g, dtype type, const op_names& in_place, const training& how)
      : graph_(g),
        type_(type),
        in_place_(in_place),
        ranks_(how.ranks),
        readers_(readers(g)),
        parameters_(result_, how) {}

  [[nodiscard]] step build() && {
    result_.type = type_;
    result_.inputs = 2;
    result_.tensors = 2;
    const std::size_t layers = graph_.layers.size();
    for (std::size_t i = 0; i < layers; ++i) {
      if (is_loss(i)) {
        names_.emplace_back();
      } else {
        forward(graph_.layers[i]);
      }
    }
    gradients_.resize(layers);
    add_losses();
    for (std::size_t i = layers; i-- > 0;) backward(i);
    if (ranks_ > 1) reductions(result_, parameters_.all(), ranks_).insert();
    zero_gradients();
    part_ = step_part::update;
    for (call& update : parameters_.updates()) add(std::move(update));
    tie_weights(result_, graph_);
    return std::move(result_);
  }

 private:
  static constexpr std::size_t target = 1;  ///< the tensor beside the model's input

  [[nodiscard]] static op::pass forward_pass(const op::any& op) {
    return op.has(op::pass::fwd_training) ? op::pass::fwd_training : op::pass::fwd;
  }

  /// Whether a loss takes the place of a layer: of a softmax of a matrix that no layer reads.
  [[nodiscard]] bool is_loss(std::size_t i) const {
    const auto* softmax = graph_.layers[i].op.get<op::softmax>();
    return softmax != nullptr && softmax->dims.size() == 2 && readers_[i] == 0;
  }

  /// The layers whose destinations have a loss: those that such softmaxes read, and the last layer.
  [[nodiscard]] std::vector<std::size_t> scored() const {
    std::vector<std::size_t> all;
    for (std::size_t i = 0; i < graph_.layers.size(); ++i) {
      if (is_loss(i)) {
        all.push_back(graph_.layers[i].inputs.front());
      } else if (i + 1 == graph_.layers.size()) {
        all.push_back(i);
      }
    }
    return all;
  }

  /// The layer whose destination the layer reads as its source `name`, or model_input. Nothing
  /// where the op has no source of that name.
  [[nodiscard]] static std::optional<std::size_t> producer(const layer& of, std::string_view name) {
    std::size_t source = 0;
    for (const op::operand& operand : of.op.operands(forward_pass(of.op), dtype::f32)) {
      if (operand.role != op::role::source) continue;
      if (operand.name == name) return of.inputs[source];
      ++source;
    }
    return std::nullopt;
  }

  /// Whether a backward pass of the op has the operand.
  [[nodiscard]] static bool gradient_uses(const op::any& op, std::string_view name) {
    for (const op::pass pass : op.passes()) {
      if (!op::is_backward(pass)) continue;
      const std::vector<op::operand> operands = op.operands(pass, dtype::f32);
      if (std::ranges::find(operands, name, &op::operand::name) != operands.end()) return true;
    }
    return false;
  }

  /// As in inference, but nothing is overwritten that a gradient needs.
  [[nodiscard]] bool overwrites(const layer& by) const {
    return may_overwrite(graph_, by, readers_, in_place_) && !gradient_uses(by.op, "src") &&
           !gradient_uses(graph_.layers[by.inputs.front()].op, "dst");
  }

  void add(call next) {
    next.part = part_;
    result_.calls.push_back(std::move(next));
  }

  void forward(const layer& next) {
    call created{next.name, next.op, forward_pass(next.op), {}};
    named_tensors names;
    std::size_t source = 0;
    for (const op::operand& operand : next.op.operands(created.pass, type_)) {
      const std::string name(operand.name);
      constexpr std::string_view renewed = "new_";
      std::size_t tensor = 0;
      if (operand.role == op::role::source) {
        const std::size_t from = next.inputs[source++];
        tensor = from == model_input ? input_tensor : names_[from].at("dst");
      } else if (name == "dst" && overwrites(next)) {
        tensor = names.at("src");
      } else if (name.starts_with(renewed)) {
        tensor = names.at(name.substr(renewed.size()));
      } else if (operand.role == op::role::destination) {
        tensor = result_.new_tensor();
      } else {
        tensor = result_.keep_tensor(operand, result_of(next));
      }
      names[name] = tensor;
      created.tensors.push_back(tensor);
    }
    add(std::move(created));
    names_.push_back(std::move(names));
  }

  /// Adds a loss for each of the scored layers, and the gradients. All have the same target. The
  /// one of the last is named "loss", those of auxiliary heads "<layer>_loss".
  void add_losses() {
    struct loss {
      std::size_t scored;
      std::string name;
      op::any op;
      std::size_t probabilities;
    };
    const std::vector<std::size_t> all = scored();
    std::vector<loss> losses;
    for (const std::size_t from : all) {
      if (from == model_input) throw unsupported("a model of a softmax alone cannot be trained");
      const dims logits = result_of(graph_.layers[from]);
      const op::cross_entropy entropy{logits.front(), elements(logits) / logits.front()};
      if (!losses.empty() && losses.front().op.get<op::cross_entropy>()->n != entropy.n) {
        throw unsupported("the losses of a model must have the same number of labels");
      }
      const std::string name = from == all.back() ? "loss" : graph_.layers[from].name + "_loss";
      const std::size_t probabilities = result_.new_tensor();
      losses.push_back({from, name, op::any(entropy), probabilities});
      const std::size_t value = result_.new_tensor();
      add({name,
           losses.back().op,
           op::pass::fwd,
           {names_[from].at("dst"), target, probabilities, value}});
    }
    part_ = step_part::backward;
    for (const loss& of : losses) {
      const std::size_t gradient = result_.new_tensor();
      add({of.name, of.op, op::pass::bwd, {of.probabilities, target, gradient}});
      add_gradient(of.scored, gradient);
    }
  }

  /// Whether only layer `i` still needs its gradient.
  [[nodiscard]] bool alone(std::size_t i) const {
    return std::ranges::count(gradients_, gradients_[i]) == 1;
  }

  /// Adds `gradient` to the gradient of the destination of layer `to`.
  void add_gradient(std::size_t to, std::size_t gradient) {
    if (to == model_input) return;
    std::optional<std::size_t>& known = gradients_[to];
    if (!known) {
      known = gradient;
      return;
    }
    // The sum overwrites a gradient that no other layer needs: the known one, or a new one that was
    // not passed through.
    const bool fresh = std::ranges::find(gradients_, gradient) == gradients_.end();
    std::size_t first = *known;
    std::size_t second = gradient;
    if (!alone(to) && fresh) std::swap(first, second);
    const std::size_t sum = alone(to) || fresh ? first : result_.new_tensor();
    add({graph_.layers[to].name + "_grad",
         op::any(op::add{result_of(graph_.layers[to])}),
         op::pass::fwd,
         {first, second, sum}});
    known = sum;
  }

  void backward(std::size_t i) {
    const layer& next = graph_.layers[i];
    if (!gradients_[i]) return;  // the loss does not depend on it
    const bool passes_through = next.op.passes_gradient_through();
    if (!passes_through && !gradient_uses(next.op, "diff_dst")) {
      throw unsupported(fmt::format("layer {}: {} has no gradient", next.name, next.op.name()));
    }
    for (const op::pass pass : next.op.passes()) {
      const bool wanted =
          pass != op::pass::bwd_data || std::ranges::count(next.inputs, model_input) !=
                                            static_cast<std::ptrdiff_t>(next.inputs.size());
      if (op::is_backward(pass) && wanted) differentiate(i, pass);
    }
    if (passes_through) pass_through(i);
    gradients_[i].reset();  // last: until then no sum may overwrite it
    for (const auto& [to, gradient] : std::exchange(source_gradients_, {}))
      add_gradient(to, gradient);
  }

  /// Adds the gradient of layer `i` to those of its sources whose gradients no pass computes.
  void pass_through(std::size_t i) {
    const layer& next = graph_.layers[i];
    const std::vector<op::operand> sources = of_role(next.op, op::role::source);
    for (std::size_t source = 0; source < sources.size(); ++source) {
      if (gradient_uses(next.op, fmt::format("diff_{}", sources[source].name))) continue;
      add_gradient(next.inputs[source], *gradients_[i]);
    }
  }

  /// One backward pass of layer `i`.
  void differentiate(std::size_t i, op::pass pass) {
    const layer& of_layer = graph_.layers[i];
    constexpr std::string_view gradient_of = "diff_";
    call created{of_layer.name, of_layer.op, pass, {}};
    std::vector<parameter> new_parameters;
    for (const op::operand& operand : of_layer.op.operands(pass, type_)) {
      const std::string name(operand.name);
      const bool gradient = name.starts_with(gradient_of);
      const std::string of = gradient ? name.substr(gradient_of.size()) : name;
      std::size_t tensor = 0;
      if (name == "diff_dst") {
        tensor = *gradients_[i];
      } else if (!gradient) {
        tensor = names_[i].at(name);
      } else if (const auto from = producer(of_layer, of)) {
        const bool overwrites_gradient = pass == op::pass::bwd &&
                                         in_place_.contains(of_layer.op.name()) &&
                                         of_layer.inputs.size() == 1 && alone(i) &&
                                         elements(operand.extents) == elements(result_of(of_layer));
        tensor = overwrites_gradient ? *gradients_[i] : result_.new_tensor();
        source_gradients_.emplace_back(*from, tensor);
      } else {
        if (!learned(of_layer.op, of)) {
          throw unsupported(
              fmt::format("layer {}: {} is a gradient of no weights", of_layer.name, name));
        }
        tensor = result_.new_tensor();
        const bool wide = traits(operand.type).bytes > traits(type_).bytes;
        new_parameters.push_back(
            {of_layer.name + '_' + of, names_[i].at(of), tensor, elements(operand.extents), wide});
      }
      created.tensors.push_back(tensor);
    }
    add(std::move(created));
    for (parameter& one : new_parameters) {
      for (call& sum : parameters_.add(std::move(one))) add(std::move(sum));
    }
  }

  [[nodiscard]] static bool learned(const op::any& op, std::string_view name) {
    const std::vector<op::operand> weights = of_role(op, op::role::weights);
    return std::ranges::find(weights, name, &op::operand::name) != weights.end();
  }

  /// Inserted where the backward part begins, after all gradients are known.
  void zero_gradients() {
    std::vector<call> calls = parameters_.zeros();
    for (call& zero : calls) zero.part = step_part::backward;
    const auto first = std::ranges::find(result_.calls, step_part::backward, &call::part);
    result_.calls.insert(first, std::make_move_iterator(calls.begin()),
                         std::make_move_iterator(calls.end()));
  }

  const graph& graph_;
  dtype type_;
  const op_names& in_place_;
  std::int64_t ranks_;
  std::vector<int> readers_;
  step result_;
  step_part part_ = step_part::forward;
  std::vector<named_tensors> names_;  ///< of each layer
  /// Of each layer's destination, while needed.
  std::vector<std::optional<std::size_t>> gradients_;
  /// To which layer, which gradient.
  std::vector<std::pair<std::size_t, std::size_t>> source_gradients_;
  parameters parameters_;
};

}  // namespace detail

LAYERBENCH_INLINE step training_step(const graph& g, dtype type, const op_names& in_place,
                                     const training& how) {
  if (is_integer(type)) {
    throw usage_error(
        fmt::format("--dtype: {} is for inference; training needs fractions", name(type)));
  }
  if (!g.inference_only.empty()) {
    throw usage_error(fmt::format("'{}' is for inference only, it cannot be trained: {}", g.name,
                                  g.inference_only));
  }
  return detail::training_builder(g, type, in_place, how).build();
}

LAYERBENCH_INLINE step step_of(const graph& g, std::string_view phase, dtype type,
                               const op_names& in_place, const training& how) {
  if (is_sweep(g)) return sweep_step(g, type);
  return phase == "training" ? training_step(g, type, in_place, how)
                             : inference_step(g, type, in_place);
}

}  // namespace layerbench::model
