// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <ranges>
#include <unordered_map>
#include <utility>
#include <vector>

#include <layerbench/base/json.hpp>

#include "graph.hpp"

// The calls that tools/torch_export.py has traced. A table gives the op of each call, which is that
// of ONNX where there is one, and what becomes of its arguments. Calls that no op computes keep
// their names, which no rule has.

namespace layerbench::tool::importer {
namespace {

constexpr std::int64_t version = 1;
constexpr std::size_t most_calls = 200'000;
constexpr std::size_t most_axes = 16;
constexpr int most_nested_lists = 8;

/// What torch takes for the epsilon of an RMS norm that has none.
double machine_epsilon(int type) {
  if (type == element::f16) return 0x1p-10;
  if (type == element::bf16) return 0x1p-7;
  if (type == element::f64) return 0x1p-52;
  return type == element::f32 ? 1.1920929e-07 : 1e-5;  // 0x1p-23 as torch prints it
}

int type_of(std::string_view dtype) {
  static const std::unordered_map<std::string_view, int> types{
      {"float32", element::f32},   {"float64", element::f64}, {"float16", element::f16},
      {"bfloat16", element::bf16}, {"int64", element::i64},   {"int32", element::i32},
      {"bool", element::boolean},  {"uint8", element::u8},    {"int8", element::i8}};
  const auto found = types.find(dtype);
  return found == types.end() ? 0 : found->second;
}

/// aten.relu_.default: relu. Calls of tools/torch_export.py: layerbench.routed_linear.default.
/// Other targets as they are.
std::string base_of(const std::string& target) {
  const std::string_view own = "layerbench.";
  const std::string_view library = target.starts_with(own) ? own : "aten.";
  const std::size_t end = target.rfind('.');
  if (!target.starts_with(library) || end <= library.size() ||
      target.find('.', library.size()) != end) {
    return target;
  }
  std::string base = target.substr(library.size(), end - library.size());
  if (base.ends_with('_') && base.size() > 1) base.pop_back();
  return base;
}

class reader {
 public:
  explicit reader(const std::string& file) : file_(json::parse_file(file)), root_(file_, file) {
    result_.file = file;
    result_.opset = 23;
    result_.is_traced = true;
  }

  graph read() && {
    if (!file_.is_object() || !root_.has("layerbench_torch_export") ||
        file_["layerbench_torch_export"] != version) {
      throw bad_input(result_.file, "/layerbench_torch_export",
                      fmt::format("is not {}; export the model again", version));
    }
    root_.require_keys({"name", "calls", "outputs"});
    result_.name = root_["name"].text();
    if (result_.name.empty()) root_["name"].fail("is empty");
    if (root_.has("source")) result_.source = root_["source"].text();
    if (root_.has("batch")) result_.batch = count(root_["batch"]);
    if (result_.batch < 1) root_["batch"].fail("is no size");
    if (root_.has("parameters")) result_.learned_values = whole(root_["parameters"]);
    tensors("inputs");
    tensors("weights");
    tensors("buffers");
    calls();
    for (const std::string& name : root_["outputs"].texts()) {
      const auto found = names_.find(name);
      if (found == names_.end()) root_["outputs"].fail("no call is named " + in_quotes(name));
      result_.outputs.push_back(found->second);
    }
    return std::move(result_);
  }

 private:
  /// The op of a call, and the arguments that are its operands. One whose key ends in "?" may be
  /// missing, and one whose key ends in "*" is a list of tensors. "input|self" is either.
  struct meaning {
    const char* op;
    std::vector<std::string_view> operands;
    void (reader::*attributes)() = nullptr;
  };

  // Numbers and sizes.

  static std::int64_t whole(const json::cursor& at) {
    if (!at.get().is_number_integer() || (at.get().is_number_unsigned() && at.get() > INT64_MAX)) {
      at.fail("is no whole number");
    }
    return at.get().get<std::int64_t>();
  }

  static std::int64_t count(const json::cursor& at) {
    const bool is_size = at.get().is_number_integer() && at.get() >= 0 && at.get() <= max_size;
    if (!is_size) at.fail(fmt::format("is no size from 0 to {}", max_size));
    return at.get().get<std::int64_t>();
  }

  static named_size size(const json::cursor& at) {
    const json::value& of = at.get();
    if (of == "batch") return {-1, "batch"};
    if (!of.is_array()) return {count(at)};
    if (of.size() != 2 || of[0] != "batch") {
      at.fail("a size is a number, \"batch\" or [\"batch\", factor]");
    }
    return {-1, "batch", count(at[1])};
  }

  static std::vector<named_size> sizes(const json::cursor& at) {
    at.require_array();
    if (at.get().size() > most_axes) at.fail(fmt::format("has more than {} sizes", most_axes));
    std::vector<named_size> all;
    for (std::size_t i = 0; i < at.get().size(); ++i) all.push_back(size(at[i]));
    return all;
  }

  /// FLOPs of one image, or of the call.
  static double flops(const json::cursor& at) {
    const bool by_image = at.get().is_array() && at.get().size() == 2 && at.get()[0] == "batch";
    const std::int64_t found = whole(by_image ? at[1] : at);
    if (found < 0) at.fail("is no number of FLOPs");
    return static_cast<double>(found);
  }

  // Tensors.

  std::size_t add_value(std::string name, std::vector<named_size> extents, int type) {
    result_.values.push_back({std::move(name), type, std::move(extents)});
    learned_.push_back(false);
    return result_.values.size() - 1;
  }

