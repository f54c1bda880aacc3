// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0

// What each part of the protocol is worth: times a model's rows with the whole protocol, without
// one part of it at a time, and its chain between them, in the same rounds. Prints, for each way,
// the rows' sum / the chain (median of the rounds' ratios), and the seconds that a round of its
// rows takes. Not a test, since its answer depends on the machine's quiet: run it by hand.
//   ablation MODEL BATCH DTYPE THREADS [PHASE [ROUNDS [layers]]]
// With `layers` also a line a layer: microseconds by clocks in the chain, and of its row each way.
//
// all          the whole protocol
// again        the same once more: how far two ways differ by noise
// no_producer  sources are copied to their place just before the call, by no producer
// no_eviction  the cores' own caches are not filled with something else before
// no_settling  the rings are not read before each pass, nor results after each call, and no call
//              waits
// no_users     nobody uses before what is written last
// no_pacing    a turn of the rings takes as long as it takes
// rotate       none of these: all operands move round the rings
// hot          the same operands every call
#include <algorithm>
#include <cstdlib>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include <fmt/format.h>

#include <layerbench/backend/adapter.hpp>
#include <layerbench/backend/onednn/all_plans.hpp>
#include <layerbench/backend/reference/all_plans.hpp>
#include <layerbench/cli/threads.hpp>
#include <layerbench/machine/frequency_probe.hpp>
#include <layerbench/model/find.hpp>
#include <layerbench/model/shape_file.hpp>
#include <layerbench/model/training.hpp>
#include <layerbench/op/list.hpp>
#include <layerbench/session/benchmark_row.hpp>
#include <layerbench/session/layer_clocks.hpp>
#include <layerbench/session/planned_step.hpp>
#include <layerbench/session/step_sampler.hpp>
#include <layerbench/timing/measurement_pass.hpp>

namespace {

using namespace layerbench;

const std::vector<std::string> ways{"all",         "again",       "no_producer",
                                    "no_eviction", "no_settling", "no_users",
                                    "no_pacing",   "rotate",      "hot"};
constexpr double row_seconds = 0.004;
constexpr run::sampling chain_sampling{.least_time = 0.03, .most_time = 0.12};

run::op_in_context surroundings_of(run::planned_step& step, const model::primitive& of,
                                   const std::string& way) {
  run::op_in_context result =
      step.in_context(of, way == "hot" ? run::cache_state::hot : run::cache_state::model);
  const bool rotates = way == "rotate";
  result.warm_shared_cache = !rotates && way != "no_settling";
  result.evict_private_caches = !rotates && way != "no_eviction";
  for (run::operand_history& operand : result.operands) {
    if (rotates || way == "no_users") operand.uses.clear();
    if (rotates) operand.distance.reset();
    if (!operand.distance) continue;
    if (way != "no_producer") continue;
    operand.producer.reset();
    operand.uses.clear();
  }
  return result;
}

/// A model's rows in each of the ways, and its chain.
class experiment {
 public:
  experiment(const model::graph& graph, dtype type, int threads, const std::string& phase,
             bool by_layer)
      : by_layer_(by_layer),
        memory_(make_context(threads)),
        watch_(run::clock_of(threads)),
        step_(model::step_of(graph, phase, type, {"activation"}), {.type = type}, memory_,
              /*reordered=*/phase == "training"),
        chain_(step_.make_chain(1)) {
    for (const model::primitive& primitive : model::primitives(step_.step())) {
      for (const std::string& way : ways) {
        run::row_spec row{
            .name = {{}, {}, std::string(op::name(primitive.pass)), primitive.layer, {}},
            .op = primitive.op,
            .count = primitive.count(),
            .request = {.pass = primitive.pass, .type = type},
            .signature = "",
            .make_context = [&, primitive, way] { return surroundings_of(step_, primitive, way); },
            .expected =
                reference::oracle(op::builtin{}).of(primitive.op.verified_as(), primitive.pass)};
        rows_[way].push_back(std::make_unique<run::benchmark_row>(std::move(row), memory_));
        rows_[way].back()->prepare({});
      }
    }
  }

  /// Each way's rows in an order of their own, so that none runs just after itself.
  void round() {
    std::vector<double> steps{step()};
    std::map<std::string, double> sums;
    for (const std::string& way : ways) {
      std::ranges::shuffle(rows_[way], random_);
      const double start = run::stopwatch::now();
      for (const auto& row : rows_[way]) {
        const bool is_paced = way != "no_pacing" && way != "rotate" && way != "hot";
        if (is_paced) row->calls().set_step_seconds(steps.front());
        const double seconds = seconds_of(*row);
        layers_[way][name_of(*row)].push_back(seconds);
        sums[way] += static_cast<double>(row->spec().count) * seconds;
      }
      spent_[way] += run::stopwatch::now() - start;
      steps.push_back(step());
      if (by_layer_) clocks_.measure_pass(*chain_, *speed_, chain_sampling);
    }
    steps_.push_back(stats::median(steps));
    for (const std::string& way : ways) ratios_[way].push_back(sums[way] / steps_.back());
  }

