// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <layerbench/analysis/compare/bisection.hpp>
#include <layerbench/analysis/compare/paired_ratio.hpp>
#include <layerbench/base/error.hpp>
#include <layerbench/base/json.hpp>
#include <layerbench/base/number_format.hpp>
#include <layerbench/base/output_file.hpp>
#include <layerbench/base/table.hpp>
#include <layerbench/base/units.hpp>
#include <layerbench/shape/record.hpp>

#include "commands.hpp"
#include "paired_run.hpp"
#include "releases.hpp"

namespace layerbench::tool {
namespace {

using analysis::bisect_answer;
using analysis::change_direction;
using analysis::changed_row;
using analysis::release_side;
using analysis::tried_release;
using analysis::verdict;

struct bisect_options {
  release_options of;
  paired_run_options pairs;
  change_direction direction = change_direction::slower;
  std::string resume;  ///< file; empty: none
};

json::value to_json(const changed_row& of) {
  return {{"name", of.name},
          {"ratio", of.ratio},
          {"low", of.low},
          {"high", of.high},
          {"verdict", layerbench::name(of.verdict)}};
}

changed_row row_of(const json::cursor& from) {
  from.require_keys({"name", "ratio", "low", "high", "verdict"});
  return {from["name"].get(), from["ratio"].number(), from["low"].number(), from["high"].number(),
          verdict(from["verdict"].index_in(list_names(verdict())))};
}

/// What a search is of, beside its command and the names of its releases.
json::value to_json(const bisect_options& of) {
  const paired_run_options& pairs = of.pairs;
  return {{"env", of.of.variable.substr(0, of.of.variable.find('='))},
          {"package", of.of.package},
          {"with", of.of.with},
          {"rounds", pairs.rounds},
          {"margin", pairs.compare.margin},
          {"read", pairs.read},
          {"csv", pairs.choice.columns},
          {"metric", pairs.choice.pattern},
          {"higher_is_better", pairs.choice.higher_is_better},
          {"weights", pairs.weights}};
}

std::string ratio_text(const changed_row& of) {
  return fmt::format("{:.3f} ({:.3f} to {:.3f})", of.ratio, of.low, of.high);
}

/// Compares releases until the one with the change is found.
class bisect_run {
 public:
  bisect_run(const bisect_options& chosen, const std::vector<std::string>& line)
      : chosen_(chosen),
        line_(line),
        releases_(chosen.of, line),
        found_(releases_.names().size(), chosen.direction) {
    // Options that no release may have.
    static_cast<void>(variant_of("the", line, chosen.pairs));
    if (!chosen_.resume.empty() && std::filesystem::exists(chosen_.resume)) read_earlier();
  }

  void measure() {
    for (std::size_t done = 0; stopped_.empty() && found_.next(); ++done) {
      const std::size_t left = found_.most_left();
      const std::size_t next = *found_.next();
      std::string progress =
          fmt::format("{} with {}; {} comparison{} left", name(found_.base(next)), name(next), left,
                      left == 1 ? "" : "s");
      if (done > 0) {
        const double mean = seconds() / static_cast<double>(done);
        progress += ", about " + units::duration(mean * static_cast<double>(left));
      }
      note(progress);
      compare(next);
      if (chosen_.resume.empty()) continue;
      output_file(chosen_.resume, overwrite_rule::updated)
          .write(json_text(to_json(/*with_tentative=*/false)));
    }
  }

  [[nodiscard]] std::string text() const;
  /// `with_tentative`: with the releases that a resumed search tries again.
  [[nodiscard]] json::value to_json(bool with_tentative = true) const;

  /// Throws error unless the search came to its end.
  void require_end() const {
    if (!stopped_.empty()) throw error(stopped_, code_);
    if (found_.answer() == bisect_answer::failed) {
      throw error("fewer than two releases can be compared", exit_code::incomplete);
    }
  }

 private:
  [[nodiscard]] const std::string& name(std::size_t release) const {
    return releases_.names().at(release);
  }

