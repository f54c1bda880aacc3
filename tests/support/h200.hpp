// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <layerbench/backend/cudnn/backend_descriptor.hpp>
#include <layerbench/base/json.hpp>

namespace layerbench::testing {

/// Device properties from cuDNN's JSON representation, to make plans for a GPU that is not there.
inline cudnn::descriptor gpu_described_by(const std::string& text) {
  cudnn::descriptor result(CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR);
  result.set(CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, text);
  result.finalize();
  return result;
}

/// A GPU that is described, not there.
inline const cudnn::descriptor& h200() {
  static const cudnn::descriptor gpu = gpu_described_by(
      json::parse_file(LAYERBENCH_SOURCE_DIR "/tests/support/h200.json").at("device").dump());
  return gpu;
}

}  // namespace layerbench::testing
