// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include <layerbench/analysis/scaling/network.hpp>

/// Network files (docs/formats.md): finding and reading them.
namespace layerbench::analysis {

/// Names of the networks in `shapes`, sorted.
[[nodiscard]] std::vector<std::string> list_networks(const std::filesystem::path& shapes);

/// The file meant by `name_or_path`: a path when it has a '/' or ends in .json, else a network of
/// `shapes`. Throws nothing_matched for an unknown name, listing what exists.
[[nodiscard]] std::filesystem::path find_network(const std::string& name_or_path,
                                                 const std::filesystem::path& shapes);

/// Reads a network by its name in `shapes`, by the path of a network file, or from result files of
/// bench_allreduce, one for each number of ranks. Throws bad_input with file and pointer for an
/// invalid file, nothing_matched for an unknown name.
[[nodiscard]] network load_network(const std::vector<std::string>& names,
                                   const std::filesystem::path& shapes);

}  // namespace layerbench::analysis

#ifndef LAYERBENCH_COMPILED
#include <layerbench/analysis/scaling/network_file-inl.hpp>
#endif