  void print(const std::string& name) {
    fmt::print("{}: chain {:.3f} ms, {:.1f} MB", name, 1e3 * stats::median(steps_),
               1e-6 * static_cast<double>(chain_->bytes()));
    for (const std::string& way : ways) {
      fmt::print("; {} {:.3f} ({:.2f} s)", way, stats::median(ratios_[way]),
                 spent_[way] / static_cast<double>(steps_.size()));
    }
    fmt::print("\n");
  }

  void print_layers() {
    for (const model::primitive& primitive : model::primitives(step_.step())) {
      const double true_value = clocks_.seconds(primitive.calls).value();
      const std::string name = fmt::format("{}:{}", primitive.layer, op::name(primitive.pass));
      fmt::print("{:36} x{:<3}{:9.1f}", name, primitive.count(), 1e6 * true_value);
      for (const std::string& way : ways) {
        const double row = stats::mean(layers_[way][name]);
        fmt::print("; {} {:.1f} ({:+.1f} %)", way, 1e6 * row, 100 * (row / true_value - 1));
      }
      fmt::print("\n");
    }
  }

 private:
  static std::shared_ptr<run::device_context> make_context(int threads) {
    const auto make = [&]<class... Ops>(op::list<Ops...> /*all*/) {
      return std::make_unique<run::backend_device<onednn::backend, Ops...>>(threads);
    };
    return std::make_shared<run::device_context>(make(op::builtin{}));
  }

  static std::string name_of(const run::benchmark_row& row) {
    return fmt::format("{}:{}", row.spec().name.layer, row.spec().name.pass);
  }

  template <class Take>
  double mean_of(Take&& take) {
    result::measurement row;
    static_cast<void>(run::measure_pass(memory_->device().threads(), watch_, take, row));
    return row.counters.at("mean_s");
  }

  double seconds_of(run::benchmark_row& row) {
    row.activate();
    run::operand_ring& calls = row.calls();
    const run::sampling how{
        .least_time = row_seconds, .most_time = 4 * row_seconds, .most_calls = calls.most_calls()};
    return mean_of([&] {
      calls.warm_shared_cache();
      return run::sample(
          watch_, [&](std::int64_t n) { calls.set_up(n); }, [&](std::int64_t n) { calls.call(n); },
          how, &run::interrupt_guard::interrupted, *speed_);
    });
  }

  double step() {
    chain_->activate();
    return mean_of([&] {
      run::step_sampler steps(*chain_, watch_, *speed_, &run::interrupt_guard::interrupted);
      return steps.sample(chain_sampling);
    });
  }

  bool by_layer_;
  std::shared_ptr<run::device_context> memory_;
  run::stopwatch watch_;
  std::unique_ptr<run::frequency_probe> speed_ = run::frequency_probe_of(memory_->device());
  run::planned_step step_;
  std::unique_ptr<run::chain> chain_;
  std::map<std::string, std::vector<std::unique_ptr<run::benchmark_row>>> rows_;  ///< by way
  std::map<std::string, std::map<std::string, std::vector<double>>> layers_;  ///< by way and name
  run::layer_clocks clocks_;
  std::map<std::string, double> spent_;
  std::map<std::string, std::vector<double>> ratios_;
  std::vector<double> steps_;
  std::mt19937_64 random_{1};
};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 5) {
    fmt::print(stderr, "usage: ablation MODEL BATCH DTYPE THREADS [PHASE [ROUNDS [layers]]]\n");
    return 2;
  }
  run::configure_threads(argv, onednn::backend::binding());
  const auto type = dtype_from(argv[3]);
  if (!type) return 2;
  const std::string phase = argc > 5 ? argv[5] : "inference";
  const int rounds = argc > 6 ? std::atoi(argv[6]) : 7;
  try {
    experiment all(model::load(model::find(argv[1], LAYERBENCH_SHAPES_DIR), std::atol(argv[2])),
                   *type, std::atoi(argv[4]), phase, argc > 7);
    for (int i = 0; i < rounds; ++i) all.round();
    all.print(
        fmt::format("{} batch {} {} {} threads {}", argv[1], argv[2], argv[3], argv[4], phase));
    if (argc > 7) all.print_layers();
  } catch (const std::exception& e) {
    fmt::print(stderr, "{}\n", e.what());
    return 1;
  }
  return 0;
}
