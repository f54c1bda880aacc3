#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 the layerbench authors
# SPDX-License-Identifier: Apache-2.0
"""Calls that lost data, lied or hung: hostile_calls_test.py TOOL BENCH_DIR.

Each call states its exit code, and the files that must be as they were.
"""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent
TOOL = BENCH = None
# Without variables of layerbench, so that a developer's own change nothing.
ENVIRONMENT = {name: value for name, value in os.environ.items()
               if not name.startswith(("LAYERBENCH_", "OMP_", "NO_COLOR", "CI"))}


def content(path):
    """What a path holds, and what it is: its inode does not change where it is only read."""
    path = pathlib.Path(path)
    return path.read_bytes() if path.is_file() else None


class Case(unittest.TestCase):
    """Calls in an empty folder."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def call(self, command, code, untouched=(), timeout=120, **options):
        """Runs `command` in the folder. Returns the finished process, whose output is text.

        Fails on another exit code, and where a file of `untouched` has changed.
        """
        before = {name: content(self.folder / name) for name in untouched}
        options.setdefault("env", ENVIRONMENT)
        options.setdefault("stdin", subprocess.DEVNULL)
        options.setdefault("stdout", subprocess.PIPE)
        options.setdefault("stderr", subprocess.PIPE)
        done = subprocess.run([str(word) for word in command], cwd=self.folder, timeout=timeout,
                              text=True, check=False, **options)
        words = " ".join(map(str, command))
        self.assertEqual(done.returncode, code, f"{words}\n{done.stdout}\n{done.stderr}")
        for name, old in before.items():
            self.assertEqual(content(self.folder / name), old, f"{words} changed {name}")
        return done

    def tool(self, *arguments, code=0, **options):
        """Calls layerbench."""
        return self.call([TOOL, *arguments], code, **options)

    def bench(self, program, *arguments, code=0, **options):
        """Calls a benchmark program."""
        return self.call([BENCH / program, *arguments], code, **options)


class FirstScreens(Case):
    """What a newcomer reads first: answers, and each reason once."""

    QUICK = ("--model=lenet5", "--threads=1", "--max-time=0", "--benchmark_min_time=0",
             "--benchmark_repetitions=1")

    def test_a_program_of_models_leaves_its_rows_to_the_file(self):
        several = (*self.QUICK, "--batch=1,2", "--cache=model,hot", "--chain")
        done = self.bench("bench_model", *several, "--benchmark_out=r.json")
        self.assertLess(len(done.stdout.splitlines()), 20, done.stdout)
        self.assertNotIn("conv1", done.stdout)
        for words in ("| lenet5, batch 1 ", "| lenet5, batch 2 ", "of 2 cases", "r.json"):
            self.assertEqual(done.stdout.count(words), 1, done.stdout)
        for more in (["--benchmark_out=w.json", "--wide"], []):
            done = self.bench("bench_model", *several, *more)
            self.assertRegex(done.stdout, "(?m)^conv/.*conv1", "asked for, or nowhere else")
            self.assertRegex(done.stdout, "(?m)^[|] conv1 ")
        done = self.bench("bench_model", *several, "--benchmark_out=f.json",
                          "--benchmark_filter=conv1")
        self.assertRegex(done.stdout, "(?m)^conv/conv1", "a filter asks for rows")

    def test_one_case_is_predicted_in_full(self):
        done = self.bench("bench_model", *self.QUICK, "--benchmark_out=r.json")
        self.assertRegex(done.stdout, "(?m)^[|] conv1 ")
        self.assertNotRegex(done.stdout, "(?m)^conv/")

    def test_a_program_of_an_op_prints_its_rows(self):
        done = self.bench("bench_conv", *self.QUICK, "--benchmark_out=r.json")
        self.assertRegex(done.stdout, "(?m)^conv1 |conv/.*conv1")

    def lacks(self, kind):
        """The stderr of a run in this type on oneDNN, in which rows must fail."""
        return self.bench("bench_model", *self.QUICK, "--backend=onednn", f"--dtype={kind}",
                          "--benchmark_out=r.json", code=4).stderr

    def test_a_type_that_the_cpu_lacks_is_named_once(self):
        backends = self.bench("bench_model", "--backends").stdout
        if not re.search("onednn +available", backends):
            self.bench("bench_model", *self.QUICK, "--backend=onednn", code=77)
            return
        self.assertEqual(self.lacks("s8").count("--fusion=int8_default"), 1)
        if not re.search("avx512_fp16|avx_ne_convert", pathlib.Path("/proc/cpuinfo").read_text()):
            lines = self.lacks("f16").splitlines()
            self.assertEqual(sum("f16 on this CPU" in line for line in lines), 1, lines)

    def test_a_missing_argument_is_described(self):
        for words, described in (("report", "Result files"), ("show", "Name of a model"),
                                 ("compare a.json", "new: "), ("import", "onnx")):
            done = self.tool(*words.split(), code=2)
            self.assertIn(described, done.stderr.splitlines()[0])

    def test_missing_peaks_are_named_once(self):
        done = self.tool("predict", ROOT / "results/quickstart_2cpu_zen4.json")
        self.assertEqual(done.stdout.count("--peaks"), 1, done.stdout)
class PartialModels(Case):
    """A model that lacks nodes says so, from the import to the last table."""

    def partial(self):
        """A shape file that lacks half of its FLOPs."""
        size = {"m": "batch", "n": 32, "k": 32}
        model = {"name": "half", "left_out": 0.5, "parameters": {"batch": 1},
                 "layers": [{"name": "fc1", "op": "gemm", "shape": size},
                            {"name": "fc2", "op": "gemm", "shape": size}]}
        file = self.folder / "half.json"
        file.write_text(json.dumps(model))
        return file.name

    def test_each_program_shows_the_share(self):
        model = self.partial()
        self.assertIn("partial", self.tool("show", model).stdout)
        self.assertEqual(json.loads(self.tool("show", model, "--format=json").stdout)["left_out"], 0.5)
        run = self.bench("bench_model", model, "--backend=reference", "--chain", "--max-time=0",
                         "--benchmark_repetitions=1", "--benchmark_out=r.json")
        self.assertIn("half is partial", run.stderr)
        self.assertIn("PARTIAL", run.stdout)
        manifest = json.loads(json.loads((self.folder / "r.json").read_text())["context"]["manifest"])
        self.assertEqual([entry[5]["left_out"] for step in manifest.values() for entry in step], [0.5])
        predicted = json.loads(self.tool("predict", "r.json", "--format=json").stdout)
        self.assertIs(predicted["predictions"][0]["partial"], True)
        self.assertEqual(predicted["predictions"][0]["left_out"], 0.5)
        self.assertEqual(predicted["predictions"][0]["coverage"], 0.5)
        self.assertIn("PARTIAL", self.tool("predict", "r.json").stdout)
        validated = json.loads(self.tool("validate", "r.json", "--format=json").stdout)
        self.assertEqual(validated["cases"][0]["left_out"], 0.5)
        self.assertIn("partial model", self.tool("validate", "r.json").stdout)
        self.assertIn("PARTIAL", self.tool("report", "r.json", "--format=markdown").stdout)
        self.bench("bench_model", model, "--backend=reference", "--max-time=0",
                   "--benchmark_repetitions=1", "--benchmark_out=s.json")
        compared = json.loads(self.tool("compare", "r.json", "s.json", "--format=json").stdout)
        self.assertEqual(compared["models"][0]["left_out"], 0.5)
        self.assertTrue(any("partial" in note for note in compared["notes"]))

    def test_a_share_is_a_number_from_0_to_1(self):
        model = json.loads((self.folder / self.partial()).read_text())
        for share in ("half", -0.1, 1.5, None, True):
            (self.folder / "bad.json").write_text(json.dumps({**model, "left_out": share}))
            self.assertIn("/left_out", self.tool("show", "bad.json", code=3).stderr)


class OnnxModels(Case):
    """Files of exporters, as they are."""

    def setUp(self):
        super().setUp()
        self.models = ROOT / "tests/data/onnx"
        if self.call([TOOL, "show", self.models / "conv1d_concat.onnx"], None).returncode == 77:
            self.skipTest("this build reads no ONNX")

    def call(self, command, code, **options):
        if code is not None:
            return super().call(command, code, **options)
        return subprocess.run([str(word) for word in command], cwd=self.folder, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)

    def layers_of(self, name, *arguments):
        self.tool("import", "onnx", self.models / f"{name}.onnx", *arguments, "-o", "net.json")
        shown = json.loads(self.tool("show", "net.json", "--format=json").stdout)
        return [layer["op"] for layer in shown["layers"]]

    def test_what_was_refused_without_need(self):
        self.assertEqual(self.layers_of("conv1d_concat"), ["conv", "conv", "concat", "conv"])
        self.assertEqual(self.layers_of("conv1d_causal_pad"), ["conv", "pad", "conv"])
        for name in ("conv_bias_in_add", "conv_bias_through_reshape"):
            self.assertEqual(self.layers_of(name), ["conv", "activation"])
        self.assertEqual(self.layers_of("split_with_empty_part", "--no-softmax"), ["activation"] * 2)
        self.assertEqual(self.layers_of("qlinearconv"), ["conv"])

    def test_open_axes(self):
        for name in ("axes_without_names", "axes_minus_one", "axes_all_named_question_mark"):
            self.tool("import", "onnx", self.models / f"{name}.onnx", code=3)
            self.assertEqual(self.layers_of(name, "--input=x=1x3x48x192"), ["conv"])
            shape = json.loads((self.folder / "net.json").read_text())["layers"][0]["shape"]
            self.assertEqual((shape["n"], shape["h"], shape["w"]), ("batch", 48, 192))

    def test_what_is_left_out_counts(self):
        file = self.models / "resize_between_convs.onnx"
        self.tool("import", "onnx", file, code=4)
        self.assertEqual(self.layers_of("resize_between_convs", "--allow-partial"), ["conv"] * 3)
        self.assertIn("left_out", json.loads((self.folder / "net.json").read_text()))
        self.tool("import", "onnx", self.models / "convinteger.onnx", code=4)
        refused = self.tool("import", "onnx", self.models / "convinteger.onnx", "--allow-partial",
                            "-o", "none.json", code=3)
        self.assertIn("100.0 %", refused.stderr)
        self.assertFalse((self.folder / "none.json").exists())

    def test_a_file_that_would_be_refused_is_not_written(self):
        name = "deconv_output_padding_below_dilation.onnx"
        self.tool("import", "onnx", self.models / name, "-o", "net.json", code=4)
        self.assertFalse((self.folder / "net.json").exists())

    def test_programs_take_them(self):
        run = self.bench("bench_model", self.models / "conv1d_concat.onnx", "--list")
        self.assertIn("conv1d_concat", run.stdout)
        self.bench("bench_model", f"--model={self.models / 'conv1d_concat.onnx'}", "--list")
        for words in (["lenet5"], ["--batch=1,2", "lenet5"], ["lenet5", "--model=alexnet"]):
            self.assertIn("lenet5", self.bench("bench_model", *words, "--list").stdout)
        self.bench("bench_model", "no_such_model", "--list", code=5)
        self.bench("bench_model", self.models / "resize_between_convs.onnx", "--list", code=4)


if __name__ == "__main__":
    TOOL, BENCH = (pathlib.Path(argument).resolve() for argument in sys.argv[1:3])
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
