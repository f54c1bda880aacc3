// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include "import.hpp"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <map>
#include <stdexcept>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <layerbench/base/error.hpp>
#include <layerbench/base/number_format.hpp>
#include <layerbench/base/plain_text.hpp>
#include <layerbench/base/program_path.hpp>
#include <layerbench/base/quiet.hpp>
#include <layerbench/model/shape_file.hpp>

namespace layerbench::tool::onnx {
namespace {

/// Says something on stderr; names come from the file.
template <class... Args>
void say(fmt::format_string<Args...> form, Args&&... args) {
  print_plain(stderr, fmt::format(form, std::forward<Args>(args)...));
}

/// "66.7 % of the FLOPs", or at least that.
std::string share_text(const flop_count& part, const conversion& of) {
  return fmt::format("{}{} of the FLOPs", part.at_least ? "at least " : "",
                     format::percent(share_of(part, of)));
}

/// Says what no op computes, and what is left out with it.
void report_left_out(const conversion& created) {
  std::vector<std::pair<std::string, missing>> unknown(created.unknown.begin(),
                                                       created.unknown.end());
  std::ranges::stable_sort(unknown, std::ranges::greater{}, [](const auto& one) {
    return std::pair(one.second.flops.flops, one.second.count);
  });
  for (const auto& [key, of] : unknown) {
    const std::size_t more = of.count - of.places.size();
    say("no op computes {}: {} node{}, {}, at {}{}\n", key, of.count, of.count == 1 ? "" : "s",
        share_text(of.flops, created), fmt::join(of.places, "; "),
        more > 0 ? fmt::format("; and {} more", more) : "");
  }
  std::vector<std::string> following;
  for (const auto& [op, count] : created.following)
    following.push_back(fmt::format("{} {}", count, op));
  if (!following.empty()) {
    say("left out with them, since they read their results: {}, {}\n", fmt::join(following, ", "),
        share_text(created.flops_following, created));
  }
  if (const auto all = left_out(created)) {
    say("left out in all: {}\n", share_text(*all, created));
  }
}

void report(const imported& imported, const std::string& name) {
  const conversion& created = imported.created;
  report_left_out(created);
  for (const auto& [note, count] : created.notes) {
    say("note: {}{}\n", note, count > 1 ? fmt::format(" ({} times)", count) : "");
  }
  if (created.folded_batchnorms > 0) {
    say("note: the exporter folded batch norm into the weights of {} layers; the shape file "
        "is for inference only\n",
        created.folded_batchnorms);
  }
  say("{}: {} layers, {} parameters\n", name, created.layers.size(), imported.parameters);
}

/// The text of the shape file of a model that is used without one.
std::string text_of(const std::filesystem::path& path) {
  static std::map<std::filesystem::path, std::string> known;
  const auto found = known.find(path);
  if (found != known.end()) return found->second;
  import_options options;
  options.name = model_name_of(path.string());
  return known[path] = import_model(path.string(), options, false).text;
}

}  // namespace

imported import_model(const std::string& file, const import_options& options, bool allow_partial) {
  imported result;
  try {
    result = shape_file_of(read(file), options);
  } catch (const std::overflow_error& wrong) {
    throw bad_input(file, "graph", wrong.what());
  }
  if (!is_quiet()) report(result, options.name);
  if (left_out(result.created) && !allow_partial) {
    if (is_quiet()) report_left_out(result.created);  // why it fails
    throw error(
        fmt::format("{}: no shape file without these nodes; '{} import onnx --allow-partial' "
                    "writes one, marked as partial",
                    file, program_path("layerbench")),
        exit_code::incomplete);
  }
  if (result.created.layers.empty()) throw bad_input(file, "graph", "no node of it is a layer");
  return result;
}

void install_importer() { model::importer_of_onnx() = &text_of; }

}  // namespace layerbench::tool::onnx
