# SPDX-FileCopyrightText: 2026 the layerbench authors
# SPDX-License-Identifier: Apache-2.0
"""Writes a Llama of a shape file's sizes as GGUF, with random weights and no vocabulary, for
llama.cpp. Form: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md."""
import math
import random
import struct

ALIGNMENT = 32
CHUNK = 1 << 16  # blocks of a type that are written at once
# Of a type: ggml's number of it, the file's (llama.h), weights in a block, and its bytes.
TYPES = {'f32': (0, 0, 1, 4), 'bf16': (30, 32, 1, 2), 'q4_0': (2, 2, 32, 18)}


class NoLlama(Exception):
    """The model has other layers; the text says which are missing."""


def sizes_of(shown):
    """What `layerbench show` says of a Llama, as GGUF names it. Throws NoLlama."""
    layers = {layer['name']: layer for layer in shown['layers']}
    depth = sum(layer['op'] == 'attention' for layer in shown['layers'])
    try:
        words, attention, gate = (layers[name]['shape'] for name in (
            'words', 'layer0_attention', 'layer0_gate'))
        known = {'vocabulary': words['rows'], 'width': words['columns'], 'inner': gate['n'],
                 'depth': depth, 'heads': attention['heads'], 'd': attention['d'],
                 'kv_heads': attention.get('kv_heads') or attention['heads'],
                 'epsilon': layers['layer0_norm1']['shape'].get('epsilon', 1e-5),
                 'tied': False}
    except KeyError as missing:
        raise NoLlama(f'{shown["model"]}: no Llama, such as llama_1b: lacks {missing}') from missing
    # Others have norms of heads, biases or experts. Without earlier tokens there are no caches.
    computing = sum(layer['op'] != 'append' for layer in shown['layers'])
    if computing != 4 + 16 * depth or any(
            layer['shape'].get('bias') for layer in shown['layers']):
        raise NoLlama(f'{shown["model"]}: no Llama, such as llama_1b: has other layers')
    # The output may have the weights of the words.
    known['tied'] = shown['parameters'] < sum(math.prod(one) for _, one in tensors_of(known))
    return known


def tensors_of(sizes):
    """Names and extents, neighbours first."""
    width, inner = sizes['width'], sizes['inner']
    rows, kv_rows = (sizes[heads] * sizes['d'] for heads in ('heads', 'kv_heads'))
    yield 'token_embd.weight', (width, sizes['vocabulary'])
    for i in range(sizes['depth']):
        for name, extents in (('attn_norm', (width,)), ('attn_q', (width, rows)),
                              ('attn_k', (width, kv_rows)), ('attn_v', (width, kv_rows)),
                              ('attn_output', (rows, width)), ('ffn_norm', (width,)),
                              ('ffn_gate', (width, inner)), ('ffn_up', (width, inner)),
                              ('ffn_down', (inner, width))):
            yield f'blk.{i}.{name}.weight', extents
    yield 'output_norm.weight', (width,)
    if not sizes['tied']:
        yield 'output.weight', (width, sizes['vocabulary'])


def pattern(kind, inputs):
    """Of a block of weights: the bits that are random, and those that are set, so that sums of
    `inputs` products have about the size of their factors, and no weight is subnormal."""
    exponent = 127 - math.ceil(math.log2(1.5 * math.sqrt(inputs)))
    if kind == 'f32':
        return struct.pack('<I', 0x807fffff), struct.pack('<I', exponent << 23)
    if kind == 'bf16':
        return struct.pack('<H', 0x807f), struct.pack('<H', exponent << 7)
    scale = struct.pack('<e', 1 / (4.6 * math.sqrt(inputs)))  # of numbers from -8 to 7
    return bytes(2) + b'\xff' * 16, scale + bytes(16)


def write_weights(file, kind, extents, bits):
    """Random weights, a chunk at a time; ones for norms."""
    if len(extents) == 1:
        file.write(struct.pack('<f', 1) * extents[0])
        return
    _, _, group, size = TYPES[kind]
    blocks = math.prod(extents) // group
    free, fixed = pattern(kind, extents[0])
    for begin in range(0, blocks, CHUNK):
        count = min(CHUNK, blocks - begin)
        mask, ones = (int.from_bytes(one * count, 'little') for one in (free, fixed))
        value = bits.getrandbits(8 * size * count) & mask | ones
        file.write(value.to_bytes(size * count, 'little'))


def type_of(kind, extents):
    return 'f32' if len(extents) == 1 else kind


def bytes_of(kind, extents):
    _, _, group, size = TYPES[type_of(kind, extents)]
    if extents[0] % group:
        raise NoLlama(f'{kind} has groups of {group} weights, which do not divide {extents[0]}')
    return math.prod(extents) // group * size


def total_bytes(sizes, kind):
    """Of all weights. Throws NoLlama where the type cannot have them."""
    return sum(bytes_of(kind, extents) for _, extents in tensors_of(sizes))


def write(path, name, sizes, kind):
    """Writes the file. Throws NoLlama and OSError."""
    def text(value):
        return struct.pack('<Q', len(value.encode())) + value.encode()
    keys = [('general.architecture', 'llama'), ('general.name', name),
            ('general.file_type', TYPES[kind][1]), ('llama.vocab_size', sizes['vocabulary']),
            ('llama.context_length', 1 << 17), ('llama.embedding_length', sizes['width']),
            ('llama.block_count', sizes['depth']), ('llama.feed_forward_length', sizes['inner']),
            ('llama.attention.head_count', sizes['heads']),
            ('llama.attention.head_count_kv', sizes['kv_heads']),
            ('llama.attention.key_length', sizes['d']),
            ('llama.attention.value_length', sizes['d']),
            ('llama.attention.layer_norm_rms_epsilon', sizes['epsilon']),
            ('llama.rope.dimension_count', sizes['d']), ('tokenizer.ggml.model', 'no_vocab')]
    numbers = {str: lambda value: struct.pack('<I', 8) + text(value),
               int: lambda value: struct.pack('<II', 4, value),
               float: lambda value: struct.pack('<If', 6, value)}
    tensors = list(tensors_of(sizes))
    header = b'GGUF' + struct.pack('<IQQ', 3, len(tensors), len(keys))
    header += b''.join(text(key) + numbers[type(value)](value) for key, value in keys)
    offset = 0
    for tensor, extents in tensors:
        header += text(tensor) + struct.pack(f'<I{len(extents)}Q', len(extents), *extents)
        header += struct.pack('<IQ', TYPES[type_of(kind, extents)][0], offset)
        offset += math.ceil(bytes_of(kind, extents) / ALIGNMENT) * ALIGNMENT
    bits = random.Random(1)
    with open(path, 'wb') as file:
        file.write(header)
        for _, extents in tensors:
            file.write(bytes(-file.tell() % ALIGNMENT))
            write_weights(file, type_of(kind, extents), extents, bits)
