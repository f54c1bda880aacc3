// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include <layerbench/analysis/base/cases.hpp>
#include <layerbench/analysis/base/prediction.hpp>
#include <layerbench/analysis/base/predictor.hpp>
#include <layerbench/analysis/scaling/compute_step.hpp>
#include <layerbench/analysis/scaling/contention.hpp>
#include <layerbench/analysis/scaling/network.hpp>
#include <layerbench/analysis/scaling/parallel_step.hpp>
#include <layerbench/model/graph.hpp>
#include <layerbench/result/measurement.hpp>
#include <layerbench/result/name.hpp>

/// Prediction of training on several devices from the timings of one.
namespace layerbench::analysis {

struct scaling_options {
  std::vector<std::int64_t> devices;
  network interconnect;
  std::optional<double> contention = {};  ///< slowdown of computing; nothing: as measured, else 1
  analysis::scaling scaling = analysis::scaling::weak;
};

/// The contention in the options; without one no contention is assumed.
[[nodiscard]] used_contention given_contention(const scaling_options& how);

/// A training case on several numbers of devices.
struct data_parallel {
  prediction single;  ///< one device: with the batch of each (weak) or of all together (strong)
  scaling_options how;
  /// The compute step of a device, for each number of devices.
  std::vector<std::shared_ptr<const compute_step>> computed;
  std::vector<scaled_step> steps;  ///< in the order of how.devices
};

namespace detail {

/// The model of a case: from a shape file given by its path, else by its name.
[[nodiscard]] model::graph graph_of(const result::case_name& model_case, const group& its_files,
                                    const options& chosen);

}  // namespace detail

/// What each device computes, and the contention while gradients are sent.
struct device_work {
  std::shared_ptr<const compute_step> computed;
  used_contention contention = {};
};

/// `single` on each number of devices n; every device does `work_on(n)`.
template <class WorkOn>
[[nodiscard]] data_parallel scale_up(const prediction& single, const scaling_options& how,
                                     WorkOn&& work_on) {
  data_parallel result{single, how, {}, {}};
  for (const std::int64_t n : how.devices) {
    const device_work& work = work_on(n);
    result.computed.push_back(work.computed);
    const std::int64_t batch =
        how.scaling == scaling::weak ? single.model_case.batch : single.model_case.batch / n;
    result.steps.push_back(scale(*work.computed, batch, n, how.interconnect, work.contention,
                                 single.images_per_second().value()));
  }
  return result;
}

/// Predicts the training cases of `predictions`, made from `files` with the options `chosen`, on
/// several devices. Predictions that lack layers are left out, and so are those of several ranks,
/// whose steps already contain all-reduces. With weak scaling each device has the batch of the
/// case. With strong scaling the largest batch of cases that are otherwise equal is divided among
/// the devices, and the files need timings of each part. If no contention is given, the `measured`
/// one is used. Throws nothing_matched if the shape file of a model is unknown; error if it is of
/// another model, if timings are missing, those of one rank among them, or if several contentions
/// were measured; usage_error if a batch cannot be divided or the network is too small.
[[nodiscard]] std::vector<data_parallel> predict_data_parallel(
    std::span<const prediction> predictions, std::span<const result::results> files,
    const options& chosen, const scaling_options& how,
    std::span<const measured_contention> measured = {});

}  // namespace layerbench::analysis

#ifndef LAYERBENCH_COMPILED
#include <layerbench/analysis/scaling/data_parallel-inl.hpp>
#endif
