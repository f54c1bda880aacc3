#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 the layerbench authors
# SPDX-License-Identifier: Apache-2.0
"""Tests tools/engines.py without any engine: engines_test.py TOOL BENCH_MODEL, the programs.

Stand-ins take the place of engine_worker.py and of bench_model. They write what they were asked to a
log, so the order of turns, the processors and the environment can be checked.
"""
import importlib
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from unittest import mock

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tools"))
import engine_worker  # noqa: E402 pylint: disable=wrong-import-position
import engines  # noqa: E402 pylint: disable=wrong-import-position
import output_file  # noqa: E402 pylint: disable=wrong-import-position

TOOL = BENCH_MODEL = None
# In the log: what ran, on which processors, with which variables of OpenMP.
LOG = """
import json, os, sys, time
def log(what):
    with open(os.environ["TEST_LOG"], "a") as file:
        print(json.dumps([what, sorted(os.sched_getaffinity(0)), sorted(
            name for name in os.environ if name.startswith("OMP_"))]), file=file, flush=True)
"""
WORKER = LOG + """
task, folder, names, *rest = sys.argv[1:]
model = json.load(open(os.path.join(folder, "model.json")))
dtype = model["dtype"] if task == "prepare" and model["dtype"] != "f32" else ""
log(" ".join([task, names, *rest[:1], *filter(None, [dtype])]))
fault = os.environ.get("TEST_FAULT", "")
if task == "prepare":
    assert model["layers"][0]["shape"]["n"] == model["batch"]
    print('{"error": "layer x: op y", "code": 4}' if fault == "prepare" else "{}", flush=True)
elif task == "profile":
    if rest[1:]:
        open(rest[1], "w").write("<net/>")
        open(os.path.splitext(rest[1])[0] + ".bin", "w").close()
    own = {"kernels": [layer["name"] for layer in model["layers"]], "lenet5": ["conv1"]}
    layers = [] if names == "torch_compile" else own.get(model["model"], [])
    print(json.dumps({"layers": [{"name": name, "type": "Conv", "layers": [name] if layers else [],
                                  "seconds": 1e-2 if "pool" in name else 1e-3}
                                 for name in layers or ["a"]]}))
else:
    print('{"version": "1.2", "settings": "some"}', flush=True)
    for number, _ in enumerate(sys.stdin):
        log("round " + names)
        if fault == "crash" and number == 1:
            sys.exit("a fault of the engine")
        if fault == "list" and number == 1:
            print("[]", flush=True)
        if fault == "wait" and number == 1:
            time.sleep(60)
        samples = [2000000 + 1000 * number] * 19 + [2100000]
        if "MALLOC_MMAP_MAX_" in os.environ:
            samples = [one - 1000000 for one in samples]
        print(json.dumps({"wall_ns": [2 * one for one in samples], "cpu_ns": samples,
                          "clock_ns": [50, 500], "preempted": 0.2 if number == 1 else 0.0,
                          "waited_s": 1.0, "waiting_cpu_s": 0.5 if fault == "spin" else 0.0}),
              flush=True)
"""
# A release is what its environment, which bisect makes, is named after. The newest takes a third less.
ONCE = LOG + """
import pathlib, time
task, folder, engine, threads = sys.argv[1:]
release = os.environ["VIRTUAL_ENV"].split("==")[1].split("+")[0]
log(" ".join([task, engine, threads, release]))
if release == os.environ.get("TEST_FAULT"):
    sys.exit("wrong results: y differs")
models = sorted(file.parent.name for file in pathlib.Path(folder).glob("*/model.json"))
new = release == "1.3"
profiles = pathlib.Path(folder, "profiles")
profiles.mkdir(exist_ok=True)
profiles.joinpath(f"{time.time_ns()}.json").write_text(json.dumps({
    "release": release + ".0+cpu", "steps": {
        name: 2e-3 if new else 3e-3 for name in models},
    "types": {name: {"Conv": 1e-3 if new else 2e-3, "Pool": 1e-3} for name in models}}))
print("model,ms", *(f"{name},{2 if new else 3}" for name in models), sep="\\n")
"""
# Makes an environment whose pip installs nothing.
PYTHON3 = """#!/bin/sh
[ "$1" = --version ] && { echo Python 3.11.2; exit; }
for place; do :; done
case "$TEST_FAULT $place" in "no environment "*==1.3*) exit 1;; esac
mkdir -p "$place/bin"
echo '#!/bin/sh' > "$place/bin/pip"
printf '#!/bin/sh\\nexec %s "$@"\\n' """ + sys.executable + """ > "$place/bin/python"
chmod +x "$place/bin/pip" "$place/bin/python"
"""
BENCH = "#!" + sys.executable + LOG + """
import signal
log(" ".join(["bench", *sys.argv[1:]]))
signal.signal(signal.SIGINT, lambda *_: (
    log("interrupted bench"), time.sleep(0.5), log("saved bench"), sys.exit(130)))
rounds = [int(one.split("=")[1]) for one in sys.argv if "repetitions" in one][-1]
if os.environ.get("TEST_FAULT") == "prepare bench":
    log("round of preparation")
    time.sleep(60)
for number in range(rounds):
    os.kill(os.getpid(), signal.SIGSTOP)
    log("round bench")
    if os.environ.get("TEST_FAULT") == "bench":
        print("layerbench: no", file=sys.stderr)
        sys.exit(3)
"""
# Prints what llama.cpp's tools/llama-bench/README.md documents of `-o json`, and like it refuses f32 in caches.
LLAMA_BENCH = "#!" + sys.executable + LOG + """
import shutil
values = dict(zip(sys.argv[1::2], sys.argv[2::2]))
prompt, generated = int(values["-p"]), int(values["-n"])
log(" ".join(["llama-bench", *sys.argv[3:]]))
if prompt:
    shutil.copy(values["-m"], os.environ["TEST_LOG"] + ".gguf")
if values["-ctk"] == "f32" or os.environ.get("TEST_FAULT") == "llama":
    sys.exit("error: failed to load model")
samples = [(2000000 * prompt + 5000000 * generated) * (10 + i) // 10 for i in range(int(values["-r"]))]
test = {"build_commit": "8cf427ff", "build_number": 5163, "cpu_info": "a CPU", "backends": "CPU",
        "model_type": "llama ?B", "n_batch": 2048, "n_ubatch": 512, "n_threads": int(values["-t"]),
        "type_k": values["-ctk"], "type_v": values["-ctv"], "n_prompt": prompt, "n_gen": generated,
        "n_depth": int(values.get("-d", 0)), "avg_ns": sum(samples) // len(samples),
        "samples_ns": samples, "samples_ts": [1e9 * (prompt + generated) / one for one in samples]}
print(json.dumps([test] if os.environ.get("TEST_FAULT") != "no test" else []))
"""


