// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <iterator>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include <layerbench/base/compiled.hpp>
#include <layerbench/base/error.hpp>
#include <layerbench/base/is_name.hpp>
#include <layerbench/base/json.hpp>
#include <layerbench/model/find.hpp>
#include <layerbench/model/fusion.hpp>
#include <layerbench/model/step.hpp>
#include <layerbench/op/activation.hpp>
#include <layerbench/op/add.hpp>
#include <layerbench/op/batchnorm.hpp>
#include <layerbench/op/post_ops.hpp>
#include <layerbench/shape/record_json.hpp>

namespace layerbench::model {

LAYERBENCH_INLINE std::filesystem::path find_fusion(const std::string& name_or_path,
                                                    const std::filesystem::path& shapes) {
  return find_in(shapes, "fusions", name_or_path, "fusion plan",
                 fmt::format("or {}, or give the path of a fusion plan", no_fusion));
}

namespace detail {

/// What rules call a layer that another may take in; empty if none may.
[[nodiscard]] inline std::string fusion_word(const op::any& op) {
  if (op.get<op::batchnorm>() != nullptr) return std::string(op::batchnorm::name);
  if (const auto* function = op.get<op::activation>()) return std::string(name(function->kind));
  const auto* addition = op.get<op::add>();
  const bool plain = addition != nullptr && !addition->broadcast && !addition->learned;
  return plain ? std::string(op::add::name) : "";
}

[[nodiscard]] inline std::vector<std::string_view> fusion_words() {
  std::vector<std::string_view> words{op::batchnorm::name, op::add::name, op::activation::name};
  std::ranges::copy(enum_names<op::activation_kind>, std::back_inserter(words));
  return words;
}

/// Reads a list of at least one of the `known` texts.
[[nodiscard]] inline std::vector<std::string> read_known(
    const json::cursor& at, const std::vector<std::string_view>& known) {
  at.require_array();
  if (at.get().empty()) at.fail(fmt::format("is empty; known: {}", fmt::join(known, " ")));
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < at.get().size(); ++i) {
    texts.emplace_back(known[at[i].index_in(known)]);
  }
  return texts;
}

/// Reads values of fields that ops have.
[[nodiscard]] inline record_fields read_some(const json::cursor& at, record_fields fields) {
  for (record_field& field : fields) field.required = false;
  json::read_fields(at, {}, fields);
  std::erase_if(fields, [&](const record_field& field) { return !at.has(field.name); });
  if (fields.empty()) at.fail("has no field");
  return fields;
}

/// Reads a rule that says how ops are called, or by which backend.
[[nodiscard]] inline fusion_rule read_calls(const json::cursor& at, const op::catalog& catalog) {
  fusion_rule rule{.is_of_calls = true};
  if (at.has("backend")) {
    rule.backend = at["backend"].text();
    if (!is_name(rule.backend)) at["backend"].fail("expected the name of a backend");
  }
  if (at.has("layers")) {
    at.check_keys({"layers", "backend"}, {"layers", "backend"});
    rule.layers = at["layers"].texts();
    if (rule.layers.empty()) at["layers"].fail("has no layer");
    return rule;
  }
  at.check_keys({"ops", "set", "backend", "types", "where", "unless", "at_most"}, {"ops"});
  std::vector<std::string_view> ops;
  for (const op::entry& entry : catalog) ops.push_back(entry.name);
  rule.ops = read_known(at["ops"], ops);
  if (at.has("types")) {
    for (const std::string& name :
         read_known(at["types"], {dtype_names.begin(), dtype_names.end()}))
      rule.types.push_back(dtype_from(name).value());
  }
  const auto& manners = enum_names<op::manner>;
  std::vector<std::string_view> flags(manners.begin() + 1, manners.end());  // that all ops have
  for (const std::string& name : rule.ops) {
    record_fields fields = std::ranges::find(catalog, name, &op::entry::name)->default_fields();
    std::erase_if(flags,
                  [&](std::string_view flag) { return find_field(fields, flag) == nullptr; });
    if (at.has("where")) rule.where = read_some(at["where"], fields);
    if (at.has("unless")) rule.unless = read_some(at["unless"], fields);
    if (!at.has("at_most")) continue;
    std::vector<std::string_view> sizes{"threads", "elements"};
    for (const record_field& field : fields) {
      if (std::holds_alternative<std::int64_t>(field.value)) sizes.push_back(field.name);
    }
    at["at_most"].check_keys(sizes, {});
    for (const std::string_view size : sizes) {
      if (!at["at_most"].has(size)) continue;
      rule.at_most[std::string(size)] = json::read_size(at["at_most"][size], {});
    }
  }
  if (at.has("at_most") && rule.at_most.empty()) at["at_most"].fail("has no field");
  if (!at.has("set")) return rule;
  const std::vector<std::string> set = read_known(at["set"], flags);
  if (set.size() > 1) at["set"].fail("has several fields; an op is called in one manner");
  rule.how = from_name<op::manner>(set.front()).value();
  return rule;
}

/// Whether a rule of calls applies to a layer.
[[nodiscard]] inline bool applies(const fusion_rule& rule, const layer& to, dtype type,
                                  std::optional<int> threads) {
  const auto listed = [](const auto& all, const auto& one) {
    return std::ranges::find(all, one) != all.end();
  };
  if (!rule.layers.empty()) return listed(rule.layers, to.name);
  const bool of_type = rule.types.empty() || listed(rule.types, to.op.own_type().value_or(type));
  if (!listed(rule.ops, to.op.name()) || !of_type) return false;
  const record_fields fields = to.op.fields();
  const auto has = [&](const record_field& wanted) {
    return json::write_value(find_field(fields, wanted.name)->value) ==
           json::write_value(wanted.value);
  };
  const auto within = [&](const auto& limit) {
    const auto& [name, most] = limit;
    if (name == "threads") return threads && *threads <= most;
    if (name == "elements")
      return elements(to.op.operands(op::pass::fwd, type).front().extents) <= most;
    return std::get<std::int64_t>(find_field(fields, name)->value) <= most;
  };
  return std::ranges::all_of(rule.where, has) && std::ranges::all_of(rule.at_most, within) &&
         (rule.unless.empty() || !std::ranges::all_of(rule.unless, has));
}

/// Reads a rule that joins layers. `ops` are those with post-ops.
[[nodiscard]] inline fusion_rule read_rule(const json::cursor& at,
                                           const std::vector<std::string_view>& ops) {
  const bool names_layers = at.has("layers");
  if (names_layers) {
    at.check_keys({"layers", "in_place"}, {"layers"});
  } else {
    at.check_keys({"ops", "then", "repeat", "in_place"}, {"ops", "then"});
  }
  const auto flag = [&](std::string_view key) { return at.has(key) && at[key].boolean(); };
  fusion_rule rule;
  rule.repeat = flag("repeat");
  rule.in_place = flag("in_place");
  if (names_layers) {
    rule.layers = at["layers"].texts();
    if (rule.layers.size() < 2) at["layers"].fail("has no two layers to join");
    return rule;
  }
  rule.ops = read_known(at["ops"], ops);
  const json::cursor stages = at["then"];
  stages.require_array();
  for (std::size_t i = 0; i < stages.get().size(); ++i) {
    rule.then.push_back(read_known(stages[i], fusion_words()));
  }
  if (rule.then.empty()) stages.fail("has no stage");
  return rule;
}

/// Reads the field `int8`.
[[nodiscard]] inline quantization read_quantization(const json::cursor& at,
                                                    const op::catalog& catalog) {
  at.check_keys({"ops", "keeps", "channel_scales"}, {"ops"});
  std::vector<std::string_view> computing;
  std::vector<std::string_view> others;
  for (const op::entry& entry : catalog) {
    const record_fields fields = entry.default_fields();
    const bool has_scales = find_field(fields, "channel_scales") != nullptr;
    (has_scales ? computing : others).push_back(entry.name);
  }
  quantization rules{.ops = read_known(at["ops"], computing)};
  if (at.has("keeps")) rules.keeps = read_known(at["keeps"], others);
  rules.channel_scales = at.has("channel_scales") && at["channel_scales"].boolean();
  return rules;
}

/// Reads the field `weights`.
[[nodiscard]] inline narrow_weights read_narrow_weights(const json::cursor& at) {
  at.check_keys({"type", "group_size", "zero_points"}, {"type"});
  const std::span<const std::string_view> types(enum_names<op::narrow_type>);
  const std::vector<std::string_view> narrow(types.begin() + 1, types.end());
  narrow_weights rules{.type = static_cast<op::narrow_type>(at["type"].index_in(narrow) + 1)};
  if (at.has("group_size")) rules.group_size = json::read_size(at["group_size"], {});
  rules.zero_points = at.has("zero_points") && at["zero_points"].boolean();
  return rules;
}

/// The model with ops called as the rules say: by the first one that applies.
[[nodiscard]] inline graph with_calls(graph g, const fusion_plan& plan, dtype type,
                                      std::optional<int> threads) {
  for (layer& one : g.layers) {
    const auto rule = std::ranges::find_if(plan.rules, [&](const fusion_rule& known) {
      return known.is_of_calls && applies(known, one, type, threads);
    });
    if (rule == plan.rules.end()) continue;
    if (rule->how != op::manner::direct) one.op = one.op.called(rule->how);
    one.op = one.op.on(rule->backend);
    const std::string reason = why_inference_only(one.op);
    if (!reason.empty()) g.inference_only = fmt::format("'{}' {}", one.name, reason);
  }
  g.fusion = plan.name;
  return g;
}

/// Finds the calls of a fused graph.
class fuser {
 public:
  fuser(const graph& g, const fusion_plan& plan, const op::catalog& catalog)
      : plan_(plan), catalog_(catalog), result_(g), layers_(inference_layers(g)) {
    result_.layers.clear();
    result_.inference_only = fmt::format("its layers are fused ({})", plan.name);
    readers_.resize(layers_.size());
    for (std::size_t i = 0; i < layers_.size(); ++i) {
      for (const std::size_t input : layers_[i].inputs) {
        if (input != model_input) readers_[input].push_back(i);
      }
    }
  }

