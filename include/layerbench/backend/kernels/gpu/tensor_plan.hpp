// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <layerbench/backend/kernels/gpu/runtime.hpp>
#include <layerbench/backend/number_types.hpp>
#include <layerbench/backend/strided_operands.hpp>
#include <layerbench/op/memory_order.hpp>
#include <layerbench/op/test_data.hpp>

namespace layerbench::gpu {

/// `bytes` of scratch memory, rounded up so that what follows is aligned as by cudaMalloc().
[[nodiscard]] constexpr std::size_t aligned_bytes(std::size_t bytes) {
  return rounded_up(bytes, 256);
}

[[nodiscard]] inline std::string without_suffix(std::string text, std::string_view suffix) {
  if (text.ends_with(suffix)) text.resize(text.size() - suffix.size());
  return text;
}

/// End of the names of algorithms with fast accumulation.
inline constexpr std::string_view fast_suffix = "_fast";

/// A number in device memory, where libraries read scales.
class device_number {
 public:
  device_number(float value, const runtime& device) : memory_(device.allocate(sizeof value)) {
    device.copy(memory_->data(), &value, sizeof value);
    device.synchronize();
  }
  [[nodiscard]] address at() const { return memory_->data(); }

 private:
  std::unique_ptr<run::device_memory> memory_;
};

/// Base class of the plans on GPUs: operands in device memory, in the requested order and without
/// padding.
class tensor_plan : public strided_operands {
 public:
  /// Stores row-major `values` in the operand's type and order.
  void upload(std::size_t operand, std::span<const float> values, address to) const override {
    with_stored_number(logical(operand).type, [&]<class T>(T /*tag*/) {
      std::vector<T> stored(tensor_size(operand));
      if (is_part(operand)) copy(stored.data(), to, stored.size() * sizeof(T));
      store(operand, values, stored.data());
      copy(to, stored.data(), stored.size() * sizeof(T));
    });
  }

  /// By a kernel that is only enqueued.
  void draw(std::size_t operand, const run::test_data& data, address to) const override {
    if (data.size() == 0) return;
    const auto size = static_cast<std::int64_t>(data.size());
    device_->find(dtype::f32, "draw")
        .launch(grid_for(size), to, stored_type_of(operand), logical(operand).scale, size,
                memory_axes_of(operand), drawn_data(data));
  }

  [[nodiscard]] std::optional<std::int64_t> first_non_finite(std::size_t operand,
                                                             address from) const override {
    return search("find_non_finite", operand, from, stored_type_of(operand));
  }

  [[nodiscard]] std::optional<std::int64_t> first_difference(std::size_t operand, address a,
                                                             address b) const override {
    const auto bytes = static_cast<int>(traits(logical(operand).type).bytes);
    return search("find_difference", operand, a, b, bytes);
  }

  /// By one small copy for each element.
  [[nodiscard]] std::vector<float> gather(std::size_t operand, address from,
                                          std::span<const std::int64_t> indices) const override {
    std::vector<float> values(indices.size());
    with_stored_number(logical(operand).type, [&]<class T>(T /*tag*/) {
      for (std::size_t i = 0; i < indices.size(); ++i) {
        T stored;
        const auto offset = static_cast<std::size_t>(offset_of(operand, indices[i]));
        copy(&stored, static_cast<const T*>(from) + offset, sizeof stored);
        values[i] = element_of(logical(operand), static_cast<std::size_t>(indices[i]), stored);
      }
    });
    return values;
  }

  /// Reads the operand back as row-major `values`.
  void download(std::size_t operand, address from, std::span<float> values) const override {
    with_stored_number(logical(operand).type, [&]<class T>(T /*tag*/) {
      std::vector<T> stored(tensor_size(operand));
      copy(stored.data(), from, stored.size() * sizeof(T));
      load(operand, stored.data(), values);
    });
  }

 protected:
  /// `stored`: the layout of all operands, or the order of each, in op::reorder's notation. Throws
  /// unsupported for blocked orders.
  template <class Stored>
  tensor_plan(const runtime& device, std::vector<op::operand> logical, const Stored& stored)
      : strided_operands(std::move(logical), stored), device_(&device) {}

  /// The error bound of an exact result that a library may also round before it adds `bias`. cuBLAS
  /// does so where it splits the sums of a product, and some kernels of cuDNN.
  [[nodiscard]] static reference::sum rounded_before_bias(reference::sum exact,
                                                          const op::operand& bias) {
    const double largest = std::max(std::abs(bias.low), std::abs(bias.high));
    ++exact.roundings;
    exact.rounded = std::max(exact.rounded, std::abs(exact.value) + largest);
    return exact;
  }

  /// The error bound of an exact result that is rounded before the post-ops.
  [[nodiscard]] static reference::sum rounded_before_post(reference::sum exact) {
    ++exact.roundings;
    exact.rounded = std::max(exact.rounded, exact.before_post);
    return exact;
  }

  /// The error bound of an exact result in operand `output` whose products in f8_e4m3 add up with
  /// fast accumulation. Then about 14 bits of a partial sum are kept (DeepSeek-V3 Technical Report,
  /// arXiv:2412.19437, 3.3.2, of Hopper). The mean square of partial sums is that of
  /// run::expected_square_error(). One instruction adds 32 products and truncates the sum.
  /// Truncation errors do not cancel, so the error of a long sum grows with the number of
  /// instructions, not with its square root.
  [[nodiscard]] reference::sum fast_accumulated(std::size_t output, reference::sum exact) const {
    return accumulated_in_parts(output, exact, std::max(1.0, static_cast<double>(exact.terms)));
  }

