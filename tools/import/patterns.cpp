// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include "patterns.hpp"

#include <cmath>
#include <numbers>
#include <utility>

namespace layerbench::tool::importer {
namespace {

/// Whether a constant, of which bf16 keeps 8 bits, is b.
bool near(double a, double b) { return std::abs(a - b) <= 0x1p-7 * std::abs(b); }

/// A product: its constant factors together, and the others.
struct product {
  double constant = 1;
  std::vector<std::size_t> factors = {};
};

class matcher {
 public:
  matcher(const graph& g, const std::vector<known>& values)
      : graph_(g),
        values_(values),
        constants_(constants_of(g, values)),
        writers_(g.values.size(), no_value),
        readers_(g.values.size(), 0) {
    for (std::size_t i = 0; i < g.nodes.size(); ++i) {
      for (const std::size_t output : g.nodes[i].outputs) writers_[output] = i;
      for (const std::size_t input : g.nodes[i].inputs) {
        if (input != no_value) ++readers_[input];
      }
    }
    for (const std::size_t output : g.outputs) ++readers_[output];
  }

  /// The node of an ONNX op that computes what `root` and nodes before it do.
  [[nodiscard]] std::optional<node> match(const node& root) const {
    if (root.outputs.size() != 1 || root.inputs.size() < 2) return std::nullopt;
    if (root.op == "Concat" && graph_.is_traced) {
      const auto turned = rotary_of_parts(root);
      return turned ? turned : merged(root);
    }
    const bool joins = !graph_.is_traced;  // what ops compute alone, too
    if (root.op == "MatMul") return joins ? attention(root) : std::nullopt;
    std::optional<node> found;
    if (root.op == "Add" || root.op == "Mul" || root.op == "Div") found = norm(root);
    if (!found && (root.op == "Mul" || root.op == "Div")) found = activation(root);
    if (!found && root.op == "Add" && joins) found = linear(root);
    if (!found && root.op == "Add" && joins) found = batchnorm(root);
    if (!found && root.op == "Add") found = biased(root);
    if (!found && root.op == "Add") found = rotary(root);
    if (!found && root.op == "Div") found = local_norm(root);
    if (!found && root.op == "Div") found = normalized_rows(root);
    if (!found && root.op == "Div") found = normalized_topk(root);
    return found;
  }

 private:
  // Access.

  /// The node that writes a value, casts of floating-point numbers left out.
  [[nodiscard]] const node* writer(std::size_t value) const {
    value = source(value);
    return value == no_value || writers_[value] == no_value ? nullptr
                                                            : &graph_.nodes[writers_[value]];
  }
  [[nodiscard]] const node* writer(std::size_t value, std::string_view op) const {
    const node* found = writer(value);
    return found != nullptr && found->op == op ? found : nullptr;
  }
  /// The value that nodes without arithmetic copy.
  [[nodiscard]] std::size_t source(std::size_t value) const {
    for (int depth = 0; depth < 8 && value != no_value && writers_[value] != no_value; ++depth) {
      const node& by = graph_.nodes[writers_[value]];
      const bool copies = (by.op == "Cast" && !is_integral(values_[value].type)) ||
                          by.op == "Identity" || by.op == "Dropout";
      if (!copies || !by.has_input(0)) break;
      value = by.input(0);
    }
    return value;
  }
  /// A constant that is one number.
  [[nodiscard]] std::optional<double> number(std::size_t value) const {
    if (value == no_value || !values_[value].data) return std::nullopt;
    const std::vector<double>& all = values_[value].data->values;
    return all.size() == 1 ? std::optional(all[0]) : std::nullopt;
  }
  [[nodiscard]] bool is(std::size_t value, double expected) const {
    const auto found = number(value);
    return found && near(*found, expected);
  }
  /// The operand of a sum with this number; no_value if it is none.
  [[nodiscard]] std::size_t added_to(std::size_t sum, double expected) const {
    const node* add = writer(sum, "Add");
    if (add == nullptr || add->inputs.size() != 2) return no_value;
    if (is(add->input(1), expected)) return source(add->input(0));
    return is(add->input(0), expected) ? source(add->input(1)) : no_value;
  }
  [[nodiscard]] product product_of(std::size_t value, int depth = 0) const {
    product result;
    const node* by = depth < 4 ? writer(value) : nullptr;
    const bool divides = by != nullptr && by->op == "Div" && by->inputs.size() == 2 &&
                         number(by->input(1)).value_or(0) != 0;
    if (const auto constant = number(value)) {
      result.constant = *constant;
    } else if (divides) {
      result = product_of(by->input(0), depth + 1);
      result.constant /= *number(by->input(1));
    } else if (by != nullptr && by->op == "Mul") {
      for (const std::size_t input : by->inputs) {
        const product part = product_of(input, depth + 1);
        result.constant *= part.constant;
        result.factors.insert(result.factors.end(), part.factors.begin(), part.factors.end());
      }
    } else {
      result.factors.push_back(source(value));
    }
    return result;
  }
  /// A tensor times a number.
  [[nodiscard]] std::optional<std::pair<std::size_t, double>> scaled(std::size_t value) const {
    const product found = product_of(value);
    if (found.factors.size() != 1 || found.factors[0] == no_value) return std::nullopt;
    return std::pair(found.factors[0], found.constant);
  }
  [[nodiscard]] static node created(const node& root, const char* op,
                                    std::vector<std::size_t> inputs) {
    node result = root;
    result.op = op;
    result.domain.clear();
    result.inputs = std::move(inputs);
    result.attributes.clear();
    result.note.clear();
    return result;
  }

