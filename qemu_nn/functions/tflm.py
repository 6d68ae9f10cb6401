"""What TensorFlow Lite Micro computes itself, as CMSIS-NN has no function for it."""

from .base import Function
from .extents import Array, Total, vector
from .s8_elementwise import DTYPES, combine
from .s8_movement import pad, transpose

_ZERO_POINTS: tuple[str, ...] = ("input_zero_point", "output_zero_point")
_SCALE: tuple[str, ...] = ("multiplier", "shift")
_LIMITS = {"s8": (-128, 127), "s16": (-(2**15), 2**15 - 1), "u8": (0, 255)}
_LIMITS["s32"] = (-(2**31), 2**31 - 1)
_REQUANTIZED = ("s8_s8", "s8_u8", "u8_s8", "s8_s16", "s16_s8", "s16_s16", "s16_s32")


def _each(
    name: str, op: str, type: str, params: tuple[str, ...], fixed: tuple[tuple[str, int], ...] = ()
) -> Function:
    """A function of each element: of one type, or from one to another."""
    source, target = type.split("_") if "_" in type else (type, type)
    return Function(
        name=name,
        op=op,
        type=type,
        params=("length", *params),
        inputs=(vector("input", DTYPES[source], "length"),),
        output=vector("output", DTYPES[target], "length"),
        fixed=dict(fixed),
    )


def _requantize(types: str) -> Function:
    low, high = _LIMITS[types.split("_")[1]]
    limits = (("act_min", low), ("act_max", high))
    return _each(f"tflm_requantize_{types}", "requantize", types, (*_ZERO_POINTS, *_SCALE), limits)


def _relu(type: str) -> Function:
    params = (*_ZERO_POINTS, *_SCALE, "act_min", "act_max")
    return _each(f"tflm_relu_{type}", "requantize", f"{type}_{type}", params)


def _leaky_relu(type: str) -> Function:
    scales = tuple(f"{which}_{name}" for which in ("identity", "alpha") for name in _SCALE)
    return _each(f"tflm_leaky_relu_{type}", "leaky_relu", type, (*_ZERO_POINTS, *scales))


def _logistic(op: str, type: str) -> Function:
    scale = ("input_multiplier", "input_left_shift")
    if type == "s8":
        own = ("input_zero_point", "input_range_radius")
        return _each(f"tflm_{op}_s8", op, "s8", (*own, *scale))
    unused = (("input_zero_point", 0), ("input_range_radius", 0))
    return _each(f"tflm_{op}_{type}", op, type, scale, unused)


def _mean(type: str) -> Function:
    kept = ("kept_0", "kept_1", "kept_2")
    axes = ("kept_0", "reduced_0", "kept_1", "reduced_1", "kept_2")
    return Function(
        name=f"tflm_mean_{type}",
        op="mean",
        type=type,
        params=(*axes, *_ZERO_POINTS, *_SCALE),
        inputs=(Array("input", DTYPES[type], axes),),
        output=Array("output", DTYPES[type], kept),
        note="multiplier and shift: of the scales alone; the count is folded in here.",
    )


def _join(type: str) -> Function:
    dtype = DTYPES[type]
    return Function(
        name=f"tflm_concatenation_{type}",
        op="join",
        type=type,
        params=("outer", "inner1", "inner2"),
        inputs=tuple(Array(f"input{i}", dtype, ("outer", f"inner{i}")) for i in (1, 2)),
        output=Array("output", dtype, ("outer", Total(("inner1", "inner2")))),
    )


def _slice(type: str) -> Function:
    names = {n: tuple(f"{n}_{i}" for i in range(5)) for n in ("input", "begin", "stride", "output")}
    return Function(
        name=f"tflm_slice_{type}",
        op="slice",
        type=type,
        params=tuple(each for group in names.values() for each in group),
        inputs=(Array("input", DTYPES[type], names["input"]),),
        output=Array("output", DTYPES[type], names["output"]),
    )


def _resize_nearest(type: str) -> Function:
    return Function(
        name=f"tflm_resize_nearest_{type}",
        op="resize_nearest",
        type=type,
        params=(
            *("batches", "input_h", "input_w", "channels", "output_h", "output_w"),
            *("align_corners", "half_pixel_centers"),
        ),
        inputs=(Array("input", DTYPES[type], ("batches", "input_h", "input_w", "channels")),),
        output=Array("output", DTYPES[type], ("batches", "output_h", "output_w", "channels")),
    )


_BOTH = ("s8", "s16")

FUNCTIONS = (
    combine("tflm_add_u8", "elementwise_add", "u8"),
    *(combine(f"tflm_sub_{type}", "elementwise_sub", type) for type in _BOTH),
    *(_requantize(types) for types in _REQUANTIZED),
    Function(
        name="tflm_rescale_u8",
        op="rescale",
        type="u8",
        params=("length", "output_zero_point"),
        inputs=(vector("input", "uint8", "length"),),
        output=vector("output", "uint8", "length"),
        weights=vector("factors", "int32", 2),
        note="Of TensorFlow Lite 1.15. factors: scaling.rescale_factors().",
    ),
    *(_relu(type) for type in _BOTH),
    *(_leaky_relu(type) for type in _BOTH),
    *(_logistic(op, type) for op in ("logistic", "tanh") for type in _BOTH),
    *(_mean(type) for type in _BOTH),
    *(_join(type) for type in ("s8", "s16", "u8")),
    *(_slice(type) for type in _BOTH),
    *(_resize_nearest(type) for type in _BOTH),
    pad("tflm_pad_s16", "s16"),
    transpose("tflm_transpose_s16", "s16"),
)
