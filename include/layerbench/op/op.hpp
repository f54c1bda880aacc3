// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <layerbench/base/rounding.hpp>
#include <layerbench/op/routing.hpp>
#include <layerbench/shape/dims.hpp>
#include <layerbench/shape/dtype.hpp>
#include <layerbench/shape/record.hpp>

/// An op says what is computed: sizes, operands, cost. It knows no library and no device.
namespace layerbench::op {

/// Direction of a computation, in the libraries' words. `fwd` is inference. Forward calls of
/// training are `fwd` too, unless they store more for the gradients: then they are `fwd_training`.
/// `bwd_data` computes the gradient of the source, `bwd_weights` the gradients of the learned
/// values, `bwd` all of them in one call.
enum class pass { fwd, fwd_training, bwd_data, bwd_weights, bwd };

/// Whether the pass computes gradients.
[[nodiscard]] constexpr bool is_backward(pass p) {
  return p != pass::fwd && p != pass::fwd_training;
}

[[nodiscard]] constexpr std::array<std::string_view, 5> list_names(pass /*tag*/) {
  return {"fwd", "fwd_training", "bwd_data", "bwd_weights", "bwd"};
}

/// How a framework calls an op: once, as the library's interface has it; with weights packed and
/// images reordered in each call; or by the products and pointwise calls of a framework that has no
/// call for the whole op. The results are the same. In files a manner other than the first is a
/// field of the op that is true.
enum class manner { direct, reorders, unfused };

[[nodiscard]] constexpr std::array<std::string_view, 3> list_names(manner /*tag*/) {
  return {"direct", "reorders", "unfused"};
}

/// What the fields of these names say.
inline constexpr std::array<std::string_view, 3> manner_help{
    "", "whether each call packs its weights and, in nchw, reorders its images, as PyTorch does",
    "whether each product and pointwise function is a call"};

using layerbench::name;  // lookup must find it for the enums of this namespace

/// Role of an operand in the model: activations read, learned values, what is kept beside them
/// (running statistics of a normalization, scales and zero points of weights), activations written.
enum class role { source, weights, statistics, destination };

/// The scale of a channel of integers that have one scale per channel. Neighbours differ, so that
/// verification finds a library that mixes them up.
[[nodiscard]] constexpr double channel_scale(double scale, std::int64_t channel) {
  return scale * (1 + 0.25 * static_cast<double>(channel % 4));
}

/// One tensor of an op. Its name means the same tensor in every pass: the gradient of `src` is
/// `diff_src`, and a backward pass reads under a forward name what the forward pass read or wrote.
/// Test data is uniform in [low, high], that of an index is not (run::test_data). An index that is
/// no source comes from the caller of a step, one tensor for all layers that choose alike. The real
/// value of an element of 8 bits is (stored - zero_point) * scale.
struct operand {
  std::string_view name;
  dims extents;
  op::role role;
  dtype type;
  double low = -1;
  double high = 1;
  double scale = type == dtype::f8_e4m3 ? 1 : 1.0 / 127;
  bool range_required = false;  ///< readers rely on values in [low, high]
  bool integral = false;        ///< all values are whole numbers, and results are exact
  bool is_index = false;        ///< its values choose what a call reads of another operand
  /// Only the library can read it: it has no elements, and its plan alone knows its bytes.
  bool opaque = false;
  bool overwritten = false;  ///< of a source: the op's only destination lies in its memory
  /// Of an op's only destination, if that is a part of a tensor that is kept from step to step: the
  /// extents of that tensor, which differ in the second axis alone. Else empty.
  dims kept_in = {};
  std::int64_t first = 0;       ///< where the part begins along that axis
  std::int64_t zero_point = 0;  ///< of integers
  std::int64_t multiple = 1;    ///< test data of integers are multiples of it, as stored
  /// Of integers whose scale differs along an axis, such as weights with a scale per output
  /// channel: the axis.
  std::optional<std::size_t> channel_axis = {};
  std::int64_t most_read = 0;  ///< most elements that a call reads; 0: all
  /// Of the experts that tokens choose, an element per choice: how test data is spread.
  std::optional<op::routing> routed = {};

