"""Functions that move elements: reshaping, concatenation, padding, transposition."""

from random import Random

import numpy as np

from ..operators import Identity, Pad, Transpose
from .base import Function
from .c_signature import Elements, Order, Struct, nhwc, order
from .float_semantics import FloatCall, Meant, define_operator_meaning
from .random_params import SIZES, Drawn, draw_only_length, get_limits
from .s8_broadcast import make_width_constant
from .shapes import DTYPES, Array, Extent, Total, vector

_INPUT: tuple[str, ...] = ("input_n", "input_h", "input_w", "input_c")
_OUTPUT: tuple[str, ...] = ("output_n", "output_h", "output_w", "output_c")
_PRE: tuple[str, ...] = ("pre_n", "pre_h", "pre_w", "pre_c")
_POST: tuple[str, ...] = ("post_n", "post_h", "post_w", "post_c")
_PERM: tuple[str, ...] = ("perm_0", "perm_1", "perm_2", "perm_3")

#: Axes of a concatenation, the outermost first; their numbers count from the innermost.
_AXES = "wzyx"

# ---- C ----

_C_PERM = Elements("uint32_t", ("perm_0", "perm_1", "perm_2", "perm_3"))
_TRANSPOSE_STRUCTS = {
    "input_dims": nhwc("input"),
    "output_dims": nhwc("output"),
    "transpose_params": Struct(
        "cmsis_nn_transpose_params", {"num_dims": "num_dims", "permutations": _C_PERM}
    ),
}
_PAD_SIZES = {name: nhwc(name.split("_")[0]) for name in ("input_size", "pre_pad", "post_pad")}
_PAD_ORDER = order(
    "input output pad_value input_size pre_pad post_pad",
    _PAD_SIZES,
    types={"pad_value": "int8_t"},
)
_TRANSPOSE_ORDER = order("input output input_dims output_dims transpose_params", _TRANSPOSE_STRUCTS)
_SIDES = "input_x input_y input_z input_w"


def _concatenation_order(axis: str) -> Order:
    """Return the order; along the batches, C has no argument for the output's count: at least the
    input's.
    """
    outermost = axis == "w"
    types = {**dict.fromkeys((*_SIDES.split(), f"output_{axis}"), "uint16_t"), "offset": "uint32_t"}
    return order(
        f"input {_SIDES} output {'' if outermost else f'output_{axis}'} offset",
        returns="void",
        types=types,
        implied={"output_w": "(int32_t)(input_w + offset)"} if outermost else {},
    )


# ---- random arguments ----


def _draw_sides(rng: Random) -> Drawn:
    return {f"input_{axis}": rng.choice(SIZES) for axis in "nhwc"}


def _draw_concatenation(rng: Random, function: Function) -> Drawn:
    axis = function.name[-1]
    p = {f"input_{a}": rng.choice(SIZES) for a in "xyzw"}
    before, behind = rng.randint(0, 5), rng.randint(0, 5)
    return {**p, f"output_{axis}": before + p[f"input_{axis}"] + behind, "offset": before}


def _draw_pad(rng: Random, function: Function) -> Drawn:
    p = {f"{end}_{axis}": rng.randint(0, 3) for end in ("pre", "post") for axis in "nhwc"}
    types = {"float32": "int32"}  # its bits
    dtype = function.output.dtype
    return {**_draw_sides(rng), **p, "pad_value": rng.randint(*get_limits(types.get(dtype, dtype)))}


def _draw_transpose(rng: Random, function: Function) -> Drawn:
    dims = rng.randint(1, 4)
    perm = [*rng.sample(range(dims), dims), *range(dims, 4)]
    sides = [rng.choice(SIZES) if i < dims else 1 for i in range(4)]
    p = {f"input_{axis}": n for axis, n in zip("nhwc", sides)}
    p.update({f"output_{axis}": sides[i] for axis, i in zip("nhwc", perm)})
    perm[dims:] = [rng.randrange(4) for _ in perm[dims:]]  # these are ignored
    return {**p, "num_dims": dims, **{f"perm_{i}": axis for i, axis in enumerate(perm)}}


# ---- cases ----