  [[nodiscard]] graph result() && {
    for (std::size_t i = 0; i < layers_.size(); ++i) {
      if (!is_taken_in(i)) begin_call(i);
    }
    for (const fusion_rule& rule : plan_.rules) {
      if (rule.joins_layers()) require_joined(rule);
    }
    std::vector<std::size_t> position(layers_.size());  // of calls, by their last layers
    for (std::size_t i = 0; i < layers_.size(); ++i) {
      const fused_call& call = calls_[call_of_[i]];
      if (call.layers.back() != i) continue;
      position[i] = result_.layers.size();
      layer fused = fused_layer(call);
      for (std::size_t& input : fused.inputs) {
        if (input != model_input) input = position[input];
      }
      result_.layers.push_back(std::move(fused));
    }
    return std::move(result_);
  }

 private:
  struct fused_call {
    std::vector<std::size_t> layers;  ///< the last one writes the result
    const fusion_rule* rule = nullptr;
    std::size_t stage = 0;  ///< the next one
    bool folds = false;     ///< a batch norm
    op::post_ops post = {};
    std::vector<std::size_t> inputs = {};  ///< layers; sources of the op, then addends
  };

  /// The rule of calls that begin with the layer; null if there is none, or if the layer already
  /// has post-ops.
  [[nodiscard]] const fusion_rule* rule_of(const layer& first) const {
    const record_fields fields = first.op.fields();
    if (find_field(fields, "post") == nullptr || has_post_ops(first.op)) return nullptr;
    const auto found = std::ranges::find_if(plan_.rules, [&](const fusion_rule& rule) {
      if (!rule.joins_layers()) return false;
      if (!rule.layers.empty()) return rule.layers.front() == first.name;
      return std::ranges::find(rule.ops, first.op.name()) != rule.ops.end();
    });
    return found == plan_.rules.end() ? nullptr : &*found;
  }

