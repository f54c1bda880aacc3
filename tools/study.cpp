// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <layerbench/analysis/study/json.hpp>
#include <layerbench/analysis/study/own_figures.hpp>
#include <layerbench/analysis/study/runs.hpp>
#include <layerbench/analysis/study/study_file.hpp>
#include <layerbench/analysis/study/text.hpp>
#include <layerbench/base/error.hpp>
#include <layerbench/base/program_path.hpp>
#include <layerbench/model/find.hpp>

#include "commands.hpp"
#include "process.hpp"

namespace layerbench::tool {
namespace {

namespace fs = std::filesystem;

struct study_options {
  std::string name;
  std::vector<std::string> results;
  std::vector<std::string> models;
  bool smallest = false;
  bool run = false;
  std::string folder;
  std::optional<double> budget;  // seconds for all runs
};

/// The folder for the results of the study, as its commands name it.
std::string folder_of(const study_options& chosen, const analysis::study& study) {
  return chosen.folder.empty() ? study.name + "_results" : chosen.folder;
}

/// The path of bench_model: beside the tool, or on the PATH.
std::string find_bench_model() {
  try {
    return find_program({{}, {program_path("bench_model")}});
  } catch (const usage_error&) {
    throw usage_error("--run needs bench_model: build or install it, or add its folder to PATH");
  }
}

/// The cells that the options select.
std::vector<analysis::study_cell> select(const study_options& chosen, const analysis::study& study,
                                         const std::string& shapes) {
  std::vector<analysis::study_cell> cells = study.cells;
  if (!chosen.models.empty()) {
    std::vector<std::string> models;
    for (const std::string& model : chosen.models) {
      models.push_back(model::find(model, shapes).stem().string());
      if (std::ranges::find(cells, models.back(), &analysis::study_cell::model) == cells.end()) {
        throw nothing_matched(
            fmt::format("--model: study {} has no cell of {}", study.name, model));
      }
    }
    std::erase_if(cells, [&](const analysis::study_cell& cell) {
      return std::ranges::find(models, cell.model) == models.end();
    });
  }
  return chosen.smallest ? analysis::smallest(cells, shapes) : cells;
}

/// The command of a run, without the program; results go to `folder`, and earlier ones there are
/// resumed.
std::vector<std::string> arguments(const analysis::study_run& run, const std::string& folder,
                                   const common_options& common) {
  std::vector<std::string> words = run.options();
  if (common.shapes != model::default_shapes_directory()) {
    words.push_back("--shapes=" + common.shapes);
  }
  const fs::path file = fs::path(folder) / run.file();
  words.push_back((fs::exists(file) ? "--resume=" : "--benchmark_out=") + file.string());
  return words;
}

/// Throws usage_error where the output would replace what a run writes.
void require_other_output(const std::vector<analysis::study_run>& runs, const std::string& folder,
                          const common_options& common) {
  const fs::path output = fs::weakly_canonical(common.output);
  for (const analysis::study_run& run : runs) {
    if (output != fs::weakly_canonical(fs::path(folder) / run.file())) continue;
    throw usage_error(common.output +
                      ": has the results of a run; name another file for the output");
  }
}

/// The commands that measure the cells, as lines.
std::vector<std::string> commands(const std::vector<analysis::study_run>& runs,
                                  const std::string& folder, const common_options& common) {
  std::vector<std::string> lines;
  for (const analysis::study_run& run : runs) {
    lines.push_back(fmt::format("{} {}", program_path("bench_model"),
                                fmt::join(arguments(run, folder, common), " ")));
  }
  return lines;
}

/// Result files, and those of folders.
std::vector<std::string> files_in(const std::vector<std::string>& paths) {
  std::vector<std::string> files;
  for (const std::string& path : paths) {
    if (!fs::is_directory(path)) {
      files.push_back(path);
      continue;
    }
    std::vector<std::string> found;
    for (const auto& entry : fs::directory_iterator(path)) {
      if (entry.path().extension() == ".json") found.push_back(entry.path().string());
    }
    std::ranges::sort(found);
    if (found.empty()) throw nothing_matched(path + " has no result files (*.json)");
    files.insert(files.end(), found.begin(), found.end());
  }
  return files;
}

/// A run that failed.
struct failed_run {
  analysis::study_run run;
  exit_code code;
  std::string reason;
};

/// Runs bench_model for the cells of a study, one process per phase, data type and batch.
class study_runner {
 public:
  study_runner(const study_options& chosen, const common_options& common, std::string folder)
      : chosen_(chosen), common_(common), folder_(std::move(folder)), program_(find_bench_model()) {
    std::error_code failed;
    fs::create_directories(folder_, failed);
    if (failed) throw usage_error(fmt::format("--out: {}: {}", folder_, failed.message()));
  }

