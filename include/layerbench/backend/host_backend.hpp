// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstring>
#include <functional>
#include <memory>

#include <layerbench/backend/backend.hpp>
#include <layerbench/backend/host_buffer.hpp>
#include <layerbench/topology/this_machine.hpp>
#include <layerbench/topology/thread_binding.hpp>

namespace layerbench {

/// The caches of this machine that `threads` threads with that binding use.
[[nodiscard]] inline machine::used_caches host_caches(const machine::thread_binding& binding,
                                                      int threads) {
  return machine::caches_used_by(machine::this_machine(),
                                 machine::processors_by_thread(binding, threads));
}

/// Base class of the backends whose memory is the host's. Work runs on the thread that calls,
/// unless a backend overrides on_all_threads().
class host_backend : public run::any_backend {
 public:
  [[nodiscard]] static run::backend_entry entry() {
    return {.on_host = true,
            .require_memory = &host_buffer::require,
            .binding = &machine::binding_of_this_thread};
  }
  [[nodiscard]] std::unique_ptr<run::device_memory> allocate(std::size_t bytes) const override {
    return std::make_unique<run::memory_of<host_buffer>>(host_buffer(bytes));
  }
  void fill(address to, std::size_t bytes, std::byte value) const override {
    std::memset(to, std::to_integer<int>(value), bytes);
  }
  void copy(address to, const void* from, std::size_t bytes) const override {
    std::memcpy(to, from, bytes);
  }
  void on_all_threads(const std::function<void(int)>& work) const override { work(0); }
};

}  // namespace layerbench
