// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include "inference.hpp"

#include <cmath>
#include <numeric>
#include <string_view>
#include <unordered_map>

#include <fmt/ranges.h>

#include <layerbench/op/op.hpp>

namespace layerbench::tool::importer {
namespace {

/// Elements of a computed constant, and of all of them together.
constexpr std::int64_t most_elements = 1 << 20;
constexpr std::int64_t most_elements_in_all = 1 << 23;
constexpr std::int64_t most_elements_inside = 1 << 16;  // of a branch or a body

using elements_ptr = std::shared_ptr<const elements_of>;
using function = double (*)(double);
using function_of_two = double (*)(double, double);

const std::unordered_map<std::string_view, function> functions{
    {"Identity", [](double x) { return x; }},
    {"Dropout", [](double x) { return x; }},
    {"Neg", [](double x) { return -x; }},
    {"Abs", [](double x) { return std::abs(x); }},
    {"Sqrt", [](double x) { return std::sqrt(x); }},
    {"Reciprocal", [](double x) { return 1 / x; }},
    {"Floor", [](double x) { return std::floor(x); }},
    {"Ceil", [](double x) { return std::ceil(x); }},
    {"Not", [](double x) { return x == 0 ? 1.0 : 0.0; }}};

const std::unordered_map<std::string_view, function_of_two> functions_of_two{
    {"Add", [](double a, double b) { return a + b; }},
    {"Sub", [](double a, double b) { return a - b; }},
    {"Mul", [](double a, double b) { return a * b; }},
    {"Div", [](double a, double b) { return a / b; }},
    {"Mod", [](double a, double b) { return a - std::floor(a / b) * b; }},
    {"Pow", [](double a, double b) { return std::pow(a, b); }},
    {"Min", [](double a, double b) { return std::min(a, b); }},
    {"Max", [](double a, double b) { return std::max(a, b); }},
    {"And", [](double a, double b) { return a != 0 && b != 0 ? 1.0 : 0.0; }},
    {"Or", [](double a, double b) { return a != 0 || b != 0 ? 1.0 : 0.0; }},
    {"Equal", [](double a, double b) { return a == b ? 1.0 : 0.0; }},
    {"Less", [](double a, double b) { return a < b ? 1.0 : 0.0; }},
    {"LessOrEqual", [](double a, double b) { return a <= b ? 1.0 : 0.0; }},
    {"Greater", [](double a, double b) { return a > b ? 1.0 : 0.0; }},
    {"GreaterOrEqual", [](double a, double b) { return a >= b ? 1.0 : 0.0; }}};

/// The elements of a tensor that is repeated to these extents.
std::vector<double> repeated(const elements_of& of, const dims& to) {
  if (of.extents == to) return of.values;
  const std::size_t count = static_cast<std::size_t>(elements(to));
  std::vector<double> result(count);
  std::vector<std::size_t> steps(to.size(), 0);
  std::size_t step = 1;
  for (std::size_t back = 1; back <= of.extents.size(); ++back) {
    const auto extent = static_cast<std::size_t>(of.extents[of.extents.size() - back]);
    if (extent != 1) steps[to.size() - back] = step;
    step *= extent;
  }
  for (std::size_t i = 0; i < count; ++i) {
    std::size_t rest = i;
    std::size_t from = 0;
    for (std::size_t axis = to.size(); axis-- > 0;) {
      const auto extent = static_cast<std::size_t>(to[axis]);
      from += rest % extent * steps[axis];
      rest /= extent;
    }
    result[i] = of.values[from];
  }
  return result;
}

class inference {
 public:
  inference(const graph& g, const sizes& of) : graph_(g), sizes_(of), values_(g.values.size()) {}

  std::vector<known> run() && {
    for (std::size_t i = 0; i < values_.size(); ++i) start(i);
    for (const std::size_t i : graph_.inputs) {
      values_[i].extents = described(graph_.values[i], true);
    }
    visit_all();
    return std::move(values_);
  }

  std::vector<known> run_inside(const outer_values& outer, const std::vector<known>& inputs) && {
    left_ = most_elements_inside;
    for (std::size_t i = 0; i < values_.size(); ++i) {
      const known* found = outer(graph_.values[i].name);
      if (found != nullptr) values_[i] = *found;
      start(i);
    }
    for (std::size_t i = 0; i < graph_.inputs.size(); ++i) {
      known& of = values_[graph_.inputs[i]];
      if (i < inputs.size()) of = inputs[i];
      if (!of.extents) of.extents = described(graph_.values[graph_.inputs[i]], false);
    }
    visit_all();
    return std::move(values_);
  }

 private:
  using rule = void (inference::*)(const node&);

  void visit_all() {
    for (const node& of : graph_.nodes) {
      try {
        visit(of);
      } catch (const bad_node& wrong) {
        throw bad_input(graph_.file, place(of.index, of), wrong.what());
      } catch (const std::overflow_error& wrong) {
        throw bad_input(graph_.file, place(of.index, of), wrong.what());
      }
    }
  }

  // What the file says.

  void start(std::size_t i) {
    const value& of = graph_.values[i];
    if (of.type != 0) values_[i].type = of.type;
    if (!of.initializer) return;
    values_[i].extents = of.initializer->extents;
    if (of.initializer->elements) {
      values_[i].data = std::make_shared<elements_of>(*of.initializer->elements);
    }
  }

