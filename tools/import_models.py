#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 the layerbench authors
# SPDX-License-Identifier: Apache-2.0
"""Writes the shape files of the models that are imported from PyTorch: tools/import_models.py [FOLDER].

tools/make_models.py writes all others. A model is made of its configuration alone: nothing is downloaded. Needs
torch, transformers, diffusers and a build; takes minutes, so it is run by hand, and so is
`tests/torch_coverage.py build/release/tools/layerbench --library=shipped`, which writes torch's totals of the same
models.
"""
import argparse
import functools
import json
import pathlib
import re
import subprocess
import sys
from collections import namedtuple

import from_torch
import make_models
import output_file
import torch_export

# `make` makes the module. `inputs` are as --input of tools/from_torch.py has them; a size "tokens" becomes the
# parameter of that name, whose usual value is TOKENS.
Model = namedtuple('Model', 'name title source family data make inputs')
TOKENS = 128
# Fields of ops that are lists of sizes; a list in another field is a product.
LISTS = ('dims', 'dims1', 'view', 'reshape', 'sizes', 'before', 'after')


# --- Modules -----------------------------------------------------------------------------------

def first_result(module, **more):
    """The module with arguments added, and its first result alone."""
    forward = module.forward

    @functools.wraps(forward)
    def only_first(*args, **kwargs):
        return forward(*args, **kwargs, **more)[0]
    module.forward = only_first
    return module


def transformer(kind, arguments=None, **config):
    """A model of transformers."""
    return lambda: first_result(torch_export.transformers_maker(kind, **config)[0](), **(arguments or {}))


def language_model(kind, **config):
    """One that computes the logits of the last token alone."""
    return transformer(kind, {'logits_to_keep': 1}, **config)


def diffuser(kind, **config):
    """A model of diffusers."""
    return lambda: first_result(getattr(torch_export.package('diffusers'), kind)(**config))


def detr():
    transformers = torch_export.package('transformers')
    backbone = transformers.ResNetConfig(out_features=['stage4'])
    return transformers.DetrForObjectDetection(transformers.DetrConfig(
        use_timm_backbone=False, use_pretrained_backbone=False, backbone=None, backbone_config=backbone))


# Rows of the tables of DLRM, and how many of them a sample of the data reads, as MLPerf has them.
TABLES = (40000000, 39060, 17295, 7424, 20265, 3, 7122, 1543, 63, 40000000, 3067956, 405282, 10, 2209, 11938, 155, 4,
          976, 14, 40000000, 40000000, 40000000, 590152, 12973, 108, 36)
BAGS = (3, 2, 1, 2, 6, 1, 1, 1, 1, 7, 3, 8, 1, 6, 9, 5, 1, 1, 1, 12, 100, 27, 10, 3, 1, 1)


def dlrm(most_rows, width=128, bottom=(13, 512, 256, 128), rank=512, crosses=3, top=(1024, 1024, 512, 256, 1)):
    """DLRM with a cross network of low rank (Wang et al. 2021, arXiv:2008.13535)."""
    def make():
        torch = torch_export.package('torch')
        nn = torch.nn

        def perceptron(sizes):
            return nn.Sequential(*(layer for pair in zip(sizes, sizes[1:]) for layer in (nn.Linear(*pair), nn.ReLU())))

        class Dlrm(nn.Module):
            def __init__(self):
                super().__init__()
                joined = width * (len(TABLES) + 1)
                self.bottom = perceptron(bottom)
                self.table = nn.ModuleList(nn.EmbeddingBag(min(rows, most_rows), width, mode='sum') for rows in TABLES)
                self.down = nn.ModuleList(nn.Linear(joined, rank, bias=False) for _ in range(crosses))
                self.up = nn.ModuleList(nn.Linear(rank, joined) for _ in range(crosses))
                self.top = perceptron((joined, *top))[:-1]

            def forward(self, numbers, *indices):
                bags = [table(of) for table, of in zip(self.table, indices)]
                first = x = torch.cat([self.bottom(numbers), *bags], 1)
                for down, up in zip(self.down, self.up):
                    x = first * up(down(x)) + x
                return torch.sigmoid(self.top(x))
        return Dlrm()
    return make


