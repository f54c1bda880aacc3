# SPDX-FileCopyrightText: 2026 the layerbench authors
# SPDX-License-Identifier: Apache-2.0
"""Traces a PyTorch module and writes its calls as plain data, which `layerbench import torch` reads.

The export is a dictionary that JSON can hold; docs/formats.md has its keys.
"""
import contextlib
import functools
import importlib
import importlib.util
import inspect
import io
import logging
import math
import operator
import pathlib
import re
import sys
import warnings

VERSION = 1
# Batches of the two exports. Neither is 1, which torch.export may treat as a constant.
BATCHES = (2, 3)
# Calls that torch's counter knows the FLOPs of.
COUNTED = re.compile(r'conv|linear|matmul|\bmm\b|bmm|addmm|mv|dot|einsum|lstm|gru|rnn|bilinear')
# Elements of a mask that is computed.
LARGEST_MASK = 2**26
# Composite calls that return their argument without a word in their schema.
RETURNS_ARGUMENT = re.compile(r'^aten\.(feature_|alpha_|feature_alpha_)?dropout\.')


class CannotExport(Exception):
    """The model cannot be exported; the text says why."""


class Missing(Exception):
    """A package cannot be imported: its name, and why."""


class Usage(Exception):
    """The command line names something that is not there."""


def package(name):
    try:
        return importlib.import_module(name)
    except Exception as error:  # pylint: disable=broad-exception-caught
        raise Missing(name, first_line(error)) from error


# --- The module --------------------------------------------------------------------------------

def without_weights(torch):
    """A scope in which torch.empty, which layers take their weights from, allocates nothing."""
    class Mode(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, function, types, args=(), kwargs=None):
            kwargs = dict(kwargs or {})
            if function in (torch.empty, torch.empty_strided):
                kwargs['device'] = 'meta'
            return function(*args, **kwargs)
    return Mode()


def torchvision_maker(name):
    models = package('torchvision').models
    if name not in models.list_models():
        raise Usage(f'torchvision has no model {name!r}; torchvision.models.list_models() lists '
                    'them')
    sizes = [weights.transforms.keywords.get('crop_size')
             for weights in models.get_model_weights(name)
             if hasattr(weights.transforms, 'keywords')]
    side = min((size for size in sizes if isinstance(size, int)), default=224)
    # Models with a backbone would download its weights.
    builder = inspect.signature(models.get_model_builder(name)).parameters
    more = {key: None for key in ('weights', 'weights_backbone') if key in builder}
    return lambda: models.get_model(name, **more), [f'1x3x{side}x{side}']


def timm_maker(name):
    timm = package('timm')
    if not timm.is_model(name):
        raise Usage(f'timm has no model {name!r}; timm.list_models() lists them')

    def make():
        return timm.create_model(name, pretrained=False)

    config = timm.get_pretrained_cfg(name)
    size = getattr(config, 'input_size', None) or (3, 224, 224)
    return make, ['1x' + 'x'.join(map(str, size))]


def transformers_maker(name, **changes):
    """Of a folder or file with a configuration, which mostly names its model, or of a class of
    configurations or models, with other values than its own."""
    transformers = package('transformers')
    found = None if pathlib.Path(name).exists() else getattr(transformers, name, None)
    kind = getattr(found, 'config_class', None) or found
    if pathlib.Path(name).exists():
        config = transformers.AutoConfig.from_pretrained(name, local_files_only=True)
        found = getattr(transformers, (config.architectures or [''])[0], None)
    elif isinstance(kind, type) and issubclass(kind, transformers.PretrainedConfig):
        config = kind(**changes)
    else:
        raise Usage(f'{name!r} is neither a folder or file with a configuration nor a class of '
                    'transformers, such as BertConfig or BertForMaskedLM')
    config.use_cache = False
    if found in (None, kind):
        return lambda: transformers.AutoModel.from_config(config), []
    return lambda: found(config), []


