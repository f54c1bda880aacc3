# SPDX-FileCopyrightText: 2026 the layerbench authors
# SPDX-License-Identifier: Apache-2.0
"""Builds a torch.nn.Module of a model that `layerbench show --format=json` printed, and exports it.

Weights are random. They are scaled by one step on random data, layer by layer, so that each layer with
weights writes values of root mean square 1, and batch norms have the statistics of what they read.
"""
import ast
import math
import time

import torch
import torch.nn.functional as F

# Subnormal numbers slow processors down. A layer whose values have more of them is refused.
MOST_SUBNORMAL = 1e-3
# Old releases of engines refuse newer versions, and the models need nothing that these have.
IR_VERSION = 8


class Unsupported(Exception):
    """A layer that cannot be built, or whose values are no good to time."""


def pair(value):
    return (value, value) if isinstance(value, int) else tuple(value)


def pads(value):
    """Top, bottom, left and right of pads as a shape file has them."""
    if isinstance(value, int):
        return (value,) * 4
    return tuple(value) if len(value) == 4 else (value[0], value[0], value[1], value[1])


def image(shape):
    return tuple(shape[size] for size in 'nchw')


def padded(shape, value, make):
    """The module make(padding), behind a padding with `value` if sides of the image differ."""
    top, bottom, left, right = pads(shape.get('pad', 0))
    if (top, left) == (bottom, right):
        return make((top, left))
    return torch.nn.Sequential(torch.nn.ConstantPad2d((left, right, top, bottom), value), make(0))


def conv(shape):
    return padded(shape, 0.0, lambda padding: torch.nn.Conv2d(
        shape['c'], shape['k'], (shape['r'], shape['s']), pair(shape.get('stride', 1)), padding,
        pair(shape.get('dilation', 1)), shape.get('groups', 1),
        shape.get('bias', False))), [image(shape)]


def deconv(shape):
    top, bottom, left, right = pads(shape.get('pad', 0))
    if (top, left) != (bottom, right):
        raise Unsupported('pads that differ by side')
    output_pad = pads(shape.get('output_pad', 0))
    return torch.nn.ConvTranspose2d(
        shape['c'], shape['k'], (shape['r'], shape['s']), pair(shape.get('stride', 1)), (top, left),
        (output_pad[1], output_pad[3]), shape.get('groups', 1), shape.get('bias', False),
        pair(shape.get('dilation', 1))), [image(shape)]


class Product(torch.nn.Module):
    """A matrix product in the forms that torch.nn.Linear does not have."""

    def __init__(self, shape):
        super().__init__()
        self.transposed = [shape.get(f'{factor}_transposed', False) for factor in 'ab']
        self.weight = None
        if shape.get('batch', 1) == 1:
            sizes = [shape['n'], shape['k']] if self.transposed[1] else [shape['k'], shape['n']]
            self.weight = torch.nn.Parameter(torch.empty(sizes))
        self.bias = torch.nn.Parameter(torch.empty(shape['n'])) if shape.get('bias') else None

    def forward(self, *factors):
        factors = factors if self.weight is None else (*factors, self.weight)
        a, b = (factor.transpose(-1, -2) if transposed else factor
                for factor, transposed in zip(factors, self.transposed))
        result = torch.matmul(a, b)
        return result if self.bias is None else result + self.bias


def gemm(shape):
    m, n, k, batch = (shape.get(size, 1) for size in ('m', 'n', 'k', 'batch'))
    a = (k, m) if shape.get('a_transposed') else (m, k)
    b = (n, k) if shape.get('b_transposed') else (k, n)
    if batch != 1:
        return Product(shape), [(batch, *a), (batch, *b)]
    if shape.get('b_transposed') and not shape.get('a_transposed'):
        return torch.nn.Linear(k, n, shape.get('bias', False)), [a]
    return Product(shape), [a]


def embedding(shape):
    return torch.nn.Embedding(shape['rows'], shape['columns']), [(shape['n'],)]


def pool(shape):
    window, stride = (shape['r'], shape['s']), pair(shape['stride'])
    ceil, count = shape.get('ceil', False), shape.get('count_padding', True)
    if shape['kind'] == 'max':
        return padded(shape, -math.inf, lambda padding: torch.nn.MaxPool2d(
            window, stride, padding, ceil_mode=ceil)), [image(shape)]
    top, bottom, left, right = pads(shape.get('pad', 0))
    if (top, left) != (bottom, right) and (ceil or not count):
        raise Unsupported('averages without padding, whose pads differ by side')
    return padded(shape, 0.0, lambda padding: torch.nn.AvgPool2d(
        window, stride, padding, ceil, count)), [image(shape)]


