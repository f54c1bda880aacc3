// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// tools/update_docs.py writes this file from results/: see tools/protocol_errors.py.

#include <array>

#include <layerbench/result/learned_error.hpp>

namespace layerbench::result {

inline constexpr double short_step_seconds = 0.02;

inline constexpr std::array protocol_errors = std::to_array<learned_error>({
    {"cudnn", "", false, step_length::all, 0.0816, 28},
    {"onednn", "", false, step_length::all, 0.0433, 405},
    {"onednn", "", true, step_length::all, 0.0667, 385},
    {"onednn", "fused", false, step_length::long_steps, 0.0530, 60},
    {"onednn", "fused", false, step_length::all, 0.0659, 74},
    {"onednn", "fused", true, step_length::long_steps, 0.0667, 80},
    {"onednn", "fused", true, step_length::all, 0.0795, 108},
    {"onednn", "fused", true, step_length::short_steps, 0.1064, 28},
    {"onednn", "inference", false, step_length::long_steps, 0.0137, 196},
    {"onednn", "inference", false, step_length::all, 0.0328, 274},
    {"onednn", "inference", false, step_length::short_steps, 0.0652, 78},
    {"onednn", "inference", true, step_length::long_steps, 0.0568, 161},
    {"onednn", "inference", true, step_length::all, 0.0686, 235},
    {"onednn", "inference", true, step_length::short_steps, 0.1153, 74},
    {"onednn", "onnxruntime", false, step_length::long_steps, 0.2061, 43},
    {"onednn", "onnxruntime", false, step_length::all, 0.2061, 53},
    {"onednn", "openvino", false, step_length::long_steps, 0.1153, 44},
    {"onednn", "openvino", false, step_length::all, 0.1260, 54},
    {"onednn", "recurrent", false, step_length::all, 0.0693, 24},
    {"onednn", "recurrent", false, step_length::short_steps, 0.0693, 21},
    {"onednn", "torch", false, step_length::long_steps, 0.1465, 115},
    {"onednn", "torch", false, step_length::all, 0.1234, 124},
    {"onednn", "training", true, step_length::long_steps, 0.0315, 25},
    {"onednn", "training", true, step_length::all, 0.0315, 28},
});

}  // namespace layerbench::result
