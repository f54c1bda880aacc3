// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <layerbench/backend/adapter.hpp>
#include <layerbench/backend/reference/backend.hpp>
#include <layerbench/cli/main.hpp>

// What is computed: dst = alpha * src + src1.
struct axpy {
  static constexpr std::string_view name = "axpy";
  double alpha = 1;
  layerbench::dims dims;
  static constexpr auto fields =
      std::tuple{layerbench::optional("alpha", &axpy::alpha, "factor of src"),
                 layerbench::required("dims", &axpy::dims, "extents of the tensors")};
  void validate() const {}
  auto operands(layerbench::op::pass, layerbench::dtype type) const {
    using enum layerbench::op::role;
    return std::vector<layerbench::op::operand>{
        {"src", dims, source, type},
        {"src1", dims, source, type},
        {"dst", dims, destination, type},
    };
  }
  layerbench::op::work work(layerbench::op::pass) const {
    const auto flops = 2 * layerbench::elements(dims);
    return {0, flops, flops};
  }
};

// What is right: one element of the result, in double precision.
template <>
struct layerbench::reference::formula<axpy> {
  static sum at(const axpy& o, op::pass, tensors in, std::size_t, std::int64_t i) {
    sum total;
    total.add(o.alpha * in[0][static_cast<std::size_t>(i)]);
    total.add(in[1][static_cast<std::size_t>(i)]);
    return total;
  }
};

// Where and how it runs: a plain loop in single precision, on the reference's memory.
struct loops : layerbench::reference::backend {
  static constexpr std::string_view name = "loops";
  using backend::backend;
};
template <>
struct layerbench::plan<loops, axpy> : plan<reference::backend, axpy> {
  plan(loops& device, const axpy& o, const plan_request& r)
      : plan<reference::backend, axpy>(device, o, r), alpha(static_cast<float>(o.alpha)) {
    if (r.type != dtype::f32) throw unsupported("axpy is for f32");
  }
  std::string algorithm() const override { return "loop"; }
  void run(const binding& bound) const {
    for (std::size_t i = 0; i < bound.outputs[2].size(); ++i) {
      bound.outputs[2][i] = alpha * bound.inputs[0][i] + bound.inputs[1][i];
    }
  }
  float alpha;
};

int main(int argc, char** argv) {
  return layerbench::run::main(argc, argv,
                               {{"bench_axpy", "Times axpy.", {"axpy"}},
                                layerbench::run::registry_of<loops>(layerbench::op::list<axpy>{})});
}
