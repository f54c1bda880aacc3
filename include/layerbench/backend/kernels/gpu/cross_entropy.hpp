// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include <layerbench/backend/kernels/gpu/runtime.hpp>
#include <layerbench/op/cross_entropy.hpp>

namespace layerbench::gpu {

/// Launches the kernels of the loss of probabilities n*c and labels n, which sum in two steps.
class cross_entropy_loss {
 public:
  static constexpr const char* algorithm =
      "layerbench:cross_entropy_parts+layerbench:cross_entropy_mean";

  cross_entropy_loss(const runtime& device, const op::cross_entropy& o, dtype type)
      : o_(o),
        parts_(device.find(type, "cross_entropy_parts")),
        mean_(device.find(type, "cross_entropy_mean")) {}

  [[nodiscard]] static std::size_t workspace_bytes() { return part_count * sizeof(float); }

  void run(address probabilities, address labels, address loss, address workspace) const {
    parts_.launch({1, part_count}, probabilities, labels, workspace, o_.n, o_.c,
                  op::cross_entropy::min_probability);
    mean_.launch({1, 1}, workspace, loss, o_.n);
  }

 private:
  static constexpr unsigned part_count = 64;  ///< as in the kernel cross_entropy_mean

  op::cross_entropy o_;
  kernel parts_, mean_;
};

/// Launches the kernel of the gradient of the loss and of the softmax before it, from probabilities
/// n*c and labels n.
class cross_entropy_gradient {
 public:
  static constexpr const char* algorithm = "layerbench:cross_entropy_gradient";

  cross_entropy_gradient(const runtime& device, const op::cross_entropy& o, dtype type)
      : o_(o), type_(type), kernel_(device.find(type, "cross_entropy_gradient")) {}

  void run(address probabilities, address labels, address gradient) const {
    kernel_.launch(grid_for_vectors(o_.n * o_.c, type_), probabilities, labels, gradient, o_.n,
                   o_.c);
  }

 private:
  op::cross_entropy o_;
  dtype type_;
  kernel kernel_;
};

}  // namespace layerbench::gpu
