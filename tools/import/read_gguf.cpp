// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include "read_gguf.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <numeric>
#include <stdexcept>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <layerbench/base/error.hpp>
#include <layerbench/base/input_path.hpp>
#include <layerbench/base/number_format.hpp>
#include <layerbench/base/plain_text.hpp>
#include <layerbench/base/quiet.hpp>
#include <layerbench/model/shape_file.hpp>
#include <layerbench/model/totals.hpp>
#include <layerbench/shape/dims.hpp>

namespace layerbench::tool::importer {
namespace {

// Of headers: one with a vocabulary of 260000 words has some 15 MB.
constexpr std::uint64_t most_bytes = std::uint64_t{64} << 20U;
constexpr std::uint64_t most_entries = 100'000;
constexpr std::uint64_t most_text = 4096;

// ggml's types of tensors (ggml.h) by number; the empty ones were removed, or occur in no file.
constexpr std::array<std::string_view, 40> ggml_types{
    "F32",     "F16",    "Q4_0",    "Q4_1",  "",       "",      "Q5_0",  "Q5_1",
    "Q8_0",    "Q8_1",   "Q2_K",    "Q3_K",  "Q4_K",   "Q5_K",  "Q6_K",  "Q8_K",
    "IQ2_XXS", "IQ2_XS", "IQ3_XXS", "IQ1_S", "IQ4_NL", "IQ3_S", "IQ2_S", "IQ4_XS",
    "I8",      "I16",    "I32",     "I64",   "F64",    "IQ1_M", "BF16",  "",
    "",        "",       "TQ1_0",   "TQ2_0", "",       "",      "",      "MXFP4"};

/// The `weights_type` of products with weights of a type; empty where there is none. As in those of
/// ggml, 32 weights share a scale.
std::string_view narrow_type(std::string_view type) {
  return type == "Q4_0" || type == "Q4_K" ? "s4" : type == "Q8_0" ? "s8" : "";
}
constexpr std::int64_t group_size = 32;

struct stored_tensor {
  std::string_view type;
  std::vector<std::int64_t> extents = {};  ///< as in the file: neighbours first
  bool is_read = false;                    ///< by a layer

  [[nodiscard]] double values() const {
    return std::accumulate(extents.begin(), extents.end(), 1.0, std::multiplies{});
  }
};

struct header {
  std::uint64_t version = 0;
  std::map<std::string, json::value, std::less<>> metadata = {};  ///< null: of no kind in use
  std::map<std::string, stored_tensor, std::less<>> tensors = {};
};

/// Reads the header, of which no length is believed that the file does not have.
class header_reader {
 public:
  explicit header_reader(const std::string& file) : file_(file) {
    const std::filesystem::path path = input_path(file);
    std::error_code unknown;
    if (std::filesystem::is_regular_file(path, unknown)) stream_.open(path, std::ios::binary);
    if (!stream_.is_open()) {
      throw bad_input(file, "", "cannot be read; check that it is a file, and its permissions");
    }
    end_ = std::min<std::uint64_t>(std::filesystem::file_size(path), most_bytes);
  }

  header read() {
    header all;
    if (number(4) != 0x46554747) fail(0, "is no GGUF file: it does not begin with GGUF");
    all.version = number(4);
    // The byte order is not written down, but no version needs more than a byte.
    is_big_ = (all.version & 0xFFFFFFU) == 0;
    if (is_big_) all.version >>= 24U;
    if (all.version != 2 && all.version != 3) {
      fail(4, fmt::format("version {} is not supported, only 2 and 3; convert the model again with "
                          "a newer llama.cpp",
                          all.version));
    }
    const std::uint64_t tensors = number(8);
    const std::uint64_t keys = number(8);
    if (tensors > most_entries || keys > most_entries) {
      fail(8, fmt::format("{} tensors and {} keys: at most {} are read; {}", tensors, keys,
                          most_entries, remedy));
    }
    for (std::uint64_t i = 0; i < keys; ++i) read_key(all);
    for (std::uint64_t i = 0; i < tensors; ++i) read_tensor(all);
    return all;
  }

