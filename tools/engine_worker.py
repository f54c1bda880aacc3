# SPDX-FileCopyrightText: 2026 the layerbench authors
# SPDX-License-Identifier: Apache-2.0
"""The processes of tools/engines.py. Each runs one engine, so that no library meets another's threads.

  engine_worker.py prepare FOLDER ENGINE,...     from FOLDER/model.json: weights, inputs, results, ONNX
  engine_worker.py run FOLDER ENGINE THREADS     times a round for each line of stdin
  engine_worker.py profile FOLDER ENGINE THREADS [EXEC_GRAPH]   times of the engine's layers
  engine_worker.py once FOLDER ENGINE THREADS    one round of each model in a folder of FOLDER, as CSV

Answers are lines of JSON on stdout; what libraries print goes to stderr. An answer with `error` has
the exit code as `code`. Every process ends when its stdin does. `once` prints CSV instead, its errors
go to stderr, and it reads no stdin.
"""
import gc
import importlib.metadata
import importlib.util
import json
import os
import pathlib
import re
import statistics
import sys
import time

INPUTS = 4  # sets of random inputs
# Of the largest result. Integers have 8 bits in each of many layers.
TOLERANCE = {'f32': 1e-3, 's8': 0.3}
WARM_UP = (0.5, 5)         # seconds and calls, both at least, before the first round
WARM_UP_AGAIN = (0.1, 1)   # before the others: another program has used the caches
ROUND = (0.5, 3)
SHORT_ROUND = (0.2, 10)    # where each round is a process
PROFILED = 20              # calls
SHORT_PROFILE = 10
NEEDS = {'torch': ('torch', 'numpy'), 'torch_compile': ('torch', 'numpy'),
         'onnx': ('torch', 'onnx', 'onnxscript', 'numpy'),  # the file alone
         'onnxruntime': ('torch', 'onnx', 'onnxscript', 'onnxruntime', 'numpy'),
         'openvino': ('torch', 'onnx', 'onnxscript', 'openvino', 'numpy')}
NEEDS_IN_S8 = {'openvino': ('nncf',)}


class Failed(Exception):
    """What ends this process: a message and an exit code."""

    def __init__(self, message, code=1):
        super().__init__(message)
        self.code = code


def require(engines, dtype):
    more = NEEDS_IN_S8 if dtype == 's8' else {}
    packages = sorted({package for engine in engines
                       for package in NEEDS[engine] + more.get(engine, ())})
    missing = [package for package in packages if importlib.util.find_spec(package) is None]
    if missing:
        raise Failed(f'{", ".join(missing)} not installed: pip install {" ".join(missing)}', 77)


def prepare(folder, engines):
    """Writes weights.pt, data.npz and, for the engines that read it, model.onnx; in s8 also what
    they make of it."""
    dtype = dtype_of(folder)
    require(engines, dtype)
    import numpy
    import torch
    import engine_model
    torch.set_num_threads(len(os.sched_getaffinity(0)))
    generator = torch.Generator().manual_seed(1)
    try:
        model = engine_model.Model(json.loads((folder / 'model.json').read_text()))
        model.draw(generator)
    except engine_model.Unsupported as error:
        raise Failed(str(error), 4) from error
    torch.save(model.state_dict(), folder / 'weights.pt')
    sets = [model.random_inputs(generator) for _ in range(INPUTS)]
    data = {f'input{i}_{number}': tensor.numpy() for number, tensors in enumerate(sets)
            for i, tensor in enumerate(tensors)}
    with torch.inference_mode():
        for number, tensors in enumerate(sets):
            for i, result in enumerate(model(*tensors)):
                data[f'result{i}_{number}'] = result.numpy()
    numpy.savez(folder / 'data.npz', **data)
    if {'onnx', 'onnxruntime', 'openvino'} & set(engines):
        engine_model.export_onnx(model, sets[0], folder / 'model.onnx')
    if dtype == 's8':
        named = [{f'input{i}': tensor.numpy() for i, tensor in enumerate(tensors)}
                 for tensors in sets]
        for engine in engines:
            ENGINES[engine].quantize(folder, named)
    return {}


