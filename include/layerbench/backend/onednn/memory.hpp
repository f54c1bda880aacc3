// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <layerbench/backend/onednn/backend.hpp>
#include <layerbench/op/memory_order.hpp>
#include <layerbench/op/reorder.hpp>

/// Memory descriptors: data types, and memory orders in the notation of op::reorder.
namespace layerbench::onednn {

/// oneDNN's data type. Throws unsupported for types that it lacks.
[[nodiscard]] inline dnnl::memory::data_type data_type(dtype type) {
  switch (type) {
#ifdef LAYERBENCH_ONEDNN_HAS_NARROW_WEIGHTS
    case dtype::s4: return dnnl::memory::data_type::s4;
    case dtype::u4: return dnnl::memory::data_type::u4;
#else
    case dtype::s4:
    case dtype::u4: break;
#endif
    case dtype::f32: return dnnl::memory::data_type::f32;
    case dtype::f16: backend::require_f16(); return dnnl::memory::data_type::f16;
    case dtype::bf16: return dnnl::memory::data_type::bf16;
    case dtype::s8: return dnnl::memory::data_type::s8;
    case dtype::u8: return dnnl::memory::data_type::u8;
    case dtype::tf32:
    case dtype::f64:
    case dtype::f8_e4m3: break;
  }
  throw unsupported(fmt::format("oneDNN on CPUs has no {}", name(type)));
}

/// Row-major order.
[[nodiscard]] inline dnnl::memory::desc plain(const dims& extents, dnnl::memory::data_type type) {
  return {extents, type, op::strides(extents, op::plain_order(extents))};
}

/// An order that the primitive chooses.
[[nodiscard]] inline dnnl::memory::desc any(const dims& extents, dtype type) {
  return {extents, data_type(type), dnnl::memory::format_tag::any};
}

/// The order of images that oneDNN's convolutions choose for their output. Under layout:any it is
/// the order of activations of ops whose primitives do not choose one.
[[nodiscard]] inline dnnl::memory::desc conv_output_desc(const backend& device, const dims& extents,
                                                         dtype type) {
  using namespace dnnl;
  const convolution_forward::primitive_desc pointwise(
      device.engine(), prop_kind::forward_inference, algorithm::convolution_direct,
      any(extents, type), any({extents[1], extents[1], 1, 1}, is_integer(type) ? dtype::s8 : type),
      any(extents, type), {1, 1}, {0, 0}, {0, 0});
  return pointwise.dst_desc();
}

/// Activations in the requested order; tensors that are not images are row-major.
[[nodiscard]] inline dnnl::memory::desc activations(const backend& device, const dims& extents,
                                                    dtype type, layout image_layout) {
  if (extents.size() != 4 || image_layout == layout::nchw) return plain(extents, data_type(type));
  if (image_layout == layout::any) return conv_output_desc(device, extents, type);
  return {extents, data_type(type), dnnl::memory::format_tag::nhwc};
}

/// As activations(), for primitives that choose an order under layout:any.
[[nodiscard]] inline dnnl::memory::desc activations_or_any(const backend& device,
                                                           const dims& extents, dtype type,
                                                           layout image_layout) {
  return image_layout == layout::any ? any(extents, type)
                                     : activations(device, extents, type, image_layout);
}

/// The images of an op; if it has a depth, volumes n*c*(d*h)*w as n*c*d*h*w, as oneDNN has them.
template <class Op>
[[nodiscard]] dnnl::memory::desc with_depth(const Op& o, std::int64_t d,
                                            const dnnl::memory::desc& volume) {
  if (!o.has_depth()) return volume;
  dims axes = volume.get_dims();
  axes[2] /= d;
  axes.insert(axes.begin() + 2, d);
  if (volume.get_format_kind() == dnnl::memory::format_kind::any) {
    return {axes, volume.get_data_type(), dnnl::memory::format_tag::any};
  }
  return volume.reshape(axes);
}

/// Filters of a convolution with their groups and depth, in an order that the primitive chooses.
template <class Op>
[[nodiscard]] dnnl::memory::desc filters(const Op& o, dtype type) {
  dims axes{o.k / o.groups, o.c / o.groups, o.r, o.s};
  if (o.has_depth()) axes.insert(axes.begin() + 2, o.t);
  if (o.groups > 1) axes.insert(axes.begin(), o.groups);
  return any(axes, type);
}

/// Sizes along the axes of a window: with the depth if the op has one.
template <class Op>
[[nodiscard]] dims window_sizes(const Op& o, std::int64_t depth, std::int64_t height,
                                std::int64_t width) {
  return o.has_depth() ? dims{depth, height, width} : dims{height, width};
}

/// How a window steps, what lies between its taps, and where it begins, as oneDNN has them.
template <class Op>
[[nodiscard]] dims strides(const Op& o) {
  return window_sizes(o, o.depth_stride, o.stride.v, o.stride.h);
}
template <class Op>
[[nodiscard]] dims dilations(const Op& o) {
  return window_sizes(o, o.depth_dilation - 1, o.dilation.v - 1, o.dilation.h - 1);
}
template <class Op>
[[nodiscard]] dims padding_begin(const Op& o) {
  return window_sizes(o, o.depth_pad.value, o.pad.top, o.pad.left);
}

/// As activations(), but never in blocks: for loops of layerbench.
[[nodiscard]] inline dnnl::memory::desc plain_or_nhwc_activations(const backend& device,
                                                                  const dims& extents, dtype type,
                                                                  layout image_layout) {
  return activations(device, extents, type,
                     image_layout == layout::any ? layout::nhwc : image_layout);
}

/// Canonical memory order of `desc`, in the notation of op::reorder: tensors with equal memory
/// layouts get equal texts. "packed" where the library does not tell its order: weights of
/// recurrent layers.
[[nodiscard]] inline std::string order_of(const dnnl::memory::desc& desc) {
  if (desc.get_format_kind() != dnnl::memory::format_kind::blocked) return "packed";
  const dims extents = desc.get_dims();
  const dims strides = desc.get_strides();
  const dims blocks = desc.get_inner_blks();
  const dims block_axes = desc.get_inner_idxs();
  std::vector<std::size_t> axes(extents.size());
  std::iota(axes.begin(), axes.end(), std::size_t{0});
  std::ranges::stable_sort(axes, std::ranges::greater{},
                           [&](std::size_t axis) { return strides[axis]; });
  const auto is_blocked = [&](std::size_t axis) {
    return std::ranges::find(block_axes, static_cast<std::int64_t>(axis)) != block_axes.end();
  };
  std::string text;
  for (const std::size_t axis : axes) {
    text += static_cast<char>((is_blocked(axis) ? 'A' : 'a') + static_cast<int>(axis));
  }
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    text += fmt::format("{}{}", blocks[i], static_cast<char>('a' + block_axes[i]));
  }
  return op::canonical_order(extents, std::move(text));
}