  void tensors(const char* key) {
    if (!root_.has(key)) return;
    const json::cursor all = root_[key];
    all.require_object();
    for (const auto& [name, entry] : all.get().items()) {
      const json::cursor at = all[name];
      const bool is_input = key == std::string_view("inputs");
      if (is_input) at.require_keys({"dims"});
      const auto extents = sizes(is_input ? at["dims"] : at);
      const int type = is_input && at.has("dtype") ? type_of(at["dtype"].text()) : element::f32;
      const std::size_t value = add_value(name, extents, type);
      names_[name] = value;
      if (is_input) {
        result_.inputs.push_back(value);
        continue;
      }
      tensor stored{name, {}, type, {}, key == std::string_view("weights")};
      for (const named_size& one : extents) {
        if (one.size < 0) at.fail("depends on the batch");
        stored.extents.push_back(one.size);
      }
      learned_[value] = *stored.is_learned;
      result_.values[value].initializer = std::move(stored);
    }
  }

  std::size_t constant(double number) {
    const std::size_t value = add_value("", {}, element::f32);
    result_.values[value].initializer =
        tensor{"", {}, element::f32, elements_of{{}, {number}}, false};
    return value;
  }

  // Calls.

  void calls() {
    const json::cursor all = root_["calls"];
    all.require_array();
    if (all.get().empty() || all.get().size() > most_calls) {
      all.fail(fmt::format("has no calls, or more than {}", most_calls));
    }
    for (index_ = 0; index_ < all.get().size(); ++index_) {
      const json::cursor at = all[index_];
      at.require_keys({"name", "target", "args"});
      at["args"].require_object();
      call_ = &at;
      call();
    }
  }

  void call() {
    const json::cursor& at = *call_;
    const auto text = [&](std::string_view key) { return at.has(key) ? at[key].text() : ""; };
    const std::string name = at["name"].text();
    if (name.empty() || names_.contains(name)) {
      at["name"].fail(in_quotes(name) + " is empty or stands above already");
    }
    const std::string target = at["target"].text();
    if (target == "getitem") return part_of(name, text("dtype"));
    node_ = {};
    node_.index = index_;
    node_.name = name;
    node_.call = base_of(target);
    node_.module = text("module");
    node_.place = *node_.module;
    if (const std::string code = text("at"); !code.empty()) {
      node_.place += (node_.place.empty() ? "" : ", ") + code;
    }
    if (node_.place.empty()) node_.place = name;
    if (at.has("flops")) node_.flops = flops(at["flops"]);
    node_.writes_part = at.has("writes_view") && at["writes_view"].get() == true;
    const std::string dtype = text("dtype");
    results(name, dtype.empty() ? element::f32 : type_of(dtype));
    if (node_.writes_part) {
      refuse("that writes to a part of a tensor");
    } else {
      give_meaning(target);
    }
    names_[name] = node_.outputs[0];
    finish();
  }

  void results(const std::string& name, int type) {
    const json::cursor& at = *call_;
    if (!at.has("outputs")) {
      at.require_keys({"dims"});
      node_.outputs.push_back(add_value(name, sizes(at["dims"]), type));
      return;
    }
    const json::cursor all = at["outputs"];
    all.require_array();
    if (all.get().empty()) all.fail("has no extents");
    for (std::size_t i = 0; i < all.get().size(); ++i) {
      node_.outputs.push_back(add_value(fmt::format("{}[{}]", name, i), sizes(all[i]), type));
    }
  }

  /// One of several results of a call is another name of it.
  void part_of(const std::string& name, const std::string& dtype) {
    const std::size_t source = reference("0");
    if (source == no_value) wrong("0", "is no tensor");
    const std::int64_t index = integer("1");
    const auto writer = writers_.find(source);
    if (writer == writers_.end() || index < 0 ||
        index >= static_cast<std::int64_t>(result_.nodes[writer->second].outputs.size())) {
      wrong("1", "is no result of its call");
    }
    const std::size_t value =
        result_.nodes[writer->second].outputs[static_cast<std::size_t>(index)];
    if (!dtype.empty()) result_.values[value].type = type_of(dtype);
    names_[name] = value;
  }

  void give_meaning(const std::string& target) {
    const auto found = meanings.find(node_.call);
    if (found == meanings.end() || target == node_.call) return refuse("");
    const meaning& of = *found->second;
    node_.op = of.op;
    for (const std::string_view key : of.operands) operand(key);
    if (of.attributes != nullptr) (this->*of.attributes)();
  }

  /// Marks the call as one that no op computes.
  void refuse(std::string reason) {
    node_.op = node_.call;
    node_.refusal = std::move(reason);
    node_.attributes.clear();
    node_.inputs.clear();
    const bool reads_nothing = constants.find(' ' + node_.call + ' ') != std::string_view::npos;
    if (!reads_nothing) references((*call_)["args"].get(), 0);
  }

  void finish() {
    for (const std::size_t input : node_.inputs) {
      if (input == no_value || !learned_[input]) continue;
      for (const std::size_t output : node_.outputs) learned_[output] = true;
    }
    for (const std::size_t output : node_.outputs) writers_[output] = result_.nodes.size();
    result_.nodes.push_back(std::move(node_));
  }

  /// Adds all tensors that arguments name.
  void references(const json::value& of, int depth) {
    if (of.is_string() && of.get_ref<const std::string&>().starts_with('%')) {
      node_.inputs.push_back(named(of.get<std::string>(), ""));
    } else if (of.is_structured() && depth < most_nested_lists) {
      for (const auto& [key, one] : of.items()) {
        if (depth > 0 || key != "attn_mask") references(one, depth + 1);
      }
    }
  }

  // Arguments.

  [[noreturn]] void wrong(std::string_view key, std::string_view what) const {
    throw bad_input(
        result_.file,
        fmt::format("/calls/{}/args{}{}", index_, key.empty() ? "" : "/", json::detail::token(key)),
        what);
  }

