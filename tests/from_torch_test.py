#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 the layerbench authors
# SPDX-License-Identifier: Apache-2.0
"""Tests tools/from_torch.py and `layerbench import torch` on stored exports, without torch:
from_torch_test.py TOOL, the program `layerbench`.

- Exports of torchvision's models become what the shipped shape files have: the same layers with the
  same edges, but for names, and the same totals.
- Two layers of transformers' BERT, GPT-2 and Llama are as tools/make_models.py writes them.
- Small networks have the totals that torch counts.
- A call that no op computes, a wrong export and a wrong command line end with their exit codes, and
  leave no file.

With --export the stored exports are made again, which needs torch, torchvision and transformers.
"""
import collections
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent
DATA = ROOT / "tests/data/torch"
SCRIPT = ROOT / "tools/from_torch.py"
sys.path.insert(0, str(ROOT / "tools"))
import make_models  # noqa: E402 pylint: disable=wrong-import-position
import from_torch  # noqa: E402 pylint: disable=wrong-import-position
import import_models  # noqa: E402 pylint: disable=wrong-import-position
import torch_export  # noqa: E402 pylint: disable=wrong-import-position

TOOL = None
SHIPPED = {"resnet18": "resnet18", "mobilenet_v2": "mobilenet_v2",
           "efficientnet_b0": "efficientnet_b0", "googlenet": "googlenet_torchvision_bn",
           "shufflenet_v2_x1_0": "shufflenet_v2_x1_0", "vit_b_16": "vit_b_16",
           "convnext_tiny": "convnext_tiny"}
# Sizes of the input; parameters and MACs of one image by torch. torch does not count recurrent layers:
# their MACs are the elements of their weight matrices, times the steps. One of the layers of "Attention"
# runs twice; most of its parameters count twice, and so do those of one of "Windows". Those of "Folded" are of
# the weights that inference computes.
SMALL = {"Image": ("image", "1x3x41x38", 5672, 1390608), "Signal": ("signal", "1x4x64", 493, 8642),
         "InPlace": ("in_place", "1x3x8x8", 36, 1792),
         "Attention": ("attention", "1x9:int64", 3424 + 832, 37920),
         "Shuffle": ("shuffle", "1x8x6x10", 533, 28800),
         "LayerScale": ("layer_scale", "1x3x6x10", 32 + 2 * (400 + 16 + 288 + 264 + 8) + 54 + 6,
                        60 * (24 + 2 * (392 + 512) + 48)),
         "LastStep": ("last_step", "1x7:int64", 2098, 10752 + 32),
         "Waves": ("waves", "1x6x32", 5897, 107392 + 15360), "Folded": ("folded", "1x4x20", 494, 9149),
         "Windows": ("windows", "1x3x4x4", 1301 + 816, 29760 + 52),
         "Resized": ("resized", "1x3x6x8", 16, 576),
         "Bags": ("bags", "1x5:int64", 514, 120),
         "Volume": ("volume", "1x2x9x10x11", 1386, 345888),
         "Unet3d": ("unet3d", "1x1x64x64x64", 31190243, 59662336000),
         "Cut": ("cut", "1x4x9", 39, 324), "Sequence": ("sequence", "1x7:int64", 112680, 331520 + 272384)}
# MACs of layers that read constants alone, which run once for all images.
OF_CONSTANTS = {"windows": 52}
TRANSFORMERS = {"bert": ("bert_2_layers", "1x128:int64"), "Gpt2": ("gpt2_2_layers", "1x128:int64"),
                "Llama": ("llama_2_layers", "1x128:int64")}
MISSING = {"Missing": ("missing", "1x9x16"), "Wide": ("wide", "1x2x8x8")}


DEFAULTS = (("epsilon", 1e-5), ("axis", 1), ("begin", 0))


def run(*arguments, **options):
    return subprocess.run([sys.executable, SCRIPT, f"--layerbench={TOOL}", *map(str, arguments)],
                          capture_output=True, text=True, check=False, **options)


