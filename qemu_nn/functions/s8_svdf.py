"""SVDF of the s8 API, with a state that persists between calls."""

from collections.abc import Mapping
from dataclasses import replace
from random import Random
from typing import Callable

from .base import Function, Params
from .c_signature import Bytes, Member, Order, Struct, dims, order
from .random_params import SIZES, draw_ends, draw_output_offset, draw_scale
from .shapes import Array, Total, join_arrays

_FILTERS: tuple[str, ...] = ("units", "rank")
_SCALES: tuple[str, ...] = ("in_multiplier", "in_shift", "out_multiplier", "out_shift")
_RANGES: tuple[str, ...] = ("in_act_min", "in_act_max", "out_act_min", "out_act_max")


def _range(member: str, name: str) -> dict[str, Member]:
    return {f"{member}.min": f"{name}_act_min", f"{member}.max": f"{name}_act_max"}


def _pair(name: str) -> Struct:
    members = {"multiplier": f"{name}_multiplier", "shift": f"{name}_shift"}
    return Struct("cmsis_nn_per_tensor_quant_params", members)


_SVDF = {
    "svdf_params": Struct(
        "cmsis_nn_svdf_params",
        {
            "rank": "rank",
            "input_offset": "input_offset",
            "output_offset": "output_offset",
            **_range("input_activation", "in"),
            **_range("output_activation", "out"),
        },
    ),
    "input_quant_params": _pair("in"),
    "output_quant_params": _pair("out"),
    "input_dims": dims("batches", "input_size", 1, 1),
    "state_dims": dims("batches", ("units", "rank", "time_batches"), 1, 1),
    "weights_feature_dims": dims(_FILTERS, "input_size", 1, 1),
    "weights_time_dims": dims(_FILTERS, "time_batches", 1, 1),
    "bias_dims": dims("units", 1, 1, 1),
    "output_dims": dims("batches", "units", 1, 1),
}
_SVDF_NAMES = (
    "input_ctx output_ctx svdf_params input_quant_params output_quant_params input_dims input"
    " state_dims state weights_feature_dims weights_feature weights_time_dims weights_time"
    " bias_dims bias output_dims output"
)


def _sums(p: Mapping[str, int], path: str) -> int:
    """Return the scratch memory: Helium needs the sums of the rows of weights."""
    return 4 * p["units"] * p["rank"] if path == "mve" else 0


_SVDF_SCRATCH: Mapping[str, Bytes] = {
    "input_ctx": lambda p, path: 4 * p["batches"] * p["units"] * p["rank"],
    "output_ctx": lambda p, path: 4 * p["batches"] * p["units"],
}


def _draw(rng: Random, function: Function) -> dict[str, int]:
    p = {"batches": rng.randint(1, 3), "units": rng.choice(SIZES), "rank": rng.randint(1, 4)}
    p.update(input_size=rng.choice(SIZES), time_batches=rng.choice(SIZES))
    p.update(input_offset=rng.randint(-128, 127), output_offset=draw_output_offset(rng, -128, 127))
    state = function.inputs[1].dtype
    if state == "int8":
        p["state_offset"] = rng.choice((0, rng.randint(-127, 128)))
    p.update(draw_scale(rng, "in_", -12, 1))
    limits = rng.choice((state, "int16"))  # TensorFlow Lite Micro passes the latter
    p.update(draw_scale(rng, "out_", *((-14, 1) if state == "int8" else (-22, -8))))
    p.update(draw_ends(rng, limits, "in_act_min", "in_act_max"))
    return {**p, **draw_ends(rng, "int8", "out_act_min", "out_act_max")}


_S8, _S16 = {"act_min": -128, "act_max": 127}, {"act_min": -32768, "act_max": 32767}


def _pair_of(prefix: str, shift: int) -> Params:
    return {f"{prefix}multiplier": 2**30 + 12345, f"{prefix}shift": shift}


def _case(features: int, units: int, memory: int, state: Params) -> Params:
    p = {"batches": 1, "input_size": features, "units": units, "rank": 2}
    p.update(time_batches=memory, input_offset=3, output_offset=0)
    for side, range in (("in", state), ("out", _S8)):
        p.update({f"{side}_{name}": value for name, value in range.items()})
    if state == _S8:
        p["state_offset"] = 0
    shifts = (-8, -8) if state == _S8 else (-1, -23)
    return {**p, **_pair_of("in_", shifts[0]), **_pair_of("out_", shifts[1])}