  /// Extents as the file describes them; nothing where a size is not known.
  std::optional<dims> described(const value& of, bool required) const {
    if (!of.extents) {
      if (!required) return std::nullopt;
      throw bad_input(graph_.file, "graph/input " + in_quotes(of.name), "has no extents");
    }
    dims result;
    for (const named_size& one : *of.extents) {
      const bool first = result.empty();
      const auto found = sizes_.named.find(one.name);
      const bool is_batch = one.name.empty() ? first && required && sizes_.batch_name.empty()
                                             : one.name == sizes_.batch_name;
      if (one.size >= 0) {
        const bool replaced = first && sizes_.batch_in_file > 0 && one.size == sizes_.batch_in_file;
        result.push_back(replaced ? sizes_.batch : one.size);
      } else if (is_batch) {
        result.push_back(checked_multiply(sizes_.batch, one.factor));
      } else if (!one.name.empty() && found != sizes_.named.end()) {
        result.push_back(found->second);
      } else if (!required) {
        return std::nullopt;
      } else {
        throw bad_input(
            graph_.file, "graph/input " + in_quotes(of.name),
            one.name.empty()
                ? fmt::format("extent {} has neither a size nor a name; give all of them with "
                              "--input {}=1x3x224x224",
                              result.size(), printable(of.name))
                : fmt::format("the size {} is not known; give it with --bind NAME=SIZE",
                              in_quotes(one.name)));
      }
    }
    return result;
  }

  void visit(const node& of) {
    const auto found = rules.find(of.op);
    if (of.is_standard() && found != rules.end() && !of.outputs.empty()) (this->*found->second)(of);
    if (graph_.is_traced) return take_extents(of);
    for (const std::size_t i : of.outputs) {
      if (values_[i].extents) continue;
      values_[i].extents = described(graph_.values[i], false);
    }
  }

  /// Extents for people, such as "(batch, 4)".
  std::string text_of(const dims& extents) const {
    std::vector<std::string> all;
    for (const std::int64_t one : extents) {
      const std::int64_t factor = one / sizes_.batch;
      const bool grows = one > 0 && one % sizes_.batch == 0;
      all.push_back(!grows        ? std::to_string(one)
                    : factor == 1 ? "batch"
                                  : fmt::format("batchx{}", factor));
    }
    return fmt::format("({})", fmt::join(all, ", "));
  }

  /// Extents and types of what a call writes, as the file has them. Throws bad_input for extents
  /// that its operands do not give.
  void take_extents(const node& of) {
    for (const std::size_t i : of.outputs) {
      known& result = values_[i];
      const auto found = described(graph_.values[i], true);
      if (result.extents && result.extents != found) {
        throw bad_input(graph_.file, place(of.index, of) + "/dims",
                        fmt::format("{} is not the result, which has {}; export the model again",
                                    text_of(*found), text_of(*result.extents)));
      }
      result.extents = found;
      result.type = graph_.values[i].type;
    }
  }

  // Access.

  const known* input(const node& of, std::size_t i) const {
    return of.has_input(i) ? &values_[of.inputs[i]] : nullptr;
  }
  /// Extents of an input; null if they are not known.
  const dims* extents(const node& of, std::size_t i) const {
    const known* found = input(of, i);
    return found != nullptr && found->extents ? &*found->extents : nullptr;
  }
  int type(const node& of, std::size_t i) const {
    const known* found = input(of, i);
    return found == nullptr ? 0 : found->type;
  }
  /// All elements of an input; nothing if they are not known.
  std::optional<std::vector<double>> data(const node& of, std::size_t i) {
    const known* found = input(of, i);
    if (found == nullptr || !found->data || !found->extents) return std::nullopt;
    if (!spend(elements(*found->extents))) return std::nullopt;
    return repeated(*found->data, *found->extents);
  }
  std::optional<std::vector<std::int64_t>> whole(const node& of, std::size_t i) {
    const auto found = data(of, i);
    return found ? std::optional(whole_numbers(*found)) : std::nullopt;
  }
  /// Whole numbers of an attribute or, in later versions, of an input.
  std::optional<std::vector<std::int64_t>> listed(const node& of, std::string_view key,
                                                  std::size_t i) {
    if (of.find(key) != nullptr) return of.integers(key);
    if (!of.has_input(i)) return std::vector<std::int64_t>{};
    return whole(of, i);
  }

  void set(const node& of, std::size_t output, dims extents, int type,
           std::optional<std::vector<double>> data = std::nullopt) {
    if (output >= of.outputs.size()) return;
    for (const std::int64_t extent : extents) {
      if (extent < 0) throw bad_node("its result has an extent below 0");
    }
    static_cast<void>(elements(extents));  // overflows here, where the place is known
    known& result = values_[of.outputs[output]];
    result.type = type;
    if (data && spend(static_cast<std::int64_t>(data->size()))) {
      result.data = std::make_shared<elements_of>(elements_of{extents, std::move(*data)});
    }
    result.extents = std::move(extents);
  }

  /// Takes `count` elements from those that may still be computed; false if fewer are left.
  bool spend(std::int64_t count) {
    if (count > most_elements || count + 16 > left_) return false;
    left_ -= count + 16;
    return true;
  }

  // Rules.

  void same(const node& of) {
    if (const dims* x = extents(of, 0)) set(of, 0, *x, type(of, 0));
  }

  void unary(const node& of) {
    const known* x = input(of, 0);
    if (x == nullptr || !x->extents) return;
    const int result = of.op == "Cast" ? static_cast<int>(of.integer("to", 0)) : x->type;
    set(of, 0, *x->extents, result);
    if (!x->data || !spend(static_cast<std::int64_t>(x->data->values.size()))) return;
    elements_of created = *x->data;
    const auto found = functions.find(of.op);
    for (double& one : created.values) {
      if (found != functions.end()) {
        one = found->second(one);
      } else if (is_integral(result)) {
        one = std::trunc(one);
      }
    }
    values_[of.outputs[0]].data = std::make_shared<elements_of>(std::move(created));
  }

  void by_element(const node& of) {
    std::optional<dims> result = dims{};
    for (std::size_t i = 0; i < of.inputs.size(); ++i) {
      const dims* x = extents(of, i);
      if (x == nullptr) return;
      result = broadcast(*result, *x);
      if (!result) throw bad_node("its tensors have extents that do not fit");
    }
    const bool selects = of.op == "Where";
    const bool compares =
        of.op.starts_with("Equal") || of.op.starts_with("Less") || of.op.starts_with("Greater");
    const int kind = compares ? element::boolean : type(of, selects ? 1 : 0);
    set(of, 0, *result, kind);
    fold(of, selects, kind);
  }