  // Activations.

  [[nodiscard]] std::optional<node> activation(const node& root) const {
    const product found = product_of(root.outputs[0]);
    if (std::ranges::count(found.factors, no_value) > 0) return std::nullopt;
    if (found.factors.size() == 1 && near(found.constant, 1.0 / 6)) {
      const std::size_t x = shifted_clip(found.factors[0]);
      return x == no_value ? std::nullopt : std::optional(hard_sigmoid(root, x));
    }
    if (found.factors.size() != 2) return std::nullopt;
    for (std::size_t i = 0; i < 2; ++i) {
      const std::size_t x = found.factors[i];
      const std::size_t other = found.factors[1 - i];
      const node* by = writer(other);
      if (near(found.constant, 0.5)) {
        if (auto gelu = gelu_of(root, x, other)) return gelu;
      } else if (near(found.constant, 1.0 / 6) && shifted_clip(other) == x) {
        return created(root, "HardSwish", {x});
      } else if (!graph_.is_traced && near(found.constant, 1) && by != nullptr &&
                 by->has_input(0) && source(by->input(0)) == x) {
        if (by->op == "Sigmoid") return created(root, "Swish", {x});
        if (by->op == "HardSigmoid" && near(by->number("alpha", 0.2), 1.0 / 6)) {
          return created(root, "HardSwish", {x});
        }
      }
    }
    return std::nullopt;
  }

  [[nodiscard]] static node hard_sigmoid(const node& root, std::size_t x) {
    node result = created(root, "HardSigmoid", {x});
    result.attributes.push_back({.name = "alpha", .f = 1.0 / 6});
    return result;
  }

  /// x of Clip(x + 3, 0, 6).
  [[nodiscard]] std::size_t shifted_clip(std::size_t value) const {
    const node* clip = writer(value, "Clip");
    if (clip == nullptr) return no_value;
    const double least =
        clip->has_input(1) ? number(clip->input(1)).value_or(-1) : clip->number("min", -1);
    const double most =
        clip->has_input(2) ? number(clip->input(2)).value_or(-1) : clip->number("max", -1);
    return least == 0 && most == 6 ? added_to(clip->input(0), 3) : no_value;
  }

