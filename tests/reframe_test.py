#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 the layerbench authors
# SPDX-License-Identifier: Apache-2.0
"""Tests integrations/reframe: reframe_test.py TOOL [--reframe PROGRAM].

Runs of stored results stand in for the programs. Without ReFrame only what needs none is tested.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent
CHECKS = ROOT / "integrations/reframe"
STORED = ROOT / "results/torch_import/squeezenet1_1.json"
CASE = "step inference/onednn/f32/squeezenet1_1/batch=1"
SLOW_LAYER = "classifier_1"
sys.path.insert(0, str(CHECKS))
import layerbench_verdicts as verdicts  # noqa: E402 pylint: disable=wrong-import-position
parser = argparse.ArgumentParser()
parser.add_argument("tool")
parser.add_argument("--reframe")
chosen = parser.parse_args()


class Folder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()  # pylint: disable=consider-using-with
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def run_of(self, name, factor=1.0, layer="", benchmarks=None, **context):
        """Writes a run in which the layers of that name take `factor` times as long as in the stored one."""
        run = json.loads(STORED.read_text())
        run["context"].update({"host_name": "n0", "machine_check": "fit", **context})
        for row in run["benchmarks"]:
            if f"/{layer}" in row["run_name"]:
                for field in ("real_time", "cpu_time", *(key for key in row if key.endswith("_s"))):
                    row[field] *= factor
        if benchmarks is not None:
            run["benchmarks"] = benchmarks
        file = self.folder / name
        file.write_text(json.dumps(run))
        return str(file)


class Verdicts(Folder):
    def verdict(self, old, new):
        comparison = verdicts.compare([old], new)
        return verdicts.changes(comparison, [old], new), verdicts.variables(comparison, verdicts.read(new), 3)

    def test_equal_runs_of_two_nodes_have_no_bounds(self):
        changes, found = self.verdict(self.run_of("old.json"), self.run_of("new.json", host_name="n1"))
        self.assertEqual(changes, [])
        value, (reference, lower, upper, unit) = found[CASE]
        self.assertEqual((value, lower, upper, unit), (reference, None, None, "ms"))
        self.assertGreater(value, 1)
        self.assertEqual(list(found), [CASE])

    def test_a_slow_layer_is_named_with_its_step(self):
        _, found = self.verdict(self.run_of("old.json"), self.run_of("new.json", 3, SLOW_LAYER))
        for name, (value, (reference, _, upper, _)) in found.items():
            self.assertGreater(value, reference * (1 + upper))
        self.assertEqual(found[CASE][1][2], 0.03)
        self.assertTrue([name for name in found if SLOW_LAYER in name])
        self.assertNotIn(":", "".join(found))
        self.assertEqual(len(verdicts.slower(found)), len(found))

    def test_a_slowdown_that_is_allowed_has_no_bound(self):
        old, new = self.run_of("old.json"), self.run_of("new.json", 1.5)
        found = verdicts.variables(verdicts.compare([old], new), verdicts.read(new), 60)
        self.assertEqual([reference[1:3] for _, reference in found.values()], [(None, None)])

    def test_what_changed_is_named_with_both_values(self):
        changes, _ = self.verdict(self.run_of("old.json"), self.run_of("new.json", onednn_version="9.1.2", threads="5"))
        before = json.loads(STORED.read_text())["context"]["onednn_version"]
        self.assertEqual([line.split(":")[0] for line in changes], ["onednn_version", "threads"])
        self.assertIn(before, changes[0])
        self.assertIn("9.1.2", changes[0])

    def test_rows_of_memory_have_rates(self):
        rows = [row for row in json.loads(STORED.read_text())["benchmarks"] if "/fwd/" in row["run_name"]]
        rows = [row for row in rows if row["run_name"] == rows[0]["run_name"]]

        def peaks(name, factor):
            made = []
            for kind, work in (("stream/fwd/onednn/f32/peak/read_memory", {"bytes": 1e9}),
                               ("stream/fwd/onednn/f32/peak/call", {"bytes": 8}),
                               ("gemm/fwd/onednn/f32/peak/square_512", {"flops": 1e9})):
                for i in range(7):
                    seconds = (1 + i / 1000) * (factor if "memory" in kind else 1)
                    made.append({**rows[0], **work, "name": f"{kind}/batch:1/cache:hot", "repetition_index": i,
                                 "run_name": f"{kind}/batch:1/cache:hot", "real_time": seconds * 1e9,
                                 "mean_s": seconds, "label": f"key={kind};algo=;state="})
                made.append({**made[-1], "run_type": "aggregate", "aggregate_name": "cv", "bytes": 0, "flops": 0})
            return self.run_of(name, benchmarks=made, manifest="{}")
        _, found = self.verdict(peaks("old.json", 1), peaks("new.json", 2))
        units = {name.split("/")[-1]: (reference[3], value < reference[0], reference[1] is not None)
                 for name, (value, reference) in found.items()}
        self.assertEqual(units, {"read_memory": ("GB/s", True, True), "call": ("us", False, False),
                                 "square_512": ("GFLOP/s", False, False)})

    def test_a_run_that_is_no_result_is_refused(self):
        row = json.loads(STORED.read_text())["benchmarks"][0]
        failed = [{**row, "error_occurred": True, "error_message": "no mem"}]
        for file, word in ((self.folder / "none.json", "none.json"), (self.run_of("a.json", interrupted="1"), "a.json"),
                           (self.run_of("b.json", benchmarks=failed), "no mem"), (__file__, "reframe_test")):
            with self.assertRaisesRegex(verdicts.Refused, word):
                verdicts.read(file)

    def test_references_are_of_fit_machines(self):
        verdicts.record(self.run_of("a.json", date="2026-01-02T03:04:05+00:00"), self.folder / "kind")
        verdicts.record(self.run_of("b.json", host_name="n1", machine_check="cores"), self.folder / "kind")
        with self.assertRaisesRegex(verdicts.Refused, "load"):
            verdicts.record(self.run_of("c.json", host_name="n2", machine_check="load steal"), self.folder / "kind")
        hosts = [pathlib.Path(file).parent.name for file in verdicts.references(self.folder / "kind")]
        self.assertEqual(hosts, ["n0", "n1"])

    def test_a_slow_node_is_named_before_it_becomes_a_reference(self):
        for host in range(5):
            run = self.run_of("r.json", 2 if host == 3 else 1 + host / 1000, host_name=f"n{host}")
            verdicts.record(run, self.folder / "here/model")
        self.assertEqual(list(verdicts.nodes(self.folder / "here")), ["model"])
        wrong, = verdicts.compare_nodes(self.folder / "here")
        self.assertRegex(wrong, "model: .*n3")


PROGRAM = """#!/bin/sh
case "$*" in
  *--check-machine*) cat "$LAYERBENCH_FAKE_CHECK" ;;
  *) cp "$LAYERBENCH_FAKE_RUN" result.json ;;
