// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "support/mentions.hpp"
#include "support/program.hpp"
#include "support/temporary_directory.hpp"

/// `layerbench import gguf` on headers that are written here, without any weights behind them.
namespace layerbench {
namespace tools_import_gguf_test {

using ::testing::AnyOf;
using ::testing::HasSubstr;
using testing::mentions;

using strings = std::vector<std::string>;
using sizes = std::vector<std::int64_t>;

enum type : std::uint32_t { f32 = 0, f16 = 1, q4_0 = 2, q8_0 = 8, q4_k = 12, q6_k = 14 };

/// A header of a GGUF file, by https://github.com/ggml-org/ggml/blob/master/docs/gguf.md.
struct gguf {
  std::string architecture;
  bool big = false;
  std::uint64_t key_count = 0;
  std::string keys = {};
  std::vector<std::pair<std::string, std::pair<sizes, std::uint32_t>>> tensors = {};

  template <class T>
  [[nodiscard]] std::string raw(T value) const {
    std::string bytes(sizeof(T), '\0');
    std::memcpy(bytes.data(), &value, sizeof(T));
    if (big) std::ranges::reverse(bytes);
    return bytes;
  }
  [[nodiscard]] std::string text(const std::string& value) const {
    return raw<std::uint64_t>(value.size()) + value;
  }
  gguf& key(const std::string& name, std::uint32_t kind, const std::string& value) {
    ++key_count;
    keys += text(name) + raw(kind) + value;
    return *this;
  }
  gguf& size(const std::string& name, std::int64_t value) {
    return key(architecture + "." + name, 4, raw(static_cast<std::uint32_t>(value)));
  }
  gguf& with(const std::string& name, const sizes& extents, std::uint32_t of = f32) {
    std::erase_if(tensors, [&](const auto& one) { return one.first == name; });
    tensors.push_back({name, {extents, of}});
    return *this;
  }
  gguf& without(const std::string& name) {
    with(name, {}).tensors.pop_back();
    return *this;
  }
  [[nodiscard]] std::int64_t values() const {
    std::int64_t sum = 0;
    for (const auto& [name, tensor] : tensors) {
      std::int64_t product = 1;
      for (const std::int64_t one : tensor.first) product *= one;
      sum += product;
    }
    return sum;
  }
  [[nodiscard]] std::string bytes(std::uint32_t version = 3) const {
    std::string all = "GGUF" + raw(version) + raw<std::uint64_t>(tensors.size()) + raw(key_count);
    all += keys;
    for (const auto& [name, tensor] : tensors) {
      all += text(name) + raw(static_cast<std::uint32_t>(tensor.first.size()));
      for (const std::int64_t one : tensor.first) all += raw(one);
      all += raw(tensor.second) + raw(std::uint64_t{0});
    }
    return all;
  }
};

struct decoder_sizes {
  std::int64_t depth, width, heads, kv_heads, d, inner, vocabulary;
  std::int64_t experts = 0, top_k = 0;
};
const decoder_sizes tiny{2, 64, 4, 2, 16, 96, 50};

/// A decoder as llama.cpp converts it. Products have weights of type `of`, norms and words f32.
gguf decoder(const std::string& name, const decoder_sizes& s, std::uint32_t of = f32,
             bool big = false, float epsilon = 1e-5F) {
  gguf all{name, big};
  all.key("general.architecture", 8, all.text(name));
  all.key("tokenizer.ggml.tokens", 9,
          all.raw(8U) + all.raw<std::uint64_t>(2) + all.text("a") + all.text("b"));
  all.key("tokenizer.ggml.types", 9, all.raw(5U) + all.raw<std::uint64_t>(1) + all.raw(7));
  all.key(name + ".attention.layer_norm_rms_epsilon", 6, all.raw(epsilon));
  all.size("block_count", s.depth).size("attention.head_count", s.heads);
  if (s.experts > 0) all.size("expert_used_count", s.top_k);
  all.with("token_embd.weight", {s.width, s.vocabulary}).with("output_norm.weight", {s.width});
  const bool has_head_norm = name.starts_with("qwen3") || name == "gemma3";
  for (std::int64_t i = 0; i < s.depth; ++i) {
    const auto add = [&](const std::string& part, const sizes& extents, std::uint32_t type) {
      all.with(fmt::format("blk.{}.{}", i, part), extents, type);
    };
    strings norms{"attn", "ffn"};
    if (name.starts_with("gemma")) norms.insert(norms.end(), {"post_attention", "post_ffw"});
    for (const std::string& norm : norms) add(norm + "_norm.weight", {s.width}, f32);
    for (const auto& [part, rows] :
         {std::pair('q', s.heads), {'k', s.kv_heads}, {'v', s.kv_heads}}) {
      const std::string product = fmt::format("attn_{}", part);
      add(product + ".weight", {s.width, rows * s.d}, of);
      if (name == "qwen2") add(product + ".bias", {rows * s.d}, f32);
      if (has_head_norm && part != 'v') add(product + "_norm.weight", {s.d}, f32);
    }
    add("attn_output.weight", {s.heads * s.d, s.width}, of);
    if (s.experts > 0) add("ffn_gate_inp.weight", {s.width, s.experts}, f32);
    for (const char* part : {"gate", "up", "down"}) {
      sizes extents{s.width, s.inner};
      if (*part == 'd') std::ranges::reverse(extents);
      if (s.experts > 0) extents.push_back(s.experts);
      add(fmt::format("ffn_{}{}.weight", part, s.experts > 0 ? "_exps" : ""), extents, of);
    }
  }
  return all;
}

class ImportGguf : public ::testing::Test {
 protected:
  testing::outcome import(const std::string& bytes, strings more = {}) {
    more.insert(more.begin(), {"import", "gguf", directory_.write("net.gguf", bytes).string()});
    return testing::run(LAYERBENCH_TOOL, more);
  }
  json::value layers_of(const std::string& bytes) {
    const testing::outcome done = import(bytes);
    EXPECT_EQ(done.exit_code, 0) << done.err;
    return json::value::parse(done.out)["layers"];
  }
  /// What `show` says of a model, or of a GGUF file without a shape file.
  static json::value shown(const std::string& model) {
    const testing::outcome done =
        testing::run(LAYERBENCH_TOOL, {"show", model, "--format", "json"});
    EXPECT_EQ(done.exit_code, 0) << done.err;
    return json::value::parse(done.out);
  }
  json::value parameters_of(const gguf& of) {
    return shown(directory_.write("net.gguf", of.bytes()).string()).at("parameters");
  }
  static json::value shipped_layers(const std::string& name) {
    return json::value::parse(
        json::read_text(LAYERBENCH_SOURCE_DIR "/shapes/models/" + name + ".json"))["layers"];
  }

