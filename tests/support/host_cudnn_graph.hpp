// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <numbers>
#include <string_view>
#include <utility>
#include <vector>

#include <cudnn.h>
#include <cudnn_backend.h>

#include "host_cudnn.hpp"

/// As host_cudnn.hpp, of the graph interface: convolutions with pointwise functions behind them,
/// attention, and normalizations of rows. There are two engines: 1 computes in f32, 2 on tensor
/// cores, with a knob, and scratch memory that it uses. To be included in one file of a program.

namespace {

constexpr std::int64_t host_plain_engine = 31;
constexpr std::int64_t host_tensor_core_engine = 32;
constexpr std::int64_t host_workspace_bytes = 64;

/// What a descriptor holds, shared by all that hold it themselves.
struct host_state {
  cudnnBackendDescriptorType_t type = {};
  std::map<cudnnBackendAttributeName_t, std::vector<std::byte>> values = {};
  std::map<cudnnBackendAttributeName_t, std::vector<std::shared_ptr<host_state>>> inner = {};

  template <class T>
  [[nodiscard]] std::vector<T> all(cudnnBackendAttributeName_t name) const {
    const std::vector<std::byte>& bytes = values.at(name);
    std::vector<T> result(bytes.size() / sizeof(T));
    std::memcpy(result.data(), bytes.data(), bytes.size());
    return result;
  }
  template <class T>
  [[nodiscard]] T one(cudnnBackendAttributeName_t name) const {
    return all<T>(name).at(0);
  }
  template <class T>
  void set(cudnnBackendAttributeName_t name, T value) {
    values[name].resize(sizeof value);
    std::memcpy(values[name].data(), &value, sizeof value);
  }
  [[nodiscard]] const host_state& part(cudnnBackendAttributeName_t name) const {
    return *inner.at(name).at(0);
  }
  [[nodiscard]] bool has(cudnnBackendAttributeName_t name) const {
    return values.contains(name) || inner.contains(name);
  }
};
using host_descriptor = std::shared_ptr<host_state>;

host_descriptor& host_of(cudnnBackendDescriptor_t raw) {
  return *static_cast<host_descriptor*>(raw);
}

std::size_t host_size(cudnnBackendAttributeType_t type) {
  switch (type) {
    case CUDNN_TYPE_HANDLE:
    case CUDNN_TYPE_VOID_PTR:
    case CUDNN_TYPE_INT64:
    case CUDNN_TYPE_DOUBLE: return 8;
    case CUDNN_TYPE_BOOLEAN:
    case CUDNN_TYPE_CHAR: return 1;
    default: return 4;
  }
}

host_descriptor host_engine_config(const host_descriptor& graph, std::int64_t index) {
  const auto engine = std::make_shared<host_state>();
  engine->inner[CUDNN_ATTR_ENGINE_OPERATION_GRAPH] = {graph};
  engine->set(CUDNN_ATTR_ENGINE_GLOBAL_INDEX, index);
  auto config = std::make_shared<host_state>();
  config->inner[CUDNN_ATTR_ENGINECFG_ENGINE] = {engine};
  if (index == host_tensor_core_engine) {
    const auto knob = std::make_shared<host_state>();
    knob->set(CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE, CUDNN_KNOB_TYPE_LDGB);
    knob->set(CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE, std::int64_t{3});
    config->inner[CUDNN_ATTR_ENGINECFG_KNOB_CHOICES] = {knob};
  }
  return config;
}

bool host_same_shape(const host_state& a, const host_state& b) {
  return a.all<std::int64_t>(CUDNN_ATTR_TENSOR_DIMENSIONS) ==
         b.all<std::int64_t>(CUDNN_ATTR_TENSOR_DIMENSIONS);
}
/// Whether these tensors of a node are in it, and as large as the others.
bool host_has_alike(const host_state& node, const std::vector<cudnnBackendAttributeName_t>& names) {
  return std::ranges::all_of(names, [&](cudnnBackendAttributeName_t name) {
    return node.has(name) && host_same_shape(node.part(name), node.part(names[0]));
  });
}
/// Whether tensors have a number for each column, or for each row, of others.
bool host_is_row(const host_state& tensor, const host_state& of) {
  auto sizes = of.all<std::int64_t>(CUDNN_ATTR_TENSOR_DIMENSIONS);
  sizes.at(0) = 1;
  return tensor.all<std::int64_t>(CUDNN_ATTR_TENSOR_DIMENSIONS) == sizes;
}
bool host_is_column(const host_state& tensor, const host_state& of) {
  auto sizes = of.all<std::int64_t>(CUDNN_ATTR_TENSOR_DIMENSIONS);
  std::fill(sizes.begin() + 1, sizes.end(), 1);
  return tensor.all<std::int64_t>(CUDNN_ATTR_TENSOR_DIMENSIONS) == sizes;
}

/// What cuDNN 9.19 requires of the gradients of a normalization, by what it refuses.
bool host_is_valid_backward(const host_state& node) {
  const bool layer =
      node.one<cudnnBackendNormMode_t>(CUDNN_ATTR_OPERATION_NORM_BWD_MODE) == CUDNN_LAYER_NORM;
  if (!host_has_alike(node,
                      {CUDNN_ATTR_OPERATION_NORM_BWD_XDESC, CUDNN_ATTR_OPERATION_NORM_BWD_DYDESC,
                       CUDNN_ATTR_OPERATION_NORM_BWD_DXDESC}) ||
      !host_has_alike(node, {CUDNN_ATTR_OPERATION_NORM_BWD_SCALE_DESC,
                             CUDNN_ATTR_OPERATION_NORM_BWD_DSCALE_DESC}) ||
      !node.has(CUDNN_ATTR_OPERATION_NORM_BWD_INV_VARIANCE_DESC)) {
    return false;
  }
  const host_state& x = node.part(CUDNN_ATTR_OPERATION_NORM_BWD_XDESC);
  return host_is_row(node.part(CUDNN_ATTR_OPERATION_NORM_BWD_SCALE_DESC), x) &&
         host_is_column(node.part(CUDNN_ATTR_OPERATION_NORM_BWD_INV_VARIANCE_DESC), x) &&
         (!layer || (host_has_alike(node, {CUDNN_ATTR_OPERATION_NORM_BWD_INV_VARIANCE_DESC,
                                           CUDNN_ATTR_OPERATION_NORM_BWD_MEAN_DESC}) &&
                     host_has_alike(node, {CUDNN_ATTR_OPERATION_NORM_BWD_DSCALE_DESC,
                                           CUDNN_ATTR_OPERATION_NORM_BWD_DBIAS_DESC})));
}

cudnnPointwiseMode_t host_mode_of(const host_state& node) {
  return node.part(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR)
      .one<cudnnPointwiseMode_t>(CUDNN_ATTR_POINTWISE_MODE);
}

/// Whether a graph has a convolution of each channel by itself, in bf16, with a function that cuDNN
/// 9.19 does not join to these on an H200: any but sums and relu.
bool host_cannot_join(const host_state& graph) {
  bool depthwise = false;
  bool other = false;
  for (const host_descriptor& node : graph.inner.at(CUDNN_ATTR_OPERATIONGRAPH_OPS)) {
    if (node->type == CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR) {
      const cudnnPointwiseMode_t mode = host_mode_of(*node);
      other = other || (mode != CUDNN_POINTWISE_ADD && mode != CUDNN_POINTWISE_RELU_FWD);
    }
    if (node->type != CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR) continue;
    const host_state& weights = node->part(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W);
    const auto type = weights.one<cudnnDataType_t>(CUDNN_ATTR_TENSOR_DATA_TYPE);
    const host_state& images = node->part(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X);
    depthwise = type == CUDNN_DATA_BFLOAT16 &&
                weights.all<std::int64_t>(CUDNN_ATTR_TENSOR_DIMENSIONS).at(1) == 1 &&
                images.all<std::int64_t>(CUDNN_ATTR_TENSOR_DIMENSIONS).at(1) > 1;
  }
  return depthwise && other;
}

/// Whether the library has engines for a graph. Of those with matrix products it has only attention
/// in 16 bits with rows of a multiple of 8, which must compute the logarithm of the sums forward.
bool host_has_engines(const host_state& graph) {
  std::size_t products = 0;
  std::size_t logarithms = 0;
  bool supported = true;
  for (const host_descriptor& node : graph.inner.at(CUDNN_ATTR_OPERATIONGRAPH_OPS)) {
    if (node->type == CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR) {
      logarithms += host_mode_of(*node) == CUDNN_POINTWISE_LOG ? 1U : 0U;
    }
    if (node->type != CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR) continue;
    ++products;
    const host_state& a = node->part(CUDNN_ATTR_OPERATION_MATMUL_ADESC);
    const host_state& b = node->part(CUDNN_ATTR_OPERATION_MATMUL_BDESC);
    const auto type = b.one<cudnnDataType_t>(CUDNN_ATTR_TENSOR_DATA_TYPE);
    supported = supported && (b.has(CUDNN_ATTR_TENSOR_IS_VIRTUAL) || type == CUDNN_DATA_HALF ||
                              type == CUDNN_DATA_BFLOAT16);
    const bool of_scores = a.has(CUDNN_ATTR_TENSOR_IS_VIRTUAL);
    const auto axes = b.all<std::int64_t>(CUDNN_ATTR_TENSOR_DIMENSIONS);
    const std::int64_t depth = axes.at(of_scores ? 3 : 2);
    supported = supported && depth % 8 == 0;
  }
  if (products == 0) return !host_cannot_join(graph);
  const bool forward = products == 2 && logarithms == 1;
  const bool backward = products == 5 && logarithms == 0;
  return supported && (forward || backward);
}

/// Whether the sizes of a matrix product fit.
bool host_is_valid_product(const host_state& of) {
  const auto sizes = [&](cudnnBackendAttributeName_t name) {
    return of.part(name).all<std::int64_t>(CUDNN_ATTR_TENSOR_DIMENSIONS);
  };
  const auto a = sizes(CUDNN_ATTR_OPERATION_MATMUL_ADESC);
  const auto b = sizes(CUDNN_ATTR_OPERATION_MATMUL_BDESC);
  const auto c = sizes(CUDNN_ATTR_OPERATION_MATMUL_CDESC);
  return a[0] == c[0] && b[0] == c[0] && a[1] == c[1] && c[1] % b[1] == 0 && a[2] == c[2] &&
         a[3] == b[2] && b[3] == c[3];
}

/// Whether a descriptor makes sense by itself.
bool host_is_valid(const host_state& of) {
  switch (of.type) {
    case CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR: return host_is_valid_product(of);
    case CUDNN_BACKEND_OPERATION_NORM_BACKWARD_DESCRIPTOR: return host_is_valid_backward(of);
    default: return true;
  }
}

/// What the library works out when a descriptor is made final.
void host_finalize(host_state& of) {
  if (of.type == CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR) {
    const host_descriptor& graph = of.inner.at(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH).at(0);
    if (!host_has_engines(*graph)) return;
    const bool fast =
        of.one<cudnnBackendHeurMode_t>(CUDNN_ATTR_ENGINEHEUR_MODE) != CUDNN_HEUR_MODE_FALLBACK;
    auto& found = of.inner[CUDNN_ATTR_ENGINEHEUR_RESULTS];
    if (fast) found.push_back(host_engine_config(graph, host_tensor_core_engine));
    found.push_back(host_engine_config(graph, host_plain_engine));
  }
  if (of.type == CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR) {
    const host_state& engine =
        of.part(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG).part(CUDNN_ATTR_ENGINECFG_ENGINE);
    const bool fast =
        engine.one<std::int64_t>(CUDNN_ATTR_ENGINE_GLOBAL_INDEX) == host_tensor_core_engine;
    of.set(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, fast ? host_workspace_bytes : 0);
  }
}

/// The tensors of a graph while it runs: in the caller's memory, or in that of this.
class host_tensors {
 public:
  explicit host_tensors(const host_state& pack) {
    const auto ids = pack.all<std::int64_t>(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS);
    const auto places = pack.all<void*>(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS);
    for (std::size_t i = 0; i < ids.size(); ++i) places_[ids[i]] = places.at(i);
  }
  /// Checks the addresses of a graph's tensors.
  [[nodiscard]] cudnnStatus_t check(const host_state& graph) {
    for (const auto& node : graph.inner.at(CUDNN_ATTR_OPERATIONGRAPH_OPS)) {
      for (const auto& [name, parts] : node->inner) {
        const host_state& tensor = *parts.at(0);
        if (tensor.type != CUDNN_BACKEND_TENSOR_DESCRIPTOR) continue;
        if (tensor.has(CUDNN_ATTR_TENSOR_IS_VIRTUAL)) continue;
        const auto id = tensor.one<std::int64_t>(CUDNN_ATTR_TENSOR_UNIQUE_ID);
        if (!places_.contains(id)) return CUDNN_STATUS_BAD_PARAM;
        if (tensor.has(CUDNN_ATTR_TENSOR_IS_BY_VALUE)) continue;
        const auto bytes = tensor.one<std::int64_t>(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT);
        if (reinterpret_cast<std::uintptr_t>(places_.at(id)) % static_cast<std::size_t>(bytes) != 0)
          return CUDNN_STATUS_BAD_PARAM_MISALIGNED_POINTER;
      }
    }
    return CUDNN_STATUS_SUCCESS;
  }
  [[nodiscard]] host_tensor at(const host_state& described) {
    const auto sizes = described.all<std::int64_t>(CUDNN_ATTR_TENSOR_DIMENSIONS);
    const auto steps = described.all<std::int64_t>(CUDNN_ATTR_TENSOR_STRIDES);
    cudnnTensorStruct how{described.one<cudnnDataType_t>(CUDNN_ATTR_TENSOR_DATA_TYPE), {}, {}};
    std::copy_n(sizes.begin(), 4, how.sizes.begin());
    std::copy_n(steps.begin(), 4, how.steps.begin());
    const auto id = described.one<std::int64_t>(CUDNN_ATTR_TENSOR_UNIQUE_ID);
    if (described.values.contains(CUDNN_ATTR_TENSOR_IS_VIRTUAL) && !places_.contains(id)) {
      std::size_t count = 1;
      for (const std::int64_t item : sizes) count *= static_cast<std::size_t>(item);
      virtual_.emplace_back(count);
      places_[id] = virtual_.back().data();
    }
    return {how, places_.at(id)};
  }

