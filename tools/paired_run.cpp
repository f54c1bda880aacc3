// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include "paired_run.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <random>
#include <regex>
#include <system_error>
#include <utility>

#include <unistd.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <layerbench/analysis/compare/pair_verdicts.hpp>
#include <layerbench/base/error.hpp>
#include <layerbench/base/json.hpp>
#include <layerbench/base/plain_text.hpp>
#include <layerbench/base/stats.hpp>
#include <layerbench/base/units.hpp>
#include <layerbench/result/read_results.hpp>

#include "commands.hpp"

namespace layerbench::tool {
namespace {

/// Where the output of a process is.
enum class output_place : std::uint8_t { added_option, own_file, named_file, standard_output };

bool has_placeholder(const invocation& of) {
  return std::ranges::any_of(
      of.line(), [](const std::string& word) { return word.find(placeholder) != word.npos; });
}

output_place place_of(const variant& of, const paired_run_options& chosen) {
  if (has_placeholder(of.command)) return output_place::own_file;
  if (!chosen.read.empty() && chosen.read != "-") return output_place::named_file;
  return chosen.read.empty() && chosen.choice.empty() ? output_place::added_option
                                                      : output_place::standard_output;
}

/// The same command, which writes to `file` where it has placeholders.
invocation writing_to(invocation of, const std::string& file) {
  for (std::vector<std::string>* const words : {&of.variables, &of.words}) {
    for (std::string& word : *words) replace_all(word, placeholder, file);
  }
  return of;
}

bool is_regular(const std::filesystem::path& file) {
  std::error_code ignored;
  return std::filesystem::is_regular_file(file, ignored);
}

/// Whether a result file is of layerbench's programs, not of others of Google Benchmark.
bool is_own(const result::results& file) {
  return !file.rows.empty() || file.context_value("layerbench_version");
}

/// Throws usage_error for options that redirect the results or resume an earlier run, where
/// --benchmark_out is added. Other programs may mean something else by them.
void check_options(const variant& of) {
  if (!environment_value(of.command, "LAYERBENCH_RESUME").value_or("").empty()) {
    throw usage_error(of.name +
                      " command: LAYERBENCH_RESUME is set, but each process measures afresh; unset "
                      "it");
  }
  for (const std::string_view word : of.command.words) {
    const std::string_view option = word.substr(0, word.find('='));
    const bool redirects = option == "--benchmark_out" || option == "--benchmark_out_format";
    if (option != "--resume" && !redirects) continue;
    throw usage_error(fmt::format(
        "{} command: without {}, please: each process gets a file of its own", of.name, option));
  }
}

/// The lines, each indented and after a line break.
std::string indented(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += "\n  " + line;
  return text;
}

/// What that many rounds can decide, in words.
std::string decidable(std::size_t rounds) {
  if (rounds < analysis::min_pairs) return "fewer than 3 rounds give no verdict";
  const double deviations = analysis::detectable_deviations(rounds);
  const double assumed = analysis::least_deviation(rounds);
  if (assumed > 0) {
    return fmt::format("so few find only changes of a model beyond a factor of {:.1f}",
                       std::exp(deviations * assumed));
  }
  return fmt::format(
      "of one model, 9 of 10 times they find a change of {:.1f} standard deviations of the rounds' "
      "ratios; of several rows it must be larger",
      deviations);
}

std::filesystem::path new_directory() {
  const std::filesystem::path all = std::filesystem::temp_directory_path();
  std::string pattern = (all / "layerbench-versus.XXXXXX").string();
  if (::mkdtemp(pattern.data()) != nullptr) return pattern;
  throw error(fmt::format("no temporary directory in {}: {}", all.string(),
                          std::generic_category().message(errno)));
}

/// The error of a regular expression; empty without one.
std::string check_pattern(const std::string& text) {
  try {
    if (std::regex(text).mark_count() == 1) return {};
    return "expected a regular expression with one group, such as 'time: ([0-9.]+)', found " + text;
  } catch (const std::regex_error& e) {
    return fmt::format("no regular expression: {}: {}", text, e.what());
  }
}

}  // namespace

void add_pair_options(CLI::App& command, paired_run_options& chosen, std::size_t least) {
  command
      .add_option("--rounds", chosen.rounds,
                  "Largest number of pairs. The run ends after 12 or more once every verdict is "
                  "sure. Fewer than 3 give no verdict\n--rounds=12")
      ->check(CLI::Range(least, std::size_t{1000}))
      ->capture_default_str();
  command
      .add_option("--max-time", chosen.max_seconds,
                  "No pair begins after that many seconds\n--max-time=3600")
      ->type_name("SECONDS")
      ->check([](const std::string& text) {
        return check_number(text, 1, 1e9, "a number of seconds, such as 3600");
      });
  command.add_option("--seed", chosen.seed, "Seed of the random order in each round")
      ->check(CLI::Range(std::int64_t{0}, std::numeric_limits<std::int64_t>::max()))
      ->capture_default_str();
  command.add_flag("--verbose", chosen.verbose, "Show on stderr what the programs print");
}

void add_output_options(CLI::App& command, paired_run_options& chosen) {
  command
      .add_option("--read", chosen.read,
                  "Read the file that both commands write, - for what they print\n--read=-")
      ->type_name("FILE");
  CLI::Option* const columns =
      add_values(command, "--csv", "COLUMN", chosen.choice.columns,
                 "Read CSV: the columns of a row's name, then that of its number\n"
                 "--csv=name,milliseconds");
  command
      .add_option("--metric", chosen.choice.pattern,
                  "Read a number: the group of this regular expression\n"
                  "--metric='([0-9.]+) tokens/s'")
      ->type_name("REGEX")
      ->excludes(columns)
      ->check(check_pattern);
  command.add_flag("--higher-is-better", chosen.choice.higher_is_better,
                   "Numbers of --csv and --metric are rates, not times");
  command
      .add_option_function<std::string>(
          "--weights",
          [&chosen](const std::string& file) {
            chosen.weights = result::read_weights(json::read_text(file), file);
          },
          "CSV file with columns name and weight, for the sum of the rows [all 1]")
      ->type_name("FILE");
}

variant variant_of(std::string name, const std::vector<std::string>& line,
                   const paired_run_options& chosen) {
  if (chosen.choice.higher_is_better && chosen.choice.empty()) {
    throw usage_error(
        "--higher-is-better is for the numbers of --csv and --metric; give one of them, or leave "
        "it out");
  }
  variant one{std::move(name), invocation_of(line)};
  if (place_of(one, chosen) == output_place::added_option) check_options(one);
  return one;
}

two_variants variants_of(const paired_run_options& chosen, const std::vector<std::string>& words) {
  std::vector<std::vector<std::string>> lines;
  for (const std::string& word : words) {
    if (word == "--") {
      lines.emplace_back();
    } else {
      lines.back().push_back(word);
    }
  }
  const auto empty = [](const std::vector<std::string>& line) { return line.empty(); };
  if (lines.size() != 2 || std::ranges::any_of(lines, empty)) {
    throw usage_error(
        "versus needs two commands, each behind a --\n"
        "Try: layerbench versus [OPTIONS] -- OLD COMMAND -- NEW COMMAND");
  }
  two_variants both{variant_of("old", lines[0], chosen), variant_of("new", lines[1], chosen)};
  for (const variant& one : both) {
    try {
      static_cast<void>(find_program(one.command));
    } catch (const usage_error& e) {
      throw usage_error(fmt::format("{} command: {}", one.name, e.what()));
    }
  }
  return both;
}

scratch_directory::scratch_directory(std::filesystem::path keep) : keep_(std::move(keep)) {
  if (!keep_.empty()) {
    require_writable("--keep", keep_);
    if (!std::filesystem::is_empty(keep_)) {
      throw usage_error(fmt::format("--keep: {} is not empty", keep_.string()));
    }
  }
  path_ = new_directory();
}

scratch_directory::~scratch_directory() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::string scratch_directory::keep(const std::string& name) const {
  if (keep_.empty()) return name;
  std::filesystem::copy_file(path_ / name, keep_ / name);
  return (keep_ / name).string();
}

set_aside::set_aside(const std::string& file) : file_(file) {
  if (file == "-" || !is_regular(file_)) return;
  aside_ = file + ".before-versus";
  std::error_code failed;
  if (std::filesystem::exists(aside_)) failed = std::make_error_code(std::errc::file_exists);
  if (!failed) std::filesystem::rename(file_, aside_, failed);
  if (!failed) return;
  throw usage_error(fmt::format("--read: {} exists and cannot be moved to {}: {}; move it yourself",
                                file, aside_.string(), failed.message()));
}

set_aside::~set_aside() {
  std::error_code ignored;
  if (!aside_.empty()) std::filesystem::rename(aside_, file_, ignored);
}

void paired_run::measure(const std::function<bool(const analysis::comparison&)>& enough) {
  std::mt19937_64 random(chosen_.seed);
  progress shown(2 * chosen_.rounds);
  const auto start = std::chrono::steady_clock::now();
  for (std::size_t round = 1; round <= chosen_.rounds; ++round) {
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
    if (taken.count() > chosen_.max_seconds || !run_round(round, random() % 2, shown)) return;
    if ((round == 1 || is_looked_at(round)) && enough(compared())) return;
  }
}

/// Whether the run may end after this round.
bool paired_run::is_looked_at(std::size_t round) const {
  if (chosen_.every_round) return false;
  const std::vector<analysis::look> looks = analysis::looks_until(chosen_.rounds);
  return std::ranges::find(looks, round, &analysis::look::pairs) != looks.end();
}

/// After the first process, says how long the rounds that --max-time allows take, if long.
void paired_run::announce(double process_seconds, progress& shown) const {
  constexpr double worth_saying = 10;
  const double round_seconds = process_seconds * 2;
  const double begun = std::max(1.0, std::ceil(chosen_.max_seconds / round_seconds));
  const bool all_fit = begun >= static_cast<double>(chosen_.rounds);
  const std::size_t rounds = all_fit ? chosen_.rounds : static_cast<std::size_t>(begun);
  const double seconds = round_seconds * static_cast<double>(rounds);
  if (seconds < worth_saying) return;
  const bool may_stop = !chosen_.every_round && analysis::looks_until(chosen_.rounds).size() > 1;
  shown.say(fmt::format("about {} for {}{}{} rounds of two processes; {}", units::duration(seconds),
                        may_stop ? "at most " : "", rounds,
                        all_fit ? "" : fmt::format(" of {}", chosen_.rounds), decidable(rounds)));
}

analysis::comparison paired_run::compared() const {
  compare_options options = chosen_.compare;
  options.most_pairs = chosen_.every_round ? 0 : chosen_.rounds;
  const auto& [old, now] = variants_;
  if (old.files.size() == now.files.size() && !old.files.empty()) {
    if (!chosen_.weights.empty()) {
      throw usage_error(
          "--weights is for rows of other programs; layerbench's count as often as a step has "
          "them; leave it out");
    }
    return compare(old.files, now.files, options);
  }
  if (old.outputs.size() == now.outputs.size()) {
    if (!options.dimension.empty() || options.force) {
      throw usage_error(
          fmt::format("{} is for programs of layerbench; others do not record what they ran on; "
                      "leave it out",
                      options.force ? "--force" : "--across"));
    }
    return compare(old.outputs, now.outputs, chosen_.weights, options);
  }
  throw error("one command is a program of layerbench, the other is not; their rows differ",
              exit_code::bad_input);
}

void paired_run::note_without_effect(const analysis::comparison& all) const {
  if (!all.format.empty()) return;  // other programs do not say what they loaded
  const bool same_isa = std::ranges::none_of(
      all.difference.fields, [](const std::string& field) { return field.ends_with("_isa"); });
  for (std::size_t i = 0; i < variants_.size(); ++i) {
    const std::vector<std::string>& others = variants_.at(1 - i).command.variables;
    for (const std::string& variable : variants_.at(i).command.variables) {
      if (std::ranges::find(others, variable) != others.end()) continue;
      const bool chooses_isa = variable.substr(0, variable.find('=')).ends_with("_ISA");
      if (!all.difference.fields.empty() && !(chooses_isa && same_isa)) continue;
      note(
          fmt::format("{} changed nothing that the results record, such as a library's version or "
                      "instruction set; is its name right?",
                      variable));
    }
  }
}

std::string paired_run::text(const analysis::comparison& all) const {
  std::string out;
  for (const variant& variant : variants_) {
    out += fmt::format("{} command: {}\n", variant.name, fmt::join(variant.command.line(), " "));
  }
  std::string early;
  if (all.sure && rounds() < chosen_.rounds) {
    early =
        fmt::format("; {} were not needed, since every verdict is sure", chosen_.rounds - rounds());
  } else if (rounds() < chosen_.rounds && !interrupted()) {
    early = fmt::format("; --max-time left no time for {} more", chosen_.rounds - rounds());
  }
  return out + fmt::format("{}{} rounds, a fresh process of each in random order (seed {}){}\n",
                           interrupted() ? "interrupted: " : "", rounds(), chosen_.seed, early);
}

json::value paired_run::to_json(const analysis::comparison& all) const {
  return {{"old_command", variants_[0].command.line()},
          {"new_command", variants_[1].command.line()},
          {"rounds", rounds()},
          {"most_rounds", chosen_.rounds},
          {"sure", all.sure},
          {"seed", chosen_.seed},
          {"first", first_},
          {"interrupted", interrupted()}};
}

/// Runs both variants, starting with number `first`. Returns false if a signal arrived.
bool paired_run::run_round(std::size_t round, std::size_t first, progress& shown) {
  const auto file = [&](std::size_t i) {
    const bool is_json = chosen_.read.empty() && chosen_.choice.empty();
    return fmt::format("{}_{}.{}", variants_.at(i).name, round, is_json ? "json" : "out");
  };
  std::array<process_output, 2> measured;
  for (const std::size_t i : {first, 1 - first}) {
    const std::string what = fmt::format("round {}: {}", round, variants_.at(i).name);
    if (chosen_.verbose) {
      print_message(what);
    } else {
      shown.step(what);
    }
    const std::filesystem::path path = scratch_.path(file(i));
    const auto start = std::chrono::steady_clock::now();
    run(variants_.at(i), round, path);
    if (interrupted()) return false;
    try {
      measured.at(i) = read(variants_.at(i), round, path);
    } catch (const bad_input& e) {
      const std::string_view message = e.what();
      const std::string_view place = " command: ";  // see read
      const std::size_t at = message.find(place);
      throw failed_process(i,
                           std::string(message.substr(at == message.npos ? 0 : at + place.size())),
                           e.what(), e.code());
    }
    if (round == 1 && i == first) {
      const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
      announce(taken.count(), shown);
    }
  }
  for (std::size_t i = 0; i < measured.size(); ++i) {
    keep(variants_.at(i), file(i), std::move(measured.at(i)));
  }
  first_.push_back(variants_.at(first).name);
  return true;
}

/// Runs one process of a variant, whose output is then in `file`. Throws if it fails, unless a
/// signal arrived.
void paired_run::run(const variant& of, std::size_t round, const std::filesystem::path& file) {
  const std::filesystem::path errors = scratch_.path("stderr");
  const output_place place = place_of(of, chosen_);
  invocation command = writing_to(of.command, file.string());
  if (place == output_place::added_option) {
    command.words.insert(command.words.end(),
                         {"--benchmark_out=" + file.string(), "--benchmark_out_format=json"});
  }
  const bool from_file = place == output_place::named_file;
  if (from_file && is_regular(chosen_.read)) std::filesystem::remove(chosen_.read);
  const int status = runner_.run(command, chosen_.verbose ? "" : errors.string(),
                                 place == output_place::standard_output ? file.string() : "");
  if (interrupted()) return;
  if (status == 0 && from_file && std::filesystem::exists(chosen_.read)) {
    std::filesystem::copy_file(chosen_.read, file);
  }
  if (status == 0 && std::filesystem::exists(file)) return;
  const std::string how =
      status != 0 ? status_text(status)
      : from_file ? "it did not write " + chosen_.read
                  : fmt::format(
                        "it wrote no results; is it a benchmark program? {} in a command is "
                        "the file that it writes, --read=- reads its stdout",
                        placeholder);
  std::string message =
      fmt::format("round {}, {} command: {}: {}{}", round, of.name, how,
                  fmt::join(of.command.line(), " "), indented(last_lines(errors, 5)));
  if (rounds() > 0 && !chosen_.keep.empty()) {
    message += fmt::format("\nlayerbench: {} whole rounds are in {}", rounds(), chosen_.keep);
  }
  const std::vector<std::string> last = last_lines(errors, 1);
  throw failed_process(&of == variants_.data() ? 0 : 1,
                       last.empty() ? how : fmt::format("{}: {}", how, last.front()), message,
                       exit_code_of(status));
}

/// Reads what a process gave. Throws bad_input, naming command and place.
paired_run::process_output paired_run::read(const variant& of, std::size_t round,
                                            const std::filesystem::path& file) const {
  const output_place place = place_of(of, chosen_);
  // The first round tells whose program it is.
  if (place == output_place::added_option && of.outputs.empty()) {
    result::results own = result::read(file);
    if (is_own(own)) return {std::move(own), {}};
  }
  const std::string name = fmt::format("round {}, {} command: {}", round, of.name,
                                       place == output_place::named_file        ? chosen_.read
                                       : place == output_place::standard_output ? "its stdout"
                                                                                : "its file");
  const std::string text = json::read_text(file);
  if (!of.files.empty()) return {result::parse(text, name), {}};
  result::metrics other = result::read_metrics(text, name, chosen_.choice);
  const bool is_known = place == output_place::added_option || !of.outputs.empty();
  if (!is_known && other.format == result::google_format) {
    result::results own = result::parse(text, name);
    if (is_own(own)) return {std::move(own), {}};
  }
  return {std::nullopt, std::move(other)};
}

/// Adds the output of a finished round to its variant.
void paired_run::keep(variant& of, const std::string& file, process_output output) const {
  const std::string shown = scratch_.keep(file);
  if (output.own) {
    output.own->file = shown;
    of.files.push_back(std::move(*output.own));
  } else {
    output.other.file = shown;
    of.outputs.push_back(std::move(output.other));
  }
}

}  // namespace layerbench::tool
