// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <layerbench/shape/dims.hpp>
#include <layerbench/shape/dtype.hpp>
#include <layerbench/shape/record.hpp>
#include <layerbench/shape/record_json.hpp>

/// An op says what is computed: sizes, operands, cost. It knows no library and no device.
namespace layerbench::op {

/// Direction of a computation, in the libraries' words. `fwd` is inference, and the forward half of
/// training where that is the same; else that is `fwd_training`, which keeps what the gradients
/// need. `bwd_data` gives the gradient of the source, `bwd_weights` those of what is learned, `bwd`
/// all of them in one call.
enum class pass { fwd, fwd_training, bwd_data, bwd_weights, bwd };

/// Whether the pass gives gradients.
[[nodiscard]] constexpr bool is_backward(pass p) {
  return p != pass::fwd && p != pass::fwd_training;
}

}  // namespace layerbench::op

template <>
inline constexpr std::array<std::string_view, 5> layerbench::enum_names<layerbench::op::pass>{
    "fwd", "fwd_training", "bwd_data", "bwd_weights", "bwd"};

namespace layerbench::op {

using layerbench::name;  // so that it is found for the enums of this namespace

/// What an operand is to the model: activations read, learned values, running statistics of a
/// normalisation, activations written.
enum class role { source, weights, statistics, destination };

/// One tensor of an op. Its name says what it is in every pass: the gradient of `src` is
/// `diff_src`, and what a backward pass reads under a forward name is what the forward pass read or
/// wrote. Test data is uniform in [low, high]; of an s8 tensor the real value is stored * quantum.
/// Of `whole` ones all values are whole numbers, and results exact.
struct operand {
  std::string_view name;
  dims extents;
  op::role role;
  dtype type;
  double low = -1;
  double high = 1;
  double scale = 1.0 / 127;
  bool range_required = false;  ///< whoever reads it relies on that range
  bool integral = false;
};

/// Whether an input must hold values of its own range: not just any numbers are a variance or a
/// position in a window.
[[nodiscard]] inline bool needs_values(const operand& of) {
  return of.range_required && of.role != role::destination;
}

/// Arithmetic of one call. One multiply-accumulate (MAC) is two FLOPs. `flops` counts the taps
/// that fall into padding, as the libraries' own benchmarks do; `flops_exact` does not.
struct work {
  std::int64_t macs;
  std::int64_t flops;
  std::int64_t flops_exact;
};

/// A number that people divide by the time of a call, and the counter that holds the quotient.
struct rate {
  std::string_view counter;
  double numerator;
};

/// Whether the destination of a layer is a tensor of its own in a model that saves memory, or
/// overwrites its source as frameworks let activations do.
enum class storage { own, in_place };

/// The passes of an op: `fwd` alone where it does not say. Those after `fwd` are for training; with
/// none of them it has no gradient, or hands that of its destination on to all its sources.
template <class Op>
[[nodiscard]] std::vector<pass> passes(const Op& op) {
  if constexpr (requires { op.passes(); }) return op.passes();
  return {pass::fwd};
}

/// The rates of an op: none where it does not say.
template <class Op>
[[nodiscard]] std::vector<rate> rates(const Op& op) {
  if constexpr (requires { op.rates(); }) return op.rates();
  return {};
}

/// Whether the gradient of an op's destination is that of each of its sources, as it is.
template <class Op>
[[nodiscard]] constexpr bool passes_gradient_through() {
  if constexpr (requires { Op::passes_gradient_through; }) return Op::passes_gradient_through;
  return false;
}

template <class Op>
concept operation = requires(const Op& op, pass p, dtype type) {
  { Op::name } -> std::convertible_to<std::string_view>;
  { Op::storage } -> std::convertible_to<op::storage>;
  Op::fields;
  op.validate();
  { op.operands(p, type) } -> std::same_as<std::vector<operand>>;
  { op.work(p) } -> std::same_as<op::work>;
};

/// Least memory traffic of one call in bytes: every operand read or written once.
[[nodiscard]] inline std::int64_t least_bytes(const std::vector<operand>& operands) {
  std::int64_t sum = 0;
  for (const operand& item : operands) {
    sum = checked_add(sum, checked_multiply(elements(item.extents),
                                            static_cast<std::int64_t>(traits(item.type).bytes)));
  }
  return sum;
}

/// Any op, as a value: what a model's graph is made of. Ops outside this library fit in too.
class any {
 public:
  template <operation Op>
  explicit any(Op op) : self_(std::make_shared<const holder<Op>>(std::move(op))) {}

