// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace layerbench::result {

/// Names of rows without the parts that all of them have, for tables that people read.
struct short_names {
  /// What all names have, with a `*` for the rest: "conv/fwd/onednn/f32/resnet50/*/cache:model";
  /// empty if that is nothing.
  std::string shared;
  std::vector<std::string> own;  ///< the rest of each name, in their order: "conv1"
};

/// Shortens `names`, whose parts stand between slashes. Names with different numbers of parts share
/// only those at both ends. The name of a single row stays as it is.
[[nodiscard]] short_names short_names_of(std::span<const std::string> names);

/// Names for a table: short ones, or the whole ones.
[[nodiscard]] short_names table_names_of(std::span<const std::string> names, bool whole);

/// The layers in one call, without what later ones repeat of the first one up to its last '_':
/// "layer1_0_conv1+bn1" of "layer1_0_conv1+layer1_0_bn1". Other names stay as they are.
[[nodiscard]] std::string short_joined(std::string_view layers);

}  // namespace layerbench::result

#ifndef LAYERBENCH_COMPILED
#include <layerbench/result/short_names-inl.hpp>
#endif
