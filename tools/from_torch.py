#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 the layerbench authors
# SPDX-License-Identifier: Apache-2.0
"""Writes the shape file of a PyTorch model. Needs torch 2.6 or newer; no weights are downloaded.

  tools/from_torch.py torchvision:resnet50 -o mine.json
  tools/from_torch.py timm:resnet50d -o mine.json
  tools/from_torch.py transformers:BertConfig --input 1x128:int64 -o mine.json
  tools/from_torch.py net.py:make_net --input 1x3x224x224 -o mine.json

net.py:make_net (or a module that Python can import, package.net:make_net) is a function without
arguments that returns a torch.nn.Module, its class or the module itself.

The model is traced in inference at two batches, without data. Calls that no op of layerbench
computes are listed on stderr with their places. docs/import.md explains what is refused. Where
layerbench is built it reads the file first: nothing is written that it refuses.

Exit codes: 0 done; 1 torch is missing, or writing failed; 2 wrong command line, or an output that
cannot be written; 3 the model cannot be exported, a wrong export, or layerbench refuses the file; 4
calls are missing.
"""
import argparse
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import output_file
import torch_convert
import torch_export

ROOT = pathlib.Path(__file__).resolve().parent.parent
PIP = {'torchvision': 'torch torchvision'}
MOST_PLACES = 3


def options_of(arguments):
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('model', nargs='?', metavar='MODEL',
                        help='MODULE:CALLABLE, torchvision:NAME, timm:NAME or transformers:CONFIG')
    parser.add_argument('--input', action='append', default=[], metavar='SIZES[:DTYPE]',
                        help='sizes of what the model reads, such as 1x3x224x224 or '
                        '1x128:int64; repeat it for several; the first size is the batch, unless '
                        'one is named batch; default: what torchvision or timm give')
    parser.add_argument('--bind', action='append', default=[], metavar='NAME=SIZE',
                        help='value of a named size of --input, such as --input 1xtokens --bind '
                        'tokens=128')
    parser.add_argument('--name', help="the model's name in rows and results; default: from MODEL")
    parser.add_argument('--title', default='', help='for people; default: name and sizes')
    parser.add_argument('-o', '--output', metavar='FILE',
                        help='the shape file; - is stdout, which is the default')
    parser.add_argument('--overwrite', action='store_true',
                        help='replace an existing output whatever it holds; default: only one of the '
                        'same kind')
    parser.add_argument('--no-softmax', action='store_true',
                        help='add no softmax behind a classifier that ends without one')
    parser.add_argument('--allow-partial', action='store_true',
                        help='write the file without the calls that no op computes')
    parser.add_argument('--export', metavar='FILE',
                        help='write the traced calls, which --from-export reads, and convert nothing')
    parser.add_argument('--from-export', metavar='FILE', help='convert such a file; needs no torch')
    parser.add_argument('--layerbench', metavar='PROGRAM',
                        help='the tool that reads the file before it is written; default: the '
                        'newest in build/*/tools, or that of the PATH')
    options = parser.parse_args(arguments)
    if (options.model is None) == (options.from_export is None):
        parser.error('give either MODEL or --from-export')
    if options.model and not re.fullmatch('[^:]+:[^:]+', options.model):
        parser.error(f'{options.model!r} is not MODULE:CALLABLE, torchvision:NAME, timm:NAME or '
                     'transformers:CONFIG')
    if options.from_export and (options.input or options.bind or options.export):
        parser.error('--from-export needs no --input, --bind or --export')
    if options.name is not None and not re.fullmatch('[a-z0-9_]+', options.name):
        parser.error(f'--name: {options.name!r} is not a name; use lower-case letters, digits '
                     'and _')
    if options.layerbench and shutil.which(options.layerbench) is None:
        parser.error(f'--layerbench: {options.layerbench}: no such program')
    bound = {}
    for text in options.bind:
        name, _, size = text.partition('=')
        if not name.isidentifier() or not re.fullmatch(r'[1-9]\d{0,9}', size):
            parser.error(f'--bind: {text!r} is not NAME=SIZE')
        bound[name] = int(size)
    options.bind = bound
    if any(ord(letter) < 32 or 127 <= ord(letter) < 160 for letter in options.title):
        parser.error('--title: has a control character or an end of a line')
    try:
        for file, sample in ((options.output, output_file.SHAPE_FILE),
                             (options.export, '{"layerbench_torch_export": 1}')):
            output_file.require(file, sample, inputs_of(options), options.overwrite)
    except output_file.Refused as error:
        parser.error(str(error))
    return options


def inputs_of(options):
    """The files that the command line names to be read."""
    return [file for file in (options.from_export, (options.model or '').partition(':')[0]) if file]


def write(text, output, options):
    """Writes all of the text or nothing; the exit code."""
    return output_file.write(text, output, inputs_of(options), options.overwrite)


def compact(data):
    """An export as text, a line per call."""
    def dump(value):
        return json.dumps(value, separators=(',', ':'))
    lines = []
    for key, value in data.items():
        if key in ('calls', 'weights', 'buffers'):
            kind = '[]' if isinstance(value, list) else '{}'
            items = map(dump, value) if isinstance(value, list) else (
                f'{dump(name)}:{dump(one)}' for name, one in value.items())
            lines.append(f'"{key}":{kind[0]}\n' + ',\n'.join(items) + f'\n{kind[1]}')
        else:
            lines.append(f'{dump(key)}:{dump(value)}')
    return '{' + ',\n'.join(lines) + '}\n'