  /// x * (1 + erf(x / sqrt 2)) / 2, or 1 + tanh(sqrt(2 / pi) * ...), which approximates it
  /// (Hendrycks and Gimpel 2016).
  [[nodiscard]] std::optional<node> gelu_of(const node& root, std::size_t x,
                                            std::size_t other) const {
    const std::size_t inner = added_to(other, 1);
    const node* by = inner == no_value ? nullptr : writer(inner);
    if (by == nullptr || !by->has_input(0)) return std::nullopt;
    const product argument = product_of(by->input(0));
    const bool is_erf = by->op == "Erf" && near(argument.constant, 1 / std::numbers::sqrt2) &&
                        argument.factors == std::vector{x};
    const bool is_tanh = by->op == "Tanh" && !argument.factors.empty() &&
                         near(argument.constant, std::sqrt(2 * std::numbers::inv_pi));
    if (!is_erf && !is_tanh) return std::nullopt;
    node result = created(root, "Gelu", {x});
    result.attributes.push_back({.name = "approximate", .s = is_erf ? "none" : "tanh"});
    return result;
  }

  // Layer norm and RMS norm.

  struct normalized {
    std::size_t x;
    bool is_rms;
    double epsilon;
  };

  /// The tensor of which `value` is the mean over the last axis.
  [[nodiscard]] std::size_t mean_of(std::size_t value) const {
    const node* by = writer(value, "ReduceMean");
    if (by == nullptr || !by->has_input(0) || !values_[by->input(0)].extents) return no_value;
    std::vector<std::int64_t> axes = by->integers("axes");
    if (axes.empty() && by->has_input(1) && values_[by->input(1)].data) {
      axes = whole_numbers(values_[by->input(1)].data->values);
    }
    const auto last = static_cast<std::int64_t>(values_[by->input(0)].extents->size()) - 1;
    const bool over_last = axes.size() == 1 && (axes[0] == -1 || axes[0] == last);
    return over_last && by->integer("keepdims", 1) != 0 ? source(by->input(0)) : no_value;
  }

  /// x of x * x, written as a product or a power.
  [[nodiscard]] std::size_t square_of(std::size_t value) const {
    const node* by = value == no_value ? nullptr : writer(value);
    if (by == nullptr || by->inputs.size() != 2) return no_value;
    const std::size_t x = source(by->input(0));
    if (by->op == "Pow") return is(by->input(1), 2) ? x : no_value;
    return by->op == "Mul" && source(by->input(1)) == x ? x : no_value;
  }

  /// d / sqrt(mean(d^2) + epsilon), where d is x or x - mean(x).
  [[nodiscard]] std::optional<normalized> normalized_by(const node& by) const {
    if (by.inputs.size() != 2) return std::nullopt;
    const std::size_t d = source(by.input(0));
    if (d == no_value) return std::nullopt;
    const node* root = writer(by.input(1), "Sqrt");
    if (by.op == "Mul" && writer(by.input(1), "Rsqrt") != nullptr) {
      root = writer(by.input(1), "Rsqrt");
    } else if (by.op == "Mul") {
      const node* inverse = writer(by.input(1), "Reciprocal");
      root = inverse == nullptr ? nullptr : writer(inverse->input(0), "Sqrt");
    } else if (by.op != "Div") {
      return std::nullopt;
    }
    const node* sum = root == nullptr ? nullptr : writer(root->input(0), "Add");
    if (sum == nullptr || sum->inputs.size() != 2) return std::nullopt;
    const bool last = number(sum->input(1)).has_value();
    const auto epsilon = number(sum->input(last ? 1 : 0));
    if (!epsilon || square_of(mean_of(sum->input(last ? 0 : 1))) != d) return std::nullopt;
    const node* centred = writer(d, "Sub");
    if (centred == nullptr) return normalized{d, true, *epsilon};
    const std::size_t x = source(centred->input(0));
    if (mean_of(centred->input(1)) != x) return normalized{d, true, *epsilon};
    return normalized{x, false, *epsilon};
  }

