"""Steps that the device computes in float32, where no function of integers computes them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Optional

import numpy as np

from ....errors import ModelError
from ....ir.formats import Format, activation_limits
from ....operators import Shape
from .building import ANY, REAL, Builder, scaled
from .site import NO_FUNCTION, Site, once
from .symbols import Curve, Function, Int, Pending

#: Note on what calls of float32 compute.
IN_FLOATS = "these are computed in float32, as no function of integers computes them"


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
    ends: tuple[float, float] = ANY,
) -> Int:
    """Return integers of a format that stand for what `compute` makes of the inputs in float32.

    ends: the floats that are kept.
    """
    return quantized(builder, compute(*map(builder.real, inputs)), form, name, ends)


def quantized(
    builder: Builder, real: Int, form: Format, name: str, ends: tuple[float, float] = ANY
) -> Int:
    """Return floats as integers of a format; ends: the floats that are kept."""
    builder.note(IN_FLOATS, name)
    limits = activation_limits(*ends, form)
    free = (limits["act_min"], limits["act_max"]) == form.limits
    made = replace(real, name=name if free else f"{name}/free", format=form)
    function = f"tflm_quantize_f32_{made.kind}"
    made = builder.call(function, scaled(real.size, form), [real], made)
    return made if free else builder.kept(made, ends, name)


def floated(
    site: Site, shape: Shape, real: Optional[Callable[[], Int]], curve: Optional[Curve] = None
) -> Pending:
    """Return floats that calls of float32 make, or a table where they are a function of 8 bits."""
    real = None if real is None else once(real)

    def emit(form: Format, name: str, ends: tuple[float, float]) -> Int:
        if curve is not None and (curve.x.kind, form.dtype) == ("s8", "int8"):
            return site.builder.table(curve.x, form, name, curve.function)
        if real is None:
            raise ModelError(NO_FUNCTION)
        if curve is not None:
            _check(curve.function, curve.x.format)
        return quantized(site.builder, real(), form, name)

    return Pending(emit, shape, curve=curve, real=real)


def _check(function: Function, form: Format) -> None:
    low, high = form.limits
    with np.errstate(all="ignore"):
        values = function(form.dequantize(np.arange(low, high + 1)).astype(np.float32))
    if not np.isfinite(np.asarray(values, np.float32)).all():
        raise ModelError("its function has no value for some of the input's integers")


def constant(builder: Builder, like: Int, values: np.ndarray) -> Int:
    """Return floats that the file holds, in the shape of another tensor and in its order in
    memory.
    """
    made = replace(like, name=f"{like.name}/constant", format=REAL)
    flat = values.reshape(-1).astype(np.float32)
    return builder.call("tflm_constant_f32", {"length": like.size}, [], made, flat)
