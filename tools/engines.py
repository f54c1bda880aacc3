#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 the layerbench authors
# SPDX-License-Identifier: Apache-2.0
"""Times the inference of a model in PyTorch, ONNX Runtime and OpenVINO, in turns with bench_model.

  tools/engines.py resnet18 --threads 1 --bench build/release/bench/bench_model -o engines.json
  layerbench validate engines_layers.json --engine engines.json

  tools/engines.py --overhead --threads 1 --engines openvino --bench build/release/bench/bench_model \
    --bench-options="--fusion=openvino" -o overhead.json
  layerbench predict RESULTS --as openvino --engine-overhead overhead.json

  tools/engines.py llama_1b --llama-bench build/llama.cpp/bin/llama-bench --dtype bf16 \
    --bench build/release/bench/bench_model -o llama.json

  tools/engines.py resnet18,mobilenet_v2 --releases onnxruntime=1.20.1,1.24.4 --threads 1 -o releases.json

MODEL is a name or a path of a shape file. Each engine runs it with the same random weights, in a
separate process, on the same processors. A round times each engine and, by bench_model, the
layers. Before that, the engines' results are compared. With --overhead, synthetic models take the
place of MODEL: what the engines take beside their calls, for each call and for each step, what new
memory for large results costs PyTorch, and how long the engines' kernels take beside those of
bench_model. With --releases, `layerbench bisect --all-releases` compares releases of an engine, each
with the one before it, in pairs of processes that time all models. With --llama-bench, llama.cpp's
own benchmark runs a Llama of the same sizes.
docs/engines.md says what is equal.

Exit codes: 0 done; 1 an engine failed or has wrong results, or writing failed; 2 wrong command line, or
an output that cannot be written; 3 a wrong shape file; 4 an op that this tool cannot build; 77 a package
is missing; 130 interrupted, what was measured is kept. Those of bench_model and layerbench are passed on.
"""
import argparse
import contextlib
import datetime
import itertools
import json
import math
import os
import pathlib
import platform
import re
import shlex
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile

import gguf_model
import output_file
import overhead_models

ENGINES = ('torch', 'torch_compile', 'onnxruntime', 'openvino')
IN_S8 = ('onnxruntime', 'openvino')
# They say which layers they join.
JOINING = {'openvino': 'OpenVINO', 'onnxruntime': 'ONNX Runtime'}
# Types of llama.cpp's weights: the type of the step in bench_model, that of keys and values in llama.cpp, and
# options of bench_model.
LLAMA_TYPES = {'f32': ('f32', 'f16', []), 'bf16': ('bf16', 'bf16', []), 'q4_0': ('bf16', 'bf16', ['--fusion=w4'])}
# Fields of a row that llama-bench does not measure. `cpu_time`, which rows need, is wall time.
NOT_BY_LLAMA = ('clock_s', 'cpu_s', 'disturbed', 'verified')
WORKER = [sys.executable, str(pathlib.Path(__file__).resolve().parent / 'engine_worker.py')]
# Of OpenMP and MKL: one library's binding would be that of all others.
THREAD_VARIABLES = ('OMP_', 'GOMP_', 'KMP_', 'MKL_')
# Of glibc: they change where results lie and how memory is copied, in the engines and in bench_model.
MEMORY_VARIABLES = ('MALLOC_', 'GLIBC_TUNABLES')
PREEMPTED = 0.1   # share of a round's time from which on it is disturbed
# Ops with which a fused call begins, and those that it takes in (docs/formats.md, fusion plans).
FUSING = ('conv', 'deconv', 'gemm', 'add', 'batchnorm')
FUSED = ('batchnorm', 'add', 'activation')
# From this size on malloc gives a tensor new memory, whose pages the kernel clears, in each call:
# DEFAULT_MMAP_THRESHOLD_MAX of glibc's malloc/malloc.c on 64-bit systems.
LARGE = 32 << 20  # bytes
# The environment in which malloc uses freed memory of any size again.
KEPT_MEMORY = {'MALLOC_MMAP_MAX_': '0', 'MALLOC_TRIM_THRESHOLD_': str(1 << 40)}
CLEAR = 1.2       # smaller differences are those of the machine's conditions
# What pip installs beside a release: old ones were built for an old numpy, and profiles need onnx.
BESIDE_RELEASES = {'torch': 'numpy', 'onnxruntime': 'numpy<2,onnx<1.18', 'openvino': 'numpy<2'}
# A release as its package names it (PEP 440): another spelling of it is not found in profiles.
RELEASE = re.compile(r'\d+(\.\d+)*((a|b|rc|\.post|\.dev)\d+)*(\+[a-z0-9.]+)?')
JOINED = 0.2      # a kernel that seems to take less is a part of another layer's
STALL = 5e-4      # seconds
PROFILES = 3      # rounds that end with profiles of the engines, at most
WAITING = 0.01    # processors that a waiting engine may use


class Failed(Exception):
    """What ends the run: a message and an exit code."""

    def __init__(self, message, code):
        super().__init__(message)
        self.code = code


def counts(text):
    values = [int(part) for part in text.split(',')]
    if min(values) < 1 or len(set(values)) < len(values):
        raise ValueError
    return values


def engine_names(text):
    names = text.split(',')
    if not set(names) <= set(ENGINES) or len(set(names)) < len(names):
        raise ValueError
    return names


def engine_releases(text):
    engine, _, versions = text.partition('=')
    names = versions.split(',')
    if (engine not in BESIDE_RELEASES or len(names) < 2 or not all(map(RELEASE.fullmatch, names)) or
            len({*map(release_key, names)}) < len(names)):
        raise ValueError
    return engine, versions