  /// Each run gets a share of what the runs before it left of the budget. Those for which nothing
  /// is left count as failed.
  void measure(const std::vector<analysis::study_run>& runs) {
    const auto begin = std::chrono::steady_clock::now();
    std::size_t models = 0;  // of the runs that are left
    for (const analysis::study_run& run : runs) models += run.models.size();
    for (std::size_t i = 0; i < runs.size() && !interrupted(); ++i) {
      std::vector<std::string> more = arguments(runs[i], folder_, common_);
      if (chosen_.budget) {
        const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begin;
        const double share =
            static_cast<double>(runs[i].models.size()) / static_cast<double>(models);
        const double seconds = (*chosen_.budget - spent.count()) * share;
        models -= runs[i].models.size();
        if (seconds <= 0) {
          failed_.push_back({runs[i], exit_code::incomplete,
                             fmt::format("left out: --budget={:g} was spent", *chosen_.budget)});
          const fs::path earlier = fs::path(folder_) / runs[i].file();
          if (fs::exists(earlier)) files_.push_back(earlier.string());
          continue;
        }
        more.push_back(fmt::format("--budget={:.3f}", seconds));
      }
      note(fmt::format("run {} of {}: bench_model {}", i + 1, runs.size(), fmt::join(more, " ")));
      run(runs[i], more);
    }
  }

  [[nodiscard]] bool interrupted() const { return runner_.interrupted(); }
  [[nodiscard]] const std::vector<failed_run>& failed() const { return failed_; }
  /// The result files of the runs that wrote one.
  [[nodiscard]] const std::vector<std::string>& files() const { return files_; }

 private:
  void run(const analysis::study_run& what, const std::vector<std::string>& more) {
    const fs::path file = fs::path(folder_) / what.file();
    const fs::path log = fs::path(file).replace_extension(".log");
    invocation command{{}, {program_}};
    command.words.insert(command.words.end(), more.begin(), more.end());
    const int status = runner_.run(command, log.string());
    if (fs::exists(file)) files_.push_back(file.string());
    if (status == 0 || interrupted()) return;
    failed_.push_back({what, exit_code_of(status),
                       fmt::format("bench_model: {}{}", status_text(status), last_line(log))});
  }

  /// The last line of a file that is not empty, after a colon.
  static std::string last_line(const fs::path& file) {
    const std::vector<std::string> lines = last_lines(file, 1);
    return lines.empty() ? "" : ": " + lines.back();
  }

