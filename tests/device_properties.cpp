// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0

// Prints how cuDNN describes the GPU that is here, as JSON: what tests choose plans for without one
// (support/h200.json). Exits with 77 where no GPU can be used.
#include <cstdio>
#include <string>
#include <vector>

#include <fmt/format.h>

#include <layerbench/backend/cudnn/backend.hpp>
#include <layerbench/backend/cudnn/engine_config.hpp>

int main() {
  using namespace layerbench;
  try {
    if (const auto reason = cudnn::backend::probe()) throw unavailable(*reason);
    const cudnn::backend device(1);
    constexpr std::size_t most = 1U << 16U;
    const std::vector<char> text =
        cudnn::gpu_of(device.library())
            .get_all<char>(CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, most);
    fmt::print("{}\n", std::string(text.begin(), text.end()).c_str());
  } catch (const error& e) {
    fmt::print(stderr, "device_properties: {}\n", e.what());
    return static_cast<int>(e.code());
  }
}
