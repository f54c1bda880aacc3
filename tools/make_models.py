#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 the layerbench authors
# SPDX-License-Identifier: Apache-2.0
"""Writes the shape files of all models but those of tools/import_models.py: tools/make_models.py
[FOLDER], by default shapes/models.

A `Network` collects layers. Its methods add one layer or one block and return the tensor that it
writes. Each function with @family yields networks of one family. docs/formats.md describes the
files.
"""
import argparse
import json
import math
import pathlib
from collections import namedtuple

# What a layer writes: the layer's name (None: the model's input) and the extents after the batch.
Tensor = namedtuple('Tensor', 'layer dims')

FAMILIES = []


def family(name):
    """Of a function that yields networks of the family."""
    def add(function):
        FAMILIES.append((name, function))
        return function
    return add


def pair(value):
    return value if isinstance(value, (list, tuple)) else (value, value)


def shortest_pair(value):
    vertical, horizontal = pair(value)
    return vertical if vertical == horizontal else [vertical, horizontal]


def pads(value):
    """top, bottom, left, right."""
    values = pair(value)
    return tuple(values) if len(values) == 4 else (values[0], values[0], values[1], values[1])


def shortest_pads(value):
    top, bottom, left, right = pads(value)
    if (top, left) == (bottom, right):
        return shortest_pair((top, left))
    return [top, bottom, left, right]


def legal(name):
    """A name with the characters that names may have."""
    return name.lower().replace('.', '_')