esac
"""


@unittest.skipUnless(chosen.reframe, "tests/CMakeLists.txt names ReFrame where there is one")
class ReFrame(Folder):
    def reframe(self, run, *options, check="fit to measure\n"):
        """What ReFrame reports, and its report in JSON."""
        programs = self.folder / "programs"
        programs.mkdir(exist_ok=True)
        program = programs / "bench_model"
        program.write_text(PROGRAM)
        program.chmod(0o755)
        said = self.folder / "check.txt"
        said.write_text(check)
        path = os.pathsep.join((str(programs), str(pathlib.Path(chosen.tool).parent), os.environ["PATH"]))
        report = self.folder / "report.json"
        done = subprocess.run(
            [chosen.reframe, "-C", CHECKS / "settings.py", "-c", CHECKS / "layerbench_checks.py",
             "--system=workstation", f"--prefix={self.folder}/reframe", f"--report-file={report}",
             "-Sreferences=references", "-n", "layerbench_m", "-P", "layerbench_model.model=squeezenet1_1",
             "-r", *options],
            cwd=self.folder, capture_output=True, text=True, check=False,
            env={**os.environ, "PATH": path, "HOME": str(self.folder), "LAYERBENCH_FAKE_RUN": run,
                 "LAYERBENCH_FAKE_CHECK": str(said)})
        cases = json.loads(report.read_text())["runs"][0]["testcases"]
        return done, {case["name"].split()[0]: case for case in cases}

    def test_healthy_passes_and_slow_or_changed_fails_by_name(self):
        healthy = self.run_of("healthy.json")
        for options in (["-Srecord=yes"], ["--performance-report", "--table-format=csv"]):
            done, cases = self.reframe(healthy, *options)
            self.assertEqual(done.returncode, 0, done.stdout)
            self.assertEqual({case["result"] for case in cases.values()}, {"pass"})
            self.assertEqual(len(cases), 2)
        self.assertRegex(done.stdout, r"(?m)^layerbench_model .*\bms\b")

        slow = self.run_of("slow.json", 3, SLOW_LAYER)
        done, cases = self.reframe(slow, check="BAD   load        a program\n\nnot fit to measure: load\n")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn(SLOW_LAYER, cases["layerbench_model"]["fail_reason"])
        self.assertEqual(cases["layerbench_model"]["fail_phase"], "performance")
        self.assertIn("load", cases["layerbench_machine"]["fail_reason"])

        done, cases = self.reframe(self.run_of("changed.json", onednn_version="9.1.2"))
        self.assertIn("onednn_version", cases["layerbench_model"]["fail_reason"])
        self.assertEqual(cases["layerbench_machine"]["result"], "pass")

    def test_without_references_the_remedy_is_named(self):
        done, cases = self.reframe(self.run_of("r.json"))
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("record=yes", cases["layerbench_model"]["fail_reason"])


if __name__ == "__main__":
    os.environ["PATH"] = os.pathsep.join((str(pathlib.Path(chosen.tool).resolve().parent), os.environ["PATH"]))
    unittest.main(argv=sys.argv[:1])
