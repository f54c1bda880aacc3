// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>

#include <fmt/format.h>

#include <layerbench/base/error.hpp>
#include <layerbench/base/program_path.hpp>

#include "commands.hpp"
#include "process.hpp"

namespace layerbench::tool {
namespace {

namespace fs = std::filesystem;

void print_now(const std::string& text) {
  write({}, text);
  std::fflush(stdout);
}

/// Times every layer of three models, and the models themselves (batch 1, f32, all cores).
void quickstart(const std::string& folder) {
  require_writable("--out", folder);
  const std::string results = fs::path(folder) / "quickstart.json";
  const std::string report = fs::path(folder) / "quickstart.html";
  const std::string bench = find_bench_model();
  process_runner runner;
  const auto check_interrupt = [&] {
    if (runner.interrupted()) throw error("interrupted", exit_code::interrupted);
  };
  // What to know before some minutes are spent on it.
  const int fit = runner.run_visibly({{}, {bench, "--check-machine"}});
  check_interrupt();
  if (exit_code_of(fit) == exit_code::incomplete) {
    print_now("measuring anyway: expect larger errors than on an idle machine; repeat on one\n");
  }
  // In 45 seconds, preparation included. A slow or busy machine gets fewer rounds, and leaves out
  // what does not fit.
  const int measured = runner.run_visibly(
      {{},
       {bench, "--model=resnet50,vgg16,alexnet", "--batch=1", "--dtype=f32", "--cache=model,hot",
        "--chain", "--budget=45", "--benchmark_out=" + results}});
  check_interrupt();
  const bool incomplete = exit_code_of(measured) == exit_code::incomplete;
  if (measured != 0 && !incomplete) {
    throw error("bench_model: " + status_text(measured), exit_code_of(measured));
  }
  const std::string shown = program_path("layerbench");
  const int reported =
      runner.run_visibly({{}, {shown, "report", "--quiet", results, "-o", report}});
  check_interrupt();
  // It is also written where layers were left out, which it says once more.
  const bool written = reported == 0 || exit_code_of(reported) == exit_code::incomplete;
  std::string text = "\n";
  if (written) text += fmt::format("report with all layers, for a browser: {}\n", report);
  text += fmt::format("every timing, with its conditions: {}\n\nnext:\n", results);
  text += fmt::format("  {} predict {}    # the slowest layers\n", shown, results);
  text += fmt::format("  {} list    # other networks\n", shown);
  text += fmt::format("  {} --model=mobilenet_v2 --chain --benchmark_out={}\n", bench,
                      (fs::path(folder) / "mobilenet.json").string());
  text += fmt::format("  {} --help    # all commands\n", shown);
  text +=
      "your PyTorch model: layerbench-from-torch of the wheel, tools/from_torch.py of a clone\n";
  print_now(text);
  if (!written) throw error("report: " + status_text(reported), exit_code_of(reported));
  if (incomplete) throw error("not all was measured, see above", exit_code::incomplete);
}

}  // namespace

void add_quickstart(CLI::App& app) {
  CLI::App* command = app.add_subcommand(
      "quickstart", "Times every layer of ResNet-50, VGG-16 and AlexNet here, in a minute");
  const auto folder = std::make_shared<std::string>(".");
  command
      ->add_option(
          "--out", *folder,
          "Folder of quickstart.json and of the report, quickstart.html [.]\n--out=results")
      ->type_name("DIR");
  command->callback([folder] { quickstart(*folder); });
}

}  // namespace layerbench::tool