  void fold(const node& of, bool selects, int kind) {
    const auto found = functions_of_two.find(of.op);
    if (!selects && (found == functions_of_two.end() || of.inputs.size() != 2)) return;
    dims common;
    for (std::size_t i = 0; i < of.inputs.size(); ++i) {
      const known* x = input(of, i);
      if (x == nullptr || !x->data) return;
      common = *broadcast(common, x->data->extents);
    }
    if (!spend(elements(common) * 2)) return;
    std::vector<std::vector<double>> operands;
    for (const std::size_t i : of.inputs) operands.push_back(repeated(*values_[i].data, common));
    elements_of created{common, operands.back()};
    for (std::size_t i = 0; i < created.values.size(); ++i) {
      if (selects) {
        created.values[i] = operands[0][i] != 0 ? operands[1][i] : operands[2][i];
      } else {
        created.values[i] = found->second(operands[0][i], operands[1][i]);
        if (is_integral(kind)) created.values[i] = std::trunc(created.values[i]);
      }
      if (!std::isfinite(created.values[i]) && is_integral(kind)) return;  // a division by 0
    }
    values_[of.outputs[0]].data = std::make_shared<elements_of>(std::move(created));
  }

  void constant(const node& of) {
    const auto list = [](const auto& values) {
      return std::vector<double>(values.begin(), values.end());
    };
    for (const attribute& value : of.attributes) {
      const auto count = static_cast<std::int64_t>(value.ints.size() + value.floats.size());
      if (value.name == "value" && value.t) {
        std::optional<std::vector<double>> data;
        if (value.t->elements) data = value.t->elements->values;
        set(of, 0, value.t->extents, value.t->type, std::move(data));
      } else if (value.name == "value_int") {
        set(of, 0, {}, element::i64, std::vector{static_cast<double>(value.i)});
      } else if (value.name == "value_float") {
        set(of, 0, {}, element::f32, std::vector{value.f});
      } else if (value.name == "value_ints") {
        set(of, 0, {count}, element::i64, list(value.ints));
      } else if (value.name == "value_floats") {
        set(of, 0, {count}, element::f32, list(value.floats));
      }
    }
  }

  void shape(const node& of) {
    const dims* x = extents(of, 0);
    if (x == nullptr) return;
    const auto axes = static_cast<std::int64_t>(x->size());
    const auto clamped = [&](std::int64_t at) {
      return std::clamp<std::int64_t>(at < 0 ? at + axes : at, 0, axes);
    };
    const std::int64_t begin = clamped(of.integer("start", 0));
    const std::int64_t end = std::max(begin, clamped(of.integer("end", axes)));
    std::vector<double> all(x->begin() + begin, x->begin() + end);
    set(of, 0, {end - begin}, element::i64, std::move(all));
  }

  void size(const node& of) {
    if (const dims* x = extents(of, 0)) {
      set(of, 0, {}, element::i64, std::vector{static_cast<double>(elements(*x))});
    }
  }

  void constant_of_shape(const node& of) {
    const auto to = whole(of, 0);
    if (!to) return;
    const attribute* found = of.find("value");
    double value = 0;
    int type = 1;
    if (found != nullptr && found->t) {
      type = found->t->type;
      if (found->t->elements && !found->t->elements->values.empty()) {
        value = found->t->elements->values[0];
      }
    }
    set(of, 0, *to, type);
    values_[of.outputs[0]].data =
        std::make_shared<elements_of>(elements_of{dims(to->size(), 1), {value}});
  }

  void range(const node& of) {
    const auto begin = data(of, 0);
    const auto end = data(of, 1);
    const auto step = data(of, 2);
    if (!begin || !end || !step || begin->empty() || end->empty() || step->empty()) return;
    const double count = std::ceil(((*end)[0] - (*begin)[0]) / (*step)[0]);
    if (!(count < static_cast<double>(max_size))) throw bad_node("its range has no end");
    const auto whole_count = static_cast<std::int64_t>(std::max(0.0, count));
    std::optional<std::vector<double>> values;
    if (whole_count <= most_elements) {
      values.emplace();
      for (std::int64_t i = 0; i < whole_count; ++i) {
        values->push_back((*begin)[0] + static_cast<double>(i) * (*step)[0]);
      }
    }
    set(of, 0, {whole_count}, type(of, 0), std::move(values));
  }

  /// The elements at these positions along an axis.
  std::optional<std::vector<double>> taken(const node& of, const dims& x, std::size_t axis,
                                           const std::vector<std::int64_t>& positions) {
    const auto all = data(of, 0);
    if (!all) return std::nullopt;
    std::size_t inner = 1;
    for (std::size_t i = axis + 1; i < x.size(); ++i) inner *= static_cast<std::size_t>(x[i]);
    const auto extent = static_cast<std::size_t>(x[axis]);
    const std::size_t outer = extent * inner == 0 ? 0 : all->size() / (extent * inner);
    if (outer * inner * positions.size() > most_elements) return std::nullopt;
    std::vector<double> result;
    for (std::size_t i = 0; i < outer; ++i) {
      for (const std::int64_t position : positions) {
        const auto at = static_cast<std::size_t>(position < 0 ? position + x[axis] : position);
        if (at >= extent) throw bad_node("reads outside of its tensor");
        const auto from = all->begin() + static_cast<std::ptrdiff_t>((i * extent + at) * inner);
        result.insert(result.end(), from, from + static_cast<std::ptrdiff_t>(inner));
      }
    }
    return result;
  }

  void gather(const node& of) {
    const dims* x = extents(of, 0);
    const dims* positions = extents(of, 1);
    if (x == nullptr || positions == nullptr) return;
    const std::size_t axis = axis_of(of.integer("axis", 0), x->size());
    dims result(x->begin(), x->begin() + static_cast<std::ptrdiff_t>(axis));
    result.insert(result.end(), positions->begin(), positions->end());
    result.insert(result.end(), x->begin() + static_cast<std::ptrdiff_t>(axis) + 1, x->end());
    const auto known_positions = whole(of, 1);
    set(of, 0, result, type(of, 0),
        known_positions ? taken(of, *x, axis, *known_positions) : std::nullopt);
  }