 private:
  std::map<std::int64_t, void*> places_;
  std::vector<std::vector<float>> virtual_;
};

/// Calls `visit(place in x, in w, in y)` for each product of a convolution.
template <class Visit>
void host_for_products(const host_state& how, const host_place& x, const host_place& w,
                       const host_place& y, const Visit& visit) {
  const auto steps = how.all<std::int64_t>(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES);
  const auto dilations = how.all<std::int64_t>(CUDNN_ATTR_CONVOLUTION_DILATIONS);
  const auto pads = how.all<std::int64_t>(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS);
  const std::int64_t filters_a_group = w[0] / (x[1] / w[1]);
  host_for_each(y, [&](const host_place& out) {
    const std::int64_t first_channel = out[1] / filters_a_group * w[1];
    host_for_each({1, w[1], w[2], w[3]}, [&](const host_place& tap) {
      const host_place in{out[0], first_channel + tap[1],
                          out[2] * steps[0] - pads[0] + tap[2] * dilations[0],
                          out[3] * steps[1] - pads[1] + tap[3] * dilations[1]};
      if (in[2] < 0 || in[2] >= x[2] || in[3] < 0 || in[3] >= x[3]) return;
      visit(in, host_place{out[1], tap[1], tap[2], tap[3]}, out);
    });
  });
}

/// Sums of products, which are in one of the three places.
template <class Add>
void host_sum(const host_tensor& result, const Add& add) {
  const host_place& sizes = result.how.sizes;
  const auto flat = [&](const host_place& at) {
    return static_cast<std::size_t>(((at[0] * sizes[1] + at[1]) * sizes[2] + at[2]) * sizes[3] +
                                    at[3]);
  };
  std::vector<double> sums(flat({sizes[0], 0, 0, 0}));
  add([&](const host_place& at, double product) { sums[flat(at)] += product; });
  host_for_each(sizes, [&](const host_place& at) { result.set(at, sums[flat(at)]); });
}

/// How a convolution's parts are called in a pass, by what has the images, the filters and the
/// results of the forward pass; one of these is what the pass writes.
struct host_convolution {
  cudnnBackendAttributeName_t how, x, w, y, written;
};
constexpr host_convolution host_forward{
    CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
    CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y,
    CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y};
constexpr host_convolution host_backward_data{
    CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
    CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
    CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX};
constexpr host_convolution host_backward_filter{
    CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
    CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
    CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW};

void host_convolve(const host_convolution& called, const host_state& node, host_tensors& tensors) {
  const host_tensor x = tensors.at(node.part(called.x));
  const host_tensor w = tensors.at(node.part(called.w));
  const host_tensor y = tensors.at(node.part(called.y));
  host_sum(tensors.at(node.part(called.written)), [&](const auto& add) {
    host_for_products(node.part(called.how), x.how.sizes, w.how.sizes, y.how.sizes,
                      [&](const auto& in, const auto& tap, const auto& out) {
                        if (called.written == called.y) {
                          add(out, x.get(in) * w.get(tap));
                        } else if (called.written == called.x) {
                          add(in, y.get(out) * w.get(tap));
                        } else {
                          add(tap, x.get(in) * y.get(out));
                        }
                      });
  });
}

/// The element of a tensor that broadcasts an axis, or whose neighbours share one, as the heads of
/// a group of queries share keys.
host_place host_shared_place(const host_tensor& shared, const host_tensor& all, host_place at) {
  for (std::size_t axis = 0; axis < at.size(); ++axis) {
    at[axis] /= all.how.sizes[axis] / shared.how.sizes[axis];
  }
  return at;
}

double host_function(const host_state& how, double x, double b) {
  switch (how.one<cudnnPointwiseMode_t>(CUDNN_ATTR_POINTWISE_MODE)) {
    case CUDNN_POINTWISE_ADD: return x + b;
    case CUDNN_POINTWISE_SUB: return x - b;
    case CUDNN_POINTWISE_MUL: return x * b;
    case CUDNN_POINTWISE_MIN: return std::min(x, b);
    case CUDNN_POINTWISE_DIV: return x / b;
    case CUDNN_POINTWISE_CMP_GE: return x >= b ? 1 : 0;
    case CUDNN_POINTWISE_EXP: return std::exp(x);
    case CUDNN_POINTWISE_LOG: return std::log(x);
    case CUDNN_POINTWISE_IDENTITY: return x;
    case CUDNN_POINTWISE_RELU_FWD: {
      const bool leaky = how.values.contains(CUDNN_ATTR_POINTWISE_RELU_LOWER_CLIP_SLOPE);
      if (x < 0) return leaky ? x * how.one<double>(CUDNN_ATTR_POINTWISE_RELU_LOWER_CLIP_SLOPE) : 0;
      return x;
    }
    case CUDNN_POINTWISE_ELU_FWD: return x > 0 ? x : std::expm1(x);
    case CUDNN_POINTWISE_SIGMOID_FWD: return 1 / (1 + std::exp(-x));
    case CUDNN_POINTWISE_TANH_FWD: return std::tanh(x);
    case CUDNN_POINTWISE_GELU_FWD: return x / 2 * (1 + std::erf(x / std::numbers::sqrt2));
    default: return x / (1 + std::exp(-x));
  }
}
/// A function of each element, alone, with that of another tensor, or of its place; or a choice
/// between two elements.
void host_pointwise(const host_state& node, host_tensors& tensors) {
  const host_state& how = node.part(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR);
  const auto mode = host_mode_of(node);
  const host_tensor x = tensors.at(node.part(CUDNN_ATTR_OPERATION_POINTWISE_XDESC));
  const host_tensor y = tensors.at(node.part(CUDNN_ATTR_OPERATION_POINTWISE_YDESC));
  if (mode == CUDNN_POINTWISE_GEN_INDEX) {
    const auto axis = static_cast<std::size_t>(how.one<std::int64_t>(CUDNN_ATTR_POINTWISE_AXIS));
    host_for_each(y.how.sizes,
                  [&](const auto& at) { y.set(at, static_cast<double>(at.at(axis))); });
    return;
  }
  const bool has_b = node.inner.contains(CUDNN_ATTR_OPERATION_POINTWISE_BDESC);
  const host_tensor b = has_b ? tensors.at(node.part(CUDNN_ATTR_OPERATION_POINTWISE_BDESC)) : x;
  const auto value = [&](const host_place& at) { return b.get(host_shared_place(b, x, at)); };
  if (mode == CUDNN_POINTWISE_BINARY_SELECT) {
    const host_tensor chosen = tensors.at(node.part(CUDNN_ATTR_OPERATION_POINTWISE_TDESC));
    host_for_each(x.how.sizes,
                  [&](const auto& at) { y.set(at, chosen.get(at) != 0 ? x.get(at) : value(at)); });
    return;
  }
  host_for_each(x.how.sizes,
                [&](const auto& at) { y.set(at, host_function(how, x.get(at), value(at))); });
}

void host_multiply(const host_state& node, host_tensors& tensors) {
  const host_tensor a = tensors.at(node.part(CUDNN_ATTR_OPERATION_MATMUL_ADESC));
  const host_tensor b = tensors.at(node.part(CUDNN_ATTR_OPERATION_MATMUL_BDESC));
  const host_tensor c = tensors.at(node.part(CUDNN_ATTR_OPERATION_MATMUL_CDESC));
  host_for_each(c.how.sizes, [&](const host_place& at) {
    host_place row = at;
    host_place column = at;
    column[1] /= c.how.sizes[1] / b.how.sizes[1];
    double sum = 0;
    for (std::int64_t i = 0; i < a.how.sizes[3]; ++i) {
      row[3] = column[2] = i;
      sum += a.get(row) * b.get(column);
    }
    c.set(at, sum);
  });
}

/// Calls `visit` with each place in row `n` of a tensor of these sizes.
template <class Visit>
void host_for_row(const host_place& sizes, std::int64_t n, const Visit& visit) {
  host_for_each({1, sizes[1], sizes[2], sizes[3]}, [&](const host_place& column) {
    visit(host_place{n, column[1], column[2], column[3]}, column);
  });
}

void host_norm_backward(const host_state& node, host_tensors& tensors) {
  const bool layer =
      node.one<cudnnBackendNormMode_t>(CUDNN_ATTR_OPERATION_NORM_BWD_MODE) == CUDNN_LAYER_NORM;
  const auto tensor = [&](cudnnBackendAttributeName_t name) { return tensors.at(node.part(name)); };
  const host_tensor x = tensor(CUDNN_ATTR_OPERATION_NORM_BWD_XDESC);
  const host_tensor dy = tensor(CUDNN_ATTR_OPERATION_NORM_BWD_DYDESC);
  const host_tensor dx = tensor(CUDNN_ATTR_OPERATION_NORM_BWD_DXDESC);
  const host_tensor scale = tensor(CUDNN_ATTR_OPERATION_NORM_BWD_SCALE_DESC);
  const host_tensor inverse = tensor(CUDNN_ATTR_OPERATION_NORM_BWD_INV_VARIANCE_DESC);
  const host_place& sizes = x.how.sizes;
  const auto columns = static_cast<double>(sizes[1] * sizes[2] * sizes[3]);
  const auto normalized = [&](const host_place& at) {
    const host_place row{at[0]};
    const double mean = layer ? tensor(CUDNN_ATTR_OPERATION_NORM_BWD_MEAN_DESC).get(row) : 0;
    return (x.get(at) - mean) * inverse.get(row);
  };
  host_sum(tensor(CUDNN_ATTR_OPERATION_NORM_BWD_DSCALE_DESC), [&](const auto& add) {
    host_for_each(sizes, [&](const host_place& at) {
      add({0, at[1], at[2], at[3]}, dy.get(at) * normalized(at));
    });
  });
  if (layer) {
    host_sum(tensor(CUDNN_ATTR_OPERATION_NORM_BWD_DBIAS_DESC), [&](const auto& add) {
      host_for_each(sizes,
                    [&](const host_place& at) { add({0, at[1], at[2], at[3]}, dy.get(at)); });
    });
  }
  for (std::int64_t n = 0; n < sizes[0]; ++n) {
    double mean = 0;
    double product = 0;
    host_for_row(sizes, n, [&](const auto& at, const auto& column) {
      const double scaled = dy.get(at) * scale.get(column) / columns;
      if (layer) mean += scaled;
      product += scaled * normalized(at);
    });
    host_for_row(sizes, n, [&](const auto& at, const auto& column) {
      const double scaled = dy.get(at) * scale.get(column);
      dx.set(at, (scaled - mean - normalized(at) * product) * inverse.get({n}));
    });
  }
}

/// Sums or largest elements.
void host_reduce(const host_state& node, host_tensors& tensors) {
  const auto by = node.part(CUDNN_ATTR_OPERATION_REDUCTION_DESC)
                      .one<cudnnReduceTensorOp_t>(CUDNN_ATTR_REDUCTION_OPERATOR);
  const host_tensor x = tensors.at(node.part(CUDNN_ATTR_OPERATION_REDUCTION_XDESC));
  const host_tensor y = tensors.at(node.part(CUDNN_ATTR_OPERATION_REDUCTION_YDESC));
  std::map<host_place, double> results;
  host_for_each(x.how.sizes, [&](const host_place& at) {
    const auto [known, is_new] = results.emplace(host_shared_place(y, x, at), x.get(at));
    if (is_new) return;
    double& result = known->second;
    result = by == CUDNN_REDUCE_TENSOR_MAX ? std::max(result, x.get(at)) : result + x.get(at);
  });
  host_for_each(y.how.sizes, [&](const host_place& at) { y.set(at, results.at(at)); });
}

/// The same memory with other sizes, and perhaps in another type.
void host_reshape(const host_state& node, host_tensors& tensors) {
  const host_tensor x = tensors.at(node.part(CUDNN_ATTR_OPERATION_RESHAPE_XDESC));
  const host_tensor y = tensors.at(node.part(CUDNN_ATTR_OPERATION_RESHAPE_YDESC));
  host_for_each(x.how.sizes,
                [&](const host_place& at) { y.numbers.set(x.position(at), x.get(at)); });
}

/// What is wrong with the engine for tensor cores: "wrong" results, an "illegal" access, or calls
/// that are "unrecordable".
bool host_has_fault(const host_state& engine, std::string_view fault) {
  static const char* const set = std::getenv("SOFTWARE_GPU_FAULT");
  return set != nullptr && set == fault &&
         engine.one<std::int64_t>(CUDNN_ATTR_ENGINE_GLOBAL_INDEX) == host_tensor_core_engine;
}

const host_state& host_engine_of(const host_state& plan) {
  return plan.part(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG).part(CUDNN_ATTR_ENGINECFG_ENGINE);
}

/// Whether that engine makes an illegal access now: after as many calls as are to go well.
bool host_breaks(const host_state& engine) {
  static const char* const set = std::getenv("SOFTWARE_GPU_FAULT_AFTER");
  static int good_calls = set == nullptr ? 0 : std::atoi(set);
  return host_has_fault(engine, "illegal") && --good_calls < 0;
}

void host_execute(const host_state& plan, const host_state& pack, host_tensors tensors) {
  const host_state& engine = host_engine_of(plan);
  if (host_has_fault(engine, "wrong")) return;
  if (host_breaks(engine)) host_fault = cudaErrorIllegalAddress;
  const auto bytes = plan.one<std::int64_t>(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE);
  std::memset(pack.one<void*>(CUDNN_ATTR_VARIANT_PACK_WORKSPACE), 0xFF,
              static_cast<std::size_t>(bytes));
  const host_state& graph = engine.part(CUDNN_ATTR_ENGINE_OPERATION_GRAPH);
  for (const host_descriptor& node : graph.inner.at(CUDNN_ATTR_OPERATIONGRAPH_OPS)) {
    switch (node->type) {
      case CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR:
        host_convolve(host_forward, *node, tensors);
        break;
      case CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR:
        host_convolve(host_backward_data, *node, tensors);
        break;
      case CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR:
        host_convolve(host_backward_filter, *node, tensors);
        break;
      case CUDNN_BACKEND_OPERATION_NORM_BACKWARD_DESCRIPTOR:
        host_norm_backward(*node, tensors);
        break;
      case CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR: host_multiply(*node, tensors); break;
      case CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR: host_reduce(*node, tensors); break;
      case CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR: host_reshape(*node, tensors); break;
      default: host_pointwise(*node, tensors);
    }
  }
}

}  // namespace

