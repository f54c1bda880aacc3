// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <layerbench/model/graph.hpp>
#include <layerbench/op/op.hpp>
#include <layerbench/op/slice.hpp>

#include "axes.hpp"
#include "conversion.hpp"
#include "flops.hpp"
#include "inference.hpp"
#include "patterns.hpp"
#include "view.hpp"

namespace layerbench::tool::importer {

class converter;

/// Converts the current node to layers; the result is what its first output is. Throws unknown.
using rule = view (*)(converter&);

/// A conversion under way. The rules of the ops add layers to it.
class converter {
 public:
  converter(const graph& g, const sizes& of);

  conversion run(bool softmax) &&;

  // What rules read. All of them are of the current node.

  [[nodiscard]] const node& of() const { return *node_; }
  /// The type of the first result.
  [[nodiscard]] int type() const { return values_[of().outputs[0]].type; }
  /// Extents of a result.
  [[nodiscard]] const dims& extents(std::size_t output = 0) const;
  /// Any input.
  [[nodiscard]] const view& input(std::size_t i) const;
  /// Whether an input has no elements.
  [[nodiscard]] bool is_empty(std::size_t i) const;
  /// An input that a layer can read. Throws unknown for weights and constants.
  [[nodiscard]] const view& source(std::size_t i) const;
  /// An input with learned values. Throws unknown for another one.
  [[nodiscard]] const view& weight(std::size_t i) const;
  /// Elements of an input that is a constant; nothing if they are not known.
  [[nodiscard]] std::optional<std::vector<double>> data(std::size_t i) const;
  [[nodiscard]] std::optional<double> number(std::size_t i) const;
  /// Whole numbers of an attribute or, in later versions of ONNX, of an input.
  [[nodiscard]] std::vector<std::int64_t> listed(std::string_view key, std::size_t i) const;
  [[nodiscard]] std::int64_t opset() const { return graph_.opset; }
  /// What is known of an input for one image. Its elements may be fewer than its extents say.
  [[nodiscard]] const known& of_one_image(std::size_t i);
  /// Whether an input follows from constants and sizes alone.
  [[nodiscard]] bool is_constant(std::size_t i) const { return constants_[of().inputs[i]]; }
  /// Whether an input is a tensor of the file.
  [[nodiscard]] bool is_initializer(std::size_t i) const {
    return graph_.values[of().inputs[i]].initializer.has_value();
  }
  /// Whether PyTorch's exporter computed this weight, from one or several of the model's.
  [[nodiscard]] bool is_computed(const view& weight) const;
  /// Whether an output is read, or is one of the model's.
  [[nodiscard]] bool is_read(std::size_t output) const;
  /// Whether the nodes are calls that PyTorch has traced.
  [[nodiscard]] bool is_traced() const { return graph_.is_traced; }
  /// The name of a tensor of weights in its module.
  [[nodiscard]] std::string word_of(const view& weight) const;

  [[nodiscard]] bool is_batch(std::int64_t size) const { return size == sizes_.batch; }
  /// Whether a size grows with the batch, which is then a prime that no other size has as a factor.
  [[nodiscard]] bool depends_on_batch(std::int64_t size) const {
    return sizes_.batch_varies && size % sizes_.batch == 0;
  }
  /// A size that must not depend on the batch.
  [[nodiscard]] std::int64_t plain(std::int64_t size) const;

  // What rules write.

  /// Adds a layer that reads these tensors, whose result has the extents of the node's.
  template <op::operation Op>
  view append(Op op, const std::vector<view>& sources, std::string_view word = Op::name) {
    try {
      op.validate();
    } catch (const invalid_field& wrong) {
      throw bad_node(wrong.what());
    }
    return add(op::any(std::move(op)), sources, word);
  }
  /// Adds a layer that reads and writes one tensor by element; `op.dims` are set here.
  template <op::operation Op>
  view elementwise(Op op, const view& x, std::string_view word = Op::name) {
    if (x.extents.empty()) throw unknown("of a scalar");
    const bool any_order = x.order && is_complete(*x.order);
    op.dims = any_order ? x.written : element_extents(x);
    const view y = append(op, {any_order ? x.memory() : x}, word);
    return any_order ? y.laid_out(extents(), x) : y;
  }
  /// Extents of a layer that reads x by element: those of the view, if the edge allows them.
  [[nodiscard]] static const dims& element_extents(const view& x);
  /// A view of x of these extents; a transposed tensor moves first where it cannot be seen so.
  view seen_as(const view& x, const dims& to);
  /// x as a layer reads it with these extents: transposed if its axes are in another order.
  view in_order(const view& x, dims to);
  void note(const std::string& text) { ++result_.notes[text]; }
  /// Says that the outputs are parts of the weights that the first input is.
  void split_weights() { split_.insert(input(0).value); }
  /// Says that the exporter has folded a batch norm into the weights of the current node.
  void count_folded_batchnorm() { ++result_.folded_batchnorms; }
  /// Sets another output than the first.
  void set(std::size_t output, view result);