  void gather_elements(const node& of) {
    if (const dims* positions = extents(of, 1)) set(of, 0, *positions, type(of, 0));
  }

  void gather_nd(const node& of) {
    const dims* x = extents(of, 0);
    const dims* positions = extents(of, 1);
    if (x == nullptr || positions == nullptr || positions->empty()) return;
    const std::int64_t batch_dims = of.integer("batch_dims", 0);
    const std::int64_t used = positions->back() + batch_dims;
    if (batch_dims < 0 || positions->back() < 0 || used > static_cast<std::int64_t>(x->size())) {
      throw bad_node("has no such axis");
    }
    dims result(positions->begin(), positions->end() - 1);
    result.insert(result.end(), x->begin() + used, x->end());
    const auto at = whole(of, 1);
    const bool whole_positions = batch_dims == 0 && used == static_cast<std::int64_t>(x->size());
    auto all = at && whole_positions ? data(of, 0) : std::nullopt;
    std::vector<double> taken;
    for (std::size_t i = 0; all && i < at->size(); i += x->size()) {
      std::int64_t from = 0;
      for (std::size_t axis = 0; axis < x->size(); ++axis) {
        const std::int64_t extent = (*x)[axis];
        const std::int64_t position = (*at)[i + axis];
        if (position < -extent || position >= extent) {
          throw bad_node("reads outside of its tensor");
        }
        from = from * extent + (position < 0 ? position + extent : position);
      }
      taken.push_back((*all)[static_cast<std::size_t>(from)]);
    }
    set(of, 0, result, type(of, 0), all ? std::optional(std::move(taken)) : std::nullopt);
  }

  void cumulative_sum(const node& of) {
    const dims* x = extents(of, 0);
    if (x == nullptr) return;
    auto all = data(of, 0);
    const auto axis = whole(of, 1);
    const bool plain = of.integer("exclusive", 0) == 0 && of.integer("reverse", 0) == 0;
    if (!axis || axis->size() != 1 || !plain) all.reset();
    if (all) {
      const std::size_t at = axis_of(axis->front(), x->size());
      std::size_t step = 1;
      for (std::size_t i = at + 1; i < x->size(); ++i) step *= static_cast<std::size_t>((*x)[i]);
      for (std::size_t i = step; i < all->size(); ++i) {
        const bool is_first = i / step % static_cast<std::size_t>((*x)[at]) == 0;
        if (!is_first) (*all)[i] += (*all)[i - step];
      }
    }
    set(of, 0, *x, type(of, 0), std::move(all));
  }

  void triangle(const node& of) {
    const dims* x = extents(of, 0);
    if (x == nullptr) return;
    auto all = data(of, 0);
    const auto shift = of.has_input(1) ? whole(of, 1) : std::vector<std::int64_t>{0};
    if (x->size() < 2 || !shift || shift->size() != 1) all.reset();
    for (std::size_t i = 0; all && i < all->size(); ++i) {
      const auto at = static_cast<std::int64_t>(i);
      const std::int64_t distance = at % x->back() - at / x->back() % (*x)[x->size() - 2];
      const bool kept =
          of.integer("upper", 1) != 0 ? distance >= shift->front() : distance <= shift->front();
      if (!kept) (*all)[i] = 0;
    }
    set(of, 0, *x, type(of, 0), std::move(all));
  }

  void concat(const node& of) {
    const dims* first = extents(of, 0);
    if (first == nullptr) return;
    const std::size_t axis = axis_of(of.integer("axis", 1), first->size());
    dims result = *first;
    result[axis] = 0;
    std::vector<std::vector<double>> parts;
    for (std::size_t i = 0; i < of.inputs.size(); ++i) {
      const dims* next = extents(of, i);
      if (next == nullptr) return;
      if (next->size() != result.size()) throw bad_node("its tensors have extents that do not fit");
      for (std::size_t other = 0; other < result.size(); ++other) {
        if (other != axis && (*next)[other] != result[other]) {
          throw bad_node("its tensors have extents that do not fit");
        }
      }
      result[axis] = checked_add(result[axis], (*next)[axis]);
      if (auto part = data(of, i)) parts.push_back(std::move(*part));
    }
    std::optional<std::vector<double>> all;
    if (parts.size() == of.inputs.size()) {
      const std::int64_t rows =
          elements(dims(result.begin(), result.begin() + static_cast<std::ptrdiff_t>(axis)));
      all.emplace();
      for (std::int64_t row = 0; row < rows; ++row) {
        for (const std::vector<double>& part : parts) {
          const auto width = static_cast<std::ptrdiff_t>(part.size()) / rows;
          const auto from = part.begin() + row * width;
          all->insert(all->end(), from, from + width);
        }
      }
    }
    set(of, 0, result, type(of, 0), std::move(all));
  }

