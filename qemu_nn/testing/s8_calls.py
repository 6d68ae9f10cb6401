"""Weights and biases of networks of the s8 and s16 API."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from ..functions import Function
from ..ir.formats import draw_numbers
from ..kernels.table import list_rows


def is_affine(function: Function) -> bool:
    """True for the s8 and s16 API except its pooling, which has no quantization."""
    return (
        list_rows(function.op, function.type)[0].op.arithmetic == "s" and "pool" not in function.op
    )


def draw_affine_arrays(
    rng: np.random.Generator, function: Function, params: Mapping[str, int]
) -> dict[str, np.ndarray]:
    """Return weights and bias of a call, by role, that keep the output's signal in its range."""
    found = {}
    if function.weights is not None:
        parts = {}
        for part in function.parts or (function.weights,):
            if part.below:
                positions = rng.integers(part.below, size=part.shape(params))
                parts[part.name] = positions.astype(part.dtype)
            else:
                parts[part.name] = draw_numbers(rng, part.dtype, part.shape(params))
        weights = function.weights_of(parts)
        assert weights is not None
        found["weights"] = weights
    if function.bias is not None:
        shape = function.bias.shape(params)
        bias = rng.integers(-1000, 1000, shape)
        if "multiplier" in [row.name for row in function.stack]:
            bias[1] = rng.integers(2**30, 2**31 - 1, shape[1:])
            bias[2] = compute_usual_shift(function, params)
            if not params.get("is_per_channel", 1):
                bias[1] = bias[1, 0]
        found["bias"] = bias.astype(function.bias.dtype)
    tables = function.tables() if function.tables else {}
    roles = {"weights": function.weights, "bias": function.bias}
    found.update({r: tables[a.name] for r, a in roles.items() if a and a.name in tables})
    return found


def compute_usual_shift(function: Function, params: Mapping[str, int]) -> int:
    """Return the shift that brings a sum of random products back to 8 bits."""
    assert function.weights is not None
    outputs = function.output.shape(params)[-1]
    terms = max(1, math.prod(function.weights.shape(params)) // outputs)  # 4 bits: half as many
    return -math.ceil(math.log2(128 * math.sqrt(terms)))