 private:
  [[nodiscard]] static bool is_complete(const axes& of);
  view add(op::any op, const std::vector<view>& sources, std::string_view word);
  std::optional<std::size_t> source_of(const view& x, const dims& to, bool single) const;
  void start();
  void visit(const step& at);
  void drop_layers(std::size_t first);
  void leave_out(const step& at, const std::string& reason, const flop_count& flops);
  view value_of();
  view uncomputed(source_kind from);
  [[nodiscard]] view left_out() const;
  [[nodiscard]] flop_count flops() const;
  std::optional<view> computed_weight(rule found);
  view folded(std::size_t output) const;
  void use_weights();
  [[nodiscard]] std::vector<std::size_t> weights_read() const;
  [[nodiscard]] std::optional<std::size_t> only_weights(const op::any& op) const;
  [[nodiscard]] learned_values count_learned() const;
  view repeated(const view& x);
  void match_axes();
  void join_axes();
  bool match_axes_of(std::size_t at);
  void add_copies();
  void end_with_softmax();
  /// Of each layer that is read, which layers read it as which operand.
  using reader_map = std::map<std::size_t, std::vector<std::pair<std::size_t, std::size_t>>>;
  [[nodiscard]] reader_map readers_of_layers() const;
  [[nodiscard]] std::vector<std::size_t> group_around(std::size_t first, const reader_map& readers,
                                                      axes_freedom& common) const;
  [[nodiscard]] std::vector<dims> fewer_axes_of(const axes_freedom& common,
                                                const std::vector<std::size_t>& group,
                                                const std::set<std::size_t>& inside) const;
  bool join_axes_of(std::size_t first, const dims& extents, const reader_map& readers,
                    std::set<std::size_t>& done);
  [[nodiscard]] bool is_returned(std::size_t i) const;
  void join_recurrent(std::set<std::size_t>& gone);
  [[nodiscard]] std::string word_in_attention(std::size_t of, const reader_map& readers) const;
  [[nodiscard]] bool learns(std::size_t bias, const op::slice& part) const;
  void split_projections(std::set<std::size_t>& gone);
  void remove_layers(const std::set<std::size_t>& gone);
  [[nodiscard]] bool tiles(const std::vector<std::size_t>& parts) const;
  void name_layers();

  const graph& graph_;
  const sizes& sizes_;
  std::vector<known> values_;
  scope scope_;
  std::vector<known> values_of_one_;  ///< at a batch of 1; empty until they are needed
  std::vector<bool> constants_;
  std::vector<step> steps_;
  std::vector<bool> read_;
  std::vector<std::optional<view>> views_;
  const node* node_ = nullptr;
  std::string module_;
  /// Transposes, by what they read and its order: their results.
  std::map<std::tuple<int, std::size_t, std::size_t, dims, memory_order>, std::vector<view>> moved_;
  std::map<std::size_t, std::set<std::size_t>> used_;    ///< of each weight: nodes of its layers
  std::map<std::size_t, std::set<std::size_t>> folded_;  ///< of each computed weight: its sources
  /// Of each bias that is joined of several: their sizes, and whether they are learned.
  std::map<std::size_t, std::vector<std::pair<std::int64_t, bool>>> joined_;
  std::set<std::size_t> split_;  ///< weights whose parts are used
  double folded_flops_ = 0;
  conversion result_;
};

/// The rule of an ONNX op; null if there is none.
[[nodiscard]] rule rule_of(std::string_view op);

}  // namespace layerbench::tool::importer
