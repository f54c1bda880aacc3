// SPDX-FileCopyrightText: 2026 the layerbench authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "program.hpp"

/// The variables that Slurm 22.05 gives processes, recorded on one node; those of addresses and
/// users are left out. srun(1), sbatch(1) and salloc(1) describe them as output environment
/// variables.
namespace layerbench::testing {

/// What the shell of `salloc --ntasks=N` has.
[[nodiscard]] inline environment slurm_allocation(int tasks) {
  const std::string n = std::to_string(tasks);
  return {{"SLURM_CLUSTER_NAME", "test"}, {"SLURM_JOBID", "5"},
          {"SLURM_JOB_CPUS_PER_NODE", n}, {"SLURM_JOB_ID", "5"},
          {"SLURM_NNODES", "1"},          {"SLURM_JOB_NODELIST", "n1"},
          {"SLURM_JOB_NUM_NODES", "1"},   {"SLURM_NPROCS", n},
          {"SLURM_NODELIST", "n1"},       {"SLURM_NTASKS", n},
          {"SLURM_TASKS_PER_NODE", n}};
}

/// What a script has that `sbatch --ntasks=N` runs.
[[nodiscard]] inline environment slurm_batch(int tasks) {
  environment all = slurm_allocation(tasks);
  all.insert({{"SLURMD_NODENAME", "n1"},
              {"SLURM_GTIDS", "0"},
              {"SLURM_LOCALID", "0"},
              {"SLURM_NODEID", "0"},
              {"SLURM_PROCID", "0"},
              {"SLURM_TASK_PID", "2368"}});
  return all;
}

/// What a task has that `srun --mpi=none --ntasks=N` starts.
[[nodiscard]] inline environment slurm_step(int tasks, int task = 0) {
  environment all = slurm_batch(tasks);
  const std::string n = std::to_string(tasks);
  const environment step{{"SLURM_GTIDS", tasks == 2 ? "0,1" : "0"},
                         {"SLURM_LOCALID", std::to_string(task)},
                         {"SLURM_PROCID", std::to_string(task)},
                         {"SLURM_STEPID", "0"},
                         {"SLURM_STEP_ID", "0"},
                         {"SLURM_STEP_NODELIST", "n1"},
                         {"SLURM_STEP_NUM_NODES", "1"},
                         {"SLURM_STEP_NUM_TASKS", n},
                         {"SLURM_STEP_TASKS_PER_NODE", n}};
  for (const auto& [name, value] : step) all[name] = value;
  return all;
}

/// What the shell of `salloc --ntasks=N` has on the node where clusters let it run there
/// (LaunchParameters=use_interactive_step): a step of one task in a job of N.
[[nodiscard]] inline environment slurm_interactive_step(int tasks) {
  environment all = slurm_step(1);
  all["SLURM_NPROCS"] = all["SLURM_NTASKS"] = std::to_string(tasks);
  all["SLURM_STEPID"] = all["SLURM_STEP_ID"] = "4294967290";
  return all;
}

/// What `srun --mpi=pmi2` adds.
[[nodiscard]] inline environment with_pmi2(environment step) {
  step.insert({{"PMI_FD", "13"},
               {"PMI_JOBID", "2.0"},
               {"PMI_RANK", step.at("SLURM_PROCID")},
               {"PMI_SIZE", step.at("SLURM_STEP_NUM_TASKS")},
               {"SLURM_MPI_TYPE", "pmi2"}});
  return step;
}

/// What `srun --mpi=pmix` adds.
[[nodiscard]] inline environment with_pmix(environment step) {
  step.insert({{"PMIX_NAMESPACE", "slurm.pmix.3.0"},
               {"PMIX_RANK", step.at("SLURM_PROCID")},
               {"PMIX_HOSTNAME", "n1"},
               {"PMIX_VERSION", "4.2.2rc2"},
               {"SLURM_MPI_TYPE", "pmix"},
               {"SLURM_PMIX_MAPPING_SERV", "(vector,(0,1,2))"}});
  return step;
}

/// What mpirun of Open MPI adds for its ranks; it starts one process on each other node by srun.
[[nodiscard]] inline environment with_mpirun(environment job, int ranks) {
  job.insert({{"OMPI_COMM_WORLD_SIZE", std::to_string(ranks)},
              {"PMIX_RANK", "0"},
              {"PMIX_NAMESPACE", "1706688513"}});
  return job;
}

}  // namespace layerbench::testing
