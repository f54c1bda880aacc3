// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <layerbench/backend/registry.hpp>
#include <layerbench/base/error.hpp>
#include <layerbench/base/input_path.hpp>
#include <layerbench/model/fusion.hpp>
#include <layerbench/model/graph.hpp>
#include <layerbench/model/sweep.hpp>
#include <layerbench/result/stream_shares.hpp>
#include <layerbench/session/backend_selection.hpp>
#include <layerbench/session/options.hpp>
#include <layerbench/shape/dtype.hpp>

/// The graphs that a model file stands for: its sizes and fusions, and the rows of a sweep.
namespace layerbench::run::detail {

/// The names of the models of a suite, and the files that they come from.
class model_names {
 public:
  /// Throws usage_error for the name of another file.
  void add(const std::string& name, const std::filesystem::path& path) {
    if (is_same_file(seen_.try_emplace(name, path).first->second, path)) return;
    throw usage_error(fmt::format("--model: {} and {} are both called '{}'; rename one",
                                  seen_.at(name).string(), path.string(), name));
  }

 private:
  std::map<std::string, std::filesystem::path> seen_;
};

/// A graph of a model file: the model with one fusion, or a row of a sweep. One case per data type
/// and number of threads, on which a plan's calls may depend.
struct model_variant {
  model::graph plain;
  const model::fusion_plan* plan = nullptr;  ///< null: none

