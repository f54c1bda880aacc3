// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstdint>

#include <layerbench/backend/kernels/host/tensor_plan.hpp>
#include <layerbench/op/groupnorm.hpp>

namespace layerbench::host {

/// Group normalization by loops of layerbench: oneDNN has it since version 3.3 alone. Each thread
/// has some of the groups of all images, as in PyTorch on CPUs.
template <>
class own_plan<op::groupnorm> : public call_plan {
 public:
  own_plan(const op::groupnorm& o, const plan_request& request)
      : call_plan(request.pass == op::pass::bwd ? "layerbench:group_normalization_gradient"
                                                : "layerbench:group_normalization",
                  o.operands(request.pass, request.type), request.layout),
        o_(o),
        request_(request),
        channel_(strides_of(0)[1]),
        pixel_(strides_of(0)[3]) {
    require_number(request.type);
  }

  void run(const binding& bound) const {
    with_number(request_.type, [&]<class T>(T /*tag*/) {
      if (request_.pass == op::pass::bwd) {
        compute_gradients<T>(bound);
      } else {
        normalize<T>(bound);
      }
    });
  }

 private:
  [[nodiscard]] std::int64_t pixels() const { return o_.h * o_.w; }
  [[nodiscard]] std::int64_t channels() const { return o_.c / o_.groups; }

  /// Calls work(place, step, channel, channel_step, count) for runs that together are a group of an
  /// image: along the axis that is faster in memory.
  template <class Work>
  void for_runs(std::int64_t group, const Work& work) const {
    const std::int64_t first = group % o_.groups * channels();
    const std::int64_t image = group / o_.groups * o_.c * pixels();
    const bool by_pixel = channel_ < pixel_;
    for (std::int64_t i = 0; i < (by_pixel ? pixels() : channels()); ++i) {
      const std::int64_t channel = by_pixel ? first : first + i;
      const std::int64_t place = image + channel * channel_ + (by_pixel ? i * pixel_ : 0);
      work(place, by_pixel ? channel_ : pixel_, channel, by_pixel ? 1 : 0,
           by_pixel ? channels() : pixels());
    }
  }

  /// The mean over a group of an image of term(place, channel).
  template <class Term>
  [[nodiscard]] float mean_of(std::int64_t group, const Term& term) const {
    float total = 0;
    for_runs(group, [&](std::int64_t place, std::int64_t step, std::int64_t channel,
                        std::int64_t channel_step, std::int64_t count) {
      float sum = 0;
#pragma omp simd reduction(+ : sum)
      for (std::int64_t j = 0; j < count; ++j) {
        sum += term(place + j * step, channel + j * channel_step);
      }
      total += sum;
    });
    return total / static_cast<float>(channels() * pixels());
  }

  /// Sets element(place) = value(place, channel) in a group of an image.
  template <class T, class Value>
  void store(std::int64_t group, T* to, const Value& value) const {
    for_runs(group, [&](std::int64_t place, std::int64_t step, std::int64_t channel,
                        std::int64_t channel_step, std::int64_t count) {
#pragma omp simd
      for (std::int64_t j = 0; j < count; ++j) {
        to[place + j * step] = static_cast<T>(value(place + j * step, channel + j * channel_step));
      }
    });
  }

  template <class T>
  void normalize(const binding& bound) const {
    const auto* src = at<const T>(bound, 0);
    const auto* scale = at<const float>(bound, 1);
    const auto* bias = at<const float>(bound, 2);
    auto* dst = at<T>(bound, 3);
    const bool keeps = request_.pass == op::pass::fwd_training;
    auto* means = keeps ? at<float>(bound, 4) : nullptr;
    auto* variances = keeps ? at<float>(bound, 5) : nullptr;
#pragma omp parallel for
    for (std::int64_t group = 0; group < o_.n * o_.groups; ++group) {
      const float mean = mean_of(group, [=](std::int64_t i, std::int64_t /*channel*/) {
        return static_cast<float>(src[i]);
      });
      const float variance = mean_of(group, [=](std::int64_t i, std::int64_t /*channel*/) {
        const float deviation = static_cast<float>(src[i]) - mean;
        return deviation * deviation;
      });
      const float factor = 1 / std::sqrt(variance + static_cast<float>(o_.epsilon));
      store(group, dst, [=](std::int64_t i, std::int64_t channel) {
        return (static_cast<float>(src[i]) - mean) * factor * scale[channel] + bias[channel];
      });
      if (!keeps) continue;
      means[group] = mean;
      variances[group] = variance;
    }
  }

  /// As backend/reference/groupnorm.hpp has them.
  template <class T>
  void compute_gradients(const binding& bound) const {
    const auto* src = at<const T>(bound, 0);
    const auto* diff_dst = at<const T>(bound, 1);
    const auto* scale = at<const float>(bound, 2);
    const auto* means = at<const float>(bound, 3);
    const auto* variances = at<const float>(bound, 4);
    auto* diff_src = at<T>(bound, 5);
    auto* diff_scale = at<float>(bound, 6);
    auto* diff_bias = at<float>(bound, 7);
    const auto factor_of = [=, this](std::int64_t group) {
      return 1 / std::sqrt(variances[group] + static_cast<float>(o_.epsilon));
    };
#pragma omp parallel for
    for (std::int64_t group = 0; group < o_.n * o_.groups; ++group) {
      const float mean = means[group];
      const float factor = factor_of(group);
      const auto gradient = [=](std::int64_t i, std::int64_t channel) {
        return static_cast<float>(diff_dst[i]) * scale[channel];
      };
      const auto normalized = [=](std::int64_t i) {
        return (static_cast<float>(src[i]) - mean) * factor;
      };
      const float gradients = mean_of(group, gradient);
      const float products = mean_of(group, [=](std::int64_t i, std::int64_t channel) {
        return gradient(i, channel) * normalized(i);
      });
      store(group, diff_src, [=](std::int64_t i, std::int64_t channel) {
        return factor * (gradient(i, channel) - gradients - normalized(i) * products);
      });
    }
#pragma omp parallel for
    for (std::int64_t channel = 0; channel < o_.c; ++channel) {
      float scales = 0;
      float biases = 0;
      for (std::int64_t n = 0; n < o_.n; ++n) {
        const std::int64_t group = n * o_.groups + channel / channels();
        const std::int64_t first = n * o_.c * pixels() + channel * channel_;
        float products = 0;
        float sum = 0;
#pragma omp simd reduction(+ : products, sum)
        for (std::int64_t i = 0; i < pixels(); ++i) {
          const auto gradient = static_cast<float>(diff_dst[first + i * pixel_]);
          products += gradient * (static_cast<float>(src[first + i * pixel_]) - means[group]);
          sum += gradient;
        }
        scales += products * factor_of(group);
        biases += sum;
      }
      diff_scale[channel] = scales;
      diff_bias[channel] = biases;
    }
  }

  op::groupnorm o_;
  plan_request request_;
  std::int64_t channel_;  ///< step from a channel to the next
  std::int64_t pixel_;    ///< from a pixel to the next
};

}  // namespace layerbench::host
