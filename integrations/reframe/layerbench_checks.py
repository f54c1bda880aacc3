# SPDX-FileCopyrightText: 2026 the layerbench authors
# SPDX-License-Identifier: Apache-2.0
"""Checks of the nodes of a cluster for ReFrame 4.10 or newer; docs/clusters.md shows how to run them.

They run on partitions with the feature `layerbench`; collectives also need the feature `mpi`. The programs are those
of the PATH. Results of healthy nodes are the references; `layerbench compare` gives the verdicts.
"""
import pathlib
import shlex

import reframe as rfm
import reframe.utility.sanity as sn
import reframe.utility.typecheck as typ
from reframe.core.backends import getlauncher
from reframe.core.builtins import parameter, run_after, run_before, sanity_function, variable
from reframe.core.exceptions import SanityError

import layerbench_verdicts as verdicts  # ReFrame finds modules beside the file


class Check(rfm.RunOnlyRegressionTest):
    """A program of layerbench that has a node for itself."""
    valid_systems = ["+layerbench"]
    valid_prog_environs = ["*"]
    exclusive_access = True
    time_limit = "1h"

    # Options of the program, after those of the partition (`layerbench_options` in its extras).
    options = variable(typ.List[str], value=[])
    # Facts of --check-machine that are bad on all nodes of this kind, such as `cores`.
    accepted = variable(typ.List[str], value=[])
    # Folder of the references, with folders of systems, partitions, kinds of checks and hosts.
    references = variable(str, value="layerbench_references")
    # Whether the results become references. Then nothing is compared.
    record = variable(typ.Bool, value=False)
    # Percent by which a step or row may be slower.
    allowed = variable(float, value=3.0)

    @run_after("init")
    def find_references(self):
        # Checks run in other folders.
        self.references = str(pathlib.Path(self.references).expanduser().absolute())

    @run_before("run")
    def add_options(self):
        if self.local:
            return
        self.executable_opts += [*self.current_partition.extras.get("layerbench_options", []), *self.options]
        if self.num_tasks == 1:
            # srun would give the one task the processors of one task.
            self.job.launcher = getlauncher("local")()

    def folder(self):
        """That of the references of the partition."""
        return pathlib.Path(self.references, *self.current_partition.fullname.split(":"))

    def last_stderr_line(self):
        """The last line that the job wrote to stderr; ReFrame prints more of them."""
        lines = pathlib.Path(str(self.stderr)).read_text(errors="replace").split("\n")
        return next((line for line in reversed(lines) if line.strip()), "")


@rfm.simple_test
class layerbench_machine(Check):
    """Whether the node is fit to measure, by --check-machine."""
    descr = "layerbench: is the node fit?"
    executable = "bench_model"
    executable_opts = ["--check-machine"]

    @sanity_function
    def is_fit(self):
        lines = pathlib.Path(str(self.stdout)).read_text(errors="replace").splitlines()
        if not lines or lines[-1] != "fit to measure" and not lines[-1].startswith("not fit to measure: "):
            raise SanityError(f"bench_model --check-machine failed: {self.last_stderr_line()}")
        facts = [line.split(None, 2)[1:] for line in lines if line.startswith("BAD ")]
        bad = [f"{name}: {what}" for name, what in facts if name not in self.accepted]
        if bad:
            raise SanityError(f"not fit to measure: {'; '.join(bad)}")
        return True


class Compared(Check):
    """A program whose results are compared with the references, or recorded as references."""
    keep_files = ["result.json"]

    @run_before("run")
    def write_result(self):
        self.executable_opts += ["--quiet", "--benchmark_out=result.json"]

    def kind(self):
        """The name of the folder of its references."""
        raise NotImplementedError

    @sanity_function
    def is_as_before(self):
        """Fails by name for what was not measured or differs from the references, but for times."""
        folder = self.folder() / self.kind()
        try:
            self.rows = verdicts.read("result.json")
            if self.record:
                verdicts.record("result.json", folder, self.accepted)
                old = ["result.json"]
            else:
                old = verdicts.references(folder)
                if not old:
                    raise SanityError(f"no references in {folder}: run on healthy nodes with -S record=yes")
            self.comparison = verdicts.compare(old, "result.json")
            changes = verdicts.changes(self.comparison, old, "result.json")
        except verdicts.Refused as error:
            raise SanityError(": ".join(filter(None, (str(error), self.last_stderr_line())))) from None
        lost = [row["name"] for row in self.comparison["only_old"]]
        if lost:
            raise SanityError(f"not measured, but in the references: {', '.join(lost)}")
        if changes:
            found = verdicts.slower(verdicts.variables(self.comparison, self.rows, self.allowed))
            raise SanityError("\n      ".join(["changed since the references:", *changes, *found]))
        return True

    @run_before("performance")
    def add_variables(self):
        found = verdicts.variables(self.comparison, self.rows, self.allowed)
        self.perf_variables = {name: sn.make_performance_function(sn.defer(value), reference[3])
                               for name, (value, reference) in found.items()}
        if not self.record:
            self.reference = {"*": {name: reference for name, (_, reference) in found.items()}}


@rfm.simple_test
class layerbench_peak(Compared):
    """FLOP/s of large products, bytes/s of each level of memory."""
    descr = "layerbench: compute and memory"
    executable = "bench_peak"

    def kind(self):
        return "peak"


@rfm.simple_test
class layerbench_model(Compared):
    """The step of a model, by its layers."""
    descr = "layerbench: models"
    executable = "bench_model"
    # Names of `layerbench list`, or paths of shape files: -P model=bert_base,/home/me/mine.json
    model = parameter(["resnet50", "alexnet"], type=str)

    @run_before("run")
    def add_model(self):
        self.executable_opts += [f"--model={shlex.quote(self.model)}"]

    def kind(self):
        return f"model_{pathlib.Path(self.model).stem}"


@rfm.simple_test
class layerbench_layers(Compared):
    """The layers of one op, of the models that its program has by default."""
    descr = "layerbench: layers"
    op = parameter(["conv", "gemm"], type=str)

    @run_before("run")
    def set_program(self):
        self.executable = f"bench_{self.op}"

    def kind(self):
        return f"layers_{self.op}"


@rfm.simple_test
class layerbench_collectives(Compared):
    """A collective between ranks of the node, by MPI."""
    descr = "layerbench: collectives"
    valid_systems = ["+layerbench +mpi"]
    executable = "bench_allreduce"
    executable_opts = ["--model=sweep", "--benchmark_filter='bytes_(1024|1048576|67108864)/'"]
    collective = parameter(["all_reduce", "all_gather", "all_to_all"], type=str)
    num_tasks = 2

    @run_before("run")
    def add_collective(self):
        self.num_tasks_per_node = self.num_tasks
        self.executable_opts += [f"--collectives={self.collective}"]

    def kind(self):
        return self.collective


@rfm.simple_test
class layerbench_nodes(Check):
    """Whether the nodes of the references are equal, by `layerbench compare --across=node`."""
    descr = "layerbench: are the recorded nodes equal?"
    local = True
    executable = "layerbench"
    executable_opts = ["--version"]

    @run_before("run")
    def needs_four_nodes(self):
        self.skip_if(not verdicts.nodes(self.folder()), f"{self.folder()} has references of fewer than four nodes")

    @sanity_function
    def are_equal(self):
        wrong = verdicts.compare_nodes(self.folder())
        if wrong:
            raise SanityError("; ".join(wrong))
        return True
