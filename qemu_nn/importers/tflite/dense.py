"""Fully connected layers."""

from __future__ import annotations

import numpy as np

from ...errors import ModelError
from .building import Value
from .call import SUFFIXES, Call, Converter, same_type
from .reading import FileTensor
from .scaling import multiplier, multipliers
from .windows import bias, filter_scales, weighted


def fully_connected(call: Call) -> None:
    """FULLY_CONNECTED: rows of the input times a matrix [out, in]."""
    call.counts(2, 3)
    options, x, output = call.options("FullyConnectedOptions"), call.value(), call.output()
    weights, data, suffix = weighted(call, same_type(x, output))
    form = options.choice("WeightsFormat", "FullyConnectedOptionsWeightsFormat")
    if form != "DEFAULT":
        raise ModelError(f"its weights are stored as {form}; only DEFAULT is supported")
    if len(weights.shape) != 2 or min(weights.shape) < 1:
        raise ModelError(f"its weights, {weights}, must be [out, in], not {list(weights.shape)}")
    rows, columns = weights.shape
    if x.size % columns or output.size != x.size // columns * rows:
        raise ModelError(
            f"its weights {list(weights.shape)} do not fit its input {list(x.shape)} and its "
            f"output {list(output.shape)}"
        )
    params = {
        **{"batches": x.size // columns, "input_c": columns, "output_c": rows},
        **{"input_offset": -x.zero, "filter_offset": 0, "output_offset": output.zero},
        **options.activation(output),
    }
    values = bias(call, 2, SUFFIXES[x.dtype], rows)
    if values is None:
        values = np.zeros(rows, np.int32 if x.dtype == "int8" else np.int64)
    if len(weights.scales) > 1:
        _per_channel(call, params, x, output, values)
        return
    scale = float(filter_scales(weights, 0)[0])
    if call.given(2):
        _check_bias(call.tensor(2), x.scale * scale, output)
    product = float(np.float32(x.scale) * np.float32(scale))  # in float32, unlike convolutions
    params["multiplier"], params["shift"] = multiplier(product / output.scale)
    call.put(f"arm_fully_connected_{suffix}", params, [x], output, data, values)


def _per_channel(
    call: Call, params: dict[str, int], x: Value, output: Value, values: np.ndarray
) -> None:
    weights, data, suffix = weighted(call, same_type(x, output))
    if suffix != "s8":
        raise ModelError(
            f"its weights have a scale for each channel; with {x.dtype} they must have one for all"
        )
    real = [x.scale * float(scale) / output.scale for scale in filter_scales(weights, 0)]
    rows = np.stack([values, *multipliers(real)])
    call.put("arm_fully_connected_per_channel_s8", params, [x], output, data, rows)


def _check_bias(tensor: FileTensor, product: float, output: Value) -> None:
    """TensorFlow Lite Micro refuses a bias that is in other steps than the products."""
    if len(tensor.scales) == 1 and abs(product - float(tensor.scales[0])) / output.scale > 0.02:
        raise ModelError(
            f"its bias, {tensor}, has the scale {tensor.scales[0]:g}, but its products have the "
            f"scale {product:g}"
        )


DENSE: dict[str, Converter] = {"FULLY_CONNECTED": fully_connected}
