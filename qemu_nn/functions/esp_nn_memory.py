"""Scratch memory that esp-tflite-micro reserves for calls of ESP-NN."""

from __future__ import annotations

from collections.abc import Mapping

from ..targets import Profile
from .esp_nn_rules import LAST_MEASURED, is_after, is_old

Params = Mapping[str, int]

#: Bytes of a padded image, and of elements of 16 bits, above which strips are computed.
_STRIP, _WIDE_STRIP = 40 * 1024, 48 * 1024

#: Bytes in later releases: of a softmax's tables; of filters of a 1 x 1 convolution at a time; of
#: their outputs.
_TABLES, _PANEL, _PANEL_OUTPUTS = 2064, 24 * 1024, 16 * 1024


def count_scratch(function: str, params: Params, profile: Profile) -> int:
    """Return bytes of scratch memory of a call; 0 for kernels that are not known to need any.

    function: of CMSIS-NN, or the one of esp_nn.py in its place. The formulas are the vendor's, of
    generic C and of the ESP32-S3. Of releases that were read in part, it is the largest of those
    known.
    """
    is_s3 = profile.path == "esp32s3"
    later = is_s3 and is_after(profile.esp_nn, LAST_MEASURED)
    if function in ("arm_softmax_s8", "esp_nn_softmax_s8"):
        return max(4 * params["row_size"], _TABLES if later else 0)
    if function in ("arm_convolve_wrapper_s8", "esp_nn_conv_s8_esp32s3") and is_s3:
        own = _count_convolution(params, profile.esp_nn)
        return max(own, _count_later_convolution(params)) if later else own
    if function in ("arm_depthwise_conv_wrapper_s8", "esp_nn_depthwise_conv_s8_esp32s3") and is_s3:
        own = _count_depthwise(params, profile.esp_nn)
        return max(own, _count_later_depthwise(params)) if later else own
    return 0


def _up(n: int, step: int) -> int:
    return -(-n // step) * step


def _beyond(p: Params, axis: str) -> int:
    """Return rows or columns that windows of the vendor's formula need after the image."""
    reach = p[f"output_{axis}"] * p[f"stride_{axis}"] + p[f"filter_{axis}"] - 1
    return reach - p[f"input_{axis}"]


def _count_convolution(params: Params, release: str) -> int:
    margin = 64 if is_after(release, "1.2.2") else 32
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
    if not is_old(release) and row < 16 <= row * params["filter_h"]:
        window = _up(row * params["filter_h"], 16)
        return 4 * params["output_c"] + 32 + (params["output_c"] + 1) * window + margin
    if is_after(release, "1.2.5"):
        return _count_padded(params) + _count_filters(params) + margin + 4 * params["output_c"]
    image = 0
    if pads:
        image = (
            (params["input_h"] + 2 * params["pad_h"])
            * (params["input_w"] + 2 * params["pad_w"])
            * params["input_c"]
        )
    if is_old(release):
        filters = taps * _up(params["input_c"], 16) * params["output_c"]
        return image + filters + margin + 4 * params["output_c"]
    bottom, right = (max(0, _beyond(params, axis)) for axis in "hw")
    end = (params["input_h"] + bottom) * (params["input_w"] + right) * params["input_c"]
    return (
        image
        + _count_filters(params)
        + (end if bottom or right else 0)
        + margin
        + 4 * params["output_c"]
    )


def _count_filters(params: Params) -> int:
    """Return bytes of two copies of the filters: of channels and of rows rounded up to 16."""
    depth, width = params["input_c"], params["filter_w"]
    return (
        params["filter_h"] * params["output_c"] * (width * _up(depth, 16) + _up(width * depth, 16))
    )


def _count_padded(params: Params) -> int:
    """Return bytes of an image with its padding at all sides; 0 if it has none."""
    tall, wide = (
        params[f"pad_{axis}"] + max(0, _pad_end(params, axis)) + params[f"input_{axis}"]
        for axis in "hw"
    )
    same = (tall, wide) == (params["input_h"], params["input_w"])
    return 0 if same else tall * wide * params["input_c"]


def _pad_end(p: Params, axis: str) -> int:
    """Return rows or columns of padding at the end of an axis."""
    covered = (p[f"output_{axis}"] - 1) * p[f"stride_{axis}"] + p[f"filter_{axis}"]
    return covered - p[f"pad_{axis}"] - p[f"input_{axis}"]


def _count_later_convolution(params: Params) -> int:
    """Return bytes that a convolution asks for in the newest sources that were read; 0: no more
    than before.
    """
    depth, outputs = params["input_c"], params["output_c"]
    taps = params["filter_h"] * params["filter_w"]
    if taps == params["stride_h"] == params["stride_w"] == 1:
        panel = 24 * depth + _PANEL_OUTPUTS + 64
        return max(24 * depth + 8 * outputs + 64, panel if depth * outputs > _PANEL else 0)
    if params["filter_h"] != 3 or params["filter_w"] != 3 or depth % 16 or outputs < 16:
        return 0
    window = 9 * depth
    staged = 16 * window + 24 * window + _PANEL_OUTPUTS + 64 + 32
    return max(staged, (1 + outputs) * window + 4 * outputs + 32)


def _count_later_depthwise(params: Params) -> int:
    """Return bytes that a depthwise convolution asks for in the newest sources that were read; 0:
    no more than before.
    """
    depth = params["input_c"]
    if params["ch_mult"] != 1 or depth % 8:
        return 0
    if params["filter_h"] != 3 or params["filter_w"] != 3:
        return 4 * depth + 2 * params["filter_h"] * depth + 64 if params["filter_w"] == 1 else 0
    if depth % 16:
        return _count_sixteen_channels(params) + 12 * _up(depth, 16) if depth >= 12 else 0
    filters, padded = 9 * depth, _count_padded(params)
    if padded <= _STRIP:
        return filters + padded + 16
    tall, wide = (params["input_h"] + params["pad_h"], params["input_w"] + params["pad_w"])
    row = (wide + max(0, _pad_end(params, "w"))) * depth
    rows = max(3, (_STRIP - filters - 32) // row)
    return filters + min(rows, tall + max(0, _pad_end(params, "h"))) * row + 32


def _count_depthwise(params: Params, release: str) -> int:
    depth, old = params["input_c"], is_old(release)
    filters = params["filter_h"] * params["filter_w"] * depth * params["ch_mult"]
    image = params["input_h"] * params["input_w"] * depth
    small = params["filter_h"] == params["filter_w"] == 3
    wide = 2 * (filters + image) + (32 if is_after(release, "1.1.2") else 16)
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
