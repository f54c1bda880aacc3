// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include <cudnn.h>

#include "host_cudnn.hpp"

/// As host_cudnn.hpp, of functions that see images: windows, channels, pixels.

namespace {

/// Calls `visit(place in the image)` for the taps on the image of the window of an output; returns
/// by what an average is divided.
template <class Visit>
double host_for_window(const cudnnPoolingStruct& how, const host_place& image,
                       const host_place& output, const Visit& visit) {
  int taps = 0;
  for (std::int64_t r = 0; r < how.r; ++r) {
    for (std::int64_t s = 0; s < how.s; ++s) {
      const host_place at{output[0], output[1], output[2] * how.v - how.top + r,
                          output[3] * how.h - how.left + s};
      if (at[2] < 0 || at[2] >= image[2] || at[3] < 0 || at[3] >= image[3]) continue;
      visit(at);
      ++taps;
    }
  }
  const bool all = how.mode == CUDNN_POOLING_AVERAGE_COUNT_INCLUDE_PADDING;
  return all ? static_cast<double>(how.r * how.s) : taps;
}

/// Sums `term(place)` over what belongs to a channel.
template <class Term>
double host_over_channel(host_place sizes, std::int64_t channel, const Term& term) {
  double sum = 0;
  sizes[1] = 1;
  host_for_each(sizes, [&](host_place at) {
    at[1] = channel;
    sum += term(at);
  });
  return sum;
}

/// Calls `visit(place)` for the channels around one.
template <class Visit>
void host_for_channels(const cudnnLRNStruct& how, const host_tensor& x, host_place at,
                       const Visit& visit) {
  const std::int64_t channel = at[1];
  const std::int64_t end = std::min(channel + how.size / 2 + 1, x.how.sizes[1]);
  for (at[1] = std::max<std::int64_t>(channel - how.size / 2, 0); at[1] < end; ++at[1]) visit(at);
}
/// What is raised to -beta.
double host_lrn_base(const cudnnLRNStruct& how, const host_tensor& x, const host_place& at) {
  double squares = 0;
  host_for_channels(how, x, at, [&](const auto& tap) { squares += x.get(tap) * x.get(tap); });
  return how.k + how.alpha / static_cast<double>(how.size) * squares;
}

/// Scratch memory that batch normalisation asks for, and memory that its passes are to share.
constexpr std::size_t host_batchnorm_scratch = 128;
std::size_t host_batchnorm_reserve = 0;
/// Its only mode is the faster one.
cudnnStatus_t host_batchnorm_size(cudnnBatchNormMode_t mode, std::size_t size, std::size_t* bytes) {
  *bytes = size;
  return mode == CUDNN_BATCHNORM_SPATIAL_PERSISTENT ? CUDNN_STATUS_SUCCESS
                                                    : CUDNN_STATUS_NOT_SUPPORTED;
}
/// Whether it got what it asked for; it leaves numbers in the scratch memory.
bool host_batchnorm_uses(cudnnBatchNormMode_t mode, cudnnBatchNormOps_t ops, void* scratch,
                         std::size_t bytes) {
  if (mode != CUDNN_BATCHNORM_SPATIAL_PERSISTENT || ops != CUDNN_BATCHNORM_OPS_BN ||
      scratch == nullptr || bytes < host_batchnorm_scratch) {
    return false;
  }
  std::memset(scratch, 0x3F, host_batchnorm_scratch);
  return true;
}

}  // namespace

