// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <layerbench/backend/cudnn/descriptor.hpp>
#include <layerbench/backend/cudnn/engine.hpp>
#include <layerbench/shape/json.hpp>

namespace layerbench::testing {

/// A GPU that is described, not there.
inline const cudnn::descriptor& h200() {
  static const cudnn::descriptor gpu = cudnn::gpu_described_by(
      json::parse_file(LAYERBENCH_SOURCE_DIR "/tests/support/h200.json").at("device").dump());
  return gpu;
}

}  // namespace layerbench::testing
