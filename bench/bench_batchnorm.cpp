// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <layerbench/run/main.hpp>

int main(int argc, char** argv) {
  using namespace layerbench;
  return run::main(argc, argv,
                   {"bench_batchnorm", "Times the batch normalisations of deep-learning models."},
                   op::list<op::batchnorm>{});
}
