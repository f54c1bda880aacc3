// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0

// Does a row in state hot say what a bare loop over the same primitive says? Times every distinct
// convolution of a model both ways, in rounds that alternate, on one thread by its CPU time, and
// prints the median of the paired ratios. Not a test, since its answer depends on the machine's
// quiet: run it by hand.
//   hot_agreement [MODEL] [ROUNDS]
#include <cstdlib>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include <fmt/format.h>
#include <omp.h>
#include <oneapi/dnnl/dnnl.hpp>

#include <layerbench/backend/adapter.hpp>
#include <layerbench/backend/onednn/plans.hpp>
#include <layerbench/backend/reference/plans.hpp>
#include <layerbench/model/find.hpp>
#include <layerbench/model/shape_file.hpp>
#include <layerbench/model/step.hpp>
#include <layerbench/session/benchmark_case.hpp>
#include <layerbench/timing/sampler.hpp>

namespace {

using namespace layerbench;
constexpr double seconds_a_round = 0.02;

/// The convolution by the library alone: nothing of the suite but the sizes.
class bare_loop {
 public:
  explicit bare_loop(const op::conv& o) : engine_(dnnl::engine::kind::cpu, 0), stream_(engine_) {
    using namespace dnnl;
    using tag = memory::format_tag;
    const auto f32 = memory::data_type::f32;
    const memory::desc none;
    const convolution_forward::primitive_desc result(
        engine_, prop_kind::forward_inference, algorithm::convolution_direct,
        memory::desc(memory::dims{o.n, o.c, o.h, o.w}, f32, tag::nhwc),
        memory::desc(memory::dims{o.k, o.c, o.r, o.s}, f32, tag::any),
        o.bias ? memory::desc(memory::dims{o.k}, f32, tag::a) : none,
        memory::desc(memory::dims{o.n, o.k, o.p(), o.q()}, f32, tag::nhwc),
        {o.stride.v, o.stride.h}, {o.pad.top, o.pad.left}, {o.pad.bottom, o.pad.right});
    add(DNNL_ARG_SRC, result.src_desc());
    add(DNNL_ARG_WEIGHTS, result.weights_desc());
    if (o.bias) add(DNNL_ARG_BIAS, result.bias_desc());
    add(DNNL_ARG_DST, result.dst_desc());
    primitive_ = convolution_forward(result);
  }

  /// Median seconds of one call, after as long a warm-up as the suite's.
  double round() {
    repeat(run::sampling{}.warm_up);
    return stats::median(repeat(seconds_a_round));
  }

 private:
  /// Seconds of single calls, over `seconds` in all.
  std::vector<double> repeat(double seconds) {
    std::vector<double> times;
    const double start = run::now(run::clock::thread_cpu);
    double end = start;
    do {
      const double before = end;
      primitive_.execute(stream_, arguments_);
      stream_.wait();
      end = run::now(run::clock::thread_cpu);
      times.push_back(end - before);
    } while (end - start < seconds);
    return times;
  }

  void add(int argument, const dnnl::memory::desc& desc) {
    // Aligned as the suite's: a different offset in the page alone is worth a percent or two.
    const host_buffer& buffer = buffers_.emplace_back(desc.get_size());
    auto* values = static_cast<float*>(buffer.data());
    for (std::size_t i = 0; i < desc.get_size() / sizeof(float); ++i) {
      values[i] = static_cast<float>(i * 2654435761U % 2001) * 1e-3F - 1;
    }
    arguments_.emplace(argument, dnnl::memory(desc, engine_, values));
  }

  dnnl::engine engine_;
  dnnl::stream stream_;
  dnnl::primitive primitive_;
  std::vector<host_buffer> buffers_;
  std::unordered_map<int, dnnl::memory> arguments_;
};

/// The row's round, measured as the programs measure it.
double row_round(run::benchmark_case& row) {
  static run::stopwatch watch(1);
  row.prepare({});
  row.activate();
  run::operand_ring& calls = row.calls();
  const run::samples taken = run::sample(
      watch, [&](std::int64_t n) { calls.set_up(n); }, [&](std::int64_t n) { calls.call(n); },
      {.least_time = seconds_a_round, .most_time = 10, .most_calls = calls.most_calls()});
  return stats::median(taken.seconds);
}

void compare(const model::primitive& p, int rounds) {
  const auto memory = std::make_shared<run::device_context>(
      std::make_unique<run::backend_device<onednn::backend, op::conv>>(1));
  run::benchmark_case row(
      {.name = {},
       .op = p.op,
       .signature = {},
       .expected = reference::exact_value_of(*p.op.get<op::conv>(), op::pass::fwd)},
      memory);
  bare_loop bare(*p.op.get<op::conv>());
  std::vector<double> ratios;
  for (int i = 0; i < rounds; ++i) {
    const bool row_first = i % 2 == 0;
    const double first = row_first ? row_round(row) : bare.round();
    const double second = row_first ? bare.round() : row_round(row);
    ratios.push_back(row_first ? first / second : second / first);
  }
  fmt::print("{:+.2f} %  {}\n", 100 * (stats::median(ratios) - 1), p.layer);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string name = argc > 1 ? argv[1] : "resnet50";
  const int rounds = argc > 2 ? std::atoi(argv[2]) : 31;
  omp_set_num_threads(1);
  const auto path = model::find(name, model::default_shapes_directory());
  for (const model::primitive& p : model::primitives(model::inference_step(model::load(path)))) {
    if (p.op.name() == op::conv::name) compare(p, rounds);
  }
}
