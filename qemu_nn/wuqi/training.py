"""Fixed-point training, the kit's function: fractions first, then group by group."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Callable, Optional, Union

import numpy as np

from ..errors import Error, ModelError
from ..io import files
from ..io.optional_deps import require
from .check import check_layers
from .kit_arguments import check_arguments
from .layers import BIASED, WEIGHTED, Layer, get_layer_name_list, get_tensor_name_list, has_bias
from .quantize import quantize_model
from .shapes import infer_feature_shapes
from .training_data import FixedGrid, iterate_pairs
from .weights import role_missing

_ROLES = ("weight", "bias")


@check_arguments
def quantize_model_with_training(
    layer_list: Sequence[Layer],
    bitwidth: int,
    param_dict: Optional[Mapping[str, Any]] = None,
    data_generator: Optional[Iterator[Mapping[str, Any]]] = None,
    input_fn: Optional[Callable[[], Any]] = None,
    log_dir: Union[str, Path] = "log",
    loss_fn: Optional[Callable[..., Any]] = None,
    optimizer: Optional[Callable[..., Any]] = None,
    num_step_train: int = 1000,
    num_step_log: int = 100,
    perlayer_quant_layer_names: Optional[Collection[str]] = None,
    layer_group: int = 1,
    rnd_seed: Optional[int] = None,
) -> tuple[list[Layer], dict[str, Any]]:
    """Train float weights for a network in fixed point; needs PyTorch.

    Fractions are chosen first. Then the layers are quantized group by group: each group and all
    after it are trained, and the group is frozen. Limits of the hardware that the result breaks
    are printed.

    Parameters
    ----------
    layer_list : sequence of Layer
        The network.
    bitwidth : {8, 16}
        The width of weights and features.
    param_dict : mapping of str to object, optional
        LAYER_weight and LAYER_bias to begin with (random weights and biases of 0 where there are
        none), and fractions that are kept: TENSOR_frac, LAYER_weight_frac (or LAYER_frac_weight),
        LAYER_bias_frac. quantize_model() chooses the others, on batches of the same source.
    data_generator : iterator of mappings, optional
        It gives {"input": ndarray (N, C, H, W), "output": labels}.
    input_fn : callable, optional
        It returns (features, labels) at each call, or an iterable of such pairs. Give either this
        or data_generator. Labels of the default loss are class numbers (N,) or (N, 1, 1, 1), or
        one-hot (N, C, 1, 1).
    log_dir : str or Path, default "log"
        A folder for TensorBoard's events, and group_K.prototxt and .npz after each group.
    loss_fn : callable, optional
        (outputs, targets) -> scalar torch tensor; default: the cross entropy.
    optimizer : callable, optional
        parameters -> torch.optim.Optimizer, for each group; default: Adam with 0.001.
    num_step_train : int, default 1000
        Steps for each group.
    num_step_log : int, default 100
        Steps between lines of loss and accuracy.
    perlayer_quant_layer_names : collection of str, optional
        Layers whose channels share one fraction.
    layer_group : int, default 1
        Layers of a group; more than the network has: all at once.
    rnd_seed : int, optional
        Makes results reproducible.

    Returns
    -------
    layers : list of Layer
        The network.
    params : dict of str to object
        The trained parameters, with the chip's integers and fractions.

    Raises
    ------
    Error
        An argument or the data do not fit, or PyTorch is missing.
    ModelError
        The network has no fixed-point form.

    References
    ----------
    The kit's manual, chapter 4.3.2.
    """
    trainer = require("qemu_nn.wuqi.torch.trainer", "train", "quantize_model_with_training()")
    _check(layer_list, num_step_train, num_step_log, layer_group, rnd_seed)
    require("qemu_nn.training.loop", "train", "training").check_callables(loss_fn, optimizer)
    shared = _names(layer_list, perlayer_quant_layer_names)
    source = iterate_pairs(data_generator, input_fn)
    params = {**random_start(layer_list, rnd_seed), **(param_dict or {})}
    params = _add_fractions(layer_list, params, bitwidth, source)
    for name in shared:
        for role in _ROLES:
            key = f"{name}_frac_{role}"
            if key in params:
                params[key] = int(np.min(params[key]))
    net = trainer.QuantizedNet(layer_list, params, bitwidth=bitwidth)
    files.make_folder(Path(log_dir))
    work = trainer.Trainer(
        *(net, source, _grid(layer_list[0], params, bitwidth), loss_fn, optimizer),
        *(num_step_train, num_step_log, Path(log_dir)),
    )
    trainer.train(work, groups(layer_list, layer_group), rnd_seed)
    trained = net.get_param_dict()
    check_layers(layer_list, trained, bitwidth)
    return list(layer_list), trained


def groups(layer_list: Sequence[Layer], layer_group: int) -> list[list[Layer]]:
    """Return groups of layer_group layers, the Input in the first; the last group has the rest.

    All layers are one group if layer_group exceeds their number.
    """
    layers = list(layer_list)
    ends = [1, *range(1 + layer_group, len(layers), layer_group), len(layers)]
    parts = [layers[first:last] for first, last in zip(ends, ends[1:])]
    return [[layers[0], *parts[0]], *parts[1:]]


def random_start(layer_list: Sequence[Layer], seed: Optional[int]) -> dict[str, np.ndarray]:
    """Return random weights that keep the variance of inputs after rectifiers; biases of 0."""
    shapes, rng, params = infer_feature_shapes(layer_list), np.random.default_rng(seed), {}
    for layer in layer_list:
        outputs = shapes[layer.tops[0]][0]
        if layer.type in ("Convolution", "InnerProduct"):
            own, (depth, *size) = layer.attributes(), shapes[layer.bottoms[0]]
            depth //= own.get("group", 1)
            shape = (outputs, depth, *own.get("kernel_size", size))
            scale = np.sqrt(2 / math.prod(shape[1:]))
            params[f"{layer.name}_weight"] = rng.normal(size=shape) * scale
        elif layer.type in WEIGHTED:
            params[f"{layer.name}_weight"] = np.ones(outputs)
        if has_bias(layer):
            params[f"{layer.name}_bias"] = np.zeros(outputs)
    return params


def _check(
    layer_list: Sequence[Layer],
    num_step_train: int,
    num_step_log: int,
    layer_group: int,
    rnd_seed: Optional[int],
) -> None:
    """Raise Error or ModelError for arguments out of range and networks that cannot be trained."""
    if len(layer_list) < 2 or layer_list[0].type != "Input":
        raise ModelError("a network must be an Input layer and at least one more")
    last = layer_list[-1]
    if last.type in ("LogSoftmax", "Softmax"):
        raise Error(
            f"the network ends with the {last.type} {last.name!r}, whose few bits would "
            "spoil the training: remove it from the layer list and compute it on the CPU"
        )
    counts = {"num_step_train": num_step_train, "num_step_log": num_step_log}
    for name, value in {**counts, "layer_group": layer_group}.items():
        if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 1:
            raise Error(f"{name} is {value!r}, but must be an integer of at least 1")
    seed = rnd_seed
    if seed is not None and (not isinstance(seed, (int, np.integer)) or not 0 <= seed < 2**63):
        raise Error(f"rnd_seed is {seed!r}, but must be None or an integer from 0 to 2^63 - 1")


def _names(layer_list: Sequence[Layer], names: Optional[Collection[str]]) -> list[str]:
    """Return the layers whose channels share one fraction."""
    known = get_layer_name_list(layer_list)
    for name in names or ():
        if name not in known:
            raise Error(
                f"perlayer_quant_layer_names: there is no layer {name!r}; have: {', '.join(known)}"
            )
    return list(names or ())


def _add_fractions(
    layer_list: Sequence[Layer], params: dict[str, Any], bitwidth: int, source: Iterator[Any]
) -> dict[str, Any]:
    """Return the parameters with all fractions; given ones are kept."""
    known: dict[str, Any] = {}
    missing = False
    for name in get_tensor_name_list(layer_list, feature_only=True):
        known.update({k: params[k] for k in (f"{name}_frac", f"{name}_signed") if k in params})
        frac = params.get(f"{name}_frac", 0)
        if isinstance(frac, bool) or not isinstance(frac, (int, np.integer)):
            raise Error(f"param_dict: {name}_frac is {frac!r}, but must be an integer")
        missing |= f"{name}_frac" not in params
    for layer in layer_list:
        for role in _ROLES if layer.type in BIASED else ():
            own, other = f"{layer.name}_frac_{role}", f"{layer.name}_{role}_frac"
            key = other if other in params else own
            if key in params:
                known[own] = params[key]
            elif not role_missing(layer, role):
                missing = True
    if not missing:
        return {**params, **known}
    batches = ({"input": x} for x, _ in source)
    return quantize_model(layer_list, params, bitwidth, batches, usr_param_dict=known)[1]


def _grid(start: Layer, params: Mapping[str, Any], bitwidth: int) -> FixedGrid:
    name = start.tops[0]
    signed = params.get(f"{name}_signed", True)
    least = -(2 ** (bitwidth - 1)) if signed else 0
    shape = tuple(start.attributes()["dim"][1:])
    return FixedGrid(shape, int(params[f"{name}_frac"]), least, least + 2**bitwidth - 1)