WORDS = ('1xtokens:int64',)
MODELS = (
    Model('gemma3_6_layers', 'Gemma 3 1B with 6 of its 26 layers',
          'Google 2025 (arXiv:2503.19786), as transformers.Gemma3ForCausalLM with the sizes of the config.json of '
          'gemma-3-1b, but for num_hidden_layers 6, when it reads a prompt, or the next tokens behind a key-value '
          'cache: logits of the last token alone. Windows of 512 tokens in 5 of the layers are left out: exact up to '
          '512 keys', 'transformer', 'text',
          language_model('Gemma3ForCausalLM', vocab_size=262144, hidden_size=1152, intermediate_size=6912,
                         num_hidden_layers=6, num_attention_heads=4, num_key_value_heads=1, head_dim=256,
                         sliding_window=512, tie_word_embeddings=True), WORDS),
    Model('gpt_oss_1_layer', 'GPT-OSS 20B with 1 of its 24 layers and a quarter of its vocabulary',
          'OpenAI 2025 (arXiv:2508.10925), as transformers.GptOssForCausalLM with the sizes of the config.json of '
          'gpt-oss-20b, but for num_hidden_layers 1 and vocab_size 50272, when it reads a prompt of 128 tokens: '
          'logits of the last token alone. Attention, whose scores have a sink, is products and a softmax',
          'transformer', 'text',
          language_model('GptOssForCausalLM', vocab_size=50272, num_hidden_layers=1, num_local_experts=32),
          (f'1x{TOKENS}:int64',)),
    Model('deepseek_mla_1_layer', 'DeepSeek V3 with 1 of its 61 layers and an eighth of its vocabulary',
          'DeepSeek-AI 2024 (arXiv:2412.19437), as transformers.DeepseekV3ForCausalLM with its usual configuration, '
          'but for num_hidden_layers 1, a layer without experts, and vocab_size 16160, when it reads a prompt: logits '
          'of the last token alone. Its latent attention (MLA) is products and a softmax', 'transformer', 'text',
          language_model('DeepseekV3ForCausalLM', vocab_size=16160, num_hidden_layers=1, first_k_dense_replace=1),
          WORDS),
    Model('whisper_small', 'Whisper small, 30 seconds of audio and the first 4 tokens of text',
          'Radford et al. 2022 (arXiv:2212.04356), as transformers.WhisperForConditionalGeneration with the sizes of '
          'the config.json of whisper-small: the encoder, and the decoder with the four tokens that say what to do',
          'transformer', 'speech',
          transformer('WhisperForConditionalGeneration', vocab_size=51865, d_model=768, encoder_layers=12,
                      decoder_layers=12, encoder_attention_heads=12, decoder_attention_heads=12, encoder_ffn_dim=3072,
                      decoder_ffn_dim=3072),
          ('input_features=1x80x3000', 'decoder_input_ids=1x4:int64')),
    Model('detr', 'DETR with ResNet-50, COCO, 800x1066',
          'Carion et al. 2020 (arXiv:2005.12872), as transformers.DetrForObjectDetection with its usual configuration '
          'and transformers.ResNetConfig: its batch norms are frozen, each a product and a sum. Left out: masks of '
          'padding', 'detection', 'coco', detr, ('1x3x800x1066',)),
    Model('dit_s_2', 'DiT-S/2, ImageNet, 256x256',
          'Peebles and Xie 2022 (arXiv:2212.09748), as diffusers.DiTTransformer2DModel with the sizes of DiT-S/2: one '
          'step of denoising, latents of 32x32. Each block has its own embeddings of time step and class. Sines and '
          'cosines are timed as tanh', 'diffusion', 'imagenet',
          diffuser('DiTTransformer2DModel', num_attention_heads=6, attention_head_dim=64, num_layers=12,
                   sample_size=32, patch_size=2, in_channels=4, out_channels=8, num_embeds_ada_norm=1000),
          ('1x4x32x32', 'timestep=1:int64', 'class_labels=1:int64')),
    Model('sd_unet_tiny', 'U-Net of Stable Diffusion as in BK-SDM-Tiny, 512x512',
          'Kim et al. 2023 (arXiv:2305.15798), as diffusers.UNet2DConditionModel with the sizes of the config.json of '
          'bk-sdm-tiny: one step of denoising, latents of 64x64. Sines and cosines are timed as tanh', 'diffusion',
          'laion',
          diffuser('UNet2DConditionModel', sample_size=64, block_out_channels=(320, 640, 1280), layers_per_block=1,
                   cross_attention_dim=768, attention_head_dim=8, down_block_types=('CrossAttnDownBlock2D',) * 3,
                   up_block_types=('CrossAttnUpBlock2D',) * 3, mid_block_type=None),
          ('1x4x64x64', 'timestep=1:int64', 'encoder_hidden_states=1x77x768')),
    Model('dlrm_small_tables', 'DLRM-DCNv2, Criteo, tables of up to 250000 rows',
          'Naumov et al. 2019 (arXiv:1906.00091), as MLPerf has it since 2023: 26 tables with several rows per '
          'sample, a cross network of three layers. Sums of rows are timed as averages. Written in '
          'tools/import_models.py; tables have at most 250000 rows, those of MLPerf up to 40000000', 'recommendation',
          'criteo', dlrm(250000),
          ('1x13', *(f'1x{bag}:int64' for bag in BAGS))))


