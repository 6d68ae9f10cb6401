"""Calls that stand for every op of the s8 and s16 API."""

from __future__ import annotations

from .cases import Case
from .s8_dense_cases import DENSE_CASES
from .s8_rest_cases import REST_CASES

_RANGE = {"input_offset": 128, "output_offset": -128, "act_min": -128, "act_max": 127}
_WIDE = {"input_offset": 0, "output_offset": 0, "act_min": -32768, "act_max": 32767}


def _window(dim: int, kernel: int, stride: int = 1) -> dict[str, int]:
    """A square window that keeps the image's size, or its stride-th part."""
    sides = {"input": dim, "output": -(-dim // stride), "filter": kernel, "stride": stride}
    pairs = {**sides, "dilation": 1, "pad": (kernel - 1) // 2}
    return {"batches": 1, **{f"{n}_{a}": v for n, v in pairs.items() for a in "hw"}, **_RANGE}


def _convolve(dim: int, depth: int, out: int, kernel: int, stride: int = 1) -> dict[str, int]:
    channels = {"input_c": depth, "filter_c": depth, "output_c": out}
    return {**_window(dim, kernel, stride), **channels}


def _transpose(dim: int, depth: int, out: int) -> dict[str, int]:
    """Twice the image's side, by windows of 4 x 4."""
    sides = {"input": dim, "output": 2 * dim, "filter": 4, "stride": 2, "dilation": 1, "pad": 1}
    pairs = {f"{n}_{a}": v for n, v in {**sides, "pad_offset": 0}.items() for a in "hw"}
    return {"batches": 1, **pairs, **_RANGE, "input_c": depth, "output_c": out}


def _dense(columns: int, rows: int, batches: int = 1) -> dict[str, int]:
    sides = {"batches": batches, "input_c": columns, "output_c": rows}
    return {**sides, **_RANGE, "filter_offset": 0}


#: As quantization has them, where all outputs share one.
_PAIR = {"multiplier": 2**30 + 12345, "shift": -10}

AFFINE_CASES = (
    *(
        Case("arm_convolve_wrapper_s8", params)
        for params in (
            _convolve(32, 3, 16, 3),
            _convolve(32, 16, 16, 3),
            _convolve(8, 64, 64, 3),
            _convolve(14, 512, 512, 1),
            _convolve(16, 64, 64, 1),
        )
    ),
    *(
        Case("arm_depthwise_conv_wrapper_s8", {**_window(dim, 3), "input_c": depth, "ch_mult": 1})
        for dim, depth in ((48, 8), (16, 64), (14, 256))
    ),
    Case("arm_convolve_wrapper_s16", {**_convolve(16, 16, 16, 3), **_WIDE, "bias_is_int32": 0}),
    Case("arm_convolve_wrapper_s4", _convolve(16, 16, 16, 3)),
    Case("arm_transpose_conv_wrapper_s8", _transpose(8, 32, 16)),
    Case(
        "arm_depthwise_conv_wrapper_s16", {**_window(16, 3), **_WIDE, "input_c": 64, "ch_mult": 1}
    ),
    Case("arm_depthwise_conv_wrapper_s4", {**_window(16, 3), "input_c": 64, "ch_mult": 1}),
    *(
        Case("arm_fully_connected_s8", {**_dense(columns, rows), **_PAIR})
        for columns, rows in ((64, 10), (256, 256))
    ),
    Case("arm_fully_connected_per_channel_s8", _dense(256, 256)),
    *(Case(function, params) for function, params in (*DENSE_CASES, *REST_CASES)),
)
