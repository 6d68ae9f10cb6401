"""Operators that vela 5.2 compiles into wrong programs, as the original file shows them."""

from __future__ import annotations

from typing import Optional

import numpy as np

from ...errors import ModelError
from .call import read_options
from .parser import TfliteModel, TfliteOperator, TfliteTensor

#: Layers with weights.
_WEIGHTED = ("CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED")


def find_fault(model: TfliteModel, operator: TfliteOperator, npu: str) -> Optional[str]:
    """Return the effect of a wrong program on an operator that the NPU computes; else None."""
    try:
        if operator.name == "SUM":
            return _find_axes(model, operator)
        if operator.name == "MIRROR_PAD":
            return _find_channels(model, operator)
        if npu.startswith("ethos-u85"):
            return _find_of_u85(model, operator)
    except (ModelError, IndexError):
        return None  # the reader of the file has its own sentence
    return None


def _tensor(model: TfliteModel, operator: TfliteOperator, at: int) -> Optional[TfliteTensor]:
    given = operator.inputs
    return model.tensor(given[at]) if at < len(given) and given[at] >= 0 else None


def _find_axes(model: TfliteModel, operator: TfliteOperator) -> Optional[str]:
    """Return the effect on a SUM over several axes that have more than one element."""
    image, axes = (_tensor(model, operator, at) for at in (0, 1))
    if image is None or axes is None or axes.data is None:
        return None
    sides = [image.shape[int(axis)] for axis in np.ravel(axes.data)]
    if sum(side > 1 for side in sides) < 2:
        return None
    return f"vela 5.2 sums only one of its axes {np.ravel(axes.data).tolist()}: its output is wrong"


def _find_channels(model: TfliteModel, operator: TfliteOperator) -> Optional[str]:
    """Return the effect on a MIRROR_PAD of the last axis."""
    pads = _tensor(model, operator, 1)
    if pads is None or pads.data is None or not np.any(pads.data.reshape(-1, 2)[-1]):
        return None
    return "vela 5.2 does not mirror channels: the padded channels of its output are wrong"


def _find_of_u85(model: TfliteModel, operator: TfliteOperator) -> Optional[str]:
    """Return the effect on a 16x8 layer with a 32-bit bias, or on a resize."""
    image = _tensor(model, operator, 0)
    if operator.name in _WEIGHTED:
        bias = _tensor(model, operator, 2)
        if image is not None and bias is not None and (image.type, bias.type) == ("INT16", "INT32"):
            return (
                "vela 5.2 cuts the multiplier of a 16x8 layer with a 32-bit bias to 15 bits: its "
                "output is wrong"
            )
    if operator.name == "RESIZE_NEAREST_NEIGHBOR":
        options = read_options(operator, "ResizeNearestNeighborOptions")
        image, made = _tensor(model, operator, 0), model.tensor(operator.outputs[0])
        centers = options.flag("HalfPixelCenters") or options.flag("AlignCorners")
        twice = image is not None and [2 * side for side in image.shape[1:3]] == [*made.shape[1:3]]
        if not centers and not twice:
            return (
                "vela 5.2 compiles it with half-pixel centers, which the file does not ask for: "
                "its output has other pixels"
            )
    return None