def own_maker(module_name, path):
    """Of MODULE:CALLABLE; MODULE is what Python imports, or a file."""
    sys.path.insert(0, '')
    if module_name.endswith('.py'):
        spec = importlib.util.spec_from_file_location(pathlib.Path(module_name).stem, module_name)
        module = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = module
    try:
        if module_name.endswith('.py'):
            spec.loader.exec_module(module)
        else:
            module = importlib.import_module(module_name)
    except (Exception, SystemExit) as error:  # pylint: disable=broad-exception-caught
        raise Usage(f'cannot import {module_name!r}: {first_line(error)}') from error
    try:
        found = operator.attrgetter(path)(module)
    except AttributeError as error:
        raise Usage(f'{module_name!r} has no {path!r}') from error
    if not callable(found):
        raise Usage(f'{module_name}:{path} is not callable')
    is_module = hasattr(found, 'state_dict') and not isinstance(found, type)
    return (lambda: found) if is_module else found, []


def maker_of(model):
    """A function that makes the module, and the default inputs."""
    kind, _, name = model.partition(':')
    makers = {'torchvision': torchvision_maker, 'timm': timm_maker,
              'transformers': transformers_maker}
    return makers[kind](name) if kind in makers else own_maker(kind, name)


def make_module(torch, make, device, buffers=None):
    """The module in inference, on the device; its weights are not allocated on 'meta'. Its buffers
    are added to `buffers`."""
    if device == 'meta':
        with without_weights(torch):
            module = make()
    else:
        module = make()
    if not isinstance(module, torch.nn.Module):
        raise Usage(f'what it returns is no torch.nn.Module, but {type(module).__name__}')
    module.eval()
    trace_experts(torch, module)
    if buffers is not None:
        buffers.update((name, value.clone()) for name, value in module.named_buffers()
                       if not value.is_meta)
    return module.to(device)


def routed_linear(torch):
    """The call that stands for the products of a mixture of experts, as op::routed_gemm."""
    name = 'layerbench::routed_linear'
    if not hasattr(torch.ops.layerbench, 'routed_linear'):
        torch.library.define(name, '(Tensor input, Tensor weight, Tensor experts, Tensor? scales, '
                                   'int outputs) -> Tensor')

        @torch.library.register_fake(name)
        def _(tokens, _, experts, scales, outputs):
            rows = experts.numel() if scales is None else experts.shape[0]
            return tokens.new_empty(rows, outputs)

        @torch.utils.flop_counter.register_flop_formula(torch.ops.layerbench.routed_linear)
        def _(tokens, _, experts, scales, outputs, **_more):  # pylint: disable=unused-argument
            return 2 * math.prod(experts) * outputs * tokens[-1]
    return torch.ops.layerbench.routed_linear


def trace_experts(torch, module):
    """Lets the experts of transformers call one op per product: which expert their own loop runs
    depends on data. Experts without gates, or with norms, stay as they are."""
    def forward(self, tokens, experts, scales):
        inner = self.gate_up_proj.shape[1] // 2
        gate, up = (linear(tokens, self.gate_up_proj, experts, None, inner) for _ in range(2))
        return linear(self.act_fn(gate) * up, self.down_proj, experts, scales, tokens.shape[1])

    def other_forward(self, tokens, experts, scales):
        def biased(rows, name, outputs):
            bias = getattr(self, f'{name}_bias') if self.has_bias else None
            rows = linear(rows, getattr(self, name), experts, None, outputs)
            return rows if bias is None else rows + bias[experts.flatten()]
        inner = self.gate_up_proj.shape[2 if self.is_transposed else 1]
        rows = self._apply_gate(biased(tokens, 'gate_up_proj', inner))
        rows = biased(rows, 'down_proj', tokens.shape[1])
        return (rows.unflatten(0, experts.shape) * scales.unsqueeze(-1)).sum(1)

    for one in module.modules():
        gate = getattr(type(one), '_apply_gate', None)
        if gate is None or not one.has_gate or one.has_post_expert_norm:
            continue
        linear = routed_linear(torch)
        usual = gate.__name__ == '_default_apply_gate' and not (one.has_bias or one.is_transposed)
        one.forward = functools.partial(forward if usual else other_forward, one)


