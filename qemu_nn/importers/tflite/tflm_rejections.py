"""Operators that TensorFlow Lite Micro rejects, with its messages from recordings or its source."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Callable

from ...errors import Error
from .call import Options
from .parser import TfliteModel, TfliteOperator

#: Operators of TensorFlow Lite Micro at commit 90b983c2, builtin and custom.
_SUPPORTED = (
    "ABS ADD ADD_N ARG_MAX ARG_MIN ASSIGN_VARIABLE AVERAGE_POOL_2D BATCH_MATMUL "
    "BATCH_TO_SPACE_ND BROADCAST_ARGS BROADCAST_TO CALL_ONCE CAST CEIL CONCATENATION CONV_2D "
    "COS CUMSUM DEPTHWISE_CONV_2D DEPTH_TO_SPACE DEQUANTIZE DIV DYNAMIC_UPDATE_SLICE ELU "
    "EMBEDDING_LOOKUP EQUAL EXP EXPAND_DIMS FILL FLOOR FLOOR_DIV FLOOR_MOD FULLY_CONNECTED "
    "GATHER GATHER_ND GREATER GREATER_EQUAL HARD_SWISH IF L2_NORMALIZATION L2_POOL_2D "
    "LEAKY_RELU LESS LESS_EQUAL LOG LOGICAL_AND LOGICAL_NOT LOGICAL_OR LOGISTIC LOG_SOFTMAX "
    "MAXIMUM MAX_POOL_2D MEAN MINIMUM MIRROR_PAD MUL NEG NOT_EQUAL PACK PAD PADV2 PRELU "
    "QUANTIZE READ_VARIABLE REDUCE_ALL REDUCE_MAX REDUCE_MIN RELU RELU6 RESHAPE RESIZE_BILINEAR "
    "RESIZE_NEAREST_NEIGHBOR REVERSE_V2 ROUND RSQRT SELECT_V2 SHAPE SIN SLICE SOFTMAX "
    "SPACE_TO_BATCH_ND SPACE_TO_DEPTH SPLIT SPLIT_V SQRT SQUARE SQUARED_DIFFERENCE SQUEEZE "
    "STRIDED_SLICE SUB SUM SVDF TANH TRANSPOSE TRANSPOSE_CONV UNIDIRECTIONAL_SEQUENCE_LSTM "
    "UNPACK VAR_HANDLE WHILE ZEROS_LIKE CIRCULAR_BUFFER TFLM_DECODE "
    "TFLite_Detection_PostProcess SignalDelay SignalEnergy SignalFftAutoScale SignalFilterBank "
    "SignalFilterBankLog SignalFilterBankSpectralSubtraction SignalFilterBankSquareRoot "
    "SignalFramer SignalIrfft SignalOverlapAdd SignalPCAN SignalRfft SignalStacker SignalWindow"
)
SUPPORTED = frozenset(_SUPPORTED.split())

#: Type -> its number in TensorFlow Lite Micro's messages.
_NUMBERS = {"FLOAT32": 1, "INT32": 2, "UINT8": 3, "INT64": 4, "BOOL": 6, "INT16": 7, "INT8": 9}


@dataclass(frozen=True)
class Rejection:
    """A rejection by the type of one tensor.

    operators, types: names, separated by spaces. words: the message, with the placeholders {type},
    {number} (of the type) and {operator}. tensor: index of an input, or -1 - index of an output.
    """

    operators: str
    types: str
    words: str
    tensor: int = 0


REJECTIONS = (
    Rejection("GATHER", "INT16", "Type '{type}' is not supported by gather."),
    Rejection("GATHER", "INT64", "Positions of type '{type}' are not supported by gather.", 1),
    Rejection("GATHER_ND", "INT64", "Indices of type '{type}' are not supported by gather_nd.", 1),
    Rejection("EMBEDDING_LOOKUP", "INT64", "lookup->type != kTfLiteInt32 ({number} != 2)"),
    Rejection("REDUCE_MAX REDUCE_MIN", "INT16", "Only float32 and int8 types are supported."),
    Rejection("CAST", "UINT8 INT64", "Input type {type} ({number}) not supported."),
    Rejection("CAST", "UINT8 BOOL INT64", "Output type {type} ({number}) not supported.", -1),
    Rejection(
        "FLOOR_DIV FLOOR_MOD", "INT32 INT16 INT8", "Type '{type}' is not supported by {operator}."
    ),
    Rejection(
        "SQRT SQUARE SIN COS LOG", "INT8 INT16", "input->type != expected_type ({type} != FLOAT32)"
    ),
    Rejection("NEG", "INT8 INT16", "Type {type} ({number}) not supported."),
    Rejection(
        "EXP CEIL FLOOR ROUND", "INT8 INT16", "input->type != kTfLiteFloat32 ({type} != FLOAT32)"
    ),
    Rejection(
        "CONV_2D DEPTHWISE_CONV_2D FULLY_CONNECTED", "UINT8", "Input data type not supported"
    ),
    Rejection(
        "CONCATENATION",
        "UINT8",
        "input_type == kTfLiteFloat32 || input_type == kTfLiteInt8 || ... was not true.",
    ),
)


def _check_hybrid(model: TfliteModel, operator: TfliteOperator) -> str:
    """Return the message for float activations with integer weights."""
    kinds = [model.tensor(index).type for index in operator.inputs[:2]]
    mixed = kinds[0] == "FLOAT32" and kinds[-1] != "FLOAT32"
    return "Hybrid models are not supported on TFLite Micro." if mixed else ""


def _check_slice(model: TfliteModel, operator: TfliteOperator) -> str:
    """Return the message for computed slice bounds, an ellipsis or new axes."""
    for index, name in zip(operator.inputs[1:], ("begin", "end", "strides")):
        if model.tensor(index).data is None:
            return f"Non-constant >{name}< tensor is not supported"
    table = operator.table.table("BuiltinOptions", "StridedSliceOptions")
    masks = [table and Options(table).integer(name) for name in ("EllipsisMask", "NewAxisMask")]
    return "output_shape->data[shape_size] != dim_shape (1 != 0)" if any(masks) else ""


def _check_transpose_conv(model: TfliteModel, operator: TfliteOperator) -> str:
    """Return the crash or failed assertion for 16-bit activations without a 64-bit bias."""
    if model.tensor(operator.inputs[2]).type != "INT16":
        return ""
    bias = [model.tensor(index).type for index in operator.inputs[3:4] if index >= 0]
    if not bias:
        return "it reads the missing bias through a null pointer and crashes"
    limits = "x >= -(static_cast<int64_t>(1) << 47) && x < (static_cast<int64_t>(1) << 47)"
    return f"Assertion `{limits}' failed." if bias == ["INT32"] else ""


def _check_add_n(model: TfliteModel, operator: TfliteOperator) -> str:
    """Return the message for inputs of different scales or zero points."""
    tensors = [model.tensor(index) for index in operator.inputs]
    for field in ("zeros", "scales"):
        if len({getattr(tensor, field).tobytes() for tensor in tensors}) > 1:
            name = {"zeros": "zero_point", "scales": "scale"}[field]
            return f"input_tensor_first->params.{name} == input->params.{name} was not true."
    return ""


#: Operator -> the function that checks more than types; it returns a message, or "".
_CASES: dict[str, Callable[[TfliteModel, TfliteOperator], str]] = {
    **dict.fromkeys(("CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED"), _check_hybrid),
    "STRIDED_SLICE": _check_slice,
    "TRANSPOSE_CONV": _check_transpose_conv,
    "ADD_N": _check_add_n,
}


def find_rejection(model: TfliteModel, operator: TfliteOperator) -> str:
    """Return TensorFlow Lite Micro's message for a rejected operator; "" if none is known."""
    if operator.name not in SUPPORTED:
        return f"Didn't find op for builtin opcode '{operator.name}'"
    try:
        check = _CASES.get(operator.name)
        return _check_types(model, operator) or (check(model, operator) if check else "")
    except (Error, IndexError, AttributeError):  # no message is recorded for a damaged operator
        return ""


def _check_types(model: TfliteModel, operator: TfliteOperator) -> str:
    for each in REJECTIONS:
        if operator.name not in each.operators.split():
            continue
        tensors = operator.outputs if each.tensor < 0 else operator.inputs
        kind = model.tensor(_pick(tensors, each.tensor)).type
        if kind in each.types.split():
            return each.words.format(type=kind, number=_NUMBERS[kind], operator=operator.name)
    return ""


def _pick(tensors: Iterable[int], place: int) -> int:
    return tuple(tensors)[place if place >= 0 else -1 - place]