  /// Null where it is missing.
  [[nodiscard]] const json::value* argument(std::string_view key) const {
    const json::value& all = call_->get()["args"];
    const auto found = all.find(key);
    return found == all.end() || found->is_null() ? nullptr : &*found;
  }
  [[nodiscard]] std::size_t named(const std::string& text, std::string_view key) const {
    const auto found = text.starts_with('%') ? names_.find(text.substr(1)) : names_.end();
    if (found == names_.end()) wrong(key, "no call before it is named " + in_quotes(text));
    return found->second;
  }
  /// A tensor; no_value where there is none.
  [[nodiscard]] std::size_t reference(std::string_view key) const {
    const json::value* found = argument(key);
    if (found == nullptr) return no_value;
    if (!found->is_string()) wrong(key, "is no tensor");
    return named(found->get<std::string>(), key);
  }
  [[nodiscard]] std::vector<std::size_t> list_of_tensors(std::string_view key) const {
    const json::value* found = argument(key);
    if (found == nullptr || !found->is_array()) wrong(key, "is no list of tensors");
    std::vector<std::size_t> all;
    for (const json::value& one : *found) {
      if (!one.is_string()) wrong(key, "is no list of tensors");
      all.push_back(named(one.get<std::string>(), key));
    }
    return all;
  }
  [[nodiscard]] std::int64_t integer(std::string_view key,
                                     std::optional<std::int64_t> otherwise = {}) const {
    const json::value* found = argument(key);
    if (found == nullptr && otherwise) return *otherwise;
    if (found == nullptr || !found->is_number_integer() ||
        (found->is_number_unsigned() && *found > INT64_MAX)) {
      wrong(key, "is no whole number");
    }
    return found->get<std::int64_t>();
  }
  [[nodiscard]] double number(std::string_view key, std::optional<double> otherwise = {}) const {
    const json::value* found = argument(key);
    if (found == nullptr && otherwise) return *otherwise;
    if (found == nullptr || !found->is_number()) wrong(key, "is no number");
    return found->get<double>();
  }
  [[nodiscard]] bool flag(std::string_view key, bool otherwise = false) const {
    const json::value* found = argument(key);
    if (found != nullptr && !found->is_boolean()) wrong(key, "is neither true nor false");
    return found == nullptr ? otherwise : found->get<bool>();
  }
  /// A whole number, or a list of them.
  [[nodiscard]] std::vector<std::int64_t> integers(std::string_view key) const {
    const json::value* found = argument(key);
    if (found == nullptr) return {};
    const json::value listed = found->is_array() ? *found : json::value::array({*found});
    std::vector<std::int64_t> all;
    for (const json::value& one : listed) {
      if (!one.is_number_integer() || (one.is_number_unsigned() && one > INT64_MAX)) {
        wrong(key, "is no list of whole numbers");
      }
      all.push_back(one.get<std::int64_t>());
    }
    return all;
  }
  /// Sizes along the axes of an image.
  [[nodiscard]] dims axes_sizes(std::string_view key, std::size_t axes, std::int64_t least,
                                std::optional<dims> otherwise) const {
    dims found = integers(key);
    if (found.empty() && otherwise) return *otherwise;
    if (found.size() == 1) found.assign(axes, found[0]);
    const auto is_size = [&](std::int64_t one) { return one >= least && one <= max_size; };
    if (found.size() != axes || !std::ranges::all_of(found, is_size)) {
      wrong(key, fmt::format("is not {} sizes", axes));
    }
    return found;
  }

  // What becomes of them.

  void operand(std::string_view key) {
    const char kind = key.back();
    if (kind == '?' || kind == '*') key.remove_suffix(1);
    if (const std::size_t or_else = key.find('|'); or_else != std::string_view::npos) {
      const std::string_view first = key.substr(0, or_else);
      key = argument(first) != nullptr ? first : key.substr(or_else + 1);
    }
    if (kind == '*') {
      for (const std::size_t value : list_of_tensors(key)) node_.inputs.push_back(value);
      return;
    }
    const json::value* found = argument(key);
    const bool is_number = found != nullptr && (found->is_number() || found->is_boolean());
    if (found == nullptr && kind != '?') wrong(key, "is missing");
    if (is_number) {
      const double value = found->is_number() ? found->get<double>() : found->get<bool>() ? 1 : 0;
      node_.inputs.push_back(constant(value));
    } else {
      node_.inputs.push_back(reference(key));
    }
  }

  void give(std::string name, std::int64_t value) {
    node_.attributes.push_back({.name = std::move(name), .i = value});
  }
  void give_number(std::string name, double value) {
    node_.attributes.push_back({.name = std::move(name), .f = value});
  }
  void give_text(std::string name, std::string value) {
    node_.attributes.push_back({.name = std::move(name), .s = std::move(value)});
  }
  void give_list(std::string name, dims values) {
    node_.attributes.push_back({.name = std::move(name), .ints = std::move(values)});
  }

  [[nodiscard]] const std::vector<named_size>& extents(std::size_t value) const {
    return *result_.values[value].extents;
  }
  [[nodiscard]] std::size_t axes_of_input(std::size_t i) const {
    return extents(node_.inputs[i]).size();
  }
  /// An axis counted from 0.
  [[nodiscard]] std::int64_t axis(std::string_view key, std::int64_t found,
                                  std::size_t axes) const {
    const auto count = static_cast<std::int64_t>(axes);
    if (found < -count || found >= count) wrong(key, "is no axis");
    return found < 0 ? found + count : found;
  }

