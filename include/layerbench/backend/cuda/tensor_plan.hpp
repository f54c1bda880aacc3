// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <cuda_runtime_api.h>

#include <fmt/format.h>

#include <layerbench/backend/backend.hpp>
#include <layerbench/backend/cuda/backend.hpp>
#include <layerbench/backend/cuda/kernels.hpp>
#include <layerbench/backend/number_types.hpp>
#include <layerbench/op/reorder.hpp>
#include <layerbench/op/test_data.hpp>

namespace layerbench::cuda {

/// Strides in elements: images n*c*h*w in `order`, channels-last for layout::any; other tensors
/// row-major.
[[nodiscard]] inline dims strides(const dims& extents, layout order) {
  if (extents.size() == 4 && order != layout::nchw) {
    const std::int64_t c = extents[1];
    const std::int64_t w = extents[3];
    return {c * extents[2] * w, 1, w * c, c};
  }
  return op::strides(extents, op::plain_order(extents));
}

/// Strides in elements of a tensor in `order`, in op::reorder's notation. Throws unsupported if the
/// order is blocked.
[[nodiscard]] inline dims strides(const dims& extents, std::string_view order) {
  if (order.size() != extents.size() || !op::is_permutation(order)) {
    throw unsupported(fmt::format("layerbench has no blocked orders, such as {}, on GPUs", order));
  }
  return op::strides(extents, order);
}

/// `bytes` of scratch memory, rounded up so that what follows is aligned as by cudaMalloc().
[[nodiscard]] constexpr std::size_t aligned_bytes(std::size_t bytes) {
  constexpr std::size_t alignment = 256;
  return (bytes + alignment - 1) / alignment * alignment;
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
  device_number(float value, cudaStream_t target) {
    check(cudaMemcpyAsync(memory_.data(), &value, sizeof value, cudaMemcpyDefault, target),
          "cudaMemcpyAsync");
    check(cudaStreamSynchronize(target), "cudaStreamSynchronize");
  }
  [[nodiscard]] address at() const { return memory_.data(); }

 private:
  buffer memory_{sizeof(float)};
};

/// Base class of the plans on NVIDIA GPUs: operands in device memory, in the requested order and
/// without padding.
class tensor_plan : public run::any_plan {
 public:
  [[nodiscard]] const std::vector<plan_operand>& operands() const override { return operands_; }

  /// Stores row-major `values` in the operand's type and order.
  void upload(std::size_t operand, std::span<const float> values, address to) const override {
    const double scale = operands_[operand].logical.scale;
    with_stored_number(operands_[operand].logical.type, [&]<class T>(T /*tag*/) {
      std::vector<T> stored = stored_elements<T>(operand);
      if (is_part(operand)) copy(stored.data(), to, stored.size() * sizeof(T));
      for_each_element(operand, [&](std::size_t logical, std::size_t offset) {
        stored[offset] = stored_as<T>(values[logical], scale);
      });
      copy(to, stored.data(), stored.size() * sizeof(T));
    });
  }

