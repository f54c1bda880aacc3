// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>
#include <span>

namespace layerbench {

/// Page-aligned host memory, the buffer of the CPU backends.
class host_buffer {
 public:
  host_buffer() = default;
  /// Throws std::bad_alloc.
  explicit host_buffer(std::size_t bytes) : bytes_(bytes) {
    memory_.reset(::operator new(std::max<std::size_t>(bytes, 1), page));
  }

  [[nodiscard]] void* data() const noexcept { return memory_.get(); }
  [[nodiscard]] std::size_t size() const noexcept { return bytes_; }
  [[nodiscard]] std::span<std::byte> bytes() const noexcept {
    return {static_cast<std::byte*>(memory_.get()), bytes_};
  }
  void fill(std::byte value) { std::ranges::fill(bytes(), value); }

 private:
  static constexpr std::align_val_t page{4096};
  struct release {
    void operator()(void* memory) const noexcept { ::operator delete(memory, page); }
  };
  std::unique_ptr<void, release> memory_;
  std::size_t bytes_ = 0;
};

}  // namespace layerbench