  void convolution() {
    const std::size_t filters = axes_of_input(1);
    const std::size_t axes = filters < 2 ? 0 : filters - 2;
    if (axes < 1 || axes > 3) return refuse(fmt::format("of {} axes", axes));
    if (axes_of_input(0) != filters) {
      return refuse(fmt::format("of a tensor with {} axes", axes_of_input(0)));
    }
    const bool transposed = node_.call.starts_with("conv_transpose") || flag("transposed");
    if (transposed) node_.op = "ConvTranspose";
    const dims stride = axes_sizes("stride", axes, 1, dims(axes, 1));
    const dims dilation = axes_sizes("dilation", axes, 1, dims(axes, 1));
    give_list("strides", stride);
    give_list("dilations", dilation);
    give_list("pads", convolution_pads(axes, dilation));
    const std::int64_t groups = integer("groups", 1);
    const named_size& channels = extents(node_.inputs[0])[1];
    const std::vector<named_size>& w = extents(node_.inputs[1]);
    const std::int64_t of_filters = transposed ? w[0].size : w[1].size * groups;
    if (groups < 1 || groups > max_size || w[0].size % groups != 0 ||
        (channels.size >= 0 && of_filters != channels.size)) {
      wrong("groups", "does not fit the channels");
    }
    give("group", groups);
    if (transposed)
      give_list("output_padding", axes_sizes("output_padding", axes, 0, dims(axes, 0)));
  }

  /// Those before all axes, then those behind.
  [[nodiscard]] dims convolution_pads(std::size_t axes, const dims& dilation) const {
    dims before(axes, 0);
    dims behind(axes, 0);
    const json::value* padding = argument("padding");
    if (padding == nullptr || !padding->is_string()) {
      before = behind = axes_sizes("padding", axes, 0, before);
    } else if (*padding == "same") {
      const std::vector<named_size>& w = extents(node_.inputs[1]);
      for (std::size_t i = 0; i < axes; ++i) {
        const std::int64_t sides = checked_multiply(dilation[i], w[i + 2].size - 1);
        before[i] = sides / 2;
        behind[i] = sides - before[i];
      }
    } else if (*padding != "valid") {
      wrong("padding", "is neither sizes nor \"same\" nor \"valid\"");
    }
    before.insert(before.end(), behind.begin(), behind.end());
    return before;
  }

  void matrix_sum() {
    give_number("alpha", number("alpha", 1));
    give_number("beta", number("beta", 1));
    if (axes_of_input(2) != 1) refuse("with other than a bias");
  }

  /// 2 of max_pool2d.
  [[nodiscard]] std::size_t axes_of_call() const {
    const char digit =
        *std::ranges::find_if(node_.call, [](char c) { return c >= '1' && c <= '3'; });
    return static_cast<std::size_t>(digit - '0');
  }

  void pool() {
    const std::size_t axes = axes_of_call();
    if (axes_of_input(0) != axes + 2) return refuse("without a batch");
    const dims size = axes_sizes("kernel_size", axes, 1, std::nullopt);
    give_list("kernel_shape", size);
    give_list("strides", axes_sizes("stride", axes, 1, size));
    give_list("dilations", axes_sizes("dilation", axes, 1, dims(axes, 1)));
    dims pads = axes_sizes("padding", axes, 0, dims(axes, 0));
    pads.insert(pads.end(), pads.begin(), pads.begin() + static_cast<std::ptrdiff_t>(axes));
    give_list("pads", pads);
    give("ceil_mode", flag("ceil_mode") ? 1 : 0);
    give("count_include_pad", flag("count_include_pad", true) ? 1 : 0);
    if (argument("divisor_override") != nullptr) refuse("with a divisor");
  }

  void adaptive_pool() {
    if (axes_of_input(0) != axes_of_call() + 2) refuse("without a batch");
  }

  void resample() { give_text("mode", node_.call == "upsample_nearest2d" ? "nearest" : "linear"); }

  void reduction() {
    if (argument("other") != nullptr) return refuse("over other than height and width");
    give_list("axes", integers("dim"));
    give("keepdims", flag("keepdim") ? 1 : 0);
  }

  void norm() {
    reduction();
    const json::value* order = argument("ord");
    if (order != nullptr && *order != 2) refuse("of another order than 2");
  }

  void batchnorm() {
    const bool of_batch =
        node_.call == "batch_norm" && (flag("training") || argument("running_mean") == nullptr);
    if (of_batch) return refuse("with statistics of the batch");
    give_number("epsilon", number("eps", 1e-5));
  }

  void groupnorm() {
    give("num_groups", integer("num_groups"));
    give_number("epsilon", number("eps", 1e-5));
  }

  void instancenorm() {
    if (!flag("use_input_stats", true)) return refuse("with running statistics");
    give("num_groups", extents(node_.inputs[0])[1].size);
    give_number("epsilon", number("eps", 1e-5));
  }

  void layernorm() {
    const dims columns = integers("normalized_shape");
    const std::vector<named_size>& x = extents(node_.inputs[0]);
    bool fits = !columns.empty() && columns.size() < x.size();
    for (std::size_t i = 0; fits && i < columns.size(); ++i) {
      fits = x[x.size() - columns.size() + i].size == columns[i];
    }
    if (!fits) wrong("normalized_shape", "is not the last axes");
    give("axis", -static_cast<std::int64_t>(columns.size()));
    const bool is_rms = node_.call == "rms_norm";
    const int type = result_.values[node_.outputs[0]].type;
    give_number("epsilon", number("eps", is_rms ? machine_epsilon(type) : 1e-5));
  }

  void attention() {
    give("is_causal", flag("is_causal") ? 1 : 0);
    const bool is_learned = node_.inputs[3] != no_value && learned_[node_.inputs[3]];
    const std::vector<named_size>& keys = extents(node_.inputs[1]);
    const std::vector<named_size>& values = extents(node_.inputs[2]);
    const bool is_wide = !keys.empty() && !values.empty() && keys.back().size != values.back().size;
    if (is_learned || is_wide) return attention_in_steps(is_learned);
    if (node_.inputs[3] == no_value) return;
    give_text("mask", call_->has("mask") ? (*call_)["mask"].text() : "");
    node_.inputs.resize(3);  // so that it is not computed
    node_.inputs.push_back(constant(0));
  }

