"""Fully connected layers."""

from __future__ import annotations

from functools import partial
from typing import Optional

import numpy as np

from ...errors import ModelError
from ...ir.graph import Build
from ...operators import Shape
from .building import TfliteSite
from .schema import OptionValue
from .windows import (
    CallConverter,
    add_bias,
    add_weights,
    get_weight_type,
    make_fused_options,
    missing_bias,
)

_KIND = "FullyConnectedOptions"


def fully_connected(site: TfliteSite, per_row: bool = False) -> None:
    """Convert to FULLY_CONNECTED of rows: input and output have two axes."""
    params, values = site.params, site.array("bias")
    if per_row:
        values, *rows = values
        pairs = list(zip(*(row.tolist() for row in rows)))
    else:
        pairs = [(params["multiplier"], params["shift"])]
    x = (params["batches"], params["input_c"])
    _write(site, values, pairs, (x, (x[0], params["output_c"])), per_row)


def fully_connected_pointwise(site: TfliteSite) -> None:
    """Convert to FULLY_CONNECTED with more axes; the framework computes it as a convolution."""
    build = _find_build(site, "dense_rows")
    if build is None or build.function is None:
        raise ModelError("no .tflite file can request this function; omit it from `functions`")
    per_row = build.function.name.endswith("per_channel_s8")
    values, *rows = site.array("bias")
    pairs = list(zip(*(row.tolist() for row in rows)))
    count, columns = site.params["input_h"], site.params["input_c"]
    x = site.shape()
    if x[-1] != columns or len(x) < 3:
        x = (1, count, columns)
    _write(site, values, pairs if per_row else pairs[:1], (x, (*x[:-1], len(values))), per_row)


def _write(
    site: TfliteSite,
    values: np.ndarray,
    pairs: list[tuple[int, int]],
    shapes: tuple[Shape, Shape],
    per_row: bool,
) -> None:
    source, made = shapes
    matrix = (site.params["output_c"], site.params["input_c"])
    weights = add_weights(site, matrix, 0, get_weight_type(site), pairs, product=not per_row)
    inputs = [site.view_input(0, source), weights]
    missing = missing_bias(site, "dense_16x8")
    if missing is None:
        inputs.append(add_bias(site, weights, values))
    options: dict[str, OptionValue] = {**make_fused_options(site), "KeepNumDims": len(source) > 2}
    site.put("FULLY_CONNECTED", inputs, _KIND, made, **options, **(missing or {}))


def _find_build(site: TfliteSite, difference: str) -> Optional[Build]:
    return next((each for each in site.node.builds if each.difference == difference), None)


DENSE: dict[str, CallConverter] = {
    **{f"arm_fully_connected_{type}": fully_connected for type in ("s8", "s16", "s4")},
    "tflm_fully_connected_s16_s32": fully_connected,
    "arm_fully_connected_per_channel_s8": partial(fully_connected, per_row=True),
    "arm_convolve_1x1_s8_fast": fully_connected_pointwise,
}
