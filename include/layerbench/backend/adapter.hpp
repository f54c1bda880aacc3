// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <layerbench/backend/backend.hpp>
#include <layerbench/backend/device.hpp>
#include <layerbench/backend/oracle.hpp>
#include <layerbench/backend/plan.hpp>
#include <layerbench/backend/registry.hpp>
#include <layerbench/base/error.hpp>
#include <layerbench/op/builtin.hpp>
#include <layerbench/op/op.hpp>

/// Entries of backend types: what is compiled for each backend and op.
namespace layerbench::run {

/// The plan of a library, as a whole any_plan.
template <backend B, class Op>
  requires implements<B, Op>
class plan_of final : public plan<B, Op> {
 public:
  plan_of(B& device, const Op& op, const plan_request& request)
      : plan<B, Op>(device, op, request), device_(device), op_(op), request_(request) {}

  [[nodiscard]] std::unique_ptr<bound_plan> bound_to(std::span<const address> operands,
                                                     address scratch) const override {
    return std::make_unique<bound>(*this, operands, scratch);
  }
  [[nodiscard]] std::unique_ptr<any_plan> forward() const override {
    const auto reads_opaque = [](const plan_operand& of) {
      return of.logical.opaque && of.logical.role != op::role::destination;
    };
    if (std::ranges::none_of(this->operands(), reads_opaque)) return nullptr;
    plan_request request = request_;
    request.pass = op::pass::fwd_training;
    request.algorithm.clear();
    request.built = nullptr;
    return std::make_unique<plan_of>(device_, op_, request);
  }

 private:
  class bound final : public bound_plan {
   public:
    bound(const plan<B, Op>& of, std::span<const address> operands, address workspace)
        : plan_(of), binding_(of.bind(operands, workspace)) {}
    void place(std::span<const address> operands) override { plan_.place(binding_, operands); }
    void announce_calls([[maybe_unused]] std::int64_t calls) override {
      if constexpr (requires { plan_.announce_calls(binding_, calls); })
        plan_.announce_calls(binding_, calls);
    }
    void run() override { plan_.run(binding_); }

   private:
    const plan<B, Op>& plan_;
    decltype(std::declval<const plan<B, Op>&>().bind({}, address{})) binding_;
  };

  B& device_;
  Op op_;
  plan_request request_;
};

namespace detail {

template <backend B, class Op>
[[nodiscard]] bool has_plan_of([[maybe_unused]] const op::any& op) {
  if constexpr (implements<B, Op>) return op.get<Op>() != nullptr && plan<B, Op>::is_for(op);
  return false;
}

/// Null where `op` is none of that type. Throws unsupported where the plan lacks something.
template <backend B, class Op>
[[nodiscard]] std::unique_ptr<any_plan> plan_if_of_type(
    [[maybe_unused]] any_backend& on, const op::any& op,
    [[maybe_unused]] const plan_request& request) {
  const Op* sizes = op.get<Op>();
  if constexpr (implements<B, Op>) {
    if (sizes == nullptr) return nullptr;
    [[maybe_unused]] const auto refuse = [](bool lacking, std::string_view feature) {
      if (lacking)
        throw unsupported(fmt::format("{} has no {} with {}", B::name, Op::name, feature));
    };
    if constexpr (requires { sizes->post; }) {
      refuse(!sizes->post.empty() && !plan<B, Op>::has_post_ops, "post-ops");
    }
    if constexpr (requires { is_quantized(*sizes); }) {
      refuse(is_quantized(*sizes) && !plan<B, Op>::has_quantization, "fields for integers");
    }
    refuse(!plan<B, Op>::has(request.how), fmt::format("'{}'", name(request.how)));
    return std::make_unique<plan_of<B, Op>>(static_cast<B&>(on), *sizes, request);
  }
  return nullptr;
}

}  // namespace detail

/// The registry entry of backend `B`. It has a plan of each of `Ops` that the backend implements.
template <backend B, op::operation... Ops>
[[nodiscard]] backend_entry entry_of(op::list<Ops...> /*ops*/) {
  backend_entry entry = B::entry();
  entry.name = B::name;
  entry.open = [](int threads) -> std::unique_ptr<any_backend> {
    return std::make_unique<B>(threads);
  };
  entry.has_plan = []([[maybe_unused]] const op::any& op) {
    return (detail::has_plan_of<B, Ops>(op) || ...);
  };
  entry.make_plan = []([[maybe_unused]] any_backend& on, [[maybe_unused]] const op::any& op,
                       [[maybe_unused]] const plan_request& request) {
    std::unique_ptr<any_plan> result;
    static_cast<void>(((result = detail::plan_if_of_type<B, Ops>(on, op, request)) || ...));
    return result;
  };
  return entry;
}

/// A device on backend `B`. It has a plan of each of `Ops` that the backend implements.
template <backend B, op::operation... Ops>
class backend_device : public compute_device {
 public:
  explicit backend_device(int threads) : compute_device(entry_of<B>(op::list<Ops...>{}), threads) {}
};

/// A registry of these backends, the preferred one first, with plans of `Ops`. Shape files may
/// contain the library's ops and these.
template <backend... Bs, op::operation... Ops>
  requires(sizeof...(Bs) > 0)
[[nodiscard]] registry registry_of(op::list<Ops...> ops) {
  registry all{{entry_of<Bs>(ops)...}, op::builtin_catalog(), reference::oracle(ops), {}};
  for (const op::entry& entry : op::catalog_of(ops)) {
    const bool known = std::ranges::find(all.ops, entry.name, &op::entry::name) != all.ops.end();
    if (!known) all.ops.push_back(entry);
  }
  return all;
}

}  // namespace layerbench::run