class Torch:
    """PyTorch, eager. The inputs are tensors in the memory of the arrays `buffers`."""

    settings = 'set_num_threads, set_num_interop_threads(1), inference_mode'

    def __init__(self, folder, threads, buffers, profiled):
        import torch
        import engine_model
        self.torch, self.version = torch, torch.__version__
        found = re.search(r'MKL-DNN v([0-9.]+)', torch.__config__.show())
        self.onednn_version = found[1] if found else None
        torch.set_num_threads(threads)
        if torch.get_num_interop_threads() != 1:
            torch.set_num_interop_threads(1)  # at most once in a process
        self.model = engine_model.Model(json.loads((folder / 'model.json').read_text()))
        self.model.load_state_dict(torch.load(folder / 'weights.pt', weights_only=True))
        self.model.work_in_place()
        self.inputs = [torch.from_numpy(buffer) for buffer in buffers]
        self.call = self.model
        self.values = ()

    def step(self):
        with self.torch.inference_mode():
            self.values = self.call(*self.inputs)

    def results(self):
        return [value.numpy() for value in self.values]

    def layers(self, calls):
        """What the engine's profile says of its nodes: the seconds of each call, or their mean alone."""
        seconds = {}
        with self.torch.inference_mode():
            for _ in range(calls):
                for name, taken in self.model.timed(*self.inputs):
                    seconds.setdefault(name, []).append(taken)
        return [{'name': layer.name, 'type': layer.op, 'layers': [layer.name],
                 'seconds': seconds[layer.name]} for layer in self.model.layers]


def library_of(event):
    """The library whose code takes the time of an event of torch.profiler, by the event's name.
    PyTorch's `slow_conv2d` and its products (`addmm`, `mm`, `bmm`) compute with MKL."""
    if 'mkldnn' in event or 'onednn' in event:
        return 'oneDNN'
    if 'slow_conv2d' in event or 'mkl' in event or event.split('::')[-1] in ('addmm', 'mm', 'bmm'):
        return 'MKL'
    if 'CompiledFxGraph' in event or event.startswith('graph_'):
        return 'compiled code'
    return 'PyTorch'


class TorchCompile(Torch):
    """PyTorch with torch.compile."""

    settings = Torch.settings + ', torch.compile(fullgraph=True, dynamic=False)'

    def __init__(self, folder, threads, buffers, profiled):
        super().__init__(folder, threads, buffers, profiled)
        self.call = self.torch.compile(self.model, fullgraph=True, dynamic=False)

    def layers(self, calls):
        with self.torch.profiler.profile(
                activities=[self.torch.profiler.ProfilerActivity.CPU]) as profile:
            for _ in range(calls):
                self.step()
        # The compiler's code has no names of layers.
        return [{'name': event.key, 'type': library_of(event.key), 'layers': [],
                 'seconds': [event.self_cpu_time_total / calls / 1e6]}
                for event in profile.key_averages() if event.self_cpu_time_total > 0]