  void slice(const node& of) {
    const dims* x = extents(of, 0);
    const auto begins = listed(of, "starts", 1);
    const auto ends = listed(of, "ends", 2);
    auto axes = listed(of, "axes", 3);
    const auto steps = listed(of, "steps", 4);
    if (x == nullptr || !begins || !ends || !axes || !steps) return;
    if (axes->empty()) {
      axes->resize(begins->size());
      std::iota(axes->begin(), axes->end(), 0);
    }
    if (ends->size() != begins->size() || axes->size() != begins->size() ||
        (!steps->empty() && steps->size() != begins->size())) {
      throw bad_node("its lists have different lengths");
    }
    dims result = *x;
    std::vector<std::int64_t> positions;
    for (std::size_t i = 0; i < begins->size(); ++i) {
      const std::size_t axis = axis_of((*axes)[i], x->size());
      const std::int64_t extent = (*x)[axis];
      const std::int64_t step = steps->empty() ? 1 : (*steps)[i];
      if (step == 0) throw bad_node("has a step of 0");
      const std::int64_t low = step < 0 ? -1 : 0;
      const auto clamped = [&](std::int64_t at) {
        return std::clamp(at < 0 ? at + extent : at, low, step < 0 ? extent - 1 : extent);
      };
      const std::int64_t begin = clamped((*begins)[i]);
      const std::int64_t end = step < 0 && (*ends)[i] < -extent ? -1 : clamped((*ends)[i]);
      const std::int64_t distance = step < 0 ? begin - end : end - begin;
      const std::int64_t pace = step < 0 ? -step : step;
      result[axis] = distance <= 0 ? 0 : (distance - 1) / pace + 1;
      if (begins->size() > 1 || result[axis] > most_elements) continue;
      for (std::int64_t at = 0; at < result[axis]; ++at) positions.push_back(begin + at * step);
    }
    const bool one_axis = begins->size() == 1 && result[axis_of((*axes)[0], x->size())] ==
                                                     static_cast<std::int64_t>(positions.size());
    set(of, 0, result, type(of, 0),
        one_axis ? taken(of, *x, axis_of((*axes)[0], x->size()), positions) : std::nullopt);
  }

  void reshape(const node& of) {
    const dims* x = extents(of, 0);
    auto to = listed(of, "shape", 1);
    if (x == nullptr || !to) return;
    const std::int64_t count = elements(*x);
    std::int64_t rest = 1;
    std::int64_t* open = nullptr;
    for (std::size_t i = 0; i < to->size(); ++i) {
      std::int64_t& extent = (*to)[i];
      if (extent == 0 && of.integer("allowzero", 0) == 0) {
        if (i >= x->size()) throw bad_node("copies an extent that is not there");
        extent = (*x)[i];
      }
      if (extent == -1 && open == nullptr) {
        open = &extent;
      } else if (extent < 0) {
        throw bad_node("has an extent below 0");
      } else {
        rest = checked_multiply(rest, extent);
      }
    }
    // A file with a fixed batch has it here, too.
    if (open == nullptr && rest != count && sizes_.batch_in_file > 0 && !to->empty() &&
        to->front() == sizes_.batch_in_file &&
        checked_multiply(rest / sizes_.batch_in_file, sizes_.batch) == count) {
      to->front() = sizes_.batch;
      rest = count;
    }
    if (open != nullptr && rest != 0) *open = count / rest;
    if (elements(*to) != count) {
      throw bad_node(fmt::format("cannot make {} of {}", joined(*to, "x"), joined(*x, "x")));
    }
    set(of, 0, *to, type(of, 0), data(of, 0));
  }

  void unsqueeze(const node& of) {
    const dims* x = extents(of, 0);
    const auto axes = listed(of, "axes", 1);
    if (x == nullptr || !axes) return;
    std::vector<bool> added(x->size() + axes->size(), false);
    for (const std::int64_t axis : *axes) {
      const std::size_t at = axis_of(axis, added.size());
      if (added[at]) throw bad_node("has an axis twice");
      added[at] = true;
    }
    dims result;
    std::size_t next = 0;
    for (const bool is_new : added) result.push_back(is_new ? 1 : (*x)[next++]);
    set(of, 0, result, type(of, 0), data(of, 0));
  }

  void squeeze(const node& of) {
    const dims* x = extents(of, 0);
    const auto axes = listed(of, "axes", 1);
    if (x == nullptr || !axes) return;
    std::vector<bool> gone(x->size(), false);
    for (const std::int64_t axis : *axes) gone[axis_of(axis, x->size())] = true;
    dims result;
    for (std::size_t i = 0; i < x->size(); ++i) {
      const bool leaves = axes->empty() ? (*x)[i] == 1 : gone[i];
      if (leaves && (*x)[i] != 1) throw bad_node("drops an axis with several elements");
      if (!leaves) result.push_back((*x)[i]);
    }
    set(of, 0, result, type(of, 0), data(of, 0));
  }

  void flatten(const node& of) {
    const dims* x = extents(of, 0);
    if (x == nullptr) return;
    const std::int64_t axis = of.integer("axis", 1);
    const auto axes = static_cast<std::int64_t>(x->size());
    const std::int64_t at = axis < 0 ? axis + axes : axis;
    if (at < 0 || at > axes) throw bad_node("has no such axis");
    const dims before(x->begin(), x->begin() + at);
    const dims after(x->begin() + at, x->end());
    set(of, 0, {elements(before), elements(after)}, type(of, 0), data(of, 0));
  }

  void expand(const node& of) {
    const dims* x = extents(of, 0);
    auto to = whole(of, 1);
    if (x == nullptr || !to) return;
    const auto result = broadcast(*x, *to);
    if (!result) throw bad_node("its tensors have extents that do not fit");
    const elements_ptr kept = input(of, 0)->data;
    set(of, 0, *result, type(of, 0));
    values_[of.outputs[0]].data = kept;
  }

  void transpose(const node& of) {
    const dims* x = extents(of, 0);
    if (x == nullptr) return;
    std::vector<std::int64_t> order = of.integers("perm");
    if (order.empty()) {
      for (std::size_t i = x->size(); i-- > 0;) order.push_back(static_cast<std::int64_t>(i));
    }
    std::vector<bool> used(x->size(), false);
    dims result;
    for (const std::int64_t axis : order) {
      const std::size_t at = axis_of(axis, x->size());
      if (used[at]) throw bad_node("has an axis twice");
      used[at] = true;
      result.push_back((*x)[at]);
    }
    if (result.size() != x->size()) throw bad_node("does not have all axes");
    set(of, 0, result, type(of, 0));
  }

