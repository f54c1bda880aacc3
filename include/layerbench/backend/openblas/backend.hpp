// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <layerbench/backend/cblas/backend.hpp>

/// OpenBLAS on the CPU, in a build with the threads of OpenMP.
namespace layerbench::openblas {

class backend : public cblas::backend {
 public:
  static constexpr std::string_view name = "openblas";
  explicit backend(int threads) : cblas::backend(threads, loaded().functions) {
    if (loaded().thread_count() >= threads) return;
    throw unavailable(
        fmt::format("this OpenBLAS uses at most {} threads", loaded().thread_count()));
  }

  [[nodiscard]] static run::backend_entry entry() {
    run::backend_entry own = cblas::backend::entry();
    own.probe = []() noexcept { return cblas::reason_against(&loaded); };
    own.describe = &describe;
    return own;
  }

  static void describe(description& facts) {
    facts["openblas_version"] = {loaded().version, field_dimension::version};
    facts["openblas_isa"] = {loaded().kernels, field_dimension::instruction_set};
    add_variables(facts, {"OPENBLAS_CORETYPE"});
  }

 private:
  struct loaded_library {
    cblas::functions functions;
    int (*thread_count)();
    std::string version;  ///< "0.3.21"
    std::string kernels;  ///< the processor whose kernels it chose: "SkylakeX"
  };

  /// Throws unavailable.
  [[nodiscard]] static const loaded_library& loaded() {
    static const loaded_library one = load();
    return one;
  }

  [[nodiscard]] static loaded_library load() {
    constexpr int openmp = 2;  // OPENBLAS_OPENMP
    const cblas::library openblas("libopenblas.so.0");
    if (openblas.find<int()>("openblas_get_parallel")() != openmp) {
      throw unavailable(
          "this OpenBLAS has threads of its own, beside those of OpenMP (Debian: install "
          "libopenblas0-openmp)");
    }
    cblas::require_one_openmp();
    return {{.set_threads = openblas.find<void(int)>("openblas_set_num_threads"),
             .product = openblas.find<cblas::functions::sgemm>("cblas_sgemm")},
            openblas.find<int()>("openblas_get_num_threads"),
            version_of(openblas.find<const char*()>("openblas_get_config")()),
            openblas.find<const char*()>("openblas_get_corename")()};
  }

  /// Of "OpenBLAS 0.3.21 ...".
  [[nodiscard]] static std::string version_of(std::string_view configuration) {
    configuration.remove_prefix(std::min(configuration.find(' ') + 1, configuration.size()));
    return std::string(configuration.substr(0, configuration.find(' ')));
  }
};

static_assert(layerbench::backend<backend>);

}  // namespace layerbench::openblas
