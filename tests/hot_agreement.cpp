// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0

// Does a row in state hot say what a bare loop over the same primitive says? Times the distinct
// convolutions, matrix products and recurrent layers of a model or sweep both ways, in rounds that
// alternate, on one thread by its CPU time. Prints the median of the paired ratios of each, and of
// each op the median, the worst and the geometric mean. Not a test, since its answer depends on the
// machine's quiet: run it by hand.
//   hot_agreement [MODEL [ROUNDS [ROWS [LIBRARY]]]]
// At most ROWS of each op, spread over the list: those of up to 2^31 multiply-accumulates. The
// library is onednn, mkl, openblas or blis; of the others than oneDNN, single products without
// bias.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <fmt/format.h>
#include <omp.h>
#include <oneapi/dnnl/dnnl.hpp>

#include <layerbench/backend/adapter.hpp>
#ifdef LAYERBENCH_HAS_BLIS
#include <layerbench/backend/blis/all_plans.hpp>
#endif
#include <layerbench/backend/cblas/backend.hpp>
#ifdef LAYERBENCH_HAS_MKL
#include <layerbench/backend/mkl/all_plans.hpp>
#endif
#include <layerbench/backend/onednn/all_plans.hpp>
#ifdef LAYERBENCH_HAS_OPENBLAS
#include <layerbench/backend/openblas/all_plans.hpp>
#endif
#include <layerbench/backend/reference/all_plans.hpp>
#include <layerbench/model/find.hpp>
#include <layerbench/model/shape_file.hpp>
#include <layerbench/model/step.hpp>
#include <layerbench/session/benchmark_row.hpp>
#include <layerbench/timing/sampler.hpp>

namespace {

using namespace layerbench;
constexpr double seconds_a_round = 0.02;

using dnnl::memory;
using tag = memory::format_tag;
constexpr auto f32 = memory::data_type::f32;

/// Seconds of a call in samples of `calls`, over `seconds` in all.
std::vector<double> repeated(double seconds, int calls, const auto& call) {
  std::vector<double> times;
  const double start = run::now(run::clock::thread_cpu);
  double end = start;
  do {
    const double before = end;
    for (int i = 0; i < calls; ++i) call();
    end = run::now(run::clock::thread_cpu);
    times.push_back((end - before) / calls);
  } while (end - start < seconds);
  return times;
}

/// Median seconds of one call, after as long a warm-up as the suite's. Samples are so long that the
/// clock does not count.
double bare_round(const auto& call) {
  constexpr double seconds_a_sample = 1e-4;
  const double once = stats::median(repeated(run::sampling{}.warm_up, 1, call));
  const auto calls = static_cast<int>(std::ceil(seconds_a_sample / once));
  return stats::median(repeated(seconds_a_round, calls, call));
}

void fill(float* values, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i)
    values[i] = static_cast<float>(i * 2654435761U % 2001) * 1e-3F - 1;
}

/// A primitive of the library alone: nothing of the suite but the sizes.
class bare_loop {
 public:
  explicit bare_loop(const op::any& op) : engine_(dnnl::engine::kind::cpu, 0), stream_(engine_) {
    if (const auto* conv = op.get<op::conv>()) build(*conv);
    if (const auto* gemm = op.get<op::gemm>()) build(*gemm);
    if (const auto* rnn = op.get<op::rnn>()) build(*rnn);
  }

  double round() {
    return bare_round([this] {
      primitive_.execute(stream_, arguments_);
      stream_.wait();
    });
  }

