// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstddef>
#include <iostream>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <layerbench/backend/algorithm_parts.hpp>
#include <layerbench/base/error.hpp>

#include "support/built_backends.hpp"
#include "support/random_ops.hpp"

/// Prints whose code runs, as JSON: {backend: {op: {pass: {type: [code, ...]}}}}. `code` is
/// "library", "layerbench" or, in one call, "both", of the plans of random shapes; a type without
/// plans is left out. Backends that cannot run here, or not in bf16, have no
/// entry. tools/update_docs.py makes the
/// tables of docs/ops.md of it. f16 is left out on CPUs: most lack it, and where it is, it has the
/// plans of bf16.

namespace layerbench {
namespace {

using codes = std::set<std::string>;
/// By pass and type.
using table = std::map<std::string, std::map<std::string, codes>>;

/// cudaMemsetAsync belongs to the kernels before which it clears memory.
std::string code_of(const std::string& algorithm) {
  std::set<bool> own;
  for (std::size_t begin = 0; begin <= algorithm.size();) {
    const std::size_t end = std::min(algorithm.find('+', begin), algorithm.size());
    const std::string_view part = std::string_view(algorithm).substr(begin, end - begin);
    own.insert(part.starts_with(own_prefix) || part == "cudaMemsetAsync");
    begin = end + 1;
  }
  return own.size() > 1 ? "both" : *own.begin() ? "layerbench" : "library";
}

template <class Op>
table table_of(const run::backend_entry& backend) {
  constexpr int shapes = 60;
  constexpr int shapes_in_8_bits = 600;  // most products have sizes that are no multiples of 16
  using enum dtype;
  const std::unique_ptr<run::compute_device> device = backend.make_device(1);
  table all;
  for (const dtype type : {f32, tf32, f16, bf16, f8_e4m3, s8, u8}) {
    if (backend.on_host && (type == tf32 || type == f16 || type == f8_e4m3)) continue;
    testing::dice d(7);
    const int count = type == f8_e4m3 ? shapes_in_8_bits : shapes;
    for (int i = 0; i < count; ++i) {
      const Op o = testing::random_op<Op>(d);
      std::vector<op::any> called{op::any(o)};
      for (const op::manner how : op::manners(o)) called.push_back(called.front().called(how));
      for (const op::any& one : called) {
        for (const op::pass pass : one.passes()) {
          const bool is_inference = pass == one.passes().front();
          if (traits(type).bytes == 1 && !is_inference) continue;  // no type for training
          for (const layout image_layout : {layout::nhwc, layout::nchw}) {
            try {
              const auto plan =
                  device->plan(one, {.pass = pass, .type = type, .layout = image_layout});
              all[std::string(op::name(pass))][std::string(name(type))].insert(
                  code_of(plan->algorithm()));
            } catch (const error&) {  // what the table is to say
            }
          }
        }
      }
    }
  }
  return all;
}

std::string quoted(std::string_view text) { return fmt::format("\"{}\"", text); }
/// `all` as an object; `text` writes a value.
template <class Map, class Text>
std::string object(const Map& all, const Text& text) {
  std::vector<std::string> members;
  for (const auto& [key, value] : all) members.push_back(quoted(key) + ": " + text(value));
  return fmt::format("{{{}}}", fmt::join(members, ", "));
}
std::string text_of(const codes& all) {
  std::vector<std::string> texts;
  for (const std::string& code : all) texts.push_back(quoted(code));
  return fmt::format("[{}]", fmt::join(texts, ", "));
}

template <class... Ops>
std::string text_of(const run::backend_entry& backend, op::list<Ops...> /*ops*/) {
  std::vector<std::string> members;
  const auto add = [&]<class Op>(std::type_identity<Op> /*op*/) {
    if constexpr (!op::is_collective<Op>) {
      const table all = table_of<Op>(backend);
      members.push_back(quoted(Op::name) + ": " + object(all, [](const auto& types) {
                          return object(types, [](const codes& some) { return text_of(some); });
                        }));
    }
  };
  (add(std::type_identity<Ops>{}), ...);
  return fmt::format("{{\n  {}}}", fmt::join(members, ",\n  "));
}

}  // namespace
}  // namespace layerbench

int main() {
  using namespace layerbench;
  std::vector<std::string> members;
  for (const run::backend_entry& backend : testing::built_backends().backends) {
    if (backend.probe() || !testing::has_type(backend, dtype::bf16)) continue;
    members.push_back(quoted(backend.name) + ": " + text_of(backend, op::builtin{}));
  }
  std::cout << fmt::format("{{{}}}\n", fmt::join(members, ",\n"));
}
