// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include <layerbench/backend/host_backend.hpp>
#include <layerbench/backend/host_buffer.hpp>
#include <layerbench/base/compiled.hpp>
#include <layerbench/base/number_format.hpp>
#include <layerbench/cache_state/state.hpp>
#include <layerbench/model/collectives.hpp>
#include <layerbench/model/find.hpp>
#include <layerbench/model/fusion.hpp>
#include <layerbench/model/peak.hpp>
#include <layerbench/model/reuse_distance.hpp>
#include <layerbench/model/shape_file.hpp>
#include <layerbench/model/step.hpp>
#include <layerbench/model/training.hpp>
#include <layerbench/op/gemm.hpp>
#include <layerbench/result/measurement.hpp>
#include <layerbench/result/stream_shares.hpp>
#include <layerbench/session/graph_variants.hpp>
#include <layerbench/session/planned_step.hpp>
#include <layerbench/session/suite.hpp>
#include <layerbench/session/suite_devices.hpp>

namespace layerbench::run {

namespace detail {

/// Chooses plans in the libraries' place. A resumed run keeps its plans, and uses none that it
/// found to be wrong. Throws bad_input.
[[nodiscard]] inline std::shared_ptr<autotuner> autotuner_of(const options& o,
                                                             const description& libraries,
                                                             const reference::oracle& oracle) {
  const bool measures = o.plans == "measured";
  const bool replays = !measures && o.plans != "heuristic";
  auto result = std::make_shared<autotuner>(measures, o.seed, oracle);
  if (replays) result->restore(o.plans, libraries);
  if (measures && !o.resume.empty()) result->restore(o.resume, libraries);
  if (!measures && !o.resume.empty()) result->restore_forbidden(o.resume);
  return result;
}

/// A case, and what all its rows share.
struct case_settings {
  result::case_name model_case;
  plan_request request;
  int threads;  ///< of one stream
  number_class numbers;
  std::vector<std::string> caches;
};

/// Fills a suite, case by case.
class suite_builder {
 public:
  suite_builder(const options& o, const program& what, const registry& known, suite& all,
                data_parallel_group* ranks, timing_mode timing, name_filter wanted)
      : o_(o),
        what_(what),
        known_(known),
        all_(all),
        ranks_(ranks),
        timing_(timing),
        wanted_(std::move(wanted)),
        devices_(known, all.tuner, ranks, timing) {}

  /// Adds a case of a model: its manifest and the rows of this program; or of one row of a
  /// sweep, which is in no manifest. Does nothing where no row of it is wanted.
  void add_case(const model::graph& graph, const case_settings& c) {
    // A library may want reorders between the layers, and between the passes of a layer.
    const bool in_model = !is_sweep(graph);
    const bool reordered = in_model && (c.request.layout == layout::any || o_.phase == "training");
    const model::step plain = step_of(graph, c.request.type);
    if (wanted_ && !wanted_(possible_names(c, plain, reordered))) return;
    const std::string row = in_model ? "" : graph.layers.front().name;
    if (!added_.emplace(c.model_case, row).second) return;  // asked for twice
    const std::shared_ptr<device_context> memory =
        devices_.of(c.model_case.backend, c.threads, c.numbers);
    const auto step =
        std::make_shared<planned_step>(plain, c.request, memory, reordered, reuses_memory(graph));
    const model::step_memory least = step->least_memory();
    std::int64_t& footprint = all_.footprint[c.model_case];
    footprint = std::max(footprint, least.footprint());
    const std::vector<model::primitive> primitives = model::primitives(step->step());
    std::vector<result::planned> step_plan;
    for (const model::primitive& p : primitives) {
      step_plan.push_back(result::planned_of(p, least.most_frequent_state(p), c.request.type));
      step_plan.back().left_out = graph.left_out;
      add_rows(c, memory, step, p, step_plan.back());
    }
    if (what_.whole_model() && in_model) add_chain(c, memory, step, primitives);
    if (!o_.during.empty()) add_contended(c, memory, step, primitives, step_plan);
    if (what_.is_predictable() && in_model) all_.manifest[c.model_case] = std::move(step_plan);
  }

