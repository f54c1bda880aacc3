// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <oneapi/dnnl/dnnl_debug.h>

#include <layerbench/backend/number_types.hpp>
#include <layerbench/backend/onednn/memory.hpp>
#include <layerbench/backend/onednn/post_ops.hpp>

namespace layerbench::onednn {

/// Base class of the oneDNN plans: a primitive, or a loop of layerbench, and its operands.
class primitive_plan : public run::any_plan {
 public:
  [[nodiscard]] const std::vector<plan_operand>& operands() const override { return operands_; }
  [[nodiscard]] std::size_t workspace_bytes() const override { return scratchpad_.get_size(); }
  [[nodiscard]] std::string algorithm() const override { return algorithm_; }
  /// Names of oneDNN's implementations without the unoptimized reference ones. To be called once:
  /// it advances the primitive descriptor to the last one.
  [[nodiscard]] std::vector<run::alternative> alternatives(std::size_t /*most*/) override {
    std::vector<run::alternative> all;
    if (!primitive_desc_) return all;
    do {
      const std::string name = primitive_desc_.impl_info_str();
      const bool known = std::ranges::find(all, name, &run::alternative::algorithm) != all.end();
      if (!known && !name.starts_with("ref")) all.push_back({name});
    } while (primitive_desc_.next_impl());
    return all;
  }

  /// Stores row-major `values` in the operand's type and order.
  void upload(std::size_t operand, std::span<const float> values, address to) const override {
    const port& at = ports_[operand];
    const op::operand& logical = operands_[operand].logical;
    if (logical.opaque) return;
    if (!has_integers_on_host(logical.type)) {
      // oneDNN only reads the values; its interface has no pointer to const.
      copy(at.host_desc, const_cast<float*>(values.data()), at.stored, to);
      return;
    }
    with_stored_number(logical.type, [&]<class T>(T /*tag*/) {
      std::vector<T> integers(values.size());
      for (std::size_t i = 0; i < values.size(); ++i) {
        integers[i] = stored_as<T>(logical, i, values[i]);
      }
      copy(at.host_desc, integers.data(), at.stored, to);
    });
  }

  /// Reads the operand back as row-major `values`.
  void download(std::size_t operand, address from, std::span<float> values) const override {
    const port& at = ports_[operand];
    const op::operand& logical = operands_[operand].logical;
    if (logical.opaque) return;
    if (!has_integers_on_host(logical.type)) {
      copy(at.stored, from, at.host_desc, values.data());
      return;
    }
    with_stored_number(logical.type, [&]<class T>(T /*tag*/) {
      std::vector<T> integers(values.size());
      copy(at.stored, from, at.host_desc, integers.data());
      for (std::size_t i = 0; i < values.size(); ++i) {
        values[i] = element_of(logical, i, integers[i]);
      }
    });
  }

  /// Arguments of dnnl_primitive_execute, prepared so that run() does not allocate.
  struct binding {
    std::vector<dnnl::memory> memories;
    std::vector<dnnl_exec_arg_t> arguments;
    /// Scales and zero points of integers, which oneDNN reads in every call.
    std::vector<std::vector<float>> scales;
    std::vector<std::int32_t> zero_points;

    void pass(int argument, const dnnl::memory& memory) {
      arguments.push_back({argument, memory.get()});
    }
  };

  [[nodiscard]] binding bind(std::span<const address> addresses, address workspace) const {
    binding bound;
    bound.zero_points.reserve(scaled_.size());  // oneDNN keeps pointers to the elements
    for (std::size_t i = 0; i < ports_.size(); ++i) {
      const port& at = ports_[i];
      dnnl::memory operand{at.passed.is_zero() ? at.stored : at.passed, engine_, addresses[i]};
      if (at.argument != not_an_argument) bound.pass(at.argument, operand);
      bound.memories.push_back(std::move(operand));
    }
    for (const std::size_t operand : scaled_) bind_quantization(operand, bound);
    if (primitive_) {
      bound.memories.emplace_back(scratchpad_, engine_, workspace);
      bound.pass(DNNL_ARG_SCRATCHPAD, bound.memories.back());
    }
    return bound;
  }

  void place(binding& bound, std::span<const address> addresses) const {
    for (std::size_t i = 0; i < ports_.size(); ++i) {
      bound.memories[i].set_data_handle(addresses[i]);
    }
  }

  void run(const binding& bound) const { execute(primitive_, bound.arguments); }

