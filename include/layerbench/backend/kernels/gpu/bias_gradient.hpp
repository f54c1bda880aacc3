// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <layerbench/backend/kernels/gpu/runtime.hpp>
#include <layerbench/shape/dtype.hpp>

namespace layerbench::gpu {

/// Launches the kernels of the gradient of a bias: sums over the images and pixels of each channel,
/// in parts that one or two further launches add up.
class bias_gradient {
 public:
  /// `images`: extents n*k*p*q of the gradient that is summed up. Throws unsupported if
  /// `most_bytes` of scratch memory are not enough for one number per channel.
  bias_gradient(const runtime& device, const dims& images, dtype type, bool channels_last,
                std::size_t most_bytes)
      : images_(images[0]),
        channels_(images[1]),
        pixels_(images[2] * images[3]),
        channels_last_(channels_last ? 1 : 0),
        parts_(device.find(type, "bias_gradient_parts")),
        sums_(device.find(type, "sum_parts")),
        last_(device.find(type, "bias_gradient")) {
    const std::int64_t lanes = lanes_of(type);
    threads_per_part_ = channels_last && channels_ % lanes == 0 ? channels_ / lanes : channels_;
    constexpr std::int64_t enough = 1 << 18;  // threads that keep every GPU busy
    constexpr std::int64_t terms = 4;         // of each part, at least
    const auto room = static_cast<std::int64_t>(most_bytes / sizeof(float)) / channels_;
    if (room < 1) throw unsupported("no room for the sums of the gradient of what is added");
    const std::int64_t most =
        room > 2 * most_of_last ? room - most_of_last : std::min(room, most_of_last);
    count_ = std::clamp<std::int64_t>(
        enough / threads_per_part_, 1,
        std::min(most, std::max<std::int64_t>(1, images_ * pixels_ / terms)));
  }

  [[nodiscard]] std::size_t workspace_bytes() const {
    const std::int64_t sums = count_ > most_of_last ? most_of_last : 0;
    return static_cast<std::size_t>((count_ + sums) * channels_) * sizeof(float);
  }

  void run(address from, address to, address workspace) const {
    parts_.launch(grid_for(threads_per_part_ * count_), from, workspace, images_, channels_,
                  pixels_, channels_last_, count_);
    address parts = workspace;
    std::int64_t left = count_;
    if (left > most_of_last) {
      address sums = static_cast<float*>(workspace) + count_ * channels_;
      sums_.launch(grid_for(channels_ * most_of_last), parts, sums, channels_, left,
                   std::int64_t{most_of_last});
      parts = sums;
      left = most_of_last;
    }
    last_.launch(grid_for(channels_), parts, to, channels_, left);
  }

 private:
  static constexpr std::int64_t most_of_last = 64;  ///< parts that the last launch adds up

  std::int64_t images_, channels_, pixels_;
  int channels_last_;
  std::int64_t threads_per_part_;
  std::int64_t count_;  ///< parts of each channel
  kernel parts_, sums_, last_;
};

}  // namespace layerbench::gpu
