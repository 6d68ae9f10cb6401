"""Element-wise functions of the s8 and s16 API: two vectors, each with an offset and a scale."""

from collections.abc import Mapping
from functools import partial
from random import Random
from typing import Optional

from ..operators import Elementwise
from .base import Function, Params
from .c_signature import SUPPORT, Order, dims, nhwc, order
from .float_semantics import define_operator_meaning
from .random_params import (
    SIZES,
    Drawn,
    draw_activation,
    draw_length,
    draw_one_in,
    draw_output_offset,
    get_limits,
)
from .shapes import DTYPES, Array, Largest, vector

_INPUTS: tuple[str, ...] = ("input_1_offset", "input_1_mult", "input_1_shift")
_INPUTS += ("input_2_offset", "input_2_mult", "input_2_shift", "left_shift")
_OUTPUT: tuple[str, ...] = ("out_offset", "out_mult", "out_shift", "act_min", "act_max")

#: Product of one vector, in terms of the products of several.
_ONE = {"batch_size": 1, "batch_offset": 1}


#: Bits by which TensorFlow Lite widens a sum's inputs.
LEFT_SHIFTS = {"s8": 20, "u8": 20, "s16": 15}

#: C argument -> its values.
_RANGES = {
    "left_shift": (0, 21),
    "input_1_shift": (-6, 0),
    "input_2_shift": (-6, 0),
    "out_shift": (-20, -2),
}

_TWO = "input1 input2 input_1_offset"
_END = "out_offset out_mult out_shift act_min act_max block_size"
_C_SUM = order(
    f"{_TWO} input_1_mult input_1_shift input_2_offset input_2_mult input_2_shift left_shift"
    f" output {_END}"
)
_C_PRODUCT = order(f"{_TWO} input_2_offset output {_END}")
_C_BATCHES = order(
    "input1 input2 output out_offset out_mult out_shift block_size batch_size batch_offset",
    header=SUPPORT,
    before={
        "5.0.0": order(
            "input1 input2 output out_offset out_mult out_shift block_size",
            header=SUPPORT,
            implied=dict.fromkeys(("batch_size", "batch_offset"), "1"),
        )
    },
)


def _draw_scales(rng: Random, function: Function) -> Drawn:
    """Return offsets, multipliers, shifts and the range of the output, of the function's types."""
    source, target = function.inputs[0].dtype, function.output.dtype
    p: Drawn = {}
    for name in function.params:
        if name.endswith("_mult"):
            p[name] = rng.randint(2**30, 2**31 - 1)
        elif name.startswith("input_") and name.endswith("_offset"):
            p[name] = -rng.randint(*get_limits(source))
        elif name == "out_offset":
            draw = rng.randint if target == "uint8" else partial(draw_output_offset, rng)
            p[name] = draw(*get_limits(target))
        elif name in _RANGES:
            p[name] = rng.randint(*_RANGES[name])
    return {**p, **draw_activation(rng, function)}


def _draw_sum(rng: Random, function: Function) -> Drawn:
    """Draw a sum; sometimes with TFLite's left_shift, which keeps most sums in range."""
    p = {**_draw_scales(rng, function), "block_size": draw_length(rng)}
    most = LEFT_SHIFTS[function.type]
    if rng.randrange(4):
        p.update(left_shift=most, out_shift=-rng.randint(most - 4, most))
    p["left_shift"] = min(p["left_shift"], most)
    if function.type == "s8" and draw_one_in(rng, 6):
        p["input_2_mult"] = -p["input_2_mult"]
    return p


def _draw_product(rng: Random, function: Function) -> Drawn:
    p = {**_draw_scales(rng, function), "block_size": draw_length(rng)}
    if "input_1_offset" in p and draw_one_in(rng, 6):
        p["input_1_offset"] = rng.randint(-16384, 16384)
    if "batch_size" in function.params:
        p.update(batch_size=rng.choice((1, 1, 2, 3)), batch_offset=1)
    return p


def _draw_choice(rng: Random, function: Function) -> Drawn:
    """Return some axes of one input, or of both, have one element."""
    p = {}
    for axis in "nhwc":
        side = rng.choice(SIZES)
        for i, kept in zip((1, 2), rng.choice(((1, 1), (1, 1), (0, 1), (1, 0)))):
            p[f"input{i}_{axis}"] = side if kept else 1
    return p


#: Element type -> zero point in cases, whose inputs have about the output's scale; elements.
_ZEROS, _LENGTH = {"s8": 3, "s16": 0, "u8": 128}, 4096


def _sum_case(type: str) -> Params:
    """Return a sum of two tensors with TFLite's parameters."""
    zero, (low, high) = _ZEROS[type], get_limits(DTYPES[type])
    pair = {"mult": 2**30 + 12345, "shift": -1, "offset": -zero}
    both = {f"input_{i}_{name}": n for i in (1, 2) for name, n in pair.items()}
    output = {"out_offset": zero, "out_mult": 2**30 + 999, "out_shift": 1 - LEFT_SHIFTS[type]}
    ends = {"act_min": low, "act_max": high, "block_size": _LENGTH}
    return {**both, **output, "left_shift": LEFT_SHIFTS[type], **ends}


