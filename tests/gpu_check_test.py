#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 the layerbench authors
# SPDX-License-Identifier: Apache-2.0
"""Tests tools/gpu_check.sh on the GPU in software: gpu_check_test.py BUILD SOFTWARE_GPU.

The script packs the programs of the folder BUILD. The tests unpack the bundle and run its steps, in an
empty folder and with settings that make them short.
"""
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = None
SOFTWARE_GPU = None
LIMIT = 4 << 20
STEPS = ("describe", "first-ten-minutes", "verify", "memcheck", "inference", "training", "peaks", "nccl", "validate",
         "torch")
TINY = {"MODELS": "lenet5", "DTYPES": "f32", "BATCHES": "1", "ROUNDS": "1", "MAX_TIME": "0", "JOBS": "2",
        "SMALL_MODELS": "lenet5", "SMALL_DTYPES": "f32", "PRODUCT": "64", "PEAKS": "^stream/",
        "BACKEND_TESTS": "random_shapes/2.*f32", "SESSION_TESTS": "TrainingChain.OfLenet*",
        # Programs beside each other would spin, and be bound to one processor.
        "OMP_WAIT_POLICY": "passive", "OMP_PROC_BIND": "false"}


def contents(archive):
    """The texts of the files in an archive, by their names without the step's folder."""
    with tarfile.open(archive) as file:
        return {pathlib.PurePath(*pathlib.PurePath(each.name).parts[1:]).as_posix():
                file.extractfile(each).read().decode("utf-8", "replace")
                for each in file.getmembers() if each.isfile()}