# --- Inputs ------------------------------------------------------------------------------------

def input_sizes(text, bound):
    """Sizes, which of them is the batch, the data type and maybe the name of --input."""
    named, equals, sized = text.rpartition('=')
    if equals and not named.isidentifier():
        raise Usage(f'--input {text}: {named!r} is no name of an argument')
    extents, _, dtype = sized.partition(':')
    words = extents.split('x')
    sizes, batch_axis = [], 0
    for axis, word in enumerate(words):
        if word == 'batch':
            batch_axis, word = axis, str(bound.get('batch', 1))
        elif word in bound:
            word = str(bound[word])
        if not re.fullmatch(r'[1-9]\d{0,9}', word):
            raise Usage(f'--input {text}: {word!r} is no size' + (
                f'; give it one with --bind {word}=SIZE' if word.isidentifier() else ''))
        sizes.append(int(word))
    return sizes, batch_axis, dtype or 'float32', named


def example(torch, inputs, batch, device):
    """Tensors for the arguments of a model, those by position and those by name."""
    tensors, by_name = [], {}
    for sizes, axis, dtype, named in inputs:
        kind = getattr(torch, dtype, None)
        if not isinstance(kind, torch.dtype):
            raise Usage(f'--input: {dtype!r} is no data type of torch')
        extents = [batch if i == axis else size for i, size in enumerate(sizes)]
        tensor = torch.zeros(extents, dtype=kind, device=device)
        if named:
            by_name[named] = tensor
        else:
            tensors.append(tensor)
    return tuple(tensors), by_name


# --- The graph ---------------------------------------------------------------------------------

def place_of(node):
    """File and line of the innermost frame outside of torch."""
    frames = re.findall(r'File "(.*?)", line (\d+)', node.meta.get('stack_trace') or '')
    torch = str(pathlib.Path(sys.modules['torch'].__file__).parent)
    frames = [frame for frame in frames if not frame[0].startswith(torch)] or frames
    if not frames:
        return None
    file, line = frames[-1]
    inside = file.rpartition('-packages/')[2]
    return f'{pathlib.Path(file).name if inside == file else inside}:{line}'


def module_of(node):
    stack = list((node.meta.get('nn_module_stack') or {}).values())
    return re.sub(r'@\d+', '', stack[-1][0]) if stack else ''


def join_written_parts(calls):
    """An empty tensor whose parts along an axis are written one by one becomes a concatenation."""
    readers = {}
    for call in calls:
        for name in re.findall(r"'%([^']+)'", str(call['args'])):
            readers.setdefault(name, []).append(call)
    for empty in [call for call in calls if re.match(r'aten\.(new_)?empty\.', call['target'])]:
        parts, gone, last = {}, [empty], None
        for part in readers.get(empty['name'], []):
            written = readers.get(part['name'], [])
            if part['target'] != 'aten.slice.Tensor' or len(written) != 1 or not (
                    written[0].get('writes_view') and written[0]['target'] == 'aten.copy_.default'):
                continue
            last = written[0]
            gone += [part, last]
            axis = part['args']['dim'] if 'dim' in part['args'] else 0
            parts[part['args'].get('start', 0)] = (axis, part['dims'], last['args']['src'])
        axes = {axis for axis, _, _ in parts.values()}
        if len(axes) != 1 or len(gone) != 1 + 2 * len(parts):  # none, or two parts at one start
            continue
        axis, end, fits = axes.pop() % len(empty['dims']), 0, True
        for start, (_, dims, _) in sorted(parts.items()):
            fits = fits and start == end and (
                dims[:axis] + dims[axis + 1:] == empty['dims'][:axis] + empty['dims'][axis + 1:])
            end += dims[axis]
        early = [call for call in readers[empty['name']] if all(call is not one for one in gone)
                 and calls.index(call) < calls.index(last)]
        if not fits or end != empty['dims'][axis] or early:
            continue
        joined = {**empty, 'target': 'aten.cat.default', 'args': {
            'tensors': [source for _, (_, _, source) in sorted(parts.items())], 'dim': axis}}
        calls.insert(calls.index(last), joined)
        calls[:] = [call for call in calls if all(call is not one for one in gone)]


