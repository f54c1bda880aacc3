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
     "shape": {"n": "batch", "heads": 4, "kv_heads": 2, "q": 4, "k": 4, "d": 4, "causal": true}},
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

}  // namespace layerbench::testing
