// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <layerbench/backend/device.hpp>
#include <layerbench/cache_state/eviction.hpp>
#include <layerbench/cache_state/first_touch.hpp>
#include <layerbench/cache_state/number_class.hpp>
#include <layerbench/cache_state/ring_buffers.hpp>
#include <layerbench/op/test_data.hpp>

namespace layerbench::run {

/// A device, the memory on it that its rows share, and what they know of its plans.
class device_context {
 public:
  /// `numbers` are those that its memory holds for timed calls. Verification has its own memory.
  explicit device_context(std::unique_ptr<compute_device> device,
                          number_class numbers = number_class::normal)
      : device_(std::move(device)), numbers_(numbers) {
    for (std::size_t i = 0; i < pools_.size(); ++i) {
      const bool positive = shared_buffer_kinds.at(i) == buffer_kind::updated;
      for (pool& one : pools_.at(i)) one = pool(positive, numbers);
    }
  }

  [[nodiscard]] compute_device& device() const { return *device_; }
  [[nodiscard]] number_class numbers() const { return numbers_; }

  /// Memory of one of `shared_buffer_kinds`; a later call may move it. Hot calls have separate
  /// memory, which caches keep for long. Constants are random numbers of magnitude 1/4 to 2 in
  /// every floating-point type, or numbers of another class. Updated memory begins as such numbers,
  /// but positive. Calls must read activations only after a write: results of results grow without
  /// bounds, and the bits of another data type may be numbers on which processors are slow. Setup
  /// ops whose results nobody reads may do otherwise.
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

  /// Runs `verify` if no earlier call with `work` did. A `Failure` that it throws is thrown again
  /// by each later call with that work.
  template <class Failure, class Verify>
  void verify_once(const std::string& work, const Verify& verify) {
    const auto [known, is_new] = verified_.try_emplace(work);
    if (known->second) std::rethrow_exception(known->second);
    if (!is_new) return;
    try {
      verify();
    } catch (const Failure&) {
      known->second = std::current_exception();
      throw;
    } catch (...) {
      verified_.erase(known);
      throw;
    }
  }

 private:
  /// Memory as large as the largest request so far.
  class pool {
   public:
    pool() = default;
    pool(bool positive, number_class numbers)
        : sign_mask_(positive || numbers == number_class::zeros ? 0 : 0x8000U), numbers_(numbers) {}

    [[nodiscard]] address get(compute_device& device, std::size_t bytes) {
      if (!memory_ || bytes_ < bytes) grow(device, bytes);
      return memory_->data();
    }

   private:
    static constexpr std::size_t block = std::size_t{1} << 20U;
    /// Most bytes that are drawn for a device that is not the host. Copies of them fill the memory.
    static constexpr std::size_t most_drawn = 16 * block;

    void grow(compute_device& device, std::size_t bytes) {
      memory_.reset();  // first, so that both are never allocated at once
      memory_ = device.allocate(bytes);
      bytes_ = bytes;
      auto* to = static_cast<std::byte*>(memory_->data());
      touch_in_turn(device, {to, bytes});
      if (device.is_host()) return draw(device, to, 0, bytes);
      keep_drawn(device, std::clamp((bytes + block - 1) / block * block, block, most_drawn));
      device.copy(to, drawn_->data(), std::min(drawn_bytes_, bytes));
      for (std::size_t done = drawn_bytes_; done < bytes; done *= 2) {
        device.copy(to + done, to, std::min(done, bytes - done));
      }
      device.synchronize();
    }

    /// Draws what is missing of `bytes`. They stay, since calls write to the other memory.
    void keep_drawn(compute_device& device, std::size_t bytes) {
      if (drawn_bytes_ >= bytes) return;
      std::unique_ptr<device_memory> longer = device.allocate(bytes);
      if (drawn_) device.copy(longer->data(), drawn_->data(), drawn_bytes_);
      draw(device, static_cast<std::byte*>(longer->data()), drawn_bytes_, bytes);
      drawn_ = std::move(longer);
      drawn_bytes_ = bytes;
    }

    /// The low 15 bits of a word of 16 random bits. Normal: small numbers as bf16 (1/4 to 1), f16
    /// (1.6 to 2) and halves of f32. Denormal: such numbers as all of these and as f8_e4m3.
    [[nodiscard]] std::uint32_t magnitude(std::uint32_t word) const {
      switch (numbers_) {
        case number_class::zeros: return 0;
        case number_class::denormal: return 1U + (word & 0x3U);
        case number_class::normal: break;
      }
      return 0x3E80U + (word & 0xFFU);
    }

    /// Writes random words.
    void draw(compute_device& device, std::byte* to, std::size_t begin, std::size_t end) const {
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

    std::uint32_t sign_mask_ = 0x8000U;
    number_class numbers_ = number_class::normal;
    std::unique_ptr<device_memory> memory_;
    std::size_t bytes_ = 0;
    std::unique_ptr<device_memory> drawn_;  ///< null where the device is the host
    std::size_t drawn_bytes_ = 0;
  };
  using pools = std::array<pool, 2>;  ///< the second one for hot calls

  std::unique_ptr<compute_device> device_;
  number_class numbers_;
  std::array<pools, shared_buffer_kinds.size()> pools_;
  pool eviction_pool_;
  std::weak_ptr<device_memory> workspace_;  ///< of the latest request that got new memory
  std::size_t workspace_bytes_ = 0;
  std::map<std::string, std::exception_ptr> verified_;  ///< by work; null: it is right
};

}  // namespace layerbench::run