class OnnxRuntime:
    """ONNX Runtime on its CPU provider."""

    settings = 'intra_op_num_threads, inter_op_num_threads 1, sequential, all optimizations'
    settings_s8 = 'quantize_static, QDQ, u8 activations, s8 weights, per_channel'
    files = {'f32': 'model.onnx', 's8': 'model_s8.onnx'}

    @classmethod
    def quantize(cls, folder, inputs):
        from onnxruntime import quantization

        class Reader(quantization.CalibrationDataReader):
            """The inputs, one by one."""

            def __init__(self):
                self.left = iter(inputs)

            def get_next(self):
                return next(self.left, None)
        quantization.quantize_static(
            folder / 'model.onnx', folder / cls.files['s8'], Reader(), per_channel=True,
            quant_format=quantization.QuantFormat.QDQ,
            activation_type=quantization.QuantType.QUInt8,
            weight_type=quantization.QuantType.QInt8)

    def __init__(self, folder, threads, buffers, profiled):
        import onnxruntime
        self.version = onnxruntime.__version__
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        options.execution_mode = onnxruntime.ExecutionMode.ORT_SEQUENTIAL
        options.enable_profiling = profiled
        options.profile_file_prefix = str(folder / 'onnxruntime')
        model = folder / self.files[dtype_of(folder)]
        optimized = folder / 'optimized.onnx'
        if profiled:
            options.optimized_model_filepath = str(optimized)
            # A file of ONNX has at most 2 GiB.
            options.add_session_config_entry(
                'session.optimized_model_external_initializers_file_name', 'optimized.data')
        self.session = onnxruntime.InferenceSession(model, options,
                                                    providers=['CPUExecutionProvider'])
        self.joined = joined_nodes(onnx_nodes(model), onnx_nodes(optimized)) if profiled else {}
        self.names = layer_names(folder)
        self.binding = self.session.io_binding()
        for i, buffer in enumerate(buffers):
            self.binding.bind_cpu_input(f'input{i}', buffer)
        for output in self.session.get_outputs():
            self.binding.bind_output(output.name)

    def step(self):
        self.session.run_with_iobinding(self.binding)

    def results(self):
        return self.binding.copy_outputs_to_cpu()

    def layers(self, calls):
        for _ in range(calls):
            self.step()
        events = json.loads(pathlib.Path(self.session.end_profiling()).read_text())
        times, types = {}, {}
        for event in events:
            if event.get('cat') == 'Node' and event['name'].endswith('_kernel_time'):
                name = event['name'][:-len('_kernel_time')]
                times.setdefault(name, []).append(event['dur'] / 1e6)
                types[name] = event['args']['op_name']
        return [{'name': name, 'type': types[name],
                 'layers': covered(self.joined.get(name, [name]), self.names),
                 'seconds': seconds} for name, seconds in times.items()]


class OpenVino:
    """OpenVINO on its CPU device."""

    settings = ('INFERENCE_NUM_THREADS, NUM_STREAMS 1, PERFORMANCE_HINT LATENCY, '
                'INFERENCE_PRECISION_HINT f32')
    settings_s8 = 'nncf.quantize, preset performance'
    files = {'f32': 'model.onnx', 's8': 'model_s8.xml'}

    @classmethod
    def quantize(cls, folder, inputs):
        import nncf
        import openvino
        model = openvino.Core().read_model(folder / 'model.onnx')
        openvino.save_model(nncf.quantize(model, nncf.Dataset(inputs)), folder / cls.files['s8'],
                            compress_to_fp16=False)

    def __init__(self, folder, threads, buffers, profiled):
        import openvino
        self.openvino, self.version = openvino, openvino.__version__
        self.compiled = openvino.Core().compile_model(folder / self.files[dtype_of(folder)], 'CPU', {
            'INFERENCE_NUM_THREADS': threads, 'NUM_STREAMS': 1, 'PERFORMANCE_HINT': 'LATENCY',
            'INFERENCE_PRECISION_HINT': 'f32', 'PERF_COUNT': profiled})
        self.names = layer_names(folder)
        self.request = self.compiled.create_infer_request()
        for i, buffer in enumerate(buffers):
            self.request.set_tensor(f'input{i}', openvino.Tensor(buffer, shared_memory=True))

    def step(self):
        self.request.infer(share_outputs=True)

    def results(self):
        return [self.request.get_output_tensor(i).data for i in range(len(self.compiled.outputs))]

    def layers(self, calls):
        times = {}
        for _ in range(calls):
            self.step()
            for node in self.request.get_profiling_info():
                times.setdefault(node.node_name, []).append(node.real_time.total_seconds())
        found = []
        for node in self.compiled.get_runtime_model().get_ordered_ops():
            facts = {key: value.astype(str) for key, value in node.get_rt_info().items()
                     if key in ('layerType', 'originalLayersNames', 'execTimeMcs')}
            name = node.get_friendly_name()
            if facts.get('execTimeMcs', '').isdigit() and name in times:
                found.append({'name': name, 'type': facts['layerType'],
                              'layers': covered(facts['originalLayersNames'].split(','), self.names),
                              'seconds': times[name]})
        return found

    def write_graph(self, path):
        self.openvino.serialize(self.compiled.get_runtime_model(), path)


ENGINES = {'torch': Torch, 'torch_compile': TorchCompile, 'onnxruntime': OnnxRuntime,
           'openvino': OpenVino}


