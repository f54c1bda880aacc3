# SPDX-FileCopyrightText: 2026 the layerbench authors
# SPDX-License-Identifier: Apache-2.0
"""The models that tools/engines.py --overhead measures, as shape files."""

# Blocks of three layers in the models of tiny layers, which take about a microsecond each.
BLOCKS = (10, 50)
LARGE_LAYERS = 4
# Of kernels_model(): the largest image, the channels of that one and the most, how often images are
# halved, the columns of products, and the batch.
IMAGE, CHANNELS, MOST_CHANNELS, HALVINGS, COLUMNS, BATCH = 104, 64, 512, 4, 4096, 4


def tiny_model(blocks):
    """Blocks of a convolution, a batch norm and an activation. On so small an image PyTorch leaves
    windows up to 3x3 to a kernel that is not oneDNN's."""
    size = {'n': 'batch', 'c': 16, 'h': 4, 'w': 4}
    layers = []
    for i in range(blocks):
        layers += [{'name': f'conv{i}', 'op': 'conv',
                    'shape': {**size, 'k': 16, 'r': 5, 's': 5, 'pad': 2}},
                   {'name': f'bn{i}', 'op': 'batchnorm', 'shape': size},
                   {'name': f'relu{i}', 'op': 'activation',
                    'shape': {'kind': 'relu', 'dims': ['batch', 16, 4, 4]}}]
    return {'name': f'tiny_{blocks}', 'title': f'{blocks} blocks of tiny layers',
            'parameters': {'batch': 1}, 'layers': layers}


def large_model():
    """Layers whose results have 41 MB."""
    size = {'n': 'batch', 'c': 64, 'h': 400, 'w': 400}
    layers = [{'name': f'bn{i}', 'op': 'batchnorm', 'shape': size} for i in range(LARGE_LAYERS)]
    return {'name': 'large', 'title': 'layers with large results', 'parameters': {'batch': 1},
            'layers': layers}


class Layers:
    """A list of layers that grows. The name of each is its operation and a number."""

    def __init__(self):
        self.all = []

    def add(self, op, shape, after=None, what=None):
        """Adds a layer behind the last one, or behind those of these names; its name. Without names
        it reads an input of the model."""
        name = f'{what or op}_{len(self.all)}'  # relu6 has a digit itself
        self.all.append({'name': name, 'op': op, **({} if after is None else {'after': after}),
                         'shape': shape})
        return name

    def activation(self, kind, dims, after=None):
        return self.add('activation', {'kind': kind, 'dims': dims}, after, kind)

    def product(self, rows, columns, inner, after=None):
        return self.add('gemm', {'m': rows, 'n': columns, 'k': inner, 'b_transposed': True,
                                 'bias': True}, after)

    def conv(self, size, channels, window, kind='relu', **more):
        """A convolution, a batch norm and an activation."""
        self.add('conv', {**size, 'k': channels, 'r': window, 's': window,
                          **({'pad': 1} if window > 1 else {}), **more})
        made = {**size, 'c': channels}
        if 'stride' in more:
            made.update(h=size['h'] // 2, w=size['w'] // 2)
        self.add('batchnorm', made)
        return self.activation(kind, [made[axis] for axis in 'nchw'])

    def images(self, size):
        """Layers of all kinds that read and write images of one size."""
        channels, dims = size['c'], [size[axis] for axis in 'nchw']
        window = {'r': 3, 's': 3, 'stride': 1, 'pad': 1}
        begin = self.conv(size, channels, 1)
        self.conv(size, channels, 3, 'relu6', groups=channels)
        self.add('conv', {**size, 'k': channels, 'r': 1, 's': 1})
        norm = self.add('batchnorm', size)
        self.add('add', {'dims': dims}, [norm, begin])
        self.activation('relu', dims)
        self.conv(size, channels, 3, groups=channels // 16)
        last = self.conv(size, channels, 3)
        # No activation follows another one, since engines would join them.
        self.add('pool', {'kind': 'max', **size, **window}, [last])
        largest = self.activation('relu', dims)
        self.add('pool', {'kind': 'average', **size, **window}, [last])
        mean = self.activation('gelu', dims)
        self.add('concat', {'dims': [*dims[:1], 2 * channels, *dims[2:]],
                            'sizes': [channels, channels]}, [largest, mean])
        self.conv({**size, 'c': 2 * channels}, channels, 1, 'swish')
        self.add('lrn', {**size, 'size': 5})
        self.activation('hardswish', dims)

    def texts(self, channels, image, after):
        """A block of a transformer's encoder, whose tokens are the pixels of images."""
        pixels = image * image
        self.add('transpose', {'dims': ['batch', channels, image, image], 'order': [0, 2, 1],
                               'view': ['batch', channels, pixels]}, [after])
        rows = ['batch', pixels]
        dims = [*rows, channels]
        # Behind a product, as in networks: PyTorch hands the transposed tensor on without a copy,
        # and its layer norm takes four times as long on it.
        begin = self.product(rows, channels, channels)
        norm = self.add('layernorm', {'dims': dims})
        parts = [self.product(rows, channels, channels, [norm]) for _ in range(3)]
        self.add('attention', {'n': 'batch', 'heads': channels // 64, 'q': pixels, 'k': pixels,
                               'd': 64}, parts)
        self.add('add', {'dims': dims}, [self.product(rows, channels, channels), begin])
        self.add('layernorm', {'dims': dims})
        self.product(rows, 4 * channels, channels)
        self.activation('gelu', [*rows, 4 * channels])
        self.product(rows, channels, 4 * channels)
        self.add('softmax', {'dims': dims, 'axis': 2})


def kernels_model():
    """Layers of all ops of common models, in sizes between those of small and large networks."""
    layers = Layers()
    layers.conv({'n': 'batch', 'c': 3, 'h': 2 * IMAGE, 'w': 2 * IMAGE}, CHANNELS, 3, stride=2)
    channels, image = CHANNELS, IMAGE
    for i in range(HALVINGS + 1):
        size = {'n': 'batch', 'c': channels, 'h': image, 'w': image}
        layers.images(size)
        if i == HALVINGS:
            break
        last = layers.all[-1]['name']
        text = channels, image, last
        # Both windows in turn; the one odd image, of 13 pixels a side, has that of 3x3.
        window = {'r': 3, 's': 3, 'stride': 2, 'pad': 1} if i % 2 else {'r': 2, 's': 2, 'stride': 2}
        pools = [layers.add('pool', {'kind': kind, **size, **window}, [last])
                 for kind in ('max', 'average')]
        image = (image + 1) // 2
        layers.add('add', {'dims': ['batch', channels, image, image]}, pools)
        layers.activation('sigmoid', ['batch', channels, image, image])
        more = min(2 * channels, MOST_CHANNELS)
        layers.conv({**size, 'h': image, 'w': image}, more, 3)
        channels = more
    layers.add('pool', {'kind': 'average', **size, 'r': image, 's': image, 'stride': 1})
    for sizes in ((COLUMNS, channels), (COLUMNS, COLUMNS), (COLUMNS // 4, COLUMNS)):
        layers.product('batch', *sizes)
    layers.product(1, COLUMNS, COLUMNS, [])
    layers.product(1, COLUMNS // 4, COLUMNS)
    layers.texts(*text)
    return {'name': 'kernels', 'title': 'layers of all kinds', 'parameters': {'batch': BATCH},
            'layers': layers.all}