  /// Throws bad_input where the layers of a rule are several calls.
  void require_joined(const fusion_rule& rule) const {
    std::optional<std::size_t> first;
    for (const std::string& name : rule.layers) {
      const auto found = std::ranges::find(layers_, name, &layer::name);
      if (found == layers_.end()) continue;  // of another model, or not run in inference
      const std::size_t call = call_of_[static_cast<std::size_t>(found - layers_.begin())];
      if (first.value_or(call) != call) {
        throw error(fmt::format("fusion plan '{}': '{}' cannot be in one call with '{}'",
                                plan_.name, name, rule.layers.front()),
                    exit_code::bad_input);
      }
      first = call;
    }
  }

  void begin_call(std::size_t i) {
    call_of_.push_back(calls_.size());
    calls_.push_back({.layers = {i}, .rule = rule_of(layers_[i]), .inputs = layers_[i].inputs});
  }

  /// Whether the call of one of the layer's sources takes the layer in.
  [[nodiscard]] bool is_taken_in(std::size_t i) {
    const layer& next = layers_[i];
    for (std::size_t source = 0; source < next.inputs.size(); ++source) {
      const std::size_t from = next.inputs[source];
      if (from == model_input || readers_[from].size() != 1) continue;
      fused_call& call = calls_[call_of_[from]];
      const auto stage = stage_for(call, next);
      if (!stage) continue;
      const bool stays = call.rule->repeat && *stage + 1 == call.rule->then.size();
      call.stage = *stage + (stays ? 0 : 1);
      call.layers.push_back(i);
      call_of_.push_back(call_of_[from]);
      take_in(call, next, source);
      return true;
    }
    return false;
  }

