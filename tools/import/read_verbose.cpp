// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include "read_verbose.hpp"

#include <algorithm>
#include <regex>
#include <set>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include <layerbench/base/error.hpp>
#include <layerbench/base/json.hpp>
#include <layerbench/base/number_format.hpp>
#include <layerbench/base/plain_text.hpp>
#include <layerbench/base/quiet.hpp>
#include <layerbench/base/split.hpp>
#include <layerbench/model/graph.hpp>
#include <layerbench/model/shape_file.hpp>
#include <layerbench/op/activation.hpp>
#include <layerbench/op/builtin.hpp>
#include <layerbench/op/memory_order.hpp>
#include <layerbench/shape/dtype.hpp>
#include <layerbench/shape/record_json.hpp>

#include "shape_file.hpp"

namespace layerbench::tool::importer {
namespace {

using result::verbose_primitive;
using result::verbose_tensor;

/// Why a call is no layer.
struct not_a_layer {
  std::string reason;
};

/// An op's name and its fields, as a shape file has them.
struct entry {
  std::string op;
  json::value shape = json::value::object();
};

constexpr std::size_t most_calls = 20'000;  ///< of a step in a shape file

/// The sizes of a problem with two axes of an image.
result::problem_sizes sizes_of(const verbose_primitive& of) {
  result::problem_sizes sizes(of.problem);
  if (sizes.has("id")) throw not_a_layer{"three axes"};
  return sizes;
}

/// The fields of an image that a call reads.
json::value image_of(const result::problem_sizes& s) {
  return {{"n", s.of("mb")}, {"c", s.of("ic")}, {"h", s.of("ih")}, {"w", s.of("iw")}};
}

std::vector<dims> extents(const verbose_primitive& of) {
  auto all = result::extents_of(of.problem);
  if (!all) throw not_a_layer{"sizes that cannot be read"};
  return std::move(*all);
}

/// The kind of an activation by oneDNN's algorithm and its first two parameters.
std::string activation_of(std::string_view algorithm, double alpha, double beta) {
  std::string_view kind = algorithm.substr(std::min(algorithm.size(), sizeof "eltwise"));
  if (kind == "relu" && alpha != 0) kind = "leaky_relu";
  if (kind.starts_with("clip") && alpha == 0 && beta == 6) kind = "relu6";
  if (kind == "logistic") kind = "sigmoid";
  if (kind.starts_with("gelu")) kind = "gelu";
  if (!from_name<op::activation_kind>(kind)) throw not_a_layer{std::string(algorithm)};
  return std::string(kind);
}

double number_of(const std::vector<std::string_view>& parts, std::size_t i) {
  return i < parts.size() ? result::verbose_number(parts[i]).value_or(-1) : 0;
}

/// The parts of an attribute's value, such as that of "post-ops". They stand between ';' or '+',
/// which in numbers is a sign.
std::vector<std::string> attribute_of(const verbose_primitive& of, std::string_view name) {
  static const std::regex separator(";|\\+(?=[a-z])");
  for (std::string_view part : split(of.attributes, ' ')) {
    if (part.starts_with("attr-")) part.remove_prefix(5);
    if (!part.starts_with(name) || part.size() <= name.size() || part[name.size()] != ':') continue;
    std::string text(part.substr(name.size() + 1));
    std::erase(text, '\'');
    std::vector<std::string> parts(
        std::sregex_token_iterator(text.begin(), text.end(), separator, -1), {});
    std::erase(parts, "");
    return parts;
  }
  return {};
}

bool is_integer_type(std::string_view type) { return type == "s8" || type == "u8"; }

/// Adds bias, post-ops and what integers need.
void add_attributes(const verbose_primitive& of, entry& to) {
  if (of.tensor("bia").type != "undef") to.shape["bias"] = true;
  json::value post = json::value::array();
  for (const std::string& text : attribute_of(of, "post-ops")) {
    const std::vector<std::string_view> parts = split(text, ':');
    if (parts[0] == "sum") {
      post.push_back("sum");
    } else if (parts[0] == "binary_add") {
      post.push_back("add");
    } else if (parts[0].starts_with("eltwise_")) {
      post.push_back(activation_of(parts[0], number_of(parts, 1), number_of(parts, 2)));
    } else {
      throw not_a_layer{"post-op " + std::string(parts[0])};
    }
  }
  if (!post.empty()) to.shape["post"] = std::move(post);
  const std::string_view type = of.tensor("src").type;
  const std::string_view written = of.tensor("dst").type;
  if (!is_integer_type(type)) {
    if (type != written) throw not_a_layer{"a result of another type"};
    return;
  }
  if (type != written) to.shape["dst_type"] = std::string(written);
  for (const char* name : {"scales", "oscale"}) {
    for (const std::string& text : attribute_of(of, name)) {
      const std::vector<std::string_view> parts = split(text, ':');
      const bool of_channels = parts[0] == "wei"
                                   ? parts.size() > 1 && parts[1] != "0"
                                   : std::string_view(name) == "oscale" && text[0] != '0';
      if (of_channels) to.shape["channel_scales"] = true;
    }
  }
  for (const std::string& text : attribute_of(of, "zero-points")) {
    const bool of_src = text.starts_with("src");
    if (!of_src && !text.starts_with("dst")) continue;
    to.shape[of_src ? "src_zero" : "dst_zero"] = 1;
  }
}

/// Padding behind an axis of an image so that the window has as many results as the log says; that
/// before it, if this is enough.
std::int64_t padding_behind(std::int64_t in, std::int64_t out, std::int64_t window,
                            std::int64_t stride, std::int64_t before) {
  const std::int64_t least = (out - 1) * stride + window - in - before;
  return before >= least && before < least + stride ? before : std::max<std::int64_t>(0, least);
}

/// The fields of a window that slides over an image.
json::value windows_of(const result::problem_sizes& s, bool is_transposed) {
  json::value fields = image_of(s);
  fields.update({{"r", s.of("kh")},
                 {"s", s.of("kw")},
                 {"stride", {s.of("sh"), s.of("sw")}},
                 {"pad", json::value::array()}});
  json::value output_pad = json::value::array();
  for (const std::string axis : {"h", "w"}) {
    const std::int64_t in = s.of("i" + axis);
    const std::int64_t out = s.of("o" + axis);
    const std::int64_t stride = s.of("s" + axis);
    const std::int64_t before = s.of("p" + axis, 0);
    const std::int64_t window = (s.of("k" + axis) - 1) * (s.of("d" + axis, 0) + 1) + 1;
    const std::int64_t behind = is_transposed ? (in - 1) * stride + window - out - before
                                              : padding_behind(in, out, window, stride, before);
    fields["pad"].push_back(before);
    fields["pad"].push_back(std::max<std::int64_t>(0, behind));
    output_pad.push_back(0);
    output_pad.push_back(std::max<std::int64_t>(0, -behind));
  }
  if (is_transposed) fields["output_pad"] = std::move(output_pad);
  return fields;
}

entry convolution(const verbose_primitive& of) {
  const result::problem_sizes s = sizes_of(of);
  const bool is_transposed = of.kind == "deconvolution";
  entry result{is_transposed ? "deconv" : "conv", windows_of(s, is_transposed)};
  result.shape.update({{"k", s.of("oc")},
                       {"dilation", {s.of("dh", 0) + 1, s.of("dw", 0) + 1}},
                       {"groups", s.of("g")}});
  add_attributes(of, result);
  return result;
}

/// Whether the last two axes of a tensor lie in memory in the other order.
bool is_turned(std::string_view tag) {
  return op::is_permutation(tag) && tag.size() > 1 &&
         tag.back() != static_cast<char>('a' + tag.size() - 1);
}

entry product(const verbose_primitive& of) {
  entry result{"gemm"};
  if (of.kind == "inner_product") {
    const result::problem_sizes s = sizes_of(of);
    result.shape = {{"m", s.of("mb")},
                    {"n", s.of("oc")},
                    {"b_transposed", true},
                    {"k", {s.of("ic"), s.of("ih"), s.of("iw")}}};
    add_attributes(of, result);
    return result;
  }
  const std::vector<dims> all = extents(of);
  if (all.size() < 2 || all[0].size() < 2 || all[0].size() != all[1].size()) {
    throw not_a_layer{"sizes that cannot be read"};
  }
  const auto batch = [](const dims& of_one) {
    return elements({of_one.begin(), of_one.end() - 2});
  };
  const std::size_t last = all[0].size() - 1;
  const std::int64_t products = batch(all[1]);
  if (products != 1 && products != batch(all[0])) throw not_a_layer{"a broadcast of products"};
  const std::int64_t rows = all[0][last - 1];
  result.shape = {{"m", products == 1 ? checked_multiply(batch(all[0]), rows) : rows},
                  {"n", all[1][last]},
                  {"k", all[0][last]},
                  {"batch", products},
                  {"a_transposed", products != 1 && is_turned(of.tensor("src").tag)},
                  {"b_transposed", is_turned(of.tensor("wei").tag)}};
  add_attributes(of, result);
  return result;
}

entry pool(const verbose_primitive& of) {
  const result::problem_sizes s = sizes_of(of);
  if (s.of("dh", 0) + s.of("dw", 0) > 0) throw not_a_layer{"dilation"};
  const std::string_view algorithm = of.setting("alg");
  entry result{"pool", windows_of(s, false)};
  result.shape["kind"] = algorithm == "pooling_max" ? "max" : "average";
  if (algorithm == "pooling_avg_exclude_padding") result.shape["count_padding"] = false;
  return result;
}

entry normalization(const verbose_primitive& of) {
  const std::string_view flags = of.setting("flags");
  const auto has = [&](char flag) { return flags.find(flag) != std::string_view::npos; };
  const bool scale = has('C') || has('S');
  const bool shift = has('H') || (has('S') && !has('C'));
  if (of.kind == "layer_normalization") {
    return {"layernorm", {{"dims", extents(of).front()}, {"scale", scale}, {"bias", shift}}};
  }
  if (of.prop == "forward_training" && !has('G')) throw not_a_layer{"statistics of the batch"};
  entry result{"batchnorm", image_of(sizes_of(of))};
  result.shape.update({{"scale", scale}, {"shift", shift}});
  if (has('R')) result.shape["post"] = json::value::array({"relu"});
  return result;
}

entry pointwise(const verbose_primitive& of) {
  const std::vector<dims> all = extents(of);
  if (of.kind == "eltwise") {
    const auto parameter = [&](const char* name) {
      return result::verbose_number(of.setting(name)).value_or(-1);
    };
    return {"activation",
            {{"kind", activation_of(of.setting("alg"), parameter("alpha"), parameter("beta"))},
             {"dims", all.front()}}};
  }
  if (of.kind == "softmax" || of.kind == "softmax_v2") {
    return {
        "softmax",
        {{"dims", all.front()}, {"axis", result::verbose_number(of.setting("axis")).value_or(0)}}};
  }
  if (of.kind == "concat") {
    const double axis = result::verbose_number(of.setting("axis")).value_or(0);
    const auto at = static_cast<std::size_t>(axis);
    entry result{"concat", {{"dims", all.front()}, {"axis", axis}}};
    std::int64_t sum = 0;
    for (const dims& source : all) {
      if (at >= source.size()) throw not_a_layer{"sizes that cannot be read"};
      // Some versions have the extents of the result, too, behind those of the sources.
      if (&source == &all.back() && source[at] == sum) break;
      sum += source[at];
      result.shape["sizes"].push_back(source[at]);
    }
    result.shape["dims"][at] = sum;
    return result;
  }
  if (all.size() < 2) throw not_a_layer{"sizes that cannot be read"};
  const std::string_view algorithm = of.kind == "sum" ? "binary_add" : of.setting("alg");
  if (!attribute_of(of, "post-ops").empty()) throw not_a_layer{"post-ops"};
  if (of.kind == "sum" && all.size() > 3) throw not_a_layer{"more than two tensors"};
  if (algorithm == "binary_mul") {
    return {"multiply", {{"dims", all[0]}, {"dims1", all[1]}}};
  }
  if (algorithm != "binary_add" || all[0].size() != all[1].size()) {
    throw not_a_layer{std::string(algorithm)};
  }
  const bool is_broadcast = all[0] != all[1];
  if (is_broadcast &&
      (all[1].front() != 1 ||
       !std::ranges::equal(all[0].begin() + 1, all[0].end(), all[1].begin() + 1, all[1].end()))) {
    throw not_a_layer{"binary_add that broadcasts"};
  }
  return {"add", {{"dims", all[0]}, {"broadcast", is_broadcast}}};
}

entry copy(const verbose_primitive& of) {
  const dims tensor = extents(of).front();
  const verbose_tensor src = of.tensor("src");
  const verbose_tensor dst = of.tensor("dst");
  if (src.type != dst.type) {
    const bool converts = is_integer_type(src.type) || is_integer_type(dst.type);
    if (!converts) throw not_a_layer{fmt::format("{} to {}", src.type, dst.type)};
    return {"quantize", {{"dims", tensor}, {"dst_type", std::string(dst.type)}}};
  }
  if (src.tag.empty() || dst.tag.empty()) throw not_a_layer{"a memory order without a name"};
  return {"reorder",
          {{"dims", tensor}, {"from", std::string(src.tag)}, {"to", std::string(dst.tag)}}};
}

entry entry_of(const verbose_primitive& of) {
  if (of.prop.starts_with("backward")) throw not_a_layer{of.prop};
  if (of.engine != "cpu" && of.engine != "cuda") throw not_a_layer{"engine " + of.engine};
  if (of.problem.empty()) throw not_a_layer{"its sizes are not in the log"};
  if (of.kind == "convolution" || of.kind == "deconvolution") return convolution(of);
  if (of.kind == "matmul" || of.kind == "inner_product") return product(of);
  if (of.kind.starts_with("pooling")) return pool(of);
  if (of.kind == "batch_normalization" || of.kind == "layer_normalization") {
    return normalization(of);
  }
  if (of.kind == "reorder") return copy(of);
  if (of.kind == "lrn" && of.setting("alg") == "lrn_across_channels") {
    const result::problem_sizes s = sizes_of(of);
    entry result{"lrn", image_of(s)};
    result.shape["size"] = s.of("ls");
    return result;
  }
  for (const char* kind : {"eltwise", "softmax", "softmax_v2", "binary", "sum", "concat"}) {
    if (of.kind == kind) return pointwise(of);
  }
  throw not_a_layer{"no op does this"};
}

/// The layers of a step, one call after the other.
class layer_maker {
 public:
  layer_maker(const result::verbose_log& log, const result::verbose_step& step)
      : log_(log), step_(step) {
    find_readers_of_reorders();
    const std::string type = usual_type();
    model_.has_types = !type.empty();
    model_.type = model_.has_types ? type : "f32";
  }

