// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0

// What each part of the protocol is worth: times a model's rows in several ways, and its chain
// between them, in the same rounds. Prints, for each way, the rows' sum / the chain (median of the
// rounds' ratios), and the seconds that a round of its rows takes. Not a test, since its answer
// depends on the machine's quiet: run it by hand.
//   ablation MODEL BATCH DTYPE THREADS [ROUNDS]
//
// hot          the same operands every call
// rotate       all operands move round the ring
// touch        sources are copied to their place just before the call, others rotate
// predecessor  sources are written by their producers just before the call, others rotate
// final        sources are written by their producers as long before as in the model
#include <cstdlib>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>

#include <layerbench/backend/onednn/list.hpp>
#include <layerbench/backend/reference/list.hpp>
#include <layerbench/model/find.hpp>
#include <layerbench/model/step.hpp>
#include <layerbench/op/list.hpp>
#include <layerbench/run/chain.hpp>
#include <layerbench/run/context.hpp>
#include <layerbench/run/fixture.hpp>
#include <layerbench/run/visit.hpp>

namespace {

using namespace layerbench;

const std::vector<std::string> ways{"hot", "rotate", "touch", "predecessor", "final"};
constexpr double row_seconds = 0.004;
constexpr double chain_seconds = 0.03;

run::surrounded_op surroundings_of(const model::graph& graph, const model::surroundings& around,
                                   dtype type, const std::string& way) {
  run::surrounded_op made{.request = {.type = type},
                          .cache = way == "hot" ? run::cache_state::hot : run::cache_state::model,
                          .footprint = around.footprint,
                          .sources = {},
                          .in_place = around.in_place};
  for (const model::input_state& input : around.inputs) {
    run::origin from;
    if (way != "touch" && input.producer != model::model_input) {
      from.producer = graph.layers[input.producer].op;
    }
    if (way == "rotate") from.distance = around.footprint;
    if (way == "final") from.distance = input.distance;
    made.sources.push_back(from);
  }
  return made;
}

/// A model's rows in each of the ways, and its chain.
class experiment {
 public:
  experiment(model::graph graph, dtype type, int threads)
      : graph_(std::move(graph)),
        step_(graph_, type, {"activation"}),
        memory_(make_arena(threads)),
        watch_(threads),
        chain_(memory_, graph_, step_, {.type = type}, 1) {
    for (const model::primitive& each : model::inference_step(graph_)) {
      for (const std::string& way : ways) {
        run::row row{.name = {},
                     .op = each.op,
                     .count = each.count(),
                     .around = surroundings_of(graph_, step_.usual(each), type, way),
                     .signature = ""};
        rows_[way].push_back(std::make_unique<run::fixture>(std::move(row), memory_));
        rows_[way].back()->prepare({});
      }
    }
  }

  void round() {
    std::map<std::string, double> sums;
    std::vector<double> steps;
    const std::size_t rows = rows_["hot"].size();
    for (std::size_t i = 0; i < rows; ++i) {
      if (i % (rows / 3 + 1) == 0) steps.push_back(step());
      for (const std::string& way : ways) {
        const double start = run::stopwatch::now();
        const double seconds = seconds_of(*rows_[way][i]);
        sums[way] += static_cast<double>(rows_[way][i]->what().count) * seconds;
        spent_[way] += run::stopwatch::now() - start;
      }
    }
    steps.push_back(step());
    steps_.push_back(stats::median(steps));
    for (const std::string& way : ways) ratios_[way].push_back(sums[way] / steps_.back());
  }

  void print(const std::string& name) {
    fmt::print("{}: chain {:.3f} ms, footprint {:.1f} MB", name, 1e3 * stats::median(steps_),
               1e-6 * static_cast<double>(step_.footprint()));
    for (const std::string& way : ways) {
      fmt::print("; {} {:.3f} ({:.2f} s)", way, stats::median(ratios_[way]),
                 spent_[way] / static_cast<double>(steps_.size()));
    }
    fmt::print("\n");
  }

 private:
  static std::shared_ptr<run::arena> make_arena(int threads) {
    const auto make = [&]<class... Ops>(op::list<Ops...> /*all*/) {
      return std::make_unique<run::backend_device<onednn::backend, Ops...>>(threads);
    };
    return std::make_shared<run::arena>(make(op::builtin{}));
  }

  double mean_of(const run::subject& what, double least) {
    result::measurement row;
    static_cast<void>(run::visit(what, watch_, {.least_time = least, .most_time = 4 * least}, row));
    return row.counters.at("mean_s");
  }

  double seconds_of(run::fixture& row) {
    row.activate();
    run::rotation& calls = row.calls();
    return mean_of({row.threads(), calls.most_calls(), [&](std::int64_t n) { calls.ready(n); },
                    [&](std::int64_t n) { calls.call(n); }},
                   row_seconds);
  }

  double step() {
    chain_.activate();
    return mean_of({chain_.threads(), 1, [&](std::int64_t) { chain_.ready(); },
                    [&](std::int64_t n) { chain_.call(n); }},
                   chain_seconds);
  }

  model::graph graph_;
  model::step_memory step_;
  std::shared_ptr<run::arena> memory_;
  run::stopwatch watch_;
  run::chain chain_;
  std::map<std::string, std::vector<std::unique_ptr<run::fixture>>> rows_;  ///< by way
  std::map<std::string, double> spent_;
  std::map<std::string, std::vector<double>> ratios_;
  std::vector<double> steps_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 5) {
    fmt::print(stderr, "usage: ablation MODEL BATCH DTYPE THREADS [ROUNDS]\n");
    return 2;
  }
  run::settle_threads(argv);
  const auto type = dtype_from(argv[3]);
  if (!type) return 2;
  const int rounds = argc > 5 ? std::atoi(argv[5]) : 7;
  try {
    experiment all(model::load(model::find(argv[1], LAYERBENCH_SHAPES_DIR), std::atol(argv[2])),
                   *type, std::atoi(argv[4]));
    for (int i = 0; i < rounds; ++i) all.round();
    all.print(fmt::format("{} batch {} {} {} threads", argv[1], argv[2], argv[3], argv[4]));
  } catch (const std::exception& slip) {
    fmt::print(stderr, "{}\n", slip.what());
    return 1;
  }
  return 0;
}
