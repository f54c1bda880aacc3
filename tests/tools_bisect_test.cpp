// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <csignal>
#include <filesystem>
#include <map>
#include <string>
#include <thread>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <layerbench/base/file_lock.hpp>

#include "support/mentions.hpp"
#include "support/versus.hpp"

namespace layerbench {
namespace tools_bisect_test {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::mentions;
using ::testing::Not;
using ::testing::SizeIs;
using testing::texts;

/// Builds r0, r1, ... of the fake benchmark program.
class Bisect : public testing::Versus {
 protected:
  /// A build whose `bench` does this; the fake program is $fake.
  void write_build(const std::string& name, const std::string& does) {
    std::filesystem::create_directories(path(name));
    const std::filesystem::path program =
        scratch_.write(name + "/bench", fmt::format("#!/bin/sh\nfake={}\n{}\n", fake_, does));
    std::filesystem::permissions(program, std::filesystem::perms::owner_all);
  }

  /// Builds of which those from `slow` on have a slower convolution. `others` do something else.
  texts builds(std::size_t count, std::size_t slow,
               const std::map<std::size_t, std::string>& others = {}) {
    texts all;
    for (std::size_t i = 0; i < count; ++i) {
      const std::string name = fmt::format("r{}", i);
      const auto other = others.find(i);
      write_build(name, other != others.end()
                            ? other->second
                            : fmt::format(R"(exec "$fake" --slow={} "$@")", i < slow ? 0 : 100));
      all.push_back(path(name));
    }
    return all;
  }

  [[nodiscard]] texts words(const texts& options, const texts& of) const {
    texts all{"bisect", "--rounds=5"};
    all.insert(all.end(), options.begin(), options.end());
    all.emplace_back("--builds");
    all.insert(all.end(), of.begin(), of.end());
    all.insert(all.end(), {"--", "{}/bench"});
    return all;
  }

  [[nodiscard]] testing::outcome bisect(const texts& options, const texts& of) const {
    return testing::run(LAYERBENCH_TOOL, words(options, of), {{"TMPDIR", temporary()}});
  }

  [[nodiscard]] json::value found(texts options, const texts& of) const {
    options.emplace_back("--format=json");
    const testing::outcome done = bisect(options, of);
    EXPECT_EQ(done.exit_code, 0) << done.err;
    return json::value::parse(done.out);
  }