/// Inverse of order_of(). Throws unsupported if oneDNN does not have the order.
[[nodiscard]] inline dnnl::memory::desc in_order(const dims& extents, dtype type,
                                                 const std::string& order) {
  std::string axes = order;
  std::ranges::sort(axes);
  if (axes == op::plain_order(extents)) {  // oneDNN has no tag for some unblocked orders
    return {extents, data_type(type), op::strides(extents, order)};
  }
  const std::string wanted = op::canonical_order(extents, order);
  // Filters of transposed convolutions have the orders of other filters, with two axes swapped.
  for (std::size_t swapped = 0; swapped < std::min<std::size_t>(extents.size(), 3); ++swapped) {
    std::vector<int> permutation(extents.size());
    std::iota(permutation.begin(), permutation.end(), 0);
    dims tagged = extents;
    if (swapped > 0) {
      std::swap(permutation[swapped - 1], permutation[swapped]);
      std::swap(tagged[swapped - 1], tagged[swapped]);
    }
    for (int tag = dnnl_format_tag_any + 1; tag < dnnl_format_tag_last; ++tag) {
      constexpr bool allow_empty = true;  // most tags have other numbers of axes
      dnnl::memory::desc result(tagged, data_type(type), static_cast<dnnl::memory::format_tag>(tag),
                                allow_empty);
      if (!result) continue;
      if (swapped > 0) result = result.permute_axes(permutation);
      if (order_of(result) == wanted) return result;
    }
  }
  throw unsupported(fmt::format("oneDNN has no memory order '{}'", order));
}

/// The order of `desc` with elements of that type. Throws unsupported if oneDNN does not have it.
[[nodiscard]] inline dnnl::memory::desc retyped(const dnnl::memory::desc& desc, dtype type) {
  if (desc.get_data_type() == data_type(type)) return desc;
  if (desc.get_format_kind() == dnnl::memory::format_kind::any) return any(desc.get_dims(), type);
  return in_order(desc.get_dims(), type, order_of(desc));
}

}  // namespace layerbench::onednn