  void split(const node& of) {
    const dims* x = extents(of, 0);
    const auto parts = listed(of, "split", 1);
    if (x == nullptr || !parts) return;
    const std::size_t axis = axis_of(of.integer("axis", 0), x->size());
    const auto count = static_cast<std::int64_t>(of.outputs.size());
    const std::int64_t part = count == 0 ? 0 : ((*x)[axis] + count - 1) / count;
    if (!parts->empty() && parts->size() != of.outputs.size()) {
      throw bad_node("has other parts than outputs");
    }
    std::int64_t left = (*x)[axis];
    for (std::size_t i = 0; i < of.outputs.size(); ++i) {
      dims result = *x;
      result[axis] = parts->empty() ? std::min(part, left) : (*parts)[i];
      left -= result[axis];
      set(of, i, result, type(of, 0));
    }
    if (left != 0) throw bad_node("its parts are not all of the tensor");
  }

  int product_type(const node& of) const {
    return of.op.ends_with("Integer") ? element::i32 : type(of, 0);
  }

  void conv(const node& of) {
    const dims* x = extents(of, 0);
    const dims* w = extents(of, weights_input(of));
    if (x == nullptr || w == nullptr) return;
    if (w->size() < 3 || x->size() != w->size()) throw bad_node("its filters do not fit its image");
    const bool transposed = of.op == "ConvTranspose";
    const std::int64_t groups = of.integer("group", 1);
    const window by = window_of(of, *x, dims(w->begin() + 2, w->end()), transposed);
    const std::int64_t channels = transposed ? (*w)[0] : checked_multiply((*w)[1], groups);
    if (groups < 1 || channels != (*x)[1]) throw bad_node("its filters do not fit its channels");
    dims result{(*x)[0], transposed ? checked_multiply((*w)[1], groups) : (*w)[0]};
    const auto more = of.integers("output_padding");
    for (std::size_t i = 0; i < by.size.size(); ++i) {
      result.push_back(transposed ? ((*x)[i + 2] - 1) * by.stride[i] + by.covered(i) -
                                        by.before[i] - by.after[i] + (more.empty() ? 0 : more[i])
                                  : by.outputs(i, (*x)[i + 2]));
    }
    set(of, 0, result, product_type(of));
  }

  void pool(const node& of) {
    const dims* x = extents(of, 0);
    if (x == nullptr) return;
    const window by = window_of(of, *x, of.integers("kernel_shape"));
    dims result{(*x)[0], (*x)[1]};
    for (std::size_t i = 0; i < by.size.size(); ++i) result.push_back(by.outputs(i, (*x)[i + 2]));
    set(of, 0, result, type(of, 0));
  }

  void global_pool(const node& of) {
    const dims* x = extents(of, 0);
    if (x == nullptr) return;
    dims result(x->size(), 1);
    for (std::size_t i = 0; i < std::min<std::size_t>(2, x->size()); ++i) result[i] = (*x)[i];
    set(of, 0, result, type(of, 0));
  }

  void reduce(const node& of) {
    const dims* x = extents(of, 0);
    const auto axes = listed(of, "axes", 1);
    if (x == nullptr || !axes) return;
    std::vector<bool> gone(x->size(), axes->empty() && of.integer("noop_with_empty_axes", 0) == 0);
    for (const std::int64_t axis : *axes) gone[axis_of(axis, x->size())] = true;
    dims result;
    for (std::size_t i = 0; i < x->size(); ++i) {
      if (!gone[i]) {
        result.push_back((*x)[i]);
      } else if (of.integer("keepdims", 1) != 0) {
        result.push_back(1);
      }
    }
    set(of, 0, result, type(of, 0));
  }

  void gemm(const node& of) {
    const dims* a = extents(of, 0);
    const dims* b = extents(of, 1);
    if (a == nullptr || b == nullptr) return;
    if (a->size() != 2 || b->size() != 2) throw bad_node("its operands are no matrices");
    const bool a_turned = of.integer("transA", 0) != 0;
    const bool b_turned = of.integer("transB", 0) != 0;
    if ((*a)[a_turned ? 0 : 1] != (*b)[b_turned ? 1 : 0]) throw bad_node("its matrices do not fit");
    set(of, 0, {(*a)[a_turned ? 1 : 0], (*b)[b_turned ? 0 : 1]}, type(of, 0));
  }

  void matmul(const node& of) {
    const dims* a = extents(of, 0);
    const dims* b = extents(of, weights_input(of));
    if (a == nullptr || b == nullptr || a->size() < 2 || b->size() < 2) return;
    const auto rows = broadcast(dims(a->begin(), a->end() - 2), dims(b->begin(), b->end() - 2));
    if (!rows || a->back() != (*b)[b->size() - 2]) throw bad_node("its matrices do not fit");
    dims result = *rows;
    result.push_back((*a)[a->size() - 2]);
    result.push_back(b->back());
    set(of, 0, result, product_type(of));
  }

  void recurrent(const node& of) {
    const dims* x = extents(of, 0);
    const dims* r = extents(of, 2);
    if (x == nullptr || r == nullptr) return;
    if (x->size() != 3 || r->size() != 3) throw bad_node("its weights do not fit");
    const bool batch_first = of.integer("layout", 0) != 0;
    const auto [steps, batch] = std::pair((*x)[batch_first ? 1 : 0], (*x)[batch_first ? 0 : 1]);
    const std::int64_t ways = (*r)[0];
    const std::int64_t hidden = (*r)[2];
    set(of, 0, batch_first ? dims{batch, steps, ways, hidden} : dims{steps, ways, batch, hidden},
        type(of, 0));
    const dims state = batch_first ? dims{batch, ways, hidden} : dims{ways, batch, hidden};
    set(of, 1, state, type(of, 0));
    set(of, 2, state, type(of, 0));
  }

  void pad(const node& of) {
    const dims* x = extents(of, 0);
    const auto sides = listed(of, "pads", 1);
    auto axes = listed(of, "axes", 3);
    if (x == nullptr || !sides || !axes) return;
    if (axes->empty()) {
      axes->resize(x->size());
      std::iota(axes->begin(), axes->end(), 0);
    }
    if (sides->size() != 2 * axes->size()) throw bad_node("its padding does not fit its axes");
    dims result = *x;
    for (std::size_t i = 0; i < axes->size(); ++i) {
      std::int64_t& extent = result[axis_of((*axes)[i], x->size())];
      extent = checked_add(extent, checked_add((*sides)[i], (*sides)[i + axes->size()]));
    }
    set(of, 0, result, type(of, 0));
  }

