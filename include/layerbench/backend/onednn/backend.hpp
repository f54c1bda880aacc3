// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <oneapi/dnnl/dnnl.hpp>

#include <fmt/format.h>

#include <layerbench/backend/backend.hpp>
#include <layerbench/backend/openmp_backend.hpp>

#if DNNL_VERSION_MAJOR < 3
#error "layerbench needs oneDNN 3.0 or newer; tools/setup.sh installs one"
#endif

// Types of 4 bits, and products of floating-point numbers and integers.
#if DNNL_VERSION_MAJOR > 3 || DNNL_VERSION_MINOR >= 5
#define LAYERBENCH_ONEDNN_HAS_NARROW_WEIGHTS
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

class backend : public host::openmp_backend {
 public:
  static constexpr std::string_view name = "onednn";
  explicit backend(int threads)
      : openmp_backend(threads), engine_(dnnl::engine::kind::cpu, 0), stream_(engine_) {
    dnnl_set_verbose(0);  // ONEDNN_VERBOSE would print among the results and add to the times
  }

  [[nodiscard]] static run::backend_entry entry() {
    run::backend_entry own = openmp_backend::entry();
    own.probe = &probe;
    own.describe = &describe;
    own.integer_note = &integer_note;
    return own;
  }

  static std::optional<std::string> probe() noexcept {
    const dnnl_version_t* version = dnnl_version();
    if (version->cpu_runtime != DNNL_RUNTIME_OMP) {
      return "the loaded oneDNN was not built for OpenMP, so its threads cannot be set";
    }
    if (version->major != DNNL_VERSION_MAJOR) {
      return "the loaded oneDNN has another major version than the one compiled for";
    }
    if (dnnl_engine_get_count(dnnl_cpu) == 0) return "oneDNN finds no CPU engine";
    return std::nullopt;
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

  /// Whether oneDNN uses all instructions of a set, which is a set of bits.
  static bool has_isa(unsigned bits) {
    return (static_cast<unsigned>(dnnl_get_effective_cpu_isa()) & bits) == bits;
  }

  /// Whether this is a oneDNN up to 3.2 that computes in 16 bits by AMX. It then ends the program
  /// in recurrent layers (SIGILL: a tile is cleared that no configuration has) and in convolutions
  /// of volumes of integers (SIGSEGV in brgemm_convolution_fwd_t::add_po_kernels), and computes
  /// wrong gradients of some transposed convolutions. Seen with 3.2.0 on an Emerald Rapids.
  static bool has_early_amx() {
    const dnnl_version_t* loaded = dnnl_version();
    return loaded->major == 3 && loaded->minor <= 2 && has_isa(dnnl_cpu_isa_avx512_core_amx);
  }

  /// Throws unsupported with what such a oneDNN does wrong.
  static void refuse_early_amx(std::string_view what) {
    if (!has_early_amx()) return;
    throw unsupported(
        fmt::format("oneDNN up to 3.2 {} on CPUs with AMX; use f32, a newer oneDNN "
                    "(docs/compare.md), or set ONEDNN_MAX_CPU_ISA=AVX512_CORE_BF16",
                    what));
  }

  /// Throws unsupported on a CPU for which oneDNN has no f16 (its developer guide, Data Types).
  static void require_f16() {
    constexpr unsigned avx2_vnni_2 = 0x1f;  // not in the headers of all versions
    const dnnl_cpu_isa_t isa = dnnl_get_effective_cpu_isa();
    if (isa == dnnl_cpu_isa_default) return;  // another processor than x86
    if (has_isa(dnnl_cpu_isa_avx512_core_fp16) || has_isa(avx2_vnni_2)) return;
    throw unsupported(
        fmt::format("oneDNN has no f16 on this CPU ({}); use bf16 or f32", isa_name(isa)));
  }

  /// Throws unsupported unless this program was compiled with, and runs with, a oneDNN that
  /// multiplies floating-point numbers by integers: 3.5 or newer.
  static void require_narrow_weights(dtype weights) {
    const dnnl_version_t* loaded = dnnl_version();
#ifdef LAYERBENCH_ONEDNN_HAS_NARROW_WEIGHTS
    if (loaded->major > 3 || loaded->minor >= 5) return;
#endif
    throw unsupported(fmt::format(
        "oneDNN has products with weights in {} from version 3.5 on, and this program was compiled "
        "with {}.{} and runs {}.{}; build it with a newer one (docs/compare.md)",
        layerbench::name(weights), DNNL_VERSION_MAJOR, DNNL_VERSION_MINOR, loaded->major,
        loaded->minor));
  }

  void synchronize() const override { stream_.wait(); }

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

  dnnl::engine engine_;
  mutable dnnl::stream stream_;  ///< wait() is not const
};

static_assert(layerbench::backend<backend>);

}  // namespace layerbench::onednn
