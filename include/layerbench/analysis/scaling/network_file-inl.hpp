// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include <fmt/format.h>

#include <layerbench/analysis/base/repeated_rounds.hpp>
#include <layerbench/analysis/scaling/allreduce_model.hpp>
#include <layerbench/analysis/scaling/collective_table.hpp>
#include <layerbench/analysis/scaling/network_file.hpp>
#include <layerbench/base/compiled.hpp>
#include <layerbench/base/json.hpp>
#include <layerbench/model/find.hpp>
#include <layerbench/result/measurement.hpp>
#include <layerbench/result/read_results.hpp>
#include <layerbench/shape/record.hpp>
#include <layerbench/shape/record_json.hpp>

namespace layerbench::analysis {

LAYERBENCH_INLINE std::vector<std::string> list_networks(const std::filesystem::path& shapes) {
  return model::list(shapes, "networks");
}

LAYERBENCH_INLINE std::filesystem::path find_network(const std::string& name_or_path,
                                                     const std::filesystem::path& shapes) {
  return model::find_in(shapes, "networks", name_or_path, "network",
                        "or give the path of a network file or of results of bench_allreduce");
}

namespace detail {

/// Reads a number in [least, most]; error messages say that `what` was expected.
[[nodiscard]] inline double number_in(const json::cursor& at, double least, double most,
                                      std::string_view what) {
  const bool is_number = at.get().is_number();
  const double value = is_number ? at.get().get<double>() : 0;
  if (!is_number || value < least || value > most) {
    at.fail(fmt::format("expected {}, found {}", what, at.get().dump()));
  }
  return value;
}

[[nodiscard]] inline link read_link(const json::cursor& at) {
  const auto how = from_name<topology>(at["topology"].text());
  if (!how) {
    at["topology"].fail(
        fmt::format("'{}' is not one of: ring tree hierarchical", at["topology"].text()));
  }
  return {*how, number_in(at["alpha"], 0, 10, "seconds a message, such as 3.4e-6"),
          number_in(at["beta"], 1, 1e18, "bytes a second, such as 72e9")};
}

/// Whether this is the text of a result file: it has the key of the rows. Rows may have numbers
/// that JSON lacks, so that only result::parse can read it.
[[nodiscard]] inline bool has_rows(std::string_view text) {
  constexpr std::string_view key = "\"benchmarks\"";
  for (std::size_t at = text.find(key); at != text.npos; at = text.find(key, at + 1)) {
    const std::size_t next = text.find_first_not_of(" \t\r\n", at + key.size());
    if (next != text.npos && text[next] == ':') return true;
  }
  return false;
}

/// Reads a network and the networks that it consists of.
class network_reader {
 public:
  explicit network_reader(std::filesystem::path shapes) : shapes_(std::move(shapes)) {}

  /// Reads the network of these names or paths; relative paths start in directory `beside`. An
  /// `inner` network is part of a hierarchical one and cannot be hierarchical itself.
  [[nodiscard]] network read(const std::vector<std::string>& names,
                             const std::filesystem::path& beside, bool inner) const {
    std::vector<result::results> measured;
    for (const std::string& name : names) {
      const std::filesystem::path file =
          model::is_path(name) ? beside / name : find_network(name, shapes_);
      const std::string text = json::read_text(file);  // read once, because it may be a pipe
      if (has_rows(text)) {
        measured.push_back(result::parse(text, file.string()));
        continue;
      }
      const json::value parsed = json::parse_text(text, file.string());
      const json::cursor at(parsed, file.string());
      if (names.size() > 1) {
        at.fail("is no result file: several files can only be results of bench_allreduce");
      }
      network result = read_at(at, inner);
      if (result.name.empty()) result.name = file.stem().string();
      return result;
    }
    drop_repeated_rounds(measured);
    const std::filesystem::path first(names.front());
    return {first.stem().string(), "", "", {}, collective_table(measured)};
  }

 private:
  [[nodiscard]] network read_at(const json::cursor& at, bool inner) const {
    at.require_object();
    const bool hierarchical = at.has("topology") && at["topology"].get() == "hierarchical";
    if (hierarchical && inner) {
      at["topology"].fail("nodes cannot be made of nodes; expected ring or tree");
    }
    std::vector<std::string_view> needed{"topology"};
    const std::vector<std::string_view> more =
        hierarchical ? std::vector<std::string_view>{"devices_per_node", "intra", "inter"}
                     : std::vector<std::string_view>{"alpha", "beta"};
    needed.insert(needed.end(), more.begin(), more.end());
    std::vector<std::string_view> known{"$schema", "name", "title", "source",
                                        hierarchical ? "adapters" : "devices"};
    known.insert(known.end(), needed.begin(), needed.end());
    at.check_keys(known, needed);
    const auto text_of = [&](std::string_view key) { return at.has(key) ? at[key].text() : ""; };
    network result{text_of("name"), text_of("title"), text_of("source"), {}, {}};
    if (hierarchical) {
      result.how = read_nodes(at);
    } else {
      result.how = read_link(at);
      if (at.has("devices")) result.max_devices = json::read_size(at["devices"], {}, 2);
    }
    return result;
  }

  [[nodiscard]] std::shared_ptr<const hierarchy> read_nodes(const json::cursor& at) const {
    const std::int64_t adapters = at.has("adapters") ? json::read_size(at["adapters"], {}) : 1;
    return std::make_shared<const hierarchy>(hierarchy{json::read_size(at["devices_per_node"], {}),
                                                       adapters, part(at["intra"]),
                                                       part(at["inter"])});
  }

  /// Reads a part: an object in place, or names or paths of other files, relative to this one.
  [[nodiscard]] network part(const json::cursor& at) const {
    if (at.get().is_object()) return read_at(at, /*inner=*/true);
    std::vector<std::string> names;
    if (at.get().is_array() && !at.get().empty()) {
      for (std::size_t i = 0; i < at.get().size(); ++i) names.push_back(at[i].text());
    } else {
      names.push_back(at.text());
    }
    return read(names, std::filesystem::path(at.file()).parent_path(), /*inner=*/true);
  }

  std::filesystem::path shapes_;
};

}  // namespace detail

LAYERBENCH_INLINE network load_network(const std::vector<std::string>& names,
                                       const std::filesystem::path& shapes) {
  return detail::network_reader(shapes).read(names, "", /*inner=*/false);
}

}  // namespace layerbench::analysis
