#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 the layerbench authors
# SPDX-License-Identifier: Apache-2.0
"""Tests `layerbench import onnx` on stored models of PyTorch's two exporters, without torch:
onnx_test.py TOOL, the program `layerbench`.

The layers, their shapes and their edges are those that tools/from_torch.py writes of the same model,
but for names. Exporters leave dropout out, and fold batch norm into convolutions unless they are told
otherwise.

With --export the stored models are made again, which needs torch, torchvision, transformers, onnx and
onnxscript. They have no weights.
"""
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent
DATA = ROOT / "tests/data/onnx"
TORCH = ROOT / "tests/data/torch"
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tools"), str(TORCH)]
import from_torch_test  # noqa: E402 pylint: disable=wrong-import-position

TOOL = None
# Models of torchvision: the shipped shape file, or the stored export for from_torch.py, that has the
# same layers.
SHIPPED = {"alexnet": "alexnet", "vgg16": "vgg16", "resnet18": "resnet18", "resnet50": "resnet50",
           "googlenet": "googlenet_torchvision_bn", "mobilenet_v2": "mobilenet_v2",
           "vit_b_16": "vit_b_16"}
SMALL = {"signal": ("Signal", "1x4x64"), "shuffle": ("Shuffle", "1x8x6x10"),
         "attention": ("Attention", "1x9:int64"), "last_step": ("LastStep", "1x7:int64"),
         "layer_scale": ("LayerScale", "1x3x6x10"),
         "bert_2_layers": ("bert", "1x128:int64"), "gpt2_2_layers": ("Gpt2", "1x128:int64")}
FOLDING = {"script": ("conv",), "dynamo": ("conv", "gemm")}
# The older exporter cannot write their RMS norm and their mask.
NOT_EXPORTED = {("attention", "script"), ("gpt2_2_layers", "script")}
VIT_LAYERS = 2  # are stored


def import_onnx(file, *arguments):
    return subprocess.run([TOOL, "import", "onnx", file, *map(str, arguments)], capture_output=True,
                          text=True, check=False)


def exported(model, folding):
    """The model as an exporter writes it: without dropout, and without the batch norm behind layers of
    the ops `folding`, which have a bias instead."""
    layers, before, gone = [], None, {}
    by_name = {}
    for layer in model["layers"]:
        reads = layer.get("after", [before] if before else [])
        reads = [gone.get(name, name) for name in reads]
        before = layer["name"]
        is_folded = layer["op"] == "batchnorm" and by_name[reads[0]]["op"] in folding
        if is_folded or layer["op"] == "dropout":
            gone[before] = reads[0]
            if is_folded:
                by_name[reads[0]]["shape"]["bias"] = True
            continue
        by_name[before] = {**layer, "after": reads, "shape": dict(layer["shape"])}
        layers.append(by_name[before])
    return {**model, "layers": layers}


def reference(name):
    """What from_torch.py writes of a model."""
    if name in SHIPPED:
        model = json.loads((ROOT / f"shapes/models/{SHIPPED[name]}.json").read_text())
        if name == "vit_b_16":
            deep = re.compile(r"layer(\d+)_")
            model["layers"] = [layer for layer in model["layers"] if not (
                deep.match(layer["name"]) and int(deep.match(layer["name"])[1]) >= VIT_LAYERS)]
        return model
    code, out, err = from_torch_test.convert(from_torch_test.stored(name))
    assert code == 0, err
    return json.loads(out)


class Models(unittest.TestCase):
    maxDiff = 3000

    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)

    def layers_of(self, model):
        file = self.folder / "compared.json"
        file.write_text(json.dumps(model))
        return from_torch_test.layers_of(file)

    def test_layers_are_those_of_from_torch(self):
        for name in (*SHIPPED, *SMALL):
            for exporter in FOLDING:
                if (name, exporter) in NOT_EXPORTED:
                    continue
                with self.subTest(name, exporter=exporter):
                    done = import_onnx(DATA / f"{name}_{exporter}.onnx")
                    self.assertEqual(done.returncode, 0, done.stderr)
                    ours = json.loads(done.stdout)
                    expected = exported(reference(name), FOLDING[exporter])
                    self.assertEqual(self.layers_of(ours), self.layers_of(expected))
                    folds = any(layer["op"] == "batchnorm" for layer in reference(name)["layers"])
                    self.assertEqual("inference_only" in ours, folds)

    def test_batch_norm_that_is_kept(self):
        done = import_onnx(DATA / "resnet18_script_kept.onnx")
        self.assertEqual(done.returncode, 0, done.stderr)
        ours = json.loads(done.stdout)
        self.assertEqual(self.layers_of(ours), self.layers_of(reference("resnet18")))
        self.assertNotIn("inference_only", ours)

    def test_totals(self):
        for name in ("alexnet", "vgg16"):
            file = self.folder / "mine.json"
            self.assertEqual(import_onnx(DATA / f"{name}_dynamo.onnx", "-o", file).returncode, 0)
            for total in ("parameters", "macs"):
                self.assertEqual(*(from_torch_test.show(model, "--batch=3")[total] for model in (
                    file, ROOT / f"shapes/models/{SHIPPED[name]}.json")))

    def test_names_are_those_of_from_torch(self):
        code, out, _ = from_torch_test.convert(from_torch_test.stored("mobilenet_v2"))
        self.assertEqual(code, 0)
        expected = exported(json.loads(out), FOLDING["script"])
        for exporter in FOLDING:
            ours = json.loads(import_onnx(DATA / f"mobilenet_v2_{exporter}.onnx").stdout)
            self.assertEqual([layer["name"] for layer in ours["layers"]],
                             [layer["name"] for layer in expected["layers"]], exporter)


