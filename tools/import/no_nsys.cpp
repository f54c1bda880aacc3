// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <layerbench/base/error.hpp>

#include "read_log.hpp"

namespace layerbench::tool::importer {

result::verbose_log read_nsys(const std::filesystem::path& /*path*/, const std::string& name) {
  throw unavailable(fmt::format(
      "{}: this build has no SQLite, so it cannot read exports of Nsight Systems. Install "
      "it (Debian: libsqlite3-dev), then configure and build again",
      name));
}

}  // namespace layerbench::tool::importer
