// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <cudnn_backend.h>

#include <fmt/format.h>

#include <layerbench/backend/cuda/resources.hpp>
#include <layerbench/backend/cudnn/status.hpp>

/// cuDNN's graph API: a graph of operations on tensors is run by one of the library's engines. This
/// is its C interface (backend API), in which every object is a descriptor.
namespace layerbench::cudnn {

/// cudnnBackendAttributeType_t of the elements of an attribute.
template <class T>
inline constexpr std::nullptr_t attribute_type = nullptr;
template <>
inline constexpr auto attribute_type<cudnnHandle_t> = CUDNN_TYPE_HANDLE;
template <>
inline constexpr auto attribute_type<cudnnDataType_t> = CUDNN_TYPE_DATA_TYPE;
template <>
inline constexpr auto attribute_type<bool> = CUDNN_TYPE_BOOLEAN;
template <>
inline constexpr auto attribute_type<std::int64_t> = CUDNN_TYPE_INT64;
template <>
inline constexpr auto attribute_type<float> = CUDNN_TYPE_FLOAT;
template <>
inline constexpr auto attribute_type<double> = CUDNN_TYPE_DOUBLE;
template <>
inline constexpr auto attribute_type<void*> = CUDNN_TYPE_VOID_PTR;
template <>
inline constexpr auto attribute_type<cudnnConvolutionMode_t> = CUDNN_TYPE_CONVOLUTION_MODE;
template <>
inline constexpr auto attribute_type<cudnnPointwiseMode_t> = CUDNN_TYPE_POINTWISE_MODE;
template <>
inline constexpr auto attribute_type<cudnnBackendNormMode_t> = CUDNN_TYPE_NORM_MODE;
template <>
inline constexpr auto attribute_type<cudnnReduceTensorOp_t> = CUDNN_TYPE_REDUCTION_OPERATOR_TYPE;
template <>
inline constexpr auto attribute_type<cudnnBackendHeurMode_t> = CUDNN_TYPE_HEUR_MODE;
template <>
inline constexpr auto attribute_type<cudnnBackendKnobType_t> = CUDNN_TYPE_KNOB_TYPE;
template <>
inline constexpr auto attribute_type<cudnnBackendNumericalNote_t> = CUDNN_TYPE_NUMERICAL_NOTE;
template <>
inline constexpr auto attribute_type<cudnnBackendBehaviorNote_t> = CUDNN_TYPE_BEHAVIOR_NOTE;
template <>
inline constexpr auto attribute_type<char> = CUDNN_TYPE_CHAR;

/// A backend descriptor: created, set(), finalized, then queried by get(). All calls throw as
/// cuda::check().
class descriptor {
 public:
  explicit descriptor(cudnnBackendDescriptorType_t type) {
    cudnnBackendDescriptor_t raw = nullptr;
    cuda::check(cudnnBackendCreateDescriptor(type, &raw),
                fmt::format("cudnnBackendCreateDescriptor of type {}", static_cast<int>(type)));
    self_.reset(raw);
  }

  [[nodiscard]] cudnnBackendDescriptor_t raw() const noexcept { return self_.get(); }

  template <class T>
  void set(cudnnBackendAttributeName_t name, const T& value) {
    set_elements(name, attribute_type<T>, std::span(&value, 1));
  }
  template <class T>
  void set(cudnnBackendAttributeName_t name, const std::vector<T>& values) {
    set_elements(name, attribute_type<T>, std::span(values));
  }
  void set(cudnnBackendAttributeName_t name, const std::string& text) {
    set_elements(name, CUDNN_TYPE_CHAR, std::span(text));
  }
  void set(cudnnBackendAttributeName_t name, const descriptor& value) {
    const std::vector inner{value.raw()};
    set_elements(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, std::span(inner));
  }
  void set(cudnnBackendAttributeName_t name, const std::vector<descriptor>& values) {
    std::vector<cudnnBackendDescriptor_t> inner;
    for (const descriptor& value : values) inner.push_back(value.raw());
    set_elements(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, std::span(std::as_const(inner)));
  }

  void finalize() { cuda::check(cudnnBackendFinalize(raw()), "cudnnBackendFinalize"); }

  /// The value of an attribute with one element.
  template <class T>
  [[nodiscard]] T get(cudnnBackendAttributeName_t name) const {
    T value{};
    get_elements(name, attribute_type<T>, 1, &value);
    return value;
  }
  /// All elements of an attribute, which has at most `capacity`.
  template <class T>
  [[nodiscard]] std::vector<T> get_all(cudnnBackendAttributeName_t name,
                                       std::size_t capacity) const {
    std::vector<T> values(capacity);
    values.resize(get_elements(name, attribute_type<T>, capacity, values.data()));
    return values;
  }
  /// All descriptors of `type` in an attribute, which has at most `capacity`.
  [[nodiscard]] std::vector<descriptor> get_all(cudnnBackendAttributeName_t name,
                                                cudnnBackendDescriptorType_t type,
                                                std::size_t capacity) const {
    std::vector<descriptor> result;
    std::vector<cudnnBackendDescriptor_t> inner;
    for (std::size_t i = 0; i < capacity; ++i) {
      result.emplace_back(type);
      inner.push_back(result.back().raw());
    }
    const std::size_t found = get_elements(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, capacity,
                                           static_cast<void*>(inner.data()));
    result.erase(result.begin() + static_cast<std::ptrdiff_t>(found), result.end());
    return result;
  }
  /// Upper bound of the number of descriptors in an attribute; get_all() may return fewer.
  [[nodiscard]] std::size_t count(cudnnBackendAttributeName_t name) const {
    return get_elements(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 0, nullptr);
  }

 private:
  template <class T>
  void set_elements(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                    std::span<const T> elements) {
    cuda::check(
        cudnnBackendSetAttribute(raw(), name, type, static_cast<std::int64_t>(elements.size()),
                                 static_cast<const void*>(elements.data())),
        fmt::format("cudnnBackendSetAttribute {}", static_cast<int>(name)));
  }

  /// Stores up to `capacity` elements and returns their number. With `capacity` 0 it returns the
  /// capacity needed.
  std::size_t get_elements(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                           std::size_t capacity, void* elements) const {
    std::int64_t found = 0;
    cuda::check(cudnnBackendGetAttribute(raw(), name, type, static_cast<std::int64_t>(capacity),
                                         &found, elements),
                fmt::format("cudnnBackendGetAttribute {}", static_cast<int>(name)));
    const auto count = static_cast<std::size_t>(found);
    return capacity == 0 ? count : std::min(capacity, count);
  }

  cuda::handle<cudnnBackendDescriptor_t, &cudnnBackendDestroyDescriptor> self_;
};

}  // namespace layerbench::cudnn
