// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include "conversion.hpp"

#include <algorithm>
#include <numeric>

#include <layerbench/op/attention.hpp>
#include <layerbench/op/gemm.hpp>
#include <layerbench/op/pad.hpp>
#include <layerbench/op/rnn.hpp>
#include <layerbench/op/slice.hpp>
#include <layerbench/op/softmax.hpp>
#include <layerbench/op/transpose.hpp>

#include "axes.hpp"
#include "branches.hpp"
#include "converter.hpp"

namespace layerbench::tool::importer {
namespace {

/// The module of PyTorch that a node belongs to. The newer exporter lists the modules around it in
/// its metadata, the older one has them in its name: "/layer1/layer1.0/conv1/Conv" is
/// layer1.0.conv1. A layer with a batch norm in it is named after its weights. Other nodes have
/// their own name.
std::string module_of(const graph& g, const node& of) {
  if (of.module) return *of.module;
  if (of.folded_batchnorm && of.has_input(1)) {
    constexpr std::string_view end = ".weight";
    const std::string& weights = g.values[of.inputs[1]].name;
    if (weights.ends_with(end)) return weights.substr(0, weights.size() - end.size());
  }
  if (const std::size_t end = of.scope.rfind("', '"); end != std::string::npos) {
    const std::size_t begin = of.scope.rfind('\'', end - 1);
    return begin == std::string::npos ? "" : of.scope.substr(begin + 1, end - begin - 1);
  }
  if (!of.name.starts_with('/')) return of.name;
  std::string result;
  std::string_view rest = std::string_view(of.name).substr(1);
  std::string_view last;
  for (std::size_t end = rest.find('/'); end != std::string_view::npos; end = rest.find('/')) {
    const std::string_view part = rest.substr(0, end);
    rest.remove_prefix(end + 1);
    const bool repeats = !last.empty() && part.starts_with(last) && part.size() > last.size() &&
                         part[last.size()] == '.';
    if (repeats) result.resize(result.size() - last.size());
    if (!repeats && !result.empty()) result += '.';
    result += part;
    last = part;
  }
  return result;
}

/// Whether a name is one that PyTorch's exporters give to what they compute.
bool is_generated(std::string_view name) {
  return name.starts_with("onnx::") || name.starts_with("val_");
}

}  // namespace

converter::converter(const graph& g, const sizes& of)
    : graph_(g),
      sizes_(of),
      values_(infer(g, of)),
      scope_(g, values_),
      constants_(constants_of(g, values_)),
      steps_(steps_of(g, values_)),
      read_(values_.size(), false),
      views_(values_.size()) {
  if (g.is_traced) result_.noun = "call";
  for (const std::size_t output : g.outputs) read_[output] = true;
  for (const step& at : steps_) {
    for (const std::size_t input : at.of.inputs) {
      if (input != no_value) read_[input] = true;
    }
  }
}

conversion converter::run(bool softmax) && {
  start();
  for (const step& at : steps_) visit(at);
  if (graph_.is_traced) {
    result_.learned = count_learned();
    result_.flops = {};
    for (const node& of : graph_.nodes) result_.flops.flops += of.flops.value_or(0);
  }
  if (softmax) end_with_softmax();
  std::set<std::size_t> gone;
  join_recurrent(gone);
  split_projections(gone);
  remove_layers(gone);
  match_axes();
  join_axes();
  add_copies();
  name_layers();
  return std::move(result_);
}

void converter::start() {
  for (std::size_t i = 0; i < values_.size(); ++i) {
    const value& of = graph_.values[i];
    if (!of.initializer) continue;
    const bool is_number = !of.initializer->is_learned.value_or(!is_integral(values_[i].type) &&
                                                                elements(*values_[i].extents) != 1);
    views_[i] = view{is_number ? source_kind::constant : source_kind::weight, *values_[i].extents,
                     *values_[i].extents};
    views_[i]->value = i;
    views_[i]->type = values_[i].type;
  }
  for (const std::size_t i : graph_.inputs) {
    views_[i] = view{source_kind::input, *values_[i].extents, *values_[i].extents};
    views_[i]->type = values_[i].type;
  }
}

void converter::visit(const step& at) {
  node_ = &at.of;
  module_ = module_of(graph_, at.of);
  const flop_count own = flops();
  result_.flops += own;
  if (at.of.outputs.empty()) return;
  const std::size_t kept = result_.layers.size();
  view created;
  try {
    created = value_of();
    if (!at.of.note.empty()) note(at.of.note);
  } catch (const unknown& reason) {
    drop_layers(kept);
    if (dynamic_cast<const follows*>(&reason) != nullptr) {
      ++result_.following[at.of.kind()];
      result_.flops_following += own;
    } else {
      leave_out(at, reason.what(), own);
    }
    created = left_out();
    for (std::size_t i = 1; i < at.of.outputs.size(); ++i) set(i, created);
  } catch (const bad_node& wrong) {
    throw bad_input(graph_.file, place(at.index, at.of), wrong.what());
  } catch (const std::overflow_error& wrong) {
    throw bad_input(graph_.file, place(at.index, at.of), wrong.what());
  }
  set(0, std::move(created));
}

/// Removes the layers from this one on.
void converter::drop_layers(std::size_t first) {
  if (result_.layers.size() == first) return;
  result_.layers.erase(result_.layers.begin() + static_cast<std::ptrdiff_t>(first),
                       result_.layers.end());
  for (auto& [key, views] : moved_) {
    std::erase_if(views, [&](const view& of) { return of.layer >= first; });
  }
}

void converter::set(std::size_t output, view result) {
  if (output >= of().outputs.size()) return;
  const std::size_t at = of().outputs[output];
  result.type = values_[at].type;
  // Transposes of PyTorch are named after the module that asks for them, those of ONNX files after
  // the one that needs them.
  const bool is_turned = result.order || result.steps_first;
  if (graph_.is_traced && is_turned && !result.turned_in) result.turned_in = module_;
  if (!values_[at].extents && !result.extents.empty()) values_[at].extents = result.extents;
  views_[at] = std::move(result);
}

view converter::left_out() const {
  view result{source_kind::left_out, {}, {}};
  result.value = of().outputs[0];
  if (values_[of().outputs[0]].extents) result.extents = *values_[of().outputs[0]].extents;
  result.written = result.extents;
  for (const std::size_t input : of().inputs) {
    if (input == no_value || !views_[input]) continue;
    const view& read = *views_[input];
    constexpr std::size_t most = 8;
    if (read.from == source_kind::layer) result.sources.push_back(input);
    if (read.from != source_kind::left_out || result.sources.size() > most) continue;
    result.sources.insert(result.sources.end(), read.sources.begin(), read.sources.end());
  }
  return result;
}

void converter::leave_out(const step& at, const std::string& reason, const flop_count& flops) {
  const std::string op = at.of.is_standard() ? at.of.kind() : at.of.domain + '.' + at.of.op;
  const std::string key = printable(op).substr(0, 80);
  missing& entry = result_.unknown[reason.empty() ? key : key + ' ' + reason];
  ++entry.count;
  entry.flops += flops;
  constexpr std::size_t most_places = 3;
  if (entry.places.size() >= most_places) return;
  entry.places.push_back(at.of.place.empty() ? place(at.index, at.of) : at.of.place);
}

/// The first output as a value that no layer computes; the others are set to the same kind.
view converter::uncomputed(source_kind from) {
  const auto created = [&](std::size_t output) {
    const dims& extents = *values_[output].extents;
    view one{from, extents, extents};
    one.value = output;
    return one;
  };
  if (!values_[of().outputs[0]].extents) throw unknown("");
  for (std::size_t i = 1; i < of().outputs.size(); ++i) {
    if (values_[of().outputs[i]].extents) set(i, created(of().outputs[i]));
  }
  return created(of().outputs[0]);
}

/// What the first output is.
view converter::value_of() {
  const std::size_t output = of().outputs[0];
  const bool standard = of().is_standard();
  const rule found = standard && of().refusal.empty() ? rule_of(of().op) : nullptr;
  bool all_inputs = !of().inputs.empty();  // or constants
  bool any_weight = false;
  bool any_data = false;  // such as rows of a table at constant positions
  bool any_left_out = false;
  for (std::size_t i = 0; i < of().inputs.size(); ++i) {
    const std::size_t input = of().inputs[i];
    if (input == no_value || i == mask_input(of())) continue;
    if (!views_[input]) throw follows();
    all_inputs = all_inputs && (views_[input]->from == source_kind::constant ||
                                views_[input]->from == source_kind::input);
    any_weight = any_weight || views_[input]->from == source_kind::weight;
    any_data = any_data || (views_[input]->is_data() && views_[input]->from != source_kind::input);
    any_left_out = any_left_out || views_[input]->from == source_kind::left_out;
  }
  const bool is_number = is_integral(values_[output].type) || values_[output].data != nullptr;
  if (of().op == "Constant" && standard) {
    return uncomputed(is_number ? source_kind::constant : source_kind::weight);
  }
  if (constants_[output] && !any_weight && (!any_data || values_[output].data != nullptr)) {
    // What integers stand for are weights.
    const bool is_weight = of().op == "DequantizeLinear" && !is_number;
    return uncomputed(is_weight ? source_kind::weight : source_kind::constant);
  }
  const bool has_rows =
      of().op == "Linear" && views_[of().inputs[0]]->from == source_kind::constant;
  if (constants_[output] && standard && !any_data && !has_rows) {
    if (auto weight = computed_weight(found)) return *weight;
  }
  const bool is_index = is_integral(values_[output].type) && of().op != "Identity" &&
                        of().op != "View" && !is_quantization(of()) && flops().flops == 0;
  if (is_index && all_inputs && !of().writes_part) {
    note(result_.noun + "s that compute indices, such as positions, are left out");
    return uncomputed(source_kind::input);
  }
  if (found == nullptr) throw unknown(of().refusal);
  if (!values_[output].extents) {
    if (any_left_out) throw follows();
    throw unknown("with a result whose extents are not known");
  }
  view result = found(*this);
  for (std::size_t i = 1; i < of().outputs.size(); ++i) {
    if (is_read(i) && !views_[of().outputs[i]]) throw unknown("with a second result");
  }
  return result;
}

/// A tensor that follows from weights alone, which inference computes once: by the rule of a node
/// that only views them, else as a weight. Nothing if it depends on the batch, or is rows of a
/// table.
std::optional<view> converter::computed_weight(rule found) {
  constexpr std::string_view views =
      " Identity Reshape Flatten Squeeze Unsqueeze Cast Transpose Expand Split Dropout View "
      "Unbind ";
  const auto& extents = values_[of().outputs[0]].extents;
  const auto varies = [&](std::int64_t size) { return depends_on_batch(size); };
  if (of().op == "Gather" || !extents || std::ranges::any_of(*extents, varies)) return std::nullopt;
  if (found != nullptr && views.find(' ' + of().op + ' ') != std::string_view::npos) {
    try {
      return found(*this);
    } catch (const unknown&) {  // NOLINT(bugprone-empty-catch): no view, but a weight all the same
    }
  }
  for (const std::size_t output : of().outputs) {
    if (!values_[output].extents) return std::nullopt;
  }
  for (const std::size_t output : of().outputs) {
    for (const std::size_t input : of().inputs) {
      if (input == no_value || views_[input]->from != source_kind::weight) continue;
      const std::size_t source = views_[input]->value;
      const auto before = folded_.find(source);
      const std::set<std::size_t> sources =
          before == folded_.end() ? std::set{source} : before->second;
      folded_[output].insert(sources.begin(), sources.end());
    }
  }
  if (of().op == "Concat" && extents->size() == 1) {
    for (const std::size_t input : of().inputs) {
      joined_[of().outputs[0]].emplace_back(elements(*values_[input].extents),
                                            views_[input]->from == source_kind::weight);
    }
  }
  folded_flops_ += of().flops.value_or(0);
  for (std::size_t i = 1; i < of().outputs.size(); ++i) set(i, folded(of().outputs[i]));
  const bool is_number = is_integral(values_[of().outputs[0]].type) || elements(*extents) == 1;
  if (is_number && !graph_.is_traced) {
    return view{source_kind::constant, *extents, *extents};  // such as sizes of a weight
  }
  if (!graph_.is_traced) {
    note("tensors that follow from weights alone are weights, computed once before inference");
  }
  return folded(of().outputs[0]);
}

/// A weight that is computed once.
view converter::folded(std::size_t output) const {
  const dims& extents = *values_[output].extents;
  view result{source_kind::weight, extents, extents};
  if (graph_.is_traced) result.value = output;
  return result;
}

/// The tensors of the weights that the current node reads; no_value for one that is none by itself.
std::vector<std::size_t> converter::weights_read() const {
  std::vector<std::size_t> tensors;
  for (const std::size_t input : of().inputs) {
    if (input == no_value || !views_[input] || views_[input]->from != source_kind::weight) continue;
    tensors.push_back(views_[input]->value);
  }
  return tensors;
}

/// Keeps account of the weights that the layers of the current node have.
void converter::use_weights() {
  for (const std::size_t tensor : weights_read()) {
    if (tensor != no_value) used_[tensor].insert(of().outputs[0]);
  }
}

learned_values converter::count_learned() const {
  const auto size = [&](std::size_t value) { return elements(*values_[value].extents); };
  learned_values result;
  std::set<std::size_t> behind;
  std::set<std::size_t> behind_folded;
  for (const auto& [value, nodes] : used_) {
    result.known += size(value);
    if (nodes.size() > 1 && !split_.contains(value)) ++result.shared;
    const auto computed = folded_.find(value);
    if (computed == folded_.end()) {
      behind.insert(value);
      continue;
    }
    ++result.folded;
    result.folded_values += size(value);
    behind_folded.insert(computed->second.begin(), computed->second.end());
  }
  for (const std::size_t value : behind_folded) result.folded_sources += size(value);
  behind.insert(behind_folded.begin(), behind_folded.end());
  std::int64_t read = 0;
  for (std::size_t i = 0; i < graph_.values.size(); ++i) {
    const auto& tensor = graph_.values[i].initializer;
    if (!tensor || !tensor->is_learned.value_or(false)) continue;
    read += size(i);
    if (!behind.contains(i)) result.missing += size(i);
  }
  result.unread = std::max<std::int64_t>(0, graph_.learned_values - read);
  result.folded_flops = folded_flops_;
  return result;
}

// What rules read.

const dims& converter::extents(std::size_t output) const {
  const auto& found = values_[of().outputs[output]].extents;
  if (!found) throw follows();
  return *found;
}

const view& converter::input(std::size_t i) const {
  if (!of().has_input(i)) throw bad_node(fmt::format("has no input {}", i));
  const std::optional<view>& found = views_[of().inputs[i]];
  if (!found || (found->from == source_kind::left_out && found->extents.empty())) throw follows();
  if (elements(found->extents) == 0) throw unknown("of a tensor without elements");
  return *found;
}

bool converter::is_empty(std::size_t i) const {
  const auto& found = values_[of().inputs[i]].extents;
  return found && elements(*found) == 0;
}

const view& converter::source(std::size_t i) const {
  const view& found = input(i);
  if (found.from == source_kind::weight) throw unknown("of a weight");
  if (found.from == source_kind::constant) {
    throw unknown(elements(found.extents) == 1 ? "with a number" : "of a constant");
  }
  return found;
}

const view& converter::weight(std::size_t i) const {
  const view& found = input(i);
  if (found.from == source_kind::left_out) throw follows();
  if (found.is_data()) throw unknown("of weights that are computed");
  if (graph_.is_traced && found.from == source_kind::constant) {
    throw unknown("of weights that are constants");
  }
  return found;
}

std::optional<std::vector<double>> converter::data(std::size_t i) const {
  if (!of().has_input(i)) return std::nullopt;
  const known& found = values_[of().inputs[i]];
  if (!found.data || !found.extents || found.data->extents != *found.extents) return std::nullopt;
  return found.data->values;
}

const known& converter::of_one_image(std::size_t i) {
  const std::size_t value = of().inputs[i];
  if (values_[value].data || !sizes_.batch_varies) return values_[value];
  if (values_of_one_.empty()) {
    sizes one = sizes_;
    one.batch = 1;
    try {
      values_of_one_ = infer(graph_, one);
    } catch (const bad_input&) {  // it has more images
      values_of_one_ = values_;
    }
  }
  return values_of_one_[value];
}

std::optional<double> converter::number(std::size_t i) const {
  const auto found = data(i);
  return found && found->size() == 1 ? std::optional((*found)[0]) : std::nullopt;
}

std::vector<std::int64_t> converter::listed(std::string_view key, std::size_t i) const {
  if (of().find(key) != nullptr) return of().integers(key);
  if (!of().has_input(i)) return {};
  const auto found = data(i);
  if (!found) throw unknown("with computed " + std::string(key));
  return whole_numbers(*found);
}

bool converter::is_computed(const view& weight) const {
  return graph_.producer == "pytorch" && weight.value != no_value &&
         is_generated(graph_.values[weight.value].name);
}

std::string converter::word_of(const view& weight) const {
  const std::string& name = graph_.values[weight.value].name;
  return name.substr(name.rfind('.') + 1);  // npos + 1 is 0
}

bool converter::is_read(std::size_t output) const {
  return output < of().outputs.size() && read_[of().outputs[output]];
}

std::int64_t converter::plain(std::int64_t size) const {
  if (depends_on_batch(size)) throw unknown("a size other than the first depends on the batch");
  return size;
}

flop_count converter::flops() const {
  if (graph_.is_traced) return {of().flops.value_or(0), false};
  return flops_of(of(), values_, scope_, sizes_);
}

// What rules write.

bool converter::is_complete(const axes& of) {
  return std::ranges::none_of(flat(of), &atom::repeats);
}

const dims& converter::element_extents(const view& x) {
  const bool as_it_is = x.from != source_kind::layer || x.order || reads_as(x.written, x.extents);
  return as_it_is ? x.extents : x.written;
}

/// The layer that writes what is read; nothing for the model's input.
std::optional<std::size_t> converter::source_of(const view& x, const dims& to, bool single) const {
  if (x.from == source_kind::layer) {
    if (can_read(x.written, to)) return x.layer;
    throw unknown("of a tensor in another shape");
  }
  if (x.from == source_kind::state) {
    throw unknown("of a last state that is not the last step of an output");
  }
  for (const std::size_t source : x.sources) {
    // A node that is left out hands on what it reads, if the extents allow it.
    const view& before = *views_[source];
    if (before.from == source_kind::layer && can_read(before.written, to)) {
      return before.layer;
    }
  }
  if (single) return std::nullopt;
  if (x.from == source_kind::left_out) throw follows();
  throw unknown("of the model's input beside a layer");
}

/// The tensor that is the first of the weights of a layer of the current node, and all of them; the
/// others may be a bias.
std::optional<std::size_t> converter::only_weights(const op::any& op) const {
  const std::vector<op::operand> weights = model::detail::of_role(op, op::role::weights);
  const std::vector<std::size_t> found = weights_read();
  const bool is_all = !weights.empty() && weights.size() == found.size() && found[0] != no_value &&
                      elements(*values_[found[0]].extents) == elements(weights[0].extents);
  return is_all ? std::optional(found[0]) : std::nullopt;
}

view converter::add(op::any op, const std::vector<view>& sources, std::string_view word) {
  const std::vector<op::operand> reads = model::detail::of_role(op, op::role::source);
  std::vector<std::optional<std::size_t>> inputs;
  std::vector<view> ordered;
  for (std::size_t i = 0; i < sources.size(); ++i) {
    const dims& as = reads.at(i).extents;
    ordered.push_back(in_order(sources[i], as));
    inputs.push_back(source_of(ordered.back(), as, sources.size() == 1));
  }
  const dims written = result_extents(op);
  if (elements(written) < 1) throw bad_node("its result has no elements");
  const std::optional<std::size_t> weights = only_weights(op);
  const std::vector<std::size_t> read = weights_read();
  const bool has_bias = op.get<op::gemm>() != nullptr && op.get<op::gemm>()->bias && !read.empty();
  result_.layers.push_back({"", std::move(op), std::move(inputs), module_, std::string(word),
                            weights, has_bias ? read.back() : no_value});
  view created{source_kind::layer, written, written, result_.layers.size() - 1};
  const auto& expected = values_[of().outputs[0]].extents;
  if (expected && elements(*expected) == elements(written)) created.extents = *expected;
  const view& source = ordered.at(0);
  if (source.steps_first && source.written == written && source.extents == created.extents) {
    created.steps_first = source.steps_first;
    created.turned_in = source.turned_in;
  }
  use_weights();
  return created;
}

/// A tensor that repeats parts of another one, as a copy that is as large.
view converter::repeated(const view& x) {
  const atom first = flat(*x.order).front();
  if (first.repeats()) throw unknown("of an expanded tensor");
  const view once = x.without_repeats();
  const std::int64_t size = elements(once.extents) / first.size;
  const op::pad longer{
      {first.size, size}, {dims{0, 0}}, {dims{0, elements(x.extents) / first.size - size}}};
  note("a tensor that repeats another is timed as a padded copy");
  return append(longer, {in_order(once, once.extents)}).memory().viewed(x.extents);
}

view converter::in_order(const view& x, dims to) {
  if (!x.order) return x;
  if (!is_complete(*x.order)) return repeated(x);
  const memory_order order = order_of(*x.order);
  dims moved;
  for (const std::int64_t i : order.order)
    moved.push_back(order.sizes[static_cast<std::size_t>(i)]);
  if (!op::transpose::are_parts(moved, to)) to = x.extents;
  std::vector<view>& known = moved_[{static_cast<int>(x.from), x.layer, x.value, x.written, order}];
  for (const view& before : known) {
    if (reads_as(before.written, to)) return before;
  }
  if (!op::transpose::are_parts(x.written, order.sizes)) {
    throw unknown("of a tensor in another shape");
  }
  op::transpose turn{x.written, {}, {order.order}, {}};
  if (order.sizes != x.written) turn.view = order.sizes;
  if (to != moved) turn.reshape = to;
  const std::string reader = module_;
  module_ = x.turned_in.value_or(module_);
  view created = append(turn, {x.memory()});
  module_ = reader;
  created.extents = to;
  known.push_back(created);
  return created;
}

view converter::seen_as(const view& seen, const dims& to) {
  const view x = seen.ordered_for(to);
  if (x.order && !axes_seen_as(*x.order, to)) return in_order(x, to).viewed(to);
  return x.viewed(to);
}

// The model as a whole.

/// Sequences have three axes in models, and four in the ops of images. A layer between the two
/// kinds gets the axes of its neighbours: the missing one has an extent of 1.
void converter::match_axes() {
  for (bool has_changed = true; has_changed;) {
    has_changed = false;
    const std::size_t count = result_.layers.size();
    for (std::size_t i = 0; i < count; ++i) has_changed = match_axes_of(i) || has_changed;
    for (std::size_t i = count; i-- > 0;) has_changed = match_axes_of(i) || has_changed;
  }
}

/// The same for what a layer reads. Returns whether it or a writer has changed.
bool converter::match_axes_of(std::size_t at) {
  layer& reader = result_.layers[at];
  bool has_changed = false;
  for (std::size_t i = 0; i < reader.inputs.size(); ++i) {
    if (!reader.inputs[i]) continue;
    layer& writer = result_.layers[*reader.inputs[i]];
    const dims from = result_extents(writer.op);
    const dims to = source_extents(reader.op, i);
    if (from.size() == to.size() || model::detail::connects(from, to)) continue;
    const bool is_wider = from.size() > to.size();
    auto widened = is_wider ? with_axes(reader.op, to, from, end_of_edge::source)
                            : with_axes(writer.op, from, to, end_of_edge::destination);
    if (!widened) continue;
    (is_wider ? reader : writer).op = std::move(*widened);
    has_changed = true;
  }
  return has_changed;
}

/// Gives layers by element or by row fewer axes where this saves copies: their result does not
/// depend on how the other axes are split. For example, a product writes a row per token, and the
/// norm behind it reads windows.
void converter::join_axes() {
  const reader_map readers = readers_of_layers();
  for (bool has_changed = true; has_changed;) {
    has_changed = false;
    std::set<std::size_t> done;  // in the group of an earlier layer
    for (std::size_t i = 0; i < result_.layers.size(); ++i) {
      if (done.contains(i)) continue;
      const auto own = free_axes(result_.layers[i].op);
      const bool is_deep = own && own->extents.size() > 3;
      has_changed = (is_deep && join_axes_of(i, own->extents, readers, done)) || has_changed;
    }
  }
}

/// A layer and all that have these extents and read one another, in the order in which they are
/// found; `common` becomes what all of them leave free.
std::vector<std::size_t> converter::group_around(std::size_t first, const reader_map& readers,
                                                 axes_freedom& common) const {
  const dims& extents = common.extents;
  std::vector<std::size_t> group{first};
  std::set<std::size_t> inside{first};
  const auto include = [&](std::size_t at) {
    const auto own = free_axes(result_.layers[at].op);
    if (own && own->extents == extents && inside.insert(at).second) group.push_back(at);
  };
  for (std::size_t next = 0; next < group.size();) {  // it grows meanwhile
    const std::size_t at = group[next++];
    const layer& of = result_.layers[at];
    const auto own = free_axes(of.op);
    common.keeps_first = common.keeps_first || own->keeps_first;
    common.keeps_last = common.keeps_last || own->keeps_last;
    for (std::size_t place = 0; place < of.inputs.size(); ++place) {
      if (of.inputs[place] && source_extents(of.op, place) == extents) include(*of.inputs[place]);
    }
    const auto found = readers.find(at);
    if (found == readers.end()) continue;
    for (const auto& [reader, place] : found->second) {
      if (source_extents(result_.layers[reader].op, place) == extents) include(reader);
    }
  }
  return group;
}

/// Extents of two or three axes that a group may have: joined ones of its own, and those of what it
/// reads.
std::vector<dims> converter::fewer_axes_of(const axes_freedom& common,
                                           const std::vector<std::size_t>& group,
                                           const std::set<std::size_t>& inside) const {
  const dims& extents = common.extents;
  const std::int64_t all = elements(extents);
  std::vector<dims> candidates{{all / extents.back(), extents.back()},
                               {extents[0], all / extents[0] / extents.back(), extents.back()},
                               {extents[0], all / extents[0]}};
  for (const std::size_t at : group) {
    for (const auto& input : result_.layers[at].inputs) {
      if (!input || inside.contains(*input)) continue;
      dims from = result_extents(result_.layers[*input].op);
      if (std::ranges::find(candidates, from) == candidates.end())
        candidates.push_back(std::move(from));
    }
  }
  std::erase_if(candidates, [&](const dims& one) {
    return one.size() < 2 || one.size() > 3 || elements(one) != all ||
           (common.keeps_first && one.front() != extents.front()) ||
           (common.keeps_last && one.back() != extents.back());
  });
  return candidates;
}

/// The same for a layer and all that have these extents and read one another. Returns whether they
/// have changed.
bool converter::join_axes_of(std::size_t first, const dims& extents, const reader_map& readers,
                             std::set<std::size_t>& done) {
  axes_freedom common{extents, false, false};
  const std::vector<std::size_t> group = group_around(first, readers, common);
  const std::set<std::size_t> inside(group.begin(), group.end());
  // Transposes around the group may have any axes, where only the group reads what they write.
  done.insert(group.begin(), group.end());
  const auto is_inside = [&](std::size_t at) { return inside.contains(at); };
  const auto follows = [&](std::size_t at) {
    return result_.layers[at].op.get<op::transpose>() != nullptr && !is_returned(at) &&
           std::ranges::all_of(readers.at(at), [&](const auto& of) { return is_inside(of.first); });
  };
  /// Copies around the group if it has these extents; with `apply` it gets them.
  const auto copies_with = [&](const dims& as, bool apply) {
    std::size_t copies = 0;
    for (const std::size_t at : group) {
      const op::any op = with_extents(result_.layers[at].op, as);
      for (std::size_t place = 0; place < result_.layers[at].inputs.size(); ++place) {
        const auto& input = result_.layers[at].inputs[place];
        const dims reads = source_extents(op, place);
        if (!input || is_inside(*input)) continue;
        op::any& writer = result_.layers[*input].op;
        auto turned =
            follows(*input) ? with_end(writer, reads, end_of_edge::destination) : std::nullopt;
        if (!turned && !model::detail::connects(op, result_extents(writer), reads)) ++copies;
        if (turned && apply) writer = *turned;
      }
      const auto found = readers.find(at);
      for (std::size_t i = 0; found != readers.end() && i < found->second.size(); ++i) {
        const auto [reader, place] = found->second[i];
        if (is_inside(reader)) continue;
        op::any& by = result_.layers[reader].op;
        auto turned = with_end(by, as, end_of_edge::source);
        if (!turned && !model::detail::connects(by, as, source_extents(by, place))) ++copies;
        if (turned && apply) by = *turned;
      }
      if (apply) result_.layers[at].op = op;
    }
    return copies;
  };
  std::size_t least = copies_with(extents, false);
  if (least == 0) return false;
  std::optional<dims> best;
  for (const dims& one : fewer_axes_of(common, group, inside)) {
    const std::size_t count = copies_with(one, false);
    if (count >= least) continue;
    least = count;
    best = one;
  }
  if (best) copies_with(*best, true);
  return best.has_value();
}

/// Copies tensors whose writer and reader have other axes, and cannot have the same.
void converter::add_copies() {
  std::vector<layer> all;
  std::vector<std::size_t> places;
  std::map<std::pair<std::size_t, dims>, std::size_t> copies;
  for (layer& reader : result_.layers) {
    const auto sources = model::detail::of_role(reader.op, op::role::source);
    for (std::size_t i = 0; i < sources.size(); ++i) {
      if (!reader.inputs[i]) continue;
      const std::size_t writer = places[*reader.inputs[i]];
      reader.inputs[i] = writer;
      const dims from = result_extents(all[writer].op);
      const dims& to = sources[i].extents;
      if (model::detail::connects(reader.op, from, to)) continue;
      const auto [copy, is_new] = copies.try_emplace({writer, to}, all.size());
      reader.inputs[i] = copy->second;
      if (!is_new) continue;
      note("a tensor is copied where its reader needs other axes");
      dims order(from.size());
      std::iota(order.begin(), order.end(), 0);
      const op::transpose created{from, {}, {order}, to};
      all.push_back({"", op::any(created), {writer}, reader.module, "copy"});
    }
    places.push_back(all.size());
    all.push_back(std::move(reader));
  }
  result_.layers = std::move(all);
}

void converter::end_with_softmax() {
  if (graph_.outputs.size() != 1 || !views_[graph_.outputs[0]]) return;
  const view& last = *views_[graph_.outputs[0]];
  if (last.from != source_kind::layer || last.order || last.extents.size() != 2) return;
  if (result_.layers[last.layer].op.get<op::softmax>() != nullptr) return;
  if (!is_batch(last.extents[0]) || !model::detail::connects(last.written, last.extents)) return;
  result_.layers.push_back({"", op::any(op::softmax{last.extents}), {last.layer}, "", "softmax"});
}

converter::reader_map converter::readers_of_layers() const {
  reader_map all;
  for (std::size_t i = 0; i < result_.layers.size(); ++i) {
    const auto& inputs = result_.layers[i].inputs;
    for (std::size_t place = 0; place < inputs.size(); ++place) {
      if (inputs[place]) all[*inputs[place]].emplace_back(i, place);
    }
  }
  return all;
}

/// Whether a result of the model is what a layer writes.
bool converter::is_returned(std::size_t i) const {
  return std::ranges::any_of(graph_.outputs, [&](std::size_t output) {
    return views_[output] && views_[output]->layer == i;
  });
}

/// Recurrent layers of a module that read one another become one layer: in PyTorch they are one
/// call.
void converter::join_recurrent(std::set<std::size_t>& gone) {
  const reader_map readers = readers_of_layers();
  for (layer& upper : result_.layers) {
    const op::rnn* own = upper.op.get<op::rnn>();
    if (own == nullptr || !upper.inputs[0]) continue;
    const std::size_t before = *upper.inputs[0];
    const layer& lower = result_.layers[before];
    const op::rnn* other = lower.op.get<op::rnn>();
    const bool is_stack = other != nullptr && lower.module == upper.module &&
                          lower.word == upper.word && other->inputs == own->inputs &&
                          other->hidden == own->hidden &&
                          other->bidirectional == own->bidirectional;
    if (!is_stack || readers.at(before).size() != 1 || is_returned(before)) continue;
    op::rnn joined = *own;
    joined.layers += other->layers;
    upper.op = op::any(joined);
    upper.inputs = lower.inputs;
    gone.insert(before);
  }
}

/// What a layer is to the attention that reads it, maybe behind transposes: query, key or value.
/// Empty where none does.
std::string converter::word_in_attention(std::size_t of, const reader_map& readers) const {
  const auto found = readers.find(of);
  if (found == readers.end()) return "";
  for (const auto& [reader, place] : found->second) {
    const op::any& op = result_.layers[reader].op;
    if (op.get<op::attention>() != nullptr) {
      return std::vector<std::string>{"query", "key", "value"}[place];
    }
    if (op.get<op::transpose>() != nullptr) {
      const std::string word = word_in_attention(reader, readers);
      if (!word.empty()) return word;
    }
    const op::gemm* product = op.get<op::gemm>();
    if (product == nullptr || product->batch == 1) continue;
    const auto& scores = result_.layers[reader].inputs[0];
    const bool weighs = scores && result_.layers[*scores].op.get<op::softmax>() != nullptr;
    return place == 0 ? "query" : weighs ? "value" : "key";
  }
  return "";
}

/// Whether a part of a bias is learned, as far as it is joined of parts.
bool converter::learns(std::size_t bias, const op::slice& part) const {
  const auto found = joined_.find(bias);
  if (found == joined_.end()) return true;
  std::int64_t begin = 0;
  for (const auto& [size, is_learned] : found->second) {
    const bool is_it = begin == part.begin.value && size == part.size;
    if (is_it) return is_learned;
    begin += size;
  }
  return true;
}

/// A projection whose parts are query, key and value becomes one for each. PyTorch takes the parts
/// as views; slices would copy them.
void converter::split_projections(std::set<std::size_t>& gone) {
  reader_map readers = readers_of_layers();
  for (std::size_t i = 0; i < result_.layers.size(); ++i) {
    const op::gemm* whole = result_.layers[i].op.get<op::gemm>();
    if (whole == nullptr || whole->batch != 1 || !readers.contains(i)) continue;
    std::vector<std::size_t> parts;
    for (const auto& [reader, place] : readers.at(i)) parts.push_back(reader);
    if (parts.empty() || is_returned(i) || !tiles(parts)) continue;
    std::map<std::size_t, std::string> words;
    for (const std::size_t part : parts) {
      const std::string word = word_in_attention(part, readers);
      if (!word.empty()) words[part] = word;
    }
    if (words.empty()) continue;
    const layer projection = result_.layers[i];
    for (const std::size_t part : parts) {
      const op::slice cut = *result_.layers[part].op.get<op::slice>();
      op::gemm own = *projection.op.get<op::gemm>();
      own.n = own.n * cut.size / cut.extent();
      own.bias = own.bias && learns(projection.bias, cut);
      const std::string word = words.contains(part) ? words[part] : "part";
      result_.layers[part] = {"", op::any(own), projection.inputs, projection.module, word};
    }
    note(fmt::format("a projection to query, key and value is timed as {} projections",
                     parts.size()));
    gone.insert(i);
  }
}

void converter::remove_layers(const std::set<std::size_t>& gone) {
  std::vector<std::size_t> number(result_.layers.size());
  std::vector<layer> left;
  for (std::size_t i = 0; i < result_.layers.size(); ++i) {
    number[i] = left.size();
    if (!gone.contains(i)) left.push_back(std::move(result_.layers[i]));
  }
  for (layer& of : left) {
    for (auto& input : of.inputs) {
      if (input) input = number[*input];
    }
  }
  result_.layers = std::move(left);
}

/// Whether layers are slices of one tensor, along an axis of its rows, that make up all of it.
bool converter::tiles(const std::vector<std::size_t>& parts) const {
  const op::slice* first = result_.layers[parts[0]].op.get<op::slice>();
  if (first == nullptr) return false;
  std::map<std::int64_t, std::int64_t> ranges;
  for (const std::size_t part : parts) {
    const op::slice* cut = result_.layers[part].op.get<op::slice>();
    if (cut == nullptr || cut->dims != first->dims || cut->axis != first->axis) return false;
    ranges[cut->begin.value] = cut->begin.value + cut->size;
  }
  const std::int64_t rows =
      result_extents(result_.layers[*result_.layers[parts[0]].inputs[0]].op)[0];
  std::int64_t before = 1;
  bool are_rows = false;
  for (std::int64_t i = 0; i < first->axis.value; ++i) {
    before *= first->dims[static_cast<std::size_t>(i)];
    are_rows = are_rows || before == rows;
  }
  std::int64_t end = 0;
  for (const auto& [from, to] : ranges) {
    if (from != end) return false;
    end = to;
  }
  return are_rows && ranges.size() == parts.size() && end == first->extent();
}

/// Names after the modules; a layer of a module with other layers also has a word for its op.
void converter::name_layers() {
  std::set<std::string> outer{""};
  std::map<std::string, std::set<std::string>> words;
  for (const layer& of : result_.layers) {
    words[of.module].insert(of.word);
    std::string parent = of.module;
    while (!parent.empty()) {
      const std::size_t dot = parent.rfind('.');
      parent.resize(dot == std::string::npos ? 0 : dot);
      if (!outer.insert(parent).second) break;
    }
  }
  std::set<std::string> taken;
  std::map<std::string, std::size_t> used;
  for (layer& of : result_.layers) {
    std::string base = of.module;
    if (outer.contains(of.module) || words[of.module].size() > 1) {
      base += (base.empty() ? "" : "_") + of.word;
    }
    base = legal_name(base).substr(0, 200);
    of.name = base;
    while (!taken.insert(of.name).second) {
      of.name = fmt::format("{}_{}", base, ++used.try_emplace(base, 1).first->second);
    }
  }
}

conversion convert(const graph& g, const sizes& of, bool softmax) {
  const auto is_if = [](const node& one) { return one.op == "If"; };
  if (std::ranges::none_of(g.nodes, is_if)) return converter(g, of).run(softmax);
  const graph taken = with_taken_branches(g, of);
  return converter(taken, of).run(softmax);
}

std::optional<flop_count> left_out(const conversion& of) {
  if (of.unknown.empty() && of.following.empty()) return std::nullopt;
  flop_count all = of.flops_following;
  for (const auto& [key, kind] : of.unknown) all += kind.flops;
  return all;
}

}  // namespace layerbench::tool::importer
