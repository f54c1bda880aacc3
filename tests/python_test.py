#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 the layerbench authors
# SPDX-License-Identifier: Apache-2.0
"""Tests the Python module and its notebook on the programs of a build: python_test.py TOOL BENCH_DIR.

Needs pandas and matplotlib; mypy checks the types of the module where it is installed, which
tools/setup.sh --dev does.
"""
import contextlib
import importlib.util
import io
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest
import unittest.mock

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "python"))
os.environ["MPLBACKEND"] = "agg"
import pandas  # noqa: E402 pylint: disable=wrong-import-position
import layerbench  # noqa: E402 pylint: disable=wrong-import-position
from layerbench import programs  # noqa: E402 pylint: disable=wrong-import-position

STORED = ROOT / "results/quickstart_2cpu_zen4.json"
QUICK = {"threads": 1, "cache": ["model", "hot"], "max_time": 0, "benchmark_repetitions": 2,
         "benchmark_min_time": 0.001}


class Measure(unittest.TestCase):
    def test_measures_predicts_and_reads(self):
        results = layerbench.measure("lenet5", batch=[1, 2], chain=True, progress=False, **QUICK)
        steps = layerbench.predict(results)
        self.assertEqual([one["batch"] for one in steps], [1, 2])
        self.assertGreater(steps[0]["seconds_per_step"], 0)
        self.assertIn(steps[0]["case"], results._repr_html_())
        self.assertEqual(set(steps.layers()["case"]), {one["case"] for one in steps})
        rows = layerbench.read(results)
        self.assertEqual(set(rows["cache"].dropna()), {"model", "hot"})
        self.assertEqual(len(rows[rows["op"] == "chain"]), 2 * 2)

    def test_writes_the_file_that_is_asked_for(self):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder, "r.json")
            results = layerbench.measure("lenet5", out=file, program="bench_conv", progress=False, **QUICK)
            self.assertEqual(results.files, [str(file)])
            self.assertIn("benchmarks", json.loads(file.read_text()))

    def test_an_error_has_no_results_of_an_earlier_run(self):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder, "r.json")
            file.write_text(STORED.read_text())
            with self.assertRaises(layerbench.Error) as caught:
                layerbench.measure("no_such_model", out=file, progress=False)
            self.assertIsNone(caught.exception.results)

    def test_lists_of_any_kind_are_one_option(self):
        # pylint: disable=protected-access
        for batch in ([1, 2], (1, 2), range(1, 3), pandas.Series([1, 2]), pandas.Series([1, 2]).to_numpy()):
            self.assertEqual(layerbench._words({"batch": batch}), ["--batch=1,2"])
        self.assertEqual(layerbench._words({"model": pathlib.Path("net.json")}), ["--model=net.json"])

    def test_shows_what_the_program_says(self):
        said = io.StringIO()
        with contextlib.redirect_stderr(said), self.assertRaises(layerbench.Error):
            layerbench.measure("no_such_model")
        self.assertIn("no_such_model", said.getvalue())

    def test_errors_have_the_exit_code_and_its_meaning(self):
        for model, options, code, meaning in (
                ("no_such_model", {}, 5, "nothing matched"),
                ("lenet5", {"no_such_option": 1}, 2, "wrong option or argument"),
                ("lenet5", {"backend": "no_such_backend"}, 2, "wrong option or argument")):
            with self.assertRaises(layerbench.Error) as caught:
                layerbench.measure(model, progress=False, **options)
            self.assertEqual((caught.exception.code, caught.exception.meaning), (code, meaning))
            self.assertIsNone(caught.exception.results)
            self.assertRegex(str(caught.exception), "no.such")

    def test_an_error_keeps_what_was_measured(self):
        with self.assertRaises(layerbench.Error) as caught:
            layerbench.measure("lenet5", dtype="f64", progress=False, **QUICK)
        self.assertEqual(caught.exception.code, 4)
        self.assertTrue(layerbench.read(caught.exception.results)["error"].notna().any())

    def test_an_interrupt_ends_the_program_and_keeps_its_file(self):
        script = ("import layerbench, sys\n"
                  "layerbench.measure('lenet5', out=sys.argv[1], max_time=300, benchmark_repetitions=10**6)\n")
        for send in (os.killpg, os.kill):  # a terminal signals all processes
            with self.subTest(send), tempfile.TemporaryDirectory() as folder:
                file = pathlib.Path(folder, "r.json")
                with subprocess.Popen([sys.executable, "-c", script, file], stderr=subprocess.PIPE, text=True,
                                      env={**os.environ, "PYTHONPATH": str(ROOT / "python")},
                                      start_new_session=True) as child:
                    while not file.exists() and child.poll() is None:
                        time.sleep(0.1)
                    send(child.pid, signal.SIGINT)
                    self.assertIn("KeyboardInterrupt", child.communicate()[1])
                self.assertEqual(json.loads(file.read_text())["context"]["interrupted"], "1")