  testing::temporary_directory directory_;
};

TEST_F(ImportGguf, GivesTheShippedModels) {
  gguf llama = decoder("llama", {16, 2048, 32, 8, 64, 8192, 128256});
  llama.with("rope_freqs.weight", {32});
  EXPECT_EQ(layers_of(llama.bytes()), shipped_layers("llama_1b"));
  const json::value own = shown(directory_.write("net.gguf", llama.bytes()).string());
  const json::value expected = shown("llama_1b");
  for (const char* total : {"parameters", "macs", "tokens", "context"}) {
    EXPECT_EQ(own.at(total), expected.at(total)) << total;
  }
  gguf qwen = decoder("qwen3moe", {2, 2048, 32, 4, 128, 768, 151936, 128, 8}, f32, false, 1e-6F);
  qwen.with("output.weight", {2048, 151936});
  EXPECT_EQ(layers_of(qwen.bytes()), shipped_layers("qwen3_moe_2_layers"));
}

TEST_F(ImportGguf, HasTheParametersOfTheTensorsAtAnySizes) {
  std::mt19937 random(7);
  const auto draw = [&](int most) {
    return std::uniform_int_distribution<std::int64_t>(1, most)(random);
  };
  for (const char* name : {"llama", "qwen2", "qwen3", "qwen3moe", "gemma", "gemma3"}) {
    decoder_sizes s{draw(3), 8 * draw(9), 0, draw(3), 2 * draw(9), draw(99), draw(999)};
    s.heads = s.kv_heads * draw(3);
    if (std::string(name) == "qwen3moe") {
      s.experts = 2 + draw(6);
      s.top_k = draw(2);
    }
    gguf model = decoder(name, s);
    if (draw(2) == 1) model.with("output.weight", {s.width, s.vocabulary});
    EXPECT_EQ(parameters_of(model), model.values()) << name;
    const json::value usual = layers_of(decoder(name, s).bytes());
    EXPECT_EQ(layers_of(decoder(name, s, f32, /*big=*/true).bytes()), usual) << name;
    EXPECT_EQ(layers_of(decoder(name, s).bytes(2)), usual) << name;
  }
}

TEST_F(ImportGguf, TakesTypesOfWeightsThatTheSuiteHas) {
  const auto gate = [&](std::uint32_t of) {
    const json::value layers = layers_of(decoder("llama", tiny, of).bytes());
    for (const json::value& layer : layers) {
      if (layer["name"] == "layer1_gate") return layer["shape"];
    }
    return json::value();
  };
  for (const auto& [of, narrow] : {std::pair(q4_0, "s4"), {q4_k, "s4"}, {q8_0, "s8"}}) {
    EXPECT_EQ(gate(of).value("weights_type", ""), narrow);
    EXPECT_EQ(gate(of).value("group_size", 0), 32);
  }
  for (const type of : {f32, f16, q6_k}) EXPECT_FALSE(gate(of).contains("weights_type"));
  gguf mixed = decoder("llama", tiny, q4_0).with("blk.0.ffn_up.weight", {64, 96}, q6_k);
  const double share = 100.0 * 64 * 96 / static_cast<double>(mixed.values());
  EXPECT_THAT(import(mixed.bytes()).err, mentions("Q6_K", "Q4_0", fmt::format("{:.1f}", share)));
  EXPECT_EQ(parameters_of(mixed), mixed.values());
}

TEST_F(ImportGguf, SharesNarrowWordsWithTheOutput) {
  const gguf tied = decoder("llama", tiny, q8_0).with("token_embd.weight", {64, 50}, q8_0);
  const json::value output = layers_of(tied.bytes()).back();
  EXPECT_EQ(output.at("weights_of"), "words");
  EXPECT_EQ(output.at("shape").at("weights_type"), "s8");
  EXPECT_EQ(parameters_of(tied), tied.values());
}

TEST_F(ImportGguf, TakesNamesAndTheBatch) {
  const std::string bytes = decoder("llama", tiny).bytes();
  const json::value file = json::value::parse(
      import(bytes, {"--name", "mine", "--title", "My net", "--batch", "4"}).out);
  EXPECT_EQ(file["name"], "mine");
  EXPECT_EQ(file["title"], "My net");
  EXPECT_EQ(file["parameters"], json::value({{"batch", 4}, {"tokens", 128}, {"context", 0}}));
  for (const char* other : {"--no-softmax", "--allow-partial", "--one-step", "--bind=a=1"}) {
    EXPECT_EQ(import(bytes, {other}).exit_code, 2) << other;
  }
}

TEST_F(ImportGguf, RefusesWhatDoesNotFit) {
  const auto refused = [&](const gguf& of, int code, const std::string& name) {
    const testing::outcome done = import(of.bytes());
    EXPECT_EQ(done.exit_code, code) << done.err;
    EXPECT_THAT(done.err, mentions("net.gguf", name));
    return done.err;
  };
  EXPECT_THAT(refused(decoder("mamba", tiny), 4, "mamba"), mentions("qwen3moe", "from_torch"));
  gguf shared = decoder("llama", tiny).with("blk.0.ffn_up_shexp.weight", {64, 96});
  const double share = 100.0 * 64 * 96 / static_cast<double>(shared.values());
  EXPECT_THAT(refused(shared, 4, "blk.0.ffn_up_shexp.weight"),
              HasSubstr(fmt::format("{:.1f}", share)));
  const std::string down = "blk.1.ffn_down.weight";
  gguf part = decoder("llama", tiny).without(down);
  refused(part, 3, down);
  EXPECT_THAT(refused(part.key("split.count", 2, part.raw<std::uint16_t>(3)), 3, down),
              HasSubstr("--merge"));
  refused(decoder("llama", tiny).with(down, {64, 96}), 3, down);
  refused(decoder("llama", tiny).with(down, {96}), 3, down);
  refused(decoder("llama", tiny).with("blk.0.attn_k.weight", {64, 17}), 3, "blk.0.attn_k.weight");
  decoder_sizes none = tiny;
  none.depth = 0;
  refused(decoder("llama", none), 3, "llama.block_count");
  gguf twice = decoder("llama", tiny).size("block_count", 2);
  refused(twice, 3, "llama.block_count");
}

TEST_F(ImportGguf, RefusesDamagedHeadersWithTheByte) {
  const std::string whole = decoder("llama", tiny).bytes();
  const auto put = [&](std::size_t at, std::uint64_t value, std::size_t size) {
    std::string bytes = whole;
    std::memcpy(bytes.data() + at, &value, size);
    return bytes;
  };
  const std::size_t kind = whole.find("architecture") + 12;
  const std::size_t array = whole.find("tokenizer.ggml.tokens") + 21;
  const std::size_t words = whole.find("token_embd.weight") + 17;
  const std::uint64_t huge = std::uint64_t{1} << 63U;
  const std::vector<std::pair<std::string, std::string>> damaged{
      {"", "0"},
      {"GGML" + whole.substr(4), "0"},
      {put(4, 1, 4), "4"},
      {put(4, 77, 4), "4"},
      {put(8, huge, 8), "8"},
      {put(16, huge, 8), "8"},
      {put(16, 99'999, 8), "byte"},
      {put(24, huge, 8), "32"},
      {put(24, whole.size(), 8), "32"},
      {put(kind, 13, 4), std::to_string(kind)},
      {put(kind, 9, 4), "byte"},
      {put(array + 4, 9, 4), std::to_string(array + 4)},  // an array of arrays
      {put(array + 8, huge, 8), std::to_string(array + 16)},
      {put(array + 8, huge >> 3U, 8), std::to_string(array + 16)},
      {put(words, 0, 4), "token_embd.weight"},
      {put(words, 5, 4), "token_embd.weight"},
      {put(words + 4, 0, 8), "token_embd.weight"},
      {put(words + 4, huge, 8), "token_embd.weight"},
      {put(words + 20, 4, 4), "token_embd.weight"},
      {put(words + 20, 999, 4), "token_embd.weight"}};
  for (std::size_t i = 0; i < damaged.size(); ++i) {
    const testing::outcome done = import(damaged[i].first);
    EXPECT_EQ(done.exit_code, 3) << i << done.err;
    EXPECT_THAT(done.err, mentions("net.gguf", "byte", damaged[i].second)) << i;
  }
  for (std::size_t size = 1; size < whole.size(); size += whole.size() / 40) {
    EXPECT_EQ(import(whole.substr(0, size)).exit_code, 3) << size;
  }
  std::mt19937 random(11);
  for (int i = 0; i < 60; ++i) {
    const std::size_t at = random() % whole.size();
    EXPECT_THAT(import(put(at, random() % 256, 1)).exit_code, AnyOf(0, 3, 4)) << at;
  }
}

TEST_F(ImportGguf, ReadsNoWeights) {
  // Behind the header there is more than fits into memory, all of it a hole.
  const std::filesystem::path path = directory_.write("large.gguf", decoder("llama", tiny).bytes());
  std::filesystem::resize_file(path, std::uintmax_t{1} << 42U);
  EXPECT_EQ(testing::run(LAYERBENCH_TOOL, {"import", "gguf", path.string()}).exit_code, 0);
}

}  // namespace tools_import_gguf_test
}  // namespace layerbench