  /// The list of peaks for a backend and a number of threads. Streams are the same in all data
  /// types, and measured in the first.
  [[nodiscard]] model::graph peaks(const std::string& backend, const std::string& type,
                                   int threads) {
    const compute_device& device = devices_.of(backend, threads)->device();
    model::graph result =
        device.is_host()
            ? host_peaks(*known_.find(backend), device.threads())
            : model::peak_graph_of_gpu(static_cast<std::int64_t>(device.cache_bytes()));
    if (type != o_.dtypes.front()) {
      std::erase_if(result.layers,
                    [](const auto& item) { return item.op.name() != op::gemm::name; });
    }
    return result;
  }

  [[nodiscard]] model::graph host_peaks(const backend_entry& entry, int threads) const {
    const machine::used_caches caches =
        host_caches(entry.binding != nullptr ? entry.binding() : binding_of(known_), threads);
    return model::peak_graph(caches.equal_parts, caches.last_bytes, threads);
  }

  /// Collectives of the sizes of a model's gradients, or those of a sweep; without either, of
  /// powers of two.
  [[nodiscard]] model::graph collectives(const std::optional<model::graph>& trained, dtype type,
                                         std::int64_t ranks) {
    const bool in_place = std::ranges::find(o_.in_place, op::allreduce::name) != o_.in_place.end();
    model::collective_settings how{ranks, in_place, type, {}};
    for (const std::string& kind : o_.collectives) {
      how.kinds.push_back(from_name<op::collective_kind>(kind).value());
    }
    if (trained && is_sweep(*trained)) return model::collectives_of(*trained, how);
    if (trained) return model::gradient_collectives(*trained, how);
    return model::collective_sweep(how, host_buffer::available_bytes().value_or(INT64_MAX));
  }

  /// The settings of a case, with those of its parameters that its name must show.
  [[nodiscard]] case_settings settings_of(const model::graph& graph, const std::string& backend,
                                          const std::string& type, int threads, int streams,
                                          number_class numbers) const {
    const layout image_layout = from_name<layout>(o_.layout).value();
    result::case_name model_case{backend, type, graph.name, model::batch(graph), {}};
    for (const std::string_view name : model::text_parameters) {
      const auto value = model::parameter(graph, name);
      if (!value || *value == graph.defaults.find(name)->second) continue;
      model_case.parameters[std::string(name)] = std::to_string(*value);
    }
    if (o_.phase != "inference") model_case.parameters["phase"] = o_.phase;
    if (image_layout != layout::nhwc) model_case.parameters["layout"] = o_.layout;
    if (!graph.fusion.empty()) model_case.parameters["fusion"] = graph.fusion;
    if (reuses_memory(graph)) model_case.parameters["memory"] = o_.memory;
    if (numbers != number_class::normal) {
      model_case.parameters["data"] = std::string(name(numbers));
    }
    const bool usual =
        what_.peaks || timing_ == default_timing(o_.data_parallel || what_.collective);
    if (!usual && has_timings(backend, known_)) model_case.parameters["timing"] = o_.timing;
    if (threads != o_.default_threads) model_case.parameters["threads"] = std::to_string(threads);
    if (streams > 1) model_case.parameters["streams"] = std::to_string(streams);
    if (what_.collective && ranks(backend) > 1) {
      model_case.parameters["ranks"] = std::to_string(ranks(backend));
    }
    if (ranks_ != nullptr) model_case.parameters["ranks"] = std::to_string(ranks_->size());
    return {model_case,
            {op::pass::fwd, dtype_from(type).value(), image_layout, o_.workspace_limit},
            result::stream_shares{streams, threads}.threads_each(),
            numbers,
            caches_of(graph)};
  }

  /// Ranks of a backend: as many as were started, or as the user wants in this program.
  [[nodiscard]] std::int64_t ranks(const std::string& backend) const {
    return ranks_of(backend, known_).value_or(o_.ranks);
  }