  /// A normalization, with what is learned of it.
  [[nodiscard]] std::optional<node> norm(const node& root) const {
    const node* by = &root;
    std::size_t bias = no_value;
    std::size_t scale = no_value;
    const auto peel = [&](const char* op, std::size_t& learned) {
      if (by == nullptr || by->op != op || by->inputs.size() != 2) return;
      for (std::size_t i = 0; i < 2; ++i) {
        if (!is_learned(by->input(i))) continue;
        learned = by->input(i);
        by = writer(by->input(1 - i));
        return;
      }
    };
    peel("Add", bias);
    peel("Mul", scale);
    const auto found = by == nullptr ? std::nullopt : normalized_by(*by);
    if (!found || (bias != no_value && (scale == no_value || found->is_rms))) return std::nullopt;
    node result = created(root, found->is_rms ? "RMSNormalization" : "LayerNormalization",
                          {found->x, scale, bias});
    result.attributes.push_back({.name = "axis", .i = -1});
    result.attributes.push_back({.name = "epsilon", .f = found->epsilon});
    return result;
  }

  [[nodiscard]] bool is_learned(std::size_t value) const {
    if (value == no_value) return false;
    const known& of = values_[value];
    return constants_[value] && of.extents && of.extents->size() == 1 && !is_integral(of.type);
  }

  /// A batch norm with its scale and shift in separate nodes, as models of Caffe have them.
  [[nodiscard]] std::optional<node> batchnorm(const node& root) const {
    const node* by = &root;
    for (const char* op : {"Add", "Mul"}) {
      if (by == nullptr || by->op != op || by->inputs.size() != 2) return std::nullopt;
      if (!by->has_input(0) || !by->has_input(1)) return std::nullopt;
      const std::size_t x = constants_[by->input(1)] ? 0 : 1;
      const bool by_channel = is_by_channel(by->input(x), by->input(1 - x));
      by = by_channel ? writer(by->input(x)) : nullptr;
    }
    if (by == nullptr || by->op != "BatchNormalization") return std::nullopt;
    node result = *by;
    result.outputs = root.outputs;
    return result;
  }

  /// Whether a constant has a number for each channel of an image.
  [[nodiscard]] bool is_by_channel(std::size_t of_image, std::size_t of_constant) const {
    const auto& image = values_[of_image].extents;
    const auto& found = values_[of_constant].extents;
    if (!image || image->size() < 3 || !found || !constants_[of_constant]) return false;
    const std::size_t missing = image->size() - std::min(image->size(), found->size());
    return missing < 2 && found->size() <= image->size() && (*found)[1 - missing] == (*image)[1] &&
           elements(*found) == (*image)[1] && !is_integral(values_[of_constant].type);
  }

  /// A convolution or Gemm to which a node of its own adds the bias.
  [[nodiscard]] std::optional<node> biased(const node& root) const {
    for (std::size_t i = 0; i < 2; ++i) {
      const std::size_t sum = root.input(1 - i);
      const std::size_t bias = root.input(i);
      const node* by = sum == no_value || bias == no_value ? nullptr : writer(sum);
      if (by == nullptr || !by->has_input(1) || by->has_input(2) || !is_read_once(sum, *by))
        continue;
      const bool convolves = by->op == "Conv" || by->op == "ConvTranspose";
      const bool fits =
          convolves ? is_by_channel(by->outputs[0], bias)
                    : by->op == "Gemm" && !graph_.is_traced && is_by_column(by->outputs[0], bias);
      if (!by->is_standard() || !fits || !by->refusal.empty()) continue;
      node result = *by;
      result.inputs = {by->input(0), by->input(1), bias};
      result.outputs = root.outputs;
      if (graph_.is_traced) {
        result.note = "a parameter that is added per channel is the bias of the layer before";
      }
      return result;
    }
    return std::nullopt;
  }

  /// Whether a constant has a number for each column of a product.
  [[nodiscard]] bool is_by_column(std::size_t of_product, std::size_t of_constant) const {
    const auto& product = values_[of_product].extents;
    const auto& found = values_[of_constant].extents;
    return product && !product->empty() && found && !found->empty() && constants_[of_constant] &&
           found->size() <= product->size() && found->back() == product->back() &&
           elements(*found) == found->back() && !is_integral(values_[of_constant].type);
  }

  /// Whether nothing else reads what a node writes, or copies of it up to `last`.
  [[nodiscard]] bool is_read_once(std::size_t last, const node& by) const {
    return readers_[last] == 1 && readers_[by.outputs[0]] == 1;
  }

