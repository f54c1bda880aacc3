// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <layerbench/base/json.hpp>
#include <layerbench/base/number_format.hpp>
#include <layerbench/base/slug.hpp>
#include <layerbench/report/html.hpp>
#include <layerbench/report/page.hpp>
#include <layerbench/report/site_script.hpp>
#include <layerbench/report/tables.hpp>
#include <layerbench/result/context_difference.hpp>

/// A static site of result files, in which machines can be compared.
namespace layerbench::report {

/// The files of a site: texts by their paths, which have only the folders and endings of the site,
/// lower-case letters, digits and hyphens.
using site_files = std::map<std::string, std::string>;

namespace detail {

[[nodiscard]] inline markup page_link(const std::string& path, const markup& text) {
  return element("a", text, {{"href", path}});
}

/// What the head and the top of each page have; `root` is the way to the first folder.
[[nodiscard]] inline markup site_head(const std::string& root) {
  return element("style", {std::string(site_style)}) +
         element("script", {}, {{"src", root + "site.js"}, {"defer", ""}});
}
[[nodiscard]] inline markup site_links(const std::string& root, const std::vector<markup>& more) {
  markup items = element("li", page_link(root + "index.html", {"All results"})) +
                 element("li", page_link(root + "compare.html", {"Compare"}));
  for (const markup& link : more) items += element("li", link);
  return element("nav", element("ul", items), {{"aria-label", "Site"}});
}
[[nodiscard]] inline std::string site_page(const std::string& title, const markup& inner,
                                           const std::string& root = "../") {
  return document(title + " - layerbench",
                  site_links(root, {}) + element("h1", breakable(title)) + element("main", inner),
                  site_head(root));
}

/// Words of a row that the search finds, each between two bars.
[[nodiscard]] inline markup hidden_words(const std::set<std::string>& words) {
  return element("span", escaped(fmt::format("|{}|", fmt::join(words, "|"))), {{"hidden", ""}});
}

/// The search in the tables of a page, which a script shows.
[[nodiscard]] inline markup search_form() {
  return {
      "<form class=\"search\" hidden=\"\"><label>Search <input type=\"search\"/></label>"
      "<output></output></form>"};
}

/// What identifies a machine, whoever has it.
[[nodiscard]] inline std::string machine_key(const result::results& file) {
  std::string key;
  for (const char* field : {"device", "topology", "num_cpus", "l1d_bytes", "l2_bytes", "l3_bytes",
                            "gpu", "gpu_memory_bytes", "gpu_multiprocessors"}) {
    key += result::comparable_value(field, file.context_value(field).value_or("")) + '\n';
  }
  return key;
}

}  // namespace detail

/// Pages of machines, models and result files, the files themselves, and their data for
/// comparisons. Nothing is loaded from elsewhere, and all works from a folder. Tables are complete
/// without scripts; a script searches in them, and compares any two machines or files.
class site {
 public:
  /// Adds a result file, whose text is `text`. Returns its page, its data and the file. Steps that
  /// lack layers are on its page alone. Throws what predict() throws.
  [[nodiscard]] site_files add(const result::results& file, const std::string& text,
                               const analysis::options& chosen) {
    const report_data data = report_data_of({&file, 1}, chosen);
    const std::string date = file.context_value("date").value_or("");
    const std::string day = detail::days(data.files);
    std::vector<std::string> models;
    for (const analysis::prediction& p : data.predictions) models.push_back(p.model_case.model);
    const std::string title =
        fmt::format("{}, {} ({})", day, detail::listed(models), detail::libraries(data));
    const std::string id = unused_id(std::filesystem::path(file.file).stem().string(), ids_);
    files_.push_back({id, machine_of(file), date, title});
    const table shown = overview(data);
    json::value cases = json::value::array();
    for (std::size_t i = 0; i < data.predictions.size(); ++i) {
      const analysis::prediction& p = detail::shown_prediction(data, i);
      if (!p.step || p.partial()) continue;
      std::map<std::string, markup> cells;
      for (std::size_t k = 0; k < shown.columns.size(); ++k) {
        cells[shown.columns[k].title] = escaped(shown.rows[i][k]);
      }
      cells["naive sum ms"] =
          escaped(p.hot_sum_seconds ? format::milliseconds(*p.hot_sum_seconds, p.digits()) : "");
      cells["machine check"] = escaped(detail::machine_check(file));
      cells["layerbench"] = escaped(file.context_value("layerbench_version").value_or(""));
      cells["file"] = detail::page_link("../results/" + id + ".html", escaped(day));
      cases.push_back(add_step(p, file, std::move(cells)));
    }
    const markup links = detail::site_links(
        "../", {link_to(machines_, files_.back().machine, "../machines/"),
                detail::page_link(id + ".json", {"The result file"}),
                detail::page_link("../compare.html#a=" + id, {"Compare this file"})});
    const json::value all{{"id", id}, {"cases", std::move(cases)}};
    return {{"results/" + id + ".html", page(data, links, detail::site_head("../"))},
            {"results/" + id + ".js",
             "// layerbench: the steps and layers of a result file\nlayerbenchResult(" +
                 all.dump(-1, ' ', true, json::value::error_handler_t::replace) + ");\n"},
            {"results/" + id + ".json", text}};
  }