 private:
  /// The cache states of its rows. Those of sweeps are hot, as in the benchmarks they come from.
  [[nodiscard]] std::vector<std::string> caches_of(const model::graph& graph) const {
    if (!o_.caches.empty()) return o_.caches;
    return {std::string(name(is_sweep(graph) ? cache_state::hot : cache_state::model))};
  }

  [[nodiscard]] model::step step_of(const model::graph& graph, dtype type) const {
    const model::op_names in_place{o_.in_place.begin(), o_.in_place.end()};
    model::training how = o_.training();
    if (ranks_ != nullptr) how.ranks = ranks_->size();
    return model::step_of(graph, o_.phase, type, in_place, how);
  }

  /// Whether activations of the model share memory. Rows of sweeps have no others to share it with.
  [[nodiscard]] bool reuses_memory(const model::graph& graph) const {
    return !is_sweep(graph) && o_.memory == name(model::memory_mode::reused);
  }

  /// Whether the op is one of the program's.
  [[nodiscard]] bool is_program_op(const op::any& op) const {
    return what_.whole_model() || std::ranges::find(what_.ops, op.name()) != what_.ops.end();
  }

  /// Names of all rows that the case may have, without planning it. Among them are those of all
  /// reorders that a library might want.
  [[nodiscard]] std::vector<std::string> possible_names(const case_settings& c,
                                                        const model::step& step,
                                                        bool reordered) const {
    std::vector<std::string> names;
    const auto add = [&](std::string_view op, op::pass pass, const std::string& layer) {
      for (const std::string& state : c.caches) {
        result::row_name row{c.model_case, std::string(op), std::string(op::name(pass)), layer,
                             state};
        names.push_back(row.text());
        if (o_.during.empty()) continue;
        row.model_case.parameters["during"] = o_.during;
        names.push_back(row.text());
      }
    };
    // A reorder before a call may make it a separate primitive, with its layer's name.
    for (const model::primitive& p : model::primitives(step)) {
      if (!is_program_op(p.op)) continue;
      const std::vector<std::string> layers = reordered ? p.layers : std::vector{p.layer};
      for (const std::string& layer : layers) add(p.op.name(), p.pass, layer);
    }
    if (!reordered) return names;
    std::map<std::string, int> reorders;
    for (const model::call& call : step.calls) {
      for (const op::operand& operand : call.op.operands(call.pass, c.request.type)) {
        if (operand.role == op::role::destination) continue;
        const std::string name = reorder_name(call, operand);
        const int number = ++reorders[name];
        add(op::reorder::name, op::pass::fwd,
            number == 1 ? name : fmt::format("{}_{}", name, number));
      }
    }
    return names;
  }

  /// Whether the program measures the primitive: it is of its ops, or was inserted before or behind
  /// them.
  [[nodiscard]] bool measures(const model::step& step, const model::primitive& p) const {
    const auto own = [&](const op::any& op) { return is_program_op(op); };
    const auto beside = [&](std::size_t i) {
      return std::ranges::any_of(step.calls, [&](const model::call& other) {
        const auto shared = [&](std::size_t tensor) { return other.uses(tensor); };
        return own(other.op) && std::ranges::any_of(step.calls[i].tensors, shared);
      });
    };
    return own(p.op) || (p.inserted && std::ranges::any_of(p.calls, beside));
  }

  void add_rows(const case_settings& c, const std::shared_ptr<device_context>& memory,
                const std::shared_ptr<planned_step>& step, const model::primitive& p,
                const result::planned& planned) {
    if (!measures(step->step(), p)) return;
    // A plan names the backend of this op: without it the row fails, and says why.
    if (p.op.backend().empty() && !memory->device().implements_op(p.op)) return;
    for (const std::string& state : c.caches) {
      const cache_state cache = from_name<cache_state>(state).value();
      // What wrote the sources matters in a model alone.
      const bool in_model = cache == cache_state::model;
      if (!in_model && p.calls_of_work == 0) continue;
      row_spec result{.name = {c.model_case, planned.op, planned.pass, p.layer, state},
                      .op = p.op,
                      .count = in_model ? p.count() : p.calls_of_work,
                      .inserted = p.inserted,
                      .request = c.request,
                      .signature = in_model ? planned.state : ""};
      result.request.pass = p.pass;
      result.expected = known_.oracle.of(p.op.verified_as(), p.pass);
      result.make_context = [step, p, cache] { return step->in_context(p, cache); };
      all_.rows.push_back(std::make_unique<benchmark_row>(std::move(result), memory));
    }
  }