  // Formulas of PyTorch's calls.

  /// The node that writes a value, views of it left out.
  [[nodiscard]] const node* writer_of_view(std::size_t value, std::string_view op) const {
    for (int depth = 0; depth < 4; ++depth) {
      const node* by = writer(value, "View");
      if (by == nullptr || !by->has_input(0)) break;
      value = by->input(0);
    }
    return writer(value, op);
  }

  /// The node that an operand of another one is computed by, and a number beside that operand.
  struct with_number {
    const node* of = nullptr;
    double value = 0;
  };
  [[nodiscard]] with_number with_number_of(std::size_t value, std::string_view op) const {
    const node* by = writer(value, op);
    const auto found =
        by == nullptr || by->inputs.size() != 2 ? std::nullopt : number(by->input(1));
    return found ? with_number{by, *found} : with_number{};
  }

  /// x / (k + alpha * mean of squares over channels) ^ beta, as local_response_norm computes it.
  [[nodiscard]] std::optional<node> local_norm(const node& root) const {
    if (!graph_.is_traced) return std::nullopt;
    const auto power = with_number_of(root.input(1), "Pow");
    const auto sum = power.of == nullptr ? power : with_number_of(power.of->input(0), "Add");
    const auto scaled = sum.of == nullptr ? sum : with_number_of(sum.of->input(0), "Mul");
    if (scaled.of == nullptr) return std::nullopt;
    const node* pool = writer_of_view(scaled.of->input(0), "AveragePool");
    const node* padded = pool == nullptr ? nullptr : writer_of_view(pool->input(0), "Pad");
    const node* square = padded == nullptr ? nullptr : writer_of_view(padded->input(0), "Mul");
    const bool same = square != nullptr && square->inputs.size() == 2 &&
                      square->input(0) == root.input(0) && square->input(1) == root.input(0);
    const dims window = pool == nullptr ? dims{} : pool->integers("kernel_shape");
    if (!same || window.empty()) return std::nullopt;
    node result = created(root, "LRN", {root.input(0)});
    result.attributes = {{.name = "size", .i = window[0]},
                         {.name = "alpha", .f = scaled.value},
                         {.name = "beta", .f = power.value},
                         {.name = "bias", .f = sum.value}};
    if (window[0] % 2 == 0) result.refusal = "over an even number of channels";
    if (scaled.value <= 0 || power.value <= 0 || sum.value <= 0) {
      result.refusal = "with an alpha, beta or k that is not above 0";
    }
    return result;
  }

  /// x / max(norm of its rows, epsilon), as F.normalize computes it.
  [[nodiscard]] std::optional<node> normalized_rows(const node& root) const {
    const node* by = graph_.is_traced ? writer(root.input(1), "Expand") : nullptr;
    by = by == nullptr ? nullptr : writer(by->input(0), "Clip");
    const double epsilon = by == nullptr ? 0 : by->number("min", 0);
    by = by == nullptr ? nullptr : writer(by->input(0), "ReduceL2");
    if (by == nullptr || epsilon <= 0 || !by->refusal.empty()) return std::nullopt;
    const auto last = static_cast<std::int64_t>(values_[by->input(0)].extents->size()) - 1;
    const dims over = by->integers("axes");
    const bool is_last = over.size() == 1 && (over[0] == -1 || over[0] == last);
    if (!is_last || source(by->input(0)) != source(root.input(0))) return std::nullopt;
    node result = created(root, "RMSNormalization", {root.input(0)});
    result.attributes = {{.name = "axis", .i = -1}, {.name = "epsilon", .f = epsilon}};
    result.note = "rows divided by their norm are timed as an RMS norm";
    return result;
  }