  /// The index, the pages of machines and models, the comparison and the script.
  [[nodiscard]] site_files overview_of_all() const {
    const std::vector<added_file> files = newest_files();
    site_files all{{"index.html", index(files)},
                   {"compare.html", comparison(files)},
                   {"site.js", std::string(site_script)}};
    for (const auto& [key, of] : machines_) {
      const auto newest = std::ranges::find(files, key, &added_file::machine);
      const markup links =
          element("p", detail::page_link("../compare.html#a=" + of.id, {"Compare this machine"})) +
          element("p", detail::page_link("../results/" + newest->id + ".html",
                                         {"Hardware and libraries, in its newest file"}));
      all["machines/" + of.id + ".html"] = detail::site_page(
          of.title, links + detail::search_form() +
                        table_of(steps_of(&step::machine, key), false, "All steps"));
    }
    for (const auto& [key, of] : models_) {
      all["models/" + of.id + ".html"] = detail::site_page(of.title, rankings_of(key));
    }
    return all;
  }

 private:
  /// A machine or a model, with a page of its own.
  struct subject {
    std::string id;
    std::string title;
  };
  using subjects = std::map<std::string, subject>;
  struct added_file {
    std::string id;
    std::string machine;
    std::string date;
    std::string title;
    std::set<std::string> words = {};  ///< of its steps
  };
  /// A predicted step.
  struct step {
    std::string machine;
    std::string model;
    std::size_t file;
    std::string work;        ///< what a ranking is of: "inference, f32, batch 1"
    std::string work_order;  ///< the same, sortable
    std::string library;
    std::string conditions;  ///< the others
    double seconds;
    double low;  ///< above `high` where nothing is known of the error
    double high;
    std::map<std::string, markup> cells;
  };

  [[nodiscard]] std::string unused_id(const std::string& text, std::set<std::string>& ids) {
    const std::string base = slug(text);
    std::string id = base;
    for (int i = 2; !ids.insert(id).second; ++i) id = fmt::format("{}-{}", base, i);
    return id;
  }

  /// The key of the machine of a file, which is added.
  [[nodiscard]] std::string machine_of(const result::results& file) {
    const std::string key = detail::machine_key(file);
    subject& machine = machines_[key];
    if (machine.id.empty()) {
      std::string name = file.device();
      if (const auto count = file.context_value("num_cpus"); count && !file.context_value("gpu")) {
        name += fmt::format(", {} processor{}", *count, *count == "1" ? "" : "s");
      }
      const auto same = std::ranges::count_if(machines_, [&](const auto& other) {
        const std::string& title = other.second.title;
        return title == name || title.starts_with(name + " (");
      });
      machine = {unused_id(name, ids_), same == 0 ? name : fmt::format("{} ({})", name, same + 1)};
    }
    return key;
  }