  [[nodiscard]] std::string_view name() const { return self_->name(); }
  [[nodiscard]] op::storage storage() const { return self_->storage(); }
  [[nodiscard]] std::vector<pass> passes() const { return self_->passes(); }
  [[nodiscard]] bool has(pass p) const {
    const std::vector<pass> all = passes();
    return std::ranges::find(all, p) != all.end();
  }
  [[nodiscard]] bool passes_gradient_through() const { return self_->passes_gradient_through(); }
  /// Canonical key of the sizes; with name() and the pass it says what is computed.
  [[nodiscard]] std::string key() const { return self_->key(); }
  [[nodiscard]] std::vector<operand> operands(pass p, dtype type) const {
    return self_->operands(p, type);
  }
  [[nodiscard]] op::work work(pass p) const { return self_->work(p); }
  [[nodiscard]] std::vector<rate> rates() const { return self_->rates(); }
  [[nodiscard]] json::value shape() const { return self_->shape(); }

  /// The op when it is an `Op`, else null.
  template <operation Op>
  [[nodiscard]] const Op* get() const noexcept {
    const auto* held = dynamic_cast<const holder<Op>*>(self_.get());
    return held != nullptr ? &held->op : nullptr;
  }

 private:
  struct interface {
    interface() = default;
    interface(const interface&) = delete;
    interface& operator=(const interface&) = delete;
    virtual ~interface() = default;
    virtual std::string_view name() const = 0;
    virtual op::storage storage() const = 0;
    virtual std::vector<pass> passes() const = 0;
    virtual bool passes_gradient_through() const = 0;
    virtual std::string key() const = 0;
    virtual std::vector<operand> operands(pass p, dtype type) const = 0;
    virtual op::work work(pass p) const = 0;
    virtual std::vector<rate> rates() const = 0;
    virtual json::value shape() const = 0;
  };
  template <class Op>
  struct holder final : interface {
    explicit holder(Op o) : op(std::move(o)) {}
    std::string_view name() const override { return Op::name; }
    op::storage storage() const override { return Op::storage; }
    std::vector<pass> passes() const override { return op::passes(op); }
    bool passes_gradient_through() const override { return op::passes_gradient_through<Op>(); }
    std::string key() const override { return layerbench::key(op); }
    std::vector<operand> operands(pass p, dtype t) const override { return op.operands(p, t); }
    op::work work(pass p) const override { return op.work(p); }
    std::vector<rate> rates() const override { return op::rates(op); }
    json::value shape() const override { return json::write_record(op); }
    Op op;
  };

  std::shared_ptr<const interface> self_;
};

/// How a shape file's op is found by name and read.
struct entry {
  std::string_view name;
  std::function<any(const json::cursor&, const json::parameters&)> read;
  std::function<json::value()> schema;
};

template <operation... Ops>
struct list {};

using catalog = std::vector<entry>;

/// The catalog of these ops: what a shape file may contain.
template <operation... Ops>
[[nodiscard]] catalog catalog_of(list<Ops...> /*ops*/) {
  return {entry{Ops::name,
                [](const json::cursor& at, const json::parameters& named) {
                  return any(json::read_record<Ops>(at, named));
                },
                [] { return json::record_schema<Ops>(); }}...};
}

/// Output extent of a sliding window; below 1 when the window does not fit.
[[nodiscard]] constexpr std::int64_t window_outputs(std::int64_t size, std::int64_t pad_sum,
                                                    std::int64_t window, std::int64_t stride,
                                                    bool ceil = false) {
  const std::int64_t room = size + pad_sum - window;
  if (room < 0) return 0;
  return (room + (ceil ? stride - 1 : 0)) / stride + 1;
}

/// Taps of a sliding window, along one axis and summed over all outputs, that fall on the input
/// and not into padding.
[[nodiscard]] constexpr std::int64_t window_taps(std::int64_t size, std::int64_t pad_before,
                                                 std::int64_t window, std::int64_t dilation,
                                                 std::int64_t stride, std::int64_t outputs) {
  std::int64_t taps = 0;
  for (std::int64_t r = 0; r < window; ++r) {
    // Outputs o with 0 <= o * stride - pad_before + r * dilation < size.
    const std::int64_t offset = r * dilation - pad_before;
    const std::int64_t first = offset >= 0 ? 0 : (-offset + stride - 1) / stride;
    const std::int64_t end = size - offset <= 0 ? 0 : (size - offset - 1) / stride + 1;
    taps += std::max<std::int64_t>(0, std::min(end, outputs) - first);
  }
  return taps;
}

}  // namespace layerbench::op