def batchnorm(shape):
    if shape.get('scale', True) != shape.get('shift', True):
        raise Unsupported('a scale without a shift, or a shift without a scale')
    return torch.nn.BatchNorm2d(shape['c'], shape.get('epsilon', 1e-5),
                                affine=shape.get('scale', True)), [image(shape)]


def lrn(shape):
    size, alpha, beta, k = (shape['size'], shape.get('alpha', 1e-4), shape.get('beta', 0.75),
                            shape.get('k', 1.0))

    def compute(src):
        if torch.onnx.is_in_onnx_export():  # which would write it as eight nodes
            return torch.onnx.ops.symbolic(
                'LRN', (src,), {'size': size, 'alpha': float(alpha), 'beta': float(beta),
                                'bias': float(k)}, dtype=src.dtype, shape=src.shape)
        return F.local_response_norm(src, size, alpha, beta, k)
    return compute, [image(shape)]


def groupnorm(shape):
    return torch.nn.GroupNorm(shape['groups'], shape['c'], shape.get('epsilon', 1e-5)), [image(shape)]


def layernorm(shape):
    dims = tuple(shape['dims'])
    epsilon, scale = shape.get('epsilon', 1e-5), shape.get('scale', True)
    if shape.get('kind') == 'rms':
        return torch.nn.RMSNorm(dims[-1], epsilon, scale), [dims]
    bias = shape.get('bias', True)
    if bias and not scale:
        raise Unsupported('a bias without a scale')
    return torch.nn.LayerNorm(dims[-1], epsilon, scale, bias), [dims]


def attention(shape):
    n, heads, q, k, d = (shape[size] for size in ('n', 'heads', 'q', 'k', 'd'))
    groups = shape.get('kv_heads') or heads
    causal = shape.get('causal', False)
    # torch counts the tokens that a query sees from the first key, the op from the last.
    mask = torch.ones(q, k, dtype=torch.bool).tril(k - q) if causal and q != k else None

    def compute(query, key, value):
        query, key, value = (tensor.view(n, -1, count, d).transpose(1, 2) for tensor, count in
                             ((query, heads), (key, groups), (value, groups)))
        result = F.scaled_dot_product_attention(query, key, value, mask,
                                                is_causal=causal and mask is None,
                                                enable_gqa=groups != heads)
        return result.transpose(1, 2).reshape(n, q, heads * d)
    return compute, [(n, q, heads * d), (n, k, groups * d), (n, k, groups * d)]


class Linear(torch.nn.Module):
    """A product with a number and a sum with another one."""

    def forward(self, x):
        return x * 0.5 + 1


ACTIVATIONS = {'relu': torch.nn.ReLU, 'relu6': torch.nn.ReLU6, 'leaky_relu': torch.nn.LeakyReLU,
               'elu': torch.nn.ELU, 'sigmoid': torch.nn.Sigmoid, 'tanh': torch.nn.Tanh,
               'gelu': torch.nn.GELU, 'swish': torch.nn.SiLU, 'hardswish': torch.nn.Hardswish,
               'hardsigmoid': torch.nn.Hardsigmoid, 'linear': Linear}


def activation(shape):
    return ACTIVATIONS[shape['kind']](), [tuple(shape['dims'])]


class Learned(torch.nn.Module):
    """An element-wise operation whose second operand is learned: `name` is bias or scale."""

    def __init__(self, operation, name, sizes):
        super().__init__()
        self.operation, self.name = operation, name
        self.register_parameter(name, torch.nn.Parameter(torch.empty(sizes)))

    def forward(self, src):
        return self.operation(src, getattr(self, self.name))


def add(shape):
    dims = tuple(shape['dims'])
    other = (1, *dims[1:]) if shape.get('broadcast') else dims
    if shape.get('learned'):
        return Learned(torch.add, 'bias', other), [dims]
    return torch.add, [dims, other]


def multiply(shape):
    dims = tuple(shape['dims'])
    other = tuple(shape.get('dims1', dims))
    if shape.get('learned'):
        return Learned(torch.mul, 'scale', other), [dims]
    return torch.mul, [dims, other]


def concat(shape):
    dims, axis = shape['dims'], shape.get('axis', 1)
    return (lambda *sources: torch.cat(sources, axis)), [
        (*dims[:axis], size, *dims[axis + 1:]) for size in shape['sizes']]