def show(file, *arguments):
    done = subprocess.run([TOOL, "show", file, "--format=json", *arguments], capture_output=True,
                          text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def convert(data, *arguments):
    """Converts as from_torch.py does: exit code, stdout, stderr."""
    done = subprocess.run([TOOL, "import", "torch", "-", *arguments], capture_output=True, text=True,
                          check=False, input=data if isinstance(data, str) else json.dumps(data))
    return done.returncode, done.stdout, done.stderr


def stored(name):
    return json.loads((DATA / f"{name}.json").read_text())


def layers_of(file):
    """The layers without names, counted: each as a text of its op, shape and what it reads."""
    seen, before, found = {}, None, collections.Counter()
    for layer in json.loads(pathlib.Path(file).read_text())["layers"]:
        shape = {key: value for key, value in layer["shape"].items()
                 if (key, value) not in DEFAULTS}
        if layer["op"] in ("activation", "dropout"):
            # The shape before or after it is flattened.
            while shape["dims"][-1] == 1:
                shape["dims"] = shape["dims"][:-1]
        reads = [seen[name] for name in layer.get("after", [before] if before else [])]
        if layer["op"] == "add":
            reads.sort()
        text = json.dumps([layer["op"], shape], sort_keys=True)
        before = layer["name"]
        seen[before] = hash((text, *reads))
        found[text, seen[before]] += 1
    return found


class Conversion(unittest.TestCase):
    maxDiff = 2000

    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)
        self.file = self.folder / "mine.json"

    def test_shipped_models(self):
        for name, shipped in {**SHIPPED, "unet3d": "unet3d"}.items():
            with self.subTest(name):
                done = run("--from-export", DATA / f"{name}.json", "-o", self.file)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertEqual(layers_of(self.file),
                                 layers_of(ROOT / f"shapes/models/{shipped}.json"))
                for phase in ("inference", "training"):
                    ours, theirs = (show(model, f"--phase={phase}", "--batch=3")
                                    for model in (self.file, ROOT / f"shapes/models/{shipped}.json"))
                    for total in ("parameters", "macs", "activations", "conv_layers"):
                        self.assertEqual(ours[total], theirs[total], (phase, total))

    def test_small_networks_have_the_totals_of_torch(self):
        for name, _, parameters, macs in SMALL.values():
            with self.subTest(name):
                done = run("--from-export", DATA / f"{name}.json", "-o", self.file)
                self.assertEqual(done.returncode, 0, done.stderr)
                for batch in (1, 5):
                    found = show(self.file, f"--batch={batch}")
                    once = (batch - 1) * OF_CONSTANTS.get(name, 0)
                    self.assertEqual((found["parameters"], found["macs"]),
                                     (parameters, batch * macs - once))

    def test_every_op_that_has_calls_in_torch_is_covered(self):
        ops = set()
        for file in DATA.glob("*.json"):
            code, out, err = convert(file.read_text())
            if code == 0:
                ops |= {layer["op"] for layer in json.loads(out)["layers"]}
            else:
                self.assertIn("no op computes", err)
        self.assertEqual(ops, {"conv", "deconv", "gemm", "embedding", "pool", "batchnorm", "lrn", "rnn",
                               "activation", "add", "multiply", "concat", "pad", "slice", "transpose",
                               "softmax", "dropout", "layernorm", "groupnorm", "attention", "rotary",
                               "resample"})

    def test_models_of_transformers_are_the_shipped_ones(self):
        # The shipped models have more layers alike. Weights of GPT-2 are stored the other way round.
        for (name, _), make in zip(TRANSFORMERS.values(), (make_models.bert, make_models.gpt2,
                                                           make_models.llama)):
            with self.subTest(name):
                done = run("--from-export", DATA / f"{name}.json", "-o", self.file)
                self.assertEqual(done.returncode, 0, done.stderr)
                shipped = self.folder / "shipped.json"
                shipped.write_text(make(make_models.Network("shipped", "", "", "text", ()),
                                        depth=2).text("transformer"))
                ours, theirs = (show(model, "--batch=3") for model in (self.file, shipped))
                for total in ("parameters", "macs", "activations"):
                    self.assertEqual(ours[total], theirs[total], total)
                found = []
                for shown in (ours, theirs):
                    number = {layer["name"]: i for i, layer in enumerate(shown["layers"])}
                    found.append([(layer["op"], layer["key"].replace(",b_transposed:1", "").replace(
                        "dims:3x1x", "dims:3x"), sorted(number[name] for name in layer["after"]))
                        for layer in shown["layers"]])
                self.assertEqual(*found)

    def test_attention_reads_what_projections_write(self):
        code, out, err = convert(stored("attention"))
        self.assertEqual(code, 0, err)
        self.assertIn("3 projections (3 times)", err)
        self.assertIn("2 projections", err)
        layers = json.loads(out)["layers"]
        shapes = [layer["shape"] for layer in layers if layer["op"] == "attention"]
        one = {"n": "batch", "heads": 2, "q": 9, "k": 9, "d": 8}
        self.assertEqual(shapes, [{**one, "heads": 4, "d": 4, "kv_heads": 2, "causal": True},
                                  {**one, "causal": True}, one, {**one, "q": 5}])
        self.assertEqual([layer["shape"]["n"] for layer in layers if layer["op"] == "gemm"][:6],
                         [16, 8, 8, 16, 16, 16])
        products = [layer["shape"] for layer in layers if "batch" in layer["shape"]]
        self.assertEqual(products, [
            {"batch": ["batch", 2], "m": 5, "n": 5, "k": 8, "b_transposed": True},
            {"batch": ["batch", 2], "m": 5, "n": 8, "k": 5}])
        self.assertEqual([layer["shape"] for layer in layers if "learned" in layer["shape"]],
                         [{"dims": ["batch", 9, 16], "broadcast": True, "learned": True},
                          {"dims": [["batch", 5], 16], "broadcast": True, "learned": True}])

    def test_an_rms_norm_without_epsilon_has_that_of_the_data_type(self):
        data = stored("attention")
        norm = next(call for call in data["calls"] if call["target"].startswith("aten.rms_norm"))
        for more, epsilon in (({}, 1.1920929e-07), ({"dtype": "bfloat16"}, 2**-7),
                              ({"args": {**norm["args"], "eps": 1e-3}}, 1e-3)):
            with self.subTest(epsilon):
                norm.update(more)
                _, out, _ = convert(data)
                self.assertEqual([layer["shape"]["epsilon"] for layer in json.loads(out)["layers"]
                                  if layer["shape"].get("kind") == "rms"], [epsilon])

    def test_what_only_together_is_an_op_is_one_layer(self):
        def call(name, target, **args):
            dims = ["batch", 1] if name in ("mean", "square_mean", "sum", "root") else ["batch", 8]
            return {"name": name, "target": f"aten.{target}.Tensor", "module": "", "args": args,
                    "dims": dims}

        linear = call("linear", "linear", input="%x", weight="%w")
        hardswish = [call("shifted", "add", self="%linear", other=3),
                     call("clipped", "clamp", self="%shifted", min=0, max=6),
                     call("product", "mul", self="%linear", other="%clipped"),
                     call("last", "div", self="%product", other=6)]
        norm = [call("mean", "mean", self="%linear", dim=[-1], keepdim=True),
                call("centred", "sub", self="%linear", other="%mean"),
                call("square", "pow", self="%centred", exponent=2),
                call("square_mean", "mean", self="%square", dim=[-1], keepdim=True),
                call("sum", "add", self="%square_mean", other=1e-6),
                call("root", "sqrt", self="%sum"),
                call("divided", "div", self="%centred", other="%root"),
                call("scaled", "mul", self="%divided", other="%scale"),
                call("last", "add", self="%scaled", other="%shift")]
        # Each of these calls is a kernel of its own in PyTorch.
        swish = [call("sigmoid", "sigmoid", self="%linear"),
                 call("last", "mul", self="%linear", other="%sigmoid")]
        for calls, ops in ((hardswish, ["gemm", "activation"]), (norm, ["gemm", "layernorm"]),
                           (swish, ["gemm", "activation", "multiply"])):
            with self.subTest(ops):
                code, out, err = convert({
                    "layerbench_torch_export": 1, "name": "formula",
                    "inputs": {"x": {"dims": ["batch", 8]}}, "outputs": ["last"],
                    "weights": {"w": [8, 8], "scale": [8], "shift": [8]},
                    "calls": [linear, *calls]}, "--no-softmax")
                self.assertEqual(code, 0, err)
                self.assertEqual([layer["op"] for layer in json.loads(out)["layers"]], ops)

    def test_experts(self):
        def call(name, target, dims, **args):
            return {"name": name, "target": target, "module": "", "args": args, "dims": dims}

        def routed(name, columns, **args):
            rows = "batch" if args.get("scales") else ["batch", 2]
            return call(name, "layerbench.routed_linear.default", [rows, columns],
                        experts="%topk_1", outputs=columns, **args)

        def converted(**more):
            both = call("both", "aten.topk.default", None, self="%softmax", k=2, **more)
            both["outputs"] = [["batch", 2]] * 2
            del both["dims"]
            return convert({
                "layerbench_torch_export": 1, "name": "routed",
                "inputs": {"x": {"dims": ["batch", 16]}}, "outputs": ["down"],
                "weights": {"router": [6, 16], "first": [6, 64, 16], "second": [6, 16, 32]},
                "calls": [
                    call("linear", "aten.linear.default", ["batch", 6], input="%x",
                         weight="%router"),
                    call("softmax", "aten.softmax.int", ["batch", 6], self="%linear", dim=-1),
                    both,
                    *(call(name, "getitem", ["batch", 2], **{"0": "%both", "1": i})
                      for i, name in enumerate(("topk", "topk_1"))),
                    call("sum", "aten.sum.dim_IntList", ["batch", 1], self="%topk", dim=[-1],
                         keepdim=True),
                    call("div", "aten.div.Tensor", ["batch", 2], self="%topk", other="%sum"),
                    routed("gate", 32, input="%x", weight="%first"),
                    routed("up", 32, input="%x", weight="%first"),
                    call("mul", "aten.mul.Tensor", [["batch", 2], 32], self="%gate",
                         other="%up"),
                    routed("down", 16, input="%mul", weight="%second", scales="%div"),
                ]}, "--no-softmax")

        code, out, err = converted()
        self.assertEqual(code, 0, err)
        sizes = {"tokens": "batch", "experts": 6, "top_k": 2}
        layers = [layer for layer in json.loads(out)["layers"]
                  if layer["op"] in ("topk", "routed_gemm")]
        self.assertEqual(
            [(layer.get("after"), layer["shape"]) for layer in layers],
            [(None, {"n": "batch", "c": 6, "k": 2, "normalized": True}),
             *[([], {**sizes, "n": 32, "k": 16, "gather": True})] * 2,
             (["multiply", "topk"], {**sizes, "n": 16, "k": 32, "scatter": True})])
        self.assertIn(f"{6 * 16 + 6 * 64 * 16 + 6 * 16 * 32} parameters", err)
        self.assertEqual(converted(largest=False)[0], 4)

    def test_windows_are_moved_once(self):
        """Swin's windows, norms and projections take no copies beside those that PyTorch makes."""
        def call(name, target, shape, **args):
            return {"name": name, "target": f"aten.{target}", "module": "", "args": args, "dims": shape}

        image, window = ["batch", 4, 4, 6], [["batch", 4], 4, 6]
        split = ["batch", 2, 2, 2, 2, 6]
        code, out, err = convert({
            "layerbench_torch_export": 1, "name": "windows",
            "inputs": {"x": {"dims": image}}, "outputs": ["second"],
            "weights": {"scale": [6], "shift": [6], "w": [6, 6], "v": [6, 6], "places": [1, 4, 6],
                        "shifts": [1, 4, 4, 6]},
            "calls": [
                call("norm", "layer_norm.default", image, input="%x", normalized_shape=[6],
                     weight="%scale", bias="%shift"),
                call("view", "view.default", split, self="%norm"),
                call("permute", "permute.default", split, self="%view", dims=[0, 1, 3, 2, 4, 5]),
                call("windows", "reshape.default", window, self="%permute"),
                call("placed", "add.Tensor", window, self="%windows", other="%places"),
                call("first", "linear.default", window, input="%placed", weight="%w"),
                call("back", "view.default", split, self="%first"),
                call("turned", "permute.default", split, self="%back", dims=[0, 1, 3, 2, 4, 5]),
                call("image", "reshape.default", image, self="%turned"),
                call("sum", "add.Tensor", image, self="%image", other="%shifts"),
                call("norm_2", "layer_norm.default", image, input="%sum", normalized_shape=[6],
                     weight="%scale", bias="%shift"),
                call("second", "linear.default", image, input="%norm_2", weight="%v")]})
        self.assertEqual(code, 0, err)
        self.assertEqual([layer["op"] for layer in json.loads(out)["layers"]],
                         ["layernorm", "transpose", "add", "gemm", "transpose", "add", "layernorm",
                          "gemm"])

    def test_calls_that_are_timed_as_others_are_noted(self):
        def call(name, target, dims, **args):
            call = {"name": name, "target": f"aten.{target}", "module": "", "args": args}
            return {**call, "outputs" if target.startswith("topk") else "dims": dims}

        heads = [["batch", 2], 4, 8]
        qkv = [call(name, "linear.default", heads, input="%x", weight="%w") for name in "qk"]
        wide = call("v", "linear.default", [["batch", 2], 4, 12], input="%x", weight="%wide")
        turned = call("turned", "transpose.int", [["batch", 2], 8, 4], self="%k", dim0=1, dim1=2)
        scores = [["batch", 2], 4, 4]
        as_heads = [call(name + "4", "view.default", ["batch", 2, 4, size], self=f"%{name}")
                    for name, size in (("q", 8), ("k", 8), ("v", 12))]
        for calls, ops, note in (
                ([*qkv[:1], call("last", "where.ScalarOther", heads, condition="%mask", self="%q",
                                 other=-1e9)], ["gemm"], "masks"),
                ([*qkv[:1], call("last", "masked_fill.Scalar", heads, self="%q", mask="%mask",
                                 value="-inf")], ["gemm"], "masks"),
                ([*qkv[:1], call("last", "clamp.default", heads, self="%q", max=7.0)],
                 ["gemm", "activation"], "limits none and 7"),
                ([*qkv, turned, call("last", "baddbmm.default", scores, self="%bias",
                                     batch1="%q", batch2="%turned", alpha=0.25)],
                 ["gemm", "gemm", "gemm", "add"], "factor"),
                ([*qkv[:1], call("largest", "topk.default", [[["batch", 2], 4, 3]] * 2, self="%q",
                                 k=3),
                  call("places", "getitem", [["batch", 2], 4, 3], **{"0": "%largest", "1": 1}),
                  call("last", "gather.default", [["batch", 2], 4, 3], self="%q", dim=2,
                       index="%places")], ["gemm", "topk", "slice"], "computed positions"),
                ([*qkv[:1], call("sum", "mean.dim", [["batch", 2], 4, 1], self="%q", dim=[2],
                                 keepdim=True),
                  call("last", "sub.Tensor", heads, self="%q", other="%sum")],
                 ["gemm", "transpose", "pool", "transpose", "multiply"], "timed as a product"),
                ([*qkv, wide, *as_heads, call("last", "scaled_dot_product_attention.default",
                                              ["batch", 2, 4, 12], query="%q4", key="%k4",
                                              value="%v4", is_causal=True)],
                 ["gemm"] * 4 + ["softmax", "gemm"], "another width")):
            for one in calls:
                one["target"] = one["target"].replace("aten.getitem", "getitem")
            with self.subTest(note):
                code, out, err = convert({
                    "layerbench_torch_export": 1, "name": "calls", "buffers": {"mask": [4, 8]},
                    "inputs": {"x": {"dims": heads}}, "outputs": ["last"],
                    "weights": {"w": [8, 8], "wide": [12, 8], "bias": [4, 4]}, "calls": calls},
                    "--no-softmax")
                self.assertEqual(code, 0, err)
                self.assertIn(note, err)
                self.assertEqual([layer["op"] for layer in json.loads(out)["layers"]], ops)

    def test_rows_that_are_split_for_a_product_are_copied(self):
        code, out, err = convert({
            "layerbench_torch_export": 1, "name": "split",
            "inputs": {"x": {"dims": ["batch", 8]}}, "outputs": ["second"],
            "weights": {"w": [8, 8], "v": [5, 4]},
            "calls": [
                {"name": "first", "target": "aten.linear.default", "module": "",
                 "args": {"input": "%x", "weight": "%w"}, "dims": ["batch", 8]},
                {"name": "view", "target": "aten.view.default", "module": "",
                 "args": {"self": "%first", "size": [-1, 4]}, "dims": [["batch", 2], 4]},
                {"name": "second", "target": "aten.linear.default", "module": "",
                 "args": {"input": "%view", "weight": "%v"}, "dims": [["batch", 2], 5]},
            ]}, "--no-softmax")
        self.assertEqual(code, 0, err)
        self.assertEqual([layer["op"] for layer in json.loads(out)["layers"]],
                         ["gemm", "transpose", "gemm"])

    def test_masks(self):
        data = stored("attention")
        masked = next(call for call in data["calls"] if "mask" in call)
        del masked["mask"]
        code, out, err = convert(data)
        self.assertEqual(code, 0)
        self.assertIn("a mask of scaled_dot_product_attention is left out", err)
        self.assertNotIn("causal", next(layer["shape"] for layer in json.loads(out)["layers"]
                                        if layer["op"] == "attention"))

    def test_a_learned_mask_is_added_to_the_scores(self):
        data = stored("attention")
        _, before, _ = convert(data)
        attention = [call["args"] for call in data["calls"] if "dot_product" in call["target"]]
        del attention[1]["is_causal"]
        attention[1]["attn_mask"] = "%bias"
        data["weights"]["bias"] = [1, 2, 9, 9]
        code, out, err = convert(data)
        self.assertEqual(code, 0, err)
        self.assertIn("mask", err)
        layers, others = (collections.Counter(layer["op"] for layer in json.loads(text)["layers"])
                          for text in (out, before))
        self.assertEqual([(layers - others)[op] for op in ("gemm", "add", "softmax")], [2, 1, 1])
        self.assertEqual(others - layers, {"attention": 1})
        learned = [layer["shape"]["dims"] for layer in json.loads(out)["layers"]
                   if "learned" in layer["shape"]]
        self.assertIn(["batch", 18, 9], learned)

    def test_arithmetic_of_indices_is_left_out(self):
        data = stored("attention")
        _, plain, _ = convert(data)
        words = next(call for call in data["calls"] if call["target"].startswith("aten.embedding"))
        data["calls"].insert(0, {"name": "ne", "target": "aten.ne.Scalar", "dims": ["batch", 9],
                                 "args": {"self": words["args"]["indices"], "other": 1},
                                 "dtype": "int64"})
        words["args"]["indices"] = "%ne"
        code, out, err = convert(data)
        self.assertEqual((code, out), (0, plain))
        self.assertIn("calls that compute indices", err)

    def test_slices_and_transposes(self):
        _, out, _ = convert(stored("shuffle"))
        layers = {layer["name"]: (layer["shape"], layer.get("after"))
                  for layer in json.loads(out)["layers"]}
        image = ["batch", 12, 6, 10]
        self.assertEqual(layers["transpose"],
                         ({"dims": image, "view": ["batch", 3, 4, 6, 10], "order": [0, 2, 1, 3, 4],
                           "reshape": image}, None))
        self.assertEqual([layers[name] for name in ("slice", "slice_2", "slice_3", "slice_4")],
                         [({"dims": image, "size": 6}, None),
                          ({"dims": image, "begin": 6, "size": 6}, ["transpose"]),
                          ({"dims": image, "begin": 2, "size": 6}, ["transpose"]),
                          ({"dims": ["batch", 18, 6, 10], "axis": 2, "begin": 1, "size": 4}, None)])
        self.assertEqual(layers["transpose_2"],
                         ({"dims": ["batch", 18, 4, 10], "order": [0, 2, 3, 1],
                           "reshape": [["batch", 40], 18]}, None))
        _, out, _ = convert(stored("last_step"))
        last = [layer["shape"] for layer in json.loads(out)["layers"] if layer["op"] == "slice"]
        self.assertEqual(last, [{"dims": [7, "batch", 16], "axis": 0, "begin": 6, "size": 1}])

    def test_sequences_have_the_axes_of_their_neighbours(self):
        code, out, err = convert(stored("waves"))
        self.assertEqual(code, 0, err)
        layers = {layer["name"]: layer["shape"] for layer in json.loads(out)["layers"]}
        self.assertEqual(layers["pad"], {"dims": ["batch", 6, 1, 32], "before": [0, 0, 0, 2],
                                         "after": [0] * 4})
        self.assertEqual([layers[name].get("axis", 1) for name in ("slice", "slice_2", "softmax",
                                                                   "concat")], [3, 1, 1, 1])
        self.assertEqual(layers["multiply_2"], {"dims": ["batch", 16, 1, 32],
                                                "dims1": ["batch", 16, 1, 1]})
        # One layer reads rows of the last axis as channels, which takes a copy.
        self.assertEqual([name for name in layers if "copy" in name], ["groups_copy"])
        self.assertIn("copied", err)

    def test_weights_that_are_computed_of_parameters_are_weights(self):
        data = stored("folded")
        code, _, err = convert(data)
        self.assertEqual(code, 0)
        self.assertRegex(err, r"5 tensors: 473 values of 489 parameters")
        self.assertNotIn(" parameters of ", err.splitlines()[-1])
        with self.subTest("of the input, too"):
            norm = next(call for call in data["calls"] if "_weight_norm" in call["target"])
            norm["args"]["g"] = "%" + next(iter(data["inputs"]))
            code, _, err = convert(data)
            self.assertEqual(code, 4)
            self.assertIn("_weight_norm", err)

    def test_a_bias_is_not_taken_from_a_sum_that_others_read(self):
        data = stored("folded")
        conv = next(call["name"] for call in data["calls"] if call["module"] == "third"
                    and call["target"].startswith("aten.conv1d"))
        data["outputs"].append(conv)
        code, _, err = convert(data)
        self.assertEqual(code, 4)
        self.assertIn("add of a weight", err)

    def test_a_last_state_is_the_last_step_of_one_direction(self):
        data = stored("last_step")
        _, expected, _ = convert(data)
        lstm, select = (next(call for call in data["calls"] if call["name"] == name)
                        for name in ("lstm", "select"))
        select["args"] = {"self": "%getitem_1", "dim": 0, "index": -1}
        code, out, err = convert(data)
        self.assertEqual(code, 0, err)
        layers, others = (json.loads(text)["layers"] for text in (out, expected))
        for one in (layers, others):
            self.assertEqual([layer["op"] for layer in one],
                             ["embedding", "rnn", "slice", "gemm", "softmax"])
            self.assertNotIn("after", json.dumps(one))
        self.assertEqual([layer["shape"] for layer in layers],
                         [layer["shape"] for layer in others])
        with self.subTest("cells"):
            select["args"]["self"] = "%getitem_2"
            code, _, err = convert(data)
            self.assertEqual(code, 4)
            self.assertRegex(err, r"linear .*last state.* networks.py")
        with self.subTest("two layers"):
            select["args"]["self"] = "%getitem_1"
            lstm["args"]["num_layers"] = 2
            lstm["args"]["params"] *= 2
            for state in lstm["outputs"][1:]:
                state[0] = 2
            for call in data["calls"]:
                if call["name"] in ("getitem_1", "getitem_2"):
                    call["dims"][0] = 2
            code, _, err = convert(data)
            self.assertEqual(code, 4)
            self.assertRegex(err, r"last state")
        with self.subTest("returned"):
            data["outputs"] += ["getitem_1", "getitem_2"]
            select["args"] = {"self": "%getitem", "dim": 1, "index": -1}
            self.assertEqual(convert(data)[0], 0)

    def test_readers_of_overwritten_memory_read_what_was_written_last(self):
        _, out, _ = convert(stored("in_place"))
        reads = {layer["name"]: layer.get("after") for layer in json.loads(out)["layers"]}
        self.assertEqual(reads, {"first": None, "relu": None, "second": None,
                                 "add": ["second", "relu"], "add_2": ["add", "relu"]})

    def test_an_unknown_call_is_named_with_its_place_and_share(self):
        done = run("--from-export", DATA / "missing.json", "-o", self.file)
        self.assertEqual(done.returncode, 4)
        self.assertRegex(done.stderr, r"erf: 1 call, 0.0 % .* at networks.py:\d+")
        self.assertRegex(done.stderr, r"einsum .*: 1 call, [1-9]\d*\.\d %")
        self.assertFalse(self.file.exists())

    def test_what_the_format_cannot_express_is_named(self):
        done = run("--from-export", DATA / "wide.json", "-o", self.file)
        self.assertEqual(done.returncode, 4)
        self.assertRegex(done.stderr, r"output_padding 2 .* at up, networks.py:\d+")
        self.assertFalse(self.file.exists())

    def test_a_program_that_fails_leaves_the_old_file(self):
        tool = self.folder / "tool"
        for said, code, expected in (("is wrong", 3, 3), ("no memory", 137, 1), ("is lost", 127, 1)):
            tool.write_text(f'#!/bin/sh\necho "layerbench: {said}" >&2\nexit {code}\n')
            tool.chmod(0o755)
            with self.subTest(said):
                self.file.write_text("old")
                done = run("--from-export", DATA / "in_place.json", "-o", self.file,
                           f"--layerbench={tool}")
                self.assertEqual(done.returncode, expected, done.stderr)
                self.assertEqual(self.file.read_text(), "old")
                self.assertIn(said, done.stderr)
        tool.write_text("no program")
        done = run("--from-export", DATA / "in_place.json", f"--layerbench={tool}")
        self.assertEqual(done.returncode, 1)
        self.assertIn("does not run", done.stderr)
        done = run("--from-export", DATA / "in_place.json", f"--layerbench={self.folder / 'none'}")
        self.assertEqual(done.returncode, 2)
        self.assertIn(str(self.folder / "none"), done.stderr)

    def test_without_a_program_the_error_says_how_to_get_one(self):
        tools = self.folder / "tools"
        shutil.copytree(ROOT / "tools", tools, ignore=shutil.ignore_patterns("__pycache__"))
        done = subprocess.run([sys.executable, tools / "from_torch.py", "--from-export",
                               DATA / "in_place.json"], capture_output=True, text=True, check=False,
                              env={**os.environ, "PATH": str(self.folder)})
        self.assertEqual(done.returncode, 2)
        for word in ("quickstart.sh", "--layerbench"):
            self.assertIn(word, done.stderr)

    def test_sizes_that_no_shape_file_has_are_refused_with_the_layer(self):
        most = 2**31 - 1
        code, _, err = convert({
            "layerbench_torch_export": 1, "name": "huge", "inputs": {"x": {"dims": ["batch", most]}},
            "weights": {"w": [most, most]}, "outputs": ["y"],
            "calls": [{"name": "y", "target": "aten.linear.default", "module": "fc",
                       "args": {"input": "%x", "weight": "%w"}, "dims": ["batch", most]}]})
        self.assertEqual(code, 3)
        self.assertIn("layer fc", err)

    def test_a_partial_file_says_that_it_is_one(self):
        done = run("--from-export", DATA / "missing.json", "-o", self.file, "--allow-partial")
        self.assertEqual(done.returncode, 0)
        self.assertIn("einsum", done.stderr)
        shown = show(self.file)
        self.assertRegex(shown["source"], r"incomplete, without einsum .*\(1\), erf \(1\)")
        # The einsum has 9 * 9 * 16 products, the layer that is kept 9 * 16 * 16.
        self.assertAlmostEqual(shown["left_out"], 9 / (9 + 16), delta=1e-4)

    def test_no_softmax(self):
        export = DATA / "resnet18.json"
        last = [json.loads(run("--from-export", export, *more).stdout)["layers"][-1]["op"]
                for more in ([], ["--no-softmax"])]
        self.assertEqual(last, ["softmax", "gemm"])

    def test_names(self):
        _, out, _ = convert(stored("resnet18"))
        names = [layer["name"] for layer in json.loads(out)["layers"]]
        self.assertEqual(names[4:11], ["layer1_0_conv1", "layer1_0_bn1", "layer1_0_relu",
                                       "layer1_0_conv2", "layer1_0_bn2", "layer1_0_add",
                                       "layer1_0_relu_2"])
        done = run("--from-export", DATA / "resnet18.json", "--name=mine", "--title=My title")
        self.assertEqual([json.loads(done.stdout)[key] for key in ("name", "title")],
                         ["mine", "My title"])