def report(conversion, name):
    """Says on stderr what the file has and what it lacks."""
    flops = conversion.all_flops()
    for key, missing in sorted(conversion.missing.items(),
                               key=lambda item: (-item[1].flops, -item[1].count)):
        share = 100 * missing.flops / flops if flops else 0
        more = missing.count - MOST_PLACES
        places = '; '.join(missing.places[:MOST_PLACES]) + (f'; and {more} more' if more > 0 else '')
        calls = f'{missing.count} call{"s" * (missing.count > 1)}'
        print(f'no op computes {key}: {calls}, {share:.1f} % of the FLOPs, at {places}',
              file=sys.stderr)
    if conversion.follows:
        print('left out with them, since they read their results: ' + ', '.join(
            f'{count} {base}' for base, count in sorted(conversion.follows.items())),
              file=sys.stderr)
    left_out = conversion.left_out_share()
    if left_out is not None:
        print(f'left out in all: {100 * left_out:.1f} % of the FLOPs', file=sys.stderr)
    for note, count in conversion.notes.items():
        print(f'note: {note}' + (f' ({count} times)' if count > 1 else ''), file=sys.stderr)
    shared = sum(1 for name, calls in conversion.used.items()
                 if len(calls) > 1 and name not in conversion.split_weights)
    if shared:
        print(f'note: {shared} tensors of weights belong to several layers; the file counts them '
              'in each', file=sys.stderr)
    folded, values, learned = conversion.folded_parameters()
    if folded:
        share = 100 * conversion.folded_flops / flops if flops else 0
        print('note: weights that are computed of parameters alone, such as a weight norm, are '
              f'folded ({folded} tensors: {values} values of {learned} parameters' +
              (f'; without {share:.1f} % of the FLOPs)' if share else ')'), file=sys.stderr)
    known, missing, unread = conversion.parameters()
    if unread:
        print(f'note: inference does not read {unread} parameters of the module', file=sys.stderr)
    print(f'{name}: {len(conversion.layers)} layers, {known} parameters' +
          (f' of {known + missing}' if missing else ''), file=sys.stderr)


def layerbench_of(options):
    """The tool that reads the file; None where none is built."""
    built = [file for file in ROOT.glob('build/*/tools/layerbench') if os.access(file, os.X_OK)]
    newest = max(built, key=lambda file: file.stat().st_mtime, default=None)
    return options.layerbench or newest or shutil.which('layerbench')


def refusal(text, program):
    """Why the tool refuses a shape file, with the layer's name; empty where it reads the file."""
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / 'model.json'
        file.write_text(text, encoding='utf-8')
        done = subprocess.run([program, 'show', file, '--format=json'], capture_output=True,
                              text=True, check=False)
        if done.returncode not in (0, 3):
            raise OSError(f'exit code {done.returncode}')
    if done.returncode == 0:
        return ''
    said = done.stderr.strip().rpartition(f'{file}: ')[2]
    layer = re.search(r'/layers/(\d+)', said)
    name = json.loads(text)['layers'][int(layer[1])]['name'] if layer else ''
    return f'the layer {name}, {said}' if layer else said


def read_back(text, options):
    """Throws BadExport if the tool refuses the file."""
    program = layerbench_of(options)
    try:
        reason = refusal(text, program) if program else ''
    except OSError as error:
        print(f'note: {program} does not run ({error})', file=sys.stderr)
        program = None
    if program is None:
        print('note: layerbench has not read the file; `layerbench show FILE` does', file=sys.stderr)
    elif reason:
        raise torch_convert.BadExport('nothing is written, since layerbench refuses ' + reason)


def exported(options):
    """The export; a file's is read, a model is traced."""
    if options.from_export is None:
        return torch_export.export(options.model, options.input, options.bind, options.name)
    try:
        text = pathlib.Path(options.from_export).read_text(encoding='utf-8')
    except (OSError, UnicodeDecodeError) as error:
        raise torch_convert.BadExport(str(error)) from error
    return torch_convert.parse(text)


def convert(data, options):
    conversion = torch_convert.Conversion(data).run(softmax=not options.no_softmax)
    name = options.name or data.get('name')
    if not isinstance(name, str) or not torch_convert.legal(name):
        raise torch_convert.BadExport('/name: is no text')
    text = conversion.text(name, options.title)
    incomplete = conversion.missing and not options.allow_partial
    if not incomplete and not conversion.layers:
        raise torch_convert.BadExport('/calls: no call is a layer')
    if not incomplete:
        read_back(text, options)
    report(conversion, torch_convert.legal(name))
    if incomplete:
        print('nothing is written; --allow-partial writes the file without these calls',
              file=sys.stderr)
        return 4
    return write(text, options.output, options)


def main(arguments=None):
    output_file.prepare_process()
    options = options_of(arguments)
    try:
        data = exported(options)
        if options.export:
            return write(compact(data), options.export, options)
        return convert(data, options)
    except torch_export.Missing as error:
        name = str(error)
        print(f'{name} is not installed: pip install {PIP.get(name, name)}', file=sys.stderr)
        return 1
    except torch_export.Usage as error:
        print(error, file=sys.stderr)
        return 2
    except torch_export.CannotExport as error:
        print(f'{options.model}: {error}', file=sys.stderr)
        return 3
    except torch_convert.BadExport as error:
        print(f'{options.from_export or options.model}: {error}', file=sys.stderr)
        return 3


if __name__ == '__main__':
    sys.exit(main())