  /// The stage in which the call takes the layer in; nothing if it does not.
  [[nodiscard]] std::optional<std::size_t> stage_for(const fused_call& call,
                                                     const layer& next) const {
    if (call.rule == nullptr || !may_take_in(call, next)) return std::nullopt;
    const std::vector<std::string>& named = call.rule->layers;
    if (!named.empty()) {
      const bool listed = std::ranges::find(named, next.name) != named.end();
      return listed ? std::optional(call.stage) : std::nullopt;
    }
    const std::string word = fusion_word(next.op);
    const auto takes = [&](const std::string& listed) {
      return listed == word ||
             (listed == next.op.name() && next.op.get<op::activation>() != nullptr);
    };
    for (std::size_t stage = call.stage; stage < call.rule->then.size(); ++stage) {
      if (std::ranges::any_of(call.rule->then[stage], takes)) return stage;
    }
    return std::nullopt;
  }

  [[nodiscard]] bool may_take_in(const fused_call& call, const layer& next) const {
    const op::any& first = layers_[call.layers.front()].op;
    if (has_post_ops(next.op) || next.op.own_type() != first.own_type()) return false;
    if (next.op.get<op::batchnorm>() != nullptr) {
      // After a post-op, or in a call without a bias, there is nothing to fold it into.
      const record_fields of_first = first.fields();
      return call.post.empty() && !call.folds && find_field(of_first, "bias") != nullptr;
    }
    if (fusion_word(next.op) != op::add::name) return next.op.get<op::activation>() != nullptr;
    const auto additions = std::ranges::count_if(call.post, op::is_addition);
    return additions < op::most_additions &&
           connects(of_role(first, op::role::destination).front().extents, result_of(next));
  }

  static void take_in(fused_call& call, const layer& next, std::size_t source) {
    if (next.op.get<op::batchnorm>() != nullptr) {
      call.folds = true;
    } else if (const auto* function = next.op.get<op::activation>()) {
      call.post.push_back(op::post_op_of(function->kind));
    } else {
      call.post.push_back(op::post_op::add);
      call.inputs.push_back(next.inputs[1 - source]);
    }
  }

  /// Whether a call may overwrite what it adds, which layer `addend` wrote: no later call reads it,
  /// and the call itself reads it only here.
  [[nodiscard]] bool may_overwrite(const fused_call& by, std::size_t addend) const {
    if (addend == model_input || std::ranges::count(by.inputs, addend) != 1) return false;
    if (!of_role(layers_[addend].op, op::role::destination).front().kept_in.empty()) return false;
    return std::ranges::all_of(readers_[addend], [&](std::size_t reader) {
      return calls_[call_of_[reader]].layers.back() <= by.layers.back();
    });
  }

