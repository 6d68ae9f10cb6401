"""Writes qemu_nn/demo/wake_tone.tflite: a streaming network that detects a rising tone.

usage: PYTHONPATH=tests/support python docs/examples/make_wake_tone.py

It has the shape of a microWakeWord network: three windows of 40 features in, a convolution, a ring
of earlier outputs in a variable, a depthwise convolution over it, and one score out. The weights
are not trained: each channel is a band of frequencies, and the depthwise filters are the path of
the tone through the bands.
"""

from pathlib import Path

import numpy as np
from tflite_files import File
from tflite_states import assign, numbers, read

BANDS, STEPS = 8, 24
INPUT = 26 / 255, -128  # scale and zero point of microWakeWord's features
BAND, PAST, MATCH = (0.05, -100), (0.05, -100), (0.2, 0)


def band_filters() -> np.ndarray:
    """Return [band, 3, 1, 40]: the mean of five features less the mean of all."""
    own = np.repeat(np.eye(BANDS), 40 // BANDS, axis=1) / 5 - 1 / 40
    return np.repeat(own[:, None, None, :], 3, axis=1) / 3


def path_filters() -> np.ndarray:
    """Return [1, step, 1, band]: 1 where the tone is at that step, and less than 0 elsewhere."""
    place = np.linspace(0.3, BANDS - 0.7, STEPS)[:, None] - np.arange(BANDS)
    path = np.exp(-((place / 0.8) ** 2))
    return (path - path.mean())[None, :, None, :] / 4


def weights(net: File, values: np.ndarray, axis: int) -> tuple[int, float]:
    """Add weights of 8 bits with one scale; return the tensor and the scale."""
    scale = float(np.abs(values).max()) / 127
    data = np.round(values / scale).astype(int)
    return net.tensor(values.shape, "INT8", scale, 0, data=data, name=f"w{axis}"), scale


def bias(net: File, values: np.ndarray, scale: float) -> int:
    """Add a bias."""
    return net.tensor(values.shape, "INT32", scale, data=np.round(values / scale).astype(int))


def build() -> File:
    """Return the file."""
    net = File()
    x = net.input((1, 3, 40), *INPUT)
    image = net.tensor((1, 3, 1, 40), "INT8", *INPUT)
    net.operator("RESHAPE", [x, numbers(net, 1, 3, 1, 40)], [image])
    filters, scale = weights(net, band_filters(), 0)
    zeros = bias(net, np.zeros(BANDS), scale * INPUT[0])
    bands = net.tensor((1, 1, 1, BANDS), "INT8", *BAND, name="bands")
    valid = {"Padding": "VALID", "StrideH": 3, "StrideW": 1}
    net.operator("CONV_2D", [image, filters, zeros], [bands], "Conv2DOptions", **valid)
    past = read(net, "past", (1, STEPS - 1, 1, BANDS), scale=PAST[0], zero=PAST[1])
    ring = net.tensor((1, STEPS, 1, BANDS), "INT8", *PAST, name="ring")
    net.operator("CONCATENATION", [past, bands], [ring], "ConcatenationOptions", Axis=1)
    kept = net.tensor((1, STEPS - 1, 1, BANDS), "INT8", *PAST, name="kept")
    ends = [(0, 1, 0, 0), (1, STEPS, 1, BANDS), (1, 1, 1, 1)]
    slices = [numbers(net, *values) for values in ends]
    net.operator("STRIDED_SLICE", [ring, *slices], [kept], "StridedSliceOptions")
    assign(net, "past", kept)
    filters, scale = weights(net, path_filters(), 1)
    zeros = bias(net, np.zeros(BANDS), scale * PAST[0])
    match = net.tensor((1, 1, 1, BANDS), "INT8", *MATCH, name="match")
    valid = {"Padding": "VALID", "StrideH": 1, "StrideW": 1, "DepthMultiplier": 1}
    options = ("DepthwiseConv2DOptions", valid)
    net.operator("DEPTHWISE_CONV_2D", [ring, filters, zeros], [match], options[0], **options[1])
    row = net.tensor((1, BANDS), "INT8", *MATCH)
    net.operator("RESHAPE", [match, numbers(net, 1, BANDS)], [row])
    total, scale = weights(net, np.full((1, BANDS), 0.8), 2)
    shift = bias(net, np.array([-12.0]), scale * MATCH[0])
    logit = net.tensor((1, 1), "INT8", 0.2, 0, name="logit")
    net.operator("FULLY_CONNECTED", [row, total, shift], [logit], "FullyConnectedOptions")
    chance = net.tensor((1, 1), "INT8", 1 / 256, -128, name="chance")
    net.operator("LOGISTIC", [logit], [chance])
    score = net.tensor((1, 1), "UINT8", 1 / 256, 0, name="score")
    net.outputs.append(score)
    net.operator("QUANTIZE", [chance], [score])
    return net


if __name__ == "__main__":
    build().save(Path(__file__).parents[2] / "qemu_nn" / "demo", "wake_tone.tflite")