class GpuCheck(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.place = tempfile.TemporaryDirectory()
        folder = pathlib.Path(cls.place.name)
        # Less packed than a user's, sooner.
        cls.packed = subprocess.run([ROOT / "tools" / "gpu_check.sh", "--pack", BUILD], text=True,
                                    env={**os.environ, "XZ_OPT": "-0"}, stdout=subprocess.PIPE,
                                    check=True).stdout
        subprocess.run(["tar", "-xJf", pathlib.Path(BUILD) / "bundle.tar.xz"], cwd=folder, check=True)
        cls.bundle = folder / "bundle"

    @classmethod
    def tearDownClass(cls):
        cls.place.cleanup()

    def setUp(self):
        self.empty = tempfile.TemporaryDirectory()
        self.addCleanup(self.empty.cleanup)
        self.folder = pathlib.Path(self.empty.name) / "run"
        self.scratch = pathlib.Path(self.empty.name) / "scratch"
        self.folder.mkdir()
        self.scratch.mkdir()
        self.results = self.folder / "gpu_results"

    def start(self, *steps, bundle=None, **settings):
        # Not what else this machine has for GPUs.
        environment = {"PATH": "/usr/bin:/bin", "CUDA_HOME": "/nowhere", "TMPDIR": str(self.scratch),
                       "LD_LIBRARY_PATH": SOFTWARE_GPU, **TINY, **settings}
        return subprocess.Popen([(bundle or self.bundle) / "gpu_check.sh", *steps], cwd=self.folder,
                                env=environment, text=True, errors="replace", stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT)

    def check(self, code, *steps, **settings):
        """What the script prints; it must exit with `code`."""
        with self.start(*steps, **settings) as process:
            out = process.communicate()[0]
        self.assertEqual(process.returncode, code, out)
        self.assertEqual(list(self.scratch.iterdir()), [], "scratch files are left")
        return out

    def archived(self, step):
        archive = self.results / f"{step}.tar.gz"
        self.assertLessEqual(archive.stat().st_size, LIMIT)
        return contents(archive)

    def measuring(self, *steps):
        """The script, and the process of its first step once that has results in a file."""
        process = self.start(*steps, ROUNDS="100000", MAX_TIME="600")
        shown = ""
        while "process" not in shown:
            shown = process.stdout.readline()
        end = time.monotonic() + 60
        while not list(self.scratch.glob("*/inference/*.json")) and time.monotonic() < end:
            time.sleep(0.05)
        return process, int(re.search(r"process (\d+)", shown)[1])

    def tool(self, *words):
        return subprocess.run([self.bundle / "bin" / "layerbench", *words], text=True, check=False,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    def test_the_bundle_is_small_and_says_what_it_needs(self):
        self.assertRegex(self.packed, r"bundle\.tar\.xz: \d+ KiB packed, \d+ KiB unpacked; "
                                      r"needs GLIBC_2\.\d+ and GLIBCXX_3\.4\.\d+ or newer, and "
                                      r"libcublasLt\.so\.\d+ libcudart\.so\.\d+ libcudnn\.so\.\d+ "
                                      r"libnccl\.so\.\d+ libnvrtc\.so\.\d+\n")
        self.assertLessEqual(int(re.search(r"GLIBC_2\.(\d+)", self.packed)[1]), 34)
        self.assertLess((pathlib.Path(BUILD) / "bundle.tar.xz").stat().st_size, 60 << 20)
        self.assertTrue((self.bundle / "share/layerbench/shapes/models/lenet5.json").exists())

    def test_every_step_leaves_one_archive(self):
        out = self.check(0, *STEPS, "summary")
        self.assertEqual(sorted(each.name for each in self.results.iterdir()),
                         sorted([f"{step}.tar.gz" for step in STEPS] + ["summary.txt"]))
        files = {step: self.archived(step) for step in STEPS}
        for step, texts in files.items():
            self.assertNotIn("failed.txt", texts)
            self.assertFalse([name for name in texts if name.endswith(".lock")], step)
        self.assertLessEqual({"device_properties.txt", "backends.txt", "machine.txt", "system.txt"},
                             files["describe"].keys())
        self.assertLessEqual({"inference_lenet5_f32_batch1.json", "training_lenet5_f32_batch1.json",
                              "peaks.json", "product_burst.json", "product_steady.json", "nccl.json",
                              "verified_inference_lenet5_f32.json",
                              "verified_training_lenet5_f32.json"},
                             files["first-ten-minutes"].keys())
        self.assertIn("steady", files["first-ten-minutes"]["product_steady.json"])
        self.assertLessEqual({"nccl.json", "nccl_registered.json", "nccl_graph.json"}, files["nccl"].keys())
        self.assertIn("copy_memory", files["peaks"]["peaks.json"])
        self.assertIn("inference_lenet5_f32_batch1.json", files["inference"])
        self.assertIn("training_lenet5_f32_batch1.json", files["training"])
        self.assertIn("training_training.json", files["validate"])
        for step in ("first-ten-minutes", "verify"):
            tests = "".join(text for name, text in files[step].items() if name.startswith("random_shapes"))
            self.assertRegex(tests, r"[1-9]\d* tests? from")
            self.assertIn("verified_training_lenet5_f32.json", files[step])
        # Every command of the archives ended well.
        for step, texts in files.items():
            for line in texts.get("commands.txt", "").splitlines():
                self.assertRegex(line, r"^ *0 |products_f8", f"{step}: {line}")

        for step, what in (("memcheck", "compute-sanitizer"), ("torch", "torch")):
            self.assertRegex(files[step]["skipped.txt"], f"skipped: {step}: .*{what}")
            self.assertRegex(out, f"(?m)^  {step}: {step}: .*{what}")
            self.assertIn(f"skipped: {step}: ", files["first-ten-minutes"]["skipped.txt"])

        summary = (self.results / "summary.txt").read_text()
        self.assertIn(summary, out)
        for name in ("inference_inference", "training_training", "first-ten-minutes_training"):
            self.assertRegex(summary, rf"\n{name}\n(.*\n)+?\| lenet5")

    def test_a_step_that_is_interrupted_keeps_its_results(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            process, step = self.measuring("inference", "describe")
            os.kill(step, number)
            out = process.communicate(timeout=60)[0]
            self.assertEqual(process.returncode, 130, out)
            self.assertIn("interrupted", self.archived("inference")["skipped.txt"])
            subprocess.run(["tar", "-xzf", self.results / "inference.tar.gz"], cwd=self.folder, check=True)
            found = self.tool("predict", self.folder / "inference/inference_lenet5_f32_batch1.json")
            self.assertIn(found.returncode, (0, 4), found.stdout)
            self.assertIn("backends.txt", self.archived("describe"))
            self.assertRegex(out, r"(?m)^  inference: .*interrupted")
            shutil.rmtree(self.results)

    def test_a_signal_ends_the_script(self):
        process, _ = self.measuring("inference", "describe")
        process.terminate()
        out = process.communicate(timeout=60)[0]
        self.assertEqual(process.returncode, 130, out)
        self.assertIn("inference_lenet5_f32_batch1.json", self.archived("inference"))
        self.assertFalse((self.results / "describe.tar.gz").exists())
        self.assertIn("skipped: describe: interrupted", out)

    def test_a_step_that_is_killed_leaves_an_archive(self):
        process, step = self.measuring("inference", "describe")
        child = int(pathlib.Path(f"/proc/{step}/task/{step}/children").read_text().split()[0])
        os.kill(step, signal.SIGKILL)
        out = process.communicate(timeout=60)[0]
        os.kill(child, signal.SIGTERM)
        self.assertEqual(process.returncode, 4, out)
        self.assertIn("exit code 137", self.archived("inference")["failed.txt"])
        self.assertIn("backends.txt", self.archived("describe"))

    def test_a_step_keeps_to_its_budget(self):
        begin = time.monotonic()
        out = self.check(0, "verify", BUDGET="4", SMALL_DTYPES="f32 tf32 f16 bf16",
                         BACKEND_TESTS="random_shapes*")
        self.assertLess(time.monotonic() - begin, 60, "all types take minutes")
        self.assertRegex(self.archived("verify")["skipped.txt"], "when its time was over|no time left")
        self.assertRegex(out, r"(?m)^  verify: ")

    def test_a_check_that_fails_is_named_and_the_others_run(self):
        broken = pathlib.Path(self.empty.name) / "broken"
        shutil.copytree(self.bundle, broken)
        program = broken / "bin" / "device_properties"
        program.write_text("#!/bin/bash\nhead -c 6000000 /dev/urandom\necho 'is broken' >&2\nexit 3\n")
        # The source has this file, too: programs of a bundle use their own.
        (broken / "share/layerbench/shapes/models/lenet5.json").unlink()
        out = self.check(4, "describe", "verify", bundle=broken)
        files = self.archived("describe")
        self.assertRegex(files["failed.txt"], r"device_properties \(exit code 3\)")
        self.assertIn("failed: device_properties", out)
        for name in ("training_chains_0", "verified_inference_lenet5_f32"):
            self.assertIn(name, self.archived("verify")["failed.txt"])
        self.assertIn("backends.txt", files)
        self.assertRegex(files["skipped.txt"], r"device_properties\.txt: too large .* \(600\d+ bytes\)")

    def test_pytorch_and_the_sanitizer_run_where_they_are_installed(self):
        # Stand-ins that write what they were asked.
        place = pathlib.Path(self.empty.name)
        bundle = place / "with_torch"
        shutil.copytree(self.bundle, bundle)
        (bundle / "torch_agreement.py").write_text(
            "import pathlib, sys\n"
            "results = pathlib.Path(sys.argv[sys.argv.index('--results') + 1])\n"
            "print(sorted(each.name for each in results.glob('*_batch*.json')))\n"
            "(results / 'torch.json').write_text(' '.join(sys.argv[-2:]))\n")
        for module in ("torch", "torchvision"):
            (place / f"{module}.py").write_text("")
        sanitizer = place / "bin" / "compute-sanitizer"
        sanitizer.parent.mkdir()
        sanitizer.write_text('#!/bin/bash\nwhile [[ $1 != */bench_model ]]; do shift; done\necho "$@"\n'
                             '[[ $* != *training* ]]\n')
        sanitizer.chmod(0o755)
        out = self.check(4, "inference", "torch", "memcheck", bundle=bundle, PYTHONPATH=str(place),
                         CUDA_HOME=str(place), SMALL_MODELS="lenet5 resnet18")
        files = self.archived("torch")
        self.assertEqual(files["torch_models.txt"], "['inference_lenet5_f32_batch1.json']\n")
        for part in ("models", "product", "convolutions"):
            self.assertEqual(files[f"torch_{part}.json"], f"--parts {part}")
        self.assertNotIn("skipped.txt", files)
        memory = self.archived("memcheck")
        cases = [f"{model}_{dtype}" for model in ("lenet5", "resnet18") for dtype in ("f32", "bf16")]
        self.assertEqual(sorted(re.findall(r"(?m)^failed: memcheck_training_(\w+) \(exit code 1\)",
                                           memory["failed.txt"])), sorted(cases))
        for case in cases:
            model, dtype = case.split("_")
            words = memory[f"memcheck_inference_{case}.txt"].split()
            self.assertLessEqual({f"--model={model}", f"--dtype={dtype}", "--chain"}, set(words))
        self.assertIn("failed: memcheck_training_resnet18_bf16", out)

    def test_a_model_without_its_chain_fails(self):
        # The GPU in software has too little memory for the chain.
        out = self.check(4, "inference", MODELS="vgg16", BATCHES="64", BUDGET="60")
        self.assertIn("inference_vgg16_f32_batch64 (exit code 4)", self.archived("inference")["failed.txt"])
        self.assertIn("not enough memory", out)

    def test_a_filter_without_tests_fails(self):
        self.check(4, "verify", BACKEND_TESTS="Nothing.*", SESSION_TESTS="Nothing.*", BUDGET="2")
        self.assertIn("no test of backend_tests matches 'Nothing.*'", self.archived("verify")["failed.txt"])

    def test_without_a_gpu_it_exits_with_77(self):
        out = self.check(77, LD_LIBRARY_PATH=self.empty.name, CUDA_VISIBLE_DEVICES="")
        self.assertIn("no GPU can be used", out)
        self.assertFalse(self.results.exists())

    def test_a_summary_needs_no_gpu(self):
        out = self.check(0, "validate", "summary", LD_LIBRARY_PATH="")
        self.assertIn("has timings", self.archived("validate")["skipped.txt"])
        self.assertRegex(out, r"(?m)^validate +\d+ +1 +0 +1$")

    def test_wrong_settings_are_named(self):
        for name, value in (("BUDGET", "0"), ("JOBS", "many"), ("ROUNDS", "-1")):
            self.assertIn(name, self.check(2, "describe", **{name: value}))


if __name__ == "__main__":
    BUILD, SOFTWARE_GPU = sys.argv[1:3]
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