def small_llama():
    """llama_1b with one of its blocks, and small sizes."""
    text = (ROOT / "shapes/models/llama_1b.json").read_text()
    for old, new in (("128256", "96"), ("8192", "128"), ("2048", "64"), ("512", "32"),
                     ('"heads": 32', '"heads": 4'), ('heads": 8', 'heads": 2'),
                     ('"d": 64', '"d": 16'), ("llama_1b", "small_llama")):
        text = text.replace(old, new)
    model = json.loads(text)
    del model["$schema"]
    blocks = {f"layer{i}_" for i in range(1, 16)}
    model["layers"] = [layer for layer in model["layers"]
                       if not any(layer["name"].startswith(block) for block in blocks)]
    return model


class Run(unittest.TestCase):
    maxDiff = 2000

    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)
        self.file = self.folder / "r.json"
        self.log = self.folder / "log"
        (self.folder / "worker.py").write_text(WORKER)
        self.bench = self.folder / "bench_model"
        self.bench.write_text(BENCH)
        self.bench.chmod(0o755)

    def command(self, *arguments, worker=None):
        worker = worker or [sys.executable, str(self.folder / "worker.py")]
        code = (f"import sys; sys.path.insert(0, {str(ROOT / 'tools')!r}); import engines; "
                f"engines.WORKER = {worker!r}; engines.overhead_models.IMAGE = 16; "
                "engines.overhead_models.MOST_CHANNELS = 64; engines.overhead_models.COLUMNS = 256; "
                "engines.overhead_models.BATCH = 3; engines.CLEAR = 0; "
                "sys.exit(engines.main(sys.argv[1:]))")
        return [sys.executable, "-c", code, *map(str, arguments), "-o", str(self.file),
                "--layerbench", TOOL]

    def environment(self, fault=""):
        own = {name: value for name, value in os.environ.items() if not name.startswith("OMP_")}
        return {**own, "TEST_LOG": str(self.log), "TEST_FAULT": fault,
                "OMP_PROC_BIND": "close", "MALLOC_ARENA_MAX": "1"}

    def run_tool(self, *arguments, fault="", worker=None):
        return subprocess.run(self.command(*arguments, worker=worker), capture_output=True, text=True,
                              check=False, env=self.environment(fault))

    def logged(self):
        return [json.loads(line) for line in self.log.read_text().splitlines()]

    def result(self):
        return json.loads(self.file.read_text())

    def test_turns(self):
        done = self.run_tool("lenet5", "--threads=1", "--batch=2", "--engines=torch,openvino",
                             "--rounds=2", "--bench", self.bench, "--bench-options=--chain")
        self.assertEqual(done.returncode, 0, done.stderr)
        layers = self.folder / "r_layers.json"
        self.assertEqual([what for what, _, _ in self.logged()], [
            "prepare torch,openvino", "run torch 1", "run openvino 1",
            f"bench --model=lenet5 --threads=1 --benchmark_repetitions=2 --benchmark_out={layers} "
            "--speed=any --batch=2 --dtype=f32 --max-time=0 --turns --chain",
            "round torch", "round openvino", "round bench", "profile torch 1", "profile openvino 1",
            "round openvino", "round bench", "round torch", "profile torch 1", "profile openvino 1"])
        processors = engines.processors_for(1)
        for what, own, variables in self.logged():
            self.assertEqual(own, processors, what)
            self.assertEqual(variables, ["OMP_PROC_BIND"] if "bench" in what else
                             ["OMP_NUM_THREADS"], what)

    def test_three_rounds_at_most_have_profiles(self):
        self.assertEqual(self.run_tool("lenet5", "--threads=1", "--engines=torch",
                                       "--rounds=7").returncode, 0)
        after = [self.logged()[i - 1][0] for i, (what, _, _) in enumerate(self.logged())
                 if what == "profile torch 1"]
        self.assertEqual(after, ["round torch"] * 3)

    def test_numbers_of_rounds_that_differ(self):
        for more in (1, 9):
            with self.subTest(more):
                done = self.run_tool("lenet5", "--threads=1", "--engines=torch", "--rounds=3",
                                     "--bench", self.bench,
                                     f"--bench-options=--benchmark_repetitions={more}")
                self.assertEqual(done.returncode, 2)
                self.assertIn("rounds than --rounds", done.stderr)

    def test_the_result_file(self):
        done = self.run_tool("lenet5", "--threads=1", "--engines=torch", "--rounds=3")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("1 of 3 rounds were disturbed", done.stderr)
        result = self.result()
        name = "chain/inference/torch/f32/lenet5/batch:1"
        rows = result["benchmarks"]
        self.assertEqual([row["name"] for row in rows], [name] * 3 + [
            f"{name}_{end}" for end in ("mean", "median", "stddev", "cv")])
        self.assertEqual([row["real_time"] for row in rows[:3]], [2000000, 2001000, 2002000])
        self.assertEqual([row["repetition_index"] for row in rows[:3]], [0, 1, 2])
        self.assertEqual([row["disturbed"] for row in rows[:3]], [0, 1, 0])
        self.assertEqual(rows[4]["real_time"], 2001000)
        self.assertAlmostEqual(rows[6]["real_time"], 1000 / 2001000)
        self.assertAlmostEqual(rows[0]["wall_s"], 2 * rows[0]["cpu_s"])
        context = result["context"]
        self.assertEqual([context[key] for key in ("threads", "torch_version", "torch_settings",
                                                   "interrupted", "layerbench_schema",
                                                   "MALLOC_ARENA_MAX")],
                         ["1", "1.2", "some", "0", "1", "1"])
        self.assertIn("0.000 s of processor time in 3.0 s", context["torch_waiting"])
        self.assertEqual(result["engine_layers"]["inference/torch/f32/lenet5/batch:1"][0]["layers"],
                         ["conv1"])
        read = subprocess.run([TOOL, "validate", self.file], capture_output=True, text=True,
                              check=False)
        self.assertEqual(read.returncode, 4, read.stderr)
        self.assertIn("no manifest has the case", read.stderr)
        self.assertEqual([entry.name for entry in self.folder.iterdir()
                          if "r.json" in entry.name or entry.name[0] == "."], ["r.json"])

    def test_several_threads_are_in_the_names_and_timed_by_the_wall_clock(self):
        if len(os.sched_getaffinity(0)) < 2:
            self.skipTest("one processor")
        self.assertEqual(self.run_tool("lenet5", "--threads=1,2", "--batch=1,3", "--engines=torch",
                                       "--rounds=1").returncode, 0)
        times = {row["name"]: row["real_time"] for row in self.result()["benchmarks"]
                 if row["run_type"] == "iteration"}
        self.assertEqual(times, {
            f"chain/inference/torch/f32/lenet5/batch:{batch}/threads:{threads}":
            2000000 * threads for batch in (1, 3) for threads in (1, 2)})
        self.assertNotIn("threads", self.result()["context"])

    def test_the_graph_of_openvino(self):
        graph, other = self.folder / "graph.xml", self.folder / "graph.bin"
        other.write_text("mine")
        self.assertEqual(self.run_tool("lenet5", "--threads=1", "--rounds=1", "--exec-graph",
                                       graph).returncode, 0)
        self.assertEqual([graph.read_text(), other.read_text()], ["<net/>", "mine"])

    def test_a_plan_without_rules_costs_no_round(self):
        done = self.run_tool("lenet5", "--threads=1", "--rounds=1", "--engines=openvino", "--fusion-plan",
                             self.folder / "plan.json")
        self.assertEqual(done.returncode, 4)
        self.assertEqual(self.result()["context"]["interrupted"], "0")

    def test_a_plan_that_no_disk_takes(self):
        options = mock.Mock(fusion_plan="/dev/full", model="lenet5", bench_options=[], overwrite=False,
                            bench=None, layerbench=None, llama_bench=None)
        results = mock.Mock(layers={"inference/openvino/f32": []})
        with mock.patch.object(engines, "fusion_plan", lambda *_: ({"rules": [1]}, [])), \
                mock.patch("tempfile.gettempdir", lambda: str(self.folder)), \
                self.assertRaises(engines.Failed) as raised:
            engines.write_plan(options, {}, results)
        self.assertEqual(raised.exception.code, 1)

    def test_integers_are_for_the_engines_that_have_them(self):
        done = self.run_tool("lenet5", "--threads=1", "--batch=2", "--dtype=s8", "--rounds=1",
                             "--bench", self.bench, "--bench-options=--fusion=int8_default")
        self.assertEqual(done.returncode, 0, done.stderr)
        commands = [what for what, _, _ in self.logged()]
        self.assertEqual(commands[0], "prepare onnxruntime,openvino s8")
        self.assertTrue(any(what.startswith("bench") and "--dtype=s8" in what for what in commands))
        self.assertEqual(set(self.result()["engine_layers"]),
                         {f"inference/{engine}/s8/lenet5/batch:2" for engine in engines.IN_S8})

    def test_the_overhead_is_a_line_through_the_differences(self):
        def case(blocks, predicted, measured):
            return {"case": f"inference/onednn/f32/tiny_{blocks}/batch:1/fusion:openvino"
                            "/memory:reused/threads:2",
                    "model": f"tiny_{blocks}", "backend": "onednn", "dtype": "f32", "threads": 2,
                    "cache": "model", "predicted_seconds": predicted, "measured_seconds": measured}
        few, many = case(10, 1e-5, 4e-5), case(50, 5e-5, 12e-5)
        layers = [{"count": 1, "inserted": False}, {"count": 5, "inserted": True}]
        predictions = {"predictions": [
            {"case": few["case"], "threads": 2, "layers": layers[:1] * 10 + layers[1:]},
            {"case": many["case"], "threads": 2, "layers": layers[:1] * 50}]}
        validated = {"engine": "openvino", "cases": [few, many]}
        found, = engines.overheads_of(predictions, validated, {})
        self.assertAlmostEqual(found.pop("call_seconds"), 1e-6)
        self.assertAlmostEqual(found.pop("step_seconds"), 2e-5)
        self.assertEqual(found, {"engine": "openvino", "backend": "onednn", "dtype": "f32",
                                 "threads": 2, "cache": "model",
                                 "parameters": {"memory": "reused"}})
        nodes = [{"layers": [f"conv{i}"]} for i in range(30)]
        with self.assertRaises(engines.Failed) as raised:
            engines.overheads_of(predictions, validated,
                                 {"inference/openvino/f32/tiny_10/batch:1/threads:2": nodes})
        self.assertIn("10 calls were timed, but the engine makes 30", str(raised.exception))

    def test_a_failure_costs_no_other_overhead(self):
        overhead = {"engine": "torch", "threads": 1, "call_seconds": 1, "step_seconds": 1}
        validation = {"engines": [{"engine": "openvino"}, {"engine": "torch"}]}

        def overheads_of(_, validated, __):
            if validated["engine"] == "openvino":
                raise engines.Failed("other calls", 2)
            return [overhead]
        for large, code in ((lambda *_: 1.0, 2), (mock.Mock(side_effect=engines.Failed("large", 1)), 1)):
            results = mock.Mock(overheads=[], layer_files=[], interrupted=True, **{"text.return_value": ""})
            with mock.patch.multiple(engines, show=mock.DEFAULT, measure=mock.DEFAULT, overheads_of=overheads_of,
                                     ask=lambda *_: validation, large_byte_seconds=large), \
                    self.assertRaises(engines.Failed) as raised:
                engines.measure_overhead(mock.Mock(threads=[1]), results)
            self.assertEqual((raised.exception.code, results.overheads), (code, [overhead]))
            self.assertEqual(results.interrupted, code == 1)

    def test_fields_that_are_not_built_are_refused(self):
        torch = mock.MagicMock()
        torch.nn.Module = type("Module", (), {})
        with mock.patch.dict(sys.modules, {"torch": torch, "torch.nn": torch.nn,
                                           "torch.nn.functional": torch.nn.functional}):
            engine_model = importlib.import_module("engine_model")
        conv = {"n": 1, "c": 1, "h": 9, "w": 9, "k": 1, "r": 3, "s": 3}
        gemm = {"m": 4, "n": 4, "k": 4}
        engine_model.Layer({"name": "a", "op": "conv", "shape": {**conv, "pad": [1, 2]}})
        for word, layer in (
                ("depth_pad, t", {"op": "conv", "shape": {**conv, "t": 3, "depth_pad": 1}}),
                ("post", {"op": "conv", "shape": {**conv, "post": ["relu"]}}),
                ("weights_type", {"op": "gemm", "shape": {**gemm, "weights_type": "s4"}}),
                ("bf16", {"op": "gemm", "type": "bf16", "shape": gemm})):
            with self.assertRaisesRegex(engine_model.Unsupported, f"layer a: .*{word}"):
                engine_model.Layer({"name": "a", **layer})

    def test_events_of_compiled_pytorch_are_of_a_library(self):
        for event, library in (("aten::mkldnn_convolution", "oneDNN"),
                               ("aten::_slow_conv2d_forward", "MKL"), ("aten::addmm", "MKL"),
                               ("mkl::_mkl_linear", "MKL"), ("aten::max_pool2d", "PyTorch"),
                               ("## Call CompiledFxGraph f5fdgd ##", "compiled code"),
                               ("TorchDynamo Cache Lookup", "PyTorch")):
            self.assertEqual(engine_worker.library_of(event), library)

    def test_a_process_may_load_several_models_in_pytorch(self):
        torch, threads = mock.MagicMock(), [4]
        torch.__version__, torch.__config__ = "2", mock.MagicMock(**{"show.return_value": ""})
        torch.get_num_interop_threads = lambda: threads[-1]

        def set_once(number):
            if threads[1:]:
                raise RuntimeError("cannot set number of interop threads")
            threads.append(number)
        torch.set_num_interop_threads = set_once
        with tempfile.TemporaryDirectory() as name, \
                mock.patch.dict(sys.modules, torch=torch, engine_model=mock.MagicMock()):
            pathlib.Path(name, "model.json").write_text("{}")
            for _ in range(2):
                engine_worker.Torch(pathlib.Path(name), 1, [], False)
        self.assertEqual(threads, [4, 1])

    def test_layers_have_the_median_of_several_profiles(self):
        profiles = [[{"name": "a", "layers": ["a"], "seconds": seconds},
                     {"name": "b", "layers": [], "seconds": 4 - seconds}] for seconds in (1, 3, 2)]
        profiles[1].reverse()
        self.assertEqual(engines.middle_of(profiles),
                         [{"name": "a", "layers": ["a"], "seconds": 2},
                          {"name": "b", "layers": [], "seconds": 2}])

    def test_a_factor_is_of_kernels_that_are_clearly_slower_or_faster(self):
        def layer(kernel, predicted, engine, calls=1):
            return {"kernel": kernel, "predicted_seconds": predicted, "engine_seconds": engine,
                    "calls": calls}
        # The profile has 16 ms beside its calls' overhead, the step 32: a profiler slows down.
        case = {"case": "x", "measured_seconds": 33.7e-3, "layers": [
            layer("lrn", 1e-3, 1.1e-3), layer("lrn", 1e-3, 4.2e-3, calls=2),
            layer("conv", 4e-3, 5.1e-3), layer("conv", 4e-3, 2.1e-3),
            layer("pool_max", 4e-3, 1.1e-3), layer("gemm", 4e-3, 2.3e-3),
            layer("activation_relu", 1e-3, 0.0)],
            "in_no_layer": [{"type": "Reorder", "seconds": 0.8e-3}]}
        overhead = {"call_seconds": 1e-4, "step_seconds": 9e-4}
        case["layers"].append({**case["layers"][0], "kernel": "", "engine_seconds": 0})
        found = engines.kernel_factors(8, case, overhead)["kernel_factors"]
        # Convolutions are slower and faster, products about as fast; another node has the relu.
        self.assertEqual(set(found), {"lrn", "pool_max"})
        self.assertAlmostEqual(found["lrn"], 4)
        self.assertAlmostEqual(found["pool_max"], 0.5)
        self.assertEqual(engines.kernel_factors(8, {"case": "x"}, overhead), {})
        with self.assertRaises(engines.Failed):
            engines.kernel_factors(8, {**case, "measured_seconds": 1e-3}, overhead)

    def test_the_overhead_of_two_engines(self):
        # Of both at once: it takes long.
        done = self.run_tool("--overhead", "--threads=1", "--engines=torch_compile,torch", "--rounds=2",
                             "--bench", BENCH_MODEL,
                             "--bench-options=--backend=reference --benchmark_min_time=0")
        self.assertEqual(done.returncode, 0, done.stderr)
        with self.subTest("is measured on tiny models"):
            self.check_tiny_models()
        with self.subTest("has that of new memory, the difference to memory that is kept"):
            self.check_new_memory()

    def overhead_of(self, engine):
        found, = (one for one in self.result()["engine_overheads"] if one["engine"] == engine)
        return found

    def check_tiny_models(self):
        result = self.result()
        self.assertEqual([row["name"] for row in result["benchmarks"]
                          if row["run_type"] == "iteration" and row["repetition_index"] == 0 and
                          "/torch_compile/" in row["name"]],
                         [f"chain/inference/torch_compile/f32/tiny_{blocks}/batch:1"
                          for blocks in engines.overhead_models.BLOCKS] +
                         ["chain/inference/torch_compile/f32/kernels/batch:3"])
        overhead = self.overhead_of("torch_compile")
        self.assertEqual(overhead["backend"], "reference")
        self.assertNotIn("large_bytes", overhead)
        self.assertNotIn("kernel_factors", overhead)  # its profile names no layers
        layers = self.folder / "r_layers_tiny_50.json"
        with_it = json.loads(subprocess.check_output(
            [TOOL, "predict", layers, "--as=torch_compile", f"--engine-overhead={self.file}",
             "--format=json"]))["predictions"][0]
        self.assertEqual(with_it["engine"]["calls"], 3 * 50)
        # Both models lie on the line, so that with the overhead they take what the engine took.
        rounds = [row["mean_s"] for row in result["benchmarks"]
                  if row["run_type"] == "iteration" and "/torch_compile/f32/tiny_50" in row["name"]]
        self.assertAlmostEqual(with_it["seconds_per_step"], sum(rounds) / 2, delta=1e-6)

    def check_new_memory(self):
        overhead = self.overhead_of("torch")
        self.assertEqual(overhead["large_bytes"], 2**25)
        large = 4 * 64 * 400 * 400
        self.assertGreater(large, 2**25)
        self.assertAlmostEqual(
            overhead["large_byte_seconds"] * large * engines.overhead_models.LARGE_LAYERS, 1e-3)
        factors = overhead["kernel_factors"]
        self.assertEqual({"pool_max", "pool_max_dense", "pool_max_small", "pool_average",
                          "pool_average_dense", "pool_average_small", "pool_global", "conv", "conv_1x1",
                          "conv_depthwise", "conv_grouped", "gemm", "gemm_one_row",
                          "gemm_few_rows", "batchnorm", "batchnorm_small",
                          "lrn"} - set(factors), set())
        with_it = json.loads(subprocess.check_output(
            [TOOL, "predict", self.folder / "r_layers_kernels.json", "--as=torch",
             f"--engine-overhead={self.file}", "--format=json"]))["predictions"][0]
        kernels = with_it["engine"]["kernel_seconds"]
        self.assertEqual(set(kernels), set(factors))
        lrn = sum(layer["count"] * layer["seconds"] for layer in with_it["layers"]
                  if layer["op"] == "lrn")
        self.assertAlmostEqual(kernels["lrn"], lrn * (factors["lrn"] - 1), delta=1e-9)
        self.assertAlmostEqual(
            with_it["overhead_seconds"],
            overhead["step_seconds"] + with_it["engine"]["calls"] * overhead["call_seconds"] +
            sum(kernels.values()), delta=1e-9)

    def test_an_engine_that_does_not_wait_is_named(self):
        done = self.run_tool("lenet5", "--threads=1", "--engines=torch", "--rounds=2", fault="spin")
        self.assertIn("torch: used 1.00 s of processor time in the 2.0 s", done.stderr)

    def llama(self, *arguments, fault=""):
        path = self.folder / "small_llama.json"
        path.write_text(json.dumps(small_llama()))
        program = self.folder / "llama-bench"
        program.write_text(LLAMA_BENCH)
        program.chmod(0o755)
        return self.run_tool(path, "--threads=1", "--llama-bench", program, "--rounds=3",
                             "--prompt=4", "--generate=10", *arguments, fault=fault)

    def test_llama_cpp_beside_the_prediction(self):
        done = self.llama("--context=7", "--bench", BENCH_MODEL, "--bench-options=--max-time=0")
        self.assertEqual(done.returncode, 0, done.stderr)
        own = "-t 1 -r 3 -o json -ngl 0 -ctk f16 -ctv f16"
        self.assertEqual([what for what, _, _ in self.logged()], [
            f"llama-bench {own} -p 4 -n 0", f"llama-bench {own} -p 0 -n 10 -d 7"])
        for what, own, variables in self.logged():
            self.assertEqual((own, variables), (engines.processors_for(1), ["OMP_NUM_THREADS"]), what)
        self.assertEqual(self.result()["context"]["clock"], "wall time")
        times = {}
        for row in self.result()["benchmarks"]:
            self.assertEqual(set(row) & set(engines.NOT_BY_LLAMA), set())
            if row["run_type"] == "iteration":
                times.setdefault(row["name"], []).append(row["real_time"])
        name = "chain/inference/llama_cpp/f32/small_llama/batch:1/tokens:"
        self.assertEqual(times, {f"{name}4": [8e6, 8.8e6, 9.6e6],
                                 f"{name}1/context:12": [5e6, 5.5e6, 6e6]})
        self.assertEqual(self.result()["context"]["llama_cpp_version"], "8cf427ff")
        # Of the medians: 4 tokens in 8.8 ms, and 5.5 ms for each.
        for part in ("454.5 tokens/s", "181.8 tokens/s", " predicted (", "gemm"):
            self.assertIn(part, done.stderr)
        read = subprocess.run(
            [TOOL, "validate", "--format=json", f"--engine={self.file}", "--model",
             self.folder / "small_llama.json", *sorted(self.folder.glob("r_layers_*.json"))],
            capture_output=True, text=True, check=False)
        self.assertEqual(read.returncode, 0, read.stderr)
        engine, = json.loads(read.stdout)["engines"]
        self.assertEqual((engine["engine"], len(engine["cases"])), ("llama_cpp", 2))

    def test_the_model_that_llama_cpp_reads(self):
        for dtype, size, narrow in (("f32", 4, None), ("bf16", 2, None), ("q4_0", 18 / 32, "s4")):
            with self.subTest(dtype):
                self.assertEqual(self.llama(f"--dtype={dtype}", "--overwrite").returncode, 0)
                written = pathlib.Path(f"{self.log}.gguf")
                read = subprocess.run([TOOL, "import", "gguf", written], capture_output=True,
                                      text=True, check=False)
                self.assertEqual(read.returncode, 0, read.stderr)
                layers = json.loads(read.stdout)["layers"]
                for layer in layers:
                    self.assertEqual(layer["shape"].pop("weights_type", None),
                                     narrow if layer["op"] == "gemm" else None)
                    layer["shape"].pop("group_size", None)
                self.assertEqual(layers, small_llama()["layers"])
                parameters = 64 * (96 + 2 * 64 + 2 * 32 + 3 * 128)
                self.assertLess(abs(written.stat().st_size - size * parameters - 4 * 3 * 64), 2500)
                # Weights of any block differ.
                self.assertGreater(len(set(written.read_bytes()[-4000:-1000])), 100)

    def test_llama_cpp_fails(self):
        for fault, text in (("llama", "failed to load model"), ("no test", "no result")):
            done = self.llama(fault=fault)
            self.assertEqual(done.returncode, 1)
            self.assertIn(text, done.stderr)
            self.assertFalse(self.file.exists())
        other = self.run_tool("gpt2", "--llama-bench", self.folder / "llama-bench")
        self.assertEqual(other.returncode, 4)
        self.assertIn("llama_1b", other.stderr)
        for wrong in (["--dtype=bf16"], ["--llama-bench=/nowhere"], ["--prompt=0"],
                      ["--engines=torch"], ["--dtype=s8"]):
            more = [] if wrong == ["--dtype=bf16"] else [f"--llama-bench={self.folder}/llama-bench"]
            self.assertEqual(self.run_tool("lenet5", *more, *wrong).returncode, 2, wrong)

    def compare_releases(self, fault=""):
        (self.folder / "worker.py").write_text(
            f"import sys\nexec({ONCE!r} if sys.argv[1] == 'once' else {WORKER!r})\n")
        python3 = self.folder / "python3"
        python3.write_text(PYTHON3)
        python3.chmod(0o755)
        command = self.command("lenet5,lenet5_modern", "--threads=1", "--rounds=5",
                               "--releases=onnxruntime=1.1,1.2,1.3", "--releases=torch=1.2,1.3",
                               "--install-dir", self.folder / "installed")
        environment = {**self.environment(fault), "PATH": f"{self.folder}:{os.environ['PATH']}"}
        return subprocess.run(command, capture_output=True, text=True, check=False, env=environment)

    def test_releases_are_compared_with_the_ones_before(self):
        done = self.compare_releases()
        self.assertEqual(done.returncode, 0, done.stderr)
        changes = self.result()["engine_releases"]
        self.assertEqual([(one["engine"], one["base"], one["release"]) for one in changes],
                         [("onnxruntime", "1.1", "1.2"), ("onnxruntime", "1.2", "1.3"),
                          ("torch", "1.2", "1.3")])
        self.assertEqual([[(row["name"], row["verdict"]) for row in one["rows"]] for one in changes[:2]],
                         [[("lenet5", verdict), ("lenet5_modern", verdict)]
                          for verdict in ("same", "faster")])
        row = changes[1]["rows"][0]
        self.assertAlmostEqual(row["ratio"], 2 / 3, places=3)
        self.assertEqual(row["seconds"], [3e-3, 2e-3])
        self.assertEqual(row["types"], [{"Conv": 2e-3, "Pool": 1e-3}, {"Conv": 1e-3, "Pool": 1e-3}])
        once = [entry for entry in self.logged() if entry[0].startswith("once")]
        self.assertEqual({what for what, _, _ in once},
                         {"once onnxruntime 1 1.1", "once onnxruntime 1 1.2", "once onnxruntime 1 1.3",
                          "once torch 1 1.2", "once torch 1 1.3"})
        for what, own, variables in once:
            self.assertEqual((own, variables), (engines.processors_for(1), ["OMP_NUM_THREADS"]), what)

    def test_comparisons_are_kept_where_python_makes_no_environment(self):
        done = self.compare_releases(fault="no environment")
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertEqual([(one["base"], one["release"]) for one in self.result()["engine_releases"]],
                         [("1.1", "1.2")])
        self.assertEqual(self.result()["context"]["interrupted"], "1")

    def test_a_release_with_wrong_results_is_skipped(self):
        done = self.compare_releases(fault="1.2")
        # Of torch none is left to compare.
        self.assertNotEqual(done.returncode, 0)
        changes = self.result()["engine_releases"]
        self.assertIn("wrong results", changes[0]["reason"])
        self.assertEqual((changes[1]["base"], changes[1]["release"]), ("1.1", "1.3"))
        self.assertEqual(self.result()["context"]["interrupted"], "1")

    def test_wrong_command_lines(self):
        most = len(os.sched_getaffinity(0))
        for wrong in (["--batch=0"], ["--batch=x"], ["--threads=1,1"], [f"--threads={most + 1}"],
                      ["--engines=tensorflow"], ["--rounds=0"], ["--bench=/nowhere"],
                      ["--dtype=s8", "--engines=torch"], ["--dtype=u4"], ["--exec-graph=x", "--batch=1,2"],
                      ["--overhead", "--bench", self.bench],
                      ["--releases=keras=1,2"], ["--releases=torch=1"],
                      ["--releases=torch=1,2", "--dtype=s8"], ["--releases=torch=1,2", "--rounds=2"],
                      ["--releases=torch=1,1.0"], ["--releases=torch=1,v2"],
                      ["--releases=torch=1,2-rc1"], ["--releases=torch=1,2", "--engines=torch"],
                      ["--releases=torch=1,2", "--bench-options=--chain"],
                      ["--releases=torch=1,2", "--llama-bench", self.bench],
                      ["--releases=torch=1,2", "--install-dir=x", "--bench", self.bench],
                      ["--install-dir=x"], ["--prompt=4"], ["--generate=4"], ["--context=0"],
                      ["--bench-options=--chain"], ["--bench", self.bench, "-o", "-"],
                      ["--fusion-plan", self.folder / "r_layers.json", "--bench", self.bench],
                      ["--fusion-plan=x", "--engines=torch"], ["-o", "/nowhere/r.json"]):
            with self.subTest(wrong):
                command = self.command("lenet5")
                done = subprocess.run([*command, *wrong], capture_output=True, text=True, check=False)
                self.assertEqual(done.returncode, 2)
                self.assertIn("/nowhere" if wrong[0] == "-o" else wrong[0].split("=")[0], done.stderr)
        self.assertFalse(self.log.exists())

    def test_a_model_twice(self):
        done = self.run_tool("lenet5,lenet5", "--threads=1", "--rounds=5", "--releases=torch=1,2")
        self.assertEqual(done.returncode, 2)
        self.assertIn("lenet5 twice", done.stderr)
        self.assertFalse(self.log.exists())

    def test_bad_models(self):
        bad = self.folder / "bad.json"
        bad.write_text('{"name": "bad", "layers": [{"name": "a", "op": "conv", "shape": {}}]}')
        done = self.run_tool(bad)
        self.assertEqual(done.returncode, 3)
        self.assertIn("/layers/0", done.stderr)
        self.assertEqual(self.run_tool("unheard_of").returncode, 5)
        self.assertEqual(self.run_tool("deepbench_training").returncode, 2)
        done = self.run_tool("lenet5", fault="prepare")
        self.assertEqual((done.returncode, done.stderr), (4, "layer x: op y\n"))
        self.assertFalse(self.file.exists())

    def test_missing_packages(self):
        # Without its site-packages, Python has none of them.
        worker = [sys.executable, "-S", "-E", str(ROOT / "tools/engine_worker.py")]
        done = self.run_tool("lenet5", "--engines=openvino", worker=worker)
        self.assertEqual(done.returncode, 77)
        self.assertIn("pip install numpy onnx onnxscript openvino torch\n", done.stderr)

    def test_what_was_measured_is_kept(self):
        for fault, code in (("crash", 1), ("bench", 3), ("list", 1)):
            with self.subTest(fault):
                done = self.run_tool("lenet5", "--threads=1", "--engines=torch,openvino",
                                     "--bench", self.bench, fault=fault)
                self.assertEqual(done.returncode, code)
                self.assertIn({"crash": "a fault of the engine", "bench": "layerbench: no",
                               "list": "TypeError"}[fault], done.stderr)
                result = self.result()
                self.assertEqual(result["context"]["interrupted"], "1")
                self.assertEqual(len(result["benchmarks"]), 10)

    def interrupted(self, number, fault, turns, *arguments, again=None):
        """The exit code of a run that gets a signal once the log has `turns` lines with `round`, and again
        once it has a line with `again`."""
        self.log.unlink(missing_ok=True)
        process = subprocess.Popen(
            self.command("lenet5", "--threads=1", "--engines=torch", *arguments),
            env=self.environment(fault), stderr=subprocess.DEVNULL)
        while not self.log.exists() or self.log.read_text().count("round") < turns:
            self.assertIsNone(process.poll())
            time.sleep(0.05)
        process.send_signal(number)
        while again and process.poll() is None and again not in self.log.read_text():
            time.sleep(0.05)
        if again:
            process.send_signal(number)
        return process.wait(30)

    def test_an_interruption_keeps_what_was_measured(self):
        # What is killed leaves its folder.
        with mock.patch.dict(os.environ, TMPDIR=str(self.folder)):
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL):
                with self.subTest(number):
                    self.assertEqual(self.interrupted(number, "wait", 2),
                                     -9 if number == signal.SIGKILL else 130)
                    self.assertEqual(self.result()["context"]["interrupted"], "1")
                    self.assertEqual(len(self.result()["benchmarks"]), 5)
                    self.file.unlink()

    def test_an_interruption_ends_bench_model(self):
        for fault, turns in (("wait", 3), ("prepare bench", 1)):
            with self.subTest(fault):
                self.assertEqual(self.interrupted(signal.SIGINT, fault, turns, "--bench", self.bench,
                                                  again="interrupted bench"), 130)
                self.assertEqual(self.logged()[-1][0], "saved bench")

    def test_an_interrupted_write_leaves_no_file(self):
        with mock.patch("os.replace", side_effect=KeyboardInterrupt), self.assertRaises(KeyboardInterrupt):
            output_file.replace("text", self.file)
        self.assertEqual(sorted(file.name for file in self.folder.iterdir()), ["bench_model", "worker.py"])