  /// By a kernel that is only enqueued.
  void draw(std::size_t operand, const run::test_data& data, address to) const override {
    if (data.size() == 0) return;
    const auto size = static_cast<std::int64_t>(data.size());
    kernels_->find(dtype::f32, "draw")
        .launch(stream_, grid_for(size), to, stored_type_of(operand), logical(operand).scale, size,
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
        values[i] = element_of(stored, logical(operand).scale);
      }
    });
    return values;
  }

  /// Reads the operand back as row-major `values`.
  void download(std::size_t operand, address from, std::span<float> values) const override {
    const double scale = operands_[operand].logical.scale;
    with_stored_number(operands_[operand].logical.type, [&]<class T>(T /*tag*/) {
      std::vector<T> stored = stored_elements<T>(operand);
      copy(stored.data(), from, stored.size() * sizeof(T));
      for_each_element(operand, [&](std::size_t logical, std::size_t offset) {
        values[logical] = element_of(stored[offset], scale);
      });
    });
  }

 protected:
  tensor_plan(const backend& device, std::vector<op::operand> logical, layout order)
      : stream_(device.stream()), kernels_(&device.kernels()) {
    for (op::operand& operand : logical) {
      const bool channels_last = operand.extents.size() == 4 && order != layout::nchw;
      const std::string text = channels_last ? "acdb" : op::plain_order(operand.extents);
      dims operand_strides = strides(operand.extents, order);
      add(std::move(operand), text, std::move(operand_strides));
    }
  }

  /// `orders`: one per operand, in op::reorder's notation. Throws unsupported for blocked orders.
  tensor_plan(const backend& device, std::vector<op::operand> logical,
              const std::vector<std::string>& orders)
      : stream_(device.stream()), kernels_(&device.kernels()) {
    for (std::size_t i = 0; i < logical.size(); ++i) {
      dims operand_strides = strides(logical[i].extents, std::string_view(orders.at(i)));
      add(std::move(logical[i]), orders[i], std::move(operand_strides));
    }
  }

  /// Gives an opaque operand its bytes.
  void set_bytes(std::size_t operand, std::size_t bytes) { operands_[operand].bytes = bytes; }

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

  [[nodiscard]] const op::operand& logical(std::size_t operand) const {
    return operands_[operand].logical;
  }
  [[nodiscard]] const dims& strides_of(std::size_t operand) const { return strides_[operand]; }
  [[nodiscard]] cudaStream_t stream() const { return stream_; }

 private:
  // As the kernels of draw_kernel_source.hpp have them.
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
          integral(data.integral ? 1 : 0) {}
    double low, width, scale;
    std::uint64_t seed;
    double largest;
    int significand_bits, min_exponent;
    int integral;
  };

  /// What a kernel with these arguments, and with those that all such kernels have, finds first.
  template <class... Arguments>
  [[nodiscard]] std::optional<std::int64_t> search(const char* kernel, std::size_t operand,
                                                   Arguments... arguments) const {
    constexpr std::uint64_t none = ~std::uint64_t{0};
    const std::int64_t size = elements(logical(operand).extents);
    if (size == 0) return std::nullopt;
    std::uint64_t found = none;
    const buffer on_device(sizeof found);
    copy(on_device.data(), &found, sizeof found);
    kernels_->find(dtype::f32, kernel)
        .launch(stream_, grid_for(size), arguments..., size, memory_axes_of(operand),
                on_device.data());
    copy(&found, on_device.data(), sizeof found);
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

  /// Position in memory of the element with a row-major index.
  [[nodiscard]] std::int64_t offset_of(std::size_t operand, std::int64_t index) const {
    if (is_part(operand)) return logical(operand).place(index);
    const dims& extents = logical(operand).extents;
    std::int64_t offset = 0;
    for (std::size_t axis = extents.size(); axis-- > 0;) {
      offset += index % extents[axis] * strides_of(operand)[axis];
      index /= extents[axis];
    }
    return offset;
  }

  /// Whether the operand is a part of a tensor, which lies in row-major order.
  [[nodiscard]] bool is_part(std::size_t operand) const {
    return !logical(operand).kept_in.empty();
  }
  /// Room for all that lies in the operand's memory.
  template <class T>
  [[nodiscard]] std::vector<T> stored_elements(std::size_t operand) const {
    return std::vector<T>(static_cast<std::size_t>(elements(logical(operand).tensor())));
  }

  void add(op::operand logical, const std::string& order, dims operand_strides) {
    std::string text = op::canonical_order(logical.extents, order);
    const auto bytes =
        static_cast<std::size_t>(elements(logical.tensor())) * traits(logical.type).bytes;
    operands_.push_back({std::move(logical), std::move(text), bytes});
    strides_.push_back(std::move(operand_strides));
  }

  /// Calls `visit(row-major index, offset in memory)` for each element; both count elements.
  template <class Visit>
  void for_each_element(std::size_t operand, const Visit& visit) const {
    const dims& extents = logical(operand).extents;
    const dims& operand_strides = strides_of(operand);
    dims index(extents.size(), 0);
    const auto count = static_cast<std::size_t>(elements(extents));
    const bool part = is_part(operand);
    std::int64_t offset = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const std::int64_t place =
          part ? logical(operand).place(static_cast<std::int64_t>(i)) : offset;
      visit(i, static_cast<std::size_t>(place));
      for (std::size_t axis = extents.size(); axis-- > 0;) {
        offset += operand_strides[axis];
        if (++index[axis] < extents[axis]) break;
        offset -= index[axis] * operand_strides[axis];
        index[axis] = 0;
      }
    }
  }

  /// Copies between host and device memory after all enqueued work, and waits.
  void copy(void* to, const void* from, std::size_t bytes) const {
    check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream_), "cudaMemcpyAsync");
    check(cudaStreamSynchronize(stream_), "cudaStreamSynchronize");
  }

  cudaStream_t stream_;
  cuda::kernels* kernels_;
  std::vector<plan_operand> operands_;
  std::vector<dims> strides_;
};

}  // namespace layerbench::cuda
