// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>
#include <utility>

#include <gmock/gmock.h>

#include <layerbench/op/test_data.hpp>

#include "support/random_ops.hpp"
#include "support/reference_result.hpp"

/// Reference plans against the same mathematics written another way round.
namespace layerbench {
namespace backend_reference_direct_test {

using testing::dice;
using testing::values;

std::size_t at(std::int64_t index) { return static_cast<std::size_t>(index); }

/// Scatters every input element into all outputs that it contributes to.
std::vector<double> expected(const op::conv& o, const std::vector<values>& in) {
  const std::int64_t p_count = o.p();
  const std::int64_t q_count = o.q();
  std::vector<double> out(at(o.n * o.k * p_count * q_count), 0.0);
  const std::int64_t depth = o.c / o.groups;
  std::int64_t source = 0;
  for (std::int64_t n = 0; n < o.n; ++n) {
    for (std::int64_t c = 0; c < o.c; ++c) {
      for (std::int64_t y = 0; y < o.h; ++y) {
        for (std::int64_t x = 0; x < o.w; ++x, ++source) {
          for (std::int64_t tap = 0; tap < o.r * o.s; ++tap) {
            const std::int64_t down = y + o.pad.top - tap / o.s * o.dilation.v;
            const std::int64_t along = x + o.pad.left - tap % o.s * o.dilation.h;
            if (down < 0 || down % o.stride.v != 0 || down / o.stride.v >= p_count) continue;
            if (along < 0 || along % o.stride.h != 0 || along / o.stride.h >= q_count) continue;
            for (std::int64_t k = 0; k < o.k; ++k) {
              if (k * o.groups / o.k != c / depth) continue;
              const double weight = in[1][at((k * depth + c % depth) * o.r * o.s + tap)];
              out[at(((n * o.k + k) * p_count + down / o.stride.v) * q_count +
                     along / o.stride.h)] += weight * in[0][at(source)];
            }
          }
        }
      }
    }
  }
  if (!o.bias) return out;
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i] += in[2][i / at(p_count * q_count) % at(o.k)];
  }
  return out;
}

/// Sum of outer products, term by term of the inner dimension.
std::vector<double> expected(const op::gemm& o, const std::vector<values>& in) {
  std::vector<double> out(at(o.batch * o.m * o.n), 0.0);
  for (std::int64_t matrix = 0; matrix < o.batch; ++matrix) {
    for (std::int64_t k = 0; k < o.k; ++k) {
      for (std::int64_t m = 0; m < o.m; ++m) {
        const std::int64_t a = o.a_transposed ? m + o.m * k : k + o.k * m;
        for (std::int64_t n = 0; n < o.n; ++n) {
          const std::int64_t b = o.b_transposed ? k + o.k * n : n + o.n * k;
          out[at((matrix * o.m + m) * o.n + n)] +=
              static_cast<double>(in[0][at(matrix * o.m * o.k + a)]) *
              in[1][at(matrix * o.k * o.n + b)];
        }
      }
    }
  }
  for (std::size_t i = 0; o.bias && i < out.size(); ++i) out[i] += in[2][i % at(o.n)];
  return out;
}

