// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <layerbench/backend/kernels/host/sums.hpp>
#include <layerbench/backend/number_types.hpp>
#include <layerbench/backend/onednn/primitive.hpp>
#include <layerbench/base/rounding.hpp>

namespace layerbench::onednn {

/// Base class of plans that run several primitives, or loops of layerbench, one after the other.
/// What one writes for the next lies in the workspace. A plan that appends none is the single
/// primitive of set_primitive(), or has its own run().
class primitive_sequence : public primitive_plan {
 public:
  [[nodiscard]] std::size_t workspace_bytes() const override {
    return primitive_plan::workspace_bytes() + scratchpads_at_ + scratchpad_bytes_;
  }

  /// The arguments of a primitive, which may run several times in a sequence.
  struct bound_primitive {
    std::vector<dnnl::memory> memories;
    std::vector<dnnl_exec_arg_t> arguments;
  };
  struct binding : primitive_plan::binding {
    std::vector<bound_primitive> primitives;
    std::vector<std::vector<address>> addresses;  ///< of each action
  };

  [[nodiscard]] binding bind(std::span<const address> addresses, address workspace) const {
    binding bound{primitive_plan::bind(addresses, workspace), {}, {}};
    for (const prepared& one : primitives_) {
      bound_primitive& to = bound.primitives.emplace_back();
      const auto pass = [&](int name, const dnnl::memory::desc& stored, address at) {
        to.memories.emplace_back(stored, engine_, at);
        to.arguments.push_back({name, to.memories.back().get()});
      };
      for (const argument& input : one.arguments) {
        pass(input.name, input.stored, address_of(input.at, addresses, workspace));
      }
      pass(DNNL_ARG_SCRATCHPAD, one.scratchpad, scratchpad_in(workspace));
    }
    for (const action& one : actions_) {
      std::vector<address>& to = bound.addresses.emplace_back();
      for (const location& at : one.places) to.push_back(address_of(at, addresses, workspace));
    }
    return bound;
  }

  void place(binding& bound, std::span<const address> addresses) const {
    primitive_plan::place(bound, addresses);
    for (std::size_t i = 0; i < actions_.size(); ++i) {
      const action& one = actions_[i];
      for (std::size_t j = 0; j < one.places.size(); ++j) {
        if (one.places[j].kind != memory_kind::operand) continue;
        bound.addresses[i][j] = address_of(one.places[j], addresses, nullptr);
      }
      if (!one.loop && !primitives_[one.primitive].repeated) set_addresses(bound, i);
    }
  }

  void run(const binding& bound) const {
    if (actions_.empty()) return primitive_plan::run(bound);
    for (std::size_t i = 0; i < actions_.size(); ++i) {
      const action& one = actions_[i];
      if (one.loop) {
        one.loop(bound.addresses[i]);
        continue;
      }
      if (primitives_[one.primitive].repeated) set_addresses(bound, i);
      execute(primitives_[one.primitive].primitive, bound.primitives[one.primitive].arguments);
    }
  }

 protected:
  enum class memory_kind { operand, scratch, constant };
  /// Where an argument lies.
  struct location {
    memory_kind kind;
    std::size_t index;   ///< of an operand or a constant
    std::size_t offset;  ///< in bytes
  };
  /// An argument of a primitive: DNNL_ARG_*, the view that the primitive has, where it lies.
  struct argument {
    int name;
    dnnl::memory::desc stored;
    location at;
  };

  primitive_sequence(const backend& device, std::vector<op::operand> logical)
      : primitive_plan(device, std::move(logical)) {}

  [[nodiscard]] static location operand(std::size_t index, std::size_t offset = 0) {
    return {memory_kind::operand, index, offset};
  }
  /// The next multiple of a cache line.
  [[nodiscard]] static std::size_t aligned(std::size_t bytes) { return rounded_up(bytes, 64); }
  /// New memory in the workspace.
  [[nodiscard]] location scratch(const dnnl::memory::desc& stored) {
    const location result{memory_kind::scratch, 0, scratchpads_at_};
    scratchpads_at_ += aligned(stored.get_size());
    return result;
  }
  /// Makes the memory that the scratchpads of all primitives share large enough for this one.
  void require_scratchpad(const dnnl::memory::desc& scratchpad) {
    scratchpad_bytes_ = std::max(scratchpad_bytes_, scratchpad.get_size());
  }
  [[nodiscard]] address scratchpad_in(address workspace) const {
    return static_cast<std::byte*>(workspace) + scratchpads_at_;
  }
  /// Values that primitives only read.
  [[nodiscard]] location constant(std::vector<float> values) {
    constants_.push_back(std::move(values));
    return {memory_kind::constant, constants_.size() - 1, 0};
  }