extern "C" {

cudnnStatus_t cudnnBackendCreateDescriptor(cudnnBackendDescriptorType_t type,
                                           cudnnBackendDescriptor_t* result) {
  auto state = std::make_shared<host_state>();
  state->type = type;
  *result = new host_descriptor(std::move(state));
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnBackendDestroyDescriptor(cudnnBackendDescriptor_t raw) {
  delete static_cast<host_descriptor*>(raw);
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnBackendFinalize(cudnnBackendDescriptor_t raw) {
  if (!host_is_valid(*host_of(raw))) return CUDNN_STATUS_BAD_PARAM;
  host_finalize(*host_of(raw));
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnBackendSetAttribute(cudnnBackendDescriptor_t raw,
                                       cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t type, std::int64_t count,
                                       const void* elements) {
  host_state& to = *host_of(raw);
  const auto many = static_cast<std::size_t>(count);
  if (type == CUDNN_TYPE_BACKEND_DESCRIPTOR) {
    auto& inner = to.inner[name];
    inner.clear();
    for (std::size_t i = 0; i < many; ++i) {
      inner.push_back(host_of(static_cast<const cudnnBackendDescriptor_t*>(elements)[i]));
    }
  } else {
    const auto* bytes = static_cast<const std::byte*>(elements);
    to.values[name].assign(bytes, bytes + many * host_size(type));
  }
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnBackendGetAttribute(cudnnBackendDescriptor_t raw,
                                       cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t type, std::int64_t most,
                                       std::int64_t* found, void* elements) {
  const host_state& of = *host_of(raw);
  *found = 0;
  if (type == CUDNN_TYPE_BACKEND_DESCRIPTOR) {
    const auto known = of.inner.find(name);
    if (known == of.inner.end()) return CUDNN_STATUS_SUCCESS;
    *found = static_cast<std::int64_t>(known->second.size());
    for (std::int64_t i = 0; i < std::min(most, *found); ++i) {
      host_of(static_cast<cudnnBackendDescriptor_t*>(elements)[i]) =
          known->second[static_cast<std::size_t>(i)];
    }
    return CUDNN_STATUS_SUCCESS;
  }
  if (name == CUDNN_ATTR_ENGINE_NUMERICAL_NOTE) {
    if (of.one<std::int64_t>(CUDNN_ATTR_ENGINE_GLOBAL_INDEX) == host_plain_engine) {
      return CUDNN_STATUS_SUCCESS;
    }
    *found = 1;
    *static_cast<cudnnBackendNumericalNote_t*>(elements) = CUDNN_NUMERICAL_NOTE_TENSOR_CORE;
    return CUDNN_STATUS_SUCCESS;
  }
  if (name == CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION) {
    constexpr std::string_view text = R"({"deviceName": "this processor", "deviceVer": 900})";
    *found = static_cast<std::int64_t>(text.size());
    std::memcpy(elements, text.data(), std::min(static_cast<std::size_t>(most), text.size()));
    return CUDNN_STATUS_SUCCESS;
  }
  const auto known = of.values.find(name);
  if (known == of.values.end()) return CUDNN_STATUS_NOT_SUPPORTED;
  const std::size_t item = host_size(type);
  *found = static_cast<std::int64_t>(known->second.size() / item);
  std::memcpy(elements, known->second.data(),
              std::min(static_cast<std::size_t>(most) * item, known->second.size()));
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnBackendExecute(cudnnHandle_t /*handle*/, cudnnBackendDescriptor_t plan,
                                  cudnnBackendDescriptor_t pack) {
  const host_state& engine = host_engine_of(*host_of(plan));
  const bool recordable = !host_records || !host_has_fault(engine, "unrecordable");
  host_tensors tensors(*host_of(pack));
  const cudnnStatus_t status = tensors.check(engine.part(CUDNN_ATTR_ENGINE_OPERATION_GRAPH));
  if (status != CUDNN_STATUS_SUCCESS) return status;
  return host_compute(recordable, [plan = host_of(plan), pack = host_of(pack), tensors] {
    host_execute(*plan, *pack, tensors);
  });
}

}  // extern "C"