  [[nodiscard]] model::graph in(dtype type, int threads, const registry& known) const {
    if (plan == nullptr) return plain;
    return model::fused(plain, *plan, known.ops, type, threads);
  }
};

/// The sizes that were asked for in place of the shape file's own, in the order batches, tokens,
/// contexts.
[[nodiscard]] inline std::vector<model::parameter_values> sizes_of(const options& o) {
  std::vector<model::parameter_values> all{{}};
  const auto add = [&](const char* name, const std::vector<std::int64_t>& values) {
    if (values.empty()) return;
    std::vector<model::parameter_values> more;
    for (const model::parameter_values& known : all) {
      for (const std::int64_t value : values) more.emplace_back(known)[name] = value;
    }
    all = std::move(more);
  };
  add("batch", o.batches);
  add("tokens", o.tokens);
  add("context", o.context);
  return all;
}

/// Throws usage_error where something was asked for that only models have.
inline void require_rows_only(const options& o,
                              const std::vector<std::optional<model::fusion_plan>>& fusions,
                              const model::graph& sweep) {
  if (o.phase != "inference") {
    throw usage_error(
        fmt::format("--phase: '{}' is a sweep; its file says which passes are timed", sweep.name));
  }
  if (std::ranges::any_of(fusions, [](const auto& plan) { return plan && plan->joins_layers(); })) {
    throw usage_error(
        fmt::format("--fusion: '{}' is a sweep; its rows have no layers to fuse", sweep.name));
  }
  if (!o.chain.empty()) {
    throw usage_error(fmt::format(
        "{}: '{}' is a sweep, a list of separate rows, not a model; it cannot run as a whole",
        o.chain_option(), sweep.name));
  }
}

/// Takes the backends that cannot run here out of the plan's rules: its calls are then those of the
/// case's backend. Notes them. Throws bad_input for a backend that nobody knows; `path` is the
/// plan's.
inline void leave_out_backends(model::fusion_plan& plan, const std::filesystem::path& path,
                               const options& o, const registry& known,
                               std::vector<std::string>& notes) {
  std::map<std::string, std::string> missing;  // with the reason
  for (std::size_t i = 0; i < plan.rules.size(); ++i) {
    model::fusion_rule& rule = plan.rules[i];
    if (rule.backend.empty()) continue;
    if (const auto unknown = why_unknown(rule.backend, known))
      throw bad_input(path.string(), fmt::format("/rules/{}/backend", i), *unknown);
    const auto reason = reason_against(rule.backend, o.list || o.list_tests, known);
    if (!reason) continue;
    missing[rule.backend] = *reason;
    rule.backend.clear();
  }
  for (const auto& [name, reason] : missing) {
    notes.push_back(fmt::format(
        "--fusion={}: backend {} cannot run here ({}); the backend of the step computes "
        "its calls",
        plan.name, name, reason));
  }
}

/// The fusion plans that were asked for; nothing stands for none. Throws bad_input,
/// nothing_matched, usage_error.
[[nodiscard]] inline std::vector<std::optional<model::fusion_plan>> fusions_of(
    const options& o, const registry& known, std::vector<std::string>& notes) {
  std::vector<std::optional<model::fusion_plan>> plans;
  for (const std::string& asked : o.fusions) {
    if (asked == model::no_fusion) {
      plans.emplace_back();
      continue;
    }
    const std::filesystem::path path = model::find_fusion(asked, o.shapes);
    plans.emplace_back(model::load_fusion(path, known.ops));
    leave_out_backends(*plans.back(), path, o, known, notes);
    const std::filesystem::path shipped =
        std::filesystem::path(o.shapes) / "fusions" / (plans.back()->name + ".json");
    if (identity_of(shipped) && !is_same_file(path, shipped)) {
      throw usage_error(fmt::format("--fusion: {} is called '{}', as a shipped plan is; rename it",
                                    path.string(), plans.back()->name));
    }
    const auto same = std::ranges::count_if(
        plans, [&](const auto& other) { return other && other->name == plans.back()->name; });
    if (same == 1) continue;
    throw usage_error(fmt::format("--fusion: two plans are called '{}'", plans.back()->name));
  }
  return plans;
}

/// The data types of the cases, with the threads of one stream.
[[nodiscard]] inline std::set<std::pair<dtype, int>> types_and_threads(const options& o) {
  std::set<std::pair<dtype, int>> all;
  for (const std::string& type : o.dtypes) {
    for (const int threads : o.threads) {
      for (const int streams : o.streams) {
        all.emplace(dtype_from(type).value(),
                    result::stream_shares{streams, threads}.threads_each());
      }
    }
  }
  return all;
}

/// Whether two variants have the same ops in all cases.
[[nodiscard]] inline bool same_ops(const model_variant& a, const model_variant& b, const options& o,
                                   const registry& known) {
  const auto key = [](const model::layer& one) { return one.op.key(); };
  return std::ranges::all_of(types_and_threads(o), [&](const auto& of) {
    const auto& [type, threads] = of;
    return std::ranges::equal(a.in(type, threads, known).layers, b.in(type, threads, known).layers,
                              {}, key, key);
  });
}

/// The variants of a model file: the rows of a sweep, or the model as each of the `fusions` has it,
/// which must outlive them.
[[nodiscard]] inline std::vector<model_variant> variants_of(
    const model::graph& graph, const std::vector<std::optional<model::fusion_plan>>& fusions,
    const options& o, const registry& known) {
  std::vector<model_variant> variants;
  if (is_sweep(graph)) {
    require_rows_only(o, fusions, graph);
    // Without a plan first, so that names of rows do not depend on the order of the option.
    std::vector<const model::fusion_plan*> plans;
    for (const auto& plan : fusions) plans.push_back(plan ? &*plan : nullptr);
    std::ranges::stable_partition(plans, [](const auto* plan) { return plan == nullptr; });
    for (const model::graph& row : model::rows_of(graph)) {
      const auto first = std::ssize(variants);
      for (const model::fusion_plan* const plan : plans) {
        const model_variant variant{row, plan};
        const auto is_same = [&](const model_variant& other) {
          return same_ops(other, variant, o, known);
        };
        // What a plan does not change is timed once.
        if (std::any_of(variants.begin() + first, variants.end(), is_same)) continue;
        variants.push_back(variant);
        if (plan == nullptr) continue;
        for (const auto& [type, threads] : types_and_threads(o)) {
          const std::string why = variant.in(type, threads, known).inference_only;
          if (why.empty()) continue;
          throw usage_error(
              fmt::format("--fusion={}: '{}' is a sweep; {}", plan->name, graph.name, why));
        }
      }
    }
    return variants;
  }
  for (const auto& plan : fusions) variants.push_back({graph, plan ? &*plan : nullptr});
  return variants;
}

}  // namespace layerbench::run::detail
