// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0

// bench_model on oneDNN in which one layer of ResNet-50 takes PERCENT longer: layer3_1_conv2 and
// those that share its work. Held against itself with 0 percent it shows what `layerbench versus`
// finds (tests/acceptance.py).
//   planted_delay PERCENT [options of bench_model]
#include <cstdlib>

#include <fmt/format.h>

#include <layerbench/backend/adapter.hpp>
#include <layerbench/backend/onednn/all_plans.hpp>
#include <layerbench/backend/reference/all_plans.hpp>
#include <layerbench/cli/context.hpp>
#include <layerbench/cli/main.hpp>
#include <layerbench/cli/threads.hpp>
#include <layerbench/op/list.hpp>
#include <layerbench/timing/clock.hpp>

namespace {

double planted_share = 0;

/// oneDNN by its own name, so that both sides' rows are compared.
struct planted : layerbench::onednn::backend {
  using backend::backend;
};

}  // namespace

template <class Op>
  requires layerbench::implements<layerbench::onednn::backend, Op>
class layerbench::plan<planted, Op> : public plan<onednn::backend, Op> {
 public:
  plan(const planted& device, const Op& o, const plan_request& request)
      : plan<onednn::backend, Op>(device, o, request) {}
};

template <>
class layerbench::plan<planted, layerbench::op::conv> : public plan<onednn::backend, op::conv> {
 public:
  plan(const planted& device, const op::conv& o, const plan_request& request)
      : plan<onednn::backend, op::conv>(device, o, request),
        delayed_(o.c == 256 && o.k == 256 && o.r == 3 && o.stride.v == 1) {}

  void run(const binding& bound) const {
    const double start = run::stopwatch::now();
    plan<onednn::backend, op::conv>::run(bound);
    if (!delayed_) return;
    const double end = run::stopwatch::now();
    const double later = end + planted_share * (end - start);
    while (run::stopwatch::now() < later) {
    }
  }

 private:
  bool delayed_;
};

int main(int argc, char** argv) {
  using namespace layerbench;
  if (argc < 2) {
    fmt::print(stderr, "usage: planted_delay PERCENT [options of bench_model]\n");
    return 2;
  }
  // May start this program again, with all of its arguments.
  const run::registry known = run::registry_of<planted>(op::builtin{});
  run::configure_threads(argv, run::binding_of(known));
  planted_share = std::atof(argv[1]) / 100;
  argv[1] = argv[0];
  return run::main(argc - 1, argv + 1,
                   {{"planted_delay", "bench_model with a delay.", {}},
                    known,
                    [](const result::results&, const run::options&, bool) {}});
}
