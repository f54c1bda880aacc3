// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <layerbench/analysis/scaling/network.hpp>
#include <layerbench/shape/json.hpp>

/// Network files (docs/formats.md): finding and reading them.
namespace layerbench::analysis {

/// Names of the networks in `shapes`, sorted.
[[nodiscard]] std::vector<std::string> list_networks(const std::filesystem::path& shapes);

/// The file meant by `name_or_path`: a path when it has a '/' or ends in .json, else a network of
/// `shapes`. Throws nothing_matched for an unknown name, listing what exists.
[[nodiscard]] std::filesystem::path find_network(const std::string& name_or_path,
                                                 const std::filesystem::path& shapes);

namespace detail {

/// Reads a network and the networks that it consists of.
class network_reader {
 public:
  explicit network_reader(std::filesystem::path shapes) : shapes_(std::move(shapes)) {}

  /// Reads the network of these names or paths; relative paths start in directory `beside`. An
  /// `inner` network is part of a hierarchical one and cannot be hierarchical itself.
  [[nodiscard]] network read(const std::vector<std::string>& names,
                             const std::filesystem::path& beside, bool inner) const;

 private:
  [[nodiscard]] network read_at(const json::cursor& at, bool inner) const;

  [[nodiscard]] std::shared_ptr<const hierarchy> read_nodes(const json::cursor& at) const;

  /// Reads a part: an object in place, or names or paths of other files, relative to this one.
  [[nodiscard]] network part(const json::cursor& at) const;

  std::filesystem::path shapes_;
};

}  // namespace detail

/// Reads a network by its name in `shapes`, by the path of a network file, or from result files of
/// bench_allreduce, one for each number of ranks. Throws bad_input with file and pointer for an
/// invalid file, nothing_matched for an unknown name.
[[nodiscard]] network load_network(const std::vector<std::string>& names,
                                   const std::filesystem::path& shapes);

}  // namespace layerbench::analysis

#ifndef LAYERBENCH_COMPILED
#include <layerbench/analysis/scaling/network_file-inl.hpp>
#endif
