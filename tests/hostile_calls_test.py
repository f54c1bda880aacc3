#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 the layerbench authors
# SPDX-License-Identifier: Apache-2.0
"""Calls that lost data, lied or hung: hostile_calls_test.py TOOL BENCH_DIR.

Each call states its exit code, and the files that must be as they were.
"""
import csv
import fcntl
import json
import os
import pathlib
import pty
import re
import resource
import shutil
import struct
import subprocess
import sys
import tempfile
import termios
import threading
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

    def call(self, command, code, untouched=(), **options):
        """Runs `command` in the folder. Returns the finished process, whose output is text.

        Fails on another exit code, and where a file of `untouched` has changed.
        """
        before = {name: content(self.folder / name) for name in untouched}
        options.setdefault("env", ENVIRONMENT)
        options.setdefault("stdin", subprocess.DEVNULL)
        options.setdefault("stdout", subprocess.PIPE)
        options.setdefault("stderr", subprocess.PIPE)
        done = subprocess.run([str(word) for word in command], cwd=self.folder,
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
        for words in ("| lenet5, batch 1 ", "| lenet5, batch 2 ", "r.json"):
            self.assertEqual(done.stdout.count(words), 1, done.stdout)
        # On a disturbed machine a case may have no interval; it is then counted in a line of its own.
        counted = re.findall(r"(?m)^.*: (?:\d+ of )?(\d) cases?$", done.stdout)
        self.assertEqual(sum(map(int, counted)), 2, done.stdout)
        for more in (["--benchmark_out=w.json", "--wide"], []):
            done = self.bench("bench_model", *several, *more)
            self.assertRegex(done.stdout, "(?m)^conv/.*conv1", "asked for, or nowhere else")
            self.assertRegex(done.stdout, "(?m)^[|] conv1 ")
        done = self.bench("bench_model", *several, "--benchmark_out=f.json",
                          "--benchmark_filter=conv1")
        self.assertRegex(done.stdout, "(?m)^conv/.*conv1", "a filter asks for rows")

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
        shown = json.loads(self.tool("show", model, "--format=json").stdout)
        self.assertEqual(shown["left_out"], 0.5)
        run = self.bench("bench_model", model, "--backend=reference", "--chain", "--max-time=0",
                         "--benchmark_repetitions=1", "--benchmark_out=r.json")
        self.assertIn("half is partial", run.stderr)
        self.assertIn("PARTIAL", run.stdout)
        context = json.loads((self.folder / "r.json").read_text())["context"]
        entries = [entry for step in json.loads(context["manifest"]).values() for entry in step]
        self.assertEqual({entry[5]["left_out"] for entry in entries}, {0.5})
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
        self.assertEqual(self.layers_of("split_with_empty_part", "--no-softmax"),
                         ["activation"] * 2)
        self.assertEqual(self.layers_of("qlinearconv"), ["conv"])

    def test_open_axes(self):
        for name in ("axes_without_names", "axes_minus_one", "axes_all_named_question_mark"):
            self.tool("import", "onnx", self.models / f"{name}.onnx", code=3)
            self.assertEqual(self.layers_of(name, "--input=x=1x3x48x192"), ["conv"])
            shape = json.loads((self.folder / "net.json").read_text())["layers"][0]["shape"]
            self.assertEqual((shape["n"], shape["h"], shape["w"]), ("batch", 48, 192))

    def test_what_is_left_out_counts(self):
        file = self.models / "cubic_resize_between_convs.onnx"
        self.tool("import", "onnx", file, code=4)
        layers = self.layers_of("cubic_resize_between_convs", "--allow-partial")
        self.assertEqual(layers, ["conv"] * 3)
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
        self.bench("bench_model", self.models / "cubic_resize_between_convs.onnx", "--list", code=4)


class ResultFiles(Case):
    """A copy of a result file with chains, and changes of it."""

    def setUp(self):
        super().setUp()
        golden = ROOT / "tests" / "golden" / "chain_results.json"
        self.whole = json.loads(golden.read_text(encoding="utf-8"))
        self.write("r.json", self.whole)

    def write(self, name, value):
        text = value if isinstance(value, str) else json.dumps(value)
        (self.folder / name).write_text(text, encoding="utf-8")

    def changed(self, **context):
        """The file with other fields of its context."""
        return {**self.whole, "context": {**self.whole["context"], **context}}

    def json(self, *arguments, code=0):
        return json.loads(self.tool(*arguments, "--format=json", code=code).stdout)

    def rounds(self, *files):
        return [p["rounds"] for p in self.json("predict", *files, "--allow-partial")["predictions"]]


class OneMachine(ResultFiles):
    """What varies on a machine does not make it another one."""
    TOPOLOGY = "1 package, 1 node ({} GB), {}1 L3 (32 MB), {} cores, 2 processors{}"

    def test_memory_limits_notes_and_updates_make_no_other_machine(self):
        self.write("a.json", self.changed(topology=self.TOPOLOGY.format(16, "", 2, ""),
                                          kernel="6.1.0-18-amd64"))
        other = self.changed(topology=self.TOPOLOGY.format(24, "at most 4 GB, ", 2, ", guessed"),
                             kernel="6.1.0-21-amd64")
        for row in other["benchmarks"]:
            row["real_time"] *= 1.001
        self.write("b.json", other)
        self.assertEqual(self.rounds("a.json", "b.json"), [2 * n for n in self.rounds("a.json")])
        self.assertEqual(self.json("compare", "a.json", "b.json")["differing"], [])
        for command in (("validate", "a.json", "b.json"), ("predict", "a.json", "b.json")):
            self.assertNotIn("not merged", self.tool(*command, code=4).stderr)
        self.assertNotIn("not merged", self.tool("report", "a.json", "b.json", "--allow-partial",
                                                 "-o", "r.html").stderr)

    def test_both_values_are_printed_where_files_are_not_merged(self):
        values = [self.TOPOLOGY.format(16, "", cores, "") for cores in (2, 4)]
        for name, value in zip(("a.json", "b.json"), values):
            self.write(name, self.changed(topology=value))
        for done in (self.tool("predict", "a.json", "b.json", "--allow-partial"),
                     self.tool("validate", "a.json", "b.json", code=4),
                     self.tool("compare", "a.json", "b.json", "--across=settings", code=3),
                     self.tool("compare", "a.json,b.json", "r.json", code=3)):
            for text in ("topology", *values):
                self.assertIn(text, done.stderr)

    def test_a_run_is_resumed_after_memory_was_added_and_the_kernel_updated(self):
        self.bench("bench_model", "--model=lenet5", "--threads=1", "--max-time=0",
                   "--benchmark_repetitions=1", "--benchmark_filter=relu", "--benchmark_out=m.json")
        file = json.loads((self.folder / "m.json").read_text(encoding="utf-8"))
        context = file["context"]
        context["topology"] = re.sub(r" node(s?)( \([^)]*\))?", r" node\1 (1 TB)", context["topology"])
        context["kernel"] += "-updated"
        self.write("m.json", file)
        again = ("--model=lenet5", "--threads=1", "--max-time=0", "--benchmark_repetitions=1",
                 "--benchmark_filter=relu", "--resume=m.json")
        self.bench("bench_model", *again)
        context["l2_bytes"] = "12345"
        self.write("m.json", file)
        done = self.bench("bench_model", *again, code=3, untouched=["m.json"])
        self.assertIn('l2_bytes ("12345", ', done.stderr)


class RepeatedRounds(ResultFiles):
    """The same rounds count once."""

    def test_a_copy_adds_no_evidence(self):
        self.write("copy.json", self.changed(date="another"))
        self.assertEqual(self.rounds("r.json", "copy.json"), self.rounds("r.json"))
        for command in ("predict", "validate"):
            once = self.json(command, "r.json", code=4)
            twice = self.json(command, "r.json", "copy.json", code=4)
            self.assertEqual(once["notes"], [])
            self.assertIn("copy.json", " ".join(twice["notes"]))
        validated = [self.json("validate", *files, code=4)["cases"]
                     for files in (["r.json"], ["r.json", "copy.json"])]
        for name in ("measured_seconds", "measured_rounds", "predicted_rounds"):
            self.assertEqual(*[[case[name] for case in cases] for cases in validated])
        self.assertIn("copy.json", self.tool("predict", "r.json", "copy.json", code=4).stderr)
        compared = self.json("compare", "r.json,copy.json", "r.json")
        self.assertEqual(compared["layers"][0]["old_rounds"], compared["layers"][0]["new_rounds"])
        self.assertIn("copy.json", " ".join(compared["notes"]))

    def test_a_merged_file_counts_its_rounds_once(self):
        self.write("merged.json", {**self.whole, "benchmarks": 2 * self.whole["benchmarks"]})
        self.assertEqual(self.rounds("merged.json"), self.rounds("r.json"))

    def test_a_link_is_the_same_file(self):
        os.link(self.folder / "r.json", self.folder / "link.json")
        self.tool("predict", "r.json", "link.json", code=2)


class TypesOfFields(ResultFiles):
    """A known field of another type is an error with its place; other rows never matter."""

    def test_wrong_types_are_refused_with_their_place(self):
        rows = self.whole["benchmarks"]
        place = next(i for i, row in enumerate(rows) if row["run_type"] == "iteration")
        for field, value in (("mean_s", "abc"), ("mean_s", None), ("disturbed", True),
                             ("real_time", "1"), ("repetition_index", 0.5), ("label", 7),
                             ("iterations", "9"), ("flops", [1]), ("error_occurred", "yes")):
            changed = {**self.whole, "benchmarks": [dict(row) for row in rows]}
            changed["benchmarks"][place][field] = value
            self.write("bad.json", changed)
            for command in ("predict", "validate"):
                done = self.tool(command, "bad.json", code=3)
                self.assertIn(f"bad.json: at /benchmarks/{place}/{field}: ", done.stderr)
        for field, value in (("threads", {"a": 1}), ("manifest", {}), ("interrupted", 0)):
            self.write("bad.json", self.changed(**{field: value}))
            done = self.tool("predict", "r.json", "bad.json", code=3)
            self.assertIn(f"bad.json: at /context/{field}: ", done.stderr)

    def test_rows_of_other_benchmarks_never_matter(self):
        text = json.dumps(self.whole)
        rows = ('{"name": "BM_a", "run_name": 7, "rate": NaN, "real_time": "x", "mean_s": []}, '
                '{"name": "BM_b", "label": {}, "iterations": -Infinity, "bytes": 1e999}, ')
        self.write("other.json", text.replace('"benchmarks": [', '"benchmarks": [' + rows, 1))
        self.assertEqual(self.rounds("other.json"), self.rounds("r.json"))
        self.tool("compare", "r.json", "other.json")


class OneNumber(ResultFiles):
    """A thing has one time, with no more digits than are known."""

    def test_the_table_has_the_time_that_is_validated(self):
        done = self.bench("bench_model", "--model=lenet5", "--threads=1", "--chain", "--max-time=0",
                          "--benchmark_repetitions=3", "--wide", "--benchmark_out=m.json")
        row = next(line for line in done.stdout.splitlines() if line.startswith("chain"))
        value, unit = re.search(r" ~?([0-9.]+) ([munp]?)s ", row).groups()
        shown = float(value) * {"": 1, "m": 1e-3, "u": 1e-6, "n": 1e-9}[unit]
        measured = self.json("validate", "m.json")["cases"][0]["measured_seconds"]
        self.assertAlmostEqual(shown / measured, 1, delta=0.0051)

    def test_few_digits_where_most_was_disturbed(self):
        for row in self.whole["benchmarks"]:
            number = row.get("repetition_index", 0)
            row["disturbed"] = float(number > 1)
            row["real_time"] *= 1 + number
        self.write("d.json", self.whole)
        case = self.json("predict", "d.json", "--model=tiny", "--allow-partial")["predictions"][0]
        self.assertEqual(case["interval"], "range")
        self.assertGreater(case["seconds_high"], 1.5 * case["seconds_per_step"])
        text = self.tool("predict", "d.json", "--model=tiny", "--allow-partial").stdout
        figure = re.search(r"([0-9.]+) ms per step", text).group(1)
        self.assertLessEqual(len(figure.replace(".", "").strip("0")), 2, figure)


class TorchImport(Case):
    """What layerbench would refuse is neither written nor said to be done."""

    def convert(self, export, code):
        (self.folder / "mine.json").write_text("old")
        return self.call([sys.executable, ROOT / "tools/from_torch.py", "--from-export", export, "-o",
                          "mine.json", f"--layerbench={TOOL}"], code, untouched=["mine.json"]).stderr

    def test_a_size_that_a_layer_cannot_have(self):
        self.assertIn("at up,", self.convert(ROOT / "tests/data/torch/wide.json", 4))

    def test_totals_that_overflow(self):
        most = 2**31 - 1
        (self.folder / "export.json").write_text(json.dumps({
            "layerbench_torch_export": 1, "name": "huge", "inputs": {"x": {"dims": ["batch", most]}},
            "weights": {"w": [most, most]}, "outputs": ["y"],
            "calls": [{"name": "y", "target": "aten.linear.default", "module": "fc",
                       "args": {"input": "%x", "weight": "%w"}, "dims": ["batch", most]}]}))
        said = self.convert("export.json", 3)
        self.assertIn("layer fc", said)
        self.assertNotIn("parameters", said)


class ReportOfHostileFiles(Case):
    """Reports of files whose name and texts try to act on browsers and terminals."""

    HOSTILE = "\"><script>alert(1)</script>\n# title\n\x1b[2J\x9b31m\u202e"

    def setUp(self):
        super().setUp()
        content_of_file = json.loads(
            (ROOT / "tests/golden/chain_results.json").read_text(encoding="utf-8"))
        content_of_file["context"].update(device=self.HOSTILE, seed=self.HOSTILE,
                                          machine_check=self.HOSTILE)
        self.file = "a<script>\n\x1b[2J.json"
        (self.folder / self.file).write_text(json.dumps(content_of_file), encoding="utf-8")

    def check(self, name, *more):
        """Writes a report to file `name` and looks for what must not be in it."""
        self.tool("report", self.file, "--allow-partial", "-o", name, *more,
                  untouched=[self.file])
        text = (self.folder / name).read_text(encoding="utf-8")
        for harmful in ("<script", "\x1b", "\x9b", "\u202e"):
            self.assertNotIn(harmful, text)
        return text

    def test_page(self):
        self.assertNotIn("http", self.check("r.html"))

    def test_markdown(self):
        headings = [line for line in self.check("r.md").splitlines() if line.startswith("#")]
        self.assertNotIn("# title", headings)

    def test_console(self):
        done = self.tool("report", self.file, "--allow-partial", "--format=markdown")
        self.assertNotIn("\x1b", done.stdout)


class Options(Case):
    """Options that hands try, and what they must not change."""

    SHORT = ("--max-time=0", "--benchmark_repetitions=1", "--threads=1")

    def rows(self, file):
        """The rows of a result file."""
        return json.loads((self.folder / file).read_text())["benchmarks"]

    def seen(self, *command, columns=80):
        """What a command writes to a terminal of so many columns."""
        main, other = pty.openpty()
        self.addCleanup(os.close, main)
        fcntl.ioctl(other, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        text = []

        def read():
            try:
                while part := os.read(main, 65536):
                    text.append(part)
            except OSError:  # the last writer has closed the terminal
                pass
        reader = threading.Thread(target=read)
        reader.start()
        try:
            self.call(command, 0, stdout=other, env={**ENVIRONMENT, "NO_COLOR": "1"})
        finally:
            os.close(other)
            reader.join()
        return b"".join(text).decode().replace("\r\n", "\n")

    def test_help_is_a_subcommand(self):
        self.assertEqual(self.tool("help").stdout, self.tool("--help").stdout)
        self.assertEqual(self.tool("help", "predict").stdout,
                         self.tool("predict", "--help").stdout)
        self.assertIn("predcit", self.tool("help", "predcit", code=2).stderr)
        self.tool("help", "predict", "show", code=2)
        self.assertIn("subcommand", self.tool("help", "--help").stdout)

    def test_version_has_the_commit_as_files_have(self):
        version = self.tool("--version").stdout
        found = re.fullmatch(r"layerbench (\d+\.\d+\.\d+)(?: \(([0-9a-f]{7,}(?:-dirty)?)\))?\n",
                             version)
        self.assertTrue(found, version)
        self.assertEqual(self.bench("bench_conv", "--version").stdout.split()[1:],
                         version.split()[1:])
        self.bench("bench_conv", "--model=lenet5", "--benchmark_dry_run",
                   "--benchmark_out=r.json")
        context = json.loads((self.folder / "r.json").read_text())["context"]
        self.assertEqual(context["layerbench_version"], found[1])
        self.assertEqual(context.get("layerbench_commit"), found[2])
        # Another commit is no other condition.
        context["layerbench_commit"] = "0123456789ab"
        other = {"context": context, "benchmarks": self.rows("r.json")}
        (self.folder / "other.json").write_text(json.dumps(other))
        self.assertEqual(self.tool("compare", "r.json", "other.json").stderr, "")

    def test_tables_are_sorted_and_cut(self):
        def column(name, *arguments):
            text = self.tool("show", "resnet50", "--format", "csv", *arguments).stdout
            return [row[name] for row in csv.DictReader(text.splitlines())]
        flops = [int(value) for value in column("flops", "--sort", "flops", "--top", "7")]
        self.assertEqual(len(flops), 7)
        self.assertEqual(flops, sorted(map(int, column("flops")), reverse=True)[:7])
        names = column("name", "--sort", "name")
        self.assertEqual(names, sorted(names))
        for wrong in (("--top", "0"), ("--top", "-1"), ("--top", "many"), ("--sort", "colour")):
            self.tool("show", "lenet5", *wrong, code=2)

    def test_predictions_list_as_many_layers_as_asked_for(self):
        self.bench("bench_model", "--model=lenet5", *self.SHORT, "--chain", "--batch=1,8",
                   "--benchmark_filter=lenet5", "--benchmark_out=both.json")
        text = self.tool("validate", "both.json", "--sort", "time", "--format", "csv").stdout
        measured = [float(row["measured_seconds"]) for row in csv.DictReader(text.splitlines())]
        self.assertEqual(len(measured), 2)
        self.assertEqual(measured, sorted(measured, reverse=True))
        self.tool("validate", "both.json", "--sort", "share", code=2)
        self.bench("bench_model", "--model=lenet5", *self.SHORT, "--benchmark_out=r.json")
        cases = self.tool("predict", "r.json", "--format", "csv").stdout.splitlines()
        self.assertTrue(cases[0].startswith("model,"))
        self.assertEqual(len(cases), 2)

        def layers(*arguments):
            text = self.tool("predict", "r.json", "--format", "csv", *arguments).stdout
            return list(csv.DictReader(text.splitlines()))
        every = layers("--all")
        whole = json.loads(self.tool("predict", "r.json", "--format", "json").stdout)
        self.assertEqual(len(every), len(whole["predictions"][0]["layers"]))
        self.assertAlmostEqual(sum(float(row["share"]) for row in every), 1)
        times = [float(row["seconds_per_call"]) for row in layers("--top", "3", "--sort", "time")]
        self.assertEqual(times, sorted((float(row["seconds_per_call"]) for row in every),
                                       reverse=True)[:3])
        text = self.tool("predict", "r.json", "--all", "--sort", "name").stdout
        self.assertEqual([row["layer"] for row in every if row["layer"] not in text], [])
        self.tool("predict", "r.json", "--all", "--top", "3", code=2)
        self.tool("predict", "r.json", "--sort", "size", code=2)
        self.tool("compare", "r.json", "r.json", "--all", "--top", "3", code=2)
        rows = self.tool("compare", "r.json", "r.json", "--top", "2", "--sort", "time").stdout
        self.assertIn("more", rows)
        self.tool("compare", "r.json", "r.json", "--across=node", "--sort", "time", code=2)

    def test_quiet_leaves_results_and_errors(self):
        out = self.bench("bench_conv", "--model=lenet5", *self.SHORT, "--quiet",
                         "--benchmark_out=r.json")
        self.assertEqual(out.stderr, "")
        self.assertIn("conv1", out.stdout)
        self.assertIn("no such", self.bench("bench_conv", "--quiet", "--nothing", code=2).stderr)
        self.assertEqual(self.tool("compare", "r.json", "r.json", "--quiet").stderr, "")
        self.assertNotEqual(self.tool("compare", "r.json", "r.json").stderr, "")
        self.assertNotEqual(self.tool("compare", "r.json", "none.json", "--quiet", code=3).stderr,
                            "")

    def test_times_have_the_unit_that_was_asked_for(self):
        for unit, seconds in (("us", 1e-6), ("s", 1)):
            out = self.bench("bench_conv", "--model=lenet5", *self.SHORT,
                             f"--benchmark_time_unit={unit}", "--benchmark_out=r.json")
            self.assertIn(f" {unit} ", out.stdout)
            for row in self.rows("r.json"):
                self.assertEqual(row["time_unit"], unit)
                self.assertGreaterEqual(row["real_time"] * seconds * 1.001, row["min_s"])
        self.tool("predict", "r.json", "--model=lenet5", "--allow-partial")
        self.bench("bench_conv", "--benchmark_time_unit=min", code=2)
        environment = {**ENVIRONMENT, "BENCHMARK_TIME_UNIT": "hours"}
        self.assertIn("BENCHMARK_TIME_UNIT",
                      self.bench("bench_conv", "--list", code=2, env=environment).stderr)

    def test_a_dry_run_calls_each_row_once(self):
        self.bench("bench_model", "--model=lenet5", "--benchmark_dry_run", "--chain",
                   "--benchmark_repetitions=9", "--benchmark_out=r.json")
        rows = self.rows("r.json")
        self.assertEqual({(row["run_type"], row["iterations"]) for row in rows},
                         {("iteration", 1)})
        self.assertEqual(len(rows), len({row["name"] for row in rows}))
        self.assertTrue(any(row["name"].startswith("chain/") for row in rows))
        self.assertTrue(all(row["verified"] for row in rows if "verified" in row))
        # Its times are no measurements.
        self.assertIn("dry_run", self.bench("bench_model", "--model=lenet5", *self.SHORT,
                                            "--resume=r.json", code=3, untouched=["r.json"]).stderr)

    def test_percentiles_are_printed_and_kept(self):
        out = self.bench("bench_conv", "--model=lenet5", *self.SHORT, "--percentiles",
                         "--benchmark_out=r.json").stdout
        self.assertRegex(out, r"p50 +p95 +p99")
        for row in self.rows("r.json"):
            self.assertLessEqual(row["min_s"], row["p95_s"])
            self.assertLessEqual(row["p95_s"], row["p99_s"])

    def test_other_data_has_other_rows(self):
        self.bench("bench_conv", "--model=lenet5", *self.SHORT, "--backend=reference",
                   "--data=normal,zeros,denormal", "--benchmark_out=all.json")
        kinds = [re.findall("/data:(\\w+)", row["name"]) for row in self.rows("all.json")]
        self.assertEqual({tuple(kind) for kind in kinds}, {(), ("zeros",), ("denormal",)})
        self.assertTrue(all(row["verified"] for row in self.rows("all.json")))
        self.bench("bench_model", "--model=lenet5", *self.SHORT, "--benchmark_out=normal.json")
        self.bench("bench_model", "--model=lenet5", *self.SHORT, "--data=zeros", "--chain",
                   "--benchmark_out=zeros.json")
        text = self.tool("predict", "normal.json", "zeros.json", "--format", "csv").stdout
        cases = {row["case"]: row for row in csv.DictReader(text.splitlines())}
        self.assertEqual({"/data:zeros" in case for case in cases}, {True, False})
        self.assertEqual({row["rounds"] for row in cases.values()}, {"1"})
        self.tool("compare", "normal.json", "zeros.json", code=5)
        for wrong in ("--data=random", "--data=", "--data=normal,subnormal"):
            self.bench("bench_conv", "--model=lenet5", wrong, code=2)
        self.bench("bench_conv", "--model=lenet5", "--data=denormal", "--dtype=s8", code=2)
        self.bench("bench_peak", "--data=zeros", code=2)

    def test_output_fits_the_terminal(self):
        self.bench("bench_model", "--model=lenet5", *self.SHORT, "--benchmark_out=r.json")
        commands = {
            "show": (TOOL, "show", "resnet50", "--wide"), "predict": (TOOL, "predict", "r.json"),
            "list": (TOOL, "list"), "help": (TOOL, "predict", "--help"),
            "compare": (TOOL, "compare", "r.json", "r.json", "--wide"),
            "rows": (BENCH / "bench_conv", "--model=resnet50", "--benchmark_dry_run", "--wide",
                     "--benchmark_filter=layer1_0")}
        for name, command in commands.items():
            with self.subTest(name):
                text = self.seen(*command)
                wide = [line for line in text.splitlines() if len(line) > 80]
                if name == "rows":  # names stay whole, in lines of their own
                    wide = [line for line in wide if " " in line]
                self.assertEqual(wide, [])
                self.assertNotEqual(text, "")
        # Into a pipe the tables have the form that they always had.
        piped = self.tool("predict", "r.json").stdout
        self.assertEqual(self.tool("predict", "r.json",
                                   env={**ENVIRONMENT, "COLUMNS": "80"}).stdout, piped)
        self.assertEqual(self.seen(TOOL, "predict", "r.json", columns=400), piped)


class BudgetCase(Case):
    """A budget is a limit; what does not fit is left out, and named everywhere."""

    QUICK = ("--model=lenet5", "--benchmark_repetitions=1", "--max-time=0", "--benchmark_min_time=0")

    def rows(self, name="r.json"):
        """The rows of a result file: those with a timing, and those that were left out, by name."""
        rows = json.loads((self.folder / name).read_text())["benchmarks"]
        rows = [row for row in rows if row.get("run_type") == "iteration"]
        failed = {row["run_name"]: row["error_message"] for row in rows if row.get("error_occurred")}
        return {row["run_name"] for row in rows if not row.get("error_occurred")}, failed

    def left_out(self, done, name="r.json"):
        """The rows that were left out; they are named in the file, the table and on stderr."""
        measured, failed = self.rows(name)
        self.assertTrue(failed)
        self.assertFalse(measured & failed.keys())
        for row, why in failed.items():
            self.assertIn("left out: --budget", why)
        self.assertGreaterEqual(done.stdout.count("left out: --budget"), len(failed))
        self.assertIn(next(iter(failed)), done.stderr)
        self.assertRegex(done.stderr, r"--budget=.* left out.*--resume=" + name)
        return failed

    def test_far_too_short_marks_every_gap(self):
        # One step of it takes longer, its chain and its verification much longer.
        done = self.bench("bench_model", "--model=vgg16", "--batch=8", "--phase=training", "--chain",
                          "--budget=2", "--wide", "--benchmark_out=r.json", code=4)
        failed = self.left_out(done)
        predicted = self.tool("predict", "r.json", "--format", "json", code=4)
        self.assertFalse(json.loads(predicted.stdout)["predictions"][0]["partial"])
        partial = json.loads(self.tool("predict", "r.json", "--format", "json", "--allow-partial").stdout)
        [prediction] = partial["predictions"]
        missing = len(prediction["missing"])
        self.assertEqual(missing, sum("/cache:model" in name for name in failed))
        self.assertTrue(prediction["partial"] or prediction["seconds_per_step"] is None)

    def test_of_zero_measures_nothing_and_can_be_resumed(self):
        everything = self.bench("bench_model", *self.QUICK, "--benchmark_list_tests").stdout.split()
        done = self.bench("bench_model", *self.QUICK, "--chain", "--budget=0", "--wide",
                          "--benchmark_out=r.json", code=4)
        self.assertLessEqual(set(everything), self.left_out(done).keys())
        self.bench("bench_model", "--resume=r.json")
        measured, failed = self.rows()
        self.assertEqual(failed, {})
        self.assertLessEqual(set(everything), measured)
        self.assertIn("chain/", " ".join(measured))

    def test_that_suffices_leaves_nothing_out(self):
        done = self.bench("bench_model", *self.QUICK, "--chain", "--budget=600", "--benchmark_out=r.json")
        self.assertEqual(self.rows()[1], {})
        self.assertNotIn("--budget", done.stderr)

    def test_holds_in_programs_of_one_op_and_of_peaks(self):
        for program in ("bench_conv", "bench_gemm", "bench_peak"):
            done = self.bench(program, "--budget=0", f"--benchmark_out={program}.json", code=4)
            self.left_out(done, f"{program}.json")

    def test_holds_for_collectives(self):
        done = self.bench("bench_allreduce", "--yes", "--budget=1", "--benchmark_out=r.json", code=4)
        self.left_out(done)

    def test_of_a_study_is_shared_by_its_runs(self):
        done = self.tool("study", "upv_2018", "--model", "lenet5", "--run", "--out", "study", "--budget",
                         "0.001", code=4)
        self.assertIn("left out: --budget", done.stdout + done.stderr)


class ResumeCase(Case):
    """A file knows the command that it continues."""

    MEASURE = ("--model=lenet5", "--benchmark_filter=conv1|it's", "--benchmark_repetitions=1",
               "--max-time=0", "--benchmark_min_time=0", "--benchmark_out=r.json")

    def setUp(self):
        super().setUp()
        self.bench("bench_model", *self.MEASURE, "--seed=3", env={**ENVIRONMENT, "LAYERBENCH_THREADS": "1"})

    def names(self, name="r.json"):
        """Names of rounds in a result file."""
        rows = json.loads((self.folder / name).read_text())["benchmarks"]
        return sorted(row["name"] for row in rows if row.get("run_type") == "iteration")

    def edit(self, **context):
        """Sets fields of the context; None removes one."""
        path = self.folder / "r.json"
        results = json.loads(path.read_text())
        results["context"].update(context)
        for name, value in context.items():
            if value is None:
                del results["context"][name]
        path.write_text(json.dumps(results))

    def test_alone_takes_the_recorded_options(self):
        before = self.names()
        self.bench("bench_model", "--resume=r.json", "--benchmark_repetitions=2")
        self.assertEqual(len(self.names()), 2 * len(before))
        self.assertEqual(set(self.names()), set(before))
        # Also those of the run that was resumed.
        self.bench("bench_model", "--resume=r.json", "--benchmark_repetitions=3")
        self.assertEqual(len(self.names()), 3 * len(before))

    def test_models_without_their_option_are_recorded(self):
        quick = ("--benchmark_filter=conv1", "--max-time=0", "--benchmark_min_time=0")
        self.bench("bench_model", *quick, "--benchmark_repetitions=1", "--benchmark_out=p.json", "lenet5")
        before = self.names("p.json")
        self.assertTrue(before)
        for rounds in (2, 3):
            self.bench("bench_model", "--resume=p.json", f"--benchmark_repetitions={rounds}")
            self.assertEqual(set(self.names("p.json")), set(before))
            self.assertEqual(len(self.names("p.json")), rounds * len(before))
        self.bench("bench_model", "--resume=p.json", "--benchmark_repetitions=4", *quick, "lenet5")
        self.assertEqual(set(self.names("p.json")), set(before))

    def test_options_that_disagree_are_refused_with_both_values(self):
        for option, values in (("--seed=4", ("--seed=4", "--seed=3")), ("--threads=2", ("--threads=2", "--threads=1")),
                               ("--dtype=bf16", ("--dtype=bf16",)), ("--batch=2", ("--batch=2",))):
            done = self.bench("bench_model", "--resume=r.json", option, code=2, untouched=["r.json"])
            for value in values:
                self.assertIn(value, done.stderr)

    def test_options_that_agree_are_taken(self):
        self.bench("bench_model", "--resume=r.json", "--seed=3", "--threads=1", "--budget=600",
                   "--max-time=0", "--chain")
        self.assertIn("chain/", " ".join(self.names()))

    def test_a_file_without_a_command_says_what_to_type(self):
        self.edit(command=None)
        done = self.bench("bench_model", "--resume=r.json", code=3, untouched=["r.json"])
        self.assertIn("--model", done.stderr)
        self.bench("bench_model", "--resume=r.json", *self.MEASURE, "--seed=3", "--threads=1")

    def test_another_program_is_refused(self):
        done = self.bench("bench_conv", "--resume=r.json", code=2, untouched=["r.json"])
        self.assertIn("bench_model", done.stderr)

    def test_a_file_of_an_interrupted_run_goes_on_where_that_would_have_ended(self):
        (self.folder / "r.json").rename(self.folder / "r.json.partial")
        rounds = len(self.names("r.json.partial"))
        self.bench("bench_model", "--resume=r.json.partial", "--benchmark_repetitions=2")
        self.assertEqual(len(self.names()), 2 * rounds)

    def test_another_folder_finds_the_model(self):
        shape = json.loads((ROOT / "shapes/models/lenet5.json").read_text())
        (self.folder / "mine.json").write_text(json.dumps({**shape, "name": "mine"}))
        self.bench("bench_model", "--model=./mine.json", *self.MEASURE[1:-1], "--benchmark_out=mine_r.json")
        (self.folder / "below").mkdir()
        rounds = len(self.names("mine_r.json"))
        self.call(["sh", "-c", f'cd below && exec "{BENCH}/bench_model" --resume=../mine_r.json '
                   "--benchmark_repetitions=2"], 0)
        self.assertEqual(len(self.names("mine_r.json")), 2 * rounds)


class OpenMpThreadsCase(Case):
    """OMP_NUM_THREADS is the default of --threads."""

    LIST = ("--model=lenet5", "--backend=onednn", "--benchmark_list_tests")

    def setUp(self):
        super().setUp()
        if "no:" in next(line for line in self.bench("bench_model", "--backends").stdout.splitlines()
                         if line.startswith("onednn")):
            self.skipTest("the reference has one thread")

    def names(self, *options, code=0, **variables):
        """What bench_model lists."""
        return self.bench("bench_model", *self.LIST, *options, env={**ENVIRONMENT, **variables}, code=code)

    def test_is_the_default(self):
        one = self.names("--threads=1").stdout
        self.assertEqual(self.names(OMP_NUM_THREADS="1").stdout, one)
        self.assertEqual(self.names(OMP_NUM_THREADS=" 1,4").stdout, one)
        self.assertEqual(self.names(OMP_NUM_THREADS="3").stdout, self.names("--threads=3").stdout)

    def test_gives_way_to_the_option_and_to_the_variable_of_layerbench(self):
        three = self.names("--threads=3").stdout
        self.assertEqual(self.names("--threads=3", OMP_NUM_THREADS="1").stdout, three)
        self.assertEqual(self.names(LAYERBENCH_THREADS="3", OMP_NUM_THREADS="1").stdout, three)
        self.assertEqual(self.names("--threads=3", OMP_NUM_THREADS="many").stdout, three)

    def test_that_is_no_number_is_refused(self):
        for value in ("many", "0", "-2", "1.5"):
            self.assertIn("OMP_NUM_THREADS", self.names(OMP_NUM_THREADS=value, code=2).stderr, value)

    def test_is_recorded_and_said(self):
        done = self.bench("bench_model", "--model=lenet5", "--benchmark_filter=conv1", "--max-time=0",
                          "--benchmark_repetitions=1", "--benchmark_out=r.json",
                          env={**ENVIRONMENT, "OMP_NUM_THREADS": "1"})
        self.assertIn("OMP_NUM_THREADS", done.stderr)
        context = json.loads((self.folder / "r.json").read_text())["context"]
        self.assertEqual(context["OMP_NUM_THREADS"], "1")
        self.assertIn("--threads=1", context["command"].split())
NETWORK = {"name": "tiny", "parameters": {"batch": 1}, "layers": [
    {"name": "c1", "op": "conv", "shape": {"n": "batch", "c": 8, "h": 16, "w": 16, "k": 16, "r": 3,
                                           "s": 3, "pad": 1}},
    {"name": "s1", "op": "softmax", "shape": {"dims": ["batch", 10]}, "after": []}]}
PLAN = {"name": "mine", "rules": [{"ops": ["conv", "deconv", "gemm"], "then": [["batchnorm"]]}]}
QUICK = ("--max-time=0", "--benchmark_repetitions=1", "--benchmark_min_time=0.001", "--threads=1",
         "--backend=reference", "--cache=hot")
MODULE = "def make():\n    raise RuntimeError('is not to be called')\n"


class FilesCase(Case):
    """Calls in a folder with results, a model and what else programs read."""

    def setUp(self):
        super().setUp()
        for name in ("tiny", "chain"):
            source = ROOT / f"tests/golden/{name}_results.json"
            (self.folder / f"{name}.json").write_bytes(source.read_bytes())
        self.write("net.json", json.dumps(NETWORK))
        self.write("plan.json", json.dumps(PLAN))
        self.write("net.py", MODULE)
        source = ROOT / "tests/data/onnx/last_step_script.onnx"
        (self.folder / "net.onnx").write_bytes(source.read_bytes())

    def write(self, name, text):
        (self.folder / name).write_text(text)
        return name

    def read(self, name):
        return (self.folder / name).read_text()

    def predict(self, *arguments, **options):
        return self.tool("predict", "tiny.json", "--model=small", *arguments, **options)

    def measure(self, *arguments, **options):
        return self.bench("bench_model", "--model=net.json", *QUICK, *arguments, **options)

    def from_export(self, *arguments, **options):
        return self.python("from_torch.py", f"--layerbench={TOOL}", "--from-export", *arguments,
                           **options)

    def program(self, commands):
        """A program that can take the place of layerbench."""
        self.write("program", f"#!/bin/sh\n{commands}\n")
        (self.folder / "program").chmod(0o755)
        return "program"

    def python(self, script, *arguments, code=0, **options):
        return self.call([sys.executable, ROOT / "tools" / script, *arguments], code, **options)

    def names(self):
        return sorted(str(path.relative_to(self.folder)) for path in self.folder.rglob("*"))


class OutputsKeepInputs(FilesCase):
    """Outputs named as inputs, and as files that somebody else wrote."""

    def refused(self, file, *arguments):
        """A call of the tool that must leave `file` alone."""
        for more in ((), ("--overwrite",)):
            before = self.names()
            done = self.tool(*arguments, *more, code=2, untouched=[file])
            self.assertIn("layerbench: ", done.stderr)
            self.assertEqual(done.stdout, "")
            self.assertEqual(self.names(), before)

    def test_by_any_name(self):
        (self.folder / "sub").mkdir()
        (self.folder / "sub/soft.json").symlink_to("../tiny.json")
        os.link(self.folder / "tiny.json", self.folder / "hard.json")
        for name in ("tiny.json", "./tiny.json", "sub/../tiny.json", "sub/soft.json", "hard.json",
                     self.folder / "tiny.json"):
            self.refused("tiny.json", "predict", "tiny.json", "-o", name)
        self.refused("tiny.json", "predict", "sub/soft.json", "-o", "hard.json")
        self.assertTrue((self.folder / "sub/soft.json").is_symlink())

    def test_of_every_subcommand(self):
        other = self.write("other.json", self.read("tiny.json"))
        self.refused("chain.json", "validate", "chain.json", "-o", "chain.json")
        self.refused("tiny.json", "validate", "chain.json", "--engine=tiny.json", "-o", "tiny.json")
        self.refused("other.json", "compare", "tiny.json", other, "-o", other)
        self.refused("other.json", "compare", "tiny.json,other.json", "chain.json", "-o", other)
        self.refused("net.json", "show", "net.json", "-o", "net.json")
        self.refused("plan.json", "show", "net.json", "--fusion=plan.json", "-o", "plan.json")
        self.refused("tiny.json", "report", "tiny.json", "-o", "tiny.json")
        self.refused("tiny.json", "deepbench", "tiny.json", "-o", "tiny.json")
        self.refused("net.onnx", "import", "onnx", "net.onnx", "-o", "net.onnx")
        study = sorted((ROOT / "shapes/studies").glob("*.json"))[0].stem
        self.refused("tiny.json", "study", study, "tiny.json", "-o", "tiny.json")
        command = [BENCH / "bench_model", "--model=net.json", *QUICK]
        self.call([TOOL, "versus", "-o", "net.json", "--overwrite", "--", *command, "--", *command], 2,
                  untouched=["net.json"])

    def test_of_every_option_of_predict(self):
        for option in ("--peaks", "--engine-overhead", "--network", "--model"):
            self.refused("net.json", "predict", "tiny.json", f"{option}=net.json", "-o", "net.json")
        scale = ("predict", "tiny.json", "--devices=2", "--network=ethernet_25")
        self.refused("tiny.json", *scale, "--trace=tiny.json")
        self.refused("tiny.json", *scale, "--trace=new.json", "-o", "new.json")

    def test_of_a_model_that_results_name(self):
        results = json.loads(self.read("tiny.json"))
        model = json.loads(self.read("net.json"))
        model["name"] = "small"
        self.write("net.json", json.dumps(model))
        results["context"]["shape_files"] = str(self.folder / "net.json")
        self.write("named.json", json.dumps(results))
        self.refused("net.json", "predict", "named.json", "-o", "net.json")

    def test_of_stdout(self):
        with open(self.folder / "tiny.json", "a", encoding="utf-8") as end:
            self.predict(code=2, stdout=end, untouched=["tiny.json"])

    def test_of_benchmark_programs(self):
        for more in ((), ("--overwrite",)):
            self.measure("--benchmark_out=net.json", *more, code=2, untouched=["net.json"])
            self.measure("--fusion=plan.json", "--benchmark_out=plan.json", *more, code=2,
                         untouched=["plan.json"])
        os.link(self.folder / "net.json", self.folder / "hard.json")
        self.measure("--benchmark_out=hard.json", code=2, untouched=["net.json"])
        self.measure("--benchmark_out=r.json")
        self.measure("--plans=r.json", "--benchmark_out=r.json", code=2, untouched=["r.json"])
        self.measure("--resume=r.json", "--benchmark_repetitions=2")

    def test_of_python_tools(self):
        export = self.write("export.json", self.exported())
        self.from_export(export, "-o", export, "--overwrite", code=2, untouched=[export])
        for option in ("-o", "--export"):
            self.python("from_torch.py", "net.py:make", option, "net.py", "--overwrite", code=2,
                        untouched=["net.py"])
        for option in ("-o", "--fusion-plan", "--exec-graph"):
            self.python("engines.py", "net.json", "--threads=1", f"--layerbench={TOOL}",
                        "--engines=openvino", "-o", "new.json", option, "net.json", "--overwrite",
                        code=2, untouched=["net.json"])
        (self.folder / "configured").mkdir()
        config = self.write("configured/config.json", self.read("net.json"))
        self.python("from_torch.py", "transformers:configured", "-o", config, "--overwrite", code=2,
                    untouched=[config])
        program = self.program("true")
        self.python("from_torch.py", "net.py:make", f"--layerbench=./{program}", "-o", program, "--overwrite",
                    code=2, untouched=[program])
        self.python("engines.py", "net.json", "--threads=1", f"--layerbench=./{program}", "-o", program,
                    "--overwrite", code=2, untouched=[program])

    @staticmethod
    def exported():
        return (ROOT / "tests/data/torch/in_place.json").read_text()

    def test_of_another_kind(self):
        export = self.write("export.json", self.exported())
        self.write("page.html", "<!DOCTYPE html>\n<p>mine")
        self.write("package.json", '{"name": "mine", "version": "1.0.0"}')
        self.write("Makefile", "all:\n")
        for file, *arguments in (
                ("chain.json", ), ("chain.json", "--format=json"), ("net.json", ), ("page.html", ),
                ("package.json", "--format=json"), ("net.py", ), ("Makefile", ),
                ("net.onnx", "--format=csv")):
            done = self.predict("-o", file, *arguments, code=2, untouched=[file])
            self.assertIn("--overwrite", done.stderr)
        self.tool("import", "onnx", "net.onnx", "-o", "package.json", code=2,
                  untouched=["package.json"])
        self.tool("report", "tiny.json", "-o", "chain.json", "--model=small", code=2,
                  untouched=["chain.json"])
        self.measure("--benchmark_out=plan.json", code=2, untouched=["plan.json"])
        self.measure("--benchmark_out=net.py", code=2, untouched=["net.py"])
        self.from_export(export, "-o", "net.py", code=2, untouched=["net.py"])
        self.from_export(export, "-o", "tiny.json", code=2, untouched=["tiny.json"])
        self.python("engines.py", "net.json", "--threads=1", f"--layerbench={TOOL}", "-o", "net.py",
                    code=2, untouched=["net.py"])
        self.write("image.xml", '<?xml version="1.0"?>\n<svg/>')
        self.python("engines.py", "net.json", "--threads=1", f"--layerbench={TOOL}", "-o", "new.json",
                    "--exec-graph=image.xml", code=2, untouched=["image.xml"])
        self.predict("-o", "net.py", "--overwrite")
        self.assertIn("small", self.read("net.py"))
        self.measure("--benchmark_out=plan.json", "--overwrite")
        self.assertIn("benchmarks", json.loads(self.read("plan.json")))

    def test_again_and_again(self):
        export = self.write("export.json", self.exported())
        for _ in range(2):
            self.predict("-o", "p.txt")
            self.predict("-o", "prediction")
            self.predict("-o", "p.json", "--format=json")
            self.predict("-o", "p.bmf", "--format=bmf")
            self.predict("-o", "p.csv", "--format=csv")
            self.tool("report", "tiny.json", "--model=small", "-o", "r.html")
            self.tool("report", "tiny.json", "--model=small", "-o", "r.md")
            self.tool("import", "onnx", "net.onnx", "-o", "m.json")
            self.measure("--benchmark_out=r.json")
            self.measure("--benchmark_out=r.csv", "--benchmark_out_format=csv")
            self.from_export(export, "-o", "t.json")
        self.tool("list", "-o", "p.txt")


class FailedWrites(FilesCase):
    """Full disks, limits of file sizes, and links that somebody planted."""

    @staticmethod
    def small_files():
        resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))

    def elsewhere(self):
        """An environment in which outputs that failed are kept in the folder, and where they are."""
        spare = self.folder / "spare"
        spare.mkdir(exist_ok=True)
        return {**ENVIRONMENT, "TMPDIR": str(spare)}, spare

    def test_a_limit_of_file_sizes_costs_no_result(self):
        self.write("p.txt", "old")
        before = self.names()
        done = self.predict("-o", "p.txt", code=1, untouched=["p.txt"], preexec_fn=self.small_files)
        self.assertIn("small", done.stdout)
        self.assertEqual(self.names(), before)
        done = self.measure("--benchmark_out=r.json", code=1, preexec_fn=self.small_files)
        self.assertIn("c1", done.stdout)
        self.assertIn("images/s", done.stdout)
        self.assertEqual(self.names(), before)

    def test_a_limit_of_file_sizes_costs_no_older_result(self):
        self.measure("--benchmark_out=r.json")
        before = self.names()
        self.measure("--benchmark_out=r.json", code=1, untouched=["r.json"],
                     preexec_fn=self.small_files)
        self.measure("--resume=r.json", "--benchmark_repetitions=3", code=1, untouched=["r.json"],
                     preexec_fn=self.small_files)
        self.assertEqual(self.names(), before)

    def test_a_full_disk_leaves_the_newest_state_elsewhere(self):
        environment, spare = self.elsewhere()
        done = self.measure("--benchmark_out=/dev/full", code=1, env=environment)
        self.assertIn("images/s", done.stdout)
        kept = list(spare.glob("*/full"))
        self.assertEqual(len(kept), 1)
        self.assertIn(str(kept[0]), done.stderr)
        self.assertEqual(json.loads(kept[0].read_text())["context"]["interrupted"], "0")
        self.tool("predict", kept[0])

    def test_a_full_disk_costs_no_prediction(self):
        environment, spare = self.elsewhere()
        done = self.predict("-o", "/dev/full", code=1, env=environment)
        kept = list(spare.glob("*/full"))
        self.assertEqual(len(kept), 1)
        self.assertIn(str(kept[0]), done.stderr)
        self.assertIn("small", kept[0].read_text())

    def test_python_tools_lose_nothing(self):
        export = ROOT / "tests/data/torch/in_place.json"
        before = self.names()
        done = self.from_export(export, "-o", "m.json", code=1, preexec_fn=self.small_files)
        self.assertIn("layers", json.loads(done.stdout))
        self.assertEqual(self.names(), before)
        environment, spare = self.elsewhere()
        self.from_export(export, "-o", "spare", code=2)
        for number, change in enumerate(("rmdir gone", "mkdir gone/m.json",
                                            """echo '{"mine": 1}' > gone/m.json""")):
            (self.folder / "gone").mkdir(exist_ok=True)
            program = self.program(f'{change}; echo "{number}"')
            done = self.python("from_torch.py", f"--layerbench=./{program}", "--from-export", export, "-o",
                               "gone/m.json", code=1, env=environment)
            kept = [file for file in spare.glob("*/m.json") if str(file) in done.stderr]
            self.assertEqual([file.read_text() for file in kept], [f"{number}\n"], change)
            shutil.rmtree(self.folder / "gone", ignore_errors=True)

    def test_planted_links_are_not_followed(self):
        self.write("victim", "precious")
        folder = self.folder / "planted"
        folder.mkdir()
        for number in range(os.getpid(), os.getpid() + 3000):
            (folder / f"p.txt.tmp{number}").symlink_to("../victim")
        self.predict("-o", "planted/p.txt", untouched=["victim"])
        self.assertIn("small", self.read("planted/p.txt"))
        (self.folder / "r.json.lock").symlink_to("victim_of_lock")
        self.measure("--benchmark_out=r.json", code=2)
        self.assertFalse((self.folder / "victim_of_lock").exists())


