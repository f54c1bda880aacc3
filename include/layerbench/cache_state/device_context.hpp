// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include <layerbench/backend/device.hpp>
#include <layerbench/cache_state/ring_slot.hpp>
#include <layerbench/op/test_data.hpp>

namespace layerbench::run {

namespace detail {

template <std::size_t Part>
[[gnu::noinline]] void filler_code() {
  [[maybe_unused]] const volatile std::size_t part = Part;  // lest a linker folds them into one
  asm volatile(".rept 2048\n nop\n .endr");                 // one to four bytes each
}
template <std::size_t... Parts>
constexpr std::array<void (*)(), sizeof...(Parts)> filler_blocks(
    std::index_sequence<Parts...> /*all*/) {
  return {filler_code<Parts>...};
}

}  // namespace detail

/// Code to run between a plan's calls: in a model a layer's own code was last needed one step ago,
/// and that of all other layers since. All of it is more than a core's instruction cache holds.
inline constexpr auto instruction_cache_filler =
    detail::filler_blocks(std::make_index_sequence<32>());

/// A device, and memory in which all that is measured on it takes turns.
class device_context {
 public:
  explicit device_context(std::unique_ptr<compute_device> device) : device_(std::move(device)) {}

  [[nodiscard]] compute_device& device() const { return *device_; }

  /// Memory of one of `shared_rooms`. What was given before may move. Hot calls have memory of
  /// their own, which caches keep for long. Constants, which calls only read (weights, old
  /// activations), are random numbers of magnitude 1/4 to 2 in every floating-point type; so is at
  /// first what is learned, but positive. From activations, which calls write, nothing should be
  /// read that was not written since: results of results grow without bounds, and bits of another
  /// data type may be numbers that processors are slow with.
  [[nodiscard]] address memory(buffer_kind of, std::size_t bytes, bool hot) {
    return pools_.at(static_cast<std::size_t>(of)).at(hot ? 1 : 0).get(*device_, bytes);
  }
  [[nodiscard]] address constants(std::size_t bytes) {
    return memory(buffer_kind::constants, bytes, false);
  }

  struct piece {
    address start;
    std::size_t bytes;
  };
  /// Reads memory, piece by piece, each thread its part of each; nothing where the device's threads
  /// are not this program's.
  void read(std::span<const piece> pieces) {
    if (pieces.empty()) return;
    const auto threads = static_cast<std::size_t>(device_->threads());
    device_->on_all_threads([&](int thread) {
      const auto part = static_cast<std::size_t>(thread);
      for (const piece& item : pieces) {
        read_lines(static_cast<const std::byte*>(item.start), item.bytes * part / threads,
                   item.bytes * (part + 1) / threads);
      }
    });
  }

  /// Fills the caches that its threads have for themselves with so many bytes, in all, that nobody
  /// else reads.
  void evict_private_caches(std::size_t bytes) {
    if (bytes == 0) return;
    const piece aside{aside_.get(*device_, bytes), bytes};
    read({&aside, 1});
  }

  /// Runs so many parts of `other_code` on each thread, as far as they are this program's.
  void evict_instruction_cache(std::size_t parts) {
    device_->on_all_threads([parts](int /*thread*/) {
      for (std::size_t i = 0; i < parts; ++i) instruction_cache_filler.at(i)();
    });
  }

  /// Scratch memory, the same for all that ask for no more than `bytes`; it stays where it is.
  [[nodiscard]] address workspace(std::size_t bytes) {
    if (workspaces_.empty() || workspace_bytes_ < bytes) {
      workspaces_.push_back(device_->allocate(bytes));
      workspace_bytes_ = bytes;
    }
    return workspaces_.back()->data();
  }

 private:
  /// As much as was ever asked for.
  class pool {
   public:
    pool() = default;
    explicit pool(bool positive) : signs_(positive ? 0 : 0x8000U) {}

    [[nodiscard]] address get(compute_device& target, std::size_t bytes) {
      if (!memory_ || bytes_ < bytes) {
        memory_.reset();  // first, so that both are never there together
        memory_ = target.allocate(bytes);
        bytes_ = bytes;
        fill(target, memory_->data(), bytes_);
      }
      return memory_->data();
    }

   private:
    /// Words that are small numbers as bf16 (1/4 to 1), f16 (1.6 to 2) and as halves of f32.
    void fill(compute_device& device, address to, std::size_t bytes) const {
      constexpr std::size_t block = 1U << 20U;
      std::vector<std::uint16_t> words(block / sizeof(std::uint16_t));
      random_bits bits(bytes);
      for (std::size_t done = 0; done < bytes; done += block) {
        for (std::size_t i = 0; i < words.size(); i += 4) {
          const std::uint64_t drawn = bits();
          for (std::size_t j = 0; j < 4; ++j) {
            const auto part = static_cast<std::uint32_t>(drawn >> (16 * j));
            words[i + j] = static_cast<std::uint16_t>((part & signs_) | (0x3E80U + (part & 0xFFU)));
          }
        }
        device.copy(static_cast<std::byte*>(to) + done, words.data(),
                    std::min(block, bytes - done));
        device.synchronize();  // the words change
      }
    }

    std::uint32_t signs_ = 0x8000U;
    std::unique_ptr<device_memory> memory_;
    std::size_t bytes_ = 0;
  };
  using pools = std::array<pool, 2>;  ///< of hot calls the second

  static void read_lines(const std::byte* from, std::size_t first, std::size_t end) {
    constexpr std::size_t line = 64;
    for (std::size_t i = first; i < end; i += line) {
      const auto value = std::to_integer<unsigned>(from[i]);
      asm volatile("" ::"r"(value));  // it is read, and nothing is done with it
    }
  }

  std::unique_ptr<compute_device> device_;
  std::array<pools, shared_buffer_kinds.size()> pools_{
      pools{}, pools{}, pools{pool(/*positive=*/true), pool(/*positive=*/true)}};
  pool aside_;
  std::vector<std::unique_ptr<device_memory>> workspaces_;
  std::size_t workspace_bytes_ = 0;
};

}  // namespace layerbench::run