  [[nodiscard]] bool compares_all() const { return chosen_.direction == change_direction::all; }

  /// Since the search began.
  [[nodiscard]] double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

  void compare(std::size_t release) {
    paired_run_options pairs = chosen_.pairs;
    std::size_t preparing = found_.base(release);
    bool is_prepared = false;
    try {
      two_variants both{variant{"old", {}}, variant{"new", {}}};
      for (variant& one : both) {
        if (&one != both.data()) preparing = release;
        if (seconds() > chosen_.pairs.max_seconds) return stop_late();
        one = variant_of(one.name, releases_.command(preparing), pairs);
        static_cast<void>(find_program(one.command));
      }
      is_prepared = true;
      pairs.max_seconds -= seconds();
      compare(paired_run(pairs, std::move(both)), pairs.rounds);
    } catch (const failed_process& e) {
      skip(e.side == 0 ? found_.base(release) : release, e.how, e);
    } catch (const failed_install& e) {
      not_installed_.push_back(preparing);
      skip(preparing, e.what(), e);
    } catch (const error& e) {
      if (e.code() == exit_code::interrupted) return stop("interrupted", e.code());
      const bool is_program_missing = !is_prepared && e.code() == exit_code::usage;
      // What else is wrong with a comparison, or with Python, is so with any release.
      if (!is_program_missing && e.code() != exit_code::nothing_matched) {
        if (found_.decided() == 0) throw;
        return stop(e.what(), e.code());
      }
      // So is a program that is not part of a build.
      if (is_program_missing && found_.decided() == 0 && chosen_.of.builds.empty()) throw;
      skip(preparing, is_program_missing ? "has no such program" : e.what(), e);
    }
  }

  void compare(paired_run both, std::size_t rounds) {
    bool enough = false;
    both.measure(
        [&](const analysis::comparison& all) { return enough = found_.decides(all, rounds); });
    if (both.interrupted()) return stop("interrupted", exit_code::interrupted);
    if (!enough && both.rounds() < rounds) return stop_late();
    const analysis::comparison all = both.compared();
    // A package's variables say nothing that its version does not.
    if (found_.decided() == 0 && chosen_.of.package.empty()) both.note_without_effect(all);
    found_.add(all, rounds);
  }

  void stop(const std::string& why, exit_code code) {
    stopped_ = why + "\nlayerbench: the search is not at its end";
    code_ = code;
  }

  void stop_late() { stop("--max-time is over", exit_code::incomplete); }

  void skip(std::size_t release, const std::string& reason, const error& whole) {
    if (release != *found_.next() && found_.decided() > 0) {  // it worked before
      return stop(fmt::format("{}: {}", name(release), whole.what()), whole.code());
    }
    const std::string in_a_line = reason.substr(0, reason.find('\n'));
    const std::vector<tried_release>& tried = found_.tried();
    if (tried.size() == 1 && tried[0].reason == in_a_line) {  // so the command is wrong
      throw error(fmt::format("{} and {} fail alike: {}", name(tried[0].release), name(release),
                              whole.what()),
                  whole.code());
    }
    note(fmt::format("{} is skipped: {}", name(release), whole.what()));
    found_.skip(release, in_a_line);
  }

  /// Whether a release was not installed, and no comparison depends on that: one that is the first
  /// or the last for want of another does, and with --all-releases one behind it.
  [[nodiscard]] bool is_tentative(const tried_release& one) const {
    const auto is_beyond = [&](const tried_release& other) {
      return other.side != release_side::skipped && other.release > one.release;
    };
    const bool any_beyond = std::ranges::any_of(found_.tried(), is_beyond);
    return std::ranges::find(not_installed_, one.release) != not_installed_.end() &&
           (found_.decided() == 0 ||
            (compares_all() ? !any_beyond : one.release > found_.first() && any_beyond));
  }