  /// Parts of a tensor with a step along some of its axes, joined to windows.
  [[nodiscard]] std::optional<node> merged(const node& root) const {
    std::size_t x = no_value;
    dims steps;
    std::vector<dims> begins;
    for (std::size_t value : root.inputs) {
      dims own_steps(values_[value].extents->size(), 1);
      dims own(own_steps.size(), 0);
      for (const node* by = writer(value, "Part"); by != nullptr && by->integer("step", 1) > 1;
           by = writer(value, "Part")) {
        const auto& extents = values_[by->input(0)].extents;
        if (!extents || extents->size() != own.size()) return std::nullopt;
        const std::size_t axis = axis_of(by->integer("axis", 0), own.size());
        own[axis] = by->integer("begin", 0);
        own_steps[axis] = by->integer("step", 1);
        value = source(by->input(0));
      }
      if (begins.empty()) {
        x = value;
        steps = own_steps;
      }
      if (value != x || own_steps != steps) return std::nullopt;
      begins.push_back(std::move(own));
    }
    // The first operand that begins elsewhere along an axis says how fast that axis varies.
    std::vector<std::pair<std::ptrdiff_t, std::int64_t>> inner;
    std::int64_t count = 1;
    for (std::size_t axis = 0; axis < steps.size(); ++axis) {
      if (steps[axis] == 1) continue;
      const auto moved =
          std::ranges::find_if(begins, [&](const dims& at) { return at[axis] != 0; });
      inner.emplace_back(begins.begin() - moved, static_cast<std::int64_t>(axis));
      if (steps[axis] > std::ssize(begins)) return std::nullopt;
      count *= steps[axis];
      if ((*values_[x].extents)[axis] % steps[axis] != 0) return std::nullopt;
    }
    std::vector<dims> sorted = begins;
    std::ranges::sort(sorted);
    const bool differ = std::ranges::adjacent_find(sorted) == sorted.end();
    const bool fits = std::ranges::all_of(begins, [&](const dims& at) {
      for (std::size_t axis = 0; axis < at.size(); ++axis) {
        if (at[axis] < 0 || at[axis] >= steps[axis]) return false;
      }
      return true;
    });
    if (inner.empty() || count != std::ssize(begins) || !differ || !fits) return std::nullopt;
    std::ranges::sort(inner);
    node result = created(root, "Merge", {x});
    dims order;
    for (const auto& [speed, axis] : inner) order.push_back(axis);
    result.attributes = {{.name = "axis", .i = root.integer("axis", -1)},
                         {.name = "steps", .ints = steps},
                         {.name = "order", .ints = order}};
    return result;
  }

  /// The largest values, divided by their sum.
  [[nodiscard]] std::optional<node> normalized_topk(const node& root) const {
    const node* chosen = writer(root.input(0), "TopK");
    const node* sum = writer(root.input(1), "ReduceSum");
    if (chosen == nullptr || sum == nullptr || sum->input(0) != root.input(0)) return std::nullopt;
    if (values_[root.input(1)].extents != dims{values_[root.input(0)].extents->front(), 1}) {
      return std::nullopt;
    }
    node result = created(root, "TopK", {chosen->input(0)});
    result.attributes = {{.name = "normalized", .i = 1}};
    return result;
  }

  /// x * cosines + (-second half of x, first half) * sines, as transformers computes it.
  [[nodiscard]] std::optional<node> rotary(const node& root) const {
    const node* straight = writer(root.input(0), "Mul");
    const node* turned = writer(root.input(1), "Mul");
    if (!graph_.is_traced || straight == nullptr || turned == nullptr) return std::nullopt;
    const node* joined = writer(turned->input(0), "Concat");
    if (joined == nullptr || joined->inputs.size() != 2) return std::nullopt;
    const node* negated = writer(joined->input(0), "Neg");
    const node* second = negated == nullptr ? nullptr : writer(negated->input(0), "Part");
    const node* first = writer(joined->input(1), "Part");
    const dims& all = *values_[root.outputs[0]].extents;
    if (second == nullptr || first == nullptr || all.empty() || all.back() % 2 != 0) {
      return std::nullopt;
    }
    const auto last = static_cast<std::int64_t>(all.size()) - 1;
    const auto is_last = [&](const node& of) {
      const std::int64_t axis = of.integer("axis", 0);
      return axis == -1 || axis == last;
    };
    const auto is_half = [&](const node& part, std::int64_t begin) {
      return is_last(part) && part.integer("begin", 0) == begin &&
             part.input(0) == straight->input(0) &&
             values_[part.outputs[0]].extents->back() == all.back() / 2;
    };
    if (!is_last(*joined) || !is_half(*first, 0) || !is_half(*second, all.back() / 2)) {
      return std::nullopt;
    }
    return created(root, "Rotary", {straight->input(0), straight->input(1), turned->input(1)});
  }

