// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include "suite.hpp"

int main(int argc, char** argv) {
  return layerbench::programs::run_suite(
      argc, argv,
      {.name = "bench_rnn",
       .purpose = "Times the recurrent layers of deep-learning models.",
       .ops = {"rnn"},
       .models = {"lstm_ptb_elshawi", "gru_imdb_ilkarman"}});
}
