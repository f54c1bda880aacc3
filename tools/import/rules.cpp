// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <cctype>
#include <cmath>
#include <map>
#include <numeric>
#include <set>
#include <unordered_map>

#include <layerbench/op/activation.hpp>
#include <layerbench/op/add.hpp>
#include <layerbench/op/attention.hpp>
#include <layerbench/op/batchnorm.hpp>
#include <layerbench/op/concat.hpp>
#include <layerbench/op/conv.hpp>
#include <layerbench/op/deconv.hpp>
#include <layerbench/op/dropout.hpp>
#include <layerbench/op/embedding.hpp>
#include <layerbench/op/gemm.hpp>
#include <layerbench/op/groupnorm.hpp>
#include <layerbench/op/layernorm.hpp>
#include <layerbench/op/lrn.hpp>
#include <layerbench/op/multiply.hpp>
#include <layerbench/op/pad.hpp>
#include <layerbench/op/pool.hpp>
#include <layerbench/op/resample.hpp>
#include <layerbench/op/rnn.hpp>
#include <layerbench/op/rotary.hpp>
#include <layerbench/op/routed_gemm.hpp>
#include <layerbench/op/slice.hpp>
#include <layerbench/op/softmax.hpp>
#include <layerbench/op/topk.hpp>
#include <layerbench/op/transpose.hpp>

#include "axes.hpp"
#include "converter.hpp"