/// Copies each plane into a frame of padding, wide enough for rounded-up windows, and walks that.
std::vector<double> expected(const op::pool& o, const std::vector<values>& in) {
  const bool is_max = o.kind == op::pool_kind::max;
  enum class place { image, padding, beyond };
  struct cell {
    double value;
    place where;
  };
  const std::int64_t height = o.pad.top + o.h + o.pad.bottom + o.r + o.stride.v;
  const std::int64_t width = o.pad.left + o.w + o.pad.right + o.s + o.stride.h;
  std::vector<double> out;
  for (std::int64_t plane = 0; plane < o.n * o.c; ++plane) {
    std::vector<cell> frame(at(height * width), {0, place::beyond});
    for (std::int64_t y = 0; y < o.pad.top + o.h + o.pad.bottom; ++y) {
      for (std::int64_t x = 0; x < o.pad.left + o.w + o.pad.right; ++x) {
        const bool inside =
            y >= o.pad.top && y < o.pad.top + o.h && x >= o.pad.left && x < o.pad.left + o.w;
        const std::int64_t source = (plane * o.h + y - o.pad.top) * o.w + x - o.pad.left;
        frame[at(y * width + x)] =
            inside ? cell{in[0][at(source)], place::image} : cell{0, place::padding};
      }
    }
    for (std::int64_t corner = 0; corner < o.p() * o.q(); ++corner) {
      double largest = std::numeric_limits<double>::lowest();
      double sum = 0;
      int divisor = 0;
      for (std::int64_t tap = 0; tap < o.r * o.s; ++tap) {
        const std::int64_t y = corner / o.q() * o.stride.v + tap / o.s;
        const std::int64_t x = corner % o.q() * o.stride.h + tap % o.s;
        const cell& device = frame[at(y * width + x)];
        if (device.where == place::image) largest = std::max(largest, device.value);
        sum += device.value;
        divisor +=
            device.where == place::image || (device.where == place::padding && o.count_padding);
      }
      out.push_back(is_max ? largest : sum / divisor);
    }
  }
  return out;
}

/// Folds the statistics into a factor and an offset a channel.
std::vector<double> expected(const op::batchnorm& o, const std::vector<values>& in) {
  std::vector<double> out(in[0].begin(), in[0].end());
  const values& mean = in[in.size() - 2];
  const values& variance = in.back();
  for (std::size_t i = 0; i < out.size(); ++i) {
    const std::size_t c = i / at(o.h * o.w) % at(o.c);
    const double scale = o.scale ? in[1][c] : 1;
    const double shift = o.shift ? in[in.size() - 3][c] : 0;
    const double factor = scale * std::pow(variance[c] + o.epsilon, -0.5);
    out[i] = factor * out[i] + (shift - factor * mean[c]);
  }
  return out;
}

/// Adds the product of each source element with the filters to where it belongs.
std::vector<double> expected(const op::deconv& o, const std::vector<values>& in) {
  std::vector<double> out(at(o.n * o.k * o.p() * o.q()), 0);
  for (std::size_t i = 0; i < in[0].size(); ++i) {
    const auto index = static_cast<std::int64_t>(i);
    const std::int64_t plane = index / (o.h * o.w);
    const std::int64_t c = plane % o.c;
    for (std::int64_t k = 0; k < o.k; ++k) {
      if (k * o.groups / o.k != c * o.groups / o.c) continue;
      for (std::int64_t tap = 0; tap < o.r * o.s; ++tap) {
        const std::int64_t y = index / o.w % o.h * o.stride.v + tap / o.s * o.dilation.v;
        const std::int64_t x = index % o.w * o.stride.h + tap % o.s * o.dilation.h;
        const std::int64_t row = y - o.pad.top;
        const std::int64_t column = x - o.pad.left;
        if (row < 0 || row >= o.p() || column < 0 || column >= o.q()) continue;
        const std::int64_t depth = o.c / o.groups;
        const double weight = in[1][at((k * depth + c % depth) * o.r * o.s + tap)];
        out[at(((plane / o.c * o.k + k) * o.p() + row) * o.q() + column)] += in[0][i] * weight;
      }
    }
  }
  for (std::size_t i = 0; o.bias && i < out.size(); ++i) {
    out[i] += in[2][i / at(o.p() * o.q()) % at(o.k)];
  }
  return out;
}

/// Divides by the sum of all exponentials along the axis, found by comparing coordinates.
std::vector<double> expected(const op::softmax& o, const std::vector<values>& in) {
  const std::size_t count = in[0].size();
  std::size_t stride = 1;
  for (std::size_t axis = at(o.axis) + 1; axis < o.dims.size(); ++axis) stride *= at(o.dims[axis]);
  const std::size_t length = at(o.dims[at(o.axis)]);
  std::vector<std::pair<std::size_t, std::size_t>> row(count);  // divisions take most of the time
  for (std::size_t i = 0; i < count; ++i) row[i] = {i / (stride * length), i % stride};
  std::vector<double> out(count);
  for (std::size_t i = 0; i < count; ++i) {
    double inverse = 0;
    for (std::size_t j = 0; j < count; ++j) {
      if (row[i] == row[j]) inverse += std::exp(static_cast<double>(in[0][j]) - in[0][i]);
    }
    out[i] = 1 / inverse;
  }
  return out;
}

