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

#include <layerbench/backend/cuda/handle.hpp>
#include <layerbench/backend/cudnn/status.hpp>

/// cuDNN through its graph API: operations on tensors are put together to a graph, for which the
/// library has engines. It is used by its C interface, in which everything is a descriptor.
namespace layerbench::cudnn {

/// How the interface names the type of an attribute's elements.
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
inline constexpr auto attribute_type<void*> = CUDNN_TYPE_VOID_PTR;
template <>
inline constexpr auto attribute_type<cudnnConvolutionMode_t> = CUDNN_TYPE_CONVOLUTION_MODE;
template <>
inline constexpr auto attribute_type<cudnnPointwiseMode_t> = CUDNN_TYPE_POINTWISE_MODE;
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

/// One descriptor: made, given its attributes, made final, asked for attributes. All calls throw
/// as cuda::check does.
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

  /// An attribute with one element.
  template <class T>
  [[nodiscard]] T get(cudnnBackendAttributeName_t name) const {
    T value{};
    get_elements(name, attribute_type<T>, 1, &value);
    return value;
  }
  /// All elements of an attribute, which are no more than `most`.
  template <class T>
  [[nodiscard]] std::vector<T> get_all(cudnnBackendAttributeName_t name, std::size_t most) const {
    std::vector<T> values(most);
    values.resize(get_elements(name, attribute_type<T>, most, values.data()));
    return values;
  }
  /// All descriptors, of `type`, that an attribute holds, which are no more than `most`.
  [[nodiscard]] std::vector<descriptor> get_all(cudnnBackendAttributeName_t name,
                                                cudnnBackendDescriptorType_t type,
                                                std::size_t most) const {
    std::vector<descriptor> result;
    std::vector<cudnnBackendDescriptor_t> inner;
    for (std::size_t i = 0; i < most; ++i) {
      result.emplace_back(type);
      inner.push_back(result.back().raw());
    }
    const std::size_t found =
        get_elements(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, most, static_cast<void*>(inner.data()));
    result.erase(result.begin() + static_cast<std::ptrdiff_t>(found), result.end());
    return result;
  }
  /// How many descriptors an attribute holds at most; what get_all finds may be less.
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

  /// Stores up to `most` elements; gives their number, or where `most` is 0 how many there may be.
  std::size_t get_elements(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                           std::size_t most, void* elements) const {
    std::int64_t found = 0;
    cuda::check(cudnnBackendGetAttribute(raw(), name, type, static_cast<std::int64_t>(most), &found,
                                         elements),
                fmt::format("cudnnBackendGetAttribute {}", static_cast<int>(name)));
    const auto known = static_cast<std::size_t>(found);
    return most == 0 ? known : std::min(most, known);
  }

  cuda::handle<cudnnBackendDescriptor_t, &cudnnBackendDestroyDescriptor> self_;
};

}  // namespace layerbench::cudnn
