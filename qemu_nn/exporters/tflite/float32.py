"""Operators on floats and unscaled integers, and conversions between types."""

from __future__ import annotations

from functools import partial

import numpy as np

from ...functions import FUNCTIONS
from ...functions.tflm_float import ACTIVATED, ACTIVATIONS, BINARY, COMPARE, UNARY
from .building import TYPES, TfliteSite
from .elementwise import convert_pair, convert_unary
from .schema import OptionValue
from .windows import CallConverter, make_window_options, view_images

#: Type suffixes of the functions of this module.
_TYPES = ("f32", "s32", "s64", "s16", "s8", "b8")


def read_float(site: TfliteSite, name: str) -> float:
    """Return the float32 that an argument contains as bits."""
    return float(np.array(site.params[name], np.int32).view(np.float32))


def _activation(site: TfliteSite) -> dict[str, OptionValue]:
    kind = ACTIVATIONS[site.params["activation"]]
    return {"FusedActivationFunction": ("ActivationFunctionType", kind)}


def convert_arithmetic(site: TfliteSite, name: str) -> None:
    """Convert a sum, difference, product or quotient with a fused activation."""
    convert_pair(site, name.upper(), f"{name.capitalize()}Options", **_activation(site))


def pool(site: TfliteSite, operator: str) -> None:
    """Convert a pooling of floats."""
    x, made = view_images(site)
    sides = {"FilterHeight": site.params["filter_h"], "FilterWidth": site.params["filter_w"]}
    options = {**make_window_options(site, dilated=False), **sides, **_activation(site)}
    site.put(operator, [x], "Pool2DOptions", made, **options)


def leaky(site: TfliteSite) -> None:
    """Convert to LEAKY_RELU."""
    slope = read_float(site, "alpha_bits")
    site.put("LEAKY_RELU", [site.view_input(0, site.whole)], "LeakyReluOptions", Alpha=slope)


def softmax(site: TfliteSite, operator: str, kind: str) -> None:
    """Convert to SOFTMAX or LOG_SOFTMAX."""
    columns = site.params["row_size"]
    shape = site.whole if site.whole[-1] == columns else (site.params["num_rows"], columns)
    beta = {"Beta": read_float(site, "beta_bits")} if "beta_bits" in site.params else {}
    site.put(operator, [site.view_input(0, shape)], kind, shape, **beta)


def cast(site: TfliteSite) -> None:
    """Convert to CAST."""
    types: dict[str, OptionValue] = {
        name: ("TensorType", TYPES[tensor.dtype])
        for name, tensor in (("InDataType", site.source()), ("OutDataType", site.output))
    }
    site.put("CAST", [site.view_input(0, site.whole)], "CastOptions", None, **types)


def choose(site: TfliteSite) -> None:
    """Convert to SELECT_V2."""
    inputs = [site.view_input(i, site.whole) for i in range(3)]
    site.put("SELECT_V2", inputs, "SelectV2Options")


_MAKERS: dict[str, CallConverter] = {
    **{f"tflm_{name}_{type}": partial(convert_unary, operator=name.upper())
       for name in (*UNARY, "logical_not") for type in _TYPES},
    **{f"tflm_{name}_{type}": partial(convert_pair, operator=name.upper())
       for name in (*BINARY, *COMPARE, "logical_and", "logical_or") for type in _TYPES},
    **{f"tflm_{name}_{type}": partial(convert_arithmetic, name=name)
       for name in ACTIVATED for type in ("f32", "s32")},
    **{f"tflm_{name}_pool_f32": partial(pool, operator=f"{name.upper()}_POOL_2D")
       for name in ("average", "max", "l2")},
    **{f"tflm_select_{type}": choose for type in _TYPES},
    "tflm_leaky_relu_f32": leaky,
    "tflm_softmax_f32": partial(softmax, operator="SOFTMAX", kind="SoftmaxOptions"),
    **{f"tflm_log_softmax_{type}":
       partial(softmax, operator="LOG_SOFTMAX", kind="LogSoftmaxOptions")
       for type in ("f32", "s8")},
    **{name: partial(convert_unary, operator="QUANTIZE") for name in FUNCTIONS
       if name.startswith(("tflm_quantize_", "tflm_requantize_"))},
    **{name: partial(convert_unary, operator="DEQUANTIZE") for name in FUNCTIONS
       if name.startswith("tflm_dequantize_")},
    **{name: cast for name in FUNCTIONS if name.startswith("tflm_cast_")},
}  # fmt: skip

#: Function -> the converter of its calls.
REAL = {name: maker for name, maker in _MAKERS.items() if name in FUNCTIONS}