def pad(shape):
    margins = [size for both in zip(reversed(shape['before']), reversed(shape['after']))
               for size in both]
    return (lambda src: F.pad(src, margins)), [tuple(shape['dims'])]


def slice_(shape):
    axis, begin, size = shape.get('axis', 1), shape.get('begin', 0), shape['size']
    return (lambda src: src.narrow(axis, begin, size)), [tuple(shape['dims'])]


def transpose(shape):
    view, order = shape.get('view', shape['dims']), shape['order']
    reshape = shape.get('reshape', [view[axis] for axis in order])
    return (lambda src: src.reshape(view).permute(order).reshape(reshape)), [tuple(shape['dims'])]


def softmax(shape):
    return torch.nn.Softmax(shape.get('axis', 1)), [tuple(shape['dims'])]


def dropout(shape):
    return torch.nn.Dropout(shape.get('rate', 0.5)), [tuple(shape['dims'])]


OPS = {'conv': conv, 'deconv': deconv, 'gemm': gemm, 'embedding': embedding, 'pool': pool,
       'batchnorm': batchnorm, 'lrn': lrn, 'layernorm': layernorm,
       'groupnorm': groupnorm, 'attention': attention,
       'activation': activation, 'add': add, 'multiply': multiply, 'concat': concat, 'pad': pad,
       'slice': slice_, 'transpose': transpose, 'softmax': softmax, 'dropout': dropout}


# Ops whose results are no views of their sources.
NEW_TENSORS = ('conv', 'deconv', 'gemm', 'batchnorm', 'lrn', 'layernorm', 'groupnorm', 'add', 'multiply')


class Shape(dict):
    """A layer's shape that knows which of its fields were read."""

    def __init__(self, fields):
        super().__init__(fields)
        self.unread = set(fields)

    def __getitem__(self, key):
        self.unread.discard(key)
        return super().__getitem__(key)

    def get(self, key, default=None):
        self.unread.discard(key)
        return super().get(key, default)


class Layer(torch.nn.Module):
    """A layer of the shape file. Sources are read in the extents that its op has for them."""

    def __init__(self, layer):
        super().__init__()
        self.name, self.op = layer['name'], layer['op']
        try:
            if self.op not in OPS:
                raise Unsupported('this tool cannot build it')
            if layer.get('type', 'f32') != 'f32':
                raise Unsupported(f'its type, {layer["type"]}, is not built')
            shape = Shape(layer['shape'])
            self.compute, self.extents = OPS[self.op](shape)
            if shape.unread:
                raise Unsupported(f'its fields {", ".join(sorted(shape.unread))} are not built; take a model '
                                  'without them')
        except Unsupported as error:
            raise Unsupported(f'layer {self.name}: op {self.op}: {error}') from error

    def forward(self, *sources):
        return self.compute(*(source if tuple(source.shape) == extents else source.reshape(extents)
                              for source, extents in zip(sources, self.extents, strict=True)))

    def draw(self, sources, generator):
        """Draws the parameters; the result on `sources`."""
        for name, parameter in self.named_parameters():
            if name.endswith('bias'):
                parameter.normal_(0, 0.1, generator=generator)
            elif name.endswith('scale') or parameter.dim() == 1:
                parameter.uniform_(0.5, 1.5, generator=generator)
            else:
                parameter.normal_(generator=generator)
                parameter /= max(float(self(*sources).square().mean().sqrt()), 1e-6)
        if self.op == 'batchnorm':
            self.compute.running_mean.copy_(sources[0].mean((0, 2, 3)))
            self.compute.running_var.copy_(sources[0].var((0, 2, 3), correction=0).clamp(min=0.1))
        result = self(*sources)
        tiny = (result != 0) & (result.abs() < torch.finfo(result.dtype).tiny)
        if not bool(result.isfinite().all()) or float(tiny.float().mean()) > MOST_SUBNORMAL:
            raise Unsupported(f'layer {self.name}: its values are not finite, or subnormal')
        return result