 private:
  void build(const op::conv& o) {
    const dnnl::convolution_forward::primitive_desc created(
        engine_, dnnl::prop_kind::forward_inference, dnnl::algorithm::convolution_direct,
        memory::desc({o.n, o.c, o.h, o.w}, f32, tag::nhwc),
        memory::desc({o.k, o.c, o.r, o.s}, f32, tag::any),
        o.bias ? memory::desc({o.k}, f32, tag::a) : memory::desc(),
        memory::desc({o.n, o.k, o.p(), o.q()}, f32, tag::nhwc), {o.stride.v, o.stride.h},
        {o.pad.top, o.pad.left}, {o.pad.bottom, o.pad.right});
    add(DNNL_ARG_SRC, created.src_desc());
    add(DNNL_ARG_WEIGHTS, created.weights_desc());
    if (o.bias) add(DNNL_ARG_BIAS, created.bias_desc());
    add(DNNL_ARG_DST, created.dst_desc());
    primitive_ = dnnl::convolution_forward(created);
  }

  void build(const op::gemm& o) {
    const dnnl::matmul::primitive_desc created(
        engine_, memory::desc({o.m, o.k}, f32, o.a_transposed ? tag::ba : tag::ab),
        memory::desc({o.k, o.n}, f32, tag::any),
        o.bias ? memory::desc({1, o.n}, f32, tag::ab) : memory::desc(),
        memory::desc({o.m, o.n}, f32, tag::ab));
    add(DNNL_ARG_SRC, created.src_desc());
    add(DNNL_ARG_WEIGHTS, created.weights_desc());
    if (o.bias) add(DNNL_ARG_BIAS, created.bias_desc());
    add(DNNL_ARG_DST, created.dst_desc());
    primitive_ = dnnl::matmul(created);
  }

  void build(const op::rnn& o) {
    const memory::desc none;
    const auto kind = dnnl::prop_kind::forward_inference;
    const auto way = o.bidirectional ? dnnl::rnn_direction::bidirectional_concat
                                     : dnnl::rnn_direction::unidirectional_left2right;
    const memory::dims inner{o.layers, o.directions()};
    const auto of = [&](std::vector<std::int64_t> more, tag order) {
      more.insert(more.begin(), inner.begin(), inner.end());
      return memory::desc(more, f32, order);
    };
    const memory::desc src({o.steps, o.batch, o.inputs}, f32, tag::tnc);
    const memory::desc dst({o.steps, o.batch, o.hidden * o.directions()}, f32, tag::tnc);
    const memory::desc layer = of({o.inputs, o.gates(), o.hidden}, tag::any);
    const memory::desc iter = of({o.hidden, o.gates(), o.hidden}, tag::any);
    const memory::desc bias =
        of({o.gates() + (o.linear_before_reset() ? 1 : 0), o.hidden}, tag::ldgo);
    const auto take = [&](const auto& created) {
      add(DNNL_ARG_SRC_LAYER, created.src_layer_desc());
      add(DNNL_ARG_WEIGHTS_LAYER, created.weights_layer_desc(),
          of({o.inputs, o.gates(), o.hidden}, tag::ldigo));
      add(DNNL_ARG_WEIGHTS_ITER, created.weights_iter_desc(),
          of({o.hidden, o.gates(), o.hidden}, tag::ldigo));
      add(DNNL_ARG_BIAS, created.bias_desc());
      add(DNNL_ARG_DST_LAYER, created.dst_layer_desc());
      primitive_ = dnnl::primitive(created.get());
    };
    if (o.kind == op::rnn_kind::vanilla) {
      take(dnnl::vanilla_rnn_forward::primitive_desc(engine_, kind, dnnl::algorithm::eltwise_tanh,
                                                     way, src, none, layer, iter, bias, dst, none));
    } else if (o.kind == op::rnn_kind::lstm) {
      take(dnnl::lstm_forward::primitive_desc(engine_, kind, way, src, none, none, layer, iter,
                                              bias, dst, none, none));
    } else if (o.linear_before_reset()) {
      take(dnnl::lbr_gru_forward::primitive_desc(engine_, kind, way, src, none, layer, iter, bias,
                                                 dst, none));
    } else {
      take(dnnl::gru_forward::primitive_desc(engine_, kind, way, src, none, layer, iter, bias, dst,
                                             none));
    }
  }