class Graph:
    """Turns the graph of one torch.export into plain data."""

    def __init__(self, torch, program, buffers):
        self.torch, self.program, self.buffers = torch, program, buffers
        self.constants = {}  # by node: its value, where it is computed of constants alone
        self.refs = {}      # by node: the name that its readers use
        self.base = {}      # by node: the node whose memory it views
        self.data = {'inputs': {}, 'weights': {}, 'buffers': {}, 'calls': [], 'outputs': []}

    def run(self):
        signature = self.program.graph_signature
        weights = {'weights': signature.inputs_to_parameters,
                   'buffers': {**signature.inputs_to_buffers,
                               **signature.inputs_to_lifted_tensor_constants}}
        for node in self.program.graph.nodes:
            if node.op == 'placeholder':
                self.placeholder(node, weights)
            elif node.op == 'output':
                flat = self.torch.utils._pytree.tree_leaves(node.args[0])
                self.data['outputs'] = [self.refs[one] for one in flat if one in self.refs]
            elif node.op == 'call_function':
                self.call(node)
            else:
                raise CannotExport(f'the graph has a node of kind {node.op}: {node.name}')
        join_written_parts(self.data['calls'])
        read = ' '.join(map(str, (call['args'] for call in self.data['calls'])))
        for kind in ('weights', 'buffers'):
            self.data[kind] = {name: dims for name, dims in self.data[kind].items()
                               if f"'%{name}'" in read}
        return self.data

    def placeholder(self, node, weights):
        value = node.meta.get('val')
        for kind, names in weights.items():
            if node.name in names:
                self.refs[node] = names[node.name]
                self.data[kind][names[node.name]] = list(value.shape)
                return
        if isinstance(value, self.torch.Tensor):
            self.refs[node] = node.name
            self.data['inputs'][node.name] = {'dims': self.dims(node, value),
                                              'dtype': self.dtype(value)}

    @staticmethod
    def dtype(value):
        return str(value.dtype).removeprefix('torch.')

    @staticmethod
    def dims(node, value):
        dims = list(value.shape)
        if not all(isinstance(size, int) for size in dims):
            raise CannotExport(f'{place_of(node) or node.name}: the result of {node.target} has '
                               f'sizes that depend on data: {dims}')
        return dims

    def plain(self, value):
        """An argument without torch's types."""
        if isinstance(value, self.torch.fx.Node):
            return '%' + self.refs[value] if value in self.refs else None
        if isinstance(value, (list, tuple)):
            return [self.plain(one) for one in value]
        if isinstance(value, float) and not math.isfinite(value):
            return str(value)
        if value is None or isinstance(value, (bool, int, float, str)):
            return value
        return str(value).removeprefix('torch.')

    def arguments(self, node):
        schema = getattr(node.target, '_schema', None)
        if schema is None:
            return {str(i): self.plain(value) for i, value in enumerate(node.args)}
        values = dict(zip((argument.name for argument in schema.arguments), node.args))
        values.update(node.kwargs)
        found = {}
        for argument in schema.arguments:
            if argument.name not in values or argument.name in ('device', 'pin_memory', 'layout'):
                continue
            value = values[argument.name]
            if argument.has_default_value() and argument.default_value == value:
                continue
            found[argument.name] = self.plain(value)
        return found

    def call(self, node):
        value = node.meta.get('val')
        results = [one for one in (value if isinstance(value, (list, tuple)) else [value])
                   if isinstance(one, self.torch.Tensor)]
        if not results:
            return  # an assertion, or a size
        target = ('getitem' if node.target is operator.getitem else str(node.target))
        call = {'name': node.name, 'target': target, 'module': module_of(node)}
        if place_of(node):
            call['at'] = place_of(node)
        call['args'] = self.arguments(node)
        if isinstance(value, (list, tuple)):
            call['outputs'] = [self.dims(node, one) for one in results]
        else:
            call['dims'] = self.dims(node, value)
        if self.dtype(results[0]) != 'float32':
            call['dtype'] = self.dtype(results[0])
        flops = self.flops(node, target)
        if flops:
            call['flops'] = flops
        kind = self.mask_kind(node, value) if 'scaled_dot_product' in target else None
        if kind:
            call['mask'] = kind
        self.refs[node] = node.name
        if self.aliases(node, target):
            call['writes_view'] = True
        self.data['calls'].append(call)

    def constant(self, node):
        """The value of a node that depends on no input and no weight."""
        if node not in self.constants:
            if node.op == 'placeholder':
                signature = self.program.graph_signature
                names = {**signature.inputs_to_buffers,
                         **signature.inputs_to_lifted_tensor_constants}
                name = names[node.name]
                value = self.buffers[name] if name in self.buffers else self.program.constants[name]
            elif node.op == 'call_function':
                args, kwargs = self.torch.fx.map_arg((node.args, node.kwargs), self.constant)
                if 'device' in kwargs:
                    kwargs = {**kwargs, 'device': 'cpu'}
                value = node.target(*args, **kwargs)
            else:
                raise KeyError(node.name)
            self.constants[node] = value
        return self.constants[node]

    def mask_kind(self, node, result):
        """'causal' or 'all' of an attention whose constant mask hides later tokens or none."""
        torch = self.torch
        mask = node.kwargs.get('attn_mask', node.args[3] if len(node.args) > 3 else None)
        if not isinstance(mask, torch.fx.Node) or mask.meta['val'].numel() > LARGEST_MASK:
            return None
        try:
            with torch.no_grad():
                mask = self.constant(mask)
            visible = mask if mask.dtype == torch.bool else mask == 0
            if mask.dtype != torch.bool and not bool((visible | (mask < -1e4)).all()):
                return None
            if bool(visible.all()):
                return 'all'
            queries, keys = result.shape[-2], visible.shape[-1]
            lower = torch.ones(queries, keys, dtype=torch.bool).tril(keys - queries)
            return 'causal' if bool((visible == lower).all()) else None
        except (KeyError, RuntimeError, NotImplementedError, TypeError, RecursionError):
            return None  # it depends on an input or a weight, or has no value

    def aliases(self, node, target):
        """Keeps account of views; whether the call writes to memory that is read in another form.

        What reads the written memory later reads the result of this call.
        """
        schema = getattr(node.target, '_schema', None)
        source = node.args[0] if node.args else None
        if schema is None or not isinstance(source, self.torch.fx.Node):
            return False
        first = schema.arguments[0].alias_info
        written = bool(first and first.is_write)
        if not (first or RETURNS_ARGUMENT.match(target)):
            return False
        base = self.base[node] = self.base.get(source, source)
        if not written:
            return False
        odd = False
        for other in [base, *(one for one, root in self.base.items() if root is base)]:
            if other is node or not any(user > node for user in other.users):
                continue
            if other.meta['val'].shape == node.meta['val'].shape:
                self.refs[other] = node.name
            else:
                odd = True
        return odd

    def flops(self, node, target):
        """FLOPs of the call, as torch counts them."""
        if not COUNTED.search(target):
            return 0
        torch = self.torch

        def tensor(one):
            value = one.meta['val']
            return torch.empty(value.shape, dtype=value.dtype, device='meta')

        args, kwargs = torch.fx.map_arg((node.args, node.kwargs), tensor)
        counter = torch.utils.flop_counter.FlopCounterMode(display=False)
        try:
            with counter, torch.no_grad():
                node.target(*args, **kwargs)
        except (RuntimeError, NotImplementedError):
            return 0
        return counter.get_total_flops()