  /// Appends a primitive. Returns its number, for repeat().
  template <class Descriptor>
  std::size_t add(const Descriptor& descriptor, std::vector<argument> arguments) {
    const dnnl::memory::desc scratchpad = descriptor.scratchpad_desc();
    require_scratchpad(scratchpad);
    note(descriptor.impl_info_str());
    action& next = actions_.emplace_back(action{primitives_.size(), nullptr, {}});
    for (const argument& input : arguments) next.places.push_back(input.at);
    primitives_.push_back(
        {dnnl::primitive(descriptor.get()), scratchpad, std::move(arguments), false});
    return next.primitive;
  }
  /// Appends a primitive again, whose arguments lie elsewhere. The library's objects for arguments
  /// have most of a kilobyte each: those of each step of a sequence would drive the tensors out of
  /// the caches.
  void repeat(std::size_t primitive, std::vector<location> places) {
    primitives_[primitive].repeated = true;
    actions_.push_back({primitive, nullptr, std::move(places)});
  }

  /// Appends the product of two matrices, or batches of them, each with its place.
  void add_product(const dnnl::memory::desc& a, const location& first, const dnnl::memory::desc& b,
                   const location& second, const dnnl::memory::desc& c, const location& result,
                   const dnnl::primitive_attr& attributes) {
    add(dnnl::matmul::primitive_desc(engine_, a, b, c, attributes),
        {{DNNL_ARG_SRC, a, first}, {DNNL_ARG_WEIGHTS, b, second}, {DNNL_ARG_DST, c, result}});
  }

  /// Appends a copy to another memory order or type.
  void add_reorder(const dnnl::memory::desc& from, const location& source,
                   const dnnl::memory::desc& to, const location& destination) {
    add(dnnl::reorder::primitive_desc(engine_, from, engine_, to, attributes()),
        {{DNNL_ARG_FROM, from, source}, {DNNL_ARG_TO, to, destination}});
  }

  using loop_body = std::function<void(std::span<const address>)>;
  /// Appends a loop of layerbench, which gets the addresses of `arguments`.
  void add_loop(const std::string& name, const std::vector<location>& arguments, loop_body body) {
    note(name);
    actions_.push_back({0, std::move(body), arguments});
  }

  /// Appends the sums over the rows of a row-major matrix of that type, in single precision. Each
  /// thread has some of the columns. Throws unsupported for integers.
  void add_column_sums(std::int64_t rows, std::int64_t columns, dtype type, const location& from,
                       const location& to) {
    require_number(type);
    add_loop(
        host::column_sums_name, {from, to}, [rows, columns, type](std::span<const address> at) {
          with_number(type, [&]<class T>(T /*tag*/) {
            host::column_sums(rows, columns, static_cast<const T*>(at[0]), static_cast<T*>(at[1]));
          });
        });
  }

  /// To be called last. `stored` says how the operands lie.
  void finish(const std::vector<dnnl::memory::desc>& stored) {
    set_loop(stored, fmt::format("{}", fmt::join(implementations_, "+")));
  }
  /// The same where all operands are row-major.
  void finish() { finish(row_major()); }

  /// Adds to the algorithm's name.
  void note(const std::string& implementation) {
    if (std::ranges::find(implementations_, implementation) != implementations_.end()) return;
    implementations_.push_back(implementation);
  }

 private:
  struct prepared {
    dnnl::primitive primitive;
    dnnl::memory::desc scratchpad;
    std::vector<argument> arguments;
    bool repeated;
  };
  struct action {
    std::size_t primitive;  ///< unless it is a loop
    loop_body loop;
    std::vector<location> places;  ///< of the arguments
  };

  /// Moves the arguments of the primitive of action `i` to where they lie in that action. A binding
  /// is used by one thread at a time, since its memory objects change.
  void set_addresses(const binding& bound, std::size_t i) const {
    const bound_primitive& to = bound.primitives[actions_[i].primitive];
    for (std::size_t j = 0; j < bound.addresses[i].size(); ++j) {
      to.memories[j].set_data_handle(bound.addresses[i][j]);
    }
  }

  [[nodiscard]] address address_of(const location& at, std::span<const address> operands,
                                   address workspace) const {
    // Primitives only read constants: their interface has no pointer to const.
    address base = at.kind == memory_kind::operand ? operands[at.index]
                   : at.kind == memory_kind::scratch
                       ? workspace
                       : const_cast<float*>(constants_[at.index].data());
    return static_cast<std::byte*>(base) + at.offset;
  }

  std::vector<prepared> primitives_;
  std::vector<action> actions_;
  std::vector<std::vector<float>> constants_;
  std::vector<std::string> implementations_;  ///< distinct names
  std::size_t scratchpads_at_ = 0;            ///< behind the scratch memory
  std::size_t scratchpad_bytes_ = 0;
};

}  // namespace layerbench::onednn
