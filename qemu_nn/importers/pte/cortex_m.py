"""Operators of the cortex_m backend: each a call of CMSIS-NN, or of a kernel of its own."""

from __future__ import annotations

import math
from functools import partial
from typing import Optional

import numpy as np

from ...errors import ModelError
from ...functions import FUNCTIONS
from ...functions.tflm_float import bits
from ...ir.graph import Build
from ..arguments import SUFFIXES, sides
from .building import Value
from .call import LAST, Converter, PteCall
from .program import FileTensor
from .transposed import TRANSPOSED
from .windows import WINDOWS

#: Numbers of element types that integers may have.
_TYPES = {1: "int8", 2: "int16"}

_RANGE = {"act_min": -128, "act_max": 127}

#: Shift of both operands of arm_elementwise_add_s8.
_LEFT_SHIFT = 20

#: A scale that no float32 has, or that is not above 0.
_BAD_SCALE = "its scale {} must be a positive, finite float32"


def _scale(call: PteCall, index: int) -> float:
    scale = call.real(index)
    single = float(np.float32(scale)) if abs(scale) < 3e38 else math.inf
    if not 0 < single < math.inf:
        raise ModelError(_BAD_SCALE.format(scale))
    return single


def quantize(call: PteCall) -> None:
    """Convert quantize_per_tensor: of float32, to int8 or int16."""
    call.expect(8)
    x, output = call.value(0, "float32"), call.tensor(6, "int8", "int16")
    if output.dtype != _TYPES.get(call.integer(5)) or output.nbytes == 0:
        raise ModelError(
            f"its argument 5 is the type {call.integer(5)}, but its output is {output}; both "
            "must be equal"
        )
    scale, zero = _scale(call, 1), call.integer(2, -(2**15), 2**15 - 1)
    params = {"length": x.size, "zero_point": zero, "scale_bits": bits(scale)}
    params.update(quant_min=call.integer(3), quant_max=call.integer(4))
    function = f"executorch_quantize_per_tensor_{SUFFIXES[output.dtype]}"
    call.put(function, params, [x], output, format=_format(output, scale, zero))


def _format(tensor: FileTensor, scale: float, zero: int) -> Optional[tuple[float, int]]:
    """Return the format of integers, if their zero point is one of them."""
    limits = np.iinfo(tensor.dtype)
    return (scale, zero) if limits.min <= zero <= limits.max else None


def dequantize(call: PteCall) -> None:
    """Convert dequantize_per_tensor."""
    call.expect(8)
    x, output = call.value(0, "int8", "int16"), call.tensor(6, "float32")
    if x.dtype != _TYPES.get(call.integer(5)):
        raise ModelError(
            f"its argument 5 is the type {call.integer(5)}, but its input is {x.dtype}; both "
            "must be equal"
        )
    params = {"length": x.size, "zero_point": call.integer(2), "scale_bits": bits(_scale(call, 1))}
    call.put(f"tflm_dequantize_{SUFFIXES[x.dtype]}_f32", params, [x], output)


def _operands(call: PteCall, first: int, second: int, output: FileTensor) -> list[Value]:
    """Return both operands in the shape of the output.

    One of two images may be one number for each channel, which the kernel repeats.
    """
    tensors = [call.tensor(at, "int8") for at in (first, second)]
    values = [call.builder.read(tensor) for tensor in tensors]
    if tensors[0].sizes == tensors[1].sizes:
        return values
    channels = [tensor.sizes[1] if len(tensor.sizes) == 4 else 0 for tensor in tensors]
    small = min(range(2), key=lambda at: values[at].size)
    if channels[0] != channels[1] or values[small].size != channels[0] or not channels[0]:
        sizes = " and ".join(str(list(tensor.sizes)) for tensor in tensors)
        raise ModelError(
            f"it takes {sizes}: the device's kernel refuses that, and the program stops"
        )
    count = output.nbytes // channels[0]
    shape = output.shape if output.shape[-1] == channels[0] else (count, channels[0])
    pixel = Value(values[small].name, "int8", (1,) * (len(shape) - 1) + (channels[0],))
    values[small] = call.broadcast("spread", pixel, shape)
    return values


