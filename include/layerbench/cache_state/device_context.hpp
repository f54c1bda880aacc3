// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <map>
#include <memory>
#include <string>

#include <layerbench/backend/backend.hpp>
#include <layerbench/backend/device.hpp>
#include <layerbench/cache_state/number_class.hpp>
#include <layerbench/cache_state/ring_buffers.hpp>

namespace layerbench::run {

/// A device, the memory on it that its rows share, and what they know of its plans.
class device_context {
 public:
  /// `numbers` are those that its memory holds for timed calls. Verification has its own memory.
  explicit device_context(std::unique_ptr<compute_device> device,
                          number_class numbers = number_class::normal);

  [[nodiscard]] compute_device& device() const { return *device_; }
  [[nodiscard]] number_class numbers() const { return numbers_; }

  /// Memory of one of `shared_buffer_kinds`; a later call may move it. Hot calls have separate
  /// memory, which caches keep for long. Constants are random numbers of magnitude 1/4 to 2 in
  /// every floating-point type, or numbers of another class. Updated memory begins as such numbers,
  /// but positive. Calls must read activations only after a write: results of results grow without
  /// bounds, and the bits of another data type may be numbers on which processors are slow. Setup
  /// ops whose results nobody reads may do otherwise.
  [[nodiscard]] address memory(buffer_kind kind, std::size_t bytes, bool hot);
  [[nodiscard]] address constants(std::size_t bytes);

  /// Fills the private caches of the device's threads with `bytes`, in all, of memory that no call
  /// uses.
  void evict_private_caches(std::size_t bytes);

  /// Scratch memory, which all plans share. It never moves: a larger request gets new memory.
  /// Plans keep the old memory, which is freed when none holds it.
  [[nodiscard]] std::shared_ptr<device_memory> workspace(std::size_t bytes);

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

    [[nodiscard]] address get(compute_device& device, std::size_t bytes);

   private:
    static constexpr std::size_t block = std::size_t{1} << 20U;
    /// Most bytes that are drawn. Copies of them fill the memory.
    static constexpr std::size_t most_drawn = 16 * block;

    void grow(compute_device& device, std::size_t bytes);

    /// Draws what is missing of `bytes`. They stay, since calls write to the other memory.
    void keep_drawn(compute_device& device, std::size_t bytes);

    /// The low 15 bits of a word of 16 random bits. Normal: small numbers as bf16 (1/4 to 1), f16
    /// (1.6 to 2) and halves of f32. Denormal: such numbers as all of these and as f8_e4m3.
    [[nodiscard]] std::uint32_t magnitude(std::uint32_t word) const;

    /// Writes random words.
    void draw(compute_device& device, std::byte* to, std::size_t begin, std::size_t end) const;

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

#ifndef LAYERBENCH_COMPILED
#include <layerbench/cache_state/device_context-inl.hpp>
#endif
