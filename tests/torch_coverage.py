#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 the layerbench authors
# SPDX-License-Identifier: Apache-2.0
"""Converts models of torchvision, timm or transformers and compares their totals with torch's.

  tests/torch_coverage.py build/release/tools/layerbench [--library LIBRARY] [-o FILE]

Of torchvision these are all classification models, of the others those of the lists TIMM and
TRANSFORMERS. With --library=shipped they are the models of tools/import_models.py. The default of -o
is results/torch_import/LIBRARY.csv. With --only the other rows of the output stay. Needs torch and
the library. It takes minutes, so it is run by hand; no data or weights
are downloaded. tools/update_docs.py makes the tables of docs/import.md of the files. Exit code 1:
totals of a model that converts completely are not those of torch, but for those in DIFFER.

  coverage    share of the calls of a forward pass that the shape file has
  parameters  of the shape file; torch_parameters: those that inference reads; unread: the others
  macs        of the shape file at batch 1; torch_macs: half the FLOPs of torch.utils.flop_counter
  missing     calls that no op computes, with their numbers
"""
import argparse
import csv
import json
import math
import pathlib
import re
import subprocess
import sys
import warnings

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tools"))
import import_models  # noqa: E402 pylint: disable=wrong-import-position
import torch_export  # noqa: E402 pylint: disable=wrong-import-position

# One model of each architecture: those that timm's documentation has pages of and that users of
# the hub ask for most, as far as the authors know; the hub's own counts were not at hand.
TIMM = (
    "resnet50 resnext50_32x4d seresnet50 resnetv2_50x1_bit resnest50d res2net50_26w_4s regnety_016 "
    "densenet121 vgg16 inception_v3 inception_v4 inception_resnet_v2 xception41 cspdarknet53 dla34 "
    "hrnet_w18_small mobilenetv2_100 mobilenetv3_large_100 mobilenetv4_conv_small mnasnet_100 ghostnet_100 "
    "rexnet_100 efficientnet_b0 tf_efficientnetv2_s repvgg_a0 convnext_tiny convnextv2_tiny eva02_tiny_patch14_224 "
    "vit_base_patch16_224 vit_small_patch14_dinov2 vit_base_patch16_siglip_224 deit3_small_patch16_224 "
    "beit_base_patch16_224 swin_tiny_patch4_window7_224 swinv2_tiny_window8_256 maxvit_tiny_rw_224 "
    "coatnet_0_rw_224 mobilevit_s cait_xxs24_224 mixer_b16_224").split()
TOKENS = ("1x128:int64",)
IMAGE = ("1x3x224x224",)
# Models of transformers: its class, what its configuration has other than
# the default, which is mostly that of a released model, and its inputs. Layers are few where all of them
# would be many and alike.
TRANSFORMERS = {
    "llama_3": ("LlamaForCausalLM", {
        "vocab_size": 128256, "hidden_size": 2048, "intermediate_size": 8192, "num_hidden_layers": 2,
        "num_key_value_heads": 8, "head_dim": 64, "tie_word_embeddings": True}, TOKENS),
    "qwen3": ("Qwen3ForCausalLM", {
        "hidden_size": 1024, "intermediate_size": 3072, "num_hidden_layers": 2, "num_attention_heads": 16,
        "num_key_value_heads": 8, "tie_word_embeddings": True}, TOKENS),
    "qwen3_moe": ("Qwen3MoeForCausalLM", {
        "num_hidden_layers": 2, "head_dim": 128, "norm_topk_prob": True}, TOKENS),
    "mixtral": ("MixtralForCausalLM", {"num_hidden_layers": 2}, TOKENS),
    "gpt_oss": ("GptOssForCausalLM", {"num_hidden_layers": 2, "num_local_experts": 32}, TOKENS),
    "deepseek_v3": ("DeepseekV3ForCausalLM", {"num_hidden_layers": 2, "first_k_dense_replace": 1}, TOKENS),
    "gemma_3": ("Gemma3ForCausalLM", {
        "hidden_size": 1152, "intermediate_size": 6912, "num_hidden_layers": 6, "num_attention_heads": 4,
        "num_key_value_heads": 1, "sliding_window": 64}, TOKENS),
    "whisper": ("WhisperForConditionalGeneration", {}, ("input_features=1x80x3000",
                                                        "decoder_input_ids=1x128:int64")),
    "clip_text": ("CLIPTextModelWithProjection", {}, ("1x77:int64",)),
    "clip_vision": ("CLIPVisionModelWithProjection", {}, IMAGE),
    "vit": ("ViTForImageClassification", {}, IMAGE),
    "detr": ("DetrForObjectDetection", {}, ("1x3x800x800",)),
    "sam_encoder": ("SamVisionModel", {}, ("1x3x1024x1024",)),
    "bert": ("BertForMaskedLM", {}, TOKENS),
    "roberta": ("RobertaForMaskedLM", {}, TOKENS),
    "distilbert": ("DistilBertForMaskedLM", {}, TOKENS),
    "gpt2": ("GPT2LMHeadModel", {}, TOKENS),
    "t5": ("T5ForConditionalGeneration", {}, ("input_ids=1x128:int64", "decoder_input_ids=1x128:int64")),
    "bart": ("BartForConditionalGeneration", {"encoder_layers": 2, "decoder_layers": 2},
             ("input_ids=1x128:int64", "decoder_input_ids=1x128:int64")),
    "phi3": ("Phi3ForCausalLM", {"num_hidden_layers": 2}, TOKENS),
    "mistral": ("MistralForCausalLM", {"num_hidden_layers": 2}, TOKENS),
    "falcon": ("FalconForCausalLM", {"num_hidden_layers": 2}, TOKENS),
    "opt": ("OPTForCausalLM", {}, TOKENS),
    "bloom": ("BloomForCausalLM", {"hidden_size": 1024, "n_layer": 2, "n_head": 16}, TOKENS),
    "swin": ("SwinForImageClassification", {}, IMAGE),
    "convnext": ("ConvNextForImageClassification", {}, IMAGE),
    "wav2vec2": ("Wav2Vec2ForCTC", {}, ("1x16000",))}
