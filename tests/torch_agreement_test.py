#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 the layerbench authors
# SPDX-License-Identifier: Apache-2.0
"""Tests what tests/torch_agreement.py asks of PyTorch, with a stand-in that records its calls."""
import contextlib
import gc
import io
import pathlib
import sys
import unittest
import weakref
from unittest import mock

import torch_agreement

SHAPE = {"n": 2, "c": 3, "h": 8, "w": 8, "k": 4, "r": 3, "s": 3}


def recorded(torch):
    """The calls that entered each graph, in order."""
    graphs = []
    inside = False
    for name, args, kwargs in torch.mock_calls:
        if name == "cuda.graph().__enter__":
            graphs.append([])
            inside = True
        elif name == "cuda.graph().__exit__":
            inside = False
        elif inside:
            graphs[-1].append((name, args, kwargs))
    return graphs


class TorchAgreement(unittest.TestCase):
    def setUp(self):
        self.torch = mock.MagicMock()
        vision = mock.MagicMock()
        vision.models.resnet50 = self.torch.resnet50
        everything = contextlib.ExitStack()
        self.addCleanup(everything.close)
        everything.enter_context(mock.patch.dict(sys.modules, {"torchvision": vision}))
        everything.enter_context(contextlib.redirect_stdout(io.StringIO()))

    def test_convolutions_are_captured_in_one_graph_each(self):
        graphs = torch_agreement.torch_convolutions(self.torch, {"a": SHAPE, "b": SHAPE})
        self.assertEqual(set(graphs), {"a", "b"})
        calls = recorded(self.torch)
        self.assertEqual(len(calls), 2)
        for graph in calls:
            self.assertEqual([name for name, *_ in graph], ["nn.functional.conv2d"] * 20)

    def test_a_training_step_is_captured_whole(self):
        step = torch_agreement.step_of(self.torch, "resnet50", 2, "bf16", True, 128)
        torch_agreement.as_graph(self.torch, step)
        (graph,) = recorded(self.torch)
        order = [next((i for i, (name, *_) in enumerate(graph) if name.endswith(part)), None)
                 for part in ("SGD().zero_grad", "autocast", "cross_entropy", "backward", "SGD().step")]
        self.assertNotIn(None, order)
        self.assertEqual(order, sorted(order))
        self.assertIs(graph[order[1]][2]["cache_enabled"], False)

    def test_a_graph_keeps_what_its_work_holds(self):
        class Operand:
            pass
        operand = Operand()
        alive = weakref.ref(operand)
        replay = torch_agreement.as_graph(self.torch, lambda kept=operand: kept)
        del operand
        gc.collect()
        self.assertIsNotNone(alive())
        replay()
        self.torch.cuda.CUDAGraph().replay.assert_called_once()

    def test_models_are_timed_as_graphs_and_eagerly(self):
        each = {"images_per_second": 100, "missing": [], "tokens": None}
        captured = []

        def seconds_of(_torch, work, calls):
            captured.append(work.__name__ == "replay")
            return 0.5 if captured[-1] else 1
        with mock.patch.multiple(torch_agreement, seconds_of=seconds_of, by_kind=lambda *_: {},
                                 state=lambda _: {}, predicted=lambda *_: {
                                     ("resnet50", "training", "bf16", 2): (each, {})}):
            (row,) = torch_agreement.models(self.torch, None, None)
        self.assertEqual(sorted(captured), [False, True])
        self.assertEqual((row["torch_images_per_second"], row["torch_eager_images_per_second"]), (4, 2))

    def test_rows_run_at_steady_clocks_as_pytorch_does(self):
        commands = []

        def run(program, *options, codes=(0,)):
            commands.append([program, *options])
            if "show" in options:
                return '{"layers": [{"name": "a", "op": "conv", "shape": %s}]}' % str(SHAPE).replace("'", '"')
            return ('{"benchmarks": [{"aggregate_name": "median", "run_name": "conv/fwd/b/d/m/a/c", '
                    '"real_time": 1, "time_unit": "ms"}, {"aggregate_name": "median", '
                    '"run_name": "gemm/fwd/b/d/m/square/c", "real_time": 1, "time_unit": "ms"}]}')
        bench = pathlib.Path("bench")
        with mock.patch.multiple(torch_agreement, run=run, seconds_of=lambda *_: 1, state=lambda _: {}):
            with mock.patch.object(torch_agreement, "torch_convolutions",
                                   lambda *_: dict.fromkeys(("a", "square"))):
                torch_agreement.convolutions(self.torch, bench, "tool", None, None)
            with mock.patch.object(pathlib.Path, "write_text"):
                torch_agreement.product(self.torch, bench, pathlib.Path("folder"), None)
        timed = [words for words in commands if "show" not in words]
        self.assertEqual(len(timed), 2 * torch_agreement.ROUNDS)
        for words in timed:
            self.assertIn("--clocks=steady", words)


if __name__ == "__main__":
    unittest.main()