  const study_options& chosen_;
  const common_options& common_;
  std::string folder_;
  std::string program_;
  process_runner runner_;
  std::vector<failed_run> failed_;
  std::vector<std::string> files_;
};

/// Says for the rows without figure that their run failed.
void add_reasons(std::vector<analysis::study_row>& rows, const std::vector<failed_run>& failed) {
  for (analysis::study_row& row : rows) {
    if (!row.cell.answerable() || !row.own.empty()) continue;
    for (const auto& [run, code, reason] : failed) {
      const bool same =
          run.phase == row.cell.phase && run.dtype == row.cell.dtype && run.batch == row.cell.batch;
      if (same) row.reason = reason;
    }
  }
}

std::string render(const analysis::study& study, const std::vector<analysis::study_row>& rows,
                   const std::vector<std::string>& commands, const std::string& format) {
  if (format == "csv") return csv(analysis::records(study, rows));
  if (format == "json") {
    json::value result = analysis::to_json(study, rows);
    result["commands"] = commands;
    return json_text(result);
  }
  std::string out = analysis::text(study, rows);
  if (analysis::machines(rows).empty() && !commands.empty()) {
    out +=
        fmt::format("\nto measure the cells here (or --run):\n  {}\n", fmt::join(commands, "\n  "));
  }
  return out;
}

/// Throws error, naming the cases, if a measured cell lacks layers.
void require_complete(const std::vector<analysis::study_row>& rows) {
  std::string incomplete;
  for (const analysis::study_row& row : rows) {
    for (const analysis::own_figure& own : row.own) {
      if (own.value) continue;
      incomplete += fmt::format("\n  {} {}, batch {}, {}, {}: {}", row.cell.model, row.cell.phase,
                                row.cell.batch, row.cell.dtype, own.machine, own.reason);
    }
  }
  if (!incomplete.empty()) throw error("incomplete cells:" + incomplete, exit_code::incomplete);
}

void study(const study_options& chosen, const common_options& common) {
  const analysis::study published = analysis::load_study(chosen.name, common.shapes);
  const std::vector<analysis::study_cell> cells = select(chosen, published, common.shapes);
  const std::vector<analysis::study_run> runs = analysis::runs_of(cells);
  const std::string folder = folder_of(chosen, published);
  if (chosen.run) require_other_output(runs, folder, common);
  std::optional<study_runner> runner;
  if (chosen.run) {
    runner.emplace(chosen, common, folder);
    runner->measure(runs);
  }
  const std::vector<result::results> results =
      read_results(runner ? runner->files() : files_in(chosen.results));
  std::vector<analysis::study_row> rows = analysis::own_figures(published, cells, results);
  if (runner) add_reasons(rows, runner->failed());
  write(common, render(published, rows, commands(runs, folder, common), common.format));
  if (runner && runner->interrupted()) throw error("interrupted", exit_code::interrupted);
  require_complete(rows);
  if (runner && !runner->failed().empty()) {
    const failed_run& first = runner->failed().front();
    throw error(first.reason, first.code);
  }
  if (!results.empty() && analysis::machines(rows).empty()) {
    throw nothing_matched("the result files have no cell of the study");
  }
}

void add_options(CLI::App& command, study_options& chosen) {
  command.add_option("study", chosen.name, "Name of a study, or path of a study file")->required();
  CLI::Option* results = command.add_option(
      "results", chosen.results, "Result files of bench_model, or folders of them [none]");
  add_values(command, "--model,--models", "NAME", chosen.models,
             "Only cells of these models [all]\n--model=lenet5,resnet50");
  command.add_flag("--smallest", chosen.smallest, "Only the cell with the least arithmetic");
  CLI::Option* run = command.add_flag("--run", chosen.run, "Measure the cells with bench_model");
  run->excludes(results);
  command
      .add_option("--out", chosen.folder,
                  "Folder of the results of --run, to be resumed [NAME_results]")
      ->type_name("DIR");
  command
      .add_option("--budget", chosen.budget,
                  "Seconds for all runs of --run, shared out by models; what does not fit is left "
                  "out (exit code 4) [none]")
      ->type_name("SECONDS")
      ->check([](const std::string& text) {
        return check_number(text, 0.001, 1e9, "a number of seconds, such as 600");
      })
      ->needs(run);
}

}  // namespace

void add_study(CLI::App& app) {
  CLI::App* command =
      app.add_subcommand("study", "Prints a published study's table with this machine beside it");
  const auto options = std::make_shared<study_options>();
  add_options(*command, *options);
  const std::shared_ptr<const common_options> common = add_common(*command);
  command->callback([common, options] { study(*options, *common); });
}

}  // namespace layerbench::tool
