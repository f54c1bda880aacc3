// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <csignal>
#include <exception>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include <layerbench/base/error.hpp>
#include <layerbench/base/plain_text.hpp>
#include <layerbench/base/process_setup.hpp>
#include <layerbench/base/terminal.hpp>
#include <layerbench/base/version.hpp>
#include <layerbench/help/completion.hpp>
#include <layerbench/help/formatter.hpp>
#include <layerbench/model/find.hpp>

#include "command_line.hpp"
#include "commands.hpp"
#include "import/import.hpp"

namespace {

using layerbench::exit_code;

/// Removes and returns the arguments of `layerbench versus` and `bisect` from the first `--` on.
/// They are commands, so CLI11 must not parse them.
std::vector<std::string> take_commands(int& argc, char** argv) {
  const std::string_view subcommand = argc < 2 ? "" : argv[1];
  if (subcommand != "versus" && subcommand != "bisect") return {};
  char** const end = argv + argc;
  char** const mark = std::ranges::find_if(
      argv, end, [](const char* word) { return std::string_view(word) == "--"; });
  argc = static_cast<int>(mark - argv);
  return {mark, end};
}

/// Adds the subcommand `help`, and makes `layerbench help predict` `layerbench predict --help`.
void add_help(CLI::App& app, int argc, char** argv) {
  static std::string option = "--help";
  CLI::App* command = app.add_subcommand("help", "Prints this text, or the help of a subcommand");
  const auto name = std::make_shared<std::string>();
  command->add_option("subcommand", *name, "Name of a subcommand");
  command->callback([name, argv] {
    throw layerbench::usage_error(
        fmt::format("unknown subcommand '{}'\nTry: {} --help", *name, argv[0]));
  });
  if (argc < 2 || argc > 3 || std::string_view(argv[1]) != "help") return;
  const auto is_asked = [&](const CLI::App* other) { return other->get_name() == argv[2]; };
  if (argc == 3 && app.get_subcommands(is_asked).empty()) return;
  if (argc == 3) argv[1] = argv[2];
  argv[argc - 1] = option.data();
}

exit_code run(int argc, char** argv) {
  layerbench::tool::importer::install_importer();
  const std::vector<std::string> commands = take_commands(argc, argv);
  CLI::App app("Models and results of layerbench: what a model consists of, how fast it will be.",
               "layerbench");
  app.formatter(std::make_shared<layerbench::help::formatter>());
  app.set_version_flag("--version", "layerbench " + layerbench::version_text());
  app.require_subcommand(1);
  app.footer(
      "Exit codes: 0 done, 1 failure, 2 usage, 3 bad input file, 4 incomplete, 5 nothing matched,\n"
      "77 the backend cannot run here, 130 interrupted.");
  layerbench::tool::add_quickstart(app);
  layerbench::tool::add_list(app);
  layerbench::tool::add_show(app);
  layerbench::tool::add_predict(app);
  layerbench::tool::add_curve(app);
  layerbench::tool::add_memory(app);
  layerbench::tool::add_study(app);
  layerbench::tool::add_validate(app);
  layerbench::tool::add_compare(app);
  layerbench::tool::add_versus(app, commands);
  layerbench::tool::add_bisect(app, commands);
  layerbench::tool::add_report(app);
  layerbench::tool::add_site(app);
  layerbench::tool::add_submit(app);
  layerbench::tool::add_deepbench(app);
  layerbench::tool::add_import(app);
  layerbench::tool::add_explain(app);
  layerbench::tool::add_completion(app);
  add_help(app, argc, argv);
  const auto names = [](const std::string& kind) {
    return layerbench::model::list(layerbench::model::default_shapes_directory(), kind);
  };
  if (layerbench::help::completes(app, argc, argv, names)) return exit_code::done;
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    fmt::print("{}", layerbench::fitted(app.help(), layerbench::terminal_columns()));
  } catch (const CLI::Success& success) {  // the version
    app.exit(success);
  } catch (const CLI::ParseError& e) {
    throw layerbench::usage_error(layerbench::tool::error_message(app, e, argc, argv));
  }
  return exit_code::done;
}

exit_code report(const char* what, exit_code code) {
  layerbench::print_message(what);
  return code;
}

}  // namespace

int main(int argc, char** argv) {
  layerbench::prepare_process();
  // Exit silently if the reader of stdout has gone, even if the parent process ignores SIGPIPE.
  static_cast<void>(std::signal(SIGPIPE, SIG_DFL));
  exit_code code = exit_code::failure;
  try {
    layerbench::require_stack();
    code = run(argc, argv);
  } catch (const layerbench::error& e) {
    code = report(e.what(), e.code());
  } catch (const std::exception& e) {
    code = report(e.what(), exit_code::failure);
  }
  return static_cast<int>(code);
}
