"""Transposed convolutions with the output rows of CMSIS-NN's kernel, right or wrong.

Some releases put every row at its place: they have a build of the last call. The rest concerns
7.0.0 to dbf45dbf. If their kernel does not rotate the filter, it processes the input row by row.
For each row whose first tap is in the image it writes `stride` rows, and the remaining rows at the
end. If the pad is not a multiple of the stride, further rows are too high, and some are never
written: these keep the memory's previous content. With a stride above the filter's height it writes
beyond its output.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Optional

import numpy as np

from ...errors import ModelError
from ...functions import NETWORK_FUNCTIONS
from ...functions.s8_transpose import find_short_scratch
from ...ir.graph import Build
from ..arguments import SIDE_LIMIT
from .building import Value
from .call import Converter, PteCall
from .program import FileTensor
from .windows import channels, ends, window

_FUNCTION = "arm_transpose_conv_wrapper_s8"


def transpose_conv(call: PteCall, last: bool = False) -> None:
    """Convert quantized_transpose_conv2d."""
    call.expect(17)
    x, out, weights = call.image(0, last), call.image(15, last), call.constant(1, "int8")
    if weights.ndim != 4 or weights.shape[3] != x[3] or weights.shape[0] != out[3]:
        raise ModelError(
            f"its weights are {list(weights.shape)} and its input has {x[3]} channels; they "
            "must agree"
        )
    count, height, width, _ = weights.shape
    params = {
        **ends(x, out),
        **{"input_c": x[3], "output_c": count, "filter_h": height, "filter_w": width},
        **window(call, 3, 4, 6),
        **call.pair(5, "pad_offset", 0),
        **{"input_offset": call.integer(7), "output_offset": call.integer(8)},
        **{"act_min": call.integer(11), "act_max": call.integer(12)},
    }
    if max(params["stride_h"] * x[1], params["pad_h"]) > SIDE_LIMIT:
        raise ModelError(
            f"its stride and padding give more than {SIDE_LIMIT} rows, the most that are supported"
        )
    rows, value = channels(call, count, (2, 9, 10)), call.value(0)
    fault = find_short_scratch(params, _count_scratch(call))
    turned = params["stride_h"] <= 2 and params["stride_w"] <= 2 and x[3] > 16
    misplaced = not turned and params["pad_h"] % params["stride_h"] != 0
    made = out[1] if turned else _rows(params)
    if made is None:  # the releases that misplace rows refuse the call
        call.put(_FUNCTION, params, [value], call.tensor(15), weights, rows, effect=fault)
        return
    builds, given = [], dict(params)
    if misplaced:
        builds.append(_make_right(params, value, fault))
        value, given = _spread_rows(call, params)
    given["output_h"] = made
    if made == out[1]:
        for build in builds:
            call.builder.otherwise(build, rows)
        call.put(_FUNCTION, given, [value], call.tensor(15), weights, rows, effect=fault)
        return
    like = Value("", "int8", (out[0], made, *out[2:]))
    stream = call.part("rows", _FUNCTION, given, [value], like, weights, rows, effect=fault)
    written = call.builder.nodes[-1]
    weights_name, bias = written.weights, written.bias
    builds = [
        replace(each, weights=weights_name, bias=bias) if each.function else each for each in builds
    ]
    _fit(call, replace(stream, shape=(stream.size,)), builds)


def _count_scratch(call: PteCall) -> int:
    """Return the bytes of scratch memory that ExecuTorch planned; 0 if it planned none."""
    planned = call.argument(13)
    return planned.nbytes if isinstance(planned, FileTensor) else 0


def _make_right(params: dict[str, int], x: Value, fault: str) -> Build:
    """Return the call of the releases that put every row at its place."""
    least = params["input_h"] * params["stride_h"] - params["pad_h"]
    if params["output_h"] < least:
        made = f"{least} rows into an output of {params['output_h']}"
        why = f"it writes {made}, over what follows in memory; choose a larger kernel"
        return Build("transpose_rows", refused=why)
    declared = NETWORK_FUNCTIONS[_FUNCTION]
    right = Build("transpose_rows", declared, declared.parse_params(params), effect=fault)
    return replace(right, inputs=(x.name,))


def _rows(params: dict[str, int]) -> Optional[int]:
    """Return how many rows of an image the kernel writes; None where rows without taps of their own
    depend on the memory's content.
    """
    skipped = -(-params["pad_h"] // params["stride_h"])
    end = params["input_h"] * params["stride_h"]
    left = sum(
        params["pad_h"] <= end + y < params["pad_h"] + params["output_h"]
        for y in range(params["filter_h"] - params["stride_h"])
    )
    made = (params["input_h"] - skipped) * params["stride_h"] + left
    reached = params["output_h"] + params["pad_h"] - skipped * params["stride_h"]
    return None if made < 1 or made - 1 > reached else made


def _spread_rows(call: PteCall, params: dict[str, int]) -> tuple[Value, dict[str, int]]:
    """Return the rows of the input at the kernel's positions, with zeros between them.

    The skipped rows are at the right positions; the rest follow as if the first of them had no pad.
    """
    p, x = dict(params), call.value(0)
    pad, stride = p["pad_h"], p["stride_h"]
    skipped, unit = -(-pad // stride), math.gcd(stride, pad)
    places = [row * stride for row in range(skipped)]
    places += [pad + row * stride for row in range(p["input_h"] - skipped)]
    index = np.full(places[-1] // unit + 1, p["input_h"], np.int32)  # of a row of zeros
    for row, place in enumerate(places):
        index[place // unit] = row
    n, height, inner = p["batches"], p["input_h"], p["input_w"] * p["input_c"]
    zeros = Value(f"{call.name}/zeros", "int8", (n, inner))
    blank = np.full(n * inner, -p["input_offset"], np.int8)
    call.builder.call("tflm_constant_s8", {"length": blank.size}, [], zeros, blank)
    sides = {"outer": n, "inner1": height * inner, "inner2": inner}
    like = Value("", "int8", (n, height + 1, inner))
    x = call.part("with_zeros", "tflm_concatenation_s8", sides, [x, zeros], like)
    at = Value(f"{call.name}/places", "int32", (index.size,))
    call.builder.call("tflm_constant_s32", {"length": index.size}, [], at, index)
    gather = {"batches": 1, "outer": n, "side": height + 1, "inner": inner, "count": index.size}
    gather.update(depth=1, step_0=1, **{f"step_{i}": 0 for i in range(1, 5)})
    like = Value("", "int8", (n, index.size, p["input_w"], p["input_c"]))
    x = call.part("spread", "tflm_gather_s8", gather, [x, at], like)
    p.update(input_h=index.size, stride_h=unit)
    return x, p


def _fit(call: PteCall, stream: Value, builds: Sequence[Build]) -> None:
    """Add the output of the written rows, one image after the other; builds: of its last call."""
    output = call.tensor(15)
    size, missing = output.nbytes, output.nbytes - stream.size
    if missing < 0:
        params = call.slice_of(stream.size, 0, size)
        for build in builds:
            call.builder.otherwise(build)
        call.put("tflm_slice_s8", params, [stream], output)
        if output.place is not None:
            memory, start = output.place
            call.builder.mark_overwritten(memory, start + size, start + stream.size)
        return
    rest = call.builder.before(output, stream.size, call.instruction.index)
    params = {"outer": 1, "inner1": stream.size, "inner2": missing}
    if rest is None:
        held = Value(f"{call.name}/unwritten", "int8", (missing,))
        zeros = np.zeros(missing, np.int8)
        call.builder.call("tflm_constant_s8", {"length": missing}, [], held, zeros)
    else:
        value, first = rest
        flat, like = Value(value.name, "int8", (value.size,)), Value("", "int8", (missing,))
        own = call.slice_of(value.size, first, missing)
        held = call.part("unwritten", "tflm_slice_s8", own, [flat], like)
    for build in builds:
        call.builder.otherwise(build)
    call.put("tflm_concatenation_s8", params, [stream, held], output)


TRANSPOSED: dict[str, Converter] = {
    "quantized_transpose_conv2d": transpose_conv,
    "quantized_transpose_conv2d_nhwc": partial(transpose_conv, last=True),
}
