// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <layerbench/analysis/scaling/data_parallel.hpp>

#include "commands.hpp"

/// `layerbench predict --devices`: training on several devices.
namespace layerbench::tool {

/// The options on scaling.
struct scaling_request {
  std::string devices;  ///< empty: one device, no scaling
  std::vector<std::string> network;
  std::optional<double> contention;  ///< empty: as measured, else 1
  std::string scaling = "weak";
  std::string trace;
  std::optional<double> throughput;  ///< images/s, instead of result files
  std::optional<std::int64_t> batch;
  std::string dtype = "f32";
};

void add_scaling_options(CLI::App& command, scaling_request& given);

/// Parses numbers of devices: "1,2,8", or "1,2,4,...,64", where the ellipsis continues with the
/// previous difference if the last two differences are equal, else with the previous factor. Throws
/// usage_error for anything else.
std::vector<std::int64_t> device_counts(const std::string& text);

/// Predicts scaling from result files or from a throughput, and writes it. Throws usage_error for
/// contradictory options, and what predictions throw.
void predict_scaling(const scaling_request& given, const std::vector<std::string>& files,
                     const analysis::options& chosen, const common_options& common);

}  // namespace layerbench::tool
