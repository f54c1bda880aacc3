// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include "suite.hpp"

int main(int argc, char** argv) {
  using namespace layerbench;
  return run::main(
      argc, argv,
      programs::suite_program({.name = "bench_rnn",
                               .purpose = "Times the recurrent layers of deep-learning models.",
                               .ops = {"rnn"},
                               .models = {"lstm_ptb_elshawi", "gru_imdb_ilkarman"}}));
}
