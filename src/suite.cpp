// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include "suite.hpp"

#include "epilogues.hpp"
#include "import/import.hpp"

namespace layerbench::programs {

run::program_parts suite_program(const run::program& what, const run::registry& known,
                                 const run::communicator_factory& make_ranks) {
  tool::importer::install_importer();
  run::epilogue after;
  if (what.whole_model()) after = &print_predictions;
  if (what.peaks) after = &print_peaks;
  return {what, known, after, make_ranks};
}

}  // namespace layerbench::programs