  [[nodiscard]] logged_model take() {
    for (std::size_t i = 0; i < step_.calls.size(); ++i) add(i);
    model_.layout = layout();
    return std::move(model_);
  }

 private:
  [[nodiscard]] const verbose_primitive& primitive(std::size_t i) const {
    return log_.primitives[step_.calls[i].primitive];
  }

  /// Finds the calls for which reorders work: the next one that reads the result, else the last one
  /// that wrote the source in an order with blocks. Convolutions that pack their weights in each
  /// call are layers that do so themselves.
  void find_readers_of_reorders() {
    packs_.resize(step_.calls.size());
    model_.layers.resize(step_.calls.size());
    std::size_t end = 0;  // of reorders one behind the other
    for (std::size_t begin = 0; begin < step_.calls.size(); begin = end + 1) {
      end = begin;
      while (end < step_.calls.size() && primitive(end).kind == "reorder") ++end;
      for (std::size_t i = begin; i < end; ++i) {
        const std::string_view tag = primitive(i).tensor("src").tag;
        const bool is_blocked = tag.find_first_of("0123456789") != std::string_view::npos;
        const auto wrote_it = [&] { return begin > 0 && works_for(i, begin - 1, "dst"); };
        if ((is_blocked && wrote_it()) || end == step_.calls.size()) continue;
        static_cast<void>(works_for(i, end, "wei") || works_for(i, end, "src") || wrote_it());
      }
    }
  }