class Batch(unittest.TestCase):
    """Two exports of different batches become one."""

    def test_sizes_that_differ_are_multiples_of_the_batch(self):
        first, second = ([batch, 3, 7 * batch, [6, True, None, "6", 0.5]]
                         for batch in torch_export.BATCHES)
        self.assertEqual(torch_export.merged(first, second, "place"),
                         ["batch", 3, ["batch", 7], [6, True, None, "6", 0.5]])

    def test_other_differences_are_refused(self):
        for first, second in ((3, 4), (2, 2.0), (1, True), ([2], [2, 2]), ({"a": 1}, {"b": 1}),
                              (0.5, 0.25), ("a", "b"), (4, 5)):
            with self.subTest((first, second)):
                with self.assertRaisesRegex(torch_export.CannotExport, "place"):
                    torch_export.merged(first, second, "place")

    def test_another_number_of_calls_is_refused(self):
        def graph(*targets):
            return {"inputs": {}, "calls": [{"name": target, "target": target} for target in targets]}

        for targets in (("a",), ("a", "c"), ("a", "b", "b")):
            with self.assertRaises(torch_export.CannotExport):
                torch_export.both(graph("a", "b"), graph(*targets))

    def test_a_tensor_whose_parts_are_written_is_a_concatenation(self):
        def calls(end):
            parts = []
            for name, start, size in (("a", 0, 3), ("b", 3, 5)):
                parts += [{"name": name, "target": "aten.slice.Tensor", "dims": [2, size],
                           "args": {"self": "%whole", "dim": 1, "start": start, "end": start + size}},
                          {"name": f"copy_{name}", "target": "aten.copy_.default", "dims": [2, size],
                           "writes_view": True, "args": {"self": f"%{name}", "src": f"%{name}_src"}}]
            return [{"name": "whole", "target": "aten.new_empty.default", "args": {"self": "%a_src"},
                     "dims": [2, end]}, *parts, {"name": "last", "target": "aten.relu.default",
                                                 "args": {"self": "%whole"}, "dims": [2, end]}]

        whole = calls(8)
        torch_export.join_written_parts(whole)
        self.assertEqual([(call["name"], call["target"], call["args"]) for call in whole[:-1]],
                         [("whole", "aten.cat.default", {"tensors": ["%a_src", "%b_src"], "dim": 1})])
        # The last column is not written.
        partly = calls(9)
        torch_export.join_written_parts(partly)
        self.assertEqual(partly, calls(9))
        # A part is written twice, or the tensor is read before its last part is written.
        twice, early = calls(8), calls(8)
        twice[3:3] = [{**call, "name": f"{call['name']}_again"} for call in twice[1:3]]
        twice[4]["args"] = {"self": "%a_again", "src": "%b_src"}
        early.insert(3, {**early[-1], "name": "early"})
        for other in (twice, early):
            before = [dict(call) for call in other]
            torch_export.join_written_parts(other)
            self.assertEqual(other, before)

    def test_named_sizes(self):
        read = torch_export.input_sizes
        self.assertEqual(read("4x3x8", {}), ([4, 3, 8], 0, "float32", ""))
        self.assertEqual(read("ids=20xbatchxh:int64", {"h": 7}), ([20, 1, 7], 1, "int64", "ids"))
        with self.assertRaises(torch_export.Usage):
            read("no name=1x3", {})
        with self.assertRaisesRegex(torch_export.Usage, "--bind h=SIZE"):
            read("1xh", {})


