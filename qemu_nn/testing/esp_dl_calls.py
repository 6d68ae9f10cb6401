"""Recorded operators of ESP-DL as calls of the functions of functions/esp_dl.py."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Callable, Optional

import numpy as np

from .. import cmsis
from ..errors import Refused
from ..functions import FUNCTIONS
from ..functions.esp_dl import fold_axes
from ..targets import Target

#: Recorded build -> the devices of this package with its bits. "even" is portable C that rounds as
#: an ESP32-P4 does.
BUILDS = {"c": "esp32", "even": "esp32p4", "esp32s3": "esp32s3"}

#: The argument `chip` of a build.
_CHIPS = {"c": 0, "esp32s3": 1, "even": 2}

Arrays = Mapping[str, Optional[np.ndarray]]
Case = Mapping[str, Any]
Inputs = Mapping[str, np.ndarray]
#: Name of a function, its scalar arguments and its arrays.
Call = tuple[str, dict[str, int], dict[str, Any]]


def compute(case: Case, arrays: Arrays, build: str) -> np.ndarray:
    """Return the output of a recorded operator on a chip; raise Refused without a function."""
    operator = case["functions"][0]
    if operator not in _OPERATORS:
        raise Refused(f"{operator} of ESP-DL is not declared")
    inputs = {name: np.asarray(arrays[key]) for name, key in case["inputs"].items()}
    name, params, given = _OPERATORS[operator](case, inputs)
    function = FUNCTIONS[name]
    if "chip" in function.params:
        params["chip"] = _CHIPS[build]
    profile = Target(BUILDS[build]).profile()
    result: np.ndarray = cmsis.invoke(function, {**params, **given}, profile)
    return result


def _type(case: Case) -> str:
    return str(case["params"]["quant_type"]).lower()


def _shift(case: Case, *names: str) -> int:
    exponents = case["exponents"]
    return int(exponents["output"] - sum(exponents[name] for name in names))


def _sides(shape: Sequence[int], prefix: str, axes: str = "hwc") -> dict[str, int]:
    return {f"{prefix}_{axis}": n for axis, n in zip(axes, shape)}


def _rectified(case: Case) -> int:
    return int(case["params"]["activation"] == "Relu")


def _conv(case: Case, inputs: Inputs) -> Call:
    p, shapes = case["params"], case["shapes"]
    depthwise = p["group"] > 1
    kernel = shapes["filter"] if depthwise else shapes["filter"][1:]
    params = {"batches": shapes["input"][0], **_sides(shapes["input"][1:], "input")}
    params.update(_sides(kernel, "filter", "hw"), **_sides(shapes["output"][1:], "output"))
    for name, sides in (("stride", "strides"), ("dilation", "dilations"), ("pad", "pads")):
        params.update(_sides(p[sides], name, "hw"))
    params.update(right_shift=_shift(case, "input", "filter"), rectified=_rectified(case))
    if depthwise:
        del params["output_c"]
    name = f"esp_dl_{'depthwise_' * depthwise}conv_{_type(case)}"
    return name, params, {"bias": None, **inputs}


def _dense(case: Case, inputs: Inputs) -> Call:
    width, depth = case["shapes"]["filter"]
    params = {"input_c": depth, "output_c": width, "batches": inputs["input"].size // depth}
    params.update(right_shift=_shift(case, "input", "filter"), rectified=_rectified(case))
    return f"esp_dl_dense_{_type(case)}", params, {"bias": None, **inputs}


def _pair(case: Case, inputs: Inputs) -> Call:
    shapes, operator = case["shapes"], case["functions"][0].lower()
    params = {"block_size": math.prod(shapes["output"])}
    if operator == "mul":
        params["right_shift"] = _shift(case, "input1", "input2")
        params["row_size"] = fold_axes(shapes["input1"], shapes["input2"])
    whole = {
        name: np.ascontiguousarray(np.broadcast_to(x, shapes["output"]))
        for name, x in inputs.items()
    }
    return f"esp_dl_{operator}_{_type(case)}", params, whole


def _requantize(case: Case, inputs: Inputs) -> Call:
    source = "s8" if inputs["input"].dtype == np.int8 else "s16"
    target = _type(case)
    types = source if source == target else f"{source}_{target}"
    params = {"block_size": inputs["input"].size, "right_shift": _shift(case, "input")}
    return f"esp_dl_requantize_{types}", params, dict(inputs)


_OPERATORS: dict[str, Callable[[Case, Inputs], Call]] = {
    "Conv": _conv,
    **dict.fromkeys(("Gemm", "MatMul"), _dense),
    **dict.fromkeys(("Add", "Sub", "Mul"), _pair),
    "RequantizeLinear": _requantize,
}
