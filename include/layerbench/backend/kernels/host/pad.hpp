// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <vector>

#include <layerbench/backend/kernels/host/tensor_plan.hpp>
#include <layerbench/op/pad.hpp>

namespace layerbench::host {

/// Copies between a tensor and one with zeros around it. Libraries have copies into a part of a
/// tensor, but nothing that also writes the zeros.
class padding {
 public:
  static constexpr const char* algorithm = "layerbench:pad";

  /// `removes`: the source is the padded tensor. Strides are in elements.
  padding(const op::pad& o, bool removes, dtype type, const dims& strides,
          const dims& padded_strides)
      : removes_(removes) {
    find_runs(o, static_cast<std::int64_t>(traits(type).bytes), strides, padded_strides);
  }

  void run(address from, address to) const {
    if (removes_) {
      remove(static_cast<const char*>(from), static_cast<char*>(to));
    } else {
      add(static_cast<const char*>(from), static_cast<char*>(to));
    }
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
  void find_runs(const op::pad& o, std::int64_t element, const dims& steps,
                 const dims& padded_steps) {
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

  void add(const char* src, char* dst) const {
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

  void remove(const char* diff_dst, char* diff_src) const {
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

template <>
class own_plan<op::pad> : public call_plan {
 public:
  own_plan(const op::pad& o, const plan_request& request)
      : call_plan(padding::algorithm, o.operands(request.pass, request.type), request.layout),
        padding_(o, request.pass == op::pass::bwd, request.type,
                 strides_of(request.pass == op::pass::bwd ? 1 : 0),
                 strides_of(request.pass == op::pass::bwd ? 0 : 1)) {}

  void run(const binding& bound) const { padding_.run(bound.operands[0], bound.operands[1]); }

 private:
  padding padding_;
};

}  // namespace layerbench::host