class Network:
    """The model that one shape file describes."""

    def __init__(self, name, title, source, data, image, studies='', aliases=''):
        self.name, self.title, self.source, self.data = legal(name), title, source, data
        self.studies = studies.split()
        # A published name that is not a legal one remains as an alias.
        self.aliases = aliases.split() + ([name] if legal(name) != name else [])
        self.input = Tensor(None, tuple(image))
        self.layers = []
        self.parameters = {'batch': 1}
        self.epsilon = None  # of batchnorm, where it is not the default

    def layer(self, name, op, inputs, dims, shape, weights_of=None):
        line = {'name': legal(name), 'op': op}
        before = self.layers[-1]['name'] if self.layers else None
        if [tensor.layer for tensor in inputs] != [before]:
            line['after'] = [tensor.layer for tensor in inputs if tensor.layer]
        line['shape'] = shape
        if weights_of:
            line['weights_of'] = weights_of
        self.layers.append(line)
        return Tensor(line['name'], tuple(dims))

    # Layers.

    def conv(self, x, name, k, size, stride=1, pad=0, dilation=1, groups=1, bias=False):
        (c, h, w), (r, s) = x.dims, pair(size)
        shape = {'n': 'batch', 'c': c, 'h': h, 'w': w, 'k': k, 'r': r, 's': s}
        (v, u), (top, bottom, left, right) = pair(stride), pads(pad)
        spread = dilation - 1
        p = (h + top + bottom - r - spread * (r - 1)) // v + 1
        q = (w + left + right - s - spread * (s - 1)) // u + 1
        for key, value, default in (('stride', shortest_pair(stride), 1),
                                    ('pad', shortest_pads(pad), 0), ('dilation', dilation, 1),
                                    ('groups', groups, 1), ('bias', bias, False)):
            if value != default:
                shape[key] = value
        return self.layer(name, 'conv', [x], (k, p, q), shape)

    def pool(self, x, name, kind, size, stride, pad=0, ceil=False, count_padding=True):
        (c, h, w), (r, s) = x.dims, pair(size)
        (v, u), (top, bottom, left, right) = pair(stride), pads(pad)

        def outputs(extent, before, after, window, step):
            taps = extent + before + after - window
            count = (-(-taps // step) if ceil else taps // step) + 1
            # A last window must not start in the trailing padding.
            return count - 1 if ceil and (count - 1) * step >= extent + before else count

        # A window that is larger than the image is one with trailing padding.
        bottom, right = max(bottom, r - h - top), max(right, s - w - left)
        p, q = outputs(h, top, bottom, r, v), outputs(w, left, right, s, u)
        # Where rounding up changes nothing, the option is left out.
        ceil = ceil and (p, q) != ((h + top + bottom - r) // v + 1, (w + left + right - s) // u + 1)
        shape = {'kind': kind, 'n': 'batch', 'c': c, 'h': h, 'w': w, 'r': r, 's': s,
                 'stride': shortest_pair(stride)}
        if any((top, bottom, left, right)):
            shape['pad'] = shortest_pads((top, bottom, left, right))
        if ceil:
            shape['ceil'] = True
        if not count_padding:
            shape['count_padding'] = False
        return self.layer(name, 'pool', [x], (c, p, q), shape)

    def max_pool(self, x, name, size, stride, pad=0, ceil=False):
        return self.pool(x, name, 'max', size, stride, pad, ceil)

    def average_pool(self, x, name, size, stride, pad=0, ceil=False, count_padding=True):
        return self.pool(x, name, 'average', size, stride, pad, ceil, count_padding)

    def global_pool(self, x, name='avgpool'):
        return self.average_pool(x, name, x.dims[1:], 1)

    def batchnorm(self, x, name, scale=True, shift=True):
        c, h, w = x.dims
        shape = {'n': 'batch', 'c': c, 'h': h, 'w': w}
        if self.epsilon:
            shape['epsilon'] = self.epsilon
        if not scale:
            shape['scale'] = False
        if not shift:
            shape['shift'] = False
        return self.layer(name, 'batchnorm', [x], x.dims, shape)

    def activation(self, x, name, kind='relu'):
        return self.layer(name, 'activation', [x], x.dims,
                          {'kind': kind, 'dims': ['batch', *x.dims]})

    def lrn(self, x, name, size=5, alpha=0.0001, beta=0.75, k=1):
        c, h, w = x.dims
        return self.layer(name, 'lrn', [x], x.dims,
                          {'n': 'batch', 'c': c, 'h': h, 'w': w, 'size': size, 'alpha': alpha,
                           'beta': beta, 'k': k})

    def fc(self, x, name, outputs):
        return self.layer(name, 'gemm', [x], (outputs,),
                          {'m': 'batch', 'n': outputs, 'k': math.prod(x.dims),
                           'b_transposed': True, 'bias': True})

    def dropout(self, x, name, rate=0.5, flat=False):
        dims = (math.prod(x.dims),) if flat else x.dims
        shape = {} if rate == 0.5 else {'rate': rate}
        return self.layer(name, 'dropout', [x], dims, {**shape, 'dims': ['batch', *dims]})

    def softmax(self, x, name='softmax'):
        return self.layer(name, 'softmax', [x], x.dims, {'dims': ['batch', *x.dims]})

    def add(self, x, y, name):
        return self.layer(name, 'add', [x, y], x.dims, {'dims': ['batch', *x.dims]})

    def multiply(self, x, y, name):
        return self.layer(name, 'multiply', [x, y], x.dims,
                          {'dims': ['batch', *x.dims], 'dims1': ['batch', *y.dims]})

    def concat(self, inputs, name):
        """Of channels; an input without height and width is the flattened one."""
        sizes = [x.dims[0] for x in inputs]
        dims = (sum(sizes), *inputs[0].dims[1:])
        return self.layer(name, 'concat', inputs, dims,
                          {'dims': ['batch', *dims], 'axis': 1, 'sizes': sizes})

    def slice_channels(self, x, name, begin, k):
        """k channels, from `begin` on."""
        c, h, w = x.dims
        shape = {'dims': ['batch', c, h, w], **({'begin': begin} if begin else {}), 'size': k}
        return self.layer(name, 'slice', [x], (k, h, w), shape)

    def shuffle_channels(self, x, name, groups):
        """Channels of groups that follow each other, in turns."""
        c, h, w = x.dims
        image = ['batch', c, h, w]
        return self.layer(name, 'transpose', [x], x.dims,
                          {'dims': image, 'view': ['batch', groups, c // groups, h, w],
                           'order': [0, 2, 1, 3, 4], 'reshape': image})

    def reshaped(self, x, name, dims, batch='batch'):
        """A copy of other extents behind the batch."""
        before = ['batch', *x.dims]
        return self.layer(name, 'transpose', [x], dims,
                          {'dims': before, 'order': list(range(len(before))),
                           'reshape': [batch, *dims]})

    def upsample(self, x, name, factor):
        c, h, w = x.dims
        shape = {'kind': 'nearest', 'n': 'batch', 'c': c, 'h': h, 'w': w, 'p': factor * h,
                 'q': factor * w}
        return self.layer(name, 'resample', [x], (c, factor * h, factor * w), shape)

    def pad_channels(self, x, name, k):
        """Zeros before and after the channels, so that there are k."""
        c, h, w = x.dims
        before = (k - c) // 2
        return self.layer(name, 'pad', [x], (k, h, w),
                          {'dims': ['batch', c, h, w], 'before': [0, before, 0, 0],
                           'after': [0, k - c - before, 0, 0]})

    # Blocks.

    def conv_relu(self, x, name, k, size, stride=1, pad=0, bias=True, **more):
        x = self.conv(x, name, k, size, stride, pad, bias=bias, **more)
        return self.activation(x, name + '_relu')

    def conv_bn(self, x, name, k, size, stride=1, pad=0, bias=False, kind='relu', **more):
        """Convolution, batchnorm, and an activation unless its kind is None."""
        x = self.conv(x, name, k, size, stride, pad, bias=bias, **more)
        x = self.batchnorm(x, name + '_bn')
        return self.activation(x, name + '_' + kind, kind) if kind else x

    def bn_relu(self, x, name):
        return self.activation(self.batchnorm(x, name), name + '_relu')

    # The file.

    def text(self, family_name):
        header = {'title': self.title, 'source': self.source, 'family': family_name,
                  'data': self.data}
        if self.studies:
            header['studies'] = self.studies
        if self.aliases:
            header['aliases'] = self.aliases
        header['parameters'] = self.parameters
        return shape_file_text(self.name, header, self.layers)


def shape_file_text(name, header, layers):
    header = {'$schema': '../schema.json', 'name': name, **header}
    lines = [f'  {json.dumps(key)}: {one_line(value)},\n' for key, value in header.items()]
    text = ',\n'.join('    ' + one_line(layer) for layer in layers)
    return '{\n' + ''.join(lines) + '  "layers": [\n' + text + '\n  ]\n}\n'


def one_line(value):
    if isinstance(value, dict):
        inner = ', '.join(f'{json.dumps(key)}: {one_line(item)}' for key, item in value.items())
        return '{ ' + inner + ' }'
    if isinstance(value, (list, tuple)):
        return '[' + ', '.join(map(one_line, value)) + ']'
    return json.dumps(value, ensure_ascii=False)


# --- LeNet and small networks for MNIST --------------------------------------------------------

@family('lenet')
def lenet():
    net = Network(
        'lenet5', "LeNet-5 in Caffe's form, MNIST digits, 28x28",
        'LeCun et al. 1998 (Gradient-based learning applied to document recognition), as '
        'BVLC/caffe examples/mnist/lenet.prototxt: maximum pooling, one ReLU; layers are named as '
        'there', 'mnist', (1, 28, 28), 'upv_2018', 'lenet5_caffe')
    x = net.max_pool(net.conv(net.input, 'conv1', 20, 5, bias=True), 'pool1', 2, 2)
    x = net.max_pool(net.conv(x, 'conv2', 50, 5, bias=True), 'pool2', 2, 2)
    x = net.activation(net.fc(x, 'ip1', 500), 'relu1')
    net.softmax(net.fc(x, 'ip2', 10), 'prob')
    yield net

    net = Network(
        'lenet5_modern', 'LeNet-5 with a full C3, average pooling and a linear output, 32x32',
        'LeCun et al. 1998 as it is usually implemented again: C3 sees all maps (in the paper 60 '
        'of 96 pairs), S2 and S4 are plain averages, the output is fully connected',
        'mnist', (1, 32, 32))
    x = net.activation(net.conv(net.input, 'C1', 6, 5, bias=True), 'C1_tanh', 'tanh')
    x = net.average_pool(x, 'S2', 2, 2)
    x = net.activation(net.conv(x, 'C3', 16, 5, bias=True), 'C3_tanh', 'tanh')
    x = net.average_pool(x, 'S4', 2, 2)
    x = net.activation(net.conv(x, 'C5', 120, 5, bias=True), 'C5_tanh', 'tanh')
    x = net.activation(net.fc(x, 'F6', 84), 'F6_tanh', 'tanh')
    net.softmax(net.fc(x, 'out', 10))
    yield net

    net = Network(
        'lenet_tf_cnn_benchmarks', 'LeNet of tf_cnn_benchmarks, 28x28 in colour, 1001 classes',
        'tensorflow/benchmarks tf_cnn_benchmarks lenet: SAME padding. Another data set changes the '
        'number of classes (10 or 11), and with it affine1 alone', 'synthetic', (3, 28, 28),
        'tf_cnn_benchmarks upv_2018')
    x = net.max_pool(net.conv_relu(net.input, 'conv0', 32, 5, pad=2), 'mpool0', 2, 2)
    x = net.max_pool(net.conv_relu(x, 'conv1', 64, 5, pad=2), 'mpool1', 2, 2)
    x = net.activation(net.fc(x, 'affine0', 512), 'affine0_relu')
    net.softmax(net.fc(x, 'affine1', 1001))
    yield net

    net = Network('convnet_mnist_cntk', 'ConvNet_MNIST of CNTK, 28x28',
                  'microsoft/CNTK Examples/Image/Classification/ConvNet, ConvNet_MNIST', 'mnist',
                  (1, 28, 28), 'cntk upv_2018')
    x = net.max_pool(net.conv_relu(net.input, 'conv1', 32, 5, pad=2), 'pool1', 3, 2)
    x = net.max_pool(net.conv_relu(x, 'conv2', 48, 3), 'pool2', 3, 2)
    x = net.conv_relu(x, 'conv3', 64, 3)
    x = net.dropout(net.activation(net.fc(x, 'f4', 96), 'f4_relu'), 'f4_dropout')
    net.softmax(net.fc(x, 'out', 10))
    yield net

    net = Network('mnist_pytorch_examples', "PyTorch's MNIST example of 2018, 28x28",
                  'pytorch/examples mnist, middle of 2018. The dropout after conv2 drops whole '
                  'channels there', 'mnist', (1, 28, 28), 'upv_2018')
    x = net.max_pool(net.conv(net.input, 'conv1', 10, 5, bias=True), 'pool1', 2, 2)
    x = net.conv(net.activation(x, 'relu1'), 'conv2', 20, 5, bias=True)
    x = net.max_pool(net.dropout(x, 'conv2_dropout'), 'pool2', 2, 2)
    x = net.activation(net.fc(net.activation(x, 'relu2'), 'fc1', 50), 'relu3')
    net.softmax(net.fc(net.dropout(x, 'fc1_dropout'), 'fc2', 10))
    yield net

    net = Network('mnist_cnn_elshawi', 'CNN of the Tartu DLBench for MNIST, 28x28',
                  'DataSystemsGroupUT/DLBench (Elshawi et al.)', 'mnist', (1, 28, 28),
                  'elshawi_2021')
    x = net.conv_relu(net.conv_relu(net.input, 'conv1', 32, 3), 'conv2', 64, 3)
    x = net.dropout(net.max_pool(x, 'pool', 2, 2), 'pool_dropout', 0.25)
    x = net.dropout(net.activation(net.fc(x, 'fc1', 128), 'fc1_relu'), 'fc1_dropout')
    net.softmax(net.fc(x, 'fc2', 10))
    yield net


# --- AlexNet -----------------------------------------------------------------------------------

def classifier(net, x, outputs, hidden=(4096, 4096)):
    """fc6, fc7, ..., each but the last with ReLU and dropout, and the softmax."""
    number = 6
    for number, width in enumerate(hidden, 6):
        x = net.activation(net.fc(x, f'fc{number}', width), f'relu{number}')
        x = net.dropout(x, f'drop{number}')
    net.softmax(net.fc(x, f'fc{number + 1}', outputs))


def alexnet_of(net, filters, conv1_pad=0, groups=1, norm=None, pool_pads=(0, 0, 0), ceil=False,
               classes=1000):
    """Five convolutions and three fully connected layers. `norm` is the k of the LRN."""
    x = net.input
    layers = [(11, 4, conv1_pad, 1), (5, 1, 2, groups), (3, 1, 1, 1), (3, 1, 1, groups),
              (3, 1, 1, groups)]
    pools = {1: pool_pads[0], 2: pool_pads[1], 5: pool_pads[2]}
    for i, (k, (size, stride, pad, group)) in enumerate(zip(filters, layers), 1):
        x = net.conv(x, f'conv{i}', k, size, stride, pad, groups=group, bias=True)
        x = net.activation(x, f'relu{i}')
        if norm and i < 3:
            x = net.lrn(x, f'norm{i}', k=norm)
        if i in pools:
            x = net.max_pool(x, f'pool{i}', 3, 2, pools[i], ceil)
    classifier(net, x, classes)
    return net


@family('alexnet')
def alexnet():
    net = Network(
        'alexnet', 'AlexNet, one-column form, 224x224',
        'Krizhevsky 2014 (arXiv:1404.5997), as torchvision.models.alexnet: no groups, no local '
        'response normalisation', 'imagenet', (3, 224, 224),
        'convnet_benchmarks dlbs_hpe lerat_2021 upv_2018', 'alexnet_owt_224')
    x = net.input
    for i, (k, size, stride, pad) in enumerate([(64, 11, 4, 2), (192, 5, 1, 2), (384, 3, 1, 1),
                                                (256, 3, 1, 1), (256, 3, 1, 1)], 1):
        x = net.activation(net.conv(x, f'conv{i}', k, size, stride, pad, bias=True), f'relu{i}')
        if i in (1, 2, 5):
            x = net.max_pool(x, f'pool{i}', 3, 2)
    x = net.activation(net.fc(net.dropout(x, 'drop5', flat=True), 'fc6', 4096), 'relu6')
    x = net.activation(net.fc(net.dropout(x, 'drop6'), 'fc7', 4096), 'relu7')
    net.softmax(net.fc(x, 'fc8', 1000))
    yield net

    grouped, cntk = (96, 256, 384, 384, 256), (96, 192, 384, 384, 256)
    yield alexnet_of(Network(
        'alexnet_grouped_227', 'AlexNet as published, in two groups, 227x227',
        'Krizhevsky et al. 2012, as BVLC/caffe and NVIDIA/caffe models/bvlc_alexnet. The paper '
        'says 224x224, which its sizes do not fit', 'imagenet', (3, 227, 227), 'upv_2018'),
        grouped, groups=2, norm=1, ceil=True)
    yield alexnet_of(Network(
        'alexnet_grouped_224', 'AlexNet as published, in two groups, 224x224',
        "BVLC/caffe models/bvlc_alexnet at the image size of jcjohnson/cnn-benchmarks: Caffe's "
        'rounding up of pooled sizes makes it fit', 'imagenet', (3, 224, 224), 'cnn_benchmarks'),
        grouped, groups=2, norm=1, ceil=True)
    yield alexnet_of(Network(
        'alexnet_ungrouped_227', 'AlexNet without groups, 227x227',
        'HewlettPackard/dlcookbook-dlbs models/bvlc_alexnet (there also called alexnet). '
        'NVIDIA/caffe models/alexnet_owt is the same without LRN; it is not the network of '
        'arXiv:1404.5997', 'imagenet', (3, 227, 227), 'dlbench_hkbu dlbs_hpe upv_2018'), grouped, norm=1,
        ceil=True)
    yield alexnet_of(Network(
        'alexnet_tf_cnn_benchmarks_227', 'AlexNet of tf_cnn_benchmarks, 227x227, 1001 classes',
        'tensorflow/benchmarks tf_cnn_benchmarks alexnet: no LRN, 384 filters in conv4 '
        '(torchvision: 256)', 'imagenet', (3, 227, 227), 'tf_cnn_benchmarks upv_2018'),
        (64, 192, 384, 384, 256), classes=1001)
    yield alexnet_of(Network(
        'alexnet_mxnet_224', 'AlexNet of MXNet 1.2, 224x224',
        'apache/mxnet 1.2.0 example/image-classification/symbols/alexnet.py at its default image '
        'size: conv1 has no padding and pools round down, so fc6 has 6400 inputs', 'imagenet',
        (3, 224, 224), 'mxnet_perf upv_2018'), grouped, norm=2)
    yield alexnet_of(Network(
        'alexnet_cntk_227_padfalse', 'AlexNet of CNTK, pools without padding, 227x227',
        'microsoft/CNTK Examples/Image/Classification/AlexNet/Python. Whether its default pad=True '
        'reaches pools is not known from the source alone; see alexnet_cntk_227_padtrue',
        'imagenet', (3, 227, 227), 'cntk upv_2018'), cntk, norm=1)
    yield alexnet_of(Network(
        'alexnet_cntk_227_padtrue', 'AlexNet of CNTK, pools with padding, 227x227',
        'microsoft/CNTK Examples/Image/Classification/AlexNet/Python. Whether its default pad=True '
        'reaches pools is not known from the source alone; see alexnet_cntk_227_padfalse',
        'imagenet', (3, 227, 227), 'cntk upv_2018'), cntk, norm=1,
        pool_pads=(1, (0, 1, 0, 1), (0, 1, 0, 1)))

    net = Network(
        'alexnet_cifar_tf', 'AlexNet of tf_cnn_benchmarks for CIFAR-10, 11 classes, 32x32',
        "tensorflow/benchmarks tf_cnn_benchmarks alexnet for cifar10: SAME padding. Its LRN of "
        'radius 4 with alpha 0.001/9 is one of size 9 with alpha 0.001, which libraries divide by '
        'the size', 'cifar10', (3, 32, 32), 'tf_cnn_benchmarks upv_2018')
    x = net.conv_relu(net.input, 'conv0', 64, 5, pad=2)
    x = net.lrn(net.max_pool(x, 'mpool0', 3, 2, (0, 1, 0, 1)), 'norm0', 9, 0.001)
    x = net.lrn(net.conv_relu(x, 'conv1', 64, 5, pad=2), 'norm1', 9, 0.001)
    x = net.max_pool(x, 'mpool1', 3, 2, (0, 1, 0, 1))
    for i, width in enumerate((384, 192)):
        x = net.activation(net.fc(x, f'affine{i}', width), f'affine{i}_relu')
    net.softmax(net.fc(x, 'affine2', 11))
    yield net

    net = Network('alexnet_cifar_classification_nets', 'AlexNet of Classification_Nets, 32x32',
                  'BobLiu20/Classification_Nets, Caffe', 'cifar10', (3, 32, 32),
                  'classification_nets upv_2018')
    x = net.input
    for i, (k, size) in enumerate([(24, 7), (64, 5), (96, 3), (96, 3), (64, 3)], 1):
        x = net.conv_relu(x, f'Convolution{i}', k, size, pad=size // 2)
        if i in (1, 2, 5):
            x = net.max_pool(x, f'Pooling{min(i, 3)}', 3, 2, ceil=True)
    x = net.activation(net.fc(x, 'InnerProduct1', 512), 'InnerProduct1_relu')
    net.softmax(net.fc(net.dropout(x, 'InnerProduct1_dropout'), 'InnerProduct2', 10))
    yield net

    for suffix, ceil, where, what in (
            ('', True, 'Caffe', 'up'),
            ('_floorpool', False, 'Torch, TensorFlow and MXNet', 'down')):
        net = Network('alexnet_cifar_dlbench' + suffix,
                      f'"AlexNet" of DLBench, pooled sizes rounded {what}, 32x32',
                      f'hclhkbu/dlbench in {where}. The network resembles cifar10_full of Caffe, '
                      'not AlexNet', 'cifar10', (3, 32, 32), 'dlbench_hkbu')
        x = net.max_pool(net.conv(net.input, 'conv1', 32, 5, pad=2, bias=True), 'pool1', 3, 2,
                         ceil=ceil)
        x = net.conv_relu(net.activation(x, 'relu1'), 'conv2', 32, 5, pad=2)
        x = net.conv_relu(net.max_pool(x, 'pool2', 3, 2, ceil=ceil), 'conv3', 64, 5, pad=2)
        x = net.average_pool(x, 'pool3', 3, 2, ceil=ceil)
        net.softmax(net.fc(x, 'fc1', 10))
        yield net


# --- VGG and other plain networks --------------------------------------------------------------

def vgg_convs(net, depths, last_pool=True, ceil=False):
    x = net.input
    for stage, (depth, k) in enumerate(zip(depths, (64, 128, 256, 512, 512)), 1):
        for i in range(1, depth + 1):
            x = net.conv(x, f'conv{stage}_{i}', k, 3, pad=1, bias=True)
            x = net.activation(x, f'relu{stage}_{i}')
        if stage < 5 or last_pool:
            x = net.max_pool(x, f'pool{stage}', 2, 2, ceil=ceil)
    return x


@family('vgg')
def vgg():
    for depth, letter, depths, studies in (
            (11, 'A', (1, 1, 2, 2, 2), 'convnet_benchmarks dlbs_hpe tf_cnn_benchmarks'),
            (13, 'B', (2, 2, 2, 2, 2), 'dlbs_hpe'),
            (16, 'D', (2, 2, 3, 3, 3), 'cnn_benchmarks dlbs_hpe lerat_2021 mxnet_perf tf_cnn_benchmarks upv_2018'),
            (19, 'E', (2, 2, 4, 4, 4), 'cnn_benchmarks dlbs_hpe tf_cnn_benchmarks')):
        net = Network(
            f'vgg{depth}', f'VGG-{depth} (configuration {letter}), 224x224',
            f'Simonyan and Zisserman 2014 (arXiv:1409.1556), as torchvision.models.vgg{depth}; '
            "layers are named as in the paper's Caffe model", 'imagenet', (3, 224, 224), studies,
            f'vgg{depth}_{letter}')
        classifier(net, vgg_convs(net, depths), 1000)
        yield net
    net = Network('vgg16_cifar_classification_nets', 'VGG-16 of Classification_Nets, 32x32',
                  'BobLiu20/Classification_Nets, Caffe, in a file named vgg15', 'cifar10',
                  (3, 32, 32), 'classification_nets upv_2018')
    classifier(net, vgg_convs(net, (2, 2, 3, 3, 3)), 10)
    yield net


@family('convnet')
def convnet():
    net = Network('overfeat_fast', 'OverFeat, fast model, 231x231',
                  'soumith/convnet-benchmarks and HewlettPackard/dlcookbook-dlbs; no dropout there',
                  'imagenet', (3, 231, 231), 'convnet_benchmarks dlbs_hpe tf_cnn_benchmarks')
    x = net.input
    for i, (k, size, stride, pad) in enumerate([(96, 11, 4, 0), (256, 5, 1, 0), (512, 3, 1, 1),
                                                (1024, 3, 1, 1), (1024, 3, 1, 1)], 1):
        x = net.conv_relu(x, f'conv{i}', k, size, stride, pad)
        if i in (1, 2, 5):
            x = net.max_pool(x, f'pool{i}', 2, 2)
    for i, width in enumerate((3072, 4096), 6):
        x = net.activation(net.fc(x, f'fc{i}', width), f'fc{i}_relu')
    net.softmax(net.fc(x, 'fc8', 1000))
    yield net

    net = Network('cnn_cifar_ilkarman', 'CNN of DeepLearningFrameworks for CIFAR-10, 32x32',
                  'ilkarman/DeepLearningFrameworks', 'cifar10', (3, 32, 32), 'ilkarman_2018')
    x = net.input
    for i, k in enumerate((50, 100)):
        x = net.conv_relu(x, f'conv{2 * i + 1}', k, 3, pad=1)
        x = net.conv(x, f'conv{2 * i + 2}', k, 3, pad=1, bias=True)
        x = net.activation(net.max_pool(x, f'pool{i + 1}', 2, 2), f'pool{i + 1}_relu')
        x = net.dropout(x, f'pool{i + 1}_dropout', 0.25)
    x = net.dropout(net.activation(net.fc(x, 'fc1', 512), 'fc1_relu'), 'fc1_dropout')
    net.softmax(net.fc(x, 'fc2', 10))
    yield net

    for classes, filters, hidden in ((10, (32, 64), 512), (100, (128, 256, 512), 1024)):
        net = Network(f'cifar{classes}_cnn_elshawi',
                      f'CNN of the Tartu DLBench for CIFAR-{classes}, 32x32',
                      'DataSystemsGroupUT/DLBench (Elshawi et al.)', f'cifar{classes}', (3, 32, 32),
                      'elshawi_2021')
        x = net.input
        for i, k in enumerate(filters):
            x = net.conv_relu(x, f'conv{2 * i + 1}', k, 3, pad=1)
            x = net.max_pool(net.conv_relu(x, f'conv{2 * i + 2}', k, 3), f'p{i + 1}', 2, 2)
        x = net.dropout(net.activation(net.fc(x, 'fc1', hidden), 'fc1_relu'), 'fc1_dropout')
        net.softmax(net.fc(x, 'fc2', classes))
        yield net

    net = Network('svhn_cnn_elshawi', 'CNN of the Tartu DLBench for SVHN, 32x32',
                  'DataSystemsGroupUT/DLBench (Elshawi et al.): pools have SAME padding and a '
                  'stride of 2 and 1 in turns', 'svhn', (3, 32, 32), 'elshawi_2021')
    x = net.conv_relu(net.input, 'conv1', 48, 5, pad=2)
    x = net.max_pool(x, 'p1', 2, 2)
    for i, k in enumerate((64, 128, 160, 192, 192, 192, 192), 2):
        x = net.conv_bn(x, f'conv{i}', k, 5, pad=2, bias=True)
        x = net.max_pool(x, f'p{i}', 2, 2) if i % 2 else net.max_pool(x, f'p{i}', 2, 1,
                                                                      (0, 1, 0, 1))
    x = net.dropout(net.activation(net.fc(x, 'fc1', 3072), 'fc1_relu'), 'fc1_dropout')
    net.softmax(net.fc(x, 'fc2', 10))
    yield net

    net = Network('text_cnn_dlbs', 'Convolutions of three heights over a sentence, 59x128',
                  'HewlettPackard/dlcookbook-dlbs text_cnn', 'text', (1, 59, 128), 'dlbs_hpe')
    branches = [net.conv(net.input, f'conv{r}x128', 128, (r, 128), pad=(r // 2, 0), bias=True)
                for r in (1, 3, 5)]
    x = net.activation(net.concat(branches, 'concat'), 'relu')
    net.softmax(net.fc(net.max_pool(x, 'pool', (59, 1), 1), 'fc', 10))
    yield net


# --- Fully connected networks ------------------------------------------------------------------

def mlp(net, widths, kind):
    x = net.input
    for i, width in enumerate(widths[:-1], 1):
        x = net.activation(net.fc(x, f'fc{i}', width), f'fc{i}_{kind}', kind)
    net.softmax(net.fc(x, f'fc{len(widths)}', widths[-1]))
    return net


@family('mlp')
def mlp_networks():
    dlbench, dlbs = 'hclhkbu/dlbench', 'HewlettPackard/dlcookbook-dlbs'
    for name, title, source, data, inputs, widths, kind in (
            ('fcn5_mnist', 'Four fully connected layers, MNIST',
             f'{dlbench} fcn5 of Caffe, MXNet, TensorFlow and Torch', 'mnist', 784,
             (2048, 4096, 1024, 10), 'sigmoid'),
            ('fcn5_mnist_cntk', 'Four fully connected layers, MNIST, in the order of CNTK',
             f"{dlbench} fcn5 of CNTK. The project's number of parameters, 13707264, has no biases",
             'mnist', 784, (4096, 2048, 1024, 10), 'sigmoid'),
            ('fcn5_synth_26752', 'Four fully connected layers, 26752 inputs and outputs',
             f'{dlbench} synthetic fcn5. Third parties give about 55 million parameters; with '
             '26752 outputs there are 117997696', 'synthetic', 26752, (2048, 2048, 2048, 26752),
             'sigmoid'),
            ('fcn8_synth_26752', 'Seven fully connected layers, 26752 inputs and outputs',
             f'{dlbench} synthetic fcn8', 'synthetic', 26752, (*[2048] * 6, 26752), 'sigmoid'),
            ('fcn8_mnist_tf', 'Seven fully connected layers, MNIST',
             f'{dlbench} fcn8 of TensorFlow', 'mnist', 784, (*[2048] * 6, 10), 'sigmoid'),
            ('acoustic_model_dlbs', 'Acoustic model of six fully connected layers',
             f'{dlbs} acoustic_model', 'speech', 540, (*[2048] * 5, 8192), 'relu'),
            ('deep_mnist_dlbs', 'Six fully connected layers, MNIST', f'{dlbs} deep_mnist', 'mnist',
             784, (2500, 2000, 1500, 1000, 500, 10), 'relu'),
            ('sensor_net_dlbs', 'Four fully connected layers of a sensor', f'{dlbs} sensor_net',
             'synthetic', 784, (1024, 1024, 1024, 16), 'relu')):
        studies = 'dlbs_hpe' if name.endswith('dlbs') else 'dlbench_hkbu'
        yield mlp(Network(name, title, source, data, (inputs,), studies), widths, kind)


# --- GoogLeNet and Inception -------------------------------------------------------------------

# Channels of the modules: 1x1, 3x3 reduce, 3x3, 5x5 reduce, 5x5, projection of the pool.
GOOGLENET = {'3a': (64, 96, 128, 16, 32, 32), '3b': (128, 128, 192, 32, 96, 64),
             '4a': (192, 96, 208, 16, 48, 64), '4b': (160, 112, 224, 24, 64, 64),
             '4c': (128, 128, 256, 24, 64, 64), '4d': (112, 144, 288, 32, 64, 64),
             '4e': (256, 160, 320, 32, 128, 128), '5a': (256, 160, 320, 32, 128, 128),
             '5b': (384, 192, 384, 48, 128, 128)}


def inception_v1(net, x, name, channels, unit, third=5):
    """A module of four branches. `unit` adds a convolution with what follows it."""
    name = 'inception_' + name
    one, reduce3, three, reduce5, five, project = channels
    first = unit(x, name + '_1x1', one, 1)
    second = unit(unit(x, name + '_3x3_reduce', reduce3, 1), name + '_3x3', three, 3, pad=1)
    last = unit(x, name + '_5x5_reduce', reduce5, 1)
    last = unit(last, name + '_5x5', five, third, pad=third // 2)
    pooled = unit(net.max_pool(x, name + '_pool', 3, 1, 1), name + '_pool_proj', project, 1)
    return net.concat([first, second, last, pooled], name + '_output')


def auxiliary_head(net, x, name, classes, pool):
    x = net.average_pool(x, f'loss{name}_ave_pool', *pool)
    x = net.conv_relu(x, f'loss{name}_conv', 128, 1)
    x = net.activation(net.fc(x, f'loss{name}_fc', 1024), f'loss{name}_fc_relu')
    x = net.dropout(x, f'loss{name}_drop', 0.7)
    net.softmax(net.fc(x, f'loss{name}_classifier', classes), f'loss{name}_softmax')


def googlenet_of(net, classes, conv1_pad=3, pool_pad=0, ceil=False, norm=True, heads=None,
                 unit=None, third=5, last_pool=(3, 2)):
    """`heads` is the size and stride of the pools of the two auxiliary heads."""
    unit = unit or net.conv_relu

    def pool(x, name, size=3, stride=2):
        return net.max_pool(x, name, size, stride, pool_pad, ceil)

    x = pool(unit(net.input, 'conv1_7x7', 64, 7, 2, conv1_pad), 'pool1')
    if norm:
        x = net.lrn(x, 'norm1')
    x = unit(unit(x, 'conv2_3x3_reduce', 64, 1), 'conv2_3x3', 192, 3, pad=1)
    if norm:
        x = net.lrn(x, 'norm2')
    x = pool(x, 'pool2')
    pools = {'3b': ('pool3', 3, 2), '4e': ('pool4', *last_pool)}
    for name, channels in GOOGLENET.items():
        x = inception_v1(net, x, name, channels, unit, third)
        if heads and name in ('4a', '4d'):
            auxiliary_head(net, x, '1' if name == '4a' else '2', classes, heads)
        if name in pools:
            x = pool(x, *pools[name])
    if x.dims[1] > 1:
        x = net.global_pool(x, 'pool5')
    if norm or unit != net.conv_relu:
        x = net.dropout(x, 'pool5_drop', 0.4 if norm else 0.2)
    net.softmax(net.fc(x, 'loss3_classifier', classes))
    return net


@family('googlenet')
def googlenet():
    yield googlenet_of(Network(
        'googlenet_v1', 'GoogLeNet (Inception v1) without auxiliary heads, 224x224',
        'Szegedy et al. 2014 (arXiv:1409.4842), as BVLC/caffe and NVIDIA/caffe '
        'models/bvlc_googlenet: LRN, no batchnorm, pooled sizes rounded up; layers are named after '
        'the prototxt', 'imagenet', (3, 224, 224),
        'cnn_benchmarks convnet_benchmarks dlbs_hpe upv_2018', 'googlenet'), 1000, ceil=True)
    yield googlenet_of(Network(
        'googlenet_v1_train_aux', 'GoogLeNet (Inception v1) with its auxiliary heads, 224x224',
        'BVLC/caffe models/bvlc_googlenet/train_val.prototxt: googlenet_v1 with two heads that '
        'only training needs', 'imagenet', (3, 224, 224), 'upv_2018'), 1000, ceil=True,
        heads=(5, 3))
    yield googlenet_of(Network(
        'googlenet_tf_cnn_benchmarks', 'GoogLeNet of tf_cnn_benchmarks, 224x224, 1001 classes',
        'tensorflow/benchmarks tf_cnn_benchmarks googlenet: SAME padding, no LRN, no heads',
        'imagenet', (3, 224, 224), 'tf_cnn_benchmarks upv_2018'), 1001, (2, 3, 2, 3), (0, 1, 0, 1),
        norm=False)
    yield googlenet_of(Network(
        'googlenet_mxnet_floorpool', 'GoogLeNet of MXNet, pooled sizes rounded down, 224x224',
        'apache/mxnet example/image-classification/symbols/googlenet.py: no padding of pools, no '
        'LRN, no heads; the last average is taken over all of the 6x6 pixels', 'imagenet',
        (3, 224, 224), 'mxnet_perf upv_2018'), 1000, norm=False)
    net = Network(
        'googlenet_torchvision_bn', 'GoogLeNet of torchvision, with batchnorm, 224x224',
        'torchvision.models.googlenet without auxiliary heads: batchnorm after every convolution, '
        '3x3 filters in the branch of 5x5', 'imagenet', (3, 224, 224))
    net.epsilon = 0.001
    yield googlenet_of(net, 1000, ceil=True, norm=False, unit=net.conv_bn, third=3,
                       last_pool=(2, 2))
    for suffix, heads in (('', None), ('_train_aux', (2, 1))):
        yield googlenet_of(Network(
            'googlenet_cifar_classification_nets' + suffix,
            'GoogLeNet of Classification_Nets' + (', with auxiliary heads' if heads else '') +
            ', 32x32',
            'BobLiu20/Classification_Nets, Caffe: the stem of 224x224 is kept, so the last maps '
            'have one pixel', 'cifar10', (3, 32, 32), 'classification_nets upv_2018'), 10,
            ceil=True, heads=heads)


# Channels of the modules of BN-Inception: 1x1, 3x3 reduce, 3x3, double 3x3 reduce, double 3x3,
# kind of the pool, its projection. Without 1x1 the stride is 2 and the pool has no projection.
BN_INCEPTION = {
    '3a': (64, 64, 64, 64, 96, 'average', 32), '3b': (64, 64, 96, 64, 96, 'average', 64),
    '3c': (0, 128, 160, 64, 96, 'max', 0), '4a': (224, 64, 96, 96, 128, 'average', 128),
    '4b': (192, 96, 128, 96, 128, 'average', 128), '4c': (160, 128, 160, 128, 160, 'average', 128),
    '4d': (96, 128, 192, 160, 192, 'average', 128), '4e': (0, 128, 192, 192, 256, 'max', 0),
    '5a': (352, 192, 320, 160, 224, 'average', 128), '5b': (352, 192, 320, 192, 224, 'max', 128)}
BN_INCEPTION_CIFAR = {
    '3a': (32, 32, 32, 32, 48, 'average', 16), '3b': (0, 64, 80, 32, 48, 'max', 0),
    '4a': (96, 48, 64, 48, 64, 'average', 64), '4b': (48, 64, 96, 80, 96, 'average', 64),
    '4c': (0, 128, 192, 192, 256, 'max', 0), '5a': (176, 96, 160, 96, 112, 'max', 64)}


def bn_inception_module(net, x, name, channels, unit, count_padding):
    one, reduce, three, reduce_double, double, kind, project = channels
    stride = 1 if one else 2
    branches = [unit(x, name + '_1x1', one, 1)] if one else []
    y = unit(x, name + '_3x3_reduce', reduce, 1)
    branches.append(unit(y, name + '_3x3', three, 3, stride, 1))
    y = unit(unit(x, name + '_double3x3_reduce', reduce_double, 1), name + '_double3x3_1', double,
             3, 1, 1)
    branches.append(unit(y, name + '_double3x3_2', double, 3, stride, 1))
    y = net.pool(x, name + '_pool', kind, 3, stride, 1,
                 count_padding=count_padding or kind == 'max')
    branches.append(unit(y, name + '_pool_proj', project, 1) if project else y)
    return net.concat(branches, name + '_output')


def bn_inception_of(net, modules, stem, bias, pool_pad=0, count_padding=True, classes=1000):
    def unit(x, name, k, size, stride=1, pad=0):
        return net.conv_bn(x, name, k, size, stride, pad, bias=bias)

    x = net.input
    for name, *sizes in stem:
        x = unit(x, name, *sizes) if sizes else net.max_pool(x, name, 3, 2, pool_pad)
    for name, channels in modules.items():
        x = bn_inception_module(net, x, 'inception_' + name, channels, unit, count_padding)
    net.softmax(net.fc(net.global_pool(x), 'fc', classes))
    return net


@family('inception')
def inception():
    stem = [('conv1', 64, 7, 2, 3), ('pool1',), ('conv2_reduce', 64, 1), ('conv2', 192, 3, 1, 1),
            ('pool2',)]
    yield bn_inception_of(Network(
        'bn_inception_cntk_224', 'BN-Inception (Inception v2) of CNTK, 224x224',
        'microsoft/CNTK Examples/Image/Classification/GoogLeNet/BN-Inception, there called '
        'GoogLeNet. The paddings of pools (1 before, 0 after) assume centred windows', 'imagenet',
        (3, 224, 224), 'cntk upv_2018', 'inception_v2'), BN_INCEPTION, stem, False, (1, 0, 1, 0),
        False)
    yield bn_inception_of(Network(
        'inception_bn_mxnet_224', 'Inception-BN of MXNet, 224x224',
        'apache/mxnet example/image-classification/symbols/inception-bn.py: convolutions keep '
        'their biases, pools of the stem have no padding', 'imagenet', (3, 224, 224), 'mxnet_perf'),
        BN_INCEPTION, stem, True)
    stem = [('conv1a', 32, 3, 1, 1), ('conv1b', 32, 3, 1, 1), ('conv1c', 32, 3, 1, 1),
            ('conv2a', 32, 1), ('conv2b', 64, 3, 1, 1)]
    yield bn_inception_of(Network(
        'bn_inception_cifar_cntk', 'BN-Inception of CNTK for CIFAR-10, 32x32',
        'microsoft/CNTK Examples/Image/Classification/GoogLeNet/BN-Inception/Python: its only '
        'GoogLeNet for CIFAR-10', 'cifar10', (3, 32, 32), 'cntk upv_2018'), BN_INCEPTION_CIFAR,
        stem, False, count_padding=False, classes=10)

    net = Network(
        'inception_bn_small_mxnet_28', 'Inception-BN of MXNet for small images, 28x28',
        'apache/mxnet example/image-classification/symbols/inception-bn.py for heights up to 28. '
        'Probably what the UPV study of 2018 ran as GoogLeNet of MXNet on CIFAR-10, whose '
        'googlenet.py does not fit the image', 'cifar10', (3, 28, 28), 'upv_2018')
    x = net.conv_bn(net.input, 'conv1', 96, 3, 1, 1, bias=True)
    for name, one, three in (('3a', 32, 32), ('3b', 32, 48), ('3c', 0, 80), ('4a', 112, 48),
                             ('4b', 96, 64), ('4c', 80, 80), ('4d', 48, 96), ('4e', 0, 96),
                             ('5a', 176, 160), ('5b', 176, 160)):
        name = 'inception_' + name
        if one:
            branches = [net.conv_bn(x, name + '_1x1', one, 1, bias=True),
                        net.conv_bn(x, name + '_3x3', three, 3, 1, 1, bias=True)]
        else:
            branches = [net.conv_bn(x, name + '_conv', three, 3, 2, 1, bias=True),
                        net.max_pool(x, name + '_pool', 3, 2, 1)]
        x = net.concat(branches, name + '_output')
    net.softmax(net.fc(net.global_pool(x), 'fc', 10))
    yield net

    yield inception_v3()
    yield inception_v4()


def branches_of(net, x, name, lists):
    """Concatenates branches: lists of (name, filters, size, stride, pad) one after the other."""
    outputs = []
    for steps in lists:
        y = x
        for step, k, size, *how in steps:
            y = net.conv_bn(y, f'{name}_{step}', k, size, *how)
        outputs.append(y)
    return outputs


def inception_v3():
    net = Network(
        'inception_v3', 'Inception v3 without its auxiliary head, 299x299',
        'Szegedy et al. 2015 (arXiv:1512.00567), as torchvision.models.inception_v3; layers are '
        'named as there', 'imagenet', (3, 299, 299),
        'dlbs_hpe mxnet_perf tf_cnn_benchmarks')
    net.epsilon = 0.001
    wide, high, p_wide, p_high = (1, 7), (7, 1), (0, 3), (3, 0)
    x = net.input
    for name, k, size, stride, pad in (('1a_3x3', 32, 3, 2, 0), ('2a_3x3', 32, 3, 1, 0),
                                       ('2b_3x3', 64, 3, 1, 1), ('maxpool1', 0, 3, 2, 0),
                                       ('3b_1x1', 80, 1, 1, 0), ('4a_3x3', 192, 3, 1, 0),
                                       ('maxpool2', 0, 3, 2, 0)):
        x = (net.conv_bn(x, 'conv2d_' + name, k, size, stride, pad) if k else
             net.max_pool(x, name, size, stride))

    def pooled(name, k):
        y = net.average_pool(x, name + '_pool', 3, 1, 1)
        return net.conv_bn(y, name + '_branch_pool', k, 1)

    for name, k in (('5b', 32), ('5c', 64), ('5d', 64)):
        name = 'mixed_' + name
        outputs = branches_of(net, x, name, [
            [('branch1x1', 64, 1)], [('branch5x5_1', 48, 1), ('branch5x5_2', 64, 5, 1, 2)],
            [('branch3x3dbl_1', 64, 1), ('branch3x3dbl_2', 96, 3, 1, 1),
             ('branch3x3dbl_3', 96, 3, 1, 1)]])
        x = net.concat([*outputs, pooled(name, k)], name)
    outputs = branches_of(net, x, 'mixed_6a', [
        [('branch3x3', 384, 3, 2)],
        [('branch3x3dbl_1', 64, 1), ('branch3x3dbl_2', 96, 3, 1, 1), ('branch3x3dbl_3', 96, 3, 2)]])
    x = net.concat([*outputs, net.max_pool(x, 'mixed_6a_pool', 3, 2)], 'mixed_6a')
    for name, c in (('6b', 128), ('6c', 160), ('6d', 160), ('6e', 192)):
        name = 'mixed_' + name
        outputs = branches_of(net, x, name, [
            [('branch1x1', 192, 1)],
            [('branch7x7_1', c, 1), ('branch7x7_2', c, wide, 1, p_wide),
             ('branch7x7_3', 192, high, 1, p_high)],
            [('branch7x7dbl_1', c, 1), ('branch7x7dbl_2', c, high, 1, p_high),
             ('branch7x7dbl_3', c, wide, 1, p_wide), ('branch7x7dbl_4', c, high, 1, p_high),
             ('branch7x7dbl_5', 192, wide, 1, p_wide)]])
        x = net.concat([*outputs, pooled(name, 192)], name)
    outputs = branches_of(net, x, 'mixed_7a', [
        [('branch3x3_1', 192, 1), ('branch3x3_2', 320, 3, 2)],
        [('branch7x7x3_1', 192, 1), ('branch7x7x3_2', 192, wide, 1, p_wide),
         ('branch7x7x3_3', 192, high, 1, p_high), ('branch7x7x3_4', 192, 3, 2)]])
    x = net.concat([*outputs, net.max_pool(x, 'mixed_7a_pool', 3, 2)], 'mixed_7a')
    for name in ('mixed_7b', 'mixed_7c'):
        first = net.conv_bn(x, name + '_branch1x1', 320, 1)
        y = net.conv_bn(x, name + '_branch3x3_1', 384, 1)
        second = net.concat(split(net, y, name + '_branch3x3_2', 384), name + '_branch3x3')
        y = net.conv_bn(x, name + '_branch3x3dbl_1', 448, 1)
        y = net.conv_bn(y, name + '_branch3x3dbl_2', 384, 3, 1, 1)
        third = net.concat(split(net, y, name + '_branch3x3dbl_3', 384), name + '_branch3x3dbl')
        x = net.concat([first, second, third, pooled(name, 192)], name)
    x = net.dropout(net.global_pool(x), 'dropout')
    net.softmax(net.fc(x, 'fc', 1000))
    return net


def split(net, x, name, k):
    """A 1x3 and a 3x1 convolution of the same source."""
    return [net.conv_bn(x, name + 'a', k, (1, 3), 1, (0, 1)),
            net.conv_bn(x, name + 'b', k, (3, 1), 1, (1, 0))]


def inception_v4():
    net = Network(
        'inception_v4', 'Inception v4, 299x299',
        'Szegedy et al. 2016 (arXiv:1602.07261), figures 3 to 9; averages do not count padding, as '
        'in the TensorFlow model of the authors', 'imagenet', (3, 299, 299),
        'dlbs_hpe tf_cnn_benchmarks')
    net.epsilon = 0.001
    wide, high, p_wide, p_high = (1, 7), (7, 1), (0, 3), (3, 0)
    x = net.conv_bn(net.conv_bn(net.input, 'stem_1', 32, 3, 2), 'stem_2', 32, 3)
    x = net.conv_bn(x, 'stem_3', 64, 3, 1, 1)
    pool = net.max_pool(x, 'mixed_3a_pool', 3, 2)
    x = net.concat([pool, net.conv_bn(x, 'mixed_3a_conv', 96, 3, 2)], 'mixed_3a')
    x = net.concat(branches_of(net, x, 'mixed_4a', [
        [('branch0_1', 64, 1), ('branch0_2', 96, 3)],
        [('branch1_1', 64, 1), ('branch1_2', 64, wide, 1, p_wide),
         ('branch1_3', 64, high, 1, p_high), ('branch1_4', 96, 3)]]), 'mixed_4a')
    y = net.conv_bn(x, 'mixed_5a_conv', 192, 3, 2)
    x = net.concat([y, net.max_pool(x, 'mixed_5a_pool', 3, 2)], 'mixed_5a')

    def pooled(name, k):
        y = net.average_pool(x, name + '_pool', 3, 1, 1, count_padding=False)
        return net.conv_bn(y, name + '_branch3', k, 1)

    for i in range(4):
        name = f'inception_a{i + 1}'
        outputs = branches_of(net, x, name, [
            [('branch0', 96, 1)], [('branch1_1', 64, 1), ('branch1_2', 96, 3, 1, 1)],
            [('branch2_1', 64, 1), ('branch2_2', 96, 3, 1, 1), ('branch2_3', 96, 3, 1, 1)]])
        x = net.concat([*outputs, pooled(name, 96)], name)
    outputs = branches_of(net, x, 'reduction_a', [
        [('branch0', 384, 3, 2)],
        [('branch1_1', 192, 1), ('branch1_2', 224, 3, 1, 1), ('branch1_3', 256, 3, 2)]])
    x = net.concat([*outputs, net.max_pool(x, 'reduction_a_pool', 3, 2)], 'reduction_a')
    for i in range(7):
        name = f'inception_b{i + 1}'
        outputs = branches_of(net, x, name, [
            [('branch0', 384, 1)],
            [('branch1_1', 192, 1), ('branch1_2', 224, wide, 1, p_wide),
             ('branch1_3', 256, high, 1, p_high)],
            [('branch2_1', 192, 1), ('branch2_2', 192, high, 1, p_high),
             ('branch2_3', 224, wide, 1, p_wide), ('branch2_4', 224, high, 1, p_high),
             ('branch2_5', 256, wide, 1, p_wide)]])
        x = net.concat([*outputs, pooled(name, 128)], name)
    outputs = branches_of(net, x, 'reduction_b', [
        [('branch0_1', 192, 1), ('branch0_2', 192, 3, 2)],
        [('branch1_1', 256, 1), ('branch1_2', 256, wide, 1, p_wide),
         ('branch1_3', 320, high, 1, p_high), ('branch1_4', 320, 3, 2)]])
    x = net.concat([*outputs, net.max_pool(x, 'reduction_b_pool', 3, 2)], 'reduction_b')
    for i in range(3):
        name = f'inception_c{i + 1}'
        outputs = [net.conv_bn(x, name + '_branch0', 256, 1)]
        y = net.conv_bn(x, name + '_branch1_1', 384, 1)
        outputs += split(net, y, name + '_branch1_2', 256)
        y = net.conv_bn(x, name + '_branch2_1', 384, 1)
        y = net.conv_bn(y, name + '_branch2_2', 448, (3, 1), 1, (1, 0))
        y = net.conv_bn(y, name + '_branch2_3', 512, (1, 3), 1, (0, 1))
        outputs += split(net, y, name + '_branch2_4', 256)
        x = net.concat([*outputs, pooled(name, 256)], name)
    x = net.dropout(net.global_pool(x), 'dropout', 0.2)
    net.softmax(net.fc(x, 'fc', 1000))
    return net


# --- ResNet ------------------------------------------------------------------------------------

DEPTHS = {18: (2, 2, 2, 2), 34: (3, 4, 6, 3), 50: (3, 4, 6, 3), 101: (3, 4, 23, 3),
          152: (3, 8, 36, 3), 200: (3, 24, 36, 3), 269: (3, 30, 48, 8)}


def residual_block(net, x, name, convs, stride_in, stride):
    """torchvision's block: `convs` are (filters, size), the stride is in number `stride_in`."""
    y = x
    for i, (k, size) in enumerate(convs, 1):
        y = net.conv(y, f'{name}_conv{i}', k, size, stride if i == stride_in else 1, size // 2)
        y = net.batchnorm(y, f'{name}_bn{i}')
        if i < len(convs):
            y = net.activation(y, f'{name}_relu{i}')
    if y.dims != x.dims:
        x = net.conv(x, name + '_downsample_conv', y.dims[0], 1, stride)
        x = net.batchnorm(x, name + '_downsample_bn')
    return net.activation(net.add(y, x, name + '_add'), f'{name}_relu{len(convs)}')


def imagenet_resnet(net, depth, stride_in=1, classes=1000):
    x = net.conv(net.input, 'conv1', 64, 7, 2, 3)
    x = net.activation(net.batchnorm(x, 'bn1'), 'relu1')
    x = net.max_pool(x, 'maxpool', 3, 2, 1)
    for stage, blocks in enumerate(DEPTHS[depth]):
        k = 64 << stage
        convs = [(k, 3), (k, 3)] if depth < 50 else [(k, 1), (k, 3), (4 * k, 1)]
        for i in range(blocks):
            x = residual_block(net, x, f'layer{stage + 1}_{i}', convs, stride_in,
                               2 if stage and not i else 1)
    net.softmax(net.fc(net.global_pool(x), 'fc', classes))
    return net


def preactivation_unit(net, x, name, convs, stride_in, stride, project):
    """Normalizes before each convolution; `project`: the shortcut is a convolution."""
    first = y = net.bn_relu(x, name + '_bn1')
    for i, (k, size) in enumerate(convs, 1):
        if i > 1:
            y = net.bn_relu(y, f'{name}_bn{i}')
        y = net.conv(y, f'{name}_conv{i}', k, size, stride if i == stride_in else 1, size // 2)
    if project:
        x = net.conv(first, name + '_sc', y.dims[0], 1, stride)
    return net.add(y, x, name + '_add')


def preactivation_resnet(net, x, stages, units, classes, first_project=True):
    """`stages` are lists of (filters, size); all but the first begin with a stride of 2."""
    for stage, (convs, count) in enumerate(zip(stages, units), 1):
        stride_in = 2 if len(convs) == 3 else 1
        for i in range(1, count + 1):
            x = preactivation_unit(net, x, f'stage{stage}_unit{i}', convs, stride_in,
                                   2 if stage > 1 and i == 1 else 1,
                                   i == 1 and (stage > 1 or first_project))
    x = net.global_pool(net.bn_relu(x, 'bn1'))
    net.softmax(net.fc(x, 'fc', classes))
    return net


@family('resnet')
def resnet():
    image = (3, 224, 224)
    he = 'He et al. 2015 (arXiv:1512.03385), '
    of_18 = 'cnn_benchmarks dlbs_hpe'
    of_50 = ('cnn_benchmarks cntk dawnbench deep_learning_examples dlbench_hkbu ilkarman_2018 '
             'resbench_2022 tf_cnn_benchmarks upv_2018')
    for depth, studies, aliases in ((18, of_18, ''), (34, of_18, ''),
                                    (50, of_50, 'resnet50_v1.5'),
                                    (101, 'cnn_benchmarks', 'resnet101_v1.5'),
                                    (152, 'cnn_benchmarks dawnbench', 'resnet152_v1.5')):
        small = depth < 50
        title = f'ResNet-{depth}' + ('' if small else ' v1.5') + ', 224x224'
        stride = '' if small else 'with the stride in the 3x3 of a down-sampling block '
        yield imagenet_resnet(Network(
            f'resnet{depth}', title,
            f'{he}{stride}as {"" if small else "in "}torchvision.models.resnet{depth}; layers are '
            'named as there', 'imagenet', image, studies, aliases), depth, 1 if small else 2)
    for depth, studies in ((50, 'dlbs_hpe lerat_2021 tf_cnn_benchmarks upv_2018'),
                           (101, 'cnn_benchmarks dlbs_hpe'),
                           (152, 'dlbs_hpe tf_cnn_benchmarks')):
        yield imagenet_resnet(Network(
            f'resnet{depth}_v1', f'ResNet-{depth} v1, 224x224',
            f'{he}with the stride in the first 1x1 of a down-sampling block, as there and as in '
            'NVIDIA/caffe' + ('. KaimingHe/deep-residual-networks and dlcookbook-dlbs have a bias '
                              'in conv1 as well (64 parameters)' if depth == 50 else ''),
            'imagenet', image, studies), depth)
    for depth in (200, 269):
        yield imagenet_resnet(Network(
            f'resnet{depth}', f'ResNet-{depth}, 224x224',
            f'HewlettPackard/dlcookbook-dlbs models/resnet{depth}: stride in the first 1x1',
            'imagenet', image, 'dlbs_hpe'), depth)
    yield imagenet_resnet(Network(
        'resnet50_32px', 'ResNet-50 v1.5 on small images, 32x32',
        f'{he}the network of resnet50 without a change but the 100 classes of CIFAR-100, as in '
        'ResBench', 'cifar100', (3, 32, 32), 'resbench_2022'), 50, 2, 100)

    widths = (64, 128, 256, 512)
    stages = [[(k, 1), (k, 3), (4 * k, 1)] for k in widths]
    mxnet = ('apache/mxnet example/image-classification/symbols/resnet.py, 50 layers: a batchnorm '
             'of the image that learns its shift alone, normalization before convolutions, '
             'projections without batchnorm')
    net = Network('resnet50_mxnet_preact', 'ResNet-50 of MXNet, pre-activation, 224x224',
                  mxnet, 'imagenet', image, 'mxnet_perf upv_2018')
    x = net.conv(net.batchnorm(net.input, 'bn_data', scale=False), 'conv0', 64, 7, 2, 3)
    x = net.max_pool(net.bn_relu(x, 'bn0'), 'pool0', 3, 2, 1)
    yield preactivation_resnet(net, x, stages, DEPTHS[50], 1000)
    net = Network('resnet50_mxnet_preact_32px', 'ResNet-50 of MXNet, pre-activation, 32x32',
                  mxnet + '. With --image-shape 3,32,32 it has the four stages of ImageNet',
                  'cifar10', (3, 32, 32))
    x = net.conv(net.batchnorm(net.input, 'bn_data', scale=False), 'conv0', 64, 3, 1, 1)
    yield preactivation_resnet(net, x, stages, DEPTHS[50], 10)
    net = Network('resnet50_cifar_mxnet_28px', 'ResNet-50 of MXNet for CIFAR-10, 28x28',
                  mxnet + '. train_cifar10.py crops to 28x28, where 50 layers are 3 stages of 8 '
                  'units', 'cifar10', (3, 28, 28), 'upv_2018')
    x = net.conv(net.batchnorm(net.input, 'bn_data', scale=False), 'conv0', 16, 3, 1, 1)
    yield preactivation_resnet(net, x, [[(k, 3), (k, 3)] for k in (16, 32, 64)], (8, 8, 8), 10)


def cifar_resnet(net, blocks, classes, bias=False, shortcut='pad', projection=1, learned=True,
                 project_bn=True, first_relu=True, last_relu=True, pool=8):
    """3 stages of `blocks` blocks of two 3x3. `shortcut`: 'pad' (option A) or 'project' (B)."""
    def norm(x, name):
        return net.batchnorm(x, name, learned, learned)

    x = norm(net.conv(net.input, 'conv0', 16, 3, 1, 1, bias=bias), 'bn0')
    if first_relu:
        x = net.activation(x, 'relu0')
    for stage, k in enumerate((16, 32, 64), 1):
        for i in range(1, blocks + 1):
            name, stride = f'stage{stage}_block{i}', 2 if stage > 1 and i == 1 else 1
            y = norm(net.conv(x, name + '_conv1', k, 3, stride, 1, bias=bias), name + '_bn1')
            y = net.conv(net.activation(y, name + '_relu1'), name + '_conv2', k, 3, 1, 1, bias=bias)
            y = norm(y, name + '_bn2')
            if stride == 2 and shortcut == 'pad':
                x = net.average_pool(x, name + '_shortcut_pool', 1, 2)
                x = net.pad_channels(x, name + '_shortcut_pad', k)
            elif stride == 2:
                x = net.conv(x, name + '_proj', k, projection, 2, bias=bias)
                if project_bn:
                    x = norm(x, name + '_proj_bn')
            x = net.add(y, x, name + '_add')
            if last_relu:
                x = net.activation(x, name + '_relu2')
    x = net.average_pool(x, 'avgpool', pool, 1 if pool == 8 else pool)
    net.softmax(net.fc(x, 'fc', classes))
    return net


@family('resnet')
def resnet_cifar():
    image = (3, 32, 32)
    for blocks in (3, 5, 7, 9, 18):
        depth = 6 * blocks + 2
        yield cifar_resnet(Network(
            f'resnet{depth}_cifar_tf', f'ResNet-{depth} of tf_cnn_benchmarks, 32x32, 11 classes',
            'tensorflow/benchmarks tf_cnn_benchmarks for cifar10: the shortcuts of down-sampling '
            'blocks are a 1x1 average pool of stride 2 and zero channels; no ReLU after conv0',
            'cifar10', image, 'tf_cnn_benchmarks' + (' upv_2018' if depth == 56 else '')), blocks,
            11, first_relu=False)
    for blocks in (3, 18):
        depth = 6 * blocks + 2
        yield cifar_resnet(Network(
            f'resnet{depth}_cifar_cntk', f'ResNet-{depth} of CNTK, 32x32',
            'microsoft/CNTK Examples/Image/Classification/ResNet: 1x1 projections with batchnorm',
            'cifar10', image, 'cntk upv_2018' if depth == 20 else 'cntk'), blocks, 10,
            shortcut='project')
    for blocks in (3, 5, 9):
        depth = 6 * blocks + 2
        yield cifar_resnet(Network(
            f'resnet{depth}_cifar_classification_nets',
            f'ResNet-{depth} of Classification_Nets, 32x32',
            'BobLiu20/Classification_Nets, Caffe: biases, 2x2 projections with batchnorm',
            'cifar10', image,
            'classification_nets upv_2018' if depth == 56 else 'classification_nets'), blocks, 10,
            bias=True, shortcut='project', projection=2)
    yield cifar_resnet(Network(
        'resnet56_cifar_dlbench_caffe', 'ResNet-56 of DLBench in Caffe, 32x32',
        'hclhkbu/dlbench: biases, batchnorm that learns nothing, 1x1 projections without '
        'batchnorm, a last average over 2x2', 'cifar10', image, 'dlbench_hkbu'), 9, 10, bias=True,
        shortcut='project', learned=False, project_bn=False, pool=2)
    yield cifar_resnet(Network(
        'resnet56_cifar_dlbench_torch', 'ResNet-56 of DLBench in Torch, 32x32',
        'hclhkbu/dlbench: biases, shortcuts of zero channels, no ReLU after additions',
        'cifar10', image, 'dlbench_hkbu'), 9, 10, bias=True, last_relu=False)

    dawn = ('stanford-futuredata/dawn-bench-models in PyTorch, after He et al. 2016 '
            '(arXiv:1603.05027)')
    net = Network('resnet164_bottleneck_dawn', 'ResNet-164 of DAWNBench, bottlenecks, 32x32',
                  dawn + '. The TensorFlow version has the stride in the first 1x1, and leaky ReLU',
                  'cifar10', image, 'dawnbench')
    x = net.conv(net.input, 'conv1', 16, 3, 1, 1)
    yield preactivation_resnet(net, x, [[(k, 1), (k, 3), (4 * k, 1)] for k in (16, 32, 64)],
                               (18, 18, 18), 10)
    net = Network('resnet164_basic_dawn', 'ResNet-164 of DAWNBench, two 3x3 per block, 32x32',
                  dawn + '. The TensorFlow version has shortcuts of an average pool and zero '
                  'channels', 'cifar10', image, 'dawnbench')
    x = net.conv(net.input, 'conv1', 16, 3, 1, 1)
    yield preactivation_resnet(net, x, [[(k, 3), (k, 3)] for k in (16, 32, 64)], (27, 27, 27), 10,
                               first_project=False)


# --- Later networks for ImageNet ---------------------------------------------------------------

@family('densenet')
def densenet():
    net = Network('densenet121', 'DenseNet-121, 224x224',
                  'Huang et al. 2016 (arXiv:1608.06993), as torchvision.models.densenet121; layers '
                  'are named as there', 'imagenet', (3, 224, 224), 'ilkarman_2018')
    x = net.activation(net.batchnorm(net.conv(net.input, 'conv0', 64, 7, 2, 3), 'norm0'), 'relu0')
    x = net.max_pool(x, 'pool0', 3, 2, 1)
    growth = 32
    for block, depth in enumerate((6, 12, 24, 16), 1):
        features = [x]
        for i in range(1, depth + 1):
            name = f'denseblock{block}_denselayer{i}'
            y = net.concat(features, name + '_concat') if i > 1 else x
            y = net.activation(net.batchnorm(y, name + '_norm1'), name + '_relu1')
            y = net.batchnorm(net.conv(y, name + '_conv1', 4 * growth, 1), name + '_norm2')
            y = net.activation(y, name + '_relu2')
            features.append(net.conv(y, name + '_conv2', growth, 3, 1, 1))
        x = net.concat(features, f'denseblock{block}_concat')
        if block < 4:
            name = f'transition{block}'
            x = net.activation(net.batchnorm(x, name + '_norm'), name + '_relu')
            x = net.conv(x, name + '_conv', x.dims[0] // 2, 1)
            x = net.average_pool(x, name + '_pool', 2, 2)
    x = net.global_pool(net.activation(net.batchnorm(x, 'norm5'), 'relu5'))
    net.softmax(net.fc(x, 'classifier', 1000))
    yield net


@family('mobilenet')
def mobilenet():
    net = Network('mobilenet_v2', 'MobileNetV2, width 1.0, 224x224',
                  'Sandler et al. 2018 (arXiv:1801.04381), as torchvision.models.mobilenet_v2',
                  'imagenet', (3, 224, 224), 'lerat_2021')
    x = net.conv_bn(net.input, 'conv0', 32, 3, 2, 1, kind='relu6')
    number = 0
    for expand, k, count, stride in ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2),
                                     (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1)):
        for i in range(count):
            number += 1
            name, c, step = f'block{number}', x.dims[0], 1 if i else stride
            y = x
            if expand > 1:
                y = net.conv_bn(y, name + '_expand', expand * c, 1, kind='relu6')
            y = net.conv_bn(y, name + '_depthwise', expand * c, 3, step, 1, groups=expand * c,
                            kind='relu6')
            y = net.conv_bn(y, name + '_project', k, 1, kind=None)
            x = net.add(x, y, name + '_add') if y.dims == x.dims else y
    x = net.global_pool(net.conv_bn(x, 'conv_last', 1280, 1, kind='relu6'))
    net.softmax(net.fc(net.dropout(x, 'dropout', 0.2), 'classifier', 1000))
    yield net


@family('shufflenet')
def shufflenet():
    net = Network('shufflenet_v2_x1_0', 'ShuffleNet V2, width 1.0, 224x224',
                  'Ma et al. 2018 (arXiv:1807.11164), as torchvision.models.shufflenet_v2_x1_0',
                  'imagenet', (3, 224, 224))
    x = net.max_pool(net.conv_bn(net.input, 'conv1', 24, 3, 2, 1), 'maxpool', 3, 2, 1)

    def depthwise(x, name, k, stride):
        y = net.conv_bn(x, name + '_depthwise', x.dims[0], 3, stride, 1, groups=x.dims[0],
                        kind=None)
        return net.conv_bn(y, name + '_project', k, 1)

    for stage, (k, count) in enumerate(((116, 4), (232, 8), (464, 4)), 2):
        half = k // 2
        for i in range(count):
            name = f'stage{stage}_{i}'
            if i == 0:  # downsampling: both branches read all channels
                shortcut, y = depthwise(x, name + '_branch1', half, 2), x
            else:
                shortcut = net.slice_channels(x, name + '_slice1', 0, half)
                y = net.slice_channels(x, name + '_slice2', half, half)
            y = net.conv_bn(y, name + '_branch2_expand', half, 1)
            y = depthwise(y, name + '_branch2', half, 1 if i else 2)
            x = net.shuffle_channels(net.concat([shortcut, y], name + '_concat'),
                                     name + '_shuffle', 2)
    x = net.global_pool(net.conv_bn(x, 'conv5', 1024, 1))
    net.softmax(net.fc(x, 'fc', 1000))
    yield net


def squeeze_excite(net, x, name, squeezed, kind='swish', gate='sigmoid'):
    y = net.global_pool(x, name + '_pool')
    y = net.activation(net.conv(y, name + '_fc1', squeezed, 1, bias=True), f'{name}_{kind}', kind)
    y = net.conv(y, name + '_fc2', x.dims[0], 1, bias=True)
    return net.multiply(x, net.activation(y, f'{name}_{gate}', gate), name + '_multiply')


def mobilenet_v3_of(net, blocks, last):
    """Blocks: window, channels inside and behind, squeeze-and-excite, activation, stride."""
    net.epsilon = 0.001
    x = net.conv_bn(net.input, 'stem', 16, 3, 2, 1, kind='hardswish')
    for number, (size, wide, k, squeezes, kind, stride) in enumerate(blocks, 1):
        name, y = f'block{number}', x
        if wide != x.dims[0]:
            y = net.conv_bn(y, name + '_expand', wide, 1, kind=kind)
        y = net.conv_bn(y, name + '_depthwise', wide, size, stride, size // 2, groups=wide,
                        kind=kind)
        if squeezes:
            # A fourth, rounded to a multiple of 8, but never down by more than a tenth.
            squeezed = max(8, (wide // 4 + 4) // 8 * 8)
            squeezed += 8 if squeezed < 0.9 * (wide // 4) else 0
            y = squeeze_excite(net, y, name + '_se', squeezed, 'relu', 'hardsigmoid')
        y = net.conv_bn(y, name + '_project', k, 1, kind=None)
        x = net.add(y, x, name + '_add') if y.dims == x.dims else y
    x = net.global_pool(net.conv_bn(x, 'conv_last', 6 * x.dims[0], 1, kind='hardswish'))
    x = net.activation(net.fc(x, 'fc1', last), 'fc1_hardswish', 'hardswish')
    net.softmax(net.fc(net.dropout(x, 'dropout', 0.2), 'fc2', 1000))
    return net


@family('mobilenet')
def mobilenet_v3():
    source = 'Howard et al. 2019 (arXiv:1905.02244), as torchvision.models.mobilenet_v3_'
    relu, hard = 'relu', 'hardswish'
    yield mobilenet_v3_of(
        Network('mobilenet_v3_large', 'MobileNetV3-Large, 224x224', source + 'large', 'imagenet',
                (3, 224, 224)),
        [(3, 16, 16, False, relu, 1), (3, 64, 24, False, relu, 2), (3, 72, 24, False, relu, 1),
         (5, 72, 40, True, relu, 2), (5, 120, 40, True, relu, 1), (5, 120, 40, True, relu, 1),
         (3, 240, 80, False, hard, 2), (3, 200, 80, False, hard, 1), (3, 184, 80, False, hard, 1),
         (3, 184, 80, False, hard, 1), (3, 480, 112, True, hard, 1), (3, 672, 112, True, hard, 1),
         (5, 672, 160, True, hard, 2), (5, 960, 160, True, hard, 1), (5, 960, 160, True, hard, 1)],
        1280)
    yield mobilenet_v3_of(
        Network('mobilenet_v3_small', 'MobileNetV3-Small, 224x224', source + 'small', 'imagenet',
                (3, 224, 224)),
        [(3, 16, 16, True, relu, 2), (3, 72, 24, False, relu, 2), (3, 88, 24, False, relu, 1),
         (5, 96, 40, True, hard, 2), (5, 240, 40, True, hard, 1), (5, 240, 40, True, hard, 1),
         (5, 120, 48, True, hard, 1), (5, 144, 48, True, hard, 1), (5, 288, 96, True, hard, 2),
         (5, 576, 96, True, hard, 1), (5, 576, 96, True, hard, 1)], 1024)


@family('efficientnet')
def efficientnet():
    net = Network('efficientnet_b0', 'EfficientNet-B0, 224x224',
                  'Tan and Le 2019 (arXiv:1905.11946), as torchvision.models.efficientnet_b0; '
                  'stochastic depth is left out', 'imagenet', (3, 224, 224))
    x = net.conv_bn(net.input, 'stem', 32, 3, 2, 1, kind='swish')
    number = 0
    for expand, size, stride, k, count in ((1, 3, 1, 16, 1), (6, 3, 2, 24, 2), (6, 5, 2, 40, 2),
                                           (6, 3, 2, 80, 3), (6, 5, 1, 112, 3), (6, 5, 2, 192, 4),
                                           (6, 3, 1, 320, 1)):
        for i in range(count):
            number += 1
            name, c, step = f'block{number}', x.dims[0], 1 if i else stride
            y = x
            if expand > 1:
                y = net.conv_bn(y, name + '_expand', expand * c, 1, kind='swish')
            y = net.conv_bn(y, name + '_depthwise', expand * c, size, step, size // 2,
                            groups=expand * c, kind='swish')
            y = squeeze_excite(net, y, name + '_se', max(1, c // 4))
            y = net.conv_bn(y, name + '_project', k, 1, kind=None)
            x = net.add(y, x, name + '_add') if y.dims == x.dims else y
    x = net.global_pool(net.conv_bn(x, 'head', 1280, 1, kind='swish'))
    net.softmax(net.fc(net.dropout(x, 'dropout', 0.2), 'classifier', 1000))
    yield net


class RowsOfChannels:
    """Layers that read the channels of each position of an image as a row."""

    def __init__(self, net, h, w):
        self.net, self.h, self.w = net, h, w

    def dims(self, c):
        return [['batch', self.h * self.w], c]

    def rows(self, x, name):
        if len(x.dims) == 2:
            return x
        c = x.dims[0]
        return self.net.layer(name + '_rows', 'transpose', [x], (self.h * self.w, c),
                              {'dims': ['batch', *x.dims], 'order': [0, 2, 3, 1],
                               'reshape': self.dims(c)})

    def image(self, x, name):
        if len(x.dims) == 3:
            return x
        c = x.dims[1]
        return self.net.layer(name + '_image', 'transpose', [x], (c, self.h, self.w),
                              {'dims': self.dims(c), 'view': ['batch', self.h, self.w, c],
                               'order': [0, 3, 1, 2]})

    def norm(self, x, name):
        x = self.rows(x, name)
        return self.net.layer(name, 'layernorm', [x], x.dims,
                              {'dims': self.dims(x.dims[1]), 'epsilon': 1e-6})

    def linear(self, x, name, outputs):
        return self.net.layer(name, 'gemm', [x], (x.dims[0], outputs),
                              {'m': self.dims(0)[0], 'n': outputs, 'k': x.dims[1],
                               'b_transposed': True, 'bias': True})

    def by_element(self, name, op, inputs, **fields):
        x = inputs[0]
        return self.net.layer(name, op, inputs, x.dims, {**fields, 'dims': self.dims(x.dims[1])})


def convnext_block(net, x, name, h, w):
    """Depthwise convolution, and a perceptron of each position. Reads and returns an image or
    rows: the sum of two tensors is as both are."""
    of = RowsOfChannels(net, h, w)
    image = of.image(x, name)
    c = image.dims[0]
    y = net.conv(image, name + '_conv', c, 7, pad=3, groups=c, bias=True)
    y = of.linear(of.norm(y, name + '_norm'), name + '_linear1', 4 * c)
    y = of.by_element(name + '_gelu', 'activation', [y], kind='gelu')
    y = of.linear(y, name + '_linear2', c)
    y = of.by_element(name + '_scale', 'multiply', [y], dims1=[1, c], learned=True)
    if len(x.dims) == 2:
        return of.by_element(name + '_add', 'add', [y, x])
    return net.add(of.image(y, name + '_perceptron'), x, name + '_add')


@family('convnext')
def convnext():
    net = Network('convnext_tiny', 'ConvNeXt-T, 224x224',
                  'Liu et al. 2022 (arXiv:2201.03545), as in torchvision; layer norms and fully '
                  'connected layers read channels as rows, so transposes stand before and after '
                  'them', 'imagenet', (3, 224, 224))
    x, extent = net.conv(net.input, 'stem', 96, 4, 4, bias=True), 56
    x = RowsOfChannels(net, extent, extent).norm(x, 'stem_norm')
    for stage, (width, depth) in enumerate(((96, 3), (192, 3), (384, 9), (768, 3)), 1):
        if stage > 1:
            of = RowsOfChannels(net, extent, extent)
            x = of.image(of.norm(x, f'down{stage}_norm'), f'down{stage}_norm')
            x, extent = net.conv(x, f'down{stage}', width, 2, 2, bias=True), extent // 2
        for i in range(depth):
            x = convnext_block(net, x, f'stage{stage}_{i}', extent, extent)
    x = net.global_pool(x)
    x = net.layer('norm', 'layernorm', [x], x.dims[:1],
                  {'dims': ['batch', x.dims[0]], 'epsilon': 1e-6})
    net.softmax(net.fc(x, 'fc', 1000))
    yield net


# --- Detection ---------------------------------------------------------------------------------

def flat(x):
    """The same tensor, read without height and width."""
    return Tensor(x.layer, (math.prod(x.dims),))


@family('detection')
def detection():
    net = Network(
        'ssd300_vgg16', 'SSD300 with VGG-16, PASCAL VOC, 300x300',
        'Liu et al. 2015 (arXiv:1512.02325), as weiliu89/caffe ssd, 21 classes. Left out: the '
        'normalization of conv4_3 with its 512 scales, prior boxes, the permutation of the heads '
        'before they are joined, matching, the loss, non-maximum suppression', 'voc',
        (3, 300, 300))
    x = net.input
    sources = []
    for stage, (depth, k) in enumerate(zip((2, 2, 3, 3, 3), (64, 128, 256, 512, 512)), 1):
        for i in range(1, depth + 1):
            x = net.activation(net.conv(x, f'conv{stage}_{i}', k, 3, pad=1, bias=True),
                               f'relu{stage}_{i}')
        if stage == 4:
            sources.append(('conv4_3', x, 4))
        x = (net.max_pool(x, f'pool{stage}', 2, 2, ceil=True) if stage < 5 else
             net.max_pool(x, 'pool5', 3, 1, 1))
    x = net.conv_relu(x, 'fc6', 1024, 3, pad=6, dilation=6)
    x = net.conv_relu(x, 'fc7', 1024, 1)
    sources.append(('fc7', x, 6))
    for name, reduced, k, stride, pad, boxes in (('conv6', 256, 512, 2, 1, 6),
                                                 ('conv7', 128, 256, 2, 1, 6),
                                                 ('conv8', 128, 256, 1, 0, 4),
                                                 ('conv9', 128, 256, 1, 0, 4)):
        x = net.conv_relu(net.conv_relu(x, name + '_1', reduced, 1), name + '_2', k, 3, stride, pad)
        sources.append((name + '_2', x, boxes))
    outputs = []
    for part, values in (('loc', 4), ('conf', 21)):
        outputs.append(net.concat([flat(net.conv(y, f'{name}_mbox_{part}', boxes * values, 3, pad=1,
                                                 bias=True)) for name, y, boxes in sources],
                                  'mbox_' + part))
    net.concat(outputs, 'mbox')
    yield net

    ren = 'Ren et al. 2015 (arXiv:1506.01497), as rbgirshick/py-faster-rcnn VGG16, PASCAL VOC. '
    net = Network(
        'faster_rcnn_vgg16', 'Faster R-CNN with VGG-16: backbone and region proposal, 600x1000',
        ren + 'The head on the regions is faster_rcnn_vgg16_head. Left out: anchors, proposals '
        'with their non-maximum suppression, RoI pooling, losses', 'voc', (3, 600, 1000))
    x = vgg_convs(net, (2, 2, 3, 3, 3), last_pool=False, ceil=True)
    x = net.conv_relu(x, 'rpn_conv', 512, 3, pad=1)
    scores = net.conv(x, 'rpn_cls_score', 18, 1, bias=True)
    net.concat([scores, net.conv(x, 'rpn_bbox_pred', 36, 1, bias=True)], 'rpn_output')
    yield net
    net = Network(
        'faster_rcnn_vgg16_head', 'Faster R-CNN with VGG-16: the head, of batch regions',
        ren + 'Its batch is the number of regions: 300 for an image in inference, 128 in training. '
        'The rest is faster_rcnn_vgg16. Left out: RoI pooling, which makes its input', 'voc',
        (512, 7, 7))
    x = net.input
    for i in (6, 7):
        x = net.dropout(net.activation(net.fc(x, f'fc{i}', 4096), f'relu{i}'), f'drop{i}')
    scores = net.fc(x, 'cls_score', 21)
    net.concat([scores, net.fc(x, 'bbox_pred', 84)], 'output')
    yield net


class Yolo11:
    """YOLO11 of one size: blocks have the names of ultralytics' classes."""

    def __init__(self, net, classes=80):
        self.net, self.classes = net, classes
        net.epsilon = 0.001

    def conv(self, x, name, k, size=1, stride=1, kind='swish', groups=1):
        return self.net.conv_bn(x, name, k, size, stride, size // 2, kind=kind, groups=groups)

    def bottleneck(self, x, name, inner):
        y = self.conv(self.conv(x, name + '_cv1', inner, 3), name + '_cv2', x.dims[0], 3)
        return self.net.add(x, y, name + '_add')

    def c3k(self, x, name):
        half = x.dims[0] // 2
        y = self.conv(x, name + '_cv1', half)
        for i in range(2):
            y = self.bottleneck(y, f'{name}_m{i}', half)
        y = self.net.concat([y, self.conv(x, name + '_cv2', half)], name + '_concat')
        return self.conv(y, name + '_cv3', x.dims[0])

    def halves(self, x, name):
        half = x.dims[0] // 2
        return [self.net.slice_channels(x, f'{name}_slice{i}', i * half, half) for i in range(2)]

    def c3k2(self, x, name, k, deep, share=0.5):
        parts = self.halves(self.conv(x, name + '_cv1', 2 * int(k * share)), name)
        last, inside = parts[1], name + '_m0'
        parts.append(self.c3k(last, inside) if deep else
                     self.bottleneck(last, inside, last.dims[0] // 2))
        return self.conv(self.net.concat(parts, name + '_concat'), name + '_cv2', k)

    def sppf(self, x, name):
        parts = [self.conv(x, name + '_cv1', x.dims[0] // 2)]
        for i in range(3):
            parts.append(self.net.max_pool(parts[-1], f'{name}_pool{i}', 5, 1, 2))
        return self.conv(self.net.concat(parts, name + '_concat'), name + '_cv2', x.dims[0])

    def attention(self, x, name, d=64):
        """Of heads of d values, with queries and keys of half the width."""
        net, (c, h, w) = self.net, x.dims
        heads, tokens = c // d, h * w
        y = net.reshaped(self.conv(x, name + '_qkv', 2 * c, kind=None), name + '_heads',
                         (heads, 2 * d, tokens))
        parts = {}
        for part, begin, size in (('query', 0, d // 2), ('key', d // 2, d // 2), ('value', d, d)):
            parts[part] = net.layer(f'{name}_{part}', 'slice', [y], (heads, size, tokens),
                                    {'dims': ['batch', *y.dims], 'axis': 2,
                                     **({'begin': begin} if begin else {}), 'size': size})
        batch = ['batch', heads]
        query, key, value = (net.reshaped(part, f'{name}_{which}_copy', part.dims[1:], batch)
                             for which, part in parts.items())
        scores = net.layer(name + '_scores', 'gemm', [query, key], (tokens, tokens),
                           {'m': tokens, 'n': tokens, 'k': d // 2, 'batch': batch,
                            'a_transposed': True})
        scores = net.layer(name + '_softmax', 'softmax', [scores], scores.dims,
                           {'dims': [batch, *scores.dims], 'axis': 2})
        y = net.layer(name + '_product', 'gemm', [value, scores], (d, tokens),
                      {'m': d, 'n': tokens, 'k': tokens, 'batch': batch, 'b_transposed': True})
        y = net.layer(name + '_image', 'transpose', [y], x.dims,
                      {'dims': [batch, *y.dims], 'order': [0, 1, 2], 'reshape': ['batch', *x.dims]})
        places = self.conv(net.reshaped(parts['value'], name + '_pe_copy', x.dims), name + '_pe', c,
                           3, kind=None, groups=c)
        return self.conv(net.add(y, places, name + '_pe_add'), name + '_proj', c, kind=None)

    def c2psa(self, x, name):
        half = x.dims[0] // 2
        first, y = self.halves(self.conv(x, name + '_cv1', x.dims[0]), name)
        y = self.net.add(y, self.attention(y, name + '_attention'), name + '_attention_add')
        z = self.conv(self.conv(y, name + '_ffn0', 2 * half), name + '_ffn1', half, kind=None)
        y = self.net.concat([first, self.net.add(y, z, name + '_ffn_add')], name + '_concat')
        return self.conv(y, name + '_cv2', x.dims[0])

    def head(self, sources, bins=16):
        """Box distributions and class scores of all places."""
        net, all_places = self.net, sum(math.prod(x.dims[1:]) for x in sources)
        wide = max(sources[0].dims[0], self.classes)
        boxes, scores = [], []
        for i, x in enumerate(sources):
            places = math.prod(x.dims[1:])
            y, name = x, f'box{i}'
            for j in range(2):
                y = self.conv(y, f'{name}_{j}', 4 * bins, 3)
            y = net.conv(y, name + '_2', 4 * bins, 1, bias=True)
            boxes.append(net.reshaped(y, name + '_copy', (4 * bins, places)))
            y, name = x, f'class{i}'
            for j in range(2):
                y = self.conv(y, f'{name}_{j}_depthwise', y.dims[0], 3, groups=y.dims[0])
                y = self.conv(y, f'{name}_{j}', wide)
            y = net.conv(y, name + '_2', self.classes, 1, bias=True)
            scores.append(net.reshaped(y, name + '_copy', (1, self.classes, places)))

        def joined(parts, name):
            dims = (*parts[0].dims[:-1], all_places)
            return net.layer(name, 'concat', parts, dims,
                             {'dims': ['batch', *dims], 'axis': len(dims),
                              'sizes': [part.dims[-1] for part in parts]})
        x = joined(boxes, 'boxes')
        x = net.layer('dfl_transpose', 'transpose', [x], (bins, 4, all_places),
                      {'dims': ['batch', *x.dims], 'view': ['batch', 4, bins, all_places],
                       'order': [0, 2, 1, 3]})
        x = net.conv(net.softmax(x, 'dfl_softmax'), 'dfl', 1, 1)
        y = net.activation(joined(scores, 'classes'), 'class_sigmoid', 'sigmoid')
        dims = (1, 4 + self.classes, all_places)
        net.layer('output', 'concat', [x, y], dims,
                  {'dims': ['batch', *dims], 'axis': 2, 'sizes': [4, self.classes]})


@family('detection')
def yolo11():
    net = Network(
        'yolo11n', 'YOLO11n, COCO, 640x640',
        'Jocher and Qiu 2024, as ultralytics exports yolo11n.yaml. Left out: the corners of boxes '
        'from their distances, non-maximum suppression', 'coco', (3, 640, 640))
    yolo = Yolo11(net)
    x = yolo.conv(yolo.conv(net.input, 'conv0', 16, 3, 2), 'conv1', 32, 3, 2)
    x = yolo.conv(yolo.c3k2(x, 'block2', 64, False, 0.25), 'conv3', 64, 3, 2)
    p3 = yolo.c3k2(x, 'block4', 128, False, 0.25)
    p4 = yolo.c3k2(yolo.conv(p3, 'conv5', 128, 3, 2), 'block6', 128, True)
    x = yolo.c3k2(yolo.conv(p4, 'conv7', 256, 3, 2), 'block8', 256, True)
    p5 = yolo.c2psa(yolo.sppf(x, 'sppf9'), 'psa10')
    x = net.concat([net.upsample(p5, 'upsample11', 2), p4], 'concat12')
    p4 = yolo.c3k2(x, 'block13', 128, False)
    x = net.concat([net.upsample(p4, 'upsample14', 2), p3], 'concat15')
    p3 = yolo.c3k2(x, 'block16', 64, False)
    x = net.concat([yolo.conv(p3, 'conv17', 64, 3, 2), p4], 'concat18')
    p4 = yolo.c3k2(x, 'block19', 128, False)
    x = net.concat([yolo.conv(p4, 'conv20', 128, 3, 2), p5], 'concat21')
    yolo.head([p3, p4, yolo.c3k2(x, 'block22', 256, True)])
    yield net


# --- Segmentation ------------------------------------------------------------------------------

def cube(net, x, name, op, k, size, stride=1, pad=0, bias=False):
    """A convolution, plain or transposed, of a volume as deep and high as wide."""
    c, _, w = x.dims
    shape = {'n': 'batch', 'c': c, 'h': w, 'w': w, 'k': k, 'r': size, 's': size, 'stride': stride,
             'pad': pad, 'bias': bias, 'd': w, 't': size, 'depth_stride': stride, 'depth_pad': pad}
    defaults = {'stride': 1, 'pad': 0, 'bias': False, 't': 1, 'depth_stride': 1, 'depth_pad': 0}
    edge = (w - 1) * stride + size if op == 'deconv' else (w + 2 * pad - size) // stride + 1
    return net.layer(name, op, [x], (k, edge * edge, edge), {
        key: value for key, value in shape.items() if value != defaults.get(key, None)})


@family('segmentation')
def unet3d():
    net = Network(
        'unet3d', '3-D U-Net, KiTS19, 64x64x64',
        'Cicek et al. 2016 (arXiv:1606.06650) in the form of Isensee et al. 2018 (arXiv:1809.10486), '
        'as image segmentation in MLPerf Training, which cuts volumes of 128x128x128', 'kits19',
        (1, 64 * 64, 64))

    def two(x, name, k, stride=1):
        for number, step in ((1, stride), (2, 1)):
            x = cube(net, x, f'{name}_conv{number}', 'conv', k, 3, step, 1)
            c, h, w = x.dims
            x = net.layer(f'{name}_norm{number}', 'groupnorm', [x], x.dims,
                          {'n': 'batch', 'c': c, 'h': h, 'w': w, 'groups': c})
            x = net.activation(x, f'{name}_relu{number}')
        return x

    kept = [two(net.input, 'down0', 32)]
    for level, k in enumerate((64, 128, 256, 320, 320), 1):
        kept.append(two(kept[-1], f'down{level}', k, 2))
    x = kept.pop()
    for level in reversed(range(len(kept))):
        y = kept.pop()
        x = cube(net, x, f'up{level}', 'deconv', y.dims[0], 2, 2, bias=True)
        x = two(net.concat([x, y], f'concat{level}'), f'joined{level}', y.dims[0])
    cube(net, x, 'classes', 'conv', 3, 1, bias=True)
    yield net


# --- Recurrent networks ------------------------------------------------------------------------

def recurrent_of(net, kind, vocabulary, width, hidden, depth, steps, biases=1):
    """An embedding and recurrent layers. Tokens are in the order step, image of the batch."""
    tokens = ['batch', steps]
    x = net.layer('embedding', 'embedding', [net.input], (steps, width),
                  {'n': tokens, 'rows': vocabulary, 'columns': width})
    shape = {'kind': kind, 'batch': 'batch', 'steps': steps, 'inputs': width, 'hidden': hidden}
    if depth > 1:
        shape['layers'] = depth
    if biases > 1:
        shape['biases'] = biases
    return net.layer(kind, 'rnn', [x], (steps, hidden), shape)


def last_step(net, x):
    """What a recurrent layer writes in its last step, of tokens in the order step, image."""
    steps, hidden = x.dims
    return net.layer('last', 'slice', [x], (hidden,),
                     {'dims': [steps, 'batch', hidden], 'axis': 0, 'begin': steps - 1, 'size': 1})


def language_model(net, vocabulary, width, depth, steps):
    x = recurrent_of(net, 'lstm', vocabulary, width, width, depth, steps)
    tokens = ['batch', steps]
    x = net.layer('fc', 'gemm', [x], (steps, vocabulary),
                  {'m': tokens, 'n': vocabulary, 'k': width, 'b_transposed': True, 'bias': True})
    net.layer('softmax', 'softmax', [x], (steps, vocabulary), {'dims': [tokens, vocabulary]})
    return net


@family('recurrent')
def recurrent():
    for steps in (32, 64):
        yield language_model(Network(
            f'lstm{steps}_dlbench', f'Language model of two LSTM layers, {steps} steps',
            'hclhkbu/dlbench, PTB; one bias per gate, as in TensorFlow and CNTK', 'ptb', (),
            'dlbench_hkbu'), 10000, 256, 2, steps)
    yield language_model(Network(
        'lstm_ptb_elshawi', 'Language model of two LSTM layers, 30 steps',
        'DataSystemsGroupUT/DLBench (Elshawi et al.), PTB; the vocabulary is taken as 10000', 'ptb',
        (), 'elshawi_2021'), 10000, 200, 2, 30)
    net = Network(
        'gru_imdb_ilkarman', 'GRU that classifies reviews of 150 words',
        'ilkarman/DeepLearningFrameworks, IMDB; two biases per gate, as in cuDNN. The README gives '
        'an embedding of 150x125, the notebooks have 30000x125', 'imdb', (), 'ilkarman_2018')
    x = recurrent_of(net, 'gru', 30000, 125, 100, 1, 150, 2)
    net.softmax(net.fc(last_step(net, x), 'fc', 2))
    yield net
    net = Network(
        'lstm_imdb_elshawi', 'LSTM that classifies reviews of 500 words',
        'DataSystemsGroupUT/DLBench (Elshawi et al.), IMDB; one bias per gate', 'imdb', (),
        'elshawi_2021')
    x = recurrent_of(net, 'lstm', 5000, 32, 100, 1, 500)
    net.activation(net.fc(last_step(net, x), 'fc', 1), 'sigmoid', 'sigmoid')
    yield net


# --- Transformers ------------------------------------------------------------------------------

class Text:
    """A network over `tokens` tokens of `width` values, in the order sequence, token.

    Heads have `d` values. With `cached` the number of tokens is a parameter, `tokens` its default,
    and keys and values of earlier tokens come from a cache. With `llama` normalizations are of kind
    rms, products have no bias, and queries and keys are turned by their positions; with `head_norm`
    those are normalized before, head by head. With `experts` and `top_k` each token has a
    perceptron of its experts."""

    def __init__(self, net, tokens, width, heads, inner, kind='gelu', cached=False, kv_heads=None,
                 llama=False, d=None, head_norm=None, experts=None, top_k=None):
        self.net, self.tokens, self.width, self.heads = net, tokens, width, heads
        self.inner, self.kind, self.cached = inner, kind, cached
        self.kv_heads, self.llama = kv_heads or heads, llama
        self.d, self.head_norm = d or width // heads, head_norm
        self.experts, self.top_k = experts, top_k
        if cached:
            net.parameters.update(tokens=tokens, context=0)
            self.tokens = 'tokens'

    def embedding(self, name, rows, per_sequence=True):
        """Rows of a table for all tokens of the batch, or for those of one sequence alone."""
        n = ['batch', self.tokens] if per_sequence else self.tokens
        return self.net.layer(name, 'embedding', [self.net.input], (self.tokens, self.width),
                              {'n': n, 'rows': rows, 'columns': self.width})

    def linear(self, x, name, outputs):
        tokens, inputs = x.dims
        shape = {'m': ['batch', tokens], 'n': outputs, 'k': inputs, 'b_transposed': True}
        if not self.llama:
            shape['bias'] = True
        return self.net.layer(name, 'gemm', [x], (tokens, outputs), shape)

    def add(self, x, y, name, broadcast=False):
        shape = {'dims': ['batch', *x.dims]}
        return self.net.layer(name, 'add', [x, y], x.dims,
                              {**shape, 'broadcast': True} if broadcast else shape)

    def norm(self, x, name, epsilon):
        shape = {'dims': ['batch', *x.dims]}
        if self.llama:
            shape['kind'] = 'rms'
        return self.net.layer(name, 'layernorm', [x], x.dims, {**shape, 'epsilon': epsilon})

    def attention(self, x, name, causal):
        """Projections of query, key and value, attention, and the projection of its result."""
        d = self.d
        heads = {'query': self.heads, 'key': self.kv_heads, 'value': self.kv_heads}
        parts = {part: self.linear(x, f'{name}_{part}', heads[part] * d) for part in heads}
        for part in ('query', 'key') if self.head_norm else ():
            parts[part] = self.net.layer(f'{name}_{part}_norm', 'layernorm', [parts[part]],
                                         parts[part].dims,
                                         {'dims': [['batch', self.tokens, heads[part]], d],
                                          'kind': 'rms', 'epsilon': self.head_norm})
        for part in ('query', 'key') if self.llama else ():
            parts[part] = self.net.layer(f'{name}_{part}_rotary', 'rotary', [parts[part]],
                                         parts[part].dims,
                                         {'n': 'batch', 'tokens': self.tokens,
                                          'heads': heads[part], 'd': d})
        for part in ('key', 'value') if self.cached else ():
            parts[part] = self.append(parts[part], f'{name}_{part}_cache')
        shape = {'n': 'batch', 'heads': self.heads, 'q': self.tokens,
                 'k': 'keys' if self.cached else self.tokens, 'd': d}
        if self.kv_heads != self.heads:
            shape['kv_heads'] = self.kv_heads
        if causal:
            shape['causal'] = True
        y = self.net.layer(name, 'attention', list(parts.values()), (self.tokens, self.heads * d),
                           shape)
        return self.linear(y, name + '_output', self.width)

    def append(self, x, name):
        """The rows of new tokens, behind those of earlier ones."""
        _, columns = x.dims
        return self.net.layer(name, 'append', [x], ('keys', columns),
                              {'n': 'batch', 'tokens': self.tokens, 'context': 'context',
                               'columns': columns})

    def perceptron(self, x, name):
        x = self.linear(x, name + '_fc1', self.inner)
        x = self.net.activation(x, f'{name}_{self.kind}', self.kind)
        return self.linear(x, name + '_fc2', self.width)

    def gated_perceptron(self, x, name):
        y = self.net.activation(self.linear(x, name + '_gate', self.inner), f'{name}_{self.kind}',
                                self.kind)
        x = self.linear(x, name + '_up', self.inner)
        y = self.net.layer(name + '_multiply', 'multiply', [y, x], x.dims,
                           {'dims': ['batch', *x.dims]})
        return self.linear(y, name + '_down', self.width)

    def routed(self, inputs, name, outputs, **more):
        """Products of tokens and the weights of their experts, of evenly spread tokens."""
        k = inputs[0].dims[-1]
        shape = {'tokens': ['batch', self.tokens], 'experts': self.experts, 'top_k': self.top_k,
                 'n': outputs, 'k': k, **more, 'load': 'balanced'}
        return self.net.layer(name, 'routed_gemm', inputs, (self.tokens, outputs), shape)

    def routed_perceptron(self, x, name):
        """A gated perceptron of the experts that a router chooses."""
        scores = self.linear(x, name + '_router', self.experts)
        scores = self.net.layer(name + '_router_softmax', 'softmax', [scores], scores.dims,
                                {'dims': [['batch', self.tokens], self.experts]})
        chosen = self.net.layer(name + '_router_topk', 'topk', [scores], (self.top_k,),
                                {'n': ['batch', self.tokens], 'c': self.experts, 'k': self.top_k,
                                 'normalized': True})
        dims = {'dims': [['batch', self.tokens, self.top_k], self.inner]}
        y = self.routed([x], name + '_gate', self.inner, gather=True)
        y = self.net.layer(f'{name}_{self.kind}', 'activation', [y], y.dims,
                           {'kind': self.kind, **dims})
        x = self.routed([x], name + '_up', self.inner, gather=True)
        y = self.net.layer(name + '_multiply', 'multiply', [y, x], x.dims, dims)
        return self.routed([y, chosen], name + '_down', self.width, scatter=True)

    def block(self, x, name, epsilon, causal):
        """Attention and a perceptron, each behind a norm and with a shortcut."""
        y = self.attention(self.norm(x, f'{name}_norm1', epsilon), f'{name}_attention', causal)
        x = self.add(y, x, f'{name}_attention_add')
        perceptron = (self.routed_perceptron if self.experts else
                      self.gated_perceptron if self.llama else self.perceptron)
        y = perceptron(self.norm(x, f'{name}_norm2', epsilon), name)
        return self.add(y, x, f'{name}_add')

    def next_word(self, x, vocabulary, epsilon=1e-5, weights_of='words'):
        """The logits of the last token."""
        x = self.token(self.norm(x, 'norm', epsilon), 'last', 'last')
        return self.net.layer('output', 'gemm', [x], (1, vocabulary),
                              {'m': 'batch', 'n': vocabulary, 'k': self.width,
                               'b_transposed': True}, weights_of=weights_of)

    def token(self, x, name, index):
        """One token of each sequence."""
        return self.net.layer(name, 'slice', [x], (1, self.width),
                              {'dims': ['batch', *x.dims], 'axis': 1, 'begin': index, 'size': 1})


def bert(net, tokens=128, width=768, depth=12, heads=12):
    text = Text(net, tokens, width, heads, 4 * width)
    x = text.add(text.embedding('words', 30522), text.embedding('types', 2), 'words_add')
    x = text.add(x, text.embedding('positions', 512, per_sequence=False), 'positions_add', True)
    x = text.norm(x, 'embedding_norm', 1e-12)
    for i in range(depth):
        x = text.add(text.attention(x, f'layer{i}_attention', False), x, f'layer{i}_attention_add')
        x = text.norm(x, f'layer{i}_attention_norm', 1e-12)
        x = text.add(text.perceptron(x, f'layer{i}'), x, f'layer{i}_add')
        x = text.norm(x, f'layer{i}_norm', 1e-12)
    x = text.linear(text.token(x, 'first', 0), 'pooler', width)
    net.activation(x, 'pooler_tanh', 'tanh')
    return net


def gpt2(net, tokens=128, width=768, depth=12, heads=12, vocabulary=50257):
    text = Text(net, tokens, width, heads, 4 * width, cached=True)
    x = text.add(text.embedding('words', vocabulary),
                 text.embedding('positions', 1024, per_sequence=False), 'positions_add', True)
    for i in range(depth):
        x = text.block(x, f'layer{i}', 1e-5, True)
    text.next_word(x, vocabulary)
    return net


def llama(net, tokens=128, width=2048, depth=16, heads=32, kv_heads=8, inner=8192,
          vocabulary=128256):
    text = Text(net, tokens, width, heads, inner, 'swish', True, kv_heads, True)
    x = text.embedding('words', vocabulary)
    for i in range(depth):
        x = text.block(x, f'layer{i}', 1e-5, True)
    text.next_word(x, vocabulary)
    return net


def qwen3_moe(net, depth, tokens=128, width=2048, heads=32, kv_heads=4, d=128, inner=768,
              experts=128, top_k=8, vocabulary=151936, epsilon=1e-6):
    text = Text(net, tokens, width, heads, inner, 'swish', True, kv_heads, True, d, epsilon,
                experts, top_k)
    x = text.embedding('words', vocabulary)
    for i in range(depth):
        x = text.block(x, f'layer{i}', epsilon, True)
    text.next_word(x, vocabulary, epsilon, weights_of=None)
    return net


def vit(net, patch=16, width=768, depth=12, heads=12):
    x = net.conv(net.input, 'patches', width, patch, patch, bias=True)
    _, h, w = x.dims
    tokens = h * w + 1
    text = Text(net, tokens, width, heads, 4 * width)
    x = net.layer('tokens', 'transpose', [x], (h * w, width),
                  {'dims': ['batch', width, h, w], 'view': ['batch', width, h * w],
                   'order': [0, 2, 1]})
    y = net.layer('class_token', 'embedding', [net.input], (1, width),
                  {'n': 'batch', 'rows': 1, 'columns': width})
    dims = ['batch', tokens, width]
    x = net.layer('concat', 'concat', [y, x], (tokens, width),
                  {'dims': dims, 'axis': 1, 'sizes': [1, h * w]})
    x = net.layer('positions', 'add', [x], (tokens, width),
                  {'dims': dims, 'broadcast': True, 'learned': True})
    for i in range(depth):
        x = text.block(x, f'layer{i}', 1e-6, False)
    x = text.token(text.norm(x, 'norm', 1e-6), 'first', 0)
    net.softmax(net.fc(x, 'head', 1000))
    return net


@family('transformer')
def transformer():
    yield bert(Network(
        'bert_base', 'BERT-base, 128 tokens',
        'Devlin et al. 2018 (arXiv:1810.04805), as transformers.BertModel with bert-base-uncased: '
        'word, type and position embeddings, pooled first token, no head of a task', 'text', (),
        aliases='bert-base-uncased'))
    yield gpt2(Network(
        'gpt2', 'GPT-2 small',
        'Radford et al. 2019, as transformers.GPT2LMHeadModel when it reads a prompt, or the next '
        'tokens behind a key-value cache: logits of the last token alone. Query, key and value are '
        'three products, one of three times the width there',
        'text', ()))
    yield llama(Network(
        'llama_1b', 'Llama 3.2 1B',
        'Meta 2024, as transformers.LlamaForCausalLM with the sizes of the config.json of '
        'Llama-3.2-1B, when it reads a prompt, or the next tokens behind a key-value cache: logits '
        'of the last token alone', 'text', ()))
    yield qwen3_moe(Network(
        'qwen3_moe_2_layers', 'Qwen3-30B-A3B with 2 of its 48 layers',
        'Qwen team 2025 (arXiv:2505.09388), as transformers.Qwen3MoeForCausalLM with the sizes of '
        'the config.json of Qwen3-30B-A3B, but for num_hidden_layers 2, when it reads a prompt, or '
        'the next tokens behind a key-value cache: logits of the last token alone. Gate and up are '
        'two products, one of twice the width there', 'text', ()), 2)
    yield vit(Network(
        'vit_b_16', 'ViT-B/16, 224x224',
        'Dosovitskiy et al. 2021 (arXiv:2010.11929), as in torchvision; the class token is an '
        'embedding of one row. Query, key and value are three products, one of three times the '
        'width there', 'imagenet', (3, 224, 224)))


def main():
    shipped = pathlib.Path(__file__).resolve().parent.parent / 'shapes' / 'models'
    parser = argparse.ArgumentParser(description='Writes the shape files of all models but '
                                     'those of tools/import_models.py.')
    parser.add_argument('folder', nargs='?', type=pathlib.Path, default=shipped,
                        help='existing folder to write to (default: shapes/models)')
    folder = parser.parse_args().folder
    if not folder.is_dir():
        parser.error(f'{folder} is not a folder')
    for name, function in FAMILIES:
        for net in function():
            (folder / (net.name + '.json')).write_text(net.text(name), encoding='utf-8')


if __name__ == '__main__':
    main()