def options_of(arguments):
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('model', metavar='MODEL', nargs='?', help='name or path of a shape file')
    parser.add_argument('--overhead', action='store_true',
                        help='measure what the engines take beside their calls, with the options '
                        'that predictions are measured with')
    parser.add_argument('--releases', type=engine_releases, action='append', metavar='ENGINE=A,B,...',
                        help='compare releases of an engine, the oldest first, each with the one '
                        f'before it; of {", ".join(BESIDE_RELEASES)}; MODEL may be a list')
    parser.add_argument('--install-dir', metavar='DIR',
                        help="where bisect installs the releases; default: its own")
    parser.add_argument('--batch', type=counts, metavar='N,...',
                        help='batch sizes; default: that of the shape file')
    parser.add_argument('--threads', type=counts, metavar='N,...',
                        help='threads, each on a processor; default: one per processor')
    parser.add_argument('--engines', type=engine_names, metavar='NAME,...',
                        help=f'default: {",".join(ENGINES)}; in s8: {",".join(IN_S8)}')
    parser.add_argument('--dtype', choices=['f32', 's8', 'bf16', 'q4_0'], default='f32',
                        help='data type; s8: quantized by the tools of the engines, weights and '
                        'activations; bf16, and q4_0 for weights: of --llama-bench; default: f32')
    parser.add_argument('--llama-bench', metavar='FILE',
                        help="llama.cpp's llama-bench, which runs in place of the engines: a Llama "
                        'of the sizes of MODEL with random weights')
    parser.add_argument('--prompt', type=int, metavar='N',
                        help='tokens of the prompt of --llama-bench; default: 512')
    parser.add_argument('--generate', type=int, metavar='N',
                        help='tokens that --llama-bench generates; default: 128')
    parser.add_argument('--context', type=int, metavar='N',
                        help='tokens before those that it generates; default: 0')
    parser.add_argument('--rounds', type=int, default=15, metavar='N', help='default: 15')
    parser.add_argument('--bench', metavar='FILE',
                        help='bench_model, which measures the layers in turns with the engines; '
                        'default: engines alone')
    parser.add_argument('--bench-options', type=shlex.split, default=[], metavar='TEXT',
                        help='more options of bench_model, such as "--chain --layout=any"')
    parser.add_argument('--layerbench', metavar='FILE',
                        help='the tool; default: that of the build of --bench, else on the PATH')
    parser.add_argument('--exec-graph', metavar='FILE',
                        help="write OpenVINO's graph with its fusions; for one batch and one number "
                        'of threads')
    parser.add_argument('--fusion-plan', metavar='FILE',
                        help='write the layers that OpenVINO joins, or without it ONNX Runtime, as '
                        'a fusion plan for --fusion of the benchmark programs; for one batch and one '
                        'number of threads')
    parser.add_argument('-o', '--output', required=True, metavar='FILE',
                        help='the result file; the layers are in FILE with _layers behind its stem')
    parser.add_argument('--overwrite', action='store_true',
                        help='replace existing outputs whatever they hold; default: only those of the '
                        'same kind')
    options = parser.parse_args(arguments)
    if options.llama_bench:
        others = (options.batch, options.engines, options.overhead, options.exec_graph,
                  options.fusion_plan)
        if any(others) or options.dtype not in LLAMA_TYPES:
            parser.error('--llama-bench: goes without --batch, --engines, --overhead, --exec-graph, '
                         f'--fusion-plan, and with --dtype={"|".join(LLAMA_TYPES)}')
        options.prompt = 512 if options.prompt is None else options.prompt
        options.generate = 128 if options.generate is None else options.generate
        options.context = options.context or 0
        if min(options.prompt, options.generate) < 1 or options.context < 0:
            parser.error('--prompt, --generate: must be 1 or more; --context: 0 or more')
    elif options.dtype in ('bf16', 'q4_0'):
        parser.error(f'--dtype: {options.dtype} is for --llama-bench')
    elif (options.prompt, options.generate, options.context) != (None, None, None):
        parser.error('--prompt, --generate, --context: are for --llama-bench')
    if options.install_dir and not options.releases:
        parser.error('--install-dir: is for --releases')
    if options.releases and (options.llama_bench or options.engines or options.bench_options or
                             options.overhead or options.bench or options.exec_graph or
                             options.fusion_plan or options.dtype != 'f32'):
        parser.error('--releases: goes without --llama-bench, --engines, --bench-options, --overhead, '
                     '--bench, --exec-graph, --fusion-plan and --dtype=s8')
    known = IN_S8 if options.dtype == 's8' else ENGINES
    options.engines = options.engines or list(known)
    if options.overhead:
        others = (options.model, options.batch, options.exec_graph, options.fusion_plan)
        if any(others) or not options.bench:
            parser.error('--overhead: needs --bench, and goes without MODEL, --batch, --exec-graph '
                         'and --fusion-plan')
    elif not options.model:
        parser.error('MODEL is required')
    if options.bench_options and not options.bench:
        parser.error('--bench-options: are for --bench, which is missing')
    if options.bench and options.output == '-':
        parser.error('-o: the layers of --bench need a file beside it; name a file')
    if not set(options.engines) <= set(known):
        parser.error(f'--dtype: {options.dtype} is for {" and ".join(known)}')
    processors = len(os.sched_getaffinity(0))
    options.threads = options.threads or [processors]
    if max(options.threads) > processors:
        parser.error(f'--threads: {max(options.threads)} threads need as many processors; this '
                     f'process has {processors}')
    if options.rounds < 1:
        parser.error('--rounds: must be 1 or more')
    several = len(options.batch or [1]) > 1 or len(options.threads) > 1
    if options.releases and (several or options.rounds < 3):
        parser.error('--releases: needs one batch, one number of threads and 3 --rounds or more')
    joining = [engine for engine in options.engines if engine in JOINING]
    if options.exec_graph and (several or 'openvino' not in joining):
        parser.error('--exec-graph: needs openvino, one batch and one number of threads')
    if options.fusion_plan and (several or not joining):
        parser.error(f'--fusion-plan: needs {" or ".join(JOINING)}, one batch and one number of '
                     'threads')
    options.layerbench = options.layerbench or tool_beside(options.bench)
    for program in programs_of(options):
        if shutil.which(program) is None:
            parser.error(f'{program}: no such program; name it with --bench, --layerbench or '
                         '--llama-bench')
    try:
        require_outputs(options)
    except output_file.Refused as error:
        parser.error(str(error))
    return options


def programs_of(options):
    return list(filter(None, (options.bench, options.layerbench, options.llama_bench)))


def inputs_of(options):
    """The files that the command line names to be read, and programs."""
    model = options.model or ''
    words = [model, *model.split(','), *options.bench_options,
             *filter(None, map(shutil.which, programs_of(options)))]
    return [file for word in words for file in (word, *word.partition('=')[2].split(',')) if file]