class Files(unittest.TestCase):
    def test_a_frame_has_the_rows_of_the_file(self):
        stored = [row for row in json.loads(STORED.read_text())["benchmarks"] if row["run_type"] == "iteration"]
        rows = layerbench.read(STORED)
        self.assertEqual(len(rows), len(stored))
        for field in ("mean_s", "low_s", "flops", "bytes", "disturbed"):
            self.assertEqual(rows[field].dropna().tolist(), [row[field] for row in stored if field in row])
        first = rows.iloc[0]
        self.assertEqual(first["name"], stored[0]["run_name"])
        self.assertEqual((first["op"], first["pass"], first["model"], first["layer"], first["batch"], first["cache"]),
                         ("conv", "fwd", "resnet50", "conv1", 1, "model"))
        self.assertAlmostEqual(first["seconds"], stored[0]["real_time"] * 1e-9)
        self.assertEqual(first["algo"], "jit:avx512_core")
        chain = rows[rows["op"] == "chain"].iloc[0]
        self.assertEqual((chain["pass"], chain["model"]), ("inference", "resnet50"))
        self.assertTrue(pandas.isna(chain["layer"]))

    def test_what_is_not_installed_is_named(self):
        for module, use in (("pandas", layerbench.read), ("matplotlib.pyplot", layerbench.plot)):
            with unittest.mock.patch.dict(sys.modules, {module: None}):
                with self.assertRaisesRegex(ImportError, module.partition(".")[0] + ".*notebook"):
                    use(STORED)

    def test_a_frame_has_units_parameters_and_errors(self):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder, "r.json")
            name = "conv/fwd/onednn/f32/m/a/batch:2/cache:hot/layout:any/threads:4"
            file.write_text(json.dumps({"benchmarks": [
                {"run_name": name, "real_time": 2, "cpu_time": 3, "time_unit": "ms", "repetition_index": 1},
                {"run_name": name, "real_time": 0, "cpu_time": 0, "error_occurred": True, "error_message": "no"}]}))
            good, bad = (row for _, row in layerbench.read([file]).iterrows())
            self.assertEqual((good["seconds"], good["cpu_seconds"], good["round"]), (0.002, 0.003, 1))
            self.assertEqual((good["batch"], good["parameters"]), (2, "layout:any/threads:4"))
            self.assertEqual(bad["error"], "no")
            self.assertNotEqual(bad["seconds"], bad["seconds"])

    def test_compares(self):
        same = layerbench.compare(STORED, STORED)
        self.assertFalse(same.regressed)
        self.assertEqual({layer["ratio"] for layer in same["layers"]}, {1.0})
        self.assertIn("resnet50", same._repr_html_())

    def slower(self, *words):
        """A copy of the stored file in which rows with one of the words in their names take 3 times as long."""
        slow = json.loads(STORED.read_text())
        for row in slow["benchmarks"]:
            for field in ("real_time", "mean_s", "min_s", "low_s", "high_s", "p95_s"):
                if field in row and any(word in row["run_name"] for word in words):
                    row[field] *= 3
        return self.written(slow)

    def written(self, results):
        folder = tempfile.TemporaryDirectory()  # pylint: disable=consider-using-with
        self.addCleanup(folder.cleanup)
        file = pathlib.Path(folder.name, "changed.json")
        file.write_text(json.dumps(results))
        return file

    def test_a_regression_is_no_exception_unless_asked_for(self):
        slow = self.slower("")
        self.assertTrue(layerbench.compare(STORED, slow).regressed)
        with self.assertRaises(layerbench.Error) as caught:
            layerbench.compare(STORED, slow, fail_on_regression=True)
        self.assertEqual(caught.exception.code, 4)

    def test_models_regress_and_without_models_layers(self):
        # A layer so small that its model stays inside the margin.
        compared = layerbench.compare(STORED, self.slower("/resnet50/layer4_0_relu2/"))
        self.assertIn("slower", {layer["verdict"] for layer in compared["layers"]})
        self.assertFalse(compared.regressed)
        compared["models"] = []
        self.assertTrue(compared.regressed)

    def test_a_model_without_all_its_layers_is_an_error(self):
        results = json.loads(STORED.read_text())
        results["benchmarks"] = [row for row in results["benchmarks"] if "/resnet50/layer" not in row["run_name"]]
        partial = self.written(results)
        for files in ((STORED, partial), (partial, STORED)):
            with self.assertRaises(layerbench.Error) as caught:
                layerbench.compare(*files)
            self.assertEqual(caught.exception.code, 4)
            self.assertIn("layer1_0_conv1", str(caught.exception))

    def test_a_comparison_names_what_only_one_side_has(self):
        results = json.loads(STORED.read_text())
        few, fewer = ([row for row in results["benchmarks"] if re.search(f"/resnet50/{layers}/", row["run_name"])]
                      for layers in ("(conv1|bn1)", "conv1"))
        old, new = (self.written({**results, "benchmarks": part}) for part in (few, fewer))
        compared = layerbench.compare(old, new)  # neither side has a whole step
        self.assertTrue(compared["only_old"])
        table = compared._repr_html_()
        for one in compared["only_old"]:
            self.assertIn(f"<td>{one['name']}</td><td></td><td></td><td></td><td>only old</td>", table)
        self.assertIn("not compared: old layers without a timing", table)

    def test_a_wrong_file_is_an_error(self):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder, "--top.json")
            file.write_text("{")
            with self.assertRaises(layerbench.Error) as caught:
                layerbench.predict(file)
            self.assertEqual(caught.exception.code, 3)

    def test_html_is_escaped(self):
        prediction = dict.fromkeys(("seconds_per_step", "seconds_low", "seconds_high", "images_per_second"))
        table = layerbench.Predictions([{"case": "<script>", "disturbed": 0, **prediction}])._repr_html_()
        self.assertIn("&lt;script&gt;", table)
        self.assertIn("&lt;x", layerbench.Results(["<x"])._repr_html_())

    def test_plots_the_slowest_layers(self):
        axes = layerbench.plot(STORED, top=5)
        self.assertEqual(len(axes.patches), 5)
        self.assertIn("resnet50", axes.get_title())


