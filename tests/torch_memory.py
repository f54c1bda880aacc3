#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 the layerbench authors
# SPDX-License-Identifier: Apache-2.0
"""Prints, as JSON, the bytes of PyTorch's tensors at the peak of a step, beyond inputs, labels, weights and momenta:
tests/data/torch_memory.json. Models are those of torchvision, and of transformers without dropout: BERT on 128 tokens,
and a step of one token of GPT-2 behind 511 others, whose key-value caches count. Nothing is computed: tensors are fake
ones, and PyTorch's own MemTracker follows when each is freed. The step is the second one: an inference without
gradients, or forward, loss, backward and update by momentum, after which gradients are freed. Scratch memory of
libraries is not among the tensors. Needs torch, torchvision and transformers. Not a test: run it by hand."""
import json

import torch
import torchvision
import transformers
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.distributed._tools.mem_tracker import MemTracker

VISION = {"alexnet": "alexnet", "resnet50": "resnet50", "vgg16": "vgg16", "googlenet_torchvision_bn": "googlenet"}
OF_THE_STEP = ("Activation", "Gradient", "Temp")
CONTEXT = 511


def vision(name, batch):
    options = {"aux_logits": False, "init_weights": False} if name == "googlenet" else {}
    return getattr(torchvision.models, name)(weights=None, **options), torch.empty(batch, 3, 224, 224)


def bert(batch):
    model = transformers.BertModel(transformers.BertConfig(hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0))
    return model, torch.zeros(batch, 128, dtype=torch.long)


def logits(result):
    return result if isinstance(result, torch.Tensor) else result.pooler_output


def bytes_at_peak(tracker, kinds):
    (parts,) = tracker.get_tracker_snapshot("peak").values()
    return sum(bytes_ for kind, bytes_ in parts.items() if str(getattr(kind, "value", kind)) in kinds)


def peak_of(model, inputs, phase):
    labels = torch.zeros(len(inputs), dtype=torch.long)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9)
    model.train(phase == "training")

    def step():
        with torch.set_grad_enabled(phase == "training"):
            result = logits(model(inputs))
            if phase == "training":
                torch.nn.functional.cross_entropy(result, labels).backward()
                optimizer.step()
                optimizer.zero_grad(set_to_none=True)
    step()
    tracker = MemTracker()
    tracker.track_external(model, optimizer, inputs, labels)
    with tracker:
        step()
    return bytes_at_peak(tracker, OF_THE_STEP)


def peak_of_decoding(batch):
    config = transformers.GPT2Config(resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0)
    model = transformers.GPT2LMHeadModel(config).eval()
    cache = transformers.DynamicCache(config=config)
    token = torch.zeros(batch, 1, dtype=torch.long)
    tracker = MemTracker()
    with torch.no_grad():
        model(torch.zeros(batch, CONTEXT, dtype=torch.long), past_key_values=cache)
        # A list of them would keep them.
        tracker.track_external(model, token, *(t for layer in cache.layers for t in (layer.keys, layer.values)))
        with tracker:
            model(token, past_key_values=cache)
    return bytes_at_peak(tracker, (*OF_THE_STEP, "Other")) - token.nbytes, bytes_at_peak(tracker, ("Parameter",))


def main():
    cases = []
    makers = {shapes: lambda batch, name=name: vision(name, batch) for shapes, name in VISION.items()}
    for shapes, make in {**makers, "bert_base": bert}.items():
        for phase in ("inference", "training"):
            for batch in (1, 8, 32):
                with FakeTensorMode():
                    cases.append({"model": shapes, "phase": phase, "batch": batch,
                                  "bytes": peak_of(*make(batch), phase)})
    for batch in (1, 8, 32):
        with FakeTensorMode():
            bytes_, weights = peak_of_decoding(batch)
            cases.append({"model": "gpt2", "phase": "inference", "batch": batch, "tokens": 1, "context": CONTEXT,
                          "bytes": bytes_, "weights": weights})
    lines = ",\n".join("  " + json.dumps(case) for case in cases)
    print(f'{{"torch": "{torch.__version__}", "torchvision": "{torchvision.__version__}", '
          f'"transformers": "{transformers.__version__}", "cases": [\n{lines}\n]}}')


if __name__ == "__main__":
    main()