  /// The step run whole; with `beside` gradients are sent while it computes.
  void add_chain(const case_settings& c, const std::shared_ptr<device_context>& memory,
                 const std::shared_ptr<planned_step>& step,
                 const std::vector<model::primitive>& primitives,
                 data_parallel_group* beside = nullptr) {
    if (!o_.chain.empty() && c.request.type == dtype::f8_e4m3) {
      throw usage_error(fmt::format(
          "{}: not for f8_e4m3, since no call converts results in bf16 to it", o_.chain_option()));
    }
    const auto make = [step, beside, seed = o_.seed] {
      std::unique_ptr<chain> result = step->make_chain(seed);
      if (beside != nullptr) result->overlap(*beside);
      return result;
    };
    const bool shares_memory = ranks_ != nullptr && memory->device().is_host();
    const auto ranks = static_cast<std::size_t>(shares_memory ? ranks_->ranks_on_host() : 1);
    const std::size_t copies =
        beside == nullptr ? ranks : 2 * ranks;  // the overlapped chain is run in addition
    const auto bytes = [step, all = copies * static_cast<std::size_t>(c.model_case.streams())] {
      return all * step->chain_bytes();
    };
    std::vector<std::vector<std::size_t>> calls;
    for (const model::primitive& p : primitives) calls.push_back(p.calls);
    all_.chains.push_back({c.model_case, make, bytes, std::move(calls)});
  }

  /// Rows of what is computed while gradients are sent: in the backward part. They are in states of
  /// the same step, and of no manifest of their own.
  void add_contended(case_settings c, const std::shared_ptr<device_context>& memory,
                     const std::shared_ptr<planned_step>& step,
                     const std::vector<model::primitive>& primitives,
                     const std::vector<result::planned>& step_plan) {
    c.model_case.parameters["during"] = o_.during;
    for (std::size_t i = 0; i < primitives.size(); ++i) {
      const model::primitive& p = primitives[i];
      if (p.part != model::step_part::backward || p.op.name() == op::allreduce::name) continue;
      add_rows(c, memory, step, p, step_plan[i]);
    }
    if (what_.whole_model()) add_chain(c, memory, step, {}, ranks_);
  }

