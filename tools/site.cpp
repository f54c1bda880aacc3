// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <layerbench/analysis/predict/submission.hpp>
#include <layerbench/base/json.hpp>
#include <layerbench/base/output_file.hpp>
#include <layerbench/base/quiet.hpp>
#include <layerbench/model/find.hpp>
#include <layerbench/report/site.hpp>
#include <layerbench/result/read_results.hpp>

#include "commands.hpp"

namespace layerbench::tool {
namespace {

namespace fs = std::filesystem;

struct site_options {
  std::string results;
  std::string output;
  analysis::options predict;
};

/// The JSON files in a folder and its folders but for `without`, in the order of their paths.
/// Throws usage_error if `without` contains the folder.
std::vector<std::string> json_files(const fs::path& folder, const fs::path& without) {
  std::vector<std::string> found;
  std::error_code absent;
  for (fs::path above = fs::canonical(folder);; above = above.parent_path()) {
    if (fs::equivalent(above, without, absent)) {
      throw usage_error(fmt::format("--output: {}: has the result files in it; name another folder",
                                    without.string()));
    }
    if (above == above.parent_path()) break;
  }
  for (fs::recursive_directory_iterator at(folder), end; at != end; ++at) {
    std::error_code unknown;
    if (fs::equivalent(at->path(), without, unknown)) at.disable_recursion_pending();
    if (at->is_regular_file(unknown) && at->path().extension() == ".json") {
      found.push_back(at->path().string());
    }
  }
  std::ranges::sort(found);
  return found;
}

void write_files(const fs::path& folder, const report::site_files& files) {
  for (const auto& [path, text] : files) {
    require_writable("--output", (folder / path).parent_path());
    output_file(folder / path).write(text);
  }
}

void make_site(const site_options& chosen) {
  require_writable("--output", chosen.output);
  report::site site;
  std::vector<std::string> broken;
  std::size_t added = 0;
  std::size_t others = 0;
  for (const std::string& path : json_files(chosen.results, chosen.output)) {
    try {
      const std::string text = json::read_text(path);
      if (text.find("\"benchmarks\"") == text.npos) {
        ++others;
        continue;
      }
      const std::string name = fs::path(path).lexically_relative(chosen.results).string();
      write_files(chosen.output, site.add(result::parse(text, name), text, chosen.predict));
      ++added;
    } catch (const nothing_matched&) {
      ++others;
    } catch (const bad_input& e) {
      broken.emplace_back(e.what());
    }
  }
  if (others > 0) note(fmt::format("JSON files without a step of a model, left out: {}", others));
  if (added == 0 && broken.empty()) {
    throw nothing_matched(chosen.results + ": has no result file (--benchmark_out writes them)");
  }
  write_files(chosen.output, site.overview_of_all());
  note(fmt::format("the site is {}", (fs::path(chosen.output) / "index.html").string()));
  if (!broken.empty()) {
    throw error(fmt::format("left out of the site:\n{}", fmt::join(broken, "\n")),
                exit_code::bad_input);
  }
}

struct submit_options {
  std::string file;
  std::string output = "results/submitted";
  std::vector<std::string> peaks;
};

void submit(const submit_options& chosen) {
  analysis::options predict;
  predict.shapes = model::default_shapes_directory();
  const std::vector<result::results> peaks = read_peaks(chosen.peaks);
  predict.peaks = peaks;
  const analysis::submission checked =
      analysis::submission_of(json::read_text(chosen.file), chosen.file, predict);
  if (!checked.refused.empty()) {
    throw error(fmt::format("{}: refused, nothing is written:\n  {}", chosen.file,
                            fmt::join(checked.refused, "\n  ")),
                exit_code::bad_input);
  }
  require_writable("--output", chosen.output);
  const std::filesystem::path path = std::filesystem::path(chosen.output) / checked.name;
  output_file(path).write(checked.text);
  note(fmt::format(
      "left out: aggregates{}{}",
      checked.removed.empty() ? "" : "; left out or changed: ", fmt::join(checked.removed, ", ")));
  write({}, path.string() + '\n');
}

}  // namespace

void add_site(CLI::App& app) {
  CLI::App* command = app.add_subcommand(
      "site", "Makes a static site of result files, in which machines can be compared");
  const auto options = std::make_shared<site_options>();
  command
      ->add_option("results", options->results, "Folder of result files; subfolders are read, too")
      ->type_name("DIR")
      ->required()
      ->check(CLI::ExistingDirectory);
  command->add_option("-o,--output", options->output, "Folder of the site\n--output=public")
      ->type_name("DIR")
      ->required();
  command->callback([options] {
    options->predict.shapes = model::default_shapes_directory();
    make_site(*options);
  });
}

void add_submit(CLI::App& app) {
  CLI::App* command = app.add_subcommand(
      "submit", "Checks a result file, and writes it without host, folders and command line");
  const auto options = std::make_shared<submit_options>();
  command->add_option("result", options->file, "Result file of bench_model")->required();
  command->add_option("-o,--output", options->output, "Folder for the file")
      ->type_name("DIR")
      ->capture_default_str();
  add_peaks(*command, options->peaks);
  command->callback([options] { submit(*options); });
}

}  // namespace layerbench::tool
