// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>

// Who may include whom, for the headers (named from include/layerbench/ on) and for tools/.

namespace layerbench {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

using strings = std::vector<std::string>;

/// Modules whose headers each module may include, besides its own.
const std::map<std::string, std::set<std::string>> below{
    {"base", {}},
    {"shape", {"base"}},
    {"op", {"base", "shape"}},
    {"model", {"base", "shape", "op"}},
    {"result", {"base", "shape", "op", "model"}},
    {"predict", {"base", "shape", "op", "model", "result"}},
    {"report", {"base", "shape", "op", "model", "result", "predict"}},
    {"tools", {"base", "shape", "op", "model", "result", "predict", "report"}},
    {"backend", {"base", "shape", "op"}},
    {"run", {"base", "shape", "op", "backend", "model", "result"}}};

/// What a line may name in the files whose paths begin so.
struct permission {
  std::string what;
  strings where;
};

/// Every header that is neither ours nor the C++ standard library's needs a line here.
const std::vector<permission> other_headers{
    {"benchmark/", {"run/"}},
    {"nlohmann/", {"shape/json.hpp", "result/google_json", "run/reporter.hpp"}},
    {"CLI/", {"run/command_line.hpp", "run/option_values.hpp", "tools/"}},
    {"omp.h", {"backend/onednn/"}},
    {"oneapi/dnnl/", {"backend/onednn/"}},
    {"cuda_runtime_api.h", {"backend/cuda/", "backend/nccl/"}},
    {"nvrtc.h", {"backend/cuda/"}},
    {"cudnn", {"backend/cudnn/"}},
    {"cublas", {"backend/cublas/"}},
    {"nccl.h", {"backend/nccl/"}},
    {"mpi.h", {"backend/mpi/"}},
    {"fmt/", {""}},
    {"sys/", {""}},
    {"fcntl.h", {""}},
    {"dlfcn.h", {"backend/cuda/"}},
    {"spawn.h", {"tools/"}},
    {"time.h", {""}},
    {"unistd.h", {""}}};

/// Every macro that is defined or asked for needs a line here.
const std::vector<permission> macros{{"LAYERBENCH_ONEDNN", {"backend/list.hpp"}},
                                     {"LAYERBENCH_CUDA", {"backend/list.hpp"}},
                                     {"LAYERBENCH_NCCL", {"backend/list.hpp"}},
                                     {"LAYERBENCH_MPI", {"backend/list.hpp"}},
                                     {"LAYERBENCH_SHAPES_DIR", {"model/find.hpp"}},
                                     {"DNNL_VERSION_MAJOR", {"backend/onednn/backend.hpp"}}};

bool permits(const std::vector<permission>& all, const std::string& what, const std::string& file) {
  return std::ranges::any_of(all, [&](const permission& item) {
    return what.starts_with(item.what) && std::ranges::any_of(item.where, [&](const auto& begin) {
             return file.starts_with(begin);
           });
  });
}

/// The groups of all lines of `text` that match.
std::vector<strings> matches(const std::string& text, const std::string& pattern) {
  const std::regex line(pattern, std::regex::ECMAScript | std::regex::multiline);
  std::vector<strings> found;
  for (std::sregex_iterator sregex_iterator(text.begin(), text.end(), line), end;
       sregex_iterator != end; ++sregex_iterator) {
    found.emplace_back(sregex_iterator->begin() + 1, sregex_iterator->end());
  }
  return found;
}

/// Our headers that `text` includes.
strings included(const std::string& text) {
  strings ours;
  for (const strings& matche : matches(text, R"(^\s*#\s*include\s*<layerbench/([^>]+)>)")) {
    ours.push_back(matche[0]);
  }
  return ours;
}

std::string directory(const std::string& file) {
  return std::filesystem::path(file).parent_path().string();
}
std::string module(const std::string& file) { return file.substr(0, file.find('/')); }

/// Whether `file` may include our `header`.
bool may_include(const std::string& file, const std::string& header) {
  const std::string from = module(file);
  const std::string to = module(header);
  if (from != to) return below.contains(from) && below.at(from).contains(to);
  if (from != "backend" || file == "backend/list.hpp") return true;
  // A backend knows itself and what all of them share; those on NVIDIA GPUs share more.
  const std::set<std::string> on_cuda{"backend/cudnn", "backend/cublas", "backend/nccl"};
  return directory(header) == directory(file) ||
         (directory(header) == "backend" && header != "backend/list.hpp") ||
         (directory(header) == "backend/cuda" && on_cuda.contains(directory(file))) ||
         (directory(header) == "backend/cublas" && directory(file) == "backend/cudnn");
}

/// What is wrong with the text of `file`, one text a violation.
strings violations(const std::string& file, const std::string& text) {
  strings found;
  const bool is_header = file.ends_with(".hpp");
  const std::string licence =
      "// SPDX-FileCopyrightText: 2026 the layerbench authors\n"
      "// SPDX-License-Identifier: Apache-2.0\n";
  if (!text.starts_with(licence + (is_header ? "#pragma once\n" : ""))) {
    found.push_back(is_header ? "begins without SPDX lines and #pragma once"
                              : "begins without SPDX lines");
  }
  for (const std::string& word : included(text)) {
    if (!may_include(file, word)) found.push_back("includes layerbench/" + word);
  }
  for (const strings& item : matches(text, R"(^\s*#\s*include\s*([^\s]+))")) {
    const std::string name = item[0].substr(1, item[0].size() - 2);
    const bool quoted = item[0].front() != '<';
    if (quoted && module(file) != "tools") found.push_back("includes in quotes " + name);
    if (quoted || name.starts_with("layerbench/") || name.find('.') == std::string::npos) continue;
    if (!permits(other_headers, name, file)) found.push_back("includes " + name);
  }
  for (const strings& matche : matches(text, R"(^\s*#\s*((?:el)?if|define|undef)(.*))")) {
    const std::vector<strings> names = matches(matche[1], R"(\b([A-Z][A-Z0-9_]+))");
    const bool permitted = !names.empty() && std::ranges::all_of(names, [&](const strings& name) {
      return permits(macros, name[0], file);
    });
    if (!permitted) found.push_back("preprocessor: " + matche[0] + matche[1]);
  }
  return found;
}

using texts = std::map<std::string, std::string>;

/// Files that include each other in a ring, the first one again at its end; empty: no ring.
strings ring(const texts& files) {
  std::set<std::string> finished;
  strings path;
  const std::function<bool(const std::string&)> closes = [&](const std::string& file) {
    const auto begin = std::ranges::find(path, file);
    const bool closed = begin != path.end();
    if (closed) path.erase(path.begin(), begin);
    path.push_back(file);
    if (closed) return true;
    if (!finished.contains(file) && files.contains(file)) {
      if (std::ranges::any_of(included(files.at(file)), closes)) return true;
    }
    finished.insert(file);
    path.pop_back();
    return false;
  };
  for (const auto& [file, text] : files) {
    if (closes(file)) return path;
  }
  return {};
}

std::string read(const std::filesystem::path& file) {
  std::ifstream stream(file);
  return {std::istreambuf_iterator<char>(stream), {}};
}

/// All files that the rules are for.
const texts& library() {
  static const texts all = [] {
    const std::filesystem::path root = LAYERBENCH_SOURCE_DIR;
    texts found;
    for (const auto& [folder, base] : {std::pair{root / "include", root / "include/layerbench"},
                                       std::pair{root / "tools", root}}) {
      for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
        const std::string extension = entry.path().extension().string();
        if (extension != ".hpp" && extension != ".cpp") continue;
        found[entry.path().lexically_relative(base).string()] = read(entry.path());
      }
    }
    return found;
  }();
  return all;
}

