"""The version of each operator that a runtime must have, by the types of its tensors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from .schema import Field, FileTensor

#: Operator -> the version that takes INT8, and INT16; without an entry, and of other types, 1.
_OF_TYPES: Mapping[str, tuple[int, int]] = {
    **dict.fromkeys(("AVERAGE_POOL_2D", "MAX_POOL_2D", "SOFTMAX", "LOGISTIC", "TANH"), (2, 3)),
    **dict.fromkeys(("CONCATENATION", "MEAN", "SUM", "MINIMUM", "MAXIMUM"), (2, 3)),
    **dict.fromkeys(("ADD", "RELU", "RELU6", "PACK", "UNPACK"), (2, 3)),
    **dict.fromkeys(("SLICE", "SPLIT", "RESIZE_BILINEAR", "RESIZE_NEAREST_NEIGHBOR"), (2, 3)),
    **dict.fromkeys(("SPACE_TO_DEPTH", "DEPTH_TO_SPACE", "LOG_SOFTMAX", "SPLIT_V"), (2, 2)),
    **dict.fromkeys(("BATCH_MATMUL", "BROADCAST_TO", "SQUARED_DIFFERENCE"), (2, 3)),
    **dict.fromkeys(("REDUCE_MAX", "REDUCE_MIN", "GATHER"), (2, 3)),
    **dict.fromkeys(("EQUAL", "NOT_EQUAL", "GREATER", "GREATER_EQUAL"), (2, 2)),
    **dict.fromkeys(("LESS", "LESS_EQUAL", "ARG_MAX", "ARG_MIN", "L2_NORMALIZATION"), (2, 2)),
    **dict.fromkeys(("SPACE_TO_BATCH_ND", "BATCH_TO_SPACE_ND", "RSQRT", "SVDF"), (2, 2)),
    "CONV_2D": (3, 4),
    "DEPTHWISE_CONV_2D": (3, 5),
    "FULLY_CONNECTED": (4, 7),
    "SUB": (2, 5),
    "MUL": (2, 4),
    "PAD": (2, 4),
    "PADV2": (2, 4),
    "TRANSPOSE": (2, 4),
    "STRIDED_SLICE": (2, 4),
    "QUANTIZE": (2, 2),
    "DEQUANTIZE": (2, 3),
    "LEAKY_RELU": (2, 2),
    "ABS": (2, 3),
}

#: The same where weights have 4 bits.
_OF_FOUR_BITS = {"CONV_2D": 7, "DEPTHWISE_CONV_2D": 7, "FULLY_CONNECTED": 10}


def version(
    name: str,
    inputs: Sequence[FileTensor],
    outputs: Sequence[FileTensor],
    options: Mapping[str, Field],
) -> int:
    """The least version of an operator that has a meaning for these tensors and options."""
    types = [tensor.type for tensor in (*inputs, *outputs)]
    if name in _OF_FOUR_BITS and "INT4" in types:
        return _OF_FOUR_BITS[name]
    if name == "FULLY_CONNECTED" and len(inputs[1].scales) > 1:
        return 12
    if name == "CONV_2D" and inputs[0].shape[3] != inputs[1].shape[3]:
        return 6  # in groups
    if name == "TRANSPOSE_CONV":  # with a bias
        return 3 if options["FusedActivationFunction"] == ("ActivationFunctionType", "NONE") else 4
    of_bytes, wide = _OF_TYPES.get(name, (1, 1))
    if "INT16" in types:
        return wide
    return of_bytes if "INT8" in types else 1