template <class Op>
class reference_plan : public ::testing::Test {};

using ops = ::testing::Types<op::conv, op::deconv, op::gemm, op::pool, op::batchnorm, op::softmax>;
TYPED_TEST_SUITE(reference_plan, ops);

/// An image turned into a volume whose planes are its rows.
template <class Op>
Op with_planes_of_rows(Op o) {
  o.d = std::exchange(o.h, 1);
  o.t = std::exchange(o.r, 1);
  o.depth_stride = std::exchange(o.stride.v, 1);
  o.depth_pad.value = std::exchange(o.pad.top, 0);
  o.pad.bottom = 0;
  if constexpr (requires { o.dilation; }) o.depth_dilation = std::exchange(o.dilation.v, 1);
  if constexpr (requires { o.output_pad; }) {
    o.depth_output_pad.value = o.output_pad.bottom;
    o.output_pad.top = o.output_pad.bottom = 0;
  }
  return o;
}

template <class Op>
class reference_of_volumes : public ::testing::Test {};

using ops_of_volumes = ::testing::Types<op::conv, op::deconv, op::pool>;
TYPED_TEST_SUITE(reference_of_volumes, ops_of_volumes);

TYPED_TEST(reference_of_volumes, is_that_of_an_image_where_planes_are_rows) {
  dice d(32);
  for (int i = 0; i < 100; ++i) {
    auto image = testing::random_op<TypeParam>(d);
    image.pad.bottom = image.pad.top;
    if (!testing::detail::is_valid(image)) continue;
    const TypeParam volume = with_planes_of_rows(image);
    ASSERT_TRUE(testing::detail::is_valid(volume));
    SCOPED_TRACE(key(volume));
    for (const op::pass pass : image.passes()) {
      const op::work right = image.work(pass);
      const op::work found = volume.work(pass);
      EXPECT_EQ(std::tuple(found.macs, found.flops, found.flops_exact),
                std::tuple(right.macs, right.flops, right.flops_exact));
    }
    const auto operands = image.operands(op::pass::fwd, dtype::f32);
    ASSERT_EQ(volume.operands(op::pass::fwd, dtype::f32).back().extents, operands.back().extents);
    std::vector<values> inputs;
    for (const op::operand& operand : operands) {
      if (operand.role == op::role::destination) continue;
      inputs.push_back(
          run::random_values(operand, static_cast<std::uint64_t>(100 * i) + inputs.size()));
    }
    EXPECT_EQ(testing::reference_result(volume, inputs), testing::reference_result(image, inputs));
  }
}

TYPED_TEST(reference_plan, agrees_with_an_independent_formula) {
  dice d(31);
  for (int i = 0; i < 200; ++i) {
    const auto o = testing::random_op<TypeParam>(d);
    SCOPED_TRACE(key(o));
    std::vector<values> inputs;
    for (const op::operand& operand : o.operands(op::pass::fwd, dtype::f32)) {
      if (operand.role == op::role::destination) continue;
      inputs.push_back(
          run::random_values(operand, static_cast<std::uint64_t>(100 * i) + inputs.size()));
    }
    const values found = testing::reference_result(o, inputs);
    const std::vector<double> right = expected(o, inputs);
    ASSERT_EQ(found.size(), right.size());
    for (std::size_t j = 0; j < right.size(); ++j) {
      ASSERT_NEAR(found[j], right[j], 1e-7 * std::abs(right[j]) + 1e-12) << j;
    }
  }
}

}  // namespace backend_reference_direct_test
}  // namespace layerbench