  /// Memory with numbers for an argument. Weights in an order of the library, which may have a
  /// header, come from `plain` ones.
  void add(int argument, const memory::desc& desc, const memory::desc& plain = {}) {
    const memory numbers = filled(plain.is_zero() ? desc : plain);
    if (plain.is_zero()) {
      arguments_.emplace(argument, numbers);
      return;
    }
    const memory packed(desc, engine_, buffers_.emplace_back(desc.get_size()).data());
    dnnl::reorder(numbers, packed)
        .execute(stream_, {{DNNL_ARG_FROM, numbers}, {DNNL_ARG_TO, packed}});
    stream_.wait();
    arguments_.emplace(argument, packed);
  }

  memory filled(const memory::desc& desc) {
    // Aligned as the suite's: a different offset in the page alone is worth a percent or two.
    const host_buffer& buffer = buffers_.emplace_back(desc.get_size());
    fill(static_cast<float*>(buffer.data()), desc.get_size() / sizeof(float));
    return {desc, engine_, buffer.data()};
  }

  dnnl::engine engine_;
  dnnl::stream stream_;
  dnnl::primitive primitive_;
  std::vector<host_buffer> buffers_;
  std::unordered_map<int, dnnl::memory> arguments_;
};

/// The row's round, measured as the programs measure it.
double row_round(run::benchmark_row& row) {
  static run::stopwatch watch(run::clock::thread_cpu);
  row.prepare({});
  row.activate();
  run::operand_ring& calls = row.calls();
  const run::samples taken = run::sample(
      watch, [&](std::int64_t n) { calls.set_up(n); }, [&](std::int64_t n) { calls.call(n); },
      {.least_time = seconds_a_round, .most_time = 10, .most_calls = calls.most_calls()});
  return stats::median(taken.seconds);
}

/// How much longer the row takes than the bare loop: the median of the rounds' ratios, minus 1.
template <class Device, class Bare>
double excess(const model::primitive& p, int rounds) {
  const auto memory = std::make_shared<run::device_context>(std::make_unique<Device>(1));
  static const reference::oracle formulas(op::list<op::conv, op::gemm, op::rnn>{});
  run::benchmark_row row(
      {.name = {}, .op = p.op, .signature = {}, .expected = formulas.of(p.op, op::pass::fwd)},
      memory);
  Bare bare(p.op);
  std::vector<double> ratios;
  for (int i = 0; i < rounds; ++i) {
    const bool row_first = i % 2 == 0;
    const double first = row_first ? row_round(row) : bare.round();
    const double second = row_first ? bare.round() : row_round(row);
    ratios.push_back(row_first ? first / second : second / first);
  }
  return stats::median(ratios) - 1;
}

/// At most `most` primitives of an op, spread over the list.
std::vector<model::primitive> chosen(const std::vector<model::primitive>& all, std::string_view op,
                                     std::size_t most) {
  constexpr std::int64_t macs = std::int64_t{1} << 31U;
  std::vector<model::primitive> of_op;
  std::ranges::copy_if(all, std::back_inserter(of_op), [&](const model::primitive& p) {
    return p.op.name() == op && p.op.work(op::pass::fwd).macs <= macs;
  });
  const std::size_t count = std::min(most, of_op.size());
  std::vector<model::primitive> result;
  for (std::size_t i = 0; i < count; ++i) result.push_back(of_op[i * of_op.size() / count]);
  return result;
}

/// Prints these rows and their summary.
void print(std::string_view op, const std::vector<model::primitive>& rows, const auto& excess_of) {
  std::vector<double> excesses;
  double logarithms = 0;
  for (const model::primitive& p : rows) {
    excesses.push_back(excess_of(p));
    logarithms += std::log1p(excesses.back());
    fmt::print("{:+.2f} %  {}\n", 100 * excesses.back(), p.layer);
  }
  if (excesses.empty()) return;
  const auto size = [](double value) { return std::abs(value); };
  fmt::print("{}: {} rows, median {:+.2f} %, worst {:+.2f} %, geometric mean {:+.2f} %\n", op,
             excesses.size(), 100 * stats::median(excesses),
             100 * std::ranges::max(excesses, {}, size),
             100 * std::expm1(logarithms / static_cast<double>(excesses.size())));
}

