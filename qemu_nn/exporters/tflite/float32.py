"""Operators on floats and unscaled integers, and conversions between types."""

from __future__ import annotations

from functools import partial

import numpy as np

from ...functions import FUNCTIONS
from ...functions.tflm_float import ACTIVATED, ACTIVATIONS, BINARY, COMPARE, UNARY
from .building import TYPES, Site
from .elementwise import each, pair
from .schema import Field
from .windows import Maker, images, placed

#: Type suffixes of the functions of this module.
_TYPES = ("f32", "s32", "s64", "s16", "s8", "b8")


def number(site: Site, name: str) -> float:
    """Return the float32 that an argument contains as bits."""
    return float(np.array(site.params[name], np.int32).view(np.float32))


def _activation(site: Site) -> dict[str, Field]:
    kind = ACTIVATIONS[site.params["activation"]]
    return {"FusedActivationFunction": ("ActivationFunctionType", kind)}


def activated(site: Site, name: str) -> None:
    """Convert a sum, difference, product or quotient with a fused activation."""
    pair(site, name.upper(), f"{name.capitalize()}Options", **_activation(site))


def pool(site: Site, operator: str) -> None:
    """Convert a pooling of floats."""
    x, made = images(site)
    sides = {"FilterHeight": site.params["filter_h"], "FilterWidth": site.params["filter_w"]}
    options = {**placed(site, dilated=False), **sides, **_activation(site)}
    site.put(operator, [x], "Pool2DOptions", made, **options)


def leaky(site: Site) -> None:
    """Convert to LEAKY_RELU."""
    slope = number(site, "alpha_bits")
    site.put("LEAKY_RELU", [site.takes(0, site.whole)], "LeakyReluOptions", Alpha=slope)


def rows(site: Site, operator: str, kind: str) -> None:
    """Convert to SOFTMAX or LOG_SOFTMAX."""
    columns = site.params["row_size"]
    shape = site.whole if site.whole[-1] == columns else (site.params["num_rows"], columns)
    beta = {"Beta": number(site, "beta_bits")} if "beta_bits" in site.params else {}
    site.put(operator, [site.takes(0, shape)], kind, shape, **beta)


def cast(site: Site) -> None:
    """Convert to CAST."""
    types: dict[str, Field] = {
        name: ("TensorType", TYPES[tensor.dtype])
        for name, tensor in (("InDataType", site.source()), ("OutDataType", site.output))
    }
    site.put("CAST", [site.takes(0, site.whole)], "CastOptions", None, **types)


def choose(site: Site) -> None:
    """Convert to SELECT_V2."""
    inputs = [site.takes(i, site.whole) for i in range(3)]
    site.put("SELECT_V2", inputs, "SelectV2Options")


_MAKERS: dict[str, Maker] = {
    **{f"tflm_{name}_{type}": partial(each, operator=name.upper())
       for name in (*UNARY, "logical_not") for type in _TYPES},
    **{f"tflm_{name}_{type}": partial(pair, operator=name.upper())
       for name in (*BINARY, *COMPARE, "logical_and", "logical_or") for type in _TYPES},
    **{f"tflm_{name}_{type}": partial(activated, name=name)
       for name in ACTIVATED for type in ("f32", "s32")},
    **{f"tflm_{name}_pool_f32": partial(pool, operator=f"{name.upper()}_POOL_2D")
       for name in ("average", "max", "l2")},
    **{f"tflm_select_{type}": choose for type in _TYPES},
    "tflm_leaky_relu_f32": leaky,
    "tflm_softmax_f32": partial(rows, operator="SOFTMAX", kind="SoftmaxOptions"),
    **{f"tflm_log_softmax_{type}": partial(rows, operator="LOG_SOFTMAX", kind="LogSoftmaxOptions")
       for type in ("f32", "s8")},
    **{name: partial(each, operator="QUANTIZE") for name in FUNCTIONS
       if name.startswith(("tflm_quantize_", "tflm_requantize_"))},
    **{name: partial(each, operator="DEQUANTIZE") for name in FUNCTIONS
       if name.startswith("tflm_dequantize_")},
    **{name: cast for name in FUNCTIONS if name.startswith("tflm_cast_")},
}  # fmt: skip

#: Function -> the converter of its calls.
REAL = {name: maker for name, maker in _MAKERS.items() if name in FUNCTIONS}