 private:
  static constexpr std::string_view remedy = "the file is damaged: copy or convert it again";
  static constexpr std::uint64_t text_type = 8;
  static constexpr std::uint64_t array_type = 9;

  [[noreturn]] void fail(std::uint64_t at, const std::string& what) const {
    throw bad_input(file_, fmt::format("byte {}", at), what);
  }
  /// Refuses a length that the file does not have.
  void require(std::uint64_t count, std::uint64_t bytes_each) const {
    if (count <= (end_ - at_) / bytes_each) return;
    fail(at_, fmt::format(
                  "{} times {} bytes are past the end {}; {}", count, bytes_each,
                  end_ == most_bytes ? "of the longest header that is read, 64 MiB" : "of the file",
                  remedy));
  }
  /// A number of `size` bytes.
  std::uint64_t number(std::uint64_t size) {
    require(size, 1);
    std::uint64_t value = 0;
    for (std::uint64_t i = 0; i < size; ++i) {
      const auto byte = static_cast<std::uint64_t>(stream_.get());
      value = is_big_ ? value << 8U | byte : value | byte << 8U * i;
    }
    at_ += size;
    return value;
  }
  void skip(std::uint64_t count) {
    require(count, 1);
    stream_.ignore(static_cast<std::streamsize>(count));
    at_ += count;
  }
  /// A text, or its beginning where it is long.
  std::string text() {
    const std::uint64_t length = number(8);
    require(length, 1);
    std::string result(std::min(length, most_text), '\0');
    stream_.read(result.data(), static_cast<std::streamsize>(result.size()));
    at_ += result.size();
    skip(length - result.size());
    return result;
  }
  /// The type of a value, and its bytes; 0 for texts and arrays.
  std::pair<std::uint64_t, std::uint64_t> value_type() {
    constexpr std::array<std::uint64_t, 13> sizes{1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};
    const std::uint64_t type = number(4);
    if (type < sizes.size()) return {type, sizes[type]};
    fail(at_ - 4, fmt::format("type {} of a value is unknown; {}", type, remedy));
  }
  void skip_array() {
    const auto [type, size] = value_type();
    if (type == array_type) fail(at_ - 4, "an array of arrays; convert the model again");
    const std::uint64_t count = number(8);
    require(count, size == 0 ? 8 : size);
    if (size > 0) return skip(count * size);
    for (std::uint64_t i = 0; i < count; ++i) skip(number(8));
  }

  void read_key(header& all) {
    const std::uint64_t at = at_;
    const auto [entry, is_new] = all.metadata.try_emplace(text());
    if (!is_new) fail(at, fmt::format("{} is there twice; {}", in_quotes(entry->first), remedy));
    const auto [type, size] = value_type();
    if (type == array_type) return skip_array();
    if (type == text_type) {
      entry->second = text();
      return;
    }
    const std::uint64_t bits = number(size);
    const auto real = std::bit_cast<float>(static_cast<std::uint32_t>(bits));
    const bool is_unsigned = type == 0 || type == 2 || type == 4 || type == 10;
    // As people wrote it: 1e-05 and not 9.99999974e-06.
    entry->second = type == 6     ? json::value(std::stod(fmt::format("{}", real)))
                    : type == 12  ? json::value(std::bit_cast<double>(bits))
                    : is_unsigned ? json::value(bits)
                                  : json::value(nullptr);  // no layer needs it
  }

