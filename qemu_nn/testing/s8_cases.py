"""Calls that stand for every op of the s8 and s16 API."""

from __future__ import annotations

from .cases import Case
from .s8_dense_cases import DENSE_CASES
from .s8_rest_cases import REST_CASES

_RANGE = {"input_offset": 128, "output_offset": -128, "act_min": -128, "act_max": 127}
_WIDE = {"input_offset": 0, "output_offset": 0, "act_min": -32768, "act_max": 32767}


def _dense(columns: int, rows: int, batches: int = 1) -> dict[str, int]:
    sides = {"batches": batches, "input_c": columns, "output_c": rows}
    return {**sides, **_RANGE, "filter_offset": 0}


#: As quantization has them, where all outputs share one.
_PAIR = {"multiplier": 2**30 + 12345, "shift": -10}

AFFINE_CASES = (
    *(
        Case("arm_fully_connected_s8", {**_dense(columns, rows), **_PAIR})
        for columns, rows in ((64, 10), (256, 256))
    ),
    Case("arm_fully_connected_per_channel_s8", _dense(256, 256)),
    *(Case(function, params) for function, params in (*DENSE_CASES, *REST_CASES)),
)
