// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <string>

#include "commands.hpp"

namespace layerbench::tool {
namespace {

// Each asks the program for the words that fit (help/completion.hpp), and offers files where it
// fails. A line has a word, a tab and a description.

constexpr const char* programs =
    "layerbench bench_allreduce bench_attention bench_batchnorm bench_conv bench_elementwise "
    "bench_gemm bench_model bench_peak bench_pool bench_rnn bench_softmax";

// Readline takes what follows the last '=' or ':' for the word.
constexpr const char* bash = R"sh(_layerbench() {
  local line=${COMP_LINE:0:COMP_POINT} words found
  read -ra words <<<"$line"
  [[ $line != *[[:space:]] ]] || words+=("")
  found=$("${1/#\~/$HOME}" __complete "${words[@]:1}" 2>/dev/null) || { compopt -o default; return; }
  local word=${words[-1]}
  [[ -z $found ]] || mapfile -t COMPREPLY <<<"$found"
  COMPREPLY=("${COMPREPLY[@]%%$'\t'*}")
  COMPREPLY=("${COMPREPLY[@]#"${word%"${word##*[=:]}"}"}")
}
complete -F _layerbench )sh";

constexpr const char* zsh = R"sh(
_layerbench() {
  local found
  local -a lines
  found=$("${(Q)words[1]}" __complete "${(@Q)words[2,CURRENT-1]}" "$PREFIX" 2>/dev/null) || {
    compset -P '*[=,]'
    _files
    return
  }
  [[ -n $found ]] || return 1
  lines=("${(@f)found}")
  compadd -Q -l -d lines -- "${(@)lines%%$'\t'*}"
}
if [[ $funcstack[1] == _layerbench ]]; then _layerbench; else compdef _layerbench )sh";

constexpr const char* fish = R"sh(function __layerbench
  set -l words (commandline -opc)
  set -l word (commandline -ct)
  $words[1] __complete $words[2..] "$word" 2>/dev/null
  or string replace -r '^' -- (string match -r '^(?:.*=)?' -- "$word") \
    (__fish_complete_path (string replace -r '.*=' '' -- "$word"))
end
for program in )sh";

std::string script(const std::string& shell) {
  const std::string names = programs;
  if (shell == "bash") return bash + names + '\n';
  if (shell == "zsh") return "#compdef " + names + zsh + names + "; fi\n";
  return fish + names + "\n  complete -c $program -f -a '(__layerbench)'\nend\n";
}

}  // namespace

void add_completion(CLI::App& app) {
  CLI::App* command = app.add_subcommand(
      "completion", "Prints what makes a shell complete command lines of all programs");
  const auto shell = std::make_shared<std::string>();
  command
      ->add_option("shell", *shell,
                   "Whose script, such as for ~/.bashrc: eval \"$(layerbench completion bash)\"")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}));
  command->callback([shell] { write({}, script(*shell)); });
}

}  // namespace layerbench::tool
