// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include <layerbench/backend/device.hpp>
#include <layerbench/cache_state/eviction.hpp>
#include <layerbench/cache_state/ring_buffers.hpp>
#include <layerbench/op/test_data.hpp>

namespace layerbench::run {

/// A device, and the memory on it that its cases share.
class device_context {
 public:
  explicit device_context(std::unique_ptr<compute_device> device) : device_(std::move(device)) {}

  [[nodiscard]] compute_device& device() const { return *device_; }

  /// Memory of one of `shared_buffer_kinds`; a later call may move it. Hot calls have separate
  /// memory, which caches keep for long. Constants are random numbers of magnitude 1/4 to 2 in
  /// every floating-point type. Updated memory begins as such numbers, but positive. Calls must
  /// read activations only after a write: results of results grow without bounds, and the bits of
  /// another data type may be numbers on which processors are slow.
  [[nodiscard]] address memory(buffer_kind kind, std::size_t bytes, bool hot) {
    return pools_.at(static_cast<std::size_t>(kind)).at(hot ? 1 : 0).get(*device_, bytes);
  }
  [[nodiscard]] address constants(std::size_t bytes) {
    return memory(buffer_kind::constants, bytes, false);
  }

  /// Fills the private caches of the device's threads with `bytes`, in all, of memory that no call
  /// uses.
  void evict_private_caches(std::size_t bytes) {
    if (bytes == 0) return;
    const memory_range unused{eviction_pool_.get(*device_, bytes), bytes};
    read_memory(*device_, {&unused, 1});
  }

  /// Scratch memory, which all plans share. It never moves: a larger request gets new memory, and
  /// whoever holds the old one keeps it. It is freed when no one holds it.
  [[nodiscard]] std::shared_ptr<device_memory> workspace(std::size_t bytes) {
    std::shared_ptr<device_memory> latest = workspace_.lock();
    if (!latest || workspace_bytes_ < bytes) {
      latest = device_->allocate(bytes);
      workspace_ = latest;
      workspace_bytes_ = bytes;
    }
    return latest;
  }

 private:
  /// Memory as large as the largest request so far.
  class pool {
   public:
    pool() = default;
    explicit pool(bool positive) : sign_mask_(positive ? 0 : 0x8000U) {}

    [[nodiscard]] address get(compute_device& device, std::size_t bytes) {
      if (!memory_ || bytes_ < bytes) {
        memory_.reset();  // first, so that both are never allocated at once
        memory_ = device.allocate(bytes);
        bytes_ = bytes;
        fill(device, memory_->data(), bytes_);
      }
      return memory_->data();
    }

   private:
    /// Writes words that are small numbers as bf16 (1/4 to 1), f16 (1.6 to 2) and halves of f32.
    void fill(compute_device& device, address to, std::size_t bytes) const {
      constexpr std::size_t block = 1U << 20U;
      std::vector<std::uint16_t> words(block / sizeof(std::uint16_t));
      random_bits bits(bytes);
      for (std::size_t done = 0; done < bytes; done += block) {
        for (std::size_t i = 0; i < words.size(); i += 4) {
          const std::uint64_t drawn = bits();
          for (std::size_t j = 0; j < 4; ++j) {
            const auto word = static_cast<std::uint32_t>(drawn >> (16 * j));
            words[i + j] =
                static_cast<std::uint16_t>((word & sign_mask_) | (0x3E80U + (word & 0xFFU)));
          }
        }
        device.copy(static_cast<std::byte*>(to) + done, words.data(),
                    std::min(block, bytes - done));
        device.synchronize();  // the next block reuses the words
      }
    }

    std::uint32_t sign_mask_ = 0x8000U;
    std::unique_ptr<device_memory> memory_;
    std::size_t bytes_ = 0;
  };
  using pools = std::array<pool, 2>;  ///< the second one for hot calls

  std::unique_ptr<compute_device> device_;
  std::array<pools, shared_buffer_kinds.size()> pools_{
      pools{}, pools{}, pools{pool(/*positive=*/true), pool(/*positive=*/true)}};
  pool eviction_pool_;
  std::weak_ptr<device_memory> workspace_;  ///< of the latest request that got new memory
  std::size_t workspace_bytes_ = 0;
};

}  // namespace layerbench::run
