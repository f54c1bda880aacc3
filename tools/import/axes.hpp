// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include <layerbench/op/op.hpp>
#include <layerbench/shape/dims.hpp>

/// Axes of extent 1, which ops of images have and sequences have not.
namespace layerbench::tool::importer {

/// Whether a layer reads a tensor of extents `from` as `to` without a copy, perhaps once one of
/// them has more axes of extent 1.
[[nodiscard]] bool reads_as(const dims& from, const dims& to);

/// Whether a layer can read a tensor that was written with extents `from` as `to`, with more axes
/// or by a copy.
[[nodiscard]] bool can_read(const dims& from, const dims& to);

enum class end_of_edge { source, destination };

/// The op on tensors with more axes of extent 1, so that the tensor at that end has extents `to`
/// in place of `from`; nothing for an op that needs its axes.
[[nodiscard]] std::optional<op::any> with_axes(const op::any& op, const dims& from, const dims& to,
                                               end_of_edge end);

/// A transpose, whose source and result have axes apart, with others of one of them; nothing where
/// it would not split or join axes, and for other ops.
[[nodiscard]] std::optional<op::any> with_end(const op::any& op, const dims& to, end_of_edge end);

/// The extents of a layer that works by element or row, and the axes that matter to it.
struct axes_freedom {
  dims extents;
  bool keeps_first;  ///< it repeats an operand along the first axis
  bool keeps_last;   ///< it has rows
};

/// Nothing for other ops.
[[nodiscard]] std::optional<axes_freedom> free_axes(const op::any& op);

/// Such an op on tensors of other extents.
[[nodiscard]] op::any with_extents(const op::any& op, const dims& extents);

}  // namespace layerbench::tool::importer
