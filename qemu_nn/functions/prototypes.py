"""The C prototype of every layer function: its header, the order and the types of its arguments."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Optional

from ..errors import Error
from ..targets import AFFINE_CMSIS, is_affine
from .base import Function
from .extents import Extent
from .orders import NOT_CALLED, ORDERS
from .struct_api import STATUS, Order, Struct

_LEGACY_TYPES = {"int8": "q7_t", "int16": "q15_t", "int32": "q31_t"}
_TYPES = {name: f"{name}_t" for name in ("int8", "uint8", "int16", "int32", "int64")}

#: Scratch buffers, whose names no declaration has.
SCRATCH = ("bufferA", "bufferB", "vec_buffer")
CONTEXTS = ("ctx", "input_ctx", "output_ctx", "reverse_conv_ctx")

#: Functions of our own: what their names start with, and the header that declares them.
_OWN, OWN_HEADER = "tflm_", "tflm.h"

#: Arguments in C order. A function has the order whose names are those it declares.
_ORDERS = (
    "Im_in dim_im_in ch_im_in wt ch_im_out dim_kernel padding stride bias bias_shift out_shift"
    " Im_out dim_im_out bufferA bufferB",
    "Im_in dim_im_in_x dim_im_in_y ch_im_in wt ch_im_out dim_kernel_x dim_kernel_y"
    " padding_x padding_y stride_x stride_y bias bias_shift out_shift"
    " Im_out dim_im_out_x dim_im_out_y bufferA bufferB",
    "pV pM dim_vec num_of_rows bias_shift out_shift bias pOut vec_buffer",
    "pA pInBuffer ch_im_out numCol_A bias_shift out_shift bias pOut",
    "Im_in dim_im_in ch_im_in dim_kernel padding stride dim_im_out bufferA Im_out",
    "Im_in dim_im_in_x dim_im_in_y ch_im_in dim_kernel_x dim_kernel_y padding_x padding_y"
    " stride_x stride_y dim_im_out_x dim_im_out_y bufferA Im_out out_lshift",
    "data size",
    "data size int_width type",
    "vec_in dim_vec p_out",
    "vec_in nb_batches dim_vec p_out",
    "pSrcA pSrcB pDst blockSize",
    "pSrcA pSrcB pDst out_shift blockSize",
    "pSrc offset pDst blockSize",
    "input output block_size",
    "pDst pSrc length",
    "pSrc pDst blockSize",
    "src dst block_size offset",
)

_SCALARS = {
    **dict.fromkeys(("blockSize", "block_size", "length"), "uint32_t"),
    "type": "arm_nn_activation_type",
}

_STATUS_TYPES = ("arm_status", "arm_cmsis_nn_status")
_STATUS = {"convolve", "depthwise", "fully_connected"}
_HEADERS = {
    "arm_math.h": {"mult", "add", "sub", "offset"},
    "arm_nnsupportfunctions.h": {"nn_mult", "nn_add", "accumulate", "expand"},
    "local_NN.h": {"avepool_nonsquare"},
}
_WRITES_INPUTS = {"maxpool", "avepool", "nn_mult"}


@dataclass(frozen=True)
class Argument:
    """A C argument: its type, as C writes it in front of the name, and its name.

    struct: what it holds, if it is the address of one.
    """

    type: str
    name: str
    struct: Optional[Struct] = None

    def __str__(self) -> str:
        return f"{self.type}{'' if self.type.endswith('*') else ' '}{self.name}"


@dataclass(frozen=True)
class Prototype:
    """How C declares a function. returns: its type; header: the one that declares it; implied:
    scalars that C is not told -> C text of them; sums: see Order."""

    header: str
    returns: str
    name: str
    arguments: tuple[Argument, ...]
    implied: Mapping[str, str] = field(default_factory=dict)
    sums: tuple[Extent, ...] = ()

    def __str__(self) -> str:
        space = "" if self.returns.endswith("*") else " "
        return f"{self.returns}{space}{self.name}({', '.join(map(str, self.arguments))})"

    @property
    def answers(self) -> bool:
        """Does it return whether it could compute this?"""
        return self.returns in _STATUS_TYPES


def c_types(cmsis: str) -> Mapping[str, str]:
    """Element type -> its name in the headers of a release."""
    return _TYPES if is_affine(cmsis) else _LEGACY_TYPES


def prototype(function: Function, cmsis: str) -> Prototype:
    """The prototype of a declared function, as that release of CMSIS-NN, or CMSIS-DSP, has it.

    Raises Error for a function that no network calls.
    """
    if function.name in NOT_CALLED:
        raise Error(f"{function.name} cannot be exported: {NOT_CALLED[function.name]}")
    order = ORDERS.get(function.name) or (_own if is_own(function) else _legacy)(function)
    if cmsis == AFFINE_CMSIS and order.in_700 is not None:
        order = order.in_700
    types, status = c_types(cmsis), _STATUS_TYPES[is_affine(cmsis)]
    returns = {STATUS: status, "output": f"{types[function.output.dtype]} *"}
    arguments = tuple(
        Argument(_type(function, order, name, types), name, order.structs.get(name))
        for name in order.names
    )
    return Prototype(
        order.header,
        returns.get(order.returns, order.returns),
        function.name,
        arguments,
        order.implied,
        order.sums,
    )


#: Sums of weights, which some functions want in their scratch memory.
VECTOR_SUM = Prototype(
    "arm_nnfunctions.h",
    _STATUS_TYPES[True],
    "arm_vector_sum_s8",
    (
        Argument("int32_t *", "vector_sum_buf"),
        Argument("const int32_t", "vector_cols"),
        Argument("const int32_t", "vector_rows"),
        Argument("const int8_t *", "vector_data"),
        Argument("const int32_t", "lhs_offset"),
        Argument("const int32_t", "rhs_offset"),
        Argument("const int32_t *", "bias_data"),
    ),
)


def is_own(function: Function) -> bool:
    """Is it a function that CMSIS-NN has not?"""
    return function.name.startswith(_OWN)


def _own(function: Function) -> Order:
    """The order of such a function: arrays that it reads, scalars, output."""
    arrays = [array.name for array in function.arrays]
    names = (*arrays, *function.params, function.output.name)
    return Order(tuple(dict.fromkeys(names)), returns="void", header=OWN_HEADER)


def _legacy(function: Function) -> Order:
    """The order of a q7 or q15 function."""
    family = _family(function.op)
    header = (name for name, ops in _HEADERS.items() if function.op in ops or family in ops)
    returns = STATUS if family in _STATUS else "void"
    return Order(
        _names(function),
        returns="output" if family == "mat_mult" else returns,
        types={**dict.fromkeys({*function.params} - {"offset"}, "uint16_t"), **_SCALARS},
        header=next(header, "arm_nnfunctions.h"),
    )


def _family(op: str) -> str:
    """The op without what only says which variant it is: convolve for convolve_1x1_fast."""
    families = (*_STATUS, "mat_mult", "expand")
    return next((family for family in families if op.startswith(family)), op)


def _names(function: Function) -> tuple[str, ...]:
    declared = {array.name for array in (*function.arrays, function.output)} | {*function.params}
    for order in map(str.split, _ORDERS):
        if {name for name in order if name not in SCRATCH} == declared:
            return tuple(order)
    raise AssertionError(f"{function.name} has no order of arguments")


def _type(function: Function, order: Order, name: str, types: Mapping[str, str]) -> str:
    if name in order.structs:
        struct = order.structs[name]
        return f"{'' if struct.variable else 'const '}{struct.type} *"
    if name in CONTEXTS:
        return "const cmsis_nn_context *"
    if name in SCRATCH:
        byte = name == "bufferB" or "pool" in function.op
        return f"{types['int8' if byte else 'int16']} *"
    if name == "offset" and name not in order.types:
        return types[function.output.dtype]
    if name in function.params:
        return order.types.get(name, "int32_t")
    if name == function.output.name:
        return f"{types[function.output.dtype]} *"
    array = next(array for array in function.arrays if array.name == name)
    written = array.state or (function.op in _WRITES_INPUTS and array in function.inputs)
    const = "" if written else "const "
    return f"{const}{types[array.dtype]} *"
