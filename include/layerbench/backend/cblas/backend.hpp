// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <limits>
#include <optional>
#include <string>

#include <dlfcn.h>

#include <fmt/format.h>

#include <layerbench/backend/openmp_backend.hpp>
#include <layerbench/base/error.hpp>

/// What the libraries with the C interface of BLAS have in common.
namespace layerbench::cblas {

// Values of CBLAS's enumerations.
inline constexpr int row_major = 101;
inline constexpr int not_transposed = 111;
inline constexpr int transposed = 112;
// MKL's additions.
inline constexpr int packed = 151;
inline constexpr int second_factor = 162;

/// Functions of a library, with 32-bit integers; null: it has none. Arguments in the order of the
/// CBLAS standard: order, transpositions, m, n, k, alpha, factors with leading dimensions, beta,
/// result. Those of 16 bits have results in f32. Packed factors take the place of plain ones.
struct functions {
  using sgemm = void(int, int, int, int, int, int, float, const float*, int, const float*, int,
                     float, float*, int);
  using sgemm_batch = void(int, int, int, int, int, int, float, const float*, int, int,
                           const float*, int, int, float, float*, int, int, int);
  using gemm_16_bits = void(int, int, int, int, int, int, float, const void*, int, const void*, int,
                            float, float*, int);
  using pack_size = std::size_t(int, int, int, int);
  using pack = void(int, int, int, int, int, int, float, const float*, int, float*);
  using compute = void(int, int, int, int, int, int, const float*, int, const float*, int, float,
                       float*, int);

  void (*set_threads)(int);
  sgemm* product;
  sgemm_batch* products = nullptr;
  gemm_16_bits* product_bf16 = nullptr;
  gemm_16_bits* product_f16 = nullptr;
  pack_size* packed_bytes = nullptr;
  pack* pack_factor = nullptr;
  compute* packed_product = nullptr;
};

/// A library that stays loaded. Programs are not linked with it, because others of its kind export
/// functions of the same names: each finds its own first.
class library {
 public:
  /// Throws unavailable.
  explicit library(const char* file) : handle_(::dlopen(file, mode())) {
    if (handle_ == nullptr) throw unavailable(::dlerror());
  }
  /// Throws unavailable where it has no such function.
  template <class Function>
  [[nodiscard]] Function* find(const char* name) const {
    void* const found = ::dlsym(handle_, name);
    if (found == nullptr) throw unavailable(fmt::format("the library has no {}", name));
    return reinterpret_cast<Function*>(found);
  }

 private:
  /// The address sanitizer refuses RTLD_DEEPBIND.
  [[nodiscard]] static int mode() {
    const bool sanitized = ::dlsym(RTLD_DEFAULT, "__asan_init") != nullptr;
    return RTLD_NOW | RTLD_LOCAL | (sanitized ? 0 : RTLD_DEEPBIND);
  }

  void* handle_;
};

/// Whether the program has loaded that library.
[[nodiscard]] inline bool is_loaded(const char* file) {
  void* const found = ::dlopen(file, RTLD_LAZY | RTLD_NOLOAD);
  if (found != nullptr) ::dlclose(found);
  return found != nullptr;
}

/// Throws unavailable where a library brought another OpenMP than GNU's into a program that has
/// that one: the threads of both would share the processors.
inline void require_one_openmp() {
  for (const char* other : {"libiomp5.so", "libomp.so.5", "libomp.so"}) {
    if (!is_loaded("libgomp.so.1") || !is_loaded(other)) continue;
    throw unavailable(
        fmt::format("two OpenMP runtimes in one program: libgomp.so.1 and {}", other));
  }
}

/// What load() throws, or nothing.
template <class Load>
[[nodiscard]] std::optional<std::string> reason_against(const Load& load) noexcept {
  try {
    static_cast<void>(load());
  } catch (const std::exception& e) {
    return e.what();
  }
  return std::nullopt;
}

/// Throws unsupported for a matrix of more elements than the library's integers can count.
inline void require_size(std::int64_t elements) {
  if (elements <= std::numeric_limits<int>::max()) return;
  throw unsupported("the library has 32-bit integers, too few for a matrix of that size");
}

/// Base class of the backends.
class backend : public host::openmp_backend {
 public:
  void activate() const override {
    openmp_backend::activate();
    library_.set_threads(threads());
  }
  [[nodiscard]] const cblas::functions& library() const noexcept { return library_; }

 protected:
  backend(int threads, const cblas::functions& library)
      : openmp_backend(threads), library_(library) {
    library_.set_threads(threads);
  }

  [[nodiscard]] static run::backend_entry entry() {
    run::backend_entry own = openmp_backend::entry();
    own.only_when_named = true;
    return own;
  }

 private:
  const cblas::functions& library_;
};

}  // namespace layerbench::cblas
