"""Functions of ESP-NN on an ESP32-S3 whose bits no function of CMSIS-NN has.

esp_nn_rules.py says which calls of a network they replace.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from random import Random

from . import pool, s8_convolve, s8_dense, s8_depthwise, s8_elementwise, s8_softmax
from .base import Function
from .random_params import Drawn

_BASES = {
    function.name: function
    for family in (pool, s8_convolve, s8_dense, s8_depthwise, s8_elementwise, s8_softmax)
    for function in family.FUNCTIONS
}

#: Reason why no exported C calls these functions.
_NOT_CALLED = "it is a kernel of ESP-NN, which esp-tflite-micro calls on an ESP32-S3"

#: Address of the input modulo 16.
ALIGN = "input_align"


def _draw_as(base: Function, function: Function, rng: Random) -> Drawn:
    """Return arguments of the function of CMSIS-NN, and an address."""
    assert base.draw is not None
    drawn = {name: n for name, n in base.draw(rng, base).items() if name in function.params}
    if "dilation_h" in drawn:
        drawn.update(dilation_h=1, dilation_w=1)
    if "filter_c" in drawn:
        drawn["input_c"] = drawn["filter_c"]
    if ALIGN in function.params:
        drawn[ALIGN] = 0
    if "in_vectors" in function.params:
        drawn["in_vectors"] = rng.randrange(2)
    return drawn


def _declare(
    name: str,
    op: str,
    base_name: str,
    *more: str,
    note: str,
    fixed: Mapping[str, int],
) -> Function:
    """Return a function with the arrays of one of CMSIS-NN; more: its additional arguments."""
    base: Function = _BASES[base_name]
    return replace(
        base,
        name=name,
        op=op,
        params=(*base.params, *more),
        defaults=dict.fromkeys(more, 0),
        scratch=0,
        buffer=None,
        note=note,
        order=None,
        not_called=_NOT_CALLED,
        draw=lambda rng, function: _draw_as(base, function, rng),
        cases=tuple({**case, **dict.fromkeys(more, 0)} for case in base.cases[:1]),
        batched=(),
        fixed=fixed,
    )


_ALIGN_NOTE = f"{ALIGN}: the address of the input modulo 16."

FUNCTIONS = (
    _declare(
        "esp_nn_conv_s8_esp32s3",
        "esp_convolve",
        "arm_convolve_wrapper_s8",
        fixed={"kernel": 1, "bias_is_int32": 1},
        note="Windows that leave the padded image read the memory after it.",
    ),
    _declare(
        "esp_nn_depthwise_conv_s8_esp32s3",
        "esp_depthwise_conv",
        "arm_depthwise_conv_wrapper_s8",
        fixed={"kernel": 1},
        note="Elements of rows above and below the image are 0, not the zero point.",
    ),
    _declare(
        "esp_nn_fully_connected_s8_esp32s3",
        "esp_fully_connected",
        "arm_fully_connected_s8",
        ALIGN,
        fixed={},
        note=f"Vectors of 8 elements load from multiples of 8 bytes. {_ALIGN_NOTE}",
    ),
    _declare(
        "esp_nn_fully_connected_per_ch_s8_esp32s3",
        "esp_fully_connected_per_channel",
        "arm_fully_connected_per_channel_s8",
        ALIGN,
        fixed={"multiplier": 0, "shift": 0},
        note=f"Vectors of 8 elements load from multiples of 8 bytes. {_ALIGN_NOTE}",
    ),
    _declare(
        "esp_nn_avg_pool_s8_esp32s3",
        "esp_avgpool",
        "arm_avgpool_s8",
        note="Row y of the output begins at element y * output_h * channels.",
        fixed={},
    ),
    _declare(
        "esp_nn_mul_elementwise_s8_esp32s3",
        "esp_mul",
        "arm_elementwise_mul_s8",
        ALIGN,
        fixed={},
        note=f"Elements outside of vectors of 8 round differently. {_ALIGN_NOTE}",
    ),
    _declare(
        "esp_nn_softmax_s8",
        "esp_softmax",
        "arm_softmax_s8",
        ALIGN,
        "in_vectors",
        note="in_vectors: the maximum of a row is taken 16 elements at a time, as on an ESP32-S3. "
        + _ALIGN_NOTE,
        fixed={},
    ),
)
