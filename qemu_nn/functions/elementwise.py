"""Element-wise functions of CMSIS-NN and CMSIS-DSP, and the conversions from q7 to q15."""

from .base import Function
from .c_signature import SUPPORT, legacy
from .random_params import draw_legacy as drawn
from .shapes import Array, vector

_DTYPE = {"q7": "int8", "q15": "int16"}
_LENGTH = {"blockSize": "length", "block_size": "length"}

#: The header of CMSIS-DSP.
_DSP = "arm_math.h"

#: Elements of a case.
_MANY = 4096


def _pair(name: str, op: str, type: str, *shift: int) -> Function:
    """Declare a function of two vectors; shift: the case's out_shift, if the function has one, as
    CMSIS-NN's do.
    """
    dtype = _DTYPE[type]
    more = ("out_shift",) if shift else ()
    return Function(
        name=name,
        op=op,
        type=type,
        params=(*more, "blockSize"),
        inputs=(vector("pSrcA", dtype, "blockSize"), vector("pSrcB", dtype, "blockSize")),
        output=vector("pDst", dtype, "blockSize"),
        fields=_LENGTH,
        order=legacy(
            " ".join(("pSrcA pSrcB pDst", *more, "blockSize")),
            header=SUPPORT if shift else _DSP,
            writes_inputs=bool(shift),
        ),
        draw=drawn(long=("blockSize",)),
        cases=({**dict(zip(more, shift)), "blockSize": _MANY},),
    )


def _offset(type: str) -> Function:
    return Function(
        name=f"arm_offset_{type}",
        op="offset",
        type=type,
        params=("offset", "blockSize"),
        inputs=(vector("pSrc", _DTYPE[type], "blockSize"),),
        output=vector("pDst", _DTYPE[type], "blockSize"),
        fields=_LENGTH,
        order=legacy("pSrc offset pDst blockSize", header=_DSP),
        draw=drawn(long=("blockSize",)),
        cases=({"offset": 5, "blockSize": _MANY},),
    )


def _expand(name: str, op: str, source: str, target: str, size: str, *more: str) -> Function:
    return Function(
        name=name,
        op=op,
        type="q7_q15",
        params=(size, *more),
        inputs=(vector(source, "int8", size),),
        output=vector(target, "int16", size),
        fields=_LENGTH,
        order=legacy(" ".join((source, target, size, *more)), header=SUPPORT),
        draw=drawn(long=(size,)),
        cases=({size: _MANY, **dict.fromkeys(more, 5)},),
    )


_DST = Array("pDst", "int16", ("length",))

FUNCTIONS = (
    _pair("arm_nn_mult_q7", "nn_mult", "q7", 7),
    _pair("arm_nn_mult_q15", "nn_mult", "q15", 15),
    Function(
        name="arm_nn_add_q7",
        op="nn_add",
        type="q7_q31",
        params=("block_size",),
        inputs=(vector("input", "int8", "block_size"),),
        output=vector("output", "int32", 1),
        fields=_LENGTH,
        note="The sum of all elements, one int32.",
        order=legacy("input output block_size", header=SUPPORT),
        draw=drawn(long=("block_size",)),
        cases=({"block_size": _MANY},),
    ),
    Function(
        name="arm_nn_accumulate_q7_to_q15",
        op="accumulate",
        type="q7_q15",
        params=("length",),
        inputs=(vector("pSrc", "int8", "length"), _DST),
        output=_DST,
        note="pDst += pSrc: saturates on cores with the DSP extension (the last length % 4 wrap).",
        order=legacy("pDst pSrc length", header=SUPPORT),
        draw=drawn(long=("length",)),
        cases=({"length": _MANY},),
    ),
    _expand("arm_q7_to_q15_no_shift", "expand", "pSrc", "pDst", "blockSize"),
    _expand("arm_q7_to_q15_reordered_no_shift", "expand_reordered", "pSrc", "pDst", "blockSize"),
    _expand("arm_q7_to_q15_with_offset", "expand_offset", "src", "dst", "block_size", "offset"),
    _expand(
        "arm_q7_to_q15_reordered_with_offset",
        "expand_reordered_offset",
        "src",
        "dst",
        "block_size",
        "offset",
    ),
    *(_pair(f"arm_{op}_{type}", op, type) for op in ("mult", "add", "sub") for type in _DTYPE),
    *(_offset(type) for type in _DTYPE),
)
