"""Operators of booleans: comparisons, logic, and selection between two tensors."""

from __future__ import annotations

from functools import partial

from ...errors import ModelError
from ...functions.scaling import compare_scaling
from ...functions.tflm_boolean import COMPARISONS
from .broadcast import check_broadcast, read_unary
from .building import TfliteValue
from .call import SUFFIXES, Converter, TfliteCall


def compare(call: TfliteCall, kind: str) -> None:
    """Convert EQUAL, NOT_EQUAL, GREATER, GREATER_EQUAL, LESS and LESS_EQUAL of int8 or bool."""
    call.check_counts(2, 2)
    output = _truth(call)
    first, second = _broadcast(call, output)
    if first.dtype != second.dtype:
        raise ModelError(f"it compares {first.dtype} with {second.dtype}; both must have one type")
    params = {"length": output.size}
    if first.dtype == "int8":
        params.update(input_1_offset=-first.zero, input_2_offset=-second.zero)
        params.update(compare_scaling(first.scale, second.scale))
    elif first.dtype == "int16" and kind == "greater":
        raise ModelError(
            "its inputs are int16; TensorFlow Lite Micro compares int16 with uninitialized "
            "multipliers: make its inputs int8"
        )
    elif first.dtype != "bool":
        raise ModelError(f"it does not support {first.dtype}")
    call.put(f"tflm_{kind}_{SUFFIXES[first.dtype]}", params, [first, second], output)


def logical(call: TfliteCall, kind: str) -> None:
    """Convert LOGICAL_AND and LOGICAL_OR."""
    call.check_counts(2, 2)
    output = _truth(call)
    inputs = _broadcast(call, output)
    if any(value.dtype != "bool" for value in inputs):
        types = " and ".join(value.dtype for value in inputs)
        raise ModelError(f"its inputs are {types}; both must be bool")
    call.put(f"tflm_{kind}_b8", {"length": output.size}, inputs, output)


def logical_not(call: TfliteCall) -> None:
    """Convert LOGICAL_NOT."""
    x, output = read_unary(call, ("BOOL",), ("BOOL",))
    if (x.dtype, output.dtype) != ("bool", "bool"):
        raise ModelError(f"its input is {x.dtype}, its output {output.dtype}; both must be bool")
    call.put("tflm_logical_not_b8", {"length": x.size}, [x], output)


def select(call: TfliteCall) -> None:
    """Convert SELECT_V2 of any format."""
    call.check_counts(3, 3)
    output = call.output(0, "FLOAT32")
    check_broadcast(call, 3, output)
    condition = call.operand(0, output, "BOOL")
    values = [call.operand(i, output, "FLOAT32") for i in (1, 2)]
    if condition.dtype != "bool":
        raise ModelError(f"its condition is {condition.dtype}; it must be bool")
    if any(value.dtype != output.dtype for value in values):
        types = " and ".join(value.dtype for value in values)
        raise ModelError(f"its values are {types}; both must be {output.dtype} as its output")
    names = {suffix: f"tflm_select_{suffix}" for suffix in ("s8", "s16", "f32")}
    function = call.function(names, output)
    call.put(function, {"length": output.size}, [condition, *values], output)


def _truth(call: TfliteCall) -> TfliteValue:
    output = call.output(0, "BOOL")
    if output.dtype != "bool":
        raise ModelError(f"its output is {output.dtype}; it must be bool")
    check_broadcast(call, 2, output)
    return output


def _broadcast(call: TfliteCall, output: TfliteValue) -> list[TfliteValue]:
    return [call.operand(i, output, "BOOL") for i in (0, 1)]


COMPARISON: dict[str, Converter] = {
    **{kind.upper(): partial(compare, kind=kind) for kind in COMPARISONS},
    "LOGICAL_AND": partial(logical, kind="logical_and"),
    "LOGICAL_OR": partial(logical, kind="logical_or"),
    "LOGICAL_NOT": logical_not,
    "SELECT_V2": select,
}
