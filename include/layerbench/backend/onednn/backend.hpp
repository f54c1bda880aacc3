// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <omp.h>
#include <oneapi/dnnl/dnnl.hpp>

#include <fmt/format.h>

#include <layerbench/backend/backend.hpp>
#include <layerbench/backend/host_backend.hpp>

#if DNNL_VERSION_MAJOR < 3
#error "layerbench needs oneDNN 3.0 or newer; tools/setup.sh installs one"
#endif

/// oneDNN on the CPU, with OpenMP threads.
namespace layerbench::onednn {

/// Runs `call` and translates oneDNN's exceptions: dnnl_unimplemented to unsupported, others to
/// api_error. `what` names the call in the message.
template <class Call>
decltype(auto) checked(std::string_view what, Call&& call) {
  try {
    return call();
  } catch (const dnnl::error& e) {
    if (e.status == dnnl_unimplemented) {
      throw unsupported(fmt::format("oneDNN has no {} for this shape and type", what));
    }
    throw api_error("oneDNN", what, e.message);
  }
}

class backend : public host_backend {
 public:
  static constexpr std::string_view name = "onednn";
  explicit backend(int threads)
      : threads_(threads), engine_(dnnl::engine::kind::cpu, 0), stream_(engine_) {
    dnnl_set_verbose(0);  // ONEDNN_VERBOSE would print among the results and add to the times
    activate();
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
    own.probe = &probe;
    own.describe = &describe;
    own.processors = &processors;
    own.threads_used = [](int offered) noexcept { return offered; };
    own.binding = &binding;
    own.integer_note = &integer_note;
    own.max_threads = &omp_get_max_threads;
    own.set_max_threads = &omp_set_num_threads;
    return own;
  }

  static std::optional<std::string> probe() noexcept {
    if (DNNL_CPU_RUNTIME != DNNL_RUNTIME_OMP) {
      return "this oneDNN was not built for OpenMP, so its threads cannot be set";
    }
    const dnnl_version_t* version = dnnl_version();
    if (version->major != DNNL_VERSION_MAJOR) {
      return "the loaded oneDNN has another major version than the one compiled for";
    }
    if (dnnl_engine_get_count(dnnl_cpu) == 0) return "oneDNN finds no CPU engine";
    return std::nullopt;
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

  static void describe(description& facts) {
    using enum field_dimension;
    const dnnl_version_t* loaded = dnnl_version();
    facts["onednn_version"] = {fmt::format("{}.{}.{}", loaded->major, loaded->minor, loaded->patch),
                               version};
    facts["onednn_hash"] = {loaded->hash, version};
    facts["onednn_compiled_version"] = {
        fmt::format("{}.{}.{}", DNNL_VERSION_MAJOR, DNNL_VERSION_MINOR, DNNL_VERSION_PATCH),
        version};
    facts["onednn_isa"] = {isa_name(dnnl_get_effective_cpu_isa()), instruction_set};
    facts["onednn_threading"] = {"omp", version};
    add_variables(facts, {"DNNL_MAX_CPU_ISA", "DNNL_CPU_ISA_HINTS", "ONEDNN_CPU_ISA_HINTS",
                          "ONEDNN_MAX_CPU_ISA"});
  }

  /// Whether products of integers are summed in 16 bits, as on CPUs without VNNI instructions. Then
  /// two products may saturate, and weights for s8 sources are halved and rounded (oneDNN's
  /// developer guide, Nuances of int8 Computations).
  static bool sums_integers_in_16_bits() {
    switch (dnnl_get_effective_cpu_isa()) {
      case dnnl_cpu_isa_sse41:
      case dnnl_cpu_isa_avx:
      case dnnl_cpu_isa_avx2:
      case dnnl_cpu_isa_avx512_core: return true;
      default: return false;
    }
  }
  static std::optional<std::string> integer_note() {
    if (!sums_integers_in_16_bits()) return std::nullopt;
    return fmt::format(
        "this CPU ({}) lacks VNNI: integer timings do not apply to CPUs with VNNI, and results are "
        "exact only for small weights",
        isa_name(dnnl_get_effective_cpu_isa()));
  }

  /// Throws unsupported on a CPU for which oneDNN has no f16 (its developer guide, Data Types).
  static void require_f16() {
    constexpr unsigned avx2_vnni_2 = 0x1f;                    // not in the headers of all versions
    const dnnl_cpu_isa_t isa = dnnl_get_effective_cpu_isa();  // sets of bits
    const auto has = [&](unsigned bits) { return (static_cast<unsigned>(isa) & bits) == bits; };
    if (isa == dnnl_cpu_isa_default) return;  // another processor than x86
    if (has(dnnl_cpu_isa_avx512_core_fp16) || has(avx2_vnni_2)) return;
    throw unsupported(
        fmt::format("oneDNN has no f16 on this CPU ({}); use bf16 or f32", isa_name(isa)));
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
  void synchronize() const override { stream_.wait(); }
  void on_all_threads(const std::function<void(int)>& work) const override {
#pragma omp parallel num_threads(threads_)
    work(omp_get_thread_num());
  }

  [[nodiscard]] const dnnl::engine& engine() const { return engine_; }
  [[nodiscard]] const dnnl::stream& stream() const { return stream_; }

 private:
  [[nodiscard]] static std::string isa_name(dnnl_cpu_isa_t isa) {
    switch (isa) {
      case dnnl_cpu_isa_sse41: return "sse41";
      case dnnl_cpu_isa_avx: return "avx";
      case dnnl_cpu_isa_avx2: return "avx2";
      case dnnl_cpu_isa_avx2_vnni: return "avx2_vnni";
      case dnnl_cpu_isa_avx512_core: return "avx512_core";
      case dnnl_cpu_isa_avx512_core_vnni: return "avx512_core_vnni";
      case dnnl_cpu_isa_avx512_core_bf16: return "avx512_core_bf16";
      case dnnl_cpu_isa_avx512_core_fp16: return "avx512_core_fp16";
      case dnnl_cpu_isa_avx512_core_amx: return "avx512_core_amx";
      default: return fmt::format("0x{:x}", static_cast<unsigned>(isa));
    }
  }

  int threads_;
  dnnl::engine engine_;
  mutable dnnl::stream stream_;  ///< wait() is not const
};

static_assert(layerbench::backend<backend>);

}  // namespace layerbench::onednn