def is_mask(tensor):
    """Whether a constant tensor is added to hide something."""
    import onnx.numpy_helper
    return tensor.data_type == 1 and (onnx.numpy_helper.to_array(tensor) < -1e4).any()


def strip(model):
    """Removes weights, and notes that nothing reads."""
    kept = ("pkg.torch.onnx.name_scopes", "pkg.onnxscript.rewriter.rule_name")
    for tensor in model.graph.initializer:
        elements = 1
        for extent in tensor.dims:
            elements *= extent
        if tensor.data_type in (1, 10, 11) and elements > 1 and not is_mask(tensor):
            tensor.ClearField("raw_data")
            tensor.ClearField("float_data")
        tensor.ClearField("doc_string")
        del tensor.metadata_props[:]
    for node in model.graph.node:
        node.ClearField("doc_string")
        notes = [(note.key, note.value) for note in node.metadata_props if note.key in kept]
        del node.metadata_props[:]
        for key, value in notes:
            node.metadata_props.add(key=key, value=value)
        for attribute in node.attribute:
            attribute.ClearField("doc_string")
    del model.graph.value_info[:]
    del model.graph.metadata_props[:]
    del model.metadata_props[:]
    for value in (*model.graph.input, *model.graph.output):
        del value.metadata_props[:]
    return model


def export_again(names):
    """Makes the stored models again, or those that are named."""
    import io
    import onnx
    import torch
    import torchvision
    import networks

    def randomized(module):
        """Exporters merge tensors that are alike, and drop biases of 0."""
        with torch.no_grad():
            for tensor in (*module.parameters(), *module.buffers()):
                if tensor.is_floating_point():
                    tensor.uniform_(0.5, 1.5)
        return module.eval()

    def write(name, module, inputs, exporter, **options):
        stream = io.BytesIO()
        options["dynamo"] = exporter == "dynamo"
        if exporter == "dynamo":
            options["dynamic_shapes"] = ({0: torch.export.Dim("batch")},)
        else:
            options["dynamic_axes"] = {"x": {0: "batch"}}
        program = torch.onnx.export(module, (inputs,), None if options["dynamo"] else stream,
                                    input_names=["x"], **options)
        model = program.model_proto if options["dynamo"] else onnx.load_from_string(stream.getvalue())
        file = DATA / f"{name}.onnx"
        file.write_bytes(strip(model).SerializeToString())
        print(f"{file.name}: {file.stat().st_size} bytes")

    def network(name):
        if name != "vit_b_16":
            return torchvision.models.get_model(name, weights=None)
        return torchvision.models.VisionTransformer(224, 16, VIT_LAYERS, 12, 768, 3072)

    for name in names or (*SHIPPED, *SMALL):
        torch.manual_seed(1)
        for exporter in FOLDING:
            if name in SHIPPED:
                module, inputs = network(name), torch.zeros(2, 3, 224, 224)
            else:
                kind, sizes = SMALL[name]
                module = getattr(networks, kind)()
                sizes, _, dtype = sizes.partition(":")
                inputs = torch.zeros([2, *map(int, sizes.split("x")[1:])],
                                     dtype=getattr(torch, dtype or "float32"))
                module = networks.Outputs(module) if kind == "bert" else module
            if (name, exporter) in NOT_EXPORTED:
                continue
            write(f"{name}_{exporter}", randomized(module), inputs, exporter)
            if name == "resnet18" and exporter == "script":
                write(f"{name}_script_kept", module, inputs, exporter,
                      training=torch.onnx.TrainingMode.PRESERVE)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--export"]:
        export_again(sys.argv[2:])
    else:
        TOOL = from_torch_test.TOOL = sys.argv.pop(1)
        unittest.main()
