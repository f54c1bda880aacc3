#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 the layerbench authors
# SPDX-License-Identifier: Apache-2.0
"""Holds the suite against PyTorch on one NVIDIA GPU, in turns: a product of 8192^3 in bf16, the
convolutions of ResNet-50 at batch 32 in bf16 with channels last, and images/s of ResNet-50, VGG-16,
AlexNet and ViT-B/16 as torchvision has them, and of BERT as transformers has it (inference), beside what
the result files of tools/gpu_check.sh predict, with the GPU's time by kind of op. All of PyTorch is
captured in CUDA graphs and replayed, so that its host time does not count; the training step is timed
eagerly, too. Needs torch and torchvision; BERT needs transformers. Not a test, since its answer depends
on the machine: run it by hand, with nothing else running.
"""
import argparse
import collections
import json
import pathlib
import statistics
import sys
import tempfile
import time

from by_hand import run

ROUNDS = 5
STEADY = 0.5  # seconds of the same work before it is timed
MODELS = ("resnet50", "vgg16", "alexnet", "vit_b_16", "bert_base")
PARTS = ("product", "convolutions", "models")
UNITS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1}
PRODUCT = {"name": "product", "title": "one large product", "source": "none", "layers": [
    {"name": "square", "op": "gemm", "shape": {"m": 8192, "n": 8192, "k": 8192}}]}
# What PyTorch calls an op, or what runs under it, by the suite's names.
KINDS = (("conv", ("convolution",)), ("batchnorm", ("batch_norm",)), ("layernorm", ("layer_norm",)),
         ("attention", ("attention",)), ("embedding", ("embedding", "aten::index_select")),
         ("pool", ("pool2d", "aten::mean")), ("dropout", ("dropout",)),
         ("cross_entropy", ("softmax", "nll_loss", "cross_entropy")),
         ("update", ("_foreach_", "_fused_sgd", "optimizer")), ("gemm", ("addmm", "aten::mm", "linear")),
         ("activation", ("relu", "gelu", "tanh", "clamp_min", "threshold_backward")), ("add", ("aten::add",)),
         ("copy", ("copy_", "aten::to", "aten::fill", "aten::zero")))


def kind_of(name):
    return next((kind for kind, parts in KINDS if any(each in name for each in parts)), "other")


def seconds_of(torch, work, calls):
    """GPU seconds of a call in the median batch of `calls`, back to back, once the clocks are steady."""
    end = time.monotonic() + STEADY
    while time.monotonic() < end:
        work()
        torch.cuda.synchronize()
    taken = []
    for _ in range(ROUNDS):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        for _ in range(calls):
            work()
        end.record()
        end.synchronize()
        taken.append(begin.elapsed_time(end) / 1e3 / calls)
    return statistics.median(taken)


def state(torch):
    """Clock in MHz and power in W, where PyTorch can read them."""
    try:
        return {"sm_mhz": torch.cuda.clock_rate(), "power_w": torch.cuda.power_draw() / 1e3}
    except (ModuleNotFoundError, RuntimeError) as problem:
        return {"unknown": str(problem)}


def rows_of(plans, program, *options):
    """Seconds of a hot call by layer, and counts: by the fastest plans, which are chosen the first
    time and kept in the file `plans`; by the library's own if that is None."""
    chosen = "heuristic" if plans is None else plans if plans.exists() else "measured"
    text = run(program, *options, "--cache=hot", f"--plans={chosen}", "--benchmark_format=json",
               "--benchmark_repetitions=3", codes=(0, 4))
    if plans and not plans.exists():
        plans.write_text(text)
    rows = [each for each in json.loads(text)["benchmarks"] if each.get("aggregate_name") == "median"]
    return {each["run_name"].split("/")[5]: (each["real_time"] * UNITS[each["time_unit"]],
                                             each.get("count", 1)) for each in rows}


def as_graph(torch, work, calls=1):
    """Records `calls` calls; the result replays them, and keeps what `work` holds."""
    aside = torch.cuda.Stream()
    aside.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(aside):
        for _ in range(3):
            work()
    torch.cuda.current_stream().wait_stream(aside)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(calls):
            work()

    def replay(_kept=work):
        graph.replay()
    return replay


def uniform(torch, *extents, dtype=None):
    return torch.rand(*extents, device="cuda").mul_(2).sub_(1).to(dtype or torch.bfloat16)