class Model(torch.nn.Module):
    """The model in inference. What no layer reads is a result."""

    def __init__(self, shown):
        super().__init__()
        self.layers = torch.nn.ModuleList(map(Layer, shown['layers']))
        number = {layer.name: i for i, layer in enumerate(self.layers)}
        self.inputs = []   # (rows of a table or None, extents), one for each size that is read
        self.sources = []  # of each layer: numbers of layers, or of inputs as -1 - number
        for layer, one in zip(self.layers, shown['layers']):
            self.sources.append([number[name] for name in one['after']] or
                                [self.input_of(layer, one['shape'])])
        self.readers = {}  # of each layer that has some
        for i, sources in enumerate(self.sources):
            for source in sources:
                self.readers.setdefault(source, []).append(i)
        self.results = [i for i in range(len(self.layers)) if i not in self.readers]
        self.done = [[] for _ in self.layers]  # by layer: whose results it is the last to read
        for source, readers in self.readers.items():
            if source >= 0:
                self.done[max(readers)].append(source)
        self.eval()

    def work_in_place(self):
        """Lets activations write over their source where no other layer reads it."""
        for layer, sources in zip(self.layers, self.sources):
            if (layer.op == 'activation' and hasattr(layer.compute, 'inplace') and
                    sources[0] >= 0 and len(self.readers[sources[0]]) == 1 and
                    self.layers[sources[0]].op in NEW_TENSORS):
                layer.compute.inplace = True

    def input_of(self, layer, shape):
        rows = shape['rows'] if layer.op == 'embedding' else None
        extents = layer.extents[0]
        for i, (other_rows, other) in enumerate(self.inputs):
            if (rows is None) == (other_rows is None) and math.prod(extents) == math.prod(other):
                if rows is not None:
                    self.inputs[i] = (min(rows, other_rows), other)
                return -1 - i
        self.inputs.append((rows, extents))
        return -len(self.inputs)

    def compute(self, inputs, of_layer):
        """The results of all layers; each is of_layer(layer, sources). Memory is given back after
        its last use, as in the code of a model."""
        values = []
        for layer, sources, done in zip(self.layers, self.sources, self.done):
            values.append(of_layer(layer, [values[i] if i >= 0 else inputs[-1 - i]
                                           for i in sources]))
            for i in done:
                values[i] = None
        return tuple(values[i] for i in self.results)

    def forward(self, *inputs):
        return self.compute(inputs, lambda layer, sources: layer(*sources))

    def timed(self, *inputs):
        """One step: the name of each layer and the seconds that it took."""
        taken = []

        def clocked(layer, sources):
            begin = time.perf_counter()
            result = layer(*sources)
            taken.append((layer.name, time.perf_counter() - begin))
            return result
        self.compute(inputs, clocked)
        return taken

    def random_inputs(self, generator):
        return [torch.randn(extents, generator=generator) if rows is None else
                torch.randint(rows, extents, generator=generator) for rows, extents in self.inputs]

    @torch.no_grad()
    def draw(self, generator):
        """Draws all parameters."""
        self.compute(self.random_inputs(generator),
                     lambda layer, sources: layer.draw(sources, generator))


def export_onnx(model, inputs, path):
    """Writes the model as ONNX. Names of nodes are `layer/operator`, with a number where a layer has
    several of one operator. Results of nodes are named alike, since engines name some of their nodes
    by them."""
    import onnx  # which torch alone does not need
    names = [f'input{i}' for i in range(len(inputs))]
    torch.onnx.export(model, tuple(inputs), path, dynamo=True, input_names=names, verbose=False)
    proto = onnx.load(path, load_external_data=False)  # the weights stay where they are
    count, tensors = {}, {}
    for node in proto.graph.node:
        name = f'{layer_of(model, node)}/{node.op_type}'
        count[name] = count.get(name, 0) + 1
        node.name = name if count[name] == 1 else f'{name}_{count[name]}'
        tensors.update((tensor, f'{node.name}:{i}' if i else node.name)
                       for i, tensor in enumerate(node.output) if tensor)
    for node in proto.graph.node:
        node.input[:] = [tensors.get(tensor, tensor) for tensor in node.input]
        node.output[:] = [tensors.get(tensor, tensor) for tensor in node.output]
    for value in (*proto.graph.output, *proto.graph.value_info):
        value.name = tensors.get(value.name, value.name)
    proto.ir_version = IR_VERSION
    onnx.save(proto, path)


def layer_of(model, node):
    """The name of the layer that an exported node is of; empty for none."""
    for entry in node.metadata_props:
        if entry.key == 'pkg.torch.onnx.name_scopes':
            # A list in Python's form, such as ['', 'layers.3', 'layers.3.compute', 'conv2d'].
            for scope in ast.literal_eval(entry.value):
                if scope.startswith('layers.'):
                    return model.layers[int(scope.split('.')[1])].name
    return ''
