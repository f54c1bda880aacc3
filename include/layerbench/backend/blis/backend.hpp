// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <layerbench/backend/cblas/backend.hpp>

/// BLIS on the CPU, in a build with the threads of OpenMP.
namespace layerbench::blis {

class backend : public cblas::backend {
 public:
  static constexpr std::string_view name = "blis";
  explicit backend(int threads) : cblas::backend(threads, loaded().functions) {}

  [[nodiscard]] static run::backend_entry entry() {
    run::backend_entry own = cblas::backend::entry();
    own.probe = []() noexcept { return cblas::reason_against(&loaded); };
    own.describe = &describe;
    return own;
  }

  static void describe(description& facts) {
    facts["blis_version"] = {loaded().version, field_dimension::version};
    facts["blis_isa"] = {loaded().kernels, field_dimension::instruction_set};
    add_variables(facts, {"BLIS_ARCH_TYPE"});
  }

 private:
  struct loaded_library {
    cblas::functions functions;
    void (*set_thread_count)(std::int64_t);
    std::string version;  ///< "0.9.0"
    std::string kernels;  ///< the processor whose kernels it chose: "skx"
  };

  /// Throws unavailable.
  [[nodiscard]] static const loaded_library& loaded() {
    static const loaded_library one = load();
    return one;
  }

  [[nodiscard]] static loaded_library load() {
    const cblas::library blis("libblis.so.4");
    const auto number = [&](const char* name) { return blis.find<std::int64_t()>(name)(); };
    if (number("bli_info_get_enable_openmp") == 0) {
      throw unavailable(
          "this BLIS has no threads or its own, not those of OpenMP (Debian: install "
          "libblis4-openmp)");
    }
    if (number("bli_info_get_blas_int_type_size") == 64)
      throw unavailable("this BLIS has 64-bit integers");
    cblas::require_one_openmp();
    const int processor = blis.find<int()>("bli_arch_query_id")();
    return {{.set_threads = [](int count) { loaded().set_thread_count(count); },
             .product = blis.find<cblas::functions::sgemm>("cblas_sgemm")},
            blis.find<void(std::int64_t)>("bli_thread_set_num_threads"),
            blis.find<const char*()>("bli_info_get_version_str")(),
            blis.find<const char*(int)>("bli_arch_string")(processor)};
  }
};

static_assert(layerbench::backend<backend>);

}  // namespace layerbench::blis
