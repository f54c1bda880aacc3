# SPDX-FileCopyrightText: 2026 the layerbench authors
# SPDX-License-Identifier: Apache-2.0
"""Converts an export of torch_export.py to the layers of a shape file. Needs no torch.

Each function with @op converts the calls of some targets. It raises `Unknown` for a call that no op
of the project computes. Calls that only rename memory, such as views, become no layer.
"""
import json
import math
import re
from collections import Counter, namedtuple

from make_models import one_line, shortest_pads, shortest_pair

VERSION = 1
LARGEST = 2**31 - 1
MOST_CALLS = 200000


class BadExport(Exception):
    """The export is not what torch_export.py writes; the text says where."""


class Unknown(Exception):
    """No op computes a call; the text is the reason, empty where the target says it all."""


class Follows(Unknown):
    """A call reads what another unknown call computes."""


# --- Sizes -------------------------------------------------------------------------------------

class Size(namedtuple('Size', 'count power', defaults=(0,))):
    """count * batch ** power."""

    def __mul__(self, other):
        return Size(self.count * other.count, self.power + other.power)

    def json(self):
        factors = ['batch'] * self.power + ([self.count] if self.count != 1 else [])
        if not factors:
            return 1
        return factors[0] if len(factors) == 1 else factors

    def __str__(self):
        return 'x'.join(map(str, self.json())) if isinstance(self.json(), list) else str(
            self.json())


BATCH = Size(1, 1)
ONE = Size(1)


def product(sizes):
    return math.prod(sizes, start=ONE)


def plain(size):
    """A size that must not depend on the batch."""
    if size.power:
        raise Unknown('a size other than the first depends on the batch')
    return size.count


def dims_json(dims):
    return [size.json() for size in dims]


def dims_text(dims):
    return '(' + ', '.join(map(str, dims)) + ')'


def read_size(value, place):
    def count(one):
        if type(one) is not int or not 0 <= one <= LARGEST:
            raise BadExport(f'{place}: {json.dumps(one)[:40]} is no size')
        return one
    if value == 'batch':
        return BATCH
    if isinstance(value, list):
        if len(value) != 2 or value[0] != 'batch':
            raise BadExport(f'{place}: a size is a number, "batch" or ["batch", factor]')
        return Size(count(value[1]), 1)
    return Size(count(value))


def read_dims(value, place):
    if not isinstance(value, list) or len(value) > 16:
        raise BadExport(f'{place}: is no list of sizes')
    return tuple(read_size(size, f'{place}/{i}') for i, size in enumerate(value))


def are_parts(source, dims):
    """Whether a view splits or joins axes, at every batch: the rule of op/transpose.hpp."""
    a, b = ([size.count * 1000003 ** size.power for size in one] for one in (source, dims))
    left_a = left_b = 1
    while a or b or left_a * left_b > 1:
        while left_a == 1 and a:
            left_a = a.pop(0)
        while left_b == 1 and b:
            left_b = b.pop(0)
        part = min(left_a, left_b)
        if part < 1 or left_a % part or left_b % part or (part == 1 and left_a != left_b):
            return False
        left_a, left_b = left_a // part, left_b // part
    return True


def connects(source, dims):
    """Whether a layer may read what another wrote as a tensor of these extents: the rule of
    model/shape_file-inl.hpp."""
    if source == dims:
        return True
    flat, deep = sorted((source, dims), key=len)
    same_last = len(deep) == 3 and flat[-1:] == deep[-1:]
    return len(flat) == 2 and (flat[0] == deep[0] or same_last) and (
        product(flat) == product(deep))


def axes_within(dims, target):
    """For each axis of target its number in dims, None where it is one more of extent 1. None where
    dims have other axes."""
    places = []
    for size in target:
        found = len(places) - places.count(None)
        if found < len(dims) and dims[found] == size:
            places.append(found)
        elif size == ONE:
            places.append(None)
        else:
            return None
    return places if len(places) - places.count(None) == len(dims) else None


def reads_as(source, dims):
    """Whether a layer reads another's result of extents `source` as `dims` without a copy, once
    fit_axes() has added axes of extent 1, such as the height of a sequence."""
    return connects(source, dims) or axes_within(*sorted((source, dims), key=len)) is not None


def with_ones(places, values, one=ONE):
    """A list of a value per axis for the axes of axes_within()."""
    return [one if place is None else values[place] for place in places]


# --- Order of axes -----------------------------------------------------------------------------

# Part of an axis of a tensor. Keys sort as the parts lie in memory; None: it repeats what is there.
Atom = namedtuple('Atom', 'size key')
# A tensor whose axes are not in the order of memory: the atoms of each axis, and the call that
# changed the order.
Layout = namedtuple('Layout', 'axes call')
LAST_KEY = (1000,)


def divides(a, b):
    return a.count > 0 and b.count % a.count == 0 and a.power <= b.power


