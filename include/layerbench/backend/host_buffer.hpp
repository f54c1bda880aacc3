// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <map>
#include <memory>
#include <new>
#include <utility>

#include <sys/mman.h>
#include <unistd.h>

/// Memory of the CPU backends.
namespace layerbench {

inline constexpr std::size_t host_page_bytes = 4096;

/// Bytes of the last cache before memory, 0 where the system does not say.
[[nodiscard]] inline std::size_t host_cache_bytes() noexcept {
  const long last = ::sysconf(_SC_LEVEL3_CACHE_SIZE);
  return static_cast<std::size_t>(std::max(last > 0 ? last : ::sysconf(_SC_LEVEL2_CACHE_SIZE), 0L));
}

/// Page-aligned host memory.
class host_buffer {
 public:
  host_buffer() = default;
  /// Throws std::bad_alloc.
  explicit host_buffer(std::size_t bytes) {
    memory_.reset(::operator new(std::max<std::size_t>(bytes, 1), page));
  }

  [[nodiscard]] void* data() const noexcept { return memory_.get(); }

 private:
  static constexpr std::align_val_t page{host_page_bytes};
  struct release {
    void operator()(void* memory) const noexcept { ::operator delete(memory, page); }
  };
  std::unique_ptr<void, release> memory_;
};

/// Host memory in which windows move round rings: a ring of n bytes lies twice in the address
/// space, so that a window may start at any byte of it and runs over its end to its beginning. No
/// byte of it is met again before all others were.
class host_rings {
 public:
  /// Throws std::bad_alloc.
  explicit host_rings(std::size_t bytes)
      : bytes_(pages(bytes)), file_(::memfd_create("layerbench", MFD_CLOEXEC)) {
    if (file_ < 0) throw std::bad_alloc();
    if (::ftruncate(file_, static_cast<::off_t>(bytes_)) != 0) {
      ::close(file_);
      throw std::bad_alloc();
    }
  }
  host_rings(host_rings&& other) noexcept
      : bytes_(other.bytes_),
        file_(std::exchange(other.file_, -1)),
        rings_(std::exchange(other.rings_, {})) {}
  host_rings(const host_rings&) = delete;
  host_rings& operator=(const host_rings&) = delete;
  host_rings& operator=(host_rings&&) = delete;
  ~host_rings() {
    for (const auto& [length, start] : rings_) ::munmap(start, 2 * length);
    if (file_ >= 0) ::close(file_);
  }

  /// The ring of the first `length` bytes, rounded up to pages. Rings of all lengths share them.
  [[nodiscard]] void* ring(std::size_t length) {
    length = std::min(pages(length), bytes_);
    const auto [known, is_new] = rings_.try_emplace(length, nullptr);
    if (is_new) known->second = map_twice(length);
    return known->second;
  }

 private:
  static std::size_t pages(std::size_t bytes) {
    return (std::max<std::size_t>(bytes, 1) + host_page_bytes - 1) / host_page_bytes *
           host_page_bytes;
  }

  [[nodiscard]] void* map_twice(std::size_t length) const {
    void* room = ::mmap(nullptr, 2 * length, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (room == MAP_FAILED) throw std::bad_alloc();
    // Populated, so that no page fault falls into a timing.
    constexpr int access = PROT_READ | PROT_WRITE;
    constexpr int kind = MAP_SHARED | MAP_FIXED | MAP_POPULATE;
    for (std::byte* at : {static_cast<std::byte*>(room), static_cast<std::byte*>(room) + length}) {
      if (::mmap(at, length, access, kind, file_, 0) == MAP_FAILED) {
        ::munmap(room, 2 * length);
        throw std::bad_alloc();
      }
    }
    return room;
  }

  std::size_t bytes_;
  int file_;
  std::map<std::size_t, void*> rings_;
};

}  // namespace layerbench