  [[nodiscard]] static texts sides(const json::value& all) {
    texts found;
    for (const json::value& one : all.at("tried")) {
      found.push_back(
          fmt::format("{} {}", one.at("number").get<int>(), one.at("side").get<std::string>()));
    }
    return found;
  }
};

/// Searches among printed numbers, which the variable has.
testing::outcome among(const std::string& numbers, texts options = {}) {
  options.insert(options.begin(),
                 {"bisect", "--rounds=12", "--metric=([0-9.]+) ms", "--env", "V=" + numbers});
  options.insert(options.end(), {"--", "sh", "-c", "echo $V ms"});
  return testing::run(LAYERBENCH_TOOL, options);
}

TEST_F(Bisect, FindsTheSlowReleaseInLogarithmicallyManyComparisons) {
  const json::value all = found({}, builds(8, 5));
  EXPECT_EQ(all.at("answer"), "change");
  EXPECT_EQ(all.at("before"), path("r4"));
  EXPECT_EQ(all.at("after"), path("r5"));
  EXPECT_THAT(sides(all), ElementsAre("7 after", "3 before", "5 after", "4 before"));
  EXPECT_EQ(all.at("confidence"), 1 - 4 * 0.005);
  const json::value& after = all.at("tried")[2];
  EXPECT_THAT(after.at("followed").at("name"), HasSubstr("tiny"));
  EXPECT_GT(after.at("followed").at("low"), 1.02);
  ASSERT_THAT(after.at("rows"), SizeIs(1));
  EXPECT_THAT(after.at("rows")[0].at("name"), HasSubstr("conv1"));
  EXPECT_NEAR(after.at("rows")[0].at("ratio"), 1.1, 0.01);
}

TEST_F(Bisect, NamesNoneOfEqualReleases) {
  const json::value all = found({}, builds(8, 8));
  EXPECT_EQ(all.at("answer"), "none");
  EXPECT_TRUE(all.at("confidence").is_null());
  EXPECT_THAT(sides(all), ElementsAre("7 before"));
  EXPECT_GT(all.at("detectable"), 0);
  EXPECT_LT(all.at("detectable"), 0.1);
  const testing::outcome page = bisect({}, builds(2, 2));
  EXPECT_THAT(page.out, mentions("no change found", "r1", "%"));
}

TEST_F(Bisect, SkipsWhatFailsAndSaysWhy) {
  const texts of = builds(8, 4,
                          {{3, "echo 'libfake.so: not found' >&2; exit 1"},
                           {7, "echo 'wrong results: y differs' >&2; exit 3"}});
  const json::value all = found({}, of);
  EXPECT_EQ(all.at("answer"), "gap");
  EXPECT_EQ(all.at("before"), path("r2"));
  EXPECT_EQ(all.at("after"), path("r4"));
  EXPECT_THAT(sides(all), ElementsAre("7 skipped", "6 after", "3 skipped", "2 before", "4 after"));
  EXPECT_THAT(all.at("tried")[0].at("reason"), HasSubstr("wrong results"));
  EXPECT_THAT(all.at("tried")[2].at("reason"), HasSubstr("libfake"));
  const testing::outcome page = bisect({}, of);
  EXPECT_THAT(page.out, mentions("slower since", "one of", "exit code 1", "wrong results"));
}

TEST_F(Bisect, ReleaseThatLacksARowIsNotCompared) {
  const json::value all =
      found({}, builds(4, 2,
                       {{3,
                         "\"$fake\" \"$@\"; for w; do f=${w#--benchmark_out=}; "
                         "[ -f \"$f\" ] && sed -i s/k:2/k:9/g \"$f\"; done; true"}}));
  EXPECT_EQ(all.at("tried")[0].at("side"), "skipped");
  EXPECT_EQ(all.at("answer"), "change");
  EXPECT_EQ(all.at("after"), path("r2"));
}

TEST_F(Bisect, FirstReleaseThatFailsIsSkipped) {
  const json::value all = found({}, builds(4, 2, {{0, "exit 1"}}));
  EXPECT_THAT(sides(all), ElementsAre("0 skipped", "3 after", "2 after"));
  EXPECT_EQ(all.at("before"), path("r1"));
  const testing::outcome none = bisect({}, builds(3, 3, {{0, "exit 1"}, {2, "exit 3"}}));
  EXPECT_EQ(none.exit_code, 4);
  EXPECT_THAT(none.err, mentions("fewer than two"));
}

TEST_F(Bisect, WrongCommandEndsTheSearch) {
  const testing::outcome alike = bisect({}, builds(4, 4, {{0, "exit 3"}, {1, "exit 3"}}));
  EXPECT_EQ(alike.exit_code, 3);
  EXPECT_THAT(alike.err, mentions("r0", "r1", "exit code 3"));
  texts missing = words({}, builds(4, 4));
  missing.back() = "{}/bnech";
  EXPECT_EQ(testing::run(LAYERBENCH_TOOL, missing).exit_code, 2);
  const testing::outcome none =
      testing::run(LAYERBENCH_TOOL, {"bisect", "--env", "A=1,2,3", "--", "no-such-program", "{}"});
  EXPECT_EQ(none.exit_code, 2);
  EXPECT_THAT(none.err, mentions("no-such-program"));
  EXPECT_THAT(none.err, Not(HasSubstr("skipped")));
}

TEST_F(Bisect, SaysTheVerdictWithoutAChange) {
  const testing::outcome faster = among("1.3,1.3,1.0");
  EXPECT_THAT(faster.out, mentions("not slower, but faster", "--faster", "| faster |"));
  EXPECT_THAT(faster.out, Not(HasSubstr("no change")));
  EXPECT_THAT(among("1,1,1").out, mentions("no change found", "| same "));
}

TEST_F(Bisect, WarnsOfSeveralChanges) {
  const testing::outcome several = among("1,1.1,1.2,1.3,1.4,1.5,1.6");
  EXPECT_THAT(several.out, mentions("slower since 1.3", "1.2 before it: 1.200", "several changes"));
  EXPECT_THAT(among("1,1,1.3").out, Not(HasSubstr("several")));
  EXPECT_THAT(among("1,1.3").out, mentions("1 comparison,"));
}

TEST_F(Bisect, ComparesEachReleaseWithTheOneBeforeIt) {
  const texts of = builds(6, 4, {{0, "exit 1"}, {2, "exit 3"}});
  const json::value all = found({"--all-releases"}, of);
  EXPECT_EQ(all.at("answer"), "all");
  EXPECT_EQ(all.at("direction"), "all");
  EXPECT_TRUE(all.at("after").is_null());
  EXPECT_THAT(sides(all), ElementsAre("0 skipped", "2 skipped", "3 before", "4 after", "5 before"));
  const json::value& tried = all.at("tried");
  EXPECT_EQ(tried[2].at("base"), path("r1"));
  EXPECT_EQ(tried[3].at("base"), path("r3"));
  EXPECT_EQ(tried[4].at("base"), path("r4"));
  ASSERT_GT(tried[2].at("rows").size(), 1U) << "unchanged rows, too";
  const testing::outcome page = bisect({"--all-releases"}, of);
  EXPECT_THAT(page.out, mentions("skipped: exit code 3", "| slower ", "| same ", "conv1"));
  EXPECT_EQ(bisect({"--all-releases", "--faster"}, of).exit_code, 2);
}

TEST_F(Bisect, AllReleasesGoOnFromTheirFile) {
  const std::string file = path("all.json");
  const testing::outcome first = among("1,1.3,1.3,1", {"--all-releases", "--resume", file});
  ASSERT_EQ(first.exit_code, 0) << first.err;
  EXPECT_THAT(first.out, mentions("1.300", "slower", "same", "0.769", "faster"));
  EXPECT_EQ(among("1,1.3,1.3,1", {"--all-releases", "--resume", file}).out, first.out);
  EXPECT_EQ(among("1,1.3,1.3,1", {"--resume", file}).exit_code, 2);
}

TEST_F(Bisect, FindsFasterReleasesIfAsked) {
  const texts of = builds(4, 2);
  const texts turned(of.rbegin(), of.rend());
  EXPECT_EQ(found({}, turned).at("answer"), "none");
  for (const char* direction : {"--faster", "--either"}) {
    EXPECT_EQ(found({direction}, turned).at("after"), path("r1"));
  }
}

TEST_F(Bisect, TakesValuesOfAVariable) {
  const testing::outcome done =
      testing::run(LAYERBENCH_TOOL,
                   {"bisect", "--rounds=5", "--format=json", "--env", "SLOW=0,0,100", "--", "sh",
                    "-c", fake_ + " --slow=$SLOW --benchmark_out={out}; [ '{}' = '{''}' ]"});
  EXPECT_EQ(done.exit_code, 0) << done.err;
  const json::value all = json::value::parse(done.out);
  EXPECT_EQ(all.at("after"), "100");
  EXPECT_EQ(all.at("releases"), json::value({"0", "0", "100"}));
}

TEST_F(Bisect, SaysThatAVariableChangedNothing) {
  const testing::outcome done =
      testing::run(LAYERBENCH_TOOL, {"bisect", "--rounds=5", "--env", "NOTHING=1,2", "--", "sh",
                                     "-c", fake_ + " --benchmark_out={out}"});
  EXPECT_EQ(done.exit_code, 0) << done.err;
  EXPECT_THAT(done.err, HasSubstr("NOTHING=2 changed nothing"));
}

TEST_F(Bisect, GoesOnFromItsFile) {
  const texts of = builds(4, 2);
  const json::value all = found({"--resume", path("state.json")}, of);
  const std::size_t processes = log().size();
  EXPECT_EQ(found({"--resume", path("state.json")}, of), all);
  EXPECT_THAT(log(), SizeIs(processes));
  EXPECT_EQ(bisect({"--resume", path("state.json")}, builds(3, 2)).exit_code, 2);
  EXPECT_EQ(bisect({"--resume", path("state.json"), "--margin=3"}, builds(4, 2)).exit_code, 2);
  EXPECT_EQ(bisect({"--resume", path("none/state.json")}, builds(4, 2)).exit_code, 2);
  EXPECT_THAT(log(), SizeIs(processes));
  const std::string file = path("of_env.json");
  EXPECT_EQ(among("1,1.3", {"--resume", file}).exit_code, 0);
  EXPECT_EQ(among("1,1.3", {"--resume", file}).exit_code, 0);
  const testing::outcome other =
      testing::run(LAYERBENCH_TOOL, {"bisect", "--rounds=12", "--metric=([0-9.]+) ms", "--env",
                                     "W=1,1.3", "--resume", file, "--", "sh", "-c", "echo $V ms"});
  EXPECT_EQ(other.exit_code, 2);
}

TEST_F(Bisect, DamagedFileIsNotResumed) {
  const std::string file = path("damaged.json");
  const texts options{"--resume", file};
  ASSERT_EQ(among("1,1,1.3,1.3", options).exit_code, 0);
  const json::value whole = json::parse_file(file);
  std::map<std::string, json::value> damage;
  damage["/tried/0"] = whole.at("tried")[1];
  damage["/tried/0/number"] = 99;
  damage["/tried/1/number"] = -1;
  damage["/tried/1/side"] = "beside";
  damage["/tried/1/followed/ratio"] = -1;
  damage["/tried/1/followed/verdict"] = "slow";
  damage["/tried/1/rows"] = "none";
  for (const auto& [place, value] : damage) {
    json::value damaged = whole;
    damaged[json::value::json_pointer(place)] = value;
    static_cast<void>(scratch_.write("damaged.json", damaged.dump()));
    const testing::outcome done = among("1,1,1.3,1.3", options);
    EXPECT_EQ(done.exit_code, 3) << place << done.err;
    EXPECT_THAT(done.err, HasSubstr(file + ": at " + place.substr(0, 8)));
  }
}

TEST_F(Bisect, InterruptedSearchKeepsItsComparisons) {
  const texts of = builds(4, 2, {{1, R"(exec "$fake" --hang=2 "$@")"}});
  testing::child running(LAYERBENCH_TOOL, words({"--format=json", "--resume", path("s.json")}, of),
                         {{"TMPDIR", temporary()}});
  for (int i = 0; i < 6000 && !std::filesystem::exists(path("hangs")); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  running.signal(SIGINT);
  const testing::outcome done = running.wait();
  EXPECT_EQ(done.exit_code, 130);
  const json::value all = json::value::parse(done.out);
  EXPECT_EQ(all.at("answer"), "unfinished");
  EXPECT_THAT(sides(all), ElementsAre("3 after"));
  EXPECT_THAT(files("tmp"), IsEmpty());
  static_cast<void>(builds(4, 2));
  EXPECT_EQ(found({"--resume", path("s.json")}, of).at("after"), path("r2"));
}

TEST_F(Bisect, GoesOnWhenItIsStoppedAndContinued) {
  const texts of = builds(2, 2, {{1, R"(sleep 0.2; exec "$fake" "$@")"}});
  testing::child running(LAYERBENCH_TOOL, words({"--format=json"}, of), {{"TMPDIR", temporary()}});
  for (std::size_t round = 1; round <= 2; ++round) {
    for (int i = 0; i < 6000 && log().size() < round; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    running.signal(SIGSTOP);
    running.signal(SIGCONT);
  }
  const testing::outcome done = running.wait();
  EXPECT_EQ(done.exit_code, 0) << done.err;
  EXPECT_EQ(json::value::parse(done.out).at("answer"), "none");
}

TEST_F(Bisect, StopsWhenItsTimeIsOver) {
  const texts of = builds(4, 2, {{3, "sleep 2; exec \"$fake\" \"$@\""}});
  const testing::outcome done = bisect({"--max-time=1"}, of);
  EXPECT_EQ(done.exit_code, 4);
  EXPECT_THAT(done.err, mentions("--max-time"));
}

/// A Python whose environments have a pip that knows five versions of a package.
class BisectPackage : public Bisect {
 protected:
  /// Its pip fails for a version if there is a file `fails<version>`, and is slow with a file
  /// `slow`.
  BisectPackage() {
    std::string script = R"(#!/bin/sh
[ "$1" = --version ] && { echo "Python `cat VERSION`"; exit; }
for place; do :; done
mkdir -p "$place/bin"
cat > "$place/bin/pip" <<'END'
#!/bin/sh
echo "$@" >> LOG
if [ "$1" = index ]; then
  echo 'fake (1.10.0)'
  echo 'Available versions: 1.10.0, 1.9.1, 1.9.0, 1.2, 1.1, 0.9'
  exit
fi
version=${3#fake==}
[ "$version" = 1.2 ] && { echo 'no wheel for this Python' >&2; exit 1; }
[ -e FAILS$version ] && { echo 'no network'; exit 1; }
[ -e SLOW ] && sleep 2
slow=0
[ "${version#1.1}" = "$version" ] || slow=100
[ "$version" = 1.1 ] && slow=0
printf '#!/bin/sh\nexec FAKE --slow=%s "$@"\n' $slow > "${0%/*}/bench"
chmod +x "${0%/*}/bench"
END
chmod +x "$place/bin/pip"
)";
    for (const auto& [mark, file] : std::map<std::string, std::string>{{"LOG", path("pip.log")},
                                                                       {"VERSION", path("version")},
                                                                       {"FAILS", path("fails")},
                                                                       {"SLOW", path("slow")},
                                                                       {"FAKE", fake_}}) {
      script.replace(script.find(mark), mark.size(), file);
    }
    write_python(script);
  }

  void write_python(const std::string& script) {
    std::filesystem::create_directories(path("bin"));
    std::filesystem::permissions(scratch_.write("bin/python3", script),
                                 std::filesystem::perms::owner_all);
  }

  [[nodiscard]] testing::outcome run(const texts& options) const {
    texts all{"bisect", "--rounds=5", "--format=json", "--package=fake"};
    all.insert(all.end(), options.begin(), options.end());
    all.insert(all.end(), {"--install-dir", path("installed"), "--", "bench"});
    return testing::run(LAYERBENCH_TOOL, all,
                        {{"TMPDIR", temporary()}, {"PATH", path("bin") + ":/usr/bin:/bin"}});
  }

  [[nodiscard]] json::value found(texts options) const {
    options.emplace_back("--versions=1.1..1.10");
    const testing::outcome done = run(options);
    EXPECT_EQ(done.exit_code, 0) << done.err;
    return json::value::parse(done.out);
  }

  [[nodiscard]] std::size_t installs() const {
    const std::string text = json::read_text(path("pip.log"));
    std::size_t count = 0;
    for (std::size_t at = 0; (at = text.find("install ", at)) != std::string::npos; ++at) ++count;
    return count;
  }
};

TEST_F(BisectPackage, InstallsReleasesOnce) {
  const json::value all = found({"--with=other==2"});
  EXPECT_EQ(all.at("releases"), json::value({"1.1", "1.2", "1.9.0", "1.9.1", "1.10.0"}));
  EXPECT_EQ(all.at("before"), "1.9.1");
  EXPECT_EQ(all.at("after"), "1.10.0");
  const std::string log = json::read_text(path("pip.log"));
  EXPECT_THAT(log, HasSubstr("install --quiet fake==1.10.0 other==2"));
  EXPECT_THAT(log, Not(HasSubstr("0.9")));
  const std::size_t first = installs();
  EXPECT_EQ(found({"--with=other==2"}).at("after"), "1.10.0");
  EXPECT_EQ(installs(), first);
  static_cast<void>(scratch_.write("version", "3.12.1"));
  EXPECT_EQ(found({"--with=other==2"}).at("after"), "1.10.0");
  EXPECT_EQ(installs(), 2 * first);
}

TEST_F(BisectPackage, TakesManyPackagesAndNamesAnUnfitDirectory) {
  texts options;
  for (int i = 0; i < 30; ++i) options.push_back(fmt::format("--with=long-name-{}==1.0.0", i));
  EXPECT_EQ(found(options).at("after"), "1.10.0");
  std::filesystem::remove_all(path("installed"));
  static_cast<void>(scratch_.write("installed", "a file"));
  const testing::outcome done = run({"--versions=1.1,1.9.0"});
  EXPECT_EQ(done.exit_code, 2);
  EXPECT_THAT(done.err, mentions("--install-dir"));
}

TEST_F(BisectPackage, LeavesADirectoryAloneThatAnotherOneUses) {
  static_cast<void>(run({"--versions=1.1,1.9.0"}));
  const std::size_t first = installs();
  const file_lock other(path("installed/environments"));
  const testing::outcome done = run({"--versions=1.1,1.10.0"});
  EXPECT_EQ(done.exit_code, 2);
  EXPECT_THAT(done.err, mentions("--install-dir"));
  EXPECT_EQ(installs(), first);
}

TEST_F(BisectPackage, TriesAgainToInstallWhenItIsResumed) {
  const texts options{"--resume", path("s.json")};
  static_cast<void>(scratch_.write("fails1.9.1", ""));
  const json::value gap = found(options);
  EXPECT_EQ(gap.at("answer"), "gap");
  EXPECT_THAT(sides(gap), ElementsAre("4 after", "2 before", "3 skipped"));
  EXPECT_THAT(gap.at("tried")[2].at("reason"), HasSubstr("no network"));
  const std::size_t processes = log().size();
  EXPECT_EQ(found(options).at("answer"), "gap");
  EXPECT_THAT(log(), SizeIs(processes));
  std::filesystem::remove(path("fails1.9.1"));
  EXPECT_EQ(found(options).at("before"), "1.9.1");
  // Comparisons depend on which release is the last one.
  static_cast<void>(scratch_.write("fails1.10.0", ""));
  const texts others{"--with=other", "--resume", path("others.json")};
  const json::value none = found(others);
  EXPECT_THAT(sides(none), ElementsAre("4 skipped", "3 before"));
  std::filesystem::remove(path("fails1.10.0"));
  EXPECT_EQ(found(others), none);
}

TEST_F(BisectPackage, InstallationCountsAsTime) {
  static_cast<void>(scratch_.write("slow", ""));
  const testing::outcome done = run({"--max-time=1", "--versions=1.1,1.9.0"});
  EXPECT_EQ(done.exit_code, 4);
  EXPECT_THAT(done.err, mentions("--max-time"));
  EXPECT_LE(installs(), 1U) << "a busy machine may not come to the first";
  EXPECT_THAT(log(), IsEmpty());
}

TEST_F(BisectPackage, PythonWithoutEnvironmentsEndsTheSearch) {
  write_python("#!/bin/sh\n[ $1 = --version ] || { echo 'ensurepip is not available'; exit 1; }\n");
  for (const char* versions : {"--versions=1.1..1.10", "--versions=1.1,1.9.0"}) {
    const testing::outcome done = run({versions});
    EXPECT_EQ(done.exit_code, 1);
    EXPECT_THAT(done.err, HasSubstr("ensurepip is not available"));
    EXPECT_THAT(done.err, Not(HasSubstr("skipped")));
  }
}

TEST_F(Bisect, RefusesAWrongCommandLineBeforeAnythingRuns) {
  const std::vector<std::pair<texts, std::string>> wrong{
      {{"--builds", "a", "b"}, "--"},
      {{"--", "bench"}, "--builds"},
      {{"--builds", "a", "b", "--", "bench"}, "{}"},
      {{"--builds", "a", "--", "{}/bench"}, "two releases"},
      {{"--builds", "a", "b", "--env", "A=1,2", "--", "{}/bench"}, "--env"},
      {{"--env", "=1,2", "--", "bench"}, "NAME"},
      {{"--package", "a", "--", "bench"}, "--versions"},
      {{"--package", "a", "--versions=1.14..", "--", "bench"}, "1.14.."},
      {{"--versions=1..2", "--", "bench"}, "--package"},
      {{"--env", "A=1,2", "--with=b", "--", "bench"}, "--package"},
      {{"--env", "A=1,2", "--install-dir=b", "--", "bench"}, "--package"},
      {{"--env", "A=1,2", "--", "B=1", "A=2", "bench"}, "A=2"},
      {{"--env", "A=1,2,", "--", "bench"}, "A=1,2,"},
      {{"--env", "A=1,2", "--rounds=2", "--", "bench"}, "--rounds"},
      {{"--builds", "a", "b", "--max-time=x", "--", "{}/bench"}, "--max-time"},
      {{"--builds", "a", "b", "--", "{}/bench", "--benchmark_out=x"},
       "the command: without --benchmark_out"}};
  for (const auto& [words, named] : wrong) {
    texts all{"bisect"};
    all.insert(all.end(), words.begin(), words.end());
    const testing::outcome done = testing::run(LAYERBENCH_TOOL, all);
    EXPECT_EQ(done.exit_code, 2) << ::testing::PrintToString(words) << done.err;
    EXPECT_THAT(done.err, mentions(named));
    EXPECT_THAT(done.err, Not(HasSubstr("versus")));
  }
}

}  // namespace tools_bisect_test
}  // namespace layerbench