  /// Elements that follow each other in row-major order and have one scale.
  [[nodiscard]] std::int64_t channel_elements() const {
    const auto inner = static_cast<std::ptrdiff_t>(channel_axis.value_or(0) + 1);
    return channel_axis ? elements({extents.begin() + inner, extents.end()}) : elements(extents);
  }
  /// The scale of element `index` in row-major order.
  [[nodiscard]] double scale_of(std::int64_t index) const {
    if (!channel_axis) return scale;
    return channel_scale(scale, index / channel_elements() % extents[*channel_axis]);
  }

  /// Extents of what readers of the destination read.
  [[nodiscard]] const dims& tensor() const { return kept_in.empty() ? extents : kept_in; }
  /// Position in that tensor of element `index` of the operand, both in row-major order.
  [[nodiscard]] std::int64_t place(std::int64_t index) const {
    if (kept_in.empty()) return index;
    const std::int64_t written = elements(extents) / extents.front();
    const std::int64_t kept = elements(kept_in) / kept_in.front();
    return index / written * kept + first * (kept / kept_in[1]) + index % written;
  }
};

/// The operand over which the destination is written; past the end if there is none. `logical`
/// gives the op's operand of an element of `all`.
template <class T, class Logical = std::identity>
[[nodiscard]] std::size_t overwritten_source(const std::vector<T>& all, Logical logical = {}) {
  const auto overwritten = [&](const T& one) { return std::invoke(logical, one).overwritten; };
  return static_cast<std::size_t>(std::ranges::find_if(all, overwritten) - all.begin());
}

/// What a forward pass in training keeps for the backward pass in a form of the library's own.
[[nodiscard]] inline operand opaque_operand(std::string_view name, role used_as) {
  operand result{name, {0}, used_as, dtype::f32};
  result.opaque = true;
  return result;
}

/// Whether an input must hold certain values: a variance or an argmax index those of its range, an
/// opaque operand what a forward pass wrote. Other inputs may hold any numbers.
[[nodiscard]] inline bool needs_values(const operand& of) {
  return (of.range_required || of.opaque) && of.role != role::destination;
}

/// Arithmetic of one call. One multiply-accumulate (MAC) is two FLOPs. `flops` counts the taps
/// in padding and the masked pairs of attention, as the libraries' benchmarks do; `flops_exact`
/// does not.
struct work {
  std::int64_t macs;
  std::int64_t flops;
  std::int64_t flops_exact;
};

/// A rate of a call: the numerator to divide by its time, and the counter for the quotient.
struct rate {
  std::string_view counter;
  double numerator;
};

/// The passes of an op: those that the op lists, else `fwd` alone. The others are for training. An
/// op with `fwd` alone has no gradient, or passes the gradient of its destination to all sources.
/// An op with an empty list has nothing to compute.
template <class Op>
[[nodiscard]] std::vector<pass> passes(const Op& op) {
  if constexpr (requires { op.passes(); }) return op.passes();
  return {pass::fwd};
}

/// The rates of an op: none unless the op lists them.
template <class Op>
[[nodiscard]] std::vector<rate> rates(const Op& op) {
  if constexpr (requires { op.rates(); }) return op.rates();
  return {};
}

/// The manners in which frameworks call the op beside `direct`: none unless the op lists them.
template <class Op>
[[nodiscard]] std::vector<manner> manners(const Op& op) {
  if constexpr (requires { op.manners(); }) return op.manners();
  return {};
}

/// The fields of an op that is called so, as files have them.
template <class Op>
[[nodiscard]] record_fields fields_in(const Op& op, manner how) {
  record_fields all = fields_of(op);
  for (const manner other : manners(Op{})) {
    const std::string_view help = manner_help.at(static_cast<std::size_t>(other));
    all.push_back({name(other), help, false, how != other, how == other});
  }
  return all;
}

/// The op on which plans of an op are verified: itself, unless its formula would take minutes, and
/// it has a smaller one for which libraries do the same.
template <class Op>
[[nodiscard]] Op verified_as(const Op& op) {
  if constexpr (requires { op.verified_as(); }) return op.verified_as();
  return op;
}

/// Whether the gradient of a source equals the gradient of the destination where no backward pass
/// of the op gives it.
template <class Op>
[[nodiscard]] constexpr bool passes_gradient_through() {
  if constexpr (requires { Op::passes_gradient_through; }) return Op::passes_gradient_through;
  return false;
}

/// Whether frameworks usually let the op write over its source, as they do with activations. Its
/// result then does not count in a model's activations.
template <class Op>
[[nodiscard]] constexpr bool overwrites_source() {
  if constexpr (requires { Op::overwrites_source; }) return Op::overwrites_source;
  return false;
}

template <class Op>
concept operation = requires(const Op& op, pass p, dtype type) {
  { Op::name } -> std::convertible_to<std::string_view>;
  Op::fields;
  op.validate();
  { op.operands(p, type) } -> std::same_as<std::vector<operand>>;
  { op.work(p) } -> std::same_as<op::work>;
};

/// Bytes of `count` numbers that follow each other. Throws what checked_multiply throws.
[[nodiscard]] inline std::int64_t storage_bytes(dtype type, std::int64_t count) {
  if (is_4_bit(type)) return ceil_div(count, 2);
  return checked_multiply(count, static_cast<std::int64_t>(traits(type).bytes));
}

/// Bytes of memory of an operand without padding.
[[nodiscard]] inline std::int64_t bytes(const operand& tensor) {
  return storage_bytes(tensor.type, elements(tensor.extents));
}

/// Bytes of an operand that one call reads or writes: of a table those of the rows that are read.
[[nodiscard]] inline std::int64_t least_bytes(const operand& tensor) {
  const std::int64_t all = elements(tensor.extents);
  return storage_bytes(tensor.type, tensor.most_read > 0 ? std::min(all, tensor.most_read) : all);
}

/// Least memory traffic of one call in bytes: every operand read or written once.
[[nodiscard]] inline std::int64_t least_bytes(const std::vector<operand>& operands) {
  std::int64_t sum = 0;
  for (const operand& tensor : operands) sum = checked_add(sum, least_bytes(tensor));
  return sum;
}

/// An op of any type, as a value, and how it is called. The op may be defined outside this library.
/// If it has an own data type, it computes in that, whatever the type of the step.
class any {
 public:
  template <operation Op>
  explicit any(Op op) : self_(std::make_shared<const holder<Op>>(std::move(op))) {}