def merged(first, second, where):
    """What both exports have; sizes that differ become multiples of the batch."""
    if isinstance(first, dict) and isinstance(second, dict) and first.keys() == second.keys():
        return {key: merged(value, second[key], f'{where} {key}' if key != 'args' else where)
                for key, value in first.items()}
    if isinstance(first, list) and isinstance(second, list) and len(first) == len(second):
        return [merged(one, other, where) for one, other in zip(first, second)]
    if type(first) is type(second) and first == second:
        return first
    if type(first) is int and type(second) is int and first % BATCHES[0] == 0 and (
            first * BATCHES[1] == second * BATCHES[0]):
        factor = first // BATCHES[0]
        return 'batch' if factor == 1 else ['batch', factor]
    raise CannotExport(f'{where}: {str(first)[:60]} at batch {BATCHES[0]}, but {str(second)[:60]} '
                       f'at batch {BATCHES[1]}; the batch may only be a factor of sizes')


def both(first, second):
    calls, others = first.pop('calls'), second.pop('calls')
    for one, other in zip(calls, others):
        if one['target'] != other['target']:
            raise CannotExport(f'{one.get("at") or one["name"]}: {one["target"]} at batch '
                               f'{BATCHES[0]}, but {other["target"]} at batch {BATCHES[1]}')
    if len(calls) != len(others):
        raise CannotExport(f'{len(calls)} calls at batch {BATCHES[0]}, but {len(others)} at batch '
                           f'{BATCHES[1]}')
    result = merged(first, second, 'the inputs')
    result['calls'] = [merged(one, other, one.get('at') or one['name'])
                       for one, other in zip(calls, others)]
    return result