  /// Adds a step of the last file. Returns what comparisons read of it.
  json::value add_step(const analysis::prediction& p, const result::results& file,
                       std::map<std::string, markup> cells) {
    const result::case_name& name = p.model_case;
    const std::string isa = file.context_value(name.backend + "_isa").value_or("");
    const auto interval = p.step->interval();
    step of{files_.back().machine,
            name.model,
            files_.size() - 1,
            fmt::format("{}, {}, batch {}", name.phase(), name.dtype, name.batch),
            fmt::format("{} {} {:09}", name.phase(), name.dtype, name.batch),
            fmt::format("{} {}{}", name.backend,
                        file.context_value(name.backend + "_version").value_or(""),
                        isa.empty() ? "" : ", " + isa),
            p.threads > 0 ? fmt::format("{} thread{}", p.threads, p.threads == 1 ? "" : "s") : "",
            p.step->seconds,
            interval ? interval->low : 1,
            interval ? interval->high : 0,
            std::move(cells)};
    constexpr std::array<std::string_view, 5> of_work{"tokens", "context", "streams", "ranks",
                                                      "during"};
    for (const auto& [parameter, value] : name.parameters) {
      if (parameter == "phase" || parameter == "threads") continue;
      const bool is_work = std::ranges::find(of_work, parameter) != of_work.end();
      std::string& text = is_work ? of.work : of.conditions;
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", parameter, value);
      if (is_work) of.work_order += fmt::format(" {} {:>9}", parameter, value);
    }
    of.cells["library"] = escaped(of.library);
    of.cells["conditions"] = escaped(of.conditions);
    files_.back().words.insert({"model:" + name.model, "phase:" + name.phase(),
                                "library:" + name.backend, "type:" + name.dtype});
    if (!models_.contains(name.model))
      models_[name.model] = {unused_id(name.model, model_ids_), name.model};
    json::value layers = json::value::array();
    for (const analysis::layer_time& layer : p.layers) {
      layers.push_back({layer.call_name(), layer.op, layer.count, layer.seconds});
    }
    steps_.push_back(std::move(of));
    const step& added = steps_.back();
    return {
        {"work", added.model + " " + added.work},
        {"conditions", added.library + (added.conditions.empty() ? "" : ", ") + added.conditions},
        {"seconds", added.seconds},
        {"low", added.low},
        {"high", added.high},
        {"layers", std::move(layers)}};
  }

  [[nodiscard]] static markup link_to(const subjects& in, const std::string& key,
                                      const std::string& path) {
    const subject& of = in.at(key);
    return detail::page_link(path + of.id + ".html", escaped(of.title));
  }

  /// The steps of a machine or a model, in order of their conditions; the newest of each first.
  [[nodiscard]] std::vector<const step*> steps_of(std::string step::* member,
                                                  const std::string& key) const {
    std::vector<const step*> all;
    for (const step& one : steps_) {
      if (one.*member == key) all.push_back(&one);
    }
    std::ranges::stable_sort(all, [&](const step* a, const step* b) {
      const auto order = [](const step* of) {
        return std::tie(of->model, of->work_order, of->machine, of->library, of->conditions);
      };
      return std::pair(order(a), files_[b->file].date) < std::pair(order(b), files_[a->file].date);
    });
    return all;
  }

  /// Steps as a ranking of machines, or those of one machine.
  [[nodiscard]] markup table_of(const std::vector<const step*>& steps, bool ranked,
                                const std::string& caption) const {
    using enum align;
    markup_table t{{{"model"}, {"step"}}, {}};
    if (ranked) t.columns = {{"place", right}, {"machine"}};
    for (const char* title :
         {"predicted ms per step", "between", "measured ms", "naive sum ms", "images/s"}) {
      t.columns.push_back({title, right});
    }
    for (const char* title :
         {"library", "conditions", "note", "machine check", "layerbench", "file"}) {
      t.columns.push_back({title});
    }
    for (const step* of : steps) {
      std::vector<markup> row{link_to(models_, of->model, "../models/"), escaped(of->work)};
      if (ranked) {
        const auto faster = std::ranges::count_if(steps, [&](const step* other) {
          return other->low <= other->high && other->high < of->low;
        });
        row = {escaped(of->low <= of->high ? std::to_string(faster + 1) : ""),
               link_to(machines_, of->machine, "../machines/")};
      }
      for (std::size_t i = row.size(); i < t.columns.size(); ++i) {
        row.push_back(of->cells.at(t.columns[i].title));
      }
      t.rows.push_back(std::move(row));
    }
    return to_html(t, caption);
  }

