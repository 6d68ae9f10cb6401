"""Builds of TensorFlow Lite Micro with different bits: with CMSIS-NN or without, and by month.

This module contains all differences, as data. A node of a network names a difference if its call
changes in builds that have it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ..releases.table import place_of
from ..targets import ESP_CHIPS, KERNELS, TFLM, Profile


@dataclass(frozen=True)
class BuildDifference:
    """Difference of builds from the recorded build with CMSIS-NN.

    operator: of the format. words: description. source: the evidence. kernels: of the builds that
    have it, empty for all. paths: of the cores that have it, empty for all. since, before: their
    months. cmsis: first and last states of CMSIS-NN that have it, empty for all.
    """

    operator: str
    words: str
    source: str
    kernels: str = ""
    paths: tuple[str, ...] = ()
    since: str = TFLM[0]
    before: str = "9999-12"
    cmsis: tuple[tuple[str, str], ...] = ()

    def applies_to(self, profile: Profile) -> bool:
        """True if the build of a profile has the difference."""
        there = not self.paths or profile.path in self.paths
        built = self.kernels in ("", profile.kernels)
        stated = not self.cmsis or any(
            place_of(first) <= place_of(profile.cmsis) <= place_of(last)
            for first, last in self.cmsis
        )
        return there and built and stated and self.since <= profile.tflm < self.before


_ESP_PATHS = tuple(dict.fromkeys(ESP_CHIPS.values()))

#: Name -> difference.
DIFFERENCES: Mapping[str, BuildDifference] = {
    "sub_ratios_2022": BuildDifference(
        "SUB",
        "the three ratios of the scales are float64, as those of ADD, not float32",
        "micro/kernels/sub_common.cc from October 2022 to February 2023",
        before="2023-02",
    ),
    "sub_ratios_2026": BuildDifference(
        "SUB",
        "the three ratios of the scales are float64, as those of ADD, not float32",
        "recorded from the Python wheel of 23 October 2026",
        since="2026-10",
    ),
    "div_ratio_2026": BuildDifference(
        "DIV",
        "the ratio of the scales is float64, not float32",
        "recorded from the Python wheel of 23 October 2026",
        since="2026-10",
    ),
    "leaky_ratios_2026": BuildDifference(
        "LEAKY_RELU",
        "the two ratios of the scales are float64, not float32",
        "recorded from the Python wheel of 23 October 2026",
        since="2026-10",
    ),
    "transpose_conv_activation": BuildDifference(
        "TRANSPOSE_CONV",
        "the fused activation is computed, and every row goes to its place",
        "recorded from both kernels; micro/kernels/transpose_conv.cc since February 2026",
        kernels="reference",
        since="2026-02",
    ),
    "transpose_conv_rows": BuildDifference(
        "TRANSPOSE_CONV",
        "every row goes to its place",
        "micro/kernels/transpose_conv.cc before February 2026",
        kernels="reference",
        before="2026-02",
    ),
    "transpose_conv_16x8_null": BuildDifference(
        "TRANSPOSE_CONV",
        "of 16 bits and without a bias, the program stops at a null pointer",
        "micro/kernels/cmsis_nn/transpose_conv.cc",
        kernels=KERNELS[0],
    ),
    "convolve_16x8_wide": BuildDifference(
        "CONV_2D",
        "of 16 bits, sums have 64 bits without a bias, too, and multipliers 16 bits",
        "recorded from both kernels",
        kernels="reference",
    ),
    "convolve_16x8_narrow": BuildDifference(
        "CONV_2D",
        "of 16 bits and without a bias, whose type the options have as INT64, sums have 32 bits",
        "micro/kernels/conv.cc before 6 May 2026",
        kernels="reference",
        before="2026-05",
    ),
    "convolve_16x8_narrow_unsaid": BuildDifference(
        "CONV_2D",
        "of 16 bits and without a bias, whose type the options do not have, sums have 32 bits",
        "micro/kernels/conv.cc before 16 June 2026",
        kernels="reference",
        before="2026-06",
    ),
    "convolve_16x8_int32": BuildDifference(
        "CONV_2D",
        "of 16 bits and without a bias, whose type the options have as INT32, sums have 32 bits",
        "micro/kernels/conv.cc",
        kernels="reference",
    ),
    "convolve_16x8_groups": BuildDifference(
        "CONV_2D",
        "of 16 bits, groups are computed as one, with what lies behind the weights",
        "arm_convolve_s16.c",
        kernels=KERNELS[0],
    ),
    "weights_unpacked": BuildDifference(
        "CONV_2D, DEPTHWISE_CONV_2D",
        "weights of 4 bits are unpacked first, and computed as those of 8 bits",
        "micro/kernels/conv.cc, micro/kernels/depthwise_conv.cc",
        kernels="reference",
    ),
    "dense_16x8_bias32": BuildDifference(
        "FULLY_CONNECTED",
        "of 16 bits, a bias of INT32 is read as INT64",
        "recorded from both kernels",
        kernels=KERNELS[0],
    ),
    "dense_16x8_narrow": BuildDifference(
        "FULLY_CONNECTED",
        "of 16 bits and without a bias, whose type the options have as INT64, sums have 32 bits",
        "micro/kernels/fully_connected.cc before April 2026",
        kernels="reference",
        before="2026-04",
    ),
    "dense_16x8_narrow_unsaid": BuildDifference(
        "FULLY_CONNECTED",
        "of 16 bits and without a bias, whose type the options do not have, sums have 32 bits",
        "micro/kernels/fully_connected.cc before 16 June 2026",
        kernels="reference",
        before="2026-06",
    ),
    "dense_16x8_int32": BuildDifference(
        "FULLY_CONNECTED",
        "of 16 bits and without a bias, whose type the options have as INT32, sums have 32 bits",
        "micro/kernels/fully_connected.cc",
        kernels="reference",
    ),
    "dense_16x8_channels": BuildDifference(
        "FULLY_CONNECTED",
        "of 16 bits, weights with a scale for each channel are refused",
        "micro/kernels/cmsis_nn/fully_connected.cc",
        kernels=KERNELS[0],
    ),
    "dense_rows": BuildDifference(
        "FULLY_CONNECTED",
        "an int8 output of more than two axes is computed as one of two",
        "micro/kernels/fully_connected.cc",
        kernels="reference",
    ),
    "dense_points_zero": BuildDifference(
        "FULLY_CONNECTED",
        "of an int8 output with more than two axes the zero point of weights is not looked at",
        "micro/kernels/cmsis_nn/fully_connected.cc",
        kernels=KERNELS[0],
    ),
    "softmax_16_alone": BuildDifference(
        "SOFTMAX",
        "of 16 bits and rows of one element, outputs are 32767, not -32768",
        "kernels/internal/reference/softmax.h, arm_softmax_s16.c",
        kernels="reference",
    ),
    "svdf_limits": BuildDifference(
        "SVDF",
        "an int8 state is clamped to 8 bits before its zero point is added, which counts in sums",
        "recorded from both kernels",
        kernels="reference",
    ),
    "lstm_state": BuildDifference(
        "UNIDIRECTIONAL_SEQUENCE_LSTM",
        "cell and hidden state live on from one Invoke to the next, and each term of a sum has 16 "
        "bits, not the sum alone",
        "recorded from both kernels",
        kernels="reference",
    ),
    "resize_nearest_centers": BuildDifference(
        "RESIZE_NEAREST_NEIGHBOR",
        "half_pixel_centers of the file is ignored",
        "micro/kernels/resize_nearest_neighbor.cc before February 2026",
        before="2026-02",
    ),
    "pool_first": BuildDifference(
        "AVERAGE_POOL_2D, MAX_POOL_2D",
        "of several images of one sample, only the first is computed",
        "micro/kernels/cmsis_nn/pooling.cc before June 2026",
        kernels=KERNELS[0],
        before="2026-06",
    ),
    "transpose_any": BuildDifference(
        "TRANSPOSE",
        "every order of the axes is computed, the old one too",
        "micro/kernels/transpose.cc",
        kernels="reference",
    ),
    "choice_axes": BuildDifference(
        "MAXIMUM, MINIMUM",
        "an int8 output of more than four axes stops the program",
        "micro/kernels/cmsis_nn/maximum_minimum.cc, kernels/internal/runtime_shape.h",
        kernels=KERNELS[0],
    ),
    "matmul_axes": BuildDifference(
        "BATCH_MATMUL",
        "up to four axes are taken",
        "micro/kernels/cmsis_nn/batch_matmul.cc",
        kernels=KERNELS[0],
    ),
    "matmul_axes_2026": BuildDifference(
        "BATCH_MATMUL",
        "up to four axes are taken; more are recorded from the Python wheel of 23 October 2026",
        "micro/kernels/batch_matmul.cc",
        kernels="reference",
        before="2026-10",
    ),
    "cast_bool": BuildDifference(
        "CAST",
        "casts to truth values are refused; the Python wheel of 23 October 2026 has them",
        "micro/kernels/cast.cc",
        before="2026-10",
    ),
    "leaky_negative": BuildDifference(
        "LEAKY_RELU",
        "a slope below 0 is a multiplier below 0, which no function of the framework takes",
        "kernels/internal/reference/leaky_relu.h before April 2026",
        before="2026-04",
    ),
    "rows_in_place": BuildDifference(
        "MAXIMUM, MINIMUM",
        "an int8 operand [n, h, 1, 1] beside one with w > 1 is read row by row",
        "micro/kernels/maximum_minimum.cc",
        kernels="reference",
    ),
    "rows_astray": BuildDifference(
        "MAXIMUM, MINIMUM",
        "of an int8 operand [n, h, 1, 1] beside one with w > 1 every second row is read, and then "
        "what lies behind it",
        "arm_maximum_s8.c, arm_minimum_s8.c",
        kernels=KERNELS[0],
    ),
    "pad_five_axes": BuildDifference(
        "PAD",
        "the kernel with CMSIS-NN pads the last four of five axes of int8",
        "micro/kernels/cmsis_nn/pad.cc",
        kernels="cmsis-nn",
    ),
    "transpose_five_axes": BuildDifference(
        "TRANSPOSE",
        "the kernel with CMSIS-NN fails without a word where int8 has five axes",
        "recorded: transpose_rank5_int8",
        kernels="cmsis-nn",
    ),
    "esp_no_bias": BuildDifference(
        "CONV_2D, DEPTHWISE_CONV_2D",
        "esp-tflite-micro reads the bias of a layer without one through a null pointer",
        "esp_nn/conv.cc, esp_nn/depthwise_conv.cc of esp-tflite-micro 1.4.0",
        paths=_ESP_PATHS,
    ),
    "esp_mul_broadcast": BuildDifference(
        "MUL",
        "tensors that broadcast are multiplied by the framework's own kernel, not by ESP-NN's",
        "esp_nn/mul.cc of esp-tflite-micro 1.4.0",
        paths=_ESP_PATHS,
    ),
    "esp_softmax_scratch": BuildDifference(
        "SOFTMAX",
        "scratch memory is counted by the second axis, which is shorter than the rows here",
        "esp_nn/softmax.cc of esp-tflite-micro 1.4.0",
        paths=_ESP_PATHS,
    ),
    "linear_with_sums": BuildDifference(
        "cortex_m::quantized_linear",
        "of a program built for Helium, the bias is lost, which that passes with sums of weights",
        "recorded from a program of the Cortex-M55 on other cores",
        paths=("m0", "scalar", "dsp"),
    ),
    "linear_without_sums": BuildDifference(
        "cortex_m::quantized_linear",
        "of a program built for cores without Helium, its kernel refuses what it gets",
        "recorded from a program of the Cortex-M4 on the M55",
        paths=("mve",),
    ),
    "transpose_rows": BuildDifference(
        "cortex_m::quantized_transpose_conv2d",
        "rows are at their places for any padding, and all are written",
        "628c103e and 4a8f5b5d of CMSIS-NN, measured on emulated cores",
        cmsis=(("ca476254", "f2cb41ca"), ("main-2026-07", "main-2026-07")),
    ),
}

#: Differences of builds for the ESP32 family.
ESP_DIFFERENCES = frozenset(name for name, own in DIFFERENCES.items() if own.paths == _ESP_PATHS)

#: Differences that leave a call as it is, and say what ESP-NN gets of it.
ESP_FACTS = frozenset(("esp_mul_broadcast", "esp_softmax_scratch"))
