// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <layerbench/backend/backend.hpp>
#include <layerbench/backend/device.hpp>
#include <layerbench/backend/formula.hpp>
#include <layerbench/base/error.hpp>
#include <layerbench/op/op.hpp>
#include <layerbench/op/test_data.hpp>
#include <layerbench/shape/dims.hpp>

namespace layerbench::run {

/// Writes to the operands of a backward plan what its forward pass in training writes. Does nothing
/// for a plan without opaque operands, which may read any numbers instead. `places` are the plan's
/// operands; null where nothing is to be written. `inputs` are their elements: the forward pass
/// reads those that it shares with the plan, and test data for empty ones; those that it writes are
/// replaced by its results, which stay unknown to the host where the device is another one. Throws
/// error where the two passes disagree on the bytes of an opaque operand.
inline void write_forward_results(compute_device& device, const any_plan& plan,
                                  std::span<reference::tensor> inputs,
                                  std::span<const address> places, std::uint64_t seed) {
  const std::unique_ptr<any_plan> forward = plan.forward();
  if (!forward) return;
  const std::vector<plan_operand>& written = forward->operands();
  const std::vector<plan_operand>& read = plan.operands();
  /// The plan's operand that is operand `j` of the forward pass; past the end if there is none.
  const auto shared = [&](std::size_t j) {
    const auto same = std::ranges::find_if(read, [&](const plan_operand& of) {
      return of.logical.name == written[j].logical.name && of.logical.role != op::role::destination;
    });
    return static_cast<std::size_t>(same - read.begin());
  };
  std::vector<std::unique_ptr<device_memory>> memory;
  std::vector<address> operands;
  for (std::size_t j = 0; j < written.size(); ++j) {
    memory.push_back(device.allocate(written[j].bytes));
    operands.push_back(memory.back()->data());
    if (written[j].logical.role == op::role::destination) continue;
    const std::size_t i = shared(j);
    const bool known = i < read.size() && !inputs[i].empty();
    const test_data drawn(written[j].logical, operand_seed(seed, j));
    write(*forward, j, known ? inputs[i] : drawn, operands.back());
  }
  const std::unique_ptr<device_memory> workspace = device.allocate(forward->workspace_bytes());
  const std::unique_ptr<bound_plan> bound = forward->bound_to(operands, workspace->data());
  device.activate();
  bound->run();
  device.synchronize();
  for (std::size_t j = 0; j < written.size(); ++j) {
    const std::size_t i = shared(j);
    const bool wanted = i < read.size() && places[i] != nullptr;
    if (!wanted || written[j].logical.role != op::role::destination) continue;
    const bool same = read[i].bytes == written[j].bytes && read[i].order == written[j].order;
    if (!read[i].logical.opaque && same && !device.is_host()) {
      device.copy(places[i], operands[j], read[i].bytes);
      const auto count = static_cast<std::size_t>(elements(read[i].logical.extents));
      inputs[i] = reference::tensor::unknown(count);
    } else if (!read[i].logical.opaque) {
      inputs[i] = forward->downloaded(j, operands[j]);
      plan.upload(i, inputs[i].memory(), places[i]);
    } else if (read[i].bytes == written[j].bytes || read[i].bytes == 0) {
      device.copy(places[i], operands[j], read[i].bytes);
    } else {
      throw error("the passes of " + plan.algorithm() + " disagree on the bytes of " +
                  std::string(read[i].logical.name));
    }
  }
  device.synchronize();  // the memory of the forward pass is freed now
}

}  // namespace layerbench::run
