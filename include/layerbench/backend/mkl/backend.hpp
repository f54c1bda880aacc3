// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include <layerbench/backend/cblas/backend.hpp>

/// Intel's oneMKL on the CPU, with the threads of this program's OpenMP.
namespace layerbench::mkl {

class backend : public cblas::backend {
 public:
  static constexpr std::string_view name = "mkl";
  explicit backend(int threads) : cblas::backend(threads, loaded().functions) {}

  [[nodiscard]] static run::backend_entry entry() {
    run::backend_entry own = cblas::backend::entry();
    own.probe = []() noexcept { return cblas::reason_against(&loaded); };
    own.describe = &describe;
    return own;
  }

  static void describe(description& facts) {
    facts["mkl_version"] = {loaded().version, field_dimension::version};
    facts["mkl_isa"] = {loaded().kernels, field_dimension::instruction_set};
    add_variables(facts, {"MKL_CBWR", "MKL_ENABLE_INSTRUCTIONS"});
  }

 private:
  struct loaded_library {
    cblas::functions functions;
    std::string version;  ///< "2024.2.2"
    std::string kernels;  ///< the part of MKL with the kernels that it chose: "avx512"
  };

  /// Throws unavailable.
  [[nodiscard]] static const loaded_library& loaded() {
    static const loaded_library one = load();
    return one;
  }

  [[nodiscard]] static loaded_library load() {
    constexpr int gnu_openmp = 3;           // MKL_THREADING_GNU
    constexpr int integers_of_32_bits = 0;  // MKL_INTERFACE_LP64
    if (!cblas::is_loaded("libgomp.so.1"))
      throw unavailable("MKL needs a program with GNU's OpenMP (libgomp.so.1)");
    const cblas::library mkl = library();
    const auto set = [&](const char* function, int value) { mkl.find<int(int)>(function)(value); };
    set("MKL_Set_Threading_Layer", gnu_openmp);
    set("MKL_Set_Interface_Layer", integers_of_32_bits);
    set("MKL_Verbose", 0);      // MKL_VERBOSE would print among the results
    set("MKL_Set_Dynamic", 0);  // else it may use fewer threads
    loaded_library result{
        .functions = functions_of(mkl), .version = version_of(mkl), .kernels = {}};
    load_kernels(result.functions);
    cblas::require_one_openmp();
    result.kernels = loaded_kernels();
    return result;
  }

  /// The newest version that is there.
  [[nodiscard]] static cblas::library library() {
    if (!cblas::reason_against([] { return cblas::library("libmkl_rt.so.3"); }))
      return cblas::library("libmkl_rt.so.3");
    return cblas::library("libmkl_rt.so.2");
  }

  [[nodiscard]] static cblas::functions functions_of(const cblas::library& mkl) {
    using cblas::functions;
    functions all{.set_threads = mkl.find<void(int)>("MKL_Set_Num_Threads"),
                  .product = mkl.find<functions::sgemm>("cblas_sgemm"),
                  .products = mkl.find<functions::sgemm_batch>("cblas_sgemm_batch_strided"),
                  .packed_bytes = mkl.find<functions::pack_size>("cblas_sgemm_pack_get_size"),
                  .pack_factor = mkl.find<functions::pack>("cblas_sgemm_pack"),
                  .packed_product = mkl.find<functions::compute>("cblas_sgemm_compute")};
    // On other processors it would convert to f32.
    if (__builtin_cpu_supports("avx512bf16") != 0)
      all.product_bf16 = mkl.find<functions::gemm_16_bits>("cblas_gemm_bf16bf16f32");
    if (__builtin_cpu_supports("avx512fp16") != 0)
      all.product_f16 = mkl.find<functions::gemm_16_bits>("cblas_gemm_f16f16f32");
    return all;
  }

  /// MKL chooses and loads the rest of itself in the first call.
  static void load_kernels(const cblas::functions& of) {
    const float one = 1;
    float result = 0;
    of.product(cblas::row_major, cblas::not_transposed, cblas::not_transposed, 1, 1, 1, 1, &one, 1,
               &one, 1, 0, &result, 1);
  }
  [[nodiscard]] static std::string loaded_kernels() {
    for (const char* kernels : {"avx10", "avx512", "avx2", "mc3", "def"}) {
      for (const char* version : {"2", "3"}) {
        if (cblas::is_loaded(fmt::format("libmkl_{}.so.{}", kernels, version).c_str()))
          return kernels;
      }
    }
    return "unknown";
  }

  /// Of "... Library Version 2024.2.2-Product Build ...".
  [[nodiscard]] static std::string version_of(const cblas::library& mkl) {
    std::array<char, 256> text{};
    mkl.find<void(char*, int)>("MKL_Get_Version_String")(text.data(),
                                                         static_cast<int>(text.size()) - 1);
    const std::string_view all(text.data());
    constexpr std::string_view before = "Version ";
    const std::size_t begin = all.find(before);
    if (begin == all.npos) return std::string(all);
    const std::string_view version = all.substr(begin + before.size());
    return std::string(version.substr(0, version.find_first_of("- ")));
  }
};

static_assert(layerbench::backend<backend>);

}  // namespace layerbench::mkl