  /// QuantizeLinear, whose result has the type of its zero point, and DequantizeLinear.
  void quantize(const node& of) {
    const dims* x = extents(of, 0);
    if (x == nullptr) return;
    const bool back = of.op == "DequantizeLinear";
    const int asked = static_cast<int>(of.integer("output_dtype", 0));
    const int by_operand = type(of, back ? 1 : 2);
    const int usual = back ? element::f32 : element::u8;
    set(of, 0, *x, asked != 0 ? asked : by_operand != 0 ? by_operand : usual);
  }

  void quantize_dynamically(const node& of) {
    if (const dims* x = extents(of, 0)) set(of, 0, *x, element::u8);
    set(of, 1, {}, element::f32);
    set(of, 2, {}, element::u8);
  }

  /// Resize and Upsample: to sizes, or by factors.
  void resize(const node& of) {
    const dims* x = extents(of, 0);
    if (x == nullptr || of.text("keep_aspect_ratio_policy", "stretch") != "stretch") return;
    const bool old = of.op == "Upsample" || of.inputs.size() == 2;
    auto factors = data(of, old ? 1 : 2);
    if (of.find("scales") != nullptr) factors = of.find("scales")->floats;
    const auto to = old ? std::nullopt : whole(of, 3);
    dims axes = of.integers("axes");
    if (axes.empty()) {
      axes.resize(x->size());
      std::iota(axes.begin(), axes.end(), 0);
    }
    dims result = *x;
    for (std::size_t i = 0; i < axes.size(); ++i) {
      std::int64_t& extent = result[axis_of(axes[i], x->size())];
      if (to && to->size() == axes.size()) {
        extent = (*to)[i];
      } else if (factors && factors->size() == axes.size()) {
        extent = whole_numbers({std::floor(static_cast<double>(extent) * (*factors)[i])})[0];
      } else {
        return;
      }
    }
    set(of, 0, result, type(of, 0));
  }

  /// DepthToSpace and SpaceToDepth.
  void exchange_depth(const node& of) {
    const dims* x = extents(of, 0);
    const std::int64_t block = of.integer("blocksize", 1);
    if (x == nullptr || x->size() != 4 || block < 1 || block > max_size) return;
    const std::int64_t area = checked_multiply(block, block);
    set(of, 0,
        of.op == "DepthToSpace"
            ? dims{(*x)[0], (*x)[1] / area, checked_multiply((*x)[2], block),
                   checked_multiply((*x)[3], block)}
            : dims{(*x)[0], checked_multiply((*x)[1], area), (*x)[2] / block, (*x)[3] / block},
        type(of, 0));
  }

  void tile(const node& of) {
    const dims* x = extents(of, 0);
    const auto repeats = whole(of, 1);
    if (x == nullptr || !repeats || repeats->size() != x->size()) return;
    dims result = *x;
    for (std::size_t i = 0; i < result.size(); ++i) {
      result[i] = checked_multiply(result[i], (*repeats)[i]);
    }
    set(of, 0, result, type(of, 0));
  }

  void attention(const node& of) {
    const dims* q = extents(of, 0);
    const dims* v = extents(of, 2);
    if (q == nullptr || v == nullptr || q->size() != v->size() || q->empty()) return;
    dims result = *q;
    if (q->size() == 4) {
      result[3] = v->back();
    } else {
      const std::int64_t heads = std::max<std::int64_t>(1, of.integer("q_num_heads", 1));
      const std::int64_t kv_heads = std::max<std::int64_t>(1, of.integer("kv_num_heads", heads));
      result.back() = checked_multiply(heads, v->back() / kv_heads);
    }
    set(of, 0, result, type(of, 0));
  }

  static const std::unordered_map<std::string_view, rule> rules;

