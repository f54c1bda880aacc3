#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 the layerbench authors
# SPDX-License-Identifier: Apache-2.0
"""Writes the shape file of a PyTorch model. Needs torch 2.6 or newer; no weights are downloaded.

  tools/from_torch.py torchvision:resnet50 -o mine.json
  tools/from_torch.py timm:resnet50d -o mine.json
  tools/from_torch.py transformers:BertForMaskedLM --input 1x128:int64 -o mine.json
  tools/from_torch.py net.py:make_net --input 1x3x224x224 -o mine.json

net.py:make_net (or a module that Python can import, package.net:make_net) is a function without
arguments that returns a torch.nn.Module, its class or the module itself.

The model is traced in inference at two batches, without data, and `layerbench import torch` converts
the calls. Those that no op of layerbench computes are listed on stderr with their places.
docs/import.md explains what is refused.

Exit codes: 0 done; 1 writing failed, or layerbench did; 2 wrong command line, an output that cannot be
written, or no layerbench; 3 the model cannot be loaded or exported, a wrong export, or sizes that a
shape file cannot have; 4 calls are missing; 77 a package such as torch is missing; 130 interrupted.
"""
import argparse
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

import output_file
import torch_export

ROOT = pathlib.Path(__file__).resolve().parent.parent
PIP = {'torchvision': 'torch torchvision'}


def options_of(arguments):
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('model', nargs='?', metavar='MODEL',
                        help='MODULE:CALLABLE, torchvision:NAME, timm:NAME, or transformers:NAME, a class or a '
                        'folder with a config.json')
    parser.add_argument('--input', action='append', default=[], metavar='[NAME=]SIZES[:DTYPE]',
                        help='sizes of what the model reads, such as 1x3x224x224 or '
                        '1x128:int64; repeat it for several; the first size is the batch, unless '
                        'one is named batch; NAME is that of an argument, else arguments are in '
                        'order; default: what torchvision or timm give')
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
                        help='the program that converts the calls; default: the newest in '
                        'build/*/tools, or that of the PATH')
    options = parser.parse_args(arguments)
    if (options.model is None) == (options.from_export is None):
        parser.error('give either MODEL or --from-export')
    if options.model and not re.fullmatch('[^:]+:[^:]+', options.model):
        parser.error(f'{options.model!r} is not MODULE:CALLABLE, torchvision:NAME, timm:NAME or '
                     'transformers:NAME')
    if options.from_export and (options.input or options.bind or options.export):
        parser.error('--from-export needs no --input, --bind or --export')
    if options.export and (options.output or options.title or options.no_softmax or options.allow_partial):
        parser.error('--export converts nothing, so it goes without -o, --title, --no-softmax and '
                     '--allow-partial')
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
        if not re.search(rf'(^|[=x]){name}(x|:|$)', '\n'.join(options.input), re.MULTILINE):
            parser.error(f'--bind: no size of --input is named {name}')
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
    """The files that the command line names to be read, and the program."""
    module, _, name = (options.model or '').partition(':')
    configuration = [name, os.path.join(name, 'config.json')] if module == 'transformers' else []
    return [file for file in (options.from_export, module, *configuration, layerbench_of(options)) if file]


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


def layerbench_of(options):
    """The program that converts the calls; None where none is built."""
    built = [file for file in ROOT.glob('build/*/tools/layerbench') if os.access(file, os.X_OK)]
    newest = max(built, key=lambda file: file.stat().st_mtime, default=None)
    return shutil.which(options.layerbench or newest or 'layerbench')


def no_program(options):
    """What to do where layerbench_of() is None."""
    if options.layerbench:
        return f'--layerbench: {options.layerbench}: no such program'
    return ('layerbench, which converts the calls, is neither in build/*/tools nor in the PATH: '
            'build it with tools/quickstart.sh, or name it with --layerbench')


def convert(program, calls, options):
    """Converts the traced calls, or those of --from-export, which may be stdin; the exit code."""
    file = options.from_export or '-'
    command = [program, 'import', 'torch', file]
    command += [f'--{key}={getattr(options, key)}' for key in ('name', 'title')
                if getattr(options, key)]
    command += [f'--{key.replace("_", "-")}' for key in ('no_softmax', 'allow_partial')
                if getattr(options, key)]
    try:
        done = subprocess.run(command, input=calls, capture_output=True, text=True, check=False,
                              encoding='utf-8')
    except OSError as error:
        print(f'{program} does not run: {error}', file=sys.stderr)
        return 1
    said = done.stderr.replace('layerbench: -: ', f'layerbench: {options.model or "-"}: ')
    print(said, end='', file=sys.stderr)
    if done.returncode:
        return done.returncode if done.returncode in (2, 3, 4) else 1
    return write(done.stdout, options.output, options)


EXPORT_ERRORS = (torch_export.Missing, torch_export.Usage, torch_export.CannotExport)


def report(error, model):
    """Prints one of EXPORT_ERRORS, and returns its exit code."""
    if isinstance(error, torch_export.Missing):
        name, reason = error.args
        print(f'{name} is missing: {reason}; pip install {PIP.get(name, name)}', file=sys.stderr)
        return 77
    if isinstance(error, torch_export.Usage):
        print(error, file=sys.stderr)
        return 2
    print(f'{model}: {error}', file=sys.stderr)
    return 3


def main(arguments=None):
    output_file.prepare_process()
    options = options_of(arguments)
    program = layerbench_of(options)
    if program is None and (options.layerbench or not options.export):
        print(no_program(options), file=sys.stderr)
        return 2
    try:
        if options.from_export:
            return convert(program, None, options)
        calls = compact(torch_export.export(options.model, options.input, options.bind,
                                            options.name))
        if options.export:
            return write(calls, options.export, options)
        return convert(program, calls, options)
    except EXPORT_ERRORS as error:
        return report(error, options.model)
    except KeyboardInterrupt:
        return 130


if __name__ == '__main__':
    sys.exit(main())