_CASE = dict(zip(_INPUT, (1, 24, 24, 16)))
_PAD_CASE = {**_CASE, **dict(zip((*_PRE, *_POST), 2 * (0, 1, 1, 0))), "pad_value": 3}
_TRANSPOSE_CASE = {
    **{"num_dims": 4, "perm_0": 0, "perm_1": 3, "perm_2": 1, "perm_3": 2},
    **_CASE,
    **dict(zip(_OUTPUT, (1, 16, 24, 24))),
}
_CONCATENATION_CASE = {"input_x": 16, "input_y": 24, "input_z": 24, "input_w": 1}
_CONCATENATION_CASE.update(output_x=16, offset=0)

# ---- meaning ----


def _define_padding(call: FloatCall) -> Meant:
    params = call.params
    around = tuple((params[f"pre_{axis}"], params[f"post_{axis}"]) for axis in "nhwc")
    value = call.output.scale * (params["pad_value"] - call.output.zero_point)
    if call.function.output.dtype == "float32":
        value = float(np.int32(params["pad_value"]).view(np.float32))
    return Meant((Pad(around, value),), (call.sides[0],))


def _define_transpose(call: FloatCall) -> Meant:
    own = call.params["num_dims"]
    order = tuple(call.params[f"perm_{axis}"] if axis < own else axis for axis in range(4))
    return Meant((Transpose(order),), (call.sides[0],))


# ---- declarations ----


def _concatenation(axis: str) -> Function:
    """Return positions of one axis of the output; all further axes are unchanged."""
    sides: tuple[Extent, ...] = tuple(f"input_{a}" for a in _AXES)
    whole = tuple(f"output_{a}" if a == axis else f"input_{a}" for a in _AXES)
    return Function(
        name=f"arm_concatenation_s8_{axis}",
        op="concatenation",
        type="s8",
        params=(*(f"input_{a}" for a in "xyzw"), f"output_{axis}", "offset"),
        inputs=(Array("input", "int8", sides), Array("output", "int8", whole)),
        output=Array("output", "int8", whole),
        fields={f"output_{axis}": "output_side"},
        fixed={"axis": "xyzw".index(axis)},
        note=f"Places offset and following of axis {axis} of output become input; the rest stays.",
        order=_concatenation_order(axis),
        draw=_draw_concatenation,
        cases=(_CONCATENATION_CASE,) if axis == "x" else (),
    )


def pad(name: str, type: str) -> Function:
    """Return an image with a border."""
    sides = tuple(Total(parts) for parts in zip(_PRE, _INPUT, _POST))
    return Function(
        name=name,
        op="pad",
        type="any",
        fixed=make_width_constant(type),
        params=("pad_value", *_INPUT, *_PRE, *_POST),
        inputs=(Array("input", DTYPES[type], _INPUT),),
        output=Array("output", DTYPES[type], sides),
        order=None if name.startswith("tflm_") else _PAD_ORDER,
        draw=_draw_pad,
        cases=(_PAD_CASE,),
        meaning=_define_padding,
    )


FUNCTIONS = (
    Function(
        name="arm_reshape_s8",
        op="reshape",
        type="s8",
        params=("total_size",),
        inputs=(vector("input", "int8", "total_size"),),
        output=vector("output", "int8", "total_size"),
        order=order("input output total_size", returns="void", types={"total_size": "uint32_t"}),
        draw=draw_only_length("total_size"),
        cases=({"total_size": 4096},),
        meaning=define_operator_meaning(Identity()),
    ),
    *(_concatenation(axis) for axis in "xyzw"),
    pad("arm_pad_s8", "s8"),
    Function(
        name="arm_transpose_s8",
        op="transpose",
        type="s8",
        params=("num_dims", *_INPUT, *_OUTPUT, *_PERM),
        inputs=(Array("input", "int8", _INPUT),),
        output=Array("output", "int8", _OUTPUT),
        note="Axis k of the output is axis perm_k of the input, for k below num_dims.",
        order=_TRANSPOSE_ORDER,
        draw=_draw_transpose,
        cases=(_TRANSPOSE_CASE,),
        meaning=_define_transpose,
    ),
)
