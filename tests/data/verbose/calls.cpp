// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
// Calls oneDNN as an application would that has one fault: `calls FAULT STEPS`. README.md has the
// commands. It is no part of the build.
#include <cstdlib>
#include <string>
#include <unordered_map>
#include <vector>

#include <dnnl.hpp>

using namespace dnnl;
using type = memory::data_type;
using tag = memory::format_tag;

static const engine cpu(engine::kind::cpu, 0);

struct layer {
  convolution_forward::primitive_desc pd;
  convolution_forward call;
  memory src, dst, weights;
};

static memory::dims extents(const memory& of) {
#if DNNL_VERSION_MAJOR >= 3
  return of.get_desc().get_dims();
#else
  return of.get_desc().dims();
#endif
}

static convolution_forward::primitive_desc described(long in, long out, long image, long window,
                                                     type of, tag order) {
  const memory::desc src({1, in, image, image}, of, order);
  const memory::desc dst({1, out, image, image}, of, order);
  const memory::desc weights({out, in, window, window}, of == type::u8 ? type::s8 : of, tag::any);
  const long pad = window / 2;
  primitive_attr attributes;
  post_ops post;
#if DNNL_VERSION_MAJOR >= 3
  post.append_eltwise(algorithm::eltwise_relu, 0, 0);
  if (of == type::u8) {
    attributes.set_scales_mask(DNNL_ARG_SRC, 0);
    attributes.set_scales_mask(DNNL_ARG_WEIGHTS, 1);
    attributes.set_zero_points_mask(DNNL_ARG_DST, 0);
  }
  attributes.set_post_ops(post);
  return {cpu,
          prop_kind::forward_inference,
          algorithm::convolution_direct,
          src,
          weights,
          memory::desc(),
          dst,
          {1, 1},
          {pad, pad},
          {pad, pad},
          attributes};
#else
  post.append_eltwise(1, algorithm::eltwise_relu, 0, 0);
  attributes.set_post_ops(post);
  return {{prop_kind::forward_inference,
           algorithm::convolution_direct,
           src,
           weights,
           dst,
           {1, 1},
           {pad, pad},
           {pad, pad}},
          attributes,
          cpu};
#endif
}

static layer created(long in, long out, long image, long window, type of, tag order) {
  const auto pd = described(in, out, image, window, of, order);
  return {pd, convolution_forward(pd), memory(pd.src_desc(), cpu), memory(pd.dst_desc(), cpu),
          memory(pd.weights_desc(), cpu)};
}

#if DNNL_VERSION_MAJOR >= 3
/// One call of many kinds of primitives.
static void call_others(const stream& s) {
  const auto tensor = [](const memory::dims& d, tag order = tag::nchw) {
    return memory({d, type::f32, order}, cpu);
  };
  const memory image = tensor({2, 32, 28, 28});
  const memory other = tensor({2, 32, 28, 28});
  const memory pooled = tensor({2, 32, 14, 14});
  const memory channels = tensor({1, 32, 1, 1});
  const memory rows = tensor({2, 128, 64}, tag::abc);
  const memory rows1 = tensor({2, 64, 128}, tag::abc);
  const memory products = tensor({2, 128, 128}, tag::abc);
  const memory flat = tensor({2, 6272}, tag::ab);
  const memory dense = tensor({6272, 10}, tag::ab);
  const memory outputs = tensor({2, 10}, tag::ab);
  const memory both = tensor({2, 64, 28, 28});
  const auto inference = prop_kind::forward_inference;
  const auto d = [](const memory& of) { return of.get_desc(); };
  eltwise_forward({cpu, inference, algorithm::eltwise_swish, d(image), d(other), 1.f, 0.f})
      .execute(s, {{DNNL_ARG_SRC, image}, {DNNL_ARG_DST, other}});
  eltwise_forward({cpu, inference, algorithm::eltwise_clip, d(image), d(other), 0.f, 6.f})
      .execute(s, {{DNNL_ARG_SRC, image}, {DNNL_ARG_DST, other}});
  binary({cpu, algorithm::binary_add, d(image), d(other), d(image)})
      .execute(s, {{DNNL_ARG_SRC_0, image}, {DNNL_ARG_SRC_1, other}, {DNNL_ARG_DST, image}});
  binary({cpu, algorithm::binary_mul, d(image), d(channels), d(image)})
      .execute(s, {{DNNL_ARG_SRC_0, image}, {DNNL_ARG_SRC_1, channels}, {DNNL_ARG_DST, image}});
  batch_normalization_forward(
      {cpu, inference, d(image), d(image), 1e-5f, normalization_flags::use_global_stats})
      .execute(s, {{DNNL_ARG_SRC, image},
                   {DNNL_ARG_DST, image},
                   {DNNL_ARG_MEAN, memory({{32}, type::f32, tag::a}, cpu)},
                   {DNNL_ARG_VARIANCE, memory({{32}, type::f32, tag::a}, cpu)}});
  pooling_forward({cpu,
                   inference,
                   algorithm::pooling_max,
                   d(image),
                   d(pooled),
                   {2, 2},
                   {3, 3},
                   {0, 0},
                   {1, 1},
                   {1, 1}})
      .execute(s, {{DNNL_ARG_SRC, image}, {DNNL_ARG_DST, pooled}});
  concat({cpu, d(both), 1, {d(image), d(other)}})
      .execute(s, {{DNNL_ARG_MULTIPLE_SRC, image},
                   {DNNL_ARG_MULTIPLE_SRC + 1, other},
                   {DNNL_ARG_DST, both}});
  lrn_forward(
      {cpu, inference, algorithm::lrn_across_channels, d(image), d(other), 5, 1e-4f, .75f, 1.f})
      .execute(s, {{DNNL_ARG_SRC, image}, {DNNL_ARG_DST, other}});
  resampling_forward({cpu, inference, algorithm::resampling_nearest, d(pooled), d(image)})
      .execute(s, {{DNNL_ARG_SRC, pooled}, {DNNL_ARG_DST, image}});
  matmul({cpu, d(rows), d(rows1), d(products)})
      .execute(s, {{DNNL_ARG_SRC, rows}, {DNNL_ARG_WEIGHTS, rows1}, {DNNL_ARG_DST, products}});
  softmax_forward({cpu, inference, algorithm::softmax_accurate, d(products), d(products), 2})
      .execute(s, {{DNNL_ARG_SRC, products}, {DNNL_ARG_DST, products}});
  layer_normalization_forward({cpu, inference, d(rows), d(rows), 1e-5f, normalization_flags::none})
      .execute(s, {{DNNL_ARG_SRC, rows}, {DNNL_ARG_DST, rows}});
  matmul({cpu, d(flat), d(dense), d(outputs)})
      .execute(s, {{DNNL_ARG_SRC, flat}, {DNNL_ARG_WEIGHTS, dense}, {DNNL_ARG_DST, outputs}});
}

