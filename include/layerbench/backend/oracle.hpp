// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <layerbench/backend/formula.hpp>
#include <layerbench/base/error.hpp>
#include <layerbench/op/op.hpp>

namespace layerbench::reference {

/// The exact value of element `index` of operand `output`.
using exact_element = std::function<sum(std::size_t output, std::int64_t index)>;

/// The exact values of an op's results, given its inputs. Its results need it and the inputs.
using exact_value = std::function<exact_element(tensors inputs)>;

template <op::operation Op>
[[nodiscard]] exact_value exact_value_of(const Op& op, op::pass pass) {
  return [op, pass](tensors inputs) -> exact_element { return evaluate(op, pass, inputs); };
}

/// The formulas of some ops, found by the op. It is no part of what is timed.
class oracle {
 public:
  oracle() = default;
  template <op::operation... Ops>
  explicit oracle(op::list<Ops...> /*ops*/) : finders_{&find<Ops>...} {}

  /// The formula of `op` in that pass. Throws error where the oracle has none.
  [[nodiscard]] exact_value of(const op::any& op, op::pass pass) const {
    for (const finder& look : finders_) {
      if (exact_value found = look(op, pass)) return found;
    }
    throw error("no reference formula of the op " + std::string(op.name()));
  }

 private:
  using finder = exact_value (*)(const op::any&, op::pass);

  /// Nothing where `op` is another one.
  template <class Op>
  [[nodiscard]] static exact_value find(const op::any& op, op::pass pass) {
    const Op* sizes = op.get<Op>();
    return sizes == nullptr ? exact_value() : exact_value_of(*sizes, pass);
  }

  std::vector<finder> finders_;
};

}  // namespace layerbench::reference
