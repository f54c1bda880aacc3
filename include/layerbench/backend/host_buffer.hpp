// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <optional>
#include <utility>
#include <vector>

#include <sys/mman.h>

#include <layerbench/backend/backend.hpp>
#include <layerbench/base/error.hpp>
#include <layerbench/base/rounding.hpp>
#include <layerbench/base/system.hpp>
#include <layerbench/topology/numa.hpp>
#include <layerbench/topology/this_machine.hpp>
#include <layerbench/topology/thread_binding.hpp>

/// Memory of the CPU backends.
namespace layerbench {

/// Page-aligned host memory; in huge pages from 256 KiB on, where the system lets programs ask for
/// them. In small pages the physical addresses decide how fast memory is and how much of it a cache
/// keeps (docs/method.md), which matters from sizes near a private cache on.
class host_buffer {
 public:
  host_buffer() = default;
  /// Throws not_enough_memory where that much is not available: the system would promise it, and
  /// end the program when it is used.
  explicit host_buffer(std::size_t bytes) {
    // Asking takes a fraction of a millisecond, so small buffers are asked for together.
    if (unasked.fetch_add(bytes) + bytes >= worth_asking) {
      unasked = 0;
      ask_for(bytes + outside_buffers);
    }
    const bool large = bytes >= huge_page / 8;
    const std::size_t page = large ? huge_page : small_page;
    const std::size_t whole = rounded_up(std::max<std::size_t>(bytes, 1), page);
    memory_ = {::operator new(whole, std::align_val_t(page)),
               release{std::align_val_t(page), whole}};
    in_buffers += whole;
    if (large) ::madvise(memory_.get(), whole, MADV_HUGEPAGE);  // refused: small pages do, too
    choose_node(whole, large);
  }

  [[nodiscard]] void* data() const noexcept { return memory_.get(); }

  /// Later buffers lie on these NUMA nodes (machine::nodes_for); none: where they are first
  /// touched.
  static void use_nodes(std::vector<int> nodes) { used_nodes = std::move(nodes); }
  /// The NUMA node, for each thread on these processors, of buffers that the thread touches first.
  /// After use_nodes() it is the first of those nodes.
  [[nodiscard]] static std::vector<int> nodes_by_first_touch(
      const machine::topology& of, const std::vector<machine::processor_list>& threads) {
    if (!used_nodes.empty()) return std::vector<int>(threads.size(), used_nodes.front());
    return machine::node_by_thread(of, threads);
  }

  /// Bytes that new buffers may have: the system's available memory without the part of existing
  /// buffers that was not touched yet. Nothing where the system does not say.
  [[nodiscard]] static std::optional<std::int64_t> available_bytes() {
    const auto available = machine::available_memory_bytes();
    if (!available) return std::nullopt;
    const auto taken = static_cast<std::int64_t>(in_buffers);
    const std::int64_t untouched = taken - machine::touched_memory_bytes().value_or(taken);
    const std::int64_t left =
        std::max<std::int64_t>(0, *available - std::max<std::int64_t>(0, untouched));
    worth_asking = std::clamp<std::size_t>(static_cast<std::size_t>(left) / 16,
                                           std::size_t{1} << 20U, std::size_t{64} << 20U);
    return left;
  }
  /// Throws not_enough_memory if available_bytes() is less than `bytes`. Like the constructor it
  /// asks the system only where there are enough bytes.
  static void require(std::size_t bytes) {
    if (unasked + bytes >= worth_asking) ask_for(bytes);
  }

 private:
  static void ask_for(std::size_t bytes) {
    const auto needed = static_cast<std::int64_t>(bytes);
    const auto available = available_bytes();
    if (available && needed > *available) throw not_enough_memory(needed, *available);
  }

  static constexpr std::size_t small_page = 4096;
  static constexpr std::size_t huge_page = std::size_t{1} << 21U;
  struct release {
    std::align_val_t page;
    std::size_t bytes;
    void operator()(void* memory) const noexcept {
      ::operator delete(memory, page);
      in_buffers -= bytes;
    }
  };
  /// Throws unavailable where the system does not place memory as told.
  void choose_node(std::size_t bytes, bool large) const {
    if (!used_nodes.empty()) {
      const machine::hwloc_machine& known = machine::this_hwloc_machine();
      if (known.bind_memory(memory_.get(), bytes, used_nodes)) return;
      throw unavailable(
          known.is_this_system()
              ? "--numa: the system does not let this process choose where memory lies; containers "
                "may need the capability SYS_NICE"
              : "--numa: HWLOC_XMLFILE or HWLOC_SYNTHETIC describe the NUMA nodes of another "
                "machine; unset them");
    }
    if (!large) return;
    const machine::topology& all = machine::this_machine();
    // The allocator may return pages that someone else touched.
    if (machine::node_count(all, all.processors()) > 1)
      ::madvise(memory_.get(), bytes, MADV_DONTNEED);
  }

  static inline std::vector<int> used_nodes = {};
  static inline std::atomic<std::size_t> in_buffers = 0;  ///< bytes, of all that there are
  static inline std::atomic<std::size_t> unasked = 0;     ///< bytes of buffers since the last check
  static inline std::atomic<std::size_t> worth_asking = std::size_t{1} << 20U;
  /// Bytes that plans, rows and the samples of a verification take beside buffers.
  static constexpr std::size_t outside_buffers = std::size_t{16} << 20U;
  std::unique_ptr<void, release> memory_{nullptr, release{std::align_val_t(small_page), 0}};
};

}  // namespace layerbench
