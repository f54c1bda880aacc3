// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <layerbench/result/measurement.hpp>
#include <layerbench/run/prepared.hpp>
#include <layerbench/run/verify.hpp>

namespace layerbench::run {

/// How cases are prepared.
struct preparation {
  std::uint64_t seed = 1;
  bool verify_every_output = false;
};

/// One row that can be measured: an op of a model on a backend, in one cache state.
class fixture {
 public:
  fixture(result::row_name name, op::any op, plan_request request, std::int64_t count,
          bool inserted, int threads)
      : name_(std::move(name)),
        op_(std::move(op)),
        request_(request),
        count_(count),
        inserted_(inserted),
        threads_(threads) {}
  fixture(const fixture&) = delete;
  fixture& operator=(const fixture&) = delete;
  virtual ~fixture() = default;

  [[nodiscard]] const result::row_name& name() const { return name_; }
  [[nodiscard]] const op::any& op() const { return op_; }
  [[nodiscard]] const plan_request& request() const { return request_; }
  [[nodiscard]] std::int64_t count() const { return count_; }
  [[nodiscard]] bool inserted() const { return inserted_; }
  [[nodiscard]] int threads() const { return threads_; }

  /// Builds the plan and its operands, and verifies them unless that was done before. Throws
  /// `unsupported`, wrong_result or the backend's own errors. Does nothing when prepared.
  virtual void prepare(const preparation& how) = 0;
  /// Frees plan and operands; prepare() makes them anew.
  virtual void release() = 0;
  /// Makes this thread run things as the case wants them, and runs it `times` times to the end.
  virtual void call(std::int64_t times) = 0;
  /// Bytes of operands and workspace; 0 unless prepared.
  [[nodiscard]] virtual std::size_t bytes() const = 0;
  [[nodiscard]] virtual std::size_t workspace_bytes() const = 0;
  [[nodiscard]] virtual std::string algorithm() const = 0;
  /// Operands as a plan of the backend would hold them, without making them; none where the
  /// backend has no such plan.
  [[nodiscard]] virtual std::vector<plan_operand> planned_operands() = 0;

 private:
  result::row_name name_;
  op::any op_;
  plan_request request_;
  std::int64_t count_;
  bool inserted_;
  int threads_;
};

/// A backend that is made when it is first needed: listing cases needs no device.
template <backend B>
class lazy_backend {
 public:
  explicit lazy_backend(int threads) : threads_(threads) {}
  [[nodiscard]] B& get() {
    if (!made_) made_.emplace(threads_);
    made_->activate();
    return *made_;
  }

 private:
  int threads_;
  std::optional<B> made_;
};

/// The fixture of every op on every backend.
template <backend B, op::operation Op>
  requires implements<B, Op>
class op_fixture final : public fixture {
 public:
  template <class... Arguments>
  explicit op_fixture(std::shared_ptr<lazy_backend<B>> here, Arguments&&... arguments)
      : fixture(std::forward<Arguments>(arguments)...), here_(std::move(here)) {}

  void prepare(const preparation& how) override {
    if (ready_) return;
    B& here = here_->get();
    if (verified_) {
      ready_.emplace(here, sizes(), request(), how.seed);
      return;
    }
    std::vector<std::vector<float>> inputs;
    ready_.emplace(here, sizes(), request(), how.seed, &inputs);
    try {
      verify(*ready_, sizes(), request(), inputs, how.verify_every_output);
    } catch (...) {
      ready_.reset();
      throw;
    }
    verified_ = true;
  }

  void release() override { ready_.reset(); }

  void call(std::int64_t times) override {
    static_cast<void>(here_->get());  // activates it
    for (std::int64_t i = 0; i < times; ++i) ready_->call();
    ready_->synchronize();
  }

  [[nodiscard]] std::size_t bytes() const override { return ready_ ? ready_->bytes() : 0; }
  [[nodiscard]] std::size_t workspace_bytes() const override {
    return ready_ ? ready_->workspace_bytes() : 0;
  }
  [[nodiscard]] std::string algorithm() const override { return ready_ ? ready_->algorithm() : ""; }
  [[nodiscard]] std::vector<plan_operand> planned_operands() override {
    try {
      return plan<B, Op>(here_->get(), sizes(), request()).operands();
    } catch (const unsupported&) {
      return {};  // prepare() will say so
    }
  }

 private:
  [[nodiscard]] const Op& sizes() const { return *op().template get<Op>(); }

  std::shared_ptr<lazy_backend<B>> here_;
  std::optional<prepared<B, Op>> ready_;
  bool verified_ = false;
};

}  // namespace layerbench::run
