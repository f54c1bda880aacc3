// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <new>

#include <sys/mman.h>
#include <unistd.h>

#include <fmt/format.h>

#include <layerbench/base/error.hpp>
#include <layerbench/base/machine.hpp>
#include <layerbench/base/units.hpp>

/// Memory of the CPU backends.
namespace layerbench {

/// Bytes of the last cache before memory, 0 where the system does not say.
[[nodiscard]] inline std::size_t host_cache_bytes() noexcept {
  const long last = ::sysconf(_SC_LEVEL3_CACHE_SIZE);
  return static_cast<std::size_t>(std::max(last > 0 ? last : ::sysconf(_SC_LEVEL2_CACHE_SIZE), 0L));
}

/// Bytes of the last cache that a core does not share with others, 0 where the system does not say.
[[nodiscard]] inline std::size_t host_core_cache_bytes() noexcept {
  const bool shared_last = ::sysconf(_SC_LEVEL3_CACHE_SIZE) > 0;
  return static_cast<std::size_t>(
      std::max(::sysconf(shared_last ? _SC_LEVEL2_CACHE_SIZE : _SC_LEVEL1_DCACHE_SIZE), 0L));
}

/// Page-aligned host memory; in huge pages where it is not small and the system lets programs ask
/// for them. In small pages it depends on the luck of their places how fast memory is read and how
/// much of it a cache holds (docs/measuring.md), which counts from sizes near a core's own cache
/// on.
class host_buffer {
 public:
  host_buffer() = default;
  /// Throws an error where that much is not available: the system would promise it, and end the
  /// program when it is used.
  explicit host_buffer(std::size_t bytes) {
    constexpr std::size_t worth_asking = std::size_t{64} << 20U;
    if (bytes >= worth_asking) require_memory(bytes);
    const bool large = bytes >= huge_page / 8;
    const std::size_t page = large ? huge_page : small_page;
    const std::size_t whole = (std::max<std::size_t>(bytes, 1) + page - 1) / page * page;
    memory_ = {::operator new(whole, std::align_val_t(page)), release{std::align_val_t(page)}};
    if (large) ::madvise(memory_.get(), whole, MADV_HUGEPAGE);  // refused: small pages do, too
  }

  [[nodiscard]] void* data() const noexcept { return memory_.get(); }

 private:
  static void require_memory(std::size_t bytes) {
    const auto available = machine::available_memory_bytes();
    if (!available || bytes <= static_cast<std::size_t>(*available)) return;
    throw error(fmt::format("not enough memory: {} are needed at once, {} are available",
                            units::si(static_cast<double>(bytes), "B"),
                            units::si(static_cast<double>(*available), "B")),
                exit_code::incomplete);
  }

  static constexpr std::size_t small_page = 4096;
  static constexpr std::size_t huge_page = std::size_t{1} << 21U;
  struct release {
    std::align_val_t page;
    void operator()(void* memory) const noexcept { ::operator delete(memory, page); }
  };
  std::unique_ptr<void, release> memory_{nullptr, release{std::align_val_t(small_page)}};
};

}  // namespace layerbench
