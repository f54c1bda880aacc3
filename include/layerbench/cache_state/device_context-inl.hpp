// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <vector>

#include <layerbench/base/compiled.hpp>
#include <layerbench/base/rounding.hpp>
#include <layerbench/cache_state/device_context.hpp>
#include <layerbench/cache_state/eviction.hpp>
#include <layerbench/cache_state/first_touch.hpp>
#include <layerbench/op/test_data.hpp>

namespace layerbench::run {

LAYERBENCH_INLINE device_context::device_context(std::unique_ptr<compute_device> device,
                                                 number_class numbers)
    : device_(std::move(device)), numbers_(numbers) {
  for (std::size_t i = 0; i < pools_.size(); ++i) {
    const bool positive = shared_buffer_kinds.at(i) == buffer_kind::updated;
    for (pool& one : pools_.at(i)) one = pool(positive, numbers);
  }
}

LAYERBENCH_INLINE address device_context::memory(buffer_kind kind, std::size_t bytes, bool hot) {
  return pools_.at(static_cast<std::size_t>(kind)).at(hot ? 1 : 0).get(*device_, bytes);
}

LAYERBENCH_INLINE address device_context::constants(std::size_t bytes) {
  return memory(buffer_kind::constants, bytes, false);
}

LAYERBENCH_INLINE void device_context::evict_private_caches(std::size_t bytes) {
  if (bytes == 0) return;
  const memory_range unused{eviction_pool_.get(*device_, bytes), bytes};
  read_memory(*device_, {&unused, 1});
}

LAYERBENCH_INLINE std::shared_ptr<device_memory> device_context::workspace(std::size_t bytes) {
  std::shared_ptr<device_memory> latest = workspace_.lock();
  if (!latest || workspace_bytes_ < bytes) {
    latest = device_->allocate(bytes);
    workspace_ = latest;
    workspace_bytes_ = bytes;
  }
  return latest;
}

LAYERBENCH_INLINE address device_context::pool::get(compute_device& device, std::size_t bytes) {
  if (!memory_ || bytes_ < bytes) grow(device, bytes);
  return memory_->data();
}

LAYERBENCH_INLINE void device_context::pool::grow(compute_device& device, std::size_t bytes) {
  memory_.reset();  // first, so that both are never allocated at once
  memory_ = device.allocate(bytes);
  bytes_ = bytes;
  auto* to = static_cast<std::byte*>(memory_->data());
  touch_in_turn(device, {to, bytes});
  std::size_t done = std::min(bytes, most_drawn);
  if (device.is_host()) {
    draw(device, to, 0, done);
  } else {
    keep_drawn(device, std::clamp(rounded_up(bytes, block), block, most_drawn));
    done = std::min(drawn_bytes_, bytes);
    device.copy(to, drawn_->data(), done);
  }
  for (; done < bytes; done *= 2) device.copy(to + done, to, std::min(done, bytes - done));
  device.synchronize();
}

LAYERBENCH_INLINE void device_context::pool::keep_drawn(compute_device& device, std::size_t bytes) {
  if (drawn_bytes_ >= bytes) return;
  std::unique_ptr<device_memory> longer = device.allocate(bytes);
  if (drawn_) device.copy(longer->data(), drawn_->data(), drawn_bytes_);
  draw(device, static_cast<std::byte*>(longer->data()), drawn_bytes_, bytes);
  drawn_ = std::move(longer);
  drawn_bytes_ = bytes;
}

LAYERBENCH_INLINE std::uint32_t device_context::pool::magnitude(std::uint32_t word) const {
  switch (numbers_) {
    case number_class::zeros: return 0;
    case number_class::denormal: return 1U + (word & 0x3U);
    case number_class::normal: break;
  }
  return 0x3E80U + (word & 0xFFU);
}

LAYERBENCH_INLINE void device_context::pool::draw(compute_device& device, std::byte* to,
                                                  std::size_t begin, std::size_t end) const {
  std::vector<std::uint16_t> words(block / sizeof(std::uint16_t));
  constexpr std::uint64_t seed = 1;
  std::uint64_t next = begin / sizeof(std::uint64_t);
  for (std::size_t done = begin; done < end; done += block) {
    for (std::size_t i = 0; i < words.size(); i += 4) {
      const std::uint64_t drawn = random_bits(seed, next++);
      for (std::size_t j = 0; j < 4; ++j) {
        const auto word = static_cast<std::uint32_t>(drawn >> (16 * j));
        words[i + j] = static_cast<std::uint16_t>((word & sign_mask_) | magnitude(word));
      }
    }
    device.copy(to + done, words.data(), std::min(block, end - done));
    device.synchronize();  // the next block reuses the words
  }
}

}  // namespace layerbench::run