  [[nodiscard]] std::string_view name() const { return self_->name(); }
  /// Those of the op; of one that reorders in each call, as frameworks do in inference, only `fwd`.
  [[nodiscard]] std::vector<pass> passes() const {
    return manner_ == manner::reorders ? std::vector{pass::fwd} : self_->passes();
  }
  [[nodiscard]] bool has(pass p) const {
    const std::vector<pass> all = passes();
    return std::ranges::find(all, p) != all.end();
  }
  [[nodiscard]] bool passes_gradient_through() const { return self_->passes_gradient_through(); }
  [[nodiscard]] bool overwrites_source() const { return self_->overwrites_source(); }
  /// Canonical key of the fields and the op's own type. Calls with equal name(), pass and key()
  /// compute the same in the same manner.
  [[nodiscard]] std::string key() const {
    std::string text = layerbench::key(fields());
    if (own_type_) text.append(",type:").append(layerbench::name(*own_type_));
    return text;
  }
  [[nodiscard]] std::optional<dtype> own_type() const { return own_type_; }
  /// The same op, computed in that type.
  [[nodiscard]] any in(dtype type) const {
    any result = *this;
    result.own_type_ = type;
    return result;
  }
  [[nodiscard]] manner how() const { return manner_; }
  /// The same op, called so. Throws invalid_field if frameworks do not call it so.
  [[nodiscard]] any called(manner how) const {
    const std::vector<manner> known = self_->manners();
    if (how != manner::direct && std::ranges::find(known, how) == known.end()) {
      throw invalid_field(layerbench::name(how),
                          "is no manner in which this op is called, given its other fields");
    }
    any result = *this;
    result.manner_ = how;
    return result;
  }
  /// Operands in a step of that type.
  [[nodiscard]] std::vector<operand> operands(pass p, dtype type) const {
    return self_->operands(p, own_type_.value_or(type));
  }
  [[nodiscard]] op::work work(pass p) const { return self_->work(p); }
  [[nodiscard]] std::vector<rate> rates() const { return self_->rates(); }
  [[nodiscard]] record_fields fields() const { return self_->fields(manner_); }
  [[nodiscard]] any verified_as() const {
    any result = self_->verified_as();
    result.own_type_ = own_type_;
    result.manner_ = manner_;
    return result;
  }