def add(call: PteCall) -> None:
    """Convert quantized_add."""
    call.expect(15)
    output = call.tensor(13, "int8")
    params = {"left_shift": _LEFT_SHIFT, "block_size": output.nbytes}
    for number, at in ((1, 0), (2, 4)):
        params[f"input_{number}_offset"] = -call.integer(at + 1)
        params[f"input_{number}_mult"] = call.integer(at + 2)
        params[f"input_{number}_shift"] = call.integer(at + 3)
    names = ("out_offset", "out_mult", "out_shift", "act_min", "act_max")
    params.update({name: call.integer(8 + i) for i, name in enumerate(names)})
    call.put("arm_elementwise_add_s8", params, _operands(call, 0, 4, output), output)


def mul(call: PteCall) -> None:
    """Convert quantized_mul."""
    call.expect(9)
    output = call.tensor(7, "int8")
    params = {
        **{"input_1_offset": -call.integer(1), "input_2_offset": -call.integer(3)},
        **{
            name: call.integer(4 + i)
            for i, name in enumerate(("out_offset", "out_mult", "out_shift"))
        },
        **_RANGE,
        "block_size": output.nbytes,
    }
    call.put("arm_elementwise_mul_s8", params, _operands(call, 0, 2, output), output)


def div(call: PteCall) -> None:
    """Convert quantized_div."""
    call.expect(8)
    one, two = call.value(0, "int8", "int16"), call.value(2, "int8", "int16")
    output = call.tensor(6, one.dtype)
    if one.size != two.size:
        raise ModelError(f"it divides {list(one.shape)} by {list(two.shape)}; they must be equal")
    names = ("zero_point_1", "zero_point_2", "output_zero_point")
    params = {name: call.integer(at) for name, at in zip(names, (1, 3, 4))}
    params.update(length=one.size, factor_bits=bits(_scale(call, 5)))
    call.put(f"executorch_quantized_div_{SUFFIXES[one.dtype]}", params, [one, two], output)


def activation(call: PteCall) -> None:
    """Convert quantized_activation: a table of 256 results."""
    call.expect(4)
    x, table = call.value(0, "int8"), call.constant(1, "int8")
    if table.size != 256:
        raise ModelError(f"its table has {table.size} elements; it must have 256")
    function = "executorch_quantized_activation_s8"
    call.put(function, {"length": x.size}, [x], call.tensor(2, "int8"), table.reshape(-1))


def choose(call: PteCall, function: str) -> None:
    """Convert minimum and maximum: by the logical sizes, whatever the order in memory is."""
    call.expect(4)
    one, two = (call.tensor(at, "int8") for at in (0, 1))
    params = {**sides("input1", one.sizes), **sides("input2", two.sizes)}
    inputs = [call.builder.read(tensor) for tensor in (one, two)]
    call.put(function, params, inputs, call.tensor(2, "int8"))