extern "C" {

cudnnStatus_t cudnnCreatePoolingDescriptor(cudnnPoolingDescriptor_t* created) {
  return host_new(created);
}
cudnnStatus_t cudnnDestroyPoolingDescriptor(cudnnPoolingDescriptor_t raw) {
  return host_delete(raw);
}
cudnnStatus_t cudnnSetPooling2dDescriptor(cudnnPoolingDescriptor_t raw, cudnnPoolingMode_t mode,
                                          cudnnNanPropagation_t /*nan*/, int r, int s, int top,
                                          int left, int v, int h) {
  *raw = {mode, r, s, top, left, v, h};
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnPoolingForward(cudnnHandle_t /*handle*/, const cudnnPoolingDescriptor_t how,
                                  const void* alpha, const cudnnTensorDescriptor_t x_of,
                                  const void* x_at, const void* beta,
                                  const cudnnTensorDescriptor_t y_of, void* y_at) {
  const host_tensor x(*x_of, x_at);
  const host_tensor y(*y_of, y_at);
  return host_compute(host_overwrites(alpha, beta), [window = *how, x, y] {
    host_for_each(y.how.sizes, [&](const auto& at) {
      double most = -HUGE_VAL;
      double sum = 0;
      const double count = host_for_window(window, x.how.sizes, at, [&](const auto& tap) {
        most = std::max(most, x.get(tap));
        sum += x.get(tap);
      });
      y.set(at, window.mode == CUDNN_POOLING_MAX ? most : sum / count);
    });
  });
}
/// Of averages.
cudnnStatus_t cudnnPoolingBackward(cudnnHandle_t /*handle*/, const cudnnPoolingDescriptor_t how,
                                   const void* alpha, const cudnnTensorDescriptor_t /*y_of*/,
                                   const void* /*y*/, const cudnnTensorDescriptor_t dy_of,
                                   const void* dy_at, const cudnnTensorDescriptor_t /*x_of*/,
                                   const void* /*x*/, const void* beta,
                                   const cudnnTensorDescriptor_t dx_of, void* dx_at) {
  const host_tensor dy(*dy_of, dy_at);
  const host_tensor dx(*dx_of, dx_at);
  const bool known = host_overwrites(alpha, beta) && how->mode != CUDNN_POOLING_MAX;
  return host_compute(known, [window = *how, dy, dx] {
    const auto& sizes = dx.how.sizes;
    const auto flat = [&](const host_place& at) {
      const std::int64_t line = (at[0] * sizes[1] + at[1]) * sizes[2] + at[2];
      return static_cast<std::size_t>(line * sizes[3] + at[3]);
    };
    std::vector<double> sums(flat({sizes[0], 0, 0, 0}));
    host_for_each(dy.how.sizes, [&](const auto& at) {
      const auto nothing = [](const auto&) {};
      const double count = host_for_window(window, sizes, at, nothing);
      host_for_window(window, sizes, at,
                      [&](const auto& tap) { sums[flat(tap)] += dy.get(at) / count; });
    });
    host_for_each(sizes, [&](const auto& at) { dx.set(at, sums[flat(at)]); });
  });
}

/// Along channels.
cudnnStatus_t cudnnSoftmaxForward(cudnnHandle_t /*handle*/, cudnnSoftmaxAlgorithm_t /*algo*/,
                                  cudnnSoftmaxMode_t mode, const void* alpha,
                                  const cudnnTensorDescriptor_t x_of, const void* x_at,
                                  const void* beta, const cudnnTensorDescriptor_t y_of,
                                  void* y_at) {
  const host_tensor x(*x_of, x_at);
  const host_tensor y(*y_of, y_at);
  const bool known = host_overwrites(alpha, beta) && mode == CUDNN_SOFTMAX_MODE_CHANNEL;
  return host_compute(known, [x, y] {
    host_place outer = x.how.sizes;
    const std::int64_t channels = std::exchange(outer[1], 1);
    host_for_each(outer, [&](host_place at) {
      std::vector<double> powers;
      double most = -HUGE_VAL;
      double sum = 0;
      for (at[1] = 0; at[1] < channels; ++at[1]) most = std::max(most, x.get(at));
      for (at[1] = 0; at[1] < channels; ++at[1]) {
        powers.push_back(std::exp(x.get(at) - most));
        sum += powers.back();
      }
      for (at[1] = 0; at[1] < channels; ++at[1]) {
        y.set(at, powers[static_cast<std::size_t>(at[1])] / sum);
      }
    });
  });
}
cudnnStatus_t cudnnSoftmaxBackward(cudnnHandle_t /*handle*/, cudnnSoftmaxAlgorithm_t /*algo*/,
                                   cudnnSoftmaxMode_t mode, const void* alpha,
                                   const cudnnTensorDescriptor_t y_of, const void* y_at,
                                   const cudnnTensorDescriptor_t dy_of, const void* dy_at,
                                   const void* beta, const cudnnTensorDescriptor_t dx_of,
                                   void* dx_at) {
  const host_tensor y(*y_of, y_at);
  const host_tensor dy(*dy_of, dy_at);
  const host_tensor dx(*dx_of, dx_at);
  const bool known = host_overwrites(alpha, beta) && mode == CUDNN_SOFTMAX_MODE_CHANNEL;
  return host_compute(known, [y, dy, dx] {
    host_place outer = y.how.sizes;
    const std::int64_t channels = std::exchange(outer[1], 1);
    host_for_each(outer, [&](host_place at) {
      double sum = 0;
      for (at[1] = 0; at[1] < channels; ++at[1]) sum += y.get(at) * dy.get(at);
      for (at[1] = 0; at[1] < channels; ++at[1]) dx.set(at, y.get(at) * (dy.get(at) - sum));
    });
  });
}

cudnnStatus_t cudnnGetBatchNormalizationForwardTrainingExWorkspaceSize(
    cudnnHandle_t /*handle*/, cudnnBatchNormMode_t mode, cudnnBatchNormOps_t /*ops*/,
    const cudnnTensorDescriptor_t /*x*/, const cudnnTensorDescriptor_t /*z*/,
    const cudnnTensorDescriptor_t /*y*/, const cudnnTensorDescriptor_t /*channels*/,
    const cudnnActivationDescriptor_t /*activation*/, std::size_t* bytes) {
  return host_batchnorm_size(mode, host_batchnorm_scratch, bytes);
}
cudnnStatus_t cudnnGetBatchNormalizationBackwardExWorkspaceSize(
    cudnnHandle_t /*handle*/, cudnnBatchNormMode_t mode, cudnnBatchNormOps_t /*ops*/,
    const cudnnTensorDescriptor_t /*x*/, const cudnnTensorDescriptor_t /*y*/,
    const cudnnTensorDescriptor_t /*dy*/, const cudnnTensorDescriptor_t /*dz*/,
    const cudnnTensorDescriptor_t /*dx*/, const cudnnTensorDescriptor_t /*channels*/,
    const cudnnActivationDescriptor_t /*activation*/, std::size_t* bytes) {
  return host_batchnorm_size(mode, host_batchnorm_scratch, bytes);
}
cudnnStatus_t cudnnGetBatchNormalizationTrainingExReserveSpaceSize(
    cudnnHandle_t /*handle*/, cudnnBatchNormMode_t mode, cudnnBatchNormOps_t /*ops*/,
    const cudnnActivationDescriptor_t /*activation*/, const cudnnTensorDescriptor_t /*x*/,
    std::size_t* bytes) {
  return host_batchnorm_size(mode, host_batchnorm_reserve, bytes);
}
cudnnStatus_t cudnnBatchNormalizationForwardTrainingEx(
    cudnnHandle_t /*handle*/, cudnnBatchNormMode_t mode, cudnnBatchNormOps_t ops, const void* alpha,
    const void* beta, const cudnnTensorDescriptor_t x_of, const void* x_at,
    const cudnnTensorDescriptor_t /*z_of*/, const void* /*z_at*/,
    const cudnnTensorDescriptor_t y_of, void* y_at, const cudnnTensorDescriptor_t channels_of,
    const void* scale_at, const void* shift_at, double factor, void* running_mean_at,
    void* running_variance_at, double epsilon, void* mean_at, void* inverse_at,
    cudnnActivationDescriptor_t /*activation*/, void* scratch, std::size_t scratch_bytes,
    void* /*reserve*/, std::size_t /*reserve_bytes*/) {
  if (!host_batchnorm_uses(mode, ops, scratch, scratch_bytes)) return CUDNN_STATUS_BAD_PARAM;
  const host_tensor x(*x_of, x_at);
  const host_tensor y(*y_of, y_at);
  const host_tensor scale(*channels_of, scale_at);
  const host_tensor shift(*channels_of, shift_at);
  const host_tensor running_mean(*channels_of, running_mean_at);
  const host_tensor running_variance(*channels_of, running_variance_at);
  const host_tensor mean(*channels_of, mean_at);
  const host_tensor inverse(*channels_of, inverse_at);
  return host_compute(host_overwrites(alpha, beta), [=] {
    const host_place& sizes = x.how.sizes;
    const auto count = static_cast<double>(sizes[0] * sizes[2] * sizes[3]);
    for (std::int64_t channel = 0; channel < sizes[1]; ++channel) {
      const auto value = [&](const host_place& at) { return x.get(at); };
      const double average = host_over_channel(sizes, channel, value) / count;
      const auto square = [&](const host_place& at) { return std::pow(x.get(at) - average, 2); };
      const double variance = host_over_channel(sizes, channel, square) / count;
      const double over = 1 / std::sqrt(variance + epsilon);
      const host_place c{0, channel, 0, 0};
      const auto result = [&](const host_place& at) {
        y.set(at, scale.get(c) * (x.get(at) - average) * over + shift.get(c));
        return 0.0;
      };
      host_over_channel(sizes, channel, result);
      mean.set(c, average);
      inverse.set(c, over);
      const double unbiased = count > 1 ? variance * count / (count - 1) : variance;
      const auto move = [&](const host_tensor& running, double to) {
        running.set(c, (1 - factor) * running.get(c) + factor * to);
      };
      move(running_mean, average);
      move(running_variance, unbiased);
    }
  });
}
cudnnStatus_t cudnnBatchNormalizationBackwardEx(
    cudnnHandle_t /*handle*/, cudnnBatchNormMode_t mode, cudnnBatchNormOps_t ops, const void* alpha,
    const void* beta, const void* alpha_parameters, const void* beta_parameters,
    const cudnnTensorDescriptor_t x_of, const void* x_at, const cudnnTensorDescriptor_t /*y_of*/,
    const void* /*y_at*/, const cudnnTensorDescriptor_t dy_of, const void* dy_at,
    const cudnnTensorDescriptor_t /*dz_of*/, void* /*dz_at*/, const cudnnTensorDescriptor_t dx_of,
    void* dx_at, const cudnnTensorDescriptor_t channels_of, const void* scale_at,
    const void* /*shift_at*/, void* dscale_at, void* dshift_at, double /*epsilon*/,
    const void* mean_at, const void* inverse_at, cudnnActivationDescriptor_t /*activation*/,
    void* scratch, std::size_t scratch_bytes, void* /*reserve*/, std::size_t /*reserve_bytes*/) {
  if (!host_batchnorm_uses(mode, ops, scratch, scratch_bytes)) return CUDNN_STATUS_BAD_PARAM;
  const host_tensor x(*x_of, x_at);
  const host_tensor dy(*dy_of, dy_at);
  const host_tensor dx(*dx_of, dx_at);
  const host_tensor scale(*channels_of, scale_at);
  const host_tensor dscale(*channels_of, dscale_at);
  const host_tensor dshift(*channels_of, dshift_at);
  const host_tensor mean(*channels_of, mean_at);
  const host_tensor inverse(*channels_of, inverse_at);
  const bool known =
      host_overwrites(alpha, beta) && host_overwrites(alpha_parameters, beta_parameters);
  return host_compute(known, [=] {
    const host_place& sizes = x.how.sizes;
    const auto count = static_cast<double>(sizes[0] * sizes[2] * sizes[3]);
    for (std::int64_t channel = 0; channel < sizes[1]; ++channel) {
      const host_place c{0, channel, 0, 0};
      const double over = inverse.get(c);
      const auto normal = [&](const host_place& at) { return (x.get(at) - mean.get(c)) * over; };
      const auto product = [&](const host_place& at) { return dy.get(at) * normal(at); };
      const double sum = host_over_channel(sizes, channel, [&](auto& at) { return dy.get(at); });
      const double products = host_over_channel(sizes, channel, product);
      const auto result = [&](const host_place& at) {
        const double off = sum / count + normal(at) * products / count;
        dx.set(at, scale.get(c) * over * (dy.get(at) - off));
        return 0.0;
      };
      host_over_channel(sizes, channel, result);
      dscale.set(c, products);
      dshift.set(c, sum);
    }
  });
}

cudnnStatus_t cudnnCreateLRNDescriptor(cudnnLRNDescriptor_t* created) { return host_new(created); }
cudnnStatus_t cudnnDestroyLRNDescriptor(cudnnLRNDescriptor_t raw) { return host_delete(raw); }
cudnnStatus_t cudnnSetLRNDescriptor(cudnnLRNDescriptor_t raw, unsigned size, double alpha,
                                    double beta, double k) {
  *raw = {size, alpha, beta, k};
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnLRNCrossChannelForward(cudnnHandle_t /*handle*/, cudnnLRNDescriptor_t how,
                                          cudnnLRNMode_t /*mode*/, const void* alpha,
                                          const cudnnTensorDescriptor_t x_of, const void* x_at,
                                          const void* beta, const cudnnTensorDescriptor_t y_of,
                                          void* y_at) {
  const host_tensor x(*x_of, x_at);
  const host_tensor y(*y_of, y_at);
  return host_compute(host_overwrites(alpha, beta), [lrn = *how, x, y] {
    host_for_each(x.how.sizes, [&](const auto& at) {
      y.set(at, x.get(at) * std::pow(host_lrn_base(lrn, x, at), -lrn.beta));
    });
  });
}
cudnnStatus_t cudnnLRNCrossChannelBackward(cudnnHandle_t /*handle*/, cudnnLRNDescriptor_t how,
                                           cudnnLRNMode_t /*mode*/, const void* alpha,
                                           const cudnnTensorDescriptor_t y_of, const void* y_at,
                                           const cudnnTensorDescriptor_t dy_of, const void* dy_at,
                                           const cudnnTensorDescriptor_t x_of, const void* x_at,
                                           const void* beta, const cudnnTensorDescriptor_t dx_of,
                                           void* dx_at) {
  const host_tensor x(*x_of, x_at);
  const host_tensor y(*y_of, y_at);
  const host_tensor dy(*dy_of, dy_at);
  const host_tensor dx(*dx_of, dx_at);
  return host_compute(host_overwrites(alpha, beta), [lrn = *how, x, y, dy, dx] {
    host_for_each(x.how.sizes, [&](const auto& at) {
      double sum = 0;
      host_for_channels(lrn, x, at, [&](const auto& tap) {
        sum += dy.get(tap) * y.get(tap) / host_lrn_base(lrn, x, tap);
      });
      const double factor = 2 * lrn.alpha * lrn.beta / static_cast<double>(lrn.size);
      dx.set(at, dy.get(at) * std::pow(host_lrn_base(lrn, x, at), -lrn.beta) -
                     factor * x.get(at) * sum);
    });
  });
}

}  // extern "C"
