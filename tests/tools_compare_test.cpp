// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <layerbench/model/fusion.hpp>
#include <layerbench/op/builtin.hpp>

#include "support/golden.hpp"
#include "support/mentions.hpp"
#include "support/program.hpp"

namespace layerbench {
namespace tools_compare_test {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Each;
using ::testing::HasSubstr;
using testing::mentions;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;

const std::string& golden = testing::chain_file;

testing::outcome tool(const std::vector<std::string>& arguments) {
  return testing::run(LAYERBENCH_TOOL, arguments);
}

/// The example file and changed copies of it.
class Compare : public ::testing::Test {
 protected:
  using change = std::function<void(json::value& file)>;

  /// A copy with `changes`, by its path.
  std::string file(const std::string& name, const change& changes) {
    json::value read = json::value::parse(json::read_text(golden));
    changes(read);
    return scratch_.write(name, read.dump()).string();
  }

  /// A copy in which all rows whose names have `part` take `factor` times as long.
  std::string scaled(double factor, const std::string& part = "") {
    return file("scaled.json", [&](json::value& changed) {
      for (json::value& row : changed["benchmarks"]) {
        if (row.at("name").get<std::string>().find(part) == std::string::npos) continue;
        row["real_time"] = row.at("real_time").get<double>() * factor;
      }
    });
  }

  /// A copy with other values of these fields of the context.
  std::string with(const std::vector<std::string>& fields) {
    return file("with.json", [&](json::value& changed) {
      for (const std::string& field : fields) changed["context"][field] = "another";
    });
  }

  std::string path(const std::string& name) { return (scratch_.path() / name).string(); }

