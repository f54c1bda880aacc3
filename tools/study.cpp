// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <layerbench/analysis/scaling/network_file.hpp>
#include <layerbench/analysis/study/json.hpp>
#include <layerbench/analysis/study/own_figures.hpp>
#include <layerbench/analysis/study/planned_runs.hpp>
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
  bool all = false;
  std::vector<std::string> results;
  std::vector<std::string> models;
  bool smallest = false;
  bool run = false;
  std::string folder;
  std::optional<double> budget;  // seconds for all runs
  std::vector<std::string> network;
};

/// A study's table: published figures, and those of this machine.
struct study_table {
  analysis::study published;
  std::vector<analysis::study_row> rows;
  std::vector<std::string> commands;  // that measure the cells here
};

/// The folder for the results of the study, as its commands name it.
std::string folder_of(const study_options& chosen, const analysis::study& study) {
  if (chosen.folder.empty()) return study.name + "_results";
  return chosen.all ? (fs::path(chosen.folder) / study.name).string() : chosen.folder;
}

/// The cells that the options select.
std::vector<analysis::study_cell> select(const study_options& chosen, const analysis::study& study,
                                         const std::string& shapes) {
  std::vector<analysis::study_cell> cells = study.cells;
  if (!chosen.models.empty()) {
    std::vector<std::string> models;
    for (const std::string& model : chosen.models) {
      models.push_back(model::find(model, shapes).stem().string());
      if (!chosen.all &&
          std::ranges::find(cells, models.back(), &analysis::study_cell::model) == cells.end()) {
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

/// The chosen cells of a study, and the runs that measure them.
struct chosen_study {
  analysis::study published;
  std::vector<analysis::study_cell> cells;
  std::vector<analysis::study_run> runs;
  std::string folder;              // of the results
  std::vector<std::string> files;  // that runs wrote, earlier ones included
  std::vector<failed_run> failed;
};

/// Runs bench_model for the cells of studies, one process per phase, data type, batch and number of
/// threads.
class study_runner {
 public:
  study_runner(std::optional<double> budget, const common_options& common)
      : budget_(budget), common_(common), program_(find_bench_model()) {}

  /// Each run gets a share of what the runs before it left of the budget, by its models. Those for
  /// which nothing is left, or that need more processors than there are, count as failed.
  void measure(std::vector<chosen_study>& studies) {
    for (const chosen_study& of : studies) {
      require_other_output(of.runs, of.folder, common_);
      require_writable("--out", of.folder);
      runs_ += of.runs.size();
      for (const analysis::study_run& run : of.runs) models_ += run.models.size();
    }
    begin_ = std::chrono::steady_clock::now();
    for (chosen_study& of : studies) {
      for (const analysis::study_run& run : of.runs) {
        if (!interrupted()) measure(of, run);
      }
    }
  }

  [[nodiscard]] bool interrupted() const { return runner_.interrupted(); }

 private:
  void measure(chosen_study& of, const analysis::study_run& run) {
    const std::size_t run_number = ++begun_;
    const std::size_t models = std::exchange(models_, models_ - run.models.size());
    const std::int64_t processors = std::thread::hardware_concurrency();  // 0: not known
    if (processors > 0 && run.threads > processors) {
      leave_out(
          of, run,
          fmt::format("{} threads need as many processors, here are {}", run.threads, processors));
      return;
    }
    std::vector<std::string> more = arguments(run, of.folder, common_);
    if (budget_) {
      const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begin_;
      const double share = static_cast<double>(run.models.size()) / static_cast<double>(models);
      const double seconds = (*budget_ - spent.count()) * share;
      if (seconds <= 0) {
        leave_out(of, run, fmt::format("--budget={:g} was spent", *budget_));
        return;
      }
      more.push_back(fmt::format("--budget={:.3f}", seconds));
    }
    note(fmt::format("run {} of {}: bench_model {}", run_number, runs_, fmt::join(more, " ")));
    start(of, run, more);
  }

  void start(chosen_study& of, const analysis::study_run& run,
             const std::vector<std::string>& more) {
    const fs::path log = fs::path(of.folder) / fs::path(run.file()).replace_extension(".log");
    invocation command{{}, {program_}};
    command.words.insert(command.words.end(), more.begin(), more.end());
    const int status = runner_.run(command, log.string());
    add_results(of, run);
    if (status == 0 || interrupted()) return;
    of.failed.push_back({run, exit_code_of(status),
                         fmt::format("bench_model: {}{}", status_text(status), last_line(log))});
  }

  /// Leaves a run out. Earlier results of it count.
  static void leave_out(chosen_study& of, const analysis::study_run& run,
                        const std::string& reason) {
    of.failed.push_back({run, exit_code::incomplete, "left out: " + reason});
    add_results(of, run);
  }

  static void add_results(chosen_study& of, const analysis::study_run& run) {
    const fs::path file = fs::path(of.folder) / run.file();
    if (fs::exists(file)) of.files.push_back(file.string());
  }

  /// The last line of a file that is not empty, after a colon.
  static std::string last_line(const fs::path& file) {
    const std::vector<std::string> lines = last_lines(file, 1);
    return lines.empty() ? "" : ": " + lines.back();
  }

  std::optional<double> budget_;
  const common_options& common_;
  std::string program_;
  process_runner runner_;
  std::chrono::steady_clock::time_point begin_;
  std::size_t runs_ = 0;    // of all studies
  std::size_t begun_ = 0;   // of these
  std::size_t models_ = 0;  // of the runs that are left
};

/// Says for the rows without figure that their run failed.
void add_reasons(std::vector<analysis::study_row>& rows, const std::vector<failed_run>& failed) {
  for (analysis::study_row& row : rows) {
    if (!row.own.empty()) continue;
    for (const auto& [run, code, reason] : failed) {
      if (run.measures(row.cell)) row.reason = reason;
    }
  }
}

std::string text_of(const study_table& table) {
  std::string out = analysis::text(table.published, table.rows);
  if (analysis::machines(table.rows).empty() && !table.commands.empty()) {
    const bool has_power = std::ranges::any_of(
        table.rows, [](const analysis::study_row& row) { return row.cell.unit == "W"; });
    out += fmt::format("\nto measure the cells here (or --run){}:\n  {}\n",
                       has_power ? "; cells in W need --energy, too" : "",
                       fmt::join(table.commands, "\n  "));
  }
  return out;
}

json::value json_of(const study_table& table) {
  json::value result = analysis::to_json(table.published, table.rows);
  result["commands"] = table.commands;
  return result;
}

/// The only table, or `all` of them.
std::string render(const std::vector<study_table>& tables, bool all, const std::string& format) {
  if (format == "csv") {
    table lines;
    for (const study_table& one : tables) {
      table more = analysis::records(one.published, one.rows);
      lines.columns = more.columns;
      std::ranges::move(more.rows, std::back_inserter(lines.rows));
    }
    return csv(lines);
  }
  if (format == "json") {
    if (!all) return json_text(json_of(tables.front()));
    json::value studies = json::value::array();
    for (const study_table& one : tables) studies.push_back(json_of(one));
    return json_text({{"schema", 1}, {"studies", studies}});
  }
  std::string out;
  for (const study_table& one : tables) {
    if (all) out += fmt::format("{}{}: ", out.empty() ? "" : "\n", one.published.name);
    out += text_of(one);
  }
  return out;
}

/// Throws error, naming the cases, if a measured cell lacks layers.
void require_complete(const std::vector<study_table>& tables) {
  std::string incomplete;
  for (const study_table& one : tables) {
    for (const analysis::study_row& row : one.rows) {
      for (const analysis::own_figure& own : row.own) {
        if (own.value) continue;
        incomplete += fmt::format("\n  {} {}, batch {}, {}, {}: {}", row.cell.model, row.cell.phase,
                                  row.cell.batch, row.cell.dtype, own.machine, own.reason);
      }
    }
  }
  if (!incomplete.empty()) throw error("incomplete cells:" + incomplete, exit_code::incomplete);
}

/// The tables of the chosen studies, and what went wrong in their runs.
class studies {
 public:
  studies(const study_options& chosen, const common_options& common)
      : chosen_(chosen), common_(common) {
    figures_.shapes = common.shapes;
    if (!chosen.network.empty()) {
      figures_.interconnect = analysis::load_network(chosen.network, common.shapes);
    }
  }

  /// Makes the tables of these studies, whose cells are measured first if the options say so. --all
  /// leaves out studies that have none of the chosen models or no figure of the result files.
  void make(const std::vector<std::string>& names) {
    std::vector<chosen_study> all;
    for (const std::string& name : names) add(all, name);
    if (chosen_.run && !all.empty()) {
      study_runner runner(chosen_.budget, common_);
      runner.measure(all);
      interrupted_ = runner.interrupted();
    } else {
      results_ = read_results(files_in(chosen_.results));
    }
    for (const chosen_study& of : all) add_table(of);
  }

  /// Writes the tables. Throws error for runs that failed and cells without all layers,
  /// nothing_matched where nothing was chosen or the result files have no cell.
  void finish() const {
    if (!tables_.empty()) write(common_, render(tables_, chosen_.all, common_.format));
    if (interrupted_) throw error("interrupted", exit_code::interrupted);
    require_complete(tables_);
    if (!failed_.empty()) throw error(failed_.front().reason, failed_.front().code);
    if (!has_figures_) {
      throw nothing_matched(results_.empty() ? "--model: no study has a cell of these models"
                                             : "the result files have no cell of the study");
    }
  }

 private:
  /// Adds a study, unless it has none of the chosen cells.
  void add(std::vector<chosen_study>& all, const std::string& name) const {
    chosen_study of{analysis::load_study(name, common_.shapes), {}, {}, {}, {}, {}};
    of.cells = select(chosen_, of.published, common_.shapes);
    if (of.cells.empty()) return;
    of.runs = analysis::runs_of(of.cells);
    of.folder = folder_of(chosen_, of.published);
    all.push_back(std::move(of));
  }

  void add_table(const chosen_study& of) {
    // After an interrupt, the studies that it left without a run.
    if (interrupted_ && of.files.empty() && of.failed.empty()) return;
    if (chosen_.run) results_ = read_results(of.files);
    study_table one{of.published, analysis::own_figures(of.published, of.cells, results_, figures_),
                    commands(of.runs, of.folder, common_)};
    add_reasons(one.rows, of.failed);
    failed_.insert(failed_.end(), of.failed.begin(), of.failed.end());
    const bool unknown = !results_.empty() && analysis::machines(one.rows).empty();
    if (chosen_.all && !chosen_.run && unknown) return;
    has_figures_ = has_figures_ || !unknown;
    tables_.push_back(std::move(one));
  }

  const study_options& chosen_;
  const common_options& common_;
  analysis::figure_options figures_;
  std::vector<result::results> results_;
  std::vector<study_table> tables_;
  std::vector<failed_run> failed_;
  bool has_figures_ = false;
  bool interrupted_ = false;
};

/// With --all the first argument is a result file too.
void sort_arguments(study_options& chosen, const std::vector<std::string>& known) {
  if (!chosen.all) {
    if (chosen.name.empty()) throw usage_error("name a study, or give --all");
    return;
  }
  if (!fs::exists(chosen.name) && std::ranges::find(known, chosen.name) != known.end()) {
    throw usage_error(fmt::format("--all goes without the name of a study, found {}", chosen.name));
  }
  if (!chosen.name.empty()) chosen.results.insert(chosen.results.begin(), chosen.name);
  if (chosen.run && !chosen.results.empty()) {
    throw usage_error("--all --run goes without a study and result files");
  }
}

void study(study_options chosen, const common_options& common) {
  std::vector<std::string> known;
  if (chosen.all) known = analysis::list_studies(common.shapes);
  sort_arguments(chosen, known);
  studies all(chosen, common);
  all.make(chosen.all ? known : std::vector{chosen.name});
  all.finish();
}

void add_options(CLI::App& command, study_options& chosen) {
  command.add_option(
      "study", chosen.name,
      "Name of a study, or path of a study file; with --all a result file or folder");
  CLI::Option* results = command.add_option(
      "results", chosen.results, "Result files of bench_model, or folders of them [none]");
  add_values(command, "--model,--models", "NAME", chosen.models,
             "Only cells of these models [all]\n--model=lenet5,resnet50");
  command.add_flag("--all", chosen.all, "All studies instead of one");
  command.add_flag("--smallest", chosen.smallest,
                   "Only the cell with the least arithmetic, of each study");
  CLI::Option* run = command.add_flag("--run", chosen.run, "Measure the cells with bench_model");
  run->excludes(results);
  command
      .add_option("--out", chosen.folder,
                  "Folder of the results of --run, to be resumed; with --all it has one for each "
                  "study [NAME_results]")
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
  add_values(command, "--network", "NAME|FILE", chosen.network,
             "What joins the devices of cells of several, as of predict [these cells are left "
             "open]\n--network=pcie3");
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