static void call_reference(const stream& s) {
  const memory::desc image({1, 64, 28, 28}, type::f32, tag::nchw);
  const memory src(image, cpu), dst(image, cpu);
  lrn_forward({cpu, prop_kind::forward_inference, algorithm::lrn_within_channel, image, image, 5,
               1e-4f, .75f, 1.f})
      .execute(s, {{DNNL_ARG_SRC, src}, {DNNL_ARG_DST, dst}});
}
#endif

int main(int argc, char** argv) {
  const std::string fault = argc > 1 ? argv[1] : "none";
  const int steps = argc > 2 ? std::atoi(argv[2]) : 5;
  const long c = fault == "channels" ? 63 : fault == "reorders" ? 256 : 64;
  const long image = fault == "creation" ? 4 : fault == "reorders" ? 7 : 28;
  const type of = fault == "u8" ? type::u8 : type::f32;
  const tag order = fault == "channels" || fault == "reorders" ? tag::any : tag::nhwc;
  stream s(cpu);
  std::vector<layer> net;
  const auto build = [&] {
    net.clear();
    net.push_back(created(c, c, image, 3, of, order));
    net.push_back(created(c, c, image, 1, of, order));
    net.push_back(created(c, 2 * c, image, 3, of, order));
  };
  build();
  for (int i = 0; i < steps; ++i) {
    if (fault == "creation") build();
    for (layer& one : net) {
      if (fault == "reorders") {  // as if the application kept everything in plain order
        const auto plain = [](const memory& m, tag t) {
          return memory({extents(m), type::f32, t}, cpu);
        };
        memory weights = plain(one.weights, tag::oihw), src = plain(one.src, tag::nchw);
        reorder(weights, one.weights).execute(s, weights, one.weights);
        reorder(src, one.src).execute(s, src, one.src);
      }
      std::unordered_map<int, memory> arguments{
          {DNNL_ARG_SRC, one.src}, {DNNL_ARG_WEIGHTS, one.weights}, {DNNL_ARG_DST, one.dst}};
#if DNNL_VERSION_MAJOR >= 3
      if (of == type::u8) {
        const memory scale({{1}, type::f32, tag::a}, cpu), zero({{1}, type::s32, tag::a}, cpu);
        arguments[DNNL_ARG_ATTR_SCALES | DNNL_ARG_SRC] = scale;
        arguments[DNNL_ARG_ATTR_SCALES | DNNL_ARG_WEIGHTS] =
            memory({{extents(one.dst)[1]}, type::f32, tag::a}, cpu);
        arguments[DNNL_ARG_ATTR_ZERO_POINTS | DNNL_ARG_DST] = zero;
      }
#endif
      one.call.execute(s, arguments);
    }
#if DNNL_VERSION_MAJOR >= 3
    if (fault == "others") call_others(s);
    if (fault == "reference") call_reference(s);
#endif
    s.wait();
  }
}