 private:
  testing::temporary_directory scratch_;
};

TEST_F(Compare, OfAFileWithItselfFindsNothing) {
  const testing::outcome done = tool({"compare", golden, golden, "--fail-on-regression"});
  EXPECT_EQ(done.exit_code, 0);
  EXPECT_THAT(done.err, AllOf(StartsWith("layerbench: "), mentions(golden)));
  EXPECT_THAT(done.out, AllOf(mentions("0 faster", "0 slower"), Not(HasSubstr("across"))));
}

TEST_F(Compare, WritesTextJsonAndCsvToStdoutOrAFile) {
  const std::string slower = scaled(1.2);
  const testing::outcome form = tool({"compare", golden, slower, "--format", "json"});
  EXPECT_EQ(form.exit_code, 0) << form.err;
  const json::value all = json::value::parse(form.out);
  EXPECT_EQ(all.at("schema"), 1);
  EXPECT_EQ(all.at("models").at(0).at("verdict"), "slower");
  EXPECT_NEAR(all.at("models").at(0).at("ratio"), 1.2, 1e-9);
  const std::string out = path("out.json");
  EXPECT_EQ(tool({"compare", golden, slower, "--format=json", "-o", out}).out, "");
  EXPECT_EQ(json::read_text(out), form.out);
  EXPECT_THAT(tool({"compare", golden, slower, "--format", "csv"}).out,
              StartsWith("kind,id,name,ratio,low,high,verdict,"));
  EXPECT_THAT(tool({"compare", golden, slower}).out,
              AllOf(mentions(golden, slower, "1.200"), HasSubstr("\n| ")));
}

TEST_F(Compare, NamesTheSideThatWasDisturbed) {
  const std::string loaded = file("loaded.json", [](json::value& changed) {
    for (json::value& row : changed["benchmarks"]) row["disturbed"] = 1.0;
  });
  const auto notes = [](const std::string& old, const std::string& now) {
    return json::value::parse(tool({"compare", old, now, "--format", "json"}).out)
        .at("notes")
        .get<std::vector<std::string>>();
  };
  const auto disturbed = [](const std::string& side) { return mentions(side, "100 %"); };
  EXPECT_THAT(notes(golden, loaded),
              AllOf(Contains(disturbed("new")), Each(Not(disturbed("old")))));
  EXPECT_THAT(notes(loaded, golden),
              AllOf(Contains(disturbed("old")), Each(Not(disturbed("new")))));
  EXPECT_THAT(tool({"compare", golden, loaded}).out, mentions("100 %"));
}

TEST_F(Compare, AcceptsListsOfFiles) {
  const std::string other = scaled(1.01);
  const testing::outcome done =
      tool({"compare", golden + "," + other, other + "," + golden, "--format", "json"});
  EXPECT_EQ(done.exit_code, 0) << done.err;
  const json::value all = json::value::parse(done.out);
  EXPECT_EQ(all.at("old"), json::value({golden, other}));
  EXPECT_EQ(all.at("new"), json::value({other, golden}));
  EXPECT_THAT(all.at("notes"), SizeIs(0));
  EXPECT_EQ(all.at("layers").at(0).at("old_rounds"), 12);
}

TEST_F(Compare, CountsAsTheSameWhatIsInsideTheMargin) {
  const auto verdict = [&](const std::string& file, const std::vector<std::string>& more) {
    std::vector<std::string> arguments{"compare", golden, file, "--format", "json"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const json::value all = json::value::parse(tool(arguments).out);
    return all.at("models").at(0).at("verdict").get<std::string>();
  };
  const std::string slower = scaled(1.1);
  EXPECT_EQ(verdict(slower, {}), "slower");
  EXPECT_EQ(verdict(slower, {"--margin", "15"}), "same");
  EXPECT_EQ(verdict(scaled(0.9), {}), "faster");
  EXPECT_EQ(verdict(scaled(1.005), {}), "unclear");
  EXPECT_EQ(verdict(golden, {"--margin=0"}), "unclear");
}

TEST_F(Compare, RefusesWhatDiffersInMoreThanOneThingAndNamesIt) {
  const std::string other = with({"kernel", "layerbench_version", "threads"});
  const testing::outcome done = tool({"compare", golden, other});
  EXPECT_EQ(done.exit_code, 3);
  EXPECT_EQ(done.out, "");
  EXPECT_THAT(done.err, mentions(other, golden, "kernel", "layerbench_version", "threads",
                                 "--across", "--force"));
  const testing::outcome across = tool({"compare", golden, other, "--across", "version"});
  EXPECT_EQ(across.exit_code, 3);
  EXPECT_THAT(across.err, AllOf(mentions(other, "version", "kernel", "threads"),
                                Not(HasSubstr("layerbench_version"))));
  EXPECT_EQ(tool({"compare", golden, golden + "," + other}).exit_code, 3);
}

TEST_F(Compare, MarksWhatIsForced) {
  const std::string other = with({"kernel", "layerbench_version"});
  const testing::outcome text = tool({"compare", golden, other, "--force"});
  EXPECT_EQ(text.exit_code, 0) << text.err;
  EXPECT_THAT(text.out, mentions("forced", "kernel", "layerbench_version"));
  const testing::outcome form =
      tool({"compare", golden, other, "--force", "--across=version", "--format=json"});
  const json::value all = json::value::parse(form.out);
  EXPECT_EQ(all.at("across"), "version");
  EXPECT_EQ(all.at("forced"), json::value({"kernel"}));
}

TEST_F(Compare, InfersTheDimensionFromTheFieldsThatDiffer) {
  const auto across = [&](const std::string& other, const std::vector<std::string>& more) {
    std::vector<std::string> arguments{"compare", golden, other, "--format", "json"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const testing::outcome done = tool(arguments);
    EXPECT_EQ(done.exit_code, 0) << done.err;
    const json::value all = json::value::parse(done.out);
    return fmt::format("{} {}", all.at("across").get<std::string>(),
                       all.at("inferred").get<bool>());
  };
  EXPECT_EQ(across(with({"onednn_version", "onednn_hash"}), {}), "version true");
  EXPECT_EQ(across(with({"kernel"}), {}), "driver true");
  EXPECT_EQ(across(with({"threads"}), {}), "settings true");
  EXPECT_EQ(across(with({"device", "kernel", "threads"}), {}), "device true");
  EXPECT_EQ(across(with({"kernel", "threads"}), {"--across", "device"}), "device false");
}

TEST_F(Compare, FailsOnRegressionsAfterItHasWritten) {
  const std::string slower = scaled(1.1);
  EXPECT_EQ(tool({"compare", golden, slower}).exit_code, 0);
  // The option takes a value only after a '='.
  for (const std::vector<std::string>& arguments : std::vector<std::vector<std::string>>{
           {"compare", "--fail-on-regression", golden, slower},
           {"compare", golden, slower, "--fail-on-regression=5"}}) {
    const testing::outcome done = tool(arguments);
    EXPECT_EQ(done.exit_code, 4);
    EXPECT_THAT(done.out, HasSubstr("| slower"));
    EXPECT_THAT(done.err, AllOf(StartsWith("layerbench: "),
                                mentions("inference/reference/f32/tiny/batch:2", "10.0 %"),
                                Not(HasSubstr("small"))));
  }
  EXPECT_EQ(tool({"compare", golden, slower, "--fail-on-regression=20"}).exit_code, 0);
  EXPECT_EQ(tool({"compare", slower, golden, "--fail-on-regression"}).exit_code, 0) << "faster";
}

TEST_F(Compare, NamesTheFirstFileAfterALastingChange) {
  std::vector<std::string> arguments{"compare", "--across=date", "--format=json"};
  for (int day = 1; day <= 10; ++day) {
    const double factor = (day < 6 ? 1 : 1.2) * (1 + 0.001 * (day * 7 % 11));
    arguments.push_back(file(fmt::format("{}.json", day), [&](json::value& changed) {
      changed["context"]["date"] = fmt::format("2026-01-{:02}T00:00:00+00:00", day);
      for (json::value& row : changed["benchmarks"]) {
        row["real_time"] = row.at("real_time").get<double>() * factor;
        if (row.contains("mean_s")) row["mean_s"] = row.at("mean_s").get<double>() * factor;
      }
    }));
  }
  const testing::outcome done = tool(arguments);
  EXPECT_EQ(done.exit_code, 0) << done.err;
  const json::value all = json::value::parse(done.out);
  EXPECT_EQ(all.at("across"), "date");
  const json::value& changes = all.at("models").at(0).at("changes");
  ASSERT_THAT(changes, SizeIs(1));
  EXPECT_EQ(changes[0].at("file"), path("6.json"));
  EXPECT_NEAR(changes[0].at("ratio"), 1.2, 0.01);

  arguments[2] = "--format=text";
  EXPECT_THAT(tool(arguments).out, mentions("10 files", "lasting", "6.json", "slower"));
  arguments[2] = "--fail-on-regression=10";
  const testing::outcome failed = tool(arguments);
  EXPECT_EQ(failed.exit_code, 4);
  EXPECT_THAT(failed.err, mentions("since", "6.json"));
  arguments[2] = "--fail-on-regression=30";
  EXPECT_EQ(tool(arguments).exit_code, 0);
  arguments.resize(6);
  EXPECT_THAT(tool(arguments).out, mentions("fewer than 8 files"));
}

// The other backend has activations alone, in half the time.
TEST_F(Compare, NamesTheFastestBackendOfEachLayer) {
  const auto renamed = [](std::string text) {
    for (std::size_t at = 0; (at = text.find("/reference/", at)) != std::string::npos;)
      text.replace(at, std::string("/reference/").size(), "/other/");
    return text;
  };
  const std::string both = file("both.json", [&](json::value& changed) {
    json::value steps =
        json::value::parse(changed["context"]["manifest"].get_ref<const std::string&>());
    const json::value own = steps;
    for (const auto& [name, step] : own.items()) steps[renamed(name)] = step;
    changed["context"]["manifest"] = steps.dump();
    const json::value rows = changed["benchmarks"];
    for (json::value row : rows) {
      const auto name = row.at("name").get<std::string>();
      if (!name.starts_with("activation/")) continue;
      for (const char* field : {"name", "run_name"}) row[field] = renamed(name);
      for (const char* field : {"real_time", "mean_s"}) {
        if (row.contains(field)) row[field] = row.at(field).get<double>() / 2;
      }
      changed["benchmarks"].push_back(row);
    }
  });
  const testing::outcome done = tool({"compare", "--across=backend", both, "--format=json"});
  ASSERT_EQ(done.exit_code, 0) << done.err;
  const json::value all = json::value::parse(done.out);
  EXPECT_EQ(all.at("across"), "backend");
  const json::value& model = all.at("models").at(0);
  EXPECT_EQ(model.at("backend"), "reference");
  ASSERT_THAT(model.at("steps"), SizeIs(1)) << "the other backend lacks layers";
  double sum = 0;
  std::int64_t moved = 0;
  for (const json::value& layer : model.at("layers")) {
    const bool is_activation = layer.at("op") == "activation";
    EXPECT_EQ(layer.at("best"), is_activation ? "other" : "reference") << layer;
    const double count = layer.at("count").get<double>();
    sum += count * layer.at("seconds").at("reference").get<double>() / (is_activation ? 2 : 1);
    moved += is_activation ? layer.at("count").get<std::int64_t>() : 0;
  }
  EXPECT_GT(moved, 0);
  EXPECT_EQ(model.at("moved_calls"), moved);
  EXPECT_NEAR(model.at("best_seconds"), sum, 1e-9 * sum);
  EXPECT_LT(model.at("best_seconds"), model.at("steps").at("reference"));

  const testing::outcome wide =
      tool({"compare", "--across=backend", both, "--margin=120", "--format=json"});
  EXPECT_EQ(json::value::parse(wide.out).at("models").at(0).at("moved_calls"), 0);
  EXPECT_THAT(tool({"compare", "--across=backend", both}).out,
              AllOf(mentions("best of", "no reorders", "other", "relu1"), Not(HasSubstr("conv1"))));
  // The first row is the layer that takes longest.
  const testing::outcome heaviest = tool({"compare", "--across=backend", both, "--top=1"});
  std::string longest;
  double most = 0;
  for (const json::value& of : all.at("models")) {
    for (const json::value& layer : of.at("layers")) {
      const json::value& times = layer.at("seconds");
      if (times.size() < 2) continue;
      const double all_calls = layer.at("count").get<double>() * times.at("other").get<double>();
      if (all_calls > most) longest = layer.at("name");
      most = std::max(most, all_calls);
    }
  }
  EXPECT_THAT(heaviest.out, mentions(longest, "more"));
  EXPECT_EQ(tool({"compare", "--across=backend", golden}).exit_code, 5) << "one backend";

  const std::vector<std::string> as_plan{"compare", "--across=backend", "--format=plan"};
  const auto plan_of = [&](const std::vector<std::string>& more) {
    std::vector<std::string> arguments = as_plan;
    arguments.insert(arguments.end(), more.begin(), more.end());
    return tool(arguments).exit_code;
  };
  EXPECT_EQ(plan_of({both}), 2) << "several cases";
  json::value changed = json::value::parse(json::read_text(both));
  json::value steps =
      json::value::parse(changed["context"]["manifest"].get_ref<const std::string&>());
  for (const char* backend : {"reference", "other"}) {
    const std::string case_of = fmt::format("inference/{}/f32/", backend);
    steps.erase(case_of + "small/batch:2");
    steps.erase(case_of + "tiny/batch:4");
    for (json::value& layer : steps.at(case_of + "tiny/batch:2")) {
      if (layer.at(0) == "relu1") layer.at(5)["layers"] = {"relu1", "relu2", "relu3"};
    }
  }
  changed["context"]["manifest"] = steps.dump();
  std::erase_if(changed["benchmarks"].get_ref<json::value::array_t&>(), [](const auto& row) {
    const auto name = row.at("name").template get<std::string>();
    return name.find("/tiny/") == name.npos || name.find("/batch:2/") == name.npos;
  });
  const std::string one = file("one.json", [&](json::value& copy) { copy = changed; });
  const std::string best = path("best.json");
  ASSERT_EQ(plan_of({one, "-o", best}), 0);
  const model::fusion_plan plan = model::load_fusion(best, op::builtin_catalog());
  ASSERT_THAT(plan.rules, SizeIs(1));
  EXPECT_EQ(plan.rules.front().backend, "other");
  EXPECT_THAT(plan.rules.front().layers,
              ::testing::UnorderedElementsAre("relu1", "relu2", "relu3"));
  EXPECT_EQ(plan_of({one, "--margin=120"}), 5) << "nothing is moved";
  // Times of a library that a fusion plan named are none of the case's backend.
  std::string named = json::read_text(both);
  constexpr std::string_view key = "n:2,c:3,h:8,w:8,k:4,r:3,s:3,pad:1";
  for (std::size_t at = 0; (at = named.find(key, at)) != std::string::npos; at += key.size())
    named.insert(at + key.size(), ",backend:mkl");
  const json::value left = json::value::parse(
      tool({"compare", "--across=backend",
            file("named.json", [&](json::value& copy) { copy = json::value::parse(named); }),
            "--format=json"})
          .out);
  EXPECT_THAT(left.at("notes").dump(),
              mentions("inference/reference/f32/tiny/batch:2", "left out"));
  EXPECT_THAT(left.at("models"), SizeIs(all.at("models").size() - 1));
  EXPECT_EQ(tool({"compare", golden, both, "--format=plan"}).exit_code, 2);
  EXPECT_EQ(tool({"compare", "--across=backend", both, "--format=csv"}).exit_code, 2);
  EXPECT_EQ(tool({"compare", both}).exit_code, 2) << "two sides";
}

// Rows of a sweep, each of the same layer in several passes.
TEST_F(Compare, NamesTheFastestBackendOfEachPassOfASweep) {
  const auto replaced = [](std::string text, const std::string& part, const std::string& by) {
    return text.replace(text.find(part), part.size(), by);
  };
  const std::string both = file("sweep.json", [&](json::value& changed) {
    changed["context"].erase("manifest");
    json::value rows = json::value::array();
    for (const json::value& row : changed["benchmarks"]) {
      const auto name = row.at("name").get<std::string>();
      if (!name.starts_with("conv/fwd/reference/f32/tiny/conv1/batch:2/cache:hot")) continue;
      for (const std::string pass : {"fwd", "bwd_data", "bwd_weights"}) {
        for (const std::string backend : {"reference", "other"}) {
          json::value one = row;
          for (const char* field : {"name", "run_name"})
            one[field] = replaced(replaced(name, "/fwd/", "/" + pass + "/"), "/reference/",
                                  "/" + backend + "/");
          const bool is_faster = (backend == "other") == (pass == "bwd_data");
          one["real_time"] = row.at("real_time").get<double>() / (is_faster ? 2 : 1);
          rows.push_back(one);
        }
      }
    }
    changed["benchmarks"] = rows;
  });
  const testing::outcome done = tool({"compare", "--across=backend", both, "--format=json"});
  ASSERT_EQ(done.exit_code, 0) << done.err;
  std::map<std::string, std::string> best;
  const json::value all = json::value::parse(done.out);
  for (const json::value& model : all.at("models")) {
    for (const json::value& layer : model.at("layers"))
      best[layer.at("pass").get<std::string>()] = layer.at("best").get<std::string>();
  }
  EXPECT_THAT(all.at("models"), SizeIs(3)) << "each row once, though it has several rounds";
  EXPECT_EQ(best, (std::map<std::string, std::string>{
                      {"bwd_data", "other"}, {"bwd_weights", "reference"}, {"fwd", "reference"}}));
}

TEST_F(Compare, FailsOnRegressionsOfLayersWhereThereIsNoModel) {
  const auto without_manifest = [](double factor) {
    return [factor](json::value& changed) {
      changed["context"].erase("manifest");
      for (json::value& row : changed["benchmarks"]) {
        row["real_time"] = row.at("real_time").get<double>() * factor;
      }
    };
  };
  const std::string old = file("old.json", without_manifest(1));
  const std::string now = file("new.json", without_manifest(1.2));
  const testing::outcome done = tool({"compare", old, now, "--fail-on-regression"});
  EXPECT_EQ(done.exit_code, 4);
  EXPECT_THAT(done.err, mentions("conv/fwd/reference/f32/tiny/conv1/batch:2/cache:hot", "20.0 %"));
}

TEST_F(Compare, ListsRowsOfOneSideAndFailsWhereAStepBecameIncomplete) {
  const std::string part = file("part.json", [](json::value& changed) {
    json::value kept = json::value::array();
    for (const json::value& row : changed["benchmarks"]) {
      if (!row.at("name").get<std::string>().starts_with("reorder/")) kept.push_back(row);
    }
    changed["benchmarks"] = kept;
  });
  const testing::outcome done = tool({"compare", golden, part});
  EXPECT_EQ(done.exit_code, 4);
  EXPECT_THAT(done.err,
              mentions("inference/reference/f32/tiny/batch:2", "new", "conv1_src_reorder"));
  const std::string row = "reorder/fwd/reference/f32/tiny/conv1_src_reorder/batch:2/cache:";
  EXPECT_THAT(done.out, mentions("2", row + "hot", row + "model"));
  const testing::outcome form = tool({"compare", part, golden, "--format", "json"});
  EXPECT_EQ(form.exit_code, 4);
  EXPECT_THAT(form.err,
              mentions("inference/reference/f32/tiny/batch:2", "old", "conv1_src_reorder"));
  EXPECT_THAT(json::value::parse(form.out).at("only_new"), SizeIs(2));
}

TEST_F(Compare, FailsWhereNoRowIsOnBothSides) {
  const std::string other = file("other.json", [](json::value& changed) {
    changed["context"].erase("manifest");
    for (json::value& row : changed["benchmarks"]) row["label"] = "key=n:1";
  });
  const testing::outcome done = tool({"compare", golden, other});
  EXPECT_EQ(done.exit_code, 5);
  EXPECT_EQ(done.out, "");
  EXPECT_THAT(done.err, StartsWith("layerbench: "));
}

/// Files of nodes: copies of the example, each with its own noise of 0.2 %, and one slow node.
class CompareNodes : public Compare {
 protected:
  /// The path of a file of node n<index>.
  std::string node(int index, double slowdown = 1) {
    return file(fmt::format("n{}.json", index), [&](json::value& changed) {
      changed["context"]["host_name"] = fmt::format("n{}", index);
      int row_number = 0;
      for (json::value& row : changed["benchmarks"]) {
        const double noise = 1 + 0.001 * ((index * 7 + ++row_number * 13) % 5 - 2);
        row["real_time"] = row.at("real_time").get<double>() * slowdown * noise;
      }
    });
  }
  std::vector<std::string> arguments(int nodes, double slowdown) {
    std::vector<std::string> all{"compare", "--across=node"};
    for (int i = 0; i < nodes; ++i) all.push_back(node(i, i == 3 ? slowdown : 1));
    return all;
  }
};

TEST_F(CompareNodes, NamesTheSlowOne) {
  std::vector<std::string> all = arguments(8, 1.2);
  const testing::outcome done = tool(all);
  EXPECT_EQ(done.exit_code, 0) << done.err;
  EXPECT_THAT(done.out, AllOf(HasSubstr("n3 is"), mentions("slower", "8")));
  all.emplace_back("--fail-on-regression=5");
  const testing::outcome failed = tool(all);
  EXPECT_EQ(failed.exit_code, 4);
  EXPECT_THAT(failed.err, AllOf(StartsWith("layerbench: "), mentions("n3", "slower")));
  all.back() = "--fail-on-regression=30";
  EXPECT_EQ(tool(all).exit_code, 0);
  all.back() = "--format=json";
  const json::value read = json::value::parse(tool(all).out);
  EXPECT_EQ(read.at("across"), "node");
  EXPECT_EQ(read.at("slower"), json::value({"n3"}));
  all.back() = "--format=csv";
  EXPECT_THAT(tool(all).out, StartsWith("kind,node,id,name,ratio,"));
}

TEST_F(CompareNodes, NamesNoneOfEqualOnes) {
  std::vector<std::string> all = arguments(8, 1);
  all.emplace_back("--fail-on-regression");
  const testing::outcome done = tool(all);
  EXPECT_EQ(done.exit_code, 0) << done.err;
  EXPECT_THAT(done.out, HasSubstr("no node is slower or faster"));
}

TEST_F(CompareNodes, TakesListsAndRefusesWhatIsNoSetOfNodes) {
  const std::string list = node(0) + "," + node(1) + "," + node(2);
  EXPECT_EQ(tool({"compare", "--across=node", list, node(3)}).exit_code, 0);
  const testing::outcome few = tool({"compare", "--across=node", node(0), node(1)});
  EXPECT_EQ(few.exit_code, 2);
  EXPECT_THAT(few.err, mentions("--across=node", "n0", "n1"));
  EXPECT_EQ(tool({"compare", "--across=node", "--paired", list, node(3)}).exit_code, 2);
  EXPECT_EQ(tool({"compare", "--across=node", list, node(0)}).exit_code, 2) << "a file twice";
  EXPECT_EQ(tool({"versus", "--across=node", "--", "a", "--", "b"}).exit_code, 2);
}

TEST_F(Compare, RefusesAWrongCommandLine) {
  const std::vector<std::vector<std::string>> wrong{
      {"compare"},
      {"compare", golden},
      {"compare", golden, golden, golden},
      {"compare", golden, golden + ","},
      {"compare", "", golden},
      {"compare", golden, golden + "," + golden, "--paired"},
      {"compare", golden, golden, "--across=time"},
      {"compare", golden, golden, "--margin=nan"},
      {"compare", golden, golden, "--margin=-1"},
      {"compare", golden, golden, "--margin=2%"},
      {"compare", golden, golden, "--fail-on-regression=x"}};
  for (const auto& arguments : wrong) {
    const testing::outcome done = tool(arguments);
    EXPECT_EQ(done.exit_code, 2) << ::testing::PrintToString(arguments) << done.err;
    EXPECT_EQ(done.out, "");
  }
  EXPECT_THAT(tool({"compare", "--help"}).out,
              mentions("layerbench compare", "--across", "--margin", "--fail-on-regression"));
}

TEST_F(Compare, RefusesBadFiles) {
  const testing::outcome absent = tool({"compare", golden, "/nowhere.json"});
  EXPECT_EQ(absent.exit_code, 3);
  EXPECT_THAT(absent.err, HasSubstr("/nowhere.json"));
  const std::string aggregates = file("aggregates.json", [](json::value& changed) {
    for (json::value& row : changed["benchmarks"]) row["run_type"] = "aggregate";
  });
  const testing::outcome done = tool({"compare", aggregates, golden});
  EXPECT_EQ(done.exit_code, 3);
  EXPECT_THAT(done.err, mentions(aggregates, "--benchmark_report_aggregates_only"));
}

TEST_F(Compare, SaysThatAFileIsOfAnotherProgram) {
  const std::string foreign = file("foreign.json", [](json::value& changed) {
    changed["context"] = {{"date", "2026"}};
    changed["benchmarks"] = {{{"name", "BM_other"}, {"real_time", 1.0}}};
  });
  const testing::outcome done = tool({"compare", golden, foreign});
  EXPECT_EQ(done.exit_code, 3);
  EXPECT_THAT(done.err, AllOf(HasSubstr(foreign), HasSubstr("/benchmarks")));
}

}  // namespace tools_compare_test
}  // namespace layerbench