  void read_earlier();
  [[nodiscard]] std::string change_text(std::size_t old, std::size_t now) const;
  [[nodiscard]] std::string verdict_text(const tried_release& last) const;
  [[nodiscard]] std::string all_text() const;

  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  const bisect_options& chosen_;
  const std::vector<std::string>& line_;
  releases releases_;
  analysis::bisection found_;
  std::vector<std::size_t> not_installed_;
  std::string stopped_;  ///< why; empty: at its end
  exit_code code_ = exit_code::done;
};

json::value bisect_run::to_json(bool with_tentative) const {
  json::value tried = json::value::array();
  for (const tried_release& one : found_.tried()) {
    if (!with_tentative && is_tentative(one)) continue;
    json::value rows = json::value::array();
    for (const changed_row& row : one.rows) rows.push_back(tool::to_json(row));
    tried.push_back({{"release", name(one.release)},
                     {"base", one.pairs > 0 ? json::value(name(found_.base(one.release)))
                                            : json::value(nullptr)},
                     {"number", one.release},
                     {"side", layerbench::name(one.side)},
                     {"reason", one.reason},
                     {"pairs", one.pairs},
                     {"followed", tool::to_json(one.followed)},
                     {"rows", std::move(rows)}});
  }
  const auto change = found_.change();
  const auto detectable = found_.detectable();
  return {{"schema", 1},
          {"command", line_},
          {"releases", releases_.names()},
          {"direction", layerbench::name(chosen_.direction)},
          {"options", tool::to_json(chosen_)},
          {"answer", layerbench::name(found_.answer())},
          {"before", change ? json::value(name(change->first)) : json::value(nullptr)},
          {"after", change ? json::value(name(change->second)) : json::value(nullptr)},
          {"confidence", change || (compares_all() && found_.decided() > 0)
                             ? json::value(found_.confidence())
                             : json::value(nullptr)},
          {"detectable", detectable ? json::value(*detectable) : json::value(nullptr)},
          {"tried", std::move(tried)}};
}

void bisect_run::read_earlier() {
  const json::value all = json::parse_file(chosen_.resume);
  try {
    if (all.at("command") != json::value(line_) ||
        all.at("releases") != json::value(releases_.names()) ||
        all.at("direction") != layerbench::name(chosen_.direction) ||
        all.at("options") != tool::to_json(chosen_)) {
      throw usage_error(chosen_.resume +
                        ": is of another command, other releases or options; name another file");
    }
    const json::cursor tried(all.at("tried"), chosen_.resume, "/tried");
    for (std::size_t i = 0; i < tried.get().size(); ++i) {
      const json::cursor one = tried[i];
      one.require_keys({"number", "side", "reason", "pairs", "followed", "rows"});
      tried_release read{one["number"].get(),
                         release_side(one["side"].index_in(list_names(release_side()))),
                         one["reason"].get(), one["pairs"].get(), row_of(one["followed"])};
      one["rows"].require_array();
      for (std::size_t row = 0; row < one["rows"].get().size(); ++row) {
        read.rows.push_back(row_of(one["rows"][row]));
      }
      if (!found_.can_add(read)) one.fail("no search tries such a release here");
      found_.add(std::move(read));
    }
    if (all.at("detectable").is_number()) found_.set_detectable(all.at("detectable"));
  } catch (const json::value::exception& e) {
    throw bad_input(chosen_.resume, "", e.what());
  }
}

/// What changed since which release.
std::string bisect_run::change_text(std::size_t old, std::size_t now) const {
  const tried_release* const before = found_.of(old);
  const tried_release& after = *found_.of(now);
  std::vector<std::string> one_of;
  for (std::size_t i = old + 1; i <= now; ++i) one_of.push_back(name(i));
  std::string out =
      fmt::format("{} since {}{}: {} times the time of {} in {}\n",
                  after.followed.ratio > 1 ? "slower" : "faster",
                  one_of.size() > 1 ? "one of " : "", fmt::join(one_of, ", "),
                  ratio_text(after.followed), name(found_.first()), after.followed.name);
  if (before != nullptr) {
    out += fmt::format("{} before it: {} times\n", name(old), ratio_text(before->followed));
  }
  if (found_.share() < 0.5) {
    out += "several changes: this one is less than half of that to the last release\n";
  }
  const std::size_t decided = found_.decided();
  out += fmt::format("{}, a false alarm with a probability of at most {}\n",
                     decided == 1 ? "1 comparison" : fmt::format("{} comparisons", decided),
                     format::percent(1 - found_.confidence()));
  table rows{{{"rows that changed most"}, {"new / old", align::right}}, {}};
  constexpr std::size_t most = 5;
  for (std::size_t i = 0; i < std::min(most, after.rows.size()); ++i) {
    rows.rows.push_back({after.rows[i].name, ratio_text(after.rows[i])});
  }
  const bool is_said = after.rows.size() == 1 && after.rows[0].name == after.followed.name;
  return rows.rows.empty() || is_said ? out : out + '\n' + layerbench::text(rows);
}

/// The verdict on the last release, where it is not the one that is searched for.
std::string bisect_run::verdict_text(const tried_release& last) const {
  const verdict of_last = last.followed.verdict;
  std::string out = fmt::format(
      "{}: {} takes {} times the time of {} in {}\n",
      of_last == verdict::same ? "no change found"
      : of_last == verdict::unclear
          ? "unclear whether there is a change"
          : fmt::format("not {}, but {}", layerbench::name(chosen_.direction),
                        layerbench::name(of_last)),
      name(last.release), ratio_text(last.followed), name(found_.first()), last.followed.name);
  if (of_last == verdict::faster) out += "--faster finds since which release\n";
  if (!found_.detectable()) return out;
  return out + fmt::format("9 of 10 such searches find a change of {}\n",
                           format::percent(*found_.detectable()));
}

/// The rows of each release, compared with those of the one before it.
std::string bisect_run::all_text() const {
  table all{{{"release"},
             {"before it"},
             {"row"},
             {"time / before", align::right},
             {"verdict"},
             {"pairs", align::right}},
            {}};
  for (const tried_release& one : found_.tried()) {
    if (one.side == release_side::skipped) {
      all.rows.push_back(
          {name(one.release), "", shortened("skipped: " + one.reason, 60), "", "", ""});
      continue;
    }
    std::vector<changed_row> rows{one.followed};
    for (const changed_row& row : one.rows) {
      if (row.name != one.followed.name) rows.push_back(row);
    }
    for (const changed_row& row : rows) {
      all.rows.push_back({name(one.release), name(found_.base(one.release)),
                          shortened(row.name, 60), ratio_text(row),
                          std::string(layerbench::name(row.verdict)), std::to_string(one.pairs)});
    }
  }
  const std::size_t decided = found_.decided();
  if (decided == 0) return layerbench::text(all);
  return fmt::format("{} comparison{}, a false alarm in any with a probability of at most {}\n\n{}",
                     decided, decided == 1 ? "" : "s", format::percent(1 - found_.confidence()),
                     layerbench::text(all));
}

std::string bisect_run::text() const {
  if (compares_all()) return all_text();
  const auto change = found_.change();
  table all{{{"release"}, {"side"}, {"time / first", align::right}, {"pairs", align::right}}, {}};
  for (std::size_t i = 0; i < releases_.names().size(); ++i) {
    const tried_release* one = found_.of(i);
    if (one == nullptr && i == found_.first()) all.rows.push_back({name(i), "first", "", ""});
    if (one == nullptr) continue;
    const bool is_skipped = one->side == release_side::skipped;
    const std::string_view side = change || is_skipped ? layerbench::name(one->side)
                                                       : layerbench::name(one->followed.verdict);
    constexpr std::size_t most = 60;  // columns
    all.rows.push_back(
        {name(i), shortened(fmt::format("{}{}{}", side, is_skipped ? ": " : "", one->reason), most),
         is_skipped ? "" : ratio_text(one->followed),
         one->pairs > 0 ? std::to_string(one->pairs) : ""});
  }
  return (change                 ? change_text(change->first, change->second)
          : found_.decided() > 0 ? verdict_text(found_.tried().back())
                                 : "") +
         '\n' + layerbench::text(all);
}

void bisect(const bisect_options& chosen, const common_options& common,
            const std::vector<std::string>& words) {
  if (!chosen.resume.empty()) {  // is it writable?
    static_cast<void>(output_file(chosen.resume, overwrite_rule::updated));
  }
  const std::vector<std::string> line(words.begin() + (words.empty() ? 0 : 1), words.end());
  bisect_run search(chosen, line);
  search.measure();
  write(common, common.format == "json" ? json_text(search.to_json()) : search.text());
  search.require_end();
}

void add_releases(CLI::App& command, release_options& of) {
  command
      .add_option("--builds", of.builds,
                  "Directories of builds, the oldest first; {} in the command stands for one\n"
                  "--builds v1 v2 v3 -- {}/bench")
      ->type_name("DIR")
      ->delimiter(',');
  command
      .add_option("--env", of.variable,
                  "Values of an environment variable, the oldest first\n"
                  "--env LD_LIBRARY_PATH=/opt/1.0/lib,/opt/1.1/lib")
      ->type_name("NAME=A,B,...");
  CLI::Option* const package =
      command
          .add_option(
              "--package", of.package,
              "Python package of which pip installs releases, each into an environment of its "
              "own: PATH and VIRTUAL_ENV name it, {} in the command stands for it\n"
              "--package=onnxruntime")
          ->type_name("NAME");
  command
      .add_option("--versions", of.versions,
                  "Versions of the package: a list, the oldest first, or a range of those that "
                  "pip finds\n--versions=1.17..1.24")
      ->type_name("A..B")
      ->needs(package);
  package->needs("--versions");
  add_values(command, "--with", "PACKAGE", of.with,
             "What pip installs beside the package\n--with=numpy==1.26.4,onnx")
      ->needs(package);
  command
      .add_option("--install-dir", of.install_dir,
                  "Directory of the environments, which are kept [layerbench/releases in the "
                  "user's cache]")
      ->type_name("DIR")
      ->needs(package);
}

}  // namespace

void add_bisect(CLI::App& app, const std::vector<std::string>& words) {
  CLI::App* command = app.add_subcommand(
      "bisect",
      "Finds the release since which a command is slower, with paired runs, as versus does");
  command->footer(
      "layerbench bisect --builds DIR... -- COMMAND\n"
      "layerbench bisect --package NAME --versions A..B -- COMMAND\n"
      "A command may begin with variables. {out} in it is the file that it writes.\n"
      "A command that finds its results wrong must say so by its exit code.");
  const auto options = std::make_shared<bisect_options>();
  options->pairs.compare.paired = true;
  add_releases(*command, options->of);
  CLI::Option* const faster = command->add_flag_callback(
      "--faster", [options] { options->direction = change_direction::faster; },
      "Find since when it is faster, not since when it is slower");
  command
      ->add_flag_callback(
          "--either", [options] { options->direction = change_direction::either; },
          "Find since when it is slower or faster")
      ->excludes(faster);
  command
      ->add_flag_callback(
          "--all-releases", [options] { options->direction = change_direction::all; },
          "Compare every release with the one before it, instead of a search")
      ->excludes("--faster")
      ->excludes("--either");
  command
      ->add_option("--resume", options->resume,
                   "File that keeps each finished comparison. If it exists, the search continues "
                   "from it")
      ->type_name("FILE");
  add_pair_options(*command, options->pairs, analysis::min_pairs);
  add_margin(*command, options->pairs.compare);
  add_output_options(*command, options->pairs);
  const std::shared_ptr<const common_options> common =
      add_common(*command, {"text", "json"}, words);
  command->callback([common, options, words] { bisect(*options, *common, words); });
}

}  // namespace layerbench::tool