  /// The op if it is an `Op`, else null.
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
    virtual std::vector<pass> passes() const = 0;
    virtual bool passes_gradient_through() const = 0;
    virtual bool overwrites_source() const = 0;
    virtual std::vector<operand> operands(pass p, dtype type) const = 0;
    virtual op::work work(pass p) const = 0;
    virtual std::vector<rate> rates() const = 0;
    virtual std::vector<manner> manners() const = 0;
    virtual record_fields fields(manner how) const = 0;
    virtual any verified_as() const = 0;
  };
  template <class Op>
  struct holder final : interface {
    explicit holder(Op o) : op(std::move(o)) {}
    std::string_view name() const override { return Op::name; }
    std::vector<pass> passes() const override { return op::passes(op); }
    bool passes_gradient_through() const override { return op::passes_gradient_through<Op>(); }
    bool overwrites_source() const override { return op::overwrites_source<Op>(); }
    std::vector<operand> operands(pass p, dtype t) const override { return op.operands(p, t); }
    op::work work(pass p) const override { return op.work(p); }
    std::vector<rate> rates() const override { return op::rates(op); }
    std::vector<manner> manners() const override { return op::manners(op); }
    record_fields fields(manner how) const override { return fields_in(op, how); }
    any verified_as() const override { return any(op::verified_as(op)); }
    Op op;
  };

  std::shared_ptr<const interface> self_;
  std::optional<dtype> own_type_;
  manner manner_ = manner::direct;
};

/// How a shape file's op is found by its name and created from its fields.
struct entry {
  std::string_view name;
  record_fields (*default_fields)();
  any (*create)(const record_fields&);  ///< throws what record_of throws
};

template <operation... Ops>
struct list {};

using catalog = std::vector<entry>;

/// The op with these fields, called as they say.
template <operation Op>
[[nodiscard]] any any_of(const record_fields& fields) {
  any op(record_of<Op>(fields));
  for (const manner how : manners(Op{})) {
    if (std::get<bool>(find_field(fields, name(how))->value)) return op.called(how);
  }
  return op;
}

/// The op with these values of its fields, in the same own type. The catalog must have it.
[[nodiscard]] inline any with_fields(const any& of, const record_fields& fields,
                                     const catalog& all) {
  const any changed = std::ranges::find(all, of.name(), &entry::name)->create(fields);
  return of.own_type() ? changed.in(*of.own_type()) : changed;
}

/// The catalog of these ops: those that a shape file may contain.
template <operation... Ops>
[[nodiscard]] catalog catalog_of(list<Ops...> /*ops*/) {
  return {entry{Ops::name, [] { return fields_in(Ops{}, manner::direct); }, &any_of<Ops>}...};
}

/// Output extent of a sliding window; below 1 if the window does not fit.
[[nodiscard]] constexpr std::int64_t window_outputs(std::int64_t size, std::int64_t pad_sum,
                                                    std::int64_t window, std::int64_t stride,
                                                    bool ceil = false) {
  const std::int64_t room = size + pad_sum - window;
  if (room < 0) return 0;
  return (room + (ceil ? stride - 1 : 0)) / stride + 1;
}

/// Taps of a sliding window along one axis, summed over all outputs, without those in padding.
[[nodiscard]] constexpr std::int64_t window_taps(std::int64_t size, std::int64_t pad_before,
                                                 std::int64_t window, std::int64_t dilation,
                                                 std::int64_t stride, std::int64_t outputs) {
  std::int64_t taps = 0;
  for (std::int64_t r = 0; r < window; ++r) {
    // Outputs o with 0 <= o * stride - pad_before + r * dilation < size.
    const std::int64_t offset = r * dilation - pad_before;
    const std::int64_t first = offset >= 0 ? 0 : ceil_div(-offset, stride);
    const std::int64_t end = size - offset <= 0 ? 0 : ceil_div(size - offset, stride);
    taps += std::max<std::int64_t>(0, std::min(end, outputs) - first);
  }
  return taps;
}

}  // namespace layerbench::op
