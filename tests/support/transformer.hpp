// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace layerbench::testing {

/// A transformer block behind an embedding of positions, normalised before attention and
/// feed-forward layers, with grouped queries and both kinds of normalization. It sorts each of four
/// tokens into one of three classes.
inline constexpr auto transformer_block = R"({
  "name": "transformer_block",
  "parameters": {"batch": 2},
  "layers": [
    {"name": "tokens", "op": "gemm",
     "shape": {"m": ["batch", 4], "n": 16, "k": 8, "b_transposed": true, "bias": true}},
    {"name": "positions", "op": "add",
     "shape": {"dims": ["batch", 4, 16], "broadcast": true, "learned": true}},
    {"name": "norm1", "op": "layernorm", "shape": {"dims": ["batch", 4, 16]}},
    {"name": "query", "op": "gemm",
     "shape": {"m": ["batch", 4], "n": 16, "k": 16, "b_transposed": true, "bias": true}},
    {"name": "key", "op": "gemm", "after": ["norm1"],
     "shape": {"m": ["batch", 4], "n": 8, "k": 16, "b_transposed": true, "bias": true}},
    {"name": "value", "op": "gemm", "after": ["norm1"],
     "shape": {"m": ["batch", 4], "n": 8, "k": 16, "b_transposed": true, "bias": true}},
    {"name": "attention", "op": "attention", "after": ["query", "key", "value"],
     "shape": {"n": "batch", "heads": 2, "kv_heads": 1, "q": 4, "k": 4, "d": 8, "causal": true}},
    {"name": "project", "op": "gemm",
     "shape": {"m": ["batch", 4], "n": 16, "k": 16, "b_transposed": true, "bias": true}},
    {"name": "sum1", "op": "add", "after": ["project", "positions"],
     "shape": {"dims": [["batch", 4], 16]}},
    {"name": "norm2", "op": "layernorm", "shape": {"dims": [["batch", 4], 16], "kind": "rms"}},
    {"name": "up", "op": "gemm",
     "shape": {"m": ["batch", 4], "n": 32, "k": 16, "b_transposed": true, "bias": true}},
    {"name": "gelu", "op": "activation", "shape": {"kind": "gelu", "dims": [["batch", 4], 32]}},
    {"name": "down", "op": "gemm",
     "shape": {"m": ["batch", 4], "n": 16, "k": 32, "b_transposed": true, "bias": true}},
    {"name": "sum2", "op": "add", "after": ["down", "sum1"],
     "shape": {"dims": [["batch", 4], 16]}},
    {"name": "head", "op": "gemm",
     "shape": {"m": ["batch", 4], "n": 3, "k": 16, "b_transposed": true, "bias": true}}
  ]
})";

/// A block that decodes: keys and values of earlier tokens are in a cache. It reads a prompt of
/// four tokens unless parameters say otherwise.
inline constexpr auto decoder_block = R"({
  "name": "decoder_block",
  "parameters": {"batch": 2, "tokens": 4, "context": 0},
  "layers": [
    {"name": "words", "op": "gemm",
     "shape": {"m": ["batch", "tokens"], "n": 16, "k": 8, "b_transposed": true}},
    {"name": "query", "op": "gemm",
     "shape": {"m": ["batch", "tokens"], "n": 16, "k": 16, "b_transposed": true}},
    {"name": "query_rotary", "op": "rotary",
     "shape": {"n": "batch", "tokens": "tokens", "heads": 4, "d": 4}},
    {"name": "key", "op": "gemm", "after": ["words"],
     "shape": {"m": ["batch", "tokens"], "n": 8, "k": 16, "b_transposed": true}},
    {"name": "key_rotary", "op": "rotary",
     "shape": {"n": "batch", "tokens": "tokens", "heads": 2, "d": 4}},
    {"name": "key_cache", "op": "append",
     "shape": {"n": "batch", "tokens": "tokens", "context": "context", "columns": 8}},
    {"name": "value", "op": "gemm", "after": ["words"],
     "shape": {"m": ["batch", "tokens"], "n": 8, "k": 16, "b_transposed": true}},
    {"name": "value_cache", "op": "append",
     "shape": {"n": "batch", "tokens": "tokens", "context": "context", "columns": 8}},
    {"name": "attention", "op": "attention", "after": ["query_rotary", "key_cache", "value_cache"],
     "shape": {"n": "batch", "heads": 4, "kv_heads": 2, "q": "tokens", "k": "keys", "d": 4,
               "causal": true}},
    {"name": "add", "op": "add", "after": ["attention", "words"],
     "shape": {"dims": ["batch", "tokens", 16]}},
    {"name": "last", "op": "slice",
     "shape": {"dims": ["batch", "tokens", 16], "begin": "last", "size": 1}},
    {"name": "head", "op": "gemm", "shape": {"m": "batch", "n": 3, "k": 16, "b_transposed": true}}
  ]
})";

/// Two experts of six for each token, twice.
inline constexpr auto routed_block = R"({
  "name": "routed_block",
  "parameters": {"batch": 2, "tokens": 4},
  "layers": [
    {"name": "words", "op": "gemm",
     "shape": {"m": ["batch", "tokens"], "n": 16, "k": 8, "b_transposed": true}},
    {"name": "scores", "op": "gemm", "shape": {"m": ["batch", "tokens"], "n": 6, "k": 16}},
    {"name": "softmax", "op": "softmax", "shape": {"dims": [["batch", "tokens"], 6]}},
    {"name": "chosen", "op": "topk",
     "shape": {"n": ["batch", "tokens"], "c": 6, "k": 2, "normalized": true}},
    {"name": "up", "op": "routed_gemm", "after": ["words"],
     "shape": {"tokens": ["batch", "tokens"], "experts": 6, "top_k": 2, "n": 32, "k": 16,
               "gather": true}},
    {"name": "relu", "op": "activation",
     "shape": {"kind": "relu", "dims": [["batch", "tokens", 2], 32]}},
    {"name": "down", "op": "routed_gemm", "after": ["relu", "chosen"],
     "shape": {"tokens": ["batch", "tokens"], "experts": 6, "top_k": 2, "n": 16, "k": 32,
               "scatter": true}}
  ]
})";

}  // namespace layerbench::testing
