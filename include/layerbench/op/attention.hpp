// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include <layerbench/op/op.hpp>

namespace layerbench::op {

/// Scaled dot-product attention (Vaswani et al. 2017, 3.2). For each sequence and head, with Q of q
/// queries, K and V of k keys, rows of d values:
///
///   dst = softmax(Q K^T / sqrt(d) + mask) V, the softmax over the keys.
///
/// With grouped queries (Ainslie et al. 2023) heads / kv_heads neighbouring heads share the keys
/// and values of one head; kv_heads of 0 means one for each head. With `causal` the queries are the
/// last of the k tokens, and none sees a later token: with q = k query i sees keys 0 to i, and one
/// query, as when text is generated, sees all.
///
/// Rows of a token lie one behind the other, head by head, as the projections of a token write
/// them. So a matrix of n*q rows and heads*d columns is the same memory, and nothing is transposed.
struct attention {
  static constexpr std::string_view name = "attention";

  /// Indices of the operands; a pass has the first of them.
  enum operand_index : std::size_t {
    query,
    key,
    value,
    dst,
    workspace,
    diff_dst,
    diff_query,
    diff_key,
    diff_value,
    operand_count
  };

  std::int64_t n = 1, heads = 1, q = 1, k = 1, d = 1;
  std::int64_t kv_heads = 0;
  bool causal = false;

  static constexpr auto fields = std::tuple{
      required("n", &attention::n, "sequences in a batch"),
      required("heads", &attention::heads, "heads of the queries"),
      required("q", &attention::q, "queries of a sequence"),
      required("k", &attention::k, "keys and values of a sequence"),
      required("d", &attention::d, "values of a row of a head"),
      optional("kv_heads", &attention::kv_heads, "heads of keys and values [heads]"),
      optional("causal", &attention::causal, "whether queries see no later token"),
  };

  /// Heads of keys and values.
  [[nodiscard]] std::int64_t groups() const { return kv_heads == 0 ? heads : kv_heads; }
  /// Heads of queries that share keys and values.
  [[nodiscard]] std::int64_t group_size() const { return heads / groups(); }
  /// Number of keys that query `i` sees: the first ones.
  [[nodiscard]] std::int64_t visible(std::int64_t i) const { return causal ? k - q + 1 + i : k; }

  void validate() const {
    if (heads % groups() != 0) throw invalid_field("kv_heads", "does not divide heads");
    if (causal && q > k) throw invalid_field("q", "must not be above k where causal is true");
  }

  /// Fewer sequences, and then fewer tokens, where all of them have more than 2^31 MACs:
  /// verification in double precision would take minutes.
  [[nodiscard]] attention verified_as() const {
    constexpr std::int64_t most = std::int64_t{1} << 31U;
    attention result = *this;
    const std::int64_t sequence_macs = work(pass::fwd).macs / n;
    result.n = std::clamp<std::int64_t>(most / sequence_macs, 1, n);
    while (result.work(pass::fwd).macs > most && result.q * result.k > 1) {
      result.q = (result.q + 1) / 2;
      result.k = (result.k + 1) / 2;
    }
    return result;
  }

  static std::vector<pass> passes() { return {pass::fwd, pass::fwd_training, pass::bwd}; }

  /// query and dst n*q*(heads*d), key and value n*k*(groups*d), gradients alike. Training has a
  /// workspace that only the library knows: probabilities, or what it recomputes them from. `bwd`
  /// reads dst, since fused kernels need it. Test data has positive scores, of which those of a
  /// query differ by little: large scores show how precisely they are kept, and no probability
  /// outweighs the others.
  [[nodiscard]] std::vector<operand> operands(pass p, dtype type) const {
    const dims queries{n, q, checked_multiply(heads, d)};
    const dims keys{n, k, checked_multiply(groups(), d)};
    std::vector<operand> all{{"query", queries, role::source, type},
                             {"key", keys, role::source, type},
                             {"value", keys, role::source, type},
                             {"dst", queries, role::destination, type}};
    all[query].low = 0;
    all[query].high = 8;
    all[key].low = 0;
    if (p == pass::fwd) return all;
    if (p == pass::bwd) all.back().role = role::source;
    all.push_back(opaque_operand("workspace", all.back().role));
    if (p == pass::fwd_training) return all;
    all.push_back({"diff_dst", queries, role::source, type});
    all.push_back({"diff_query", queries, role::destination, type});
    all.push_back({"diff_key", keys, role::destination, type});
    all.push_back({"diff_value", keys, role::destination, type});
    return all;
  }

  /// Only the products count, n*heads*q*k*d MACs each: two forward (scores, results), four backward
  /// (gradients of value, of the probabilities, of query and of key). Fused kernels recompute the
  /// scores in the backward pass, which does not count. `flops` counts all pairs of a query and a
  /// key, `flops_exact` those that the mask leaves.
  [[nodiscard]] op::work work(pass p) const {
    const std::int64_t products = p == pass::bwd ? 4 : 2;
    const std::int64_t macs = checked_product({products, n, heads, q, k, d});
    // Query i sees visible(i) keys: q of them see (visible(0) + visible(q - 1)) / 2 on average.
    const std::int64_t pairs = checked_multiply(q, visible(0) + visible(q - 1)) / 2;
    const std::int64_t flops = checked_multiply(2, macs);
    return {macs, flops, checked_product({2, products, n, heads, pairs, d})};
  }
};

}  // namespace layerbench::op