 protected:
  void execute(const dnnl::primitive& primitive,
               const std::vector<dnnl_exec_arg_t>& arguments) const {
    const dnnl_status_t status = dnnl_primitive_execute(
        primitive.get(), stream_.get(), static_cast<int>(arguments.size()), arguments.data());
    if (status != dnnl_success) {
      throw api_error("oneDNN", "dnnl_primitive_execute", dnnl_status2str(status));
    }
  }

  dnnl::engine engine_;
  dnnl::stream stream_;

  /// Argument of an operand that is not passed to oneDNN.
  static constexpr int not_an_argument = 0;

  /// An operand's DNNL_ARG_* and memory descriptors.
  struct port {
    int argument;
    dnnl::memory::desc stored;
    dnnl::memory::desc host_desc;    ///< of the host's values: integers as stored, else f32
    dnnl::memory::desc passed = {};  ///< what the primitive sees of it; `stored` if empty
  };

  primitive_plan(const backend& device, std::vector<op::operand> logical)
      : engine_(device.engine()), stream_(device.stream()) {
    for (op::operand& operand : logical) operands_.push_back({std::move(operand), {}, 0});
  }

  /// Advances to the implementation named `algorithm`, unless that is empty. Throws unsupported.
  static void select(dnnl::primitive_desc& candidates, const std::string& algorithm) {
    while (!algorithm.empty() && candidates.impl_info_str() != algorithm) {
      if (!candidates.next_impl()) throw unsupported("oneDNN has no " + algorithm + " for it");
    }
  }

  /// Creates the primitive of `descriptor`. `arguments` and `stored` describe the operands in their
  /// order; empty descriptors, such as that of a missing bias, are skipped. The operands at the
  /// positions in `scaled` get their quantization scale as an argument.
  template <class Descriptor>
  void set_primitive(const Descriptor& descriptor, const std::vector<int>& arguments,
                     const std::vector<dnnl::memory::desc>& stored,
                     std::vector<std::size_t> scaled = {}) {
    store(arguments, stored);
    scaled_ = std::move(scaled);
    scratchpad_ = descriptor.scratchpad_desc();
    if constexpr (std::derived_from<Descriptor, dnnl::primitive_desc>) primitive_desc_ = descriptor;
    algorithm_ = descriptor.impl_info_str();
    primitive_ = dnnl::primitive(descriptor.get());
  }

  /// set_primitive() for the inference pass of a convolution or matrix product, with the requested
  /// algorithm. `descriptor` must be made with forward_attributes(): integers among src, weights
  /// and dst have scales.
  template <class Descriptor>
  void set_forward(Descriptor& descriptor, const dnnl::memory::desc& bias, const op::post_ops& post,
                   const plan_request& request) {
    select(descriptor, request.algorithm);
    limit_weights();
    set_primitive(descriptor, {DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_BIAS, DNNL_ARG_DST},
                  {descriptor.src_desc(), descriptor.weights_desc(), bias, descriptor.dst_desc()},
                  post, integers({0, 1, operands_.size() - 1}));
  }

  /// set_primitive() of a primitive with post-ops. Their added tensors come before dst, which is
  /// the last operand.
  template <class Descriptor>
  void set_primitive(const Descriptor& descriptor, std::vector<int> arguments,
                     std::vector<dnnl::memory::desc> stored, const op::post_ops& post,
                     std::vector<std::size_t> scaled = {}) {
    const dnnl::memory::desc dst = stored.back();
    std::size_t next = 0;
    for (std::size_t i = 0; i < post.size(); ++i) {
      if (!op::is_addition(post[i])) continue;
      const dtype type = addends(post)[next++].type;
      // The primitive reads the tensor in the memory of dst without being told.
      const int argument = DNNL_ARG_ATTR_MULTIPLE_POST_OP(static_cast<int>(i)) | DNNL_ARG_SRC_1;
      arguments.insert(arguments.end() - 1,
                       post[i] == op::post_op::sum ? not_an_argument : argument);
      stored.insert(stored.end() - 1, retyped(dst, type));
    }
    set_primitive(descriptor, arguments, stored, std::move(scaled));
  }

  /// Row-major descriptors of all operands.
  [[nodiscard]] std::vector<dnnl::memory::desc> row_major() const {
    std::vector<dnnl::memory::desc> stored;
    for (const plan_operand& operand : operands_) {
      stored.push_back(plain(operand.logical.extents, data_type(operand.logical.type)));
    }
    return stored;
  }
  /// Sets up operands that lie as `stored` says for what is not one primitive, but a loop of
  /// layerbench, for example.
  void set_loop(const std::vector<dnnl::memory::desc>& stored, std::string algorithm) {
    store(std::vector<int>(stored.size(), not_an_argument), stored);
    algorithm_ = std::move(algorithm);
  }
  /// Names a loop of layerbench behind the primitive.
  void add_to_algorithm(const std::string& loop) { algorithm_ += '+' + loop; }