  void read_tensor(header& all) {
    const std::uint64_t at = at_;
    const std::string name = text();
    const auto wrong = [&](const std::string& what, std::string_view mend = remedy) {
      fail(at, fmt::format("tensor {}: {}; {}", in_quotes(name), what, mend));
    };
    stored_tensor read;
    const std::uint64_t axes = number(4);
    if (axes < 1 || axes > 4) wrong(fmt::format("{} axes", axes));
    for (std::uint64_t i = 0; i < axes; ++i) {
      const std::uint64_t extent = number(8);
      if (extent < 1 || extent > max_size) wrong(fmt::format("{} is no size", extent));
      read.extents.push_back(static_cast<std::int64_t>(extent));
    }
    const std::uint64_t type = number(4);
    read.type = type < ggml_types.size() ? ggml_types[type] : "";
    if (read.type.empty()) {
      wrong(fmt::format("type {} is unknown", type),
            "update layerbench, or convert the model again");
    }
    skip(8);  // where its values are
    if (!all.tensors.emplace(name, std::move(read)).second) wrong("is there twice");
  }

  std::string file_;
  std::ifstream stream_;
  std::uint64_t end_ = 0;
  std::uint64_t at_ = 0;
  bool is_big_ = false;
};

/// The architectures of llama.cpp whose layers are those below.
constexpr std::array<std::string_view, 6> architectures{"llama",    "qwen2", "qwen3",
                                                        "qwen3moe", "gemma", "gemma3"};

/// The layers of a decoder, with the names and sizes that shipped models have
/// (tools/make_models.py). Which of the optional ones there are follows from the tensors.
class decoder {
 public:
  decoder(const std::string& file, header& from) : file_(file), from_(from) {
    kind_ = value("general.architecture", &json::value::is_string).get<std::string>();
    if (std::ranges::find(architectures, kind_) == architectures.end()) {
      incomplete("general.architecture",
                 fmt::format("{} is not supported, only {}", in_quotes(kind_),
                             fmt::join(architectures, " ")));
    }
    const bool is_gemma = kind_.starts_with("gemma");
    gate_ = is_gemma ? "gelu" : "swish";
    heads_ = size("attention.head_count");
    epsilon_ =
        value(kind_ + ".attention.layer_norm_rms_epsilon", &json::value::is_number).get<double>();
    const std::vector<std::int64_t> words = at("token_embd", 2);
    width_ = words[0];
    add("words", "embedding", {}, {{"n", tokens_}, {"rows", words[1]}, {"columns", width_}});
    if (is_gemma) {
      add("words_scale", "activation", {last_}, {{"kind", "linear"}, {"dims", all(width_)}});
    }
    const std::int64_t blocks = size("block_count");
    for (std::int64_t i = 0; i < blocks; ++i)
      block(fmt::format("blk.{}.", i), fmt::format("layer{}", i));
    norm("norm", "output_norm");
    const std::string last =
        add("last", "slice", {last_},
            {{"dims", all(width_)}, {"axis", 1}, {"begin", "last"}, {"size", 1}});
    const bool is_tied = !from_.tensors.contains("output.weight");
    product("output", is_tied ? "token_embd" : "output", last, words[1], "batch");
    if (is_tied) layers_.back()["weights_of"] = "words";
    if (from_.tensors.contains("rope_freqs.weight")) at("rope_freqs", 1);
    require_all_read();
  }

  [[nodiscard]] const json::value& layers() const { return layers_; }
  [[nodiscard]] bool has_window() const {
    return from_.metadata.contains(kind_ + ".attention.sliding_window");
  }

 private:
  using extents = std::vector<std::int64_t>;

  [[noreturn]] void incomplete(const std::string& where, const std::string& what) const {
    throw error(fmt::format("{}: at {}: {}; convert its PyTorch model with tools/from_torch.py",
                            file_, where, what),
                exit_code::incomplete);
  }
  /// The value of a key, of a kind.
  const json::value& value(const std::string& key, bool (json::value::*is)() const) const {
    const auto found = from_.metadata.find(key);
    if (found != from_.metadata.end() && (found->second.*is)()) return found->second;
    throw bad_input(file_, key, "is missing, or of another type; convert the model again");
  }
  [[nodiscard]] std::int64_t size(std::string_view name) const {
    const std::string key = fmt::format("{}.{}", kind_, name);
    const auto found = value(key, &json::value::is_number_unsigned).get<std::uint64_t>();
    if (found >= 1 && found <= max_size) return static_cast<std::int64_t>(found);
    throw bad_input(file_, key, fmt::format("{} is no size; convert the model again", found));
  }

