// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include <layerbench/op/test_data.hpp>

/// The right results of ops, in double precision: plans are checked against them.
namespace layerbench::reference {

/// One output element as a sum of terms, with what bounds the rounding error of a library that adds
/// the same terms in another order.
struct sum {
  double value = 0;
  double magnitude = 0;        ///< sum of the absolute values of the terms
  double squares = 0;          ///< sum of the squares of the terms
  std::int64_t terms = 0;      ///< number of terms
  std::int64_t roundings = 1;  ///< how often a library may round to the data type
  double rounded = 0;          ///< largest magnitude that it rounds, where above |value|
  /// Root of the sum of the squares of the terms that a library also rounds to the data type.
  double rounded_terms = 0;
  /// Change of the value per relative error of the result before the post-ops.
  double before_post = 0;

  void add(double term) {
    value += term;
    magnitude += std::abs(term);
    squares += term * term;
    ++terms;
  }
};

/// The elements of an operand, row-major: memory, or test data that is drawn when an element is
/// read.
class tensor {
 public:
  tensor() = default;
  /// Views memory, which must outlive the tensor.
  tensor(std::span<const float> memory) : memory_(memory.data()), size_(memory.size()) {}
  tensor(const std::vector<float>& memory) : tensor(std::span(memory)) {}
  /// Owns the elements.
  tensor(std::vector<float>&& values)
      : owned_(std::make_shared<const std::vector<float>>(std::move(values))),
        memory_(owned_->data()),
        size_(owned_->size()) {}
  tensor(const run::test_data& data) : size_(data.size()), data_(data) {}
  /// Elements that the host does not have. They read as NaN, which no result agrees with.
  [[nodiscard]] static tensor unknown(std::size_t size) {
    tensor result;
    result.size_ = size;
    result.data_.low = std::numeric_limits<double>::quiet_NaN();
    return result;
  }

  [[nodiscard]] float operator[](std::size_t i) const {
    if (memory_ != nullptr) [[likely]]
      return memory_[i];
    return drawn_element(data_, i);
  }
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] bool empty() const { return size_ == 0; }
  /// All elements; empty where they are drawn.
  [[nodiscard]] std::span<const float> memory() const {
    return {memory_, memory_ != nullptr ? size_ : 0};
  }
  /// The test data that the elements are; null where they are memory.
  [[nodiscard]] const run::test_data* drawn() const {
    return memory_ == nullptr && size_ > 0 ? &data_ : nullptr;
  }

 private:
  /// A function of its arguments alone, as the attribute says. Otherwise the compiler would keep
  /// the sums of formulas in memory, and the reference plans would take twice as long.
  [[nodiscard, gnu::const, gnu::noinline]] static float drawn_element(run::test_data data,
                                                                      std::size_t i) {
    return data[i];
  }

  std::shared_ptr<const std::vector<float>> owned_;
  const float* memory_ = nullptr;
  std::size_t size_ = 0;
  run::test_data data_;
};

/// Operands of an op, in its order; outputs are empty.
using tensors = std::span<const tensor>;

/// Element `i` of `a` times element `j` of `b`.
[[nodiscard]] inline double product(const tensor& a, std::int64_t i, const tensor& b,
                                    std::int64_t j) {
  return static_cast<double>(a[static_cast<std::size_t>(i)]) * b[static_cast<std::size_t>(j)];
}

/// The formula of an op, element by element: specialise it with
/// `static sum at(const Op&, op::pass, tensors, std::size_t output, std::int64_t index)`, which
/// gives element `index` (row-major) of operand `output` before it is rounded to the data type.
/// Where elements share most of their work, specialise it with a class `evaluation` instead:
/// its constructor takes the first three of these, its `at` the others.
template <class Op>
struct formula;

/// All results of an op, given its inputs: a function of output and index, as formula. Use it no
/// longer than op and inputs exist.
template <class Op, class Pass>
[[nodiscard]] auto evaluate(const Op& op, Pass pass, tensors inputs) {
  if constexpr (requires { typename formula<Op>::evaluation; }) {
    auto whole = std::make_shared<const typename formula<Op>::evaluation>(op, pass, inputs);
    return [whole = std::move(whole)](std::size_t output, std::int64_t index) {
      return whole->at(output, index);
    };
  } else {
    return [&op, pass, inputs](std::size_t output, std::int64_t index) {
      return formula<Op>::at(op, pass, inputs, output, index);
    };
  }
}

}  // namespace layerbench::reference
