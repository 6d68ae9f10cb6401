"""The C prototype of every layer function: its header, the order and the types of its arguments."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from .base import Function

#: Element type -> its name in the firmware.
C_TYPES = {"int8": "q7_t", "int16": "q15_t", "int32": "q31_t"}

#: Scratch buffers, whose names no declaration has.
SCRATCH = ("bufferA", "bufferB", "vec_buffer", "ctx")

#: Struct arguments of the s8 and s16 API: C name -> member -> the scalar that it holds.
STRUCTS: Mapping[str, Mapping[str, str]] = {
    "pool_params": {
        "stride.w": "stride_w",
        "stride.h": "stride_h",
        "padding.w": "pad_w",
        "padding.h": "pad_h",
        "activation.min": "act_min",
        "activation.max": "act_max",
    },
    "input_dims": {"n": "batches", "h": "input_h", "w": "input_w", "c": "channels"},
    "filter_dims": {"h": "filter_h", "w": "filter_w"},
    "output_dims": {"n": "batches", "h": "output_h", "w": "output_w", "c": "channels"},
}

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
    "ctx pool_params input_dims input filter_dims output_dims output",
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

_STATUS = {"convolve", "depthwise", "fully_connected", "max_pool", "avgpool"}
_HEADERS = {
    "arm_math.h": {"mult", "add", "sub", "offset"},
    "arm_nnsupportfunctions.h": {"nn_mult", "nn_add", "accumulate", "expand"},
    "local_NN.h": {"avepool_nonsquare"},
}
_WRITES_INPUTS = {"maxpool", "avepool", "nn_mult"}


@dataclass(frozen=True)
class Argument:
    """A C argument: its type, as C writes it in front of the name, and its name."""

    type: str
    name: str

    def __str__(self) -> str:
        return f"{self.type}{'' if self.type.endswith('*') else ' '}{self.name}"


@dataclass(frozen=True)
class Prototype:
    """How C declares a function. returns: its type; header: the one of Arm's that declares it."""

    header: str
    returns: str
    name: str
    arguments: tuple[Argument, ...]

    def __str__(self) -> str:
        space = "" if self.returns.endswith("*") else " "
        return f"{self.returns}{space}{self.name}({', '.join(map(str, self.arguments))})"


def prototype(function: Function) -> Prototype:
    """The prototype of a declared function, as CMSIS-NN 5.9.0 and CMSIS-DSP have it."""
    family = _family(function.op)
    header = next(
        (name for name, ops in _HEADERS.items() if function.op in ops or family in ops), ""
    )
    returns = "arm_status" if family in _STATUS else "void"
    if family == "mat_mult":
        returns = f"{C_TYPES[function.output.dtype]} *"
    arguments = tuple(Argument(_type(function, name), name) for name in _order(function))
    return Prototype(header or "arm_nnfunctions.h", returns, function.name, arguments)


def _family(op: str) -> str:
    """The op without what only says which variant it is: convolve for convolve_1x1_fast."""
    families = (*_STATUS, "mat_mult", "expand")
    return next((family for family in families if op.startswith(family)), op)


def _order(function: Function) -> list[str]:
    pointers = {array.name for array in (*function.arrays, function.output)}
    declared = pointers | set(function.params)
    for order in map(str.split, _ORDERS):
        scalars = [STRUCTS[name].values() for name in order if name in STRUCTS]
        own = {name for name in order if name not in STRUCTS and name not in SCRATCH}
        if own.union(*scalars) == declared:
            return order
    raise AssertionError(f"{function.name} has no order of arguments")


def _type(function: Function, name: str) -> str:
    if name in STRUCTS:
        return f"const cmsis_nn_{'pool_params' if name == 'pool_params' else 'dims'} *"
    if name == "ctx":
        return "const cmsis_nn_context *"
    if name in SCRATCH:
        return "q7_t *" if name == "bufferB" or "pool" in function.op else "q15_t *"
    if name == "offset":
        return C_TYPES[function.output.dtype]
    if name in function.params:
        return _SCALARS.get(name, "uint16_t")
    if name == function.output.name:
        return f"{C_TYPES[function.output.dtype]} *"
    array = next(array for array in function.arrays if array.name == name)
    const = "" if function.op in _WRITES_INPUTS and array in function.inputs else "const "
    return f"{const}{C_TYPES[array.dtype]} *"
