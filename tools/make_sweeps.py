#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 the layerbench authors
# SPDX-License-Identifier: Apache-2.0
"""Writes the shape files of all sweeps: tools/make_sweeps.py [FOLDER], by default shapes/sweeps.

A sweep is a list of layers without edges. DeepBench's lists are in tests/data/deepbench, as
published. docs/formats.md describes the files.
"""
import argparse
import csv
import json
import pathlib
from collections import Counter

from make_models import one_line, shortest_pair

ROOT = pathlib.Path(__file__).resolve().parent.parent
LISTS = ROOT / 'tests' / 'data' / 'deepbench'
SOURCE = ('baidu-research/DeepBench at da81ba7, code/kernels; slips and duplicates of its lists are '
          'kept; GEMMs are column-major there, so m and n, and the transposed matrices, change '
          'places; recurrent layers also multiply their inputs, which DeepBench skips')

# Each list's title and the passes in which it is timed. DeepBench lists the matrix products of
# forward and backward passes as rows of their own.
TRAINING = {'conv': ['fwd', 'bwd_data', 'bwd_weights'], 'gemm': ['fwd_training'],
            'rnn': ['fwd_training', 'bwd'], 'allreduce': ['fwd']}
INFERENCE = {'conv': ['fwd'], 'gemm': ['fwd'], 'rnn': ['fwd']}
SWEEPS = (('training', 'training', TRAINING),
          ('inference_server', 'inference on servers', INFERENCE),
          ('inference_device', 'inference on devices', INFERENCE))


def read(name):
    """The rows of a list: numbers as such, flags as booleans, other values as texts."""
    def value(text):
        if text in ('true', 'false'):
            return text == 'true'
        return int(text) if text.isdigit() else text
    with open(LISTS / (name + '.csv'), encoding='utf-8', newline='') as file:
        return [{key: value(text) for key, text in row.items()} for row in csv.DictReader(file)]


def layer(name, op, shape):
    return {'name': name, 'op': op, 'after': [], 'shape': shape}


def conv(number, row):
    shape = {'n': row['n'], 'c': row['c'], 'h': row['h'], 'w': row['w'], 'k': row['k'],
             'r': row['filter_h'], 's': row['filter_w']}
    for key, default in (('stride', 1), ('pad', 0)):
        size = shortest_pair((row[key + '_h'], row[key + '_w']))
        if size != default:
            shape[key] = size
    name = 'conv_{:03}_n{n}_c{c}_h{h}_w{w}_k{k}_r{r}_s{s}'.format(number, **shape)
    return layer(name, 'conv', shape)


def gemm(kind, number, row):
    """The product as row-major libraries have it: the transposed one, of the same memory."""
    shape = {'m': row['n'], 'n': row['m'], 'k': row['k']}
    if row['b_transposed']:
        shape['a_transposed'] = True
    if row['a_transposed']:
        shape['b_transposed'] = True
    return layer('{}_{:03}_{m}x{n}x{k}'.format(kind, number, **row), 'gemm', shape)


def sparse_gemm(number, row):
    percent = round(100 * float(row['sparsity']))
    return gemm(f'gemm_sparse{percent}_as_dense', number, row)


def rnn(number, row):
    name = 'rnn_{:03}_{cell}_h{hidden}_n{batch}_t{timesteps}'.format(number, **row)
    shape = {'kind': row['cell'], 'batch': row['batch'], 'steps': row['timesteps'],
             'inputs': row['hidden'], 'hidden': row['hidden']}
    if row['cell'] == 'gru':
        shape['biases'] = 2  # the form that cuDNN and MIOpen have
    return layer(name, 'rnn', shape)


def allreduce(number, row):
    # bench_allreduce replaces the number of ranks by its own.
    return layer(f'allreduce_{number:03}_{row["floats"]}_floats', 'allreduce',
                 {'bytes': 4 * row['floats'], 'ranks': 2})


def rows_of(name):
    rows = []
    for file, make in (('conv', conv), ('gemm', lambda i, row: gemm('gemm', i, row)),
                       ('sparse_gemm', sparse_gemm), ('rnn', rnn)):
        listed = [row for row in read(file) if row['list'] == name]
        rows += [make(i, row) for i, row in enumerate(listed, 1)]
    if name == 'training':
        rows += [allreduce(i, row) for i, row in enumerate(read('all_reduce'), 1)]
    return rows


def text(name, title, passes):
    rows = rows_of(name)
    counts = Counter('sparse gemm as dense' if 'sparse' in row['name'] else row['op']
                     for row in rows)
    listed = ', '.join(f'{count} {op}' for op, count in counts.items())
    header = {'$schema': '../schema.json', 'name': 'deepbench_' + name,
              'title': f'DeepBench, {title}: {listed}', 'source': SOURCE, 'passes': passes}
    lines = [f'  {json.dumps(key)}: {one_line(value)},\n' for key, value in header.items()]
    layers = ',\n'.join('    ' + one_line(row) for row in rows)
    return '{\n' + ''.join(lines) + '  "layers": [\n' + layers + '\n  ]\n}\n'


def main():
    shipped = ROOT / 'shapes' / 'sweeps'
    parser = argparse.ArgumentParser(description='Writes the shape files of all sweeps.')
    parser.add_argument('folder', nargs='?', type=pathlib.Path, default=shipped,
                        help='existing folder to write to (default: shapes/sweeps)')
    folder = parser.parse_args().folder
    if not folder.is_dir():
        parser.error(f'{folder} is not a folder')
    for name, title, passes in SWEEPS:
        path = folder / f'deepbench_{name}.json'
        path.write_text(text(name, title, passes), encoding='utf-8')


if __name__ == '__main__':
    main()