  const graph& graph_;
  const sizes& sizes_;
  std::vector<known> values_;
  std::int64_t left_ = most_elements_in_all;
};

/// Ops of ONNX whose first result has the extents of their first input.
constexpr std::string_view same_extents =
    "Relu LeakyRelu Elu Selu Sigmoid Tanh HardSigmoid HardSwish Gelu Swish Mish Softplus Erf Exp "
    "Log "
    "Sin Cos Tan Asin Acos Atan Sinh Cosh Sign Softsign Celu ThresholdedRelu Shrink Hardmax "
    "MeanVarianceNormalization CumProd ReverseSequence Bernoulli EyeLike LpNormalization "
    "Clip PRelu Softmax LogSoftmax BatchNormalization InstanceNormalization "
    "GroupNormalization LayerNormalization RMSNormalization LRN IsNaN IsInf Round ";

const std::unordered_map<std::string_view, inference::rule> inference::rules = [] {
  using self = inference;
  std::unordered_map<std::string_view, rule> all;
  all["Cast"] = &self::unary;
  all["Where"] = all["Sum"] = &self::by_element;
  all["Constant"] = &self::constant;
  all["Shape"] = &self::shape;
  all["Size"] = &self::size;
  all["ConstantOfShape"] = &self::constant_of_shape;
  all["Range"] = &self::range;
  all["Gather"] = &self::gather;
  all["GatherElements"] = &self::gather_elements;
  all["GatherND"] = &self::gather_nd;
  all["CumSum"] = &self::cumulative_sum;
  all["Trilu"] = &self::triangle;
  all["Concat"] = &self::concat;
  all["Slice"] = &self::slice;
  all["Reshape"] = &self::reshape;
  all["Unsqueeze"] = &self::unsqueeze;
  all["Squeeze"] = &self::squeeze;
  all["Flatten"] = &self::flatten;
  all["Expand"] = &self::expand;
  all["Transpose"] = &self::transpose;
  all["Split"] = &self::split;
  all["Conv"] = all["ConvTranspose"] = all["ConvInteger"] = all["QLinearConv"] = &self::conv;
  all["DeformConv"] = &self::conv;
  all["QuantizeLinear"] = all["DequantizeLinear"] = &self::quantize;
  all["DynamicQuantizeLinear"] = &self::quantize_dynamically;
  all["Resize"] = all["Upsample"] = &self::resize;
  all["DepthToSpace"] = all["SpaceToDepth"] = &self::exchange_depth;
  all["Tile"] = &self::tile;
  all["MaxPool"] = all["AveragePool"] = all["LpPool"] = &self::pool;
  all["GlobalMaxPool"] = all["GlobalAveragePool"] = &self::global_pool;
  all["ReduceMean"] = all["ReduceSum"] = all["ReduceMax"] = all["ReduceMin"] = &self::reduce;
  all["ReduceProd"] = all["ReduceL1"] = all["ReduceL2"] = all["ReduceSumSquare"] = &self::reduce;
  all["ReduceLogSum"] = all["ReduceLogSumExp"] = &self::reduce;
  all["Gemm"] = &self::gemm;
  all["MatMul"] = all["MatMulInteger"] = all["QLinearMatMul"] = &self::matmul;
  all["LSTM"] = all["GRU"] = all["RNN"] = &self::recurrent;
  all["Pad"] = &self::pad;
  all["Attention"] = &self::attention;
  for (std::string_view rest = same_extents; !rest.empty();) {
    const std::size_t end = rest.find(' ');
    all[rest.substr(0, end)] = &self::same;
    rest.remove_prefix(end + 1);
  }
  for (const auto& [op, ignored] : functions) all[op] = &self::unary;
  for (const auto& [op, ignored] : functions_of_two) all[op] = &self::by_element;
  return all;
}();

}  // namespace

std::int64_t window::outputs(std::size_t axis, std::int64_t extent) const {
  const std::int64_t sides = before[axis] + after[axis];
  const std::int64_t count = op::window_outputs(extent, sides, covered(axis), stride[axis], ceil);
  const bool outside = ceil && (count - 1) * stride[axis] >= extent + before[axis];
  return outside ? count - 1 : count;
}

window window_of(const node& of, const dims& image, const dims& size, bool transposed) {
  const std::size_t axes = size.size();
  if (axes == 0 || image.size() != axes + 2) throw bad_node("its window does not fit its image");
  const auto list = [&](std::string_view key, std::size_t count, std::int64_t otherwise,
                        std::int64_t least) {
    dims found = of.integers(key);
    if (found.empty()) found.assign(count, otherwise);
    const auto usable = [&](std::int64_t one) { return one >= least && one <= max_size; };
    if (found.size() != count || !std::ranges::all_of(found, usable)) {
      throw bad_node(fmt::format("its {} are no {} sizes", key, count));
    }
    return found;
  };
  if (!std::ranges::all_of(size, [](std::int64_t one) { return one > 0; })) {
    throw bad_node("its window has no elements");
  }
  window result{size, list("strides", axes, 1, 1),    list("dilations", axes, 1, 1), {},
                {},   of.integer("ceil_mode", 0) != 0};
  const dims pads = list("pads", 2 * axes, 0, 0);
  static_cast<void>(list("output_padding", axes, 0, 0));
  result.before.assign(pads.begin(), pads.begin() + static_cast<std::ptrdiff_t>(axes));
  result.after.assign(pads.begin() + static_cast<std::ptrdiff_t>(axes), pads.end());
  const std::string_view automatic = of.text("auto_pad", "NOTSET");
  if (automatic == "NOTSET" || automatic.empty()) return result;
  for (std::size_t i = 0; i < axes; ++i) {
    const std::int64_t extent = image[i + 2];
    const std::int64_t taps = checked_multiply(result.dilation[i], size[i] - 1) + 1;
    std::int64_t sides = 0;
    if (automatic != "VALID" && transposed) {
      sides = std::max<std::int64_t>(0, taps - result.stride[i]);
    } else if (automatic != "VALID") {
      const std::int64_t outputs = (extent + result.stride[i] - 1) / result.stride[i];
      sides = std::max<std::int64_t>(0, (outputs - 1) * result.stride[i] + taps - extent);
    }
    result.before[i] = automatic == "SAME_LOWER" ? sides - sides / 2 : sides / 2;
    result.after[i] = sides - result.before[i];
  }
  return result;
}

std::size_t axis_of(std::int64_t axis, std::size_t axes) {
  const auto count = static_cast<std::int64_t>(axes);
  if (axis < -count || axis >= count) throw bad_node(fmt::format("has no axis {}", axis));
  return static_cast<std::size_t>(axis < 0 ? axis + count : axis);
}

std::optional<dims> broadcast(const dims& a, const dims& b) {
  dims result = a.size() < b.size() ? b : a;
  const dims& shorter = a.size() < b.size() ? a : b;
  for (std::size_t back = 1; back <= shorter.size(); ++back) {
    std::int64_t& extent = result[result.size() - back];
    const std::int64_t other = shorter[shorter.size() - back];
    if (extent != other && extent != 1 && other != 1) return std::nullopt;
    if (extent == 1) extent = other;
  }
  return result;
}

std::vector<std::int64_t> whole_numbers(const std::vector<double>& values) {
  constexpr double most = 4e18;
  std::vector<std::int64_t> result;
  for (const double value : values) {
    result.push_back(std::isnan(value) ? 0
                                       : static_cast<std::int64_t>(std::clamp(value, -most, most)));
  }
  return result;
}

std::vector<known> infer(const graph& g, const sizes& of) { return inference(g, of).run(); }

std::vector<known> infer_inside(const graph& body, const sizes& of, const outer_values& outer,
                                const std::vector<known>& inputs) {
  return inference(body, of).run_inside(outer, inputs);
}

}  // namespace layerbench::tool::importer
