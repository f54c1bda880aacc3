// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <layerbench/analysis/explain/explain.hpp>
#include <layerbench/analysis/explain/json.hpp>
#include <layerbench/analysis/explain/text.hpp>
#include <layerbench/result/verbose_log.hpp>

#include "commands.hpp"
#include "import/read_log.hpp"
#include "import/read_verbose.hpp"

namespace layerbench::tool {
namespace {

struct explain_options {
  std::string log;
  std::vector<std::string> files;
  analysis::log_machine machine;
  bool one_step = false;
  std::size_t top = 20;
};

/// The instruction set of this machine; empty where Linux does not name its flags.
std::string instruction_set_here() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("flags")) return analysis::instruction_set_of(line);
  }
  return {};
}

void run(const explain_options& options, const common_options& common) {
  const result::verbose_log log = importer::read_log(options.log);
  const result::verbose_step step = result::step_of(log, options.one_step);
  const importer::logged_model calls = importer::logged_model_of(log, step);
  analysis::log_machine machine = options.machine;
  if (machine.processors == 0)
    machine.processors = std::max(1U, std::thread::hardware_concurrency());
  if (machine.isa.empty()) machine.isa = instruction_set_here();
  const analysis::explanation found =
      analysis::explain(log, step, calls, machine, read_files(options.files));
  if (common.format == "json") return write(common, json_text(analysis::to_json(found)));
  write(common, common.format == "csv" ? csv(analysis::to_table(found))
                                       : analysis::text(found, options.top));
}

}  // namespace

void add_explain(CLI::App& app) {
  CLI::App* command = app.add_subcommand(
      "explain", "Says why an application is slower than its primitives, by a log of its calls");
  const auto options = std::make_shared<explain_options>();
  command
      ->add_option(
          "log", options->log,
          "The log of the application: oneDNN's (ONEDNN_VERBOSE=2, ONEDNN_VERBOSE_TIMESTAMP=1), "
          "ONNX Runtime's profile, PyTorch's trace, OpenVINO's graph or counters, or Nsight "
          "Systems' export to SQLite")
      ->required();
  command->add_option("results", options->files,
                      "Results of bench_model with the shape file that 'layerbench import verbose' "
                      "makes of the log");
  command
      ->add_option("--processors", options->machine.processors,
                   "Processors of the machine of the log [those of this one]")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1'000'000}));
  command
      ->add_option("--isa", options->machine.isa,
                   "Instruction set of the machine of the log, such as avx2 or avx512_core [that "
                   "of this one]")
      ->type_name("NAME")
      ->check([](const std::string& isa) -> std::string {
        if (analysis::knows_instruction_set(isa)) return {};
        return "expected a name such as sse41, avx2, avx512_core or avx512_core_amx, found " + isa;
      });
  command->add_flag("--one-step", options->one_step,
                    "The log is one step of the application [find the step that repeats]");
  command->add_option("--top", options->top, "Show at most N of the longest calls [20]\n--top=100")
      ->type_name("N")
      ->check(CLI::Range(std::size_t{1}, std::size_t{1'000'000}));
  const std::shared_ptr<const common_options> common = add_common(*command);
  command->callback([common, options] { run(*options, *common); });
}

}  // namespace layerbench::tool