class Package(unittest.TestCase):
    def test_every_exit_code_has_a_meaning(self):
        enum = re.search(r"enum class exit_code : int \{(.*?)\};",
                         (ROOT / "include/layerbench/base/error.hpp").read_text(), re.DOTALL).group(1)
        self.assertEqual(sorted(map(int, re.findall(r"= (\d+)", enum))), [0, *sorted(layerbench.MEANINGS)])

    def test_every_program_is_a_command(self):
        scripts = re.search(r"\[project.scripts\]\n(.*?)\n\n", (ROOT / "pyproject.toml").read_text(), re.DOTALL).group(1)
        sources = [file.stem for file in (ROOT / "bench").glob("bench_*.cpp")]
        self.assertEqual(sorted(line.partition(" = ")[0] for line in scripts.splitlines()),
                         sorted(["layerbench", *sources, *programs.SCRIPTS]))
        for script in programs.SCRIPTS.values():
            self.assertTrue((ROOT / "tools" / script).exists(), script)

    def test_the_notebook_runs(self):
        notebook = json.loads((ROOT / "docs/notebook.ipynb").read_text())
        cells = ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code"]
        self.assertFalse(any(cell.get("outputs") for cell in notebook["cells"]))
        code = "\n".join(cells)
        for long, short in ((r"budget=\d+", "max_time=0, benchmark_repetitions=2, benchmark_min_time=0.001, threads=1"),
                            ('"alexnet"', '"lenet5"')):
            code, changed = re.subn(long, short, code)
            self.assertGreater(changed, 0)
        with tempfile.TemporaryDirectory() as folder:
            before = os.getcwd()
            os.chdir(folder)
            try:
                exec(compile(code, "notebook.ipynb", "exec"), {})  # pylint: disable=exec-used
            finally:
                os.chdir(before)

    def test_types(self):
        self.assertIsNotNone(importlib.util.find_spec("mypy"), "tools/setup.sh --dev installs mypy")
        done = subprocess.run([sys.executable, "-m", "mypy", "--strict", ROOT / "python/layerbench", "--cache-dir",
                               os.devnull], cwd=ROOT, capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


if __name__ == "__main__":
    os.environ["PATH"] = os.pathsep.join(
        (str(pathlib.Path(sys.argv[1]).resolve().parent), sys.argv[2], os.environ["PATH"]))
    unittest.main(argv=sys.argv[:1])
