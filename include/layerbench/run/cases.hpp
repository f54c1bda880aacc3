// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <layerbench/backend/list.hpp>
#include <layerbench/model/find.hpp>
#include <layerbench/model/reuse.hpp>
#include <layerbench/model/step.hpp>
#include <layerbench/result/measurement.hpp>
#include <layerbench/run/chain.hpp>
#include <layerbench/run/fixture.hpp>
#include <layerbench/run/options.hpp>
#include <layerbench/run/planned_step.hpp>
#include <layerbench/run/reorders.hpp>

namespace layerbench::run {

/// Everything a program could measure, and what the models' steps consist of.
struct suite {
  std::vector<std::unique_ptr<fixture>> fixtures;
  result::manifest manifest;
  std::map<result::case_name, std::int64_t> footprint;  ///< distinct bytes that a step touches
  std::vector<chain_plan> chains;                       ///< of programs that run whole models
  std::vector<std::string> notes;                       ///< what a user should know, for stderr
};

namespace detail {

/// Why each backend cannot be used here, or nothing: those of this build first, then those that it
/// lacks.
template <backend... Bs>
[[nodiscard]] std::vector<std::pair<std::string, std::optional<std::string>>> probe_all(
    backend_list<Bs...> /*built*/) {
  std::vector<std::pair<std::string, std::optional<std::string>>> all{
      {std::string(Bs::name), Bs::probe()}...};
  for (const unbuilt_backend& each : unbuilt_backends) {
    all.emplace_back(each.name,
                     fmt::format("not part of this build; configure with -D{}=ON", each.option));
  }
  return all;
}

/// The backends to use: those asked for (throws `unavailable` when one cannot run, usage_error when
/// nobody knows it), else all that can, else the reference.
template <backend... Bs>
[[nodiscard]] std::vector<std::string> chosen_backends(const options& o, backend_list<Bs...> built,
                                                       std::vector<std::string>& notes) {
  const auto all = probe_all(built);
  for (const std::string& name : o.backends) {
    const auto found = std::ranges::find(all, name, &decltype(all)::value_type::first);
    if (found == all.end()) {
      std::string known;
      for (const auto& [each, reason] : all) known += " " + each;
      throw usage_error(fmt::format("--backend: unknown backend '{}'; known:{}", name, known));
    }
    const bool plans = std::size_t(found - all.begin()) < sizeof...(Bs);  // listing needs no more
    if (found->second && !(plans && (o.list || o.list_tests))) {
      throw unavailable(fmt::format("backend {} cannot run here: {}", name, *found->second));
    }
  }
  if (!o.backends.empty()) return o.backends;
  std::vector<std::string> usable;
  for (const auto& [name, reason] : all) {
    if (name == reference::backend::name) continue;
    if (reason) {
      notes.push_back(fmt::format("backend {} is left out: {}", name, *reason));
    } else {
      usable.push_back(name);
    }
  }
  if (usable.empty()) {
    notes.emplace_back(
        "no library can run here: timing the reference backend, which is slow and "
        "says nothing about this machine");
    usable.emplace_back(reference::backend::name);
  }
  return usable;
}

/// One case: its name and what all its rows share.
struct conditions {
  result::case_name owner;
  plan_request request;
  int threads;
};

template <class Ops, class Backends>
class arenas;

/// The devices of the suite, one for each backend and thread count, made when first asked for.
template <op::operation... Ops, backend... Bs>
class arenas<op::list<Ops...>, backend_list<Bs...>> {
 public:
  [[nodiscard]] std::shared_ptr<arena> of(const std::string& backend_name, int threads) {
    std::shared_ptr<arena>& known = made_[{backend_name, threads}];
    const auto make = [&]<backend B>(std::type_identity<B> /*tag*/) {
      if (B::name != backend_name) return;
      known = std::make_shared<arena>(std::make_unique<backend_device<B, Ops...>>(threads));
    };
    if (!known) (make(std::type_identity<Bs>{}), ...);
    return known;
  }

 private:
  std::map<std::pair<std::string, int>, std::shared_ptr<arena>> made_;
};

/// Fills a suite, case by case.
template <class Ops, class Backends>
class suite_maker {
 public:
  suite_maker(const options& o, const program& what, suite& all) : o_(o), what_(what), all_(all) {}

