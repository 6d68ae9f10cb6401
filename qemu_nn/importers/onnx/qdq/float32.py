"""Steps between integers that are computed in float32, where no function has them in 16 bits."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Optional

import numpy as np

from ....functions.tflm_float import bits
from ....ir.formats import Format, activation_limits
from ....operators import Shape
from .building import Builder, rescaling
from .symbols import Int

#: Numbers of float32, which stand for themselves.
REAL = Format("float32", 1.0)

_NOTE = "these are computed in float32, as no function of 16 bits computes them"


def step(
    builder: Builder,
    function: str,
    inputs: Sequence[Int],
    params: Mapping[str, int],
    shape: Optional[Shape] = None,
) -> Int:
    """Return a call of a function of float32."""
    first = inputs[0]
    made = replace(first, name=f"{first.name}/{function}", format=REAL, shape=shape or first.shape)
    return builder.call(f"tflm_{function}_f32", params, inputs, made)


def through(
    builder: Builder,
    inputs: Sequence[Int],
    form: Format,
    name: str,
    compute: Callable[..., Int],
    ends: tuple[float, float] = (-math.inf, math.inf),
) -> Int:
    """Return integers of a format that stand for what `compute` makes of the inputs in float32.

    ends: the floats that are kept.
    """
    builder.note(_NOTE, name)
    taken = []
    for value in inputs:
        made = replace(value, name=f"{value.name}/real", format=REAL)
        function = f"tflm_dequantize_{value.kind}_f32"
        taken.append(builder.call(function, scaled(value.size, value.format), [value], made))
    real = compute(*taken)
    limits = activation_limits(*ends, form)
    free = (limits["act_min"], limits["act_max"]) == form.limits
    made = replace(real, name=name if free else f"{name}/free", format=form)
    function = f"tflm_quantize_f32_{made.kind}"
    made = builder.call(function, scaled(real.size, form), [real], made)
    if free:
        return made
    params, kept = {**rescaling(made, form), **limits}, replace(made, name=name)
    return builder.call(f"tflm_relu_{made.kind}", params, [made], kept)


def scaled(length: int, form: Format) -> dict[str, int]:
    """Return the arguments of a step between integers of a format and floats."""
    return {"length": length, "zero_point": form.zero_point, "scale_bits": bits(form.scale)}


def constant(builder: Builder, like: Int, values: np.ndarray) -> Int:
    """Return floats that the file holds, in the shape of another tensor."""
    made = replace(like, name=f"{like.name}/constant", format=REAL)
    flat = values.reshape(-1).astype(np.float32)
    return builder.call("tflm_constant_f32", {"length": like.size}, [], made, flat)