  /// The tensor of which two values are the halves of each row, or its even and its odd places;
  /// no_value where they are not.
  [[nodiscard]] std::size_t halved(std::size_t first, std::size_t second) const {
    const node* one = writer(first);
    const node* other = writer(second);
    if (one == nullptr || other == nullptr || !one->has_input(0)) return no_value;
    const std::size_t x = one->input(0);
    const auto& whole = values_[x].extents;
    const auto& half = values_[first].extents;
    const bool fits = whole && half && !whole->empty() && half->size() == whole->size() &&
                      half->back() * 2 == whole->back();
    const auto is_last = [&](const node& of) {
      return fits && axis_of(of.integer("axis", 0), whole->size()) + 1 == whole->size();
    };
    if (one == other) {
      const bool is_split = one->op == "Split" && one->outputs.size() == 2 && is_last(*one) &&
                            source(first) == one->outputs[0] && source(second) == one->outputs[1];
      return is_split ? x : no_value;
    }
    const auto is_part = [&](const node& of, std::int64_t step, std::int64_t begin) {
      return of.op == "Part" && of.input(0) == x && is_last(of) && of.integer("step", 1) == step &&
             of.integer("begin", 0) == begin;
    };
    const bool alternate = is_part(*one, 2, 0) && is_part(*other, 2, 1);
    const bool halves = fits && is_part(*one, 1, 0) && is_part(*other, 1, half->back());
    return alternate || halves ? x : no_value;
  }

  /// a * cosines - b * sines and b * cosines + a * sines, joined, of parts a and b of a tensor.
  [[nodiscard]] std::optional<node> rotary_of_parts(const node& root) const {
    if (root.inputs.size() != 2) return std::nullopt;
    const node* difference = writer(root.input(0), "Sub");
    const node* sum = writer(root.input(1), "Add");
    if (difference == nullptr || sum == nullptr) return std::nullopt;
    std::vector<const node*> products;
    for (const node* of : {difference, sum}) {
      for (std::size_t i = 0; i < 2; ++i) {
        products.push_back(writer(of->input(i), "Mul"));
        if (products.back() == nullptr) return std::nullopt;
      }
    }
    const std::size_t a = products[0]->input(0);
    const std::size_t b = products[1]->input(0);
    const std::size_t cosines = products[0]->input(1);
    const std::size_t sines = products[1]->input(1);
    const std::size_t x = halved(a, b);
    const bool fits = products[2]->inputs == std::vector{b, cosines} &&
                      products[3]->inputs == std::vector{a, sines};
    if (x == no_value || !fits || values_[x].extents != values_[root.outputs[0]].extents) {
      return std::nullopt;
    }
    return created(root, "Rotary", {x, cosines, sines});
  }

  // Products of matrices.

  [[nodiscard]] std::optional<node> linear(const node& root) const {
    for (std::size_t i = 0; i < 2; ++i) {
      if (!root.has_input(0) || !root.has_input(1)) continue;
      const node* by = writer(root.input(1 - i), "MatMul");
      if (by == nullptr || by->inputs.size() != 2 || !by->has_input(1)) continue;
      if (!is_by_column(by->outputs[0], root.input(i))) continue;
      if (!is_read_once(root.input(1 - i), *by)) continue;
      const auto& weights = values_[by->input(1)].extents;
      if (!constants_[by->input(1)] || !weights || weights->size() != 2) continue;
      node result = created(root, composed_linear, {by->input(0), by->input(1), root.input(i)});
      if (!by->scope.empty()) result.scope = by->scope;
      return result;
    }
    return std::nullopt;
  }

