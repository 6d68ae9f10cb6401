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
from ..functions.random_params import get_limits
from ..functions.tflm_float import bits
from ..functions.tflm_reduce import AXES
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
Call = tuple[str, dict[str, int], Mapping[str, Any]]


def compute(case: Case, arrays: Arrays, build: str) -> np.ndarray:
    """Return the output of a recorded operator on a chip; raise Refused without a function."""
    operator = case["functions"][0]
    inputs = {name: np.asarray(arrays[key]) for name, key in case["inputs"].items()}
    given: Mapping[str, Any] = inputs
    if operator in FUNCTIONS:
        name, params = operator, dict(case["params"])
    elif operator in _OPERATORS:
        name, params, given = _OPERATORS[operator](case, inputs)
    else:
        raise Refused(f"{operator} of ESP-DL is not declared")
    function = FUNCTIONS[name]
    if "chip" in function.params:
        params["chip"] = _CHIPS[build]
    profile = Target(BUILDS[build]).profile()
    result: np.ndarray = cmsis.invoke(function, {**params, **given}, profile)
    return result


def compare(case: Case, arrays: Arrays, build: str, expected: np.ndarray) -> tuple[str, str]:
    """Return "equal", "different" or "refused", and why, of a recorded operator.

    Where a float is no number or too large for 32 bits, the recorder's x86 converts it unlike the
    chips. "refused" also stands for a result that is not the chip's.
    """
    operator = case["functions"][0]
    if build == "even" and operator == "PRelu" and _type(case) == "s8":
        return "refused", "the recorded portable C rounds down, the ESP32-P4's kernel does not"
    got = compute(case, arrays, build).reshape(expected.shape)
    if got.dtype != expected.dtype:
        return "different", f"{got.dtype} instead of {expected.dtype}"
    off = got != expected
    if operator in _X86:
        x = np.asarray(arrays[case["inputs"]["input"]], np.float64)
        with np.errstate(all="ignore"):
            v = _X86[operator](np.ldexp(x, case["exponents"]["input"]))
            off &= np.ldexp(v, -case["exponents"]["output"]) < 2**31 - 1
    if not off.any():
        return "equal", ""
    if operator == "LogSoftmax" and (np.abs(got - expected) <= np.spacing(np.abs(expected))).all():
        return "refused", f"the recorder's log is one place off in {off.sum()} elements"
    at = int(np.flatnonzero(off)[0])
    return "different", f"element {at}: {got.flat[at]} instead of {expected.flat[at]}"


#: Operators whose results can be too large, or no numbers.
_X86: dict[str, Callable[[np.ndarray], np.ndarray]] = {"Exp": np.exp, "Log": np.log}
_X86["Sqrt"] = np.sqrt


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
    if operator == "div":
        exponents = case["exponents"]
        params["right_shift"] = exponents["output"] - exponents["input1"] + exponents["input2"]
        params["row_size"], params["scalar"] = fold_axes(shapes["input1"], shapes["input2"]), 0
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


def _unary(case: Case, inputs: Inputs) -> Call:
    operator, p = case["functions"][0], case["params"]
    params = {"block_size": inputs["input"].size}
    if operator not in ("Relu", "Neg"):
        params.update({f"{side}_exponent": e for side, e in case["exponents"].items()})
    params.update({f"{name}_bits": bits(p[name]) for name in ("alpha", "beta") if name in p})
    return f"esp_dl_{_SNAKES.get(operator, operator.lower())}_{_type(case)}", params, dict(inputs)


