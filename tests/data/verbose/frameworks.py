# SPDX-FileCopyrightText: 2026 the layerbench authors
# SPDX-License-Identifier: Apache-2.0
"""Writes logs of ONNX Runtime, OpenVINO, PyTorch and Nsight Systems: `frameworks.py LOG FILE`, see
README.md."""
import glob
import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile

import numpy


def write_model(path):
    """A small CNN with 63 channels and a shortcut, as ONNX."""
    import onnx
    from onnx import TensorProto, helper, numpy_helper
    dice = numpy.random.default_rng(1)
    nodes, weights = [], []

    def weight(*sizes):
        weights.append(numpy_helper.from_array((dice.standard_normal(sizes) * 0.1).astype('float32'),
                                               f'w{len(weights)}'))
        return weights[-1].name

    def node(op, sources, name, **attributes):
        nodes.append(helper.make_node(op, sources, [name], name=name, **attributes))
        return name

    x = node('Conv', ['x', weight(64, 3, 7, 7), weight(64)], 'conv1', strides=[2, 2], pads=[3] * 4)
    x = node('Relu', [x], 'relu1')
    x = node('MaxPool', [x], 'pool1', kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4)
    y = node('Conv', [x, weight(64, 64, 3, 3), weight(64)], 'conv2', pads=[1] * 4)
    y = node('Relu', [y], 'relu2')
    y = node('Conv', [y, weight(64, 64, 3, 3), weight(64)], 'conv3', pads=[1] * 4)
    x = node('Relu', [node('Add', [x, y], 'add1')], 'relu3')
    x = node('Conv', [x, weight(64, 1, 3, 3), weight(64)], 'conv4', strides=[2, 2], pads=[1] * 4,
             group=64)
    x = node('Sigmoid', [x], 'sigmoid')
    x = node('Conv', [x, weight(63, 64, 1, 1), weight(63)], 'conv5')
    x = node('Flatten', [node('GlobalAveragePool', [x], 'pool2')], 'flat')
    x = node('Gemm', [x, weight(1000, 63), weight(1000)], 'fc', transB=1)
    node('Softmax', [x], 'y')
    tensor = helper.make_tensor_value_info
    graph = helper.make_graph(nodes, 'g', [tensor('x', TensorProto.FLOAT, [1, 3, 112, 112])],
                              [tensor('y', TensorProto.FLOAT, [1, 1000])], weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid('', 17)], ir_version=8),
              path)


def image():
    return numpy.random.default_rng(2).standard_normal((1, 3, 112, 112)).astype('float32')


def onnxruntime(model, folder, level):
    import onnxruntime as ort
    options = ort.SessionOptions()
    options.enable_profiling = True
    options.profile_file_prefix = f'{folder}/profile'
    options.intra_op_num_threads = 1
    options.graph_optimization_level = getattr(ort.GraphOptimizationLevel, level)
    session = ort.InferenceSession(model, options)
    for _ in range(6):
        session.run(None, {'x': image()})
    return session.end_profiling()


def openvino(model, folder):
    import openvino as ov
    compiled = ov.Core().compile_model(model, 'CPU', {
        'PERF_COUNT': True, 'INFERENCE_NUM_THREADS': 1, 'NUM_STREAMS': 1,
        'INFERENCE_PRECISION_HINT': 'f32'})
    request = compiled.create_infer_request()
    for _ in range(20):
        request.infer([image()])
    ov.serialize(compiled.get_runtime_model(), f'{folder}/graph.xml', f'{folder}/graph.bin')
    return f'{folder}/graph.xml'


def counters(model, folder):
    subprocess.run(['benchmark_app', '-m', model, '-d', 'CPU', '-niter', '20', '-nireq', '1',
                    '-nstreams', '1', '-nthreads', '1', '-hint', 'none', '-pc', '-report_type',
                    'average_counters', '-report_folder', folder], check=True, stdout=sys.stderr)
    return glob.glob(f'{folder}/*counters*.csv')[0]


