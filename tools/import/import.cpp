// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include "import.hpp"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <map>
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

#include "read_gguf.hpp"

namespace layerbench::tool::importer {
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
    say("no op computes {}: {} {}{}, {}, at {}{}\n", key, of.count, created.noun,
        of.count == 1 ? "" : "s", share_text(of.flops, created), fmt::join(of.places, "; "),
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

/// Says where the learned values of a traced model are.
void report_learned(const learned_values& of, const conversion& created) {
  if (of.shared > 0) {
    say("note: {} tensors of weights belong to several layers; the file counts once those that are "
        "a layer's only ones\n",
        of.shared);
  }
  if (of.folded > 0) {
    const std::string share =
        of.folded_flops > 0
            ? fmt::format("; without {} of the FLOPs",
                          format::percent(share_of({of.folded_flops, false}, created)))
            : "";
    say("note: weights that are computed of parameters alone, such as a weight norm, are folded "
        "({} tensors: {} values of {} parameters{})\n",
        of.folded, of.folded_values, of.folded_sources, share);
  }
  if (of.unread > 0) {
    say("note: inference does not read {} parameters of the module\n", of.unread);
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
  if (!created.learned) {
    say("{}: {} layers, {} parameters\n", name, created.layers.size(), imported.parameters);
    return;
  }
  report_learned(*created.learned, created);
  const std::int64_t known = created.learned->known;
  const std::int64_t missing = created.learned->missing;
  say("{}: {} layers, {} parameters{}\n", name, created.layers.size(), known,
      missing > 0 ? fmt::format(" of {}", known + missing) : "");
}

/// The text of the shape file of a model that is used without one.
std::string text_of(const std::filesystem::path& path) {
  static std::map<std::filesystem::path, std::string> known;
  const auto found = known.find(path);
  if (found != known.end()) return found->second;
  import_options options;
  options.name = model_name_of(path.string());
  if (path.extension() == ".gguf") return known[path] = import_gguf(path.string(), options);
  return known[path] = import_model(read_onnx(path.string()), options, false).text;
}

}  // namespace

imported import_model(const graph& model, const import_options& options, bool allow_partial) {
  const std::string& file = model.file;
  const imported result = shape_file_of(model, options);
  if (!is_quiet()) report(result, legal_name(options.name.empty() ? model.name : options.name));
  if (left_out(result.created) && !allow_partial) {
    if (is_quiet()) report_left_out(result.created);  // why it fails
    const std::string command =
        model.is_traced ? "" : fmt::format("{} import onnx ", program_path("layerbench"));
    throw error(
        fmt::format("{}: no shape file without these {}s; '{}--allow-partial' writes one, marked "
                    "as partial",
                    file, result.created.noun, command),
        exit_code::incomplete);
  }
  if (result.created.layers.empty()) throw bad_input(file, "graph", "nothing in it is a layer");
  return result;
}

void install_importer() { model::importer_of_models() = &text_of; }

}  // namespace layerbench::tool::importer