  /// Attention to whose scores a computed tensor is added, or with values of another width than
  /// keys, as four or three nodes besides the one that turns the keys.
  void attention_in_steps(bool is_biased) {
    const node whole = node_;
    const std::size_t axes = axes_of_input(0);
    if (axes < 3 || axes_of_input(1) != axes || axes_of_input(2) != axes) {
      return refuse(fmt::format("of tensors with {} axes", axes));
    }
    std::vector<named_size> turned = extents(whole.inputs[1]);
    std::swap(turned[axes - 2], turned[axes - 1]);
    std::vector<named_size> scores = extents(whole.inputs[0]);
    scores.back() = turned.back();
    dims order(axes);
    std::iota(order.begin(), order.end(), 0);
    std::swap(order[axes - 2], order[axes - 1]);
    const auto next = [&](const char* op, std::vector<std::size_t> inputs,
                          const std::vector<named_size>& as) {
      node_ = whole;
      node_.op = op;
      node_.flops.reset();
      node_.attributes.clear();
      node_.inputs = std::move(inputs);
      node_.outputs = {add_value("", as, result_.values[whole.outputs[0]].type)};
      if (order.size() == axes) give_list("perm", order);
      order.clear();
      const std::size_t output = node_.outputs[0];
      finish();
      return output;
    };
    const std::size_t key = next("Transpose", {whole.inputs[1]}, turned);
    const std::size_t product = next("MatMul", {whole.inputs[0], key}, scores);
    const std::size_t sum = is_biased ? next("Add", {product, whole.inputs[3]}, scores) : product;
    const std::size_t shares = next("Softmax", {sum}, scores);
    node_ = whole;
    node_.op = "MatMul";
    node_.attributes.clear();
    node_.inputs = {shares, whole.inputs[2]};
    node_.note = is_biased
                     ? "attention with a computed mask is timed as products, a sum and a softmax"
                     : "attention with values of another width than keys is timed as products and "
                       "a softmax, without its mask";
  }

  /// Whether an argument has the value that an activation needs. Refuses the call if not.
  bool needs(std::string_view key, std::optional<double> otherwise, double value) {
    const json::value* found = argument(key);
    const bool is_it = found == nullptr ? otherwise == value : number(key) == value;
    if (!is_it) refuse(fmt::format("with {} {}", key, found == nullptr ? "None" : found->dump()));
    return is_it;
  }

  void clip() {
    const bool clamps = node_.call != "hardtanh";
    for (const bool least : {true, false}) {
      const std::string key = clamps ? (least ? "min" : "max") : (least ? "min_val" : "max_val");
      const json::value* found = argument(key);
      if (found != nullptr && !found->is_number()) return refuse("with computed limits");
      if (found == nullptr && clamps) continue;
      give_number(least ? "min" : "max", number(key, least ? -1 : 1));
    }
  }
  void clip_to_6() {
    give_number("min", 0);
    give_number("max", 6);
  }
  void hardsigmoid() { give_number("alpha", 1.0 / 6); }
  void gelu() {
    const json::value* found = argument("approximate");
    give_text("approximate",
              found != nullptr && found->is_string() ? found->get<std::string>() : "none");
  }
  void leaky_relu() { give_number("alpha", number("negative_slope", 0.01)); }
  void elu() {
    if (needs("scale", 1, 1) && needs("input_scale", 1, 1))
      give_number("alpha", number("alpha", 1));
  }

  /// Half of the channels times the sigmoid of the others, as three nodes.
  void glu() {
    const std::int64_t at = axis("dim", integer("dim", -1), axes_of_input(0));
    const std::vector<named_size> half = extents(node_.outputs[0]);
    if (half.size() != axes_of_input(0)) wrong("self", "has other axes than the result");
    const named_size& part = half[static_cast<std::size_t>(at)];
    if (part.size < 0) return refuse("along the batch");
    const node whole = node_;
    const auto value = [&] { return add_value("", half, result_.values[whole.outputs[0]].type); };
    node_.op = "Split";
    node_.outputs = {value(), value()};
    give("axis", at);
    give_list("split", {part.size, part.size});
    const std::vector<std::size_t> halves = node_.outputs;
    finish();
    node_ = whole;
    node_.op = "Sigmoid";
    node_.flops.reset();
    node_.inputs = {halves[1]};
    node_.outputs = {value()};
    const std::size_t gate = node_.outputs[0];
    finish();
    node_ = whole;
    node_.op = "Mul";
    node_.flops.reset();
    node_.inputs = {halves[0], gate};
  }

  void dropout() {
    give_number("ratio", number("p"));
    if (node_.call == "feature_dropout" && number("p") > 0) {
      node_.note = "dropout of whole channels is timed as dropout of elements";
    }
  }

  void softmax() { give("axis", axis("dim", integer("dim"), axes_of_input(0))); }

  void topk() {
    const std::size_t axes = axes_of_input(0);
    if (axis("dim", integer("dim", -1), axes) + 1 != static_cast<std::int64_t>(axes)) {
      return refuse("of another axis than the last");
    }
    const json::value* largest = argument("largest");
    if (largest != nullptr && *largest != true) refuse("of the smallest");
  }

  /// Of a sum or a difference.
  void sum() {
    if (number("alpha", 1) != 1) return refuse("with a factor");
    const json::value* other = argument("other");
    if (other == nullptr || !other->is_number() || *other != 0) return;
    node_.op = "View";
    node_.inputs.resize(1);
    node_.note = "the addition of 0, with which sum() begins, is left out";
  }

  /// self + value * tensor1 * tensor2, as three nodes of which the last is the current one.
  void product_sum() {
    const node whole = node_;
    if (number("value", 1) != 1) return refuse("with a factor");
    const std::size_t product =
        add_value("", extents(whole.outputs[0]), result_.values[whole.outputs[0]].type);
    node_.op = "Mul";
    node_.inputs = {reference("tensor1"), reference("tensor2")};
    node_.outputs = {product};
    finish();
    node_ = whole;
    node_.inputs.push_back(product);
  }

