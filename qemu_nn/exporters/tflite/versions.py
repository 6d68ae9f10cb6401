"""The minimum version of each operator for a runtime, by the types of its tensors."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from .schema import FileTensor, OptionValue

#: Operator -> the versions with INT8 and with INT16; 1 for missing operators and further types.
_OF_TYPES: Mapping[str, tuple[int, int]] = {
    **dict.fromkeys(("AVERAGE_POOL_2D", "MAX_POOL_2D", "SOFTMAX", "LOGISTIC", "TANH"), (2, 3)),
    **dict.fromkeys(("CONCATENATION", "MEAN", "REDUCE_MAX", "REDUCE_MIN", "RSQRT"), (2, 3)),
    **dict.fromkeys(("ADD", "RELU", "RELU6", "PAD", "PADV2", "ABS", "DEQUANTIZE"), (2, 3)),
    **dict.fromkeys(("LESS", "GREATER_EQUAL"), (2, 3)),
    **dict.fromkeys(("MUL", "MAXIMUM", "MINIMUM", "SLICE", "EQUAL"), (2, 4)),
    **dict.fromkeys(("RESIZE_BILINEAR", "RESIZE_NEAREST_NEIGHBOR"), (2, 4)),
    **dict.fromkeys(("SPACE_TO_BATCH_ND", "BATCH_TO_SPACE_ND"), (2, 4)),
    **dict.fromkeys(("SUB", "TRANSPOSE"), (2, 5)),
    **dict.fromkeys(("SUM", "LOG_SOFTMAX", "SQUARED_DIFFERENCE", "STRIDED_SLICE"), (2, 1)),
    **dict.fromkeys(("SPACE_TO_DEPTH", "DEPTH_TO_SPACE", "ARG_MAX", "ARG_MIN"), (2, 1)),
    **dict.fromkeys(("NOT_EQUAL", "GREATER", "LESS_EQUAL"), (2, 1)),
    "CONV_2D": (3, 4),
    "DEPTHWISE_CONV_2D": (3, 5),
    "FULLY_CONNECTED": (4, 7),
    "LEAKY_RELU": (1, 2),
    "SVDF": (3, 1),
    "UNIDIRECTIONAL_SEQUENCE_LSTM": (1, 5),
    "BROADCAST_TO": (3, 3),
    "CAST": (3, 1),
}

#: Operator -> the version with 4-bit weights.
_OF_FOUR_BITS = {"CONV_2D": 7, "DEPTHWISE_CONV_2D": 7, "FULLY_CONNECTED": 10}

#: Operator -> the version with more than four axes, if it is higher.
_OF_MANY_AXES = {"TRANSPOSE": 4, "SLICE": 5, "PAD": 4, "PADV2": 4}


def find_version(
    name: str,
    inputs: Sequence[FileTensor],
    outputs: Sequence[FileTensor],
    options: Mapping[str, OptionValue],
) -> int:
    """Return the first version of an operator that supports these tensors and options."""
    if not inputs:
        return 1
    kind = inputs[0].type
    many = _OF_MANY_AXES.get(name, 1) if len(inputs[0].shape) > 4 else 1
    own = {"INT8": 0, "INT16": 1}.get(kind)
    plain = 1 if own is None or name not in _OF_TYPES else _OF_TYPES[name][own]
    return max(many, plain, _find_own_version(name, inputs, outputs, options))


def _find_own_version(
    name: str,
    inputs: Sequence[FileTensor],
    outputs: Sequence[FileTensor],
    options: Mapping[str, OptionValue],
) -> int:
    """Return the version that an operator's options and further tensors require."""
    types = {tensor.type for tensor in (*inputs, *outputs)}
    if name in _OF_FOUR_BITS and "INT4" in types:
        return _OF_FOUR_BITS[name]
    if name == "FULLY_CONNECTED":
        if len(inputs[1].scales) > 1:  # older versions would use the first scale for all channels
            return 12
        return 6 if len(inputs) == 2 else 5 if options["KeepNumDims"] else 1
    if name == "CONV_2D" and inputs[0].shape[3] != inputs[1].shape[3]:
        return 6  # in groups
    if name == "TRANSPOSE_CONV":  # with a bias
        return 3 if options["FusedActivationFunction"] == ("ActivationFunctionType", "NONE") else 4
    if name == "MUL" and all(tensor.scales for tensor in (*inputs, *outputs)):
        ratio = math.prod(tensor.scales[0] for tensor in inputs) / outputs[0].scales[0]
        return 3 if ratio >= 1 else 1
    if name.startswith("RESIZE"):
        centers = options["HalfPixelCenters"] or options["AlignCorners"]
        return 3 if centers else 1
    if name == "BROADCAST_TO":
        return 2
    return 2 if name == "QUANTIZE" and "INT16" in {each.type for each in outputs} else 1
