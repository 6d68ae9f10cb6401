"""Operators of TensorFlow Lite Micro on each element of float32 and wide integers; conversions."""

from collections.abc import Mapping
from random import Random
from typing import Callable, Optional

import numpy as np

from .base import Function, Params
from .float_semantics import FloatCall, Meaning, Meant, Real, define_meaning
from .random_params import Draw, Drawn, draw_length, draw_only_length, get_limits
from .shapes import DTYPES, vector

#: Converted types and operations, numbered as in csrc/include/qn_params_f.h.
TYPES = ("s8", "s16", "s32", "u32", "f32", "b8")
UNARY = (
    *("neg", "abs", "sqrt", "rsqrt", "square", "exp", "log", "sin", "cos", "ceil", "floor"),
    *("round", "relu", "relu6", "leaky_relu", "elu", "logistic", "tanh", "hard_swish"),
)
BINARY = (
    *("add", "sub", "mul", "div", "maximum", "minimum", "squared_difference"),
    *("floor_div", "floor_mod", "prelu"),
)
COMPARE = ("equal", "not_equal", "greater", "greater_equal", "less", "less_equal")

#: Operations with a fused activation.
ACTIVATED = BINARY[:4]

#: Fused activations, numbered as in qn_params_f.h.
ACTIVATIONS = ("NONE", "RELU", "RELU_N1_TO_1", "RELU6")

#: Operations on int32.
_OF_INTEGERS = BINARY[:7]

_CASE: Params = {"length": 4096}

REAL_NOTE = (
    "Each step is one of IEEE 754 in single precision, and a function of libm is the real number, "
    "rounded once: a device whose libm or compiler rounds otherwise differs in last bits."
)


def bits(value: float) -> int:
    """Return the bits of a float32 as int32."""
    return int(np.float32(value).view(np.int32))


# ---- random arguments ----


def _draw_quantize(rng: Random, function: Function) -> Drawn:
    arrays = (function.inputs[0], function.output)
    (dtype,) = (array.dtype for array in arrays if array.dtype != "float32")
    scale = bits(2.0 ** rng.uniform(-12, 2))
    return {
        "length": draw_length(rng),
        "zero_point": rng.randint(*get_limits(dtype)),
        "scale_bits": scale,
    }


def _draw_slope(rng: Random, function: Function) -> Drawn:
    return {"length": draw_length(rng), "alpha_bits": bits(rng.uniform(-1, 1))}


def _draw_activation(rng: Random, function: Function) -> Drawn:
    return {"length": draw_length(rng), "activation": rng.randrange(len(ACTIVATIONS))}


# ---- meaning ----


def _elu(x: np.ndarray) -> np.ndarray:
    return np.where(x < 0, np.expm1(x), x)


_REAL: dict[str, Callable[..., np.ndarray]] = {
    **{"neg": np.negative, "abs": np.abs, "sqrt": np.sqrt, "square": np.square, "exp": np.exp},
    **{"log": np.log, "sin": np.sin, "cos": np.cos, "ceil": np.ceil, "floor": np.floor},
    **{"round": np.rint, "tanh": np.tanh, "rsqrt": lambda x: 1 / np.sqrt(x)},
    **{"relu": lambda x: np.maximum(x, 0), "relu6": lambda x: np.clip(x, 0, 6)},
    **{"elu": _elu, "logistic": lambda x: 1 / (1 + np.exp(-x))},
    **{"hard_swish": lambda x: x * np.clip(x + 3, 0, 6) / 6, "add": np.add, "sub": np.subtract},
    **{"mul": np.multiply, "div": np.divide, "squared_difference": lambda x, y: (x - y) ** 2},
    **{"maximum": np.maximum, "minimum": np.minimum},
    **{"floor_div": np.floor_divide, "floor_mod": np.mod},
}

#: Ranges of fused activations, in the order of ACTIVATIONS.
_KEPT = ((-np.inf, np.inf), (0, np.inf), (-1, 1), (0, 6))