def require_outputs(options):
    """Throws Refused where an output would destroy something, or is another one, too."""
    outputs = ((options.output, output_file.RESULTS), (options.exec_graph, '<net'),
               (options.fusion_plan, '{"name": "", "rules": []}'))
    for file, sample in outputs:
        output_file.require(file, sample, inputs_of(options), options.overwrite)
    paths = [os.path.realpath(file) for file, _ in outputs if file]
    if options.bench:  # where there are several files of layers, there is no other output
        paths.append(os.path.realpath(layers_name(options)))
    if len(set(paths)) < len(paths):
        raise output_file.Refused('two outputs have the same name; choose another for one of them')


def tool_beside(bench):
    if bench:
        beside = pathlib.Path(bench).resolve().parent.parent / 'tools/layerbench'
        if beside.exists():
            return str(beside)
    return 'layerbench'


def ask(options, *arguments):
    """The JSON that a command of the tool prints. Throws Failed with the tool's exit code."""
    done = subprocess.run([options.layerbench, *map(str, arguments), '--format=json'],
                          capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise Failed(done.stderr.strip(), done.returncode)
    return json.loads(done.stdout)


def show(options, model, batch):
    """The layers of the model, with their sizes. Throws Failed."""
    shown = ask(options, 'show', model, *([f'--batch={batch}'] if batch else []))
    if shown['batch'] is None:
        raise Failed(f'{model}: a sweep is no model', 2)
    return shown


def processors_for(threads):
    """Processors of neighbouring cores; second hardware threads only once there is no other core.
    bench_model binds its threads to the cores among them."""
    def is_second(processor):
        file = pathlib.Path(f'/sys/devices/system/cpu/cpu{processor}/topology/thread_siblings_list')
        try:
            return int(file.read_text().replace('-', ',').split(',')[0]) != processor
        except OSError:
            return False
    allowed = os.sched_getaffinity(0)
    return sorted(sorted(allowed, key=lambda one: (is_second(one), one))[:threads])


def start(command, processors, **how):
    """Starts a process on these processors. A signal of the terminal reaches only this one."""
    def bind():
        os.setpgrp()
        os.sched_setaffinity(0, processors)
    return subprocess.Popen(command, text=True, preexec_fn=bind, **how)


def end_of(log):
    """The last part of what a process wrote."""
    log.seek(0)
    return log.read()[-2000:]


def environment_of(folder, processors, variables=None):
    """The variables of an engine's process."""
    environment = {name: value for name, value in os.environ.items()
                   if not name.startswith(THREAD_VARIABLES)}
    environment.update(OMP_NUM_THREADS=str(len(processors)), TORCHINDUCTOR_COMPILE_THREADS='1',
                       TORCHINDUCTOR_CACHE_DIR=str(folder / 'inductor'), **(variables or {}))
    return environment


class Worker:
    """A process of engine_worker.py."""

    def __init__(self, arguments, folder, processors, variables=None):
        environment = environment_of(folder, processors, variables)
        self.what = ' '.join(arguments[:1] + arguments[2:3])
        self.log = tempfile.TemporaryFile('w+', errors='replace')
        self.process = start([*WORKER, *arguments], processors, stdin=subprocess.PIPE,
                             stdout=subprocess.PIPE, stderr=self.log, env=environment)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.communicate()
        self.log.close()

    def answer(self):
        """The next line. Throws Failed if it is an error, or the process has ended."""
        line = self.process.stdout.readline()
        if not line:
            raise Failed(f'{self.what}: ended with exit code {self.process.wait()}:\n'
                         f'{end_of(self.log)}', 1)
        answer = json.loads(line)
        if 'error' in answer:
            raise Failed(answer['error'], answer['code'])
        return answer

    def round(self):
        try:
            self.process.stdin.write('round\n')
            self.process.stdin.flush()
        except BrokenPipeError:
            pass  # answer() says why
        return self.answer()


def counters_of(measured, threads):
    """The fields of a row for one round. One thread is timed by CPU time, as in bench_model."""
    clock = 'cpu' if threads == 1 else 'wall'
    nanoseconds = sorted(measured[f'{clock}_ns'])
    samples = [value / 1e9 for value in nanoseconds]
    middle, number = statistics.median(samples), len(samples)
    stalls = [value for value in samples if value > middle + max(middle, STALL)]
    # Where many samples stall, so does every step.
    kept = samples[:number - len(stalls)] if len(stalls) <= max(1, number / 10) else samples
    fields = {'iterations': number, 'real_time': statistics.median(nanoseconds),
              'cpu_time': statistics.mean(measured['cpu_ns']), 'time_unit': 'ns',
              'calls_a_sample': 1, 'clock_s': measured['clock_ns'][threads == 1] / 1e9, 'count': 1,
              'cpu_s': statistics.mean(measured['cpu_ns']) / 1e9,
              'wall_s': statistics.mean(measured['wall_ns']) / 1e9,
              'disturbed': int(measured['preempted'] > PREEMPTED),
              'mean_s': statistics.mean(kept), 'min_s': samples[0],
              'p95_s': samples[min(number - 1, math.ceil(0.95 * number) - 1)],
              'p99_s': samples[min(number - 1, math.ceil(0.99 * number) - 1)],
              'samples': number, 'stalls': len(stalls), 'verified': 1}
    rank = median_rank(number)
    if rank > 0:
        fields.update(low_s=samples[rank - 1], high_s=samples[-rank])
    return fields


def median_rank(number):
    """Rank, from 1 on, of the smallest sample in the 95 % interval of the median of `number` samples, as
    stats::median_interval of include/layerbench/base/stats.hpp has it; 0 if they are too few."""
    tail = itertools.accumulate(
        math.exp(math.lgamma(number + 1) - math.lgamma(i + 1) - math.lgamma(number - i + 1) -
                 number * math.log(2)) for i in range(number))
    return sum(1 for _ in itertools.takewhile(lambda one: one <= 0.025, tail))


def rows_of(name, family, rounds):
    """The rows of a chain: one per round, then the aggregates."""
    common = {'family_index': family, 'per_family_instance_index': 0, 'run_name': name}
    rows = [{'name': name, **common, 'run_type': 'iteration', 'repetitions': len(rounds),
             'repetition_index': i, 'threads': 1, **fields, 'label': 'key=;algo=;state='}
            for i, fields in enumerate(rounds)]
    numbers = [key for key in rounds[0] if key not in ('iterations', 'time_unit')
               and all(key in fields for fields in rounds)]

    def spread(values):
        return statistics.stdev(values) if len(values) > 1 else 0.0

    def relative(values):
        mean = statistics.mean(values)
        return spread(values) / mean if mean else 0.0
    for aggregate, unit, of in (('mean', 'time', statistics.mean),
                                ('median', 'time', statistics.median), ('stddev', 'time', spread),
                                ('cv', 'percentage', relative)):
        rows.append({'name': f'{name}_{aggregate}', **common, 'run_type': 'aggregate',
                     'repetitions': len(rounds), 'threads': 1, 'aggregate_name': aggregate,
                     'aggregate_unit': unit, 'iterations': len(rounds), 'time_unit': 'ns',
                     **{key: of([fields[key] for fields in rounds]) for key in numbers},
                     'label': 'key=;algo=;state='})
    return rows


def processor_name():
    """As include/layerbench/base/processor_name.hpp names it."""
    implementer, cores = '', set()
    for line in pathlib.Path('/proc/cpuinfo').read_text(encoding='utf-8').splitlines():
        field, colon, value = line.partition(': ')
        if not colon:
            continue
        if field.startswith('model name'):
            return value
        if field.startswith('CPU implementer'):
            implementer = value
        if field.startswith('CPU part'):
            cores.add(f'{implementer} part {value}')
    return f"CPU implementer {', '.join(sorted(cores))}" if cores else 'unknown'


class Results:
    """What was measured, and the result file that has it."""

    def __init__(self, options):
        self.options = options
        self.rounds = {}  # of a chain's name: lists of counters
        self.layers = {}  # of a case: the engine's layers
        self.overheads = []
        self.releases = []  # comparisons of two releases
        self.layer_files = []  # of bench_model
        self.waiting = {}  # of an engine: seconds waited, and processor time in them
        self.interrupted = True  # until all is measured
        version = subprocess.run([options.layerbench, '--version'], capture_output=True, text=True,
                                 check=False).stdout.split()
        self.context = {
            'date': datetime.datetime.now(datetime.timezone.utc).isoformat(timespec='seconds'),
            'host_name': platform.node(), 'executable': str(pathlib.Path(__file__).resolve()),
            'num_cpus': os.cpu_count(), 'load_avg': list(os.getloadavg()),
            'layerbench_schema': '1', 'layerbench_version': version[1] if version[1:] else '',
            'command': shlex.join(sys.argv), 'device': processor_name(),
            'kernel': platform.release(), 'python_version': platform.python_version(),
            'clock': 'process CPU time for 1 thread, else wall time',
            'engine_environment': 'OMP_NUM_THREADS; no other OMP_* GOMP_* KMP_* MKL_*',
            **({'layerbench_commit': version[2].strip('()')} if version[2:] else {}),
            **{name: value for name, value in os.environ.items()
               if name.startswith(MEMORY_VARIABLES)}}
        if len(options.threads) == 1:
            self.context['threads'] = str(options.threads[0])

    def case(self, engine, model, batch, threads, dtype=None):
        """As bench_model names cases: threads only where there are several numbers of them. `batch`
        may have further parameters behind it."""
        suffix = f'/threads:{threads}' if len(self.options.threads) > 1 else ''
        return f'inference/{engine}/{dtype or self.options.dtype}/{model}/batch:{batch}{suffix}'

    def add_engine(self, engine, ready):
        self.context[f'{engine}_version'] = ready['version']
        self.context[f'{engine}_settings'] = ready['settings']
        if ready.get('onednn_version'):
            self.context[f'{engine}_onednn_version'] = ready['onednn_version']

    def add_round(self, engine, case, measured, threads):
        self.rounds.setdefault(f'chain/{case}', []).append(counters_of(measured, threads))
        waited, used = self.waiting.get(engine, (0, 0))
        self.waiting[engine] = (waited + measured['waited_s'], used + measured['waiting_cpu_s'])

    def text(self):
        context = {**self.context, 'interrupted': str(int(self.interrupted))}
        for engine, (waited, used) in self.waiting.items():
            context[f'{engine}_waiting'] = (f'{used:.3f} s of processor time in {waited:.1f} s '
                                            'between its rounds')
        rows = [row for family, (name, rounds) in enumerate(self.rounds.items())
                for row in rows_of(name, family, rounds)]
        overheads = {'engine_overheads': self.overheads} if self.overheads else {}
        if self.releases:
            context['load_avg_at_end'] = list(os.getloadavg())
            return json.dumps({'context': context, 'engine_releases': self.releases}, indent=1) + '\n'
        return json.dumps({'context': context, 'benchmarks': rows, 'engine_layers': self.layers,
                           **overheads}, indent=1) + '\n'

    def save(self):
        """Writes what was measured so far, since this process may be killed."""
        output_file.save(self.text(), self.options.output, inputs_of(self.options), self.options.overwrite)

    def warn(self):
        for engine, (waited, used) in self.waiting.items():
            if used > WAITING * waited:
                print(f'{engine}: used {used:.2f} s of processor time in the {waited:.1f} s while '
                      'others ran, which disturbed them', file=sys.stderr)
        warn_of_disturbed([fields['disturbed'] for all_rounds in self.rounds.values()
                           for fields in all_rounds if 'disturbed' in fields])


def warn_of_disturbed(rounds, what=''):
    """`rounds`: whether each was disturbed."""
    if sum(rounds) > len(rounds) / 10:
        print(f'{what}{sum(rounds)} of {len(rounds)} rounds were disturbed: something else used the '
              'processors; measure again when the machine is idle', file=sys.stderr)


def layers_name(options, suffix=''):
    path = pathlib.Path(options.output)
    return path.with_name(f'{path.stem}_layers{suffix}.json')


def layers_file(options, shown, threads):
    """The result file of bench_model: one per model, batch and number of threads."""
    return layers_name(options, (f'_{shown["model"]}' if options.overhead else '') + (
        f'_batch{shown["batch"]}' if options.batch and len(options.batch) > 1 else '') + (
        f'_threads{threads}' if len(options.threads) > 1 else ''))


class Bench:
    """A process of bench_model, which with --turns in `more` stops before each round, and else has ended
    when the scope begins. Its samples count at any speed of the processors, since those of the engines do.
    Throws Failed with its exit code."""

    def __init__(self, options, model, file, processors, more):
        self.command = [options.bench, f'--model={model}', f'--threads={len(processors)}',
                        f'--benchmark_repetitions={options.rounds}', f'--benchmark_out={file}',
                        '--speed=any', *['--overwrite'] * options.overwrite, *more,
                        *options.bench_options]
        self.log = tempfile.TemporaryFile('w+', errors='replace')
        self.process = start(self.command, processors, stdout=subprocess.DEVNULL, stderr=self.log)
        self.code = None

    def __enter__(self):
        try:
            self.wait()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        if self.code is None:
            output_file.ignore_signals()
            os.kill(self.process.pid, signal.SIGINT)  # it saves what it has
            with contextlib.suppress(Failed):  # of exit code 130
                while self.code is None:
                    self.round()
        self.log.close()

    def wait(self):
        """Waits until it stops or ends."""
        status = os.waitpid(self.process.pid, os.WUNTRACED)[1]
        if os.WIFSTOPPED(status):
            return
        self.code = self.process.returncode = os.waitstatus_to_exitcode(status)
        if self.code != 0:
            raise Failed(f'{shlex.join(self.command)}: exit code {self.code}:\n{end_of(self.log)}',
                         self.code if self.code > 0 else 1)

    def round(self):
        if self.code is not None:
            raise Failed(f'{shlex.join(self.command)}: ended after fewer rounds than --rounds', 2)
        os.kill(self.process.pid, signal.SIGCONT)  # send_signal() would hide why it ended
        self.wait()

    def require_end(self):
        if self.code is None:
            raise Failed(f'{shlex.join(self.command)}: has more rounds than --rounds', 2)


def prepare(options, shown, engines, folder, processors):
    """Writes the model, its weights and its inputs into the folder, for these engines. Throws
    Failed."""
    (folder / 'model.json').write_text(json.dumps({**shown, 'dtype': options.dtype}))
    with Worker(['prepare', str(folder), ','.join(engines)], folder, processors) as worker:
        worker.answer()


def middle_of(profiles):
    """An engine's layers with the median of their times in several profiles. Their names are
    unique in a profile."""
    seconds = {}
    for layers in profiles:
        for layer in layers:
            seconds.setdefault(layer['name'], []).append(layer['seconds'])
    return [{**layer, 'seconds': statistics.median(seconds[layer['name']])} for layer in profiles[0]]


def measure(options, path, shown, threads, results):
    """All rounds of one batch and number of threads, some with the times of the engines' layers at
    their end. `path` is what bench_model knows the model by."""
    processors = processors_for(threads)
    model, batch = shown['model'], shown['batch']
    layers = layers_file(options, shown, threads)
    if options.bench:
        results.layer_files.append(layers)
    results.context[f'processors_{threads}'] = ','.join(map(str, processors))
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        prepare(options, shown, options.engines, folder, processors)
        with contextlib.ExitStack() as stack:
            workers = {}
            for engine in options.engines:
                workers[engine] = stack.enter_context(
                    Worker(['run', name, engine, str(threads)], folder, processors))
                results.add_engine(engine, workers[engine].answer())
            turns = [*options.engines, *(['bench_model'] if options.bench else [])]
            bench = stack.enter_context(Bench(options, path, layers, processors, [
                f'--batch={batch}', f'--dtype={options.dtype}', '--max-time=0', '--turns',
            ])) if options.bench else None
            profiles = {engine: [] for engine in options.engines}
            for number in range(options.rounds):
                first = number % len(turns)  # what runs first in a round changes
                for turn in turns[first:] + turns[:first]:
                    if turn == 'bench_model':
                        bench.round()
                    else:
                        results.add_round(turn, results.case(turn, model, batch, threads),
                                          workers[turn].round(), threads)
                # Few rounds have profiles, since each profile takes a new process.
                profiled = number % math.ceil(options.rounds / PROFILES) == 0
                for engine, answers in profiles.items() if profiled else ():
                    graph = folder / 'graph.xml'
                    wanted = engine == 'openvino' and number == 0 and bool(options.exec_graph)
                    with Worker(['profile', name, engine, str(threads), *[str(graph)] * wanted], folder,
                                processors) as worker:
                        answers.append(worker.answer()['layers'])
                    if wanted:
                        write_more(graph.read_text(encoding='utf-8'), options.exec_graph, options)
                    # After each, so that an interrupted run has them.
                    results.layers[results.case(engine, model, batch, threads)] = middle_of(answers)
                results.save()
                print(f'{model}, batch {batch}, {threads} threads: round {number + 1} of '
                      f'{options.rounds}', file=sys.stderr)
            if bench:
                bench.require_end()


def fusion_plan(engine, shown, engine_layers, dtype='f32'):
    """The layers that an engine joins to one call, as a fusion plan, and those it joins that no plan
    can join. The exporter has folded batch norms before, so the engine knows a convolution by the
    name of its batch norm."""
    order = {layer['name']: i for i, layer in enumerate(shown['layers'])}
    readers = [source for layer in shown['layers'] for source in layer['after']]
    rules, other = [], []
    for joined in engine_layers:
        layers = set(joined['layers']) & set(order)
        for name in list(layers):
            layer = shown['layers'][order[name]]
            if layer['op'] != 'batchnorm' or not layer['after']:
                continue
            source = layer['after'][0]
            folds = shown['layers'][order[source]]['op'] in ('conv', 'deconv', 'gemm')
            if folds and readers.count(source) == 1:
                layers.add(source)
        names = sorted(layers, key=order.get)
        ops = [shown['layers'][order[name]]['op'] for name in names]
        fits = ops[:1] and ops[0] in FUSING and set(ops[1:]) <= set(FUSED)
        if len(names) > 1:
            (rules if fits else other).append({'layers': names, 'in_place': True})
    plan = {'name': f'{engine}_{shown["model"]}',
            'title': f'{shown["model"]} as {JOINING[engine]} ran it', 'rules': rules}
    if dtype == 's8':
        plan['int8'] = {'ops': ['conv', 'gemm'], 'keeps': ['pool', 'concat'],
                        'channel_scales': True}
    return plan, [rule['layers'] for rule in other]


def write_plan(options, shown, results):
    engine, layers = next((engine, layers) for engine in JOINING
                          for case, layers in results.layers.items() if f'/{engine}/' in case)
    plan, other = fusion_plan(engine, shown, layers, options.dtype)
    for names in other:
        print(f'not in {options.fusion_plan}: no plan can join {" ".join(names)}', file=sys.stderr)
    if not plan['rules']:
        raise Failed(f'{options.fusion_plan} is not written: {JOINING[engine]} joins no layers', 4)
    write_more(json.dumps(plan, indent=1) + '\n', options.fusion_plan, options)


def write_more(text, file, options):
    """Writes an output beside the results. Throws Failed."""
    code = output_file.write(text, file, inputs_of(options), options.overwrite)
    if code != 0:
        raise Failed(f'{file} is not written', code)


def large_byte_seconds(options, threads):
    """What new memory costs PyTorch per byte of a large result: the difference to a process whose
    malloc keeps the memory, as the median over the rounds. Throws Failed."""
    processors = processors_for(threads)
    with tempfile.TemporaryDirectory() as name, contextlib.ExitStack() as stack:
        folder = pathlib.Path(name)
        path = folder / 'large.json'
        path.write_text(json.dumps(overhead_models.large_model()))
        shown = show(options, path, None)
        prepare(options, shown, ['torch'], folder, processors)
        workers = [stack.enter_context(Worker(['run', name, 'torch', str(threads)], folder,
                                              processors, variables))
                   for variables in ({}, KEPT_MEMORY)]
        for worker in workers:
            worker.answer()
        rounds = []  # of both, new memory first
        for number in range(options.rounds):
            turns = [0, 1] if number % 2 == 0 else [1, 0]
            fields = {turn: counters_of(workers[turn].round(), threads) for turn in turns}
            rounds.append([fields[0], fields[1]])
    warn_of_disturbed([new['disturbed'] or kept['disturbed'] for new, kept in rounds],
                      'large results: ')
    differences = [new['real_time'] - kept['real_time'] for new, kept in rounds]
    size = 4 * math.prod(shown['layers'][0]['shape'][name] for name in 'nchw')
    return statistics.median(differences) / 1e9 / (len(shown['layers']) * size)


def require_calls_of_engine(case, calls, nodes):
    """Throws Failed if the engine, by its profile, makes other calls than those that were timed."""
    layers = sum(bool(node['layers']) for node in nodes)
    if nodes and layers and abs(layers - calls) > calls / 10:
        raise Failed(f'{case}: {calls} calls were timed, but the engine makes {layers}; choose its '
                     'fusion plan, such as --bench-options="--fusion=openvino"', 2)


def overheads_of(predictions, validated, profiles):
    """What an engine takes beside the predicted calls: the line through the differences of the two
    models of tiny layers, over their numbers of calls. `validated` is what `validate` says of it,
    `profiles` are the engines' layers by case. Throws Failed."""
    engine = validated['engine']
    points = {}  # of conditions: calls and seconds of each model
    kernels = {}  # of conditions: the case of the model of layers of all kinds
    for case in validated['cases']:
        name = case['case']
        calls = next(sum(layer['count'] for layer in p['layers'] if not layer['inserted'])
                     for p in predictions['predictions']
                     if (p['case'], p['threads']) == (name, case['threads']))
        parameters = [part for part in name.split('/')[5:]
                      if part.split(':')[0] not in ('threads', 'fusion')]
        key = (case['backend'], case['dtype'], case['threads'], case['cache'], *parameters)
        if case['model'] == 'kernels':
            kernels[key] = (calls, case)
            continue
        for profile, nodes in profiles.items():
            if f'/{engine}/' in profile and f'/{case["model"]}/' in profile:
                require_calls_of_engine(name, calls, nodes)
        points.setdefault(key, []).append(
            (calls, case['measured_seconds'] - case['predicted_seconds']))
    overheads = []
    for key, found in points.items():
        if len(found) != len(overhead_models.BLOCKS):
            raise Failed('--overhead: choose one fusion plan in --bench-options', 2)
        few, many = found
        backend, dtype, threads, cache, *parameters = key
        call = (many[1] - few[1]) / (many[0] - few[0])
        overheads.append({'engine': engine, 'backend': backend, 'dtype': dtype, 'threads': threads,
                          'parameters': dict(part.split(':') for part in parameters),
                          'cache': cache, 'call_seconds': call,
                          'step_seconds': few[1] - few[0] * call})
        if key in kernels:
            overheads[-1].update(kernel_factors(*kernels[key], overheads[-1]))
    return overheads


def kernel_factors(calls, case, overhead):
    """How long the engine's kernels take, relative to the predicted calls, by kind: the geometric mean
    over its layers, where all of them are slower, or all are faster, by a factor of CLEAR. What the
    profile says is scaled to its steps, which ran in turns with the predicted calls and without a
    profiler. Nothing without a profile that names layers; without kinds that the engine joins to other
    layers, and without calls that were timed in the engine's library by the fusion plan."""
    layers = case.get('layers', [])
    if not layers:
        return {}
    call = overhead['call_seconds']
    own = [max(layer['engine_seconds'] - layer['calls'] * call, 0) for layer in layers]
    profiled = sum(own) + sum(one['seconds'] for one in case['in_no_layer'])
    step = case['measured_seconds'] - calls * call - overhead['step_seconds']
    if min(step, profiled) <= 0:
        raise Failed(f'{case["case"]}: the step took less than its overhead alone; measure again, '
                     'with more --rounds', 1)
    factors = {}
    for layer, seconds in zip(layers, own):
        if layer['kernel']:
            factors.setdefault(layer['kernel'], []).append(
                seconds * step / profiled / layer['predicted_seconds'])
    return {'kernel_factors': {
        kernel: statistics.geometric_mean(of) for kernel, of in factors.items()
        if min(of) > CLEAR or JOINED < min(of) <= max(of) < 1 / CLEAR}}


def measure_overhead(options, results):
    """Measures synthetic models. Throws Failed."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for model in (*map(overhead_models.tiny_model, overhead_models.BLOCKS),
                      overhead_models.kernels_model()):
            path = folder / f'{model["name"]}.json'
            path.write_text(json.dumps(model))
            shown = show(options, path, None)
            for threads in options.threads:
                measure(options, path, shown, threads, results)
        measured = folder / 'engines.json'
        measured.write_text(results.text())
        predictions = ask(options, 'predict', *results.layer_files)
        validation = ask(options, 'validate', *results.layer_files, f'--engine={measured}')
    code = 0
    for validated in validation['engines']:
        try:
            results.overheads += overheads_of(predictions, validated, results.layers)
        except Failed as error:  # of this engine alone
            print(error, file=sys.stderr)
            code = code or error.code
    for one in results.overheads:
        print(f'{one["engine"]}, {one["threads"]} threads: {1e6 * one["call_seconds"]:.2f} us beside '
              f'each call, {1e6 * one["step_seconds"]:.2f} us per step', file=sys.stderr)
        for kernel, factor in one.get('kernel_factors', {}).items():
            print(f'  {kernel}: {factor:.2f} times as long as predicted', file=sys.stderr)
    of_torch = [one for one in results.overheads if one['engine'] == 'torch']
    for threads in sorted({one['threads'] for one in of_torch}):
        seconds = large_byte_seconds(options, threads)
        print(f'torch, {threads} threads: {1e9 * seconds:.3f} ms per MB of large results', file=sys.stderr)
        for one in of_torch:
            if one['threads'] == threads:
                one.update(large_bytes=LARGE, large_byte_seconds=seconds)
    results.interrupted = False
    if code:
        raise Failed('not all engines have an overhead', code)


def llama_tests(options, path, threads, processors):
    """What llama-bench prints of a prompt and of tokens behind it, in this order. Throws Failed."""
    cache = LLAMA_TYPES[options.dtype][1]
    environment = environment_of(path.parent, processors)
    command = [options.llama_bench, '-m', path, '-t', threads, '-r', options.rounds, '-o', 'json',
               '-ngl', 0, '-ctk', cache, '-ctv', cache]
    tests = []
    # A prompt has no tokens before it.
    for more in (['-p', options.prompt, '-n', 0],
                 ['-p', 0, '-n', options.generate, '-d', options.context]):
        words = [str(word) for word in command + more]
        with tempfile.TemporaryFile('w+', errors='replace') as log:
            with start(words, processors, stdout=subprocess.PIPE, stderr=log,
                       env=environment) as process:
                try:
                    printed = process.communicate()[0]
                except BaseException:
                    process.kill()
                    raise
            try:
                test, = json.loads(printed) if process.returncode == 0 else []
                if len(test['samples_ns']) != options.rounds or min(test['samples_ns']) <= 0:
                    raise ValueError
            except (ValueError, KeyError, TypeError) as error:
                raise Failed(f'{shlex.join(words)}: exit code {process.returncode}, and no result '
                             f'of {options.rounds} rounds in JSON:\n{end_of(log)}', 1) from error
        tests.append(test)
    return tests


def measure_llama(options, results):
    """Measures llama.cpp, and then the layers of the same steps. Throws Failed."""
    shown = show(options, options.model, 1)
    dtype, cache, more = LLAMA_TYPES[options.dtype]
    results.context['clock'] = 'wall time'
    results.context['llama_cpp_settings'] = (
        f'weights {options.dtype}, keys and values {cache}, prompt {options.prompt}, '
        f'{options.generate} tokens behind {options.context}')
    # The tokens of a step and those before it; generated ones are in the middle of all.
    steps = ((options.prompt, 0), (1, options.context + max(1, options.generate // 2)))
    with tempfile.TemporaryDirectory() as name:
        path = pathlib.Path(name) / f'{shown["model"]}_{options.dtype}.gguf'
        try:
            sizes = gguf_model.sizes_of(shown)
            needed = gguf_model.total_bytes(sizes, options.dtype)
            if shutil.disk_usage(name).free < 1.05 * needed:
                raise Failed(f'{name}: the model needs {needed / 1e9:.1f} GB; set TMPDIR to a folder '
                             'on a larger disk', 2)
            gguf_model.write(path, shown['model'], sizes, options.dtype)
        except gguf_model.NoLlama as error:
            raise Failed(str(error), 4) from error
        for threads in options.threads:
            processors = processors_for(threads)
            results.context[f'processors_{threads}'] = ','.join(map(str, processors))
            tests = llama_tests(options, path, threads, processors)
            files = []
            for (tokens, context), test in zip(steps, tests):
                results.context['llama_cpp_version'] = str(test.get('build_commit', 'unknown'))
                usual = (shown.get('tokens'), shown.get('context'))
                named = ''.join(f'/{key}:{value}' for key, value, default in zip(
                    ('tokens', 'context'), (tokens, context), usual) if value != default)
                case = results.case('llama_cpp', shown['model'], f'1{named}', threads, dtype)
                calls = options.generate if context else 1
                for nanoseconds in test['samples_ns']:
                    clock = [nanoseconds / calls]
                    fields = counters_of({'wall_ns': clock, 'cpu_ns': clock, 'clock_ns': [0, 0],
                                          'preempted': 0}, threads)
                    for field in NOT_BY_LLAMA:
                        del fields[field]
                    results.rounds.setdefault(f'chain/{case}', []).append(fields)
                results.save()
                if options.bench:
                    file = layers_file(options, shown, threads)
                    files.append(file.with_name(
                        f'{file.stem}_{"decode" if context else "prompt"}.json'))
                    with Bench(options, options.model, files[-1], processors, [
                            '--batch=1', f'--tokens={tokens}', f'--context={context}',
                            f'--dtype={dtype}', *more]) as bench:
                        while bench.code is None:  # it was stopped, as by Ctrl-Z
                            bench.round()
            compare_tokens(options, steps, tests, threads, files)
    results.interrupted = False


def compare_tokens(options, steps, tests, threads, files):
    """Prints tokens/s of llama.cpp, and what is predicted, by op."""
    predictions = ask(options, 'predict', *files)['predictions'] if files else []
    for (tokens, context), test in zip(steps, tests):
        calls = options.generate if context else 1
        measured = calls * tokens * 1e9 / statistics.median(test['samples_ns'])
        text = f'{measured:.4g} tokens/s by llama.cpp'
        for one in predictions:
            if (one['tokens'], one['context']) != (tokens, context):
                continue
            predicted = one['tokens_per_second']
            text += f', {predicted:.4g} predicted ({100 * (predicted / measured - 1):+.1f} %)'
            seconds = {}
            for layer in one['layers']:
                seconds[layer['op']] = seconds.get(layer['op'], 0) + layer['count'] * layer['seconds']
            shares = sorted(seconds.items(), key=lambda item: -item[1])[:4]
            text += ', of which ' + ', '.join(
                f'{op} {100 * value / sum(seconds.values()):.1f} %' for op, value in shares)
        what = (f'decoding behind {context} tokens' if context else f'prompt of {tokens} tokens')
        print(f'{options.dtype}, {threads} threads, {what}: {text}', file=sys.stderr)


def measure_model(options, results):
    """Measures MODEL. Throws Failed."""
    for batch in options.batch or [None]:
        shown = show(options, options.model, batch)
        for threads in options.threads:
            measure(options, options.model, shown, threads, results)
    results.interrupted = False
    if options.fusion_plan:
        write_plan(options, shown, results)


def release_key(release):
    """Of the names of a release: 2.4, 2.4.0 and 2.4.0+cpu are the same."""
    return re.sub(r'(\.0)+(?=\.?[a-z]|$)', '', release.partition('+')[0].lower())


def medians(of):
    """Of each key of the dictionaries: the median of its values, to 4 digits."""
    return {key: float(f'{statistics.median(one.get(key, 0) for one in of):.4g}')
            for key in dict.fromkeys(key for one in of for key in one)}


def changes_of(engine, compared, profiles):
    """A comparison of a release of `bisect` with the one before it, its rows by model. The medians of
    both are over the processes of this comparison: those from the newer one's first to the older one's
    last."""
    change = {'engine': engine, **{key: compared[key] for key in ('release', 'base', 'pairs', 'reason')}}
    if compared['side'] == 'skipped':
        return change
    of = [release_key(one['release']) for one in profiles]
    base, release = release_key(compared['base']), release_key(compared['release'])
    first, last = of.index(release), len(of) - of[::-1].index(base)
    both = [[profiles[i] for i in range(first, last) if of[i] == side] for side in (base, release)]
    change['rows'] = [{
        **row, 'seconds': [medians([one['steps'] for one in side])[row['name']] for side in both],
        'types': [medians([one['types'][row['name']] for one in side]) for side in both]}
        for row in sorted(compared['rows'], key=lambda row: row['name'])]
    return change


def add_changes(engine, printed, folder, results):
    """Adds the comparisons that `bisect` printed, if any; how many are left out. The folder has the
    profiles of its processes."""
    try:
        tried = json.loads(printed)['tried']
    except ValueError:
        return 0
    profiles = [json.loads(file.read_text()) for file in sorted(folder.glob('*.json'))]
    shutil.rmtree(folder, ignore_errors=True)  # the next search may be of the same releases
    left_out = 0
    for one in tried:
        try:
            results.releases.append(changes_of(engine, one, profiles))
        except (ValueError, KeyError):
            left_out += 1
            print(f'{engine} {one["release"]}: left out, since a profile is missing', file=sys.stderr)
    if results.releases:
        results.save()
    return left_out


def beside_releases(engine, versions):
    """What pip installs beside releases of these versions."""
    old = any([int(number) for number in version.split('.')[:2] if number.isdigit()] < [2, 3]
              for version in versions.split(','))
    return BESIDE_RELEASES[engine] + ('<2' if engine == 'torch' and old else '')


def measure_releases(options, results):
    """Compares the releases of each engine. Throws Failed."""
    processors = processors_for(options.threads[0])
    results.context['processors'] = ','.join(map(str, processors))
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        models = [show(options, model, options.batch and options.batch[0])
                  for model in options.model.split(',')]
        names = [shown['model'] for shown in models]
        for shown in models:
            if names.count(shown['model']) > 1:
                raise Failed(f'--releases: MODEL has {shown["model"]} twice', 2)
        for shown in models:
            (folder / shown['model']).mkdir()
            prepare(options, shown, ['onnx'], folder / shown['model'], processors)
        left_out = 0
        for engine, versions in options.releases:
            command = [options.layerbench, 'bisect', '--all-releases', f'--package={engine}',
                       f'--versions={versions}', f'--with={beside_releases(engine, versions)}',
                       f'--rounds={options.rounds}', '--csv=model,ms', '--format=json',
                       *([f'--install-dir={options.install_dir}'] if options.install_dir else []),
                       '--', 'python', WORKER[1], 'once', name, engine, str(len(processors))]
            process = start(command, processors, stdout=subprocess.PIPE,
                            env=environment_of(folder, processors))
            try:
                printed = process.communicate()[0]
            except BaseException:
                output_file.ignore_signals()
                process.send_signal(signal.SIGINT)  # it prints what it has
                add_changes(engine, process.communicate()[0], folder / 'profiles', results)
                raise
            left_out += add_changes(engine, printed, folder / 'profiles', results)
            code = process.returncode
            if code != 0:
                raise Failed(f'{shlex.join(command)}: exit code {code}', code if code > 0 else 1)
    results.interrupted = False
    if left_out:
        raise Failed(f'comparisons left out: {left_out}', 1)


def run(options, results):
    """Measures everything; the exit code."""
    try:
        (measure_overhead if options.overhead else measure_llama if options.llama_bench
         else measure_releases if options.releases else measure_model)(options, results)
    except Failed as error:
        print(error, file=sys.stderr)
        return error.code
    except KeyboardInterrupt:
        return 130
    except Exception as error:  # pylint: disable=broad-exception-caught
        # Such as one of a worker that was killed. What was measured must be written all the same.
        print(f'an engine failed: {error!r}', file=sys.stderr)
        return 1
    return 0


def main(arguments=None):
    output_file.prepare_process()
    options = options_of(arguments)
    results = Results(options)
    code = run(options, results)
    output_file.ignore_signals()
    if not results.rounds and not results.releases:
        return code
    results.warn()
    return output_file.write(results.text(), options.output, inputs_of(options),
                             options.overwrite) or code


if __name__ == '__main__':
    sys.exit(main())