  /// The op of a call; nothing if none computes it, so that its sizes are not known.
  [[nodiscard]] std::optional<op::any> op_of_call(const verbose_primitive& of) const {
    try {
      entry created = entry_of(of);
      return op_of({{"op", created.op}, {"shape", std::move(created.shape)}}, "");
    } catch (const not_a_layer&) {
      return std::nullopt;
    } catch (const std::exception&) {  // of the op, which refuses such sizes
      return std::nullopt;
    }
  }

  /// Whether a reorder reads or writes this tensor of the other call, by type, order and size.
  bool works_for(std::size_t reorder, std::size_t other, std::string_view name) {
    const verbose_primitive& of = primitive(other);
    const verbose_tensor wanted = primitive(reorder).tensor(name == "dst" ? "src" : "dst");
    const verbose_tensor found = of.tensor(name);
    const auto extents = result::extents_of(primitive(reorder).problem);
    if (found.type != wanted.type || found.tag != wanted.tag || found.tag.empty() || !extents) {
      return false;
    }
    const auto fits = [&](const op::operand& tensor) {
      return tensor.name.starts_with(name) &&
             elements(tensor.extents) == elements(extents->front());
    };
    const std::optional<op::any> op = op_of_call(of);
    if (op && std::ranges::none_of(op->operands(op::pass::fwd, dtype::f32), fits)) return false;
    model_.layers[reorder].reorders_for = other;
    model_.layers[reorder].reordered = name;
    packs_[other] = packs_[other] || (name == "wei" && of.kind == "convolution" &&
                                      !is_integer_type(of.tensor("src").type) &&
                                      attribute_of(of, "post-ops").empty());
    return true;
  }