/// A loop of one cblas_sgemm alone.
template <class Backend>
class bare_product {
 public:
  explicit bare_product(const op::any& op) : sizes_(*op.get<op::gemm>()) {
    for (const std::int64_t size :
         {sizes_.m * sizes_.k, sizes_.k * sizes_.n, sizes_.m * sizes_.n}) {
      const auto count = static_cast<std::size_t>(size);
      fill(static_cast<float*>(buffers_.emplace_back(count * sizeof(float)).data()), count);
    }
  }

  double round() {
    const auto flag = [](bool turned) {
      return turned ? cblas::transposed : cblas::not_transposed;
    };
    const auto integer = [](std::int64_t size) { return static_cast<int>(size); };
    const auto numbers = [this](std::size_t i) { return static_cast<float*>(buffers_[i].data()); };
    const op::gemm& o = sizes_;
    const cblas::backend& device = device_;  // mkl::backend has a library() of its own
    return bare_round([&] {
      device.library().product(cblas::row_major, flag(o.a_transposed), flag(o.b_transposed),
                               integer(o.m), integer(o.n), integer(o.k), 1, numbers(0),
                               integer(o.a_transposed ? o.m : o.k), numbers(1),
                               integer(o.b_transposed ? o.k : o.n), 0, numbers(2), integer(o.n));
    });
  }

 private:
  Backend device_{1};
  op::gemm sizes_;
  std::vector<host_buffer> buffers_;
};

/// The products of a library with the interface of CBLAS.
template <class Backend>
void print_products(std::vector<model::primitive> all, int rounds, std::size_t most) {
  std::erase_if(all, [](const model::primitive& p) {
    const auto* product = p.op.get<op::gemm>();
    return product == nullptr || product->bias || product->batch > 1;
  });
  print(op::gemm::name, chosen(all, op::gemm::name, most), [&](const model::primitive& p) {
    return excess<run::backend_device<Backend, op::gemm>, bare_product<Backend>>(p, rounds);
  });
}

}  // namespace

int main(int argc, char** argv) {
  const std::string name = argc > 1 ? argv[1] : "resnet50";
  const int rounds = argc > 2 ? std::atoi(argv[2]) : 31;
  const std::size_t most =
      argc > 3 ? std::strtoul(argv[3], nullptr, 10) : std::numeric_limits<std::size_t>::max();
  omp_set_num_threads(1);
  const auto path = model::find(name, model::default_shapes_directory());
  const auto all = model::primitives(model::inference_step(model::load(path)));
  const std::string_view library = argc > 4 ? argv[4] : "onednn";
  if (library == "onednn") {
    using device = run::backend_device<onednn::backend, op::conv, op::gemm, op::rnn>;
    for (const std::string_view op : {op::conv::name, op::gemm::name, op::rnn::name}) {
      print(op, chosen(all, op, most),
            [&](const model::primitive& p) { return excess<device, bare_loop>(p, rounds); });
    }
    return 0;
  }
  using printer = void (*)(std::vector<model::primitive>, int, std::size_t);
  const std::map<std::string_view, printer> others{
#ifdef LAYERBENCH_HAS_MKL
      {"mkl", &print_products<mkl::backend>},
#endif
#ifdef LAYERBENCH_HAS_OPENBLAS
      {"openblas", &print_products<openblas::backend>},
#endif
#ifdef LAYERBENCH_HAS_BLIS
      {"blis", &print_products<blis::backend>},
#endif
  };
  if (const auto found = others.find(library); found != others.end()) {
    found->second(all, rounds, most);
    return 0;
  }
  fmt::print(stderr, "hot_agreement: this build has no library {}\n", library);
  return 2;
}