  void square() { node_.inputs.push_back(constant(2)); }

  void stack() {
    const std::vector<named_size>& all = extents(node_.outputs[0]);
    const std::int64_t at = axis("dim", integer("dim", 0), all.size());
    std::vector<named_size> part = all;
    part[static_cast<std::size_t>(at)] = {1};
    node whole = node_;
    for (std::size_t& input : whole.inputs) {
      node_ = whole;
      node_.op = "View";
      node_.inputs = {input};
      node_.outputs = {add_value("", part, result_.values[input].type)};
      input = node_.outputs[0];
      finish();
    }
    node_ = std::move(whole);
    give("axis", at);
  }

  void roll() {
    const dims shifts = integers("shifts");
    const dims over = integers("dims");
    if (over.empty()) return refuse("of a tensor without its axes");
    if (shifts.size() != over.size()) wrong("dims", "are not as many as shifts");
    for (const std::int64_t one : over) static_cast<void>(axis("dims", one, axes_of_input(0)));
    give("copies", static_cast<std::int64_t>(over.size()));
  }

  /// Rows at positions that one tensor has.
  void index() {
    const json::value* all = argument("indices");
    if (all == nullptr || !all->is_array()) wrong("indices", "is no list");
    std::optional<std::size_t> at;
    for (std::size_t i = 0; i < all->size(); ++i) {
      if ((*all)[i].is_null()) continue;
      if (!(*all)[i].is_string()) wrong("indices", "is no list of tensors");
      if (at) node_.op = "Choice";
      at = i;
      node_.inputs.push_back(named((*all)[i].get<std::string>(), "indices"));
      if (result_.values[node_.inputs.back()].type == element::boolean) {
        return refuse("by truth values");
      }
    }
    if (!at) wrong("indices", "names no tensor");
    give("axis", axis("indices", static_cast<std::int64_t>(*at), axes_of_input(0)));
  }

  /// Copies of a tensor side by side, along axes that it has once.
  void repeat() {
    const json::value* times = argument("repeats");
    if (times == nullptr || !times->is_array()) wrong("repeats", "is no list");
    const std::vector<named_size>& x = extents(node_.inputs[0]);
    if (times->size() < x.size()) wrong("repeats", "has fewer sizes than the tensor");
    for (std::size_t i = 0; i < x.size(); ++i) {
      if ((*times)[times->size() - x.size() + i] != 1 && x[i].size != 1) {
        return refuse("of more than one position");
      }
    }
  }

  /// The tensor of which a condition replaces values by a number.
  void where() {
    for (const char* key : {"self", "other"}) {
      const json::value* other = argument(key == std::string_view("self") ? "other" : "self");
      const bool is_number = other != nullptr && !other->is_string();
      if (is_number) return operand(key);
    }
    refuse("of two tensors");
  }

  /// A sum with products, as two nodes of which the last is the current one.
  void batched_sum() {
    const node whole = node_;
    if (number("beta", 1) != 1) return refuse("with a factor of the sum");
    if (number("alpha", 1) != 1) node_.note = "a factor of products is left out";
    const std::size_t product =
        add_value("", extents(whole.outputs[0]), result_.values[whole.outputs[0]].type);
    node_.outputs = {product};
    finish();
    node_ = whole;
    node_.op = "Add";
    node_.flops.reset();
    node_.inputs = {product, reference("self")};
  }

  /// What becomes of the rows of a bag.
  void bag() {
    constexpr std::array modes{"sum", "mean", "max"};
    if (reference("per_sample_weights") != no_value) return refuse("with weights of rows");
    const std::int64_t mode = integer("mode", 0);
    if (mode < 0 || mode >= std::ssize(modes)) wrong("mode", "is none of 0, 1 and 2");
    give_text("mode", modes[static_cast<std::size_t>(mode)]);
  }

  /// The number of experts of a token.
  void routing() {
    const std::size_t experts = reference("experts");
    if (experts == no_value || extents(experts).empty()) wrong("experts", "is no list of experts");
    give("top_k", extents(experts).back().size);
  }

  void einsum() {
    const json::value* found = argument("equation");
    if (found == nullptr || !found->is_string()) wrong("equation", "is no text");
    std::string equation = found->get<std::string>();
    std::erase(equation, ' ');
    give_text("equation", std::move(equation));
  }

  void concat() {
    std::erase_if(node_.inputs, [&](std::size_t value) {  // torch ignores them
      return extents(value).size() == 1 && extents(value)[0].size == 0;
    });
    if (node_.inputs.empty()) return refuse("of tensors without elements");
    give("axis", axis("dim", integer("dim", 0), extents(node_.outputs[0]).size()));
  }

  void pad() {
    const json::value* mode = argument("mode");
    const json::value* value = argument("value");
    if ((mode != nullptr && *mode != "constant") || (value != nullptr && *value != 0)) {
      return refuse(fmt::format("with other than zeros ({})", mode != nullptr && mode->is_string()
                                                                  ? mode->get<std::string>()
                                                                  : "constant"));
    }
    const dims listed = integers("pad");
    const std::size_t axes = axes_of_input(0);
    if (argument("pad") == nullptr || listed.size() % 2 != 0 || listed.size() > 2 * axes) {
      wrong("pad", "is no list of pairs");
    }
    dims sides(2 * axes, 0);
    for (std::size_t i = 0; i < listed.size() / 2; ++i) {
      sides[axes - 1 - i] = listed[2 * i];
      sides[2 * axes - 1 - i] = listed[2 * i + 1];
    }
    give_list("pads", sides);
  }