# --- Shape files -------------------------------------------------------------------------------

def export_of(model, tokens=TOKENS):
    """What layerbench converts."""
    return torch_export.export(model.name, model.inputs, {'tokens': tokens}, model.name, model.make)


def layers_of(program, model, tokens):
    done = subprocess.run([program, 'import', 'torch', '-', '--no-softmax'], text=True, check=False,
                          input=from_torch.compact(export_of(model, tokens)), capture_output=True)
    if done.returncode:
        sys.exit(done.stderr)
    return json.loads(done.stdout)['layers']


def common_size(one, other, tokens):
    """A size at two numbers of tokens, or a product of sizes."""
    *names, last = one if isinstance(one, list) else [one]
    *others, second = other if isinstance(other, list) else [other]
    if names != others or last * tokens[1] != second * tokens[0] or last % tokens[0]:
        if (one, other) == (tokens[0] - 1, tokens[1] - 1):
            return 'last'
        raise ValueError(f'{one} with {tokens[0]} tokens, but {other} with {tokens[1]}')
    names += ['tokens'] + [last // tokens[0]] * (last != tokens[0])
    return names if len(names) > 1 else names[0]


def common(one, other, tokens, key=''):
    """What conversions at two numbers of tokens have in common."""
    if isinstance(one, dict) and one.keys() == other.keys():
        return {key: common(value, other[key], tokens, key) for key, value in one.items()}
    if one == other:
        return one
    if key in (*LISTS, 'layers') and len(one) == len(other):
        return [common(*pair, tokens) for pair in zip(one, other)]
    return common_size(one, other, tokens)


def cached(layers):
    """The layers with key-value caches, if all attention is by calls that hide later tokens."""
    calls = [layer for layer in layers if layer['op'] == 'attention']
    if not calls or any('tokens' not in layer['shape'].values() for layer in calls):
        return None
    result = []
    for layer in layers:
        if layer in calls:
            shape = layer['shape']
            query, *sources = layer['after']
            columns = shape.get('kv_heads', shape['heads']) * shape['d']
            for source in sources:
                result.append({'name': source + '_cache', 'op': 'append', 'after': [source], 'shape': {
                    'n': 'batch', 'tokens': 'tokens', 'context': 'context', 'columns': columns}})
            layer = {**layer, 'after': [query, *(source + '_cache' for source in sources)],
                     'shape': {**shape, 'k': 'keys'}}
        result.append(layer)
    return result


def shape_file(program, model):
    """The text of the file."""
    layers, parameters = layers_of(program, model, TOKENS), {'batch': 1}
    if 'tokens' in ' '.join(model.inputs):
        tokens = (TOKENS, TOKENS * 3 // 4)
        layers = common(layers, layers_of(program, model, tokens[1]), tokens, 'layers')
        parameters['tokens'] = TOKENS
        found = cached(layers)
        if found:
            layers, parameters['context'] = found, 0
    versions = ', '.join(f'{one} {sys.modules[one].__version__.partition("+")[0]}'
                         for one in ('torch', 'transformers', 'diffusers') if one == 'torch' or one in model.source)
    header = {'title': model.title, 'source': f'{model.source}. Imported from {versions}', 'family': model.family,
              'data': model.data, 'parameters': parameters}
    return make_models.shape_file_text(model.name, header, layers)


def main():
    shipped = pathlib.Path(__file__).resolve().parent.parent / 'shapes' / 'models'
    parser = argparse.ArgumentParser(description='Writes the shape files of the models that are imported from PyTorch.')
    parser.add_argument('folder', nargs='?', type=pathlib.Path, default=shipped,
                        help='existing folder to write to (default: shapes/models)')
    parser.add_argument('--only', default='', metavar='REGEX', help='models whose names begin so; default: all')
    parser.add_argument('--layerbench', metavar='PROGRAM',
                        help='the program that converts the calls; default: as of tools/from_torch.py')
    options = parser.parse_args()
    if not options.folder.is_dir():
        parser.error(f'{options.folder} is not a folder')
    program = from_torch.layerbench_of(options)
    if program is None:
        parser.error(from_torch.no_program(options))
    models = [model for model in MODELS if re.match(options.only, model.name)]
    if not models:
        parser.error(f'--only: no model has a name that begins with {options.only!r}; there are '
                     f'{", ".join(model.name for model in MODELS)}')
    for model in models:
        file = options.folder / (model.name + '.json')
        try:
            output_file.require(file, output_file.SHAPE_FILE)
            text = shape_file(program, model)
        except output_file.Refused as error:
            parser.error(str(error))
        except from_torch.EXPORT_ERRORS as error:
            return from_torch.report(error, model.name)
        code = output_file.write(text, file)
        if code:
            return code
        print(model.name, len(text))
    return 0


if __name__ == '__main__':
    sys.exit(main())