def pytorch(folder, trains=False, emits=False):
    import torch
    from torch import nn
    from torch.profiler import ProfilerActivity, profile
    torch.manual_seed(1)
    torch.set_num_threads(1)

    class Net(nn.Module):

        def __init__(self):
            super().__init__()
            self.conv1 = nn.Conv2d(3, 64, 7, 2, 3, bias=False)
            self.norm = nn.BatchNorm2d(64)
            self.pool = nn.MaxPool2d(3, 2, 1)
            self.conv2 = nn.Conv2d(64, 64, 3, 1, 1)
            self.conv3 = nn.Conv2d(64, 63, 3, 1, 1)
            self.linear1 = nn.Linear(63, 256)
            self.layer_norm = nn.LayerNorm(256)
            self.linear2 = nn.Linear(256, 1000)

        def forward(self, x):
            x = self.pool(torch.relu(self.norm(self.conv1(x))))
            x = x + torch.relu(self.conv2(x))
            x = self.conv3(x).mean((2, 3))
            x = self.layer_norm(nn.functional.gelu(self.linear1(x)))
            return torch.softmax(self.linear2(x), 1)

    small = nn.Sequential(nn.Conv2d(3, 64, 3), nn.ReLU(), nn.Flatten(), nn.Linear(64 * 36, 10))
    net = small if trains else Net()
    x = torch.randn(4, 3, 8, 8) if trains else torch.tensor(image())
    descent = torch.optim.SGD(net.parameters(), 0.01)

    def step():
        if not trains:
            with torch.no_grad():
                return net(x)
        descent.zero_grad()
        net(x).square().mean().backward()
        return descent.step()

    net.train(trains)
    step()
    if emits:
        torch.cuda.synchronize = lambda: None  # ranges need no GPU, but a build of PyTorch for one
        with torch.autograd.profiler.emit_nvtx(record_shapes=True):
            for _ in range(3):
                step()
        return os.devnull
    with profile(activities=[ProfilerActivity.CPU], record_shapes=True) as trace:
        for _ in range(3):
            step()
    trace.export_chrome_trace(f'{folder}/trace.json')
    with open(f'{folder}/trace.json', encoding='utf-8') as file:
        read = json.load(file)
    kept = {key: read[key] for key in ('schemaVersion', 'displayTimeUnit', 'traceEvents')}
    with open(f'{folder}/trace.json', 'w', encoding='utf-8') as file:
        json.dump(kept, file, separators=(',', ':'))
    return f'{folder}/trace.json'


def nsight_systems(folder):
    """The tables that layerbench reads, as SQL: with the ranges of PyTorch, but without rows of a
    GPU, since there was none."""
    report = f'{folder}/report'
    subprocess.run(['nsys', 'profile', '--trace=nvtx', '--sample=none', '--cpuctxsw=none', '-o',
                    report, sys.executable, __file__, 'ranges', os.devnull],
                   check=True, stdout=sys.stderr)
    subprocess.run(['nsys', 'export', '--type=sqlite', '--lazy=false', '-o', f'{report}.sqlite',
                    f'{report}.nsys-rep'], check=True, stdout=sys.stderr)
    tables = sqlite3.connect(f'{report}.sqlite')
    names = ['StringIds', 'NVTX_EVENTS'] + [
        f'CUPTI_ACTIVITY_KIND_{kind}' for kind in ('RUNTIME', 'KERNEL', 'MEMCPY', 'MEMSET')]
    with open(f'{folder}/nsys.sql', 'w', encoding='utf-8') as file:
        for name in names:
            schema, = tables.execute('SELECT sql FROM sqlite_master WHERE name = ?', [name])
            print(re.sub(r'\s+', ' ', re.sub(r'--.*', '', schema[0])) + ';', file=file)
        print('INSERT INTO NVTX_EVENTS(start, end, eventType, text, globalTid) VALUES', file=file)
        rows = tables.execute('SELECT start, end, eventType, text, globalTid FROM NVTX_EVENTS')
        print(',\n'.join(str(row) for row in rows) + ';', file=file)
    return file.name


def main():
    log, file = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        model = os.path.join(folder, 'cnn.onnx')
        if log.startswith('o'):
            write_model(model)
        made = {
            'onnxruntime': lambda: onnxruntime(model, folder, 'ORT_ENABLE_EXTENDED'),
            'onnxruntime_blocks': lambda: onnxruntime(model, folder, 'ORT_ENABLE_ALL'),
            'openvino': lambda: openvino(model, folder),
            'openvino_counters': lambda: counters(model, folder),
            'pytorch': lambda: pytorch(folder),
            'pytorch_training': lambda: pytorch(folder, trains=True),
            'nsys': lambda: nsight_systems(folder),
            'ranges': lambda: pytorch(folder, emits=True),
        }[log]()
        if file != os.devnull:
            shutil.move(made, file)


if __name__ == '__main__':
    main()