  /// The extents of the weights of that name, or its `part`, which must be these.
  extents at(const std::string& name, std::size_t axes, const extents& expected = {},
             std::string_view part = "weight") {
    const std::string whole = fmt::format("{}.{}", name, part);
    const auto found = from_.tensors.find(whole);
    const auto refuse = [&](const std::string& what) {
      throw bad_input(file_, "tensor " + in_quotes(whole), what);
    };
    if (found == from_.tensors.end()) {
      refuse(from_.metadata.contains("split.count")
                 ? "is missing: the file is a part; join all with llama-gguf-split --merge"
                 : "is missing; convert the model again");
    }
    const extents& read = found->second.extents;
    if (read.size() != axes || (!expected.empty() && read != expected)) {
      const std::string wanted = expected.empty() ? fmt::format("{} axes", axes)
                                                  : fmt::format("{}", fmt::join(expected, "x"));
      refuse(fmt::format("is {}, not {}; convert the model again", fmt::join(read, "x"), wanted));
    }
    found->second.is_read = true;
    return read;
  }

  /// The extents of a result with `columns` values per token.
  [[nodiscard]] static json::value all(std::int64_t columns) {
    return json::value::array({"batch", "tokens", columns});
  }
  /// Adds a layer that reads others, and returns its name.
  std::string add(const std::string& name, const char* op, const std::vector<std::string>& sources,
                  const json::value& shape) {
    layers_.push_back({{"name", name}, {"op", op}});
    if (!sources.empty() && sources != std::vector{last_}) layers_.back()["after"] = sources;
    layers_.back()["shape"] = shape;
    return last_ = name;
  }
  std::string norm(const std::string& name, const std::string& of) {
    at(of, 1, {width_});
    return norm(name, last_, all(width_));
  }
  std::string norm(const std::string& name, const std::string& source, const json::value& dims) {
    return add(name, "layernorm", {source},
               {{"dims", dims}, {"kind", "rms"}, {"epsilon", epsilon_}});
  }
  /// The product with a matrix of n outputs, and its bias if there is one.
  std::string product(const std::string& name, const std::string& of, const std::string& source,
                      std::int64_t n, const json::value& m, std::int64_t k = 0) {
    k = k > 0 ? k : width_;
    at(of, 2, {k, n});
    json::value shape{{"m", m}, {"n", n}, {"k", k}, {"b_transposed", true}};
    if (from_.tensors.contains(of + ".bias")) {
      at(of, 1, {n}, "bias");
      shape["bias"] = true;
    }
    const std::string_view narrow = narrow_type(from_.tensors.at(of + ".weight").type);
    if (!narrow.empty()) {
      shape["weights_type"] = narrow;
      shape["group_size"] = group_size;
    }
    return add(name, "gemm", {source}, shape);
  }
  /// What a gate lets through of `up`.
  std::string gated(const std::string& name, const json::value& dims,
                    const std::function<void(const char*)>& project) {
    project("gate");
    const std::string gate =
        add(name + "_" + gate_, "activation", {last_}, {{"kind", gate_}, {"dims", dims}});
    project("up");
    return add(name + "_multiply", "multiply", {gate, last_}, {{"dims", dims}});
  }

  void block(const std::string& of, const std::string& name) {
    const std::string before = last_;
    norm(name + "_norm1", of + "attn_norm");
    attention(of, name + "_attention");
    const std::string between = join(before, of + "post_attention_norm", name + "_attention");
    norm(name + "_norm2", of + "ffn_norm");
    const bool is_routed = from_.tensors.contains(of + "ffn_gate_inp.weight");
    if (is_routed) {
      routed_perceptron(of, name);
    } else {
      perceptron(of, name);
    }
    join(between, of + "post_ffw_norm", name);
  }
  /// The sum with what came before, behind a norm where the model has one.
  std::string join(const std::string& before, const std::string& post_norm,
                   const std::string& name) {
    if (from_.tensors.contains(post_norm + ".weight")) norm(name + "_post_norm", post_norm);
    return add(name + "_add", "add", {last_, before}, {{"dims", all(width_)}});
  }

