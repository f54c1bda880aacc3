// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include <layerbench/result/manifest.hpp>

/// The manifest of a result file as JSON (docs/formats.md).
namespace layerbench::result {

/// The manifest as a context field: an object from case to a list of [layer, op, pass, key, count],
/// with an optional object as sixth element:
/// {"part": "backward", "state": signature, "inserted": true, "chain_s": seconds, "left_out":
/// share, "moves": list}, of [bytes, distance, 1 if they are written, else 0] each.
[[nodiscard]] std::string write_manifest(const manifest& cases);

/// The inverse of write_manifest. Throws bad_input naming `file`.
[[nodiscard]] manifest read_manifest(std::string_view text, std::string_view file);

}  // namespace layerbench::result

#ifndef LAYERBENCH_COMPILED
#include <layerbench/result/manifest_json-inl.hpp>
#endif