def quotient(a, b):
    return Size(a.count // b.count, a.power - b.power)


def axes_of(dims):
    """Axes in the order of memory."""
    return tuple((Atom(size, (i,)),) if size != ONE else () for i, size in enumerate(dims))


def flat(axes):
    return [atom for axis in axes for atom in axis]


def axes_seen_as(axes, dims):
    """The axes of a view of these extents, split or joined; None where there is none."""
    waiting, result = flat(axes)[::-1], []
    for left in dims:
        axis = []
        while left != ONE:
            if not waiting:
                return None
            atom = waiting.pop()
            if divides(atom.size, left):
                axis.append(atom)
                left = quotient(left, atom.size)
            elif divides(left, atom.size):
                inner, outer = ((None, None) if atom.key is None else
                                (atom.key + (1,), atom.key + (0,)))
                waiting.append(Atom(quotient(atom.size, left), inner))
                axis.append(Atom(left, outer))
                left = ONE
            else:
                return None
        result.append(tuple(axis))
    return None if waiting else tuple(result)


def in_memory(axes):
    """The atoms as they lie in memory."""
    atoms = flat(axes)
    if any(atom.key is None for atom in atoms):
        raise Unknown('of an expanded tensor')
    return sorted(atoms, key=lambda atom: atom.key)


def is_in_order(axes):
    atoms = flat(axes)
    return all(atom.key is not None for atom in atoms) and atoms == in_memory(axes)


def order_of(axes):
    """The sizes of the atoms in memory, and for each atom of the view its number there."""
    atoms = in_memory(axes)
    return tuple(atom.size for atom in atoms), [atoms.index(atom) for atom in flat(axes)]


# --- Values and calls --------------------------------------------------------------------------

class Value:
    """What a call reads or writes.

    kind: 'layer' wrote it; 'input' of the model; 'weight'; 'constant'; 'left_out': by an unknown
    call; 'state' of a recurrent call, which no layer can read. `dims` is its shape in torch,
    `written` that of the layer's result, or of the weight where torch expands it. `layout` says where the axes of `dims` lie in memory, if not in order.
    """

    def __init__(self, kind, dims, layer=None, written=None, sources=(), parts=(), name=None,
                 transposed=False, dtype='float32', layout=None):
        self.kind, self.dims, self.layer = kind, dims, layer
        self.written = dims if written is None else written
        self.sources, self.parts, self.name = sources, parts, name
        self.transposed, self.dtype = transposed, dtype
        self.layout = layout
        self.steps = None  # of recurrent calls: what they write, if its last step is their state
        self.steps_first = None  # of recurrent calls, batch first in torch: where the axes lie
        self.cut = None  # of calls that return slices: the tensor, the axis, where they begin

    def viewed(self, dims, transposed=None):
        layout = self.ordered_for(dims).layout
        if layout and dims != self.dims:
            axes = axes_seen_as(layout.axes, dims)
            if axes is None:
                raise Unknown('of a tensor in another shape')
            return self.laid_out(dims, axes, layout.call)
        view = Value(self.kind, dims, self.layer, self.written, self.sources, self.parts,
                     self.name, self.transposed if transposed is None else transposed, self.dtype,
                     layout)
        view.steps_first = self.steps_first if dims == self.dims else None
        return view

    def ordered_for(self, dims=()):
        """The tensor, with the order of its axes if a view of these extents depends on it. Most
        layers take the rows that a recurrent layer writes in any order."""
        if not self.steps_first or (dims[-1:] == self.dims[-1:] and len(dims) < 4):
            return self
        return self.laid_out(self.dims, self.steps_first.axes, self.steps_first.call)

    def laid_out(self, dims, axes, call):
        """The same memory with other axes."""
        return Value(self.kind, dims, self.layer, self.written, self.sources, (), self.name,
                     self.transposed, self.dtype,
                     None if is_in_order(axes) else Layout(axes, call))

    def axes(self):
        """Where the axes lie in memory."""
        if self.layout or self.steps_first:
            return (self.layout or self.steps_first).axes
        if self.kind == 'layer' and not are_parts(self.written, self.dims):
            raise Unknown('of a tensor in another shape')
        return axes_of(self.dims)

    def memory(self):
        """The tensor as it lies in memory."""
        return Value(self.kind, self.written, self.layer, self.written, self.sources, (), self.name,
                     dtype=self.dtype)

    def has_rows(self):
        """Whether the last axis lies in one piece, whatever the order of the others."""
        if not self.layout or not self.dims:
            return not self.layout
        atoms = flat(self.layout.axes)
        if any(atom.key is None for atom in atoms):
            return False
        last = list(self.layout.axes[-1])
        return bool(last) and in_memory(self.layout.axes)[-len(last):] == last

    @property
    def is_data(self):
        return self.kind in ('layer', 'input', 'left_out', 'state')


class Call:
    """One call of the export, with checked access to its arguments."""

    def __init__(self, line, place, values):
        if not isinstance(line, dict):
            raise BadExport(f'{place}: is no object')
        self.place, self.values = place, values
        self.name = self.text(line, 'name')
        self.target = self.text(line, 'target')
        self.module = self.text(line, 'module', '')
        self.at = self.text(line, 'at', '')
        self.dtype = self.text(line, 'dtype', 'float32')
        self.args = line.get('args')
        if not isinstance(self.args, dict):
            raise BadExport(f'{place}/args: is no object')
        self.outputs = None
        if 'outputs' in line:
            outputs = line['outputs']
            if not isinstance(outputs, list) or not outputs:
                raise BadExport(f'{place}/outputs: is no list of dims')
            self.outputs = [read_dims(dims, f'{place}/outputs/{i}')
                            for i, dims in enumerate(outputs)]
        self.dims = self.outputs[0] if self.outputs else read_dims(line.get('dims'),
                                                                   f'{place}/dims')
        self.flops = read_flops(line.get('flops', 0), f'{place}/flops')
        self.mask = self.text(line, 'mask', '')
        self.writes_view = line.get('writes_view', False) is True

    def text(self, line, key, default=None):
        value = line.get(key, default)
        if not isinstance(value, str) or (default is None and not value):
            raise BadExport(f'{self.place}/{key}: is no text')
        return value

    @property
    def base(self):
        """aten.relu_.default -> relu"""
        match = re.fullmatch(r'aten\.(\w+?)_?\.\w+', self.target)
        return match[1] if match else self.target

    def wrong(self, key, what):
        return BadExport(f'{self.place}/args/{key}: {what}')

    def references(self):
        """Names of the tensors that the call reads."""
        def search(value, depth=0):
            if isinstance(value, str) and value.startswith('%'):
                yield value[1:]
            elif isinstance(value, list) and depth < 8:
                for one in value:
                    yield from search(one, depth + 1)
        for key, value in self.args.items():
            if key != 'attn_mask':  # attention() looks at it
                yield from search(value)

    def value(self, reference, key):
        if not isinstance(reference, str) or not reference.startswith('%'):
            raise self.wrong(key, 'is no tensor')
        if reference[1:] not in self.values:
            raise self.wrong(key, f'no call before it is named {reference[1:40]!r}')
        return self.values[reference[1:]]

    def tensor(self, key):
        """The tensor of an argument; None where it has none."""
        reference = self.args.get(key)
        return None if reference is None else self.value(reference, key)

    def source(self, key):
        """A tensor that a layer reads. Unknown where it is not computed by the step."""
        found = self.args.get(key)
        if isinstance(found, (bool, int, float)):
            raise Unknown('with a number')
        value = self.value(found, key)
        if not value.is_data:
            raise Unknown('of a weight' if value.kind == 'weight' else 'of a constant')
        return value

    def weight(self, key):
        """A weight; None where the call has none."""
        value = self.tensor(key)
        if value is not None and value.kind == 'left_out':
            raise Follows()
        if value is not None and value.kind != 'weight':
            raise Unknown(f'{key} is not a weight')
        return value

    def filters(self, key):
        """Weights that the call cannot do without."""
        value = self.weight(key)
        if value is None:
            raise self.wrong(key, 'is missing')
        return value

    def tensors(self, key):
        listed = self.args.get(key)
        if not isinstance(listed, list):
            raise self.wrong(key, 'is no list of tensors')
        return [self.value(reference, key) for reference in listed]

    def integer(self, key, default=None):
        value = self.args.get(key, default)
        if type(value) is not int or abs(value) > 2**63:
            raise self.wrong(key, 'is no whole number')
        return value

    def number(self, key, default=None):
        value = self.args.get(key, default)
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise self.wrong(key, 'is no number')
        return value

    def flag(self, key, default=False):
        value = self.args.get(key, default)
        if not isinstance(value, bool):
            raise self.wrong(key, 'is neither true nor false')
        return value

    def pair(self, key, default, axes=2, least=0):
        """Sizes along height and width; with one axis the height has `least`."""
        value = self.args.get(key)
        if value is None or value == []:
            value = default
        values = value if isinstance(value, list) else [value]
        if len(values) == 1:
            values = values * axes
        if len(values) != axes or any(type(one) is not int or not least <= one <= LARGEST
                                      for one in values):
            raise self.wrong(key, f'is not {axes} sizes')
        return tuple(values) if axes == 2 else (least, values[0])


def read_flops(value, place):
    """FLOPs of one image, or of the call."""
    if isinstance(value, list) and len(value) == 2 and value[0] == 'batch':
        value = value[1]
    if type(value) is not int or not 0 <= value < 2**63:
        raise BadExport(f'{place}: is no number of FLOPs')
    return value


# --- Ops ---------------------------------------------------------------------------------------

OPS = {}
# A layer, the positions of what it reads (None: the model's input), the extents that it reads these
# as, and those of its result; of its name: module, word.
Layer = namedtuple('Layer', 'line inputs reads writes module word')


def op(*bases):
    """Of a function of (call, convert) that returns the value of the call."""
    def add(function):
        for base in bases:
            OPS[base] = function
        return function
    return add


def image(dims, axes=2):
    """n c h w of an image, or of a sequence, which is an image of height 1."""
    if len(dims) != axes + 2:
        raise Unknown(f'of a tensor with {len(dims)} axes')
    n, c, *rest = dims
    h, w = (1, rest[0]) if axes == 1 else rest
    return n, plain(c), *(one if isinstance(one, int) else plain(one) for one in (h, w))


def image_fields(n, c, h, w):
    return {'n': n.json(), 'c': c, 'h': h, 'w': w}


def two(a, b):
    return (Size(a), Size(b))


def convolution_fields(shape, stride, pad, dilation, groups, bias):
    for key, value, default in (('stride', shortest_pair(stride), 1),
                                ('pad', shortest_pads(pad), 0),
                                ('dilation', shortest_pair(dilation), 1), ('groups', groups, 1),
                                ('bias', bias, False)):
        if value != default:
            shape[key] = value
    return shape


def convolved(call):
    """The tensor and the filters of a convolution, the number of its axes, and the image's sizes."""
    x, w = call.source('input'), call.filters('weight')
    axes = len(w.dims) - 2
    if axes not in (1, 2) or w.transposed:
        raise Unknown(f'of {axes} axes')
    return x, w, axes, image(x.dims, axes)


def same_pads(call, size, dilation):
    if call.args.get('padding') == 'valid':
        return 0, 0, 0, 0
    if call.args.get('padding') != 'same':
        raise call.wrong('padding', 'is neither sizes nor "same" nor "valid"')
    rows, columns = (spread * (taps - 1) for taps, spread in zip(size, dilation))
    return rows // 2, rows - rows // 2, columns // 2, columns - columns // 2


@op('conv1d', 'conv2d', 'convolution')
def convolution(call, convert):
    if call.base == 'convolution' and call.flag('transposed'):
        return transposed_convolution(call, convert)
    x, w, axes, (n, c, height, width) = convolved(call)
    k, _, r, s = image(w.dims, axes)
    k = plain(k)
    stride = call.pair('stride', 1, axes, 1)
    dilation = call.pair('dilation', 1, axes, 1)
    groups = call.integer('groups', 1)
    if isinstance(call.args.get('padding'), str):
        pad = same_pads(call, (r, s), dilation)
    else:
        vertical, horizontal = call.pair('padding', 0, axes)
        pad = (vertical, vertical, horizontal, horizontal)
    p = (height + pad[0] + pad[1] - dilation[0] * (r - 1) - 1) // stride[0] + 1
    q = (width + pad[2] + pad[3] - dilation[1] * (s - 1) - 1) // stride[1] + 1
    if groups < 1 or c % groups or k % groups or plain(w.dims[1]) * groups != c:
        raise call.wrong('groups', 'does not fit the channels')
    shape = {**image_fields(n, c, height, width), 'k': k, 'r': r, 's': s}
    convolution_fields(shape, stride, pad, dilation, groups, call.weight('bias') is not None)
    return convert.layer(call, 'conv', [x], [(n, *two(c, height), Size(width))], shape,
                         (n, *two(k, p), Size(q)))


def cut_and_added(cut, more, step):
    """What a transposed convolution cuts off and adds at the end of an axis. The op adds less than
    its stride. torch allows more where the filter is dilated; what is added is then not cut off."""
    if more < step:
        return cut, more
    if more > cut:
        raise Unknown(f'whose output_padding {more} is neither below the stride {step} nor within '
                      f'the padding {cut}')
    return cut - more, 0


@op('conv_transpose1d', 'conv_transpose2d')
def transposed_convolution(call, convert):
    x, w, axes, (n, c, height, width) = convolved(call)
    _, per_group, r, s = image(w.dims, axes)
    groups = call.integer('groups', 1)
    k = per_group * groups
    stride = call.pair('stride', 1, axes, 1)
    dilation = call.pair('dilation', 1, axes, 1)
    vertical, horizontal = call.pair('padding', 0, axes)
    more = call.pair('output_padding', 0, axes)
    (bottom, more_rows), (right, more_columns) = (
        cut_and_added(*sizes) for sizes in zip((vertical, horizontal), more, stride))
    more = (more_rows, more_columns)
    p = (height - 1) * stride[0] + dilation[0] * (r - 1) + 1 - vertical - bottom + more[0]
    q = (width - 1) * stride[1] + dilation[1] * (s - 1) + 1 - horizontal - right + more[1]
    shape = {**image_fields(n, c, height, width), 'k': k, 'r': r, 's': s}
    convolution_fields(shape, stride, (vertical, bottom, horizontal, right), dilation, groups,
                       call.weight('bias') is not None)
    if any(more):
        shape['output_pad'] = shortest_pair(more)
    return convert.layer(call, 'deconv', [x], [(n, *two(c, height), Size(width))], shape,
                         (n, *two(k, p), Size(q)))


def matrix_product(call, convert, x, weight, bias):
    """x times a weight that is stored as [k, n], or transposed as [n, k]."""
    if len(weight.dims) != 2 or len(x.dims) < 2:
        raise Unknown('of other than a matrix and weights')
    transposed = weight.transposed
    k, n = weight.dims[::-1] if transposed == 'linear' else weight.dims
    if x.dims[-1] != k:
        raise call.wrong('weight', 'does not fit the tensor')
    m = product(x.dims[:-1])
    shape = {'m': m.json(), 'n': plain(n), 'k': plain(k)}
    if transposed:
        shape['b_transposed'] = True
    if bias:
        shape['bias'] = True
    if x.layout and x.has_rows():
        y = convert.layer(call, 'gemm', [x.memory()], [(m, k)], shape, (m, n))
        return y.laid_out(call.dims, (*x.layout.axes[:-1], (Atom(n, LAST_KEY),)), x.layout.call)
    return convert.layer(call, 'gemm', [x], [(m, k)], shape, (m, n))


def batched_product(call, convert, x, y):
    """Products of the last two axes of two activations."""
    axes = len(x.dims)
    if axes < 3 or len(y.dims) != axes or x.dims[:-2] != y.dims[:-2]:
        raise Unknown('of two activations whose batches differ')
    if x.dims[-1] != y.dims[-2]:
        raise call.wrong('other', 'does not fit the tensor')
    batch, (m, k), n = product(x.dims[:-2]), map(plain, x.dims[-2:]), plain(y.dims[-1])
    if batch.count == 1:
        raise Unknown('of two activations, one per image')  # a gemm of batch 1 has weights
    shape = {'batch': batch.json(), 'm': m, 'n': n, 'k': k}
    operands = []
    for value, flag in ((x, 'a_transposed'), (y, 'b_transposed')):
        rows, columns = value.axes()[-2:]
        if value.layout and rows and columns and in_memory((rows, columns))[-1] == rows[-1]:
            order = [*range(axes - 2), axes - 1, axes - 2]
            value = permuted(value, order, value.layout.call)
            shape[flag] = True
        operands.append(value)
    extents = [(batch, *value.dims[-2:]) for value in operands]
    return convert.layer(call, 'gemm', operands, extents, shape, (batch, *two(m, n)))


@op('bmm')
def batched_matmul(call, convert):
    return batched_product(call, convert, call.source('self'), call.source('mat2'))


@op('linear')
def linear(call, convert):
    weight = call.filters('weight')
    if weight.transposed:
        weight = weight.viewed(weight.dims[::-1], False)
    else:
        weight = weight.viewed(weight.dims, 'linear')
    return matrix_product(call, convert, call.source('input'), weight,
                          call.weight('bias') is not None)


@op('mm', 'matmul', 'addmm')
def matmul(call, convert):
    names = {'mm': ('self', 'mat2'), 'matmul': ('self', 'other'), 'addmm': ('mat1', 'mat2')}
    first, second = names[call.base]
    x, weight = call.source(first), call.tensor(second)
    if call.base == 'matmul' and weight is not None and weight.is_data:
        return batched_product(call, convert, x, weight)
    if weight is None or weight.kind != 'weight':
        raise Unknown('of two activations')
    bias = call.base == 'addmm'
    if bias:
        added = call.filters('self')
        if added.dims != (weight.dims[-1],) or call.number('beta', 1) != 1 or (
                call.number('alpha', 1) != 1):
            raise Unknown('with other than a bias')
    return matrix_product(call, convert, x, weight, bias)


@op('embedding')
def embedding(call, convert):
    table, indices = call.filters('weight'), call.tensor('indices')
    if len(table.dims) != 2 or indices is None:
        raise call.wrong('weight', 'is no table')
    rows, columns = map(plain, table.dims)
    if rows > 2**24:
        raise Unknown('with more than 2^24 rows')
    if indices.kind == 'constant':
        indices = Value('input', indices.dims)
    n = product(indices.dims)
    return convert.layer(call, 'embedding', [indices], [indices.dims],
                         {'n': n.json(), 'rows': rows, 'columns': columns}, (n, Size(columns)))


def one_pool(call, convert, x, kind, size, stride, pad=(0, 0), ceil=False, count_padding=True):
    axes = len(x.dims) - 2
    n, c, h, w = image(x.dims, axes)

    def outputs(extent, before, window, step):
        taps = extent + 2 * before - window
        count = (-(-taps // step) if ceil else taps // step) + 1
        return count - 1 if ceil and (count - 1) * step >= extent + before else count

    p, q = (outputs(*one) for one in zip((h, w), pad, size, stride))
    shape = {'kind': kind, **image_fields(n, c, h, w), 'r': size[0], 's': size[1],
             'stride': shortest_pair(stride)}
    if any(pad):
        shape['pad'] = shortest_pair(pad)
    floors = tuple((extent + 2 * before - window) // step + 1
                   for extent, before, window, step in zip((h, w), pad, size, stride))
    if (p, q) != floors:
        shape['ceil'] = True
    if not count_padding and any(pad):
        shape['count_padding'] = False
    return convert.layer(call, 'pool', [x], [(n, *two(c, h), Size(w))], shape,
                         (n, *two(c, p), Size(q)))


@op('max_pool1d', 'max_pool2d', 'max_pool2d_with_indices', 'avg_pool1d', 'avg_pool2d')
def pool(call, convert):
    x = call.source('self')
    axes = 1 if '1d' in call.base else 2
    if len(x.dims) != axes + 2:
        raise Unknown('without a batch')
    size = call.pair('kernel_size', None, axes, 1)
    stride = call.pair('stride', list(size[-axes:]), axes, 1)
    pad = call.pair('padding', 0, axes)
    kind = 'average' if call.base.startswith('avg') else 'max'
    if call.pair('dilation', 1, axes, 1) != (1, 1):
        raise Unknown('with a dilation')
    if call.args.get('divisor_override') is not None:
        raise Unknown('with a divisor')
    return one_pool(call, convert, x, kind, size, stride, pad, call.flag('ceil_mode'),
                    call.flag('count_include_pad', True))


def fixed_window(extent, outputs):
    """Window and stride of an adaptive pool along one axis; Unknown where windows differ."""
    if not 1 <= outputs <= extent:
        raise Unknown(f'from {extent} to {outputs}')
    if extent % outputs == 0:
        return extent // outputs, 1 if outputs == 1 else extent // outputs
    if outputs > 4096:
        raise Unknown(f'to {outputs}')
    starts = [i * extent // outputs for i in range(outputs)]
    ends = [-(-(i + 1) * extent // outputs) for i in range(outputs)]
    sizes = {end - start for start, end in zip(starts, ends)}
    steps = {after - before for before, after in zip(starts, starts[1:])} or {1}
    if len(sizes) > 1 or len(steps) > 1:
        raise Unknown(f'from {extent} to {outputs}, with windows that differ')
    return sizes.pop(), steps.pop()


@op('adaptive_avg_pool1d', 'adaptive_avg_pool2d', 'adaptive_max_pool1d', 'adaptive_max_pool2d')
def adaptive_pool(call, convert):
    x = call.source('self')
    axes = 1 if '1d' in call.base else 2
    _, _, h, w = image(x.dims, axes)
    if len(call.dims) != axes + 2:
        raise call.wrong('output_size', 'does not fit the result')
    _, _, p, q = image(call.dims, axes)
    if (p, q) == (h, w):
        return x.viewed(call.dims)
    (r, v), (s, u) = fixed_window(h, p), fixed_window(w, q)
    kind = 'max' if 'max' in call.base else 'average'
    return one_pool(call, convert, x, kind, (r, s), (v, u))


@op('mean', 'amax', 'max')
def reduction(call, convert):
    """A pool over rows or columns, or over all but the batch and one axis, the channels."""
    x = call.source('self')
    listed = call.args.get('dim')
    listed = listed if isinstance(listed, list) else [listed]
    axes = {axis % len(x.dims) for axis in listed if type(axis) is int} if x.dims else set()
    kind = 'average' if call.base == 'mean' else 'max'
    if len(x.dims) == 4 and axes in ({2}, {3}):
        sizes = (plain(x.dims[2]), 1) if axes == {2} else (1, plain(x.dims[3]))
        return one_pool(call, convert, x, kind, sizes, (1, 1))
    if len(x.dims) not in (3, 4) or len(axes) != len(x.dims) - 2 or 0 in axes:
        raise Unknown('over other than height and width')
    x = permuted(x, [axis for axis in range(len(x.dims)) if axis not in axes] + sorted(axes), call)
    _, _, h, w = image(x.dims, len(x.dims) - 2)
    return one_pool(call, convert, x, kind, (h, w), (1, 1))


def epsilon_field(epsilon):
    if not 0 < epsilon < 1:
        raise Unknown(f'with eps {epsilon}')
    return {'epsilon': epsilon} if epsilon != 1e-5 else {}


@op('batch_norm', '_native_batch_norm_legit_no_training')
def batchnorm(call, convert):
    x = call.source('input')
    if call.base == 'batch_norm' and (call.flag('training') or
                                      call.args.get('running_mean') is None):
        raise Unknown('with statistics of the batch')
    dims = x.dims + (ONE, ONE) if len(x.dims) == 2 else x.dims
    n, c, h, w = image(dims, len(dims) - 2)
    shape = image_fields(n, c, h, w)
    shape.update(epsilon_field(call.number('eps', 1e-5)))
    if call.weight('weight') is None:
        shape['scale'] = False
    if call.weight('bias') is None:
        shape['shift'] = False
    written = (n, *two(c, h), Size(w))
    return convert.layer(call, 'batchnorm', [x], [written], shape, written)


# What torch takes for the epsilon of an RMS norm that has none.
MACHINE_EPSILON = {'float32': 1.1920929e-07, 'float64': 2.220446049250313e-16,
                   'float16': 0.0009765625, 'bfloat16': 0.0078125}


@op('layer_norm', 'rms_norm')
def layernorm(call, convert):
    x = call.source('input')
    shape = call.args.get('normalized_shape')
    axes = len(shape) if isinstance(shape, list) else 0
    if not 0 < axes < len(x.dims) or list(map(plain, x.dims[-axes:])) != shape:
        raise call.wrong('normalized_shape', 'is not the last axes')
    columns = product(x.dims[-axes:])
    dims = convert.element_dims(x)
    if axes > 1 or x.layout or dims[-1] != columns or (x.kind != 'layer' and len(dims) > 3):
        dims = (product(x.dims[:-axes]), columns)
    kind = call.base.removesuffix('_norm')
    fields = {'dims': dims_json(dims), **({} if kind == 'layer' else {'kind': kind})}
    epsilon = call.args.get('eps')
    if epsilon is not None:
        epsilon = call.number('eps')
    else:
        epsilon = 1e-5 if kind == 'layer' else MACHINE_EPSILON.get(call.dtype, 1e-5)
    fields.update(epsilon_field(epsilon))
    if call.weight('weight') is None:
        fields['scale'] = False
    if kind == 'layer' and call.weight('bias') is None:
        fields['bias'] = False
    if x.layout and axes == 1 and x.has_rows():
        y = convert.layer(call, 'layernorm', [x.memory()], [dims], fields, dims)
        return y.laid_out(call.dims, x.layout.axes, x.layout.call)
    return convert.layer(call, 'layernorm', [x], [dims], fields, dims)


def reads_weights(call):
    """Whether a mask is learned."""
    waiting, seen = [str(call.args['attn_mask'])[1:]], set()
    while waiting:
        name = waiting.pop()
        if name in seen:
            continue
        seen.add(name)
        if name in call.calls:
            waiting += call.calls[name].references()
        elif name in call.values and call.values[name].kind == 'weight':
            return True
    return False


@op('scaled_dot_product_attention')
def attention(call, convert):
    """torch's tensors have the order sequence, head, token; the op's have the heads of a token one
    behind the other, as projections write them."""
    operands = [call.source(key) for key in ('query', 'key', 'value')]
    axes = len(operands[0].dims)
    if axes < 3 or any(len(x.dims) != axes for x in operands):
        raise Unknown(f'of tensors with {axes} axes')
    if axes == 3:
        operands = [convert.seen_as(x, (x.dims[0], ONE, *x.dims[1:])) for x in operands]
        axes = 4
    query, key, value = (x.dims for x in operands)
    n, heads, (q, d) = product(query[:-3]), plain(query[-3]), map(plain, query[-2:])
    k, kv_heads = plain(key[-2]), plain(key[-3])
    if value[-1] != key[-1]:
        raise Unknown('with values of another width')
    if value != key or plain(key[-1]) != d or product(key[:-3]) != n:
        raise call.wrong('key', 'does not fit the query')
    if kv_heads != heads and not call.flag('enable_gqa'):
        raise call.wrong('key', 'has another number of heads')
    causal = call.flag('is_causal')
    if call.args.get('attn_mask') is not None:
        if reads_weights(call):
            raise Unknown('with a learned mask')
        causal = call.mask == 'causal'
        if call.mask not in ('causal', 'all'):
            convert.note('a mask of scaled_dot_product_attention is left out')
    elif causal and q != k:
        raise Unknown('causal, with other numbers of queries and keys')
    repeats = [repeated_heads(x) for x in operands]
    if repeats[0] > 1 or repeats[1] != repeats[2]:
        raise Unknown('of an expanded tensor')
    kv_heads //= repeats[1]
    if heads % kv_heads or (causal and q > k):
        raise call.wrong('key', 'has heads or tokens that do not fit the query')
    shape = {'n': n.json(), 'heads': heads, 'q': q, 'k': k, 'd': d}
    shape.update({'kv_heads': kv_heads} if kv_heads != heads else {})
    shape.update({'causal': True} if causal else {})
    extents = [(n, *two(tokens, wide * d))
               for tokens, wide in ((q, heads), (k, kv_heads), (k, kv_heads))]
    order = [*range(axes - 3), axes - 2, axes - 3, axes - 1]
    operands = [convert.seen_as(permuted(without_repeats(x), order, call), dims)
                for x, dims in zip(operands, extents)]
    y = convert.layer(call, 'attention', operands, extents, shape, extents[0])
    y = y.viewed((*query[:-3], *two(q, heads), Size(d)))
    y = permuted(y, order, call)
    return y.viewed(call.dims)


def repeated_heads(x):
    """How often each head is expanded, where neighbours are; 1 where none is."""
    if not x.layout:
        return 1
    atoms = x.layout.axes[-3]
    others = [atom for atom in flat(x.layout.axes) if atom.key is None]
    repeats = [atom for atom in atoms if atom.key is None]
    if others != repeats or list(atoms[len(atoms) - len(repeats):]) != repeats:
        raise Unknown('of an expanded tensor')
    return plain(product(atom.size for atom in repeats))


def without_repeats(x):
    if not x.layout:
        return x
    axes = tuple(tuple(atom for atom in axis if atom.key is not None) for axis in x.layout.axes)
    dims = tuple(product(atom.size for atom in axis) for axis in axes)
    return x.laid_out(dims, axes, x.layout.call)


# Kind of the activation, and conditions: argument, default, value. What differs is refused, or noted
# where the time is the same.
ACTIVATIONS = {
    'relu': ('relu', ()), 'relu6': ('relu6', ()), 'sigmoid': ('sigmoid', ()),
    'tanh': ('tanh', ()), 'silu': ('swish', ()), 'hardswish': ('hardswish', ()),
    'hardsigmoid': ('hardsigmoid', ()),
    'gelu': ('gelu', (('approximate', 'none', 'none', 'noted'),)),
    'hardtanh': ('relu6', (('min_val', -1, 0, 'refused'), ('max_val', 1, 6, 'refused'))),
    'clamp': ('relu6', (('min', None, 0, 'refused'), ('max', None, 6, 'refused'))),
    'clamp_min': ('relu', (('min', None, 0, 'refused'),)),
    'leaky_relu': ('leaky_relu', (('negative_slope', 0.01, 0.01, 'noted'),)),
    'elu': ('elu', (('alpha', 1, 1, 'noted'), ('scale', 1, 1, 'refused'),
                    ('input_scale', 1, 1, 'refused')))}


@op(*ACTIVATIONS)
def activation(call, convert):
    kind, conditions = ACTIVATIONS[call.base]
    for key, default, value, otherwise in conditions:
        found = call.args.get(key, default)
        if found != value and otherwise == 'refused':
            raise Unknown(f'with {key} {found}')
        if found != value:
            convert.note(f'{call.base} with {key} {found} is timed as with {value}')
    return convert.elementwise(call, 'activation', call.source('self'), {'kind': kind}, kind)


@op('glu')
def gated(call, convert):
    """Half of the channels times the sigmoid of the others."""
    x = call.source('self')
    axis = axis_of(call, call.args.get('dim', -1), len(x.dims), 'dim')
    half = plain(call.dims[axis]) if len(call.dims) == len(x.dims) else 0
    first, second = (slice_of(call, convert, x, axis, begin) for begin in (0, half))
    gate = convert.elementwise(call, 'activation', second, {'kind': 'sigmoid'}, 'sigmoid')
    dims = convert.element_dims(first, gate)
    return convert.layer(call, 'multiply', [first, gate], [dims, dims], {'dims': dims_json(dims)},
                         dims)


@op('dropout', 'feature_dropout')
def dropout(call, convert):
    x = call.source('input' if 'input' in call.args else 'self')
    rate = call.number('p')
    if not 0 <= rate < 1:
        raise Unknown(f'with a rate of {rate}')
    if rate == 0:
        return x.viewed(call.dims)
    if call.base == 'feature_dropout':
        convert.note('dropout of whole channels is timed as dropout of elements')
    return convert.elementwise(call, 'dropout', x, {} if rate == 0.5 else {'rate': rate})


@op('softmax', '_softmax', 'log_softmax', '_log_softmax')
def softmax(call, convert):
    x = call.source('self')
    axis = call.integer('dim')
    axis = axis + len(x.dims) if axis < 0 else axis
    if not 0 <= axis < len(x.dims):
        raise call.wrong('dim', 'is no axis')
    if 'log' in call.base:
        convert.note('log_softmax is timed as softmax')
    dims = convert.element_dims(x)
    # A matrix, where a layer wrote one: the loss of a training step replaces its softmax.
    if axis == len(x.dims) - 1 and not x.layout and (
            len(x.written) == 2 and x.written[-1] == x.dims[-1]):
        dims = x.written
    if dims != x.dims:
        if axis != len(x.dims) - 1 or dims[-1] != x.dims[-1]:
            raise Unknown('over an axis that a view made')
        axis = len(dims) - 1
    if axis < 1:
        raise Unknown('over the batch')
    shape = {'dims': dims_json(dims)}
    if axis != 1:
        shape['axis'] = axis
    return convert.layer(call, 'softmax', [x], [dims], shape, dims)


def repeated_rows(x, y):
    """The extents of x of which y has the first one once; None where y is not repeated so."""
    sizes = list(y.dims)
    if y.kind == 'weight' and product(y.dims) != product(y.written):
        while sizes and product(sizes) != product(y.written):
            sizes.pop(0)
    while sizes and sizes[0] == ONE:
        sizes.pop(0)
    rows = len(x.dims) - len(sizes)
    if not sizes or rows < 1 or list(x.dims[rows:]) != sizes or any(size.power for size in sizes):
        return None
    return (product(x.dims[:rows]), *sizes)


def in_one_order(*values):
    """Tensors that a layer combines. Rows in any order will not do beside axes in another one."""
    alike = all(x.dims == values[0].dims and not x.layout for x in values)
    return values if alike else tuple(x.ordered_for() for x in values)


def source_and_weight(call):
    """Both sources of a call, None; or the source beside a weight, None, the weight."""
    for key, other in (('self', 'other'), ('other', 'self')):
        found = call.args.get(key)
        weight = None if isinstance(found, (bool, int, float)) else call.value(found, key)
        if weight is not None and weight.kind == 'weight':
            return call.source(other), None, weight
    return call.source('self'), call.source('other'), None


def add_learned(call, convert, x, weight):
    """Adds a parameter, such as the embedding of positions."""
    dims, fields = x.dims, {'learned': True}
    if weight.dims != x.dims or product(weight.written) != product(x.dims):
        dims, fields = repeated_rows(x, weight), {'broadcast': True, 'learned': True}
    if dims is None and convert.takes_bias(x, weight, call):
        convert.layers[x.layer].line['shape']['bias'] = True
        convert.used.setdefault(weight.name, set()).add(call.name)
        convert.note('a parameter that is added per channel is the bias of the layer before')
        return x.viewed(call.dims)
    if dims is None:
        raise Unknown('of a weight that is repeated within an image')
    return convert.layer(call, 'add', [x], [dims], {'dims': dims_json(dims), **fields}, dims)


@op('add')
def add(call, convert):
    turned = convert.whole(is_rotary, call)
    if turned:
        return rotary(call, convert, turned)
    if call.number('alpha', 1) != 1:
        raise Unknown('with a factor')
    if call.args.get('other') == 0:
        convert.note('the addition of 0, with which sum() begins, is left out')
        return call.source('self').viewed(call.dims)
    x, y, weight = source_and_weight(call)
    if weight:
        return add_learned(call, convert, x, weight)
    if x.dims != y.dims:
        if x.dims != call.dims:
            x, y = y, x
        dims = repeated_rows(x, y)
        if dims is None:
            raise Unknown('of tensors with different sizes')
        return convert.layer(call, 'add', [x, y], [dims, (ONE, *dims[1:])],
                             {'dims': dims_json(dims), 'broadcast': True}, dims)
    x, y = in_one_order(x, y)
    dims = x.written
    if x.layout and y.layout and reads_as(y.written, dims) and (
            order_of(x.layout.axes) == order_of(y.layout.axes)):
        z = convert.layer(call, 'add', [x.memory(), y.memory()], [dims, dims],
                          {'dims': dims_json(dims)}, dims)
        return z.laid_out(call.dims, x.layout.axes, x.layout.call)
    dims = convert.element_dims(x, y)
    return convert.layer(call, 'add', [x, y], [dims, dims], {'dims': dims_json(dims)}, dims)


def multiply_learned(call, convert, x, weight):
    """Multiplies by a parameter, such as the scale of a layer."""
    if x.dims != call.dims:
        raise Unknown('of a weight that is larger')
    factors = (ONE,) * (len(x.dims) - len(weight.dims)) + weight.dims
    repeats = {atom: factor == ONE for axis, factor in zip(x.axes(), factors) for atom in axis}
    dims = x.written if x.layout else convert.element_dims(x)
    axes = axes_seen_as(tuple((atom,) for atom in in_memory(x.axes())), dims)
    kinds = [{repeats.get(atom) for atom in axis} for axis in axes or ()]
    if axes is None or any(len(kind) > 1 or None in kind for kind in kinds):
        raise Unknown('of a weight in another shape')
    factors = [size if kind == {False} else ONE for kind, size in zip(kinds, dims)]
    shape = {'dims': dims_json(dims), 'dims1': dims_json(factors), 'learned': True}
    y = convert.layer(call, 'multiply', [x.memory() if x.layout else x], [dims], shape, dims)
    return y.laid_out(call.dims, x.layout.axes, x.layout.call) if x.layout else y


@op('mul')
def multiply(call, convert):
    gelu = is_tanh_gelu(call)
    if gelu:
        convert.note('the eight calls of gelu with tanh are timed as one gelu without')
        x = gelu['half'].source('self')
        return convert.elementwise(call, 'activation', x, {'kind': 'gelu'}, 'gelu')
    norm = convert.whole(is_rms_norm, call)
    if norm:
        return rms_norm(call, convert, norm)
    x, y, weight = source_and_weight(call)
    if weight:
        return multiply_learned(call, convert, x, weight)
    x, y = (without_repeats(value) if value.layout else value for value in (x, y))
    if x.dims != call.dims:
        x, y = y, x
    if x.dims != call.dims:
        raise Unknown('of two tensors that are both repeated')
    x, y = in_one_order(x, y)
    factors = (ONE,) * (len(x.dims) - len(y.dims)) + y.dims
    dims = x.dims
    if factors == dims:
        dims = factors = convert.element_dims(x, y)
    shape = {'dims': dims_json(dims)}
    if factors != dims:
        shape['dims1'] = dims_json(factors)
    return convert.layer(call, 'multiply', [x, y], [dims, factors], shape, dims)


def learned_rows(call, convert, weight):
    """A parameter that each image gets, such as the class token, as a layer: the row of a table."""
    rows, columns = weight.dims[0], product(weight.written)
    if rows.power != 1 or product(weight.dims) != rows * columns:
        raise Unknown('of a weight')
    shape = {'n': rows.json(), 'rows': 1, 'columns': plain(columns)}
    convert.note(f'the parameter {weight.name} that each image gets is an embedding of one row')
    convert.used.setdefault(weight.name, set()).add(call.name)
    return convert.layer(call, 'embedding', [Value('input', (rows,))], [(rows,)], shape,
                         (rows, columns), word=weight.name.rpartition('.')[2]).viewed(weight.dims)


@op('cat', 'concat')
def concat(call, convert):
    parts = [part for part in call.tensors('tensors') if part.dims != (Size(0),)]
    axis = call.integer('dim', 0)
    axis = axis + len(call.dims) if axis < 0 else axis
    if len(parts) == 1:
        return parts[0].viewed(call.dims)
    if any(part.kind == 'constant' for part in parts):
        raise Unknown('of a constant')
    if axis == 0:
        raise Unknown('along the batch')
    if len(parts) > 64:
        raise Unknown('of more than 64 tensors')
    if any(len(part.dims) != len(call.dims) for part in parts) or not 0 < axis < len(call.dims):
        raise call.wrong('dim', 'does not fit the tensors')
    parts = [learned_rows(call, convert, part) if part.kind == 'weight' else part for part in parts]
    parts = in_one_order(*parts)
    shape = {'dims': dims_json(call.dims), 'axis': axis,
             'sizes': [plain(part.dims[axis]) for part in parts]}
    if sum(shape['sizes']) != plain(call.dims[axis]):
        raise call.wrong('tensors', 'do not make up the result')
    return convert.layer(call, 'concat', parts, [part.dims for part in parts], shape, call.dims)


@op('pad', 'constant_pad_nd')
def pad_zeros(call, convert):
    x = call.source('self')
    if call.args.get('mode', 'constant') != 'constant' or call.args.get('value') not in (None, 0):
        raise Unknown(f'with other than zeros ({call.args.get("mode", "constant")})')
    listed = call.args.get('pad')
    if not isinstance(listed, list) or len(listed) % 2 or len(listed) > 2 * len(x.dims) or any(
            type(one) is not int for one in listed):
        raise call.wrong('pad', 'is no list of pairs')
    if not any(listed):
        return x.viewed(call.dims)
    if min(listed) < 0:
        raise Unknown('that cuts off')
    missing = [0] * (len(x.dims) - len(listed) // 2)
    before, after = missing + listed[-2::-2], missing + listed[::-2]
    if [size.count + one + other for size, one, other in zip(x.dims, before, after)] != [
            size.count for size in call.dims]:
        raise call.wrong('pad', 'does not fit the result')
    shape = {'dims': dims_json(x.dims), 'before': before, 'after': after}
    return convert.layer(call, 'pad', [x], [x.dims], shape, call.dims)


@op('lstm', 'gru', 'rnn_tanh')
def recurrent(call, convert):
    x = call.source('input')
    if not call.flag('has_biases'):
        raise Unknown('without biases')
    states = call.tensors('hx') if isinstance(call.args.get('hx'), list) else [call.tensor('hx')]
    if any(state is None or state.kind != 'constant' for state in states):
        raise Unknown('with an initial state')
    ways = 2 if call.flag('bidirectional') else 1
    depth = call.integer('num_layers')
    weights = call.tensors('params')
    if depth < 1 or len(weights) != 4 * depth * ways or len(x.dims) != 3:
        raise Unknown('with projections' if len(weights) == 5 * depth * ways else 'of packed data')
    if any(weight.kind != 'weight' or len(weight.dims) < 1 for weight in weights):
        raise Unknown('its weights are computed')
    hidden = plain(weights[1].dims[-1])
    steps, batch = x.dims[:2]
    if call.flag('batch_first'):
        steps, batch = batch, steps
    if call.number('dropout', 0) and depth > 1:
        convert.note(f'dropout between the layers of {call.base} is left out')
    inputs = plain(x.dims[2])
    if call.flag('batch_first') and (x.layout or x.kind == 'layer' and not connects(
            x.written, (steps, batch, x.dims[2]))):
        x = permuted(x, [1, 0, 2], call)
    parts = [(inputs, 1), (ways * hidden, depth - 1)]
    if depth == 1 or inputs == ways * hidden:
        parts = [(inputs, depth)]
    for inputs, layers in parts:
        shape = {'kind': {'rnn_tanh': 'vanilla'}.get(call.base, call.base), 'batch': batch.json(),
                 'steps': plain(steps), 'inputs': inputs, 'hidden': hidden}
        shape.update({'layers': layers} if layers > 1 else {})
        shape.update({'bidirectional': True} if ways == 2 else {}, biases=2)
        x = convert.layer(call, 'rnn', [x], [(steps, batch, Size(inputs))], shape,
                          (steps, batch, Size(ways * hidden)), word=call.base)
    whole = x.viewed(call.dims)
    if call.flag('batch_first'):
        steps_first = axes_of(x.written)
        whole.steps_first = Layout((steps_first[1], steps_first[0], *steps_first[2:]), call)
    x.parts = (whole, *(Value('state', dims) for dims in call.outputs[1:]))
    if depth == ways == 1:
        x.steps = x.memory()
    return x


# Ops whose layers may have more axes of extent 1.
WITH_ANY_AXES = {'activation', 'add', 'concat', 'dropout', 'layernorm', 'multiply', 'pad', 'slice',
                 'softmax'}


def with_more_axes(layer, dims, target, side):
    """The layer with the axes of target in place of those of dims, which it reads or writes; None
    where its op does not allow that."""
    places = axes_within(dims, target)
    name, shape = layer.line['op'], dict(layer.line['shape'])
    if places is None or len(target) == len(dims):
        return None
    if name == 'transpose':
        if side == 'reads':
            shape = {'dims': dims_json(target), 'view': shape.get('view', shape['dims']), **{
                key: shape[key] for key in ('order', 'reshape') if key in shape}}
            return layer._replace(line={'op': name, 'shape': shape}, reads=[target])
        shape['reshape'] = dims_json(target)
        return layer._replace(line={'op': name, 'shape': shape}, writes=target)
    if name not in WITH_ANY_AXES or places[0] is None or (
            name == 'layernorm' and places[-1] is None):
        return None
    for key, one in (('dims', 1), ('dims1', 1), ('before', 0), ('after', 0)):
        if key in shape:
            shape[key] = with_ones(places, shape[key], one)
    if name in ('concat', 'slice', 'softmax'):
        axis = places.index(shape.get('axis', 1))
        shape.update({'axis': axis} if axis != 1 or 'axis' in shape else {})
    return layer._replace(line={'op': name, 'shape': shape},
                          reads=[tuple(with_ones(places, one)) for one in layer.reads],
                          writes=tuple(with_ones(places, layer.writes)))


# Calls that only name memory in another way.
VIEWS = {'view', 'reshape', '_unsafe_view', 'flatten', 'unflatten', 'squeeze', 'unsqueeze',
         'contiguous', 'clone', 'detach', 'alias', 'lift_fresh_copy', 'view_as', 'reshape_as',
         'to', '_to_copy', 'type_as', 'identity', 'ravel', 'expand', 'expand_as', 'alpha_dropout',
         'feature_alpha_dropout', 'positive'}
# Data types of indices.
INDICES = ('int64', 'int32', 'bool')
# Calls that read no values.
CONSTANTS = {'new_zeros', 'new_ones', 'new_full', 'new_empty', 'zeros_like', 'ones_like',
             'full_like', 'empty_like'}


def expanded(call, x):
    """A tensor that repeats parts of x."""
    new = len(call.dims) - len(x.dims)
    before = (ONE,) * new + x.dims
    if new < 0 or not call.base.startswith('expand') or any(
            a not in (b, ONE) for a, b in zip(before, call.dims)):
        raise Unknown()
    if x.kind == 'weight':
        return x.viewed(call.dims)
    axes = tuple(axis if a == b else (Atom(b, None),) for axis, a, b in
                 zip(((),) * new + x.axes(), before, call.dims))
    return x.laid_out(call.dims, axes, call)


@op(*VIEWS)
def view(call, convert):
    """What changes neither values nor their order."""
    key = next((one for one in ('self', 'input') if one in call.args), 'self')
    x = call.tensor(key)
    if x is None:
        raise call.wrong(key, 'is no tensor')
    if x.kind == 'constant':
        return x.viewed(call.dims)
    if x.dtype != call.dtype and x.kind in ('layer', 'left_out'):
        raise Unknown(f'to {call.dtype}')
    if product(x.dims) != product(call.dims):
        return expanded(call, x)
    if 'alpha_dropout' in call.base and call.number('p'):
        raise Unknown()
    return convert.seen_as(x, call.dims)


def axis_of(call, value, axes, key):
    """The number of an axis, from 0 on."""
    if type(value) is not int or not -axes <= value < axes:
        raise call.wrong(key, 'is no axis')
    return value % axes


def permutation(call, axes):
    """For each axis of the result its number in the source."""
    order = list(range(axes))
    if call.base == 'permute':
        listed = call.args.get('dims')
        if not isinstance(listed, list) or len(listed) != axes:
            raise call.wrong('dims', 'is no list of all axes')
        order = [axis_of(call, axis, axes, 'dims') for axis in listed]
        if len(set(order)) != axes:
            raise call.wrong('dims', 'has an axis twice')
    elif call.base in ('transpose', 'swapaxes'):
        keys = ('dim0', 'dim1') if call.base == 'transpose' else ('axis0', 'axis1')
        one, other = (axis_of(call, call.args.get(key), axes, key) for key in keys)
        order[one], order[other] = other, one
    elif call.base == 'movedim':
        moved = []
        for key in ('source', 'destination'):
            listed = call.args.get(key)
            moved.append([axis_of(call, axis, axes, key)
                          for axis in (listed if isinstance(listed, list) else [listed])])
        if any(len(set(one)) != len(moved[0]) for one in moved):
            raise call.wrong('destination', 'does not fit the source')
        order = [axis for axis in order if axis not in moved[0]]
        for target, axis in sorted(zip(moved[1], moved[0])):
            order.insert(target, axis)
    else:
        order.reverse()
    return order


@op('permute', 'transpose', 't', 'numpy_T', 'movedim', 'swapaxes')
def transpose(call, convert):
    """torch's is a view. It becomes a layer if a layer reads it that needs the order."""
    x = call.tensor('self')
    if x is None:
        raise call.wrong('self', 'is no tensor')
    if x.kind == 'constant':
        return x.viewed(call.dims)
    order = permutation(call, len(x.dims))
    if tuple(x.dims[axis] for axis in order) != call.dims:
        raise call.wrong('self', 'does not have the axes of the result')
    left = [axis for axis in order if x.dims[axis] != ONE]
    if left == sorted(left):
        return x.viewed(call.dims)
    if x.kind == 'weight' and len(x.dims) == 2:
        return x.viewed(call.dims, not x.transposed)
    return permuted(call.source('self'), order, call)


def permuted(x, order, call):
    """A view of x with its axes in another order."""
    axes = x.axes()
    return x.laid_out(tuple(x.dims[axis] for axis in order), tuple(axes[axis] for axis in order),
                      call)


def slice_in_memory(call, convert, x, axis, begin):
    """A slice of a tensor whose axes are not those of its memory; None where that is no slice."""
    axes = x.axes()
    if len(axes[axis]) != 1 or axes[axis][0].key is None:
        return None
    cut, atoms = axes[axis][0], in_memory(axes)
    before = product(atom.size for atom in atoms if atom.key < cut.key)
    size = quotient(product(call.dims) * cut.size, product(x.dims))
    dims = x.written
    at = next((i for i in range(len(dims)) if product(dims[:i]) == before), None)
    if at is None or size.power or cut.size.power or not divides(cut.size, dims[at]) or (
            quotient(dims[at], cut.size).power):
        return None
    if not 0 <= begin < begin + size.count <= cut.size.count:
        raise call.wrong('self', 'does not have these positions')
    inner = quotient(dims[at], cut.size).count
    shape = {'dims': dims_json(dims)}
    shape.update({'axis': at} if at != 1 else {})
    shape.update({'begin': begin * inner} if begin else {}, size=size.count * inner)
    written = (*dims[:at], Size(size.count * inner), *dims[at + 1:])
    y = convert.layer(call, 'slice', [x.memory()], [dims], shape, written)
    kept = (Atom(size, cut.key),) if size != ONE else ()
    axes = axes_seen_as((*axes[:axis], kept, *axes[axis + 1:]), call.dims)
    if axes is None:
        raise call.wrong('self', 'does not have this part')
    return y.laid_out(call.dims, axes, x.layout.call if x.layout else call)


def slice_of(call, convert, x, axis, begin):
    """A slice of x along an axis, of the extents of the call; x itself where that is all of it."""
    if product(x.dims) == product(call.dims):
        return convert.seen_as(x, call.dims)
    dims = x.dims
    if x.layout or x.steps_first or (x.kind == 'layer' and not reads_as(x.written, dims) and
                                     are_parts(x.written, dims)):
        found = slice_in_memory(call, convert, x, axis, begin)
        if found:
            return found
        x = convert.in_order(x, dims)
    if dims[axis].power:
        raise Unknown('along the batch')
    others = product(dims[:axis] + dims[axis + 1:])
    size = product(call.dims).count // max(1, others.count)
    if others * Size(size) != product(call.dims) or not 0 <= begin < begin + size <= plain(
            dims[axis]):
        raise call.wrong('self', 'does not have these positions')
    shape = {'dims': dims_json(dims)}
    shape.update({'axis': axis} if axis != 1 else {})
    shape.update({'begin': begin} if begin else {}, size=size)
    written = (*dims[:axis], Size(size), *dims[axis + 1:])
    return convert.layer(call, 'slice', [x], [dims], shape, written)


@op('slice', 'narrow', 'select')
def one_slice(call, convert):
    x = call.tensor('self')
    if x is None:
        raise call.wrong('self', 'is no tensor')
    if x.kind == 'constant' or product(x.dims) == product(call.dims):
        return x.viewed(call.dims)
    x = call.source('self')
    axis = axis_of(call, call.args.get('dim', 0), len(x.dims), 'dim')
    if call.integer('step', 1) != 1:
        raise Unknown('with a step')
    begin = call.args.get('index' if call.base == 'select' else 'start')
    begin = 0 if begin is None else begin
    if type(begin) is not int:
        raise Unknown('from a computed position')
    if begin < 0:
        begin = max(0, begin + plain(x.dims[axis]))
    return slice_of(call, convert, x, axis, begin)


@op('chunk', 'split', 'split_with_sizes', 'unsafe_chunk', 'unsafe_split', 'tensor_split', 'unbind')
def split(call, convert):
    """Each part that is read becomes a slice. Parts of weights are weights."""
    x = call.tensor('self')
    if x is not None and x.kind == 'weight':
        convert.split_weights.add(x.name)
        value = x.viewed(x.dims)
        value.parts = tuple(Value('weight', dims, name=x.name)
                            for dims in call.outputs or [call.dims])
        value.dims = call.dims
        return value
    x = call.source('self')
    axis = axis_of(call, call.args.get('dim', 0), len(x.dims), 'dim')
    begins = [0]
    for dims in call.outputs or [call.dims]:
        if call.base != 'unbind' and len(dims) != len(x.dims):
            raise call.wrong('self', 'has other axes than its parts')
        begins.append(begins[-1] + (1 if call.base == 'unbind' else plain(dims[axis])))
    value = Value(x.kind, call.dims, x.layer, x.written, x.sources, name=x.name, dtype=x.dtype)
    value.cut = (x, axis, begins)
    return value


def is_tanh_gelu(call):
    """The parts of 0.5 * x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x ** 3))), as transformers
    computes it; None for another product."""
    found = {}
    # Of each part: its call, where it stands in another, its second argument.
    for name, base, outer, key, argument, value in (
            ('half', 'mul', 'product', 'self', 'other', 0.5),
            ('one', 'add', 'product', 'other', 'other', 1),
            ('tanh', 'tanh', 'one', 'self', None, None),
            ('scaled', 'mul', 'tanh', 'self', 'other', math.sqrt(2 / math.pi)),
            ('sum', 'add', 'scaled', 'self', None, None),
            ('cubic', 'mul', 'sum', 'other', 'other', 0.044715),
            ('cube', 'pow', 'cubic', 'self', 'exponent', 3)):
        parent = call if outer == 'product' else found[outer]
        part = call.calls.get(str(parent.args.get(key))[1:])
        if part is None or part.base != base:
            return None
        number = part.args.get(argument) if argument else None
        if argument and (not isinstance(number, (int, float)) or abs(number - value) > 1e-6):
            return None
        found[name] = part
    sources = {str(found[name].args.get('self')) for name in ('half', 'sum', 'cube')}
    return found if len(sources) == 1 else None


def is_local_norm(call):
    """The parts of x / (k + alpha * mean of squares over channels) ** beta, as F.local_response_norm
    computes them; None for another quotient."""
    found = {}
    steps = [('pow', 'self'), ('add', 'self'), ('mul', 'self'), ('pool', 'self'), ('pad', 'self'),
             ('square', 'self')]
    inner = call.calls.get(str(call.args.get('other'))[1:])
    for name, key in steps:
        for _ in range(4):
            if inner is not None and inner.base in ('view', 'squeeze', 'unsqueeze', 'reshape'):
                inner = inner.calls.get(str(inner.args.get('self'))[1:])
        bases = {'pool': ('avg_pool2d', 'avg_pool3d'), 'square': ('mul',),
                 'pad': ('pad', 'constant_pad_nd')}.get(name, (name,))
        if inner is None or inner.base not in bases:
            return None
        found[name] = inner
        inner = inner.calls.get(str(inner.args.get(key))[1:])
    square = found['square']
    same = square.args.get('self') == square.args.get('other') == call.args.get('self')
    return found if same else None


def behind_casts(call, reference):
    """The call behind calls that change the data type alone; None where there is none."""
    found = call.calls.get(str(reference)[1:])
    while found is not None and found.base == 'to':
        found = found.calls.get(str(found.args.get('self'))[1:])
    return found


def is_rms_norm(call):
    """The parts of weight * (x / sqrt(mean of squares over the last axis + epsilon)), as
    transformers computes it; None for another product. `x` is what it reads."""
    for key in ('self', 'other'):
        found = {'scaled': behind_casts(call, call.args.get(key))}
        # Of each part: its call, where it stands in another.
        for name, base, outer, argument in (
                ('inverse', 'rsqrt', 'scaled', 'other'), ('sum', 'add', 'inverse', 'self'),
                ('mean', 'mean', 'sum', 'self'), ('square', 'pow', 'mean', 'self')):
            parent = found.get(outer)
            part = parent and parent.calls.get(str(parent.args.get(argument))[1:])
            if part is None or part.base != base:
                break
            found[name] = part
        else:
            square, mean = found['square'], found['mean']
            same = square.args.get('self') == found['scaled'].args.get('self')
            last = mean.args.get('dim') in ([-1], [len(square.dims) - 1])
            number = found['sum'].args.get('other')
            if (found['scaled'].base == 'mul' and same and square.args.get('exponent') == 2
                    and last and mean.args.get('keepdim') and isinstance(number, float)):
                return found
    return None


def rms_norm(call, convert, found):
    x = found['scaled'].source('self')
    weight = next((value for value in map(convert.values.get, call.references())
                   if value is not None and value.kind == 'weight'), None)
    if weight is None or weight.dims != x.dims[-1:]:
        raise Unknown('with a scale that is no weight of a row')
    dims = convert.element_dims(x)
    fields = {'dims': dims_json(dims), 'kind': 'rms', **epsilon_field(found['sum'].number('other'))}
    return convert.layer(call, 'layernorm', [x], [dims], fields, dims, 'layernorm')


def is_rotary(call):
    """The parts of x * cos + cat(-second half of x, first half) * sin, as transformers computes
    it; None for another sum."""
    def part(of, key, base):
        found = of and call.calls.get(str(of.args.get(key))[1:])
        return found if found is not None and found.base == base else None

    straight, turned = part(call, 'self', 'mul'), part(call, 'other', 'mul')
    joined = part(turned, 'self', 'cat')
    halves = joined.args.get('tensors') if joined else None
    if straight is None or not isinstance(halves, list) or len(halves) != 2:
        return None
    second, first = (call.calls.get(str(half)[1:]) for half in halves)
    negated, second = second, part(second, 'self', 'slice')
    if negated is None or negated.base != 'neg' or second is None or first is None or (
            first.base != 'slice'):
        return None
    axis, size = len(call.dims) - 1, call.dims[-1].count if call.dims else 0
    half = size // 2
    ranges = [(one.args.get('dim', 0), one.args.get('start', 0), one.args.get('end', LARGEST))
              for one in (first, second)]
    if any(type(number) is not int for numbers in ranges for number in numbers):
        return None
    (axis1, begin1, end1), (axis2, begin2, end2) = ranges
    sources = {str(one.args.get('self')) for one in (straight, first, second)}
    tables = [str(one.args.get('other')) for one in (straight, turned)]
    whole = (begin1, end1, begin2) == (0, half, half) and end2 >= size == 2 * half > 0
    last = all(one in (-1, axis) for one in (axis1, axis2, joined.args.get('dim')))
    if not (whole and last and len(sources) == 1 and all(one.startswith('%') for one in tables)):
        return None
    return {'straight': straight, 'turned': turned, 'joined': joined, 'negated': negated,
            'first': first, 'second': second}


def rotary(call, convert, found):
    """torch's tensors have the order sequence, head, token, or sequence, token, head."""
    x = found['straight'].source('self')
    tables = [found[name].value(found[name].args.get('other'), 'other')
              for name in ('straight', 'turned')]
    if len(x.dims) != 4 or any(table.kind != 'constant' for table in tables):
        raise Unknown('of positions that are no constants')
    shapes = {table.dims[-3:] for table in tables}
    n, d = x.dims[0], plain(x.dims[-1])
    heads_first = shapes == {(ONE, *x.dims[2:])}
    if not heads_first and shapes != {(x.dims[1], ONE, x.dims[3])}:
        raise Unknown('of positions that heads do not share')
    order = [0, 2, 1, 3] if heads_first else [0, 1, 2, 3]
    tokens, heads = (plain(x.dims[order[axis]]) for axis in (1, 2))
    dims = (n, *two(tokens, heads * d))
    shape = {'n': n.json(), 'tokens': tokens, 'heads': heads, 'd': d}
    y = convert.layer(call, 'rotary', [convert.seen_as(permuted(x, order, call), dims)], [dims],
                      shape, dims, 'rotary')
    y = y.viewed((n, *two(tokens, heads), Size(d)))
    return permuted(y, order, call)


@op('div')
def local_norm(call, convert):
    x = call.source('self')
    found = is_local_norm(call)
    if found is None or len(x.dims) not in (3, 4):
        raise Unknown()
    size = found['pool'].args.get('kernel_size')
    size = size[0] if isinstance(size, list) and size else None
    if type(size) is not int or size % 2 == 0 or size < 1:
        raise Unknown('over an even number of channels')
    n, c, h, w = image(x.dims, len(x.dims) - 2)
    factors = {'alpha': found['mul'].number('other'), 'beta': found['pow'].number('exponent'),
               'k': found['add'].number('other')}
    if min(factors.values()) <= 0:
        raise Unknown('with an alpha, beta or k that is not above 0')
    shape = {**image_fields(n, c, h, w), 'size': size, **factors}
    written = (n, *two(c, h), Size(w))
    return convert.layer(call, 'lrn', [x], [written], shape, written, word='lrn')


# Formulas that are one layer, by their last calls.
FORMULAS = {'div': (is_local_norm,), 'mul': (is_tanh_gelu, is_rms_norm), 'add': (is_rotary,)}


# --- The conversion ----------------------------------------------------------------------------

def legal(text):
    return re.sub(r'[^a-z0-9_]', '_', text.lower())


class Missing:
    """Calls of one kind that no op computes."""

    def __init__(self):
        self.count, self.flops, self.places = 0, 0, []


class Conversion:
    """Layers of an export. `missing` has what no op computes, by target and reason; `follows` has
    what must be left out with it, by target."""

    def __init__(self, data):
        self.data = data
        self.values, self.calls = {}, {}
        self.layers, self.missing, self.follows = [], {}, Counter()
        self.flops_following = 0
        self.notes = Counter()
        self.converted = 0
        self.used = {}  # weights, by name: the calls of layers that have them
        self.split_weights = set()  # by name
        self.folded = {}  # weights that are computed: by name, those of the model behind them
        self.folded_flops = 0  # of the calls that compute them
        self.weight_sizes = {}  # by name: elements
        self.moved = {}  # transposes: by what they read and its order, their values

    # Reading.

    def run(self, softmax=True):
        data = self.data
        if not isinstance(data, dict) or data.get('layerbench_torch_export') != VERSION:
            raise BadExport(f'/layerbench_torch_export: is not {VERSION}; export the model again')
        for key in ('inputs', 'weights', 'buffers'):
            self.read_tensors(key)
        calls = data.get('calls')
        if not isinstance(calls, list) or not calls or len(calls) > MOST_CALLS:
            raise BadExport('/calls: is no list of calls')
        for i, line in enumerate(calls):
            call = Call(line, f'/calls/{i}', self.values)
            if call.name in self.calls or call.name in self.values:
                raise BadExport(f'/calls/{i}/name: {call.name[:40]!r} stands above already')
            call.calls = self.calls
            self.calls[call.name] = call
        outputs = data.get('outputs')
        if not isinstance(outputs, list) or not all(isinstance(one, str) for one in outputs):
            raise BadExport('/outputs: is no list of names')
        self.convert(self.reached(outputs), outputs)
        if softmax:
            self.end_with_softmax(outputs)
        self.split_projections(outputs)
        self.fit_axes()
        self.copy_to_other_shapes()
        self.name_layers()
        return self

    def read_tensors(self, key):
        tensors = self.data.get(key, {})
        if not isinstance(tensors, dict):
            raise BadExport(f'/{key}: is no object')
        for name, value in tensors.items():
            kind, dtype = {'inputs': 'input', 'weights': 'weight', 'buffers': 'constant'}[key], ''
            if kind == 'input':
                if not isinstance(value, dict):
                    raise BadExport(f'/{key}/{name[:40]}: is no object')
                value, dtype = value.get('dims'), value.get('dtype')
            dims = read_dims(value, f'/{key}/{name[:40]}')
            if kind == 'weight':
                self.weight_sizes[name] = product(dims).count
            self.values[name] = Value(kind, dims, name=name, dtype=str(dtype or 'float32'))

    def reached(self, outputs):
        """Names of the calls that the outputs depend on."""
        found = set()
        waiting = [*outputs, *(call.name for call in self.calls.values() if call.writes_view)]
        for name in outputs:
            if name not in self.calls and name not in self.values:
                raise BadExport(f'/outputs: no call is named {name[:40]!r}')
        while waiting:
            name = waiting.pop()
            if name in self.calls and name not in found:
                found.add(name)
                waiting += self.calls[name].references()
        return found

    def parts_of_formulas(self, calls):
        """Names of the calls of formulas that are one layer, but for their last calls."""
        readers = {}
        for call in calls:
            for name in call.references():
                readers.setdefault(name, set()).add(call.name)
        parts = set()
        for call in calls:
            for formula in FORMULAS.get(call.base, ()):
                found = formula(call)
                if found and all(len(readers.get(part.name, ())) == 1 for part in found.values()):
                    parts |= {part.name for part in found.values()}
        return parts

    def whole(self, formula, call):
        """The parts of a formula that is one layer; None where other calls read some of them."""
        found = formula(call)
        if found and all(part.name in self.inside_formulas for part in found.values()):
            return found
        return None

    def convert(self, reached, outputs):
        calls = [call for call in self.calls.values() if call.name in reached]
        self.readers = Counter([*outputs, *(name for call in calls for name in call.references())])
        self.inside_formulas = self.parts_of_formulas(calls)
        for call in calls:
            kept, moved = len(self.layers), dict(self.moved)
            try:
                value = self.value_of(call)
                self.converted += 1
            except Follows:
                del self.layers[kept:]
                self.moved = moved
                self.follows[call.base] += 1
                self.flops_following += call.flops
                value = self.left_out(call)
            except Unknown as reason:
                del self.layers[kept:]
                self.moved = moved
                value = self.folded_weight(call)
                if value is None:
                    self.leave_out(call, str(reason))
                    value = self.left_out(call)
            if value.dims != call.dims and product(value.dims) != product(call.dims):
                raise BadExport(f'{call.place}/dims: {dims_text(call.dims)} is not the result, '
                                f'which has {dims_text(value.dims)}')
            if value.kind != 'weight':
                value.dtype = call.dtype
            self.values[call.name] = value

    def value_of(self, call):
        if call.target == 'getitem':
            return self.part_of(call)
        operands = [self.values[name] for name in call.references() if name in self.values]
        if len(operands) < sum(1 for _ in call.references()):
            raise BadExport(f'{call.place}/args: reads what no call before it writes')
        if call.base in CONSTANTS or all(value.kind == 'constant' for value in operands):
            return Value('constant', call.dims)
        if call.writes_view:
            raise Unknown('that writes to a part of a tensor')
        if call.dtype in INDICES and call.base not in VIEWS and all(
                value.kind in ('constant', 'input') for value in operands):
            self.note('calls that compute indices, such as positions, are left out')
            return Value('input', call.dims)
        if call.name in self.inside_formulas:
            return self.left_out(call)
        if call.base not in OPS or not call.target.startswith('aten.'):
            raise Unknown()
        return OPS[call.base](call, self)

    def folded_weight(self, call):
        """What a call computes of weights and constants alone, such as a weight norm, is a weight:
        inference computes it once. None for other calls."""
        operands = [self.values[name] for name in call.references()]
        results = call.outputs or [call.dims]
        if any(value.kind not in ('weight', 'constant') for value in operands) or any(
                size.power for dims in results for size in dims):
            return None
        sources = {name for value in operands if value.kind == 'weight'
                   for name in self.folded.get(value.name, {value.name})}
        self.folded_flops += call.flops
        parts = [Value('weight', dims, name=f'{call.name}[{i}]') for i, dims in enumerate(results)]
        self.folded.update({part.name: sources for part in parts})
        self.weight_sizes.update({part.name: product(part.dims).count for part in parts})
        value = parts[0].viewed(call.dims)
        value.parts = tuple(parts)
        return value

    def takes_bias(self, x, weight, call):
        """Whether a call adds a value per channel to what a convolution without a bias writes, and
        nothing else reads that."""
        if x.kind != 'layer' or x.layout or x.dims != call.dims or len(x.dims) < 3:
            return False
        layer = self.layers[x.layer]
        sizes = (ONE,) * (len(x.dims) - len(weight.dims)) + weight.dims
        return (layer.line['op'] in ('conv', 'deconv') and 'bias' not in layer.line['shape'] and
                sizes == (ONE, x.dims[1], *(ONE for _ in x.dims[2:])) and
                layer.writes[1] == x.dims[1] and all(
                    self.readers[name] == 1 for name, value in self.values.items()
                    if value.kind == 'layer' and value.layer == x.layer))

    def part_of(self, call):
        source, index = call.value(call.args.get('0'), '0'), call.args.get('1')
        if type(index) is not int:
            raise call.wrong('1', 'is no index')
        if source.kind == 'constant':
            return Value('constant', call.dims)
        if source.cut:
            x, axis, begins = source.cut
            if not 0 <= index < len(begins) - 1:
                raise call.wrong('1', 'is no part')
            return slice_of(call, self, x, axis, begins[index])
        if source.steps and index == 1:
            return slice_of(call, self, source.steps, 0, plain(source.steps.dims[0]) - 1)
        if 0 <= index < len(source.parts):
            return source.parts[index].viewed(call.dims)
        if source.kind == 'left_out' or index == 0:
            return source.viewed(call.dims)
        raise Unknown('a second result')

    def left_out(self, call):
        sources = tuple(self.values[name] for name in call.references()
                        if name in self.values and self.values[name].is_data)
        return Value('left_out', call.dims, sources=sources, name=call.name)

    def leave_out(self, call, reason):
        base = call.base
        key = f'{base} {reason}' if reason else base
        missing = self.missing.setdefault(key, Missing())
        missing.count += 1
        missing.flops += call.flops
        missing.places.append(', '.join(filter(None, [call.module, call.at])) or call.name)

    def note(self, text):
        self.notes[text] += 1

    # Writing.

    def source_of(self, value, dims, single):
        """The layer that writes what is read, or None for the model's input."""
        if value.kind == 'layer':
            known = self.layers[value.layer].writes == value.written
            if known and (connects(value.written, dims) or are_parts(value.written, dims)):
                return value.layer
            raise Unknown('of a tensor in another shape')
        if value.kind == 'state':
            raise Unknown('of a last state that is not the last step of an output')
        for source in value.sources if value.kind == 'left_out' else ():
            try:
                return self.source_of(source, dims, single)
            except Unknown:
                continue
        if single:
            return None
        if value.kind == 'left_out':
            raise Follows()
        raise Unknown("of the model's input beside a layer")

    def layer(self, call, name, sources, extents, shape, written, word=None):
        """Adds a layer; its value has the shape that torch gives it."""
        sources = [self.in_order(value, dims) for value, dims in zip(sources, extents)]
        inputs = [self.source_of(value, dims, len(sources) == 1)
                  for value, dims in zip(sources, extents)]
        sizes = [size.count for dims in (*extents, written) for size in dims]
        if min(sizes, default=1) < 1 or max(sizes, default=1) > LARGEST:
            raise BadExport(f'{call.place}/dims: {call.base} reads or writes no elements, or more '
                            f'than {LARGEST} along an axis')
        self.layers.append(Layer({'op': name, 'shape': shape}, inputs, extents, written,
                                 call.module, word or name))
        for one in call.references():
            if self.values[one].kind == 'weight':
                self.used.setdefault(self.values[one].name, set()).add(call.name)
        dims = call.dims if product(call.dims) == product(written) else written
        value = Value('layer', dims, len(self.layers) - 1, written)
        if sources[0].written == written and sources[0].dims == dims:
            value.steps_first = sources[0].steps_first
        return value

    def in_order(self, x, dims):
        """x as a layer reads it with these extents. A transpose is a layer where its axes are in
        another order than in memory."""
        if not x.layout:
            return x
        view, order = order_of(x.layout.axes)
        permuted_dims = tuple(view[i] for i in order)
        if not are_parts(permuted_dims, dims):
            dims = x.dims
        key = (x.kind, x.layer, x.name, x.written, view, *order)
        for value in self.moved.get(key, ()):
            if reads_as(value.written, dims):
                return value
        if not are_parts(x.written, view):
            raise Unknown('of a tensor in another shape')
        shape = {'dims': dims_json(x.written)}
        if view != x.written:
            shape['view'] = dims_json(view)
        shape['order'] = order
        if dims != permuted_dims:
            shape['reshape'] = dims_json(dims)
        memory = x.memory()
        self.layers.append(Layer({'op': 'transpose', 'shape': shape},
                                 [self.source_of(memory, x.written, True)], [x.written], dims,
                                 x.layout.call.module, 'transpose'))
        value = Value('layer', dims, len(self.layers) - 1, dims, dtype=x.dtype)
        self.moved.setdefault(key, []).append(value)
        return value

    def seen_as(self, x, dims):
        """A view of x; a transposed tensor moves first where it cannot be seen so."""
        x = x.ordered_for(dims)
        if x.layout and axes_seen_as(x.layout.axes, dims) is None:
            x = self.in_order(x, dims)
        return x.viewed(dims)

    def element_dims(self, *values):
        """Extents of a layer that reads tensors of one shape by element: those of torch, if the
        edges allow them."""
        for x in values:
            if x.kind == 'layer' and not x.layout and not reads_as(x.written, x.dims):
                return x.written
        return values[0].dims

    def elementwise(self, call, name, x, fields, word=None):
        if x.layout and all(atom.key is not None for atom in flat(x.layout.axes)):
            dims = x.written
            y = self.layer(call, name, [x.memory()], [dims], {**fields, 'dims': dims_json(dims)},
                           dims, word)
            return y.laid_out(call.dims, x.layout.axes, x.layout.call)
        dims = self.element_dims(x)
        return self.layer(call, name, [x], [dims], {**fields, 'dims': dims_json(dims)}, dims, word)

    def end_with_softmax(self, outputs):
        """A classifier ends with a softmax, which the loss of a training step replaces."""
        if len(outputs) != 1 or self.values[outputs[0]].kind != 'layer':
            return
        value = self.values[outputs[0]]
        if value.layout:
            return
        if self.layers[value.layer].line['op'] == 'softmax' or len(value.dims) != 2 or (
                value.dims[0] != BATCH or not connects(value.written, value.dims)):
            return
        self.layers.append(Layer({'op': 'softmax', 'shape': {'dims': dims_json(value.dims)}},
                                 [value.layer], [value.dims], value.dims, '', 'softmax'))

    def split_projections(self, outputs):
        """A projection whose parts are query, key and value becomes one for each. In torch the
        parts are views; slices would copy them."""
        readers = {}
        for i, layer in enumerate(self.layers):
            for place, source in enumerate(layer.inputs):
                readers.setdefault(source, []).append((i, place))
        returned = {self.values[name].layer for name in outputs}
        gone = set()
        for i, layer in enumerate(self.layers):
            parts = [reader for reader, _ in readers.get(i, ())]
            if layer.line['op'] != 'gemm' or 'batch' in layer.line['shape'] or i in returned:
                continue
            if not parts or not self.tiles(parts):
                continue
            places = {part: next((place for reader, place in readers.get(part, ())
                                  if self.layers[reader].line['op'] == 'attention'), None)
                      for part in parts}
            if all(place is None for place in places.values()):
                continue
            shape = layer.line['shape']
            for part in parts:
                cut = self.layers[part].line['shape']
                columns = shape['n'] * cut['size'] // cut['dims'][cut.get('axis', 1)]
                word = 'part' if places[part] is None else ('query', 'key', 'value')[places[part]]
                self.layers[part] = layer._replace(
                    line={'op': 'gemm', 'shape': {**shape, 'n': columns}},
                    writes=(layer.writes[0], Size(columns)), word=word)
            self.note(f'a projection to query, key and value is timed as {len(parts)} projections')
            gone.add(i)
        kept = [i for i in range(len(self.layers)) if i not in gone]
        number = {old: new for new, old in enumerate(kept)}
        self.layers = [self.layers[i]._replace(inputs=[number.get(one) for one in
                                                       self.layers[i].inputs]) for i in kept]

    def tiles(self, parts):
        """Whether layers are slices of one tensor, along an axis of its rows, that make up all
        of it."""
        lines = [self.layers[part].line for part in parts]
        if any(line['op'] != 'slice' for line in lines):
            return False
        shapes = [line['shape'] for line in lines]
        first = shapes[0]
        axis = first.get('axis', 1)
        if any(one['dims'] != first['dims'] or one.get('axis', 1) != axis for one in shapes):
            return False
        rows = first['dims'][:axis]
        if not self.rows_of(parts[0], rows):
            return False
        ranges = sorted((one.get('begin', 0), one.get('begin', 0) + one['size']) for one in shapes)
        ends = [0, *(end for _, end in ranges)]
        return [begin for begin, _ in ranges] == ends[:-1] and ends[-1] == first['dims'][axis]

    def rows_of(self, part, dims):
        """Whether the first ones of these extents are the rows of the matrix that a slice reads."""
        rows = self.layers[self.layers[part].inputs[0]].writes[0]
        sizes = [read_size(size, '') for size in dims]
        return any(product(sizes[:i]) == rows for i in range(1, len(sizes) + 1))

    def fit_axes(self):
        """Gives layers the axes of extent 1 that their neighbours have. A sequence is an image of
        height 1 to some ops, and other ops take it with any axes."""
        def fitted(edges):
            """Whether a layer of these edges, as positions of layer and source, got other axes."""
            found = False
            for i, place in edges:
                source = self.layers[i].inputs[place]
                writes, reads = self.layers[source].writes, self.layers[i].reads[place]
                if connects(writes, reads):
                    continue
                before, behind = (with_more_axes(self.layers[source], writes, reads, 'writes'),
                                  with_more_axes(self.layers[i], reads, writes, 'reads'))
                found = found or bool(before or behind)
                if behind:
                    self.layers[i] = behind
                elif before:
                    self.layers[source] = before
            return found

        edges = [(i, place) for i, layer in enumerate(self.layers)
                 for place, source in enumerate(layer.inputs) if source is not None]
        # Forwards and backwards, so that a chain takes one round.
        while fitted(edges + edges[::-1]):
            pass

    def copy_to_other_shapes(self):
        """A layer that reads a tensor in a shape in which it cannot reads a copy of it."""
        layers, moved, copies = [], {}, {}
        for i, layer in enumerate(self.layers):
            inputs = []
            for source, dims in zip(layer.inputs, layer.reads):
                at = moved.get(source)
                if source is not None and not connects(self.layers[source].writes, dims):
                    if (source, dims) not in copies:
                        self.note('a tensor that a layer reads in another shape is copied before')
                        writes = self.layers[source].writes
                        shape = {'dims': dims_json(writes), 'order': list(range(len(writes))),
                                 'reshape': dims_json(dims)}
                        layers.append(Layer({'op': 'transpose', 'shape': shape}, [at], [writes],
                                            dims, layer.module, 'copy'))
                        copies[source, dims] = len(layers) - 1
                    at = copies[source, dims]
                inputs.append(at)
            layers.append(layer._replace(inputs=inputs))
            moved[i] = len(layers) - 1
        self.layers = layers

    def name_layers(self):
        """Names after the modules; a call of a module with other calls has that of its op, too."""
        inner, words = {''}, {}
        for layer in self.layers:
            words.setdefault(layer.module, set()).add(layer.word)
            parent = layer.module.rpartition('.')[0]
            while parent not in inner:
                inner.add(parent)
                parent = parent.rpartition('.')[0]
        taken = set()
        for layer in self.layers:
            parts = [layer.module] if layer.module else []
            if layer.module in inner or len(words[layer.module]) > 1:
                parts.append(layer.word)
            name = base = legal('_'.join(parts))
            count = 1
            while name in taken:
                count += 1
                name = f'{base}_{count}'
            taken.add(name)
            layer.line['name'] = name

    # The file.

    def coverage(self):
        """Share of the calls that became layers or vanished rightly."""
        left = sum(missing.count for missing in self.missing.values())
        left += sum(self.follows.values())
        return self.converted / (self.converted + left) if self.converted + left else 0

    def all_flops(self):
        return sum(call.flops for call in self.calls.values())

    def left_out_share(self):
        """Share of the FLOPs of the calls that are left out; None where none is."""
        if not self.missing and not self.follows:
            return None
        flops = self.flops_following + sum(missing.flops for missing in self.missing.values())
        return flops / self.all_flops() if flops else 0.0

    def parameters(self):
        """Learned values that layers have, that only missing calls read, and that none reads."""
        behind = {name for used in self.used for name in self.folded.get(used, {used})}
        known = sum(self.weight_sizes[name] for name in self.used)
        missing = sum(self.weight_sizes[name] for name in self.data.get('weights', {})
                      if name not in behind)
        total = self.data.get('parameters', 0)
        unread = total - self.read_parameters() if type(total) is int else 0
        return known, missing, max(0, unread)

    def read_parameters(self):
        """Learned values of the model that calls read."""
        return sum(self.weight_sizes[name] for name in self.data.get('weights', {}))

    def folded_parameters(self):
        """Weights of layers that are computed of others: their number, their learned values, and
        those that they are computed of."""
        folded = [name for name in self.used if name in self.folded]
        behind = {name for one in folded for name in self.folded[one]}
        return (len(folded), sum(self.weight_sizes[name] for name in folded),
                sum(self.weight_sizes[name] for name in behind))

    def text(self, name, title=''):
        layers = []
        for index, layer in enumerate(self.layers):
            entry = {'name': layer.line['name'], 'op': layer.line['op']}
            if layer.inputs != ([index - 1] if index else [None]):
                entry['after'] = [self.layers[i].line['name'] for i in layer.inputs
                                  if i is not None]
            entry['shape'] = layer.line['shape']
            layers.append('    ' + one_line(entry))
        batch = self.data.get('batch', 1)
        if type(batch) is not int or not 1 <= batch <= LARGEST:
            raise BadExport('/batch: is no size')
        source = str(self.data.get('source', ''))
        if self.missing:
            source += '; incomplete, without ' + ', '.join(
                f'{key} ({missing.count})' for key, missing in sorted(self.missing.items()))
        sizes = ', '.join(dims_text(self.values[name].dims[1:]) for name in
                          self.data.get('inputs', {}))
        header = {'name': legal(name), 'title': title or f'{name}, input {sizes}',
                  'source': source}
        share = self.left_out_share()
        if share is not None:
            header['left_out'] = math.floor(share * 1e4) / 1e4  # at least
        header['parameters'] = {'batch': batch}
        lines = [f'  {json.dumps(key)}: {one_line(value)},\n' for key, value in header.items()]
        return '{\n' + ''.join(lines) + '  "layers": [\n' + ',\n'.join(layers) + '\n  ]\n}\n'


def parse(text):
    """The export in a text. Everything that is no JSON raises BadExport."""
    def refuse(constant):
        raise BadExport(f'{constant} is no number of JSON')
    try:
        return json.loads(text, parse_constant=refuse)
    except (ValueError, RecursionError) as error:
        raise BadExport(f'is no JSON: {error}') from error
