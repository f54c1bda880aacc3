// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <layerbench/backend/kernels/gpu/runtime.hpp>
#include <layerbench/backend/plan.hpp>
#include <layerbench/op/test_data.hpp>

namespace layerbench::gpu {

/// Learned parameters of a normalization, and their gradients.
enum class parameter { scale, bias, diff_scale, diff_bias };

/// Device memory for parameters that an op lacks but a library requires: a scale of 1, a bias of 0,
/// and gradients that are discarded.
class unlearned_parameters {
 public:
  unlearned_parameters(const runtime& device, std::int64_t channels)
      : bytes_(rounded_up(static_cast<std::size_t>(channels) * sizeof(float), alignment)),
        memory_(device.allocate(count * bytes_)) {
    std::vector<float> values(count * bytes_ / sizeof(float), 0.0F);
    std::fill_n(values.begin(), channels, 1.0F);
    device.copy(memory_->data(), values.data(), count * bytes_);
    device.synchronize();
  }
  [[nodiscard]] address at(parameter which) const {
    return static_cast<std::byte*>(memory_->data()) + static_cast<std::size_t>(which) * bytes_;
  }

 private:
  static constexpr std::size_t count = 4;
  static constexpr std::size_t alignment = 16;  ///< of tensors in operation graphs

  std::size_t bytes_;  ///< of each parameter
  std::unique_ptr<run::device_memory> memory_;
};

/// Base class of plans of normalizations. In training libraries save the inverse standard deviation
/// (variance + epsilon)^(-1/2) where the op has the variance: the functions that read and write
/// operands convert between them.
template <class Base>
class normalization_plan : public Base {
 public:
  void upload(std::size_t operand, std::span<const float> values, address to) const override {
    if (operand != inverse_deviation_) return Base::upload(operand, values, to);
    std::vector<float> inverses;
    for (const float variance : values) {
      inverses.push_back(static_cast<float>(1 / std::sqrt(variance + epsilon_)));
    }
    Base::upload(operand, inverses, to);
  }
  void download(std::size_t operand, address from, std::span<float> values) const override {
    Base::download(operand, from, values);
    if (operand == inverse_deviation_) convert_to_variances(values);
  }
  void draw(std::size_t operand, const run::test_data& data, address to) const override {
    if (operand != inverse_deviation_) return Base::draw(operand, data, to);
    upload(operand, run::random_values(data), to);
  }
  [[nodiscard]] std::optional<std::int64_t> first_non_finite(std::size_t operand,
                                                             address from) const override {
    if (operand != inverse_deviation_) return Base::first_non_finite(operand, from);
    return run::first_non_finite(this->downloaded(operand, from));
  }
  [[nodiscard]] std::vector<float> gather(std::size_t operand, address from,
                                          std::span<const std::int64_t> indices) const override {
    std::vector<float> values = Base::gather(operand, from, indices);
    if (operand == inverse_deviation_) convert_to_variances(values);
    return values;
  }

  /// Error bound of a variance that is computed back from a stored inverse deviation. Squaring
  /// doubles its relative error. CUDA's rsqrtf has errors of up to two units in the last place, as
  /// four roundings; one more is the addition of epsilon.
  [[nodiscard]] reference::sum as_stored(std::size_t operand, reference::sum exact) const override {
    if (operand != inverse_deviation_) return exact;
    exact.rounded = 2 * (exact.value + epsilon_);
    exact.roundings = 5;
    return exact;
  }

 protected:
  /// `arguments`: of the base class.
  template <class... Arguments>
  normalization_plan(op::pass pass, double epsilon, Arguments&&... arguments)
      : Base(std::forward<Arguments>(arguments)...), epsilon_(epsilon) {
    if (pass == op::pass::fwd) return;
    const auto& all = this->operands();
    const auto found = std::ranges::find(
        all, "variance", [](const plan_operand& operand) { return operand.logical.name; });
    inverse_deviation_ = static_cast<std::size_t>(found - all.begin());
  }

  [[nodiscard]] double epsilon() const { return epsilon_; }

 private:
  void convert_to_variances(std::span<float> inverse_deviations) const {
    for (float& value : inverse_deviations) {
      const double inverse = value;
      value = static_cast<float>(1 / (inverse * inverse) - epsilon_);
    }
  }

  double epsilon_;
  std::optional<std::size_t> inverse_deviation_;  ///< operand that is the variance in the op
};

}  // namespace layerbench::gpu
