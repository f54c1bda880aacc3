// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include "flops.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "patterns.hpp"

namespace layerbench::tool::importer {
namespace {

/// A node and what is known of its values.
struct sized_node {
  const node& of;
  const std::vector<known>& values;

  [[nodiscard]] const dims* extents(std::size_t value) const {
    return value == no_value || !values[value].extents ? nullptr : &*values[value].extents;
  }
  [[nodiscard]] const dims* input(std::size_t i) const { return extents(of.input(i)); }
  [[nodiscard]] const dims* result() const {
    return of.outputs.empty() ? nullptr : extents(of.outputs[0]);
  }
};

double count(const dims& extents) {
  double product = 1;
  for (const std::int64_t extent : extents) product *= static_cast<double>(extent);
  return product;
}

/// The extent so far from the last one; nothing if there is none.
std::optional<double> from_last(const dims* extents, std::size_t back) {
  if (extents == nullptr || extents->size() < back) return std::nullopt;
  return static_cast<double>((*extents)[extents->size() - back]);
}

/// Of a product whose sums have the length of an extent of the input `i`.
flop_count product_of(const sized_node& at, double factor, std::size_t i, std::size_t back) {
  const auto length = from_last(at.input(i), back);
  if (at.result() == nullptr || !length) return {0, true};
  return {factor * count(*at.result()) * *length, false};
}

flop_count convolution(const sized_node& at) {
  const bool transposed = at.of.op == "ConvTranspose";
  const dims* filters = at.input(weights_input(at.of));
  const dims* positions = transposed ? at.input(0) : at.result();
  if (filters == nullptr || positions == nullptr || filters->empty()) return {0, true};
  if (filters->front() == 0) return {};
  return {2 * count(*filters) / static_cast<double>(filters->front()) * count(*positions), false};
}

/// Of LSTM, GRU and RNN: each step multiplies its input and the state by all weights.
flop_count recurrent(const sized_node& at) {
  const dims* x = at.input(0);
  const dims* w = at.input(1);
  const dims* r = at.input(2);
  if (x == nullptr || w == nullptr || r == nullptr || x->size() != 3) return {0, true};
  const double steps = static_cast<double>((*x)[0]) * static_cast<double>((*x)[1]);
  return {2 * steps * (count(*w) + count(*r)), false};
}

flop_count flops_inside(const graph& body, const std::vector<known>& inputs, const scope& around,
                        const sizes& sizes_of) {
  try {
    const auto outer = [&](std::string_view name) { return around.find(name); };
    const std::vector<known> values = infer_inside(body, sizes_of, outer, inputs);
    const scope own(body, values, &around);
    flop_count all;
    for (const node& one : body.nodes) all += flops_of(one, values, own, sizes_of);
    return all;
  } catch (const bad_input&) {  // the graph around it is right all the same
    return {0, true};
  }
}

const graph* graph_in(const node& of, std::string_view key) {
  const attribute* found = of.find(key);
  return found == nullptr ? nullptr : found->g.get();
}

flop_count branches(const sized_node& at, const scope& around, const sizes& sizes_of) {
  std::vector<flop_count> all;
  for (const char* key : {"then_branch", "else_branch"}) {
    const graph* branch = graph_in(at.of, key);
    all.push_back(branch == nullptr ? flop_count{0, true}
                                    : flops_inside(*branch, {}, around, sizes_of));
  }
  const flop_count& least = all[0].flops <= all[1].flops ? all[0] : all[1];
  return {least.flops, all[0].at_least || all[1].at_least || all[0].flops != all[1].flops};
}

/// Of Loop and Scan.
flop_count repeated(const sized_node& at, const scope& around, const sizes& sizes_of) {
  const graph* body = graph_in(at.of, "body");
  if (body == nullptr) return {0, true};
  const bool loops = at.of.op == "Loop";
  std::vector<known> inputs;
  if (loops) inputs = {{element::i64, dims{}}, {element::boolean, dims{}}};
  const std::int64_t scanned = loops ? 0 : at.of.integer("num_scan_inputs", 0);
  std::optional<double> iterations;
  const std::size_t first = loops ? 2 : 0;
  for (std::size_t i = first; i < at.of.inputs.size(); ++i) {
    known next = at.of.has_input(i) ? at.values[at.of.input(i)] : known{};
    next.data.reset();  // another one in each iteration
    const bool is_scanned = static_cast<std::int64_t>(at.of.inputs.size() - i) <= scanned;
    if (is_scanned && next.extents && !next.extents->empty()) {
      iterations = static_cast<double>(next.extents->front());
      next.extents->erase(next.extents->begin());
    }
    inputs.push_back(std::move(next));
  }
  if (loops && at.of.has_input(0)) {
    const known& most = at.values[at.of.input(0)];
    constexpr double endless = 1e6;  // a body that ends its loop itself has a huge number
    if (most.data && most.data->values.size() == 1 && most.data->values[0] < endless) {
      iterations = std::max(0.0, most.data->values[0]);
    }
  }
  flop_count all = flops_inside(*body, inputs, around, sizes_of);
  all.at_least = all.at_least || (!iterations && all.flops > 0);
  all.flops *= iterations.value_or(1);
  return all;
}

}  // namespace

scope::scope(const graph& g, const std::vector<known>& values, const scope* outer) : outer_(outer) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!g.values[i].name.empty()) known_[g.values[i].name] = &values[i];
  }
}

const known* scope::find(std::string_view name) const {
  const auto found = known_.find(name);
  if (found != known_.end()) return found->second;
  return outer_ == nullptr ? nullptr : outer_->find(name);
}

flop_count flops_of(const node& of, const std::vector<known>& values, const scope& around,
                    const sizes& at) {
  const sized_node sized{of, values};
  const std::string& op = of.op;
  if (!of.is_standard()) return {0, true};
  if (op == "MatMul" || op == "MatMulInteger" || op == "QLinearMatMul" || op == composed_linear) {
    return product_of(sized, 2, 0, 1);
  }
  if (op == "Gemm") return product_of(sized, 2, 0, of.integer("transA", 0) != 0 ? 2 : 1);
  if (op == composed_attention) return product_of(sized, 4, 1, 1);
  if (op == "Attention") return product_of(sized, 4, 1, 2);
  if (op == "LSTM" || op == "GRU" || op == "RNN") return recurrent(sized);
  if (op == "If") return branches(sized, around, at);
  if (op == "Loop" || op == "Scan") return repeated(sized, around, at);
  if (op == "Einsum") return {0, true};
  const bool convolves = op == "Conv" || op == "ConvTranspose" || op == "ConvInteger" ||
                         op == "QLinearConv" || op == "DeformConv";
  return convolves ? convolution(sized) : flop_count{};
}

}  // namespace layerbench::tool::importer
