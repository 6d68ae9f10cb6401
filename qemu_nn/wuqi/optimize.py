"""Networks with fewer layers: scales and biases in the layers with weights next to them."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Union

import numpy as np

from ..errors import ModelError
from ..io import files
from .as_float import get_parameter
from .kit_arguments import check_arguments, check_float_params
from .layers import Layer, find, has_bias
from .shapes import infer_feature_shapes, shape_parameter

_SCALES = ("BatchNorm", "Scale", "Bias")
_SUMS = ("Convolution", "InnerProduct")

#: Factors and offsets of a layer's input channels.
Factors = tuple[np.ndarray, np.ndarray]


@check_arguments
def merge_layers(
    layer_list: Sequence[Layer],
    param_dict: Mapping[str, Any],
    fname_log: Union[str, Path, None] = None,
) -> tuple[list[Layer], dict[str, Any]]:
    """Merge each BatchNorm, Scale and Bias into the layer before or after it, where that is exact.

    It merges into the Convolution or InnerProduct before it where nothing else reads that layer;
    else into the one after it where the offset is zero or there is no padding. The layer with
    weights keeps its name, and the last tensor its own. The arguments stay as they are.

    Parameters
    ----------
    layer_list : sequence of Layer
        The network.
    param_dict : mapping of str to ndarray of float
        LAYER_weight and LAYER_bias.
    fname_log : str or Path, optional
        A file to write a line about each such layer to.

    Returns
    -------
    layers : list of Layer
        The network with fewer layers.
    params : dict of str to ndarray of float64
        Its parameters.

    Raises
    ------
    ModelError
        A parameter is missing, or the layers are no network.
    Error
        There are fixed-point parameters.

    References
    ----------
    The kit's manual, chapter 4.2.1.
    """
    check_float_params(param_dict, "merge_layers()")
    shapes = infer_feature_shapes(layer_list)
    layers = [copy.deepcopy(layer) for layer in layer_list]
    params = {
        key: np.array(value, np.float64) if _is_float(value) else value
        for key, value in param_dict.items()
    }
    for layer in layers:
        if layer.type in _SUMS and f"{layer.name}_weight" in params:
            weights = shape_parameter(
                layer, "weight", _weights(layer, params), shapes[layer.bottoms[0]]
            )
            params[f"{layer.name}_weight"] = weights
    log: list[str] = []
    for layer in [layer for layer in layers if layer.type in _SCALES]:
        log.append(_merge(layer, layers, params))
    if fname_log is not None:
        files.write_bytes(Path(fname_log), "".join(f"{line}\n" for line in log).encode("utf-8"))
    return layers, params


@check_arguments
def merge_biases(
    layer_list: Sequence[Layer], param_dict: Mapping[str, Any]
) -> tuple[list[Layer], dict[str, Any]]:
    """Merge each Scale that only adds a bias (its weights are 1) into the layer before it.

    The given layers change.

    Parameters
    ----------
    layer_list : sequence of Layer
        The network.
    param_dict : mapping of str to ndarray of float
        LAYER_weight and LAYER_bias.

    Returns
    -------
    layers : list of Layer
        The network with fewer layers.
    params : dict of str to ndarray of float
        Its parameters.
    """
    layers, params = list(layer_list), dict(param_dict)
    for layer in [layer for layer in layers if layer.type == "Scale"]:
        before = find(layers, layer.bottoms[0])
        adds = (params[f"{layer.name}_weight"] == 1).all()
        if adds and before is not None and before.type in _SUMS:
            _merge(layer, layers, params)
    return layers, params


@check_arguments
def add_pre_norm(
    layer_list: Sequence[Layer],
    param_dict: Mapping[str, Any],
    weight: np.ndarray,
    bias: np.ndarray,
) -> tuple[list[Layer], dict[str, Any]]:
    """Put a Scale layer before a network: weight * x + bias of each input channel.

    The result takes the inputs before normalization; merge_layers() folds it where that is exact.

    Parameters
    ----------
    layer_list : sequence of Layer
        The network.
    param_dict : mapping of str to ndarray of float
        Its parameters.
    weight, bias : ndarray of float, shape (channels,) or a single number
        What the input is multiplied by, and what is then added.

    Returns
    -------
    layers : list of Layer
        The network with the new layer.
    params : dict of str to ndarray of float
        Its parameters.

    Raises
    ------
    ModelError
        The first layer is not an Input, or an array has another shape.
    Error
        There are fixed-point parameters.

    References
    ----------
    The kit's manual, chapter 4.2.2.
    """
    check_float_params(param_dict, "add_pre_norm()")
    layers, params = [copy.deepcopy(layer) for layer in layer_list], dict(param_dict)
    if not layers or layers[0].type != "Input":
        raise ModelError("the first layer is no Input; it must be one")
    start, channels = layers[0].tops[0], layers[0].attributes()["dim"][1]
    name = _make_free_name("pre_norm", [layer.name for layer in layers])
    top = _make_free_name(f"{start}_norm", [name for layer in layers for name in layer.tops])
    for role, values in (("weight", weight), ("bias", bias)):
        array = np.asarray(values, np.float64).ravel()
        if array.size not in (1, channels):
            raise ModelError(f"{role} has {array.size} elements, but must have 1 or {channels}")
        params[f"{name}_{role}"] = np.broadcast_to(array, (channels,)).copy()
    for layer in layers[1:]:
        _replace(layer, "bottom", start, top)
    layers.insert(1, Layer("Scale", name, start, top))
    return layers, params


def _make_free_name(name: str, taken: Sequence[str]) -> str:
    """Return the name, or a similar unused one."""
    count = 1
    while (free := name if count == 1 else f"{name}_{count}") in taken:
        count += 1
    return free


def _is_float(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.dtype.kind == "f"


def _merge(layer: Layer, layers: list[Layer], params: dict[str, Any]) -> str:
    """Merge one layer where that is exact; return a line for the log."""
    factors = _factors(layer, params)
    source, top = layer.bottoms[0], layer.tops[0]
    before, readers = find(layers, source), [other for other in layers if top in other.bottoms]
    alone = [other for other in layers if source in other.bottoms] == [layer]
    if before is not None and before.type in _SUMS and alone:
        _fold_into_writer(before, factors, params)
        _replace(before, "top", source, top)
        _drop(layer, layers, params)
        return f"{layer.name} ({layer.type}): merged into {before.name} before it"
    if len(readers) != 1 or readers[0].type not in _SUMS:
        return f"{layer.name} ({layer.type}): stays; no layer with weights reads or feeds it alone"
    behind = readers[0]
    if factors[1].any() and any(behind.attributes().get("pad", ())):
        return f"{layer.name} ({layer.type}): stays; padding of {behind.name} would lack its offset"
    _fold_into_reader(behind, factors, params)
    _replace(behind, "bottom", top, source)
    _drop(layer, layers, params)
    return f"{layer.name} ({layer.type}): merged into {behind.name} after it"


def _factors(layer: Layer, params: Mapping[str, Any]) -> Factors:
    arrays = []
    for role, there in (("weight", layer.type != "Bias"), ("bias", has_bias(layer))):
        key = f"{layer.name}_{role}"
        if there and key not in params:
            raise ModelError(f"the parameters lack {key!r}")
        arrays.append(np.asarray(params[key], np.float64).ravel() if there else None)
    scale, offset = arrays
    scale = np.ones_like(offset) if scale is None else scale
    return scale, np.zeros_like(scale) if offset is None else offset


def _weights(layer: Layer, params: Mapping[str, Any]) -> np.ndarray:
    return get_parameter(layer, "weight", params)


def _add_bias(layer: Layer, params: dict[str, Any], more: np.ndarray) -> None:
    if has_bias(layer):
        params[f"{layer.name}_bias"] = np.asarray(params[f"{layer.name}_bias"], np.float64) + more
    elif more.any():
        layer.bias_term = True  # type: ignore[attr-defined]
        params[f"{layer.name}_bias"] = more


def _fold_into_writer(layer: Layer, factors: Factors, params: dict[str, Any]) -> None:
    """Scale the layer's output, then add the offset."""
    scale, offset = factors
    weights = _weights(layer, params)
    params[f"{layer.name}_weight"] = weights * scale.reshape(-1, *[1] * (weights.ndim - 1))
    if has_bias(layer):
        params[f"{layer.name}_bias"] = np.asarray(params[f"{layer.name}_bias"], np.float64) * scale
    _add_bias(layer, params, offset)


def _fold_into_reader(layer: Layer, factors: Factors, params: dict[str, Any]) -> None:
    """Scale the layer's input, and add the effect of the offset."""
    weights = _weights(layer, params)
    out, depth = weights.shape[:2]
    groups = layer.attributes().get("group", 1)
    which = np.repeat(np.arange(groups), out // groups)
    scale, offset = (a.reshape(groups, depth)[which][:, :, None, None] for a in factors)
    _add_bias(layer, params, (weights * offset).reshape(out, -1).sum(1))
    params[f"{layer.name}_weight"] = weights * scale


def _replace(layer: Layer, end: str, old: str, new: str) -> None:
    """Another tensor at an end of a layer."""
    names = getattr(layer, end)
    if isinstance(names, list):
        setattr(layer, end, [new if name == old else name for name in names])
    elif names == old:
        setattr(layer, end, new)


def _drop(layer: Layer, layers: list[Layer], params: dict[str, Any]) -> None:
    layers.remove(layer)
    for role in ("weight", "bias"):
        params.pop(f"{layer.name}_{role}", None)
