# SPDX-FileCopyrightText: 2026 the layerbench authors
# SPDX-License-Identifier: Apache-2.0
"""Outputs of the tools in Python: they destroy no input, and nothing is lost where writing fails.

The rules are those of include/layerbench/base/output_file.hpp.
"""
import contextlib
import os
import pathlib
import re
import signal
import sys
import tempfile

# Endings of files that hold text or data, which outputs may replace.
ENDINGS = ('.json', '.html', '.htm', '.txt', '.text', '.md', '.markdown', '.csv', '.tsv', '.dat',
           '.log', '.out', '.partial')
# What ends a program: Ctrl-C, kill, and a terminal that is closed.
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
SHAPE_FILE = '{"name": "", "layers": []}'
RESULTS = '{"context": {}}'


class Refused(Exception):
    """The output would destroy something; the text says what."""


class PlainStream:
    """A stream for people that writes '?' for what a terminal may take for a command. A message that
    nobody can read is no reason to end."""

    def __init__(self, stream):
        self.stream = stream

    def write(self, text):
        with contextlib.suppress(OSError):
            self.stream.write(re.sub('[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]', '?', text))
        return len(text)

    def flush(self):
        with contextlib.suppress(OSError):
            self.stream.flush()

    def __getattr__(self, name):
        return getattr(self.stream, name)


def interrupt(*_):
    raise KeyboardInterrupt


def ignore_signals():
    """For the end of a program: what was measured is kept, and processes that it started end."""
    for number in SIGNALS:
        signal.signal(number, signal.SIG_IGN)


def prepare_process():
    """Lets SIGNALS raise KeyboardInterrupt, unless the process was started to ignore them, as by nohup.
    Opens stdin, stdout and stderr where the program was started without them: files that it opens
    would else get their numbers, and its messages."""
    for number in SIGNALS:
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, interrupt)
    for number, name in enumerate(('stdin', 'stdout', 'stderr')):
        try:
            os.fstat(number)
        except OSError:
            # What is written to stdout is lost, which must fail.
            os.set_inheritable(os.open(os.devnull, os.O_WRONLY if number == 2 else os.O_RDONLY), True)
        if getattr(sys, name) is None:
            setattr(sys, name, open(number, 'r' if number == 0 else 'w', closefd=False,
                                    encoding='utf-8', errors='replace'))
    if not isinstance(sys.stderr, PlainStream):
        sys.stderr = PlainStream(sys.stderr)


def kind_of(text):
    """What a text is, by its begin; empty for other text than the programs write."""
    begin = text.lstrip()
    if begin.startswith('name,iterations,'):
        return 'results'
    if begin.startswith('<!DOCTYPE html>'):
        return 'a page'
    if begin.startswith(('<?xml', '<net')):
        return "OpenVINO's graph" if re.match(r'(<\?xml[^>]*>\s*)?<net\b', begin) else 'XML'
    if begin.startswith('['):
        return 'a JSON list'
    if not begin.startswith('{'):
        return ''
    found = re.match(r'\{\s*"([^"/]+)"', begin)
    key = found[1] if found else ''
    if key == 'context':
        return 'results'
    if key in ('name', '$schema'):
        if '"rules"' in begin:
            return 'a fusion plan'
        if '"layers"' in begin:
            return 'a shape file'
    return f'JSON with "{key}"' if key else 'JSON'


def same(a, b):
    try:
        return os.path.samefile(a, b)
    except OSError:
        return False


def require(output, text, inputs=(), overwrite=False):
    """Throws Refused if the output cannot be written, or would replace one of the `inputs`, a module
    that was loaded, or something else than text of the kind of `text`."""
    if output in (None, '-'):
        return
    if not output or os.path.isdir(output):
        raise Refused(f'{output or "an empty name"}: is no file; name a file for the output')
    replaces = os.path.isfile(output)
    device = os.path.exists(output) and not replaces
    if not os.access(output if device else os.path.dirname(os.path.realpath(output)), os.W_OK):
        raise Refused(f'{output}: cannot be written; name another file for the output')
    if not replaces:
        return
    loaded = (getattr(module, '__file__', None) for module in list(sys.modules.values()))
    for file in (*inputs, *loaded):
        if file and same(file, output):
            raise Refused(f'{output}: is an input of this call; name another file for the output')
    if overwrite:
        return
    try:
        with open(output, encoding='utf-8', errors='replace') as file:
            old = file.read(1 << 16)
    except OSError as error:
        raise Refused(f'{output}: cannot be read: {error.strerror}; name another file for the output, or '
                      'add --overwrite') from error
    kind = kind_of(old)
    unknown = not kind and pathlib.Path(output).suffix not in ENDINGS
    if old.strip() and (unknown or (kind and kind != kind_of(text))):
        raise Refused(f'{output}: holds {kind or "something that layerbench did not write"}, which the '
                      'output would replace; name another file, or add --overwrite')


def replace(text, path):
    """Writes all of the text or nothing. Throws OSError."""
    if path.exists() and not path.is_file():
        path.write_text(text, encoding='utf-8')  # a device
        return
    path = pathlib.Path(os.path.realpath(path))  # what a link leads to
    with tempfile.NamedTemporaryFile('w', encoding='utf-8', dir=path.parent, delete=False,
                                     prefix='.layerbench.') as file:
        scratch = pathlib.Path(file.name)
        try:
            file.write(text)
            file.flush()
            umask = os.umask(0)
            os.umask(umask)
            os.chmod(scratch, 0o666 & ~umask)
            os.replace(scratch, path)
        except BaseException:
            scratch.unlink(missing_ok=True)
            raise


def keep_elsewhere(text, path):
    """Keeps what a file did not take in a new folder; its path, or None."""
    for folder in (tempfile.gettempdir(), '/dev/shm', os.path.expanduser('~')):
        try:
            kept = pathlib.Path(tempfile.mkdtemp(prefix='layerbench.', dir=folder)) / path.name
        except OSError:
            continue
        try:
            replace(text, kept)
            return kept
        except OSError:
            kept.parent.rmdir()
    return None


def print_out(text):
    """Writes to stdout; the exit code."""
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except OSError as error:
        print(f'stdout: {error.strerror}; the output is truncated', file=sys.stderr)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 1
    return 0


def write(text, output, inputs=(), overwrite=False):
    """Writes all of the text or nothing; the exit code. What the output does not take is kept elsewhere,
    or printed. require() finds a wrong command line before the work; here it is a failure."""
    if output in (None, '-'):
        return print_out(text)
    path = pathlib.Path(output)
    try:
        require(output, text, inputs, overwrite)
        replace(text, path)
        return 0
    except Refused as error:
        reason = str(error)
    except OSError as error:
        reason = f'{output}: writing failed: {error.strerror}'
    kept = keep_elsewhere(text, path)
    print(f'{reason}; ' + (f'it is kept in {kept}' if kept else 'no other folder took it'), file=sys.stderr)
    if not kept:
        print_out(text)
    return 1


def save(text, output, inputs=(), overwrite=False):
    """Replaces a file by a part of what write() will write to it. If this fails, write() will say so."""
    if output != '-' and (os.path.isfile(output) or not os.path.exists(output)):
        with contextlib.suppress(OSError, Refused):
            require(output, text, inputs, overwrite)
            replace(text, pathlib.Path(output))
