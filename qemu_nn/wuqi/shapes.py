"""Shapes of all feature tensors of a list of layers, from its structure alone."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ..errors import ModelError
from .layers import Layer

Shape = tuple[int, int, int]

#: Exclusive limit of tensors and attributes.
_LARGEST = 2**31


#: Type -> number of its inputs, if not one; None: two or more.
_READS = {"Input": 0, "ScaleByTensor": 2, "Concat": None, "Eltwise": None}

#: Attribute -> its least value; negative pads to the south and east drop rows and columns.
_LEAST = {"num_output": 1, "group": 1, "dim": 1, "kernel_size": 1, "stride": 1, "dilation": 1}
_LEAST_PADS = (0, -_LARGEST, 0, -_LARGEST)


def infer_feature_shapes(layer_list: Sequence[Layer]) -> dict[str, Shape]:
    """Return tensor -> (channels, height, width).

    Raises ModelError, with the layer, for tensors that no layer or two layers compute, for
    attributes out of range, and for features that are empty or have 2^31 values or more.
    """
    if not layer_list or layer_list[0].type != "Input":
        raise ModelError("the first layer must be an Input with one output")
    shapes: dict[str, Shape] = {}
    for layer in layer_list:
        where = _where(layer)
        check_layer(layer)
        for name in layer.bottoms:
            if name not in shapes:
                raise ModelError(f"{where} reads {name!r}, which no layer before it computes")
        written = _output_shapes(layer, [shapes[name] for name in layer.bottoms], where)
        for name, shape in zip(layer.tops, written):
            if name in shapes:
                raise ModelError(
                    f"{where} computes {name!r}, as an earlier layer does; names must be unique"
                )
            if min(shape) < 1 or math.prod(shape) >= _LARGEST:
                raise ModelError(
                    f"{where} computes {name!r} {list(shape)}, which is empty or too large"
                )
            shapes[name] = shape
    return shapes


def _where(layer: Layer) -> str:
    return f"layer {layer.name!r} ({layer.type})"


def check_layer(layer: Layer) -> None:
    """Raise ModelError unless a layer has the tensors of its type and attributes in range."""
    own, where, reads = layer.attributes(), _where(layer), _READS.get(layer.type, 1)
    makes = len(own["slice_point"]) + 1 if layer.type == "Slice" else 1
    if len(layer.bottoms) != reads and (reads is not None or len(layer.bottoms) < 2):
        wanted = "two or more" if reads is None else reads
        raise ModelError(f"{where} reads {len(layer.bottoms)} tensors, but must read {wanted}")
    if len(layer.tops) != makes:
        raise ModelError(f"{where} has {len(layer.tops)} outputs, but must have {makes}")
    for key, value in own.items():
        least = _LEAST_PADS if key == "pad" else _LEAST.get(key)
        if least is not None:
            values = np.atleast_1d(np.array(value, object))
            if not ((values >= np.array(least)) & (values < _LARGEST)).all():
                raise ModelError(f"{where} has {key} {value}, which is out of range")
    if not 0 <= own.get("negative_slope", 0) < 4:
        raise ModelError(
            f"{where} has negative_slope {own['negative_slope']}; it must be in 0..3.98"
        )
    for key, have in (("pool", ("MAX", "AVE")), ("axis", (1,))):
        if own.get(key, have[0]) not in have:
            raise ModelError(f"{where} has {key} {own[key]!r}; have: {', '.join(map(str, have))}")


def _output_shapes(layer: Layer, inputs: list[Shape], where: str) -> list[Shape]:
    own = layer.attributes()
    if layer.type == "Input":
        return [tuple(own["dim"][1:])]
    channels, height, width = inputs[0]
    if layer.type == "InnerProduct":
        return [(own["num_output"], 1, 1)]
    if layer.type in ("Convolution", "Pooling"):
        out = own["num_output"] if layer.type == "Convolution" else channels
        if channels % own.get("group", 1) or out % own.get("group", 1):
            counts = f"{channels} and {out} channels"
            raise ModelError(f"{where}: group {own['group']} does not divide {counts} (§6.7)")
        rows, columns = (count for count, _ in count_windows(layer, (channels, height, width)))
        return [(out, rows, columns)]
    if layer.type == "Slice":
        points = [0, *own["slice_point"], channels]
        if points != sorted(set(points)):
            raise ModelError(
                f"{where} cuts {channels} channels at {own['slice_point']}; points must "
                "increase within the channels"
            )
        return [(last - first, height, width) for first, last in zip(points, points[1:])]
    if layer.type == "ShuffleChannel" and channels % own["group"]:
        raise ModelError(
            f"{where}: group {own['group']} does not divide {channels} channels (§6.17)"
        )
    return [_infer_joined(layer, inputs, where)]


def _infer_joined(layer: Layer, inputs: list[Shape], where: str) -> Shape:
    """Return the output shape of a layer that keeps the shape, or joins several tensors."""
    channels, height, width = inputs[0]
    fits = {
        "Concat": all(shape[1:] == (height, width) for shape in inputs),
        "Eltwise": len(set(inputs)) == 1,
        "ScaleByTensor": inputs[-1] == (channels, 1, 1),
    }
    if not fits.get(layer.type, True):
        raise ModelError(f"{where} reads tensors whose shapes do not agree: {inputs}")
    return (
        sum(shape[0] for shape in inputs) if layer.type == "Concat" else channels,
        height,
        width,
    )


def get_parameter_shape(layer: Layer, role: str, source: Shape) -> tuple[int, ...]:
    """Return the shape of the weights or the bias of a layer whose input has the shape `source`."""
    own = layer.attributes()
    outputs = own.get("num_output", source[0])
    if role == "weight" and layer.type == "Convolution":
        return (outputs, source[0] // own["group"], *own["kernel_size"])
    return (outputs, *source) if role == "weight" and layer.type == "InnerProduct" else (outputs,)


def shape_parameter(
    layer: Layer, role: str, values: np.ndarray, source: Shape, called: str = ""
) -> np.ndarray:
    """Return weights or a bias in the shape of the layer, from that shape or an equivalent one.

    All shapes with one number for each channel are equivalent, as are [N, K] and the [N, C, H, W]
    of an InnerProduct. called: name of the role in the ModelError for other shapes.
    """
    wanted, given = get_parameter_shape(layer, role, source), values.shape
    also, ways = len(wanted) == 1 and values.size == wanted[0], f"{list(wanted)}"
    if len(wanted) > 1 and layer.type == "InnerProduct":
        flat = (wanted[0], math.prod(wanted[1:]))
        also = given[:2] == flat and values.size == math.prod(flat)
        ways += f" or {list(flat)}"
    if given != wanted and not also:
        raise ModelError(
            f"{_where(layer)}: its {called or role} is {list(given)}, but must be {ways}"
        )
    return values.reshape(wanted)


def count_windows(layer: Layer, shape: Shape) -> list[tuple[int, int]]:
    """Return the number of windows along (height, width), and the remaining rows and columns."""
    own = layer.attributes()
    north, south, west, east = own["pad"]
    fitted = []
    for size, kernel, stride, dilation in zip(
        (shape[1] + north + south, shape[2] + west + east),
        own["kernel_size"],
        own["stride"],
        own["dilation"],
    ):
        last_start = size - dilation * (kernel - 1) - 1
        fitted.append((last_start // stride + 1, last_start % stride))
    return fitted
