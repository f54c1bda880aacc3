// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <functional>
#include <utility>

#include <omp.h>

#include <fmt/format.h>

#include <layerbench/backend/host_backend.hpp>
#include <layerbench/base/error.hpp>

namespace layerbench::host {

/// Base class of the backends whose libraries compute in the threads of this program's OpenMP.
class openmp_backend : public host_backend {
 public:
  explicit openmp_backend(int threads) : threads_(threads) {
    omp_set_num_threads(threads_);
    omp_set_dynamic(0);
    int started = 0;
#pragma omp parallel num_threads(threads_)
#pragma omp single
    started = omp_get_num_threads();
    if (started == threads_) return;
    throw unavailable(
        fmt::format("OpenMP started {} of {} threads; use fewer threads or check OMP_THREAD_LIMIT",
                    started, threads_));
  }

  [[nodiscard]] static run::backend_entry entry() {
    run::backend_entry own = host_backend::entry();
    own.processors = &processors;
    own.threads_used = [](int offered) noexcept { return offered; };
    own.binding = &binding;
    own.max_threads = &omp_get_max_threads;
    own.set_max_threads = &omp_set_num_threads;
    return own;
  }

  /// Those of OpenMP's places, or of this thread's mask if OpenMP does not bind threads.
  static int processors() noexcept {
    return std::max(1, static_cast<int>(binding().processors().size()));
  }

  /// As OpenMP took it from the environment.
  static machine::thread_binding binding() {
    const int places = omp_get_num_places();
    const omp_proc_bind_t bound = omp_get_proc_bind();
    if (places == 0 || bound == omp_proc_bind_false) return machine::binding_of_this_thread();
    machine::thread_binding result{.order = machine::thread_order::close};
    if (bound == omp_proc_bind_spread) result.order = machine::thread_order::spread;
    if (bound == omp_proc_bind_master) result.order = machine::thread_order::primary;
    for (int place = 0; place < places; ++place) {
      machine::processor_list processors(static_cast<std::size_t>(omp_get_place_num_procs(place)));
      omp_get_place_proc_ids(place, processors.data());
      result.places.push_back(std::move(processors));
    }
    result.first = static_cast<std::size_t>(std::max(0, omp_get_place_num()));
    return result;
  }

  void activate() const override { omp_set_num_threads(threads_); }
  /// Each thread copies a slice, which is then in the private cache of its core.
  void copy(address to, const void* from, std::size_t bytes) const override {
#pragma omp parallel num_threads(threads_)
    {
      constexpr std::size_t line = 64;
      const auto threads = static_cast<std::size_t>(omp_get_num_threads());
      const std::size_t slice = (bytes / threads / line + 1) * line;
      const std::size_t begin =
          std::min(bytes, static_cast<std::size_t>(omp_get_thread_num()) * slice);
      const std::size_t end = std::min(bytes, begin + slice);
      constexpr std::size_t chunk = 65536;  // memcpy bypasses the caches for large sizes
      for (std::size_t i = begin; i < end; i += chunk) {
        std::memcpy(static_cast<std::byte*>(to) + i, static_cast<const std::byte*>(from) + i,
                    std::min(chunk, end - i));
      }
    }
  }
  void on_all_threads(const std::function<void(int)>& work) const override {
#pragma omp parallel num_threads(threads_)
    work(omp_get_thread_num());
  }

  [[nodiscard]] int threads() const noexcept { return threads_; }

 private:
  int threads_;
};

}  // namespace layerbench::host
