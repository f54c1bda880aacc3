// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <layerbench/result/verbose_log.hpp>
#include <layerbench/shape/dims.hpp>

namespace layerbench::tool::importer {

/// A tensor or a value that a call reads, or a tensor that it writes.
struct logged_operand {
  dims extents = {};       ///< empty: no tensor
  std::string type = {};   ///< in the log's words
  std::string order = {};  ///< letters of the axes as in memory, such as acdb; empty: unknown
  std::string value = {};  ///< such as "2" or "[2, 2]"
};

/// A call in the words of ONNX Runtime, OpenVINO or PyTorch.
struct logged_call {
  std::string op = {};  ///< such as FusedConv or aten::addmm
  std::string implementation = {};
  std::string engine = "cpu";
  std::vector<logged_operand> inputs = {}, outputs = {};
};

/// What follows from logs that lack attributes, for people.
inline constexpr std::string_view no_attributes =
    "the log has no attributes: strides and paddings follow from sizes, windows of pools are as "
    "large as strides, fused activations are left out";

/// Whether oneDNN has a primitive for an op of this name.
[[nodiscard]] bool has_primitive(std::string_view op);

/// The call in the words of oneDNN's log. What has no primitive keeps its name and the sizes of its
/// tensors. Sizes that the log lacks follow from others: strides and paddings from those of the
/// tensors; a pool's window is as large as its stride.
[[nodiscard]] result::verbose_primitive primitive_of(const logged_call& call);

}  // namespace layerbench::tool::importer