  void attention(const std::string& of, const std::string& name) {
    const std::string source = last_;
    const std::int64_t rows = at(of + "attn_q", 2)[1];
    const std::int64_t kv_rows = at(of + "attn_k", 2)[1];
    const std::int64_t d = rows / heads_;
    if (rows % heads_ != 0 || kv_rows % d != 0) {
      throw bad_input(
          file_, fmt::format("tensor '{}attn_k.weight'", of),
          fmt::format("{} keys do not fit {} heads of {} queries; convert the model again", kv_rows,
                      heads_, rows));
    }
    const std::array heads{heads_, kv_rows / d, kv_rows / d};
    const std::array parts{"query", "key", "value"};
    std::array last{name, name, name};
    for (std::size_t i = 0; i < 3; ++i) {
      last[i] = product(fmt::format("{}_{}", name, parts[i]),
                        fmt::format("{}attn_{}", of, "qkv"[i]), source, heads[i] * d, tokens_);
    }
    for (std::size_t i = 0; i < 2; ++i) {
      const std::string head_norm = fmt::format("{}attn_{}_norm", of, "qkv"[i]);
      if (!from_.tensors.contains(head_norm + ".weight")) continue;
      at(head_norm, 1, {d});
      const json::value row = json::value::array({"batch", "tokens", heads[i]});
      last[i] =
          norm(fmt::format("{}_{}_norm", name, parts[i]), last[i], json::value::array({row, d}));
    }
    for (std::size_t i = 0; i < 2; ++i) {
      last[i] = add(fmt::format("{}_{}_rotary", name, parts[i]), "rotary", {last[i]},
                    {{"n", "batch"}, {"tokens", "tokens"}, {"heads", heads[i]}, {"d", d}});
    }
    const json::value cache{
        {"n", "batch"}, {"tokens", "tokens"}, {"context", "context"}, {"columns", kv_rows}};
    for (std::size_t i = 1; i < 3; ++i) {
      last[i] = add(fmt::format("{}_{}_cache", name, parts[i]), "append", {last[i]}, cache);
    }
    json::value shape{{"n", "batch"}, {"heads", heads_}, {"q", "tokens"}, {"k", "keys"}, {"d", d}};
    if (kv_rows != rows) shape["kv_heads"] = heads[1];
    shape["causal"] = true;
    add(name, "attention", {last.begin(), last.end()}, shape);
    product(name + "_output", of + "attn_output", last_, width_, tokens_, rows);
  }

  void perceptron(const std::string& of, const std::string& name) {
    const std::string source = last_;
    const std::int64_t inner = at(of + "ffn_up", 2)[1];
    gated(name, all(inner), [&](const char* part) {
      product(fmt::format("{}_{}", name, part), fmt::format("{}ffn_{}", of, part), source, inner,
              tokens_);
    });
    product(name + "_down", of + "ffn_down", last_, width_, tokens_, inner);
  }

  void routed_perceptron(const std::string& of, const std::string& name) {
    const std::string source = last_;
    const std::int64_t experts = at(of + "ffn_gate_inp", 2)[1];
    const std::int64_t inner = at(of + "ffn_up_exps", 3)[1];
    const std::int64_t top_k = size("expert_used_count");
    product(name + "_router", of + "ffn_gate_inp", source, experts, tokens_);
    add(name + "_router_softmax", "softmax", {last_},
        {{"dims", json::value::array({tokens_, experts})}});
    const std::string chosen =
        add(name + "_router_topk", "topk", {last_},
            {{"n", tokens_}, {"c", experts}, {"k", top_k}, {"normalized", true}});
    const auto routed = [&](const char* part, const std::vector<std::string>& sources,
                            std::int64_t k, std::int64_t n, const char* side) {
      at(fmt::format("{}ffn_{}_exps", of, part), 3, {k, n, experts});
      json::value shape{
          {"tokens", tokens_}, {"experts", experts}, {"top_k", top_k}, {"n", n}, {"k", k}};
      shape[side] = true;
      shape["load"] = "balanced";
      add(fmt::format("{}_{}", name, part), "routed_gemm", sources, shape);
    };
    const json::value row = json::value::array({"batch", "tokens", top_k});
    gated(name, json::value::array({row, inner}),
          [&](const char* part) { routed(part, {source}, width_, inner, "gather"); });
    routed("down", {last_, chosen}, inner, width_, "scatter");
  }