  const options& o_;
  const program& what_;
  const registry& known_;
  suite& all_;
  data_parallel_group* ranks_;
  timing_mode timing_;
  name_filter wanted_;
  suite_devices devices_;
  std::set<std::pair<result::case_name, std::string>> added_;  ///< with the sweep's row
};

/// Adds the collectives of the models, or a sweep of their sizes.
template <class AddCases>
void add_collectives(const options& o, const registry& known, suite_builder& maker,
                     const AddCases& add_cases) {
  model_names names;
  for (const std::string& name : o.models) {
    std::optional<model::graph> trained;
    if (name != model::sweep_model) {
      const std::filesystem::path path = model::find(name, o.shapes);
      trained = model::load(path, std::nullopt, known.ops);
      names.add(trained->name, path);
    }
    add_cases([&](const std::string& on, const std::string& type, int) {
      return maker.collectives(trained, dtype_from(type).value(), maker.ranks(on));
    });
  }
}

inline void require_reusable_memory(const options& o) {
  if (o.phase == "inference" || o.memory != name(model::memory_mode::reused)) return;
  throw usage_error(
      "--memory: training keeps activations for the gradients; only inference reuses their memory");
}

/// Throws usage_error for data types that have no such numbers.
inline void require_numbers(const options& o) {
  if (std::ranges::find(o.data, name(number_class::denormal)) == o.data.end()) return;
  for (const std::string& type : o.dtypes) {
    if (!is_integer(dtype_from(type).value())) continue;
    throw usage_error(
        fmt::format("--data=denormal: {} has no denormal numbers; leave out one of both", type));
  }
}

/// Adds the cases of the models, in all their sizes and `fusions`.
template <class AddCases>
void add_models(const options& o, const registry& known,
                const std::vector<std::optional<model::fusion_plan>>& fusions,
                std::vector<std::string>& notes, const AddCases& add_cases) {
  require_reusable_memory(o);
  require_numbers(o);
  const std::vector<model::parameter_values> sizes = sizes_of(o);
  model_names names;
  for (const std::string& model_name : o.models) {
    const std::filesystem::path path = model::find(model_name, o.shapes);
    for (const model::parameter_values& replaced : sizes) {
      const model::graph graph = model::load(path, replaced, known.ops);
      names.add(graph.name, path);
      if (graph.left_out && &replaced == &sizes.front()) {
        notes.push_back(fmt::format("{} is partial: {}; predictions are too fast", graph.name,
                                    format::left_out(*graph.left_out)));
      }
      for (const model_variant& variant : variants_of(graph, fusions, o, known)) {
        add_cases([&](const auto&, const std::string& type, int threads) {
          return variant.in(dtype_from(type).value(), threads, known);
        });
      }
    }
  }
}

}  // namespace detail

LAYERBENCH_INLINE suite make_suite(const options& o, const program& what, const registry& known,
                                   data_parallel_group* ranks, const name_filter& wanted) {
  suite all;
  const std::vector<std::string> backends = detail::chosen_backends(o, what, known, all.notes);
  if (ranks != nullptr) ranks->describe(all.between_ranks);
  detail::note_integers(o, backends, known, all.notes);
  std::vector<std::optional<model::fusion_plan>> fusions;
  if (!what.peaks && !what.collective) fusions = detail::fusions_of(o, known, all.notes);
  if (!o.list && !o.list_tests) {
    detail::choose_device(o.device_number(), backends, known);
    if (o.registered) detail::register_buffers(backends, known);
    if (!o.check_machine) all.clocks = detail::hold_clocks(o, backends, known, all.notes);
    // Ranks must have the same plans, so none of them may replace the library's choice.
    if (ranks == nullptr || o.plans != "heuristic") {
      std::vector<std::string> used = backends;
      for (const auto& plan : fusions) {
        if (!plan) continue;
        for (const model::fusion_rule& rule : plan->rules) used.push_back(rule.backend);
      }
      all.tuner = detail::autotuner_of(o, detail::libraries(used, known), known.oracle);
      if (!o.budget.empty()) all.tuner->stop_at(o.started + std::stod(o.budget) / 2);
    }
  }
  const timing_mode timing = detail::timing_of(o, what, backends, known);
  detail::suite_builder maker(o, what, known, all, ranks, timing, wanted);
  const auto add_cases = [&](auto&& graph_of) {
    for (const std::string& backend_name : backends) {
      for (const std::string& type : o.dtypes) {
        for (const int threads : o.threads) {
          for (const int streams : o.streams) {
            const model::graph graph = graph_of(
                backend_name, type, result::stream_shares{streams, threads}.threads_each());
            for (const std::string& data : o.data) {
              const auto numbers = from_name<number_class>(data).value();
              maker.add_case(
                  graph, maker.settings_of(graph, backend_name, type, threads, streams, numbers));
            }
          }
        }
      }
    }
  };
  if (what.peaks) {
    add_cases([&](const std::string& on, const std::string& type, int threads) {
      return maker.peaks(on, type, threads);
    });
    return all;
  }
  if (what.collective) {
    detail::note_ranks(backends, known, all.notes);
    detail::add_collectives(o, known, maker, add_cases);
    return all;
  }
  try {
    detail::add_models(o, known, fusions, all.notes, add_cases);
  } catch (const device_lost& e) {
    all.lost = e.what();
  }
  return all;
}

}  // namespace layerbench::run