def product(torch, bench, folder, measured):
    """Medians of FLOP/s in turns: the suite's and PyTorch's."""
    file = folder / "product.json"
    file.write_text(json.dumps(PRODUCT))
    a, b = (uniform(torch, 8192, 8192) for _ in range(2))
    replay = as_graph(torch, lambda: torch.matmul(a, b), 20)
    ours, theirs = [], []
    for _ in range(ROUNDS):
        rows = rows_of(measured and folder / "product_plans.json", bench / "bench_gemm", f"--model={file}",
                       "--backend=cublas", "--dtype=bf16", "--clocks=steady")
        ours.append(2 * 8192**3 / rows["square"][0])
        theirs.append(2 * 8192**3 / (seconds_of(torch, replay, 1) / 20))
    print(f"  after the product: {state(torch)}")
    return statistics.median(ours), statistics.median(theirs)


def torch_convolutions(torch, shapes):
    """20 recorded calls of each layer."""
    torch.backends.cudnn.benchmark = True
    graphs = {}
    for name, shape in shapes.items():
        x, w = (uniform(torch, *(shape[each] for each in axes))
                .contiguous(memory_format=torch.channels_last) for axes in ("nchw", "kcrs"))
        how = {"stride": shape.get("stride", 1), "padding": shape.get("pad", 0)}
        graphs[name] = as_graph(
            torch, lambda x=x, w=w, how=how: torch.nn.functional.conv2d(x, w, **how), 20)
    return graphs


def convolutions(torch, bench, tool, folder, measured):
    """Medians of the count-weighted seconds in turns, and single layers' of the last round."""
    shown = json.loads(run(tool, "show", "resnet50", "--batch=32", "--format=json"))
    shapes = {each["name"]: each["shape"] for each in shown["layers"] if each["op"] == "conv"}
    graphs = torch_convolutions(torch, shapes)
    ours, theirs, layers = [], [], {}
    for _ in range(ROUNDS):
        rows = rows_of(measured and folder / "conv_plans.json", bench / "bench_conv", "--model=resnet50",
                       "--backend=cudnn", "--dtype=bf16", "--batch=32", "--clocks=steady")
        sums = [0, 0]
        for name, (seconds, count) in rows.items():
            own = seconds_of(torch, graphs[name], 1) / 20
            layers[name] = {"count": count, "layerbench_s": seconds, "torch_s": own}
            sums[0] += count * seconds
            sums[1] += count * own
        ours.append(sums[0])
        theirs.append(sums[1])
    return statistics.median(ours), statistics.median(theirs), layers


def bert_step(torch, batch, tokens, dtype):
    """Inference of BERT on texts of the full length, which need no mask."""
    import transformers
    net = transformers.BertModel(transformers.BertConfig()).cuda().eval()
    if dtype == "bf16":
        net = net.to(torch.bfloat16)
    words = torch.randint(net.config.vocab_size, (batch, tokens), device="cuda")

    def step():
        with torch.inference_mode():
            net(words)
    return step


def step_of(torch, name, batch, dtype, training, tokens):
    """A step of a model, ready to be called again and again."""
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = True
    torch.backends.cudnn.benchmark = True
    if name == "bert_base":
        return bert_step(torch, batch, tokens, dtype)
    import torchvision
    net = getattr(torchvision.models, name)(weights=None).cuda().to(memory_format=torch.channels_last)
    images = uniform(torch, batch, 3, 224, 224, dtype=torch.float32)
    images = images.contiguous(memory_format=torch.channels_last)
    if training:
        classes = torch.randint(1000, (batch,), device="cuda")
        rule = torch.optim.SGD(net.parameters(), lr=1e-4, momentum=0.9, weight_decay=1e-4)

        def step():
            # Autocast casts the weights in every step; a recorded cast must not come from its cache.
            rule.zero_grad(set_to_none=True)
            with torch.autocast("cuda", torch.bfloat16, enabled=dtype == "bf16", cache_enabled=False):
                loss = torch.nn.functional.cross_entropy(net(images), classes)
            loss.backward()
            rule.step()
        return step
    net.eval()
    if dtype == "bf16":
        net, images = net.to(torch.bfloat16), images.to(torch.bfloat16)

    def step():
        with torch.inference_mode():
            torch.softmax(net(images), 1)
    return step