  /// Adds the case of a model under these conditions: its manifest and the rows of this program.
  void add_case(const model::graph& graph, const conditions& c) {
    if (!all_.footprint.try_emplace(c.owner, 0).second) return;  // asked for twice
    const std::shared_ptr<arena> memory = arenas_.of(c.owner.backend, c.threads);
    const bool chosen_orders = c.request.order == layout::any;
    model::step calls =
        model::inference_step(graph, c.request.type, {o_.in_place.begin(), o_.in_place.end()});
    // Only a program with all ops needs to know, and can know, what is inserted.
    if (chosen_orders && what_.whole_model()) {
      calls = with_reorders(calls, memory->here(), c.request);
    }
    const auto step = std::make_shared<planned_step>(std::move(calls), c.request, memory);
    const model::step_memory least = step->least_memory();
    all_.footprint[c.owner] = least.footprint();
    std::vector<std::vector<std::size_t>> primitives;
    for (const model::primitive& p : model::primitives(step->step())) {
      add_primitive(c, memory, step, p, least.usual(p).signature());
      primitives.push_back(p.calls);
    }
    if (chosen_orders && !what_.whole_model()) all_.manifest.erase(c.owner);
    if (!what_.whole_model()) return;
    const auto make = [step, seed = o_.seed] { return step->make_chain(seed); };
    all_.chains.push_back({c.owner, make, std::move(primitives)});
  }

  /// The conditions of a case, with those of its parameters that its name must show.
  [[nodiscard]] conditions conditions_of(const model::graph& graph, const std::string& backend,
                                         const std::string& type, int threads) const {
    const layout order = from_name<layout>(o_.order).value();
    result::case_name owner{backend, type, graph.name, model::batch(graph), {}};
    if (order != layout::nhwc) owner.parameters["layout"] = o_.order;
    if (threads != o_.default_threads) owner.parameters["threads"] = std::to_string(threads);
    return {owner, {op::pass::fwd, dtype_from(type).value(), order}, threads};
  }

 private:
  void add_primitive(const conditions& c, const std::shared_ptr<arena>& memory,
                     const std::shared_ptr<planned_step>& step, const model::primitive& p,
                     const std::string& signature) {
    result::planned planned = result::planned_of(p);
    planned.state = signature;
    all_.manifest[c.owner].push_back(planned);
    const bool wanted =
        what_.whole_model() || std::ranges::find(what_.ops, p.op.name()) != what_.ops.end();
    if (!wanted || !memory->here().implements_op(p.op)) return;
    for (const std::string& state : o_.caches) {
      const cache_state cache = from_name<cache_state>(state).value();
      row made{.name = {c.owner, planned.op, planned.pass, p.layer, state},
               .op = p.op,
               .count = p.count(),
               .inserted = p.inserted,
               .request = c.request,
               .signature = cache == cache_state::model ? signature : ""};
      made.around = [step, p, cache] { return step->around(p, cache); };
      all_.fixtures.push_back(std::make_unique<fixture>(std::move(made), memory));
    }
  }

  const options& o_;
  const program& what_;
  suite& all_;
  arenas<Ops, Backends> arenas_;
};

}  // namespace detail

/// Builds the suite of a program: its ops, in all models, under all conditions of `o`, in the
/// order models, batches, backends, data types, threads. Needs no device, but for layout any,
/// where the library decides what a step consists of. Throws bad_input, usage_error, unavailable.
template <class Ops, class Backends>
[[nodiscard]] suite make_suite(const options& o, const program& what, Ops /*ops*/, Backends built,
                               const op::catalog& catalog) {
  suite all;
  detail::suite_maker<Ops, Backends> maker(o, what, all);
  const std::vector<std::string> backends = detail::chosen_backends(o, built, all.notes);
  std::vector<std::optional<std::int64_t>> batches(o.batches.begin(), o.batches.end());
  if (batches.empty()) batches.emplace_back(std::nullopt);
  std::map<std::string, std::filesystem::path> seen;
  for (const std::string& model_name : o.models) {
    const std::filesystem::path path = model::find(model_name, o.shapes);
    for (const std::optional<std::int64_t> batch : batches) {
      const model::graph graph = model::load(path, batch, catalog);
      if (!std::filesystem::equivalent(seen.try_emplace(graph.name, path).first->second, path)) {
        throw usage_error(fmt::format("--model: {} and {} are both called '{}'; rename one",
                                      seen.at(graph.name).string(), path.string(), graph.name));
      }
      for (const std::string& backend_name : backends) {
        for (const std::string& type : o.dtypes) {
          for (const int threads : o.threads) {
            maker.add_case(graph, maker.conditions_of(graph, backend_name, type, threads));
          }
        }
      }
    }
  }
  return all;
}

}  // namespace layerbench::run
