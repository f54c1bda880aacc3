# SPDX-FileCopyrightText: 2026 the layerbench authors
# SPDX-License-Identifier: Apache-2.0
"""An example: a workstation without a scheduler, and a cluster with Slurm. Adapt names and hosts."""
site_configuration = {
    "systems": [
        {
            "name": "workstation",
            "descr": "this machine",
            "hostnames": [".*"],
            "partitions": [{
                "name": "node",
                "scheduler": "local",
                "launcher": "mpirun",  # of collectives; other checks start their program without it
                "environs": ["builtin"],
                "max_jobs": 1,         # checks must not disturb one another
                "features": ["layerbench", "mpi"],
            }],
        },
        {
            "name": "cluster",
            "descr": "nodes behind Slurm",
            "hostnames": ["login.*"],
            "partitions": [{
                "name": "batch",
                "scheduler": "squeue",  # slurm, if there is accounting
                "launcher": "srun",
                "access": ["--partition=batch"],
                "environs": ["builtin"],
                "max_jobs": 100,
                "env_vars": [["SLURM_MPI_TYPE", "pmix"]],
                "features": ["layerbench", "mpi"],
                "extras": {"layerbench_options": []},  # of GPUs ["--backend=cudnn"]
            }],
        },
    ],
    "storage": [{"enable": True}],  # results of all runs, in ~/.reframe/reports
}