  /// As fast_accumulated(), where the sum of each `part` products is added to one in f32;
  /// CUTLASS adds up 128. The squares of P parts add up to value^2 / P + (1 - 1 / P) squares on
  /// average. Near 0, where this error shows, parts have both signs, so their errors are taken as
  /// independent.
  [[nodiscard]] reference::sum accumulated_in_parts(std::size_t output, reference::sum exact,
                                                    double part = 128) const {
    constexpr double products = 32;
    const auto terms = static_cast<double>(exact.terms);
    const double parts = std::max(1.0, terms / part);
    const double summed = std::min(terms, part);
    const double squares =
        (summed + 1) * (2 * exact.value * exact.value / parts + (3 - 2 / parts) * exact.squares) /
        6;
    const double partial_sums = std::sqrt(squares) * std::max(1.0, std::sqrt(summed) / products);
    exact.rounded_terms = std::ldexp(partial_sums, -14) / unit_roundoff(logical(output).type);
    return exact;
  }

  [[nodiscard]] const runtime& device() const { return *device_; }

 private:
  // As the kernels of verification_kernel_source.hpp have them.
  struct memory_axes {
    std::int64_t extents[8];
    std::int64_t strides[8];
    std::int64_t begin, run, step;
    int count;
  };
  struct drawn_data {
    explicit drawn_data(const run::test_data& data)
        : low(data.low),
          width(data.width),
          scale(data.scale),
          seed(data.seed),
          largest(traits(data.type).largest),
          significand_bits(traits(data.type).significand_bits),
          min_exponent(traits(data.type).min_exponent),
          integral(data.integral ? 1 : 0),
          octaves(data.octaves) {}
    double low, width, scale;
    std::uint64_t seed;
    double largest;
    int significand_bits, min_exponent;
    int integral, octaves;
  };

  /// The least row-major index that a search kernel finds, if any. It gets `arguments`, then the
  /// size, the axes and where to write the index.
  template <class... Arguments>
  [[nodiscard]] std::optional<std::int64_t> search(const char* kernel, std::size_t operand,
                                                   Arguments... arguments) const {
    constexpr std::uint64_t none = ~std::uint64_t{0};
    const std::int64_t size = elements(logical(operand).extents);
    if (size == 0) return std::nullopt;
    std::uint64_t found = none;
    const std::unique_ptr<run::device_memory> on_device = device_->allocate(sizeof found);
    copy(on_device->data(), &found, sizeof found);
    device_->find(dtype::f32, kernel)
        .launch(grid_for(size), arguments..., size, memory_axes_of(operand), on_device->data());
    copy(&found, on_device->data(), sizeof found);
    if (found == none) return std::nullopt;
    return static_cast<std::int64_t>(found);
  }

  [[nodiscard]] int stored_type_of(std::size_t operand) const {
    switch (logical(operand).type) {
      case dtype::f32:
      case dtype::tf32: return 0;
      case dtype::bf16: return 1;
      case dtype::f16: return 2;
      case dtype::f8_e4m3: return 3;
      case dtype::s8: return 4;
      default: throw unsupported(fmt::format("no kernel draws {}", name(logical(operand).type)));
    }
  }

  /// Adjacent axes that memory has in row-major order are joined, since the kernels divide by each
  /// extent.
  [[nodiscard]] memory_axes memory_axes_of(std::size_t operand) const {
    const dims& extents = logical(operand).extents;
    const dims row_major = op::strides(extents, op::plain_order(extents));
    const dims& in_memory = strides_of(operand);
    std::vector<std::size_t> order;
    for (std::size_t axis = 0; axis < extents.size(); ++axis) {
      if (extents[axis] > 1) order.push_back(axis);
    }
    std::ranges::sort(order, std::greater(), [&](std::size_t axis) { return in_memory[axis]; });
    memory_axes result{};
    result.run = std::max<std::int64_t>(elements(extents), 1);
    if (is_part(operand)) {
      const op::operand& part = logical(operand);
      result.begin = part.place(0);
      result.run /= extents.front();
      result.step = elements(part.kept_in) / extents.front();
    }
    for (const std::size_t axis : order) {
      const auto last = static_cast<std::size_t>(result.count - 1);
      if (result.count > 0 && result.strides[last] == extents[axis] * row_major[axis]) {
        result.extents[last] *= extents[axis];
        result.strides[last] = row_major[axis];
        continue;
      }
      if (result.count == 8) throw unsupported("a tensor of more than 8 axes");
      result.extents[last + 1] = extents[axis];
      result.strides[last + 1] = row_major[axis];
      ++result.count;
    }
    return result;
  }

  /// Copies between host and device memory after all enqueued work, and waits.
  void copy(void* to, const void* from, std::size_t bytes) const {
    device_->copy(to, from, bytes);
    device_->synchronize();
  }

  const runtime* device_;
};

using call_plan = layerbench::call_plan<tensor_plan>;

/// The plan of an op by layerbench's kernels alone, on any GPU; specialised for the ops that have
/// one. A backend without such an op derives its plan from it.
template <class Op>
class own_plan;

}  // namespace layerbench::gpu
