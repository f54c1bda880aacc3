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

/// Updates are kernels of the suite's own: the library has none. Tensors of an op share launches,
/// as many as its parameters have room for, so that those of a ResNet-50 take three.
template <>
class plan<cudnn::backend, op::update> : public cudnn::legacy_plan {
 public:
  plan(cudnn::backend& device, const op::update& o, const plan_request& request)
      : legacy_plan(device, o.operands(request.pass, request.type), request, function_of(o.rule)),
        o_(o) {
    const dtype type = o.wide ? dtype::f32 : request.type;
    static_cast<void>(cuda::number_source(type));  // throws where there is no such kernel
    if (o.rule == op::update_rule::zero) return;
    constexpr std::string_view prefix = "nvrtc_";
    kernel_ = device.kernels().find(type, function_of(o.rule).data() + prefix.size());
  }

  struct tensor {
    std::int64_t size;
    std::array<address, 8> at;  ///< operands in the op's order
  };
  using binding = std::vector<std::array<tensor, 56>>;  ///< a launch each

  [[nodiscard]] binding bind(std::span<const address> places, address /*workspace*/) const {
    binding bound((o_.sizes.size() + a_launch - 1) / a_launch);
    place(bound, places);
    return bound;
  }

  void place(binding& bound, std::span<const address> places) const {
    const std::size_t a_tensor = places.size() / o_.sizes.size();
    for (std::size_t i = 0; i < o_.sizes.size(); ++i) {
      tensor& to = bound[i / a_launch][i % a_launch];
      to.size = o_.sizes[i];
      std::ranges::copy(places.subspan(i * a_tensor, a_tensor), to.at.begin());
    }
  }

  void run(const binding& bound) const {
    std::size_t left = o_.sizes.size();
    for (const auto& tensors : bound) {
      const std::span some = std::span(tensors).first(std::min(left, a_launch));
      if (kernel_) {
        const std::int64_t largest = std::ranges::max(some, {}, &tensor::size).size;
        kernel_->launch(stream(),
                        cuda::grid_for((largest + 3) / 4, static_cast<std::int64_t>(some.size())),
                        tensors, rates_);
      } else {
        zero(some);
      }
      left -= some.size();
    }
  }

 private:
  static constexpr std::size_t a_launch = std::tuple_size_v<binding::value_type>;

  /// What the kernels take beside the tensors.
  struct rates {
    float rate, first_moment, of_gradient, second_moment, of_square, decay, epsilon;
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
      cuda::check(
          cudaMemsetAsync(item.at[0], 0, static_cast<std::size_t>(item.size) * element, stream()),
          "cudaMemsetAsync");
    }
  }

  op::update o_;
  rates rates_{static_cast<float>(o_.rate),
               static_cast<float>(op::update::first_moment),
               static_cast<float>(1 - op::update::first_moment),
               static_cast<float>(op::update::second_moment),
               static_cast<float>(1 - op::update::second_moment),
               static_cast<float>(op::update::decay),
               static_cast<float>(op::update::epsilon)};
  std::optional<cuda::kernel> kernel_;  ///< all rules but zero
};

static_assert(implements<cudnn::backend, op::update>);

}  // namespace layerbench