def _sums_of(dtype: str) -> Callable[[Mapping[str, int], str], int]:
    """Return the bytes of input_ctx, output_ctx and ctx: the sums of rows of weights."""

    def count_bytes(params: Mapping[str, int], path: str) -> int:
        filters = params["units"] * params["rank"]
        rows = filters if dtype == "int8" and path == "mve" else 0
        return 4 * (params["batches"] * (filters + params["units"]) + rows)

    return count_bytes


def _svdf(name: str, type: str, dtype: str, order: Order, case: Params) -> Function:
    """dtype: of the state and of the weights over time."""
    feature = Array("weights_feature", "int8", (_FILTERS, "input_size"))
    time = Array("weights_time", dtype, (_FILTERS, "time_batches"))
    sides = ("batches", "input_size", *_FILTERS, "time_batches")
    summed: tuple[str, ...] = ("state_offset",) if dtype == "int8" else ()
    return Function(
        name=name,
        op="svdf",
        type=type,
        params=(*sides, "input_offset", "output_offset", *_RANGES, *_SCALES, *summed),
        inputs=(
            Array("input", "int8", ("batches", "input_size")),
            Array("state", dtype, ("batches", _FILTERS, "time_batches"), state=True),
        ),
        weights=join_arrays("weights", dtype, feature, time),
        parts=(feature, time),
        bias=Array("bias", "int32", ("units",), optional=True),
        output=Array("output", "int8", ("batches", "units")),
        buffer=_sums_of(dtype),
        macs=("batches", _FILTERS, Total(("input_size", "time_batches"))),
        fixed={"newest_offset": 0, **({} if summed else {"state_offset": 0})},
        defaults={"state_offset": 0} if summed else {},
        note="input_offset is plus the input's zero point. state: in and out. state_offset: what "
        "arm_vector_sum_s8 gets as rhs_offset, on Helium.",
        order=order,
        draw=_draw,
        cases=(case,),
    )


def _draw_own(rng: Random, function: Function) -> dict[str, int]:
    drawn = {name: value for name, value in _draw(rng, function).items() if name != "state_offset"}
    return {**drawn, "newest_offset": rng.choice((0, rng.randint(-128, 127)))}


def _count_own_bytes(arm: Function) -> Function:
    """Return the bytes of TensorFlow Lite Micro's own kernels, with a zero point of the state."""
    (case,) = ({k: v for k, v in case.items() if k != "state_offset"} for case in arm.cases)
    return replace(
        arm,
        name="tflm_svdf_s8",
        params=(*arm.params[:-1], "newest_offset"),
        parts=(),
        fixed={"state_offset": 0},
        defaults={},
        buffer=None,
        note="newest_offset: the zero point of the state; what it adds to sums is in the bias.",
        order=None,
        draw=_draw_own,
        cases=({**case, "newest_offset": 3, "in_act_min": -125, "in_act_max": 130},),
    )


_ARM = (
    _svdf(
        "arm_svdf_s8",
        "s8",
        "int8",
        order(
            f"ctx {_SVDF_NAMES}",
            _SVDF,
            scratch_buffers={"ctx": _sums, **_SVDF_SCRATCH},
            implied={"state_offset": "ctx->buf == NULL ? 0 : *(const int32_t *)ctx->buf"},
            sums=(
                *("input_size", _FILTERS, "weights_feature"),
                *("-input_offset", "state_offset", "NULL"),
            ),
            before={
                "dc64e488": order(
                    _SVDF_NAMES,
                    _SVDF,
                    scratch_buffers=_SVDF_SCRATCH,
                    implied={"state_offset": "0"},
                )
            },
        ),
        _case(40, 64, 8, _S8),
    ),
    _svdf(
        "arm_svdf_state_s16_s8",
        "s16_s8",
        "int16",
        order(_SVDF_NAMES, _SVDF, scratch_buffers=_SVDF_SCRATCH),
        _case(40, 64, 8, _S16),
    ),
)

FUNCTIONS = (*_ARM, _count_own_bytes(_ARM[0]))
