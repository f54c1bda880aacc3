// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <exception>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include <layerbench/base/error.hpp>
#include <layerbench/help/formatter.hpp>

#include "command_line.hpp"
#include "commands.hpp"
#include "onnx/import.hpp"

namespace {

using layerbench::exit_code;

/// Removes and returns the arguments of `layerbench versus` from the first `--` on. They are two
/// commands, so CLI11 must not parse them.
std::vector<std::string> take_commands(int& argc, char** argv) {
  if (argc < 2 || std::string_view(argv[1]) != "versus") return {};
  char** const end = argv + argc;
  char** const mark = std::ranges::find_if(
      argv, end, [](const char* word) { return std::string_view(word) == "--"; });
  argc = static_cast<int>(mark - argv);
  return {mark, end};
}

exit_code run(int argc, char** argv) {
  layerbench::tool::onnx::install_importer();
  const std::vector<std::string> commands = take_commands(argc, argv);
  CLI::App app("Models and results of layerbench: what a model consists of, how fast it will be.",
               "layerbench");
  app.formatter(std::make_shared<layerbench::help::formatter>());
  app.set_version_flag("--version", "layerbench " LAYERBENCH_VERSION);
  app.require_subcommand(1);
  app.footer(
      "Exit codes: 0 done, 1 failure, 2 usage, 3 bad input file, 4 incomplete, 5 nothing matched,\n"
      "77 the backend cannot run here, 130 interrupted.");
  layerbench::tool::add_list(app);
  layerbench::tool::add_show(app);
  layerbench::tool::add_predict(app);
  layerbench::tool::add_study(app);
  layerbench::tool::add_validate(app);
  layerbench::tool::add_compare(app);
  layerbench::tool::add_versus(app, commands);
  layerbench::tool::add_report(app);
  layerbench::tool::add_deepbench(app);
  layerbench::tool::add_import(app);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& success) {  // help or version
    app.exit(success);
  } catch (const CLI::ParseError& e) {
    throw layerbench::usage_error(layerbench::tool::error_message(app, e, argc, argv));
  }
  return exit_code::done;
}

exit_code report(const char* what, exit_code code) {
  fmt::print(stderr, "layerbench: {}\n", what);
  return code;
}

}  // namespace

int main(int argc, char** argv) {
  // Exit silently if the reader of stdout has gone, even if the parent process ignores SIGPIPE.
  static_cast<void>(std::signal(SIGPIPE, SIG_DFL));
  exit_code code = exit_code::failure;
  try {
    code = run(argc, argv);
  } catch (const layerbench::error& e) {
    code = report(e.what(), e.code());
  } catch (const std::exception& e) {
    code = report(e.what(), exit_code::failure);
  }
  return static_cast<int>(code);
}