  void recurrent() {
    if (!flag("has_biases")) return refuse("without biases");
    const auto weights = list_of_tensors("params");
    const json::value* states = argument("hx");
    const auto initial = states != nullptr && states->is_array() ? list_of_tensors("hx")
                                                                 : std::vector{reference("hx")};
    const std::int64_t depth = integer("num_layers");
    const std::int64_t ways = flag("bidirectional") ? 2 : 1;
    const auto given = static_cast<std::int64_t>(weights.size());
    if (depth < 1 || depth > given || given != 4 * depth * ways) {
      return refuse(given == 5 * depth * ways ? "with projections" : "of packed data");
    }
    if (std::ranges::find(initial, no_value) != initial.end()) {
      return refuse("with an initial state");
    }
    node_.inputs.insert(node_.inputs.end(), weights.begin(), weights.end());
    node_.inputs.insert(node_.inputs.end(), initial.begin(), initial.end());
    give("weights", given);
    give("layers", depth);
    give("bidirectional", ways - 1);
    give("batch_first", flag("batch_first") ? 1 : 0);
    if (number("dropout", 0) != 0 && depth > 1) {
      node_.note = fmt::format("dropout between the layers of {} is left out", node_.call);
    }
  }

  void cast() { give_text("to", call_->has("dtype") ? (*call_)["dtype"].text() : "float32"); }

  void alpha_dropout() {
    if (number("p") != 0) refuse("");
  }

  void transpose() {
    const std::size_t axes = axes_of_input(0);
    dims order(axes);
    for (std::size_t i = 0; i < axes; ++i) order[i] = static_cast<std::int64_t>(i);
    const auto axes_of_key = [&](std::string_view key) {
      dims found = integers(key);
      for (std::int64_t& one : found) one = axis(key, one, axes);
      return found;
    };
    if (node_.call == "permute") {
      order = axes_of_key("dims");
    } else if (node_.call == "transpose" || node_.call == "swapaxes") {
      const std::string prefix = node_.call == "transpose" ? "dim" : "axis";
      const auto one = axis(prefix + '0', integer(prefix + '0'), axes);
      const auto other = axis(prefix + '1', integer(prefix + '1'), axes);
      std::swap(order[static_cast<std::size_t>(one)], order[static_cast<std::size_t>(other)]);
    } else if (node_.call == "movedim") {
      const dims from = axes_of_key("source");
      const dims to = axes_of_key("destination");
      std::map<std::int64_t, std::int64_t> moves;  // by where it goes
      for (std::size_t i = 0; i < from.size() && i < to.size(); ++i) moves[to[i]] = from[i];
      std::erase_if(order, [&](auto one) { return std::ranges::find(from, one) != from.end(); });
      if (from.size() != to.size() || order.size() + moves.size() != axes) {
        wrong("destination", "does not fit the source");
      }
      for (const auto& [at, moved] : moves) order.insert(order.begin() + at, moved);
    } else {
      std::ranges::reverse(order);
    }
    if (order.empty()) node_.op = "View";
    give_list("perm", order);
  }

  void part() {
    const std::int64_t step = integer("step", 1);
    if (step < 1 || step > max_size) wrong("step", "is no step");
    give("step", step);
    const char* key = node_.call == "select" ? "index" : "start";
    const json::value* begin = argument(key);
    if (begin != nullptr && !begin->is_number_integer()) {
      return refuse("from a computed position");
    }
    give("axis", axis("dim", integer("dim", 0), axes_of_input(0)));
    give("begin", integer(key, 0));
  }

  void split() {
    const std::size_t axes = axes_of_input(0);
    const std::int64_t at = axis("dim", integer("dim", 0), axes);
    give("axis", at);
    if (node_.op == std::string_view("Unbind")) return;
    dims sizes;
    for (const std::size_t output : node_.outputs) {
      const std::vector<named_size>& one = extents(output);
      if (one.size() != axes) wrong("self", "has other axes than its parts");
      if (one[static_cast<std::size_t>(at)].size < 0) return refuse("along the batch");
      sizes.push_back(one[static_cast<std::size_t>(at)].size);
    }
    give_list("split", sizes);
  }

  static const std::vector<std::pair<std::string_view, meaning>> calls_by_meaning;
  static const std::unordered_map<std::string_view, const meaning*> meanings;
  /// Calls whose results have no values of what they read.
  static constexpr std::string_view constants =
      " new_zeros new_ones new_full new_empty zeros_like ones_like full_like empty_like ";