def _product_case(type: str, params: tuple[str, ...]) -> Params:
    zero, (low, high) = _ZEROS[type], get_limits(DTYPES[type])
    known = {"input_1_offset": -zero, "input_2_offset": -zero, "out_offset": zero}
    known.update(out_mult=2**30 + 999, out_shift=-6 if type == "s8" else -14)
    known.update(act_min=low, act_max=high, block_size=_LENGTH, batch_size=1, batch_offset=1)
    return {name: known[name] for name in params}


def combine(name: str, op: str, type: str) -> Function:
    """Return a sum or a difference."""
    dtype = DTYPES[type]
    return Function(
        name=name,
        op=op,
        type=type,
        params=(*_INPUTS, *_OUTPUT, "block_size"),
        inputs=(vector("input1", dtype, "block_size"), vector("input2", dtype, "block_size")),
        output=vector("output", dtype, "block_size"),
        note="Of 16 bits all offsets are ignored." if type == "s16" else "",
        order=None if name.startswith("tflm_") else _C_SUM,
        draw=_draw_sum,
        cases=(_sum_case(type),),
        meaning=define_operator_meaning(
            Elementwise("add" if op.endswith("add") else "subtract"), inputs=2
        ),
    )


def _mul(
    name: str,
    op: str,
    types: tuple[str, str],
    params: tuple[str, ...],
    fixed: Mapping[str, int],
    weights: Optional[Array] = None,
    note: str = "",
    order: Order = _C_PRODUCT,
    not_called: str = "",
    shift: int = 0,
) -> Function:
    """Declare a product; shift: out_shift of the case, if unusual."""
    wide, narrow = types
    axes = ("block_size",) if "batch_size" in fixed else ("batch_size", "block_size")
    return Function(
        name=name,
        op=op,
        type=wide if wide == narrow else f"{wide}_{narrow}",
        params=params,
        inputs=tuple(Array(f"input{i}", DTYPES[wide], axes) for i in (1, 2)),
        output=Array("output", DTYPES[narrow], axes),
        weights=weights,
        fixed=fixed,
        note=note,
        order=order,
        not_called=not_called,
        draw=_draw_product,
        cases=({**_product_case(wide, params), **({"out_shift": shift} if shift else {})},),
        meaning=None if weights else define_operator_meaning(Elementwise("multiply"), inputs=2),
    )


_SIDES = [tuple(f"input{i}_{axis}" for axis in "nhwc") for i in (1, 2)]


_WIDER = (Largest(pair) for pair in zip(*_SIDES))
_C_CHOICE = order(
    "ctx input1 input1_dims input2 input2_dims output output_dims",
    {
        "input1_dims": nhwc("input1"),
        "input2_dims": nhwc("input2"),
        "output_dims": dims(*_WIDER),
    },
)


def _choose(name: str) -> Function:
    return Function(
        name=f"arm_{name}_s8",
        op=name,
        type="s8",
        params=(*_SIDES[0], *_SIDES[1]),
        inputs=(Array("input1", "int8", _SIDES[0]), Array("input2", "int8", _SIDES[1])),
        output=Array("output", "int8", tuple(Largest(pair) for pair in zip(*_SIDES))),
        note="An axis of one element stands for that element at every place.",
        order=_C_CHOICE,
        draw=_draw_choice,
        cases=(dict(zip((*_SIDES[0], *_SIDES[1]), 2 * (1, 24, 24, 16))),),
        meaning=define_operator_meaning(Elementwise(name), inputs=2),
    )


_OFFSETS: tuple[str, ...] = ("input_1_offset", "input_2_offset")
_NO_OFFSETS = dict.fromkeys(_OFFSETS, 0)

FUNCTIONS = (
    *(combine(f"arm_elementwise_add_{type}", "elementwise_add", type) for type in ("s8", "s16")),
    *(
        _mul(
            f"arm_elementwise_mul_{type}",
            "elementwise_mul",
            (type, type),
            (*_OFFSETS, *_OUTPUT, "block_size"),
            _ONE,
            note="Of 16 bits all offsets are ignored." if type == "s16" else "",
        )
        for type in ("s8", "s16")
    ),
    _mul(
        "arm_elementwise_mul_s16_s8",
        "elementwise_mul",
        ("s16", "s8"),
        ("out_offset", "out_mult", "out_shift", "block_size", "batch_size", "batch_offset"),
        {**_NO_OFFSETS, "act_min": -128, "act_max": 127},
        order=_C_BATCHES,
        shift=-22,
    ),
    _mul(
        "arm_elementwise_mul_acc_s16",
        "elementwise_mul_acc",
        ("s16", "s16"),
        ("out_mult", "out_shift", "act_min", "act_max", "block_size"),
        {**_NO_OFFSETS, **_ONE, "out_offset": 0},
        weights=vector("acc_in", "int16", "block_size"),
        note="acc_in: what the output holds before. act_max <= 0: the whole range of int16.",
        not_called="it adds to what its output holds before the call",
    ),
    *(_choose(name) for name in ("minimum", "maximum")),
)