class Refusals(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)

    def test_wrong_exports(self):
        def edited(**changes):
            return {**stored("in_place"), **changes}

        def call(i, **changes):
            data = stored("in_place")
            data["calls"][i].update(changes)
            return data

        calls = stored("in_place")["calls"]
        for word, data in (
                ("JSON", ""), ("JSON", "{"), ("JSON", "[" * 100000), ("JSON", '{"a": NaN}'),
                ("layerbench_torch_export", []), ("layerbench_torch_export", {}),
                ("layerbench_torch_export", edited(layerbench_torch_export=2)),
                ("/calls", edited(calls={})), ("/calls", edited(calls=[])),
                ("/calls/0", edited(calls=[1])), ("/calls/1/name", edited(calls=[calls[0]] * 2)),
                ("/outputs", edited(outputs=[1])), ("/outputs", edited(outputs=["nobody"])),
                ("/inputs", edited(inputs=[])), ("/inputs/x", edited(inputs={"x": {"dims": 3}})),
                ("/weights/w", edited(weights={"w": [-1]})), ("/name", edited(name=7)),
                ("/batch", edited(batch=0)), ("/batch", edited(batch="2")),
                ("/calls/0/dims", call(0, dims=["batch", 2**40, 8, 8])),
                ("/calls/0/dims/0", call(0, dims=[["batch", 2, 3], 4, 8, 8])),
                ("/calls/0/dims", call(0, dims=["batch", 5, 8, 8])),
                ("/calls/0/dims", call(0, dims=[1] * 17)), ("/calls/0/args", call(0, args=[])),
                ("/calls/0/args/stride", call(0, args={**calls[0]["args"], "stride": [0, 0]})),
                ("/calls/0/args/groups", call(0, args={**calls[0]["args"], "groups": 3})),
                ("/calls/0/args", call(0, args={"input": "%x", "weight": "%nobody"})),
                ("/calls/0/args/weight", call(0, args={"input": "%x"})),
                ("/calls/0/args", call(0, args={"input": "%" + calls[-1]["name"]})),
                ("/calls/0/flops", call(0, flops="many"))):
            with self.subTest(word=word, data=str(data)[:80]):
                code, out, err = convert(data)
                self.assertEqual((code, out), (3, ""), err)
                self.assertIn(word, err)

    def test_command_lines(self):
        export = DATA / "in_place.json"
        for arguments in ([], ["net.py:make", "--from-export", export],
                          ["--from-export", export, "--input=1x3"], ["--nonsense"], ["net.py"],
                          ["net.py:make", "--input=1x3xh"], ["net.py:make", "--input=0x3"],
                          ["--from-export", export, "--name=Mine"],
                          ["--from-export", export, "--bind=x=0"],
                          ["net.py:make", "--input=1xtokens", "--bind=tokens=8", "--bind=token=8"],
                          *(["net.py:make", "--input=1x3", "--export=x.json", more] for more in (
                              "--output=y.json", "--title=x", "--no-softmax", "--allow-partial")),
                          ["--from-export", export, "-o", self.folder / "none" / "mine.json"]):
            with self.subTest(arguments):
                self.assertEqual(run(*arguments).returncode, 2)
        self.assertEqual(run("--from-export", self.folder / "none.json").returncode, 3)

    def test_an_old_file_remains_if_the_new_one_fails(self):
        file = self.folder / "mine.json"
        file.write_text("old")
        for name in ("missing", "none"):
            self.assertNotEqual(run("--from-export", DATA / f"{name}.json", "-o", file).returncode, 0)
            self.assertEqual(file.read_text(), "old")
        self.assertEqual(run("--from-export", DATA / "in_place.json", "-o", file).returncode, 0)
        self.assertEqual([path.name for path in self.folder.iterdir()], ["mine.json"])
        self.assertEqual(file.read_text(), run("--from-export", DATA / "in_place.json").stdout)

    def test_stdout_that_is_full(self):
        with open("/dev/full", "w", encoding="utf-8") as full:
            done = subprocess.run([sys.executable, SCRIPT, "--from-export", DATA / "in_place.json"],
                                  stdout=full, stderr=subprocess.PIPE, text=True, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn("stdout", done.stderr)

    def test_without_torch(self):
        (self.folder / "torch.py").write_text("raise ImportError('no torch')")
        done = run("torchvision:resnet18", env={**os.environ, "PYTHONPATH": str(self.folder)})
        self.assertEqual(done.returncode, 77)
        self.assertIn("pip install torch", done.stderr)

    def test_models_that_cannot_be_loaded(self):
        for file, text in (
                ("torch/__init__.py", ""), ("torch/utils/__init__.py", ""), ("torch/utils/flop_counter.py", ""),
                ("torchvision.py", "raise RuntimeError('why')"), ("mine.py", "raise ValueError('why')"),
                ("ends.py", "raise SystemExit('why')"),
                ("transformers.py", "def __getattr__(_): raise KeyError('why')")):
            (self.folder / file).parent.mkdir(parents=True, exist_ok=True)
            (self.folder / file).write_text(text)
        for model, code in (("torchvision:resnet18", 77), ("mine.py:make", 2), ("mine:make", 2),
                            ("ends.py:make", 2), ("transformers:torch", 3)):
            with self.subTest(model):
                done = run(model, "--input=1x3", cwd=self.folder,
                           env={**os.environ, "PYTHONPATH": str(self.folder)})
                self.assertEqual(done.returncode, code, done.stderr)
                self.assertIn("why", done.stderr)
                self.assertNotIn("Traceback", done.stderr)


def export_again():
    """Makes the stored exports again. Run it with a Python that has torch, torchvision and
    transformers."""
    os.chdir(ROOT)
    models = [(f"torchvision:{name}", name, []) for name in SHIPPED]
    models += [(f"tests/data/torch/networks.py:{kind}", name, [f"--input={sizes}"])
               for kind, (name, sizes, *_) in {**SMALL, **TRANSFORMERS, **MISSING}.items()]
    for model, name, inputs in models:
        code = from_torch.main([model, *inputs, f"--name={name}", f"--export={DATA / name}.json"])
        if code:
            sys.exit(code)


class TwoConversions(unittest.TestCase):
    """What tools/import_models.py makes of conversions at 128 and 96 tokens."""

    TOKENS = (128, 96)

    def test_sizes(self):
        for one, other, expected in ((128, 96, "tokens"), (384, 288, ["tokens", 3]), (127, 95, "last"),
                                     (["batch", 128], ["batch", 96], ["batch", "tokens"]),
                                     (["batch", 256], ["batch", 192], ["batch", "tokens", 2])):
            self.assertEqual(import_models.common_size(one, other, self.TOKENS), expected)
        for one, other in ((128, 97), (64, 48), (["batch", 128], 96)):
            with self.assertRaises(ValueError):
                import_models.common_size(one, other, self.TOKENS)

    def test_lists_of_sizes_and_products(self):
        def layers(tokens):
            return [{"name": "a", "shape": {"dims": ["batch", tokens, 8], "m": ["batch", tokens], "n": 128}}]
        self.assertEqual(import_models.common(*map(layers, self.TOKENS), self.TOKENS, "layers"),
                         layers("tokens"))

    def test_key_value_caches(self):
        def layers(k):
            shape = {"n": "batch", "heads": 4, "kv_heads": 2, "d": 16, "q": "tokens", "k": k}
            return [{"name": "a", "op": "attention", "after": ["q", "k", "v"], "shape": shape},
                    {"name": "b", "op": "activation", "shape": {"dims": ["batch", 64]}}]
        k, v, attention, last = import_models.cached(layers("tokens"))
        for cache, source in ((k, "k"), (v, "v")):
            self.assertEqual(cache, {
                "name": f"{source}_cache", "op": "append", "after": [source],
                "shape": {"n": "batch", "tokens": "tokens", "context": "context", "columns": 32}})
        self.assertEqual(attention["after"], ["q", "k_cache", "v_cache"])
        self.assertEqual(attention["shape"], layers("keys")[0]["shape"])
        self.assertEqual(last, layers("tokens")[1])
        self.assertIsNone(import_models.cached(layers("tokens")[1:]))


if __name__ == "__main__":
    if sys.argv[1:] == ["--export"]:
        export_again()
    else:
        TOOL = sys.argv.pop(1)
        unittest.main()
