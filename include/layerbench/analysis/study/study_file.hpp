// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <layerbench/analysis/base/memory.hpp>
#include <layerbench/model/step.hpp>

/// Study files (docs/formats.md): published measurements, and which cases they are of.
namespace layerbench::analysis {

/// Units of a study's figures: throughput; time of the cell's steps; share of a step's time, 0 to
/// 1; peak memory; mean power.
inline constexpr std::array<std::string_view, 7> study_units{"images/s", "ms",  "s", "hours",
                                                             "share",    "MiB", "W"};

/// The seconds of a unit of time; nothing for other units.
[[nodiscard]] constexpr std::optional<double> seconds_of_unit(std::string_view unit) {
  if (unit == "ms") return 1e-3;
  if (unit == "s") return 1.0;
  if (unit == "hours") return 3600.0;
  return std::nullopt;
}

/// One entry of a study's table: a case, and what each system of the study attained in it.
struct study_cell {
  std::string label;       ///< what the study calls it
  std::string model;       ///< name of a shape file; empty if `unanswered` has a reason
  std::string phase;       ///< inference or training
  std::int64_t batch = 1;  ///< of each device
  std::string dtype = "f32";
  std::vector<model::step_part> parts;           ///< of the step; empty: all
  std::vector<std::optional<double>> published;  ///< by column; nothing: not published
  std::string unanswered;  ///< why nothing here stands for it; empty: something does
  std::string unit = {};   ///< of its figures, mostly that of the study
  std::int64_t epochs = 1;
  double steps = 1;          ///< in an epoch
  std::int64_t threads = 0;  ///< 0: any number that no other cell of the step names
  std::int64_t devices = 1;
  std::vector<std::string> ops = {};  ///< whose share of the step it is
  std::string framework = {};         ///< of memory: the one whose figures it has

  [[nodiscard]] bool answerable() const { return unanswered.empty(); }
  /// Whether runs of bench_model are an answer. Memory needs none.
  [[nodiscard]] bool measurable() const { return answerable() && unit != "MiB"; }
  /// Whether the same step is measured for both cells, perhaps for other parts of it.
  [[nodiscard]] bool same_step(const study_cell& other) const;
};

/// How a framework of a study gives memory to the tensors of a step.
struct framework_memory {
  std::string name;
  std::optional<memory_policy> policy;          ///< nothing: `unanswered` says why
  std::vector<std::optional<double>> contexts;  ///< MiB of driver and libraries, by column
  std::string source;                           ///< of policy and contexts
  std::string unanswered;
};

/// What a study's figures of memory are of.
struct study_memory {
  std::vector<bool> compared = {};  ///< by column: whether it is of one device
  std::vector<framework_memory> frameworks = {};
};

/// A question of a study that timings of layers do not answer.
struct unanswered_question {
  std::string question;
  std::string reason;
};

/// A published study.
struct study {
  std::string name;
  std::string title;
  std::string source;
  std::string unit;                  ///< one of study_units, where a cell has no other
  std::vector<std::string> columns;  ///< the systems that the study measured
  std::vector<study_cell> cells;
  std::vector<unanswered_question> unanswered;
  std::vector<std::string> notes;  ///< assumptions about the cells
  study_memory memory = {};

  /// The framework of a cell in MiB; null if it has none.
  [[nodiscard]] const framework_memory* framework_of(const study_cell& cell) const;
};

/// Names of the studies in `shapes`, sorted.
[[nodiscard]] std::vector<std::string> list_studies(const std::filesystem::path& shapes);

/// The file meant by `name_or_path`: a path when it has a '/' or ends in .json, else a study of
/// `shapes`. Throws nothing_matched for an unknown name, listing what exists.
[[nodiscard]] std::filesystem::path find_study(const std::string& name_or_path,
                                               const std::filesystem::path& shapes);

/// Reads a study by its name in `shapes` or the path of its file; models are those of `shapes`.
/// Throws bad_input with file and pointer for an invalid file, nothing_matched for an unknown name.
[[nodiscard]] study load_study(const std::string& name_or_path,
                               const std::filesystem::path& shapes);

}  // namespace layerbench::analysis

#ifndef LAYERBENCH_COMPILED
#include <layerbench/analysis/study/study_file-inl.hpp>
#endif
