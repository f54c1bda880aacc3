// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <layerbench/predict/data_parallel.hpp>

/// From timings of one device to training on many.
namespace layerbench::predict {

struct scaling_options {
  std::vector<std::int64_t> devices;
  network joined;
  double contention = 1;
  predict::scaling scaling = predict::scaling::weak;
};

/// A training case on several numbers of devices.
struct data_parallel {
  prediction single;  ///< on one device: with the batch of each (weak), with all images (strong)
  scaling_options how;
  /// What a device computes, for each number of devices.
  std::vector<std::shared_ptr<const compute_step>> computed;
  std::vector<scaled_step> steps;  ///< in the order of how.devices
};

namespace detail {

/// The model of a case: of a chosen shape file that has its name, else of that of its name.
[[nodiscard]] inline model::graph graph_of(const result::case_name& owner, const options& chosen) {
  std::filesystem::path path;
  for (const std::string& each : chosen.models) {
    if (model::is_path(each) && model::load(each).name == owner.model) path = each;
  }
  try {
    if (path.empty()) path = model::find(owner.model, chosen.shapes);
  } catch (const nothing_matched& unknown) {
    throw nothing_matched(
        fmt::format("{}; its order of calls says when gradients are ready: give the shape file "
                    "that was measured with --model PATH",
                    unknown.what()));
  }
  const bool own_batch = model::batch(model::load(path)) == owner.batch;
  return own_batch ? model::load(path) : model::load(path, owner.batch);
}

/// What a device computes in a predicted step.
[[nodiscard]] inline std::shared_ptr<const compute_step> compute_step_of(
    const prediction& p, std::span<const result::results> files, const options& chosen) {
  group own;
  for (const result::results& each : files) {
    if (std::ranges::find(p.files, each.file) != p.files.end()) own.push_back(&each);
  }
  const model::training how = own.empty() ? model::training{} : training_of(own);
  return std::make_shared<const compute_step>(
      predict::compute_step_of(p, graph_of(p.owner, chosen), how, chosen.overhead_per_layer));
}

/// The same case with other batches; they differ in nothing else.
[[nodiscard]] inline bool same_but_batch(const prediction& a, const prediction& b) {
  result::case_name owner = a.owner;
  owner.batch = b.owner.batch;
  return owner == b.owner && a.threads == b.threads && a.files == b.files;
}

/// The case of the n-th part of all images. Throws usage_error where they cannot be divided, and
/// error where that case was not measured.
[[nodiscard]] inline const prediction& part_of(const prediction& all, std::int64_t n,
                                               std::span<const prediction> known) {
  if (all.owner.batch % n != 0) {
    throw usage_error(fmt::format("strong scaling: {} images cannot be divided among {} devices",
                                  all.owner.batch, n));
  }
  const std::int64_t batch = all.owner.batch / n;
  for (const prediction& each : known) {
    if (each.owner.batch == batch && each.step && same_but_batch(each, all)) return each;
  }
  throw error(
      fmt::format("strong scaling of {} to {} devices needs timings at batch {}, which the files "
                  "do not have; measure them: bench_model --phase=training --model={} --batch={} "
                  "--benchmark_out=FILE",
                  all.owner.text(), n, batch, all.owner.model, batch),
      exit_code::incomplete);
}

/// `joined` is a case of several ranks.
[[noreturn]] inline void ask_for_one_rank(const prediction& joined) {
  const result::case_name& of = joined.owner;
  throw error(
      fmt::format("{}: a step of {} ranks, all-reduces included, says nothing of other numbers; "
                  "measure one rank: bench_model --phase=training --model={} --batch={} --dtype={} "
                  "--backend={} --threads={} --benchmark_out=FILE",
                  of.text(), of.ranks(), of.model, of.batch, of.dtype, of.backend,
                  std::max<std::int64_t>(1, joined.threads)),
      exit_code::incomplete);
}

}  // namespace detail

/// `single` on several numbers of devices, each of which computes what `step_on(n)` says.
template <class StepOn>
[[nodiscard]] data_parallel scale_up(const prediction& single, const scaling_options& how,
                                     StepOn&& step_on) {
  data_parallel made{single, how, {}, {}};
  for (const std::int64_t n : how.devices) {
    made.computed.push_back(step_on(n));
    const std::int64_t batch =
        how.scaling == scaling::weak ? single.owner.batch : single.owner.batch / n;
    made.steps.push_back(scale(*made.computed.back(), batch, n, how.joined, how.contention,
                               single.images_per_second().value()));
  }
  return made;
}

/// Predicts the training cases of `predictions`, made of `files` as `chosen` says, on many devices;
/// those that lack layers are left out, and those of several ranks, whose steps have all-reduces in
/// them already. With weak scaling each device has the batch of the case. With strong scaling the
/// largest batch of equal cases is divided among the devices, and the files need timings of each
/// part. Throws nothing_matched where the shape file of a model is not known, error where it is of
/// another one or where timings are missing, those of one rank among them, usage_error where a
/// batch cannot be divided or the network cannot hold so many devices.
[[nodiscard]] inline std::vector<data_parallel> predict_data_parallel(
    std::span<const prediction> predictions, std::span<const result::results> files,
    const options& chosen, const scaling_options& how) {
  std::vector<data_parallel> all;
  const prediction* joined = nullptr;
  for (const prediction& each : predictions) {
    if (!each.step || each.partial()) continue;
    if (each.owner.ranks() > 1) {
      joined = &each;
      continue;
    }
    if (how.scaling == scaling::weak) {
      auto computed = detail::compute_step_of(each, files, chosen);
      all.push_back(scale_up(each, how, [&](std::int64_t) { return computed; }));
      continue;
    }
    const bool largest = std::ranges::none_of(predictions, [&](const prediction& other) {
      return other.owner.batch > each.owner.batch && detail::same_but_batch(other, each);
    });
    if (!largest) continue;
    all.push_back(scale_up(each, how, [&](std::int64_t n) {
      return detail::compute_step_of(detail::part_of(each, n, predictions), files, chosen);
    }));
  }
  if (all.empty() && joined != nullptr) detail::ask_for_one_rank(*joined);
  return all;
}

}  // namespace layerbench::predict