# docs/import.md says why the totals of these are not those of torch.
DIFFER = {"detr", "wav2vec2", "dit_s_2"}
COLUMNS = ("model", "input", "layers", "coverage", "parameters", "torch_parameters", "unread", "macs",
           "torch_macs", "missing")


def torch_macs(torch, make, inputs):
    """MACs of a whole forward pass as torch counts them."""
    # The counter fails at views of parameters that have gradients.
    module = torch_export.make_module(torch, make, "meta").requires_grad_(False)
    counter = torch.utils.flop_counter.FlopCounterMode(display=False)
    # Models of transformers ask whether tensors are fake before they read values.
    fake = torch._subclasses.FakeTensorMode(  # pylint: disable=protected-access
        allow_non_fake_inputs=True)
    with torch.no_grad(), fake, counter:
        tensors, by_name = torch_export.example(
            torch, [torch_export.input_sizes(text, {}) for text in inputs], 1, "meta")
        module(*tensors, **by_name)
    return counter.get_total_flops() // 2


def converted(tool, data):
    """The shape file of an export, what `show` says of it, and what stderr says of the import."""
    done = subprocess.run([tool, "import", "torch", "-", "--allow-partial"], input=json.dumps(data),
                          capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(done.stderr)
    shown = subprocess.run([tool, "show", "-", "--format=json"], input=done.stdout,
                           capture_output=True, text=True, check=False)
    if shown.returncode:
        sys.exit(shown.stderr)
    return json.loads(done.stdout), json.loads(shown.stdout), done.stderr


def maker_of(library, name):
    """A function that makes the module, and its inputs."""
    if library == "shipped":
        model = next(one for one in import_models.MODELS if one.name == name)
        return model.make, [text.replace("tokens", str(import_models.TOKENS)) for text in model.inputs]
    if library != "transformers":
        return torch_export.maker_of(f"{library}:{name}")
    kind, changes, inputs = TRANSFORMERS[name]
    make, _ = torch_export.transformers_maker(kind, **changes)
    return make, inputs


def row(torch, tool, library, name):
    make, inputs = maker_of(library, name)
    data = torch_export.export(f"{library}:{name}", inputs, {}, None, make)
    file, shown, said = converted(tool, data)
    missing = dict(re.findall(r"^no op computes (.*): (\d+) calls?,", said, re.M))
    follows = re.search(r"^left out with them.*results: (.*)$", said, re.M)
    left = sum(map(int, missing.values()))
    left += sum(map(int, re.findall(r"(\d+) \w+", follows[1]))) if follows else 0
    read = sum(math.prod(dims) for dims in data["weights"].values())
    return {"model": name, "input": " ".join(inputs), "layers": len(file["layers"]),
            "coverage": f"{1 - left / len(data['calls']):.4f}", "parameters": shown["parameters"],
            "torch_parameters": read, "unread": data["parameters"] - read, "macs": shown["macs"],
            "torch_macs": torch_macs(torch, make, inputs),
            "missing": "; ".join(f"{key} {count}" for key, count in sorted(missing.items()))}


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tool", type=pathlib.Path)
    parser.add_argument("--library", choices=("torchvision", "timm", "transformers", "shipped"),
                        default="torchvision")
    parser.add_argument("-o", "--output", type=pathlib.Path)
    parser.add_argument("--only", default="", metavar="REGEX",
                        help="convert only the models whose names begin so; default: all")
    options = parser.parse_args()
    options.output = options.output or ROOT / f"results/torch_import/{options.library}.csv"
    warnings.simplefilter("ignore")
    torch = torch_export.package("torch")
    libraries = ("transformers", "diffusers") if options.library == "shipped" else (options.library,)
    library, *_ = used = [torch_export.package(name) for name in libraries]
    wrong, rows = [], []
    names = {"timm": TIMM, "transformers": TRANSFORMERS,
             "shipped": [model.name for model in import_models.MODELS]}.get(options.library) or sorted(
        library.models.list_models(module=library.models))
    before = {}
    if options.only:
        with options.output.open(newline="") as file:
            before = {line["model"]: line for line in csv.DictReader(
                line for line in file if not line.startswith("#"))}
    for name in names:
        if options.only and name in before and not re.match(options.only, name):
            rows.append(before[name])
            continue
        found = row(torch, options.tool, options.library, name)
        rows.append(found)
        print(name, found["coverage"], flush=True)
        same = (found["parameters"] == found["torch_parameters"] and
                found["macs"] == found["torch_macs"])
        if not found["missing"] and not same and name not in DIFFER:
            wrong.append(name)
    options.output.parent.mkdir(parents=True, exist_ok=True)
    with options.output.open("w", newline="") as file:
        versions = (f"{one.__name__} {one.__version__.partition('+')[0]}" for one in (torch, *used))
        file.write(f"# {', '.join(versions)}\n")
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    sys.exit(f"totals differ from torch's: {' '.join(wrong)}" if wrong else 0)


if __name__ == "__main__":
    main()