  /// Whether the layer for which a reorder works makes it itself.
  [[nodiscard]] bool is_in_other(std::size_t i) const {
    return model_.layers[i].reorders_for && packs_[*model_.layers[i].reorders_for];
  }

  /// Which calls of the step are in the order of frameworks' memory, by their sources; empty if
  /// the log has no orders.
  [[nodiscard]] std::string layout() const {
    double seconds[3] = {0, 0, 0};  // nchw nhwc any
    bool has_orders = false;
    for (std::size_t i = 0; i < step_.calls.size(); ++i) {
      const verbose_tensor src = primitive(i).tensor("src");
      has_orders = has_orders || !src.tag.empty();
      const bool is_reordered = is_in_other(i) && model_.layers[i].reordered != "wei";
      if (primitive(i).kind == "reorder" && !is_reordered) continue;
      const bool is_image = src.tag.size() > 3;
      if (is_reordered || (is_image && src.tag == "abcd")) seconds[0] += step_.calls[i].seconds;
      if (src.tag == "acdb") seconds[1] += step_.calls[i].seconds;
      if (is_image && !op::is_permutation(src.tag)) seconds[2] += step_.calls[i].seconds;
    }
    if (!has_orders) return {};
    // What a layer reorders itself comes in blocks to the library's call.
    if (seconds[0] > 0) return seconds[0] + seconds[2] >= seconds[1] ? "nchw" : "nhwc";
    return seconds[2] > seconds[1] ? "any" : "nhwc";
  }