  /// Address of an operand.
  template <class T>
  [[nodiscard]] static T* at(const binding& bound, std::size_t operand) {
    return static_cast<T*>(bound.memories[operand].get_data_handle());
  }

  /// Sets the order of operand `i` in upload() and download() to `describe(data type)`. It is
  /// row-major in the axes of the op, but not in those of the primitive.
  template <class Describe>
  void set_host_desc(std::size_t i, Describe&& describe) {
    port& operand = ports_[i];
    operand.host_desc = describe(operand.host_desc.get_data_type());
    const bool as_stored = operand.stored.get_inner_nblks() == 0 &&
                           operand.stored.get_strides() == operand.host_desc.get_strides();
    if (as_stored) operands_[i].order = op::plain_order(extents(i));
  }

  /// Describes volumes, which the primitive has as n*c*d*h*w, as the op does.
  void fold_volumes() {
    for (std::size_t i = 0; i < ports_.size(); ++i) {
      if (operands_[i].logical.extents.size() != 4 ||
          operands_[i].logical.role == op::role::weights ||
          operands_[i].logical.name == "diff_weights") {
        continue;
      }
      port& volume = ports_[i];
      volume.passed = volume.stored;
      volume.stored = volume.stored.reshape(extents(i));
      volume.host_desc = plain(extents(i), volume.host_desc.get_data_type());
      operands_[i].order = order_of(volume.stored);
      operands_[i].split = {};
    }
  }

  /// Passes operand `i` to the primitive as a part of it, or with other axes.
  void set_passed_desc(std::size_t i, const dnnl::memory::desc& passed) {
    ports_[i].passed = passed;
  }

  /// Attributes of all primitives. The scratchpad comes from the caller, which reports and shares
  /// it. f32 is never computed in a narrower type, even if ONEDNN_DEFAULT_FPMATH_MODE asks for it.
  [[nodiscard]] static dnnl::primitive_attr attributes() {
    dnnl::primitive_attr attr;
    attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    attr.set_fpmath_mode(dnnl::fpmath_mode::strict);
    return attr;
  }
  /// attributes() of a primitive with post-ops and the destination `result`.
  [[nodiscard]] dnnl::primitive_attr attributes(const op::post_ops& post,
                                                const dnnl::memory::desc& result) const {
    dnnl::primitive_attr attr = attributes();
    attr.set_post_ops(post_ops_of(post, result, addends(post)));
    return attr;
  }
  /// The same for the inference pass of a convolution or matrix product: with scales and zero
  /// points of the integers among src, weights and dst. `channel_mask` has a bit for each axis of
  /// the library's weights along which scales per channel differ.
  [[nodiscard]] dnnl::primitive_attr forward_attributes(const op::post_ops& post,
                                                        const dnnl::memory::desc& result,
                                                        int channel_mask) const {
    dnnl::primitive_attr attr = attributes(post, result);
    describe_integers(attr, DNNL_ARG_SRC, 0);
    describe_integers(attr, DNNL_ARG_WEIGHTS, 1, channel_mask);
    describe_integers(attr, DNNL_ARG_DST, operands_.size() - 1);
    return attr;
  }
  /// Gives `argument`, which is operand `i`, a scale and a zero point if it has integers.
  void describe_integers(dnnl::primitive_attr& attr, int argument, std::size_t i,
                         int channel_mask = 0) const {
    const op::operand& logical = operands_[i].logical;
    if (!is_integer(logical.type)) return;
    attr.set_scales_mask(argument, logical.channel_axis ? channel_mask : 0);
    if (logical.zero_point != 0) attr.set_zero_points_mask(argument, 0);
  }
  /// Those of these operands that have integers, for set_primitive().
  [[nodiscard]] std::vector<std::size_t> integers(std::vector<std::size_t> among) const {
    std::erase_if(among, [&](std::size_t i) { return !is_integer(operands_[i].logical.type); });
    return among;
  }

  [[nodiscard]] const dims& extents(std::size_t operand) const {
    return operands_[operand].logical.extents;
  }

 private:
  /// Whether upload() and download() exchange an operand with oneDNN as it is stored. oneDNN packs
  /// 4 bits from f32 alone.
  [[nodiscard]] static bool has_integers_on_host(dtype type) {
    return is_integer(type) && !is_4_bit(type);
  }

