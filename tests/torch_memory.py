#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 the layerbench authors
# SPDX-License-Identifier: Apache-2.0
"""Prints, as JSON, the bytes of PyTorch's tensors at the peak of a step of torchvision's models, beyond images,
labels, weights and momenta: tests/data/torch_memory.json. Nothing is computed: tensors are fake ones, and PyTorch's
own MemTracker follows when each is freed. The step is the second one: an inference without gradients, or forward,
loss, backward and update by momentum, after which gradients are freed. Scratch memory of libraries is not among the
tensors. Needs torch and torchvision. Not a test: run it by hand."""
import json

import torch
import torchvision
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.distributed._tools.mem_tracker import MemTracker

MODELS = {"alexnet": "alexnet", "resnet50": "resnet50", "vgg16": "vgg16", "googlenet_torchvision_bn": "googlenet"}
OF_THE_STEP = ("Activation", "Gradient", "Temp")


def peak_of(name, batch, phase):
    options = {"aux_logits": False, "init_weights": False} if name == "googlenet" else {}
    model = getattr(torchvision.models, name)(weights=None, **options)
    images = torch.empty(batch, 3, 224, 224)
    labels = torch.zeros(batch, dtype=torch.long)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9)
    model.train(phase == "training")

    def step():
        with torch.set_grad_enabled(phase == "training"):
            result = model(images)
            if phase == "training":
                torch.nn.functional.cross_entropy(result, labels).backward()
                optimizer.step()
                optimizer.zero_grad(set_to_none=True)
    step()
    tracker = MemTracker()
    tracker.track_external(model, optimizer, images, labels)
    with tracker:
        step()
    (parts,) = tracker.get_tracker_snapshot("peak").values()
    return sum(bytes_ for kind, bytes_ in parts.items() if str(getattr(kind, "value", kind)) in OF_THE_STEP)


def main():
    cases = []
    for shapes, name in MODELS.items():
        for phase in ("inference", "training"):
            for batch in (1, 8, 32):
                with FakeTensorMode():
                    cases.append({"model": shapes, "phase": phase, "batch": batch,
                                  "bytes": peak_of(name, batch, phase)})
    lines = ",\n".join("  " + json.dumps(case) for case in cases)
    print(f'{{"torch": "{torch.__version__}", "torchvision": "{torchvision.__version__}", "cases": [\n{lines}\n]}}')


if __name__ == "__main__":
    main()