namespace layerbench::tool::importer {
namespace {

/// The number that a 32-bit one of the file stands for: 1e-5, not 9.99999974737875e-06.
double shortest(double narrow) { return std::stod(fmt::format("{}", static_cast<float>(narrow))); }

/// What a norm adds to the variance. Throws unknown for a number that no op has.
double epsilon_of(const node& of) {
  const double epsilon = shortest(of.number("epsilon", 1e-5));
  const bool is_usual = epsilon > 0 && epsilon < 1;
  if (!is_usual) throw unknown(fmt::format("with eps {}", epsilon));
  return epsilon;
}

// Images.

/// n c h w of an image, of a sequence, which is an image of height 1, or of a volume, whose planes
/// lie one below the other.
struct image {
  std::int64_t n, c, h, w;
};

image image_of(const converter& to, const dims& extents) {
  if (extents.size() < 3 || extents.size() > 5) {
    throw unknown(fmt::format("of a tensor with {} axes", extents.size()));
  }
  const std::int64_t height = elements(dims(extents.begin() + 2, extents.end() - 1));
  return {extents[0], to.plain(extents[1]), to.plain(height), to.plain(extents.back())};
}

/// A window along height and width, the last two axes. With one axis the height has one position.
struct taps {
  pair size, stride, dilation;
  pads pad;
};

taps taps_of(const window& by) {
  const std::size_t w = by.size.size() - 1;
  if (w > 2) throw unknown(fmt::format("of {} axes", by.size.size()));
  const auto both = [&](const dims& of) { return pair{w == 0 ? 1 : of[w - 1], of[w]}; };
  return {both(by.size),
          both(by.stride),
          both(by.dilation),
          {w == 0 ? 0 : by.before[w - 1], w == 0 ? 0 : by.after[w - 1], by.before[w], by.after[w]}};
}

/// Gives the op of a volume its depth, unless it is of an image.
template <class Op>
Op with_depth(const converter& to, const view& x, const window& by, Op o) {
  if (by.size.size() < 3) return o;
  if (by.before[0] != by.after[0]) throw unknown("with other padding in front than behind");
  o.d = to.plain(x.extents[2]);
  o.h = to.plain(x.extents[3]);
  o.t = by.size[0];
  o.depth_stride = by.stride[0];
  o.depth_pad.value = by.before[0];
  if constexpr (requires { o.depth_dilation; }) o.depth_dilation = by.dilation[0];
  if constexpr (requires { o.depth_output_pad; }) {
    const auto more = to.of().integers("output_padding");
    o.depth_output_pad.value = more.empty() ? 0 : more[0];
  }
  return o;
}

/// What becomes of integers: the shape file has the layers, and fusion plans their types.
void note_quantization(converter& to) {
  to.note(
      "quantisation nodes are removed; --dtype=s8 --fusion=int8_default times the layers in "
      "integers");
}

/// Conv, and QLinearConv, which has scales and zero points between its operands.
view conv(converter& to) {
  const view& x = to.source(0);
  const view& w = to.weight(weights_input(to.of()));
  const bool is_quantized = to.of().op == "QLinearConv";
  const bool bias = to.of().has_input(is_quantized ? 8 : 2);
  if (is_quantized) note_quantization(to);
  if (to.of().folded_batchnorm || to.is_computed(w)) to.count_folded_batchnorm();
  const auto [n, c, h, width] = image_of(to, x.extents);
  const window by = window_of(to.of(), x.extents, dims(w.extents.begin() + 2, w.extents.end()));
  const taps at = taps_of(by);
  return to.append(
      with_depth(to, x, by,
                 op::conv{n, c, h, width, to.plain(w.extents[0]), at.size.v, at.size.h, at.stride,
                          at.pad, at.dilation, to.of().integer("group", 1), bias}),
      {x});
}

/// Takes what a transposed convolution adds at the end of an axis off what it cuts off there. The
/// op adds less than its stride; models may add more where the filter is dilated.
void balance(std::int64_t& added, std::int64_t& cut, std::int64_t stride) {
  if (added < stride) return;
  if (added > cut) {
    throw unknown(fmt::format(
        "whose output_padding {} is neither below the stride {} nor within the padding {}", added,
        stride, cut));
  }
  cut -= added;
  added = 0;
}

view conv_transpose(converter& to) {
  const view& x = to.source(0);
  const view& w = to.weight(1);
  if (to.of().find("output_shape") != nullptr) throw unknown("with an output_shape");
  if (to.of().folded_batchnorm || to.is_computed(w)) to.count_folded_batchnorm();
  const auto [n, c, h, width] = image_of(to, x.extents);
  const std::int64_t groups = to.of().integer("group", 1);
  const window by =
      window_of(to.of(), x.extents, dims(w.extents.begin() + 2, w.extents.end()), true);
  taps at = taps_of(by);
  const auto more = to.of().integers("output_padding");
  std::int64_t rows = more.size() < 2 ? 0 : more[more.size() - 2];
  std::int64_t columns = more.empty() ? 0 : more.back();
  balance(rows, at.pad.bottom, at.stride.v);
  balance(columns, at.pad.right, at.stride.h);
  const pads output{rows, rows, columns, columns};
  return to.append(
      with_depth(to, x, by,
                 op::deconv{n, c, h, width, to.plain(w.extents[1]) * groups, at.size.v, at.size.h,
                            at.stride, at.pad, output, at.dilation, groups, to.of().has_input(2)}),
      {x});
}

view pool_of(converter& to, const view& x, op::pool_kind kind, const window& by,
             bool count_padding) {
  const auto [n, c, h, w] = image_of(to, x.extents);
  const taps at = taps_of(by);
  const auto are = [](const dims& all, std::int64_t value) {
    return std::ranges::all_of(all, [&](std::int64_t one) { return one == value; });
  };
  const bool is_padded = !are(by.before, 0) || !are(by.after, 0);
  const bool is_view = are(by.size, 1) && are(by.stride, 1) && !is_padded;
  if (is_view) return x.viewed(to.extents());
  if (!are(by.dilation, 1)) throw unknown("with a dilation");
  op::pool created{kind, n, c, h, w, at.size.v, at.size.h, at.stride, at.pad};
  window floor = by;
  floor.ceil = false;
  for (std::size_t i = 0; i < by.size.size(); ++i) {
    const std::int64_t extent = x.extents[i + 2];
    created.ceil = created.ceil || by.outputs(i, extent) != floor.outputs(i, extent);
  }
  created.count_padding = kind == op::pool_kind::max || count_padding || !is_padded;
  return to.append(with_depth(to, x, by, created), {x});
}

view max_pool(converter& to) {
  const view& x = to.source(0);
  return pool_of(to, x, op::pool_kind::max,
                 window_of(to.of(), x.extents, to.of().integers("kernel_shape")), true);
}

view average_pool(converter& to) {
  const view& x = to.source(0);
  return pool_of(to, x, op::pool_kind::average,
                 window_of(to.of(), x.extents, to.of().integers("kernel_shape")),
                 to.of().integer("count_include_pad", 0) != 0);
}

/// A pool whose windows of this size do not overlap.
view pool_of(converter& to, const view& x, op::pool_kind kind, const dims& size,
             const dims& stride) {
  const dims none(size.size(), 0);
  return pool_of(to, x, kind, {size, stride, dims(size.size(), 1), none, none}, true);
}

/// Over all of an image.
view global_pool(converter& to, const view& x, op::pool_kind kind) {
  if (x.extents.size() < 3) {
    throw unknown(fmt::format("of a tensor with {} axes", x.extents.size()));
  }
  const dims size(x.extents.begin() + 2, x.extents.end());
  return pool_of(to, x, kind, size, dims(size.size(), 1));
}

view global_max_pool(converter& to) { return global_pool(to, to.source(0), op::pool_kind::max); }
view global_average_pool(converter& to) {
  return global_pool(to, to.source(0), op::pool_kind::average);
}

/// Window and stride of an adaptive pool along an axis.
std::pair<std::int64_t, std::int64_t> fixed_window(std::int64_t extent, std::int64_t outputs) {
  constexpr std::int64_t most = 4096;
  if (outputs < 1 || outputs > extent || (outputs > most && extent % outputs != 0)) {
    throw unknown(fmt::format("from {} to {}", extent, outputs));
  }
  if (extent % outputs == 0) return {extent / outputs, outputs == 1 ? 1 : extent / outputs};
  const auto begin = [&](std::int64_t i) { return i * extent / outputs; };
  const auto size = [&](std::int64_t i) {
    return ((i + 1) * extent + outputs - 1) / outputs - begin(i);
  };
  for (std::int64_t i = 1; i < outputs; ++i) {
    if (size(i) != size(0) || begin(i) - begin(i - 1) != begin(1)) {
      throw unknown(fmt::format("from {} to {}, with windows that differ", extent, outputs));
    }
  }
  return {size(0), begin(1)};
}

template <op::pool_kind Kind>
view adaptive_pool(converter& to) {
  const view& x = to.source(0);
  static_cast<void>(image_of(to, x.extents));
  if (to.extents().size() != x.extents.size()) throw bad_node("its result has other axes");
  dims size;
  dims stride;
  for (std::size_t i = 2; i < x.extents.size(); ++i) {
    const auto [taps, step] = fixed_window(x.extents[i], to.plain(to.extents()[i]));
    size.push_back(taps);
    stride.push_back(step);
  }
  return pool_of(to, x, Kind, size, stride);
}

/// A pool over rows or columns, or over all but the batch and one axis, the channels.
template <op::pool_kind Kind>
view reduce(converter& to) {
  const view& x = to.source(0);
  const std::size_t axes_count = x.extents.size();
  std::vector<std::size_t> over;
  for (const std::int64_t axis : to.listed("axes", 1)) {
    over.push_back(axis_of(axis, axes_count));
  }
  std::ranges::sort(over);
  if (axes_count == 4 && over.size() == 1 && over[0] >= 2) {
    dims size{1, 1};
    size[over[0] - 2] = to.plain(x.extents[over[0]]);
    return pool_of(to, x, Kind, size, {1, 1});
  }
  const bool leaves_channels =
      over.size() == axes_count - 2 &&
      (axes_count == 5 ? over.front() == 2
                       : (axes_count == 3 || axes_count == 4) && over.front() != 0);
  std::vector<std::size_t> order;
  std::int64_t rows = 1;
  for (std::size_t axis = 0; axis < axes_count; ++axis) {
    if (std::ranges::find(over, axis) != over.end()) continue;
    order.push_back(axis);
    rows *= x.extents[axis];
  }
  order.insert(order.end(), over.begin(), over.end());
  const view ordered = std::ranges::is_sorted(order) ? x : x.permuted(order);
  if (leaves_channels) return global_pool(to, ordered, Kind);
  if (over.empty() || over.front() == 0) throw unknown("over the batch");
  const std::int64_t columns = to.plain(elements(x.extents) / rows);
  return pool_of(to, to.seen_as(ordered, {rows, 1, 1, columns}), Kind, {1, columns}, {1, 1});
}

/// A sum or a norm over axes, which takes as long as the mean.
view reduce_sum(converter& to) {
  to.note(fmt::format("{} over axes is timed as a mean", to.of().kind()));
  return reduce<op::pool_kind::average>(to);
}

view batch_normalization(converter& to) {
  const view& x = to.source(0);
  dims extents = x.extents;
  if (extents.size() == 2) extents.insert(extents.end(), {1, 1});
  const auto [n, c, h, w] = image_of(to, extents);
  for (std::size_t i = 1; i < 3 && to.is_traced(); ++i) {
    if (to.of().has_input(i)) static_cast<void>(to.weight(i));
  }
  return to.append(
      op::batchnorm{n, c, h, w, epsilon_of(to.of()), to.of().has_input(1), to.of().has_input(2)},
      {x});
}

/// By any rule for the places of centres, which changes the weights alone.
view resample(converter& to) {
  const view& x = to.source(0);
  const auto [n, c, h, w] = image_of(to, x.extents);
  const dims& result = to.extents();
  const std::string_view mode = to.of().text("mode", "nearest");
  const bool bilinear = mode == "linear" || mode == "bilinear";
  if (!bilinear && mode != "nearest") throw unknown("in mode " + std::string(mode));
  if (result.size() != 4 || result[0] != x.extents[0] || result[1] != x.extents[1]) {
    throw unknown("over other than height and width");
  }
  const std::int64_t p = to.plain(result[2]);
  const std::int64_t q = to.plain(result[3]);
  if (!bilinear && (p % h != 0 || q % w != 0)) throw unknown("by a factor that is not whole");
  const auto kind = bilinear ? op::resample_kind::bilinear : op::resample_kind::nearest;
  return to.append(op::resample{kind, n, c, h, w, p, q}, {x});
}

view local_norm(converter& to) {
  const view& x = to.source(0);
  const auto [n, c, h, w] = image_of(to, x.extents);
  const auto number = [&](const char* key, double otherwise) {
    return shortest(to.of().number(key, otherwise));
  };
  return to.append(op::lrn{n, c, h, w, to.of().integer("size", 1), number("alpha", 1e-4),
                           number("beta", 0.75), number("bias", 1)},
                   {x});
}

// Products of matrices.

/// x times weights that are stored as [k, n], or as [n, k] with `turned`.
view matrix_product(converter& to, const view& x, std::int64_t k, std::int64_t n, bool turned,
                    bool bias) {
  const dims rows(x.extents.begin(), x.extents.end() - 1);
  const op::gemm created{elements(rows), to.plain(n), to.plain(k), 1, false, turned, bias};
  if (!x.order || !x.has_rows()) return to.append(created, {x});
  axes moved = *x.order;
  moved.back() = {{n, {1000}}};  // behind all others
  view y = to.append(created, {x.memory()}).laid_out(to.extents(), moved);
  y.turned_in = x.turned_in;
  return y;
}

/// The order of axes that exchanges the last two.
std::vector<std::size_t> last_two_swapped(std::size_t axes_count) {
  std::vector<std::size_t> order(axes_count);
  std::iota(order.begin(), order.end(), 0);
  std::swap(order[axes_count - 2], order[axes_count - 1]);
  return order;
}

/// Products of the last two axes of two activations.
view batched_product(converter& to, const view& x, const view& y) {
  const std::size_t axes_count = x.extents.size();
  const bool same = axes_count >= 3 && y.extents.size() == axes_count &&
                    std::equal(x.extents.begin(), x.extents.end() - 2, y.extents.begin());
  if (!same) throw unknown("of two activations whose batches differ");
  const std::int64_t batch = elements(dims(x.extents.begin(), x.extents.end() - 2));
  // A gemm of batch 1 has weights.
  if (batch == 1 || to.is_batch(batch)) throw unknown("of two activations, one per image");
  op::gemm created{x.extents[axes_count - 2], to.plain(y.extents.back()),
                   to.plain(x.extents.back()), batch};
  std::vector<view> operands;
  for (const auto& [value, flag] :
       {std::pair(&x, &op::gemm::a_transposed), std::pair(&y, &op::gemm::b_transposed)}) {
    const axes all = value->all_axes();
    const auto& rows = all[axes_count - 2];
    const auto& columns = all[axes_count - 1];
    const bool turned = value->order && !rows.empty() && !columns.empty() &&
                        in_memory({rows, columns}).back() == rows.back();
    created.*flag = turned;
    operands.push_back(turned ? value->permuted(last_two_swapped(axes_count)) : *value);
  }
  return to.append(created, operands);
}

bool is_letter(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; }

/// An activation in the order that an equation of one operand gives it: "bij->bji". Nothing for
/// other equations.
std::optional<view> reordered(converter& to, const std::string& from, const std::string& result) {
  const view& x = to.source(0);
  if (!std::ranges::all_of(from, is_letter) || from.size() != x.extents.size() ||
      std::set(from.begin(), from.end()).size() != from.size() ||
      !std::ranges::is_permutation(from, result)) {
    return std::nullopt;
  }
  std::vector<std::size_t> order;
  for (const char c : result) order.push_back(from.find(c));
  return x.permuted(order);
}

/// A product of two activations, or one in another order, written with a letter for each axis.
view einsum(converter& to) {
  const std::string equation(to.of().text("equation", ""));
  const std::size_t comma = equation.find(',');
  const std::size_t arrow = equation.find("->");
  const auto other_form = [&] { return unknown("in the form " + in_quotes(equation)); };
  if (to.of().inputs.size() == 1 && arrow != std::string::npos) {
    if (auto x = reordered(to, equation.substr(0, arrow), equation.substr(arrow + 2))) return *x;
    throw other_form();
  }
  if (to.of().inputs.size() != 2 || comma == std::string::npos || arrow == std::string::npos ||
      arrow < comma || std::ranges::count_if(equation, is_letter) + 3 != std::ssize(equation)) {
    throw other_form();
  }
  const std::string result = equation.substr(arrow + 2);
  const std::vector<std::string> axes{equation.substr(0, comma),
                                      equation.substr(comma + 1, arrow - comma - 1)};
  const auto has = [](const std::string& text, char c) { return text.find(c) != text.npos; };
  // The letters of both factors and the result, of one of both and the result, of both alone.
  std::string batch, rows, columns, summed;
  for (const char c : result) {
    (!has(axes[0], c) ? columns : has(axes[1], c) ? batch : rows) += c;
  }
  for (const char c : axes[0]) {
    if (!has(result, c)) summed += c;
  }
  std::map<char, std::int64_t> by_letter;
  const auto extents_of = [&](const std::string& letters) {
    dims all;
    for (const char c : letters) all.push_back(by_letter.at(c));
    return all;
  };
  /// A factor with the axes of the batch, then two that join the others.
  const auto ordered = [&](std::size_t i, const std::string& first, const std::string& second) {
    const view& x = to.source(i);
    const std::string as = batch + first + second;
    std::vector<std::size_t> order;
    for (const char c : as) order.push_back(axes[i].find(c));
    std::vector<std::size_t> sorted = order;
    std::ranges::sort(sorted);
    for (std::size_t axis = 0; axis < sorted.size(); ++axis) {
      if (sorted[axis] != axis || x.extents.size() != sorted.size()) {
        throw other_form();
      }
      by_letter[axes[i][axis]] = x.extents[axis];
    }
    dims joined = extents_of(batch);
    joined.push_back(elements(extents_of(first)));
    joined.push_back(elements(extents_of(second)));
    return to.seen_as(x.permuted(order), joined);
  };
  if (rows.empty() || columns.empty() || summed.empty()) throw other_form();
  const view x = ordered(0, rows, summed);
  const view y = ordered(1, summed, columns);
  const std::string computed = batch + rows + columns;
  const view z = batched_product(to, x, y).memory().viewed(extents_of(computed));
  std::vector<std::size_t> order;
  for (const char c : result) order.push_back(computed.find(c));
  return std::ranges::is_sorted(order) ? z : z.permuted(order);
}

view matmul(converter& to) {
  const view& x = to.source(0);
  const std::size_t second = weights_input(to.of());
  if (second != 1) note_quantization(to);
  if (to.input(second).is_data()) return batched_product(to, x, to.source(second));
  const view& w = to.weight(second);
  if (w.extents.size() != 2 || x.extents.size() < 2) {
    throw unknown("of other than a matrix and weights");
  }
  // PyTorch's exporters turn the weights of linear layers round.
  const bool turned = w.transposed || to.is_computed(w);
  return matrix_product(to, x, w.extents[0], w.extents[1], turned, to.of().op == composed_linear);
}

view gemm(converter& to) {
  const view& x = to.source(0);
  const view& w = to.input(1);
  if (w.is_data()) throw unknown("of two activations");
  if (to.of().integer("transA", 0) != 0) throw unknown("of a transposed activation");
  if (to.of().number("alpha", 1) != 1 || to.of().number("beta", 1) != 1) {
    throw unknown("with factors");
  }
  if (to.of().folded_batchnorm) to.count_folded_batchnorm();
  const bool turned = to.of().integer("transB", 0) != 0;
  const std::int64_t n = w.extents[turned ? 0 : 1];
  const bool bias = to.of().has_input(2);
  if (bias && elements(to.weight(2).extents) != n) throw unknown("with other than a bias");
  return matrix_product(to, x, x.extents[1], n, turned != w.transposed, bias);
}

view learned_rows(converter& to, const view& weight);

/// Of PyTorch, whose weights are stored as [n, k], and whose rows may have any axes.
view linear(converter& to) {
  view x = to.input(0);
  // Such as a table of positions, by which a network computes biases.
  if (x.from == source_kind::constant) x.from = source_kind::input;
  if (x.from == source_kind::weight) x = learned_rows(to, x);
  const view& w = to.weight(1);
  if (w.extents.size() != 2 || x.extents.size() < 2) {
    throw unknown("of other than a matrix and weights");
  }
  if (x.extents.back() != w.extents[1]) throw bad_node("its weight does not fit the tensor");
  return matrix_product(to, x, w.extents[1], w.extents[0], !w.transposed, to.of().has_input(2));
}

/// Rows of tokens times the weights of their experts, stored as [experts, n, k]: the products of
/// each token, or with scales their sum.
view routed_linear(converter& to) {
  const view& x = to.source(0);
  const dims& weights = to.weight(1).extents;
  const dims& result = to.extents();
  const bool scatter = to.of().has_input(2);
  const bool fits = weights.size() == 3 && x.extents.size() == 2 && result.size() == 2 &&
                    !x.order && (x.extents.back() == weights[2] || x.extents.back() == weights[1]);
  const std::int64_t top_k = to.of().integer("top_k", 1);
  const std::int64_t rows = fits ? std::max(x.extents[0], result[0]) : 0;
  if (!fits || top_k < 1 || rows % top_k != 0) throw bad_node("its weights do not fit the tensor");
  const op::routed_gemm created{.tokens = rows / top_k,
                                .experts = to.plain(weights[0]),
                                .top_k = to.plain(top_k),
                                .n = to.plain(result[1]),
                                .k = to.plain(x.extents.back()),
                                .gather = !scatter && x.extents[0] * top_k == rows,
                                .scatter = scatter};
  std::vector<view> operands{x};
  if (scatter) operands.push_back(to.source(2));
  return to.append(created, operands);
}

view topk(converter& to) {
  const view& x = to.source(0);
  const dims& result = to.extents();
  if (x.extents.size() < 2) throw unknown("of a vector");
  if (to.of().outputs.size() > 1) {
    to.set(1, view{source_kind::input, to.extents(1), to.extents(1)});
  }
  const std::int64_t columns = x.extents.back();
  return to.append(op::topk{elements(x.extents) / columns, to.plain(columns),
                            to.plain(result.back()), to.of().integer("normalized", 0) != 0},
                   {x});
}

/// Rows of a table.
view embedding(converter& to, const view& table) {
  view indices = to.input(1);
  if (indices.from == source_kind::constant) indices.from = source_kind::input;
  const std::size_t axis = axis_of(to.of().integer("axis", 0), table.extents.size());
  if (table.extents.size() != 2 || (axis != 0 && !to.is_traced())) {
    throw unknown("of weights that are no table");
  }
  if (indices.from == source_kind::weight) throw unknown("of a weight");
  if (table.extents[axis] > 1 << 24) throw unknown("with more than 2^24 rows");
  if (axis != 0) to.note("columns of a table at constant positions are timed as rows");
  return to.append(op::embedding{elements(indices.extents), to.plain(table.extents[axis]),
                                 to.plain(table.extents[1 - axis])},
                   {indices});
}

view slice_of(converter& to, view x, std::size_t axis, std::int64_t begin, std::int64_t size,
              const dims& result);

/// A copy of as many elements as `length` positions along an axis have, if it has as many.
view copy_of(converter& to, const view& x, std::size_t axis, std::int64_t length) {
  if (length < x.extents[axis]) return slice_of(to, x, axis, 0, length, to.extents());
  return to.append(op::slice{x.extents, {static_cast<std::int64_t>(axis)}, {0}, length}, {x})
      .viewed(to.extents());
}

/// Positions of an activation along an axis, in an order that is a constant.
view selection(converter& to, const view& x, std::size_t axis) {
  const std::int64_t others = elements(x.extents) / x.extents[axis];
  const std::int64_t count = elements(to.extents()) / others;
  if (count < 1 || count * others != elements(to.extents())) throw bad_node("its rows do not fit");
  to.note("a tensor at constant positions is timed as a copy of as many elements");
  if (count <= x.extents[axis]) return copy_of(to, x, axis, count);
  const dims none(x.extents.size(), 0);
  op::pad longer{x.extents, {none}, {none}};
  longer.after.sizes[axis] = count - x.extents[axis];
  return to.append(longer, {x}).viewed(to.extents());
}

/// Values at computed positions, of which there are no more along an axis than the tensor has.
view choice(converter& to) {
  const view& x = to.source(0);
  const std::int64_t count = elements(to.extents());
  for (std::size_t axis = x.extents.size(); axis-- > 1;) {
    const std::int64_t others = elements(x.extents) / x.extents[axis];
    const std::int64_t length = count / others;
    if (count % others != 0 || length > x.extents[axis]) continue;
    to.note("values at computed positions are timed as a copy of as many elements");
    return copy_of(to, x, axis, length);
  }
  throw unknown("from computed positions");
}

view expanded(const view& x, const dims& result);

/// A tensor of which numbers replace some elements.
view without_mask(converter& to) {
  const view& x = to.source(0);
  to.note("masks that replace values by a number are left out");
  return x.extents == to.extents() ? x : expanded(x, to.extents());
}

// Attention.

/// How often each head is repeated, where neighbours are; 1 where none is.
std::int64_t repeated_heads(const view& x) {
  if (!x.order) return 1;
  const auto& heads = x.order->at(x.order->size() - 3);
  const auto first = std::ranges::find_if(heads, &atom::repeats);
  const std::vector<atom> all = flat(*x.order);
  if (!std::ranges::all_of(first, heads.end(), &atom::repeats) ||
      std::ranges::count_if(all, &atom::repeats) != heads.end() - first) {
    throw unknown("of an expanded tensor");
  }
  std::int64_t product = 1;
  for (auto part = first; part != heads.end(); ++part) product *= part->size;
  return product;
}

enum class mask_kind { none, causal, learned, other };

/// What a constant mask hides: of q queries and k keys.
mask_kind mask_of(converter& to, std::size_t i, std::int64_t q, std::int64_t k) {
  if (!to.of().has_input(i)) return mask_kind::none;
  if (to.is_traced()) {  // which has computed it
    const std::string_view kind = to.of().text("mask", "");
    return kind == "causal"    ? mask_kind::causal
           : kind == "all"     ? mask_kind::none
           : kind == "learned" ? mask_kind::learned
                               : mask_kind::other;
  }
  const known& of = to.of_one_image(i);
  if (!of.data) return to.is_constant(i) ? mask_kind::learned : mask_kind::other;
  const bool is_boolean = of.type == element::boolean;
  const auto visible = [&](double value) { return is_boolean ? value != 0 : value > -1e4; };
  const std::vector<double>& all = of.data->values;
  const bool hides = !std::ranges::all_of(all, visible);
  const bool is_learned = to.is_initializer(i) && !is_boolean && all.size() > 1;
  if (!hides) return is_learned ? mask_kind::learned : mask_kind::none;
  const dims& extents = of.data->extents;
  if (static_cast<std::int64_t>(all.size()) != q * k || extents.size() < 2 || extents.back() != k ||
      q > k) {
    return mask_kind::other;
  }
  for (std::int64_t at = 0; at < q * k; ++at) {
    const bool expected = at % k <= at / k + k - q;
    if (visible(all[static_cast<std::size_t>(at)]) != expected) return mask_kind::other;
  }
  return mask_kind::causal;
}

/// The tensors have the order sequence, head, token; the op's have the heads of a token one behind
/// the other, as projections write them.
view attention_of(converter& to, std::vector<view> operands, bool causal) {
  const std::size_t axes_count = operands[0].extents.size();
  for (view& x : operands) {
    if (x.extents.size() == 3) x = to.seen_as(x, {x.extents[0], 1, x.extents[1], x.extents[2]});
    if (x.extents.size() < 4 || x.extents.size() != std::max<std::size_t>(4, axes_count)) {
      throw unknown(fmt::format("of tensors with {} axes", x.extents.size()));
    }
  }
  // Axes from the heads on; those before are sequences.
  const auto from_heads = [](const dims& of) { return dims(of.end() - 3, of.end()); };
  const dims whole = operands[0].extents;
  const dims query = from_heads(whole);
  const dims key = from_heads(operands[1].extents);
  const dims sequences(whole.begin(), whole.end() - 3);
  if (operands[2].extents.back() != key.back()) throw unknown("with values of another width");
  if (operands[2].extents != operands[1].extents || key.back() != query.back() ||
      !std::equal(sequences.begin(), sequences.end(), operands[1].extents.begin())) {
    throw unknown("of tensors whose sizes differ");
  }
  op::attention created{elements(sequences), to.plain(query[0]), to.plain(query[1]),
                        to.plain(key[1]), to.plain(query[2])};
  const mask_kind mask = mask_of(to, mask_input(to.of()), created.q, created.k);
  if (mask == mask_kind::learned) {
    throw unknown(to.is_traced() ? "with a learned mask" : "with a learned or large mask");
  }
  if (mask == mask_kind::other) {
    to.note(fmt::format("a mask of {} is left out", to.is_traced() ? to.of().call : "attention"));
  }
  if (to.is_traced() && causal && created.q != created.k) {
    throw unknown("causal, with other numbers of queries and keys");
  }
  created.causal = causal || mask == mask_kind::causal;
  const std::int64_t repeats = repeated_heads(operands[1]);
  if (repeated_heads(operands[0]) > 1 || repeated_heads(operands[2]) != repeats) {
    throw unknown("of an expanded tensor");
  }
  if (key[0] / repeats != created.heads) created.kv_heads = key[0] / repeats;
  const auto reads = model::detail::of_role(op::any(created), op::role::source);
  std::vector<std::size_t> order(whole.size());  // exchanges heads and tokens
  std::iota(order.begin(), order.end(), 0);
  std::swap(order[sequences.size()], order[sequences.size() + 1]);
  for (std::size_t i = 0; i < operands.size(); ++i) {
    operands[i] = to.seen_as(operands[i].without_repeats().permuted(order), reads[i].extents);
  }
  dims result = sequences;
  result.insert(result.end(), {query[1], query[0], query[2]});
  return to.append(created, operands).viewed(result).permuted(order);
}

/// Of MatMul, Softmax and MatMul.
view attention_in_steps(converter& to) {
  const view& key = to.source(1);
  const std::size_t axes_count = key.extents.size();
  if (axes_count < 2) throw unknown("of tensors with 1 axis");
  const std::vector<view> operands{to.source(0), key.permuted(last_two_swapped(axes_count)),
                                   to.source(2)};
  return attention_of(to, operands, false).viewed(to.extents());
}

/// Of opset 23.
view attention(converter& to) {
  if (to.of().has_input(4) || to.of().has_input(5)) throw unknown("with a cache");
  std::vector<view> operands{to.source(0), to.source(1), to.source(2)};
  if (to.is_traced()) {
    return attention_of(to, operands, to.of().integer("is_causal", 0) != 0).viewed(to.extents());
  }
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const dims& x = operands[i].extents;
    if (x.size() != 3) continue;
    const std::int64_t heads = to.of().integer(i == 0 ? "q_num_heads" : "kv_num_heads", 0);
    if (heads < 1 || x[2] % heads != 0) throw bad_node("its heads do not fit");
    operands[i] = operands[i].viewed({x[0], x[1], heads, x[2] / heads}).permuted({0, 2, 1, 3});
  }
  const double width = static_cast<double>(operands[0].extents.back());
  const attribute* scale = to.of().find("scale");
  if (scale != nullptr && std::abs(scale->f * std::sqrt(width) - 1) > 1e-3) {
    throw unknown("with another scale");
  }
  if (to.of().number("softcap", 0) != 0) throw unknown("with a softcap");
  const bool causal = to.of().integer("is_causal", 0) != 0;
  const view y = attention_of(to, operands, causal);
  return to.extents().size() == 4 ? y : y.permuted({0, 2, 1, 3}).viewed(to.extents());
}

view layer_norm(converter& to) {
  const view& x = to.source(0);
  const std::size_t axis = axis_of(to.of().integer("axis", -1), x.extents.size());
  if (axis == 0) throw unknown("over the batch");
  const bool is_rms = to.of().op == "RMSNormalization";
  const dims rows(x.extents.begin(), x.extents.begin() + static_cast<std::ptrdiff_t>(axis));
  const dims columns(x.extents.begin() + static_cast<std::ptrdiff_t>(axis), x.extents.end());
  dims extents = converter::element_extents(x);
  if (columns.size() > 1 || x.order || extents.back() != columns.back() ||
      (x.from != source_kind::layer && extents.size() > 3)) {
    extents = {elements(rows), elements(columns)};
  }
  // Where PyTorch's norm learns nothing, its exporter writes a scale of ones.
  const auto learns = [&](std::size_t i) {
    return to.of().has_input(i) && !to.is_computed(to.weight(i));
  };
  const op::layernorm created{extents, is_rms ? op::layernorm_kind::rms : op::layernorm_kind::layer,
                              epsilon_of(to.of()), learns(1), is_rms || learns(2)};
  if (x.order && columns.size() == 1 && x.has_rows()) {
    return to.append(created, {x.memory()}).laid_out(to.extents(), x);
  }
  return to.append(created, {x});
}

/// With a scale and a bias per channel, as in versions of ONNX from 21 on.
view group_norm(converter& to) {
  const view& x = to.source(0);
  const auto [n, c, h, w] = image_of(to, x.extents);
  const std::int64_t groups = to.of().integer("num_groups", 1);
  for (std::size_t i = 1; i < 3; ++i) {
    if (!to.of().has_input(i) || to.weight(i).extents != dims{c}) {
      throw unknown("without a scale and a bias per channel");
    }
  }
  if (groups < 1 || c % groups != 0) throw bad_node("its groups do not divide the channels");
  return to.append(op::groupnorm{n, c, h, w, groups, epsilon_of(to.of())}, {x});
}

/// Of tensors whose axes are sequence, head, token, or sequence, token, head; their values last.
view rotary(converter& to) {
  const view& x = to.source(0);
  const view& cosines = to.input(1);
  const view& sines = to.input(2);
  if (x.extents.size() != 4 || cosines.from != source_kind::constant ||
      sines.from != source_kind::constant) {
    throw unknown("of positions that are no constants");
  }
  const auto are = [&](const dims& extents) {
    const auto ends_so = [&](const dims& of) {
      return of.size() >= 3 && std::equal(extents.begin(), extents.end(), of.end() - 3);
    };
    return ends_so(cosines.extents) && ends_so(sines.extents);
  };
  // Of each row, or of half of it.
  const std::int64_t width = cosines.extents.empty() ? 0 : cosines.extents.back();
  const bool fits = width == x.extents[3] || width * 2 == x.extents[3];
  const bool heads_first = fits && are({1, x.extents[2], width});
  if (!heads_first && (!fits || !are({x.extents[1], 1, width}))) {
    throw unknown("of positions that heads do not share");
  }
  const std::vector<std::size_t> order =
      heads_first ? std::vector<std::size_t>{0, 2, 1, 3} : std::vector<std::size_t>{0, 1, 2, 3};
  const view tokens_first = x.permuted(order);
  const dims of = tokens_first.extents;
  const op::rotary created{of[0], to.plain(of[1]), to.plain(of[2]), to.plain(of[3])};
  const view read = to.seen_as(tokens_first, {of[0], of[1], checked_multiply(of[2], of[3])});
  return to.append(created, {read}).viewed(of).permuted(order);
}

// By element.

view activation_of(converter& to, op::activation_kind kind, const view& x) {
  return to.elementwise(op::activation{kind, {}}, x, name(kind));
}
view activation_of(converter& to, op::activation_kind kind) {
  return activation_of(to, kind, to.source(0));
}

/// An activation with a number that does not change its time.
view activation_near(converter& to, op::activation_kind kind, const char* key, double found,
                     double timed) {
  if (std::abs(found - timed) > 1e-6) {
    to.note(
        fmt::format("{} with {} {:.4g} is timed as with {}", to.of().kind(), key, found, timed));
  }
  return activation_of(to, kind);
}

template <op::activation_kind Kind>
view activation(converter& to) {
  return activation_of(to, Kind);
}

/// A sine or cosine, such as of the time step of a diffusion model.
view wave(converter& to) {
  to.note(to.of().kind() + " is timed as tanh");
  return activation_of(to, op::activation_kind::tanh);
}

view leaky_relu(converter& to) {
  return activation_near(to, op::activation_kind::leaky_relu, "alpha",
                         to.of().number("alpha", 0.01), 0.01);
}

view elu(converter& to) {
  return activation_near(to, op::activation_kind::elu, "alpha", to.of().number("alpha", 1), 1);
}

view hard_sigmoid(converter& to) {
  return activation_near(to, op::activation_kind::hardsigmoid, "alpha",
                         to.of().number("alpha", 0.2), 1.0 / 6);
}

view gelu(converter& to) {
  if (to.of().text("approximate", "none") != "none") to.note("gelu with tanh is timed as gelu");
  return activation_of(to, op::activation_kind::gelu);
}

view clip(converter& to) {
  const auto bound = [&](std::size_t i, const char* key) -> std::optional<double> {
    if (to.of().has_input(i)) {
      const auto found = to.number(i);
      return found ? found : throw unknown("with computed limits");
    }
    const attribute* found = to.of().find(key);
    return found == nullptr ? std::nullopt : std::optional(found->f);
  };
  const auto least = bound(1, "min");
  const auto most = bound(2, "max");
  if (least && !most) return activation_near(to, op::activation_kind::relu, "min", *least, 0);
  if (least != 0.0 || most != 6.0) {
    to.note(fmt::format("{} with limits {} and {} is timed as with 0 and 6", to.of().kind(),
                        least ? fmt::format("{:.4g}", *least) : "none",
                        most ? fmt::format("{:.4g}", *most) : "none"));
  }
  return activation_of(to, op::activation_kind::relu6);
}

view dropout(converter& to) {
  const view& x = to.source(0);
  const attribute* ratio = to.of().find("ratio");
  const double rate = ratio != nullptr ? ratio->f : to.number(1).value_or(0.5);
  if (std::isnan(rate) || rate < 0 || rate >= 1)
    throw unknown(fmt::format("with a rate of {}", rate));
  if (rate == 0) return x.viewed(to.extents());
  return to.elementwise(op::dropout{shortest(rate), {}}, x);
}

view softmax(converter& to) {
  view x = to.source(0);
  const bool flattens = to.opset() < 13;  // from the axis on
  std::size_t axis = axis_of(to.of().integer("axis", flattens ? 1 : -1), x.extents.size());
  if (flattens && axis + 1 != x.extents.size()) {
    const auto split = x.extents.begin() + static_cast<std::ptrdiff_t>(axis);
    x = to.seen_as(
        x, {elements(dims(x.extents.begin(), split)), elements(dims(split, x.extents.end()))});
    axis = 1;
  }
  const std::size_t last = x.extents.size() - 1;
  if (to.of().op == "LogSoftmax") to.note("log_softmax is timed as softmax");
  dims extents = converter::element_extents(x);
  // A matrix, where a layer wrote one: the loss of a training step replaces its softmax.
  if (axis == last && !x.order && x.written.size() == 2 && x.written.back() == x.extents.back()) {
    extents = x.written;
  }
  if (extents != x.extents) {
    if (axis == last && extents.back() == x.extents.back()) {
      axis = extents.size() - 1;
    } else {
      x = to.in_order(x, x.extents);
      extents = x.extents;
    }
  }
  if (axis < 1) throw unknown("over the batch");
  return to.append(op::softmax{extents, static_cast<std::int64_t>(axis)}, {x}).viewed(to.extents());
}

/// The extents of x of which y has the first one once, which holds `count` elements that may be
/// repeated; nothing where y is not repeated so.
std::optional<dims> repeated_rows(const converter& to, const dims& x, dims y, std::int64_t count) {
  while (!y.empty() && elements(y) != count) y.erase(y.begin());
  while (!y.empty() && y.front() == 1) y.erase(y.begin());
  const bool varies = std::ranges::any_of(y, [&](auto size) { return to.depends_on_batch(size); });
  if (y.empty() || x.size() <= y.size() || varies ||
      !std::equal(y.rbegin(), y.rend(), x.rbegin())) {
    return std::nullopt;
  }
  dims result{elements(dims(x.begin(), x.end() - static_cast<std::ptrdiff_t>(y.size())))};
  result.insert(result.end(), y.begin(), y.end());
  return result;
}

/// Extents of a layer that reads two tensors of the same shape by element.
dims common_extents(const view& x, const view& y) {
  for (const view* of : {&x, &y}) {
    if (!of->order && of->from == source_kind::layer && !reads_as(of->written, of->extents)) {
      return of->written;
    }
  }
  return x.extents;
}

/// Tensors that a layer combines by element. Rows in any order will not do beside axes in another
/// one.
std::vector<view> in_one_order(std::vector<view> all) {
  const auto is_like_first = [&](const view& x) { return x.extents == all[0].extents && !x.order; };
  if (std::ranges::all_of(all, is_like_first)) return all;
  for (view& x : all) x = x.ordered_for({});
  return all;
}

/// Adds a parameter, such as the embedding of positions.
view add_learned(converter& to, const view& x, const view& weight) {
  const std::int64_t count = elements(weight.written);
  if (weight.extents == x.extents && count == elements(x.extents)) {
    return to.append(op::add{x.extents, false, true}, {x});
  }
  const auto rows = repeated_rows(to, x.extents, weight.extents, count);
  if (!rows) throw unknown("of a weight that is repeated within an image");
  return to.append(op::add{*rows, true, true}, {x});
}

/// A view of these extents that repeats parts of a tensor.
view expanded(const view& x, const dims& result) {
  if (broadcast(x.extents, result) != result) throw unknown("");
  axes all = x.all_axes();
  const std::size_t added = result.size() - x.extents.size();
  all.insert(all.begin(), added, {});
  for (std::size_t i = 0; i < result.size(); ++i) {
    const std::int64_t before = i < added ? 1 : x.extents[i - added];
    if (before != result[i]) all[i] = {{result[i], {}}};
  }
  return x.laid_out(result, all);
}

/// A tensor with a number or another constant, which takes the place of one; nothing where the node
/// has none.
std::optional<view> with_constant(converter& to) {
  if (to.of().inputs.size() != 2) return std::nullopt;
  for (std::size_t i = 0; i < 2; ++i) {
    const view& constant = to.input(i);
    if (constant.from != source_kind::constant) continue;
    const bool is_weight = to.input(1 - i).from == source_kind::weight;
    const view x = is_weight ? learned_rows(to, to.input(1 - i)) : to.source(1 - i);
    if (elements(constant.extents) > 1) {
      to.note(fmt::format("{} with a constant tensor is timed as with a number", to.of().kind()));
    }
    if (x.extents == to.extents()) return activation_of(to, op::activation_kind::linear, x);
    return expanded(x, to.extents());
  }
  return std::nullopt;
}

/// The product of two tensors, of which one may have to be repeated to be as large as the result.
view multiply_two(converter& to, view x, view y) {
  if (x.extents != to.extents()) std::swap(x, y);
  if (x.extents != to.extents()) x = to.in_order(expanded(x, to.extents()), to.extents());
  const auto ordered = in_one_order({x, y});
  x = ordered[0];
  y = ordered[1];
  dims factors(x.extents.size() - y.extents.size(), 1);
  factors.insert(factors.end(), y.extents.begin(), y.extents.end());
  op::multiply created{x.extents, {}};
  if (factors == created.dims) {
    created.dims = common_extents(x, y);
  } else {
    created.dims1 = factors;
  }
  return to.append(created, {x, y});
}

view add_two(converter& to, view x, view y) {
  x = x.without_repeats();
  y = y.without_repeats();
  if (x.extents != y.extents) {
    if (x.extents != to.extents()) std::swap(x, y);
    const auto rows = repeated_rows(to, x.extents, y.extents, elements(y.extents));
    if (rows && x.extents == to.extents()) return to.append(op::add{*rows, true}, {x, y});
    to.note("a sum that repeats a tensor within an image is timed as a product");
    return multiply_two(to, x, y);
  }
  const auto ordered = in_one_order({x, y});
  x = ordered[0];
  y = ordered[1];
  const bool alike = x.order && y.order && reads_as(y.written, x.written) &&
                     order_of(*x.order) == order_of(*y.order);
  if (alike) {
    return to.append(op::add{x.written}, {x.memory(), y.memory()}).laid_out(to.extents(), x);
  }
  return to.append(op::add{common_extents(x, y)}, {x, y});
}

/// Of Add and of Sum, which has any number of operands.
view add(converter& to) {
  if (to.of().inputs.size() == 1) return to.source(0).viewed(to.extents());
  if (auto created = with_constant(to)) return *created;
  if (to.of().inputs.size() == 2) {
    for (std::size_t i = 0; i < 2; ++i) {
      const view& weight = to.input(i);
      if (weight.from == source_kind::weight) return add_learned(to, to.source(1 - i), weight);
    }
  }
  view sum = to.source(0);
  for (std::size_t i = 1; i < to.of().inputs.size(); ++i) sum = add_two(to, sum, to.source(i));
  return sum;
}

/// Multiplies by a parameter, such as the scale of a layer.
view multiply_learned(converter& to, const view& x, const view& weight) {
  if (x.extents != to.extents()) throw unknown("of a weight that is larger");
  const axes parts = x.all_axes();
  const std::size_t missing = parts.size() - weight.extents.size();
  const auto repeats = [&](const atom& part) {
    const auto has_part = [&](const auto& axis) {
      return std::ranges::find(axis, part) != axis.end();
    };
    const auto axis =
        static_cast<std::size_t>(std::ranges::find_if(parts, has_part) - parts.begin());
    if (axis == parts.size()) throw unknown("of a weight in another shape");
    return axis < missing || weight.extents[axis - missing] == 1;
  };
  op::multiply created{x.order ? x.written : converter::element_extents(x), {}, true};
  axes memory;
  for (const atom& part : in_memory(parts)) memory.push_back({part});
  // Whether the factor repeats along each axis as a whole, or not at all.
  const auto fits = [&] {
    const auto seen = axes_seen_as(memory, created.dims);
    created.dims1.clear();
    for (std::size_t i = 0; seen && i < seen->size(); ++i) {
      const auto repeated = std::ranges::count_if((*seen)[i], repeats);
      const auto count = static_cast<std::ptrdiff_t>((*seen)[i].size());
      if (repeated != 0 && repeated != count) return false;
      created.dims1.push_back(repeated == count ? 1 : created.dims[i]);
    }
    return seen.has_value();
  };
  if (!fits()) {
    created.dims = x.extents;
    if (x.order || !fits()) throw unknown("of a weight in another shape");
  }
  const view y = to.append(created, {x.order ? x.memory() : x});
  return x.order ? y.laid_out(to.extents(), x) : y;
}

view multiply(converter& to) {
  if (auto created = with_constant(to)) return *created;
  for (std::size_t i = 0; i < 2; ++i) {
    const view& weight = to.input(i);
    if (weight.from == source_kind::weight) return multiply_learned(to, to.source(1 - i), weight);
  }
  return multiply_two(to, to.source(0).without_repeats(), to.source(1).without_repeats());
}

// Parts and sums of tensors.

/// A parameter that each image gets, such as the class token, as a layer: the row of a table.
view learned_rows(converter& to, const view& weight) {
  const std::int64_t rows = weight.extents.front();
  const std::int64_t columns = elements(weight.written);
  if (!to.is_batch(rows)) throw unknown("of a weight");
  if (elements(weight.extents) != rows * columns) {
    to.note("a parameter that is repeated within an image is an embedding of single values");
    const std::int64_t count = elements(weight.extents);
    const view index{source_kind::input, {count}, {count}};
    return to.append(op::embedding{count, columns, 1}, {index}).memory().viewed(weight.extents);
  }
  to.note("a parameter that each image gets is an embedding of one row");
  const view index{source_kind::input, {rows}, {rows}};
  const std::string word = to.is_traced() ? to.word_of(weight) : std::string(op::embedding::name);
  return to.append(op::embedding{rows, 1, columns}, {index}, word).viewed(weight.extents);
}

view concat(converter& to) {
  std::vector<view> parts;
  for (std::size_t i = 0; i < to.of().inputs.size(); ++i) {
    if (to.is_empty(i)) continue;
    parts.push_back(to.input(i));
    if (parts.back().from == source_kind::constant) throw unknown("of a constant");
  }
  const std::size_t axis = axis_of(to.of().integer("axis", 1), to.extents().size());
  if (parts.empty()) throw unknown("of tensors without elements");
  if (parts.size() == 1) return parts[0].viewed(to.extents());
  if (axis == 0) throw unknown("along the batch");
  if (parts.size() > op::concat::max_sources) {
    throw unknown(fmt::format("of more than {} tensors", op::concat::max_sources));
  }
  for (view& part : parts) {
    if (part.from == source_kind::weight) part = learned_rows(to, part);
  }
  op::concat created{to.extents(), static_cast<std::int64_t>(axis), {}};
  const bool are_volumes =
      axis == 1 && std::ranges::all_of(parts, [](const view& part) {
        return part.extents.size() == 5 && part.written.size() == 4 && !part.order;
      });
  if (are_volumes) {
    for (view& part : parts) part = part.viewed(part.written);
    created.dims = parts[0].written;
    created.dims[axis] = to.extents()[axis];
  }
  parts = in_one_order(std::move(parts));
  for (const view& part : parts) {
    created.sizes.push_back(to.plain(part.extents[axis]));
  }
  return to.append(created, parts);
}

view pad(converter& to) {
  const view& x = to.source(0);
  if (to.of().text("mode", "constant") != "constant" || to.number(2).value_or(0) != 0 ||
      to.of().number("value", 0) != 0) {
    throw unknown("with other than zeros");
  }
  const std::vector<std::int64_t> sides = to.listed("pads", 1);
  std::vector<std::int64_t> over = to.listed("axes", 3);
  if (over.empty()) {
    over.resize(x.extents.size());
    std::iota(over.begin(), over.end(), 0);
  }
  if (std::ranges::any_of(sides, [](std::int64_t side) { return side < 0; })) {
    throw unknown("that cuts off");
  }
  op::pad created{x.extents, {dims(x.extents.size(), 0)}, {dims(x.extents.size(), 0)}};
  for (std::size_t i = 0; i < over.size(); ++i) {
    const std::size_t axis = axis_of(over[i], x.extents.size());
    created.before.sizes[axis] = sides[i];
    created.after.sizes[axis] = sides[i + over.size()];
  }
  if (to.extents() == x.extents) return x.viewed(to.extents());
  return to.append(created, {x});
}

/// A slice of a tensor whose axes are not those of its memory; nothing where that is no slice.
std::optional<view> slice_in_memory(converter& to, const view& x, std::size_t axis,
                                    std::int64_t begin, std::int64_t size, const dims& result) {
  axes all = x.all_axes();
  if (all[axis].size() != 1 || all[axis][0].repeats()) return std::nullopt;
  const atom cut = all[axis][0];
  std::int64_t before = 1;
  for (const atom& part : in_memory(all)) before *= part.key < cut.key ? part.size : 1;
  std::size_t at = 0;
  for (std::int64_t outer = 1; at < x.written.size() && outer != before; ++at) {
    outer *= x.written[at];
    if (outer > before) return std::nullopt;
  }
  if (at == x.written.size() || to.depends_on_batch(cut.size) || x.written[at] % cut.size != 0) {
    return std::nullopt;
  }
  const std::int64_t inner = to.plain(x.written[at] / cut.size);
  const view y = to.append(
      op::slice{x.written, {static_cast<std::int64_t>(at)}, {begin * inner}, size * inner},
      {x.memory()});
  all[axis].clear();
  if (size != 1) all[axis].push_back({size, cut.key});
  const auto seen = axes_seen_as(all, result);
  if (!seen) throw unknown("of a tensor in another shape");
  view part = y.laid_out(result, *seen);
  part.turned_in = x.turned_in;
  return part;
}

/// `size` positions of x along an axis, as a tensor of these extents; x itself where that is all.
view slice_of(converter& to, view x, std::size_t axis, std::int64_t begin, std::int64_t size,
              const dims& result) {
  if (size == x.extents[axis]) return to.seen_as(x, result);
  const bool split = x.from == source_kind::layer && !reads_as(x.written, x.extents) &&
                     op::transpose::are_parts(x.written, x.extents);
  if (x.order || x.steps_first || split) {
    if (auto found = slice_in_memory(to, x, axis, begin, size, result)) return *found;
    x = to.in_order(x, x.extents);
  }
  dims extents = x.extents;
  const bool steps_first =
      extents.size() == 3 && x.written == dims{extents[1], extents[0], extents[2]};
  if (steps_first) {  // of a recurrent layer
    extents = x.written;
    axis = axis < 2 ? 1 - axis : axis;
  }
  if (to.depends_on_batch(extents[axis])) throw unknown("along the batch");
  const view y =
      to.append(op::slice{extents, {static_cast<std::int64_t>(axis)}, {begin}, size}, {x});
  return y.viewed(result);
}

view slice(converter& to) {
  const view& x = to.source(0);
  const std::vector<std::int64_t> begins = to.listed("starts", 1);
  const std::vector<std::int64_t> over = to.listed("axes", 3);
  for (const std::int64_t step : to.listed("steps", 4)) {
    if (step != 1) throw unknown("with a step");
  }
  view y = x;
  for (std::size_t i = 0; i < begins.size(); ++i) {
    const std::size_t axis =
        axis_of(over.empty() ? static_cast<std::int64_t>(i) : over[i], x.extents.size());
    const std::int64_t extent = x.extents[axis];
    const std::int64_t begin =
        std::clamp<std::int64_t>(begins[i] < 0 ? begins[i] + extent : begins[i], 0, extent);
    dims result = y.extents;
    result[axis] = to.extents()[axis];
    if (result[axis] == 0) throw unknown("of a tensor without elements");
    y = slice_of(to, y, axis, begin, result[axis], result);
  }
  return y;
}

/// Of PyTorch: positions along an axis, or one of them, without that axis.
view part(converter& to) {
  view x = to.source(0);
  const dims& result = to.extents();
  std::size_t axis = axis_of(to.of().integer("axis", 0), x.extents.size());
  if (elements(x.extents) == elements(result)) return x.viewed(result);
  if (elements(result) == 0) return view{source_kind::constant, result, result};
  std::int64_t begin = to.of().integer("begin", 0);
  if (const std::int64_t step = to.of().integer("step", 1); step > 1) {
    const bool divides = begin >= 0 && begin < step && x.extents[axis] % step == 0 &&
                         result.size() == x.extents.size() &&
                         result[axis] == x.extents[axis] / step;
    if (!divides) throw unknown("with a step that does not divide the axis");
    dims split = x.extents;
    split[axis++] /= step;
    split.insert(split.begin() + static_cast<std::ptrdiff_t>(axis), step);
    x = to.seen_as(x, split);
  }
  const std::int64_t extent = x.extents[axis];
  const std::int64_t others = elements(x.extents) / extent;
  const std::int64_t size = elements(result) / others;
  if (begin < 0) begin = std::max<std::int64_t>(0, begin + to.plain(extent));
  const bool fits = size > 0 && size * others == elements(result) && begin <= extent - size;
  if (!fits) throw bad_node("does not have these positions");
  return slice_of(to, x, axis, begin, size, result);
}

/// Parts of a tensor with a step along some axes, joined: each result has all of a window.
view merge(converter& to) {
  const view& x = to.source(0);
  const dims steps = to.of().integers("steps");
  const dims inner = to.of().integers("order");  // axes with a step, the slowest first
  const std::size_t joined = axis_of(to.of().integer("axis", -1), steps.size());
  dims split;
  std::vector<std::size_t> outer(steps.size());
  std::vector<std::size_t> parts(steps.size());
  for (std::size_t axis = 0; axis < steps.size(); ++axis) {
    outer[axis] = split.size();
    split.push_back(x.extents[axis] / steps[axis]);
    parts[axis] = split.size();
    if (steps[axis] > 1) split.push_back(steps[axis]);
  }
  std::vector<std::size_t> order;
  for (std::size_t axis = 0; axis < steps.size(); ++axis) {
    for (std::size_t i = 0; axis == joined && i < inner.size(); ++i) {
      order.push_back(parts[static_cast<std::size_t>(inner[i])]);
    }
    order.push_back(outer[axis]);
  }
  return to.seen_as(x, split).permuted(order).viewed(to.extents());
}

/// Turned along axes. PyTorch copies the whole tensor for each of them.
view roll(converter& to) {
  view x = to.source(0);
  x = to.in_order(x, x.extents);
  const dims extents = converter::element_extents(x);
  dims order(extents.size());
  std::iota(order.begin(), order.end(), 0);
  to.note("roll is timed as a copy for each axis");
  for (std::int64_t i = to.of().integer("copies", 1); i > 0; --i) {
    x = to.append(op::transpose{extents, {}, {order}, {}}, {x}, "roll");
  }
  return x;
}

/// Rows of weights, or one position along an axis.
view gather(converter& to) {
  const view& x = to.input(0);
  if (x.from == source_kind::weight) return embedding(to, x);
  const view& from = to.source(0);
  const std::size_t axis = axis_of(to.of().integer("axis", 0), from.extents.size());
  if (to.is_traced() && to.input(1).from == source_kind::constant &&
      !to.depends_on_batch(from.extents[axis])) {
    return selection(to, from, axis);
  }
  const auto index = to.number(1);
  if (!index) throw unknown("from computed positions");
  const std::int64_t begin = whole_numbers({*index})[0];
  const std::int64_t extent = from.extents[axis];
  if (begin < -extent || begin >= extent) throw bad_node("reads outside of its tensor");
  return slice_of(to, from, axis, begin < 0 ? begin + extent : begin, 1, to.extents());
}

/// Sums, means or maxima of bags of rows, which have equal numbers of rows.
view embedding_bag(converter& to) {
  view rows = embedding(to, to.weight(0));
  if (to.extents().size() != 2 || to.extents()[0] < 1) throw bad_node("its result is no matrix");
  const std::int64_t bags = to.extents()[0];
  const std::int64_t indices = elements(to.input(1).extents);
  if (indices == bags) return rows;
  if (indices % bags != 0) throw unknown("of bags of different sizes");
  const std::string_view mode = to.of().text("mode", "sum");
  to.note("bags of rows are an embedding and a pool, the sum of a bag timed as a mean");
  const view bag = rows.viewed({bags, indices / bags, to.extents()[1]}).permuted({0, 2, 1});
  return global_pool(to, bag, mode == "max" ? op::pool_kind::max : op::pool_kind::average);
}

/// Each part that is read becomes a slice. Parts of weights are weights.
view split(converter& to) {
  const view& x = to.input(0);
  const bool unbinds = to.of().op == "Unbind";
  const std::size_t axis = axis_of(to.of().integer("axis", 0), x.extents.size());
  if (x.from == source_kind::weight) to.split_weights();
  std::int64_t begin = 0;
  std::vector<view> parts;
  for (std::size_t i = 0; i < to.of().outputs.size(); ++i) {
    const dims& part = to.extents(i);
    if (unbinds && elements(part) * x.extents[axis] != elements(x.extents)) {
      throw bad_node("its parts do not fit");
    }
    const std::int64_t size = unbinds ? 1 : part[axis];
    if (begin + size > x.extents[axis]) throw bad_node("has too many parts");
    view created{x.from == source_kind::weight ? source_kind::weight : source_kind::left_out, part,
                 part};
    if (created.from == source_kind::weight) {
      created.value = x.value;
    } else if (to.is_read(i) && elements(part) > 0) {
      created = slice_of(to, to.source(0), axis, begin, size, part);
    }
    begin += size;
    parts.push_back(created);
  }
  for (std::size_t i = 1; i < parts.size(); ++i) to.set(i, parts[i]);
  return parts[0];
}

view subtract(converter& to) {
  if (auto created = with_constant(to)) return *created;
  to.note("a difference is timed as a sum");
  return add(to);
}

view divide(converter& to) {
  if (auto created = with_constant(to)) return *created;
  to.note("a quotient is timed as a product");
  return multiply(to);
}

view negate(converter& to) { return activation_of(to, op::activation_kind::linear, to.source(0)); }

view power(converter& to) {
  const view& x = to.source(0);
  if (to.number(1) != 2.0) throw unknown("with another exponent than 2");
  return to.append(op::multiply{converter::element_extents(x), {}}, {x, x});
}

// Views.

view see(converter& to) {
  const view& x = to.input(0);
  if (elements(x.extents) != elements(to.extents())) throw unknown("");
  return to.seen_as(x, to.extents());
}

/// QuantizeLinear and DequantizeLinear: the numbers stay those that the integers stand for.
view quantization(converter& to) {
  const view& x = to.input(0);
  if (to.of().op == "DequantizeLinear" && x.is_data()) note_quantization(to);
  return to.seen_as(x, to.extents());
}

view cast(converter& to) {
  const view& x = to.input(0);
  if (to.is_traced() && x.type != to.type() &&
      (x.from == source_kind::layer || x.from == source_kind::left_out)) {
    throw unknown(fmt::format("to {}", to.of().text("to", "another type")));
  }
  if (is_integral(x.type) != is_integral(static_cast<int>(to.of().integer("to", 0))) &&
      x.from == source_kind::layer && !to.is_traced()) {
    throw unknown("between kinds of numbers");
  }
  return to.seen_as(x, to.extents());
}

view transpose(converter& to) {
  const view& x = to.input(0);
  std::vector<std::size_t> order;
  for (const std::int64_t axis : to.of().integers("perm")) {
    order.push_back(axis_of(axis, x.extents.size()));
  }
  for (std::size_t i = x.extents.size(); order.size() < x.extents.size();) order.push_back(--i);
  std::vector<std::size_t> left;
  for (const std::size_t axis : order) {
    if (x.extents[axis] != 1) left.push_back(axis);
  }
  if (std::ranges::is_sorted(left)) return to.seen_as(x, to.extents());
  if (x.from == source_kind::weight && x.extents.size() == 2) {
    view turned = x.viewed(to.extents());
    turned.transposed = !x.transposed;
    return turned;
  }
  if (!x.is_data()) throw unknown("of a weight");
  return to.source(0).permuted(order);
}

view expand(converter& to) {
  const view& x = to.input(0);
  const dims& result = to.extents();
  if (result == x.extents || !x.is_data()) return to.seen_as(x, result);
  if (elements(result) == elements(x.extents)) return to.seen_as(x, result);
  return expanded(x, result);
}

// Recurrent layers.

/// Whether the activations of a recurrent node are those of op::rnn, in each direction.
bool has_usual_activations(const node& of) {
  const attribute* found = of.find("activations");
  if (found == nullptr) return true;
  const std::vector<std::string> usual =
      of.op == "LSTM"  ? std::vector<std::string>{"Sigmoid", "Tanh", "Tanh"}
      : of.op == "GRU" ? std::vector<std::string>{"Sigmoid", "Tanh"}
                       : std::vector<std::string>{"Tanh"};
  for (std::size_t i = 0; i < found->strings.size(); ++i) {
    if (found->strings[i] != usual[i % usual.size()]) return false;
  }
  return true;
}

view recurrent(converter& to) {
  const view& x = to.source(0);
  const view& w = to.weight(1);
  const view& r = to.weight(2);
  const node& of = to.of();
  if (!of.has_input(3)) throw unknown("without biases");
  if (of.has_input(4) && to.input(4).from != source_kind::constant) throw unknown("of packed data");
  for (std::size_t i = 5; i < 7; ++i) {
    if (of.has_input(i) && to.input(i).from != source_kind::constant) {
      throw unknown("with an initial state");
    }
  }
  if (of.has_input(7)) throw unknown("with peepholes");
  if (of.find("clip") != nullptr || !has_usual_activations(of)) {
    throw unknown("with other activations");
  }
  if (of.op == "GRU" && of.integer("linear_before_reset", 0) == 0) {
    to.note("GRU with linear_before_reset 0 is timed as with 1");
  }
  const std::string_view direction = of.text("direction", "forward");
  const bool both = direction == "bidirectional";
  if (direction == "reverse") to.note("a reverse recurrent layer is timed as a forward one");
  const bool batch_first = of.integer("layout", 0) != 0;
  const std::int64_t ways = both ? 2 : 1;
  if (w.extents.size() != 3 || r.extents.size() != 3 || r.extents[0] != ways) {
    throw bad_node("its weights do not fit");
  }
  const std::int64_t hidden = r.extents[2];
  const std::string word = of.op == "LSTM" ? "lstm" : of.op == "GRU" ? "gru" : "rnn";
  const op::rnn_kind kind = of.op == "LSTM"  ? op::rnn_kind::lstm
                            : of.op == "GRU" ? op::rnn_kind::gru
                                             : op::rnn_kind::vanilla;
  const view ordered = batch_first ? x.permuted({1, 0, 2}) : x;
  const std::int64_t steps = to.plain(ordered.extents[0]);
  const std::int64_t batch = ordered.extents[1];
  // As in PyTorch with batch_first, sequences and steps may lie in either order.
  const view read = ordered.order && ordered.has_rows() ? ordered.memory() : ordered;
  view y = to.append(op::rnn{kind, batch, steps, to.plain(x.extents[2]), hidden, 1, both, 2},
                     {read}, direction == "reverse" ? "reverse_" + word : word);
  for (std::size_t i = 1; i < of.outputs.size(); ++i) {
    if (!to.is_read(i)) continue;
    const bool is_last_step = i == 1 && !both;
    to.set(i, is_last_step ? slice_of(to, y.memory(), 0, direction == "reverse" ? 0 : steps - 1, 1,
                                      to.extents(i))
                           : view{source_kind::state, to.extents(i), to.extents(i)});
  }
  y = y.viewed({steps, batch, ways, hidden});
  if (batch_first) return y.permuted({1, 0, 2, 3}).viewed(to.extents());
  return y.permuted({0, 2, 1, 3}).viewed(to.extents());
}

/// A call of PyTorch, which may have several layers. Its inputs are a sequence, weights and states.
view recurrent_call(converter& to) {
  const node& of = to.of();
  const view& x = to.source(0);
  const auto weights = static_cast<std::size_t>(of.integer("weights", 0));
  const std::int64_t depth = of.integer("layers", 1);
  const bool both = of.integer("bidirectional", 0) != 0;
  const bool batch_first = of.integer("batch_first", 0) != 0;
  for (std::size_t i = 1; i < of.inputs.size(); ++i) {
    const bool is_weight = to.input(i).from == source_kind::weight && !to.input(i).extents.empty();
    if (i <= weights && !is_weight) throw unknown("its weights are computed");
    if (i > weights && to.input(i).from != source_kind::constant) {
      throw unknown("with an initial state");
    }
  }
  if (x.extents.size() != 3) throw unknown("of packed data");
  const std::int64_t hidden = to.plain(to.input(2).extents.back());
  const std::int64_t steps = to.plain(x.extents[batch_first ? 1 : 0]);
  const std::int64_t batch = x.extents[batch_first ? 0 : 1];
  std::int64_t inputs = to.plain(x.extents[2]);
  const std::int64_t width = hidden * (both ? 2 : 1);
  const bool turns =
      batch_first && (x.order || (x.from == source_kind::layer &&
                                  !model::detail::connects(x.written, {steps, batch, inputs})));
  view y = turns ? x.permuted({1, 0, 2}) : x;
  const op::rnn_kind kind = of.call == "lstm"  ? op::rnn_kind::lstm
                            : of.call == "gru" ? op::rnn_kind::gru
                                               : op::rnn_kind::vanilla;
  const std::int64_t first = inputs == width ? depth : 1;
  for (const std::int64_t layers : {first, depth - first}) {
    if (layers == 0) continue;
    y = to.append(op::rnn{kind, batch, steps, inputs, hidden, layers, both, 2}, {y}, of.call);
    inputs = width;
  }
  for (std::size_t i = 1; i < of.outputs.size(); ++i) {
    const bool is_last_step = i == 1 && depth == 1 && !both;
    view state{source_kind::state, to.extents(i), to.extents(i)};
    if (is_last_step && to.is_read(i)) {
      state = slice_of(to, y.memory(), 0, steps - 1, 1, to.extents(i));
    }
    to.set(i, state);
  }
  y = y.viewed(to.extents());
  if (batch_first) {
    const axes parts = axes_of(y.written);
    y.steps_first = axes{parts[1], parts[0], parts[2]};
  }
  return y;
}

const std::unordered_map<std::string_view, rule> rules{
    {"Conv", conv},
    {"QLinearConv", conv},
    {"ConvTranspose", conv_transpose},
    {"MaxPool", max_pool},
    {"AveragePool", average_pool},
    {"GlobalMaxPool", global_max_pool},
    {"GlobalAveragePool", global_average_pool},
    {"AdaptiveAveragePool", adaptive_pool<op::pool_kind::average>},
    {"AdaptiveMaxPool", adaptive_pool<op::pool_kind::max>},
    {"ReduceMean", reduce<op::pool_kind::average>},
    {"ReduceMax", reduce<op::pool_kind::max>},
    {"ReduceSum", reduce_sum},
    {"ReduceL2", reduce_sum},
    {"BatchNormalization", batch_normalization},
    {"LRN", local_norm},
    {"Resize", resample},
    {"Upsample", resample},
    {"MatMul", matmul},
    {"Einsum", einsum},
    {"QLinearMatMul", matmul},
    {composed_linear, matmul},
    {"Gemm", gemm},
    {"Linear", linear},
    {composed_attention, attention_in_steps},
    {"Attention", attention},
    {"LayerNormalization", layer_norm},
    {"GroupNormalization", group_norm},
    {"RMSNormalization", layer_norm},
    {"Rotary", rotary},
    {"Relu", activation<op::activation_kind::relu>},
    {"Sigmoid", activation<op::activation_kind::sigmoid>},
    {"Tanh", activation<op::activation_kind::tanh>},
    {"Swish", activation<op::activation_kind::swish>},
    {"HardSwish", activation<op::activation_kind::hardswish>},
    {"HardSigmoid", hard_sigmoid},
    {"Sin", wave},
    {"Cos", wave},
    {"LeakyRelu", leaky_relu},
    {"Elu", elu},
    {"Gelu", gelu},
    {"Clip", clip},
    {"Dropout", dropout},
    {"Softmax", softmax},
    {"LogSoftmax", softmax},
    {"TopK", topk},
    {"RoutedLinear", routed_linear},
    {"Choice", choice},
    {"Mask", without_mask},
    {"Add", add},
    {"Sum", add},
    {"Mul", multiply},
    {"Sub", subtract},
    {"Div", divide},
    {"Neg", negate},
    {"Pow", power},
    {"Concat", concat},
    {"Pad", pad},
    {"Slice", slice},
    {"Part", part},
    {"Merge", merge},
    {"Roll", roll},
    {"Gather", gather},
    {"EmbeddingBag", embedding_bag},
    {"Split", split},
    {"Unbind", split},
    {"View", see},
    {"Identity", see},
    {"Reshape", see},
    {"Flatten", see},
    {"Squeeze", see},
    {"Unsqueeze", see},
    {"Cast", cast},
    {"QuantizeLinear", quantization},
    {"DequantizeLinear", quantization},
    {"Transpose", transpose},
    {"Expand", expand},
    {"LSTM", recurrent},
    {"GRU", recurrent},
    {"RNN", recurrent},
    {"Recurrent", recurrent_call}};

}  // namespace

rule rule_of(std::string_view op) {
  const auto found = rules.find(op);
  return found == rules.end() ? nullptr : found->second;
}

}  // namespace layerbench::tool::importer