  /// The data type of most of the time; empty if the log has none.
  [[nodiscard]] std::string usual_type() const {
    std::map<std::string, double> seconds;
    for (std::size_t i = 0; i < step_.calls.size(); ++i) {
      const std::string type(primitive(i).tensor("src").type);
      if (dtype_named(type)) seconds[type] += step_.calls[i].seconds;
    }
    const auto most =
        std::ranges::max_element(seconds, {}, [](const auto& one) { return one.second; });
    return most == seconds.end() ? "" : most->first;
  }

  [[nodiscard]] static std::optional<dtype> dtype_named(std::string_view type) {
    const auto found = std::ranges::find(dtype_names, type);
    if (found == dtype_names.end()) return std::nullopt;
    return static_cast<dtype>(found - dtype_names.begin());
  }

  void add(std::size_t i) {
    const result::verbose_call& call = step_.calls[i];
    const verbose_primitive& of = primitive(i);
    result::logged_layer& into = model_.layers[i];
    try {
      entry created = is_in_other(i) ? entry{"reorder"} : entry_of(of);
      into.name = next_name(created.op);
      if (is_in_other(i)) return;
      if (packs_[i]) created.shape["reorders"] = true;
      add(into, std::move(created), of.tensor("src").type);
      if (into.op->key().find("_zero:") != std::string::npos) {
        ++model_.notes["zero points, whose values the log does not have, are 1"];
      }
    } catch (const not_a_layer& why) {
      leave_out(into, of, call, why.reason);
    } catch (const std::exception& wrong) {  // of the op, which refuses such sizes
      const std::string_view text = wrong.what();
      leave_out(into, of, call, std::string(text.substr(std::min(text.size(), text.rfind(": ")))));
    }
  }

