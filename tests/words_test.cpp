// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>

// Names are the field's words. The project once had words of its own, which no reader could guess;
// these lists keep them out of file names and identifiers.

namespace layerbench {
namespace words_test {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

using words = std::set<std::string, std::less<>>;

/// Words that mean nothing else in this code: no part of any identifier or file name.
const words replaced{"accompany",
                     "agenda",
                     "arena",
                     "arenas",
                     "benchmark_case",
                     "case_spec",
                     "close_round",
                     "company",
                     "comparing",
                     "composition",
                     "conclude",
                     "configuration_name",
                     "configuration_state",
                     "contend",
                     "contest",
                     "course",
                     "dated",
                     "deed",
                     "demand",
                     "digest",
                     "displace",
                     "distributed_case",
                     "earlier_use",
                     "endless_reduction",
                     "estimated_cost",
                     "finding",
                     "follower",
                     "gauges",
                     "hands_on",
                     "herald",
                     "hurry",
                     "joint_tensor",
                     "judged",
                     "kept_apart",
                     "knowledge",
                     "lenient_json",
                     "look_around",
                     "model_part",
                     "obey",
                     "other_code",
                     "placement",
                     "placer",
                     "plan_chooser",
                     "preparer",
                     "quantum",
                     "recorded_calls",
                     "reduction_beside",
                     "require_sense",
                     "rival",
                     "rotation",
                     "round_trip",
                     "settle",
                     "short_form",
                     "speed_probe",
                     "surrounded_op",
                     "titled",
                     "truth",
                     "workplace"};

/// Words that stand inside good names, such as for_each: no whole identifier.
const words whole_identifiers{"abandon", "each", "hear", "here", "lose",
                              "made",    "meet", "slip", "tell"};

/// Words with other meanings in the field: no type and no file has the bare word as its name.
const words types_and_files{"across", "children", "drivers",  "fixture", "holds",  "joined",
                            "moves",  "numbers",  "origin",   "owner",   "part",   "ready",
                            "room",   "said",     "schedule", "side",    "sides",  "team",
                            "usual",  "visit",    "visitor",  "whole",   "classic"};

bool is_letter(char character) {
  return character == '_' || std::isalnum(static_cast<unsigned char>(character)) != 0;
}

/// Identifiers, numbers and single signs of C++ text, without comments, strings and includes.
std::vector<std::string> tokens(std::string_view text) {
  std::vector<std::string> found;
  std::size_t at = 0;
  const auto rest_begins = [&](std::string_view begin) {
    return text.substr(at).starts_with(begin);
  };
  const auto skip_past = [&](std::string_view end) {
    const std::size_t position = text.find(end, at);
    at = position == std::string_view::npos ? text.size() : position + end.size();
  };
  while (at < text.size()) {
    const char first = text[at];
    if (rest_begins("//") || (first == '#' && rest_begins("#include"))) {
      skip_past("\n");
    } else if (rest_begins("/*")) {
      at += 2;
      skip_past("*/");
    } else if (rest_begins("R\"")) {
      at += 2;
      const std::size_t open = std::min(text.find('(', at), text.size());
      const std::string end = ")" + std::string(text.substr(at, open - at)) + "\"";
      skip_past(end);
    } else if (first == '"' || first == '\'') {
      for (++at; at < text.size() && text[at] != first; ++at) {
        if (text[at] == '\\') ++at;
      }
      ++at;
    } else if (is_letter(first)) {
      const bool number = std::isdigit(static_cast<unsigned char>(first)) != 0;
      const std::size_t begin = at;
      // 10'000 is one number.
      while (at < text.size() && (is_letter(text[at]) || (number && text[at] == '\''))) ++at;
      found.emplace_back(text.substr(begin, at - begin));
    } else {
      if (std::isspace(static_cast<unsigned char>(first)) == 0) found.emplace_back(1, first);
      ++at;
    }
  }
  return found;
}

/// `RoundTrip` as `round_trip`; a member's last underscore is left out.
std::string snake_case(std::string_view name) {
  std::string result;
  for (std::size_t i = 0; i < name.size(); ++i) {
    const auto character = static_cast<unsigned char>(name[i]);
    if (std::isupper(character) != 0 && i > 0 && name[i - 1] != '_' &&
        std::isupper(static_cast<unsigned char>(name[i - 1])) == 0) {
      result += '_';
    }
    result += static_cast<char>(std::tolower(character));
  }
  while (result.ends_with('_')) result.pop_back();
  return result;
}

/// The replaced words among the parts of a name.
std::vector<std::string> replaced_in(std::string_view name) {
  const std::string parts = "_" + snake_case(name) + "_";
  std::vector<std::string> found;
  for (const std::string& word : replaced) {
    if (parts.find("_" + word + "_") != std::string::npos) found.push_back(word);
  }
  return found;
}

std::vector<std::string> words_of_file_name(const std::filesystem::path& file) {
  std::string stem = file.stem().string();
  std::ranges::replace(stem, '-', '_');
  std::vector<std::string> found = replaced_in(stem);
  if (types_and_files.contains(stem)) found.push_back(stem);
  return found;
}

/// Whether `all[i]` names a suite of tests, as in TEST(Name, ...).
bool is_suite(const std::vector<std::string>& all, std::size_t i) {
  return i > 1 && all[i - 1] == "(" && all[i - 2].find("TEST") != std::string::npos;
}

/// The names of `text` that have a replaced word, each once. Names of tests are sentences, where
/// these words have their everyday meaning.
std::vector<std::string> words_of_text(std::string_view text) {
  const std::vector<std::string> all = tokens(text);
  words found;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (!is_letter(all[i].front())) continue;
    const std::string plain = all[i].substr(0, all[i].find_last_not_of('_') + 1);
    const bool declares_type = i > 0 && (all[i - 1] == "class" || all[i - 1] == "struct" ||
                                         all[i - 1] == "concept" || all[i - 1] == "using");
    const bool sentence = i > 1 && all[i - 1] == "," && is_suite(all, i - 2);
    if (whole_identifiers.contains(plain) || (!sentence && !replaced_in(plain).empty()) ||
        (declares_type && types_and_files.contains(plain))) {
      found.insert(plain);
    }
  }
  return {found.begin(), found.end()};
}

TEST(Words, OfFilesAndIdentifiersAreTheFields) {
  const std::filesystem::path root = LAYERBENCH_SOURCE_DIR;
  std::size_t sources = 0;
  for (const char* folder : {"include", "bench", "tools", "tests"}) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(root / folder)) {
      const std::filesystem::path& file = entry.path();
      const std::string shown = file.lexically_relative(root).string();
      EXPECT_THAT(words_of_file_name(file), IsEmpty()) << shown;
      if (file.extension() != ".hpp" && file.extension() != ".cpp") continue;
      ++sources;
      std::ifstream stream(file);
      const std::string text{std::istreambuf_iterator<char>(stream), {}};
      EXPECT_THAT(words_of_text(text), IsEmpty()) << shown;
    }
  }
  EXPECT_GT(sources, 200U);
}