class StreamsAndPipes(FilesCase):
    """Closed streams, pipes in the place of files, and text that a terminal would obey."""

    @staticmethod
    def without(*streams):
        """What closes streams of a program before it starts."""
        def close():
            for stream in streams:
                os.close(stream)
        return close

    def shell(self, line, code=0, **options):
        """Calls a line of bash."""
        environment = {**ENVIRONMENT, "T": str(TOOL), "B": str(BENCH / "bench_model"),
                       "QUICK": " ".join(QUICK)}
        return self.call(["bash", "-c", line], code, env=environment, **options)

    def test_a_closed_stderr_ends_nothing(self):
        self.tool("predict", "absent.json", code=3, preexec_fn=self.without(2))
        self.tool("predict", "--nonsense", code=2, preexec_fn=self.without(2))
        self.measure("--nonsense", code=2, preexec_fn=self.without(2))
        self.predict("-o", "p.json", "--format=json", preexec_fn=self.without(0, 1, 2))
        self.assertIn("predictions", json.loads(self.read("p.json")))
        self.measure("--benchmark_out=r.json", "--benchmark_repetitions=2",
                     preexec_fn=self.without(0, 2))
        self.assertIn("benchmarks", json.loads(self.read("r.json")))
        self.from_export(ROOT / "tests/data/torch/in_place.json", "-o", "m.json",
                         preexec_fn=self.without(0, 2))
        self.assertIn("layers", json.loads(self.read("m.json")))

    def test_a_full_stderr_ends_nothing(self):
        with open("/dev/full", "w", encoding="utf-8") as full:
            self.tool("predict", "absent.json", code=3, stderr=full)
            self.measure("--nonsense", code=2, stderr=full)
            self.measure("--benchmark_out=r.json", stderr=full)

    def test_a_closed_stdout_is_a_failure(self):
        self.predict(code=1, preexec_fn=self.without(1))
        self.measure("--benchmark_out=r.json", code=1, preexec_fn=self.without(1))
        self.assertIn("benchmarks", json.loads(self.read("r.json")))
        self.from_export(ROOT / "tests/data/torch/in_place.json", code=1, preexec_fn=self.without(1))

    def test_pipes_that_nobody_writes_to(self):
        os.mkfifo(self.folder / "pipe")
        self.tool("predict", "pipe", code=3)
        self.tool("show", "./pipe", code=3)
        self.tool("import", "onnx", "pipe", code=3)
        self.measure("--model=./pipe", code=3)
        self.measure("--resume=pipe", code=2)
        self.measure("--resume=pipe", "--benchmark_out=r.json", code=3)
        self.tool("predict", "-", code=3, stdin=subprocess.DEVNULL)
        self.tool("predict", "-", code=3, preexec_fn=self.without(0))
        self.shell("true | $T predict -", code=3)

    def test_results_from_pipes(self):
        expected = self.predict().stdout
        for line in ("cat tiny.json | $T predict - --model=small",
                     "cat tiny.json | $T predict /dev/stdin --model=small",
                     "$T predict - --model=small < tiny.json",
                     "$T predict <(cat tiny.json) --model=small",
                     "mkfifo pipe; (sleep 0.3; cat tiny.json > pipe) & $T predict pipe --model=small"):
            self.assertEqual(self.shell(line).stdout, expected, line)
        self.shell("cat tiny.json | $T predict - - --model=small", code=2)
        self.shell("cat tiny.json | $T predict - /dev/stdin --model=small", code=2)
        self.shell("cat tiny.json | $T report - --model=small -o r.html")
        self.shell("$B --model=net.json $QUICK --resume=<(cat tiny.json)", code=2)

    def test_exports_from_pipes(self):
        with open(ROOT / "tests/data/torch/in_place.json", encoding="utf-8") as export:
            self.assertIn("layers", json.loads(self.from_export("-", stdin=export).stdout))

    def test_signals_end_a_conversion(self):
        export = ROOT / "tests/data/torch/in_place.json"
        for name in ("INT", "TERM", "HUP"):
            program = self.program(f"kill -{name} $PPID; exec sleep 60")
            done = self.python("from_torch.py", f"--layerbench=./{program}", "--from-export", export, code=130)
            self.assertEqual(done.stderr, "")

    def test_scripts_refuse_what_they_do_not_know(self):
        for script, *words in (("setup", "--library"), ("setup", "--dev", "--docs"), ("wheel", "--dev"),
                               ("quickstart", "resnet50"), ("release", "1.0"), ("docs_site", "public")):
            done = self.call([ROOT / f"tools/{script}.sh", *words], 2)
            self.assertRegex(done.stderr, "has no options|^usage:")

    def test_models_from_pipes(self):
        expected = self.tool("show", "net.json").stdout
        for line in ("cat net.json | $T show -", "cat net.json | $T show /dev/stdin",
                     "$T show <(cat net.json)"):
            self.assertEqual(self.shell(line).stdout, expected, line)
        for number, line in enumerate(("cat net.json | $B --model=-", "$B --model=- < net.json",
                                       "cat net.json | $B --model=/dev/stdin",
                                       "$B --model=<(cat net.json)")):
            self.shell(f"{line} $QUICK --benchmark_out=r{number}.json")
            self.tool("predict", f"r{number}.json")
        self.shell("cat net.json | $B --model=- $QUICK --fusion=<(cat plan.json)")
        self.shell("cat net.onnx | $T import onnx - --name=net -o from_pipe.json")
        self.tool("import", "onnx", "net.onnx", "--name=net", "-o", "from_file.json")
        self.assertEqual(json.loads(self.read("from_pipe.json"))["layers"],
                         json.loads(self.read("from_file.json"))["layers"])

    def test_a_small_stack_ends_with_a_message(self):
        def small():
            resource.setrlimit(resource.RLIMIT_STACK, (64 << 10, 64 << 10))
        self.assertIn("ulimit -s", self.predict(code=1, preexec_fn=small).stderr)
        self.assertIn("ulimit -s", self.measure(code=1, preexec_fn=small).stderr)

    def test_nothing_that_a_terminal_obeys_is_printed(self):
        red = "\x1b[31m\u009b31m\r"
        results = json.loads(self.read("tiny.json"))
        results["context"]["device"] = f"CPU{red}"
        for row in results["benchmarks"]:
            row["name"] = row["name"].replace("/tiny/", f"/tiny{red}/")
            row["run_name"] = row["name"]
        self.write("red.json", json.dumps(results))
        self.write("title.json", json.dumps({**NETWORK, "title": "two\nlines"}))
        self.write("escape.json", json.dumps({**NETWORK, "title": red}))
        outputs = [self.tool(*arguments, code=code) for code, arguments in (
            (0, ("predict", "red.json", "--allow-partial")),
            (3, ("predict", f"absent{red}.json")),
            (2, (f"predict{red}",)),
            (2, ("predict", "tiny.json", f"--nonsense{red}")),
            (5, ("show", f"absent{red}")),
            (3, ("show", "title.json")),
            (3, ("show", "escape.json")),
            (2, ("import", "onnx", "net.onnx", f"--title={red}")),
            (2, ("import", "onnx", "net.onnx", "--title=two\nlines")))]
        outputs += [self.measure("--benchmark_filter=\x1bc", code=5),
                    self.measure(f"--fusion=./{red}.json", code=3),
                    self.python("from_torch.py", "net.py:make", f"--title={red}", code=2)]
        for done in outputs:
            for text in (done.stdout, done.stderr):
                for letter in ("\x1b", "\u009b", "\r"):
                    self.assertNotIn(letter, text, done.args)


if __name__ == "__main__":
    TOOL, BENCH = (pathlib.Path(argument).resolve() for argument in sys.argv[1:3])
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