def _leaky(call: FloatCall) -> Meant:
    slope = float(np.int32(call.params["alpha_bits"]).view(np.float32))
    return Meant((Real(lambda x: np.where(x < 0, slope * x, x)),), (None,))


def _pair_of(what: str) -> Meaning:
    def define(call: FloatCall) -> Meant:
        low, high = _KEPT[call.params.get("activation", 0)]
        own = Real(lambda x, y: np.clip(_REAL[what](x, y), low, high))
        return Meant((own,), (None, None))

    return define


# ---- declarations ----


def _make_elementwise(
    name: str,
    op: str,
    type: str,
    inputs: Mapping[str, str],
    output: str,
    params: tuple[str, ...] = (),
    fixed: Mapping[str, int] = {},
    draw: Optional[Draw] = None,
    case: Mapping[str, int] = {},
    meaning: Optional[Meaning] = None,
) -> Function:
    """Return a function of each element, or of each pair: inputs by their names, with their
    types.
    """
    arrays = tuple(vector(array, DTYPES[own], "length") for array, own in inputs.items())
    return Function(
        name=name,
        op=op,
        type=type,
        params=("length", *params),
        inputs=arrays,
        output=vector("output", DTYPES[output], "length"),
        fixed=fixed,
        note=REAL_NOTE if output == "f32" and op in ("unary", "binary") else "",
        draw=draw or draw_only_length(),
        cases=({**_CASE, **case},),
        meaning=meaning,
    )


def _make_cast(source: str, target: str) -> Function:
    return _make_elementwise(
        name=f"tflm_cast_{source}_{target}",
        op="cast",
        type="any",
        inputs={"input": source},
        output=target,
        fixed={"from": TYPES.index(source), "to": TYPES.index(target)},
    )


def _quantize(op: str, source: str, target: str) -> Function:
    return _make_elementwise(
        name=f"tflm_{op}_{source}_{target}",
        op=op,
        type=f"{source}_{target}",
        inputs={"input": source},
        output=target,
        params=("zero_point", "scale_bits"),
        draw=_draw_quantize,
        case={"zero_point": 0 if "16" in source + target else 3, "scale_bits": bits(0.05)},
        meaning=define_meaning(lambda x: x),
    )


def _unary(what: str) -> Function:
    slope = what == "leaky_relu"
    return _make_elementwise(
        name=f"tflm_{what}_f32",
        op="unary",
        type="f32",
        inputs={"input": "f32"},
        output="f32",
        params=("alpha_bits",) if slope else (),
        fixed={"what": UNARY.index(what), **({} if slope else {"alpha_bits": 0})},
        draw=_draw_slope if slope else None,
        case={"alpha_bits": bits(0.1)} if slope else {},
        meaning=_leaky if slope else define_meaning(_REAL[what]),
    )


def _binary(what: str, type: str) -> Function:
    ends = what in ACTIVATED
    return _make_elementwise(
        name=f"tflm_{what}_{type}",
        op="binary",
        type=type,
        inputs={"input1": type, "input2": type},
        output=type,
        params=("activation",) if ends else (),
        fixed={"what": BINARY.index(what), **({} if ends else {"activation": 0})},
        draw=_draw_activation if ends else None,
        case={"activation": 0} if ends else {},
        meaning=_pair_of(what),
    )


def _compare(what: str, type: str) -> Function:
    return _make_elementwise(
        name=f"tflm_{what}_{type}",
        op="compare",
        type=type,
        inputs={"input1": type, "input2": type},
        output="b8",
        fixed={"what": COMPARE.index(what)},
    )


FUNCTIONS = (
    *(_make_cast(source, target) for source in TYPES for target in TYPES),
    *(_quantize("quantize", "f32", type) for type in ("s8", "s16")),
    *(_quantize("dequantize", type, "f32") for type in ("s8", "s16", "u8")),
    *(_unary(what) for what in UNARY),
    *(_binary(what, "f32") for what in BINARY),
    *(_binary(what, "s32") for what in _OF_INTEGERS),
    *(_binary(what, "s64") for what in ("maximum", "minimum")),
    *(_compare(what, type) for what in COMPARE for type in ("f32", "s32", "s64")),
)