def dtype_of(folder):
    return json.loads((folder / 'model.json').read_text())['dtype']


def layer_names(folder):
    return {layer['name'] for layer in json.loads((folder / 'model.json').read_text())['layers']}


def covered(nodes, names):
    """The layers that nodes of these names come from: `layer/operator`, maybe with words around."""
    found = []
    for word in ' '.join(nodes).replace(';', ' ').split():
        layer = word.split('/')[0]
        if layer in names and layer not in found:
            found.append(layer)
    return found


def onnx_nodes(path):
    """Name, operator, inputs and outputs of an ONNX file's nodes."""
    import onnx
    return [(node.name, node.op_type, list(node.input), list(node.output))
            for node in onnx.load(path, load_external_data=False).graph.node]


def joined_nodes(original, optimized):
    """By the name of each node that ONNX Runtime runs: the original nodes that it computes.

    A node has the name or the results of one of these, which may be the activation behind a
    convolution: nodes before it are its own, up to the one with its operator. What is left belongs to
    the node before it. Behind several nodes it belongs to the last of them, which reads the results of
    the others."""
    by_name = {node[0]: node for node in original}
    producers = {output: node for node in original for output in node[3]}
    runs = {}  # by original node: the optimized node that computes it
    for name, operator, _, outputs in optimized:
        if operator in ('ReorderInput', 'ReorderOutput'):
            continue
        ends = [by_name.get(name.removesuffix('_nchwc')), *map(producers.get, outputs)]
        for node in filter(None, ends):
            runs[node[0]] = name
            while node and node[1] != operator.removeprefix('Fused'):
                before = [producers[one] for one in node[2] if one in producers]
                node = next((one for one in before if one[0] not in runs), None)
                if node:
                    runs[node[0]] = name
    order = {node[0]: i for i, node in enumerate(optimized)}
    for name, _, inputs, _ in original:
        before = [runs[producers[one][0]] for one in inputs
                  if one in producers and producers[one][0] in runs]
        if name not in runs and before:
            runs[name] = max(before, key=order.get)
    joined = {}
    for name in filter(runs.get, by_name):
        joined.setdefault(runs[name], []).append(name)
    return joined


def preempted_ns():
    """Time that this process' threads waited for a processor."""
    total = 0
    for file in pathlib.Path('/proc/self/task').glob('*/schedstat'):
        try:
            total += int(file.read_text().split()[1])
        except OSError:
            continue  # the thread has ended
    return total


class Timed:
    """An engine with its inputs. Throws Failed if its results are wrong."""

    def __init__(self, folder, name, threads, profiled=False, warm_up=WARM_UP):
        import numpy
        self.numpy, self.threads = numpy, threads
        with numpy.load(folder / 'data.npz') as file:
            data = {key: file[key] for key in file.files}
        self.sets = [[data[f'input{i}_{number}'] for i in range(
            sum(key.startswith('input') and key.endswith('_0') for key in data))]
            for number in range(INPUTS)]
        self.buffers = [array.copy() for array in self.sets[0]]
        self.engine = ENGINES[name](folder, threads, self.buffers, profiled)
        allowed = TOLERANCE[dtype_of(folder)]
        for number in (1, 0):
            self.fill(number)
            self.engine.step()
            for i, result in enumerate(self.engine.results()):
                expected = data[f'result{i}_{number}']
                error = float(numpy.abs(result - expected).max() / numpy.abs(expected).max())
                if not error <= allowed:
                    raise Failed(f'{name}: wrong results: result {i} differs by {error:.1e} of its '
                                 f'largest value from that of torch; allowed {allowed:.0e}')
        self.warm_up(warm_up)

    def fill(self, number):
        """A fresh input, as the steps of bench_model's chains have it."""
        for buffer, array in zip(self.buffers, self.sets[number % INPUTS]):
            self.numpy.copyto(buffer, array)

    def warm_up(self, least):
        end, calls = time.monotonic() + least[0], 0
        while calls < least[1] or time.monotonic() < end:
            self.fill(calls)
            self.engine.step()
            calls += 1

    def clocks(self):
        return time.perf_counter_ns(), time.process_time_ns()

    def round(self, least=ROUND):
        """Times single calls: lists of wall time and CPU time in ns, without the clocks' cost."""
        self.warm_up(WARM_UP_AGAIN)
        gc.collect()
        gc.disable()
        cost = [min(numbers) for numbers in zip(*(
            [b - a for a, b in zip(self.clocks(), self.clocks())] for _ in range(99)))]
        wall, cpu, began, waits = [], [], time.monotonic(), preempted_ns()
        while len(wall) < least[1] or time.monotonic() - began < least[0]:
            self.fill(len(wall))
            before = self.clocks()
            self.engine.step()
            after = self.clocks()
            wall.append(max(1, after[0] - before[0] - cost[0]))
            cpu.append(max(1, after[1] - before[1] - cost[1]))
        waited = (preempted_ns() - waits) / 1e9 / (time.monotonic() - began) / self.threads
        gc.enable()
        return {'wall_ns': wall, 'cpu_ns': cpu, 'clock_ns': cost, 'preempted': waited}