def by_kind(torch, step):
    """GPU seconds of a step by kind of op."""
    step()
    torch.cuda.synchronize()
    with torch.profiler.profile() as seen:
        step()
        torch.cuda.synchronize()
    sums = collections.Counter()
    for each in seen.key_averages():
        own = getattr(each, "self_device_time_total", 0) * 1e-6
        if own and each.key.startswith("aten::"):
            sums[kind_of(each.key)] += own
    return dict(sums)


def predicted(tool, results):
    """Predictions of all result files, by model, phase, data type and batch."""
    found = {}
    for file in sorted(results.glob("*_batch*.json")):
        text = run(tool, "predict", file, "--format=json", "--allow-partial", codes=(0, 4))
        for each in json.loads(text)["predictions"]:
            sums = collections.Counter()
            for layer in each["layers"]:
                sums[layer["op"]] += layer["count"] * (layer["seconds"] or 0)
            found[each["model"], each["phase"], each["dtype"], each["batch"]] = (each, dict(sums))
    return found


def models(torch, tool, results):
    rows = []
    for (name, phase, dtype, batch), (each, ours) in sorted(predicted(tool, results).items()):
        if name not in MODELS or (name == "bert_base" and phase == "training"):
            continue
        if each["images_per_second"] is None or each["missing"]:
            print(f"{name} {phase} {dtype} batch {batch}: without {', '.join(each['missing'])}")
            continue
        step = step_of(torch, name, batch, dtype, phase == "training", each["tokens"] or 128)
        kinds = by_kind(torch, step)
        eager = batch / seconds_of(torch, step, 10)
        own = batch / seconds_of(torch, as_graph(torch, step), 10)
        rows.append({"model": name, "phase": phase, "dtype": dtype, "batch": batch,
                     "layerbench_images_per_second": each["images_per_second"],
                     "torch_images_per_second": own, "torch_eager_images_per_second": eager,
                     "layerbench_seconds": ours, "torch_seconds": kinds, "state": state(torch)})
        print(f"{name} {phase} {dtype} batch {batch}: predicted {each['images_per_second']:.0f} "
              f"images/s, PyTorch {own:.0f} ({each['images_per_second'] / own:.3f}), "
              f"eager {eager:.0f}")
        for kind in sorted({*ours, *kinds}, key=lambda one: -ours.get(one, 0)):
            print(f"  {kind:14} {1e3 * ours.get(kind, 0):9.3f} ms, PyTorch "
                  f"{1e3 * kinds.get(kind, 0):9.3f} ms")
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bench", type=pathlib.Path, default=pathlib.Path("build/gpu/bench"))
    parser.add_argument("--tool", type=pathlib.Path, default=pathlib.Path("build/gpu/tools/layerbench"))
    parser.add_argument("--results", type=pathlib.Path, default=pathlib.Path("build/results/gpu"))
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS)
    parser.add_argument("--plans", choices=("heuristic", "measured"), default="measured")
    options = parser.parse_args()
    try:
        import torch
    except ImportError:
        sys.exit("PyTorch is not there: pip install torch torchvision")
    if not torch.cuda.is_available():
        print("PyTorch can use no GPU here", file=sys.stderr)
        sys.exit(77)
    options.results.mkdir(parents=True, exist_ok=True)
    found = {"device": torch.cuda.get_device_name(), "torch": torch.__version__,
             "cuda": torch.version.cuda, "cudnn": torch.backends.cudnn.version()}
    print(found)

    def keep():
        (options.results / "torch.json").write_text(json.dumps(found, indent=1) + "\n")

    measured = options.plans == "measured" or None
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        if "product" in options.parts:
            ours, theirs = product(torch, options.bench, folder, measured)
            print(f"8192^3 in bf16: {ours / 1e12:.1f} TFLOP/s, PyTorch {theirs / 1e12:.1f} "
                  f"({ours / theirs:.3f}; goal 0.95)")
            found["product"] = {"layerbench_flops": ours, "torch_flops": theirs}
            keep()
        if "convolutions" in options.parts:
            ours, theirs, layers = convolutions(torch, options.bench, options.tool, folder, measured)
            print(f"convolutions of ResNet-50, batch 32, bf16: {1e3 * ours:.3f} ms, PyTorch "
                  f"{1e3 * theirs:.3f} ({ours / theirs:.3f}; goal 1.02)")
            found["convolutions"] = {"layerbench_s": ours, "torch_s": theirs, "layers": layers}
            keep()
    if "models" in options.parts:
        found["models"] = models(torch, options.tool, options.results)
        keep()


if __name__ == "__main__":
    main()