  void store(const std::vector<int>& arguments, const std::vector<dnnl::memory::desc>& stored) {
    for (std::size_t i = 0; i < stored.size(); ++i) {
      // Descriptors of absent operands are empty, and there may be none left.
      const bool left = ports_.size() < operands_.size();
      if (stored[i].is_zero() && !(left && operands_[ports_.size()].logical.opaque)) continue;
      plan_operand& operand = operands_[ports_.size()];
      if (operand.logical.opaque) {  // a primitive may need none
        ports_.push_back({stored[i].is_zero() ? not_an_argument : arguments[i], stored[i], {}});
        operand.order = op::plain_order(operand.logical.extents);
        operand.bytes = stored[i].get_size();
        continue;
      }
      const auto host = has_integers_on_host(operand.logical.type) ? data_type(operand.logical.type)
                                                                   : dnnl::memory::data_type::f32;
      // oneDNN splits the first extent of weights by groups, which does not change row-major order.
      ports_.push_back({arguments[i], stored[i], plain(stored[i].get_dims(), host)});
      operand.order = order_of(stored[i]);
      // Packed weights begin with a header of the library, which crashes on anything else.
      if (stored[i].get_format_kind() != dnnl::memory::format_kind::blocked) {
        operand.logical.range_required = true;
      }
      const dims axes = stored[i].get_dims();
      if (axes.size() > operand.logical.extents.size()) operand.split = axes;
      // The library knows no size of a part of a tensor.
      operand.bytes = operand.logical.kept_in.empty()
                          ? stored[i].get_size()
                          : plain(operand.logical.kept_in, stored[i].get_data_type()).get_size();
    }
  }

  /// Draws integer weights for which results are exact on CPUs without VNNI: even numbers, since
  /// oneDNN halves them, of at most 62, since 2 * 255 * 62 fits into 16 bits.
  void limit_weights() {
    op::operand& weights = operands_[1].logical;
    if (!is_integer(weights.type) || !backend::sums_integers_in_16_bits()) return;
    constexpr double most = 62;
    weights.multiple = 2;
    weights.high = most * weights.scale;
    weights.low = -weights.high;
  }

  /// The operands that post-ops add: the last ones before dst.
  [[nodiscard]] std::vector<op::operand> addends(const op::post_ops& post) const {
    std::vector<op::operand> all;
    const auto count = static_cast<std::size_t>(std::ranges::count_if(post, op::is_addition));
    for (std::size_t i = operands_.size() - 1 - count; i + 1 < operands_.size(); ++i) {
      all.push_back(operands_[i].logical);
    }
    return all;
  }

  /// Passes the scales of an operand, and its zero point unless that is 0.
  void bind_quantization(std::size_t operand, binding& bound) const {
    const op::operand& logical = operands_[operand].logical;
    const int argument = ports_[operand].argument;
    std::vector<float>& scales = bound.scales.emplace_back();
    const std::int64_t channels = logical.channel_axis ? logical.extents[*logical.channel_axis] : 1;
    for (std::int64_t i = 0; i < channels; ++i) {
      scales.push_back(static_cast<float>(logical.scale_of(i * logical.channel_elements())));
    }
    bound.memories.emplace_back(plain({channels}, dnnl::memory::data_type::f32), engine_,
                                scales.data());
    bound.pass(DNNL_ARG_ATTR_SCALES | argument, bound.memories.back());
    if (logical.zero_point == 0) return;
    bound.zero_points.push_back(static_cast<std::int32_t>(logical.zero_point));
    bound.memories.emplace_back(plain({1}, dnnl::memory::data_type::s32), engine_,
                                &bound.zero_points.back());
    bound.pass(DNNL_ARG_ATTR_ZERO_POINTS | argument, bound.memories.back());
  }

  void copy(const dnnl::memory::desc& from, void* source, const dnnl::memory::desc& to,
            void* destination) const {
    dnnl::memory src(from, engine_, source);
    dnnl::memory dst(to, engine_, destination);
    dnnl::stream stream(engine_);
    checked("reorder", [&] { dnnl::reorder(src, dst).execute(stream, src, dst); });
    stream.wait();
  }

  dnnl::primitive primitive_;
  std::vector<plan_operand> operands_;
  std::vector<port> ports_;
  std::vector<std::size_t> scaled_;
  dnnl::memory::desc scratchpad_;
  dnnl::primitive_desc primitive_desc_;
  std::string algorithm_;
};

}  // namespace layerbench::onednn
