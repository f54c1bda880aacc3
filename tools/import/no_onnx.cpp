// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <layerbench/base/error.hpp>

#include "graph.hpp"

namespace layerbench::tool::importer {

graph read_onnx(const std::string& file) {
  throw unavailable(
      fmt::format("{}: this build cannot read ONNX, which needs protobuf. Install it (Debian: "
                  "libprotobuf-dev), then configure and build again",
                  file));
}

}  // namespace layerbench::tool::importer
