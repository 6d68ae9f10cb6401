"""Checks of a network against the hardware's limits, each with its section of the manual."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Optional

import numpy as np

from ..errors import ModelError
from .as_fixed import make_fixed_graph
from .as_float import shape_float_parameter
from .integers import check_width
from .kit_arguments import check_arguments
from .layers import Layer, find, get_network_output, replace_softmax
from .shapes import Shape, count_windows, infer_feature_shapes
from .weights import role_missing

_NONLINEAR = {"Sigmoid": "6.2", "ReLU": "6.3", "ReLU6": "6.4", "TanH": "6.5"}
_WINDOWED = {"Convolution": "6.7", "Pooling": "6.8"}
_SEVERAL = {"Slice": "6.12", "Concat": "6.13", "Eltwise": "6.14"}
_PARAMETERS = {
    "InnerProduct": "6.6",
    "Convolution": "6.7",
    "BatchNorm": "6.9",
    "Bias": "6.10",
    "Scale": "6.11",
}
_AFTER_SUM = {"Softmax": "6.15", "LogSoftmax": "6.16", "ShuffleChannel": "6.17"}

#: Largest kernel side, stride, dilation, reach of a kernel, and side of an InnerProduct's input.
_KERNEL, _STRIDE, _DILATION, _REACH, _SIDE = 16, 6, 6, 32, 16
#: Largest sum of products and width of a LogSoftmax, with 8 bits and with 16.
_PRODUCTS, _SOFTMAX_WIDTH = (8192, 4096), (32, 16)


def list_warnings(
    layer_list: Sequence[Layer],
    param_dict: Optional[Mapping[str, Any]] = None,
    bitwidth: Optional[int] = None,
) -> list[str]:
    """Return a sentence for each limit that the network breaks and each invalid float parameter.

    bitwidth: 8 or 16; None: that of the fixed-point parameters, and without these the limits of
    both.
    """
    if bitwidth is not None:
        bitwidth = check_width("bitwidth", bitwidth)
    sentences = list(_structure(layer_list))
    if sentences:
        return sentences
    try:
        shapes = infer_feature_shapes(layer_list)
    except ModelError as error:
        return [str(error)]
    params = param_dict or {}
    quantized = any(key.endswith("_frac") for key in params)
    possible: list[Optional[int]] = [bitwidth]
    if quantized and bitwidth is None:
        possible = [*find_widths(params)]
    limits = [list(_list_limits(layer_list, shapes, width)) for width in possible]
    if param_dict is not None:
        sentences = list(_real_parameters(layer_list, shapes, param_dict))
    for known, width in zip(limits, possible):
        if quantized and not known and not sentences:
            known += _lowering_error(layer_list, params, width)
    return sentences + next((known for known in limits if not known), limits[0])


def _list_limits(
    layer_list: Sequence[Layer], shapes: Mapping[str, Shape], bitwidth: Optional[int]
) -> Iterator[str]:
    for layer in layer_list[1:]:
        for section, text in _list_layer_limits(layer, layer_list, shapes, bitwidth):
            yield f"layer {layer.name!r} ({layer.type}): {text} (§{section})"


def _real_parameters(
    layer_list: Sequence[Layer], shapes: Mapping[str, Shape], params: Mapping[str, Any]
) -> Iterator[str]:
    """Yield float weights and biases that are missing, misshapen, or not finite.

    A layer with fixed-point weights may lack its float ones.
    """
    for layer in layer_list[1:]:
        for role in ("weight", "bias"):
            name = f"{layer.name}_{role}"
            if role_missing(layer, role) or (
                name not in params and f"{layer.name}_quant_{role}" in params
            ):
                continue
            try:
                shape_float_parameter(layer, role, params, shapes[layer.bottoms[0]])
            except ModelError as error:
                yield f"{error} (§{_PARAMETERS[layer.type]})"


def _structure(layer_list: Sequence[Layer]) -> Iterator[str]:
    """Yield errors of names, of order, and of tensors that no layer computes."""
    if not layer_list or layer_list[0].type != "Input":
        yield "the first layer must be an Input (§4.1.1)"
        return
    for name, count in Counter(layer.name for layer in layer_list).items():
        if count > 1:
            yield f"{count} layers are called {name!r} (§3.1)"
    makers = Counter(name for layer in layer_list for name in layer.tops)
    for name, count in makers.items():
        if count > 1:
            yield f"{count} layers make the tensor {name!r} (§3.1)"
    for layer in layer_list[1:]:
        if layer.type == "Input":
            yield f"layer {layer.name!r} is a second Input (§6.1)"
        for name in layer.bottoms:
            if name not in makers:
                yield f"layer {layer.name!r} reads {name!r}, which no layer makes (§3.1)"


def _list_layer_limits(
    layer: Layer,
    layer_list: Sequence[Layer],
    shapes: Mapping[str, Shape],
    bitwidth: Optional[int],
) -> Iterator[tuple[str, str]]:
    """Section and text of every limit that a layer breaks."""
    shape, before = shapes[layer.bottoms[0]], find(layer_list, layer.bottoms[0])
    if layer.type in _WINDOWED:
        yield from ((_WINDOWED[layer.type], text) for text in _window_limits(layer, shape))
    if layer.type == "Convolution":
        yield from (("6.7", text) for text in _convolution_limits(layer, shape, bitwidth))
    if layer.type == "InnerProduct" and max(shape[1:]) > _SIDE:
        yield "6.6", f"its input is {shape[1]} x {shape[2]}, must be at most {_SIDE} x {_SIDE}"
    if layer.type in _NONLINEAR and before is not None and before.type in _NONLINEAR:
        yield _NONLINEAR[layer.type], f"it follows another nonlinear layer, {before.name!r}"
    if layer.type in _SEVERAL:
        yield from ((_SEVERAL[layer.type], text) for text in _iterate_joins(layer, layer_list))
    if layer.type in _AFTER_SUM and not _is_sum(before):
        what = "an ungrouped Convolution or an InnerProduct"
        yield _AFTER_SUM[layer.type], f"it may only follow {what}"
    if layer.type in ("LogSoftmax", "Softmax"):
        if shape[1] != 1:
            yield "6.16", f"its input has a height of {shape[1]}, must be 1"
        wide = _list_width_limits("a width", shape[2], _SOFTMAX_WIDTH, bitwidth)
        yield from (("6.16", text) for text in wide)
    if layer.type == "Softmax" and layer.tops[0] not in get_network_output(layer_list):
        yield "6.15", "there is no Softmax in fixed point, except at the end, as a LogSoftmax"
    if layer.type == "Eltwise" and layer.attributes()["operation"] != "sum":
        yield "6.14", f"its operation is {layer.attributes()['operation']!r}, must be 'sum'"


def _window_limits(layer: Layer, shape: Shape) -> Iterator[str]:
    own = layer.attributes()
    if max(own["kernel_size"]) > _KERNEL:
        yield f"its kernel is {_pair(own['kernel_size'])}, must be at most {_KERNEL} on a side"
    for name, most in (("stride", _STRIDE), ("dilation", _DILATION)):
        if len(set(own[name])) > 1:
            yield f"its {name} is {_pair(own[name])}, must be the same in both directions"
        if max(own[name]) > most:
            yield f"its {name} is {_pair(own[name])}, must be at most {most}"
    reach = [d * (k - 1) + 1 for d, k in zip(own["dilation"], own["kernel_size"])]
    if max(own["dilation"]) > 1 and max(reach) > _REACH:
        yield f"its dilated kernel spans {_pair(reach)}, must span at most {_REACH}"
    for direction, (_, rest) in zip(("height", "width"), count_windows(layer, shape)):
        if rest:
            yield f"its windows leave {rest} of the {direction} unread; pad or crop the input"


def _convolution_limits(layer: Layer, shape: Shape, bitwidth: Optional[int]) -> Iterator[str]:
    own = layer.attributes()
    group, out = own["group"], own["num_output"]
    if group > 1 and out // group != 1 and out // group % 16:
        yield f"each of its {group} groups has {out // group} outputs, must be 1 or 16, 32, ..."
    products = own["kernel_size"][0] * own["kernel_size"][1] * (shape[0] // group)
    yield from _list_width_limits("sums of", products, _PRODUCTS, bitwidth)


def _list_width_limits(
    what: str, value: int, most: tuple[int, int], bitwidth: Optional[int]
) -> Iterator[str]:
    broken = [
        f"{limit} with {bits} bits"
        for bits, limit in zip((8, 16), most)
        if value > limit and bitwidth in (None, bits)
    ]
    if broken:
        yield f"it has {what} {value}, must have at most {' and '.join(broken)}"


def _iterate_joins(layer: Layer, layer_list: Sequence[Layer]) -> Iterator[str]:
    """Yield layers of several tensors."""
    inputs = [name for other in layer_list if other.type == "Input" for name in other.tops]
    if any(name in inputs for name in layer.bottoms):
        yield "it may not be the first layer"
    if layer.type == "Slice":
        return
    if len(set(layer.bottoms)) < len(layer.bottoms):
        yield "it reads a tensor twice"
    for name in dict.fromkeys(layer.bottoms):
        others = [
            other.name
            for other in layer_list
            if other is not layer and other.type in ("Concat", "Eltwise") and name in other.bottoms
        ]
        if others:
            yield f"{others[0]!r} reads {name!r}, too; only one such layer may read it"


def _is_sum(layer: Optional[Layer]) -> bool:
    if layer is None:
        return False
    ungrouped = layer.type == "Convolution" and layer.attributes()["group"] == 1
    return ungrouped or layer.type == "InnerProduct"


def find_widths(params: Mapping[str, Any]) -> list[int]:
    """Return the bit widths that the quantized weights and biases may have, the likeliest first."""
    arrays = [np.asarray(value) for key, value in params.items() if "_quant_" in key]
    for width in (8, 16):
        if any(array.dtype == np.dtype(f"int{width}") for array in arrays):
            return [width]
    wide = any(array.size and (array.min() < -128 or array.max() > 127) for array in arrays)
    return [16] if wide else [8, 16]


def _lowering_error(
    layer_list: Sequence[Layer], params: Mapping[str, Any], bitwidth: Optional[int]
) -> list[str]:
    """Return the error of building the fixed-point network, if any."""
    assert bitwidth is not None
    try:
        make_fixed_graph(replace_softmax(layer_list, tell=False), params, bitwidth)
    except ModelError as error:
        return [str(error)]
    return []


def _pair(values: Sequence[int]) -> str:
    return " x ".join(map(str, values))


@check_arguments
def check_layers(
    layer_list: Sequence[Layer],
    param_dict: Optional[Mapping[str, Any]] = None,
    bitwidth: Optional[int] = None,
) -> bool:
    """Print every limit of the hardware that a network breaks: layer, limit, section of the manual.

    Parameters
    ----------
    layer_list : sequence of Layer
        The network.
    param_dict : mapping of str to object, optional
        Parameters. Float weights and biases that are missing, not finite or of another shape are
        printed, too; where it holds fractions, also errors of the fixed-point parameters.
    bitwidth : {8, 16}, optional
        The width, where limits differ; default: that of the fixed-point parameters, or both.

    Returns
    -------
    bool
        True where the network breaks a limit.

    Raises
    ------
    Error
        The bit width is not 8 or 16.

    References
    ----------
    The kit's manual, chapter 4.6.7; each printed limit names its own section.
    """
    sentences = list_warnings(layer_list, param_dict, bitwidth)
    for sentence in sentences:
        print(f"warning: {sentence}")
    return bool(sentences)
