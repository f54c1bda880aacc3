// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include <layerbench/shape/dims.hpp>

#include "graph.hpp"

/// Extents of all tensors of a graph, and the values of those that hold sizes.
namespace layerbench::tool::importer {

/// What is known of a value.
struct known {
  int type = 0;
  std::optional<dims> extents = {};
  /// Its elements, if they are computed from constants and sizes alone, and are few.
  std::shared_ptr<const elements_of> data = {};
};

/// The sizes of one run.
struct sizes {
  std::map<std::string, std::int64_t, std::less<>> named;
  std::string batch_name;  ///< of the batch; empty: the file has a number, or no name
  std::int64_t batch = 1;
  std::int64_t batch_in_file = 0;  ///< the number that `batch` replaces; 0: none
  bool batch_varies = true;        ///< `batch` is a prime that stands for any batch
};

/// A node whose attributes or inputs do not fit. infer and convert add its place.
struct bad_node : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// The extents by which a window moves over an image, one for each axis behind the channels.
struct window {
  dims size, stride, dilation, before, after;
  bool ceil = false;

  /// Extent along an axis of what the window covers at once.
  [[nodiscard]] std::int64_t covered(std::size_t axis) const {
    return dilation[axis] * (size[axis] - 1) + 1;
  }
  /// Windows along an axis of this extent. The last one begins inside of it, as in PyTorch.
  [[nodiscard]] std::int64_t outputs(std::size_t axis, std::int64_t extent) const;
};

/// The window of a convolution or pool with filters of this size. Throws bad_node.
[[nodiscard]] window window_of(const node& of, const dims& image, const dims& size,
                               bool transposed = false);

/// An axis counted from 0. Throws bad_node if there is none.
[[nodiscard]] std::size_t axis_of(std::int64_t axis, std::size_t axes);

/// The extents that both tensors get where they are combined by element; nothing if they do not
/// fit.
[[nodiscard]] std::optional<dims> broadcast(const dims& a, const dims& b);

/// The elements as whole numbers.
[[nodiscard]] std::vector<std::int64_t> whole_numbers(const std::vector<double>& values);

/// What is known of each value of the graph. Throws bad_input for extents that do not fit, and for
/// a named size that is not in `of`.
[[nodiscard]] std::vector<known> infer(const graph& g, const sizes& of);

/// What is known of a value outside, by its name; null if nothing is.
using outer_values = std::function<const known*(std::string_view name)>;

/// The same of a branch or a body with these inputs. Throws bad_input for extents that do not fit.
[[nodiscard]] std::vector<known> infer_inside(const graph& body, const sizes& of,
                                              const outer_values& outer,
                                              const std::vector<known>& inputs);

}  // namespace layerbench::tool::importer
