// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <filesystem>
#include <string>

#include <fmt/format.h>

#include <layerbench/analysis/scaling/data_parallel.hpp>
#include <layerbench/base/compiled.hpp>
#include <layerbench/base/error.hpp>
#include <layerbench/model/find.hpp>
#include <layerbench/model/optimizer.hpp>
#include <layerbench/model/shape_file.hpp>

namespace layerbench::analysis {

LAYERBENCH_INLINE used_contention given_contention(const scaling_options& how) {
  if (!how.contention) return {};
  const slowdowns given{.computing = *how.contention};
  return {{given, given, given}, contention_source::given};
}

namespace detail {

/// The files whose rows a prediction uses.
[[nodiscard]] inline group files_of(const prediction& p, std::span<const result::results> files) {
  group used;
  for (const result::results& file : files) {
    if (std::ranges::find(p.files, file.file) != p.files.end()) used.push_back(&file);
  }
  return used;
}

LAYERBENCH_INLINE model::graph graph_of(const result::case_name& model_case, const group& its_files,
                                        const options& chosen) {
  std::filesystem::path path;
  try {
    path = given_path(model_case, its_files, chosen).value_or(std::filesystem::path{});
    if (path.empty()) path = model::find(model_case.model, chosen.shapes);
  } catch (const nothing_matched& unknown) {
    throw nothing_matched(
        fmt::format("{}; its order of calls says when gradients are ready: give the shape file "
                    "that was measured with --model PATH",
                    unknown.what()));
  }
  return model::load(path, replaced_parameters(model::load(path), model_case));
}

/// The value for --model: the path if the user gave one, else the name.
[[nodiscard]] inline std::string model_argument(const result::case_name& model_case,
                                                const group& its_files, const options& chosen) {
  const auto path = given_path(model_case, its_files, chosen);
  return path ? path->string() : model_case.model;
}

/// The compute step of a predicted step.
[[nodiscard]] inline std::shared_ptr<const compute_step> compute_step_of(const prediction& p,
                                                                         const group& its_files,
                                                                         const options& chosen) {
  const model::training how = its_files.empty() ? model::training{} : training_of(its_files);
  return std::make_shared<const compute_step>(analysis::compute_step_of(
      p, graph_of(p.model_case, its_files, chosen), how, chosen.overhead_per_layer));
}

/// Whether two predictions differ in nothing but their batch.
[[nodiscard]] inline bool same_but_batch(const prediction& a, const prediction& b) {
  result::case_name model_case = a.model_case;
  model_case.batch = b.model_case.batch;
  return model_case == b.model_case && a.threads == b.threads && a.files == b.files;
}

/// The prediction for one of n equal parts of the batch. Throws usage_error if the batch cannot be
/// divided, and error, which says how to measure it with `model` as --model takes it, if that case
/// was not measured.
[[nodiscard]] inline const prediction& part_of(const prediction& all, std::int64_t n,
                                               std::span<const prediction> known,
                                               const std::string& model) {
  if (all.model_case.batch % n != 0) {
    throw usage_error(fmt::format("strong scaling: {} images cannot be divided among {} devices",
                                  all.model_case.batch, n));
  }
  const std::int64_t batch = all.model_case.batch / n;
  for (const prediction& part : known) {
    if (part.model_case.batch == batch && part.step && same_but_batch(part, all)) return part;
  }
  throw error(
      fmt::format("strong scaling of {} to {} devices needs timings at batch {}, which the files "
                  "do not have; measure them: bench_model --phase=training --model={} --batch={} "
                  "--benchmark_out=FILE",
                  all.model_case.text(), n, batch, model, batch),
      exit_code::incomplete);
}

/// Throws the error for a case of several ranks, which asks for one of a single rank.
[[noreturn]] inline void refuse_several_ranks(const prediction& p, const std::string& model) {
  const result::case_name& of = p.model_case;
  throw error(
      fmt::format("{}: a step of {} ranks, all-reduces included, says nothing of other numbers; "
                  "measure one rank: bench_model --phase=training --model={} --batch={} --dtype={} "
                  "--backend={} --threads={} --benchmark_out=FILE",
                  of.text(), of.ranks(), model, of.batch, of.dtype, of.backend,
                  std::max<std::int64_t>(1, p.threads)),
      exit_code::incomplete);
}

/// The contention of a predicted case: the given one, else the measured one. Throws error if
/// several were measured.
[[nodiscard]] inline used_contention used_contention_of(
    const prediction& p, const group& its_files, const scaling_options& how,
    std::span<const measured_contention> measured) {
  if (how.contention) return given_contention(how);
  const std::string device = its_files.empty() ? "" : its_files.front()->device();
  used_contention found;
  for (const measured_contention& contention : measured) {
    if (!contention.holds_for(p.model_case, p.threads, device)) continue;
    if (found.from == contention_source::measured) {
      throw error(fmt::format("{}: its contention was measured under several conditions, or by "
                              "several numbers of ranks; leave files out, or give --contention",
                              p.model_case.text()),
                  exit_code::incomplete);
    }
    found = {at_least_one(contention.factors), contention_source::measured, contention.files,
             contention.sending_known};
  }
  return found;
}

}  // namespace detail

LAYERBENCH_INLINE std::vector<data_parallel> predict_data_parallel(
    std::span<const prediction> predictions, std::span<const result::results> files,
    const options& chosen, const scaling_options& how,
    std::span<const measured_contention> measured) {
  const auto work_of = [&](const prediction& p) {
    const group used = detail::files_of(p, files);
    return device_work{detail::compute_step_of(p, used, chosen),
                       detail::used_contention_of(p, used, how, measured)};
  };
  const auto argument_of = [&](const prediction& p) {
    return detail::model_argument(p.model_case, detail::files_of(p, files), chosen);
  };
  std::vector<data_parallel> all;
  const prediction* of_ranks = nullptr;
  for (const prediction& single : predictions) {
    if (!single.step || single.partial()) continue;
    if (single.model_case.ranks() > 1) {
      of_ranks = &single;
      continue;
    }
    if (how.scaling == scaling::weak) {
      const device_work work = work_of(single);
      const auto same = [&](std::int64_t) -> const device_work& { return work; };
      all.push_back(scale_up(single, how, same));
      continue;
    }
    const bool largest = std::ranges::none_of(predictions, [&](const prediction& other) {
      return other.model_case.batch > single.model_case.batch &&
             detail::same_but_batch(other, single);
    });
    if (!largest) continue;
    all.push_back(scale_up(single, how, [&](std::int64_t n) {
      return work_of(detail::part_of(single, n, predictions, argument_of(single)));
    }));
  }
  if (all.empty() && of_ranks != nullptr) {
    detail::refuse_several_ranks(*of_ranks, argument_of(*of_ranks));
  }
  return all;
}

}  // namespace layerbench::analysis