def _prelu(case: Case, inputs: Inputs) -> Call:
    """Return the call; recorded slopes of 16 bits had a first side of 1: the first is used."""
    x, alpha = inputs["input"], inputs["alpha"]
    params = {"outer": x.size // alpha.size, "inner": alpha.size}
    params["alpha_right_shift"] = _shift(case, "input", "alpha")
    params["input_right_shift"] = _shift(case, "input")
    if _type(case) == "s16":
        alpha = np.full_like(alpha, alpha.flat[0])
    return f"esp_dl_prelu_{_type(case)}", params, {"input": x, "alpha": alpha}


def _pool(case: Case, inputs: Inputs) -> Call:
    p, (batches, height, width, channels) = case["params"], case["shapes"]["input"]
    windows = {
        "filter": p.get("kernel_shape", (height, width)),
        "stride": p.get("strides", (1, 1)),
        "pad": p.get("pads", (0, 0)),
    }
    params = {"batches": batches, "channels": channels}
    params.update(_sides((height, width), "input"))
    params.update(_sides(case["shapes"]["output"][1:3], "output"))
    for name, sides in windows.items():
        params.update(_sides(sides, name, "hw"))
    if case["functions"][0] == "MaxPool":
        low, high = get_limits(inputs["input"].dtype.name)
        return f"arm_max_pool_{_type(case)}", {**params, "act_min": low, "act_max": high}, inputs
    params["right_shift"] = _shift(case, "input")
    return f"esp_dl_average_pool_{_type(case)}", params, inputs


def _reduce(case: Case, inputs: Inputs) -> Call:
    name, axes = case["functions"][0][len("Reduce") :].lower(), case["params"]["axes"]
    shape = inputs["input"].shape
    first, last = axes[0], axes[-1] + 1
    sides = (shape[:first], shape[first:last], shape[last:])
    params = dict(zip(AXES, map(math.prod, (*sides, (), ()))))
    if name in ("mean", "sum"):
        params["right_shift"] = _shift(case, "input")
    return f"esp_dl_reduce_{name}_{_type(case)}", params, inputs


def _convert(case: Case, inputs: Inputs) -> Call:
    if case["functions"][0] == "QuantizeLinear":
        name, shift = f"quantize_f32_{_type(case)}", case["exponents"]["output"]
    else:
        source = "s8" if inputs["input"].dtype == np.int8 else "s16"
        name, shift = f"dequantize_{source}_f32", -case["exponents"]["input"]
    return f"esp_dl_{name}", {"block_size": inputs["input"].size, "right_shift": shift}, inputs


def _softmax(case: Case, inputs: Inputs) -> Call:
    shape = inputs["input"].shape
    params = {"outer": math.prod(shape[:-1]), "size": shape[-1], "inner": 1}
    params["input_exponent"] = case["exponents"]["input"]
    name = _SNAKES.get(case["functions"][0], "softmax")
    return f"esp_dl_{name}_{_type(case)}_f32", params, inputs


def _resize(case: Case, inputs: Inputs) -> Call:
    if _type(case) == "s16":
        raise Refused("Resize of ESP-DL 3.3.9 leaves an output of 16 bits unwritten")
    p, result = case["params"], case["shapes"]["output"]
    batches, *image = case["shapes"]["input"]
    sides = {**_sides(image, "input", "hw"), **_sides(result[1:3], "output", "hw")}
    params = {"batches": batches, "channels": image[-1], **sides}
    corners = p["coordinate_transformation_mode"] == "align_corners"
    for at, axis in enumerate("hw"):
        scale = np.float32(p["scales"][2 + at])
        if corners:
            scale = np.float32(result[1 + at] - 1) / np.float32(image[at] - 1)
        params[f"inverse_{axis}_bits"] = bits(np.float32(1) / scale)
    params.update({f"{side}_exponent": e for side, e in case["exponents"].items()})
    if p["mode"] == "linear":
        params.update(align_corners=int(corners), axes=2)
    return f"esp_dl_resize_{p['mode']}_s8", params, inputs


#: Operator -> its name in functions.
_SNAKES = {
    **{"LeakyRelu": "leaky_relu", "HardSwish": "hard_swish", "HardSigmoid": "hard_sigmoid"},
    "LogSoftmax": "log_softmax",
}

_UNARY: tuple[str, ...] = (
    "Sigmoid",
    "Tanh",
    "Exp",
    "Log",
    "Sqrt",
    "Elu",
    "Swish",
    "LeakyRelu",
    "HardSwish",
)
_UNARY += ("HardSigmoid", "Relu", "Neg")

_OPERATORS: dict[str, Callable[[Case, Inputs], Call]] = {
    "Conv": _conv,
    **dict.fromkeys(("Gemm", "MatMul"), _dense),
    **dict.fromkeys(("Add", "Sub", "Mul", "Div"), _pair),
    **dict.fromkeys(_UNARY, _unary),
    "PRelu": _prelu,
    **dict.fromkeys(("MaxPool", "AveragePool", "GlobalAveragePool"), _pool),
    **dict.fromkeys(("ReduceMean", "ReduceSum", "ReduceMax", "ReduceMin"), _reduce),
    "RequantizeLinear": _requantize,
    **dict.fromkeys(("QuantizeLinear", "DequantizeLinear"), _convert),
    **dict.fromkeys(("Softmax", "LogSoftmax"), _softmax),
    "Resize": _resize,
}