TEST(IncludeOrder, FindsEveryModule) {
  std::set<std::string> found;
  for (const auto& [file, text] : library()) found.insert(module(file));
  for (const auto& [name, others] : below) EXPECT_THAT(found, Contains(name));
  EXPECT_EQ(found.size(), below.size()) << ::testing::PrintToString(found);
}

TEST(IncludeOrder, IsRespected) {
  for (const auto& [file, text] : library()) EXPECT_THAT(violations(file, text), IsEmpty()) << file;
}

TEST(IncludeOrder, HasNoRing) { EXPECT_THAT(ring(library()), IsEmpty()); }

// The checks themselves.

std::string header(const std::string& line) {
  return "// SPDX-FileCopyrightText: 2026 the layerbench authors\n"
         "// SPDX-License-Identifier: Apache-2.0\n"
         "#pragma once\n" +
         line + "\n";
}

struct example {
  std::string file;
  std::string line;
};

TEST(IncludeOrderCheck, PassesWhatIsAllowed) {
  const std::vector<example> lawful{
      {"base/a.hpp", "#include <vector>"},
      {"base/a.hpp", "#include <layerbench/base/b.hpp>"},
      {"shape/json.hpp", "#include <nlohmann/json.hpp>"},
      {"report/a.hpp", "#include <layerbench/model/graph.hpp>"},
      {"run/a.hpp", "#include <layerbench/backend/list.hpp>"},
      {"run/a.hpp", "#include <benchmark/benchmark.h>"},
      {"run/a.hpp", "// #include <layerbench/analysis/predict/cases.hpp>"},
      {"backend/list.hpp", "#include <layerbench/backend/b/a.hpp>"},
      {"backend/list.hpp", "#if !LAYERBENCH_ONEDNN"},
      {"backend/a/a.hpp", "#include <layerbench/backend/host.hpp>"},
      {"backend/a/a.hpp", "#include <layerbench/backend/a/b.hpp>"},
      {"backend/cudnn/a.hpp", "#include <layerbench/backend/cuda/a.hpp>"},
      {"backend/cudnn/a.hpp", "#include <cudnn_backend.h>"},
      {"backend/onednn/a.hpp", "#include <oneapi/dnnl/dnnl.hpp>"},
      {"tools/a.hpp", "#include \"commands.hpp\""}};
  for (const auto& [file, line] : lawful) {
    EXPECT_THAT(violations(file, header(line)), IsEmpty()) << file << ": " << line;
  }
}