def serve(folder, name, threads, answer):
    timed = Timed(folder, name, threads)
    settings = timed.engine.settings
    if dtype_of(folder) == 's8':
        settings += '; ' + timed.engine.settings_s8
    answer({'version': timed.engine.version, 'settings': settings,
            'onednn_version': getattr(timed.engine, 'onednn_version', None)})
    while True:
        since, used = time.monotonic(), time.process_time()
        if not sys.stdin.readline():
            return
        waiting = {'waited_s': time.monotonic() - since, 'waiting_cpu_s': time.process_time() - used}
        answer({**timed.round(), **waiting})


def profile(folder, name, threads, graph=None):
    timed = Timed(folder, name, threads, profiled=True)
    if graph:
        timed.engine.write_graph(graph)
    layers = timed.engine.layers(PROFILED)
    return {'layers': [{**layer, 'seconds': statistics.median(layer['seconds'])} for layer in layers]}


def once(folder, name, threads, out):
    """Prints CSV: the time of the fastest step of each model, in CPU time on one thread. The fastest,
    since other programs slow most steps on a busy machine. Also writes what the engine's profile says, by
    the type of its nodes, into FOLDER/profiles."""
    release = importlib.metadata.version(name)
    clock, steps, types = 'cpu_ns' if threads == 1 else 'wall_ns', {}, {}
    for place in sorted(file.parent for file in folder.glob('*/model.json')):
        timed = Timed(place, name, threads, warm_up=WARM_UP_AGAIN)
        steps[place.name] = min(timed.round(SHORT_ROUND)[clock]) / 1e9
        profiled = Timed(place, name, threads, profiled=True, warm_up=WARM_UP_AGAIN)
        seconds = types[place.name] = {}
        for layer in profiled.engine.layers(SHORT_PROFILE):
            seconds[layer['type']] = seconds.get(layer['type'], 0) + min(layer['seconds'])
    (folder / 'profiles').mkdir(exist_ok=True)
    written = folder / f'{time.time_ns()}.json'
    written.write_text(
        json.dumps({'release': release, 'steps': steps, 'types': types}))
    os.replace(written, folder / 'profiles' / written.name)  # whole, also where this process is killed
    print('model,ms', *(f'{model},{1e3 * seconds}' for model, seconds in steps.items()), sep='\n',
          file=out, flush=True)


def main():
    # Libraries print to stdout.
    out = os.fdopen(os.dup(1), 'w')
    os.dup2(2, 1)

    def answer(value):
        print(json.dumps(value), file=out, flush=True)
    task, folder, names, *rest = sys.argv[1:]
    folder = pathlib.Path(folder)
    try:
        if task == 'prepare':
            answer(prepare(folder, names.split(',')))
        elif task == 'once':
            once(folder, names, int(rest[0]), out)
        elif task == 'profile':
            answer(profile(folder, names, int(rest[0]), *rest[1:]))
        else:
            serve(folder, names, int(rest[0]), answer)
    except Failed as error:
        if task == 'once':
            print(error, file=sys.stderr)
        else:
            answer({'error': str(error), 'code': error.code})
        return error.code
    return 0


if __name__ == '__main__':
    sys.exit(main())