def linear(call: PteCall) -> None:
    """Convert quantized_linear: the only operator that is built for one core.

    For Helium it comes with sums that hold the bias, for other cores with the bias.
    """
    call.expect(13)
    x, output = call.value(0, "int8"), call.tensor(11, "int8")
    weights = call.constant(1, "int8")
    sizes = call.tensor(0).sizes
    if weights.ndim != 2 or sizes[-1:] != weights.shape[1:]:
        raise ModelError(
            f"its weights are {list(weights.shape)} and its input {list(sizes)}; the last axes "
            "must be equal"
        )
    rows, columns = weights.shape
    multiplier, shift = (call.integers(at, 1)[0] for at in (7, 8))
    offset = call.integer(4, -127, 128)
    params = {
        **{"batches": x.size // columns, "input_c": columns, "output_c": rows},
        **{"input_offset": offset, "filter_offset": call.integer(5, -127, 128)},
        **{"output_offset": call.integer(6), "act_min": call.integer(10)},
        **{"act_max": call.integer(9), "multiplier": multiplier, "shift": shift},
    }
    function, nothing = "arm_fully_connected_s8", np.zeros(rows, np.int32)
    bias = nothing if call.argument(2) is None else call.row(2, rows)
    if call.argument(3) is None:
        why = (
            f"{call.instruction}: the program is built for cores without Helium; with Helium the "
            "kernel lacks its sums of weights, and the program stops"
        )
        call.builder.otherwise(Build("linear_without_sums", refused=why))
    else:
        sums = call.row(3, rows).astype(np.int64)
        share = offset * (weights.astype(np.int64) + params["filter_offset"]).sum(1)
        bias, without = (sums - share).astype(np.int32), bias
        declared = FUNCTIONS[function]
        effect = (
            "quantized_linear: the program is built for Helium (Cortex-M55, M85): on this core its "
            "sums lack the bias; lower it for this core, or choose another target"
        )
        build = Build("linear_with_sums", declared, declared.parse_params(params), effect=effect)
        call.builder.otherwise(build, without)
    call.put(function, params, [x], output, weights, bias)


def softmax(call: PteCall) -> None:
    """Convert softmax over the last logical axis."""
    call.expect(9)
    tensor, axis = call.tensor(0, "int8"), call.integer(1)
    rank = len(tensor.sizes)
    if axis not in (-1, rank - 1) or not rank or call.integer(3) != -128:
        raise ModelError(f"it takes axis {axis} of {rank}; the kernel takes the last one")
    size = tensor.sizes[-1]
    params = {"num_rows": tensor.nbytes // size, "row_size": size, "mult": call.integer(4)}
    params.update(shift=call.integer(5), diff_min=call.integer(6))
    call.put("arm_softmax_s8", params, [call.value(0)], call.tensor(7, "int8"))


def transpose(call: PteCall) -> None:
    """Convert transpose, of the logical sizes, whatever the order in memory is."""
    call.expect(4)
    tensor, order = call.tensor(0, "int8"), call.integers(1)
    rank = len(tensor.sizes)
    order = [axis + rank if axis < 0 else axis for axis in order]
    if sorted(order) != list(range(rank)):
        raise ModelError(f"its order is {order}; it must be a permutation of {rank} axes")
    if rank > 4:
        raise ModelError(
            f"it transposes {rank} axes; the device's kernel takes up to 4, and the program stops"
        )
    missing = [1] * (4 - rank)
    made = [tensor.sizes[axis] for axis in order]
    params = {
        "num_dims": rank,
        **{f"input_{axis}": n for axis, n in zip("nhwc", [*tensor.sizes, *missing])},
        **{f"output_{axis}": n for axis, n in zip("nhwc", [*made, *missing])},
        **{f"perm_{i}": axis for i, axis in enumerate([*order, *range(rank, 4)])},
    }
    call.put("arm_transpose_s8", params, [call.value(0)], call.tensor(2, "int8"))


def pad(call: PteCall) -> None:
    """Convert pad: before and after four axes as they lie in memory."""
    call.expect(6)
    tensor = call.tensor(0, "int8")
    sizes = [tensor.sizes[axis] for axis in LAST] if tensor.channels_last else tensor.sizes
    params = {"pad_value": call.integer(3, -128, 127), **sides("input", sizes)}
    for which, at in (("pre", 1), ("post", 2)):
        params.update({f"{which}_{axis}": n for axis, n in zip("nhwc", call.integers(at, 4))})
    call.put("arm_pad_s8", params, [call.value(0)], call.tensor(4, "int8"))


CORTEX_M: dict[str, Converter] = {
    "quantize_per_tensor": quantize,
    "dequantize_per_tensor": dequantize,
    "quantized_add": add,
    "quantized_mul": mul,
    "quantized_div": div,
    "quantized_activation": activation,
    "minimum": partial(choose, function="arm_minimum_s8"),
    "maximum": partial(choose, function="arm_maximum_s8"),
    "quantized_linear": linear,
    "softmax": softmax,
    "transpose": transpose,
    "pad": pad,
}
CORTEX_M.update({**WINDOWS, **TRANSPOSED})
CORTEX_M = {f"cortex_m::{name}.out": converter for name, converter in CORTEX_M.items()}
