// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <vector>

#include <layerbench/backend/onednn/primitive.hpp>
#include <layerbench/op/pad.hpp>

namespace layerbench::onednn {

/// Base class of plans by a loop of layerbench that copies between a tensor and one with zeros
/// around it. The library has a reorder into a part of a tensor, but nothing that writes the zeros.
class padding_plan : public primitive_plan {
 public:
  void run(const binding& bound) const {
    if (removes_) {
      slice(at<char>(bound, 0), at<char>(bound, 1));
    } else {
      pad(at<char>(bound, 0), at<char>(bound, 1));
    }
  }

 protected:
  using primitive_plan::primitive_plan;

  /// `removes`: operand 0 is the padded tensor, else operand 1.
  void set_padding(const backend& device, const op::pad& o, bool removes,
                   const plan_request& request) {
    removes_ = removes;
    const auto stored = [&](std::size_t i) {
      return plain_or_nhwc_activations(device, extents(i), request.type, request.order);
    };
    checked("padding", [&] {
      set_loop({stored(0), stored(1)});
      const auto element = static_cast<std::int64_t>(traits(request.type).bytes);
      find_runs(o, element, stored(removes ? 1 : 0), stored(removes ? 0 : 1));
    });
  }

 private:
  /// An axis outside of the runs; steps in bytes.
  struct axis {
    std::int64_t size;    ///< of the source
    std::int64_t padded;  ///< of the padded tensor
    std::int64_t before;
    std::int64_t step;
    std::int64_t padded_step;
  };

  /// A run has all the axes that are fastest in memory, up to the first with padding.
  void find_runs(const op::pad& o, std::int64_t element, const dnnl::memory::desc& source,
                 const dnnl::memory::desc& padded) {
    const dims steps = source.get_strides();
    const dims padded_steps = padded.get_strides();
    const dims padded_extents = o.padded();
    std::vector<std::size_t> order(o.dims.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, std::ranges::greater{},
                             [&](std::size_t i) { return padded_steps[i]; });
    run_ = element;
    bool cut = false;
    while (!order.empty() && !cut) {
      const std::size_t i = order.back();
      order.pop_back();
      before_ = o.before.sizes[i] * run_;
      after_ = o.after.sizes[i] * run_;
      run_ *= o.dims[i];
      cut = before_ + after_ > 0;
    }
    for (const std::size_t i : order) {
      axes_.push_back({o.dims[i], padded_extents[i], o.before.sizes[i], steps[i] * element,
                       padded_steps[i] * element});
      runs_ *= o.dims[i];
      padded_runs_ *= padded_extents[i];
    }
  }

  void pad(const char* src, char* dst) const {
    const std::int64_t padded_run = before_ + run_ + after_;
#pragma omp parallel for
    for (std::int64_t i = 0; i < padded_runs_; ++i) {
      char* to = dst + i * padded_run;
      std::int64_t from = 0;
      bool inside = true;
      std::int64_t rest = i;
      for (std::size_t j = axes_.size(); j-- > 0; rest /= axes_[j].padded) {
        const std::int64_t at = rest % axes_[j].padded - axes_[j].before;
        inside = inside && at >= 0 && at < axes_[j].size;
        from += at * axes_[j].step;
      }
      if (inside) {
        zero(to, before_);
        std::memcpy(to + before_, src + from, static_cast<std::size_t>(run_));
        zero(to + before_ + run_, after_);
      } else {
        zero(to, padded_run);
      }
    }
  }

  void slice(const char* diff_dst, char* diff_src) const {
#pragma omp parallel for
    for (std::int64_t i = 0; i < runs_; ++i) {
      std::int64_t from = before_;
      std::int64_t rest = i;
      for (std::size_t j = axes_.size(); j-- > 0; rest /= axes_[j].size) {
        from += (rest % axes_[j].size + axes_[j].before) * axes_[j].padded_step;
      }
      std::memcpy(diff_src + i * run_, diff_dst + from, static_cast<std::size_t>(run_));
    }
  }

  static void zero(char* to, std::int64_t bytes) {
    std::memset(to, 0, static_cast<std::size_t>(bytes));
  }

  bool removes_ = false;
  std::vector<axis> axes_;  ///< outside of the runs, slowest first
  std::int64_t runs_ = 1;
  std::int64_t padded_runs_ = 1;
  std::int64_t run_ = 1;     ///< bytes of a run of the source
  std::int64_t before_ = 0;  ///< bytes of zeros before it
  std::int64_t after_ = 0;
};

}  // namespace layerbench::onednn

namespace layerbench {

template <>
class plan<onednn::backend, op::pad> : public onednn::padding_plan {
 public:
  plan(const onednn::backend& device, const op::pad& o, const plan_request& request)
      : padding_plan(device, o.operands(request.pass, request.type)) {
    set_padding(device, o, request.pass == op::pass::bwd, request);
  }
};

static_assert(implements<onednn::backend, op::pad>);

}  // namespace layerbench
