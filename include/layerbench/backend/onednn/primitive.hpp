// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <oneapi/dnnl/dnnl_debug.h>

#include <layerbench/backend/onednn/memory.hpp>

namespace layerbench::onednn {

/// What the oneDNN plans of all ops have in common: operands tied to a primitive's arguments.
class primitive_plan {
 public:
  [[nodiscard]] const std::vector<plan_operand>& operands() const { return operands_; }
  [[nodiscard]] std::size_t workspace_bytes() const { return scratchpad_.get_size(); }
  [[nodiscard]] const std::string& algorithm() const { return algorithm_; }
  /// Without the library's unoptimised code, which is there to be right. Goes through them once.
  [[nodiscard]] std::vector<std::string> alternatives() {
    std::vector<std::string> names;
    if (!described_) return names;
    do {
      const std::string name = described_.impl_info_str();
      const bool known = std::ranges::find(names, name) != names.end();
      if (!known && !name.starts_with("ref")) names.push_back(name);
    } while (described_.next_impl());
    return names;
  }

  /// Stores row-major `values` in the operand's type and order.
  void upload(std::size_t operand, std::span<const float> values, address to) const {
    const port& at = ports_[operand];
    if (scale_of(operand) == 0) {
      // The library reads the values only: its interface has no pointer to const.
      copy(at.exchanged, const_cast<float*>(values.data()), at.stored, to);
      return;
    }
    std::vector<std::int8_t> integers(values.size());
    for (std::size_t i = 0; i < values.size(); ++i) {
      integers[i] = static_cast<std::int8_t>(std::lround(values[i] / scale_of(operand)));
    }
    copy(at.exchanged, integers.data(), at.stored, to);
  }

  /// Reads the operand back as row-major `values`.
  void download(std::size_t operand, address from, std::span<float> values) const {
    const port& at = ports_[operand];
    if (scale_of(operand) == 0) {
      copy(at.stored, from, at.exchanged, values.data());
      return;
    }
    std::vector<std::int8_t> integers(values.size());
    copy(at.stored, from, at.exchanged, integers.data());
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = static_cast<float>(integers[i] * scale_of(operand));
    }
  }

  /// The library's arguments, ready to be passed without allocation.
  struct binding {
    std::vector<dnnl::memory> memories;
    std::vector<dnnl_exec_arg_t> arguments;
    /// Quantisation scales, which the library reads at every call.
    std::vector<float> scales;

    void pass(int argument, const dnnl::memory& memory) {
      arguments.push_back({argument, memory.get()});
    }
  };

  [[nodiscard]] binding bind(std::span<const address> places, address workspace) const {
    binding bound;
    bound.scales.reserve(scaled_.size());  // the library keeps pointers into it
    for (std::size_t i = 0; i < ports_.size(); ++i) {
      dnnl::memory device{ports_[i].stored, engine_, places[i]};
      if (ports_[i].argument != not_an_argument) bound.pass(ports_[i].argument, device);
      bound.memories.push_back(std::move(device));
    }
    for (const std::size_t operand : scaled_) {
      bound.scales.push_back(static_cast<float>(scale_of(operand)));
      const dnnl::memory::desc one({1}, dnnl::memory::data_type::f32, dnnl::memory::dims{1});
      bound.memories.emplace_back(one, engine_, &bound.scales.back());
      bound.pass(DNNL_ARG_ATTR_SCALES | ports_[operand].argument, bound.memories.back());
    }
    if (primitive_) {
      bound.memories.emplace_back(scratchpad_, engine_, workspace);
      bound.pass(DNNL_ARG_SCRATCHPAD, bound.memories.back());
    }
    return bound;
  }

  void place(binding& bound, std::span<const address> places) const {
    for (std::size_t i = 0; i < ports_.size(); ++i) {
      bound.memories[i].set_data_handle(places[i]);
    }
  }

  void run(const binding& bound) const {
    const dnnl_status_t status =
        dnnl_primitive_execute(primitive_.get(), stream_.get(),
                               static_cast<int>(bound.arguments.size()), bound.arguments.data());
    if (status != dnnl_success) {
      throw api_error("oneDNN", "dnnl_primitive_execute", dnnl_status2str(status));
    }
  }

 protected:
  /// Stands for an operand that the library does not know.
  static constexpr int not_an_argument = 0;

  /// Where an operand goes in the primitive's call and how it lies in memory.
  struct port {
    int argument;
    dnnl::memory::desc stored;
    dnnl::memory::desc exchanged;  ///< row-major as the op has it; f32, or s8 where the operand is
  };