  /// Throws error (incomplete) if a tensor belongs to no layer.
  void require_all_read() const {
    double others = 0;
    double all = 0;
    std::string first;
    for (const auto& [name, one] : from_.tensors) {
      all += one.values();
      if (one.is_read) continue;
      others += one.values();
      if (first.empty()) first = name;
    }
    if (first.empty()) return;
    incomplete("tensor " + in_quotes(first),
               fmt::format("no layer of {} reads it; such tensors hold {} of the weights", kind_,
                           format::percent(others / all)));
  }

  std::string file_;
  header& from_;
  std::string kind_, gate_;
  std::int64_t heads_ = 0;
  std::int64_t width_ = 0;
  double epsilon_ = 0;
  json::value tokens_ = json::value::array({"batch", "tokens"});
  json::value layers_ = json::value::array();
  std::string last_;
};

/// Says which shares of the weights have which type.
void report_types(const header& from) {
  std::map<std::string, double> shares;
  double all = 0;
  for (const auto& [name, one] : from.tensors) {
    // Embeddings have the type of the step, unless they are the weights of a product, too.
    const bool is_product = one.extents.size() == 2 && (name != "token_embd.weight" ||
                                                        !from.tensors.contains("output.weight"));
    const std::string_view narrow = is_product ? narrow_type(one.type) : "";
    const bool is_float = one.type == "F32" || one.type == "F16" || one.type == "BF16";
    shares[fmt::format("{}: {}", one.type,
                       !narrow.empty() ? fmt::format("{} in groups of {}", narrow, group_size)
                       : is_float      ? "the type of the step (--dtype)"
                                  : "no equal here, read in the type of the step")] += one.values();
    all += one.values();
  }
  for (const auto& [text, values] : shares) {
    print_plain(stderr,
                fmt::format("{} of the weights are {}\n", format::percent(values / all), text));
  }
}

}  // namespace

std::string import_gguf(const std::string& file, const import_options& options) {
  header from = header_reader(file).read();
  const decoder created(file, from);
  const std::string name = options.name.empty() ? model_name_of(file) : options.name;
  const json::value& title = from.metadata["general.name"];
  const std::string called = title.is_string() ? printable(title.get<std::string>()) : name;
  const std::string text = shape_file_text(
      {{"name", name},
       {"title", options.title.empty() ? called.substr(0, 200) : options.title},
       {"source", fmt::format("the header of a GGUF file, version {}", from.version)},
       {"parameters", {{"batch", options.batch.value_or(1)}, {"tokens", 128}, {"context", 0}}}},
      created.layers());
  std::int64_t parameters = 0;
  try {
    parameters = model::count(model::load_text(text, file)).parameters;
  } catch (const error& wrong) {
    throw bad_input(file, "tensors",
                    fmt::format("the shape file would be refused: {}", wrong.what()));
  } catch (const std::overflow_error& wrong) {  // of the sum of all layers
    throw bad_input(file, "tensors", wrong.what());
  }
  if (is_quiet()) return text;
  report_types(from);
  if (created.has_window()) {
    print_plain(stderr, "note: sliding windows are counted as attention to all tokens\n");
  }
  print_plain(stderr, fmt::format("{}: {} layers, {} parameters\n", name, created.layers().size(),
                                  parameters));
  return text;
}

}  // namespace layerbench::tool::importer
