// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdlib>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <unistd.h>

#include <gmock/gmock.h>

#include <layerbench/cli/launcher.hpp>

#include "support/mentions.hpp"
#include "support/slurm.hpp"

namespace layerbench::run {
namespace cli_launcher_test {

using testing::environment;
using testing::mentions;
using ::testing::ThrowsMessage;

/// Replaces the variables of launchers of this process while it exists.
class variables {
 public:
  explicit variables(const environment& launcher) {
    std::vector<std::string> names;
    for (char** item = environ; *item != nullptr; ++item) {
      const std::string text = *item;
      const std::string name = text.substr(0, text.find('='));
      if (testing::is_of_launcher(name)) names.push_back(name);
    }
    for (const std::string& name : names) {
      before_.emplace_back(name, std::getenv(name.c_str()));
      ::unsetenv(name.c_str());
    }
    for (const auto& [name, value] : launcher) {
      if (std::ranges::find(names, name) == names.end()) before_.emplace_back(name, std::nullopt);
      ::setenv(name.c_str(), value.c_str(), 1);
    }
  }
  variables(const variables&) = delete;
  variables& operator=(const variables&) = delete;
  ~variables() {
    for (const auto& [name, value] : before_) {
      if (value) {
        ::setenv(name.c_str(), value->c_str(), 1);
      } else {
        ::unsetenv(name.c_str());
      }
    }
  }

 private:
  std::vector<std::pair<std::string, std::optional<std::string>>> before_;
};

void expect_launch(const environment& changes, std::int64_t processes, const std::string& launcher,
                   bool offers_connection = true) {
  const variables set(changes);
  const launch found = this_launch();
  EXPECT_EQ(found.processes, processes);
  EXPECT_EQ(launched_processes(), processes);
  EXPECT_EQ(found.launcher, launcher);
  EXPECT_EQ(found.offers_connection, offers_connection);
}

TEST(Launcher, IsMpirun) {
  expect_launch({{"OMPI_COMM_WORLD_SIZE", "4"}}, 4, "mpirun");
  expect_launch({{"PMI_SIZE", "3"}}, 3, "mpirun");
  expect_launch({}, 1, "");
}

TEST(Launcher, IsSrunInAStep) {
  for (const int task : {0, 1}) {
    const environment step = testing::slurm_step(2, task);
    expect_launch(step, 2, "srun", /*offers_connection=*/false);
    expect_launch(testing::with_pmi2(step), 2, "srun");
    expect_launch(testing::with_pmix(step), 2, "srun");
  }
  expect_launch(testing::with_pmix(testing::slurm_step(1)), 1, "srun");
}

TEST(Launcher, IsNoneInAJobOfSlurmOutsideOfSteps) {
  expect_launch(testing::slurm_batch(2), 1, "");
  expect_launch(testing::slurm_allocation(2), 1, "");
}

TEST(Launcher, IsOfOneProcessInAnInteractiveStep) {
  expect_launch(testing::slurm_interactive_step(8), 1, "srun", /*offers_connection=*/false);
}

TEST(Launcher, IsMpirunInAJobOfSlurm) {
  expect_launch(testing::with_mpirun(testing::slurm_batch(2), 2), 2, "mpirun");
  // On the other nodes mpirun's own processes are tasks of a step.
  expect_launch(testing::with_mpirun(testing::slurm_step(2), 1), 1, "mpirun");
  expect_launch(testing::with_mpirun(testing::slurm_step(2), 8), 8, "mpirun");
}

TEST(Launcher, WithoutAConnectionIsRefused) {
  const environment step = testing::slurm_step(2);
  {
    const variables set(step);
    EXPECT_THAT(require_connection,
                ThrowsMessage<usage_error>(mentions("srun", "2", "--mpi=pmix", "mpirun")));
  }
  {
    const variables set(testing::slurm_interactive_step(8));
    EXPECT_THAT(require_connection, ThrowsMessage<usage_error>(mentions("1", "mpirun")));
  }
  {
    const variables set(testing::slurm_batch(2));
    EXPECT_NO_THROW(require_connection());
  }
  const variables set(testing::with_pmix(step));
  EXPECT_NO_THROW(require_connection());
}

TEST(Launcher, WhoseRanksAreAloneIsRefused) {
  {
    const variables set(testing::with_pmi2(testing::slurm_step(2)));
    EXPECT_THAT([] { require_all_ranks(1); },
                ThrowsMessage<usage_error>(mentions("srun", "2", "--mpi=pmix")));
    EXPECT_NO_THROW(require_all_ranks(2));
  }
  {
    const variables set(environment{{"PMI_SIZE", "4"}});
    EXPECT_THAT([] { require_all_ranks(1); }, ThrowsMessage<usage_error>(mentions("mpirun", "4")));
  }
  const variables none({});
  EXPECT_NO_THROW(require_all_ranks(1));
}

TEST(Launcher, OfTheTestsIsNotThatOfPrograms) {
  ::setenv("SLURM_NTASKS", "7", 1);
  {
    const variables none({});
    EXPECT_EQ(std::getenv("SLURM_NTASKS"), nullptr);
    const variables step(testing::slurm_step(2));
    EXPECT_STREQ(std::getenv("SLURM_NTASKS"), "2");
  }
  EXPECT_STREQ(std::getenv("SLURM_NTASKS"), "7");
  EXPECT_THAT(testing::merged_environment({{"SLURM_PROCID", "0"}}),
              ::testing::AllOf(::testing::Contains("SLURM_PROCID=0"),
                               ::testing::Not(::testing::Contains("SLURM_NTASKS=7"))));
  ::unsetenv("SLURM_NTASKS");
}

}  // namespace cli_launcher_test
}  // namespace layerbench::run