  /// softmax(scale * q k^T + mask) v.
  [[nodiscard]] std::optional<node> attention(const node& root) const {
    const node* softmax = writer(without_nan(root.input(0)), "Softmax");
    if (softmax == nullptr || !softmax->has_input(0)) return std::nullopt;
    double scale = 1;
    std::size_t mask = no_value;
    std::size_t scores = softmax->input(0);
    for (int depth = 0; depth < 4; ++depth) {
      if (const auto found = scaled(scores)) {
        scores = found->first;
        scale *= found->second;
      }
      const node* by = writer(scores);
      if (by == nullptr || mask != no_value) break;
      if (by->op == "Add" && by->inputs.size() == 2) {
        const bool second = leads_to_product(by->input(0));
        mask = by->input(second ? 1 : 0);
        scores = by->input(second ? 0 : 1);
      } else if (by->op == "Where" && by->inputs.size() == 3 && number(by->input(2))) {
        mask = by->input(0);
        scores = by->input(1);
      } else {
        break;
      }
    }
    const node* by = writer(scores, "MatMul");
    if (by == nullptr || by->inputs.size() != 2) return std::nullopt;
    const auto query = scaled(by->input(0));
    const auto key = scaled(by->input(1));
    if (!query || !key) return std::nullopt;
    const auto& extents = values_[query->first].extents;
    const double width = extents && !extents->empty() ? static_cast<double>(extents->back()) : 0;
    if (!near(scale * query->second * key->second, 1 / std::sqrt(width))) return std::nullopt;
    return created(root, composed_attention, {query->first, key->first, root.input(1), mask});
  }

  [[nodiscard]] bool leads_to_product(std::size_t value) const {
    const auto found = scaled(value);
    return found && writer(found->first, "MatMul") != nullptr;
  }

  /// The operand of Where(IsNaN(x), 0, x), which PyTorch writes behind a softmax with a mask.
  [[nodiscard]] std::size_t without_nan(std::size_t value) const {
    const node* where = writer(value, "Where");
    if (where == nullptr || where->inputs.size() != 3) return value;
    return writer(where->input(0), "IsNaN") != nullptr ? where->input(2) : value;
  }

  const graph& graph_;
  const std::vector<known>& values_;
  std::vector<bool> constants_;
  std::vector<std::size_t> writers_;
  std::vector<std::size_t> readers_;  ///< how many
};

}  // namespace

std::vector<bool> constants_of(const graph& g, const std::vector<known>& values) {
  std::vector<bool> result(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    result[i] = g.values[i].initializer.has_value() || values[i].data != nullptr;
  }
  for (const node& of : g.nodes) {
    const bool is_constant = std::ranges::all_of(
        of.inputs, [&](std::size_t input) { return input == no_value || result[input]; });
    const bool has_more = of.op == "If" || of.op == "Loop" || of.op == "Scan";  // subgraphs read it
    if (!is_constant || has_more || of.op.starts_with("Random")) continue;
    for (const std::size_t output : of.outputs) result[output] = true;
  }
  return result;
}

std::size_t mask_input(const node& of) {
  return of.op == composed_attention || of.op == "Attention" ? 3 : no_value;
}

std::vector<step> steps_of(const graph& g, const std::vector<known>& values) {
  const matcher patterns(g, values);
  std::vector<bool> needed(values.size(), false);
  for (const std::size_t output : g.outputs) needed[output] = true;
  for (const node& of : g.nodes) {
    if (of.writes_part) needed[of.outputs[0]] = true;
  }
  std::vector<step> steps;
  for (std::size_t i = g.nodes.size(); i-- > 0;) {
    const node& of = g.nodes[i];
    if (std::ranges::none_of(of.outputs, [&](std::size_t output) { return needed[output]; })) {
      continue;
    }
    const auto composed = of.is_standard() ? patterns.match(of) : std::nullopt;
    steps.push_back({of.index, composed ? *composed : of});
    const node& added = steps.back().of;
    for (std::size_t input = 0; input < added.inputs.size(); ++input) {
      if (added.has_input(input) && input != mask_input(added)) needed[added.inputs[input]] = true;
    }
  }
  std::ranges::reverse(steps);
  return steps;
}

}  // namespace layerbench::tool::importer