def first_line(error):
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return f'{type(error).__name__}: {lines[0][:300] if lines else ""}'


def export_on(torch, make, inputs, device):
    buffers, graphs = {}, []
    module = make_module(torch, make, device, buffers)
    for batch in BATCHES:
        with torch.no_grad(), warnings.catch_warnings():
            warnings.simplefilter('ignore')
            program = torch.export.export(module, *example(torch, inputs, batch, device),
                                          strict=False)
        graphs.append(Graph(torch, program, buffers).run())
    result = both(*graphs)
    result['parameters'] = sum(one.numel() for one in module.parameters())
    return result


def export(model, inputs, bound, name, maker=None):
    """The export of a model as the command line names it, or as `maker` makes it."""
    read = [input_sizes(text, bound) for text in inputs]
    torch = package('torch')
    importlib.import_module('torch.utils.flop_counter')
    try:
        with contextlib.redirect_stdout(sys.stderr):
            make, defaults = (maker, []) if maker else maker_of(model)
    except (Usage, Missing):
        raise
    except Exception as error:  # pylint: disable=broad-exception-caught
        raise CannotExport(f'cannot be loaded: {first_line(error)}') from error
    read = read or [input_sizes(text, bound) for text in defaults]
    if not read:
        raise Usage('give the sizes of what the model reads, such as --input 1x3x224x224')
    data, reasons = None, []
    # On the processor, with weights, only if the model needs values of tensors while it is made.
    for device in ('meta', 'cpu'):
        # The error has the reason, the output all of the graph; stdout is for the file.
        logging.disable(logging.CRITICAL)
        try:
            with contextlib.redirect_stdout(io.StringIO()), (
                    contextlib.redirect_stderr(io.StringIO())):
                data = export_on(torch, make, read, device)
            break
        except (Usage, CannotExport, Missing):
            raise
        except Exception as error:  # pylint: disable=broad-exception-caught
            reasons.append(first_line(error))
        finally:
            logging.disable(logging.NOTSET)
    if data is None:
        raise CannotExport('cannot be traced: ' + '; '.join(dict.fromkeys(reasons)))
    kind = model.partition(':')[0]
    versions = [f'{one} {sys.modules[one].__version__}'
                for one in dict.fromkeys([kind, 'torch']) if one in ('torchvision', 'timm',
                                                                     'transformers', 'torch')]
    source = pathlib.Path(model).name if kind.endswith('.py') else model
    sizes, axis, *_ = read[0]
    return {'layerbench_torch_export': VERSION, 'name': name or model.rpartition(':')[2],
            'source': f'{source} ({", ".join(versions)})', 'batch': sizes[axis], **data}