class Numbers(unittest.TestCase):
    def counters(self, samples, threads=1):
        return engines.counters_of({"wall_ns": samples, "cpu_ns": samples, "clock_ns": [1, 2],
                                    "preempted": 0}, threads)

    def test_stalls_are_not_in_the_mean(self):
        fields = self.counters([1e6] * 99 + [9e6])
        self.assertEqual((fields["stalls"], fields["mean_s"]), (1, 1e-3))
        fields = self.counters([1e6] * 8 + [9e6] * 2)
        self.assertEqual((fields["stalls"], fields["mean_s"]), (2, 2.6e-3))

    def test_the_interval_of_the_median(self):
        fields = self.counters([1e6 * i for i in range(1, 101)])
        self.assertAlmostEqual(fields["low_s"], 0.040)  # ranks 40 and 61 of 100 have 95 %
        self.assertAlmostEqual(fields["high_s"], 0.061)
        # As tables of the binomial distribution have it.
        self.assertEqual([*map(engines.median_rank, (5, 6, 8, 9, 20))], [0, 1, 1, 2, 6])
        self.assertNotIn("low_s", self.counters([1e6] * 5))

    def test_layers_of_an_engines_node(self):
        names = {"conv1", "relu1", "fc"}
        self.assertEqual(engine_worker.covered(["fused conv1/Conv", "relu1/Relu", "conv1/Conv_2",
                                                "reorder"], names), ["conv1", "relu1"])

    def test_the_nodes_that_onnx_runtime_joins(self):
        original = [("bn1/Conv", "Conv", ["input", "w1"], ["bn1/Conv"]),
                    ("relu1/Relu", "Relu", ["bn1/Conv"], ["relu1/Relu"]),
                    ("bn2/Conv", "Conv", ["relu1/Relu", "w2"], ["bn2/Conv"]),
                    ("side/Conv", "Conv", ["relu1/Relu", "w3"], ["side/Conv"]),
                    ("add/Add", "Add", ["bn2/Conv", "side/Conv"], ["add/Add"]),
                    ("relu2/Relu", "Relu", ["add/Add"], ["relu2/Relu"]),
                    ("fc/Gemm", "Gemm", ["relu2/Relu", "w4"], ["output"])]
        # As in channels of blocks: tensors have other names, reorders were added.
        blocked = [("relu1/Relu_nchwc", "Conv", ["input", "r1"], ["token_0"]),
                   ("side/Conv_nchwc", "Conv", ["token_0", "r3"], ["token_1"]),
                   ("bn2/Conv_nchwc", "Conv", ["token_0", "r2", "token_1"], ["token_2"]),
                   ("reorder", "ReorderOutput", ["token_2"], ["relu2/Relu"]),
                   ("fc/Gemm", "Gemm", ["relu2/Relu", "w4"], ["output"])]
        self.assertEqual(
            engine_worker.joined_nodes(original, blocked),
            {"relu1/Relu_nchwc": ["bn1/Conv", "relu1/Relu"], "side/Conv_nchwc": ["side/Conv"],
             "bn2/Conv_nchwc": ["bn2/Conv", "add/Add", "relu2/Relu"], "fc/Gemm": ["fc/Gemm"]})
        plain = [("bn1/Conv", "FusedConv", ["input", "w1"], ["relu1/Relu"]), *original[2:]]
        joined = engine_worker.joined_nodes(original, plain)
        self.assertEqual(joined.pop("bn1/Conv"), ["bn1/Conv", "relu1/Relu"])
        self.assertEqual(joined, {node[0]: [node[0]] for node in original[2:]})

    def test_what_openvino_joined_is_a_fusion_plan(self):
        show = [TOOL, "show", "resnet18", "--format=json"]
        shown = json.loads(subprocess.check_output(show))
        joined = [["bn1", "relu1"], ["maxpool"], [], ["layer1_0_bn1", "layer1_0_relu1"],
                  ["layer1_0_relu2", "layer1_0_bn2", "layer1_0_add"]]
        joined.append(["avgpool", "fc"])  # what no plan can join
        plan, other = engines.fusion_plan("openvino", shown, [{"layers": layers} for layers in joined])
        self.assertEqual(other, [["avgpool", "fc"]])
        self.assertEqual([rule["layers"] for rule in plan["rules"]], [
            ["conv1", "bn1", "relu1"], ["layer1_0_conv1", "layer1_0_bn1", "layer1_0_relu1"],
            ["layer1_0_conv2", "layer1_0_bn2", "layer1_0_add", "layer1_0_relu2"]])
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            json.dump(plan, file)
            file.flush()
            fused = json.loads(subprocess.check_output([*show, "--fusion", file.name]))
        names = [layer["name"] for layer in fused["layers"]]
        self.assertIn("conv1+bn1+relu1", names)
        self.assertIn("layer1_0_conv2+layer1_0_bn2+layer1_0_add+layer1_0_relu2", names)

    def test_names_of_a_release(self):
        for name, installed in (("2.4", "2.4.0+cpu"), ("2.4.0+cpu", "2.4.0"), ("2.4.0rc1", "2.4rc1"),
                                ("1.10", "1.10.0")):
            self.assertEqual(engines.release_key(name), engines.release_key(installed))
        self.assertNotEqual(engines.release_key("1.10"), engines.release_key("1.1"))
        self.assertNotEqual(engines.release_key("2.0.4"), engines.release_key("2.4"))

    def test_numpy_beside_releases(self):
        for versions, beside in (("2.2.2,2.3.1", "numpy<2"), ("2.3.0,2.10", "numpy")):
            self.assertEqual(engines.beside_releases("torch", versions), beside)

    def test_a_missing_profile_costs_one_comparison(self):
        def compared(base, release):
            return {"base": base, "release": release, "pairs": 1, "reason": "", "side": "same",
                    "rows": [{"name": "m"}]}
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name, "profiles")
            folder.mkdir()
            for number, release in enumerate(("1.3", "1.2")):
                (folder / f"{number}.json").write_text(json.dumps(
                    {"release": release, "steps": {"m": 1}, "types": {"m": {}}}))
            results = mock.Mock(releases=[])
            engines.add_changes("torch", json.dumps({"tried": [compared("1.1", "1.2"), compared("1.2", "1.3")]}),
                                folder, results)
            self.assertEqual([one["release"] for one in results.releases], ["1.3"])
            self.assertFalse(folder.exists())  # the next search of these releases has its own

    def test_each_thread_gets_a_processor(self):
        allowed = sorted(os.sched_getaffinity(0))
        self.assertEqual(engines.processors_for(len(allowed)), allowed)
        self.assertEqual(len(engines.processors_for(1)), 1)


if __name__ == "__main__":
    TOOL, BENCH_MODEL = sys.argv.pop(1), sys.argv.pop(1)
    unittest.main()
