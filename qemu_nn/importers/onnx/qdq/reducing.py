"""ArgMax and ArgMin of quantized files."""

from __future__ import annotations

import math
from functools import partial

from ....errors import ModelError
from ....ir.formats import Format
from ...arguments import SUFFIXES
from .float32 import REAL, scaled
from .site import Converter, Site
from .symbols import Int

#: Places in an axis.
_PLACES = Format("int32", 1.0)


def arg(site: Site, what: str) -> Int:
    """Return where the largest or the least number of an axis is: the first of equal ones."""
    call, x = site.call, site.integers(0)
    rank = len(x.shape) + 1
    axis = call.integer("axis", 0) % rank - 1
    if axis < 0 or call.integer("select_last_index", 0):
        raise ModelError("it searches the batch, or for the last of equal numbers")
    x = site.builder.ordered(x, range(len(x.shape)))
    if x.kind == "s16":  # which floats are in the same order as
        params, made = scaled(x.size, x.format), Int(f"{x.name}/real", x.shape, x.order, REAL)
        x = site.builder.call("tflm_dequantize_s16_f32", params, [x], made)
    middle = (1,) if call.integer("keepdims", 1) else ()
    shape = (*x.shape[:axis], *middle, *x.shape[axis + 1 :])
    params = {"kept_0": math.prod(x.shape[:axis]), "reduced_0": x.shape[axis]}
    params["kept_1"] = math.prod(x.shape[axis + 1 :])
    made = Int(call.node.outputs[0], shape, tuple(range(len(shape))), _PLACES)
    function = f"tflm_arg_{what}_{SUFFIXES[x.format.dtype]}"
    return site.builder.call(function, params, [x], made)


REDUCING: dict[str, Converter] = {
    "ArgMax": partial(arg, what="max"),
    "ArgMin": partial(arg, what="min"),
}
