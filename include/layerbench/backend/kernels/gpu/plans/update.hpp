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
#include <vector>

#include <layerbench/backend/kernels/gpu/tensor_plan.hpp>
#include <layerbench/op/update.hpp>

namespace layerbench::gpu {

/// Weight updates by layerbench kernels, because libraries have none. One launch updates as many
/// tensors as fit into its parameters (52), so that those of ResNet-50 need four launches. Large
/// tensors get more blocks than small ones.
template <>
class own_plan<op::update> : public call_plan {
 public:
  own_plan(const runtime& device, const op::update& o, const plan_request& request)
      : call_plan(algorithm_of(device, o.rule), device, o.operands(request.pass, request.type),
                  request.layout),
        o_(o) {
    const dtype type = o.wide ? dtype::f32 : request.type;
    static_cast<void>(number_source(type));  // throws unsupported without kernels in the type
    if (o.rule == op::update_rule::zero) return;
    kernel_ = device.find(type, kernel_of(o.rule));
  }

  struct tensor {
    std::int64_t size;
    std::array<address, 8> operands;  ///< in the op's order
  };
  static constexpr std::size_t tensors_per_launch = 52;
  /// update_tensors of the kernels.
  struct launch {
    std::array<tensor, tensors_per_launch> tensors;
    std::array<unsigned, tensors_per_launch + 1> first_blocks;
  };
  using binding = std::vector<launch>;

  [[nodiscard]] binding bind(std::span<const address> addresses, address /*workspace*/) const {
    binding bound(ceil_div(o_.sizes.size(), tensors_per_launch));
    place(bound, addresses);
    return bound;
  }

  void place(binding& bound, std::span<const address> addresses) const {
    const std::size_t operands_per_tensor = addresses.size() / o_.sizes.size();
    for (std::size_t i = 0; i < o_.sizes.size(); ++i) {
      tensor& target = bound[i / tensors_per_launch].tensors[i % tensors_per_launch];
      target.size = o_.sizes[i];
      std::ranges::copy(addresses.subspan(i * operands_per_tensor, operands_per_tensor),
                        target.operands.begin());
    }
    for (launch& one : bound) {
      one.first_blocks[0] = 0;
      for (std::size_t i = 0; i < tensors_per_launch; ++i) {
        const std::int64_t blocks = ceil_div(one.tensors[i].size, chunk);
        one.first_blocks[i + 1] = one.first_blocks[i] + static_cast<unsigned>(blocks);
      }
    }
  }

  void run(const binding& bound) const {
    std::size_t left = o_.sizes.size();
    for (const launch& one : bound) {
      if (kernel_) {
        constexpr unsigned threads = 256;
        kernel_->launch({one.first_blocks.back(), threads}, one, rates_);
      } else {
        zero(std::span(one.tensors).first(std::min(left, tensors_per_launch)));
      }
      left -= std::min(left, tensors_per_launch);
    }
  }

 private:
  static constexpr std::int64_t chunk = 16384;  ///< update_chunk of the kernels: elements per block

  /// update_rates of the kernels.
  struct rates {
    float rate, beta1, one_minus_beta1, beta2, one_minus_beta2, decay, epsilon;
  };

  /// nullptr for update_rule::zero.
  static const char* kernel_of(op::update_rule rule) {
    switch (rule) {
      case op::update_rule::sgd: return "update_sgd";
      case op::update_rule::momentum: return "update_momentum";
      case op::update_rule::adam: return "update_adam";
      case op::update_rule::accumulate: return "update_accumulate";
      default: return nullptr;
    }
  }
  static std::string algorithm_of(const runtime& device, op::update_rule rule) {
    const char* const kernel = kernel_of(rule);
    return kernel == nullptr ? std::string(device.fill_call())
                             : std::string("layerbench:") + kernel;
  }

  void zero(std::span<const tensor> tensors) const {
    const std::size_t element = traits(logical(0).type).bytes;
    for (const tensor& item : tensors) {
      device().fill(item.operands[0], static_cast<std::size_t>(item.size) * element, std::byte{0});
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
  std::optional<kernel> kernel_;  ///< empty for update_rule::zero
};

}  // namespace layerbench::gpu
