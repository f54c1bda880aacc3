// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include <fmt/format.h>

#include <layerbench/backend/kernels/gpu/tensor_plan.hpp>
#include <layerbench/op/post_ops.hpp>

namespace layerbench::gpu {

/// End of the names of algorithms behind which a post_kernel runs.
inline constexpr std::string_view post_kernel_suffix = "+layerbench:post_ops";

/// A layerbench kernel that applies all post-ops of an op to the result of a library's call, for
/// post-ops that the library does not join to the call.
class post_kernel {
 public:
  /// `result` is the op's destination. Does nothing where `post` is empty. Throws unsupported for
  /// integers, whose scales the kernel does not know, and for too many post-ops.
  post_kernel(const runtime& device, const op::post_ops& post, const op::operand& result)
      : size_(elements(result.extents)), type_(result.type) {
    if (post.empty()) return;
    if (is_integer(type_)) {
      throw unsupported("layerbench has no post-ops of integers on GPUs");
    }
    if (post.size() > list_.kinds.size()) {
      throw unsupported(fmt::format("more than {} post-ops on GPUs", list_.kinds.size()));
    }
    for (const op::post_op p : post) {
      list_.kinds.at(static_cast<std::size_t>(list_.count++)) =
          op::is_addition(p) ? addition : static_cast<int>(op::activation_of(p));
      if (op::is_addition(p)) ++additions_;
    }
    kernel_.emplace(device.find(type_, "post_ops"));
    if (std::ranges::find(post, op::post_op::sum) != post.end()) {
      scratch_bytes_ = aligned_bytes(static_cast<std::size_t>(size_) * traits(type_).bytes);
    }
  }

  /// Whether it has anything to do.
  explicit operator bool() const { return kernel_.has_value(); }
  /// Bytes at the start of the workspace for the result of the call; 0 unless a post-op reads what
  /// the destination had before.
  [[nodiscard]] std::size_t scratch_bytes() const { return scratch_bytes_; }
  /// Where the call stores its result.
  [[nodiscard]] address result_address(address destination, address workspace) const {
    return scratch_bytes_ > 0 ? workspace : destination;
  }
  /// The workspace of the call.
  [[nodiscard]] address library_workspace(address workspace) const {
    return static_cast<std::byte*>(workspace) + scratch_bytes_;
  }

  /// `stored` is the result of the call. `operands` are the op's: those that post-ops add precede
  /// the destination, which is the last one.
  void run(address stored, std::span<const address> operands) const {
    if (!kernel_) return;
    post_list list = list_;
    std::ranges::copy(operands.last(additions_ + 1).first(additions_), list.addends.begin());
    kernel_->launch(grid_for_vectors(size_, type_), stored, operands.back(), size_, list);
  }

 private:
  static constexpr int addition = -1;

  /// As the kernel takes it.
  struct post_list {
    std::array<address, op::most_additions + 1> addends{};  ///< an add has one more
    std::array<int, 15> kinds{};  ///< in their order: of op::activation_kind, or `addition`
    int count = 0;
  };

  std::int64_t size_ = 0;
  dtype type_ = dtype::f32;
  std::size_t additions_ = 0;
  post_list list_;
  std::optional<kernel> kernel_;
  std::size_t scratch_bytes_ = 0;
};

}  // namespace layerbench::gpu