  [[nodiscard]] layer fused_layer(const fused_call& call) const {
    const layer& first = layers_[call.layers.front()];
    if (call.layers.size() == 1) return first;
    op::post_ops post = call.post;
    std::size_t addend = first.inputs.size();
    bool overwrites = false;
    for (op::post_op& next : post) {
      if (!op::is_addition(next)) continue;
      const std::size_t from = call.inputs[addend++];
      if (overwrites || !call.rule->in_place || !may_overwrite(call, from)) continue;
      next = op::post_op::sum;
      overwrites = true;
    }
    record_fields fields = first.op.fields();
    for (record_field& field : fields) {
      if (field.name == "bias" && call.folds) field.value = true;
      if (field.name == "post") field.value = layerbench::detail::value_of(post);
    }
    std::vector<std::string> names;
    for (const std::size_t i : call.layers) names.push_back(layers_[i].name);
    return {fmt::format("{}", fmt::join(names, "+")), op::with_fields(first.op, fields, catalog_),
            call.inputs, layers_[call.layers.front()].weights_of};
  }

  const fusion_plan& plan_;
  const op::catalog& catalog_;
  graph result_;
  std::vector<layer> layers_;                      ///< those that inference runs
  std::vector<std::vector<std::size_t>> readers_;  ///< of each layer
  std::vector<fused_call> calls_;
  std::vector<std::size_t> call_of_;  ///< of each layer
};

}  // namespace detail

LAYERBENCH_INLINE fusion_plan load_fusion(const std::filesystem::path& path,
                                          const op::catalog& catalog) {
  const json::value parsed = json::parse_file(path);
  const json::cursor file(parsed, path.string());
  file.check_keys({"name", "title", "source", "rules", "int8", "weights"}, {"name", "rules"});
  const auto text = [&](std::string_view key) { return file.has(key) ? file[key].text() : ""; };
  fusion_plan plan{file["name"].text(), text("title"), text("source"), {}};
  if (!is_name(plan.name) || plan.name == no_fusion) {
    file["name"].fail("expected lower-case letters, digits and _, and not " +
                      std::string(no_fusion));
  }
  std::vector<std::string_view> ops;  // those with post-ops
  for (const op::entry& entry : catalog) {
    const record_fields fields = entry.default_fields();
    if (find_field(fields, "post") != nullptr) ops.push_back(entry.name);
  }
  const json::cursor rules = file["rules"];
  rules.require_array();
  for (std::size_t i = 0; i < rules.get().size(); ++i) {
    const bool is_of_calls = rules[i].has("set") || rules[i].has("backend");
    plan.rules.push_back(is_of_calls ? detail::read_calls(rules[i], catalog)
                                     : detail::read_rule(rules[i], ops));
  }
  if (file.has("weights")) plan.weights = detail::read_narrow_weights(file["weights"]);
  if (plan.rules.empty() && !plan.weights) rules.fail("has no rule");
  if (plan.weights && file.has("int8")) file["int8"].fail("does not go with \"weights\"");
  if (file.has("int8")) plan.int8 = detail::read_quantization(file["int8"], catalog);
  return plan;
}

LAYERBENCH_INLINE graph fused(const graph& g, const fusion_plan& plan, const op::catalog& catalog,
                              dtype type, std::optional<int> threads) {
  const bool has_such_type = type == dtype::f32 || type == dtype::f16 || type == dtype::bf16;
  if (plan.weights && !has_such_type) {
    throw usage_error(fmt::format("--fusion: {} is for f32, f16 and bf16, and not for --dtype={}",
                                  plan.name, name(type)));
  }
  graph result = detail::with_calls(g, plan, type, threads);
  if (plan.joins_layers()) result = detail::fuser(result, plan, catalog).result();
  if (plan.weights) result = with_narrow_weights(std::move(result), *plan.weights);
  if (type != dtype::s8 || !plan.int8) return result;
  return quantized(result, *plan.int8, catalog);
}

}  // namespace layerbench::model
