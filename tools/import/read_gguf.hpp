// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "shape_file.hpp"

namespace layerbench::tool::importer {

/// The text of the shape file of a language model in a GGUF file, of which only the header is read:
/// versions 2 and 3, in both byte orders. Says on stderr what it has, and which types of weights
/// have no equal. Throws bad_input with the file and the byte or tensor, and error (incomplete)
/// where tensors belong to no layer that is known here. Of the options, `name title batch` apply.
[[nodiscard]] std::string import_gguf(const std::string& file, const import_options& options);

}  // namespace layerbench::tool::importer
