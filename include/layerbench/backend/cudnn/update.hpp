// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <layerbench/backend/cudnn/legacy_api.hpp>
#include <layerbench/op/update.hpp>

namespace layerbench {

/// Weight updates by layerbench kernels, because cuDNN has none. One launch updates as many tensors
/// as fit into its parameters (56), so that those of ResNet-50 need three launches.
template <>
class plan<cudnn::backend, op::update> : public cudnn::direct_plan {
 public:
  plan(cudnn::backend& device, const op::update& o, const plan_request& request)
      : direct_plan(device, o.operands(request.pass, request.type), request, function_of(o.rule)),
        o_(o) {
    const dtype type = o.wide ? dtype::f32 : request.type;
    static_cast<void>(cuda::number_source(type));  // throws unsupported without kernels in the type
    if (o.rule == op::update_rule::zero) return;
    constexpr std::string_view prefix = "nvrtc_";
    kernel_ = device.kernels().find(type, function_of(o.rule).data() + prefix.size());
  }

  struct tensor {
    std::int64_t size;
    std::array<address, 8> operands;  ///< in the op's order
  };
  using binding = std::vector<std::array<tensor, 56>>;  ///< one array per launch

  [[nodiscard]] binding bind(std::span<const address> addresses, address /*workspace*/) const {
    binding bound((o_.sizes.size() + tensors_per_launch - 1) / tensors_per_launch);
    place(bound, addresses);
    return bound;
  }

  void place(binding& bound, std::span<const address> addresses) const {
    const std::size_t operands_per_tensor = addresses.size() / o_.sizes.size();
    for (std::size_t i = 0; i < o_.sizes.size(); ++i) {
      tensor& target = bound[i / tensors_per_launch][i % tensors_per_launch];
      target.size = o_.sizes[i];
      std::ranges::copy(addresses.subspan(i * operands_per_tensor, operands_per_tensor),
                        target.operands.begin());
    }
  }

  void run(const binding& bound) const {
    std::size_t left = o_.sizes.size();
    for (const auto& tensors : bound) {
      const std::span launched = std::span(tensors).first(std::min(left, tensors_per_launch));
      if (kernel_) {
        const std::int64_t largest = std::ranges::max(launched, {}, &tensor::size).size;
        kernel_->launch(
            stream(), cuda::grid_for((largest + 3) / 4, static_cast<std::int64_t>(launched.size())),
            tensors, rates_);
      } else {
        zero(launched);
      }
      left -= launched.size();
    }
  }

 private:
  static constexpr std::size_t tensors_per_launch = std::tuple_size_v<binding::value_type>;

  /// update_rates of the kernels.
  struct rates {
    float rate, beta1, one_minus_beta1, beta2, one_minus_beta2, decay, epsilon;
  };

  static std::string_view function_of(op::update_rule rule) {
    switch (rule) {
      case op::update_rule::sgd: return "nvrtc_update_sgd";
      case op::update_rule::momentum: return "nvrtc_update_momentum";
      case op::update_rule::adam: return "nvrtc_update_adam";
      case op::update_rule::accumulate: return "nvrtc_update_accumulate";
      default: return "cudaMemsetAsync";
    }
  }

  void zero(std::span<const tensor> tensors) const {
    const std::size_t element = traits(logical(0).type).bytes;
    for (const tensor& item : tensors) {
      cuda::check(cudaMemsetAsync(item.operands[0], 0,
                                  static_cast<std::size_t>(item.size) * element, stream()),
                  "cudaMemsetAsync");
    }
  }

  op::update o_;
  rates rates_{static_cast<float>(o_.rate),
               static_cast<float>(op::update::beta1),
               static_cast<float>(1 - op::update::beta1),
               static_cast<float>(op::update::beta2),
               static_cast<float>(1 - op::update::beta2),
               static_cast<float>(op::update::decay),
               static_cast<float>(op::update::epsilon)};
  std::optional<cuda::kernel> kernel_;  ///< empty for update_rule::zero
};

static_assert(implements<cudnn::backend, op::update>);

}  // namespace layerbench
