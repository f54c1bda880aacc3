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
#include <layerbench/model/step.hpp>
#include <layerbench/result/measurement.hpp>
#include <layerbench/run/fixture.hpp>
#include <layerbench/run/options.hpp>

namespace layerbench::run {

/// Everything a program could measure, and what the models' steps consist of.
struct suite {
  std::vector<std::unique_ptr<fixture>> fixtures;
  result::manifest manifest;
  std::map<result::case_name, std::int64_t> footprint;  ///< bytes, see footprint_bytes
  std::vector<std::string> notes;                       ///< what a user should know, for stderr
};

/// Bytes that one step of the model touches at least once: all weights and statistics, and what
/// every layer writes outside of its source.
[[nodiscard]] inline std::int64_t footprint_bytes(const model::graph& graph, dtype type) {
  std::int64_t sum = 0;
  for (const model::layer& layer : graph.layers) {
    for (const op::operand& each : layer.op.operands(op::pass::fwd, type)) {
      const bool kept = each.role == op::role::destination ? layer.op.storage() == op::storage::own
                                                           : each.role != op::role::source;
      if (kept) sum += op::least_bytes({each});
    }
  }
  return sum;
}

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
  std::string cache;
};

template <class Ops, class Backends>
class builder;

template <op::operation... Ops, backend... Bs>
class builder<op::list<Ops...>, backend_list<Bs...>> {
 public:
  /// The fixture of a primitive; null where this program or the backend has none.
  [[nodiscard]] std::unique_ptr<fixture> make(const conditions& c, const std::string& layer,
                                              const op::any& op, std::int64_t count,
                                              bool inserted) {
    std::unique_ptr<fixture> made;
    const auto on_backend = [&]<backend B>(std::type_identity<B> /*tag*/) {
      if (B::name != c.owner.backend) return;
      (try_op<B, Ops>(made, c, layer, op, count, inserted), ...);
    };
    (on_backend(std::type_identity<Bs>{}), ...);
    return made;
  }

 private:
  template <backend B, op::operation Op>
  void try_op(std::unique_ptr<fixture>& made, const conditions& c, const std::string& layer,
              const op::any& op, std::int64_t count, bool inserted) {
    if constexpr (implements<B, Op>) {
      if (op.get<Op>() == nullptr) return;
      auto& here = std::get<instances<B>>(instances_)[c.threads];
      if (!here) here = std::make_shared<lazy_backend<B>>(c.threads);
      result::row_name name{c.owner, std::string(op.name()), std::string(op::name(c.request.pass)),
                            layer, c.cache};
      made = std::make_unique<op_fixture<B, Op>>(here, std::move(name), op, c.request, count,
                                                 inserted, B::threads_used(c.threads));
    }
  }

  template <backend B>
  using instances = std::map<int, std::shared_ptr<lazy_backend<B>>>;
  std::tuple<instances<Bs>...> instances_;
};

/// Reorders that a model needs where the library chose the orders: whenever a layer reads its
/// source in another order than its producer wrote it. The model's own input comes as nhwc.
/// Fully connected layers read images as they lie: their weights are stored to match.
[[nodiscard]] inline std::vector<model::primitive> needed_reorders(
    const model::graph& graph, const std::vector<fixture*>& by_layer) {
  const auto of_role = [](fixture* f, op::role role) {
    std::vector<plan_operand> operands =
        f == nullptr ? std::vector<plan_operand>{} : f->planned_operands();
    std::erase_if(operands, [&](const plan_operand& o) { return o.logical.role != role; });
    return operands;
  };
  std::vector<model::primitive> step;
  for (std::size_t i = 0; i < graph.layers.size(); ++i) {
    const model::layer& layer = graph.layers[i];
    const std::vector<plan_operand> sources = of_role(by_layer[i], op::role::source);
    for (std::size_t j = 0; j < sources.size(); ++j) {
      const dims& extents = sources[j].logical.extents;
      std::string written = extents.size() == 4 ? "acdb" : sources[j].order;
      if (layer.inputs[j] != model::model_input) {
        const auto from = of_role(by_layer[layer.inputs[j]], op::role::destination);
        if (from.empty() || from.front().logical.extents != extents) continue;
        written = from.front().order;
      }
      if (written == sources[j].order) continue;
      model::add_execution(step, fmt::format("{}_{}_reorder", layer.name, sources[j].logical.name),
                           op::any(op::reorder{extents, written, sources[j].order}), op::pass::fwd);
    }
  }
  return step;
}

/// Fills a suite, case by case.
template <class Ops, class Backends>
class suite_maker {
 public:
  suite_maker(const options& o, const program& what, suite& all) : o_(o), what_(what), all_(all) {}

  /// Adds the case of `graph` under these conditions: its manifest and the rows of this program.
  void add_case(const model::graph& graph, const conditions& c) {
    const auto footprint = footprint_bytes(graph, c.request.type);
    if (!all_.footprint.try_emplace(c.owner, footprint).second) return;  // asked for twice
    std::map<std::string, fixture*> made;
    for (const model::primitive& p : model::inference_step(graph)) {
      made[work_of(p.op)] = add_primitive(c, p, false);
    }
    if (c.request.order != layout::any) return;
    if (!what_.whole_model()) {
      all_.manifest.erase(c.owner);  // only a program with all ops can know what is inserted
      return;
    }
    std::vector<fixture*> by_layer;
    for (const model::layer& layer : graph.layers) by_layer.push_back(made.at(work_of(layer.op)));
    for (const auto& p : needed_reorders(graph, by_layer)) add_primitive(c, p, true);
  }

  /// The conditions of a case, with those of its parameters that its name must show.
  [[nodiscard]] conditions conditions_of(const model::graph& graph, const std::string& backend,
                                         const std::string& type, int threads) const {
    const layout order = layout_from(o_.order).value();
    result::case_name owner{backend, type, graph.name, model::batch(graph), {}};
    if (order != layout::nhwc) owner.parameters["layout"] = o_.order;
    if (threads != o_.default_threads) owner.parameters["threads"] = std::to_string(threads);
    return {owner, {op::pass::fwd, dtype_from(type).value(), order}, threads, o_.cache};
  }

 private:
  [[nodiscard]] static std::string work_of(const op::any& op) {
    return fmt::format("{}/{}", op.name(), op.key());
  }

  fixture* add_primitive(const conditions& c, const model::primitive& p, bool inserted) {
    all_.manifest[c.owner].push_back({p.layer, std::string(p.op.name()),
                                      std::string(op::name(p.pass)), p.op.key(), p.count,
                                      inserted});
    const bool wanted =
        what_.whole_model() || std::ranges::find(what_.ops, p.op.name()) != what_.ops.end();
    auto made = wanted ? build_.make(c, p.layer, p.op, p.count, inserted) : nullptr;
    if (!made) return nullptr;
    all_.fixtures.push_back(std::move(made));
    return all_.fixtures.back().get();
  }

  const options& o_;
  const program& what_;
  suite& all_;
  builder<Ops, Backends> build_;
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