TEST(IncludeOrderCheck, FindsWhatIsNot) {
  const std::vector<example> wrong{
      {"base/a.hpp", "#include <layerbench/shape/dims.hpp>"},
      {"shape/a.hpp", "#include <layerbench/op/conv.hpp>"},
      {"op/a.hpp", "#  include <layerbench/backend/backend.hpp>"},
      {"model/a.hpp", "#include <layerbench/result/name.hpp>"},
      {"model/a.hpp", "#include <layerbench/session/suite.hpp>"},
      {"result/a.hpp", "#include <layerbench/backend/list.hpp>"},
      {"predict/a.hpp", "#include <layerbench/base/table.hpp>"},
      {"report/a.hpp", "#include <layerbench/cli/main.hpp>"},
      {"run/a.hpp", "#include <layerbench/analysis/predict/cases.hpp>"},
      {"run/a.hpp", "#include <layerbench/base/table.hpp>"},
      {"run/a.hpp", "#include <layerbench/new/table.hpp>"},
      {"new/a.hpp", "#include <layerbench/base/error.hpp>"},
      {"tools/a.hpp", "#include <layerbench/backend/backend.hpp>"},
      {"backend/a.hpp", "#include <layerbench/model/graph.hpp>"},
      {"backend/a/a.hpp", "#include <layerbench/backend/b/a.hpp>"},
      {"backend/a/a.hpp", "#include <layerbench/backend/list.hpp>"},
      {"backend/a/a.hpp", "#include <layerbench/backend/cuda/a.hpp>"},
      {"backend/cuda/a.hpp", "#include <layerbench/backend/cudnn/a.hpp>"},
      {"backend/cuda/a.hpp", "#include <cudnn.h>"},
      {"backend/host.hpp", "#include <layerbench/backend/a/a.hpp>"},
      {"result/a.hpp", "#include <benchmark/benchmark.h>"},
      {"model/a.hpp", "#include <nlohmann/json.hpp>"},
      {"run/main.hpp", "#include <CLI/CLI.hpp>"},
      {"run/clock.hpp", "#include <omp.h>"},
      {"backend/a/a.hpp", "#include <oneapi/dnnl/dnnl.hpp>"},
      {"backend/a/a.hpp", "#include <cuda_runtime.h>"},
      {"base/a.hpp", "#include \"error.hpp\""},
      {"base/a.hpp", "#include PLUGIN"},
      {"run/main.hpp", "#if LAYERBENCH_ONEDNN"},
      {"run/main.hpp", "#  ifdef LAYERBENCH_ONEDNN"},
      {"run/main.hpp", "#elif defined(LAYERBENCH_ONEDNN)"},
      {"backend/list.hpp", "#if LAYERBENCH_ONEDNN && FOO"},
      {"base/a.hpp", "#define CHECK(x) x"}};
  for (const auto& [file, line] : wrong) {
    EXPECT_THAT(violations(file, header(line)), SizeIs(1)) << file << ": " << line;
  }
  const std::string good = header("");
  EXPECT_THAT(violations("base/a.hpp", good.substr(good.find('\n') + 1)), SizeIs(1));
  EXPECT_THAT(violations("base/a.hpp", good.substr(0, good.find("#pragma"))), SizeIs(1));
  EXPECT_THAT(violations("tools/a.cpp", "#include <vector>\n"), ElementsAre(HasSubstr("SPDX")));
}

TEST(IncludeOrderCheck, FindsARing) {
  const auto includes = [](const std::string& name) {
    return header("#include <layerbench/" + name + ">");
  };
  texts files{{"op/a.hpp", includes("op/b.hpp")},
              {"op/b.hpp", includes("op/c.hpp")},
              {"op/c.hpp", includes("op/absent.hpp")}};
  EXPECT_THAT(ring(files), IsEmpty());
  files["op/c.hpp"] = includes("op/b.hpp");
  EXPECT_THAT(ring(files), ElementsAre("op/b.hpp", "op/c.hpp", "op/b.hpp"));
  files["op/c.hpp"] = includes("op/c.hpp");
  EXPECT_THAT(ring(files), ElementsAre("op/c.hpp", "op/c.hpp"));
}

}  // namespace
}  // namespace layerbench