  void leave_out(result::logged_layer& into, const verbose_primitive& of,
                 const result::verbose_call& call, const std::string& reason) {
    if (into.name.empty()) into.name = next_name(legal_name(of.kind));
    unknown_calls& all = model_.unknown[printable(of.kind + " (" + reason + ")")];
    ++all.count;
    all.seconds += call.seconds;
  }

  [[nodiscard]] std::string next_name(const std::string& kind) {
    return fmt::format("{}_{}", kind, ++numbers_[kind]);
  }

  void add(result::logged_layer& into, entry created, std::string_view type) {
    json::value layer{{"name", into.name}, {"op", created.op}};
    layer["after"] = json::value::array();
    layer["shape"] = std::move(created.shape);
    if (type.empty() || type == "undef") type = model_.type;
    if (!dtype_named(type)) throw not_a_layer{"type " + std::string(type)};
    if (type != model_.type) layer["type"] = std::string(type);
    op::any op = op_of(layer, type);
    layer["shape"] = json::write_fields(op.fields());
    const std::vector<op::operand> sources = model::detail::of_role(op, op::role::source);
    std::vector<std::size_t> from;
    for (const op::operand& source : sources) {
      const auto found = writer_of(source.extents, type, from);
      if (!found) break;
      from.push_back(*found);
    }
    if (from.size() < sources.size() && sources.size() > 1) {
      // No earlier call wrote it: it stands for the model's input, which only one source may name.
      from.clear();
      for (const op::operand& source : sources) from.push_back(add_input(source.extents));
      json::value& shape = layer["shape"];
      if (shape.contains("post")) {  // a sum must not overwrite the input
        std::ranges::replace(shape["post"], json::value("sum"), json::value("add"));
        op = op_of(layer, type);
      }
    }
    for (const std::size_t one : from) layer["after"].push_back(written_[one].name);
    const std::size_t overwritten = op::overwritten_source(sources);
    if (overwritten < from.size()) written_[from[overwritten]].extents.clear();
    const op::operand result = model::detail::of_role(op, op::role::destination).front();
    const json::value& shape = layer["shape"];
    written_.push_back({into.name, result.extents, shape.value("dst_type", std::string(type))});
    model_.file_layers.push_back(std::move(layer));
    into.op = std::move(op);
  }

  /// The op of a layer in JSON. Throws bad_input for sizes that it refuses.
  [[nodiscard]] op::any op_of(const json::value& layer, std::string_view type) const {
    const auto found =
        std::ranges::find(catalog_, layer["op"].get<std::string>(), &op::entry::name);
    const json::cursor shape(layer["shape"], log_.file);
    record_fields fields = found->default_fields();
    json::read_fields(shape, {}, fields);
    const op::any result = json::validated(shape, [&] { return found->create(fields); });
    return layer.contains("type") ? result.in(*dtype_named(type)) : result;
  }

  /// A layer that inference leaves out, so that its readers read the model's input.
  [[nodiscard]] std::size_t add_input(const dims& extents) {
    const std::string name = next_name("input");
    model_.file_layers.push_back({{"name", name},
                                  {"op", "dropout"},
                                  {"after", json::value::array()},
                                  {"shape", {{"dims", extents}}}});
    written_.push_back({name, extents, model_.type});
    ++model_.notes["sources that no earlier call of the step wrote stand for the model's input"];
    return written_.size() - 1;
  }

  /// The last layer that wrote such a tensor, but those in `others`.
  [[nodiscard]] std::optional<std::size_t> writer_of(const dims& extents, std::string_view type,
                                                     const std::vector<std::size_t>& others) const {
    if (step_.calls.size() > most_calls) return std::nullopt;  // quadratic, and of no use
    for (std::size_t i = written_.size(); i-- > 0;) {
      if (written_[i].type == type && model::detail::connects(written_[i].extents, extents) &&
          std::ranges::find(others, i) == others.end()) {
        return i;
      }
    }
    return std::nullopt;
  }

  struct written {
    std::string name;
    dims extents;  ///< empty: overwritten since
    std::string type;
  };