  /// The rankings of a model, with the newest step of each machine, library and conditions.
  [[nodiscard]] markup rankings_of(const std::string& model) const {
    std::map<std::string, std::vector<const step*>> rankings;
    const step* before = nullptr;
    for (const step* of : steps_of(&step::model, model)) {
      const auto kind = [](const step* one) {
        return std::tie(one->work_order, one->machine, one->library, one->conditions);
      };
      if (before == nullptr || kind(before) != kind(of)) rankings[of->work_order].push_back(of);
      before = of;
    }
    markup inner = detail::search_form();
    for (auto& [order, steps] : rankings) {
      std::ranges::stable_sort(steps, {}, &step::seconds);
      inner += element("h2", escaped(steps.front()->work)) +
               table_of(steps, true, "The newest step of each machine, library and conditions");
    }
    return inner +
           to_html(std::vector<std::string>{
               "Place: one more than the rows whose whole interval lies below this one.",
               "Predicted: the sum of the layers. Between: its interval, meant to hold 95 % "
               "of measured steps. Measured: the whole model. Naive: a sum of hot loops.",
               "Older steps are on the pages of machines."});
  }

  [[nodiscard]] markup subjects_table(bool machines) const {
    using enum align;
    markup_table t{{{machines ? "machine" : "model"}, {"steps", right}, {"libraries"}}, {}};
    const subjects& all = machines ? machines_ : models_;
    for (const auto& [key, of] : all) {
      std::set<std::string> words;
      std::vector<std::string> libraries;
      for (const step* one : steps_of(machines ? &step::machine : &step::model, key)) {
        libraries.push_back(one->library);
        words.insert(files_[one->file].words.begin(), files_[one->file].words.end());
      }
      t.rows.push_back(
          {link_to(all, key, machines ? "machines/" : "models/") + detail::hidden_words(words),
           escaped(std::to_string(libraries.size())), escaped(detail::listed(libraries))});
    }
    return to_html(t, machines ? "Machines" : "Models");
  }

  [[nodiscard]] std::vector<added_file> newest_files() const {
    std::vector<added_file> all = files_;
    std::ranges::stable_sort(all, std::ranges::greater{}, &added_file::date);
    return all;
  }

  /// `newest`: newest_files().
  [[nodiscard]] std::string index(const std::vector<added_file>& newest) const {
    markup_table files{{{"result file"}, {"machine"}}, {}};
    for (const added_file& file : newest) {
      files.rows.push_back({detail::page_link("results/" + file.id + ".html", escaped(file.title)) +
                                detail::hidden_words(file.words),
                            link_to(machines_, file.machine, "machines/")});
    }
    const std::string counts = fmt::format(
        "{} machines, {} models, {} result files, {} predicted steps. Each number stands beside "
        "its conditions, the version of layerbench and its file.",
        machines_.size(), models_.size(), files_.size(), steps_.size());
    return detail::site_page("Results",
                             element("p", escaped(counts)) + detail::search_form() +
                                 subjects_table(true) + subjects_table(false) +
                                 to_html(files, "Result files"),
                             "");
  }

  [[nodiscard]] std::string comparison(const std::vector<added_file>& newest) const {
    markup groups;
    for (const auto& [key, machine] : machines_) {
      std::vector<std::string> ids;
      markup options;
      for (const added_file& file : newest) {
        if (file.machine != key) continue;
        ids.push_back(file.id);
        options +=
            element("option", escaped(file.title), {{"value", file.id}, {"data-id", file.id}});
      }
      const std::string all = fmt::format("{}", fmt::join(ids, " "));
      groups += element("optgroup",
                        element("option", escaped(machine.title + ": its newest steps"),
                                {{"value", all}, {"data-id", machine.id}}) +
                            options,
                        {{"label", machine.title}});
    }
    return detail::site_page(
        "Compare",
        markup{
            "<noscript>Comparisons of any two need JavaScript. Without it, the page of a model "
            "compares its machines.</noscript><form class=\"compare\" hidden=\"\"><label>First "} +
            element("select", groups, {{"name", "a"}}) +
            markup{"</label><label>Second <select name=\"b\"></select></label></form>"
                   "<div id=\"comparison\"></div>"},
        "");
  }

  std::set<std::string> ids_;  ///< of machines and files, which links to comparisons name
  std::set<std::string> model_ids_;
  subjects machines_;
  subjects models_;
  std::vector<added_file> files_;
  std::vector<step> steps_;
};

}  // namespace layerbench::report