  primitive_plan(const backend& device, std::vector<op::operand> logical)
      : engine_(device.engine()), stream_(device.stream()) {
    for (op::operand& operand : logical) operands_.push_back({std::move(operand), {}, 0});
  }

  /// Moves on to the algorithm of that name, where one is wanted. Throws unsupported.
  static void select(dnnl::primitive_desc& among, const std::string& wanted) {
    while (!wanted.empty() && among.impl_info_str() != wanted) {
      if (!among.next_impl()) throw unsupported("oneDNN has no " + wanted + " for it");
    }
  }

  /// Takes over what `descriptor` describes. `arguments` and `stored` are those of the operands,
  /// in their order; what is stored as nothing, such as a bias that there is not, is no operand.
  /// Operands in `scaled` are given their quantum as a scale.
  template <class Descriptor>
  void adopt(const Descriptor& descriptor, const std::vector<int>& arguments,
             const std::vector<dnnl::memory::desc>& stored, std::vector<std::size_t> scaled = {}) {
    store(arguments, stored);
    scaled_ = std::move(scaled);
    scratchpad_ = descriptor.scratchpad_desc();
    if constexpr (std::derived_from<Descriptor, dnnl::primitive_desc>) described_ = descriptor;
    algorithm_ = descriptor.impl_info_str();
    primitive_ = dnnl::primitive(descriptor.get());
  }

  /// For a loop of the suite's own, on row-major operands.
  void adopt_loop() {
    std::vector<dnnl::memory::desc> stored;
    for (const plan_operand& operand : operands_) {
      stored.push_back(plain(operand.logical.extents, data_type(operand.logical.type)));
    }
    store(std::vector<int>(stored.size(), not_an_argument), stored);
    algorithm_ = "layerbench:loop";
  }

  /// An operand of a call.
  template <class T>
  [[nodiscard]] static T* at(const binding& bound, std::size_t operand) {
    return static_cast<T*>(bound.memories[operand].get_data_handle());
  }

  /// Says in which order operand `i` is exchanged, where that is not row-major in the axes that the
  /// library has; in the op's own it is.
  template <class Describe>
  void set_exchanged(std::size_t i, Describe&& describe) {
    port& of = ports_[i];
    of.exchanged = describe(of.exchanged.get_data_type());
    const bool as_stored =
        of.stored.get_inner_nblks() == 0 && of.stored.get_strides() == of.exchanged.get_strides();
    if (as_stored) operands_[i].order = op::plain_order(extents(i));
  }

  /// Attributes of every primitive: scratch memory is ours, so that it is known and shared; and f32
  /// is f32, whatever the library's environment variables say.
  [[nodiscard]] static dnnl::primitive_attr attributes() {
    dnnl::primitive_attr attr;
    attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    attr.set_fpmath_mode(dnnl::fpmath_mode::strict);
    return attr;
  }

  [[nodiscard]] const dims& extents(std::size_t operand) const {
    return operands_[operand].logical.extents;
  }

 private:
  void store(const std::vector<int>& arguments, const std::vector<dnnl::memory::desc>& stored) {
    for (std::size_t i = 0; i < stored.size(); ++i) {
      if (stored[i].is_zero()) continue;
      plan_operand& operand = operands_[ports_.size()];
      const auto host = operand.logical.type == dtype::s8 ? dnnl::memory::data_type::s8
                                                          : dnnl::memory::data_type::f32;
      // Groups split the first extent of weights; row-major order is the same with and without.
      ports_.push_back({arguments[i], stored[i], plain(stored[i].get_dims(), host)});
      operand.order = order_of(stored[i]);
      const dims axes = stored[i].get_dims();
      if (axes.size() > operand.logical.extents.size()) operand.split = axes;
      operand.bytes = stored[i].get_size();
    }
  }

  [[nodiscard]] double scale_of(std::size_t operand) const {
    const op::operand& logical = operands_[operand].logical;
    return logical.type == dtype::s8 ? logical.scale : 0;
  }

  void copy(const dnnl::memory::desc& from, void* source, const dnnl::memory::desc& to,
            void* destination) const {
    dnnl::memory in(from, engine_, source);
    dnnl::memory out(to, engine_, destination);
    dnnl::stream stream(engine_);
    checked("reorder", [&] { dnnl::reorder(in, out).execute(stream, in, out); });
    stream.wait();
  }

  dnnl::engine engine_;
  dnnl::stream stream_;
  dnnl::primitive primitive_;
  std::vector<plan_operand> operands_;
  std::vector<port> ports_;
  std::vector<std::size_t> scaled_;
  dnnl::memory::desc scratchpad_;
  dnnl::primitive_desc described_;
  std::string algorithm_;
};

}  // namespace layerbench::onednn