  json::value file_;
  json::cursor root_;
  graph result_;
  std::unordered_map<std::string, std::size_t> names_;
  std::unordered_map<std::size_t, std::size_t> writers_;  ///< of values: nodes
  std::vector<bool> learned_;                             ///< of values: whether weights are behind
  const json::cursor* call_ = nullptr;
  std::size_t index_ = 0;  ///< of the call
  node node_;
};

/// By the names of calls, with spaces between them.
const std::vector<std::pair<std::string_view, reader::meaning>> reader::calls_by_meaning{
    {"conv1d conv2d conv3d convolution conv_transpose1d conv_transpose2d conv_transpose3d",
     {"Conv", {"input", "weight", "bias?"}, &reader::convolution}},
    {"embedding", {"Gather", {"weight", "indices"}}},
    {"embedding_bag _embedding_bag _embedding_bag_forward_only",
     {"EmbeddingBag", {"weight", "indices"}, &reader::bag}},
    {"index", {"Gather", {"self"}, &reader::index}},
    {"linear", {"Linear", {"input", "weight", "bias?"}}},
    {"gather", {"Choice", {"self", "index"}}},
    {"masked_fill", {"Mask", {"self"}}},
    {"where", {"Mask", {}, &reader::where}},
    {"routed_linear", {"RoutedLinear", {"input", "weight", "scales?"}, &reader::routing}},
    {"topk", {"TopK", {"self"}, &reader::topk}},
    {"mm bmm", {"MatMul", {"self", "mat2"}}},
    {"baddbmm", {"MatMul", {"batch1", "batch2"}, &reader::batched_sum}},
    {"matmul", {"MatMul", {"self", "other"}}},
    {"einsum", {"Einsum", {"tensors*"}, &reader::einsum}},
    {"addmm", {"Gemm", {"mat1", "mat2", "self"}, &reader::matrix_sum}},
    {"max_pool1d max_pool2d max_pool3d max_pool2d_with_indices max_pool3d_with_indices",
     {"MaxPool", {"self"}, &reader::pool}},
    {"avg_pool1d avg_pool2d avg_pool3d", {"AveragePool", {"self"}, &reader::pool}},
    {"adaptive_avg_pool1d adaptive_avg_pool2d adaptive_avg_pool3d",
     {"AdaptiveAveragePool", {"self"}, &reader::adaptive_pool}},
    {"adaptive_max_pool1d adaptive_max_pool2d adaptive_max_pool3d",
     {"AdaptiveMaxPool", {"self"}, &reader::adaptive_pool}},
    {"upsample_nearest2d upsample_bilinear2d", {"Resize", {"input"}, &reader::resample}},
    {"mean", {"ReduceMean", {"self"}, &reader::reduction}},
    {"sum", {"ReduceSum", {"self"}, &reader::reduction}},
    {"linalg_vector_norm", {"ReduceL2", {"self"}, &reader::norm}},
    {"amax max", {"ReduceMax", {"self"}, &reader::reduction}},
    {"batch_norm _native_batch_norm_legit_no_training",
     {"BatchNormalization", {"input", "weight?", "bias?"}, &reader::batchnorm}},
    {"layer_norm", {"LayerNormalization", {"input", "weight?", "bias?"}, &reader::layernorm}},
    {"group_norm", {"GroupNormalization", {"input", "weight?", "bias?"}, &reader::groupnorm}},
    {"instance_norm", {"GroupNormalization", {"input", "weight?", "bias?"}, &reader::instancenorm}},
    {"rms_norm", {"RMSNormalization", {"input", "weight?"}, &reader::layernorm}},
    {"scaled_dot_product_attention",
     {"Attention", {"query", "key", "value", "attn_mask?"}, &reader::attention}},
    {"lstm gru rnn_tanh", {"Recurrent", {"input"}, &reader::recurrent}},
    {"relu", {"Relu", {"self"}}},
    {"sigmoid", {"Sigmoid", {"self"}}},
    {"tanh", {"Tanh", {"self"}}},
    {"sin", {"Sin", {"self"}}},
    {"cos", {"Cos", {"self"}}},
    {"silu", {"Swish", {"self"}}},
    {"hardswish", {"HardSwish", {"self"}}},
    {"hardsigmoid", {"HardSigmoid", {"self"}, &reader::hardsigmoid}},
    {"gelu", {"Gelu", {"self"}, &reader::gelu}},
    {"relu6", {"Clip", {"self"}, &reader::clip_to_6}},
    {"hardtanh clamp clamp_min", {"Clip", {"self"}, &reader::clip}},
    {"leaky_relu", {"LeakyRelu", {"self"}, &reader::leaky_relu}},
    {"elu", {"Elu", {"self"}, &reader::elu}},
    {"glu", {"Split", {"self"}, &reader::glu}},
    {"softmax _softmax", {"Softmax", {"self"}, &reader::softmax}},
    {"log_softmax _log_softmax", {"LogSoftmax", {"self"}, &reader::softmax}},
    {"dropout feature_dropout", {"Dropout", {"input|self"}, &reader::dropout}},
    {"add", {"Add", {"self", "other"}, &reader::sum}},
    {"addcmul", {"Add", {"self"}, &reader::product_sum}},
    {"sub", {"Sub", {"self", "other"}, &reader::sum}},
    {"mul", {"Mul", {"self", "other"}}},
    {"div", {"Div", {"self", "other"}}},
    {"pow", {"Pow", {"self", "exponent"}}},
    {"square", {"Pow", {"self"}, &reader::square}},
    {"neg", {"Neg", {"self"}}},
    {"sqrt", {"Sqrt", {"self"}}},
    {"rsqrt", {"Rsqrt", {"self"}}},
    {"erf", {"Erf", {"self"}}},
    {"cat concat", {"Concat", {"tensors*"}, &reader::concat}},
    {"stack", {"Concat", {"tensors*"}, &reader::stack}},
    {"roll", {"Roll", {"self"}, &reader::roll}},
    {"pad constant_pad_nd", {"Pad", {"self"}, &reader::pad}},
    {"slice narrow select", {"Part", {"self"}, &reader::part}},
    {"chunk split split_with_sizes unsafe_chunk unsafe_split tensor_split",
     {"Split", {"self"}, &reader::split}},
    {"unbind", {"Unbind", {"self"}, &reader::split}},
    {"expand expand_as", {"Expand", {"self"}}},
    {"repeat", {"Expand", {"self"}, &reader::repeat}},
    {"permute transpose t numpy_T movedim swapaxes", {"Transpose", {"self"}, &reader::transpose}},
    {"to _to_copy type_as", {"Cast", {"self"}, &reader::cast}},
    {"alpha_dropout feature_alpha_dropout", {"View", {"input|self"}, &reader::alpha_dropout}},
    {"view reshape _unsafe_view flatten unflatten squeeze unsqueeze contiguous clone detach alias "
     "lift_fresh_copy view_as reshape_as identity ravel positive",
     {"View", {"self|input"}}}};

const std::unordered_map<std::string_view, const reader::meaning*> reader::meanings = [] {
  std::unordered_map<std::string_view, const meaning*> all;
  for (const auto& [names, of] : calls_by_meaning) {
    for (const auto name : std::views::split(names, ' ')) {
      all[std::string_view(name.begin(), name.end())] = &of;
    }
  }
  return all;
}();

}  // namespace

graph read_torch(const std::string& file) { return reader(file).read(); }

}  // namespace layerbench::tool::importer
