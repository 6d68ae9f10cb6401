"""Scratch memory that esp-tflite-micro reserves for calls of ESP-NN."""

from __future__ import annotations

from collections.abc import Mapping

from ..targets import Profile

Params = Mapping[str, int]

#: Bytes of a padded image, and of elements of 16 bits, above which strips are computed.
_STRIP, _WIDE_STRIP = 40 * 1024, 48 * 1024


def count_scratch(function: str, params: Params, profile: Profile) -> int:
    """Return bytes of scratch memory of a call; 0 for kernels that are not known to need any.

    function: of CMSIS-NN, or the one of esp_nn.py in its place. The formulas are the vendor's, of
    generic C and of the ESP32-S3.
    """
    if function in ("arm_softmax_s8", "esp_nn_softmax_s8"):
        return 4 * params["row_size"]
    if profile.path != "esp32s3":
        return 0
    if function in ("arm_convolve_wrapper_s8", "esp_nn_conv_s8_esp32s3"):
        return _count_convolution(params, profile.esp_nn)
    if function in ("arm_depthwise_conv_wrapper_s8", "esp_nn_depthwise_conv_s8_esp32s3"):
        return _count_depthwise(params, profile.esp_nn)
    return 0


def _up(n: int, step: int) -> int:
    return -(-n // step) * step


def _beyond(p: Params, axis: str) -> int:
    """Return rows or columns that windows of the vendor's formula need after the image."""
    reach = p[f"output_{axis}"] * p[f"stride_{axis}"] + p[f"filter_{axis}"] - 1
    return reach - p[f"input_{axis}"]


def _count_convolution(params: Params, release: str) -> int:
    margin = 32 if release == "1.1.2" else 64
    cells, taps = params["input_h"] * params["input_w"], params["filter_h"] * params["filter_w"]
    pads = params["pad_h"] or params["pad_w"]
    if taps == params["stride_h"] == params["stride_w"] == 1 and not pads:
        depth = _up(params["input_c"], 8)
        transposed = 16 * depth if cells >= 8 else 0
        return (
            (cells * depth if params["input_c"] % 8 else 0)
            + depth * params["output_c"]
            + transposed
            + margin
        )
    row = params["filter_w"] * params["input_c"]
    if release != "1.1.2" and row < 16 <= row * params["filter_h"]:
        window = _up(row * params["filter_h"], 16)
        return 4 * params["output_c"] + 32 + (params["output_c"] + 1) * window + margin
    image = 0
    if pads:
        image = (
            (params["input_h"] + 2 * params["pad_h"])
            * (params["input_w"] + 2 * params["pad_w"])
            * params["input_c"]
        )
    filters = taps * _up(params["input_c"], 16) * params["output_c"]
    if release == "1.1.2":
        return image + filters + margin + 4 * params["output_c"]
    aligned = _up(row, 16) * params["filter_h"] * params["output_c"]
    bottom, right = (max(0, _beyond(params, axis)) for axis in "hw")
    end = (params["input_h"] + bottom) * (params["input_w"] + right) * params["input_c"]
    return (
        image
        + filters
        + aligned
        + (end if bottom or right else 0)
        + margin
        + 4 * params["output_c"]
    )


def _count_depthwise(params: Params, release: str) -> int:
    depth, old = params["input_c"], release == "1.1.2"
    filters = params["filter_h"] * params["filter_w"] * depth * params["ch_mult"]
    image = params["input_h"] * params["input_w"] * depth
    small = params["filter_h"] == params["filter_w"] == 3
    wide = 2 * (filters + image) + (16 if old else 32)
    if params["ch_mult"] % 4 == 0:
        return wide
    if params["ch_mult"] != 1 or (old and not (small and depth % 8 == 0)):
        return 32
    if depth % 8:
        return _count_copied_channels(params) if depth > 3 else 32
    if not small:
        strip = 2 * (filters + params["input_w"] * params["filter_h"] * depth) + 32
        return wide if 2 * (filters + image) <= _WIDE_STRIP else strip
    if depth % 16 == 0:
        return filters + 16 + _count_padded_image(params, old)
    return wide if old or depth < 12 else _count_sixteen_channels(params)


def _count_padded_image(params: Params, old: bool) -> int:
    """Return bytes of the padded image of 3 x 3 filters, or of a strip of three rows of it."""
    bottom, right = 2 * params["pad_h"], 2 * params["pad_w"]
    if not (bottom or right):
        bottom, right = _beyond(params, "h"), _beyond(params, "w")
    if not (bottom or right):
        return 0
    whole = (params["input_h"] + bottom) * (params["input_w"] + right) * params["input_c"]
    return whole if old or whole <= _STRIP else (params["input_w"] + right) * 3 * params["input_c"]


def _count_sixteen_channels(p: Params) -> int:
    """Return bytes of filters, image and output with channels rounded up to 16."""
    depth = _up(p["input_c"], 16)
    tall, wide = (
        p[f"input_{axis}"] + 2 * p[f"pad_{axis}"] + max(0, _beyond(p, axis)) for axis in "hw"
    )
    return (9 + tall * wide + p["output_h"] * p["output_w"]) * depth + 64


def _count_copied_channels(p: Params) -> int:
    """Return bytes of filters and image of 16 bits with channels rounded up to 8, and the rest."""
    depth = _up(p["input_c"], 8)
    filters = _up(2 * p["filter_h"] * p["filter_w"] * depth, 16)
    image = _up(filters + 2 * p["input_h"] * p["input_w"] * depth, 16)
    outputs = _up(image + p["output_h"] * p["output_w"] * depth, 16)
    return outputs + 12 * depth + 16