  const result::verbose_log& log_;
  const result::verbose_step& step_;
  logged_model model_;
  const op::catalog catalog_ = op::builtin_catalog();
  std::vector<written> written_;
  std::vector<bool> packs_;  ///< by call
  std::map<std::string, std::size_t> numbers_;
};

/// Makes the first size of all layers, if they share one, the parameter `batch`.
void name_batch(json::value& header, json::value& layers) {
  std::vector<json::value*> sizes;
  for (json::value& layer : layers) {
    json::value& shape = layer["shape"];
    const std::string key = layer["op"] == "gemm" ? "m" : shape.contains("n") ? "n" : "dims";
    sizes.push_back(shape[key].is_array() ? &shape[key].front() : &shape[key]);
    if (shape.contains("dims1") && shape["dims1"].front() == shape["dims"].front()) {
      sizes.push_back(&shape["dims1"].front());
    }
  }
  const json::value batch = *sizes.front();
  if (!std::ranges::all_of(sizes, [&](const json::value* one) { return *one == batch; })) return;
  for (json::value* one : sizes) *one = "batch";
  header["parameters"] = {{"batch", batch}};
}

std::string source_of(const result::verbose_log& log, const logged_model& model) {
  std::string text = fmt::format("log of {}{}{}, {} calls of a step", log.library,
                                 log.version.empty() ? "" : " ", log.version, model.layers.size());
  std::string_view separator = "; incomplete, without ";
  for (const auto& [kind, of] : model.unknown) {
    text += fmt::format("{}{} {}", separator, of.count, kind);
    separator = ", ";
  }
  return printable(text);
}

}  // namespace

logged_model logged_model_of(const result::verbose_log& log, const result::verbose_step& step) {
  return layer_maker(log, step).take();
}

std::string shape_file_of(const result::verbose_log& log, const result::verbose_step& step,
                          logged_model model, const std::string& name, const std::string& title) {
  if (step.calls.size() > most_calls) {
    throw bad_input(log.file, "",
                    fmt::format("no step of at most {} calls repeats over most of the "
                                "log; cut it to one step",
                                most_calls));
  }
  if (model.file_layers.empty()) throw bad_input(log.file, "", "has no call that an op computes");
  json::value header{{"name", name},
                     {"title", title},
                     {"source", source_of(log, model)},
                     {"inference_only", "it is from a log of calls"}};
  if (!model.unknown.empty()) header["left_out"] = 0.0;  // the log has no FLOPs of these calls
  name_batch(header, model.file_layers);
  std::string text = shape_file_text(header, model.file_layers);
  static_cast<void>(model::load_text(text, log.file));
  return text;
}

void report_logged(const result::verbose_log& log, const result::verbose_step& step,
                   const logged_model& model, bool allow_partial) {
  const auto say = [&](const std::string& text) { print_plain(stderr, text + '\n'); };
  const double all = step.seconds;
  double lacks = 0;
  std::size_t layers = 0;
  for (const result::logged_layer& one : model.layers) layers += one.op ? 1U : 0U;
  if (!is_quiet() || (!model.unknown.empty() && !allow_partial)) {
    for (const auto& [kind, of] : model.unknown) {
      lacks += of.seconds;
      say(fmt::format("no op computes {}: {} of {} calls of a step, {} of its time", kind, of.count,
                      step.calls.size(), format::percent(all > 0 ? of.seconds / all : 0)));
    }
  }
  if (!is_quiet()) {
    for (const std::string& note : log.notes) say("note: " + note);
    for (const auto& [note, count] : model.notes) {
      say(fmt::format("note: {}{}", note, count > 1 ? fmt::format(" ({} times)", count) : ""));
    }
    say(fmt::format(
        "{} layers of {} calls of a step; {} steps in {} calls, the first {} before them", layers,
        step.calls.size(), step.place.steps, log.records.size(), step.place.first));
    std::string conditions;
    if (model.has_types) conditions += " --dtype=" + model.type;
    if (!model.layout.empty()) conditions += " --layout=" + model.layout;
    if (log.threads > 0) conditions += fmt::format(" --threads={}", log.threads);
    if (!conditions.empty()) say("measure them under the log's conditions:" + conditions);
  }
  if (!model.unknown.empty() && !allow_partial) {
    throw error(fmt::format("{}: no shape file without these calls, {} of the time; "
                            "'--allow-partial' writes one, marked as partial",
                            log.file, format::percent(all > 0 ? lacks / all : 0)),
                exit_code::incomplete);
  }
}

}  // namespace layerbench::tool::importer