// The check itself.

TEST(WordsCheck, SkipsCommentsStringsAndIncludes) {
  EXPECT_THAT(tokens("int a_; // b\n/* c\n d */ e = \"f \\\" g\" + 'h' + R\"x(i \" j)x\" + 1'000;"),
              ElementsAre("int", "a_", ";", "e", "=", "+", "+", "+", "1'000", ";"));
  EXPECT_THAT(tokens("#include <agenda.hpp>\nk"), ElementsAre("k"));
  EXPECT_THAT(words_of_text("// agenda\nauto x = \"agenda\" R\"(agenda)\";"), IsEmpty());
}

TEST(WordsCheck, FindsPartsOfNames) {
  EXPECT_THAT(words_of_text("company_maker make; int agenda_ = the_speed_probe;"),
              ElementsAre("agenda", "company_maker", "the_speed_probe"));
  EXPECT_THAT(words_of_text("TEST_F(PlanChooser, TellsTheTruth)"), ElementsAre("PlanChooser"));
  EXPECT_THAT(words_of_text("int updated, agendas_of, contended;"), IsEmpty());
  EXPECT_THAT(words_of_text("for_each(all); auto each = f(here_it_is);"), ElementsAre("each"));
}

TEST(WordsCheck, FindsTypesAndFilesWithBareNames) {
  EXPECT_THAT(words_of_text("class visitor; struct room {}; int part;"),
              ElementsAre("room", "visitor"));
  EXPECT_THAT(words_of_text("struct field_visitor {};"), IsEmpty());
  EXPECT_THAT(words_of_file_name("run/visitor.hpp"), ElementsAre("visitor"));
  EXPECT_THAT(words_of_file_name("run/bench_agenda_test.cpp"), ElementsAre("agenda"));
  EXPECT_THAT(words_of_file_name("shape/field_visitor.hpp"), IsEmpty());
  EXPECT_THAT(replaced_in("agenda_contest"), SizeIs(2));
}

}  // namespace words_test
}  // namespace layerbench
