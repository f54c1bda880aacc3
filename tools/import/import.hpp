// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "shape_file.hpp"

namespace layerbench::tool::importer {

/// Converts a model, says on stderr what its shape file has and what it lacks, and returns it.
/// Throws bad_input, usage_error, and error (incomplete) for a model that lacks nodes unless
/// `allow_partial`.
[[nodiscard]] imported import_model(const graph& model, const import_options& options,
                                    bool allow_partial);

/// Lets model::load() read ONNX models and GGUF files, which are imported once per program.
void install_importer();

}  // namespace layerbench::tool::importer
